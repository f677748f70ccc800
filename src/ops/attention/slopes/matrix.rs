//! Gradients of attention of f16 on cooperative matrices of 16 × 16: the builds of `attention_matrix_slopes.wgsl`.

use std::borrow::Cow;

use super::super::matrix::{WIDEST, numbers};
use super::{Heads, Side};
use crate::plan::{Interface, Kernel, Listed, named, place_of, slots};
use crate::ragged::DType;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
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

static BUILDS: [Build; 36] = {
    let mut all = [Build {
        side: Side::Query,
        rows: 0,
        width: 0,
        plain: true,
    }; 36];
    let mut i = 0;
    while i < all.len() {
        all[i] = Build {
            side: SIDES[i % 3],
            rows: if i / 3 % 2 == 0 { 32 } else { 64 },
            width: WIDTHS[i / 6 % 3],
            plain: i < 18,
        };
        i += 1;
    }
    all
};

impl Build {
    /// The builds for low and for high tiles; `None` for a bias, and if a head has too many values or not a whole
    /// number of units.
    pub fn of(side: Side, heads: Heads, plain: bool) -> Option<[Build; 2]> {
        let widest = heads.d.max(heads.dv) as u32;
        let fits = widest <= WIDEST && [heads.d, heads.dv].iter().all(|n| n.is_multiple_of(8));
        let width = WIDTHS.into_iter().find(|width| widest <= *width)?;
        (fits && side != Side::Bias).then(|| {
            [32, 64].map(|rows| Build {
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
        let mut all = numbers(self.rows, self.width);
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

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "attention_matrix_slopes",
    source: include_str!("../../../../shaders/attention_matrix_slopes.wgsl"),
    // Operands are bound read-write, as in `attention_matrix`.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[],
    variants: &BUILDS,
};
