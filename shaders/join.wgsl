// y[p.begin .. p.end] = x, in units of a word, or of a half for f16. The batches are written to y one after the other.
//
// Bits are copied, four words at a time. The first four words may begin with values of earlier batches, which are
// preserved; the values after the last are arbitrary until the next batch is written.

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x: array<vec4<u32>>;

const WG = 256u;

#include "units"

// The first four words, with the values before p.begin preserved.
fn first_words(q: u32) -> vec4<u32> {
    var words = y[q];
    for (var lane = p.begin % QUAD; lane < QUAD; lane += 1u) {
        let i = lane - p.begin % QUAD;
        if p.begin + i < p.end {
            words = with_unit(words, lane, p.x_base + i);
        }
    }
    return words;
}

#main {
    let quads = (p.end + QUAD - 1u) / QUAD;
    for (var k = lid; k < STREAM_TILE / 4u; k += WG) {
        let q = p.begin / QUAD + group * (STREAM_TILE / 4u) + k;
        if q < quads {
            if q * QUAD < p.begin {
                y[q] = first_words(q);
            } else {
                y[q] = run(p.x_base + q * QUAD - p.begin);
            }
        }
    }
}
