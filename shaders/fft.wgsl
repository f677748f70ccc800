// Transforms of LENGTH values, a power of two: read once, computed in registers and workgroup memory, written once.
//
// A workgroup processes WG / THREADS consecutive items of the work list, which starts at p.first_item.

struct Params {
#include "fft_params"
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;

#include "grid"
#include "fft_items"
#include "complex"
#include "fft_values"
#generate "fft"

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
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let i = group * (WG / THREADS) + slot;
    let item = item_at(i);
    var v: array<vec2<f32>, HELD>;
    load_values(&v, item, j);
    forward(&v, j, slot * LENGTH);
    store_values(&v, item, j);
}
