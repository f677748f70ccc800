//! Random programs on each device: single elements compared with the batch, and the GPU compared with the CPU.
//!
//! `VSLA_PROGRAMS=n` sets the number of random programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use libtest_mimic::Trial;
use vsla::{Device, Ragged, scalar::Scalar};

use crate::programs::{
    Batch, FUNCTIONS, Kind, MAPS_OF_COMPLEX, MAPS_OF_FLOATS, MAPS_OF_INTEGERS, check_against,
    check_alone, lines_of, run,
};
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
    trials.push(bench.host("every_function_is_drawn", every_function_is_drawn));
    trials.push(bench.host("every_method_is_drawn", every_method_is_drawn));
    trials
}

/// Runs a program, checks all properties, and returns the operations that succeeded.
fn check(what: &str, bytes: &[u8], device: &Device) -> Vec<String> {
    let run = run(bytes, device);
    let checked = check_alone(&run, device).and_then(|()| match device.is_gpu() {
        true => check_against(&run, cpu()),
        false => Ok(()),
    });
    if let Err(why) = checked {
        panic!("{what}, the bytes {bytes:?}: {why}");
    }
    let made = run.steps.iter().filter(|step| step.results().is_some());
    made.map(|step| step.name()).collect()
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
        let bytes: Vec<u8> = (0..rng.usize(20..300)).map(|_| rng.u8(..)).collect();
        let steps = check(&format!("program {number}"), &bytes, device);
        made += steps.len();
        names.extend(steps);
    }
    // The test would prove nothing if programs did nothing.
    assert!(
        made > 4 * programs,
        "{made} operations in {programs} programs"
    );
    assert!(names.len() > 150, "{names:?}");
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
        let bytes: Vec<u8> = (0..rng.usize(20..300)).map(|_| rng.u8(..)).collect();
        let [expected, got] = [device, &checked].map(|device| run(&bytes, device));
        assert_eq!(got.batches.len(), expected.batches.len());
        for (i, (got, expected)) in got.batches.iter().zip(&expected.batches).enumerate() {
            let why = "has other bits with checked shaders";
            assert!(got.same(expected), "program {number}: batch {i} {why}");
        }
    }
}

/// Tests the check itself: of every operation, it detects a wrong result.
fn a_wrong_result_is_seen() {
    let mut rng = rng("programs::wrong");
    // How often a result of each operation was changed, and how often that was detected.
    let mut changed: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..rng.usize(20..300)).map(|_| rng.u8(..)).collect();
        let mut run = run(&bytes, cpu());
        // Of the results that nothing else was computed from, that of the rarest operation.
        let used: BTreeSet<usize> = run.steps.iter().flat_map(|step| step.operands()).collect();
        let made = run
            .steps
            .iter()
            .filter_map(|step| Some((step.name(), step.results()?)));
        let made = made.filter(|(_, results)| !results.is_empty());
        let made = made.filter(|(_, results)| !results.clone().any(|at| used.contains(&at)));
        let rarest = made.min_by_key(|(name, _)| changed.get(name).map_or(0, |[count, _]| *count));
        let Some((name, results)) = rarest else {
            continue;
        };
        // All values except subnormal numbers, which may differ.
        let is_changed = match &mut run.batches[results.start] {
            Batch::F32(x) => change(x, |v| v.is_normal(), |v| -v),
            Batch::F16(x) => change(x, |v| v.is_normal(), |v| -v),
            Batch::C32(x) => change(x, |v| v.re.is_normal(), |v| -v),
            Batch::I32(x) => change(x, |_| true, |v| v ^ 1),
            Batch::U32(x) => change(x, |_| true, |v| v ^ 1),
        };
        if is_changed {
            let [count, seen] = changed.entry(name).or_default();
            *count += 1;
            *seen += usize::from(check_against(&run, cpu()).is_err());
        }
    }
    assert!(changed.len() > 150, "{changed:?}");
    // Where operands are large or subnormal, little is promised.
    changed.retain(|_, [count, seen]| 2 * *seen < *count);
    assert!(changed.is_empty(), "{changed:?}");
}

/// Changes the first of these values, if there is one.
fn change<T: Scalar>(x: &mut Ragged<T>, of: impl Fn(&T) -> bool, to: impl Fn(T) -> T) -> bool {
    let found = x.values_mut().iter_mut().find(|v| of(v));
    found.map(|v| *v = to(*v)).is_some()
}

