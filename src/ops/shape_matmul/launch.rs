//! The launch of products of matrices of vectors.

use super::twin::direct as direct_twin;
use super::{
    DIRECT, KERNEL, Model, Params, Product, Products, SHORTEST, ShapeMatmul, Slots, TILE, extents,
    named, spectral, twin,
};
use crate::ops::kit::twin_of;
use crate::ops::matmul::meet;
use crate::ops::operation::{FftLimits, Operation, PlanRequest};
use crate::plan::{
    Attachment, Dispatch, Kernel, Launch, Offset, OutputLayout, Param, Plan, PlanBuffer, Slot,
    Twin, check_size, check_work, cost_of,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result, host};

impl Operation for ShapeMatmul {
    const KERNELS: &[&Kernel] = &[&KERNEL, &spectral::SPECTRAL, &spectral::FIT];

    fn name(&self) -> &'static str {
        self.model.op()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let device = request.device;
        let ShapeMatmul { model, dtype } = *self;
        let room = device.room;
        let (a, b, grids) = (inputs[0], inputs[1], [inputs[2], inputs[3]]);
        let plan = Products::new((model, dtype), [a, b], grids, (room, device.allowed))?;
        let (mut dispatches, mut scratch) = (Vec::new(), Vec::new());
        if let Some(room) = room {
            dispatches.extend(plan.direct(model, dtype)?);
            let (more, words) = spectral::dispatches(&plan, [a, b], room)?;
            dispatches.extend(more);
            scratch = words;
        }
        let work = plan.work.saturating_add(spectral::work(&plan)?);
        let (entries, grid) = (plan.entries.clone(), plan.grid.clone());
        let bytes = size_of_val(&plan.products[..]) + 4 * plan.lengths.len();
        let twin = match (model, dtype) {
            (Model::Convolution, DType::F32) => Twin::new(move |args| twin::spectral(args, &plan)),
            (Model::Convolution, _) => {
                let twin = twin_of!(dtype, direct_twin, false);
                Twin::new(move |args| twin(args, &plan))
            }
            (Model::Kronecker, _) => {
                let twin = twin_of!(dtype, direct_twin, true);
                Twin::new(move |args| twin(args, &plan))
            }
        };
        let work = work.max(cost_of(&dispatches));
        let (gpu, twin) = ((dispatches, scratch), twin.holding(bytes));
        let launch = Launch::of(dtype, entries, gpu, work, twin);
        Ok(Plan::from(launch).with(Attachment::Layout(OutputLayout::New(grid))))
    }
}

