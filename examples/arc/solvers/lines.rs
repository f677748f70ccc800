//! Puzzles of lines, rays, and cells that are joined.

use super::Solver;
use super::parts::{between, joined, moved, spots, top_left};
use vsla::image::{Direction, Image, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("178fcbfb", lines_through_cells),
    ("23581191", crossing_lines),
    ("99fa7670", waterfalls),
    ("97999447", alternating_rays),
    ("29c11459", half_and_half),
    ("22eb0ac0", rows_with_equal_ends),
    ("d4a91cb9", down_then_across),
    ("a2fd1cf0", across_then_down),
    ("253bf280", green_between_light_blue),
    ("ded97339", light_blue_cells_joined),
    ("dbc1a6ce", blue_cells_joined),
    ("40853293", equal_colours_joined),
    ("22168020", outlines_filled_by_rows),
    ("1f876c06", diagonals_joined),
    ("c1d99e64", black_lines_red),
    ("3bd67248", diagonal_and_base),
    ("a65b410d", stairs_on_both_sides),
    ("bbc9ae5d", growing_bar),
    ("db3e9e38", triangle_under_line),
    ("feca6190", row_as_diagonals),
    ("e179c5f4", bouncing_ball),
    ("a3df8b1e", bouncing_ball_on_black),
    ("623ea044", four_diagonals),
    ("25d487eb", beam_through_triangle),
    ("67a423a3", ring_around_crossing),
    ("bdad9b1f", lines_extended),
    ("ba97ae07", crossing_under_over),
    ("ce9e57f2", lower_halves_of_bars),
    ("c9f8e694", grey_takes_colour_of_row),
    ("6cdd2623", full_lines_only),
    ("2281f1f4", marked_rows_and_columns),
    ("5c0a986e", tails_of_blocks),
    ("7ddcd7ec", tails_extended),
];

/// Red cells become vertical lines; blue and green cells become horizontal lines, which lie on top.
/// Puzzle 178fcbfb.
fn lines_through_cells(x: &Image) -> Image {
    let red = x.equals(2);
    let row = red.choose(0, x).max_of_rows();
    let column = red.max_of_columns();
    row.choose(&row, &column.times(2))
}

/// Each of two cells becomes a horizontal and a vertical line. Where lines of different colours
/// cross, the cell is red. Puzzle 23581191.
fn crossing_lines(x: &Image) -> Image {
    let row = x.max_of_rows();
    let column = x.max_of_columns();
    let crossing = row.and(&column).and(&row.differs(&column));
    crossing.choose(2, &row.maximum(&column))
}

/// Each coloured cell runs right to the border, and from there down to the next one. Puzzle
/// 99fa7670.
fn waterfalls(x: &Image) -> Image {
    let y = x.carry(Direction::Right);
    let edge = y.column(-1).carry(Direction::Down);
    let last = x.column_numbers().equals(&x.columns().minus(1));
    last.choose(&edge, &y)
}

/// From each coloured cell to the right, its colour and grey alternate. Puzzle 97999447.
fn alternating_rays(x: &Image) -> Image {
    let ray = x.carry(Direction::Right);
    let steps = spots(&ray).scan_sum(Direction::Right);
    ray.and(&steps.remainder(2).equals(0)).choose(5, &ray)
}

/// In rows with a coloured cell at both ends, each colour fills its half, and the middle becomes
/// grey. Puzzle 29c11459.
fn half_and_half(x: &Image) -> Image {
    let first = x.column(0);
    let last = x.column(-1);
    let c = x.column_numbers();
    let middle = x.columns().divide(2);
    let filled = c
        .less(&middle)
        .choose(&first, &c.equals(&middle).choose(5, &last));
    first.choose(&filled, 0)
}

/// Rows whose two ends have the same colour are filled with it. Puzzle 22eb0ac0.
fn rows_with_equal_ends(x: &Image) -> Image {
    let first = x.column(0);
    first.equals(&x.column(-1)).choose(&first, x)
}

