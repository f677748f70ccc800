//! Results of convolutions of boxes, in every form in which they can be computed.

use vsla::{Pairing, Ragged, conv::ConvMethod};

use super::depth;
use crate::support::compare::normwise;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected};
use crate::support::reference::{self, Sums};

/// With the method that the library chooses.
pub(super) fn plain<T: Number>(correlate: bool) -> Binary<T, T> {
    macro_rules! binary {
        ($op:ident) => {
            Binary {
                name: stringify!($op),
                run: |x, y| x.$op(y),
                paired: Some(|pair| pair.$op()),
                expected: Some(|a, b, pairs| {
                    let sums = reference::$op(&widened(a), &widened(b), pairs);
                    if T::DTYPE != vsla::scalar::DType::F32 {
                        return Expected::sums::<T>(sums, depth);
                    }
                    let norms =
                        |batch: &Ragged<T>| batch.cast(|value| value.as_f64() as f32).unwrap();
                    let sums = as_floats::<T>(sums);
                    let direct = sums.bounds(depth);
                    let bounds = normwise(&sums, &norms(a), &norms(b), pairs);
                    let bounds = bounds.into_iter().zip(direct).map(|(x, y)| x.max(y));
                    Expected::inexact(sums.values, bounds.collect())
                }),
                spreads: true,
                series_only: false,
            }
        };
    }
    match correlate {
        false => binary!(conv),
        true => binary!(correlate),
    }
}

fn as_floats<T: Number>(sums: Sums<T::Wide>) -> Sums<f64> {
    Sums {
        values: sums.values.cast(T::compared).unwrap(),
        magnitudes: sums.magnitudes,
        terms: sums.terms,
    }
}

/// f32, directly: integers exactly.
pub(super) fn direct(correlate: bool) -> Binary<f32, f32> {
    macro_rules! binary {
        ($op:ident) => {
            Binary {
                name: "pair",
                run: |x, y| {
                    let pair = x.pair(y, Pairing::Elementwise)?;
                    pair.convolution().method(ConvMethod::Direct).$op()
                },
                paired: Some(|pair| pair.convolution().method(ConvMethod::Direct).$op()),
                expected: Some(|a, b, pairs| {
                    Expected::sums::<f32>(reference::$op(&widened(a), &widened(b), pairs), depth)
                }),
                spreads: true,
                series_only: false,
            }
        };
    }
    match correlate {
        false => binary!(conv),
        true => binary!(correlate),
    }
}

/// f32, by transforms.
pub(super) fn transformed() -> Binary<f32, f32> {
    Binary {
        name: "pair",
        run: |x, y| {
            let pair = x.pair(y, Pairing::Elementwise)?;
            pair.convolution().method(ConvMethod::Fft).conv()
        },
        paired: Some(|pair| pair.convolution().method(ConvMethod::Fft).conv()),
        expected: Some(|a, b, pairs| {
            let sums = reference::conv(&widened(a), &widened(b), pairs);
            let bounds = normwise(&sums, a, b, pairs);
            Expected::inexact(sums.values, bounds)
        }),
        spreads: true,
        series_only: false,
    }
}
