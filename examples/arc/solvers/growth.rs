//! Puzzles of neighbourhoods: rings, insides, holes, stamps.

use super::Solver;
use super::parts::{
    between, blank, fills_box, inner, moved, neighbour_count, region_areas, spots, top_left,
};
use vsla::image::{Direction, Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("ce22a75a", blocks_around_cells),
    ("4258a5f9", rings_around_cells),
    ("dc1df850", ring_around_red),
    ("31aa019c", lone_colour_ringed),
    ("95990924", numbered_corners),
    ("b60334d2", grey_corners_blue_edges),
    ("0ca9ddb6", flowers),
    ("0962bcdd", crosses_grow),
    ("3aa6fb7a", corners_completed),
    ("d90796e8", green_next_to_red),
    ("d364b489", four_neighbours_coloured),
    ("a699fb00", gap_between_blue_cells),
    ("bb43febb", inside_red),
    ("50cb2852", inside_light_blue),
    ("4347f46a", hollow_blocks),
    ("543a7ed5", outlined_and_filled),
    ("6d75e8bb", box_filled_red),
    ("7b6016b9", inside_and_outside),
    ("83302e8f", squares_in_grid),
    ("44d8ac46", square_holes_red),
    ("c0f76784", holes_by_size),
    ("d4f3cd78", box_overflows),
    ("af902bf9", rectangles_between_corners),
    ("e9614598", middle_of_two_cells),
    ("7f4411dc", noise_removed),
    ("7e0986d6", noise_replaced),
    ("363442ee", stamps),
    ("137eaa0f", neighbourhoods_overlaid),
];

/// Each grey cell becomes a blue block of three by three cells. Puzzle ce22a75a.
fn blocks_around_cells(x: &Image) -> Image {
    spots(x).dilate(Neighbours::Eight)
}

/// Each grey cell is surrounded by a blue ring. Puzzle 4258a5f9.
fn rings_around_cells(x: &Image) -> Image {
    x.choose(x, &spots(x).dilate(Neighbours::Eight))
}

/// Each red cell is surrounded by a blue ring. Puzzle dc1df850.
fn ring_around_red(x: &Image) -> Image {
    x.choose(x, &x.equals(2).dilate(Neighbours::Eight))
}

/// The cell whose colour occurs once stays and gets a red ring; all other cells become black.
/// Puzzle 31aa019c.
fn lone_colour_ringed(x: &Image) -> Image {
    let lone = x.equals(&x.histogram(10).equals(1).place_of_max());
    let ring = lone.dilate(Neighbours::Eight);
    lone.choose(x, &ring.times(2))
}

/// The four cells diagonally next to each grey block take the colours 1 to 4. Puzzle 95990924.
fn numbered_corners(x: &Image) -> Image {
    let b = x.equals(5);
    let none_left = b.and(&moved(&b, 0, 1).not());
    let none_right = b.and(&moved(&b, 0, -1).not());
    let one = moved(&none_left.and(&moved(&b, 1, 0).not()), -1, -1);
    let two = moved(&none_right.and(&moved(&b, 1, 0).not()), -1, 1).times(2);
    let three = moved(&none_left.and(&moved(&b, -1, 0).not()), 1, -1).times(3);
    let four = moved(&none_right.and(&moved(&b, -1, 0).not()), 1, 1).times(4);
    x.maximum(&one.maximum(&two)).maximum(&three.maximum(&four))
}

/// Each grey cell becomes a block of three by three cells, with a black middle, grey corners and
/// blue edges. Puzzle b60334d2.
fn grey_corners_blue_edges(x: &Image) -> Image {
    let near = spots(x).dilate(Neighbours::Four);
    let block = spots(x).dilate(Neighbours::Eight);
    spots(x).choose(0, &near.choose(1, &block.times(5)))
}

/// Each blue cell gets an orange cross around it, and each red cell four yellow corners. Puzzle
/// 0ca9ddb6.
fn flowers(x: &Image) -> Image {
    let blue = x.equals(1);
    let red = x.equals(2);
    let cross = blue.dilate(Neighbours::Four);
    let corners = red
        .dilate(Neighbours::Eight)
        .and(&red.dilate(Neighbours::Four).not());
    x.choose(x, &cross.choose(7, &corners.times(4)))
}

