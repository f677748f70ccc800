//! The smallest boxes that contain all non-zero values, and operations based on them.

use fastrand::Rng;
use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16};

use crate::support::bench::Bench;
use crate::support::compare::{assert_exact, assert_identical, assert_within};
use crate::support::corpus::{self, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, upload};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(shrink::<f32>())
        .with(shrink::<i32>())
        .with(shrink::<u32>())
        .trials(bench, "shrink", [corpus::all(), corpus::boxes()].concat());
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("special_values", special_values),
        ("of_few_values", of_few_values),
        ("a_lone_value_anywhere", a_lone_value),
        ("is_idempotent", is_idempotent),
        ("of_equivalent_elements_is_one", of_equivalent_elements),
        ("minimal_batches_keep_their_layout", keeps_minimal_layouts),
        ("degree", degree),
        ("async_twins", async_twins),
    ]));
    trials
}

/// For elements that were padded before.
fn shrink<T: Number>() -> Binary<T, T> {
    fn run<T: Number>(x: &Tensor<T>, y: &Tensor<T>) -> Result<Tensor<T>> {
        let both = x.layout().shapes().zip(y.layout().shapes());
        let ambient = both.map(|(s, t)| s.ambient(&t).unwrap());
        x.resize(&Layout::from_shapes(x.layout().rank(), ambient)?)?
            .shrink_blocking()
    }
    Binary {
        name: "shrink",
        run,
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(reference::shrink(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

#[track_caller]
fn check<T: Number>(device: &Device, what: &str, x: &Ragged<T>) {
    let tensor = upload(device, x);
    let expected = reference::shrink(&widened(x));
    let minimal = tensor.minimal_shape_blocking().unwrap();
    assert_eq!(&minimal, expected.layout(), "{what}");
    let shrunk = download(&tensor.shrink_blocking().unwrap());
    assert_eq!(shrunk.layout(), &minimal, "{what}");
    let expected = expected.cast(T::compared).unwrap();
    assert_within(
        what,
        &shrunk,
        &expected,
        &vec![0.0; expected.values().len()],
    );
}

/// The same as for f32, at even and odd places.
fn check_halves(device: &Device, what: &str, x: &Ragged<f32>) {
    let half = x.cast(f16::from_f32).unwrap();
    let (wide, half) = (upload(device, x), upload(device, &half));
    for first in [0, 1] {
        let [wide, half] = [
            wide.elements(first..x.len())
                .unwrap()
                .minimal_shape_blocking(),
            half.elements(first..x.len())
                .unwrap()
                .minimal_shape_blocking(),
        ];
        assert_eq!(half.unwrap(), wide.unwrap(), "{what} from {first}");
    }
    let shrunk = download(&half.shrink_blocking().unwrap());
    let expected = download(&wide.shrink_blocking().unwrap());
    assert_exact(what, &shrunk, &expected.cast(f16::from_f32).unwrap());
}

fn goldens(device: &Device) {
    let minimal = |extents: &[usize], values: &[f32]| {
        let x = upload(device, &one(extents, values));
        let shape = x.minimal_shape_blocking().unwrap().shape(0);
        shape.extents().to_vec()
    };
    assert_eq!(
        minimal(&[3, 3], &[1., 0., 0., 0., 2., 0., 0., 0., 0.]),
        [2, 2]
    );
    assert_eq!(minimal(&[2, 3], &[0., 0., 5., 0., 0., 0.]), [1, 3]);
    assert_eq!(minimal(&[3, 4], &[0.; 12]), [0, 0]);
    assert_eq!(minimal(&[3, 0], &[]), [0, 0]);
    assert_eq!(minimal(&[2, 0, 5], &[]), [0, 0, 0]);
    let difference = upload(device, &rows([&[5., 3., 2.]]))
        .sub(&upload(device, &rows([&[2., 1., 2.]])))
        .unwrap();
    assert_exact("before", &download(&difference), &rows([&[3., 2., 0.]]));
    let shrunk = difference.shrink_blocking().unwrap();
    assert_exact("after", &download(&shrunk), &rows([&[3., 2.]]));
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    assert_eq!(nothing.minimal_shape_blocking().unwrap().len(), 0);
}

fn special_values(device: &Device) {
    let (nan, inf, least) = (f32::NAN, f32::INFINITY, f32::from_bits(1));
    let x = rows([
        &[0., nan, 0.][..],
        &[1., -0., -0.],
        &[-0.],
        &[0., 0., -inf, 0.],
        &[0., least, 0.],
        &[f32::from_bits(0xFF80_0001), 0.],
        &[],
    ]);
    let minimal = upload(device, &x).minimal_shape_blocking().unwrap();
    assert_eq!(minimal.lengths().collect::<Vec<_>>(), [2, 1, 0, 3, 2, 1, 0]);
    let shrunk = upload(device, &x).shrink_blocking().unwrap();
    let expected = rows([
        &[0., nan][..],
        &[1.],
        &[],
        &[0., 0., -inf],
        &[0., least],
        &[f32::from_bits(0xFF80_0001)],
        &[],
    ]);
    assert_identical("bits", &download(&shrunk), &expected);
    let least = f16::from_bits(1);
    let halves = rows([
        &[f16::ZERO, f16::NAN, f16::ZERO][..],
        &[f16::ONE, f16::NEG_ZERO, f16::NEG_ZERO],
        &[f16::NEG_ZERO],
        &[f16::ZERO, f16::ZERO, f16::NEG_INFINITY, f16::ZERO],
        &[f16::ZERO, least, f16::ZERO],
        &[f16::from_bits(0xfc01), f16::ZERO],
        &[],
    ]);
    let shrunk = upload(device, &halves).shrink_blocking().unwrap();
    let kept = [2, 1, 0, 3, 2, 1, 0];
    assert_eq!(shrunk.layout().lengths().collect::<Vec<_>>(), kept);
    let expected = Ragged::from_rows((0..7).map(|i| &halves.row(i)[..kept[i]])).unwrap();
    assert_identical("halves", &download(&shrunk), &expected);
    let bits = rows([&[0, i32::MIN, 0][..], &[0, 0]]);
    check(device, "the sign of an integer is no zero", &bits);
}

/// Elements of every class of sizes and every rank, most of whose values are zero.
fn of_few_values(device: &Device) {
    let mut rng = rng("minimal shapes");
    for rank in 1..=8 {
        let sizes = [1, 7, 30, 40, 900, 1500, 4096, 5000, 20_000, 70_000];
        let shapes = sizes
            .iter()
            .cycle()
            .take(30)
            .map(|&size| shape(&mut rng, rank, size));
        let layout = Layout::from_shapes(rank, shapes.collect::<Vec<_>>()).unwrap();
        let thin = |element: usize| [2, 10, 1000, 100_000][element % 4];
        let x = Ragged::from_fn(&layout, |element, _| {
            i32::from(rng.usize(..thin(element)) == 0) * 3
        })
        .unwrap();
        check(device, &format!("rank {rank}"), &x);
        check(
            device,
            &format!("rank {rank} of f32"),
            &x.cast(|x| -x as f32).unwrap(),
        );
        let what = format!("rank {rank} of halves");
        check_halves(device, &what, &x.cast(|x| x as f32).unwrap());
    }
}

/// Elements of about this many values.
fn shape(rng: &mut Rng, rank: usize, size: usize) -> Shape {
    let mut extents = vec![1; rank];
    let mut left = size;
    while left > 1 {
        let factor = rng.usize(2..=left.min(9));
        let axis = rng.usize(..rank);
        extents[axis] *= factor;
        left /= factor;
    }
    Shape::new(&extents).unwrap()
}

fn a_lone_value(device: &Device) {
    for extents in [
        &[9000][..],
        &[90, 100],
        &[1, 4100],
        &[4100, 1],
        &[3, 50, 31],
    ] {
        let size: usize = extents.iter().product();
        let places = [0, 1, 99, 100, size / 2, size - 2, size - 1];
        let layout = Layout::uniform(places.len(), Shape::new(extents).unwrap()).unwrap();
        let x = Ragged::from_fn(&layout, |element, i| u32::from(i == places[element])).unwrap();
        check(device, &format!("{extents:?}"), &x);
        let floats = x.cast(|x| x as f32).unwrap();
        check_halves(device, &format!("halves, {extents:?}"), &floats);
    }
}

fn is_idempotent(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let padded = upload(device, &a)
            .add(&upload(device, &b.cast(|_| 0).unwrap()))
            .unwrap();
        let once = padded.shrink_blocking().unwrap();
        let twice = once.shrink_blocking().unwrap();
        assert_exact("twice", &download(&twice), &download(&once));
        let same = once.equivalent_blocking(&padded).unwrap();
        assert!(same.iter().all(|same| *same), "{same:?}");
        let ends = download(&once);
        assert!(ends.iter().all(|row| row.last() != Some(&0)));
    });
}

fn of_equivalent_elements(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let x = upload(device, &a);
        let padded = x.add(&upload(device, &b.cast(|_| 0).unwrap())).unwrap();
        let (one, other) = (
            x.shrink_blocking().unwrap(),
            padded.shrink_blocking().unwrap(),
        );
        assert_exact("of the wider one", &download(&other), &download(&one));
        assert_eq!(x.degree_blocking(), padded.degree_blocking());
    });
}

