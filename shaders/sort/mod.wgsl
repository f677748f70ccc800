// Sorts each line of the elements of x (the values along an axis), by keys of the order; a workgroup sorts BLOCK keys
// in workgroup memory, with a bitonic network.
//
// The units of `items` are lines of up to p.capacity values, a power of two: BLOCK / p.capacity lines a workgroup.
// TILED: longer lines are cut into blocks, one workgroup each, listed in `items` as [element, line, block, -]. Their
// sorted keys are left for sort_merge; a dispatch sorts the lines whose number of merges is even, or odd if p.odd.
// PAIRS: the places of the values in their line go with them, and order equal values.
//
// p.flip has all bits set for an order from the largest to the smallest value. Values of f16 are written by words
// (HALVES: see lib/half_store.wgsl), but keys are words of their own.

#params
#if HALVES
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
#endif
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<E>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

// The header defines BLOCK, the values of a sorted block: see src/ops/sort/plan.rs.

const WG = 256u;
// Values of an invocation.
const EACH = BLOCK / WG;
// Stand for the key and the place of no value. They come last.
const NONE = 0xffffffffu;

#include "entries"
#include "element_lines"
#include "merges"
#if F16
#include "half_keys"
#else
#include "order"
#endif

#if F16
fn key_at(i: u32) -> u32 {
    return half_key((x[i / 2u] >> (16u * (i % 2u))) & 0xffffu) ^ p.flip;
}
#else
fn key_at(i: u32) -> u32 {
    return order_key(x[i]) ^ p.flip;
}
#endif

#if HALVES
#include "half_store"
#endif

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
    let own = lid / lanes;
    let slot = own * p.capacity;
    var line = Line(0u, 0u, 1u);
#if TILED
    line = line_of(items[4u * group], items[4u * group + 1u]);
    if (merges(line.count) & 1u) != p.odd {
        return;
    }
    let first = items[4u * group + 2u] * BLOCK;
#else
    var number = 0u;
    let unit = group * (WG / lanes) + own;
    if unit < p.units {
        let entry = entry_of(group, unit);
        number = unit - entry.x;
        line = line_of(entry.y, number);
    }
    let first = 0u;
#endif
    let n = min(p.capacity, line.count - first);
    let begin = line.begin + first * line.step;
    for (var s = 0u; s < EACH; s += 1u) {
        let k = lane + s * lanes;
        var key = NONE;
        if k < n {
            key = key_at(p.x_base + begin + k * line.step);
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
#if HALVES
    if line.step == 1u {
        #use put_halves begin, n, half_of_key(sh_keys[slot + i] ^ p.flip), lane, lanes
    } else {
        let column = number % line.step;
        let has_left = own > 0u && column > 0u;
        let has_right = own + 1u < WG / lanes && column + 1u < line.step;
        let right = slot + select(0u, p.capacity, has_right);
        for (var k = lane; k < n; k += lanes) {
            let half = half_of_key(sh_keys[slot + k] ^ p.flip);
            let next = half_of_key(sh_keys[right + k] ^ p.flip);
            put_beside(begin + k * line.step, half, next, has_left, has_right);
        }
    }
#if PAIRS
    for (var k = lane; k < n; k += lanes) {
        places[begin + k * line.step] = sh_places[slot + k];
    }
#endif
#else
    for (var k = lane; k < n; k += lanes) {
        let at = begin + k * line.step;
        let key = sh_keys[slot + k];
#if TILED
        out[at] = key;
#else
        out[at] = key_bits(key ^ p.flip);
#endif
#if PAIRS
        places[at] = sh_places[slot + k];
#endif
    }
#endif
}
