// y = x, value by value, in another type: out-of-range values become the nearest representable value, and NaN becomes
// 0. FROM_…: the type of x.
//
// Four values at a time: y begins at a multiple of four, x at p.x_base, counted in its values. Up to three values after
// the last are slack of y's buffer. Halves are packed two to a word.

#include "converted"

// The bits of value i of x. Nothing is read beyond the last value.
fn bits_of(i: u32) -> u32 {
    let at = p.x_base + min(i, p.total - 1u);
#if FROM_F16
    return bitcast<u32>(unpack2x16float(x[at / 2u] >> (16u * (at % 2u))).x);
#else
    return x[at];
#endif
}

#if I32
#if FROM_U32
fn cast_of(bits: u32) -> u32 {
    return min(bits, 0x7fffffffu);
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
#if U32
#if FROM_I32
fn cast_of(bits: u32) -> u32 {
    return select(bits, 0u, bits >= 0x80000000u);
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
            let values = vec4(
                cast_of(bits_of(4u * q)),
                cast_of(bits_of(4u * q + 1u)),
                cast_of(bits_of(4u * q + 2u)),
                cast_of(bits_of(4u * q + 3u)),
            );
#if F16
            y[q] = values.xz | (values.yw << vec2(16u));
#else
            y[q] = values;
#endif
        }
    }
}
