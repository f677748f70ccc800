// The labels of images that have several tiles: each cell follows its parents to the first cell of its component, whose
// rank among the first cells of the element, from 1 on, is the label. The first tile of an element writes their number.
// An item is that of a tile, as in label/mod.wgsl.

#params
@group(0) @binding(1) var<storage, read_write> labels: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
@group(0) @binding(3) var<storage, read_write> parents: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> roots: array<u32>;
@group(0) @binding(5) var<storage, read> ranks: array<u32>;
@group(0) @binding(6) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> x_meta: array<u32>;

const WG = 256u;

#include "image"
#include "parents"

#main {
    let item = items[group];
    let image = image_of(item.x);
    let rows = min(image.high, image.rows - item.y);
    let columns = 32u * image.wide;
    let inner = image.columns - item.z;
    let origin = image.begin + item.y * image.columns + item.z;
    let none = ranks[item.w];
    for (var i = lid; i < CELLS; i += WG) {
        let row = i / columns;
        let column = i - row * columns;
        if row < rows && column < inner {
            let place = origin + row * image.columns + column;
            let parent = atomicLoad(&parents[place]);
            var label = 0u;
            if parent != NONE {
                let root = root_of(parent) - image.begin;
                let its_row = root / image.columns;
                let its_column = root - its_row * image.columns;
                let word = item.w + its_row * image.across + its_column / 32u;
                let earlier = roots[word] & ((1u << (its_column % 32u)) - 1u);
                label = ranks[word] - none + countOneBits(earlier) + 1u;
            }
            labels[place] = label;
        }
    }
    if lid == 0u && item.y == 0u && item.z == 0u {
        counts[item.x] = ranks[item.w + image.rows * image.across] - none;
    }
}
