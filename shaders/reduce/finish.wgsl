// Reduces elements, or lines, of several tiles from their parts: [index of the result, first slot, slots] in items, one
// workgroup each.

#params
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<Part>;

const WG = 256u;
// Parts that an invocation combines in one chain, before it adds the chain to the earlier ones: keeps chains short
// however long the element is.
const CHAIN = 32u;

#include "reduce"

#main {
    let e = items[3u * group];
    let first = items[3u * group + 1u];
    let slots = items[3u * group + 2u];
    var acc = nothing();
    for (var block = lid; block < slots; block += CHAIN * WG) {
        var chain = nothing();
        let end = min(block + CHAIN * WG, slots);
        for (var slot = block; slot < end; slot += WG) {
            let part = first + slot;
#if BOX
            chain = combine(chain, Acc(partials[2u * part], partials[2u * part + 1u]));
#else
            chain = combine(chain, partials[part]);
#endif
        }
        acc = combine(acc, chain);
    }
    acc = tree(acc, lid, lid, WG, 1u);
    if lid == 0u {
        put(e, acc);
    }
}
