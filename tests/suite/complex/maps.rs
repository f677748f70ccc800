//! Maps of complex values that are exact, their special values, and views as pairs of floats.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor, scalar::DType};

use crate::support::bench::Bench;
use crate::support::operation::{download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("exact", exact),
        ("special", special),
        ("as_real", as_real),
        ("as_complex", as_complex),
        ("as_complex_at_odd_places", odd),
        ("views_are_refused", refused),
    ]);
    trials.push(bench.host("every_row_is_tested", every_row_is_tested));
    trials
}

/// The rows that the tests here and in `arithmetic` name.
fn every_row_is_tested() {
    let all = vsla::scalar::maps().chain(vsla::scalar::functions());
    let complex = all.filter(|row| row.dtype == DType::C32);
    let names: Vec<&str> = complex.map(|row| row.name).collect();
    let here = [
        "conj",
        "scale_complex",
        "real",
        "imag",
        "abs",
        "abs_squared",
        "arg",
        "add",
        "sub",
        "hadamard",
        "div",
    ];
    assert_eq!(names, here);
    // The documentation of `Tensor` names these bounds.
    let documented = [("hadamard", 3.0), ("div", 10.0), ("scale_complex", 3.0)];
    let all: Vec<_> = vsla::scalar::maps()
        .chain(vsla::scalar::functions())
        .collect();
    for (name, ulps) in documented {
        let of = |row: &&vsla::scalar::MapInfo| row.name == name && row.dtype == DType::C32;
        assert_eq!(all.iter().find(of).unwrap().ulps, ulps, "{name}");
    }
}

fn parts() -> Vec<f32> {
    let nan = f32::from_bits(0x7fc1_2345);
    vec![
        0.0,
        -0.0,
        1.5,
        -2.0,
        1e-40,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        nan,
        -nan,
    ]
}

fn all_pairs() -> Vec<Complex32> {
    let pairs = parts();
    let of = |re: &f32| {
        pairs
            .iter()
            .map(|&im| Complex32::new(*re, im))
            .collect::<Vec<_>>()
    };
    pairs.iter().flat_map(of).collect()
}

fn bits(z: Complex32) -> [u32; 2] {
    [z.re.to_bits(), z.im.to_bits()]
}

/// Exact functions preserve bits, at every base and number of values.
fn exact(device: &Device) {
    let values = all_pairs();
    for (skipped, count) in [(0, 100), (1, 99), (2, 5), (3, 1), (7, 0)] {
        let all = upload(
            device,
            &rows([&values[..skipped], &values[skipped..skipped + count]]),
        );
        let x = all.elements(1..2).unwrap();
        let expected = &values[skipped..skipped + count];
        let same = |got: &Tensor<Complex32>, expected: &dyn Fn(Complex32) -> [u32; 2]| {
            let got = download(got);
            assert_eq!(got.row(0).len(), count);
            for (got, &z) in got.row(0).iter().zip(&values[skipped..]) {
                assert_eq!(bits(*got), expected(z), "{z}");
            }
        };
        let flipped = |x: f32| x.to_bits() ^ 1 << 31;
        same(&x.conj().unwrap(), &|z| [z.re.to_bits(), flipped(z.im)]);
        same(&x.neg().unwrap(), &|z| [flipped(z.re), flipped(z.im)]);
        let (re, im) = (download(&x.real().unwrap()), download(&x.imag().unwrap()));
        for (i, z) in expected.iter().enumerate() {
            assert_eq!([re.row(0)[i].to_bits(), im.row(0)[i].to_bits()], bits(*z));
        }
        same(
            &x.real().unwrap().complex(&x.imag().unwrap()).unwrap(),
            &bits,
        );
    }
    let many = Layout::from_lengths([5000, 0, 3, 4097]).unwrap();
    let many = Ragged::from_fn(&many, |e, i| Complex32::new(e as f32, i as f32)).unwrap();
    let x = upload(device, &many);
    let conj = many.cast(|z| z.conj()).unwrap();
    assert_eq!(download(&x.conj().unwrap()), conj);
    assert_eq!(download(&x.imag().unwrap()), many.cast(|z| z.im).unwrap());
    assert_eq!(
        download(&x.scale(2.0).unwrap()),
        many.cast(|z| z * 2.0).unwrap()
    );
    let turned = many.cast(|z| Complex32::new(-z.im, z.re)).unwrap();
    assert_eq!(download(&x.scale_complex(Complex32::i()).unwrap()), turned);
}

