// Sums of rows: every row of c is the sum of the rows of y, or of the sums of an earlier dispatch, that its list names;
// zeros if it names none.
//
// A list has at most 64 rows. They are summed in groups of eight, in order, and then the sums of the groups, in order.
// A workgroup makes p.tile consecutive values of c, and an invocation four at a time.
//
// F16: y has halves, two to a word, which p.y_base counts; sums are f32. c has halves, too, but in an earlier dispatch
// (PARTIAL) f32.

#params

#if F16
alias V = f32;
alias Y = u32;
#if PARTIAL
alias C = vec4<f32>;
#else
alias C = vec2<u32>;
#endif
#else
alias V = E;
alias Y = vec4<E>;
alias C = vec4<E>;
#endif

@group(0) @binding(1) var<storage, read> y: array<Y>;
@group(0) @binding(2) var<storage, read> sums: array<vec4<E>>;
@group(0) @binding(3) var<storage, read_write> c: array<C>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
// For each element of c: its first row, the values per row.
@group(0) @binding(5) var<storage, read> elements: array<vec2<u32>>;
// The offset of each row's list, and the end of the last.
@group(0) @binding(6) var<storage, read> starts: array<u32>;
// The offset of each source: among the sums if it has the flag SUMS, otherwise in y.
@group(0) @binding(7) var<storage, read> sources: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;
const EIGHT = 8u;

struct Entry {
    // The first row, the values per row.
    at: vec2<u32>,
}

#include "search"
#include "shifted"
#if F16
#include "half_load"
#if !PARTIAL
#include "half_round"
#endif
#endif

fn entry_of(e: u32) -> Entry {
    return Entry(elements[e]);
}

#include "tables"

// Values k .. k + 4 of a source.
fn four_of(source: u32, k: u32) -> vec4<V> {
    if (source & SUMS) != 0u {
        let at = (source ^ SUMS) + k;
        let four = shifted(sums[at / 4u], sums[min(at / 4u + 1u, arrayLength(&sums) - 1u)], at % 4u);
#if F16
        return bitcast<vec4<f32>>(four);
#else
        return four;
#endif
    }
    let at = p.y_base + source + k;
#if F16
    let low = y[at / 2u];
    let middle = y[at / 2u + 1u];
    if at % 2u == 0u {
        return vec4(unpack2x16float(low), unpack2x16float(middle));
    }
    let high = y[at / 2u + 2u];
    return vec4(half_of(low, 1u), unpack2x16float(middle), half_of(high, 0u));
#else
    return shifted(y[at / 4u], y[min(at / 4u + 1u, arrayLength(&y) - 1u)], at % 4u);
#endif
}

fn one_of(source: u32, k: u32) -> V {
    if (source & SUMS) != 0u {
        let at = (source ^ SUMS) + k;
#if F16
        return bitcast<f32>(sums[at / 4u][at % 4u]);
#else
        return sums[at / 4u][at % 4u];
#endif
    }
    let at = p.y_base + source + k;
#if F16
    return half_of(y[at / 2u], at);
#else
    return y[at / 4u][at % 4u];
#endif
}

// Values k .. k + 4 of a row of c. Sums begin with their first term instead of zero, so that −0 is preserved.
fn sum_of_four(row: u32, k: u32) -> vec4<V> {
    let start = starts[row];
    let end = starts[row + 1u];
    var all = vec4<V>();
    for (var first = start; first < end; first += EIGHT) {
        var eight = four_of(sources[first], k);
        for (var s = first + 1u; s < min(first + EIGHT, end); s += 1u) {
            eight += four_of(sources[s], k);
        }
        if first == start {
            all = eight;
        } else {
            all += eight;
        }
    }
    return all;
}

// Value k of a row of c.
fn sum_of_one(row: u32, k: u32) -> V {
    let start = starts[row];
    let end = starts[row + 1u];
    var all = V();
    for (var first = start; first < end; first += EIGHT) {
        var eight = one_of(sources[first], k);
        for (var s = first + 1u; s < min(first + EIGHT, end); s += 1u) {
            eight += one_of(sources[s], k);
        }
        if first == start {
            all = eight;
        } else {
            all += eight;
        }
    }
    return all;
}

// Four values of c from v on.
fn quad(v: u32, tile: Tile) -> vec4<V> {
    var e = place_in_tile(v, tile);
    var entry = entry_in_tile(e, tile).at;
    let i = v - start_in_tile(e, tile);
    var row = i / entry.y;
    var k = i - row * entry.y;
    if k + 4u <= entry.y {
        return sum_of_four(entry.x + row, k);
    }
    var end = start_in_tile(e + 1u, tile);
    var four = vec4<V>();
    for (var lane = 0u; lane < 4u; lane += 1u) {
        if v + lane < p.total {
            while v + lane >= end {
                e += 1u;
                end = start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile).at;
                row = 0u;
                k = 0u;
            }
            four[lane] = sum_of_one(entry.x + row, k);
            k += 1u;
            if k == entry.y {
                row += 1u;
                k = 0u;
            }
        }
    }
    return four;
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end + 3u) / 4u;
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
#if F16
#if PARTIAL
        c[q] = quad(4u * q, tile);
#else
        let four = quad(4u * q, tile);
        c[q] = vec2(
            half_bits(four.x) | (half_bits(four.y) << 16u),
            half_bits(four.z) | (half_bits(four.w) << 16u),
        );
#endif
#else
        c[q] = quad(4u * q, tile);
#endif
    }
}
