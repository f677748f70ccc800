//! Puzzles of colours: maps, counts, common colours, and patterns chosen by them.

use super::Solver;
use super::parts::{blank, colour_count, objects, spots, whole};
use vsla::image::{Direction, Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("0d3d703e", swap_colours_in_pairs),
    ("c8f0f002", orange_becomes_grey),
    ("b1948b0a", pink_becomes_red),
    ("5582e5ca", most_common_fills_all),
    ("9565186b", most_common_stays),
    ("25d8a9c8", uniform_rows),
    ("a85d4709", rows_by_place_of_grey),
    ("f76d97a5", grey_takes_other_colour),
    ("6e02f1e3", number_of_colours_as_line),
    ("e9afcf9a", checkerboard_of_two_rows),
    ("9af7a82c", colours_by_count),
    ("aabf363d", corner_colour_paints_object),
    ("27a28665", patterns_as_numbers),
    ("d4469b4b", three_glyphs),
    ("ea786f4a", diagonals_become_black),
    ("d23f8c26", middle_column_stays),
    ("d406998b", grey_in_every_other_column),
    ("a5f85a15", every_second_column_yellow),
    ("ba26e723", every_third_column_pink),
    ("bd4472b8", column_cycle_continued),
    ("746b3537", duplicates_of_rows_and_columns_go),
    ("90c28cc7", map_of_colour_areas),
    ("25ff71a9", shift_down),
    ("a79310a0", shift_down_and_turn_red),
    ("d037b0a7", colours_fall_through),
    ("6f8cd79b", frame_of_light_blue),
    ("d631b094", row_of_coloured_cells),
    ("794b24be", counted_blue_cells),
    ("ff28f65a", counted_squares),
    ("239be575", are_red_cells_connected),
    ("1190e5a7", cells_of_grid),
];

/// Colours change places in pairs: 1 and 5, 2 and 6, 3 and 4, 8 and 9. Puzzle 0d3d703e.
fn swap_colours_in_pairs(x: &Image) -> Image {
    x.lookup(&x.constant(&[0, 5, 6, 4, 3, 1, 2, 7, 9, 8]))
}

/// Orange cells become grey. Puzzle c8f0f002.
fn orange_becomes_grey(x: &Image) -> Image {
    x.equals(7).choose(5, x)
}

/// Pink cells become red. Puzzle b1948b0a.
fn pink_becomes_red(x: &Image) -> Image {
    x.equals(6).choose(2, x)
}

/// The whole image takes its most common colour. Puzzle 5582e5ca.
fn most_common_fills_all(x: &Image) -> Image {
    blank(x).plus(&x.most_common(10))
}

/// Cells of the most common colour stay, the others become grey. Puzzle 9565186b.
fn most_common_stays(x: &Image) -> Image {
    x.equals(&x.most_common(10)).choose(x, 5)
}

/// Rows of one colour become grey, all other rows black. Puzzle 25d8a9c8.
fn uniform_rows(x: &Image) -> Image {
    x.min_of_rows()
        .equals(&x.max_of_rows())
        .choose(5, &blank(x))
}

/// Each row takes a colour that stands for the column of its grey cell: red, yellow or green.
/// Puzzle a85d4709.
fn rows_by_place_of_grey(x: &Image) -> Image {
    let place = x.equals(5).times(&x.column_numbers()).sum_of_rows();
    place.lookup(&x.constant(&[2, 4, 3])).plus(&blank(x))
}

/// Grey cells take the other colour, and all other cells become black. Puzzle f76d97a5.
fn grey_takes_other_colour(x: &Image) -> Image {
    let grey = x.equals(5);
    let other = grey.choose(0, x).max();
    grey.choose(&other, 0)
}

