//! Tests of tables in the book, `docs/book/src`. In operations.md, every named item exists. Its columns on equivalence
//! and gradients, and the first table of shapes.md, are those of the catalogue; `VSLA_BLESS=1` writes them. In
//! guarantees.md, every promise names existing tests.

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
        bench.host("operands_and_results", operands_and_results),
        bench.host("shapes_of_all_operations", shapes_of_all_operations),
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

/// The first table of the page on operands and results is that of the catalogue.
fn operands_and_results() {
    const HEAD: &str =
        "| operation | types | ranks | operands | results |\n| --- | --- | --- | --- | --- |\n";
    let (before, table) = SHAPES.split_once(HEAD).expect("the table");
    let (table, after) = table.split_once("\n\n").expect("text after the table");
    let expected = shapes_table();
    if table == expected {
        return;
    }
    assert!(
        std::env::var("VSLA_BLESS").is_ok(),
        "VSLA_BLESS=1 corrects {SHAPES_PATH}"
    );
    let page = [before, HEAD, &expected, "\n\n", after].concat();
    fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(SHAPES_PATH),
        page,
    )
    .unwrap();
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

/// The page on operands and results has each operation of the tables.
fn shapes_of_all_operations() {
    // Batches as such, and what makes the operations of other rows.
    let others = ["to_device", "upload_layout", "pair", "pooling"];
    let rows = SHAPES.lines().filter(|line| line.starts_with("| "));
    let code: Vec<&str> = rows.flat_map(quoted).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = code
        .iter()
        .flat_map(|code| code.split(|c| !is_word(c)))
        .collect();
    let mut found = 0;
    for line in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let Some(here) = line.split('|').nth(2) else {
            continue;
        };
        for item in quoted(here) {
            let (of, name) = item.rsplit_once("::").unwrap_or(("", item));
            let is_named = !["Tensor", "Device", "attention"].contains(&of)
                || !name.starts_with(char::is_lowercase)
                || name.ends_with("_axis")
                || others.contains(&name);
            assert!(is_named || words.contains(name), "shapes.md has no {item}");
            found += usize::from(!is_named);
        }
    }
    assert!(found > 150, "{found}");
}

fn check(names: &[String]) {
    let mut source = String::new();
    gather(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        &mut source,
    );
    let (mut page, mut wrong) = (PAGE.to_owned(), String::new());
    let mut rows = 0;
    for line in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, here, equivalence, gradient, tests] = cells[..] else {
            panic!("five cells: {line}");
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
            let there = there || source.contains(&format!("trait {item}:"));
            assert!(there, "no {item} in src: {line}");
        }
        check_tests(names, tests, line);
        let said = [equivalence, gradient];
        let known = [law_of(here), gradient_of(here)];
        let cells = [0, 1].map(|i| known[i].unwrap_or(said[i]));
        if cells != said {
            let columns = |[law, slope]: [&str; 2]| format!("| {law} | {slope} | {tests} |");
            assert!(line.contains(&columns(said)), "{line}");
            page = page.replace(line, &line.replace(&columns(said), &columns(cells)));
            wrong += &format!("\n{line}\n  expected {cells:?}");
        }
    }
    if std::env::var("VSLA_BLESS").is_ok() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(PATH), page).unwrap();
    } else {
        assert!(wrong.is_empty(), "VSLA_BLESS=1 corrects {PATH}:{wrong}");
    }
    assert!(rows > 40, "{rows}");
    for row in catalogue::operations().filter(|row| row.work == Work::More) {
        let mut names = row
            .methods
            .iter()
            .map(|(method, _)| *method)
            .chain([row.name]);
        assert!(names.any(work::is_counted), "{} is not counted", row.name);
    }
}

/// The catalogue's row for a method.
fn row_of(item: &str) -> Option<&'static Operation> {
    let whole = item.strip_suffix("_axis").unwrap_or(item);
    let stands_for = |row: &&Operation| row.methods.iter().any(|(method, _)| *method == whole);
    let row = catalogue::operations().find(stands_for);
    row.or_else(|| catalogue::find(whole))
}

/// What is known of all methods of tensors that a cell names, if it is the same.
fn alike(here: &str, known: impl Fn(&str) -> Option<&'static str>) -> Option<&'static str> {
    let method = |item: &str| match item.rsplit_once("::") {
        Some(("Device" | "Attention" | "Rotary" | "BsrTensor" | "Product", _)) => None,
        Some((_, method)) => known(method),
        None => known(item),
    };
    let mut answers = quoted(here).map(method);
    let first = answers.next()??;
    answers.all(|answer| answer == Some(first)).then_some(first)
}

/// The column on equivalence.
fn law_of(here: &str) -> Option<&'static str> {
    let is_option = |item: &str| {
        let methods = catalogue::operations().flat_map(|row| row.methods);
        { methods }.any(|(method, option)| *method == item && !option.is_empty())
    };
    // An option may add what trailing zeros do not have.
    alike(here, |item| {
        match sides_of(item).filter(|_| !is_option(item))? {
            [true, true] => Some("yes"),
            [true, false] => Some("left"),
            [false, true] => Some("right"),
            [false, false] => Some("no"),
        }
    })
}

/// The column on gradients, which says nothing of whole numbers.
fn gradient_of(here: &str) -> Option<&'static str> {
    alike(here, |item| match row_of(item).map(|row| row.gradient) {
        _ if gradients::is_refused(item) => Some("no"),
        Some(Gradient::Of(..) | Gradient::Beside(..) | Gradient::Apart) => Some("yes"),
        Some(Gradient::Zero) => Some("0"),
        Some(Gradient::None(why)) => why.contains("reads").then_some("no"),
        None => None,
    })
}

/// The operands for which an operation respects equivalence, by the catalogue's row or by the tests of options.
fn sides_of(item: &str) -> Option<[bool; 2]> {
    match row_of(item).map(|row| row.law) {
        Some(Law::All) => Some([true, true]),
        Some(Law::Left) => Some([true, false]),
        Some(Law::Right) => Some([false, true]),
        Some(Law::None) => Some([false, false]),
        Some(Law::Open) | None if laws::goes_by_shape(item) => Some([false, false]),
        Some(Law::Open) | None => laws::sides_of(item).map(|sides| [sides[0], sides[0]]),
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
