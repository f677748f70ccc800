//! The trials that wait: each takes a software GPU long, mostly to compile kernels, and another one of its kind stays.
//!
//! They run on a hardware GPU, with `VSLA_LONG=1`, and if `VSLA_QUARTER` is the remainder of their place in the table
//! divided by 4, so that four runs of the checks with different quarters run all of them.

#[cfg(feature = "gpu")]
use libtest_mimic::Trial;

#[cfg(feature = "gpu")]
use crate::support::bench::{Bench, only_on_fast_gpus};

/// A trial that waits, and one that checks the same kind of work and runs on every device.
const WAITING: &[[&str; 2]] = &[
    [
        "bounds::gpu::corpus::values",
        "bounds::gpu::corpus::transforms",
    ],
    [
        "bounds::gpu::corpus::products",
        "bounds::gpu::corpus::transforms",
    ],
    [
        "bounds::gpu::corpus::series",
        "bounds::gpu::corpus::transforms",
    ],
    ["company::gpu::windows", "company::gpu::frames"],
    ["bsr::gpu::every_block", "bsr::gpu::any"],
    ["bytes::gpu::images", "bytes::gpu::series"],
    ["bytes::gpu::boxes", "bytes::gpu::series"],
    ["choice::gpu::measured_costs", "choice::cpu::measured_costs"],
    [
        "attention::gpu::emulated_8::with_options",
        "attention::gpu::emulated_8::results",
    ],
    [
        "conv_boxes::gpu::fft::corpus::rank_3_larger",
        "conv_boxes::gpu::fft::corpus::rank_2_larger",
    ],
    ["bsr::gpu::whole_quads", "bsr::gpu::any"],
    ["company::gpu::cumulations", "company::gpu::lines"],
];

/// Whether a trial waits for its turn on a software GPU.
pub fn waits(trial: &str) -> bool {
    let place = WAITING.iter().position(|[waiting, _]| *waiting == trial);
    let quarter = std::env::var("VSLA_QUARTER").ok();
    let quarter = quarter.and_then(|quarter| quarter.parse::<usize>().ok());
    place.is_some_and(|place| Some(place % 4) != quarter)
}

#[cfg(feature = "gpu")]
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    vec![bench.host("one_of_each_kind_stays", move || {
        for [waiting, stays] in WAITING {
            for name in [waiting, stays] {
                assert!(names.iter().any(|known| known == name), "no trial {name}");
            }
            let waits = WAITING.iter().any(|[waiting, _]| waiting == stays);
            assert!(!waits, "{stays}, which stays for {waiting}, waits itself");
            let runs = !only_on_fast_gpus().contains(*stays);
            assert!(
                runs,
                "a software GPU ignores {stays}, which stays for {waiting}"
            );
        }
    })]
}
