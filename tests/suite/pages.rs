//! The README is short, and shows a program that exists. Links between the pages in this repository lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use crate::support::bench::Bench;

const README: &str = include_str!("../../README.md");
const QUICKSTART: &str = include_str!("../../examples/quickstart.rs");

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("readme_is_short", readme_is_short),
        bench.host("links_lead_somewhere", links_lead_somewhere),
    ]
}

/// A newcomer reads it in a few minutes; everything else has a page.
fn readme_is_short() {
    assert!(README.lines().count() <= 180);
    let (_, program) = QUICKSTART.split_once("\n\n").unwrap();
    assert!(README.contains(&format!("```rust\n{program}```\n")));
}

fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["README.md", "DESIGN.md"].map(|page| root.join(page));
    let entries = fs::read_dir(root.join("docs")).unwrap();
    let docs = entries.map(|entry| entry.unwrap().path());
    let mut links = 0;
    for page in pages.into_iter().chain(docs.filter(|path| is_page(path))) {
        let text = fs::read_to_string(&page).unwrap();
        for link in targets(&text) {
            links += 1;
            assert!(leads(&page, link), "{}: {link}", page.display());
        }
    }
    assert!(links > 40, "{links}");
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The targets of `[text](target)` that are not on the web. Code is skipped.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    let words = prose.flat_map(|prose| prose.split('`').step_by(2));
    let links = words.flat_map(|prose| prose.split("](").skip(1));
    links
        .filter_map(|rest| rest.split_once(')').map(|link| link.0))
        .filter(|target| !target.contains("://"))
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
