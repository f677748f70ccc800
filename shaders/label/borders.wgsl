// Unites components of tiles that touch across borders: the first row of each tile with the row above it, and the first
// column with the column to the left. An item is that of a tile, as in label/mod.wgsl.
//
// Of two first cells, the later one gets the earlier one as its parent, and its bit in the map is cleared: by the
// invocation that changes its parent for the first time.

#params
@group(0) @binding(1) var<storage, read_write> parents: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> roots: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> x: array<u32>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

const WG = 128u;

#include "image"
#include "cell_kind"
#include "parents"

fn kind_at(image: Image, row: u32, column: u32) -> u32 {
    return kind_of(x[p.x_base + image.begin + row * image.columns + column]);
}

fn place_of(image: Image, row: u32, column: u32) -> u32 {
    return image.begin + row * image.columns + column;
}

fn unite(image: Image, map: u32, v: u32, w: u32) {
    var low = root_of(v);
    var high = root_of(w);
    while low != high {
        if low > high {
            let other = low;
            low = high;
            high = other;
        }
        // If another invocation has changed the parent meanwhile, the one that it had must be united as well.
        let old = atomicMin(&parents[high], low);
        if old == high {
            let row = (high - image.begin) / image.columns;
            let column = high - image.begin - row * image.columns;
            atomicAnd(&roots[map + row * image.across + column / 32u], ~(1u << (column % 32u)));
        }
        high = select(old, low, old == high);
    }
}

// The cell at the top of a tile, and the row above it.
fn top(image: Image, map: u32, row: u32, column: u32) {
    let here = kind_at(image, row, column);
    let place = place_of(image, row, column);
    let above = place - image.columns;
    var west = 0u;
    var north_west = 0u;
    if column > 0u {
        west = kind_at(image, row, column - 1u);
        north_west = kind_at(image, row - 1u, column - 1u);
    }
    if here != 0u && kind_at(image, row - 1u, column) == here {
        // The cells to the left have united the same components if they touch, too.
        if west != here || north_west != here {
            unite(image, map, above, place);
        }
    } else if here != 0u && p.eight != 0u {
        // If both cells of one side are alike, the components touch there, too.
        if north_west == here && west != here {
            unite(image, map, above - 1u, place);
        }
        if column + 1u < image.columns {
            let east = kind_at(image, row, column + 1u);
            if kind_at(image, row - 1u, column + 1u) == here && east != here {
                unite(image, map, above + 1u, place);
            }
        }
    }
}

// The cell at the left of a tile, and the column before it. Below the first row of the tile, the cells above have
// united the same components if they touch, too; in the first row, `top` may count on what is united here.
fn side(image: Image, map: u32, row: u32, column: u32, is_first: bool) {
    let here = kind_at(image, row, column);
    let west = kind_at(image, row, column - 1u);
    var north = 0u;
    var north_west = 0u;
    if !is_first {
        north = kind_at(image, row - 1u, column);
        north_west = kind_at(image, row - 1u, column - 1u);
    }
    let place = place_of(image, row, column);
    if here == west {
        if here != 0u && (north != here || north_west != here) {
            unite(image, map, place - 1u, place);
        }
    } else if p.eight != 0u {
        if here != 0u && north_west == here && north != here {
            unite(image, map, place - image.columns - 1u, place);
        }
        if west != 0u && north == west && north_west != west {
            unite(image, map, place - image.columns, place - 1u);
        }
    }
}

#main {
    let item = items[group];
    let image = image_of(item.x);
    let rows = min(image.high, image.rows - item.y);
    let columns = min(32u * image.wide, image.columns - item.z);
    if item.y > 0u {
        for (var i = lid; i < columns; i += WG) {
            top(image, item.w, item.y, item.z + i);
        }
    }
    if item.z > 0u {
        for (var i = lid; i < rows; i += WG) {
            side(image, item.w, item.y + i, item.z, i == 0u);
        }
    }
}
