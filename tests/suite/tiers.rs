//! Trials that wait. A software GPU needs long for each, mostly to compile kernels, and one of its kind always runs.
//!
//! On a software GPU, those of list i run only with `VSLA_QUARTER=i`, so that four runs of the checks cover all lists.
//! `VSLA_QUARTER=all` and `VSLA_LONG=1` run all of them, as every hardware GPU does.

#[cfg(feature = "gpu")]
use libtest_mimic::Trial;

#[cfg(feature = "gpu")]
use crate::support::bench::{Bench, only_on_fast_gpus};

/// How the names of trials that wait end, and how that of the trial of the same kind ends, which always runs.
/// Each list takes about the same time.
const WAITING: [&[[&str; 2]]; 4] = [
    &[
        [
            "bounds::gpu::corpus::values",
            "bounds::gpu::corpus::transforms",
        ],
        ["bsr::gpu::half::as_of_f32", "bsr::gpu::half::integers"],
        ["bsr::gpu::whole_quads", "bsr::gpu::any"],
        ["bytes::gpu::boxes", "bytes::gpu::series"],
        [
            "conv_boxes::gpu::modes::long",
            "conv_boxes::gpu::modes::same",
        ],
        [
            "cumulate::gpu::every_class",
            "cumulate::gpu::only_later_values",
        ],
        [
            "functions::gpu::in_every_shape",
            "functions::gpu::of_one_layout",
        ],
        [
            "minimal_shape::gpu::of_few_values",
            "minimal_shape::gpu::shrink::alone",
        ],
        [
            "pooling::gpu::large_windows",
            "pooling::gpu::windows_and_strides",
        ],
    ],
    &[
        [
            "attention::gpu::emulated_8::with_options",
            "attention::gpu::emulated_8::results",
        ],
        ["attention::gpu::widths", "attention::gpu::heads"],
        [
            "bounds::gpu::corpus::products",
            "bounds::gpu::corpus::transforms",
        ],
        [
            "bsr::gpu::half::sampled_as_of_f32",
            "bsr::gpu::half::integers",
        ],
        ["bytes::gpu::images", "bytes::gpu::series"],
        ["company::gpu::windows", "company::gpu::frames"],
        ["fft::gpu::ifft::long", "fft::gpu::ifft::powers_of_two"],
        ["fft::gpu::irfft::long", "fft::gpu::irfft::powers_of_two"],
        ["imaging::gpu::many_samples", "imaging::gpu::random"],
        [
            "label::gpu::edges_of_tiles",
            "label::gpu::images_of_many_tiles",
        ],
    ],
    &[
        ["::corpus::rank_4_tiny_20000", "::corpus::rank_4"],
        ["attention::gpu::many_short", "attention::gpu::heads"],
        [
            "attention::gpu::masks_exclude_exactly",
            "attention::gpu::elements_alone",
        ],
        [
            "attention::gpu::pieces_of_keys",
            "attention::gpu::merged_parts",
        ],
        [
            "bounds::gpu::corpus::series",
            "bounds::gpu::corpus::transforms",
        ],
        [
            "bsr::gpu::epilogue::of_every_form",
            "bsr::gpu::epilogue::gelu",
        ],
        ["bsr::gpu::every_block", "bsr::gpu::any"],
        ["bsr::gpu::heavy_rows", "bsr::gpu::any"],
        ["company::gpu::cumulations", "company::gpu::lines"],
        [
            "device::gpu::memory::fresh_batches_leave_it_flat",
            "device::gpu::memory::memory_of_a_running_sum_is_constant",
        ],
        ["fft::gpu::fft::long", "fft::gpu::fft::powers_of_two"],
        [
            "gradients::gpu::lines_of_any_rank",
            "gradients::gpu::not_numbers",
        ],
        ["holes::gpu::many_images", "holes::gpu::random_images"],
    ],
    &[
        ["::corpus::giant_last", "::corpus::set_far_apart"],
        ["::corpus::tiny_70000", "::corpus::tiny_5000"],
        [
            "attention::gpu::gradients_of_widths",
            "attention::gpu::gradients_with_options",
        ],
        [
            "axes::gpu::integers_of_every_class",
            "axes::gpu::integers_wrap",
        ],
        ["choice::gpu::measured_costs", "choice::cpu::measured_costs"],
        [
            "conv_boxes::gpu::fft::corpus::rank_3_larger",
            "conv_boxes::gpu::fft::corpus::rank_2_larger",
        ],
        ["fft::gpu::rfft::long", "fft::gpu::rfft::even"],
        ["label::gpu::many_images", "label::gpu::random_images"],
        ["lines::gpu::halves", "lines::gpu::halves_of_every_layout"],
        ["matmul::gpu::larger_tiles", "matmul::gpu::views"],
        [
            "matmul::gpu::native::integers",
            "matmul::gpu::native::random",
        ],
        ["programs::gpu::random", "programs::gpu::found_by_fuzzing"],
        ["recorded::gpu::gradients", "recorded::gpu::random"],
        ["sort::gpu::every_class", "sort::gpu::views_begin_anywhere"],
    ],
];

/// The list of a trial that waits, and the trial that always runs in its place.
fn waiting(trial: &str) -> Option<(u32, String)> {
    let other = |[waits, stays]: &[&str; 2]| Some(trial.strip_suffix(waits)?.to_owned() + stays);
    let of_quarter = |quarter: &[[&str; 2]]| quarter.iter().find_map(other);
    (0..)
        .zip(WAITING)
        .find_map(|(i, quarter)| Some((i, of_quarter(quarter)?)))
}

/// Whether a software GPU leaves this trial to another run.
pub fn waits(trial: &str) -> bool {
    let chosen = std::env::var("VSLA_QUARTER").unwrap_or_default();
    let is_due = |quarter| match chosen.as_str() {
        "" => false,
        "all" => true,
        "0" | "1" | "2" | "3" => chosen == format!("{quarter}"),
        _ => panic!("VSLA_QUARTER={chosen}: expected 0, 1, 2, 3 or all"),
    };
    waiting(trial).is_some_and(|(quarter, _)| !is_due(quarter))
}

#[cfg(feature = "gpu")]
pub fn tests(bench: &Bench, names: Vec<String>) -> Vec<Trial> {
    vec![bench.host("one_of_each_kind_stays", move || {
        let ignored = only_on_fast_gpus().clone();
        let on_gpu = |name: &&String| name.contains("::gpu::") && !ignored.contains(*name);
        let on_gpu: Vec<&String> = names.iter().filter(on_gpu).collect();
        for [waits, _] in WAITING.into_iter().flatten() {
            let found = on_gpu.iter().any(|name| name.ends_with(waits));
            assert!(found, "no trial {waits} on a software GPU");
        }
        for name in on_gpu {
            if let Some((_, stays)) = waiting(name) {
                let runs = names.contains(&stays) && !ignored.contains(&stays);
                let always = runs && waiting(&stays).is_none();
                assert!(always, "{stays}, which stays for {name}, does not run");
            }
        }
    })]
}
