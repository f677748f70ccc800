// fft.c32.n32
alias E = vec2<f32>;
const REAL = 1u;
const HALF = 2u;
const EXCHANGED = 4u;
const WG = 256u;
const LENGTH = 32u;
const HELD = 8u;
const LAST = 7u;
const THREADS = 4u;
// Transforms of LENGTH values, a power of two: read once, computed in registers and workgroup memory, written once.
//
// A workgroup processes WG / THREADS consecutive items of the work list, which starts at p.first_item.

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

// Complex values are not tested one by one, so that all loads are in flight at once.
fn load_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, j: u32) {
    if (p.load & (REAL | HALF)) == 0u {
        let begin = (p.x_base >> 1u) + item.x + j;
        if item.z > 0u {
            (*v)[0] = x[begin + 0u];
            (*v)[1] = x[begin + 4u];
            (*v)[2] = x[begin + 8u];
            (*v)[3] = x[begin + 12u];
            (*v)[4] = x[begin + 16u];
            (*v)[5] = x[begin + 20u];
            (*v)[6] = x[begin + 24u];
            (*v)[7] = x[begin + 28u];
        }
        if (p.load & EXCHANGED) != 0u {
            (*v)[0] = (*v)[0].yx;
            (*v)[1] = (*v)[1].yx;
            (*v)[2] = (*v)[2].yx;
            (*v)[3] = (*v)[3].yx;
            (*v)[4] = (*v)[4].yx;
            (*v)[5] = (*v)[5].yx;
            (*v)[6] = (*v)[6].yx;
            (*v)[7] = (*v)[7].yx;
        }
    } else {
        (*v)[0] = value_in(item, j + 0u);
        (*v)[1] = value_in(item, j + 4u);
        (*v)[2] = value_in(item, j + 8u);
        (*v)[3] = value_in(item, j + 12u);
        (*v)[4] = value_in(item, j + 16u);
        (*v)[5] = value_in(item, j + 20u);
        (*v)[6] = value_in(item, j + 24u);
        (*v)[7] = value_in(item, j + 28u);
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
            (*v)[4] = (*v)[4].yx * factor;
            (*v)[5] = (*v)[5].yx * factor;
            (*v)[6] = (*v)[6].yx * factor;
            (*v)[7] = (*v)[7].yx * factor;
        }
        if item.z > 0u {
            y[to + 0u] = (*v)[0];
            y[to + 4u] = (*v)[1];
            y[to + 8u] = (*v)[2];
            y[to + 12u] = (*v)[3];
            y[to + 16u] = (*v)[4];
            y[to + 20u] = (*v)[5];
            y[to + 24u] = (*v)[6];
            y[to + 28u] = (*v)[7];
        }
    } else {
        value_out(item, j + 0u, (*v)[0]);
        value_out(item, j + 4u, (*v)[1]);
        value_out(item, j + 8u, (*v)[2]);
        value_out(item, j + 12u, (*v)[3]);
        value_out(item, j + 16u, (*v)[4]);
        value_out(item, j + 20u, (*v)[5]);
        value_out(item, j + 24u, (*v)[6]);
        value_out(item, j + 28u, (*v)[7]);
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
    let item = item_at(i);
    var v: array<vec2<f32>, HELD>;
    load_values(&v, item, j);
    forward(&v, j, slot * LENGTH);
    store_values(&v, item, j);
}
