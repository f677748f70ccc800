// Statistics of a line (the values along an axis). merge() combines those of two parts.
//
// SUM: [Σ x, −, −, n]. SQUARES: [Σ x², −, −, n]. MOMENTS: [c, mean − c, Σ (x − mean)², n] for some c near the mean,
// chosen so that differences of c between parts are exact. EXP: [max x, Σ exp(x − max x), −, n].
#include "ends"
#include "nan"
#if EXP
#include "order"
#include "exp"
#include "log"

fn weight(top: f32, part: f32) -> f32 {
    return select(exp_times(1.0, part - top), 1.0, bitcast<u32>(part) == bitcast<u32>(top));
}
#endif

fn nothing() -> vec4<f32> {
#if EXP
    return vec4(bitcast<f32>(key_bits(LOWEST_KEY | (p.ones & 0u))), 0.0, 0.0, 0.0);
#else
    return vec4(0.0);
#endif
}

fn merge(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
#if MOMENTS
    if a.w == 0.0 || b.w == 0.0 {
        return select(a, b, a.w == 0.0);
    }
    let n = a.w + b.w;
    let share = b.w / n;
    let d = opaque(b.x - a.x) + (b.y - a.y);
    return vec4(a.x, fma(d, share, a.y), a.z + b.z + d * d * (a.w * share), n);
#else
#if EXP
    let top = bitcast<f32>(key_bits(max(order_key(a.x), order_key(b.x))));
    return vec4(top, fma(a.y, weight(top, a.x), b.y * weight(top, b.x)), 0.0, a.w + b.w);
#else
    return vec4(a.x + b.x, 0.0, 0.0, a.w + b.w);
#endif
#endif
}

// The result of a line that is reduced to one value.
#if REDUCED
fn reduced(line: vec4<f32>) -> f32 {
#if SUM
    if line.w == 0.0 {
        return no_number(line.w);
    }
    return line.x / line.w;
#endif
#if MOMENTS
    if line.w == 0.0 {
        return no_number(line.w);
    }
    let variance = line.z / line.w;
#if ROOT
    return sqrt(variance);
#else
    return variance;
#endif
#endif
#if EXP
    if is_nan(line.x) || is_infinite(line.x) {
        return line.x;
    }
    return line.x + log_of(line.y);
#endif
}
#endif
#if !SUM
#if !REDUCED
// The per-line constants for mapping values: the amount to subtract, in two parts, and then the factor to multiply by,
// or for LOG another amount to subtract.
fn prepared(line: vec4<f32>) -> vec4<f32> {
#if MOMENTS
    return vec4(line.x, line.y, 1.0 / sqrt(line.z / line.w + p.eps), 0.0);
#endif
#if SQUARES
#if NORM
    let norm = bitcast<u32>(sqrt(line.x));
    // By their bits, so that NaN is the largest.
    return vec4(0.0, 0.0, 1.0 / bitcast<f32>(max(norm, bitcast<u32>(p.eps))), 0.0);
#else
    return vec4(0.0, 0.0, 1.0 / sqrt(line.x / line.w + p.eps), 0.0);
#endif
#endif
#if EXP
    let known = !(is_nan(line.x) || is_infinite(line.x));
#if LOG
    let rest = log_of(line.y);
#else
    let rest = 1.0 / line.y;
#endif
    return vec4(select(0.0, line.x, known), 0.0, select(no_number(line.x), rest, known), 0.0);
#endif
}
#endif
#endif
#if MAPPED
// The result for one value of a line.
fn value(x: f32, line: vec4<f32>) -> f32 {
#if MOMENTS
    return (opaque(x - line.x) - line.y) * line.z;
#endif
#if SQUARES
    return x * line.z;
#endif
#if EXP
#if LOG
    return (x - line.x) - line.z;
#else
    return exp_below(x - line.x) * line.z;
#endif
#endif
}
#endif
