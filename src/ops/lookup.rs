//! Replaces each value by the value of a table at that index: one table for all elements, or one for each.
//!
//! Cost: the indices read once, one value of a table read for each, and the result written once, in one dispatch.

use crate::ops::kit::{Tiles, bits_of, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, params,
    shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

slots! {
    struct Slots { index: Read, table: Read, c: Write, c_meta: Read, table_meta: Read }
}

params! {
    struct Params { tiles: Tiles, index_base, table_base }
}

/// Copies the bits of values. EACH: a table for each element.
static KERNEL: Kernel = Kernel {
    shader: shader!("lookup"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![
        U32, C32, F16, U32 "EACH", C32 "EACH", F16 "EACH", U8, U8 "EACH", U32 "BYTES",
        U32 "BYTES" "EACH", U8 "BYTES", U8 "BYTES" "EACH"
    ],
};

/// The values of tables of one type, operand 1, at the indices of operand 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Lookup {
    pub dtype: DType,
    /// The type of the indices. No table has negative ones.
    pub index: DType,
}

impl Operation for Lookup {
    const NAME: &str = "lookup";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn on_bytes(&mut self) -> OnBytes<'_> {
        match self.dtype {
            // There is no kernel for indices of bytes in tables of these types.
            DType::F16 | DType::C32 => OnBytes::InWords(Some(&mut self.index)),
            _ => OnBytes::Direct,
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (index, tables) = request.both();
        let Lookup {
            dtype,
            index: index_type,
        } = *self;
        check(index, tables)?;
        let each = tables.len() > 1;
        let flags: &[&str] = match (index_type == DType::U8, each) {
            (false, false) => &[],
            (false, true) => &["EACH"],
            (true, false) => &["BYTES"],
            (true, true) => &["BYTES", "EACH"],
        };
        let total = index.total();
        let (tiles, groups) = Tiles::of(index);
        let kernel_type = match dtype {
            DType::F16 | DType::C32 | DType::U8 => dtype,
            _ => DType::U32,
        };
        let dispatch = Dispatch::new(
            KERNEL.variant(kernel_type, flags),
            Slots {
                index: Slot::Input(0),
                table: Slot::Input(1),
                c: Slot::Output(0),
                c_meta: Slot::InputMeta(0),
                table_meta: Slot::InputMeta(1),
            },
            Params {
                tiles,
                index_base: Param::InputBase(0),
                table_base: Param::InputBase(1),
            },
            groups,
            total as u64,
        );
        let most = if index_type == DType::I32 {
            1 << 31
        } else {
            usize::MAX
        };
        let twin = Twin::new(move |args| match index_type {
            DType::U8 => bits_of!(dtype, of_bytes)(args, most),
            _ => bits_of!(dtype, of_words)(args, most),
        });
        Ok(Launch::new(dtype, OutputLayout::Input(0), dispatch, twin).into())
    }
}

/// Checks that each element has a table.
fn check(index: &Layout, tables: &Layout) -> Result<()> {
    if tables.rank() != 1 {
        return Err(Error::rank("1 for the tables", tables.rank()));
    }
    if tables.len() != 1 && tables.len() != index.len() {
        return Err(Error::element_count(index.len(), tables.len()));
    }
    Ok(())
}

fn of_bytes<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, most: usize) {
    twin::<u8, T>(args, most, usize::from);
}

fn of_words<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, most: usize) {
    twin::<u32, T>(args, most, |i| i as usize);
}

/// Indices from `most` on are not in the table.
fn twin<I: bytemuck::Pod + Sync, T: bytemuck::Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    most: usize,
    place: fn(I) -> usize,
) {
    let (index, _) = args.input::<I>(0);
    let (tables, table_layout) = args.input::<T>(1);
    let (c, layout) = args.output::<T>(0);
    let last = table_layout.len().saturating_sub(1);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let table = &tables[table_layout.offsets().range(element.min(last))];
        let table = &table[..table.len().min(most)];
        let index = &index[layout.offsets().range(element)][within];
        for (out, &i) in out.iter_mut().zip(index) {
            *out = table.get(place(i)).copied().unwrap_or(T::zeroed());
        }
    });
}
