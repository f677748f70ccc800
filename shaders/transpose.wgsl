// Transposes matrices: y[j, i] = x[i, j], each matrix at its own offset. If p.down is 1, the rows of y are in reverse
// order, and if p.across is 1, its columns.
//
// A workgroup transposes one tile in workgroup memory, so that rows are read and written contiguously. A tile is
// (offset of its matrix, rows, columns, its index among the tiles of the matrix in row-major order).
//
// p.x_base counts words.

#if C32
alias Value = vec2<u32>;
#else
alias Value = u32;
#endif

#params
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read_write> y: array<Value>;
@group(0) @binding(3) var<storage, read> tiles: array<vec4<u32>>;

const WG = 256u;
const STEP = WG / SIDE;
#if C32
const WORDS = 2u;
#else
const WORDS = 1u;
#endif

// One value wider than the tile, so that the values of a column are in different banks.
var<workgroup> sh_tile: array<Value, SIDE * (SIDE + 1u)>;

#main {
    let tile = tiles[group];
    let rows = tile.y;
    let columns = tile.z;
    let across = (columns + SIDE - 1u) / SIDE;
    let top = tile.w / across * SIDE;
    let left = tile.w % across * SIDE;
    let begin = p.x_base / WORDS + tile.x;
    let u = lid % SIDE;
    let v = lid / SIDE;
    for (var s = v; s < SIDE; s += STEP) {
        if top + s < rows && left + u < columns {
            sh_tile[s * (SIDE + 1u) + u] = x[begin + (top + s) * columns + left + u];
        }
    }
    workgroupBarrier();
    for (var s = v; s < SIDE; s += STEP) {
        if left + s < columns && top + u < rows {
            let row = select(left + s, columns - 1u - (left + s), p.down != 0u);
            let column = select(top + u, rows - 1u - (top + u), p.across != 0u);
            y[tile.x + row * rows + column] = sh_tile[u * (SIDE + 1u) + s];
        }
    }
}
