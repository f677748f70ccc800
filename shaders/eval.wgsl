// Σ_i x_i t^i for every value t of y, by Horner's scheme: one invocation per value, whose polynomial is the x of its
// pair. The units of `items` are values of y.
//
// The entries of `items` begin at p.entries. Halves are computed in f32, and rounded when they are written.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<E>;
@group(0) @binding(4) var<storage, read> y_meta: array<u32>;
#if F16
@group(0) @binding(5) var<storage, read_write> out: array<atomic<u32>>;
#else
@group(0) @binding(5) var<storage, read_write> out: array<E>;
#endif
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

#include "pairs"
#include "entries"

#if F16
#include "half_load"
#include "half_round"
#include "half_store"

alias V = f32;

fn coefficient(i: u32) -> V {
    return half_of(x[i / 2u], i);
}

fn point(i: u32) -> V {
    return half_of(y[i / 2u], i);
}

// Marks that there is no result.
const NOWHERE = 0xffffffffu;
var<workgroup> sh_places: array<u32, WG>;
var<workgroup> sh_results: array<u32, WG>;
#else
alias V = E;

fn coefficient(i: u32) -> V {
    return x[i];
}

fn point(i: u32) -> V {
    return y[i];
}
#endif

// The polynomial with coefficients `begin` to before `end` at t.
fn value(begin: u32, end: u32, t: V) -> V {
    var k = end;
    var sum = V(0);
    if k > begin {
        // Starts with the last coefficient instead of zero times t, which may be infinite.
        k -= 1u;
        sum = coefficient(k);
    }
    // Four at a time, so that their loads do not wait for each other.
    for (; k >= begin + 4u; k -= 4u) {
        let x1 = coefficient(k - 1u);
        let x2 = coefficient(k - 2u);
        let x3 = coefficient(k - 3u);
        let x4 = coefficient(k - 4u);
        sum = sum * t + x1;
        sum = sum * t + x2;
        sum = sum * t + x3;
        sum = sum * t + x4;
    }
    for (; k > begin; k -= 1u) {
        sum = sum * t + coefficient(k - 1u);
    }
    return sum;
}

#main {
    let unit = group * WG + lid;
#if F16
    var at = NOWHERE;
    var half = 0u;
#endif
    if unit < p.units {
        let entry = entry_of(group, unit);
        let pair = pair_of(entry.y);
        let i = unit - entry.x;
        let t = point(p.y_base + y_meta[pair.y] + i);
        let sum = value(p.x_base + x_meta[pair.x], p.x_base + x_meta[pair.x + 1u], t);
#if F16
        at = c_meta[entry.y] + i;
        half = half_bits(sum);
    }
    // Neighbours are mostly results of neighbouring invocations. At the ends of the workgroup, an invocation is
    // compared with itself.
    sh_places[lid] = at;
    sh_results[lid] = half;
    workgroupBarrier();
    if at != NOWHERE {
        let right = min(lid + 1u, WG - 1u);
        let has_left = sh_places[max(lid, 1u) - 1u] + 1u == at;
        let has_right = sh_places[right] == at + 1u;
        put_beside(at, half, sh_results[right], has_left, has_right);
    }
#else
        out[c_meta[entry.y] + i] = sum;
    }
#endif
}
