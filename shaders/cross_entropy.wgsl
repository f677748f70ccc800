// c = log + (max − x) at the row's target: the negative logarithm of the target's probability. `sums` has the row's
// largest value and the logarithm of the sum of exponentials of the differences from it. Their sum would be rounded to
// the precision of the largest value. NaN if the target is not below the row's length.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation computes one result at a time, or a word of two halves.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> c: array<u32>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

// Where the element's values of x begin, and the length of its rows.
struct Entry {
    begin: u32,
    width: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    let begin = x_meta[e];
    if p.rank == 1u {
        return Entry(p.x_base + begin, x_meta[e + 1u] - begin);
    }
    return Entry(p.x_base + begin, x_meta[p.elements + p.rank * (e + 1u)]);
}

#include "tables"
#include "value_at"
#if F16
#include "half_round"

fn bits_of(loss: f32) -> u32 {
    return half_bits(loss);
}

const NO_NUMBER = 0x7e00u;
#else
fn bits_of(loss: f32) -> u32 {
    return bitcast<u32>(loss);
}

const NO_NUMBER = 0x7fc00000u;
#endif

fn loss(v: u32, tile: Tile) -> u32 {
    let e = place_in_tile(v, tile);
    let entry = entry_in_tile(e, tile);
    let target_index = targets[p.targets_base + v];
    var bits = NO_NUMBER;
    if target_index < entry.width {
        let row = v - start_in_tile(e, tile);
        let logit = value_at(entry.begin + row * entry.width + target_index);
        let sum = sums[p.sums_base + v];
        bits = bits_of(sum.y + (sum.x - logit));
    }
    return bits;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if F16
    for (var w = tile.start / 2u + lid; 2u * w < tile.end; w += WG) {
        var word = loss(2u * w, tile);
        if 2u * w + 1u < tile.end {
            word |= loss(2u * w + 1u, tile) << 16u;
        }
        c[w] = word;
    }
#else
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = loss(v, tile);
    }
#endif
}
