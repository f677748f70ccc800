//! Products of f16.

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Pairing, Ragged, Tensor, f16,
    product::{Activation, Product},
};

use super::{TRANSPOSES, depth, factors, form, matrices, small_integers};
use crate::support::bench::{Bench, DeviceTest, depth_by_matrices, tiers};
use crate::support::compare::{assert_identical, assert_within};
use crate::support::number::widened;
use crate::support::operation::{download, pair_list, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("half::integers", integers),
        ("half::random", random),
        ("half::as_of_f32", as_of_f32),
        ("half::empty", empty),
        ("half::range", range),
        ("half::pairings", pairings),
        ("half::at_every_base", at_every_base),
        ("half::alone", alone),
        ("half::epilogues", epilogues),
        ("half::errors", errors),
    ];
    bench.all_on_each_device(tests)
}

pub(super) fn narrowed(batch: &Ragged<f32>) -> Ragged<f16> {
    batch.cast(f16::from_f32).unwrap()
}

pub(super) fn pair(x: &Tensor<f16>, y: &Tensor<f16>, work: impl Fn(Product<'_, f16>)) {
    work(x.product(y));
}

/// Exact results, with sums of every size that f16 represents exactly, and larger sums.
fn integers(device: &Device) {
    let extents = [
        [1, 1, 1],
        [3, 5, 7],
        [33, 31, 35],
        [64, 200, 65],
        [40, 2000, 3],
        [725, 9, 730],
    ];
    for transposed in TRANSPOSES {
        let (left, right) = factors(&extents, transposed);
        let a = small_integers::<f32>(&left, "left halves");
        let b = small_integers::<f32>(&right, "right halves");
        let pairs = reference::elementwise(a.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, transposed).values;
        let (x, y) = (upload(device, &narrowed(&a)), upload(device, &narrowed(&b)));
        pair(&x, &y, |product| {
            let product = form(product, transposed);
            let sums = download(&product.clone().to::<f32>().run().unwrap());
            assert_eq!(sums.cast(f64::from).unwrap(), expected, "{transposed:?}");
            let rounded = download(&product.run().unwrap());
            assert_eq!(
                rounded,
                expected.cast(f16::from_f64).unwrap(),
                "{transposed:?}"
            );
        });
    }
}

fn random(device: &Device) {
    let extents = [[70, 1500, 40], [1, 3, 9], [130, 64, 66]];
    let (left, right) = factors(&extents, [false; 2]);
    let (a, b) = (
        narrowed(&Ragged::random(&left, 5).unwrap()),
        narrowed(&Ragged::random(&right, 6).unwrap()),
    );
    let [wide_a, wide_b] = [&a, &b].map(|x| x.cast(f16::to_f64).unwrap());
    let pairs = reference::elementwise(a.len());
    let expected = reference::matmul(&wide_a, &wide_b, &pairs, [false; 2]);
    let (x, y) = (upload(device, &a), upload(device, &b));
    pair(&x, &y, |product| {
        let sums = download(&product.clone().to::<f32>().run().unwrap());
        let by_matrices = depth_by_matrices(device);
        let deepest = |k| depth(k).max(by_matrices(k));
        assert_within("sums", &sums, &expected.values, &expected.bounds(deepest));
    });
}

/// The bits of the sums equal those of the widened factors, and the stored values are these sums, rounded.
fn as_of_f32(device: &Device) {
    let extents: Vec<[usize; 3]> = (0..40)
        .map(|i| [i * 7 % 41, i * 11 % 37, i * 5 % 43])
        .chain([[65, 513, 67], [0, 3, 4], [500, 20, 600]])
        .collect();
    for transposed in TRANSPOSES {
        let (left, right) = factors(&extents, transposed);
        let a = upload(device, &narrowed(&Ragged::random(&left, 7).unwrap()));
        let b = upload(device, &narrowed(&Ragged::random(&right, 8).unwrap()));
        let (wide_a, wide_b) = (a.to::<f32>().unwrap(), b.to::<f32>().unwrap());
        let wide = wide_a.pair(&wide_b, Pairing::Elementwise).unwrap();
        for tier in tiers(device) {
            let expected = form(wide.product(), transposed).tier(tier).run().unwrap();
            let rounded = download(&expected.to::<f16>().unwrap());
            let expected = download(&expected);
            pair(&a, &b, |product| {
                let product = form(product, transposed).tier(tier);
                let sums = download(&product.clone().to::<f32>().run().unwrap());
                assert_identical(format!("{transposed:?} {tier:?}"), &sums, &expected);
                assert_eq!(download(&product.run().unwrap()), rounded);
            });
        }
    }
}

/// With an inner extent of 0 the result is zero; without rows or columns it is empty.
fn empty(device: &Device) {
    for extents in [&[[3, 0, 3], [0, 4, 2], [3, 4, 0], [0, 0, 0]][..], &[]] {
        let (left, right) = factors(extents, [false; 2]);
        let (x, y) = (
            upload(device, &Ragged::full(&left, f16::ONE).unwrap()),
            upload(device, &Ragged::full(&right, f16::ONE).unwrap()),
        );
        let got = download(&x.matmul(&y).unwrap());
        let shapes = extents.iter().map(|&[m, _, n]| [m, n]);
        assert_eq!(got, Ragged::full(&matrices(shapes), f16::ZERO).unwrap());
    }
}

/// Sums are f32, and only the rounding to f16 overflows; a NaN stays in its row or column.
fn range(device: &Device) {
    let max = f16::MAX;
    let row = |values: &[f16]| {
        Ragged::from_parts(matrices([[1, values.len()]]), values.to_vec()).unwrap()
    };
    let ones = |n: usize| row(&vec![f16::ONE; n]);
    for (a, b, sum) in [
        (row(&[max]), row(&[max]), 65_504.0f64 * 65_504.0),
        (row(&[max, max]), row(&[max, -max]), 0.0),
        (row(&[-max; 4]), row(&[max; 4]), -4.0 * 65_504.0 * 65_504.0),
        (row(&[max; 3]), ones(3), 196_512.0),
        (row(&[max, -max, max]), ones(3), 65_504.0),
        (row(&[max, f16::from_f32(15.5)]), ones(2), 65_519.5),
        (row(&[max, f16::from_f32(16.0)]), ones(2), 65_520.0),
        (row(&[f16::INFINITY, max]), ones(2), f64::INFINITY),
        (row(&[f16::INFINITY, f16::NEG_INFINITY]), ones(2), f64::NAN),
        (row(&[f16::NAN, f16::ONE]), ones(2), f64::NAN),
    ] {
        let (x, y) = (upload(device, &a), upload(device, &b));
        pair(&x, &y, |product| {
            let product = product.transpose_right();
            let got = download(&product.clone().to::<f32>().run().unwrap()).values()[0];
            assert!(
                got == sum as f32 || got.is_nan() && sum.is_nan(),
                "{got} {sum}"
            );
            let got = download(&product.run().unwrap()).values()[0];
            let expected = f16::from_f64(sum);
            assert!(
                got == expected || got.is_nan() && sum.is_nan(),
                "{got} {sum}"
            );
        });
    }
    let layout = matrices([[40, 40], [3, 3]]);
    let (mut a, b) = (
        Ragged::full(&layout, f16::ONE).unwrap(),
        Ragged::full(&layout, f16::ONE).unwrap(),
    );
    a.values_mut()[5 * 40 + 7] = f16::NAN;
    let got = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    for (at, value) in got.row(0).iter().enumerate() {
        let right = match at / 40 {
            5 => value.is_nan(),
            _ => value.to_f32() == 40.0,
        };
        assert!(right, "{at}: {value}");
    }
    assert_eq!(got.row(1), [f16::from_f32(3.0); 9]);
}

fn pairings(device: &Device) {
    let a = small_integers::<f32>(&matrices([[3, 5], [40, 5], [0, 5]]), "weights");
    let b = small_integers::<f32>(&matrices([[5, 2], [5, 33]]), "inputs");
    let (x, y) = (upload(device, &narrowed(&a)), upload(device, &narrowed(&b)));
    for pairing in [
        Pairing::AllToAll,
        Pairing::List(&pair_list([(1, 1), (0, 1), (2, 0), (1, 1)])),
    ] {
        let pairs = reference::pairs(pairing, a.len(), b.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]);
        let got = download(&x.pair(&y, pairing).unwrap().matmul().unwrap());
        assert_eq!(
            got.cast(f16::to_f64).unwrap(),
            expected.values,
            "{pairing:?}"
        );
    }
    // The part of the inner extent that both factors have.
    let (a, b) = (matrices([[2, 3], [1, 4]]), matrices([[5, 2], [2, 2]]));
    let ambient = upload(device, &Ragged::full(&a, f16::ONE).unwrap())
        .matmul_ambient(&upload(device, &Ragged::full(&b, f16::ONE).unwrap()));
    let got = download(&ambient.unwrap());
    assert_eq!(
        got.cast(f16::to_f64).unwrap().values(),
        [3.0, 3.0, 3.0, 3.0, 2.0, 2.0]
    );
}