/// Each cross grows to five by five cells: its arms become longer, and diagonals take the colour of
/// its middle. Puzzle 0962bcdd.
fn crosses_grow(x: &Image) -> Image {
    let flags = spots(x);
    let centre = flags.and(&neighbour_count(&flags).equals(4));
    let middle = centre.times(x);
    let arm = centre
        .dilate(Neighbours::Four)
        .and(&centre.not())
        .times(x)
        .max();
    let arms = moved(&centre, 2, 0).or(&moved(&centre, -2, 0));
    let sides = moved(&centre, 0, 2).or(&moved(&centre, 0, -2));
    let near = moved(&middle, 1, 1).plus(&moved(&middle, -1, -1));
    let near2 = moved(&middle, 1, -1).plus(&moved(&middle, -1, 1));
    let far = moved(&middle, 2, 2).plus(&moved(&middle, -2, -2));
    let far2 = moved(&middle, 2, -2).plus(&moved(&middle, -2, 2));
    let diagonals = near.plus(&near2).plus(&far.plus(&far2));
    x.plus(&arms.or(&sides).times(&arm)).plus(&diagonals)
}

/// The cell that completes three cells to a block of two by two becomes blue. Puzzle 3aa6fb7a.
fn corners_completed(x: &Image) -> Image {
    let b = spots(x);
    let up = moved(&b, 1, 0);
    let down = moved(&b, -1, 0);
    let left = moved(&b, 0, 1);
    let right = moved(&b, 0, -1);
    let one = up.and(&left).or(&up.and(&right));
    let two = down.and(&left).or(&down.and(&right));
    b.not().and(&one.or(&two)).choose(1, x)
}

/// Green cells next to a red cell become light blue, and these red cells become black. Puzzle
/// d90796e8.
fn green_next_to_red(x: &Image) -> Image {
    let red = x.equals(2);
    let green = x.equals(3);
    let first = green.and(&red.dilate(Neighbours::Four));
    let second = red.and(&green.dilate(Neighbours::Four));
    first.choose(8, &second.choose(0, x))
}

/// Each blue cell gets four neighbours: red above, orange on the left, pink on the right, and light
/// blue below. Puzzle d364b489.
fn four_neighbours_coloured(x: &Image) -> Image {
    let above = moved(x, -1, 0).times(2);
    let below = moved(x, 1, 0).times(8);
    let left = moved(x, 0, -1).times(7);
    let right = moved(x, 0, 1).times(6);
    x.choose(x, &above.maximum(&below).maximum(&left.maximum(&right)))
}

/// The black cell between two blue cells in a row becomes red. Puzzle a699fb00.
fn gap_between_blue_cells(x: &Image) -> Image {
    moved(x, 0, 1).and(&moved(x, 0, -1)).choose(2, x)
}

/// The inner cells of the grey blocks become red. Puzzle bb43febb.
fn inside_red(x: &Image) -> Image {
    inner(&spots(x)).choose(2, x)
}

/// The inner cells of the blocks become light blue. Puzzle 50cb2852.
fn inside_light_blue(x: &Image) -> Image {
    inner(&spots(x)).choose(8, x)
}

/// The inner cells of the blocks become black. Puzzle 4347f46a.
fn hollow_blocks(x: &Image) -> Image {
    inner(&spots(x)).choose(0, x)
}

/// The pink shapes get a green outline, and their holes become yellow. Puzzle 543a7ed5.
fn outlined_and_filled(x: &Image) -> Image {
    let ground = x.equals(8);
    let holes = ground.fill_holes(1, 2).equals(2);
    let outline = x.equals(6).dilate(Neighbours::Eight);
    holes.choose(4, &ground.and(&outline).choose(3, x))
}

/// The black cells in the smallest box around the shape become red. Puzzle 6d75e8bb.
fn box_filled_red(x: &Image) -> Image {
    let bounds = x.bounding_box();
    let cut = x.crop(&bounds);
    x.paste(&cut.choose(&cut, 2), &top_left(&bounds))
}

/// Black cells that lines enclose become red, all other black cells green. Puzzle 7b6016b9.
fn inside_and_outside(x: &Image) -> Image {
    let y = x.fill_holes(0, 2);
    y.choose(&y, 3)
}

/// Square fields of the grid become green, all other fields yellow. Puzzle 83302e8f.
fn squares_in_grid(x: &Image) -> Image {
    let labels = x.not().label(LabelBy::Values, Neighbours::Four, 0);
    let table = labels.regions(x, 200);
    labels.choose(&fills_box(&labels, &table).choose(3, 4), x)
}

/// Square holes in the grey shapes become red. Puzzle 44d8ac46.
fn square_holes_red(x: &Image) -> Image {
    let labels = x
        .fill_holes(0, 1)
        .equals(1)
        .label(LabelBy::Values, Neighbours::Four, 0);
    let table = labels.regions(x, 100);
    fills_box(&labels, &table).choose(2, x)
}

