//! Block-sparse matrices: construction and products.

mod any;
mod epilogue;
mod extents;
mod half;
mod host;
mod matrix;
mod refusals;

use libtest_mimic::Trial;
use vsla::{
    Bsr, BsrTensor, Device, Layout, Pairing, Ragged, Shape, Tensor, Topology, product::Product,
    scalar::Float,
};

use crate::support::bench::{Bench, DeviceTest, is_hurried, tiers};
use crate::support::compare::{assert_identical, assert_within};
use crate::support::corpus::rng;
use crate::support::number::{Number, widened};
use crate::support::operation::{download, pair_list, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("every_block", every_block),
        ("whole_quads", whole_quads),
        ("heavy_rows", heavy_rows),
        ("long_sums", long_sums),
        ("narrow", narrow),
        ("sets", sets),
        ("empty", empty),
        ("without_extents", extents::without_extents),
        ("views", views),
        ("alone", alone),
        ("not_a_number_stays", not_a_number_stays),
        ("beyond_the_edge", beyond_the_edge),
        ("pairings", pairings),
        ("any", any::any_topology),
        ("errors", refusals::on_device),
    ];
    let mut trials = bench.all_on_each_device(tests);
    trials.extend(bench.all_on_each_device(half::TESTS));
    trials.extend(bench.all_on_each_device(epilogue::TESTS));
    trials.extend(matrix::tests(bench));
    trials.extend(host::tests(bench));
    trials
}

const SIDES: [usize; 7] = [8, 16, 32, 48, 64, 96, 128];

/// The depth that the documentation promises.
fn depth(terms: usize) -> f64 {
    (terms.min(512) + terms.div_ceil(480)) as f64
}

fn matrices(shapes: impl IntoIterator<Item = [usize; 2]>) -> Layout {
    let shapes = shapes.into_iter().map(|s| Shape::new(&s).unwrap());
    Layout::from_shapes(2, shapes).unwrap()
}

/// How values are generated.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Values {
    Integers,
    Random,
}

fn batch(layout: &Layout, values: Values, name: &str) -> Ragged<f32> {
    let mut rng = rng(name);
    match values {
        Values::Integers => Ragged::from_fn(layout, |_, _| f32::integer(&mut rng, 3)).unwrap(),
        Values::Random => Ragged::random(layout, rng.u64(..)).unwrap(),
    }
}

fn matrix(topology: &Topology, sets: usize, values: Values) -> Bsr<f32> {
    let layout = topology.values_layout(sets).unwrap();
    let values = batch(&layout, values, "blocks").into_parts().1;
    Bsr::from_sets(topology, sets, values).unwrap()
}

/// Whether the stored matrix is transposed, and whether the dense factor is on the left.
const FORMS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

fn product<'a, T: Float>(s: &'a BsrTensor<T>, x: &'a Tensor<T>, form: [bool; 2]) -> Product<'a, T> {
    match form {
        [false, false] => s.product(x),
        [true, false] => s.product(x).transpose_left(),
        [false, true] => x.product(s),
        [true, true] => x.product(s).transpose_right(),
    }
}

fn multiply<T: Float>(s: &BsrTensor<T>, x: &Tensor<T>, form: [bool; 2]) -> Tensor<T> {
    product(s, x, form).run().unwrap()
}

/// The dense matrices of a product in one form, with the given numbers of columns (or rows).
fn dense(topology: &Topology, [transposed, left]: [bool; 2], counts: &[usize]) -> Layout {
    let inner = topology.shape()[usize::from(transposed == left)];
    matrices(
        counts
            .iter()
            .map(|&n| if left { [n, inner] } else { [inner, n] }),
    )
}

