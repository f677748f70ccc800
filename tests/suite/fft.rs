//! Discrete Fourier transforms: every length against f64, laws, and the independence of an element's bits.

use libtest_mimic::Trial;
use rustfft::num_complex::Complex64;
use vsla::{Complex32, Device, Error, Layout, Ragged, Shape};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_spectral;
use crate::support::corpus::{self, rng};
use crate::support::operation::{download, upload};
use laws::{convolution, linear, parseval, shifts, there_and_back};
use reference::{REACHED, bound, reference_agrees_with_the_definition, transform, wide};

#[cfg(feature = "gpu")]
mod every;
mod laws;
mod reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for op in [Op::Fft, Op::Ifft, Op::Rfft, Op::Irfft] {
        let tests: [OpTest; 12] = [
            ("short", short),
            ("many_of_each_length", many_of_each_length),
            ("random", random),
            ("powers_of_two", powers_of_two),
            ("long", long),
            ("even", even),
            ("too_long", too_long),
            ("corpus", corpus),
            ("alone", alone),
            ("views", views),
            ("contained", contained),
            ("refused", refused),
        ];
        for (name, test) in tests {
            let name = format!("{}::{name}", op.name());
            trials.extend(bench.on_each_device(&name, move |device| test(device, op)));
        }
    }
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("linear", linear),
        ("parseval", parseval),
        ("shifts", shifts),
        ("convolution", convolution),
        ("there_and_back", there_and_back),
        ("inverse_of_real_refuses", inverse_of_real_refuses),
        ("layouts_are_freed", layouts_are_freed),
    ];
    trials.extend(bench.all_on_each_device(tests));
    #[cfg(feature = "gpu")]
    trials.extend(every::trials(bench));
    trials.push(bench.host("reference", reference_agrees_with_the_definition));
    trials
}

type OpTest = (&'static str, fn(&Device, Op));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Fft,
    Ifft,
    Rfft,
    Irfft,
}

/// The input of a transform.
enum Input {
    Complex(Ragged<Complex32>),
    Real(Ragged<f32>),
}

