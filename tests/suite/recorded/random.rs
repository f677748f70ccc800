//! Random programs, recorded, on views that begin anywhere: the bits that the calls give.
//!
//! `VSLA_PROGRAMS=n` sets the number of random programs, here and of those with gradients.

use std::sync::Arc;

use vsla::program::{Outputs, Passes, Plan, Program, Recording, Value as Input};
use vsla::{Device, Error, Layout, Result, Tensor};

use super::edges::after;
use crate::programs::{Batch, Kind, Step, Value, execute};
use crate::support::bench::{is_hurried, is_software};
use crate::support::corpus::rng;

/// The same expression for a batch of each type.
macro_rules! each {
    ($enum:ident, $value:expr, $x:ident => $body:expr) => {
        match $value {
            $enum::F32($x) => $body,
            $enum::I32($x) => $body,
            $enum::U32($x) => $body,
            $enum::F16($x) => $body,
            $enum::C32($x) => $body,
        }
    };
}

/// The most operations of a program, and bytes that are enough for them.
pub const STEPS: usize = 24;
const BYTES: usize = 500;

/// A random program, with its operands and the results of its calls.
pub struct Case {
    pub bytes: Vec<u8>,
    /// What becomes of each operand: an input, or a constant.
    inputs: Vec<bool>,
    pub operands: Vec<Batch>,
    values: Vec<Batch>,
    /// The error of each step, if any.
    errors: Vec<Option<Error>>,
    /// The values that are outputs.
    outputs: Vec<usize>,
}

/// Operations that read values.
pub fn is_recordable(name: &str) -> bool {
    let reading = [
        "Shrink",
        "Degree",
        "Equivalent",
        "Regions",
        "Trim",
        "Crop",
        "Palette",
        "Compact",
    ];
    !reading.contains(&name)
}

impl Case {
    pub fn new(device: &Device, rng: &mut fastrand::Rng) -> Case {
        let bytes: Vec<u8> = (0..rng.usize(20..BYTES)).map(|_| rng.u8(..)).collect();
        let mut operands = Vec::new();
        let uploaded = |batch: Batch| {
            let value = batch.upload(device);
            operands.push(batch);
            value
        };
        let (steps, values) = execute(&bytes, STEPS, device, uploaded, is_recordable).unwrap();
        let values: Vec<Batch> = values
            .iter()
            .map(|value| value.download().unwrap())
            .collect();
        let few = rng.usize(1..=5);
        let outputs: Vec<usize> = (0..few).map(|_| rng.usize(0..values.len())).collect();
        Case {
            inputs: operands.iter().map(|_| rng.u8(..4) > 0).collect(),
            outputs: [outputs, vec![values.len() - 1]].concat(),
            errors: steps.iter().map(Step::error).collect(),
            bytes,
            operands,
            values,
        }
    }

    /// Records the calls.
    fn record(&self, r: &mut Recording, constants: &[Value]) -> Result<()> {
        let mut constants = constants.iter();
        let mut inputs = self.inputs.iter();
        let device = r.device().clone();
        let given = |batch: Batch| match inputs.next() {
            Some(true) => Ok(match batch {
                Batch::F32(_) => Value::F32(r.input()?),
                Batch::I32(_) => Value::I32(r.input()?),
                Batch::U32(_) => Value::U32(r.input()?),
                Batch::F16(_) => Value::F16(r.input()?),
                Batch::C32(_) => Value::C32(r.input()?),
            }),
            _ => Ok(constants.next().unwrap().clone()),
        };
        let (steps, values) = execute(&self.bytes, STEPS, &device, given, is_recordable)?;
        let errors: Vec<Option<Error>> = steps.iter().map(Step::error).collect();
        assert_eq!(errors, self.errors, "the bytes {:?}", self.bytes);
        for &output in &self.outputs {
            each!(Value, &values[output], x => r.output(x)?);
        }
        Ok(())
    }

    /// The operands that are inputs, or those that are constants: views into larger batches.
    fn given(&self, device: &Device, inputs: bool, rng: &mut fastrand::Rng) -> Vec<Value> {
        let all = self.operands.iter().zip(&self.inputs);
        all.filter(|(_, input)| **input == inputs)
            .map(|(batch, _)| each!(Batch, batch, x => after(device, x, rng.usize(0..6)).into()))
            .collect()
    }

