// fft_pass.c32.r64.halves
alias E = vec2<f32>;
const REAL = 1u;
const HALF = 2u;
const EXCHANGED = 4u;
const PLAIN = 256u;
const FILTER = 512u;
const PRODUCT = 1024u;
const CHIRP = 2048u;
const RIGHT_ANGLE = 4096u;
const BACKWARDS = 8192u;
const PAIRED = 16384u;
const LOG_R = 6u;
const LOG_T = 2u;
const C = 64u;
const WG = 256u;
const HELD = 16u;
const THREADS = 4u;
// A pass of a transform that is too long for one workgroup: FFTs of R values, one per column.
//
// N values form N / R columns; value k of column b is at b + k N / R. After passes whose radices multiply to Ns, column
// b is multiplied by e^(-2πi k q / (Ns R)), q = b mod Ns, and transformed, and result k goes to (b - q) R + q + k Ns:
// Stockham's algorithm, with radices of hundreds. A workgroup processes C neighbouring columns, so that it reads C
// adjacent values; it writes as many adjacent values, or, in the first pass, where Ns is 1, all of its values.
//
// The input of the first pass and the output of the last may be in another form, as p.load and p.store say. A task is
// (x offset, y offset, first column, log2 N | log2 Ns << 8), (n, bits of the factor, offset of the second factor, 0).
// HALVES, the last pass for 2 n real values, processes each column together with its mirror.

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32,
    load: u32,
    store: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> tasks: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> roots: array<vec2<f32>>;

const PAIRS = REAL | PAIRED;
const FOLDED = HALF | EXCHANGED | PAIRED;
const PAIRS_BACK = REAL | EXCHANGED | PAIRED;

var<workgroup> sh_exchange: array<f32, HELD * THREADS * C>;

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

// e^(-2πi e / 2²⁴)
fn root(e: u32) -> vec2<f32> {
    return c_mul(roots[e >> 12u], roots[4096u + (e & 4095u)]);
}

// e^(-πi m / n) for m < 2 n <= 2²⁴: a table of 1024ths of a turn, and a series for the remainder.
fn half_turn(m: u32, n: u32) -> vec2<f32> {
    let size = 2u * n;
    let coarse = m * 32u;
    let fine = (coarse % size) * 32u;
    let q = (coarse / size) * 32u + fine / size;
    let angle = f32(fine % size) / f32(size) * 0.006135923151542565;
    let t = roots[4u * q];
    let c = -0.5 * angle * angle;
    let s = fma(angle * c, 0.3333333333, angle);
    return vec2(fma(t.y, s, fma(t.x, c, t.x)), fma(-t.x, s, fma(t.y, c, t.y)));
}

// e^(-πi k² / n) for k < n <= 2²³. k² is reduced byte by byte, to avoid overflow.
fn chirp(k: u32, n: u32) -> vec2<f32> {
    let size = 2u * n;
    var square = 0u;
    for (var shift = 24u; shift > 0u; shift -= 8u) {
        square = (square * 256u) % size;
        square = (square + k * ((k >> (shift - 8u)) & 255u)) % size;
    }
    return half_turn(square, n);
}

// Value s of an invocation is `step` after the previous one.

// The column of an invocation. Its mirror, column n - b modulo the number of columns, is C / 2 invocations away, so
// that values that unfold together are in one workgroup. If n is even, two columns are their own mirrors and take the
// places of a pair.
//
// Columns above the middle begin at a 32-byte sector of y, because a partial write of a sector costs more.
fn column_of(item: vec4<u32>, first: u32, c: u32, log_columns: u32) -> u32 {
    let middle = item.z / 2u;
    let odd = item.z % 2u;
    let aligned = (0u - item.y - middle - odd) % 4u;
    let i = (first + c % (C / 2u) + aligned) & ((1u << (log_columns - 1u)) - 1u);
    let single = i == 0u && odd == 0u;
    let above = middle + select(i + odd, 1u << (log_columns - 1u), single);
    return select(above, middle - i, c < C / 2u) & ((1u << log_columns) - 1u);
}

