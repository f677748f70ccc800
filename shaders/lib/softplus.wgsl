// log(1 + eˣ), without overflow.
fn softplus_of(x: f32) -> f32 {
    let e = exp_times(1.0, -abs(x));
    let parts = select(log_parts(1.0 + e), vec2(0.0, e), e < 0.41421356);
    return max(x, 0.0) + log_sum(parts.x, parts.y);
}
