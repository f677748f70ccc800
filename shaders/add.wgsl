// c = a + b or a - b with missing entries zero, element by element of the pairs.
//
// FLAT: all three have one layout. RANK1: elements are vectors. Otherwise: boxes of p.rank axes.
// A workgroup makes TILE consecutive values of c, finds the element it begins in, and walks the elements from there,
// SPAN at a time.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    subtract: u32,
    a_base: u32,
    b_base: u32,
    elements: u32,
    rank: u32,
    pair_kind: u32,
    pair_left: u32,
    pair_right: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
#if FLAT
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> b: array<E>;
@group(0) @binding(3) var<storage, read_write> c: array<E>;
#else
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<E>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;
#endif

const WG = 256u;
const TILE = 2048u;

#include "grid"

fn combine(x: E, y: E) -> E {
    return select(x + y, x - y, p.subtract != 0u);
}

#if FLAT
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
    let start = group * TILE + lid;
    for (var k = 0u; k < TILE / WG; k += 1u) {
        let v = start + k * WG;
        if v < p.total {
            c[v] = combine(a[p.a_base + v], b[p.b_base + v]);
        }
    }
}
#else
// Elements looked at together: one an invocation.
const SPAN = WG;

var<workgroup> sh_c: array<u32, SPAN + 1u>;
var<workgroup> sh_a: array<u32, SPAN>;
var<workgroup> sh_b: array<u32, SPAN>;
#if RANK1
var<workgroup> sh_a_len: array<u32, SPAN>;
var<workgroup> sh_b_len: array<u32, SPAN>;
#else
var<workgroup> sh_pair: array<vec2<u32>, SPAN>;
#endif
var<workgroup> sh_count: u32;

#include "pairs"
#include "search"
#if !RANK1
#include "boxes"
#endif

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
    let n = p.elements;
    let tile_end = min((group + 1u) * TILE, p.total);
    var begin = group * TILE;
    var first = find_element(begin, n, lid);
    loop {
        let e = first + lid;
        let start = c_meta[min(e, n)];
        sh_c[lid] = start;
        if lid == 0u {
            sh_c[SPAN] = c_meta[min(first + SPAN, n)];
        }
        let needed = e < n && start < tile_end;
        if needed {
            let pair = pair_of(e);
            let a_start = a_meta[pair.x];
            let b_start = b_meta[pair.y];
            sh_a[lid] = p.a_base + a_start;
            sh_b[lid] = p.b_base + b_start;
#if RANK1
            sh_a_len[lid] = a_meta[pair.x + 1u] - a_start;
            sh_b_len[lid] = b_meta[pair.y + 1u] - b_start;
#else
            sh_pair[lid] = pair;
#endif
        }
        if needed && (lid == SPAN - 1u || e + 1u == n || c_meta[e + 1u] >= tile_end) {
            sh_count = lid + 1u;
        }
        let here = workgroupUniformLoad(&sh_count);
        let to = min(tile_end, workgroupUniformLoad(&sh_c[here]));
        for (var v = begin + lid; v < to; v += WG) {
            // The last of the `here` elements that starts at or before v.
            var low = 0u;
            var high = here;
            while high - low > 1u {
                let middle = (low + high) / 2u;
                if sh_c[middle] <= v {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let i = v - sh_c[low];
            var x = E(0);
            var y = E(0);
#if RANK1
            if i < sh_a_len[low] {
                x = a[sh_a[low] + i];
            }
            if i < sh_b_len[low] {
                y = b[sh_b[low] + i];
            }
#else
            let pair = sh_pair[low];
            let place = place_in_boxes(
                i,
                n + 1u + (first + low) * p.rank,
                p.pair_left + 1u + pair.x * p.rank,
                p.pair_right + 1u + pair.y * p.rank,
                p.rank,
            );
            if place.in_a {
                x = a[sh_a[low] + place.a];
            }
            if place.in_b {
                y = b[sh_b[low] + place.b];
            }
#endif
            c[v] = combine(x, y);
        }
        first += here;
        begin = to;
        // Every invocation sees the same `to`, and must be done with the shared tables before they change.
        if to >= tile_end {
            break;
        }
        workgroupBarrier();
    }
}
#endif