/// The number of colours selects a grey line: the top row for one, the main diagonal for two, the
/// other diagonal for three. Puzzle 6e02f1e3.
fn number_of_colours_as_line(x: &Image) -> Image {
    let n = colour_count(x);
    let r = x.row_numbers();
    let c = x.column_numbers();
    let top = r.equals(0);
    let down = r.equals(&c);
    let up = r.plus(&c).equals(2);
    let line = n.equals(1).choose(&top, &n.equals(2).choose(&down, &up));
    line.times(5)
}

/// The two colours of two rows alternate like a checkerboard. Puzzle e9afcf9a.
fn checkerboard_of_two_rows(x: &Image) -> Image {
    let r = x.row_numbers();
    let c = x.column_numbers();
    let row = r.plus(&c).remainder(2);
    row.choose(&x.row(1), &x.row(0))
}

/// The answer has a column for each colour, the most frequent first. A column has as many coloured
/// cells as the image has of this colour. Puzzle 9af7a82c.
fn colours_by_count(x: &Image) -> Image {
    let colours = x.palette(10);
    let counts = colours.lookup(&x.histogram(10));
    let by_count = counts.transpose();
    let order = colours.transpose().sort_rows(&by_count, true).transpose();
    let lengths = by_count.sort_rows(&by_count, true).transpose();
    let sheet = x.filled(&counts.max(), &colours.columns(), 0, 900);
    sheet.row_numbers().less(&lengths).choose(&order, 0)
}

/// The object takes the colour of the lower left corner, which becomes black. Puzzle aabf363d.
fn corner_colour_paints_object(x: &Image) -> Image {
    let corner = x.row(-1).column(0);
    x.equals(&corner).choose(0, &spots(x).choose(&corner, 0))
}

/// The answer is one cell, whose colour stands for one of four patterns: 1, 2, 3 or 6. Puzzle
/// 27a28665.
fn patterns_as_numbers(x: &Image) -> Image {
    let on = spots(x);
    let middle = on.row(1).column(1);
    let first = on.row(0).column(0);
    let left = on.row(1).column(0);
    middle.choose(&first.choose(2, &left.choose(6, 3)), 1)
}

/// The colour selects one of three grey glyphs. Puzzle d4469b4b.
fn three_glyphs(x: &Image) -> Image {
    let colour = x.max();
    let r = blank(&x.crop(&x.constant(&[0, 0, 3, 3]))).row_numbers();
    let c = r.column_numbers();
    let tee = r.equals(0).or(&c.equals(1));
    let cross = r.equals(1).or(&c.equals(1));
    let corner = r.equals(2).or(&c.equals(2));
    let glyph = colour
        .equals(1)
        .choose(&cross, &colour.equals(2).choose(&tee, &corner));
    glyph.times(5)
}

/// The cells of both diagonals become black. Puzzle ea786f4a.
fn diagonals_become_black(x: &Image) -> Image {
    let r = x.row_numbers();
    let c = x.column_numbers();
    r.equals(&c).or(&r.equals(&c.flip_columns())).choose(0, x)
}

/// The middle column stays, and all other cells become black. Puzzle d23f8c26.
fn middle_column_stays(x: &Image) -> Image {
    x.column_numbers()
        .equals(&x.columns().divide(2))
        .choose(x, 0)
}

/// In every other column, beginning with the last, grey cells become green. Puzzle d406998b.
fn grey_in_every_other_column(x: &Image) -> Image {
    let c = x.column_numbers().flip_columns();
    x.and(&c.remainder(2).equals(0)).choose(3, x)
}

/// In every second column, coloured cells become yellow. Puzzle a5f85a15.
fn every_second_column_yellow(x: &Image) -> Image {
    x.and(&x.column_numbers().remainder(2)).choose(4, x)
}

/// In every third column, beginning with the first, yellow cells become pink. Puzzle ba26e723.
fn every_third_column_pink(x: &Image) -> Image {
    let third = x.column_numbers().remainder(3).equals(0);
    x.and(&third).choose(6, x)
}

/// Below the first two rows, each row takes one colour: those of the first row, in turn. Puzzle
/// bd4472b8.
fn column_cycle_continued(x: &Image) -> Image {
    let r = x.row_numbers();
    let k = r.minus(2).remainder(&x.columns());
    r.at_least(2).choose(&k.lookup(&x.row(0)), x)
}

