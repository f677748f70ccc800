// Transforms of n = 2 LENGTH real values by one of LENGTH complex values, and back. LENGTH is a power of two.

struct Params {
#include "fft_params"
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> halves: array<vec2<f32>>; // e^(-πi k / LENGTH) at LENGTH + k

#include "grid"
#include "fft_items"
#include "complex"
#include "fft_values"
#include "fft_halves"

#generate "fft_real"

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
    let at = slot * LENGTH;
    let i = group * (WG / THREADS) + slot;
    let item = item_at(i);
    let back = (p.store & (REAL | HALF)) == REAL;
    var v: array<vec2<f32>, HELD>;
    if item.z > 0u {
        if back {
            load_spectrum(&v, item, j);
        } else {
            load_pairs(&v, item, j);
        }
    }
    forward(&v, j, at);
    if back {
        if item.z > 0u {
            store_pairs(&v, item, j);
        }
        return;
    }
    var m: array<vec2<f32>, HELD>;
    mirror(&v, &m, j, at);
    if item.z > 0u {
        store_spectrum(&v, &m, item, j);
    }
}
