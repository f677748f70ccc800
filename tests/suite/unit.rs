//! The unit tests, which are in `src` beside what they test: `unit::ops::kron::tests::…` is of `src/ops/kron.rs`. They
//! register themselves (`src/testing.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use proc_macro2::{TokenStream, TokenTree};
use vsla::testing::unit_tests;

use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials: Vec<Trial> = unit_tests()
        .map(|test| bench.host(path(test.name), test.run))
        .collect();
    // With fewer features, some tests in the sources are not compiled.
    if cfg!(all(feature = "approx", feature = "gpu")) {
        trials.push(bench.host("all_are_registered", all_are_registered));
    }
    trials
}

/// The path within the crate.
fn path(name: &str) -> &str {
    name.split_once("::").map_or(name, |(_, path)| path)
}

/// The suite runs every test in the sources: each has the attribute by which it registers itself, not `#[test]`, which
/// nothing runs there, and the linker has dropped none.
fn all_are_registered() {
    let mut written = Vec::new();
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    of_folder(folder, "", &mut written);
    assert!(written.len() > 160, "{} tests", written.len());
    let registered: Vec<&str> = unit_tests().map(|test| path(test.name)).collect();
    let all: BTreeSet<&str> = registered.iter().copied().collect();
    assert_eq!(registered.len(), all.len(), "twice");
    let written: BTreeSet<&str> = written.iter().map(String::as_str).collect();
    let lost: Vec<_> = written.difference(&all).collect();
    assert!(lost.is_empty(), "not registered: {lost:#?}");
    let unknown: Vec<_> = all.difference(&written).collect();
    assert!(unknown.is_empty(), "not found: {unknown:#?}");
}

/// Appends the paths of the tests in a folder, whose module's path is `module`, with `::` at its end.
fn of_folder(folder: &Path, module: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let inner = match stem {
            "lib" | "mod" => module.to_owned(),
            _ => format!("{module}{stem}::"),
        };
        if path.is_dir() {
            of_folder(&path, &inner, found);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            of_tokens(text.parse().unwrap(), &inner, found);
        }
    }
}

fn of_tokens(tokens: TokenStream, module: &str, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let text: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    for (i, token) in tokens.iter().enumerate() {
        let before = |n: usize| i.checked_sub(n).map_or("", |at| &*text[at]);
        let TokenTree::Group(group) = token else {
            continue;
        };
        match before(2) {
            "mod" => of_tokens(group.stream(), &format!("{module}{}::", before(1)), found),
            _ => of_tokens(group.stream(), module, found),
        }
        let attribute = text[i].replace(' ', "");
        if before(1) == "#" && ["[test]", "[apply(unit_test)]"].contains(&&*attribute) {
            let name = text[i..].iter().skip_while(|word| *word != "fn").nth(1);
            found.push(format!("{module}{}", name.unwrap()));
        }
    }
}
