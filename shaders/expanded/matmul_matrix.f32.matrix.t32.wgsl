// matmul_matrix.f32.matrix.t32
enable f16;
enable wgpu_cooperative_matrix;
alias E = f32;
const SCALE = 1u;
const BIAS = 2u;
const RELU = 4u;
const GELU = 8u;
const RESIDUAL = 16u;
const RESULT = 32u;
const WG = 32u;
const SIDE = 16u;
const ROWS = 32u;
const COLUMNS = 32u;
const DEPTH = 16u;
const SUBGROUPS = 1u;
const ACROSS = 1u;
const TURNS = 1u;
const SCRATCH = 1u;
const PER = 4u;
const A_MATRICES = 2u;
const B_MATRICES = 2u;
const A_INNER = 1u;
const A_ROWS = 32u;
const A_UNITS = 2u;
const A_PITCH = 6u;
const A_SLOTS = 2u;
const A_FOURS = 0u;
const A_TWOS = 0u;
const B_INNER = 0u;
const B_ROWS = 16u;
const B_UNITS = 4u;
const B_PITCH = 10u;
const B_SLOTS = 2u;
const B_FOURS = 2u;
const B_TWOS = 0u;
// c = residual + f(scale · a b + bias) for f16, on cooperative matrices; a, b or both (LEFT, RIGHT) may be stored
// transposed.
//
// A workgroup computes a tile of one product. It stages some columns of a and rows of b in their stored order, and a
// subgroup of 32 sums its part of the tile in matrices of SIDE x SIDE, SIDE products at a time: 16, or 8 (EIGHT), where
// subgroups may have fewer lanes. The next stage is loaded meanwhile. Sums are f32. c is f32, or f16 (RESULT) if all
// rows of results consist of whole quads of words. a and b consist of whole quads of words (eight values), or with
// LOOSE of any number of values.
//
// Sums are a chain of ⌈k / SIDE⌉ additions of SIDE products.

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
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bias: array<u32>;
@group(0) @binding(6) var<storage, read_write> residual: array<u32>;
// The same buffer as c.
@group(0) @binding(7) var<storage, read_write> c_words: array<vec4<u32>>;

// The linear index of a workgroup in its dispatch.
//
// A dispatch with more workgroups than one dimension allows is folded into x and y, and a long one is split into
// several; p.first_group is the first workgroup of this part. Workgroups from p.groups on are idle.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}
// Value i, from the word that contains it.
fn half_of(word: u32, i: u32) -> f32 {
    return unpack2x16float(word >> (16u * (i % 2u))).x;
}
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

// Flag of p.epilogue: c is f16.