fn chirp_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, start: u32, step: u32) {
    (*v)[0] = c_mul((*v)[0].yx, chirp(min(start + 0u * step, item.z - 1u), item.z));
    (*v)[1] = c_mul((*v)[1].yx, chirp(min(start + 1u * step, item.z - 1u), item.z));
    (*v)[2] = c_mul((*v)[2].yx, chirp(min(start + 2u * step, item.z - 1u), item.z));
    (*v)[3] = c_mul((*v)[3].yx, chirp(min(start + 3u * step, item.z - 1u), item.z));
    (*v)[4] = c_mul((*v)[4].yx, chirp(min(start + 4u * step, item.z - 1u), item.z));
    (*v)[5] = c_mul((*v)[5].yx, chirp(min(start + 5u * step, item.z - 1u), item.z));
    (*v)[6] = c_mul((*v)[6].yx, chirp(min(start + 6u * step, item.z - 1u), item.z));
    (*v)[7] = c_mul((*v)[7].yx, chirp(min(start + 7u * step, item.z - 1u), item.z));
    (*v)[8] = c_mul((*v)[8].yx, chirp(min(start + 8u * step, item.z - 1u), item.z));
    (*v)[9] = c_mul((*v)[9].yx, chirp(min(start + 9u * step, item.z - 1u), item.z));
    (*v)[10] = c_mul((*v)[10].yx, chirp(min(start + 10u * step, item.z - 1u), item.z));
    (*v)[11] = c_mul((*v)[11].yx, chirp(min(start + 11u * step, item.z - 1u), item.z));
    (*v)[12] = c_mul((*v)[12].yx, chirp(min(start + 12u * step, item.z - 1u), item.z));
    (*v)[13] = c_mul((*v)[13].yx, chirp(min(start + 13u * step, item.z - 1u), item.z));
    (*v)[14] = c_mul((*v)[14].yx, chirp(min(start + 14u * step, item.z - 1u), item.z));
    (*v)[15] = c_mul((*v)[15].yx, chirp(min(start + 15u * step, item.z - 1u), item.z));
}

// Value 0 is its own mirror, and the one extra result is computed from it alone.
fn store_ends(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    start: u32,
) {
    if start == 0u {
        (*m)[0] = (*v)[0];
        y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0);
    }
}

fn store_some_halves(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    start: u32,
    step: u32,
) {
    store_ends(v, m, item, start);
    let to = item.y + start;
    if start + 0u * step < item.z {
        y[to + 0u * step] = unfolded(half_turn(start + 0u * step, item.z), (*v)[0], (*m)[0]);
    }
    if start + 1u * step < item.z {
        y[to + 1u * step] = unfolded(half_turn(start + 1u * step, item.z), (*v)[1], (*m)[1]);
    }
    if start + 2u * step < item.z {
        y[to + 2u * step] = unfolded(half_turn(start + 2u * step, item.z), (*v)[2], (*m)[2]);
    }
    if start + 3u * step < item.z {
        y[to + 3u * step] = unfolded(half_turn(start + 3u * step, item.z), (*v)[3], (*m)[3]);
    }
    if start + 4u * step < item.z {
        y[to + 4u * step] = unfolded(half_turn(start + 4u * step, item.z), (*v)[4], (*m)[4]);
    }
    if start + 5u * step < item.z {
        y[to + 5u * step] = unfolded(half_turn(start + 5u * step, item.z), (*v)[5], (*m)[5]);
    }
    if start + 6u * step < item.z {
        y[to + 6u * step] = unfolded(half_turn(start + 6u * step, item.z), (*v)[6], (*m)[6]);
    }
    if start + 7u * step < item.z {
        y[to + 7u * step] = unfolded(half_turn(start + 7u * step, item.z), (*v)[7], (*m)[7]);
    }
    if start + 8u * step < item.z {
        y[to + 8u * step] = unfolded(half_turn(start + 8u * step, item.z), (*v)[8], (*m)[8]);
    }
    if start + 9u * step < item.z {
        y[to + 9u * step] = unfolded(half_turn(start + 9u * step, item.z), (*v)[9], (*m)[9]);
    }
    if start + 10u * step < item.z {
        y[to + 10u * step] = unfolded(half_turn(start + 10u * step, item.z), (*v)[10], (*m)[10]);
    }
    if start + 11u * step < item.z {
        y[to + 11u * step] = unfolded(half_turn(start + 11u * step, item.z), (*v)[11], (*m)[11]);
    }
    if start + 12u * step < item.z {
        y[to + 12u * step] = unfolded(half_turn(start + 12u * step, item.z), (*v)[12], (*m)[12]);
    }
    if start + 13u * step < item.z {
        y[to + 13u * step] = unfolded(half_turn(start + 13u * step, item.z), (*v)[13], (*m)[13]);
    }
    if start + 14u * step < item.z {
        y[to + 14u * step] = unfolded(half_turn(start + 14u * step, item.z), (*v)[14], (*m)[14]);
    }
    if start + 15u * step < item.z {
        y[to + 15u * step] = unfolded(half_turn(start + 15u * step, item.z), (*v)[15], (*m)[15]);
    }
}

