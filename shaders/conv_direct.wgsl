// c_q = Σ_j a_{q-j} b_j for every pair, or the correlation, which reads b backwards.
//
// A workgroup makes one tile of one pair's result: tile g of the work list, or all of pair g where every result fits
// one tile.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    reversed: u32,
    listed: u32,
    pair_kind: u32,
    pair_right: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<E>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

#include "grid"
#include "pairs"
#include "taps"

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
    var pair = group;
    var q0 = 0u;
    if p.listed != 0u {
        pair = items[2u * group];
        q0 = items[2u * group + 1u];
    }
    let w = meeting_of(pair);
    if w.n == 0u {
        return;
    }
    var values = convolve_tile(w, q0, lid);
    let length = w.m + w.n - 1u;
    let start = c_meta[pair];
    for (var r = 0u; r < R; r += 1u) {
        let q = q0 + R * lid + r;
        if q < length {
            c[start + q] = values[r];
        }
    }
}
