// Runs a chain: instructions over operands of one layout, value by value, in registers. Instructions are words of
// src/ops/chain/registers.rs; the functions are rows of the tables in src/ops/maps and src/ops/ambient, by number. f16
// is packed two to a word, computed in f32 and rounded by each instruction.
//
// p.words has the instructions, then the base of each operand, counted in values, then the scalars.
//
// Four words at a time, QUADS times: results begin at a multiple of four, operands anywhere. The values after the last,
// in its quad, are slack of the results' buffers. TWO: z is the value of the last register.

#params words: array<vec4<u32>, 7>
@group(0) @binding(1) var<storage, read> x0: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> x1: array<vec4<E>>;
@group(0) @binding(3) var<storage, read> x2: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> x3: array<vec4<E>>;
@group(0) @binding(5) var<storage, read> x4: array<vec4<E>>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4<E>>;
#if TWO
@group(0) @binding(7) var<storage, read_write> z: array<vec4<E>>;
#endif

#if F16
const PER_WORD = 2u;
const SIGNS = 0x80008000u;
#else
const PER_WORD = 1u;
const SIGNS = 0x80000000u;
#endif

#include "nan"
#include "ends"
#include "shifted"
#for file in $(FILES)
#include "$(file)"
#endfor
#if F16
#include "half_round"
#endif

// The words of an invocation. They are the bits of values, so that moving them changes nothing.
struct Words {
#for q QUADS
    q$(q): vec4<u32>,
#endfor
}

// The functions, of the values in a word, and of four words.
#for number value in $(MAPS)
fn map_$(number)(x: f32, s: f32, t: f32) -> f32 {
    return $(value);
}
fn word_$(number)(word: u32, s: f32, t: f32) -> u32 {
#if F16
    let x = unpack2x16float(word);
    return half_bits(map_$(number)(x.x, s, t)) | (half_bits(map_$(number)(x.y, s, t)) << 16u);
#else
    return bitcast<u32>(map_$(number)(bitcast<f32>(word), s, t));
#endif
}
fn quad_$(number)(x: vec4<u32>, s: f32, t: f32) -> vec4<u32> {
    return vec4(
        word_$(number)(x.x, s, t), word_$(number)(x.y, s, t), word_$(number)(x.z, s, t), word_$(number)(x.w, s, t),
    );
}
#endfor
#for number value in $(FUNCTIONS)
fn of_two_$(number)(x: f32, y: f32) -> f32 {
    return $(value);
}
fn word_$(number)(word: u32, other: u32) -> u32 {
#if F16
    let x = unpack2x16float(word);
    let y = unpack2x16float(other);
    return half_bits(of_two_$(number)(x.x, y.x)) | (half_bits(of_two_$(number)(x.y, y.y)) << 16u);
#else
    return bitcast<u32>(of_two_$(number)(bitcast<f32>(word), bitcast<f32>(other)));
#endif
}
fn quad_$(number)(x: vec4<u32>, y: vec4<u32>) -> vec4<u32> {
    return vec4(word_$(number)(x.x, y.x), word_$(number)(x.y, y.y), word_$(number)(x.z, y.z), word_$(number)(x.w, y.w));
}
#endfor

// The first quad becomes the last.
fn rotated(x: Words) -> Words {
    return Words(
#for q QUADS - 1
        x.q$(q + 1),
#endfor
        x.q0,
    );
}

fn parameter(i: u32) -> u32 {
    return p.words[i / 4u][i % 4u];
}

fn byte(i: u32) -> u32 {
    return (parameter(i / 4u) >> (8u * (i % 4u))) & 0xffu;
}

// Quads of the operands. Nothing is read beyond the last quad that has a value.
#for x k in x0 0, x1 1, x2 2, x3 3, x4 4
fn $(x)_words(base: u32, last: u32, q: u32) -> vec4<E> {
    let at = q + base / 4u;
    let shift = base % 4u;
    let low = $(x)[min(at, last)];
    if shift == 0u {
        return low;
    }
    return shifted(low, $(x)[min(at + 1u, last)], shift);
}
fn $(x)_quad(q: u32) -> vec4<u32> {
    let base = parameter(STEPS + $(k)u);
    let last = (base + p.total - 1u) / (4u * PER_WORD);
#if F16
    let words = $(x)_words(base / 2u, last, q);
    if base % 2u == 0u {
        return words;
    }
    return (words >> vec4(16u)) | ($(x)_words(base / 2u + 1u, last, q) << vec4(16u));
#else
    return bitcast<vec4<u32>>($(x)_words(base, last, q));
#endif
}
#endfor
#block load x k
#if $(k) < REGISTERS
    if $(k)u < inputs {
#for q QUADS
        r$(k).q$(q) = $(x)_quad(first + $(q)u * WG);
#endfor
    }
