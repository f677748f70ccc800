// The largest key among each cell of a matrix of bytes and its neighbours: the four that share an edge with it if
// p.cross is 1, otherwise all eight. A key is a value whose bits p.flip has inverted, for the smallest value. Cells
// outside of the matrix do not count.
//
// An invocation makes a word of four results, together if they are in one element: neighbours in a column are as far
// apart for all four, even if these are in two rows. Tiles and tables as in ambient/mod.wgsl.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<u32>;
@group(0) @binding(3) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

struct Entry {
    rows: u32,
    width: u32,
    // Approximately 1 / width.
    narrow: f32,
}

#include "bytes"
#include "search"
#include "rows"

fn entry_of(e: u32) -> Entry {
    let extents = p.elements + 1u + 2u * e;
    let width = c_meta[extents + 1u];
    return Entry(c_meta[extents], width, 1.0 / f32(max(width, 1u)));
}

#include "tables"

fn key_at(at: u32) -> u32 {
    return byte_of(x[at / 4u] ^ p.flip, at);
}

// A word of x; the nearest if there is none at this index.
fn word_at(w: i32) -> u32 {
    return x[u32(clamp(w, 0, i32(arrayLength(&x)) - 1))] ^ p.flip;
}

// The keys of four cells, of the cell before them and of the one after.
struct Six {
    four: vec4<u32>,
    before: u32,
    after: u32,
}

// The keys from byte `at` of x on, which may begin before x, or end after it: those there are arbitrary.
fn six_at(at: i32) -> Six {
    let w = at >> 2u;
    let place = u32(at) % 4u;
    let low = word_at(w);
    let high = word_at(w + 1);
    // The word with the cell before.
    let earlier = select(low, word_at(w - 1), place == 0u);
    return Six(
        bytes_of(word_from(low, high, place)),
        byte_of(earlier, place + 3u),
        byte_of(high, place),
    );
}

// The largest keys of four cells from value i of an element on, which starts at `start`.
fn four_keys(i: u32, start: u32, entry: Entry) -> vec4<u32> {
    let width = entry.width;
    let row = row_of(i, width, entry.narrow);
    var columns = vec4(i - row * width) + vec4(0u, 1u, 2u, 3u);
    if width < 3u {
        columns = columns % vec4(width);
    } else {
        columns = select(columns, columns - width, columns >= vec4(width));
    }
    let at = i32(p.x_base + start + i);
    let here = six_at(at);
    let above = six_at(at - i32(width));
    let below = six_at(at + i32(width));
    // Keys of 0 stand for those outside of the matrix: they are the smallest.
    let places = vec4(i) + vec4(0u, 1u, 2u, 3u);
    let is_below_top = places >= vec4(width);
    let is_above_end = places + width < vec4(entry.rows * width);
    let vertical = Six(
        max(here.four, max(
            select(vec4(0u), above.four, is_below_top),
            select(vec4(0u), below.four, is_above_end),
        )),
        max(here.before, max(
            select(0u, above.before, is_below_top.x),
            select(0u, below.before, is_above_end.x),
        )),
        max(here.after, max(
            select(0u, above.after, is_below_top.w),
            select(0u, below.after, is_above_end.w),
        )),
    );
    var beside = vertical;
    if p.cross != 0u {
        beside = here;
    }
    let left = select(vec4(beside.before, beside.four.xyz), vec4(0u), columns == vec4(0u));
    let right = select(
        vec4(beside.four.yzw, beside.after),
        vec4(0u),
        columns == vec4(width - 1u),
    );
    return max(vertical.four, max(left, right));
}

// The largest key of value i of an element.
fn key_of(i: u32, start: u32, entry: Entry) -> u32 {
    let width = entry.width;
    let row = row_of(i, width, entry.narrow);
    let column = i - row * width;
    let here = p.x_base + start + i;
    let left = u32(column > 0u);
    let right = u32(column + 1u < width);
    let up = select(0u, width, row > 0u);
    let down = select(0u, width, row + 1u < entry.rows);
    var key = max(key_at(here), max(key_at(here - left), key_at(here + right)));
    key = max(key, max(key_at(here - up), key_at(here + down)));
    if p.cross == 0u {
        key = max(key, max(key_at(here - up - left), key_at(here - up + right)));
        key = max(key, max(key_at(here + down - left), key_at(here + down + right)));
    }
    return key;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var w = tile.start / 4u + lid; 4u * w < tile.end; w += WG) {
        let first = 4u * w;
        var e = place_in_tile(first, tile);
        var start = start_in_tile(e, tile);
        var word = 0u;
        if first + 4u <= start_in_tile(e + 1u, tile) {
            let keys = four_keys(first - start, start, entry_in_tile(e, tile));
            word = word_of(keys);
        } else {
            for (var k = 0u; k < min(4u, tile.end - first); k += 1u) {
                if k > 0u && first + k >= start_in_tile(e + 1u, tile) {
                    e = place_in_tile(first + k, tile);
                    start = start_in_tile(e, tile);
                }
                word |= key_of(first + k - start, start, entry_in_tile(e, tile)) << (8u * k);
            }
        }
        c[w] = word ^ p.flip;
    }
}
