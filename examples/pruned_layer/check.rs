//! Checks measured results: all of them against the dense product, and some or all against sums in f64.

use rayon::prelude::*;
use vsla::io::Stored;
use vsla::{Bsr, Ragged, f16, scalar::Float};

/// A type for stored weights, rows and results.
pub trait Value: Float + Stored {
    /// Relative error bounds: of a sum of exact products, for each level of the sum; and of rounding a result to this
    /// type.
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
    /// Matrix hardware may truncate sums instead of rounding them.
    const UNITS: [f64; 2] = [4.0 * UNIT, 1.0 / 2048.0];

    fn of(value: f32) -> f16 {
        f16::from_f32(value)
    }

    fn narrow(self) -> f32 {
        self.to_f32()
    }
}

/// How many results of each density to compare with sums in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Check {
    /// None; every result is compared with the dense layer still
    None,
    /// 1,000 of them, the same ones in every run
    Sample,
    /// All of them
    All,
}

const SAMPLE: usize = 1000;

/// The error bound of a result of type T whose sum has `terms` products and a bias, with absolute values that add up to
/// `absolute`. relu does not move two sums farther apart.
fn bound<T: Value>(terms: usize, absolute: f64) -> f64 {
    /// Below this magnitude, f16 has fewer digits.
    const SMALLEST: f64 = 1.0 / (1 << 14) as f64;
    let [sum, stored] = T::UNITS;
    let depth = (terms.min(512) + terms.div_ceil(480) + 1) as f64 * sum;
    depth / (1.0 - depth) * absolute + stored * absolute.max(SMALLEST)
}

/// Compares the results at one density with those of the dense layer with the same weights. `absolute` is the layer of
/// the absolute values.
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
            // Each side may have an error up to its bound, and so may the sum to which both are relative.
            let most = 2.0 * bound::<T>(inputs, 1.001 * f64::from(sum));
            // A NaN counts as wrong.
            off.is_nan() || off > most
        });
    match wrong {
        None if sparse.layout() == dense.layout() => Ok(()),
        None => Err("has a different shape than the dense layer".to_owned()),
        Some(at) => Err(format!(
            "result {at} is {} where the dense layer has {}",
            sparse.values()[at],
            dense.values()[at]
        )),
    }
}

/// Compares some of the results with sums in f64; returns their number.
pub fn against_sums<T: Value>(
    check: Check,
    rows: &Ragged<T>,
    weights: &Bsr<T>,
    bias: &Ragged<T>,
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
        let products = x.iter().zip(w).map(|(&x, &w)| wide(x) * wide(w));
        let terms = products.chain([wide(bias.values()[at % outputs])]);
        let (sum, absolute) = terms.fold((0.0, 0.0), |(sum, absolute): (f64, f64), term| {
            (sum + term, absolute + term.abs())
        });
        let right = sum.max(0.0);
        let off = (wide(y[at]) - right).abs();
        let wrong = off.is_nan() || off > bound::<T>(inputs, absolute);
        wrong.then(|| format!("result {at} is {} where sums in f64 give {right}", y[at]))
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
        // A row of ones: 8 · 0.5 + 1, and in the last column 8 · 0.5 − 6.
        let topology = Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap();
        let weights = Bsr::new(&topology, vec![0.5; 64]).unwrap();
        let rows = matrix(1, 8, vec![1.0; 8]);
        let vector = |most, last| [[most; 7].as_slice(), &[last]].concat();
        let bias = Ragged::from_rows([vector(1.0, -6.0)]).unwrap();
        let right = matrix(1, 8, vector(5.0, 0.0));
        let absolute = matrix(1, 8, vector(5.0, 10.0));
        let sums =
            |check, results: &Ragged<f32>| against_sums(check, &rows, &weights, &bias, results);
        let dense =
            |sparse: &Ragged<f32>, dense: &Ragged<f32>| against_dense(sparse, dense, &absolute, 8);
        assert_eq!(sums(Check::All, &right), Ok(8));
        assert_eq!(sums(Check::None, &right), Ok(0));
        assert_eq!(dense(&right, &right), Ok(()));
        for (at, wrong) in [(5, 5.0001), (5, f32::NAN), (5, 0.0), (5, 4.0), (7, -2.0)] {
            let mut values = right.values().to_vec();
            values[at] = wrong;
            let wrong = matrix(1, 8, values);
            let text = sums(Check::Sample, &wrong).unwrap_err();
            assert!(text.starts_with(&format!("result {at} is ")), "{text}");
            assert!(dense(&wrong, &right).is_err());
            assert!(dense(&right, &wrong).is_err());
        }
        let shorter = matrix(1, 7, vec![5.0; 7]);
        assert!(dense(&shorter, &right).is_err());

        let half = |batch: &Ragged<f32>| batch.cast(f16::of).unwrap();
        let weights = Bsr::new(&topology, vec![f16::from_f32(0.5); 64]).unwrap();
        let sums = |results: &Ragged<f16>| {
            against_sums(Check::All, &half(&rows), &weights, &half(&bias), results)
        };
        let dense = |sparse: &Ragged<f16>| against_dense(sparse, &half(&right), &absolute, 8);
        assert_eq!(sums(&half(&right)), Ok(8));
        let [near, off] = [5.004, 5.02].map(|value| half(&matrix(1, 8, vector(value, 0.0))));
        assert!(dense(&near).is_ok() && sums(&near).is_err());
        assert!(dense(&off).is_err() && sums(&off).is_err());
    }
}
