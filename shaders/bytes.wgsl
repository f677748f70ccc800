// Unpacks the bytes in the words of x, the lowest first, into integers of 32 bits. PACK: the reverse; a value outside
// of 0 to 255 becomes the nearest of these.
//
// Four values at a time. Up to three values after the last are slack of y's buffer; with PACK they are bytes of its
// last word.

#include "converted"

#if PACK
// Value i of x as a byte. Nothing is read beyond the last value.
fn byte_of(i: u32) -> u32 {
    let value = x[p.x_base + min(i, p.total - 1u)];
#if I32
    return u32(clamp(bitcast<i32>(value), 0, 255));
#else
    return min(value, 255u);
#endif
}
#endif

#main {
    // An empty batch has no workgroups.
    let quads = (p.total - 1u) / 4u + 1u;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = group * (STREAM_TILE / 4u) + k * WG + lid;
        if q < quads {
#if PACK
            var word = 0u;
            for (var b = 0u; b < 4u; b += 1u) {
                word |= byte_of(4u * q + b) << (8u * b);
            }
            y[q] = word;
#else
            y[q] = (vec4(x[p.x_base + q]) >> vec4(0u, 8u, 16u, 24u)) & vec4(255u);
#endif
        }
    }
}
