// Adds the results of the later pieces of split block rows to those of the first pieces in c, in order.
//
// A workgroup takes STRIP rows of a row of blocks and FINISH_COLUMNS columns of one product. `order` holds from p.heavy
// on two entries for each heavy row: (row of blocks, pieces after the first), (the first one's slot counted from 0, 0).
// `list`: see bsr_matmul.
//
// p.strips counts strips per block. A block has p.block_high rows, and the matrix p.high. p.transposed: slots are
// stored column by column.

#params
@group(0) @binding(1) var<storage, read_write> c: array<E>;
@group(0) @binding(2) var<storage, read> order: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> scratch: array<E>;

#main FINISH_COLUMNS {
    let low = STRIP * (group % p.strips);
    let heavy = p.heavy + 2u * (group / p.strips % p.heavy_count);
    let there = list[p.panels + group / p.strips / p.heavy_count];
    let x = list[3u * there.x];
    let y = list[3u * there.x + 1u];
    let column = there.y + lid;
    if column >= x.w {
        return;
    }
    let row = order[heavy].x * p.block_high + low;
    let slot = order[heavy + 1u].x;
    let size = p.block_high * x.w;
    let row_step = select(x.w, 1u, p.transposed != 0u);
    let column_step = select(1u, p.block_high, p.transposed != 0u);
    let begin = list[3u * there.x + 2u].x + slot * size + low * row_step + column * column_step;
    for (var i = 0u; i < STRIP && row + i < p.high; i++) {
        let at = x.z + (row + i) * y.z + column * y.w;
        var sum = c[at];
        for (var s = 0u; s < order[heavy].y; s++) {
            sum += scratch[begin + s * size + i * row_step];
        }
        c[at] = sum;
    }
}
