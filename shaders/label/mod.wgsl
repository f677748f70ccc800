// Connected components of images that a workgroup labels alone (WHOLE), or of one tile of a larger image (TILES).
//
// A tile has CELLS cells in words of 32 cells of a row, `wide` words to a row. Its cells are numbered row by row. Each
// invocation has eight neighbouring cells of a row. A run is a row's neighbouring cells of one kind. First, the parent
// of each cell is the first cell of its run. Then runs that touch are united: of two first cells, the later one gets
// the earlier one as its parent, by atomic minima. At the end, a cell that is its own parent is the first one of a
// component.
//
// WHOLE: an item is an element. Labels are the numbers of first cells in order, from 1 on.
// TILES: an item is [element, first row, first column, first word of the element in the map]. Parents are places of
// cells in the batch. The map `roots` has a bit for each cell, one where a component of a tile begins.

#params

#if WHOLE
@group(0) @binding(1) var<storage, read_write> labels: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
#else
@group(0) @binding(1) var<storage, read_write> parents: array<u32>;
@group(0) @binding(2) var<storage, read_write> roots: array<u32>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
#endif
@group(0) @binding(4) var<storage, read> x: array<u32>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

const WG = 256u;
// Cells of an invocation.
const EACH = 8u;

// First the kinds of cells, then their parents. One unused word follows each 32, so that invocations that read the
// first of their eight cells read different banks.
var<workgroup> sh_cells: array<atomic<u32>, CELLS + WORDS>;
// Bits of the eight cells of each invocation: first those that continue a run, then the first cells of components.
var<workgroup> sh_bits: array<u32, WG>;

#include "image"
#include "cell_kind"
#if WHOLE
#include "prefix"
#endif

fn cell(i: u32) -> u32 {
    return atomicLoad(&sh_cells[i + i / 32u]);
}

fn set_cell(i: u32, value: u32) {
    atomicStore(&sh_cells[i + i / 32u], value);
}

fn first_of(i: u32) -> u32 {
    var at = i;
    var next = cell(at);
    while next != at {
        at = next;
        next = cell(at);
    }
    return at;
}

fn unite(i: u32, j: u32) {
    var low = first_of(i);
    var high = first_of(j);
    while low != high {
        if low > high {
            let other = low;
            low = high;
            high = other;
        }
        // If another invocation has changed the parent meanwhile, the one that it had must be united as well.
        let old = atomicMin(&sh_cells[high + high / 32u], low);
        high = select(old, low, old == high);
    }
}

#main {
#if WHOLE
    let element = items[group];
    let first_row = 0u;
    let first_column = 0u;
#else
    let item = items[group];
    let element = item.x;
    let first_row = item.y;
    let first_column = item.z;
#endif
    let image = image_of(element);
    let rows = min(image.high, image.rows - first_row);
    // Columns of the tile, and those of the image from there on.
    let columns = 32u * image.wide;
    let inner = image.columns - first_column;
    let origin = image.begin + first_row * image.columns + first_column;

    for (var i = lid; i < CELLS; i += WG) {
        let row = i / columns;
        let column = i - row * columns;
        var kind = 0u;
        if row < rows && column < inner {
            kind = kind_of(x[p.x_base + origin + row * image.columns + column]);
        }
        set_cell(i, kind);
    }
    workgroupBarrier();

    let first = EACH * lid;
    let row = first / columns;
    let column = first - row * columns;
    var west = 0u;
    var north_west = 0u;
    var here = cell(first);
    var north = 0u;
    if column > 0u {
        west = cell(first - 1u);
    }
    if row > 0u {
        north = cell(first - columns);
        if column > 0u {
            north_west = cell(first - columns - 1u);
        }
    }
    var inside = 0u;
    // Cells that continue a run, and cells whose run must be united with one that touches it above.
    var linked = 0u;
    var up = 0u;
    var up_left = 0u;
    var up_right = 0u;
    for (var k = 0u; k < EACH; k += 1u) {
        var east = 0u;
        var north_east = 0u;
        if column + k + 1u < columns && first + k + 1u < CELLS {
            east = cell(first + k + 1u);
            if row > 0u {
                north_east = cell(first + k + 1u - columns);
            }
        }
        if here != 0u {
            let bit = 1u << k;
            inside |= bit;
            if west == here {
                linked |= bit;
            }
            if north == here {
                // The cells to the left have united the same runs if they touch, too.
                if west != here || north_west != here {
                    up |= bit;
                }
            } else if p.eight != 0u {
                // If both cells of one side are alike, the runs touch there, too.
                if north_west == here && west != here {
                    up_left |= bit;
                }
                if north_east == here && east != here {
                    up_right |= bit;
                }
            }
        }
        west = here;
        north_west = north;
        here = east;
        north = north_east;
    }
    sh_bits[lid] = linked;
    workgroupBarrier();

    var start = first;
    if (linked & 1u) != 0u {
        // The first cell of a row continues no run.
        var before = lid - 1u;
        while sh_bits[before] == 0xffu {
            before -= 1u;
        }
        start = EACH * before + firstLeadingBit(~sh_bits[before] & 0xffu);
    }
    for (var k = 0u; k < EACH; k += 1u) {
        if ((linked >> k) & 1u) == 0u {
            start = first + k;
        }
        set_cell(first + k, select(NONE, start, ((inside >> k) & 1u) != 0u));
    }
    workgroupBarrier();

    for (var k = 0u; k < EACH; k += 1u) {
        if ((up >> k) & 1u) != 0u {
            unite(first + k, first + k - columns);
        }
        if ((up_left >> k) & 1u) != 0u {
            unite(first + k, first + k - columns - 1u);
        }
        if ((up_right >> k) & 1u) != 0u {
            unite(first + k, first + k - columns + 1u);
        }
    }
    workgroupBarrier();

    var begins = 0u;
    for (var k = 0u; k < EACH; k += 1u) {
        if ((inside >> k) & 1u) != 0u {
            let root = first_of(first + k);
            set_cell(first + k, root);
            if root == first + k {
                begins |= 1u << k;
            }
        }
    }
    sh_bits[lid] = begins;
#if WHOLE
    let before = sum_before(countOneBits(begins), lid);
    workgroupBarrier();
    sh_each[lid] = before;
    if lid == WG - 1u {
        counts[element] = before + countOneBits(begins);
    }
#endif
    workgroupBarrier();

    for (var i = lid; i < CELLS; i += WG) {
        let row = i / columns;
        let column = i - row * columns;
        if row < rows && column < inner {
            let root = cell(i);
            let place = origin + row * image.columns + column;
#if WHOLE
            var label = 0u;
            if root != NONE {
                let earlier = sh_bits[root / EACH] & ((1u << (root % EACH)) - 1u);
                label = sh_each[root / EACH] + countOneBits(earlier) + 1u;
            }
            labels[place] = label;
#else
            var parent = NONE;
            if root != NONE {
                let its_row = root / columns;
                parent = origin + its_row * image.columns + root - its_row * columns;
            }
            parents[place] = parent;
#endif
        }
    }
#if TILES
    if lid < WORDS {
        let row = lid / image.wide;
        let column = lid - row * image.wide;
        if row < rows && first_column / 32u + column < image.across {
            var word = 0u;
            for (var k = 0u; k < 4u; k += 1u) {
                word |= sh_bits[4u * lid + k] << (EACH * k);
            }
            roots[item.w + (first_row + row) * image.across + first_column / 32u + column] = word;
        }
    }
#endif
}
