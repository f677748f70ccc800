// Attention of f16, as attention/mod.wgsl computes it, on cooperative matrices.
//
// A workgroup computes a tile of ROWS rows of one key head and walks over its keys, KEYS at a time. Two subgroups share
// 32 rows: each computes the scores of one half of a stage's keys, and the results of one half of the columns. An
// invocation has one row of its subgroup's scores.
//
// Scores pass through workgroup memory, because the values of a matrix have no known places in invocations. Results
// stay in matrices, whose rows no operation scales: so the weights of a row are 2^(s - m), where s is its score in
// units of ln 2, and m is an integer that is fixed while the weights of a stage sum to LIMIT at most. When they sum to
// more, m becomes the largest score, rounded up, and the row's results are scaled in workgroup memory by a power of
// two, which is exact. This happens seldom after the first stage.
//
// Each stage has two steps, separated by barriers: scores to weights, while values and the next keys are staged; then
// the products of weights and values, and of queries and the next keys.
//
// items: as in attention/mod.wgsl.

#params scale: f32
@group(0) @binding(1) var<storage, read_write> q: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> k: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> v: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> o: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(7) var<storage, read_write> bias: array<u32>;
@group(0) @binding(8) var<storage, read_write> per_head: array<f32>;

// Keys, then values, of a stage, by rows; at the start, the queries.
#if EIGHT
var<workgroup> sh_kv: array<f16, $(2 * KEYS * PITCH)>;
#else
var<workgroup> sh_kv: array<vec4<f16>, $(2 * KEYS * PITCH)>;
#endif
// Scores, or results: for each pair of subgroups and key, or column, 32 rows.
var<workgroup> sh_s: array<f32, $(GROUPS * KEYS * STRIP)>;
// Weights, by rows.
#if EIGHT
var<workgroup> sh_p: array<f16, $(ROWS * P_PITCH)>;
#else
var<workgroup> sh_p: array<vec4<f16>, $(ROWS * P_PITCH)>;
#endif
// For each half and row, its largest score rounded up, times two, plus one if its weights sum to more than LIMIT.
var<workgroup> sh_most: array<i32, $(2 * ROWS)>;
// Whether any row's weights do, in stages of even and of odd numbers. Padded, because drivers align a variable by its
// element, but load matrices only from multiples of 16 bytes.
var<workgroup> sh_over: array<u32, 4>;
#if !PLAIN
// Whether any row attends to a key, in stages of even and of odd numbers. Others count with weights of zero, so their
// values are staged as zeros.
var<workgroup> sh_seen: array<u32, $(2 * KEYS)>;
#endif

// The largest sum of the weights of a row and half of a stage for which its reference is kept. f16 reaches 65504.
const LIMIT = 16384.0;

#include "grid"
#include "ends"
#include "exp"
#include "half_load"
#include "log_sum_exp"
#include "log_sum_exp2"

