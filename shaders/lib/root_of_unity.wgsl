// e^(-2πi m / n) for m < n <= 2^13: a table of 1024 points, and a series for the remainder.
fn root_of_unity(m: u32, n: u32) -> vec2<f32> {
    let scaled = m * 1024u;
    let q = scaled / n;
    let angle = f32(scaled - q * n) / f32(n) * 0.006135923151542565;
    let t = roots[q];
    // cos - 1 and sin of at most 2π / 1024: the next terms are below a tenth of a rounding error.
    let c = -0.5 * angle * angle;
    let s = fma(angle * c, 0.3333333333, angle);
    return vec2(fma(t.y, s, fma(t.x, c, t.x)), fma(-t.x, s, fma(t.y, c, t.y)));
}
