//! Short-time Fourier transforms: exactly, against f64, back again, and the independence of elements.

use libtest_mimic::Trial;
use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor};

use crate::support::bench::Bench;
use crate::support::compare::U;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("hann", hann),
        ("exact", exact),
        ("reference", reference),
        ("there_and_back", there_and_back),
        ("nearest", nearest),
        ("spectrogram", spectrogram),
        ("views", views),
        ("alone", alone),
        ("contained", contained),
        ("empty", empty),
        ("refused", refused),
    ]);
    trials.push(bench.host("a_second_call_plans_nothing", a_second_call_plans_nothing));
    trials
}

const LENGTHS: [usize; 12] = [0, 1, 99, 100, 101, 0, 500, 37, 1, 2100, 64, 7];

/// Sizes of windows, and hops.
const FRAMES: [(usize, usize); 12] = [
    (1, 1),
    (1, 3),
    (2, 1),
    (5, 2),
    (16, 4),
    (16, 16),
    (16, 23),
    (33, 7),
    (64, 16),
    (100, 50),
    (100, 1000),
    (3000, 1),
];

/// Random values, which depend on the element's length alone.
fn random(lengths: &[usize]) -> Ragged<f32> {
    Ragged::from_rows(lengths.iter().map(|&length| {
        let mut rng = rng(&format!("stft {length}"));
        (0..length)
            .map(|_| rng.f32() * 2.0 - 1.0)
            .collect::<Vec<f32>>()
    }))
    .unwrap()
}

/// A window without symmetry or zeros.
fn lopsided(size: usize) -> Vec<f32> {
    (0..size)
        .map(|j| 0.25 + ((j * 13) % 31) as f32 / 32.0)
        .collect()
}

fn vector(device: &Device, values: &[f32]) -> Tensor<f32> {
    upload(device, &Ragged::from_rows([values]).unwrap())
}

fn frames_of(length: usize, size: usize, hop: usize) -> usize {
    length.checked_sub(size).map_or(0, |rest| rest / hop + 1)
}

fn bound(size: usize) -> f64 {
    2.0 * U * (1.0 + 0.25 * (size as f64).log2()) + U
}

fn hann(device: &Device) {
    let w = download(&device.hann(400).unwrap());
    for (j, &w) in w.row(0).iter().enumerate() {
        let expected = (std::f64::consts::PI * j as f64 / 400.0).sin().powi(2);
        assert!(
            (f64::from(w) - expected).abs() <= U * expected + 1e-17,
            "{j}: {w}"
        );
    }
    assert_eq!(download(&device.hann(1).unwrap()).values(), [0.0]);
    assert!(download(&device.hann(0).unwrap()).values().is_empty());
    // Shifted by a quarter, the squares add up to 3/2.
    let w = download(&device.hann(64).unwrap());
    for j in 0..16 {
        let sum: f64 = (0..4)
            .map(|k| f64::from(w.row(0)[j + 16 * k]).powi(2))
            .sum();
        assert!((sum - 1.5).abs() < 1e-6, "{sum}");
    }
}

/// Frames of one and of two values have exact spectra.
fn exact(device: &Device) {
    let x = Ragged::from_rows([
        vec![1.0f32, -2.0, 3.0, 5.0, 7.0],
        vec![],
        vec![4.0],
        vec![6.0, 8.0],
    ]);
    let x = x.unwrap();
    let on = upload(device, &x);
    let real = |re: f32| Complex32::new(re, 0.0);
    let one = vector(device, &[3.0]);
    for hop in [1, 2, 3, 9] {
        let spectra = download(&on.stft(&one, hop).unwrap());
        let back = on
            .stft(&one, hop)
            .unwrap()
            .istft(&one, hop, x.layout())
            .unwrap();
        let back = download(&back);
        for element in 0..x.len() {
            let row = x.row(element);
            let kept: Vec<_> = row.iter().step_by(hop).map(|&x| real(3.0 * x)).collect();
            assert_eq!(spectra.row(element), kept);
            assert_eq!(
                spectra.shape(element),
                Shape::new(&[kept.len(), 1]).unwrap()
            );
            let expected: Vec<f32> = row
                .iter()
                .enumerate()
                .map(|(i, &x)| if i % hop == 0 { x } else { 0.0 })
                .collect();
            assert_eq!(back.row(element), expected);
        }
    }
    let two = vector(device, &[1.0, 2.0]);
    let spectra = on.stft(&two, 1).unwrap();
    let got = download(&spectra);
    for element in 0..x.len() {
        let pairs = x.row(element).windows(2);
        let expected: Vec<_> = pairs
            .flat_map(|pair| [real(pair[0] + 2.0 * pair[1]), real(pair[0] - 2.0 * pair[1])])
            .collect();
        assert_eq!(got.row(element), expected);
    }
    // (x w² + x w'²) / (w² + w'²), of small integers. A vector shorter than the window is lost.
    let back = download(&spectra.istft(&two, 1, x.layout()).unwrap());
    let expected = [x.row(0).to_vec(), vec![], vec![0.0], vec![6.0, 8.0]];
    assert_eq!(back.to_vecs().unwrap(), expected);
}

