// √x to within one ulp, and exact for squares. WGSL allows an error of four.
fn sqrt_of(x: f32) -> f32 {
    if !(x > 0.0) || is_infinite(x) {
        return select(x, no_number(x), x < 0.0);
    }
    // Scales away from both ends of the range, so that no square is lost.
    let small = x < 0x1p-60f;
    let large = x > 0x1p60f;
    let v = x * select(select(1.0, 0x1p60f, small), 0x1p-60f, large);
    let r = sqrt(v);
    return (r + 0.5 * fma(-r, r, v) / r) * select(select(1.0, 0x1p-30f, small), 0x1p30f, large);
}

fn rsqrt_of(x: f32) -> f32 {
    if x > 0.0 {
        return select(inverseSqrt(x), 0.0, is_infinite(x));
    }
    return select(no_number(x), infinity_like(x), x == 0.0);
}
