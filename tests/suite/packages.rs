//! The packages of the workspace compile what they use and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::support::bench::Bench;

/// The most packages that the first example of the README compiles on Linux, itself included. Cargo's metadata has the
/// features that any package of the workspace enables: alone, the example needs fewer.
const OF_THE_FIRST_EXAMPLE: usize = 126;

/// Dependencies of tests, or of other examples.
const OF_TESTS: &[&str] = &[
    "libtest-mimic",
    "png",
    "postcard",
    "proptest",
    "safetensors",
    "tokenizers",
];

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let missing = || match std::env::var_os("CARGO") {
        Some(_) => None,
        None => Some("cargo did not start this".to_owned()),
    };
    vec![
        bench.unless("first_example_is_small", missing, || {
            first_example_is_small(&metadata())
        }),
        bench.unless("examples_use_their_dependencies", missing, || {
            examples_use_their_dependencies(&metadata())
        }),
    ]
}

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap();
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list<'a>(of: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    of[field].as_array().unwrap().iter()
}

/// `cargo run` of the README's first example compiles no test tool.
fn first_example_is_small(metadata: &Value) {
    let names: HashMap<&str, &str> = list(metadata, "packages")
        .map(|package| {
            (
                package["id"].as_str().unwrap(),
                package["name"].as_str().unwrap(),
            )
        })
        .collect();
    let nodes: HashMap<&str, &Value> = list(&metadata["resolve"], "nodes")
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let mut open: Vec<&str> = names
        .iter()
        .filter(|(_, name)| **name == "gestures")
        .map(|(id, _)| *id)
        .collect();
    let mut compiled: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if compiled.insert(id) {
            // Dependencies of a build have kinds, and those of tests are `dev`.
            let needed = list(nodes[id], "deps").filter(|dependency| {
                list(dependency, "dep_kinds").any(|kind| kind["kind"] != "dev")
            });
            open.extend(needed.map(|dependency| dependency["pkg"].as_str().unwrap()));
        }
    }
    let compiled: Vec<&str> = compiled.iter().map(|id| names[id]).collect();
    assert!(compiled.contains(&"wgpu"), "{compiled:?}");
    for tool in OF_TESTS {
        assert!(
            !compiled.contains(tool),
            "the first example compiles {tool}"
        );
    }
    let count = compiled.len();
    assert!(
        count <= OF_THE_FIRST_EXAMPLE,
        "{count} packages: {compiled:?}"
    );
}

/// The sources of each example name all of its dependencies.
fn examples_use_their_dependencies(metadata: &Value) {
    let mut seen = 0;
    for package in list(metadata, "packages") {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap();
        let is_example =
            folder.parent() == Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"));
        if !is_example {
            continue;
        }
        let mut text = String::new();
        sources(folder, &mut text);
        sources(&folder.with_file_name("common"), &mut text);
        for dependency in list(package, "dependencies") {
            seen += 1;
            let name = dependency["name"].as_str().unwrap().replace('-', "_");
            assert!(
                text.contains(&format!("{name}::")),
                "{}: {name} is not used",
                package["name"]
            );
        }
    }
    assert!(seen > 50, "{seen} dependencies of examples");
}

/// Appends the contents of the Rust files in a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}