fn bias_at(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

#include "scores"
#include "coop_strips"
#include "coop_stages"

// Loads a stage's rows of keys, or of values, eight values at a time. Rows beyond the last key repeat it, and units
// beyond the last one repeat that: a condition here would make the invocation wait for its loads. An element without
// keys loads the first unit of the batch, which is always bound.
#block load x begin
#for i SLOTS
$(x)0_$(i) = $(x)[$(x)_from + min($(begin) + row$(i), last_key) * $(x)_pitch + min(unit$(i), $(x)_last)];
#endfor
#endblock

#block stage x first
#use stage_eight sh_kv, $(first)u + row$(i) * $(PITCH)u + $(8 / PER)u * unit$(i), $(x)0_$(i)
#endblock

#block stage_keys
#for i SLOTS
k0_$(i) = select(vec4<u32>(), k0_$(i), unit$(i) < d_units);
#use stage k, 0
#endfor
#endblock

// Values of keys beyond the last one count with weights of zero, so they must be finite. Columns beyond the last one
// are not stored.
#block stage_values
#for i SLOTS
#if PLAIN
v0_$(i) = select(vec4<u32>(), v0_$(i), begin + row$(i) < keys);
#else
v0_$(i) = select(vec4<u32>(), v0_$(i), sh_seen[turn * KEYS + row$(i)] != 0u);
#endif
#use stage v, $(KEYS * PITCH)
#endfor
#endblock

#block load_queries round
#for step D / SIDE; i DOWN
m_q$(step)_$(i) = coopLoadT<MA>(
    &sh_kv[(row_of_share + $(SIDE * i)u - $(64 * round)u) * $(PITCH)u + $(SIDE * step / PER)u], $(PITCH)u);
#endfor
#endblock

// The scores of 32 rows and of one half of the staged keys.
#block multiply_keys
#for i DOWN; n ACROSS
var s$(i)_$(n) = MC();
#endfor
#for step D / SIDE; n ACROSS
let m_k$(step)_$(n) = coopLoad<MB>(
    &sh_kv[(key_of_share + $(SIDE * n)u) * $(PITCH)u + $(SIDE * step / PER)u], $(PITCH)u);
#endfor
#for step D / SIDE; i DOWN; n ACROSS
s$(i)_$(n) = coopMultiplyAdd(m_q$(step)_$(i), m_k$(step)_$(n), s$(i)_$(n));
#endfor
#use store_strip s, 0
#endblock

#block multiply_values
#for step KEYS / SIDE; i DOWN
let m_p$(step)_$(i) = coopLoadT<MA>(
    &sh_p[(row_of_share + $(SIDE * i)u) * $(P_PITCH)u + $(SIDE * step / PER)u], $(P_PITCH)u);
#endfor
#for step KEYS / SIDE; j COLUMNS
let m_v$(step)_$(j) = coopLoadT<MB>(
    &sh_kv[$(KEYS * PITCH + SIDE * step * PITCH)u + column_of_share / $(PER)u + $(SIDE * j / PER)u], $(PITCH)u);
#endfor
#for step KEYS / SIDE; i DOWN; j COLUMNS
o$(i)_$(j) = coopMultiplyAdd(m_p$(step)_$(i), m_v$(step)_$(j), o$(i)_$(j));
#endfor
#endblock

// The weights of this invocation's row and half, from the scores in workgroup memory. Those of masked keys are zero.
#block weigh
part = 0.0;
kept = 0.0;
#for quad 4
{
    var x = vec4(
#for l 4
        sh_s[mine + $(4 * quad * STRIP + l * STRIP)u],
#endfor
    );
    x = exp2(fma(x, vec4(factor), vec4(-most)));
    if !whole {
        let at = vec4<i32>($(4 * quad), $(4 * quad + 1), $(4 * quad + 2), $(4 * quad + 3));
        x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
    }
    let w = vec4<f16>(x);
    #use stage_four sh_p, (weights + $(4 * quad / PER)u), w
    let y = vec4<f32>(w);
    part += (x.x + x.y) + (x.z + x.w);
    kept += (y.x + y.y) + (y.z + y.w);
}
#endfor
#endblock

// Gives rows whose weights sum to more than LIMIT a new reference, and scales what they have summed.
#block rescale
var largest = LOWEST;
for (var i = max(first, 0); i < min(end, 16); i += 1) {
    largest = max(largest, sh_s[mine + u32(i) * $(STRIP)u] * factor);
}
let over = u32(!(part <= LIMIT) || unset);
let rounded = select(-0x10000000, i32(ceil(clamp(largest, -1.0e8, 1.0e8))), largest > 0.5 * LOWEST);
sh_most[half * $(ROWS)u + own] = 2 * rounded + i32(over);
workgroupBarrier();
let other = sh_most[(1u - half) * $(ROWS)u + own];
let both = max(rounded, other >> 1u);
var scale = 1.0;
if (over | (u32(other) & 1u)) != 0u && both > -0x10000000 {
    scale = select(exp2(most - f32(both)), 0.0, unset);
    most = f32(both);
    unset = false;
}
sum *= scale;
divisor *= scale;
#use weigh
#use scale_results
#endblock

fn make_tile(group: u32, lid: u32, subgroup: u32) {
    let entry = p.tiles + 3u * (group / p.key_heads);
    let key_head = group % p.key_heads;
    let e = element_at(items[entry]);
    let top = items[entry + 1u];
    let keys = e.keys;
    let shared_by = p.heads / p.key_heads;
    let rows = e.queries * shared_by;
    let d_units = p.d / 8u;
    let v_units = p.dv / 8u;
    // Where this element's keys and values begin, the distance of their rows, and the last row and unit, in units.
    let last_key = max(keys, 1u) - 1u;
    let k_from = select(p.k_base / 8u + (e.k_row * p.key_heads + key_head) * d_units, 0u, keys == 0u);
    let v_from = select(p.v_base / 8u + (e.k_row * p.key_heads + key_head) * v_units, 0u, keys == 0u);
    let k_pitch = p.key_heads * d_units;
    let v_pitch = p.key_heads * v_units;
    let k_last = select(d_units - 1u, 0u, keys == 0u);
    let v_last = select(v_units - 1u, 0u, keys == 0u);
    // This invocation's row, and its keys of each stage.
    #use roles
    let half = team % 2u;
    let own = team / 2u * 32u + lid % 32u;
    let row = top + own;
    let near = min(row, rows - 1u);
    let query = near / shared_by;
    let head = key_head * shared_by + near % shared_by;
    let place = (e.q_row + query) * p.heads + head;
    // Where this subgroup's rows, scores, keys and columns begin.
    let row_of_share = share / 2u * 32u;
    let strip = share * $(16 * STRIP)u;
    let key_of_share = share % 2u * 16u;
    let column_of_share = share % 2u * $(D / 2)u;
    // Where this invocation's keys, columns, scores and weights begin.
    let key_in = half * 16u;
    let column_in = half * $(D / 2)u;
    let mine = team * $(16 * STRIP)u + lid % 32u;
    let weights = own * $(P_PITCH)u + half * $(16 / PER)u;
    // The keys that this row attends to, that any row does, and that all rows do.
    let before = i32(query) + e.offset - i32(p.left);
    let after = i32(query) + e.offset + i32(p.right) + 1;
    let first_query = i32(top / shared_by);
    let last_query = i32((min(top + $(ROWS)u, rows) - 1u) / shared_by);
    let low = clamp(first_query + e.offset - i32(p.left), 0, i32(keys));
    let high = clamp(last_query + e.offset + i32(p.right) + 1, 0, i32(keys));
    let all_low = last_query + e.offset - i32(p.left);
    let all_high = min(first_query + e.offset + i32(p.right) + 1, i32(keys));

    // The rows and units that an invocation stages.
#for i SLOTS
    let row$(i) = (lid + $(i * WG)u) / $(D / 8)u;
    let unit$(i) = (lid + $(i * WG)u) % $(D / 8)u;
    var k0_$(i) = vec4<u32>();
    var v0_$(i) = vec4<u32>();
#endfor
    // The current stage's first key, the next one's, and the one's after that.
    var listed = 0u;
    var listed_end = 0u;
#if !PLAIN
    if p.blocks != 0u {
        listed = items[p.lists + top / $(ROWS)u];
        listed_end = items[p.lists + top / $(ROWS)u + 1u];
    }
#endif
    let stage0 = stage_from(u32(low) / $(KEYS)u * $(KEYS)u, listed, listed_end, high);
    let stage1 = stage_from(min(stage0.x, END - $(KEYS)u) + $(KEYS)u, stage0.y, listed_end, high);
    var begin = stage0.x;
    var next = stage1.x;
    listed = stage1.y;
    #use load k, begin
    #use load v, begin
    // The queries, 64 rows at a time in the memory of keys and values. Rows beyond the last one repeat it.
#for step D / SIDE; i DOWN
    var m_q$(step)_$(i) = MA();
#endfor
#for round ROUNDS
#if 0 < round
    workgroupBarrier();
#endif
#for i Q_SLOTS
    {
        let r = (lid + $(i * WG)u) / $(D / 8)u;
        let unit = (lid + $(i * WG)u) % $(D / 8)u;
        let near = min(top + $(64 * round)u + r, rows - 1u);
        let place = (e.q_row + near / shared_by) * p.heads + key_head * shared_by + near % shared_by;
        var words = q[p.q_base / 8u + place * d_units + min(unit, d_units - 1u)];
        words = select(vec4<u32>(), words, unit < d_units);
        #use stage_eight sh_kv, r * $(PITCH)u + $(8 / PER)u * unit, words
    }
#endfor
    workgroupBarrier();
#if 1 < ROUNDS
    #use only_if row_of_share / 64u == $(round)u, load_queries $(round)
#else
    #use load_queries 0
#endif
#endfor
    workgroupBarrier();
    #use stage_keys
    if lid < 2u {
        sh_over[lid] = 0u;
    }
#if !PLAIN
    if lid < $(2 * KEYS)u {
        sh_seen[lid] = 0u;
    }
#endif
    #use load k, next
    workgroupBarrier();
#for i DOWN; j COLUMNS
    var o$(i)_$(j) = MC();
#endfor
    {
        #use multiply_keys
    }
    var most = 0.0;
    // The sums of weights, and of weights rounded as the products have them.
    var sum = 0.0;
    var divisor = 0.0;
    var unset = true;
    var turn = 0u;
#if PLAIN
    let factor = p.scale * LOG2_E;
#else
    // Scores that have passed through `score` are in units of ln 2.
    let factor = 1.0;
#endif
    loop {
        if begin == END { break; }
        workgroupBarrier();
        // Which of this invocation's keys its row attends to.
        let first = before - i32(begin + key_in);
        let end = min(after, i32(keys)) - i32(begin + key_in);
        var whole = i32(begin) >= all_low && i32(begin) + $(KEYS) <= all_high;
#if !PLAIN
        var slope = 0.0;
        if p.alibi != 0u {
            slope = per_head[p.per_head_base + head];
        }
        for (var i = 0u; i < 16u; i += 1u) {
            let product = sh_s[mine + i * $(STRIP)u];
            let s = score(product, query, begin + key_in + i, head, slope, e).x;
            sh_s[mine + i * $(STRIP)u] = select(s * LOG2_E, LOWEST, s <= LOWEST);
            if bitcast<u32>(s) != LOWEST_BITS {
                sh_seen[turn * KEYS + key_in + i] = 1u;
            }
        }
        workgroupBarrier();
#endif
        var part: f32;
        var kept: f32;
        #use weigh
        if !(part <= LIMIT) || unset && first < 16 && end > 0 {
            sh_over[turn] = 1u;
        }
        #use stage_values
        #use stage_keys
        let following = stage_from(min(next, END - $(KEYS)u) + $(KEYS)u, listed, listed_end, high);
        listed = following.y;
        workgroupBarrier();
        #use only_if sh_over[turn] != 0u, rescale
        turn = 1u - turn;
        if lid == 0u {
            sh_over[turn] = 0u;
        }
#if !PLAIN
        if lid < KEYS {
            sh_seen[turn * KEYS + lid] = 0u;
        }
#endif
        // After the barrier, so that they need no registers during the exponentials.
        #use load v, next
        #use load k, following.x
        sum += part;
        divisor += kept;
        #use multiply_values
        #use multiply_keys
        begin = next;
        next = following.x;
    }

    // The sums of both halves of a row.
    workgroupBarrier();
    sh_s[half * $(ROWS)u + own] = sum;
    sh_s[(half + 2u) * $(ROWS)u + own] = divisor;
    workgroupBarrier();
    sum = sh_s[own] + sh_s[$(ROWS)u + own];
    divisor = sh_s[2u * $(ROWS)u + own] + sh_s[3u * $(ROWS)u + own];
    most = select(most, LOWEST, unset);
    var less = 1.0;
    if p.sinks != 0u {
        let sink = in_parts(vec2(per_head[p.per_head_base + p.alibi * p.heads + head], 0.0), LOG2_E, LOG2_E_REST);
        let larger = max(most, sink.x);
        less = exp2(most - larger);
        let more = exp2(sink.x - larger + sink.y);
        sum = fma(sum, less, more);
        divisor = fma(divisor, less, more);
        most = larger;
    }
    let factor_of_row = less * select(1.0 / divisor, 0.0, divisor == 0.0);
    let stored = row < rows;
    if stored && half == 0u {
        let parts = in_parts(two_sum(most, log2(sum)), LN_2, LN_2_REST);
        put_lse(place, parts.x, parts.y, sum == 0.0);
    }
    #use put_results o, dv, factor_of_row
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
