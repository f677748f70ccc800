//! Matrix products.

mod any;
mod epilogue;
mod extents;
mod half;
mod matrix;
mod native;
#[cfg(feature = "gpu")]
mod plans;

use libtest_mimic::Trial;
use vsla::{
    Device, Error, Layout, Pairing, Ragged, Shape, Tensor,
    product::{Product, Tier},
    scalar::Factor,
};

use crate::support::bench::{Bench, DeviceTest, is_hurried};
use crate::support::compare::{assert_exact, assert_identical, assert_within};
use crate::support::corpus::{self, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{download, pair_list, pick, upload};
use crate::support::reference;
use epilogue::{bias_for_each_product, epilogues, gelu};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("edges", edges),
        ("integers", integers),
        ("larger_tiles", larger_tiles),
        ("deep_sums", deep_sums),
        ("random", random),
        ("goldens", goldens),
        ("empty", empty),
        ("without_extents", extents::without_extents),
        ("pairings", pairings),
        ("views", views),
        ("alone", alone),
        ("ambient", ambient),
        ("corpus", corpus),
        ("not_a_number_stays", not_a_number_stays),
        ("epilogues", epilogues),
        ("gelu", gelu),
        ("bias_for_each_product", bias_for_each_product),
        ("integers_wrap", integers_wrap),
        (
            "one_large_product_among_small_ones",
            one_large_product_among_small_ones,
        ),
        ("any", any::floats),
        ("any_of_halves", any::halves),
        ("errors", errors),
    ];
    let mut trials = bench.all_on_each_device(tests);
    trials.extend(half::tests(bench));
    trials.extend(matrix::tests(bench));
    trials.extend(native::tests(bench));
    trials.push(bench.host("cpu::one_worker_or_many", one_worker_or_many));
    #[cfg(feature = "gpu")]
    trials.extend(plans::tests(bench));
    trials
}

/// The depth that the documentation promises.
fn depth(terms: usize) -> f64 {
    (terms.min(512) + terms.div_ceil(512)) as f64
}

fn matrices(shapes: impl IntoIterator<Item = [usize; 2]>) -> Layout {
    let shapes = shapes.into_iter().map(|s| Shape::new(&s).unwrap());
    Layout::from_shapes(2, shapes).unwrap()
}

/// Factors for extents (m, k, n), stored as the product needs them.
fn factors(extents: &[[usize; 3]], transposed: [bool; 2]) -> (Layout, Layout) {
    let stored = |s: [usize; 2], transposed: bool| if transposed { [s[1], s[0]] } else { s };
    let left = extents
        .iter()
        .map(|&[m, k, _]| stored([m, k], transposed[0]));
    let right = extents
        .iter()
        .map(|&[_, k, n]| stored([k, n], transposed[1]));
    (matrices(left), matrices(right))
}

fn small_integers<T: Number>(layout: &Layout, name: &str) -> Ragged<T> {
    let mut rng = rng(name);
    Ragged::from_fn(layout, |_, _| T::integer(&mut rng, 3)).unwrap()
}

fn form<'a, T: Factor>(mut product: Product<'a, T>, transposed: [bool; 2]) -> Product<'a, T> {
    if transposed[0] {
        product = product.transpose_left();
    }
    if transposed[1] {
        product = product.transpose_right();
    }
    product
}

const TRANSPOSES: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

/// Compares exact results with the definition.
fn check<T: Number>(device: &Device, extents: &[[usize; 3]], transposed: [bool; 2]) {
    check_by::<T>(device, extents, transposed, Tier::Baseline);
}

fn check_by<T: Number>(device: &Device, extents: &[[usize; 3]], transposed: [bool; 2], tier: Tier) {
    let (left, right) = factors(extents, transposed);
    let (a, b) = (
        small_integers::<T>(&left, "left integers"),
        small_integers::<T>(&right, "right integers"),
    );
    let pairs = reference::elementwise(a.len());
    let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, transposed);
    let got = multiply(device, &a, &b, transposed, tier);
    let none = vec![0.0; expected.values.values().len()];
    assert_within(
        "integers",
        &got,
        &expected.values.cast(T::compared).unwrap(),
        &none,
    );
}

