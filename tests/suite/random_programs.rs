//! Random programs on each device: single elements compared with the batch, and the GPU compared with the CPU.
//!
//! `VSLA_PROGRAMS=n` sets the number of random programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use catalogue::{Batch, Operation};
use libtest_mimic::Trial;
use vsla::{Device, Ragged, scalar::Scalar};

#[cfg(feature = "gpu")]
use crate::programs::same;
use crate::programs::{Program, STEPS, check_against, check_alone, rows};
use crate::support::bench::{Bench, cpu, is_software};
#[cfg(feature = "gpu")]
use crate::support::bench::{gpu, is_hurried, opened_for_one};
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials =
        bench.all_on_each_device(&[("random", random), ("found_by_fuzzing", found_by_fuzzing)]);
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("checked_shaders", gpu, checked_shaders));
    trials.push(bench.host("a_wrong_result_is_seen", a_wrong_result_is_seen));
    trials.push(bench.host("a_wrong_lag_is_seen", a_wrong_lag_is_seen));
    trials.push(bench.host("every_row_is_drawn", every_row_is_drawn));
    trials
}

fn bytes(rng: &mut fastrand::Rng) -> Vec<u8> {
    (0..rng.usize(20..120)).map(|_| rng.u8(..)).collect()
}

fn program(rng: &mut fastrand::Rng, device: &Device) -> Program {
    Program::new(&bytes(rng), STEPS, device, |_, _| true)
}

/// Runs a program, checks all properties, and returns the operations that succeeded.
fn check(what: &str, bytes: &[u8], device: &Device) -> Vec<&'static str> {
    let program = Program::new(bytes, STEPS, device, |_, _| true);
    let checked = check_alone(&program, device).and_then(|()| match device.is_gpu() {
        true => check_against(&program, cpu()),
        false => Ok(()),
    });
    if let Err(why) = checked {
        panic!("{what}, the bytes {bytes:?}: {why}");
    }
    let made = program.steps.iter().filter(|step| step.outcome.is_ok());
    made.map(|step| step.row.name).collect()
}

fn random(device: &Device) {
    let programs = match std::env::var("VSLA_PROGRAMS") {
        Ok(number) => number.parse().expect("VSLA_PROGRAMS must be a number"),
        Err(_) if is_software(device) => 100,
        Err(_) => 400,
    };
    let mut rng = rng("programs::random");
    let (mut made, mut names) = (0, BTreeSet::new());
    for number in 0..programs {
        let steps = check(&format!("program {number}"), &bytes(&mut rng), device);
        made += steps.len();
        names.extend(steps);
    }
    // The test would prove nothing if programs did nothing.
    assert!(
        made > 4 * programs,
        "{made} operations in {programs} programs"
    );
    assert!(names.len() > 180, "{names:?}");
}

/// The corpus of the fuzzer in `fuzz/`, one input per code path.
fn found_by_fuzzing(device: &Device) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/programs/found");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        check(&path.display().to_string(), &bytes, device);
        files += 1;
    }
    assert!(files > 10, "{files} files in {folder}");
}

/// Shaders with runtime checks give the same bits as those without.
#[cfg(feature = "gpu")]
fn checked_shaders(device: &Device) {
    let checked = opened_for_one(|options| options.checked = true);
    let mut rng = rng("programs::checked");
    let programs = match (is_hurried(device), is_software(device)) {
        (true, _) => 4,
        (false, true) => 12,
        (false, false) => 300,
    };
    for number in 0..programs {
        let bytes = bytes(&mut rng);
        let [expected, got] =
            [device, &checked].map(|device| Program::new(&bytes, STEPS, device, |_, _| true));
        assert_eq!(got.batches.len(), expected.batches.len());
        for (i, (got, expected)) in got.batches.iter().zip(&expected.batches).enumerate() {
            let why = "has other bits with checked shaders";
            assert!(same(got, expected), "program {number}: batch {i} {why}");
        }
    }
}

