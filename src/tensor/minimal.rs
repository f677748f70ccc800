//! The smallest shapes that hold all nonzero values.

use super::Tensor;
use crate::error::Named;
use crate::ops::reduce::Reduction;
use crate::ragged::{Factor, Layout, Ragged, Shape};
use crate::{Result, host};

impl<T: Factor> Tensor<T> {
    /// The smallest box of each element that holds every nonzero value: its extent on an axis is one more than the
    /// largest index with a nonzero value.
    ///
    /// Real types and f16. An element without nonzero values has the shape (0, …, 0). Any rank. A NaN counts as
    /// nonzero; −0 is zero. Respects equivalence: equivalent elements have the same minimal shape. Exact. This call
    /// reads back from the device: it runs the recorded work and returns the shapes, but no values. Cost: values read
    /// once, one word written for each axis of an element.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let matrix = Ragged::from_shapes(vec![1, 0, 0, 0, 2, 0, 0, 0, 0], 2, [Shape::new(&[3, 3])?])?;
    /// let x = Device::cpu().upload(&matrix)?;
    /// # pollster::block_on(async {
    /// assert_eq!(x.minimal_shape().await?.shape(0), Shape::new(&[2, 2])?);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn minimal_shape(&self) -> Result<Layout> {
        self.check_readable().named("minimal_shape")?;
        self.layout_of(self.reduce(Reduction::Box)?.download().await?)
    }

    /// The blocking form of [`minimal_shape`](Self::minimal_shape).
    ///
    /// # Errors
    /// Those of [`minimal_shape`](Self::minimal_shape).
    pub fn minimal_shape_blocking(&self) -> Result<Layout> {
        self.check_readable().named("minimal_shape")?;
        self.layout_of(self.reduce(Reduction::Box)?.download_blocking()?)
    }

    /// Removes the trailing zeros: resizes each element to its [`minimal_shape`](Self::minimal_shape).
    ///
    /// Equivalent elements become equal. No operation does this implicitly, because it reads back: the shapes come back
    /// from the device, as with [`minimal_shape`](Self::minimal_shape), and then the values are copied on it. If all
    /// shapes are already minimal, nothing is copied. Bit patterns are preserved. Not differentiable, because shapes
    /// depend on values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 0.0, 2.0, 0.0], vec![0.0]])?)?;
    /// # pollster::block_on(async {
    /// assert_eq!(x.shrink().await?.download().await?.to_vecs()?, [vec![3.0, 0.0, 2.0], vec![]]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`minimal_shape`](Self::minimal_shape).
    pub async fn shrink(&self) -> Result<Tensor<T>> {
        self.shrunk(self.minimal_shape().await)
    }

    /// The blocking form of [`shrink`](Self::shrink).
    ///
    /// # Errors
    /// Those of [`minimal_shape`](Self::minimal_shape).
    pub fn shrink_blocking(&self) -> Result<Tensor<T>> {
        self.shrunk(self.minimal_shape_blocking())
    }

    fn shrunk(&self, shapes: Result<Layout>) -> Result<Tensor<T>> {
        let made = shapes.and_then(|shapes| self.resize(&shapes));
        made.named("shrink")
    }

    /// The degree of each polynomial Σ x_k tᵏ: the index of its last nonzero coefficient, or `None` for the zero
    /// polynomial, whose degree is −∞.
    ///
    /// Rank 1. Respects equivalence. The degree of a [`conv`](Tensor::conv) is the sum of the degrees, unless the
    /// product of the leading coefficients wraps or underflows to zero. This call reads back from the device, like
    /// [`minimal_shape`](Self::minimal_shape).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 0, 5, 0], vec![7], vec![0, 0], vec![]])?)?;
    /// # pollster::block_on(async {
    /// assert_eq!(x.degree().await?, [Some(2), Some(0), None, None]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for ranks other than 1; those of [`minimal_shape`](Self::minimal_shape).
    pub async fn degree(&self) -> Result<Vec<Option<usize>>> {
        self.layout.check_rank(1).named("degree")?;
        degrees(self.minimal_shape().await)
    }

    /// The blocking form of [`degree`](Self::degree).
    ///
    /// # Errors
    /// Those of [`degree`](Self::degree).
    pub fn degree_blocking(&self) -> Result<Vec<Option<usize>>> {
        self.layout.check_rank(1).named("degree")?;
        degrees(self.minimal_shape_blocking())
    }

    /// The layout with these extents, or this batch's own if they are equal, so that plans cached under it are reused.
    fn layout_of(&self, extents: Ragged<u32>) -> Result<Layout> {
        let rank = self.layout.rank();
        let shapes = extents.values().chunks_exact(rank);
        let layout = Layout::from_shapes(rank, shapes.map(Shape::from_extents_unchecked))?;
        Ok(if layout == self.layout {
            self.layout.clone()
        } else {
            layout
        })
    }
}

fn degrees(minimal: Result<Layout>) -> Result<Vec<Option<usize>>> {
    let op = "degree";
    let minimal = minimal.named(op)?;
    let degrees = minimal.lengths().map(|length| length.checked_sub(1));
    host::exact(degrees).named(op)
}