fn multiply<T: Number>(
    device: &Device,
    a: &Ragged<T>,
    b: &Ragged<T>,
    transposed: [bool; 2],
    tier: Tier,
) -> Ragged<T> {
    let (x, y) = (upload(device, a), upload(device, b));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    let product = form(pair.product(), transposed).tier(tier);
    download(&product.run().unwrap())
}

/// Compares results with the definition, within the bound.
fn check_random(device: &Device, extents: &[[usize; 3]], transposed: [bool; 2]) {
    check_random_by(device, extents, transposed, Tier::Baseline, depth);
}

fn check_random_by(
    device: &Device,
    extents: &[[usize; 3]],
    transposed: [bool; 2],
    tier: Tier,
    depth: fn(usize) -> f64,
) {
    let (left, right) = factors(extents, transposed);
    let (a, b) = (
        Ragged::random(&left, 5).unwrap(),
        Ragged::random(&right, 6).unwrap(),
    );
    let pairs = reference::elementwise(a.len());
    let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, transposed);
    let got = multiply(device, &a, &b, transposed, tier);
    assert_within("random", &got, &expected.values, &expected.bounds(depth));
}

/// Extents around the sides of every tile and the depth of every stage, in one batch.
fn edges(device: &Device) {
    let sides = [1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 128, 130];
    let mut rng = rng("edges of matrices");
    let extents: Vec<[usize; 3]> = (0..60)
        .map(|i| [sides[i % 12], sides[rng.usize(0..12)], sides[i * 5 % 12]])
        .chain([
            [1, 1, 1],
            [1, 1, 300],
            [300, 1, 1],
            [1, 300, 1],
            [129, 129, 127],
        ])
        .collect();
    for transposed in TRANSPOSES {
        check::<f32>(device, &extents, transposed);
    }
}

fn integers(device: &Device) {
    let extents = [[33, 17, 65], [1, 5, 1], [0, 3, 2], [64, 64, 64]];
    for transposed in TRANSPOSES {
        check::<i32>(device, &extents, transposed);
        check::<u32>(device, &extents, transposed);
    }
}

/// Enough tiles of 64 and of 128, with partial tiles at the edges.
fn larger_tiles(device: &Device) {
    let extents = [[721, 17, 725], [1409, 5, 1540], [1538, 3, 1407], [3, 4, 5]];
    let step = if is_hurried(device) { 2 } else { 1 };
    for transposed in TRANSPOSES.into_iter().step_by(step) {
        check::<f32>(device, &extents, transposed);
    }
    check::<i32>(device, &extents[..1], [false, false]);
    // The largest tile needs whole quads. All forms, with a partial stage.
    for transposed in TRANSPOSES.into_iter().rev().step_by(step) {
        check::<f32>(device, &[[1412, 20, 1544]], transposed);
    }
    check::<u32>(device, &[[1409, 8, 1540]], [false, false]);
    // Sums of several blocks, in full tiles of whole quads and in other tiles.
    check::<f32>(device, &[[1412, 516, 1544]], [false, false]);
}

/// Sums of several blocks.
fn deep_sums(device: &Device) {
    let extents = [
        [5, 512, 7],
        [6, 513, 33],
        [34, 1024, 3],
        [2, 5000, 2],
        [40, 1500, 40],
    ];
    for transposed in TRANSPOSES {
        check::<f32>(device, &extents, transposed);
        check_random(device, &extents, transposed);
    }
}

fn random(device: &Device) {
    let mut rng = rng("extents of matrices");
    let extents: Vec<[usize; 3]> = (0..200)
        .map(|_| [0, 0, 0].map(|_| rng.usize(0..=40)))
        .collect();
    for transposed in TRANSPOSES {
        check_random(device, &extents, transposed);
    }
    check_random(device, &[[725, 40, 730]], [false, true]);
}

