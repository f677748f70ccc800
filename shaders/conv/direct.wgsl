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
#for r R
    var c$(r) = E(0);
#endfor
    var j = select(0u, q0 + 1u - o.m, q0 + 1u > o.m);
    let end = min(o.n, q0 + count);
#for r R
    var all$(r) = E(0);
#endfor
    var chunk = 0u;
    let top = q0 + R - 1u;
    // v_i is x at top - j - i.
    var v0 = x_value(o, top - j);
#for i R - 2
    var v$(i + 1) = x_value(o, top - j - $(i + 1)u);
#endfor
    for (; j + R <= end; j += R) {
        let at = q0 - j;
        let v$(R - 1) = x_value(o, at);
#for i R - 1
        let v$(i + R) = x_value(o, at - $(i + 1)u);
#endfor
        let t0 = y_value(o, j);
#for i R - 1
        let t$(i + 1) = y_value(o, j + $(i + 1)u);
#endfor
#for t R; r R
        c$(r) += v$(R - 1 + t - r) * t$(t);
#endfor
#for i R - 1
        v$(i) = v$(i + R);
#endfor
        chunk += R;
        if chunk == CHUNK {
            chunk = 0u;
#for r R
            all$(r) += c$(r);
#endfor
#for r R
            c$(r) = E(0);
#endfor
        }
    }
    for (; j < end; j += 1u) {
        let v$(R - 1) = x_value(o, q0 - j);
        let t = y_value(o, j);
#for r R
        c$(r) += v$(R - 1 - r) * t;
#endfor
#for i R - 1
        v$(i) = v$(i + 1);
#endfor
    }
    sh_values[R * lid] = all0 + c0;
#for i R - 1
    sh_values[R * lid + $(i + 1)u] = all$(i + 1) + c$(i + 1);
#endfor
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
