// Frames of vectors, times a window (CUT); or vectors from frames: at each place the sum of all frames times the
// window, divided by the sum of the window's squares (ADD), or not (SUM).
//
// Frame t of an element begins at its value t * p.hop and has p.size values. The frames of an element are the rows of a
// matrix, which is c for CUT and x otherwise. Where the window's squares add up to no more than p.least, or there is no
// frame, ADD gives 0. An invocation computes one result at a time.

#params
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> w: array<f32>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;
@group(0) @binding(5) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;

struct Entry {
    // Where the element's values begin in x, and how many there are.
    begin: u32,
    length: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    return Entry(p.x_base + x_meta[e], x_meta[e + 1u] - x_meta[e]);
}

#include "tables"

#if CUT
#include "rows"

// Value i of all frames of an element.
fn result(i: u32, entry: Entry) -> f32 {
    let t = row_of(i, p.size, 1.0 / f32(p.size));
    let k = i - t * p.size;
    return x[entry.begin + t * p.hop + k] * w[p.w_base + k];
}
#else
// Value i of an element.
fn result(i: u32, entry: Entry) -> f32 {
    let frames = entry.length / p.size;
    // The frames that have a value here, in order.
    let end = min(i / p.hop + 1u, frames);
    var t = 0u;
    if i >= p.size {
        t = (i - p.size) / p.hop + 1u;
    }
    var sum = 0.0;
#if !SUM
    var squares = 0.0;
#endif
    for (; t < end; t += 1u) {
        let k = i - t * p.hop;
        let weight = w[p.w_base + k];
        sum = fma(x[entry.begin + t * p.size + k], weight, sum);
#if !SUM
        squares = fma(weight, weight, squares);
#endif
    }
#if SUM
    return sum;
#else
    // The bits of numbers from 0 on are in their order, and those of NaN above all.
    if bitcast<u32>(squares) > p.least {
        return sum / squares;
    }
    return 0.0;
#endif
}
#endif

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        c[v] = result(v - start_in_tile(e, tile), entry_in_tile(e, tile));
    }
}