fn goldens(device: &Device) {
    let a = Ragged::from_parts(
        matrices([[2, 2], [1, 3]]),
        vec![1.0f32, 2., 3., 4., 1., 0., -1.],
    );
    let b = Ragged::from_parts(
        matrices([[2, 1], [3, 2]]),
        vec![5.0f32, 6., 1., 2., 3., 4., 5., 6.],
    );
    let (a, b) = (a.unwrap(), b.unwrap());
    let got = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    assert_eq!(got.to_vecs().unwrap(), [vec![17.0, 39.0], vec![-4.0, -4.0]]);
    assert_eq!(got.shape(1), Shape::new(&[1, 2]).unwrap());
}

/// With an inner extent of 0 the result is zero; without rows or columns it is empty.
fn empty(device: &Device) {
    for transposed in TRANSPOSES {
        let extents = [[3, 0, 2], [0, 4, 2], [3, 4, 0], [0, 0, 0], [40, 0, 70]];
        check::<f32>(device, &extents, transposed);
        check::<f32>(device, &[], transposed);
    }
}

fn pairings(device: &Device) {
    let a = small_integers::<f32>(&matrices([[3, 5], [40, 5], [0, 5]]), "weights");
    let b = small_integers::<f32>(&matrices([[5, 2], [5, 33]]), "inputs");
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(1, 1), (0, 1), (2, 0), (1, 1), (0, 0)];
    for pairing in [Pairing::AllToAll, Pairing::List(&pair_list(list))] {
        let pairs = reference::pairs(pairing, a.len(), b.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]);
        let got = download(&x.pair(&y, pairing).unwrap().matmul().unwrap());
        assert_eq!(got.cast(f64::from).unwrap(), expected.values, "{pairing:?}");
    }
    let [(one, first), (other, last)] = [(&x, &a), (&y, &b)].map(|(x, a)| {
        let element = x.elements(1..2).unwrap();
        (element, pick(a, &[1]))
    });
    for (x, y, a, b, pairing) in [
        (&one, &y, &first, &b, Pairing::OneToAll),
        (&x, &other, &a, &last, Pairing::AllToOne),
    ] {
        let pairs = reference::pairs(pairing, a.len(), b.len());
        let expected = reference::matmul(&widened(a), &widened(b), &pairs, [false; 2]);
        let got = download(&x.pair(y, pairing).unwrap().matmul().unwrap());
        assert_eq!(got.cast(f64::from).unwrap(), expected.values, "{pairing:?}");
    }
}

/// Operands at any offset in their buffers.
fn views(device: &Device) {
    let extents: Vec<_> = (0..12).map(|i| [i + 1, 2 * i + 1, 3 * i % 7 + 1]).collect();
    let (left, right) = factors(&extents, [false; 2]);
    let (a, b) = (
        Ragged::random(&left, 1).unwrap(),
        Ragged::random(&right, 2).unwrap(),
    );
    let (x, y) = (upload(device, &a), upload(device, &b));
    let whole = download(&x.matmul(&y).unwrap());
    let part = |t: &Tensor<f32>| t.elements(5..11).unwrap();
    let got = download(&part(&x).matmul(&part(&y)).unwrap());
    let expected = Ragged::from_parts(
        whole.layout().range(5..11).unwrap(),
        (5..11).flat_map(|i| whole.row(i).to_vec()).collect(),
    );
    assert_identical("views", &got, &expected.unwrap());
    // The largest tile, with operands whose elements begin at whole quads of the view, but not of the buffer.
    let (left, right) = factors(&[[1, 3, 1], [1412, 20, 1544]], [false; 2]);
    let (a, b) = (
        Ragged::random(&left, 5).unwrap(),
        Ragged::random(&right, 6).unwrap(),
    );
    let (x, y) = (upload(device, &a), upload(device, &b));
    let whole = download(&x.matmul(&y).unwrap());
    let part = |t: &Tensor<f32>| t.elements(1..2).unwrap();
    let got = download(&part(&x).matmul(&part(&y)).unwrap());
    let expected = Ragged::from_parts(whole.layout().range(1..2).unwrap(), whole.row(1).to_vec());
    assert_identical("a large view", &got, &expected.unwrap());
}