/// Rows and columns that are equal to the one before are left out. Puzzle 746b3537.
fn duplicates_of_rows_and_columns_go(x: &Image) -> Image {
    let rows = x.keep_rows(
        &x.differs(&x.translate(&x.constant(&[1, 0]), -1))
            .max_of_rows(),
    );
    let shifted = rows.translate(&x.constant(&[0, 1]), -1);
    rows.keep_columns(&rows.differs(&shifted).max_of_columns())
}

/// Each area of a map of coloured areas becomes one cell. Puzzle 90c28cc7.
fn map_of_colour_areas(x: &Image) -> Image {
    let y = x.trim(0);
    let rows = y.keep_rows(
        &y.differs(&y.translate(&x.constant(&[1, 0]), -1))
            .max_of_rows(),
    );
    let shifted = rows.translate(&x.constant(&[0, 1]), -1);
    rows.keep_columns(&rows.differs(&shifted).max_of_columns())
}

/// Everything moves down by one row. Puzzle 25ff71a9.
fn shift_down(x: &Image) -> Image {
    x.translate(&x.constant(&[1, 0]), 0)
}

/// The object moves down by one row and becomes red. Puzzle a79310a0.
fn shift_down_and_turn_red(x: &Image) -> Image {
    spots(&x.translate(&x.constant(&[1, 0]), 0)).times(2)
}

/// Each colour runs down its column to the next coloured cell. Puzzle d037b0a7.
fn colours_fall_through(x: &Image) -> Image {
    x.carry(Direction::Down)
}

/// A light blue frame is drawn along the border. Puzzle 6f8cd79b.
fn frame_of_light_blue(x: &Image) -> Image {
    x.outline(&whole(x), 8)
}

/// The answer is a row with as many cells, in the same colour, as the image has coloured cells.
/// Puzzle d631b094.
fn row_of_coloured_cells(x: &Image) -> Image {
    x.filled(1, &spots(x).sum(), &x.max(), 900)
}

/// Blue cells are counted by red ones: the first three fill the first row, and the fourth lies
/// below the middle one. Puzzle 794b24be.
fn counted_blue_cells(x: &Image) -> Image {
    let n = x.sum();
    let r = x.row_numbers();
    let c = x.column_numbers();
    let rank = r
        .choose(&c.equals(1).choose(4, 9), &c.plus(1))
        .plus(&r.equals(2).times(9));
    rank.at_most(&n).times(2)
}

/// Red squares are counted by blue cells, which lie at every other cell of a block of three by
/// three. Puzzle ff28f65a.
fn counted_squares(x: &Image) -> Image {
    let n = x.label(LabelBy::Values, Neighbours::Four, 0).max();
    let r = blank(&x.crop(&x.constant(&[0, 0, 3, 3]))).row_numbers();
    let k = r.times(3).plus(&r.column_numbers());
    k.remainder(2).equals(0).and(&k.divide(2).less(&n))
}

/// The answer is one cell: light blue if coloured cells connect the red squares, else black. Puzzle
/// 239be575.
fn are_red_cells_connected(x: &Image) -> Image {
    let labels = objects(x);
    let red = x.equals(2);
    let highest = red.choose(&labels, 0).max();
    let lowest = red.choose(&labels, 1000).min();
    highest.equals(&lowest).choose(8, 0)
}

/// The answer has a cell in the background colour for each field of the grid. Puzzle 1190e5a7.
fn cells_of_grid(x: &Image) -> Image {
    let rows = x.keep_rows(
        &x.differs(&x.translate(&x.constant(&[1, 0]), -1))
            .max_of_rows(),
    );
    let cut = rows.keep_columns(
        &rows
            .differs(&rows.translate(&x.constant(&[0, 1]), -1))
            .max_of_columns(),
    );
    cut.downscale(2)
}
