//! Kronecker and outer products: every value of one element times every value of another.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

use std::iter::repeat_n;

use half::f16;

use crate::ops::kit::{Arithmetic, PAIRING, pair_params, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Offset, Param, Slot, Twin, merge, params, shader,
    slots, stream_tile, variants,
};
use crate::ragged::{DType, Layout, MAX_RANK, Pairs, Scalar};
use crate::{Error, Result, host};

slots! {
    struct Slots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, c: Write, c_meta: Read, pair_list: Read,
    }
}

params! {
    struct Params { total, a_base, b_base, elements, tile, pair_kind, pair_right, pair_left, rank }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("kron"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[PAIRING],
    variants: variants![F32, F32 "BOXES", I32, I32 "BOXES", U32, U32 "BOXES", F16, F16 "BOXES"],
};

/// The results' shapes, and the operands' layouts with the fewest axes that locate every value.
struct Plan {
    result: Layout,
    rank: usize,
    /// The operands' layouts with `rank` axes; `None` if these are their own, or if one axis is left, where offsets
    /// suffice.
    merged: Option<[Layout; 2]>,
}

/// A product of this kind, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kron {
    pub kind: Kind,
    pub dtype: DType,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// `a ⊗ b`: the extents of both shapes multiplied, axis by axis.
    Kron,
    /// The concatenation of both shapes.
    ///
    /// It is the Kronecker product of operands reshaped to (x…, 1…) and (1…, y…), whose values are ordered as for
    /// vectors.
    Outer,
}

impl Operation for Kron {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Kron => "kron",
            Kind::Outer => "outer",
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let dtype = self.dtype;
        let Plan {
            result,
            rank,
            merged,
        } = match self.kind {
            Kind::Kron => boxes(a, b, pairs)?,
            Kind::Outer => end_to_end(a, b, pairs)?,
        };
        let flags: &[&str] = match rank {
            1 => &[],
            _ => &["BOXES"],
        };
        let [a_meta, b_meta] = match &merged {
            Some([a, b]) => [Slot::Meta(a.clone()), Slot::Meta(b.clone())],
            None => [Slot::InputMeta(0), Slot::InputMeta(1)],
        };
        let tile = stream_tile(result.total(), result.len());

        // The kernel reads only the offsets of the elements.
        let c_meta = Slot::Meta(Layout::from_offsets(result.offsets().clone()));
        let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &c_meta)?;
        let dispatch = Dispatch::new(
            KERNEL.variant(dtype, flags),
            Slots {
                a: Slot::Input(0),
                a_meta,
                b: Slot::Input(1),
                b_meta,
                c: Slot::Output(0),
                c_meta,
                pair_list,
            },
            Params {
                total: Param::U32(result.total() as u32),
                a_base: Param::InputBase(0),
                b_base: Param::InputBase(1),
                elements: Param::U32(pairs.len() as u32),
                tile: Param::U32(tile as u32),
                pair_kind,
                pair_right,
                pair_left: Param::U32(a.len() as u32),
                rank: Param::U32(rank as u32),
            },
            result.total().div_ceil(tile) as u32,
            result.total() as u64,
        );
        let twin = Twin::new(move |args| {
            let merged = merged.as_ref();
            match dtype {
                DType::F32 => twin(args, rank, merged, f32::times),
                DType::I32 => twin(args, rank, merged, i32::times),
                DType::U32 => twin(args, rank, merged, u32::times),
                DType::F16 => twin(args, rank, merged, half_product),
                DType::C32 | DType::U8 => unreachable!("no such operation"),
            }
        });
        Ok(Launch::new(dtype, result, dispatch, twin)
            .with_pairs(pairs)
            .into())
    }
}

