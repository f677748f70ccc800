//! The requests of the catalogue's rows, on views of larger batches, and gradients.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use catalogue::{Operation, Prepared, Request, filled};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use vsla::Device;

use super::ON_MATRICES;
use crate::rows::{MOST, accepted, large, of_each_type, short};
use crate::support::bench::{Bench, instrumented_gpu, is_hurried};
use crate::support::corpus::rng;

/// A software GPU, which compiles each kernel for seconds, runs a part at a time (`tiers.rs`).
const PARTS: usize = 4;

/// Kernels that no row runs: those of programs, and of operations without a row.
const WITHOUT_A_ROW: &[&str] = &["append", "chain", "chain_two", "imaging"];
/// Kernels for sizes that are rarely drawn, which [`rare`] runs.
const RARE: &[&str] = &[
    "attention_few",
    "attention_merge",
    "bsr_finish",
    "conv_cached",
    "conv_place",
    "figures_marks",
    "morphology_bytes",
    "pooling_passes",
    "transpose_bytes",
];

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let part = |part: usize| {
        let check = move |device: &Device| check(device, part);
        bench.on_gpu(&format!("rows_{part}"), instrumented_gpu, check)
    };
    let rare = bench.on_gpu("rare_sizes", instrumented_gpu, rare);
    (0..PARTS).map(part).chain([rare]).collect()
}

/// Few queries, with many keys or heads of four, many blocks in a row, many boxes, bytes, a large window, images that
/// are convolved by transforms, and planned convolutions that are fewer than a workgroup computes.
fn rare(device: &Device) {
    let ones = |extents: &[usize]| json!([filled(extents, &mut || json!(1))]);
    let boxes = vec![json!([5, 6, 35, 46]); 100];
    let requests = [
        json!({"op": "attention", "args": [ones(&[2, 1]), ones(&[1500, 1]), ones(&[1500, 1])]}),
        json!({"op": "attention", "args": [ones(&[2, 4]), ones(&[40, 4]), ones(&[40, 4])]}),
        json!({"op": "conv", "args": [ones(&[40, 40]), ones(&[30, 30])],
            "options": {"rank": 2, "method": "fft"}}),
        json!({"op": "causal", "args": [ones(&[20]), ones(&[5])]}),
        json!({"op": "matmul_bsr", "args": [ones(&[8, 2400]), ones(&[2400, 3])],
            "options": {"sparse": "left"}}),
        json!({"op": "draw_boxes", "args": [ones(&[40, 50])],
            "options": {"dtype": "i32", "boxes": [boxes], "values": ones(&[100])}}),
        json!({"op": "dilate", "args": [ones(&[40, 50])], "options": {"dtype": "u8"}}),
        json!({"op": "transpose", "args": [ones(&[70, 80])],
            "options": {"dtype": "u8", "axes": [1, 0]}}),
        json!({"op": "max_pool", "args": [ones(&[1000])],
            "options": {"window": [200], "strides": [1]}}),
    ];
    for request in requests {
        assert!(accepted(device, &request).is_some(), "{}", short(&request));
        assert_inside(device, &request);
    }
    let ran = device.instrumented_kernels();
    for kernel in RARE {
        let ran = ran
            .iter()
            .any(|name| name.split('.').next() == Some(kernel));
        assert!(ran, "{kernel} never ran");
    }
}

/// How many parts have run, and the kernels that took part.
static RAN: Mutex<(usize, BTreeSet<String>)> = Mutex::new((0, BTreeSet::new()));

fn check(device: &Device, part: usize) {
    let rows = catalogue::operations().filter(|row| row.is_function);
    for (_, row) in rows.enumerate().filter(|(i, _)| i % PARTS == part) {
        check_row(device, row);
    }
    let mut ran = RAN.lock().unwrap_or_else(PoisonError::into_inner);
    ran.0 += 1;
    ran.1.extend(device.instrumented_kernels());
    if ran.0 < PARTS {
        return;
    }
    let stem = |name: &str| name.split('.').next().unwrap().to_owned();
    let mut missing: BTreeSet<String> = vsla::device::kernels()
        .into_iter()
        .map(|(name, _)| stem(&name))
        .collect();
    let elsewhere = [ON_MATRICES, WITHOUT_A_ROW, RARE].concat();
    let elsewhere = elsewhere.into_iter().map(str::to_owned);
    { ran.1.iter() }
        .map(|name| stem(name))
        .chain(elsewhere)
        .for_each(|stem| {
            missing.remove(&stem);
        });
    assert!(missing.is_empty(), "never ran: {missing:?}");
}

fn check_row(device: &Device, row: &Operation) {
    let mut random = rng(row.name);
    let mut requests = row.answered();
    match is_hurried(device) {
        false => requests.extend([large(row), of_each_type(row)].concat()),
        true => requests.extend(large(row).into_iter().take(1)),
    }
    for request in requests {
        let before = random.usize(..10);
        let read = Request::new(request.clone()).unwrap();
        let prepared = Prepared::new(read).and_then(|task| task.on_views(device, before));
        let answer = prepared.and_then(|task| task.run_blocking(device, MOST));
        let kind = answer.err().map(|failure| failure.kind);
        assert_ne!(kind, Some("gpu"), "{}", short(&request));
        assert_inside(device, &request);
        if row.has_gradient() {
            let gradient = json!({"op": "gradient", "of": request});
            accepted(device, &gradient);
            assert_inside(device, &gradient);
        }
    }
}

fn assert_inside(device: &Device, request: &Value) {
    let outside = device.accesses_outside().unwrap();
    assert!(outside.is_empty(), "{}: {outside:#?}", short(request));
}
