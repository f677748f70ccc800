// The f16 nearest to x, ties to even, as bits and without a branch. From 65520 on it is infinity.
fn half_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    // Half a unit of the part cut off rounds up if the last bit kept is odd. A carry goes into the exponent, as it
    // should.
    let normal = (size - 0x38000000u + 0xfffu + ((size >> 13u) & 1u)) >> 13u;
    // Below 2⁻¹⁴, in units of 2⁻²⁴, which is the ulp of f32 from ½ on.
    let subnormal = bitcast<u32>(abs(x) + 0.5) - 0x3f000000u;
    var half = min(select(normal, subnormal, size < 0x38800000u), 0x7c00u);
    half = select(half, 0x7e00u, size > 0x7f800000u);
    return half | ((bits >> 16u) & 0x8000u);
}
