//! Puzzles of grids, fields, tilings and stripes.

use super::Solver;
use super::parts::{
    blank, block_code, fields_of_three, left_half, lower_half, moved, per_cell, right_half,
    upper_half, whole,
};
use vsla::image::{Direction, Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("5bd6f4ac", constant_part),
    ("5614dbcf", blocks_without_noise),
    ("54d9e175", centre_fills_field),
    ("6773b310", fields_with_two_pink_cells),
    ("29623171", fullest_field),
    ("09629e4f", emptiest_field_enlarged),
    ("941d9a10", first_middle_last_field),
    ("272f95fa", nine_fields_coloured),
    ("2dc579da", field_with_odd_cell),
    ("c444b776", pattern_in_all_fields),
    ("e26a3af2", stripes_without_noise),
    ("780d0b14", map_of_noisy_fields),
    ("995c5fa3", patterns_of_three_blocks),
    ("77fdfe62", grid_fields_by_corner_colours),
    ("7c008303", pattern_by_four_colours),
    ("b190f7f5", shape_at_each_cell),
    ("bc1d5164", overlapping_corners),
    ("e3497940", folded_at_line),
    ("e98196ab", halves_merged),
    ("f5b8619d", light_blue_tiling),
    ("eb281b96", mirrored_down_three_times),
    ("f25ffba3", completed_upside_down),
    ("496994bd", mirrored_to_bottom),
    ("05269061", diagonal_pattern),
    ("d8c310e9", pattern_continued_right),
    ("3bdb4ada", every_second_cell_of_middle_row),
];

/// The answer is the upper right block of three by three cells. Puzzle 5bd6f4ac.
fn constant_part(x: &Image) -> Image {
    x.crop(&x.constant(&[0, 6, 3, 9]))
}

/// Each block of three by three cells becomes one cell; grey cells are noise. Puzzle 5614dbcf.
fn blocks_without_noise(x: &Image) -> Image {
    let clean = x.equals(5).choose(0, x);
    clean
        .dilate(Neighbours::Eight)
        .crop(&x.constant(&[1, 1, 9, 9]))
        .downscale(3)
}

/// Each field between the grey lines is filled with a colour: that of its middle cell, plus five.
/// Puzzle 54d9e175.
fn centre_fills_field(x: &Image) -> Image {
    let line = x.equals(5);
    let centre = line.choose(0, x).dilate(Neighbours::Eight);
    line.choose(5, &centre.plus(5))
}

/// Each field of the grid becomes one cell: blue if the field has two pink cells, else black.
/// Puzzle 6773b310.
fn fields_with_two_pink_cells(x: &Image) -> Image {
    let six = x.equals(6);
    let rows = six.plus(&moved(&six, 1, 0)).plus(&moved(&six, -1, 0));
    let sums = rows.plus(&moved(&rows, 0, 1)).plus(&moved(&rows, 0, -1));
    sums.crop(&x.constant(&[1, 1, 11, 11]))
        .downscale(4)
        .equals(2)
}

/// The field with the most coloured cells is filled with their colour; the other fields become
/// black. Puzzle 29623171.
fn fullest_field(x: &Image) -> Image {
    let counts = fields_of_three(x);
    let best = counts
        .equals(&counts.max())
        .upscale(4)
        .within(900)
        .crop(&x.constant(&[0, 0, 11, 11]));
    let line = x.equals(5);
    let colour = line.choose(0, x).max();
    line.choose(5, &best.times(&colour))
}

/// The field with the fewest coloured cells is enlarged to the whole grid, a field for each of its
/// cells. Puzzle 09629e4f.
fn emptiest_field_enlarged(x: &Image) -> Image {
    let k = fields_of_three(x).place_of_min();
    let place = k.divide(3).beside(&k.remainder(3)).times(4);
    let field = x.crop(&place.beside(&place.plus(3)));
    let large = field
        .upscale(4)
        .within(900)
        .crop(&x.constant(&[0, 0, 11, 11]));
    x.equals(5).choose(5, &large)
}

/// Of the black fields between the lines, the first becomes blue, the middle one red and the last
/// one green. Puzzle 941d9a10.
fn first_middle_last_field(x: &Image) -> Image {
    let labels = x.not().label(LabelBy::Values, Neighbours::Four, 0);
    let middle = labels
        .row(&x.rows().divide(2))
        .column(&x.columns().divide(2));
    let first = labels.equals(1);
    let last = labels.equals(&labels.max());
    let inside = labels.and(&labels.equals(&middle));
    first.choose(1, &inside.choose(2, &last.choose(3, x)))
}

