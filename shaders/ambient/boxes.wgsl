// c = f(a, b) for every pair of boxes of p.rank axes, where `combine` knows what a missing entry is: f is a row of the
// table in src/ops/ambient. RANK2: of matrices. CONCAT: b begins where a ends, along the axes whose bits p.beside has,
// and words are added, one of which is zero.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation makes one value at a time: registers are few, so that many
// invocations run at once and hide each other's loads.

#params
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<E>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<C>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that the tables hold.
const SPAN = 64u;

// The data of an element that its values need, in loads of 16 bytes.
struct Entry {
#if RANK2
    // a, b, width of c, the bits of 1 / width
    at: vec4<u32>,
    // height and width of a, of b
    extents: vec4<u32>,
#else
    // a, b
    at: vec2<u32>,
    // where the extents of a, b and c begin
    extents: vec3<u32>,
#endif
}

#include "pairs"
#include "search"
#include "combine"
#if U8
#include "bytes"
#endif

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let a_start = p.a_base + a_meta[pair.x];
    let b_start = p.b_base + b_meta[pair.y];
    let a_at = p.pair_left + 1u + p.rank * pair.x;
    let b_at = p.pair_right + 1u + p.rank * pair.y;
    let c_at = p.elements + 1u + p.rank * e;
#if RANK2
    let width = c_meta[c_at + 1u];
    let narrow = 1.0 / f32(max(width, 1u));
    return Entry(
        vec4(a_start, b_start, width, bitcast<u32>(narrow)),
        vec4(a_meta[a_at], a_meta[a_at + 1u], b_meta[b_at], b_meta[b_at + 1u]),
    );
#else
    return Entry(vec2(a_start, b_start), vec3(a_at, b_at, c_at));
#endif
}

#include "tables"

#if F16
// The half at place `at`, which is in this word.
fn half_in(word: u32, at: u32) -> V {
    let half = (word >> (16u * (at % 2u))) & 0xffffu;
#if CONCAT
    return half;
#else
    return unpack2x16float(half).x;
#endif
}
#endif

#for x in a, b
fn load_$(x)(at: u32) -> V {
#if F16
    return half_in($(x)[at / 2u], at);
#else
#if U8
    return byte_of($(x)[at / 4u], at);
#else
    return $(x)[at];
#endif
#endif
}

#endfor
// Where a value lies in a and b, and whether it does.
struct Place {
    a: u32,
    b: u32,
    in_a: bool,
    in_b: bool,
}

// Where index i of c lies in b, along an axis of which a has `extent`: before the start of b, the difference wraps
// around, and is out of range.
fn in_right(i: u32, extent: u32, axis: u32) -> u32 {
#if CONCAT
    return i - select(0u, extent, ((p.beside >> axis) & 1u) != 0u);
#else
    return i;
#endif
}

#if RANK2
#include "rows"

fn place_of(i: u32, entry: Entry) -> Place {
    let row = row_of(i, entry.at.z, bitcast<f32>(entry.at.w));
    let along = i - row * entry.at.z;
    let extents = entry.extents;
    let b_row = in_right(row, extents.x, 0u);
    let b_along = in_right(along, extents.y, 1u);
    return Place(
        entry.at.x + row * extents.y + along,
        entry.at.y + b_row * extents.w + b_along,
        row < extents.x && along < extents.y,
        b_row < extents.z && b_along < extents.w,
    );
}
#else
fn place_of(i: u32, entry: Entry) -> Place {
    var place = Place(entry.at.x, entry.at.y, true, true);
    var rest = i;
    var a_stride = 1u;
    var b_stride = 1u;
    for (var axis = p.rank - 1u; axis > 0u; axis -= 1u) {
        let extent = c_meta[entry.extents.z + axis];
        let quotient = rest / extent;
        let along = rest - quotient * extent;
        rest = quotient;
        let a_extent = a_meta[entry.extents.x + axis];
        let b_extent = b_meta[entry.extents.y + axis];
        place.in_a = place.in_a && along < a_extent;
        let b_along = in_right(along, a_extent, axis);
        place.in_b = place.in_b && b_along < b_extent;
        place.a += along * a_stride;
        place.b += b_along * b_stride;
        a_stride *= a_extent;
        b_stride *= b_extent;
    }
    let a_extent = a_meta[entry.extents.x];
    let b_rest = in_right(rest, a_extent, 0u);
    place.in_a = place.in_a && rest < a_extent;
    place.in_b = place.in_b && b_rest < b_meta[entry.extents.y];
    place.a += rest * a_stride;
    place.b += b_rest * b_stride;
    return place;
}
#endif

// Value v of c.
fn result(v: u32, tile: Tile) -> R {
    let e = place_in_tile(v, tile);
    let place = place_of(v - start_in_tile(e, tile), entry_in_tile(e, tile));
    var x = V();
    var y = V();
#if $(OVERLAP) == true
    // A value without a counterpart does not count. Both loads are in one branch.
    if place.in_a && place.in_b {
        x = load_a(place.a);
        y = load_b(place.b);
    }
#else
    if place.in_a {
        x = load_a(place.a);
    }
    if place.in_b {
        y = load_b(place.b);
    }
#endif
    return combine(x, y, place.in_a, place.in_b);
}

#if $(PACKED) == words
alias C = R;

fn stored(v: u32, tile: Tile) {
    c[v] = result(v, tile);
}
const STEP = 1u;
#else
alias C = u32;
#if $(PACKED) == bytes
// The bytes of the word with value v. A tile begins with a whole one.
fn stored(v: u32, tile: Tile) {
    var word = result(v, tile);
    for (var k = 1u; k < min(4u, tile.end - v); k += 1u) {
        word |= result(v + k, tile) << (8u * k);
    }
    c[v / 4u] = word;
}
const STEP = 4u;
#else

#if $(PACKED) == halves
#include "half_round"

fn bits_of(half: R) -> u32 {
    return half_bits(half);
}
#else
fn bits_of(half: R) -> u32 {
    return half;
}
#endif

// Halves of the word with value v. A tile begins with a whole one.
fn stored(v: u32, tile: Tile) {
    var word = bits_of(result(v, tile));
    if v + 1u < tile.end {
        word |= (bits_of(result(v + 1u, tile)) << 16u);
    }
    c[v / 2u] = word;
}
const STEP = 2u;
#endif
#endif

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + STEP * lid; v < tile.end; v += STEP * WG) {
        stored(v, tile);
    }
}