impl Input {
    /// One element of the input.
    #[cfg(feature = "gpu")]
    fn element(&self, i: usize) -> Input {
        match self {
            Input::Complex(x) => Input::Complex(Ragged::from_rows([x.row(i)]).unwrap()),
            Input::Real(x) => Input::Real(Ragged::from_rows([x.row(i)]).unwrap()),
        }
    }
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Fft => "fft",
            Op::Ifft => "ifft",
            Op::Rfft => "rfft",
            Op::Irfft => "irfft",
        }
    }

    /// Random values for transforms of these lengths. Those of an element depend on its length and `seed` alone.
    fn input(self, layout: &Layout, seed: u64) -> Input {
        let values = |n: usize, count: usize| {
            let mut rng = rng(&format!("fft {n} {seed}"));
            let mut value = move || rng.f32() * 2.0 - 1.0;
            (0..count).map(move |_| Complex32::new(value(), value()))
        };
        let rows = |count: fn(usize) -> usize| {
            let row = |n| values(n, count(n)).collect::<Vec<_>>();
            Ragged::from_rows(layout.lengths().map(row)).unwrap()
        };
        match self {
            Op::Fft | Op::Ifft => Input::Complex(rows(|n| n)),
            Op::Rfft => Input::Real(rows(|n| n).cast(|z| z.re).unwrap()),
            Op::Irfft => Input::Complex(rows(spectrum)),
        }
    }

    /// The results as complex values. `elements` are those of the uploaded batch that are transformed.
    #[track_caller]
    fn run(
        self,
        device: &Device,
        input: &Input,
        layout: &Layout,
        elements: core::ops::Range<usize>,
    ) -> Ragged<Complex32> {
        let layout = &layout.range(elements.clone()).unwrap();
        match input {
            Input::Real(x) => {
                let x = upload(device, x).elements(elements).unwrap();
                download(&x.rfft().unwrap())
            }
            Input::Complex(x) => {
                let x = upload(device, x).elements(elements).unwrap();
                match self {
                    Op::Ifft => download(&x.ifft().unwrap()),
                    Op::Irfft => download(&x.irfft(layout).unwrap())
                        .cast(Complex32::from)
                        .unwrap(),
                    _ => download(&x.fft().unwrap()),
                }
            }
        }
    }

    fn of(self, device: &Device, input: &Input, layout: &Layout) -> Ragged<Complex32> {
        self.run(device, input, layout, 0..layout.len())
    }

    fn expected(self, input: &Input, layout: &Layout) -> Ragged<Complex64> {
        let input = match input {
            Input::Complex(x) => x.cast(wide).unwrap(),
            Input::Real(x) => x.cast(|x| Complex64::from(f64::from(x))).unwrap(),
        };
        let rows = input.iter().zip(layout.lengths()).map(|(x, n)| match self {
            Op::Fft => transform(x, false),
            Op::Ifft => transform(x, true),
            Op::Rfft => transform(x, false)[..spectrum(n)].to_vec(),
            Op::Irfft => {
                let whole: Vec<_> = (0..n)
                    .map(|k| match k {
                        _ if k == 0 || 2 * k == n => x[k].re.into(),
                        _ if 2 * k < n => x[k],
                        _ => x[n - k].conj(),
                    })
                    .collect();
                let real = |z: Complex64| z.re.into();
                transform(&whole, true).into_iter().map(real).collect()
            }
        });
        Ragged::from_rows(rows).unwrap()
    }

    /// Transforms of these lengths against the reference.
    #[track_caller]
    fn check(self, device: &Device, lengths: impl IntoIterator<Item = usize>) {
        let layout = Layout::from_lengths(lengths).unwrap();
        let input = self.input(&layout, 0);
        let (got, expected) = (
            self.of(device, &input, &layout),
            self.expected(&input, &layout),
        );
        // The bound is that of the transform's length, even if only a part of its results is returned.
        for element in 0..layout.len() {
            let one = |batch: &Ragged<Complex32>| Ragged::from_rows([batch.row(element)]).unwrap();
            let expected = Ragged::from_rows([expected.row(element)]).unwrap();
            let n = layout.length(element);
            let what = format!("{} of {n}", self.name());
            assert_spectral(what, &one(&got), &expected, |_| bound(n));
        }
    }
}

fn spectrum(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}

fn short(device: &Device, op: Op) {
    op.check(device, 0..=512);
}

/// Short elements, whose few roundings may all have one sign: so many values that some are among the worst.
fn many_of_each_length(device: &Device, op: Op) {
    let lengths = (1..=64).flat_map(|n| std::iter::repeat_n(n, if n < 16 { 1000 } else { 200 }));
    let layout = Layout::from_lengths(lengths).unwrap();
    let mut rng = rng("many of each length");
    let mut value = || rng.f32() * 2.0 - 1.0;
    let mut values = |n| -> Vec<_> { (0..n).map(|_| Complex32::new(value(), value())).collect() };
    let mut rows = |count: fn(usize) -> usize| {
        Ragged::from_rows(layout.lengths().map(|n| values(count(n)))).unwrap()
    };
    let mut input = match op {
        Op::Rfft => Input::Real(rows(|n| n).cast(|z| z.re).unwrap()),
        Op::Irfft => Input::Complex(rows(spectrum)),
        _ => Input::Complex(rows(|n| n)),
    };
    if let (Op::Irfft, Input::Complex(x)) = (op, &mut input) {
        let bad = [[1.886_975_4, -0.724_267_4], [-0.822_166, -2.286_013_4]];
        let at = layout.lengths().position(|n| n == 3).unwrap();
        let begin = x.layout().offsets().as_slice()[at] as usize;
        let values = &mut x.values_mut()[begin..begin + 2];
        values.copy_from_slice(&bad.map(|[re, im]| Complex32::new(re, im)));
    }
    let got = op.of(device, &input, &layout);
    let expected = op.expected(&input, &layout);
    for element in 0..layout.len() {
        let n = layout.length(element);
        let one = |batch: &Ragged<Complex32>| Ragged::from_rows([batch.row(element)]).unwrap();
        let expected = Ragged::from_rows([expected.row(element)]).unwrap();
        let what = format!("{} of {n}", op.name());
        let times = f64::from(1 + u32::from(n == 32 && matches!(op, Op::Rfft | Op::Irfft)));
        assert_spectral(what, &one(&got), &expected, |_| times * bound(n) / REACHED);
    }
}

