//! The sum of absolute values.

use libtest_mimic::Trial;
use vsla::Device;

use crate::support::bench::Bench;
use crate::support::compare::{assert_identical, reduction_depth};
use crate::support::corpus::{self, Case};
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, golden, run};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench, cases: Vec<Case>) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(norm1::<f32>())
        .with(norm1::<i32>())
        .with(norm1::<u32>())
        .trials(bench, "norm1", cases);
    trials.extend(bench.all_on_each_device(&[
        ("norm1::goldens", goldens),
        ("norm1::of_the_negated", of_the_negated),
        ("norm1::trailing_zeros_add_nothing", trailing_zeros),
    ]));
    trials
}

fn norm1<T: Number>() -> Binary<T, T> {
    Binary {
        name: "norm1",
        run: |x, _| x.norm1(),
        paired: None,
        expected: Some(|a, _, _| {
            Expected::sums::<T>(reference::norm1(&widened(a)), reduction_depth)
        }),
        spreads: false,
        series_only: false,
    }
}

fn goldens(device: &Device) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    golden::<f32, f32, 5>(
        device,
        |x, _| x.norm1(),
        [
            (&[1., -2., 3.], &[], &[6.]),
            (&[], &[], &[0.]),
            (&[-0.], &[], &[0.]),
            (&[1., -inf, inf], &[], &[inf]),
            (&[inf, nan, -1.], &[], &[nan]),
        ],
    );
    golden::<i32, i32, 3>(
        device,
        |x, _| x.norm1(),
        [
            (&[-5, 7], &[], &[12]),
            (&[i32::MIN], &[], &[i32::MIN]),
            (&[i32::MIN, i32::MAX, -2], &[], &[1]),
        ],
    );
    golden::<u32, u32, 2>(
        device,
        |x, _| x.norm1(),
        [(&[u32::MAX, 3], &[], &[2]), (&[1 << 31], &[], &[1 << 31])],
    );
}

/// Elements of every class of lengths, bit for bit.
fn of_the_negated(device: &Device) {
    for case in corpus::small() {
        let (x, _) = case.floats();
        let norm = run(device, &x, &x, |x, _| x.norm1());
        let negated = run(device, &x, &x, |x, _| x.neg()?.norm1());
        assert_identical(&case.name, &negated, &norm);
        let above = norm.values().iter().zip(x.iter());
        for (norm, row) in above.filter(|(norm, _)| !norm.is_nan()) {
            assert!(row.iter().all(|x| x.abs() <= *norm), "{}", case.name);
        }
    }
}

fn trailing_zeros(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let wider = run(device, &a, &b.cast(|_| 0).unwrap(), |x, y| {
            x.add(y)?.norm1()
        });
        let norm = run(device, &a, &a, |x, _| x.norm1());
        assert_identical("of the wider one", &wider, &norm);
    });
}
