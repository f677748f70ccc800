//! Operands that are spread over elements give the same bits as materialized operands.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Result, Tensor, batch::Spread, f16};

use super::{
    Value, assert_same, bits, called, called_spread, displaced, drawn, layout, of_every_type,
    telling,
};
use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::{download, one, pick, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("spread::each", each),
        ("spread::along_every_axis", along),
        ("spread::one_for_all", one_for_all),
        ("spread::scalars", scalars),
        ("spread::alone", alone),
        ("spread::nan_stays_within_its_element", contained),
        ("spread::operators", operators),
        ("spread::pipeline", pipeline),
        ("spread::refused", refused),
    ])
}

/// Boxes with few enough elements for the tables, and with more.
fn layouts() -> Vec<Layout> {
    let mut deep = [2; vsla::batch::MAX_RANK];
    deep[3] = 3;
    let many: Vec<usize> = (0..700).map(|i| i * 7 % 5).collect();
    vec![
        Layout::from_lengths([1, 0, 2500, 5, 3, 70]).unwrap(),
        Layout::from_lengths(many).unwrap(),
        layout(2, &[&[3, 5], &[0, 4], &[40, 33], &[1, 1], &[7, 1], &[1, 9]]),
        layout(3, &[&[2, 3, 4], &[1, 5, 2], &[0, 0, 0], &[13, 1, 7]]),
        layout(8, &[&deep, &[1; 8]]),
    ]
}

/// Materializes a spread operand for boxes: along an axis, or one value per element.
fn whole<T: Value>(x: &Layout, v: &Ragged<T>, axis: Option<usize>) -> Ragged<T> {
    Ragged::from_fn(x, |element, i| {
        let shape = x.shape(element);
        let vector = v.row(if v.len() == 1 { 0 } else { element });
        let Some(axis) = axis else { return vector[0] };
        let inner: usize = shape.extents()[axis + 1..]
            .iter()
            .map(|&e| e as usize)
            .product();
        vector[i / inner % shape.extents()[axis] as usize]
    })
    .unwrap()
}

/// The spread operand on either side gives the same bits as a whole operand.
#[track_caller]
fn check<T: Value>(x: &Tensor<T>, v: Spread<'_, T>, whole: &Tensor<T>) {
    for name in telling::<T>() {
        for (got, expected) in [
            (called(name, x, v), called(name, x, whole.into())),
            (called_spread(name, v, x), called(name, whole, x.into())),
        ] {
            let (got, expected) = (got.unwrap(), expected.unwrap());
            assert_eq!(got.layout(), expected.layout());
            for element in 0..got.len() {
                let what = format!("{name} of {}, element {element}", T::DTYPE);
                assert_same(&what, &got, &expected, element, element);
            }
        }
    }
}

fn each(device: &Device) {
    of_every_type!(each_of(device));
}

fn each_of<T: Value>(device: &Device) {
    for (k, layout) in layouts().iter().enumerate() {
        let x = displaced(device, &drawn::<T>(layout, "x"), k);
        let v = drawn::<T>(&Layout::from_lengths(vec![1; layout.len()]).unwrap(), "v");
        let whole = upload(device, &whole(layout, &v, None));
        check(&x, displaced(device, &v, 3 * k % 4).each(), &whole);
    }
}

fn along(device: &Device) {
    of_every_type!(along_of(device));
}

fn along_of<T: Value>(device: &Device) {
    for (k, layout) in layouts().iter().enumerate() {
        let x = displaced(device, &drawn::<T>(layout, "x"), k);
        for axis in 0..layout.rank() {
            let lengths = layout.shapes().map(|shape| shape.extents()[axis] as usize);
            let v = drawn::<T>(&Layout::from_lengths(lengths).unwrap(), "v");
            let whole = upload(device, &whole(layout, &v, Some(axis)));
            check(&x, displaced(device, &v, axis).along(axis), &whole);
        }
    }
}

fn one_for_all(device: &Device) {
    of_every_type!(one_for_all_of(device));
}