impl Products {
    /// Checks the extents, and computes the length of each result. The work is at least the number of terms, because
    /// planning visits each of them.
    pub(super) fn new(
        (model, dtype): (Model, DType),
        [a, b]: [&Layout; 2],
        grids: [&Layout; 2],
        (room, allowed): (Option<FftLimits>, u64),
    ) -> Result<Products> {
        let transforms = model == Model::Convolution && dtype == DType::F32;
        grids[0].check_len(grids[1].len())?;
        let mut products = host::room(grids[0].len())?;
        let mut shapes = host::room(2 * grids[0].len())?;
        let mut count = Offset::new(grids[0].len())?;
        let (mut next, mut terms) = ([0; 3], 0u64);
        let both = extents(grids[0]).zip(extents(grids[1]));
        for (pair, ([rows, inner], [other, columns])) in both.enumerate() {
            let sides = [[rows, inner], [other, columns]].map(|of| of.map(|n| n as u32));
            if !meet(sides[0], sides[1]) {
                return Err(Error::inner_extents(
                    pair,
                    inner,
                    other,
                    match (columns == inner, rows == other) {
                        (true, _) => Some("transpose() of the right matrix"),
                        (_, true) => Some("transpose() of the left matrix"),
                        _ => None,
                    },
                ));
            }
            count.push(rows as u64 * columns as u64)?;
            shapes.extend([rows as u32, columns as u32]);
            let [a, b, c] = next;
            products.push(Product {
                a,
                b,
                c,
                rows,
                inner: inner.min(other),
                columns,
            });
            next = [a + rows * inner, b + other * columns, c + rows * columns];
            let here = [inner.min(other), columns]
                .iter()
                .fold(rows as u64, |product, &n| product.saturating_mul(n as u64));
            terms = terms.saturating_add(here);
        }
        check_work(None, terms, allowed)?;
        let grid = Layout::unchecked(count.finish(), 2, shapes);
        let binding = room.map(FftLimits::binding);
        // Check one word per result first, then (below) the values.
        check_size(&grid, DType::U32, binding)?;
        // Each result takes an offset, and the length of its transforms.
        host::check(grid.total(), 8)?;
        let mut offsets = Offset::new(grid.total())?;
        let (mut lengths, mut work) = (host::room(grid.total())?, terms);
        for (matrix, product) in products.iter().enumerate() {
            for (i, k) in product.results() {
                let (mut longest, mut terms, mut sum) = (0, 0, 0u64);
                for (x, y) in product.terms(i, k) {
                    let (m, n) = (a.length(x), b.length(y));
                    longest = longest.max(model.length(m, n));
                    terms += u64::from(m > 0 && n > 0);
                    sum = sum.saturating_add(m as u64 * n as u64);
                }
                offsets
                    .push(longest)
                    .map_err(|error| named(error, matrix))?;
                let length = longest.next_power_of_two().max(SHORTEST);
                let direct = !transforms || sum <= (DIRECT * length).saturating_mul(terms);
                if direct {
                    lengths.push(0);
                    work = work.saturating_add(match model {
                        Model::Convolution => sum,
                        Model::Kronecker => longest.saturating_mul(product.inner as u64),
                    });
                    continue;
                }
                if room.is_some() && !spectral::reaches(length) {
                    return Err(Error::too_large(
                        "the transform",
                        4 * length,
                        4 * spectral::LONGEST,
                    )
                    .at(matrix));
                }
                // Results above 2³¹, which only the CPU could transform, are computed by the definition.
                lengths.push(u32::try_from(length).unwrap_or(0));
            }
        }
        let entries = Layout::from_offsets(offsets.finish());
        check_size(&entries, dtype, binding)?;
        Ok(Products {
            products,
            lengths,
            entries,
            grid,
            work,
        })
    }

    /// The dispatch of the results that are computed by the definition.
    fn direct(&self, model: Model, dtype: DType) -> Result<Option<Dispatch>> {
        let (mut list, mut offsets, mut total) = (Vec::new(), vec![0], 0);
        let begins = self.entries.offsets().as_slice();
        for product in &self.products {
            for (i, k) in product.results() {
                let result = product.result(i, k);
                let length = self.entries.length(result);
                if self.lengths[result] != 0 || length == 0 {
                    continue;
                }
                let (row, column) = (product.a + i * product.inner, product.b + k);
                host::reserve(&mut list, 8)?;
                list.extend([
                    begins[result],
                    row as u32,
                    column as u32,
                    product.inner as u32,
                ]);
                list.extend([product.columns as u32, 0, 0, 0]);
                total += length as u32;
                host::push(&mut offsets, total)?;
            }
        }
        let flags: &[&str] = match model {
            Model::Convolution => &[],
            Model::Kronecker => &["KRON"],
        };
        let elements = offsets.len() as u32 - 1;
        Ok((total > 0).then(|| {
            Dispatch::new(
                KERNEL.variant(dtype, flags),
                Slots {
                    a: Slot::Input(0),
                    a_meta: Slot::InputMeta(0),
                    b: Slot::Input(1),
                    b_meta: Slot::InputMeta(1),
                    c: Slot::Output(0),
                    c_meta: Slot::PlanBuffer(PlanBuffer::new(offsets)),
                    entries: Slot::PlanBuffer(PlanBuffer::new(list)),
                },
                Params {
                    total: Param::U32(total),
                    a_base: Param::InputBase(0),
                    b_base: Param::InputBase(1),
                    elements: Param::U32(elements),
                },
                (total as usize).div_ceil(TILE) as u32,
                self.work,
            )
        }))
    }
}
