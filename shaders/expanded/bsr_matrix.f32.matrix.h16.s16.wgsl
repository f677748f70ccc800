// bsr_matrix.f32.matrix.h16.s16
enable f16;
enable wgpu_cooperative_matrix;
alias E = f32;
const WG = 32u;
const SIDE = 16u;
const ROWS = 16u;
const COLUMNS = 128u;
const DEPTH = 16u;
const SUBGROUPS = 1u;
const ACROSS = 1u;
const TURNS = 1u;
const SCRATCH = 1u;
const PER = 4u;
const A_MATRICES = 1u;
const B_MATRICES = 8u;
const A_INNER = 1u;
const A_ROWS = 16u;
const A_UNITS = 2u;
const A_PITCH = 6u;
const A_SLOTS = 1u;
const A_FOURS = 0u;
const A_TWOS = 0u;
const B_INNER = 0u;
const B_ROWS = 16u;
const B_UNITS = 16u;
const B_PITCH = 34u;
const B_SLOTS = 8u;
const B_FOURS = 0u;
const B_TWOS = 0u;
const HIGH = 16u;
const SEGMENT = 16u;
const C_TRANSPOSED = 0u;
const A_FIXED = 1u;
const B_FIXED = 1u;
const A_SHARE = 1u;
const B_SHARE = 8u;
const A_SEGMENTS = 1u;
const B_SEGMENTS = 0u;
const A_FROM = 0u;
const B_FROM = 0u;
// Products of block-sparse f16 matrices on cooperative matrices; only the blocks of a block-sparse matrix f are read.
//
// bsr_matrix: c = f b for each product, b dense. A workgroup computes a few tiles side by side, each of HIGH rows of
// one block row and COLUMNS columns, or the contribution of one piece of that block row to them. The blocks of a block
// row are concatenated without gaps, DEPTH columns per stage, in segments of SEGMENT columns that lie in one block. The
// first piece writes to c, the others to slots of `scratch`, which bsr_finish adds.
//
// bsr_matrix_sampled (SAMPLED): the blocks of f = a b, a and b dense. A workgroup computes HIGH rows of some
// consecutive blocks of one block row, side by side in a tile of COLUMNS columns.
//
// ACROSS: a is stored column by column. TRANSPOSED: b is stored column by column, and so is c. Rows of a and b begin at
// whole quads of words, eight values, and everything that is read exists: the inner extent consists of whole blocks, or
// with SAMPLED of whole stages, and rows and columns of whole blocks. bsr_align ensures this.
//
// `order` and `list` are those of bsr_matmul.wgsl, except that `list` has the pitch of b (of b and a) instead of
// strides, and that an entry from p.panels on has the number of tiles after its column. Sums are chains of additions of
// SIDE products, 16 or 8 (EIGHT), in the order of the blocks. With p.halves c is f16.
//
// The first p.long_count pieces are computed for all panels before the others, which are computed panel by panel.
// Blocks of f have HIGH rows and p.block_wide columns, and f is p.high × p.wide.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    pieces: u32,
    piece_count: u32,
    long_count: u32,
    panels: u32,
    block_wide: u32,
    high: u32,
    wide: u32,
    halves: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
// The result by value, and by quads of words.
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read_write> c_words: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> scratch: array<f32>;

// The linear index of a workgroup in its dispatch.
//
// A dispatch with more workgroups than one dimension allows is folded into x and y, and a long one is split into
// several; p.first_group is the first workgroup of this part. Workgroups from p.groups on are idle.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}

struct Tile {
    // Offsets: of a and b in quads of words, of c in values.
    a: u32,
    b: u32,
    c: u32,
    // Distances between stored rows: of a and b in quads of words, of c in values.
    a_pitch: u32,
    b_pitch: u32,
    c_pitch: u32,
    // The range of blocks.
    first: u32,
    end: u32,
    // The first row of the tile, and the number of its rows inside the matrix.
    row: u32,
    rows_inside: u32,
    // The first column, the number of tiles from there on, and one past the last column.
    column: u32,
    tiles: u32,
    columns: u32,
    inner: u32,
    steps: u32,
    slot: u32,
    // Whether lines of c begin at whole quads of words.
    quads: bool,
}

