//! Random batches of factors from proptest, in every pairing and form and with all epilogues.

use proptest::collection::vec;
use proptest::prelude::*;
use vsla::{
    Device, Layout, Pairing, Ragged, Result, Tensor, f16,
    product::{Activation, Product},
    scalar::{Factor, Float},
};

use super::{form, matrices, small_integers};
use crate::support::operation::{download, pair_list, upload};
use crate::support::{property, reference};

#[derive(Clone, Debug)]
struct Case {
    pairing: usize,
    /// The rows of each left element, the columns of each right element, and the inner extents.
    rows: Vec<usize>,
    columns: Vec<usize>,
    inner: Vec<usize>,
    list: Vec<(usize, usize)>,
    transposed: [bool; 2],
    scale: Option<f32>,
    /// One bias for all products, if they have equal numbers of columns, or one for each.
    bias: Option<bool>,
    activation: Activation,
    residual: bool,
}

/// Mostly small extents, and extents around the edges of tiles and of blocks of the sum.
fn side() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..9usize, 3 => 9..70usize, 1 => 120..140usize]
}

fn inner() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..9usize, 3 => 9..70usize, 1 => 505..530usize]
}

fn cases() -> impl Strategy<Value = Case> {
    let batches = (
        vec(side(), 5),
        vec(side(), 5),
        vec(inner(), 5),
        any::<bool>(),
    );
    let pairs = (
        0..5usize,
        0..5usize,
        0..5usize,
        vec((0..5usize, 0..5usize), 0..6),
    );
    let done = (
        any::<[bool; 2]>(),
        prop_oneof![Just(None), Just(Some(0.5f32)), Just(Some(-2.0))],
        any::<Option<bool>>(),
        prop_oneof![
            Just(Activation::Identity),
            Just(Activation::Relu),
            Just(Activation::Gelu)
        ],
        any::<bool>(),
    );
    (batches, pairs, done).prop_map(|(batches, pairs, done)| {
        let (mut rows, mut columns, mut inner, alike) = batches;
        let (pairing, left, right, list) = pairs;
        let (transposed, scale, bias, activation, residual) = done;
        let left = [right, 1, left, left, left][pairing];
        let right = if pairing == 4 { 1 } else { right };
        rows.truncate(left);
        columns.truncate(right);
        if alike {
            let first = columns.first().copied();
            columns.fill(first.unwrap_or(0));
        }
        if pairing > 0 {
            inner = vec![inner[0]; 5];
        }
        let mut list = list;
        list.retain(|&(i, j)| i < left && j < right);
        Case {
            pairing,
            rows,
            columns,
            inner,
            list,
            transposed,
            scale,
            bias: bias.map(|one| one && alike && right > 0),
            activation,
            residual,
        }
    })
}

pub fn floats(device: &Device) {
    property::on(device, cases(), |case| {
        check::<f32>(device, &case, |x| x, |product| product.run())
    });
}

pub fn halves(device: &Device) {
    property::on(device, cases(), |case| {
        check::<f16>(device, &case, f16::from_f32, |product| {
            product.clone().to::<f32>().run()
        });
    });
}

fn check<T: Factor + Float>(
    device: &Device,
    case: &Case,
    narrow: fn(f32) -> T,
    run: impl Fn(&Product<'_, T>) -> Result<Tensor<f32>>,
) {
    let stored = |s: [usize; 2], transposed: bool| if transposed { [s[1], s[0]] } else { s };
    let left = case.rows.iter().zip(&case.inner);
    let left = matrices(left.map(|(&m, &k)| stored([m, k], case.transposed[0])));
    let right = case.columns.iter().zip(&case.inner);
    let right = matrices(right.map(|(&n, &k)| stored([k, n], case.transposed[1])));
    let list = case.list.iter().map(|&(i, j)| (i as u32, j as u32));
    let list = pair_list(list.collect::<Vec<_>>());
    let pairing = [
        Pairing::Elementwise,
        Pairing::OneToAll,
        Pairing::AllToAll,
        Pairing::List(&list),
        Pairing::AllToOne,
    ][case.pairing];
    let pairs = reference::pairs(pairing, left.len(), right.len());

    let a = small_integers::<f32>(&left, "any left");
    let b = small_integers::<f32>(&right, "any right");
    let [wide_a, wide_b] = [&a, &b].map(|x| x.cast(f64::from).unwrap());
    let sums = reference::matmul(&wide_a, &wide_b, &pairs, case.transposed).values;
    let biases = match case.bias {
        Some(true) => &case.columns[..1],
        _ => &case.columns[..],
    };
    let bias = Layout::from_lengths(biases.iter().copied()).unwrap();
    let bias = small_integers::<f32>(&bias, "any bias");
    let residual = small_integers::<f32>(sums.layout(), "any residual");

    let there = |batch: &Ragged<f32>| upload(device, &batch.cast(narrow).unwrap());
    let [a, b, bias_there, residual_there] = [&a, &b, &bias, &residual].map(there);
    let pair = a.pair(&b, pairing).unwrap();
    let mut product = form(pair.product(), case.transposed).activation(case.activation);
    if let Some(scale) = case.scale {
        product = product.scale(scale);
    }
    if case.bias.is_some() {
        product = product.bias(&bias_there);
    }
    if case.residual {
        product = product.residual(&residual_there);
    }
    let got = download(&run(&product).unwrap());

    assert_eq!(got.layout(), sums.layout());
    for (i, &(_, j)) in pairs.iter().enumerate() {
        let bias = bias.row(if bias.len() == 1 { 0 } else { j });
        for (at, (&got, &sum)) in got.row(i).iter().zip(sums.row(i)).enumerate() {
            let mut x = sum * case.scale.map_or(1.0, f64::from);
            if case.bias.is_some() {
                x += f64::from(bias[at % bias.len()]);
            }
            let y = match case.activation {
                Activation::Relu => x.max(0.0),
                Activation::Gelu => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
                _ => x,
            };
            let residual = f64::from(residual.row(i)[at]);
            let expected = if case.residual { y + residual } else { y };
            // All operations except this function are exact for integers.
            let bound = match case.activation {
                Activation::Gelu => {
                    2f64.powi(-23) * (8.0 * y.abs() + expected.abs()) + f64::from(f32::MIN_POSITIVE)
                }
                _ => 0.0,
            };
            let off = (f64::from(got) - expected).abs();
            assert!(off <= bound, "pair {i} at {at}: {got}, not {expected}");
        }
    }
}
