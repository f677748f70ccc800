// Copies f16 matrices so that rows begin at whole quads of words (eight values), as bsr_matrix requires.
//
// Without BLOCKS, `list` holds for each matrix (offset in x, offset in y), (rows, columns), (pitch in y, rows in y);
// rows and columns are padded with zeros. The matrices are consecutive in y. With BLOCKS, x holds sets of blocks, and
// `list` their (row, column) in the grid; values beyond the edge of the matrix are 0 in y.
//
// p.total counts quads of words of y, and p.count matrices, or blocks per set.

#params
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read> list: array<vec2<u32>>;

// The half at index i, as bits.
fn half_at(i: u32) -> u32 {
    return (x[i / 2u] >> (16u * (i % 2u))) & 0xFFFFu;
}

// Eight values from index `at` on: the first `count`, then zeros.
fn eight(at: u32, count: u32) -> vec4<u32> {
    var words = vec4<u32>();
    for (var i = 0u; i < min(count, 8u); i++) {
        words[i / 2u] |= half_at(at + i) << (16u * (i % 2u));
    }
    return words;
}

fn made(quad: u32) -> vec4<u32> {
#if BLOCKS
    let size = p.block_high * p.block_wide;
    let place = list[8u * quad / size % p.count];
    let within = 8u * quad % size;
    let row = place.x * p.block_high + within / p.block_wide;
    let column = place.y * p.block_wide + within % p.block_wide;
    return eight(p.x_base + 8u * quad, select(0u, p.wide - min(p.wide, column), row < p.high));
#else
    // The last matrix that begins at or before this quad.
    var low = 0u;
    var high = p.count;
    while low + 1u < high {
        let middle = (low + high) / 2u;
        if list[3u * middle].y <= 8u * quad {
            low = middle;
        } else {
            high = middle;
        }
    }
    let begin = list[3u * low];
    let extents = list[3u * low + 1u];
    let pitch = list[3u * low + 2u].x;
    let within = 8u * quad - begin.y;
    let row = within / pitch;
    let column = within % pitch;
    return eight(
        p.x_base + begin.x + row * extents.y + column,
        select(0u, extents.y - min(extents.y, column), row < extents.x),
    );
#endif
}

#main {
    let quad = group * WG + lid;
    if quad < p.total {
        y[quad] = made(quad);
    }
}
