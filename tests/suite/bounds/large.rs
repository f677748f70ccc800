//! Tensors at the maximum size of a binding, with `VSLA_LARGE=1`.
//!
//! wgpu keeps bindings below 2³¹ bytes, so a tensor of f16 ends at 2³⁰ − 8 values, and no index on a GPU reaches 2³⁰.
//! On the CPU, indices above 2³⁰ and 2³¹ are tested as well.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Indices, Layout, Ragged, f16, scalar::Scalar};

use super::Value;
use crate::support::bench::{Bench, assert_within, cpu, gpu, instrumented_gpu};

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
        bench.on_request("cpu::large::indices_above_2_30", "VSLA_LARGE", |_| {
            far_indices(cpu(), 1 << 30)
        }),
        bench.on_request("cpu::large::indices_above_2_31", "VSLA_LARGE", |_| {
            far_indices(cpu(), 1 << 31)
        }),
        bench.on_gpu(
            "large::bindings_are_below_2_gib",
            gpu,
            bindings_are_below_2_gib,
        ),
    ]
}

/// Moves the last values of an element that fills a binding, by copies that shift, reverse and select.
fn at_the_limit<T: Value>() {
    let device = instrumented_gpu().unwrap();
    let total = most::<T>(device);
    let first = total / 2 + 1;
    let layout = Layout::from_lengths([total - 9, 9]).unwrap();
    // Distinguishes neighbouring values, and values whose distance is a power of two.
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
    let flipped = || expected(total - 9..total).into_iter().rev().collect();
    check("flipped", &tail.flip(&[0]).unwrap(), 0, flipped());
    // Slices of the long element, from just after its middle and from just before its end.
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
    // The whole element, from the end of one buffer to that of another.
    let copy = x.copy().unwrap();
    check("the end of a copy", &copy, 1, expected(total - 9..total));
    drop(copy);
    let flipped = x.elements(0..1).unwrap().flip(&[0]).unwrap();
    let slice = flipped
        .slice(&[total as i64 - 9 - 8], &[total as i64 - 9])
        .unwrap();
    check(
        "flipped whole",
        &slice,
        0,
        expected(0..8).into_iter().rev().collect(),
    );
    drop(flipped);
    let selected = x.select(&[1, 1]).unwrap();
    check("selected", &selected, 1, expected(total - 9..total));
}

/// Values that fill a binding.
fn most<T: Scalar>(device: &Device) -> usize {
    let bytes = device.info().limits.unwrap().binding_bytes;
    usize::try_from(bytes).unwrap() / size_of::<T>()
}

/// One more value is an error that names the limit, for operands and for results.
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
    let error = x.pad(&[0], &[1]).unwrap_err();
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

/// If this fails, wgpu allows larger bindings, and indices of f16 reach 2³⁰. The tests here then cover that; update
/// this module's documentation and docs/book/src/guarantees.md.
fn bindings_are_below_2_gib(device: &Device) {
    let bytes = device.info().limits.unwrap().binding_bytes;
    assert!(bytes < 1 << 31, "{bytes}");
    assert!(most::<f16>(device) <= (1 << 30) - 8);
}

/// Slices, reversals and gathers from positions after `far` of an element.
fn far_indices(device: &Device, far: usize) {
    let total = far + 100;
    let value = |i: usize| f16::from_bits((i % 30_011) as u16);
    let layout = Layout::from_lengths([total]).unwrap();
    let x = Ragged::from_parts(layout, (0..total).map(value).collect()).unwrap();
    let x = device.upload(&x).unwrap();
    for start in [far - 7, far, far + 79] {
        let slice = x.slice(&[start as i64], &[start as i64 + 21]).unwrap();
        let expected: Vec<f16> = (start..start + 21).map(value).collect();
        assert_eq!(
            slice.download_blocking().unwrap().values(),
            expected,
            "from {start}"
        );
    }
    let back = x.flip(&[0]).unwrap();
    let slice = back.slice(&[far as i64], &[total as i64]).unwrap();
    let expected: Vec<f16> = (0..100).rev().map(value).collect();
    assert_eq!(slice.download_blocking().unwrap().values(), expected);
    drop(back);
    let rows = [far + 99, 3, far, far - 1, far + 1];
    let lists = Ragged::from_rows([rows.map(|row| row as u32)]).unwrap();
    let gathered = x.gather(&Indices::new(lists).unwrap()).unwrap();
    assert_eq!(
        gathered.download_blocking().unwrap().values(),
        rows.map(value)
    );
}
