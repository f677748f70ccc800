// Gradients of attention of f16, as attention/slopes.wgsl computes them, on cooperative matrices.
//
// A workgroup computes a tile of ROWS rows of one key head and walks over its columns, KEYS at a time. Two subgroups
// share 32 rows: each computes the scores of one half of a stage's columns, and the results of one half of the columns
// of the gradient. An invocation has one row of its subgroup's scores.
//
// Scores S, then the cotangents dP of weights, pass through workgroup memory: S = a1 b1ᵀ and dP = a2 b2ᵀ, where a1 and
// a2 are the operands of rows, which stay in matrices, and b1 and b2 those of columns. What weights an operand of
// columns, dS or P, is rounded to f16, so each row has a reference: weights are multiplied by 2^-m, where the integer m
// is fixed while the largest weight of a stage is at most LIMIT. When it is larger, m grows, and what the row has
// summed is scaled by a power of two, which is exact, as in attention/matrix.wgsl.
//
// stats, items: as in attention/slopes.wgsl.

#params scale: f32
#for x at in q 1, k 2, v 3, g 4
@group(0) @binding($(at)) var<storage, read_write> $(x): array<vec4<u32>>;
#endfor
@group(0) @binding(5) var<storage, read_write> stats: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(7) var<storage, read_write> bias: array<u32>;
@group(0) @binding(8) var<storage, read_write> out: array<vec4<u32>>;

// Rows of b1, then of b2, of a stage; at the start, rows of a1 and of a2.
#if EIGHT
var<workgroup> sh_b: array<f16, $(2 * KEYS * PITCH)>;
#else
var<workgroup> sh_b: array<vec4<f16>, $(2 * KEYS * PITCH)>;
#endif
// Scores, their cotangents, or results: for each pair of subgroups and column, 32 rows.
var<workgroup> sh_s: array<f32, $(GROUPS * KEYS * STRIP)>;
// Weights, by rows. Before, what caps multiply the derivatives of scores by.
#if EIGHT
var<workgroup> sh_p: array<f16, $(ROWS * P_PITCH)>;
#else
var<workgroup> sh_p: array<vec4<f16>, $(ROWS * P_PITCH)>;
#endif
#if !QUERIES
// For each column, what `weights_of` makes of its statistics.
var<workgroup> sh_stats: array<vec4<f32>, KEYS>;
#endif
// Whether any row needs a new reference. Padded to 16 bytes, from multiples of which drivers load matrices.
var<workgroup> sh_over: array<u32, 4>;
#if !PLAIN
// Whether any row meets a column. Others count with weights of zero, so that their values must be zeros.
var<workgroup> sh_seen: array<u32, KEYS>;
#endif

// The largest weight for which a reference is kept, and the exponent of the largest weight after a new one.
const LIMIT = 32768.0;
const AIM = 10;
// Less than any exponent of a weight.
const NONE = -0x4000;

#include "grid"
#include "ends"
#include "exp"
#include "half_load"
#include "log_sum_exp2"

