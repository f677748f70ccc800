//! The adjoint: for each row of a table, the sum of the rows of an embedding that have its id.
//!
//! Rows are summed in the order that a stable sort of their ids gives, so that those of one id lie together. Whole
//! groups of [`GROUP`] places whose ids are equal are summed first, each by itself; then each row of the table adds up
//! the groups and the remaining places of its id. The order of additions follows from the ids alone, and no value is
//! written twice, so that there are no atomics.
//!
//! Cost: for each row of the table two searches among the ids; each row of the embedding read once; the result written
//! once; in two or three dispatches. An id that occurs n times takes about n / [`GROUP`] sequential steps.

use std::ops::Range;

use half::f16;
use rayon::prelude::*;

use super::extents;
use crate::Result;
use crate::ops::kit::STREAM_TILE;
use crate::ops::kit::{STREAM, stream_groups};
use crate::ops::linear;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Constants, CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin,
    constants, cost_of, number, params, shader, slots, variants,
};
use crate::ragged::{DType, Scalar};

/// Places in the order of ids that are summed at once.
const GROUP: usize = 64;
/// Terms that are added one after the other before their sum is added to others.
const EIGHT: usize = 8;
const GROUPS: Constants = constants![GROUP, EIGHT];

slots! {
    struct StartSlots { ids: Read, order: Read, starts: Write }
}

params! {
    struct StartParams { rows, places, ids_base, order_base }
}

/// Where the places of each id begin, in the order of ids.
static STARTS: Kernel = Kernel {
    shader: shader!("embedding/starts"),
    interface: Interface::of::<StartSlots, StartParams>(),
    constants: &[],
    variants: variants![U32],
};

/// Rows of the table for which a workgroup of [`STARTS`] searches.
const SEARCHES: usize = 256;

slots! {
    struct Slots { x: Read, ids: Read, order: Read, starts: Read, sums: Read, c: Write }
}

params! {
    struct Params { total, width, x_base, ids_base, order_base }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("embedding/slopes"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM, GROUPS],
    variants: variants![F32, F32 "PARTIAL", F16 "HALVES", F16 "PARTIAL"],
};

/// Sums of the rows of operand 0 that have the same id, in the layout of a table, operand 3. Operand 1 holds the ids,
/// and operand 2 the order that sorts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Slopes {
    pub dtype: DType,
}

impl Operation for Slopes {
    const NAME: &str = "embedding_slopes";
    const KERNELS: &[&Kernel] = &[&STARTS, &KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let dtype = self.dtype;
        let (x, places, table) = (inputs[0], inputs[1].total(), inputs[3]);
        let [rows, width] = extents(table)?;
        let (dispatches, scratch) = match x.total().min(table.total()) {
            0 => (
                vec![linear::zeros(table.total(), Slot::Output(0))],
                Vec::new(),
            ),
            _ => dispatches(dtype, places, [rows, width]),
        };
        let twin = Twin::new(move |args| match dtype {
            DType::F16 => twin(args, width, f16::from_f32),
            _ => twin::<f32>(args, width, |sum| sum),
        });
        let work = cost_of(&dispatches);
        let (layout, gpu) = (OutputLayout::Input(3), (dispatches, scratch));
        Ok(Launch::of(dtype, layout, gpu, work, twin).into())
    }
}

