//! Maps and functions of two operands that become chains.

use vsla::program::{Passes, Program};
use vsla::{Device, Layout, Ragged, Tensor};

use crate::support::bench;

/// Random maps and functions of two operands. Some values are needed several times, some are outputs.
fn drawn(rng: &mut fastrand::Rng, inputs: &[Tensor<f32>]) -> vsla::Result<Vec<Tensor<f32>>> {
    let mut values = inputs.to_vec();
    let mut outputs = Vec::new();
    for _ in 0..rng.usize(1..40) {
        let last = values.len() - 1;
        let mut pick = || match rng.u32(..3) {
            0 => rng.usize(..=last),
            _ => last,
        };
        let (a, b) = (values[pick()].clone(), values[pick()].clone());
        let s = rng.f32() - 0.5;
        let value = match rng.u32(..14) {
            0 => a.add(&b),
            1 => a.sub(&b),
            2 => a.hadamard(&b),
            3 => a.div(&b),
            4 => a.maximum(&b),
            5 => a.scale(s),
            6 => a.add_scalar(s),
            7 => a.relu(),
            8 => a.tanh(),
            9 => a.sigmoid(),
            10 => a.clamp(s, s + 0.7),
            11 => a.neg(),
            12 => a.square(),
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

/// Whether all values have the same bits, except that a NaN may be any NaN: GPUs do not say which one they make.
fn same(got: &Tensor<f32>, expected: &Tensor<f32>) -> bool {
    let [got, expected] = [got, expected].map(|tensor| tensor.download_blocking().unwrap());
    let alike = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    got.layout() == expected.layout() && got.values().iter().zip(expected.values()).all(alike)
}

pub fn graphs(device: &Device) {
    let layout = Layout::from_lengths([3, 0, 1000, 41]).unwrap();
    let mut fewer = 0;
    for seed in 0..if bench::is_software(device) { 60 } else { 300 } {
        let inputs: Vec<Tensor<f32>> = (0..2)
            .map(|i| {
                device
                    .upload(&Ragged::random(&layout, 2 * seed + i).unwrap())
                    .unwrap()
            })
            .collect();
        let expected = drawn(&mut fastrand::Rng::with_seed(seed), &inputs).unwrap();
        let dispatches = [true, false].map(|fuse| {
            let passes = Passes {
                fuse,
                ..Passes::default()
            };
            let program = Program::with_passes(device, passes, move |r| {
                let inputs = [r.input()?, r.input()?];
                for output in drawn(&mut fastrand::Rng::with_seed(seed), &inputs)? {
                    r.output(&output)?;
                }
                Ok(())
            });
            let plan = program.plan(&[&layout, &layout]).unwrap();
            let got = plan.run(&[&inputs[0], &inputs[1]]).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                let (got, expected) = (got.get::<f32>(i).unwrap(), expected);
                assert!(
                    same(&got, expected),
                    "output {i}, seed {seed}, fused: {fuse}\n{}",
                    plan.report()
                );
            }
            plan.report().dispatches
        });
        assert!(dispatches[0] <= dispatches[1], "{dispatches:?}");
        fewer += u32::from(dispatches[0] < dispatches[1]);
    }
    assert!(fewer > 30, "{fewer}");
}
