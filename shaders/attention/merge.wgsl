// Rows of attention from the results of pieces of their keys: o = Σ_p w_p o_p / Σ_p w_p, in the order of the pieces. A
// piece's largest score m_p and the sum s_p of its weights stay apart: w_p = s_p exp(m_p − m), where m is the largest
// m_p. A sink adds exp(sink − m) to the denominator.
//
// items: for each row, its place in the results, the place of its first piece, the distance to the next, and the number
// of pieces. A workgroup computes one row.

#params
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(2) var<storage, read_write> lse: array<u32>;
@group(0) @binding(3) var<storage, read> parts: array<f32>;
@group(0) @binding(4) var<storage, read> part_sums: array<f32>;
@group(0) @binding(5) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> per_head: array<f32>;

const WG = 64u;
// Smaller than every score that counts.
const LOWEST = -3.0e38;

#include "ends"
#include "exp"
#include "log"
#include "log_sum_exp"
#if F16
#include "half_round"
#endif

// The weight of a piece; 0 if it has no keys.
fn weight_of(piece: u32, most: f32) -> f32 {
    return part_sums[piece + p.pieces] * exp_below(part_sums[piece] - most);
}

#main {
    let row = items[group];
    var most = LOWEST;
    for (var i = 0u; i < row.w; i += 1u) {
        most = max(most, part_sums[row.y + i * row.z]);
    }
    var sum = 0.0;
    if p.sinks != 0u {
        let sink = per_head[p.sinks_base + p.sinks - 1u + row.x % p.heads];
        most = max(most, sink);
        sum = exp_below(sink - most);
    }
    for (var i = 0u; i < row.w; i += 1u) {
        sum += weight_of(row.y + i * row.z, most);
    }
    let factor = select(1.0 / sum, 0.0, sum == 0.0);
    if lid == 0u {
        put_lse(row.x, most, log_of(sum), sum == 0.0);
    }
#if F16
    for (var column = 2u * lid; column < p.dv; column += 2u * WG) {
        var y = vec2<f32>();
        for (var i = 0u; i < row.w; i += 1u) {
            let piece = row.y + i * row.z;
            let weight = weight_of(piece, most);
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
            y = fma(weight_of(piece, most), parts[piece * p.dv + column], y);
        }
        o[row.x * p.dv + column] = bitcast<u32>(y * factor);
    }
#endif
}
