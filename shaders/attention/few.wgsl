// Attention of few queries over many keys, as attention/mod.wgsl computes it, where heads have whole units of 16 bytes.
//
// Reading keys and values takes nearly all of the time, so each is read once, in loads of 16 bytes, by a workgroup that
// computes R rows of one key head over the keys of one piece. Neighbouring invocations load neighbouring units of a
// key, and keep the same units of the queries in registers. They pass the products of their units through workgroup
// memory to one invocation for each key and row, which makes the score. When all scores of the piece are weights,
// invocations load units of values as they did those of keys, and add up what they load in registers.
//
// Keys are counted from the first one of the piece. Which of them an invocation adds up, and in which order, depends on
// their number alone: the results of a row do not depend on R, nor on the other rows.
//
// PIECES: results are f32 and go to a place for each tile, row and piece. Otherwise, the only piece has all keys.
//
// items: as in attention/mod.wgsl.

#params scale: f32
#for x at in q 1, k 2, v 3
@group(0) @binding($(at)) var<storage, read> $(x): array<vec4<u32>>;
#endfor
@group(0) @binding(4) var<storage, read_write> o: array<u32>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
// The bias; of a cache, the number of each element's keys that count.
@group(0) @binding(7) var<storage, read> bias: array<u32>;
@group(0) @binding(8) var<storage, read> per_head: array<f32>;

// The scores, then the weights, of each key and row.
var<workgroup> sh_w: array<f32, $(PIECE * R)>;
// Products of units: SIDE for each key and row of a batch. Then what the invocations have each computed: WG for each.
var<workgroup> sh_part: array<f32, $(4 * SIDE)>;

#include "ends"
#include "exp"
#include "log"
#include "log_sum_exp"
#if F16
#include "half_load"
#include "half_round"
#endif

fn bias_at(i: u32) -> f32 {
#if F16
    return half_of(bias[i / 2u], i);
#else
    return bitcast<f32>(bias[i]);
#endif
}

#include "scores"
#include "attended"

// Four values of a unit.
fn part_of(words: vec4<u32>, part: u32) -> vec4<f32> {
#if F16
    let pair = select(words.xy, words.zw, part == 1u);
    return vec4(unpack2x16float(pair.x), unpack2x16float(pair.y));
#else
    return bitcast<vec4<f32>>(words);
#endif
}

## Combines what the invocations have written for each row, in an order that depends on nothing.
#block combine_rows combine
workgroupBarrier();
for (var half = $(WG / 2)u; half > 0u; half /= 2u) {
    if lid < half {
#for r R
        sh_part[$(r * WG)u + lid] = $(combine)(sh_part[$(r * WG)u + lid], sh_part[$(r * WG)u + lid + half]);
#endfor
    }
    workgroupBarrier();
}
#endblock

## Writes two neighbouring results.
#block put_pair
#if PIECES
o[at] = bitcast<u32>(y.x);
o[at + 1u] = bitcast<u32>(y.y);
#else
#if F16
o[at / 2u] = half_bits(y.x) | (half_bits(y.y) << 16u);
#else
o[at] = bitcast<u32>(y.x);
o[at + 1u] = bitcast<u32>(y.y);
#endif
#endif
#endblock

fn sum_of(a: f32, b: f32) -> f32 {
    return a + b;
}

#main {
    let entry = p.tiles + 3u * (group / p.key_heads);
    let key_head = group % p.key_heads;
    let e = attended(items[entry]);
    let top = items[entry + 1u];
    // Of an empty cache, memory that is reserved.
    let last_key = max(e.keys, 1u) - 1u;
    let shared_by = p.heads / p.key_heads;
    let rows = e.queries * shared_by;
    // The keys that any row of the tile attends to.
    let first_query = i32(top / shared_by);
    let last_query = i32((min(top + $(R)u, rows) - 1u) / shared_by);
    let low = clamp(first_query + e.offset - i32(p.left), 0, i32(e.keys));
    let high = clamp(last_query + e.offset + i32(p.right) + 1, 0, i32(e.keys));
#if PIECES
    let begin = items[entry + 2u] * PIECE;
#else
    let begin = 0u;
#endif
    let first = u32(clamp(low - i32(begin), 0, i32(PIECE)));
    let end = u32(clamp(high - i32(begin), 0, i32(PIECE)));

    let k_units = p.d / $(UNIT)u;
    let k_groups = $(WG)u / k_units;
    let k_group = lid / k_units;
    let k_unit = lid % k_units;
    let k_pitch = k_units | 1u;
    let k_begin = p.k_base / $(UNIT)u + k_unit;
    // Rows beyond the last one compute the last one's results, which are not stored.
#for r R
    let row$(r) = min(top + $(r)u, rows - 1u);
    let place$(r) = (e.q_row + row$(r) / shared_by) * p.heads + key_head * shared_by + row$(r) % shared_by;
    let q$(r) = q[p.q_base / $(UNIT)u + place$(r) * k_units + k_unit];
#for part PARTS
    let q$(r)_$(part) = part_of(q$(r), $(part)u);
