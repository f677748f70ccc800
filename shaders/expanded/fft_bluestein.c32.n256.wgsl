// fft_bluestein.c32.n256
alias E = vec2<f32>;
const REAL = 1u;
const HALF = 2u;
const EXCHANGED = 4u;
const HALVED = 8192u;
const NUMBER_SHIFT = 14u;
const WG = 256u;
const LENGTH = 256u;
const HELD = 8u;
const LAST = 7u;
const THREADS = 32u;
// Bluestein transforms of any length n, 2 n <= LENGTH, as cyclic convolutions of LENGTH values, a power of two.
//
// With w_k = e^(-πi k² / n), X_k = w_k Σ_j (x_j w_j) conj(w_{k-j}). `fft_filter.wgsl` computes the filter of each n.
// The third word of an item holds n in 13 bits, then a bit set for 2 n real values treated as n complex ones, and then
// the index of its filter.
//
// The filters of this LENGTH begin at p.filters.

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
    filters: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> filters: array<vec2<f32>>;

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

// n - k, or k if k is 0 or at least n.
fn mirrored(k: u32, n: u32) -> u32 {
    return select(n - k, k, k == 0u || k >= n);
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
        let w1 = twiddles[180u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w2 = twiddles[184u + p];
        let w4 = twiddles[188u + p];
        {
            let put = at + (j << 2u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 3u) << 0u);
            let got0 = got ^ (((got >> 5u) & 3u) << 0u);
            let put1 = put0 ^ 1u;
            let put2 = put0 ^ 2u;
            let put3 = put0 ^ 3u;
            let got1 = got0 ^ 1u;
            let got2 = got0 ^ 2u;
            let got3 = got0 ^ 3u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put0 + 128u] = (*v)[1].x;
            sh_exchange[put1] = (*v)[2].x;
            sh_exchange[put1 + 128u] = (*v)[3].x;
            sh_exchange[put2] = (*v)[4].x;
            sh_exchange[put2 + 128u] = (*v)[5].x;
            sh_exchange[put3] = (*v)[6].x;
            sh_exchange[put3 + 128u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got1 + 32u];
            (*v)[2].x = sh_exchange[got2 + 64u];
            (*v)[3].x = sh_exchange[got3 + 96u];
            (*v)[4].x = sh_exchange[got0 + 128u];
            (*v)[5].x = sh_exchange[got1 + 160u];
            (*v)[6].x = sh_exchange[got2 + 192u];
            (*v)[7].x = sh_exchange[got3 + 224u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put0 + 128u] = (*v)[1].y;
            sh_exchange[put1] = (*v)[2].y;
            sh_exchange[put1 + 128u] = (*v)[3].y;
            sh_exchange[put2] = (*v)[4].y;
            sh_exchange[put2 + 128u] = (*v)[5].y;
            sh_exchange[put3] = (*v)[6].y;
            sh_exchange[put3 + 128u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got1 + 32u];
            (*v)[2].y = sh_exchange[got2 + 64u];
            (*v)[3].y = sh_exchange[got3 + 96u];
            (*v)[4].y = sh_exchange[got0 + 128u];
            (*v)[5].y = sh_exchange[got1 + 160u];
            (*v)[6].y = sh_exchange[got2 + 192u];
            (*v)[7].y = sh_exchange[got3 + 224u];
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
    // Radix 8 after 32.
    {
        let p = j & 31u;
        let w1 = twiddles[192u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w2 = twiddles[224u + p];
        let w4 = twiddles[256u + p];
        {
            let put = at + ((j >> 2u) << 5u) + (j & 3u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 7u) << 2u);
            let got0 = got ^ (((got >> 5u) & 7u) << 2u);
            let put4 = put0 ^ 4u;
            let put8 = put0 ^ 8u;
            let put12 = put0 ^ 12u;
            let put16 = put0 ^ 16u;
            let put20 = put0 ^ 20u;
            let put24 = put0 ^ 24u;
            let put28 = put0 ^ 28u;
            let got4 = got0 ^ 4u;
            let got8 = got0 ^ 8u;
            let got12 = got0 ^ 12u;
            let got16 = got0 ^ 16u;
            let got20 = got0 ^ 20u;
            let got24 = got0 ^ 24u;
            let got28 = got0 ^ 28u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put4] = (*v)[1].x;
            sh_exchange[put8] = (*v)[2].x;
            sh_exchange[put12] = (*v)[3].x;
            sh_exchange[put16] = (*v)[4].x;
            sh_exchange[put20] = (*v)[5].x;
            sh_exchange[put24] = (*v)[6].x;
            sh_exchange[put28] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got4 + 32u];
            (*v)[2].x = sh_exchange[got8 + 64u];
            (*v)[3].x = sh_exchange[got12 + 96u];
            (*v)[4].x = sh_exchange[got16 + 128u];
            (*v)[5].x = sh_exchange[got20 + 160u];
            (*v)[6].x = sh_exchange[got24 + 192u];
            (*v)[7].x = sh_exchange[got28 + 224u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put4] = (*v)[1].y;
            sh_exchange[put8] = (*v)[2].y;
            sh_exchange[put12] = (*v)[3].y;
            sh_exchange[put16] = (*v)[4].y;
            sh_exchange[put20] = (*v)[5].y;
            sh_exchange[put24] = (*v)[6].y;
            sh_exchange[put28] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got4 + 32u];
            (*v)[2].y = sh_exchange[got8 + 64u];
            (*v)[3].y = sh_exchange[got12 + 96u];
            (*v)[4].y = sh_exchange[got16 + 128u];
            (*v)[5].y = sh_exchange[got20 + 160u];
            (*v)[6].y = sh_exchange[got24 + 192u];
            (*v)[7].y = sh_exchange[got28 + 224u];
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
fn backward(v: ptr<function, array<vec2<f32>, 8>>, h: ptr<function, array<vec2<f32>, 8>>, j: u32, at: u32) {
    // Radix 4 after 1.
    {
        {
            let x0 = (*v)[0];
            let y0 = (*h)[0];
            let x1 = (*v)[2];
            let y1 = (*h)[2];
            let x2 = (*v)[4];
            let y2 = (*h)[4];
            let x3 = (*v)[6];
            let y3 = (*h)[6];
            let n0 = c_mul(x0, y0);
            let n1 = c_add(n0, y2, x2);
            let n2 = fma(vec2(2.0), n0, -n1);
            let n3 = c_mul(x1, y1);
            let n4 = c_add(n3, y3, x3);
            let n5 = fma(vec2(2.0), n3, -n4);
            let n6 = n1 + n4;
            let n7 = n1 - n4;
            let n8 = vec2(n2.x + n5.y, n2.y - n5.x);
            let n9 = vec2(n2.x - n5.y, n2.y + n5.x);
            (*v)[0] = n6;
            (*v)[2] = n9;
            (*v)[4] = n7;
            (*v)[6] = n8;
        }
        {
            let x0 = (*v)[1];
            let y0 = (*h)[1];
            let x1 = (*v)[3];
            let y1 = (*h)[3];
            let x2 = (*v)[5];
            let y2 = (*h)[5];
            let x3 = (*v)[7];
            let y3 = (*h)[7];
            let n0 = c_mul(x0, y0);
            let n1 = c_add(n0, y2, x2);
            let n2 = fma(vec2(2.0), n0, -n1);
            let n3 = c_mul(x1, y1);
            let n4 = c_add(n3, y3, x3);
            let n5 = fma(vec2(2.0), n3, -n4);
            let n6 = n1 + n4;
            let n7 = n1 - n4;
            let n8 = vec2(n2.x + n5.y, n2.y - n5.x);
            let n9 = vec2(n2.x - n5.y, n2.y + n5.x);
            (*v)[1] = n6;
            (*v)[3] = n9;
            (*v)[5] = n7;
            (*v)[7] = n8;
        }
    }
    // Radix 8 after 4.
    {
        let p = j & 3u;
        let w1 = twiddles[288u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w2 = twiddles[292u + p];
        let w4 = twiddles[296u + p];
        {
            let put = at + (j << 2u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 3u) << 0u);
            let got0 = got ^ (((got >> 5u) & 3u) << 0u);
            let put1 = put0 ^ 1u;
            let put2 = put0 ^ 2u;
            let put3 = put0 ^ 3u;
            let got1 = got0 ^ 1u;
            let got2 = got0 ^ 2u;
            let got3 = got0 ^ 3u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put0 + 128u] = (*v)[1].x;
            sh_exchange[put1] = (*v)[2].x;
            sh_exchange[put1 + 128u] = (*v)[3].x;
            sh_exchange[put2] = (*v)[4].x;
            sh_exchange[put2 + 128u] = (*v)[5].x;
            sh_exchange[put3] = (*v)[6].x;
            sh_exchange[put3 + 128u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got1 + 32u];
            (*v)[2].x = sh_exchange[got2 + 64u];
            (*v)[3].x = sh_exchange[got3 + 96u];
            (*v)[4].x = sh_exchange[got0 + 128u];
            (*v)[5].x = sh_exchange[got1 + 160u];
            (*v)[6].x = sh_exchange[got2 + 192u];
            (*v)[7].x = sh_exchange[got3 + 224u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put0 + 128u] = (*v)[1].y;
            sh_exchange[put1] = (*v)[2].y;
            sh_exchange[put1 + 128u] = (*v)[3].y;
            sh_exchange[put2] = (*v)[4].y;
            sh_exchange[put2 + 128u] = (*v)[5].y;
            sh_exchange[put3] = (*v)[6].y;
            sh_exchange[put3 + 128u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got1 + 32u];
            (*v)[2].y = sh_exchange[got2 + 64u];
            (*v)[3].y = sh_exchange[got3 + 96u];
            (*v)[4].y = sh_exchange[got0 + 128u];
            (*v)[5].y = sh_exchange[got1 + 160u];
            (*v)[6].y = sh_exchange[got2 + 192u];
            (*v)[7].y = sh_exchange[got3 + 224u];
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
            let n18 = c_add(n7, w1_1, n15);
            let n19 = fma(vec2(2.0), n7, -n18);
            let n20 = c_add_quarter(n5, w1, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n6, w1_1, n14);
            let n23 = fma(vec2(2.0), n6, -n22);
            (*v)[0] = n16;
            (*v)[1] = n18;
            (*v)[2] = n21;
            (*v)[3] = n23;
            (*v)[4] = n17;
            (*v)[5] = n19;
            (*v)[6] = n20;
            (*v)[7] = n22;
        }
    }
    // Radix 8 after 32.
    {
        let p = j & 31u;
        let w1 = twiddles[300u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w2 = twiddles[332u + p];
        let w4 = twiddles[364u + p];
        {
            let put = at + ((j >> 2u) << 5u) + (j & 3u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 7u) << 2u);
            let got0 = got ^ (((got >> 5u) & 7u) << 2u);
            let put4 = put0 ^ 4u;
            let put8 = put0 ^ 8u;
            let put12 = put0 ^ 12u;
            let put16 = put0 ^ 16u;
            let put20 = put0 ^ 20u;
            let put24 = put0 ^ 24u;
            let put28 = put0 ^ 28u;
            let got4 = got0 ^ 4u;
            let got8 = got0 ^ 8u;
            let got12 = got0 ^ 12u;
            let got16 = got0 ^ 16u;
            let got20 = got0 ^ 20u;
            let got24 = got0 ^ 24u;
            let got28 = got0 ^ 28u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put4] = (*v)[1].x;
            sh_exchange[put8] = (*v)[2].x;
            sh_exchange[put12] = (*v)[3].x;
            sh_exchange[put16] = (*v)[4].x;
            sh_exchange[put20] = (*v)[5].x;
            sh_exchange[put24] = (*v)[6].x;
            sh_exchange[put28] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got4 + 32u];
            (*v)[2].x = sh_exchange[got8 + 64u];
            (*v)[3].x = sh_exchange[got12 + 96u];
            (*v)[4].x = sh_exchange[got16 + 128u];
            (*v)[5].x = sh_exchange[got20 + 160u];
            (*v)[6].x = sh_exchange[got24 + 192u];
            (*v)[7].x = sh_exchange[got28 + 224u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put4] = (*v)[1].y;
            sh_exchange[put8] = (*v)[2].y;
            sh_exchange[put12] = (*v)[3].y;
            sh_exchange[put16] = (*v)[4].y;
            sh_exchange[put20] = (*v)[5].y;
            sh_exchange[put24] = (*v)[6].y;
            sh_exchange[put28] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got4 + 32u];
            (*v)[2].y = sh_exchange[got8 + 64u];
            (*v)[3].y = sh_exchange[got12 + 96u];
            (*v)[4].y = sh_exchange[got16 + 128u];
            (*v)[5].y = sh_exchange[got20 + 160u];
            (*v)[6].y = sh_exchange[got24 + 192u];
            (*v)[7].y = sh_exchange[got28 + 224u];
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
            let n18 = c_add(n7, w1_1, n15);
            let n19 = fma(vec2(2.0), n7, -n18);
            let n20 = c_add_quarter(n5, w1, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n6, w1_1, n14);
            let n23 = fma(vec2(2.0), n6, -n22);
            (*v)[0] = n16;
            (*v)[1] = n18;
            (*v)[2] = n21;
            (*v)[3] = n23;
            (*v)[4] = n17;
            (*v)[5] = n19;
            (*v)[6] = n20;
            (*v)[7] = n22;
        }
    }
}