fn one_for_all_of<T: Value>(device: &Device) {
    for (k, layout) in layouts().iter().enumerate() {
        let x = displaced(device, &drawn::<T>(layout, "x"), k);
        let v = drawn::<T>(&Layout::from_lengths([1]).unwrap(), "v");
        let whole = upload(device, &whole(layout, &v, None));
        check(&x, displaced(device, &v, 3).each(), &whole);
        check(&x, v.values()[0].into(), &whole);
    }
    let layout = layout(3, &[&[2, 5, 3], &[7, 5, 1], &[0, 5, 2], &[1, 5, 700]]);
    let x = displaced(device, &drawn::<T>(&layout, "x"), 1);
    let v = drawn::<T>(&Layout::from_lengths([5]).unwrap(), "v");
    let whole = upload(device, &whole(&layout, &v, Some(1)));
    check(&x, displaced(device, &v, 3).along(1), &whole);
}

/// Scalars of every type that a method takes, of more values than a device keeps, and of batches without elements.
fn scalars(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, -0.0, 3.0], &[f32::NAN]]));
    let halves = x.to::<f16>().unwrap();
    let bytes = upload(device, &rows([&[1u8, 200], &[7, 3, 0]]));
    let all = |mask: Result<Tensor<u32>>| download(&mask.unwrap()).to_vecs().unwrap();
    assert_eq!(all(x.greater(2.0)), [vec![0, 0, 1], vec![0]]);
    assert_eq!(all(x.equal(0.0)), [vec![0, 1, 0], vec![0]]);
    assert_eq!(all(halves.less(f16::ONE)), [vec![0, 1, 0], vec![0]]);
    assert_eq!(all(bytes.greater_equal(7)), [vec![0, 1], vec![1, 0, 0]]);
    let signs = |y: Result<Tensor<f32>>| {
        let values = download(&y.unwrap());
        values
            .row(0)
            .iter()
            .map(|y| y.to_bits())
            .collect::<Vec<_>>()
    };
    // Scalars are told apart by their bits.
    for zero in [0.0f32, -0.0] {
        let expected = [zero, -0.0, 3.0].map(f32::to_bits);
        assert_eq!(
            signs(x.equal(1.0).and_then(|one| one.if_else(zero, &x))),
            expected
        );
    }
    let mask = x.greater(0.5).unwrap();
    let chosen = download(&mask.if_else(2.5f32, -1.0).unwrap());
    assert_eq!(
        chosen.to_vecs().unwrap(),
        [vec![2.5, -1.0, 2.5], vec![-1.0]]
    );
    let sum = x.mul_add(2.0, 0.5).unwrap();
    assert_eq!(download(&sum).row(0), [2.5, 0.5, 6.5]);
    let powers = Spread::from(2.0).pow(&x).unwrap();
    assert_eq!(download(&powers).row(0), [2.0, 1.0, 8.0]);
    let z = upload(device, &rows([&[Complex32::new(1.0, 2.0)], &[]]));
    let product = download(&z.hadamard(Complex32::new(0.0, 1.0)).unwrap());
    assert_eq!(product.row(0), [Complex32::new(-2.0, 1.0)]);
    assert_eq!(
        download(&x.complex(1.0).unwrap()).row(0)[2],
        Complex32::new(3.0, 1.0)
    );

    let integers = upload(device, &rows([&[5, -7]]));
    for i in 0..150 {
        assert_eq!(download(&integers.sub(i).unwrap()).row(0), [5 - i, -7 - i]);
    }
    let none = integers.elements(0..0).unwrap();
    assert_eq!(none.add(1).unwrap().len(), 0);
    let empty = upload(device, &rows([&[] as &[f32], &[]]));
    assert_eq!(empty.add(1.0).unwrap().layout(), empty.layout());
}

fn alone(device: &Device) {
    let layout = layout(2, &[&[31, 40], &[3, 1], &[5, 7]]);
    let mut rng = rng("spread alone");
    let x = Ragged::from_fn(&layout, |_, _| rng.f32() * 4.0 - 2.0).unwrap();
    let v = Ragged::from_fn(&Layout::from_lengths([31, 3, 5]).unwrap(), |_, _| rng.f32()).unwrap();
    let (a, b) = (upload(device, &x), upload(device, &v));
    for name in telling::<f32>() {
        let all = called(name, &a, b.along(0)).unwrap();
        for element in 0..3 {
            let (a, b) = (
                upload(device, &pick(&x, &[element])),
                upload(device, &pick(&v, &[element])),
            );
            let single = called(name, &a, b.along(0)).unwrap();
            assert_eq!(bits(&all, element), bits(&single, 0), "{name}");
        }
    }
}

