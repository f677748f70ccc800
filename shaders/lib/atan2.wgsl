// The angle of the point (x, y), from −π to π: a polynomial of the smaller coordinate divided by the larger one, taken
// from π/4 if the quotient is above tan π/8, and then mapped to the octant of the point.
fn atan2_of(y: f32, x: f32) -> f32 {
    let a = abs(y);
    let b = abs(x);
    // Avoids 0 / 0, ∞ / ∞, sums that overflow, and subnormal differences.
    let both = is_infinite(x) && is_infinite(y);
    let steep = !both && a > b;
    let larger = select(b, a, steep);
    let scale = select(select(1.0, 0.0625, larger > 1.0e37), 0x1p64f, larger < 0x1p-64f);
    let low = select(select(a, b, steep) * scale, 1.0, both);
    let high = select(larger * scale, 1.0, both || larger * scale < 0x1p-126f);
    let far = low > 0.41421357 * high;
    let t = divided(select(low, low - high, far), select(high, high + low, far));
    let z = t * t;
    var p = 8.05374449e-2;
    p = fma(p, z, -0.138776856);
    p = fma(p, z, 0.199777106);
    p = fma(p, z, -0.333329491);
    var r = fma(t * z, p, t);
    r = select(r, 0.785398185 + (r - 2.18556941e-8), far);
    r = select(r, 1.57079637 - (r + 4.37113883e-8), steep);
    r = select(r, 3.14159274 - (r + 8.74227766e-8), (bitcast<u32>(x) & 0x80000000u) != 0u);
    r = select(signed_as(r, y), no_number(x), is_nan(x));
    return select(r, no_number(y), is_nan(y));
}
