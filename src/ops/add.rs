//! Addition and subtraction: the result has the ambient shape, missing entries are zero.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

use std::sync::Arc;

use super::Arithmetic;
use super::{launch_key, pair_params, par_tiles, stream_groups, twin_of};
use crate::Result;
use crate::plan::{
    Access, Boxes, Kernel, Launch, Output, OutputLayout, Slot, Stage, Twin, TwinArgs, Word, Words,
    for_each_type, stream_tile,
};
use crate::ragged::{DType, Layout, Pairs};

pub(crate) static FLAT: Kernel = Kernel {
    stem: "add_flat",
    source: include_str!("../../shaders/add_flat.wgsl"),
    access: &[Access::Read, Access::Read, Access::Write],
    variants: for_each_type![&[]],
};

pub(crate) static VECTORS: Kernel = Kernel {
    stem: "add",
    source: include_str!("../../shaders/add.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: for_each_type![&[]],
};

pub(crate) static BOXES: Kernel = Kernel {
    stem: "add_boxes",
    source: include_str!("../../shaders/add_boxes.wgsl"),
    access: VECTORS.access,
    variants: for_each_type![&[], &["RANK2"]],
};

/// The launch of `a + b`, or of `a - b`, for every pair.
pub(crate) fn launch(
    dtype: DType,
    a: &Layout,
    b: &Layout,
    pairs: &Pairs,
    subtract: bool,
) -> Result<Arc<Launch>> {
    let op = if subtract { "sub" } else { "add" };
    a.cached(launch_key(op, dtype, b.id(), pairs), || {
        let boxes = Boxes::ambient(op, a, b, pairs)?;
        let twin = if subtract {
            twin_of!(dtype, twin, true)
        } else {
            twin_of!(dtype, twin, false)
        };
        let subtract = Word::U32(u32::from(subtract));
        let launch = match boxes {
            Boxes::Same => Launch {
                op,
                outputs: vec![Output::new(dtype, OutputLayout::Input(0))],
                temps: Vec::new(),
                stages: vec![Stage {
                    kernel: &FLAT,
                    variant: FLAT.variant(dtype, &[]),
                    slots: vec![Slot::Input(0), Slot::Input(1), Slot::Output(0)],
                    params: vec![
                        Word::U32(a.total() as u32),
                        subtract,
                        Word::InputBase(0),
                        Word::InputBase(1),
                    ],
                    groups: stream_groups(a.total()),
                    cost: a.total() as u64,
                }],
                pairs: Some(pairs.clone()),
                twin: Twin::new(twin),
            },
            Boxes::Nested {
                result,
                a: a_seen,
                b: b_seen,
                c,
            } => {
                let rank = c.rank();
                let (kernel, flags): (&'static Kernel, &[&str]) = match rank {
                    1 => (&VECTORS, &[]),
                    2 => (&BOXES, &["RANK2"]),
                    _ => (&BOXES, &[]),
                };
                let tile = stream_tile(result.total(), result.len());
                let ([kind, right], list) = pair_params(pairs, b.len());
                let meta = |seen: Option<Layout>, i| seen.map_or(Slot::InputMeta(i), Slot::Meta);
                let c_meta = Slot::Meta(c);
                Launch {
                    op,
                    temps: Vec::new(),
                    stages: vec![Stage {
                        kernel,
                        variant: kernel.variant(dtype, flags),
                        slots: vec![
                            Slot::Input(0),
                            meta(a_seen, 0),
                            Slot::Input(1),
                            meta(b_seen, 1),
                            Slot::Output(0),
                            c_meta.clone(),
                            list.map_or(c_meta, |list| Slot::Words(Words::new(list))),
                        ],
                        params: vec![
                            Word::U32(result.total() as u32),
                            subtract,
                            Word::InputBase(0),
                            Word::InputBase(1),
                            Word::U32(pairs.len() as u32),
                            Word::U32(tile as u32),
                            kind,
                            right,
                            Word::U32(a.len() as u32),
                            Word::U32(rank as u32),
                        ],
                        groups: result.total().div_ceil(tile) as u32,
                        cost: result.total() as u64,
                    }],
                    outputs: vec![Output::new(dtype, OutputLayout::of(result, &[a, b]))],
                    pairs: Some(pairs.clone()),
                    twin: Twin::new(twin),
                }
            }
        };
        Ok(Arc::new(launch))
    })
}

fn twin<T: Arithmetic, const SUBTRACT: bool>(args: &mut TwinArgs<'_>) {
    let combine = |x: T, y: T| if SUBTRACT { x.minus(y) } else { x.plus(y) };
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let output = &mut args.outputs[0];
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    let rank = output.layout.rank();
    par_tiles(output.layout.offsets(), c, |element, within, out| {
        let (i, j) = pairs.get(element);
        let x = &a[a_layout.offsets().range(i)];
        let y = &b[b_layout.offsets().range(j)];
        if rank == 1 || a_layout.shape(i) == b_layout.shape(j) {
            add_rows(out, within.start, x, y, combine);
        } else {
            let (shape, x_shape, y_shape) = (
                output.layout.shape(element),
                a_layout.shape(i),
                b_layout.shape(j),
            );
            add_boxes(
                out,
                within.start,
                shape.extents(),
                (x, x_shape.extents()),
                (y, y_shape.extents()),
                combine,
            );
        }
    });
}

/// `out[k] = x[from + k] ∘ y[from + k]`, in three runs: both there, one there, none.
fn add_rows<T: Arithmetic>(
    out: &mut [T],
    from: usize,
    x: &[T],
    y: &[T],
    combine: impl Fn(T, T) -> T,
) {
    let x = x.get(from..).unwrap_or(&[]);
    let y = y.get(from..).unwrap_or(&[]);
    let both = x.len().min(y.len()).min(out.len());
    let (head, tail) = out.split_at_mut(both);
    for ((o, &x), &y) in head.iter_mut().zip(x).zip(y) {
        *o = combine(x, y);
    }
    let (x, y) = (&x[both..], &y[both..]);
    let one = x.len().max(y.len()).min(tail.len());
    let (one, none) = tail.split_at_mut(one);
    if x.len() > y.len() {
        for (o, &x) in one.iter_mut().zip(x) {
            *o = combine(x, T::default());
        }
    } else {
        for (o, &y) in one.iter_mut().zip(y) {
            *o = combine(T::default(), y);
        }
    }
    none.fill(T::default());
}

/// The same along the last axis of boxes, one row after another.
fn add_boxes<T: Arithmetic>(
    out: &mut [T],
    from: usize,
    extents: &[u32],
    (x, x_extents): (&[T], &[u32]),
    (y, y_extents): (&[T], &[u32]),
    combine: impl Fn(T, T) -> T + Copy,
) {
    let last = extents.len() - 1;
    let width = extents[last] as usize;
    let mut out = out;
    let mut at = from;
    while !out.is_empty() {
        let take = (width - at % width).min(out.len());
        let (head, tail) = out.split_at_mut(take);
        let row = at / width;
        let x_row = row_of(row, extents, x_extents, x);
        let y_row = row_of(row, extents, y_extents, y);
        add_rows(head, at % width, x_row, y_row, combine);
        out = tail;
        at += take;
    }
}

/// Row `row` of the ambient box inside a smaller one: empty where it lies outside.
fn row_of<'a, T>(row: usize, ambient: &[u32], extents: &[u32], values: &'a [T]) -> &'a [T] {
    let last = ambient.len() - 1;
    let width = extents[last] as usize;
    let (mut rest, mut at, mut stride) = (row, 0, width);
    for axis in (0..last).rev() {
        let along = rest % ambient[axis] as usize;
        rest /= ambient[axis] as usize;
        if along >= extents[axis] as usize {
            return &[];
        }
        at += along * stride;
        stride *= extents[axis] as usize;
    }
    values.get(at..at + width).unwrap_or(&[])
}
