//! Evaluates polynomials at points: `Σ_i c_i t^i` by Horner's scheme, one multiply-add per point and degree.

use half::f16;

use crate::ops::kit::{Arithmetic, PAIRING, pair_params, par_tiles};
use crate::ops::kit::{worklist::ByCost, worklist::Worklist};

use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Offset, OutputLayout, Param, Plan, Slot, Twin,
    constants, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Pairing, Pairs, Scalar};
use crate::{Result, host};

/// Points of a workgroup, one for each invocation.
const WG: usize = 256;
/// Points that the CPU evaluates together.
const LANES: usize = 32;

slots! {
    struct Slots {
        x: Read, x_meta: Read, y: Read, y_meta: Read, out: Write, c_meta: Read, items: Read,
        pair_list: Read,
    }
}

params! {
    struct Params { x_base, y_base, units, entries, pair_kind, pair_right }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("eval"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG], PAIRING],
    variants: variants![F32, I32, U32, F16],
};

/// Evaluates the polynomials a at the points b; the result has the shape of the points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Eval {
    pub dtype: DType,
}

impl Operation for Eval {
    const NAME: &str = "eval";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let dtype = self.dtype;
        a.check_rank(1)?;
        let (result, output) = match pairs.pairing() {
            Pairing::Elementwise | Pairing::OneToAll => (None, OutputLayout::Input(1)),
            Pairing::AllToOne | Pairing::AllToAll | Pairing::List(_) => {
                let result = shapes(b, pairs)?;
                (Some(result.clone()), OutputLayout::New(result))
            }
        };
        let mut by_cost = ByCost::new();
        let mut cost = 0u64;
        for (pair, (i, j)) in pairs.iter().enumerate() {
            if b.length(j) > 0 {
                by_cost.push(pair as u32, a.length(i) as u64)?;
                cost = cost.saturating_add((a.length(i) as u64 + 1) * b.length(j) as u64);
            }
        }
        let points = |pair: u32| (pair, b.length(pairs.get(pair as usize).1));
        let units = Worklist::new(by_cost.iter().map(points), WG)?;
        let (groups, count, entries) = (units.groups, units.units, units.entries());
        let c_meta = result.map_or(Slot::InputMeta(1), Slot::Meta);
        let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &c_meta)?;
        let dispatch = Dispatch::new(
            KERNEL.variant(dtype, &[]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                y: Slot::Input(1),
                y_meta: Slot::InputMeta(1),
                out: Slot::Output(0),
                c_meta,
                items: Slot::PlanBuffer(units.words()),
                pair_list,
            },
            Params {
                x_base: Param::InputBase(0),
                y_base: Param::InputBase(1),
                units: Param::U32(count),
                entries: Param::U32(entries),
                pair_kind,
                pair_right,
            },
            groups,
            cost,
        );
        let twin = Twin::new(move |args| match dtype {
            DType::F32 => twin::<f32, f32>(args, |x| x, |y| y),
            DType::I32 => twin::<i32, i32>(args, |x| x, |y| y),
            DType::U32 => twin::<u32, u32>(args, |x| x, |y| y),
            DType::F16 => twin(args, f16::to_f32, f16::from_f32),
            DType::C32 | DType::U8 => unreachable!("no such operation"),
        });
        Ok(Launch::new(dtype, output, dispatch, twin)
            .with_pairs(pairs)
            .into())
    }
}

/// The result layout: for every pair, the shape of its right element.
fn shapes(b: &Layout, pairs: &Pairs) -> Result<Layout> {
    let rank = b.rank();
    let mut offsets = Offset::new(pairs.len())?;
    let mut extents = host::room(if rank == 1 { 0 } else { pairs.len() * rank })?;
    for (_, j) in pairs.iter() {
        offsets.push(b.length(j) as u64)?;
        if rank > 1 {
            extents.extend_from_slice(b.shape(j).extents());
        }
    }
    Ok(Layout::unchecked(offsets.finish(), rank, extents))
}

/// Computes in V, which `wide` and `narrow` convert from and to.
fn twin<T: Scalar, V: Arithmetic>(
    args: &mut CpuArgs<'_>,
    wide: impl Fn(T) -> V + Sync,
    narrow: impl Fn(V) -> T + Sync,
) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |pair, within, out| {
        let (i, j) = pairs.get(pair);
        let polynomial = &a[a_layout.offsets().range(i)];
        let points = &b[b_layout.offsets().range(j)][within];
        let Some((&last, others)) = polynomial.split_last() else {
            return out.fill(T::default());
        };
        for (out, points) in out.chunks_mut(LANES).zip(points.chunks(LANES)) {
            let mut all = [V::default(); LANES];
            for (wide_point, &point) in all.iter_mut().zip(points) {
                *wide_point = wide(point);
            }
            let mut sums = [wide(last); LANES];
            for &coefficient in others.iter().rev() {
                let coefficient = wide(coefficient);
                for (sum, &point) in sums.iter_mut().zip(&all) {
                    *sum = sum.times(point).plus(coefficient);
                }
            }
            for (out, &sum) in out.iter_mut().zip(&sums) {
                *out = narrow(sum);
            }
        }
    });
}
