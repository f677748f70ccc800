// An image, its words of 32 cells of a row, and the shape of its tiles, as the planner has them.
//
// Uses `p.elements` and x_meta.
struct Image {
    // Where its cells begin in the batch.
    begin: u32,
    rows: u32,
    columns: u32,
    // Words of a row.
    across: u32,
    // Words of a row of a tile, and rows of a tile.
    wide: u32,
    high: u32,
}

// The parent of a cell of the background.
const NONE = 0xffffffffu;

fn image_of(e: u32) -> Image {
    let at = p.elements + 1u + 2u * e;
    var rows = x_meta[at];
    var columns = x_meta[at + 1u];
    // A column is labelled as a row, which fills words.
    if columns == 1u {
        columns = rows;
        rows = 1u;
    }
    let across = (columns + 31u) / 32u;
    var wide = 2u;
#if WHOLE
    wide = max(across, 1u);
#else
    if across == 1u {
        wide = 1u;
    } else if rows < 32u {
        wide = WORDS / rows;
    }
#endif
    return Image(x_meta[e], rows, columns, across, wide, WORDS / min(wide, WORDS));
}
