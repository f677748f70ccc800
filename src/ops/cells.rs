//! Copies of matrices in which a pair of numbers says where values go: blocks for cells and back, repetitions, shifts
//! and boxes. The pair is the same for all elements, or each element has its own.
//!
//! Cost: the source values that are used read once, the result written once, in one dispatch.

use std::sync::Arc;

use super::strided;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, PlanBuffer, Slot,
    Twin, constants, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result, host};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read, by: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, how, apart, fill, fill_more }
}

/// How the kernel finds the source of a value: `p.how`.
const UPSCALE: u32 = 0;
const APART: u32 = 1;
const DOWNSCALE: u32 = 2;
const TILE: u32 = 3;

static KERNEL: Kernel = Kernel {
    shader: shader!("cells"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![UPSCALE, APART, DOWNSCALE, TILE]],
    variants: variants![U32, C32, F16, U8],
};

/// Where the values of an element go, for its pair (a, b).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum How {
    /// c\[i, j\] = x\[i / a, j / b\].
    Upscale,
    /// c\[i, j\] = x\[i a, j b\].
    Downscale,
    /// The adjoint, in the shapes of operand 1: x\[i / a, j / b\] where a and b divide i and j, and zero elsewhere.
    Apart,
    /// c\[i, j\] = x\[i mod m, j mod n\], a m rows and b n columns.
    Tile,
    /// c\[i, j\] = x\[i − a, j − b\], and the fill elsewhere.
    Translate,
    /// c\[i, j\] = x\[i + a, j + b\], and the fill elsewhere, in the shapes of operand 1.
    Crop,
}

/// One pair for all elements, or one for each.
pub(crate) type By = Arc<Vec<[i64; 2]>>;

/// A copy of matrices over values of one type. The call's scalars are the two words of the fill.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cells {
    pub how: How,
    pub by: By,
    pub dtype: DType,
}

impl Cells {
    pub(crate) fn op(&self) -> &'static str {
        match self.how {
            How::Upscale => "upscale",
            How::Downscale => "downscale",
            How::Apart => "apart",
            How::Tile => "tile",
            How::Translate => "translate",
            How::Crop => "crop",
        }
    }

    /// The pair of an element.
    pub(crate) fn of(&self, element: usize) -> [i64; 2] {
        of(&self.by, element)
    }

    fn check(&self, inputs: &[&Layout]) -> Result<()> {
        let x = inputs[0];
        x.check_rank(2)?;
        if self.by.len() != 1 && self.by.len() != x.len() {
            return Err(Error::element_count(x.len(), self.by.len()));
        }
        if let How::Upscale | How::Downscale = self.how
            && let Some(element) = self.by.iter().position(|by| by.contains(&0))
        {
            let got = format!("{:?}", self.by[element]);
            let wrong = Error::argument("factors of 1 or more", got);
            return Err(match self.by.len() == x.len() {
                true => wrong.at(element),
                false => wrong,
            });
        }
        if let Some(y) = inputs.get(1) {
            y.check_rank(2)?;
            x.check_len(y.len())?;
        }
        Ok(())
    }
}

