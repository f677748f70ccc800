//! Functions of lines of f16: the results in f32, rounded.

use vsla::{Device, Ragged, Tensor, f16};

use super::batch;
use super::function::{ALL, Function, reference};
use crate::support::compare::assert_within;
use crate::support::operation::{download, upload};

/// Functions of f16 without the three that only reduce.
fn of_halves() -> impl Iterator<Item = Function> {
    let exact = [Function::Sum, Function::Max, Function::Min];
    ALL.into_iter()
        .filter(move |function| !exact.contains(function))
}

/// Checks f16: computed in f32 and rounded once.
fn check_halves(what: &str, function: Function, x: &Tensor<f16>, axis: usize) {
    let wide = download(x).cast(f16::to_f32).unwrap();
    let (values, bounds) = reference(function, &wide, Some(axis));
    let rounds_to_infinity = |y: f64| match y.abs() >= 65_520.0 {
        true => f64::INFINITY.copysign(y),
        false => y,
    };
    let values = values.cast(rounds_to_infinity).unwrap();
    let got = download(&function.along(x, axis).unwrap());
    let got = got.cast(f16::to_f32).unwrap();
    // Half a unit in the last place, which is 2⁻²⁴ for subnormal results.
    let rounded = |(value, bound): (&f64, f64)| {
        bound + (value.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25)
    };
    let both = values.values().iter().zip(bounds);
    let bounds: Vec<f64> = both.map(rounded).collect();
    let what = format!("{function:?} of halves, {what}, axis {axis}");
    assert_within(what, &got, &values, &bounds);
}

fn half_batch(seed: &str, shapes: &[&[usize]]) -> Ragged<f16> {
    batch(seed, shapes).cast(f16::from_f32).unwrap()
}

/// Lines of every class, at even and odd places, between neighbours that share their words.
pub fn halves(device: &Device) {
    let counts = [
        0, 1, 2, 3, 1, 63, 64, 65, 0, 7, 511, 512, 513, 1024, 1025, 4095, 4096, 4097, 1, 8193, 9,
    ];
    let vectors: Vec<[usize; 1]> = counts.map(|n| [n]).into();
    let vectors: Vec<&[usize]> = vectors.iter().map(|shape| &shape[..]).collect();
    let x = upload(device, &half_batch("half vectors", &vectors));
    for function in of_halves() {
        check_halves("vectors", function, &x, 0);
        for first in [1, 3, 4] {
            let view = x.elements(first..counts.len()).unwrap();
            check_halves("a view", function, &view, 0);
        }
    }
}

/// Strided lines, whose neighbours share words in every row, in the first one alone, in every second one, or not at
/// all.
pub fn halves_of_every_layout(device: &Device) {
    let shapes: [&[usize]; 14] = [
        &[3, 1, 5],
        &[1, 1, 1],
        &[2, 33, 4],
        &[1, 0, 7],
        &[1, 17, 3],
        &[2, 1, 2],
        &[0, 3, 2],
        &[1, 1, 3],
        &[1, 2000, 3],
        &[1, 5, 67],
        &[1, 5000, 2],
        &[3, 4, 5],
        &[1, 1, 3],
        &[1, 17, 3],
    ];
    let x = upload(device, &half_batch("half boxes", &shapes));
    for function in of_halves() {
        for axis in 0..3 {
            check_halves("boxes", function, &x, axis);
        }
        let view = x.elements(1..shapes.len()).unwrap();
        check_halves("a view of boxes", function, &view, 1);
        // Each line has the same bits as alone.
        if function.reduces() {
            continue;
        }
        let all = download(&function.along(&x, 1).unwrap());
        for element in [0, 2, 4, 9] {
            let alone = upload(
                device,
                &download(&x.elements(element..element + 1).unwrap()),
            );
            let alone = download(&function.along(&alone, 1).unwrap());
            let bits = |row: &[f16]| row.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(
                bits(alone.row(0)),
                bits(all.row(element)),
                "{function:?} of {element}"
            );
        }
    }
}

/// Sums may exceed the range of f16, because they are computed in f32; NaN and infinity stay in their line.
pub fn halves_far_and_ends(device: &Device) {
    let (inf, nan) = (f16::INFINITY, f16::NAN);
    for count in [3, 100, 600, 9001] {
        let with = |values: [f16; 3]| {
            let mut line = vec![f16::ONE; count];
            line[0] = values[0];
            line[count / 2] = values[1];
            line[count - 1] = values[2];
            line
        };
        let (zero, large) = (f16::ZERO, f16::from_f32(60_000.0));
        let lines = [
            with([nan, zero, zero]),
            with([zero, inf, zero]),
            vec![large; count],
            with([zero, zero, -inf]),
            with([inf, zero, -inf]),
            vec![-inf; count],
            vec![],
            with([large, -large, large]),
        ];
        let x = upload(device, &Ragged::from_rows(lines).unwrap());
        for function in of_halves() {
            check_halves(&format!("ends of {count}"), function, &x, 0);
        }
    }
}
