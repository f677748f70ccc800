//! Functions of floats: error bounds, and the ends of the range.

use vsla::{Device, Layout, Ragged, Shape, f16, scalar::Float};

use super::check;
use super::function::{ALL, Function::*, Sample, lines, values};
use crate::support::compare::{TINY, U, gamma};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, upload};

pub fn random<T: Sample>(seed: &str, shapes: &[&[usize]], of: impl Fn(f64) -> f64) -> Ragged<T> {
    let mut random = rng(seed);
    let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
    let layout = Layout::from_shapes(shapes[0].rank(), shapes).unwrap();
    Ragged::from_fn(&layout, |_, _| T::of(of(random.f64()))).unwrap()
}

/// The documented bounds: those of f32, plus half a unit in the last place for f16.
pub fn bounds(device: &Device) {
    bounded::<f32>(device, |_| 0.0);
    bounded::<f16>(device, half_unit);
}

/// Half a unit in the last place of an f16, which is 2⁻²⁴ for subnormal numbers.
fn half_unit(x: f64) -> f64 {
    x.abs() * 2f64.powi(-11) + 2f64.powi(-25)
}

fn bounded<T: Sample + Float>(device: &Device, rounding: fn(f64) -> f64) {
    let shapes: [&[usize]; 5] = [&[5, 60], &[3, 700], &[2, 9000], &[700, 3], &[9000, 2]];
    let sum = random::<T>("sums", &shapes, |x| 8.0 * x - 4.0);
    // Products of the largest lines are about 1.
    let product = random::<T>("products", &shapes, |x| (0.02 * x - 0.01).exp2());
    for axis in [Some(0), Some(1), None] {
        let near = |what: &str, got: Vec<f64>, expected: Vec<(f64, f64)>| {
            for (got, (value, bound)) in got.into_iter().zip(expected) {
                let bound = bound + rounding(value.abs() + bound);
                let off = (got - value).abs();
                assert!(
                    off <= bound,
                    "{what} of {}: {got}, {value}, {bound}",
                    T::DTYPE
                );
            }
        };
        let (_, of_sum) = lines(&sum, axis);
        let depth = |line: &[f64]| 66.0 + (line.len() as f64).log2().ceil();
        let size = |line: &[f64]| line.iter().map(|x| x.abs()).sum::<f64>();
        for function in [Sum, Norm1] {
            let got = function.along(&upload(device, &sum), axis).1;
            let expected = of_sum.iter().map(|line| {
                let bound = gamma(depth(line)) * size(line) + line.len() as f64 * TINY;
                (function.of::<T>(line), bound)
            });
            near(&format!("{function:?}"), got, expected.collect());
        }
        let norm2 = match axis {
            Some(axis) => upload(device, &sum).norm2_axis(axis),
            None => upload(device, &sum).norm2(),
        };
        let expected = of_sum.iter().map(|line| {
            let norm = line.iter().map(|x| x * x).sum::<f64>().sqrt();
            (norm, (gamma(depth(line)) / 2.0 + 4.0 * U) * norm)
        });
        near("norm2", values(norm2, T::wide).1, expected.collect());
        let got = Product.along(&upload(device, &product), axis).1;
        let expected = lines(&product, axis).1.into_iter().map(|line| {
            let value = Product.of::<T>(&line);
            (value, gamma(line.len() as f64) * value.abs())
        });
        near("product", got, expected.collect());
    }
}

/// Squares neither overflow nor underflow.
pub fn norms_of_all_magnitudes(device: &Device) {
    for count in [2, 100, 600, 9000] {
        for scale in [1e-30f32, 1.0, 1e30] {
            let x = one(&[2, count], &vec![scale; 2 * count]);
            let got = download(&upload(device, &x).norm2_axis(1).unwrap());
            for &norm in got.values() {
                let expected = f64::from(scale) * (count as f64).sqrt();
                let near = (f64::from(norm) - expected).abs() <= 1e-5 * expected;
                assert!(near, "{norm} instead of {expected}");
            }
        }
    }
}

/// Empty lines, zeros of both signs, infinities and NaN, in every class.
pub fn ends(device: &Device) {
    ends_of::<f32>(device);
    ends_of::<f16>(device);
    // The first of equal zeros; the values themselves are ordered by sign.
    for count in [2, 100, 600, 9000] {
        let with = |first: f32, last: f32| {
            let mut line = vec![first; count];
            line[count - 1] = last;
            line
        };
        let x = Ragged::from_rows([with(-0.0, 0.0), with(0.0, -0.0), vec![-0.0; count]]).unwrap();
        let half = upload(device, &x.cast(f16::from_f32).unwrap());
        let x = upload(device, &x);
        assert_eq!(download(&x.argmax_axis(0).unwrap()).values(), [0; 3]);
        assert_eq!(download(&half.argmin_axis(0).unwrap()).values(), [0; 3]);
        let bits = |zeros: Ragged<f16>| -> Vec<u16> {
            zeros.values().iter().map(|zero| zero.to_bits()).collect()
        };
        assert_eq!(bits(download(&half.max_axis(0).unwrap())), [0, 0, 0x8000]);
        assert_eq!(bits(download(&half.min().unwrap())), [0x8000; 3]);
        assert_eq!(bits(download(&half.norm_max_axis(0).unwrap())), [0; 3]);
    }
}

fn ends_of<T: Sample + Float>(device: &Device) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for count in [3, 100, 600, 9000] {
        let with = |values: [f64; 3]| {
            let mut line = vec![1.0; count];
            line[0] = values[0];
            line[count / 2] = values[1];
            line[count - 1] = values[2];
            line
        };
        let lines = [
            with([nan, 0.0, 0.0]),
            with([0.0, inf, 0.0]),
            with([0.0, 0.0, -inf]),
            with([inf, 1.0, -inf]),
            with([1.0, nan, inf]),
            with([1.0, nan, nan]),
            vec![-inf; count],
            vec![inf; count],
            vec![],
            vec![1.0; count],
        ];
        let x = lines.map(|line| line.into_iter().map(T::of).collect::<Vec<T>>());
        let x = Ragged::from_rows(x).unwrap();
        // The same lines as columns of one matrix, without the empty one.
        let columns: Vec<T> = (0..count)
            .flat_map(|k| [0, 1, 2, 3, 4, 5, 6, 7, 9].map(|line| x.row(line)[k]))
            .collect();
        let columns = one(&[count, 9], &columns);
        for function in ALL {
            check(device, function, &x, Some(0));
            check(device, function, &x, None);
            check(device, function, &columns, Some(0));
        }
        let norms = values(upload(device, &x).norm2_axis(0), T::wide).1;
        let expected = [nan, inf, inf, inf, nan, nan, inf, inf, 0.0];
        for (got, expected) in norms.into_iter().zip(expected) {
            assert!(got == expected || (got.is_nan() && expected.is_nan()));
        }
    }
}
