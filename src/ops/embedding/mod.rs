//! Rows of a table by ids that a device holds, and in [`slopes`] the sums of rows with the same id.
//!
//! Cost: the ids read once, one row of the table read for each, and the result written once, in one dispatch. No
//! invocation needs to find its element, because rows have the order of their ids.

pub(crate) mod slopes;

use rayon::prelude::*;

use super::strided;
use crate::ops::kit::STREAM_TILE;
use crate::ops::kit::{STREAM, stream_groups};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, number, params, shader,
    slots, variants,
};
use crate::ragged::{DType, Layout, MAX_RANK};
use crate::{Error, Result};

slots! {
    struct Slots { x: Read, ids: Read, c: Write }
}

params! {
    struct Params { total, rows, width, x_base, ids_base, missing }
}

/// Copies the bits of values, so one variant serves all types of a size.
static KERNEL: Kernel = Kernel {
    shader: shader!("embedding/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: variants![U32, F16],
};

/// The rows of a table, operand 0, that the ids of operand 1 select. The call's scalar is the word that fills a row
/// whose id is not in the table: the bits of one value, or of two for f16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Embedding {
    pub dtype: DType,
}

impl Operation for Embedding {
    const NAME: &str = "embedding";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (table, ids) = request.both();
        let dtype = self.dtype;
        let [rows, width] = extents(table)?;
        let rank = ids.rank();
        if rank == MAX_RANK {
            return Err(Error::rank(
                format!("at most {} for the ids", MAX_RANK - 1),
                rank,
            ));
        }
        let c = strided::layout(ids.len(), rank + 1, |element, axis| match axis < rank {
            true => strided::extent_of(ids, element, axis),
            false => width as u64,
        })?;
        let total = c.total();
        let kernel_type = match dtype {
            DType::F16 => DType::F16,
            _ => DType::U32,
        };
        Ok(Launch::new(
            dtype,
            c,
            Dispatch::new(
                KERNEL.variant(kernel_type, &[]),
                Slots {
                    x: Slot::Input(0),
                    ids: Slot::Input(1),
                    c: Slot::Output(0),
                },
                Params {
                    total: number(total),
                    rows: number(rows),
                    width: number(width),
                    x_base: Param::InputBase(0),
                    ids_base: Param::InputBase(1),
                    missing: Param::Scalar(0),
                },
                stream_groups(total),
                total as u64,
            ),
            Twin::new(move |args| match dtype {
                DType::F16 => twin(args, width, |bits| bits as u16),
                _ => twin(args, width, |bits| bits),
            }),
        )
        .into())
    }
}

/// The numbers of rows of a table, and of values in each.
fn extents(table: &Layout) -> Result<[usize; 2]> {
    if table.len() != 1 {
        let expected = "a table of one element";
        return Err(Error::argument(
            expected,
            format!("{} elements", table.len()),
        ));
    }
    match *table.extents() {
        [rows, width] => Ok([rows as usize, width as usize]),
        _ => Err(Error::rank("2 for the table", table.rank())),
    }
}

fn twin<T: bytemuck::Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    width: usize,
    of: fn(u32) -> T,
) -> Result<()> {
    let (table, _) = args.input::<T>(0);
    let (ids, _) = args.input::<u32>(1);
    let missing = of(args.scalars[0]);
    let (c, _) = args.output::<T>(0);
    if c.is_empty() {
        return Ok(());
    }
    let rows = (STREAM_TILE / width).max(1);
    c.par_chunks_mut(rows * width)
        .zip(ids.par_chunks(rows))
        .for_each(|(c, ids)| {
            for (c, &id) in c.chunks_exact_mut(width).zip(ids) {
                let row = table.get((id as usize).saturating_mul(width)..);
                match row.and_then(|row| row.get(..width)) {
                    Some(row) => c.copy_from_slice(row),
                    None => c.fill(missing),
                }
            }
        });
    Ok(())
}
