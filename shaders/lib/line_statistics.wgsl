// Statistics of a line (the values along an axis). merge() combines those of two parts. No sum leaves the range of f32
// unless its result does, because it is kept at several scales, or scaled by a power of two of its own.
//
// SUM: [Σ x, 2⁻³² Σ x, −, n], where the second is for when the first overflows. SQUARES: [Σ (2⁻⁸⁰ x)², Σ x²,
// Σ (2⁸⁰ x)², n], of which one is in range. MOMENTS: see Known. EXP: [max x, the sum of the exp(x − max x) below 1, the
// number of the others, n], so that the logarithm of the sum is accurate near 0, too.
#include "ends"
#include "nan"
#if EXP
#include "order"
#include "exp"
#include "log"

// The sum of exponentials below 1, and the number of the others, of a part of a line with this maximum.
fn at_top(top: f32, part: vec4<f32>) -> vec2<f32> {
    let lower = vec2(exp_times(part.y + part.z, part.x - top), 0.0);
    return select(lower, part.yz, bitcast<u32>(part.x) == bitcast<u32>(top));
}

// log Σ exp(x − max x).
fn log_of_sum(line: vec4<f32>) -> f32 {
    return log1p_of((line.z - 1.0) + line.y);
}

fn is_known(line: vec4<f32>) -> bool {
    return !(is_nan(line.x) || is_infinite(line.x));
}
#endif
#if SQUARES
// The root of the mean square + p.eps, or for NORM the norm, but at least p.eps, as a product of two factors in range.
fn root_of(line: vec4<f32>) -> vec2<f32> {
#if NORM
    let least = vec3(p.eps * 0x1p-80f, p.eps, p.eps * 0x1p80f);
    // By their bits, so that NaN is the largest.
    let sums = bitcast<vec3<f32>>(max(bitcast<vec3<u32>>(line.xyz), bitcast<vec3<u32>>(opaque3(least) * opaque3(least))));
#else
    let sums = line.xyz / line.w + vec3(opaque(p.eps * 0x1p-80f) * 0x1p-80f, p.eps, opaque(p.eps * 0x1p80f) * 0x1p80f);
#endif
    if sums.x >= 0x1p-64f {
        return vec2(sqrt(sums.x) * 0x1p16f, 0x1p64f);
    }
    if sums.y < 0x1p-64f {
        return vec2(sqrt(sums.z) * 0x1p-64f, 0x1p-16f);
    }
    return vec2(sqrt(sums.y), 1.0);
}

#if NORM
fn opaque3(v: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(v) & vec3(p.ones));
}
#endif
#endif

#if MOMENTS
// Of the values times scale_of(e): some c near the mean, chosen so that differences of c between parts are exact; the
// mean − c; and Σ (x − mean)².
struct Known {
    near: f32,
    rest: f32,
    squares: f32,
    n: f32,
    e: u32,
}

// 2¹²⁸⁻ᵉ, for e from 1 to 254. A value with the exponent bits e is scaled to between 2 and 4.
fn scale_of(e: u32) -> f32 {
    return bitcast<f32>((255u - e) << 23u);
}

// x 2ᵉ⁻¹²⁸.
fn unscaled(x: f32, e: u32) -> f32 {
    return (0.5 * x) * bitcast<f32>(e << 23u);
}

// 2⁻ⁿ, or 0 if that is too small.
fn lower(n: u32) -> f32 {
    return bitcast<f32>((127u - min(n, 127u)) << 23u);
}

// A tile as four words: its number of values is small.
fn stored(part: Known) -> vec4<f32> {
    return vec4(part.near, part.rest, part.squares, bitcast<f32>((part.e << 23u) | u32(part.n)));
}

fn loaded(part: vec4<f32>) -> Known {
    let bits = bitcast<u32>(part.w);
    return Known(part.x, part.y, part.z, f32(bits & 0x7fffffu), bits >> 23u);
}

fn nothing() -> Known {
    return Known(0.0, 0.0, 0.0, 0.0, 1u);
}

