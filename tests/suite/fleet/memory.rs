//! Memory: batches larger than a device allows, and calls that leave nothing behind.

use libtest_mimic::Trial;
use vsla::fleet::{Cost, Fleet, FleetOptions};
use vsla::{Device, Error, Ragged};

use super::lost::own_fleet;
use super::{lengths, matrices, numbers};
use crate::device::own_gpu;
use crate::support::bench::{Bench, gpu, is_hurried};
use crate::support::compare::assert_exact;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_gpu("memory::above_a_binding", gpu, |_| above_a_binding()),
        bench.on_gpu("memory::large_results", gpu, |_| large_results()),
        bench.on_gpu("memory::above_a_limit", gpu, |_| above_a_limit()),
        bench.on_gpu("memory::limits_of_each", gpu, |_| limits_of_each()),
        bench.on_gpu("memory::few_ranges_at_once", gpu, |_| few_ranges_at_once()),
        bench.on_gpu("memory::many_batches", gpu, many_batches),
    ]
}

fn doubled(fleet: &Fleet, x: &Ragged<f32>) {
    let got = fleet.map(x, Cost::values(), |_, part| part.scale(2.0));
    assert_exact("2 x", &got.unwrap(), &x.cast(|x| 2.0 * x).unwrap());
}

const BINDING: u64 = 1 << 20;

fn small_device() -> Fleet {
    let device = own_gpu(|options| options.max_binding_bytes = Some(BINDING));
    Fleet::of([device]).unwrap()
}

/// Ten times what one tensor may have, on a fleet of one.
fn above_a_binding() {
    let fleet = small_device();
    let x = numbers(&lengths((0..100).map(|i| 20_000 + 101 * i)));
    let whole = fleet.devices()[0].upload(&x).map(drop);
    assert_eq!(whole.unwrap_err().kind(), "too_large");
    doubled(&fleet, &x);
    let whole = fleet.scatter(&x, Cost::values()).map(drop).unwrap_err();
    assert_eq!((whole.op(), whole.kind()), ("scatter", "part"));
    assert!(
        whole.to_string().contains("elements 0..100: upload: "),
        "{whole}"
    );
    let large = numbers(&lengths([3, 5, BINDING as usize / 4 + 1, 2]));
    let error = fleet
        .map(&large, Cost::values(), |_, part| part.scale(2.0))
        .unwrap_err();
    let Error::Part {
        elements, error, ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((elements, error.kind()), (2..3, "too_large"));
}

/// Results of ranges that fit, which are 64 times as large, do not.
fn large_results() {
    let fleet = small_device();
    let x = matrices(&[[50, 40]; 30]);
    let factors = &[8, 8];
    let got = fleet.map(&x, Cost::values(), |_, part| part.upscale(factors));
    let cpu = Device::cpu();
    let whole = cpu.upload(&x).unwrap().upscale(factors).unwrap();
    assert_exact(
        "upscaled",
        &got.unwrap(),
        &whole.download_blocking().unwrap(),
    );
}

fn above_a_limit() {
    let limit = 16 << 20;
    let device = own_gpu(|options| options.memory_limit = Some(limit));
    let fleet = Fleet::of([device]).unwrap();
    // 40 MB, which is two ranges by default.
    doubled(&fleet, &numbers(&lengths([100_000; 100])));
    // Ranges of one element, for which there is no room while results of others are on the way.
    doubled(&fleet, &numbers(&lengths([1_450_000; 8])));
    let memory = fleet.devices()[0].memory();
    assert!(memory.peak <= limit, "{memory:?}");
}

/// Each device of a fleet has a limit of its own.
fn limits_of_each() {
    let limits = [12 << 20, 24 << 20];
    let devices = limits.map(|limit| own_gpu(move |options| options.memory_limit = Some(limit)));
    let fleet = Fleet::of(devices).unwrap();
    doubled(&fleet, &numbers(&lengths([100_000; 100])));
    for (device, limit) in fleet.devices().iter().zip(limits) {
        let memory = device.memory();
        assert!(memory.peak <= limit, "{limit}: {memory:?}");
    }
}

/// A device holds three ranges with their results at most, and one that is being computed.
fn few_ranges_at_once() {
    let options = FleetOptions {
        range_bytes: Some(400_000),
        ..FleetOptions::default()
    };
    let device = own_gpu(|_| ());
    let fleet = Fleet::with_options([device], &options).unwrap();
    let x = numbers(&lengths([100_000; 64]));
    doubled(&fleet, &x);
    let memory = fleet.devices()[0].memory();
    assert!(memory.peak < 10 * 400_000, "{memory:?}");
}

fn many_batches(device: &Device) {
    let fleet = own_fleet(false);
    let calls = if is_hurried(device) { 1000 } else { 10_000 };
    let held = |_: &Device| {
        let memory = fleet.devices().iter().map(Device::memory);
        let of_one = memory.map(|memory| (memory.live, memory.cached, memory.staging));
        of_one.collect::<Vec<_>>()
    };
    let mut after = Vec::new();
    for call in 0..calls {
        let x = numbers(&lengths([1 + call % 40, 40, 30, 0, 40, 40]));
        doubled(&fleet, &x);
        if [calls / 10, calls - 1].contains(&call) {
            after.push(held(device));
        }
    }
    let [early, late] = &after[..] else { panic!() };
    for (early, late) in early.iter().zip(late) {
        // The ring of upload buffers, and readback buffers.
        assert!(late.2 < 10 << 24, "{} bytes of staging", late.2);
        let [early, late] = [early, late].map(|(live, cached, _)| live + cached);
        assert!(late <= early + (1 << 16), "{early} bytes became {late}");
    }
}
