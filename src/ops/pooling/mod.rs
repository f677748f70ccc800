//! Pooling: the largest value, or the mean, of every window along the last one or two axes; and differences, whose
//! windows are two neighbours.
//!
//! The windows have the positions of a valid correlation, every s-th of them along each axis. They are read in place,
//! and never copied.
//!
//! Cost: one dispatch. The values are read from memory once and the results written once, because windows that share
//! values run at the same time and read them from a cache. Each result takes one operation for each value of its
//! window. Where that would be more than [`MANY`] operations for each value of the element, windows are put together
//! in passes ([`passes`]), whose number is the logarithm of the window's extents.

mod launch;
mod passes;
mod twin;

use crate::plan::{Interface, Kernel, Variant, params, shader, slots};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read }
}

params! {
    struct Params {
        total, elements, tile, x_base, rank, window_rows, window_columns, stride_rows, stride_columns,
    }
}

macro_rules! variants {
    ($($dtype:ident $($flag:literal)+),*) => {
        &[$(Variant::of(DType::$dtype, &[$($flag),+])),*]
    };
}

static KERNEL: Kernel = Kernel {
    shader: shader!("pooling/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![
        F32 "MAX", I32 "MAX", U32 "MAX", F16 "MAX", F32 "MAX" "PLACE",
        F32 "MEAN", F16 "MEAN",
        F32 "DIFF", U32 "DIFF", F16 "DIFF",
        F32 "MAX" "FINISH", I32 "MAX" "FINISH", U32 "MAX" "FINISH", F16 "MAX" "FINISH",
        F32 "MAX" "PLACE" "FINISH", F32 "MEAN" "FINISH", F16 "MEAN" "FINISH"
    ],
};

/// The largest number of axes of a window.
const AXES: usize = 2;
/// Results of a workgroup with large windows, one for each invocation.
const FEW: usize = 256;
/// The number of values from which a window is large.
const LARGE: u64 = 32;
/// Operations for each value of an element, from which passes are faster.
const MANY: u64 = 128;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// The largest value. NaN is larger than any number, and −0 is smaller than 0.
    Max,
    /// The index, in its element, of the largest value, or of the first of several, as u32. Only for f32.
    Place,
    Mean,
    /// The last value minus the first.
    Diff,
}

/// One number for each axis of a window, as the caller gave them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Extents {
    /// How many were given, which may be 0 or above [`AXES`].
    given: usize,
    first: [usize; AXES],
}

impl Extents {
    pub(crate) fn new(extents: &[usize]) -> Extents {
        let mut first = [1; AXES];
        let kept = extents.len().min(AXES);
        first[..kept].copy_from_slice(&extents[..kept]);
        Extents {
            given: extents.len(),
            first,
        }
    }

    fn contains_zero(&self) -> bool {
        self.first.contains(&0)
    }

    /// Rows and columns. A window of one axis has one row.
    fn both(&self) -> [u64; AXES] {
        let [a, b] = self.first.map(|extent| extent as u64);
        if self.given == 1 { [1, a] } else { [a, b] }
    }
}

/// Pooling of values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pool {
    pub kind: Kind,
    pub dtype: DType,
    pub window: Extents,
    /// `None` stands for the window's extents.
    pub strides: Option<Extents>,
}

/// An extent or a stride as a kernel parameter. Numbers that do not fit are longer than any element, so no window has a
/// second position.
fn narrow(extent: u64) -> u32 {
    u32::try_from(extent).unwrap_or(u32::MAX)
}

impl Kind {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Kind::Max => &["MAX"],
            Kind::Place => &["MAX", "PLACE"],
            Kind::Mean => &["MEAN"],
            Kind::Diff => &["DIFF"],
        }
    }
}

impl Pool {
    fn op(self) -> &'static str {
        match self.kind {
            Kind::Max | Kind::Place => "max_pool",
            Kind::Mean => "mean_pool",
            Kind::Diff => "diff",
        }
    }

    /// Whether windows are put together in passes. This must not depend on the batch, because sums of another order
    /// have other bits.
    fn in_passes(self) -> bool {
        let all = |[a, b]: [u64; AXES]| a.saturating_mul(b);
        let starts = all(self.strides.unwrap_or(self.window).both());
        self.kind != Kind::Diff && all(self.window.both()) / starts >= MANY
    }

    /// The extents of the window and its strides along an axis of elements of this rank.
    pub(crate) fn along(self, rank: usize, axis: usize) -> (usize, usize) {
        let back = rank - axis;
        if back > self.window.given {
            return (1, 1);
        }
        let along = |extents: Extents| narrow(extents.both()[AXES - back]) as usize;
        (
            along(self.window),
            along(self.strides.unwrap_or(self.window)),
        )
    }

    /// The operation that finds the places of the largest values, for values converted to f32.
    pub(crate) fn places(self) -> Pool {
        Pool {
            kind: Kind::Place,
            dtype: DType::F32,
            ..self
        }
    }

    fn check(self, x: &Layout) -> Result<()> {
        let argument = |expected: &str, got: usize| Err(Error::argument(expected, got));
        let axes = self.window.given;
        if !(1..=AXES).contains(&axes) {
            return argument("a window of 1 or 2 extents", axes);
        }
        if self.window.contains_zero() {
            return argument("window extents of 1 or more", 0);
        }
        if axes > x.rank() {
            return Err(Error::rank(
                format!("at least {axes}, as in the window"),
                x.rank(),
            ));
        }
        let Some(strides) = self.strides else {
            return Ok(());
        };
        let wrong = |expected: String, got: usize| Err(Error::stride(expected, got));
        if strides.given != axes {
            let expected = format!("a stride for each axis of the window, {axes} in all");
            return wrong(expected, strides.given);
        }
        match strides.contains_zero() {
            true => wrong("strides of 1 or more".to_owned(), 0),
            false => Ok(()),
        }
    }
}

/// The number of positions of a window along an axis.
fn positions(extent: u64, window: u64, stride: u64) -> u64 {
    match extent.checked_sub(window) {
        Some(rest) => rest / stride + 1,
        None => 0,
    }
}

/// Windows of rows and columns.
#[derive(Clone, Copy)]
struct Windows {
    extents: [usize; AXES],
    strides: [usize; AXES],
    in_passes: bool,
}
