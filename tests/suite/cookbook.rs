//! The programs of `docs/book/src/cookbook.md` on each device, against results of NumPy. Each program is a function
//! from tensors to tensors: nothing between its operands and its results reads values.
//!
//! `golden.py` made `golden.json`, from the same integers as [`tensor`] makes its values of.

mod images;
mod polynomials;
mod sensors;
mod sparse_layer;
mod transformer;

use libtest_mimic::Trial;
use serde_json::Value;
use vsla::{Bsr, Device, Ragged, Shape, Tensor, Topology, scalar::Scalar};

use crate::support::bench::{Bench, assert_within};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("polynomials", newton),
        ("sensors", peaks),
        ("transformer", encode),
        ("sparse_layer", train),
        ("images", features),
    ]);
    trials.push(bench.host("page", page));
    trials
}

/// The page shows the programs as they run here.
fn page() {
    let page = include_str!("../../docs/book/src/cookbook.md");
    for (name, source) in [
        ("polynomials", include_str!("cookbook/polynomials.rs")),
        ("sensors", include_str!("cookbook/sensors.rs")),
        ("transformer", include_str!("cookbook/transformer.rs")),
        ("sparse_layer", include_str!("cookbook/sparse_layer.rs")),
        ("images", include_str!("cookbook/images.rs")),
    ] {
        assert!(
            page.contains(source),
            "docs/book/src/cookbook.md does not contain {name}.rs"
        );
    }
}

/// Elements of these shapes, of multiples of 1/64 from −1 to 1 that depend on the seed.
fn batch(seed: u32, shapes: &[&[usize]]) -> Ragged<f32> {
    let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
    let shapes: Vec<Shape> = shapes.collect();
    let count: usize = shapes.iter().map(Shape::size).sum();
    let value = |i: u32| {
        let mixed = (i + 1).wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503);
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(2_246_822_519);
        ((mixed >> 13) % 129) as f32 / 64.0 - 1.0
    };
    let values = (0..count as u32).map(value).collect();
    Ragged::from_shapes(values, shapes[0].rank(), shapes).unwrap()
}

fn tensor(device: &Device, seed: u32, shapes: &[&[usize]]) -> Tensor<f32> {
    upload(device, &batch(seed, shapes))
}

/// Compares values with NumPy's: `tolerance` is relative to the largest value of the result.
fn check<T: Scalar>(name: &str, got: &Tensor<T>, tolerance: f64, value: impl Fn(&T) -> f64) {
    let golden: Value = serde_json::from_str(include_str!("cookbook/golden.json")).unwrap();
    let golden = golden[name]
        .as_array()
        .unwrap_or_else(|| panic!("no {name}"));
    let got = download(got);
    assert_eq!(got.len(), golden.len(), "{name}");
    let expected = |row: &Value| -> Vec<f64> {
        row.as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    };
    let golden: Vec<Vec<f64>> = golden.iter().map(expected).collect();
    let largest = golden
        .iter()
        .flatten()
        .fold(0.0f64, |most, v| most.max(v.abs()));
    assert!(largest > 0.0, "{name}");
    for (i, row) in golden.iter().enumerate() {
        assert_eq!(got.row(i).len(), row.len(), "{name}: element {i}");
        for (k, (got, expected)) in got.row(i).iter().map(&value).zip(row).enumerate() {
            let off = (got - expected).abs();
            assert!(
                off <= tolerance * largest,
                "{name}: element {i}, value {k}: {got} for {expected}"
            );
        }
    }
}

fn newton(device: &Device) {
    let rows = |rows: &[&[f32]]| {
        let rows: Vec<Vec<f32>> = rows.iter().map(|row| row.to_vec()).collect();
        upload(device, &Ragged::from_rows(rows).unwrap())
    };
    let p = rows(&[&[-6.0, 11.0, -6.0, 1.0], &[-2.0, 0.0, 1.0]]);
    let q = rows(&[&[4.5, -1.0], &[1.0]]);
    let guesses = rows(&[&[0.8, 2.1, 3.2, 4.4], &[1.0, -1.5]]);
    let (roots, values) = polynomials::roots((&p, &q), &guesses).unwrap();
    check("polynomials", &roots, 2e-6, |&t| f64::from(t));
    let largest = download(&values)
        .values()
        .iter()
        .fold(0.0f32, |most, v| most.max(v.abs()));
    assert!(largest < 1e-4, "{largest}");
    assert_within(device);
}

fn peaks(device: &Device) {
    let recordings = tensor(device, 1, &[&[40], &[7], &[129], &[64], &[300]]);
    let filter = tensor(device, 2, &[&[9]]);
    let (bins, spectrum) = sensors::peaks(&recordings, &filter).unwrap();
    check("sensors.bins", &bins, 0.0, |&bin| f64::from(bin));
    check("sensors.spectrum", &spectrum, 1e-6, |&v| f64::from(v));
    assert_within(device);
}

fn encode(device: &Device) {
    let (width, heads, inner) = (24, 3, 40);
    let weights = |seed, shape: [usize; 2]| tensor(device, seed, &[&shape]);
    let each_head = |seed| tensor(device, seed, &[[width, width / heads].as_slice(); 3]);
    let vector = |seed, length| tensor(device, seed, &[&[length]]);
    let block = transformer::Block {
        queries: each_head(11),
        keys: each_head(12),
        values: each_head(13),
        output: weights(14, [width, width]),
        up: weights(15, [width, inner]),
        up_bias: vector(16, inner),
        down: weights(17, [inner, width]),
        down_bias: vector(18, width),
        norms: [
            [vector(19, width), vector(20, width)],
            [vector(21, width), vector(22, width)],
        ],
    };
    let sentences = tensor(
        device,
        10,
        &[&[5, width], &[1, width], &[0, width], &[17, width]],
    );
    let encoded = transformer::encode(&sentences, &block).unwrap();
    check("transformer", &encoded, 2e-6, |&v| f64::from(v));
    assert_within(device);
}

fn train(device: &Device) {
    let blocks = [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)];
    let topology = Topology::new([24, 24], [8, 8], &blocks).unwrap();
    let values = batch(31, &[&[blocks.len() * 64]]).values().to_vec();
    let mut weights = device
        .upload_bsr(&Bsr::new(&topology, values).unwrap())
        .unwrap();
    let mut bias = tensor(device, 32, &[&[24]]);
    let x = tensor(device, 33, &[&[30, 24]]);
    let target = tensor(device, 34, &[&[30, 24]]);
    for step in 0..3 {
        let loss;
        (weights, bias, loss) = sparse_layer::step((&weights, &bias), (&x, &target), 0.5).unwrap();
        check(&format!("sparse_layer.loss{step}"), &loss, 1e-5, |&v| {
            f64::from(v)
        });
    }
    check("sparse_layer.weights", weights.values(), 1e-5, |&v| {
        f64::from(v)
    });
    check("sparse_layer.bias", &bias, 1e-5, |&v| f64::from(v));
    assert_within(device);
}

fn features(device: &Device) {
    let images = tensor(device, 41, &[&[3, 12, 9], &[3, 5, 6], &[3, 20, 31]]);
    let filters = tensor(
        device,
        42,
        &[&[3, 3, 3], &[3, 3, 3], &[3, 2, 5], &[3, 1, 1]],
    );
    let values = images::features(&images, &filters).unwrap();
    assert_eq!(values.layout().shape(0), Shape::new(&[1, 4]).unwrap());
    check("images", &values, 1e-6, |&v| f64::from(v));
    assert_within(device);
}
