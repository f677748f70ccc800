//! The blocks of products of dense matrices.

use std::sync::Arc;

use super::{baseline, matrix, ordered, rank_2, twin};
use crate::ops::matmul::{self, Site, Target};
use crate::plan::{Launch, Output, OutputLayout, Words, check_size};
use crate::ragged::{CacheKey, DType, Layout, Pairs, Topology};
use crate::{Error, Result, host};

/// One product.
pub(super) struct Sample {
    /// Where a, b and c begin.
    pub begins: [u32; 3],
    pub inner: u32,
    /// Row and column strides of a and b.
    pub strides: [[u32; 2]; 2],
    /// Rows and columns of a and b as they are stored.
    pub stored: [[u32; 2]; 2],
}

/// The products as the baseline's kernel reads them.
fn words(op: &'static str, products: &[Sample]) -> Result<Arc<Words>> {
    let mut words = host::room(op, products.len() * 12)?;
    for product in products {
        words.extend(product.begins);
        words.push(product.inner);
        let [a, b] = product.strides;
        words.extend(b);
        words.extend(a);
        words.extend([0; 4]);
    }
    Ok(Words::new(words))
}

/// The launch of the blocks of `a b` for each pair, of types as in [`matmul`].
pub(crate) fn sampled(
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    transposed: [bool; 2],
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    Site { target, binding }: Site,
) -> Result<Arc<Launch>> {
    let op = "sampled";
    rank_2(op, a)?;
    rank_2(op, b)?;
    let key = CacheKey {
        what: "bsr sampled",
        other: b.id(),
        device: topology.id() << 8
            | u64::from(transposed[0])
            | u64::from(transposed[1]) << 1
            | u64::from(result_type == dtype) << 2
            | target.key() << 3,
        extra: pairs.key() * 16 + dtype as u64,
    };
    a.cached(key, || {
        let result = topology
            .values_layout(pairs.len())
            .map_err(|error| error.named(op))?;
        check_size(op, &result, result_type, binding)?;
        let [m, n] = topology.shape().map(|side| side as u32);
        let mut products = host::room(op, pairs.len())?;
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
            if left != right {
                return Err(Error::InnerExtents {
                    op,
                    pair,
                    left: left as usize,
                    right: right as usize,
                    fits: matmul::fits(transposed, [rows, left], [right, columns]),
                });
            }
            for (wrong, element, extents, shape, turned) in [
                (rows != m, i, [m, left], a_shape, transposed[0]),
                (columns != n, j, [right, n], b_shape, transposed[1]),
            ] {
                if wrong {
                    let [rows, columns] = ordered(!turned, extents);
                    return Err(Error::Shape {
                        op,
                        element,
                        expected: format!("({rows}, {columns})"),
                        got: shape.to_string(),
                    });
                }
            }
            let begin = |layout: &Layout, i: usize| layout.offsets().as_slice()[i];
            products.push(Sample {
                begins: [begin(a, i), begin(b, j), begin(&result, pair)],
                inner: left,
                strides: [a_strides, b_strides],
                stored: [a_shape, b_shape].map(|shape| [shape.extents()[0], shape.extents()[1]]),
            });
            let values = topology.set() as u64;
            cost = cost.saturating_add(values.saturating_mul(left.max(1).into()));
        }
        let types = (dtype, result_type);
        let (stages, temps) = match target {
            Target::Cpu => (Vec::new(), Vec::new()),
            Target::Baseline | Target::Native => {
                let list = words(op, &products)?;
                baseline::sampled(types, topology, pairs.len(), list, cost)?
            }
            Target::Matrix { matrices, quads } => {
                let how = (matrices, quads);
                matrix::sampled(types, topology, transposed, how, &products, cost)?
            }
        };
        Ok(Arc::new(Launch {
            op,
            stages,
            temps,
            work: cost,
            outputs: vec![Output::new(result_type, OutputLayout::New(result))],
            pairs: Some(pairs.clone()),
            twin: twin::sampled(transposed, (dtype, result_type), topology.clone()),
        }))
    })
}
