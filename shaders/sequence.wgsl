// c = a function of the place in the element: ARANGE first + i · second for value i; LINSPACE from first to second in
// equal steps; EYE first on the diagonal of matrices, and zero elsewhere.
//
// Four values at a time; up to three values after the last are slack of c's buffer. Halves are computed in f32 and
// packed two to a word. Tiles and tables as in ambient/mod.wgsl.

#params

#if F16
alias C = vec2<u32>;
#else
alias C = vec4<u32>;
#endif

@group(0) @binding(1) var<storage, read_write> c: array<C>;
@group(0) @binding(2) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

// The number of values; EYE: of columns.
struct Entry {
    size: u32,
}

#include "search"
#if F16
#if !EYE
#include "half_round"
#endif
#endif

fn entry_of(e: u32) -> Entry {
#if EYE
    return Entry(c_meta[p.elements + 2u + 2u * e]);
#else
    return Entry(c_meta[e + 1u] - c_meta[e]);
#endif
}

#include "tables"

#if !EYE
fn bits_of(x: f32) -> u32 {
#if F16
    return half_bits(x);
#else
    return bitcast<u32>(x);
#endif
}
#endif

// The bits of value i of an element.
fn value_of(i: u32, size: u32) -> u32 {
#if ARANGE
#if U32
    return p.first + i * p.second;
#else
    return bits_of(bitcast<f32>(p.first) + f32(i) * bitcast<f32>(p.second));
#endif
#endif
#if LINSPACE
    let begin = bitcast<f32>(p.first);
    let finish = bitcast<f32>(p.second);
    let part = f32(i) / f32(max(size, 2u) - 1u);
    let between = begin * (1.0 - part) + finish * part;
    // Both ends are exact.
    return bits_of(select(select(between, finish, i + 1u == size), begin, i == 0u));
#endif
#if EYE
    // Values of the diagonal are one row and one column apart.
    let row = i / (size + 1u);
    return select(0u, p.first, row * (size + 1u) == i && row < size);
#endif
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end + 3u) / 4u;
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        let v = 4u * q;
        var e = place_in_tile(v, tile);
        var start = start_in_tile(e, tile);
        var next = start_in_tile(e + 1u, tile);
        var size = entry_in_tile(e, tile).size;
        var values = vec4<u32>();
        for (var k = 0u; k < 4u; k += 1u) {
            if v + k < p.total {
                while v + k >= next {
                    e += 1u;
                    start = next;
                    next = start_in_tile(e + 1u, tile);
                    size = entry_in_tile(e, tile).size;
                }
                values[k] = value_of(v + k - start, size);
            }
        }
#if F16
        c[q] = values.xz | (values.yw << vec2(16u));
#else
        c[q] = values;
#endif
    }
}
