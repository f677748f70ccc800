//! Quantiles of sorted lines.
//!
//! Cost: three values of each line read, one result written.

use half::f16;

use crate::Result;
use crate::host;
use crate::ops::kit::par_elements;
use crate::ops::lines::{Lines, one_a_line};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, PlanBuffer, Slot, Twin, check_size,
    params, shader, slots, variants,
};
use crate::ragged::{DType, Scalar, f16_from_f64};

slots! {
    struct Slots { c: Write, c_meta: Read, places: Read, x: Read, x_meta: Read }
}

params! {
    struct Params { total, x_base, elements, rank, axis, ones }
}

static QUANTILE: Kernel = Kernel {
    shader: shader!("sort/quantile", "quantile"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![F32, F16],
};

/// `WG` of the shader.
const WG: usize = 256;

/// A quantile of sorted lines of f32 or f16, or of sorted elements if there is no axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Quantile {
    pub op: &'static str,
    pub dtype: DType,
    pub axis: Option<usize>,
    /// The bits of a number between 0 and 1.
    pub q: u64,
}

/// The place of a quantile among n sorted values: the index of the lower neighbour and the weight of the upper one.
pub(crate) fn place(q: f64, n: usize) -> (u32, f32) {
    let at = q * n.saturating_sub(1) as f64;
    let weight = (at - at.floor()) as f32;
    match weight < 1.0 {
        true => (at as u32, weight),
        // Rounded up: the upper neighbour itself.
        false => (at as u32 + 1, 0.0),
    }
}

impl Operation for Quantile {
    const KERNELS: &[&Kernel] = &[&QUANTILE];

    fn name(&self) -> &'static str {
        self.op
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let binding = request.device.binding;
        let Quantile { dtype, axis, q, .. } = *self;
        let q = f64::from_bits(q);
        let c = one_a_line(x, axis)?;
        check_size(&c, dtype, binding)?;
        let mut places = host::room(2 * x.len())?;
        for element in 0..x.len() {
            let (low, weight) = place(q, Lines::of(x, element, axis).values);
            places.extend([low, weight.to_bits()]);
        }
        let (rank, along) = match axis.filter(|_| x.rank() > 1) {
            Some(axis) => (x.rank() as u32, axis as u32),
            None => (0, 0),
        };
        let total = c.total();
        let dispatch = Dispatch::new(
            QUANTILE.variant(dtype, &[]),
            Slots {
                c: Slot::Output(0),
                c_meta: Slot::Meta(c.clone()),
                places: Slot::PlanBuffer(PlanBuffer::new(places)),
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
            },
            Params {
                total: Param::U32(total as u32),
                x_base: Param::InputBase(0),
                elements: Param::U32(x.len() as u32),
                rank: Param::U32(rank),
                axis: Param::U32(along),
                // Bits that no compiler can know: see `ends.wgsl`.
                ones: Param::U32(u32::MAX),
            },
            // Each invocation writes one word.
            dtype.words(total).div_ceil(WG) as u32,
            total as u64,
        );
        let twin = Twin::new(move |args| match dtype {
            DType::F16 => twin::<f16>(axis, q, args, f16_from_f64),
            _ => twin::<f32>(axis, q, args, |y| y as f32),
        });
        Ok(Launch::new(dtype, c, dispatch, twin).into())
    }
}

/// `rounded` rounds once from f64.
fn twin<T: Scalar + Into<f64>>(
    axis: Option<usize>,
    q: f64,
    args: &mut CpuArgs<'_>,
    rounded: impl Fn(f64) -> T + Sync,
) {
    let (x, layout) = args.input::<T>(0);
    let (out, results) = args.output::<T>(0);
    let ends = results.offsets().as_slice();
    par_elements(out, 1, |result, out| {
        let element = ends.partition_point(|&end| end as usize <= result) - 1;
        let number = result - ends[element] as usize;
        let x = &x[layout.offsets().range(element)];
        let Lines { values, step, .. } = Lines::of(layout, element, axis);
        let begin = number / step * values * step + number % step;
        let at = |i: usize| -> f64 { x[begin + i * step].into() };
        *out = rounded(match values {
            0 => f64::NAN,
            n if at(n - 1).is_nan() => f64::NAN,
            n => {
                let (low, weight) = place(q, n);
                let low = low as usize;
                between(at(low), at((low + 1).min(n - 1)), weight.into())
            }
        });
    });
}

fn between(low: f64, high: f64, weight: f64) -> f64 {
    if weight == 0.0 || low.to_bits() == high.to_bits() {
        return low;
    }
    low * (1.0 - weight) + high * weight
}
