//! Arithmetic of complex values against f64: in every layout, with small integers.

use libtest_mimic::Trial;
use num_complex::Complex64;
use vsla::{Complex32, Device, Layout, Pairing, Ragged, Result, Tensor, batch::IntoSpread};

use crate::functions::{crossing, layout, places};
use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::{download, one, pair_list, pick, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("in_every_shape", in_every_shape),
        ("of_one_layout", of_one_layout),
        ("pairings", pairings),
        ("spread", spread),
        ("alone_and_contained", alone_and_contained),
        ("operators", operators),
        ("of_empty_batches", of_empty_batches),
        ("refused", refused),
        ("circular_convolution", circular_convolution),
    ])
}

pub fn wide(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

/// Functions of two complex operands.
pub const TWO: [&str; 4] = ["add", "sub", "hadamard", "div"];

pub fn called<'a>(
    name: &str,
    x: &Tensor<Complex32>,
    y: impl IntoSpread<'a, Complex32>,
) -> Result<Tensor<Complex32>> {
    match name {
        "add" => x.add(y),
        "sub" => x.sub(y),
        "hadamard" => x.hadamard(y),
        _ => x.div(y),
    }
}

/// The exact result for two values, either of which may be missing.
pub fn reference(name: &str, x: Option<Complex32>, y: Option<Complex32>) -> Complex64 {
    let zero = Complex64::default();
    match (name, x.map(wide), y.map(wide)) {
        ("add", x, y) => x.unwrap_or(zero) + y.unwrap_or(zero),
        ("sub", x, y) => x.unwrap_or(zero) - y.unwrap_or(zero),
        ("hadamard", Some(x), Some(y)) => x * y,
        ("div", Some(x), Some(y)) => x * y.conj() / y.norm_sqr(),
        _ => zero,
    }
}

/// Small integers, none of which is zero.
fn drawn(layout: &Layout, seed: &str) -> Ragged<Complex32> {
    let mut rng = rng(seed);
    let mut part = || rng.i32(1..=5) as f32 * if rng.bool() { 1.0 } else { -1.0 };
    Ragged::from_fn(layout, |_, _| Complex32::new(part(), part())).unwrap()
}

fn ambient(
    name: &str,
    a: &Ragged<Complex32>,
    b: &Ragged<Complex32>,
    pairs: &[(usize, usize)],
) -> Ragged<Complex64> {
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for &(i, j) in pairs {
        let shape = a.shape(i).ambient(&b.shape(j)).unwrap();
        let both = places(shape, a.shape(i)).zip(places(shape, b.shape(j)));
        let value = |(x, y): (Option<usize>, Option<usize>)| {
            reference(name, x.map(|x| a.row(i)[x]), y.map(|y| b.row(j)[y]))
        };
        values.extend(both.map(value));
        shapes.push(shape);
    }
    Ragged::from_shapes(values, a.layout().rank(), shapes).unwrap()
}

/// Asserts equal layouts and values: exactly, except for quotients.
#[track_caller]
fn assert_near(name: &str, got: &Tensor<Complex32>, expected: &Ragged<Complex64>) {
    let got = download(got);
    assert_eq!(got.layout(), expected.layout(), "{name}");
    let slack = if name == "div" { 1e-6 } else { 0.0 };
    for (i, (&got, expected)) in got.values().iter().zip(expected.values()).enumerate() {
        let near = (wide(got) - expected).norm() <= slack * expected.norm();
        assert!(near, "{name}, value {i}: {got}, expected {expected}");
    }
}

/// The batch as a view after an element of this many values.
fn displaced(device: &Device, batch: &Ragged<Complex32>, by: usize) -> Tensor<Complex32> {
    let mut extents = vec![1; batch.layout().rank()];
    *extents.last_mut().unwrap() = by;
    let before = one(&extents, &vec![Complex32::new(7.0, 7.0); by]);
    let whole = upload(device, &before).join(&[&upload(device, batch)]);
    whole.unwrap().elements(1..1 + batch.len()).unwrap()
}

fn elementwise(n: usize) -> Vec<(usize, usize)> {
    (0..n).map(|i| (i, i)).collect()
}

