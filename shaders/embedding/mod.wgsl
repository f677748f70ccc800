// c = rows of a table, x: row r of c is row ids[r], or p.missing where x has no such row.
//
// Bits are copied unchanged. Sizes count units: a unit is a word, or a half for f16, of which p.missing holds two. An
// invocation makes four words at a time. c begins at a multiple of these, x and the ids at p.x_base and p.ids_base;
// words after the last value of c are slack of its buffer.

#params
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<u32>>;

const WG = 256u;

#include "units"

// Four words of c from unit u on.
fn quad(u: u32) -> vec4<u32> {
    // An empty result has no workgroups, so here p.width is not 0.
    var row = u / p.width;
    var k = u - row * p.width;
    var words = vec4(p.missing);
    if k + QUAD <= p.width {
        let id = ids[p.ids_base + row];
        if id < p.rows {
            words = run(p.x_base + id * p.width + k);
        }
        return words;
    }
    for (var lane = 0u; lane < min(QUAD, p.total - u); lane += 1u) {
        let id = ids[p.ids_base + row];
        if id < p.rows {
            words = with_unit(words, lane, p.x_base + id * p.width + k);
        }
        k += 1u;
        if k == p.width {
            row += 1u;
            k = 0u;
        }
    }
    return words;
}

#main {
    let end = min((p.total + QUAD - 1u) / QUAD, (group + 1u) * (STREAM_TILE / QUAD));
    for (var q = group * (STREAM_TILE / QUAD) + lid; q < end; q += WG) {
        c[q] = quad(q * QUAD);
    }
}
