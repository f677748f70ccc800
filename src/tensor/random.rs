//! Random batches made on a device, and dropout.

use super::create::wide;
use super::run::Call;
use super::{Device, Tensor};
use crate::ops::random::{Dropout, Kind, Random, Stream, Values};
use crate::ragged::{DType, Factor, Float, Layout};
use crate::{Error, Result};

/// The seed of random values.
///
/// [`Device::uniform`], [`Device::normal`] and [`Tensor::dropout`] have no state: each value follows from the seed, the
/// number of its element, its place in the element (in row-major order), and which of the three methods is called. It
/// does not depend on the device, on the shapes of other elements, or on what was drawn before. So the same seed gives
/// the same values again, and independent batches need different seeds.
///
/// Elements are numbered from 0 in each batch. A batch that is made in parts has the same values as one made at once if
/// the elements of each part are numbered as in the whole:
///
/// ```
/// # use vsla::{Device, Layout, batch::Seed};
/// let device = Device::cpu();
/// let whole = device.uniform(&Layout::from_lengths([3, 5, 2])?, 0.0f32, 1.0, 7)?;
/// let part = device.uniform(&Layout::from_lengths([5, 2])?, 0.0f32, 1.0, Seed::from(7).from_element(1))?;
/// assert_eq!(whole.elements(1..3)?.download_blocking()?, part.download_blocking()?);
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// The generator is Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (2011), with the seed as its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seed {
    key: u64,
    element: u32,
}

impl From<u64> for Seed {
    fn from(key: u64) -> Seed {
        Seed { key, element: 0 }
    }
}

impl Seed {
    /// The same seed, for a batch whose first element has this number. Numbers are taken modulo 2³².
    pub fn from_element(self, element: u32) -> Seed {
        Seed { element, ..self }
    }

    fn stream(self) -> Stream {
        Stream {
            seed: self.key,
            element: self.element,
        }
    }
}

impl Device {
    /// Random values, uniform from `low` to before `high`.
    ///
    /// x = low + (high − low) w / 2³², rounded down, for a random 32-bit word w (see [`Seed`]). `low` can occur and
    /// `high` cannot. f32, i32, u32 and f16, with the same bits on every device, because words become values by integer
    /// arithmetic. A float is the largest one that is not above the formula's value, which is computed with an error of
    /// at most 2⁻²⁹ of the larger of |low| and |high|. Of k integers, each has a probability that differs from 1 / k by
    /// less than 2⁻³². An empty element stays empty.
    ///
    /// Cost: the values written once, and ten rounds of Philox for every four values, which on a fast GPU take longer
    /// than writing them.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let x = Device::cpu().uniform(&Layout::from_lengths([1000, 3])?, -1.0f32, 1.0, 42)?.download_blocking()?;
    /// assert!(x.values().iter().all(|x| (-1.0..1.0).contains(x)));
    /// let dice = Device::cpu().uniform(&Layout::from_lengths([100])?, 1, 7, 42)?.download_blocking()?;
    /// assert!((1..7).all(|side| dice.values().contains(&side)));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) unless low < high and both are finite; those of [`upload`](Self::upload).
    pub fn uniform<T: Factor>(
        &self,
        layout: &Layout,
        low: T,
        high: T,
        seed: impl Into<Seed>,
    ) -> Result<Tensor<T>> {
        let ends = [wide(low), wide(high)];
        if ends.iter().flatten().any(|end| !end.is_finite()) {
            let ends = format!("{low} and {high}");
            return Err(Error::argument("finite ends", ends).named("uniform"));
        }
        if low >= high {
            let ends = format!("{low} and {high}");
            return Err(Error::argument("a low end below the high one", ends).named("uniform"));
        }
        let values = match (ends, T::DTYPE) {
            ([Some(from), Some(to)], DType::F16) => {
                let bits = [low, high].map(|end| u32::from(bytemuck::cast::<T, u16>(end)));
                Values::uniform(T::DTYPE, [from, to], bits)
            }
            ([Some(from), Some(to)], _) => {
                Values::uniform(T::DTYPE, [from, to], [low, high].map(bytemuck::cast))
            }
            _ => Values::integers([low, high].map(bytemuck::cast)),
        };
        self.random(Kind::Uniform, layout, values, seed.into())
    }

