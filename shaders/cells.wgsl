// Copies matrices, by a pair of numbers (a, b): one for each element if p.apart is 1, otherwise one for all. p.how says
// where the values of x go:
//
// UPSCALE: c[i, j] = x[i / a, j / b]. APART: the same where a divides i and b divides j. DOWNSCALE: c[i, j] = x[i a, j
// b]. TILE: c[i, j] = x[i mod m, j mod n], for x of m rows and n columns. Otherwise: c[i, j] = x[i + a, j + b], where a
// and b may be negative. Values of c without such a place in x are the fill.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation makes one value at a time, or a word of two halves or four
// bytes.

#if C32
alias Value = vec2<u32>;
#else
alias Value = u32;
#endif

#params
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<Value>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
@group(0) @binding(5) var<storage, read> by: array<vec2<u32>>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;
// Not a place.
const NONE = 0xffffffffu;

struct Entry {
    begin: u32,
    // Columns of c, and approximately 1 / columns.
    width: u32,
    narrow: f32,
    // Rows and columns of x.
    there: vec2<u32>,
    by: vec2<u32>,
    // Approximately 1 / by, or 1 / there if x is repeated.
    inverse: vec2<f32>,
}

#include "packed"
#include "search"
#include "rows"

fn entry_of(e: u32) -> Entry {
    let extents = p.elements + 1u + 2u * e;
    var entry = Entry();
#if C32
    entry.begin = p.x_base / 2u + x_meta[e];
#else
    entry.begin = p.x_base + x_meta[e];
#endif
    entry.width = c_meta[extents + 1u];
    entry.narrow = 1.0 / f32(max(entry.width, 1u));
    entry.there = vec2(x_meta[extents], x_meta[extents + 1u]);
    entry.by = by[e * p.apart];
    let over = select(entry.by, entry.there, p.how == TILE);
    entry.inverse = 1.0 / vec2<f32>(max(over, vec2(1u)));
    return entry;
}

#include "tables"

// The place along an axis of x, of `there` values, that place k of the result reads; `there` or more if there is none.
fn source(k: u32, factor: u32, there: u32, inverse: f32) -> u32 {
    if p.how == UPSCALE || p.how == APART {
        let quotient = row_of(k, factor, inverse);
        return select(quotient, NONE, p.how == APART && quotient * factor != k);
    }
    if p.how == DOWNSCALE {
        // The result has as many values as there are.
        return k * factor;
    }
    if p.how == TILE {
        return k - row_of(k, there, inverse) * there;
    }
    return k + factor;
}

// Value i of an element of c.
fn value_in(i: u32, e: u32, tile: Tile) -> Value {
    let entry = entry_in_tile(e, tile);
    let row = row_of(i, entry.width, entry.narrow);
    let down = source(row, entry.by.x, entry.there.x, entry.inverse.x);
    let along = source(i - row * entry.width, entry.by.y, entry.there.y, entry.inverse.y);
    if down >= entry.there.x || along >= entry.there.y {
#if C32
        return vec2(p.fill, p.fill_more);
#else
        return p.fill;
#endif
    }
    let at = entry.begin + down * entry.there.y + along;
#if C32
    return x[at];
#else
    return unit_of(x[at / UNITS], at);
#endif
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#use put_words tile
}
