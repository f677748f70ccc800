//! Epilogues of block-sparse products.

use vsla::{
    Device, Layout, Pairing, Ragged, Shape, Tensor, Topology, f16,
    product::{Activation, Product},
    scalar::Float,
};

use super::half::{narrowed, narrowed_matrix};
use super::{FORMS, Values, batch, dense, matrices, matrix, multiply, product};
use crate::support::bench::{DeviceTest, is_hurried};
use crate::support::compare::assert_within;
use crate::support::operation::{download, upload};

pub const TESTS: &[DeviceTest] = &[
    ("epilogue::of_every_form", of_every_form),
    ("epilogue::gelu", gelu),
    ("epilogue::alone", alone),
    ("epilogue::errors", errors),
];

/// Sets those of scale, bias, activation and residual that the bits select.
fn told<'a, T: Float>(
    mut product: Product<'a, T>,
    parts: usize,
    bias: &'a Tensor<T>,
    residual: &'a Tensor<T>,
) -> Product<'a, T> {
    if parts & 1 != 0 {
        product = product.scale(0.5);
    }
    if parts & 2 != 0 {
        product = product.bias(bias);
    }
    if parts & 4 != 0 {
        product = product.activation(Activation::Relu);
    }
    if parts & 8 != 0 {
        product = product.residual(residual);
    }
    product
}

/// A batch that is a view after an element of three other values.
fn behind<T: Float>(device: &Device, batch: &Ragged<T>, other: T) -> Tensor<T> {
    let rank = batch.layout().rank();
    let first = Shape::new(&[3, 1][..rank]).unwrap();
    let shapes = [first].into_iter().chain(batch.layout().shapes());
    let layout = Layout::from_shapes(rank, shapes).unwrap();
    let values = [&[other; 3], batch.values()].concat();
    let whole = upload(device, &Ragged::from_parts(layout, values).unwrap());
    whole.elements(1..1 + batch.len()).unwrap()
}

/// Exact comparison with the plain product, which is tested elsewhere. Biases: one for all, or one per right operand.
pub fn check(device: &Device, topology: &Topology, sets: usize, counts: &[usize]) {
    let s = matrix(topology, sets, Values::Integers);
    let there = device.upload_bsr(&s).unwrap();
    let halves = device.upload_bsr(&narrowed_matrix(&s)).unwrap();
    for form in FORMS {
        let [transposed, left] = form;
        let x = batch(&dense(topology, form, counts), Values::Integers, "dense");
        let y = upload(device, &x);
        let sums = download(&multiply(&there, &y, form));
        let columns = |i: usize| match left {
            true => topology.shape()[usize::from(!transposed)],
            false => counts[i],
        };
        let right = if left { sets } else { counts.len() };
        let biases = batch(
            &Layout::from_lengths((0..right).map(columns)).unwrap(),
            Values::Integers,
            "bias",
        );
        let residual = batch(sums.layout(), Values::Integers, "residual");
        let expected = |parts: usize| {
            Ragged::from_fn(sums.layout(), |i, at| {
                let has = |bit: usize| parts & bit != 0;
                let bias = biases.row(if right == 1 { 0 } else { i });
                let mut value = sums.row(i)[at] * if has(1) { 0.5 } else { 1.0 };
                value += if has(2) { bias[at % columns(i)] } else { 0.0 };
                value = if has(4) { value.max(0.0) } else { value };
                value + if has(8) { residual.row(i)[at] } else { 0.0 }
            })
            .unwrap()
        };
        let (bias, added) = (behind(device, &biases, 7.0), behind(device, &residual, 7.0));
        for parts in 0..16 {
            let product = told(product(&there, &y, form), parts, &bias, &added);
            let got = download(&product.run().unwrap());
            assert_eq!(got, expected(parts), "{form:?} {parts} {topology}");
        }
        // Results of f16, stored by the product or rounded later, with operands at any offset.
        let y = upload(device, &narrowed(&x));
        let seven = f16::from_f32(7.0);
        let bias = behind(device, &narrowed(&biases), seven);
        let added = behind(device, &narrowed(&residual), seven);
        for parts in [2, 5, 15] {
            let product = told(product(&halves, &y, form), parts, &bias, &added);
            let got = download(&product.clone().to::<f32>().run().unwrap());
            assert_eq!(got, expected(parts), "{form:?} {parts} {topology}");
            let rounded = download(&product.run().unwrap());
            assert_eq!(
                rounded,
                got.cast(f16::from_f32).unwrap(),
                "{form:?} {parts}"
            );
        }
    }
}

