//! Convolution and correlation.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Paired, Pairing, Ragged, Result, Tensor, conv::ConvMethod};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_within, normwise, product_depth};
use crate::support::corpus::{self, Case, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, Reference, download, golden, rows, run, upload,
};
use crate::support::property;
use crate::support::reference::{self, Sums};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(conv::<i32>())
        .with(conv::<u32>())
        .with(by(ConvMethod::Direct, false))
        .trials(bench, "", corpus::small());
    trials.extend(
        Operation::new()
            .with(correlate::<i32>())
            .with(correlate::<u32>())
            .with(by(ConvMethod::Direct, true))
            .with_long_cases(Case::has_very_many_elements)
            .trials(bench, "correlate", corpus::small()),
    );
    for method in [ConvMethod::Auto, ConvMethod::Fft, ConvMethod::OverlapSave] {
        let name = method.name();
        let both = [
            (name.to_string(), false),
            (format!("correlate::{name}"), true),
        ];
        for (name, correlate) in both {
            let trials_of = |corpus| {
                let operation = Operation::new().with(by(method, correlate));
                operation
                    .with_long_cases(Case::has_very_many_elements)
                    .trials(bench, &name, corpus)
            };
            let mut on_cpu = trials_of(corpus::small());
            on_cpu.retain(|trial| trial.name().contains("::cpu::"));
            trials.extend(on_cpu);
            // Software GPUs are slow: each forced method is tried in one direction there.
            if (method == ConvMethod::Fft && correlate)
                || (method == ConvMethod::OverlapSave && !correlate)
            {
                continue;
            }
            let mut cases = corpus::small();
            if method == ConvMethod::Fft {
                // Longer than the transform of one workgroup.
                cases.retain(|case| !case.name.starts_with("giant"));
            }
            let mut on_gpu = trials_of(cases);
            on_gpu.retain(|trial| trial.name().contains("::gpu::"));
            trials.extend(on_gpu);
        }
    }
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("empty_operands", empty_operands),
        ("binomials", binomials),
        ("impulses_shift", impulses_shift),
        ("integers_wrap", integers_wrap),
        ("keeps_small_values", keeps_small_values),
        ("one_filter_for_all", one_filter_for_all),
        ("long_by_long", long_by_long),
        ("commutes", commutes),
        ("associates", associates),
        ("distributes", distributes),
        ("sum_is_the_product_of_sums", sum_is_the_product_of_sums),
        ("one_is_the_unit", one_is_the_unit),
        ("padding_only_adds_zeros", padding_only_adds_zeros),
        ("correlate::goldens", correlate_goldens),
        (
            "correlate::is_conv_with_the_reverse",
            correlate_is_conv_with_the_reverse,
        ),
        ("correlate::at_lag_0_is_dot", correlate_at_lag_0_is_dot),
    ];
    trials.extend(bench.all_on_each_device(tests));
    let name = "a_million_by_a_million";
    trials.extend(bench.on_each_device_if_fast(true, name, a_million_by_a_million));
    trials
}

fn conv<T: Number>() -> Binary<T, T> {
    Binary {
        name: "conv",
        run: |x, y| x.conv(y),
        paired: Some(|pair| pair.conv()),
        expected: Some(|a, b, pairs| {
            Expected::sums::<T>(
                reference::conv(&widened(a), &widened(b), pairs),
                product_depth,
            )
        }),
        spreads: true,
        series_only: false,
    }
}

fn correlate<T: Number>() -> Binary<T, T> {
    Binary {
        name: "correlate",
        run: |x, y| x.correlate(y),
        paired: Some(|pair| pair.correlate()),
        expected: Some(|a, b, pairs| {
            Expected::sums::<T>(
                reference::correlate(&widened(a), &widened(b), pairs),
                product_depth,
            )
        }),
        spreads: true,
        series_only: false,
    }
}

