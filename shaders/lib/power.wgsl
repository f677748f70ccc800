// The twelve leading bits of x: products of two such numbers are exact.
fn head(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// xʸ for positive, finite x. The logarithm has an error of 2⁻³⁰, in two parts, and so has its product with y.
fn power(x: f32, y: f32) -> f32 {
    let parts = log_parts(x);
    let f = parts.y;
    let m = f + 1.0;
    // s = f / (2 + f), in two parts: log₂ m = C (s + s³/3 + s⁵/5 + …) with C = 2 / ln 2, in two parts as well.
    let s = f / (m + 1.0);
    let s_head = head(s);
    let m_head = head(m);
    let s_tail = fma(-s_head, m - m_head, opaque(fma(-s_head, m_head, opaque(f - s_head)))) / (m + 1.0);
    let z = s * s;
    var p = 0.0909090909;
    p = fma(p, z, 0.111111111);
    p = fma(p, z, 0.142857143);
    p = fma(p, z, 0.2);
    p = fma(p, z, 0.333333333);
    let cubic = 2.88539008 * s * z * p;
    let log_head = head(fma(2.88539008, s, cubic));
    let log_rest = opaque(fma(2.884765625, s_head, -log_head)) + fma(2.884765625, s_tail, fma(6.24456778e-4, s, cubic));
    let w_head = head(parts.x + (log_head + log_rest));
    let w_tail = opaque(opaque(parts.x - w_head) + log_head) + log_rest;
    let y_head = head(y);
    // Beyond this range the result is 0 or ∞ anyway.
    let large = clamp(y_head * w_head, -160.0, 140.0);
    let small = clamp(fma(y - y_head, w_head, y * w_tail), -1.0, 1.0);
    let n = round(large + small);
    return scaled(exp2_near(opaque(large - n) + small), i32(n));
}

// Special cases follow IEEE 754: x⁰ and 1ʸ are 1, even for NaN. Branchless, because Mesa's software GPU mixes up
// invocations that return early while others are in a loop.
fn pow_of(x: f32, y: f32) -> f32 {
    let size = abs(x);
    let integer = abs(y) >= 8388608.0 || round(y) == y;
    let odd = abs(y) < 16777216.0 && integer && round(0.5 * y) != 0.5 * y;
    let least = size < 0x1p-126f;
    let end = least || is_infinite(x);
    // Beyond this, only the sign of y matters.
    let exponent = select(clamp(y, -3.0e10, 3.0e10), 0.0, is_nan(y));
    var value = power(select(size, 1.5, end || is_nan(x)), exponent);
    value = select(value, select(0.0, infinity_like(size), least == (y < 0.0)), end);
    value = select(value, 1.0, size == 1.0);
    value = select(value, signed_as(value, x), odd);
    value = select(value, no_number(x), x < 0.0 && !integer && !end);
    value = select(value, select(no_number(y), x, is_nan(x)), is_nan(x) || is_nan(y));
    return select(value, 1.0, y == 0.0 || x == 1.0);
}
