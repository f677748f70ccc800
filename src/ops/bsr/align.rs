//! Copies of operands in which every row begins at a whole quad of words.

use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, constants, params, shader, slots,
    variants,
};
use crate::ragged::{DType, Topology};
use crate::{Error, Result, host};

/// Quads that a workgroup copies, one per invocation.
const WG: u32 = 256;

slots! {
    struct Slots { y: Write, x: Read, list: Read }
}

params! {
    struct Params { x_base, total, count, block_high, block_wide, high, wide }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("bsr/align"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG]],
    variants: variants![F16, F16 "BLOCKS"],
};

/// An operand whose rows begin at whole quads of words: the original, or a copy.
pub(super) struct Aligned {
    pub slot: Slot,
    pub base: Param,
    /// Where each matrix begins, and its row stride in values.
    pub places: Vec<[u32; 2]>,
}

/// Dispatches that copy operands before the products, and the scratch that they fill.
#[derive(Default)]
pub(super) struct Copies {
    pub dispatches: Vec<Dispatch>,
    pub scratch: Vec<u64>,
}

impl Copies {
    /// Adds a dispatch that copies an input into `values` values of scratch.
    fn push(
        &mut self,
        (input, values, flags): (usize, u64, &[&str]),
        list: Vec<u32>,
        params: [u32; 5],
    ) -> Result<Slot> {
        if values > u64::from(u32::MAX) {
            return Err(Error::size_overflow(format!("a copy of {values} values")));
        }
        let to = Slot::Scratch(self.scratch.len());
        self.scratch.push((values / 2).max(1));
        let quads = (values / 8) as u32;
        let [count, block_high, block_wide, high, wide] = params.map(Param::U32);
        self.dispatches.push(Dispatch::new(
            KERNEL.variant(DType::F16, flags),
            Slots {
                y: to.clone(),
                x: Slot::Input(input),
                list: Slot::PlanBuffer(PlanBuffer::new(list)),
            },
            Params {
                x_base: Param::InputBase(input),
                total: Param::U32(quads),
                count,
                block_high,
                block_wide,
                high,
                wide,
            },
            quads.div_ceil(WG),
            values,
        ));
        Ok(to)
    }

    /// Aligns dense matrices, given as (begin, stored rows and columns, required rows and columns).
    pub fn dense(
        &mut self,
        input: usize,
        quads: bool,
        matrices: &[(u32, [u32; 2], [u32; 2])],
    ) -> Result<Aligned> {
        let fits = |&(begin, from, to): &(u32, [u32; 2], [u32; 2])| begin % 8 == 0 && from == to;
        if quads && matrices.iter().all(fits) {
            return Ok(Aligned {
                slot: Slot::Input(input),
                base: Param::InputBase(input),
                places: host::exact(matrices.iter().map(|m| [m.0, m.1[1]]))?,
            });
        }
        let mut list = host::room(6 * matrices.len())?;
        let mut places = host::room(matrices.len())?;
        let mut at = 0u64;
        for &(begin, [rows, columns], to) in matrices {
            // Wraps only if there are too many values, which `push` refuses.
            list.extend([begin, at as u32, rows, columns, to[1], to[0]]);
            places.push([at as u32, to[1]]);
            at += u64::from(to[0]) * u64::from(to[1]);
        }
        let count = matrices.len() as u32;
        let slot = self.push((input, at, &[]), list, [count, 0, 0, 0, 0])?;
        Ok(Aligned {
            slot,
            base: Param::U32(0),
            places,
        })
    }

    /// Aligns sets of blocks, with zeros beyond the inner extent.
    pub fn blocks(
        &mut self,
        quads: bool,
        topology: &Topology,
        sets: usize,
        by_columns: bool,
    ) -> Result<Aligned> {
        let inner = usize::from(!by_columns);
        let places = (0..sets).map(|set| [(set * topology.set()) as u32, 0]);
        if quads && topology.shape()[inner].is_multiple_of(topology.block()[inner]) {
            return Ok(Aligned {
                slot: Slot::Input(0),
                base: Param::InputBase(0),
                places: host::exact(places)?,
            });
        }
        let mut list = host::room(2 * topology.len())?;
        list.extend(topology.blocks().flat_map(|(row, column)| [row, column]));
        let [[high, wide], [m, n]] = [topology.block(), topology.shape()];
        let params = [topology.len(), high, wide, m, n].map(|side| side as u32);
        let values = (sets * topology.set()) as u64;
        let slot = self.push((0, values, &["BLOCKS"]), list, params)?;
        Ok(Aligned {
            slot,
            base: Param::U32(0),
            places: host::exact(places)?,
        })
    }
}
