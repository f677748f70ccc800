//! Tests of tables in the book, `docs/book/src`. The operations of operations.md and the first table of shapes.md are
//! those of the catalogue; `VSLA_BLESS=1` writes them. The other tables of operations.md name existing items and tests,
//! and guarantees.md has existing tests for every promise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use catalogue::{Gradient, Law, Operation, Work};
use libtest_mimic::Trial;

use crate::gradients;
use crate::laws;
use crate::rows::offered::methods;
use crate::support::bench::Bench;
use crate::work;

const PATH: &str = "docs/book/src/operations.md";
const PAGE: &str = include_str!("../../docs/book/src/operations.md");
const SHAPES_PATH: &str = "docs/book/src/shapes.md";
const SHAPES: &str = include_str!("../../docs/book/src/shapes.md");
const GUARANTEES: &str = include_str!("../../docs/book/src/guarantees.md");

/// `names` are the names of all other trials.
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    let names: Arc<[String]> = names
        .iter()
        .map(|name| name.replace("::cpu::", "::").replace("::gpu::", "::"))
        .collect();
    let all = names.clone();
    let mut trials = vec![
        bench.host("names_what_is_there", move || check(&names)),
        bench.host("operations", || {
            const BEGIN: &str = "<!-- operations of the catalogue -->\n";
            is_written(PATH, PAGE, [BEGIN, "<!-- end of the operations -->"], topics())
        }),
        bench.host("operands_and_results", || {
            const HEAD: &str =
                "| operation | types | ranks | operands | results |\n| --- | --- | --- | --- | --- |\n";
            is_written(SHAPES_PATH, SHAPES, [HEAD, "\n\n"], shapes_table())
        }),
        bench.host("work_is_counted", work_is_counted),
    ];
    // Some promises are about kernels or files, whose tests need these features.
    if cfg!(all(feature = "gpu", feature = "safetensors")) {
        trials.push(bench.host("promises_have_tests", move || check_guarantees(&all)));
    }
    trials
}

fn check_guarantees(names: &[String]) {
    let mut rows = 0;
    for line in GUARANTEES.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [promise, tests] = cells[..] else {
            panic!("two cells: {line}");
        };
        if promise == "promise" || promise == "---" {
            continue;
        }
        rows += 1;
        check_tests(names, tests, line);
    }
    assert!(rows > 20, "{rows}");
}

/// Each test that a cell names is the beginning of a trial's name.
fn check_tests(names: &[String], cell: &str, line: &str) {
    assert!(quoted(cell).next().is_some(), "no test: {line}");
    for test in quoted(cell) {
        let begins = |name: &String| *name == test || name.starts_with(&format!("{test}::"));
        assert!(names.iter().any(begins), "no test {test}: {line}");
    }
}

/// A page has this text between two others. `VSLA_BLESS=1` writes it.
fn is_written(path: &str, page: &str, [begin, end]: [&str; 2], expected: String) {
    let (before, text) = page.split_once(begin).expect("the text before");
    let (text, after) = text.split_once(end).expect("the text after");
    if text == expected {
        return;
    }
    assert!(
        std::env::var("VSLA_BLESS").is_ok(),
        "VSLA_BLESS=1 corrects {path}"
    );
    let page = [before, begin, &expected, end, after].concat();
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), page).unwrap();
}

