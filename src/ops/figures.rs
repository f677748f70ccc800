//! Boxes and lines drawn on images. Where several figures of an image overlap, the last one is on top.
//!
//! Cost: values read once, the result written once. Where an image has few figures, each cell looks for the last one
//! that it lies on, in one dispatch. Otherwise figures mark their cells, in two dispatches more, so that the work grows
//! with the lengths of figures and not with the cells of the image. On the CPU, figures are drawn one after another.

use std::ops::Range;

use super::{linear, strided};
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, constants,
    cost_of, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

slots! {
    struct Slots { x: Read, figures: Read, figures_meta: Read, values: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, figures_base, values_base, what }
}

/// What the four numbers of a figure are: `p.what`.
const BOXES: u32 = 0;
const LINES: u32 = 1;

/// Figures of an image that each cell looks through.
const FEW: u64 = 16;

static KERNEL: Kernel = Kernel {
    shader: shader!("figures"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![BOXES]],
    variants: variants![U32],
};

/// The kernel of many figures.
static MARKS: Kernel = Kernel {
    shader: shader!("figures_marks"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![BOXES]],
    variants: variants![U32 "MARK", U32 "COLOURS"],
};

/// What is drawn on operand 0: operand 1 has four numbers for each figure, and operand 2 its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Figures {
    /// The border of a box: top, left, bottom and right, of u32, where the last two are not in the box.
    Boxes { dtype: DType },
    /// A line from cell to cell: their rows and columns, of i32. Its direction is one of eight.
    Lines { dtype: DType },
}

impl Figures {
    pub(crate) fn op(self) -> &'static str {
        match self {
            Figures::Boxes { .. } => "draw_boxes",
            Figures::Lines { .. } => "draw_lines",
        }
    }

    fn check(self, x: &Layout, figures: &Layout, values: &Layout) -> Result<()> {
        x.check_rank(2)?;
        if figures.rank() > 2 {
            let expected = "1 or 2 for the figures, four numbers each";
            return Err(Error::rank(expected, figures.rank()));
        }
        if values.rank() != 1 {
            return Err(Error::rank("1 for the values", values.rank()));
        }
        x.check_len(figures.len())?;
        x.check_len(values.len())?;
        for (element, shape) in figures.shapes().enumerate() {
            let extents = shape.extents();
            let is_table = figures.length(element) == 0 || extents[extents.len() - 1] == 4;
            if !is_table {
                let expected = "four numbers for each figure";
                return Err(Error::argument(expected, shape.to_string()).at(element));
            }
        }
        values.check_lengths((0..x.len()).map(|element| figures.length(element) / 4))
    }

    /// The numbers of a figure.
    fn numbers(self, figure: &[u32]) -> [i64; 4] {
        [0, 1, 2, 3].map(|k| match self {
            Figures::Boxes { .. } => i64::from(figure[k]),
            Figures::Lines { .. } => i64::from(figure[k] as i32),
        })
    }

    /// The rows of a figure.
    fn rows(self, [from, _, to, _]: [i64; 4]) -> Range<i64> {
        match self {
            Figures::Boxes { .. } => from..to,
            Figures::Lines { .. } => from.min(to)..from.max(to) + 1,
        }
    }

    /// The columns of a figure in one of its rows: two ranges, of which one may be empty.
    fn columns(self, figure: [i64; 4], row: i64) -> [Range<i64>; 2] {
        match self {
            Figures::Boxes { .. } => {
                let [top, left, bottom, right] = figure;
                match row == top || row == bottom - 1 {
                    true => [left..right, 0..0],
                    false if left < right => [left..left + 1, right - 1..right],
                    false => [0..0, 0..0],
                }
            }
            Figures::Lines { .. } => {
                let [from_row, from, to_row, to] = figure;
                let all = from.min(to)..from.max(to) + 1;
                let at = from + (to - from).signum() * (row - from_row).abs();
                match from_row == to_row {
                    true => [all, 0..0],
                    false => [at..at + 1, 0..0],
                }
            }
        }
    }

    /// Draws a figure in the cells `within` an image of this width, which are `out`.
    pub(crate) fn draw<T: Copy>(
        self,
        (figure, value): ([i64; 4], T),
        width: usize,
        within: Range<usize>,
        out: &mut [T],
    ) {
        if within.is_empty() {
            return;
        }
        let rows = (within.start / width) as i64..within.end.div_ceil(width) as i64;
        let of_figure = self.rows(figure);
        for row in of_figure.start.max(rows.start)..of_figure.end.min(rows.end) {
            for columns in self.columns(figure, row) {
                let place = |column: i64| {
                    let at = row as usize * width + column.clamp(0, width as i64) as usize;
                    at.clamp(within.start, within.end) - within.start
                };
                let (begin, end) = (place(columns.start), place(columns.end));
                if begin < end {
                    out[begin..end].fill(value);
                }
            }
        }
    }
}

