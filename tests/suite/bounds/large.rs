//! Tensors at the maximum size of a binding, with `VSLA_LARGE=1`: 2 GiB on most GPUs, where f16 offsets reach 2³⁰.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, f16, scalar::Scalar};

use super::Value;
use crate::support::bench::{Bench, assert_within, instrumented_gpu};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_request("gpu::large::halves", "VSLA_LARGE", |_| {
            at_the_limit::<f16>()
        }),
        bench.on_request("gpu::large::words", "VSLA_LARGE", |_| at_the_limit::<u32>()),
        bench.on_request("gpu::large::pairs_of_words", "VSLA_LARGE", |_| {
            at_the_limit::<Complex32>()
        }),
        bench.on_request("gpu::large::refused", "VSLA_LARGE", |_| refused()),
    ]
}

/// Moves the last values of an element that fills a binding: by shifting, reversing and selecting copies.
fn at_the_limit<T: Value>() {
    let device = instrumented_gpu().unwrap();
    let total = most::<T>(device);
    let first = total / 2 + 1;
    let layout = Layout::from_lengths([total - 9, 9]).unwrap();
    // Neighbours differ, and so do values that lie powers of two apart.
    let value = |i: usize| T::of((i % 7 + i / 1001) as u32);
    let expected = |range: std::ops::Range<usize>| range.map(value).collect::<Vec<T>>();
    let values = Ragged::from_parts(layout, expected(0..total)).unwrap();
    let x = device.upload(&values).unwrap();
    drop(values);
    let check = |what: &str, got: &vsla::Tensor<T>, element: usize, wanted: Vec<T>| {
        let got = got
            .elements(element..element + 1)
            .unwrap()
            .download_blocking()
            .unwrap();
        assert!(got.values() == wanted, "{what}");
        assert_within(device);
    };
    // A view that begins near the end of its buffer.
    let tail = x.elements(1..2).unwrap();
    check("the view", &tail, 0, expected(total - 9..total));
    check(
        "a copy of it",
        &tail.copy().unwrap(),
        0,
        expected(total - 9..total),
    );
    let turned = || expected(total - 9..total).into_iter().rev().collect();
    check("turned", &tail.flip(&[0]).unwrap(), 0, turned());
    // Slices of the long element, from behind its middle and from just before its end on.
    for start in [first, (total - 9) / 4 * 3 + 2, total - 30] {
        let slice = x.slice(&[start as i64], &[start as i64 + 21]).unwrap();
        check(
            &format!("a slice from {start}"),
            &slice,
            0,
            expected(start..start + 21),
        );
        let back = x.elements(0..1).unwrap();
        let ahead = back
            .slice(&[start as i64 - 100], &[total as i64 - 9])
            .unwrap();
        let again = ahead.slice(&[100], &[121]).unwrap();
        check(
            &format!("a slice of a slice from {start}"),
            &again,
            0,
            expected(start..start + 21),
        );
    }
    // The whole of it, from one end of a buffer to that of another.
    let copy = x.copy().unwrap();
    check("the end of a copy", &copy, 1, expected(total - 9..total));
    drop(copy);
    let turned = x.elements(0..1).unwrap().flip(&[0]).unwrap();
    let slice = turned
        .slice(&[total as i64 - 9 - 8], &[total as i64 - 9])
        .unwrap();
    check(
        "turned whole",
        &slice,
        0,
        expected(0..8).into_iter().rev().collect(),
    );
    drop(turned);
    let selected = x.select(&[1, 1]).unwrap();
    check("selected", &selected, 1, expected(total - 9..total));
}

/// Values that fill a binding.
fn most<T: Scalar>(device: &Device) -> usize {
    let bytes = device.info().limits.unwrap().binding_bytes;
    usize::try_from(bytes).unwrap() / size_of::<T>()
}

/// One value more is an error that names the limit, for operands and for results.
fn refused() {
    let device = instrumented_gpu().unwrap();
    let total = most::<f16>(device);
    let layout = Layout::from_lengths([total + 1]).unwrap();
    let error = device.full(&layout, f16::ONE).unwrap_err();
    assert!(
        matches!(error, vsla::Error::TooLarge { op: "full", .. }),
        "{error}"
    );
    let x = device
        .full(&Layout::from_lengths([total]).unwrap(), f16::ONE)
        .unwrap();
    let error = x.pad(&[(0, 1)]).unwrap_err();
    assert!(
        matches!(error, vsla::Error::TooLarge { op: "pad", .. }),
        "{error}"
    );
    let error = x.to::<f32>().unwrap_err();
    assert!(
        matches!(error, vsla::Error::TooLarge { op: "to", .. }),
        "{error}"
    );
}
