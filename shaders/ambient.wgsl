// c = a + b or a - b with missing values taken as zero, or with PRODUCT a b, for every pair of vectors. CONCAT: a
// followed by b.
//
// A workgroup makes p.tile consecutive values of c: it finds the element in which the tile begins, and loads what it
// needs of this and the following elements into tables in workgroup memory, if they are at most SPAN. An invocation
// makes four consecutive values at a time, so that it searches once for four; c begins at a multiple of four and has
// slack after its last value.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    subtract: u32,
    a_base: u32,
    b_base: u32,
    elements: u32,
    tile: u32,
    pair_kind: u32,
    pair_right: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<vec4<E>>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;
// If elements are longer than this on average, four values mostly lie in one of them.
const LONG = 32u;

// The offsets and lengths of an element's operands, in one load of 16 bytes.
struct Entry {
    // offset in a, offset in b, values of a, values of b
    at: vec4<u32>,
}

#include "grid"
#include "pairs"
#include "search"
#include "shifted"
#include "combine"

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
    var lengths = vec2(a_meta[pair.x + 1u] - a_start, b_meta[pair.y + 1u] - b_start);
#if PRODUCT
    // Zero outside the overlap, whatever the operands hold there.
    lengths = vec2(min(lengths.x, lengths.y));
#endif
    return Entry(vec4(p.a_base + a_start, p.b_base + b_start, lengths));
}

#include "tables"

// Values i .. i + 4 of a run of `length` values that begins at `start`; zeros beyond the run.
fn a_run(start: u32, i: u32, length: u32) -> vec4<E> {
    if i >= length {
        return vec4<E>();
    }
    let at = start + i;
    let high = min(at / 4u + 1u, arrayLength(&a) - 1u);
    let values = shifted(a[at / 4u], a[high], at % 4u);
    return select(vec4<E>(), values, vec4(i, i + 1u, i + 2u, i + 3u) < vec4(length));
}

fn b_run(start: u32, i: u32, length: u32) -> vec4<E> {
    if i >= length {
        return vec4<E>();
    }
    let at = start + i;
    let high = min(at / 4u + 1u, arrayLength(&b) - 1u);
    let values = shifted(b[at / 4u], b[high], at % 4u);
    return select(vec4<E>(), values, vec4(i, i + 1u, i + 2u, i + 3u) < vec4(length));
}

// Values i .. i + 4 of an element of c.
#if CONCAT
fn meet(entry: vec4<u32>, i: u32) -> vec4<E> {
    if i >= entry.z {
        return b_run(entry.y, i - entry.z, entry.w);
    }
    let x = a_run(entry.x, i, entry.z);
    if i + 4u <= entry.z {
        return x;
    }
    // A sum of words, one of which is zero.
    return x + shifted(vec4<E>(), b_run(entry.y, 0u, entry.w), i + 4u - entry.z);
}
#else
fn meet(entry: vec4<u32>, i: u32) -> vec4<E> {
    return combine(a_run(entry.x, i, entry.z), b_run(entry.y, i, entry.w));
}
#endif

// Four values of c from v on.
fn quad(v: u32, tile: Tile) -> vec4<E> {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    if tile.count * LONG <= p.tile && v + 4u <= end {
        return meet(entry.at, v - start);
    }
    var x = vec4<E>();
    var y = vec4<E>();
    for (var k = 0u; k < 4u; k += 1u) {
        let u = v + k;
        if u < p.total {
            while u >= end {
                e += 1u;
                start = end;
                end = start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile);
            }
            let i = u - start;
            if i < entry.at.z {
                x[k] = a[(entry.at.x + i) / 4u][(entry.at.x + i) % 4u];
            }
#if CONCAT
            // Before b the difference wraps around and is out of range.
            let j = i - entry.at.z;
#else
            let j = i;
#endif
            if j < entry.at.w {
                y[k] = b[(entry.at.y + j) / 4u][(entry.at.y + j) % 4u];
            }
        }
    }
    return combine(x, y);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, groups);
    if group >= p.groups {
        return;
    }
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end + 3u) / 4u;
    if tile.count == 1u {
        // The whole tile is in one element: no search, and two quads in flight at a time.
        let entry = sh_entry[0].at;
        let start = sh_start[0];
        for (var q = tile.start / 4u + lid; q < end; q += 2u * WG) {
            let i = 4u * q - start;
            let j = i + 4u * WG;
            let here = meet(entry, i);
            let there = meet(entry, j);
            c[q] = here;
            if q + WG < end {
                c[q + WG] = there;
            }
        }
        return;
    }
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = quad(4u * q, tile);
    }
}
