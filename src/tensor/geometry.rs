//! Images of different sizes in other positions: rotated and reflected, enlarged and reduced, repeated and shifted.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::cells::{By, Cells, How};
use crate::ops::strided::{How as Reads, Turn};
use crate::ragged::{Layout, Scalar, words_of};
use crate::{Result, host};

impl<T: Scalar> Tensor<T> {
    /// Rotates each image by quarter turns, anticlockwise for positive numbers.
    ///
    /// For one turn of an m × n image, y\[i, j\] = x\[j, n − 1 − i\], which is n × m. NumPy calls it `rot90`, and, as
    /// there, elements of a higher rank turn in the plane of their first two axes. [`flip`](Self::flip) along one axis
    /// and [`transpose`](Self::transpose) are the reflections, with [`anti_transpose`](Self::anti_transpose).
    ///
    /// Any element type; bit patterns are preserved. Does not respect equivalence: trailing zeros become leading ones.
    /// An image without values stays without values. Cost: values read once, written once; nothing for a multiple of
    /// four turns.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&image)?;
    /// let y = x.rot90(1)?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[3, 2])?, [3, 6, 2, 5, 1, 4].as_slice()));
    /// assert_eq!(x.rot90(-2)?.download_blocking()?.row(0), [6, 5, 4, 3, 2, 1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for vectors; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn rot90(&self, turns: i64) -> Result<Tensor<T>> {
        let (swapped, backwards) = match turns.rem_euclid(4) {
            0 => (false, [false; 2]),
            1 => (true, [false, true]),
            2 => (false, [true; 2]),
            _ => (true, [true, false]),
        };
        self.turned("rot90", swapped, backwards)
    }

    /// Reflects each image across its antidiagonal, which runs from the lower left to the upper right.
    ///
    /// For an m × n image, y\[i, j\] = x\[m − 1 − j, n − 1 − i\], which is n × m. Otherwise as [`rot90`](Self::rot90).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let y = Device::cpu().upload(&image)?.anti_transpose()?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[3, 2])?, [6, 3, 5, 2, 4, 1].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`rot90`](Self::rot90).
    pub fn anti_transpose(&self) -> Result<Tensor<T>> {
        self.turned("anti_transpose", true, [true; 2])
    }

    fn turned(&self, op: &'static str, swapped: bool, backwards: [bool; 2]) -> Result<Tensor<T>> {
        let turn = Turn {
            op,
            swapped,
            backwards,
        };
        if !swapped && backwards == [false; 2] && self.layout.rank() > 1 {
            return self.view_as(&self.layout);
        }
        self.strided(Reads::Turn(turn))
    }

    /// Enlarges each image: every cell becomes a block of `[rows, columns]` equal cells, y\[i, j\] = x\[i / rows, j /
    /// columns\].
    ///
    /// There is one pair of [`Factors`] for all images, `&[rows, columns]`, or one for each. An m × n image becomes
    /// rows · m × columns · n.
    /// Any element type; bit patterns are preserved. Respects equivalence. Cost: values read once, the result written
    /// once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let images = Ragged::from_shapes(vec![1, 2, 3], 2, [Shape::new(&[1, 2])?, Shape::new(&[1, 1])?])?;
    /// let x = Device::cpu().upload(&images)?;
    /// let y = x.upscale(&[[2, 2], [1, 3]])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![1, 1, 2, 2, 1, 1, 2, 2], vec![3, 3, 3]]);
    /// assert_eq!(x.upscale(&[1, 2])?.download_blocking()?.to_vecs()?, [vec![1, 1, 2, 2], vec![3, 3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the elements are matrices; [`ElementCount`](crate::Error::ElementCount)
    /// unless there is one pair for all images or one for each; [`Argument`](crate::Error::Argument) for a factor of 0;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose result does not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn upscale<'a>(&self, factors: impl Into<Factors<'a>>) -> Result<Tensor<T>> {
        self.cells(How::Upscale, by("upscale", factors.into())?, T::default())
    }

    /// Reduces each image: every block of `[rows, columns]` cells becomes its first cell, y\[i, j\] = x\[rows · i,
    /// columns · j\].
    ///
    /// Extents are divided by the factors and rounded up, so blocks at the lower and right border may be smaller. There
    /// is one pair of factors for all images, or one for each. Any element type; bit patterns are preserved. Respects
    /// equivalence. Cost: the cells that are kept, with the memory sectors around them, read once; the result written
    /// once. For the largest cell or the mean of every block there is [`pooling`](Tensor::pooling).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes((1..=9).collect(), 2, [Shape::new(&[3, 3])?])?;
    /// let y = Device::cpu().upload(&image)?.downscale(&[2, 1])?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[2, 3])?, [1, 2, 3, 7, 8, 9].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upscale`](Self::upscale).
    pub fn downscale<'a>(&self, factors: impl Into<Factors<'a>>) -> Result<Tensor<T>> {
        self.cells(
            How::Downscale,
            by("downscale", factors.into())?,
            T::default(),
        )
    }

    /// Repeats each image: `[rows, columns]` copies side by side, y\[i, j\] = x\[i mod m, j mod n\] for an m × n image.
    ///
    /// There is one pair of numbers for all images, or one for each; 0 copies have no values. NumPy calls it `tile`.
    /// Any element type; bit patterns are preserved. Does not respect equivalence: trailing zeros come between copies.
    /// Cost: values read once from memory, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![1, 2], 2, [Shape::new(&[1, 2])?])?;
    /// let y = Device::cpu().upload(&image)?.tile(&[2, 2])?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[2, 4])?, [1, 2, 1, 2, 1, 2, 1, 2].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upscale`](Self::upscale), except for 0.
    pub fn tile<'a>(&self, repeats: impl Into<Factors<'a>>) -> Result<Tensor<T>> {
        self.cells(How::Tile, by("tile", repeats.into())?, T::default())
    }

    /// Shifts each image by `[down, right]` cells, y\[i, j\] = x\[i − down, j − right\], within its own borders.
    ///
    /// There is one pair of shifts for all images, or one for each; negative ones shift up and left. Cells that leave
    /// the image are lost, and those that become vacant take the value `fill`. To enlarge images instead, use
    /// [`pad`](Self::pad). Any element type; bit patterns are preserved. Does not respect equivalence: what leaves an
    /// image depends on its size. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let y = Device::cpu().upload(&image)?.translate(&[[1, -1]], 9)?.download_blocking()?;
    /// assert_eq!(y.row(0), [9, 9, 9, 2, 3, 9]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upscale`](Self::upscale), except for 0 and the sizes.
    pub fn translate(&self, shifts: &[[i64; 2]], fill: T) -> Result<Tensor<T>> {
        let by = host::copied(shifts).named("translate")?;
        self.cells(How::Translate, by.into(), fill)
    }

    /// Cells at other places, and `fill` at places that no cell comes to.
    pub(crate) fn cells(&self, how: How, by: By, fill: T) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        let cells = Cells { how, by, dtype };
        self.unary(cells, &words_of(fill))
    }

    /// The same in these shapes, with zeros.
    pub(crate) fn cells_in(&self, how: How, by: By, layout: &Layout) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        let operands = [self.operand(), self.shapes(layout)];
        let cells = Cells { how, by, dtype };
        Call {
            scalars: &[0; 2],
            ..Call::new(&self.device, cells, &operands)
        }
        .one()
    }
}

