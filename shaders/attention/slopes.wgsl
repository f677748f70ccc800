// Gradients of attention. With P = exp(S − lse), dP = g vᵀ and dS = P ∘ (dP − delta), where g is the cotangent of the
// result and delta that of the weights in the denominator, and where weights of 0 stay 0, even if an operand is not
// finite:
//
// QUERIES  of q: rows are queries, columns are keys; dS ∘ S′ times k
// KEY      of k: rows are keys, columns are queries; (dS ∘ S′)ᵀ times q
// VALUE    of v: likewise, Pᵀ times g
// BIAS     dS itself, summed over the heads that share the bias
//
// S′ is the derivative of a score with respect to its product. Queries are those of all heads that share a key head,
// one after another, as in attention/mod.wgsl, whose tiles these are: a workgroup has TILES of them, of ROWS rows, and
// stages KEYS columns at a time. The sums over columns stay in registers, so that no order depends on anything else.
//
// stats: for each query and head, lse in two parts, delta and the slope of ALiBi. items: as in attention/mod.wgsl;
// tiles are (element, first row, first column), where BIAS uses the last.

#params scale: f32
#for x at in q 1, k 2, v 3, g 4, bias 7
@group(0) @binding($(at)) var<storage, read> $(x): array<E>;
#endfor
@group(0) @binding(5) var<storage, read> stats: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read_write> out: array<u32>;

// Columns of an operand of rows, then what its columns are weighted with: a row of this has the value of each row.
var<workgroup> sh_a: array<vec4<f32>, $(TILES * KEYS * A_PITCH)>;
// Columns of an operand of columns, each with the value of each; or the values of each column.
var<workgroup> sh_b: array<vec4<f32>, $(TILES * KEYS * B_PITCH)>;
// The places of the rows and columns among those of all heads. After those of rows, for each tile, whether any value
// that is weighted may not be finite.
var<workgroup> sh_rows: array<u32, $(TILES * ROWS + TILES)>;
var<workgroup> sh_columns: array<u32, $(TILES * KEYS)>;

#include "ends"
#include "exp"
#if F16
#include "half_load"
#include "half_round"
#endif

#for x in q, k, v, g, bias
fn $(x)_at(i: u32) -> f32 {
#if F16
    return half_of($(x)[i / 2u], i);
#else
    return $(x)[i];
#endif
}
#endfor

#include "scores"

## Adds the products of rows and columns of two operands of `width` values to s0 .. s3.
#block products rows columns width
for (var column = 0u; column < p.$(width); column += $(KEYS)u) {
    workgroupBarrier();
    // Values beyond the last column are zeros.
    for (var i = t; i < $(ROWS * KEYS)u; i += $(THREADS)u) {
        let r = i / $(KEYS)u;
        let x = i % $(KEYS)u;
        let value = $(rows)_at(
            p.$(rows)_base + sh_rows[row_places + r] * p.$(width) + min(column + x, p.$(width) - 1u));
        sh_a[a_begin + x * A_PITCH + r / 4u][r % 4u] = select(0.0, value, column + x < p.$(width));
    }
    for (var i = t; i < $(KEYS * KEYS)u; i += $(THREADS)u) {
        let j = i / $(KEYS)u;
        let x = i % $(KEYS)u;
        let value = $(columns)_at(
            p.$(columns)_base + sh_columns[column_places + j] * p.$(width) + min(column + x, p.$(width) - 1u));
        sh_b[b_begin + x * B_PITCH + j / 4u][j % 4u] = select(0.0, value, column + x < p.$(width));
    }
    workgroupBarrier();
    for (var x = 0u; x < min(p.$(width) - column, $(KEYS)u); x += 1u) {
        let a = sh_a[a_begin + x * A_PITCH + ty];
        let b = sh_b[b_begin + x * B_PITCH + tx];
#for l part in 0 x, 1 y, 2 z, 3 w
        s$(l) = fma(vec4(a.$(part)), b, s$(l));
#endfor
    }
}
#endblock

#block add_columns added
for (var j = 0u; j < min(columns - begin, $(KEYS)u); j += 1u) {
    let a = sh_a[a_begin + j * A_PITCH + ty];
    let b = sh_b[b_begin + j * B_PITCH + tx];
#for l part in 0 x, 1 y, 2 z, 3 w
    #use $(added)
#endfor
}
#endblock

#block add_all
o$(c)_$(l) = fma(vec4(a.$(part)), b, o$(c)_$(l));
#endblock

#block add_weighted
o$(c)_$(l) = select(fma(vec4(a.$(part)), b, o$(c)_$(l)), o$(c)_$(l), a.$(part) == 0.0);
#endblock

