// The largest value of each pair's cross-correlation, and its index; the values of other lags are not stored.
//
// A workgroup evaluates one tile of lags of one pair and writes its best (value, index) to `partials`, which
// correlate_max/finish.wgsl combines. SBD: the operands have unit norm, and the value is minus the shape-based
// distance.

#params minus_infinity: f32
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> partials: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(7) var<storage, read> starts: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

#include "nan"
#include "pairs"
#include "taps"
#include "best"

var<workgroup> sh_best: array<Best, WG>;
var<workgroup> sh_winner: Best;

// The best of all invocations, returned to all of them.
fn best_of_workgroup(mine: Best, lid: u32) -> Best {
    sh_best[lid] = mine;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half {
            sh_best[lid] = better(sh_best[lid], sh_best[lid + half]);
        }
    }
    if lid == 0u {
        sh_winner = sh_best[0];
    }
    return workgroupUniformLoad(&sh_winner);
}

#if SBD
// 1 - c cancels where shapes are alike. Then the distance is computed from the residual: with unit norms, the minimum
// of ‖x - βy‖² over β is 1 - c², reached at β = c, and an error of β or of the norms enters only squared.
const ALIKE = 0.7;
// Lags whose correlations f32 cannot distinguish from the best are tried as well, up to this many.
const RIVALS = 32u;
const RIVALRY = 2e-6;

var<workgroup> sh_rivals: array<u32, RIVALS>;
var<workgroup> sh_rival_count: atomic<u32>;
var<workgroup> sh_rivals_seen: u32;
var<workgroup> sh_value: array<f32, RIVALS>;
var<workgroup> sh_sum: array<f32, WG>;

// Σ_i (a_i - β b_{i-lag})² over all i where either has a value.
fn residual(w: Meeting, q: u32, beta: f32, lid: u32) -> f32 {
    let a_len = select(w.m, w.n, w.swapped);
    let b_len = select(w.n, w.m, w.swapped);
    let lag = i32(q) - i32(b_len - 1u);
    let end = max(i32(a_len), i32(b_len) + lag);
    var block = 0.0;
    var all = 0.0;
    var turn = 0u;
    for (var i = min(0, lag) + i32(lid); i < end; i += i32(WG)) {
        var x = 0.0;
        var y = 0.0;
        if i >= 0 && i < i32(a_len) {
            x = a[w.a_at + u32(i)];
        }
        let j = i - lag;
        if j >= 0 && j < i32(b_len) {
            y = b[w.b_at + u32(j)];
        }
        let d = x - beta * y;
        block += d * d;
        turn += 1u;
        if turn % 16u == 0u {
            all += block;
            block = 0.0;
        }
    }
    sh_sum[lid] = all + block;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half {
            sh_sum[lid] += sh_sum[lid + half];
        }
    }
    return workgroupUniformLoad(&sh_sum[0]);
}

// Minus the distance at the winner, or at a rival if that is nearer.
fn refine(w: Meeting, winner: Best, q0: u32, values: array<E, R>, lid: u32) -> Best {
    if lid == 0u {
        atomicStore(&sh_rival_count, 0u);
    }
    workgroupBarrier();
    var v = values;
    let length = w.m + w.n - 1u;
    for (var r = 0u; r < R; r += 1u) {
        let q = q0 + R * lid + r;
        if q < length && v[r] >= winner.value - RIVALRY {
            let at = atomicAdd(&sh_rival_count, 1u);
            if at < RIVALS {
                sh_rivals[at] = q;
                sh_value[at] = v[r];
            }
        }
    }
    workgroupBarrier();
    if lid == 0u {
        sh_rivals_seen = atomicLoad(&sh_rival_count);
        if sh_rivals_seen > RIVALS {
            // Which rivals were recorded depends on timing; the winner does not.
            sh_rivals_seen = 1u;
            sh_rivals[0] = winner.index;
            sh_value[0] = winner.value;
        }
    }
    let rivals = workgroupUniformLoad(&sh_rivals_seen);
    var nearest = Best(p.minus_infinity, NOWHERE);
    for (var i = 0u; i < rivals; i += 1u) {
        let q = workgroupUniformLoad(&sh_rivals[i]);
        let sine2 = min(residual(w, q, sh_value[i], lid), 1.0);
        nearest = better(nearest, Best(-(sine2 / (1.0 + sqrt(1.0 - sine2))), q));
    }
    return nearest;
}
#endif

#main {
    var pair = group;
    var q0 = 0u;
    var slot = group;
    if p.listed != 0u {
        pair = items[2u * group];
        q0 = items[2u * group + 1u];
        slot = starts[pair] + q0 / TILE;
    }
    let w = meeting_of(pair);
    if w.n == 0u {
        if lid == 0u {
            partials[2u * slot] = bitcast<u32>(p.minus_infinity);
            partials[2u * slot + 1u] = NOWHERE;
        }
        return;
    }
    var values = convolve_tile(w, q0, lid);
    let length = w.m + w.n - 1u;
    var mine = Best(p.minus_infinity, NOWHERE);
    for (var r = 0u; r < R; r += 1u) {
        let q = q0 + R * lid + r;
        if q < length {
            mine = better(mine, Best(values[r], q));
        }
    }
    var winner = best_of_workgroup(mine, lid);
#if SBD
    if winner.value > ALIKE {
        winner = refine(w, winner, q0, values, lid);
    } else {
        winner.value -= 1.0;
    }
#endif
    if lid == 0u {
        partials[2u * slot] = bitcast<u32>(winner.value);
        partials[2u * slot + 1u] = winner.index;
    }
}
