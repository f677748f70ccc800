// conv_cached.f32.n256
alias E = f32;
const WG = 64u;
const LENGTH = 256u;
const HELD = 8u;
const THREADS = 32u;
const WORDS = 284u;
// c = a * kernel for the items of a work list, with cached spectra of the kernels; or, with p.spectra, these spectra.
//
// An item is a stretch of one convolution: (offset in a, values of a to use, offset of the spectrum, parts of the
// kernel), then (offset in c, results to skip, results to write, first value of the window). Items come in runs of
// `rounds` that share a spectrum, which stays in registers. With p.spectra an item is a part of a kernel, and its
// spectrum is written to c, where the offset in c counts complex values.
//
// PARTS: the kernel is longer than a transform. Each part is multiplied with its own window of a, one transform's
// length of results before that of the previous part, and the products are summed as spectra.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    items: u32,
    rounds: u32,
    spectra: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> spectra: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> twiddles: array<vec2<f32>>;

struct Item {
    a_at: u32,
    values: u32,
    spectrum: u32,
    parts: u32,
    c_at: u32,
    skip: u32,
    write: u32,
    start: u32, // of the window; PARTS only
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

// Item i, or an empty item beyond the last.
fn item_of(i: u32) -> Item {
    if i >= p.items {
        return Item(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
    }
    let x = items[2u * i];
    let y = items[2u * i + 1u];
    return Item(p.a_base + x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w);
}

// Stores result `at`, if that many are to be written.
fn store(item: Item, at: u32, value: f32) {
    if at < item.write {
        c[item.c_at + at] = value;
    }
}

var<workgroup> sh_exchange: array<f32, WORDS * (WG / THREADS)>;

fn forward(v: ptr<function, array<vec2<f32>, 8>>, j: u32, at: u32) {
    // Radix 4 after 1.
    {
        {
            let x0 = (*v)[0];
            let x1 = (*v)[2];
            let x2 = (*v)[4];
            let x3 = (*v)[6];
            let n0 = c_add(x0, vec2(0.70710677, -0.70710677), x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, vec2(0.70710677, -0.70710677), x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, vec2(0.9238795, -0.38268343), n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, vec2(0.9238795, -0.38268343), n3);
            let n7 = fma(vec2(2.0), n1, -n6);
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
            let n0 = c_add(x0, vec2(0.70710677, -0.70710677), x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, vec2(0.70710677, -0.70710677), x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, vec2(0.9238795, -0.38268343), n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, vec2(0.9238795, -0.38268343), n3);
            let n7 = fma(vec2(2.0), n1, -n6);
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
            let put = (j << 2u);
            let got = j;
            let put0 = at + put + ((put >> 5u) << 0u);
            let got0 = at + got + ((got >> 5u) << 0u);
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].x;
            sh_exchange[put0 + 132u] = (*v)[1].x;
            sh_exchange[put0 + 1u] = (*v)[2].x;
            sh_exchange[put0 + 133u] = (*v)[3].x;
            sh_exchange[put0 + 2u] = (*v)[4].x;
            sh_exchange[put0 + 134u] = (*v)[5].x;
            sh_exchange[put0 + 3u] = (*v)[6].x;
            sh_exchange[put0 + 135u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0 + 0u];
            (*v)[1].x = sh_exchange[got0 + 33u];
            (*v)[2].x = sh_exchange[got0 + 66u];
            (*v)[3].x = sh_exchange[got0 + 99u];
            (*v)[4].x = sh_exchange[got0 + 132u];
            (*v)[5].x = sh_exchange[got0 + 165u];
            (*v)[6].x = sh_exchange[got0 + 198u];
            (*v)[7].x = sh_exchange[got0 + 231u];
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].y;
            sh_exchange[put0 + 132u] = (*v)[1].y;
            sh_exchange[put0 + 1u] = (*v)[2].y;
            sh_exchange[put0 + 133u] = (*v)[3].y;
            sh_exchange[put0 + 2u] = (*v)[4].y;
            sh_exchange[put0 + 134u] = (*v)[5].y;
            sh_exchange[put0 + 3u] = (*v)[6].y;
            sh_exchange[put0 + 135u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0 + 0u];
            (*v)[1].y = sh_exchange[got0 + 33u];
            (*v)[2].y = sh_exchange[got0 + 66u];
            (*v)[3].y = sh_exchange[got0 + 99u];
            (*v)[4].y = sh_exchange[got0 + 132u];
            (*v)[5].y = sh_exchange[got0 + 165u];
            (*v)[6].y = sh_exchange[got0 + 198u];
            (*v)[7].y = sh_exchange[got0 + 231u];
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
        let w1 = twiddles[12u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w2 = twiddles[44u + p];
        let w4 = twiddles[76u + p];
        {
            let put = ((j >> 2u) << 5u) + (j & 3u);
            let got = j;
            let put0 = at + put + ((put >> 5u) << 2u);
            let got0 = at + got + ((got >> 5u) << 2u);
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].x;
            sh_exchange[put0 + 4u] = (*v)[1].x;
            sh_exchange[put0 + 8u] = (*v)[2].x;
            sh_exchange[put0 + 12u] = (*v)[3].x;
            sh_exchange[put0 + 16u] = (*v)[4].x;
            sh_exchange[put0 + 20u] = (*v)[5].x;
            sh_exchange[put0 + 24u] = (*v)[6].x;
            sh_exchange[put0 + 28u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0 + 0u];
            (*v)[1].x = sh_exchange[got0 + 36u];
            (*v)[2].x = sh_exchange[got0 + 72u];
            (*v)[3].x = sh_exchange[got0 + 108u];
            (*v)[4].x = sh_exchange[got0 + 144u];
            (*v)[5].x = sh_exchange[got0 + 180u];
            (*v)[6].x = sh_exchange[got0 + 216u];
            (*v)[7].x = sh_exchange[got0 + 252u];
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].y;
            sh_exchange[put0 + 4u] = (*v)[1].y;
            sh_exchange[put0 + 8u] = (*v)[2].y;
            sh_exchange[put0 + 12u] = (*v)[3].y;
            sh_exchange[put0 + 16u] = (*v)[4].y;
            sh_exchange[put0 + 20u] = (*v)[5].y;
            sh_exchange[put0 + 24u] = (*v)[6].y;
            sh_exchange[put0 + 28u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0 + 0u];
            (*v)[1].y = sh_exchange[got0 + 36u];
            (*v)[2].y = sh_exchange[got0 + 72u];
            (*v)[3].y = sh_exchange[got0 + 108u];
            (*v)[4].y = sh_exchange[got0 + 144u];
            (*v)[5].y = sh_exchange[got0 + 180u];
            (*v)[6].y = sh_exchange[got0 + 216u];
            (*v)[7].y = sh_exchange[got0 + 252u];
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
fn inverse(v: ptr<function, array<vec2<f32>, 8>>, h: ptr<function, array<vec2<f32>, 8>>, j: u32, at: u32) {
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
        let w1 = twiddles[108u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w2 = twiddles[112u + p];
        let w4 = twiddles[116u + p];
        {
            let put = (j << 2u);
            let got = j;
            let put0 = at + put + ((put >> 5u) << 0u);
            let got0 = at + got + ((got >> 5u) << 0u);
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].x;
            sh_exchange[put0 + 132u] = (*v)[1].x;
            sh_exchange[put0 + 1u] = (*v)[2].x;
            sh_exchange[put0 + 133u] = (*v)[3].x;
            sh_exchange[put0 + 2u] = (*v)[4].x;
            sh_exchange[put0 + 134u] = (*v)[5].x;
            sh_exchange[put0 + 3u] = (*v)[6].x;
            sh_exchange[put0 + 135u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0 + 0u];
            (*v)[1].x = sh_exchange[got0 + 33u];
            (*v)[2].x = sh_exchange[got0 + 66u];
            (*v)[3].x = sh_exchange[got0 + 99u];
            (*v)[4].x = sh_exchange[got0 + 132u];
            (*v)[5].x = sh_exchange[got0 + 165u];
            (*v)[6].x = sh_exchange[got0 + 198u];
            (*v)[7].x = sh_exchange[got0 + 231u];
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].y;
            sh_exchange[put0 + 132u] = (*v)[1].y;
            sh_exchange[put0 + 1u] = (*v)[2].y;
            sh_exchange[put0 + 133u] = (*v)[3].y;
            sh_exchange[put0 + 2u] = (*v)[4].y;
            sh_exchange[put0 + 134u] = (*v)[5].y;
            sh_exchange[put0 + 3u] = (*v)[6].y;
            sh_exchange[put0 + 135u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0 + 0u];
            (*v)[1].y = sh_exchange[got0 + 33u];
            (*v)[2].y = sh_exchange[got0 + 66u];
            (*v)[3].y = sh_exchange[got0 + 99u];
            (*v)[4].y = sh_exchange[got0 + 132u];
            (*v)[5].y = sh_exchange[got0 + 165u];
            (*v)[6].y = sh_exchange[got0 + 198u];
            (*v)[7].y = sh_exchange[got0 + 231u];
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
        let w1 = twiddles[120u + p];
        let w1_1 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w2 = twiddles[152u + p];
        let w4 = twiddles[184u + p];
        {
            let put = ((j >> 2u) << 5u) + (j & 3u);
            let got = j;
            let put0 = at + put + ((put >> 5u) << 2u);
            let got0 = at + got + ((got >> 5u) << 2u);
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].x;
            sh_exchange[put0 + 4u] = (*v)[1].x;
            sh_exchange[put0 + 8u] = (*v)[2].x;
            sh_exchange[put0 + 12u] = (*v)[3].x;
            sh_exchange[put0 + 16u] = (*v)[4].x;
            sh_exchange[put0 + 20u] = (*v)[5].x;
            sh_exchange[put0 + 24u] = (*v)[6].x;
            sh_exchange[put0 + 28u] = (*v)[7].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0 + 0u];
            (*v)[1].x = sh_exchange[got0 + 36u];
            (*v)[2].x = sh_exchange[got0 + 72u];
            (*v)[3].x = sh_exchange[got0 + 108u];
            (*v)[4].x = sh_exchange[got0 + 144u];
            (*v)[5].x = sh_exchange[got0 + 180u];
            (*v)[6].x = sh_exchange[got0 + 216u];
            (*v)[7].x = sh_exchange[got0 + 252u];
            workgroupBarrier();
            sh_exchange[put0 + 0u] = (*v)[0].y;
            sh_exchange[put0 + 4u] = (*v)[1].y;
            sh_exchange[put0 + 8u] = (*v)[2].y;
            sh_exchange[put0 + 12u] = (*v)[3].y;
            sh_exchange[put0 + 16u] = (*v)[4].y;
            sh_exchange[put0 + 20u] = (*v)[5].y;
            sh_exchange[put0 + 24u] = (*v)[6].y;
            sh_exchange[put0 + 28u] = (*v)[7].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0 + 0u];
            (*v)[1].y = sh_exchange[got0 + 36u];
            (*v)[2].y = sh_exchange[got0 + 72u];
            (*v)[3].y = sh_exchange[got0 + 108u];
            (*v)[4].y = sh_exchange[got0 + 144u];
            (*v)[5].y = sh_exchange[got0 + 180u];
            (*v)[6].y = sh_exchange[got0 + 216u];
            (*v)[7].y = sh_exchange[got0 + 252u];
        }
        {
            let weight = twiddles[216u + j];
            let x0 = (*v)[0];
            let x1 = (*v)[1];
            let x2 = (*v)[2];
            let x3 = (*v)[3];
            let x4 = (*v)[4];
            let x5 = (*v)[5];
            let x6 = (*v)[6];
            let x7 = (*v)[7];
            let n0 = c_mul(x0, weight);
            let n1 = c_mul(w4, weight);
            let n2 = c_add(n0, n1, x4);
            let n3 = fma(vec2(2.0), n0, -n2);
            let n4 = c_mul(x2, weight);
            let n5 = c_mul(w4, weight);
            let n6 = c_add(n4, n5, x6);
            let n7 = fma(vec2(2.0), n4, -n6);
            let n8 = c_add(n2, w2, n6);
            let n9 = fma(vec2(2.0), n2, -n8);
            let n10 = c_add_quarter(n3, w2, n7);
            let n11 = fma(vec2(2.0), n3, -n10);
            let n12 = c_mul(x1, weight);
            let n13 = c_mul(w4, weight);
            let n14 = c_add(n12, n13, x5);
            let n15 = fma(vec2(2.0), n12, -n14);
            let n16 = c_mul(x3, weight);
            let n17 = c_mul(w4, weight);
            let n18 = c_add(n16, n17, x7);
            let n19 = fma(vec2(2.0), n16, -n18);
            let n20 = c_add(n14, w2, n18);
            let n21 = fma(vec2(2.0), n14, -n20);
            let n22 = c_add_quarter(n15, w2, n19);
            let n23 = fma(vec2(2.0), n15, -n22);
            let n24 = c_add(n8, w1, n20);
            let n25 = fma(vec2(2.0), n8, -n24);
            let n26 = c_add(n11, w1_1, n23);
            let n27 = fma(vec2(2.0), n11, -n26);
            let n28 = c_add_quarter(n9, w1, n21);
            let n29 = fma(vec2(2.0), n9, -n28);
            let n30 = c_add_quarter(n10, w1_1, n22);
            let n31 = fma(vec2(2.0), n10, -n30);
            (*v)[0] = n24;
            (*v)[1] = c_mul(n26, vec2(0.98078525, 0.19509032));
            (*v)[2] = c_mul(n29, vec2(0.9238795, 0.38268343));
            (*v)[3] = c_mul(n31, vec2(0.8314696, 0.55557024));
            (*v)[4] = c_mul(n25, vec2(0.70710677, 0.70710677));
            (*v)[5] = c_mul(n27, vec2(0.55557024, 0.8314696));
            (*v)[6] = c_mul(n28, vec2(0.38268343, 0.9238795));
            (*v)[7] = c_mul(n30, vec2(0.19509032, 0.98078525));
        }
    }
}

