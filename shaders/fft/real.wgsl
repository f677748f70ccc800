// Transforms of n = 2 LENGTH real values by one of LENGTH complex values, and back. LENGTH is a power of two.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> halves: array<vec2<f32>>; // e^(-πi k / LENGTH) at LENGTH + k

#include "fft_items"
#include "complex"
#include "fft_values"
#include "fft_halves"

var<workgroup> sh_exchange: array<f32, WG * HELD>;

#generate "fft_real"

fn load_spectrum(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let begin = (p.x_base >> 1u) + item.x;
    let up = begin + j;
    let down = begin + LENGTH - j;
    var last: array<vec2<f32>, HELD>;
#for s HELD
    (*v)[$(s)] = x[up + $(s * THREADS)u]; last[$(s)] = x[down - $(s * THREADS)u];
#endfor
#for s HELD
    (*v)[$(s)] = folded(j + $(s * THREADS)u, halves[LENGTH + j + $(s * THREADS)u], (*v)[$(s)], last[$(s)]);
#endfor
}

// Real values may begin at an odd word.
fn store_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let factor = bitcast<f32>(item.w);
    let to = (item.y >> 1u) + j;
    if (item.y & 1u) == 0u {
#for s HELD
        y[to + $(s * THREADS)u] = (*v)[$(s)].yx * factor;
#endfor
    } else {
#for s HELD
        y[to + $(s * THREADS)u].y = (*v)[$(s)].y * factor; y[to + $(s * THREADS)u + 1u].x = (*v)[$(s)].x * factor;
#endfor
    }
}

fn load_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let begin = p.x_base + item.x;
    let at = (begin >> 1u) + j;
    if (begin & 1u) == 0u {
#for s HELD
        (*v)[$(s)] = x[at + $(s * THREADS)u];
#endfor
    } else {
#for s HELD
        (*v)[$(s)] = vec2(x[at + $(s * THREADS)u].y, x[at + $(s * THREADS)u + 1u].x);
#endfor
    }
}

fn mirror(v: ptr<function, array<vec2<f32>, HELD>>, m: ptr<function, array<vec2<f32>, HELD>>, j: u32, at: u32) {
    let to = at + j;
    workgroupBarrier();
#for s HELD
    sh_exchange[to + $(s * THREADS)u] = (*v)[$(s)].x;
#endfor
    workgroupBarrier();
    // Value 0 is its own mirror.
    (*m)[0].x = sh_exchange[at + ((LENGTH - j) & (LENGTH - 1u))];
#for s LAST
    (*m)[$(s + 1)].x = sh_exchange[at + LENGTH - $(s * THREADS + THREADS)u - j];
#endfor
    workgroupBarrier();
#for s HELD
    sh_exchange[to + $(s * THREADS)u] = (*v)[$(s)].y;
#endfor
    workgroupBarrier();
    (*m)[0].y = sh_exchange[at + ((LENGTH - j) & (LENGTH - 1u))];
#for s LAST
    (*m)[$(s + 1)].y = sh_exchange[at + LENGTH - $(s * THREADS + THREADS)u - j];
#endfor
}

fn store_spectrum(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    j: u32,
) {
    let to = item.y + j;
#for s HELD
    y[to + $(s * THREADS)u] = unfolded(halves[LENGTH + j + $(s * THREADS)u], (*v)[$(s)], (*m)[$(s)]);
#endfor
    if j == 0u { y[to + LENGTH] = vec2((*v)[0].x - (*v)[0].y, 0.0); }
}

#main {
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
