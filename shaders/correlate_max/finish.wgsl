// Combines the tiles of each pair into the largest value and its lag, which is the index minus (values of b - 1).
//
// SBD: partial values are minus distances, and a pair with an empty side has distance 1.

#params minus_infinity: f32
@group(0) @binding(1) var<storage, read> partials: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> b_meta: array<u32>;
@group(0) @binding(4) var<storage, read_write> value: array<f32>;
@group(0) @binding(5) var<storage, read_write> lag: array<i32>;
@group(0) @binding(6) var<storage, read> pair_list: array<u32>;

#include "nan"
#include "pairs"
#include "best"

#main {
    let pair = group * WG + lid;
    if pair >= p.pairs {
        return;
    }
    var first = pair;
    var end = pair + 1u;
    if p.listed != 0u {
        first = starts[pair];
        end = starts[pair + 1u];
    }
    var best = Best(p.minus_infinity, NOWHERE);
    for (var i = first; i < end; i += 1u) {
        best = better(best, Best(bitcast<f32>(partials[2u * i]), partials[2u * i + 1u]));
    }
    if best.index == NOWHERE {
#if SBD
        value[pair] = 1.0;
#else
        value[pair] = p.minus_infinity;
#endif
        // The smallest i32 means that there is no lag.
        lag[pair] = -2147483647 - 1;
    } else {
        let b_index = pair_of(pair).y;
        let b_len = b_meta[b_index + 1u] - b_meta[b_index];
#if SBD
        value[pair] = -best.value;
#else
        value[pair] = best.value;
#endif
        lag[pair] = i32(best.index) - i32(b_len - 1u);
    }
}