type Plain = fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>;
type PairedFn = fn(&Paired<'_, f32>) -> Result<Tensor<f32>>;

/// f32 by one method. Its errors about unequal batches come from the pairing.
fn by(method: ConvMethod, correlate: bool) -> Binary<f32, f32> {
    macro_rules! binary {
        ($method:ident, $op:ident) => {
            (
                |x: &Tensor<f32>, y: &Tensor<f32>| {
                    let pair = x.pair(y, Pairing::Elementwise)?;
                    pair.convolution().method(ConvMethod::$method).$op()
                },
                (|pair| pair.convolution().method(ConvMethod::$method).$op()) as PairedFn,
            )
        };
    }
    let (run, paired): (Plain, PairedFn) = match (method, correlate) {
        (ConvMethod::Direct, false) => binary!(Direct, conv),
        (ConvMethod::Direct, true) => binary!(Direct, correlate),
        (ConvMethod::Fft, false) => binary!(Fft, conv),
        (ConvMethod::Fft, true) => binary!(Fft, correlate),
        (ConvMethod::OverlapSave, false) => binary!(OverlapSave, conv),
        (ConvMethod::OverlapSave, true) => binary!(OverlapSave, correlate),
        (_, false) => binary!(Auto, conv),
        (_, true) => binary!(Auto, correlate),
    };
    let expected: Reference<f32> = match (method, correlate) {
        (ConvMethod::Direct, false) => |a, b, pairs| {
            let sums = reference::conv(&widened(a), &widened(b), pairs);
            Expected::sums::<f32>(sums, product_depth)
        },
        (ConvMethod::Direct, true) => |a, b, pairs| {
            let sums = reference::correlate(&widened(a), &widened(b), pairs);
            Expected::sums::<f32>(sums, product_depth)
        },
        (ConvMethod::Auto, false) => |a, b, pairs| {
            let sums = reference::conv(&widened(a), &widened(b), pairs);
            either(sums, a, b, pairs)
        },
        (ConvMethod::Auto, true) => |a, b, pairs| {
            let sums = reference::correlate(&widened(a), &widened(b), pairs);
            either(sums, a, b, pairs)
        },
        (_, false) => |a, b, pairs| {
            let sums = reference::conv(&widened(a), &widened(b), pairs);
            let bounds = normwise(&sums, a, b, pairs);
            Expected::inexact(sums.values, bounds)
        },
        (_, true) => |a, b, pairs| {
            let sums = reference::correlate(&widened(a), &widened(b), pairs);
            let bounds = normwise(&sums, a, b, pairs);
            Expected::inexact(sums.values, bounds)
        },
    };
    Binary {
        name: "pair",
        run,
        paired: Some(paired),
        expected: Some(expected),
        spreads: true,
        series_only: false,
    }
}

/// The result within the larger of both methods' bounds, because the library chooses each pair's method.
fn either(sums: Sums<f64>, a: &Ragged<f32>, b: &Ragged<f32>, pairs: &[(usize, usize)]) -> Expected {
    let direct = sums.bounds(product_depth);
    let bounds = normwise(&sums, a, b, pairs).into_iter().zip(direct);
    let bounds = bounds.map(|(x, y)| x.max(y)).collect();
    Expected::inexact(sums.values, bounds)
}

/// `x * y`, directly.
fn direct(x: &Tensor<f32>, y: &Tensor<f32>) -> Result<Tensor<f32>> {
    x.pair(y, Pairing::Elementwise)?
        .convolution()
        .method(ConvMethod::Direct)
        .conv()
}

fn goldens(device: &Device) {
    golden::<f32, f32, 7>(
        device,
        |x, y| x.conv(y),
        [
            (&[1., 2.], &[3., 4.], &[3., 10., 8.]),
            (&[1., 2., 3.], &[0.5, 1.5], &[0.5, 2.5, 4.5, 4.5]),
            (
                &[1., -1., 2., 0.5],
                &[2., 1., -1.],
                &[2., -1., 2., 4., -1.5, -0.5],
            ),
            (&[1.; 8], &[1., -1.], &[1., 0., 0., 0., 0., 0., 0., 0., -1.]),
            (&[1., 2., 3.], &[1.], &[1., 2., 3.]),
            (&[-2.], &[4.], &[-8.]),
            (&[1., 2., 3.], &[], &[]),
        ],
    );
}

fn empty_operands(device: &Device) {
    let cases: [(&[i32], &[i32], &[i32]); 4] = [
        (&[], &[], &[]),
        (&[], &[1, 2], &[]),
        (&[1, 2], &[], &[]),
        (&[3], &[4], &[12]),
    ];
    golden(device, |x: &Tensor<i32>, y| x.conv(y), cases);
    golden(device, |x: &Tensor<i32>, y| x.correlate(y), cases);
}

fn binomials(device: &Device) {
    let factor = upload(device, &rows([&[1.0f32, 1.]]));
    let mut power = upload(device, &rows([&[1.0f32]]));
    for _ in 0..10 {
        power = power.conv(&factor).unwrap();
    }
    let expected = rows([&[1., 10., 45., 120., 210., 252., 210., 120., 45., 10., 1.]]);
    assert_exact("(1 + x)^10", &download(&power), &expected);
}

/// Convolving with a 1 at index k shifts by k, so a wrong index anywhere in a tile shows as a wrong position.
fn impulses_shift(device: &Device) {
    let places = [0, 1, 7, 31, 32, 63, 64, 255, 256, 447, 448, 600];
    let lengths = [5usize, 64, 449, 1000];
    let mut a = Vec::new();
    let mut b = Vec::new();
    let mut expected = Vec::new();
    for &length in &lengths {
        for &place in &places {
            let ramp: Vec<f32> = (1..=length).map(|i| i as f32).collect();
            let mut impulse = vec![0.0; place];
            impulse.push(1.0);
            expected.push([vec![0.0; place], ramp.clone()].concat());
            a.push(ramp);
            b.push(impulse);
        }
    }
    let [a, b, expected] = [a, b, expected].map(|rows| Ragged::from_rows(rows).unwrap());
    assert_exact("ramp * impulse", &run(device, &a, &b, direct), &expected);
    assert_exact("impulse * ramp", &run(device, &b, &a, direct), &expected);
}

fn integers_wrap(device: &Device) {
    golden::<i32, i32, 1>(
        device,
        |x, y| x.conv(y),
        [(
            &[1 << 20, i32::MAX],
            &[1 << 12, 2],
            &[0, (1 << 21) - (1 << 12), -2],
        )],
    );
    golden::<u32, u32, 1>(
        device,
        |x, y| x.conv(y),
        [(&[u32::MAX, 1], &[u32::MAX, 1], &[1, u32::MAX - 1, 1])],
    );
}

/// A small value is not flushed to zero because another value of the element is large.
fn keeps_small_values(device: &Device) {
    let small = 1.5 * 2f32.powi(-60);
    let mut a = vec![0.0f32; 700];
    (a[0], a[650]) = (2f32.powi(60), small);
    let a = Ragged::from_rows([a]).unwrap();
    let b = rows([&[1.0f32, 0., 2.]]);
    let got = run(device, &a, &b, direct);
    assert_eq!(got.row(0)[650..=652], [small, 0.0, 2.0 * small]);
    assert_eq!(got.row(0)[..=2], [2f32.powi(60), 0.0, 2f32.powi(61)]);
}

/// Both operands are longer than any transform of one workgroup, and one of them fills most of a transform: in two
/// passes, in three, and by blocks of both operands.
fn long_by_long(device: &Device) {
    let a = Layout::from_lengths([20_000, 9_000, 7_000, 3, 8_200, 9_000]).unwrap();
    let b = Layout::from_lengths([8_200, 13_000, 9_500, 5, 8_200, 13_000]).unwrap();
    let (a, b) = (
        Ragged::random(&a, 1).unwrap(),
        Ragged::random(&b, 2).unwrap(),
    );
    let pairs = reference::elementwise(a.len());
    let sums = [
        reference::conv(&widened(&a), &widened(&b), &pairs),
        reference::correlate(&widened(&a), &widened(&b), &pairs),
    ];
    let (x, y) = (upload(device, &a), upload(device, &b));
    for method in [ConvMethod::Auto, ConvMethod::Fft, ConvMethod::OverlapSave] {
        let pair = x
            .pair(&y, Pairing::Elementwise)
            .unwrap()
            .convolution()
            .method(method);
        let got = [pair.conv(), pair.correlate()];
        for (got, sums) in got.into_iter().zip(&sums) {
            let got = download(&got.unwrap());
            let bounds = normwise(sums, &a, &b, &pairs);
            assert_within(method, &got, &sums.values, &bounds);
        }
        // A pair alone has the same bits.
        let alone = x.elements(5..6).unwrap();
        let other = y.elements(5..6).unwrap();
        let alone = alone.pair(&other, Pairing::Elementwise).unwrap();
        let alone = download(&alone.convolution().method(method).conv().unwrap());
        let whole = download(&pair.conv().unwrap());
        assert_eq!(alone.row(0), whole.row(5), "{method}");
    }
}

/// Ten million multiply-adds per result are too many for a reference. The convolution of [1, 1, …] with [1, 1, …] is a
/// triangle, and its error has a bound.
fn a_million_by_a_million(device: &Device) {
    for (m, n) in [(1_000_000, 1_000_000), (2_100_000, 70_000)] {
        let ones = |n| upload(device, &Ragged::from_rows([vec![1.0f32; n]]).unwrap());
        let got = download(&ones(m).conv(&ones(n)).unwrap());
        let log = ((m + n) as f64).log2().ceil();
        let bound = 1.5 * log * ((m as f64) * (n as f64)).sqrt() / f64::from(1 << 24);
        assert_eq!(got.row(0).len(), m + n - 1);
        for (q, &got) in got.row(0).iter().enumerate() {
            let expected = (q + 1).min(m).min(n).min(m + n - 1 - q);
            let off = (f64::from(got) - expected as f64).abs();
            assert!(off <= bound, "{m} {n}: result {q} is {got}, not {expected}");
        }
    }
}

fn one_filter_for_all(device: &Device) {
    let layout = Layout::from_lengths((0..300).map(|i| i % 40)).unwrap();
    let mut random = rng("one filter");
    let x = Ragged::from_fn(&layout, |_, _| random.i32(-99..99)).unwrap();
    let filter = rows([&[1, -2, 3, -4, 5]]);
    let pairs = reference::pairs(Pairing::OneToAll, 1, x.len());
    let expected = reference::conv(&filter, &x, &pairs).values;
    let (f, t) = (upload(device, &filter), upload(device, &x));
    let got = f.pair(&t, Pairing::OneToAll).unwrap().conv().unwrap();
    assert_exact("one to all", &download(&got), &expected);
    let got = t.pair(&f, Pairing::AllToOne).unwrap().conv().unwrap();
    assert_exact("all to one", &download(&got), &expected);
}

fn commutes(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let product = run(device, &a, &b, |x, y| x.conv(y));
        assert_exact("b * a", &run(device, &b, &a, |x, y| x.conv(y)), &product);
    });
}

