// Transforms of at most 64 values by the definition: p.lanes invocations per item, 16, 32 or 64, one for each result.
// An even number of real values is treated as half as many complex ones.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> roots: array<vec2<f32>>;

// The values and the roots of unity of each item.
var<workgroup> sh_values: array<vec2<f32>, WG>;
var<workgroup> sh_roots: array<vec2<f32>, WG>;

#include "fft_items"
#include "complex"
#include "fft_values"
#include "root_of_unity"
#include "fft_halves"

#main {
    let i = group * (WG / p.lanes) + lid / p.lanes;
    let item = item_at(i);
    let halved = ((p.load | p.store) & REAL) != 0u && item.z % 2u == 0u;
    let n = select(item.z, item.z / 2u, halved);
    let k = lid % p.lanes;
    let at = lid - k;
    if !halved {
        sh_values[lid] = value_in(item, k);
    } else if k < n {
        if (p.load & (REAL | HALF)) == REAL {
            sh_values[lid] = pair_in(p.x_base + item.x + 2u * k);
        } else {
            let begin = (p.x_base >> 1u) + item.x;
            sh_values[lid] = folded(k, root_of_unity(k, 2u * n), x[begin + k], x[begin + n - k]);
        }
    }
    if k < n {
        sh_roots[lid] = root_of_unity(k, n);
    }
    workgroupBarrier();
    // In the spectrum of an odd number of real values, each value adds as much as its mirror image to the real part.
    let twice = !halved && (p.load & (REAL | HALF)) == HALF;
    var sum = sh_values[at] * select(1.0, 0.5, twice);
    var m = 0u;
    let terms = select(0u, select(n, (n + 1u) / 2u, twice), k < n);
    for (var j = 1u; j < terms; j += 1u) {
        m += k;
        if m >= n {
            m -= n;
        }
        sum = c_add(sum, sh_roots[at + m], sh_values[at + j]);
    }
    workgroupBarrier();
    sh_values[lid] = sum;
    workgroupBarrier();
    if k >= n {
        return;
    }
    if !halved {
        value_out(item, k, sum * select(1.0, 2.0, twice));
    } else if (p.store & (REAL | HALF)) == REAL {
        pair_out(item.y + 2u * k, sum.yx * bitcast<f32>(item.w));
    } else {
        y[item.y + k] = unfolded(root_of_unity(k, 2u * n), sum, sh_values[at + select(n - k, 0u, k == 0u)]);
        if k == 0u {
            y[item.y + n] = vec2(sum.x - sum.y, 0.0);
        }
    }
}