/// Every form of the product against that of the dense matrices.
fn check(device: &Device, topology: &Topology, sets: usize, counts: &[usize], values: Values) {
    let s = matrix(topology, sets, values);
    let full = widened(&s.to_dense().unwrap());
    let there = device.upload_bsr(&s).unwrap();
    for form in FORMS {
        let [transposed, left] = form;
        let x = batch(&dense(topology, form, counts), values, "dense");
        let pairs: Vec<_> = (0..counts.len())
            .map(|i| (if sets == 1 { 0 } else { i }, i))
            .collect();
        let expected = if left {
            let pairs: Vec<_> = pairs.iter().map(|&(i, j)| (j, i)).collect();
            reference::matmul(&widened(&x), &full, &pairs, [false, transposed])
        } else {
            reference::matmul(&full, &widened(&x), &pairs, [transposed, false])
        };
        let bounds = match values {
            Values::Integers => vec![0.0; expected.values.values().len()],
            Values::Random => expected.bounds(depth),
        };
        let x = upload(device, &x);
        for tier in tiers(device) {
            let got = product(&there, &x, form).tier(tier).run().unwrap();
            let got = download(&got);
            let what = format!("{form:?} {values:?} {tier:?} {topology}");
            assert_within(&what, &got, &expected.values, &bounds);
        }
    }
}

/// The stored blocks of products of these inner extents against the dense products.
fn check_sampled(device: &Device, topology: &Topology, inner: &[usize], values: Values) {
    let [m, n] = topology.shape();
    for transposed in FORMS {
        let stored = |s: [usize; 2], transposed: bool| if transposed { [s[1], s[0]] } else { s };
        let left = matrices(inner.iter().map(|&k| stored([m, k], transposed[0])));
        let right = matrices(inner.iter().map(|&k| stored([k, n], transposed[1])));
        let (a, b) = (batch(&left, values, "left"), batch(&right, values, "right"));
        let (x, y) = (upload(device, &a), upload(device, &b));
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let mut product = pair.product();
        if transposed[0] {
            product = product.transpose_left();
        }
        if transposed[1] {
            product = product.transpose_right();
        }
        let got = product
            .sampled(topology)
            .unwrap()
            .download_blocking()
            .unwrap();
        let pairs = reference::elementwise(inner.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, transposed);
        let bounds = match values {
            Values::Integers => vec![0.0; expected.values.values().len()],
            Values::Random => expected.bounds(depth),
        };
        let layout = expected.values.layout();
        let bounds = Ragged::from_parts(layout.clone(), bounds).unwrap();
        for (i, &k) in inner.iter().enumerate() {
            let sample = |dense: &[f64]| {
                let values = Bsr::sample(topology, dense).unwrap();
                values.values().clone()
            };
            let layout = topology.values_layout(1).unwrap();
            let got = Ragged::from_parts(layout, got.set(i).to_vec()).unwrap();
            assert_within(
                format!("{transposed:?} {values:?}, inner extent {k}, {topology}"),
                &got,
                &sample(expected.values.row(i)),
                sample(bounds.row(i)).values(),
            );
        }
    }
}

/// Blocks of every shape, in matrices whose sides are not multiples of them.
fn every_block(device: &Device) {
    let mut rng = rng("every block");
    for (i, high) in SIDES.into_iter().enumerate() {
        // A software GPU compiles a kernel for each pair, so it gets every second one.
        let (first, step) = if is_hurried(device) {
            (i % 2, 2)
        } else {
            (0, 1)
        };
        for wide in SIDES.into_iter().skip(first).step_by(step) {
            let shape = [
                2 * high + rng.usize(1..=high),
                2 * wide + rng.usize(1..=wide),
            ];
            let places = (0..9).filter(|_| rng.bool()).map(|i| (i / 3, i % 3));
            let topology = Topology::from_unsorted(shape, [high, wide], places).unwrap();
            check(device, &topology, 1, &[1, 33, 7], Values::Integers);
            check_sampled(device, &topology, &[9, 1], Values::Integers);
        }
    }
}