/// An element's bits depend neither on its neighbours nor on its position.
fn alone(device: &Device) {
    let extents = [[3, 700, 4], [725, 30, 730], [64, 64, 64], [1, 1, 1]];
    let (left, right) = factors(&extents, [false; 2]);
    let (a, b) = (
        Ragged::random(&left, 3).unwrap(),
        Ragged::random(&right, 4).unwrap(),
    );
    let (x, y) = (upload(device, &a), upload(device, &b));
    let whole = download(&x.matmul(&y).unwrap());
    for i in 0..extents.len() {
        let (x, y) = (x.elements(i..i + 1).unwrap(), y.elements(i..i + 1).unwrap());
        let got = download(&x.matmul(&y).unwrap());
        let bits = |row: &[f32]| row.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(got.row(0)), bits(whole.row(i)), "element {i}");
    }
}

fn ambient(device: &Device) {
    let a = small_integers::<f32>(
        &matrices([[3, 5], [2, 9], [4, 0], [33, 40]]),
        "ambient left",
    );
    let b = small_integers::<f32>(
        &matrices([[7, 2], [4, 6], [3, 2], [12, 40]]),
        "ambient right",
    );
    let pairs = reference::elementwise(4);
    let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]);
    let (x, y) = (upload(device, &a), upload(device, &b));
    let got = download(&x.matmul_ambient(&y).unwrap());
    assert_eq!(got.cast(f64::from).unwrap(), expected.values);
    // For transposes, the inner extents are the rows of one factor and the columns of the other.
    for transposed in TRANSPOSES {
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, transposed);
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let got = form(pair.product().ambient(), transposed).run().unwrap();
        assert_eq!(
            download(&got).cast(f64::from).unwrap(),
            expected.values,
            "{transposed:?}"
        );
    }
}

/// Only results of the affected row of a and column of b become NaN.
fn not_a_number_stays(device: &Device) {
    let layout = matrices([[40, 40], [3, 3]]);
    let (mut a, b) = (
        Ragged::full(&layout, 1.0f32).unwrap(),
        Ragged::full(&layout, 1.0f32).unwrap(),
    );
    a.values_mut()[5 * 40 + 7] = f32::NAN;
    let mut infinite = b.clone();
    infinite.values_mut()[3 * 40 + 11] = f32::INFINITY;
    let got = download(
        &upload(device, &a)
            .matmul(&upload(device, &infinite))
            .unwrap(),
    );
    for (at, value) in got.row(0).iter().enumerate() {
        let (row, column) = (at / 40, at % 40);
        match (row == 5, column == 11) {
            (true, _) => assert!(value.is_nan(), "{row} {column}"),
            (false, true) => assert_eq!(*value, f32::INFINITY, "{row} {column}"),
            _ => assert_eq!(*value, 40.0, "{row} {column}"),
        }
    }
    assert_eq!(got.row(1), [3.0; 9]);
}

fn integers_wrap(device: &Device) {
    let a = Ragged::full(&matrices([[2, 3]]), i32::MAX).unwrap();
    let b = Ragged::full(&matrices([[3, 2]]), i32::MAX).unwrap();
    let got = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    assert_exact(
        "wraps",
        &got,
        &Ragged::full(&matrices([[2, 2]]), 3).unwrap(),
    );
}

fn one_large_product_among_small_ones(device: &Device) {
    let mut extents: Vec<[usize; 3]> = (0..300).map(|i| [i % 5, 3, i % 7]).collect();
    extents[150] = [800, 20, 900];
    check::<f32>(device, &extents, [false; 2]);
}

