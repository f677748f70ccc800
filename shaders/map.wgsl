// y = f(x), value by value: SCALE s·x, COPY x, FILL s.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    x_base: u32,
    scalar: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<E>;
#if !FILL
@group(0) @binding(2) var<storage, read> x: array<E>;
#endif

const WG = 256u;
const TILE = 2048u;

#include "grid"

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
    let s = bitcast<E>(p.scalar);
    let start = group * TILE + lid;
    for (var k = 0u; k < TILE / WG; k += 1u) {
        let v = start + k * WG;
        if v < p.total {
#if SCALE
            y[v] = s * x[p.x_base + v];
#endif
#if COPY
            y[v] = x[p.x_base + v];
#endif
#if FILL
            y[v] = s;
#endif
        }
    }
}
