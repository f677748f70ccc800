// bsr_matmul.f32.h16
alias E = f32;
const ROWS = 16u;
const COLUMNS = 128u;
const DEPTH = 16u;
const SETS = 1u;
const SET = 128u;
const WG = 128u;
const ACROSS = 32u;
const NEAR = 4u;
const A_PART = 1u;
const B_PART = 1u;
const A_APART = 16u;
const B_APART = 128u;
const A_QUADS = 64u;
const B_QUADS = 512u;
const A_SLOTS = 1u;
const B_SLOTS = 4u;
const A_PITCH = 8u;
const B_PITCH = 32u;
// Products of block-sparse matrices; only the blocks of a block-sparse matrix f are read.
//
// bsr_matmul: c = f b for each product, b dense. A workgroup computes a tile of ROWS rows, all in one block row, and
// COLUMNS columns, or the contribution of one piece of that block row to the tile. The first piece writes to c, the
// others to slots of `scratch`, which bsr_finish adds.
//
// bsr_sampled (SAMPLED): the blocks of f = a b, a and b dense. A workgroup computes ROWS rows of some consecutive
// blocks of one block row, side by side in a tile of COLUMNS columns.
//
// Strides say which operand is transposed. `order` holds the blocks of each block row, (storage index, block column),
// and from p.pieces on the pieces, two entries each: (first block, one past the last), (block row, slot of scratch
// counted from 1, or 0 for c). `list` holds the products, three entries each: (offset of a, of b, of c, columns of b or
// inner extent), (row and column stride of b, of c or a), (offset in scratch, 0, 0, 0); and from p.panels on (product,
// first column, 0, 0).
//
// HALVES: a and b hold f16, and their offsets count halves; sums and c are f32.
//
// Sums are blocked by at most 512 products, in the order of the blocks. Values of a block beyond the matrix are never
// read, and are written as 0.
//
// p.strips counts tiles per block height. Blocks of f are p.block_high × p.block_wide, with the strides p.block_row and
// p.block_column, and f is p.high × p.wide. After p.chunk stages, a sum is added to the stored result.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    pieces: u32,
    piece_count: u32,
    strips: u32,
    panels: u32,
    block_high: u32,
    block_wide: u32,
    high: u32,
    wide: u32,
    block_row: u32,
    block_column: u32,
    chunk: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<E>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> scratch: array<vec4<E>>;

// A stage consists of two halves of eight inner products; every block side is a multiple of eight.
const HALF = 8u;

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

// `there` values from index i on, then zeros.
fn a_values(i: u32, there: u32) -> vec4<E> {
    var x = vec4<E>();
    if there > 0u {
        x = select(x, a_four(i), vec4(0u, 1u, 2u, 3u) < vec4(there));
    }
    return x;
}

fn b_values(i: u32, there: u32) -> vec4<E> {
    var x = vec4<E>();
    if there > 0u {
        x = select(x, b_four(i), vec4(0u, 1u, 2u, 3u) < vec4(there));
    }
    return x;
}

fn mul_add(x: E, y: vec4<E>, sum: vec4<E>) -> vec4<E> {
    return fma(vec4(x), y, sum);
}

struct Tile {
    // Offsets, in values; that of a includes the tile's first row.
    a: u32,
    b: u32,
    c: u32,
    a_row: u32,
    a_column: u32,
    b_row: u32,
    b_column: u32,
    c_row: u32,
    c_column: u32,
    // The range of blocks.
    first: u32,
    end: u32,
    // Rows of the tile, those inside the matrix, and those that a has.
    rows: u32,
    rows_inside: u32,
    a_rows: u32,
    // The first column of b, and one past the last.
    column: u32,
    columns: u32,
    inner: u32,
    // Number of stages.
    steps: u32,
    // The first row within its blocks.
    low: u32,
    slot: u32,
    // Whether all quads of both operands are aligned to quads, and whether all of the tile's results are stored, as
    // quads.
    quads: bool,
    whole: bool,
}

// The position of half a stage: its offsets, and the number of inner products left in the block from there on.
struct Walk {
    a: u32,
    b: u32,
    left: u32,
    block: u32,
    within: u32,
    // The entry of `order` for the next block, read ahead so that no load waits for its address.
    next: vec2<u32>,
}

// How many of four values from `first` on are below `all`.
fn inside(all: u32, first: u32) -> u32 {
    return min(all - min(all, first), 4u);
}

// How many values of a quad exist, along a row of the stage or in depth.
fn there(along: bool, count: u32, within: u32, left: u32) -> u32 {
    let deep = inside(left, within);
    if along {
        return select(0u, count, deep > 0u);
    }
    return select(0u, deep, count > 0u);
}

