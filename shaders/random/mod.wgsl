// Random values, four from each counter of Philox: UNIFORM in a range, NORMAL, or DROPOUT, which keeps each value of x
// or makes it zero.
//
// Value i of element e uses word i mod 4 of the counter (i / 4, p.element + e, 0, STREAM), wherever the element lies.
// Elements begin anywhere, so that the words of a tile are made counter by counter, each once, in workgroup memory,
// and used four consecutive values at a time. Up to three values after the last are slack of c's buffer. Halves are
// packed two to a word. Tiles and tables as in ambient/mod.wgsl.
//
// p.seed_low and p.seed_high are the key. UNIFORM: floats have keys from p.least to p.most (see `key_of`). DROPOUT:
// values are kept, multiplied by p.scale, if their word is at least p.least.

#params

#if F16
alias C = vec2<u32>;
#else
alias C = vec4<u32>;
#endif

@group(0) @binding(1) var<storage, read_write> c: array<C>;
@group(0) @binding(2) var<storage, read> c_meta: array<u32>;
#if NORMAL
// Coefficients of polynomials: see `deviate`.
@group(0) @binding(3) var<storage, read> quantiles: array<vec4<u32>>;
#endif
#if DROPOUT
@group(0) @binding(3) var<storage, read> x: array<u32>;
#endif

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;
// Values that a workgroup makes together.
const PART = 4u * WG;

var<workgroup> sh_words: array<u32, PART>;

// The kernel needs only an element's start.
struct Entry {
    unused: u32,
}

#include "search"
#include "philox"

fn entry_of(e: u32) -> Entry {
    return Entry(e);
}

#include "tables"

// The words of values [begin, end), whose counters begin at one of the four values from v on.
fn draw(v: u32, begin: u32, end: u32, tile: Tile) {
    let stop = min(v + 4u, end);
    if v < stop {
        var e = place_in_tile(v, tile);
        var start = start_in_tile(e, tile);
        var next = start_in_tile(e + 1u, tile);
        var u = v;
        while u < stop {
            while u >= next {
                e += 1u;
                start = next;
                next = start_in_tile(e + 1u, tile);
            }
            let i = u - start;
            let last = min(min(next, end), u + 4u - i % 4u);
            if i % 4u == 0u || u == begin {
                let words = philox(
                    vec4(i / 4u, p.element + tile.first + e, 0u, STREAM),
                    vec2(p.seed_low, p.seed_high),
                );
                for (var at = u; at < last; at += 1u) {
                    sh_words[at - begin] = words[(i + at - u) % 4u];
                }
            }
            u = last;
        }
    }
}

#if UNIFORM
const STREAM = 0u;
#if U32
// ⌊word · scale / 2³²⌋ above the least.
fn value_of(word: u32) -> u32 {
    return p.offset_low + wide_product(word, p.scale).y;
}
#else
#include "fixed_point"

// Keys have the order of floats. The same function reverses it.
fn key_of(bits: u32) -> u32 {
    return bits ^ select(SIGN, SIGN | (SIGN - 1u), bits >= SIGN);
}

fn bits_of(key: u32) -> u32 {
    return key ^ select(SIGN | (SIGN - 1u), SIGN, key >= SIGN);
}

fn value_of(word: u32) -> u32 {
    return bits_of(clamp(key_of(affine(word, false)), p.least, p.most));
}
#endif
#endif

#if NORMAL
const STREAM = 1u;
#include "fixed_point"

// The quantile of the probability (word | 1) / 2³³ below the mean, in units of 2⁻²⁹ deviations: a cubic polynomial for
// each 32nd part of each power of two. The sign is the last bit of the word.
fn deviate(word: u32) -> u32 {
    let odd = word | 1u;
    let zeros = countLeadingZeros(odd);
    let digits = odd << zeros;
    let row = quantiles[32u * zeros + ((digits >> 26u) & 31u)];
    // The distance from the upper end of the part.
    let t = ~(digits << 6u);
    let first = row.z + wide_product(t, row.w).y;
    let second = row.y + wide_product(t, first).y;
    return row.x + wide_product(t, second).y;
}

fn value_of(word: u32) -> u32 {
    return affine(deviate(word), (word & 1u) == 1u);
}
#endif

#if DROPOUT
const STREAM = 2u;
#if F16
#include "half_round"
#include "half_load"
#endif

// Value v of x, or zero; the bits of c's value.
fn kept(word: u32, v: u32) -> u32 {
    if word < p.least || v >= p.total {
        return 0u;
    }
    let at = p.x_base + v;
#if F16
    return half_bits(half_of(x[at / 2u], at) * bitcast<f32>(p.scale));
#else
    return bitcast<u32>(bitcast<f32>(x[at]) * bitcast<f32>(p.scale));
#endif
}
#endif

#main {
    let start = group * p.tile;
    let end = min((group + 1u) * p.tile, p.total);
    let tile = tile_of(start, end, lid);
    for (var begin = start; begin < end; begin += PART) {
        let v = begin + 4u * lid;
        draw(v, begin, min(begin + PART, end), tile);
        workgroupBarrier();
        if v < end {
            var values: vec4<u32>;
            for (var k = 0u; k < 4u; k += 1u) {
                // Words after the last value are slack.
                let word = sh_words[min(4u * lid + k, end - 1u - begin)];
#if DROPOUT
                values[k] = kept(word, v + k);
#else
                values[k] = value_of(word);
#endif
            }
#if F16
            c[v / 4u] = values.xz | (values.yw << vec2(16u));
#else
            c[v / 4u] = values;
#endif
        }
        workgroupBarrier();
    }
}
