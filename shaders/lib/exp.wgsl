// x 2ⁿ for |n| up to 254.
fn scaled(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return opaque(x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

// x = n ln 2 + r, and p = e^r − 1 − r. The first part of ln 2 has so few bits that its products are exact, even where
// fma is two operations.
struct ExpParts {
    n: i32,
    r: f32,
    p: f32,
}

fn exp_parts(x: f32) -> ExpParts {
    let k = round(x * 1.44269504);
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    return ExpParts(i32(k), r, p * r * r);
}

// c eˣ. Multiplies by c before scaling by 2ⁿ, so that eˣ alone cannot underflow.
fn exp_times(c: f32, x: f32) -> f32 {
    let e = exp_parts(clamp(x, -150.0, 89.0));
    return scaled(c * (1.0 + (e.r + e.p)), e.n);
}

// eˣ for x ≤ 0; 0 below log 2⁻¹²⁶, or −87.33655.
fn exp_below(x: f32) -> f32 {
    // Rounds to an integer, which the lowest bits of t hold.
    let t = opaque(fma(x, 1.44269504, 12582912.0));
    let k = t - 12582912.0;
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    let e = fma(p, r, 1.0) * bitcast<f32>((bitcast<u32>(t) << 23u) + 0x3f800000u);
    // Compares bits, and keeps NaN.
    return select(e, 0.0, bitcast<u32>(x) - 0xc2aeac51u <= 0xff800000u - 0xc2aeac51u);
}

// 2ʳ for |r| ≤ ½.
fn exp2_near(r: f32) -> f32 {
    var p = 1.53533619e-4;
    p = fma(p, r, 1.33988744e-3);
    p = fma(p, r, 9.61843736e-3);
    p = fma(p, r, 5.55033247e-2);
    p = fma(p, r, 0.240226479);
    p = fma(p, r, 0.693147203);
    return fma(p, r, 1.0);
}

fn exp2_of(x: f32) -> f32 {
    let size = clamp(x, -151.0, 129.0);
    let k = round(size);
    return scaled(exp2_near(size - k), i32(k));
}

fn expm1_of(x: f32) -> f32 {
    let e = exp_parts(clamp(x, -18.0, 89.0));
    // Half of 2ⁿ, because 2¹²⁸ is infinite.
    let half = bitcast<f32>(u32(e.n + 126) << 23u);
    return select(2.0 * fma(half, e.r + e.p, half - 0.5), x, abs(x) < 2.0e-8);
}
