//! The functions that a chain can compute, and their numbers. Nearly all are rows of the tables of maps and of
//! functions of two operands: the kernel contains the same expressions, and the CPU runs the same functions.

use std::fmt;
use std::sync::LazyLock;

use crate::ops::ambient;
use crate::ops::maps::{self, Cheap, Part, Run, Scale};

/// Functions of one operand, in the order of their numbers.
const OF_ONE: &[&str] = &[
    "copy",
    "neg",
    "scale",
    "abs",
    "sign",
    "square",
    "relu",
    "relu_slope",
    "leaky_relu",
    "leaky_relu_slope",
    "clamp",
    "clamp_slope",
    "floor",
    "ceil",
    "round",
    "add_scalar",
    "sub_from",
    "div_scalar",
    "div_from",
    "reciprocal",
    "sqrt",
    "rsqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log1p",
    "powi",
    "tanh",
    "tanh_slope",
    "tanh_slope_by_result",
    "sigmoid",
    "sigmoid_slope",
    "sigmoid_slope_by_result",
    "silu",
    "silu_slope",
    "softplus",
    "erf",
    "erf_slope",
    "gelu",
    "gelu_slope",
    "gelu_tanh",
    "gelu_tanh_slope",
    "powf",
    "sin",
    "cos",
];
/// Functions of two operands, whose numbers follow.
const OF_TWO: &[&str] = &["add", "sub", "hadamard", "div", "maximum", "minimum"];
pub(super) const FIRST_OF_TWO: u32 = OF_ONE.len() as u32;
/// Added to the number of a function of two operands if its operands are exchanged.
pub(super) const EXCHANGED: u32 = OF_TWO.len() as u32;
/// One more than the largest number.
pub(super) const FUNCTIONS: u32 = FIRST_OF_TWO + 2 * EXCHANGED;
/// The functions that copy the bits of their operand, or all but the sign. The table of maps has no rows for them.
pub(super) const COPY: u32 = 0;
pub(super) const NEG: u32 = 1;

/// A function of one or two operands and of up to two scalars, over f32 or f16.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Code(u8);

/// What the CPU computes, in f32.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Copy,
    Neg,
    One(Run<f32>),
    Two(ambient::Run<f32, f32>),
}

impl Code {
    /// All functions.
    pub(crate) fn all() -> impl Iterator<Item = Code> {
        (0..(OF_ONE.len() + OF_TWO.len()) as u8).map(Code)
    }

    /// The map or function of two operands with this name, if chains support it.
    pub(crate) fn of(name: &str) -> Option<Code> {
        Code::all().find(|code| code.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        let number = usize::from(self.0);
        match number.checked_sub(OF_ONE.len()) {
            None => OF_ONE[number],
            Some(number) => OF_TWO[number],
        }
    }

    pub(super) fn number(self) -> u32 {
        self.0.into()
    }

    pub(crate) fn operands(self) -> usize {
        if self.number() < FIRST_OF_TWO { 1 } else { 2 }
    }

    /// The number of scalars that it reads. If the operation is called outside a chain, these are the first scalars of
    /// the call.
    pub(crate) fn scalars(self) -> usize {
        self.row().scalars
    }

    /// The function's row.
    fn row(self) -> &'static Row {
        // Planning asks for rows often, and the tables have no index by name.
        static ROWS: LazyLock<Vec<Row>> =
            LazyLock::new(|| Code::all().map(Code::find_row).collect());
        &ROWS[usize::from(self.0)]
    }

    fn find_row(self) -> Row {
        match self.number() {
            COPY => Row::of("x", Step::Copy),
            NEG => Row::of("-x", Step::Neg),
            _ => match self.name() {
                "scale" => Row::of(
                    "s * x",
                    Step::One(|x, y, [s, t]| {
                        for (y, &x) in y.iter_mut().zip(x) {
                            *y = Scale::of(x, s, t);
                        }
                    }),
                ),
                name if self.operands() == 1 => Row::from(maps::part(name), Step::One),
                name => Row::from(ambient::part(name), Step::Two),
            },
        }
    }

    pub(super) fn step(self) -> Step {
        self.row().step
    }

    pub(super) fn wgsl(self) -> &'static str {
        &self.row().wgsl
    }

    pub(super) fn uses(self) -> &'static [&'static str] {
        self.row().uses
    }
}

struct Row {
    uses: &'static [&'static str],
    wgsl: String,
    scalars: usize,
    step: Step,
}

impl Row {
    fn of(wgsl: &str, step: Step) -> Row {
        Row {
            uses: &[],
            wgsl: wgsl.to_owned(),
            scalars: scalars(wgsl),
            step,
        }
    }

    fn from<R>(part: Option<Part<R>>, step: impl Fn(R) -> Step) -> Row {
        let Part { uses, wgsl, run } = part.expect("a row of floats");
        Row {
            uses,
            scalars: scalars(&wgsl),
            wgsl,
            step: step(run),
        }
    }
}

/// How many scalars an expression reads: none, s, or s and t.
fn scalars(wgsl: &str) -> usize {
    let words = wgsl.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let reads = |name| words.clone().any(|word| word == name);
    match (reads("s"), reads("t")) {
        (_, true) => 2,
        (true, false) => 1,
        (false, false) => 0,
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_function_has_a_row() {
        for code in Code::all() {
            assert_eq!(Code::of(code.name()), Some(code));
            let (two, step) = (code.operands() == 2, code.step());
            assert_eq!(two, matches!(step, Step::Two(_)), "{code:?}");
        }
        assert_eq!(Code::of("scale").map(Code::scalars), Some(1));
        assert_eq!(Code::of("clamp").map(Code::scalars), Some(2));
        assert_eq!(Code::of("exp").map(Code::scalars), Some(0));
        assert_eq!(Code::of("equal"), None);
    }
}
