// Values shorter than a word: a word has two halves of f16, or four bytes of u8. UNITS is 1 for other types.
//
// Defines: also the block `put_words`.
#if F16
const UNITS = 2u;
#else
#if U8
const UNITS = 4u;
#else
const UNITS = 1u;
#endif
#endif
const BITS = 32u / UNITS;
const MASK = 0xFFFFFFFFu >> (32u - BITS);

// Value i, from the word that contains it.
fn unit_of(word: u32, i: u32) -> u32 {
#if U32
    return word;
#else
    return (word >> (BITS * (i % UNITS))) & MASK;
#endif
}

// `word`, with this value in the place of value i.
fn replaced(word: u32, i: u32, value: u32) -> u32 {
    let shift = BITS * (i % UNITS);
    return (word & ~(MASK << shift)) | (value << shift);
}

#block put_words tile
// Writes the values of a tile of c. value_in(i, e, tile) is value i of the element at place e in the tile. An
// invocation makes a word at a time, and searches only for the element of its first value.
for (var w = $(tile).start / UNITS + lid; w * UNITS < $(tile).end; w += WG) {
    let first = w * UNITS;
    var e = place_in_tile(first, $(tile));
    var start = start_in_tile(e, $(tile));
    var word = value_in(first - start, e, $(tile));
#if !C32
#if !U32
    for (var k = 1u; k < min(UNITS, $(tile).end - first); k += 1u) {
        if first + k >= start_in_tile(e + 1u, $(tile)) {
            e = place_in_tile(first + k, $(tile));
            start = start_in_tile(e, $(tile));
        }
        word |= value_in(first + k - start, e, $(tile)) << (BITS * k);
    }
#endif
#endif
    c[w] = word;
}
#endblock
