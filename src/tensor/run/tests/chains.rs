//! Chains give the bits of their operations one after another, on the same device.

use std::iter::repeat_with;

use half::f16;

use super::super::Call;
use super::devices;
use crate::error::Named;
use crate::ops::Op;
use crate::ops::ambient::Combine;
use crate::ops::chain::{Chain, Code, INPUTS, INSTRUCTIONS, Instruction, WORDS};
use crate::ops::limits::launched;
use crate::ops::linear::{Kind, Linear};
use crate::ops::maps::Apply;
use crate::plan::{Chosen, Dispatch};
use crate::ragged::{DType, Float, Layout, Pairs};
use crate::{Device, Ragged, Tensor};

trait Value: Float {
    fn of_bits(bits: u32) -> Self;
    fn of(x: f32) -> Self;
    fn bits(self) -> u32;
    fn is_no_number(self) -> bool;
}

impl Value for f32 {
    fn of_bits(bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    fn of(x: f32) -> f32 {
        x
    }

    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn is_no_number(self) -> bool {
        self.is_nan()
    }
}

impl Value for f16 {
    fn of_bits(bits: u32) -> f16 {
        f16::from_bits(bits as u16)
    }

    fn of(x: f32) -> f16 {
        f16::from_f32(x)
    }

    fn bits(self) -> u32 {
        self.to_bits().into()
    }

    fn is_no_number(self) -> bool {
        self.is_nan()
    }
}

/// The operation that an instruction of this function stands for.
fn operation(code: Code, dtype: DType) -> Op {
    let name = code.name();
    let map = |kind| Linear { kind, dtype };
    let op: Op = match name {
        "copy" => map(Kind::Copy).into(),
        "neg" => map(Kind::Neg).into(),
        "scale" => map(Kind::Scale).into(),
        _ if code.operands() == 1 => Apply { name, dtype }.into(),
        _ => Combine { name, dtype }.into(),
    };
    assert_eq!(op.code(), Some((code, dtype)));
    op
}

/// Runs an operation on whole tensors of one layout.
fn run<T: Value>(op: Op, operands: &[&Tensor<T>], scalars: &[u32]) -> Vec<Tensor<T>> {
    let device = &operands[0].device;
    let layout = operands[0].layout();
    let pairs = Pairs::elementwise(layout, layout).named("test").unwrap();
    let is_chain = matches!(op, Op::Chain(_));
    let operands: Vec<_> = operands.iter().map(|x| x.operand()).collect();
    let call = Call {
        scalars,
        pairs: (operands.len() == 2 && !is_chain).then_some(&pairs),
        ..Call::new(device, op, &operands)
    };
    let values = call.values(&[]).unwrap().0.into_iter();
    values.map(|value| value.typed(device)).collect()
}

/// A chain in which `code` occurs, its number of operands, instructions and results, and the scalars of its call.
struct Case {
    inputs: usize,
    instructions: Vec<(Code, Vec<usize>, Vec<usize>)>,
    outputs: Vec<usize>,
    scalars: Vec<u32>,
}

impl Case {
    /// With `is_last`, `code` is the last function; otherwise any of them.
    fn random(rng: &mut fastrand::Rng, code: Code, is_last: bool) -> Case {
        let all: Vec<Code> = Code::all().collect();
        // How far back operands are, which determines how many registers are needed.
        let reach = rng.usize(1..=4);
        let inputs = rng.usize(1..=(2 * reach - 1).min(INPUTS));
        let n = rng.usize(1..=INSTRUCTIONS);
        let place = if is_last { n - 1 } else { rng.usize(..n) };
        let room = WORDS - inputs;
        let mut scalars: Vec<u32> = Vec::new();
        let instructions = (0..n).map(|i| {
            let code = match i == place {
                true => code,
                false => *rng.choice(&all).unwrap(),
            };
            let mut value = || (inputs + i).saturating_sub(rng.usize(1..=reach));
            let values: Vec<usize> = (0..code.operands()).map(|_| value()).collect();
            (code, values)
        });
        let instructions: Vec<_> = instructions.collect();
        let instructions = instructions.into_iter().map(|(code, values)| {
            let own: Vec<f32> = match code.name() {
                "clamp" | "clamp_slope" => vec![-rng.f32(), rng.f32() * 3.0],
                "powi" => vec![rng.i32(-8..=8) as f32],
                _ => (0..code.scalars()).map(|_| rng.f32() * 4.0 - 2.0).collect(),
            };
            // If there is no room for more scalars, instructions share those of others.
            let places = own.iter().map(|s| {
                if scalars.len() < room {
                    scalars.push(s.to_bits());
                    scalars.len() - 1
                } else {
                    rng.usize(..room)
                }
            });
            let places = places.collect();
            (code, values, places)
        });
        let instructions: Vec<_> = instructions.collect();
        let last = inputs + n - 1;
        let mut outputs = vec![last];
        if n > 1 && reach > 1 && rng.bool() {
            outputs.insert(rng.usize(..2), rng.usize(inputs..last));
        }
        Case {
            inputs,
            instructions,
            outputs,
            scalars,
        }
    }

