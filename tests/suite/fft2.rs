//! Discrete Fourier transforms of two axes: against f64, laws, and the independence of an element's bits.

use libtest_mimic::Trial;
use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;
use vsla::{Complex32, Device, Error, Layout, Ragged, Shape};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{U, assert_spectral};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("reference", reference),
        ("integers", integers),
        ("deltas", deltas),
        ("linear", linear),
        ("there_and_back", there_and_back),
        ("alone", alone),
        ("views", views),
        ("contained", contained),
        ("empty", empty),
        ("refused", refused),
    ];
    bench.all_on_each_device(tests)
}

/// Extents with every kind of length along each axis, partial tiles, single rows and columns, and empty elements.
const SHAPES: [[usize; 2]; 14] = [
    [4, 4],
    [1, 33],
    [33, 1],
    [0, 5],
    [31, 65],
    [64, 32],
    [100, 70],
    [5, 0],
    [3, 256],
    [97, 34],
    [2, 2],
    [1, 1],
    [130, 67],
    [66, 128],
];

fn layout(shapes: &[[usize; 2]]) -> Layout {
    let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
    Layout::from_shapes(2, shapes).unwrap()
}

/// Random values, which depend on the element's extents and `seed` alone.
fn random(layout: &Layout, seed: u64) -> Ragged<Complex32> {
    let values = layout.shapes().flat_map(|shape| {
        let mut rng = rng(&format!("fft2 {shape} {seed}"));
        let mut value = move || rng.f32() * 2.0 - 1.0;
        (0..shape.size()).map(move |_| Complex32::new(value(), value()))
    });
    Ragged::from_parts(layout.clone(), values.collect()).unwrap()
}