impl Operation for Cells {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn is_cached(&self) -> bool {
        // One pair for all elements; lists of pairs rarely recur.
        self.by.len() <= 1
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        self.check(inputs)?;
        let (how, dtype, x) = (self.how, self.dtype, inputs[0]);
        let scaled = |of: fn(u64, u64) -> u64| {
            let extent = |element, axis: usize| {
                let by = self.of(element)[axis].unsigned_abs();
                of(strided::extent_of(x, element, axis), by)
            };
            Ok::<_, Error>(OutputLayout::New(strided::layout(x.len(), 2, extent)?))
        };
        let result = match how {
            How::Upscale | How::Tile => scaled(u64::saturating_mul)?,
            How::Downscale => scaled(u64::div_ceil)?,
            How::Translate => OutputLayout::Input(0),
            How::Apart | How::Crop => OutputLayout::Input(1),
        };
        let c_meta = match &result {
            OutputLayout::Input(i) => Slot::InputMeta(*i),
            OutputLayout::New(layout) => Slot::Meta(layout.clone()),
        };
        let total = result.get(|i| inputs[i]).total();
        let (tiles, groups) = Tiles::of(result.get(|i| inputs[i]));
        let mut words = host::room(2 * self.by.len())?;
        words.extend(self.by.iter().flatten().map(|&by| how.word(by)));
        let kernel_type = match dtype {
            DType::F16 | DType::C32 | DType::U8 => dtype,
            _ => DType::U32,
        };
        let dispatch = Dispatch::new(
            KERNEL.variant(kernel_type, &[]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                c: Slot::Output(0),
                c_meta,
                by: Slot::PlanBuffer(PlanBuffer::new(words)),
            },
            Params {
                tiles,
                x_base: Param::InputBase(0),
                how: Param::U32(match how {
                    How::Upscale => UPSCALE,
                    How::Apart => APART,
                    How::Downscale => DOWNSCALE,
                    How::Tile => TILE,
                    // Any other number.
                    How::Translate | How::Crop => TILE + 1,
                }),
                apart: Param::U32(u32::from(self.by.len() > 1)),
                fill: Param::Scalar(0),
                fill_more: Param::Scalar(1),
            },
            groups,
            dtype.words(total) as u64,
        );
        let by = self.by.clone();
        let bytes = size_of_val(&by[..]);
        let twin = Twin::new(move |args| match dtype {
            DType::U8 => twin(args, how, &by, |fill| fill[0] as u8),
            DType::F16 => twin(args, how, &by, |fill| fill[0] as u16),
            DType::C32 => twin(args, how, &by, |fill| [fill[0], fill[1]]),
            _ => twin(args, how, &by, |fill| fill[0]),
        });
        Ok(Launch::new(dtype, result, dispatch, twin.holding(bytes)).into())
    }
}

fn of(by: &[[i64; 2]], element: usize) -> [i64; 2] {
    match by {
        [all] => *all,
        each => each[element],
    }
}

impl How {
    /// A number of a pair as the kernel reads it. Shifts are added to places, and wrap; a clamped one still leads
    /// outside of every element.
    fn word(self, by: i64) -> u32 {
        let far = i64::from(i32::MAX);
        match self {
            How::Translate => by.saturating_neg().clamp(-far, far) as u32,
            How::Crop => by.clamp(-far, far) as u32,
            // A factor that does not fit is longer than any axis with values.
            _ => by.min(u32::MAX.into()) as u32,
        }
    }

    /// The place along an axis of x, of this extent, that place k of the result reads.
    fn source(self, k: usize, by: i64, there: usize) -> Option<usize> {
        let apart = usize::try_from(by).unwrap_or(usize::MAX);
        let shifted = |by: i64| usize::try_from((k as i64).saturating_add(by)).ok();
        let from = match self {
            How::Upscale => k / apart,
            How::Apart if k.is_multiple_of(apart) => k / apart,
            How::Apart => return None,
            How::Downscale => k.saturating_mul(apart),
            How::Tile => k % there,
            How::Translate => shifted(by.saturating_neg())?,
            How::Crop => shifted(by)?,
        };
        (from < there).then_some(from)
    }
}

fn twin<T: bytemuck::Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    how: How,
    by: &[[i64; 2]],
    fill: fn(&[u32]) -> T,
) {
    let (x, x_layout) = args.input::<T>(0);
    let fill = fill(args.scalars);
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, mut out| {
        let x = &x[x_layout.offsets().range(element)];
        let [rows, x_width] = [0, 1].map(|axis| x_layout.extents()[2 * element + axis] as usize);
        let width = layout.extents()[2 * element + 1] as usize;
        let [a, b] = of(by, element);
        let (mut row, mut column) = (within.start / width, within.start % width);
        while !out.is_empty() {
            let (head, tail) = out.split_at_mut((width - column).min(out.len()));
            match how.source(row, a, rows) {
                Some(from) => {
                    let line = &x[from * x_width..][..x_width];
                    for (k, out) in (column..).zip(head) {
                        *out = how.source(k, b, x_width).map_or(fill, |k| line[k]);
                    }
                }
                None => head.fill(fill),
            }
            (out, row, column) = (tail, row + 1, 0);
        }
    });
}