fn associates(device: &Device) {
    property::on(device, property::three_batches(), |[a, b, c]| {
        let (x, y, z) = (upload(device, &a), upload(device, &b), upload(device, &c));
        let left = x.conv(&y).unwrap().conv(&z).unwrap();
        let right = x.conv(&y.conv(&z).unwrap()).unwrap();
        assert_exact("(ab)c", &download(&left), &download(&right));
    });
}

/// a(b + c) = ab + ac; lengths differ only if a factor is empty.
fn distributes(device: &Device) {
    property::on(device, property::three_batches(), |[a, b, c]| {
        let (x, y, z) = (upload(device, &a), upload(device, &b), upload(device, &c));
        let left = x.conv(&y.add(&z).unwrap()).unwrap();
        let right = x.conv(&y).unwrap().add(&x.conv(&z).unwrap()).unwrap();
        assert_exact("a(b + c)", &download(&left), &download(&right));
    });
}

fn sum_is_the_product_of_sums(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let sum = run(device, &a, &b, |x, y| x.conv(y)?.sum());
        let product = run(device, &a, &b, |x, y| x.sum()?.conv(&y.sum()?));
        assert_exact("Σ(a * b)", &sum, &product);
    });
}

fn one_is_the_unit(device: &Device) {
    property::on(device, property::batch(), |a| {
        let ones = rows([&[1]]);
        let (x, one) = (upload(device, &a), upload(device, &ones));
        let got = one.pair(&x, Pairing::OneToAll).unwrap().conv().unwrap();
        assert_exact("[1] * a", &download(&got), &a);
        let got = x.pair(&one, Pairing::AllToOne).unwrap().conv().unwrap();
        assert_exact("a * [1]", &download(&got), &a);
    });
}