    fn layouts(&self) -> Vec<&Layout> {
        let all = self.operands.iter().zip(&self.inputs);
        all.filter(|(_, input)| **input)
            .map(|(batch, _)| batch.layout())
            .collect()
    }

    fn check(&self, outputs: &Outputs, plan: &Plan) {
        for (i, &at) in self.outputs.iter().enumerate() {
            let expected = &self.values[at];
            let value = match expected.kind() {
                Kind::F32 => outputs.get(i).map(Value::F32),
                Kind::I32 => outputs.get(i).map(Value::I32),
                Kind::U32 => outputs.get(i).map(Value::U32),
                Kind::F16 => outputs.get(i).map(Value::F16),
                Kind::C32 => outputs.get(i).map(Value::C32),
            };
            let got = value.and_then(|value| value.download()).unwrap();
            assert!(
                got.same(expected),
                "output {i}, value {at} differs, the bytes {:?}\n{}",
                self.bytes,
                plan.report()
            );
        }
    }
}

/// The value as an input of a run.
pub fn input(value: &Value) -> &dyn Input {
    each!(Value, value, x => x as &dyn Input)
}

/// How many random programs a trial runs, unless `VSLA_PROGRAMS` says otherwise.
pub fn count(default: usize) -> usize {
    match std::env::var("VSLA_PROGRAMS") {
        Ok(number) => number.parse().expect("VSLA_PROGRAMS must be a number"),
        Err(_) => default,
    }
}

/// Programs that share a frame: the number of elements of the first input chooses one.
pub fn programs(device: &Device) {
    let (all, each) = match (is_hurried(device), is_software(device)) {
        (true, _) => (24, 6),
        (false, true) => (60, 15),
        (false, false) => (1000, 25),
    };
    let all = count(all);
    let mut rng = rng("recorded::random");
    for frame in 0..usize::div_ceil(all, each) {
        let passes = match frame % 4 {
            0 => Passes::none(),
            1 => Passes {
                merge_equal: true,
                ..Passes::none()
            },
            _ => Passes::default(),
        };
        share_a_frame(device, each, passes, &mut rng);
    }
}

fn share_a_frame(device: &Device, programs: usize, passes: Passes, rng: &mut fastrand::Rng) {
    let cases: Vec<Case> = (0..programs).map(|_| Case::new(device, rng)).collect();
    let constants: Vec<Vec<Value>> = cases
        .iter()
        .map(|case| case.given(device, false, rng))
        .collect();
    let cases = Arc::new(cases);
    let body = {
        let cases = cases.clone();
        move |r: &mut Recording| {
            let which: Tensor<u32> = r.input()?;
            let which = which.len();
            cases[which].record(r, &constants[which])
        }
    };
    let program = Program::with_passes(device, passes, body);
    let chosen = |case: usize| {
        let layout = Layout::from_lengths(vec![0; case]).unwrap();
        device.full(&layout, 0u32).unwrap()
    };
    let check = |(at, plan): &(usize, Plan), rng: &mut fastrand::Rng| {
        let mut inputs: Vec<Value> = vec![chosen(*at).into()];
        inputs.extend(cases[*at].given(device, true, rng));
        let inputs: Vec<&dyn Input> = inputs.iter().map(input).collect();
        // The second run must leave the results of the first alone.
        let outputs = [(); 2].map(|()| plan.run(&inputs).unwrap());
        for outputs in &outputs {
            cases[*at].check(outputs, plan);
        }
    };
    let mut plans: Vec<(usize, Plan)> = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let number = chosen(at);
        let mut layouts = vec![number.layout()];
        layouts.extend(case.layouts());
        let plan = program.plan(&layouts);
        plans.push((at, plan.unwrap_or_else(|e| panic!("{e}: {:?}", case.bytes))));
        check(&plans[rng.usize(0..plans.len())], rng);
    }
    rng.shuffle(&mut plans);
    for plan in &plans {
        check(plan, rng);
    }
}
