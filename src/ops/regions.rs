//! Regions of labelled images: a row for each component, with its area, box, centroid and value.
//!
//! Cost: labels read once, in one dispatch that adds cells up by component, with atomic additions and maxima of
//! integers; then one value and 40 bytes for each component. Memory: 40 bytes for each component. Workgroups first add
//! to tables in their memory, so that large components are not a bottleneck.
//!
//! The fields of a component are its number of cells, sums of rows and columns in two words each, and the ends of its
//! box as maxima, so that all of them start at zero. Means are quotients of integers, rounded by integer arithmetic:
//! the order of additions matters nowhere. The numbers of components are read back for the shapes.

use rayon::prelude::*;

use super::linear;
use crate::error::Named;
use crate::ops::kit::join;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Constants, CpuArgs, Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Plan,
    Slot, Twin, check_size, constants, cost_of, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Offsets};
use crate::{Result, host};

/// The name of the operation in errors.
pub(crate) const OP: &str = "regions";

/// Cells of a workgroup.
const CELLS: usize = 4096;
/// Words of a component.
const FIELDS: usize = 10;
const SHARED: Constants = constants![CELLS, FIELDS];
/// Components of a workgroup at the end.
const ROWS: usize = 256;

slots! {
    struct Slots { sums: Write, labels: Read, labels_meta: Read, rows_meta: Read }
}

slots! {
    struct FinishSlots {
        areas: Write, boxes: Write, centroids: Write, values: Write, sums: Read, x: Read,
     }
}

params! {
    struct Params { total, elements, labels_base }
}

