// One value for each line of the elements of x, the values along an axis, or every value by what its line comes to. The functions are
// those of lib/lines.wgsl.
//
// WHOLE: lines that p.lanes invocations go through; the units of `items` are lines. PART and APPLY: tiles of longer ones, a workgroup
// each, [element, line, tile, number among the long ones] in `items`; what a tile comes to is left in `out`, and what a line does
// is found in `known`.

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32,
    elements: u32,
    // 0 where each element is one line.
    rank: u32,
    axis: u32,
    eps: f32,
    ones: u32, // bits that no compiler knows: see ends.wgsl
    lanes: u32, // a power of two
    units: u32,
    entries: u32, // where they begin
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
#if WHOLE
@group(0) @binding(5) var<storage, read> out_meta: array<u32>;
#endif
#if APPLY
@group(0) @binding(5) var<storage, read> known: array<vec4<f32>>;
#endif

const WG = 256u;
// TILE is also in src/ops/lines/plan.rs.
const TILE = 8192u;

#include "grid"
#include "entries"
#include "lines"

struct Line {
    // Where it begins, counted from the first value of the batch.
    begin: u32,
    count: u32,
    // From one value to the next.
    step: u32,
}

fn line_of(e: u32, number: u32) -> Line {
    let start = x_meta[e];
    if p.rank == 0u {
        return Line(start, x_meta[e + 1u] - start, 1u);
    }
    let extents = p.elements + 1u + e * p.rank;
    var step = 1u;
    for (var axis = p.axis + 1u; axis < p.rank; axis += 1u) {
        step *= x_meta[extents + axis];
    }
    let count = x_meta[extents + p.axis];
    let before = number / step;
    return Line(start + before * count * step + (number - before * step), count, step);
}

var<workgroup> sh_sums: array<vec2<f32>, WG>;
var<workgroup> sh_keys: array<u32, WG>;

// The sum over each run of `lanes` invocations, for all of them. To be called in uniform control flow.
fn tree_sum(v: vec2<f32>, lid: u32, lanes: u32) -> vec2<f32> {
    workgroupBarrier();
    sh_sums[lid] = v;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid & (lanes - 1u)) < half {
            sh_sums[lid] += sh_sums[lid + half];
        }
    }
    workgroupBarrier();
    return sh_sums[lid & ~(lanes - 1u)];
}

fn tree_max(key: u32, lid: u32, lanes: u32) -> u32 {
    workgroupBarrier();
    sh_keys[lid] = key;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid & (lanes - 1u)) < half {
            sh_keys[lid] = max(sh_keys[lid], sh_keys[lid + half]);
        }
    }
    workgroupBarrier();
    return sh_keys[lid & ~(lanes - 1u)];
}

// What the values of a line from `begin` to before `end` come to, by `lanes` invocations.
fn known_of(line: Line, begin: u32, end: u32, lid: u32, lanes: u32) -> vec4<f32> {
    let lane = lid & (lanes - 1u);
    let base = p.x_base + line.begin;
    let n = f32(end - begin);
    var s = vec4(0.0);
    var k = begin + lane;
#if EXP
    var top = LOWEST_KEY;
    for (; k < end; k += lanes) {
        top = max(top, order_key(x[base + k * line.step]));
    }
    let highest = bitcast<f32>(key_bits(tree_max(top, lid, lanes)));
    let shift = select(highest, 0.0, is_nan(highest) || is_infinite(highest));
    k = begin + lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        s.x += exp_times(1.0, x[base + k * line.step] - shift);
        s.y += exp_times(1.0, x[base + (k + lanes) * line.step] - shift);
        s.z += exp_times(1.0, x[base + (k + 2u * lanes) * line.step] - shift);
        s.w += exp_times(1.0, x[base + (k + 3u * lanes) * line.step] - shift);
    }
    for (; k < end; k += lanes) {
        s.x += exp_times(1.0, x[base + k * line.step] - shift);
    }
    let sum = tree_sum(vec2((s.x + s.y) + (s.z + s.w), 0.0), lid, lanes);
    return vec4(highest, sum.x, 0.0, n);
#else
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let v = vec4(
            x[base + k * line.step],
            x[base + (k + lanes) * line.step],
            x[base + (k + 2u * lanes) * line.step],
            x[base + (k + 3u * lanes) * line.step],
        );
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
    let sum = tree_sum(vec2((s.x + s.y) + (s.z + s.w), 0.0), lid, lanes).x;
#if MOMENTS
    let near = sum / max(n, 1.0);
    var t = vec4(0.0);
    s = vec4(0.0);
    k = begin + lane;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let v = vec4(
            x[base + k * line.step],
            x[base + (k + lanes) * line.step],
            x[base + (k + 2u * lanes) * line.step],
            x[base + (k + 3u * lanes) * line.step],
        );
        let d = v - vec4(near);
        s += d;
        t = fma(d, d, t);
    }
    for (; k < end; k += lanes) {
        let d = x[base + k * line.step] - near;
        s.x += d;
        t.x = fma(d, d, t.x);
    }
    let sums = tree_sum(vec2((s.x + s.y) + (s.z + s.w), (t.x + t.y) + (t.z + t.w)), lid, lanes);
    let rest = sums.x / max(n, 1.0);
    // Not max(…, 0): that may lose a NaN.
    let squares = fma(-sums.x, rest, sums.y);
    return vec4(near, rest, select(squares, 0.0, squares < 0.0), n);
#else
    return vec4(sum, 0.0, 0.0, n);
#endif
#endif
}

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
#if WHOLE
    let unit = group * (WG / p.lanes) + lid / p.lanes;
    let lane = lid & (p.lanes - 1u);
    var line = Line(0u, 0u, 1u);
    var e = 0u;
    var number = 0u;
    if unit < p.units {
        let entry = entry_of(group, unit);
        e = entry.y;
        number = unit - entry.x;
        line = line_of(e, number);
    }
    let all = known_of(line, 0u, line.count, lid, p.lanes);
    if unit >= p.units {
        return;
    }
#if REDUCED
    if lane == 0u {
        out[out_meta[e] + number] = reduced(all);
    }
#else
    for (var k = lane; k < line.count; k += p.lanes) {
        let at = line.begin + k * line.step;
        out[at] = value(x[p.x_base + at], all);
    }
#endif
#else
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
#if PART
    let part = known_of(line, begin, end, lid, WG);
    if lid == 0u {
        out[group] = part;
    }
#else
    let all = known[items[4u * group + 3u]];
    for (var k = begin + lid; k < end; k += WG) {
        let at = line.begin + k * line.step;
        out[at] = value(x[p.x_base + at], all);
    }
#endif
#endif
}
