// The extent of each component of labelled images: the number of its cells, the sums of their rows and of their
// columns, the box around them, and the first cell. A component is row r of the table if `rows_meta` says so: that of
// the element, and its label, from 1 on. Cells with other labels do not count.
//
// `sums` has FIELDS words for each row of the table, field after field, and begins with zeros: the cells, the low and
// high words of both sums, then the least row, column and place of a cell in the batch, each subtracted from 2³² − 1,
// and the largest row and column, each plus 1. All of them are sums and maxima of integers, so that the order does not
// matter.
//
// An invocation has EACH cells that follow each other. Runs of one label in a row are added at once, and first to
// workgroup memory: a component has the slot of its number modulo SLOTS there, if its number is the largest of those
// that the workgroup meets; other components are added to `sums` directly.

#params
@group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(3) var<storage, read> labels_meta: array<u32>;
@group(0) @binding(4) var<storage, read> rows_meta: array<u32>;

const WG = 256u;
const SLOTS = 256u;
const EACH = CELLS / WG;
const NONE = 0xffffffffu;
// From this column on, cells are added one by one, so that no sum of columns exceeds a word.
const WIDE = 0x8000000u;

// One more than the component that has the slot.
var<workgroup> sh_owners: array<atomic<u32>, SLOTS>;
var<workgroup> sh_sums: array<atomic<u32>, SLOTS * FIELDS>;

// Cells of an element that follow each other in the batch.
struct At {
    element: u32,
    // Where the element begins and ends.
    begin: u32,
    end: u32,
    columns: u32,
}

fn element_at(e: u32) -> At {
    return At(e, labels_meta[e], labels_meta[e + 1u], labels_meta[p.elements + 2u + 2u * e]);
}

// The element that has a cell.
fn element_of(v: u32) -> At {
    var low = 0u;
    var high = p.elements;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if labels_meta[middle] <= v {
            low = middle;
        } else {
            high = middle;
        }
    }
    return element_at(low);
}

// The row of the table that a cell belongs to, or NONE.
fn row_of(element: u32, v: u32) -> u32 {
    let first = rows_meta[element];
    let label = labels[p.labels_base + v];
    return select(NONE, first + label - 1u, label - 1u < rows_meta[element + 1u] - first);
}

fn slot_of(row: u32) -> u32 {
    return row % SLOTS;
}

// Adds to a sum of two words in memory.
fn add_wide(at: u32, low: u32, high: u32) {
    let old = atomicAdd(&sums[at], low);
    let carry = select(0u, 1u, old + low < old);
    if high + carry > 0u {
        atomicAdd(&sums[at + 1u], high + carry);
    }
}

// The same in workgroup memory.
fn add_held(at: u32, low: u32) {
    let old = atomicAdd(&sh_sums[at], low);
    if old + low < old {
        atomicAdd(&sh_sums[at + SLOTS], 1u);
    }
}

// Adds `count` cells from column `column` on.
fn add(row: u32, place: u32, y: u32, column: u32, count: u32) {
    let columns = count * column + count * (count - 1u) / 2u;
    let slot = slot_of(row);
    if atomicLoad(&sh_owners[slot]) == row + 1u {
        atomicAdd(&sh_sums[slot], count);
        add_held(slot + SLOTS, count * y);
        add_held(slot + 3u * SLOTS, columns);
        atomicMax(&sh_sums[slot + 5u * SLOTS], NONE - y);
        atomicMax(&sh_sums[slot + 6u * SLOTS], NONE - column);
        atomicMax(&sh_sums[slot + 7u * SLOTS], NONE - place);
        atomicMax(&sh_sums[slot + 8u * SLOTS], y + 1u);
        atomicMax(&sh_sums[slot + 9u * SLOTS], column + count);
    } else {
        let at = FIELDS * row;
        atomicAdd(&sums[at], count);
        add_wide(at + 1u, count * y, 0u);
        add_wide(at + 3u, columns, 0u);
        atomicMax(&sums[at + 5u], NONE - y);
        atomicMax(&sums[at + 6u], NONE - column);
        atomicMax(&sums[at + 7u], NONE - place);
        atomicMax(&sums[at + 8u], y + 1u);
        atomicMax(&sums[at + 9u], column + count);
    }
}

#main {
    for (var i = lid; i < SLOTS * FIELDS; i += WG) {
        atomicStore(&sh_sums[i], 0u);
    }
    atomicStore(&sh_owners[lid], 0u);
    workgroupBarrier();

    let first = group * CELLS + EACH * lid;
    let end = min(p.total, first + EACH);
    var start = At(0u, 0u, 0u, 1u);
    if first < end {
        start = element_of(first);
    }
    var at = start;
    for (var v = first; v < end; v += 1u) {
        while v >= at.end {
            at = element_at(at.element + 1u);
        }
        let row = row_of(at.element, v);
        if row != NONE {
            atomicMax(&sh_owners[slot_of(row)], row + 1u);
        }
    }
    workgroupBarrier();

    at = start;
    var y = (first - at.begin) / at.columns;
    var column = first - at.begin - y * at.columns;
    var run = NONE;
    var number = 0u;
    for (var v = first; v < end; v += 1u) {
        if column == at.columns {
            if run != NONE {
                add(run, v - number, y, column - number, number);
            }
            run = NONE;
            y += 1u;
            column = 0u;
            while v >= at.end {
                at = element_at(at.element + 1u);
                y = 0u;
            }
        }
        let row = row_of(at.element, v);
        if row != run || column >= WIDE {
            if run != NONE {
                add(run, v - number, y, column - number, number);
            }
            run = row;
            number = 0u;
        }
        number += 1u;
        column += 1u;
    }
    if run != NONE {
        add(run, end - number, y, column - number, number);
    }
    workgroupBarrier();

    let owner = atomicLoad(&sh_owners[lid]);
    if owner > 0u {
        let to = FIELDS * (owner - 1u);
        atomicAdd(&sums[to], atomicLoad(&sh_sums[lid]));
        for (var k = 1u; k < 5u; k += 2u) {
            let low = atomicLoad(&sh_sums[lid + k * SLOTS]);
            add_wide(to + k, low, atomicLoad(&sh_sums[lid + (k + 1u) * SLOTS]));
        }
        for (var k = 5u; k < FIELDS; k += 1u) {
            atomicMax(&sums[to + k], atomicLoad(&sh_sums[lid + k * SLOTS]));
        }
    }
}
