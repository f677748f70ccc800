// Rows of attention from the results of pieces of their keys: o = Σ_p exp(lse_p − m) o_p / Σ_p exp(lse_p − m), where m
// is the largest lse_p, in the order of the pieces. A sink adds exp(sink − m) to the denominator.
//
// items: for each row, its place in the results, the place of its first piece, the distance to the next, and the number
// of pieces. A workgroup computes one row.

#params
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(2) var<storage, read_write> lse: array<u32>;
@group(0) @binding(3) var<storage, read> parts: array<f32>;
@group(0) @binding(4) var<storage, read> part_sums: array<u32>;
@group(0) @binding(5) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> per_head: array<f32>;

const WG = 64u;
// Smaller than every score that counts.
const LOWEST = -3.0e38;

#include "ends"
#include "exp"
#include "log"
#if F16
#include "half_bits"
#endif

// The log-sum-exp of a piece; LOWEST if it has no keys.
fn sum_of(piece: u32) -> f32 {
    let bits = part_sums[piece];
    return select(bitcast<f32>(bits), LOWEST, bits == 0xff800000u);
}

#main {
    let row = items[group];
    var most = LOWEST;
    for (var i = 0u; i < row.w; i += 1u) {
        most = max(most, sum_of(row.y + i * row.z));
    }
    var sum = 0.0;
    if p.sinks != 0u {
        let sink = per_head[p.sinks_base + p.sinks - 1u + row.x % p.heads];
        most = max(most, sink);
        sum = exp_below(sink - most);
    }
    // A sum of no keys has no weight, even if no piece has any.
    for (var i = 0u; i < row.w; i += 1u) {
        let piece = sum_of(row.y + i * row.z);
        sum += select(exp_below(piece - most), 0.0, piece == LOWEST);
    }
    let factor = select(1.0 / sum, 0.0, sum == 0.0);
    if lid == 0u {
        lse[row.x] = select(bitcast<u32>(most + log_of(sum)), 0xff800000u, sum == 0.0);
    }
#if F16
    for (var column = 2u * lid; column < p.dv; column += 2u * WG) {
        var y = vec2<f32>();
        for (var i = 0u; i < row.w; i += 1u) {
            let piece = row.y + i * row.z;
            let weight = exp_below(sum_of(piece) - most);
            let at = piece * p.dv + column;
            y = fma(vec2(weight), vec2(parts[at], parts[at + 1u]), y);
        }
        y *= factor;
        o[(row.x * p.dv + column) / 2u] = half_bits(y.x) | (half_bits(y.y) << 16u);
    }
#else
    for (var column = lid; column < p.dv; column += WG) {
        var y = 0.0;
        for (var i = 0u; i < row.w; i += 1u) {
            let piece = row.y + i * row.z;
            y = fma(exp_below(sum_of(piece) - most), parts[piece * p.dv + column], y);
        }
        o[row.x * p.dv + column] = bitcast<u32>(y * factor);
    }
#endif
}
