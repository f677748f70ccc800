// Sorts each line of the elements of x (the values along an axis), by keys of the order; a workgroup sorts BLOCK keys
// in workgroup memory, with a bitonic network.
//
// The units of `items` are lines of up to p.capacity values, a power of two: BLOCK / p.capacity lines a workgroup.
// TILED: longer lines are cut into blocks, one workgroup each, listed in `items` as [element, line, block, -]. Their
// sorted keys are left for sort_merge; a dispatch sorts the lines whose number of merges is even, or odd if p.odd.
// PAIRS: the places of the values in their line go with them, and order equal values.
//
// p.flip has all bits set for an order from the largest to the smallest value.

#params
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<E>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

// BLOCK is also in src/ops/sort/plan.rs.

const WG = 256u;
// Values of an invocation.
const EACH = BLOCK / WG;
// Stand for the key and the place of no value. They come last.
const NONE = 0xffffffffu;

#include "entries"
#include "line"
#include "merges"
#include "order"

var<workgroup> sh_keys: array<u32, BLOCK>;
#if PAIRS
var<workgroup> sh_places: array<u32, BLOCK>;
#endif

fn exchange(low: u32, high: u32) {
    let a = sh_keys[low];
    let b = sh_keys[high];
#if PAIRS
    let i = sh_places[low];
    let j = sh_places[high];
    if a > b || (a == b && i > j) {
        sh_keys[low] = b;
        sh_keys[high] = a;
        sh_places[low] = j;
        sh_places[high] = i;
    }
#else
    if a > b {
        sh_keys[low] = b;
        sh_keys[high] = a;
    }
#endif
}

#main {
    // Invocations of a line, which begins at `slot` of the memory.
    let lanes = p.capacity / EACH;
    let lane = lid & (lanes - 1u);
    let slot = lid / lanes * p.capacity;
    var line = Line(0u, 0u, 1u);
#if TILED
    line = line_of(items[4u * group], items[4u * group + 1u]);
    if (merges(line.count) & 1u) != p.odd {
        return;
    }
    let first = items[4u * group + 2u] * BLOCK;
#else
    let unit = group * (WG / lanes) + lid / lanes;
    if unit < p.units {
        let entry = entry_of(group, unit);
        line = line_of(entry.y, unit - entry.x);
    }
    let first = 0u;
#endif
    let n = min(p.capacity, line.count - first);
    let begin = line.begin + first * line.step;
    for (var s = 0u; s < EACH; s += 1u) {
        let k = lane + s * lanes;
        var key = NONE;
        if k < n {
            key = order_key(x[p.x_base + begin + k * line.step]) ^ p.flip;
        }
        sh_keys[slot + k] = key;
#if PAIRS
        sh_places[slot + k] = select(NONE, first + k, k < n);
#endif
    }
    // Merges sorted runs of `size / 2` values: first with each other's mirror image, then within halves.
    for (var size = 2u; size <= p.capacity; size *= 2u) {
        workgroupBarrier();
        let middle = size / 2u;
        for (var t = lid; t < BLOCK / 2u; t += WG) {
            let r = t & (middle - 1u);
            let run = 2u * (t - r);
            exchange(run + r, run + size - 1u - r);
        }
        for (var apart = size / 4u; apart > 0u; apart /= 2u) {
            workgroupBarrier();
            for (var t = lid; t < BLOCK / 2u; t += WG) {
                let r = t & (apart - 1u);
                let low = 2u * (t - r) + r;
                exchange(low, low + apart);
            }
        }
    }
    workgroupBarrier();
    for (var k = lane; k < n; k += lanes) {
        let at = begin + k * line.step;
        let key = sh_keys[slot + k];
#if TILED
        values[at] = key;
#else
        values[at] = key_bits(key ^ p.flip);
#endif
#if PAIRS
        places[at] = sh_places[slot + k];
#endif
    }
}