/// Operands and results whose rows are whole quads, in full and partial tiles, with sums of several parts and the
/// matrix edge in the last block.
fn whole_quads(device: &Device) {
    for block in [
        [8, 64],
        [16, 8],
        [32, 48],
        [48, 16],
        [64, 64],
        [96, 32],
        [128, 128],
    ] {
        let [high, wide] = block;
        let columns = 640 / wide;
        let shape = [2 * high, columns * wide - 4];
        let topology = Topology::random(shape, block, columns - 1, 11).unwrap();
        let columns: &[usize] = if is_hurried(device) {
            &[36, 132]
        } else {
            &[36, 260]
        };
        check(device, &topology, 1, columns, Values::Integers);
        let transposed = Topology::random([shape[1], shape[0]], [wide, high], 2, 12).unwrap();
        let several = !is_hurried(device) || high * wide < 1024;
        let inner: &[usize] = if several { &[20, 516] } else { &[20] };
        check_sampled(device, &transposed, inner, Values::Integers);
    }
}

/// Rows that are split next to rows that are not, with the matrix edge inside the last block.
fn heavy_rows(device: &Device) {
    for (block, columns) in [
        ([16, 8], 600),
        ([8, 48], 90),
        ([48, 128], 20),
        ([64, 64], 34),
    ] {
        let shape = [4 * block[0] - 5, columns * block[1] - 3];
        let heavy = (0..2 * columns as u32).map(|i| (1 + i % 2 * 2, i / 2));
        let others = [(0, 3), (2, 0), (2, columns as u32 - 1)];
        let topology = Topology::from_unsorted(shape, block, heavy.chain(others)).unwrap();
        check(device, &topology, 1, &[5, 40], Values::Integers);
        if !is_hurried(device) {
            check(device, &topology, 1, &[5, 40], Values::Random);
        }
        let [m, n] = shape;
        let transposed: Vec<_> = topology
            .blocks()
            .map(|(row, column)| (column, row))
            .collect();
        let transposed = Topology::from_unsorted([n, m], [block[1], block[0]], transposed).unwrap();
        check(device, &transposed, 2, &[3, 130], Values::Integers);
        check_sampled(device, &transposed, &[3], Values::Integers);
    }
}

/// Several partial sums of 512 products, of stored blocks and along the inner extent.
fn long_sums(device: &Device) {
    let topology = Topology::random([70, 3000], [16, 16], 40, 3).unwrap();
    check(device, &topology, 1, &[9, 50], Values::Random);
    let topology = Topology::random([70, 60], [16, 32], 1, 4).unwrap();
    check_sampled(device, &topology, &[512, 513, 1500], Values::Random);
    check_sampled(device, &topology, &[1025], Values::Integers);
}

/// Around the edges of tiles.
fn narrow(device: &Device) {
    let topology = Topology::sliding_window([150, 100], [16, 8], 20).unwrap();
    let counts = [1, 2, 31, 32, 33, 127, 128, 129, 257];
    check(device, &topology, 1, &counts, Values::Integers);
    check_sampled(device, &topology, &[1, 7, 8, 9, 17], Values::Random);
    let topology = Topology::causal([130, 130], [8, 16]).unwrap();
    check_sampled(device, &topology, &[5], Values::Integers);
}

/// Several matrices with one topology.
fn sets(device: &Device) {
    let topology = Topology::strided([50, 70], [16, 8], 3).unwrap();
    check(device, &topology, 4, &[3, 40, 0, 1], Values::Integers);
    check(device, &topology, 4, &[3, 40, 0, 1], Values::Random);
    let s = matrix(&topology, 4, Values::Random);
    let there = device.upload_bsr(&s).unwrap();
    assert_eq!((there.len(), there.is_empty()), (4, false));
    assert_eq!(there.topology(), &topology);
    assert_eq!(there.download_blocking().unwrap(), s);
    assert_eq!(pollster::block_on(there.download()).unwrap(), s);
}

