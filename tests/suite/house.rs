//! The architecture in DESIGN.md: no circular dependencies between files, and each layer depends only on layers below
//! it. And the width of comments, which rustfmt leaves as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use proc_macro2::{TokenStream, TokenTree};

use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("no_circles", no_circles),
        bench.host("layers_use_lower_layers", layers_use_lower_layers),
        bench.host("front_page", front_page),
        bench.host("comments_fit", comments_fit),
    ]
}

/// A path of names, such as `ops::fft::plan`.
type Names = Vec<String>;

/// The files that each file uses, and the path by which it uses them.
type Arrows<'a> = BTreeMap<&'a Names, BTreeMap<&'a Names, &'a Names>>;

/// The only room in which files and `mod.rs` may use each other: a device keeps tensors, a tensor may belong to a
/// recording, and a recording belongs to a device.
const TYPES: &[&str] = &["tensor"];

/// A source file.
#[derive(Default)]
struct File {
    /// Names that are defined here.
    defined: BTreeSet<String>,
    /// Names that a `use` imports, and the paths that they stand for.
    imported: BTreeMap<String, Names>,
    /// Paths that this file uses.
    used: BTreeSet<Names>,
}

/// The library's files, by the paths of their modules. Modules of unit tests are left out.
struct House(BTreeMap<Names, File>);

impl House {
    fn read() -> House {
        let mut house = House(BTreeMap::new());
        house.visit(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &[]);
        house
    }

    fn visit(&mut self, folder: &Path, module: &[String]) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let inner = [module, std::slice::from_ref(&stem)].concat();
            if path.is_dir() {
                self.visit(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests"
            {
                let module = if ["mod", "lib"].contains(&&*stem) {
                    module
                } else {
                    &inner
                };
                let text = fs::read_to_string(&path).unwrap();
                let mut file = File::default();
                file.read(text.parse().unwrap());
                self.0.insert(module.to_vec(), file);
            }
        }
    }

    /// The file that defines what a path in `module` refers to; `None` if that is in another crate.
    fn resolve(&self, module: &[String], path: &[String]) -> Option<Names> {
        self.follow(module, path, 16)
    }

    /// The maximum number of imports to follow.
    fn follow(&self, module: &[String], path: &[String], imports: usize) -> Option<Names> {
        let imports = imports.checked_sub(1)?;
        let mut at = module.to_vec();
        let mut rest = path;
        match path[0].as_str() {
            "crate" => {
                at.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {}
            name => {
                let file = &self.0[module];
                let inner = [module, &[name.to_owned()]].concat();
                if let Some(target) = file.imported.get(name) {
                    let whole = [target, &path[1..]].concat();
                    return (whole != path)
                        .then(|| self.follow(module, &whole, imports))
                        .flatten();
                } else if !self.0.contains_key(&inner) {
                    return None;
                }
            }
        }
        while let Some((name, after)) = rest.split_first() {
            let inner = [&at[..], std::slice::from_ref(name)].concat();
            if name == "super" {
                at.pop();
            } else if self.0.contains_key(&inner) {
                at = inner;
            } else {
                let file = &self.0[&at];
                return match file.imported.get(name) {
                    Some(target) if !file.defined.contains(name) => {
                        self.follow(&at, &[target, after].concat(), imports)
                    }
                    _ => Some(at),
                };
            }
            rest = after;
        }
        Some(at)
    }

    /// Whether the last name of a path is that of a module.
    fn is_module(&self, module: &[String], path: &[String]) -> bool {
        let end = path.last();
        self.resolve(module, path)
            .is_some_and(|target| target.last() == end)
    }

    /// The files that each file uses, and the path by which it uses them. A `mod.rs` does not use what it only exports
    /// from its room.
    fn arrows(&self) -> Arrows<'_> {
        let mut arrows = Arrows::new();
        for (module, file) in &self.0 {
            let of = arrows.entry(module).or_default();
            for path in file.used.iter().chain(file.imported.values()) {
                // Naming a module is not a use; naming one of its items is.
                if let Some(target) = self.resolve(module, path)
                    && target != *module
                    && !(target.starts_with(module)
                        && (!file.used.contains(path) || module == TYPES))
                    && !self.is_module(module, path)
                {
                    let (target, _) = self.0.get_key_value(&target).unwrap();
                    of.entry(target).or_insert(path);
                }
            }
        }
        arrows
    }
}