fn keeps_minimal_layouts(device: &Device) {
    let x = upload(device, &rows([&[1, 2][..], &[], &[0, 3]]));
    let shrunk = x.shrink_blocking().unwrap();
    assert_eq!(shrunk.layout(), x.layout());
    assert!(std::ptr::eq(
        shrunk.layout().offsets().as_slice(),
        x.layout().offsets().as_slice()
    ));
}

fn degree(device: &Device) {
    let x = rows([
        &[1.0f32, 0., 5., 0.][..],
        &[7.],
        &[0., -0.],
        &[],
        &[0., f32::NAN, 0.],
    ]);
    let degrees = upload(device, &x).degree_blocking().unwrap();
    assert_eq!(degrees, [Some(2), Some(0), None, None, Some(1)]);
    // The degree of a product is the sum of the degrees, and there is none if a factor is zero.
    let mut rng = rng("degrees");
    let mut batch = || {
        let rows = (0..40).map(|i| {
            let mut row: Vec<i32> = (0..i % 9).map(|_| rng.i32(-2..=2)).collect();
            row.resize(row.len() + i % 3, 0);
            row
        });
        upload(
            device,
            &Ragged::from_rows(rows.collect::<Vec<_>>()).unwrap(),
        )
    };
    let (x, y) = (batch(), batch());
    let sums = x
        .degree_blocking()
        .unwrap()
        .into_iter()
        .zip(y.degree_blocking().unwrap());
    let sums: Vec<Option<usize>> = sums.map(|(m, n)| Some(m? + n?)).collect();
    assert_eq!(x.conv(&y).unwrap().degree_blocking().unwrap(), sums);
    assert!(sums.contains(&None) && sums.iter().flatten().any(|degree| *degree > 8));
    let error = upload(device, &one(&[1, 1], &[1]))
        .degree_blocking()
        .unwrap_err();
    assert_eq!((error.op(), error.kind()), ("degree", "rank"));
}

fn async_twins(device: &Device) {
    let x = upload(device, &rows([&[1, 0][..], &[0], &[2, 3, 0, 0]]));
    pollster::block_on(async {
        let minimal = x.minimal_shape().await.unwrap();
        assert_eq!(minimal.lengths().collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(
            download(&x.shrink().await.unwrap()).to_vecs().unwrap(),
            [vec![1], vec![], vec![2, 3]]
        );
        assert_eq!(x.degree().await.unwrap(), [Some(0), None, Some(1)]);
        let matrix = upload(device, &one(&[1, 1], &[1]));
        assert_eq!(matrix.degree().await.unwrap_err().kind(), "rank");
    });
}
