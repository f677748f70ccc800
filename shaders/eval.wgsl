// Σ_i x_i t^i for every value t of y, by Horner's scheme: one invocation per value, whose polynomial is the x of its
// pair. The units of `items` are values of y.
//
// The entries of `items` begin at p.entries.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<E>;
@group(0) @binding(4) var<storage, read> y_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

#include "pairs"
#include "entries"

#main {
    let unit = group * WG + lid;
    if unit >= p.units {
        return;
    }
    let entry = entry_of(group, unit);
    let pair = pair_of(entry.y);
    let i = unit - entry.x;
    let t = y[p.y_base + y_meta[pair.y] + i];
    let begin = p.x_base + x_meta[pair.x];
    var k = p.x_base + x_meta[pair.x + 1u];
    var sum = E(0);
    if k > begin {
        // Starts with the last coefficient instead of zero times t, which may be infinite.
        k -= 1u;
        sum = x[k];
    }
    // Four at a time, so that their loads do not wait for each other.
    for (; k >= begin + 4u; k -= 4u) {
        let x1 = x[k - 1u];
        let x2 = x[k - 2u];
        let x3 = x[k - 3u];
        let x4 = x[k - 4u];
        sum = sum * t + x1;
        sum = sum * t + x2;
        sum = sum * t + x3;
        sum = sum * t + x4;
    }
    for (; k > begin; k -= 1u) {
        sum = sum * t + x[k - 1u];
    }
    c[c_meta[entry.y] + i] = sum;
}