/// A row without blocks gives zeros; without rows or columns, the result is empty.
fn empty(device: &Device) {
    for shape in [[20, 30], [0, 30], [20, 0], [0, 0]] {
        let none = Topology::new(shape, [8, 16], &[]).unwrap();
        check(device, &none, 1, &[0, 1, 40], Values::Integers);
        check(device, &none, 1, &[], Values::Integers);
        check_sampled(device, &none, &[0, 5], Values::Integers);
    }
    let some = Topology::new([20, 30], [8, 16], &[(1, 1)]).unwrap();
    check(device, &some, 1, &[0, 1, 40], Values::Integers);
    check(device, &some, 0, &[], Values::Integers);
    check_sampled(device, &some, &[0, 3, 0], Values::Integers);
    check_sampled(device, &some, &[], Values::Integers);
}

/// Operands at any offset in their buffers.
fn views(device: &Device) {
    let topology = Topology::random([40, 50], [8, 8], 3, 5).unwrap();
    let counts = [3, 1, 35, 2, 7];
    let s = device
        .upload_bsr(&matrix(&topology, 5, Values::Random))
        .unwrap();
    let values = s.values().elements(1..4).unwrap();
    let part = BsrTensor::new(&topology, values).unwrap();
    for (form, tier) in FORMS
        .into_iter()
        .flat_map(|form| tiers(device).map(move |tier| (form, tier)))
    {
        let x = upload(
            device,
            &batch(&dense(&topology, form, &counts), Values::Random, "x"),
        );
        let run = |s, x| download(&product(s, x, form).tier(tier).run().unwrap());
        let (whole, got) = (run(&s, &x), run(&part, &x.elements(1..4).unwrap()));
        let rows = (1..4).flat_map(|i| whole.row(i).to_vec()).collect();
        let layout = whole.layout().range(1..4).unwrap();
        let expected = Ragged::from_parts(layout, rows).unwrap();
        assert_identical("views", &got, &expected);
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A product's bits do not depend on its neighbours.
fn alone(device: &Device) {
    let places = (0..300).map(|column| (1, column)).chain([(0, 7), (3, 2)]);
    let topology = Topology::from_unsorted([32, 2400], [8, 8], places).unwrap();
    let counts = [3, 40, 1, 129];
    let s = device
        .upload_bsr(&matrix(&topology, 1, Values::Random))
        .unwrap();
    for form in FORMS {
        let x = upload(
            device,
            &batch(&dense(&topology, form, &counts), Values::Random, "x"),
        );
        let whole = download(&multiply(&s, &x, form));
        for i in 0..counts.len() {
            let got = download(&multiply(&s, &x.elements(i..i + 1).unwrap(), form));
            assert_eq!(
                bits(got.row(0)),
                bits(whole.row(i)),
                "{form:?}, element {i}"
            );
        }
    }
    let inner = [3, 700, 40].map(|k| [32, k]);
    let a = upload(device, &batch(&matrices(inner), Values::Random, "a"));
    let b = upload(
        device,
        &batch(
            &matrices(inner.map(|[_, k]| [k, 2400])),
            Values::Random,
            "b",
        ),
    );
    let sampled = |a: &Tensor<f32>, b: &Tensor<f32>| {
        let pair = a.pair(b, Pairing::Elementwise).unwrap();
        let sampled = pair.product().sampled(&topology).unwrap();
        sampled.download_blocking().unwrap()
    };
    let whole = sampled(&a, &b);
    for i in 0..3 {
        let one = |t: &Tensor<f32>| t.elements(i..i + 1).unwrap();
        let got = sampled(&one(&a), &one(&b));
        assert_eq!(bits(got.set(0)), bits(whole.set(i)), "element {i}");
    }
}

/// A NaN appears only in rows with a block at its position, and in its column.
fn not_a_number_stays(device: &Device) {
    let topology = Topology::new([40, 40], [8, 8], &[(0, 0), (1, 1), (3, 1), (3, 2)]).unwrap();
    let s = Bsr::new(&topology, vec![1.0f32; topology.len() * 64]).unwrap();
    let s = device.upload_bsr(&s).unwrap();
    let mut x = Ragged::full(&matrices([[40, 40], [40, 3]]), 1.0f32).unwrap();
    x.values_mut()[10 * 40 + 7] = f32::NAN;
    let got = download(&s.matmul(&upload(device, &x)).unwrap());
    for (at, &value) in got.row(0).iter().enumerate() {
        let (row, column) = (at / 40 / 8, at % 40);
        match (row, column == 7) {
            (1 | 3, true) => assert!(value.is_nan(), "{row} {column}"),
            (0 | 1, _) => assert_eq!(value, 8.0),
            (3, _) => assert_eq!(value, 16.0),
            _ => assert_eq!(value, 0.0),
        }
    }
    assert!(got.row(1).iter().all(|value| value.is_finite()));
}

/// Values of blocks beyond the matrix are never read, and are written as zeros.
fn beyond_the_edge(device: &Device) {
    let topology = Topology::new([11, 13], [8, 16], &[(0, 0), (1, 0)]).unwrap();
    let s = matrix(&topology, 1, Values::Integers);
    let mut spoilt = s.values().values().to_vec();
    for (at, value) in spoilt.iter_mut().enumerate() {
        if at % 16 >= 13 || at / 16 >= 11 {
            *value = f32::NAN;
        }
    }
    let spoilt = Bsr::new(&topology, spoilt).unwrap();
    assert_eq!(spoilt.to_dense().unwrap(), s.to_dense().unwrap());
    let [s, spoilt] = [s, spoilt].map(|s| device.upload_bsr(&s).unwrap());
    for form in FORMS {
        let x = batch(&dense(&topology, form, &[3, 40]), Values::Integers, "x");
        let x = upload(device, &x);
        for tier in tiers(device) {
            let [got, expected] = [&spoilt, &s].map(|s| {
                let product = product(s, &x, form).tier(tier).run().unwrap();
                download(&product)
            });
            assert_identical("edge", &got, &expected);
        }
    }
    let infinite = |shape| {
        upload(
            device,
            &Ragged::full(&matrices([shape]), f32::INFINITY).unwrap(),
        )
    };
    let (a, b) = (infinite([11, 2]), infinite([2, 13]));
    let pair = a.pair(&b, Pairing::Elementwise).unwrap();
    let got = pair
        .product()
        .sampled(&topology)
        .unwrap()
        .download_blocking()
        .unwrap();
    for (at, &value) in got.set(0).iter().enumerate() {
        let inside = at % 16 < 13 && at / 16 < 11;
        assert_eq!(value, if inside { f32::INFINITY } else { 0.0 }, "{at}");
    }
}

/// One left factor with several right ones.
fn pairings(device: &Device) {
    let topology = Topology::random([20, 30], [8, 8], 2, 1).unwrap();
    let a = batch(&matrices([[20, 5], [20, 5]]), Values::Integers, "a");
    let b = batch(
        &matrices([[5, 30], [5, 30], [5, 30]]),
        Values::Integers,
        "b",
    );
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(1, 2), (0, 0), (1, 2)];
    let one = y.elements(0..1).unwrap();
    for (y, pairing) in [
        (&one, Pairing::AllToOne),
        (&y, Pairing::AllToAll),
        (&y, Pairing::List(&pair_list(list))),
    ] {
        let pairs = reference::pairs(pairing, 2, y.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]);
        let product = x.pair(y, pairing).unwrap();
        let got = product.product().sampled(&topology).unwrap();
        let got = got.download_blocking().unwrap();
        assert_eq!(got.len(), pairs.len());
        for i in 0..pairs.len() {
            let expected = Bsr::sample(&topology, expected.values.row(i)).unwrap();
            let got: Vec<f64> = got.set(i).iter().map(|&x| x.into()).collect();
            assert_eq!(got, expected.set(0), "{pairing:?} {i}");
        }
    }
}
