// starts[v] is the number of ids below v, for 0 ≤ v ≤ p.rows: `order` sorts the ids, and the places of id v are there
// from starts[v] to starts[v + 1]. An invocation searches for one v.

#params
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read_write> starts: array<u32>;

const WG = 256u;

#main {
    let v = group * WG + lid;
    if v <= p.rows {
        var low = 0u;
        var high = p.places;
        while low < high {
            let middle = low + (high - low) / 2u;
            if ids[p.ids_base + order[p.order_base + middle]] < v {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        starts[v] = low;
    }
}