/// A yellow path leads from the light blue cell down or up, then across to the red cell. Puzzle
/// d4a91cb9.
fn down_then_across(x: &Image) -> Image {
    let start = top_left(&x.equals(8).bounding_box());
    let end = top_left(&x.equals(2).bounding_box());
    let corner = end.column(0).beside(&start.column(1));
    let path = x.line(&start, &corner, 4).line(&corner, &end, 4);
    x.choose(x, &path)
}

/// A light blue path leads from the red cell across, then down or up to the green cell. Puzzle
/// a2fd1cf0.
fn across_then_down(x: &Image) -> Image {
    let start = top_left(&x.equals(2).bounding_box());
    let end = top_left(&x.equals(3).bounding_box());
    let corner = start.column(0).beside(&end.column(1));
    let path = x.line(&start, &corner, 8).line(&corner, &end, 8);
    x.choose(x, &path)
}

/// Black cells between two light blue cells in the same row or column become green. Puzzle
/// 253bf280.
fn green_between_light_blue(x: &Image) -> Image {
    let row = between(x, Direction::Right, Direction::Left);
    let column = between(x, Direction::Down, Direction::Up);
    x.not().and(&row.or(&column)).choose(3, x)
}

/// Light blue cells in the same row or column are joined by lines. Puzzle ded97339.
fn light_blue_cells_joined(x: &Image) -> Image {
    let row = between(x, Direction::Right, Direction::Left);
    let column = between(x, Direction::Down, Direction::Up);
    row.or(&column).times(8)
}

/// Blue cells in the same row or column are joined by light blue lines. Puzzle dbc1a6ce.
fn blue_cells_joined(x: &Image) -> Image {
    let row = between(x, Direction::Right, Direction::Left);
    let column = between(x, Direction::Down, Direction::Up);
    x.not().and(&row.or(&column)).choose(8, x)
}

/// Cells of one colour in the same row or column are joined by lines; vertical lines lie on top.
/// Puzzle 40853293.
fn equal_colours_joined(x: &Image) -> Image {
    let row = joined(x, Direction::Right, Direction::Left);
    let column = joined(x, Direction::Down, Direction::Up);
    column.choose(&column, &row)
}

/// In each row the cells between two cells of one colour are filled. Puzzle 22168020.
fn outlines_filled_by_rows(x: &Image) -> Image {
    joined(x, Direction::Right, Direction::Left)
}

/// Cells of one colour on the same diagonal are joined by lines. Puzzle 1f876c06.
fn diagonals_joined(x: &Image) -> Image {
    let down = joined(x, Direction::DownRight, Direction::UpLeft);
    let up = joined(x, Direction::UpRight, Direction::DownLeft);
    down.maximum(&up)
}

/// Rows and columns without a coloured cell become red. Puzzle c1d99e64.
fn black_lines_red(x: &Image) -> Image {
    let rows = x.max_of_rows().not();
    let columns = x.max_of_columns().not();
    rows.or(&columns).choose(2, x)
}

/// A red diagonal rises from the lower left corner; a yellow line fills the last row. Puzzle
/// 3bd67248.
fn diagonal_and_base(x: &Image) -> Image {
    let r = x.row_numbers();
    let c = x.column_numbers();
    let last = r.flip_rows().equals(0);
    let slope = r.flip_rows().equals(&c);
    x.choose(x, &last.choose(4, &slope.times(2)))
}

/// Above the red bar, each green row is longer by one cell than the row below it. Below the bar,
/// each blue row is shorter by one than the row above it. Puzzle a65b410d.
fn stairs_on_both_sides(x: &Image) -> Image {
    let red = x.equals(2);
    let length = red.sum();
    let row = red.max_of_rows().place_of_max();
    let above = row.minus(&x.row_numbers());
    let colour = above.equals(0).choose(2, &above.greater(0).choose(3, 1));
    x.column_numbers().less(&above.plus(&length)).times(&colour)
}

