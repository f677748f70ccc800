// Transposes matrices of bytes: y[j, i] = x[i, j], each matrix at its own offset. If p.down is 1, the rows of y are in
// reverse order, and if p.across is 1, its columns.
//
// A workgroup transposes one tile in workgroup memory; tiles as in transpose.wgsl. The first and the last word of a row
// of a tile may hold values of other tiles, whose bits atomic operations leave as they are.
//
// p.x_base counts bytes.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> tiles: array<vec4<u32>>;

const WG = 256u;
// Words of a row of a tile, and those of memory that a row of results overlaps.
const WORDS = BYTE_SIDE / 4u;
const ACROSS = WORDS + 1u;

// One word wider than the tile, so that the values of a column are in different banks.
var<workgroup> sh_tile: array<u32, BYTE_SIDE * (WORDS + 1u)>;

#include "bytes"

#main {
    let tile = tiles[group];
    let rows = tile.y;
    let columns = tile.z;
    let tiles_across = (columns + BYTE_SIDE - 1u) / BYTE_SIDE;
    let top = tile.w / tiles_across * BYTE_SIDE;
    let left = tile.w % tiles_across * BYTE_SIDE;
    let begin = p.x_base + tile.x;
    for (var k = lid; k < BYTE_SIDE * WORDS; k += WG) {
        let s = k / WORDS;
        let u = k % WORDS;
        if top + s < rows && left + 4u * u < columns {
            let at = begin + (top + s) * columns + left + 4u * u;
            let next = min(at / 4u + 1u, arrayLength(&x) - 1u);
            sh_tile[s * (WORDS + 1u) + u] = word_from(x[at / 4u], x[next], at);
        }
    }
    workgroupBarrier();
    let length = min(BYTE_SIDE, rows - top);
    let begin_column = select(top, rows - top - length, p.across != 0u);
    for (var k = lid; k < BYTE_SIDE * ACROSS; k += WG) {
        let s = k / ACROSS;
        if left + s < columns {
            let row = select(left + s, columns - 1u - (left + s), p.down != 0u);
            let at = tile.x + row * rows + begin_column;
            let w = at / 4u + k % ACROSS;
            var word = 0u;
            var mask = 0u;
            for (var lane = 0u; lane < 4u; lane += 1u) {
                // Wraps around before the first value.
                let i = 4u * w + lane - at;
                if i < length {
                    let source = select(i, length - 1u - i, p.across != 0u);
                    let value = byte_of(sh_tile[source * (WORDS + 1u) + s / 4u], s);
                    word |= value << (8u * lane);
                    mask |= 255u << (8u * lane);
                }
            }
            if mask == 0xFFFFFFFFu {
                atomicStore(&y[w], word);
            } else if mask != 0u {
                atomicAnd(&y[w], ~mask);
                atomicOr(&y[w], word);
            }
        }
    }
}
