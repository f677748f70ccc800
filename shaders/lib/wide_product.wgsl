// a · b: the low word, the high word. WGSL has no product of 64 bits.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let across = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (across & 0xffffu);
    return vec2(a * b, (a >> 16u) * (b >> 16u) + (across >> 16u) + (other >> 16u));
}
