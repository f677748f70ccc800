// y = x / ‖x‖₂ for every element; an element of zeros is unchanged.
//
// One workgroup per element. Values are scaled by a power of two to about 1 before they are squared and summed, so that
// the sum neither overflows nor vanishes, whatever the norm.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const WG = 256u;

// The value of these bits times `scale`, even if the device flushes subnormal numbers to zero.
fn scaled(bits: u32, scale: f32) -> f32 {
    if (bits & 0x7f800000u) != 0u {
        return bitcast<f32>(bits) * scale;
    }
    // An integer times 2⁻¹⁴⁹, by factors that are not subnormal themselves.
    let magnitude = f32(bits & 0x7fffffu) * 0x1p-75 * scale * 0x1p-74;
    return select(magnitude, -magnitude, bits > 0x7fffffffu);
}

var<workgroup> sh_bits: array<u32, WG>;
var<workgroup> sh_sum: array<f32, WG>;

#main {
    let start = x_meta[group];
    let end = x_meta[group + 1u];

    // Magnitudes compare like their bits.
    var largest = 0u;
    for (var i = start + lid; i < end; i += WG) {
        largest = max(largest, x[p.x_base + i] & 0x7fffffffu);
    }
    sh_bits[lid] = largest;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half {
            sh_bits[lid] = max(sh_bits[lid], sh_bits[lid + half]);
        }
    }
    // 2^-e for the largest exponent e, clamped to normal numbers.
    let exponent = clamp(workgroupUniformLoad(&sh_bits[0]) >> 23u, 1u, 253u);
    let scale = bitcast<f32>((254u - exponent) << 23u);

    var block = 0.0;
    var all = 0.0;
    var turn = 0u;
    for (var i = start + lid; i < end; i += WG) {
        let v = scaled(x[p.x_base + i], scale);
        block += v * v;
        turn += 1u;
        if turn % 16u == 0u {
            all += block;
            block = 0.0;
        }
    }
    sh_sum[lid] = all + block;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half {
            sh_sum[lid] += sh_sum[lid + half];
        }
    }
    let sum = workgroupUniformLoad(&sh_sum[0]);
    let inverse = select(1.0 / sqrt(sum), 0.0, sum == 0.0);
    for (var i = start + lid; i < end; i += WG) {
        y[i] = scaled(x[p.x_base + i], scale) * inverse;
    }
}
