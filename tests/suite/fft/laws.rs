//! Laws that relate transforms to each other.

use rustfft::num_complex::Complex64;
use vsla::{Complex32, Device, Layout, Ragged};

use super::{Input, Op, bound, wide, z};
use crate::support::compare::{U, assert_spectral};
use crate::support::operation::{download, upload};

fn some_lengths() -> Layout {
    Layout::from_lengths([1, 3, 16, 60, 127, 256, 1000, 4096, 3000]).unwrap()
}

fn complex_input(seed: u64) -> Ragged<Complex32> {
    match Op::Fft.input(&some_lengths(), seed) {
        Input::Complex(x) => x,
        Input::Real(_) => unreachable!(),
    }
}

pub(super) fn fft(device: &Device, x: &Ragged<Complex32>) -> Ragged<Complex32> {
    download(&upload(device, x).fft().unwrap())
}

pub(super) fn zip(
    a: &Ragged<Complex32>,
    b: &Ragged<Complex32>,
    f: impl Fn(Complex32, Complex32) -> Complex32,
) -> Ragged<Complex32> {
    Ragged::from_fn(a.layout(), |element, i| {
        f(a.row(element)[i], b.row(element)[i])
    })
    .unwrap()
}

/// F(2 a + i b) = 2 F(a) + i F(b).
pub(super) fn linear(device: &Device) {
    let (a, b) = (complex_input(4), complex_input(5));
    let i = Complex32::i();
    let sum = fft(device, &zip(&a, &b, |a, b| a * 2.0 + i * b));
    let apart = zip(&fft(device, &a), &fft(device, &b), |a, b| a * 2.0 + i * b);
    assert_spectral("sum", &sum, &apart.cast(wide).unwrap(), |n| {
        3.0 * bound(n) + 4.0 * U
    });
}

/// ‖F(x)‖² = n ‖x‖².
pub(super) fn parseval(device: &Device) {
    let x = complex_input(6);
    for (x, y) in x.iter().zip(&fft(device, &x)) {
        let energy = |x: &[Complex32]| x.iter().map(|&z| wide(z).norm_sqr()).sum::<f64>();
        let (before, after) = (energy(x), energy(y) / x.len() as f64);
        let error = (after / before - 1.0).abs();
        assert!(error <= 2.5 * bound(x.len()), "{}: {error:e}", x.len());
    }
}

/// A rotation by s multiplies value k by e^(−2πi sk/n).
pub(super) fn shifts(device: &Device) {
    let x = complex_input(7);
    let by = 3;
    let rotated = Ragged::from_fn(x.layout(), |element, i| {
        let row = x.row(element);
        row[(i + row.len() * by - by) % row.len()]
    })
    .unwrap();
    let (got, plain) = (fft(device, &rotated), fft(device, &x));
    let expected = Ragged::from_fn(x.layout(), |element, k| {
        let row = plain.row(element);
        let turns = (by * k % row.len()) as f64 / row.len() as f64;
        wide(row[k]) * Complex64::from_polar(1.0, -core::f64::consts::TAU * turns)
    })
    .unwrap();
    assert_spectral("shifted", &got, &expected, |n| 2.0 * bound(n));
}

/// The product of spectra is the cyclic convolution: with small integers, rounding gives it exactly.
pub(super) fn convolution(device: &Device) {
    let integers = |seed: usize| {
        Ragged::from_fn(&some_lengths(), |element, i| {
            let value = |k: usize| ((element * 7 + i * k + seed * 3) % 5) as f32 - 2.0;
            z(value(3), value(11))
        })
        .unwrap()
    };
    let (a, b) = (integers(0), integers(1));
    let product = zip(&fft(device, &a), &fft(device, &b), |a, b| a * b);
    let got = download(&upload(device, &product).ifft().unwrap());
    for ((a, b), c) in a.iter().zip(&b).zip(&got) {
        let n = a.len();
        for k in (0..n).step_by(n.div_ceil(64)) {
            let exact: Complex32 = (0..n).map(|j| a[j] * b[(k + n - j) % n]).sum();
            let rounded = z(c[k].re.round(), c[k].im.round());
            assert!(
                (rounded - exact).norm() == 0.0,
                "{n}, {k}: {} is not {exact}",
                c[k]
            );
        }
    }
}

pub(super) fn there_and_back(device: &Device) {
    let x = complex_input(8);
    let tensor = upload(device, &x);
    let back = download(&tensor.fft().unwrap().ifft().unwrap());
    assert_spectral("complex", &back, &x.cast(wide).unwrap(), |n| 2.0 * bound(n));
    let real = x.cast(|z| z.re).unwrap();
    let tensor = upload(device, &real);
    let back = tensor.rfft().unwrap().irfft(real.layout()).unwrap();
    assert_eq!(back.layout(), real.layout());
    let back = download(&back).cast(Complex32::from).unwrap();
    let expected = real.cast(|x| Complex64::from(f64::from(x))).unwrap();
    assert_spectral("real", &back, &expected, |n| 2.0 * bound(n));
}