/// Tests the check itself: of every operation, it detects a wrong result.
fn a_wrong_result_is_seen() {
    let mut rng = rng("programs::wrong");
    // How often a result of each operation was changed, and how often that was detected.
    let mut changed: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for _ in 0..4000 {
        let mut program = program(&mut rng, cpu());
        // Of the results that nothing else was computed from, that of the rarest operation.
        let operands = program.steps.iter().flat_map(|step| &step.operands);
        let used: BTreeSet<usize> = operands.copied().collect();
        let made = program.steps.iter().filter_map(|step| {
            let batches = step.outcome.as_ref().ok()?.batches.clone();
            let is_unused = !batches.clone().any(|at| used.contains(&at));
            (is_unused && !batches.is_empty()).then_some((step.row.name, batches.start))
        });
        let rarest = made.min_by_key(|(name, _)| changed.get(name).map_or(0, |[count, _]| *count));
        let Some((name, at)) = rarest else { continue };
        let is_changed = match &mut program.batches[at] {
            Batch::F32(x) => change(x, |v| v.abs().into(), |v| -v),
            Batch::F16(x) => change(x, |v| v.to_f64().abs(), |v| -v),
            Batch::C32(x) => change(x, |v| v.norm().into(), |v| -v),
            Batch::I32(x) => change(x, |_| 1.0, |v| v ^ 1),
            Batch::U32(x) => change(x, |_| 1.0, |v| v ^ 1),
            Batch::U8(x) => change(x, |_| 1.0, |v| v ^ 1),
            Batch::F64(x) => unreachable!("{x:?}"),
        };
        if is_changed {
            let [count, seen] = changed.entry(name).or_default();
            *count += 1;
            *seen += usize::from(check_against(&program, cpu()).is_err());
        }
    }
    assert!(changed.len() > 180, "{changed:?}");
    // Where operands are large or subnormal, little is promised.
    changed.retain(|_, [count, seen]| 2 * *seen < *count);
    assert!(changed.is_empty(), "{changed:?}");
}

/// Changes the largest finite value, if there is one that a GPU does not take as 0.
fn change<T: Scalar>(x: &mut Ragged<T>, size: fn(T) -> f64, to: fn(T) -> T) -> bool {
    let counts = |v: &f64| v.is_finite() && *v > f32::MIN_POSITIVE.into();
    let sizes = x.values().iter().map(|&v| size(v)).enumerate();
    let largest = sizes
        .filter(|(_, v)| counts(v))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((place, _)) = largest else {
        return false;
    };
    let value = &mut x.values_mut()[place];
    *value = to(*value);
    true
}

/// Lags may differ only if their values are equal within the error bound.
fn a_wrong_lag_is_seen() {
    let mut rng = rng("programs::lags");
    let (mut changed, mut seen) = (0, 0);
    let rows: Vec<_> = rows().collect();
    let lags = ["correlate_max", "sbd"].map(|name| rows.iter().position(|row| row.name == name));
    for number in 0..200 {
        let row = lags[number % 2].unwrap() as u8;
        let bytes: Vec<u8> = (0..4)
            .flat_map(|_| [row, 0, rng.u8(..), rng.u8(..)])
            .collect();
        let mut program = Program::new(&bytes, STEPS, cpu(), |_, _| true);
        let results = program
            .steps
            .iter()
            .filter_map(|step| step.outcome.as_ref().ok());
        let Some(results) = results.map(|results| results.batches.clone()).next_back() else {
            continue;
        };
        let Batch::I32(lags) = &mut program.batches[results.start + 1] else {
            unreachable!("lags are i32");
        };
        let Some(lag) = lags.values_mut().iter_mut().find(|lag| **lag != i32::MIN) else {
            continue;
        };
        *lag += 1;
        changed += 1;
        seen += usize::from(check_against(&program, cpu()).is_err());
    }
    assert!(seen > 20 && seen > changed / 3, "{seen} of {changed}");
}

/// Programs contain every operation of the catalogue, with each of its options, and on results of others.
fn every_row_is_drawn() {
    let mut rng = rng("programs::rows");
    let mut missing: BTreeSet<&str> = rows().map(|row| row.name).collect();
    let with_operands = rows().filter(|row| row.args > 0);
    let mut alone: BTreeSet<&str> = with_operands.map(|row| row.name).collect();
    let named = |row: &'static Operation| row.options.iter().map(|option| (row.name, option.name));
    let mut options: BTreeSet<(&str, &str)> = rows().flat_map(named).collect();
    // Those of operands follow from their layouts.
    options.retain(|(_, option)| !["dtype", "rank"].contains(option));
    for _ in 0..3000 {
        let program = program(&mut rng, cpu());
        for step in program.steps.iter().filter(|step| step.outcome.is_ok()) {
            missing.remove(step.row.name);
            if step.operands.iter().any(|at| !program.given.contains(at)) {
                alone.remove(step.row.name);
            }
            options
                .retain(|(row, name)| *row != step.row.name || !step.options.contains_key(*name));
        }
        if alone.is_empty() && missing.is_empty() && options.is_empty() {
            break;
        }
    }
    assert!(missing.is_empty(), "never drawn: {missing:?}");
    assert!(alone.is_empty(), "only on drawn operands: {alone:?}");
    assert!(options.is_empty(), "never drawn: {options:?}");
}
