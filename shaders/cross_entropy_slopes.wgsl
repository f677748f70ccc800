// c = weights (exp((x − max) − log) − 1) at the row's target, without −1 elsewhere: the gradient of the weighted losses
// of cross_entropy.wgsl with respect to x, with the same sums. NaN if the target is not below the row's length.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation computes one value at a time, or a word of two halves.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;
@group(0) @binding(5) var<storage, read> targets_meta: array<u32>;
@group(0) @binding(6) var<storage, read_write> c: array<E>;
@group(0) @binding(7) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

// The number of the element's first row, and the length of its rows.
struct Entry {
    row: u32,
    width: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    if p.rank == 1u {
        return Entry(targets_meta[e], c_meta[e + 1u] - c_meta[e]);
    }
    return Entry(targets_meta[e], c_meta[p.elements + p.rank * (e + 1u)]);
}

#include "tables"
#include "value_at"
#include "nan"
#include "ends"
#include "exp"
#if F16
#include "half_round"
#endif

fn slope(v: u32, tile: Tile) -> f32 {
    let e = place_in_tile(v, tile);
    let entry = entry_in_tile(e, tile);
    let within = v - start_in_tile(e, tile);
    let row = within / entry.width;
    let of_row = entry.row + row;
    let sum = sums[p.sums_base + of_row];
    let target_index = targets[p.targets_base + of_row];
    let size = (value_at(p.x_base + v) - sum.x) - sum.y;
    var share = exp_times(1.0, size);
    if is_nan(size) || target_index >= entry.width {
        share = no_number(size);
    }
    if within - row * entry.width == target_index {
        share -= 1.0;
    }
    return weights[p.weights_base + of_row] * share;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if F16
    for (var w = tile.start / 2u + lid; 2u * w < tile.end; w += WG) {
        var word = half_bits(slope(2u * w, tile));
        if 2u * w + 1u < tile.end {
            word |= half_bits(slope(2u * w + 1u, tile)) << 16u;
        }
        c[w] = word;
    }
#else
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = slope(v, tile);
    }
#endif
}
