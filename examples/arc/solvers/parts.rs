//! Parts of programs that several solvers share.

use vsla::image::{Direction, Image, LabelBy, Neighbours};

/// An image of zeros with the extents of `x`.
pub fn blank(x: &Image) -> Image {
    x.times(0)
}

/// The box of the whole image.
pub fn whole(x: &Image) -> Image {
    x.constant(&[0, 0]).beside(&x.rows().beside(&x.columns()))
}

/// The image, its mirror image to the right, and the mirror image of both below.
pub fn quadrupled(x: &Image) -> Image {
    let wide = x.beside(&x.flip_columns()).within(900);
    wide.above(&wide.flip_rows()).within(900)
}

/// The image and its three other turns, in a square: the image, and to the right, below and
/// diagonally below it the image turned clockwise, anticlockwise and by half a turn.
pub fn pinwheel(x: &Image) -> Image {
    let upper = x.beside(&x.rotate(3)).within(900);
    let lower = x.rotate(1).beside(&x.rotate(2)).within(900);
    upper.above(&lower).within(900)
}

/// The columns left of the middle, without a middle column.
pub fn left_half(x: &Image) -> Image {
    x.crop(
        &x.constant(&[0, 0])
            .beside(&x.rows().beside(&x.columns().divide(2))),
    )
}

/// The rows above the middle, without a middle row.
pub fn upper_half(x: &Image) -> Image {
    x.crop(
        &x.constant(&[0, 0])
            .beside(&x.rows().divide(2).beside(&x.columns())),
    )
}

/// The columns right of the middle, without a middle column.
pub fn right_half(x: &Image) -> Image {
    left_half(&x.flip_columns()).flip_columns()
}

/// The rows below the middle, without a middle row.
pub fn lower_half(x: &Image) -> Image {
    upper_half(&x.flip_rows()).flip_rows()
}

/// Labels of the objects: groups of coloured cells that touch, also at corners.
pub fn objects(x: &Image) -> Image {
    x.label(LabelBy::Foreground, Neighbours::Eight, 0)
}

/// The box in row `k` of a table of regions.
pub fn box_of(table: &Image, k: &Image) -> Image {
    table.row(k).crop(&table.constant(&[0, 1, 1, 5]))
}

/// For each cell, the entry of its region in a column of a table of regions; 0 for the background.
pub fn per_cell(labels: &Image, column: &Image) -> Image {
    labels.lookup(&labels.number(0).above(column))
}

/// The number of different colours, black included.
pub fn colour_count(x: &Image) -> Image {
    x.palette(10).columns()
}

/// Flags of the cells that are not black.
pub fn spots(x: &Image) -> Image {
    x.differs(0)
}

/// For each cell, the area of its region of one colour; 0 for black cells.
pub fn region_areas(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    per_cell(&labels, &labels.regions(x, 400).column(0))
}

/// The rank of each entry of a column: 1 for the largest, and equal ranks for equal entries.
pub fn ranks(column: &Image) -> Image {
    let larger = column.less(&column.transpose()).within(900);
    larger.sum_of_rows().plus(1)
}

/// The number of flags among the four neighbours of each cell.
pub fn neighbour_count(flags: &Image) -> Image {
    let up = flags.translate(&flags.constant(&[1, 0]), 0);
    let down = flags.translate(&flags.constant(&[-1, 0]), 0);
    let left = flags.translate(&flags.constant(&[0, 1]), 0);
    let right = flags.translate(&flags.constant(&[0, -1]), 0);
    up.plus(&down).plus(&left.plus(&right))
}

/// The image moved down and right by constant numbers of cells; black cells move in.
pub fn moved(x: &Image, rows: i32, columns: i32) -> Image {
    x.translate(&x.constant(&[rows, columns]), 0)
}

/// Flags of the cells that are flagged together with their eight neighbours. Cells outside of the
/// image count as not flagged.
pub fn inner(flags: &Image) -> Image {
    let wide = flags.and(&moved(flags, 0, 1)).and(&moved(flags, 0, -1));
    wide.and(&moved(&wide, 1, 0)).and(&moved(&wide, -1, 0))
}

/// Flags of the cells between two flags, themselves included. The directions are opposite ones.
pub fn between(flags: &Image, one: Direction, other: Direction) -> Image {
    flags.scan_max(one).and(&flags.scan_max(other))
}

/// Black cells become coloured if the nearest coloured cells on both sides have the same colour;
/// coloured cells stay. The directions are opposite ones.
pub fn joined(x: &Image, one: Direction, other: Direction) -> Image {
    let before = x.carry(one);
    let after = x.carry(other);
    before.equals(&after).times(&before)
}

/// The place of the first cell of a box: its first row and column.
pub fn top_left(bounds: &Image) -> Image {
    bounds.crop(&bounds.constant(&[0, 0, 1, 2]))
}

/// For each cell, whether its region is a full square.
pub fn fills_box(labels: &Image, table: &Image) -> Image {
    let height = table.column(3).minus(&table.column(1));
    let width = table.column(4).minus(&table.column(2));
    let square = height
        .equals(&width)
        .and(&table.column(0).equals(&height.times(&width)));
    per_cell(labels, &square)
}

/// Coloured cells with a black cell below move down by one row.
pub fn gravity_step(x: &Image) -> Image {
    let below = x.translate(&x.constant(&[-1, 0]), 1);
    x.choose(&below.choose(x, 0), &moved(x, 1, 0))
}

/// The number of coloured cells in each field of a grid, which has three by three fields of three
/// by three cells between grey lines.
pub fn fields_of_three(x: &Image) -> Image {
    let flags = x.differs(0).and(&x.differs(5));
    let rows = flags.plus(&moved(&flags, 1, 0)).plus(&moved(&flags, -1, 0));
    let sums = rows.plus(&moved(&rows, 0, 1)).plus(&moved(&rows, 0, -1));
    sums.crop(&x.constant(&[1, 1, 11, 11])).downscale(4)
}

/// The colour that stands for the pattern of a grey block: red if the block is full, light blue if
/// its middle is black, green if the second row begins with a black cell, and yellow if the last
/// row has a black cell.
pub fn block_code(block: &Image) -> Image {
    let gaps = block.not();
    let middle = gaps.row(1).column(1);
    let side = gaps.row(1).column(0);
    let bottom = gaps.row(3).column(1);
    middle.choose(8, &side.choose(3, &bottom.choose(4, 2)))
}
