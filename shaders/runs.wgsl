// At the first of each run of equal values of a sorted vector: the length of the run if p.lengths is 1, otherwise 1. At
// all other values: p.others. Values are compared by their bits. Tiles and tables as in ambient/mod.wgsl; an invocation
// makes one value at a time.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<u32>;
@group(0) @binding(3) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

struct Entry {
    end: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    return Entry(c_meta[e + 1u]);
}

#include "tables"

// The number of values from index v on, before `end`, that equal value v. Equal values are neighbours.
fn length_at(v: u32, end: u32) -> u32 {
    let value = x[p.x_base + v];
    // Value v + near is equal; v + far is not, or is beyond the end.
    var near = 0u;
    var far = 1u;
    while far < end - v {
        if x[p.x_base + v + far] != value {
            break;
        }
        near = far;
        far *= 2u;
    }
    far = min(far, end - v);
    while far - near > 1u {
        let middle = (near + far) / 2u;
        if x[p.x_base + v + middle] == value {
            near = middle;
        } else {
            far = middle;
        }
    }
    return far;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        var first = v == start_in_tile(e, tile);
        if !first {
            first = x[p.x_base + v - 1u] != x[p.x_base + v];
        }
        var result = p.others;
        if first {
            result = 1u;
            if p.lengths != 0u {
                result = length_at(v, entry_in_tile(e, tile).end);
            }
        }
        c[v] = result;
    }
}
