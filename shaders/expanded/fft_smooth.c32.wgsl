// fft_smooth.c32
alias E = vec2<f32>;
const REAL = 1u;
const HALF = 2u;
const EXCHANGED = 4u;
const WG = 256u;
const HELD = 8u;
// Transforms of lengths that are products of 2, 3, 5 and 7, in stages whose radices are given by the task.
//
// A workgroup processes one task, two entries of the work list: (first item, items, n, radices minus one in 4 bits
// each, the first one lowest), and (offset of the twiddles of n, offset of the points of the half circle). The latter
// is 0 unless the transform is of 2 n real values as n complex ones; see `fft_real.wgsl`. p.length is the length of all
// items, or 0 if it differs.
//
// p.per_group, p.radices, p.twiddles and p.halves are used if all items are alike.

struct Params {
    first_group: u32,
    groups: u32,
    first_item: u32,
    items: u32,
    x_first: u32,
    x_step: u32,
    y_first: u32,
    y_step: u32,
    length: u32,
    factor: u32,
    x_base: u32,
    load: u32,
    store: u32,
    first_task: u32,
    per_group: u32,
    radices: u32,
    twiddles: u32,
    halves: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;

struct Task {
    first: u32,
    count: u32,
    n: u32,
    halves: u32,
}

struct Stage {
    radix: u32,
    m: u32, // butterflies per element
    done: u32, // the product of the previous radices
    twiddles: u32,
    from_operand: bool,
    to_result: bool,
}

// Complex numbers as (re, im). fma is explicit, so that all kernels round alike.
fn c_mul(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

// e + t o
fn c_add(e: vec2<f32>, t: vec2<f32>, o: vec2<f32>) -> vec2<f32> {
    return vec2(fma(-t.y, o.y, fma(t.x, o.x, e.x)), fma(t.y, o.x, fma(t.x, o.y, e.y)));
}

// e - i t o
fn c_add_quarter(e: vec2<f32>, t: vec2<f32>, o: vec2<f32>) -> vec2<f32> {
    return vec2(fma(t.y, o.x, fma(t.x, o.y, e.x)), fma(t.y, o.y, fma(-t.x, o.x, e.y)));
}
// Item i of the dispatch: (offset in x, offset in y, n, bits of the factor). Beyond the last item, an empty one, which
// reads and writes nothing.
//
// If consecutive items are at equal distances, they are computed instead of read, which is faster.
fn item_at(i: u32) -> vec4<u32> {
    if i >= p.items {
        return vec4(0u);
    }
    if p.length > 0u {
        return vec4(p.x_first + i * p.x_step, p.y_first + i * p.y_step, p.length, p.factor);
    }
    return items[p.first_item + i];
}
// Loads and stores the values of a transform, for an item (offset in x, offset in y, n, bits of the factor).
//
// p.load gives the format of x, p.store that of y. An inverse transform is a forward transform between two exchanges of
// real and imaginary part.

// Value i, or zero from n on. p.x_base is in words.
fn value_in(item: vec4<u32>, i: u32) -> vec2<f32> {
    var z = vec2(0.0);
    if i < item.z {
        switch p.load & (REAL | HALF) {
            case REAL: {
                let at = p.x_base + item.x + i;
                let two = x[at >> 1u];
                z.x = select(two.x, two.y, (at & 1u) != 0u);
            }
            case HALF: {
                let mirrored = 2u * i > item.z;
                z = x[(p.x_base >> 1u) + item.x + select(i, item.z - i, mirrored)];
                z.y = select(z.y, -z.y, mirrored);
                // Assigned, not multiplied by zero: it may be NaN.
                if i == 0u {
                    z.y = 0.0;
                }
            }
            default: {
                z = x[(p.x_base >> 1u) + item.x + i];
            }
        }
    }
    return select(z, z.yx, (p.load & EXCHANGED) != 0u);
}

fn value_out(item: vec4<u32>, i: u32, value: vec2<f32>) {
    let z = select(value, value.yx, (p.store & EXCHANGED) != 0u) * bitcast<f32>(item.w);
    switch p.store & (REAL | HALF) {
        case REAL: {
            if i < item.z {
                let at = item.y + i;
                y[at >> 1u][at & 1u] = z.x;
            }
        }
        case HALF: {
            if 2u * i <= item.z && item.z > 0u {
                y[item.y + i] = z;
            }
        }
        default: {
            if i < item.z {
                y[item.y + i] = z;
            }
        }
    }
}
// Transforms of 2 n real values by one complex transform of n values, and back.
//
// With z_j = x_2j + i x_(2j+1), w = e^(-πi k / n), and Z' the conjugate of Z at n - k:
// 2 X_k = Z_k + Z'_k - i w (Z_k - Z'_k), and back 2 Z_k = X_k + X'_k + i conj(w) (X_k - X'_k).

// 2 Z_k from X_k and X_(n - k), with real and imaginary parts exchanged, so that a forward transform computes the
// inverse.
fn folded(k: u32, w: vec2<f32>, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let real = k == 0u;
    // Selected, not multiplied by zero: the ignored imaginary parts may be NaN.
    let a = vec2(first.x, select(first.y, 0.0, real));
    let b = vec2(last.x, select(-last.y, 0.0, real));
    return c_add(a + b, w.yx, a - b).yx;
}

// X_k from Z_k and Z_(n - k).
fn unfolded(w: vec2<f32>, first: vec2<f32>, last: vec2<f32>) -> vec2<f32> {
    let mirrored = vec2(last.x, -last.y);
    let o = first - mirrored;
    return 0.5 * c_add(first + mirrored, w, vec2(o.y, -o.x));
}

// Loads two real values, from word `at` of x on, as one complex value; pair_out stores them to y. Both loads are in
// flight together.
fn pair_in(at: u32) -> vec2<f32> {
    let first = x[at >> 1u];
    let next = x[(at + 1u) >> 1u];
    return select(first, vec2(first.y, next.x), (at & 1u) != 0u);
}

fn pair_out(at: u32, z: vec2<f32>) {
    if (at & 1u) == 0u {
        y[at >> 1u] = z;
    } else {
        y[at >> 1u].y = z.x;
        y[(at >> 1u) + 1u].x = z.y;
    }
}

// a / b for small numbers, given 1 / b: adding half a unit outweighs the rounding error.
fn quotient(a: u32, part: f32) -> u32 {
    return u32((f32(a) + 0.5) * part);
}

// Item f of a task.
fn item_of(t: Task, f: u32) -> vec4<u32> {
    return item_at(t.first + f);
}

// Value k of the workgroup is value i of its item, which begins at x in the operand and at y in the result.
struct Spot {
    k: u32,
    i: u32,
    x: u32,
    y: u32,
}

// Beyond the last value, returns the last.
fn spot(value: u32, t: Task) -> Spot {
    let k = min(value, t.count * t.n - 1u);
    let f = quotient(k, 1.0 / f32(t.n));
    let item = item_of(t, f);
    return Spot(k, k - f * t.n, item.x, item.y);
}

fn store_result(s: Spot, t: Task, value: vec2<f32>, z: vec2<f32>) {
    y[s.y + s.i] = value;
    if s.i == 0u {
        y[s.y + t.n] = vec2(z.x - z.y, 0.0);
    }
}

var<workgroup> sh_exchange: array<vec2<f32>, WG * HELD>;

// A stage of one radix. It reads the operand or workgroup memory, and writes workgroup memory or the result. Butterfly
// q of an invocation is number b of element f; `live` tells whether it exists.
fn stage_16(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    var x0_5 = vec2(0.0);
    var x0_6 = vec2(0.0);
    var x0_7 = vec2(0.0);
    var x0_8 = vec2(0.0);
    var x0_9 = vec2(0.0);
    var x0_10 = vec2(0.0);
    var x0_11 = vec2(0.0);
    var x0_12 = vec2(0.0);
    var x0_13 = vec2(0.0);
    var x0_14 = vec2(0.0);
    var x0_15 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
            x0_5 = x[begin + 5u * s.m];
            x0_6 = x[begin + 6u * s.m];
            x0_7 = x[begin + 7u * s.m];
            x0_8 = x[begin + 8u * s.m];
            x0_9 = x[begin + 9u * s.m];
            x0_10 = x[begin + 10u * s.m];
            x0_11 = x[begin + 11u * s.m];
            x0_12 = x[begin + 12u * s.m];
            x0_13 = x[begin + 13u * s.m];
            x0_14 = x[begin + 14u * s.m];
            x0_15 = x[begin + 15u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x0_5 = x0_5.yx;
            x0_6 = x0_6.yx;
            x0_7 = x0_7.yx;
            x0_8 = x0_8.yx;
            x0_9 = x0_9.yx;
            x0_10 = x0_10.yx;
            x0_11 = x0_11.yx;
            x0_12 = x0_12.yx;
            x0_13 = x0_13.yx;
            x0_14 = x0_14.yx;
            x0_15 = x0_15.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
            x0_5 = sh_exchange[begin + 5u * s.m];
            x0_6 = sh_exchange[begin + 6u * s.m];
            x0_7 = sh_exchange[begin + 7u * s.m];
            x0_8 = sh_exchange[begin + 8u * s.m];
            x0_9 = sh_exchange[begin + 9u * s.m];
            x0_10 = sh_exchange[begin + 10u * s.m];
            x0_11 = sh_exchange[begin + 11u * s.m];
            x0_12 = sh_exchange[begin + 12u * s.m];
            x0_13 = sh_exchange[begin + 13u * s.m];
            x0_14 = sh_exchange[begin + 14u * s.m];
            x0_15 = sh_exchange[begin + 15u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
        x0_5 = c_mul(x0_5, twiddles[w + 4u * s.done]);
        x0_6 = c_mul(x0_6, twiddles[w + 5u * s.done]);
        x0_7 = c_mul(x0_7, twiddles[w + 6u * s.done]);
        x0_8 = c_mul(x0_8, twiddles[w + 7u * s.done]);
        x0_9 = c_mul(x0_9, twiddles[w + 8u * s.done]);
        x0_10 = c_mul(x0_10, twiddles[w + 9u * s.done]);
        x0_11 = c_mul(x0_11, twiddles[w + 10u * s.done]);
        x0_12 = c_mul(x0_12, twiddles[w + 11u * s.done]);
        x0_13 = c_mul(x0_13, twiddles[w + 12u * s.done]);
        x0_14 = c_mul(x0_14, twiddles[w + 13u * s.done]);
        x0_15 = c_mul(x0_15, twiddles[w + 14u * s.done]);
    }
    let n0 = x0_0 + x0_8;
    let n1 = x0_0 - x0_8;
    let n2 = x0_4 + x0_12;
    let n3 = x0_4 - x0_12;
    let n4 = n0 + n2;
    let n5 = n0 - n2;
    let n6 = vec2(n3.y, -n3.x);
    let n7 = n1 + n6;
    let n8 = n1 - n6;
    let n9 = x0_1 + x0_9;
    let n10 = x0_1 - x0_9;
    let n11 = x0_5 + x0_13;
    let n12 = x0_5 - x0_13;
    let n13 = n9 + n11;
    let n14 = n9 - n11;
    let n15 = vec2(n12.y, -n12.x);
    let n16 = n10 + n15;
    let n17 = n10 - n15;
    let n18 = x0_2 + x0_10;
    let n19 = x0_2 - x0_10;
    let n20 = x0_6 + x0_14;
    let n21 = x0_6 - x0_14;
    let n22 = n18 + n20;
    let n23 = n18 - n20;
    let n24 = vec2(n21.y, -n21.x);
    let n25 = n19 + n24;
    let n26 = n19 - n24;
    let n27 = x0_3 + x0_11;
    let n28 = x0_3 - x0_11;
    let n29 = x0_7 + x0_15;
    let n30 = x0_7 - x0_15;
    let n31 = n27 + n29;
    let n32 = n27 - n29;
    let n33 = vec2(n30.y, -n30.x);
    let n34 = n28 + n33;
    let n35 = n28 - n33;
    let n36 = n4 + n22;
    let n37 = n4 - n22;
    let n38 = n13 + n31;
    let n39 = n13 - n31;
    let n40 = n36 + n38;
    let n41 = n36 - n38;
    let n42 = vec2(n39.y, -n39.x);
    let n43 = n37 + n42;
    let n44 = n37 - n42;
    let n45 = c_mul(n16, vec2(0.9238795, -0.38268343));
    let n46 = c_mul(n25, vec2(0.70710677, -0.70710677));
    let n47 = c_mul(n34, vec2(0.38268343, -0.9238795));
    let n48 = n7 + n46;
    let n49 = n7 - n46;
    let n50 = n45 + n47;
    let n51 = n45 - n47;
    let n52 = n48 + n50;
    let n53 = n48 - n50;
    let n54 = vec2(n51.y, -n51.x);
    let n55 = n49 + n54;
    let n56 = n49 - n54;
    let n57 = c_mul(n14, vec2(0.70710677, -0.70710677));
    let n58 = vec2(n23.y, -n23.x);
    let n59 = c_mul(n32, vec2(-0.70710677, -0.70710677));
    let n60 = n5 + n58;
    let n61 = n5 - n58;
    let n62 = n57 + n59;
    let n63 = n57 - n59;
    let n64 = n60 + n62;
    let n65 = n60 - n62;
    let n66 = vec2(n63.y, -n63.x);
    let n67 = n61 + n66;
    let n68 = n61 - n66;
    let n69 = c_mul(n17, vec2(0.38268343, -0.9238795));
    let n70 = c_mul(n26, vec2(-0.70710677, -0.70710677));
    let n71 = c_mul(n35, vec2(-0.9238795, 0.38268343));
    let n72 = n8 + n70;
    let n73 = n8 - n70;
    let n74 = n69 + n71;
    let n75 = n69 - n71;
    let n76 = n72 + n74;
    let n77 = n72 - n74;
    let n78 = vec2(n75.y, -n75.x);
    let n79 = n73 + n78;
    let n80 = n73 - n78;
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n40, n40.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n52, n52.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n64, n64.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n76, n76.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n43, n43.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n55, n55.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n67, n67.yx, exchanged);
            y[to + 7u * s.m] = factor * select(n79, n79.yx, exchanged);
            y[to + 8u * s.m] = factor * select(n41, n41.yx, exchanged);
            y[to + 9u * s.m] = factor * select(n53, n53.yx, exchanged);
            y[to + 10u * s.m] = factor * select(n65, n65.yx, exchanged);
            y[to + 11u * s.m] = factor * select(n77, n77.yx, exchanged);
            y[to + 12u * s.m] = factor * select(n44, n44.yx, exchanged);
            y[to + 13u * s.m] = factor * select(n56, n56.yx, exchanged);
            y[to + 14u * s.m] = factor * select(n68, n68.yx, exchanged);
            y[to + 15u * s.m] = factor * select(n80, n80.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 15u;
            sh_exchange[to + 0u * s.done] = n40;
            sh_exchange[to + 1u * s.done] = n52;
            sh_exchange[to + 2u * s.done] = n64;
            sh_exchange[to + 3u * s.done] = n76;
            sh_exchange[to + 4u * s.done] = n43;
            sh_exchange[to + 5u * s.done] = n55;
            sh_exchange[to + 6u * s.done] = n67;
            sh_exchange[to + 7u * s.done] = n79;
            sh_exchange[to + 8u * s.done] = n41;
            sh_exchange[to + 9u * s.done] = n53;
            sh_exchange[to + 10u * s.done] = n65;
            sh_exchange[to + 11u * s.done] = n77;
            sh_exchange[to + 12u * s.done] = n44;
            sh_exchange[to + 13u * s.done] = n56;
            sh_exchange[to + 14u * s.done] = n68;
            sh_exchange[to + 15u * s.done] = n80;
        }
        workgroupBarrier();
    }
}
fn stage_10(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    var x0_5 = vec2(0.0);
    var x0_6 = vec2(0.0);
    var x0_7 = vec2(0.0);
    var x0_8 = vec2(0.0);
    var x0_9 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
            x0_5 = x[begin + 5u * s.m];
            x0_6 = x[begin + 6u * s.m];
            x0_7 = x[begin + 7u * s.m];
            x0_8 = x[begin + 8u * s.m];
            x0_9 = x[begin + 9u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x0_5 = x0_5.yx;
            x0_6 = x0_6.yx;
            x0_7 = x0_7.yx;
            x0_8 = x0_8.yx;
            x0_9 = x0_9.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
            x0_5 = sh_exchange[begin + 5u * s.m];
            x0_6 = sh_exchange[begin + 6u * s.m];
            x0_7 = sh_exchange[begin + 7u * s.m];
            x0_8 = sh_exchange[begin + 8u * s.m];
            x0_9 = sh_exchange[begin + 9u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
        x0_5 = c_mul(x0_5, twiddles[w + 4u * s.done]);
        x0_6 = c_mul(x0_6, twiddles[w + 5u * s.done]);
        x0_7 = c_mul(x0_7, twiddles[w + 6u * s.done]);
        x0_8 = c_mul(x0_8, twiddles[w + 7u * s.done]);
        x0_9 = c_mul(x0_9, twiddles[w + 8u * s.done]);
    }
    let n0 = x0_2 + x0_8;
    let n1 = x0_2 - x0_8;
    let n2 = x0_4 + x0_6;
    let n3 = x0_4 - x0_6;
    let n4 = x0_0 + (n0 + n2);
    let n5 = fma(vec2(0.309017), n0, x0_0);
    let n6 = 0.95105654 * n1;
    let n7 = fma(vec2(-0.809017), n2, n5);
    let n8 = fma(vec2(0.58778524), n3, n6);
    let n9 = vec2(n7.x + n8.y, n7.y - n8.x);
    let n10 = vec2(n7.x - n8.y, n7.y + n8.x);
    let n11 = fma(vec2(-0.809017), n0, x0_0);
    let n12 = 0.58778524 * n1;
    let n13 = fma(vec2(0.309017), n2, n11);
    let n14 = fma(vec2(-0.95105654), n3, n12);
    let n15 = vec2(n13.x + n14.y, n13.y - n14.x);
    let n16 = vec2(n13.x - n14.y, n13.y + n14.x);
    let n17 = x0_3 + x0_9;
    let n18 = x0_3 - x0_9;
    let n19 = x0_5 + x0_7;
    let n20 = x0_5 - x0_7;
    let n21 = x0_1 + (n17 + n19);
    let n22 = fma(vec2(0.309017), n17, x0_1);
    let n23 = 0.95105654 * n18;
    let n24 = fma(vec2(-0.809017), n19, n22);
    let n25 = fma(vec2(0.58778524), n20, n23);
    let n26 = vec2(n24.x + n25.y, n24.y - n25.x);
    let n27 = vec2(n24.x - n25.y, n24.y + n25.x);
    let n28 = fma(vec2(-0.809017), n17, x0_1);
    let n29 = 0.58778524 * n18;
    let n30 = fma(vec2(0.309017), n19, n28);
    let n31 = fma(vec2(-0.95105654), n20, n29);
    let n32 = vec2(n30.x + n31.y, n30.y - n31.x);
    let n33 = vec2(n30.x - n31.y, n30.y + n31.x);
    let n34 = n4 + n21;
    let n35 = n4 - n21;
    let n36 = c_mul(n26, vec2(0.809017, -0.58778524));
    let n37 = n9 + n36;
    let n38 = n9 - n36;
    let n39 = c_mul(n32, vec2(0.309017, -0.95105654));
    let n40 = n15 + n39;
    let n41 = n15 - n39;
    let n42 = c_mul(n33, vec2(-0.309017, -0.95105654));
    let n43 = n16 + n42;
    let n44 = n16 - n42;
    let n45 = c_mul(n27, vec2(-0.809017, -0.58778524));
    let n46 = n10 + n45;
    let n47 = n10 - n45;
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n34, n34.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n37, n37.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n40, n40.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n43, n43.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n46, n46.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n35, n35.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n38, n38.yx, exchanged);
            y[to + 7u * s.m] = factor * select(n41, n41.yx, exchanged);
            y[to + 8u * s.m] = factor * select(n44, n44.yx, exchanged);
            y[to + 9u * s.m] = factor * select(n47, n47.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 9u;
            sh_exchange[to + 0u * s.done] = n34;
            sh_exchange[to + 1u * s.done] = n37;
            sh_exchange[to + 2u * s.done] = n40;
            sh_exchange[to + 3u * s.done] = n43;
            sh_exchange[to + 4u * s.done] = n46;
            sh_exchange[to + 5u * s.done] = n35;
            sh_exchange[to + 6u * s.done] = n38;
            sh_exchange[to + 7u * s.done] = n41;
            sh_exchange[to + 8u * s.done] = n44;
            sh_exchange[to + 9u * s.done] = n47;
        }
        workgroupBarrier();
    }
}
fn stage_9(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    var x0_5 = vec2(0.0);
    var x0_6 = vec2(0.0);
    var x0_7 = vec2(0.0);
    var x0_8 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
            x0_5 = x[begin + 5u * s.m];
            x0_6 = x[begin + 6u * s.m];
            x0_7 = x[begin + 7u * s.m];
            x0_8 = x[begin + 8u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x0_5 = x0_5.yx;
            x0_6 = x0_6.yx;
            x0_7 = x0_7.yx;
            x0_8 = x0_8.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
            x0_5 = sh_exchange[begin + 5u * s.m];
            x0_6 = sh_exchange[begin + 6u * s.m];
            x0_7 = sh_exchange[begin + 7u * s.m];
            x0_8 = sh_exchange[begin + 8u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
        x0_5 = c_mul(x0_5, twiddles[w + 4u * s.done]);
        x0_6 = c_mul(x0_6, twiddles[w + 5u * s.done]);
        x0_7 = c_mul(x0_7, twiddles[w + 6u * s.done]);
        x0_8 = c_mul(x0_8, twiddles[w + 7u * s.done]);
    }
    let n0 = x0_3 + x0_6;
    let n1 = x0_3 - x0_6;
    let n2 = x0_0 + (n0);
    let n3 = fma(vec2(-0.5), n0, x0_0);
    let n4 = 0.8660254 * n1;
    let n5 = vec2(n3.x + n4.y, n3.y - n4.x);
    let n6 = vec2(n3.x - n4.y, n3.y + n4.x);
    let n7 = x0_4 + x0_7;
    let n8 = x0_4 - x0_7;
    let n9 = x0_1 + (n7);
    let n10 = fma(vec2(-0.5), n7, x0_1);
    let n11 = 0.8660254 * n8;
    let n12 = vec2(n10.x + n11.y, n10.y - n11.x);
    let n13 = vec2(n10.x - n11.y, n10.y + n11.x);
    let n14 = x0_5 + x0_8;
    let n15 = x0_5 - x0_8;
    let n16 = x0_2 + (n14);
    let n17 = fma(vec2(-0.5), n14, x0_2);
    let n18 = 0.8660254 * n15;
    let n19 = vec2(n17.x + n18.y, n17.y - n18.x);
    let n20 = vec2(n17.x - n18.y, n17.y + n18.x);
    let n21 = n9 + n16;
    let n22 = n9 - n16;
    let n23 = n2 + (n21);
    let n24 = fma(vec2(-0.5), n21, n2);
    let n25 = 0.8660254 * n22;
    let n26 = vec2(n24.x + n25.y, n24.y - n25.x);
    let n27 = vec2(n24.x - n25.y, n24.y + n25.x);
    let n28 = c_mul(n12, vec2(0.76604444, -0.64278764));
    let n29 = c_mul(n19, vec2(0.17364818, -0.9848077));
    let n30 = n28 + n29;
    let n31 = n28 - n29;
    let n32 = n5 + (n30);
    let n33 = fma(vec2(-0.5), n30, n5);
    let n34 = 0.8660254 * n31;
    let n35 = vec2(n33.x + n34.y, n33.y - n34.x);
    let n36 = vec2(n33.x - n34.y, n33.y + n34.x);
    let n37 = c_mul(n13, vec2(0.17364818, -0.9848077));
    let n38 = c_mul(n20, vec2(-0.9396926, -0.34202015));
    let n39 = n37 + n38;
    let n40 = n37 - n38;
    let n41 = n6 + (n39);
    let n42 = fma(vec2(-0.5), n39, n6);
    let n43 = 0.8660254 * n40;
    let n44 = vec2(n42.x + n43.y, n42.y - n43.x);
    let n45 = vec2(n42.x - n43.y, n42.y + n43.x);
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n23, n23.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n32, n32.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n41, n41.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n26, n26.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n35, n35.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n44, n44.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n27, n27.yx, exchanged);
            y[to + 7u * s.m] = factor * select(n36, n36.yx, exchanged);
            y[to + 8u * s.m] = factor * select(n45, n45.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 8u;
            sh_exchange[to + 0u * s.done] = n23;
            sh_exchange[to + 1u * s.done] = n32;
            sh_exchange[to + 2u * s.done] = n41;
            sh_exchange[to + 3u * s.done] = n26;
            sh_exchange[to + 4u * s.done] = n35;
            sh_exchange[to + 5u * s.done] = n44;
            sh_exchange[to + 6u * s.done] = n27;
            sh_exchange[to + 7u * s.done] = n36;
            sh_exchange[to + 8u * s.done] = n45;
        }
        workgroupBarrier();
    }
}
fn stage_8(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    var x0_5 = vec2(0.0);
    var x0_6 = vec2(0.0);
    var x0_7 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
            x0_5 = x[begin + 5u * s.m];
            x0_6 = x[begin + 6u * s.m];
            x0_7 = x[begin + 7u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x0_5 = x0_5.yx;
            x0_6 = x0_6.yx;
            x0_7 = x0_7.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
            x0_5 = sh_exchange[begin + 5u * s.m];
            x0_6 = sh_exchange[begin + 6u * s.m];
            x0_7 = sh_exchange[begin + 7u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
        x0_5 = c_mul(x0_5, twiddles[w + 4u * s.done]);
        x0_6 = c_mul(x0_6, twiddles[w + 5u * s.done]);
        x0_7 = c_mul(x0_7, twiddles[w + 6u * s.done]);
    }
    let n0 = x0_0 + x0_4;
    let n1 = x0_0 - x0_4;
    let n2 = x0_2 + x0_6;
    let n3 = x0_2 - x0_6;
    let n4 = n0 + n2;
    let n5 = n0 - n2;
    let n6 = vec2(n3.y, -n3.x);
    let n7 = n1 + n6;
    let n8 = n1 - n6;
    let n9 = x0_1 + x0_5;
    let n10 = x0_1 - x0_5;
    let n11 = x0_3 + x0_7;
    let n12 = x0_3 - x0_7;
    let n13 = n9 + n11;
    let n14 = n9 - n11;
    let n15 = vec2(n12.y, -n12.x);
    let n16 = n10 + n15;
    let n17 = n10 - n15;
    let n18 = n4 + n13;
    let n19 = n4 - n13;
    let n20 = c_mul(n16, vec2(0.70710677, -0.70710677));
    let n21 = n7 + n20;
    let n22 = n7 - n20;
    let n23 = vec2(n14.y, -n14.x);
    let n24 = n5 + n23;
    let n25 = n5 - n23;
    let n26 = c_mul(n17, vec2(-0.70710677, -0.70710677));
    let n27 = n8 + n26;
    let n28 = n8 - n26;
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n18, n18.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n21, n21.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n24, n24.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n27, n27.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n19, n19.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n22, n22.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n25, n25.yx, exchanged);
            y[to + 7u * s.m] = factor * select(n28, n28.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 7u;
            sh_exchange[to + 0u * s.done] = n18;
            sh_exchange[to + 1u * s.done] = n21;
            sh_exchange[to + 2u * s.done] = n24;
            sh_exchange[to + 3u * s.done] = n27;
            sh_exchange[to + 4u * s.done] = n19;
            sh_exchange[to + 5u * s.done] = n22;
            sh_exchange[to + 6u * s.done] = n25;
            sh_exchange[to + 7u * s.done] = n28;
        }
        workgroupBarrier();
    }
}
fn stage_7(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    var x0_5 = vec2(0.0);
    var x0_6 = vec2(0.0);
    let i1 = lid + 256u;
    let f1 = quotient(i1, part);
    let b1 = i1 - f1 * s.m;
    let live1 = i1 < t.count * s.m;
    var x1_0 = vec2(0.0);
    var x1_1 = vec2(0.0);
    var x1_2 = vec2(0.0);
    var x1_3 = vec2(0.0);
    var x1_4 = vec2(0.0);
    var x1_5 = vec2(0.0);
    var x1_6 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
            x0_5 = x[begin + 5u * s.m];
            x0_6 = x[begin + 6u * s.m];
        }
        if live1 {
            let begin = (p.x_base >> 1u) + item_of(t, f1).x + b1;
            x1_0 = x[begin + 0u * s.m];
            x1_1 = x[begin + 1u * s.m];
            x1_2 = x[begin + 2u * s.m];
            x1_3 = x[begin + 3u * s.m];
            x1_4 = x[begin + 4u * s.m];
            x1_5 = x[begin + 5u * s.m];
            x1_6 = x[begin + 6u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x0_5 = x0_5.yx;
            x0_6 = x0_6.yx;
            x1_0 = x1_0.yx;
            x1_1 = x1_1.yx;
            x1_2 = x1_2.yx;
            x1_3 = x1_3.yx;
            x1_4 = x1_4.yx;
            x1_5 = x1_5.yx;
            x1_6 = x1_6.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
            x0_5 = sh_exchange[begin + 5u * s.m];
            x0_6 = sh_exchange[begin + 6u * s.m];
        }
        if live1 {
            let begin = f1 * t.n + b1;
            x1_0 = sh_exchange[begin + 0u * s.m];
            x1_1 = sh_exchange[begin + 1u * s.m];
            x1_2 = sh_exchange[begin + 2u * s.m];
            x1_3 = sh_exchange[begin + 3u * s.m];
            x1_4 = sh_exchange[begin + 4u * s.m];
            x1_5 = sh_exchange[begin + 5u * s.m];
            x1_6 = sh_exchange[begin + 6u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
        x0_5 = c_mul(x0_5, twiddles[w + 4u * s.done]);
        x0_6 = c_mul(x0_6, twiddles[w + 5u * s.done]);
    }
    let n0 = x0_1 + x0_6;
    let n1 = x0_1 - x0_6;
    let n2 = x0_2 + x0_5;
    let n3 = x0_2 - x0_5;
    let n4 = x0_3 + x0_4;
    let n5 = x0_3 - x0_4;
    let n6 = x0_0 + (n0 + n2 + n4);
    let n7 = fma(vec2(0.6234898), n0, x0_0);
    let n8 = 0.7818315 * n1;
    let n9 = fma(vec2(-0.22252093), n2, n7);
    let n10 = fma(vec2(0.9749279), n3, n8);
    let n11 = fma(vec2(-0.90096885), n4, n9);
    let n12 = fma(vec2(0.43388373), n5, n10);
    let n13 = vec2(n11.x + n12.y, n11.y - n12.x);
    let n14 = vec2(n11.x - n12.y, n11.y + n12.x);
    let n15 = fma(vec2(-0.22252093), n0, x0_0);
    let n16 = 0.9749279 * n1;
    let n17 = fma(vec2(-0.90096885), n2, n15);
    let n18 = fma(vec2(-0.43388373), n3, n16);
    let n19 = fma(vec2(0.6234898), n4, n17);
    let n20 = fma(vec2(-0.7818315), n5, n18);
    let n21 = vec2(n19.x + n20.y, n19.y - n20.x);
    let n22 = vec2(n19.x - n20.y, n19.y + n20.x);
    let n23 = fma(vec2(-0.90096885), n0, x0_0);
    let n24 = 0.43388373 * n1;
    let n25 = fma(vec2(0.6234898), n2, n23);
    let n26 = fma(vec2(-0.7818315), n3, n24);
    let n27 = fma(vec2(-0.22252093), n4, n25);
    let n28 = fma(vec2(0.9749279), n5, n26);
    let n29 = vec2(n27.x + n28.y, n27.y - n28.x);
    let n30 = vec2(n27.x - n28.y, n27.y + n28.x);
    let block1 = quotient(b1, each);
    if s.done > 1u {
        let w = s.twiddles + b1 - block1 * s.done;
        x1_1 = c_mul(x1_1, twiddles[w + 0u * s.done]);
        x1_2 = c_mul(x1_2, twiddles[w + 1u * s.done]);
        x1_3 = c_mul(x1_3, twiddles[w + 2u * s.done]);
        x1_4 = c_mul(x1_4, twiddles[w + 3u * s.done]);
        x1_5 = c_mul(x1_5, twiddles[w + 4u * s.done]);
        x1_6 = c_mul(x1_6, twiddles[w + 5u * s.done]);
    }
    let n31 = x1_1 + x1_6;
    let n32 = x1_1 - x1_6;
    let n33 = x1_2 + x1_5;
    let n34 = x1_2 - x1_5;
    let n35 = x1_3 + x1_4;
    let n36 = x1_3 - x1_4;
    let n37 = x1_0 + (n31 + n33 + n35);
    let n38 = fma(vec2(0.6234898), n31, x1_0);
    let n39 = 0.7818315 * n32;
    let n40 = fma(vec2(-0.22252093), n33, n38);
    let n41 = fma(vec2(0.9749279), n34, n39);
    let n42 = fma(vec2(-0.90096885), n35, n40);
    let n43 = fma(vec2(0.43388373), n36, n41);
    let n44 = vec2(n42.x + n43.y, n42.y - n43.x);
    let n45 = vec2(n42.x - n43.y, n42.y + n43.x);
    let n46 = fma(vec2(-0.22252093), n31, x1_0);
    let n47 = 0.9749279 * n32;
    let n48 = fma(vec2(-0.90096885), n33, n46);
    let n49 = fma(vec2(-0.43388373), n34, n47);
    let n50 = fma(vec2(0.6234898), n35, n48);
    let n51 = fma(vec2(-0.7818315), n36, n49);
    let n52 = vec2(n50.x + n51.y, n50.y - n51.x);
    let n53 = vec2(n50.x - n51.y, n50.y + n51.x);
    let n54 = fma(vec2(-0.90096885), n31, x1_0);
    let n55 = 0.43388373 * n32;
    let n56 = fma(vec2(0.6234898), n33, n54);
    let n57 = fma(vec2(-0.7818315), n34, n55);
    let n58 = fma(vec2(-0.22252093), n35, n56);
    let n59 = fma(vec2(0.9749279), n36, n57);
    let n60 = vec2(n58.x + n59.y, n58.y - n59.x);
    let n61 = vec2(n58.x - n59.y, n58.y + n59.x);
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n6, n6.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n13, n13.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n21, n21.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n29, n29.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n30, n30.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n22, n22.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n14, n14.yx, exchanged);
        }
        if live1 {
            let item = item_of(t, f1);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b1;
            y[to + 0u * s.m] = factor * select(n37, n37.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n44, n44.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n52, n52.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n60, n60.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n61, n61.yx, exchanged);
            y[to + 5u * s.m] = factor * select(n53, n53.yx, exchanged);
            y[to + 6u * s.m] = factor * select(n45, n45.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 6u;
            sh_exchange[to + 0u * s.done] = n6;
            sh_exchange[to + 1u * s.done] = n13;
            sh_exchange[to + 2u * s.done] = n21;
            sh_exchange[to + 3u * s.done] = n29;
            sh_exchange[to + 4u * s.done] = n30;
            sh_exchange[to + 5u * s.done] = n22;
            sh_exchange[to + 6u * s.done] = n14;
        }
        if live1 {
            let to = f1 * t.n + b1 + block1 * s.done * 6u;
            sh_exchange[to + 0u * s.done] = n37;
            sh_exchange[to + 1u * s.done] = n44;
            sh_exchange[to + 2u * s.done] = n52;
            sh_exchange[to + 3u * s.done] = n60;
            sh_exchange[to + 4u * s.done] = n61;
            sh_exchange[to + 5u * s.done] = n53;
            sh_exchange[to + 6u * s.done] = n45;
        }
        workgroupBarrier();
    }
}
fn stage_5(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    var x0_4 = vec2(0.0);
    let i1 = lid + 256u;
    let f1 = quotient(i1, part);
    let b1 = i1 - f1 * s.m;
    let live1 = i1 < t.count * s.m;
    var x1_0 = vec2(0.0);
    var x1_1 = vec2(0.0);
    var x1_2 = vec2(0.0);
    var x1_3 = vec2(0.0);
    var x1_4 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
            x0_4 = x[begin + 4u * s.m];
        }
        if live1 {
            let begin = (p.x_base >> 1u) + item_of(t, f1).x + b1;
            x1_0 = x[begin + 0u * s.m];
            x1_1 = x[begin + 1u * s.m];
            x1_2 = x[begin + 2u * s.m];
            x1_3 = x[begin + 3u * s.m];
            x1_4 = x[begin + 4u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x0_4 = x0_4.yx;
            x1_0 = x1_0.yx;
            x1_1 = x1_1.yx;
            x1_2 = x1_2.yx;
            x1_3 = x1_3.yx;
            x1_4 = x1_4.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
            x0_4 = sh_exchange[begin + 4u * s.m];
        }
        if live1 {
            let begin = f1 * t.n + b1;
            x1_0 = sh_exchange[begin + 0u * s.m];
            x1_1 = sh_exchange[begin + 1u * s.m];
            x1_2 = sh_exchange[begin + 2u * s.m];
            x1_3 = sh_exchange[begin + 3u * s.m];
            x1_4 = sh_exchange[begin + 4u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
        x0_4 = c_mul(x0_4, twiddles[w + 3u * s.done]);
    }
    let n0 = x0_1 + x0_4;
    let n1 = x0_1 - x0_4;
    let n2 = x0_2 + x0_3;
    let n3 = x0_2 - x0_3;
    let n4 = x0_0 + (n0 + n2);
    let n5 = fma(vec2(0.309017), n0, x0_0);
    let n6 = 0.95105654 * n1;
    let n7 = fma(vec2(-0.809017), n2, n5);
    let n8 = fma(vec2(0.58778524), n3, n6);
    let n9 = vec2(n7.x + n8.y, n7.y - n8.x);
    let n10 = vec2(n7.x - n8.y, n7.y + n8.x);
    let n11 = fma(vec2(-0.809017), n0, x0_0);
    let n12 = 0.58778524 * n1;
    let n13 = fma(vec2(0.309017), n2, n11);
    let n14 = fma(vec2(-0.95105654), n3, n12);
    let n15 = vec2(n13.x + n14.y, n13.y - n14.x);
    let n16 = vec2(n13.x - n14.y, n13.y + n14.x);
    let block1 = quotient(b1, each);
    if s.done > 1u {
        let w = s.twiddles + b1 - block1 * s.done;
        x1_1 = c_mul(x1_1, twiddles[w + 0u * s.done]);
        x1_2 = c_mul(x1_2, twiddles[w + 1u * s.done]);
        x1_3 = c_mul(x1_3, twiddles[w + 2u * s.done]);
        x1_4 = c_mul(x1_4, twiddles[w + 3u * s.done]);
    }
    let n17 = x1_1 + x1_4;
    let n18 = x1_1 - x1_4;
    let n19 = x1_2 + x1_3;
    let n20 = x1_2 - x1_3;
    let n21 = x1_0 + (n17 + n19);
    let n22 = fma(vec2(0.309017), n17, x1_0);
    let n23 = 0.95105654 * n18;
    let n24 = fma(vec2(-0.809017), n19, n22);
    let n25 = fma(vec2(0.58778524), n20, n23);
    let n26 = vec2(n24.x + n25.y, n24.y - n25.x);
    let n27 = vec2(n24.x - n25.y, n24.y + n25.x);
    let n28 = fma(vec2(-0.809017), n17, x1_0);
    let n29 = 0.58778524 * n18;
    let n30 = fma(vec2(0.309017), n19, n28);
    let n31 = fma(vec2(-0.95105654), n20, n29);
    let n32 = vec2(n30.x + n31.y, n30.y - n31.x);
    let n33 = vec2(n30.x - n31.y, n30.y + n31.x);
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n4, n4.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n9, n9.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n15, n15.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n16, n16.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n10, n10.yx, exchanged);
        }
        if live1 {
            let item = item_of(t, f1);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b1;
            y[to + 0u * s.m] = factor * select(n21, n21.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n26, n26.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n32, n32.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n33, n33.yx, exchanged);
            y[to + 4u * s.m] = factor * select(n27, n27.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 4u;
            sh_exchange[to + 0u * s.done] = n4;
            sh_exchange[to + 1u * s.done] = n9;
            sh_exchange[to + 2u * s.done] = n15;
            sh_exchange[to + 3u * s.done] = n16;
            sh_exchange[to + 4u * s.done] = n10;
        }
        if live1 {
            let to = f1 * t.n + b1 + block1 * s.done * 4u;
            sh_exchange[to + 0u * s.done] = n21;
            sh_exchange[to + 1u * s.done] = n26;
            sh_exchange[to + 2u * s.done] = n32;
            sh_exchange[to + 3u * s.done] = n33;
            sh_exchange[to + 4u * s.done] = n27;
        }
        workgroupBarrier();
    }
}
fn stage_4(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    var x0_3 = vec2(0.0);
    let i1 = lid + 256u;
    let f1 = quotient(i1, part);
    let b1 = i1 - f1 * s.m;
    let live1 = i1 < t.count * s.m;
    var x1_0 = vec2(0.0);
    var x1_1 = vec2(0.0);
    var x1_2 = vec2(0.0);
    var x1_3 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
            x0_3 = x[begin + 3u * s.m];
        }
        if live1 {
            let begin = (p.x_base >> 1u) + item_of(t, f1).x + b1;
            x1_0 = x[begin + 0u * s.m];
            x1_1 = x[begin + 1u * s.m];
            x1_2 = x[begin + 2u * s.m];
            x1_3 = x[begin + 3u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x0_3 = x0_3.yx;
            x1_0 = x1_0.yx;
            x1_1 = x1_1.yx;
            x1_2 = x1_2.yx;
            x1_3 = x1_3.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
            x0_3 = sh_exchange[begin + 3u * s.m];
        }
        if live1 {
            let begin = f1 * t.n + b1;
            x1_0 = sh_exchange[begin + 0u * s.m];
            x1_1 = sh_exchange[begin + 1u * s.m];
            x1_2 = sh_exchange[begin + 2u * s.m];
            x1_3 = sh_exchange[begin + 3u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
        x0_3 = c_mul(x0_3, twiddles[w + 2u * s.done]);
    }
    let n0 = x0_0 + x0_2;
    let n1 = x0_0 - x0_2;
    let n2 = x0_1 + x0_3;
    let n3 = x0_1 - x0_3;
    let n4 = n0 + n2;
    let n5 = n0 - n2;
    let n6 = vec2(n3.y, -n3.x);
    let n7 = n1 + n6;
    let n8 = n1 - n6;
    let block1 = quotient(b1, each);
    if s.done > 1u {
        let w = s.twiddles + b1 - block1 * s.done;
        x1_1 = c_mul(x1_1, twiddles[w + 0u * s.done]);
        x1_2 = c_mul(x1_2, twiddles[w + 1u * s.done]);
        x1_3 = c_mul(x1_3, twiddles[w + 2u * s.done]);
    }
    let n9 = x1_0 + x1_2;
    let n10 = x1_0 - x1_2;
    let n11 = x1_1 + x1_3;
    let n12 = x1_1 - x1_3;
    let n13 = n9 + n11;
    let n14 = n9 - n11;
    let n15 = vec2(n12.y, -n12.x);
    let n16 = n10 + n15;
    let n17 = n10 - n15;
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n4, n4.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n7, n7.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n5, n5.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n8, n8.yx, exchanged);
        }
        if live1 {
            let item = item_of(t, f1);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b1;
            y[to + 0u * s.m] = factor * select(n13, n13.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n16, n16.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n14, n14.yx, exchanged);
            y[to + 3u * s.m] = factor * select(n17, n17.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 3u;
            sh_exchange[to + 0u * s.done] = n4;
            sh_exchange[to + 1u * s.done] = n7;
            sh_exchange[to + 2u * s.done] = n5;
            sh_exchange[to + 3u * s.done] = n8;
        }
        if live1 {
            let to = f1 * t.n + b1 + block1 * s.done * 3u;
            sh_exchange[to + 0u * s.done] = n13;
            sh_exchange[to + 1u * s.done] = n16;
            sh_exchange[to + 2u * s.done] = n14;
            sh_exchange[to + 3u * s.done] = n17;
        }
        workgroupBarrier();
    }
}
fn stage_3(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    var x0_2 = vec2(0.0);
    let i1 = lid + 256u;
    let f1 = quotient(i1, part);
    let b1 = i1 - f1 * s.m;
    let live1 = i1 < t.count * s.m;
    var x1_0 = vec2(0.0);
    var x1_1 = vec2(0.0);
    var x1_2 = vec2(0.0);
    let i2 = lid + 512u;
    let f2 = quotient(i2, part);
    let b2 = i2 - f2 * s.m;
    let live2 = i2 < t.count * s.m;
    var x2_0 = vec2(0.0);
    var x2_1 = vec2(0.0);
    var x2_2 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
            x0_2 = x[begin + 2u * s.m];
        }
        if live1 {
            let begin = (p.x_base >> 1u) + item_of(t, f1).x + b1;
            x1_0 = x[begin + 0u * s.m];
            x1_1 = x[begin + 1u * s.m];
            x1_2 = x[begin + 2u * s.m];
        }
        if live2 {
            let begin = (p.x_base >> 1u) + item_of(t, f2).x + b2;
            x2_0 = x[begin + 0u * s.m];
            x2_1 = x[begin + 1u * s.m];
            x2_2 = x[begin + 2u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x0_2 = x0_2.yx;
            x1_0 = x1_0.yx;
            x1_1 = x1_1.yx;
            x1_2 = x1_2.yx;
            x2_0 = x2_0.yx;
            x2_1 = x2_1.yx;
            x2_2 = x2_2.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
            x0_2 = sh_exchange[begin + 2u * s.m];
        }
        if live1 {
            let begin = f1 * t.n + b1;
            x1_0 = sh_exchange[begin + 0u * s.m];
            x1_1 = sh_exchange[begin + 1u * s.m];
            x1_2 = sh_exchange[begin + 2u * s.m];
        }
        if live2 {
            let begin = f2 * t.n + b2;
            x2_0 = sh_exchange[begin + 0u * s.m];
            x2_1 = sh_exchange[begin + 1u * s.m];
            x2_2 = sh_exchange[begin + 2u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
        x0_2 = c_mul(x0_2, twiddles[w + 1u * s.done]);
    }
    let n0 = x0_1 + x0_2;
    let n1 = x0_1 - x0_2;
    let n2 = x0_0 + (n0);
    let n3 = fma(vec2(-0.5), n0, x0_0);
    let n4 = 0.8660254 * n1;
    let n5 = vec2(n3.x + n4.y, n3.y - n4.x);
    let n6 = vec2(n3.x - n4.y, n3.y + n4.x);
    let block1 = quotient(b1, each);
    if s.done > 1u {
        let w = s.twiddles + b1 - block1 * s.done;
        x1_1 = c_mul(x1_1, twiddles[w + 0u * s.done]);
        x1_2 = c_mul(x1_2, twiddles[w + 1u * s.done]);
    }
    let n7 = x1_1 + x1_2;
    let n8 = x1_1 - x1_2;
    let n9 = x1_0 + (n7);
    let n10 = fma(vec2(-0.5), n7, x1_0);
    let n11 = 0.8660254 * n8;
    let n12 = vec2(n10.x + n11.y, n10.y - n11.x);
    let n13 = vec2(n10.x - n11.y, n10.y + n11.x);
    let block2 = quotient(b2, each);
    if s.done > 1u {
        let w = s.twiddles + b2 - block2 * s.done;
        x2_1 = c_mul(x2_1, twiddles[w + 0u * s.done]);
        x2_2 = c_mul(x2_2, twiddles[w + 1u * s.done]);
    }
    let n14 = x2_1 + x2_2;
    let n15 = x2_1 - x2_2;
    let n16 = x2_0 + (n14);
    let n17 = fma(vec2(-0.5), n14, x2_0);
    let n18 = 0.8660254 * n15;
    let n19 = vec2(n17.x + n18.y, n17.y - n18.x);
    let n20 = vec2(n17.x - n18.y, n17.y + n18.x);
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n2, n2.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n5, n5.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n6, n6.yx, exchanged);
        }
        if live1 {
            let item = item_of(t, f1);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b1;
            y[to + 0u * s.m] = factor * select(n9, n9.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n12, n12.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n13, n13.yx, exchanged);
        }
        if live2 {
            let item = item_of(t, f2);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b2;
            y[to + 0u * s.m] = factor * select(n16, n16.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n19, n19.yx, exchanged);
            y[to + 2u * s.m] = factor * select(n20, n20.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 2u;
            sh_exchange[to + 0u * s.done] = n2;
            sh_exchange[to + 1u * s.done] = n5;
            sh_exchange[to + 2u * s.done] = n6;
        }
        if live1 {
            let to = f1 * t.n + b1 + block1 * s.done * 2u;
            sh_exchange[to + 0u * s.done] = n9;
            sh_exchange[to + 1u * s.done] = n12;
            sh_exchange[to + 2u * s.done] = n13;
        }
        if live2 {
            let to = f2 * t.n + b2 + block2 * s.done * 2u;
            sh_exchange[to + 0u * s.done] = n16;
            sh_exchange[to + 1u * s.done] = n19;
            sh_exchange[to + 2u * s.done] = n20;
        }
        workgroupBarrier();
    }
}
fn stage_2(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
    let i0 = lid + 0u;
    let f0 = quotient(i0, part);
    let b0 = i0 - f0 * s.m;
    let live0 = i0 < t.count * s.m;
    var x0_0 = vec2(0.0);
    var x0_1 = vec2(0.0);
    let i1 = lid + 256u;
    let f1 = quotient(i1, part);
    let b1 = i1 - f1 * s.m;
    let live1 = i1 < t.count * s.m;
    var x1_0 = vec2(0.0);
    var x1_1 = vec2(0.0);
    let i2 = lid + 512u;
    let f2 = quotient(i2, part);
    let b2 = i2 - f2 * s.m;
    let live2 = i2 < t.count * s.m;
    var x2_0 = vec2(0.0);
    var x2_1 = vec2(0.0);
    let i3 = lid + 768u;
    let f3 = quotient(i3, part);
    let b3 = i3 - f3 * s.m;
    let live3 = i3 < t.count * s.m;
    var x3_0 = vec2(0.0);
    var x3_1 = vec2(0.0);
    if s.from_operand {
        if live0 {
            let begin = (p.x_base >> 1u) + item_of(t, f0).x + b0;
            x0_0 = x[begin + 0u * s.m];
            x0_1 = x[begin + 1u * s.m];
        }
        if live1 {
            let begin = (p.x_base >> 1u) + item_of(t, f1).x + b1;
            x1_0 = x[begin + 0u * s.m];
            x1_1 = x[begin + 1u * s.m];
        }
        if live2 {
            let begin = (p.x_base >> 1u) + item_of(t, f2).x + b2;
            x2_0 = x[begin + 0u * s.m];
            x2_1 = x[begin + 1u * s.m];
        }
        if live3 {
            let begin = (p.x_base >> 1u) + item_of(t, f3).x + b3;
            x3_0 = x[begin + 0u * s.m];
            x3_1 = x[begin + 1u * s.m];
        }
        if (p.load & EXCHANGED) != 0u {
            x0_0 = x0_0.yx;
            x0_1 = x0_1.yx;
            x1_0 = x1_0.yx;
            x1_1 = x1_1.yx;
            x2_0 = x2_0.yx;
            x2_1 = x2_1.yx;
            x3_0 = x3_0.yx;
            x3_1 = x3_1.yx;
        }
    } else {
        if live0 {
            let begin = f0 * t.n + b0;
            x0_0 = sh_exchange[begin + 0u * s.m];
            x0_1 = sh_exchange[begin + 1u * s.m];
        }
        if live1 {
            let begin = f1 * t.n + b1;
            x1_0 = sh_exchange[begin + 0u * s.m];
            x1_1 = sh_exchange[begin + 1u * s.m];
        }
        if live2 {
            let begin = f2 * t.n + b2;
            x2_0 = sh_exchange[begin + 0u * s.m];
            x2_1 = sh_exchange[begin + 1u * s.m];
        }
        if live3 {
            let begin = f3 * t.n + b3;
            x3_0 = sh_exchange[begin + 0u * s.m];
            x3_1 = sh_exchange[begin + 1u * s.m];
        }
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
    let block0 = quotient(b0, each);
    if s.done > 1u {
        let w = s.twiddles + b0 - block0 * s.done;
        x0_1 = c_mul(x0_1, twiddles[w + 0u * s.done]);
    }
    let n0 = x0_0 + x0_1;
    let n1 = x0_0 - x0_1;
    let block1 = quotient(b1, each);
    if s.done > 1u {
        let w = s.twiddles + b1 - block1 * s.done;
        x1_1 = c_mul(x1_1, twiddles[w + 0u * s.done]);
    }
    let n2 = x1_0 + x1_1;
    let n3 = x1_0 - x1_1;
    let block2 = quotient(b2, each);
    if s.done > 1u {
        let w = s.twiddles + b2 - block2 * s.done;
        x2_1 = c_mul(x2_1, twiddles[w + 0u * s.done]);
    }
    let n4 = x2_0 + x2_1;
    let n5 = x2_0 - x2_1;
    let block3 = quotient(b3, each);
    if s.done > 1u {
        let w = s.twiddles + b3 - block3 * s.done;
        x3_1 = c_mul(x3_1, twiddles[w + 0u * s.done]);
    }
    let n6 = x3_0 + x3_1;
    let n7 = x3_0 - x3_1;
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
        if live0 {
            let item = item_of(t, f0);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b0;
            y[to + 0u * s.m] = factor * select(n0, n0.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n1, n1.yx, exchanged);
        }
        if live1 {
            let item = item_of(t, f1);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b1;
            y[to + 0u * s.m] = factor * select(n2, n2.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n3, n3.yx, exchanged);
        }
        if live2 {
            let item = item_of(t, f2);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b2;
            y[to + 0u * s.m] = factor * select(n4, n4.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n5, n5.yx, exchanged);
        }
        if live3 {
            let item = item_of(t, f3);
            let factor = bitcast<f32>(item.w);
            let to = item.y + b3;
            y[to + 0u * s.m] = factor * select(n6, n6.yx, exchanged);
            y[to + 1u * s.m] = factor * select(n7, n7.yx, exchanged);
        }
    } else {
        if live0 {
            let to = f0 * t.n + b0 + block0 * s.done * 1u;
            sh_exchange[to + 0u * s.done] = n0;
            sh_exchange[to + 1u * s.done] = n1;
        }
        if live1 {
            let to = f1 * t.n + b1 + block1 * s.done * 1u;
            sh_exchange[to + 0u * s.done] = n2;
            sh_exchange[to + 1u * s.done] = n3;
        }
        if live2 {
            let to = f2 * t.n + b2 + block2 * s.done * 1u;
            sh_exchange[to + 0u * s.done] = n4;
            sh_exchange[to + 1u * s.done] = n5;
        }
        if live3 {
            let to = f3 * t.n + b3 + block3 * s.done * 1u;
            sh_exchange[to + 0u * s.done] = n6;
            sh_exchange[to + 1u * s.done] = n7;
        }
        workgroupBarrier();
    }
}

