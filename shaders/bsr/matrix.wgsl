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
// `order` and `list` are those of bsr/matmul.wgsl, except that `list` has the pitch of b (of b and a) instead of
// strides, and that an entry from p.panels on has the number of tiles after its column. Sums are chains of additions of
// SIDE products, 16 or 8 (EIGHT), in the order of the blocks. With p.halves c is f16.
//
// The first p.long_count pieces are computed for all panels before the others, which are computed panel by panel.
// Blocks of f have HIGH rows and p.block_wide columns, and f is p.high × p.wide.

#params
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
// The result by value, and by quads of words.
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read_write> c_words: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> list: array<vec4<u32>>;
#if !SAMPLED
@group(0) @binding(7) var<storage, read_write> scratch: array<f32>;
#endif

#include "grid"

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

#include "coop_tile"

#include "segments"

#block to_scratch
let v = s$(i)_$(j);
let q = &sh_c[scratch];
let stride = SIDE;
#if C_TRANSPOSED == 1
coopStore(v, q, stride);
#else
coopStoreT(v, q, stride);
#endif
#endblock

## Stores a matrix to workgroup memory, and from there to the result.
#block store put
#for turn TURNS
workgroupBarrier();
#if TURNS == 1
{
    #use to_scratch
}
workgroupBarrier();
#use $(put)
#else
#use only_if s.id % $(TURNS)u == $(turn)u, to_scratch
workgroupBarrier();
if s.id % $(TURNS)u == $(turn)u {
    #use $(put)
}
#endif
#endfor
#endblock

## The same for all matrices, with one copy of what follows, because drivers compile many copies for seconds. No
## compiler unrolls a loop that runs `min(p.groups, 1u)` times a constant.
#block store_all put
let count = $(A_MATRICES * B_MATRICES)u * min(p.groups, 1u);
for (var f = 0u; f < count; f += 1u) {
    let row_of = row_in + f / $(B_MATRICES)u * SIDE;
    let column_of = column_in + f % $(B_MATRICES)u * SIDE;
#for turn TURNS
    workgroupBarrier();
#for i A_MATRICES; j B_MATRICES
    #use only_if f == $(i * B_MATRICES + j)u && s.id % $(TURNS)u == $(turn)u, to_scratch
#endfor
    workgroupBarrier();
    if s.id % $(TURNS)u == $(turn)u {
        #use $(put)
    }
#endfor
}
#endblock

#block put_whole
if p.halves != 0u {
    #use put_lines 8
} else {
    #use put_lines 4
}
#endblock

## To whole lines of c. Neighbouring invocations write neighbouring values, so that no sector of memory is written in
## parts.
#block put_lines values
#if EIGHT
for (var q = lane; q < $(SIDE * SIDE / values)u; q += s.lanes) {
    #use put_values q / $(SIDE / values)u, q % $(SIDE / values)u * $(values)u
}
#else
#for n SIDE * SIDE / values / 32; q in (lane + $(32 * n)u)
#use put_values $(q) / $(SIDE / values)u, $(q) % $(SIDE / values)u * $(values)u
#endfor
#endif
#endblock

#block put_values line along
#if C_TRANSPOSED == 1
#use put_at $(along), $(line)
#else
#use put_at $(line), $(along)
#endif
#endblock

#block put_at row column
#if HIGH < SIDE
if $(row) < HIGH {
    #use put_inside_rows
}
#else
#use put_inside_rows
#endif
#endblock

#block put_inside_rows
{
    let r = row_of + $(row);
#if SAMPLED
    put_$(values)(
        t.c + ((t.first + column_of / p.block_wide) * HIGH + r) * p.block_wide + column_of % p.block_wide + $(column),
        scratch + SIDE * ($(line)) + $(along));
#else
#if C_TRANSPOSED == 1
    put_$(values)(t.c + (c_column + column_of + $(column)) * t.c_pitch + r, scratch + SIDE * ($(line)) + $(along));
#else
    put_$(values)(t.c + r * t.c_pitch + c_column + column_of + $(column), scratch + SIDE * ($(line)) + $(along));
#endif
#endif
}
#endblock

## Of a tile that crosses an edge. Eight values each: half a line, or a whole line if there are enough lanes.
#block put_edge
#if EIGHT
for (var i = lane; i < SIDE; i += s.lanes) {
    #use put_edge_values i, 0u
}
#else
#use put_edge_values lane / 2u, lane % 2u * 8u
#endif
#endblock

