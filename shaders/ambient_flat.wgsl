// c = a + b or a - b, or with PRODUCT a b, for batches of one layout: value by value, four at a time.
//
// c begins at a multiple of four, a and b at p.a_base and p.b_base. Up to three values after the last are slack of c's
// buffer.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    subtract: u32,
    a_base: u32,
    b_base: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<E>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<E>>;

const WG = 256u;

#include "grid"
#include "shifted"
#include "combine"

fn a_quad(q: u32) -> vec4<E> {
    let at = q + p.a_base / 4u;
    let shift = p.a_base % 4u;
    if shift == 0u {
        return a[at];
    }
    return shifted(a[at], a[min(at + 1u, arrayLength(&a) - 1u)], shift);
}

fn b_quad(q: u32) -> vec4<E> {
    let at = q + p.b_base / 4u;
    let shift = p.b_base % 4u;
    if shift == 0u {
        return b[at];
    }
    return shifted(b[at], b[min(at + 1u, arrayLength(&b) - 1u)], shift);
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
    let end = min((p.total + 3u) / 4u, (group + 1u) * (STREAM_TILE / 4u));
    for (var q = group * (STREAM_TILE / 4u) + lid; q < end; q += WG) {
        let x = a_quad(q);
        let y = b_quad(q);
        c[q] = combine(x, y);
    }
}