fn stage(lid: u32, t: Task, s: Stage) {
    switch s.radix {
        case 16u: { stage_16(lid, t, s); }
        case 10u: { stage_10(lid, t, s); }
        case 9u: { stage_9(lid, t, s); }
        case 8u: { stage_8(lid, t, s); }
        case 7u: { stage_7(lid, t, s); }
        case 5u: { stage_5(lid, t, s); }
        case 4u: { stage_4(lid, t, s); }
        case 3u: { stage_3(lid, t, s); }
        case 2u: { stage_2(lid, t, s); }
        default: {}
    }
}

// All loads of the following are issued before the first value is used.

fn load_pairs(lid: u32, t: Task) {
    let s0 = spot(lid + 0u * WG, t);
    let at0 = p.x_base + s0.x + 2u * s0.i;
    let a0 = x[at0 >> 1u];
    let b0 = x[(at0 + 1u) >> 1u];
    let s1 = spot(lid + 1u * WG, t);
    let at1 = p.x_base + s1.x + 2u * s1.i;
    let a1 = x[at1 >> 1u];
    let b1 = x[(at1 + 1u) >> 1u];
    let s2 = spot(lid + 2u * WG, t);
    let at2 = p.x_base + s2.x + 2u * s2.i;
    let a2 = x[at2 >> 1u];
    let b2 = x[(at2 + 1u) >> 1u];
    let s3 = spot(lid + 3u * WG, t);
    let at3 = p.x_base + s3.x + 2u * s3.i;
    let a3 = x[at3 >> 1u];
    let b3 = x[(at3 + 1u) >> 1u];
    let s4 = spot(lid + 4u * WG, t);
    let at4 = p.x_base + s4.x + 2u * s4.i;
    let a4 = x[at4 >> 1u];
    let b4 = x[(at4 + 1u) >> 1u];
    let s5 = spot(lid + 5u * WG, t);
    let at5 = p.x_base + s5.x + 2u * s5.i;
    let a5 = x[at5 >> 1u];
    let b5 = x[(at5 + 1u) >> 1u];
    let s6 = spot(lid + 6u * WG, t);
    let at6 = p.x_base + s6.x + 2u * s6.i;
    let a6 = x[at6 >> 1u];
    let b6 = x[(at6 + 1u) >> 1u];
    let s7 = spot(lid + 7u * WG, t);
    let at7 = p.x_base + s7.x + 2u * s7.i;
    let a7 = x[at7 >> 1u];
    let b7 = x[(at7 + 1u) >> 1u];
    sh_exchange[s0.k] = select(a0, vec2(a0.y, b0.x), (at0 & 1u) != 0u);
    sh_exchange[s1.k] = select(a1, vec2(a1.y, b1.x), (at1 & 1u) != 0u);
    sh_exchange[s2.k] = select(a2, vec2(a2.y, b2.x), (at2 & 1u) != 0u);
    sh_exchange[s3.k] = select(a3, vec2(a3.y, b3.x), (at3 & 1u) != 0u);
    sh_exchange[s4.k] = select(a4, vec2(a4.y, b4.x), (at4 & 1u) != 0u);
    sh_exchange[s5.k] = select(a5, vec2(a5.y, b5.x), (at5 & 1u) != 0u);
    sh_exchange[s6.k] = select(a6, vec2(a6.y, b6.x), (at6 & 1u) != 0u);
    sh_exchange[s7.k] = select(a7, vec2(a7.y, b7.x), (at7 & 1u) != 0u);
}