fn bias_at(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

#include "scores"
#include "coop_strips"
#include "coop_stages"

// The statistics of a query: a and b, by which the weight of a score s, in units of ln 2, is b 2^(s − a); delta; and
// the slope of ALiBi. b is NaN if any score of the query is.
fn weights_of(place: u32) -> vec4<f32> {
    let stat = stats[p.stats_base / 4u + place];
    let lse = in_parts(stat.xy, LOG2_E, LOG2_E_REST);
    return vec4(lse.x, exp2(-lse.y), stat.zw);
}

fn query_place(row: u32, key_head: u32, e: Element) -> u32 {
    let shared_by = p.heads / p.key_heads;
    return (e.q_row + row / shared_by) * p.heads + key_head * shared_by + row % shared_by;
}

fn key_place(key: u32, key_head: u32, e: Element) -> u32 {
    return (e.k_row + key) * p.key_heads + key_head;
}

// Loads a stage's rows, eight values at a time. Rows beyond the last column repeat it, and units beyond the last one
// repeat that: a condition here would make the invocation wait for its loads.
#block load x width begin
#for i SLOTS
{
    let near = min($(begin) + row$(i), columns - 1u);
#if QUERIES
    let place = key_place(near, key_head, e);
#else
    let place = query_place(near, key_head, e);
#endif
    $(x)0_$(i) = $(x)[p.$(x)_base / 8u + place * (p.$(width) / 8u) + min(unit$(i), p.$(width) / 8u - 1u)];
}
#endfor
#endblock

#block load_stats begin
#if !QUERIES
of_column = weights_of(query_place(min($(begin) + lid % $(KEYS)u, columns - 1u), key_head, e));
#endif
#endblock

// Values of columns beyond the last one count with weights of zero, so they must be finite.
#block stage x width first
#for i SLOTS
{
    let counts = unit$(i) < p.$(width) / 8u && begin + row$(i) < columns;
    let words = select(vec4<u32>(), $(x)0_$(i), counts);
    #use stage_eight sh_b, $(first)u + row$(i) * $(PITCH)u + $(8 / PER)u * unit$(i), words
}
#endfor
#endblock

#block clear_unseen first
#for i SLOTS
if sh_seen[row$(i)] == 0u {
    let words = vec4<u32>();
    #use stage_eight sh_b, $(first)u + row$(i) * $(PITCH)u + $(8 / PER)u * unit$(i), words
}
#endfor
#endblock

// The matrices of an operand of rows. Rows beyond the last one repeat it.
#block own x width m
#for i OWN_SLOTS
{
    let r = (lid + $(i * WG)u) / $(D / 8)u;
    let unit = (lid + $(i * WG)u) % $(D / 8)u;
    let near = min(top + r, rows - 1u);
#if QUERIES
    let place = query_place(near, key_head, e);
#else
    let place = key_place(near, key_head, e);
#endif
    var words = $(x)[p.$(x)_base / 8u + place * (p.$(width) / 8u) + min(unit, p.$(width) / 8u - 1u)];
    words = select(vec4<u32>(), words, unit < p.$(width) / 8u);
    #use stage_eight sh_b, r * $(PITCH)u + $(8 / PER)u * unit, words
}
#endfor
workgroupBarrier();
#for step D / SIDE; i DOWN
let $(m)_$(step)_$(i) = coopLoadT<MA>(
    &sh_b[(row_of_share + $(SIDE * i)u) * $(PITCH)u + $(SIDE * step / PER)u], $(PITCH)u);
#endfor
workgroupBarrier();
#endblock

// The products of 32 rows and of one half of the staged columns.
#block multiply m first
{
#for i DOWN; n ACROSS
    var s$(i)_$(n) = MC();
#endfor
#for step D / SIDE; n ACROSS
    let m_b$(step)_$(n) = coopLoad<MB>(
        &sh_b[$(first)u + (key_of_share + $(SIDE * n)u) * $(PITCH)u + $(SIDE * step / PER)u], $(PITCH)u);
#endfor
#for step D / SIDE; i DOWN; n ACROSS
    s$(i)_$(n) = coopMultiplyAdd($(m)_$(step)_$(i), m_b$(step)_$(n), s$(i)_$(n));
#endfor
    #use store_strip s, 0
}
#endblock

// Four values of this invocation's row.
#block of_row name quad
let $(name) = vec4(
#for l 4
    sh_s[mine + $(4 * quad * STRIP + l * STRIP)u],
#endfor
);
#endblock

// A value of the queries of these four, which are this invocation's own, or one for each column.
#block of_queries name quad part
#if QUERIES
let $(name) = vec4(stat.$(part));
#else
let $(name) = vec4(
#for l 4
    sh_stats[key_in + $(4 * quad + l)u].$(part),
#endfor
);
#endif
#endblock

#block weigh
{
    let scale = exp2(-most);
#for quad 4
    {
        let w = vec4<f16>(x$(quad) * scale);
        #use stage_four sh_p, (weights + $(4 * quad / PER)u), w
    }
#endfor
}
#endblock

#block add_products
#for step KEYS / SIDE; i DOWN
let m_p$(step)_$(i) = coopLoadT<MA>(
    &sh_p[(row_of_share + $(SIDE * i)u) * $(P_PITCH)u + $(SIDE * step / PER)u], $(P_PITCH)u);
#endfor
#for step KEYS / SIDE; j COLUMNS
let m_w$(step)_$(j) = coopLoadT<MB>(
    &sh_b[$(WEIGHTED * KEYS * PITCH + SIDE * step * PITCH)u + column_of_share / $(PER)u + $(SIDE * j / PER)u],
    $(PITCH)u);
#endfor
#for step KEYS / SIDE; i DOWN; j COLUMNS
o$(i)_$(j) = coopMultiplyAdd(m_p$(step)_$(i), m_w$(step)_$(j), o$(i)_$(j));
#endfor
#endblock

// Gives rows whose weights exceed LIMIT a new reference, and scales what they have summed.
#block rescale
let exponent = select(NONE, i32(clamp(ceil(log2(largest)), -100.0, 127.0)) - AIM, largest > 0.0);
let over = i32(needs);
sh_s[half * $(ROWS)u + own] = f32(2 * exponent + over);
workgroupBarrier();
let other = i32(sh_s[(1u - half) * $(ROWS)u + own]);
let both = max(exponent, other >> 1u);
var scale = 1.0;
if (over | (other & 1)) != 0 && both > NONE {
    scale = select(exp2(most - f32(both)), 0.0, unset);
    most = f32(both);
    unset = false;
}
#use weigh
#use scale_results
#endblock

fn make_tile(group: u32, lid: u32, subgroup: u32) {
    let entry = p.tiles + 3u * (group / p.key_heads);
    let key_head = group % p.key_heads;
    let e = element_at(items[entry]);
    let top = items[entry + 1u];
    let shared_by = p.heads / p.key_heads;
#if QUERIES
    let rows = e.queries * shared_by;
    let columns = e.keys;
#else
    let rows = e.keys;
    let columns = e.queries * shared_by;
#endif
    // This invocation's row, and its columns of each stage.
    #use roles
    let half = team % 2u;
    let own = team / 2u * 32u + lid % 32u;
    let row = top + own;
    let near = min(row, rows - 1u);
    // Where this subgroup's rows, scores, columns and columns of results begin.
    let row_of_share = share / 2u * 32u;
    let strip = share * $(16 * STRIP)u;
    let key_of_share = share % 2u * 16u;
    let column_of_share = share % 2u * $(D / 2)u;
    // Where this invocation's columns, columns of results, scores and weights begin.
    let key_in = half * 16u;
    let column_in = half * $(D / 2)u;
    let mine = team * $(16 * STRIP)u + lid % 32u;
    let weights = own * $(P_PITCH)u + half * $(16 / PER)u;
    // The columns that this row meets, and those that any row does.
    let last_row = min(top + $(ROWS)u, rows) - 1u;
#if QUERIES
    let query = near / shared_by;
    let head = key_head * shared_by + near % shared_by;
    let place = query_place(near, key_head, e);
    let before = i32(query) + e.offset - i32(p.left);
    let after = min(i32(query) + e.offset + i32(p.right) + 1, i32(columns));
    let low = clamp(i32(top / shared_by) + e.offset - i32(p.left), 0, i32(columns));
    let high = clamp(i32(last_row / shared_by) + e.offset + i32(p.right) + 1, 0, i32(columns));
    let stat = weights_of(place);
#else
    let place = key_place(near, key_head, e);
    let queries = i32(e.queries);
    let before = clamp(i32(near) - e.offset - i32(p.right), 0, queries) * i32(shared_by);
    let after = clamp(i32(near) - e.offset + i32(p.left) + 1, 0, queries) * i32(shared_by);
    let low = clamp(i32(top) - e.offset - i32(p.right), 0, queries) * i32(shared_by);
    let high = clamp(i32(last_row) - e.offset + i32(p.left) + 1, 0, queries) * i32(shared_by);
    var of_column = vec4<f32>();
#endif

    // The rows and units that an invocation stages.
#for i SLOTS
    let row$(i) = (lid + $(i * WG)u) / $(D / 8)u;
    let unit$(i) = (lid + $(i * WG)u) % $(D / 8)u;
    var $(b1)0_$(i) = vec4<u32>();
    var $(b2)0_$(i) = vec4<u32>();
#endfor
    var listed = 0u;
    var listed_end = 0u;
#if !PLAIN
    if p.blocks != 0u {
        listed = items[p.lists + top / $(ROWS)u];
        listed_end = items[p.lists + top / $(ROWS)u + 1u];
    }
#endif
    let first_stage = stage_from(u32(low) / $(KEYS)u * $(KEYS)u, listed, listed_end, high);
    var begin = first_stage.x;
    listed = first_stage.y;
    if columns > 0u {
        #use load $(b1), d, begin
        #use load $(b2), dv, begin
        #use load_stats begin
    }
#if VALUE
    #use own k, d, m_a1
#else
#if QUERIES
    #use own q, d, m_a1
    #use own g, dv, m_a2
#else
    #use own k, d, m_a1
    #use own v, dv, m_a2
#endif
#endif
#for i DOWN; j COLUMNS
    var o$(i)_$(j) = MC();
#endfor
    var most = 0.0;
    var unset = true;
#if PLAIN
    let factor = p.scale * LOG2_E;
#else
    // Scores that have passed through `score` are in units of ln 2.
    let factor = 1.0;
#endif
    loop {
        if begin == END { break; }
        // The last stage's weights and operands have been read.
        workgroupBarrier();
        #use stage $(b1), d, 0
        #use stage $(b2), dv, $(KEYS * PITCH)
#if !QUERIES
        if lid < $(KEYS)u {
            sh_stats[lid] = of_column;
        }
#endif
        if lid == 0u {
            sh_over[0] = 0u;
        }
#if !PLAIN
        if lid < KEYS {
            sh_seen[lid] = 0u;
        }
#endif
        let following = stage_from(begin + $(KEYS)u, listed, listed_end, high);
        listed = following.y;
        workgroupBarrier();
        #use multiply m_a1, 0
        #use load $(b1), d, following.x
        #use load $(b2), dv, following.x
        #use load_stats following.x
        workgroupBarrier();
#if !PLAIN
        for (var i = 0u; i < 16u; i += 1u) {
            let product = sh_s[mine + i * $(STRIP)u];
            let column = begin + key_in + i;
#if QUERIES
            let s = score(product, query, column, head, stat.w, e);
#else
            let query = min(column, columns - 1u) / shared_by;
            let head = key_head * shared_by + column % shared_by;
            let s = score(product, query, near, head, sh_stats[key_in + i].w, e);
#endif
            sh_s[mine + i * $(STRIP)u] = select(s.x * LOG2_E, LOWEST, s.x <= LOWEST);
            if bitcast<u32>(s.x) != LOWEST_BITS {
                sh_seen[key_in + i] = 1u;
            }
            let derivative = f16(select(1.0, s.y / p.scale, p.scale != 0.0 && s.x > LOWEST));
#if EIGHT
            sh_p[weights + i] = derivative;
#else
            sh_p[weights + i / 4u][i % 4u] = derivative;
#endif
        }
#endif
        // Which of this invocation's columns its row meets.
        let first = before - i32(begin + key_in);
        let end = after - i32(begin + key_in);
#for quad 4
        var x$(quad): vec4<f32>;
        {
            #use of_row s, $(quad)
            #use of_queries less, $(quad), x
            #use of_queries times, $(quad), y
            let at = vec4<i32>($(4 * quad), $(4 * quad + 1), $(4 * quad + 2), $(4 * quad + 3));
            var counts = (at >= vec4(first)) & (at < vec4(end));
#if !PLAIN
            counts = counts & (bitcast<vec4<u32>>(s) != vec4(LOWEST_BITS));
#endif
            x$(quad) = select(vec4<f32>(), times * exp2(fma(s, vec4(factor), -less)), counts);
        }
#endfor
#if VALUE
#if !PLAIN
        workgroupBarrier();
        #use clear_unseen $(KEYS * PITCH)
#endif
#else
        workgroupBarrier();
#if !PLAIN
        #use clear_unseen 0
#endif
        #use multiply m_a2, $(KEYS * PITCH)
        workgroupBarrier();
#for quad 4
        {
            #use of_row y, $(quad)
            #use of_queries less, $(quad), z
            // Weights of zero stay zero, even if the cotangents are not finite.
            x$(quad) = select(x$(quad) * ((y - less) * p.scale), vec4<f32>(), x$(quad) == vec4<f32>());
#if !PLAIN
#if EIGHT
            x$(quad) *= vec4(
#for l 4
                f32(sh_p[weights + $(4 * quad + l)u]),
#endfor
            );
#else
            x$(quad) *= vec4<f32>(sh_p[weights + $(quad)u]);
#endif
#endif
        }
#endfor
#endif
        var largest = 0.0;
#for quad 4; l in x, y, z, w
        largest = max(largest, abs(x$(quad).$(l)));
#endfor
        let needs = !(largest * exp2(-most) <= LIMIT) || unset && largest > 0.0;
        if needs {
            sh_over[0] = 1u;
        }
        #use weigh
        workgroupBarrier();
        #use only_if sh_over[0] != 0u, rescale
        #use add_products
        begin = following.x;
    }

    let stored = row < rows;
    let scale = exp2(most);
    #use put_results out, $(width), scale
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
    make_tile(group, lid, subgroup);
}