fn contained(device: &Device) {
    let x = upload(
        device,
        &Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![2.0; 3], vec![4.0; 3]]).unwrap(),
    );
    let ones = |poison: f32| upload(device, &rows([&[2.0f32], &[poison], &[3.0]]));
    let vectors = |poison: f32| {
        upload(
            device,
            &rows([&[2.0f32, 1.0, 5.0], &[1.0, poison, 1.0], &[3.0; 3]]),
        )
    };
    for poison in [f32::NAN, f32::INFINITY] {
        for name in telling::<f32>() {
            let [clean, bad] = [1.0, poison].map(|v| called(name, &x, ones(v).each()).unwrap());
            for element in [0, 2] {
                assert_eq!(bits(&clean, element), bits(&bad, element), "{name}");
            }
            let [clean, bad] =
                [1.0, poison].map(|v| called(name, &x, vectors(v).along(0)).unwrap());
            for element in [0, 2] {
                assert_eq!(bits(&clean, element), bits(&bad, element), "{name}");
            }
            // Along an axis, only the values that are paired with an entry are used.
            assert_eq!(bits(&clean, 1)[0], bits(&bad, 1)[0], "{name}");
        }
    }
}

fn operators(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, 2.0, 4.0], &[8.0]]));
    let v = upload(device, &rows([&[2.0f32], &[4.0]]));
    let (plus, minus) = ((&x + v.each()).unwrap(), (&x - v.each()).unwrap());
    let (times, over) = ((&x * v.each()).unwrap(), (&x / v.each()).unwrap());
    let all = |y: &Tensor<f32>| download(y).to_vecs().unwrap();
    assert_eq!(all(&plus), [vec![3.0, 4.0, 6.0], vec![12.0]]);
    assert_eq!(all(&minus), [vec![-1.0, 0.0, 2.0], vec![4.0]]);
    assert_eq!(all(&times), [vec![2.0, 4.0, 8.0], vec![32.0]]);
    assert_eq!(all(&over), [vec![0.5, 1.0, 2.0], vec![2.0]]);
    assert_eq!(all(&(v.each() + &x).unwrap()), all(&plus));
    assert_eq!(all(&(v.each() * &x).unwrap()), all(&times));
    assert_eq!(
        all(&(v.each() - &x).unwrap()),
        [vec![1.0, 0.0, -2.0], vec![-4.0]]
    );
    assert_eq!(
        all(&(v.each() / &x).unwrap()),
        [vec![2.0, 1.0, 0.5], vec![0.5]]
    );
    assert_eq!(
        all(&(&plus / &x).unwrap()),
        [vec![3.0, 2.0, 1.5], vec![1.5]]
    );
    assert_eq!(all(&(x.copy().unwrap() - v.each()).unwrap()), all(&minus));
    let halves = x.to::<f16>().unwrap();
    let doubled = download(&(&halves + &halves).unwrap());
    assert_eq!(doubled.row(1), [f16::from_f32(16.0)]);
}

/// Standardized to mean 0 and variance 1, and a layer with a bias.
fn pipeline(device: &Device) {
    let x = Ragged::from_rows([vec![1.0f32, 3.0], vec![2.0, 2.0, 8.0, 8.0]]).unwrap();
    let x = upload(device, &x);
    let mean = x.mean().unwrap();
    let z = ((&x - mean.each()).unwrap() / x.std().unwrap().each()).unwrap();
    assert_eq!(
        download(&z).to_vecs().unwrap(),
        [vec![-1.0, 1.0], vec![-1.0, -1.0, 1.0, 1.0]]
    );
    let rows = upload(device, &one(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]));
    let weights = upload(device, &one(&[2, 3], &[1.0f32, 0.0, 1.0, 0.0, 1.0, 1.0]));
    let bias = upload(device, &one(&[3], &[10.0f32, 20.0, 30.0]));
    let y = (&rows.matmul(&weights).unwrap() + bias.along(1)).unwrap();
    assert_eq!(download(&y).row(0), [11.0, 22.0, 33.0, 13.0, 24.0, 37.0]);
}

