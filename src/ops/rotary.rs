//! Rotary position embeddings: pairs of values of each head are rotated by an angle that is proportional to the row's
//! position.
//!
//! Cost: the values read twice, the second time from a cache, and written once, in one dispatch, which also reads one
//! cosine and one sine for each row and pair of a head. These are computed on the host, in f64, when the operation is
//! planned.

use half::f16;

use super::{par_tiles, strided};
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, PlanBuffer, Slot,
    Variant, params, slots, stream_tile,
};
use crate::ragged::{DType, Layout, Scalar};
use crate::{Error, Result, host};

pub(crate) const OP: &str = "rotary";

slots! {
    struct Slots { x: Read, table: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { total, elements, tile, x_base, width, d, neighbours, turn }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "rotary",
    source: include_str!("../../shaders/rotary.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &[Variant::of(DType::F32, &[]), Variant::of(DType::F16, &[])],
};

/// Row r is at position `start + r`; pair i of a head of d values is rotated by `base^(−2i/d)` radians per position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rotary {
    pub dtype: DType,
    /// The number of heads of operands of rank 2. Operands of rank 3 have an axis of heads.
    pub heads: usize,
    /// The bits of an f64.
    pub base: u64,
    pub start: usize,
    /// Whether pairs are neighbours, rather than half a head apart.
    pub neighbours: bool,
    /// Whether to rotate in the opposite direction, which is the adjoint.
    pub back: bool,
}

impl Rotary {
    /// The numbers of values in a row and in one of its heads.
    fn widths(self, x: &Layout) -> Result<[usize; 2]> {
        if !(2..=3).contains(&x.rank()) {
            return Err(Error::rank(OP, "2 or 3", x.rank()));
        }
        let mut found: Option<(usize, [usize; 2])> = None;
        // Elements without rows have no widths.
        let with_rows = x.shapes().enumerate();
        for (element, shape) in with_rows.filter(|(_, shape)| shape.extents()[0] > 0) {
            let of = match *shape.extents() {
                [_, heads, d] => [heads as usize * d as usize, d as usize],
                [_, width] => {
                    let width = width as usize;
                    if self.heads == 0 || !width.is_multiple_of(self.heads) {
                        let expected = format!("a number of heads that divides {width}");
                        return Err(Error::argument(OP, expected, self.heads));
                    }
                    [width, width / self.heads]
                }
                _ => return Err(Error::rank(OP, "2 or 3", x.rank())),
            };
            match found {
                Some((first, widths)) if widths != of => {
                    let of_first = x.shape(first);
                    let expected =
                        format!("{of_first}, with any number of rows, as in element {first}");
                    return Err(Error::shape(OP, element, expected, shape));
                }
                Some(_) => (),
                None => found = Some((element, of)),
            }
        }
        let widths = found.map_or([2; 2], |(_, widths)| widths);
        match widths[1] > 0 && widths[1].is_multiple_of(2) {
            true => Ok(widths),
            false => Err(Error::argument(
                OP,
                "an even number of values in a head",
                widths[1],
            )),
        }
    }

    pub(crate) fn launch(self, x: &Layout) -> Result<Launch> {
        let [width, d] = self.widths(x)?;
        let rows = (0..x.len()).map(|element| strided::extent_of(x, element, 0));
        let rows = rows.max().unwrap_or(0) as usize;
        let table = self.table(rows, d)?;
        let (total, elements) = (x.total(), x.len());
        let tile = stream_tile(total, elements);
        let number = |n: usize| Param::U32(n as u32);
        let turn: f32 = if self.back { -1.0 } else { 1.0 };
        let words = PlanBuffer::new(bytemuck::cast_slice(&table).to_vec());
        let held = size_of_val(&table[..]);
        let neighbours = self.neighbours;
        let dtype = self.dtype;
        let twin = CpuKernel::new(move |args: &mut CpuArgs<'_>| {
            let of = (&table[..], [width, d], neighbours, turn);
            match dtype {
                DType::F16 => twin(args, of, f16::from_f32),
                _ => twin::<f32>(args, of, |y| y),
            }
        });
        Ok(Launch::new(
            OP,
            dtype,
            OutputLayout::Input(0),
            Dispatch::new(
                (&KERNEL, KERNEL.variant(dtype, &[])),
                Slots {
                    x: Slot::Input(0),
                    table: Slot::PlanBuffer(words),
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(0),
                },
                Params {
                    total: number(total),
                    elements: number(elements),
                    tile: number(tile),
                    x_base: Param::InputBase(0),
                    width: number(width),
                    d: number(d),
                    neighbours: Param::U32(neighbours.into()),
                    turn: Param::U32(turn.to_bits()),
                },
                total.div_ceil(tile) as u32,
                total as u64,
            ),
            twin.holding(held),
        ))
    }

    /// The cosine and sine of the angle of each row and pair.
    fn table(self, rows: usize, d: usize) -> Result<Vec<[f32; 2]>> {
        let base = f64::from_bits(self.base);
        let mut table = host::room(OP, rows * (d / 2))?;
        for row in 0..rows {
            let position = (self.start + row) as f64;
            table.extend((0..d / 2).map(|pair| {
                let angle = position * base.powf(-2.0 * pair as f64 / d as f64);
                let (sine, cosine) = angle.sin_cos();
                [cosine as f32, sine as f32]
            }));
        }
        Ok(table)
    }
}

fn twin<T: Scalar + Into<f32>>(
    args: &mut CpuArgs<'_>,
    (table, [width, d], neighbours, turn): (&[[f32; 2]], [usize; 2], bool, f32),
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
            let [cosine, sine] = table[row * (d / 2) + pair];
            let (other, sine) = match is_second {
                true => (i - apart, sine * turn),
                false => (i + apart, -sine * turn),
            };
            let (a, b): (f32, f32) = (x[i].into(), x[other].into());
            *out = rounded(a * cosine + b * sine);
        }
    });
}
