// y = f(x), value by value: SCALE s·x, NEG −x (U32: of a float, by flipping its sign bit), COPY x, FILL s, of one or
// two words.
//
// Four values at a time: y begins at a multiple of four, x at p.x_base. Up to three values after the last are slack of
// y's buffer. Halves lie two to a word, are multiplied in f32 and rounded once, and p.x_base counts them. Bytes lie
// four to a word.

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec4<E>>;
#if !FILL
@group(0) @binding(2) var<storage, read> x: array<vec4<E>>;
#endif

const WG = 256u;
// Quads per invocation, all loaded before any is stored.
const QUADS = STREAM_TILE / (4u * WG);

#if !FILL
#include "packed"
#include "shifted"

fn words_from(base: u32, q: u32) -> vec4<E> {
    // The word after the last half or byte may be beyond the last quad; it is not used then.
    let at = min(q + base / 4u, arrayLength(&x) - 1u);
    let shift = base % 4u;
    if shift == 0u {
        return x[at];
    }
    return shifted(x[at], x[min(at + 1u, arrayLength(&x) - 1u)], shift);
}

#if F32
fn x_quad(q: u32) -> vec4<E> {
    return words_from(p.x_base, q);
}
#else
fn x_quad(q: u32) -> vec4<E> {
    let quad = words_from(p.x_base / UNITS, q);
    let shift = BITS * (p.x_base % UNITS);
    if shift == 0u {
        return quad;
    }
    let after = words_from(p.x_base / UNITS + 1u, q);
    return (quad >> vec4(shift)) | (after << vec4(32u - shift));
}
#endif
#endif

#if F16
#if SCALE
#include "half_round"

fn scaled(word: u32) -> u32 {
    let two = bitcast<f32>(p.scalar) * unpack2x16float(word);
    return half_bits(two.x) | (half_bits(two.y) << 16u);
}
#endif
#endif

#main {
#if !FILL
    let s = bitcast<E>(p.scalar);
#endif
    let quads = (p.total + 3u) / 4u;
    let first = group * (STREAM_TILE / 4u) + lid;
    var values: array<vec4<E>, QUADS>;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
#if SCALE
#if F16
            let words = x_quad(q);
            values[k] = vec4(scaled(words.x), scaled(words.y), scaled(words.z), scaled(words.w));
#else
            values[k] = s * x_quad(q);
#endif
#endif
#if NEG
#if F16
            values[k] = x_quad(q) ^ vec4(0x80008000u);
#else
#if U32
            values[k] = x_quad(q) ^ vec4(0x80000000u);
#else
            values[k] = -x_quad(q);
#endif
#endif
#endif
#if COPY
            values[k] = x_quad(q);
#endif
#if FILL
            values[k] = vec4(p.scalar, p.second, p.scalar, p.second);
#endif
        }
    }
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
            y[q] = values[k];
        }
    }
}
