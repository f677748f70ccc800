// y = residual + f(scale · y + bias), applied to the complete sums that a block-sparse product left in y.
//
// Four values at a time. `list` holds for each non-empty product (offset in y, columns of the result, offset of the
// bias, 0). With HALVES, bias and residual are f16, and their offsets count halves. With ROUNDED, the sums come from
// `sums`, and y is f16.
//
// Up to three values after the last are slack of the buffers of y and of the sums.

#params scale: f32
#if ROUNDED
@group(0) @binding(1) var<storage, read_write> y: array<vec2<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> y: array<vec4<E>>;
#endif
@group(0) @binding(2) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> bias: array<u32>;
@group(0) @binding(4) var<storage, read> residual: array<u32>;
@group(0) @binding(5) var<storage, read> sums: array<vec4<E>>;

const WG = 256u;
const QUADS = STREAM_TILE / (4u * WG);

#include "gelu"
#if HALVES
#include "half_load"

fn bias_value(i: u32) -> E {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> E {
    return half_of(residual[i / 2u], i);
}
#else
fn bias_value(i: u32) -> E {
    return bitcast<f32>(bias[i]);
}

fn residual_value(i: u32) -> E {
    return bitcast<f32>(residual[i]);
}
#endif

#if ROUNDED
#include "rounded"

fn sums_of(q: u32) -> vec4<E> {
    return sums[q];
}

fn store(q: u32, values: vec4<E>) {
    let bits = bitcast<vec4<u32>>(values);
    y[q] = vec2(
        rounded(bits.x) | (rounded(bits.y) << 16u),
        rounded(bits.z) | (rounded(bits.w) << 16u),
    );
}
#else
fn sums_of(q: u32) -> vec4<E> {
    return y[q];
}

fn store(q: u32, values: vec4<E>) {
    y[q] = values;
}
#endif

// The last product that begins at or before this value.
fn product_of(value: u32) -> u32 {
    var low = 0u;
    var high = p.products;
    while low + 1u < high {
        let middle = (low + high) / 2u;
        if list[middle].x <= value {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

fn finished(at: u32, place: vec4<u32>, sum: E) -> E {
    var value = sum;
    if (p.epilogue & SCALE) != 0u {
        value *= p.scale;
    }
    if (p.epilogue & BIAS) != 0u {
        value += bias_value(p.bias_base + place.z + (at - place.x) % place.y);
    }
    if (p.epilogue & RELU) != 0u {
        // Not max, which may lose a NaN.
        value = select(value, 0.0, value < 0.0);
    }
    if (p.epilogue & GELU) != 0u {
        value = gelu(value);
    }
    if (p.epilogue & RESIDUAL) != 0u {
        value += residual_value(p.residual_base + at);
    }
    return value;
}

#main {
    let quads = (p.total + 3u) / 4u;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = group * (STREAM_TILE / 4u) + k * WG + lid;
        if q >= quads {
            return;
        }
        var product = product_of(4u * q);
        var values = sums_of(q);
        for (var i = 0u; i < 4u; i += 1u) {
            let at = 4u * q + i;
            if at < p.total {
                if product + 1u < p.products && list[product + 1u].x <= at {
                    product += 1u;
                }
                values[i] = finished(at, list[product], values[i]);
            }
        }
        store(q, values);
    }
}