fn bias_value(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> f32 {
    return half_of(residual[i / 2u], i);
}

// The four f16 values in two words, with their bits unchanged.
fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

fn sums_at(i: u32) -> vec4<f32> {
    return vec4(sh_c[i], sh_c[i + 1u], sh_c[i + 2u], sh_c[i + 3u]);
}

// Stores eight f16 results to quad `at` of words.
fn put_halves(at: u32, low: vec4<f32>, high: vec4<f32>) {
    c_words[at] = vec4(
        pack2x16float(low.xy),
        pack2x16float(low.zw),
        pack2x16float(high.xy),
        pack2x16float(high.zw),
    );
}

// A tile of a product on cooperative matrices: staging, multiplying and storing. The kernel itself decides what to
// load, and in which order.
//
// A workgroup computes a tile of sums; each of its subgroups computes a part of it, in matrices of SIDE x SIDE. With 8
// x 8 matrices, subgroups may have fewer than 32 lanes, and then there are more subgroups than parts. Both operands are
// staged in memory order, DEPTH inner products at a time, in units of eight values; a transposed one is only loaded
// into matrices the other way. Every tile sums in the same order, SIDE inner products at a time, so sums do not depend
// on its size.
//
// Uses: the numbers of src/ops/coop_tile.rs, `halves`, and in its blocks `lid` and `s`, the subgroup. Defines: `MA`,
// `MB`, `MC`, `Subgroup`, `sh_c`, through which sums pass, `sh_a`, `sh_b`, and the blocks.

alias MA = coop_mat16x16<f16, A>;
alias MB = coop_mat16x16<f16, B>;
alias MC = coop_mat16x16<f32, C>;
var<workgroup> sh_c: array<f32, 256>;
struct Subgroup { id: u32, lane: u32, lanes: u32 }
var<workgroup> sh_a: array<vec4<f16>, 192>;
var<workgroup> sh_b: array<vec4<f16>, 160>;

fn make_tile(o: Product, lid: u32, s: Subgroup) {
    let row0 = o.row0;
    let column0 = o.column0;
    let part = s.id;
    let scratch = (s.id / 1u) * (SIDE * SIDE);
    let lane = s.lane;
    let row_in = (part / 1u) * 32u;
    let column_in = (part % 1u) * 32u;
    // The row and the unit of each slot that an invocation stages.
    let a_row0 = lid / 2u + 0u;
    let a_unit0 = lid % 2u;
    let a_row1 = lid / 2u + 16u;
    let a_unit1 = lid % 2u;
    // Eight lanes store rows r and r + 4, which are in different banks.
    let b_row0 = (lid / 32u) * 8u + (lid / 4u % 2u) * 4u + lid % 32u / 8u + 0u;
    let b_unit0 = lid % 4u;
    // Eight lanes store rows r and r + 4, which are in different banks.
    let b_row1 = (lid / 32u) * 8u + (lid / 4u % 2u) * 4u + lid % 32u / 8u + 8u;
    let b_unit1 = lid % 4u;
    // Where each slot's values begin, in units if those are whole. Rows and columns outside the product are clamped to
    // its edge; they affect no result that is stored.
    let a_pitch = o.a_stride / 8u;
    let a_at0 = o.a / 8u + min(row0 + a_row0, o.m - 1u) * a_pitch + a_unit0;
    let a_at1 = o.a / 8u + min(row0 + a_row1, o.m - 1u) * a_pitch + a_unit1;
    let a_stage = 2u;
    let b_pitch = o.b_stride / 8u;
    let b_at0 = o.b / 8u + b_row0 * b_pitch + min(column0 / 8u + b_unit0, o.n / 8u - 1u);
    let b_at1 = o.b / 8u + b_row1 * b_pitch + min(column0 / 8u + b_unit1, o.n / 8u - 1u);
    let b_stage = 16u * b_pitch;
    var a0_0 = vec4<u32>();
    var a0_1 = vec4<u32>();
    var b0_0 = vec4<u32>();
    var b0_1 = vec4<u32>();
    var s0_0 = MC();
    var s0_1 = MC();
    var s1_0 = MC();
    var s1_1 = MC();
    // Whole stages, with an unconditional load of the next one, then the remainder of the inner extent.
    let stages = o.k / 16u;
    let rest = stages * 16u < o.k;
    if stages > 0u {
        a0_0 = a[a_at0 + 0u * a_stage];
        a0_1 = a[a_at1 + 0u * a_stage];
        b0_0 = b[b_at0 + 0u * b_stage];
        b0_1 = b[b_at1 + 0u * b_stage];
    } else if rest {
        a0_0 = vec4<u32>();
        if 0u * 16u + 8u * a_unit0 < o.k { a0_0 = a[a_at0 + 0u * a_stage]; }
        a0_1 = vec4<u32>();
        if 0u * 16u + 8u * a_unit1 < o.k { a0_1 = a[a_at1 + 0u * a_stage]; }
        b0_0 = vec4<u32>();
        if 0u * 16u + b_row0 < o.k { b0_0 = b[b_at0 + 0u * b_stage]; }
        b0_1 = vec4<u32>();
        if 0u * 16u + b_row1 < o.k { b0_1 = b[b_at1 + 0u * b_stage]; }
    }
    // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
    let step = min(p.groups, 1u);
    for (var n = 1u; n < stages; n += step) {
        workgroupBarrier();
        {
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 0u] = halves(a0_0.xy);
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 1u] = halves(a0_0.zw);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 0u] = halves(a0_1.xy);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 1u] = halves(a0_1.zw);
        }
        {
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 0u] = halves(b0_0.xy);
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 1u] = halves(b0_0.zw);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 0u] = halves(b0_1.xy);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 1u] = halves(b0_1.zw);
        }
        workgroupBarrier();
        let m_a0_0 = coopLoadT<MA>(&sh_a[0u + (row_in + 0u) * 6u + 0u], 6u);
        let m_a0_1 = coopLoadT<MA>(&sh_a[0u + (row_in + 16u) * 6u + 0u], 6u);
        let m_b0_0 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 0u) / 4u], 10u);
        let m_b0_1 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 16u) / 4u], 10u);
        a0_0 = a[a_at0 + n * a_stage];
        a0_1 = a[a_at1 + n * a_stage];
        b0_0 = b[b_at0 + n * b_stage];
        b0_1 = b[b_at1 + n * b_stage];
        s0_0 = coopMultiplyAdd(m_a0_0, m_b0_0, s0_0);
        s0_1 = coopMultiplyAdd(m_a0_0, m_b0_1, s0_1);
        s1_1 = coopMultiplyAdd(m_a0_1, m_b0_1, s1_1);
        s1_0 = coopMultiplyAdd(m_a0_1, m_b0_0, s1_0);
    }
    loop {
        if !(stages > 0u) { break; }
        workgroupBarrier();
        {
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 0u] = halves(a0_0.xy);
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 1u] = halves(a0_0.zw);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 0u] = halves(a0_1.xy);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 1u] = halves(a0_1.zw);
        }
        {
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 0u] = halves(b0_0.xy);
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 1u] = halves(b0_0.zw);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 0u] = halves(b0_1.xy);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 1u] = halves(b0_1.zw);
        }
        workgroupBarrier();
        let m_a0_0 = coopLoadT<MA>(&sh_a[0u + (row_in + 0u) * 6u + 0u], 6u);
        let m_a0_1 = coopLoadT<MA>(&sh_a[0u + (row_in + 16u) * 6u + 0u], 6u);
        let m_b0_0 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 0u) / 4u], 10u);
        let m_b0_1 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 16u) / 4u], 10u);
        if rest {
            a0_0 = vec4<u32>();
            if stages * 16u + 8u * a_unit0 < o.k { a0_0 = a[a_at0 + stages * a_stage]; }
            a0_1 = vec4<u32>();
            if stages * 16u + 8u * a_unit1 < o.k { a0_1 = a[a_at1 + stages * a_stage]; }
            b0_0 = vec4<u32>();
            if stages * 16u + b_row0 < o.k { b0_0 = b[b_at0 + stages * b_stage]; }
            b0_1 = vec4<u32>();
            if stages * 16u + b_row1 < o.k { b0_1 = b[b_at1 + stages * b_stage]; }
        }
        s0_0 = coopMultiplyAdd(m_a0_0, m_b0_0, s0_0);
        s0_1 = coopMultiplyAdd(m_a0_0, m_b0_1, s0_1);
        s1_1 = coopMultiplyAdd(m_a0_1, m_b0_1, s1_1);
        s1_0 = coopMultiplyAdd(m_a0_1, m_b0_0, s1_0);
        break;
    }
    loop {
        if !(rest) { break; }
        workgroupBarrier();
        {
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 0u] = halves(a0_0.xy);
            sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 1u] = halves(a0_0.zw);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 0u] = halves(a0_1.xy);
            sh_a[0u + a_row1 * 6u + 2u * a_unit1 + 1u] = halves(a0_1.zw);
        }
        {
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 0u] = halves(b0_0.xy);
            sh_b[0u + b_row0 * 10u + 2u * b_unit0 + 1u] = halves(b0_0.zw);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 0u] = halves(b0_1.xy);
            sh_b[0u + b_row1 * 10u + 2u * b_unit1 + 1u] = halves(b0_1.zw);
        }
        workgroupBarrier();
        let m_a0_0 = coopLoadT<MA>(&sh_a[0u + (row_in + 0u) * 6u + 0u], 6u);
        let m_a0_1 = coopLoadT<MA>(&sh_a[0u + (row_in + 16u) * 6u + 0u], 6u);
        let m_b0_0 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 0u) / 4u], 10u);
        let m_b0_1 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 16u) / 4u], 10u);
        s0_0 = coopMultiplyAdd(m_a0_0, m_b0_0, s0_0);
        s0_1 = coopMultiplyAdd(m_a0_0, m_b0_1, s0_1);
        s1_1 = coopMultiplyAdd(m_a0_1, m_b0_1, s1_1);
        s1_0 = coopMultiplyAdd(m_a0_1, m_b0_0, s1_0);
        break;
    }
    // Stored directly if the tile is whole and there is no epilogue.
    let plain = row0 + 32u <= o.m && column0 + 32u <= o.n && o.n % 4u == 0u && o.c % 4u == 0u
        && (p.epilogue | RESULT) == RESULT;
    loop {
        if !(plain) { break; }
        // They still go through workgroup memory, so that a row of a matrix fills two whole sectors; a matrix stored directly
        // to `c` would write sectors by halves.
        let stride = o.n / 4u;
        let corner = (o.c + column0 + column_in) / 4u + (row0 + row_in) * stride;
        let first = corner + lane / 4u * stride + lane % 4u;
        let first_half = (corner + lane / 2u * stride) / 2u + lane % 2u;
        let own = scratch + 4u * lane;
        let halves_wanted = (p.epilogue & RESULT) != 0u;
        workgroupBarrier();
        { let v = s0_0; let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }
        workgroupBarrier();
        if halves_wanted {
            put_halves(first_half + 0u * stride + 0u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));
        } else {
            c[first + 0u * stride + 0u] = sums_at(own);
            c[first + 8u * stride + 0u] = sums_at(own + 128u);
        }
        workgroupBarrier();
        { let v = s0_1; let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }
        workgroupBarrier();
        if halves_wanted {
            put_halves(first_half + 0u * stride + 2u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));
        } else {
            c[first + 0u * stride + 4u] = sums_at(own);
            c[first + 8u * stride + 4u] = sums_at(own + 128u);
        }
        workgroupBarrier();
        { let v = s1_0; let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }
        workgroupBarrier();
        if halves_wanted {
            put_halves(first_half + 8u * stride + 0u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));
        } else {
            c[first + 16u * stride + 0u] = sums_at(own);
            c[first + 24u * stride + 0u] = sums_at(own + 128u);
        }
        workgroupBarrier();
        { let v = s1_1; let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }
        workgroupBarrier();
        if halves_wanted {
            put_halves(first_half + 8u * stride + 2u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));
        } else {
            c[first + 16u * stride + 4u] = sums_at(own);
            c[first + 24u * stride + 4u] = sums_at(own + 128u);
        }
        break;
    }
    loop {
        if !(!plain) { break; }
        // All go through one loop, which must not be unrolled, because its body is long if it does more than store; compilers
        // do not unroll a loop that runs `min(p.groups, 1u)` times a constant.
        let count = 4u * min(p.groups, 1u);
        for (var f = 0u; f < count; f += 1u) {
            workgroupBarrier();
            loop {
                if !(f == 0u) { break; }
                let v = s0_0;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
                break;
            }
            loop {
                if !(f == 1u) { break; }
                let v = s0_1;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
                break;
            }
            loop {
                if !(f == 2u) { break; }
                let v = s1_0;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
                break;
            }
            loop {
                if !(f == 3u) { break; }
                let v = s1_1;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
                break;
            }
            workgroupBarrier();
            put_matrix(
                o, row0 + row_in + 16u * (f / 2u), column0 + column_in + 16u * (f % 2u),
                scratch, lane, s.lanes);
        }
        break;
    }
}

