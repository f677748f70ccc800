//! Every kernel for the unit tests, which share one assembly and one parse of each; and tests that the declarations in
//! Rust and in WGSL agree for all of them.

use std::sync::{LazyLock, OnceLock};

use naga::{AddressSpace, Module, StorageAccess, TypeInner};
use rayon::prelude::*;

use super::pipelines::PARAM_WORDS;
use super::wgsl_text::without_comments;
use crate::plan::assembler::assemble;
use crate::plan::{Access, Field, Interface, Kernel};

/// A variant of a kernel.
pub(super) struct Assembled {
    pub kernel: &'static Kernel,
    pub name: String,
    pub text: String,
    module: OnceLock<Module>,
}

impl Assembled {
    pub fn module(&self) -> &Module {
        self.module.get_or_init(|| parsed(&self.name, &self.text))
    }
}

/// All variants, in the order of the kernel list.
pub(super) fn variants() -> &'static [Assembled] {
    static ALL: LazyLock<Vec<Assembled>> = LazyLock::new(|| {
        let of_kernel = |kernel: &'static Kernel| -> Vec<Assembled> {
            let mut all = Vec::new();
            kernel.for_each(|variant| {
                all.push(Assembled {
                    kernel,
                    name: kernel.name(variant),
                    text: assemble(kernel, variant).unwrap(),
                    module: OnceLock::new(),
                });
            });
            all
        };
        let kernels: Vec<_> = crate::ops::all_kernels().collect();
        kernels.into_par_iter().flat_map_iter(of_kernel).collect()
    });
    &ALL
}

pub(super) fn parsed(name: &str, source: &str) -> Module {
    naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(source, name)))
}

/// The names of a shader's parameters after the first two, with their sizes in words.
fn params(module: &Module) -> Vec<(String, usize)> {
    let mut globals = module.global_variables.iter();
    let (_, block) = globals
        .find(|(_, global)| global.space == AddressSpace::Uniform)
        .unwrap();
    let TypeInner::Struct { members, .. } = &module.types[block.ty].inner else {
        panic!("the parameters are no structure");
    };
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let mut at = 0;
    let mut names = members.iter().map(|member| {
        // A gap would be a word that is never written.
        assert_eq!(member.offset, at, "{:?}", member.name);
        let size = layouter[member.ty].size;
        at += size;
        (member.name.clone().unwrap(), size as usize / 4)
    });
    for common in ["first_group", "groups"] {
        assert_eq!(names.next(), Some((common.to_owned(), 1)));
    }
    names.collect()
}

/// The names of a shader's bindings from 1 on, and how they are bound.
fn slots(module: &Module) -> Vec<(String, Access)> {
    let mut slots: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(_, global)| {
            let AddressSpace::Storage { access } = global.space else {
                return None;
            };
            let access = match access.contains(StorageAccess::STORE) {
                true => Access::Write,
                false => Access::Read,
            };
            let number = global.binding.unwrap().binding;
            Some((number, (global.name.clone().unwrap(), access)))
        })
        .collect();
    slots.sort_by_key(|(number, _)| *number);
    slots.into_iter().map(|(_, slot)| slot).collect()
}

fn flat(fields: &[Field], to: &mut Vec<(String, usize)>) {
    for field in fields {
        match *field {
            Field::Words(name, words) => to.push((name.to_owned(), words)),
            Field::Of(fields) => flat(fields, to),
        }
    }
}

#[apply(unit_test)]
fn names_of_slots_and_parameters_are_those_of_the_shader() {
    variants().par_iter().for_each(|variant| {
        let Interface {
            slots: names,
            access,
            params: fields,
        } = variant.kernel.interface;
        let names = names.iter().map(|name| name.to_string());
        let expected: Vec<_> = names.zip(access.iter().copied()).collect();
        let mut words = Vec::new();
        flat(fields, &mut words);
        assert!(words.iter().map(|word| word.1).sum::<usize>() <= PARAM_WORDS);
        let (name, module) = (&variant.name, variant.module());
        assert_eq!(params(module), words, "{name}");
        assert_eq!(slots(module), expected, "{name}");
    });
}

/// The generated variant in `shaders/expanded`, for readers.
const EXAMPLE: &str = "fft.c32.n32";

/// The hash of a variant's text. Comments, blank lines and spaces at the ends of lines do not count.
fn hash(text: &str) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for line in without_comments(text).lines().map(str::trim_end) {
        if !line.is_empty() {
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
    }
    format!("{:08x}", hasher.finalize())
}

/// Compares every variant with its hash in `shaders/expanded/hashes.txt`, and the example with its text there.
///
/// `VSLA_BLESS=1` writes them anew. A published package does not contain them.
#[apply(unit_test)]
fn texts_are_those_of_the_hashes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/expanded");
    if !folder.exists() {
        return;
    }
    let example = folder.join(format!("{EXAMPLE}.wgsl"));
    let hashes = folder.join("hashes.txt");
    let [text, stored] =
        [&example, &hashes].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let stored: Vec<&str> = stored.lines().collect();
    let (mut lines, mut changed) = (Vec::new(), Vec::new());
    for kernel in variants().chunk_by(|a, b| a.kernel.shader.stem == b.kernel.shader.stem) {
        let stem = kernel[0].kernel.shader.stem;
        let before = stored
            .iter()
            .find(|line| line.split(' ').next() == Some(stem));
        let before: Vec<&str> = before.map_or_else(Vec::new, |line| line.split(' ').collect());
        let mut line = stem.to_owned();
        for variant in kernel {
            let hash = hash(&variant.text);
            if !before.contains(&&*hash) {
                changed.push(variant.name.as_str());
            }
            line = format!("{line} {hash}");
        }
        lines.push(line);
    }
    // So that the order of operations does not matter.
    lines.sort();
    let found = variants().iter().find(|variant| variant.name == EXAMPLE);
    let found = &found.unwrap().text;
    if std::env::var_os("VSLA_BLESS").is_some() {
        std::fs::write(&example, found).unwrap();
        std::fs::write(&hashes, lines.join("\n") + "\n").unwrap();
        return;
    }
    let again = "run this test with VSLA_BLESS=1";
    assert!(
        changed.is_empty(),
        "changed: {}; {again}",
        changed.join(" ")
    );
    assert!(lines == stored, "variants were removed or moved; {again}");
    assert!(text == *found, "{EXAMPLE} has other comments; {again}");
}