/// A table for each topic, with a line for each operation.
fn topics() -> String {
    let methods = methods();
    let mut text = String::new();
    for (title, rows) in catalogue::TOPICS {
        let rows: Vec<&Operation> = rows.iter().filter(|row| row.is_function).collect();
        if rows.is_empty() {
            continue;
        }
        text += &format!(
            "\n### {title}\n\n| operation | result | equivalence | gradient |\n| --- | --- | --- | --- |\n"
        );
        for row in rows {
            let cells = [
                names_of(row, &methods),
                row.about
                    .replace('|', "\\|")
                    .replace('[', "\\[")
                    .replace(']', "\\]"),
                law_of(row).to_owned(),
                gradient_of(row).to_owned(),
            ];
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text + "\n"
}

/// A line for all operations whose other cells are equal, where the first of them stands in the catalogue.
fn shapes_table() -> String {
    let methods = methods();
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for row in catalogue::operations().filter(|row| row.is_function) {
        let (name, cells) = (names_of(row, &methods), cells_of(row));
        match lines.iter_mut().find(|(_, others)| *others == cells) {
            Some((names, _)) => names.push(name),
            None => lines.push((vec![name], cells)),
        }
    }
    let lines = lines
        .iter()
        .map(|(names, cells)| format!("| {} | {cells} |", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The name of an operation, and the methods that have other names: that of the library, and variants.
fn names_of(row: &Operation, methods: &BTreeSet<String>) -> String {
    let is_shown = |&&(method, option): &&(&str, &str)| {
        let is_variant = method.starts_with(row.name) || !methods.contains(row.name);
        option.is_empty() || is_variant
    };
    let others = row
        .methods
        .iter()
        .filter(is_shown)
        .map(|(method, _)| format!("`{method}`"));
    let others: Vec<String> = others.collect();
    match others.as_slice() {
        [] => format!("`{}`", row.name),
        _ => format!("`{}` ({})", row.name, others.join(", ")),
    }
}

/// The cells on types, ranks, operands and results.
fn cells_of(row: &Operation) -> String {
    let types = match row.types().len() == catalogue::TYPES.len() {
        true => "every type".to_owned(),
        false => row
            .types()
            .iter()
            .map(|dtype| dtype.name())
            .collect::<Vec<_>>()
            .join(", "),
    };
    let mut ranks: Vec<String> = Vec::new();
    for [least, most] in row.ranks {
        let text = match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        };
        if !ranks.contains(&text) {
            ranks.push(text);
        }
    }
    let (operands, results) = (row.results.operands, row.results.about);
    format!("{types} | {} | {operands} | {results}", ranks.join("; "))
}

fn check(names: &[String]) {
    let mut source = String::new();
    gather(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        &mut source,
    );
    let mut rows = 0;
    let (_, tables) = PAGE.split_once("## Objects").expect("the other tables");
    for line in tables.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, here, tests] = cells[..] else {
            panic!("three cells: {line}");
        };
        if what == "what" || what == "---" {
            continue;
        }
        rows += 1;
        for item in quoted(here).map(|item| item.rsplit("::").next().unwrap()) {
            let kinds = ["fn ", "struct ", "enum ", "mod ", "    "];
            let ends = ["(", "<", " {", ";"];
            let there = kinds.iter().any(|kind| {
                ends.iter()
                    .any(|end| source.contains(&format!("{kind}{item}{end}")))
            });
            let there = there || source.contains(&format!("trait {item}:"));
            assert!(there, "no {item} in src: {line}");
        }
        check_tests(names, tests, line);
    }
    assert!(rows > 40, "{rows}");
}

/// Tests count by hand what operations do that do more than their values.
fn work_is_counted() {
    for row in catalogue::operations().filter(|row| row.work == Work::More) {
        let mut names = names(row);
        assert!(names.any(work::is_counted), "{} is not counted", row.name);
    }
}

/// The methods that a row covers.
fn names(row: &Operation) -> impl Iterator<Item = &'static str> {
    let others = row.methods.iter().map(|(method, _)| *method);
    others.chain([row.name])
}

/// The operands for which an operation respects equivalence, by the catalogue's row or by the tests of options.
fn law_of(row: &Operation) -> &'static str {
    match row.law {
        Law::All => "yes",
        Law::Left => "left",
        Law::Right => "right",
        Law::None => "no",
        Law::Open if names(row).any(laws::goes_by_shape) => "no",
        Law::Open => match names(row).find_map(laws::sides_of) {
            Some([true, _]) => "yes",
            _ => "–",
        },
    }
}

/// Whether an operation has a gradient, unless it is one of whole numbers.
fn gradient_of(row: &Operation) -> &'static str {
    match row.gradient {
        _ if names(row).any(gradients::is_refused) => "no",
        Gradient::Of(..) | Gradient::Beside(..) | Gradient::Apart => "yes",
        Gradient::Zero => "0",
        Gradient::None(why) if why.contains("reads") => "no",
        Gradient::None(_) => "–",
    }
}

/// The texts between backticks.
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