fn padding_only_adds_zeros(device: &Device) {
    property::on(
        device,
        (property::two_batches(), 0..5usize),
        |((a, b), zeros)| {
            let padded: Vec<Vec<i32>> = a
                .iter()
                .map(|row| [row, &vec![0; zeros][..]].concat())
                .collect();
            let padded = Ragged::from_rows(padded).unwrap();
            let got = run(device, &padded, &b, |x, y| x.conv(y));
            let plain = run(device, &a, &b, |x, y| x.conv(y));
            for (got, plain) in got.iter().zip(plain.iter()) {
                let (head, tail) = got.split_at(plain.len().min(got.len()));
                assert_eq!(head, plain);
                assert!(tail.iter().all(|&value| value == 0), "{tail:?}");
            }
        },
    );
}

fn correlate_goldens(device: &Device) {
    golden::<f32, f32, 5>(
        device,
        |x, y| x.correlate(y),
        [
            (&[1., 2., 3.], &[10., 20.], &[20., 50., 80., 30.]),
            (&[10., 20.], &[1., 2., 3.], &[30., 80., 50., 20.]),
            (&[7.], &[2.], &[14.]),
            (&[], &[1.], &[]),
            (&[1., 2.], &[1.], &[1., 2.]),
        ],
    );
}

fn correlate_is_conv_with_the_reverse(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let reversed = b
            .iter()
            .map(|row| row.iter().rev().copied().collect::<Vec<_>>());
        let reversed = Ragged::from_rows(reversed).unwrap();
        let got = run(device, &a, &b, |x, y| x.correlate(y));
        assert_exact("a ⋆ b", &got, &run(device, &a, &reversed, |x, y| x.conv(y)));
    });
}

fn correlate_at_lag_0_is_dot(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let got = run(device, &a, &b, |x, y| x.correlate(y));
        let dot = run(device, &a, &b, |x, y| x.dot(y));
        for i in 0..a.len() {
            // Lag 0 is entry n − 1. If an operand is empty, there is no such entry, and the dot product is 0.
            let zero = b.row(i).len().wrapping_sub(1);
            assert_eq!(got.row(i).get(zero).copied().unwrap_or(0), dot.values()[i]);
        }
    });
}
