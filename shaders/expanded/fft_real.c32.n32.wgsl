// fft_real.c32.n32
alias E = vec2<f32>;
const REAL = 1u;
const HALF = 2u;
const EXCHANGED = 4u;
const WG = 256u;
const LENGTH = 32u;
const HELD = 8u;
const LAST = 7u;
const THREADS = 4u;
// Transforms of n = 2 LENGTH real values by one of LENGTH complex values, and back. LENGTH is a power of two.

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
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> halves: array<vec2<f32>>; // e^(-πi k / LENGTH) at LENGTH + k

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

var<workgroup> sh_exchange: array<f32, WG * HELD>;

fn forward(v: ptr<function, array<vec2<f32>, 8>>, j: u32, at: u32) {
    // Radix 4 after 1.
    {
        {
            let x0 = (*v)[0];
            let x1 = (*v)[2];
            let x2 = (*v)[4];
            let x3 = (*v)[6];
            let n0 = x0 + x2;
            let n1 = x0 - x2;
            let n2 = x1 + x3;
            let n3 = x1 - x3;
            let n4 = n0 + n2;
            let n5 = n0 - n2;
            let n6 = vec2(n1.x + n3.y, n1.y - n3.x);
            let n7 = vec2(n1.x - n3.y, n1.y + n3.x);
            (*v)[0] = n4;
            (*v)[2] = n6;
            (*v)[4] = n5;
            (*v)[6] = n7;
        }
        {
            let x0 = (*v)[1];
            let x1 = (*v)[3];
            let x2 = (*v)[5];
            let x3 = (*v)[7];
            let n0 = x0 + x2;
            let n1 = x0 - x2;
            let n2 = x1 + x3;
            let n3 = x1 - x3;
            let n4 = n0 + n2;
            let n5 = n0 - n2;
            let n6 = vec2(n1.x + n3.y, n1.y - n3.x);
            let n7 = vec2(n1.x - n3.y, n1.y + n3.x);
            (*v)[1] = n4;
            (*v)[3] = n6;
            (*v)[5] = n5;
            (*v)[7] = n7;
        }
    }
    // Radix 8 after 4.
    {
        let p = j & 3u;
        let w1 = twiddles[0u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w2 = twiddles[4u + p];
        let w4 = twiddles[8u + p];
        {
            let put = at + (j << 2u);
            let got = at + j;
            let put0 = put ^ (((put >> 2u) & 3u) << 0u) ^ (((put >> 5u) & 7u) << 2u);
            let got0 = got ^ (((got >> 2u) & 3u) << 0u) ^ (((got >> 5u) & 7u) << 2u);
            let put16 = put0 ^ 16u;
            let put1 = put0 ^ 1u;
            let put17 = put0 ^ 17u;
            let put2 = put0 ^ 2u;
            let put18 = put0 ^ 18u;
            let put3 = put0 ^ 3u;
            let put19 = put0 ^ 19u;
            let got5 = got0 ^ 5u;
            let got10 = got0 ^ 10u;
            let got15 = got0 ^ 15u;
            let got16 = got0 ^ 16u;
            let got21 = got0 ^ 21u;
            let got26 = got0 ^ 26u;
            let got31 = got0 ^ 31u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put16] = (*v)[1].x;
            sh_exchange[put1] = (*v)[2].x;
            sh_exchange[put17] = (*v)[3].x;
            sh_exchange[put2] = (*v)[4].x;
            sh_exchange[put18] = (*v)[5].x;
            sh_exchange[put3] = (*v)[6].x;
            sh_exchange[put19] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got5];
            (*v)[2].x = sh_exchange[got10];
            (*v)[3].x = sh_exchange[got15];
            (*v)[4].x = sh_exchange[got16];
            (*v)[5].x = sh_exchange[got21];
            (*v)[6].x = sh_exchange[got26];
            (*v)[7].x = sh_exchange[got31];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put16] = (*v)[1].y;
            sh_exchange[put1] = (*v)[2].y;
            sh_exchange[put17] = (*v)[3].y;
            sh_exchange[put2] = (*v)[4].y;
            sh_exchange[put18] = (*v)[5].y;
            sh_exchange[put3] = (*v)[6].y;
            sh_exchange[put19] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got5];
            (*v)[2].y = sh_exchange[got10];
            (*v)[3].y = sh_exchange[got15];
            (*v)[4].y = sh_exchange[got16];
            (*v)[5].y = sh_exchange[got21];
            (*v)[6].y = sh_exchange[got26];
            (*v)[7].y = sh_exchange[got31];
        }
        {
            let x0 = (*v)[0];
            let x1 = (*v)[1];
            let x2 = (*v)[2];
            let x3 = (*v)[3];
            let x4 = (*v)[4];
            let x5 = (*v)[5];
            let x6 = (*v)[6];
            let x7 = (*v)[7];
            let n0 = c_add(x0, w4, x4);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x2, w4, x6);
            let n3 = fma(vec2(2.0), x2, -n2);
            let n4 = c_add(n0, w2, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w2, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            let n8 = c_add(x1, w4, x5);
            let n9 = fma(vec2(2.0), x1, -n8);
            let n10 = c_add(x3, w4, x7);
            let n11 = fma(vec2(2.0), x3, -n10);
            let n12 = c_add(n8, w2, n10);
            let n13 = fma(vec2(2.0), n8, -n12);
            let n14 = c_add_quarter(n9, w2, n11);
            let n15 = fma(vec2(2.0), n9, -n14);
            let n16 = c_add(n4, w1, n12);
            let n17 = fma(vec2(2.0), n4, -n16);
            let n18 = c_add(n6, w1_1, n14);
            let n19 = fma(vec2(2.0), n6, -n18);
            let n20 = c_add_quarter(n5, w1, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n7, w1_1, n15);
            let n23 = fma(vec2(2.0), n7, -n22);
            (*v)[0] = n16;
            (*v)[1] = n18;
            (*v)[2] = n20;
            (*v)[3] = n22;
            (*v)[4] = n17;
            (*v)[5] = n19;
            (*v)[6] = n21;
            (*v)[7] = n23;
        }
    }
}

