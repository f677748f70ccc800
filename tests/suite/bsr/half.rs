//! Products of f16.

use vsla::{
    Bsr, BsrTensor, Device, Layout, Pairing, Ragged, Tensor, Topology, f16,
    product::{Product, Tier},
};

use super::{FORMS, SIDES, Values, batch, dense, matrices, matrix, multiply, product};
use crate::support::bench::{DeviceTest, is_hurried, tiers};
use crate::support::compare::assert_identical;
use crate::support::corpus::rng;
use crate::support::number::widened;
use crate::support::operation::{download, upload};
use crate::support::reference;

pub const TESTS: &[DeviceTest] = &[
    ("half::integers", integers),
    ("half::as_of_f32", as_of_f32),
    ("half::sampled_as_of_f32", sampled_as_of_f32),
    ("half::range", range),
    ("half::at_every_base", at_every_base),
    ("half::empty", empty),
    ("half::errors", errors),
];

pub fn narrowed(batch: &Ragged<f32>) -> Ragged<f16> {
    batch.cast(f16::from_f32).unwrap()
}

pub fn narrowed_matrix(s: &Bsr<f32>) -> Bsr<f16> {
    let values = narrowed(s.values()).into_parts().1;
    Bsr::from_sets(s.topology(), s.len(), values).unwrap()
}

/// The f32 sums of the product, without rounding to f16.
pub fn sums(s: &BsrTensor<f16>, x: &Tensor<f16>, form: [bool; 2]) -> Tensor<f32> {
    product(s, x, form).to::<f32>().run().unwrap()
}