/// The spectra of frames in f64.
fn expected(x: &[f32], window: &[f32], hop: usize) -> Vec<Vec<Complex64>> {
    let size = window.len();
    let fft = FftPlanner::new().plan_fft_forward(size);
    (0..frames_of(x.len(), size, hop))
        .map(|t| {
            let values = x[t * hop..][..size].iter().zip(window);
            let mut z: Vec<Complex64> = values
                .map(|(&x, &w)| (f64::from(x) * f64::from(w)).into())
                .collect();
            fft.process(&mut z);
            z
        })
        .collect()
}

fn norm<'a>(z: impl Iterator<Item = &'a Complex64>) -> f64 {
    z.map(Complex64::norm_sqr).sum::<f64>().sqrt()
}

fn reference(device: &Device) {
    let x = random(&LENGTHS);
    let on = upload(device, &x);
    for (size, hop) in FRAMES {
        let window = lopsided(size);
        let got = download(&on.stft(&vector(device, &window), hop).unwrap());
        let bins = size / 2 + 1;
        for element in 0..x.len() {
            let expected = expected(x.row(element), &window, hop);
            let shape = Shape::new(&[expected.len(), bins]).unwrap();
            assert_eq!(got.shape(element), shape, "{size} {hop}");
            for (got, expected) in got.row(element).chunks(bins).zip(&expected) {
                let errors: Vec<Complex64> = got
                    .iter()
                    .zip(expected)
                    .map(|(z, expected)| Complex64::new(z.re.into(), z.im.into()) - expected)
                    .collect();
                let (error, most) = (norm(errors.iter()), bound(size) * norm(expected.iter()));
                assert!(error <= most, "{size} {hop}: {error}, above {most}");
            }
        }
    }
}

/// Compares the vectors of any spectra with the formula in f64.
fn assert_back(
    what: &str,
    got: &Ragged<f32>,
    spectra: &Ragged<Complex32>,
    (window, hop): (&[f32], usize),
) {
    let size = window.len();
    let bins = size / 2 + 1;
    let fft = FftPlanner::new().plan_fft_inverse(size);
    for element in 0..got.len() {
        let length = got.row(element).len();
        let (mut sums, mut squares, mut errors) =
            (vec![0.0; length], vec![0.0; length], vec![0.0; length]);
        for (t, row) in spectra.row(element).chunks(bins).enumerate() {
            let mut z: Vec<Complex64> = (0..size)
                .map(|k| {
                    let at = row[k.min(size - k)];
                    let im = if k == 0 || 2 * k == size {
                        0.0
                    } else {
                        f64::from(at.im)
                    };
                    Complex64::new(at.re.into(), if 2 * k > size { -im } else { im })
                })
                .collect();
            fft.process(&mut z);
            let frame = norm(z.iter()) / size as f64;
            for (k, &w) in window.iter().enumerate() {
                let (w, i) = (f64::from(w), t * hop + k);
                let y = z[k].re / size as f64;
                sums[i] += w * y;
                squares[i] += w * w;
                let terms = size.div_ceil(hop) as f64 + 2.0;
                errors[i] += w.abs() * (bound(size) * frame + terms * U * y.abs());
            }
        }
        for (i, &x) in got.row(element).iter().enumerate() {
            if squares[i] <= 1e-10 {
                assert_eq!(x, 0.0, "{what}: {element}, {i}");
                continue;
            }
            let expected: f64 = sums[i] / squares[i];
            let terms = size.div_ceil(hop) as f64 + 3.0;
            let most = errors[i] / squares[i] + terms * U * expected.abs() + 1e-37;
            let error = (f64::from(x) - expected).abs();
            assert!(
                error <= most,
                "{what}: {element}, {i}: {x}, not {expected}: {error}, above {most}"
            );
        }
    }
}

fn there_and_back(device: &Device) {
    let x = random(&LENGTHS);
    let on = upload(device, &x);
    for (size, hop) in FRAMES {
        let hann = download(&device.hann(size).unwrap()).row(0).to_vec();
        for window in [lopsided(size), hann] {
            let w = vector(device, &window);
            let spectra = on.stft(&w, hop).unwrap();
            let got = download(&spectra.istft(&w, hop, x.layout()).unwrap());
            assert_eq!(got.layout(), x.layout());
            let what = format!("{size} {hop}");
            assert_back(&what, &got, &download(&spectra), (&window, hop));
            // Where windows cover it, the vector is recovered.
            for element in 0..x.len() {
                let frames = frames_of(x.row(element).len(), size, hop);
                let covered = |i: usize| {
                    let of = (0..frames).filter_map(|t| window.get(i.checked_sub(t * hop)?));
                    of.map(|w| w * w).sum::<f32>() > 0.01
                };
                for (i, (&x, &y)) in x.row(element).iter().zip(got.row(element)).enumerate() {
                    assert!(
                        !covered(i) || (x - y).abs() < 1e-4,
                        "{what}: {element}, {i}: {x}, {y}"
                    );
                }
            }
        }
    }
}

