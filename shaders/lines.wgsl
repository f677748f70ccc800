// Reduces each line of the elements of x (the values along an axis) to one value, or maps every value by the statistics
// of its line. The functions are in lib/lines.wgsl.
//
// HELD and APART: p.lanes invocations share a line; the units of `items` are lines. HELD: the values of a line are
// consecutive, and each invocation keeps up to 16 of them in registers. APART: neighbouring invocations process
// neighbouring lines. PART and APPLY: longer lines are cut into tiles, one workgroup each, listed in `items` as
// [element, line, tile, number of the line among the long lines]. PART writes the statistics of each tile to `out`;
// APPLY reads the constants of each line from `of_lines`.

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32,
    elements: u32,
    // 0 if each element is one line.
    rank: u32,
    axis: u32,
    eps: f32,
    ones: u32, // all bits set, unknown to the compiler: see ends.wgsl
    lanes: u32, // a power of two
    units: u32,
    entries: u32, // offset of the entries in items
}

@group(0) @binding(0) var<uniform> p: Params;
#if PART
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
#endif
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read> x_meta: array<u32>;
#if APPLY
@group(0) @binding(5) var<storage, read> of_lines: array<vec4<f32>>;
#else
#if !PART
@group(0) @binding(5) var<storage, read> of_lines: array<u32>;
#endif
#endif

// TILE is also in src/ops/lines/plan.rs.

#include "grid"
#include "entries"
#include "line"
#include "lines"

#if !APPLY
var<workgroup> sh_sums: array<vec2<f32>, WG>;
var<workgroup> sh_keys: array<u32, WG>;

// The sum over the invocations that share a line, whose indices are `apart` apart; all of them receive it. Must be
// called in uniform control flow.
fn tree_sum(v: vec2<f32>, lid: u32, lane: u32, lanes: u32, apart: u32) -> vec2<f32> {
    if lanes == 1u {
        return v;
    }
    workgroupBarrier();
    sh_sums[lid] = v;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            sh_sums[lid] += sh_sums[lid + half * apart];
        }
    }
    workgroupBarrier();
    return sh_sums[lid - lane * apart];
}

fn tree_max(key: u32, lid: u32, lane: u32, lanes: u32, apart: u32) -> u32 {
    if lanes == 1u {
        return key;
    }
    workgroupBarrier();
    sh_keys[lid] = key;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            sh_keys[lid] = max(sh_keys[lid], sh_keys[lid + half * apart]);
        }
    }
    workgroupBarrier();
    return sh_keys[lid - lane * apart];
}

fn total(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

#if EXP
// Finite, so that differences from it are not NaN.
fn shift_of(highest: f32) -> f32 {
    return select(highest, 0.0, is_nan(highest) || is_infinite(highest));
}
#endif
#if MOMENTS
fn moments(near: f32, sums: vec2<f32>, n: f32) -> vec4<f32> {
    let rest = sums.x / max(n, 1.0);
    let squares = fma(-sums.x, rest, sums.y);
    // Tests for negative values by their bits: a driver implements max(…, 0) as a comparison and loses a NaN.
    let bits = bitcast<u32>(squares);
    let below = bits >= 0x80000000u && bits <= 0xff800000u;
    return vec4(near, rest, select(squares, 0.0, below), n);
}
#endif

#if APART
// The statistics of a line.
fn known_of(line: Line, lid: u32, lane: u32, lanes: u32, apart: u32) -> vec4<f32> {
    let base = p.x_base + line.begin;
    let end = line.count;
    let n = f32(end);
    var s = vec4(0.0);
    var k = lane;
#if EXP
    var top = LOWEST_KEY;
    for (; k < end; k += lanes) {
        top = max(top, order_key(x[base + k * line.step]));
    }
    let highest = bitcast<f32>(key_bits(tree_max(top, lid, lane, lanes, apart)));
#if TOP
    return vec4(highest, 0.0, 0.0, n);
#else
    let shift = shift_of(highest);
    k = lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        s += exp4(four(base, k, end, line.step, lanes) - vec4(shift));
    }
    for (; k < end; k += lanes) {
        s.x += exp_times(1.0, x[base + k * line.step] - shift);
    }
    let sum = tree_sum(vec2(total(s), 0.0), lid, lane, lanes, apart);
    return vec4(highest, sum.x, 0.0, n);
#endif
#else
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let v = four(base, k, end, line.step, lanes);
#if SQUARES
        s = fma(v, v, s);
#else
        s += v;
#endif
    }
    for (; k < end; k += lanes) {
        let v = x[base + k * line.step];
#if SQUARES
        s.x = fma(v, v, s.x);
#else
        s.x += v;
#endif
    }
    let sum = tree_sum(vec2(total(s), 0.0), lid, lane, lanes, apart).x;
