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

#params
#if HALVES
// A word of two values.
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
#else
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<E>>;
#endif
@group(0) @binding(3) var<storage, read_write> c: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> list: array<vec4<u32>>;
#if !SAMPLED
@group(0) @binding(6) var<storage, read_write> scratch: array<vec4<E>>;
#endif

// A stage consists of two halves of eight inner products; every block side is a multiple of eight.
const HALF = 8u;

#include "factors"

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

#if SAMPLED
fn begin(t: Tile) -> Walk {
    return Walk(t.a, t.b, t.inner, 0u, 0u, vec2<u32>());
}

fn advance(t: Tile, w: Walk) -> Walk {
    return Walk(w.a + HALF * t.a_column, w.b + HALF * t.b_row, w.left - min(w.left, HALF), 0u, 0u, vec2<u32>());
}

// The column of b, and of f, for column `side` of the tile.
fn column_of(t: Tile, side: u32) -> u32 {
    let block = min(t.first + side / p.block_wide, t.end - 1u);
    return order[block].y * p.block_wide + side % p.block_wide;
}

// How many of the four columns from `side` on exist; they are in one block.
fn columns_of(t: Tile, side: u32) -> u32 {
    let block = t.first + side / p.block_wide;
    return select(0u, inside(p.wide, column_of(t, side)), block < t.end);
}

fn put_quad(t: Tile, row: u32, side: u32, sum: vec4<E>, first: bool) {
    let block = t.first + side / p.block_wide;
    if row >= t.rows || block >= t.end {
        return;
    }
    // Blocks consist of whole quads.
    let at = (t.c + (block * p.block_high + t.low + row) * p.block_wide + side % p.block_wide) / 4u;
    var y = sum;
    if !first {
        y += c[at];
    }
    let count = select(0u, inside(p.wide, column_of(t, side)), row < t.rows_inside);
    c[at] = select(vec4<E>(), y, vec4(0u, 1u, 2u, 3u) < vec4(count));
}
#else
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
#endif

#if 1 < SETS
#include "split_k"

fn make_tile(t: Tile, lid: u32) {
    let a_along = t.a_row == 1u;
    // A vector lies along its inner extent either way.
    let b_along = t.b_column == 1u && t.columns > 1u;
    let b_stride = select(select(t.b_column, t.b_row, b_along), 0u, t.columns == 1u);
    // Blocks are made of whole quads.
    let a_quads = (t.a & 3u) == 0u;
    let b_quads = ((t.b | b_stride) & 3u) == 0u;
    #use places
    // Columns beyond the last one read the last one instead; their results are not stored.
    let b_last = t.columns - select(1u, min(t.columns, 4u), b_along && b_quads);
    // Where the invocation's values are, relative to the first of four columns of a block.
#for g A_PART
    let a$(g)_side = min(4u * ty + $(g * A_APART)u, t.a_rows - 4u);
#endfor
#for g A_PART; l 4
    let a$(g)_$(l)_at = select((a$(g)_side + $(l)u) * t.a_row, a$(g)_side + $(l)u * t.a_column, a_along);
#endfor
#for g B_PART
    let b$(g)_side = t.column + 4u * tx + $(g * B_APART)u;
#endfor
#for g B_PART; l 4
    let b$(g)_$(l)_at = select(
        min(b$(g)_side + $(l)u, t.columns - 1u) * t.b_column, min(b$(g)_side, b_last) + $(l)u * t.b_row, b_along);
#endfor
    #use begin
    let steps = p.block_wide / 4u;
    let count = (t.end - t.first) * steps;
    // Read ahead, so that no load waits for its address; the entries of pieces follow the last block.
    var block = order[min(t.first + turn / steps, p.pieces)];
    for (var step = turn; step < count; step += $(SETS)u) {
        let here = block;
        block = order[min(t.first + (step + $(SETS)u) / steps, p.pieces)];
        let within = step % steps * 4u;
        let row = here.y * p.block_wide + within;
        let left = p.wide - min(p.wide, row);
        if left == 0u {
            continue;
        }
        let a_begin = t.a + here.x * p.block_high * p.block_wide + within * t.a_column;
        let b_begin = t.b + row * t.b_row;
#for x X deep in a A t.a_column, b B t.b_row
        if $(x)_quads && left >= 4u {
#for g $(X)_PART; l 4
            $(x)$(g)_$(l) = $(x)_quad($(x)_begin + $(x)$(g)_$(l)_at);
#endfor
        } else {
#for g $(X)_PART; l 4
            $(x)$(g)_$(l) = select(
                vec4<E>(),
                $(x)_four($(x)_begin
                    + select($(x)$(g)_$(l)_at, $(x)$(g)_0_at + min($(l)u, left - 1u) * $(deep), $(x)_along)),
                select(vec4(0u, 1u, 2u, 3u), vec4($(l)u), $(x)_along) < vec4(left));
#endfor
        }
#endfor
        #use multiply
    }
    #use add_up
    if lid < $(ROWS * COLUMNS / 4)u {
        #use place_of_sums
        put_quad(t, row, column, all, true);
    }
}
#else
#include "register_tile"

