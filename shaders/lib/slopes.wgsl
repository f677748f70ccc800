// The sigmoid of t, and c times its slope. Multiplies e^(−|t|) by c before it can underflow.
fn logistic(c: f32, t: f32) -> vec2<f32> {
    let e = exp_times(1.0, -abs(t));
    let d = 1.0 / (1.0 + e);
    return vec2(select(d, e * d, t < 0.0), exp_times(c, -abs(t)) * d * d);
}

fn tanh_slope(x: f32) -> f32 {
    return logistic(4.0, 2.0 * x).y;
}

fn silu_slope(x: f32) -> f32 {
    // Clamped, because an infinity times 0 would be NaN.
    let w = clamp(x, -100.0, 100.0);
    let y = logistic(1.0, w);
    return fma(w, y.y, y.x);
}

fn gelu_tanh_slope(x: f32) -> f32 {
    let w = clamp(x, -20.0, 20.0);
    let y = logistic(1.0, w * fma(0.0713548136, w * w, 1.59576912));
    return fma(w * fma(0.214064441, w * w, 1.59576912), y.y, y.x);
}
