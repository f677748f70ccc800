//! Evaluation of polynomials.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Pairing, Ragged, Shape, f16, scalar::DType};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_identical, assert_within, sum_bound};
use crate::support::corpus::{self, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, download, golden, one, pair_list, pick, rows, run, upload,
};
use crate::support::property;
use crate::support::reference::{self, Sums};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut cases = corpus::small();
    cases.retain(|case| !case.name.starts_with("edges_4096"));
    let mut trials = Operation::new()
        .with(eval::<i32>())
        .with(eval::<u32>())
        .with(eval::<f32>())
        .trials(bench, "", cases);
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("integers", integers),
        ("bounded", bounded),
        ("not_finite", not_finite),
        ("halves", halves),
        ("boxes_of_points", boxes_of_points),
        ("pairings", pairings),
        ("is_a_homomorphism", is_a_homomorphism),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// Integers, which wrap, against the reference. Of f32, only bits are compared, because powers soon overflow.
fn eval<T: Number>() -> Binary<T, T> {
    Binary {
        name: "eval",
        run: |x, y| x.eval(y),
        paired: None,
        expected: (T::DTYPE != DType::F32).then_some(|a, b, pairs| {
            Expected::exact::<T>(reference::eval(&widened(a), &widened(b), pairs).values)
        }),
        spreads: false,
        series_only: true,
    }
}

fn goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, y| x.eval(y),
        [
            (&[1., 2., 3.], &[0., 1., -2.], &[1., 6., 9.]),
            (&[], &[3., 4.], &[0., 0.]),
            (&[5.], &[f32::INFINITY, 1.], &[5., 5.]),
            (&[1., 2.], &[], &[]),
            (&[0., 0., 0., 0., 0., 1.], &[2., -2.], &[32., -32.]),
            (
                &[1., 1., 1., 1., 1., 1., 1., 1., 1.],
                &[1., -1., 2.],
                &[9., 1., 511.],
            ),
        ],
    );
}

/// f32 values whose sums stay below 2²⁴.
fn integers(device: &Device) {
    let layout = Layout::from_lengths((0..200).map(|i| i % 21)).unwrap();
    let points = Layout::from_lengths((0..200).map(|i| i * 7 % 301)).unwrap();
    let mut rng = rng("eval");
    let a = Ragged::from_fn(&layout, |_, _| rng.i32(-7..=7) as f32).unwrap();
    let b = Ragged::from_fn(&points, |_, _| rng.i32(-2..=2) as f32).unwrap();
    let pairs = reference::elementwise(a.len());
    let expected = reference::eval(&widened(&a), &widened(&b), &pairs);
    assert!(expected.largest_magnitude() < f64::from(1 << 24));
    let got = run(device, &a, &b, |x, y| x.eval(y));
    assert_exact(
        "integers",
        &got,
        &expected.values.cast(|value| value as f32).unwrap(),
    );
}

fn allowed(sums: &Sums<f64>) -> Vec<f64> {
    sums.bounds(|terms| 2.0 * terms as f64)
}

fn bounded(device: &Device) {
    let layout = Layout::from_lengths([0, 1, 2, 5, 64, 1000, 20_000, 3]).unwrap();
    let points = Layout::from_lengths([3, 300, 1, 513, 70, 40, 5, 5000]).unwrap();
    let (a, b) = (
        Ragged::random(&layout, 3).unwrap(),
        Ragged::random(&points, 4).unwrap(),
    );
    let pairs = reference::elementwise(a.len());
    let expected = reference::eval(&widened(&a), &widened(&b), &pairs);
    let got = run(device, &a, &b, |x, y| x.eval(y));
    assert_within("random", &got, &expected.values, &allowed(&expected));
    // Larger points, at which no power exceeds the range of f32.
    let layout = Layout::from_lengths([9, 10]).unwrap();
    let a = Ragged::random(&layout, 5).unwrap();
    let b = Ragged::from_fn(&layout, |_, i| 10f32.powi(i as i32 % 4) * -1.3).unwrap();
    let pairs = reference::elementwise(a.len());
    let expected = reference::eval(&widened(&a), &widened(&b), &pairs);
    let got = run(device, &a, &b, |x, y| x.eval(y));
    assert_within("large", &got, &expected.values, &allowed(&expected));
    assert!(sum_bound(1.0, 1.0, 1) > 0.0);
}

/// NaN and infinity give what Horner's scheme gives, and reach no other value.
fn not_finite(device: &Device) {
    const INFINITY: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    golden::<f32, f32, 5>(
        device,
        |x, y| x.eval(y),
        [
            (
                &[1., 2.],
                &[INFINITY, -INFINITY, NAN, 1.],
                &[INFINITY, -INFINITY, NAN, 3.],
            ),
            (&[1., 2., -1.], &[-INFINITY, 2.], &[-INFINITY, 1.]),
            (&[1., 0.], &[INFINITY, 2.], &[NAN, 1.]),
            (&[NAN, 1.], &[1., INFINITY], &[NAN, NAN]),
            (&[1., INFINITY], &[1., -1., 0.], &[INFINITY, -INFINITY, NAN]),
        ],
    );
}

