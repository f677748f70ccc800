//! Attention of f16 on cooperative matrices: the builds of `attention/matrix.wgsl`.
//!
//! They compute heads of up to 128 values in multiples of 8, except pieces of keys, elements of at most four rows,
//! caches, and elements without keys.

use std::borrow::Cow;

use super::Heads;
use crate::plan::{Interface, Kernel, Listed, Matrices, named, place_of, shader, slots};
use crate::ragged::DType;

/// Keys that are staged at a time.
pub(super) const KEYS: u32 = 32;

/// The largest number of values in a head that the kernels support. With matrices of 8 × 8, they stay within 16 KiB of
/// workgroup memory.
pub(super) fn widest(matrices: Matrices) -> u32 {
    match matrices {
        Matrices::Eight => 64,
        Matrices::Sixteen => 128,
    }
}

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
    pub matrices: Matrices,
    /// Rows of a tile.
    pub rows: u32,
    /// The largest number of values in a head.
    width: u32,
    /// Whether scores are products alone: no cap, bias, slopes or blocks of a mask.
    plain: bool,
}

/// Rows of a tile, and values in a head. With the widest heads, a multiprocessor has memory for only one workgroup, so
/// those workgroups are larger.
const SIXTEEN: [[u32; 2]; 8] = [
    [32, 32],
    [64, 32],
    [32, 64],
    [64, 64],
    [32, 96],
    [64, 96],
    [64, 128],
    [128, 128],
];

/// The same for matrices of 8 × 8.
const EIGHT: [[u32; 2]; 2] = [[32, 32], [32, 64]];

const COUNT: usize = 2 * (SIXTEEN.len() + EIGHT.len());

static BUILDS: [Build; COUNT] = {
    let mut all = [Build {
        matrices: Matrices::Sixteen,
        rows: 0,
        width: 0,
        plain: true,
    }; COUNT];
    let mut i = 0;
    while i < all.len() {
        let size = i / 2;
        let (matrices, [rows, width]) = match size < SIXTEEN.len() {
            true => (Matrices::Sixteen, SIXTEEN[size]),
            false => (Matrices::Eight, EIGHT[size - SIXTEEN.len()]),
        };
        all[i] = Build {
            matrices,
            rows,
            width,
            plain: i % 2 == 0,
        };
        i += 1;
    }
    all
};

impl Build {
    /// The builds for low and for high tiles, which may be the same; `None` if a head has too many values, or not a
    /// whole number of quads of words.
    pub fn of(matrices: Matrices, heads: Heads, plain: bool) -> Option<[Build; 2]> {
        let width = heads.d.max(heads.dv) as u32;
        let fits =
            width <= widest(matrices) && [heads.d, heads.dv].iter().all(|n| n.is_multiple_of(8));
        let width = width.next_multiple_of(32);
        let heights = match (matrices, width) {
            (Matrices::Eight, _) => [32, 32],
            (Matrices::Sixteen, 128) => [64, 128],
            (Matrices::Sixteen, _) => [32, 64],
        };
        fits.then(|| {
            heights.map(|rows| Build {
                matrices,
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
        const WIDTHS: [&str; 4] = ["D32", "D64", "D96", "D128"];
        named(&[
            (true, "MATRIX"),
            (self.matrices == Matrices::Eight, "EIGHT"),
            (self.rows == 32, "R32"),
            (self.rows == 64, "R64"),
            (self.rows == 128, "R128"),
            (true, WIDTHS[(self.width / 32 - 1) as usize]),
            (self.plain, "PLAIN"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let mut all = numbers(self.matrices, self.rows, self.width);
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

/// What the kernels for stages of [`KEYS`] columns have in common, for tiles of `rows` rows and heads of at most
/// `width` values.
pub(super) fn numbers(matrices: Matrices, rows: u32, width: u32) -> Vec<(&'static str, u32)> {
    let mut all = of_strips(matrices, rows / 16, width, width / 2);
    all.extend([
        ("ROWS", rows),
        ("KEYS", KEYS),
        // Pairs of subgroups; each pair shares 32 rows.
        ("GROUPS", rows / 32),
        // Units of each operand's stage that an invocation stages.
        ("SLOTS", width / 8 * KEYS / (2 * rows)),
    ]);
    all
}

/// What all kernels of attention on matrices have in common: the numbers of `coop_strips.wgsl`, for heads of at most
/// `width` values, and subgroups that each compute results in `columns` columns.
pub(super) fn of_strips(
    matrices: Matrices,
    subgroups: u32,
    width: u32,
    columns: u32,
) -> Vec<(&'static str, u32)> {
    let side = matrices.side();
    // Values per element of staged memory, and between the end of a row and the next one: an odd number of what is
    // loaded at a time, so that neighbouring rows are in different banks.
    let (per, gap) = match matrices {
        Matrices::Eight => (1, 4),
        Matrices::Sixteen => (4, 8),
    };
    vec![
        ("WG", 32 * subgroups),
        ("SUBGROUPS", subgroups),
        ("SIDE", side),
        ("D", width),
        ("PER", per),
        ("PITCH", (width + gap) / per),
        // Of weights of 32 keys.
        ("P_PITCH", (32 + gap) / per),
        ("STRIP", 36),
        // Matrices in the 32 rows of a subgroup, in 16 columns, and in all columns of its results; and the last ones by
        // 16.
        ("DOWN", 32 / side),
        ("ACROSS", 16 / side),
        ("COLUMNS", columns / side),
        ("STRIPS", columns / 16),
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

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("attention/matrix"),
    // Operands are bound read-write, as in `matmul_matrix`. q is bound in place of a missing operand.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[],
    variants: &BUILDS,
};