    /// Random values of a normal distribution.
    ///
    /// x = mean + deviation · z, rounded to the nearest, ties to even. For a random 32-bit word w (see [`Seed`]), |z|
    /// is minus the standard normal quantile of (2 ⌊w / 2⌋ + 1) / 2³³, and z is negative if w is odd. So no value is
    /// more than 6.34 deviations from the mean; the distribution beyond that has a probability of only 2 · 10⁻¹⁰. f32
    /// and f16, with the same bits on every device, because words become values by integer arithmetic; quantiles come
    /// from a table of polynomials, with an error of at most 2⁻²⁷. Values beyond the range of the type are infinite. A
    /// deviation of 0 gives the mean. An empty element stays empty.
    ///
    /// Cost: that of [`uniform`](Self::uniform), with about a third more arithmetic for the quantiles.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let x = Device::cpu().normal(&Layout::from_lengths([100_000])?, 5.0f32, 2.0, 42)?;
    /// let mean = x.mean()?.download_blocking()?.values()[0];
    /// let deviation = x.std()?.download_blocking()?.values()[0];
    /// assert!((mean - 5.0).abs() < 0.05 && (deviation - 2.0).abs() < 0.05);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a mean or deviation that is NaN or infinite, or a negative deviation; those of
    /// [`upload`](Self::upload).
    pub fn normal<T: Float>(
        &self,
        layout: &Layout,
        mean: T,
        deviation: T,
        seed: impl Into<Seed>,
    ) -> Result<Tensor<T>> {
        let [of_mean, of_deviation] = [mean, deviation].map(|x| wide(x).unwrap_or(f64::NAN));
        if !of_mean.is_finite() {
            return Err(Error::argument("a finite mean", mean).named("normal"));
        }
        if !of_deviation.is_finite() || of_deviation < 0.0 {
            let expected = "a finite deviation of at least 0";
            return Err(Error::argument(expected, deviation).named("normal"));
        }
        let values = Values::normal(of_mean, of_deviation);
        self.random(Kind::Normal, layout, values, seed.into())
    }

    fn random<T: Factor>(
        &self,
        kind: Kind,
        layout: &Layout,
        values: Values,
        seed: Seed,
    ) -> Result<Tensor<T>> {
        let random = Random {
            kind,
            dtype: T::DTYPE,
            layout: layout.clone(),
        };
        Call {
            scalars: &values.scalars(T::DTYPE, seed.stream()),
            ..Call::new(self, random, &[])
        }
        .one()
    }
}

impl<T: Float> Tensor<T> {
    /// Makes each value zero with probability p, and divides the others by 1 − p, so that the expected values stay the
    /// same.
    ///
    /// A value is kept if its random 32-bit word (see [`Seed`]) is at least p · 2³², rounded to the nearest. Which
    /// values are kept depends neither on the values nor on the device. For the backward pass, therefore, apply
    /// `dropout` with the same p and seed to the gradient. PyTorch calls it `dropout`. With p = 0, values are
    /// unchanged.
    ///
    /// f32, and f16, which is multiplied in f32 and rounded once. Kept values are multiplied by the f32 nearest to 1 /
    /// (1 − p). Error bound: one unit in the last place of f32, plus, for f16, half a unit in its own last place; on a
    /// GPU, results below 2⁻¹²⁶ may be zero. All other values become +0, even NaN and infinity. Respects equivalence
    /// for vectors only: in matrices, a zero on the last axis moves the values after it to other random words. An empty
    /// element stays empty. Cost: values read once and written once, and ten rounds of Philox for every four
    /// values.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let device = Device::cpu();
    /// let x = device.full(&Layout::from_lengths([1000])?, 3.0f32)?;
    /// let y = x.dropout(0.25, 42)?.download_blocking()?;
    /// let stayed = y.values().iter().filter(|y| **y == 4.0).count();
    /// assert!((700..800).contains(&stayed) && y.values().iter().all(|y| [0.0, 4.0].contains(y)));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) unless 0 ≤ p < 1; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn dropout(&self, p: f32, seed: impl Into<Seed>) -> Result<Tensor<T>> {
        if !(0.0..1.0).contains(&p) {
            let expected = "a probability from 0 to below 1";
            return Err(Error::argument(expected, p).named("dropout"));
        }
        let p = f64::from(p);
        // Below 2³², because p is at most 1 − 2⁻²⁴.
        let least = (p * (1u64 << 32) as f64).round() as u32;
        let scale = (1.0 / (1.0 - p)) as f32;
        let scalars = Dropout::scalars(seed.into().stream(), scale, least);
        self.unary(Dropout { dtype: T::DTYPE }, &scalars)
    }
}
