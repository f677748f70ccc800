//! The places where a small matrix occurs in a large one, value by value.
//!
//! Cost: the values read once from memory, the results written once, in one dispatch. Each result compares values until
//! two differ, at most all of the small matrix.

use super::strided;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, number, params, shader,
    slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// Values of a template from which loads of values take longer than the first comparison.
const LARGE: usize = 64;

slots! {
    struct Slots {
        x: Read, x_meta: Read, small: Read, small_meta: Read, c: Write, c_meta: Read,
    }
}

params! {
    struct Params { tiles: Tiles, x_base, small_base, templates, in_fours }
}

/// Values are compared by their bits.
static KERNEL: Kernel = Kernel {
    shader: shader!("occurrences"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32],
};

/// Masks of the places in operand 0 where operand 1 begins: one matrix for all elements, or one for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Occurrences;

/// The index of an element's template.
fn template_of(templates: &Layout, element: usize) -> usize {
    element.min(templates.len().saturating_sub(1))
}

impl Operation for Occurrences {
    const NAME: &str = "match_template";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (x, templates) = request.both();
        x.check_rank(2)?;
        if templates.rank() != 2 {
            return Err(Error::rank("2 for the templates", templates.rank()));
        }
        if templates.len() != 1 && templates.len() != x.len() {
            return Err(Error::element_count(x.len(), templates.len()));
        }
        if let Some(element) = (0..templates.len()).find(|&i| templates.length(i) == 0) {
            let got = templates.shape(element).to_string();
            return Err(Error::argument("templates with values", got).at(element));
        }
        let extent_of = |element, axis| {
            let template = template_of(templates, element);
            strided::extent_of(templates, template, axis)
        };
        let c = strided::layout(x.len(), 2, |element, axis| {
            (strided::extent_of(x, element, axis) + 1).saturating_sub(extent_of(element, axis))
        })?;
        let cost = (0..x.len()).fold(0u64, |cost, element| {
            let template = templates.length(template_of(templates, element)) as u64;
            cost.saturating_add(template.saturating_mul(c.length(element) as u64))
        });
        let (tiles, groups) = Tiles::of(&c);
        let dispatch = Dispatch::new(
            KERNEL.variant(DType::U32, &[]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                small: Slot::Input(1),
                small_meta: Slot::InputMeta(1),
                c: Slot::Output(0),
                c_meta: Slot::Meta(c.clone()),
            },
            Params {
                tiles,
                x_base: Param::InputBase(0),
                small_base: Param::InputBase(1),
                templates: number(templates.len()),
                in_fours: number(usize::from(templates.lengths().any(|n| n >= LARGE))),
            },
            groups,
            cost,
        );
        Ok(Launch::new(DType::U32, c, dispatch, Twin::new(twin)).into())
    }
}

fn twin(args: &mut CpuArgs<'_>) {
    let (x, x_layout) = args.input::<u32>(0);
    let (templates, template_layout) = args.input::<u32>(1);
    let (c, layout) = args.output::<u32>(0);
    let width_of = |layout: &Layout, element: usize| layout.extents()[2 * element + 1] as usize;
    par_tiles(layout.offsets(), c, |element, within, out| {
        let template = template_of(template_layout, element);
        let x = &x[x_layout.offsets().range(element)];
        let (width, columns) = (width_of(x_layout, element), width_of(layout, element));
        let small = &templates[template_layout.offsets().range(template)];
        let small = (small, width_of(template_layout, template));
        for (v, out) in within.zip(out) {
            let corner = v / columns * width + v % columns;
            *out = u32::from(is_at(corner, (x, width), small));
        }
    });
}

/// Whether a template occurs in a matrix with its first value at this place. Both are values and a width.
pub(crate) fn is_at<T: PartialEq>(
    corner: usize,
    (x, width): (&[T], usize),
    (template, template_width): (&[T], usize),
) -> bool {
    let mut lines = template.chunks_exact(template_width).enumerate();
    lines.all(|(row, line)| x[corner + row * width..].starts_with(line))
}
