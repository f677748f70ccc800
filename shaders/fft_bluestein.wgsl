// Bluestein transforms of any length n, 2 n <= LENGTH, as cyclic convolutions of LENGTH values, a power of two.
//
// With w_k = e^(-πi k² / n), X_k = w_k Σ_j (x_j w_j) conj(w_{k-j}). `fft_filter.wgsl` computes the filter of each n.
// The third word of an item holds n in 13 bits, then a bit set for 2 n real values treated as n complex ones, and then
// the index of its filter.

struct Params {
#include "fft_params"
    filters: u32, // offset of the filters of this LENGTH
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> filters: array<vec2<f32>>;

#include "grid"
#include "fft_items"
#include "complex"
#include "fft_values"
#include "fft_halves"

// n - k, or k if k is 0 or at least n.
fn mirrored(k: u32, n: u32) -> u32 {
    return select(n - k, k, k == 0u || k >= n);
}

#generate "fft_bluestein"

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
    let at = slot * LENGTH;
    var item = item_at(i);
    let filter_at = p.filters + (item.z >> NUMBER_SHIFT) * (2u * LENGTH);
    let halves_at = filter_at + LENGTH + LENGTH / 2u;
    let halved = (item.z & HALVED) != 0u;
    item.z = item.z & (HALVED - 1u);
    var v: array<vec2<f32>, HELD>;
    var h: array<vec2<f32>, HELD>;
    if halved {
        load_halved(&v, item, j, halves_at);
    } else {
        load_values(&v, item, j);
    }
    turn_values(&v, item, j, filter_at);
    forward(&v, j, at);
    load_spectrum(&h, item, j, filter_at);
    backward(&v, &h, j, at);
    turn_values(&v, item, j, filter_at);
    if (p.store & (REAL | HALF)) == HALF {
        mirror(&v, &h, item.z, j, at);
    }
    if halved {
        store_halved(&v, &h, item, j, halves_at);
    } else {
        store_values(&v, item, j);
    }
}
