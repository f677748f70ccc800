// matmul.f32.native.sets
alias E = f32;
const SCALE = 1u;
const BIAS = 2u;
const RELU = 4u;
const GELU = 8u;
const RESIDUAL = 16u;
const BLOCK = 512u;
const ROWS = 8u;
const COLUMNS = 8u;
const DEPTH = 16u;
const SETS = 64u;
const SET = 4u;
const WG = 256u;
const ACROSS = 2u;
const NEAR = 2u;
const A_PART = 1u;
const B_PART = 1u;
const A_APART = 8u;
const B_APART = 8u;
const A_QUADS = 32u;
const B_QUADS = 32u;
const A_SLOTS = 8u;
const B_SLOTS = 8u;
const A_PITCH = 8u;
const B_PITCH = 8u;
// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup computes a tile of one product. It stages 16 columns of a and 16 rows of b, and an invocation sums its
// results in registers, in squares of four by four. The next stage is loaded meanwhile, by quads if both operands
// allow.
//
// HALVES: a, b, bias and residual hold f16, and their offsets count halves; sums and c are f32.
//
// Sums are blocked by at most 512 products: a depth of at most 512 + ⌈k / 512⌉.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    tiles: u32,
    a_transposed: u32,
    b_transposed: u32,
    epilogue: u32,
    bias_base: u32,
    residual_base: u32,
    scale: E,
}

@group(0) @binding(0) var<uniform> p: Params;
alias Stored = E;
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<E>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> bias: array<Stored>;
@group(0) @binding(6) var<storage, read> residual: array<Stored>;

// Shared by the kernels of matrix products: parameters, the list of tiles, and the epilogue.
//
// A tile has three entries: (offset of a, of b, of c, rows of the product), (inner extent, columns, row stride of a, of
// b), (first row and first column of the tile, offset of the bias, 0). They need no further lookup, so all of them are
// loaded at once.
const RAMP = vec4<u32>(0u, 1u, 2u, 3u);

// c e^(r - h) for 0 <= h < 106 and small r. Uses fixed point, because compilers may reassociate sums of floats, and
// then the error would grow with h.
fn exp_minus(c: f32, h: f32, r: f32) -> f32 {
    let fixed = i32(h * 16777216.0) - i32(r * 16777216.0);
    let n = i32(round(f32(fixed) * 8.599132e-8));
    // 11629079 / 2²⁴ + 5.77e-8 = ln 2.
    let f = fma(f32(n), 5.7699990e-8, f32(n * 11629079 - fixed) * 5.9604645e-8);
    var s = 1.3888889e-3;
    s = fma(s, f, 8.3333333e-3);
    s = fma(s, f, 4.1666667e-2);
    s = fma(s, f, 0.16666667);
    s = fma(s, f, 0.5);
    s = fma(s, f, 1.0);
    s = fma(s, f, 1.0);
    // The power is applied in two factors, after c: by itself it may be below the smallest normal number, which many
    // GPUs flush to 0.
    let half = n / 2;
    return c * s * bitcast<f32>(u32(127 - half) << 23u) * bitcast<f32>(u32(127 - n + half) << 23u);
}

// c Φ(-|x|) for |x| up to 14.5, where Φ(x) = erfc(-x / √2) / 2.
//
// With z = |x| / √8 and t = 1 / (1 + z), Φ(-|x|) e^(x²/2) / t is a polynomial in 1 - t = z t to within 4.4e-8. For
// small |x|, rounding errors of t hardly change the polynomial, and the tail has no cancellation.
fn normal_tail(c: f32, x: f32) -> f32 {
    let z = 0.35355339 * abs(x);
    let t = 1.0 / (z + 1.0);
    let u = z * t;
    var p = -0.02956885;
    p = fma(p, u, 0.09409525);
    p = fma(p, u, -0.07468777);
    p = fma(p, u, -0.011451853);
    p = fma(p, u, -0.059527895);
    p = fma(p, u, 0.107446395);
    p = fma(p, u, 0.24311282);
    p = fma(p, u, -0.6283751);
    p = fma(p, u, 0.5);
    // Half the square of twelve bits is exact, and the remainder is small.
    let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
    return exp_minus(c * t * p, 0.5 * high * high, -0.5 * (x - high) * (x + high));
}

