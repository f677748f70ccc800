//! Convolution and correlation of boxes, with modes and strides.

mod forms;
mod refusals;
mod sides;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Pairing, Ragged, Shape, Tensor,
    batch::Side,
    conv::{ConvMethod, ConvMode, Convolution},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{U, assert_exact, assert_identical, assert_within};
use crate::support::corpus::{self, Case, rng};
use crate::support::number::widened;
use crate::support::operation::{Operation, download, one, pair_list, pick, run, upload};
use crate::support::reference::{self, Sums};
use forms::{direct, plain, transformed};

const MODES: [ConvMode; 4] = [
    ConvMode::Full,
    ConvMode::Same,
    ConvMode::Valid,
    ConvMode::Causal,
];
const METHODS: [ConvMethod; 4] = [
    ConvMethod::Auto,
    ConvMethod::Direct,
    ConvMethod::Fft,
    ConvMethod::OverlapSave,
];

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(plain::<i32>(false))
        .with(plain::<u32>(false))
        .with(plain::<f32>(false))
        .with(direct(false))
        .trials(bench, "", cases());
    trials.extend(
        Operation::new()
            .with(plain::<i32>(true))
            .with(direct(true))
            .trials(bench, "correlate", cases()),
    );
    trials.extend(
        Operation::new()
            .with(transformed())
            .trials(bench, "fft", cases()),
    );
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("modes::full", |device| every_mode(device, ConvMode::Full)),
        ("modes::same", |device| every_mode(device, ConvMode::Same)),
        ("modes::valid", |device| every_mode(device, ConvMode::Valid)),
        ("modes::causal", |device| {
            every_mode(device, ConvMode::Causal)
        }),
        ("modes::integers", integers),
        ("modes::pairings", pairings),
        ("modes::sides", sides::sides),
        ("modes::contained", contained),
        ("modes::long", long),
        ("laws", laws),
        ("many_taps", many_taps),
        ("turns", turns),
        ("choice", choice),
        ("refusals", refusals::refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// Boxes of one to three axes.
fn cases() -> Vec<Case> {
    let mut cases = corpus::boxes();
    cases.retain(|case| (2..=3).contains(&case.layouts().0.rank()));
    cases
}

/// The depth of a sum of products: blocks of 128, of rows or of products.
fn depth(terms: usize) -> f64 {
    (168.0 + (terms as f64 / 128.0).ceil()).min(terms as f64)
}

fn goldens(device: &Device) {
    let a = one(&[2, 2], &[1.0f32, 2., 3., 4.]);
    let b = one(&[2, 2], &[1.0f32, 0., 0., 1.]);
    let expected = one(&[3, 3], &[1.0f32, 2., 0., 3., 5., 2., 0., 3., 4.]);
    assert_exact("rank 2", &run(device, &a, &b, |x, y| x.conv(y)), &expected);
    // Lags −1 … 1 on both axes.
    let expected = one(&[3, 3], &[1.0f32, 2., 0., 3., 5., 2., 0., 3., 4.]);
    let got = run(device, &a, &b, |x, y| x.correlate(y));
    assert_exact("correlation", &got, &expected);
    let b = one(&[1, 2], &[1.0f32, 10.]);
    let expected = one(&[2, 3], &[10.0f32, 21., 2., 30., 43., 4.]);
    let got = run(device, &a, &b, |x, y| x.correlate(y));
    assert_exact("correlation with a row", &got, &expected);
    let cube = one(&[2, 1, 2], &[1, 2, 3, 4]);
    let other = one(&[1, 2, 1], &[1, 10]);
    let expected = one(&[2, 2, 2], &[1, 2, 10, 20, 3, 4, 30, 40]);
    let got = run(device, &cube, &other, |x, y| x.conv(y));
    assert_exact("rank 3", &got, &expected);
    let empty = one::<f32>(&[3, 0], &[]);
    let got = run(device, &a, &empty, |x, y| x.conv(y));
    assert_eq!(got.layout().shape(0), Shape::new(&[0, 0]).unwrap());
}

/// Pairs of operands of all kinds: longer, shorter, equal, empty, of one value.
fn operands(rank: usize) -> (Layout, Layout) {
    let largest = [90, 13, 6][rank - 1];
    let mut rng = rng(&format!("modes {rank}"));
    let mut side = |small: bool| {
        let most = if small { (largest / 3).max(3) } else { largest };
        let shapes: Vec<Shape> = (0..14)
            .map(|element| {
                let extents: Vec<usize> = (0..rank)
                    .map(|_| match element {
                        3 => 1,
                        5 => rng.usize(0..=1),
                        _ => rng.usize(1..=most),
                    })
                    .collect();
                Shape::new(&extents).unwrap()
            })
            .collect();
        shapes
    };
    let mut left = side(false);
    let mut right = side(true);
    // Some right operands are larger.
    (left[7..10]).swap_with_slice(&mut right[7..10]);
    (left[12], right[12]) = (left[13], left[13]);
    let layout = |shapes| Layout::from_shapes(rank, shapes).unwrap();
    (layout(left), layout(right))
}

fn extents(a: &Layout, b: &Layout, pairs: &[(usize, usize)]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let of = |layout: &Layout, i| {
        let shape = layout.shape(i);
        shape
            .extents()
            .iter()
            .map(|&extent| extent as usize)
            .collect()
    };
    pairs.iter().map(|&(i, j)| (of(a, i), of(b, j))).collect()
}

/// Like [`normwise`], for the kept results.
fn bounds(
    kept: &Sums<f64>,
    a: &Ragged<f32>,
    b: &Ragged<f32>,
    pairs: &[(usize, usize)],
) -> Vec<f64> {
    let norm = |row: &[f32]| {
        row.iter()
            .map(|&v| f64::from(v).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let mut bounds = Vec::new();
    for (pair, &(i, j)) in pairs.iter().enumerate() {
        let whole: u32 = a
            .layout()
            .shape(i)
            .extents()
            .iter()
            .zip(b.layout().shape(j).extents())
            .map(|(m, n)| m + n)
            .product();
        let log = f64::from(whole.next_power_of_two().max(64)).log2();
        let bound = 1.5 * log * U * norm(a.row(i)) * norm(b.row(j));
        bounds.extend(kept.values.row(pair).iter().map(|_| bound));
    }
    bounds
}

/// Every rank, stride and method of a mode. The direct method is exact for integers, and an element has the same bits
/// alone.
fn every_mode(device: &Device, mode: ConvMode) {
    for rank in 1..=3 {
        let (left, right) = operands(rank);
        let (a, b) = (
            Ragged::random(&left, 5).unwrap(),
            Ragged::random(&right, 6).unwrap(),
        );
        let round = |batch: &Ragged<f32>| batch.cast(|value| (value * 50.0).round()).unwrap();
        let (whole_a, whole_b) = (round(&a), round(&b));
        let pairs = reference::elementwise(left.len());
        let extents = extents(&left, &right, &pairs);
        for correlate in [false, true] {
            let full = |a: &Ragged<f32>, b: &Ragged<f32>| match correlate {
                false => reference::conv(&widened(a), &widened(b), &pairs),
                true => reference::correlate(&widened(a), &widened(b), &pairs),
            };
            let (sums, whole_sums) = (full(&a, &b), full(&whole_a, &whole_b));
            let all_strides: &[&[usize]] = match rank {
                1 => &[&[1], &[2], &[3]],
                2 => &[&[1, 1], &[2, 2], &[3, 1], &[1, 3]],
                _ => &[&[1, 1, 1], &[2, 1, 2], &[3, 3, 3], &[1, 2, 1]],
            };
            for strides in all_strides {
                let kept = reference::kept(&sums, &extents, mode, strides);
                let of = |method: ConvMethod, x: &Tensor<f32>, y: &Tensor<f32>| {
                    let pair = x.pair(y, Pairing::Elementwise).unwrap();
                    let pair = pair.convolution().side(Side::Left);
                    let pair = pair.method(method).mode(mode).stride(strides);
                    let got = if correlate {
                        pair.correlate()
                    } else {
                        pair.conv()
                    };
                    download(&got.unwrap())
                };
                let (x, y) = (upload(device, &a), upload(device, &b));
                let direct = kept.bounds(depth);
                let loose = bounds(&kept, &a, &b, &pairs);
                for method in METHODS {
                    let what = format!("{mode:?} {strides:?} {method}, correlate: {correlate}");
                    let got = of(method, &x, &y);
                    let allowed: Vec<f64> = match method {
                        ConvMethod::Direct => direct.clone(),
                        _ => loose.iter().zip(&direct).map(|(x, y)| x.max(*y)).collect(),
                    };
                    assert_within(&what, &got, &kept.values, &allowed);
                    for element in [0, 7, 13] {
                        let alone = of(
                            method,
                            &x.elements(element..element + 1).unwrap(),
                            &y.elements(element..element + 1).unwrap(),
                        );
                        assert_identical(&what, &alone, &pick(&got, &[element]));
                    }
                }
                let kept = reference::kept(&whole_sums, &extents, mode, strides);
                let (x, y) = (upload(device, &whole_a), upload(device, &whole_b));
                let got = of(ConvMethod::Direct, &x, &y);
                let what = format!("{mode:?} {strides:?}, integers, correlate: {correlate}");
                assert_exact(
                    &what,
                    &got,
                    &kept.values.cast(|value| value as f32).unwrap(),
                );
            }
        }
    }
}

/// Integers wrap and are exact.
fn integers(device: &Device) {
    for rank in 1..=3 {
        let (left, right) = operands(rank);
        let mut rng = rng("integers");
        let mut fill = |layout: &Layout| Ragged::from_fn(layout, |_, _| rng.i32(..)).unwrap();
        let (a, b) = (fill(&left), fill(&right));
        let pairs = reference::elementwise(left.len());
        let extents = extents(&left, &right, &pairs);
        let sums = reference::conv(&a, &b, &pairs);
        let (x, y) = (upload(device, &a), upload(device, &b));
        let words = |batch: &Ragged<i32>| batch.cast(|value| value as u32).unwrap();
        let (u, v) = (upload(device, &words(&a)), upload(device, &words(&b)));
        for mode in MODES {
            for stride in 1..=2 {
                let strides = vec![stride; rank];
                let kept = reference::kept(&sums, &extents, mode, &strides).values;
                let pair = x.pair(&y, Pairing::Elementwise).unwrap();
                let got = pair
                    .convolution()
                    .mode(mode)
                    .side(Side::Left)
                    .stride(&strides)
                    .conv()
                    .unwrap();
                assert_exact(format!("{mode:?}"), &download(&got), &kept);
                let pair = u.pair(&v, Pairing::Elementwise).unwrap();
                let got = pair
                    .convolution()
                    .mode(mode)
                    .side(Side::Left)
                    .stride(&strides)
                    .conv()
                    .unwrap();
                assert_exact(format!("{mode:?}"), &download(&got), &words(&kept));
            }
        }
    }
}

fn pairings(device: &Device) {
    for rank in 1..=3 {
        let (left, right) = operands(rank);
        let (a, b) = (
            Ragged::random(&left, 8).unwrap(),
            Ragged::random(&right, 9).unwrap(),
        );
        let filter = pick(&a, &[1]);
        let list = [(3, 2), (0, 13), (13, 0), (3, 2), (8, 8)];
        let last = pick(&b, &[13]);
        for (a, b, pairing) in [
            (&filter, &b, Pairing::OneToAll),
            (&a, &last, Pairing::AllToOne),
            (&a, &b, Pairing::AllToAll),
            (&a, &b, Pairing::List(&pair_list(list))),
            (&a, &b, Pairing::List(&pair_list([]))),
        ] {
            let pairs = reference::pairs(pairing, a.len(), b.len());
            let sums = reference::conv(&widened(a), &widened(b), &pairs);
            let strides = vec![2; rank];
            let extents = extents(a.layout(), b.layout(), &pairs);
            let kept = reference::kept(&sums, &extents, ConvMode::Same, &strides);
            let direct = kept.bounds(depth).into_iter();
            let allowed: Vec<f64> = direct
                .zip(bounds(&kept, a, b, &pairs))
                .map(|(x, y)| x.max(y))
                .collect();
            let (x, y) = (upload(device, a), upload(device, b));
            for method in METHODS {
                let pair = x.pair(&y, pairing).unwrap().convolution().method(method);
                let pair = pair.mode(ConvMode::Same).side(Side::Left);
                let got = pair.stride(&strides).conv().unwrap();
                let what = format!("{pairing:?} {method}");
                assert_within(what, &download(&got), &kept.values, &allowed);
            }
        }
    }
}

/// A NaN stays in its pair with every method.
fn contained(device: &Device) {
    for rank in 1..=3 {
        let (left, right) = operands(rank);
        let (a, b) = (
            Ragged::random(&left, 8).unwrap(),
            Ragged::random(&right, 9).unwrap(),
        );
        let mut spoilt = a.clone();
        let range = a.layout().offsets().range(4);
        spoilt.values_mut()[range].fill(f32::NAN);
        let others: Vec<usize> = (0..a.len()).filter(|&i| i != 4).collect();
        let y = upload(device, &b);
        for method in METHODS {
            for mode in MODES {
                let of = |a: &Ragged<f32>| {
                    let x = upload(device, a);
                    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
                    let pair = pair.convolution().side(Side::Left);
                    download(&pair.method(method).mode(mode).conv().unwrap())
                };
                let (got, clean) = (of(&spoilt), of(&a));
                let what = format!("{method} {mode:?}");
                assert_identical(&what, &pick(&got, &others), &pick(&clean, &others));
                assert!(got.row(4).iter().all(|value| value.is_nan()), "{what}");
            }
        }
    }
}

/// Longer than the transform of one workgroup, and longer than a block.
fn long(device: &Device) {
    let layout = |lengths: [usize; 4]| Layout::from_lengths(lengths).unwrap();
    let (a, b) = (
        layout([20_000, 9_000, 700, 6000]),
        layout([8_200, 3, 9_500, 5000]),
    );
    let (a, b) = (
        Ragged::random(&a, 1).unwrap(),
        Ragged::random(&b, 2).unwrap(),
    );
    let pairs = reference::elementwise(4);
    let sums = reference::conv(&widened(&a), &widened(&b), &pairs);
    let extents = extents(a.layout(), b.layout(), &pairs);
    let (x, y) = (upload(device, &a), upload(device, &b));
    for (mode, stride) in [(ConvMode::Valid, 1), (ConvMode::Causal, 7)] {
        let kept = reference::kept(&sums, &extents, mode, &[stride]);
        let direct = kept.bounds(depth).into_iter();
        let allowed: Vec<f64> = direct
            .zip(bounds(&kept, &a, &b, &pairs))
            .map(|(x, y)| x.max(y))
            .collect();
        for method in METHODS {
            let pair = x
                .pair(&y, Pairing::Elementwise)
                .unwrap()
                .convolution()
                .method(method);
            let got = pair.mode(mode).side(Side::Left);
            let got = got.stride(&[stride]).conv().unwrap();
            let what = format!("{mode:?} {method}");
            assert_within(what, &download(&got), &kept.values, &allowed);
        }
    }
}

/// Convolution of boxes commutes; the box (1, 1) holding 1 is the unit; convolution distributes over sums; trailing
/// zeros of an operand become trailing zeros of the result.
fn laws(device: &Device) {
    for case in cases() {
        if case.name == "rank_2_larger" || case.name == "rank_3_larger" {
            continue;
        }
        let (a, b) = case.integers::<i32>();
        let ab = run(device, &a, &b, |x, y| x.conv(y));
        assert_exact("b * a", &run(device, &b, &a, |x, y| x.conv(y)), &ab);
        let sum = download(&upload(device, &ab).sum().unwrap());
        let product = run(device, &a, &b, |x, y| x.sum()?.conv(&y.sum()?));
        assert_exact("Σ(a * b)", &sum, &product);
        let rank = a.layout().rank();
        let unit = upload(device, &one(&vec![1; rank], &[1]));
        let pair = upload(device, &a);
        let pair = pair.pair(&unit, Pairing::AllToAll).unwrap();
        let full: Vec<usize> = (0..a.len()).filter(|&i| !a.row(i).is_empty()).collect();
        let got = download(&pair.conv().unwrap());
        assert_exact("a * [1]", &pick(&got, &full), &pick(&a, &full));
    }
}

/// More taps along every axis than a block of sums has.
fn many_taps(device: &Device) {
    let layout = |shapes: &[[usize; 3]]| {
        let shapes = shapes.iter().map(|extents| Shape::new(extents).unwrap());
        Layout::from_shapes(3, shapes).unwrap()
    };
    let left = layout(&[[1, 400, 3], [1, 3, 400], [140, 2, 2], [12, 12, 12]]);
    let right = layout(&[[1, 300, 2], [1, 2, 300], [133, 2, 1], [11, 12, 10]]);
    let (a, b) = (
        Ragged::random(&left, 3).unwrap(),
        Ragged::random(&right, 4).unwrap(),
    );
    let pairs = reference::elementwise(4);
    let sums = reference::conv(&widened(&a), &widened(&b), &pairs);
    let extents = extents(&left, &right, &pairs);
    let (x, y) = (upload(device, &a), upload(device, &b));
    for strides in [[1, 1, 1], [2, 3, 2]] {
        let kept = reference::kept(&sums, &extents, ConvMode::Full, &strides);
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let got = pair
            .convolution()
            .method(ConvMethod::Direct)
            .stride(&strides)
            .conv();
        let got = download(&got.unwrap());
        assert_within("many taps", &got, &kept.values, &kept.bounds(depth));
    }
}

/// More pairs than are laid out as vectors in one turn, at least on a software GPU.
fn turns(device: &Device) {
    let square = |side| Layout::uniform(24, Shape::new(&[side, side]).unwrap()).unwrap();
    let delta = |side: usize, row: usize, column: usize| {
        Ragged::from_fn(&square(side), |element, i| match i {
            _ if i == row * side + column => element as f32 + 1.0,
            _ => 0.0,
        })
        .unwrap()
    };
    let (a, b) = (delta(150, 120, 7), delta(100, 40, 50));
    let (x, y) = (upload(device, &a), upload(device, &b));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    let pair = pair.convolution().method(ConvMethod::Fft).stride(&[40, 57]);
    let got = download(&pair.conv().unwrap());
    for element in 0..24 {
        let square = (element as f32 + 1.0).powi(2);
        assert_eq!(got.row(element).len(), 7 * 5);
        for (i, value) in got.row(element).iter().enumerate() {
            // (160, 57) of all results.
            let expected = if i == 4 * 5 + 1 { square } else { 0.0 };
            assert!(
                (value - expected).abs() < 1e-5 * square,
                "{element} {i}: {value}"
            );
        }
    }
}

fn choice(device: &Device) {
    let layout = Layout::from_shapes(
        2,
        [[300, 300], [5, 5], [0, 3]].map(|extents| Shape::new(&extents).unwrap()),
    )
    .unwrap();
    let x = upload(device, &Ragged::full(&layout, 1.0f32).unwrap());
    let pair = x.pair(&x, Pairing::Elementwise).unwrap();
    let choice = pair.conv_choice().unwrap();
    let methods: Vec<ConvMethod> = choice.groups.iter().map(|group| group.method).collect();
    assert_eq!(methods[0], ConvMethod::Direct);
    assert_ne!(methods[1], ConvMethod::Direct);
    assert_eq!(
        choice.groups.iter().map(|group| group.pairs).sum::<usize>(),
        2
    );
    // One result of each pair is kept, so the direct method is the cheapest.
    let choice = pair.convolution().mode(ConvMode::Valid).choice().unwrap();
    assert_eq!((choice.groups.len(), choice.groups[0].pairs), (1, 2));
    assert_eq!(choice.groups[0].method, ConvMethod::Direct);
}