impl Operation for Figures {
    const KERNELS: &[&Kernel] = &[&KERNEL, &MARKS];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        let (Figures::Boxes { dtype } | Figures::Lines { dtype }) = self;
        OnBytes::InWords(Some(dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let [x, figures, values] = [inputs[0], inputs[1], inputs[2]];
        self.check(x, figures, values)?;
        let (Figures::Boxes { dtype } | Figures::Lines { dtype }) = *self;
        let sum = |of: &dyn Fn(u64, usize) -> u64| {
            (0..x.len()).fold(0u64, |sum, element| {
                let count = figures.length(element) as u64 / 4;
                sum.saturating_add(of(count, element))
            })
        };
        let cells = x.total() as u64;
        let searched = sum(&|count, element| count.saturating_mul(x.length(element) as u64));
        // The longest figures inside of an image.
        let marked = sum(&|count, element| {
            let [rows, columns] = [0, 1].map(|axis| strided::extent_of(x, element, axis));
            count.saturating_mul(match self {
                Figures::Boxes { .. } => 2 * (rows + columns),
                Figures::Lines { .. } => rows.max(columns),
            })
        });
        let (tiles, of_cells) = Tiles::of(x);
        let dispatch = |kernel: &'static Kernel, flags: &[&str], groups: u32, cost: u64| {
            Dispatch::new(
                kernel.variant(DType::U32, flags),
                Slots {
                    x: Slot::Input(0),
                    figures: Slot::Input(1),
                    figures_meta: Slot::InputMeta(1),
                    values: Slot::Input(2),
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(0),
                },
                Params {
                    tiles,
                    x_base: Param::InputBase(0),
                    figures_base: Param::InputBase(1),
                    values_base: Param::InputBase(2),
                    what: Param::U32(match self {
                        Figures::Boxes { .. } => BOXES,
                        Figures::Lines { .. } => LINES,
                    }),
                },
                groups,
                cost,
            )
        };
        let dispatches = match searched <= FEW.saturating_mul(cells) {
            true => vec![dispatch(&KERNEL, &[], of_cells, cells + searched)],
            false => vec![
                linear::zeros(x.total(), Slot::Output(0)),
                dispatch(&MARKS, &["MARK"], (figures.total() / 4) as u32, marked),
                dispatch(&MARKS, &["COLOURS"], of_cells, 2 * cells),
            ],
        };
        let drawn = *self;
        let twin = Twin::new(move |args| twin(args, drawn));
        let work = cost_of(&dispatches);
        Ok(Launch::of(
            dtype,
            OutputLayout::Input(0),
            (dispatches, Vec::new()),
            work,
            twin,
        )
        .into())
    }
}

fn twin(args: &mut CpuArgs<'_>, what: Figures) {
    let (x, layout) = args.input::<u32>(0);
    let (figures, figures_layout) = args.input::<u32>(1);
    let (values, values_layout) = args.input::<u32>(2);
    let (c, _) = args.output::<u32>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        out.copy_from_slice(&x[layout.offsets().range(element)][within.clone()]);
        let width = layout.extents()[2 * element + 1] as usize;
        let figures = &figures[figures_layout.offsets().range(element)];
        let values = &values[values_layout.offsets().range(element)];
        for (figure, value) in figures.chunks_exact(4).zip(values) {
            what.draw((what.numbers(figure), *value), width, within.clone(), out);
        }
    });
}
