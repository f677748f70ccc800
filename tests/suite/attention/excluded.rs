//! Keys that a bias of −∞ excludes, weights that are not numbers, and scores so large that rounding their log-sum-exp
//! would show: in results and gradients, for each kind of tile.

use vsla::program::Program;
use vsla::scalar::DType;
use vsla::{Device, Ragged, Tensor, f16};

use super::case::{Case, Operands, Value};
use super::gradients::slopes;
use crate::support::bench::is_hurried;

/// The values of a head: with 16, kernels on matrices and those of few rows compute f16 and few rows.
fn widths<T: Value>(device: &Device) -> Vec<usize> {
    match (is_hurried(device), T::DTYPE) {
        (false, _) => vec![16, 18],
        (true, DType::F16) => vec![16],
        _ => vec![18],
    }
}

/// Whether kernels on matrices compute heads of this width: they multiply values by weights of zero.
fn is_on_matrices<T: Value>(device: &Device, d: usize) -> bool {
    T::DTYPE == DType::F16 && d == 16 && device.info().matrices.is_some()
}

/// Sizes of each kind of tile, and of pieces of keys.
const SIZES: [(usize, usize); 6] = [(3, 5), (2, 40), (12, 30), (30, 50), (70, 40), (2, 600)];

fn bits<T: Value>(x: &[T]) -> Vec<u32> {
    x.iter().map(|&x| Into::<f32>::into(x).to_bits()).collect()
}

/// Everything that a case computes: o, lse, and the gradients with respect to q, k, v and the bias, of which each is a
/// row of numbers for each element.
fn all<T: Value>(device: &Device, case: &Case, of: &Operands<T>) -> Vec<Vec<Vec<f32>>> {
    let (o, lse) = case.run(device, of).unwrap();
    let ones = |layout| Ragged::from_fn(layout, |_, i| (i % 3) as f32 - 0.5).unwrap();
    let (g, of_lse) = (ones(o.layout()), ones(lse.layout()));
    let wide = |x: &Ragged<T>| -> Vec<Vec<f32>> {
        let row = |e| x.row(e).iter().map(|&x| x.into()).collect();
        (0..x.len()).map(row).collect()
    };
    let mut all = vec![wide(&o)];
    all.push((0..lse.len()).map(|e| lse.row(e).to_vec()).collect());
    let of_all = slopes(device, case, of, (&g, &of_lse));
    all.extend(of_all.iter().map(wide));
    all
}

const NAMES: [&str; 6] = [
    "o",
    "lse",
    "slopes of q",
    "slopes of k",
    "slopes of v",
    "slopes of the bias",
];

fn changed<T: Value>(x: &Ragged<T>, row: usize, width: usize, value: f32) -> Ragged<T> {
    let new = |e: usize, i: usize| match i / width == row {
        true => T::rounded(value),
        false => x.row(e)[i],
    };
    Ragged::from_fn(x.layout(), new).unwrap()
}

/// Whatever a key holds that no query attends to, and a query that attends to no key: everything else keeps its bits.
pub fn by_bias(device: &Device) {
    by_bias_in::<f32>(device);
    by_bias_in::<f16>(device);
    by_bias_for_one::<f32>(device);
    by_bias_for_one::<f16>(device);
}

fn of_bias<T: Value>(d: usize, excluded: impl Fn(usize, usize) -> bool) -> (Case, Operands<T>) {
    let case = Case {
        sizes: SIZES.to_vec(),
        d,
        dv: d,
        bias: Some(false),
        ..Case::default()
    };
    let mut of = case.operands::<T>(31);
    let bias = of.bias.take().unwrap();
    let with = |e: usize, i: usize| match excluded(i / SIZES[e].1, i % SIZES[e].1) {
        true => T::rounded(f32::NEG_INFINITY),
        false => bias.row(e)[i],
    };
    of.bias = Some(Ragged::from_fn(bias.layout(), with).unwrap());
    (case, of)
}

fn by_bias_in<T: Value>(device: &Device) {
    for d in widths::<T>(device) {
        let (case, of) = of_bias::<T>(d, |query, key| query == 1 || key == 2);
        let clean = all(device, &case, &of);
        for value in [f32::NAN, f32::INFINITY, f32::MAX] {
            let mut of = of.clone();
            of.q = changed(&of.q, 1, d, value);
            of.k = changed(&of.k, 2, d, value);
            of.v = changed(&of.v, 2, d, value);
            for (i, (got, expected)) in all(device, &case, &of).iter().zip(&clean).enumerate() {
                for (e, (got, expected)) in got.iter().zip(expected).enumerate() {
                    assert_eq!(
                        bits(got),
                        bits(expected),
                        "{} of {} with {value} in {}",
                        NAMES[i],
                        T::DTYPE,
                        case.sizes[e].1
                    );
                }
            }
        }
        for (e, &(n, m)) in case.sizes.iter().enumerate() {
            assert_eq!(clean[0][e][d..2 * d], vec![0.0; d]);
            assert_eq!(clean[1][e][1], f32::NEG_INFINITY);
            for (i, width, row) in [(2, d, 1), (3, d, 2), (4, d, 2)] {
                assert_eq!(clean[i][e][row * width..][..width], vec![0.0; width]);
            }
            let excluded = (0..n * m).filter(|i| i / m == 1 || i % m == 2);
            excluded.for_each(|i| assert_eq!(clean[5][e][i], 0.0));
        }
    }
}

