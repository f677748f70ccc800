//! Images: their connected components.

use super::Tensor;
use super::run::Call;
use crate::Result;
use crate::ops::Op;
use crate::ops::label::Label;
use crate::ops::neighbours::Neighbours;
use crate::ragged::Integer;

/// Which cells of an image form a component: those that are connected by neighbours that are alike, except cells of the
/// background.
///
/// ```
/// # use vsla::{Device, Ragged, Shape};
/// use vsla::image::{Components, Neighbours};
///
/// let image = Ragged::from_shapes(vec![1u32, 2, 9, 9, 9, 2], 2, [Shape::new(&[2, 3])?])?;
/// let x = Device::cpu().upload(&image)?;
/// let labels = |components| -> vsla::Result<_> { Ok(x.label(components)?.0.download_blocking()?.values().to_vec()) };
/// assert_eq!(labels(Components::of_equal_values().background(9))?, [1, 2, 0, 0, 0, 3]);
/// let diagonal = Components::of_foreground().background(9).neighbours(Neighbours::Eight);
/// assert_eq!(labels(diagonal)?, [1, 1, 0, 0, 0, 1]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Components<T> {
    label: Label,
    background: T,
}

impl<T: Integer> Components<T> {
    /// Neighbours are alike if their values are equal. The background is 0, and a cell has four neighbours.
    pub fn of_equal_values() -> Components<T> {
        Components::new(false)
    }

    /// Neighbours are alike if neither is background, whatever their values. The background is 0, and a cell has four
    /// neighbours.
    pub fn of_foreground() -> Components<T> {
        Components::new(true)
    }

    fn new(foreground: bool) -> Components<T> {
        let neighbours = Neighbours::Four;
        let label = Label {
            neighbours,
            foreground,
        };
        Components {
            label,
            background: T::default(),
        }
    }

    /// The same with these neighbours.
    #[must_use]
    pub fn neighbours(self, neighbours: Neighbours) -> Components<T> {
        let label = Label {
            neighbours,
            ..self.label
        };
        Components { label, ..self }
    }

    /// The same with this value as the background.
    #[must_use]
    pub fn background(self, background: T) -> Components<T> {
        Components { background, ..self }
    }
}

impl<T: Integer> Tensor<T> {
    /// The connected components of each element, an image: a label for each cell, and the number of components.
    ///
    /// Two cells are in one component if a path of neighbours that are alike connects them; [`Components`] says which
    /// cells are neighbours, and which are alike. Cells of the background have the label 0. The components of each
    /// element have the labels 1, 2, … in row-major order of their first cells. SciPy calls it `ndimage.label`.
    ///
    /// i32 and u32; rank 2. The labels have this batch's layout, and the numbers of components are a batch of rank 1
    /// and length 1. An element without cells has no components. Exact, and the same on every device: the labels of an
    /// element do not depend on its batch. Does not respect equivalence: a trailing zero is a cell, which may connect
    /// others or separate them. Not differentiable.
    ///
    /// Cost: on a GPU, an image of at most 64 words of 32 cells of a row (64 × 32 cells, 45 × 32, 32 × 64) takes one
    /// dispatch, in which values are read once and labels written once: 8 bytes for each cell. A larger image takes
    /// five dispatches, 16 bytes for each cell and half a byte for a map of its components, and 4 bytes of memory for
    /// each cell of the batch. On the CPU, values are read once, and labels written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// use vsla::image::Components;
    ///
    /// // Two images, of 3 × 4 and 1 × 3 cells.
    /// let cells = vec![7u32, 0, 7, 7, 7, 0, 0, 7, 0, 3, 0, 0, 5, 0, 5];
    /// let images = Ragged::from_shapes(cells, 2, [Shape::new(&[3, 4])?, Shape::new(&[1, 3])?])?;
    /// let x = Device::cpu().upload(&images)?;
    /// let (labels, numbers) = x.label(Components::of_equal_values())?;
    /// let labels = labels.download_blocking()?;
    /// assert_eq!(labels.row(0), [1, 0, 2, 2, 1, 0, 0, 2, 0, 3, 0, 0]);
    /// assert_eq!(labels.row(1), [1, 0, 2]);
    /// assert_eq!(numbers.download_blocking()?.to_vecs()?, [vec![3], vec![2]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for ranks other than 2; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`WorkLimit`](crate::Error::WorkLimit),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn label(&self, components: Components<T>) -> Result<(Tensor<u32>, Tensor<u32>)> {
        Call {
            scalars: &[bytemuck::cast(components.background)],
            ..Call::new(&self.device, Op::Label(components.label), &[self.operand()])
        }
        .two()
    }
}