#block put_edge_values line along
#if C_TRANSPOSED == 1
#use put_edge_at $(along), $(line)
#else
#use put_edge_at $(line), $(along)
#endif
#endblock

#block put_edge_at row column
put_eight(
    t, row_of + $(row), c_column + column_of + $(column),
    scratch + SIDE * ($(line)) + $(along));
#endblock

fn make_tiles(t: Tile, lid: u32, s: Subgroup) {
    #use places
#if SAMPLED
    var c_column = 0u;
    var k = 0u;
#for i B_SLOTS
#if B_INNER == 1
    #use column_of_b b_row$(i)
#else
    #use column_of_b (8u * b_unit$(i))
#endif
#endfor
#else
    var column = t.column;
    var c_column = t.column;
    var ahead = 0u;
    let whole = $(DEPTH)u / p.block_wide;
    let rest = $(DEPTH)u % p.block_wide;
    let last = max(t.end, 1u) - 1u;
#for x X in a A, b B; k $(X)_SEGMENTS
    #use located $(x), $(X), $(k * $(X)_SHARE), segment_from
#endfor
    let block_units = p.block_wide / 8u;
    let last_column = (t.columns + 7u) / 8u - 1u;
#endif
    #use registers
    if t.steps > 0u {
        #use load
    }
    for (var tile = 0u; tile < t.tiles; tile++) {
        #use sums
        // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
        let one = min(p.groups, 1u);
        for (var step = 0u; step < t.steps; step += one) {
            workgroupBarrier();
#if SEGMENT < DEPTH
            // Values beyond a row's last inner product. If blocks consist of whole stages, no stage is partial.
            if step + 1u == t.steps && t.inner % $(DEPTH)u != 0u {
                let left = t.inner % $(DEPTH)u;
#for x X in a A, b B; i $(X)_SLOTS
                #use located $(x), $(X), $(i), clear
#endfor
            }
#endif
            #use stage
            workgroupBarrier();
            #use multiply load
        }
        // Whole tiles are stored in whole lines: those that cross no edge, and whose lines begin at quads.
#if SAMPLED
        if t.rows_inside == $(HIGH)u && (t.end - t.first) * p.block_wide == $(COLUMNS)u && p.block_wide % 16u == 0u
            && (order[t.end - 1u].y + 1u) * p.block_wide <= p.wide {
#else
        if t.rows_inside == $(HIGH)u && t.quads && c_column + $(COLUMNS)u <= t.columns {
#endif
#if SAMPLED
            #use store_all put_whole
#else
#if QUICK
            #use store_all put_whole
#else
#for i A_MATRICES; j B_MATRICES
            {
                let row_of = row_in + $(i * SIDE)u;
                let column_of = column_in + $(j * SIDE)u;
                #use store put_whole
            }
#endfor
#endif
#endif
        } else {
            #use store_all put_edge
        }
        c_column += $(COLUMNS)u;
    }
}

fn sums_at(i: u32) -> vec4<f32> {
    return vec4(sh_c[i], sh_c[i + 1u], sh_c[i + 2u], sh_c[i + 3u]);
}

// Stores eight of the sums in workgroup memory, adjacent in the result, at this row and column of the tile.
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
        // Values of a block beyond the matrix are 0.
        let inside = select(0u, p.wide - min(p.wide, first), row < t.rows_inside);
        low = select(vec4(0.0), low, vec4(0u, 1u, 2u, 3u) < vec4(inside));
        high = select(vec4(0.0), high, vec4(4u, 5u, 6u, 7u) < vec4(inside));
    }
    put_quads(t.c + (block * HIGH + row) * p.block_wide + within, low, high);
#else
    if row >= t.rows_inside || column >= t.columns {
        return;
    }
#if TRANSPOSED
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
#if TRANSPOSED
    t.c_pitch = y.w;
    t.c += t.row;
#else
    t.c_pitch = y.z;
    t.c += t.row * t.c_pitch;
#endif
    t.quads = t.slot == 0u && (t.c | t.c_pitch) % 4u == 0u;
    if t.slot != 0u {
        t.c = list[3u * there.x + 2u].x + (t.slot - 1u) * HIGH * x.w;
#if TRANSPOSED
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
