//! Gathers rows of elements by lists of indices, in any order and with repetitions. Rows that do not exist are zeros.
//!
//! Cost: the rows and the indices read once, the result written once, in one dispatch.

use std::sync::Arc;

use crate::ops::kit::{PAIRING, bits_of, pair_params, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, PlanBuffer, Slot, Twin, params,
    shader, slots, stream_tile, variants,
};
use crate::ragged::{DType, Indices, Layout, Offsets, Pairs, product, total_overflow};
use crate::{Error, Result, host};

slots! {
    struct Slots {
        x: Read, x_meta: Read, c: Write, c_meta: Read, index: Read, index_meta: Read, pair_list: Read,
    }
}

params! {
    struct Params { total, x_base, elements, tile, pair_kind, pair_right }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("gather"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[PAIRING],
    variants: variants![U32, U32 "DOUBLE", F16, U8],
};

/// The rows at listed indices, over values of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Gather {
    pub indices: Indices,
    pub dtype: DType,
}

impl Operation for Gather {
    const NAME: &str = "gather";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let pairs = request.pairs();
        let result = rows(x, &self.indices, pairs)?;
        Ok(plan(self.dtype, &self.indices, pairs, result)?.into())
    }
}

/// The shapes of a gather from `x`: for each pair, as many rows as its list has indices.
pub(in crate::ops) fn rows(x: &Layout, indices: &Indices, pairs: &Pairs) -> Result<Layout> {
    let lists = indices.lists().offsets();
    let rank = x.rank();
    let each = if rank == 1 { 0 } else { rank };
    host::check(pairs.len(), 4 * (1 + each))?;
    let mut offsets = host::room(pairs.len() + 1)?;
    let mut extents = host::room(pairs.len() * each)?;
    let mut total = 0u32;
    offsets.push(0);
    for (pair, (i, j)) in pairs.iter().enumerate() {
        let rows = lists.length(j) as u32;
        let size = if rank == 1 {
            rows
        } else {
            let from = extents.len();
            extents.push(rows);
            extents.extend_from_slice(&x.extents()[i * rank + 1..(i + 1) * rank]);
            product(&extents[from..])
                .ok_or_else(|| Error::size_overflow("the number of values in its rows").at(pair))?
        };
        total = total
            .checked_add(size)
            .ok_or_else(|| total_overflow(pair))?;
        offsets.push(total);
    }
    let offsets = Offsets::from_vec_unchecked(offsets);
    Ok(Layout::unchecked(offsets, rank, extents))
}

/// The gather whose result has this layout, which also determines the width of the rows.
pub(in crate::ops) fn plan(
    dtype: DType,
    indices: &Indices,
    pairs: &Pairs,
    result: Layout,
) -> Result<Launch> {
    let (kernel_type, flags): (_, &[&str]) = match dtype {
        DType::F16 | DType::U8 => (dtype, &[]),
        DType::C32 => (DType::U32, &["DOUBLE"]),
        _ => (DType::U32, &[]),
    };
    let tile = stream_tile(result.total(), result.len());
    let c_meta = Slot::Meta(result.clone());
    let ([pair_kind, pair_right], pair_list) = pair_params(pairs, indices.len(), &c_meta)?;
    let (indices, lists) = (indices.clone(), indices.lists().clone());
    let bytes = size_of_val(indices.values());
    let dispatch = Dispatch::new(
        KERNEL.variant(kernel_type, flags),
        Slots {
            x: Slot::Input(0),
            x_meta: Slot::InputMeta(0),
            c: Slot::Output(0),
            c_meta,
            index: Slot::PlanBuffer(words(&indices)?),
            index_meta: Slot::Meta(lists),
            pair_list,
        },
        Params {
            total: Param::U32(result.total() as u32),
            x_base: Param::InputBase(0),
            elements: Param::U32(result.len() as u32),
            tile: Param::U32(tile as u32),
            pair_kind,
            pair_right,
        },
        result.total().div_ceil(tile) as u32,
        dtype.words(result.total()) as u64,
    );
    let twin = Twin::new(move |args| bits_of!(dtype, twin)(args, &indices)).holding(bytes);
    Ok(Launch::new(dtype, result, dispatch, twin).with_pairs(pairs))
}

/// The indices as a plan buffer, cached with them.
fn words(indices: &Indices) -> Result<Arc<PlanBuffer>> {
    indices.derived(|| Ok(PlanBuffer::new(host::copied(indices.values())?)))
}

fn twin<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, indices: &Indices) {
    let (x, x_layout) = args.input::<T>(0);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let (i, j) = pairs.get(element);
        let x = &x[x_layout.offsets().range(i)];
        let list = indices.list(j);
        let width = layout.length(element) / list.len();
        gather_rows(out, within.start, width, x, list);
    });
}

/// Copies the rows of `x` that the list names, from value `from` of all their values on.
fn gather_rows<T: bytemuck::Pod>(out: &mut [T], from: usize, width: usize, x: &[T], list: &[u32]) {
    if width == 1 {
        for (value, &index) in out.iter_mut().zip(&list[from..]) {
            *value = x.get(index as usize).copied().unwrap_or(T::zeroed());
        }
        return;
    }
    let (row, skipped) = (from / width, from % width);
    let (head, rest) = out.split_at_mut(((width - skipped) % width).min(out.len()));
    let mut list = list[row..].iter();
    let mut fill = |out: &mut [T], skipped: usize| {
        let index = list.next().map_or(usize::MAX, |&index| index as usize);
        let row = x.get(index.saturating_mul(width)..).unwrap_or(&[]);
        match row.get(skipped..skipped + out.len()) {
            Some(row) => out.copy_from_slice(row),
            None => out.fill(T::zeroed()),
        }
    };
    if !head.is_empty() {
        fill(head, skipped);
    }
    for out in rest.chunks_mut(width) {
        fill(out, 0);
    }
}
