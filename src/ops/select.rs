//! Selected or reordered elements of a batch, and concatenated batches.
//!
//! Cost: the values read once and written once; in one dispatch, or one for every seven batches.

use rayon::prelude::*;

use crate::ops::kit::{STREAM, bits_of, par_tiles, stream_groups};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Attachment, CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, PlanBuffer, Slot, Twin,
    cost_of, params, shader, slots, stream_tile, variants,
};
use crate::ragged::{DType, Layout, Offsets, Permutation, total_overflow};
use crate::{Error, Result, host};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read, list: Read }
}

params! {
    struct Params { total, x_base, elements, tile }
}

static SELECT: Kernel = Kernel {
    shader: shader!("gather", "select"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32 "ELEMENTS", U32 "ELEMENTS" "DOUBLE", F16 "ELEMENTS", U8 "ELEMENTS"],
};

slots! {
    struct JoinSlots {
        y: Write, x0: Read, x1: Read, x2: Read, x3: Read, x4: Read, x5: Read, x6: Read,
    }
}

params! {
    struct JoinParams {
        begin, end0, end1, end2, end3, end4, end5, end6,
        base0, base1, base2, base3, base4, base5, base6,
    }
}

/// The largest number of batches that one dispatch joins: as many as there are bindings.
const BATCHES: usize = 7;

static JOIN: Kernel = Kernel {
    shader: shader!("join"),
    interface: Interface::of::<JoinSlots, JoinParams>(),
    constants: &[STREAM],
    variants: variants![U32, F16, U8],
};

/// All elements in another order, over values of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reorder {
    pub order: Permutation,
    pub dtype: DType,
}

impl Operation for Reorder {
    const NAME: &str = "reorder";

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        if self.order.len() != x.len() {
            return Err(Error::element_count(x.len(), self.order.len()));
        }
        Ok(plan(self.dtype, x, self.order.as_slice())?.into())
    }
}

/// The elements sorted by length, over values of one type. The permutation is attached to the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SortByLength {
    pub dtype: DType,
}

impl Operation for SortByLength {
    const NAME: &str = "reorder";

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let order = Permutation::by_length(x)?;
        let launch = plan(self.dtype, x, order.as_slice())?;
        Ok(Plan::from(launch).with(Attachment::Permutation(order)))
    }
}

/// Selected elements, over values of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Select {
    pub elements: Vec<u32>,
    pub dtype: DType,
}

impl Operation for Select {
    const NAME: &str = "select";
    const KERNELS: &[&Kernel] = &[&SELECT];

    fn is_cached(&self) -> bool {
        false
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let elements = &self.elements[..];
        let wrong = elements.iter().position(|&i| i as usize >= x.len());
        Ok(match wrong {
            None => plan(self.dtype, x, elements),
            Some(position) => Err(Error::index(
                None,
                position,
                elements[position] as usize,
                x.len(),
            )),
        }?
        .into())
    }
}

/// Selects elements by index; every index is below the number of elements.
pub(super) fn plan(dtype: DType, x: &Layout, elements: &[u32]) -> Result<Launch> {
    let (from, rank) = (x.offsets().as_slice(), x.rank());
    let mut offsets = host::room(elements.len() + 1)?;
    let mut total = 0u32;
    offsets.push(0);
    for (position, &i) in elements.iter().enumerate() {
        let length = from[i as usize + 1] - from[i as usize];
        total = total
            .checked_add(length)
            .ok_or_else(|| total_overflow(position))?;
        offsets.push(total);
    }
    let extents = match rank {
        1 => Vec::new(),
        _ => {
            let mut extents = host::room(elements.len() * rank)?;
            let shape_of = |&i: &u32| &x.extents()[i as usize * rank..][..rank];
            extents.extend(elements.iter().flat_map(shape_of));
            extents
        }
    };
    let offsets = Offsets::from_vec_unchecked(offsets);
    let result = Layout::unchecked(offsets, rank, extents);
    let (kernel_type, flags): (_, &[&str]) = match dtype {
        DType::F16 | DType::U8 => (dtype, &["ELEMENTS"]),
        DType::C32 => (DType::U32, &["ELEMENTS", "DOUBLE"]),
        _ => (DType::U32, &["ELEMENTS"]),
    };
    let tile = stream_tile(result.total(), result.len());
    let elements = PlanBuffer::new(host::copied(elements)?);
    let dispatch = Dispatch::new(
        SELECT.variant(kernel_type, flags),
        Slots {
            x: Slot::Input(0),
            x_meta: Slot::InputMeta(0),
            c: Slot::Output(0),
            c_meta: Slot::Meta(result.clone()),
            list: Slot::PlanBuffer(elements.clone()),
        },
        Params {
            total: Param::U32(result.total() as u32),
            x_base: Param::InputBase(0),
            elements: Param::U32(result.len() as u32),
            tile: Param::U32(tile as u32),
        },
        result.total().div_ceil(tile) as u32,
        dtype.words(result.total()) as u64,
    );
    let twin = Twin::new(move |args| bits_of!(dtype, twin)(args, elements.data()));
    Ok(Launch::new(dtype, result, dispatch, twin))
}