// Values and results occupy the first half.
fn load_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.load & (REAL | HALF)) == 0u {
        let begin = (p.x_base >> 1u) + item.x + j;
        if item.z > 0u {
            if j + 0u < item.z { (*v)[0] = x[begin + 0u]; }
            if j + 32u < item.z { (*v)[1] = x[begin + 32u]; }
            if j + 64u < item.z { (*v)[2] = x[begin + 64u]; }
            if j + 96u < item.z { (*v)[3] = x[begin + 96u]; }
        }
        if (p.load & EXCHANGED) != 0u {
            (*v)[0] = (*v)[0].yx;
            (*v)[1] = (*v)[1].yx;
            (*v)[2] = (*v)[2].yx;
            (*v)[3] = (*v)[3].yx;
        }
    } else {
        (*v)[0] = value_in(item, j + 0u);
        (*v)[1] = value_in(item, j + 32u);
        (*v)[2] = value_in(item, j + 64u);
        (*v)[3] = value_in(item, j + 96u);
    }
}

fn store_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.store & (REAL | HALF)) == 0u {
        let factor = bitcast<f32>(item.w);
        let to = item.y + j;
        if (p.store & EXCHANGED) != 0u {
            (*v)[0] = (*v)[0].yx * factor;
            (*v)[1] = (*v)[1].yx * factor;
            (*v)[2] = (*v)[2].yx * factor;
            (*v)[3] = (*v)[3].yx * factor;
        }
        if item.z > 0u {
            if j + 0u < item.z { y[to + 0u] = (*v)[0]; }
            if j + 32u < item.z { y[to + 32u] = (*v)[1]; }
            if j + 64u < item.z { y[to + 64u] = (*v)[2]; }
            if j + 96u < item.z { y[to + 96u] = (*v)[3]; }
        }
    } else {
        value_out(item, j + 0u, (*v)[0]);
        value_out(item, j + 32u, (*v)[1]);
        value_out(item, j + 64u, (*v)[2]);
        value_out(item, j + 96u, (*v)[3]);
    }
}