fn load_spectrum(lid: u32, t: Task) {
    let s0 = spot(lid + 0u * WG, t);
    let at0 = (p.x_base >> 1u) + s0.x;
    let a0 = x[at0 + s0.i];
    let b0 = x[at0 + t.n - s0.i];
    let w0 = twiddles[t.halves + s0.i];
    let s1 = spot(lid + 1u * WG, t);
    let at1 = (p.x_base >> 1u) + s1.x;
    let a1 = x[at1 + s1.i];
    let b1 = x[at1 + t.n - s1.i];
    let w1 = twiddles[t.halves + s1.i];
    let s2 = spot(lid + 2u * WG, t);
    let at2 = (p.x_base >> 1u) + s2.x;
    let a2 = x[at2 + s2.i];
    let b2 = x[at2 + t.n - s2.i];
    let w2 = twiddles[t.halves + s2.i];
    let s3 = spot(lid + 3u * WG, t);
    let at3 = (p.x_base >> 1u) + s3.x;
    let a3 = x[at3 + s3.i];
    let b3 = x[at3 + t.n - s3.i];
    let w3 = twiddles[t.halves + s3.i];
    let s4 = spot(lid + 4u * WG, t);
    let at4 = (p.x_base >> 1u) + s4.x;
    let a4 = x[at4 + s4.i];
    let b4 = x[at4 + t.n - s4.i];
    let w4 = twiddles[t.halves + s4.i];
    let s5 = spot(lid + 5u * WG, t);
    let at5 = (p.x_base >> 1u) + s5.x;
    let a5 = x[at5 + s5.i];
    let b5 = x[at5 + t.n - s5.i];
    let w5 = twiddles[t.halves + s5.i];
    let s6 = spot(lid + 6u * WG, t);
    let at6 = (p.x_base >> 1u) + s6.x;
    let a6 = x[at6 + s6.i];
    let b6 = x[at6 + t.n - s6.i];
    let w6 = twiddles[t.halves + s6.i];
    let s7 = spot(lid + 7u * WG, t);
    let at7 = (p.x_base >> 1u) + s7.x;
    let a7 = x[at7 + s7.i];
    let b7 = x[at7 + t.n - s7.i];
    let w7 = twiddles[t.halves + s7.i];
    sh_exchange[s0.k] = folded(s0.i, w0, a0, b0);
    sh_exchange[s1.k] = folded(s1.i, w1, a1, b1);
    sh_exchange[s2.k] = folded(s2.i, w2, a2, b2);
    sh_exchange[s3.k] = folded(s3.i, w3, a3, b3);
    sh_exchange[s4.k] = folded(s4.i, w4, a4, b4);
    sh_exchange[s5.k] = folded(s5.i, w5, a5, b5);
    sh_exchange[s6.k] = folded(s6.i, w6, a6, b6);
    sh_exchange[s7.k] = folded(s7.i, w7, a7, b7);
}

