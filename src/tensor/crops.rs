//! Boxes of images that depend on values: the box of all cells other than a background, and crops to such boxes.

use super::Tensor;
use crate::error::Named;
use crate::ops::cells::How;
use crate::ops::reduce::{Reduce, Reduction};
use crate::ragged::{Layout, Pixel, Ragged, Scalar, Shape, words_of};
use crate::{Error, Result, host};

impl<T: Pixel> Tensor<T> {
    /// The smallest box of each image that holds every cell other than the background: `[top, left, bottom, right]`,
    /// the first row and column, and one more than the last ones.
    ///
    /// Each image gives a vector of four numbers, which are 0 if there is no such cell. Nothing is read back. Trailing
    /// zeros count unless they are the background. Cost: values read once, four words written for each image.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let shapes = [Shape::new(&[2, 4])?, Shape::new(&[1, 1])?];
    /// let images = Ragged::from_shapes(vec![0, 0, 0, 0, 0, 5, 0, 6, 0], 2, shapes)?;
    /// let boxes = Device::cpu().upload(&images)?.bounding_box(0)?;
    /// assert_eq!(boxes.download_blocking()?.to_vecs()?, [[1, 1, 2, 4], [0, 0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the elements are matrices; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn bounding_box(&self, background: T) -> Result<Tensor<u32>> {
        let bounds = Reduce {
            reduction: Reduction::Bounds,
            dtype: T::DTYPE,
            axis: None,
        };
        self.unary(bounds, &words_of(background)[..1])
    }

    /// Removes the borders of background of each image: crops it to its [`bounding_box`](Self::bounding_box).
    ///
    /// An image of background alone becomes one of shape (0, 0). Like [`crop`](Tensor::crop), this call reads back from
    /// the device.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![0, 0, 0, 0, 0, 5, 0, 6], 2, [Shape::new(&[2, 4])?])?;
    /// let x = Device::cpu().upload(&image)?;
    /// # pollster::block_on(async {
    /// let y = x.trim(0).await?.download().await?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[1, 3])?, [5, 0, 6].as_slice()));
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`bounding_box`](Self::bounding_box).
    pub async fn trim(&self, background: T) -> Result<Tensor<T>> {
        let op = "trim";
        self.check_readable().named(op)?;
        let boxes = self.bounding_box(background).named(op)?;
        self.cropped(op, boxes.download().await, false)
    }

    /// [`trim`](Self::trim), blocking the thread.
    ///
    /// # Errors
    /// Those of [`bounding_box`](Self::bounding_box).
    pub fn trim_blocking(&self, background: T) -> Result<Tensor<T>> {
        let op = "trim";
        self.check_readable().named(op)?;
        let boxes = self.bounding_box(background).named(op)?;
        self.cropped(op, boxes.download_blocking(), false)
    }
}

impl<T: Scalar> Tensor<T> {
    /// Crops each image to a box that a device holds, `[top, left, bottom, right]`: y\[i, j\] = x\[top + i, left + j\],
    /// for rows from top to before bottom and columns from left to before right.
    ///
    /// Boxes are a batch of vectors of four numbers, such as [`bounding_box`](Tensor::bounding_box) gives. Parts of a
    /// box that lie outside of the image are cut off; a box that ends before it begins is empty. Any element type; bit
    /// patterns are preserved. For one box for all images there is [`slice`](Self::slice).
    ///
    /// The shapes depend on values, so this call reads back from the device: it runs the recorded work and reads the
    /// boxes. Respects equivalence of images. Cost: values inside of boxes read once and written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_shapes((1..=6).collect(), 2, [Shape::new(&[2, 3])?])?)?;
    /// let boxes = device.upload(&Ragged::from_rows([[1u32, 1, 9, 9]])?)?;
    /// # pollster::block_on(async {
    /// let y = x.crop(&boxes).await?.download().await?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[1, 2])?, [5, 6].as_slice()));
    /// let error = x.crop_strict(&boxes).await.unwrap_err();
    /// assert_eq!((error.kind(), error.element()), ("argument", Some(0)));
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the elements are matrices and the boxes vectors;
    /// [`BatchSize`](crate::Error::BatchSize) unless there are as many boxes as images;
    /// [`Length`](crate::Error::Length) with the first box that has not four numbers;
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn crop(&self, boxes: &Tensor<u32>) -> Result<Tensor<T>> {
        self.check_boxes(boxes).named("crop")?;
        self.cropped("crop", boxes.download().await, false)
    }

    /// [`crop`](Self::crop), blocking the thread.
    ///
    /// # Errors
    /// Those of [`crop`](Self::crop).
    pub fn crop_blocking(&self, boxes: &Tensor<u32>) -> Result<Tensor<T>> {
        self.check_boxes(boxes).named("crop")?;
        self.cropped("crop", boxes.download_blocking(), false)
    }

    /// [`crop`](Self::crop) to boxes that must lie inside of their images.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) with the first element whose box does not lie inside, or ends before it
    /// begins; and those of [`crop`](Self::crop).
    pub async fn crop_strict(&self, boxes: &Tensor<u32>) -> Result<Tensor<T>> {
        self.check_boxes(boxes).named("crop_strict")?;
        self.cropped("crop_strict", boxes.download().await, true)
    }

    /// [`crop_strict`](Self::crop_strict), blocking the thread.
    ///
    /// # Errors
    /// Those of [`crop_strict`](Self::crop_strict).
    pub fn crop_strict_blocking(&self, boxes: &Tensor<u32>) -> Result<Tensor<T>> {
        self.check_boxes(boxes).named("crop_strict")?;
        self.cropped("crop_strict", boxes.download_blocking(), true)
    }

    fn check_boxes(&self, boxes: &Tensor<u32>) -> Result<()> {
        self.check_readable()?;
        boxes.check_readable()?;
        self.check_device(boxes)?;
        self.layout.check_rank(2)?;
        if boxes.layout.rank() != 1 {
            return Err(Error::rank("1 for the boxes", boxes.layout.rank()));
        }
        self.layout.check_len(boxes.len())?;
        let fours = std::iter::repeat_n(4, boxes.len());
        boxes.layout.check_lengths(fours)
    }

    fn cropped(
        &self,
        op: &'static str,
        boxes: Result<Ragged<u32>>,
        strict: bool,
    ) -> Result<Tensor<T>> {
        let boxes = boxes.named(op)?;
        let (mut shapes, mut begins) = (
            host::room(self.len()).named(op)?,
            host::room(self.len()).named(op)?,
        );
        for (element, shape) in self.layout.shapes().enumerate() {
            let whole = [shape.extents()[0], shape.extents()[1]];
            let (begin, end) = boxes.row(element).split_at(2);
            let is_inside = |axis: usize| begin[axis] <= end[axis] && end[axis] <= whole[axis];
            if strict && !(is_inside(0) && is_inside(1)) {
                let got = format!("{:?}", boxes.row(element));
                let expected = format!("a box inside of the shape {shape}");
                return Err(Error::argument(expected, got).named(op).at(element));
            }
            let extent = |axis: usize| end[axis].min(whole[axis]).saturating_sub(begin[axis]);
            shapes.push(Shape::from_extents_unchecked(&[extent(0), extent(1)]));
            begins.push([begin[0].into(), begin[1].into()]);
        }
        let layout = Layout::from_shapes(2, shapes)?;
        if layout == self.layout {
            return self.view_as(&self.layout);
        }
        self.cells_in(How::Crop, begins.into(), &layout).named(op)
    }
}