#endfor
#endfor
    let k_step = 4u * k_groups;
    for (var at = first / k_step * k_step; at < end; at += k_step) {
        // Four loads at a time: one that is used at once is waited for.
#for n 4
        let k$(n) = k[
            k_begin + ((e.k_row + min(begin + at + $(n)u * k_groups + k_group, last_key)) * p.key_heads + key_head)
                * k_units];
#endfor
#for batch R
        // What the last batch has written has been read.
        workgroupBarrier();
        if k_group < k_groups {
#for n BATCH; r R
            {
                var product = 0.0;
#for part PARTS
                {
                    let x = part_of(k$(batch * BATCH + n), $(part)u);
#for c in x, y, z, w
                    product = fma(q$(r)_$(part).$(c), x.$(c), product);
#endfor
                }
#endfor
                sh_part[$(n * R * SIDE + r * SIDE)u + k_group * k_pitch + k_unit] = product;
            }
#endfor
        }
        workgroupBarrier();
        for (var i = lid; i < 4u * k_groups; i += $(WG)u) {
            let slot = i / k_groups;
            let key = at + ($(batch * BATCH)u + slot / $(R)u) * k_groups + i % k_groups;
            if key < end {
                let parts = slot * $(SIDE)u + i % k_groups * k_pitch;
                var product = 0.0;
                for (var unit = 0u; unit < k_units; unit += 1u) {
                    product += sh_part[parts + unit];
                }
                let row = min(top + slot % $(R)u, rows - 1u);
                let head = key_head * shared_by + row % shared_by;
                let result = score(product, row / shared_by, begin + key, head, slope_of(head), e);
                sh_w[key * $(R)u + slot % $(R)u] = result.x;
            }
        }
#endfor
    }
    workgroupBarrier();

#for r R
    var most$(r) = LOWEST;
    for (var key = lid; key < end; key += $(WG)u) {
        if key >= first {
            most$(r) = max(most$(r), sh_w[key * $(R)u + $(r)u]);
        }
    }
    sh_part[$(r * WG)u + lid] = most$(r);
#endfor
    #use combine_rows max
#for r R
    most$(r) = sh_part[$(r * WG)u];
#endfor
    workgroupBarrier();
#for r R
    var sum$(r) = 0.0;
    for (var key = lid; key < end; key += $(WG)u) {
        if key >= first {
            let s = sh_w[key * $(R)u + $(r)u];
            let weight = select(exp_below(s - most$(r)), 0.0, s <= LOWEST);
            sh_w[key * $(R)u + $(r)u] = weight;
            sum$(r) += weight;
        }
    }
    sh_part[$(r * WG)u + lid] = sum$(r);
#endfor
    #use combine_rows sum_of
#for r R
    sum$(r) = sh_part[$(r * WG)u];
#endfor

    let v_units = p.dv / $(UNIT)u;
    let v_groups = $(WG)u / v_units;
    let v_group = lid / v_units;
    let v_unit = lid % v_units;
    let v_begin = p.v_base / $(UNIT)u + v_unit;
#for r R; part PARTS
    var o$(r)_$(part) = vec4<f32>();
#endfor
    let v_step = 4u * v_groups;
    for (var at = first / v_step * v_step; at < end; at += v_step) {
#for n 4
        let v$(n) = v[
            v_begin + ((e.k_row + min(begin + at + $(n)u * v_groups + v_group, last_key)) * p.key_heads + key_head)
                * v_units];
#endfor
#for n 4
        {
            let key = at + $(n)u * v_groups + v_group;
            let counts = key >= first && key < end;
            let weights = min(key, PIECE - 1u) * $(R)u;
#for r R
            let w$(r) = select(0.0, sh_w[weights + $(r)u], counts);
#endfor
#for part PARTS
            let x$(part) = part_of(v$(n), $(part)u);
#endfor
            // A sum of values is not finite if one of them is not.
            var odd = 0.0;
#for part PARTS; c in x, y, z, w
            odd += x$(part).$(c);
#endfor
            if (bitcast<u32>(odd) & 0x7f800000u) != 0x7f800000u {
#for r R; part PARTS
                o$(r)_$(part) = fma(vec4(w$(r)), x$(part), o$(r)_$(part));
#endfor
            } else {
#for r R; part PARTS
                o$(r)_$(part) = select(fma(vec4(w$(r)), x$(part), o$(r)_$(part)), o$(r)_$(part), w$(r) == 0.0);
#endfor
            }
        }
#endfor
    }

#for r R
    var factor$(r) = 1.0;
    {
        var most = most$(r);
        var sum = sum$(r);
        if p.sinks != 0u {
            let head = key_head * shared_by + row$(r) % shared_by;
            let sink = per_head[p.per_head_base + p.alibi * p.heads + head];
            let larger = max(most, sink);
            factor$(r) = exp_below(most - larger);
            sum = fma(sum, factor$(r), exp_below(sink - larger));
            most = larger;
        }
        factor$(r) *= select(1.0 / sum, 0.0, sum == 0.0);
#if PIECES
        let at = group * $(R)u + $(r)u;
#else
        let at = place$(r);
#endif
        if lid == 0u && top + $(r)u < rows {
#if PIECES
            lse[at] = bitcast<u32>(most);
            lse[at + p.rest] = bitcast<u32>(sum);
#else
            put_lse(at, most, log_of(sum), sum == 0.0);
#endif
        }
    }
#endfor
    // Pairs of results, each the sum of what the groups have added up.
#for r R; part PARTS
    workgroupBarrier();
    if v_group < v_groups {
#for c axis in 0 x, 1 y, 2 z, 3 w
        sh_part[$(c * WG)u + lid] = o$(r)_$(part).$(axis);
#endfor
    }
    workgroupBarrier();
    if lid < 2u * v_units && top + $(r)u < rows {
        let unit = lid / 2u;
        let c = lid % 2u * 2u;
        var y = vec2<f32>();
        for (var i = 0u; i < v_groups; i += 1u) {
            let at = c * $(WG)u + i * v_units + unit;
            y += vec2(sh_part[at], sh_part[at + $(WG)u]);
        }
        y *= factor$(r);
        let column = unit * $(UNIT)u + $(part * 4)u + c;
#if PIECES
        let at = (group * $(R)u + $(r)u) * p.dv + column;
#else
        let at = place$(r) * p.dv + column;
#endif
        #use put_pair
    }
#endfor
}
