// Products of block-sparse matrices; the blocks of a matrix f are all that is read of it.
//
// bsr_matmul: c = f b for each product, b dense. A workgroup makes a tile of HIGH rows, all of one row of blocks, and WIDE columns: or the part of it that
// a piece of that row gives. The first piece writes to c, the others to slots of `scratch`, which bsr_finish adds.
//
// bsr_sampled (SAMPLED): the blocks of f = a b, a and b dense. A workgroup makes HIGH rows of some blocks that follow each other in one row of blocks,
// side by side in a tile of WIDE columns.
//
// Strides say which operand is a transpose. `order` holds the blocks of each row, (where it is stored, its column of blocks), and from p.pieces on the
// pieces, two entries each: (first block, one past the last), (row of blocks, slot of scratch counted from 1, or 0 for c).
// `list` holds the products, three entries each: (begin of a, of b, of c, columns of b or inner extent), (row and column stride of b, of c or a),
// (begin in scratch, 0, 0, 0); and from p.panels on (product, first column, 0, 0).
//
// HALVES: a and b hold f16, and their places are counted in it; sums and c are f32.
//
// Sums are blocked by at most 512 products, in the order of the blocks. What a block has beyond the matrix is never read, and written as 0.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    pieces: u32,
    piece_count: u32,
    // Tiles that a block is high.
    strips: u32,
    panels: u32,
    // Rows and columns of a block of f, and of f.
    block_high: u32,
    block_wide: u32,
    high: u32,
    wide: u32,
    // Strides inside a block of f.
    block_row: u32,
    block_column: u32,
    // Steps that are summed before they are added to what is there.
    chunk: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
#if HALVES
// A word of two values.
alias Stored = u32;
#else
alias Stored = E;
#endif
@group(0) @binding(1) var<storage, read> a: array<Stored>;
@group(0) @binding(2) var<storage, read> b: array<Stored>;
@group(0) @binding(3) var<storage, read_write> c: array<E>;
@group(0) @binding(4) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> list: array<vec4<u32>>;
#if !SAMPLED
@group(0) @binding(6) var<storage, read_write> scratch: array<E>;
#endif

// Inner products between two barriers.
const DEPTH = 8u;
// The place of what is not there.
const OUTSIDE = 0xffffffffu;

#include "grid"
#if HALVES
#include "half_of"

fn a_value(i: u32) -> E {
    return half_of(a[i / 2u], i);
}

fn b_value(i: u32) -> E {
    return half_of(b[i / 2u], i);
}
#else
fn a_value(i: u32) -> E {
    return a[i];
}

fn b_value(i: u32) -> E {
    return b[i];
}
#endif

struct Tile {
    // Begins, in values; of a with the tile's first row.
    a: u32,
    b: u32,
    c: u32,
    a_row: u32,
    a_column: u32,
    b_row: u32,
    b_column: u32,
    c_row: u32,
    c_column: u32,
    // Blocks.
    first: u32,
    end: u32,
    // Rows of the tile, and those of them that are inside the matrix.
    rows: u32,
    rows_inside: u32,
    // The first column of b, and one past the last.
    column: u32,
    columns: u32,
    inner: u32,
    steps: u32,
    // The first row inside its blocks.
    low: u32,
    slot: u32,
}

// Where the next DEPTH columns of a and rows of b begin, and how many of them there are.
struct Walk {
    a: u32,
    b: u32,
    left: u32,
    block: u32,
    within: u32,
}

#if SAMPLED
fn begin(t: Tile) -> Walk {
    return Walk(t.a, t.b, t.inner, 0u, 0u);
}

fn advance(t: Tile, w: Walk) -> Walk {
    return Walk(w.a + DEPTH * t.a_column, w.b + DEPTH * t.b_row, w.left - min(w.left, DEPTH), 0u, 0u);
}

// Where column `side` of the tile begins in b.
fn column_of(t: Tile, side: u32) -> u32 {
    let block = t.first + side / p.block_wide;
    if block >= t.end {
        return OUTSIDE;
    }
    let column = order[block].y * p.block_wide + side % p.block_wide;
    return select(OUTSIDE, column * t.b_column, column < p.wide);
}

fn put_quad(t: Tile, row: u32, side: u32, sum: vec4<E>, first: bool) {
    let block = t.first + side / p.block_wide;
    if row >= t.rows || block >= t.end {
        return;
    }
    let within = side % p.block_wide;
    let column = order[block].y * p.block_wide + within;
    let at = t.c + (block * p.block_high + t.low + row) * p.block_wide + within;
    for (var i = 0u; i < 4u; i++) {
        var y = 0.0;
        if row < t.rows_inside && column + i < p.wide {
            y = sum[i];
            if !first {
                y += c[at + i];
            }
        }
        c[at + i] = y;
    }
}
#else
fn at_block(t: Tile, block: u32) -> Walk {
    if block >= t.end {
        return Walk(0u, 0u, 0u, block, 0u);
    }
    let there = order[block];
    let row = there.y * p.block_wide;
    return Walk(t.a + there.x * p.block_high * p.block_wide, t.b + row * t.b_row, p.wide - row, block, 0u);
}

fn begin(t: Tile) -> Walk {
    return at_block(t, t.first);
}

fn advance(t: Tile, w: Walk) -> Walk {
    let within = w.within + DEPTH;
    if within == p.block_wide {
        return at_block(t, w.block + 1u);
    }
    return Walk(w.a + DEPTH * t.a_column, w.b + DEPTH * t.b_row, w.left - min(w.left, DEPTH), w.block, within);
}

fn column_of(t: Tile, side: u32) -> u32 {
    let column = t.column + side;
    return select(OUTSIDE, column * t.b_column, column < t.columns);
}

fn put_quad(t: Tile, row: u32, side: u32, sum: vec4<E>, first: bool) {
    if row >= t.rows_inside {
        return;
    }
    for (var i = 0u; i < 4u; i++) {
        let column = t.column + side + i;
        if column < t.columns {
            let at = t.c + row * t.c_row + column * t.c_column;
            if t.slot == 0u {
                var y = sum[i];
                if !first {
                    y += c[at];
                }
                c[at] = y;
            } else {
                var y = sum[i];
                if !first {
                    y += scratch[at];
                }
                scratch[at] = y;
            }
        }
    }
}
#endif

#generate "bsr_matmul"

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
    let low = strip * HIGH;
    let rows = min(HIGH, p.block_high - low);
    let row = place.x * p.block_high + low;
    let inside = min(rows, p.high - min(p.high, row));
    var t: Tile;
    t.first = blocks.x;
    t.end = blocks.y;
    t.rows = rows;
    t.rows_inside = inside;
    t.low = low;
    t.slot = place.y;
#if SAMPLED
    let x = list[3u * panel];
    let y = list[3u * panel + 1u];
    t.a = p.a_base + x.x + row * y.z;
    t.b = p.b_base + x.y;
    t.c = x.z;
    t.a_row = y.z;
    t.a_column = y.w;
    t.b_row = y.x;
    t.b_column = y.y;
    t.inner = x.w;
    t.steps = (x.w + DEPTH - 1u) / DEPTH;
#else
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
    t.steps = (blocks.y - blocks.x) * (p.block_wide / DEPTH);
    if place.y == 0u {
        t.c = x.z + row * y.z;
        t.c_row = y.z;
        t.c_column = y.w;
    } else {
        t.c = list[3u * there.x + 2u].x + ((place.y - 1u) * p.block_high + low) * x.w;
        t.c_row = x.w;
        t.c_column = 1u;
    }
#endif
    make_tile(t, lid);
}
