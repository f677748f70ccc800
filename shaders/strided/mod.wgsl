// Copies runs of values, shifted or reversed: c_i = x_(i + shift), or x_(n − 1 − i), or zero where x has no such value.
// If p.align is 1, the shift is such that the last values of both correspond, and if it is 2, their middles.
//
// Element e of the result reads element e / size · stride + e % size of x, which is element e itself if size and stride
// are 1, and a window otherwise; an element beyond the last is empty. p.rank is 2 if the shift counts rows of full
// width, 1 if it counts values.
//
// An invocation makes four words at a time: four values, two complex ones, eight halves or 16 bytes. Indices count
// units: a unit is a word, a half for f16, or a byte for u8; p.words is the number of units per value. Tiles and tables
// as in ambient/mod.wgsl.

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

// In units: offset of the element's values in x, their number, and the shift from an index of the result to x.
struct Entry {
    at: vec4<u32>,
}

#include "packed"
#include "search"
#include "shifted"

// Units of four words.
const QUAD = 4u * UNITS;

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

// Four words from unit `at` on.
fn run(at: i32) -> vec4<u32> {
    let words = words_from(at >> (UNITS / 2u));
    let shift = BITS * (u32(at) % UNITS);
    if shift == 0u {
        return words;
    }
    return (words >> vec4(shift)) | (words_from((at >> (UNITS / 2u)) + 1) << vec4(32u - shift));
}

#if F16
// The bits of the units of four words that have an index below `length`, and not below 0; the first has index j.
fn inside(j: i32, length: i32) -> vec4<u32> {
    let low = vec4(j, j + 2, j + 4, j + 6);
    let high = low + 1;
    return select(vec4(0u), vec4(0xFFFFu), (low >= vec4(0)) & (low < vec4(length)))
        | select(vec4(0u), vec4(0xFFFF0000u), (high >= vec4(0)) & (high < vec4(length)));
}
#else
#if U8
fn inside(j: i32, length: i32) -> vec4<u32> {
    let first = vec4(j, j + 4, j + 8, j + 12);
    // Bytes of a word before the first unit, and after the last.
    let before = vec4<u32>(clamp(-first, vec4(0), vec4(4)));
    let after = vec4<u32>(clamp(first + 4 - length, vec4(0), vec4(4)));
    // A shift by 32 bits is none.
    let low = select(vec4(0xFFFFFFFFu) << (8u * before), vec4(0u), before == vec4(4u));
    let high = select(vec4(0xFFFFFFFFu) >> (8u * after), vec4(0u), after == vec4(4u));
    return low & high;
}
#else
fn inside(j: i32, length: i32) -> vec4<u32> {
    let units = vec4(j, j + 1, j + 2, j + 3);
    return select(vec4(0u), vec4(0xFFFFFFFFu), (units >= vec4(0)) & (units < vec4(length)));
}
#endif
#endif

// The units of a word in reverse order.
fn turned(words: vec4<u32>) -> vec4<u32> {
#if F16
    return (words << vec4(16u)) | (words >> vec4(16u));
#else
#if U8
    let pairs = ((words & vec4(0xFF00FFu)) << vec4(8u)) | ((words >> vec4(8u)) & vec4(0xFF00FFu));
    return (pairs << vec4(16u)) | (pairs >> vec4(16u));
#else
    return words;
#endif
#endif
}

// Units i .. i + QUAD of an element of the result.
fn stretch(entry: vec4<u32>, i: u32) -> vec4<u32> {
    let length = i32(entry.y);
    var j = i32(i) + i32(entry.z);
    if p.backwards != 0u {
        j = length - i32(QUAD) - i32(i);
    }
    if j >= length || j <= -i32(QUAD) {
        return vec4<u32>();
    }
    let values = run(i32(entry.x) + j) & inside(j, length);
    if p.backwards != 0u {
        // The two words of a complex value stay in their order.
        return turned(select(values.zwxy, values.wzyx, p.words == 1u));
    }
    return values;
}

// Unit i of an element of the result.
fn unit_in(entry: vec4<u32>, i: u32) -> u32 {
    var j = i32(i) + i32(entry.z);
    if p.backwards != 0u {
        let part = i % p.words;
        j = i32(entry.y) - i32(p.words + i) + 2 * i32(part);
    }
    if j < 0 || j >= i32(entry.y) {
        return 0u;
    }
    let at = entry.x + u32(j);
    return unit_of(x[at / QUAD][at / UNITS % 4u], at);
}

// QUAD units of the result from u on.
fn quad(u: u32, tile: Tile) -> vec4<u32> {
    var e = place_in_tile(u / p.words, tile);
    var start = p.words * start_in_tile(e, tile);
    var end = p.words * start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile).at;
    if tile.count * LONG <= p.tile && u + QUAD <= end {
        return stretch(entry, u - start);
    }
    var values = vec4<u32>();
    for (var k = 0u; k < QUAD; k += 1u) {
        if u + k < p.words * p.total {
            while u + k >= end {
                e += 1u;
                start = end;
                end = p.words * start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile).at;
            }
            let value = unit_in(entry, u + k - start);
            values[k / UNITS] |= value << (BITS * (k % UNITS));
        }
    }
    return values;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let begin = p.words * tile.start / QUAD + lid;
    let end = (p.words * tile.end + QUAD - 1u) / QUAD;
    if tile.count == 1u {
        // The whole tile is in one element: no search, and two quads in flight at a time.
        let entry = sh_entry[0].at;
        let start = p.words * sh_start[0];
        for (var q = begin; q < end; q += 2u * WG) {
            let near = stretch(entry, QUAD * q - start);
            let far = stretch(entry, QUAD * (q + WG) - start);
            c[q] = near;
            if q + WG < end {
                c[q + WG] = far;
            }
        }
        return;
    }
    for (var q = begin; q < end; q += WG) {
        c[q] = quad(QUAD * q, tile);
    }
}