fn wide(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

fn spectrum(columns: usize) -> usize {
    if columns == 0 { 0 } else { columns / 2 + 1 }
}

fn extents(layout: &Layout, element: usize) -> [usize; 2] {
    let shape = layout.shape(element);
    [shape.extents()[0] as usize, shape.extents()[1] as usize]
}

/// The transform of an element in f64, along one axis and then the other.
fn transform(x: &[Complex64], [rows, columns]: [usize; 2], inverse: bool) -> Vec<Complex64> {
    let mut y = x.to_vec();
    if y.is_empty() {
        return y;
    }
    let mut planner = FftPlanner::new();
    let mut plan = |n| match inverse {
        false => planner.plan_fft_forward(n),
        true => planner.plan_fft_inverse(n),
    };
    plan(columns).process(&mut y);
    let along = plan(rows);
    for column in 0..columns {
        let mut values: Vec<_> = y[column..].iter().step_by(columns).copied().collect();
        along.process(&mut values);
        for (row, value) in values.into_iter().enumerate() {
            y[row * columns + column] = value;
        }
    }
    if inverse {
        y.iter_mut().for_each(|z| *z /= (rows * columns) as f64);
    }
    y
}

/// The documented bound along both axes. Along each, it is twice that of a power of two.
fn bound([rows, columns]: [usize; 2]) -> f64 {
    let along = |n: usize| 2.0 * U * (1.0 + 0.25 * (n.max(1) as f64).log2());
    along(rows) + along(columns)
}

#[track_caller]
fn assert_close(what: &str, got: &Ragged<Complex32>, expected: &[Vec<Complex64>], layout: &Layout) {
    assert_eq!(got.len(), layout.len(), "{what}");
    for (element, expected) in expected.iter().enumerate() {
        let of = extents(layout, element);
        let one = |row: &[Complex32]| Ragged::from_rows([row]).unwrap();
        let expected = Ragged::from_rows([expected.as_slice()]).unwrap();
        let what = format!("{what} of {of:?}");
        assert_spectral(what, &one(got.row(element)), &expected, |_| bound(of));
    }
}

/// The first ⌊c/2⌋ + 1 columns.
fn halved(x: &[Complex64], [_, columns]: [usize; 2]) -> Vec<Complex64> {
    let rows = x.chunks(columns.max(1));
    rows.flat_map(|row| &row[..spectrum(columns)])
        .copied()
        .collect()
}

fn reference(device: &Device) {
    let layout = layout(&SHAPES);
    let x = random(&layout, 0);
    let tensor = upload(device, &x);
    let all = |x: &Ragged<Complex64>, inverse| -> Vec<_> {
        let elements = x.iter().enumerate();
        elements
            .map(|(element, x)| transform(x, extents(&layout, element), inverse))
            .collect()
    };
    let complex = x.cast(wide).unwrap();
    let got = download(&tensor.fft2().unwrap());
    assert_eq!(got.layout(), &layout);
    assert_close("fft2", &got, &all(&complex, false), &layout);
    let got = download(&tensor.ifft2().unwrap());
    assert_close("ifft2", &got, &all(&complex, true), &layout);
    let real = x.cast(|z| z.re).unwrap();
    let tensor = upload(device, &real).rfft2().unwrap();
    let whole = all(
        &real.cast(|x| Complex64::from(f64::from(x))).unwrap(),
        false,
    );
    let expected: Vec<_> = whole
        .iter()
        .enumerate()
        .map(|(element, x)| halved(x, extents(&layout, element)))
        .collect();
    assert_close("rfft2", &download(&tensor), &expected, &layout);
    for (element, shape) in tensor.layout().shapes().enumerate() {
        let [rows, columns] = extents(&layout, element);
        assert_eq!(shape, Shape::new(&[rows, spectrum(columns)]).unwrap());
    }
}

/// Integers, whose sums need no rounding.
fn integers(device: &Device) {
    let layout = layout(&[[2, 2], [4, 2], [1, 4], [2, 1]]);
    let z = |re: f32, im: f32| Complex32::new(re, im);
    let real = |values: &[f32]| values.iter().map(|&re| z(re, 0.0)).collect::<Vec<_>>();
    let x = [
        real(&[1.0, 2.0, 3.0, 4.0]),
        real(&[1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0]),
        real(&[1.0, 2.0, 3.0, 4.0]),
        real(&[5.0, -1.0]),
    ];
    let x = Ragged::from_parts(layout, x.concat()).unwrap();
    let got = download(&upload(device, &x).fft2().unwrap());
    assert_eq!(got.row(0), real(&[10.0, -2.0, -4.0, 0.0]));
    let second = [
        z(7.0, 0.0),
        z(-1.0, 0.0),
        z(-1.0, 2.0),
        z(-1.0, -2.0),
        z(-1.0, 0.0),
        z(7.0, 0.0),
        z(-1.0, -2.0),
        z(-1.0, 2.0),
    ];
    assert_eq!(got.row(1), second);
    let third = [z(10.0, 0.0), z(-2.0, 2.0), z(-2.0, 0.0), z(-2.0, -2.0)];
    assert_eq!(got.row(2), third);
    assert_eq!(got.row(3), real(&[4.0, 6.0]));
}

/// The spectrum of a 1 at the origin is constant; of a 1 elsewhere, it has constant magnitude.
fn deltas(device: &Device) {
    let layout = layout(&SHAPES);
    let at = |place: fn(usize) -> usize| {
        Ragged::from_fn(&layout, |element, i| {
            let one = i == place(layout.length(element));
            Complex32::from(f32::from(u8::from(one)))
        })
        .unwrap()
    };
    let flat = download(&upload(device, &at(|_| 0)).fft2().unwrap());
    for (element, row) in flat.iter().enumerate() {
        for z in row {
            let off = (wide(*z) - 1.0).norm();
            assert!(off <= 1e-6, "element {element}: {z}");
        }
    }
    let spectra = download(&upload(device, &at(|length| length / 2)).fft2().unwrap());
    for (element, row) in spectra.iter().enumerate() {
        for z in row {
            assert!((z.norm() - 1.0).abs() <= 2e-6, "element {element}: {z}");
        }
    }
}

fn linear(device: &Device) {
    let layout = layout(&SHAPES);
    let (a, b) = (random(&layout, 1), random(&layout, 2));
    let sum = Ragged::from_fn(&layout, |element, i| a.row(element)[i] + b.row(element)[i]).unwrap();
    let of = |x: &Ragged<Complex32>| download(&upload(device, x).fft2().unwrap());
    let (a, b) = (of(&a), of(&b));
    let expected: Vec<Vec<_>> = a
        .iter()
        .zip(b.iter())
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| wide(*a) + wide(*b)).collect())
        .collect();
    // Each of the three results may deviate by its bound.
    let got = of(&sum);
    for (element, expected) in expected.iter().enumerate() {
        let of = extents(&layout, element);
        let got = Ragged::from_rows([got.row(element)]).unwrap();
        let expected = Ragged::from_rows([expected.as_slice()]).unwrap();
        assert_spectral(format!("{of:?}"), &got, &expected, |_| 3.0 * bound(of));
    }
}

fn there_and_back(device: &Device) {
    let layout = layout(&SHAPES);
    let x = random(&layout, 3);
    let twice = |what: &str, got: &Ragged<Complex32>, x: &Ragged<Complex64>| {
        for (element, x) in x.iter().enumerate() {
            let of = extents(&layout, element);
            let got = Ragged::from_rows([got.row(element)]).unwrap();
            let x = Ragged::from_rows([x]).unwrap();
            assert_spectral(format!("{what} {of:?}"), &got, &x, |_| 2.0 * bound(of));
        }
    };
    let back = upload(device, &x).fft2().unwrap().ifft2().unwrap();
    assert_eq!(back.layout(), &layout);
    twice("complex", &download(&back), &x.cast(wide).unwrap());
    let real = x.cast(|z| z.re).unwrap();
    let tensor = upload(device, &real);
    let back = tensor.rfft2().unwrap().irfft2(&layout).unwrap();
    assert_eq!(back.layout(), &layout);
    let expected = real.cast(|x| Complex64::from(f64::from(x))).unwrap();
    twice(
        "real",
        &download(&back).cast(Complex32::from).unwrap(),
        &expected,
    );
}

