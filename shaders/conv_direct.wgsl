// c_q = Σ_j x_{q-j} y_j for every listed pair, computed directly. x and y are the two operands in either order, and one
// of them may be read backwards, which gives a correlation.
//
// An invocation computes a strip: R consecutive results of one pair. It iterates over the taps y_j, while the values of
// x that they are multiplied with slide through thirteen registers; both come from the core's cache. The strips of a
// workgroup are adjacent in workgroup memory, so that neighbouring invocations write to neighbouring addresses.
//
// A mode keeps only some of the results: as many as c has room for, from the mode's first one on. The units of `items`
// are strips.
//
// Sums are blocked by 252 taps: a depth of 252 + ⌈n / 252⌉ for n taps.
//
// The entries of `items` begin at p.entries. p.swapped: x is the right operand.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<E>;
@group(0) @binding(4) var<storage, read> y_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

const CHUNK = 252u; // 36 * R

var<workgroup> sh_values: array<E, WG * R>;
// The offset of each strip's results in c.
var<workgroup> sh_at: array<u32, WG>;
var<workgroup> sh_count: array<u32, WG>;

#include "pairs"
#include "entries"
#include "modes"

struct Operands {
    x_at: u32,
    y_at: u32,
    m: u32,
    n: u32,
}

fn x_value(o: Operands, k: u32) -> E {
    // As an unsigned number, an index before the first value is beyond the last.
    if k >= o.m {
        return E(0);
    }
    return x[o.x_at + select(k, o.m - 1u - k, p.x_backwards != 0u)];
}

fn y_value(o: Operands, j: u32) -> E {
    return y[o.y_at + select(j, o.n - 1u - j, p.y_backwards != 0u)];
}

// Computes results q0 ... q0 + count - 1 into the workgroup's strip lid.
fn make_strip(o: Operands, q0: u32, count: u32, lid: u32) {
    var c0 = E(0);
    var c1 = E(0);
    var c2 = E(0);
    var c3 = E(0);
    var c4 = E(0);
    var c5 = E(0);
    var c6 = E(0);
    var j = select(0u, q0 + 1u - o.m, q0 + 1u > o.m);
    let end = min(o.n, q0 + count);
    var all0 = E(0);
    var all1 = E(0);
    var all2 = E(0);
    var all3 = E(0);
    var all4 = E(0);
    var all5 = E(0);
    var all6 = E(0);
    var chunk = 0u;
    let top = q0 + R - 1u;
    // v_i is x at top - j - i.
    var v0 = x_value(o, top - j);
    var v1 = x_value(o, top - j - 1u);
    var v2 = x_value(o, top - j - 2u);
    var v3 = x_value(o, top - j - 3u);
    var v4 = x_value(o, top - j - 4u);
    var v5 = x_value(o, top - j - 5u);
    for (; j + R <= end; j += R) {
        let at = q0 - j;
        let v6 = x_value(o, at);
        let v7 = x_value(o, at - 1u);
        let v8 = x_value(o, at - 2u);
        let v9 = x_value(o, at - 3u);
        let v10 = x_value(o, at - 4u);
        let v11 = x_value(o, at - 5u);
        let v12 = x_value(o, at - 6u);
        let t0 = y_value(o, j);
        let t1 = y_value(o, j + 1u);
        let t2 = y_value(o, j + 2u);
        let t3 = y_value(o, j + 3u);
        let t4 = y_value(o, j + 4u);
        let t5 = y_value(o, j + 5u);
        let t6 = y_value(o, j + 6u);
        c0 += v6 * t0; c1 += v5 * t0; c2 += v4 * t0; c3 += v3 * t0; c4 += v2 * t0; c5 += v1 * t0; c6 += v0 * t0;
        c0 += v7 * t1; c1 += v6 * t1; c2 += v5 * t1; c3 += v4 * t1; c4 += v3 * t1; c5 += v2 * t1; c6 += v1 * t1;
        c0 += v8 * t2; c1 += v7 * t2; c2 += v6 * t2; c3 += v5 * t2; c4 += v4 * t2; c5 += v3 * t2; c6 += v2 * t2;
        c0 += v9 * t3; c1 += v8 * t3; c2 += v7 * t3; c3 += v6 * t3; c4 += v5 * t3; c5 += v4 * t3; c6 += v3 * t3;
        c0 += v10 * t4; c1 += v9 * t4; c2 += v8 * t4; c3 += v7 * t4; c4 += v6 * t4; c5 += v5 * t4; c6 += v4 * t4;
        c0 += v11 * t5; c1 += v10 * t5; c2 += v9 * t5; c3 += v8 * t5; c4 += v7 * t5; c5 += v6 * t5; c6 += v5 * t5;
        c0 += v12 * t6; c1 += v11 * t6; c2 += v10 * t6; c3 += v9 * t6; c4 += v8 * t6; c5 += v7 * t6; c6 += v6 * t6;
        v0 = v7;
        v1 = v8;
        v2 = v9;
        v3 = v10;
        v4 = v11;
        v5 = v12;
        chunk += R;
        if chunk == CHUNK {
            chunk = 0u;
            all0 += c0; all1 += c1; all2 += c2; all3 += c3; all4 += c4; all5 += c5; all6 += c6;
            c0 = E(0);
            c1 = E(0);
            c2 = E(0);
            c3 = E(0);
            c4 = E(0);
            c5 = E(0);
            c6 = E(0);
        }
    }
    for (; j < end; j += 1u) {
        let v6 = x_value(o, q0 - j);
        let t = y_value(o, j);
        c0 += v6 * t; c1 += v5 * t; c2 += v4 * t; c3 += v3 * t; c4 += v2 * t; c5 += v1 * t; c6 += v0 * t;
        v0 = v1;
        v1 = v2;
        v2 = v3;
        v3 = v4;
        v4 = v5;
        v5 = v6;
    }
    sh_values[R * lid] = all0 + c0;
    sh_values[R * lid + 1u] = all1 + c1;
    sh_values[R * lid + 2u] = all2 + c2;
    sh_values[R * lid + 3u] = all3 + c3;
    sh_values[R * lid + 4u] = all4 + c4;
    sh_values[R * lid + 5u] = all5 + c5;
    sh_values[R * lid + 6u] = all6 + c6;
}

#main {
    let strip = group * WG + lid;
    var results = 0u;
    if strip < p.units {
        let entry = entry_of(group, strip);
        let r0 = R * (strip - entry.x);
        let index = entry.y;
        var pair = pair_of(index);
        if p.swapped != 0u {
            pair = pair.yx;
        }
        let x_start = x_meta[pair.x];
        let y_start = y_meta[pair.y];
        let m = x_meta[pair.x + 1u] - x_start;
        let n = y_meta[pair.y + 1u] - y_start;
        let c_start = c_meta[index];
        results = min(R, c_meta[index + 1u] - c_start - r0);
        let q0 = r0 + first_of(select(n, m, p.swapped != 0u));
        let o = Operands(p.x_base + x_start, p.y_base + y_start, m, n);
        make_strip(o, q0, results, lid);
        sh_at[lid] = c_start + r0;
    }
    sh_count[lid] = results;
    workgroupBarrier();
    for (var k = 0u; k < R; k += 1u) {
        let slot = k * WG + lid;
        let whose = slot / R;
        let r = slot - whose * R;
        if r < sh_count[whose] {
            c[sh_at[whose] + r] = sh_values[slot];
        }
    }
}
