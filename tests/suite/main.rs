//! All tests of the library but those of its documentation, in a single binary, each with its own name.
//!
//! `cargo test --all-features conv::` runs one module, `cargo test --all-features gpu::` one device. Without a GPU,
//! tests that need one are ignored, or fail with `VSLA_REQUIRE_GPU=1`. These variables change what runs:
//!
//! - `VSLA_LARGE=1` adds the largest batches.
//! - `VSLA_LONG=1` runs every case instead of a representative selection, trials that wait for another run without a
//!   hardware GPU, and operations on one image as large as the device allows. `VSLA_QUARTER=0` to `3` runs a quarter of
//!   those that wait, and `VSLA_QUARTER=all` runs all of them (`tiers.rs`).
//! - `VSLA_EVERY_LENGTH=folder` writes the error of every transform length to this folder.
//! - With `VSLA_INSTRUMENTED=1`, the kernels of all trials count their out-of-bounds buffer accesses, and there must be
//!   none; if all trials or those of `gpu` run, every variant of every kernel must have taken part.
//! - `VSLA_TIMES=file` writes the seconds that each trial takes to this file.
//!
//! A new file `x.rs` needs a `mod x;` and an entry in [`MODULES`], and provides `pub fn tests(bench: &Bench) ->
//! Vec<Trial>`.

mod add;
mod attention;
mod axes;
mod benchmark;
#[cfg(feature = "gpu")]
mod bounds;
mod bsr;
mod bytes;
mod choice;
mod company;
mod compare;
#[cfg(feature = "gpu")]
mod compilers;
mod complex;
mod complex_matmul;
mod concat;
mod conv;
mod conv_boxes;
mod conv_plan;
mod cookbook;
mod corpus;
mod correlate_max;
mod created;
mod cumulate;
mod device;
mod diff;
mod elements;
mod embedding;
mod eval;
mod fft;
mod fft2;
mod fleet;
mod functions;
mod gather;
mod geometry;
mod golden;
mod gradients;
mod hadamard;
mod half;
mod histogram;
mod holes;
mod host;
mod house;
mod imaging;
mod io;
mod kron;
mod label;
mod labels;
mod laws;
mod lines;
mod map;
mod maps;
mod matmul;
mod minimal_shape;
#[cfg(feature = "gpu")]
mod mutants;
mod operators;
#[cfg(feature = "safetensors")]
mod packages;
mod pages;
mod pooling;
mod programs;
mod quantile;
mod ragged;
mod random_programs;
mod recorded;
mod reduce;
mod reference;
mod refusals;
mod regions;
mod rotary;
mod rows;
mod sbd;
mod scatter;
#[cfg(feature = "gpu")]
mod shaders;
mod shape_matrix;
mod shapes;
mod sort;
mod stacking;
mod stft;
mod sums;
mod support;
mod table;
mod take;
mod tiers;
mod unit;
mod work;
mod written;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Write;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use support::allocation;
use support::bench::{self, Bench};
use support::lanes;

