// Reduces each line of the elements of x (the values along an axis) to one value, or maps every value by the statistics
// of its line. The functions are in lib/line_statistics.wgsl.
//
// HELD and APART: several invocations share a line, see lib/line_groups.wgsl. HELD: the values of a line are
// consecutive, and each invocation keeps up to 16 of them in registers. APART: neighbouring invocations process
// neighbouring lines. PART and APPLY: longer lines are cut into tiles, one workgroup each, listed in `items` as
// [element, line, tile, number of the line among the long lines]. PART writes the statistics of each tile to `out`;
// APPLY reads the constants of each line from `of_lines`.
//
// f16 is computed in f32. An invocation holds pairs of neighbouring halves (PAIRS), so that it can read whole words.
// Results for each value (HALVES) are written by words, too. A word may belong to two lines that other workgroups
// process: each then sets its half, see lib/half_store.wgsl. Results for each line are written as f32.
//
// p.ones: see ends.wgsl.

#params eps: f32
#if PART
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
#else
#if HALVES
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
#endif
#endif
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<E>;
@group(0) @binding(4) var<storage, read> x_meta: array<u32>;
#if APPLY
@group(0) @binding(5) var<storage, read> of_lines: array<vec4<f32>>;
#else
#if !PART
@group(0) @binding(5) var<storage, read> of_lines: array<u32>;
#endif
#endif

// The header defines TILE, the values of a tile, and MOST_APART, the most strided lines of a workgroup: see
// src/ops/lines/plan.rs.
#if PAIRS
// The distance between the first values of neighbouring invocations.
const FIRST = 2u;
#else
const FIRST = 1u;
#endif

#include "line_groups"
#include "line_statistics"

#include "value_at"

#if HALVES
#include "half_round"
#include "half_store"
#endif

#if !APPLY
#include "line_sums"