/// Halves are computed in f32 and rounded once, whichever invocations write the halves of a word.
fn halves(device: &Device) {
    let layout = Layout::from_lengths([0, 1, 2, 5, 64, 300, 3, 17, 4]).unwrap();
    let points = Layout::from_lengths([3, 301, 1, 513, 0, 41, 5, 5000, 7]).unwrap();
    let [a, b] = [(&layout, 3), (&points, 4)].map(|(layout, seed)| {
        let x: Ragged<f32> = Ragged::random(layout, seed).unwrap();
        x.cast(f16::from_f32).unwrap()
    });
    let (x, y) = (upload(device, &a), upload(device, &b));
    for first in 0..4 {
        let some: Vec<usize> = (first..a.len()).collect();
        let wide = [&a, &b].map(|x| pick(x, &some).cast(f64::from).unwrap());
        let expected = reference::eval(&wide[0], &wide[1], &reference::elementwise(some.len()));
        let both = expected.values.values().iter().zip(allowed(&expected));
        let bounds =
            both.map(|(y, bound)| bound + (y.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25));
        let bounds: Vec<f64> = bounds.collect();
        let [x, y] = [&x, &y].map(|x| x.elements(first..a.len()).unwrap());
        let got = download(&x.eval(&y).unwrap());
        assert_within(format!("from {first}"), &got, &expected.values, &bounds);
    }
    // 1 + t + … at 1: the sums are not rounded before they are complete.
    let ones = rows([&[f16::ONE; 4098][..], &[f16::ONE; 3]]);
    let t = rows([&[f16::ONE, f16::ZERO][..], &[f16::NAN]]);
    let got = run(device, &ones, &t, |x, y| x.eval(y));
    let expected = rows([&[4098.0, 1.0][..], &[f32::NAN]]);
    assert_exact("ones", &got, &expected.cast(f16::from_f32).unwrap());
}

fn boxes_of_points(device: &Device) {
    let points = one(&[2, 3], &[0, 1, 2, 3, 4, 5]);
    let got = run(device, &rows([&[1, 0, 1]]), &points, |x, y| x.eval(y));
    assert_exact("1 + t²", &got, &one(&[2, 3], &[1, 2, 5, 10, 17, 26]));
    let empty = one::<i32>(&[4, 0], &[]);
    let got = run(device, &rows([&[1, 0, 1]]), &empty, |x, y| x.eval(y));
    assert_eq!(got.layout().shape(0), Shape::new(&[4, 0]).unwrap());
}

fn pairings(device: &Device) {
    let mut rng = rng("eval pairings");
    let layout = Layout::from_lengths([0, 4, 9, 1]).unwrap();
    let a = Ragged::from_fn(&layout, |_, _| rng.i32(..)).unwrap();
    let shapes = [[2, 3], [0, 5], [7, 1], [1, 1], [20, 30]];
    let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
    let points = Layout::from_shapes(2, shapes).unwrap();
    let b = Ragged::from_fn(&points, |_, _| rng.i32(..)).unwrap();
    let (only, last) = (pick(&a, &[2]), pick(&b, &[4]));
    let list = [(1, 4), (0, 0), (2, 1), (2, 2), (1, 4)];
    for (a, b, pairing) in [
        (&only, &b, Pairing::OneToAll),
        (&a, &last, Pairing::AllToOne),
        (&a, &b, Pairing::AllToAll),
        (&a, &b, Pairing::List(&pair_list(list))),
        (&a, &b, Pairing::List(&pair_list([]))),
    ] {
        let pairs = reference::pairs(pairing, a.len(), b.len());
        let expected = reference::eval(a, b, &pairs).values;
        let (x, y) = (upload(device, a), upload(device, b));
        let got = download(&x.pair(&y, pairing).unwrap().eval().unwrap());
        assert_exact(format!("{pairing:?}"), &got, &expected);
        let (i, j): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
        let gathered = run(device, &pick(a, &i), &pick(b, &j), |x, y| x.eval(y));
        assert_identical(format!("{pairing:?}"), &got, &gathered);
    }
}

/// (ab)(t) = a(t) b(t) and (a + b)(t) = a(t) + b(t); trailing zeros do not change a value.
fn is_a_homomorphism(device: &Device) {
    property::on(device, property::three_batches(), |[a, b, t]| {
        let (x, y, t) = (upload(device, &a), upload(device, &b), upload(device, &t));
        let (ax, bx) = (x.eval(&t).unwrap(), y.eval(&t).unwrap());
        let sum = x.add(&y).unwrap().eval(&t).unwrap();
        assert_exact("sum", &download(&sum), &download(&ax.add(&bx).unwrap()));
        let product = download(&x.conv(&y).unwrap().eval(&t).unwrap());
        let (ax, bx) = (download(&ax), download(&bx));
        let both = ax.values().iter().zip(bx.values());
        let values = both.map(|(x, y)| x.wrapping_mul(*y)).collect();
        let expected = Ragged::from_parts(ax.layout().clone(), values).unwrap();
        assert_exact("product", &product, &expected);
        let padded = a.iter().map(|row| [row, &[0, 0]].concat());
        let padded = upload(device, &Ragged::from_rows(padded).unwrap());
        assert_exact("padded", &download(&padded.eval(&t).unwrap()), &ax);
    });
}

fn refusals(device: &Device) {
    let series = upload(device, &rows([&[1, 2], &[3, 4]]));
    let three = upload(device, &rows([&[1], &[2], &[3]]));
    let matrix = upload(device, &one(&[1, 2], &[1, 2]));
    let refused = |outcome: vsla::Result<_>, text: &str| {
        let error: vsla::Error = outcome.map(|_: vsla::Tensor<i32>| ()).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    refused(matrix.eval(&matrix), "eval: expected a rank of 1, got 2");
    refused(
        series.eval(&three),
        "eval: expected batches of equal size, got 2 elements and 3; pair unequal batches by AllToAll or a \
         List",
    );
    if device.is_gpu() {
        let elsewhere = upload(&Device::cpu(), &rows([&[1], &[2]]));
        assert_eq!(
            series.eval(&elsewhere).unwrap_err().kind(),
            "device_mismatch"
        );
    }
}