fn refused(device: &Device) {
    let x = upload(device, &drawn::<f32>(&layout(2, &[&[2, 3], &[2, 4]]), "x"));
    let ones = upload(device, &rows([&[1.0f32], &[2.0]]));
    let single = upload(device, &rows([&[1.0f32]]));
    let few = upload(device, &rows([&[1.0f32], &[2.0], &[3.0]]));
    let uneven = upload(device, &rows([&[1.0f32], &[2.0, 3.0]]));
    let vectors = upload(device, &rows([&[1.0f32, 2.0, 3.0], &[1.0, 2.0, 3.0]]));
    let text = |error: vsla::Error| error.to_string();
    for (got, expected) in [
        (
            x.div(few.each()),
            "div: expected batches of equal size, got 2 elements and 3",
        ),
        (
            few.each().div(&x),
            "div: expected batches of equal size, got 3 elements and 2",
        ),
        (
            x.maximum(uneven.each()),
            "maximum: element 1: expected 1 value, got 2",
        ),
        (
            x.add(vectors.along(1)),
            "add: element 1: expected 4 values, got 3",
        ),
        (
            vectors.along(1).sub(&x),
            "sub: element 1: expected 4 values, got 3",
        ),
        (
            x.atan2(single.along(0)),
            "atan2: element 0: expected 2 values, got 1",
        ),
        (
            x.pow(vectors.along(2)),
            "pow: expected an axis below the rank of 2, got 2",
        ),
        (
            x.hadamard(x.along(0)),
            "hadamard: expected a rank of 1 for vectors along an axis, got 2",
        ),
    ] {
        assert_eq!(got.map_err(text).unwrap_err(), expected);
    }
    // A vector that is not spread: the error names the ways that fit.
    let pairs = upload(device, &rows([&[1.0f32, 2.0], &[1.0, 2.0]]));
    let square = upload(
        device,
        &drawn::<f32>(&layout(2, &[&[2, 2], &[2, 2]]), "square"),
    );
    let tiny = upload(
        device,
        &drawn::<f32>(&layout(2, &[&[1, 1], &[1, 1]]), "tiny"),
    );
    for (got, expected) in [
        (
            x.div(&ones),
            "2, as in the left batch, or the right operand spread by `each()`, got 1",
        ),
        (
            x.div(&pairs),
            "2, as in the left batch, or the right operand spread by `along(0)`, got 1",
        ),
        (x.div(&uneven), "2, as in the left batch, got 1"),
        (
            square.mul_add(&pairs, &square),
            "2, as in the left batch, or the right operand spread by `along(0)` or `along(1)`, got 1",
        ),
        (
            &pairs - &square,
            "1, as in the left batch, or the left operand spread by `along(0)` or `along(1)`, got 2",
        ),
        (
            &tiny * &ones,
            "2, as in the left batch, or the right operand spread by `each()` or `along(0)` or `along(1)`, got 1",
        ),
    ] {
        let error = got.unwrap_err();
        assert_eq!(error.kind(), "rank");
        let text = error.to_string();
        assert!(
            text.ends_with(&format!("expected a rank of {expected}")),
            "{text}"
        );
    }
    // All handles of the CPU are one device.
    if device.is_gpu() {
        let elsewhere = upload(&Device::cpu(), &rows([&[1.0f32], &[2.0]]));
        let error = x.div(elsewhere.each()).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("device_mismatch", "div"));
    }
    let limited = device.with_work_limit(5);
    let x = upload(&limited, &one(&[6], &[1.0f32; 6]));
    let v = upload(&limited, &one(&[1], &[1.0f32]));
    assert_eq!(x.div(v.each()).unwrap_err().kind(), "work_limit");
    assert_eq!(x.div(&x).unwrap_err().kind(), "work_limit");
}
