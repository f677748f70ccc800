//! What a fleet refuses, and what it reports of a function that fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use vsla::fleet::{Cost, Fleet, FleetOptions};
use vsla::{Device, Error, Ragged, Result};

use super::{fleet, lengths, matrices, numbers, with_ranges};
use crate::support::bench::Bench;
use crate::support::compare::assert_exact;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("errors::devices", of_devices),
        ("errors::operands", operands),
        ("errors::results", results),
        ("errors::of_the_function", of_the_function),
        ("errors::panics", panics),
    ]);
    trials.push(bench.host("errors::options", options));
    trials
}

fn refused<R>(outcome: Result<R>, expected: &str) {
    let Err(error) = outcome else {
        panic!("{expected}: went on")
    };
    let text = error.to_string();
    assert!(text.contains(expected), "{text}\n{expected}");
    assert!(
        text.is_ascii() && text.starts_with(&format!("{}: ", error.op())),
        "{text}"
    );
}

fn options() {
    let none = FleetOptions {
        devices: Some(0),
        ..FleetOptions::default()
    };
    refused(
        Fleet::open(none),
        "fleet: expected devices of at least 1, got 0",
    );
    let none = FleetOptions {
        range_bytes: Some(0),
        ..FleetOptions::default()
    };
    let cpu = [Device::cpu()];
    refused(
        Fleet::with_options(cpu, &none),
        "fleet: expected range_bytes of at least 1, got 0",
    );
}

fn of_devices(device: &Device) {
    refused(
        Fleet::of([]),
        "fleet: expected at least one device, got none",
    );
    let name = |device: &Device| format!("{} ({})", device.info().name, device.info().backend);
    let twice = [device.clone(), device.with_work_limit(7)];
    refused(
        Fleet::of(twice),
        &format!(
            "fleet: expected each device once, got {} as devices 0 and 1",
            name(device)
        ),
    );
    if !device.is_gpu() {
        refused(
            Fleet::of([Device::cpu(), Device::cpu()]),
            "each device once",
        );
        return;
    }
    let mixed = || [device.clone(), Device::cpu()];
    refused(
        Fleet::of(mixed()),
        &format!(
            "fleet: expected devices of one model, or the option mixed, got {} and {}",
            name(device),
            name(&Device::cpu())
        ),
    );
    let options = FleetOptions {
        mixed: true,
        ..FleetOptions::default()
    };
    let fleet = Fleet::with_options(mixed(), &options).unwrap();
    let x = numbers(&lengths([4, 0, 2, 5]));
    let got = fleet.map(&x, Cost::values(), |_, part| part.scale(2.0));
    assert_exact("2 x", &got.unwrap(), &x.cast(|x| 2.0 * x).unwrap());
}

fn operands(device: &Device) {
    let fleet = fleet(device, None);
    let (x, y) = (numbers(&lengths([4, 2])), numbers(&lengths([4, 2, 1])));
    refused(
        fleet.map((&x, &y), Cost::values(), |_, (x, _)| x.copy()),
        "map: expected batches of equal size, got 2 elements and 3",
    );
    let copies = fleet.replicate(&x).unwrap();
    let outside = match device.is_gpu() {
        true => Device::cpu(),
        false => return,
    };
    refused(copies.on(&outside), "got the devices of the fleet and CPU");
}

/// Which device and which elements an error names.
fn part(error: &Error) -> (usize, std::ops::Range<usize>, &Error) {
    match error {
        Error::Part {
            op: "map",
            device,
            elements,
            error,
            ..
        } => (*device, elements.clone(), error),
        other => panic!("{other}"),
    }
}

