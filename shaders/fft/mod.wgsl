// Transforms of LENGTH values, a power of two: read once, computed in registers and workgroup memory, written once.
//
// A workgroup processes WG / THREADS consecutive items of the work list, which starts at p.first_item.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;

#include "fft_items"
#include "complex"
#include "fft_values"

var<workgroup> sh_exchange: array<f32, WG * HELD>;

#generate "fft"

// Complex values are not tested one by one, so that all loads are in flight at once.
fn load_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.load & (REAL | HALF)) == 0u {
        let begin = (p.x_base >> 1u) + item.x + j;
        if item.z > 0u {
#for s HELD
            (*v)[$(s)] = x[begin + $(s * THREADS)u];
#endfor
        }
        if (p.load & EXCHANGED) != 0u {
#for s HELD
            (*v)[$(s)] = (*v)[$(s)].yx;
#endfor
        }
    } else {
#for s HELD
        (*v)[$(s)] = value_in(item, j + $(s * THREADS)u);
#endfor
    }
}

fn store_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.store & (REAL | HALF)) == 0u {
        let factor = bitcast<f32>(item.w);
        let to = item.y + j;
        if (p.store & EXCHANGED) != 0u {
#for s HELD
            (*v)[$(s)] = (*v)[$(s)].yx * factor;
#endfor
        }
        if item.z > 0u {
#for s HELD
            y[to + $(s * THREADS)u] = (*v)[$(s)];
#endfor
        }
    } else {
#for s HELD
        value_out(item, j + $(s * THREADS)u, (*v)[$(s)]);
#endfor
    }
}

#main {
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let i = group * (WG / THREADS) + slot;
    let item = item_at(i);
    var v: array<vec2<f32>, HELD>;
    load_values(&v, item, j);
    forward(&v, j, slot * LENGTH);
    store_values(&v, item, j);
}
