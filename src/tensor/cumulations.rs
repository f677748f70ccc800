//! Cumulations along an axis (running sums, products, maxima and minima) and differences of neighbours.

use super::Tensor;
use crate::Result;
use crate::error::Named;
use crate::ops::lines::{Cumulate, Cumulation};
use crate::ops::pooling::{Extents, Kind, Pool};
use crate::ops::strided;
use crate::ragged::Factor;

impl<T: Factor> Tensor<T> {
    /// Cumulative sums along an axis: `y_i = x_0 + … + x_i`.
    ///
    /// The shapes do not change; each line has its own length.
    ///
    /// Real types, and f16, which is computed in f32; each of its results is rounded once, which adds half a unit in
    /// the last place to the bound below. An empty line stays empty. Integers wrap. A NaN or an infinity affects only
    /// the results at its own place and later ones of its line. Error bound: |error| ≤ γ_h Σ_{j ≤ i}|x_j|, for lines of
    /// n values with h ≤ 264 + n / 2²⁴; sums of whole numbers are exact while Σ|x_j| is below 2²⁴. The CPU sums in f64.
    /// A GPU may flush subnormal values to 0, and if the sum of a run of consecutive values overflows `f32`, results
    /// from there on are infinite or NaN. Does not respect equivalence: the last sum is repeated at trailing zeros.
    /// Cost: values read once and written once; lines of more than 4,096 values are read twice. Along an axis other
    /// than the last one, shorter lines are read once more, mostly from a cache.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3], vec![], vec![5]])?)?;
    /// assert_eq!(x.cumsum(0)?.download_blocking()?.to_vecs()?, [vec![1, 3, 6], vec![], vec![5]]);
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.cumsum(0)?.download_blocking()?.row(0), [1.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn cumsum(&self, axis: usize) -> Result<Tensor<T>> {
        self.cumulate(Cumulation::Sum, axis)
    }

    /// Cumulative products along an axis: `y_i = x_0 · … · x_i`.
    ///
    /// The shapes do not change; an empty line stays empty.
    ///
    /// Real types, and f16, which is computed and rounded as for [`cumsum`](Self::cumsum). Integers wrap. A NaN, an
    /// infinity or a zero affects only the results at its own place and later ones of its line. Error bound: |error| ≤
    /// γ_i |y_i| + 2⁻¹²⁶ on a GPU, which rounds each of the i products in y_i, as long as the product of every run of
    /// consecutive values up to i is between 2⁻¹²⁶ and 2¹²⁸ in magnitude. If one of them is not, y_i may be 0,
    /// infinite, NaN or imprecise, whatever its own size is. The CPU multiplies in f64. Respects equivalence: results
    /// at trailing zeros are 0. Cost: that of [`cumsum`](Self::cumsum).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2, 3, -4], vec![]])?)?;
    /// assert_eq!(x.cumprod(0)?.download_blocking()?.to_vecs()?, [vec![2, 6, -24], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cumsum`](Self::cumsum).
    pub fn cumprod(&self, axis: usize) -> Result<Tensor<T>> {
        self.cumulate(Cumulation::Product, axis)
    }

    /// The largest value so far along an axis: `y_i = max(x_0, …, x_i)`.
    ///
    /// The shapes do not change; an empty line stays empty.
    ///
    /// Real types and f16; exact. From the first NaN of a line on, results are NaN (without its payload), as in NumPy's
    /// `maximum.accumulate` and PyTorch's `cummax`; −0 is smaller than 0. Does not respect equivalence: the largest
    /// value is repeated at trailing zeros. Cost: that of [`cumsum`](Self::cumsum).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2, 1, 3, 2], vec![]])?)?;
    /// assert_eq!(x.cummax(0)?.download_blocking()?.to_vecs()?, [vec![2, 2, 3, 3], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cumsum`](Self::cumsum).
    pub fn cummax(&self, axis: usize) -> Result<Tensor<T>> {
        self.cumulate(Cumulation::Max, axis)
    }

    /// The smallest value so far along an axis: `y_i = min(x_0, …, x_i)`. Otherwise it behaves like
    /// [`cummax`](Self::cummax).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2.0f32, 1.0, f32::NAN, 0.0]])?)?;
    /// let y = x.cummin(0)?.download_blocking()?;
    /// assert_eq!(y.row(0)[..2], [2.0, 1.0]);
    /// assert!(y.row(0)[2..].iter().all(|y| y.is_nan()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cumsum`](Self::cumsum).
    pub fn cummin(&self, axis: usize) -> Result<Tensor<T>> {
        self.cumulate(Cumulation::Min, axis)
    }

    /// Differences of neighbours along an axis: `y_i = x_(i + 1) − x_i`.
    ///
    /// Shapes: an extent n along the axis becomes n − 1, and 0 if it is 0. NumPy calls it `diff`.
    ///
    /// Real types and f16, which is computed in f32. Integers wrap; floats are rounded once, and a GPU may flush
    /// subnormal values to 0. A NaN or an infinity affects only the two differences that it is part of. Does not
    /// respect equivalence: a trailing zero adds a difference. Cost: values read once and differences written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 4, 9, 16], vec![5], vec![]])?)?;
    /// assert_eq!(x.diff(0)?.download_blocking()?.to_vecs()?, [vec![3, 5, 7], vec![], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the first element whose merged axes do not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn diff(&self, axis: usize) -> Result<Tensor<T>> {
        const OP: &str = "diff";
        self.layout.check_axis(axis).named(OP)?;
        let rank = self.layout.rank();
        let window = match rank - axis {
            1 => Extents::new(&[2]),
            2 => Extents::new(&[2, 1]),
            _ => {
                // The axes after `axis` are merged into one, and so are those before it.
                let merged = strided::layout(self.len(), 3, |element, to| {
                    let axes = [0..axis, axis..axis + 1, axis + 1..rank][to].clone();
                    let extents = axes.map(|i| strided::extent_of(&self.layout, element, i));
                    extents.fold(1, u64::saturating_mul)
                })
                .named(OP)?;
                let shapes = strided::layout(self.len(), rank, |element, i| {
                    let extent = strided::extent_of(&self.layout, element, i);
                    extent.saturating_sub(u64::from(i == axis))
                })
                .named(OP)?;
                return self.reshape(&merged)?.diff(1)?.reshape(&shapes);
            }
        };
        self.unary(
            Pool {
                kind: Kind::Diff,
                dtype: T::DTYPE,
                window,
                strides: Some(match rank - axis {
                    1 => Extents::new(&[1]),
                    _ => Extents::new(&[1, 1]),
                }),
            },
            &[],
        )
    }

    fn cumulate(&self, function: Cumulation, axis: usize) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        let op = Cumulate {
            function,
            dtype,
            axis,
        };
        self.unary(op, &[])
    }
}
