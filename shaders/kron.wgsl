// c = a ⊗ b for every pair: on every axis c_(i n + j) = a_i b_j, where n is the extent of b. Plain: one axis, which is
// the outer product as well. BOXES: p.rank axes.
//
// Tiles and tables as in ambient/mod.wgsl. An invocation makes four consecutive values: it divides once, for the first,
// and increments from there. All indices are known before any load, so that the loads are in flight together. c has
// slack after its last value. Halves are multiplied in f32, where their products are exact.

#params
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<E>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
#if F16
@group(0) @binding(5) var<storage, read_write> c: array<vec2<u32>>;
#else
@group(0) @binding(5) var<storage, read_write> c: array<vec4<E>>;
#endif
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

// Per element: the offsets of a and b, and their extents on the last axis.
struct Entry {
    a: u32,
    b: u32,
    m: u32,
    n: u32,
#if BOXES
    // The offsets of their extents.
    a_extents: u32,
    b_extents: u32,
#endif
}

#include "pairs"
#include "search"

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
#if BOXES
    let a_extents = p.pair_left + 1u + p.rank * pair.x;
    let b_extents = p.pair_right + 1u + p.rank * pair.y;
    return Entry(
        p.a_base + a_start,
        p.b_base + b_start,
        a_meta[a_extents + p.rank - 1u],
        b_meta[b_extents + p.rank - 1u],
        a_extents,
        b_extents,
    );
#else
    return Entry(
        p.a_base + a_start,
        p.b_base + b_start,
        a_meta[pair.x + 1u] - a_start,
        b_meta[pair.y + 1u] - b_start,
    );
#endif
}

#include "tables"

// The indices of a value's factors: that of a, and for b its row and the index in the row. `left` is the number of
// values left in the row of a, including this one.
struct Place {
    a: u32,
    b_row: u32,
    j: u32,
    left: u32,
#if BOXES
    // Rows of b left to pair with this row of a, including this one.
    rows: u32,
#endif
}

fn first_place(entry: Entry) -> Place {
#if BOXES
    return Place(entry.a, entry.b, 0u, entry.m, b_meta[entry.b_extents + p.rank - 2u]);
#else
    return Place(entry.a, entry.b, 0u, entry.m);
#endif
}

// The place of value i of an element. Its digits, last first, are j and i of each axis alternately.
fn place_of(i: u32, entry: Entry) -> Place {
    var rest = i / entry.n;
    let j = i - rest * entry.n;
#if BOXES
    let row = rest / entry.m;
    let along = rest - row * entry.m;
    let rows = b_meta[entry.b_extents + p.rank - 2u];
    rest = row / rows;
    let b_row = row - rest * rows;
    var place = Place(entry.a + along, entry.b + b_row * entry.n, j, entry.m - along, rows - b_row);
    var a_stride = entry.m;
    var b_stride = entry.n * rows;
    for (var axis = p.rank - 2u; axis > 0u; axis -= 1u) {
        let m = a_meta[entry.a_extents + axis];
        let n = b_meta[entry.b_extents + axis - 1u];
        let of_b = rest / m;
        place.a += (rest - of_b * m) * a_stride;
        rest = of_b / n;
        place.b_row += (of_b - rest * n) * b_stride;
        a_stride *= m;
        b_stride *= n;
    }
    // The first digit belongs to a, and there is none above it.
    place.a += rest * a_stride;
    return place;
#else
    return Place(entry.a + rest, entry.b, j, entry.m - rest);
#endif
}

// The place of value i, which follows this one.
fn after(place: Place, i: u32, entry: Entry) -> Place {
    if place.j + 1u < entry.n {
        var next = place;
        next.j += 1u;
        return next;
    }
#if BOXES
    if place.left == 1u {
        if place.rows == 1u {
            return place_of(i, entry);
        }
        return Place(place.a + 1u - entry.m, place.b_row + entry.n, 0u, entry.m, place.rows - 1u);
    }
    return Place(place.a + 1u, place.b_row, 0u, place.left - 1u, place.rows);
#else
    return Place(place.a + 1u, place.b_row, 0u, place.left - 1u);
#endif
}

// The products of values i of a and values j of b.
#if F16
#include "half_load"
#include "half_round"

alias Quad = vec2<u32>;

fn products(i: vec4<u32>, j: vec4<u32>) -> Quad {
    let x = vec4(
        half_of(a[i.x / 2u], i.x),
        half_of(a[i.y / 2u], i.y),
        half_of(a[i.z / 2u], i.z),
        half_of(a[i.w / 2u], i.w),
    );
    let y = vec4(
        half_of(b[j.x / 2u], j.x),
        half_of(b[j.y / 2u], j.y),
        half_of(b[j.z / 2u], j.z),
        half_of(b[j.w / 2u], j.w),
    );
    let r = x * y;
    return vec2(half_bits(r.x) | (half_bits(r.y) << 16u), half_bits(r.z) | (half_bits(r.w) << 16u));
}
#else
alias Quad = vec4<E>;

fn products(i: vec4<u32>, j: vec4<u32>) -> Quad {
    return vec4(a[i.x], a[i.y], a[i.z], a[i.w]) * vec4(b[j.x], b[j.y], b[j.z], b[j.w]);
}
#endif

// The index after j, which wraps around to 0 at n.
fn next_wrapped(j: u32, n: u32) -> u32 {
    return select(j + 1u, 0u, j + 1u == n);
}

// Four values of c from v on.
fn quad(v: u32, tile: Tile) -> Quad {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    var place = place_of(v - start, entry);
    if place.left * entry.n - place.j >= 4u {
        // All in one row of a, without a branch. A row of b ends where its index returns to 0.
        let j1 = next_wrapped(place.j, entry.n);
        let j2 = next_wrapped(j1, entry.n);
        let j3 = next_wrapped(j2, entry.n);
        let i1 = place.a + u32(j1 == 0u);
        let i2 = i1 + u32(j2 == 0u);
        let i3 = i2 + u32(j3 == 0u);
        return products(vec4(place.a, i1, i2, i3), place.b_row + vec4(place.j, j1, j2, j3));
    }
    var i = vec4(place.a);
    var j = vec4(place.b_row + place.j);
    for (var k = 1u; k < 4u; k += 1u) {
        let u = v + k;
        // After the last value, its place is reused.
        if u < end {
            place = after(place, u - start, entry);
        } else if u < p.total {
            while u >= end {
                e += 1u;
                start = end;
                end = start_in_tile(e + 1u, tile);
            }
            entry = entry_in_tile(e, tile);
            place = first_place(entry);
        }
        i[k] = place.a;
        j[k] = place.b_row + place.j;
    }
    return products(i, j);
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end + 3u) / 4u;
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = quad(4u * q, tile);
    }
}
