// c = f(a, b) for batches of one layout: value by value, four at a time. f is a row of the table in src/ops/ambient.
//
// c begins at a multiple of four, a and b wherever p.a_base and p.b_base say. The values beyond the last, up to three,
// are slack of c's buffer. WIDE: c is complex; one value at a time.

#params
@group(0) @binding(1) var<storage, read> a: array<A>;
@group(0) @binding(2) var<storage, read> b: array<B>;
@group(0) @binding(3) var<storage, read_write> c: array<C>;

const WG = 256u;

#include "combine"
#include "loads"

#main {
#if WIDE
    let end = min(p.total, (group + 1u) * STREAM_TILE);
    for (var v = group * STREAM_TILE + lid; v < end; v += WG) {
        c[v] = value(a_one(p.a_base + v), b_one(p.b_base + v));
    }
#else
    let end = min((p.total + 3u) / 4u, (group + 1u) * (STREAM_TILE / 4u));
    for (var q = group * (STREAM_TILE / 4u) + lid; q < end; q += WG) {
        let x = a_four(p.a_base + 4u * q);
        let y = b_four(p.b_base + 4u * q);
        c[q] = packed(vec4(value(x.x, y.x), value(x.y, y.y), value(x.z, y.z), value(x.w, y.w)));
    }
#endif
}
