//! Rotary position embeddings: pairs of values of each head are rotated by an angle that is proportional to the row's
//! position.
//!
//! Cost: the values read twice, the second time from a cache, and written once, in one dispatch, which also reads one
//! cosine and one sine for each row and pair of a head. These are computed on the host, in f64, when the operation is
//! planned.
//!
//! If positions are known on the device only, the angle of a position is the sum of those of its digits, and the table
//! holds the cosine and sine of each digit: one is read for each digit up to the highest that is not 0.

use half::f16;

use super::strided;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, PlanBuffer, Slot,
    Twin, constants, number, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Scalar};
use crate::{Error, Result, host};

pub(crate) const OP: &str = "rotary";

slots! {
    struct Slots { x: Read, table: Read, c: Write, c_meta: Read, starts: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, width, d, neighbours, turn, starts_base }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("rotary"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![DIGIT]],
    variants: variants![F32, F16, F32 "STARTS", F16 "STARTS"],
};

/// Bits of a digit of a position, and digits of a position.
const DIGIT: u32 = 8;
const DIGITS: usize = 4;

/// Row r is at position `start + r`, or `start + starts + r` with the value of its element; pair i of a head of d
/// values is rotated by `base^(−2i/d)` radians per position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rotary {
    pub dtype: DType,
    /// The number of heads of operands of rank 2. Operands of rank 3 have an axis of heads.
    pub heads: usize,
    /// The bits of an f64.
    pub base: u64,
    pub start: usize,
    /// Whether there is a second operand: a vector with the position of the first row of each element.
    pub starts: bool,
    /// Whether pairs are neighbours, rather than half a head apart.
    pub neighbours: bool,
    /// Whether to rotate in the opposite direction, which is the adjoint.
    pub back: bool,
}

impl Rotary {
    /// The numbers of values in a row and in one of its heads.
    fn widths(self, x: &Layout) -> Result<[usize; 2]> {
        if !(2..=3).contains(&x.rank()) {
            return Err(Error::rank("2 or 3", x.rank()));
        }
        let mut found: Option<(usize, [usize; 2])> = None;
        // Elements without rows have no widths.
        let with_rows = x.shapes().enumerate();
        for (element, shape) in with_rows.filter(|(_, shape)| shape.extents()[0] > 0) {
            let own = match *shape.extents() {
                [_, heads, d] => [heads as usize * d as usize, d as usize],
                [_, width] => {
                    let width = width as usize;
                    if self.heads == 0 || !width.is_multiple_of(self.heads) {
                        let expected = format!("a number of heads that divides {width}");
                        return Err(Error::argument(expected, self.heads));
                    }
                    [width, width / self.heads]
                }
                _ => return Err(Error::rank("2 or 3", x.rank())),
            };
            match found {
                Some((first, widths)) if widths != own => {
                    let of_first = x.shape(first);
                    let expected =
                        format!("{of_first}, with any number of rows, as in element {first}");
                    return Err(Error::shape(element, expected, shape));
                }
                Some(_) => (),
                None => found = Some((element, own)),
            }
        }
        let widths = found.map_or([2; 2], |(_, widths)| widths);
        match widths[1] > 0 && widths[1].is_multiple_of(2) {
            true => Ok(widths),
            false => Err(Error::argument(
                "an even number of values in a head",
                widths[1],
            )),
        }
    }

    /// The cosine and sine of each pair at each of these positions.
    fn table(
        self,
        d: usize,
        count: usize,
        position: impl Fn(usize) -> usize,
    ) -> Result<Vec<[f32; 2]>> {
        let base = f64::from_bits(self.base);
        let speeds = (0..d / 2).map(|pair| base.powf(-2.0 * pair as f64 / d as f64));
        let speeds = host::exact(speeds)?;
        let mut table = host::room(count * speeds.len())?;
        for i in 0..count {
            let position = position(i) as f64;
            table.extend(speeds.iter().map(|speed| {
                let (sine, cosine) = (position * speed).sin_cos();
                [cosine as f32, sine as f32]
            }));
        }
        Ok(table)
    }
}