/// Factors, biases and residuals that begin in either half of a word.
fn at_every_base(device: &Device) {
    let extents = [[7, 9, 5], [33, 17, 35]];
    let (left, right) = factors(&extents, [false; 2]);
    let sums = matrices(extents.map(|[m, _, n]| [m, n]));
    let bias = Layout::from_lengths([5, 35]).unwrap();
    let made = |base: usize| {
        let [a, b, c] = [(&left, 1), (&right, 2), (&sums, 3)].map(|(layout, seed)| {
            let shapes = layout.shapes().map(|s| {
                let s = s.extents();
                [s[0] as usize, s[1] as usize]
            });
            let whole = matrices([[1, base]].into_iter().chain(shapes));
            let values = narrowed(&Ragged::random(layout, seed).unwrap())
                .into_parts()
                .1;
            let padded = [vec![f16::NAN; base], values].concat();
            let whole = Ragged::from_parts(whole, padded).unwrap();
            upload(device, &whole).elements(1..3).unwrap()
        });
        let values = narrowed(&Ragged::random(&bias, 4).unwrap()).into_parts().1;
        let padded = [vec![f16::NAN; base], values].concat();
        let bias = Ragged::from_lengths(padded, [base, 5, 35]).unwrap();
        let bias = upload(device, &bias).elements(1..3).unwrap();
        let pair = a.pair(&b, Pairing::Elementwise).unwrap();
        download(
            &pair
                .product()
                .bias(&bias)
                .residual(&c)
                .to::<f32>()
                .run()
                .unwrap(),
        )
    };
    let expected = made(0);
    for base in 1..8 {
        assert_identical(base, &made(base), &expected);
    }
}

