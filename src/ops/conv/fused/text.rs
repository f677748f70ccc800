//! Writes the WGSL that depends on the build of the kernel: the transforms, and the numbers and texts of the rest.

use std::borrow::Cow;

use super::{Build, CLASSES, Class, Results, transforms};
use crate::ops::butterfly::{Generator, Kind};
use crate::plan::{Listed, named};
use crate::ragged::DType;

/// Writes the transforms of a build.
///
/// Uses: what [`Generator::function`] says. Defines, for each class of N values: `forward_N(v, j, at)`, and
/// `inverse_N(v, h, j, at)`, of the product of two arrays.
pub(super) fn generate(build: &Build) -> String {
    let mut generator = Generator::padded();
    let mut out = String::new();
    // Every build generates all classes, so that all builds share one table of twiddles.
    for class in CLASSES.iter().filter(|class| class.length > 0) {
        let text = transforms(&mut generator, class);
        if transforms_of(build).any(|held| held == class) {
            out.push_str(&text);
        }
    }
    out
}

fn words(class: &Class) -> u32 {
    Generator::padded().words(&class.transform(Kind::ForwardRightAngle))
}

/// The transforms that a build has the code of.
fn transforms_of(build: &Build) -> impl Iterator<Item = &'static Class> {
    let (classes, part) = (build.classes.iter(), build.part);
    classes.filter(move |class| class.length > 0 && part.is_none_or(|part| part == *class))
}

/// `WG` invocations per workgroup, of which `LANES` share an item that is convolved directly, and `EXCHANGE` words of
/// workgroup memory.
pub(super) fn numbers(build: &Build) -> Vec<(&'static str, u32)> {
    let slots = |class: &Class| 1 << (build.log_group - class.log_lanes());
    let memory = transforms_of(build).map(|class| words(class) * slots(class));
    vec![
        ("WG", 1 << build.log_group),
        ("LANES", 1 << CLASSES[0].log_lanes()),
        ("EXCHANGE", memory.max().unwrap_or(1)),
    ]
}

/// `CLASSES`: the length of each transform, the values that an invocation holds, the invocations, and the words of
/// workgroup memory. `CHOICE`: the name of each class, and where it begins and ends, in workgroups and in items.
pub(super) fn texts(build: &Build) -> Vec<(String, String)> {
    let class = |class: &Class| {
        let (held, threads) = (1 << class.held, 1 << class.log_lanes());
        format!("{} {held} {threads} {}", class.length, words(class))
    };
    let classes: Vec<String> = transforms_of(build).map(class).collect();
    let mut begin = "0u 0u".to_owned();
    let choice = build
        .classes
        .iter()
        .rev()
        .enumerate()
        .filter_map(|(i, class)| {
            let [group, item] = [["x", "y"], ["z", "w"]][i % 2];
            let end = format!("p.ends[{0}].{group} p.ends[{0}].{item}", i / 2);
            let name = match class.length {
                0 => "directly".to_owned(),
                length => length.to_string(),
            };
            let begin = std::mem::replace(&mut begin, end.clone());
            let is_held = build.part.is_none_or(|part| part == class);
            is_held.then(|| format!("{name} {begin} {end}"))
        });
    let choice: Vec<String> = choice.collect();
    vec![
        ("CLASSES".to_owned(), classes.join(", ")),
        ("CHOICE".to_owned(), choice.join(", ")),
    ]
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (true, self.flag),
            (self.results == Results::Added, "ADD"),
            (self.results == Results::Largest, "MAX"),
            (self.part.is_some(), "PART"),
            (
                self.part.is_some(),
                self.part.map_or("", |class| class.flag),
            ),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        numbers(self)
    }

    fn texts(&self) -> Vec<(String, String)> {
        texts(self)
    }

    fn generate(&self, part: &str) -> Option<String> {
        (part == "transforms").then(|| generate(self))
    }

    // One class compiles in a small part of the time of all.
    fn parts(&self) -> Vec<Box<dyn Listed + Send>> {
        if self.part.is_some() || self.classes.len() == 1 {
            return Vec::new();
        }
        let classes = self.classes.iter();
        let part = |class| Build {
            part: Some(class),
            ..*self
        };
        classes.map(|class| Box::new(part(class)) as _).collect()
    }
}
