//! Attention of f16 on cooperative matrices of 16 × 16: the builds of `attention_matrix.wgsl`.

use std::borrow::Cow;

use super::Heads;
use crate::plan::{Interface, Kernel, Listed, named, place_of, slots};
use crate::ragged::DType;

/// Keys that are staged at a time.
pub(super) const KEYS: u32 = 32;

/// The largest number of values in a head that this kernel supports.
pub(super) const WIDEST: u32 = 128;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
    /// Rows of a tile.
    pub rows: u32,
    /// The largest number of values in a head.
    width: u32,
    /// Whether scores are products alone: no cap, bias, slopes or blocks of a mask.
    plain: bool,
}

/// Rows of a tile, and values in a head. With the widest heads, a multiprocessor has memory for only one workgroup, so
/// those workgroups are larger.
const SIZES: [[u32; 2]; 8] = [
    [32, 32],
    [64, 32],
    [32, 64],
    [64, 64],
    [32, 96],
    [64, 96],
    [64, 128],
    [128, 128],
];

static BUILDS: [Build; 16] = {
    let mut all = [Build {
        rows: 0,
        width: 0,
        plain: true,
    }; 16];
    let mut i = 0;
    while i < all.len() {
        let [rows, width] = SIZES[i / 2];
        all[i] = Build {
            rows,
            width,
            plain: i % 2 == 0,
        };
        i += 1;
    }
    all
};

impl Build {
    /// The builds for low and for high tiles; `None` if a head has too many values, or not a whole number of quads of
    /// words.
    pub fn of(heads: Heads, plain: bool) -> Option<[Build; 2]> {
        let width = heads.d.max(heads.dv) as u32;
        let fits = width <= WIDEST && [heads.d, heads.dv].iter().all(|n| n.is_multiple_of(8));
        let width = width.next_multiple_of(WIDEST / 4);
        let heights = if width == WIDEST { [64, 128] } else { [32, 64] };
        fits.then(|| heights.map(|rows| Build { rows, width, plain }))
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
        const WIDTHS: [&str; 4] = ["D32", "D64", "D96", "D128"];
        named(&[
            (true, "MATRIX"),
            (self.rows == 32, "R32"),
            (self.rows == 64, "R64"),
            (self.rows == 128, "R128"),
            (true, WIDTHS[(self.width / 32 - 1) as usize]),
            (self.plain, "PLAIN"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let mut all = numbers(self.rows, self.width);
        // Queries are staged 64 rows at a time.
        all.extend([
            ("ROUNDS", self.rows.div_ceil(64)),
            (
                "Q_SLOTS",
                self.width / 8 * self.rows.min(64) / (2 * self.rows),
            ),
        ]);
        all
    }
}

/// What the kernels of attention on matrices have in common, for tiles of `rows` rows and heads of at most `width`
/// values.
pub(super) fn numbers(rows: u32, width: u32) -> Vec<(&'static str, u32)> {
    let units = width / 8;
    vec![
        ("WG", 2 * rows),
        ("ROWS", rows),
        ("KEYS", KEYS),
        ("SIDE", 16),
        ("D", width),
        // Pairs of subgroups; each pair shares 32 rows.
        ("GROUPS", rows / 32),
        // Matrices in half of the columns.
        ("COLUMNS", width / 32),
        // Units of each operand's stage that an invocation stages.
        ("SLOTS", units * KEYS / (2 * rows)),
        // An odd number of units from row to row, so that neighbouring rows are in different banks.
        ("PITCH", 2 * (units + 1)),
        ("P_PITCH", 2 * (KEYS / 8 + 1)),
        ("STRIP", 36),
    ]
}

slots! {
    pub(super) struct Slots {
        q: Write, k: Write, v: Write, o: Write, lse: Write, items: Read, bias: Write, per_head: Write,
    }
}

impl From<super::Slots> for Slots {
    fn from(slots: super::Slots) -> Slots {
        Slots {
            q: slots.q,
            k: slots.k,
            v: slots.v,
            o: slots.o,
            lse: slots.lse,
            items: slots.items,
            bias: slots.bias,
            per_head: slots.per_head,
        }
    }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "attention_matrix",
    source: include_str!("../../../shaders/attention_matrix.wgsl"),
    // Operands are bound read-write, as in `matmul_matrix`. q is bound in place of a missing operand.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[],
    variants: &BUILDS,
};