impl File {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let text: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        let mut i = 0;
        while i < tokens.len() {
            if is_test_module(&text[i..]) {
                // Skips its body, or stops at the `;` of one in a file of its own.
                i += text[i..].iter().position(|word| word == "mod").unwrap() + 2;
            } else if text[i] == "use" && text.get(i + 1).is_some_and(|word| word != "<") {
                let end = i + text[i..].iter().position(|word| word == ";").unwrap();
                self.import(&tokens[i + 1..end], &[]);
                i = end;
            } else if let TokenTree::Group(group) = &tokens[i] {
                let mut inner = File::default();
                inner.read(group.stream());
                if i > 1 && text[i - 2] == "mod" {
                    inner.is_within_file();
                }
                self.defined.append(&mut inner.defined);
                self.imported.append(&mut inner.imported);
                self.used.append(&mut inner.used);
            } else if let TokenTree::Ident(_) = &tokens[i] {
                const DEFINE: [&str; 10] = [
                    "fn", "struct", "enum", "trait", "type", "const", "static", "union", "mut",
                    "mod",
                ];
                if i > 0 && DEFINE.contains(&&*text[i - 1]) {
                    self.defined.insert(text[i].clone());
                }
                let mut path = vec![text[i].clone()];
                while text[i + 1..].starts_with(&[":".into(), ":".into()])
                    && matches!(tokens.get(i + 3), Some(TokenTree::Ident(_)))
                {
                    path.push(text[i + 3].clone());
                    i += 3;
                }
                let before = i > 3 * (path.len() - 1) && text[i - 3 * (path.len() - 1) - 1] == ".";
                if !before && !["crate", "self", "super"].contains(&&**path.last().unwrap()) {
                    self.used.insert(path);
                }
            }
            i += 1;
        }
    }

    /// For an inline module, whose `super` is this file.
    fn is_within_file(&mut self) {
        let outwards = |mut path: Names| {
            if path[0] == "super" {
                path[0] = "self".to_owned();
            }
            path
        };
        self.used = std::mem::take(&mut self.used)
            .into_iter()
            .map(outwards)
            .collect();
        for path in self.imported.values_mut() {
            *path = outwards(std::mem::take(path));
        }
    }

    /// Parses one tree of a `use`, without its `;`.
    fn import(&mut self, tree: &[TokenTree], prefix: &[String]) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut words = tree.iter();
        while let Some(word) = words.next() {
            match word {
                TokenTree::Ident(ident) if *ident == "as" => {
                    name = words.next().map(ToString::to_string);
                }
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for leaf in inner.split(|word| word.to_string() == ",") {
                        self.import(leaf, &path);
                    }
                    return;
                }
                _ => {}
            }
        }
        if path.len() > prefix.len() {
            path.pop_if(|last| last == "self");
            let name = name.unwrap_or_else(|| path.last().unwrap().clone());
            self.imported.insert(name, path);
        }
    }
}

/// Whether these tokens begin with a module that is compiled only with the feature `testing`.
fn is_test_module(text: &[String]) -> bool {
    let [mark, attribute, item @ ..] = text else {
        return false;
    };
    let attribute = attribute.replace(' ', "");
    let needs_testing = [
        r#"[cfg(feature="testing")]"#,
        r#"[cfg(all(feature="gpu",feature="testing"))]"#,
    ];
    // Before `mod`, there may be a visibility, of one or two words.
    let mut words = item.iter().take(3);
    mark == "#" && needs_testing.contains(&&*attribute) && words.any(|word| word == "mod")
}

/// Sets of files that can all be reached from each other.
fn circles<'a>(arrows: &Arrows<'a>) -> BTreeSet<BTreeSet<&'a Names>> {
    let reach = |from: &'a Names| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(
                arrows[file]
                    .keys()
                    .filter(|target| reached.insert(**target)),
            );
        }
        reached
    };
    let reached: BTreeMap<&Names, BTreeSet<&Names>> =
        arrows.keys().map(|&file| (file, reach(file))).collect();
    let circle = |file: &Names| -> BTreeSet<&'a Names> {
        reached[file]
            .iter()
            .copied()
            .filter(|other| reached[*other].contains(file))
            .collect()
    };
    arrows
        .keys()
        .map(|file| circle(file))
        .filter(|circle| circle.len() > 1)
        .collect()
}

