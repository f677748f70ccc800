// ranks[w] is the number of bits in the words of the map before word w, for 0 ≤ w ≤ p.words.
//
// A workgroup has a block of BLOCK words, and an invocation 16 of them. SUMS: first, each block's bits are counted.

#params
@group(0) @binding(1) var<storage, read_write> ranks: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@group(0) @binding(3) var<storage, read> roots: array<u32>;

const WG = 256u;
const EACH = BLOCK / WG;

#if !SUMS
#include "prefix"
#endif
var<workgroup> sh_sum: atomic<u32>;

#main {
    if lid == 0u {
        atomicStore(&sh_sum, 0u);
    }
    workgroupBarrier();
    var sum = 0u;
#if SUMS
    for (var w = BLOCK * group + lid; w < min(p.words, BLOCK * (group + 1u)); w += WG) {
        sum += countOneBits(roots[w]);
    }
    atomicAdd(&sh_sum, sum);
    workgroupBarrier();
    if lid == 0u {
        sums[group] = atomicLoad(&sh_sum);
    }
#else
    for (var block = lid; block < group; block += WG) {
        sum += sums[block];
    }
    atomicAdd(&sh_sum, sum);
    let first = BLOCK * group + EACH * lid;
    let end = min(p.words, first + EACH);
    var number = 0u;
    for (var w = first; w < end; w += 1u) {
        number += countOneBits(roots[w]);
    }
    var rank = sum_before(number, lid);
    rank += atomicLoad(&sh_sum);
    for (var w = first; w < end; w += 1u) {
        ranks[w] = rank;
        rank += countOneBits(roots[w]);
        if w + 1u == p.words {
            ranks[p.words] = rank;
        }
    }
#endif
}