/// An element's bits depend neither on its neighbours nor on its position.
fn alone(device: &Device) {
    let extents = [[3, 700, 3], [513, 30, 520], [64, 64, 64], [1, 1, 1]];
    let (left, right) = factors(&extents, [false; 2]);
    let x = upload(device, &narrowed(&Ragged::random(&left, 3).unwrap()));
    let y = upload(device, &narrowed(&Ragged::random(&right, 4).unwrap()));
    let whole = download(&x.matmul(&y).unwrap());
    for i in 0..extents.len() {
        let (x, y) = (x.elements(i..i + 1).unwrap(), y.elements(i..i + 1).unwrap());
        let got = download(&x.matmul(&y).unwrap());
        assert_eq!(got.row(0), whole.row(i), "element {i}");
    }
}

/// Each part of the epilogue is applied to the f32 sum, and only the final result is rounded.
fn epilogues(device: &Device) {
    let extents = [[33, 600, 7], [2, 3, 7], [0, 1, 7], [40, 0, 7]];
    let (left, right) = factors(&extents, [false; 2]);
    let a = narrowed(&Ragged::random(&left, 11).unwrap());
    let b = narrowed(&Ragged::random(&right, 12).unwrap());
    let bias = narrowed(&Ragged::random(&Layout::from_lengths([7]).unwrap(), 13).unwrap());
    let residual =
        narrowed(&Ragged::random(&matrices(extents.map(|[m, _, n]| [m, n])), 14).unwrap());
    let halves = [&a, &b, &bias, &residual].map(|batch| upload(device, batch));
    let wide = halves.each_ref().map(|half| half.to::<f32>().unwrap());
    for parts in 0..32 {
        let has = |bit: usize| parts & bit != 0;
        macro_rules! product {
            ($of:expr) => {{
                let [a, b, bias, residual] = $of;
                let mut product = a.product(b);
                if has(1) {
                    product = product.scale(0.3);
                }
                if has(2) {
                    product = product.bias(bias);
                }
                if has(4) {
                    product = product.activation(Activation::Relu);
                }
                if has(8) {
                    product = product.activation(Activation::Gelu);
                }
                if has(16) {
                    product = product.residual(residual);
                }
                product
            }};
        }
        for tier in tiers(device) {
            let expected = product!(&wide).tier(tier).run().unwrap();
            let got = product!(&halves).tier(tier).to::<f32>().run().unwrap();
            assert_identical(parts, &download(&got), &download(&expected));
            let got = download(&product!(&halves).tier(tier).run().unwrap());
            assert_eq!(got, download(&expected.to::<f16>().unwrap()), "{parts}");
        }
    }
}

fn errors(device: &Device) {
    let matrix = |rows, columns| {
        upload(
            device,
            &Ragged::full(&matrices([[rows, columns]]), f16::ONE).unwrap(),
        )
    };
    let error = matrix(2, 3).matmul(&matrix(2, 3)).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("inner_extents", "matmul"));
    let (x, y) = (matrix(2, 3), matrix(3, 2));
    let vector = Ragged::full(&Layout::from_lengths([3]).unwrap(), f16::ONE).unwrap();
    let vector = upload(device, &vector);
    pair(&x, &y, |product| {
        assert_eq!(product.bias(&vector).run().unwrap_err().kind(), "length");
    });
}