/// Lags may differ only if their values are equal within the error bound.
fn a_wrong_lag_is_seen() {
    let mut rng = rng("programs::lags");
    let (mut changed, mut seen) = (0, 0);
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..100).map(|_| rng.u8(..)).collect();
        let mut run = run(&bytes, cpu());
        let found = |name: &str| ["CorrelateMax", "Sbd"].contains(&name);
        let steps = run.steps.iter().filter(|step| found(&step.name()));
        let Some(results) = steps.filter_map(|step| step.results()).next_back() else {
            continue;
        };
        let Batch::I32(lags) = &mut run.batches[results.start + 1] else {
            unreachable!("lags are i32");
        };
        let Some(lag) = lags.values_mut().iter_mut().find(|lag| **lag != i32::MIN) else {
            continue;
        };
        *lag += 1;
        changed += 1;
        seen += usize::from(check_against(&run, cpu()).is_err());
    }
    assert!(seen > 20 && seen > changed / 3, "{seen} of {changed}");
}

/// The programs contain every function of the library's tables.
fn every_function_is_drawn() {
    let drawn = [
        MAPS_OF_FLOATS,
        MAPS_OF_INTEGERS,
        MAPS_OF_COMPLEX,
        FUNCTIONS,
        &["mul_add", "if_else"],
    ]
    .concat();
    let all = vsla::scalar::maps().chain(vsla::scalar::functions());
    let missing: BTreeSet<&str> = all
        .map(|row| row.name)
        .filter(|name| !drawn.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The programs contain every function along axes, and call every method of these files of the library.
fn every_method_is_drawn() {
    let kinds = [Kind::F32, Kind::I32, Kind::U32, Kind::F16, Kind::C32];
    let lines: BTreeSet<&str> = kinds.into_iter().flat_map(lines_of).collect();
    let text = |path: &str| {
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let methods = |file: &str| -> Vec<String> {
        let text = text(&format!("src/tensor/{file}.rs"));
        let declared = text.split("\n    pub fn ").skip(1);
        let name = |rest: &str| {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .map(str::to_owned)
        };
        declared.filter_map(name).collect()
    };
    let mut missing = BTreeSet::new();
    // Drawn by their own names, except those of two operands.
    let of_pairs = ["dot", "equivalent_blocking"];
    for file in ["lines", "cumulations", "sorting", "reductions"] {
        let methods = methods(file);
        assert!(methods.len() > 4, "{methods:?} in {file}");
        let undrawn = methods
            .into_iter()
            .filter(|name| !lines.contains(name.as_str()));
        missing.extend(undrawn.filter(|name| !of_pairs.contains(&name.as_str())));
    }
    let programs = [
        text("tests/suite/programs/apply.rs"),
        text("tests/suite/programs/apply/unary.rs"),
        text("tests/suite/programs/apply/images.rs"),
        text("tests/suite/programs/values.rs"),
    ]
    .concat();
    // Special cases of what is drawn: these windows, one layout for all shapes, a part of the seed, and calls that
    // reject what others leave out.
    let special = [
        "hann",
        "minimal_shape_blocking",
        "from_element",
        "lookup_strict_blocking",
        "bincount_strict_blocking",
        "crop_strict_blocking",
    ];
    for file in [
        "cross_entropy",
        "histograms",
        "frames",
        "sums",
        "complex_products",
        "random",
        "create",
        "shapes",
        "elements",
        "stacking",
        "transforms",
        "minimal",
        "components",
        "geometry",
        "morphology",
        "figures",
        "crops",
        "values",
        "occurrences",
        "period",
    ] {
        let methods = methods(file);
        assert!(!methods.is_empty(), "nothing in {file}");
        let uncalled = methods.into_iter().filter(|name| {
            let calls = [".", "::"].map(|of| [format!("{of}{name}("), format!("{of}{name}::<")]);
            let calls = calls.concat();
            !calls.iter().any(|call| programs.contains(call))
        });
        missing.extend(uncalled.filter(|name| !special.contains(&name.as_str())));
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// The corpus of the fuzzer in `fuzz/`, one input per code path.
fn found_by_fuzzing(device: &Device) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/programs/found");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        check(
            &path.display().to_string(),
            &fs::read(&path).unwrap(),
            device,
        );
        files += 1;
    }
    assert!(files > 10, "{files} files in {folder}");
}
