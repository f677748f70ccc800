// Merges the sorted runs of each long line in pairs; of equal keys, that of the left run comes first.
//
// A workgroup writes BLOCK values, listed in `items` as [element, line, block, -]. A binary search along diagonals
// finds where its values begin and end in both runs, and another where those of each invocation do (merge path: Green,
// McColl and Bader, 2012). p.left merges follow; the last one turns keys into values.
//
// p.flip has all bits set for an order from the largest to the smallest value. The last merge of f16 writes values by
// words (HALVES: see lib/half_store.wgsl).

#params
#if HALVES
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
#endif
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
@group(0) @binding(4) var<storage, read> keys: array<u32>;
@group(0) @binding(5) var<storage, read> from_places: array<u32>;
@group(0) @binding(6) var<storage, read> x_meta: array<u32>;

// The header defines BLOCK, the values of a sorted block: see src/ops/sort/plan.rs.

const WG = 256u;
// Values of an invocation.
const EACH = 8u;

#include "element_lines"
#include "merges"
#if HALVES
#include "half_keys"
#include "half_store"
#else
#include "order"
#endif

var<workgroup> sh_keys: array<u32, BLOCK>;
#if PAIRS
var<workgroup> sh_places: array<u32, BLOCK>;
#endif

// How many of the first d values of both runs are in the left one, which begins at `start` of the line.
fn of_left(line: Line, start: u32, lefts: u32, rights: u32, d: u32) -> u32 {
    let middle = start + lefts;
    var low = d - min(d, rights);
    var high = min(d, lefts);
    while low < high {
        let i = (low + high) / 2u;
        let left = keys[line.begin + (start + i) * line.step];
        let right = keys[line.begin + (middle + d - 1u - i) * line.step];
        if left <= right {
            low = i + 1u;
        } else {
            high = i;
        }
    }
    return low;
}

#main {
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let first = items[4u * group + 2u] * BLOCK;
    // Both runs, and the range of values among theirs.
    let run = BLOCK << (merges(line.count) - 1u - p.left);
    let start = first & ~(2u * run - 1u);
    let middle = min(start + run, line.count);
    let end = min(middle + run, line.count);
    let last = min(first + BLOCK, end);
    let total = last - first;
    if lid < 2u {
        let d = select(first, last, lid == 1u) - start;
        sh_keys[lid] = of_left(line, start, middle - start, end - middle, d);
    }
    workgroupBarrier();
    let left = sh_keys[0];
    let lefts = sh_keys[1] - left;
    let rights = total - lefts;
    workgroupBarrier();
    // The left values, then the right ones.
    for (var k = lid; k < total; k += WG) {
        let right = middle + (first - start - left) + (k - lefts);
        let at = line.begin + select(right, start + left + k, k < lefts) * line.step;
        sh_keys[k] = keys[at];
#if PAIRS
        sh_places[k] = from_places[at];
#endif
    }
    workgroupBarrier();
    let d = min(lid * EACH, total);
    var low = d - min(d, rights);
    var high = min(d, lefts);
    while low < high {
        let i = (low + high) / 2u;
        if sh_keys[i] <= sh_keys[lefts + d - 1u - i] {
            low = i + 1u;
        } else {
            high = i;
        }
    }
    var i = low;
    var j = lefts + d - low;
#for s 8
    var key$(s) = 0u;
#if PAIRS
    var place$(s) = 0u;
#endif
    if d + $(s)u < total {
        var from_left = i < lefts;
        if from_left && j < total {
            from_left = sh_keys[i] <= sh_keys[j];
        }
        let at = select(j, i, from_left);
        key$(s) = sh_keys[at];
#if PAIRS
        place$(s) = sh_places[at];
#endif
        i += select(0u, 1u, from_left);
        j += select(1u, 0u, from_left);
    }
#endfor
    workgroupBarrier();
#for s 8
    if d + $(s)u < total {
        sh_keys[d + $(s)u] = key$(s);
#if PAIRS
        sh_places[d + $(s)u] = place$(s);
#endif
    }
#endfor
    workgroupBarrier();
#if HALVES
    let begin = line.begin + first * line.step;
    if line.step == 1u {
        #use put_halves begin, total, half_of_key(sh_keys[i] ^ p.flip), lid, WG
    } else {
        for (var k = lid; k < total; k += WG) {
            put_half(begin + k * line.step, half_of_key(sh_keys[k] ^ p.flip));
        }
    }
#if PAIRS
    for (var k = lid; k < total; k += WG) {
        places[begin + k * line.step] = sh_places[k];
    }
#endif
#else
    for (var k = lid; k < total; k += WG) {
        let at = line.begin + (first + k) * line.step;
        let key = sh_keys[k];
        out[at] = select(key, key_bits(key ^ p.flip), p.left == 0u);
#if PAIRS
        places[at] = sh_places[k];
#endif
    }
#endif
}
