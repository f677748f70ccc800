//! Elements of a batch in another order, and batches one after the other.
//!
//! Cost: the values read once and written once; in one dispatch, or one for each batch.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use half::f16;
use rayon::prelude::*;

use super::{par_tiles, stream_groups};
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Twin, TwinArgs, Variant, Word,
    Words, cost_of, stream_tile,
};
use crate::ragged::{CacheKey, DType, Layout, Offsets, Order, total_overflow};
use crate::{Error, Result, host};

pub(crate) static SELECT: Kernel = Kernel {
    stem: "select",
    source: include_str!("../../shaders/gather.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: &[
        Variant {
            dtype: DType::U32,
            flags: &["ELEMENTS"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["ELEMENTS", "DOUBLE"],
        },
        Variant {
            dtype: DType::F16,
            flags: &["ELEMENTS"],
        },
    ],
};

pub(crate) static JOIN: Kernel = Kernel {
    stem: "join",
    source: include_str!("../../shaders/join.wgsl"),
    access: &[Access::Write, Access::Read],
    variants: &[
        Variant {
            dtype: DType::U32,
            flags: &[],
        },
        Variant {
            dtype: DType::F16,
            flags: &[],
        },
    ],
};

/// The launch of all elements in another order.
pub(crate) fn reorder(dtype: DType, x: &Layout, order: &Order) -> Result<Arc<Launch>> {
    let key = CacheKey {
        what: "reorder",
        other: order.id(),
        device: 0,
        extra: dtype as u64,
    };
    x.cached(key, || {
        if order.len() != x.len() {
            return Err(Error::ElementCount {
                op: "reorder",
                expected: x.len(),
                got: order.len(),
            });
        }
        Ok(Arc::new(plan("reorder", dtype, x, order.as_slice())?))
    })
}

/// The launch of these elements.
pub(crate) fn select(dtype: DType, x: &Layout, elements: &[u32]) -> Result<Launch> {
    let wrong = elements.iter().position(|&i| i as usize >= x.len());
    match wrong {
        None => plan("select", dtype, x, elements),
        Some(position) => Err(Error::Index {
            op: "select",
            element: None,
            position,
            index: elements[position] as usize,
            len: x.len(),
        }),
    }
}

/// Every index is below the number of elements.
fn plan(op: &'static str, dtype: DType, x: &Layout, elements: &[u32]) -> Result<Launch> {
    let (from, rank) = (x.offsets().as_slice(), x.rank());
    let mut offsets = host::room(op, elements.len() + 1)?;
    let mut total = 0u32;
    offsets.push(0);
    for (position, &i) in elements.iter().enumerate() {
        let length = from[i as usize + 1] - from[i as usize];
        total = total
            .checked_add(length)
            .ok_or_else(|| total_overflow(op, position))?;
        offsets.push(total);
    }
    let extents = match rank {
        1 => Vec::new(),
        _ => {
            let mut extents = host::room(op, elements.len() * rank)?;
            let of = |&i: &u32| &x.extents()[i as usize * rank..][..rank];
            extents.extend(elements.iter().flat_map(of));
            extents
        }
    };
    let offsets = Offsets::from_vec_unchecked(offsets);
    let result = Layout::with_extents_unchecked(offsets, rank, extents);
    let (seen, flags): (_, &[&str]) = match dtype {
        DType::F16 => (DType::F16, &["ELEMENTS"]),
        DType::C32 => (DType::U32, &["ELEMENTS", "DOUBLE"]),
        _ => (DType::U32, &["ELEMENTS"]),
    };
    let tile = stream_tile(result.total(), result.len());
    let elements = Words::new(host::copied(op, elements)?);
    let stage = Stage {
        kernel: &SELECT,
        variant: SELECT.variant(seen, flags),
        slots: vec![
            Slot::Input(0),
            Slot::InputMeta(0),
            Slot::Output(0),
            Slot::Meta(result.clone()),
            Slot::Words(elements.clone()),
        ],
        params: vec![
            Word::U32(result.total() as u32),
            Word::InputBase(0),
            Word::U32(result.len() as u32),
            Word::U32(tile as u32),
        ],
        groups: result.total().div_ceil(tile) as u32,
        cost: dtype.words(result.total()) as u64,
    };
    Ok(Launch {
        op,
        outputs: vec![Output::new(dtype, OutputLayout::of(result, &[x]))],
        temps: Vec::new(),
        work: stage.cost,
        stages: vec![stage],
        pairs: None,
        twin: Twin::new(move |args| match dtype.size() {
            2 => twin::<f16>(args, elements.data()),
            4 => twin::<u32>(args, elements.data()),
            _ => twin::<[u32; 2]>(args, elements.data()),
        }),
    })
}

fn twin<T: bytemuck::Pod + Send + Sync>(args: &mut TwinArgs<'_>, elements: &[u32]) {
    let (x, x_layout) = args.input::<T>(0);
    let output = &mut args.outputs[0];
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    let offsets = output.layout.offsets();
    // The last word of f16 may be half slack.
    par_tiles(
        offsets,
        &mut c[..offsets.total()],
        |element, within, out| {
            let from = x_layout.offsets().range(elements[element] as usize);
            out.copy_from_slice(&x[from][within]);
        },
    );
}

/// The launch of all elements of these batches, one batch after the other.
pub(crate) fn join(dtype: DType, batches: &[&Layout]) -> Result<Arc<Launch>> {
    const OP: &str = "join";
    let ids = host::exact(OP, batches.iter().map(|batch| batch.id()))?;
    let mut hasher = DefaultHasher::new();
    ids.hash(&mut hasher);
    let key = CacheKey {
        what: OP,
        other: hasher.finish(),
        device: 0,
        extra: dtype as u64,
    };
    let planned = batches[0].cached(key, || {
        Ok(Arc::new((
            host::copied(OP, &ids)?,
            plan_join(OP, dtype, batches)?,
        )))
    })?;
    // Any number of batches may have one hash.
    match planned.0 == ids {
        true => Ok(planned.1.clone()),
        false => plan_join(OP, dtype, batches),
    }
}

fn plan_join(op: &'static str, dtype: DType, batches: &[&Layout]) -> Result<Arc<Launch>> {
    let rank = batches[0].rank();
    let elements = batches.iter().map(|batch| batch.len()).sum::<usize>();
    let mut offsets = host::room(op, elements + 1)?;
    let mut extents = host::room(op, if rank == 1 { 0 } else { elements * rank })?;
    let mut begin = 0u32;
    let mut stages = host::room(op, batches.len())?;
    offsets.push(0);
    // Units of a value: words, or halves of them.
    let value = (dtype.size() / dtype.unit()) as u32;
    let seen = match dtype {
        DType::F16 => DType::F16,
        _ => DType::U32,
    };
    for (i, batch) in batches.iter().enumerate() {
        if batch.rank() != rank {
            return Err(Error::Rank {
                op,
                element: None,
                expected: format!("{rank}, the first batch's"),
                got: batch.rank(),
            });
        }
        let end = begin
            .checked_add(batch.total() as u32)
            .ok_or_else(|| total_overflow(op, offsets.len() - 1))?;
        offsets.extend(batch.offsets().as_slice()[1..].iter().map(|at| begin + at));
        extents.extend_from_slice(batch.extents());
        let words = dtype.words(end as usize) - (begin as usize * dtype.size() / 16 * 4);
        stages.push(Stage {
            kernel: &JOIN,
            variant: JOIN.variant(seen, &[]),
            slots: vec![Slot::Output(0), Slot::Input(i)],
            params: vec![
                Word::U32(begin.wrapping_mul(value)),
                Word::U32(end.wrapping_mul(value)),
                Word::InputBase(i),
            ],
            groups: match batch.total() {
                0 => 0,
                _ => stream_groups(words),
            },
            cost: words as u64,
        });
        begin = end;
    }
    let offsets = Offsets::from_vec_unchecked(offsets);
    let result = Layout::with_extents_unchecked(offsets, rank, extents);
    Ok(Arc::new(Launch {
        op,
        outputs: vec![Output::new(dtype, OutputLayout::of(result, batches))],
        temps: Vec::new(),
        work: cost_of(&stages),
        stages,
        pairs: None,
        twin: Twin::new(join_twin),
    }))
}

/// Bytes of one piece of parallel work.
const PIECE: usize = 1 << 16;

fn join_twin(args: &mut TwinArgs<'_>) {
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(args.outputs[0].words);
    for input in args.inputs {
        let (y, after) = rest.split_at_mut(input.bytes.len());
        y.par_chunks_mut(PIECE)
            .zip(input.bytes.par_chunks(PIECE))
            .for_each(|(y, x)| y.copy_from_slice(x));
        rest = after;
    }
}