fn turn_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, filter_at: u32) {
    let begin = filter_at + j;
    if j + 0u < item.z { (*v)[0] = c_mul((*v)[0], filters[begin + 0u]); }
    if j + 32u < item.z { (*v)[1] = c_mul((*v)[1], filters[begin + 32u]); }
    if j + 64u < item.z { (*v)[2] = c_mul((*v)[2], filters[begin + 64u]); }
    if j + 96u < item.z { (*v)[3] = c_mul((*v)[3], filters[begin + 96u]); }
}

fn load_spectrum(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, filter_at: u32) {
    let begin = filter_at + LENGTH / 2u + j;
    if item.z > 0u {
        (*v)[0] = filters[begin + 0u];
        (*v)[1] = filters[begin + 32u];
        (*v)[2] = filters[begin + 64u];
        (*v)[3] = filters[begin + 96u];
        (*v)[4] = filters[begin + 128u];
        (*v)[5] = filters[begin + 160u];
        (*v)[6] = filters[begin + 192u];
        (*v)[7] = filters[begin + 224u];
    }
}

fn load_halved(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32, halves_at: u32) {
    if (p.load & (REAL | HALF)) == REAL {
        let begin = p.x_base + item.x + 2u * j;
        if j + 0u < item.z { (*v)[0] = pair_in(begin + 0u); }
        if j + 32u < item.z { (*v)[1] = pair_in(begin + 64u); }
        if j + 64u < item.z { (*v)[2] = pair_in(begin + 128u); }
        if j + 96u < item.z { (*v)[3] = pair_in(begin + 192u); }
    } else {
        let begin = (p.x_base >> 1u) + item.x;
        if j + 0u < item.z {
            (*v)[0] = folded(
                j + 0u, filters[halves_at + j + 0u],
                x[begin + j + 0u], x[begin + item.z - j - 0u]
            );
        }
        if j + 32u < item.z {
            (*v)[1] = folded(
                j + 32u, filters[halves_at + j + 32u],
                x[begin + j + 32u], x[begin + item.z - j - 32u]
            );
        }
        if j + 64u < item.z {
            (*v)[2] = folded(
                j + 64u, filters[halves_at + j + 64u],
                x[begin + j + 64u], x[begin + item.z - j - 64u]
            );
        }
        if j + 96u < item.z {
            (*v)[3] = folded(
                j + 96u, filters[halves_at + j + 96u],
                x[begin + j + 96u], x[begin + item.z - j - 96u]
            );
        }
    }
}