fn random(device: &Device, op: Op) {
    let mut rng = rng("fft lengths");
    op.check(device, (0..100).map(|_| rng.usize(513..=4096)));
}

fn powers_of_two(device: &Device, op: Op) {
    // Several elements of each length, in mixed order, because one workgroup computes several of the shorter ones.
    let mut lengths: Vec<usize> = (0..=14).flat_map(|log| vec![1 << log; 5]).collect();
    rng("powers of two").shuffle(&mut lengths);
    op.check(device, lengths);
}

/// Lengths beyond one workgroup: two and three passes of every radix, and Bluestein's algorithm by passes. Elements of
/// one length share its filter, also with real elements of twice the length. Elements of even lengths begin at any
/// offset.
fn long(device: &Device, op: Op) {
    op.check(device, [16_384, 6, 5000, 10_007, 65_536, 10_007, 65_537]);
    op.check(device, [1 << 15, 20_014, 1 << 17, 0, 100_000, 8193, 10_006]);
    op.check(device, [1 << 18, 1 << 19, 1 << 14]);
    op.check(device, [1 << 20]);
    op.check(device, [1 << 21]);
}

/// Even lengths of real transforms, which are computed as complex transforms of half the length: short, by stages, by
/// Bluestein's convolution in a workgroup and in passes, and three passes.
fn even(device: &Device, op: Op) {
    op.check(
        device,
        [3, 62, 74, 128, 4090, 4090, 2045, 4096, 1, 8190, 8192],
    );
    op.check(device, [8191, 8194, 1 << 14, 16_382, 12_000]);
    if matches!(op, Op::Rfft | Op::Irfft) {
        op.check(device, [1, 1 << 22]);
    }
}

/// The CPU transforms any length; a GPU says which element is too long for its kernels.
fn too_long(device: &Device, op: Op) {
    let limit = 1 << 22;
    let layout = Layout::from_lengths([limit, 0, limit + 1]).unwrap();
    let outcome = match (op, op.input(&layout, 0)) {
        (_, Input::Real(x)) => upload(device, &x).rfft().map(drop),
        (Op::Irfft, Input::Complex(x)) => upload(device, &x).irfft(&layout).map(drop),
        (Op::Ifft, Input::Complex(x)) => upload(device, &x).ifft().map(drop),
        (_, Input::Complex(x)) => upload(device, &x).fft().map(drop),
    };
    if !device.is_gpu() {
        return outcome.unwrap();
    }
    let expected = Error::TooLarge {
        op: op.name(),
        element: Some(2),
        what: "the transform".to_owned(),
        bytes: 8 * (limit as u64 + 1),
        limit: 8 * limit as u64,
    };
    assert_eq!(outcome.unwrap_err(), expected);
}

fn corpus(device: &Device, op: Op) {
    for (_, lengths) in corpus::SETS {
        op.check(device, lengths.into_iter().cycle().take(40));
    }
    op.check(device, []);
    op.check(device, [0, 0, 0]);
    op.check(device, vec![1; 3000]);
    op.check(
        device,
        [vec![0; 500], vec![3; 700], vec![0; 500], vec![4096]].concat(),
    );
}

fn words(values: &[Complex32]) -> &[u32] {
    bytemuck::cast_slice(values)
}