fn load_spectrum(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let begin = (p.x_base >> 1u) + item.x;
    let up = begin + j;
    let down = begin + LENGTH - j;
    var last: array<vec2<f32>, HELD>;
    (*v)[0] = x[up + 0u]; last[0] = x[down - 0u];
    (*v)[1] = x[up + 4u]; last[1] = x[down - 4u];
    (*v)[2] = x[up + 8u]; last[2] = x[down - 8u];
    (*v)[3] = x[up + 12u]; last[3] = x[down - 12u];
    (*v)[4] = x[up + 16u]; last[4] = x[down - 16u];
    (*v)[5] = x[up + 20u]; last[5] = x[down - 20u];
    (*v)[6] = x[up + 24u]; last[6] = x[down - 24u];
    (*v)[7] = x[up + 28u]; last[7] = x[down - 28u];
    (*v)[0] = folded(j + 0u, halves[LENGTH + j + 0u], (*v)[0], last[0]);
    (*v)[1] = folded(j + 4u, halves[LENGTH + j + 4u], (*v)[1], last[1]);
    (*v)[2] = folded(j + 8u, halves[LENGTH + j + 8u], (*v)[2], last[2]);
    (*v)[3] = folded(j + 12u, halves[LENGTH + j + 12u], (*v)[3], last[3]);
    (*v)[4] = folded(j + 16u, halves[LENGTH + j + 16u], (*v)[4], last[4]);
    (*v)[5] = folded(j + 20u, halves[LENGTH + j + 20u], (*v)[5], last[5]);
    (*v)[6] = folded(j + 24u, halves[LENGTH + j + 24u], (*v)[6], last[6]);
    (*v)[7] = folded(j + 28u, halves[LENGTH + j + 28u], (*v)[7], last[7]);
}

// Real values may begin at an odd word.
fn store_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let factor = bitcast<f32>(item.w);
    let to = (item.y >> 1u) + j;
    if (item.y & 1u) == 0u {
        y[to + 0u] = (*v)[0].yx * factor;
        y[to + 4u] = (*v)[1].yx * factor;
        y[to + 8u] = (*v)[2].yx * factor;
        y[to + 12u] = (*v)[3].yx * factor;
        y[to + 16u] = (*v)[4].yx * factor;
        y[to + 20u] = (*v)[5].yx * factor;
        y[to + 24u] = (*v)[6].yx * factor;
        y[to + 28u] = (*v)[7].yx * factor;
    } else {
        y[to + 0u].y = (*v)[0].y * factor; y[to + 0u + 1u].x = (*v)[0].x * factor;
        y[to + 4u].y = (*v)[1].y * factor; y[to + 4u + 1u].x = (*v)[1].x * factor;
        y[to + 8u].y = (*v)[2].y * factor; y[to + 8u + 1u].x = (*v)[2].x * factor;
        y[to + 12u].y = (*v)[3].y * factor; y[to + 12u + 1u].x = (*v)[3].x * factor;
        y[to + 16u].y = (*v)[4].y * factor; y[to + 16u + 1u].x = (*v)[4].x * factor;
        y[to + 20u].y = (*v)[5].y * factor; y[to + 20u + 1u].x = (*v)[5].x * factor;
        y[to + 24u].y = (*v)[6].y * factor; y[to + 24u + 1u].x = (*v)[6].x * factor;
        y[to + 28u].y = (*v)[7].y * factor; y[to + 28u + 1u].x = (*v)[7].x * factor;
    }
}

fn load_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    let begin = p.x_base + item.x;
    let at = (begin >> 1u) + j;
    if (begin & 1u) == 0u {
        (*v)[0] = x[at + 0u];
        (*v)[1] = x[at + 4u];
        (*v)[2] = x[at + 8u];
        (*v)[3] = x[at + 12u];
        (*v)[4] = x[at + 16u];
        (*v)[5] = x[at + 20u];
        (*v)[6] = x[at + 24u];
        (*v)[7] = x[at + 28u];
    } else {
        (*v)[0] = vec2(x[at + 0u].y, x[at + 0u + 1u].x);
        (*v)[1] = vec2(x[at + 4u].y, x[at + 4u + 1u].x);
        (*v)[2] = vec2(x[at + 8u].y, x[at + 8u + 1u].x);
        (*v)[3] = vec2(x[at + 12u].y, x[at + 12u + 1u].x);
        (*v)[4] = vec2(x[at + 16u].y, x[at + 16u + 1u].x);
        (*v)[5] = vec2(x[at + 20u].y, x[at + 20u + 1u].x);
        (*v)[6] = vec2(x[at + 24u].y, x[at + 24u + 1u].x);
        (*v)[7] = vec2(x[at + 28u].y, x[at + 28u + 1u].x);
    }
}