#if MOMENTS
    let near = sum / max(n, 1.0);
    var t = vec4(0.0);
    s = vec4(0.0);
    k = lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let d = four(base, k, end, line.step, lanes) - vec4(near);
        s += d;
        t = fma(d, d, t);
    }
    for (; k < end; k += lanes) {
        let d = x[base + k * line.step] - near;
        s.x += d;
        t.x = fma(d, d, t.x);
    }
    return moments(near, tree_sum(vec2(total(s), total(t)), lid, lane, lanes, apart), n);
#else
    return vec4(sum, 0.0, 0.0, n);
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
    return Held(
        four(base, k, end, line.step, lanes),
        four(base, k + 4u * lanes, end, line.step, lanes),
        four(base, k + 8u * lanes, end, line.step, lanes),
        four(base, k + 12u * lanes, end, line.step, lanes),
    );
}

#if EXP
fn top4(v: vec4<f32>, k: u32, end: u32, lanes: u32) -> u32 {
    let there = there4(k, end, lanes);
    let x = select(LOWEST_KEY, order_key(v.x), there.x);
    let y = select(LOWEST_KEY, order_key(v.y), there.y);
    let z = select(LOWEST_KEY, order_key(v.z), there.z);
    let w = select(LOWEST_KEY, order_key(v.w), there.w);
    return max(max(x, y), max(z, w));
}
#else
fn apart4(v: vec4<f32>, near: f32, k: u32, end: u32, lanes: u32) -> vec4<f32> {
    return select(vec4(0.0), v - vec4(near), there4(k, end, lanes));
}
#endif