fn dispatches(dtype: DType, places: usize, [rows, width]: [usize; 2]) -> (Vec<Dispatch>, Vec<u64>) {
    let (starts, sums) = (Slot::Scratch(0), Slot::Scratch(1));
    let steps = u64::from(usize::BITS - places.leading_zeros());
    let starting = Dispatch::new(
        STARTS.variant(DType::U32, &[]),
        StartSlots {
            ids: Slot::Input(1),
            order: Slot::Input(2),
            starts: starts.clone(),
        },
        StartParams {
            rows: number(rows),
            places: number(places),
            ids_base: Param::InputBase(1),
            order_base: Param::InputBase(2),
        },
        (rows + 1).div_ceil(SEARCHES) as u32,
        (rows as u64 + 1) * steps,
    );
    let summing = |flags: &[&str], total: usize, sums: &Slot, c: Slot| {
        Dispatch::new(
            KERNEL.variant(dtype, flags),
            Slots {
                x: Slot::Input(0),
                ids: Slot::Input(1),
                order: Slot::Input(2),
                starts: starts.clone(),
                sums: sums.clone(),
                c,
            },
            Params {
                total: number(total),
                width: number(width),
                x_base: Param::InputBase(0),
                ids_base: Param::InputBase(1),
                order_base: Param::InputBase(2),
            },
            stream_groups(total),
            total as u64 + places as u64 * width as u64,
        )
    };
    let (table, c) = (rows * width, Slot::Output(0));
    let halves: &[&str] = match dtype {
        DType::F16 => &["HALVES"],
        _ => &[],
    };
    let groups = places / GROUP;
    if groups == 0 {
        // No sums of groups are read.
        let last = summing(halves, table, &starts, c);
        return (vec![starting, last], vec![rows as u64 + 1]);
    }
    let partial = groups * width;
    let first = summing(&["PARTIAL"], partial, &starts, sums.clone());
    let last = summing(halves, table, &sums, c);
    let scratch = vec![rows as u64 + 1, partial as u64];
    (vec![starting, first, last], scratch)
}

/// Columns that the twin sums at once.
const COLUMNS: usize = 32;

fn twin<T: Scalar + Into<f32>>(args: &mut CpuArgs<'_>, width: usize, rounded: fn(f32) -> T) {
    let (x, _) = args.input::<T>(0);
    let (ids, _) = args.input::<u32>(1);
    let (order, _) = args.input::<u32>(2);
    let (c, _) = args.output::<T>(0);
    if c.is_empty() {
        return;
    }
    let start = |id: usize| order.partition_point(|&place| (ids[place as usize] as usize) < id);
    let rows = (STREAM_TILE / width).max(1);
    c.par_chunks_mut(rows * width)
        .enumerate()
        .for_each(|(chunk, c)| {
            let mut end = start(chunk * rows);
            for (c, id) in c.chunks_exact_mut(width).zip(chunk * rows..) {
                let begin = end;
                end = start(id + 1);
                for (c, first) in c.chunks_mut(COLUMNS).zip((0..).step_by(COLUMNS)) {
                    let term = |place: usize| {
                        let from = order[place] as usize * width + first;
                        let mut values = [0.0; COLUMNS];
                        let row = &x[from..from + c.len()];
                        values.iter_mut().zip(row).for_each(|(v, &x)| *v = x.into());
                        values
                    };
                    let sums = sum(begin..end, &term);
                    c.iter_mut()
                        .zip(sums)
                        .for_each(|(c, sum)| *c = rounded(sum));
                }
            }
        });
}

type Terms = [f32; COLUMNS];

/// The sum of these places, which have one id: whole groups first.
fn sum(places: Range<usize>, term: &impl Fn(usize) -> Terms) -> Terms {
    let (first, last) = (places.start.div_ceil(GROUP), places.end / GROUP);
    if first >= last {
        return in_eights(places, term);
    }
    let group = |g: usize| in_eights(g * GROUP..(g + 1) * GROUP, term);
    let mut all = in_eights(first..last, &group);
    if places.start < first * GROUP {
        all = plus(in_eights(places.start..first * GROUP, term), all);
    }
    if last * GROUP < places.end {
        all = plus(all, in_eights(last * GROUP..places.end, term));
    }
    all
}

/// The sum of the sums of [`EIGHT`] terms each, beginning with the first one instead of zero, so that −0 is preserved.
fn in_eights(terms: Range<usize>, term: &impl Fn(usize) -> Terms) -> Terms {
    let eight = |first: usize| {
        let others = first + 1..terms.end.min(first + EIGHT);
        others.fold(term(first), |sum, next| plus(sum, term(next)))
    };
    let eights = terms.clone().step_by(EIGHT).map(eight);
    eights.reduce(plus).unwrap_or([0.0; COLUMNS])
}

fn plus(mut a: Terms, b: Terms) -> Terms {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}