/// Spectra of no vector: the formula, which is a projection.
fn nearest(device: &Device) {
    let layout = Layout::from_lengths([40, 7, 100]).unwrap();
    let (size, hop) = (8, 3);
    let shapes = [40, 7, 100].map(|length| Shape::new(&[frames_of(length, size, hop), 5]).unwrap());
    let shapes = Layout::from_shapes(2, shapes).unwrap();
    let mut rng = rng("spectra of no vector");
    let mut value = || rng.f32() * 2.0 - 1.0;
    let values = (0..shapes.total())
        .map(|_| Complex32::new(value(), value()))
        .collect();
    let spectra = Ragged::from_parts(shapes, values).unwrap();
    let window = lopsided(size);
    let w = vector(device, &window);
    let x = upload(device, &spectra).istft(&w, hop, &layout).unwrap();
    let got = download(&x);
    assert_back("nearest", &got, &spectra, (&window, hop));
    let again = download(&x.stft(&w, hop).unwrap().istft(&w, hop, &layout).unwrap());
    for (x, y) in got.values().iter().zip(again.values()) {
        assert!((x - y).abs() < 1e-5, "{x} {y}");
    }
}

fn spectrogram(device: &Device) {
    let tone: Vec<f32> = (0..256)
        .map(|i| (std::f32::consts::TAU * i as f32 / 8.0).sin())
        .collect();
    let x = upload(device, &Ragged::from_rows([tone, vec![0.0; 40]]).unwrap());
    let power = download(
        &x.stft(&device.hann(32).unwrap(), 16)
            .unwrap()
            .abs_squared()
            .unwrap(),
    );
    assert_eq!(power.shape(0), Shape::new(&[15, 17]).unwrap());
    for frame in power.row(0).chunks(17) {
        let top = (0..17).max_by(|&i, &j| frame[i].total_cmp(&frame[j]));
        assert_eq!(top, Some(4));
    }
    assert!(power.row(1).iter().all(|&power| power == 0.0));
}

/// Operands may be views, and begin anywhere.
fn views(device: &Device) {
    let x = random(&LENGTHS);
    let on = upload(device, &x);
    let windows = [vec![9.0f32; 3], lopsided(16), vec![7.0; 2]];
    let windows = upload(device, &Ragged::from_rows(&windows).unwrap());
    let w = windows.elements(1..2).unwrap();
    let all = on.stft(&w, 5).unwrap();
    assert_eq!(
        download(&all),
        download(&on.stft(&vector(device, &lopsided(16)), 5).unwrap())
    );
    let back = download(&all.istft(&w, 5, x.layout()).unwrap());
    let at_zero = vector(device, &lopsided(16));
    assert_eq!(back, download(&all.istft(&at_zero, 5, x.layout()).unwrap()));
    for first in 0..LENGTHS.len() {
        let part = on.elements(first..LENGTHS.len()).unwrap();
        let spectra = part.stft(&w, 5).unwrap();
        let of_all = all.elements(first..LENGTHS.len()).unwrap();
        assert_eq!(download(&spectra), download(&of_all));
        let got = download(&of_all.istft(&w, 5, part.layout()).unwrap());
        let from = x.layout().offsets().range(first).start;
        assert_eq!(got.values(), &back.values()[from..]);
    }
}

/// An element has the same bits alone and in a batch.
fn alone(device: &Device) {
    let x = random(&LENGTHS);
    let w = vector(device, &lopsided(33));
    let all = upload(device, &x).stft(&w, 7).unwrap();
    let back = download(&all.istft(&w, 7, x.layout()).unwrap());
    let all = download(&all);
    for element in 0..x.len() {
        let one = vector(device, x.row(element));
        let spectra = one.stft(&w, 7).unwrap();
        let got = download(&spectra.istft(&w, 7, one.layout()).unwrap());
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let parts = |row: &[Complex32]| bits(bytemuck::cast_slice(row));
        assert_eq!(parts(download(&spectra).row(0)), parts(all.row(element)));
        assert_eq!(bits(got.row(0)), bits(back.row(element)));
    }
}

