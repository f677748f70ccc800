// map_table.f32.exp
alias E = f32;
const STREAM_TILE = 2048u;
// y = f(x), value by value: `value` is a row of the table in src/ops/maps, or, with OWN, an expression of the
// application. f16 is packed two to a word and computed in f32.
//
// Four words at a time: y begins at a multiple of four, x at p.x_base, counted in values. The values after the last, in
// its quad, are slack of y's buffer.

struct Params {
    first_group: u32,
    groups: u32,
    values: u32,
    x_base: u32,
    s: u32,
    t: u32,
    ones: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> x: array<vec4<E>>;

alias V = E;
const PER_WORD = 1u;
const WG = 256u;
// Quads per invocation, all loaded before any is stored.
const QUADS = STREAM_TILE / (4u * WG);

// Four consecutive values, starting `shift` values into the quad `low` and ending in the next quad, `high`.
fn shifted(low: vec4<E>, high: vec4<E>, shift: u32) -> vec4<E> {
    switch shift {
        case 1u: { return vec4(low.yzw, high.x); }
        case 2u: { return vec4(low.zw, high.xy); }
        case 3u: { return vec4(low.w, high.xyz); }
        default: { return low; }
    }
}
// Whether x is NaN, tested by its bits: a compiler may assume that `x != x` is never true.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
// Values without a WGSL constant, made from an operand, because constant expressions must be finite.
fn infinity_like(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x7f800000u);
}

fn no_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) | 0x7fc00000u);
}

fn is_infinite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// x, hidden from the compiler by a mask with all bits set: Mesa's compiler rewrites sums of k c and k d as k (c + d),
// where the products must stay separate to be exact.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & p.ones);
}

// The magnitude of x with the sign of `sign`.
fn signed_as(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}
// x 2ⁿ for |n| up to 254.
fn scaled(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return opaque(x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

// x = n ln 2 + r, and p = e^r − 1 − r. The first part of ln 2 has so few bits that its products are exact, even where
// fma is two operations.
struct ExpParts {
    n: i32,
    r: f32,
    p: f32,
}

fn exp_parts(x: f32) -> ExpParts {
    let k = round(x * 1.44269504);
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    return ExpParts(i32(k), r, p * r * r);
}

// c eˣ. Multiplies by c before scaling by 2ⁿ, so that eˣ alone cannot underflow.
fn exp_times(c: f32, x: f32) -> f32 {
    let e = exp_parts(clamp(x, -150.0, 89.0));
    return scaled(c * (1.0 + (e.r + e.p)), e.n);
}

// eˣ for x ≤ 0; 0 below log 2⁻¹²⁶, or −87.33655.
fn exp_below(x: f32) -> f32 {
    // Rounds to an integer, which the lowest bits of t hold.
    let t = opaque(fma(x, 1.44269504, 12582912.0));
    let k = t - 12582912.0;
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    let e = fma(p, r, 1.0) * bitcast<f32>((bitcast<u32>(t) << 23u) + 0x3f800000u);
    // Compares bits, and keeps NaN.
    return select(e, 0.0, bitcast<u32>(x) - 0xc2aeac51u <= 0xff800000u - 0xc2aeac51u);
}

// 2ʳ for |r| ≤ ½.
fn exp2_near(r: f32) -> f32 {
    var p = 1.53533619e-4;
    p = fma(p, r, 1.33988744e-3);
    p = fma(p, r, 9.61843736e-3);
    p = fma(p, r, 5.55033247e-2);
    p = fma(p, r, 0.240226479);
    p = fma(p, r, 0.693147203);
    return fma(p, r, 1.0);
}

fn exp2_of(x: f32) -> f32 {
    let size = clamp(x, -151.0, 129.0);
    let k = round(size);
    return scaled(exp2_near(size - k), i32(k));
}

fn expm1_of(x: f32) -> f32 {
    let e = exp_parts(clamp(x, -18.0, 89.0));
    // Half of 2ⁿ, because 2¹²⁸ is infinite.
    let half = bitcast<f32>(u32(e.n + 126) << 23u);
    return select(2.0 * fma(half, e.r + e.p, half - 0.5), x, abs(x) < 2.0e-8);
}
fn value(x: V, s: V, t: V) -> V {
    return select(exp_times(1.0, x), x, is_nan(x));
}

// Words from word `base` on. Nothing is read beyond the last quad that has a value.
fn words_from(base: u32, q: u32) -> vec4<E> {
    let last = (p.x_base + p.values - 1u) / (4u * PER_WORD);
    let at = q + base / 4u;
    let shift = base % 4u;
    let low = x[min(at, last)];
    if shift == 0u {
        return low;
    }
    return shifted(low, x[min(at + 1u, last)], shift);
}

fn quad(q: u32) -> vec4<E> {
    return words_from(p.x_base, q);
}

fn mapped(v: vec4<E>, s: V, t: V) -> vec4<E> {
    return vec4(value(v.x, s, t), value(v.y, s, t), value(v.z, s, t), value(v.w, s, t));
}

// The linear index of a workgroup in its dispatch.
//
// A dispatch with more workgroups than one dimension allows is folded into x and y, and a long one is split into
// several; p.first_group is the first workgroup of this part. Workgroups from p.groups on are idle.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}
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
    let s = bitcast<V>(p.s);
    let t = bitcast<V>(p.t);
    // An empty batch has no workgroups.
    let quads = (p.values - 1u) / (4u * PER_WORD) + 1u;
    let first = group * (STREAM_TILE / 4u) + lid;
    var values: array<vec4<E>, QUADS>;
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
            values[k] = quad(q);
        }
    }
    for (var k = 0u; k < QUADS; k += 1u) {
        let q = first + k * WG;
        if q < quads {
            y[q] = mapped(values[k], s, t);
        }
    }
}