fn at_block(t: Tile, block: u32, there: vec2<u32>) -> Walk {
    if block >= t.end {
        return Walk(t.a, t.b, 0u, block, 0u, there);
    }
    let row = there.y * p.block_wide;
    let next = order[min(block + 1u, t.end - 1u)];
    return Walk(t.a + there.x * p.block_high * p.block_wide, t.b + row * t.b_row, p.wide - row, block, 0u, next);
}

fn begin(t: Tile) -> Walk {
    return at_block(t, t.first, order[t.first]);
}

fn advance(t: Tile, w: Walk) -> Walk {
    let within = w.within + HALF;
    if within == p.block_wide {
        return at_block(t, w.block + 1u, w.next);
    }
    return Walk(w.a + HALF * t.a_column, w.b + HALF * t.b_row, w.left - min(w.left, HALF), w.block, within, w.next);
}

fn column_of(t: Tile, side: u32) -> u32 {
    return t.column + side;
}

fn columns_of(t: Tile, side: u32) -> u32 {
    return inside(t.columns, t.column + side);
}

fn put_quad(t: Tile, row: u32, side: u32, sum: vec4<E>, first: bool) {
    if row >= t.rows_inside {
        return;
    }
    let count = inside(t.columns, t.column + side);
    let at = t.c + row * t.c_row + side * t.c_column;
    if count > 0u {
        put(t, at, sum.x, first);
    }
    if count > 1u {
        put(t, at + t.c_column, sum.y, first);
    }
    if count > 2u {
        put(t, at + 2u * t.c_column, sum.z, first);
    }
    if count > 3u {
        put(t, at + 3u * t.c_column, sum.w, first);
    }
}

