//! What each line of `tests/mutants` replaces occurs in the code of a kernel with its flags, and its trials exist; see
//! `tests/mutants.sh`.

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;

use crate::support::bench::Bench;

/// `names` are the names of all other trials. Unit tests do not run with mutants.
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    vec![bench.host("are_current", move || are_current(&names))]
}

fn are_current(names: &[String]) {
    let kernels = vsla::device::kernels();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants");
    let (mut mutants, mut stale) = (0, Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let (mutant, trials) = line.rsplit_once(" @ ").expect("ends in trials");
            let (flags, change) = mutant.split_once(" @ ").unwrap_or(("", mutant));
            let (original, _) = change.split_once(" → ").expect("a replacement");
            let flags = flags.to_lowercase();
            let has = |name: &str| {
                let mut flags = flags.split_whitespace();
                let mut parts = name.split('.');
                let listed = |flag: &str| name.split('.').skip(1).any(|part| part == flag);
                parts.next() == Some(stem)
                    && flags.all(|flag| match flag.strip_prefix('!') {
                        Some(flag) => !listed(flag),
                        None => listed(flag),
                    })
            };
            // A comment comes before the code that it describes, and is not what should be replaced.
            let is_in_code = |source: &str| {
                let before = source.find(original).map(|at| &source[..at]);
                before.is_some_and(|before| !before.rsplit('\n').next().unwrap().contains("//"))
            };
            let found = |(name, source): &(String, String)| has(name) && is_in_code(source);
            mutants += 1;
            let runs = |name: &String| name.contains(trials) && !name.starts_with("unit::");
            if !kernels.iter().any(found) || !names.iter().any(runs) {
                stale.push(format!("{stem}: {line}"));
            }
        }
    }
    assert!(mutants > 500, "{mutants} mutants");
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}
