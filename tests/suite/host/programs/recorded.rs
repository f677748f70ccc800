//! A program that is recorded, planned and run.

use vsla::program::Program;
use vsla::{Device, Pairing, Ragged, Result, Tensor};

use super::values::*;

pub fn recorded(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    // Not inside a recording.
    if !reads() {
        return sum.value();
    }
    let (a, b) = (series(device, n, 0, &[])?, series(device, n, 3, &[])?);
    let constant = matrices(device, n, |i| [i % 3, 2])?;
    let program = Program::new(device, move |r| {
        let (a, b): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        let mean = a.add(&b)?.mean()?;
        r.output(&a.sub(mean.each())?.conv(&b)?)?;
        r.output(
            &constant
                .transpose(&[1, 0])?
                .add(&constant.transpose(&[1, 0])?)?,
        )?;
        r.output(&a.elements(1..2)?.pair(&b, Pairing::OneToAll)?.dot()?)?;
        r.output(&r.device().full(a.layout(), 2.0f32)?.sort_by_length()?.0)?;
        r.output(&b)
    });
    let plan = program.plan(&[a.layout(), b.layout()])?;
    let kept = plan.run(&[&a, &b])?;
    let (x, y) = (a.download_blocking()?, b.download_blocking()?);
    let called = plan.call_blocking(&[&x, &y])?;
    for i in 0..kept.len() {
        let both: [Ragged<f32>; 2] = [kept.get(i)?.download_blocking()?, called.get(i)?];
        both.iter().for_each(|batch| sum.host(batch));
    }
    // Other lengths, for which the arena grows.
    let (a, b) = (series(device, n, 1, &[])?, series(device, n, 4, &[300])?);
    let (a, b) = (a.elements(0..n)?, b.elements(1..n + 1)?);
    let larger = program.plan(&[a.layout(), b.layout()])?;
    sum.host(&larger.run(&[&a, &b])?.get::<f32>(0)?.download_blocking()?);
    sum.value()
}
