//! Attention of halves on emulated cooperative matrices: each kernel, with every option at once.
//!
//! Without `VSLA_LONG=1`, only for matrices of 8 × 8, on which no other trial runs.

use libtest_mimic::Trial;
use vsla::{Device, f16};

use super::case::Case;
use super::{OPTIONS, excluded, gradients};
use crate::support::bench::{Bench, DeviceTest, emulating_gpu, is_long};

pub fn trials(bench: &Bench) -> Vec<Trial> {
    let short: [DeviceTest; 3] = [
        ("results", results),
        ("with_options", with_options),
        ("short", short),
    ];
    let long: [DeviceTest; 15] = [
        ("slopes", slopes),
        ("lengths", super::lengths),
        ("widths", super::widths),
        ("heads", super::heads),
        (
            "options_alone_and_in_pairs",
            super::options_alone_and_in_pairs,
        ),
        ("masks_exclude_exactly", super::masks_exclude_exactly),
        ("growing_keys", super::growing_keys),
        ("large_keys", super::large_keys),
        ("many_short", super::many_short),
        ("elements_alone", super::elements_alone),
        ("not_a_number", super::not_a_number),
        ("excluded_by_bias", excluded::by_bias),
        ("weights_not_a_number", excluded::weights),
        ("large_scores", excluded::large_scores),
        ("gradients_of_halves", gradients::of_halves),
    ];
    let (sides, tests): (&[u32], Vec<DeviceTest>) = match is_long() {
        true => (&[8, 16], short.into_iter().chain(long).collect()),
        false => (&[8], short.to_vec()),
    };
    let trials = sides.iter().flat_map(|side| {
        let trial = |(name, test): &DeviceTest| bench.on_emulated_matrices(*side, name, *test);
        tests.iter().map(trial)
    });
    let slopes = sides.iter().map(|side| {
        let open: fn() -> _ = match side {
            8 => || emulating_gpu(8),
            _ => || emulating_gpu(16),
        };
        let name = format!("emulated_{side}::slopes_with_options");
        bench.on_fast_gpu(&name, open, slopes_with_options)
    });
    trials.chain(slopes).collect()
}

/// Elements of several tiles and stages, whole and not. Keys grow, so that what rows have summed is scaled again.
fn results(device: &Device) {
    let case = Case {
        sizes: vec![(40, 0), (33, 30), (70, 75), (1, 40)],
        heads: 2,
        key_heads: 1,
        d: 32,
        dv: 24,
        amplitude: 6.0,
        ..Case::default()
    };
    case.check_queries(device, &case.growing::<f16>(1), |_, _| true);
}

fn with_options(device: &Device) {
    every_option().check::<f16>(device, 2);
}

fn every_option() -> Case {
    let mut case = Case {
        sizes: vec![(40, 0), (33, 30), (70, 75)],
        heads: 2,
        key_heads: 1,
        ..Case::default()
    };
    for (name, option) in OPTIONS {
        if !["top_left", "narrow", "scale"].contains(&name) {
            option(&mut case);
        }
    }
    case.window = Some((40, 4));
    case
}

/// Elements that a workgroup computes in turn.
fn short(device: &Device) {
    let case = Case {
        sizes: (0..300).map(|i| (i % 32 + 1, 32 - i % 29)).collect(),
        heads: 4,
        key_heads: 4,
        causal: true,
        ..Case::default()
    };
    let is_checked = |element: usize, query: usize| (element + query).is_multiple_of(7);
    case.check_queries(device, &case.operands::<f16>(3), is_checked);
}

fn slopes(device: &Device) {
    let case = Case {
        sizes: vec![(40, 0), (0, 3), (33, 70), (5, 6)],
        heads: 2,
        key_heads: 1,
        causal: true,
        ..Case::default()
    };
    gradients::check::<f16>(device, &case, 4);
}

fn slopes_with_options(device: &Device) {
    let mut case = every_option();
    // Their gradients are not computed on matrices.
    case.bias = None;
    gradients::check::<f16>(device, &case, 5);
}
