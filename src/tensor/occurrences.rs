//! Elements that are equal, parts that occur in an element, and rows or columns that are kept.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::occurrences::Occurrences;
use crate::ops::reduce::PairReduction;
use crate::ops::strided::extent_of;
use crate::ragged::{DType, Indices, Layout, Ordered, Pixel, Ragged, Scalar};
use crate::{Error, Result, host};

impl<T: Ordered> Tensor<T> {
    /// Whether element i of both batches is the same: 1 if it has the same shape and equal values, otherwise 0, as a
    /// batch of rank 1 and length 1.
    ///
    /// Any rank. −0 equals 0, and an element with a NaN equals nothing, not even itself. Exact. Nothing is read back.
    /// Does not respect equivalence; [`equivalent`](Self::equivalent) does. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2], vec![3], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![1, 2], vec![3, 0], vec![]])?)?;
    /// assert_eq!(a.equal_elements(&b)?.download_blocking()?.to_vecs()?, [[1], [0], [1]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`dot`](Self::dot).
    pub fn equal_elements(&self, other: &Tensor<T>) -> Result<Tensor<u32>> {
        let op = "equal_elements";
        let pair = self.zip(op, other)?;
        if T::DTYPE == DType::F16 {
            // Exact, so that equal values stay equal, and others different.
            let wide = |x: &Tensor<T>| x.to::<f32>().named(op);
            return wide(self)?.equal_elements(&wide(other)?);
        }
        let alike: Tensor<u32> = pair.reduce(PairReduction::Equivalent).named(op)?;
        if self.layout == other.layout {
            return Ok(alike);
        }
        // Elements of two shapes may still be equal up to trailing zeros.
        let shapes = self.layout.shapes().zip(other.layout.shapes());
        let same = host::exact(shapes.map(|(x, y)| u32::from(x == y))).named(op)?;
        let same = Ragged::from_parts(alike.layout.clone(), same)?;
        alike.hadamard(&self.device.upload(&same)?)
    }
}

impl<T: Pixel> Tensor<T> {
    /// The places where a small image occurs exactly: 1 where all its values equal those of the large image below and
    /// to the right, otherwise 0.
    ///
    /// c\[i, j\] = 1 if x\[i + k, j + l\] = template\[k, l\] for all k and l. There is one template for all images, or
    /// one for each. For a template of a × b, an m × n image gives m − a + 1 × n − b + 1 places; extents of 0 if the
    /// template is larger. Does not respect equivalence: trailing zeros add places. Cost: values read once from memory,
    /// the result written once; each place compares values until two differ.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_shapes(vec![1, 2, 1, 3, 1, 2], 2, [Shape::new(&[2, 3])?])?)?;
    /// let small = device.upload(&Ragged::from_shapes(vec![1, 2], 2, [Shape::new(&[1, 2])?])?)?;
    /// let y = x.match_template(&small)?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[2, 2])?, [1, 0, 0, 1].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless all elements are matrices; [`ElementCount`](crate::Error::ElementCount)
    /// unless there is one template or one for each image; [`Argument`](crate::Error::Argument) with the first template
    /// without values; [`DeviceMismatch`](crate::Error::DeviceMismatch), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`WorkLimit`](crate::Error::WorkLimit),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn match_template(&self, template: &Tensor<T>) -> Result<Tensor<u32>> {
        self.check_device(template).named("match_template")?;
        let operands = [self.operand(), template.operand()];
        Call::new(&self.device, Occurrences, &operands).one()
    }
}

impl<T: Scalar> Tensor<T> {
    /// Keeps the slices along an axis whose flag is not 0, such as rows along axis 0 or columns along axis 1, and
    /// removes the others.
    ///
    /// Flags are a batch of vectors, with a number for each slice of the element. Any rank and element type; bit
    /// patterns are preserved. The shapes depend on the flags, so this call reads back from the device: it runs the
    /// recorded work and reads the flags. Cost: along axis 0, the slices that are kept read once and written once;
    /// along other axes, two transposes more.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_shapes((1..=6).collect(), 2, [Shape::new(&[2, 3])?])?)?;
    /// let flags = device.upload(&Ragged::from_rows([[1u32, 0, 7]])?)?;
    /// # pollster::block_on(async {
    /// let y = x.compact(&flags, 1).await?.download().await?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[2, 2])?, [1, 3, 4, 6].as_slice()));
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank; [`Rank`](crate::Error::Rank) unless
    /// flags are vectors; [`BatchSize`](crate::Error::BatchSize) unless there are as many as elements;
    /// [`Length`](crate::Error::Length) with the first element that has another number of slices;
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    #[doc(alias("filter", "boolean_mask"))]
    pub async fn compact(&self, flags: &Tensor<u32>, axis: usize) -> Result<Tensor<T>> {
        self.check_flags(flags, axis)?;
        self.compacted(flags.download().await, axis)
    }

    /// [`compact`](Self::compact), blocking the thread.
    ///
    /// # Errors
    /// Those of [`compact`](Self::compact).
    pub fn compact_blocking(&self, flags: &Tensor<u32>, axis: usize) -> Result<Tensor<T>> {
        self.check_flags(flags, axis)?;
        self.compacted(flags.download_blocking(), axis)
    }

    fn check_flags(&self, flags: &Tensor<u32>, axis: usize) -> Result<()> {
        let op = "compact";
        self.check_readable().named(op)?;
        flags.check_readable().named(op)?;
        self.check_device(flags).named(op)?;
        self.layout.check_axis(axis).named(op)?;
        if flags.layout.rank() != 1 {
            return Err(Error::rank("1 for the flags", flags.layout.rank()).named(op));
        }
        self.layout.check_len(flags.len()).named(op)?;
        let slices = (0..self.len()).map(|element| extent_of(&self.layout, element, axis) as usize);
        flags.layout.check_lengths(slices).named(op)
    }

    fn compacted(&self, flags: Result<Ragged<u32>>, axis: usize) -> Result<Tensor<T>> {
        let op = "compact";
        let flags = flags.named(op)?;
        let made = || {
            let mut kept = host::zeroed(flags.values().len()).named(op)?;
            let mut counts = host::room(self.len()).named(op)?;
            let mut all = 0;
            for flags in flags.iter() {
                let before = all;
                // Without a branch, which would often be predicted wrongly.
                for (&flag, place) in flags.iter().zip(0u32..) {
                    kept[all] = place;
                    all += usize::from(flag != 0);
                }
                counts.push(all - before);
            }
            kept.truncate(all);
            let lists = Ragged::from_parts(Layout::from_lengths(counts)?, kept)?;
            let lists = Indices::new(lists)?;
            if axis == 0 {
                return self.gather(&lists);
            }
            let mut exchanged: Vec<usize> = (0..self.layout.rank()).collect();
            exchanged.swap(0, axis);
            let first = self.transpose(&exchanged)?;
            first.gather(&lists)?.transpose(&exchanged)
        };
        made().named(op)
    }
}
