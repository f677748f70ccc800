// The larger magnitude of the parts of z, as bits, which are in the order of magnitudes: NaN is above infinity.
fn c_size(z: vec2<f32>) -> u32 {
    let bits = bitcast<vec2<u32>>(z) & vec2(0x7fffffffu);
    return max(bits.x, bits.y);
}

// The exponent of the larger part, within -126 .. 126.
fn c_exponent(size: u32) -> i32 {
    return i32(clamp(size >> 23u, 1u, 253u)) - 127;
}

// 2ⁿ for |n| up to 126.
fn power_of_two(n: i32) -> f32 {
    return bitcast<f32>(u32(n + 127) << 23u);
}

// 1 with the sign of x where it is infinite, and 0 elsewhere.
fn direction(x: f32) -> f32 {
    return signed_as(select(0.0, 1.0, is_infinite(x)), x);
}

// Infinity with the sign of x, or NaN for 0.
fn endless(x: f32) -> f32 {
    return select(infinity_like(x), no_number(x), (bitcast<u32>(x) & 0x7fffffffu) == 0u);
}

// x conj(y).
fn c_mul_conj(x: vec2<f32>, y: vec2<f32>) -> vec2<f32> {
    return vec2(fma(x.x, y.x, x.y * y.y), fma(x.y, y.x, -(x.x * y.y)));
}

// x / y = x conj(y) / |y|², where both are first scaled by powers of two, so that nothing overflows or underflows. A y
// below 2⁻¹²⁶ counts as zero.
fn c_divided(x: vec2<f32>, y: vec2<f32>) -> vec2<f32> {
    let of_x = c_size(x);
    let of_y = c_size(y);
    let zero = of_y < 0x00800000u;
    let m = c_exponent(of_x);
    let n = c_exponent(of_y);
    let b = y * power_of_two(-n);
    let t = c_mul_conj(x * power_of_two(-m), b);
    let size = fma(b.x, b.x, b.y * b.y);
    var r = vec2(scaled(divided(t.x, size), m - n), scaled(divided(t.y, size), m - n));
    // An infinite x counts by its direction, and so does a zero y.
    let u = select(x, vec2(direction(x.x), direction(x.y)), of_x == 0x7f800000u);
    let v = select(y, vec2(signed_as(1.0, y.x), 0.0), zero);
    let far = c_mul_conj(u, v);
    r = select(r, vec2(endless(far.x), endless(far.y)), zero || of_x == 0x7f800000u);
    r = select(r, vec2(0.0), of_y == 0x7f800000u);
    let none = max(of_x, of_y) > 0x7f800000u || (of_x == 0x7f800000u && of_y == 0x7f800000u);
    return select(r, vec2(no_number(x.x), no_number(x.y)), none);
}