/// The answer has half as many rows as columns. The first is the bar, and in each row the bar is
/// longer by one cell than in the row above. Puzzle bbc9ae5d.
fn growing_bar(x: &Image) -> Image {
    let length = spots(x).sum();
    let sheet = x.filled(&x.columns().divide(2), &x.columns(), 0, 900);
    let reach = sheet.row_numbers().plus(&length);
    sheet.column_numbers().less(&reach).times(&x.max())
}

/// The vertical line becomes a triangle: to both sides, each column is shorter by one cell, and
/// orange and light blue alternate. Puzzle db3e9e38.
fn triangle_under_line(x: &Image) -> Image {
    let flags = spots(x);
    let length = flags.sum();
    let place = x.row(0).place_of_max();
    let far = x.column_numbers().minus(&place);
    let distance = far.maximum(&far.times(-1));
    let colour = distance.remainder(2).choose(8, 7);
    distance.plus(&x.row_numbers()).less(&length).times(&colour)
}

/// The row becomes the last row of a square, whose side is five times the number of coloured cells.
/// Each of these starts a diagonal that rises to the right. Puzzle feca6190.
fn row_as_diagonals(x: &Image) -> Image {
    let size = spots(x).sum().times(5);
    let sheet = x.filled(&size, &size, 0, 900);
    let place = size.minus(1).beside(&x.number(0));
    sheet.paste(x, &place).carry(Direction::UpRight)
}

/// A blue ball rises from the lower left corner and bounces between the sides; its path is drawn on
/// light blue. Puzzle e179c5f4.
fn bouncing_ball(x: &Image) -> Image {
    let wave = x.columns().minus(1);
    let phase = x.row_numbers().flip_rows().remainder(&wave.times(2));
    let place = phase.minimum(&wave.times(2).minus(&phase));
    x.column_numbers().equals(&place).choose(1, 8)
}

/// A blue ball rises from the lower left corner and bounces between the sides; its path is drawn on
/// black. Puzzle a3df8b1e.
fn bouncing_ball_on_black(x: &Image) -> Image {
    let wave = x.columns().minus(1);
    let phase = x.row_numbers().flip_rows().remainder(&wave.times(2));
    let place = phase.minimum(&wave.times(2).minus(&phase));
    x.column_numbers().equals(&place)
}

/// Four diagonal rays leave the coloured cell. Puzzle 623ea044.
fn four_diagonals(x: &Image) -> Image {
    let down = x
        .carry(Direction::DownRight)
        .maximum(&x.carry(Direction::DownLeft));
    let up = x
        .carry(Direction::UpRight)
        .maximum(&x.carry(Direction::UpLeft));
    down.maximum(&up)
}

/// One cell of the triangle has another colour. A beam of this colour leaves the triangle at the
/// opposite tip. Puzzle 25d487eb.
fn beam_through_triangle(x: &Image) -> Image {
    let colour = x.least_common(10);
    let mark = x.equals(&colour);
    let body = spots(x).and(&mark.not());
    let right = mark
        .and(&moved(&body, 0, -1))
        .and(&moved(&body, 0, 1).not());
    let left = mark
        .and(&moved(&body, 0, 1))
        .and(&moved(&body, 0, -1).not());
    let down = mark
        .and(&moved(&body, -1, 0))
        .and(&moved(&body, 1, 0).not());
    let up = mark
        .and(&moved(&body, 1, 0))
        .and(&moved(&body, -1, 0).not());
    let across = right
        .scan_max(Direction::Right)
        .or(&left.scan_max(Direction::Left));
    let along = down
        .scan_max(Direction::Down)
        .or(&up.scan_max(Direction::Up));
    x.choose(x, &across.or(&along).times(&colour))
}

/// Where two lines cross, the eight cells around the crossing become yellow. Puzzle 67a423a3.
fn ring_around_crossing(x: &Image) -> Image {
    let rows = spots(x).min_of_rows();
    let columns = spots(x).min_of_columns();
    let crossing = rows.and(&columns);
    let ring = crossing.dilate(Neighbours::Eight).and(&crossing.not());
    ring.choose(4, x)
}