fn words(values: &[Complex32]) -> &[u32] {
    bytemuck::cast_slice(values)
}

fn alone(device: &Device) {
    let all = layout(&SHAPES);
    let x = random(&all, 4);
    let tensor = upload(device, &x);
    let got = download(&tensor.fft2().unwrap());
    assert_eq!(
        words(got.values()),
        words(download(&tensor.fft2().unwrap()).values()),
        "two runs"
    );
    let mut backwards = SHAPES;
    backwards.reverse();
    let reversed = random(&layout(&backwards), 4);
    let reversed = download(&upload(device, &reversed).fft2().unwrap());
    for element in 0..all.len() {
        let view = tensor.elements(element..element + 1).unwrap();
        let alone = download(&view.fft2().unwrap());
        assert_eq!(
            words(got.row(element)),
            words(alone.row(0)),
            "{element} alone"
        );
        let other = reversed.row(all.len() - 1 - element);
        assert_eq!(words(got.row(element)), words(other), "{element} reversed");
    }
}

/// The inverse transform to real values transposes its operand in place. In a view, the operand is not at offset 0.
fn views(device: &Device) {
    let real = layout(&SHAPES);
    let x = upload(device, &random(&real, 6).cast(|z| z.re).unwrap());
    let spectra = x.rfft2().unwrap();
    let all = download(&spectra.irfft2(&real).unwrap());
    for element in [2, 6, 13] {
        let part = element..element + 1;
        let view = spectra.elements(part.clone()).unwrap();
        let own = view.irfft2(&real.range(part).unwrap()).unwrap();
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(
            bits(all.row(element)),
            bits(download(&own).row(0)),
            "{element}"
        );
    }
}

fn contained(device: &Device) {
    let layout = layout(&SHAPES);
    let x = random(&layout, 5);
    let clean = download(&upload(device, &x).fft2().unwrap());
    let spoilt = Ragged::from_fn(&layout, |element, i| match (element, i) {
        (4, 7) => Complex32::from(f32::NAN),
        (9, 0) => Complex32::from(f32::INFINITY),
        _ => x.row(element)[i],
    })
    .unwrap();
    let got = download(&upload(device, &spoilt).fft2().unwrap());
    for element in 0..layout.len() {
        let row = got.row(element);
        if [4, 9].contains(&element) {
            let finite = |z: &Complex32| z.re.is_finite() && z.im.is_finite();
            assert!(!row.iter().any(finite), "element {element}");
        } else {
            assert_eq!(words(row), words(clean.row(element)), "element {element}");
        }
    }
}

fn empty(device: &Device) {
    for shapes in [&[][..], &[[0, 0]], &[[0, 7], [7, 0]]] {
        let layout = layout(shapes);
        let complex = upload(
            device,
            &Ragged::full(&layout, Complex32::default()).unwrap(),
        );
        assert_eq!(complex.fft2().unwrap().layout(), &layout);
        assert_eq!(complex.ifft2().unwrap().layout(), &layout);
        let real = upload(device, &Ragged::full(&layout, 0.0).unwrap());
        let back = real.rfft2().unwrap().irfft2(&layout).unwrap();
        assert_eq!(download(&back).values(), [0.0; 0]);
    }
}

fn refused(device: &Device) {
    let flat = Layout::from_lengths([3, 4]).unwrap();
    let x = upload(device, &Ragged::full(&flat, Complex32::default()).unwrap());
    for (op, error) in [
        ("fft2", x.fft2().unwrap_err()),
        ("ifft2", x.ifft2().unwrap_err()),
        ("irfft2", x.irfft2(&flat).unwrap_err()),
    ] {
        assert_eq!((error.kind(), error.op()), ("rank", op));
    }
    let real = upload(device, &Ragged::full(&flat, 0.0).unwrap());
    assert_eq!(real.rfft2().unwrap_err().op(), "rfft2");
    let results = layout(&[[3, 4], [2, 5]]);
    let x = |shapes: &[[usize; 2]]| {
        upload(
            device,
            &Ragged::full(&layout(shapes), Complex32::default()).unwrap(),
        )
    };
    let error = x(&[[3, 3], [3, 2]]).irfft2(&results).unwrap_err();
    let expected = Error::Shape {
        op: "irfft2",
        element: 1,
        expected: "(2, 3)".to_owned(),
        got: "(3, 2)".to_owned(),
    };
    assert_eq!(error, expected);
    assert_eq!(
        error.to_string(),
        "irfft2: element 1: expected the shape (2, 3), got (3, 2)"
    );
    assert_eq!(error.element(), Some(1));
    let error = x(&[[3, 3]]).irfft2(&results).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("batch_size", "irfft2"));
}
