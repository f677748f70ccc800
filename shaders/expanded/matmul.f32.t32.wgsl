// matmul.f32.t32
alias E = f32;
const SCALE = 1u;
const BIAS = 2u;
const RELU = 4u;
const GELU = 8u;
const RESIDUAL = 16u;
const BLOCK = 512u;
const ROWS = 32u;
const COLUMNS = 32u;
const DEPTH = 16u;
const SETS = 1u;
const SET = 64u;
const WG = 64u;
const ACROSS = 8u;
const NEAR = 4u;
const A_PART = 1u;
const B_PART = 1u;
const A_APART = 32u;
const B_APART = 32u;
const A_QUADS = 128u;
const B_QUADS = 128u;
const A_SLOTS = 2u;
const B_SLOTS = 2u;
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

// A tile of a product that is summed in registers, in squares of four by four.
//
// Workgroup memory holds a stage of a and one of b as rows of quads, one row for each step in depth, from which an
// invocation reads the quads of its squares. The kernel loads them, into registers a0, a1, .. and b0, b1, ..: the
// slots.
//
// Uses: the numbers of src/ops/product_tile.rs, E, `swizzle`, `mul_add`, and in its blocks `lid`, `a_along` and
// `b_along`. Defines: `sh_a`, `sh_b`, and the blocks `places`, `squares`, `begin`, `stage` and `multiply`.

var<workgroup> sh_a: array<vec4<E>, 128>;
var<workgroup> sh_b: array<vec4<E>, 128>;

