// The log-sum-exp of a row in two parts, from which gradients subtract without the rounding of one number: what
// attention returns, and what its rounding has left, p.rest places later.
//
// Uses: `lse`, the parameter `rest`, and "ends".

// a + b, rounded, and the error of that.
fn two_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = opaque(a + b);
    let part = opaque(sum - a);
    return vec2(sum, opaque(a - opaque(sum - part)) + opaque(b - part));
}

// Stores a + b, or −∞ for a row without keys.
fn put_lse(at: u32, a: f32, b: f32, is_empty: bool) {
    let parts = two_sum(a, b);
    lse[at] = select(bitcast<u32>(parts.x), 0xff800000u, is_empty);
    lse[at + p.rest] = select(bitcast<u32>(parts.y), 0u, is_empty);
}
