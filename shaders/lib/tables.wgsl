// The elements that a tile of c overlaps, cached in workgroup memory if there are at most SPAN.
//
// The kernel defines Entry, the data that it needs of an element, and entry_of(e), which reads it.
struct Tile {
    // The range of values of c.
    start: u32,
    end: u32,
    // `count` elements, starting at `first`.
    first: u32,
    count: u32,
    tabled: bool,
}

var<workgroup> sh_start: array<u32, SPAN + 1u>;
var<workgroup> sh_entry: array<Entry, SPAN>;
var<workgroup> sh_count: u32;

// Finds the elements of values [start, end) and fills the tables. Requires workgroup-uniform control flow.
fn tile_of(start: u32, end: u32, lid: u32) -> Tile {
    let first = find_element(start, p.elements, lid);
    if lid == 0u {
        sh_count = SPAN + 1u;
    }
    workgroupBarrier();
    if lid < SPAN {
        let e = first + lid;
        let e_start = c_meta[min(e, p.elements)];
        let e_end = c_meta[min(e + 1u, p.elements)];
        sh_start[lid] = e_start;
        if lid == SPAN - 1u {
            sh_start[SPAN] = e_end;
        }
        if e < p.elements && e_start < end {
            sh_entry[lid] = entry_of(e);
            if e_end >= end {
                sh_count = lid + 1u;
            }
        }
    }
    let count = workgroupUniformLoad(&sh_count);
    if count <= SPAN {
        return Tile(start, end, first, count, true);
    }
    let last = find_element(end - 1u, p.elements, lid);
    return Tile(start, end, first, last - first + 1u, false);
}

fn start_in_tile(e: u32, tile: Tile) -> u32 {
    if tile.tabled {
        return sh_start[e];
    }
    return c_meta[tile.first + e];
}

fn entry_in_tile(e: u32, tile: Tile) -> Entry {
    if tile.tabled {
        return sh_entry[e];
    }
    return entry_of(tile.first + e);
}

// The index in the tile of the element that contains value v of c: the last one that begins at or before v.
fn place_in_tile(v: u32, tile: Tile) -> u32 {
    var e = 0u;
    var high = tile.count;
    while high - e > 1u {
        let middle = (e + high) / 2u;
        if start_in_tile(middle, tile) <= v {
            e = middle;
        } else {
            high = middle;
        }
    }
    return e;
}
