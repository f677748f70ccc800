// c σ(t).
fn times_sigmoid(c: f32, t: f32) -> f32 {
    let part = c / (1.0 + exp_times(1.0, -abs(t)));
    if t < 0.0 {
        return exp_times(part, t);
    }
    return part;
}

fn silu_of(x: f32) -> f32 {
    // Clamped, because an infinity times 0 would be NaN.
    return times_sigmoid(max(x, -200.0), x);
}

fn gelu_tanh_of(x: f32) -> f32 {
    let w = clamp(x, -20.0, 20.0);
    return times_sigmoid(max(x, -20.0), w * fma(0.0713548136, w * w, 1.59576912));
}

fn tanh_of(x: f32) -> f32 {
    if abs(x) < 0.625 {
        let z = x * x;
        var p = -5.70498873e-3;
        p = fma(p, z, 2.06390888e-2);
        p = fma(p, z, -5.37397156e-2);
        p = fma(p, z, 0.133314423);
        p = fma(p, z, -0.333332819);
        return signed_as(fma(x * z, p, x), x);
    }
    return signed_as(1.0 - 2.0 / (exp_times(1.0, min(2.0 * abs(x), 20.0)) + 1.0), x);
}
