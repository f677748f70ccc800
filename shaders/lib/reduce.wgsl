// The accumulator of a reduction: nothing() is the reduction of no values, taken() adds value i, combine() joins two
// parts, result() is the word to write, put() writes it for element or line e, and tree() combines invocations.
//
// SUM: x + y, with ABS of the magnitudes. PROD: x y. NORM2: [bits of the largest magnitude, sum of the squares of
// values scaled by its norm_scale]. NORM_MAX: the bits of the largest magnitude. MAX: the largest key. ARGMAX: [largest
// key, its lowest index]. With LEAST these are the minimum and its index. ANY: whether a value is not zero. ALL:
// whether one is zero, until result(). EQUAL: whether anything differs. BOX: along each axis, one more than the largest
// index of a nonzero value. With BOUNDS, of matrices: the smallest row and column of a value other than p.background,
// with inverted bits, then one more than the largest ones; put() inverts the bits again.
#if F16
// Halves are computed in f32.
alias V = f32;
#else
alias V = E;
#endif
#if SUM
alias Acc = V;

fn nothing() -> Acc {
    return V();
}

fn taken(acc: Acc, x: V, i: u32) -> Acc {
#if ABS
#if U32
    // The magnitude of an i32; the minimum is unchanged.
    return acc + bitcast<u32>(abs(bitcast<i32>(x)));
#else
    return acc + abs(x);
#endif
#else
    return acc + x;
#endif
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x + y;
}

#if !C32
fn result(x: Acc) -> u32 {
    return bitcast<u32>(x);
}
#endif
#endif
#if PROD
alias Acc = V;

fn nothing() -> Acc {
    return V(1);
}

fn taken(acc: Acc, x: V, i: u32) -> Acc {
    return acc * x;
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x * y;
}

fn result(x: Acc) -> u32 {
    return bitcast<u32>(x);
}
#endif
#if NORM_MAX
alias Acc = u32;

fn nothing() -> Acc {
    return 0u;
}

// Of integers, the magnitude of the minimum is the largest.
fn taken(acc: Acc, x: V, i: u32) -> Acc {
#if U32
    return max(acc, x);
#else
#if I32
    return max(acc, bitcast<u32>(abs(x)));
#else
    return max(acc, bitcast<u32>(x) & 0x7fffffffu);
#endif
#endif
}

fn combine(x: Acc, y: Acc) -> Acc {
    return max(x, y);
}

fn result(x: Acc) -> u32 {
    return x;
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

fn taken(acc: Acc, x: V, i: u32) -> Acc {
    return max(acc, order_key(x));
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

fn taken(acc: Acc, x: V, i: u32) -> Acc {
    var key = order_key(x);
#if !I32
#if !U32
    // Zeros are equal regardless of their sign.
    key = select(key, 0x80000000u, key == 0x7fffffffu);
#endif
#endif
    return combine(acc, Acc(key, i));
}

fn combine(x: Acc, y: Acc) -> Acc {
    return select(x, y, y.x > x.x || (y.x == x.x && y.y < x.y));
}

fn result(x: Acc) -> u32 {
    return x.y;
}
#endif
#if ANY
alias Acc = u32;

fn nothing() -> Acc {
    return 0u;
}

fn taken(acc: Acc, x: V, i: u32) -> Acc {
    return acc | select(0u, 1u, x != 0u);
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x | y;
}

fn result(x: Acc) -> u32 {
    return x;
}
#endif
#if ALL
alias Acc = u32;

fn nothing() -> Acc {
    return 0u;
}

fn taken(acc: Acc, x: V, i: u32) -> Acc {
    return acc | select(0u, 1u, x == 0u);
}

fn combine(x: Acc, y: Acc) -> Acc {
    return x | y;
}

fn result(x: Acc) -> u32 {
    return 1u - x;
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

#if BOUNDS
fn put(e: u32, x: Acc) {
    let found = x.low.z != 0u;
    out[4u * e] = select(0u, ~x.low.x, found);
    out[4u * e + 1u] = select(0u, ~x.low.y, found);
    out[4u * e + 2u] = x.low.z;
    out[4u * e + 3u] = x.low.w;
}
#else
fn put(e: u32, x: Acc) {
    var ends = x;
    for (var axis = 0u; axis < p.rank; axis += 1u) {
        out[e * p.rank + axis] = ends.low.x;
        ends = Acc(vec4(ends.low.yzw, ends.high.x), vec4(ends.high.yzw, 0u));
    }
}
#endif
#else
alias Part = Acc;

#if !PART
fn put(e: u32, x: Acc) {
#if C32
    out[2u * e] = bitcast<u32>(x.x);
    out[2u * e + 1u] = bitcast<u32>(x.y);
#else
    out[e] = result(x);
#endif
}
#endif
#endif

var<workgroup> sh_acc: array<Acc, WG>;

// Combines the `lanes` invocations, a power of two, whose indices are `apart` apart from that of lane 0, which gets the
// result. Must be called once, in workgroup-uniform control flow.
fn tree(acc: Acc, lid: u32, lane: u32, lanes: u32, apart: u32) -> Acc {
    sh_acc[lid] = acc;
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            sh_acc[lid] = combine(sh_acc[lid], sh_acc[lid + half * apart]);
        }
    }
    return sh_acc[lid];
}
