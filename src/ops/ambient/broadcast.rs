//! Value-by-value functions of whole operands and of vectors that are spread over their elements.
//!
//! Cost: the whole operands and the result's offsets read once, the result written once, in one dispatch; a spread
//! operand is read from memory once, and then from a cache.

use super::spread::Mode;
use super::table::{self, THREE, TWO};
use super::{Build, ONE_LAYOUT, ONES, base, builds, count, twin, unsupported};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Constants, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin,
    constants, params, place_of, shader, slots, stream_tile,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

slots! {
    struct Slots { a: Read, a_meta: Read, b: Read, b_meta: Read, c: Write, c_meta: Read }
}

slots! {
    struct ThreeSlots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, d: Read, d_meta: Read, c: Write, c_meta: Read,
    }
}

params! {
    struct Params { total, ones, elements, tile, rank, a_base, a_mode, b_base, b_mode }
}

params! {
    struct ThreeParams { of_two: Params, d_base, d_mode }
}

/// Values of a mode parameter other than an axis: the operand is whole, or (a flag) its only vector is used for all
/// elements.
const WHOLE: u32 = u32::MAX;
const ONE: u32 = 1 << 8;
const MODES: Constants = constants![WHOLE, ONE];

static KERNEL: Kernel = Kernel {
    shader: shader!("ambient/broadcast", "broadcast"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[MODES],
    variants: &ONE_LAYOUT,
};

static THREE_KERNEL: Kernel = Kernel {
    shader: shader!("ambient/broadcast", "broadcast_three"),
    interface: Interface::of::<ThreeSlots, ThreeParams>(),
    constants: &[MODES],
    variants: &OF_THREE,
};

static OF_THREE: [Build; count(THREE)] = builds(THREE, 1, &[]);

/// A function of two or three operands, by name, over values of one type. If both operands of a function of two are
/// spread, a third operand without values has the result's layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Broadcast {
    pub name: &'static str,
    pub dtype: DType,
    /// The modes of all operands, at least one of which is whole.
    pub modes: [Mode; 3],
}

impl Operation for Broadcast {
    const KERNELS: &[&Kernel] = &[&KERNEL, &THREE_KERNEL];

    fn name(&self) -> &'static str {
        self.name
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let Broadcast {
            name: op,
            dtype,
            modes,
        } = *self;
        let of_three = table::row(THREE, op, dtype);
        let three = of_three.is_some();
        let (row, kernel_type) = of_three
            .or_else(|| table::row(TWO, op, dtype))
            .ok_or_else(|| unsupported(dtype))?;
        let build = Build {
            row: Some(row),
            dtype: kernel_type,
            matrices: false,
        };
        let whole = modes.iter().position(|mode| *mode == Mode::Whole);
        let whole = whole.unwrap_or_default();
        let c = inputs[whole];
        for (i, &v) in inputs.iter().enumerate() {
            modes[i].check(v, c, i < whole)?;
        }
        let tile = stream_tile(c.total(), c.len());
        let meta = |i: usize| match modes[i] {
            Mode::Whole => Slot::InputMeta(whole),
            _ => Slot::InputMeta(i),
        };
        let mode = |i: usize| Param::U32(modes[i].word(c.rank(), inputs[i].len() == 1));
        let params = Params {
            total: Param::U32(c.total() as u32),
            ones: ONES,
            elements: Param::U32(c.len() as u32),
            tile: Param::U32(tile as u32),
            rank: Param::U32(c.rank() as u32),
            a_base: base(dtype, 0),
            a_mode: mode(0),
            b_base: base(dtype, 1),
            b_mode: mode(1),
        };
        let (a, a_meta, b, b_meta) = (Slot::Input(0), meta(0), Slot::Input(1), meta(1));
        let (result, c_meta) = (Slot::Output(0), Slot::InputMeta(whole));
        let (groups, cost) = (c.total().div_ceil(tile) as u32, c.total() as u64);
        let dispatch = match three {
            false => Dispatch::new(
                (&KERNEL, place_of(&ONE_LAYOUT, &build)),
                Slots {
                    a,
                    a_meta,
                    b,
                    b_meta,
                    c: result,
                    c_meta,
                },
                params,
                groups,
                cost,
            ),
            true => Dispatch::new(
                (&THREE_KERNEL, place_of(&OF_THREE, &build)),
                ThreeSlots {
                    a,
                    a_meta,
                    b,
                    b_meta,
                    d: Slot::Input(2),
                    d_meta: meta(2),
                    c: result,
                    c_meta,
                },
                ThreeParams {
                    of_two: params,
                    d_base: Param::InputBase(2),
                    d_mode: mode(2),
                },
                groups,
                cost,
            ),
        };
        let twin = Twin::new(move |args| {
            twin::combine_spread(args, (row, kernel_type), &modes);
        });
        let layout = OutputLayout::Input(whole);
        Ok(Launch::new(row.result(dtype), layout, dispatch, twin).into())
    }
}

impl Mode {
    /// Checks that `v` can be spread over the elements of `x` in this mode. `in_front`: `v` is the left operand.
    fn check(self, v: &Layout, x: &Layout, in_front: bool) -> Result<()> {
        let all = self != Mode::Whole && v.len() == 1;
        if v.len() != x.len() && !all {
            let (left, right) = match in_front {
                true => (v.len(), x.len()),
                false => (x.len(), v.len()),
            };
            return Err(Error::batch_sizes(left, right));
        }
        match self {
            Mode::Whole => Ok(()),
            Mode::Each => {
                let other = v.lengths().position(|length| length != 1);
                lengths(other.map(|element| (element, 1, v.length(element))))
            }
            Mode::Along(axis) => {
                x.check_axis(axis)?;
                if v.rank() != 1 {
                    return Err(Error::rank("1 for vectors along an axis", v.rank()));
                }
                let extent = |element: usize| match x.rank() {
                    1 => x.length(element),
                    rank => x.extents()[element * rank + axis] as usize,
                };
                let length = |element: usize| v.length(if all { 0 } else { element });
                let other = (0..x.len()).find(|&e| extent(e) != length(e));
                lengths(other.map(|e| (e, extent(e), length(e))))
            }
        }
    }

    /// The mode parameter of the kernel.
    fn word(self, rank: usize, one: bool) -> u32 {
        let (axis, one) = match self {
            Mode::Whole => return WHOLE,
            Mode::Each => (rank, one),
            Mode::Along(axis) => (axis, one),
        };
        axis as u32 | if one { ONE } else { 0 }
    }
}

/// Reports an element of the wrong length, as (element, expected, got).
fn lengths(wrong: Option<(usize, usize, usize)>) -> Result<()> {
    match wrong {
        None => Ok(()),
        Some((element, expected, got)) => Err(Error::length(element, expected, got)),
    }
}
