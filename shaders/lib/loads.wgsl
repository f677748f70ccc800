// For each operand: the type of its binding; `a_one`, which loads one value; and `a_four`, which loads four consecutive
// ones. Places count values. For results: the type of their binding, and `packed`, which converts four of them to it.
//
// WIDE: results are complex, and made one by one, so there is only `a_one`.
//
// Halves lie two to a word and bytes four, and are loaded by words, halves as values or as their bits; all else by
// quads.
//
// Uses: E, V and R of "combine", the bindings, and the row's texts.
#if U8
#include "bytes"
#endif
#if WIDE
#for x X how stored computed in $(OPERANDS)
alias $(X) = E;
fn $(x)_one(at: u32) -> V {
    return $(x)[at];
}
#endfor
alias C = R;
#else
#for x X how stored computed in $(OPERANDS)
#if $(how) == words
alias $(X) = vec4<$(stored)>;
fn $(x)_one(at: u32) -> $(stored) {
    return $(x)[at / 4u][at % 4u];
}
fn $(x)_four(at: u32) -> vec4<$(stored)> {
    let low = $(x)[at / 4u];
    if at % 4u == 0u {
        return low;
    }
    let high = $(x)[min(at / 4u + 1u, arrayLength(&$(x)) - 1u)];
    switch at % 4u {
        case 1u: { return vec4(low.yzw, high.x); }
        case 2u: { return vec4(low.zw, high.xy); }
        default: { return vec4(low.w, high.xyz); }
    }
}
#else
#if $(how) == bytes
alias $(X) = u32;
fn $(x)_one(at: u32) -> V {
    return byte_of($(x)[at / 4u], at);
}
fn $(x)_four(at: u32) -> vec4<V> {
    let low = $(x)[at / 4u];
    let high = $(x)[min(at / 4u + 1u, arrayLength(&$(x)) - 1u)];
    return bytes_of(word_from(low, high, at));
}
#else
alias $(X) = u32;
fn $(x)_one(at: u32) -> V {
    let half = ($(x)[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
#if $(how) == bits
    return half;
#else
    return unpack2x16float(half).x;
#endif
}
fn $(x)_four(at: u32) -> vec4<V> {
    let last = arrayLength(&$(x)) - 1u;
    let first = at / 2u;
    var words = vec2($(x)[first], $(x)[min(first + 1u, last)]);
    if at % 2u != 0u {
        let next = $(x)[min(first + 2u, last)];
        words = (words >> vec2(16u)) | (vec2(words.y, next) << vec2(16u));
    }
#if $(how) == bits
    return vec4(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u);
#else
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
#endif
}
#endif
#endif
#endfor
#if $(PACKED) == words
alias C = vec4<R>;
fn packed(r: vec4<R>) -> C {
    return r;
}
#else
#if $(PACKED) == bytes
alias C = u32;
fn packed(r: vec4<R>) -> C {
    return word_of(r);
}
#else
#if $(PACKED) == halves
#include "half_round"
#endif
alias C = vec2<u32>;
fn packed(r: vec4<R>) -> C {
#if $(PACKED) == halves
    return vec2(half_bits(r.x) | (half_bits(r.y) << 16u), half_bits(r.z) | (half_bits(r.w) << 16u));
#else
    return vec2(r.x | (r.y << 16u), r.z | (r.w << 16u));
#endif
}
#endif
#endif
#endif
