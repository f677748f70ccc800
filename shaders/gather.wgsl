// c[r] = x[index[r]] along the first axis, for every pair of an element and a list: rows in any order, zeros for those that
// are not there.
//
// Bits are copied, whatever they mean. What is counted are units: words, of which complex values have two (DOUBLE), or halves
// of f16. A workgroup makes p.tile consecutive values of c; an invocation makes four words at a time, which c begins and
// ends with. The rows of a pair are as wide as its part of c says.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32, // values of c
    x_base: u32, // in units
    elements: u32,
    tile: u32,
    pair_kind: u32,
    pair_right: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> index_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that the tables hold.
const SPAN = 256u;
// Units of a value, and of four words.
#if DOUBLE
const VALUE = 2u;
#else
const VALUE = 1u;
#endif
#if F16
const QUAD = 8u;
#else
const QUAD = 4u;
#endif

struct Entry {
    // Where the element of x begins, its rows, units of a row, where the list begins.
    at: vec4<u32>,
}

#include "grid"
#include "pairs"
#include "search"
#include "shifted"

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let x_start = x_meta[pair.x];
    let list = index_meta[pair.y];
    // An element of c without values is never asked for: only its divisions must be defined.
    let rows = max(index_meta[pair.y + 1u] - list, 1u);
    let width = max((c_meta[e + 1u] - c_meta[e]) / rows, 1u);
    return Entry(vec4(
        p.x_base + x_start * VALUE,
        (x_meta[pair.x + 1u] - x_start) / width,
        width * VALUE,
        list,
    ));
}

#include "tables"

fn words_from(at: u32) -> vec4<u32> {
    let last = arrayLength(&x) - 1u;
    return shifted(x[min(at / 4u, last)], x[min(at / 4u + 1u, last)], at % 4u);
}

// Four words from unit `at` of x on.
fn run(at: u32) -> vec4<u32> {
#if F16
    let words = words_from(at / 2u);
    if at % 2u == 0u {
        return words;
    }
    return (words >> vec4(16u)) | (words_from(at / 2u + 1u) << vec4(16u));
#else
    return words_from(at);
#endif
}

// One unit of x.
fn unit(at: u32) -> u32 {
#if F16
    return (x[at / 8u][at / 2u % 4u] >> (16u * (at % 2u))) & 0xFFFFu;
#else
    return x[at / 4u][at % 4u];
#endif
}

// Four words of c from unit u on.
fn quad(u: u32, tile: Tile) -> vec4<u32> {
    var e = place_in_tile(u / VALUE, tile);
    var start = start_in_tile(e, tile) * VALUE;
    var entry = entry_in_tile(e, tile).at;
    var row = (u - start) / entry.z;
    var k = u - start - row * entry.z;
    if k + QUAD <= entry.z {
        let source = index[entry.w + row];
        if source >= entry.y {
            return vec4<u32>();
        }
        return run(entry.x + source * entry.z + k);
    }
    var end = start_in_tile(e + 1u, tile) * VALUE;
    var words = vec4<u32>();
    for (var lane = 0u; lane < QUAD; lane += 1u) {
        if u + lane < p.total * VALUE {
            while u + lane >= end {
                e += 1u;
                end = start_in_tile(e + 1u, tile) * VALUE;
                entry = entry_in_tile(e, tile).at;
                row = 0u;
                k = 0u;
            }
            let source = index[entry.w + row];
            if source < entry.y {
                let value = unit(entry.x + source * entry.z + k);
#if F16
                words[lane / 2u] |= value << (16u * (lane % 2u));
#else
                words[lane] = value;
#endif
            }
            k += 1u;
            if k == entry.z {
                row += 1u;
                k = 0u;
            }
        }
    }
    return words;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, groups);
    if group >= p.groups {
        return;
    }
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end * VALUE + QUAD - 1u) / QUAD;
    // Two under way at a time.
    for (var q = tile.start * VALUE / QUAD + lid; q < end; q += 2u * WG) {
        let first = quad(q * QUAD, tile);
        if q + WG < end {
            let second = quad((q + WG) * QUAD, tile);
            c[q + WG] = second;
        }
        c[q] = first;
    }
}
