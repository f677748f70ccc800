// conv_fused.f32.large
alias E = f32;
const REVERSED = 268435456u;
const WINDOWED = 536870912u;
const LENGTH_BITS = 14u;
const WG = 256u;
const LANES = 8u;
const EXCHANGE = 4096u;
// c = a * b for the items of a work list: transforms, product and inverse in one kernel, or direct sums if short.
//
// A workgroup does items of one class. Classes follow each other in `items` and over workgroups, and `ends` says where
// each ends: (workgroup, item), two classes in a vec4. An item is (a begin, b begin, c begin, lengths): the length of a
// in 14 bits, of b in 14 bits, then REVERSED and WINDOWED. A windowed item has in the place of `c begin` the index of
// its window, (c begin, results to skip, results to write); others write all results.
//
// MAX: only the largest result of an item and its index are written, as two words from word 2 · (offset in c) on.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    ends: array<vec4<u32>, 6>,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> twiddles: array<vec2<f32>>;

struct Item {
    a_at: u32,
    b_at: u32, // of the value that counts as the first
    b_step: u32, // 1, or -1 where b is read backwards
    m: u32,
    n: u32,
    c_at: u32,
    skip: u32,
    write: u32,
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

// Item i, or an empty item beyond the end of its class.
fn item_of(i: u32, end: u32) -> Item {
    if i >= end {
        return Item(0u, 0u, 1u, 0u, 0u, 0u, 0u, 0u);
    }
    let item = items[i];
    let m = item.w & ((1u << LENGTH_BITS) - 1u);
    let n = (item.w >> LENGTH_BITS) & ((1u << LENGTH_BITS) - 1u);
    var window = vec4(item.z, 0u, m + n - 1u, 0u);
    if (item.w & WINDOWED) != 0u {
        window = items[item.z];
    }
    let b_at = p.b_base + item.y;
    if (item.w & REVERSED) != 0u {
        return Item(p.a_base + item.x, b_at + n - 1u, 0xffffffffu, m, n, window.x, window.y, window.z);
    }
    return Item(p.a_base + item.x, b_at, 1u, m, n, window.x, window.y, window.z);
}

// Stores result `at`, if that many are to be written.
fn store(item: Item, at: u32, value: f32) {
    if at < item.write {
        c[item.c_at + at] = value;
    }
}

// Direct sums of products, LANES results of an item at a time.
fn convolve_directly(group: u32, first: u32, end: u32, lid: u32) {
    let item = item_of(first + group * (WG / LANES) + lid / LANES, end);
    for (var q = item.skip + lid % LANES; q < item.skip + item.write; q += LANES) {
        let begin = select(0u, q + 1u - item.n, q + 1u > item.n);
        let stop = min(item.m, q + 1u);
        var sum = 0.0;
        for (var i = begin; i < stop; i += 1u) {
            sum = fma(a[item.a_at + i], b[item.b_at + (q - i) * item.b_step], sum);
        }
        c[item.c_at + q - item.skip] = sum;
    }
}

var<workgroup> sh_exchange: array<f32, 4096>;
fn forward_4096(v: ptr<function, array<vec2<f32>, 16>>, j: u32, at: u32) {
    // Radix 16 after 1.
    {
        {
            let x0 = (*v)[0];
            let x1 = (*v)[1];
            let x2 = (*v)[2];
            let x3 = (*v)[3];
            let x4 = (*v)[4];
            let x5 = (*v)[5];
            let x6 = (*v)[6];
            let x7 = (*v)[7];
            let x8 = (*v)[8];
            let x9 = (*v)[9];
            let x10 = (*v)[10];
            let x11 = (*v)[11];
            let x12 = (*v)[12];
            let x13 = (*v)[13];
            let x14 = (*v)[14];
            let x15 = (*v)[15];
            let n0 = c_add(x0, vec2(0.70710677, -0.70710677), x8);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x4, vec2(0.70710677, -0.70710677), x12);
            let n3 = fma(vec2(2.0), x4, -n2);
            let n4 = c_add(n0, vec2(0.9238795, -0.38268343), n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, vec2(0.9238795, -0.38268343), n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            let n8 = c_add(x2, vec2(0.70710677, -0.70710677), x10);
            let n9 = fma(vec2(2.0), x2, -n8);
            let n10 = c_add(x6, vec2(0.70710677, -0.70710677), x14);
            let n11 = fma(vec2(2.0), x6, -n10);
            let n12 = c_add(n8, vec2(0.9238795, -0.38268343), n10);
            let n13 = fma(vec2(2.0), n8, -n12);
            let n14 = c_add_quarter(n9, vec2(0.9238795, -0.38268343), n11);
            let n15 = fma(vec2(2.0), n9, -n14);
            let n16 = c_add(n4, vec2(0.98078525, -0.19509032), n12);
            let n17 = fma(vec2(2.0), n4, -n16);
            let n18 = c_add(n6, vec2(0.55557024, -0.8314696), n14);
            let n19 = fma(vec2(2.0), n6, -n18);
            let n20 = c_add_quarter(n5, vec2(0.98078525, -0.19509032), n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n7, vec2(0.55557024, -0.8314696), n15);
            let n23 = fma(vec2(2.0), n7, -n22);
            let n24 = c_add(x1, vec2(0.70710677, -0.70710677), x9);
            let n25 = fma(vec2(2.0), x1, -n24);
            let n26 = c_add(x5, vec2(0.70710677, -0.70710677), x13);
            let n27 = fma(vec2(2.0), x5, -n26);
            let n28 = c_add(n24, vec2(0.9238795, -0.38268343), n26);
            let n29 = fma(vec2(2.0), n24, -n28);
            let n30 = c_add_quarter(n25, vec2(0.9238795, -0.38268343), n27);
            let n31 = fma(vec2(2.0), n25, -n30);
            let n32 = c_add(x3, vec2(0.70710677, -0.70710677), x11);
            let n33 = fma(vec2(2.0), x3, -n32);
            let n34 = c_add(x7, vec2(0.70710677, -0.70710677), x15);
            let n35 = fma(vec2(2.0), x7, -n34);
            let n36 = c_add(n32, vec2(0.9238795, -0.38268343), n34);
            let n37 = fma(vec2(2.0), n32, -n36);
            let n38 = c_add_quarter(n33, vec2(0.9238795, -0.38268343), n35);
            let n39 = fma(vec2(2.0), n33, -n38);
            let n40 = c_add(n28, vec2(0.98078525, -0.19509032), n36);
            let n41 = fma(vec2(2.0), n28, -n40);
            let n42 = c_add(n30, vec2(0.55557024, -0.8314696), n38);
            let n43 = fma(vec2(2.0), n30, -n42);
            let n44 = c_add_quarter(n29, vec2(0.98078525, -0.19509032), n37);
            let n45 = fma(vec2(2.0), n29, -n44);
            let n46 = c_add_quarter(n31, vec2(0.55557024, -0.8314696), n39);
            let n47 = fma(vec2(2.0), n31, -n46);
            let n48 = c_add(n16, vec2(0.9951847, -0.09801714), n40);
            let n49 = fma(vec2(2.0), n16, -n48);
            let n50 = c_add(n18, vec2(0.8819213, -0.47139674), n42);
            let n51 = fma(vec2(2.0), n18, -n50);
            let n52 = c_add(n20, vec2(0.6343933, -0.77301043), n44);
            let n53 = fma(vec2(2.0), n20, -n52);
            let n54 = c_add(n22, vec2(0.29028466, -0.95694035), n46);
            let n55 = fma(vec2(2.0), n22, -n54);
            let n56 = c_add_quarter(n17, vec2(0.9951847, -0.09801714), n41);
            let n57 = fma(vec2(2.0), n17, -n56);
            let n58 = c_add_quarter(n19, vec2(0.8819213, -0.47139674), n43);
            let n59 = fma(vec2(2.0), n19, -n58);
            let n60 = c_add_quarter(n21, vec2(0.6343933, -0.77301043), n45);
            let n61 = fma(vec2(2.0), n21, -n60);
            let n62 = c_add_quarter(n23, vec2(0.29028466, -0.95694035), n47);
            let n63 = fma(vec2(2.0), n23, -n62);
            (*v)[0] = n48;
            (*v)[1] = n50;
            (*v)[2] = n52;
            (*v)[3] = n54;
            (*v)[4] = n56;
            (*v)[5] = n58;
            (*v)[6] = n60;
            (*v)[7] = n62;
            (*v)[8] = n49;
            (*v)[9] = n51;
            (*v)[10] = n53;
            (*v)[11] = n55;
            (*v)[12] = n57;
            (*v)[13] = n59;
            (*v)[14] = n61;
            (*v)[15] = n63;
        }
    }
    // Radix 16 after 16.
    {
        let p = j & 15u;
        let w1 = twiddles[3172u + p];
        let w1_1 = c_mul(w1, vec2(0.9238795, -0.38268343));
        let w1_2 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w1_3 = c_mul(w1, vec2(0.38268343, -0.9238795));
        let w2 = twiddles[3188u + p];
        let w2_1 = c_mul(w2, vec2(0.70710677, -0.70710677));
        let w4 = twiddles[3204u + p];
        let w8 = twiddles[3220u + p];
        {
            let put = at + (j << 4u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 15u) << 0u);
            let got0 = got ^ (((got >> 5u) & 15u) << 0u);
            let put1 = put0 ^ 1u;
            let put2 = put0 ^ 2u;
            let put3 = put0 ^ 3u;
            let put4 = put0 ^ 4u;
            let put5 = put0 ^ 5u;
            let put6 = put0 ^ 6u;
            let put7 = put0 ^ 7u;
            let put8 = put0 ^ 8u;
            let put9 = put0 ^ 9u;
            let put10 = put0 ^ 10u;
            let put11 = put0 ^ 11u;
            let put12 = put0 ^ 12u;
            let put13 = put0 ^ 13u;
            let put14 = put0 ^ 14u;
            let put15 = put0 ^ 15u;
            let got8 = got0 ^ 8u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put1] = (*v)[1].x;
            sh_exchange[put2] = (*v)[2].x;
            sh_exchange[put3] = (*v)[3].x;
            sh_exchange[put4] = (*v)[4].x;
            sh_exchange[put5] = (*v)[5].x;
            sh_exchange[put6] = (*v)[6].x;
            sh_exchange[put7] = (*v)[7].x;
            sh_exchange[put8] = (*v)[8].x;
            sh_exchange[put9] = (*v)[9].x;
            sh_exchange[put10] = (*v)[10].x;
            sh_exchange[put11] = (*v)[11].x;
            sh_exchange[put12] = (*v)[12].x;
            sh_exchange[put13] = (*v)[13].x;
            sh_exchange[put14] = (*v)[14].x;
            sh_exchange[put15] = (*v)[15].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got8 + 256u];
            (*v)[2].x = sh_exchange[got0 + 512u];
            (*v)[3].x = sh_exchange[got8 + 768u];
            (*v)[4].x = sh_exchange[got0 + 1024u];
            (*v)[5].x = sh_exchange[got8 + 1280u];
            (*v)[6].x = sh_exchange[got0 + 1536u];
            (*v)[7].x = sh_exchange[got8 + 1792u];
            (*v)[8].x = sh_exchange[got0 + 2048u];
            (*v)[9].x = sh_exchange[got8 + 2304u];
            (*v)[10].x = sh_exchange[got0 + 2560u];
            (*v)[11].x = sh_exchange[got8 + 2816u];
            (*v)[12].x = sh_exchange[got0 + 3072u];
            (*v)[13].x = sh_exchange[got8 + 3328u];
            (*v)[14].x = sh_exchange[got0 + 3584u];
            (*v)[15].x = sh_exchange[got8 + 3840u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put1] = (*v)[1].y;
            sh_exchange[put2] = (*v)[2].y;
            sh_exchange[put3] = (*v)[3].y;
            sh_exchange[put4] = (*v)[4].y;
            sh_exchange[put5] = (*v)[5].y;
            sh_exchange[put6] = (*v)[6].y;
            sh_exchange[put7] = (*v)[7].y;
            sh_exchange[put8] = (*v)[8].y;
            sh_exchange[put9] = (*v)[9].y;
            sh_exchange[put10] = (*v)[10].y;
            sh_exchange[put11] = (*v)[11].y;
            sh_exchange[put12] = (*v)[12].y;
            sh_exchange[put13] = (*v)[13].y;
            sh_exchange[put14] = (*v)[14].y;
            sh_exchange[put15] = (*v)[15].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got8 + 256u];
            (*v)[2].y = sh_exchange[got0 + 512u];
            (*v)[3].y = sh_exchange[got8 + 768u];
            (*v)[4].y = sh_exchange[got0 + 1024u];
            (*v)[5].y = sh_exchange[got8 + 1280u];
            (*v)[6].y = sh_exchange[got0 + 1536u];
            (*v)[7].y = sh_exchange[got8 + 1792u];
            (*v)[8].y = sh_exchange[got0 + 2048u];
            (*v)[9].y = sh_exchange[got8 + 2304u];
            (*v)[10].y = sh_exchange[got0 + 2560u];
            (*v)[11].y = sh_exchange[got8 + 2816u];
            (*v)[12].y = sh_exchange[got0 + 3072u];
            (*v)[13].y = sh_exchange[got8 + 3328u];
            (*v)[14].y = sh_exchange[got0 + 3584u];
            (*v)[15].y = sh_exchange[got8 + 3840u];
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
            let x8 = (*v)[8];
            let x9 = (*v)[9];
            let x10 = (*v)[10];
            let x11 = (*v)[11];
            let x12 = (*v)[12];
            let x13 = (*v)[13];
            let x14 = (*v)[14];
            let x15 = (*v)[15];
            let n0 = c_add(x0, w8, x8);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x4, w8, x12);
            let n3 = fma(vec2(2.0), x4, -n2);
            let n4 = c_add(n0, w4, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w4, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            let n8 = c_add(x2, w8, x10);
            let n9 = fma(vec2(2.0), x2, -n8);
            let n10 = c_add(x6, w8, x14);
            let n11 = fma(vec2(2.0), x6, -n10);
            let n12 = c_add(n8, w4, n10);
            let n13 = fma(vec2(2.0), n8, -n12);
            let n14 = c_add_quarter(n9, w4, n11);
            let n15 = fma(vec2(2.0), n9, -n14);
            let n16 = c_add(n4, w2, n12);
            let n17 = fma(vec2(2.0), n4, -n16);
            let n18 = c_add(n6, w2_1, n14);
            let n19 = fma(vec2(2.0), n6, -n18);
            let n20 = c_add_quarter(n5, w2, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n7, w2_1, n15);
            let n23 = fma(vec2(2.0), n7, -n22);
            let n24 = c_add(x1, w8, x9);
            let n25 = fma(vec2(2.0), x1, -n24);
            let n26 = c_add(x5, w8, x13);
            let n27 = fma(vec2(2.0), x5, -n26);
            let n28 = c_add(n24, w4, n26);
            let n29 = fma(vec2(2.0), n24, -n28);
            let n30 = c_add_quarter(n25, w4, n27);
            let n31 = fma(vec2(2.0), n25, -n30);
            let n32 = c_add(x3, w8, x11);
            let n33 = fma(vec2(2.0), x3, -n32);
            let n34 = c_add(x7, w8, x15);
            let n35 = fma(vec2(2.0), x7, -n34);
            let n36 = c_add(n32, w4, n34);
            let n37 = fma(vec2(2.0), n32, -n36);
            let n38 = c_add_quarter(n33, w4, n35);
            let n39 = fma(vec2(2.0), n33, -n38);
            let n40 = c_add(n28, w2, n36);
            let n41 = fma(vec2(2.0), n28, -n40);
            let n42 = c_add(n30, w2_1, n38);
            let n43 = fma(vec2(2.0), n30, -n42);
            let n44 = c_add_quarter(n29, w2, n37);
            let n45 = fma(vec2(2.0), n29, -n44);
            let n46 = c_add_quarter(n31, w2_1, n39);
            let n47 = fma(vec2(2.0), n31, -n46);
            let n48 = c_add(n16, w1, n40);
            let n49 = fma(vec2(2.0), n16, -n48);
            let n50 = c_add(n18, w1_1, n42);
            let n51 = fma(vec2(2.0), n18, -n50);
            let n52 = c_add(n20, w1_2, n44);
            let n53 = fma(vec2(2.0), n20, -n52);
            let n54 = c_add(n22, w1_3, n46);
            let n55 = fma(vec2(2.0), n22, -n54);
            let n56 = c_add_quarter(n17, w1, n41);
            let n57 = fma(vec2(2.0), n17, -n56);
            let n58 = c_add_quarter(n19, w1_1, n43);
            let n59 = fma(vec2(2.0), n19, -n58);
            let n60 = c_add_quarter(n21, w1_2, n45);
            let n61 = fma(vec2(2.0), n21, -n60);
            let n62 = c_add_quarter(n23, w1_3, n47);
            let n63 = fma(vec2(2.0), n23, -n62);
            (*v)[0] = n48;
            (*v)[1] = n50;
            (*v)[2] = n52;
            (*v)[3] = n54;
            (*v)[4] = n56;
            (*v)[5] = n58;
            (*v)[6] = n60;
            (*v)[7] = n62;
            (*v)[8] = n49;
            (*v)[9] = n51;
            (*v)[10] = n53;
            (*v)[11] = n55;
            (*v)[12] = n57;
            (*v)[13] = n59;
            (*v)[14] = n61;
            (*v)[15] = n63;
        }
    }
    // Radix 16 after 256.
    {
        let p = j & 255u;
        let w1 = twiddles[3236u + p];
        let w1_1 = c_mul(w1, vec2(0.9238795, -0.38268343));
        let w1_2 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w1_3 = c_mul(w1, vec2(0.38268343, -0.9238795));
        let w2 = twiddles[3492u + p];
        let w2_1 = c_mul(w2, vec2(0.70710677, -0.70710677));
        let w4 = twiddles[3748u + p];
        let w8 = twiddles[4004u + p];
        {
            let put = at + ((j >> 4u) << 8u) + (j & 15u);
            let got = at + j;
            let put0 = put ^ (((put >> 8u) & 1u) << 4u);
            let got0 = got ^ (((got >> 8u) & 1u) << 4u);
            let put16 = put0 ^ 16u;
            let got16 = got0 ^ 16u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put16] = (*v)[1].x;
            sh_exchange[put0 + 32u] = (*v)[2].x;
            sh_exchange[put16 + 32u] = (*v)[3].x;
            sh_exchange[put0 + 64u] = (*v)[4].x;
            sh_exchange[put16 + 64u] = (*v)[5].x;
            sh_exchange[put0 + 96u] = (*v)[6].x;
            sh_exchange[put16 + 96u] = (*v)[7].x;
            sh_exchange[put0 + 128u] = (*v)[8].x;
            sh_exchange[put16 + 128u] = (*v)[9].x;
            sh_exchange[put0 + 160u] = (*v)[10].x;
            sh_exchange[put16 + 160u] = (*v)[11].x;
            sh_exchange[put0 + 192u] = (*v)[12].x;
            sh_exchange[put16 + 192u] = (*v)[13].x;
            sh_exchange[put0 + 224u] = (*v)[14].x;
            sh_exchange[put16 + 224u] = (*v)[15].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got16 + 256u];
            (*v)[2].x = sh_exchange[got0 + 512u];
            (*v)[3].x = sh_exchange[got16 + 768u];
            (*v)[4].x = sh_exchange[got0 + 1024u];
            (*v)[5].x = sh_exchange[got16 + 1280u];
            (*v)[6].x = sh_exchange[got0 + 1536u];
            (*v)[7].x = sh_exchange[got16 + 1792u];
            (*v)[8].x = sh_exchange[got0 + 2048u];
            (*v)[9].x = sh_exchange[got16 + 2304u];
            (*v)[10].x = sh_exchange[got0 + 2560u];
            (*v)[11].x = sh_exchange[got16 + 2816u];
            (*v)[12].x = sh_exchange[got0 + 3072u];
            (*v)[13].x = sh_exchange[got16 + 3328u];
            (*v)[14].x = sh_exchange[got0 + 3584u];
            (*v)[15].x = sh_exchange[got16 + 3840u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put16] = (*v)[1].y;
            sh_exchange[put0 + 32u] = (*v)[2].y;
            sh_exchange[put16 + 32u] = (*v)[3].y;
            sh_exchange[put0 + 64u] = (*v)[4].y;
            sh_exchange[put16 + 64u] = (*v)[5].y;
            sh_exchange[put0 + 96u] = (*v)[6].y;
            sh_exchange[put16 + 96u] = (*v)[7].y;
            sh_exchange[put0 + 128u] = (*v)[8].y;
            sh_exchange[put16 + 128u] = (*v)[9].y;
            sh_exchange[put0 + 160u] = (*v)[10].y;
            sh_exchange[put16 + 160u] = (*v)[11].y;
            sh_exchange[put0 + 192u] = (*v)[12].y;
            sh_exchange[put16 + 192u] = (*v)[13].y;
            sh_exchange[put0 + 224u] = (*v)[14].y;
            sh_exchange[put16 + 224u] = (*v)[15].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got16 + 256u];
            (*v)[2].y = sh_exchange[got0 + 512u];
            (*v)[3].y = sh_exchange[got16 + 768u];
            (*v)[4].y = sh_exchange[got0 + 1024u];
            (*v)[5].y = sh_exchange[got16 + 1280u];
            (*v)[6].y = sh_exchange[got0 + 1536u];
            (*v)[7].y = sh_exchange[got16 + 1792u];
            (*v)[8].y = sh_exchange[got0 + 2048u];
            (*v)[9].y = sh_exchange[got16 + 2304u];
            (*v)[10].y = sh_exchange[got0 + 2560u];
            (*v)[11].y = sh_exchange[got16 + 2816u];
            (*v)[12].y = sh_exchange[got0 + 3072u];
            (*v)[13].y = sh_exchange[got16 + 3328u];
            (*v)[14].y = sh_exchange[got0 + 3584u];
            (*v)[15].y = sh_exchange[got16 + 3840u];
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
            let x8 = (*v)[8];
            let x9 = (*v)[9];
            let x10 = (*v)[10];
            let x11 = (*v)[11];
            let x12 = (*v)[12];
            let x13 = (*v)[13];
            let x14 = (*v)[14];
            let x15 = (*v)[15];
            let n0 = c_add(x0, w8, x8);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x4, w8, x12);
            let n3 = fma(vec2(2.0), x4, -n2);
            let n4 = c_add(n0, w4, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w4, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            let n8 = c_add(x2, w8, x10);
            let n9 = fma(vec2(2.0), x2, -n8);
            let n10 = c_add(x6, w8, x14);
            let n11 = fma(vec2(2.0), x6, -n10);
            let n12 = c_add(n8, w4, n10);
            let n13 = fma(vec2(2.0), n8, -n12);
            let n14 = c_add_quarter(n9, w4, n11);
            let n15 = fma(vec2(2.0), n9, -n14);
            let n16 = c_add(n4, w2, n12);
            let n17 = fma(vec2(2.0), n4, -n16);
            let n18 = c_add(n6, w2_1, n14);
            let n19 = fma(vec2(2.0), n6, -n18);
            let n20 = c_add_quarter(n5, w2, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n7, w2_1, n15);
            let n23 = fma(vec2(2.0), n7, -n22);
            let n24 = c_add(x1, w8, x9);
            let n25 = fma(vec2(2.0), x1, -n24);
            let n26 = c_add(x5, w8, x13);
            let n27 = fma(vec2(2.0), x5, -n26);
            let n28 = c_add(n24, w4, n26);
            let n29 = fma(vec2(2.0), n24, -n28);
            let n30 = c_add_quarter(n25, w4, n27);
            let n31 = fma(vec2(2.0), n25, -n30);
            let n32 = c_add(x3, w8, x11);
            let n33 = fma(vec2(2.0), x3, -n32);
            let n34 = c_add(x7, w8, x15);
            let n35 = fma(vec2(2.0), x7, -n34);
            let n36 = c_add(n32, w4, n34);
            let n37 = fma(vec2(2.0), n32, -n36);
            let n38 = c_add_quarter(n33, w4, n35);
            let n39 = fma(vec2(2.0), n33, -n38);
            let n40 = c_add(n28, w2, n36);
            let n41 = fma(vec2(2.0), n28, -n40);
            let n42 = c_add(n30, w2_1, n38);
            let n43 = fma(vec2(2.0), n30, -n42);
            let n44 = c_add_quarter(n29, w2, n37);
            let n45 = fma(vec2(2.0), n29, -n44);
            let n46 = c_add_quarter(n31, w2_1, n39);
            let n47 = fma(vec2(2.0), n31, -n46);
            let n48 = c_add(n16, w1, n40);
            let n49 = fma(vec2(2.0), n16, -n48);
            let n50 = c_add(n18, w1_1, n42);
            let n51 = fma(vec2(2.0), n18, -n50);
            let n52 = c_add(n20, w1_2, n44);
            let n53 = fma(vec2(2.0), n20, -n52);
            let n54 = c_add(n22, w1_3, n46);
            let n55 = fma(vec2(2.0), n22, -n54);
            let n56 = c_add_quarter(n17, w1, n41);
            let n57 = fma(vec2(2.0), n17, -n56);
            let n58 = c_add_quarter(n19, w1_1, n43);
            let n59 = fma(vec2(2.0), n19, -n58);
            let n60 = c_add_quarter(n21, w1_2, n45);
            let n61 = fma(vec2(2.0), n21, -n60);
            let n62 = c_add_quarter(n23, w1_3, n47);
            let n63 = fma(vec2(2.0), n23, -n62);
            (*v)[0] = n48;
            (*v)[1] = n50;
            (*v)[2] = n52;
            (*v)[3] = n54;
            (*v)[4] = n56;
            (*v)[5] = n58;
            (*v)[6] = n60;
            (*v)[7] = n62;
            (*v)[8] = n49;
            (*v)[9] = n51;
            (*v)[10] = n53;
            (*v)[11] = n55;
            (*v)[12] = n57;
            (*v)[13] = n59;
            (*v)[14] = n61;
            (*v)[15] = n63;
        }
    }
}
fn inverse_4096(v: ptr<function, array<vec2<f32>, 16>>, h: ptr<function, array<vec2<f32>, 16>>, j: u32, at: u32) {
    // Radix 16 after 1.
    {
        {
            let x0 = (*v)[0];
            let y0 = (*h)[0];
            let x1 = (*v)[1];
            let y1 = (*h)[1];
            let x2 = (*v)[2];
            let y2 = (*h)[2];
            let x3 = (*v)[3];
            let y3 = (*h)[3];
            let x4 = (*v)[4];
            let y4 = (*h)[4];
            let x5 = (*v)[5];
            let y5 = (*h)[5];
            let x6 = (*v)[6];
            let y6 = (*h)[6];
            let x7 = (*v)[7];
            let y7 = (*h)[7];
            let x8 = (*v)[8];
            let y8 = (*h)[8];
            let x9 = (*v)[9];
            let y9 = (*h)[9];
            let x10 = (*v)[10];
            let y10 = (*h)[10];
            let x11 = (*v)[11];
            let y11 = (*h)[11];
            let x12 = (*v)[12];
            let y12 = (*h)[12];
            let x13 = (*v)[13];
            let y13 = (*h)[13];
            let x14 = (*v)[14];
            let y14 = (*h)[14];
            let x15 = (*v)[15];
            let y15 = (*h)[15];
            let n0 = c_mul(x0, y0);
            let n1 = c_add(n0, y8, x8);
            let n2 = fma(vec2(2.0), n0, -n1);
            let n3 = c_mul(x4, y4);
            let n4 = c_add(n3, y12, x12);
            let n5 = fma(vec2(2.0), n3, -n4);
            let n6 = n1 + n4;
            let n7 = n1 - n4;
            let n8 = vec2(n2.x + n5.y, n2.y - n5.x);
            let n9 = vec2(n2.x - n5.y, n2.y + n5.x);
            let n10 = c_mul(x2, y2);
            let n11 = c_add(n10, y10, x10);
            let n12 = fma(vec2(2.0), n10, -n11);
            let n13 = c_mul(x6, y6);
            let n14 = c_add(n13, y14, x14);
            let n15 = fma(vec2(2.0), n13, -n14);
            let n16 = n11 + n14;
            let n17 = n11 - n14;
            let n18 = vec2(n12.x + n15.y, n12.y - n15.x);
            let n19 = vec2(n12.x - n15.y, n12.y + n15.x);
            let n20 = n6 + n16;
            let n21 = n6 - n16;
            let n22 = c_add(n9, vec2(0.70710677, 0.70710677), n19);
            let n23 = fma(vec2(2.0), n9, -n22);
            let n24 = vec2(n7.x + n17.y, n7.y - n17.x);
            let n25 = vec2(n7.x - n17.y, n7.y + n17.x);
            let n26 = c_add_quarter(n8, vec2(0.70710677, 0.70710677), n18);
            let n27 = fma(vec2(2.0), n8, -n26);
            let n28 = c_mul(x1, y1);
            let n29 = c_add(n28, y9, x9);
            let n30 = fma(vec2(2.0), n28, -n29);
            let n31 = c_mul(x5, y5);
            let n32 = c_add(n31, y13, x13);
            let n33 = fma(vec2(2.0), n31, -n32);
            let n34 = n29 + n32;
            let n35 = n29 - n32;
            let n36 = vec2(n30.x + n33.y, n30.y - n33.x);
            let n37 = vec2(n30.x - n33.y, n30.y + n33.x);
            let n38 = c_mul(x3, y3);
            let n39 = c_add(n38, y11, x11);
            let n40 = fma(vec2(2.0), n38, -n39);
            let n41 = c_mul(x7, y7);
            let n42 = c_add(n41, y15, x15);
            let n43 = fma(vec2(2.0), n41, -n42);
            let n44 = n39 + n42;
            let n45 = n39 - n42;
            let n46 = vec2(n40.x + n43.y, n40.y - n43.x);
            let n47 = vec2(n40.x - n43.y, n40.y + n43.x);
            let n48 = n34 + n44;
            let n49 = n34 - n44;
            let n50 = c_add(n37, vec2(0.70710677, 0.70710677), n47);
            let n51 = fma(vec2(2.0), n37, -n50);
            let n52 = vec2(n35.x + n45.y, n35.y - n45.x);
            let n53 = vec2(n35.x - n45.y, n35.y + n45.x);
            let n54 = c_add_quarter(n36, vec2(0.70710677, 0.70710677), n46);
            let n55 = fma(vec2(2.0), n36, -n54);
            let n56 = n20 + n48;
            let n57 = n20 - n48;
            let n58 = c_add(n22, vec2(0.9238795, 0.38268343), n50);
            let n59 = fma(vec2(2.0), n22, -n58);
            let n60 = c_add(n25, vec2(0.70710677, 0.70710677), n53);
            let n61 = fma(vec2(2.0), n25, -n60);
            let n62 = c_add(n27, vec2(0.38268343, 0.9238795), n55);
            let n63 = fma(vec2(2.0), n27, -n62);
            let n64 = vec2(n21.x + n49.y, n21.y - n49.x);
            let n65 = vec2(n21.x - n49.y, n21.y + n49.x);
            let n66 = c_add_quarter(n23, vec2(0.9238795, 0.38268343), n51);
            let n67 = fma(vec2(2.0), n23, -n66);
            let n68 = c_add_quarter(n24, vec2(0.70710677, 0.70710677), n52);
            let n69 = fma(vec2(2.0), n24, -n68);
            let n70 = c_add_quarter(n26, vec2(0.38268343, 0.9238795), n54);
            let n71 = fma(vec2(2.0), n26, -n70);
            (*v)[0] = n56;
            (*v)[1] = n58;
            (*v)[2] = n60;
            (*v)[3] = n62;
            (*v)[4] = n65;
            (*v)[5] = n67;
            (*v)[6] = n69;
            (*v)[7] = n71;
            (*v)[8] = n57;
            (*v)[9] = n59;
            (*v)[10] = n61;
            (*v)[11] = n63;
            (*v)[12] = n64;
            (*v)[13] = n66;
            (*v)[14] = n68;
            (*v)[15] = n70;
        }
    }
    // Radix 16 after 16.
    {
        let p = j & 15u;
        let w1 = twiddles[4260u + p];
        let w1_1 = c_mul(w1, vec2(0.9238795, 0.38268343));
        let w1_2 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w1_3 = c_mul(w1, vec2(0.38268343, 0.9238795));
        let w2 = twiddles[4276u + p];
        let w2_1 = c_mul(w2, vec2(0.70710677, 0.70710677));
        let w4 = twiddles[4292u + p];
        let w8 = twiddles[4308u + p];
        {
            let put = at + (j << 4u);
            let got = at + j;
            let put0 = put ^ (((put >> 5u) & 15u) << 0u);
            let got0 = got ^ (((got >> 5u) & 15u) << 0u);
            let put1 = put0 ^ 1u;
            let put2 = put0 ^ 2u;
            let put3 = put0 ^ 3u;
            let put4 = put0 ^ 4u;
            let put5 = put0 ^ 5u;
            let put6 = put0 ^ 6u;
            let put7 = put0 ^ 7u;
            let put8 = put0 ^ 8u;
            let put9 = put0 ^ 9u;
            let put10 = put0 ^ 10u;
            let put11 = put0 ^ 11u;
            let put12 = put0 ^ 12u;
            let put13 = put0 ^ 13u;
            let put14 = put0 ^ 14u;
            let put15 = put0 ^ 15u;
            let got8 = got0 ^ 8u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put1] = (*v)[1].x;
            sh_exchange[put2] = (*v)[2].x;
            sh_exchange[put3] = (*v)[3].x;
            sh_exchange[put4] = (*v)[4].x;
            sh_exchange[put5] = (*v)[5].x;
            sh_exchange[put6] = (*v)[6].x;
            sh_exchange[put7] = (*v)[7].x;
            sh_exchange[put8] = (*v)[8].x;
            sh_exchange[put9] = (*v)[9].x;
            sh_exchange[put10] = (*v)[10].x;
            sh_exchange[put11] = (*v)[11].x;
            sh_exchange[put12] = (*v)[12].x;
            sh_exchange[put13] = (*v)[13].x;
            sh_exchange[put14] = (*v)[14].x;
            sh_exchange[put15] = (*v)[15].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got8 + 256u];
            (*v)[2].x = sh_exchange[got0 + 512u];
            (*v)[3].x = sh_exchange[got8 + 768u];
            (*v)[4].x = sh_exchange[got0 + 1024u];
            (*v)[5].x = sh_exchange[got8 + 1280u];
            (*v)[6].x = sh_exchange[got0 + 1536u];
            (*v)[7].x = sh_exchange[got8 + 1792u];
            (*v)[8].x = sh_exchange[got0 + 2048u];
            (*v)[9].x = sh_exchange[got8 + 2304u];
            (*v)[10].x = sh_exchange[got0 + 2560u];
            (*v)[11].x = sh_exchange[got8 + 2816u];
            (*v)[12].x = sh_exchange[got0 + 3072u];
            (*v)[13].x = sh_exchange[got8 + 3328u];
            (*v)[14].x = sh_exchange[got0 + 3584u];
            (*v)[15].x = sh_exchange[got8 + 3840u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put1] = (*v)[1].y;
            sh_exchange[put2] = (*v)[2].y;
            sh_exchange[put3] = (*v)[3].y;
            sh_exchange[put4] = (*v)[4].y;
            sh_exchange[put5] = (*v)[5].y;
            sh_exchange[put6] = (*v)[6].y;
            sh_exchange[put7] = (*v)[7].y;
            sh_exchange[put8] = (*v)[8].y;
            sh_exchange[put9] = (*v)[9].y;
            sh_exchange[put10] = (*v)[10].y;
            sh_exchange[put11] = (*v)[11].y;
            sh_exchange[put12] = (*v)[12].y;
            sh_exchange[put13] = (*v)[13].y;
            sh_exchange[put14] = (*v)[14].y;
            sh_exchange[put15] = (*v)[15].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got8 + 256u];
            (*v)[2].y = sh_exchange[got0 + 512u];
            (*v)[3].y = sh_exchange[got8 + 768u];
            (*v)[4].y = sh_exchange[got0 + 1024u];
            (*v)[5].y = sh_exchange[got8 + 1280u];
            (*v)[6].y = sh_exchange[got0 + 1536u];
            (*v)[7].y = sh_exchange[got8 + 1792u];
            (*v)[8].y = sh_exchange[got0 + 2048u];
            (*v)[9].y = sh_exchange[got8 + 2304u];
            (*v)[10].y = sh_exchange[got0 + 2560u];
            (*v)[11].y = sh_exchange[got8 + 2816u];
            (*v)[12].y = sh_exchange[got0 + 3072u];
            (*v)[13].y = sh_exchange[got8 + 3328u];
            (*v)[14].y = sh_exchange[got0 + 3584u];
            (*v)[15].y = sh_exchange[got8 + 3840u];
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
            let x8 = (*v)[8];
            let x9 = (*v)[9];
            let x10 = (*v)[10];
            let x11 = (*v)[11];
            let x12 = (*v)[12];
            let x13 = (*v)[13];
            let x14 = (*v)[14];
            let x15 = (*v)[15];
            let n0 = c_add(x0, w8, x8);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x4, w8, x12);
            let n3 = fma(vec2(2.0), x4, -n2);
            let n4 = c_add(n0, w4, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w4, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            let n8 = c_add(x2, w8, x10);
            let n9 = fma(vec2(2.0), x2, -n8);
            let n10 = c_add(x6, w8, x14);
            let n11 = fma(vec2(2.0), x6, -n10);
            let n12 = c_add(n8, w4, n10);
            let n13 = fma(vec2(2.0), n8, -n12);
            let n14 = c_add_quarter(n9, w4, n11);
            let n15 = fma(vec2(2.0), n9, -n14);
            let n16 = c_add(n4, w2, n12);
            let n17 = fma(vec2(2.0), n4, -n16);
            let n18 = c_add(n7, w2_1, n15);
            let n19 = fma(vec2(2.0), n7, -n18);
            let n20 = c_add_quarter(n5, w2, n13);
            let n21 = fma(vec2(2.0), n5, -n20);
            let n22 = c_add_quarter(n6, w2_1, n14);
            let n23 = fma(vec2(2.0), n6, -n22);
            let n24 = c_add(x1, w8, x9);
            let n25 = fma(vec2(2.0), x1, -n24);
            let n26 = c_add(x5, w8, x13);
            let n27 = fma(vec2(2.0), x5, -n26);
            let n28 = c_add(n24, w4, n26);
            let n29 = fma(vec2(2.0), n24, -n28);
            let n30 = c_add_quarter(n25, w4, n27);
            let n31 = fma(vec2(2.0), n25, -n30);
            let n32 = c_add(x3, w8, x11);
            let n33 = fma(vec2(2.0), x3, -n32);
            let n34 = c_add(x7, w8, x15);
            let n35 = fma(vec2(2.0), x7, -n34);
            let n36 = c_add(n32, w4, n34);
            let n37 = fma(vec2(2.0), n32, -n36);
            let n38 = c_add_quarter(n33, w4, n35);
            let n39 = fma(vec2(2.0), n33, -n38);
            let n40 = c_add(n28, w2, n36);
            let n41 = fma(vec2(2.0), n28, -n40);
            let n42 = c_add(n31, w2_1, n39);
            let n43 = fma(vec2(2.0), n31, -n42);
            let n44 = c_add_quarter(n29, w2, n37);
            let n45 = fma(vec2(2.0), n29, -n44);
            let n46 = c_add_quarter(n30, w2_1, n38);
            let n47 = fma(vec2(2.0), n30, -n46);
            let n48 = c_add(n16, w1, n40);
            let n49 = fma(vec2(2.0), n16, -n48);
            let n50 = c_add(n18, w1_1, n42);
            let n51 = fma(vec2(2.0), n18, -n50);
            let n52 = c_add(n21, w1_2, n45);
            let n53 = fma(vec2(2.0), n21, -n52);
            let n54 = c_add(n23, w1_3, n47);
            let n55 = fma(vec2(2.0), n23, -n54);
            let n56 = c_add_quarter(n17, w1, n41);
            let n57 = fma(vec2(2.0), n17, -n56);
            let n58 = c_add_quarter(n19, w1_1, n43);
            let n59 = fma(vec2(2.0), n19, -n58);
            let n60 = c_add_quarter(n20, w1_2, n44);
            let n61 = fma(vec2(2.0), n20, -n60);
            let n62 = c_add_quarter(n22, w1_3, n46);
            let n63 = fma(vec2(2.0), n22, -n62);
            (*v)[0] = n48;
            (*v)[1] = n50;
            (*v)[2] = n52;
            (*v)[3] = n54;
            (*v)[4] = n57;
            (*v)[5] = n59;
            (*v)[6] = n61;
            (*v)[7] = n63;
            (*v)[8] = n49;
            (*v)[9] = n51;
            (*v)[10] = n53;
            (*v)[11] = n55;
            (*v)[12] = n56;
            (*v)[13] = n58;
            (*v)[14] = n60;
            (*v)[15] = n62;
        }
    }
    // Radix 16 after 256.
    {
        let p = j & 255u;
        let w1 = twiddles[4324u + p];
        let w1_1 = c_mul(w1, vec2(0.9238795, 0.38268343));
        let w1_2 = c_mul(w1, vec2(0.70710677, 0.70710677));
        let w1_3 = c_mul(w1, vec2(0.38268343, 0.9238795));
        let w2 = twiddles[4580u + p];
        let w2_1 = c_mul(w2, vec2(0.70710677, 0.70710677));
        let w4 = twiddles[4836u + p];
        let w8 = twiddles[5092u + p];
        {
            let put = at + ((j >> 4u) << 8u) + (j & 15u);
            let got = at + j;
            let put0 = put ^ (((put >> 8u) & 1u) << 4u);
            let got0 = got ^ (((got >> 8u) & 1u) << 4u);
            let put16 = put0 ^ 16u;
            let got16 = got0 ^ 16u;
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put16] = (*v)[1].x;
            sh_exchange[put0 + 32u] = (*v)[2].x;
            sh_exchange[put16 + 32u] = (*v)[3].x;
            sh_exchange[put0 + 64u] = (*v)[4].x;
            sh_exchange[put16 + 64u] = (*v)[5].x;
            sh_exchange[put0 + 96u] = (*v)[6].x;
            sh_exchange[put16 + 96u] = (*v)[7].x;
            sh_exchange[put0 + 128u] = (*v)[8].x;
            sh_exchange[put16 + 128u] = (*v)[9].x;
            sh_exchange[put0 + 160u] = (*v)[10].x;
            sh_exchange[put16 + 160u] = (*v)[11].x;
            sh_exchange[put0 + 192u] = (*v)[12].x;
            sh_exchange[put16 + 192u] = (*v)[13].x;
            sh_exchange[put0 + 224u] = (*v)[14].x;
            sh_exchange[put16 + 224u] = (*v)[15].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got16 + 256u];
            (*v)[2].x = sh_exchange[got0 + 512u];
            (*v)[3].x = sh_exchange[got16 + 768u];
            (*v)[4].x = sh_exchange[got0 + 1024u];
            (*v)[5].x = sh_exchange[got16 + 1280u];
            (*v)[6].x = sh_exchange[got0 + 1536u];
            (*v)[7].x = sh_exchange[got16 + 1792u];
            (*v)[8].x = sh_exchange[got0 + 2048u];
            (*v)[9].x = sh_exchange[got16 + 2304u];
            (*v)[10].x = sh_exchange[got0 + 2560u];
            (*v)[11].x = sh_exchange[got16 + 2816u];
            (*v)[12].x = sh_exchange[got0 + 3072u];
            (*v)[13].x = sh_exchange[got16 + 3328u];
            (*v)[14].x = sh_exchange[got0 + 3584u];
            (*v)[15].x = sh_exchange[got16 + 3840u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put16] = (*v)[1].y;
            sh_exchange[put0 + 32u] = (*v)[2].y;
            sh_exchange[put16 + 32u] = (*v)[3].y;
            sh_exchange[put0 + 64u] = (*v)[4].y;
            sh_exchange[put16 + 64u] = (*v)[5].y;
            sh_exchange[put0 + 96u] = (*v)[6].y;
            sh_exchange[put16 + 96u] = (*v)[7].y;
            sh_exchange[put0 + 128u] = (*v)[8].y;
            sh_exchange[put16 + 128u] = (*v)[9].y;
            sh_exchange[put0 + 160u] = (*v)[10].y;
            sh_exchange[put16 + 160u] = (*v)[11].y;
            sh_exchange[put0 + 192u] = (*v)[12].y;
            sh_exchange[put16 + 192u] = (*v)[13].y;
            sh_exchange[put0 + 224u] = (*v)[14].y;
            sh_exchange[put16 + 224u] = (*v)[15].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got16 + 256u];
            (*v)[2].y = sh_exchange[got0 + 512u];
            (*v)[3].y = sh_exchange[got16 + 768u];
            (*v)[4].y = sh_exchange[got0 + 1024u];
            (*v)[5].y = sh_exchange[got16 + 1280u];
            (*v)[6].y = sh_exchange[got0 + 1536u];
            (*v)[7].y = sh_exchange[got16 + 1792u];
            (*v)[8].y = sh_exchange[got0 + 2048u];
            (*v)[9].y = sh_exchange[got16 + 2304u];
            (*v)[10].y = sh_exchange[got0 + 2560u];
            (*v)[11].y = sh_exchange[got16 + 2816u];
            (*v)[12].y = sh_exchange[got0 + 3072u];
            (*v)[13].y = sh_exchange[got16 + 3328u];
            (*v)[14].y = sh_exchange[got0 + 3584u];
            (*v)[15].y = sh_exchange[got16 + 3840u];
        }
        {
            let weight = twiddles[5348u + j];
            let x0 = (*v)[0];
            let x1 = (*v)[1];
            let x2 = (*v)[2];
            let x3 = (*v)[3];
            let x4 = (*v)[4];
            let x5 = (*v)[5];
            let x6 = (*v)[6];
            let x7 = (*v)[7];
            let x8 = (*v)[8];
            let x9 = (*v)[9];
            let x10 = (*v)[10];
            let x11 = (*v)[11];
            let x12 = (*v)[12];
            let x13 = (*v)[13];
            let x14 = (*v)[14];
            let x15 = (*v)[15];
            let n0 = c_mul(x0, weight);
            let n1 = c_mul(w8, weight);
            let n2 = c_add(n0, n1, x8);
            let n3 = fma(vec2(2.0), n0, -n2);
            let n4 = c_mul(x4, weight);
            let n5 = c_mul(w8, weight);
            let n6 = c_add(n4, n5, x12);
            let n7 = fma(vec2(2.0), n4, -n6);
            let n8 = c_add(n2, w4, n6);
            let n9 = fma(vec2(2.0), n2, -n8);
            let n10 = c_add_quarter(n3, w4, n7);
            let n11 = fma(vec2(2.0), n3, -n10);
            let n12 = c_mul(x2, weight);
            let n13 = c_mul(w8, weight);
            let n14 = c_add(n12, n13, x10);
            let n15 = fma(vec2(2.0), n12, -n14);
            let n16 = c_mul(x6, weight);
            let n17 = c_mul(w8, weight);
            let n18 = c_add(n16, n17, x14);
            let n19 = fma(vec2(2.0), n16, -n18);
            let n20 = c_add(n14, w4, n18);
            let n21 = fma(vec2(2.0), n14, -n20);
            let n22 = c_add_quarter(n15, w4, n19);
            let n23 = fma(vec2(2.0), n15, -n22);
            let n24 = c_add(n8, w2, n20);
            let n25 = fma(vec2(2.0), n8, -n24);
            let n26 = c_add(n11, w2_1, n23);
            let n27 = fma(vec2(2.0), n11, -n26);
            let n28 = c_add_quarter(n9, w2, n21);
            let n29 = fma(vec2(2.0), n9, -n28);
            let n30 = c_add_quarter(n10, w2_1, n22);
            let n31 = fma(vec2(2.0), n10, -n30);
            let n32 = c_mul(x1, weight);
            let n33 = c_mul(w8, weight);
            let n34 = c_add(n32, n33, x9);
            let n35 = fma(vec2(2.0), n32, -n34);
            let n36 = c_mul(x5, weight);
            let n37 = c_mul(w8, weight);
            let n38 = c_add(n36, n37, x13);
            let n39 = fma(vec2(2.0), n36, -n38);
            let n40 = c_add(n34, w4, n38);
            let n41 = fma(vec2(2.0), n34, -n40);
            let n42 = c_add_quarter(n35, w4, n39);
            let n43 = fma(vec2(2.0), n35, -n42);
            let n44 = c_mul(x3, weight);
            let n45 = c_mul(w8, weight);
            let n46 = c_add(n44, n45, x11);
            let n47 = fma(vec2(2.0), n44, -n46);
            let n48 = c_mul(x7, weight);
            let n49 = c_mul(w8, weight);
            let n50 = c_add(n48, n49, x15);
            let n51 = fma(vec2(2.0), n48, -n50);
            let n52 = c_add(n46, w4, n50);
            let n53 = fma(vec2(2.0), n46, -n52);
            let n54 = c_add_quarter(n47, w4, n51);
            let n55 = fma(vec2(2.0), n47, -n54);
            let n56 = c_add(n40, w2, n52);
            let n57 = fma(vec2(2.0), n40, -n56);
            let n58 = c_add(n43, w2_1, n55);
            let n59 = fma(vec2(2.0), n43, -n58);
            let n60 = c_add_quarter(n41, w2, n53);
            let n61 = fma(vec2(2.0), n41, -n60);
            let n62 = c_add_quarter(n42, w2_1, n54);
            let n63 = fma(vec2(2.0), n42, -n62);
            let n64 = c_add(n24, w1, n56);
            let n65 = fma(vec2(2.0), n24, -n64);
            let n66 = c_add(n26, w1_1, n58);
            let n67 = fma(vec2(2.0), n26, -n66);
            let n68 = c_add(n29, w1_2, n61);
            let n69 = fma(vec2(2.0), n29, -n68);
            let n70 = c_add(n31, w1_3, n63);
            let n71 = fma(vec2(2.0), n31, -n70);
            let n72 = c_add_quarter(n25, w1, n57);
            let n73 = fma(vec2(2.0), n25, -n72);
            let n74 = c_add_quarter(n27, w1_1, n59);
            let n75 = fma(vec2(2.0), n27, -n74);
            let n76 = c_add_quarter(n28, w1_2, n60);
            let n77 = fma(vec2(2.0), n28, -n76);
            let n78 = c_add_quarter(n30, w1_3, n62);
            let n79 = fma(vec2(2.0), n30, -n78);
            (*v)[0] = n64;
            (*v)[1] = c_mul(n66, vec2(0.9951847, 0.09801714));
            (*v)[2] = c_mul(n68, vec2(0.98078525, 0.19509032));
            (*v)[3] = c_mul(n70, vec2(0.95694035, 0.29028466));
            (*v)[4] = c_mul(n73, vec2(0.9238795, 0.38268343));
            (*v)[5] = c_mul(n75, vec2(0.8819213, 0.47139674));
            (*v)[6] = c_mul(n77, vec2(0.8314696, 0.55557024));
            (*v)[7] = c_mul(n79, vec2(0.77301043, 0.6343933));
            (*v)[8] = c_mul(n65, vec2(0.70710677, 0.70710677));
            (*v)[9] = c_mul(n67, vec2(0.6343933, 0.77301043));
            (*v)[10] = c_mul(n69, vec2(0.55557024, 0.8314696));
            (*v)[11] = c_mul(n71, vec2(0.47139674, 0.8819213));
            (*v)[12] = c_mul(n72, vec2(0.38268343, 0.9238795));
            (*v)[13] = c_mul(n74, vec2(0.29028466, 0.95694035));
            (*v)[14] = c_mul(n76, vec2(0.19509032, 0.98078525));
            (*v)[15] = c_mul(n78, vec2(0.09801714, 0.9951847));
        }
    }
}

