// Attention: for each row of a tile, o = Σ_j w_j v_j / Σ_j w_j with w_j = exp(s_j), where s_j is the capped, scaled
// product of the row of q and key j, plus its bias; and lse = log Σ_j w_j. Masked keys have w = 0. A row without keys
// gives 0 and −∞. A key counts in a row only if its weight there is not 0, even if its values are not finite.
//
// A row is a query with one of the heads that share a key head: row r of a key head is query r / group and head r %
// group of its group. A workgroup computes TILES tiles, each of ROWS rows. An invocation has 4 QUADS rows, of which it
// computes four scores of each stage of KEYS keys, and four results of each chunk of KEYS results.
//
// Scores and weights of a stage pass through workgroup memory; sums stay in registers. A row's weights are relative to
// its largest score so far: when that grows, sums shrink by the exponential of the difference.
//
// PIECES: the keys of a piece alone. Results are f32 and go to a place for each tile, row and piece, and so do the
// largest score and the sum of weights, in place of the log-sum-exp.
//
// items: for each element (row of q, queries, row of k, keys or reserved rows, first value of bias); tiles (element,
// first row, piece); the blocks of the mask as bits; for each tile of rows, the stages with a block.

#params scale: f32
#for x at in q 1, k 2, v 3
@group(0) @binding($(at)) var<storage, read> $(x): array<E>;
#endfor
@group(0) @binding(4) var<storage, read_write> o: array<u32>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
// The bias; of a cache, the number of each element's keys that count.
@group(0) @binding(7) var<storage, read> bias: array<u32>;
@group(0) @binding(8) var<storage, read> per_head: array<f32>;

// Columns of q, then weights: a row of this has the value of each row of the tile.
var<workgroup> sh_a: array<vec4<f32>, $(TILES * KEYS * A_PITCH)>;
// Columns of k, each with the value of each key; then a chunk of v, each row with the values of one key.
var<workgroup> sh_b: array<vec4<f32>, $(TILES * KEYS * B_PITCH)>;
// What the invocations of a row have each computed of it.
var<workgroup> sh_part: array<f32, $(TILES * ROWS * ACROSS)>;
// For each row of the tile, its place among the rows of q and all heads. Then, for each tile, whether any of its values
// so far may not be finite.
var<workgroup> sh_place: array<u32, $(TILES * ROWS + TILES)>;

#include "ends"
#include "exp"
#include "log"
#include "log_sum_exp"
#if F16
#include "half_load"
#include "half_round"
#endif

#for x in q, k, v
fn $(x)_at(i: u32) -> f32 {
#if F16
    return half_of($(x)[i / 2u], i);
#else
    return $(x)[i];
#endif
}
#endfor

fn bias_at(i: u32) -> f32 {
#if F16
    return half_of(bias[i / 2u], i);
#else
    return bitcast<f32>(bias[i]);
#endif
}

#include "scores"
#include "attended"

#block put_words
#for d part in 0 x, 1 y, 2 z, 3 w
if stored && column + $(d)u < p.dv {
    o[at * p.dv + column + $(d)u] = bitcast<u32>(y.$(part));
}
#endfor
#endblock

## Four loads at a time, and then what becomes of them: a load that is used at once is waited for.
#block gathered count load stage
for (var i = t; i < $(count)u; i += $(4 * THREADS)u) {
#for n 4
    let high$(n) = (i + $(n * THREADS)u) / $(KEYS)u;
    let low$(n) = (i + $(n * THREADS)u) % $(KEYS)u;
    #use $(load)
#endfor
#for n 4
    #use $(stage)
#endfor
}
#endblock

#block load_query
let value$(n) = q_at(p.q_base + sh_place[place0 + high$(n)] * p.d + min(column + low$(n), p.d - 1u));
#endblock

## Values beyond the last column are zeros.
#block stage_query
sh_a[a_begin + low$(n) * A_PITCH + high$(n) / 4u][high$(n) % 4u] = select(0.0, value$(n), column + low$(n) < p.d);
#endblock

