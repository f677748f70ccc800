//! Random programs of smooth operations, against differences along random directions.

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::conv::ConvMethod;
use vsla::{Device, Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::{Run, cotangents, floats, inner, moved, size, value};
use crate::recorded::random::count;
use crate::support::bench::{Bench, is_software};
use crate::support::corpus::rng;

pub(super) fn tests(bench: &Bench) -> Vec<Trial> {
    bench.on_each_device("programs", programs)
}

/// One operation on values made before, by their numbers from the last one back.
#[derive(Clone, Copy, Debug)]
struct Step {
    operation: usize,
    a: usize,
    b: usize,
    axis: usize,
}

fn programs(device: &Device) {
    let count = count(match (device.is_gpu(), is_software(device)) {
        (false, _) => 1000,
        (true, true) => 60,
        (true, false) => 300,
    });
    let mut random = rng("programs with gradients");
    let mut compared = 0;
    for number in 0..count {
        let steps: Vec<Step> = (0..random.usize(2..8))
            .map(|_| Step {
                operation: random.usize(..OPERATIONS),
                a: random.usize(..3),
                b: random.usize(..4),
                axis: random.usize(..2),
            })
            .collect();
        let elements = random.usize(1..4);
        let operands: Vec<Ragged<f32>> = (0..2)
            .map(|_| {
                let rank = random.usize(1..3);
                floats(
                    &layout(elements, rank, &mut random),
                    (-1.5, 1.5),
                    &mut random,
                )
            })
            .collect();
        compared += usize::from(one(device, number, steps, &operands, &mut random));
    }
    assert!(2 * compared > count, "{compared} of {count}");
}

fn layout(elements: usize, rank: usize, random: &mut fastrand::Rng) -> Layout {
    let shapes = (0..elements).map(|_| {
        let extents: Vec<usize> = (0..rank).map(|_| random.usize(..6)).collect();
        Shape::new(&extents).unwrap()
    });
    Layout::from_shapes(rank, shapes.collect::<Vec<_>>()).unwrap()
}

/// Checks one program. Whether its result depends on both operands.
fn one(
    device: &Device,
    number: usize,
    steps: Vec<Step>,
    operands: &[Ragged<f32>],
    random: &mut fastrand::Rng,
) -> bool {
    let text = format!("program {number}: {steps:?}");
    // Both operands are parts of the result, so that paths lead to them.
    let run: Run = Arc::new(move |x: &[Tensor<f32>]| {
        let mut made: Vec<Tensor<f32>> = x.to_vec();
        for step in &steps {
            let from_last = |back: usize| &made[made.len() - 1 - back.min(made.len() - 1)];
            let next = apply(*step, from_last(step.a), from_last(step.b))?;
            made.push(next);
        }
        let sums = [made.last(), made.first(), made.get(1)];
        let sums = sums.into_iter().flatten().map(|x| x.tanh()?.sum());
        let mut sums = sums.collect::<Result<Vec<_>>>()?;
        let last = sums.remove(0);
        last.add(&sums[0])?.add(&sums[1].scale(0.5)?)
    });
    let y = value(device, &run, operands);
    let seed = floats(y.layout(), (0.5, 1.5), random);
    let all = cotangents(device, &run, operands, &seed);
    for (i, cotangent) in all.iter().enumerate() {
        let direction = floats(operands[i].layout(), (-1.0, 1.0), random);
        let at = |t: f32| {
            let mut operands = operands.to_vec();
            operands[i] = moved(&operands[i], &direction, t);
            inner(&seed, &value(device, &run, &operands))
        };
        const STEP: f32 = 1.0 / 256.0;
        let expected = (at(STEP) - at(-STEP)) / f64::from(2.0 * STEP);
        let (got, scale) = (inner(cotangent, &direction), size(cotangent, &direction));
        assert!(
            (got - expected).abs() <= 1e-2 * scale + 5e-3,
            "{text}\noperand {i}: {got} but the difference is {expected}"
        );
    }
    operands.iter().all(|x| !x.values().is_empty())
}

const OPERATIONS: usize = 28;

fn apply(step: Step, a: &Tensor<f32>, b: &Tensor<f32>) -> Result<Tensor<f32>> {
    let rank = a.layout().rank();
    let axis = step.axis.min(rank - 1);
    let same_rank = rank == b.layout().rank();
    // Values stay small, so that differences are accurate.
    Ok(match step.operation {
        0 => a.tanh()?,
        1 => a.sin()?,
        2 => a.sigmoid()?,
        3 => a.gelu()?,
        4 => a.silu()?,
        5 => a.softplus()?.scale(0.5)?,
        6 => a.tanh()?.square()?,
        7 => a.softmax(axis)?,
        8 => a.log_softmax(axis)?.tanh()?,
        9 => a.layer_norm(axis, 0.5)?,
        10 => a.rms_norm(axis, 0.5)?,
        11 => a.tanh()?.cumsum(axis)?.scale(0.3)?,
        12 => a.flip(&[axis])?,
        13 => {
            let mut ranges = vec![(None, None, 1); rank];
            ranges[axis] = (Some(1), None, 2);
            a.strided_slice(&ranges)?
        }
        14 => a.pad(&vec![1; rank], &vec![1; rank])?,
        15 if rank == 2 => a.transpose(&[1, 0])?,
        16 if same_rank => a.add(b)?.scale(0.6)?,
        17 if same_rank => a.tanh()?.sub(&b.tanh()?)?,
        18 if same_rank => a.tanh()?.hadamard(&b.sin()?)?,
        19 if same_rank => a.concat(b, axis)?,
        20 if same_rank => a.resize(b.layout())?,
        21 if same_rank && rank == 2 => a.tanh()?.matmul_ambient(&b.tanh()?)?.scale(0.4)?,
        22 if same_rank => {
            let pair = a.pair(b, Pairing::Elementwise)?;
            pair.convolution()
                .method(ConvMethod::Direct)
                .conv()?
                .tanh()?
        }
        23 => a.sub(a.tanh()?.sum()?.scale(0.2)?.each())?,
        24 => a.hadamard(b.tanh()?.norm2()?.scale(0.3)?.each())?,
        25 if rank == 2 => {
            let rows = a.sum_axis(1 - axis)?.scale(0.3)?;
            a.add(rows.along(axis))?
        }
        26 => a.tanh()?.diff(axis)?,
        27 => a.div(&a.square()?.add_scalar(1.0)?)?,
        _ => a.tanh()?.scale(0.9)?,
    })
}
