//! Kernels that only recorded programs run: chains, and what gradients need.

use vsla::program::{Passes, Program};
use vsla::{Result, Tensor, f16, scalar::Float};

use super::{Draw, Value};

/// Chains of one and two results on views of any base, and gradients of extremes and sorts.
pub fn programs(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 1, 2]), d.of(&[1, 2, 3, 7]));
    let layout = d.layout(rank, n);
    let (x, y) = (d.tensor::<f32>(&layout), d.tensor::<f32>(&layout));
    let ran = chains(d, &x, &y);
    d.ran("chains", ran);
    let (x16, y16) = (d.tensor::<f16>(&layout), d.tensor::<f16>(&layout));
    let ran = chains(d, &x16, &y16);
    d.ran("chains of f16", ran);
    let program = Program::new(d.device, |r| {
        let x: Tensor<f32> = r.input()?;
        let largest = x.max()?;
        let [slope] = r.gradients(&largest, [&x])?;
        r.output(&slope)?;
        let sorted = x.sort(0)?;
        let slopes = r.gradients_from(&[(&sorted, &x)], &[&x])?;
        // Takes values back by the same indices.
        let [again] = r.gradients(&slopes[0], [&x])?;
        r.output(&again)?;
        r.output(&slopes[0])
    });
    let ran = program.plan(&[&layout]).and_then(|plan| plan.run(&[&x]));
    d.ran("gradients", ran);
    let ran = losses(d, &x);
    d.ran("gradients of losses", ran);
    let ran = losses(d, &x16);
    d.ran("gradients of losses of f16", ran);
}

/// Targets are any numbers.
fn losses<T: Value + Float>(d: &Draw<'_>, x: &Tensor<T>) -> Result<()> {
    let program = Program::new(d.device, |r| {
        let x: Tensor<T> = r.input()?;
        let targets = match x.layout().rank() {
            1 => x.sum()?.to::<f32>()?.to::<u32>()?,
            rank => x.sum_axis(rank - 1)?.to::<f32>()?.to::<u32>()?,
        };
        let [slopes] = r.gradients(&x.cross_entropy(&targets)?.to()?, [&x])?;
        r.output(&slopes)
    });
    program.plan(&[x.layout()])?.run(&[x])?;
    Ok(())
}

fn chains<T: Value + Float>(d: &Draw<'_>, x: &Tensor<T>, y: &Tensor<T>) -> Result<()> {
    let program = Program::with_passes(d.device, Passes::default(), |r| {
        let (x, y): (Tensor<T>, Tensor<T>) = (r.input()?, r.input()?);
        r.output(&x.square()?.tanh()?.neg()?)?;
        r.output(&x.add(&y)?.relu()?.hadamard(&x)?)?;
        let mut sum = x.clone();
        for value in [x.exp()?, y.exp()?, x.sigmoid()?, y.square()?, x.neg()?] {
            sum = sum.maximum(&value)?;
        }
        r.output(&sum)?;
        // Both values of a chain.
        let inner = y.square()?.add(&x)?;
        r.output(&inner)?;
        r.output(&inner.tanh()?.sub(&y)?)
    });
    program.plan(&[x.layout(), y.layout()])?.run(&[x, y])?;
    Ok(())
}
