// Copies values by indices on the device: value i of each line of c is value index[i] of the same line of x, or zero if
// that line is shorter. PLACES: where in the batch x that value is, or NONE. PUT: value i of each line of x becomes
// value index[i] of the same line of c, unless that line is shorter; c must be zero before. ONE: the same for at most
// one value of each line of x; all of c is written.
//
// A line is the values of an element along axis p.axis, or the whole element if p.rank is 0. The indices have the
// layout c_meta, and so has the side whose values are in their order: c, or x for PUT. The other side has line_meta.
// For ONE it is the other way round: c has c_meta, and x and the indices have line_meta. Tiles and tables as in
// ambient/mod.wgsl; an invocation copies one value at a time, or makes a word of two halves or four bytes.

#if C32
alias Value = vec2<u32>;
#else
alias Value = u32;
#endif

#params
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read> index: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<Value>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
@group(0) @binding(5) var<storage, read> line_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

struct Entry {
    // The offset of the element of line_meta, the values of its lines, those of lines of c_meta, and the distance of
    // neighbours in a line.
    at: vec4<u32>,
}

#include "packed"
#include "search"

fn entry_of(e: u32) -> Entry {
    let begin = line_meta[e];
    if p.rank == 0u {
        return Entry(vec4(begin, line_meta[e + 1u] - begin, c_meta[e + 1u] - c_meta[e], 1u));
    }
    let extents = p.elements + 1u + e * p.rank;
    var step = 1u;
    for (var axis = p.axis + 1u; axis < p.rank; axis += 1u) {
        step *= c_meta[extents + axis];
    }
    return Entry(vec4(begin, line_meta[extents + p.axis], c_meta[extents + p.axis], step));
}

#include "tables"

#if !ONE
// No place.
const NONE = 0xFFFFFFFFu;

// The place in the batch of the value that index v refers to, where the indices of the element begin at `start`.
fn place_of(v: u32, start: u32, entry: vec4<u32>) -> u32 {
    let before = (v - start) / entry.w;
    let i = index[p.index_base + v];
    let at = entry.x + (before / entry.z * entry.y + i) * entry.w + v - start - before * entry.w;
    return select(NONE, at, i < entry.y);
}

#if !PUT
// Value i of an element of c.
fn value_in(i: u32, e: u32, tile: Tile) -> Value {
    let start = start_in_tile(e, tile);
    let at = place_of(start + i, start, entry_in_tile(e, tile).at);
#if PLACES
    return at;
#else
    if at == NONE {
        return Value();
    }
#if C32
    return x[p.x_base / 2u + at];
#else
    return unit_of(x[(p.x_base + at) / UNITS], p.x_base + at);
#endif
#endif
}
#endif
#endif

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if ONE
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        let entry = entry_in_tile(e, tile).at;
        // Without a division by the number of indices, which may be 0.
        let before = (v - start_in_tile(e, tile)) / entry.w;
        let outer = before / entry.z;
        let line = entry.x + outer * entry.w + v - start_in_tile(e, tile) - before * entry.w;
        var one = 0u;
        if entry.y != 0u {
            if index[p.index_base + line] == before - outer * entry.z {
                one = x[p.x_base + line];
            }
        }
        c[v] = one;
    }
#else
#if PUT
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        let at = place_of(v, start_in_tile(e, tile), entry_in_tile(e, tile).at);
        if at != NONE {
            c[at] = x[p.x_base + v];
        }
    }
#else
    #use put_words tile
#endif
#endif
}