    fn chain(&self, dtype: DType) -> Option<Chain> {
        let instructions = self.instructions.iter();
        let instructions =
            instructions.map(|(code, values, scalars)| Instruction::new(*code, values, scalars));
        Chain::new(
            dtype,
            self.inputs,
            instructions.collect(),
            self.outputs.clone(),
        )
    }

    /// The kernel that it runs on a GPU.
    fn kernel(&self, dtype: DType) -> Option<(&'static str, usize)> {
        let layout = Layout::from_lengths([1]).unwrap();
        let launch = launched(self.chain(dtype)?, &vec![&layout; self.inputs]);
        let Dispatch {
            kernel,
            variant: Chosen::Listed(variant),
            ..
        } = launch.unwrap().dispatches.remove(0)
        else {
            unreachable!("chains have listed kernels");
        };
        Some((kernel.shader.stem, variant % (kernel.listed().count() / 2)))
    }

    /// The results of the operations one after another.
    fn apart<T: Value>(&self, x: &[&Tensor<T>]) -> Vec<Tensor<T>> {
        let mut values: Vec<Tensor<T>> = x.iter().copied().cloned().collect();
        for (code, operands, scalars) in &self.instructions {
            let operands: Vec<_> = operands.iter().map(|&value| &values[value]).collect();
            let mut own = [0; 2];
            for (own, &scalar) in own.iter_mut().zip(scalars) {
                *own = self.scalars[scalar];
            }
            let mut results = run(operation(*code, T::DTYPE), &operands, &own);
            values.push(results.remove(0));
        }
        self.outputs
            .iter()
            .map(|&value| values[value].clone())
            .collect()
    }
}

/// Random values of all magnitudes, and some special ones.
fn values<T: Value>(rng: &mut fastrand::Rng, n: usize) -> Vec<T> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
        1e-42,
        -6e-8,
        65504.0,
    ];
    let value = || match rng.u32(..16) {
        0 => T::of(*rng.choice(&special).unwrap()),
        1 => T::of_bits(rng.u32(..)),
        2 => T::of((rng.f32() - 0.5) * 200.0),
        _ => T::of((rng.f32() - 0.5) * 6.0),
    };
    repeat_with(value).take(n).collect()
}

/// A tensor of one element that begins at a random position of its buffer.
fn placed<T: Value>(device: &Device, rng: &mut fastrand::Rng, values: &[T]) -> Tensor<T> {
    let before = vec![T::of(7.0); rng.usize(..9)];
    let rows = [&before[..], values, &[T::of(9.0)]];
    let x = device.upload(&Ragged::from_rows(rows).unwrap()).unwrap();
    x.elements(1..2).unwrap()
}

const SIZES: [usize; 10] = [2049, 0, 4099, 1, 2047, 3, 100_000, 4, 2048, 5];

/// The kernels of chains, as stems and numbers of variants of each type.
const KERNELS: [(&str, usize); 4] = [("chain", 0), ("chain", 1), ("chain", 2), ("chain_two", 0)];

/// Compares a chain with its operations.
fn check<T: Value>(device: &Device, (case, size): (&Case, usize), rng: &mut fastrand::Rng) {
    let chain = case.chain(T::DTYPE).unwrap();
    let host: Vec<Vec<T>> = (0..case.inputs).map(|_| values(rng, size)).collect();
    let x: Vec<_> = host.iter().map(|x| placed(device, rng, x)).collect();
    let x: Vec<&Tensor<T>> = x.iter().collect();
    let scalars = &case.scalars[..chain.scalars()];
    let together = run(chain.clone().into(), &x, scalars);
    let apart = case.apart(&x);
    assert_eq!(together.len(), apart.len());
    for (result, (together, apart)) in together.iter().zip(&apart).enumerate() {
        let [together, apart] = [together, apart].map(|y| y.download_blocking().unwrap());
        for (i, (&got, &expected)) in together.values().iter().zip(apart.values()).enumerate() {
            // The bits of a NaN depend on the order that a compiler gives operands.
            let none = got.is_no_number() && expected.is_no_number();
            assert!(
                none || got.bits() == expected.bits(),
                "{got} instead of {expected} at {i} of {size}, result {result} of {chain:?} with {:?} of {:?} on {}",
                scalars
                    .iter()
                    .map(|&s| f32::from_bits(s))
                    .collect::<Vec<_>>(),
                host.iter().map(|x| x[i]).collect::<Vec<_>>(),
                device.name(),
            );
        }
    }
}

fn random<T: Value>(seed: u64) {
    for device in devices().iter() {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut sizes = SIZES.iter().cycle();
        // Functions of two operands come more often, because kernels have a case for each order.
        let codes = Code::all().flat_map(|code| vec![code; 3 * code.operands() - 2]);
        for code in codes {
            for (kernel, is_last) in KERNELS.into_iter().zip([true, true, false, true]) {
                let mut cases = repeat_with(|| Case::random(&mut rng, code, is_last));
                let case = cases.find(|case| case.kernel(T::DTYPE) == Some(kernel));
                let size = *sizes.next().unwrap();
                check::<T>(device, (&case.unwrap(), size), &mut rng);
            }
        }
    }
}

#[apply(unit_test)]
fn chains_of_f32_give_the_bits_of_their_operations() {
    random::<f32>(1);
}

#[apply(unit_test)]
fn chains_of_f16_give_the_bits_of_their_operations() {
    random::<f16>(2);
}
