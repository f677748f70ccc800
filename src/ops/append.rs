//! Appends rows in place to the keys and values of a cache, after the rows that each element already has.
//!
//! Cost: the new rows read once and written once, in one dispatch. The rows that the cache holds are not touched.
//!
//! The kernel writes new lengths: if it incremented them in place, other workgroups of the same dispatch might read the
//! new ones. Each append must continue from the previous one (`Graph::changed_by`); clones that attend to fewer rows
//! remain valid, because an append changes no row within their lengths.

use crate::ops::operation::{Operation, PlanRequest};
use crate::ops::strided::extent_of;
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Plan, PlanBuffer,
    Slot, Twin, number, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Shape};
use crate::{Error, Result, host};

pub(crate) const OP: &str = "append";

slots! {
    struct Slots {
        k: Read, v: Read, counts: Read, items: Read, keys: Write, values: Write, grown: Write,
    }
}

params! {
    struct Params { k_base, v_base, counts_base, tiles, tile, k_words, v_words, units }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("append"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32, F16],
};

/// About how many words of keys or values a workgroup copies.
const TILE: usize = 4096;

/// The operands are the keys and values, which are changed in place, the number of rows of each element, and the new
/// rows of keys and of values. The results are the keys, the values, and the new numbers of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Append {
    pub dtype: DType,
}

impl Append {
    /// Checks new rows of keys and values against those of the cache. Returns the numbers of values in a row of each.
    pub(crate) fn check(
        self,
        [keys, values]: [&Layout; 2],
        [k, v]: [&Layout; 2],
    ) -> Result<[usize; 2]> {
        let widths = widths([keys, values])?;
        for (new, kept) in [(k, keys), (v, values)] {
            new.check_rank_of(kept, "the cache")?;
            kept.check_len(new.len())?;
            for (element, (of, like)) in new.shapes().zip(kept.shapes()).enumerate() {
                let (of_extents, like) = (of.extents(), like.extents());
                // An element without room may have any other extents, and gets no rows.
                if of_extents[0].min(like[0]) > 0 && of_extents[1..] != like[1..] {
                    let expected = format!("{}, as in the cache", rows_of(of_extents[0], like));
                    return Err(Error::shape(element, expected, of));
                }
            }
        }
        for element in 0..k.len() {
            let [rows, others] = [k, v].map(|of| extent_of(of, element, 0));
            if rows != others {
                let expected = format!("({rows}, ..) of the values, as many rows as the keys have");
                return Err(Error::shape(element, expected, v.shape(element)));
            }
        }
        if self.dtype == DType::F16
            && let Some(odd) = widths.iter().find(|width| !width.is_multiple_of(2))
        {
            let what = format!(
                "f16 rows with an odd number of values ({odd}); pad them to an even number"
            );
            return Err(Error::unsupported(what));
        }
        Ok(widths)
    }
}

impl Operation for Append {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let [keys, values, _, k, v] = *inputs else {
            return Err(Error::argument("5 operands", inputs.len()));
        };
        let widths = self.check([keys, values], [k, v])?;
        let units = if self.dtype == DType::F16 { 2 } else { 1 };
        let words = widths.map(|width| width / units);
        let tile = (TILE / words[0].max(words[1]).max(1)).max(1);
        let (items, tiles) = items(keys, k, tile)?;
        let dispatch = Dispatch::new(
            KERNEL.variant(if units == 2 { DType::F16 } else { DType::U32 }, &[]),
            Slots {
                k: Slot::Input(3),
                v: Slot::Input(4),
                counts: Slot::Input(2),
                items: Slot::PlanBuffer(PlanBuffer::new(items)),
                keys: Slot::Output(0),
                values: Slot::Output(1),
                grown: Slot::Output(2),
            },
            Params {
                k_base: Param::InputBase(3),
                v_base: Param::InputBase(4),
                counts_base: Param::InputBase(2),
                tiles: number(4 * k.len()),
                tile: number(tile),
                k_words: number(words[0]),
                v_words: number(words[1]),
                units: number(units),
            },
            tiles as u32,
            (k.total() + v.total() + tiles) as u64,
        );
        let dtype = self.dtype;
        Ok(Launch {
            op: "",
            outputs: vec![
                Output::over(dtype, 0),
                Output::over(dtype, 1),
                Output::new(DType::U32, OutputLayout::Input(2)),
            ],
            scratch: Vec::new(),
            work: dispatch.cost,
            dispatches: vec![dispatch],
            pairs: None,
            twin: Twin::new(move |args: &mut CpuArgs<'_>| twin(args, dtype, widths)),
        }
        .into())
    }
}