fn results(device: &Device) {
    let fleet = fleet(device, Some(16));
    let x = numbers(&lengths([4, 4, 2, 2, 4]));
    let on_one = Cost::each(|element, _| u64::from(element == 4));
    let fewer = fleet.map(&x, on_one, |_, part| match part.layout().length(0) {
        2 => part.elements(0..1),
        _ => part.copy(),
    });
    let error = fewer.unwrap_err();
    assert_eq!(part(&error).1, 2..4);
    refused::<()>(
        Err(error),
        "elements 2..4: result: expected 2 elements, got 1",
    );
    // The second one has another rank.
    let ranks = fleet.map(
        &x,
        Cost::each(|element, _| u64::from(element == 0)),
        |_, part| match part.layout().length(0) {
            2 => part.outer(part),
            _ => part.copy(),
        },
    );
    let error = ranks.unwrap_err();
    assert_eq!(
        (part(&error).2.kind(), part(&error).2.op()),
        ("rank", "result")
    );
    let other = match device.is_gpu() {
        true => Device::cpu(),
        false => return,
    };
    let elsewhere = fleet.map(&x, Cost::values(), |_, part| {
        part.to_device_blocking(&other)
    });
    let error = elsewhere.unwrap_err();
    assert_eq!(part(&error).2.kind(), "device_mismatch");
}

/// The first range that fails is reported, with the element's place in the whole batch, and the ranges after it are
/// not begun.
fn of_the_function(device: &Device) {
    let fleet = fleet(device, None);
    let x = matrices(&[[2, 3], [2, 3], [1, 3], [2, 3], [3, 1], [2, 3], [2, 3]]);
    let ranges = with_ranges(&fleet, 48);
    let wide = Ragged::full(&matrices(&[[3, 2]]).layout().clone(), 1.0f32).unwrap();
    let wide = ranges.replicate(&wide).unwrap();
    let product = |on: &Device, part: &vsla::Tensor<f32>| {
        part.pair(wide.on(on)?, vsla::Pairing::AllToOne)?.matmul()
    };
    let error = ranges.map(&x, Cost::values(), product).unwrap_err();
    let (on, elements, inner) = part(&error);
    assert!(
        elements.contains(&4) && inner.kind() == "inner_extents",
        "{error}"
    );
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("part", "map", Some(4))
    );
    let name = &fleet.devices()[on].info().name;
    let expected = format!("map: device {on} ({name} (");
    refused::<()>(Err(error), &expected);

    // All devices fail.
    let (all, y) = (
        Barrier::new(fleet.devices().len()),
        numbers(&lengths([4; 10])),
    );
    let failures = fleet.map(&y, Cost::values(), |_, part| {
        all.wait();
        part.reshape(&lengths([1]))
    });
    assert_eq!(part(&failures.unwrap_err()).1.start, 0);

    let many = numbers(&lengths([1; 1000]));
    let begun = AtomicUsize::new(0);
    let cancelled = with_ranges(&fleet, 4).map(&many, Cost::values(), |_, part| {
        match begun.fetch_add(1, Ordering::SeqCst) {
            10 => Err(Error::Argument {
                op: "mine",
                element: None,
                expected: "more time".to_owned(),
                got: "a signal".to_owned(),
            }),
            _ => part.copy(),
        }
    });
    let text = "mine: expected more time, got a signal";
    refused(cancelled, text);
    let begun = begun.into_inner();
    assert!(begun < 100, "{begun} of 1000 ranges were begun");
    let got = fleet.map(&many, Cost::values(), |_, part| part.copy());
    assert_exact("afterwards", &got.unwrap(), &many);
}

/// A panic of the function arrives at the caller, whichever thread the function ran on.
fn panics(device: &Device) {
    for range_bytes in [None, Some(8)] {
        let fleet = fleet(device, range_bytes);
        let x = numbers(&lengths([1; 100]));
        let call = || {
            fleet.map(&x, Cost::values(), |_, part| match part.len() {
                0 => part.copy(),
                _ => resume_unwind(Box::new(41)),
            })
        };
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&41));
        let got = fleet.map(&x, Cost::values(), |_, part| part.copy());
        assert_exact("afterwards", &got.unwrap(), &x);
    }
}
