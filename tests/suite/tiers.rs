//! The trials that wait: each takes a software GPU long, mostly to compile kernels, and another one of its kind stays.
//!
//! They run on a hardware GPU, with `VSLA_LONG=1`, and if `VSLA_QUARTER` is the remainder of their place in the table
//! divided by 4, so that four runs of the checks with different quarters run all of them.

#[cfg(feature = "gpu")]
use libtest_mimic::Trial;

#[cfg(feature = "gpu")]
use crate::support::bench::Bench;

/// A trial that waits, and one that checks the same kind of work on a GPU and does not.
const WAITING: &[[&str; 2]] = &[
    [
        "bounds::gpu::corpus::values",
        "bounds::gpu::programs_of_values",
    ],
    [
        "bounds::gpu::corpus::products",
        "bounds::gpu::programs_of_products",
    ],
    [
        "bounds::gpu::corpus::series",
        "bounds::gpu::programs_of_series",
    ],
    [
        "bounds::gpu::corpus::transforms",
        "bounds::gpu::random_programs",
    ],
    ["company::gpu::windows", "company::gpu::frames"],
    ["bsr::gpu::every_block", "bsr::gpu::any"],
    ["bytes::gpu::images", "bytes::gpu::by_hand"],
    ["bytes::gpu::series", "bytes::gpu::by_hand"],
    ["bytes::gpu::boxes", "bytes::gpu::by_hand"],
    [
        "choice::gpu::measured_costs",
        "choice::gpu::is_what_the_device_does",
    ],
    ["attention::gpu::pieces_of_keys", "attention::gpu::random"],
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
        }
    })]
}