/// A key with a NaN that the first query alone attends to: the others keep their bits.
fn by_bias_for_one<T: Value>(device: &Device) {
    for d in widths::<T>(device) {
        if is_on_matrices::<T>(device, d) {
            continue;
        }
        let (case, of) = of_bias::<T>(d, |query, key| query > 0 && key == 2);
        let clean = all(device, &case, &of);
        for in_key in [false, true] {
            let mut of = of.clone();
            match in_key {
                true => of.k = changed(&of.k, 2, d, f32::NAN),
                false => of.v = changed(&of.v, 2, d, f32::NAN),
            }
            let got = all(device, &case, &of);
            for i in 0..3 {
                let width = [d, 1, d][i];
                for (e, (got, expected)) in got[i].iter().zip(&clean[i]).enumerate() {
                    let is_hit = i != 1 || in_key;
                    let what = format!("{} of {} of {:?}", NAMES[i], T::DTYPE, case.sizes[e]);
                    assert_eq!(got[..width].iter().all(|x| x.is_nan()), is_hit, "{what}");
                    assert_eq!(bits(&got[width..]), bits(&expected[width..]), "{what}");
                }
            }
        }
    }
}

/// A key of NaN, in a window: rows that attend to it are NaN, and so are their gradients and those of all keys and
/// values that they attend to. Others keep their bits.
pub fn weights(device: &Device) {
    weights_in::<f32>(device, false);
    weights_in::<f16>(device, false);
    weights_in::<f16>(device, true);
}

fn weights_in<T: Value>(device: &Device, alibi: bool) {
    for d in widths::<T>(device) {
        let case = Case {
            sizes: vec![(12, 12), (16, 40), (30, 50), (70, 70), (3, 600)],
            d,
            dv: d,
            window: Some((3, 0)),
            alibi,
            ..Case::default()
        };
        let of = case.operands::<T>(32);
        let clean = all(device, &case, &of);
        // The first of the last three keys, which the last query attends to.
        let place = |e: usize| case.sizes[e].1 - 3;
        for in_key in [false, true] {
            let mut of = of.clone();
            let x = if in_key { &mut of.k } else { &mut of.q };
            // The query at the same position.
            let row = |e: usize| match in_key {
                true => place(e),
                false => case.sizes[e].0 - 3,
            };
            *x = Ragged::from_fn(x.layout(), |e, i| match i / d == row(e) {
                true => T::rounded(f32::NAN),
                false => x.row(e)[i],
            })
            .unwrap();
            let got = all(device, &case, &of);
            for (i, (got, clean)) in got.iter().zip(&clean).enumerate() {
                for (e, (got, clean)) in got.iter().zip(clean).enumerate() {
                    let (n, m) = case.sizes[e];
                    let width = if i == 1 { 1 } else { d };
                    let is_hit = |query: usize| match in_key {
                        true => case.sees((n, m), query, place(e)),
                        false => query == row(e),
                    };
                    for (row, got) in got.chunks(width).enumerate() {
                        let hit = match i {
                            0..=2 => is_hit(row),
                            _ => (0..n).any(|query| is_hit(query) && case.sees((n, m), query, row)),
                        };
                        let what =
                            format!("row {row} of {} of {} of {n} x {m}", NAMES[i], T::DTYPE);
                        match hit {
                            true => assert!(got.iter().all(|x| x.is_nan()), "{what}: {got:?}"),
                            false if i >= 2 && is_on_matrices::<T>(device, d) => (),
                            false => assert_eq!(
                                bits(got),
                                bits(&clean[row * width..][..width]),
                                "{what}"
                            ),
                        }
                    }
                }
            }
        }
    }
}

/// Scores that are all equal and as large as this: the weights of a query are equal, and sum to 1.
pub fn large_scores(device: &Device) {
    for d in widths::<f32>(device) {
        for score in [1e5, 1e8, -1e8] {
            large_scores_in::<f32>(device, [score, 1.0], d);
        }
    }
    for d in widths::<f16>(device) {
        // A few units in the last place of log-sum-exps are a multiple of a weight.
        large_scores_in::<f16>(device, [2000.0, 2000.0], d);
        if !is_on_matrices::<f16>(device, d) {
            large_scores_in::<f16>(device, [-8192.0, 8192.0], d);
        }
    }
}