// The four f16 values in two words, with their bits unchanged.
fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
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
var<workgroup> sh_a: array<vec4<f16>, 96>;
var<workgroup> sh_b: array<vec4<f16>, 544>;

// Loads of bsr_matrix: a stage consists of segments of SEGMENT inner products, which lie in one block each; or with
// SAMPLED, of products along the inner extent.
//
// Uses: the numbers of the tile, `p`, `t`, `a`, `b` and `order`, what the blocks of "coop_tile" define, and of the walk
// `ahead`, `column`, `whole`, `rest`, `last`, `block_units` and `last_column`, or with SAMPLED `k`. Defines the blocks
// `segment_from`, which begins a segment, or `column_of_b`; `load`, which loads a stage and advances; and `clear`.

fn make_tiles(t: Tile, lid: u32, s: Subgroup) {
    let part = s.id;
    let scratch = (s.id / 1u) * (SIDE * SIDE);
    let lane = s.lane;
    let row_in = (part / 1u) * 16u;
    let column_in = (part % 1u) * 128u;
    // The row and the unit of each slot that an invocation stages.
    let a_row0 = lid / 2u + 0u;
    let a_unit0 = lid % 2u;
    let b_row0 = lid / 16u + 0u;
    let b_unit0 = lid % 16u;
    let b_row1 = lid / 16u + 2u;
    let b_unit1 = lid % 16u;
    let b_row2 = lid / 16u + 4u;
    let b_unit2 = lid % 16u;
    let b_row3 = lid / 16u + 6u;
    let b_unit3 = lid % 16u;
    let b_row4 = lid / 16u + 8u;
    let b_unit4 = lid % 16u;
    let b_row5 = lid / 16u + 10u;
    let b_unit5 = lid % 16u;
    let b_row6 = lid / 16u + 12u;
    let b_unit6 = lid % 16u;
    let b_row7 = lid / 16u + 14u;
    let b_unit7 = lid % 16u;
    var column = t.column;
    var c_column = t.column;
    var ahead = 0u;
    let whole = 16u / p.block_wide;
    let rest = 16u % p.block_wide;
    let last = max(t.end, 1u) - 1u;
    let begin0 = 0u * 16u;
    var block0 = t.first + begin0 / p.block_wide;
    var within0 = begin0 % p.block_wide;
    var entry0 = order[min(block0, last)];
    let block_units = p.block_wide / 8u;
    let last_column = (t.columns + 7u) / 8u - 1u;
    var a0_0 = vec4<u32>();
    var b0_0 = vec4<u32>();
    var b0_1 = vec4<u32>();
    var b0_2 = vec4<u32>();
    var b0_3 = vec4<u32>();
    var b0_4 = vec4<u32>();
    var b0_5 = vec4<u32>();
    var b0_6 = vec4<u32>();
    var b0_7 = vec4<u32>();
    if t.steps > 0u {
        // Along the blocks of a row. The entry of a stage's block is read one stage ahead, so that no load waits for its
        // address.
        let a_from0 = t.a + entry0.x * (HIGH * block_units) + within0 / 8u;
        let b_from0 = t.b + (entry0.y * p.block_wide + within0) * t.b_pitch;
        a0_0 = a[a_from0 + a_row0 * block_units + a_unit0];
        b0_0 = b[b_from0 + b_row0 * t.b_pitch + min(column / 8u + b_unit0, last_column)];
        b0_1 = b[b_from0 + b_row1 * t.b_pitch + min(column / 8u + b_unit1, last_column)];
        b0_2 = b[b_from0 + b_row2 * t.b_pitch + min(column / 8u + b_unit2, last_column)];
        b0_3 = b[b_from0 + b_row3 * t.b_pitch + min(column / 8u + b_unit3, last_column)];
        b0_4 = b[b_from0 + b_row4 * t.b_pitch + min(column / 8u + b_unit4, last_column)];
        b0_5 = b[b_from0 + b_row5 * t.b_pitch + min(column / 8u + b_unit5, last_column)];
        b0_6 = b[b_from0 + b_row6 * t.b_pitch + min(column / 8u + b_unit6, last_column)];
        b0_7 = b[b_from0 + b_row7 * t.b_pitch + min(column / 8u + b_unit7, last_column)];
        block0 += whole;
        within0 += rest;
        if within0 >= p.block_wide {
            within0 -= p.block_wide;
            block0 += 1u;
        }
        ahead += 1u;
        if ahead == t.steps {
            ahead = 0u;
            column += 128u;
            block0 = t.first + begin0 / p.block_wide;
            within0 = begin0 % p.block_wide;
        }
        entry0 = order[min(block0, last)];
    }
    for (var tile = 0u; tile < t.tiles; tile++) {
        var s0_0 = MC();
        var s0_1 = MC();
        var s0_2 = MC();
        var s0_3 = MC();
        var s0_4 = MC();
        var s0_5 = MC();
        var s0_6 = MC();
        var s0_7 = MC();
        // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
        let one = min(p.groups, 1u);
        for (var step = 0u; step < t.steps; step += one) {
            workgroupBarrier();
            {
                sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 0u] = halves(a0_0.xy);
                sh_a[0u + a_row0 * 6u + 2u * a_unit0 + 1u] = halves(a0_0.zw);
            }
            {
                sh_b[0u + b_row0 * 34u + 2u * b_unit0 + 0u] = halves(b0_0.xy);
                sh_b[0u + b_row0 * 34u + 2u * b_unit0 + 1u] = halves(b0_0.zw);
                sh_b[0u + b_row1 * 34u + 2u * b_unit1 + 0u] = halves(b0_1.xy);
                sh_b[0u + b_row1 * 34u + 2u * b_unit1 + 1u] = halves(b0_1.zw);
                sh_b[0u + b_row2 * 34u + 2u * b_unit2 + 0u] = halves(b0_2.xy);
                sh_b[0u + b_row2 * 34u + 2u * b_unit2 + 1u] = halves(b0_2.zw);
                sh_b[0u + b_row3 * 34u + 2u * b_unit3 + 0u] = halves(b0_3.xy);
                sh_b[0u + b_row3 * 34u + 2u * b_unit3 + 1u] = halves(b0_3.zw);
                sh_b[0u + b_row4 * 34u + 2u * b_unit4 + 0u] = halves(b0_4.xy);
                sh_b[0u + b_row4 * 34u + 2u * b_unit4 + 1u] = halves(b0_4.zw);
                sh_b[0u + b_row5 * 34u + 2u * b_unit5 + 0u] = halves(b0_5.xy);
                sh_b[0u + b_row5 * 34u + 2u * b_unit5 + 1u] = halves(b0_5.zw);
                sh_b[0u + b_row6 * 34u + 2u * b_unit6 + 0u] = halves(b0_6.xy);
                sh_b[0u + b_row6 * 34u + 2u * b_unit6 + 1u] = halves(b0_6.zw);
                sh_b[0u + b_row7 * 34u + 2u * b_unit7 + 0u] = halves(b0_7.xy);
                sh_b[0u + b_row7 * 34u + 2u * b_unit7 + 1u] = halves(b0_7.zw);
            }
            workgroupBarrier();
            let m_a0_0 = coopLoadT<MA>(&sh_a[0u + (row_in + 0u) * 6u + 0u], 6u);
            let m_b0_0 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 0u) / 4u], 34u);
            let m_b0_1 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 16u) / 4u], 34u);
            let m_b0_2 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 32u) / 4u], 34u);
            let m_b0_3 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 48u) / 4u], 34u);
            let m_b0_4 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 64u) / 4u], 34u);
            let m_b0_5 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 80u) / 4u], 34u);
            let m_b0_6 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 96u) / 4u], 34u);
            let m_b0_7 = coopLoadT<MB>(&sh_b[0u + 0u + (column_in + 112u) / 4u], 34u);
            // Along the blocks of a row. The entry of a stage's block is read one stage ahead, so that no load waits for its
            // address.
            let a_from0 = t.a + entry0.x * (HIGH * block_units) + within0 / 8u;
            let b_from0 = t.b + (entry0.y * p.block_wide + within0) * t.b_pitch;
            a0_0 = a[a_from0 + a_row0 * block_units + a_unit0];
            b0_0 = b[b_from0 + b_row0 * t.b_pitch + min(column / 8u + b_unit0, last_column)];
            b0_1 = b[b_from0 + b_row1 * t.b_pitch + min(column / 8u + b_unit1, last_column)];
            b0_2 = b[b_from0 + b_row2 * t.b_pitch + min(column / 8u + b_unit2, last_column)];
            b0_3 = b[b_from0 + b_row3 * t.b_pitch + min(column / 8u + b_unit3, last_column)];
            b0_4 = b[b_from0 + b_row4 * t.b_pitch + min(column / 8u + b_unit4, last_column)];
            b0_5 = b[b_from0 + b_row5 * t.b_pitch + min(column / 8u + b_unit5, last_column)];
            b0_6 = b[b_from0 + b_row6 * t.b_pitch + min(column / 8u + b_unit6, last_column)];
            b0_7 = b[b_from0 + b_row7 * t.b_pitch + min(column / 8u + b_unit7, last_column)];
            block0 += whole;
            within0 += rest;
            if within0 >= p.block_wide {
                within0 -= p.block_wide;
                block0 += 1u;
            }
            ahead += 1u;
            if ahead == t.steps {
                ahead = 0u;
                column += 128u;
                block0 = t.first + begin0 / p.block_wide;
                within0 = begin0 % p.block_wide;
            }
            entry0 = order[min(block0, last)];
            s0_0 = coopMultiplyAdd(m_a0_0, m_b0_0, s0_0);
            s0_1 = coopMultiplyAdd(m_a0_0, m_b0_1, s0_1);
            s0_2 = coopMultiplyAdd(m_a0_0, m_b0_2, s0_2);
            s0_3 = coopMultiplyAdd(m_a0_0, m_b0_3, s0_3);
            s0_4 = coopMultiplyAdd(m_a0_0, m_b0_4, s0_4);
            s0_5 = coopMultiplyAdd(m_a0_0, m_b0_5, s0_5);
            s0_6 = coopMultiplyAdd(m_a0_0, m_b0_6, s0_6);
            s0_7 = coopMultiplyAdd(m_a0_0, m_b0_7, s0_7);
        }
        // Whole tiles are stored in whole lines: those that cross no edge, and whose lines begin at quads.
        if t.rows_inside == 16u && t.quads && c_column + 128u <= t.columns {
            workgroupBarrier();
            {
                let v = s0_0;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 0u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 0u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 0u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_1;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 16u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 16u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 16u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_2;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 32u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 32u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 32u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_3;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 48u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 48u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 48u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_4;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 64u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 64u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 64u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_5;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 80u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 80u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 80u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_6;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 96u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 96u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 96u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
            workgroupBarrier();
            {
                let v = s0_7;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            if p.halves != 0u {
                put_8(t.c + (row_in + 0u + (lane + 0u) / 2u) * t.c_pitch + c_column + column_in + 112u + (lane + 0u) % 2u * 8u, scratch + SIDE * ((lane + 0u) / 2u) + (lane + 0u) % 2u * 8u);
            } else {
                put_4(t.c + (row_in + 0u + (lane + 0u) / 4u) * t.c_pitch + c_column + column_in + 112u + (lane + 0u) % 4u * 4u, scratch + SIDE * ((lane + 0u) / 4u) + (lane + 0u) % 4u * 4u);
                put_4(t.c + (row_in + 0u + (lane + 32u) / 4u) * t.c_pitch + c_column + column_in + 112u + (lane + 32u) % 4u * 4u, scratch + SIDE * ((lane + 32u) / 4u) + (lane + 32u) % 4u * 4u);
            }
        } else {
            workgroupBarrier();
            {
                let v = s0_0;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 0u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_1;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 16u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_2;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 32u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_3;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 48u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_4;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 64u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_5;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 80u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_6;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 96u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
            workgroupBarrier();
            {
                let v = s0_7;
                let q = &sh_c[scratch];
                let stride = SIDE;
                coopStoreT(v, q, stride);
            }
            workgroupBarrier();
            put_eight(
                t, row_in + 0u + lane / 2u, c_column + column_in + 112u + lane % 2u * 8u,
                scratch + SIDE * (lane / 2u) + lane % 2u * 8u);
        }
        c_column += 128u;
    }
}

fn sums_at(i: u32) -> vec4<f32> {
    return vec4(sh_c[i], sh_c[i + 1u], sh_c[i + 2u], sh_c[i + 3u]);
}

// Stores eight of the sums in workgroup memory, adjacent in the result, at this row and column of the tile.
fn put_eight(t: Tile, row: u32, column: u32, from_at: u32) {
    var low = sums_at(from_at);
    var high = sums_at(from_at + 4u);
    if row >= t.rows_inside || column >= t.columns {
        return;
    }
    let at = t.c + row * t.c_pitch + column;
    let inside = t.columns - column;
    if t.quads && inside >= 8u {
        put_quads(at, low, high);
        return;
    }
    for (var i = 0u; i < min(inside, 8u); i++) {
        if t.slot == 0u {
            c[at + i] = sh_c[from_at + i];
        } else {
            scratch[at + i] = sh_c[from_at + i];
        }
    }
}

fn put_halves(at: u32, low: vec4<f32>, high: vec4<f32>) {
    c_words[at / 8u] = vec4(
        pack2x16float(low.xy),
        pack2x16float(low.zw),
        pack2x16float(high.xy),
        pack2x16float(high.zw),
    );
}

// Store four or eight of the sums in workgroup memory to c, at a whole quad of words.
fn put_4(at: u32, from_at: u32) {
    c_words[at / 4u] = bitcast<vec4<u32>>(sums_at(from_at));
}

fn put_8(at: u32, from_at: u32) {
    put_halves(at, sums_at(from_at), sums_at(from_at + 4u));
}

// Stores eight values of c at a whole quad of words. If c is f16, all of its lines begin and end at one.
fn put_quads(at: u32, low: vec4<f32>, high: vec4<f32>) {
    if p.halves != 0u {
        put_halves(at, low, high);
    } else {
        c_words[at / 4u] = bitcast<vec4<u32>>(low);
        c_words[at / 4u + 1u] = bitcast<vec4<u32>>(high);
    }
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
    let panels = p.groups / p.piece_count;
    var number = group / panels;
    var panel = group % panels;
    if number >= p.long_count {
        let short = group - p.long_count * panels;
        number = p.long_count + short % (p.piece_count - p.long_count);
        panel = short / (p.piece_count - p.long_count);
    }
    let piece = p.pieces + 2u * number;
    let blocks = order[piece];
    let place = order[piece + 1u];
    var t: Tile;
    t.first = blocks.x;
    t.end = blocks.y;
    t.row = place.x * HIGH;
    t.rows_inside = min(HIGH, p.high - min(p.high, t.row));
    t.slot = place.y;
    let there = list[p.panels + panel];
    let x = list[3u * there.x];
    let y = list[3u * there.x + 1u];
    t.a = (p.a_base + x.x) / 8u;
    t.b = (p.b_base + x.y) / 8u;
    t.b_pitch = y.x / 8u;
    t.column = there.y;
    t.tiles = there.z;
    t.columns = x.w;
    t.inner = (blocks.y - blocks.x) * p.block_wide;
    t.steps = (t.inner + DEPTH - 1u) / DEPTH;
    t.c = x.z;
    t.c_pitch = y.z;
    t.c += t.row * t.c_pitch;
    t.quads = t.slot == 0u && (t.c | t.c_pitch) % 4u == 0u;
    if t.slot != 0u {
        t.c = list[3u * there.x + 2u].x + (t.slot - 1u) * HIGH * x.w;
        t.c_pitch = x.w;
    }
    make_tiles(t, lid, Subgroup(lid / 32u, lid % 32u, 32u));
}
