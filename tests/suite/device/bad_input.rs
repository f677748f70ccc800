//! Bad input on each device: the error is specific, and the device continues as if nothing had happened.

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Pairing, Ragged, Shape, Tensor};

use super::{Tests, lengths, numbers};
use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: Tests<'_> = &[
        ("bad_input::is_refused", is_refused),
        ("bad_input::results_that_overflow", results_that_overflow),
        ("bad_input::two_devices", two_devices),
        ("bad_input::between_good_calls", between_good_calls),
    ];
    tests
        .iter()
        .flat_map(|&(name, test)| bench.on_each_device(name, test))
        .collect()
}

#[track_caller]
fn refused<R>(outcome: Result<R, Error>, kind: &str, op: &str, element: Option<usize>) -> Error {
    let Err(error) = outcome else {
        panic!("{op}: {kind} expected")
    };
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        (kind, op, element),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.starts_with(op) && text.is_ascii(), "{text}");
    error
}

fn matrices(device: &Device, shapes: &[[usize; 2]]) -> Tensor<f32> {
    let shapes = shapes.iter().map(|extents| Shape::new(extents).unwrap());
    upload(
        device,
        &numbers(&Layout::from_shapes(2, shapes).unwrap(), 0),
    )
}

fn is_refused(device: &Device) {
    let (two, three) = (
        upload(device, &numbers(&lengths([2, 1]), 0)),
        upload(device, &numbers(&lengths([1, 0, 2]), 1)),
    );
    let flat = matrices(device, &[[1, 2], [2, 0]]);

    refused(two.add(&three), "batch_size", "add", None);
    refused(two.sub(&three), "batch_size", "sub", None);
    refused(two.conv(&three), "batch_size", "conv", None);
    refused(two.correlate(&three), "batch_size", "correlate", None);
    refused(
        two.correlate_max(&three),
        "batch_size",
        "correlate_max",
        None,
    );
    refused(two.sbd(&three), "batch_size", "sbd", None);
    refused(two.dot(&three), "batch_size", "dot", None);

    let text = refused(two.add(&flat), "rank", "add", None).to_string();
    assert_eq!(
        text,
        "add: expected a rank of 1, as in the left batch, got 2"
    );
    refused(flat.sub(&two), "rank", "sub", None);
    refused(two.dot(&flat), "rank", "dot", None);
    let text = refused(flat.conv(&two), "rank", "conv", None).to_string();
    assert_eq!(
        text,
        "conv: expected a rank of 2, as in the left batch, got 1"
    );
    refused(two.correlate(&flat), "rank", "correlate", None);
    refused(flat.correlate_max(&flat), "rank", "correlate_max", None);
    refused(flat.sbd(&flat), "rank", "sbd", None);

    refused(two.pair(&three, Pairing::OneToAll), "pairing", "pair", None);
    refused(two.pair(&three, Pairing::AllToOne), "pairing", "pair", None);
    let none = upload(device, &numbers(&lengths([]), 0));
    refused(
        three.pair(&none, Pairing::AllToOne),
        "pairing",
        "pair",
        None,
    );
    refused(
        none.pair(&three, Pairing::OneToAll),
        "pairing",
        "pair",
        None,
    );
    refused(
        two.pair(&three, Pairing::List(&pair_list([(0, 0), (1, 2), (2, 0)]))),
        "pair_index",
        "pair",
        Some(2),
    );
    refused(
        two.pair(&three, Pairing::List(&pair_list([(0, u32::MAX)]))),
        "pair_index",
        "pair",
        Some(0),
    );
    refused(
        none.pair(&none, Pairing::List(&pair_list([(0, 0)]))),
        "pair_index",
        "pair",
        Some(0),
    );

    refused(two.elements(1..3), "element_range", "elements", None);
    #[expect(clippy::reversed_empty_ranges, reason = "this must be refused")]
    refused(two.elements(2..1), "element_range", "elements", None);
    refused(
        two.elements(usize::MAX..usize::MAX),
        "element_range",
        "elements",
        None,
    );

    refused(
        two.download_into_blocking(&mut [0.0; 2]),
        "value_count",
        "download",
        None,
    );
    refused(
        two.download_into_blocking(&mut [0.0; 4]),
        "value_count",
        "download",
        None,
    );
    refused(
        pollster::block_on(two.download_into(&mut [])),
        "value_count",
        "download",
        None,
    );

    assert!(two.add(&two).is_ok() && two.conv(&two).is_ok());
    assert_exact(
        "an operand afterwards",
        &download(&two),
        &numbers(&lengths([2, 1]), 0),
    );
}

