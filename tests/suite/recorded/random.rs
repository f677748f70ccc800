//! Random programs, recorded, on views that begin anywhere: the bits that the calls give.
//!
//! `VSLA_PROGRAMS=n` sets the number of random programs, here and of those with gradients.

use std::sync::Arc;

use catalogue::{Batch, Held, Operation};
use serde_json::{Map, Value};
use vsla::program::{Outputs, Passes, Plan, Program, Recording, Value as Input};
use vsla::{Device, Layout, Result, Tensor};

use crate::programs::{Program as Calls, same};
use crate::support::bench::{is_hurried, is_software};
use crate::support::corpus::rng;

/// The most operations of a program, and bytes that are enough for them.
const STEPS: usize = 24;
const BYTES: usize = 150;

/// A random program that has run.
pub struct Case {
    pub bytes: Vec<u8>,
    pub calls: Calls,
    /// The drawn batches that are inputs; others are constants.
    inputs: Vec<usize>,
    /// The values that are outputs.
    outputs: Vec<usize>,
}

impl Case {
    pub fn new(device: &Device, rng: &mut fastrand::Rng) -> Case {
        let bytes: Vec<u8> = (0..rng.usize(20..BYTES)).map(|_| rng.u8(..)).collect();
        // Strict calls read values, too.
        let is_recordable = |row: &Operation, options: &Map<String, Value>| {
            !row.reads_values && options.get("strict") != Some(&true.into())
        };
        let calls = Calls::new(&bytes, STEPS, device, is_recordable);
        let few = rng.usize(1..=5);
        let last = calls.batches.len() - 1;
        let outputs: Vec<usize> = (0..few).map(|_| rng.usize(..=last)).collect();
        let given = calls.given.iter().copied();
        Case {
            inputs: given.filter(|_| rng.u8(..4) > 0).collect(),
            outputs: [outputs, vec![last]].concat(),
            bytes,
            calls,
        }
    }

    /// Records the calls.
    fn record(&self, r: &mut Recording, constants: &[Held]) -> Result<()> {
        let mut constants = constants.iter();
        let device = r.device().clone();
        let given = |at: usize, batch: &Batch| match self.inputs.contains(&at) {
            true => Held::input(batch.dtype(), r),
            false => Ok(constants.next().unwrap().clone()),
        };
        let values = self.calls.replay(&device, given)?;
        { self.outputs.iter() }.try_for_each(|&at| catalogue::output(r, &values[at]))
    }

    /// The drawn batches that are inputs, or those that are constants: views into larger batches.
    fn given(&self, device: &Device, inputs: bool, rng: &mut fastrand::Rng) -> Vec<Held> {
        let given = self.calls.given.iter();
        given
            .filter(|at| self.inputs.contains(at) == inputs)
            .map(|&at| self.calls.batches[at].on_view(device, rng.usize(0..6)))
            .collect::<Result<_>>()
            .unwrap()
    }

    fn layouts(&self) -> Vec<&Layout> {
        let inputs = self.inputs.iter();
        inputs.map(|&at| self.calls.batches[at].layout()).collect()
    }

    fn check(&self, outputs: &Outputs, plan: &Plan) {
        for (i, &at) in self.outputs.iter().enumerate() {
            let expected = &self.calls.batches[at];
            let got = Held::output(expected.dtype(), outputs, i).and_then(Held::download_blocking);
            let got = got.unwrap();
            assert!(
                same(&got, expected),
                "output {i}, value {at} differs, the bytes {:?}: {:#?}\n{}",
                self.bytes,
                self.calls.steps,
                plan.report()
            );
        }
    }
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
    let constants: Vec<Vec<Held>> = cases
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
        let mut inputs: Vec<Held> = vec![chosen(*at).into()];
        inputs.extend(cases[*at].given(device, true, rng));
        let inputs: Vec<&dyn Input> = inputs.iter().filter_map(Held::value).collect();
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
