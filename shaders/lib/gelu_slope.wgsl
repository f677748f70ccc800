// Φ(x) + x φ(x). Uses: `exp_minus` and `normal_tail` of "gelu".
fn gelu_slope(x: f32) -> f32 {
    // Beyond this range the tail and the density are 0.
    let w = clamp(x, -14.5, 14.5);
    let high = bitcast<f32>(bitcast<u32>(w) & 0xfffff000u);
    let density = exp_minus(0.398942280, 0.5 * high * high, -0.5 * (w - high) * (w + high));
    let tail = normal_tail(1.0, w);
    return fma(w, density, select(1.0 - tail, tail, w < 0.0));
}
