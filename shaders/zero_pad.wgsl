// Copies pieces of vectors, of any 32-bit type, to longer places, padded with zeros, or to shorter ones.
//
// A workgroup copies PIECES entries of the list: (offset in x, values available, offset in y, values wanted), at most
// 512 values.

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32,
    pieces: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@group(0) @binding(3) var<storage, read> list: array<vec4<u32>>;

const WG = 256u;
const LANES = WG / PIECES;

#include "grid"

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, groups);
    if group >= p.groups {
        return;
    }
    let number = group * PIECES + lid / LANES;
    if number >= p.pieces {
        return;
    }
    let piece = list[number];
    for (var i = lid % LANES; i < piece.w; i += LANES) {
        var value = 0u;
        if i < piece.y {
            value = x[p.x_base + piece.x + i];
        }
        y[piece.z + i] = value;
    }
}
