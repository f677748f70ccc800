//! Products of f16 on cooperative matrices.

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Pairing, Ragged, Tensor, f16,
    product::{Activation, Tier},
    scalar::Scalar,
};

use super::half::{narrowed, pair};
use super::{TRANSPOSES, factors, form, matrices, small_integers};
use crate::support::bench::{Bench, DeviceTest, cpu, depth_by_matrices, is_software, repeats};
use crate::support::compare::{assert_identical, assert_within};
use crate::support::operation::{download, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.on_each_device("matrix::refused", refused);
    let tests: [DeviceTest; 6] = [
        ("matrix::integers", integers),
        ("matrix::random", random),
        ("matrix::infinities_stay", infinities_stay),
        ("matrix::epilogues", epilogues),
        ("matrix::alone", alone),
        (
            "matrix::repeated_runs_are_identical",
            repeated_runs_are_identical,
        ),
    ];
    trials.extend(tests.map(|(name, test)| bench.on_matrices(name, test)));
    trials.push(bench.on_emulated_matrices(8, "matrix::random", random_of_small));
    trials
}

/// One product for each tile size: extents of whole stages and quads of words, with a remainder of the inner extent,
/// and with rows and columns that do not fill tiles.
const SIXTEEN: [[usize; 3]; 13] = [
    [32, 64, 32],
    [24, 72, 40],
    [256, 128, 192],
    [200, 72, 264],
    [1280, 64, 1280],
    [1288, 104, 1160],
    [2048, 96, 2048],
    [2000, 56, 2104],
    [33, 31, 35],
    [193, 97, 301],
    [259, 130, 253],
    [1283, 67, 1301],
    [2049, 35, 2061],
];

/// The same for matrices of 8 × 8.
const EIGHT: [[usize; 3]; 6] = [
    [32, 64, 32],
    [24, 72, 40],
    [256, 64, 256],
    [248, 72, 264],
    [33, 31, 35],
    [259, 70, 253],
];

fn every_tile(device: &Device) -> &'static [[usize; 3]] {
    match device.info().matrices {
        Some(8) => &EIGHT,
        _ => &SIXTEEN,
    }
}

/// Without cooperative matrices, the tier returns an error, and the other tiers work.
fn refused(device: &Device) {
    let one = upload(
        device,
        &Ragged::full(&matrices([[1, 1]]), f16::ONE).unwrap(),
    );
    pair(&one, &one, |product| {
        let by_matrices = product.clone().tier(Tier::Matrix).run();
        assert_eq!(by_matrices.is_ok(), device.info().matrices.is_some());
        if let Err(error) = by_matrices {
            assert_eq!((error.kind(), error.op()), ("unsupported", "matmul"));
        }
        for tier in [Tier::Auto, Tier::Baseline] {
            let got = product.clone().tier(tier).run();
            assert_eq!(download(&got.unwrap()).values(), [f16::ONE]);
        }
    });
}

/// A batch with NaNs before and after it in its buffer.
fn among_nans(device: &Device, batch: &Ragged<f16>, base: usize) -> Tensor<f16> {
    among(device, batch, base, f16::NAN)
}

/// A batch with other values before and after it in its buffer.
pub(super) fn among<T: Scalar>(
    device: &Device,
    batch: &Ragged<T>,
    base: usize,
    strange: T,
) -> Tensor<T> {
    let shapes = batch.layout().shapes().map(|s| {
        let s = s.extents();
        [s[0] as usize, s[1] as usize]
    });
    let strange = vec![strange; base];
    let whole = matrices([[1, base]].into_iter().chain(shapes).chain([[1, base]]));
    let values = [&strange, batch.values(), &strange].concat();
    let whole = Ragged::from_parts(whole, values).unwrap();
    let whole = upload(device, &whole);
    whole.elements(1..1 + batch.len()).unwrap()
}

