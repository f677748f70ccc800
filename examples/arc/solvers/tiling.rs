//! Puzzles of enlargements, tilings and fractals.

use super::Solver;
use super::parts::{colour_count, whole};
use vsla::image::Image;

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("a416b8f3", side_by_side),
    ("c59eb873", twice_as_large),
    ("9172f3a0", three_times_as_large),
    ("ac0a08a4", enlarged_by_number_of_colours),
    ("b91ae062", enlarged_by_number_of_colours_again),
    ("f25fbde4", object_twice_as_large),
    ("28bf18c6", object_twice),
    ("1cf80156", cut_out),
    ("007bbfb7", fractal),
    ("cce03e0d", fractal_at_red),
    ("c3e719e8", fractal_at_most_common),
    ("963e52fc", pattern_to_twice_the_width),
];

/// The image is repeated to its right. Puzzle a416b8f3.
fn side_by_side(x: &Image) -> Image {
    x.beside(x)
}

/// Each cell becomes a block of two by two cells. Puzzle c59eb873.
fn twice_as_large(x: &Image) -> Image {
    x.upscale(2).within(900)
}

/// Each cell becomes a block of three by three cells. Puzzle 9172f3a0.
fn three_times_as_large(x: &Image) -> Image {
    x.upscale(3).within(900)
}

/// Each cell becomes a square block, whose side is the number of colours besides black. Puzzle
/// ac0a08a4.
fn enlarged_by_number_of_colours(x: &Image) -> Image {
    x.upscale(&colour_count(x).minus(1)).within(900)
}

/// Each cell becomes a square block, whose side is the number of colours besides black. Puzzle
/// b91ae062.
fn enlarged_by_number_of_colours_again(x: &Image) -> Image {
    x.upscale(&colour_count(x).minus(1)).within(900)
}

/// The object is cut out and enlarged to twice its size. Puzzle f25fbde4.
fn object_twice_as_large(x: &Image) -> Image {
    x.trim(0).upscale(2).within(900)
}

/// The object is cut out and repeated to its right. Puzzle 28bf18c6.
fn object_twice(x: &Image) -> Image {
    let cut = x.trim(0);
    cut.beside(&cut)
}

/// The object is cut out. Puzzle 1cf80156.
fn cut_out(x: &Image) -> Image {
    x.trim(0)
}

/// Each coloured cell becomes a copy of the whole image, each black cell a black block. Puzzle
/// 007bbfb7.
fn fractal(x: &Image) -> Image {
    x.upscale(3)
        .within(900)
        .differs(0)
        .choose(&x.tile(3).within(900), 0)
}

/// Each red cell becomes a copy of the whole image, every other cell a black block. Puzzle
/// cce03e0d.
fn fractal_at_red(x: &Image) -> Image {
    x.upscale(3)
        .within(900)
        .equals(2)
        .choose(&x.tile(3).within(900), 0)
}

/// Each cell of the most common colour becomes a copy of the whole image, every other cell a black
/// block. Puzzle c3e719e8.
fn fractal_at_most_common(x: &Image) -> Image {
    x.upscale(3)
        .within(900)
        .equals(&x.most_common(10))
        .choose(&x.tile(3).within(900), 0)
}

/// The periodic pattern of the columns is continued to twice the width. Puzzle 963e52fc.
fn pattern_to_twice_the_width(x: &Image) -> Image {
    let p = x.period(1);
    let wide = x.beside(x);
    let first = x.crop(&x.constant(&[0, 0]).beside(&x.rows().beside(&p)));
    first
        .tile(&x.constant(&[1, 16]))
        .within(900)
        .crop(&whole(&wide))
}
