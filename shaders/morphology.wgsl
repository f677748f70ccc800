// The largest key among each cell of a matrix and its neighbours: the four that share an edge with it if p.cross is 1,
// otherwise all eight. A key is a value whose bits p.flip has inverted, so that keys have the order of u32, of i32, or
// the reverse of either. Cells outside of the matrix do not count.
//
// c_meta has the strips of STRIP rows of each matrix, and its columns. An invocation computes a column of a strip, from
// its first row to its last, and keeps what it needs of the row above. Tiles and tables as in ambient/mod.wgsl, over
// columns of strips.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<u32>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 128u;

struct Entry {
    begin: u32,
    rows: u32,
    width: u32,
    // Approximately 1 / width.
    narrow: f32,
}

#include "search"
#include "rows"

fn entry_of(e: u32) -> Entry {
    let extents = p.elements + 1u + 2u * e;
    let width = x_meta[extents + 1u];
    return Entry(x_meta[e], x_meta[extents], width, 1.0 / f32(max(width, 1u)));
}

#include "tables"

// Of a row: the largest key of the cell with its neighbours in the row, and what the rows above and below need of it.
struct Keys {
    across: u32,
    beside: u32,
}

// The keys at index `at` of x, whose neighbours in the row are `left` and `right` away. At a border the cell itself
// stands for a neighbour that is missing.
fn keys_at(at: u32, left: u32, right: u32) -> Keys {
    let key = x[at] ^ p.flip;
    let across = max(key, max(x[at - left] ^ p.flip, x[at + right] ^ p.flip));
    return Keys(across, select(across, key, p.cross != 0u));
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        let entry = entry_in_tile(e, tile);
        let width = entry.width;
        let i = v - start_in_tile(e, tile);
        let strip = row_of(i, width, entry.narrow);
        let column = i - strip * width;
        let left = u32(column > 0u);
        let right = u32(column + 1u < width);
        let top = strip * STRIP;
        let end = min(top + STRIP, entry.rows);
        let first = entry.begin + top * width + column;
        // A row stands for the one beyond a border.
        var here = keys_at(p.x_base + first, left, right);
        var above = here;
        if top > 0u {
            above = keys_at(p.x_base + first - width, left, right);
        }
        var at = first;
        for (var row = top; row < end; row += 1u) {
            let below = keys_at(p.x_base + at + select(0u, width, row + 1u < entry.rows), left, right);
            c[at] = max(here.across, max(above.beside, below.beside)) ^ p.flip;
            above = here;
            here = below;
            at += width;
        }
    }
}
