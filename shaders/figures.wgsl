// Copies images and draws figures on them: a cell has the value of the last figure that it lies on, if there is one. A
// figure is four numbers. p.what says which:
//
// BOXES: top, left, bottom, right, where bottom and right are one more than the last row and column; the figure is the
// border of this box. Otherwise a line: the row and column of its first cell and of its last one, which may lie outside
// of the image. Its direction is one of eight.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation makes one value at a time.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> figures: array<u32>;
@group(0) @binding(3) var<storage, read> figures_meta: array<u32>;
@group(0) @binding(4) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<u32>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;

struct Entry {
    // Columns, and approximately 1 / columns.
    width: u32,
    narrow: f32,
    // The figures.
    first: u32,
    end: u32,
}

#include "search"
#include "rows"

fn entry_of(e: u32) -> Entry {
    let width = c_meta[p.elements + 2u + 2u * e];
    return Entry(width, 1.0 / f32(max(width, 1u)), figures_meta[e] / 4u, figures_meta[e + 1u] / 4u);
}

#include "tables"

fn lies_on(figure: u32, place: vec2<u32>) -> bool {
    let at = p.figures_base + 4u * figure;
    let one = vec2(figures[at], figures[at + 1u]);
    let other = vec2(figures[at + 2u], figures[at + 3u]);
    if p.what == BOXES {
        let is_inside = all(place >= one) && all(place < other);
        return is_inside && (any(place == one) || any(place + 1u == other));
    }
    let from_cell = bitcast<vec2<i32>>(one);
    let to_cell = bitcast<vec2<i32>>(other);
    let here = vec2<i32>(place);
    if any(here < min(from_cell, to_cell)) || any(here > max(from_cell, to_cell)) {
        return false;
    }
    // Along a row or a column, every cell between both ends lies on the line; otherwise, one cell of each row. A
    // difference of two i32 fits in a u32.
    let steps = bitcast<vec2<u32>>(max(here, from_cell)) - bitcast<vec2<u32>>(min(here, from_cell));
    return any(from_cell == to_cell) || steps.x == steps.y;
}

fn value_of(v: u32, tile: Tile) -> u32 {
    let e = place_in_tile(v, tile);
    let entry = entry_in_tile(e, tile);
    let i = v - start_in_tile(e, tile);
    let row = row_of(i, entry.width, entry.narrow);
    let place = vec2(row, i - row * entry.width);
    for (var figure = entry.end; figure > entry.first; figure -= 1u) {
        if lies_on(figure - 1u, place) {
            return values[p.values_base + figure - 1u];
        }
    }
    return x[p.x_base + v];
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = value_of(v, tile);
    }
}
