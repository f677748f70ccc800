//! Adds up what pieces of rows left in a scratch buffer.

use super::plan::Rows;
use super::{Extents, groups};
use crate::plan::{Dispatch, Interface, Kernel, Param, constants, params, shader, slots, variants};
use crate::ragged::DType;
use crate::{Result, host};

slots! {
    pub(super) struct FinishSlots { c: Write, order: Read, list: Read, scratch: Read }
}

params! {
    struct FinishParams { heavy, heavy_count, strips, panels, block_high, high, transposed }
}

pub(super) static FINISH: Kernel = Kernel {
    shader: shader!("bsr/finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[constants![FINISH_COLUMNS, STRIP]],
    variants: variants![F32],
};

/// Rows that a workgroup of `bsr_finish` processes.
const STRIP: u32 = 8;

/// Columns that a workgroup of `bsr_finish` processes.
const FINISH_COLUMNS: usize = 128;

/// The dispatch that adds the sums that later pieces of rows left in scratch.
pub(super) struct Finish<'a> {
    pub rows: &'a Rows,
    /// Where the panels begin in the list, and their number.
    pub panels: (u32, usize),
    pub columns: u64,
    pub high: u32,
    pub m: u32,
    /// Whether a scratch slot is stored column by column.
    pub transposed: bool,
}

impl Finish<'_> {
    /// Appends the panels to the words of the list.
    pub(super) fn panels(products: &[Extents], words: &mut Vec<u32>) -> Result<()> {
        for (i, product) in products.iter().enumerate().filter(|(_, p)| p.m > 0) {
            let columns = (0..product.n).step_by(FINISH_COLUMNS);
            host::reserve(words, 4 * columns.len())?;
            words.extend(columns.flat_map(|column| [i as u32, column, 0, 0]));
        }
        Ok(())
    }

    pub(super) fn dispatch(&self, slots: FinishSlots) -> Result<Dispatch> {
        let (rows, (first, panels)) = (self.rows, self.panels);
        let strips = self.high / STRIP;
        let params = FinishParams {
            heavy: Param::U32(rows.heavy_at),
            heavy_count: Param::U32(rows.heavy),
            strips: Param::U32(strips),
            panels: Param::U32(first),
            block_high: Param::U32(self.high),
            high: Param::U32(self.m),
            transposed: Param::U32(u32::from(self.transposed)),
        };
        let cost = u64::from(self.high) * u64::from(rows.slots);
        Ok(Dispatch::new(
            FINISH.variant(DType::F32, &[]),
            slots,
            params,
            groups(panels, rows.heavy, strips)?,
            self.columns.saturating_mul(cost),
        ))
    }
}
