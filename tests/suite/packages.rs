//! The packages of the workspace compile what they use and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::support::bench::Bench;

/// The most packages that the first example of the README compiles on Linux, itself included.
const OF_THE_FIRST_EXAMPLE: usize = 105;

/// Dependencies of tests, or of other examples.
const OF_TESTS: &[&str] = &[
    "inventory",
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
        bench.unless("first_example_is_small", missing, first_example_is_small),
        bench.unless("documentation_has_all_features", missing, || {
            documentation_has_all_features(&metadata())
        }),
        bench.unless("examples_use_their_dependencies", missing, || {
            examples_use_their_dependencies(&metadata())
        }),
    ]
}

/// What Cargo prints.
fn cargo(command: &[&str]) -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap();
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(command)
        .args(["--offline", "--locked"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    output.stdout
}

fn metadata() -> Value {
    let platform = "--filter-platform=x86_64-unknown-linux-gnu";
    let printed = cargo(&["metadata", "--format-version=1", platform]);
    serde_json::from_slice(&printed).unwrap()
}

fn list<'a>(of: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    of[field].as_array().unwrap().iter()
}

/// `cargo run` of the README's first example compiles no test tool, and a library without tests.
fn first_example_is_small() {
    let platform = "--target=x86_64-unknown-linux-gnu";
    let tree = [
        "tree",
        "--package=gestures",
        "--edges=normal,build",
        platform,
    ];
    let tree = cargo(&[&tree[..], &["--prefix=none", "--format={p};{f};"]].concat());
    let tree = String::from_utf8(tree).unwrap();
    // A package that was listed before ends in `(*)`.
    let compiled: BTreeSet<(&str, &str)> = tree
        .lines()
        .map(|line| {
            let (package, features) = line.split_once(';').unwrap();
            (package, features.split(';').next().unwrap())
        })
        .collect();
    let name = |package: &str| package.split(' ').next().unwrap_or_default().to_owned();
    let names: Vec<String> = compiled.iter().map(|(package, _)| name(package)).collect();
    assert!(names.iter().any(|name| name == "wgpu"), "{names:?}");
    for tool in OF_TESTS {
        let is_there = names.iter().any(|name| name == tool);
        assert!(!is_there, "the first example compiles {tool}");
    }
    let library = compiled.iter().find(|(package, _)| name(package) == "vsla");
    let features: Vec<&str> = library.unwrap().1.split(',').collect();
    assert!(
        features.contains(&"gpu") && !features.contains(&"testing"),
        "{features:?}"
    );
    let count = names.len();
    assert!(count <= OF_THE_FIRST_EXAMPLE, "{count} packages: {names:?}");
}

/// docs.rs shows all features but the internal one.
fn documentation_has_all_features(metadata: &Value) {
    let package = list(metadata, "packages").find(|package| package["name"] == "vsla");
    let package = package.unwrap();
    let shown = list(&package["metadata"]["docs"]["rs"], "features");
    let shown: BTreeSet<&str> = shown.map(|name| name.as_str().unwrap()).collect();
    let all = package["features"].as_object().unwrap().keys();
    let public = all.map(String::as_str);
    let public = public.filter(|name| !["default", "testing"].contains(name));
    assert_eq!(shown, public.collect());
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
