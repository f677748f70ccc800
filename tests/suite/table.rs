//! The tables of docs/operations.md: what they name is there, and what they say of equivalence is what the laws know.

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;

use crate::laws;
use crate::support::bench::Bench;

const PAGE: &str = include_str!("../../docs/operations.md");

/// One trial; `names` are those of all others.
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    vec![bench.host("names_what_is_there", move || check(&names))]
}

fn check(names: &[String]) {
    let names: Vec<String> = names
        .iter()
        .map(|name| name.replace("::cpu::", "::").replace("::gpu::", "::"))
        .collect();
    let mut source = String::new();
    gather(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        &mut source,
    );
    let mut rows = 0;
    for line in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, here, equivalence, tests] = cells[..] else {
            panic!("four cells: {line}");
        };
        if what == "what" || what == "---" {
            continue;
        }
        rows += 1;
        let items: Vec<&str> = quoted(here)
            .map(|item| item.rsplit("::").next().unwrap())
            .collect();
        for item in &items {
            let kinds = ["fn ", "struct ", "enum ", "mod ", "    "];
            let ends = ["(", "<", " {", ";"];
            let there = kinds.iter().any(|kind| {
                ends.iter()
                    .any(|end| source.contains(&format!("{kind}{item}{end}")))
            });
            assert!(there, "no {item} in src: {line}");
        }
        assert!(quoted(tests).next().is_some(), "no test: {line}");
        for test in quoted(tests) {
            let begins = |name: &String| *name == test || name.starts_with(&format!("{test}::"));
            assert!(names.iter().any(begins), "no test {test}: {line}");
        }
        let expected = match equivalence {
            "–" => continue,
            "yes" => Some(true),
            "no" => None,
            "left" | "right" => Some(false),
            other => panic!("{other}: {line}"),
        };
        for item in items {
            let known = laws::sides_of(item);
            match expected {
                // All sides there are.
                Some(true) => assert!(
                    known.is_some() && !laws::goes_by_shape(item),
                    "{item}: {line}"
                ),
                Some(false) => {
                    assert_eq!(
                        known,
                        Some([equivalence == "left", equivalence == "right"]),
                        "{line}"
                    );
                    assert!(laws::goes_by_shape(item), "{item}: {line}");
                }
                None => assert!(
                    known.is_none() && laws::goes_by_shape(item),
                    "{item}: {line}"
                ),
            }
        }
    }
    assert!(rows > 40, "{rows}");
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn gather(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, text);
        } else {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
