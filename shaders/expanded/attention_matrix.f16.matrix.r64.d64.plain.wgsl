// attention_matrix.f16.matrix.r64.d64.plain
enable f16;
enable wgpu_cooperative_matrix;
alias E = u32;
const WG = 128u;
const SUBGROUPS = 4u;
const SIDE = 16u;
const D = 64u;
const PER = 4u;
const PITCH = 18u;
const P_PITCH = 10u;
const STRIP = 36u;
const DOWN = 2u;
const ACROSS = 1u;
const COLUMNS = 2u;
const STRIPS = 2u;
const ROWS = 64u;
const KEYS = 32u;
const GROUPS = 2u;
const SLOTS = 2u;
const ROUNDS = 1u;
const Q_SLOTS = 4u;
// Attention of f16, as attention.wgsl computes it, on cooperative matrices.
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
// items: as in attention.wgsl.

struct Params {
    first_group: u32,
    groups: u32,
    q_base: u32,
    k_base: u32,
    v_base: u32,
    bias_base: u32,
    per_head_base: u32,
    tiles: u32,
    units: u32,
    heads: u32,
    key_heads: u32,
    d: u32,
    dv: u32,
    scale: f32,
    softcap: u32,
    softcap_inverse: u32,
    left: u32,
    right: u32,
    top_left: u32,
    bias_heads: u32,
    alibi: u32,
    sinks: u32,
    blocks: u32,
    block_rows: u32,
    block_keys: u32,
    mask: u32,
    mask_row: u32,
    lists: u32,
    plain: u32,
    cached: u32,
    rest: u32,
    ones: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> q: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> k: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> v: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> o: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(7) var<storage, read_write> bias: array<u32>;
@group(0) @binding(8) var<storage, read_write> per_head: array<f32>;

// Keys, then values, of a stage, by rows; at the start, the queries.
var<workgroup> sh_kv: array<vec4<f16>, 1152>;
// Scores, or results: for each pair of subgroups and key, or column, 32 rows.
var<workgroup> sh_s: array<f32, 2304>;
// Weights, by rows.
var<workgroup> sh_p: array<vec4<f16>, 640>;
// For each half and row, its largest score rounded up, times two, plus one if its weights sum to more than LIMIT.
var<workgroup> sh_most: array<i32, 128>;
// Whether any row's weights do, in stages of even and of odd numbers. Padded, because drivers align a variable by its
// element, but load matrices only from multiples of 16 bytes.
var<workgroup> sh_over: array<u32, 4>;

// The largest sum of the weights of a row and half of a stage for which its reference is kept. f16 reaches 65504.
const LIMIT = 16384.0;

// The linear index of a workgroup in its dispatch.
//
// A dispatch with more workgroups than one dimension allows is folded into x and y, and a long one is split into
// several; p.first_group is the first workgroup of this part. Workgroups from p.groups on are idle.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}
// Values without a WGSL constant, made from an operand, because constant expressions must be finite.
fn infinity_like(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x7f800000u);
}

fn no_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) | 0x7fc00000u);
}

fn is_infinite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// x, hidden from the compiler by a mask with all bits set: Mesa's compiler rewrites sums of k c and k d as k (c + d),
// where the products must stay separate to be exact.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & p.ones);
}

