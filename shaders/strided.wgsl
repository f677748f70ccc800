// Copies runs of values, shifted or reversed: c_i = x_(i + shift), or x_(n − 1 − i), or zero where x has no such value.
// If p.align is 1, the shift is such that the last values of both correspond, and if it is 2, their middles.
//
// Element e of the result reads element e / size · stride + e % size of x, which is element e itself if size and stride
// are 1, and a window otherwise; an element beyond the last is empty. p.rank is 2 if the shift counts rows of full
// width, 1 if it counts values.
//
// An invocation makes four words at a time: four values, two complex ones, or eight halves. Indices count units: a unit
// is a word, or a half for f16; p.words is the number of units per value. Tiles and tables as in ambient.wgsl.

#params shift: i32
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;
// If elements are longer than this on average, four words mostly lie in one of them.
const LONG = 32u;
#if F16
const UNITS = 8u;
#else
const UNITS = 4u;
#endif

// In units: offset of the element's values in x, their number, and the shift from an index of the result to x.
struct Entry {
    at: vec4<u32>,
}

#include "search"
#include "shifted"

fn entry_of(e: u32) -> Entry {
    let source = e / p.size * p.stride + e % p.size;
    if source >= p.x_elements {
        return Entry(vec4<u32>());
    }
    let start = x_meta[source];
    let length = x_meta[source + 1u] - start;
    var width = 1u;
    if p.rank == 2u {
        let x_rows = x_meta[p.x_elements + 1u + 2u * source];
        let rows = c_meta[p.elements + 1u + 2u * e];
        // Beyond these shifts nothing is read, and the product below could overflow.
        if p.shift >= i32(x_rows) || p.shift <= -i32(rows) {
            return Entry(vec4<u32>());
        }
        width = c_meta[p.elements + 2u + 2u * e];
    }
    var shift = p.shift * i32(width * p.words);
    if p.align != 0u {
        let longer = i32(length) - i32(c_meta[e + 1u] - c_meta[e]);
        shift = longer / i32(p.align) * i32(p.words);
    }
    return Entry(vec4(p.x_base + p.words * start, p.words * length, bitcast<u32>(shift), 0u));
}

#include "tables"

fn quad_of_x(q: i32) -> vec4<u32> {
    return x[clamp(q, 0, i32(arrayLength(&x)) - 1)];
}

// Four words from word `at` on, which may be before the first.
fn words_from(at: i32) -> vec4<u32> {
    return shifted(quad_of_x(at >> 2u), quad_of_x((at >> 2u) + 1), u32(at & 3));
}

// Units i .. i + UNITS of an element of the result.
fn stretch(entry: vec4<u32>, i: u32) -> vec4<u32> {
    let length = i32(entry.y);
    var j = i32(i) + i32(entry.z);
    if p.backwards != 0u {
        j = length - i32(UNITS) - i32(i);
    }
    if j >= length || j <= -i32(UNITS) {
        return vec4<u32>();
    }
    let at = i32(entry.x) + j;
#if F16
    var values = words_from(at >> 1u);
    if (at & 1) != 0 {
        values = (values >> vec4(16u)) | (words_from((at >> 1u) + 1) << vec4(16u));
    }
    let low = vec4(j, j + 2, j + 4, j + 6);
    let high = low + 1;
    values &= select(vec4(0u), vec4(0xFFFFu), (low >= vec4(0)) & (low < vec4(length)))
        | select(vec4(0u), vec4(0xFFFF0000u), (high >= vec4(0)) & (high < vec4(length)));
    if p.backwards != 0u {
        let back = values.wzyx;
        return (back << vec4(16u)) | (back >> vec4(16u));
    }
    return values;
#else
    let units = vec4(j, j + 1, j + 2, j + 3);
    let values = select(vec4(0u), words_from(at), (units >= vec4(0)) & (units < vec4(length)));
    if p.backwards != 0u {
        return select(values.zwxy, values.wzyx, p.words == 1u);
    }
    return values;
#endif
}

// Unit i of an element of the result.
fn unit_of(entry: vec4<u32>, i: u32) -> u32 {
    var j = i32(i) + i32(entry.z);
    if p.backwards != 0u {
        let part = i % p.words;
        j = i32(entry.y) - i32(p.words + i) + 2 * i32(part);
    }
    if j < 0 || j >= i32(entry.y) {
        return 0u;
    }
    let at = entry.x + u32(j);
#if F16
    return (x[at / 8u][at / 2u % 4u] >> (at % 2u * 16u)) & 0xFFFFu;
#else
    return x[at / 4u][at % 4u];
#endif
}

// UNITS units of the result from u on.
fn quad(u: u32, tile: Tile) -> vec4<u32> {
    var e = place_in_tile(u / p.words, tile);
    var start = p.words * start_in_tile(e, tile);
    var end = p.words * start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile).at;
    if tile.count * LONG <= p.tile && u + UNITS <= end {
        return stretch(entry, u - start);
    }
    var values = vec4<u32>();
    for (var k = 0u; k < UNITS; k += 1u) {
        if u + k < p.words * p.total {
            while u + k >= end {
                e += 1u;
                start = end;
                end = p.words * start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile).at;
            }
            let value = unit_of(entry, u + k - start);
#if F16
            values[k / 2u] |= value << (k % 2u * 16u);
#else
            values[k] = value;
#endif
        }
    }
    return values;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let begin = p.words * tile.start / UNITS + lid;
    let end = (p.words * tile.end + UNITS - 1u) / UNITS;
    if tile.count == 1u {
        // The whole tile is in one element: no search, and two quads in flight at a time.
        let entry = sh_entry[0].at;
        let start = p.words * sh_start[0];
        for (var q = begin; q < end; q += 2u * WG) {
            let near = stretch(entry, UNITS * q - start);
            let far = stretch(entry, UNITS * (q + WG) - start);
            c[q] = near;
            if q + WG < end {
                c[q + WG] = far;
            }
        }
        return;
    }
    for (var q = begin; q < end; q += WG) {
        c[q] = quad(UNITS * q, tile);
    }
}
