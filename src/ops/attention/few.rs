//! Attention of few queries over many keys: the builds of `attention/few.wgsl`.

use std::borrow::Cow;

use super::{Heads, Params, Slots};
use crate::plan::{Interface, Kernel, Listed, constants, named, place_of, shader};
use crate::ragged::DType;

/// The keys of a piece: if an element with few rows has more, they are cut into pieces.
pub(super) const PIECE: usize = 512;

/// The most rows of an element that counts as having few.
pub(super) const MOST: usize = 16;

/// Invocations of a workgroup.
const WG: u32 = 256;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
    dtype: DType,
    /// Rows of a tile.
    pub rows: u32,
    /// Whether keys are cut into pieces, whose results are merged.
    pub pieces: bool,
}

static BUILDS: [Build; 8] = {
    let mut all = [Build {
        dtype: DType::F32,
        rows: 1,
        pieces: false,
    }; 8];
    let mut i = 0;
    while i < all.len() {
        all[i] = Build {
            dtype: if i < 4 { DType::F32 } else { DType::F16 },
            rows: if i % 2 == 0 { 1 } else { 4 },
            pieces: i % 4 >= 2,
        };
        i += 1;
    }
    all
};

/// Values in 16 bytes.
pub(crate) const fn unit(dtype: DType) -> usize {
    match dtype {
        DType::F16 => 8,
        _ => 4,
    }
}

impl Build {
    /// The builds for elements with a single piece of keys and with several, if heads are whole units. `rows` is the
    /// largest number of rows of an element with few.
    pub(super) fn of(dtype: DType, heads: Heads, rows: usize) -> Option<[Build; 2]> {
        let whole = |n: usize| n > 0 && n.is_multiple_of(unit(dtype));
        let rows = if rows == 1 { 1 } else { 4 };
        (whole(heads.d) && whole(heads.dv)).then(|| {
            [false, true].map(|pieces| Build {
                dtype,
                rows,
                pieces,
            })
        })
    }

    pub(super) fn variant(&self) -> usize {
        place_of(&BUILDS, self)
    }
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (self.rows == 1, "R1"),
            (self.rows == 4, "R4"),
            (self.pieces, "PIECES"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let unit = unit(self.dtype) as u32;
        vec![
            ("WG", WG),
            ("R", self.rows),
            // Of the four keys that an invocation loads at a time, those whose products are in memory together.
            ("BATCH", 4 / self.rows),
            ("UNIT", unit),
            ("PARTS", unit / 4),
            // Products of units of one key and row of each group of invocations, an odd number apart.
            ("SIDE", WG + WG / 2),
        ]
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("attention/few"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![PIECE]],
    variants: &BUILDS,
};