fn put(t: Tile, at: u32, sum: E, first: bool) {
    var y = sum;
    if t.slot == 0u {
        if !first {
            y += c[at / 4u][at % 4u];
        }
        c[at / 4u][at % 4u] = y;
    } else {
        if !first {
            y += scratch[at / 4u][at % 4u];
        }
        scratch[at / 4u][at % 4u] = y;
    }
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
var<workgroup> sh_b: array<vec4<E>, 512>;

fn make_tile(t: Tile, lid: u32) {
    let a_along = t.a_row == 1u;
    let b_along = t.b_column == 1u;
    // Which half of a stage an invocation's quads are in, and their offsets from the beginning of that half. A quad
    // lies in one half, and in one block. Values outside are never read; what replaces them affects no result that is
    // stored.
    // Declares which quad of the stage each slot of a side loads: its first row or column, and its depth. Neighbouring
    // invocations load neighbours in memory: along the side if a_along or b_along holds, otherwise in depth.
    let a0_side = select((lid + 0u) / 4u, 4u * ((lid + 0u) % 4u), a_along);
    let a0_deep = select(4u * ((lid + 0u) % 4u), (lid + 0u) / 4u, a_along);
    let a0_upper = a0_deep >= HALF;
    let a0_within = a0_deep % HALF;
    let a0_count = select(0u, inside(t.a_rows, a0_side), lid < 64u);
    let a0_at = select(0u, a0_side * t.a_row + a0_within * t.a_column, a0_count > 0u);
    var a0 = vec4<E>();
    // Declares which quad of the stage each slot of a side loads: its first row or column, and its depth. Neighbouring
    // invocations load neighbours in memory: along the side if a_along or b_along holds, otherwise in depth.
    let b0_side = select((lid + 0u) / 4u, 4u * ((lid + 0u) % 32u), b_along);
    let b0_deep = select(4u * ((lid + 0u) % 4u), (lid + 0u) / 32u, b_along);
    let b1_side = select((lid + 128u) / 4u, 4u * ((lid + 128u) % 32u), b_along);
    let b1_deep = select(4u * ((lid + 128u) % 4u), (lid + 128u) / 32u, b_along);
    let b2_side = select((lid + 256u) / 4u, 4u * ((lid + 256u) % 32u), b_along);
    let b2_deep = select(4u * ((lid + 256u) % 4u), (lid + 256u) / 32u, b_along);
    let b3_side = select((lid + 384u) / 4u, 4u * ((lid + 384u) % 32u), b_along);
    let b3_deep = select(4u * ((lid + 384u) % 4u), (lid + 384u) / 32u, b_along);
    let b0_upper = b0_deep >= HALF;
    let b0_within = b0_deep % HALF;
    let b0_count = columns_of(t, b0_side);
    let b0_at = select(0u, column_of(t, b0_side) * t.b_column + b0_within * t.b_row, b0_count > 0u);
    var b0 = vec4<E>();
    let b1_upper = b1_deep >= HALF;
    let b1_within = b1_deep % HALF;
    let b1_count = columns_of(t, b1_side);
    let b1_at = select(0u, column_of(t, b1_side) * t.b_column + b1_within * t.b_row, b1_count > 0u);
    var b1 = vec4<E>();
    let b2_upper = b2_deep >= HALF;
    let b2_within = b2_deep % HALF;
    let b2_count = columns_of(t, b2_side);
    let b2_at = select(0u, column_of(t, b2_side) * t.b_column + b2_within * t.b_row, b2_count > 0u);
    var b2 = vec4<E>();
    let b3_upper = b3_deep >= HALF;
    let b3_within = b3_deep % HALF;
    let b3_count = columns_of(t, b3_side);
    let b3_at = select(0u, column_of(t, b3_side) * t.b_column + b3_within * t.b_row, b3_count > 0u);
    var b3 = vec4<E>();
    // Declares the invocation's squares. Those of a subgroup are close to each other and share what they read, above all
    // those of invocations with close numbers.
    let tx = lid / 32u % 4u * 8u + lid / 2u % 8u;
    let ty = lid / 32u / 4u * 4u + lid % 32u / 16u * 2u + lid % 2u;
    var w0 = begin(t);
    var w1 = advance(t, w0);
    if t.quads && min(w0.left, w1.left) >= HALF {
        a0 = a_quad(select(w0.a, w1.a, a0_upper) + a0_at);
        b0 = b_quad(select(w0.b, w1.b, b0_upper) + b0_at);
        b1 = b_quad(select(w0.b, w1.b, b1_upper) + b1_at);
        b2 = b_quad(select(w0.b, w1.b, b2_upper) + b2_at);
        b3 = b_quad(select(w0.b, w1.b, b3_upper) + b3_at);
    } else {
        a0 = a_values(
            select(w0.a, w1.a, a0_upper) + a0_at,
            there(a_along, a0_count, a0_within, select(w0.left, w1.left, a0_upper)));
        b0 = b_values(
            select(w0.b, w1.b, b0_upper) + b0_at,
            there(b_along, b0_count, b0_within, select(w0.left, w1.left, b0_upper)));
        b1 = b_values(
            select(w0.b, w1.b, b1_upper) + b1_at,
            there(b_along, b1_count, b1_within, select(w0.left, w1.left, b1_upper)));
        b2 = b_values(
            select(w0.b, w1.b, b2_upper) + b2_at,
            there(b_along, b2_count, b2_within, select(w0.left, w1.left, b2_upper)));
        b3 = b_values(
            select(w0.b, w1.b, b3_upper) + b3_at,
            there(b_along, b3_count, b3_within, select(w0.left, w1.left, b3_upper)));
    }
    var done = 0u;
    loop {
        let end = min(done + p.chunk, t.steps);
        // Declares the sums as zero: row i and quad q of the invocation's part.
        var s0_0 = vec4<E>();
        var s1_0 = vec4<E>();
        var s2_0 = vec4<E>();
        var s3_0 = vec4<E>();
        for (var step = done; step < end; step++) {
            workgroupBarrier();
            // Stores the loaded quads to workgroup memory. A quad's position in its row is swizzled by its depth, so that four
            // values that are consecutive in depth go to four rows in different banks.
            if a_along {
                if lid < 64u {
                    let at0 = a0_deep * 8u + ((a0_side >> 2u) ^ swizzle(a0_deep));
                    sh_a[at0] = a0;
                }
            }
            if !a_along {
                if lid < 64u {
                    let at0 = a0_deep * 8u + ((a0_side >> 2u) ^ swizzle(a0_deep));
                    sh_a[at0 + 0u][a0_side & 3u] = a0.x;
                    sh_a[at0 + 8u][a0_side & 3u] = a0.y;
                    sh_a[at0 + 16u][a0_side & 3u] = a0.z;
                    sh_a[at0 + 24u][a0_side & 3u] = a0.w;
                }
            }
            if b_along {
                let at0 = b0_deep * 32u + ((b0_side >> 2u) ^ swizzle(b0_deep));
                sh_b[at0] = b0;
                let at1 = b1_deep * 32u + ((b1_side >> 2u) ^ swizzle(b1_deep));
                sh_b[at1] = b1;
                let at2 = b2_deep * 32u + ((b2_side >> 2u) ^ swizzle(b2_deep));
                sh_b[at2] = b2;
                let at3 = b3_deep * 32u + ((b3_side >> 2u) ^ swizzle(b3_deep));
                sh_b[at3] = b3;
            }
            if !b_along {
                let at0 = b0_deep * 32u + ((b0_side >> 2u) ^ swizzle(b0_deep));
                sh_b[at0 + 0u][b0_side & 3u] = b0.x;
                sh_b[at0 + 32u][b0_side & 3u] = b0.y;
                sh_b[at0 + 64u][b0_side & 3u] = b0.z;
                sh_b[at0 + 96u][b0_side & 3u] = b0.w;
                let at1 = b1_deep * 32u + ((b1_side >> 2u) ^ swizzle(b1_deep));
                sh_b[at1 + 0u][b1_side & 3u] = b1.x;
                sh_b[at1 + 32u][b1_side & 3u] = b1.y;
                sh_b[at1 + 64u][b1_side & 3u] = b1.z;
                sh_b[at1 + 96u][b1_side & 3u] = b1.w;
                let at2 = b2_deep * 32u + ((b2_side >> 2u) ^ swizzle(b2_deep));
                sh_b[at2 + 0u][b2_side & 3u] = b2.x;
                sh_b[at2 + 32u][b2_side & 3u] = b2.y;
                sh_b[at2 + 64u][b2_side & 3u] = b2.z;
                sh_b[at2 + 96u][b2_side & 3u] = b2.w;
                let at3 = b3_deep * 32u + ((b3_side >> 2u) ^ swizzle(b3_deep));
                sh_b[at3 + 0u][b3_side & 3u] = b3.x;
                sh_b[at3 + 32u][b3_side & 3u] = b3.y;
                sh_b[at3 + 64u][b3_side & 3u] = b3.z;
                sh_b[at3 + 96u][b3_side & 3u] = b3.w;
            }
            workgroupBarrier();
            w0 = advance(t, w1);
            w1 = advance(t, w0);
            if t.quads && min(w0.left, w1.left) >= HALF {
                a0 = a_quad(select(w0.a, w1.a, a0_upper) + a0_at);
                b0 = b_quad(select(w0.b, w1.b, b0_upper) + b0_at);
                b1 = b_quad(select(w0.b, w1.b, b1_upper) + b1_at);
                b2 = b_quad(select(w0.b, w1.b, b2_upper) + b2_at);
                b3 = b_quad(select(w0.b, w1.b, b3_upper) + b3_at);
            } else {
                a0 = a_values(
                    select(w0.a, w1.a, a0_upper) + a0_at,
                    there(a_along, a0_count, a0_within, select(w0.left, w1.left, a0_upper)));
                b0 = b_values(
                    select(w0.b, w1.b, b0_upper) + b0_at,
                    there(b_along, b0_count, b0_within, select(w0.left, w1.left, b0_upper)));
                b1 = b_values(
                    select(w0.b, w1.b, b1_upper) + b1_at,
                    there(b_along, b1_count, b1_within, select(w0.left, w1.left, b1_upper)));
                b2 = b_values(
                    select(w0.b, w1.b, b2_upper) + b2_at,
                    there(b_along, b2_count, b2_within, select(w0.left, w1.left, b2_upper)));
                b3 = b_values(
                    select(w0.b, w1.b, b3_upper) + b3_at,
                    there(b_along, b3_count, b3_within, select(w0.left, w1.left, b3_upper)));
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
                let bq0 = sh_b[32u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[16u + (ty ^ 0u)];
                let bq0 = sh_b[64u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[24u + (ty ^ 0u)];
                let bq0 = sh_b[96u + (tx ^ 0u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[32u + (ty ^ 2u)];
                let bq0 = sh_b[128u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[40u + (ty ^ 2u)];
                let bq0 = sh_b[160u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[48u + (ty ^ 2u)];
                let bq0 = sh_b[192u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[56u + (ty ^ 2u)];
                let bq0 = sh_b[224u + (tx ^ 2u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[64u + (ty ^ 4u)];
                let bq0 = sh_b[256u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[72u + (ty ^ 4u)];
                let bq0 = sh_b[288u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[80u + (ty ^ 4u)];
                let bq0 = sh_b[320u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[88u + (ty ^ 4u)];
                let bq0 = sh_b[352u + (tx ^ 4u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[96u + (ty ^ 6u)];
                let bq0 = sh_b[384u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[104u + (ty ^ 6u)];
                let bq0 = sh_b[416u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[112u + (ty ^ 6u)];
                let bq0 = sh_b[448u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
            {
                let aq0 = sh_a[120u + (ty ^ 6u)];
                let bq0 = sh_b[480u + (tx ^ 6u)];
                s0_0 = mul_add(aq0.x, bq0, s0_0);
                s1_0 = mul_add(aq0.y, bq0, s1_0);
                s2_0 = mul_add(aq0.z, bq0, s2_0);
                s3_0 = mul_add(aq0.w, bq0, s3_0);
            }
        }
        let first = done == 0u;
        done = end;
        if t.whole && t.slot == 0u {
            if !first {
                s0_0 += c[
                    (t.c + (4u * ty + 0u) * t.c_row + 4u * tx + 0u) >> 2u];
                s1_0 += c[
                    (t.c + (4u * ty + 1u) * t.c_row + 4u * tx + 0u) >> 2u];
                s2_0 += c[
                    (t.c + (4u * ty + 2u) * t.c_row + 4u * tx + 0u) >> 2u];
                s3_0 += c[
                    (t.c + (4u * ty + 3u) * t.c_row + 4u * tx + 0u) >> 2u];
            }
            c[(t.c + (4u * ty + 0u) * t.c_row + 4u * tx + 0u) >> 2u] = s0_0;
            c[(t.c + (4u * ty + 1u) * t.c_row + 4u * tx + 0u) >> 2u] = s1_0;
            c[(t.c + (4u * ty + 2u) * t.c_row + 4u * tx + 0u) >> 2u] = s2_0;
            c[(t.c + (4u * ty + 3u) * t.c_row + 4u * tx + 0u) >> 2u] = s3_0;
        } else
        if t.whole {
            if !first {
                s0_0 += scratch[
                    (t.c + (4u * ty + 0u) * t.c_row + 4u * tx + 0u) >> 2u];
                s1_0 += scratch[
                    (t.c + (4u * ty + 1u) * t.c_row + 4u * tx + 0u) >> 2u];
                s2_0 += scratch[
                    (t.c + (4u * ty + 2u) * t.c_row + 4u * tx + 0u) >> 2u];
                s3_0 += scratch[
                    (t.c + (4u * ty + 3u) * t.c_row + 4u * tx + 0u) >> 2u];
            }
            scratch[(t.c + (4u * ty + 0u) * t.c_row + 4u * tx + 0u) >> 2u] = s0_0;
            scratch[(t.c + (4u * ty + 1u) * t.c_row + 4u * tx + 0u) >> 2u] = s1_0;
            scratch[(t.c + (4u * ty + 2u) * t.c_row + 4u * tx + 0u) >> 2u] = s2_0;
            scratch[(t.c + (4u * ty + 3u) * t.c_row + 4u * tx + 0u) >> 2u] = s3_0;
        } else
        {
            put_quad(t, 4u * ty + 0u, 4u * tx + 0u, s0_0, first);
            put_quad(t, 4u * ty + 1u, 4u * tx + 0u, s1_0, first);
            put_quad(t, 4u * ty + 2u, 4u * tx + 0u, s2_0, first);
            put_quad(t, 4u * ty + 3u, 4u * tx + 0u, s3_0, first);
        }
        if done >= t.steps {
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
    let strip = group % p.strips;
    let piece = p.pieces + 2u * (group / p.strips % p.piece_count);
    let panel = group / p.strips / p.piece_count;
    let blocks = order[piece];
    let place = order[piece + 1u];
    let low = strip * ROWS;
    let rows = min(ROWS, p.block_high - low);
    let row = place.x * p.block_high + low;
    let inside = min(rows, p.high - min(p.high, row));
    var t: Tile;
    t.first = blocks.x;
    t.end = blocks.y;
    t.rows = rows;
    t.rows_inside = inside;
    t.low = low;
    t.slot = place.y;
    let there = list[p.panels + panel];
    let x = list[3u * there.x];
    let y = list[3u * there.x + 1u];
    t.a = p.a_base + x.x + low * p.block_row;
    t.b = p.b_base + x.y;
    t.a_row = p.block_row;
    t.a_column = p.block_column;
    t.b_row = y.x;
    t.b_column = y.y;
    t.column = there.y;
    t.columns = x.w;
    t.steps = ((blocks.y - blocks.x) * (p.block_wide / HALF) + 1u) / 2u;
    t.a_rows = rows;
    t.quads = ((t.a | t.b | (t.b_row * t.b_column)) & 3u) == 0u;
    if place.y == 0u {
        t.c = x.z + row * y.z + t.column * y.w;
        t.c_row = y.z;
        t.c_column = y.w;
    } else {
        t.c = list[3u * there.x + 2u].x + ((place.y - 1u) * p.block_high + low) * x.w + t.column;
        t.c_row = x.w;
        t.c_column = 1u;
    }
    t.whole = inside == ROWS && t.column + COLUMNS <= t.columns && t.c_column == 1u && ((t.c | t.c_row) & 3u) == 0u;
    make_tile(t, lid);
}
