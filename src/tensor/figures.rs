//! Boxes and lines drawn on images.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::figures::Figures;
use crate::ragged::{Pixel, Ragged};
use crate::{Error, Result};

impl<T: Pixel> Tensor<T> {
    /// Draws the borders of boxes on each image: cells in the first and last rows and columns of a box become its
    /// value.
    ///
    /// A box is `[top, left, bottom, right]`, where bottom and right are one more than the last row and column. Each
    /// element of `boxes` has a row of four numbers for each box, or is one box: [`bounding_box`](Self::bounding_box)
    /// and [`Regions`](crate::image::Regions) have such boxes. Each element of `values` has a number for each box. A
    /// later box is drawn over earlier ones. Parts outside of the image are left out; a box that ends before it begins
    /// has no cells. An image program has [`outline`](crate::image::Image::outline).
    ///
    /// u8, i32 and u32; rank 2. The layout is unchanged. An element without cells or without boxes stays as it is.
    /// Exact. Does not respect equivalence: what leaves an image depends on its size. Not differentiable. Cost: values
    /// read once, written once. On a GPU, each cell also looks through the boxes of its image, from the last one on; if
    /// there are many, boxes are drawn at a cost that grows with their circumference, with two dispatches more.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape};
    /// let device = Device::cpu();
    /// let x = device.full(&Layout::from_shapes(2, [Shape::new(&[4, 5])?])?, 0)?;
    /// let boxes = Ragged::from_shapes(vec![0u32, 0, 4, 4, 2, 2, 9, 9], 2, [Shape::new(&[2, 4])?])?;
    /// let y = x.draw_boxes(&device.upload(&boxes)?, &device.upload(&Ragged::from_rows([[1, 2]])?)?)?;
    /// let y = y.download_blocking()?;
    /// assert_eq!(y.row(0)[..10], [1, 1, 1, 1, 0, 1, 0, 0, 1, 0]);
    /// assert_eq!(y.row(0)[10..], [1, 0, 2, 2, 2, 1, 1, 2, 1, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the images are matrices, the boxes matrices or vectors, and the values
    /// vectors; [`BatchSize`](crate::Error::BatchSize) unless all have as many elements;
    /// [`Argument`](crate::Error::Argument) with the first element whose boxes have not four numbers, and
    /// [`Length`](crate::Error::Length) with the first one that has not a value for each box;
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`WorkLimit`](crate::Error::WorkLimit),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn draw_boxes(&self, boxes: &Tensor<u32>, values: &Tensor<T>) -> Result<Tensor<T>> {
        self.check_device(boxes).named("draw_boxes")?;
        self.check_device(values).named("draw_boxes")?;
        let boxes_drawn = Figures::Boxes { dtype: T::DTYPE };
        let operands = [self.operand(), boxes.operand(), values.operand()];
        Call::new(&self.device, boxes_drawn, &operands).one()
    }

    /// Draws lines on each image: the cells from one cell to another become the line's value.
    ///
    /// A line is `[row, column, last row, last column]`. Both ends are drawn, and may lie outside of the image: the
    /// part outside is left out. A line runs along a row, a column or a diagonal, or is a single cell. This is checked
    /// before anything is drawn, so `lines` is a batch on the host. Each of its elements has a row of four numbers for
    /// each line, or is one line; each element of `values` has a number for each line. A later line is drawn over
    /// earlier ones. An image program has [`line`](crate::image::Image::line).
    ///
    /// u8, i32 and u32; rank 2. The layout is unchanged. An element without cells or without lines stays as it is.
    /// Exact. Does not respect equivalence: what leaves an image depends on its size. Not differentiable. Cost: that of
    /// [`draw_boxes`](Self::draw_boxes), and the lines uploaded.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape};
    /// let device = Device::cpu();
    /// let x = device.full(&Layout::from_shapes(2, [Shape::new(&[3, 4])?])?, 0u32)?;
    /// let lines = Ragged::from_shapes(vec![-1, 0, 1, 2, 2, 9, 2, 2], 2, [Shape::new(&[2, 4])?])?;
    /// let y = x.draw_lines(&lines, &device.upload(&Ragged::from_rows([[5, 6]])?)?)?;
    /// assert_eq!(y.download_blocking()?.row(0), [0, 5, 0, 0, 0, 0, 5, 0, 0, 0, 6, 6]);
    /// let bent = Ragged::from_rows([[0, 0, 1, 2]])?;
    /// let error = x.draw_lines(&bent, &device.upload(&Ragged::from_rows([[5]])?)?).unwrap_err();
    /// assert_eq!((error.kind(), error.element()), ("argument", Some(0)));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) with the first element that has a line of another direction; those of
    /// [`draw_boxes`](Self::draw_boxes).
    pub fn draw_lines(&self, lines: &Ragged<i32>, values: &Tensor<T>) -> Result<Tensor<T>> {
        let op = "draw_lines";
        self.check_device(values).named(op)?;
        let drawn = || {
            for (element, lines) in lines.iter().enumerate() {
                check_directions(lines)
                    .named(op)
                    .map_err(|error| error.at(element))?;
            }
            let lines = self.device.upload(lines)?;
            let lines_drawn = Figures::Lines { dtype: T::DTYPE };
            let operands = [self.operand(), lines.operand(), values.operand()];
            Call::new(&self.device, lines_drawn, &operands).one()
        };
        drawn().named(op)
    }
}

fn check_directions(lines: &[i32]) -> Result<()> {
    for line in lines.chunks_exact(4) {
        let [down, right] = [0, 1].map(|axis| line[2 + axis].abs_diff(line[axis]));
        if down != 0 && right != 0 && down != right {
            let expected = "lines along a row, a column or a diagonal";
            return Err(Error::argument(expected, format!("{line:?}")));
        }
    }
    Ok(())
}
