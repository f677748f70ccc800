// Draws many figures on images, as figures.wgsl describes them, in two steps. MARK: a workgroup for each figure raises
// its cells to the figure's number in the batch plus one; before, all cells are 0. COLOURS: replaces these numbers by
// the values of figures, and 0 by the value of the image.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> figures: array<u32>;
@group(0) @binding(3) var<storage, read> figures_meta: array<u32>;
@group(0) @binding(4) var<storage, read> values: array<u32>;
#if MARK
@group(0) @binding(5) var<storage, read_write> c: array<atomic<u32>>;
#else
@group(0) @binding(5) var<storage, read_write> c: array<u32>;
#endif
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;

const WG = 256u;

#if MARK
// The image with this figure: the last one whose figures begin at or before it.
fn image_of(figure: u32) -> u32 {
    var image = 0u;
    var end = p.elements;
    while end - image > 1u {
        let middle = (image + end) / 2u;
        if figures_meta[middle] <= 4u * figure {
            image = middle;
        } else {
            end = middle;
        }
    }
    return image;
}

// The first and the last step from `begin` in this direction that are between 0 and `last`. There are none if the first
// is larger. A difference of two i32 fits in a u32.
fn steps_inside(begin: i32, direction: i32, last: i32) -> vec2<u32> {
    let here = bitcast<u32>(begin);
    if direction > 0 && begin <= last {
        return vec2(select(0u, 0u - here, begin < 0), bitcast<u32>(last) - here);
    }
    if direction < 0 && begin >= 0 {
        return vec2(here - min(here, bitcast<u32>(last)), here);
    }
    let stays = direction == 0 && begin >= 0 && begin <= last;
    return select(vec2(1u, 0u), vec2(0u, 0xffffffffu), stays);
}

#main {
    let image = image_of(group);
    let extents = p.elements + 1u + 2u * image;
    let size = vec2(c_meta[extents], c_meta[extents + 1u]);
    if any(size == vec2(0u)) {
        return;
    }
    let at = p.figures_base + 4u * group;
    let one = vec2(figures[at], figures[at + 1u]);
    let other = vec2(figures[at + 2u], figures[at + 3u]);
    let start = c_meta[image];
    let mark = group + 1u;
    if p.what == BOXES {
        if any(one >= other) {
            return;
        }
        // Rows and columns inside of the image.
        let count = max(min(other, size), one) - one;
        for (var k = lid; k < max(count.x, count.y); k += WG) {
            let cell = one + k;
            if k < count.y && one.x < size.x {
                atomicMax(&c[start + one.x * size.y + cell.y], mark);
            }
            if k < count.y && other.x <= size.x {
                atomicMax(&c[start + (other.x - 1u) * size.y + cell.y], mark);
            }
            if k < count.x && one.y < size.y {
                atomicMax(&c[start + cell.x * size.y + one.y], mark);
            }
            if k < count.x && other.y <= size.y {
                atomicMax(&c[start + cell.x * size.y + other.y - 1u], mark);
            }
        }
        return;
    }
    let from_cell = bitcast<vec2<i32>>(one);
    let to_cell = bitcast<vec2<i32>>(other);
    let lengths = bitcast<vec2<u32>>(max(from_cell, to_cell)) - bitcast<vec2<u32>>(min(from_cell, to_cell));
    // Not the sign of a difference, which may be beyond i32.
    let direction = vec2<i32>(to_cell > from_cell) - vec2<i32>(to_cell < from_cell);
    let down = steps_inside(from_cell.x, direction.x, i32(size.x) - 1);
    let right = steps_inside(from_cell.y, direction.y, i32(size.y) - 1);
    let first = max(down.x, right.x);
    let last = min(min(down.y, right.y), max(lengths.x, lengths.y));
    if first > last {
        return;
    }
    let step = bitcast<vec2<u32>>(direction);
    let cell = one + first * step;
    for (var k = lid; k <= last - first; k += WG) {
        let there = cell + k * step;
        atomicMax(&c[start + there.x * size.y + there.y], mark);
    }
}
#else
#main {
    for (var v = group * p.tile + lid; v < min((group + 1u) * p.tile, p.total); v += WG) {
        let mark = c[v];
        if mark == 0u {
            c[v] = x[p.x_base + v];
        } else {
            c[v] = values[p.values_base + mark - 1u];
        }
    }
}
#endif