/// Shapes whose extents are products.
///
/// The digits of a value's index alternate between a and b. Axes merge as long as, in every pair, all significant
/// digits of a (on axes whose extent is not 1) come before all those of b.
fn boxes(a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Plan> {
    let rank = a.rank();
    b.check_rank_of(a, "the left batch")?;
    let mut offsets = Offset::new(pairs.len())?;
    if rank == 1 {
        pairs.try_lengths(a, b, |m, n| offsets.push(u64::from(m) * u64::from(n)))?;
        return Ok(Plan {
            result: Layout::from_offsets(offsets.finish()),
            rank,
            merged: None,
        });
    }
    let mut extents = host::room(pairs.len() * rank)?;
    // For axis j, the earlier axes whose digit of b precedes a digit of a on axis j.
    let mut before = [0u32; MAX_RANK];
    for (x, y) in pairs.iter() {
        let size = a.length(x) as u64 * b.length(y) as u64;
        offsets.push(size)?;
        if size == 0 {
            extents.extend(repeat_n(0, rank));
            continue;
        }
        let m = &a.extents()[x * rank..][..rank];
        let n = &b.extents()[y * rank..][..rank];
        let mut of_b = 0u32;
        for axis in 0..rank {
            // At most the size, which fits.
            extents.push(m[axis] * n[axis]);
            if m[axis] != 1 {
                before[axis] |= of_b;
            }
            of_b |= u32::from(n[axis] != 1) << axis;
        }
    }
    // Bit j: axis j begins a group. `last` is the axis that begins the current group.
    let (mut begins, mut last) = (1u32, 0);
    for (axis, before) in before.iter().enumerate().take(rank).skip(1) {
        if before >> last != 0 {
            begins |= 1 << axis;
            last = axis;
        }
    }
    let result = Layout::unchecked(offsets.finish(), rank, extents);
    Ok(match (merge(a, begins)?, merge(b, begins)?) {
        (Some(a), Some(b)) => Plan {
            result,
            rank: a.rank(),
            merged: (a.rank() > 1).then_some([a, b]),
        },
        _ => Plan {
            result,
            rank,
            merged: None,
        },
    })
}

/// Shapes that concatenate those of a and b.
fn end_to_end(a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Plan> {
    let rank = a.rank() + b.rank();
    if rank > MAX_RANK {
        return Err(Error::rank(
            format!("at most {MAX_RANK} for both operands together"),
            rank,
        ));
    }
    let mut offsets = Offset::new(pairs.len())?;
    let mut extents = host::room(pairs.len() * rank)?;
    for (x, y) in pairs.iter() {
        let size = a.length(x) as u64 * b.length(y) as u64;
        offsets.push(size)?;
        if size == 0 {
            extents.extend(repeat_n(0, rank));
            continue;
        }
        extents.extend_from_slice(a.shape(x).extents());
        extents.extend_from_slice(b.shape(y).extents());
    }
    Ok(Plan {
        result: Layout::unchecked(offsets.finish(), rank, extents),
        rank: 1,
        merged: None,
    })
}

/// The product of two halves is exact in f32, and rounded once.
fn half_product(x: f16, y: f16) -> f16 {
    f16::from_f32(x.to_f32() * y.to_f32())
}

fn twin<T: Scalar>(
    args: &mut CpuArgs<'_>,
    rank: usize,
    merged: Option<&[Layout; 2]>,
    times: impl Fn(T, T) -> T + Copy + Sync,
) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    let [a_merged, b_merged] = match merged {
        Some([a, b]) => [a, b],
        None => [a_layout, b_layout],
    };
    par_tiles(layout.offsets(), c, |element, within, out| {
        let (i, j) = pairs.get(element);
        let x = &a[a_layout.offsets().range(i)];
        let y = &b[b_layout.offsets().range(j)];
        if rank == 1 {
            return row(out, within.start, (x, y), times);
        }
        let (m, n) = (a_merged.shape(i), b_merged.shape(j));
        let (m, n) = (m.extents(), n.extents());
        let width = m[rank - 1] as usize * n[rank - 1] as usize;
        let (mut out, mut at) = (out, within.start);
        while !out.is_empty() {
            let take = (width - at % width).min(out.len());
            let (head, tail) = out.split_at_mut(take);
            let [x, y] = rows(at / width, [(x, m), (y, n)]);
            row(head, at % width, (x, y), times);
            out = tail;
            at += take;
        }
    });
}

/// `out[k]` is value `from + k` of `x ⊗ y`.
pub(super) fn row<T: Copy>(
    out: &mut [T],
    from: usize,
    (x, y): (&[T], &[T]),
    times: impl Fn(T, T) -> T,
) {
    let (i, j) = (from / y.len(), from % y.len());
    let (begun, whole) = out.split_at_mut((y.len() - j).min(out.len()));
    for (o, &y) in begun.iter_mut().zip(&y[j..]) {
        *o = times(x[i], y);
    }
    for (chunk, &x) in whole.chunks_mut(y.len()).zip(&x[i + 1..]) {
        for (o, &y) in chunk.iter_mut().zip(y) {
            *o = times(x, y);
        }
    }
}

/// The rows of both operands, given as values and extents, whose product is row `row` of the result.
fn rows<'a, T>(row: usize, operands: [(&'a [T], &[u32]); 2]) -> [&'a [T]; 2] {
    let last = operands[0].1.len() - 1;
    let widths = operands.map(|(_, extents)| extents[last] as usize);
    let (mut rest, mut at, mut strides) = (row, [0, 0], widths);
    for axis in (0..last).rev() {
        // The digit of b is the lower one.
        for side in [1, 0] {
            let extent = operands[side].1[axis] as usize;
            at[side] += rest % extent * strides[side];
            rest /= extent;
            strides[side] *= extent;
        }
    }
    [0, 1].map(|side| &operands[side].0[at[side]..][..widths[side]])
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;

    fn plan(a: &[&[usize]], b: &[&[usize]]) -> Plan {
        let layout = |shapes: &[&[usize]]| {
            let shapes = shapes.iter().map(|s| Shape::new(s).unwrap());
            Layout::from_shapes(a[0].len(), shapes).unwrap()
        };
        let (a, b) = (layout(a), layout(b));
        let pairs = Pairs::elementwise(&a, &b).unwrap();
        boxes(&a, &b, &pairs).unwrap()
    }

    #[apply(unit_test)]
    fn axes_merge_unless_a_digit_of_b_stands_between_two_of_a() {
        // Columns times rows: an outer product.
        let plan_of = plan(&[&[2, 3, 1], &[4, 1, 1]], &[&[1, 1, 5], &[1, 1, 7]]);
        assert_eq!((plan_of.rank, plan_of.merged.is_none()), (1, true));
        assert_eq!(plan_of.result.shape(0), Shape::new(&[2, 3, 5]).unwrap());
        // Two axes remain; which side has the 1 may differ from pair to pair.
        let plan_of = plan(&[&[2, 3, 1], &[4, 2, 2]], &[&[2, 6, 5], &[3, 1, 7]]);
        let [a, b] = plan_of.merged.unwrap();
        assert_eq!(plan_of.rank, 2);
        assert_eq!(a.extents(), [2, 3, 4, 4]);
        assert_eq!(b.extents(), [2, 30, 3, 7]);
        // A digit of b may precede a digit of a that is not on the next axis.
        let plan_of = plan(&[&[2, 1, 3]], &[&[2, 1, 2]]);
        let [a, b] = plan_of.merged.unwrap();
        assert_eq!((a.extents(), b.extents()), (&[2, 3][..], &[2, 2][..]));
        // No axes merge.
        let plan_of = plan(&[&[2, 3], &[1, 1]], &[&[2, 3], &[2, 2]]);
        assert_eq!((plan_of.rank, plan_of.merged.is_none()), (2, true));
        // Empty elements do not keep axes from merging; their shape is (0, 0).
        let plan_of = plan(&[&[2, 3], &[1, 3]], &[&[2, 0], &[1, 2]]);
        assert_eq!(plan_of.rank, 1);
        assert_eq!(plan_of.result.extents(), [0, 0, 1, 6]);
    }
}
