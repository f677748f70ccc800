//! Puzzles of images of two or more parts that are laid over each other.

use super::Solver;
use super::parts::{left_half, lower_half, right_half, spots, upper_half};
use vsla::image::Image;

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("0520fde7", both_halves_become_red),
    ("1b2d62fb", neither_of_halves_beside),
    ("f2829549", neither_of_halves_beside_green),
    ("6430c8c4", neither_of_halves_green),
    ("94f9d214", neither_of_halves_red),
    ("fafffa47", neither_of_halves_red_again),
    ("99b1bc43", one_of_halves_green),
    ("3428a4f5", one_of_halves_green_again),
    ("ce4f8723", any_of_halves_green),
    ("dae9d2b5", any_of_halves_pink),
    ("88a62173", odd_one_of_four),
    ("cf98881b", three_layers),
    ("a68b268e", four_layers),
    ("75b8110e", four_layers_shuffled),
];

/// Two halves beside a grey line: cells set in both become red. Puzzle 0520fde7.
fn both_halves_become_red(x: &Image) -> Image {
    spots(&left_half(x)).and(&spots(&right_half(x))).times(2)
}

/// Two halves beside a blue line: cells set in neither become light blue. Puzzle 1b2d62fb.
fn neither_of_halves_beside(x: &Image) -> Image {
    spots(&left_half(x)).or(&spots(&right_half(x))).choose(0, 8)
}

/// Two halves beside a blue line: cells set in neither become green. Puzzle f2829549.
fn neither_of_halves_beside_green(x: &Image) -> Image {
    spots(&left_half(x)).or(&spots(&right_half(x))).choose(0, 3)
}

/// Two halves, one above the other: cells set in neither become green. Puzzle 6430c8c4.
fn neither_of_halves_green(x: &Image) -> Image {
    spots(&upper_half(x))
        .or(&spots(&lower_half(x)))
        .choose(0, 3)
}

/// Two halves, one above the other: cells set in neither become red. Puzzle 94f9d214.
fn neither_of_halves_red(x: &Image) -> Image {
    spots(&upper_half(x))
        .or(&spots(&lower_half(x)))
        .choose(0, 2)
}

/// Two halves, one above the other: cells set in neither become red. Puzzle fafffa47.
fn neither_of_halves_red_again(x: &Image) -> Image {
    spots(&upper_half(x))
        .or(&spots(&lower_half(x)))
        .choose(0, 2)
}

/// Two halves above and below a line: cells set in exactly one become green. Puzzle 99b1bc43.
fn one_of_halves_green(x: &Image) -> Image {
    spots(&upper_half(x))
        .xor(&spots(&lower_half(x)))
        .choose(3, 0)
}

/// Two halves above and below a line: cells set in exactly one become green. Puzzle 3428a4f5.
fn one_of_halves_green_again(x: &Image) -> Image {
    spots(&upper_half(x))
        .xor(&spots(&lower_half(x)))
        .choose(3, 0)
}

/// Two halves above and below a line: cells set in one or both become green. Puzzle ce4f8723.
fn any_of_halves_green(x: &Image) -> Image {
    spots(&upper_half(x))
        .or(&spots(&lower_half(x)))
        .choose(3, 0)
}

/// Two halves side by side: cells set in one or both become pink. Puzzle dae9d2b5.
fn any_of_halves_pink(x: &Image) -> Image {
    spots(&left_half(x)).or(&spots(&right_half(x))).choose(6, 0)
}

/// Three of four blocks are equal. The answer is the other one. Puzzle 88a62173.
fn odd_one_of_four(x: &Image) -> Image {
    let a = upper_half(&left_half(x));
    let b = upper_half(&right_half(x));
    let c = lower_half(&left_half(x));
    let d = lower_half(&right_half(x));
    let first = a.when(&a.same(&b).or(&a.same(&c)).not());
    let second = b.when(&a.same(&b).or(&b.same(&d)).not());
    let third = c.when(&a.same(&c).or(&c.same(&d)).not());
    first.or_else(&second).or_else(&third).or_else(&d)
}

/// Three blocks are laid over each other: yellow over maroon over blue. Puzzle cf98881b.
fn three_layers(x: &Image) -> Image {
    let a = x.crop(&x.constant(&[0, 0, 4, 4]));
    let b = x.crop(&x.constant(&[0, 5, 4, 9]));
    let c = x.crop(&x.constant(&[0, 10, 4, 14]));
    a.choose(&a, &b.choose(&b, &c))
}

/// Four quarters are laid over each other, from top to bottom: upper left, upper right, lower left,
/// lower right. Puzzle a68b268e.
fn four_layers(x: &Image) -> Image {
    let a = upper_half(&left_half(x));
    let b = upper_half(&right_half(x));
    let c = lower_half(&left_half(x));
    let d = lower_half(&right_half(x));
    a.choose(&a, &b.choose(&b, &c.choose(&c, &d)))
}

/// Four quarters are laid over each other, from top to bottom: upper right, lower left, lower
/// right, upper left. Puzzle 75b8110e.
fn four_layers_shuffled(x: &Image) -> Image {
    let a = upper_half(&left_half(x));
    let b = upper_half(&right_half(x));
    let c = lower_half(&left_half(x));
    let d = lower_half(&right_half(x));
    b.choose(&b, &c.choose(&c, &d.choose(&d, &a)))
}