/// The rank-2 boxes of the corpus, in both orders.
fn corpus(device: &Device) {
    for case in corpus::boxes() {
        if case.layouts().0.rank() != 2 {
            continue;
        }
        let (a, b) = case.integers::<f32>();
        let (x, y) = (upload(device, &a), upload(device, &b));
        let pairs = reference::elementwise(a.len());
        let expected = reference::matmul(&widened(&a), &widened(&b), &pairs, [false; 2]);
        let got = download(&x.matmul_ambient(&y).unwrap());
        assert_eq!(
            got.cast(f64::from).unwrap(),
            expected.values,
            "{}",
            case.name
        );
        let backwards: Vec<usize> = (0..a.len()).rev().collect();
        let (x, y) = (pick(&a, &backwards), pick(&b, &backwards));
        let again = upload(device, &x).matmul_ambient(&upload(device, &y));
        let again = download(&again.unwrap());
        assert_identical(&case.name, &again, &pick(&got, &backwards));
    }
}

/// The bits depend neither on the number of workers nor on their other work.
fn one_worker_or_many() {
    let extents = [[600, 900, 500], [300, 700, 200], [5, 3, 2], [90, 600, 90]];
    let (left, right) = factors(&extents, [false, false]);
    let (a, b) = (
        Ragged::random(&left, 8).unwrap(),
        Ragged::random(&right, 9).unwrap(),
    );
    let device = Device::cpu();
    let many = multiply(&device, &a, &b, [false; 2], Tier::Baseline);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let one = pool.build().unwrap();
    let one = one.install(|| multiply(&device, &a, &b, [false; 2], Tier::Baseline));
    assert_identical("one worker", &one, &many);
    for i in 0..extents.len() {
        let alone = multiply(
            &device,
            &pick(&a, &[i]),
            &pick(&b, &[i]),
            [false; 2],
            Tier::Baseline,
        );
        assert_identical("alone", &alone, &pick(&many, &[i]));
    }
}

fn errors(device: &Device) {
    let matrix = |shapes: &[[usize; 2]]| {
        let layout = matrices(shapes.iter().copied());
        upload(device, &Ragged::full(&layout, 1.0f32).unwrap())
    };
    let (a, b) = (matrix(&[[2, 3], [4, 5]]), matrix(&[[3, 2], [4, 2]]));
    let error = a.matmul(&b).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: pair 1: expected equal inner extents, got 5 and 4; to make the pair fit, use product().transpose_left()"
    );
    assert_eq!((error.kind(), error.element()), ("inner_extents", Some(1)));
    let error = a.matmul(&matrix(&[[3, 2]])).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("batch_size", "matmul"));
    let series = upload(
        device,
        &Ragged::from_rows([vec![1.0f32], vec![2.0]]).unwrap(),
    );
    let error = a.matmul(&series).unwrap_err();
    assert_eq!(error.to_string(), "matmul: expected a rank of 2, got 1");
    let wide = matrix(&[[1 << 20, 0]]);
    let error = wide.pair(&wide, Pairing::Elementwise).unwrap();
    let error = error.product().transpose_right().run().unwrap_err();
    assert_eq!((error.kind(), error.element()), ("size_overflow", Some(0)));

    let (a, b) = (matrix(&[[2, 3], [4, 3]]), matrix(&[[3, 2], [3, 2]]));
    let pair = a.pair(&b, Pairing::Elementwise).unwrap();
    let vectors = |lengths: &[usize]| {
        let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
        upload(device, &Ragged::full(&layout, 1.0f32).unwrap())
    };
    let fails = |product: Product<'_, f32>| product.run().unwrap_err();
    let error = fails(pair.product().bias(&vectors(&[3])));
    assert!(matches!(
        error,
        Error::Length {
            element: 0,
            expected: 2,
            got: 3,
            ..
        }
    ));
    let error = fails(pair.product().bias(&vectors(&[2, 5])));
    assert!(matches!(
        error,
        Error::Length {
            element: 1,
            expected: 2,
            got: 5,
            ..
        }
    ));
    assert_eq!(
        fails(pair.product().bias(&vectors(&[2, 2, 2]))).kind(),
        "argument"
    );
    assert_eq!(fails(pair.product().bias(&a)).kind(), "rank");
    let error = fails(pair.product().residual(&matrix(&[[2, 2], [2, 2]])));
    assert_eq!((error.kind(), error.element()), ("shape", Some(1)));
    assert_eq!(
        fails(pair.product().residual(&matrix(&[[2, 2]]))).kind(),
        "element_count"
    );
}
