//! Laws of the algebra: which operations respect equivalence, and how products distribute over sums.
//! Batches have ranks 1 to 3. Laws of a single operation are tested with that operation.

mod classes;
mod depending;
mod operands;
mod rings;

use libtest_mimic::Trial;
use vsla::{Device, Ragged, Result, Tensor, scalar::Scalar};

use crate::support::bench::Bench;
use crate::support::operation::run;

pub use classes::{goes_by_shape, sides_of};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = classes::tests(bench);
    trials.extend(rings::tests(bench));
    trials
}

/// An operation on batches of integers; operations on one batch ignore the second.
type Run = fn(&Device, &Ragged<i32>, &Ragged<i32>) -> Ragged<f64>;

/// Runs an operation on integers, which wrap.
fn integers<R: Scalar + Into<f64>>(
    device: &Device,
    a: &Ragged<i32>,
    b: &Ragged<i32>,
    op: impl Fn(&Tensor<i32>, &Tensor<i32>) -> Result<Tensor<R>>,
) -> Ragged<f64> {
    run(device, a, b, op).cast(Into::into).unwrap()
}

/// Runs an operation on floats that are small integers, so that only divisions and roots are rounded.
fn floats<R: Scalar + Into<f64>>(
    device: &Device,
    a: &Ragged<i32>,
    b: &Ragged<i32>,
    op: impl Fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<R>>,
) -> Ragged<f64> {
    let few = |batch: &Ragged<i32>| batch.cast(|value| (value % 10) as f32).unwrap();
    run(device, &few(a), &few(b), op).cast(Into::into).unwrap()
}