params! {
    struct FinishParams { rows, x_base }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("regions"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[SHARED],
    variants: variants![U32],
};

static FINISH: Kernel = Kernel {
    shader: shader!("regions_finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[SHARED],
    variants: variants![U32],
};

/// The regions of images, operand 0, that have the labels of operand 1. The layout of operand 2 has a value for each
/// component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Regions {
    pub dtype: DType,
}

impl Operation for Regions {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL, &FINISH];

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::InWords(Some(&mut self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let device = request.device;
        let (x, rows) = (inputs[0], inputs[2]);
        let table = |width: usize| -> Result<Layout> {
            let lengths = rows.lengths().map(|n| n * width);
            let offsets = Offsets::from_lengths(lengths).unnamed()?;
            let mut extents = host::room(2 * rows.len())?;
            extents.extend(rows.lengths().flat_map(|n| [n as u32, width as u32]));
            let layout = Layout::unchecked(offsets, 2, extents);
            check_size(&layout, DType::U32, device.binding)?;
            Ok(layout)
        };
        let (boxes, centroids) = (table(4)?, table(2)?);
        let total = rows.total();
        let sums = Slot::Scratch(0);
        let mut dispatches = Vec::new();
        if total > 0 {
            dispatches.push(linear::zeros(FIELDS * total, sums.clone()));
            dispatches.push(Dispatch::new(
                KERNEL.variant(DType::U32, &[]),
                Slots {
                    sums: sums.clone(),
                    labels: Slot::Input(1),
                    labels_meta: Slot::InputMeta(1),
                    rows_meta: Slot::InputMeta(2),
                },
                Params {
                    total: Param::U32(x.total() as u32),
                    elements: Param::U32(x.len() as u32),
                    labels_base: Param::InputBase(1),
                },
                x.total().div_ceil(CELLS) as u32,
                2 * x.total() as u64,
            ));
            dispatches.push(Dispatch::new(
                FINISH.variant(DType::U32, &[]),
                FinishSlots {
                    areas: Slot::Output(0),
                    boxes: Slot::Output(1),
                    centroids: Slot::Output(2),
                    values: Slot::Output(3),
                    sums,
                    x: Slot::Input(0),
                },
                FinishParams {
                    rows: Param::U32(total as u32),
                    x_base: Param::InputBase(0),
                },
                total.div_ceil(ROWS) as u32,
                (FIELDS * total) as u64,
            ));
        }
        let scratch = match total {
            0 => Vec::new(),
            _ => vec![(FIELDS * total) as u64],
        };
        let of_rows = |dtype| Output::new(dtype, OutputLayout::Input(2));
        Ok(Launch {
            op: "",
            outputs: vec![
                of_rows(DType::U32),
                Output::new(DType::U32, boxes.into()),
                Output::new(DType::F32, centroids.into()),
                of_rows(self.dtype),
            ],
            scratch,
            work: cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin: Twin::new(twin),
        }
        .into())
    }
}

/// The cells of a component so far.
#[derive(Clone, Copy, bytemuck::Zeroable)]
pub(crate) struct Region {
    pub cells: u32,
    /// The place of the first cell.
    pub first: u32,
    pub rows: u64,
    pub columns: u64,
    /// First row, first column, and the ends of both.
    pub bounds: [u32; 4],
}

impl Region {
    /// Adds the cells of an image to its regions. The place of its first cell is `at`. Labels of other regions are
    /// skipped.
    pub(crate) fn add_all(regions: &mut [Region], labels: &[u32], columns: usize, at: usize) {
        for (row, labels) in labels.chunks_exact(columns.max(1)).enumerate() {
            let place = at + row * columns;
            let mut column = 0;
            for run in labels.chunk_by(|a, b| a == b) {
                let region = (run[0] as usize).checked_sub(1);
                if let Some(region) = region.and_then(|region| regions.get_mut(region)) {
                    region.add(place + column, [row, column], run.len());
                }
                column += run.len();
            }
        }
    }

    /// Adds the `count` cells from a column of a row on.
    fn add(&mut self, place: usize, [row, column]: [usize; 2], count: usize) {
        let [top, left, bottom, right] = &mut self.bounds;
        let (y, begin, end) = (row as u32, column as u32, (column + count) as u32);
        if self.cells == 0 {
            self.first = place as u32;
            (*top, *left) = (y, begin);
        }
        *left = (*left).min(begin);
        *right = (*right).max(end);
        *bottom = y + 1;
        self.cells += count as u32;
        self.rows += (count * row) as u64;
        self.columns += (count * column + count * (count - 1) / 2) as u64;
    }

    fn centroid(&self) -> [f32; 2] {
        let mean = |sum: u64| {
            let (sum, n) = (u128::from(sum) << 64, u128::from(self.cells.max(1)));
            // The remainder only decides about ties.
            let quotient = (sum / n) | u128::from(!sum.is_multiple_of(n));
            quotient as f32 / 2f32.powi(64)
        };
        [mean(self.rows), mean(self.columns)]
    }
}

fn twin(args: &mut CpuArgs<'_>) -> Result<()> {
    let (x, layout) = args.input::<u32>(0);
    let (labels, _) = args.input::<u32>(1);
    let rows = args.inputs[2].layout;
    let total = rows.total();
    let mut regions: Vec<Region> = host::zeroed(total)?;
    let batch = Batch {
        labels,
        layout,
        rows: rows.offsets().as_slice(),
    };
    batch.run(0, layout.len(), &mut regions);
    let [areas, boxes, centroids, values] = &mut *args.outputs else {
        unreachable!("four results");
    };
    let centroids: &mut [[f32; 2]] = bytemuck::cast_slice_mut(&mut centroids.words[..2 * total]);
    let boxes: &mut [[u32; 4]] = bytemuck::cast_slice_mut(&mut boxes.words[..4 * total]);
    let tables = (
        &regions[..],
        &mut areas.words[..total],
        boxes,
        centroids,
        &mut values.words[..total],
    );
    tables.into_par_iter().with_min_len(ROWS).for_each(
        |(region, area, bounds, centroid, value)| {
            (*area, *bounds, *centroid) = (region.cells, region.bounds, region.centroid());
            *value = match region.cells {
                0 => 0,
                _ => x[region.first as usize],
            };
        },
    );
    Ok(())
}

/// Cells that justify a parallel task.
const TASK: usize = 1 << 15;

struct Batch<'a> {
    labels: &'a [u32],
    layout: &'a Layout,
    rows: &'a [u32],
}

impl Batch<'_> {
    /// Adds up the elements from `first` to `end`, which have these regions, in parallel.
    fn run(&self, first: usize, end: usize, regions: &mut [Region]) {
        let ends = self.layout.offsets().as_slice();
        let (begin, cells) = (ends[first] as usize, (ends[end] - ends[first]) as usize);
        if end - first > 1 && cells + end - first > TASK {
            let half = begin + cells / 2;
            let middle = ends[first..end].partition_point(|&at| (at as usize) < half);
            let middle = first + middle.clamp(1, end - first - 1);
            let cut = (self.rows[middle] - self.rows[first]) as usize;
            let (left, right) = regions.split_at_mut(cut);
            join(
                || self.run(first, middle, left),
                || self.run(middle, end, right),
            );
            return;
        }
        let mut rest = regions;
        for element in first..end {
            let count = (self.rows[element + 1] - self.rows[element]) as usize;
            let (regions, after) = rest.split_at_mut(count);
            rest = after;
            let columns = self.layout.extents()[2 * element + 1] as usize;
            let range = self.layout.offsets().range(element);
            Region::add_all(regions, &self.labels[range.clone()], columns, range.start);
        }
    }
}