// Stores the part of a subgroup's scratch that is inside the result. By quads; or, if rows begin anywhere and there is
// no epilogue, by value, so that the lanes of a subgroup store adjacent values.
fn put_matrix(o: Product, row0: u32, column0: u32, scratch: u32, lane: u32, lanes: u32) {
    if row0 >= o.m || column0 >= o.n {
        return;
    }
    if (p.epilogue & RESULT) != 0u {
        for (var i = lane; i < SIDE * SIDE / 8u; i += lanes) {
            let row = row0 + 8u * i / SIDE;
            let column = column0 + 8u * i % SIDE;
            if row < o.m && column < o.n {
                let low = finished(o, row, column, sums_at(scratch + 8u * i));
                let high = finished(o, row, column + 4u, sums_at(scratch + 8u * i + 4u));
                put_halves((o.c + row * o.n + column) / 8u, low, high);
            }
        }
        return;
    }
    if ((o.c | o.n) & 3u) != 0u && p.epilogue == 0u {
        for (var i = lane; i < SIDE * SIDE; i += lanes) {
            let row = row0 + i / SIDE;
            let column = column0 + i % SIDE;
            if row < o.m && column < o.n {
                let at = o.c + row * o.n + column;
                c[at >> 2u][at & 3u] = sh_c[scratch + i];
            }
        }
        return;
    }
    for (var i = lane; i < SIDE * SIDE / 4u; i += lanes) {
        let sums = sums_at(scratch + 4u * i);
        put_quad(o, row0 + 4u * i / SIDE, column0 + 4u * i % SIDE, sums, true, true);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
    make_tile(product(group), lid, Subgroup(subgroup, lid % 32u, 32u));
}
