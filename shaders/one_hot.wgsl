// c = rows of p.depth values: row r has p.one at index x_r, and zeros elsewhere; none if x_r is not below p.depth.
//
// Four values at a time: c begins at a multiple of four, x at p.x_base. Up to three values after the last are slack of
// c's buffer. Halves are packed two to a word.

#params

#if F16
alias C = vec2<u32>;
#else
alias C = vec4<u32>;
#endif

@group(0) @binding(1) var<storage, read_write> c: array<C>;
@group(0) @binding(2) var<storage, read> x: array<u32>;

const WG = 256u;

#main {
    // An empty batch has no workgroups, so that there are rows, and depth is not zero.
    let rows = p.total / p.depth;
    let end = min((p.total + 3u) / 4u, (group + 1u) * (STREAM_TILE / 4u));
    for (var q = group * (STREAM_TILE / 4u) + lid; q < end; q += WG) {
        var row = 4u * q / p.depth;
        var place = 4u * q - row * p.depth;
        var values = vec4<u32>();
        for (var k = 0u; k < 4u; k += 1u) {
            // Words after the last row are slack.
            values[k] = select(0u, p.one, x[p.x_base + min(row, rows - 1u)] == place);
            place += 1u;
            if place == p.depth {
                place = 0u;
                row += 1u;
            }
        }
#if F16
        c[q] = values.xz | (values.yw << vec2(16u));
#else
        c[q] = values;
#endif
    }
}