// x Φ(x).
fn gelu(x: f32) -> f32 {
    // Beyond this range the tail is 0. NaN stays NaN.
    if x > 14.5 {
        return x;
    }
    if x < -14.5 {
        return -0.0;
    }
    let tail = normal_tail(x, x);
    return select(x - tail, tail, x < 0.0);
}

// A tile of a product.
struct Product {
    a: u32,
    b: u32,
    c: u32,
    m: u32,
    k: u32,
    n: u32,
    a_stride: u32,
    b_stride: u32,
    row0: u32,
    column0: u32,
    bias: u32,
    residual: u32,
    // Whether the rows of both operands are aligned to quads.
    quads: bool,
}

fn product(group: u32) -> Product {
    let at = p.tiles + 3u * group;
    let x = list[at];
    let y = list[at + 1u];
    let z = list[at + 2u];
    let a_begin = p.a_base + x.x;
    let b_begin = p.b_base + x.y;
    let quads = ((a_begin | b_begin | y.z | y.w) & 3u) == 0u;
    return Product(
        a_begin, b_begin, x.z, x.w, y.x, y.y, y.z, y.w, z.x, z.y, p.bias_base + z.z, p.residual_base + x.z, quads,
    );
}

// The results of a row from this column on. Those beyond the last column are meaningless.
fn finished(o: Product, row: u32, column: u32, sums: vec4<E>) -> vec4<E> {
    var y = sums;
    let columns = min(column + RAMP, vec4(o.n - 1u));
    if (p.epilogue & SCALE) != 0u {
        y *= p.scale;
    }
    if (p.epilogue & BIAS) != 0u {
        let at = o.bias + columns;
        y += vec4(bias_value(at.x), bias_value(at.y), bias_value(at.z), bias_value(at.w));
    }
    if (p.epilogue & RELU) != 0u {
        // Not max, which may lose a NaN.
        y = select(y, vec4<f32>(), y < vec4<f32>());
    }
    if (p.epilogue & GELU) != 0u {
        y = vec4(gelu(y.x), gelu(y.y), gelu(y.z), gelu(y.w));
    }
    if (p.epilogue & RESIDUAL) != 0u {
        let at = o.residual + row * o.n + columns;
        y += vec4(residual_value(at.x), residual_value(at.y), residual_value(at.z), residual_value(at.w));
    }
    return y;
}

// Loads up to four results stored earlier.
fn present(at: u32, count: u32) -> vec4<E> {
    var y = vec4<E>();
    y.x = c[at >> 2u][at & 3u];
    if count > 1u {
        y.y = c[(at + 1u) >> 2u][(at + 1u) & 3u];
    }
    if count > 2u {
        y.z = c[(at + 2u) >> 2u][(at + 2u) & 3u];
    }
    if count > 3u {
        y.w = c[(at + 3u) >> 2u][(at + 3u) & 3u];
    }
    return y;
}

fn put_quad(o: Product, row: u32, column: u32, sums: vec4<E>, first: bool, last: bool) {
    if row >= o.m || column >= o.n {
        return;
    }
    let at = o.c + row * o.n + column;
    let count = min(o.n - column, 4u);
    let whole = count == 4u && (at & 3u) == 0u;
    var y = sums;
    if !first {
        if whole {
            y += c[at >> 2u];
        } else {
            y += present(at, count);
        }
    }
    if last && p.epilogue != 0u {
        y = finished(o, row, column, y);
    }
    if whole {
        c[at >> 2u] = y;
        return;
    }
    c[at >> 2u][at & 3u] = y.x;
    if count > 1u {
        c[(at + 1u) >> 2u][(at + 1u) & 3u] = y.y;
    }
    if count > 2u {
        c[(at + 2u) >> 2u][(at + 2u) & 3u] = y.z;
    }
    if count > 3u {
        c[(at + 3u) >> 2u][(at + 3u) & 3u] = y.w;
    }
}
// The factors a and b, by value and by quad; indices count values. With HALVES the factors hold words of two f16.
// The same as `shifted` with i modulo 4, by selections: branches would prevent the loads of a stage from being in
// flight together.
fn selected(low: vec4<E>, high: vec4<E>, i: u32) -> vec4<E> {
    let two = (i & 2u) != 0u;
    let even = select(low, vec4(low.zw, high.xy), two);
    return select(even, vec4(even.yzw, select(high.x, high.z, two)), (i & 1u) != 0u);
}