fn merge(a: Known, b: Known) -> Known {
    if a.n == 0.0 {
        return b;
    }
    if b.n == 0.0 {
        return a;
    }
    let e = max(a.e, b.e);
    let of_a = lower(e - a.e);
    let of_b = lower(e - b.e);
    let n = a.n + b.n;
    let share = b.n / n;
    let d = opaque(of_b * b.near - of_a * a.near) + (of_b * b.rest - of_a * a.rest);
    let squares = a.squares * of_a * of_a + b.squares * of_b * of_b;
    return Known(of_a * a.near, fma(d, share, of_a * a.rest), squares + d * d * (a.n * share), n, e);
}

// The e that also scales √p.eps to less than 4.
fn widest(line: Known) -> u32 {
    return select(line.e, max(line.e, ((bitcast<u32>(p.eps) >> 23u) + 128u) / 2u), p.eps > 0.0);
}

// The variance + p.eps, times the square of scale_of(e). Not 0 if p.eps is not, so that a line of equal values has a
// finite factor.
fn variance_at(line: Known, e: u32) -> f32 {
    let scale = scale_of(e);
    let of_line = lower(e - line.e);
    let added = select(0.0, max(opaque(p.eps * scale) * scale, 0x1p-126f), p.eps > 0.0);
    return line.squares / line.n * of_line * of_line + added;
}
#else
alias Known = vec4<f32>;

fn stored(part: Known) -> vec4<f32> {
    return part;
}

fn loaded(part: vec4<f32>) -> Known {
    return part;
}

fn nothing() -> Known {
#if EXP
    return vec4(bitcast<f32>(key_bits(LOWEST_KEY | (p.ones & 0u))), 0.0, 0.0, 0.0);
#else
    return vec4(0.0);
#endif
}

fn merge(a: Known, b: Known) -> Known {
#if EXP
    let top = bitcast<f32>(key_bits(max(order_key(a.x), order_key(b.x))));
    let of_a = at_top(top, a);
    let of_b = at_top(top, b);
    return vec4(top, of_a.x + of_b.x, of_a.y + of_b.y, a.w + b.w);
#else
    return a + b;
#endif
}
#endif

// The result of a line that is reduced to one value.
#if REDUCED
fn reduced(line: Known) -> f32 {
#if SUM
    if line.w == 0.0 {
        return no_number(line.w);
    }
    let finite = !(is_nan(line.x) || is_infinite(line.x));
    return select((line.y / line.w) * 0x1p32f, line.x / line.w, finite);
#endif
#if MOMENTS
    if line.n == 0.0 {
        return no_number(line.n);
    }
    let e = widest(line);
    let variance = variance_at(line, e);
#if ROOT
    return select(unscaled(sqrt(variance), e), sqrt(p.eps), line.squares == 0.0);
#else
    return unscaled(unscaled(variance, e), e);
#endif
#endif
#if EXP
    return select(line.x, line.x + log_of_sum(line), is_known(line));
#endif
}

// Writes the result; with p.both, the maximum and the logarithm of the sum.
fn put_reduced(at: u32, line: Known) {
#if EXP
    if p.both != 0u {
        out[2u * at] = line.x;
        out[2u * at + 1u] = select(0.0, log_of_sum(line), is_known(line));
        return;
    }
#endif
    out[at] = reduced(line);
}
#endif
#if !SUM
#if !REDUCED
// The per-line constants for mapping values: for MOMENTS, the amount to subtract from the scaled value, in two parts,
// the factor to multiply by, and the scale; for SQUARES, the two factors in z and w; for EXP, the amount to subtract,
// and in z the factor, or for LOG another amount to subtract.
fn prepared(line: Known) -> vec4<f32> {
#if MOMENTS
    let e = widest(line);
    let of_line = lower(e - line.e);
    return vec4(of_line * line.near, of_line * line.rest, 1.0 / sqrt(variance_at(line, e)), scale_of(e));
#endif
#if SQUARES
    let root = root_of(line);
    return vec4(0.0, 0.0, 1.0 / root.x, 1.0 / root.y);
#endif
#if EXP
    let known = is_known(line);
#if LOG
    let rest = log_of_sum(line);
#else
    let rest = 1.0 / (line.y + line.z);
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
    return (opaque(fma(x, line.w, -line.x)) - line.y) * line.z;
#endif
#if SQUARES
    return opaque(x * line.z) * line.w;
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