// Fetches the mirror of each value of an invocation: the value of column `column` in row `rows` minus the value's own.
fn mirror(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    j: u32,
    c: u32,
    column: u32,
    rows: u32,
) {
    let put = j * C + c;
    let last = rows - j;
    workgroupBarrier();
    sh_exchange[put + 0u] = (*v)[0].x;
    sh_exchange[put + 256u] = (*v)[1].x;
    sh_exchange[put + 512u] = (*v)[2].x;
    sh_exchange[put + 768u] = (*v)[3].x;
    sh_exchange[put + 1024u] = (*v)[4].x;
    sh_exchange[put + 1280u] = (*v)[5].x;
    sh_exchange[put + 1536u] = (*v)[6].x;
    sh_exchange[put + 1792u] = (*v)[7].x;
    sh_exchange[put + 2048u] = (*v)[8].x;
    sh_exchange[put + 2304u] = (*v)[9].x;
    sh_exchange[put + 2560u] = (*v)[10].x;
    sh_exchange[put + 2816u] = (*v)[11].x;
    sh_exchange[put + 3072u] = (*v)[12].x;
    sh_exchange[put + 3328u] = (*v)[13].x;
    sh_exchange[put + 3584u] = (*v)[14].x;
    sh_exchange[put + 3840u] = (*v)[15].x;
    workgroupBarrier();
    (*m)[0].x = sh_exchange[((last - 0u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[1].x = sh_exchange[((last - 4u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[2].x = sh_exchange[((last - 8u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[3].x = sh_exchange[((last - 12u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[4].x = sh_exchange[((last - 16u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[5].x = sh_exchange[((last - 20u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[6].x = sh_exchange[((last - 24u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[7].x = sh_exchange[((last - 28u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[8].x = sh_exchange[((last - 32u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[9].x = sh_exchange[((last - 36u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[10].x = sh_exchange[((last - 40u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[11].x = sh_exchange[((last - 44u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[12].x = sh_exchange[((last - 48u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[13].x = sh_exchange[((last - 52u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[14].x = sh_exchange[((last - 56u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[15].x = sh_exchange[((last - 60u) & ((1u << LOG_R) - 1u)) * C + column];
    workgroupBarrier();
    sh_exchange[put + 0u] = (*v)[0].y;
    sh_exchange[put + 256u] = (*v)[1].y;
    sh_exchange[put + 512u] = (*v)[2].y;
    sh_exchange[put + 768u] = (*v)[3].y;
    sh_exchange[put + 1024u] = (*v)[4].y;
    sh_exchange[put + 1280u] = (*v)[5].y;
    sh_exchange[put + 1536u] = (*v)[6].y;
    sh_exchange[put + 1792u] = (*v)[7].y;
    sh_exchange[put + 2048u] = (*v)[8].y;
    sh_exchange[put + 2304u] = (*v)[9].y;
    sh_exchange[put + 2560u] = (*v)[10].y;
    sh_exchange[put + 2816u] = (*v)[11].y;
    sh_exchange[put + 3072u] = (*v)[12].y;
    sh_exchange[put + 3328u] = (*v)[13].y;
    sh_exchange[put + 3584u] = (*v)[14].y;
    sh_exchange[put + 3840u] = (*v)[15].y;
    workgroupBarrier();
    (*m)[0].y = sh_exchange[((last - 0u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[1].y = sh_exchange[((last - 4u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[2].y = sh_exchange[((last - 8u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[3].y = sh_exchange[((last - 12u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[4].y = sh_exchange[((last - 16u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[5].y = sh_exchange[((last - 20u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[6].y = sh_exchange[((last - 24u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[7].y = sh_exchange[((last - 28u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[8].y = sh_exchange[((last - 32u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[9].y = sh_exchange[((last - 36u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[10].y = sh_exchange[((last - 40u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[11].y = sh_exchange[((last - 44u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[12].y = sh_exchange[((last - 48u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[13].y = sh_exchange[((last - 52u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[14].y = sh_exchange[((last - 56u) & ((1u << LOG_R) - 1u)) * C + column];
    (*m)[15].y = sh_exchange[((last - 60u) & ((1u << LOG_R) - 1u)) * C + column];
}

fn load(v: ptr<function, array<vec2<f32>, HELD>>, start: u32, step: u32) {
    (*v)[0] = x[start + 0u * step];
    (*v)[1] = x[start + 1u * step];
    (*v)[2] = x[start + 2u * step];
    (*v)[3] = x[start + 3u * step];
    (*v)[4] = x[start + 4u * step];
    (*v)[5] = x[start + 5u * step];
    (*v)[6] = x[start + 6u * step];
    (*v)[7] = x[start + 7u * step];
    (*v)[8] = x[start + 8u * step];
    (*v)[9] = x[start + 9u * step];
    (*v)[10] = x[start + 10u * step];
    (*v)[11] = x[start + 11u * step];
    (*v)[12] = x[start + 12u * step];
    (*v)[13] = x[start + 13u * step];
    (*v)[14] = x[start + 14u * step];
    (*v)[15] = x[start + 15u * step];
}

fn transform(v: ptr<function, array<vec2<f32>, 16>>, w: ptr<function, array<vec2<f32>, 5>>, j: u32, at: u32) {
    // Radix 16 after 1.
    {
        let weight = (*w)[0];
        let w1 = (*w)[1];
        let w1_1 = c_mul(w1, vec2(0.9238795, -0.38268343));
        let w1_2 = c_mul(w1, vec2(0.70710677, -0.70710677));
        let w1_3 = c_mul(w1, vec2(0.38268343, -0.9238795));
        let w2 = (*w)[2];
        let w2_1 = c_mul(w2, vec2(0.70710677, -0.70710677));
        let w4 = (*w)[3];
        let w8 = (*w)[4];
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
            let n26 = c_add(n10, w2_1, n22);
            let n27 = fma(vec2(2.0), n10, -n26);
            let n28 = c_add_quarter(n9, w2, n21);
            let n29 = fma(vec2(2.0), n9, -n28);
            let n30 = c_add_quarter(n11, w2_1, n23);
            let n31 = fma(vec2(2.0), n11, -n30);
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
            let n58 = c_add(n42, w2_1, n54);
            let n59 = fma(vec2(2.0), n42, -n58);
            let n60 = c_add_quarter(n41, w2, n53);
            let n61 = fma(vec2(2.0), n41, -n60);
            let n62 = c_add_quarter(n43, w2_1, n55);
            let n63 = fma(vec2(2.0), n43, -n62);
            let n64 = c_add(n24, w1, n56);
            let n65 = fma(vec2(2.0), n24, -n64);
            let n66 = c_add(n26, w1_1, n58);
            let n67 = fma(vec2(2.0), n26, -n66);
            let n68 = c_add(n28, w1_2, n60);
            let n69 = fma(vec2(2.0), n28, -n68);
            let n70 = c_add(n30, w1_3, n62);
            let n71 = fma(vec2(2.0), n30, -n70);
            let n72 = c_add_quarter(n25, w1, n57);
            let n73 = fma(vec2(2.0), n25, -n72);
            let n74 = c_add_quarter(n27, w1_1, n59);
            let n75 = fma(vec2(2.0), n27, -n74);
            let n76 = c_add_quarter(n29, w1_2, n61);
            let n77 = fma(vec2(2.0), n29, -n76);
            let n78 = c_add_quarter(n31, w1_3, n63);
            let n79 = fma(vec2(2.0), n31, -n78);
            (*v)[0] = n64;
            (*v)[1] = n66;
            (*v)[2] = n68;
            (*v)[3] = n70;
            (*v)[4] = n72;
            (*v)[5] = n74;
            (*v)[6] = n76;
            (*v)[7] = n78;
            (*v)[8] = n65;
            (*v)[9] = n67;
            (*v)[10] = n69;
            (*v)[11] = n71;
            (*v)[12] = n73;
            (*v)[13] = n75;
            (*v)[14] = n77;
            (*v)[15] = n79;
        }
    }
    // Radix 4 after 16.
    {
        {
            let put = (j << 4u);
            let got = j;
            let put0 = at + ((put) << 6u);
            let got0 = at + ((got) << 6u);
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].x;
            sh_exchange[put0 + 64u] = (*v)[1].x;
            sh_exchange[put0 + 128u] = (*v)[2].x;
            sh_exchange[put0 + 192u] = (*v)[3].x;
            sh_exchange[put0 + 256u] = (*v)[4].x;
            sh_exchange[put0 + 320u] = (*v)[5].x;
            sh_exchange[put0 + 384u] = (*v)[6].x;
            sh_exchange[put0 + 448u] = (*v)[7].x;
            sh_exchange[put0 + 512u] = (*v)[8].x;
            sh_exchange[put0 + 576u] = (*v)[9].x;
            sh_exchange[put0 + 640u] = (*v)[10].x;
            sh_exchange[put0 + 704u] = (*v)[11].x;
            sh_exchange[put0 + 768u] = (*v)[12].x;
            sh_exchange[put0 + 832u] = (*v)[13].x;
            sh_exchange[put0 + 896u] = (*v)[14].x;
            sh_exchange[put0 + 960u] = (*v)[15].x;
            workgroupBarrier();
            (*v)[0].x = sh_exchange[got0];
            (*v)[1].x = sh_exchange[got0 + 256u];
            (*v)[2].x = sh_exchange[got0 + 512u];
            (*v)[3].x = sh_exchange[got0 + 768u];
            (*v)[4].x = sh_exchange[got0 + 1024u];
            (*v)[5].x = sh_exchange[got0 + 1280u];
            (*v)[6].x = sh_exchange[got0 + 1536u];
            (*v)[7].x = sh_exchange[got0 + 1792u];
            (*v)[8].x = sh_exchange[got0 + 2048u];
            (*v)[9].x = sh_exchange[got0 + 2304u];
            (*v)[10].x = sh_exchange[got0 + 2560u];
            (*v)[11].x = sh_exchange[got0 + 2816u];
            (*v)[12].x = sh_exchange[got0 + 3072u];
            (*v)[13].x = sh_exchange[got0 + 3328u];
            (*v)[14].x = sh_exchange[got0 + 3584u];
            (*v)[15].x = sh_exchange[got0 + 3840u];
            workgroupBarrier();
            sh_exchange[put0] = (*v)[0].y;
            sh_exchange[put0 + 64u] = (*v)[1].y;
            sh_exchange[put0 + 128u] = (*v)[2].y;
            sh_exchange[put0 + 192u] = (*v)[3].y;
            sh_exchange[put0 + 256u] = (*v)[4].y;
            sh_exchange[put0 + 320u] = (*v)[5].y;
            sh_exchange[put0 + 384u] = (*v)[6].y;
            sh_exchange[put0 + 448u] = (*v)[7].y;
            sh_exchange[put0 + 512u] = (*v)[8].y;
            sh_exchange[put0 + 576u] = (*v)[9].y;
            sh_exchange[put0 + 640u] = (*v)[10].y;
            sh_exchange[put0 + 704u] = (*v)[11].y;
            sh_exchange[put0 + 768u] = (*v)[12].y;
            sh_exchange[put0 + 832u] = (*v)[13].y;
            sh_exchange[put0 + 896u] = (*v)[14].y;
            sh_exchange[put0 + 960u] = (*v)[15].y;
            workgroupBarrier();
            (*v)[0].y = sh_exchange[got0];
            (*v)[1].y = sh_exchange[got0 + 256u];
            (*v)[2].y = sh_exchange[got0 + 512u];
            (*v)[3].y = sh_exchange[got0 + 768u];
            (*v)[4].y = sh_exchange[got0 + 1024u];
            (*v)[5].y = sh_exchange[got0 + 1280u];
            (*v)[6].y = sh_exchange[got0 + 1536u];
            (*v)[7].y = sh_exchange[got0 + 1792u];
            (*v)[8].y = sh_exchange[got0 + 2048u];
            (*v)[9].y = sh_exchange[got0 + 2304u];
            (*v)[10].y = sh_exchange[got0 + 2560u];
            (*v)[11].y = sh_exchange[got0 + 2816u];
            (*v)[12].y = sh_exchange[got0 + 3072u];
            (*v)[13].y = sh_exchange[got0 + 3328u];
            (*v)[14].y = sh_exchange[got0 + 3584u];
            (*v)[15].y = sh_exchange[got0 + 3840u];
        }
        {
            let p = j & 15u;
            let w1 = twiddles[0u + p];
            let w2 = twiddles[16u + p];
            let x0 = (*v)[0];
            let x1 = (*v)[4];
            let x2 = (*v)[8];
            let x3 = (*v)[12];
            let n0 = c_add(x0, w2, x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, w2, x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, w1, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w1, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            (*v)[0] = n4;
            (*v)[4] = n6;
            (*v)[8] = n5;
            (*v)[12] = n7;
        }
        {
            let p = (j + 4u) & 15u;
            let w1 = twiddles[0u + p];
            let w2 = twiddles[16u + p];
            let x0 = (*v)[1];
            let x1 = (*v)[5];
            let x2 = (*v)[9];
            let x3 = (*v)[13];
            let n0 = c_add(x0, w2, x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, w2, x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, w1, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w1, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            (*v)[1] = n4;
            (*v)[5] = n6;
            (*v)[9] = n5;
            (*v)[13] = n7;
        }
        {
            let p = (j + 8u) & 15u;
            let w1 = twiddles[0u + p];
            let w2 = twiddles[16u + p];
            let x0 = (*v)[2];
            let x1 = (*v)[6];
            let x2 = (*v)[10];
            let x3 = (*v)[14];
            let n0 = c_add(x0, w2, x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, w2, x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, w1, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w1, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            (*v)[2] = n4;
            (*v)[6] = n6;
            (*v)[10] = n5;
            (*v)[14] = n7;
        }
        {
            let p = (j + 12u) & 15u;
            let w1 = twiddles[0u + p];
            let w2 = twiddles[16u + p];
            let x0 = (*v)[3];
            let x1 = (*v)[7];
            let x2 = (*v)[11];
            let x3 = (*v)[15];
            let n0 = c_add(x0, w2, x2);
            let n1 = fma(vec2(2.0), x0, -n0);
            let n2 = c_add(x1, w2, x3);
            let n3 = fma(vec2(2.0), x1, -n2);
            let n4 = c_add(n0, w1, n2);
            let n5 = fma(vec2(2.0), n0, -n4);
            let n6 = c_add_quarter(n1, w1, n3);
            let n7 = fma(vec2(2.0), n1, -n6);
            (*v)[3] = n4;
            (*v)[7] = n6;
            (*v)[11] = n5;
            (*v)[15] = n7;
        }
    }
}

// All values of an invocation, at equal distances, times twiddles. The distance is N / E, so that the twiddles of
// right-angle transforms and of halves are the first value's times constants.
fn store_halves(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    log_n: u32,
    start: u32,
    step: u32,
) {
    store_ends(v, m, item, start);
    let to = item.y + start;
    let twiddle = root(start << (23u - log_n));
    y[to + 0u * step] = unfolded(c_mul(twiddle, vec2(1.0, -0.0)), (*v)[0], (*m)[0]);
    y[to + 1u * step] = unfolded(c_mul(twiddle, vec2(0.98078525, -0.19509032)), (*v)[1], (*m)[1]);
    y[to + 2u * step] = unfolded(c_mul(twiddle, vec2(0.9238795, -0.38268343)), (*v)[2], (*m)[2]);
    y[to + 3u * step] = unfolded(c_mul(twiddle, vec2(0.8314696, -0.55557024)), (*v)[3], (*m)[3]);
    y[to + 4u * step] = unfolded(c_mul(twiddle, vec2(0.70710677, -0.70710677)), (*v)[4], (*m)[4]);
    y[to + 5u * step] = unfolded(c_mul(twiddle, vec2(0.55557024, -0.8314696)), (*v)[5], (*m)[5]);
    y[to + 6u * step] = unfolded(c_mul(twiddle, vec2(0.38268343, -0.9238795)), (*v)[6], (*m)[6]);
    y[to + 7u * step] = unfolded(c_mul(twiddle, vec2(0.19509032, -0.98078525)), (*v)[7], (*m)[7]);
    y[to + 8u * step] = unfolded(c_mul(twiddle, vec2(6.123234e-17, -1.0)), (*v)[8], (*m)[8]);
    y[to + 9u * step] = unfolded(c_mul(twiddle, vec2(-0.19509032, -0.98078525)), (*v)[9], (*m)[9]);
    y[to + 10u * step] = unfolded(c_mul(twiddle, vec2(-0.38268343, -0.9238795)), (*v)[10], (*m)[10]);
    y[to + 11u * step] = unfolded(c_mul(twiddle, vec2(-0.55557024, -0.8314696)), (*v)[11], (*m)[11]);
    y[to + 12u * step] = unfolded(c_mul(twiddle, vec2(-0.70710677, -0.70710677)), (*v)[12], (*m)[12]);
    y[to + 13u * step] = unfolded(c_mul(twiddle, vec2(-0.8314696, -0.55557024)), (*v)[13], (*m)[13]);
    y[to + 14u * step] = unfolded(c_mul(twiddle, vec2(-0.9238795, -0.38268343)), (*v)[14], (*m)[14]);
    y[to + 15u * step] = unfolded(c_mul(twiddle, vec2(-0.98078525, -0.19509032)), (*v)[15], (*m)[15]);
}

// The twiddles of a pass over columns, a power for each bit of its first stage.
fn weights(unit: u32, j: u32) -> array<vec2<f32>, 5> {
    return array(
        root(unit * j),
        root(unit << 2u),
        root(unit << 3u),
        root(unit << 4u),
        root(unit << 5u),
    );
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
    let task = tasks[2u * group];
    let more = tasks[2u * group + 1u];
    let item = vec4(task.xy, more.xy);
    let log_n = task.w & 0xffu;
    let log_ns = task.w >> 8u;
    let c = lid % C;
    let j = lid / C;
    let log_columns = log_n - LOG_R;
    let stride = 1u << (log_columns + LOG_T);

    var v: array<vec2<f32>, HELD>;
    let b = column_of(item, task.z / 2u, c, log_ns);
    load(&v, task.x + b + (j << log_columns), stride);
    let column = b & ((1u << log_ns) - 1u);
    var w = weights(column << (24u - log_ns - LOG_R), j);
    transform(&v, &w, j, c);
    let first = ((b - column) << LOG_R) + column + (j << log_ns);
    let step = 1u << (log_ns + LOG_T);
    if (p.store & CHIRP) != 0u {
        chirp_values(&v, item, first, step);
    }
    var m: array<vec2<f32>, HELD>;
    let other = (item.z - b) & ((1u << log_ns) - 1u);
    mirror(&v, &m, j, c, select(c ^ (C / 2u), c, other == b), (item.z - b - other) >> log_ns);
    if (p.store & CHIRP) != 0u {
        store_some_halves(&v, &m, item, first, step);
    } else {
        store_halves(&v, &m, item, log_n, first, step);
    }
}
