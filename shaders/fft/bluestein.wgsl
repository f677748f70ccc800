// Bluestein transforms of any length n, 2 n <= LENGTH, as cyclic convolutions of LENGTH values, a power of two.
//
// With w_k = e^(-πi k² / n), X_k = w_k Σ_j (x_j w_j) conj(w_{k-j}). `fft/filter.wgsl` computes the filter of each n.
// The third word of an item holds n in 13 bits, then a bit set for 2 n real values treated as n complex ones, and then
// the index of its filter.
//
// The filters of this LENGTH begin at p.filters.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> filters: array<vec2<f32>>;

#include "fft_items"
#include "complex"
#include "fft_values"
#include "fft_halves"

// n - k, or k if k is 0 or at least n.
fn mirrored(k: u32, n: u32) -> u32 {
    return select(n - k, k, k == 0u || k >= n);
}

var<workgroup> sh_exchange: array<f32, WG * HELD>;

#generate "fft_bluestein"

// Values and results occupy the first half.
fn load_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.load & (REAL | HALF)) == 0u {
        let begin = (p.x_base >> 1u) + item.x + j;
        if item.z > 0u {
#for s HELD / 2
            if j + $(s * THREADS)u < item.z { (*v)[$(s)] = x[begin + $(s * THREADS)u]; }
#endfor
        }
        if (p.load & EXCHANGED) != 0u {
#for s HELD / 2
            (*v)[$(s)] = (*v)[$(s)].yx;
#endfor
        }
    } else {
#for s HELD / 2
        (*v)[$(s)] = value_in(item, j + $(s * THREADS)u);
#endfor
    }
}

fn store_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.store & (REAL | HALF)) == 0u {
        let factor = bitcast<f32>(item.w);
        let to = item.y + j;
        if (p.store & EXCHANGED) != 0u {
#for s HELD / 2
            (*v)[$(s)] = (*v)[$(s)].yx * factor;
#endfor
        }
        if item.z > 0u {
#for s HELD / 2
            if j + $(s * THREADS)u < item.z { y[to + $(s * THREADS)u] = (*v)[$(s)]; }
#endfor
        }
    } else {
#for s HELD / 2
        value_out(item, j + $(s * THREADS)u, (*v)[$(s)]);
#endfor
    }
}

fn turn_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, filter_at: u32) {
    let begin = filter_at + j;
#for s HELD / 2
    if j + $(s * THREADS)u < item.z { (*v)[$(s)] = c_mul((*v)[$(s)], filters[begin + $(s * THREADS)u]); }
#endfor
}

fn load_spectrum(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, filter_at: u32) {
    let begin = filter_at + LENGTH / 2u + j;
    if item.z > 0u {
#for s HELD
        (*v)[$(s)] = filters[begin + $(s * THREADS)u];
#endfor
    }
}

fn load_halved(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, halves_at: u32) {
    if (p.load & (REAL | HALF)) == REAL {
        let begin = p.x_base + item.x + 2u * j;
#for s HELD / 2
        if j + $(s * THREADS)u < item.z { (*v)[$(s)] = pair_in(begin + $(2 * s * THREADS)u); }
#endfor
    } else {
        let begin = (p.x_base >> 1u) + item.x;
#for s HELD / 2
        if j + $(s * THREADS)u < item.z {
            (*v)[$(s)] = folded(
                j + $(s * THREADS)u, filters[halves_at + j + $(s * THREADS)u],
                x[begin + j + $(s * THREADS)u], x[begin + item.z - j - $(s * THREADS)u]
            );
        }
#endfor
    }
}

fn mirror(v: ptr<function, array<vec2<f32>, HELD>>, m: ptr<function, array<vec2<f32>, HELD>>, n: u32, j: u32, at: u32) {
    workgroupBarrier();
#for s HELD / 2
    sh_exchange[at + j + $(s * THREADS)u] = (*v)[$(s)].x;
#endfor
    workgroupBarrier();
#for s HELD / 2
    (*m)[$(s)].x = sh_exchange[at + mirrored(j + $(s * THREADS)u, n)];
#endfor
    workgroupBarrier();
#for s HELD / 2
    sh_exchange[at + j + $(s * THREADS)u] = (*v)[$(s)].y;
#endfor
    workgroupBarrier();
#for s HELD / 2
    (*m)[$(s)].y = sh_exchange[at + mirrored(j + $(s * THREADS)u, n)];
#endfor
}

fn store_halved(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    j: u32,
    halves_at: u32,
) {
    if (p.store & (REAL | HALF)) == REAL {
        let factor = bitcast<f32>(item.w);
#for s HELD / 2
        if j + $(s * THREADS)u < item.z { pair_out(item.y + 2u * (j + $(s * THREADS)u), (*v)[$(s)].yx * factor); }
#endfor
    } else {
#for s HELD / 2
        if j + $(s * THREADS)u < item.z {
            y[item.y + j + $(s * THREADS)u] = unfolded(
                filters[halves_at + j + $(s * THREADS)u],
                (*v)[$(s)], (*m)[$(s)]
            );
        }
#endfor
        if j == 0u && item.z > 0u { y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0); }
    }
}

#main {
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