fn a_quad(i: u32) -> vec4<E> {
    return a[i / 4u];
}

fn b_quad(i: u32) -> vec4<E> {
    return b[i / 4u];
}

// Four values from any index on. Nothing is read beyond the last quad.
fn a_four(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(a[q], a[min(q + 1u, arrayLength(&a) - 1u)], i);
}

fn b_four(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(b[q], b[min(q + 1u, arrayLength(&b) - 1u)], i);
}

// The XOR swizzle of quad indices at this depth.
fn swizzle(deep: u32) -> u32 {
    return ((deep >> 2u) & 3u) << 1u;
}

fn bias_value(i: u32) -> E {
    return bias[i];
}

fn residual_value(i: u32) -> E {
    return residual[i];
}

fn mul_add(x: E, y: vec4<E>, sum: vec4<E>) -> vec4<E> {
    return fma(vec4(x), y, sum);
}

// A tile of a product whose inner sums are split among sets of invocations (split-K).
//
// Such tiles are few and their sums are long, so what matters is how many loads are in flight. Each set goes through
// memory on its own, four inner products at a time, with neighbouring invocations at neighbouring addresses, and
// without workgroup memory and its barriers. At the end, the sums of the sets are added in the order of the sets.
//
// An invocation multiplies quads of rows of a and of columns of b. The first quad of a is in four registers, a0_0 to
// a0_3: one for each row or, if a_along holds, for each inner product; and so on, for b by columns and b_along.
//
// Uses: the numbers of src/ops/product_tile.rs, E, `mul_add`, and in its blocks `lid`, `a_along` and `b_along`.
// Defines: `sh_sums`, and the blocks `places`, `begin`, `multiply`, `add_up` and `place_of_sums`.

var<workgroup> sh_sums: array<vec4<E>, 1024>;