fn large_scores_in<T: Value>(device: &Device, [q, k]: [f32; 2], d: usize) {
    let case = Case {
        sizes: SIZES.to_vec(),
        d,
        dv: d,
        scale: Some(1.0),
        ..Case::default()
    };
    let mut of = case.operands::<T>(33);
    let first = |x: f32| move |_, i: usize| T::rounded(if i.is_multiple_of(d) { x } else { 0.0 });
    of.q = Ragged::from_fn(of.q.layout(), first(q)).unwrap();
    of.k = Ragged::from_fn(of.k.layout(), first(k)).unwrap();
    let (_, lse) = case.run(device, &of).unwrap();
    let g = Ragged::from_fn(of.q.layout(), |_, _| 1.0f32).unwrap();
    let of_lse = Ragged::zeros(lse.layout()).unwrap();
    let got = slopes(device, &case, &of, (&g, &of_lse));
    for (e, &(n, m)) in case.sizes.iter().enumerate() {
        let total = f64::from(q) * f64::from(k) + (m as f64).ln();
        for lse in lse.row(e) {
            let off = (f64::from(*lse) - total).abs();
            assert!(
                off <= 2f64.powi(-24) * total.abs() + 1e-5,
                "{lse}, expected {total}"
            );
        }
        let weight = n as f64 / m as f64;
        // On matrices, scores have another unit than those of few rows, and another rounding.
        let rounded = match is_on_matrices::<T>(device, d) && n <= 4 && m > 16 {
            true => 2f64.powi(-24) * total.abs(),
            false => 0.0,
        };
        let bound = (1e-5 + rounded) * weight + T::half_ulp(weight) * 4.0;
        for got in got[2].row(e) {
            let got = f64::from(Into::<f32>::into(*got));
            assert!(
                (got - weight).abs() <= bound,
                "{got} of {n} x {m}, expected {weight}"
            );
        }
    }
}

/// The gradient of a sink as large as all scores: −Σ w o, where w is the weight of one among them.
pub fn large_sinks(device: &Device) {
    for score in [1e5f32, 1e8] {
        let case = Case {
            sizes: vec![(3, 5), (2, 600)],
            scale: Some(1.0),
            sinks: true,
            ..Case::default()
        };
        let mut of = case.operands::<f32>(34);
        let first = |x: f32| move |_, i: usize| if i.is_multiple_of(16) { x } else { 0.0 };
        of.q = Ragged::from_fn(of.q.layout(), first(score)).unwrap();
        of.k = Ragged::from_fn(of.k.layout(), first(1.0)).unwrap();
        of.v = Ragged::from_fn(of.v.layout(), |_, _| 1.0).unwrap();
        of.sinks = Ragged::from_rows([[score]]).unwrap();
        let recorded = case.clone();
        let program = Program::new(device, move |r| {
            let [q, k, v, sinks]: [Tensor<f32>; 4] =
                [r.input()?, r.input()?, r.input()?, r.input()?];
            let o = recorded
                .configured(&q, &k, &v, None, [&sinks, &sinks])
                .run()?;
            let [slopes] = r.gradients(&o, [&sinks])?;
            r.output(&slopes)
        });
        let plan = program
            .plan(&[&of.q, &of.k, &of.v, &of.sinks].map(Ragged::layout))
            .unwrap();
        let got = plan
            .call_blocking(&[&of.q, &of.k, &of.v, &of.sinks])
            .unwrap();
        let got = f64::from(got.get::<f32>(0).unwrap().values()[0]);
        let of_each = |&(n, m): &(usize, usize)| {
            let weight = 1.0 / (m as f64 + 1.0);
            n as f64 * 16.0 * weight * (1.0 - weight)
        };
        let expected = -case.sizes.iter().map(of_each).sum::<f64>();
        assert!(
            (got - expected).abs() <= 1e-5 * expected.abs(),
            "{got}, expected {expected}"
        );
    }
}

/// Each query attends to one key.
pub fn windows_of_one_key(device: &Device) {
    for top_left in [false, true] {
        let case = Case {
            sizes: vec![(5, 5), (9, 30), (40, 35), (2, 600)],
            window: Some((0, 0)),
            top_left,
            ..Case::default()
        };
        case.check::<f32>(device, 35);
        case.check::<f16>(device, 35);
        if !is_hurried(device) {
            super::gradients::check::<f32>(device, &case, 36);
        }
    }
}