/// The numbers of values in a row of keys and in a row of values, which are the same in all elements with rows.
pub(crate) fn widths(batches: [&Layout; 2]) -> Result<[usize; 2]> {
    let mut widths = [0; 2];
    for (layout, width) in batches.into_iter().zip(&mut widths) {
        if layout.is_empty() {
            continue;
        }
        let with_rows = |shape: &Shape| shape.extents()[0] > 0;
        let at = layout.shapes().position(|shape| with_rows(&shape));
        let at = at.unwrap_or(0);
        let first = layout.shape(at);
        let row = &first.extents()[1..];
        let mut others = layout.shapes().enumerate();
        let other =
            others.find(|(_, batches)| with_rows(batches) && batches.extents()[1..] != *row);
        if let Some((element, shape)) = other {
            let expected = format!("{first}, with any number of rows, as in element {at}");
            return Err(Error::shape(element, expected, shape));
        }
        *width = row.iter().map(|extent| *extent as usize).product();
    }
    Ok(widths)
}

/// The shape of `rows` rows like those of an element with the extents `like`, as text.
pub(crate) fn rows_of(rows: u32, like: &[u32]) -> String {
    let others = like[1..].iter().map(|extent| format!(", {extent}"));
    format!("({rows}{})", others.collect::<String>())
}

/// The list of elements, followed by the list of tiles; and the number of tiles. Each element has at least one tile,
/// which writes its new number of rows.
fn items(keys: &Layout, k: &Layout, tile: usize) -> Result<(Vec<u32>, usize)> {
    let mut items = host::room(4 * k.len())?;
    let (mut new, mut reserved) = (0, 0);
    for element in 0..k.len() {
        let [rows, room] = [k, keys].map(|of| extent_of(of, element, 0) as u32);
        items.extend([new, rows, reserved, room]);
        new += rows;
        reserved += room;
    }
    let mut tiles = 0;
    for element in 0..k.len() {
        let rows = extent_of(k, element, 0) as usize;
        for first in (0..rows.max(1)).step_by(tile) {
            host::extend(&mut items, [element as u32, first as u32])?;
            tiles += 1;
        }
    }
    Ok((items, tiles))
}

fn twin(args: &mut CpuArgs<'_>, dtype: DType, widths: [usize; 2]) -> Result<()> {
    let (counts, _) = args.input::<u32>(2);
    let inputs = args.inputs;
    let [keys, values, grown] = &mut *args.outputs else {
        return Ok(());
    };
    for (i, (kept, width)) in [keys, values].into_iter().zip(widths).enumerate() {
        let new = &inputs[3 + i];
        let row = width * dtype.size();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(kept.words);
        let (mut from, mut begin) = (0, 0);
        for (element, count) in counts.iter().enumerate() {
            let rows = extent_of(new.layout, element, 0) as usize;
            let room = extent_of(kept.layout, element, 0) as usize;
            let count = (*count as usize).min(room);
            let fits = rows.min(room - count) * row;
            let to = (begin + count) * row;
            bytes[to..to + fits].copy_from_slice(&new.bytes[from..from + fits]);
            from += rows * row;
            begin += room;
        }
    }
    for (element, (grown, count)) in grown.words.iter_mut().zip(counts).enumerate() {
        *grown = count + extent_of(inputs[3].layout, element, 0) as u32;
    }
    Ok(())
}