/// Lengths of every class, so that work lists have tasks of all kinds.
fn mixed() -> Vec<usize> {
    vec![
        7, 64, 1000, 0, 17, 256, 64, 5, 2048, 331, 64, 1, 4096, 1000, 33, 32, 3001, 128, 8192, 662,
    ]
}

fn alone(device: &Device, op: Op) {
    let layout = Layout::from_lengths(mixed()).unwrap();
    let input = op.input(&layout, 1);
    let got = op.of(device, &input, &layout);
    let again = op.of(device, &input, &layout);
    assert_eq!(words(got.values()), words(again.values()), "two runs");
    let reversed = Layout::from_lengths(mixed().into_iter().rev()).unwrap();
    let backwards = op.of(device, &op.input(&reversed, 1), &reversed);
    for (i, n) in mixed().into_iter().enumerate() {
        let one = Layout::from_lengths([n]).unwrap();
        let alone = op.of(device, &op.input(&one, 1), &one);
        assert_eq!(words(got.row(i)), words(alone.row(0)), "{n} alone");
        let other = backwards.row(layout.len() - 1 - i);
        assert_eq!(words(got.row(i)), words(other), "{n} in another order");
    }
}

fn views(device: &Device, op: Op) {
    let layout = Layout::from_lengths(mixed()).unwrap();
    let input = op.input(&layout, 2);
    let whole = op.of(device, &input, &layout);
    for range in [1..20, 5..6, 9..19, 7..7] {
        let part = op.run(device, &input, &layout, range.clone());
        for (i, element) in range.enumerate() {
            assert_eq!(
                words(part.row(i)),
                words(whole.row(element)),
                "element {element}"
            );
        }
    }
}

fn contained(device: &Device, op: Op) {
    let layout = Layout::from_lengths(mixed()).unwrap();
    let input = op.input(&layout, 3);
    let clean = op.of(device, &input, &layout);
    for bad in [f32::NAN, f32::INFINITY] {
        let spoilt = |element: usize| element.is_multiple_of(2) && layout.length(element) > 1;
        let spoil = |element: usize, i: usize| spoilt(element) && i == 1;
        let input = match &input {
            Input::Real(x) => Input::Real(
                Ragged::from_fn(x.layout(), |element, i| {
                    if spoil(element, i) {
                        bad
                    } else {
                        x.row(element)[i]
                    }
                })
                .unwrap(),
            ),
            Input::Complex(x) => Input::Complex(
                Ragged::from_fn(x.layout(), |element, i| {
                    if spoil(element, i) {
                        bad.into()
                    } else {
                        x.row(element)[i]
                    }
                })
                .unwrap(),
            ),
        };
        let got = op.of(device, &input, &layout);
        for element in 0..layout.len() {
            let row = got.row(element);
            if !spoilt(element) {
                assert_eq!(
                    words(row),
                    words(clean.row(element)),
                    "{bad} beside {element}"
                );
            } else {
                let finite = row.iter().all(|z| z.re.is_finite() && z.im.is_finite());
                assert!(!finite, "{bad} vanished from element {element}");
            }
        }
    }
}

fn refused(device: &Device, op: Op) {
    let boxes = Layout::uniform(2, Shape::new(&[2, 3]).unwrap()).unwrap();
    let complex = upload(device, &Ragged::full(&boxes, Complex32::default()).unwrap());
    let error = match op {
        Op::Fft => complex.fft().unwrap_err(),
        Op::Ifft => complex.ifft().unwrap_err(),
        Op::Irfft => complex.irfft(&boxes).unwrap_err(),
        Op::Rfft => {
            let real = upload(device, &Ragged::full(&boxes, 0.0).unwrap());
            real.rfft().unwrap_err()
        }
    };
    assert_eq!((error.kind(), error.op()), ("rank", op.name()));
}

