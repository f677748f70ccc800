// y = f(x), value by value: `value` is a row of the table in src/ops/maps, or, with OWN, an expression of the
// application. f16 is packed two to a word and computed in f32.
//
// Four words at a time: y begins at a multiple of four, x at p.x_base, counted in values. The values after the last, in
// its quad, are slack of y's buffer.

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> x: array<vec4<E>>;

#if F16
// The type used in computations.
alias V = f32;
const PER_WORD = 2u;
#else
alias V = E;
const PER_WORD = 1u;
#endif
const WG = 256u;
// Quads per invocation, all loaded before any is stored.
const QUADS = STREAM_TILE / (4u * WG);

#include "shifted"
#if !I32
#if !U32
#include "nan"
#include "ends"
#endif
#endif
#for file in $(FILES)
#include "$(file)"
#endfor
#if OWN
#generate "own"
#endif
fn value(x: V, s: V, t: V) -> V {
    return $(VALUE);
}

// Words from word `base` on. Nothing is read beyond the last quad that has a value.
fn words_from(base: u32, q: u32) -> vec4<E> {
    let last = (p.x_base + p.values - 1u) / (4u * PER_WORD);
    let at = q + base / 4u;
    let shift = base % 4u;
    let low = x[min(at, last)];
    if shift == 0u {
        return low;
    }
    return shifted(low, x[min(at + 1u, last)], shift);
}

#if F16
#include "half_round"

fn quad(q: u32) -> vec4<E> {
    let words = words_from(p.x_base / 2u, q);
    if p.x_base % 2u == 0u {
        return words;
    }
    return (words >> vec4(16u)) | (words_from(p.x_base / 2u + 1u, q) << vec4(16u));
}

fn both(halves: u32, s: V, t: V) -> u32 {
    let two = unpack2x16float(halves);
    return half_bits(value(two.x, s, t)) | (half_bits(value(two.y, s, t)) << 16u);
}

fn mapped(v: vec4<E>, s: V, t: V) -> vec4<E> {
    return vec4(both(v.x, s, t), both(v.y, s, t), both(v.z, s, t), both(v.w, s, t));
}
#else
fn quad(q: u32) -> vec4<E> {
    return words_from(p.x_base, q);
}

fn mapped(v: vec4<E>, s: V, t: V) -> vec4<E> {
    return vec4(value(v.x, s, t), value(v.y, s, t), value(v.z, s, t), value(v.w, s, t));
}
#endif

#main {
    let s = bitcast<V>(p.s);
    let t = bitcast<V>(p.t);
    // An empty batch has no workgroups.
    let quads = (p.values - 1u) / (4u * PER_WORD) + 1u;
    let first = group * (STREAM_TILE / 4u) + lid;
    var values: array<vec4<E>, QUADS>;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
            values[k] = quad(q);
        }
    }
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
            y[q] = mapped(values[k], s, t);
        }
    }
}
