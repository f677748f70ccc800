// The mantissa of a finite number as an integer below 2²⁴, and the biased exponent of its last bit, at least 1.
fn digits(size: u32) -> vec2<u32> {
    let exponent = size >> 23u;
    return vec2(select(size & 0x7fffffu, (size & 0x7fffffu) | 0x800000u, exponent > 0u), max(exponent, 1u));
}

// The remainder of x / s, with the sign of x. Uses integers, eight bits at a time, and is therefore exact. s is finite
// and nonzero.
fn remainder(x: f32, s: f32) -> f32 {
    if is_infinite(x) {
        return no_number(x);
    }
    let a = digits(bitcast<u32>(x) & 0x7fffffffu);
    let b = digits(bitcast<u32>(s) & 0x7fffffffu);
    if a.y < b.y {
        return x;
    }
    var rest = a.x % b.x;
    var left = a.y - b.y;
    while left > 0u && rest > 0u {
        let step = min(left, 8u);
        rest = (rest << step) % b.x;
        left -= step;
    }
    // Back to a float: shifts the leading bit into place, as far as the exponent allows.
    let up = min(countLeadingZeros(rest) - 8u, b.y - 1u);
    let moved = rest << up;
    let exponent = select(0u, b.y - up, moved >= 0x800000u);
    return signed_as(bitcast<f32>((exponent << 23u) | (moved & 0x7fffffu)), x);
}

// The same for any s: NaN for s = 0, and x for an infinite s.
fn remainder_of(x: f32, s: f32) -> f32 {
    let none = is_nan(x) || is_nan(s) || (bitcast<u32>(s) & 0x7fffffffu) == 0u || is_infinite(x);
    if none {
        return select(no_number(x), no_number(s), is_nan(s));
    }
    if is_infinite(s) {
        return x;
    }
    return remainder(x, s);
}
