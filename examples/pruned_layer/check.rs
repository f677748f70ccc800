//! Whether what was measured is right: every result against the dense product, and some or all against sums in f64.

use rayon::prelude::*;
use vsla::io::Stored;
use vsla::{Bsr, Float, Ragged, f16};

/// A type that weights, rows and results are stored as.
pub trait Value: Float + Stored {
    /// What a sum of exact products may be off for each level of the sum, and what a result may be off for being stored: both relative.
    const UNITS: [f64; 2];

    fn of(value: f32) -> Self;
    fn narrow(self) -> f32;
}

/// Half the distance from 1 to the next f32.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;

impl Value for f32 {
    const UNITS: [f64; 2] = [UNIT, 0.0];

    fn of(value: f32) -> f32 {
        value
    }

    fn narrow(self) -> f32 {
        self
    }
}

impl Value for f16 {
    /// Hardware that multiplies matrices may cut sums off where it could round them.
    const UNITS: [f64; 2] = [4.0 * UNIT, 1.0 / 2048.0];

    fn of(value: f32) -> f16 {
        f16::from_f32(value)
    }

    fn narrow(self) -> f32 {
        self.to_f32()
    }
}

/// Results of each density that are compared with sums in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Check {
    /// None; every result is compared with the dense product still
    None,
    /// 1,000 of them, the same ones in every run
    Sample,
    /// All of them
    All,
}

const SAMPLE: usize = 1000;

/// What a result of type T that has so many products in its sum may be off, where their absolute values add up to `absolute`.
fn bound<T: Value>(terms: usize, absolute: f64) -> f64 {
    /// Below it f16 has fewer digits.
    const SMALLEST: f64 = 1.0 / (1 << 14) as f64;
    let [sum, stored] = T::UNITS;
    let depth = (terms.min(512) + terms.div_ceil(480)) as f64 * sum;
    depth / (1.0 - depth) * absolute + stored * absolute.max(SMALLEST)
}

/// The results of a density with those of the dense product with the same weights. `absolute` is the product of the absolute values.
pub fn against_dense<T: Value>(
    sparse: &Ragged<T>,
    dense: &Ragged<T>,
    absolute: &Ragged<f32>,
    inputs: usize,
) -> Result<(), String> {
    let all = sparse.values().iter().zip(dense.values());
    let wrong = all
        .zip(absolute.values())
        .position(|((&sparse, &dense), &sum)| {
            let off = (f64::from(sparse.narrow()) - f64::from(dense.narrow())).abs();
            // Each side may be off by its bound, and so may be the sum that both are relative to.
            let most = 2.0 * bound::<T>(inputs, 1.001 * f64::from(sum));
            // A NaN is off, too.
            off.is_nan() || off > most
        });
    match wrong {
        None if sparse.layout() == dense.layout() => Ok(()),
        None => Err("is of another shape than the dense product".to_owned()),
        Some(at) => Err(format!(
            "result {at} is {} where the dense product has {}",
            sparse.values()[at],
            dense.values()[at]
        )),
    }
}

/// Some of the results with sums in f64; how many.
pub fn against_sums<T: Value>(
    check: Check,
    rows: &Ragged<T>,
    weights: &Bsr<T>,
    results: &Ragged<T>,
) -> Result<usize, String> {
    let [outputs, inputs] = weights.topology().shape();
    let dense = weights.to_dense().map_err(|error| error.to_string())?;
    let (x, w, y) = (rows.values(), dense.values(), results.values());
    let mut random = fastrand::Rng::with_seed(7);
    let places: Vec<usize> = match check {
        Check::None => Vec::new(),
        Check::Sample if y.len() > SAMPLE => (0..SAMPLE).map(|_| random.usize(..y.len())).collect(),
        Check::Sample | Check::All => (0..y.len()).collect(),
    };
    let wrong = places.par_iter().find_map_first(|&at| {
        let x = &x[at / outputs * inputs..][..inputs];
        let w = &w[at % outputs * inputs..][..inputs];
        let wide = |value: T| f64::from(value.narrow());
        let products = || x.iter().zip(w).map(|(&x, &w)| wide(x) * wide(w));
        let (sum, absolute) = (products().sum::<f64>(), products().map(f64::abs).sum());
        let off = (wide(y[at]) - sum).abs();
        let wrong = off.is_nan() || off > bound::<T>(inputs, absolute);
        wrong.then(|| format!("result {at} is {} where sums in f64 give {sum}", y[at]))
    });
    wrong.map_or(Ok(places.len()), Err)
}

#[cfg(test)]
mod tests {
    use vsla::{Shape, Topology};

    use super::*;

    fn matrix(rows: usize, columns: usize, values: Vec<f32>) -> Ragged<f32> {
        Ragged::from_shapes(values, 2, [Shape::new(&[rows, columns]).unwrap()]).unwrap()
    }

    #[test]
    fn a_wrong_result_is_noticed() {
        let topology = Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap();
        let weights = Bsr::new(&topology, vec![0.5; 64]).unwrap();
        let rows = matrix(1, 8, vec![1.0; 8]);
        let right = matrix(1, 8, vec![4.0; 8]);
        assert_eq!(against_sums(Check::All, &rows, &weights, &right), Ok(8));
        assert_eq!(against_sums(Check::None, &rows, &weights, &right), Ok(0));
        assert_eq!(against_dense(&right, &right, &right, 8), Ok(()));
        for wrong in [4.0001, f32::NAN, 0.0] {
            let mut values = vec![4.0; 8];
            values[5] = wrong;
            let wrong = matrix(1, 8, values);
            let text = against_sums(Check::Sample, &rows, &weights, &wrong).unwrap_err();
            assert!(text.starts_with("result 5 is "), "{text}");
            assert!(against_dense(&wrong, &right, &right, 8).is_err());
            assert!(against_dense(&right, &wrong, &right, 8).is_err());
        }
        let shorter = matrix(1, 7, vec![4.0; 7]);
        assert!(against_dense(&shorter, &right, &right, 8).is_err());

        let half = |value: f32| f16::of(value);
        let (rows, near) = (
            rows.cast(half),
            right.cast(|_| f16::from_f32(4.0 + 1.0 / 512.0)),
        );
        let weights = Bsr::new(&topology, vec![f16::from_f32(0.5); 64]).unwrap();
        assert_eq!(
            against_sums(Check::All, &rows, &weights, &right.cast(half)),
            Ok(8)
        );
        let off = right.cast(|_| f16::from_f32(4.01));
        assert!(against_sums(Check::All, &rows, &weights, &off).is_err());
        assert!(against_dense(&near, &right.cast(half), &right, 8).is_ok());
        assert!(against_dense(&off, &right.cast(half), &right, 8).is_err());
    }
}
