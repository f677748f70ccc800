// xⁿ by repeated squaring, |n| ≤ 8.
fn powi_of(x: f32, n: i32) -> f32 {
    var base = x;
    if n < 0 {
        base = divided(1.0, x);
    }
    var value = 1.0;
    for (var i = abs(n); i > 0; i >>= 1u) {
        if (i & 1) != 0 {
            value *= base;
        }
        base *= base;
    }
    return value;
}
