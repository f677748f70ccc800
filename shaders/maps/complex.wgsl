// y = f(x), value by value, of complex x: f is a row of the table in src/ops/maps/complex.rs.
//
// p.x_base counts complex values.

#params
@group(0) @binding(1) var<storage, read_write> y: array<R>;
@group(0) @binding(2) var<storage, read> x: array<E>;

const WG = 256u;
// Values per invocation, all loaded before any is stored.
const EACH = STREAM_TILE / WG;

#include "nan"
#include "ends"
#for file in $(FILES)
#include "$(file)"
#endfor
alias R = $(RESULT);
fn value(x: E, s: E) -> R {
    return $(VALUE);
}

#main {
    let s = bitcast<vec2<f32>>(vec2(p.s, p.t));
    let first = group * STREAM_TILE + lid;
    var values: array<E, EACH>;
    for (var k = 0u; k < EACH; k += 1u) {
        let v = first + k * WG;
        if v < p.values {
            values[k] = x[p.x_base + v];
        }
    }
    for (var k = 0u; k < EACH; k += 1u) {
        let v = first + k * WG;
        if v < p.values {
            y[v] = value(values[k], s);
        }
    }
}