/// NaN and infinity reach only the frames that contain them, and the values of these frames.
fn contained(device: &Device) {
    for wrong in [f32::NAN, f32::INFINITY] {
        let (size, hop, at) = (8, 4, 21);
        let mut rows = random(&[50, 50, 50]).to_vecs().unwrap();
        let w = vector(device, &lopsided(size));
        let clean = upload(device, &Ragged::from_rows(&rows).unwrap())
            .stft(&w, hop)
            .unwrap();
        rows[1][at] = wrong;
        let x = upload(device, &Ragged::from_rows(&rows).unwrap());
        let spectra = x.stft(&w, hop).unwrap();
        let back = download(&spectra.istft(&w, hop, x.layout()).unwrap());
        let (got, clean) = (download(&spectra), download(&clean));
        assert_eq!((got.row(0), got.row(2)), (clean.row(0), clean.row(2)));
        for (t, (got, clean)) in got.row(1).chunks(5).zip(clean.row(1).chunks(5)).enumerate() {
            match (t * hop..t * hop + size).contains(&at) {
                true => assert!(got.iter().any(|z| !z.re.is_finite())),
                false => assert_eq!(got, clean),
            }
        }
        for (i, x) in back.row(1).iter().enumerate() {
            // The frames from 16 and from 20 on.
            assert!(x.is_finite() || (16..28).contains(&i), "{i}: {x}");
        }
        assert!(!back.row(1)[at].is_finite());
        assert!(
            [back.row(0), back.row(2)]
                .concat()
                .iter()
                .all(|x| x.is_finite())
        );
    }
}

fn empty(device: &Device) {
    let w = vector(device, &lopsided(4));
    for lengths in [vec![], vec![0, 0], vec![3, 0, 1]] {
        let x = random(&lengths);
        let on = upload(device, &x);
        let spectra = on.stft(&w, 2).unwrap();
        assert_eq!(
            (spectra.len(), spectra.layout().total()),
            (lengths.len(), 0)
        );
        assert_eq!(spectra.layout().rank(), 2);
        let back = download(&spectra.istft(&w, 2, x.layout()).unwrap());
        assert_eq!(back.layout(), x.layout());
        assert!(back.values().iter().all(|&x| x == 0.0));
    }
}

fn refused(device: &Device) {
    let x = upload(device, &random(&[20, 5]));
    let w = vector(device, &lopsided(4));
    let spectra = x.stft(&w, 2).unwrap();
    let two = upload(device, &random(&[4, 4]));
    let matrix = device.full(
        &Layout::uniform(1, Shape::new(&[2, 2]).unwrap()).unwrap(),
        1.0f32,
    );
    let matrix = matrix.unwrap();
    let texts = [
        (
            x.stft(&w, 0).err(),
            "stft: expected a hop of 1 or more, got 0",
        ),
        (
            x.stft(&two, 2).err(),
            "stft: expected a window of 1 element, got 2",
        ),
        (
            x.stft(&vector(device, &[]), 2).err(),
            "stft: expected a window of 1 value or more, got 0",
        ),
        (
            x.stft(&matrix, 2).err(),
            "stft: expected a rank of 1 for the window, got 2",
        ),
        (
            matrix.stft(&w, 2).err(),
            "stft: expected a rank of 1, got 2",
        ),
        (
            spectra.istft(&w, 0, x.layout()).err(),
            "istft: expected a hop of 1 or more, got 0",
        ),
        (
            spectra.istft(&w, 3, x.layout()).err(),
            "istft: element 0: expected the shape (6, 3), got (9, 3)",
        ),
        (
            spectra
                .istft(&vector(device, &lopsided(6)), 2, x.layout())
                .err(),
            "istft: element 0: expected the shape (8, 4), got (9, 3)",
        ),
        (
            spectra.istft(&w, 2, w.layout()).err(),
            "istft: expected batches of equal size, got 2 elements and 1",
        ),
        (
            spectra.istft(&w, 2, matrix.layout()).err(),
            "istft: expected a rank of 1, got 2",
        ),
    ];
    for (error, expected) in texts {
        assert_eq!(error.unwrap().to_string(), expected);
    }
    // The largest hop, and one frame.
    assert_eq!(x.stft(&w, usize::MAX).unwrap().layout().total(), 2 * 3);
    let error = x
        .stft(&w, usize::MAX)
        .unwrap()
        .istft(&w, 1, x.layout())
        .unwrap_err();
    assert_eq!(error.kind(), "shape");
}

fn a_second_call_plans_nothing() {
    let device = Device::cpu();
    let (x, w) = (
        upload(&device, &random(&LENGTHS)),
        vector(&device, &lopsided(16)),
    );
    let call = || x.stft(&w, 4).unwrap().istft(&w, 4, x.layout()).unwrap();
    let first = call();
    let before = device.counters();
    let second = call();
    let after = device.counters();
    assert_eq!((before.plans, before.layouts), (after.plans, after.layouts));
    assert_eq!(download(&first), download(&second));
}
