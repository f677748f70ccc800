// Attention of f16 over short elements, as attention/mod.wgsl computes it, on cooperative matrices: at most SHORT
// queries and keys of one head, whose scores are products alone.
//
// Workgroups are small, and memory allows only few of them on a multiprocessor, so waiting for loads would take most of
// the time. A workgroup therefore computes several heads, one after the other, and loads the next one's queries and
// keys while it computes one. A subgroup has 32 rows, and an invocation one of them, whose scores of all keys stay in
// registers. Scores and results pass through workgroup memory, because the values of a matrix have no known places in
// invocations.
//
// items: as in attention/mod.wgsl.

#params scale: f32
@group(0) @binding(1) var<storage, read_write> q: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> k: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> v: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> o: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;

// Queries, then values, by rows.
#if EIGHT
var<workgroup> sh_qv: array<f16, $(SHORT * PITCH)>;
#else
var<workgroup> sh_qv: array<vec4<f16>, $(SHORT * PITCH)>;
#endif
// Keys, then weights of 32 keys, by rows.
#if EIGHT
var<workgroup> sh_kp: array<f16, $(SHORT * PITCH)>;
#else
var<workgroup> sh_kp: array<vec4<f16>, $(SHORT * PITCH)>;
#endif
// For each subgroup, scores of 16 keys, or 16 columns of results.
var<workgroup> sh_s: array<f32, $(SHORT / 2 * STRIP)>;

const LOWEST = -3.0e38;

#include "grid"
#include "ends"
#include "log_sum_exp"
#include "log_sum_exp2"
#include "coop_strips"

struct Short {
    q_row: u32,
    queries: u32,
    k_row: u32,
    keys: u32,
    head: u32,
}

fn short_at(i: u32) -> Short {
    let unit = min(i, p.units - 1u);
    let at = 5u * items[p.tiles + 3u * (unit / p.heads)];
    return Short(items[at], items[at + 1u], items[at + 2u], items[at + 3u], unit % p.heads);
}

// Loads rows of x, eight values at a time. Rows beyond the last one repeat it, and so do units: a condition here would
// make the invocation wait for its loads. Repeated keys are masked, repeated values have weights of zero, and repeated
// rows and columns of results are not stored.
#block load x of first count width
#for i SLOTS
$(x)_$(i) = $(x)[p.$(x)_base / 8u +
    (($(of).$(first) + min(row$(i), $(of).$(count) - 1u)) * p.heads + $(of).head) * $(width) +
    min(unit$(i), $(width) - 1u)];
#endfor
#endblock

#block stage x to
#for i SLOTS
#use stage_eight $(to), row$(i) * $(PITCH)u + $(8 / PER)u * unit$(i), $(x)_$(i)
#endfor
#endblock

#block stage_products x to
#for i SLOTS
$(x)_$(i) = select(vec4<u32>(), $(x)_$(i), unit$(i) < d_units);
#endfor
#use stage $(x), $(to)
#endblock

#block load_next of
#use load q, $(of), q_row, queries, d_units
#use load k, $(of), k_row, keys, d_units
#endblock

// The scores of 32 rows and 16 keys, in units of ln 2.
#block multiply_keys block
#for i DOWN; n ACROSS
var s$(i)_$(n) = MC();
#endfor
#for step D / SIDE; n ACROSS
let m_k$(step)_$(n) = coopLoad<MB>(
    &sh_kp[$(16 * block * PITCH + n * SIDE * PITCH + SIDE * step / PER)u], $(PITCH)u);
#endfor
#for step D / SIDE; i DOWN; n ACROSS
s$(i)_$(n) = coopMultiplyAdd(m_q$(step)_$(i), m_k$(step)_$(n), s$(i)_$(n));
#endfor
#use store_strip s, 0
#endblock