fn make_tile(o: Product, lid: u32) {
    let row0 = o.row0;
    let column0 = o.column0;
    let a_along = p.a_transposed != 0u;
    let b_along = p.b_transposed == 0u;
    // Quads beyond the operand's last row or column read the last one instead; their results are not stored.
    // Declares which quad of the stage each slot of a side loads: its first row or column, and its depth. Neighbouring
    // invocations load neighbours in memory: along the side if a_along or b_along holds, otherwise in depth.
    let a0_side = select((lid + 0u) / 4u, 4u * ((lid + 0u) % 8u), a_along);
    let a0_deep = select(4u * ((lid + 0u) % 4u), (lid + 0u) / 8u, a_along);
    let a1_side = select((lid + 64u) / 4u, 4u * ((lid + 64u) % 8u), a_along);
    let a1_deep = select(4u * ((lid + 64u) % 4u), (lid + 64u) / 8u, a_along);
    let a_by_side = select(o.a_stride, 1u, a_along);
    let a_by_deep = select(1u, o.a_stride, a_along);
    let a_by_deep_4 = select(RAMP, vec4<u32>(), a_along);
    let a_last_side = o.m - select(1u, min(o.m, 4u), a_along && o.quads);
    var a0 = vec4<E>();
    let a0_at = o.a + min(row0 + a0_side, a_last_side) * a_by_side;
    var a1 = vec4<E>();
    let a1_at = o.a + min(row0 + a1_side, a_last_side) * a_by_side;
    // Declares which quad of the stage each slot of a side loads: its first row or column, and its depth. Neighbouring
    // invocations load neighbours in memory: along the side if a_along or b_along holds, otherwise in depth.
    let b0_side = select((lid + 0u) / 4u, 4u * ((lid + 0u) % 8u), b_along);
    let b0_deep = select(4u * ((lid + 0u) % 4u), (lid + 0u) / 8u, b_along);
    let b1_side = select((lid + 64u) / 4u, 4u * ((lid + 64u) % 8u), b_along);
    let b1_deep = select(4u * ((lid + 64u) % 4u), (lid + 64u) / 8u, b_along);
    let b_by_side = select(o.b_stride, 1u, b_along);
    let b_by_deep = select(1u, o.b_stride, b_along);
    let b_by_deep_4 = select(RAMP, vec4<u32>(), b_along);
    let b_last_side = o.n - select(1u, min(o.n, 4u), b_along && o.quads);
    var b0 = vec4<E>();
    let b0_at = o.b + min(column0 + b0_side, b_last_side) * b_by_side;
    var b1 = vec4<E>();
    let b1_at = o.b + min(column0 + b1_side, b_last_side) * b_by_side;
    // Declares the invocation's squares. Those of a subgroup are close to each other and share what they read, above all
    // those of invocations with close numbers.
    let tx = lid / 32u % 1u * 8u + lid / 2u % 8u;
    let ty = lid / 32u / 1u * 4u + lid % 32u / 16u * 2u + lid % 2u;
    if 0u + 16u <= o.k {
        if o.quads {
            a0 = a_quad(a0_at + (0u + a0_deep) * a_by_deep);
            a1 = a_quad(a1_at + (0u + a1_deep) * a_by_deep);
            b0 = b_quad(b0_at + (0u + b0_deep) * b_by_deep);
            b1 = b_quad(b1_at + (0u + b1_deep) * b_by_deep);
        } else {
            a0 = a_four(a0_at + (0u + a0_deep) * a_by_deep);
            a1 = a_four(a1_at + (0u + a1_deep) * a_by_deep);
            b0 = b_four(b0_at + (0u + b0_deep) * b_by_deep);
            b1 = b_four(b1_at + (0u + b1_deep) * b_by_deep);
        }
    } else if 0u < o.k {
        a0 = a_four(a0_at + min(0u + a0_deep, o.k - 1u) * a_by_deep);
        a1 = a_four(a1_at + min(0u + a1_deep, o.k - 1u) * a_by_deep);
        b0 = b_four(b0_at + min(0u + b0_deep, o.k - 1u) * b_by_deep);
        b1 = b_four(b1_at + min(0u + b1_deep, o.k - 1u) * b_by_deep);
        a0 = select(a0, vec4<E>(), 0u + a0_deep + a_by_deep_4 >= vec4(o.k));
        a1 = select(a1, vec4<E>(), 0u + a1_deep + a_by_deep_4 >= vec4(o.k));
        b0 = select(b0, vec4<E>(), 0u + b0_deep + b_by_deep_4 >= vec4(o.k));
        b1 = select(b1, vec4<E>(), 0u + b1_deep + b_by_deep_4 >= vec4(o.k));
    }
    var begin = 0u;
    let block = BLOCK;
    loop {
        let end = min(begin + block, o.k);
        // Declares the sums as zero: row i and quad q of the invocation's part.
        var s0_0 = vec4<E>();
        var s1_0 = vec4<E>();
        var s2_0 = vec4<E>();
        var s3_0 = vec4<E>();
        for (var k = begin; k < end; k += 16u) {
            workgroupBarrier();
            // Stores the loaded quads to workgroup memory. A quad's position in its row is swizzled by its depth, so that four
            // values that are consecutive in depth go to four rows in different banks.
            if a_along {
                let at0 = a0_deep * 8u + ((a0_side >> 2u) ^ swizzle(a0_deep));
                sh_a[at0] = a0;
                let at1 = a1_deep * 8u + ((a1_side >> 2u) ^ swizzle(a1_deep));
                sh_a[at1] = a1;
            }
            if !a_along {
                let at0 = a0_deep * 8u + ((a0_side >> 2u) ^ swizzle(a0_deep));
                sh_a[at0 + 0u][a0_side & 3u] = a0.x;
                sh_a[at0 + 8u][a0_side & 3u] = a0.y;
                sh_a[at0 + 16u][a0_side & 3u] = a0.z;
                sh_a[at0 + 24u][a0_side & 3u] = a0.w;
                let at1 = a1_deep * 8u + ((a1_side >> 2u) ^ swizzle(a1_deep));
                sh_a[at1 + 0u][a1_side & 3u] = a1.x;
                sh_a[at1 + 8u][a1_side & 3u] = a1.y;
                sh_a[at1 + 16u][a1_side & 3u] = a1.z;
                sh_a[at1 + 24u][a1_side & 3u] = a1.w;
            }
            if b_along {
                let at0 = b0_deep * 8u + ((b0_side >> 2u) ^ swizzle(b0_deep));
                sh_b[at0] = b0;
                let at1 = b1_deep * 8u + ((b1_side >> 2u) ^ swizzle(b1_deep));
                sh_b[at1] = b1;
            }
            if !b_along {
                let at0 = b0_deep * 8u + ((b0_side >> 2u) ^ swizzle(b0_deep));
                sh_b[at0 + 0u][b0_side & 3u] = b0.x;
                sh_b[at0 + 8u][b0_side & 3u] = b0.y;
                sh_b[at0 + 16u][b0_side & 3u] = b0.z;
                sh_b[at0 + 24u][b0_side & 3u] = b0.w;
                let at1 = b1_deep * 8u + ((b1_side >> 2u) ^ swizzle(b1_deep));
                sh_b[at1 + 0u][b1_side & 3u] = b1.x;
                sh_b[at1 + 8u][b1_side & 3u] = b1.y;
                sh_b[at1 + 16u][b1_side & 3u] = b1.z;
                sh_b[at1 + 24u][b1_side & 3u] = b1.w;
            }
            workgroupBarrier();
            if (k + 16u) + 16u <= o.k {
                if o.quads {
                    a0 = a_quad(a0_at + ((k + 16u) + a0_deep) * a_by_deep);
                    a1 = a_quad(a1_at + ((k + 16u) + a1_deep) * a_by_deep);
                    b0 = b_quad(b0_at + ((k + 16u) + b0_deep) * b_by_deep);
                    b1 = b_quad(b1_at + ((k + 16u) + b1_deep) * b_by_deep);
                } else {
                    a0 = a_four(a0_at + ((k + 16u) + a0_deep) * a_by_deep);
                    a1 = a_four(a1_at + ((k + 16u) + a1_deep) * a_by_deep);
                    b0 = b_four(b0_at + ((k + 16u) + b0_deep) * b_by_deep);
                    b1 = b_four(b1_at + ((k + 16u) + b1_deep) * b_by_deep);
                }
            } else if (k + 16u) < o.k {
                a0 = a_four(a0_at + min((k + 16u) + a0_deep, o.k - 1u) * a_by_deep);
                a1 = a_four(a1_at + min((k + 16u) + a1_deep, o.k - 1u) * a_by_deep);
                b0 = b_four(b0_at + min((k + 16u) + b0_deep, o.k - 1u) * b_by_deep);
                b1 = b_four(b1_at + min((k + 16u) + b1_deep, o.k - 1u) * b_by_deep);
                a0 = select(a0, vec4<E>(), (k + 16u) + a0_deep + a_by_deep_4 >= vec4(o.k));
                a1 = select(a1, vec4<E>(), (k + 16u) + a1_deep + a_by_deep_4 >= vec4(o.k));
                b0 = select(b0, vec4<E>(), (k + 16u) + b0_deep + b_by_deep_4 >= vec4(o.k));
                b1 = select(b1, vec4<E>(), (k + 16u) + b1_deep + b_by_deep_4 >= vec4(o.k));
            }
            // Adds the products of the staged columns of a and the staged rows of b.
            {
                let aq0 = sh_a[0u + (ty ^ 0u)];
                let bq0 = sh_b[0u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[8u + (ty ^ 0u)];
                let bq0 = sh_b[8u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[16u + (ty ^ 0u)];
                let bq0 = sh_b[16u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[24u + (ty ^ 0u)];
                let bq0 = sh_b[24u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[32u + (ty ^ 2u)];
                let bq0 = sh_b[32u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[40u + (ty ^ 2u)];
                let bq0 = sh_b[40u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[48u + (ty ^ 2u)];
                let bq0 = sh_b[48u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[56u + (ty ^ 2u)];
                let bq0 = sh_b[56u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[64u + (ty ^ 4u)];
                let bq0 = sh_b[64u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[72u + (ty ^ 4u)];
                let bq0 = sh_b[72u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[80u + (ty ^ 4u)];
                let bq0 = sh_b[80u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[88u + (ty ^ 4u)];
                let bq0 = sh_b[88u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[96u + (ty ^ 6u)];
                let bq0 = sh_b[96u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[104u + (ty ^ 6u)];
                let bq0 = sh_b[104u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[112u + (ty ^ 6u)];
                let bq0 = sh_b[112u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[120u + (ty ^ 6u)];
                let bq0 = sh_b[120u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
        }
        let first = begin == 0u;
        begin += block;
        let last = begin >= o.k;
        // If rows are unaligned and storing is all that is left to do, stores go through the operands' staging memory, which
        // has room for a subgroup's rows each, so that neighbouring invocations store neighbouring values.
        if ((o.c | o.n) & 3u) == 0u || p.epilogue != 0u || !first || !last {
            put_quad(
                o, row0 + 4u * ty + 0u, column0 + 4u * tx + 0u,
                s0_0, first, last);
            put_quad(
                o, row0 + 4u * ty + 1u, column0 + 4u * tx + 0u,
                s1_0, first, last);
            put_quad(
                o, row0 + 4u * ty + 2u, column0 + 4u * tx + 0u,
                s2_0, first, last);
            put_quad(
                o, row0 + 4u * ty + 3u, column0 + 4u * tx + 0u,
                s3_0, first, last);
        } else {
            workgroupBarrier();
            let half = lid / 32u;
            if half == 0u {
                sh_a[(4u * ty + 0u) * 8u + tx] = s0_0;
                sh_a[(4u * ty + 1u) * 8u + tx] = s1_0;
                sh_a[(4u * ty + 2u) * 8u + tx] = s2_0;
                sh_a[(4u * ty + 3u) * 8u + tx] = s3_0;
            } else {
                sh_b[(4u * ty + 0u - 16u) * 8u + tx] = s0_0;
                sh_b[(4u * ty + 1u - 16u) * 8u + tx] = s1_0;
                sh_b[(4u * ty + 2u - 16u) * 8u + tx] = s2_0;
                sh_b[(4u * ty + 3u - 16u) * 8u + tx] = s3_0;
            }
            workgroupBarrier();
            let top = row0 + 16u * half;
            let column = column0 + lid % 32u;
            if column < o.n {
                let rows = min(max(o.m, top) - top, 16u);
                for (var r = 0u; r < rows; r += 1u) {
                    let at = o.c + (top + r) * o.n + column;
                    let i = r * 8u + lid % 32u / 4u;
                    c[at >> 2u][at & 3u] = select(sh_b[i], sh_a[i], half == 0u)[lid & 3u];
                }
            }
        }
        if last {
            break;
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
    make_tile(product(group), lid);
}
