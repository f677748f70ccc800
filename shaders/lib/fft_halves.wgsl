// Transforms of 2 n real values by one complex transform of n values, and back.
//
// With z_j = x_2j + i x_(2j+1), w = e^(-πi k / n), and Z' the conjugate of Z at n - k:
// 2 X_k = Z_k + Z'_k - i w (Z_k - Z'_k), and back 2 Z_k = X_k + X'_k + i conj(w) (X_k - X'_k).

// 2 Z_k from X_k and X_(n - k), with real and imaginary parts exchanged, so that a forward transform computes the
// inverse.
fn folded(k: u32, w: vec2<f32>, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let real = k == 0u;
    // Selected, not multiplied by zero: the ignored imaginary parts may be NaN.
    let a = vec2(first.x, select(first.y, 0.0, real));
    let b = vec2(last.x, select(-last.y, 0.0, real));
    return c_add(a + b, w.yx, a - b).yx;
}

// X_k from Z_k and Z_(n - k).
fn unfolded(w: vec2<f32>, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let mirrored = vec2(last.x, -last.y);
    let o = first - mirrored;
    return 0.5 * c_add(first + mirrored, w, vec2(o.y, -o.x));
}

// Loads two real values, from word `at` of x on, as one complex value; pair_out stores them to y. Both loads are in
// flight together.
fn pair_in(at: u32) -> vec2<f32> {
    let first = x[at >> 1u];
    let next = x[(at + 1u) >> 1u];
    return select(first, vec2(first.y, next.x), (at & 1u) != 0u);
}

fn pair_out(at: u32, z: vec2<f32>) {
    if (at & 1u) == 0u {
        y[at >> 1u] = z;
    } else {
        y[at >> 1u].y = z.x;
        y[(at >> 1u) + 1u].x = z.y;
    }
}
