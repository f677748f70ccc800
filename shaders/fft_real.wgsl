// Transforms of n = 2 LENGTH real values by one of LENGTH complex ones, and INVERSE, LENGTH a power of two.
//
// With z_j = x_2j + i x_(2j+1), e^(-πi k / LENGTH) = w_k, and Z' the conjugate of Z at LENGTH - k:
// 2 X_k = Z_k + Z'_k - i w_k (Z_k - Z'_k), and back 2 Z_k = X_k + X'_k + i conj(w_k) (X_k - X'_k).

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
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> halves: array<vec2<f32>>; // w_k at LENGTH + k

#include "grid"
#include "fft_items"
#include "complex"

#if INVERSE
// 2 Z_k of X_k and X_(LENGTH - k), with real and imaginary part exchanged, for the forward transform to go back.
fn folded(k: u32, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let real = k == 0u;
    // Not multiplied: the imaginary parts that do not count may be NaN.
    let a = vec2(first.x, select(first.y, 0.0, real));
    let b = vec2(last.x, select(-last.y, 0.0, real));
    let w = halves[LENGTH + k];
    return c_add(a + b, w.yx, a - b).yx;
}
#else
// X_k of Z_k and Z_(LENGTH - k).
fn unfolded(k: u32, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let mirrored = vec2(last.x, -last.y);
    let o = first - mirrored;
    return 0.5 * c_add(first + mirrored, halves[LENGTH + k], vec2(o.y, -o.x));
}
#endif

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
    var v: array<vec2<f32>, HELD>;
#if INVERSE
    if item.z > 0u {
        load_spectrum(&v, item, j);
    }
    forward(&v, j, at);
    if item.z > 0u {
        store_pairs(&v, item, j);
    }
#else
    if item.z > 0u {
        load_pairs(&v, item, j);
    }
    forward(&v, j, at);
    var m: array<vec2<f32>, HELD>;
    mirror(&v, &m, j, at);
    if item.z > 0u {
        store_spectrum(&v, &m, item, j);
    }
#endif
}