fn store_spectrum(lid: u32, t: Task) {
    let s0 = spot(lid + 0u * WG, t);
    let w0 = twiddles[t.halves + s0.i];
    let a0 = sh_exchange[s0.k];
    let b0 = sh_exchange[s0.k - s0.i + select(t.n - s0.i, 0u, s0.i == 0u)];
    let s1 = spot(lid + 1u * WG, t);
    let w1 = twiddles[t.halves + s1.i];
    let a1 = sh_exchange[s1.k];
    let b1 = sh_exchange[s1.k - s1.i + select(t.n - s1.i, 0u, s1.i == 0u)];
    let s2 = spot(lid + 2u * WG, t);
    let w2 = twiddles[t.halves + s2.i];
    let a2 = sh_exchange[s2.k];
    let b2 = sh_exchange[s2.k - s2.i + select(t.n - s2.i, 0u, s2.i == 0u)];
    let s3 = spot(lid + 3u * WG, t);
    let w3 = twiddles[t.halves + s3.i];
    let a3 = sh_exchange[s3.k];
    let b3 = sh_exchange[s3.k - s3.i + select(t.n - s3.i, 0u, s3.i == 0u)];
    let s4 = spot(lid + 4u * WG, t);
    let w4 = twiddles[t.halves + s4.i];
    let a4 = sh_exchange[s4.k];
    let b4 = sh_exchange[s4.k - s4.i + select(t.n - s4.i, 0u, s4.i == 0u)];
    let s5 = spot(lid + 5u * WG, t);
    let w5 = twiddles[t.halves + s5.i];
    let a5 = sh_exchange[s5.k];
    let b5 = sh_exchange[s5.k - s5.i + select(t.n - s5.i, 0u, s5.i == 0u)];
    let s6 = spot(lid + 6u * WG, t);
    let w6 = twiddles[t.halves + s6.i];
    let a6 = sh_exchange[s6.k];
    let b6 = sh_exchange[s6.k - s6.i + select(t.n - s6.i, 0u, s6.i == 0u)];
    let s7 = spot(lid + 7u * WG, t);
    let w7 = twiddles[t.halves + s7.i];
    let a7 = sh_exchange[s7.k];
    let b7 = sh_exchange[s7.k - s7.i + select(t.n - s7.i, 0u, s7.i == 0u)];
    store_result(s0, t, unfolded(w0, a0, b0), a0);
    store_result(s1, t, unfolded(w1, a1, b1), a1);
    store_result(s2, t, unfolded(w2, a2, b2), a2);
    store_result(s3, t, unfolded(w3, a3, b3), a3);
    store_result(s4, t, unfolded(w4, a4, b4), a4);
    store_result(s5, t, unfolded(w5, a5, b5), a5);
    store_result(s6, t, unfolded(w6, a6, b6), a6);
    store_result(s7, t, unfolded(w7, a7, b7), a7);
}

