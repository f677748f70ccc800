// (k, f) with x = 2ᵏ (1 + f) and 1 + f in √½ … √2.
fn log_parts(x: f32) -> vec2<f32> {
    let tiny = x < 0x1p-126f;
    let bits = bitcast<i32>(select(x, x * 8388608.0, tiny));
    let k = (bits - 0x3f3504f3) >> 23u;
    return vec2(f32(k) - select(0.0, 23.0, tiny), bitcast<f32>(bits - (k << 23u)) - 1.0);
}

// log(1 + f) − f for √½ ≤ 1 + f ≤ √2.
fn log_tail(f: f32) -> f32 {
    var p = 7.03768363e-2;
    p = fma(p, f, -0.115146101);
    p = fma(p, f, 0.116769984);
    p = fma(p, f, -0.124201410);
    p = fma(p, f, 0.142493233);
    p = fma(p, f, -0.166680574);
    p = fma(p, f, 0.200007141);
    p = fma(p, f, -0.249999940);
    p = fma(p, f, 0.333333313);
    let z = f * f;
    return fma(f * z, p, -0.5 * z);
}

fn log_sum(k: f32, f: f32) -> f32 {
    return fma(k, 0.693359375, opaque(f + fma(k, -2.12194440e-4, log_tail(f))));
}

// Special cases: ∞ at ∞, −∞ at zero, NaN below zero.
fn log_ends(x: f32, y: f32) -> f32 {
    if x > 0.0 {
        return select(y, x, is_infinite(x));
    }
    return select(no_number(x), -infinity_like(abs(x)), x == 0.0);
}

fn log_of(x: f32) -> f32 {
    let parts = log_parts(x);
    return log_ends(x, log_sum(parts.x, parts.y));
}

fn log2_of(x: f32) -> f32 {
    let parts = log_parts(x);
    let y = log_tail(parts.y);
    // 0.44269504 is log₂ e − 1.
    return log_ends(x, parts.x + (parts.y + (y + fma(y, 0.44269504, parts.y * 0.44269504))));
}

fn log1p_of(x: f32) -> f32 {
    let u = 1.0 + x;
    let near = x > -0.2928932 && x < 0.41421356;
    let parts = select(log_parts(u), vec2(0.0, x), near);
    return select(log_ends(u, log_sum(parts.x, parts.y)), x, abs(x) < 2.0e-8);
}