/// Small batches whose results have sizes beyond 32 bits are refused without allocating memory.
fn results_that_overflow(device: &Device) {
    let long = upload(device, &Ragged::full(&lengths([70_000]), 1.0f32).unwrap());
    let list = vec![(0, 0); 70_000];
    let pair = || long.pair(&long, Pairing::List(&pair_list(&list))).unwrap();
    let per_sum = u32::MAX as usize / 70_000;
    let per_product = u32::MAX as usize / 139_999;
    refused(pair().add(), "size_overflow", "add", Some(per_sum));
    refused(pair().sub(), "size_overflow", "sub", Some(per_sum));
    refused(pair().conv(), "size_overflow", "conv", Some(per_product));
    refused(
        pair().correlate(),
        "size_overflow",
        "correlate",
        Some(per_product),
    );

    let tall = matrices(device, &[[1, 1], [70_000, 1]]);
    let wide = matrices(device, &[[1, 1], [1, 70_000]]);
    refused(tall.add(&wide), "size_overflow", "add", Some(1));
    refused(wide.sub(&tall), "size_overflow", "sub", Some(1));

    let many = upload(
        device,
        &Ragged::full(&lengths(vec![0; 70_000]), 1.0f32).unwrap(),
    );
    refused(
        many.pair(&many, Pairing::AllToAll),
        "size_overflow",
        "pair",
        None,
    );
    assert!(long.add(&long).is_ok());
}

fn two_devices(device: &Device) {
    let batch = numbers(&lengths([2, 1]), 0);
    let others = [Device::cpu(), Device::auto()];
    let x = upload(device, &batch);
    for other in others {
        let y = upload(&other, &batch);
        // All handles of the CPU are one device.
        if !device.is_gpu() && !other.is_gpu() {
            assert!(x.add(&y).is_ok() && y.add(&x).is_ok());
            continue;
        }
        for (left, right) in [(&x, &y), (&y, &x)] {
            for (op, outcome) in [
                ("add", left.add(right).err()),
                ("sub", left.sub(right).err()),
                ("conv", left.conv(right).err()),
                ("correlate", left.correlate(right).err()),
                ("correlate_max", left.correlate_max(right).err()),
                ("sbd", left.sbd(right).err()),
                ("dot", left.dot(right).err()),
                ("pair", left.pair(right, Pairing::AllToAll).err()),
            ] {
                let text =
                    refused(outcome.map_or(Ok(()), Err), "device_mismatch", op, None).to_string();
                assert!(text.contains(&left.device().info().name), "{text}");
            }
        }
        assert!(y.add(&y).is_ok());
    }
}

/// Recorded work is not lost when a later call is refused.
fn between_good_calls(device: &Device) {
    let batch = numbers(&lengths([3, 0, 5]), 0);
    let x = upload(device, &batch);
    let short = upload(device, &numbers(&lengths([3]), 0));
    let mut sum = x.copy().unwrap();
    for _ in 0..20 {
        refused(sum.add(&short), "batch_size", "add", None);
        sum = sum.add(&x).unwrap();
        refused(
            short.pair(&sum, Pairing::List(&pair_list([(0, 3)]))),
            "pair_index",
            "pair",
            Some(0),
        );
    }
    assert_exact(
        "21 x",
        &download(&sum),
        &batch.cast(|value| 21.0 * value).unwrap(),
    );
}
