// c[r] = x[index[r]] along the first axis, for every pair of an element and a list: rows in any order, zeros for rows
// that do not exist. ELEMENTS: c[e] = x[list[e]], whole elements, each treated as a single row.
//
// Bits are copied unchanged. Sizes count units: a unit is a word, of which complex values have two (DOUBLE), a half for
// f16, or a byte for u8. A workgroup makes p.tile consecutive values of c; an invocation makes four words at a time,
// and c begins and ends at a multiple of these. The row width of a pair follows from its element of c.
//
// p.total counts values of c, and p.x_base units.

#params
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
#if ELEMENTS
@group(0) @binding(5) var<storage, read> list: array<u32>;
#else
@group(0) @binding(5) var<storage, read> index: array<u32>;
@group(0) @binding(6) var<storage, read> index_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;
#endif

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;
// Units per value.
#if DOUBLE
const VALUE = 2u;
#else
const VALUE = 1u;
#endif

struct Entry {
    // Offset of the element in x, its rows, units per row, offset of the list.
    at: vec4<u32>,
}

#if !ELEMENTS
#include "pairs"
#endif
#include "search"
#include "units"

fn entry_of(e: u32) -> Entry {
#if ELEMENTS
    let start = x_meta[list[e]];
    return Entry(vec4(p.x_base + start * VALUE, 1u, (x_meta[list[e] + 1u] - start) * VALUE, 0u));
#else
    let pair = pair_of(e);
    let x_start = x_meta[pair.x];
    let list = index_meta[pair.y];
    // Empty elements of c are never looked up; only their divisions must be defined.
    let rows = max(index_meta[pair.y + 1u] - list, 1u);
    let width = max((c_meta[e + 1u] - c_meta[e]) / rows, 1u);
    return Entry(vec4(
        p.x_base + x_start * VALUE,
        (x_meta[pair.x + 1u] - x_start) / width,
        width * VALUE,
        list,
    ));
#endif
}

#include "tables"

// Four words of c from unit u on.
fn quad(u: u32, tile: Tile) -> vec4<u32> {
    var e = place_in_tile(u / VALUE, tile);
    var start = start_in_tile(e, tile) * VALUE;
    var entry = entry_in_tile(e, tile).at;
#if ELEMENTS
    var k = u - start;
    if k + QUAD <= entry.z {
        return run(entry.x + k);
    }
#else
    var row = (u - start) / entry.z;
    var k = u - start - row * entry.z;
    if k + QUAD <= entry.z {
        let source = index[entry.w + row];
        if source >= entry.y {
            return vec4<u32>();
        }
        return run(entry.x + source * entry.z + k);
    }
#endif
    var end = start_in_tile(e + 1u, tile) * VALUE;
    var words = vec4<u32>();
    for (var lane = 0u; lane < QUAD; lane += 1u) {
        if u + lane < p.total * VALUE {
            while u + lane >= end {
                e += 1u;
                end = start_in_tile(e + 1u, tile) * VALUE;
                entry = entry_in_tile(e, tile).at;
                k = 0u;
#if !ELEMENTS
                row = 0u;
#endif
            }
#if ELEMENTS
            words = with_unit(words, lane, entry.x + k);
            k += 1u;
#else
            let source = index[entry.w + row];
            if source < entry.y {
                words = with_unit(words, lane, entry.x + source * entry.z + k);
            }
            k += 1u;
            if k == entry.z {
                row += 1u;
                k = 0u;
            }
#endif
        }
    }
    return words;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end * VALUE + QUAD - 1u) / QUAD;
    // Two quads in flight at a time.
    for (var q = tile.start * VALUE / QUAD + lid; q < end; q += 2u * WG) {
        let first = quad(q * QUAD, tile);
        if q + WG < end {
            let second = quad((q + WG) * QUAD, tile);
            c[q + WG] = second;
        }
        c[q] = first;
    }
}
