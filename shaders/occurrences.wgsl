// c[i, j] = 1 if every value of the template equals the value of x that lies i rows further down and j columns further
// to the right, otherwise 0. There is one template for all elements, or one for each. Values are compared by their
// bits.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation makes one result at a time, and stops at the first difference.
// With p.in_fours, for large templates, it makes four neighbours of a row at a time: each value of x that it loads
// moves through the four, and it stops when all have a difference.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<u32>;
@group(0) @binding(4) var<storage, read> small_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<u32>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;

struct Entry {
    begin: u32,
    // Columns of x and of c, and approximately 1 / columns of c.
    x_width: u32,
    width: u32,
    narrow: f32,
    // Of the template: offset, rows, columns.
    small_begin: u32,
    small_rows: u32,
    small_width: u32,
}

#include "search"
#include "rows"

fn entry_of(e: u32) -> Entry {
    let extents = p.elements + 1u + 2u * e;
    let t = min(e, p.templates - 1u);
    let small_extents = p.templates + 1u + 2u * t;
    let width = c_meta[extents + 1u];
    return Entry(
        p.x_base + x_meta[e],
        x_meta[extents + 1u],
        width,
        1.0 / f32(max(width, 1u)),
        p.small_base + small_meta[t],
        small_meta[small_extents],
        small_meta[small_extents + 1u],
    );
}

#include "tables"

fn value_of(v: u32, tile: Tile) -> u32 {
    let e = place_in_tile(v, tile);
    let entry = entry_in_tile(e, tile);
    let i = v - start_in_tile(e, tile);
    let row = row_of(i, entry.width, entry.narrow);
    var at = entry.begin + row * entry.x_width + i - row * entry.width;
    var same = entry.small_begin;
    var equal = true;
    for (var down = 0u; equal && down < entry.small_rows; down += 1u) {
        for (var k = 0u; equal && k < entry.small_width; k += 1u) {
            equal = x[at + k] == small[same + k];
        }
        at += entry.x_width;
        same += entry.small_width;
    }
    return u32(equal);
}

// The results of four places in a row, of which the first begins at this value of x.
fn values_of(entry: Entry, begin: u32) -> vec4<u32> {
    var at = begin;
    var same = entry.small_begin;
    var equal = vec4(true);
    for (var down = 0u; any(equal) && down < entry.small_rows; down += 1u) {
        var here = vec4(0u, x[at], x[at + 1u], x[at + 2u]);
        for (var k = 0u; any(equal) && k < entry.small_width; k += 1u) {
            here = vec4(here.yzw, x[at + k + 3u]);
            equal &= here == vec4(small[same + k]);
        }
        at += entry.x_width;
        same += entry.small_width;
    }
    return vec4<u32>(equal);
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    if p.in_fours == 0u {
        for (var v = tile.start + lid; v < tile.end; v += WG) {
            c[v] = value_of(v, tile);
        }
        return;
    }
    for (var v = tile.start + 4u * lid; v < tile.end; v += 4u * WG) {
        let e = place_in_tile(v, tile);
        let entry = entry_in_tile(e, tile);
        let i = v - start_in_tile(e, tile);
        let row = row_of(i, entry.width, entry.narrow);
        let column = i - row * entry.width;
        if column + 4u <= entry.width && v + 4u <= tile.end {
            let four = values_of(entry, entry.begin + row * entry.x_width + column);
            c[v] = four.x;
            c[v + 1u] = four.y;
            c[v + 2u] = four.z;
            c[v + 3u] = four.w;
            continue;
        }
        for (var one = v; one < min(v + 4u, tile.end); one += 1u) {
            c[one] = value_of(one, tile);
        }
    }
}