fn compute_heads(group: u32, lid: u32, subgroup: u32) {
    let d_units = p.d / 8u;
    let v_units = p.dv / 8u;
    #use roles
    let row_of_share = share * 32u;
    let own = team * 32u + lid % 32u;
    let strip = share * $(16 * STRIP)u;
    let mine = team * $(16 * STRIP)u + lid % 32u;
    let column_in = 0u;
    // Not 0, so that a product that is masked has a score below all others; products as small as that change no weight.
    var factor = p.scale * LOG2_E;
    factor = select(factor, 1.0e-30, abs(factor) < 1.0e-30);
    let masked = select(LOWEST, -LOWEST, factor < 0.0) / max(abs(factor), 1.0);
    // The rows and units that an invocation stages.
#for i SLOTS
    let row$(i) = (lid + $(i * WG)u) / $(D / 8)u;
    let unit$(i) = (lid + $(i * WG)u) % $(D / 8)u;
    var q_$(i): vec4<u32>;
    var k_$(i): vec4<u32>;
    var v_$(i): vec4<u32>;
#endfor
    var at = group;
    var e = short_at(at);
    #use load_next e
    loop {
        if at >= p.units { break; }
        #use load v, e, k_row, keys, v_units
        at += p.groups;
        let next = short_at(at);
        #use stage_products q, sh_qv
        #use stage_products k, sh_kp
        workgroupBarrier();
#for step D / SIDE; i DOWN
        let m_q$(step)_$(i) = coopLoadT<MA>(
            &sh_qv[(row_of_share + $(SIDE * i)u) * $(PITCH)u + $(SIDE * step / PER)u], $(PITCH)u);
#endfor
        // The keys that this row attends to.
        let query = i32(min(own, e.queries - 1u));
        let offset = select(i32(e.keys) - i32(e.queries), 0, p.top_left != 0u);
        let first = vec4(query + offset - i32(p.left));
        let end = vec4(min(query + offset + i32(p.right) + 1, i32(e.keys)));
        var most = LOWEST;
#for block SHORT / 16
        {
            #use multiply_keys $(block)
        }
        workgroupBarrier();
#for quad 4
        var x$(4 * block + quad) = vec4(
#for l 4
            sh_s[mine + $(4 * quad * STRIP + l * STRIP)u],
#endfor
        );
        {
            let key = $(16 * block + 4 * quad) + vec4(0, 1, 2, 3);
            x$(4 * block + quad) = select(vec4(masked), x$(4 * block + quad), (key >= first) & (key < end));
            let x = factor * x$(4 * block + quad);
            most = max(most, max(max(x.x, x.y), max(x.z, x.w)));
        }
#endfor
        workgroupBarrier();
#endfor
        #use stage v, sh_qv
        #use load_next next
        let none = most <= 0.5 * masked * factor;
        most = select(most, 0.0, none);
        // The sums of weights, and of weights rounded as the products have them.
        var sum = 0.0;
        var divisor = 0.0;
#for j COLUMNS; i DOWN
        var o$(i)_$(j) = MC();
#endfor
#for half SHORT / 32
#if 0 < half
        workgroupBarrier();
#endif
#for quad 8
        {
            // Not of a rounded score, because gradients do not round it either.
            let x = exp2(fma(x$(8 * half + quad), vec4(factor), vec4(-most)));
            let w = vec4<f16>(x);
            #use stage_four sh_kp, (own * $(P_PITCH)u + $(4 * quad / PER)u), w
            let y = vec4<f32>(w);
            sum += (x.x + x.y) + (x.z + x.w);
            divisor += (y.x + y.y) + (y.z + y.w);
        }
#endfor
        workgroupBarrier();
#for step 32 / SIDE; i DOWN
        let m_p$(half)_$(step)_$(i) = coopLoadT<MA>(
            &sh_kp[(row_of_share + $(SIDE * i)u) * $(P_PITCH)u + $(SIDE * step / PER)u], $(P_PITCH)u);
#endfor
#for step 32 / SIDE; j COLUMNS
        let m_v$(half)_$(step)_$(j) = coopLoadT<MB>(
            &sh_qv[$(32 * half * PITCH + SIDE * step * PITCH + SIDE * j / PER)u], $(PITCH)u);
#endfor
#for step 32 / SIDE; i DOWN; j COLUMNS
        o$(i)_$(j) = coopMultiplyAdd(m_p$(half)_$(step)_$(i), m_v$(half)_$(step)_$(j), o$(i)_$(j));
#endfor
#endfor
        let factor_of_row = select(1.0 / divisor, 0.0, divisor == 0.0);
        let stored = own < e.queries;
        let place = (e.q_row + u32(query)) * p.heads + e.head;
        if stored {
            let parts = in_parts(two_sum(most, log2(sum)), LN_2, LN_2_REST);
            put_lse(place, parts.x, parts.y, sum == 0.0);
        }
        #use put_results o, dv, factor_of_row
        e = next;
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
    compute_heads(group, lid, subgroup);
}