/// Of the nine fields between the lines, five get a colour that depends on their place. Puzzle
/// 272f95fa.
fn nine_fields_coloured(x: &Image) -> Image {
    let labels = x.not().label(LabelBy::Values, Neighbours::Four, 0);
    let colours = x.constant(&[0, 0, 2, 0, 4, 6, 3, 0, 1, 0]);
    labels.choose(&labels.lookup(&colours), x)
}

/// Of four fields, the one that has a cell of another colour is cut out. Puzzle 2dc579da.
fn field_with_odd_cell(x: &Image) -> Image {
    let odd = x.equals(&x.least_common(10));
    let uniform = x.min_of_rows().equals(&x.max_of_rows());
    let clear = x.differs(&uniform.choose(&x.column(0), -1).max());
    let labels = clear.label(LabelBy::Foreground, Neighbours::Four, 0);
    let label = odd.choose(&labels, 0).max();
    x.crop(&labels.equals(&label).bounding_box())
}

/// The pattern of one field between yellow lines is copied to all fields. Puzzle c444b776.
fn pattern_in_all_fields(x: &Image) -> Image {
    let line = x.equals(4);
    let cells = line.choose(0, x);
    let down = cells
        .maximum(&moved(&cells, 10, 0))
        .maximum(&moved(&cells, -10, 0));
    let near = down
        .maximum(&moved(&down, 0, 10))
        .maximum(&moved(&down, 0, -10));
    let far = near
        .maximum(&moved(&down, 0, 20))
        .maximum(&moved(&down, 0, -20));
    line.choose(4, &far)
}

/// Stripes with noise: each row, or each column, takes its most common colour. Puzzle e26a3af2.
fn stripes_without_noise(x: &Image) -> Image {
    let mut by_row = x.equals(1).sum_of_rows().times(10).plus(1);
    let mut by_column = x.equals(1).sum_of_columns().times(10).plus(1);
    for v in 2..10 {
        by_row = by_row.maximum(&x.equals(v).sum_of_rows().times(10).plus(v));
        by_column = by_column.maximum(&x.equals(v).sum_of_columns().times(10).plus(v));
    }
    let rows = by_row.remainder(10).plus(&blank(x));
    let columns = by_column.remainder(10).plus(&blank(x));
    let better = rows.equals(x).sum().greater(&columns.equals(x).sum());
    better.choose(&rows, &columns)
}

/// Each noisy coloured field between black lines becomes one cell of its colour. Puzzle 780d0b14.
fn map_of_noisy_fields(x: &Image) -> Image {
    let rows = x.max_of_rows();
    let starts = rows.and(&moved(&rows, 1, 0).not());
    let ends = rows.and(&moved(&rows, -1, 0).not());
    let group = starts.scan_sum(Direction::Down).times(10);
    let strips = x
        .choose(&x.plus(&group), 0)
        .scan_max(Direction::Down)
        .keep_rows(&ends)
        .remainder(10);
    let columns = strips.max_of_columns();
    let first = columns.and(&moved(&columns, 0, 1).not());
    let last = columns.and(&moved(&columns, 0, -1).not());
    let part = first.scan_sum(Direction::Right).times(10);
    let cells = strips
        .choose(&strips.plus(&part), 0)
        .scan_max(Direction::Right);
    cells.keep_columns(&last).remainder(10)
}

/// Each of three grey blocks has one of four patterns. The answer has a row for each block, whose
/// colour stands for the pattern. Puzzle 995c5fa3.
fn patterns_of_three_blocks(x: &Image) -> Image {
    let a = x.crop(&x.constant(&[0, 0, 4, 4]));
    let rows = block_code(&a).above(&block_code(&x.crop(&x.constant(&[0, 5, 4, 9]))));
    rows.above(&block_code(&x.crop(&x.constant(&[0, 10, 4, 14]))))
        .upscale(&x.constant(&[1, 3]))
        .within(900)
}

/// The light blue pattern takes the colours of the four corner cells, a quarter of the pattern
/// each. Puzzle 77fdfe62.
fn grid_fields_by_corner_colours(x: &Image) -> Image {
    let colours = x.downscale(&x.rows().minus(1));
    let inside = whole(x).plus(&x.constant(&[2, 2, -2, -2]));
    let pattern = x.crop(&inside).equals(8);
    colours
        .upscale(&pattern.rows().divide(2))
        .within(900)
        .times(&pattern)
}

