// c e^(r - h) for 0 <= h < 106 and small r. Uses fixed point, because compilers may reassociate sums of floats, and
// then the error would grow with h.
fn exp_minus(c: f32, h: f32, r: f32) -> f32 {
    let fixed = i32(h * 16777216.0) - i32(r * 16777216.0);
    let n = i32(round(f32(fixed) * 8.599132e-8));
    // 11629079 / 2²⁴ + 5.77e-8 = ln 2.
    let f = fma(f32(n), 5.7699990e-8, f32(n * 11629079 - fixed) * 5.9604645e-8);
    var s = 1.3888889e-3;
    s = fma(s, f, 8.3333333e-3);
    s = fma(s, f, 4.1666667e-2);
    s = fma(s, f, 0.16666667);
    s = fma(s, f, 0.5);
    s = fma(s, f, 1.0);
    s = fma(s, f, 1.0);
    // The power is applied in two factors, after c: by itself it may be below the smallest normal number, which many
    // GPUs flush to 0.
    let half = n / 2;
    return c * s * bitcast<f32>(u32(127 - half) << 23u) * bitcast<f32>(u32(127 - n + half) << 23u);
}

// c Φ(-|x|) for |x| up to 14.5, where Φ(x) = erfc(-x / √2) / 2.
//
// With z = |x| / √8 and t = 1 / (1 + z), Φ(-|x|) e^(x²/2) / t is a polynomial in 1 - t = z t to within 4.4e-8. For
// small |x|, rounding errors of t hardly change the polynomial, and the tail has no cancellation.
fn normal_tail(c: f32, x: f32) -> f32 {
    let z = 0.35355339 * abs(x);
    let t = 1.0 / (z + 1.0);
    let u = z * t;
    var p = -0.02956885;
    p = fma(p, u, 0.09409525);
    p = fma(p, u, -0.07468777);
    p = fma(p, u, -0.011451853);
    p = fma(p, u, -0.059527895);
    p = fma(p, u, 0.107446395);
    p = fma(p, u, 0.24311282);
    p = fma(p, u, -0.6283751);
    p = fma(p, u, 0.5);
    // Half the square of twelve bits is exact, and the remainder is small.
    let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
    return exp_minus(c * t * p, 0.5 * high * high, -0.5 * (x - high) * (x + high));
}

// x Φ(x).
fn gelu(x: f32) -> f32 {
    // Beyond this range the tail is 0. NaN stays NaN.
    if x > 14.5 {
        return x;
    }
    if x < -14.5 {
        return -0.0;
    }
    let tail = normal_tail(x, x);
    return select(x - tail, tail, x < 0.0);
}
