//! Maps and functions of two operands that become chains.

use vsla::program::{Passes, Program};
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Result, Tensor, f16};

use super::edges::after;
use crate::support::bench;

/// The operands of each program: as many as a chain can have.
const INPUTS: usize = 5;

/// Random maps and functions of two operands. Some values are needed several times, some are outputs.
fn drawn<T: Float>(
    rng: &mut fastrand::Rng,
    inputs: &[Tensor<T>],
    of: fn(f32) -> T,
) -> Result<Vec<Tensor<T>>> {
    let mut values = inputs.to_vec();
    let mut outputs = Vec::new();
    if rng.bool() {
        // A chain of all operands.
        let first = inputs[0].sub(&inputs[1])?.hadamard(&inputs[2])?;
        let value = first.sub(&inputs[3])?.hadamard(&inputs[4].tanh()?)?;
        outputs.push(value.clone());
        values.push(value);
    }
    for _ in 0..rng.usize(1..40) {
        let last = values.len() - 1;
        let mut pick = || match rng.u32(..4) {
            0 => rng.usize(..=last),
            1 => rng.usize(..INPUTS),
            _ => last,
        };
        let (a, b) = (values[pick()].clone(), values[pick()].clone());
        let s = rng.f32() - 0.5;
        let value = match rng.u32(..20) {
            0 => a.add(&b),
            1 => a.sub(&b),
            2 => a.hadamard(&b),
            3 => a.div(&b),
            4 => a.maximum(&b),
            5 => a.scale(of(s)),
            6 => a.add_scalar(of(s)),
            7 => a.sub_from(of(s)),
            8 => a.leaky_relu(s),
            9 => a.relu(),
            10 => a.tanh(),
            11 => a.sigmoid(),
            12 => a.clamp(of(s), of(s + 0.7)),
            13 => a.neg(),
            14 => a.square(),
            15 => a.abs(),
            16 => a.minimum(&b),
            17 => a.powi(3),
            18 => a.sign(),
            _ => a.flip(&[0]),
        }?;
        if rng.u32(..8) == 0 {
            outputs.push(value.clone());
        }
        values.push(value);
    }
    outputs.extend(values.pop());
    Ok(outputs)
}

/// The first value that has other bits than expected, except that a NaN may be any NaN: GPUs do not say which one they
/// make.
fn difference<T: Float + Into<f32>>(got: &Tensor<T>, expected: &Tensor<T>) -> Option<String> {
    let [got, expected] = [got, expected].map(|tensor| tensor.download_blocking().unwrap());
    assert_eq!(got.layout(), expected.layout());
    let mut both = got.values().iter().zip(expected.values()).enumerate();
    both.find_map(|(i, (a, b))| {
        let (a, b): (f32, f32) = ((*a).into(), (*b).into());
        let alike = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        (!alike).then(|| format!("value {i} is {a:?}, expected {b:?}"))
    })
}

pub fn graphs(device: &Device) {
    graphs_of(device, 60, |x| x);
    graphs_of(device, 30, f16::from_f32);
}

fn graphs_of<T: Float + Into<f32>>(device: &Device, graphs: u64, of: fn(f32) -> T) {
    let layout = Layout::from_lengths([3, 0, 1000, 41]).unwrap();
    let mut fewer = 0;
    let graphs = graphs * if bench::is_software(device) { 1 } else { 5 };
    for seed in 0..graphs {
        // Views of larger batches, which begin anywhere.
        let input = |i: u64| {
            let batch = Ragged::random(&layout, INPUTS as u64 * seed + i).unwrap();
            let mut values: Vec<T> = batch.values().iter().map(|x| of(*x)).collect();
            values[7 * i as usize] = of(f32::NAN);
            let batch = Ragged::from_parts(layout.clone(), values).unwrap();
            after(device, &batch, ((seed + 3 * i) % 8) as usize)
        };
        let inputs: Vec<Tensor<T>> = (0..INPUTS as u64).map(input).collect();
        let expected = drawn(&mut fastrand::Rng::with_seed(seed), &inputs, of).unwrap();
        let dispatches = [true, false].map(|fuse| {
            let passes = Passes {
                fuse,
                ..Passes::default()
            };
            let program = Program::with_passes(device, passes, move |r| {
                let inputs: Result<Vec<Tensor<T>>> = (0..INPUTS).map(|_| r.input()).collect();
                for output in drawn(&mut fastrand::Rng::with_seed(seed), &inputs?, of)? {
                    r.output(&output)?;
                }
                Ok(())
            });
            let plan = program.plan(&[&layout; INPUTS]).unwrap();
            let inputs: Vec<_> = inputs.iter().map(|x| x as _).collect();
            let got = plan.run(&inputs).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                let (got, expected) = (got.get::<T>(i).unwrap(), expected);
                if let Some(what) = difference(&got, expected) {
                    panic!(
                        "output {i}, seed {seed}, fused: {fuse}: {what}\n{}",
                        plan.report()
                    );
                }
            }
            plan.report().dispatches
        });
        assert!(dispatches[0] <= dispatches[1], "{dispatches:?}");
        fewer += u64::from(dispatches[0] < dispatches[1]);
    }
    assert!(2 * fewer > graphs, "{fewer} of {graphs}");
}
