// Row v of c is the sum of the rows of x whose id is v, in the order that `order` gives; zeros if there are none.
//
// PARTIAL: row g of c is the sum of the GROUP places from g · GROUP on, if they have one id, in f32. Otherwise `sums`
// has these sums, and each row of c adds up the groups that belong to it, and the places before and after them.
//
// Terms are summed in eights, in order, and then the sums of the eights, in order. An invocation computes one value of
// c, or a word of two halves (HALVES).

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> starts: array<u32>;
@group(0) @binding(5) var<storage, read> sums: array<f32>;
@group(0) @binding(6) var<storage, read_write> c: array<u32>;

const WG = 256u;

#include "value_at"
#if HALVES
#include "half_round"
#endif

// Value k of the row of x at a place of the order.
fn term(place: u32, k: u32) -> f32 {
    return value_at(p.x_base + order[p.order_base + place] * p.width + k);
}

// The sum of value k of places from `first` to `end`. Sums begin with their first term instead of zero, so that −0 is
// preserved.
fn sum_of_places(first: u32, end: u32, k: u32) -> f32 {
    var all = 0.0;
    for (var at = first; at < end; at += EIGHT) {
        var eight = term(at, k);
        for (var next = at + 1u; next < min(at + EIGHT, end); next += 1u) {
            eight += term(next, k);
        }
        if at == first {
            all = eight;
        } else {
            all += eight;
        }
    }
    return all;
}

#if PARTIAL
fn value(row: u32, k: u32) -> f32 {
    let first = row * GROUP;
    if ids[p.ids_base + order[p.order_base + first]] != ids[p.ids_base + order[p.order_base + first + GROUP - 1u]] {
        return 0.0;
    }
    return sum_of_places(first, first + GROUP, k);
}
#else
// As sum_of_places, for the sums of groups.
fn sum_of_groups(first: u32, end: u32, k: u32) -> f32 {
    var all = 0.0;
    for (var at = first; at < end; at += EIGHT) {
        var eight = sums[at * p.width + k];
        for (var next = at + 1u; next < min(at + EIGHT, end); next += 1u) {
            eight += sums[next * p.width + k];
        }
        if at == first {
            all = eight;
        } else {
            all += eight;
        }
    }
    return all;
}

fn value(row: u32, k: u32) -> f32 {
    let start = starts[row];
    let end = starts[row + 1u];
    let first = (start + GROUP - 1u) / GROUP;
    let last = end / GROUP;
    if first >= last {
        return sum_of_places(start, end, k);
    }
    var all = sum_of_groups(first, last, k);
    if start < first * GROUP {
        all = sum_of_places(start, first * GROUP, k) + all;
    }
    if last * GROUP < end {
        all += sum_of_places(last * GROUP, end, k);
    }
    return all;
}
#endif

fn result(v: u32) -> f32 {
    let row = v / p.width;
    return value(row, v - row * p.width);
}

#main {
    let begin = group * STREAM_TILE;
    let end = min(p.total, begin + STREAM_TILE);
#if HALVES
    for (var w = begin / 2u + lid; 2u * w < end; w += WG) {
        var word = half_bits(result(2u * w));
        if 2u * w + 1u < end {
            word |= half_bits(result(2u * w + 1u)) << 16u;
        }
        c[w] = word;
    }
#else
    for (var v = begin + lid; v < end; v += WG) {
        c[v] = bitcast<u32>(result(v));
    }
#endif
}
