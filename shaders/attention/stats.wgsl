// What the gradients of attention need of each query and head: its log-sum-exp in two parts; delta = Σ g o − g', where
// g is the cotangent of its result o, and g' that of its log-sum-exp; and the slope of ALiBi. LANES invocations share
// the sum of a row.

#params
@group(0) @binding(1) var<storage, read> g: array<E>;
@group(0) @binding(2) var<storage, read> o: array<E>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> of_lse: array<f32>;
@group(0) @binding(5) var<storage, read> per_head: array<f32>;
@group(0) @binding(6) var<storage, read_write> stats: array<vec4<f32>>;

const WG = 256u;
const LANES = 16u;

var<workgroup> sh_sums: array<f32, WG>;

#if F16
#include "half_load"
#endif

#for x in g, o
fn $(x)_at(i: u32) -> f32 {
#if F16
    return half_of($(x)[i / 2u], i);
#else
    return $(x)[i];
#endif
}
#endfor

#main {
    let place = group * (WG / LANES) + lid / LANES;
    let near = min(place, p.places - 1u);
    var sum = 0.0;
    for (var column = lid % LANES; column < p.dv; column += LANES) {
        sum = fma(g_at(p.g_base + near * p.dv + column), o_at(p.o_base + near * p.dv + column), sum);
    }
    sh_sums[lid] = sum;
    workgroupBarrier();
    if lid % LANES == 0u && place < p.places {
        var delta = 0.0;
        for (var i = 0u; i < LANES; i += 1u) {
            delta += sh_sums[lid + i];
        }
        if p.has_of_lse != 0u {
            delta -= of_lse[p.of_lse_base + place];
        }
        var slope = 0.0;
        if p.alibi != 0u {
            slope = per_head[p.per_head_base + place % p.heads];
        }
        stats[place] = vec4(lse[p.lse_base + place], lse[p.lse_base + p.places + place], delta, slope);
    }
}