fn make_tile(o: Product, lid: u32) {
    // A vector lies along its inner extent either way.
    let a_along = p.a_transposed != 0u && o.m > 1u;
    let b_along = p.b_transposed == 0u && o.n > 1u;
    let block = min(32u * ((o.k + 2047u) / 2048u), BLOCK);
    // Declares the invocation's set, its position in the set, its registers, and the complete sums of one quad.
    let turn = lid / 4u;
    let tx = lid % 2u;
    let ty = lid % 4u / 2u;
    var all = vec4<E>();
    var a0_0 = vec4<E>();
    var a0_1 = vec4<E>();
    var a0_2 = vec4<E>();
    var a0_3 = vec4<E>();
    var b0_0 = vec4<E>();
    var b0_1 = vec4<E>();
    var b0_2 = vec4<E>();
    var b0_3 = vec4<E>();
    // Rows and columns beyond the operand's last one read the last one instead; their results are not stored.
    let a_step = select(1u, o.a_stride, a_along);
    let a_quads = ((o.a | select(o.a_stride, 0u, o.m == 1u)) & 3u) == 0u;
    let a_last = o.m - select(1u, min(o.m, 4u), a_along && a_quads);
    let a0_side = o.row0 + 4u * ty + 0u;
    let a0_0_at = o.a + select(
        min(a0_side + 0u, o.m - 1u) * o.a_stride,
        min(a0_side, a_last) + 0u * o.a_stride,
        a_along);
    let a0_1_at = o.a + select(
        min(a0_side + 1u, o.m - 1u) * o.a_stride,
        min(a0_side, a_last) + 1u * o.a_stride,
        a_along);
    let a0_2_at = o.a + select(
        min(a0_side + 2u, o.m - 1u) * o.a_stride,
        min(a0_side, a_last) + 2u * o.a_stride,
        a_along);
    let a0_3_at = o.a + select(
        min(a0_side + 3u, o.m - 1u) * o.a_stride,
        min(a0_side, a_last) + 3u * o.a_stride,
        a_along);
    let b_step = select(1u, o.b_stride, b_along);
    let b_quads = ((o.b | select(o.b_stride, 0u, o.n == 1u)) & 3u) == 0u;
    let b_last = o.n - select(1u, min(o.n, 4u), b_along && b_quads);
    let b0_side = o.column0 + 4u * tx + 0u;
    let b0_0_at = o.b + select(
        min(b0_side + 0u, o.n - 1u) * o.b_stride,
        min(b0_side, b_last) + 0u * o.b_stride,
        b_along);
    let b0_1_at = o.b + select(
        min(b0_side + 1u, o.n - 1u) * o.b_stride,
        min(b0_side, b_last) + 1u * o.b_stride,
        b_along);
    let b0_2_at = o.b + select(
        min(b0_side + 2u, o.n - 1u) * o.b_stride,
        min(b0_side, b_last) + 2u * o.b_stride,
        b_along);
    let b0_3_at = o.b + select(
        min(b0_side + 3u, o.n - 1u) * o.b_stride,
        min(b0_side, b_last) + 3u * o.b_stride,
        b_along);
    var begin = 0u;
    loop {
        let end = min(begin + block * (turn + 1u), o.k);
        // Declares the sums as zero: row i and quad q of the invocation's part.
        var s0_0 = vec4<E>();
        var s1_0 = vec4<E>();
        var s2_0 = vec4<E>();
        var s3_0 = vec4<E>();
        var k = begin + block * turn;
        for (; k + 4u <= end; k += 4u) {
            if a_quads {
                a0_0 = a_quad(a0_0_at + k * a_step);
                a0_1 = a_quad(a0_1_at + k * a_step);
                a0_2 = a_quad(a0_2_at + k * a_step);
                a0_3 = a_quad(a0_3_at + k * a_step);
            } else {
                a0_0 = a_four(a0_0_at + k * a_step);
                a0_1 = a_four(a0_1_at + k * a_step);
                a0_2 = a_four(a0_2_at + k * a_step);
                a0_3 = a_four(a0_3_at + k * a_step);
            }
            if b_quads {
                b0_0 = b_quad(b0_0_at + k * b_step);
                b0_1 = b_quad(b0_1_at + k * b_step);
                b0_2 = b_quad(b0_2_at + k * b_step);
                b0_3 = b_quad(b0_3_at + k * b_step);
            } else {
                b0_0 = b_four(b0_0_at + k * b_step);
                b0_1 = b_four(b0_1_at + k * b_step);
                b0_2 = b_four(b0_2_at + k * b_step);
                b0_3 = b_four(b0_3_at + k * b_step);
            }
            // Adds four products to each sum, after transposing registers where necessary: a's then hold rows, and b's hold inner
            // products.
            if a_along {
                let at0_0 = vec4(a0_0.x, a0_1.x, a0_2.x, a0_3.x);
                let at0_1 = vec4(a0_0.y, a0_1.y, a0_2.y, a0_3.y);
                let at0_2 = vec4(a0_0.z, a0_1.z, a0_2.z, a0_3.z);
                let at0_3 = vec4(a0_0.w, a0_1.w, a0_2.w, a0_3.w);
                a0_0 = at0_0;
                a0_1 = at0_1;
                a0_2 = at0_2;
                a0_3 = at0_3;
            }
            if !b_along {
                let bt0_0 = vec4(b0_0.x, b0_1.x, b0_2.x, b0_3.x);
                let bt0_1 = vec4(b0_0.y, b0_1.y, b0_2.y, b0_3.y);
                let bt0_2 = vec4(b0_0.z, b0_1.z, b0_2.z, b0_3.z);
                let bt0_3 = vec4(b0_0.w, b0_1.w, b0_2.w, b0_3.w);
                b0_0 = bt0_0;
                b0_1 = bt0_1;
                b0_2 = bt0_2;
                b0_3 = bt0_3;
            }
            s0_0 = mul_add(a0_0.x, b0_0, s0_0);
            s1_0 = mul_add(a0_1.x, b0_0, s1_0);
            s2_0 = mul_add(a0_2.x, b0_0, s2_0);
            s3_0 = mul_add(a0_3.x, b0_0, s3_0);
            s0_0 = mul_add(a0_0.y, b0_1, s0_0);
            s1_0 = mul_add(a0_1.y, b0_1, s1_0);
            s2_0 = mul_add(a0_2.y, b0_1, s2_0);
            s3_0 = mul_add(a0_3.y, b0_1, s3_0);
            s0_0 = mul_add(a0_0.z, b0_2, s0_0);
            s1_0 = mul_add(a0_1.z, b0_2, s1_0);
            s2_0 = mul_add(a0_2.z, b0_2, s2_0);
            s3_0 = mul_add(a0_3.z, b0_2, s3_0);
            s0_0 = mul_add(a0_0.w, b0_3, s0_0);
            s1_0 = mul_add(a0_1.w, b0_3, s1_0);
            s2_0 = mul_add(a0_2.w, b0_3, s2_0);
            s3_0 = mul_add(a0_3.w, b0_3, s3_0);
        }
        if k < end {
            if a_quads {
                a0_0 = a_quad(
                    select(a0_0_at + k, a0_0_at + min(k + 0u, o.k - 1u) * o.a_stride, a_along));
                a0_1 = a_quad(
                    select(a0_1_at + k, a0_0_at + min(k + 1u, o.k - 1u) * o.a_stride, a_along));
                a0_2 = a_quad(
                    select(a0_2_at + k, a0_0_at + min(k + 2u, o.k - 1u) * o.a_stride, a_along));
                a0_3 = a_quad(
                    select(a0_3_at + k, a0_0_at + min(k + 3u, o.k - 1u) * o.a_stride, a_along));
            } else {
                a0_0 = a_four(
                    select(a0_0_at + k, a0_0_at + min(k + 0u, o.k - 1u) * o.a_stride, a_along));
                a0_1 = a_four(
                    select(a0_1_at + k, a0_0_at + min(k + 1u, o.k - 1u) * o.a_stride, a_along));
                a0_2 = a_four(
                    select(a0_2_at + k, a0_0_at + min(k + 2u, o.k - 1u) * o.a_stride, a_along));
                a0_3 = a_four(
                    select(a0_3_at + k, a0_0_at + min(k + 3u, o.k - 1u) * o.a_stride, a_along));
            }
            if b_quads {
                b0_0 = b_quad(
                    select(b0_0_at + k, b0_0_at + min(k + 0u, o.k - 1u) * o.b_stride, b_along));
                b0_1 = b_quad(
                    select(b0_1_at + k, b0_0_at + min(k + 1u, o.k - 1u) * o.b_stride, b_along));
                b0_2 = b_quad(
                    select(b0_2_at + k, b0_0_at + min(k + 2u, o.k - 1u) * o.b_stride, b_along));
                b0_3 = b_quad(
                    select(b0_3_at + k, b0_0_at + min(k + 3u, o.k - 1u) * o.b_stride, b_along));
            } else {
                b0_0 = b_four(
                    select(b0_0_at + k, b0_0_at + min(k + 0u, o.k - 1u) * o.b_stride, b_along));
                b0_1 = b_four(
                    select(b0_1_at + k, b0_0_at + min(k + 1u, o.k - 1u) * o.b_stride, b_along));
                b0_2 = b_four(
                    select(b0_2_at + k, b0_0_at + min(k + 2u, o.k - 1u) * o.b_stride, b_along));
                b0_3 = b_four(
                    select(b0_3_at + k, b0_0_at + min(k + 3u, o.k - 1u) * o.b_stride, b_along));
            }
            // Zeros beyond the inner extent.
            a0_0 = select(a0_0, vec4<E>(), k + select(RAMP, vec4(0u), a_along) >= vec4(o.k));
            a0_1 = select(a0_1, vec4<E>(), k + select(RAMP, vec4(1u), a_along) >= vec4(o.k));
            a0_2 = select(a0_2, vec4<E>(), k + select(RAMP, vec4(2u), a_along) >= vec4(o.k));
            a0_3 = select(a0_3, vec4<E>(), k + select(RAMP, vec4(3u), a_along) >= vec4(o.k));
            b0_0 = select(b0_0, vec4<E>(), k + select(RAMP, vec4(0u), b_along) >= vec4(o.k));
            b0_1 = select(b0_1, vec4<E>(), k + select(RAMP, vec4(1u), b_along) >= vec4(o.k));
            b0_2 = select(b0_2, vec4<E>(), k + select(RAMP, vec4(2u), b_along) >= vec4(o.k));
            b0_3 = select(b0_3, vec4<E>(), k + select(RAMP, vec4(3u), b_along) >= vec4(o.k));
            // Adds four products to each sum, after transposing registers where necessary: a's then hold rows, and b's hold inner
            // products.
            if a_along {
                let at0_0 = vec4(a0_0.x, a0_1.x, a0_2.x, a0_3.x);
                let at0_1 = vec4(a0_0.y, a0_1.y, a0_2.y, a0_3.y);
                let at0_2 = vec4(a0_0.z, a0_1.z, a0_2.z, a0_3.z);
                let at0_3 = vec4(a0_0.w, a0_1.w, a0_2.w, a0_3.w);
                a0_0 = at0_0;
                a0_1 = at0_1;
                a0_2 = at0_2;
                a0_3 = at0_3;
            }
            if !b_along {
                let bt0_0 = vec4(b0_0.x, b0_1.x, b0_2.x, b0_3.x);
                let bt0_1 = vec4(b0_0.y, b0_1.y, b0_2.y, b0_3.y);
                let bt0_2 = vec4(b0_0.z, b0_1.z, b0_2.z, b0_3.z);
                let bt0_3 = vec4(b0_0.w, b0_1.w, b0_2.w, b0_3.w);
                b0_0 = bt0_0;
                b0_1 = bt0_1;
                b0_2 = bt0_2;
                b0_3 = bt0_3;
            }
            s0_0 = mul_add(a0_0.x, b0_0, s0_0);
            s1_0 = mul_add(a0_1.x, b0_0, s1_0);
            s2_0 = mul_add(a0_2.x, b0_0, s2_0);
            s3_0 = mul_add(a0_3.x, b0_0, s3_0);
            s0_0 = mul_add(a0_0.y, b0_1, s0_0);
            s1_0 = mul_add(a0_1.y, b0_1, s1_0);
            s2_0 = mul_add(a0_2.y, b0_1, s2_0);
            s3_0 = mul_add(a0_3.y, b0_1, s3_0);
            s0_0 = mul_add(a0_0.z, b0_2, s0_0);
            s1_0 = mul_add(a0_1.z, b0_2, s1_0);
            s2_0 = mul_add(a0_2.z, b0_2, s2_0);
            s3_0 = mul_add(a0_3.z, b0_2, s3_0);
            s0_0 = mul_add(a0_0.w, b0_3, s0_0);
            s1_0 = mul_add(a0_1.w, b0_3, s1_0);
            s2_0 = mul_add(a0_2.w, b0_3, s2_0);
            s3_0 = mul_add(a0_3.w, b0_3, s3_0);
        }
        begin += block * 64u;
        // Adds the sums of all sets to the previous ones, `all`, which one invocation holds for each quad of the tile.
        workgroupBarrier();
        sh_sums[turn * 16u + 0u + lid % 4u] = s0_0;
        sh_sums[turn * 16u + 4u + lid % 4u] = s1_0;
        sh_sums[turn * 16u + 8u + lid % 4u] = s2_0;
        sh_sums[turn * 16u + 12u + lid % 4u] = s3_0;
        workgroupBarrier();
        if lid < 16u {
            for (var other = 0u; other < 64u; other += 1u) {
                all += sh_sums[other * 16u + lid];
            }
        }
        if begin >= o.k {
            break;
        }
    }
    if lid < 16u {
        // Declares the row and the column, in the tile, of the complete sums that an invocation holds.
        let i = lid / 4u;
        let row = 4u * (lid % 4u / 2u) + i / 4u * 8u + i % 4u;
        let column = 4u * (lid % 2u) + lid / 4u % 1u * 8u;
        put_quad(o, o.row0 + row, o.column0 + column, all, true, true);
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
    make_tile(product(group), lid);
}
