//! Operations whose results depend on the shapes of elements, each with an example.

use vsla::batch::Side;
use vsla::{Layout, Pairing, Ragged, Shape, conv::ConvMode};

use super::operands::*;
use super::{Run, integers};

/// An operation that depends on the shapes of elements, and an example that shows it: two equivalent operands on each
/// side, one of which may occur twice.
pub struct Depending {
    pub name: &'static str,
    pub a: [&'static [i32]; 2],
    pub b: [&'static [i32]; 2],
    pub gives: [&'static [f64]; 2],
    pub run: Run,
}

macro_rules! depending {
    ($($name:literal, $a:expr, $b:expr => $gives:expr, $run:expr;)*) => {
        /// Those that do not respect equivalence, or respect it only on the other side.
        pub const DEPENDING: &[Depending] = &[$(Depending {
            name: $name,
            a: $a,
            b: $b,
            gives: $gives,
            run: $run,
        }),*];
    };
}

depending! {
    "reshape", [&[1, 2, 3, 0], &[1, 2, 3, 0, 0, 0]], [&[], &[]] => [&[1., 3.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            // The first column of two rows.
            let shape = Shape::new(&[2, x.layout().length(0) / 2])?;
            x.reshape(&Layout::uniform(1, shape)?)?.slice(&[0, 0], &[2, 1])?.reshape(&Layout::from_lengths([2])?)
        });
    "unpacked", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let rows = x.join(&[x])?.packed()?;
            rows.unpacked(rows.layout())
        });
    "mode", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[1., 3.], &[1., 3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Same).conv()
        });
    "causal_mode", [&[1], &[1, 0]], [&[1, 2], &[1, 2]] => [&[1.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).side(Side::Left).conv()
        });
    "valid", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[3.], &[3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid).conv()
        });
    "irfft", [&[6], &[6, 0]], [&[], &[]] => [&[6.], &[2., 2., 2.]],
        |d, a, b| halves_of_spectra(d, a, b, |x| x.irfft(&odd(x.layout())?));
    "sort_by_length", [&[7], &[7, 0, 0]], [&[1, 2], &[1, 2]] => [&[7.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.join(&[y])?.sort_by_length()?.0.elements(0..1));
    "embedding", [&[1], &[1, 0]], [&[], &[]] => [&[7.], &[7., 5.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let table = Ragged::from_shapes(vec![5.0f32, 7.0], 2, [Shape::new(&[2, 1])?])?;
            let rows = d.upload(&table)?.embedding(&x.to::<u32>()?)?;
            rows.reshape(x.layout())?.to::<i32>()
        });
}
