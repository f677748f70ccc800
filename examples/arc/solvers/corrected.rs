//! Puzzles whose solvers are right for every pair of the corrected data only (arcagi_aa922be.json).

use super::Solver;
use super::parts::{between, per_cell};
use vsla::image::{Direction, Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("d511f180", grey_and_light_blue_swap),
    ("42a50994", lone_cells_go),
    ("9edfc990", gaps_next_to_blue),
    ("ef135b50", red_blocks_bridged),
];

/// Grey and light blue change places. Puzzle d511f180.
fn grey_and_light_blue_swap(x: &Image) -> Image {
    x.lookup(&x.constant(&[0, 1, 2, 3, 4, 8, 6, 7, 5, 9]))
}

/// Cells without a neighbour of their colour become black; neighbours also touch at corners. Puzzle
/// 42a50994.
fn lone_cells_go(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Eight, 0);
    let areas = per_cell(&labels, &labels.regions(x, 400).column(0));
    areas.greater(1).choose(x, 0)
}

/// Black regions that touch a blue cell become blue. Puzzle 9edfc990.
fn gaps_next_to_blue(x: &Image) -> Image {
    let labels = x.not().label(LabelBy::Values, Neighbours::Four, 0);
    let touched = x.equals(1).dilate(Neighbours::Four);
    let hits = labels.times(&touched).histogram(256);
    labels.and(&labels.lookup(&hits)).choose(1, x)
}

/// Black cells between two red blocks in the same row become maroon. Puzzle ef135b50.
fn red_blocks_bridged(x: &Image) -> Image {
    let row = between(x, Direction::Right, Direction::Left);
    let inside = x.row_numbers().flip_rows().differs(0);
    x.not().and(&row).and(&inside).choose(9, x)
}
