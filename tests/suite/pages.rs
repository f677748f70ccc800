//! The README is short, and shows a program that exists. Links between the pages in this repository lead somewhere. The
//! book consists of the chapters in its summary, which are also pages of the documentation, and shows recorded numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use serde_json::Value;

use crate::support::bench::Bench;

const README: &str = include_str!("../../README.md");
const QUICKSTART: &str = include_str!("../../examples/quickstart.rs");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/book/src");
const SUMMARY: &str = include_str!("../../docs/book/src/SUMMARY.md");
const COSTS: &str = include_str!("../../docs/book/src/costs.md");

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("readme_is_short", readme_is_short),
        bench.host("links_lead_somewhere", links_lead_somewhere),
        bench.host("summary_lists_all_chapters", summary_lists_all_chapters),
        bench.host("chapters_are_documentation", chapters_are_documentation),
        bench.host("numbers_are_recorded", numbers_are_recorded),
        bench.host("quoted_code_exists", quoted_code_exists),
        bench.host("programs_are_whole", programs_are_whole),
    ]
}

/// A newcomer reads it in a few minutes; everything else has a page.
fn readme_is_short() {
    assert!(README.lines().count() <= 180);
    let (_, program) = QUICKSTART.split_once("\n\n").unwrap();
    assert!(README.contains(&format!("```rust\n{program}```\n")));
}

fn links_lead_somewhere() {
    let root = Path::new(ROOT);
    let mut pages = vec![root.join("README.md"), root.join("DESIGN.md")];
    for folder in [root.join("docs"), PathBuf::from(BOOK)] {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let mut links = 0;
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in targets(&text) {
            links += 1;
            assert!(leads(page, link), "{}: {link}", page.display());
            // mdBook copies nothing else.
            let inside = !page.starts_with(BOOK) || !link.contains('/');
            assert!(inside, "{}: {link} leaves the book", page.display());
        }
        let defined: BTreeSet<&str> = definitions(&text).map(|(name, _)| name).collect();
        let used: BTreeSet<&str> = references(&text).collect();
        assert_eq!(used, defined, "{}", page.display());
    }
    assert!(links > 100, "{links}");
}

/// The text outside of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```").step_by(2);
    blocks.flat_map(|prose| prose.split('`').step_by(2))
}

/// The targets of links that are not on the web: of `[text](target)`, and of `[name]: target`.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let inline = prose(text).flat_map(|prose| prose.split("](").skip(1));
    inline
        .filter_map(|rest| rest.split_once(')').map(|link| link.0))
        .chain(definitions(text).map(|(_, target)| target))
        .filter(|target| !target.contains("://"))
}

/// The names of links `[text][name]`, and of links `[name]` to chapters.
fn references(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|prose| {
        prose.match_indices('[').filter_map(|(at, _)| {
            let (name, rest) = prose[at + 1..].split_once(']')?;
            let is_chapter = chapters().contains(&format!("{name}.md").as_str());
            let is_short = is_chapter && !rest.starts_with(['(', '[', ':']);
            (is_short || prose[..at].ends_with(']')).then_some(name)
        })
    })
}

/// The name and the target of each line `[name]: target`.
fn definitions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    lines.filter_map(|line| line.split_once("]: "))
}

/// Whether the file exists and, if it is a page, has the heading.
fn leads(page: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => PathBuf::from(page),
        _ => page.with_file_name(file),
    };
    let Ok(text) = fs::read(&target) else {
        return false;
    };
    let text = String::from_utf8_lossy(&text);
    let mut headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    heading.is_empty() || headings.any(|line| anchor(line.trim_start_matches('#')) == heading)
}

/// The name that a heading has in links.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The files of the chapters, in order.
fn chapters() -> Vec<&'static str> {
    targets(SUMMARY).collect()
}

fn summary_lists_all_chapters() {
    let listed: BTreeSet<String> = chapters().into_iter().map(str::to_owned).collect();
    assert_eq!(listed.len(), chapters().len(), "a chapter occurs twice");
    let files = fs::read_dir(BOOK).unwrap();
    let mut files: BTreeSet<String> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files.remove("SUMMARY.md"));
    assert_eq!(listed, files);
    // A chapter has the title that the summary gives it.
    for line in SUMMARY.lines().filter(|line| line.contains("](")) {
        let (title, file) = line.split_once("](").unwrap();
        let title = title.trim_start_matches("- ").trim_start_matches('[');
        let text = fs::read_to_string(Path::new(BOOK).join(file.trim_end_matches(')'))).unwrap();
        let is_first = file == "introduction.md)" || text.starts_with(&format!("# {title}\n"));
        assert!(is_first, "{title}");
    }
}