fn total(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

#if EXP
// Negative infinity, hidden from compilers.
fn beyond() -> f32 {
    return bitcast<f32>(p.ones & 0xff800000u);
}

// Finite, so that differences from it are not NaN.
fn shift_of(highest: f32) -> f32 {
    return select(highest, 0.0, is_nan(highest) || is_infinite(highest));
}
#endif
#if EXP
// The sum of the exponentials below 1, and the number of the others. Softmax needs only the sum of all.
fn parted(e: vec4<f32>) -> vec2<f32> {
#if MAPPED
#if !LOG
    return vec2(total(e), 0.0);
#else
    let one = e == vec4(1.0);
    return vec2(total(select(e, vec4(0.0), one)), total(select(vec4(0.0), vec4(1.0), one)));
#endif
#else
    let one = e == vec4(1.0);
    return vec2(total(select(e, vec4(0.0), one)), total(select(vec4(0.0), vec4(1.0), one)));
#endif
}

fn known_sums(highest: f32, sums: vec2<f32>, n: f32) -> Known {
#if MAPPED
#if !LOG
    return vec4(highest, sums.x, 0.0, n);
#else
    return vec4(highest, sums, n);
#endif
#else
    return vec4(highest, sums, n);
#endif
}
#else
fn is_finite(x: f32) -> bool {
    return !(is_nan(x) || is_infinite(x));
}

// Where the values of a line or tile are: count of them, from the first, `step` apart.
struct Span {
    first: u32,
    count: u32,
    step: u32,
}

// The sum of the values, or for SQUARES of their squares, after scaling by a power of two, in chains of 32. For the
// rare lines whose sum leaves the range: each invocation computes it alone, because not all of the workgroup need it.
fn sum_again(span: Span, factor: f32) -> f32 {
    var all = vec4(0.0);
    for (var block = 0u; block < span.count; block += 128u) {
        var s = vec4(0.0);
        let end = min(block + 128u, span.count);
        for (var k = block; k < end; k += 4u) {
            let at = vec4(span.first) + min(vec4(k, k + 1u, k + 2u, k + 3u), vec4(end - 1u)) * span.step;
            let v = vec4(value_at(at.x), value_at(at.y), value_at(at.z), value_at(at.w));
            // Opaque, because compilers take the factor out of a sum.
            let scaled = bitcast<vec4<f32>>(bitcast<vec4<u32>>(v * factor) & vec4(p.ones));
            let there = vec4(k, k + 1u, k + 2u, k + 3u) < vec4(end);
#if SQUARES
            s += select(vec4(0.0), scaled * scaled, there);
#else
            s += select(vec4(0.0), scaled, there);
#endif
        }
        all += s;
    }
    return total(all);
}

#if SUM
fn known_sums(sum: f32, n: f32, span: Span) -> Known {
    if is_finite(sum) {
        return vec4(sum, sum * 0x1p-32f, 0.0, n);
    }
    return vec4(sum, sum_again(span, 0x1p-32f), 0.0, n);
}
#endif
#if SQUARES
fn known_sums(sum: f32, n: f32, span: Span) -> Known {
    if !is_finite(sum) {
        return vec4(sum_again(span, 0x1p-80f), sum, sum, n);
    }
    var high = opaque(sum * 0x1p80f) * 0x1p80f;
#if !F16
    // Squares below 2⁻¹²⁶ are lost, unless the sum or p.eps is larger.
#if NORM
    let least = p.eps * p.eps;
#else
    let least = p.eps;
#endif
    if max(sum, least) < 0x1p-86f {
        high = sum_again(span, 0x1p80f);
    }
#endif
    return vec4(opaque(sum * 0x1p-80f) * 0x1p-80f, sum, high, n);
}
#endif
#if MOMENTS
// Which power of two scales a line, and its mean, scaled and rounded.
struct Near {
    e: u32,
    scale: f32,
    mean: f32,
}

// The sums are of values and of magnitudes.
fn near_of(sums: vec2<f32>, n: f32, span: Span) -> Near {
    let count = max(n, 1.0);
#if F16
    return Near(128u, 1.0, sums.x / count);
#else
    let e = clamp(bitcast<u32>(sums.y) >> 23u, 1u, 254u);
    let scale = scale_of(e);
    if is_finite(sums.x) {
        return Near(e, scale, (sums.x / count) * scale);
    }
    return Near(e, scale, (sum_again(span, 0x1p-32f) / count) * (scale * 0x1p32f));
#endif
}

fn moments(near: Near, sums: vec2<f32>, n: f32) -> Known {
    let rest = sums.x / max(n, 1.0);
    let squares = fma(-sums.x, rest, sums.y);
    // Tests for negative values by their bits: a driver implements max(…, 0) as a comparison and loses a NaN.
    let bits = bitcast<u32>(squares);
    let below = bits >= 0x80000000u && bits <= 0xff800000u;
    return Known(near.mean, rest, select(squares, 0.0, below), n, near.e);
}
#endif
#endif

#if APART
// The statistics of a line.
fn known_of(line: Line, lid: u32, lane: u32, lanes: u32, apart: u32) -> Known {
    let base = p.x_base + line.begin;
    let end = line.count;
    let n = f32(end);
    var k = lane;
#if EXP
    var top = top_of(beyond());
    for (; k < end; k += lanes) {
        top = max(top, top_of(value_at(base + k * line.step)));
    }
    let highest = of_top(line_max(top, lid, lane, lanes, apart));
    let shift = shift_of(highest);
    var s = vec2(0.0);
    k = lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        s += parted(exp4(four(base, k, line.step, lanes) - vec4(shift)));
    }
    for (; k < end; k += lanes) {
        s += parted(vec4(exp_below(value_at(base + k * line.step) - shift), 0.0, 0.0, 0.0));
    }
    return known_sums(highest, line_sum(s, lid, lane, lanes, apart), n);
#else
    var s = vec4(0.0);
    var sizes = vec4(0.0);
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let v = four(base, k, line.step, lanes);
#if SQUARES
        s = fma(v, v, s);
#else
        s += v;
#endif
#if MOMENTS
        sizes += abs(v);
#endif
    }
    for (; k < end; k += lanes) {
        let v = value_at(base + k * line.step);
#if SQUARES
        s.x = fma(v, v, s.x);
#else
        s.x += v;
#endif
#if MOMENTS
        sizes.x += abs(v);
#endif
    }
    let span = Span(base, end, line.step);
    let sums = line_sum(vec2(total(s), total(sizes)), lid, lane, lanes, apart);
#if MOMENTS
    let near = near_of(sums, n, span);
    var t = vec4(0.0);
    s = vec4(0.0);
    k = lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let d = fma(four(base, k, line.step, lanes), vec4(near.scale), vec4(-near.mean));
        s += d;
        t = fma(d, d, t);
    }
    for (; k < end; k += lanes) {
        let d = fma(value_at(base + k * line.step), near.scale, -near.mean);
        s.x += d;
        t.x = fma(d, d, t.x);
    }
    return moments(near, line_sum(vec2(total(s), total(t)), lid, lane, lanes, apart), n);
#else
    return known_sums(sums.x, n, span);