fn mirror(v: ptr<function, array<vec2<f32>, HELD>>, m: ptr<function, array<vec2<f32>, HELD>>, n: u32, j: u32, at: u32) {
    workgroupBarrier();
    sh_exchange[at + j + 0u] = (*v)[0].x;
    sh_exchange[at + j + 32u] = (*v)[1].x;
    sh_exchange[at + j + 64u] = (*v)[2].x;
    sh_exchange[at + j + 96u] = (*v)[3].x;
    workgroupBarrier();
    (*m)[0].x = sh_exchange[at + mirrored(j + 0u, n)];
    (*m)[1].x = sh_exchange[at + mirrored(j + 32u, n)];
    (*m)[2].x = sh_exchange[at + mirrored(j + 64u, n)];
    (*m)[3].x = sh_exchange[at + mirrored(j + 96u, n)];
    workgroupBarrier();
    sh_exchange[at + j + 0u] = (*v)[0].y;
    sh_exchange[at + j + 32u] = (*v)[1].y;
    sh_exchange[at + j + 64u] = (*v)[2].y;
    sh_exchange[at + j + 96u] = (*v)[3].y;
    workgroupBarrier();
    (*m)[0].y = sh_exchange[at + mirrored(j + 0u, n)];
    (*m)[1].y = sh_exchange[at + mirrored(j + 32u, n)];
    (*m)[2].y = sh_exchange[at + mirrored(j + 64u, n)];
    (*m)[3].y = sh_exchange[at + mirrored(j + 96u, n)];
}

