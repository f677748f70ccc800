//! Attention of f16 over short elements, on cooperative matrices: the builds of `attention/short.wgsl`.

use std::borrow::Cow;

use super::Heads;
use super::matrix::of_strips;
use crate::plan::{Interface, Kernel, Listed, Matrices, named, place_of, shader, slots};
use crate::ragged::DType;

/// The largest number of values in a head that this kernel supports.
const WIDEST: u32 = 64;

/// Heads that a workgroup computes one after the other, if there are many.
const IN_TURN: usize = 8;

/// Workgroups below which heads are not computed in turn: four for each of 256 multiprocessors.
const FEWEST: usize = 1024;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ops) struct Build {
    pub matrices: Matrices,
    /// The largest number of queries and of keys.
    pub most: u32,
    /// The largest number of values in a head.
    width: u32,
}

/// With wide heads, a workgroup for 64 rows takes as much memory as one of `attention_matrix`, which computes elements
/// of any length in the same dispatch.
static BUILDS: [Build; 6] = {
    const SIZES: [[u32; 2]; 3] = [[32, 32], [64, 32], [32, 64]];
    let mut all = [Build {
        matrices: Matrices::Sixteen,
        most: 0,
        width: 0,
    }; 6];
    let mut i = 0;
    while i < all.len() {
        [all[i].most, all[i].width] = SIZES[i % 3];
        if i >= 3 {
            all[i].matrices = Matrices::Eight;
        }
        i += 1;
    }
    all
};

impl Build {
    /// The builds for the shortest and for other short elements; none if heads share keys or have too many values, or
    /// not a whole number of quads of words.
    pub fn of(matrices: Matrices, heads: Heads) -> [Option<Build>; 2] {
        let width = heads.d.max(heads.dv) as u32;
        let whole = [heads.d, heads.dv].iter().all(|n| n.is_multiple_of(8));
        let fits = whole && width <= WIDEST && heads.group() == 1;
        let width = width.next_multiple_of(WIDEST / 2);
        let build = |most| Build {
            matrices,
            most,
            width,
        };
        [32, 64].map(|most| Some(build(most)).filter(|of| fits && BUILDS.contains(of)))
    }

    pub fn variant(&self) -> usize {
        place_of(&BUILDS, self)
    }
}

/// The number of workgroups that compute this many heads of elements.
pub(super) fn groups(units: usize) -> usize {
    units.min(FEWEST).max(units.div_ceil(IN_TURN))
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F16
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (true, "MATRIX"),
            (self.matrices == Matrices::Eight, "EIGHT"),
            (self.most == 32, "N32"),
            (self.most == 64, "N64"),
            (self.width == 32, "D32"),
            (self.width == 64, "D64"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let mut all = of_strips(self.matrices, self.most / 32, self.width, self.width);
        // Units of each operand that an invocation stages.
        all.extend([("SHORT", self.most), ("SLOTS", self.width / 8)]);
        all
    }
}

slots! {
    pub(super) struct Slots { q: Write, k: Write, v: Write, o: Write, lse: Write, items: Read }
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
        }
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("attention/short"),
    // Operands are bound read-write, as in `matmul_matrix`.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[],
    variants: &BUILDS,
};