impl Operation for Rotary {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let x = inputs[0];
        let [width, d] = self.widths(x)?;
        if let Some(starts) = inputs.get(1)
            && **starts != Layout::from_lengths([x.len()])?
        {
            let expected = format!("one vector of {} first positions", x.len());
            return Err(Error::argument(expected, format!("{starts:?}")));
        }
        let table = match self.starts {
            // The first position is that of the lowest digits.
            true => self.table(d, DIGITS << DIGIT, |i| match i >> DIGIT {
                0 => self.start.saturating_add(i),
                digit => (i % (1 << DIGIT)) << (DIGIT as usize * digit),
            })?,
            false => {
                let rows = (0..x.len()).map(|element| strided::extent_of(x, element, 0));
                let rows = rows.max().unwrap_or(0) as usize;
                self.table(d, rows, |row| self.start.saturating_add(row))?
            }
        };
        let total = x.total();
        let (tiles, groups) = Tiles::of(x);
        let turn: f32 = if self.back { -1.0 } else { 1.0 };
        let words = PlanBuffer::new(bytemuck::cast_slice(&table).to_vec());
        let held = size_of_val(&table[..]);
        let neighbours = self.neighbours;
        let (dtype, starts) = (self.dtype, self.starts);
        let flags: &[&str] = if starts { &["STARTS"] } else { &[] };
        let twin = Twin::new(move |args: &mut CpuArgs<'_>| {
            let turning = (&table[..], [width, d], neighbours, turn);
            let starts = starts.then(|| args.input::<u32>(1).0);
            match dtype {
                DType::F16 => twin(args, turning, starts, f16::from_f32),
                _ => twin::<f32>(args, turning, starts, |y| y),
            }
        });
        Ok(Launch::new(
            dtype,
            OutputLayout::Input(0),
            Dispatch::new(
                KERNEL.variant(dtype, flags),
                Slots {
                    x: Slot::Input(0),
                    table: Slot::PlanBuffer(words),
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(0),
                    // In place of missing positions, x is bound and not read.
                    starts: Slot::Input(usize::from(starts)),
                },
                Params {
                    tiles,
                    x_base: Param::InputBase(0),
                    width: number(width),
                    d: number(d),
                    neighbours: Param::U32(neighbours.into()),
                    turn: Param::U32(turn.to_bits()),
                    starts_base: Param::InputBase(usize::from(starts)),
                },
                groups,
                total as u64,
            ),
            twin.holding(held),
        )
        .into())
    }
}

fn twin<T: Scalar + Into<f32>>(
    args: &mut CpuArgs<'_>,
    (table, [width, d], neighbours, turn): (&[[f32; 2]], [usize; 2], bool, f32),
    starts: Option<&[u32]>,
    rounded: fn(f32) -> T,
) {
    let (x, layout) = args.input::<T>(0);
    let (c, _) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let x = &x[layout.offsets().range(element)];
        for (i, out) in within.zip(out) {
            let (row, column) = (i / width, i % width % d);
            let (pair, is_second, apart) = match neighbours {
                true => (column / 2, column % 2 != 0, 1),
                false => (column % (d / 2), column >= d / 2, d / 2),
            };
            let at = |row: usize| table[row * (d / 2) + pair];
            let [cosine, sine] = match starts {
                None => at(row),
                Some(starts) => sum_of_digits(at, starts[element].wrapping_add(row as u32)),
            };
            let (other, sine) = match is_second {
                true => (i - apart, sine * turn),
                false => (i + apart, -sine * turn),
            };
            let (a, b): (f32, f32) = (x[i].into(), x[other].into());
            *out = rounded(a * cosine + b * sine);
        }
    });
}

/// The cosine and sine of a position, from those of its digits.
fn sum_of_digits(at: impl Fn(usize) -> [f32; 2], position: u32) -> [f32; 2] {
    let low = (1 << DIGIT) - 1;
    let [mut cosine, mut sine] = at((position & low) as usize);
    let (mut left, mut first) = (position >> DIGIT, 1 << DIGIT);
    while left != 0 {
        let [c, s] = at(first + (left & low) as usize);
        (cosine, sine) = (cosine * c - sine * s, sine * c + cosine * s);
        (left, first) = (left >> DIGIT, first + (1 << DIGIT));
    }
    [cosine, sine]
}
