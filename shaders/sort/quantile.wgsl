// A quantile of each line of the elements of x, whose values are sorted: it lies between two neighbours, whose place
// and weight are the same for all lines of an element.
//
// `places` has the index of the lower neighbour and the weight of the upper one, for each element. An invocation
// computes one result, or a word of two halves.
//
// p.ones: see ends.wgsl.

#params
@group(0) @binding(1) var<storage, read_write> c: array<u32>;
@group(0) @binding(2) var<storage, read> c_meta: array<u32>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<E>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

const WG = 256u;

#include "grid"
#include "element_lines"
#include "ends"
#include "nan"

#include "value_at"
#if F16
#include "half_round"
#endif

fn between(low: f32, high: f32, weight: f32) -> f32 {
    if weight == 0.0 || bitcast<u32>(low) == bitcast<u32>(high) {
        return low;
    }
    let mixed = fma(high, weight, low * (1.0 - weight));
    if is_infinite(low) || is_infinite(high) {
        return mixed;
    }
    return clamp(mixed, low, high);
}

fn quantile(r: u32) -> f32 {
    // The last element whose results begin at or before this one.
    var e = 0u;
    var high = p.elements;
    while high - e > 1u {
        let middle = (e + high) / 2u;
        if c_meta[middle] <= r {
            e = middle;
        } else {
            high = middle;
        }
    }
    let line = line_of(e, r - c_meta[e]);
    if line.count == 0u {
        return no_number(bitcast<f32>(p.ones));
    }
    let begin = p.x_base + line.begin;
    let last = value_at(begin + (line.count - 1u) * line.step);
    let low = places[2u * e];
    let upper = min(low + 1u, line.count - 1u);
    let weight = bitcast<f32>(places[2u * e + 1u]);
    let y = between(value_at(begin + low * line.step), value_at(begin + upper * line.step), weight);
    // NaN comes last in sorted lines.
    if is_nan(last) {
        return last;
    }
    return y;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = group_index(wid, count) * WG + lid;
#if F16
    if 2u * at >= p.total {
        return;
    }
    var word = half_bits(quantile(2u * at));
    if 2u * at + 1u < p.total {
        word |= half_bits(quantile(2u * at + 1u)) << 16u;
    }
    c[at] = word;
#else
    if at < p.total {
        c[at] = bitcast<u32>(quantile(at));
    }
#endif
}
