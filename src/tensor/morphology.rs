//! Extremes of cells and their neighbours in images.

use super::Tensor;
use crate::Result;
use crate::ops::kit::Neighbours;
use crate::ops::morphology::Morphology;
use crate::ragged::Pixel;

impl<T: Pixel> Tensor<T> {
    /// The largest value among each cell of an image and its neighbours: y\[i, j\] is the maximum of x\[i, j\] and of
    /// its four or eight neighbours.
    ///
    /// Cells outside of the image are ignored. The layout is unchanged. u8, i32 and u32, exactly. Does not respect
    /// equivalence: of negative values, a trailing zero is the largest. Cost: values read once from memory, the result
    /// written once, in one dispatch.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape, image::Neighbours};
    /// let image = Ragged::from_shapes(vec![0u32, 0, 0, 7, 0, 0, 0, 0, 0], 2, [Shape::new(&[3, 3])?])?;
    /// let x = Device::cpu().upload(&image)?;
    /// let four = x.dilate(Neighbours::Four)?.download_blocking()?;
    /// assert_eq!(four.row(0), [7, 0, 0, 7, 7, 0, 7, 0, 0]);
    /// let eight = x.dilate(Neighbours::Eight)?.download_blocking()?;
    /// assert_eq!(eight.row(0), [7, 7, 0, 7, 7, 0, 7, 7, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the elements are matrices; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn dilate(&self, neighbours: Neighbours) -> Result<Tensor<T>> {
        self.extremes(neighbours, false)
    }

    /// The smallest value among each cell of an image and its neighbours, as [`dilate`](Self::dilate) gives the
    /// largest.
    ///
    /// Cells outside of the image are ignored: a border does not erode an image.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape, image::Neighbours};
    /// let image = Ragged::from_shapes(vec![1u32, 1, 1, 1, 1, 0], 2, [Shape::new(&[2, 3])?])?;
    /// let y = Device::cpu().upload(&image)?.erode(Neighbours::Eight)?.download_blocking()?;
    /// assert_eq!(y.row(0), [1, 0, 0, 1, 0, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`dilate`](Self::dilate).
    pub fn erode(&self, neighbours: Neighbours) -> Result<Tensor<T>> {
        self.extremes(neighbours, true)
    }

    fn extremes(&self, neighbours: Neighbours, least: bool) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        let morphology = Morphology {
            neighbours,
            least,
            dtype,
        };
        self.unary(morphology, &[])
    }
}
