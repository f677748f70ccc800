// y = f(x), value by value, of complex x: f is a row of the table in src/ops/maps/complex.rs.
//
// p.x_base counts complex values.

struct Params {
    first_group: u32,
    groups: u32,
    values: u32,
    x_base: u32,
    s: u32,
    t: u32,
    ones: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<R>;
@group(0) @binding(2) var<storage, read> x: array<E>;

const WG = 256u;
// Values per invocation, all loaded before any is stored.
const EACH = STREAM_TILE / WG;

#include "grid"
#include "nan"
#include "ends"
#for file in $(FILES)
#include "$(file)"
#endfor
alias R = $(RESULT);
fn value(x: E, s: E) -> R {
    return $(VALUE);
}

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
    let s = bitcast<vec2<f32>>(vec2(p.s, p.t));
    let first = group * STREAM_TILE + lid;
    var values: array<E, EACH>;
    for (var k = 0u; k < EACH; k += 1u) {
        let v = first + k * WG;
        if v < p.values {
            values[k] = x[p.x_base + v];
        }
    }
    for (var k = 0u; k < EACH; k += 1u) {
        let v = first + k * WG;
        if v < p.values {
            y[v] = value(values[k], s);
        }
    }
}
