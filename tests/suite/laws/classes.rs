//! Equivalence: elements that differ only in trailing zeros are equivalent. An operation respects equivalence if
//! equivalent operands give equivalent results. The rows of the catalogue say which operations do (`rows`). These two
//! tables have modes of convolutions, types that differ from a row's, and options that must match the operands' shapes.

use std::ops::RangeInclusive;

use libtest_mimic::Trial;
use vsla::batch::Side;
use vsla::{Device, Pairing, Ragged, conv::ConvMode};

use super::depending::{DEPENDING, Depending};
use super::operands::*;
use super::{Run, floats, integers};
use crate::support::bench::Bench;
use crate::support::operation::rows;
use crate::support::property::{self, shrunk};

/// An operation that respects equivalence.
struct Respecting {
    name: &'static str,
    ranks: RangeInclusive<usize>,
    /// The operands for which it does.
    sides: [bool; 2],
    run: Run,
}

const BOTH: [bool; 2] = [true, true];
const LEFT: [bool; 2] = [true, false];
const RIGHT: [bool; 2] = [false, true];

macro_rules! respecting {
    ($($name:literal, $ranks:expr, $sides:expr, $run:expr;)*) => {
        /// Those that respect equivalence, on one side at least.
        const RESPECTING: &[Respecting] = &[$(Respecting {
            name: $name,
            ranks: $ranks,
            sides: $sides,
            run: $run,
        }),*];
    };
}

respecting! {
    "scatter_add", 1..=1, LEFT, |d, a, b| {
        let (indices, places) = (lists(a, |n| n, |r| r as u32 * 3 % 4), five(a));
        integers(d, a, b, |x, _| x.scatter_add(&indices, &places))
    };
    "scatter_set", 1..=1, LEFT, |d, a, b| {
        let (indices, places) = (lists(a, |n| n, |r| r as u32 * 3 % 5), five(a));
        integers(d, a, b, |x, _| x.scatter_set(&indices, &places))
    };
    "stride", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        let strides = [2, 1, 3];
        x.pair(y, Pairing::Elementwise)?.convolution().stride(&strides[..x.layout().rank()]).conv()
    });
    "full", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| {
        x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Full).conv()
    });
    "causal_mode", 1..=3, RIGHT, |d, a, b| integers(d, a, b, |x, y| {
        x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).side(Side::Left).conv()
    });
    "S B", 2..=2, LEFT, |d, a, b| floats(d, a, b, |x, _| {
        blocks(d)?.matmul(&x.resize(&of_shapes(x, |[_, n]| [5, n])?)?)
    });
    "A S", 2..=2, LEFT, |d, a, b| floats(d, a, b, |x, _| {
        x.resize(&of_shapes(x, |[m, _]| [m, 5])?)?.matmul(&blocks(d)?.transpose())
    });
    "div", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.div(y));
    "remainder", 1..=3, BOTH, |d, a, b| integers(d, a, b, |x, y| x.remainder(y));
    "dropout", 1..=1, LEFT, |d, a, b| floats(d, a, b, |x, _| x.dropout(0.5, 1));
}

/// The sides on which an option is known to respect equivalence, if any.
pub fn sides_of(name: &str) -> Option<[bool; 2]> {
    let law = RESPECTING.iter().find(|law| law.name == name)?;
    Some(law.sides)
}

/// Whether it is known not to respect equivalence on at least one side.
pub fn goes_by_shape(name: &str) -> bool {
    DEPENDING.iter().any(|example| example.name == name)
}

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for law in RESPECTING {
        let name = format!("respects_equivalence::{}", law.name);
        trials.extend(bench.on_each_device(&name, |device| respects(device, law)));
    }
    for example in DEPENDING {
        let name = format!("depends_on_shapes::{}", example.name);
        trials.extend(bench.on_each_device(&name, |device| depends(device, example)));
    }
    trials
}

fn respects(device: &Device, law: &Respecting) {
    property::on(device, property::classes(law.ranks.clone()), |[a, b]| {
        let expected = shrunk(&(law.run)(device, &a[0], &b[0]));
        for (longer, which) in [(0, "left"), (1, "right")] {
            if law.sides[longer] {
                let (a, b) = (&a[usize::from(longer == 0)], &b[usize::from(longer == 1)]);
                let got = shrunk(&(law.run)(device, a, b));
                assert!(got == expected, "{which}: {got} and {expected} of {a}, {b}");
            }
        }
    });
}

fn depends(device: &Device, example: &Depending) {
    let row = |values: &[i32]| rows([values]);
    for [one, other] in [example.a, example.b] {
        assert!(shrunk(&row(one)) == shrunk(&row(other)), "not equivalent");
    }
    let gives: [Ragged<f64>; 2] = example.gives.map(|values| rows([values]));
    assert!(shrunk(&gives[0]) != shrunk(&gives[1]), "equivalent");
    for (i, gives) in gives.iter().enumerate() {
        let got = (example.run)(device, &row(example.a[i]), &row(example.b[i]));
        assert!(got == *gives, "{got}, not {gives}");
    }
}
