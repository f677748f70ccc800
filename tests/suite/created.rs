//! Batches whose values follow from their positions: sequences, identity matrices, random values; and dropout.

mod dropout;
mod random;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, Scalar, f16_from_f64},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_within};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("arange_counts", arange_counts),
        ("arange_in_fractions", arange_in_fractions),
        ("linspace_ends", linspace_ends),
        ("linspace_between", linspace_between),
        ("eye", eye),
        ("words", random::words),
        ("uniform_values", random::uniform_values),
        ("uniform_ranges", random::uniform_ranges),
        ("uniform_integers", random::uniform_integers),
        ("uniform_distribution", random::uniform_distribution),
        ("normal_values", random::normal_values),
        ("normal_distribution", random::normal_distribution),
        ("normal_ranges", random::normal_ranges),
        ("same_bits_everywhere", random::same_bits_everywhere),
        ("parts_of_a_batch", random::parts_of_a_batch),
        ("dropout_keeps", dropout::dropout_keeps),
        ("dropout_of_views", dropout::dropout_of_views),
        ("dropout_of_specials", dropout::dropout_of_specials),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn vectors(lengths: impl IntoIterator<Item = usize>) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

fn matrices(shapes: &[[usize; 2]]) -> Layout {
    Layout::from_shapes(2, shapes.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

/// No elements, no values, one element over many tiles, many elements in a tile, and boxes.
fn layouts() -> Vec<Layout> {
    vec![
        vectors([]),
        vectors([0]),
        vectors([1]),
        vectors([0, 3, 0, 0, 1, 2, 5, 0]),
        vectors((0..5000).map(|i| i * 7 % 6)),
        vectors([3, 9001, 1, 4096, 1023, 2]),
        vectors((0..600).map(|_| 1)),
        matrices(&[[2, 3], [0, 4], [1, 1], [37, 41], [5, 0], [3, 700]]),
    ]
}

/// The values `of(element, place in the element)`.
fn expected<T: Copy>(layout: &Layout, of: impl Fn(usize, usize) -> T) -> Ragged<T> {
    Ragged::from_fn(layout, of).unwrap()
}

/// Checks that all bits are the same.
fn assert_bits<T: Scalar>(what: impl std::fmt::Display, got: &Ragged<T>, exact: &Ragged<T>) {
    assert_eq!(got.layout(), exact.layout(), "{what}");
    for (place, (x, y)) in got.values().iter().zip(exact.values()).enumerate() {
        let same = bytemuck::bytes_of(x) == bytemuck::bytes_of(y);
        assert!(same, "{what}: {x} instead of {y} as value {place}");
    }
}

fn arange_counts(device: &Device) {
    for layout in layouts() {
        let got = download(&device.arange(&layout, 5i32, -3).unwrap());
        assert_exact("i32", &got, &expected(&layout, |_, i| 5 - 3 * i as i32));
        let got = download(&device.arange(&layout, u32::MAX - 1, 1 << 31 | 3).unwrap());
        let of = |_, i| (u32::MAX - 1).wrapping_add((i as u32).wrapping_mul(1 << 31 | 3));
        assert_exact("u32", &got, &expected(&layout, of));
        let got = download(&device.arange(&layout, -7.0f32, 0.5).unwrap());
        assert_exact("f32", &got, &expected(&layout, |_, i| 0.5 * i as f32 - 7.0));
        let (start, step) = (f16::from_f32(3.0), f16::from_f32(-1.0));
        let got = download(&device.arange(&layout, start, step).unwrap());
        let of = |_, i| f16_from_f64(3.0 - i as f64);
        assert_bits("f16", &got, &expected(&layout, of));
    }
}

fn arange_in_fractions(device: &Device) {
    let layout = vectors([0, 1, 2, 70_001, 300]);
    for (start, step) in [(0.1f32, 0.3f32), (-1e6, 7.7), (1e-30, -3e-31), (0.0, -0.0)] {
        let exact = |i: usize| f64::from(start) + i as f64 * f64::from(step);
        let bound = |i: usize| {
            let product = i as f64 * f64::from(step).abs();
            (2.0 * product + exact(i).abs()) * 2f64.powi(-24) + 2f64.powi(-126)
        };
        let got = download(&device.arange(&layout, start, step).unwrap());
        let bounds = expected(&layout, |_, i| bound(i));
        let name = format!("from {start} by {step}");
        assert_within(
            name,
            &got,
            &expected(&layout, |_, i| exact(i)),
            bounds.values(),
        );
    }
}

fn linspace_ends(device: &Device) {
    let got = device.linspace(&vectors([5, 0, 1, 2, 3]), -1.0f32, 1.0);
    let rows_of = [
        &[-1.0f32, -0.5, 0.0, 0.5, 1.0][..],
        &[],
        &[-1.0],
        &[-1.0, 1.0],
        &[-1.0, 0.0, 1.0],
    ];
    assert_exact("from −1 to 1", &download(&got.unwrap()), &rows(rows_of));
    let shapes = matrices(&[[2, 2], [1, 5]]);
    let got = download(
        &device
            .linspace(&shapes, f16::from_f32(3.0), f16::ZERO)
            .unwrap(),
    );
    let exact = [3.0, 2.0, 1.0, 0.0, 3.0, 2.25, 1.5, 0.75, 0.0].map(f16::from_f64);
    assert_eq!(got.values(), exact);
    for (begin, finish) in [(0.1f32, 0.7f32), (-3e38, 3e38), (1e-38, -3.3), (5.5, 5.5)] {
        let layout = vectors((1..2000).chain([100_000]));
        let got = download(&device.linspace(&layout, begin, finish).unwrap());
        for row in (0..got.len()).map(|i| got.row(i)) {
            let (first, last) = (row[0], row[row.len() - 1]);
            assert_eq!(first.to_bits(), begin.to_bits());
            assert!(row.len() == 1 || last.to_bits() == finish.to_bits());
        }
    }
}

fn linspace_between(device: &Device) {
    for layout in layouts() {
        for (begin, finish) in [(0.1f32, 0.7f32), (-3e38, 3e38), (1e-20, -3.3), (-7.0, -7.0)] {
            let exact = expected(&layout, |element, i| {
                let steps = (layout.length(element) - 1).max(1) as f64;
                let (begin, finish) = (f64::from(begin), f64::from(finish));
                begin + (finish - begin) * (i as f64 / steps)
            });
            let most = f64::from(begin.abs().max(finish.abs())) * 2f64.powi(-19);
            let got = download(&device.linspace(&layout, begin, finish).unwrap());
            let bounds = vec![most; layout.total()];
            assert_within(format!("{begin} to {finish}"), &got, &exact, &bounds);
        }
    }
}

fn eye(device: &Device) {
    fn check<T: Factor>(device: &Device, layout: &Layout, one: T) {
        let of = |element: usize, i: usize| {
            let width = layout.shape(element).extents()[1] as usize;
            if i / width == i % width {
                one
            } else {
                T::default()
            }
        };
        let got = download(&device.eye::<T>(layout).unwrap());
        assert_bits("eye", &got, &expected(layout, of));
    }
    let many: Vec<[usize; 2]> = (0..3000).map(|i| [i * 3 % 4, i * 5 % 7]).collect();
    for layout in [
        matrices(&[
            [3, 3],
            [0, 5],
            [5, 0],
            [1, 4],
            [4, 1],
            [1, 1],
            [2, 700],
            [700, 2],
        ]),
        matrices(&[[130, 131], [257, 255], [64, 64]]),
        matrices(&many),
        matrices(&[]),
    ] {
        check(device, &layout, 1.0f32);
        check(device, &layout, 1i32);
        check(device, &layout, 1u32);
        check(device, &layout, f16::ONE);
    }
}

fn refusals(device: &Device) {
    fn refused<T: Scalar>(result: Result<Tensor<T>>, kind: &str, text: &str) {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
    let (layout, nan, inf) = (vectors([2, 3]), f32::NAN, f32::INFINITY);
    let argument = "argument";
    refused(
        device.arange(&layout, nan, 1.0),
        argument,
        "arange: expected a finite start, got NaN",
    );
    refused(
        device.arange(&layout, 0.0, -inf),
        argument,
        "arange: expected a finite step, got -inf",
    );
    refused(
        device.linspace(&layout, nan, 1.0),
        argument,
        "linspace: expected a finite start, got NaN",
    );
    refused(
        device.linspace(&layout, f16::ZERO, f16::INFINITY),
        argument,
        "linspace: expected a finite end, got inf",
    );
    refused(
        device.eye::<f32>(&layout),
        "rank",
        "eye: expected a rank of 2, got 1",
    );
    let ends = |low, high, text| refused(device.uniform(&layout, low, high, 1), argument, text);
    ends(nan, 1.0, "uniform: expected finite ends, got NaN and 1");
    ends(0.0, inf, "uniform: expected finite ends, got 0 and inf");
    ends(
        1.0,
        1.0,
        "uniform: expected a low end below the high one, got 1 and 1",
    );
    ends(
        -0.0,
        0.0,
        "uniform: expected a low end below the high one, got -0 and 0",
    );
    refused(
        device.uniform(&layout, 3, 2, 1),
        argument,
        "uniform: expected a low end below the high one, got 3 and 2",
    );
    let normal =
        |mean, deviation, text| refused(device.normal(&layout, mean, deviation, 1), argument, text);
    normal(inf, 1.0, "normal: expected a finite mean, got inf");
    normal(
        0.0,
        nan,
        "normal: expected a finite deviation of at least 0, got NaN",
    );
    normal(
        0.0,
        -1.0,
        "normal: expected a finite deviation of at least 0, got -1",
    );
    let x = device.full(&layout, 1.0f32).unwrap();
    for p in [-0.1, 1.0, nan] {
        let text = format!("dropout: expected a probability from 0 to below 1, got {p}");
        refused(x.dropout(p, 1), argument, &text);
    }
    let limited = device.with_work_limit(100);
    let large = vectors([101]);
    for error in [
        limited.arange(&large, 0, 1).unwrap_err(),
        limited.uniform(&large, 0, 1, 1).unwrap_err(),
    ] {
        assert_eq!(error.kind(), "work_limit", "{error}");
    }
    let mut random = rng("created");
    let lengths = vectors((0..100).map(|_| random.usize(..3)));
    assert_eq!(device.arange(&lengths, 0u32, 1).unwrap().layout(), &lengths);
}