// Transforms one operand after the other, so that they share the workgroup's memory.
fn convolve_4096(group: u32, first: u32, end: u32, lid: u32) {
    let j = lid % 256u;
    let slot = lid / 256u;
    let item = item_of(first + group * (WG / 256u) + slot, end);
    let a_at = item.a_at + j;
    let a_left = i32(item.m) - i32(j);
    let b_at = item.b_at + j * item.b_step;
    let b_left = i32(item.n) - i32(j);
    let exchange = slot * 4096u;
    var v: array<vec2<f32>, 16>;
    var h: array<vec2<f32>, 16>;
    // With two workgroups per core, nothing else hides the memory latency: load both operands first.
    // The operand mod z^N + i: value n + N is added to place n, times -i. Most operands end before the second half; one
    // branch then skips all of it.
    h[0] = vec2(0.0);
    h[1] = vec2(0.0);
    h[2] = vec2(0.0);
    h[3] = vec2(0.0);
    h[4] = vec2(0.0);
    h[5] = vec2(0.0);
    h[6] = vec2(0.0);
    h[7] = vec2(0.0);
    h[8] = vec2(0.0);
    h[9] = vec2(0.0);
    h[10] = vec2(0.0);
    h[11] = vec2(0.0);
    h[12] = vec2(0.0);
    h[13] = vec2(0.0);
    h[14] = vec2(0.0);
    h[15] = vec2(0.0);
    if a_left > 0 {
        if a_left > 0 { h[0].x = a[a_at + 0u]; }
        if a_left > 256 { h[1].x = a[a_at + 256u]; }
        if a_left > 512 { h[2].x = a[a_at + 512u]; }
        if a_left > 768 { h[3].x = a[a_at + 768u]; }
        if a_left > 1024 { h[4].x = a[a_at + 1024u]; }
        if a_left > 1280 { h[5].x = a[a_at + 1280u]; }
        if a_left > 1536 { h[6].x = a[a_at + 1536u]; }
        if a_left > 1792 { h[7].x = a[a_at + 1792u]; }
        if a_left > 2048 { h[8].x = a[a_at + 2048u]; }
        if a_left > 2304 { h[9].x = a[a_at + 2304u]; }
        if a_left > 2560 { h[10].x = a[a_at + 2560u]; }
        if a_left > 2816 { h[11].x = a[a_at + 2816u]; }
        if a_left > 3072 { h[12].x = a[a_at + 3072u]; }
        if a_left > 3328 { h[13].x = a[a_at + 3328u]; }
        if a_left > 3584 { h[14].x = a[a_at + 3584u]; }
        if a_left > 3840 { h[15].x = a[a_at + 3840u]; }
    }
    if a_left > 4096 {
        if a_left > 4096 { h[0].y = -a[a_at + 4096u]; }
        if a_left > 4352 { h[1].y = -a[a_at + 4352u]; }
        if a_left > 4608 { h[2].y = -a[a_at + 4608u]; }
        if a_left > 4864 { h[3].y = -a[a_at + 4864u]; }
        if a_left > 5120 { h[4].y = -a[a_at + 5120u]; }
        if a_left > 5376 { h[5].y = -a[a_at + 5376u]; }
        if a_left > 5632 { h[6].y = -a[a_at + 5632u]; }
        if a_left > 5888 { h[7].y = -a[a_at + 5888u]; }
        if a_left > 6144 { h[8].y = -a[a_at + 6144u]; }
        if a_left > 6400 { h[9].y = -a[a_at + 6400u]; }
        if a_left > 6656 { h[10].y = -a[a_at + 6656u]; }
        if a_left > 6912 { h[11].y = -a[a_at + 6912u]; }
        if a_left > 7168 { h[12].y = -a[a_at + 7168u]; }
        if a_left > 7424 { h[13].y = -a[a_at + 7424u]; }
        if a_left > 7680 { h[14].y = -a[a_at + 7680u]; }
        if a_left > 7936 { h[15].y = -a[a_at + 7936u]; }
    }
    // The operand mod z^N + i: value n + N is added to place n, times -i. Most operands end before the second half; one
    // branch then skips all of it.
    v[0] = vec2(0.0);
    v[1] = vec2(0.0);
    v[2] = vec2(0.0);
    v[3] = vec2(0.0);
    v[4] = vec2(0.0);
    v[5] = vec2(0.0);
    v[6] = vec2(0.0);
    v[7] = vec2(0.0);
    v[8] = vec2(0.0);
    v[9] = vec2(0.0);
    v[10] = vec2(0.0);
    v[11] = vec2(0.0);
    v[12] = vec2(0.0);
    v[13] = vec2(0.0);
    v[14] = vec2(0.0);
    v[15] = vec2(0.0);
    if b_left > 0 {
        if b_left > 0 { v[0].x = b[b_at + 0u * item.b_step]; }
        if b_left > 256 { v[1].x = b[b_at + 256u * item.b_step]; }
        if b_left > 512 { v[2].x = b[b_at + 512u * item.b_step]; }
        if b_left > 768 { v[3].x = b[b_at + 768u * item.b_step]; }
        if b_left > 1024 { v[4].x = b[b_at + 1024u * item.b_step]; }
        if b_left > 1280 { v[5].x = b[b_at + 1280u * item.b_step]; }
        if b_left > 1536 { v[6].x = b[b_at + 1536u * item.b_step]; }
        if b_left > 1792 { v[7].x = b[b_at + 1792u * item.b_step]; }
        if b_left > 2048 { v[8].x = b[b_at + 2048u * item.b_step]; }
        if b_left > 2304 { v[9].x = b[b_at + 2304u * item.b_step]; }
        if b_left > 2560 { v[10].x = b[b_at + 2560u * item.b_step]; }
        if b_left > 2816 { v[11].x = b[b_at + 2816u * item.b_step]; }
        if b_left > 3072 { v[12].x = b[b_at + 3072u * item.b_step]; }
        if b_left > 3328 { v[13].x = b[b_at + 3328u * item.b_step]; }
        if b_left > 3584 { v[14].x = b[b_at + 3584u * item.b_step]; }
        if b_left > 3840 { v[15].x = b[b_at + 3840u * item.b_step]; }
    }
    if b_left > 4096 {
        if b_left > 4096 { v[0].y = -b[b_at + 4096u * item.b_step]; }
        if b_left > 4352 { v[1].y = -b[b_at + 4352u * item.b_step]; }
        if b_left > 4608 { v[2].y = -b[b_at + 4608u * item.b_step]; }
        if b_left > 4864 { v[3].y = -b[b_at + 4864u * item.b_step]; }
        if b_left > 5120 { v[4].y = -b[b_at + 5120u * item.b_step]; }
        if b_left > 5376 { v[5].y = -b[b_at + 5376u * item.b_step]; }
        if b_left > 5632 { v[6].y = -b[b_at + 5632u * item.b_step]; }
        if b_left > 5888 { v[7].y = -b[b_at + 5888u * item.b_step]; }
        if b_left > 6144 { v[8].y = -b[b_at + 6144u * item.b_step]; }
        if b_left > 6400 { v[9].y = -b[b_at + 6400u * item.b_step]; }
        if b_left > 6656 { v[10].y = -b[b_at + 6656u * item.b_step]; }
        if b_left > 6912 { v[11].y = -b[b_at + 6912u * item.b_step]; }
        if b_left > 7168 { v[12].y = -b[b_at + 7168u * item.b_step]; }
        if b_left > 7424 { v[13].y = -b[b_at + 7424u * item.b_step]; }
        if b_left > 7680 { v[14].y = -b[b_at + 7680u * item.b_step]; }
        if b_left > 7936 { v[15].y = -b[b_at + 7936u * item.b_step]; }
    }
    forward_4096(&h, j, exchange);
    forward_4096(&v, j, exchange);
    inverse_4096(&v, &h, j, exchange);
    let at = j - item.skip;
    store(item, at + 0u, v[0].x);
    store(item, at + 256u, v[1].x);
    store(item, at + 512u, v[2].x);
    store(item, at + 768u, v[3].x);
    store(item, at + 1024u, v[4].x);
    store(item, at + 1280u, v[5].x);
    store(item, at + 1536u, v[6].x);
    store(item, at + 1792u, v[7].x);
    store(item, at + 2048u, v[8].x);
    store(item, at + 2304u, v[9].x);
    store(item, at + 2560u, v[10].x);
    store(item, at + 2816u, v[11].x);
    store(item, at + 3072u, v[12].x);
    store(item, at + 3328u, v[13].x);
    store(item, at + 3584u, v[14].x);
    store(item, at + 3840u, v[15].x);
    store(item, at + 4096u, -v[0].y);
    store(item, at + 4352u, -v[1].y);
    store(item, at + 4608u, -v[2].y);
    store(item, at + 4864u, -v[3].y);
    store(item, at + 5120u, -v[4].y);
    store(item, at + 5376u, -v[5].y);
    store(item, at + 5632u, -v[6].y);
    store(item, at + 5888u, -v[7].y);
    store(item, at + 6144u, -v[8].y);
    store(item, at + 6400u, -v[9].y);
    store(item, at + 6656u, -v[10].y);
    store(item, at + 6912u, -v[11].y);
    store(item, at + 7168u, -v[12].y);
    store(item, at + 7424u, -v[13].y);
    store(item, at + 7680u, -v[14].y);
    store(item, at + 7936u, -v[15].y);
}

// Finds the class of a workgroup.
fn convolve(group: u32, lid: u32) {
    if group < p.ends[0].x {
        convolve_4096(group - 0u, 0u, p.ends[0].y, lid);
    } else
    {}
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