fn in_every_shape(device: &Device) {
    for (k, [left, right]) in crossing().iter().enumerate() {
        let (a, b) = (drawn(left, "left"), drawn(right, "right"));
        let (x, y) = (
            displaced(device, &a, k % 4),
            displaced(device, &b, 3 * k % 5),
        );
        for name in TWO {
            let expected = ambient(name, &a, &b, &elementwise(a.len()));
            assert_near(name, &called(name, &x, &y).unwrap(), &expected);
        }
        let (re, im) = (x.real().unwrap(), y.imag().unwrap());
        let got = download(&re.complex(&im).unwrap());
        let zero = Complex32::default();
        let parts = |x: &Ragged<Complex32>, part: fn(Complex32) -> Complex32| x.cast(part).unwrap();
        let (a, b) = (
            parts(&a, |z| Complex32::new(z.re, 0.0)),
            parts(&b, |z| Complex32::new(0.0, z.im)),
        );
        let expected = ambient("add", &a, &b, &elementwise(a.len()));
        assert_eq!(got.cast(wide).unwrap(), expected);
        // The angle is 0 or missing.
        let none = im.scale(0.0).unwrap();
        let b = b.cast(|_| zero).unwrap();
        let expected = ambient("add", &a, &b, &elementwise(a.len()));
        assert_eq!(
            download(&re.polar(&none).unwrap()).cast(wide).unwrap(),
            expected
        );
    }
}

fn of_one_layout(device: &Device) {
    for length in [1, 2, 3, 4, 5, 7, 8, 2047, 2049, 5003] {
        let layout = Layout::from_lengths([length / 2, 0, length - length / 2]).unwrap();
        let (a, b) = (drawn(&layout, "left"), drawn(&layout, "right"));
        for by in 0..3 {
            let (x, y) = (displaced(device, &a, by), displaced(device, &b, 3 * by % 7));
            for name in TWO {
                let expected = ambient(name, &a, &b, &elementwise(3));
                assert_near(name, &called(name, &x, &y).unwrap(), &expected);
            }
            let back = x.real().unwrap().complex(&x.imag().unwrap()).unwrap();
            assert_eq!(download(&back), a);
        }
    }
}

fn pairings(device: &Device) {
    let a = drawn(&layout(2, &[&[3, 2], &[1, 4]]), "two");
    let b = drawn(&layout(2, &[&[2, 4], &[3, 2], &[0, 1]]), "three");
    let (x, y) = (upload(device, &a), upload(device, &b));
    let all: Vec<_> = (0..2).flat_map(|i| (0..3).map(move |j| (i, j))).collect();
    let list = pair_list([(1, 0), (1, 2), (0, 1)]);
    for (pairing, pairs) in [
        (Pairing::AllToAll, all),
        (Pairing::List(&list), vec![(1, 0), (1, 2), (0, 1)]),
    ] {
        let pair = x.pair(&y, pairing).unwrap();
        for (name, got) in [
            ("add", pair.add()),
            ("sub", pair.sub()),
            ("hadamard", pair.hadamard()),
            ("div", pair.div()),
        ] {
            assert_near(name, &got.unwrap(), &ambient(name, &a, &b, &pairs));
        }
    }
    let one = y.elements(0..1).unwrap();
    let got = x.pair(&one, Pairing::AllToOne).unwrap().div().unwrap();
    let pairs = [(0, 0), (1, 0)];
    assert_near("div", &got, &ambient("div", &a, &b, &pairs));
    let (re, im) = (x.real().unwrap(), y.imag().unwrap());
    let pair = re.pair(&im, Pairing::List(&list)).unwrap();
    let got = download(&pair.complex().unwrap());
    assert_eq!(
        got.row(0)[0],
        Complex32::new(a.row(1)[0].re, b.row(0)[0].im)
    );
    let turned = download(&pair.polar().unwrap());
    assert_eq!(turned.layout(), got.layout());
}

/// Compared with whole operands.
fn spread(device: &Device) {
    for layout in [
        layout(1, &[&[5], &[0], &[2100], &[1]]),
        layout(2, &[&[3, 4], &[0, 2], &[30, 41], &[1, 1]]),
        layout(3, &[&[3, 2, 2], &[1, 7, 3]]),
    ] {
        let a = drawn(&layout, "whole");
        let x = displaced(device, &a, 3);
        let ones = drawn(
            &Layout::from_lengths(vec![1; layout.len()]).unwrap(),
            "ones",
        );
        let each = Ragged::from_fn(&layout, |e, _| ones.row(e)[0]).unwrap();
        let (v, each) = (displaced(device, &ones, 2), upload(device, &each));
        let same = |got: Result<Tensor<Complex32>>, expected: Result<Tensor<Complex32>>| {
            assert_eq!(download(&got.unwrap()), download(&expected.unwrap()));
        };
        for name in TWO {
            same(called(name, &x, v.each()), called(name, &x, &each));
        }
        same(v.each().sub(&x), each.sub(&x));
        same(v.each().div(&x), each.div(&x));
        let last = layout.rank() - 1;
        let extents = layout.shapes().map(|shape| shape.extents()[last] as usize);
        let vectors = drawn(&Layout::from_lengths(extents).unwrap(), "vectors");
        let row = |e: usize, i: usize| vectors.row(e)[i % vectors.row(e).len()];
        let along = upload(device, &Ragged::from_fn(&layout, row).unwrap());
        let v = upload(device, &vectors);
        same(x.hadamard(v.along(last)), x.hadamard(&along));
        same(v.along(last).hadamard(&x), along.hadamard(&x));
        let (re, im) = (x.real().unwrap(), v.imag().unwrap());
        same(
            re.complex(im.along(last)),
            re.complex(&along.imag().unwrap()),
        );
        same(im.along(last).polar(&re), along.imag().unwrap().polar(&re));
    }
}

