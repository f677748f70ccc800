// Values that WGSL has no constants for, made from an operand, because what a compiler can work out must be finite.
fn infinity_like(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x7f800000u);
}

fn no_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) | 0x7fc00000u);
}

fn is_infinite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// x, of which no compiler knows where it comes from: Mesa's makes k (c + d) of sums of k c and k d, which were apart to
// be exact.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & p.ones);
}

// The size of x with the sign of another.
fn signed_as(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}
