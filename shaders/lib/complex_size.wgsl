// |z|. Scales by a power of two first, so that no square overflows or underflows.
fn c_abs(z: vec2<f32>) -> f32 {
    let bits = bitcast<vec2<u32>>(z) & vec2(0x7fffffffu);
    let size = max(bits.x, bits.y);
    let n = clamp(size >> 23u, 27u, 227u);
    let v = z * bitcast<f32>((254u - n) << 23u);
    let r = sqrt_of(fma(v.x, v.x, v.y * v.y)) * bitcast<f32>(n << 23u);
    let end = bits.x == 0x7f800000u || bits.y == 0x7f800000u;
    return select(select(r, no_number(z.x), size > 0x7f800000u), infinity_like(abs(z.x)), end);
}