// The magnitude of x with the sign of `sign`.
fn signed_as(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}
// x 2ⁿ for |n| up to 254.
fn scaled(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return opaque(x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

// x = n ln 2 + r, and p = e^r − 1 − r. The first part of ln 2 has so few bits that its products are exact, even where
// fma is two operations.
struct ExpParts {
    n: i32,
    r: f32,
    p: f32,
}

fn exp_parts(x: f32) -> ExpParts {
    let k = round(x * 1.44269504);
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    return ExpParts(i32(k), r, p * r * r);
}

// c eˣ. Multiplies by c before scaling by 2ⁿ, so that eˣ alone cannot underflow.
fn exp_times(c: f32, x: f32) -> f32 {
    let e = exp_parts(clamp(x, -150.0, 89.0));
    return scaled(c * (1.0 + (e.r + e.p)), e.n);
}

// eˣ for x ≤ 0; 0 below log 2⁻¹²⁶, or −87.33655.
fn exp_below(x: f32) -> f32 {
    // Rounds to an integer, which the lowest bits of t hold.
    let t = opaque(fma(x, 1.44269504, 12582912.0));
    let k = t - 12582912.0;
    let r = fma(k, 2.12194440e-4, opaque(fma(k, -0.693359375, x)));
    var p = 1.98756915e-4;
    p = fma(p, r, 1.39819995e-3);
    p = fma(p, r, 8.33345191e-3);
    p = fma(p, r, 4.16657959e-2);
    p = fma(p, r, 0.166666655);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    let e = fma(p, r, 1.0) * bitcast<f32>((bitcast<u32>(t) << 23u) + 0x3f800000u);
    // Compares bits, and keeps NaN.
    return select(e, 0.0, bitcast<u32>(x) - 0xc2aeac51u <= 0xff800000u - 0xc2aeac51u);
}

// 2ʳ for |r| ≤ ½.
fn exp2_near(r: f32) -> f32 {
    var p = 1.53533619e-4;
    p = fma(p, r, 1.33988744e-3);
    p = fma(p, r, 9.61843736e-3);
    p = fma(p, r, 5.55033247e-2);
    p = fma(p, r, 0.240226479);
    p = fma(p, r, 0.693147203);
    return fma(p, r, 1.0);
}

fn exp2_of(x: f32) -> f32 {
    let size = clamp(x, -151.0, 129.0);
    let k = round(size);
    return scaled(exp2_near(size - k), i32(k));
}

fn expm1_of(x: f32) -> f32 {
    let e = exp_parts(clamp(x, -18.0, 89.0));
    // Half of 2ⁿ, because 2¹²⁸ is infinite.
    let half = bitcast<f32>(u32(e.n + 126) << 23u);
    return select(2.0 * fma(half, e.r + e.p, half - 0.5), x, abs(x) < 2.0e-8);
}
// Value i, from the word that contains it.
fn half_of(word: u32, i: u32) -> f32 {
    return unpack2x16float(word >> (16u * (i % 2u))).x;
}
// The log-sum-exp of a row in two parts, from which gradients subtract without the rounding of one number: what
// attention returns, and what its rounding has left, p.rest places later.
//
// Uses: `lse`, the parameter `rest`, and "ends".

// a + b, rounded, and the error of that.
fn two_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = opaque(a + b);
    let part = opaque(sum - a);
    return vec2(sum, opaque(a - opaque(sum - part)) + opaque(b - part));
}

// Stores a + b, or −∞ for a row without keys.
fn put_lse(at: u32, a: f32, b: f32, is_empty: bool) {
    let parts = two_sum(a, b);
    lse[at] = select(bitcast<u32>(parts.x), 0xff800000u, is_empty);
    lse[at + p.rest] = select(bitcast<u32>(parts.y), 0u, is_empty);
}
// Logarithms in units of ln 2 and in units of 1, in two parts each.
//
// Uses: "ends".

const LOG2_E = 1.44269504;
const LN_2 = 0.693147181;
// What rounding these to f32 has left.
const LOG2_E_REST = 1.92596299e-8;
const LN_2_REST = -1.90465430e-9;

// x times a factor and its rest, in two parts.
fn in_parts(x: vec2<f32>, factor: f32, rest: f32) -> vec2<f32> {
    let high = opaque(x.x * factor);
    return vec2(high, fma(x.x, factor, -high) + fma(x.x, rest, x.y * factor));
}

fn bias_at(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

// Scores of attention from products of queries and keys.
//
// Uses: the parameters of attention, `items`, `bias_at`, and "exp". A score of LOWEST is that of a masked key.

const LOWEST = -3.0e38;
const LOWEST_BITS = 0xff61b1e6u;

// An element, as the list of items has it, and its first head.
struct Element {
    q_row: u32,
    queries: u32,
    k_row: u32,
    keys: u32,
    bias: u32,
    // The position of query 0 among the keys.
    offset: i32,
}

fn element_at(i: u32) -> Element {
    let at = 5u * i;
    let queries = items[at + 1u];
    let keys = items[at + 3u];
    let offset = select(i32(keys) - i32(queries), 0, p.top_left != 0u);
    return Element(items[at], queries, items[at + 2u], keys, items[at + 4u], offset);
}

fn tanh_of(x: f32) -> f32 {
    let t = exp_below(-2.0 * abs(x));
    return signed_as((1.0 - t) / (1.0 + t), x);
}

// Whether the mask's blocks admit a key for a query.
fn has_block(query: u32, key: u32) -> bool {
    let column = key / p.block_keys;
    let word = items[p.mask + (query / p.block_rows) * p.mask_row + column / 32u];
    return ((word >> (column % 32u)) & 1u) != 0u;
}

// The score of a query and a key from their product, and its derivative. `slope` is that of ALiBi.
fn score(product: f32, query: u32, key: u32, head: u32, slope: f32, e: Element) -> vec2<f32> {
    var s = product * p.scale;
    var derivative = p.scale;
    let cap = bitcast<f32>(p.softcap);
    if cap > 0.0 {
        let t = tanh_of(s * bitcast<f32>(p.softcap_inverse));
        s = cap * t;
        derivative *= fma(-t, t, 1.0);
    }
    let at = i32(query) + e.offset;
    let distance = i32(key) - at;
    // Keys beyond the last one read the last one's entries.
    let near = min(key, e.keys - 1u);
    var seen = key < e.keys && distance >= -i32(p.left) && distance <= i32(p.right);
    if p.bias_heads > 0u {
        let matrix = select(0u, head * e.queries, p.bias_heads > 1u);
        let more = bias_at(p.bias_base + e.bias + (matrix + query) * e.keys + near);
        s += more;
        // −∞ excludes the key, whatever the product is.
        seen = seen && bitcast<u32>(more) != 0xff800000u;
    }
    if p.alibi != 0u {
        s = fma(-slope, f32(abs(distance)), s);
    }
    if p.blocks != 0u {
        seen = seen && has_block(query, near);
    }
    return select(vec2(LOWEST, 0.0), vec2(s, derivative), seen);
}

// The scores of a query and four keys from `key` on, without cap, bias, ALiBi and blocks.
fn plain_scores(products: vec4<f32>, query: u32, key: u32, e: Element) -> vec4<f32> {
    let keys = vec4(key) + vec4(0u, 1u, 2u, 3u);
    let distance = vec4<i32>(keys) - vec4(i32(query) + e.offset);
    let seen = (keys < vec4(e.keys)) & (distance >= vec4(-i32(p.left))) & (distance <= vec4(i32(p.right)));
    return select(vec4(LOWEST), products * p.scale, seen);
}
// Results in cooperative matrices, whose values have no known places: they pass through workgroup memory.
//
// Uses: the parameters of attention; the numbers of src/ops/attention/matrix.rs; `o0_0` and so on, matrices for each of
// DOWN rows and ACROSS * STRIPS columns, of which an invocation's first column is `column_in`; and `sh_s`, in which a
// subgroup's strip of 16 columns begins at `strip`, and an invocation's values at `mine`.

alias MA = coop_mat16x16<f16, A>;
alias MB = coop_mat16x16<f16, B>;
alias MC = coop_mat16x16<f32, C>;

fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

// `share`: which matrices a subgroup computes. `team`: which 32 rows an invocation has one of.

// Stages eight halves from `at` on, or four. Metal cannot load matrices from vectors.

// Stores matrices whose names begin with `name` to the strips.

// Moves 16 columns of results to the strips, in which an invocation has one row.

// Stores the row's results, times a factor, at `place` of an array of rows.
// Stages of attention on cooperative matrices, of KEYS columns each.
//
// Uses: the parameters and bindings of attention, and "coop_strips".

// After the last stage.
const END = 0x7fffffffu;

// The first stage from `begin` on that the mask admits, and the place after it in the list of stages.
fn stage_from(begin: u32, listed: u32, listed_end: u32, high: i32) -> vec2<u32> {
    var at = vec2(begin, listed);
    if i32(at.x) >= high {
        at.x = END;
    }
    return at;
}

// Multiplies the row's results by `scale`.

// Loads a stage's rows of keys, or of values, eight values at a time. Rows beyond the last key repeat it, and units
// beyond the last one repeat that: a condition here would make the invocation wait for its loads. An element without
// keys loads the first unit of the batch, which is always bound.

// Values of keys beyond the last one count with weights of zero, so they must be finite. Columns beyond the last one
// are not stored.

// The scores of 32 rows and of one half of the staged keys.

// The weights of this invocation's row and half, from the scores in workgroup memory. Those of masked keys are zero.

// Gives rows whose weights sum to more than LIMIT a new reference, and scales what they have summed.

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
    let share = subgroup;
    let team = subgroup;
    let half = team % 2u;
    let own = team / 2u * 32u + lid % 32u;
    let row = top + own;
    let near = min(row, rows - 1u);
    let query = near / shared_by;
    let head = key_head * shared_by + near % shared_by;
    let place = (e.q_row + query) * p.heads + head;
    // Where this subgroup's rows, scores, keys and columns begin.
    let row_of_share = share / 2u * 32u;
    let strip = share * 576u;
    let key_of_share = share % 2u * 16u;
    let column_of_share = share % 2u * 32u;
    // Where this invocation's keys, columns, scores and weights begin.
    let key_in = half * 16u;
    let column_in = half * 32u;
    let mine = team * 576u + lid % 32u;
    let weights = own * 10u + half * 4u;
    // The keys that this row attends to, that any row does, and that all rows do.
    let before = i32(query) + e.offset - i32(p.left);
    let after = i32(query) + e.offset + i32(p.right) + 1;
    let first_query = i32(top / shared_by);
    let last_query = i32((min(top + 64u, rows) - 1u) / shared_by);
    let low = clamp(first_query + e.offset - i32(p.left), 0, i32(keys));
    let high = clamp(last_query + e.offset + i32(p.right) + 1, 0, i32(keys));
    let all_low = last_query + e.offset - i32(p.left);
    let all_high = min(first_query + e.offset + i32(p.right) + 1, i32(keys));

    // The rows and units that an invocation stages.
    let row0 = (lid + 0u) / 8u;
    let unit0 = (lid + 0u) % 8u;
    var k0_0 = vec4<u32>();
    var v0_0 = vec4<u32>();
    let row1 = (lid + 128u) / 8u;
    let unit1 = (lid + 128u) % 8u;
    var k0_1 = vec4<u32>();
    var v0_1 = vec4<u32>();
    // The current stage's first key, the next one's, and the one's after that.
    var listed = 0u;
    var listed_end = 0u;
    let stage0 = stage_from(u32(low) / 32u * 32u, listed, listed_end, high);
    let stage1 = stage_from(min(stage0.x, END - 32u) + 32u, stage0.y, listed_end, high);
    var begin = stage0.x;
    var next = stage1.x;
    listed = stage1.y;
    k0_0 = k[k_from + min(begin + row0, last_key) * k_pitch + min(unit0, k_last)];
    k0_1 = k[k_from + min(begin + row1, last_key) * k_pitch + min(unit1, k_last)];
    v0_0 = v[v_from + min(begin + row0, last_key) * v_pitch + min(unit0, v_last)];
    v0_1 = v[v_from + min(begin + row1, last_key) * v_pitch + min(unit1, v_last)];
    // The queries, 64 rows at a time in the memory of keys and values. Rows beyond the last one repeat it.
    var m_q0_0 = MA();
    var m_q0_1 = MA();
    var m_q1_0 = MA();
    var m_q1_1 = MA();
    var m_q2_0 = MA();
    var m_q2_1 = MA();
    var m_q3_0 = MA();
    var m_q3_1 = MA();
    {
        let r = (lid + 0u) / 8u;
        let unit = (lid + 0u) % 8u;
        let near = min(top + 0u + r, rows - 1u);
        let place = (e.q_row + near / shared_by) * p.heads + key_head * shared_by + near % shared_by;
        var words = q[p.q_base / 8u + place * d_units + min(unit, d_units - 1u)];
        words = select(vec4<u32>(), words, unit < d_units);
        sh_kv[r * 18u + 2u * unit] = halves(words.xy);
        sh_kv[r * 18u + 2u * unit + 1u] = halves(words.zw);
    }
    {
        let r = (lid + 128u) / 8u;
        let unit = (lid + 128u) % 8u;
        let near = min(top + 0u + r, rows - 1u);
        let place = (e.q_row + near / shared_by) * p.heads + key_head * shared_by + near % shared_by;
        var words = q[p.q_base / 8u + place * d_units + min(unit, d_units - 1u)];
        words = select(vec4<u32>(), words, unit < d_units);
        sh_kv[r * 18u + 2u * unit] = halves(words.xy);
        sh_kv[r * 18u + 2u * unit + 1u] = halves(words.zw);
    }
    {
        let r = (lid + 256u) / 8u;
        let unit = (lid + 256u) % 8u;
        let near = min(top + 0u + r, rows - 1u);
        let place = (e.q_row + near / shared_by) * p.heads + key_head * shared_by + near % shared_by;
        var words = q[p.q_base / 8u + place * d_units + min(unit, d_units - 1u)];
        words = select(vec4<u32>(), words, unit < d_units);
        sh_kv[r * 18u + 2u * unit] = halves(words.xy);
        sh_kv[r * 18u + 2u * unit + 1u] = halves(words.zw);
    }
    {
        let r = (lid + 384u) / 8u;
        let unit = (lid + 384u) % 8u;
        let near = min(top + 0u + r, rows - 1u);
        let place = (e.q_row + near / shared_by) * p.heads + key_head * shared_by + near % shared_by;
        var words = q[p.q_base / 8u + place * d_units + min(unit, d_units - 1u)];
        words = select(vec4<u32>(), words, unit < d_units);
        sh_kv[r * 18u + 2u * unit] = halves(words.xy);
        sh_kv[r * 18u + 2u * unit + 1u] = halves(words.zw);
    }
    workgroupBarrier();
    m_q0_0 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 0u - 0u) * 18u + 0u], 18u);
    m_q0_1 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 16u - 0u) * 18u + 0u], 18u);
    m_q1_0 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 0u - 0u) * 18u + 4u], 18u);
    m_q1_1 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 16u - 0u) * 18u + 4u], 18u);
    m_q2_0 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 0u - 0u) * 18u + 8u], 18u);
    m_q2_1 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 16u - 0u) * 18u + 8u], 18u);
    m_q3_0 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 0u - 0u) * 18u + 12u], 18u);
    m_q3_1 = coopLoadT<MA>(
        &sh_kv[(row_of_share + 16u - 0u) * 18u + 12u], 18u);
    workgroupBarrier();
    k0_0 = select(vec4<u32>(), k0_0, unit0 < d_units);
    sh_kv[0u + row0 * 18u + 2u * unit0] = halves(k0_0.xy);
    sh_kv[0u + row0 * 18u + 2u * unit0 + 1u] = halves(k0_0.zw);
    k0_1 = select(vec4<u32>(), k0_1, unit1 < d_units);
    sh_kv[0u + row1 * 18u + 2u * unit1] = halves(k0_1.xy);
    sh_kv[0u + row1 * 18u + 2u * unit1 + 1u] = halves(k0_1.zw);
    if lid < 2u {
        sh_over[lid] = 0u;
    }
    k0_0 = k[k_from + min(next + row0, last_key) * k_pitch + min(unit0, k_last)];
    k0_1 = k[k_from + min(next + row1, last_key) * k_pitch + min(unit1, k_last)];
    workgroupBarrier();
    var o0_0 = MC();
    var o0_1 = MC();
    var o1_0 = MC();
    var o1_1 = MC();
    {
        var s0_0 = MC();
        var s1_0 = MC();
        let m_k0_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 0u], 18u);
        let m_k1_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 4u], 18u);
        let m_k2_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 8u], 18u);
        let m_k3_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 12u], 18u);
        s0_0 = coopMultiplyAdd(m_q0_0, m_k0_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q0_1, m_k0_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q1_0, m_k1_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q1_1, m_k1_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q2_0, m_k2_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q2_1, m_k2_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q3_0, m_k3_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q3_1, m_k3_0, s1_0);
        {
            let x = s0_0;
            let to = &sh_s[strip + 0u];
            let stride = 36u;
            coopStore(x, to, stride);
        }
        {
            let x = s1_0;
            let to = &sh_s[strip + 16u];
            let stride = 36u;
            coopStore(x, to, stride);
        }
    }
    var most = 0.0;
    // The sums of weights, and of weights rounded as the products have them.
    var sum = 0.0;
    var divisor = 0.0;
    var unset = true;
    var turn = 0u;
    let factor = p.scale * LOG2_E;
    loop {
        if begin == END { break; }
        workgroupBarrier();
        // Which of this invocation's keys its row attends to.
        let first = before - i32(begin + key_in);
        let end = min(after, i32(keys)) - i32(begin + key_in);
        var whole = i32(begin) >= all_low && i32(begin) + 32 <= all_high;
        var part: f32;
        var kept: f32;
        part = 0.0;
        kept = 0.0;
        {
            var x = vec4(
                sh_s[mine + 0u],
                sh_s[mine + 36u],
                sh_s[mine + 72u],
                sh_s[mine + 108u],
            );
            x = exp2(fma(x, vec4(factor), vec4(-most)));
            if !whole {
                let at = vec4<i32>(0, 1, 2, 3);
                x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
            }
            let w = vec4<f16>(x);
            sh_p[(weights + 0u)] = w;
            let y = vec4<f32>(w);
            part += (x.x + x.y) + (x.z + x.w);
            kept += (y.x + y.y) + (y.z + y.w);
        }
        {
            var x = vec4(
                sh_s[mine + 144u],
                sh_s[mine + 180u],
                sh_s[mine + 216u],
                sh_s[mine + 252u],
            );
            x = exp2(fma(x, vec4(factor), vec4(-most)));
            if !whole {
                let at = vec4<i32>(4, 5, 6, 7);
                x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
            }
            let w = vec4<f16>(x);
            sh_p[(weights + 1u)] = w;
            let y = vec4<f32>(w);
            part += (x.x + x.y) + (x.z + x.w);
            kept += (y.x + y.y) + (y.z + y.w);
        }
        {
            var x = vec4(
                sh_s[mine + 288u],
                sh_s[mine + 324u],
                sh_s[mine + 360u],
                sh_s[mine + 396u],
            );
            x = exp2(fma(x, vec4(factor), vec4(-most)));
            if !whole {
                let at = vec4<i32>(8, 9, 10, 11);
                x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
            }
            let w = vec4<f16>(x);
            sh_p[(weights + 2u)] = w;
            let y = vec4<f32>(w);
            part += (x.x + x.y) + (x.z + x.w);
            kept += (y.x + y.y) + (y.z + y.w);
        }
        {
            var x = vec4(
                sh_s[mine + 432u],
                sh_s[mine + 468u],
                sh_s[mine + 504u],
                sh_s[mine + 540u],
            );
            x = exp2(fma(x, vec4(factor), vec4(-most)));
            if !whole {
                let at = vec4<i32>(12, 13, 14, 15);
                x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
            }
            let w = vec4<f16>(x);
            sh_p[(weights + 3u)] = w;
            let y = vec4<f32>(w);
            part += (x.x + x.y) + (x.z + x.w);
            kept += (y.x + y.y) + (y.z + y.w);
        }
        if !(part <= LIMIT) || unset && first < 16 && end > 0 {
            sh_over[turn] = 1u;
        }
        v0_0 = select(vec4<u32>(), v0_0, begin + row0 < keys);
        sh_kv[576u + row0 * 18u + 2u * unit0] = halves(v0_0.xy);
        sh_kv[576u + row0 * 18u + 2u * unit0 + 1u] = halves(v0_0.zw);
        v0_1 = select(vec4<u32>(), v0_1, begin + row1 < keys);
        sh_kv[576u + row1 * 18u + 2u * unit1] = halves(v0_1.xy);
        sh_kv[576u + row1 * 18u + 2u * unit1 + 1u] = halves(v0_1.zw);
        k0_0 = select(vec4<u32>(), k0_0, unit0 < d_units);
        sh_kv[0u + row0 * 18u + 2u * unit0] = halves(k0_0.xy);
        sh_kv[0u + row0 * 18u + 2u * unit0 + 1u] = halves(k0_0.zw);
        k0_1 = select(vec4<u32>(), k0_1, unit1 < d_units);
        sh_kv[0u + row1 * 18u + 2u * unit1] = halves(k0_1.xy);
        sh_kv[0u + row1 * 18u + 2u * unit1 + 1u] = halves(k0_1.zw);
        let following = stage_from(min(next, END - 32u) + 32u, listed, listed_end, high);
        listed = following.y;
        workgroupBarrier();
        loop {
            if !(sh_over[turn] != 0u) { break; }
            var largest = LOWEST;
            for (var i = max(first, 0); i < min(end, 16); i += 1) {
                largest = max(largest, sh_s[mine + u32(i) * 36u] * factor);
            }
            let over = u32(!(part <= LIMIT) || unset);
            let rounded = select(-0x10000000, i32(ceil(clamp(largest, -1.0e8, 1.0e8))), largest > 0.5 * LOWEST);
            sh_most[half * 64u + own] = 2 * rounded + i32(over);
            workgroupBarrier();
            let other = sh_most[(1u - half) * 64u + own];
            let both = max(rounded, other >> 1u);
            var scale = 1.0;
            if (over | (u32(other) & 1u)) != 0u && both > -0x10000000 {
                scale = select(exp2(most - f32(both)), 0.0, unset);
                most = f32(both);
                unset = false;
            }
            sum *= scale;
            divisor *= scale;
            part = 0.0;
            kept = 0.0;
            {
                var x = vec4(
                    sh_s[mine + 0u],
                    sh_s[mine + 36u],
                    sh_s[mine + 72u],
                    sh_s[mine + 108u],
                );
                x = exp2(fma(x, vec4(factor), vec4(-most)));
                if !whole {
                    let at = vec4<i32>(0, 1, 2, 3);
                    x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
                }
                let w = vec4<f16>(x);
                sh_p[(weights + 0u)] = w;
                let y = vec4<f32>(w);
                part += (x.x + x.y) + (x.z + x.w);
                kept += (y.x + y.y) + (y.z + y.w);
            }
            {
                var x = vec4(
                    sh_s[mine + 144u],
                    sh_s[mine + 180u],
                    sh_s[mine + 216u],
                    sh_s[mine + 252u],
                );
                x = exp2(fma(x, vec4(factor), vec4(-most)));
                if !whole {
                    let at = vec4<i32>(4, 5, 6, 7);
                    x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
                }
                let w = vec4<f16>(x);
                sh_p[(weights + 1u)] = w;
                let y = vec4<f32>(w);
                part += (x.x + x.y) + (x.z + x.w);
                kept += (y.x + y.y) + (y.z + y.w);
            }
            {
                var x = vec4(
                    sh_s[mine + 288u],
                    sh_s[mine + 324u],
                    sh_s[mine + 360u],
                    sh_s[mine + 396u],
                );
                x = exp2(fma(x, vec4(factor), vec4(-most)));
                if !whole {
                    let at = vec4<i32>(8, 9, 10, 11);
                    x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
                }
                let w = vec4<f16>(x);
                sh_p[(weights + 2u)] = w;
                let y = vec4<f32>(w);
                part += (x.x + x.y) + (x.z + x.w);
                kept += (y.x + y.y) + (y.z + y.w);
            }
            {
                var x = vec4(
                    sh_s[mine + 432u],
                    sh_s[mine + 468u],
                    sh_s[mine + 504u],
                    sh_s[mine + 540u],
                );
                x = exp2(fma(x, vec4(factor), vec4(-most)));
                if !whole {
                    let at = vec4<i32>(12, 13, 14, 15);
                    x = select(vec4<f32>(), x, (at >= vec4(first)) & (at < vec4(end)));
                }
                let w = vec4<f16>(x);
                sh_p[(weights + 3u)] = w;
                let y = vec4<f32>(w);
                part += (x.x + x.y) + (x.z + x.w);
                kept += (y.x + y.y) + (y.z + y.w);
            }
            workgroupBarrier();
            {
                let x = o0_0;
                let to = &sh_s[strip + 0u];
                let stride = 36u;
                coopStore(x, to, stride);
            }
            {
                let x = o1_0;
                let to = &sh_s[strip + 16u];
                let stride = 36u;
                coopStore(x, to, stride);
            }
            workgroupBarrier();
            for (var i = 0u; i < 16u; i += 1u) {
                sh_s[mine + i * 36u] *= scale;
            }
            workgroupBarrier();
            o0_0 = coopLoad<MC>(&sh_s[strip + 0u], 36u);
            o1_0 = coopLoad<MC>(&sh_s[strip + 16u], 36u);
            workgroupBarrier();
            {
                let x = o0_1;
                let to = &sh_s[strip + 0u];
                let stride = 36u;
                coopStore(x, to, stride);
            }
            {
                let x = o1_1;
                let to = &sh_s[strip + 16u];
                let stride = 36u;
                coopStore(x, to, stride);
            }
            workgroupBarrier();
            for (var i = 0u; i < 16u; i += 1u) {
                sh_s[mine + i * 36u] *= scale;
            }
            workgroupBarrier();
            o0_1 = coopLoad<MC>(&sh_s[strip + 0u], 36u);
            o1_1 = coopLoad<MC>(&sh_s[strip + 16u], 36u);
            workgroupBarrier();
            break;
        }
        turn = 1u - turn;
        if lid == 0u {
            sh_over[turn] = 0u;
        }
        // After the barrier, so that they need no registers during the exponentials.
        v0_0 = v[v_from + min(next + row0, last_key) * v_pitch + min(unit0, v_last)];
        v0_1 = v[v_from + min(next + row1, last_key) * v_pitch + min(unit1, v_last)];
        k0_0 = k[k_from + min(following.x + row0, last_key) * k_pitch + min(unit0, k_last)];
        k0_1 = k[k_from + min(following.x + row1, last_key) * k_pitch + min(unit1, k_last)];
        sum += part;
        divisor += kept;
        let m_p0_0 = coopLoadT<MA>(
            &sh_p[(row_of_share + 0u) * 10u + 0u], 10u);
        let m_p0_1 = coopLoadT<MA>(
            &sh_p[(row_of_share + 16u) * 10u + 0u], 10u);
        let m_p1_0 = coopLoadT<MA>(
            &sh_p[(row_of_share + 0u) * 10u + 4u], 10u);
        let m_p1_1 = coopLoadT<MA>(
            &sh_p[(row_of_share + 16u) * 10u + 4u], 10u);
        let m_v0_0 = coopLoadT<MB>(
            &sh_kv[576u + column_of_share / 4u + 0u], 18u);
        let m_v0_1 = coopLoadT<MB>(
            &sh_kv[576u + column_of_share / 4u + 4u], 18u);
        let m_v1_0 = coopLoadT<MB>(
            &sh_kv[864u + column_of_share / 4u + 0u], 18u);
        let m_v1_1 = coopLoadT<MB>(
            &sh_kv[864u + column_of_share / 4u + 4u], 18u);
        o0_0 = coopMultiplyAdd(m_p0_0, m_v0_0, o0_0);
        o0_1 = coopMultiplyAdd(m_p0_0, m_v0_1, o0_1);
        o1_0 = coopMultiplyAdd(m_p0_1, m_v0_0, o1_0);
        o1_1 = coopMultiplyAdd(m_p0_1, m_v0_1, o1_1);
        o0_0 = coopMultiplyAdd(m_p1_0, m_v1_0, o0_0);
        o0_1 = coopMultiplyAdd(m_p1_0, m_v1_1, o0_1);
        o1_0 = coopMultiplyAdd(m_p1_1, m_v1_0, o1_0);
        o1_1 = coopMultiplyAdd(m_p1_1, m_v1_1, o1_1);
        var s0_0 = MC();
        var s1_0 = MC();
        let m_k0_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 0u], 18u);
        let m_k1_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 4u], 18u);
        let m_k2_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 8u], 18u);
        let m_k3_0 = coopLoad<MB>(
            &sh_kv[(key_of_share + 0u) * 18u + 12u], 18u);
        s0_0 = coopMultiplyAdd(m_q0_0, m_k0_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q0_1, m_k0_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q1_0, m_k1_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q1_1, m_k1_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q2_0, m_k2_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q2_1, m_k2_0, s1_0);
        s0_0 = coopMultiplyAdd(m_q3_0, m_k3_0, s0_0);
        s1_0 = coopMultiplyAdd(m_q3_1, m_k3_0, s1_0);
        {
            let x = s0_0;
            let to = &sh_s[strip + 0u];
            let stride = 36u;
            coopStore(x, to, stride);
        }
        {
            let x = s1_0;
            let to = &sh_s[strip + 16u];
            let stride = 36u;
            coopStore(x, to, stride);
        }
        begin = next;
        next = following.x;
    }

    // The sums of both halves of a row.
    workgroupBarrier();
    sh_s[half * 64u + own] = sum;
    sh_s[(half + 2u) * 64u + own] = divisor;
    workgroupBarrier();
    sum = sh_s[own] + sh_s[64u + own];
    divisor = sh_s[2u * 64u + own] + sh_s[3u * 64u + own];
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
    workgroupBarrier();
    {
        let x = o0_0;
        let to = &sh_s[strip + 0u];
        let stride = 36u;
        coopStore(x, to, stride);
    }
    {
        let x = o1_0;
        let to = &sh_s[strip + 16u];
        let stride = 36u;
        coopStore(x, to, stride);
    }
    workgroupBarrier();
    {
        let column = column_in + 0u;
        if stored && column < p.dv {
            var words = vec4<u32>();
            words.x = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 0u],
                sh_s[mine + 36u]));
            words.y = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 72u],
                sh_s[mine + 108u]));
            words.z = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 144u],
                sh_s[mine + 180u]));
            words.w = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 216u],
                sh_s[mine + 252u]));
            o[(place * p.dv + column) / 8u] = words;
        }
    }
    {
        let column = column_in + 8u;
        if stored && column < p.dv {
            var words = vec4<u32>();
            words.x = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 288u],
                sh_s[mine + 324u]));
            words.y = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 360u],
                sh_s[mine + 396u]));
            words.z = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 432u],
                sh_s[mine + 468u]));
            words.w = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 504u],
                sh_s[mine + 540u]));
            o[(place * p.dv + column) / 8u] = words;
        }
    }
    workgroupBarrier();
    {
        let x = o0_1;
        let to = &sh_s[strip + 0u];
        let stride = 36u;
        coopStore(x, to, stride);
    }
    {
        let x = o1_1;
        let to = &sh_s[strip + 16u];
        let stride = 36u;
        coopStore(x, to, stride);
    }
    workgroupBarrier();
    {
        let column = column_in + 16u;
        if stored && column < p.dv {
            var words = vec4<u32>();
            words.x = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 0u],
                sh_s[mine + 36u]));
            words.y = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 72u],
                sh_s[mine + 108u]));
            words.z = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 144u],
                sh_s[mine + 180u]));
            words.w = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 216u],
                sh_s[mine + 252u]));
            o[(place * p.dv + column) / 8u] = words;
        }
    }
    {
        let column = column_in + 24u;
        if stored && column < p.dv {
            var words = vec4<u32>();
            words.x = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 288u],
                sh_s[mine + 324u]));
            words.y = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 360u],
                sh_s[mine + 396u]));
            words.z = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 432u],
                sh_s[mine + 468u]));
            words.w = pack2x16float(factor_of_row * vec2(
                sh_s[mine + 504u],
                sh_s[mine + 540u]));
            o[(place * p.dv + column) / 8u] = words;
        }
    }
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
