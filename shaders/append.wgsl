// Appends rows to keys and values, after the rows that each element has already, in place.
//
// items: for each element, its first new row, their number, its first reserved row, and their number; then tiles
// (element, first new row). A workgroup copies the rows of one tile. Rows of f16 are whole words in the reserved
// memory, but may begin at any half in the operands.

#params
#for x at in k 1, v 2, counts 3, items 4
@group(0) @binding($(at)) var<storage, read> $(x): array<u32>;
#endfor
#for x at in keys 5, values 6, grown 7
@group(0) @binding($(at)) var<storage, read_write> $(x): array<u32>;
#endfor

const WG = 256u;

#for x in k, v
fn $(x)_word(at: u32) -> u32 {
#if F16
    let first = $(x)[at / 2u] >> (16u * (at % 2u));
    let second = $(x)[(at + 1u) / 2u] >> (16u * ((at + 1u) % 2u));
    return (first & 0xffffu) | (second << 16u);
#else
    return $(x)[at];
#endif
}
#endfor

#main {
    let element = items[p.tiles + 2u * group];
    let first = items[p.tiles + 2u * group + 1u];
    let at = 4u * element;
    let rows = items[at + 1u];
    let room = items[at + 3u];
    let length = counts[p.counts_base + element];
    if first == 0u && lid == 0u {
        grown[element] = length + rows;
    }
    // The host has checked that all rows fit. The bound still ensures that no other element is ever overwritten.
    let last = min(min(first + p.tile, rows), room - min(length, room));
    let copied = max(first, last) - first;
    let source = items[at] + first;
    let place = items[at + 2u] + length + first;
#for x kept in k keys, v values
    for (var i = lid; i < copied * p.$(x)_words; i += WG) {
        $(kept)[place * p.$(x)_words + i] = $(x)_word(p.$(x)_base + (source * p.$(x)_words + i) * p.units);
    }
#endfor
}
