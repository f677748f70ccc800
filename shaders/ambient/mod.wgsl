// c = f(a, b) for every pair of vectors, where `combine` knows what a missing entry is: f is a row of the table in
// src/ops/ambient. CONCAT: b follows a.
//
// A workgroup makes p.tile consecutive values of c: it finds the element in which the tile begins, and caches the data
// of that element and of the next ones in tables in workgroup memory, if there are at most SPAN. An invocation makes
// four consecutive values at a time, so that it searches once for four; c begins at a multiple of four and has slack
// after its last value. WIDE: c is complex; one value at a time.

#params
@group(0) @binding(1) var<storage, read> a: array<A>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<B>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<C>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that the tables hold.
const SPAN = 256u;
// Where elements are longer than this on average, four values mostly lie in one of them.
const LONG = 32u;

// Where the operands of an element begin, and how long they are: one load of 16 bytes.
struct Entry {
    // a, b, values of a, values of b
    at: vec4<u32>,
}

#include "pairs"
#include "search"
#include "combine"
#include "loads"
#if CONCAT
#include "shifted"
#endif

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
    var lengths = vec2(a_meta[pair.x + 1u] - a_start, b_meta[pair.y + 1u] - b_start);
#if $(OVERLAP) == true
    lengths = vec2(min(lengths.x, lengths.y));
#endif
    return Entry(vec4(p.a_base + a_start, p.b_base + b_start, lengths));
}

#include "tables"

#if WIDE
// Value v of c.
fn result(v: u32, tile: Tile) -> R {
    let e = place_in_tile(v, tile);
    let at = entry_in_tile(e, tile).at;
    let i = v - start_in_tile(e, tile);
    let in_a = i < at.z;
    let in_b = i < at.w;
    var x = V();
    var y = V();
    if in_a {
        x = a_one(at.x + i);
    }
    if in_b {
        y = b_one(at.y + i);
    }
    return combine(x, y, in_a, in_b);
}
#else
// Values i .. i + 4 of a run of `length` values that begins at `start`; zeros beyond it.
#for x in a, b
fn $(x)_run(start: u32, i: u32, length: u32) -> vec4<V> {
    if i >= length {
        return vec4<V>();
    }
    return select(vec4<V>(), $(x)_four(start + i), vec4(i, i + 1u, i + 2u, i + 3u) < vec4(length));
}

#endfor
// Values i .. i + 4 of an element of c.
#if CONCAT
fn combine_four(entry: vec4<u32>, i: u32) -> vec4<R> {
    if i >= entry.z {
        return b_run(entry.y, i - entry.z, entry.w);
    }
    let x = a_run(entry.x, i, entry.z);
    if i + 4u <= entry.z {
        return x;
    }
    // Words, one of which is zero.
    return x + shifted(vec4<E>(), b_run(entry.y, 0u, entry.w), i + 4u - entry.z);
}
#else
fn combine_four(entry: vec4<u32>, i: u32) -> vec4<R> {
    let x = a_run(entry.x, i, entry.z);
    let y = b_run(entry.y, i, entry.w);
    let in_a = vec4(i, i + 1u, i + 2u, i + 3u) < vec4(entry.z);
    let in_b = vec4(i, i + 1u, i + 2u, i + 3u) < vec4(entry.w);
    return vec4(
        combine(x.x, y.x, in_a.x, in_b.x),
        combine(x.y, y.y, in_a.y, in_b.y),
        combine(x.z, y.z, in_a.z, in_b.z),
        combine(x.w, y.w, in_a.w, in_b.w),
    );
}
#endif

// Four values of c from v on.
fn quad(v: u32, tile: Tile) -> vec4<R> {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    if tile.count * LONG <= p.tile && v + 4u <= end {
        return combine_four(entry.at, v - start);
    }
    var results = vec4<R>();
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
#if CONCAT
            // Before the start of b, the difference wraps around, and is out of range.
            let j = i - entry.at.z;
#else
            let j = i;
#endif
            let in_a = i < entry.at.z;
            let in_b = j < entry.at.w;
            var x = V();
            var y = V();
            if in_a {
                x = a_one(entry.at.x + i);
            }
            if in_b {
                y = b_one(entry.at.y + j);
            }
            results[k] = combine(x, y, in_a, in_b);
        }
    }
    return results;
}
#endif

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if WIDE
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = result(v, tile);
    }
#else
    let end = (tile.end + 3u) / 4u;
    if tile.count == 1u {
        // The whole tile is in one element: no search, and two quads in flight at a time.
        let entry = sh_entry[0].at;
        let start = sh_start[0];
        for (var q = tile.start / 4u + lid; q < end; q += 2u * WG) {
            let i = 4u * q - start;
            let j = i + 4u * WG;
            let here = combine_four(entry, i);
            let there = combine_four(entry, j);
            c[q] = packed(here);
            if q + WG < end {
                c[q + WG] = packed(there);
            }
        }
        return;
    }
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = packed(quad(4u * q, tile));
    }
#endif
}