## Adds what the weights of a stage give of an operand of `width` values, chunk by chunk.
#block weighted operand width
#for c CHUNKS
if $(c * KEYS)u < p.$(width) {
    workgroupBarrier();
    // A sum of values is not finite if one of them is not.
    var odd = 0.0;
    // Columns beyond the last one are zeros.
    for (var i = t; i < $(KEYS * KEYS)u; i += $(THREADS)u) {
        let j = i / $(KEYS)u;
        let x = i % $(KEYS)u;
        let value = $(operand)_at(
            p.$(operand)_base + sh_columns[column_places + j] * p.$(width) + min($(c * KEYS)u + x, p.$(width) - 1u));
        sh_b[b_begin + j * B_PITCH + x / 4u][x % 4u] = select(0.0, value, begin + j < columns);
        odd += value;
    }
    if (bitcast<u32>(odd) & 0x7f800000u) == 0x7f800000u {
        sh_rows[odd_place] = 1u;
    }
    workgroupBarrier();
    if sh_rows[odd_place] == 0u {
        #use add_columns add_all
    } else {
        #use add_columns add_weighted
    }
}
#endfor
#endblock

#block store width
#for c CHUNKS; l 4
if alive && top + 4u * ty + $(l)u < rows {
    let column = $(c * KEYS)u + 4u * tx;
    let at = sh_rows[row_places + 4u * ty + $(l)u] * p.$(width) + column;
    let y = o$(c)_$(l);
#if F16
    // The width is even.
    if column < p.$(width) {
        out[at / 2u] = half_bits(y.x) | (half_bits(y.y) << 16u);
    }
    if column + 2u < p.$(width) {
        out[at / 2u + 1u] = half_bits(y.z) | (half_bits(y.w) << 16u);
    }
#else
#for d part in 0 x, 1 y, 2 z, 3 w
    if column + $(d)u < p.$(width) {
        out[at + $(d)u] = bitcast<u32>(y.$(part));
    }
#endfor
#endif
}
#endfor
#endblock

fn query_place(row: u32, key_head: u32, e: Element) -> u32 {
    let shared_by = p.heads / p.key_heads;
    return (e.q_row + row / shared_by) * p.heads + key_head * shared_by + row % shared_by;
}

fn key_place(key: u32, key_head: u32, e: Element) -> u32 {
    return (e.k_row + key) * p.key_heads + key_head;
}

#main {
    let slot = lid / $(THREADS)u;
    let t = lid % $(THREADS)u;
    let tx = t % $(ACROSS)u;
    let ty = t / $(ACROSS)u;
#if 1 < TILES
    // Invocations without a tile compute that of the last unit, and store nothing.
    let unit = min(group * $(TILES)u + slot, p.units - 1u);
    let alive = group * $(TILES)u + slot < p.units;
#else
    let unit = group;
    const alive = true;
#endif
    let shared_by = p.heads / p.key_heads;
#if BIAS
    let entry = p.tiles + 3u * (unit / p.bias_heads);
#else
    let entry = p.tiles + 3u * (unit / p.key_heads);
    let key_head = unit % p.key_heads;
#endif
    let e = element_at(items[entry]);
    let top = items[entry + 1u];
#if BIAS
    let rows = e.queries;
    let columns = e.keys;
#else
#if QUERIES
    let rows = e.queries * shared_by;
    let columns = e.keys;
#else
    let rows = e.keys;
    let columns = e.queries * shared_by;
#endif
#endif

    let a_begin = slot * $(KEYS * A_PITCH)u;
    let b_begin = slot * $(KEYS * B_PITCH)u;
    let row_places = slot * $(ROWS)u;
    let odd_place = $(TILES * ROWS)u + slot;
    let column_places = slot * $(KEYS)u;
#if BIAS
#for l 4
    var total$(l) = vec4<f32>();