#endif
#endif
}
#else
// Up to 16 values of an invocation.
struct Held {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

fn held_of(line: Line, k: u32, end: u32, lanes: u32) -> Held {
    let base = p.x_base + line.begin;
#if PAIRS
    if line.step == 1u {
        return held_pairs(base, k, end, lanes);
    }
#endif
    // The loads of two quads share a branch, and precede all selections.
    let last = vec4(end - 1u);
    var v = Held(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    if k < end {
        v.a = quad_at(base, min(places4(k, lanes), last), line.step);
        v.b = quad_at(base, min(places4(k + 4u * lanes, lanes), last), line.step);
    }
    if k + 8u * lanes < end {
        v.c = quad_at(base, min(places4(k + 8u * lanes, lanes), last), line.step);
        v.d = quad_at(base, min(places4(k + 12u * lanes, lanes), last), line.step);
    }
    return Held(
        there_or(v.a, k, end, lanes),
        there_or(v.b, k + 4u * lanes, end, lanes),
        there_or(v.c, k + 8u * lanes, end, lanes),
        there_or(v.d, k + 12u * lanes, end, lanes),
    );
}

#if EXP
fn top4(v: vec4<f32>) -> Top {
    return max(max(top_of(v.x), top_of(v.y)), max(top_of(v.z), top_of(v.w)));
}
#endif
#if MOMENTS
fn apart4(v: vec4<f32>, near: Near, k: u32, end: u32, lanes: u32) -> vec4<f32> {
    return select(vec4(0.0), fma(v, vec4(near.scale), vec4(-near.mean)), there4(k, end, lanes));
}
#endif

// The statistics of the held values. For softmax, the values become exponentials.
fn known_of(held: ptr<function, Held>, k: u32, line: Line, begin: u32, end: u32, lid: u32, lane: u32, lanes: u32) -> Known {
    let n = f32(end - begin);
    let a = (*held).a;
    let b = (*held).b;
    let c = (*held).c;
    let d = (*held).d;
    let k1 = k + 4u * lanes;
    let k2 = k + 8u * lanes;
    let k3 = k + 12u * lanes;
#if EXP
    var top = top4(a);
    if k1 < end {
        top = max(top, top4(b));
    }
    if k2 < end {
        top = max(top, max(top4(c), top4(d)));
    }
    let highest = of_top(line_max(top, lid, lane, lanes, 1u));
    let shift = vec4(shift_of(highest));
    let none = vec4(0.0);
    var e = Held(exp4(a - shift), none, none, none);
    if k1 < end {
        e.b = exp4(b - shift);
    }
    if k2 < end {
        e.c = exp4(c - shift);
    }
    if k3 < end {
        e.d = exp4(d - shift);
    }
#if MAPPED
#if !LOG
    let own = vec2(total((e.a + e.b) + (e.c + e.d)), 0.0);
#else
    let own = (parted(e.a) + parted(e.b)) + (parted(e.c) + parted(e.d));
#endif
#else
    let own = (parted(e.a) + parted(e.b)) + (parted(e.c) + parted(e.d));
#endif
    let sums = line_sum(own, lid, lane, lanes, 1u);
#if MAPPED
#if !LOG
    *held = e;
#endif
#endif
    return known_sums(highest, sums, n);
#else
    let span = Span(p.x_base + line.begin + begin * line.step, end - begin, line.step);
#if SQUARES
    let s = fma(a, a, b * b) + fma(c, c, d * d);
#else
    let s = (a + b) + (c + d);
#endif
#if MOMENTS
    let sizes = total((abs(a) + abs(b)) + (abs(c) + abs(d)));
#else
    let sizes = 0.0;
#endif
    let sums = line_sum(vec2(total(s), sizes), lid, lane, lanes, 1u);
#if MOMENTS
    let near = near_of(sums, n, span);
    let e = Held(
        apart4(a, near, k, end, lanes),
        apart4(b, near, k1, end, lanes),
        apart4(c, near, k2, end, lanes),
        apart4(d, near, k3, end, lanes),
    );
    let first = total((e.a + e.b) + (e.c + e.d));
    let second = total(fma(e.a, e.a, e.b * e.b) + fma(e.c, e.c, e.d * e.d));
    return moments(near, line_sum(vec2(first, second), lid, lane, lanes, 1u), n);
#else
    return known_sums(sums.x, n, span);
#endif
#endif
}

#if MAPPED
fn held_value(x: f32, line: vec4<f32>) -> f32 {
#if EXP
#if !LOG
    return x * line.z;
#else
    return value(x, line);
#endif
#else
    return value(x, line);
#endif
}

#if F16
// The results of the lines of a workgroup, in pairs that begin with the first of a line.
var<workgroup> sh_pairs: array<u32, TILE / WG * SIZE / 2u>;

// Packs four results, of which the first is at place k of the line. A line that begins with a whole word is written
// here; otherwise `pair` is the place of the first pair, and put_line follows.
fn put4(v: vec4<f32>, line: Line, k: u32, pair: u32, lanes: u32, known: vec4<f32>) {
    let y = vec4(held_value(v.x, known), held_value(v.y, known), held_value(v.z, known), held_value(v.w, known));
    let first = half_bits(y.x) | (half_bits(y.y) << 16u);
    let second = half_bits(y.z) | (half_bits(y.w) << 16u);
    if line.begin % 2u == 1u {
        sh_pairs[pair] = first;
        sh_pairs[pair + lanes] = second;
        return;
    }
    let there = there4(k, line.count, lanes);
    let at = (line.begin + k) / 2u;
    if there.x {
        put_word(at, first, true, there.y);
    }
    if there.z {
        put_word(at + lanes, second, true, there.w);
    }
}

// Writes the words of a line that begins with a high half, and whose pairs are at `first`.
fn put_line(line: Line, first: u32, lane: u32, lanes: u32) {
    for (var w = lane; 2u * w < line.count + 1u; w += lanes) {
        // The places in the line of the two halves; the first word has only the high one.
        let i = 2u * w - 1u;
        let low = i < line.count;
        let high = i + 1u < line.count;
        var halves = 0u;
        if low {
            halves = sh_pairs[first + w - 1u] >> 16u;
        }
        if high {
            halves |= sh_pairs[first + w] << 16u;
        }
        put_word(line.begin / 2u + w, halves, low, high);
    }
}
#else
fn put4(v: vec4<f32>, line: Line, k: u32, lanes: u32, known: vec4<f32>) {
    let there = there4(k, line.count, lanes);
    let at = line.begin + k * line.step;
    let step = lanes * line.step;
    if there.x {
        out[at] = held_value(v.x, known);
    }
    if there.y {
        out[at + step] = held_value(v.y, known);
    }
    if there.z {
        out[at + 2u * step] = held_value(v.z, known);
    }
    if there.w {
        out[at + 3u * step] = held_value(v.w, known);
    }
}
#endif
#endif
#endif

#include "places4"

fn there4(k: u32, end: u32, lanes: u32) -> vec4<bool> {
    return places4(k, lanes) < vec4(end);
}

// The value that replaces those beyond the end of a line.
fn filler() -> f32 {
#if EXP
    return beyond();
#else
    return 0.0;
#endif
}

#if APART
// The values at places4, which are all within the line.
fn four(base: u32, k: u32, step: u32, lanes: u32) -> vec4<f32> {
    return quad_at(base, places4(k, lanes), step);
}
#endif

fn quad_at(base: u32, place: vec4<u32>, step: u32) -> vec4<f32> {
    return vec4(
        value_at(base + place.x * step),
        value_at(base + place.y * step),
        value_at(base + place.z * step),
        value_at(base + place.w * step),
    );
}

// Replaces each value beyond the end by filler().
fn there_or(v: vec4<f32>, k: u32, end: u32, lanes: u32) -> vec4<f32> {
    return select(vec4(filler()), v, there4(k, end, lanes));
}

#if PAIRS
#include "held_words"

// The same for consecutive values.
fn held_pairs(base: u32, k: u32, end: u32, lanes: u32) -> Held {
    let words = held_words(base, k, end, lanes);
    let ab = words.ab;
    let cd = words.cd;
    return Held(
        there_or(vec4(unpack2x16float(ab.x), unpack2x16float(ab.y)), k, end, lanes),
        there_or(vec4(unpack2x16float(ab.z), unpack2x16float(ab.w)), k + 4u * lanes, end, lanes),
        there_or(vec4(unpack2x16float(cd.x), unpack2x16float(cd.y)), k + 8u * lanes, end, lanes),
        there_or(vec4(unpack2x16float(cd.z), unpack2x16float(cd.w)), k + 12u * lanes, end, lanes),
    );
}
#endif

#if EXP
fn exp4(v: vec4<f32>) -> vec4<f32> {
    return vec4(exp_below(v.x), exp_below(v.y), exp_below(v.z), exp_below(v.w));
}
#endif
#endif

#if HALVES
#if !HELD
// Maps a value of a line with these constants, as a half of its word.
fn put_mapped(at: u32, line: vec4<f32>) {
    put_half(at, half_bits(value(value_at(p.x_base + at), line)));
}
#endif
#if APART
// The lines of the workgroup and their constants.
var<workgroup> sh_lines: array<Line, MOST_APART>;
var<workgroup> sh_known: array<vec4<f32>, MOST_APART>;

// Whether line i + 1 of the workgroup follows line i in every row.
fn are_neighbours(i: u32) -> bool {
    let left = sh_lines[i];
    let right = sh_lines[i + 1u];
    return left.begin + 1u == right.begin && left.count == right.count && left.step == right.step;
}
#endif
#endif

#main SIZE {
#if PART
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
    let k = begin + FIRST * lid;
    var held = held_of(line, k, end, WG);
    let part = known_of(&held, k, line, begin, end, lid, lid, WG);
    if lid == 0u {
        out[group] = stored(part);
    }
#else
#if APPLY
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
    let all = of_lines[items[4u * group + 3u]];
#if F16
    if line.step == 1u {
        let first = line.begin + begin;
        let last = line.begin + end;
        for (var w = first / 2u + lid; 2u * w < last; w += WG) {
            let low = 2u * w >= first;
            let high = 2u * w + 1u < last;
            var halves = 0u;
            if low {
                halves = half_bits(value(value_at(p.x_base + 2u * w), all));
            }
            if high {
                halves |= half_bits(value(value_at(p.x_base + 2u * w + 1u), all)) << 16u;
            }
            put_word(w, halves, low, high);
        }
    } else {
        for (var k = begin + lid; k < end; k += WG) {
            put_mapped(line.begin + k * line.step, all);
        }
    }
#else
    for (var k = begin + lid; k < end; k += WG) {
        let at = line.begin + k * line.step;
        out[at] = value(x[p.x_base + at], all);
    }
#endif
#else
    let g = group_of(group);
    let lanes = 1u << g.log;
    let lines = SIZE >> g.log;
#if APART
    let lane = lid / lines;
    let own = lid % lines;
#else
    let lane = lid & (lanes - 1u);
    let own = lid >> g.log;
#endif
    var line = Line(0u, 0u, 1u);
    var place = vec2(0u);
    if own < g.lines {
        place = place_of(g, own);
        line = line_of(place.x, place.y);
    }
#if APART
    let all = known_of(line, lid, lane, lanes, lines);
#else
    let k = FIRST * lane;
    var held = held_of(line, k, line.count, lanes);
    let all = known_of(&held, k, line, 0u, line.count, lid, lane, lanes);
#endif
#if HALVES
    let needed = prepared(all);
#if APART
    if lane == 0u {
        sh_lines[own] = line;
        sh_known[own] = needed;
    }
    workgroupBarrier();
    if own >= g.lines {
        return;
    }
    // An invocation writes both halves of a word if the other one belongs to the next line.
    let before = own > 0u && are_neighbours(max(own, 1u) - 1u);
    let after = own + 1u < g.lines && are_neighbours(min(own, lines - 2u));
    for (var k = lane; k < line.count; k += lanes) {
        let at = line.begin + k * line.step;
        if at % 2u == 0u && after {
            let low = value(value_at(p.x_base + at), needed);
            let high = value(value_at(p.x_base + at + 1u), sh_known[own + 1u]);
            put_word(at / 2u, half_bits(low) | (half_bits(high) << 16u), true, true);
        }
        if (at % 2u == 0u && !after) || (at % 2u == 1u && !before) {
            put_mapped(at, needed);
        }
    }
#else
    let first = (lid - lane) * (TILE / WG / 2u);
    let pair = first + lane;
    put4(held.a, line, k, pair, lanes, needed);
    put4(held.b, line, k + 4u * lanes, pair + 2u * lanes, lanes, needed);
    put4(held.c, line, k + 8u * lanes, pair + 4u * lanes, lanes, needed);
    put4(held.d, line, k + 12u * lanes, pair + 6u * lanes, lanes, needed);
    workgroupBarrier();
    if own < g.lines && line.begin % 2u == 1u {
        put_line(line, first, lane, lanes);
    }
#endif
#else
    if own >= g.lines {
        return;
    }
#if REDUCED
    if lane == 0u {
        put_reduced(of_lines[place.x] + place.y, all);
    }
#else
    let needed = prepared(all);
#if APART
    for (var k = lane; k < line.count; k += lanes) {
        let at = line.begin + k * line.step;
        out[at] = value(value_at(p.x_base + at), needed);
    }
#else
    put4(held.a, line, lane, lanes, needed);
    put4(held.b, line, lane + 4u * lanes, lanes, needed);
    put4(held.c, line, lane + 8u * lanes, lanes, needed);
    put4(held.d, line, lane + 12u * lanes, lanes, needed);
#endif
#endif
#endif
#endif
#endif
}
