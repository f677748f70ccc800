//! Batches whose parts stay on their devices.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use libtest_mimic::Trial;
use proptest::collection::vec;
use vsla::fleet::Cost;
use vsla::{Device, Error, Pairing, Ragged, Result};

use super::{devices, fleet, is_same, lengths, matrices, numbers, of, uneven};
use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};
use crate::support::property;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("sharded::parts_stay", parts_stay),
        ("sharded::any_split", any_split),
        ("sharded::without_elements", without_elements),
        ("sharded::errors", errors),
        ("sharded::panics", panics),
    ])
}

fn parts_stay(device: &Device) {
    let fleet = fleet(device, None);
    let layout = lengths([5, 0, 3, 1, 40, 900, 7]);
    let x = numbers(&layout);
    let parts = fleet.scatter(&x, uneven()).unwrap();
    assert_eq!(parts.layout().unwrap(), layout);
    // Half of the costs, which are 351 together, are before element 5.
    let ends: &[usize] = match fleet.devices().len() {
        1 => &[7],
        _ => &[5, 7],
    };
    assert_eq!(parts.parts().len(), ends.len());
    let mut start = 0;
    for ((part, on), &end) in parts.parts().iter().zip(fleet.devices()).zip(ends) {
        assert!(is_same(part.device(), on));
        assert!(std::ptr::eq(parts.on(on).unwrap(), part));
        assert_eq!(*part.layout(), layout.range(start..end).unwrap());
        start = end;
    }

    let filter = Ragged::from_rows([[1.0f32, -2.0, 1.0]]).unwrap();
    let filters = fleet.replicate(&filter).unwrap();
    let edges = parts
        .each(|device, part| part.pair(filters.on(device)?, Pairing::AllToOne)?.conv())
        .unwrap();
    // Twice from the same parts, and once from the results of others.
    let sums = edges.each(|_, part| part.sum()).unwrap();
    let again = edges
        .each(|device, part| part.add(parts.on(device)?))
        .unwrap();
    let (x, filter) = (upload(device, &x), upload(device, &filter));
    let expected = x.pair(&filter, Pairing::AllToOne).unwrap().conv().unwrap();
    for (got, expected) in [
        (&edges, &expected),
        (&sums, &expected.sum().unwrap()),
        (&again, &expected.add(&x).unwrap()),
    ] {
        let expected = download(expected);
        assert_eq!(got.layout().unwrap(), *expected.layout());
        assert_exact("blocking", &got.gather_blocking().unwrap(), &expected);
        let got = pollster::block_on(got.gather());
        assert_exact("awaited", &got.unwrap(), &expected);
    }
}

fn any_split(device: &Device) {
    let devices = devices(device);
    let inputs = (property::batch(), vec(0..50u64, 12));
    property::on(device, inputs, |(batch, costs)| {
        let fleet = of(devices.clone(), None);
        let parts = fleet.scatter(&batch, Cost::each(|element, _| costs[element]));
        let got = parts.unwrap().each(|_, part| part.cumsum(0)?.scale(3));
        let whole = upload(device, &batch).cumsum(0).unwrap().scale(3).unwrap();
        let got = got.unwrap().gather_blocking();
        assert_exact("3 cumsum", &got.unwrap(), &download(&whole));
    });
}

/// The function determines the rank of a result without elements.
fn without_elements(device: &Device) {
    let none = Ragged::from_shapes(Vec::<f32>::new(), 3, []).unwrap();
    let fleet = fleet(device, None);
    let parts = fleet.scatter(&none, Cost::values()).unwrap();
    let sums = parts.each(|_, part| part.sum_axis(0)).unwrap();
    for got in [
        sums.gather_blocking().unwrap(),
        pollster::block_on(sums.gather()).unwrap(),
    ] {
        assert_eq!((got.len(), got.layout().rank()), (0, 2));
    }
    // All elements are on one device.
    let x = numbers(&lengths([4, 2, 3]));
    let parts = fleet.scatter(&x, Cost::each(|element, _| u64::from(element == 2)));
    let got = parts.unwrap().each(|_, part| part.scale(2.0)).unwrap();
    let got = got.gather_blocking().unwrap();
    assert_exact("2 x", &got, &x.cast(|x| 2.0 * x).unwrap());
}

/// Which elements an error of `each` names, and its cause.
#[track_caller]
fn part<R>(outcome: Result<R>) -> (Range<usize>, Error) {
    match outcome.map(drop) {
        Err(Error::Part {
            op: "each",
            elements,
            error,
            ..
        }) => (elements, *error),
        other => panic!("{other:?}"),
    }
}

fn errors(device: &Device) {
    let fleet = fleet(device, None);
    let x = numbers(&lengths([4, 4, 2, 2, 4]));
    // The last device has two elements, if there are two.
    let parts = fleet.scatter(&x, Cost::values()).unwrap();
    let last = parts.parts().last().unwrap();
    let of_last = x.len() - last.len()..x.len();
    let is_last = |on: &Device| is_same(on, last.device());

    let fewer = parts.each(|on, part| match is_last(on) {
        true => part.elements(1..part.len()),
        false => part.copy(),
    });
    let (elements, error) = part(fewer);
    assert_eq!((elements, error.kind()), (of_last.clone(), "element_count"));
    assert_eq!(error.op(), "result");

    let failed = parts.each(|on, part| match is_last(on) {
        true => part.reshape(&lengths([1])),
        false => part.copy(),
    });
    let (elements, error) = part(failed);
    assert_eq!((elements, error.kind()), (of_last.clone(), "batch_size"));

    // Both fail, and the first one is reported.
    let failed = parts.each(|_, part| part.reshape(&lengths([1])));
    assert_eq!(part(failed).0.start, 0);

    if fleet.devices().len() > 1 {
        let ranks = parts.each(|on, part| match is_last(on) {
            true => part.outer(part),
            false => part.copy(),
        });
        assert_eq!(part(ranks).1.kind(), "rank");
        let cpu = Device::cpu();
        let elsewhere = parts.each(|_, part| part.to_device_blocking(&cpu));
        assert_eq!(part(elsewhere).1.kind(), "device_mismatch");
        let outside = parts.on(&cpu).map(drop).unwrap_err();
        assert_eq!((outside.op(), outside.kind()), ("on", "device_mismatch"));
    }
    // An element of a part that fails is counted in the whole batch.
    let x = matrices(&[[2, 3], [2, 3], [1, 3], [3, 1]]);
    let wide = Ragged::full(matrices(&[[3, 2]]).layout(), 1.0f32).unwrap();
    let wide = fleet.replicate(&wide).unwrap();
    let parts = fleet.scatter(&x, Cost::values()).unwrap();
    let products = parts.each(|on, part| part.pair(wide.on(on)?, Pairing::AllToOne)?.matmul());
    assert_eq!(products.map(drop).unwrap_err().element(), Some(3));
    let got = parts.gather_blocking();
    assert_exact("afterwards", &got.unwrap(), &x);
}

fn panics(device: &Device) {
    let fleet = fleet(device, None);
    let x = numbers(&lengths([1; 100]));
    let parts = fleet.scatter(&x, Cost::values()).unwrap();
    let last = fleet.devices().last().unwrap();
    let call = || {
        parts.each(|on, part| match is_same(on, last) {
            true => resume_unwind(Box::new(41)),
            false => part.copy(),
        })
    };
    let payload = catch_unwind(AssertUnwindSafe(|| call().map(drop))).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&41));
    let got = parts.each(|_, part| part.copy()).unwrap();
    assert_exact("afterwards", &got.gather_blocking().unwrap(), &x);
}
