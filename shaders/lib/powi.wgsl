// xⁿ by repeated squaring of the mantissa, |n| ≤ 8, which is then scaled, so that nothing leaves the range in between.
// The reciprocal comes last: the error of an earlier one would be multiplied by n. Subnormal numbers count as zero.
fn powi_of(x: f32, n: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 0xffu;
    var base = bitcast<f32>((bits & 0x807fffffu) | 0x3f800000u);
    var value = 1.0;
    for (var i = abs(n); i > 0; i >>= 1u) {
        if (i & 1) != 0 {
            value *= base;
        }
        base *= base;
    }
    if n < 0 {
        value = divided(1.0, value);
    }
    // Exponents from 1 to 254 are those of finite, nonzero numbers.
    let end = select(signed_as(0.0, value), infinity_like(value), (exponent == 255u) == (n > 0));
    let power = scaled(value, clamp((i32(exponent) - 127) * n, -254, 254));
    return select(power, end, exponent - 1u >= 254u);
}
