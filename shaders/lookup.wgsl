// c[i] = table[index[i]], or zero if the table has no such value. EACH: every element has a table of its own. BYTES:
// indices are bytes.
//
// Bits are copied unchanged. With EACH, tiles and tables as in ambient/mod.wgsl. An invocation makes one value at a
// time, or a word of two halves or four bytes.

#if C32
alias Value = vec2<u32>;
#else
alias Value = u32;
#endif

#params
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<Value>;
@group(0) @binding(3) var<storage, read_write> c: array<Value>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
@group(0) @binding(5) var<storage, read> table_meta: array<u32>;

const WG = 256u;

struct Entry {
    // Offset and length of a table.
    begin: u32,
    count: u32,
}

#include "packed"
#if BYTES
#include "bytes"
#endif
#if EACH
// Elements that fit in the tables.
const SPAN = 256u;

#include "search"
#endif

fn entry_of(e: u32) -> Entry {
    return Entry(table_meta[e], table_meta[e + 1u] - table_meta[e]);
}

#if EACH
#include "tables"
#endif

fn index_of(v: u32) -> u32 {
    let at = p.index_base + v;
#if BYTES
    return byte_of(index[at / 4u], at);
#else
    return index[at];
#endif
}

// Value v of c, if its element has this table.
fn looked_up(v: u32, entry: Entry) -> Value {
    let i = index_of(v);
    if i >= entry.count {
        return Value();
    }
#if C32
    return table[p.table_base / 2u + entry.begin + i];
#else
    let at = p.table_base + entry.begin + i;
    return unit_of(table[at / UNITS], at);
#endif
}

#if EACH
// Value i of an element of c.
fn value_in(i: u32, e: u32, tile: Tile) -> Value {
    return looked_up(start_in_tile(e, tile) + i, entry_in_tile(e, tile));
}
#endif

#main {
    let first = group * p.tile;
    let end = min((group + 1u) * p.tile, p.total);
#if EACH
    let tile = tile_of(first, end, lid);
#use put_words tile
#else
    let entry = entry_of(0u);
    for (var w = first / UNITS + lid; w * UNITS < end; w += WG) {
        var word = looked_up(w * UNITS, entry);
#if !C32
        for (var k = 1u; k < min(UNITS, end - w * UNITS); k += 1u) {
            word |= looked_up(w * UNITS + k, entry) << (BITS * k);
        }
#endif
        c[w] = word;
    }
#endif
}