#endif
#endblock

#main {
    // An empty batch has no workgroups.
    let quads = (p.total - 1u) / (4u * PER_WORD) + 1u;
    let first = group * (QUADS * WG) + lid;
    let inputs = parameter(0u) & 0xffu;
    // The last result.
    var x: Words;
#for q QUADS
    x.q$(q) = x0_quad(first + $(q)u * WG);
#endfor
#for k REGISTERS
    var r$(k) = x;
#endfor
#use load x1, 1
#use load x2, 2
#use load x3, 3
#use load x4, 4
    // All bits of p.ones are set, which compilers cannot know, so they do not unroll the loops that this bounds.
    let all = p.ones & QUADS;
    let four = p.ones & 4u;
    var s = 0.0;
    var t = 0.0;
    // Where the next scalar is.
    var next = STEPS + inputs;
    for (var i = 1u; i < 4u * STEPS; i += 1u) {
        let step = byte(i);
        if step == 0u {
            break;
        }
        if step - FIRST_OF_TWO < 2u * EXCHANGED {
            i += 1u;
            var other = x;
            switch byte(i) {
#for k REGISTERS
                case $(k + 1)u: { other = r$(k); }
#endfor
                default: {}
            }
            // Hidden from the compiler, which might replace x - x by 0 and x / x by 1, although x may be NaN.
#for q QUADS
            other.q$(q) &= vec4(p.ones);
#endfor
            switch step {
#for number of a b in $(SHORT_FUNCTIONS)
                case $(number)u: {
#for q QUADS
                    x.q$(q) = quad_$(of)($(a).q$(q), $(b).q$(q));
#endfor
                }
#endfor
#for number of a b in $(LONG_FUNCTIONS)
                case $(number)u: {
                    for (var q = 0u; q < all; q += 1u) {
                        for (var w = 0u; w < four; w += 1u) {
                            x.q0 = vec4(x.q0.yzw, word_$(of)($(a).q0.x, $(b).q0.x));
                            other.q0 = other.q0.yzww;
                        }
                        x = rotated(x);
                        other = rotated(other);
                    }
                }
#endfor
                default: {}
            }
        } else {
            switch step {
#for k REGISTERS
                case $(LOAD + k)u: { x = r$(k); }
                case $(KEEP + k)u: { r$(k) = x; }
#endfor
                case NEG: {
#for q QUADS
                    x.q$(q) ^= vec4(SIGNS);
#endfor
                }
#for number scalars in $(SHORT_MAPS)
                case $(number)u: {
#if 0 < $(scalars)
                    s = bitcast<f32>(parameter(next));
#endif
#if 1 < $(scalars)
                    t = bitcast<f32>(parameter(next + 1u));
#endif
#if 0 < $(scalars)
                    next += $(scalars)u;
#endif
#for q QUADS
                    x.q$(q) = quad_$(number)(x.q$(q), s, t);
#endfor
                }
#endfor
#for number scalars in $(LONG_MAPS)
                case $(number)u: {
#if 0 < $(scalars)
                    s = bitcast<f32>(parameter(next));
                    next += 1u;
#endif
                    for (var q = 0u; q < all; q += 1u) {
                        for (var w = 0u; w < four; w += 1u) {
                            x.q0 = vec4(x.q0.yzw, word_$(number)(x.q0.x, s, t));
                        }
                        x = rotated(x);
                    }
                }
#endfor
                default: {}
            }
        }
    }
#for q QUADS
    if first + $(q)u * WG < quads {
        y[first + $(q)u * WG] = bitcast<vec4<E>>(x.q$(q));
#if TWO
        z[first + $(q)u * WG] = bitcast<vec4<E>>(r$(REGISTERS - 1).q$(q));
#endif
    }
#endfor
}
