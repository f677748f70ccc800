// Reduces each line of the elements of x (the values along an axis) to one value: the reductions are in
// lib/reduce.wgsl. Results of f16 are written as f32.
//
// Several invocations share a line: see lib/line_groups.wgsl. If the values of a line are consecutive, so are its
// invocations; otherwise (p.strided) neighbouring invocations process neighbouring lines. PART: longer lines are cut
// into tiles, one workgroup each, listed in `items` as [element, line, tile, number of the line among the long lines];
// the part of each is written to `out`.

#params
#if PART
@group(0) @binding(1) var<storage, read_write> out: array<Part>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
#endif
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<E>;
@group(0) @binding(4) var<storage, read> x_meta: array<u32>;
#if !PART
@group(0) @binding(5) var<storage, read> of_lines: array<u32>;
#endif

// The header defines TILE, the values of a tile: see src/ops/lines/plan.rs.

#include "line_groups"
#include "reduce"

#include "value_at"

// Reduces every `lanes`-th value from `begin` to before `end`, in four independent chains. In place of values beyond
// the end, the last one is read, so that the loads of the last round need only one branch.
fn reduce_run(line: Line, begin: u32, end: u32, lanes: u32) -> Acc {
    let base = p.x_base + line.begin;
    let step = line.step;
    var k = begin;
#if NORM2
    var top = 0u;
    for (; k < end; k += lanes) {
        top = max(top, bitcast<u32>(value_at(base + k * step)) & 0x7fffffffu);
    }
    let scale = norm_scale(top);
    var s = vec4(0.0);
    k = begin;
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        let v = scale * vec4(
            value_at(base + k * step),
            value_at(base + (k + lanes) * step),
            value_at(base + (k + 2u * lanes) * step),
            value_at(base + (k + 3u * lanes) * step),
        );
        s = fma(v, v, s);
    }
    if k < end {
        let at = vec3(k, k + lanes, k + 2u * lanes);
        let place = min(at, vec3(end - 1u));
        let v = vec3(
            value_at(base + place.x * step),
            value_at(base + place.y * step),
            value_at(base + place.z * step),
        );
        // The last value may belong to another invocation, whose scale is smaller.
        let scaled = vec4(select(vec3(0.0), scale * v, at < vec3(end)), 0.0);
        s = fma(scaled, scaled, s);
    }
    return Acc(top, bitcast<u32>((s.x + s.y) + (s.z + s.w)));
#else
    var acc0 = nothing();
    var acc1 = nothing();
    var acc2 = nothing();
    var acc3 = nothing();
    for (; k + 3u * lanes < end; k += 4u * lanes) {
        acc0 = taken(acc0, value_at(base + k * step), k);
        acc1 = taken(acc1, value_at(base + (k + lanes) * step), k + lanes);
        acc2 = taken(acc2, value_at(base + (k + 2u * lanes) * step), k + 2u * lanes);
        acc3 = taken(acc3, value_at(base + (k + 3u * lanes) * step), k + 3u * lanes);
    }
    if k < end {
        let k1 = k + lanes;
        let k2 = k + 2u * lanes;
        let v0 = value_at(base + k * step);
        let v1 = value_at(base + min(k1, end - 1u) * step);
        let v2 = value_at(base + min(k2, end - 1u) * step);
        acc0 = taken(acc0, v0, k);
        acc1 = select(acc1, taken(acc1, v1, k1), k1 < end);
        acc2 = select(acc2, taken(acc2, v2, k2), k2 < end);
    }
    return combine(combine(acc0, acc1), combine(acc2, acc3));
#endif
}

#main SIZE {
#if PART
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let acc = reduce_run(line, begin + lid, min(begin + TILE, line.count), WG);
    let part = tree(acc, lid, lid, WG, 1u);
    if lid == 0u {
        out[group] = part;
    }
#else
    let g = group_of(group);
    let lanes = 1u << g.log;
    var lane = lid & (lanes - 1u);
    var own = lid >> g.log;
    var apart = 1u;
    if p.strided != 0u {
        apart = SIZE >> g.log;
        lane = lid / apart;
        own = lid % apart;
    }
    var acc = nothing();
    var place = 0u;
    if own < g.lines {
        let at = place_of(g, own);
        let line = line_of(at.x, at.y);
        acc = reduce_run(line, lane, line.count, lanes);
        place = of_lines[at.x] + at.y;
    }
    acc = tree(acc, lid, lane, lanes, apart);
    if lane == 0u && own < g.lines {
        put(place, acc);
    }
#endif
}
