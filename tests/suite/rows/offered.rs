//! Every public method of the library's tensors and devices is offered, or stated as an exception.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use catalogue::{EXCEPTIONS, find, operations};

/// The names of the public methods that files of a folder declare, without the endings of blocking forms.
pub fn methods() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tensor");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for line in source.lines().map(str::trim_start) {
            let declared = ["pub fn ", "pub async fn "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            // Rows of tables of functions: `fn div(Number) -> T, 2: "..`, `fn exp() 2 "..`.
            let row = line.strip_prefix("fn ").filter(|row| row.contains(" \""));
            if let Some(rest) = declared.or(row) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                // Others are parameters of macros.
                if !name.is_empty() {
                    names.insert(name.trim_end_matches("_blocking").to_owned());
                }
            }
        }
    }
    names
}

pub fn every_method_is_offered_or_an_exception() {
    let methods = methods();
    for known in [
        "div",
        "exp",
        "attention",
        "matmul",
        "merge",
        "conj",
        "arange",
    ] {
        assert!(
            methods.contains(known),
            "{known} was not found in the sources"
        );
    }
    let stated: BTreeSet<&str> = EXCEPTIONS
        .iter()
        .flat_map(|(names, _)| names.iter().copied())
        .collect();
    let is_offered = |method: &str| {
        let along = method.strip_suffix("_axis").and_then(find);
        let by = operations().find(|row| row.methods.iter().any(|(name, _)| *name == method));
        find(method).is_some()
            || along.is_some_and(|operation| operation.takes("axis"))
            || by.is_some()
    };
    for method in &methods {
        let ways = (is_offered(method), stated.contains(method.as_str()));
        assert!(
            ways.0 != ways.1,
            "{method}: offered, stated as an exception: {ways:?}"
        );
    }
    for operation in operations() {
        for (method, option) in operation.methods {
            assert!(methods.contains(*method), "no method {method}");
            assert!(
                find(method).is_none_or(|row| !row.methods.is_empty()),
                "{method} has an operation of its name"
            );
            assert!(
                option.is_empty() || operation.takes(option),
                "{}: {method}: no option {option}",
                operation.name
            );
        }
    }
    for name in &stated {
        assert!(
            methods.contains(*name) || *name == "image::ImageProgram",
            "no method {name}"
        );
    }
    assert!(operations().count() > 150);
}
