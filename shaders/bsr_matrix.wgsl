// Products of block-sparse matrices of f16 on cooperative matrices; the blocks of a matrix f are all that is read of
// it.
//
// bsr_matrix: c = f b for each product, b dense. A workgroup makes tiles of HIGH rows, all of one row of blocks, and
// COLUMNS columns: a few of them, side by side, or the part of them that a piece of that row gives. A row's blocks
// follow each other without a gap, DEPTH columns a stage: SEGMENT of them lie in one block. The first piece writes to
// c, the others to slots of `scratch`, which bsr_finish adds.
//
// bsr_matrix_sampled (SAMPLED): the blocks of f = a b, a and b dense. A workgroup makes HIGH rows of some blocks that
// follow each other in one row of blocks, side by side in a tile of COLUMNS columns.
//
// ACROSS: what lies side by side in a is of one column. TURNED: what lies side by side in b is of one column; then c is
// stored so, too. Rows of a and b begin at whole quads of words, eight values, and what is read is all there: the inner
// extent is made of whole blocks, or (SAMPLED) stages, and rows and columns of blocks. bsr_align sees to that.
//
// `order` and `list` are those of bsr_matmul.wgsl, but that `list` has the pitch of b (of b and a) instead of strides,
// and an entry from p.panels on the number of tiles behind its column. Sums are chains of additions of SIDE products,
// 16 or 8 (EIGHT), in the order of the blocks. With p.halves c is f16.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    pieces: u32,
    piece_count: u32,
    // Pieces that are made for all panels before the others, which are made panel by panel.
    long_count: u32,
    panels: u32,
    // Columns of a block of f, and rows and columns of f. Blocks are HIGH.
    block_wide: u32,
    high: u32,
    wide: u32,
    halves: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
// The result value by value, and by quads of words.
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read_write> c_words: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> list: array<vec4<u32>>;
#if !SAMPLED
@group(0) @binding(7) var<storage, read_write> scratch: array<f32>;
#endif

#include "grid"

struct Tile {
    // Begins: of a and b in quads of words, of c in values.
    a: u32,
    b: u32,
    c: u32,
    // Quads of words from row to row as they are stored; values of c.
    a_pitch: u32,
    b_pitch: u32,
    c_pitch: u32,
    // Blocks.
    first: u32,
    end: u32,
    // The first row of the tile, and rows of it that are inside the matrix.
    row: u32,
    rows_inside: u32,
    // The first column, tiles from there on, and one past the last column.
    column: u32,
    tiles: u32,
    columns: u32,
    inner: u32,
    steps: u32,
    slot: u32,
    // Whether lines of c begin at whole quads of words.
    quads: bool,
}

// Four values from two words, bit by bit.
fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

#generate "bsr_matrix"

fn sums_at(i: u32) -> vec4<f32> {
    return vec4(sh_c[i], sh_c[i + 1u], sh_c[i + 2u], sh_c[i + 3u]);
}

// Eight of the sums in workgroup memory, side by side in the result, from that row and column of the tile on.
fn put_eight(t: Tile, row: u32, column: u32, from_at: u32) {
    var low = sums_at(from_at);
    var high = sums_at(from_at + 4u);
#if SAMPLED
    let block = t.first + column / p.block_wide;
    if row >= HIGH || block >= t.end {
        return;
    }
    let within = column % p.block_wide;
    let first = order[block].y * p.block_wide + within;
    if row >= t.rows_inside || first + 8u > p.wide {
        // What a block has beyond the matrix is 0.
        let inside = select(0u, p.wide - min(p.wide, first), row < t.rows_inside);
        low = select(vec4(0.0), low, vec4(0u, 1u, 2u, 3u) < vec4(inside));
        high = select(vec4(0.0), high, vec4(4u, 5u, 6u, 7u) < vec4(inside));
    }
    put_quads(t.c + (block * HIGH + row) * p.block_wide + within, low, high);
#else
    if row >= t.rows_inside || column >= t.columns {
        return;
    }
#if TURNED
    let at = t.c + column * t.c_pitch + row;
    let inside = t.rows_inside - row;
#else
    let at = t.c + row * t.c_pitch + column;
    let inside = t.columns - column;
#endif
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
#endif
}

fn put_halves(at: u32, low: vec4<f32>, high: vec4<f32>) {
    c_words[at / 8u] = vec4(
        pack2x16float(low.xy),
        pack2x16float(low.zw),
        pack2x16float(high.xy),
        pack2x16float(high.zw),
    );
}

// Four or eight of the sums in workgroup memory, to c from a whole quad of words on.
fn put_4(at: u32, from_at: u32) {
    c_words[at / 4u] = bitcast<vec4<u32>>(sums_at(from_at));
}

fn put_8(at: u32, from_at: u32) {
    put_halves(at, sums_at(from_at), sums_at(from_at + 4u));
}

// Eight values of c from a whole quad of words on. Where c is f16, that is how all of its lines begin and end.
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
#if EIGHT
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
#endif
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
#if SAMPLED
    let x = list[3u * panel];
    let y = list[3u * panel + 1u];
    t.a = (p.a_base + x.x) / 8u;
    t.b = (p.b_base + x.y) / 8u;
    t.c = x.z;
    t.b_pitch = y.x / 8u;
    t.a_pitch = y.y / 8u;
    t.inner = x.w;
    t.steps = x.w / DEPTH;
    t.tiles = 1u;
#else
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
#if TURNED
    t.c_pitch = y.w;
    t.c += t.row;
#else
    t.c_pitch = y.z;
    t.c += t.row * t.c_pitch;
#endif
    t.quads = t.slot == 0u && (t.c | t.c_pitch) % 4u == 0u;
    if t.slot != 0u {
        t.c = list[3u * there.x + 2u].x + (t.slot - 1u) * HIGH * x.w;
#if TURNED
        t.c_pitch = HIGH;
#else
        t.c_pitch = x.w;
#endif
    }
#endif
#if EIGHT
    make_tiles(t, lid, Subgroup(subgroup, lane, lanes));
#else
    make_tiles(t, lid, Subgroup(lid / 32u, lid % 32u, 32u));
#endif
}
