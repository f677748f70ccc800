// Transforms of at most 64 values by their definition: p.lanes invocations an item, 16, 32 or 64, one for each result.

struct Params {
    first_group: u32,
    groups: u32,
    first_item: u32,
    items: u32,
    x_first: u32,
    x_step: u32,
    y_first: u32,
    y_step: u32,
    length: u32,
    factor: u32,
    x_base: u32,
    load: u32,
    store: u32,
    lanes: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> turns: array<vec2<f32>>;

const WG = 256u;

// The values, and the roots of unity, of each item.
var<workgroup> sh_values: array<vec2<f32>, WG>;
var<workgroup> sh_roots: array<vec2<f32>, WG>;

#include "grid"
#include "fft_items"
#include "complex"
#include "fft_values"
#include "turn"

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
    let i = group * (WG / p.lanes) + lid / p.lanes;
    let item = item_at(i);
    let n = item.z;
    let k = lid % p.lanes;
    let at = lid - k;
    sh_values[lid] = value_in(item, k);
    if k < n {
        sh_roots[lid] = turn(k, n);
    }
    workgroupBarrier();
    if k >= n {
        return;
    }
    var sum = sh_values[at];
    var m = 0u;
    for (var j = 1u; j < n; j += 1u) {
        m += k;
        if m >= n {
            m -= n;
        }
        sum = c_add(sum, sh_roots[at + m], sh_values[at + j]);
    }
    value_out(item, k, sum);
}