/// src/lib.rs includes every chapter, in the same order, and docs/book/links.md has a definition for each link in it.
fn chapters_are_documentation() {
    let source = include_str!("../../src/lib.rs");
    let (_, list) = source.split_once("\npages! {\n").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let module = |file: &str| file.trim_end_matches(".md").replace('-', "_");
    let expected = chapters().into_iter().skip(1);
    let expected = expected.map(|file| format!("{} {file:?}", module(file)));
    let included = list.lines().map(str::trim).map(str::to_owned);
    assert_eq!(
        included.collect::<Vec<_>>(),
        expected.collect::<Vec<String>>()
    );

    let links = include_str!("../../docs/book/links.md");
    let there: BTreeSet<(&str, &str)> = definitions(links).collect();
    for chapter in chapters() {
        let text = fs::read_to_string(Path::new(BOOK).join(chapter)).unwrap();
        for (name, target) in definitions(&text) {
            let (file, heading) = target.split_once(".md").unwrap();
            let path = format!("crate::pages::{}{heading}", module(file));
            assert!(there.contains(&(name, path.as_str())), "{chapter}: {name}");
        }
    }
}

/// Code of the example `scope` in the chapter about applications: paragraphs of a block are in its files, as they are.
fn quoted_code_exists() {
    let files = fs::read_dir(Path::new(ROOT).join("examples/scope")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.is_file()).map(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
    });
    let texts: Vec<String> = texts.collect();
    let chapter = fs::read_to_string(Path::new(BOOK).join("application.md")).unwrap();
    let mut quotes = 0;
    for block in chapter.split("```").skip(1).step_by(2) {
        let (language, code) = block.split_once('\n').unwrap();
        if !["rust,ignore", "wgsl"].contains(&language) {
            continue;
        }
        for quote in code.split("\n\n") {
            let lines: Vec<&str> = quote.lines().map(str::trim).collect();
            let quote = lines.join("\n");
            assert!(texts.iter().any(|text| text.contains(&quote)), "{quote}");
            quotes += 1;
        }
    }
    assert!(quotes > 5, "{quotes}");
}

/// The programs of the book can be pasted into a file: they have a `main`, and no lines that only rustdoc hides.
fn programs_are_whole() {
    let mut programs = 0;
    for chapter in chapters() {
        let text = fs::read_to_string(Path::new(BOOK).join(chapter)).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            let (language, code) = block.split_once('\n').unwrap();
            if !["rust", "rust,no_run"].contains(&language) {
                continue;
            }
            assert!(code.contains("fn main()"), "{chapter}: {code}");
            let hidden = code.lines().find(|line| line.starts_with("# "));
            assert_eq!(hidden, None, "{chapter}");
            programs += 1;
        }
    }
    assert!(programs > 60, "{programs}");
}

/// The tables in the chapter about costs show what benches/results has.
fn numbers_are_recorded() {
    let read = |name: &str| -> Value {
        let path = Path::new(ROOT).join("benches/results").join(name);
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let (run, peer) = (read("h100.json"), read("h100-pytorch.json"));
    let measured = run["devices"][0]["rows"].as_array().unwrap();
    let mut numbers = 0;
    let mut columns = Vec::new();
    for line in COSTS.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (name, values) = cells.split_last().unwrap();
        if *name == "row" {
            columns = values.to_vec();
            continue;
        }
        if *name == "---" {
            continue;
        }
        let name = name.trim_matches('`');
        let of = |row: &&Value| row["name"] == name;
        let row = measured.iter().find(of).unwrap_or(&Value::Null);
        assert!(!row.is_null(), "no row {name}");
        for (column, shown) in columns.iter().zip(values).skip(1) {
            let value = number(recorded(column, row, &peer["rows"][name]));
            assert_eq!(*shown, value, "{name}: {column}");
            numbers += 1;
        }
    }
    assert!(numbers > 20, "{numbers}");
}

/// What a column shows of a row, and of the same row of PyTorch.
fn recorded(column: &str, row: &Value, peer: &Value) -> f64 {
    let us = |key: &str| row[key].as_f64().unwrap_or(f64::INFINITY);
    match column {
        "device µs" => us("device_us").min(us("back_to_back_us")),
        "wall µs" => us("wall_us"),
        "first µs" => us("first_call_us"),
        "PyTorch µs" => {
            let ways = peer.as_object().unwrap().values();
            let times = ways.filter_map(|way| way["us"].as_f64());
            times.fold(f64::INFINITY, f64::min)
        }
        _ => {
            let targets = row["targets"].as_array().unwrap();
            let target = targets.iter().find(|target| target["what"] == column);
            target.unwrap()["got"].as_f64().unwrap()
        }
    }
}

/// Three digits, as the tables of measurements have them.
fn number(value: f64) -> String {
    match value {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