#endfor
    let begin = items[entry + 2u];
    // One head, or all of them.
    let own = unit % p.bias_heads;
    let first_head = select(0u, own, p.bias_heads > 1u);
    let last_head = select(p.heads, own + 1u, p.bias_heads > 1u);
    for (var head = first_head; head < last_head; head += 1u) {
        let key_head = head / shared_by;
        // The last head's places have been read.
        workgroupBarrier();
        for (var r = t; r < $(ROWS)u; r += $(THREADS)u) {
            sh_rows[row_places + r] = (e.q_row + min(top + r, rows - 1u)) * p.heads + head;
        }
#else
#for c CHUNKS; l 4
    var o$(c)_$(l) = vec4<f32>();
#endfor
    if t == 0u {
        sh_rows[odd_place] = 0u;
    }
    for (var r = t; r < $(ROWS)u; r += $(THREADS)u) {
        let row = min(top + r, rows - 1u);
#if QUERIES
        sh_rows[row_places + r] = query_place(row, key_head, e);
#else
        sh_rows[row_places + r] = key_place(row, key_head, e);
#endif
    }
    // The columns that any row meets.
    let last_row = min(top + $(ROWS)u, rows) - 1u;
#if QUERIES
    let low = clamp(i32(top / shared_by) + e.offset - i32(p.left), 0, i32(columns));
    let high = clamp(i32(last_row / shared_by) + e.offset + i32(p.right) + 1, 0, i32(columns));
#else
    let heads = i32(shared_by);
    let low = clamp(i32(top) - e.offset - i32(p.right), 0, i32(e.queries)) * heads;
    let high = clamp(i32(last_row) - e.offset + i32(p.left) + 1, 0, i32(e.queries)) * heads;
#endif
#if 1 < TILES
    let begin = 0u;
    {
#else
    var begin = u32(low) / $(KEYS)u * $(KEYS)u;
    // Stages with a block of the mask.
    var listed = 0u;
    var listed_end = 0u;
    if p.blocks != 0u {
        listed = items[p.lists + top / $(ROWS)u];
        listed_end = items[p.lists + top / $(ROWS)u + 1u];
    }
    loop {
        if p.blocks != 0u {
            if listed >= listed_end {
                break;
            }
            begin = items[listed] * $(KEYS)u;
            listed += 1u;
            if begin + $(KEYS)u <= u32(low) {
                continue;
            }
        }
        if i32(begin) >= high {
            break;
        }
#endif
#endif
        // The last stage's places have been read.
        workgroupBarrier();
        for (var j = t; j < $(KEYS)u; j += $(THREADS)u) {
            let column = min(begin + j, columns - 1u);
#if QUERIES
            sh_columns[column_places + j] = key_place(column, key_head, e);
#else
#if BIAS
            sh_columns[column_places + j] = key_place(column, key_head, e);
#else
            sh_columns[column_places + j] = query_place(column, key_head, e);
#endif
#endif
        }
#for l 4
        var s$(l) = vec4<f32>();
#endfor
#if KEY
        #use products k, q, d
#else
#if VALUE
        #use products k, q, d
#else
        #use products q, k, d
#endif
#endif
#if VALUE
        workgroupBarrier();
#else
#for l 4
        let x$(l) = s$(l);
        s$(l) = vec4<f32>();
#endfor
#if KEY
        #use products v, g, dv
#else
        #use products g, v, dv
#endif
        workgroupBarrier();
#for c part in 0 x, 1 y, 2 z, 3 w
        sh_b[b_begin + (4u * tx + $(c)u) * B_PITCH + ty] = vec4(s0.$(part), s1.$(part), s2.$(part), s3.$(part));
#endfor
#for l 4
        s$(l) = x$(l);
#endfor
#endif
#for c part in 0 x, 1 y, 2 z, 3 w
        sh_a[a_begin + (4u * tx + $(c)u) * A_PITCH + ty] = vec4(s0.$(part), s1.$(part), s2.$(part), s3.$(part));
#endfor
        // One score after another, in workgroup memory, of this invocation alone.
        for (var i = 0u; i < 16u; i += 1u) {
            let row = min(top + 4u * ty + i % 4u, rows - 1u);
            let column = begin + 4u * tx + i / 4u;
            let near = min(column, columns - 1u);
#if BIAS
            let query = row;
            let key = column;
            let place = sh_rows[row_places + row - top];
#else
#if QUERIES
            let query = row / shared_by;
            let key = column;
            let place = sh_rows[row_places + row - top];
#else
            let query = near / shared_by;
            let key = row;
            let place = sh_columns[column_places + near - begin];
#endif
#endif
            let at = a_begin + (4u * tx + i / 4u) * A_PITCH + ty;
            let of_query = stats[p.stats_base / 4u + place];
            let scored = score(sh_a[at][i % 4u], query, key, place % p.heads, of_query.w, e);
            // Rounding may have made it positive. Compares bits, because `min` may drop NaN.
            let less = opaque(scored.x - of_query.x) - of_query.y;
            var weight = exp_below(select(less, 0.0, bitcast<u32>(less) <= 0x7f800000u));
            weight = select(weight, 0.0, bitcast<u32>(scored.x) == LOWEST_BITS || column >= columns);
#if VALUE
            sh_a[at][i % 4u] = weight;
#else
            let slope = weight * (sh_b[b_begin + (4u * tx + i / 4u) * B_PITCH + ty][i % 4u] - of_query.z);
#if BIAS
            sh_a[at][i % 4u] = select(slope, 0.0, weight == 0.0);
#else
            sh_a[at][i % 4u] = select(slope * scored.y, 0.0, weight == 0.0);
#endif
#endif
        }
#if BIAS
#for c part in 0 x, 1 y, 2 z, 3 w
        let weights$(c) = sh_a[a_begin + (4u * tx + $(c)u) * A_PITCH + ty];
#endfor
#for l part in 0 x, 1 y, 2 z, 3 w
        total$(l) += vec4(weights0.$(part), weights1.$(part), weights2.$(part), weights3.$(part));
#endfor
    }
#for l 4; c part in 0 x, 1 y, 2 z, 3 w
    if top + 4u * ty + $(l)u < rows && begin + 4u * tx + $(c)u < columns {
        let row = select(0u, own * rows, p.bias_heads > 1u) + top + 4u * ty + $(l)u;
        out[e.bias + row * columns + begin + 4u * tx + $(c)u] = bitcast<u32>(total$(l).$(part));
    }
#endfor
#else
#if QUERIES
        #use weighted k, d
#endif
#if KEY
        #use weighted q, d
#endif
#if VALUE
        #use weighted g, dv
#endif
#if 1 < TILES
#else
        begin += $(KEYS)u;
#endif
    }
#if VALUE
    #use store dv
#else
    #use store d
#endif
#endif
}