// Real values, or parts of a spectrum, of odd length.
fn load_odd(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        sh_exchange[k] = value_in(item_of(t, f), k - f * t.n);
    }
}

fn store_odd(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        value_out(item_of(t, f), k - f * t.n, sh_exchange[k]);
    }
}

fn store_pairs(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        let item = item_of(t, f);
        pair_out(item.y + 2u * (k - f * t.n), bitcast<f32>(item.w) * sh_exchange[k].yx);
    }
}

fn load_real(lid: u32, t: Task) {
    if t.halves == 0u {
        load_odd(lid, t);
    } else if (p.load & (REAL | HALF)) == REAL {
        load_pairs(lid, t);
    } else {
        load_spectrum(lid, t);
    }
}

fn store_real(lid: u32, t: Task) {
    if t.halves == 0u {
        store_odd(lid, t);
    } else if (p.store & (REAL | HALF)) == REAL {
        store_pairs(lid, t);
    } else {
        store_spectrum(lid, t);
    }
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
    var t: Task;
    var radices: u32;
    var s: Stage;
    if p.length > 0u {
        let first = group * p.per_group;
        t = Task(first, min(p.per_group, p.items - first), p.length >> u32(p.halves > 0u), p.halves);
        radices = p.radices;
        s.twiddles = p.twiddles;
    } else {
        let task = items[p.first_task + 2u * group];
        let places = items[p.first_task + 2u * group + 1u];
        t = Task(task.x - p.first_item, task.y, task.z, places.y);
        radices = task.w;
        s.twiddles = places.x;
    }
    let complex = ((p.load | p.store) & (REAL | HALF)) == 0u;
    if !complex {
        load_real(lid, t);
        workgroupBarrier();
    }
    s.done = 1u;
    s.from_operand = complex;
    loop {
        s.radix = (radices & 15u) + 1u;
        s.m = t.n / s.radix;
        radices >>= 4u;
        s.to_result = complex && radices == 0u;
        stage(lid, t, s);
        if radices == 0u {
            break;
        }
        if s.done > 1u {
            s.twiddles += (s.radix - 1u) * s.done;
        }
        s.done *= s.radix;
        s.from_operand = false;
    }
    if !complex {
        store_real(lid, t);
    }
}
