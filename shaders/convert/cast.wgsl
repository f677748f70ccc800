// y = x, value by value, in another type: out-of-range values become the nearest representable value, and NaN becomes
// 0. FROM_…: the type of x.
//
// Four values at a time: y begins at a multiple of four, x at p.x_base, counted in its values. Up to three values after
// the last are slack of y's buffer. Halves are packed two to a word, bytes four.

#include "converted"

#if FROM_U8
#include "bytes"

// Values 4 q to 4 q + 3 of x. Nothing is read beyond the word of the last value.
fn quad_of_x(q: u32) -> vec4<u32> {
    let at = p.x_base + 4u * q;
    let low = x[at / 4u];
    let high = x[min(at / 4u + 1u, (p.x_base + p.total - 1u) / 4u)];
    return bytes_of(word_from(low, high, at));
}
#else
// The bits of value i of x. Nothing is read beyond the last value.
fn bits_of(i: u32) -> u32 {
    let at = p.x_base + min(i, p.total - 1u);
#if FROM_F16
    return bitcast<u32>(unpack2x16float(x[at / 2u] >> (16u * (at % 2u))).x);
#else
    return x[at];
#endif
}

fn quad_of_x(q: u32) -> vec4<u32> {
    return vec4(bits_of(4u * q), bits_of(4u * q + 1u), bits_of(4u * q + 2u), bits_of(4u * q + 3u));
}
#endif

#if I32
#if FROM_U32
fn cast_of(bits: u32) -> u32 {
    return min(bits, 0x7fffffffu);
}
#else
#if FROM_U8
fn cast_of(bits: u32) -> u32 {
    return bits;
}
#else
#include "nan"

fn cast_of(bits: u32) -> u32 {
    let value = bitcast<f32>(bits);
    // The largest f32 below 2³¹.
    let inside = bitcast<u32>(i32(clamp(value, -2147483648.0, 2147483520.0)));
    return select(select(inside, 0x7fffffffu, value >= 2147483648.0), 0u, is_nan(value));
}
#endif
#endif
#endif
#if U32
#if FROM_I32
fn cast_of(bits: u32) -> u32 {
    return select(bits, 0u, bits >= 0x80000000u);
}
#else
#if FROM_U8
fn cast_of(bits: u32) -> u32 {
    return bits;
}
#else
#include "nan"

fn cast_of(bits: u32) -> u32 {
    let value = bitcast<f32>(bits);
    // The largest f32 below 2³².
    let inside = u32(clamp(value, 0.0, 4294967040.0));
    return select(select(inside, 0xffffffffu, value >= 4294967296.0), 0u, is_nan(value));
}
#endif
#endif
#endif
#if U8
#include "bytes"

#if FROM_U32
fn cast_of(bits: u32) -> u32 {
    return min(bits, 255u);
}
#else
#if FROM_I32
fn cast_of(bits: u32) -> u32 {
    return u32(clamp(bitcast<i32>(bits), 0, 255));
}
#else
#include "nan"

fn cast_of(bits: u32) -> u32 {
    let value = bitcast<f32>(bits);
    return select(u32(clamp(value, 0.0, 255.0)), 0u, is_nan(value));
}
#endif
#endif
#endif
#if F32
fn cast_of(bits: u32) -> u32 {
#if FROM_I32
    return bitcast<u32>(f32(bitcast<i32>(bits)));
#else
    return bitcast<u32>(f32(bits));
#endif
}
#endif
#if F16
#include "rounded"

// An integer whose f16 is finite is exact in f32, so it is rounded only once.
fn cast_of(bits: u32) -> u32 {
#if FROM_I32
    return rounded(bitcast<u32>(f32(bitcast<i32>(bits))));
#else
    return rounded(bitcast<u32>(f32(bits)));
#endif
}
#endif

#main {
    // An empty batch has no workgroups.
    let quads = (p.total - 1u) / 4u + 1u;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = group * (STREAM_TILE / 4u) + k * WG + lid;
        if q < quads {
            let bits = quad_of_x(q);
            let values = vec4(cast_of(bits.x), cast_of(bits.y), cast_of(bits.z), cast_of(bits.w));
#if F16
            y[q] = values.xz | (values.yw << vec2(16u));
#else
#if U8
            y[q] = word_of(values);
#else
            y[q] = values;
#endif
#endif
        }
    }
}
