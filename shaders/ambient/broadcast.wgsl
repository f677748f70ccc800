// c = f(a, b), or with THREE c = f(a, b, d), value by value, where operands may be vectors that are spread over the
// elements of c: f is a row of the table in src/ops/ambient.
//
// The mode of an operand is WHOLE if it has c's layout. Otherwise it is the axis along which a vector is spread over
// each element: element e uses vector e, or with the flag ONE all elements use the only vector. An axis of p.rank means
// one value for the whole element, a vector of length 1. Tiles and tables are as in ambient/mod.wgsl; an invocation
// computes four consecutive values of c. WIDE: c is complex; one value at a time.

#params
@group(0) @binding(1) var<storage, read> a: array<A>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<B>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
#if THREE
@group(0) @binding(5) var<storage, read> d: array<D>;
@group(0) @binding(6) var<storage, read> d_meta: array<u32>;
@group(0) @binding(7) var<storage, read_write> c: array<C>;
@group(0) @binding(8) var<storage, read> c_meta: array<u32>;
#else
@group(0) @binding(5) var<storage, read_write> c: array<C>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
#endif

const WG = 256u;
// The capacity of the tables, in elements.
const SPAN = 64u;

// How an operand is spread over an element: the start of its vector, the number of consecutive values that use the same
// value of the vector, and the vector's length.
struct Entry {
    a: vec3<u32>,
    b: vec3<u32>,
#if THREE
    d: vec3<u32>,
#endif
}

#include "search"
#include "combine"
#include "loads"

// For a vector along an axis of element e: the number of consecutive values that use one value of it, and the axis's
// extent.
fn spans_of(e: u32, mode: u32) -> vec2<u32> {
    let axis = mode & 0xffu;
    if mode == WHOLE || axis >= p.rank {
        return vec2(1u);
    }
    if p.rank == 1u {
        return vec2(1u, c_meta[e + 1u] - c_meta[e]);
    }
    let extents = p.elements + 1u + p.rank * e;
    var inner = 1u;
    for (var k = axis + 1u; k < p.rank; k += 1u) {
        inner *= c_meta[extents + k];
    }
    return vec2(inner, c_meta[extents + axis]);
}

// The element of an operand that is used for element e.
fn vector_of(e: u32, mode: u32) -> u32 {
    return select(e, 0u, mode == WHOLE || (mode & ONE) != 0u);
}

fn entry_of(e: u32) -> Entry {
    return Entry(
        vec3(p.a_base + a_meta[vector_of(e, p.a_mode)], spans_of(e, p.a_mode)),
        vec3(p.b_base + b_meta[vector_of(e, p.b_mode)], spans_of(e, p.b_mode)),
#if THREE
        vec3(p.d_base + d_meta[vector_of(e, p.d_mode)], spans_of(e, p.d_mode)),
#endif
    );
}

#include "tables"

// The index in the vector of value i of an element; `spans` as returned by spans_of.
fn along(i: u32, spans: vec2<u32>) -> u32 {
    return (i / spans.x) % spans.y;
}

#if !WIDE
// The indices in the vector of values i to i + 3, which are all in one element.
fn along_four(i: u32, spans: vec2<u32>) -> vec4<u32> {
    if spans.y == 1u {
        return vec4<u32>();
    }
    let row = i / spans.x;
    var within = i - row * spans.x;
    var at = row % spans.y;
    var places = vec4(at);
    for (var k = 1u; k < 4u; k += 1u) {
        within += 1u;
        if within == spans.x {
            within = 0u;
            at += 1u;
            at = select(at, 0u, at == spans.y);
        }
        places[k] = at;
    }
    return places;
}

// Four values of c from v on, which are all in one element and begin at its value i.
fn four(v: u32, i: u32, entry: Entry) -> vec4<R> {
#for x X how stored computed in $(OPERANDS)
    var $(x)_values: vec4<$(computed)>;
    if p.$(x)_mode == WHOLE {
        $(x)_values = $(x)_four(p.$(x)_base + v);
    } else if entry.$(x).z == 1u {
        $(x)_values = vec4($(x)_one(entry.$(x).x));
    } else {
        let at = vec4(entry.$(x).x) + along_four(i, entry.$(x).yz);
        $(x)_values = vec4($(x)_one(at.x), $(x)_one(at.y), $(x)_one(at.z), $(x)_one(at.w));
    }
#endfor
    return vec4(
#for k in x, y, z, w
#if THREE
        value(a_values.$(k), b_values.$(k), d_values.$(k)),
#else
        value(a_values.$(k), b_values.$(k)),
#endif
#endfor
    );
}
#endif

// Value v of c, which is value i of its element.
fn one(v: u32, i: u32, entry: Entry) -> R {
    return value(
#for x X how stored computed in $(OPERANDS)
        $(x)_one(select(entry.$(x).x + along(i, entry.$(x).yz), p.$(x)_base + v, p.$(x)_mode == WHOLE)),
#endfor
    );
}

#if !WIDE
// Four values of c from v on, in any elements.
fn quad(v: u32, tile: Tile) -> vec4<R> {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    if v + 4u <= end {
        return four(v, v - start, entry);
    }
    var results = vec4<R>();
    for (var k = 0u; k < 4u; k += 1u) {
        let u = v + k;
        if u < p.total {
            while u >= end {
                e += 1u;
                start = end;
                end = start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile);
            }
            results[k] = one(u, u - start, entry);
        }
    }
    return results;
}
#endif

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if WIDE
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        c[v] = one(v, v - start_in_tile(e, tile), entry_in_tile(e, tile));
    }
#else
    let end = (tile.end + 3u) / 4u;
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = packed(quad(4u * q, tile));
    }
#endif
}
