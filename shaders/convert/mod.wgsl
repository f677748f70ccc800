// y = x, value by value, in the other type: F16 rounds f32 to the nearest f16, ties to even; F32 widens f16, which is
// exact.
//
// Halves are packed two to a word, the first in the low bits. Four values at a time: y begins at a multiple of four, x
// at p.x_base, counted in its values. Up to three values after the last are slack of y's buffer.
//
// Uses integers only: WGSL leaves the rounding of pack2x16float open, and allows subnormal numbers to be flushed.

#include "converted"

// A word of x or of its slack.
fn word(at: u32) -> u32 {
    return x[min(at, arrayLength(&x) - 1u)];
}

#if F16
#include "rounded"

fn quad(at: u32) -> vec2<u32> {
    return vec2(
        rounded(word(at)) | (rounded(word(at + 1u)) << 16u),
        rounded(word(at + 2u)) | (rounded(word(at + 3u)) << 16u),
    );
}
#else
// The f32 equal to an f16, both as bits.
fn widened(half: u32) -> u32 {
    let sign = (half & 0x8000u) << 16u;
    let size = half & 0x7FFFu;
    if size >= 0x7C00u {
        // NaN is made quiet.
        return sign | 0x7F800000u | select(0u, 0x400000u | ((size & 0x3FFu) << 13u), size > 0x7C00u);
    }
    if size < 0x400u {
        return sign | bitcast<u32>(f32(size) * 0x1p-24f);
    }
    return sign | ((size << 13u) + (112u << 23u));
}

fn quad(at: u32) -> vec4<u32> {
    let first = at / 2u;
    var words = vec2(word(first), word(first + 1u));
    if at % 2u != 0u {
        words = (words >> vec2(16u)) | (vec2(words.y, word(first + 2u)) << vec2(16u));
    }
    return vec4(
        widened(words.x & 0xFFFFu),
        widened(words.x >> 16u),
        widened(words.y & 0xFFFFu),
        widened(words.y >> 16u),
    );
}
#endif

#main {
    let quads = (p.total + 3u) / 4u;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = group * (STREAM_TILE / 4u) + k * WG + lid;
        if q < quads {
            y[q] = quad(p.x_base + 4u * q);
        }
    }
}
