// The lines of an element: its values along axis p.axis, or all of them if p.rank is 0. Line `number` of element `e` is
// in row-major order of the other axes.
//
// Uses: x_meta, and p.elements, p.rank and p.axis.
struct Line {
    // Offset of the first value from the first value of the batch.
    begin: u32,
    count: u32,
    // Distance from one value to the next.
    step: u32,
}

fn line_of(e: u32, number: u32) -> Line {
    let start = x_meta[e];
    if p.rank == 0u {
        return Line(start, x_meta[e + 1u] - start, 1u);
    }
    let extents = p.elements + 1u + e * p.rank;
    if p.axis + 1u == p.rank {
        let values = x_meta[extents + p.axis];
        return Line(start + number * values, values, 1u);
    }
    var step = 1u;
    for (var axis = p.axis + 1u; axis < p.rank; axis += 1u) {
        step *= x_meta[extents + axis];
    }
    let count = x_meta[extents + p.axis];
    let before = number / step;
    return Line(start + before * count * step + (number - before * step), count, step);
}
