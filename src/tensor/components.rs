//! Images: their connected components, tables of these, and holes.

use super::Tensor;
use super::run::Call;
use crate::Result;
use crate::error::Named;
use crate::ops::kit::Neighbours;
use crate::ops::label::Label;
use crate::ops::regions;
use crate::ragged::{DType, Layout, Pixel, Ragged, Scalar, words_of};

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

impl<T: Pixel> Components<T> {
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

/// What is known of the components of labelled images. Made by [`Tensor::regions`].
///
/// Row k of element i is the component with the label k + 1.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Regions<T: Scalar> {
    /// The number of cells of each component: rank 1.
    pub areas: Tensor<u32>,
    /// The smallest box around each component, four numbers: its first row, its first column, and the ends of its rows
    /// and of its columns, which it does not include. Elements of shape (components, 4).
    pub boxes: Tensor<u32>,
    /// The mean row and the mean column of the cells of each component. Elements of shape (components, 2).
    pub centroids: Tensor<f32>,
    /// The value of the first cell of each component: rank 1.
    pub values: Tensor<T>,
}

impl<T: Pixel> Tensor<T> {
    /// The connected components of each element, an image: a label for each cell, and the number of components.
    ///
    /// Two cells are in one component if a path of neighbours that are alike connects them; [`Components`] says which
    /// cells are neighbours, and which are alike. Cells of the background have the label 0. The components of each
    /// element have the labels 1, 2, … in row-major order of their first cells. SciPy calls it `ndimage.label`.
    ///
    /// u8, i32 and u32; rank 2. The labels have this batch's layout, and the numbers of components are a batch of rank
    /// 1 and length 1. An element without cells has no components. Exact, and the same on every device: the labels of
    /// an element do not depend on its batch. Does not respect equivalence: a trailing zero is a cell, which may
    /// connect others or separate them. Not differentiable.
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
            scalars: &words_of(components.background)[..1],
            ..Call::new(&self.device, components.label, &[self.operand()])
        }
        .two()
    }

    /// A table of the components of these images: the area, box, centroid and value of each, in the order of labels.
    ///
    /// `labels` and `numbers` are those of [`label`](Self::label), or others: labels from 1 to the element's number
    /// count, in any order and connected or not, and other labels do not. An element has as many rows as components. A
    /// label that no cell has gives a row of zeros. scikit-image calls it `regionprops_table`.
    ///
    /// This call reads back from the device: it runs the recorded work and reads the numbers of components, because
    /// shapes depend on them, but no labels. u8, i32 and u32; rank 2. An element without cells has no rows. Areas,
    /// boxes and values are exact, and the mean rows and columns are the quotients of exact integers, rounded once. The
    /// bits are the same on every device. Does not respect equivalence, as [`label`](Self::label) does not. Not
    /// differentiable, because shapes depend on values.
    ///
    /// Cost: labels read once, 40 bytes of memory for each component, which are written three times, and 32 bytes of
    /// results.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// use vsla::image::Components;
    ///
    /// let cells = vec![5u32, 5, 0, 0, 5, 3, 9, 0, 3];
    /// let x = Device::cpu().upload(&Ragged::from_shapes(cells, 2, [Shape::new(&[3, 3])?])?)?;
    /// let (labels, numbers) = x.label(Components::of_equal_values())?;
    /// # pollster::block_on(async {
    /// let regions = x.regions(&labels, &numbers).await?;
    /// assert_eq!(regions.areas.download().await?.row(0), [3, 2, 1]);
    /// assert_eq!(regions.boxes.download().await?.row(0), [0, 0, 2, 2, 1, 2, 3, 3, 2, 0, 3, 1]);
    /// assert_eq!(regions.centroids.download().await?.row(0), [1.0 / 3.0, 2.0 / 3.0, 1.5, 2.0, 2.0, 0.0]);
    /// assert_eq!(regions.values.download().await?.row(0), [5, 3, 9]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// Columns of the table are vectors, so that other operations select components: a comparison makes a mask of those
    /// of one colour, [`top_k_at_most`](Tensor::top_k_at_most) finds the largest ones, and [`argsort`](Tensor::argsort)
    /// ranks them. Lists of rows that are read back select rows by [`gather`](Tensor::gather).
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Ragged, Shape};
    /// # use vsla::image::Components;
    /// # let device = Device::cpu();
    /// # let cells = vec![5u32, 5, 0, 0, 5, 3, 5, 0, 3];
    /// # let x = device.upload(&Ragged::from_shapes(cells, 2, [Shape::new(&[3, 3])?])?)?;
    /// # let (labels, numbers) = x.label(Components::of_equal_values())?;
    /// let regions = x.regions_blocking(&labels, &numbers)?;
    /// // Components of value 5: a mask, and their areas, with 0 for the others.
    /// let (five, zero) = (device.upload(&Ragged::from_rows([[5]])?)?, device.upload(&Ragged::from_rows([[0]])?)?);
    /// let mask = regions.values.equal(five.each())?;
    /// let areas = mask.if_else(&regions.areas, zero.each())?;
    /// assert_eq!(areas.download_blocking()?.row(0), [3, 0, 1]);
    /// // The largest of these, and the cells that it has: label 1 is row 0 of the table.
    /// let (largest, row) = areas.top_k_at_most(1, 0)?;
    /// assert_eq!((largest.download_blocking()?.row(0), row.download_blocking()?.row(0)), (&[3][..], &[0][..]));
    /// let cells = labels.equal(row.add_scalar(1)?.each())?;
    /// assert_eq!(cells.download_blocking()?.row(0), [1, 1, 0, 0, 1, 0, 0, 0, 0]);
    /// // All centroids, from the smallest component to the largest.
    /// let ranked = Indices::new(regions.areas.argsort(0)?.download_blocking()?)?;
    /// let centroids = regions.centroids.gather(&ranked)?.download_blocking()?;
    /// assert_eq!(centroids.row(0)[..2], [2.0, 0.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for ranks other than 2, and numbers of another rank than 1;
    /// [`BatchSize`](crate::Error::BatchSize), [`Shape`](crate::Error::Shape) and [`Length`](crate::Error::Length) with
    /// the first element that does not have a label for each cell, or one number;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose components do not fit;
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`WorkLimit`](crate::Error::WorkLimit),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn regions(&self, labels: &Tensor<u32>, numbers: &Tensor<u32>) -> Result<Regions<T>> {
        self.check_labels(labels, numbers)?;
        let numbers = numbers.download().await;
        self.of_numbers(labels, numbers)
    }

    /// [`regions`](Self::regions), blocking the thread.
    ///
    /// # Errors
    /// Those of [`regions`](Self::regions).
    pub fn regions_blocking(
        &self,
        labels: &Tensor<u32>,
        numbers: &Tensor<u32>,
    ) -> Result<Regions<T>> {
        self.check_labels(labels, numbers)?;
        let numbers = numbers.download_blocking();
        self.of_numbers(labels, numbers)
    }

    fn check_labels(&self, labels: &Tensor<u32>, numbers: &Tensor<u32>) -> Result<()> {
        let op = regions::OP;
        self.check_readable().named(op)?;
        self.layout.check_rank(2).named(op)?;
        labels.layout.check_rank(2).named(op)?;
        numbers.layout.check_rank(1).named(op)?;
        for other in [labels, numbers] {
            other.check_readable().named(op)?;
            self.check_device(other).named(op)?;
            self.layout.check_len(other.len()).named(op)?;
        }
        labels.layout.check_shapes(&self.layout).named(op)?;
        let one = std::iter::repeat_n(1, self.len());
        numbers.layout.check_lengths(one).named(op)
    }

    fn of_numbers(&self, labels: &Tensor<u32>, numbers: Result<Ragged<u32>>) -> Result<Regions<T>> {
        let op = regions::OP;
        let rows = numbers.and_then(|numbers| {
            let rows = numbers.values().iter().map(|&number| number as usize);
            Layout::from_lengths(rows)
        });
        let rows = rows.named(op)?;
        let dtype = T::DTYPE;
        let operands = [self.operand(), labels.operand(), self.shapes(&rows)];
        let call = Call::new(&self.device, regions::Regions { dtype }, &operands);
        let results = call.values(&[DType::U32, DType::U32, DType::F32, dtype])?.0;
        let [areas, boxes, centroids, values] = match <[_; 4]>::try_from(results) {
            Ok(results) => results,
            Err(_) => unreachable!("four results"),
        };
        let device = &self.device;
        Ok(Regions {
            areas: areas.typed(device),
            boxes: boxes.typed(device),
            centroids: centroids.typed(device),
            values: values.typed(device),
        })
    }

    /// These images with their holes filled: `value` in each cell of the background that no path of background cells
    /// connects to the border of the image.
    ///
    /// A cell is background if it equals `background`; paths lead over these neighbours. SciPy calls it
    /// `ndimage.binary_fill_holes`, with four neighbours.
    ///
    /// u8, i32 and u32; rank 2. The layout is unchanged. An element without cells stays empty. Exact. Does not respect
    /// equivalence: a trailing zero may close a hole, or open one. Not differentiable. Cost: that of
    /// [`label`](Self::label) for images with two more rows and columns, and five dispatches that read values and write
    /// values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// use vsla::image::Neighbours;
    ///
    /// let cells = vec![3, 3, 3, 0, 3, 0, 3, 0, 3, 3, 3, 0];
    /// let x = Device::cpu().upload(&Ragged::from_shapes(cells, 2, [Shape::new(&[3, 4])?])?)?;
    /// let filled = x.fill_holes(Neighbours::Four, 0, 7)?;
    /// assert_eq!(filled.download_blocking()?.row(0), [3, 3, 3, 0, 3, 7, 3, 0, 3, 3, 3, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element that is too large with a frame; those of
    /// [`label`](Self::label).
    pub fn fill_holes(&self, neighbours: Neighbours, background: T, value: T) -> Result<Tensor<T>> {
        let op = "fill_holes";
        self.layout.check_rank(2).named(op)?;
        let filled = || {
            let one = Layout::from_lengths([1])?;
            let background = self.device.full(&one, background)?;
            let foreground = self.not_equal(background.each())?;
            // A frame of background, whose first cell gives the label 1 to what is connected to it.
            let framed = foreground.pad(&[1; 2], &[1; 2])?;
            let components = Components::of_equal_values().background(1);
            let (labels, _) = framed.label(components.neighbours(neighbours))?;
            let labels = labels.strided_slice(&[(Some(1), Some(-1), 1); 2])?;
            let holes = labels.greater(self.device.full(&one, 1u32)?.each())?;
            holes.if_else(self.device.full(&one, value)?.each(), self)
        };
        filled().named(op)
    }
}
