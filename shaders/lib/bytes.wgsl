// The four bytes of x from byte `at` on, the first of them lowest. Those after the last word of x are arbitrary.
fn four_bytes(at: u32) -> u32 {
    let low = x[at / 4u];
    let high = x[min(at / 4u + 1u, arrayLength(&x) - 1u)];
    let shift = 8u * (at % 4u);
    // In two steps, because a shift by 32 bits is none.
    return (low >> shift) | ((high << (31u - shift)) << 1u);
}