fn of_every_form(device: &Device) {
    let some = Topology::new([30, 44], [16, 8], &[(0, 0), (0, 4), (1, 2)]).unwrap();
    check(device, &some, 1, &[5, 0, 37, 1]);
    check(device, &some, 3, &[8, 1, 33]);
    let none = Topology::new([9, 7], [8, 8], &[]).unwrap();
    check(device, &none, 1, &[3]);
    check(device, &none, 1, &[]);
    // A row that is cut, whose parts are added before the epilogue.
    let (blocks, columns) = match is_hurried(device) {
        true => (600, [3, 18]),
        false => (1100, [3, 40]),
    };
    let heavy = (0..blocks).map(|column| (1, column)).chain([(0, 7)]);
    let shape = [24, 8 * blocks as usize];
    let heavy = Topology::from_unsorted(shape, [8, 8], heavy).unwrap();
    check(device, &heavy, 1, &columns);
}

/// The epilogue of dense products.
fn gelu(device: &Device) {
    let topology = Topology::new([16, 24], [8, 8], &[(0, 0), (1, 1), (1, 2)]).unwrap();
    let s = device
        .upload_bsr(&matrix(&topology, 1, Values::Random))
        .unwrap();
    let x = upload(device, &batch(&matrices([[24, 40]]), Values::Random, "x"));
    let sums = s.matmul(&x).unwrap();
    let one = Ragged::from_fn(&matrices([[40, 40]]), |_, at| f32::from(at % 41 == 0)).unwrap();
    let one = upload(device, &one);
    let by_dense = sums.pair(&one, Pairing::Elementwise).unwrap();
    let by_dense = by_dense
        .product()
        .activation(Activation::Gelu)
        .run()
        .unwrap();
    let expected = download(&by_dense).cast(f64::from).unwrap();
    let got = s.product(&x).activation(Activation::Gelu).run().unwrap();
    let bounds: Vec<_> = expected.values().iter().map(|y| y.abs() * 1e-6).collect();
    assert_within("gelu", &download(&got), &expected, &bounds);
}

/// A product's bits do not depend on its neighbours.
fn alone(device: &Device) {
    let topology = Topology::new([16, 24], [8, 8], &[(0, 0), (1, 1), (1, 2)]).unwrap();
    let s = device
        .upload_bsr(&matrix(&topology, 1, Values::Random))
        .unwrap();
    let rows = matrices([[3, 16], [1, 16], [70, 16]]);
    let x = upload(device, &batch(&rows, Values::Random, "x"));
    let bias = Ragged::random(&Layout::from_lengths([24]).unwrap(), 5).unwrap();
    let bias = upload(device, &bias);
    let make = |x: &Tensor<f32>| {
        let product = x.product(&s).scale(0.3).bias(&bias);
        download(&product.activation(Activation::Gelu).run().unwrap())
    };
    let whole = make(&x);
    for i in 0..3 {
        let got = make(&x.elements(i..i + 1).unwrap());
        assert_eq!(super::bits(got.row(0)), super::bits(whole.row(i)), "{i}");
    }
}

fn errors(device: &Device) {
    let topology = Topology::new([16, 24], [8, 8], &[(0, 0)]).unwrap();
    let s = device
        .upload_bsr(&matrix(&topology, 1, Values::Integers))
        .unwrap();
    let x = upload(
        device,
        &Ragged::full(&matrices([[24, 4], [24, 5]]), 1.0f32).unwrap(),
    );
    let of = |lengths: &[usize]| {
        let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
        upload(device, &Ragged::full(&layout, 1.0f32).unwrap())
    };
    for (lengths, kind, element) in [
        (&[4, 5, 6][..], "argument", None),
        (&[4, 4], "length", Some(1)),
        (&[5], "length", Some(0)),
    ] {
        let error = s.product(&x).bias(&of(lengths)).run().unwrap_err();
        let found = (error.kind(), error.op(), error.element());
        assert_eq!(found, (kind, "bias", element), "{lengths:?}");
    }
    let error = s.product(&x).bias(&x).run().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("rank", "bias"));
    let wrong = upload(
        device,
        &Ragged::full(&matrices([[16, 4], [5, 16]]), 1.0f32).unwrap(),
    );
    let error = s.product(&x).residual(&wrong).run().unwrap_err();
    let found = (error.kind(), error.op(), error.element());
    assert_eq!(found, ("shape", "residual", Some(1)));
    if !device.is_gpu() {
        return; // All handles of the CPU are one device.
    }
    let elsewhere = upload(
        &Device::cpu(),
        &Ragged::full(&matrices([[16, 4], [16, 5]]), 1.0f32).unwrap(),
    );
    let error = s.product(&x).residual(&elsewhere).run().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("device_mismatch", "residual"));
}