fn twin<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, elements: &[u32]) {
    let (x, x_layout) = args.input::<T>(0);
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let from = x_layout.offsets().range(elements[element] as usize);
        out.copy_from_slice(&x[from][within]);
    });
}

/// All elements of several batches, one batch after the other, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Join {
    pub dtype: DType,
}

impl Join {
    /// Joins up to [`BATCHES`] batches, from `first` on. `ends` are the ends of all batches in the result.
    fn dispatch(self, ends: &[u32], first: usize) -> Dispatch {
        let dtype = self.dtype;
        // Units per value: words, halves or bytes.
        let value = (dtype.size() / dtype.unit()) as u32;
        let kernel_type = match dtype {
            DType::F16 | DType::U8 => dtype,
            _ => DType::U32,
        };
        let begin = first.checked_sub(1).map_or(0, |before| ends[before]);
        let last = ends.len().min(first + BATCHES) - 1;
        let words = dtype.words(ends[last] as usize) - (begin as usize * dtype.size() / 16 * 4);
        // Unused bindings repeat the last batch. They have its end and thus no values.
        let input = |k: usize| Slot::Input((first + k).min(last));
        let end = |k: usize| Param::U32(ends[(first + k).min(last)].wrapping_mul(value));
        let base = |k: usize| Param::InputBase((first + k).min(last));
        let [x0, x1, x2, x3, x4, x5, x6] = std::array::from_fn(input);
        let [end0, end1, end2, end3, end4, end5, end6] = std::array::from_fn(end);
        let [base0, base1, base2, base3, base4, base5, base6] = std::array::from_fn(base);
        Dispatch::new(
            JOIN.variant(kernel_type, &[]),
            JoinSlots {
                y: Slot::Output(0),
                x0,
                x1,
                x2,
                x3,
                x4,
                x5,
                x6,
            },
            JoinParams {
                begin: Param::U32(begin.wrapping_mul(value)),
                end0,
                end1,
                end2,
                end3,
                end4,
                end5,
                end6,
                base0,
                base1,
                base2,
                base3,
                base4,
                base5,
                base6,
            },
            match ends[last] - begin {
                0 => 0,
                _ => stream_groups(words),
            },
            words as u64,
        )
    }
}

impl Operation for Join {
    const NAME: &str = "join";
    const KERNELS: &[&Kernel] = &[&JOIN];

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let batches = request.inputs;
        let dtype = self.dtype;
        for batch in batches {
            batch.check_rank_of(batches[0], "the first batch")?;
        }
        let result = Layout::joined(batches)?;
        let mut ends = host::room(batches.len())?;
        let mut end = 0;
        for batch in batches {
            end += batch.total() as u32;
            ends.push(end);
        }
        let firsts = (0..batches.len()).step_by(BATCHES);
        let dispatches = host::exact(firsts.map(|first| self.dispatch(&ends, first)))?;
        let (work, twin) = (cost_of(&dispatches), Twin::new(join_twin));
        let gpu = (dispatches, Vec::new());
        Ok(Launch::of(dtype, result, gpu, work, twin).into())
    }
}

/// Bytes in one parallel task.
const PIECE: usize = 1 << 16;

fn join_twin(args: &mut CpuArgs<'_>) {
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(args.outputs[0].words);
    for input in args.inputs {
        let (y, after) = rest.split_at_mut(input.bytes.len());
        y.par_chunks_mut(PIECE)
            .zip(input.bytes.par_chunks(PIECE))
            .for_each(|(y, x)| y.copy_from_slice(x));
        rest = after;
    }
}
