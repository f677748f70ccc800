// Bluestein's filter for a length n, 2 n <= LENGTH: w_k = e^(-πi k² / n) for k < n; from LENGTH / 2 on the transform of
// conj(w), placed around both ends of a cycle of LENGTH, times the factor of the inverse transform; then e^(-πi k / n)
// for k < n.
//
// An item is (offset in y, 0, n, 0).

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> roots: array<vec2<f32>>;

#include "complex"
#include "root_of_unity"

fn filter_value(n: u32, i: u32) -> vec2<f32> {
    let k = min(i, LENGTH - i);
    if k >= n {
        return vec2(0.0);
    }
    let w = root_of_unity((k * k) % (2u * n), 2u * n);
    return vec2(w.x, -w.y);
}

fn chirp_out(item: vec4<u32>, k: u32, value: vec2<f32>) {
    if k < item.z {
        y[item.x + k] = vec2(value.x, -value.y);
    }
}

fn spectrum_out(item: vec4<u32>, i: u32, value: vec2<f32>) {
    if item.z > 0u {
        y[item.x + LENGTH / 2u + i] = value * (1.0 / f32(LENGTH));
    }
}

fn halves_out(item: vec4<u32>, k: u32) {
    if k < item.z {
        y[item.x + LENGTH + LENGTH / 2u + k] = root_of_unity(k, 2u * item.z);
    }
}

var<workgroup> sh_exchange: array<f32, WG * HELD>;

#generate "fft_filter"

fn load_filter(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
#for s HELD
    (*v)[$(s)] = filter_value(item.z, j + $(s * THREADS)u);
#endfor
}

fn store_chirp(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
#for s HELD / 2
    chirp_out(item, j + $(s * THREADS)u, (*v)[$(s)]);
#endfor
}

fn store_spectrum(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
#for s HELD
    spectrum_out(item, j + $(s * THREADS)u, (*v)[$(s)]);
#endfor
}

fn store_halves(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
#for s HELD / 2
    halves_out(item, j + $(s * THREADS)u);
#endfor
}

#main {
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let i = group * (WG / THREADS) + slot;
    var item = vec4(0u);
    if i < p.items {
        item = items[p.first_item + i];
    }
    var v: array<vec2<f32>, HELD>;
    load_filter(&v, item, j);
    store_chirp(&v, item, j);
    store_halves(&v, item, j);
    forward(&v, j, slot * LENGTH);
    store_spectrum(&v, item, j);
}
