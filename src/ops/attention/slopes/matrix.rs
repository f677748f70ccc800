//! Gradients of attention of f16 on cooperative matrices: the builds of `attention/matrix_slopes.wgsl`.

use std::borrow::Cow;

use super::super::matrix::{numbers, widest};
use super::{Heads, Side};
use crate::plan::{Interface, Kernel, Listed, Matrices, named, place_of, shader, slots};
use crate::ragged::DType;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
    pub matrices: Matrices,
    side: Side,
    /// Rows of a tile.
    pub rows: u32,
    /// The largest number of values in a head.
    width: u32,
    /// Whether scores are products alone: no cap, bias, slopes or blocks of a mask.
    plain: bool,
}

const SIDES: [Side; 3] = [Side::Query, Side::Key, Side::Value];
const WIDTHS: [u32; 3] = [32, 64, 128];

/// Rows of a tile, and values in a head.
const SIXTEEN: [[u32; 2]; 6] = [[32, 32], [64, 32], [32, 64], [64, 64], [32, 128], [64, 128]];

/// The same for matrices of 8 × 8.
const EIGHT: [[u32; 2]; 2] = [[32, 32], [32, 64]];

const COUNT: usize = 6 * (SIXTEEN.len() + EIGHT.len());

static BUILDS: [Build; COUNT] = {
    let mut all = [Build {
        matrices: Matrices::Sixteen,
        side: Side::Query,
        rows: 0,
        width: 0,
        plain: true,
    }; COUNT];
    let mut i = 0;
    while i < all.len() {
        let size = i / 6;
        let (matrices, [rows, width]) = match size < SIXTEEN.len() {
            true => (Matrices::Sixteen, SIXTEEN[size]),
            false => (Matrices::Eight, EIGHT[size - SIXTEEN.len()]),
        };
        all[i] = Build {
            matrices,
            side: SIDES[i % 3],
            rows,
            width,
            plain: i / 3 % 2 == 0,
        };
        i += 1;
    }
    all
};

impl Build {
    /// The builds for low and for high tiles, which may be the same; `None` for a bias, and if a head has too many
    /// values or not a whole number of units.
    pub fn of(matrices: Matrices, side: Side, heads: Heads, plain: bool) -> Option<[Build; 2]> {
        let wide = heads.d.max(heads.dv) as u32;
        let fits =
            wide <= widest(matrices) && [heads.d, heads.dv].iter().all(|n| n.is_multiple_of(8));
        let width = WIDTHS.into_iter().find(|width| wide <= *width)?;
        let heights = match matrices {
            Matrices::Eight => [32, 32],
            Matrices::Sixteen => [32, 64],
        };
        (fits && side != Side::Bias).then(|| {
            heights.map(|rows| Build {
                matrices,
                side,
                rows,
                width,
                plain,
            })
        })
    }

    pub fn variant(&self) -> usize {
        place_of(&BUILDS, self)
    }
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F16
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (true, "MATRIX"),
            (self.matrices == Matrices::Eight, "EIGHT"),
            (self.side == Side::Query, "QUERIES"),
            (self.side == Side::Key, "KEY"),
            (self.side == Side::Value, "VALUE"),
            (self.rows == 32, "R32"),
            (self.rows == 64, "R64"),
            (self.width == 32, "D32"),
            (self.width == 64, "D64"),
            (self.width == 128, "D128"),
            (self.plain, "PLAIN"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let mut all = numbers(self.matrices, self.rows, self.width);
        all.extend([
            // Units of its own rows that an invocation stages.
            ("OWN_SLOTS", self.width / 16),
            // Which of the staged operands is multiplied by weights.
            ("WEIGHTED", u32::from(self.side == Side::Value)),
        ]);
        all
    }

    fn texts(&self) -> Vec<(String, String)> {
        let [b1, b2] = match self.side {
            Side::Query => ["k", "v"],
            _ => ["q", "g"],
        };
        let width = match self.side {
            Side::Value => "dv",
            _ => "d",
        };
        [("b1", b1), ("b2", b2), ("width", width)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec()
    }
}

slots! {
    pub(super) struct Slots {
        q: Write, k: Write, v: Write, g: Write, stats: Write, items: Read, bias: Write, out: Write,
    }
}

impl From<super::Slots> for Slots {
    fn from(slots: super::Slots) -> Slots {
        Slots {
            q: slots.q,
            k: slots.k,
            v: slots.v,
            g: slots.g,
            stats: slots.stats,
            items: slots.items,
            bias: slots.bias,
            out: slots.out,
        }
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("attention/matrix_slopes"),
    // Operands are bound read-write, as in `attention_matrix`.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[],
    variants: &BUILDS,
};
