// a / b. Divides the mantissas, and then the remainder once more, because WGSL allows an error of 2.5 ulp, and that
// only for some divisors. Subnormal numbers count as zero.
fn divided(a: f32, b: f32) -> f32 {
    let x = bitcast<u32>(a);
    let y = bitcast<u32>(b);
    let m = bitcast<f32>((x & 0x807fffffu) | 0x3f800000u);
    let d = bitcast<f32>((y & 0x807fffffu) | 0x3f800000u);
    let of_x = (x >> 23u) & 0xffu;
    let of_y = (y >> 23u) & 0xffu;
    let q = m / d;
    let quotient = scaled(q + fma(-q, d, m) / d, i32(of_x) - i32(of_y));
    // Exponents from 1 to 254 are those of finite, nonzero numbers.
    if max(of_x - 1u, of_y - 1u) < 254u {
        return quotient;
    }
    let sign = bitcast<f32>(x ^ y);
    let none = is_nan(a) || is_nan(b) || (of_x == of_y && (of_x == 0u || of_x == 255u));
    let end = select(signed_as(0.0, sign), infinity_like(sign), of_x == 255u || of_y == 0u);
    return select(end, no_number(a), none);
}