/// The green pattern takes the colours of the small block of four cells, a quarter of the pattern
/// each. Puzzle 7c008303.
fn pattern_by_four_colours(x: &Image) -> Image {
    let lines = x.equals(8).or(&x.equals(3));
    let colours = lines.choose(0, x).trim(0);
    let bounds = lines.choose(0, x).bounding_box();
    let place = bounds.crop(&x.constant(&[0, 0, 1, 2])).equals(0).times(3);
    let cut = x.crop(&place.beside(&place.plus(6)));
    cut.equals(3).times(&colours.upscale(3).within(900))
}

/// One half has coloured cells, the other a light blue shape. Each coloured cell becomes a copy of
/// the shape in its colour. Puzzle b190f7f5.
fn shape_at_each_cell(x: &Image) -> Image {
    let wide = x.columns().greater(&x.rows());
    let one = left_half(x).when(&wide).or_else(&upper_half(x));
    let two = right_half(x).when(&wide).or_else(&lower_half(x));
    let shape_first = one.equals(8).same(&one.differs(0));
    let shape = one.when(&shape_first).or_else(&two);
    let cells = two.when(&shape_first).or_else(&one);
    let factors = cells.rows().beside(&cells.columns());
    let size = shape.rows().beside(&shape.columns());
    cells
        .upscale(&size)
        .within(900)
        .times(&shape.equals(8).tile(&factors).within(900))
}

/// The blocks of three by three cells in the four corners are laid over each other. Puzzle
/// bc1d5164.
fn overlapping_corners(x: &Image) -> Image {
    let a = x.crop(&x.constant(&[0, 0, 3, 3]));
    let b = x.crop(&x.constant(&[0, 4, 3, 7]));
    let c = x.crop(&x.constant(&[2, 0, 5, 3]));
    let d = x.crop(&x.constant(&[2, 4, 5, 7]));
    a.maximum(&b).maximum(&c.maximum(&d))
}

/// The right half is folded over the left half, along the line between them. Puzzle e3497940.
fn folded_at_line(x: &Image) -> Image {
    left_half(x).maximum(&left_half(&x.flip_columns()))
}

/// The upper and the lower half are laid over each other. Puzzle e98196ab.
fn halves_merged(x: &Image) -> Image {
    upper_half(x).maximum(&lower_half(x))
}

/// In columns with a coloured cell, black cells become light blue; then the image is repeated to
/// the right and below. Puzzle f5b8619d.
fn light_blue_tiling(x: &Image) -> Image {
    let columns = x.max_of_columns();
    x.choose(x, &columns.choose(8, 0)).tile(2).within(900)
}

/// The image is continued downwards by three reflections, at each of which the row at the turn
/// occurs once. Puzzle eb281b96.
fn mirrored_down_three_times(x: &Image) -> Image {
    let up = x.flip_rows();
    let bounds = whole(x).plus(&x.constant(&[1, 0, 0, 0]));
    let rest = up.crop(&bounds);
    let back = x.crop(&bounds);
    x.above(&rest).above(&back).above(&rest)
}

/// The lower half is mirrored into the black upper half. Puzzle f25ffba3.
fn completed_upside_down(x: &Image) -> Image {
    x.maximum(&x.flip_rows())
}

/// The rows at the top are mirrored to the bottom. Puzzle 496994bd.
fn mirrored_to_bottom(x: &Image) -> Image {
    x.maximum(&x.flip_rows())
}

/// Three colours alternate along the diagonals, of which the image shows some. The pattern is
/// continued over the whole image. Puzzle 05269061.
fn diagonal_pattern(x: &Image) -> Image {
    let k = x.row_numbers().plus(&x.column_numbers()).remainder(3);
    let zero = k.equals(0).times(x).max();
    let one = k.equals(1).times(x).max();
    let two = k.equals(2).times(x).max();
    k.lookup(&zero.beside(&one).beside(&two))
}

/// The periodic pattern at the bottom is continued to the right border. Puzzle d8c310e9.
fn pattern_continued_right(x: &Image) -> Image {
    let end = x.bounding_box().column(3);
    let p = x
        .crop(&x.constant(&[0, 0]).beside(&x.rows().beside(&end)))
        .period(1);
    let first = x.crop(&x.constant(&[0, 0]).beside(&x.rows().beside(&p)));
    first
        .tile(&x.constant(&[1, 16]))
        .within(900)
        .crop(&whole(x))
}

/// In the middle row of each bar, every second cell becomes black. Puzzle 3bdb4ada.
fn every_second_cell_of_middle_row(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    let table = labels.regions(x, 50);
    let r = x.row_numbers().minus(&per_cell(&labels, &table.column(1)));
    let c = x
        .column_numbers()
        .minus(&per_cell(&labels, &table.column(2)));
    r.equals(1).and(&c.remainder(2)).choose(0, x)
}
