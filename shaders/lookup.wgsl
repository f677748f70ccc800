// c[i] = table[index[i]], or zero if the table has no such value. EACH: every element has a table of its own.
//
// Bits are copied unchanged. With EACH, tiles and tables as in ambient.wgsl. An invocation makes one value at a time,
// or a word of two halves.

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

// Value v of c, if its element has this table.
fn looked_up(v: u32, entry: Entry) -> Value {
    let i = index[p.index_base + v];
    if i >= entry.count {
        return Value();
    }
#if F16
    let at = p.table_base + entry.begin + i;
    return (table[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
#else
#if C32
    return table[p.table_base / 2u + entry.begin + i];
#else
    return table[p.table_base + entry.begin + i];
#endif
#endif
}

#main {
    let first = group * p.tile;
    let end = min((group + 1u) * p.tile, p.total);
#if EACH
    let tile = tile_of(first, end, lid);
#else
    let entry = entry_of(0u);
#endif
#if F16
    for (var w = first / 2u + lid; 2u * w < end; w += WG) {
        var word = 0u;
        for (var k = 0u; k < min(2u, end - 2u * w); k += 1u) {
            let v = 2u * w + k;
#if EACH
            let entry = entry_in_tile(place_in_tile(v, tile), tile);
#endif
            word |= looked_up(v, entry) << (16u * k);
        }
        c[w] = word;
    }
#else
    for (var v = first + lid; v < end; v += WG) {
#if EACH
        let entry = entry_in_tile(place_in_tile(v, tile), tile);
#endif
        c[v] = looked_up(v, entry);
    }
#endif
}