## Loads the next stage's values from memory. All loads are in one branch, so that they are in flight together.
#block load
if t.quads && min(w0.left, w1.left) >= HALF {
#for x X in a A, b B; s $(X)_SLOTS
    $(x)$(s) = $(x)_quad(select(w0.$(x), w1.$(x), $(x)$(s)_upper) + $(x)$(s)_at);
#endfor
} else {
#for x X in a A, b B; s $(X)_SLOTS
    $(x)$(s) = $(x)_values(
        select(w0.$(x), w1.$(x), $(x)$(s)_upper) + $(x)$(s)_at,
        there($(x)_along, $(x)$(s)_count, $(x)$(s)_within, select(w0.left, w1.left, $(x)$(s)_upper)));
#endfor
}
#endblock

## Adds the sums to the result, or stores them. Whole tiles have their own branch, so that all loads of earlier sums are
## in flight together.
#block store
#if !SAMPLED
#for to condition in c t.whole && t.slot == 0u, scratch t.whole
if $(condition) {
    if !first {
#for i 4 * A_PART; q B_PART
        s$(i)_$(q) += $(to)[
            (t.c + (4u * ty + $(i / 4 * A_APART + i % 4)u) * t.c_row + 4u * tx + $(q * B_APART)u) >> 2u];
#endfor
    }
#for i 4 * A_PART; q B_PART
    $(to)[(t.c + (4u * ty + $(i / 4 * A_APART + i % 4)u) * t.c_row + 4u * tx + $(q * B_APART)u) >> 2u] = s$(i)_$(q);
#endfor
} else
#endfor
{
    #use put
}
#else
#use put
#endif
#endblock

#block put
#if SAMPLED
// A large share of the time goes into storing sums that are short.
#for i 4 * A_PART; q B_PART
put_quad(t, 4u * ty + $(i / 4 * A_APART + i % 4)u, 4u * tx + $(q * B_APART)u, s$(i)_$(q), first);
#endfor
#else
#use each_sum 4, put_sum
#endif
#endblock

#block put_sum
put_quad(t, row, column, sum, first);
#endblock

fn make_tile(t: Tile, lid: u32) {
    let a_along = t.a_row == 1u;
    let b_along = t.b_column == 1u;
    // Which half of a stage an invocation's quads are in, and their offsets from the beginning of that half. A quad
    // lies in one half, and in one block. Values outside are never read; what replaces them affects no result that is
    // stored.
    #use places a, A
#for s A_SLOTS
    let a$(s)_upper = a$(s)_deep >= HALF;
    let a$(s)_within = a$(s)_deep % HALF;
#if A_QUADS < s * WG + WG
    let a$(s)_count = select(0u, inside(t.a_rows, a$(s)_side), lid < $(A_QUADS - s * WG)u);
#else
    let a$(s)_count = inside(t.a_rows, a$(s)_side);
#endif
    let a$(s)_at = select(0u, a$(s)_side * t.a_row + a$(s)_within * t.a_column, a$(s)_count > 0u);
    var a$(s) = vec4<E>();
#endfor
    #use places b, B
#for s B_SLOTS
    let b$(s)_upper = b$(s)_deep >= HALF;
    let b$(s)_within = b$(s)_deep % HALF;
#if B_QUADS < s * WG + WG
    let b$(s)_count = select(0u, columns_of(t, b$(s)_side), lid < $(B_QUADS - s * WG)u);
#else
    let b$(s)_count = columns_of(t, b$(s)_side);
#endif
    let b$(s)_at = select(0u, column_of(t, b$(s)_side) * t.b_column + b$(s)_within * t.b_row, b$(s)_count > 0u);
    var b$(s) = vec4<E>();
#endfor
    #use squares
    var w0 = begin(t);
    var w1 = advance(t, w0);
    #use load
    var done = 0u;
    loop {
        let end = min(done + p.chunk, t.steps);
        #use begin
        for (var step = done; step < end; step++) {
            workgroupBarrier();
            #use stage
            workgroupBarrier();
            w0 = advance(t, w1);
            w1 = advance(t, w0);
            #use load
            #use multiply
        }
        let first = done == 0u;
        done = end;
        #use store
        if done >= t.steps {
            break;
        }
    }
}
#endif

#main {
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
    // Block rows outside the matrix have no products to sum.
    t.inner = select(0u, x.w, inside > 0u);
    t.steps = (t.inner + 2u * HALF - 1u) / (2u * HALF);
    t.a_rows = inside;
    t.quads = ((t.a | t.b | (t.a_row * t.a_column) | (t.b_row * t.b_column)) & 3u) == 0u;
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
#endif
    make_tile(t, lid);
}