fn store_halved(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    j: u32,
    halves_at: u32,
) {
    if (p.store & (REAL | HALF)) == REAL {
        let factor = bitcast<f32>(item.w);
        if j + 0u < item.z { pair_out(item.y + 2u * (j + 0u), (*v)[0].yx * factor); }
        if j + 32u < item.z { pair_out(item.y + 2u * (j + 32u), (*v)[1].yx * factor); }
        if j + 64u < item.z { pair_out(item.y + 2u * (j + 64u), (*v)[2].yx * factor); }
        if j + 96u < item.z { pair_out(item.y + 2u * (j + 96u), (*v)[3].yx * factor); }
    } else {
        if j + 0u < item.z {
            y[item.y + j + 0u] = unfolded(
                filters[halves_at + j + 0u],
                (*v)[0], (*m)[0]
            );
        }
        if j + 32u < item.z {
            y[item.y + j + 32u] = unfolded(
                filters[halves_at + j + 32u],
                (*v)[1], (*m)[1]
            );
        }
        if j + 64u < item.z {
            y[item.y + j + 64u] = unfolded(
                filters[halves_at + j + 64u],
                (*v)[2], (*m)[2]
            );
        }
        if j + 96u < item.z {
            y[item.y + j + 96u] = unfolded(
                filters[halves_at + j + 96u],
                (*v)[3], (*m)[3]
            );
        }
        if j == 0u && item.z > 0u { y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0); }
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
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let i = group * (WG / THREADS) + slot;
    let at = slot * LENGTH;
    var item = item_at(i);
    let filter_at = p.filters + (item.z >> NUMBER_SHIFT) * (2u * LENGTH);
    let halves_at = filter_at + LENGTH + LENGTH / 2u;
    let halved = (item.z & HALVED) != 0u;
    item.z = item.z & (HALVED - 1u);
    var v: array<vec2<f32>, HELD>;
    var h: array<vec2<f32>, HELD>;
    if halved {
        load_halved(&v, item, j, halves_at);
    } else {
        load_values(&v, item, j);
    }
    turn_values(&v, item, j, filter_at);
    forward(&v, j, at);
    load_spectrum(&h, item, j, filter_at);
    backward(&v, &h, j, at);
    turn_values(&v, item, j, filter_at);
    if (p.store & (REAL | HALF)) == HALF {
        mirror(&v, &h, item.z, j, at);
    }
    if halved {
        store_halved(&v, &h, item, j, halves_at);
    } else {
        store_values(&v, item, j);
    }
}
