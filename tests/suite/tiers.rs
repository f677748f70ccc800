//! Trials that wait, each for more than a second: on a software GPU, mostly to compile kernels. Others of their kind
//! always run.
//!
//! Without a hardware GPU, those of quarter i run only with `VSLA_QUARTER=i`: four runs of the checks cover all.
//! `VSLA_QUARTER=all` and `VSLA_LONG=1` run all of them.
//!
//! The trials were chosen by measurement, with an empty cache of kernels. Quarter 0 has none, because the checks open a
//! page in a browser then. Trials that need the same kernels share a quarter.

use std::collections::BTreeMap;
#[cfg(feature = "gpu")]
use std::collections::BTreeSet;
use std::sync::LazyLock;

#[cfg(feature = "gpu")]
use libtest_mimic::Trial;

#[cfg(feature = "gpu")]
use crate::support::bench::{Bench, only_on_fast_gpus};
use crate::support::bench::{gpu, is_selective, is_software};

/// The quarter of each trial that waits. In the file, a line is `QUARTER KIND: NAME, NAME`: the kind is the path of the
/// trials.
static WAITING: LazyLock<BTreeMap<String, u32>> = LazyLock::new(|| {
    let lines = include_str!("tiers.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let of_line = |line: &str| {
        let (quarter, trials) = line.split_once(' ')?;
        let (kind, names) = trials.split_once(": ")?;
        let quarter = quarter.parse().ok()?;
        let names = names.split(", ");
        let named = names.map(|name| (format!("{kind}::{name}"), quarter));
        Some(named.collect::<Vec<_>>())
    };
    let of_line = |line| of_line(line).unwrap_or_else(|| panic!("tiers.txt: {line}"));
    lines.flat_map(of_line).collect()
});

/// Whether this trial is left to another run.
pub fn waits(trial: &str) -> bool {
    if !is_selective() || gpu().is_ok_and(|device| !is_software(device)) {
        return false;
    }
    let chosen = std::env::var("VSLA_QUARTER").unwrap_or_default();
    let is_due = |quarter: u32| match chosen.as_str() {
        "" => false,
        "all" => true,
        "0" | "1" | "2" | "3" => chosen == format!("{quarter}"),
        _ => panic!("VSLA_QUARTER={chosen}: expected 0, 1, 2, 3 or all"),
    };
    WAITING.get(trial).is_some_and(|quarter| !is_due(*quarter))
}

#[cfg(feature = "gpu")]
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    vec![bench.host("one_of_each_kind_stays", move || {
        let ignored = only_on_fast_gpus().clone();
        let kind = |name: &str| name.rsplit_once("::").map(|(kind, _)| kind.to_owned());
        let runs = |name: &&String| !ignored.contains(*name);
        let staying = names.iter().filter(runs);
        let staying = staying.filter(|name| !WAITING.contains_key(*name));
        let kinds: BTreeSet<_> = staying.map(|name| kind(name)).collect();
        for name in WAITING.keys() {
            assert!(names.contains(name), "tiers.txt: there is no trial {name}");
            assert!(kinds.contains(&kind(name)), "nothing stays for {name}");
        }
    })]
}
