// y = x, value by value, in another type: what does not fit is the nearest value that does, and NaN is 0. FROM_…: the
// type of x.
//
// Four values at a time: y begins at a multiple of four, x wherever p.x_base says, counted in its values. The values
// beyond the last, up to three, are slack of y's buffer. Halves lie two to a word.

#include "converted"

// The bits of value i of x; behind the last there is nothing to read.
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

// What is not infinite has few enough digits for an f32, so that it is rounded once.
fn cast_of(bits: u32) -> u32 {
#if FROM_I32
    return rounded(bitcast<u32>(f32(bitcast<i32>(bits))));
#else
    return rounded(bitcast<u32>(f32(bits)));
#endif
}
#endif

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
    // A batch of no values has no workgroup.
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
