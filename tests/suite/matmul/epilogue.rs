//! Epilogues of dense products.

use std::ops::Range;

use vsla::{Device, Pairing, Ragged, product::Activation};

use super::{factors, matrices, small_integers};
use crate::support::number::widened;
use crate::support::operation::{download, pair_list, upload};
use crate::support::reference;

pub(super) fn epilogues(device: &Device) {
    epilogue(
        device,
        &[[33, 600, 7], [2, 3, 7], [0, 1, 7], [40, 0, 7]],
        0..16,
    );
    // The largest tiles, some of them partial.
    epilogue(device, &[[1411, 4, 1540]], 15..16);
}

/// Products with equal numbers of columns, and these parts of the epilogue.
fn epilogue(device: &Device, extents: &[[usize; 3]], parts: Range<usize>) {
    let columns = extents[0][2];
    let (left, right) = factors(extents, [false; 2]);
    let a = small_integers::<f32>(&left, "epilogue left");
    let b = small_integers::<f32>(&right, "epilogue right");
    let of_seven = [-9.0f32, 4.0, 0.0, 1.0, -3.0, 100.0, -100.0];
    let bias: Vec<_> = of_seven.into_iter().cycle().take(columns).collect();
    let bias = Ragged::from_rows([bias]).unwrap();
    let shapes = extents.iter().map(|&[m, _, n]| [m, n]);
    let residual = small_integers::<f32>(&matrices(shapes), "residual");
    let pairs = reference::elementwise(a.len());
    let sums = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]).values;
    let (x, y) = (upload(device, &a), upload(device, &b));
    let (bias_there, residual_there) = (upload(device, &bias), upload(device, &residual));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    for parts in parts {
        let has = |bit: usize| parts & bit != 0;
        let mut product = pair.product();
        if has(1) {
            product = product.scale(0.5);
        }
        if has(2) {
            product = product.bias(&bias_there);
        }
        if has(4) {
            product = product.activation(Activation::Relu);
        }
        if has(8) {
            product = product.residual(&residual_there);
        }
        let got = download(&product.run().unwrap());
        let expected = Ragged::from_fn(sums.layout(), |i, at| {
            let mut value = sums.row(i)[at];
            value *= if has(1) { 0.5 } else { 1.0 };
            value += if has(2) {
                f64::from(bias.row(0)[at % columns])
            } else {
                0.0
            };
            value = if has(4) { value.max(0.0) } else { value };
            value
                + if has(8) {
                    f64::from(residual.row(i)[at])
                } else {
                    0.0
                }
        })
        .unwrap();
        assert_eq!(got.cast(f64::from).unwrap(), expected, "{parts}");
    }
}

/// Within 8 units in the last place, including large and special values.
pub(super) fn gelu(device: &Device) {
    let special = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        100.0,
        -100.0,
        1e30,
    ];
    let values: Vec<f32> = (-2600..=2000)
        .map(|i| i as f32 * 0.005)
        .chain(special)
        .collect();
    let n = values.len();
    let x = Ragged::from_parts(matrices([[n, 1]]), values.clone()).unwrap();
    let one = Ragged::from_parts(matrices([[1, 1]]), vec![1.0f32]).unwrap();
    let (x, one) = (upload(device, &x), upload(device, &one));
    let pair = x.pair(&one, Pairing::Elementwise).unwrap();
    let got = download(&pair.product().activation(Activation::Gelu).run().unwrap());
    if !device.is_gpu() {
        // The product and the map are one function.
        let map = download(&x.gelu().unwrap());
        let bits = |x: &Ragged<f32>| x.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&got), bits(&map));
    }
    for (&x, &got) in values.iter().zip(got.values()) {
        let exact = f64::from(x);
        let expected = match x {
            f32::NEG_INFINITY => 0.0,
            _ => 0.5 * exact * libm::erfc(-exact * std::f64::consts::FRAC_1_SQRT_2),
        };
        let off = (f64::from(got) - expected).abs();
        let unit = expected.abs() * 2f64.powi(-23);
        let right = off <= 8.0 * unit + f64::from(f32::MIN_POSITIVE)
            || f64::from(got) == expected
            || (got.is_nan() && expected.is_nan());
        assert!(
            right,
            "gelu({x}) is {got}, not {expected}: {} units",
            off / unit
        );
    }
}

/// Groups of rows of one batch, each with its own weights and bias.
pub(super) fn bias_for_each_product(device: &Device) {
    let x = small_integers::<f32>(&matrices([[4, 6], [1, 6], [35, 6]]), "rows");
    let w = small_integers::<f32>(&matrices([[6, 3], [6, 5]]), "groups");
    let bias = Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![5.0; 5]]).unwrap();
    let list = [(0, 1), (1, 0), (2, 1)];
    let pairs = reference::pairs(Pairing::List(&pair_list(list)), 3, 2);
    let sums = reference::matmul(&widened(&x), &widened(&w), &pairs, [false; 2]).values;
    let (a, b, c) = (
        upload(device, &x),
        upload(device, &w),
        upload(device, &bias),
    );
    let pair = a.pair(&b, Pairing::List(&pair_list(list))).unwrap();
    let got = download(&pair.product().bias(&c).run().unwrap());
    let expected = Ragged::from_fn(sums.layout(), |i, at| {
        let bias = bias.row(list[i].1 as usize);
        sums.row(i)[at] + f64::from(bias[at % bias.len()])
    })
    .unwrap();
    assert_eq!(got.cast(f64::from).unwrap(), expected);
}
