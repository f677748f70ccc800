// The largest value (MAX) or the mean (MEAN) of every window along the last one or two axes, or the difference of its
// last and its first value (DIFF). PLACE: the index of the largest value in its element, the first if several are.
//
// An element consists of planes of its last two axes, which are pooled one by one; a vector is one row. A window of one
// axis has one row and a stride of one row. Result (row, column) of a plane is that of the window of p.window_rows x
// p.window_columns values that begins at (row * p.stride_rows, column * p.stride_columns). An invocation computes one
// result at a time, or a word of two halves. FINISH: x has what pooling/passes.wgsl made of the window that begins at
// each value.

#params
#if FINISH
@group(0) @binding(1) var<storage, read> x: array<u32>;
#else
@group(0) @binding(1) var<storage, read> x: array<E>;
#endif
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<u32>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;

struct Entry {
    begin: u32,
    // Rows and columns of a plane of x, and of a plane of results.
    x_rows: u32,
    x_width: u32,
    rows: u32,
    width: u32,
    // Approximately 1 / rows and 1 / width.
    low: f32,
    narrow: f32,
}

#include "search"
#include "rows"
fn entry_of(e: u32) -> Entry {
    var entry = Entry();
    entry.begin = p.x_base + x_meta[e];
    entry.x_rows = 1u;
    entry.rows = 1u;
    if p.rank == 1u {
        entry.x_width = x_meta[e + 1u] - x_meta[e];
        entry.width = c_meta[e + 1u] - c_meta[e];
    } else {
        let last = p.elements + p.rank * (e + 1u);
        entry.x_width = x_meta[last];
        entry.width = c_meta[last];
        entry.x_rows = x_meta[last - 1u];
        entry.rows = c_meta[last - 1u];
    }
    entry.low = 1.0 / f32(max(entry.rows, 1u));
    entry.narrow = 1.0 / f32(max(entry.width, 1u));
    return entry;
}

#include "tables"

#if PLACE
// The distance of the window's largest value from index `begin` of x, in rows of `width` values.
#else
// The bits of the result of the window that begins at index `begin` of x, in rows of `width` values.
#endif
#if MAX
#if FINISH
#if F16
#include "half_keys"
#else
#include "order"
#endif
#else
#include "window_keys"
#endif

#if PLACE
fn pooled(begin: u32, width: u32) -> u32 {
#if FINISH
    return x[begin] - begin;
#else
    var top = key_at(begin);
    var place = 0u;
    for (var row = 0u; row < p.window_rows; row += 1u) {
        for (var k = 0u; k < p.window_columns; k += 1u) {
            let key = key_at(begin + row * width + k);
            place = select(place, row * width + k, key > top);
            top = max(top, key);
        }
    }
    return place;
#endif
}
#else
fn pooled(begin: u32, width: u32) -> u32 {
#if FINISH
    let top = x[begin];
#else
    var top = 0u;
    for (var row = 0u; row < p.window_rows; row += 2u) {
        let first = begin + row * width;
        // The loads of a round do not wait for each other. Beyond the window's edge they repeat a value.
        let second = first + select(0u, width, row + 1u < p.window_rows);
        for (var k = 0u; k < p.window_columns; k += 2u) {
            let next = k + u32(k + 1u < p.window_columns);
            top = max(top, max(key_at(first + k), key_at(first + next)));
            top = max(top, max(key_at(second + k), key_at(second + next)));
        }
    }
#endif
#if F16
    return half_of_key(top);
#else
    return key_bits(top);
#endif
}
#endif
#else
#if F16
#include "half_round"
#endif
#if !FINISH
#include "value_at"
#endif

#if DIFF
fn pooled(begin: u32, width: u32) -> u32 {
    let end = begin + (p.window_rows - 1u) * width + (p.window_columns - 1u);
    let change = value_at(end) - value_at(begin);
#if F16
    return half_bits(change);
#else
    return bitcast<u32>(change);
#endif
}
#else
// First the sums of rows, which keeps chains of additions short.
fn pooled(begin: u32, width: u32) -> u32 {
#if FINISH
    let sum = bitcast<f32>(x[begin]);
#else
    var sum = 0.0;
    for (var row = 0u; row < p.window_rows; row += 2u) {
        let first = begin + row * width;
        // The loads of a round do not wait for each other. Beyond the window's edge they repeat a value.
        let more = row + 1u < p.window_rows;
        let second = first + select(0u, width, more);
        var along = vec2(0.0);
        for (var k = 0u; k < p.window_columns; k += 2u) {
            let inside = k + 1u < p.window_columns;
            let next = k + u32(inside);
            along += vec2(value_at(first + k), value_at(second + k));
            let last = vec2(value_at(first + next), value_at(second + next));
            along = select(along, along + last, inside);
        }
        sum += along.x;
        sum = select(sum, sum + along.y, more);
    }
#endif
    let mean = sum / f32(p.window_rows * p.window_columns);
#if F16
    return half_bits(mean);
#else
    return bitcast<u32>(mean);
#endif
}
#endif
#endif

fn value_of(v: u32, tile: Tile) -> u32 {
    let e = place_in_tile(v, tile);
    let entry = entry_in_tile(e, tile);
    let i = v - start_in_tile(e, tile);
    let row = row_of(i, entry.width, entry.narrow);
    let column = i - row * entry.width;
    let plane = row_of(row, entry.rows, entry.low);
    let down = plane * entry.x_rows + (row - plane * entry.rows) * p.stride_rows;
    let first = down * entry.x_width + column * p.stride_columns;
    let result = pooled(entry.begin + first, entry.x_width);
#if PLACE
    return first + result;
#else
    return result;
#endif
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if F16
    for (var w = tile.start / 2u + lid; 2u * w < tile.end; w += WG) {
        var word = value_of(2u * w, tile);
        if 2u * w + 1u < tile.end {
            word |= value_of(2u * w + 1u, tile) << 16u;
        }
        c[w] = word;
    }
#else
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = value_of(v, tile);
    }
#endif
}