/// Holes of one cell become pink, those of four orange, and those of nine light blue. Puzzle
/// c0f76784.
fn holes_by_size(x: &Image) -> Image {
    let holes = x.fill_holes(0, 1).equals(1);
    let areas = region_areas(&holes);
    holes.choose(
        &areas.lookup(&x.constant(&[0, 6, 0, 0, 7, 0, 0, 0, 0, 8])),
        x,
    )
}

/// The grey box is filled with light blue, which also flows straight out through the gap. Puzzle
/// d4f3cd78.
fn box_overflows(x: &Image) -> Image {
    let bounds = x.bounding_box();
    let cut = x.crop(&bounds);
    let filled = x.paste(&cut.choose(&cut, 8), &top_left(&bounds)).equals(8);
    let wall = blank(x).outline(&bounds, 1);
    let gap = wall.and(&x.not());
    let place = top_left(&gap.bounding_box());
    let first = top_left(&bounds);
    let end = bounds.crop(&x.constant(&[0, 2, 1, 4])).minus(1);
    let top = place.column(0).equals(&first.column(0));
    let bottom = place.column(0).equals(&end.column(0));
    let west = place.column(1).equals(&first.column(1));
    let across = west.choose(
        &gap.scan_max(Direction::Left),
        &gap.scan_max(Direction::Right),
    );
    let lower = bottom.choose(&gap.scan_max(Direction::Down), &across);
    let out = top.choose(&gap.scan_max(Direction::Up), &lower);
    x.choose(x, &filled.or(&out).times(8))
}

/// The inside of each rectangle of four yellow corners becomes red. Puzzle af902bf9.
fn rectangles_between_corners(x: &Image) -> Image {
    let flags = spots(x);
    let edge = between(&flags, Direction::Right, Direction::Left);
    let inside = between(&edge, Direction::Down, Direction::Up);
    let side = between(&flags, Direction::Down, Direction::Up);
    let both = between(&side, Direction::Right, Direction::Left);
    inside
        .and(&both)
        .and(&edge.not())
        .and(&side.not())
        .choose(2, x)
}

/// A green cross is drawn midway between the two blue cells. Puzzle e9614598.
fn middle_of_two_cells(x: &Image) -> Image {
    let bounds = x.bounding_box();
    let r = bounds.column(0).plus(&bounds.column(2)).minus(1).divide(2);
    let c = bounds.column(1).plus(&bounds.column(3)).minus(1).divide(2);
    let middle = x
        .row_numbers()
        .equals(&r)
        .and(&x.column_numbers().equals(&c));
    x.choose(x, &middle.dilate(Neighbours::Four).times(3))
}

/// Cells that are not part of a block of two by two cells become black. Puzzle 7f4411dc.
fn noise_removed(x: &Image) -> Image {
    let b = spots(x);
    let row = b.and(&moved(&b, 0, -1));
    let block = row.and(&moved(&row, -1, 0));
    let wide = block.or(&moved(&block, 0, 1));
    wide.or(&moved(&wide, 1, 0)).times(x)
}

/// Cells of the noise's colour take the colour of the block around them, or become black. Puzzle
/// 7e0986d6.
fn noise_replaced(x: &Image) -> Image {
    let noise = x.equals(&x.least_common(10));
    let body = spots(x).and(&noise.not());
    let count = neighbour_count(&body);
    let colour = body.times(x).max();
    noise.choose(&count.at_least(2).times(&colour), x)
}

/// The pattern in the upper left corner is copied around each blue cell. Puzzle 363442ee.
fn stamps(x: &Image) -> Image {
    let ones = x.crop(&x.constant(&[0, 4, 30, 30])).equals(1);
    let pattern = x.crop(&x.constant(&[0, 0, 3, 3]));
    let side = x.crop(&x.constant(&[0, 0, 30, 4]));
    let mut out = blank(&ones);
    for r in 0..3 {
        for c in 0..3 {
            let cell = pattern.row(r).column(c);
            out = out.maximum(&moved(&ones, r - 1, c - 1).times(&cell));
        }
    }
    side.beside(&out)
}

/// The blocks of three by three cells around all grey cells are laid over each other. Puzzle
/// 137eaa0f.
fn neighbourhoods_overlaid(x: &Image) -> Image {
    let grey = x.equals(5);
    let mut out = blank(&x.crop(&x.constant(&[0, 0, 3, 3])));
    let k = out.row_numbers().times(3).plus(&out.column_numbers());
    for r in 0..3 {
        for c in 0..3 {
            let value = moved(x, 1 - r, 1 - c).times(&grey).max();
            out = k.equals(r * 3 + c).choose(&value, &out);
        }
    }
    out
}
