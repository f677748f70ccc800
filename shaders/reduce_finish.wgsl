// Reduces elements, or lines, of several tiles from their parts: [index of the result, first slot, slots] in items, one
// workgroup each.

struct Params {
    first_group: u32,
    groups: u32,
    rank: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<Part>;

const WG = 256u;
// Parts that an invocation combines in one chain, before it adds the chain to the earlier ones: keeps chains short
// however long the element is.
const CHAIN = 32u;

#include "grid"
#include "reduce"

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
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
