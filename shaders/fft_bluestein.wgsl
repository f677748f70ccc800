// Transforms of any length n, 2 n <= LENGTH, as cyclic convolutions of LENGTH values, a power of two.
//
// With w_k = e^(-πi k² / n), X_k = w_k Σ_j (x_j w_j) conj(w_{k-j}). Three transforms an item: of conj(w), of x w, and back.

struct Params {
    first_group: u32,
    groups: u32,
    first_item: u32,
    items: u32,
    x_base: u32,
    load: u32,
    store: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> turns: array<vec2<f32>>;

#include "grid"
#include "complex"
#include "fft_values"
#include "turn"

// w_k for k < n.
fn chirp(k: u32, n: u32) -> vec2<f32> {
    return turn((k * k) % (2u * n), 2u * n);
}

// Value i of conj(w), around both ends of the cycle, with the factor of the transform back.
fn filter_value(n: u32, i: u32) -> vec2<f32> {
    let k = min(i, LENGTH - i);
    if k >= n {
        return vec2(0.0);
    }
    return chirp(k, n) * vec2(1.0, -1.0) / f32(LENGTH);
}

fn signal_value(item: vec4<u32>, i: u32) -> vec2<f32> {
    if i >= item.z {
        return vec2(0.0);
    }
    return c_mul(value_in(item, i), chirp(i, item.z));
}

fn result_out(item: vec4<u32>, i: u32, value: vec2<f32>) {
    if i < item.z {
        value_out(item, i, c_mul(value, chirp(i, item.z)));
    }
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
    var item = vec4(0u);
    if i < p.items {
        item = items[p.first_item + i];
    }
    var h: array<vec2<f32>, HELD>;
    var v: array<vec2<f32>, HELD>;
    for (var side = 0u; side < 2u; side += 1u) {
        h = v;
        if side == 0u {
            load_filter(&v, item, j);
        } else {
            load_signal(&v, item, j);
        }
        forward(&v, j, slot * LENGTH);
    }
    backward(&v, &h, j, slot * LENGTH);
    store_results(&v, item, j);
}