/// The red bar is extended to a whole row, the light blue one to a whole column; they cross in
/// yellow. Puzzle bdad9b1f.
fn lines_extended(x: &Image) -> Image {
    let row = x.equals(2).max_of_rows();
    let column = x.equals(8).max_of_columns();
    row.and(&column).choose(4, &row.choose(2, &column.times(8)))
}

/// Two bars cross. The one that lies below comes to lie on top. Puzzle ba97ae07.
fn crossing_under_over(x: &Image) -> Image {
    let rows = spots(x).min_of_rows();
    let columns = spots(x).min_of_columns();
    let other = x.palette(10).sum().minus(x);
    rows.and(&columns).choose(&other, x)
}

/// The lower half of each red bar becomes light blue. Puzzle ce9e57f2.
fn lower_halves_of_bars(x: &Image) -> Image {
    let flags = spots(x);
    let height = flags.scan_sum(Direction::Up);
    let half = flags.sum_of_columns().divide(2);
    flags.and(&height.at_most(&half)).choose(8, x)
}

/// Grey cells take the colour of the first cell of their row. Puzzle c9f8e694.
fn grey_takes_colour_of_row(x: &Image) -> Image {
    x.equals(5).choose(&x.column(0), x)
}

/// Only lines whose two ends have the same colour stay; all other cells become black. Puzzle
/// 6cdd2623.
fn full_lines_only(x: &Image) -> Image {
    let left = x.column(0);
    let top = x.row(0);
    let row = left.equals(&x.column(-1)).times(&left);
    let column = top.equals(&x.row(-1)).times(&top);
    let colour = row.max().maximum(&column.max());
    let lines = row.equals(&colour).or(&column.equals(&colour));
    lines.times(&colour)
}

/// Black cells below a grey cell of the first row and left of one in the last column become red.
/// Puzzle 2281f1f4.
fn marked_rows_and_columns(x: &Image) -> Image {
    let row = x.column(-1).equals(5);
    let column = x.row(0).equals(5);
    x.not().and(&row.and(&column)).choose(2, x)
}

/// A blue diagonal leads from the blue block up to the left, and a red one from the red block down
/// to the right. Puzzle 5c0a986e.
fn tails_of_blocks(x: &Image) -> Image {
    let blue = x.equals(1);
    let red = x.equals(2);
    let first = moved(&blue, 1, 1)
        .not()
        .and(&moved(&blue, 0, 1).not())
        .and(&blue);
    let corner = first.and(&moved(&blue, 1, 0).not());
    let last = moved(&red, -1, -1)
        .not()
        .and(&moved(&red, 0, -1).not())
        .and(&red);
    let end = last.and(&moved(&red, -1, 0).not());
    let up = corner.scan_max(Direction::UpLeft);
    let down = end.scan_max(Direction::DownRight).times(2);
    x.choose(x, &up.maximum(&down))
}

/// The diagonals that begin at the corners of the block are continued to the border. Puzzle
/// 7ddcd7ec.
fn tails_extended(x: &Image) -> Image {
    let flags = spots(x);
    let row = flags.and(&moved(&flags, 0, -1));
    let square = row.and(&moved(&row, -1, 0));
    let wide = square.or(&moved(&square, 0, 1));
    let block = wide.or(&moved(&wide, 1, 0));
    let tail = flags.and(&block.not());
    let first = tail
        .and(&moved(&block, 1, 1))
        .scan_max(Direction::DownRight);
    let second = tail
        .and(&moved(&block, 1, -1))
        .scan_max(Direction::DownLeft);
    let third = tail.and(&moved(&block, -1, 1)).scan_max(Direction::UpRight);
    let fourth = tail.and(&moved(&block, -1, -1)).scan_max(Direction::UpLeft);
    let rays = first.or(&second).or(&third.or(&fourth));
    x.choose(x, &rays.times(&x.max()))
}