/// Numbers of rows and columns, `&[rows, columns]` for all images or `&[[rows, columns], ..]` with a pair for each.
///
/// [`upscale`](Tensor::upscale), [`downscale`](Tensor::downscale) and [`tile`](Tensor::tile) take either.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a>(&'a [[usize; 2]]);

impl<'a> From<&'a [usize; 2]> for Factors<'a> {
    fn from(all: &'a [usize; 2]) -> Self {
        Factors(std::slice::from_ref(all))
    }
}

impl<'a, const N: usize> From<&'a [[usize; 2]; N]> for Factors<'a> {
    fn from(each: &'a [[usize; 2]; N]) -> Self {
        Factors(each)
    }
}

impl<'a> From<&'a [[usize; 2]]> for Factors<'a> {
    fn from(each: &'a [[usize; 2]]) -> Self {
        Factors(each)
    }
}

impl<'a> From<&'a Vec<[usize; 2]>> for Factors<'a> {
    fn from(each: &'a Vec<[usize; 2]>) -> Self {
        Factors(each)
    }
}

/// Factors as pairs of numbers.
fn by(op: &'static str, Factors(factors): Factors<'_>) -> Result<By> {
    let mut by = host::room(factors.len()).named(op)?;
    let signed = |factor: usize| i64::try_from(factor).unwrap_or(i64::MAX);
    by.extend(factors.iter().map(|pair| pair.map(signed)));
    Ok(by.into())
}