// A right-angle transform holds value n + LENGTH, times -i, at place n. The second half of the results is in negated
// imaginary parts.
fn convolve(group: u32, lid: u32) {
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let first = (group * (WG / THREADS) + slot) * p.rounds;
    let exchange = slot * WORDS;
    var v: array<vec2<f32>, HELD>;
    var h: array<vec2<f32>, HELD>;
    for (var round = 0u; round < p.rounds; round += 1u) {
        let item = item_of(first + round);
        let a_at = item.a_at + j;
        let a_left = i32(item.values) - i32(j);
        v[0] = vec2(0.0);
        v[1] = vec2(0.0);
        v[2] = vec2(0.0);
        v[3] = vec2(0.0);
        v[4] = vec2(0.0);
        v[5] = vec2(0.0);
        v[6] = vec2(0.0);
        v[7] = vec2(0.0);
        if a_left > 0 {
            if a_left > 0 { v[0].x = a[a_at + 0u]; }
            if a_left > 32 { v[1].x = a[a_at + 32u]; }
            if a_left > 64 { v[2].x = a[a_at + 64u]; }
            if a_left > 96 { v[3].x = a[a_at + 96u]; }
            if a_left > 128 { v[4].x = a[a_at + 128u]; }
            if a_left > 160 { v[5].x = a[a_at + 160u]; }
            if a_left > 192 { v[6].x = a[a_at + 192u]; }
            if a_left > 224 { v[7].x = a[a_at + 224u]; }
        }
        // Most signals end before the second half; one branch then skips all of it.
        if a_left > 256 {
            if a_left > 256 { v[0].y = -a[a_at + 256u]; }
            if a_left > 288 { v[1].y = -a[a_at + 288u]; }
            if a_left > 320 { v[2].y = -a[a_at + 320u]; }
            if a_left > 352 { v[3].y = -a[a_at + 352u]; }
            if a_left > 384 { v[4].y = -a[a_at + 384u]; }
            if a_left > 416 { v[5].y = -a[a_at + 416u]; }
            if a_left > 448 { v[6].y = -a[a_at + 448u]; }
            if a_left > 480 { v[7].y = -a[a_at + 480u]; }
        }
        if p.spectra == 0u && round == 0u {
            h[0] = spectra[item.spectrum + j + 0u];
            h[1] = spectra[item.spectrum + j + 32u];
            h[2] = spectra[item.spectrum + j + 64u];
            h[3] = spectra[item.spectrum + j + 96u];
            h[4] = spectra[item.spectrum + j + 128u];
            h[5] = spectra[item.spectrum + j + 160u];
            h[6] = spectra[item.spectrum + j + 192u];
            h[7] = spectra[item.spectrum + j + 224u];
        }
        forward(&v, j, exchange);
        if p.spectra != 0u {
            if item.write != 0u {
                let at = 2u * (item.c_at + j);
                c[at + 0u] = v[0].x;
                c[at + 1u] = v[0].y;
                c[at + 64u] = v[1].x;
                c[at + 65u] = v[1].y;
                c[at + 128u] = v[2].x;
                c[at + 129u] = v[2].y;
                c[at + 192u] = v[3].x;
                c[at + 193u] = v[3].y;
                c[at + 256u] = v[4].x;
                c[at + 257u] = v[4].y;
                c[at + 320u] = v[5].x;
                c[at + 321u] = v[5].y;
                c[at + 384u] = v[6].x;
                c[at + 385u] = v[6].y;
                c[at + 448u] = v[7].x;
                c[at + 449u] = v[7].y;
            }
            continue;
        }
        inverse(&v, &h, j, exchange);
        let at = j - item.skip;
        if item.skip < LENGTH {
            store(item, at + 0u, v[0].x);
            store(item, at + 32u, v[1].x);
            store(item, at + 64u, v[2].x);
            store(item, at + 96u, v[3].x);
            store(item, at + 128u, v[4].x);
            store(item, at + 160u, v[5].x);
            store(item, at + 192u, v[6].x);
            store(item, at + 224u, v[7].x);
        }
        if item.skip + item.write > LENGTH {
            store(item, at + 256u, -v[0].y);
            store(item, at + 288u, -v[1].y);
            store(item, at + 320u, -v[2].y);
            store(item, at + 352u, -v[3].y);
            store(item, at + 384u, -v[4].y);
            store(item, at + 416u, -v[5].y);
            store(item, at + 448u, -v[6].y);
            store(item, at + 480u, -v[7].y);
        }
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
    convolve(group, lid);
}