/// A module's name, which is the prefix of its trials' names, and the function that creates them.
type Module = (&'static str, fn(&Bench) -> Vec<Trial>);

// A module that is declared above but forgotten here is reported by the compiler: its `tests` is never used.
const MODULES: &[Module] = &[
    ("add", add::tests),
    ("attention", attention::tests),
    ("axes", axes::tests),
    ("benchmark", benchmark::tests),
    #[cfg(feature = "gpu")]
    ("bounds", bounds::tests),
    ("bsr", bsr::tests),
    ("bytes", bytes::tests),
    ("choice", choice::tests),
    ("compare", compare::tests),
    ("company", company::tests),
    #[cfg(feature = "gpu")]
    ("compilers", compilers::tests),
    ("complex", complex::tests),
    ("complex_matmul", complex_matmul::tests),
    ("concat", concat::tests),
    ("conv", conv::tests),
    ("conv_boxes", conv_boxes::tests),
    ("conv_plan", conv_plan::tests),
    ("cookbook", cookbook::tests),
    ("corpus", corpus::tests),
    ("correlate_max", correlate_max::tests),
    ("created", created::tests),
    ("cumulate", cumulate::tests),
    ("device", device::tests),
    ("diff", diff::tests),
    ("elements", elements::tests),
    ("embedding", embedding::tests),
    ("eval", eval::tests),
    ("fft", fft::tests),
    ("fft2", fft2::tests),
    ("fleet", fleet::tests),
    ("functions", functions::tests),
    ("golden", golden::tests),
    ("gradients", gradients::tests),
    ("hadamard", hadamard::tests),
    ("gather", gather::tests),
    ("geometry", geometry::tests),
    ("half", half::tests),
    ("histogram", histogram::tests),
    ("holes", holes::tests),
    ("host", host::tests),
    ("house", house::tests),
    ("imaging", imaging::tests),
    ("io", io::tests),
    ("kron", kron::tests),
    ("label", label::tests),
    ("labels", labels::tests),
    ("laws", laws::tests),
    ("lines", lines::tests),
    ("map", map::tests),
    ("maps", maps::tests),
    ("matmul", matmul::tests),
    ("minimal_shape", minimal_shape::tests),
    ("operators", operators::tests),
    #[cfg(feature = "safetensors")]
    ("packages", packages::tests),
    ("pages", pages::tests),
    ("pooling", pooling::tests),
    ("programs", random_programs::tests),
    ("quantile", quantile::tests),
    ("ragged", ragged::tests),
    ("recorded", recorded::tests),
    ("reduce", reduce::tests),
    ("reference", reference::tests),
    ("refusals", refusals::tests),
    ("shape_matrix", shape_matrix::tests),
    ("regions", regions::tests),
    ("rotary", rotary::tests),
    ("rows", rows::tests),
    ("sbd", sbd::tests),
    ("scatter", scatter::tests),
    #[cfg(feature = "gpu")]
    ("shaders", shaders::tests),
    ("shapes", shapes::tests),
    ("sort", sort::tests),
    ("take", take::tests),
    ("stacking", stacking::tests),
    ("stft", stft::tests),
    ("sums", sums::tests),
    ("unit", unit::tests),
    ("work", work::tests),
    ("written", written::tests),
];

/// The key by which trials are sorted before they start. It is the same in every run, and mixes the modules, so that
/// trials of both lanes of a software GPU and of the CPU run side by side (`support::lanes`).
fn mixed(trial: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(trial)
}

fn main() -> ExitCode {
    if let Ok(task) = std::env::var(host::TASK) {
        host::run(&task);
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    allocation::disable_backtraces_of_others();
    bench::catch_panics_quietly();
    if !arguments.list {
        bench::announce_gpu();
        arguments.test_threads = arguments.test_threads.or_else(lanes::threads);
    }
    let is_module = |name: &&str| MODULES.iter().any(|(module, _)| module == name);
    assert!(lanes::SECOND.iter().all(is_module), "no such module");
    let mut trials: Vec<Trial> = MODULES
        .iter()
        .flat_map(|&(module, tests)| tests(&Bench::new(module)))
        .collect();
    let names: Vec<_> = trials.iter().map(|trial| trial.name().to_owned()).collect();
    #[cfg(feature = "gpu")]
    {
        trials.extend(mutants::tests(&Bench::new("mutants"), names.clone()));
        trials.extend(tiers::tests(&Bench::new("tiers"), names.clone()));
    }
    trials.extend(table::tests(&Bench::new("table"), names));
    if !arguments.list {
        let in_turn = |trial: Trial| {
            let waits = tiers::waits(trial.name());
            trial.with_ignored_flag(waits)
        };
        trials = trials.into_iter().map(in_turn).collect();
        trials.sort_by_cached_key(|trial| mixed(trial.name()));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let failed = conclusion.has_failed();
    #[cfg(feature = "gpu")]
    let failed = failed || !bounds::every_variant_ran(&arguments);
    leave(failed)
}

/// Ends the process without the exit handlers of libraries: after all trials, that of NVIDIA's driver takes more than
/// two minutes.
fn leave(failed: bool) -> ExitCode {
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn _exit(code: std::ffi::c_int) -> !;
        }
        let _ = std::io::stdout().flush();
        // SAFETY: the function is in C's standard library, with this signature.
        unsafe { _exit(failed.into()) }
    }
    #[cfg(not(unix))]
    ExitCode::from(u8::from(failed))
}