// The statistics of the held values. For softmax, the values become exponentials.
fn known_of(held: ptr<function, Held>, k: u32, end: u32, n: f32, lid: u32, lane: u32, lanes: u32) -> vec4<f32> {
    let a = (*held).a;
    let b = (*held).b;
    let c = (*held).c;
    let d = (*held).d;
    let k1 = k + 4u * lanes;
    let k2 = k + 8u * lanes;
    let k3 = k + 12u * lanes;
#if EXP
    var top = top4(a, k, end, lanes);
    if k1 < end {
        top = max(top, top4(b, k1, end, lanes));
    }
    if k2 < end {
        top = max(top, max(top4(c, k2, end, lanes), top4(d, k3, end, lanes)));
    }
    let highest = bitcast<f32>(key_bits(tree_max(top, lid, lane, lanes, 1u)));
#if TOP
    return vec4(highest, 0.0, 0.0, n);
#else
    let shift = vec4(shift_of(highest));
    let none = vec4(0.0);
    var e = Held(none, none, none, none);
    e.a = select(none, exp4(a - shift), there4(k, end, lanes));
    if k1 < end {
        e.b = select(none, exp4(b - shift), there4(k1, end, lanes));
    }
    if k2 < end {
        e.c = select(none, exp4(c - shift), there4(k2, end, lanes));
    }
    if k3 < end {
        e.d = select(none, exp4(d - shift), there4(k3, end, lanes));
    }
    let sum = tree_sum(vec2(total((e.a + e.b) + (e.c + e.d)), 0.0), lid, lane, lanes, 1u);
#if MAPPED
#if !LOG
    *held = e;
#endif
#endif
    return vec4(highest, sum.x, 0.0, n);
#endif
#else
#if SQUARES
    let s = fma(a, a, b * b) + fma(c, c, d * d);
#else
    let s = (a + b) + (c + d);
#endif
    let sum = tree_sum(vec2(total(s), 0.0), lid, lane, lanes, 1u).x;
#if MOMENTS
    let near = sum / max(n, 1.0);
    let e = Held(
        apart4(a, near, k, end, lanes),
        apart4(b, near, k1, end, lanes),
        apart4(c, near, k2, end, lanes),
        apart4(d, near, k3, end, lanes),
    );
    let first = total((e.a + e.b) + (e.c + e.d));
    let second = total(fma(e.a, e.a, e.b * e.b) + fma(e.c, e.c, e.d * e.d));
    return moments(near, tree_sum(vec2(first, second), lid, lane, lanes, 1u), n);
#else
    return vec4(sum, 0.0, 0.0, n);
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

fn there4(k: u32, end: u32, lanes: u32) -> vec4<bool> {
    return vec4(k, k + lanes, k + 2u * lanes, k + 3u * lanes) < vec4(end);
}

// Every lanes-th value from k on, and 0 beyond the end.
fn four(base: u32, k: u32, end: u32, step: u32, lanes: u32) -> vec4<f32> {
    let there = there4(k, end, lanes);
    var v = vec4(0.0);
    if there.x {
        v.x = x[base + k * step];
    }
    if there.y {
        v.y = x[base + (k + lanes) * step];
    }
    if there.z {
        v.z = x[base + (k + 2u * lanes) * step];
    }
    if there.w {
        v.w = x[base + (k + 3u * lanes) * step];
    }
    return v;
}

#if EXP
fn exp4(v: vec4<f32>) -> vec4<f32> {
    return vec4(exp_times(1.0, v.x), exp_times(1.0, v.y), exp_times(1.0, v.z), exp_times(1.0, v.w));
}
#endif
#endif

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
#if PART
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
    var held = held_of(line, begin + lid, end, WG);
    let part = known_of(&held, begin + lid, end, f32(end - begin), lid, lid, WG);
    if lid == 0u {
        out[group] = part;
    }
#else
#if APPLY
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
    let all = of_lines[items[4u * group + 3u]];
    for (var k = begin + lid; k < end; k += WG) {
        let at = line.begin + k * line.step;
        out[at] = value(x[p.x_base + at], all);
    }
#else
    let lines = WG / p.lanes;
#if APART
    let lane = lid / lines;
    let unit = group * lines + lid % lines;
#else
    let lane = lid & (p.lanes - 1u);
    let unit = group * lines + lid / p.lanes;
#endif
    var line = Line(0u, 0u, 1u);
    var e = 0u;
    var number = 0u;
    if unit < p.units {
        let entry = entry_of(group, unit);
        e = entry.y;
        number = unit - entry.x;
        line = line_of(e, number);
    }
#if APART
    let all = known_of(line, lid, lane, p.lanes, lines);
#else
    var held = held_of(line, lane, line.count, p.lanes);
    let all = known_of(&held, lane, line.count, f32(line.count), lid, lane, p.lanes);
#endif
    if unit >= p.units {
        return;
    }
#if REDUCED
    if lane == 0u {
        out[of_lines[e] + number] = reduced(all);
    }
#else
    let needed = prepared(all);
#if APART
    for (var k = lane; k < line.count; k += p.lanes) {
        let at = line.begin + k * line.step;
        out[at] = value(x[p.x_base + at], needed);
    }
#else
    put4(held.a, line, lane, p.lanes, needed);
    put4(held.b, line, lane + 4u * p.lanes, p.lanes, needed);
    put4(held.c, line, lane + 8u * p.lanes, p.lanes, needed);
    put4(held.d, line, lane + 12u * p.lanes, p.lanes, needed);
#endif
#endif
#endif
#endif
}