fn no_circles() {
    let house = House::read();
    let arrows = house.arrows();
    let files = in_circles(&arrows);
    assert!(files.is_empty(), "circles of files:\n{files}");
    // A room of `ops` is a folder or a file.
    let room = |file: &Names| match &file[..] {
        [ops, room, ..] if ops == "ops" => Some(vec![ops.clone(), room.clone()]),
        _ => None,
    };
    let names: BTreeSet<Names> = arrows.keys().filter_map(|file| room(file)).collect();
    let of = |file: &Names| room(file).and_then(|room| names.get(&room));
    let mut rooms: Arrows<'_> = names.iter().map(|room| (room, BTreeMap::new())).collect();
    for (from, targets) in &arrows {
        for (to, path) in targets {
            if let (Some(from), Some(to)) = (of(from), of(to))
                && from != to
            {
                rooms.get_mut(from).unwrap().entry(to).or_insert(path);
            }
        }
    }
    let rooms = in_circles(&rooms);
    assert!(rooms.is_empty(), "circles of rooms:\n{rooms}");
}

/// What is used within each circle.
fn in_circles(arrows: &Arrows<'_>) -> String {
    let mut found = String::new();
    for circle in circles(arrows) {
        for &from in &circle {
            for (to, path) in arrows[from].iter().filter(|(to, _)| circle.contains(*to)) {
                let [from, to, path] = [from, to, path].map(|names| names.join("::"));
                found += &format!("{from} -> {to}: {path}\n");
            }
        }
        found += "\n";
    }
    found
}

/// The layers, from the top.
const LINES: [&[&str]; 9] = [
    &["io"],
    &["fleet"],
    &["program"],
    &["tensor"],
    &["ops"],
    &["cpu", "gpu"],
    &["plan"],
    &["ragged"],
    &["host", "machine", "error"],
];

fn layers_use_lower_layers() {
    let house = House::read();
    let line = |file: &Names| {
        LINES.iter().position(|line| {
            file.first()
                .is_some_and(|room| line.contains(&room.as_str()))
        })
    };
    let mut found = Vec::new();
    for (from, targets) in house.arrows() {
        for (to, path) in targets {
            if let (Some(own), Some(other)) = (line(from), line(to))
                && other < own
            {
                found.push(format!(
                    "{} -> {}: {}",
                    from.join("::"),
                    to.join("::"),
                    path.join("::")
                ));
            }
        }
    }
    assert!(found.is_empty(), "upwards:\n{}", found.join("\n"));
}

/// The front page of the documentation has few items, and each item has one path.
fn front_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
    let text = fs::read_to_string(path).unwrap();
    let (mut root, mut paths) = (Vec::new(), Vec::new());
    exports(text.parse().unwrap(), &mut root, &mut paths);
    assert!(root.contains(&"Tensor".to_owned()) && root.contains(&"conv".to_owned()));
    assert!(root.len() <= 25, "{} items: {root:?}", root.len());
    let count = paths.len();
    let unique: BTreeSet<_> = paths.iter().map(|path| path.last()).collect();
    assert_eq!(unique.len(), count, "twice: {paths:?}");
}

/// The names that a module exports, without those that the documentation hides, and the paths of all items in it.
fn exports(tokens: TokenStream, names: &mut Vec<String>, paths: &mut Vec<Names>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let text: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    for i in 1..tokens.len() {
        let hidden = i > 1 && text[i - 2].replace(' ', "") == "[doc(hidden)]";
        if text[i - 1] != "pub" || hidden {
            continue;
        } else if text[i] == "use" {
            let end = i + text[i..].iter().position(|word| word == ";").unwrap();
            let mut file = File::default();
            file.import(&tokens[i + 1..end], &[]);
            names.extend(file.imported.keys().cloned());
            paths.extend(file.imported.into_values());
        } else if text[i] == "mod" {
            names.push(text[i + 1].clone());
            if let TokenTree::Group(group) = &tokens[i + 2] {
                exports(group.stream(), &mut Vec::new(), paths);
            }
        }
    }
}

/// The most columns of a line.
const WIDTH: usize = 120;

/// Lines of comments in Rust and WGSL have at most `WIDTH` columns.
fn comments_fit() {
    let mut wide = Vec::new();
    for folder in [
        "src",
        "shaders",
        "catalogue",
        "tests",
        "benches",
        "examples",
        "fuzz",
    ] {
        find_wide(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut wide,
        );
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

fn find_wide(folder: &Path, wide: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Made by a build.
            if !path.ends_with("target") {
                find_wide(&path, wide);
            }
            continue;
        }
        if !path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "wgsl")
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| {
            line.trim_start().starts_with("//") && line.chars().count() > WIDTH
        });
        wide.extend(lines.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
    }
}
