//! Selected blocks of products of dense matrices.

use std::sync::Arc;

use super::{Sample, baseline, matrix, ordered, twin};
use crate::error::Named;
use crate::ops::matmul::{self, Target};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Kernel, Launch, Plan, PlanBuffer, check_size};
use crate::ragged::{DType, Layout, Topology};
use crate::{Error, Result, host};

/// The products in the format of the baseline's kernel.
fn words(products: &[Sample]) -> Result<Arc<PlanBuffer>> {
    let mut words = host::room(products.len() * 12)?;
    for product in products {
        words.extend(product.begins);
        words.push(product.inner);
        let [a, b] = product.strides;
        words.extend(b);
        words.extend(a);
        words.extend([0; 4]);
    }
    Ok(PlanBuffer::new(words))
}

/// Selected blocks of products, with types as in [`BsrMatmul`](super::BsrMatmul).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sampled {
    pub topology: Topology,
    /// Whether each operand holds the transposes of the factors.
    pub transposed: [bool; 2],
    pub dtype: DType,
    pub result: DType,
    pub target: Target,
}

impl Operation for Sampled {
    const NAME: &str = "sampled";
    const KERNELS: &[&Kernel] = &[&baseline::SAMPLED, &matrix::SAMPLED];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let device = request.device;
        let Sampled {
            ref topology,
            transposed,
            dtype,
            result: result_type,
            target,
        } = *self;
        a.check_rank(2)?;
        b.check_rank(2)?;
        let result = topology.values_layout(pairs.len()).unnamed()?;
        check_size(&result, result_type, device.binding)?;
        let [m, n] = topology.shape().map(|side| side as u32);
        let mut products = host::room(pairs.len())?;
        let mut cost = 0u64;
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let sides = [(a, i, 0), (b, j, 1)].map(|(layout, element, side)| {
                let shape = layout.shape(element);
                let [rows, columns] = [shape.extents()[0], shape.extents()[1]];
                let strides = ordered(!transposed[side], [columns, 1]);
                (ordered(!transposed[side], [rows, columns]), strides, shape)
            });
            let [
                ([rows, left], a_strides, a_shape),
                ([right, columns], b_strides, b_shape),
            ] = sides;
            if !matmul::meet([rows, left], [right, columns]) {
                return Err(Error::inner_extents(
                    pair,
                    left as usize,
                    right as usize,
                    matmul::fits(transposed, [rows, left], [right, columns]),
                ));
            }
            for (wrong, element, extents, shape, transposed) in [
                (
                    rows != m && a_shape.extents() != [0, 0],
                    i,
                    [m, left],
                    a_shape,
                    transposed[0],
                ),
                (
                    columns != n && b_shape.extents() != [0, 0],
                    j,
                    [right, n],
                    b_shape,
                    transposed[1],
                ),
            ] {
                if wrong {
                    let [rows, columns] = ordered(!transposed, extents);
                    return Err(Error::shape(element, format!("({rows}, {columns})"), shape));
                }
            }
            let begin = |layout: &Layout, i: usize| layout.offsets().as_slice()[i];
            products.push(Sample {
                begins: [begin(a, i), begin(b, j), begin(&result, pair)],
                inner: left.min(right),
                strides: [a_strides, b_strides],
                stored: [a_shape, b_shape].map(|shape| [shape.extents()[0], shape.extents()[1]]),
            });
            let values = topology.set() as u64;
            cost = cost.saturating_add(values.saturating_mul(left.max(1).into()));
        }
        let types = (dtype, result_type);
        let gpu = match target {
            Target::Cpu => (Vec::new(), Vec::new()),
            Target::Baseline | Target::Native => {
                let list = words(&products)?;
                baseline::sampled(types, topology, pairs.len(), list, cost)?
            }
            Target::Matrix { matrices, quads } => {
                let how = (matrices, quads);
                matrix::sampled(types, topology, transposed, how, &products, cost)?
            }
        };
        let twin = twin::sampled(transposed, (dtype, result_type), topology.clone());
        Ok(Launch::of(result_type, result, gpu, cost, twin)
            .with_pairs(pairs)
            .into())
    }
}