fn special(device: &Device) {
    let values = all_pairs();
    let x = upload(device, &one(&[values.len()], &values));
    let (sizes, angles) = (download(&x.abs().unwrap()), download(&x.arg().unwrap()));
    let squares = download(&x.abs_squared().unwrap());
    for (i, z) in values.iter().enumerate() {
        let (size, angle, square) = (sizes.values()[i], angles.values()[i], squares.values()[i]);
        let parts = [z.re, z.im];
        let nan = parts.iter().any(|part| part.is_nan());
        let infinite = parts.iter().any(|part| part.is_infinite());
        assert_eq!(
            size == f32::INFINITY,
            infinite || z.re.hypot(z.im) == f32::INFINITY && !nan,
            "{z}: {size}"
        );
        assert_eq!(size.is_nan(), nan && !infinite, "{z}: {size}");
        assert_eq!(angle.is_nan(), nan, "{z}: {angle}");
        assert_eq!(square.is_nan(), nan, "{z}: {square}");
        // Subnormal parts may count as zero.
        if !nan
            && parts
                .iter()
                .all(|part| part.is_normal() || *part == 0.0 || part.is_infinite())
        {
            let expected = f64::from(z.im).atan2(z.re.into());
            assert!((f64::from(angle) - expected).abs() < 1e-6, "{z}: {angle}");
            if expected == 0.0 {
                assert_eq!(angle.is_sign_negative(), expected.is_sign_negative(), "{z}");
            }
        }
    }
    let exact = [
        (3.0, -4.0, 5.0),
        (3e37, 4e37, 5e37),
        (0.0, -7.0, 7.0),
        (-0.0, 0.0, 0.0),
    ];
    let z = exact.map(|(re, im, _)| Complex32::new(re, im));
    let got = download(&upload(device, &rows([&z])).abs().unwrap());
    for (got, (.., expected)) in got.row(0).iter().zip(exact) {
        assert!((got - expected).abs() <= 3e-7 * expected, "{got}");
    }
}

fn as_real(device: &Device) {
    let z = Complex32::new;
    let values = [z(1.0, 2.0), z(3.0, 4.0), z(5.0, 6.0)];
    let x = upload(device, &rows([&values[..1], &[], &values[1..]]));
    let pairs = x.view_as_real().unwrap();
    let shapes: Vec<Shape> = pairs.layout().shapes().collect();
    assert_eq!(
        shapes,
        [[1, 2], [0, 2], [2, 2]].map(|shape| Shape::new(&shape).unwrap())
    );
    assert_eq!(download(&pairs).values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // It shares memory: a view of a view keeps its place.
    let last = x.elements(2..3).unwrap().view_as_real().unwrap();
    assert_eq!(download(&last).values(), [3.0, 4.0, 5.0, 6.0]);
    let back = pairs.view_as_complex().unwrap();
    assert_eq!(download(&back), download(&x));
    assert_eq!(back.layout(), x.layout());
    let flat = pairs
        .reshape(&Layout::from_lengths([2, 0, 4]).unwrap())
        .unwrap();
    assert_eq!(download(&flat).row(2), [3.0, 4.0, 5.0, 6.0]);
    let matrix = upload(device, &one(&[3, 1], &values));
    let boxes = matrix.view_as_real().unwrap();
    assert_eq!(boxes.layout().shape(0), Shape::new(&[3, 1, 2]).unwrap());
    assert_eq!(
        download(&boxes.view_as_complex().unwrap()),
        download(&matrix)
    );
    // Operations on the view are operations on the parts.
    let doubled = boxes.scale(2.0).unwrap().view_as_complex().unwrap();
    assert_eq!(download(&doubled), download(&matrix.scale(2.0).unwrap()));
}

fn as_complex(device: &Device) {
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let shapes = [[2, 2], [0, 2], [4, 2]].map(|shape| Shape::new(&shape).unwrap());
    let x = upload(device, &Ragged::from_shapes(values, 2, shapes).unwrap());
    let z = download(&x.view_as_complex().unwrap());
    assert_eq!(z.layout(), &Layout::from_lengths([2, 0, 4]).unwrap());
    assert_eq!(z.row(2)[0], Complex32::new(4.0, 5.0));
    let last = x.elements(2..3).unwrap().view_as_complex().unwrap();
    assert_eq!(download(&last).row(0), z.row(2));
}

/// Floats that begin at an odd word are copied.
fn odd(device: &Device) {
    let values: Vec<f32> = (0..7).map(|i| i as f32).collect();
    let shapes = [[1, 1], [3, 2]].map(|shape| Shape::new(&shape).unwrap());
    let x = upload(device, &Ragged::from_shapes(values, 2, shapes).unwrap());
    let z = x.elements(1..2).unwrap().view_as_complex().unwrap();
    let expected = [1.0, 3.0, 5.0].map(|re| Complex32::new(re, re + 1.0));
    assert_eq!(download(&z).row(0), expected);
    assert_eq!(
        download(&z.conj().unwrap()).row(0),
        expected.map(|z| z.conj())
    );
    let error = x.view_as_complex().unwrap_err();
    assert_eq!((error.kind(), error.element()), ("shape", Some(0)));
}

fn refused(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, 2.0]]));
    let error = x.view_as_complex().unwrap_err();
    assert_eq!(
        error.to_string(),
        "view_as_complex: expected a rank of 2 to 8, got 1"
    );
    let wide = upload(device, &one(&[2, 3], &[1.0f32; 6]));
    let error = wide.view_as_complex().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("shape", "view_as_complex"));
    let deep = upload(device, &one(&[1; 8], &[Complex32::i()]));
    let error = deep.view_as_real().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("rank", "view_as_real"));
}