fn bits(x: &Tensor<Complex32>, element: usize) -> Vec<[u32; 2]> {
    let parts = |z: &Complex32| [z.re.to_bits(), z.im.to_bits()];
    download(x).row(element).iter().map(parts).collect()
}

/// An element gives the same bits alone, and beside a NaN or an infinity.
fn alone_and_contained(device: &Device) {
    let left = layout(2, &[&[31, 40], &[3, 1], &[5, 7]]);
    let right = layout(2, &[&[29, 41], &[3, 1], &[4, 9]]);
    let mut rng = rng("alone");
    let mut drawn = |layout: &Layout| {
        let mut part = || rng.f32() * 4.0 - 2.0;
        Ragged::from_fn(layout, |_, _| Complex32::new(part(), part())).unwrap()
    };
    for right in [&left, &right] {
        let (a, b) = (drawn(&left), drawn(right));
        let (x, y) = (upload(device, &a), upload(device, &b));
        let mut poisoned = a.values().to_vec();
        let middle = left.offsets().range(1);
        poisoned[middle.start] = Complex32::new(f32::NAN, 1.0);
        poisoned[middle.end - 1] = Complex32::new(1.0, f32::INFINITY);
        let poisoned = Ragged::from_parts(left.clone(), poisoned).unwrap();
        let poisoned = upload(device, &poisoned);
        for name in TWO {
            let all = called(name, &x, &y).unwrap();
            let bad = called(name, &poisoned, &y).unwrap();
            for element in [0, 2] {
                let [x, y] = [&a, &b].map(|batch| upload(device, &pick(batch, &[element])));
                let single = called(name, &x, &y).unwrap();
                assert_eq!(bits(&all, element), bits(&single, 0), "{name}");
                assert_eq!(bits(&all, element), bits(&bad, element), "{name}");
            }
        }
    }
}

fn operators(device: &Device) {
    let z = Complex32::new;
    let x = upload(
        device,
        &rows([&[z(1.0, 2.0), z(3.0, -4.0)], &[z(0.0, 1.0)]]),
    );
    let y = upload(device, &rows([&[z(2.0, 0.0), z(0.0, 1.0)], &[z(0.0, 2.0)]]));
    let all = |y: Result<Tensor<Complex32>>| download(&y.unwrap()).to_vecs().unwrap();
    assert_eq!(
        all(&x + &y),
        [vec![z(3.0, 2.0), z(3.0, -3.0)], vec![z(0.0, 3.0)]]
    );
    assert_eq!(
        all(&x - &y),
        [vec![z(-1.0, 2.0), z(3.0, -5.0)], vec![z(0.0, -1.0)]]
    );
    assert_eq!(
        all(&x * &y),
        [vec![z(2.0, 4.0), z(4.0, 3.0)], vec![z(-2.0, 0.0)]]
    );
    assert_eq!(
        all(&x / &y),
        [vec![z(0.5, 1.0), z(-4.0, -3.0)], vec![z(0.5, 0.0)]]
    );
    assert_eq!(
        all(-&x),
        [vec![z(-1.0, -2.0), z(-3.0, 4.0)], vec![z(-0.0, -1.0)]]
    );
    assert_eq!(all(&x * 2.0), all(2.0 * &x));
    assert_eq!(all(&x * z(0.0, 1.0)), all(z(0.0, 1.0) * &x));
    assert_eq!(all(&x * z(2.0, 0.0)), all(&x * 2.0));
    let v = upload(device, &rows([&[z(0.0, 1.0)], &[z(2.0, 0.0)]]));
    assert_eq!(all(&x * v.each()), all(v.each() * &x));
    assert_eq!(all(&x * v.each())[1], [z(0.0, 2.0)]);
    assert_eq!(all(v.each() - &x)[1], [z(2.0, -1.0)]);
}