fn mirror(v: ptr<function, array<vec2<f32>, HELD>>, m: ptr<function, array<vec2<f32>, HELD>>, j: u32, at: u32) {
    let to = at + j;
    workgroupBarrier();
    sh_exchange[to + 0u] = (*v)[0].x;
    sh_exchange[to + 4u] = (*v)[1].x;
    sh_exchange[to + 8u] = (*v)[2].x;
    sh_exchange[to + 12u] = (*v)[3].x;
    sh_exchange[to + 16u] = (*v)[4].x;
    sh_exchange[to + 20u] = (*v)[5].x;
    sh_exchange[to + 24u] = (*v)[6].x;
    sh_exchange[to + 28u] = (*v)[7].x;
    workgroupBarrier();
    // Value 0 is its own mirror.
    (*m)[0].x = sh_exchange[at + ((LENGTH - j) & (LENGTH - 1u))];
    (*m)[1].x = sh_exchange[at + LENGTH - 4u - j];
    (*m)[2].x = sh_exchange[at + LENGTH - 8u - j];
    (*m)[3].x = sh_exchange[at + LENGTH - 12u - j];
    (*m)[4].x = sh_exchange[at + LENGTH - 16u - j];
    (*m)[5].x = sh_exchange[at + LENGTH - 20u - j];
    (*m)[6].x = sh_exchange[at + LENGTH - 24u - j];
    (*m)[7].x = sh_exchange[at + LENGTH - 28u - j];
    workgroupBarrier();
    sh_exchange[to + 0u] = (*v)[0].y;
    sh_exchange[to + 4u] = (*v)[1].y;
    sh_exchange[to + 8u] = (*v)[2].y;
    sh_exchange[to + 12u] = (*v)[3].y;
    sh_exchange[to + 16u] = (*v)[4].y;
    sh_exchange[to + 20u] = (*v)[5].y;
    sh_exchange[to + 24u] = (*v)[6].y;
    sh_exchange[to + 28u] = (*v)[7].y;
    workgroupBarrier();
    (*m)[0].y = sh_exchange[at + ((LENGTH - j) & (LENGTH - 1u))];
    (*m)[1].y = sh_exchange[at + LENGTH - 4u - j];
    (*m)[2].y = sh_exchange[at + LENGTH - 8u - j];
    (*m)[3].y = sh_exchange[at + LENGTH - 12u - j];
    (*m)[4].y = sh_exchange[at + LENGTH - 16u - j];
    (*m)[5].y = sh_exchange[at + LENGTH - 20u - j];
    (*m)[6].y = sh_exchange[at + LENGTH - 24u - j];
    (*m)[7].y = sh_exchange[at + LENGTH - 28u - j];
}

fn store_spectrum(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    j: u32,
) {
    let to = item.y + j;
    y[to + 0u] = unfolded(halves[LENGTH + j + 0u], (*v)[0], (*m)[0]);
    y[to + 4u] = unfolded(halves[LENGTH + j + 4u], (*v)[1], (*m)[1]);
    y[to + 8u] = unfolded(halves[LENGTH + j + 8u], (*v)[2], (*m)[2]);
    y[to + 12u] = unfolded(halves[LENGTH + j + 12u], (*v)[3], (*m)[3]);
    y[to + 16u] = unfolded(halves[LENGTH + j + 16u], (*v)[4], (*m)[4]);
    y[to + 20u] = unfolded(halves[LENGTH + j + 20u], (*v)[5], (*m)[5]);
    y[to + 24u] = unfolded(halves[LENGTH + j + 24u], (*v)[6], (*m)[6]);
    y[to + 28u] = unfolded(halves[LENGTH + j + 28u], (*v)[7], (*m)[7]);
    if j == 0u { y[to + LENGTH] = vec2((*v)[0].x - (*v)[0].y, 0.0); }
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
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let at = slot * LENGTH;
    let i = group * (WG / THREADS) + slot;
    let item = item_at(i);
    let back = (p.store & (REAL | HALF)) == REAL;
    var v: array<vec2<f32>, HELD>;
    if item.z > 0u {
        if back {
            load_spectrum(&v, item, j);
        } else {
            load_pairs(&v, item, j);
        }
    }
    forward(&v, j, at);
    if back {
        if item.z > 0u {
            store_pairs(&v, item, j);
        }
        return;
    }
    var m: array<vec2<f32>, HELD>;
    mirror(&v, &m, j, at);
    if item.z > 0u {
        store_spectrum(&v, &m, item, j);
    }
}
