// The accumulator of a reduction: nothing() is the reduction of no values, combine() joins two parts, result() is the
// word to write, put() writes it for element e, and tree() combines neighbouring invocations.
//
// SUM: x + y. NORM2: [bits of the largest magnitude, sum of the squares of values scaled by its norm_scale]. MAX: the
// largest key. ARGMAX: [largest key, its lowest index]. With LEAST these are the minimum and its index. EQUAL: whether
// anything differs. BOX: along each axis, one more than the largest index of a nonzero value.
#if SUM
alias Acc = E;

fn nothing() -> Acc {
    return E(0);
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x + y;
}

fn result(x: Acc) -> u32 {
    return bitcast<u32>(x);
}
#endif
#if NORM2
alias Acc = vec2<u32>;

fn nothing() -> Acc {
    return Acc(0u, 0u);
}

fn norm_exponent(magnitude: u32) -> u32 {
    return max(magnitude >> 23u, 1u);
}

// The power of two that scales the magnitude to between 2 and 4. It is in range for every exponent.
fn norm_scale(magnitude: u32) -> f32 {
    return bitcast<f32>((255u - norm_exponent(magnitude)) << 23u);
}

fn combine(x: Acc, y: Acc) -> Acc {
    let swap = x.x < y.x;
    let high = select(x, y, swap);
    let low = select(y, x, swap);
    let apart = norm_exponent(high.x) - norm_exponent(low.x);
    // 2^(-2 apart). Below the smallest normal number, nothing of the sum remains.
    let scale = bitcast<f32>(select(0u, (127u - 2u * apart) << 23u, apart <= 63u));
    return Acc(high.x, bitcast<u32>(fma(bitcast<f32>(low.y), scale, bitcast<f32>(high.y))));
}

fn result(x: Acc) -> u32 {
    // The magnitude alone determines infinities and NaN; the sum beside it is then meaningless.
    if x.x > 0x7f800000u {
        return 0x7fc00000u;
    }
    if x.x == 0x7f800000u || x.y == 0u {
        return select(0u, x.x, x.x == 0x7f800000u);
    }
    let root = 0.5 * sqrt(bitcast<f32>(x.y));
    return bitcast<u32>(root * bitcast<f32>(norm_exponent(x.x) << 23u));
}
#endif
#if MAX
#include "order"
alias Acc = u32;

fn nothing() -> Acc {
    return LOWEST_KEY;
}

fn combine(x: Acc, y: Acc) -> Acc {
    return max(x, y);
}

fn result(x: Acc) -> u32 {
    return key_bits(x);
}
#endif
#if ARGMAX
#include "order"
alias Acc = vec2<u32>;

fn nothing() -> Acc {
    return Acc(0u, 0xffffffffu);
}

fn combine(x: Acc, y: Acc) -> Acc {
    return select(x, y, y.x > x.x || (y.x == x.x && y.y < x.y));
}

fn result(x: Acc) -> u32 {
    return x.y;
}
#endif
#if EQUAL
alias Acc = u32;

fn nothing() -> Acc {
    return 0u;
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x | y;
}

fn result(x: Acc) -> u32 {
    return 1u - x;
}
#endif

#if BOX
struct Acc {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn nothing() -> Acc {
    return Acc(vec4<u32>(), vec4<u32>());
}

fn combine(x: Acc, y: Acc) -> Acc {
    return Acc(max(x.low, y.low), max(x.high, y.high));
}

// Binding sizes are checked against 16 bytes, so a part is stored as two values of 16 bytes.
alias Part = vec4<u32>;

fn put(e: u32, x: Acc) {
    var ends = x;
    for (var axis = 0u; axis < p.rank; axis += 1u) {
        out[e * p.rank + axis] = ends.low.x;
        ends = Acc(vec4(ends.low.yzw, ends.high.x), vec4(ends.high.yzw, 0u));
    }
}
#else
alias Part = Acc;

fn put(e: u32, x: Acc) {
    out[e] = result(x);
}
#endif

var<workgroup> sh_acc: array<Acc, WG>;

// Combines each run of `lanes` invocations, a power of two; the first of each run gets the result. Must be called once,
// in workgroup-uniform control flow.
fn tree(acc: Acc, lid: u32, lanes: u32) -> Acc {
    sh_acc[lid] = acc;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid & (lanes - 1u)) < half {
            sh_acc[lid] = combine(sh_acc[lid], sh_acc[lid + half]);
        }
    }
    return sh_acc[lid];
}