fn of_dense([a, b]: [&Tensor<f16>; 2], [left, right]: [bool; 2], work: impl Fn(Product<'_, f16>)) {
    let pair = a.pair(b, Pairing::Elementwise).unwrap();
    let mut product = pair.product();
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    work(product);
}

/// Exact sums, some of which f16 represents and some of which it rounds.
fn integers(device: &Device) {
    let topology = Topology::random([90, 1300], [16, 32], 30, 6).unwrap();
    let s = matrix(&topology, 1, Values::Integers);
    let full = widened(&s.to_dense().unwrap());
    let there = device.upload_bsr(&narrowed_matrix(&s)).unwrap();
    for form in FORMS {
        let [transposed, left] = form;
        let x = batch(&dense(&topology, form, &[3, 70]), Values::Integers, "dense");
        let expected = match left {
            false => reference::matmul(&full, &widened(&x), &[(0, 0), (0, 1)], [transposed, false]),
            true => reference::matmul(&widened(&x), &full, &[(0, 0), (1, 0)], [false, transposed]),
        };
        let x = upload(device, &narrowed(&x));
        let got = download(&sums(&there, &x, form));
        assert_eq!(got.cast(f64::from).unwrap(), expected.values, "{form:?}");
        let got = download(&multiply(&there, &x, form));
        assert_eq!(
            got,
            expected.values.cast(f16::from_f64).unwrap(),
            "{form:?}"
        );
    }
}

/// The bits equal those of the f32 product, and of its rounding, for the kernels with f32 and f16 results.
fn check(device: &Device, topology: &Topology, counts: &[usize]) {
    let s = narrowed_matrix(&matrix(topology, 1, Values::Random));
    let halves = device.upload_bsr(&s).unwrap();
    let wide = BsrTensor::new(topology, halves.values().to::<f32>().unwrap()).unwrap();
    for (form, tier) in FORMS
        .into_iter()
        .flat_map(|form| tiers(device).map(move |tier| (form, tier)))
    {
        let x = batch(&dense(topology, form, counts), Values::Random, "dense");
        let x = upload(device, &narrowed(&x));
        let widened = x.to::<f32>().unwrap();
        let expected = product(&wide, &widened, form).tier(tier).run().unwrap();
        let halves = product(&halves, &x, form).tier(tier);
        let got = download(&halves.clone().to::<f32>().run().unwrap());
        assert_identical(
            format!("{form:?} {tier:?} {topology}"),
            &got,
            &download(&expected),
        );
        let rounded = download(&expected.to::<f16>().unwrap());
        assert_eq!(download(&halves.run().unwrap()), rounded);
    }
}

fn as_of_f32(device: &Device) {
    let mut rng = rng("every block of halves");
    for (high, wide) in SIDES
        .into_iter()
        .flat_map(|high| SIDES.map(|wide| (high, wide)))
    {
        let shape = [high + rng.usize(1..=high), 2 * wide + rng.usize(1..=wide)];
        let places = (0..6).filter(|_| rng.bool()).map(|i| (i / 3, i % 3));
        let topology = Topology::from_unsorted(shape, [high, wide], places).unwrap();
        let counts: &[usize] = if is_hurried(device) { &[9] } else { &[33, 7] };
        check(device, &topology, counts);
    }
    let heavy = (0..600).map(|column| (1, column)).chain([(0, 3), (2, 0)]);
    let topology = Topology::from_unsorted([43, 4797], [16, 8], heavy).unwrap();
    check(device, &topology, &[5, 40]);
}

fn sampled_as_of_f32(device: &Device) {
    for block in [[8, 8], [16, 128], [48, 32], [128, 64]] {
        let topology = Topology::random([150, 200], block, 2, 9).unwrap();
        for transposed in FORMS {
            let stored =
                |s: [usize; 2], transposed: bool| if transposed { [s[1], s[0]] } else { s };
            let inner = [5, 600, 0];
            let left = matrices(inner.map(|k| stored([150, k], transposed[0])));
            let right = matrices(inner.map(|k| stored([k, 200], transposed[1])));
            let values = |layout: &Layout, name: &str| {
                upload(device, &narrowed(&batch(layout, Values::Random, name)))
            };
            let (a, b) = (values(&left, "left"), values(&right, "right"));
            let (wide_a, wide_b) = (a.to::<f32>().unwrap(), b.to::<f32>().unwrap());
            let pair = wide_a.pair(&wide_b, Pairing::Elementwise).unwrap();
            let mut wide = pair.product();
            if transposed[0] {
                wide = wide.transpose_left();
            }
            if transposed[1] {
                wide = wide.transpose_right();
            }
            let expected = wide.sampled(&topology).unwrap();
            let rounded = download(&expected.values().to::<f16>().unwrap());
            let expected = download(expected.values());
            of_dense([&a, &b], transposed, |product| {
                let product = product.tier(Tier::Baseline);
                let got = product.clone().to::<f32>().sampled(&topology).unwrap();
                let what = format!("{transposed:?} {topology}");
                assert_identical(what, &download(got.values()), &expected);
                let got = product.sampled(&topology).unwrap();
                assert_eq!(download(got.values()), rounded);
            });
        }
    }
}

/// Sums beyond the range of f16, and values that round to infinity.
fn range(device: &Device) {
    let topology = Topology::new([8, 16], [8, 8], &[(0, 0), (0, 1)]).unwrap();
    // The two squares cancel.
    let values = (0..128).map(|at| match (at % 8, at / 64) {
        (0, 0) => f16::MAX,
        (0, _) => f16::MIN,
        _ => f16::ZERO,
    });
    let s = Bsr::new(&topology, values.collect()).unwrap();
    let s = device.upload_bsr(&s).unwrap();
    let large = upload(
        device,
        &Ragged::full(&matrices([[16, 1]]), f16::MAX).unwrap(),
    );
    let got = download(&s.product(&large).to::<f32>().run().unwrap());
    assert_eq!(got.values(), [0.0; 8]);
    let ones = upload(
        device,
        &Ragged::full(&matrices([[16, 1]]), f16::ONE).unwrap(),
    );
    let most = Bsr::new(&topology, vec![f16::MAX; 128]).unwrap();
    let most = device.upload_bsr(&most).unwrap();
    let got = download(&most.product(&ones).to::<f32>().run().unwrap());
    assert_eq!(got.values(), [16.0 * 65504.0; 8]);
    let got = download(&most.matmul(&ones).unwrap());
    assert_eq!(got.values(), [f16::INFINITY; 8]);
}

/// Operands that begin at either half of a word.
fn at_every_base(device: &Device) {
    let topology = Topology::random([20, 30], [8, 8], 2, 5).unwrap();
    let counts = [3, 1, 35];
    let s = narrowed_matrix(&matrix(&topology, 1, Values::Random));
    let aligned = device.upload_bsr(&s).unwrap();
    for base in 1..4 {
        let padded = |batch: &Ragged<f16>| {
            let shapes = [[1, base]]
                .into_iter()
                .chain((0..batch.len()).map(|i| [batch.row(i).len(), 1]));
            let values = [vec![f16::NAN; base], batch.values().to_vec()].concat();
            let whole = Ragged::from_parts(matrices(shapes), values).unwrap();
            upload(device, &whole).elements(1..1 + batch.len()).unwrap()
        };
        let there = BsrTensor::new(&topology, padded(s.values())).unwrap();
        for form in FORMS {
            let layout = dense(&topology, form, &counts);
            let x = narrowed(&batch(&layout, Values::Random, "dense"));
            let shapes = std::iter::once([1, base]).chain(layout.shapes().map(|shape| {
                let shape = shape.extents();
                [shape[0] as usize, shape[1] as usize]
            }));
            let values = [vec![f16::NAN; base], x.values().to_vec()].concat();
            let whole = Ragged::from_parts(matrices(shapes), values).unwrap();
            let view = upload(device, &whole)
                .elements(1..1 + counts.len())
                .unwrap();
            let expected = download(&multiply(&aligned, &upload(device, &x), form));
            let got = download(&multiply(&there, &view, form));
            assert_eq!(got, expected, "{base} {form:?}");
        }
    }
}

fn empty(device: &Device) {
    let none = Topology::new([20, 30], [8, 16], &[]).unwrap();
    let s = device
        .upload_bsr(&Bsr::new(&none, vec![f16::ONE; 0]).unwrap())
        .unwrap();
    let x = Ragged::full(&matrices([[30, 3], [30, 0]]), f16::NAN).unwrap();
    let got = download(&s.matmul(&upload(device, &x)).unwrap());
    assert_eq!(got.values(), [f16::ZERO; 60]);
    let one = Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap();
    let [a, b] = [[8, 0], [0, 8]]
        .map(|shape| upload(device, &Ragged::full(&matrices([shape]), f16::ONE).unwrap()));
    of_dense([&a, &b], [false; 2], |product| {
        let got = product.sampled(&one).unwrap();
        assert_eq!(download(got.values()).values(), [f16::ZERO; 64]);
    });
}

fn errors(device: &Device) {
    let topology = Topology::new([8, 16], [8, 8], &[(0, 1)]).unwrap();
    let s = Bsr::new(&topology, vec![f16::ONE; 64]).unwrap();
    let s = device.upload_bsr(&s).unwrap();
    let x = upload(
        device,
        &Ragged::full(&matrices([[8, 2]]), f16::ONE).unwrap(),
    );
    let error = s.product(&x).to::<f32>().run().unwrap_err();
    assert_eq!((error.kind(), error.element()), ("inner_extents", Some(0)));
    let error = x.product(&s.transpose()).to::<f32>().run().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("inner_extents", "matmul"));
    of_dense([&x, &x], [false, true], |product| {
        let error = product.clone().to::<f32>().sampled(&topology).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("shape", "sampled"));
        let error = product
            .scale(2.0)
            .to::<f32>()
            .sampled(&topology)
            .unwrap_err();
        assert_eq!(error.kind(), "argument");
    });
}