fn inverse_of_real_refuses(device: &Device) {
    let x = |lengths: &[usize]| {
        let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
        upload(
            device,
            &Ragged::full(&layout, Complex32::default()).unwrap(),
        )
    };
    let results = Layout::from_lengths([4, 5, 6]).unwrap();
    let error = x(&[3, 3, 5]).irfft(&results).unwrap_err();
    let expected = Error::Length {
        op: "irfft",
        element: 2,
        expected: 4,
        got: 5,
    };
    assert_eq!(error, expected);
    assert_eq!(
        error.to_string(),
        "irfft: element 2: expected 4 values, got 5"
    );
    assert_eq!(error.element(), Some(2));
    let error = x(&[3, 3]).irfft(&results).unwrap_err();
    assert_eq!(error.kind(), "batch_size");
    let boxes = Layout::uniform(3, Shape::new(&[2, 2]).unwrap()).unwrap();
    assert_eq!(x(&[3, 3, 4]).irfft(&boxes).unwrap_err().kind(), "rank");
}

fn z(re: f32, im: f32) -> Complex32 {
    Complex32::new(re, im)
}

/// Integers whose transforms need no rounding.
fn goldens(device: &Device) {
    let x = Ragged::from_rows([
        vec![],
        vec![z(5.0, -2.0)],
        vec![z(1.0, 2.0), z(3.0, -4.0)],
        vec![z(1.0, 0.0), z(2.0, 0.0), z(3.0, 0.0), z(4.0, 0.0)],
        vec![z(0.0, 0.0), z(1.0, 0.0), z(0.0, 0.0), z(0.0, 0.0)],
    ])
    .unwrap();
    let spectra = vec![
        vec![],
        vec![z(5.0, -2.0)],
        vec![z(4.0, -2.0), z(-2.0, 6.0)],
        vec![z(10.0, 0.0), z(-2.0, 2.0), z(-2.0, 0.0), z(-2.0, -2.0)],
        vec![z(1.0, 0.0), z(0.0, -1.0), z(-1.0, 0.0), z(0.0, 1.0)],
    ];
    let x = upload(device, &x);
    let got = x.fft().unwrap();
    assert_eq!(download(&got).to_vecs().unwrap(), spectra);
    assert_eq!(download(&got.ifft().unwrap()), download(&x));
    let real = Ragged::from_rows([vec![1.0, 2.0, 3.0, 4.0], vec![], vec![3.0, -1.0]]).unwrap();
    let real = upload(device, &real);
    let got = real.rfft().unwrap();
    let spectra = vec![
        vec![z(10.0, 0.0), z(-2.0, 2.0), z(-2.0, 0.0)],
        vec![],
        vec![z(2.0, 0.0), z(4.0, 0.0)],
    ];
    assert_eq!(download(&got).to_vecs().unwrap(), spectra);
    let back = got.irfft(real.layout()).unwrap();
    assert_eq!(download(&back), download(&real));
    // The spectrum of an impulse is constant.
    let impulse = Layout::from_lengths([8, 64, 512, 4096]).unwrap();
    let x = Ragged::from_fn(&impulse, |_, i| z(f32::from(i == 0), 0.0)).unwrap();
    let got = download(&upload(device, &x).fft().unwrap());
    assert_eq!(got, Ragged::full(&impulse, z(1.0, 0.0)).unwrap());
}

/// After a round trip, neither layout keeps the other alive, and no plan that was made for them remains.
fn layouts_are_freed(device: &Device) {
    let round = || {
        let layout = Layout::from_lengths([4000, 7, 64]).unwrap();
        let x = upload(device, &Ragged::full(&layout, 1.0f32).unwrap());
        let back = x.rfft().unwrap().irfft(x.layout()).unwrap();
        download(&back)
    };
    round();
    let live = || device.memory().live;
    let before = live();
    for _ in 0..5 {
        round();
    }
    // Other trials share the device.
    let grown = (0..50).all(|_| {
        std::thread::sleep(core::time::Duration::from_millis(20));
        live() > before + 5 * 20_000
    });
    assert!(!grown, "{before} bytes were live, and now {}", live());
}
