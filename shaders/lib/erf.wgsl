fn erf_of(x: f32) -> f32 {
    if abs(x) < 0.93 {
        let z = x * x;
        var p = -5.94121923e-4;
        p = fma(p, z, 4.98346881e-3);
        p = fma(p, z, -2.67600283e-2);
        p = fma(p, z, 0.112816358);
        p = fma(p, z, -0.376124766);
        p = fma(p, z, 0.128379147);
        return fma(x, p, x);
    }
    // −log(1 − erf x), as a polynomial without a constant term.
    let t = min(abs(x), 4.2);
    var q = -2.14594891e-4;
    q = fma(q, t, 3.21997445e-3);
    q = fma(q, t, -2.29060281e-2);
    q = fma(q, t, 0.105286850);
    q = fma(q, t, 0.635699371);
    q = fma(q, t, 1.12851995);
    return signed_as(1.0 - exp_times(1.0, -q * t), x);
}
