//! The launch of products of block-sparse matrices.

use super::{
    BsrMatmul, OP, Request, align, baseline, epilogue, extents, finish, matrix, ordered, rounded,
    twin,
};
use crate::ops::matmul::{Epilogue, Target, check_residual};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Dispatch, Kernel, Launch, Offset, Plan, Slot, check_size};
use crate::ragged::Layout;
use crate::{Error, Result, host};

impl Request<'_> {
    /// The slot for sums, and the dispatch that follows: the epilogue, or rounding alone.
    pub(super) fn sums(&self, scratch: &mut Vec<u64>) -> Result<(Slot, Option<Dispatch>)> {
        let (sums, round) = rounded(self.types.1, self.result.total(), scratch);
        let after = match self.form.epilogue == Epilogue::default() {
            true => round,
            false => Some(epilogue::dispatch(self, sums.clone())?),
        };
        Ok((sums, after))
    }
}

impl Operation for BsrMatmul {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[
        &baseline::MATMUL,
        &matrix::MATMUL,
        &align::KERNEL,
        &finish::FINISH,
        &epilogue::KERNEL,
    ];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let device = request.device;
        let BsrMatmul {
            form,
            ref topology,
            dtype,
            result: result_type,
            target,
        } = *self;
        let (sets, dense) = (inputs[0].len(), inputs[1]);
        let (bias, residual) = form.epilogue.inputs();
        let [bias, residual] = [bias, residual].map(|input| input.map(|i| inputs[i]));
        dense.check_rank(2)?;
        if sets != 1 && sets != dense.len() {
            let [left, right] = ordered(!form.dense_left, [sets, dense.len()]);
            return Err(Error::batch_sizes(left, right));
        }
        let mut products = host::room(dense.len())?;
        let mut offsets = Offset::new(dense.len())?;
        let mut shapes = host::room(2 * dense.len())?;
        for pair in 0..dense.len() {
            let product = extents(form, topology, pair, dense.shape(pair))?;
            let [rows, columns] = ordered(!form.dense_left, [product.m, product.n]);
            let size = u64::from(rows) * u64::from(columns);
            if size > u64::from(u32::MAX) {
                return Err(Error::size_overflow(format!(
                    "the product's {rows} x {columns} values"
                ))
                .at(pair));
            }
            offsets.push(size)?;
            shapes.extend([rows, columns]);
            products.push(product);
        }
        let result = Layout::unchecked(offsets.finish(), 2, shapes);
        check_size(&result, result_type, device.binding)?;
        epilogue::check(form, bias, &result)?;
        if let Some(residual) = residual {
            check_residual(residual, &result)?;
        }
        let request = Request {
            form,
            types: (dtype, result_type),
            topology,
            sets,
            dense,
            products: &products,
            result: &result,
            bias,
        };
        let gpu = match target {
            Target::Cpu => (Vec::new(), Vec::new()),
            Target::Baseline => baseline::dispatches(&request, false)?,
            Target::Native => baseline::dispatches(&request, true)?,
            Target::Matrix { matrices, quads } => matrix::dispatches(&request, matrices, quads)?,
        };
        let columns = products.iter().map(|p| u64::from(p.n)).sum::<u64>();
        let work = columns.saturating_mul(topology.set() as u64);
        let work = work.saturating_add(result.total() as u64);
        let twin = twin::matmul(form, (dtype, result_type), topology.clone());
        Ok(Launch::of(result_type, result, gpu, work, twin).into())
    }
}
