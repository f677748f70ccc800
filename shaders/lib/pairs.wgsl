// The elements of the two operands in pair i. p.pair_kind says how elements pair up, p.pair_right is the size of the
// right batch, and pair_list holds the listed pairs.
fn pair_of(i: u32) -> vec2<u32> {
    switch p.pair_kind {
        case 0u: { return vec2(i, i); }
        case 1u: { return vec2(0u, i); }
        case 2u: { return vec2(i / p.pair_right, i % p.pair_right); }
        default: { return vec2(pair_list[2u * i], pair_list[2u * i + 1u]); }
    }
}