/// Exact results, compared with the CPU: every tile, form and way to load.
fn integers(device: &Device) {
    let sides = [
        1, 7, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 96, 128, 130,
    ];
    // The partners of each side change as the number of cases shrinks.
    let software = is_software(device);
    let step = if software { 13 } else { 1 };
    let bases: &[usize] = if software { &[8, 3] } else { &[0, 1, 3, 8] };
    let drawn = (0..96).step_by(step).map(|i| {
        [
            sides[i % 16],
            sides[i * 7 % 13],
            sides[(i * 5 + i / 16) % 16],
        ]
    });
    let odd: Vec<[usize; 3]> = drawn
        .chain(every_tile(device).iter().copied())
        .chain([[0, 3, 4], [5, 0, 7], [64, 0, 64], [3, 4, 0], [20, 3000, 24]])
        .collect();
    let quads: Vec<_> = odd
        .iter()
        .map(|extents| extents.map(|n| n.next_multiple_of(8)))
        .collect();
    for (extents, transposed) in [odd, quads].iter().flat_map(|e| TRANSPOSES.map(|t| (e, t))) {
        let (left, right) = factors(extents, transposed);
        let a = narrowed(&small_integers(&left, "matrices left"));
        let b = narrowed(&small_integers(&right, "matrices right"));
        let (x, y) = (upload(cpu(), &a), upload(cpu(), &b));
        let both = x.pair(&y, Pairing::Elementwise).unwrap();
        let expected = download(&form(both.product(), transposed).to::<f32>().run().unwrap());
        for &base in bases {
            let (x, y) = (among_nans(device, &a, base), among_nans(device, &b, base));
            pair(&x, &y, |product| {
                let product = form(product, transposed).tier(Tier::Matrix);
                let sums = download(&product.clone().to::<f32>().run().unwrap());
                assert_eq!(sums, expected, "{transposed:?} {base}");
                if base == 8 {
                    let rounded = download(&product.run().unwrap());
                    assert_eq!(
                        rounded,
                        expected.cast(f16::from_f32).unwrap(),
                        "{transposed:?}"
                    );
                }
            });
        }
    }
}

/// Results within the bound, for every tile and form.
fn random(device: &Device) {
    let all = every_tile(device).iter();
    let all = all.map(|&[m, k, n]| [m.min(300), k, n.min(300)]);
    let long: Vec<_> = all.clone().map(|[m, k, n]| [m, 5 * k, n]).collect();
    for transposed in TRANSPOSES {
        random_of(device, &long, transposed);
        // Alone, a factor has NaN beyond its end, and not the next factor's values.
        all.clone()
            .for_each(|one| random_of(device, &[one], transposed));
    }
}

/// The smallest tile, of whole quads of words and of others.
fn random_of_small(device: &Device) {
    for extents in [[24, 72, 40], [33, 31, 35]] {
        random_of(device, &[extents], TRANSPOSES[0]);
    }
}

fn random_of(device: &Device, extents: &[[usize; 3]], transposed: [bool; 2]) {
    let (left, right) = factors(extents, transposed);
    let a = narrowed(&Ragged::random(&left, 21).unwrap());
    let b = narrowed(&Ragged::random(&right, 22).unwrap());
    let [wide_a, wide_b] = [&a, &b].map(|x| x.cast(f16::to_f64).unwrap());
    let pairs = reference::elementwise(a.len());
    let expected = reference::matmul(&wide_a, &wide_b, &pairs, transposed);
    let [x, y] = [&a, &b].map(|x| among_nans(device, x, 8));
    pair(&x, &y, |product| {
        let product = form(product, transposed).tier(Tier::Matrix);
        let sums = download(&product.clone().to::<f32>().run().unwrap());
        let bounds = expected.bounds(depth_by_matrices(device));
        assert_within("sums", &sums, &expected.values, &bounds);
    });
}

/// A value that is not finite reaches only its own row and column, and only within its product.
fn infinities_stay(device: &Device) {
    let every_tile = every_tile(device);
    let (left, right) = factors(every_tile, [false; 2]);
    let mut a = Ragged::full(&left, f16::ONE).unwrap();
    let b = Ragged::full(&right, f16::ONE).unwrap();
    let strange = 5;
    let [m, k, n] = every_tile[strange];
    let (row, column) = (m - 1, n - 3);
    let begin = a.layout().offsets().as_slice()[strange] as usize;
    a.values_mut()[begin + row * k + k - 1] = f16::INFINITY;
    let mut b = b;
    let begin = b.layout().offsets().as_slice()[strange] as usize;
    b.values_mut()[begin + column] = f16::NAN;
    let (x, y) = (upload(device, &a), upload(device, &b));
    pair(&x, &y, |product| {
        let sums = download(&product.tier(Tier::Matrix).to::<f32>().run().unwrap());
        for (i, &[_, k, n]) in every_tile.iter().enumerate() {
            for (at, &value) in sums.row(i).iter().enumerate() {
                let right = match (i == strange, at % n == column, at / n == row) {
                    (true, true, _) => value.is_nan(),
                    (true, _, true) => value == f32::INFINITY,
                    _ => value == k as f32,
                };
                assert!(right, "product {i} at {at}: {value}");
            }
        }
    });
}

