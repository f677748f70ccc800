// The f16 nearest to an f32, both as bits. From 65520 on it is infinity.
fn rounded(bits: u32) -> u32 {
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7FFFFFFFu;
    if size > 0x7F800000u {
        // NaN, made quiet.
        return sign | 0x7E00u | ((size >> 13u) & 0x3FFu);
    }
    if size >= 0x47800000u {
        return sign | 0x7C00u;
    }
    // Half a unit of the part cut off rounds up if the last bit kept is odd. A carry goes into the exponent, as it
    // should.
    if size >= 0x38800000u {
        let moved = size - (112u << 23u);
        return sign | ((moved + 0xFFFu + ((moved >> 13u) & 1u)) >> 13u);
    }
    let exponent = size >> 23u;
    if exponent < 102u {
        return sign;
    }
    // Subnormal, in units of 2^-24.
    let mantissa = (size & 0x7FFFFFu) | 0x800000u;
    let cut = 126u - exponent;
    return sign | ((mantissa + (1u << (cut - 1u)) - 1u + ((mantissa >> cut) & 1u)) >> cut);
}
