// y[p.begin .. p.end6] = x0, x1 … x6, one after the other, in units of a word, a half for f16, or a byte for u8: batch
// k ends at p.end k, where batch k + 1 begins.
//
// Bits are copied, four words at a time, most of which lie in one batch. The first four words may begin with values of
// an earlier dispatch, which are preserved; the values after the last are arbitrary until the next dispatch.

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> x1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> x2: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> x3: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> x4: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> x5: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read> x6: array<vec4<u32>>;

const WG = 256u;
#include "packed"
#include "shifted"

// Units of four words.
const QUAD = 4u * UNITS;

// Four words, and one unit, from unit `at` of a batch on.
#for x in x0, x1, x2, x3, x4, x5, x6
fn $(x)_words(at: u32) -> vec4<u32> {
    let last = arrayLength(&$(x)) - 1u;
    return shifted($(x)[min(at / 4u, last)], $(x)[min(at / 4u + 1u, last)], at % 4u);
}
fn $(x)_run(at: u32) -> vec4<u32> {
    let words = $(x)_words(at / UNITS);
    let shift = BITS * (at % UNITS);
    if shift == 0u {
        return words;
    }
    return (words >> vec4(shift)) | ($(x)_words(at / UNITS + 1u) << vec4(32u - shift));
}
fn $(x)_unit(at: u32) -> u32 {
    return unit_of($(x)[at / QUAD][at / UNITS % 4u], at);
}
#endfor

// `words`, with this unit in place of unit `lane`.
fn with_unit(words: vec4<u32>, lane: u32, unit: u32) -> vec4<u32> {
    var result = words;
    result[lane / UNITS] = replaced(result[lane / UNITS], lane, unit);
    return result;
}

fn quad(q: u32) -> vec4<u32> {
    let at = q * QUAD;
    var words = vec4<u32>();
    var in_one = false;
#for x k begin in x0 0 begin, x1 1 end0, x2 2 end1, x3 3 end2, x4 4 end3, x5 5 end4, x6 6 end5
    if p.$(begin) <= at && at + QUAD <= p.end$(k) {
        words = $(x)_run(p.base$(k) + at - p.$(begin));
        in_one = true;
    }
#endfor
    if in_one {
        return words;
    }
    if at < p.begin {
        words = y[q];
    }
    for (var lane = 0u; lane < QUAD; lane += 1u) {
        let i = at + lane;
#for x k begin in x0 0 begin, x1 1 end0, x2 2 end1, x3 3 end2, x4 4 end3, x5 5 end4, x6 6 end5
        if p.$(begin) <= i && i < p.end$(k) {
            words = with_unit(words, lane, $(x)_unit(p.base$(k) + i - p.$(begin)));
        }
#endfor
    }
    return words;
}

#main {
    let quads = (p.end6 + QUAD - 1u) / QUAD;
    for (var k = lid; k < STREAM_TILE / 4u; k += WG) {
        let q = p.begin / QUAD + group * (STREAM_TILE / 4u) + k;
        if q < quads {
            y[q] = quad(q);
        }
    }
}