/// The epilogue of exact sums gives the same results as in the other kernel.
fn epilogues(device: &Device) {
    let extents = [
        [33, 40, 7],
        [200, 72, 264],
        [1288, 64, 1160],
        [2000, 48, 2104],
    ];
    for of in extents {
        let (left, right) = factors(&[of], [false; 2]);
        let bias = Layout::from_lengths([of[2]]).unwrap();
        let [a, b, residual] = [left, right, matrices([[of[0], of[2]]])]
            .map(|layout| upload(device, &narrowed(&small_integers(&layout, "epilogues"))));
        let bias = upload(device, &narrowed(&small_integers(&bias, "epilogues")));
        let both = a.pair(&b, Pairing::Elementwise).unwrap();
        for (scale, activation) in [
            (0.25, Activation::Identity),
            (0.25, Activation::Relu),
            (0.015, Activation::Gelu),
        ] {
            let [(matrix, rounded), (baseline, _)] = [Tier::Matrix, Tier::Baseline].map(|tier| {
                let product = both.product().tier(tier).scale(scale).bias(&bias);
                let product = product.activation(activation).residual(&residual);
                let sums = download(&product.clone().to::<f32>().run().unwrap());
                (sums, download(&product.run().unwrap()))
            });
            assert_eq!(rounded, narrowed(&matrix), "{of:?} {activation:?}");
            assert_identical(format!("{of:?} {activation:?}"), &matrix, &baseline);
        }
    }
}

/// An element's bits depend neither on its neighbours nor on its position nor on the way of loading.
fn alone(device: &Device) {
    // Beside so many products with odd extents, small products of whole quads are loaded in the same way as those.
    let company = std::iter::repeat_n([31, 29, 33], 45);
    let extents: Vec<_> = every_tile(device)
        .iter()
        .copied()
        .chain(company)
        .map(|[m, k, n]| [m, 3 * k, n])
        .collect();
    let (left, right) = factors(&extents, [false; 2]);
    let a = narrowed(&Ragged::random(&left, 3).unwrap());
    let b = narrowed(&Ragged::random(&right, 4).unwrap());
    let (x, y) = (upload(device, &a), upload(device, &b));
    let whole = download(&x.matmul(&y).unwrap());
    for i in 0..=every_tile(device).len() {
        for base in [0, 3] {
            let of = |x: &Ragged<f16>| {
                let layout = Layout::from_shapes(2, [x.shape(i)]).unwrap();
                let only = Ragged::from_parts(layout, x.row(i).to_vec()).unwrap();
                among_nans(device, &only, base)
            };
            let got = download(&of(&a).matmul(&of(&b)).unwrap());
            assert_eq!(got.row(0), whole.row(i), "element {i}");
        }
    }
}

/// wgpu gives the driver too little information about workgroup memory to guarantee that staged data is safe. This test
/// is the only evidence that it is.
fn repeated_runs_are_identical(device: &Device) {
    // One product for each kernel.
    let tiles: &[usize] = match device.info().matrices {
        Some(8) => &[0, 2, 4, 5],
        _ => &[0, 2, 4, 6, 8, 9],
    };
    let extents: Vec<_> = tiles.iter().map(|&i| every_tile(device)[i]).collect();
    for transposed in TRANSPOSES {
        let (left, right) = factors(&extents, transposed);
        let x = upload(device, &narrowed(&Ragged::random(&left, 23).unwrap()));
        let y = upload(device, &narrowed(&Ragged::random(&right, 24).unwrap()));
        pair(&x, &y, |product| {
            let product = form(product, transposed).tier(Tier::Matrix);
            let first = product.clone().to::<f32>().run().unwrap();
            for _ in 0..repeats(device) {
                let again = product.clone().to::<f32>().run().unwrap();
                let same = again.equivalent_blocking(&first).unwrap();
                assert!(same.iter().all(|&same| same), "{transposed:?}");
            }
        });
    }
}
