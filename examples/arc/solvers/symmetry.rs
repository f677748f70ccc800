//! Puzzles of rotations, reflections, and parts put side by side.

use super::Solver;
use super::parts::{blank, left_half, pinwheel, quadrupled, upper_half};
use vsla::image::{Direction, Image};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("6150a2bd", half_turn),
    ("3c9b0459", half_turn_again),
    ("67a3c6ac", mirror_left_right),
    ("68b16354", mirror_top_bottom),
    ("74dd1130", reflect_diagonal),
    ("9dfd6313", reflect_diagonal_again),
    ("ed36ccf7", quarter_turn),
    ("6d0aefbc", mirror_to_the_right),
    ("c9e6f938", mirror_to_the_right_again),
    ("6fa7a44f", mirror_below),
    ("8be77c9e", mirror_below_again),
    ("4c4377d9", mirror_above),
    ("62c24649", kaleidoscope),
    ("67e8384a", kaleidoscope_again),
    ("3af2c5a8", kaleidoscope_of_four),
    ("8d5021e8", mirrored_towers),
    ("7fe24cdd", four_turns),
    ("46442a0e", four_turns_again),
    ("49d1d64f", framed_by_its_border),
    ("44f52bb0", is_it_symmetric),
    ("d10ecb37", upper_left_block),
    ("2dee498d", first_third),
    ("7b7f7511", one_of_two_equal_halves),
    ("d13f3404", cells_drawn_out_diagonally),
];

/// The image is turned by half a turn. Puzzle 6150a2bd.
fn half_turn(x: &Image) -> Image {
    x.rotate(2)
}

/// The image is turned by half a turn. Puzzle 3c9b0459.
fn half_turn_again(x: &Image) -> Image {
    x.rotate(2)
}

/// The image is mirrored left to right. Puzzle 67a3c6ac.
fn mirror_left_right(x: &Image) -> Image {
    x.flip_columns()
}

/// The image is mirrored top to bottom. Puzzle 68b16354.
fn mirror_top_bottom(x: &Image) -> Image {
    x.flip_rows()
}

/// The image is reflected about its main diagonal. Puzzle 74dd1130.
fn reflect_diagonal(x: &Image) -> Image {
    x.transpose()
}

/// The image is reflected about the diagonal of grey cells. Puzzle 9dfd6313.
fn reflect_diagonal_again(x: &Image) -> Image {
    x.transpose()
}

/// The image is turned by a quarter turn anticlockwise. Puzzle ed36ccf7.
fn quarter_turn(x: &Image) -> Image {
    x.rotate(1)
}

/// The mirror image is put to the right of the image. Puzzle 6d0aefbc.
fn mirror_to_the_right(x: &Image) -> Image {
    x.beside(&x.flip_columns())
}

/// The mirror image is put to the right of the image. Puzzle c9e6f938.
fn mirror_to_the_right_again(x: &Image) -> Image {
    x.beside(&x.flip_columns())
}

/// The mirror image is put below the image. Puzzle 6fa7a44f.
fn mirror_below(x: &Image) -> Image {
    x.above(&x.flip_rows())
}

/// The mirror image is put below the image. Puzzle 8be77c9e.
fn mirror_below_again(x: &Image) -> Image {
    x.above(&x.flip_rows())
}

/// The mirror image is put above the image. Puzzle 4c4377d9.
fn mirror_above(x: &Image) -> Image {
    x.flip_rows().above(x)
}

/// The image is mirrored to the right, and both are mirrored below. Puzzle 62c24649.
fn kaleidoscope(x: &Image) -> Image {
    quadrupled(x)
}

/// The image is mirrored to the right, and both are mirrored below. Puzzle 67e8384a.
fn kaleidoscope_again(x: &Image) -> Image {
    quadrupled(x)
}

/// The image is mirrored to the right, and both are mirrored below. Puzzle 3af2c5a8.
fn kaleidoscope_of_four(x: &Image) -> Image {
    quadrupled(x)
}

/// The mirror image and the image lie side by side. Three such pairs are stacked; the upper and the
/// lower one are upside down. Puzzle 8d5021e8.
fn mirrored_towers(x: &Image) -> Image {
    let pair = x.flip_columns().beside(x);
    let turned = pair.flip_rows();
    turned.above(&pair).above(&turned)
}

/// The image and its three other turns are put around a centre. Puzzle 7fe24cdd.
fn four_turns(x: &Image) -> Image {
    pinwheel(x)
}

/// The image and its three other turns are put around a centre. Puzzle 46442a0e.
fn four_turns_again(x: &Image) -> Image {
    pinwheel(x)
}

/// The image gets a frame, which repeats its border cells and has black corners. Puzzle 49d1d64f.
fn framed_by_its_border(x: &Image) -> Image {
    let top = x.row(0);
    let left = x.column(0);
    let zero = x.number(0);
    let edge = zero.beside(&top).beside(&zero);
    let end = zero.beside(&x.row(-1)).beside(&zero);
    let middle = left.beside(x).beside(&x.column(-1));
    edge.above(&middle).above(&end)
}

/// The answer is one cell: blue (1) if the image equals its mirror image, else orange (7). Puzzle
/// 44f52bb0.
fn is_it_symmetric(x: &Image) -> Image {
    x.same(&x.flip_columns()).choose(1, 7)
}

/// The answer is the upper left block of two by two cells. Puzzle d10ecb37.
fn upper_left_block(x: &Image) -> Image {
    x.crop(&x.constant(&[0, 0, 2, 2]))
}

/// The image is a pattern, three times side by side. The answer is one of them. Puzzle 2dee498d.
fn first_third(x: &Image) -> Image {
    x.crop(
        &x.constant(&[0, 0])
            .beside(&x.rows().beside(&x.columns().divide(3))),
    )
}

/// The image is a pattern, twice along its longer side. The answer is one of them. Puzzle 7b7f7511.
fn one_of_two_equal_halves(x: &Image) -> Image {
    let wide = x.columns().greater(&x.rows());
    left_half(x).when(&wide).or_else(&upper_half(x))
}

/// The image grows to twice its size, and each coloured cell is continued along its diagonal, down
/// and to the right. Puzzle d13f3404.
fn cells_drawn_out_diagonally(x: &Image) -> Image {
    let side = x.above(&blank(x));
    let big = side.beside(&blank(&side));
    big.carry(Direction::DownRight)
}