#block load_key
let row$(n) = (e.k_row + min(begin + high$(n), last_key)) * p.key_heads + key_head;
let value$(n) = k_at(p.k_base + row$(n) * p.d + min(column + low$(n), p.d - 1u));
#endblock

#block stage_key
sh_b[b_begin + low$(n) * B_PITCH + high$(n) / 4u][high$(n) % 4u] = select(0.0, value$(n), column + low$(n) < p.d);
#endblock

#block load_value
let row$(n) = (e.k_row + min(begin + high$(n), last_key)) * p.key_heads + key_head;
let value$(n) = v_at(p.v_base + row$(n) * p.dv + min($(c * KEYS)u + low$(n), p.dv - 1u));
#endblock

## Values of keys beyond the last one are zeros.
#block stage_value
sh_b[b_begin + high$(n) * B_PITCH + low$(n) / 4u][low$(n) % 4u] = select(0.0, value$(n), begin + high$(n) < keys);
odd += value$(n);
#endblock

## The weights of a stage times its values.
#block weighted added
#if 1 < QUADS
for (var j = 0u; j < $(KEYS)u; j += 1u) {
#else
for (var j = 0u; j < min(keys - begin, $(KEYS)u); j += 1u) {
#endif
    let b = sh_b[b_begin + j * B_PITCH + tx];
#for h QUADS
    let a$(h) = sh_a[a_begin + j * A_PITCH + ty + $(h * DOWN)u];
#endfor
#for h QUADS; l part in 0 x, 1 y, 2 z, 3 w
    #use $(added)
#endfor
}
#endblock

#block add_all
o$(c)_$(4 * h + l) = fma(vec4(a$(h).$(part)), b, o$(c)_$(4 * h + l));
#endblock

#block add_weighted
o$(c)_$(4 * h + l) = select(
    fma(vec4(a$(h).$(part)), b, o$(c)_$(4 * h + l)), o$(c)_$(4 * h + l), a$(h).$(part) == 0.0);
#endblock

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
#endif
    let entry = p.tiles + 3u * (unit / p.key_heads);
    let key_head = unit % p.key_heads;
    let e = attended(items[entry]);
    let top = items[entry + 1u];
    let keys = e.keys;
    // Of an empty cache, memory that is reserved.
    let last_key = max(keys, 1u) - 1u;
    let shared_by = p.heads / p.key_heads;
    let rows = e.queries * shared_by;
    // The keys that any row of the tile attends to.
    let first_query = i32(top / shared_by);
    let last_query = i32((min(top + $(ROWS)u, rows) - 1u) / shared_by);
    var low = clamp(first_query + e.offset - i32(p.left), 0, i32(keys));
    var high = clamp(last_query + e.offset + i32(p.right) + 1, 0, i32(keys));
#if PIECES
    let piece = i32(items[entry + 2u] * PIECE);
    low = max(low, piece);
    high = min(high, piece + i32(PIECE));
#endif

    let a_begin = slot * $(KEYS * A_PITCH)u;
    let b_begin = slot * $(KEYS * B_PITCH)u;
    let part0 = slot * $(ROWS * ACROSS)u;
    let place0 = slot * $(ROWS)u;
    let odd_place = $(TILES * ROWS)u + slot;
    // Rows beyond the last one compute the last one's results, which are not stored.
    for (var r = t; r < $(ROWS)u; r += $(THREADS)u) {
        let row = min(top + r, rows - 1u);
        sh_place[place0 + r] = (e.q_row + row / shared_by) * p.heads + key_head * shared_by + row % shared_by;
    }
    if t == 0u {
        sh_place[odd_place] = 0u;
    }
    // This invocation's rows.
#for h QUADS; l 4
    let row$(4 * h + l) = top + 4u * (ty + $(h * DOWN)u) + $(l)u;
    let near$(4 * h + l) = min(row$(4 * h + l), rows - 1u);
    let query$(4 * h + l) = near$(4 * h + l) / shared_by;
    let head$(4 * h + l) = key_head * shared_by + near$(4 * h + l) % shared_by;
    var most$(4 * h + l) = LOWEST;
    var sum$(4 * h + l) = 0.0;
#for c CHUNKS
    var o$(c)_$(4 * h + l) = vec4<f32>();
#endfor
#endfor

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
#for h QUADS; l 4
        var s$(4 * h + l) = vec4<f32>();
#endfor
        for (var column = 0u; column < p.d; column += $(KEYS)u) {
            workgroupBarrier();
            // Values beyond the last column are zeros.
            #use gathered $(ROWS * KEYS), load_query, stage_query
            #use gathered $(KEYS * KEYS), load_key, stage_key
            workgroupBarrier();
#if 1 < QUADS
            for (var x = 0u; x < $(KEYS)u; x += 1u) {
#else
            for (var x = 0u; x < min(p.d - column, $(KEYS)u); x += 1u) {
#endif
                let b = sh_b[b_begin + x * B_PITCH + tx];
#for h QUADS
                let a$(h) = sh_a[a_begin + x * A_PITCH + ty + $(h * DOWN)u];
#endfor
#for h QUADS; l part in 0 x, 1 y, 2 z, 3 w
                s$(4 * h + l) = fma(vec4(a$(h).$(part)), b, s$(4 * h + l));
#endfor
            }
        }
        let key = begin + 4u * tx;
        if p.plain == 0u {
            // One after another, in workgroup memory: this is long.
            workgroupBarrier();
#for h QUADS; c part in 0 x, 1 y, 2 z, 3 w
            sh_a[a_begin + (4u * tx + $(c)u) * A_PITCH + ty + $(h * DOWN)u] = vec4(
                s$(4 * h).$(part), s$(4 * h + 1).$(part), s$(4 * h + 2).$(part), s$(4 * h + 3).$(part));
#endfor
            for (var i = 0u; i < $(16 * QUADS)u; i += 1u) {
                let quad = ty + i / 16u * $(DOWN)u;
                let row = min(top + 4u * quad + i % 4u, rows - 1u);
                let head = key_head * shared_by + row % shared_by;
                let column = 4u * tx + i / 4u % 4u;
                let at = a_begin + column * A_PITCH + quad;
                sh_a[at][i % 4u] = score(sh_a[at][i % 4u], row / shared_by, begin + column, head, slope_of(head), e).x;
            }
#for h QUADS; c part in 0 x, 1 y, 2 z, 3 w
            let back$(h)_$(c) = sh_a[a_begin + (4u * tx + $(c)u) * A_PITCH + ty + $(h * DOWN)u];
#endfor
#for h QUADS; l part in 0 x, 1 y, 2 z, 3 w
            s$(4 * h + l) = vec4(
                back$(h)_0.$(part), back$(h)_1.$(part), back$(h)_2.$(part), back$(h)_3.$(part));
#endfor
        } else {
#for h QUADS; l 4
            s$(4 * h + l) = plain_scores(s$(4 * h + l), query$(4 * h + l), key, e);
#endfor
        }
#for h QUADS; l 4
        sh_part[part0 + (4u * (ty + $(h * DOWN)u) + $(l)u) * $(ACROSS)u + tx] =
            max(max(s$(4 * h + l).x, s$(4 * h + l).y), max(s$(4 * h + l).z, s$(4 * h + l).w));
#endfor
        workgroupBarrier();
#for h QUADS; l 4
        {
            var most = most$(4 * h + l);
#for x ACROSS
            most = max(most, sh_part[part0 + (4u * (ty + $(h * DOWN)u) + $(l)u) * $(ACROSS)u + $(x)u]);
#endfor
            let less = exp_below(most$(4 * h + l) - most);
            most$(4 * h + l) = most;
            let weights = vec4(
#for part in x, y, z, w
                select(exp_below(s$(4 * h + l).$(part) - most), 0.0, s$(4 * h + l).$(part) <= LOWEST),
#endfor
            );
            s$(4 * h + l) = weights;
            sum$(4 * h + l) = fma(
                sum$(4 * h + l), less, (weights.x + weights.y) + (weights.z + weights.w));
#for c CHUNKS
            o$(c)_$(4 * h + l) *= less;
#endfor
        }
#endfor
        // All columns of q have been read before the last barrier.
#for h QUADS; c part in 0 x, 1 y, 2 z, 3 w
        sh_a[a_begin + (4u * tx + $(c)u) * A_PITCH + ty + $(h * DOWN)u] = vec4(
            s$(4 * h).$(part), s$(4 * h + 1).$(part), s$(4 * h + 2).$(part), s$(4 * h + 3).$(part));
#endfor
#for c CHUNKS
        if $(c * KEYS)u < p.dv {
#if 0 < c
            workgroupBarrier();
#endif
            // A sum of values is not finite if one of them is not.
            var odd = 0.0;
            // Values of keys beyond the last one are zeros.
            #use gathered $(KEYS * KEYS), load_value, stage_value
            if (bitcast<u32>(odd) & 0x7f800000u) == 0x7f800000u {
                sh_place[odd_place] = 1u;
            }
            workgroupBarrier();
            if sh_place[odd_place] == 0u {
                #use weighted add_all
            } else {
                #use weighted add_weighted
            }
        }
#endfor
#if 1 < TILES
#else
        begin += $(KEYS)u;
#endif
    }

    // The sums of all invocations of a row.
    workgroupBarrier();
#for h QUADS; l 4
    sh_part[part0 + (4u * (ty + $(h * DOWN)u) + $(l)u) * $(ACROSS)u + tx] = sum$(4 * h + l);
#endfor
    workgroupBarrier();
#for h QUADS; l 4
    {
        var sum = 0.0;
#for x ACROSS
        sum += sh_part[part0 + (4u * (ty + $(h * DOWN)u) + $(l)u) * $(ACROSS)u + $(x)u];
#endfor
        var most = most$(4 * h + l);
        var less = 1.0;
        if p.sinks != 0u {
            let sink = per_head[p.per_head_base + p.alibi * p.heads + head$(4 * h + l)];
            let larger = max(most, sink);
            less = exp_below(most - larger);
            sum = fma(sum, less, exp_below(sink - larger));
            most = larger;
        }
        let factor = less * select(1.0 / sum, 0.0, sum == 0.0);
        let place = sh_place[place0 + 4u * (ty + $(h * DOWN)u) + $(l)u];
#if 1 < TILES
        let stored = alive && row$(4 * h + l) < rows;
#else
        let stored = row$(4 * h + l) < rows;
#endif
#if PIECES
        let at = unit * $(ROWS)u + row$(4 * h + l) - top;
#else
        let at = place;
#endif
        if stored && tx == 0u {
#if PIECES
            lse[at] = bitcast<u32>(most);
            lse[at + p.rest] = bitcast<u32>(sum);
#else
            put_lse(at, most, log_of(sum), sum == 0.0);
#endif
        }
#for c CHUNKS
        {
            let column = $(c * KEYS)u + 4u * tx;
            let y = o$(c)_$(4 * h + l) * factor;
#if F16
#if PIECES
            #use put_words
#else
            // dv is even.
            if stored && column < p.dv {
                o[(at * p.dv + column) / 2u] = half_bits(y.x) | (half_bits(y.y) << 16u);
            }
            if stored && column + 2u < p.dv {
                o[(at * p.dv + column) / 2u + 1u] = half_bits(y.z) | (half_bits(y.w) << 16u);
            }
#endif
#else
            #use put_words
#endif
        }
#endfor
    }
#endfor
}