fn of_empty_batches(device: &Device) {
    for lengths in [vec![], vec![0, 0]] {
        let layout = Layout::from_lengths(lengths).unwrap();
        let x = upload(device, &drawn(&layout, "none"));
        for name in TWO {
            assert_eq!(called(name, &x, &x).unwrap().layout(), &layout);
        }
        assert_eq!(x.abs().unwrap().layout(), &layout);
        assert_eq!(x.conj().unwrap().layout(), &layout);
        let re = x.real().unwrap();
        assert_eq!(re.polar(&re).unwrap().layout(), &layout);
        let pairs = x.view_as_real().unwrap();
        assert_eq!(pairs.view_as_complex().unwrap().layout(), &layout);
    }
}

fn refused(device: &Device) {
    let x = upload(device, &drawn(&layout(2, &[&[2, 3], &[2, 4]]), "x"));
    let ones = upload(device, &drawn(&layout(1, &[&[1], &[1]]), "ones"));
    let few = upload(device, &drawn(&layout(1, &[&[1]]), "few"));
    let kind = |error: vsla::Error| (error.kind(), error.op());
    assert_eq!(kind(x.hadamard(&ones).unwrap_err()), ("rank", "hadamard"));
    assert_eq!(kind(few.div(&ones).unwrap_err()), ("batch_size", "div"));
    let three = upload(device, &drawn(&layout(1, &[&[1], &[1], &[1]]), "three"));
    let error = x.add(three.each()).unwrap_err();
    assert_eq!(kind(error), ("batch_size", "add"));
    let (re, one) = (x.real().unwrap(), few.imag().unwrap());
    assert_eq!(
        kind(re.complex(&one).unwrap_err()),
        ("batch_size", "complex")
    );
    assert_eq!(kind(re.polar(re.each()).unwrap_err()), ("length", "polar"));
    // All handles of the CPU are one device.
    if device.is_gpu() {
        let elsewhere = upload(&Device::cpu(), &drawn(&layout(1, &[&[1], &[1]]), "ones"));
        let error = ones.sub(&elsewhere).unwrap_err();
        assert_eq!(kind(error), ("device_mismatch", "sub"));
    }
    let limited = device.with_work_limit(5);
    let x = upload(&limited, &drawn(&layout(1, &[&[6]]), "x"));
    assert_eq!(kind(x.div(&x).unwrap_err()), ("work_limit", "div"));
    assert_eq!(kind(x.abs().unwrap_err()), ("work_limit", "abs"));
    assert_eq!(kind(x.conj().unwrap_err()), ("work_limit", "conj"));
}

/// rfft, a product of spectra and irfft are a circular convolution, also with one kernel for all series.
fn circular_convolution(device: &Device) {
    let lengths = [1, 2, 8, 15, 64, 97, 300, 0];
    let layout = Layout::from_lengths(lengths).unwrap();
    let mut rng = rng("circular");
    let mut drawn = |layout: &Layout| Ragged::from_fn(layout, |_, _| rng.f32() - 0.5).unwrap();
    let (a, b) = (drawn(&layout), drawn(&layout));
    let (x, y) = (upload(device, &a), upload(device, &b));
    let spectra = (&x.rfft().unwrap() * &y.rfft().unwrap()).unwrap();
    let got = download(&spectra.irfft(&layout).unwrap());
    let back = (&spectra / &y.rfft().unwrap()).unwrap().irfft(&layout);
    let back = download(&back.unwrap());
    for (e, n) in lengths.into_iter().enumerate() {
        let (a, b) = (a.row(e), b.row(e));
        let norm = |x: &[f32]| x.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
        for i in 0..n {
            let terms = (0..n).map(|j| f64::from(a[j]) * f64::from(b[(i + n - j) % n]));
            let (exact, got) = (terms.sum::<f64>(), f64::from(got.row(e)[i]));
            assert!(
                (got - exact).abs() <= 4e-6 * norm(a) * norm(b),
                "{e}, {i}: {got}, {exact}"
            );
            assert!((back.row(e)[i] - a[i]).abs() < 1e-2, "{e}, {i}");
        }
    }
    let kernel = drawn(&Layout::from_lengths([64]).unwrap());
    let layout = Layout::uniform(5, vsla::Shape::new(&[64]).unwrap()).unwrap();
    let a = drawn(&layout);
    let (x, k) = (upload(device, &a), upload(device, &kernel));
    let spectrum = k.rfft().unwrap();
    let product = x.rfft().unwrap().hadamard(spectrum.along(0)).unwrap();
    let got = download(&product.irfft(&layout).unwrap());
    for e in 0..5 {
        for i in 0..64 {
            let terms = (0..64)
                .map(|j| f64::from(a.row(e)[j]) * f64::from(kernel.row(0)[(i + 64 - j) % 64]));
            assert!((f64::from(got.row(e)[i]) - terms.sum::<f64>()).abs() < 1e-5);
        }
    }
}
