//! Values as labels: replaced by a table, counted, and the different ones of each element.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::histogram::Bins;
use crate::ops::lookup::Lookup;
use crate::ops::runs::Runs;
use crate::ragged::{DType, Layout, Pixel, Ragged, Scalar, words_of};
use crate::{Error, Result};

impl<T: Pixel> Tensor<T> {
    /// Replaces each value by the value of a table at that index, c\[i\] = table\[x\[i\]\].
    ///
    /// There is one table for all elements, or one for each, of any lengths, also 0. The result has the layout of this
    /// batch and the type of the table. Values are never read on the host, so a value beyond the end of its table gives
    /// 0 and no error, as for [`gather`](Tensor::gather); so does a negative one. Bit patterns of the table are
    /// preserved. Does not respect equivalence: the value 0 has an entry. Cost: values read once, one table entry for
    /// each of them, mostly from caches, and the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![2u32, 0, 2], vec![1, 9]])?)?;
    /// let all = device.upload(&Ragged::from_rows([[10, 11, 12]])?)?;
    /// assert_eq!(x.lookup(&all)?.download_blocking()?.to_vecs()?, [vec![12, 10, 12], vec![11, 0]]);
    /// let each = device.upload(&Ragged::from_rows([vec![0.5f32, 1.5, 2.5], vec![3.0, 4.0]])?)?;
    /// assert_eq!(x.lookup(&each)?.download_blocking()?.to_vecs()?, [vec![2.5, 0.5, 2.5], vec![4.0, 0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless tables are vectors; [`ElementCount`](crate::Error::ElementCount) unless
    /// there is one table or one for each element; [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn lookup<U: Scalar>(&self, table: &Tensor<U>) -> Result<Tensor<U>> {
        self.check_device(table).named("lookup")?;
        let lookup = Lookup {
            dtype: U::DTYPE,
            index: T::DTYPE,
        };
        let operands = [self.operand(), table.operand()];
        Call::new(&self.device, lookup, &operands).one()
    }

    /// [`lookup`](Self::lookup) in tables that must have an entry for each value.
    ///
    /// This call reads back from the device: it runs the recorded work, and reads the smallest and the largest value of
    /// each element. Cost: values read twice more.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![2, 0, 2], vec![1, 9]])?)?;
    /// let table = device.upload(&Ragged::from_rows([[10, 11, 12]])?)?;
    /// # pollster::block_on(async {
    /// let error = x.lookup_strict(&table).await.unwrap_err();
    /// assert_eq!((error.kind(), error.element()), ("argument", Some(1)));
    /// let first = x.elements(0..1)?.lookup_strict(&table).await?;
    /// assert_eq!(first.download().await?.row(0), [12, 10, 12]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) with the first element that has a value without an entry; those of
    /// [`lookup`](Self::lookup).
    pub async fn lookup_strict<U: Scalar>(&self, table: &Tensor<U>) -> Result<Tensor<U>> {
        let found = self.lookup_checked(table)?;
        let ends = self.ends("lookup_strict")?;
        let ends = (ends.0.download().await, ends.1.download().await);
        self.check_ends(ends, |element| entries(table, element))
            .named("lookup_strict")?;
        Ok(found)
    }

    /// [`lookup_strict`](Self::lookup_strict), blocking the thread.
    ///
    /// # Errors
    /// Those of [`lookup_strict`](Self::lookup_strict).
    pub fn lookup_strict_blocking<U: Scalar>(&self, table: &Tensor<U>) -> Result<Tensor<U>> {
        let found = self.lookup_checked(table)?;
        let ends = self.ends("lookup_strict")?;
        let ends = (ends.0.download_blocking(), ends.1.download_blocking());
        self.check_ends(ends, |element| entries(table, element))
            .named("lookup_strict")?;
        Ok(found)
    }

    fn lookup_checked<U: Scalar>(&self, table: &Tensor<U>) -> Result<Tensor<U>> {
        self.check_readable().named("lookup_strict")?;
        self.lookup(table).named("lookup_strict")
    }

    /// The smallest and the largest value of each element.
    fn ends(&self, op: &'static str) -> Result<(Tensor<T>, Tensor<T>)> {
        let ends = || Ok((self.min()?, self.max()?));
        ends().named(op)
    }

    /// Checks that all values are from 0 to before the limit of their element.
    fn check_ends(
        &self,
        (least, most): (Result<Ragged<T>>, Result<Ragged<T>>),
        limit: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let [least, most] = [least, most].map(|ends| ends);
        let (least, most) = (least?, most?);
        for element in (0..self.len()).filter(|&element| self.layout.length(element) > 0) {
            let limit = limit(element);
            let ends = [least.row(element)[0], most.row(element)[0]].map(number);
            if let Some(value) = ends
                .into_iter()
                .find(|end| !(0..limit as i64).contains(end))
            {
                let expected = match limit {
                    0 => "no value, because the table is empty".to_owned(),
                    _ => format!("values from 0 to {}", limit - 1),
                };
                return Err(Error::argument(expected, value).at(element));
            }
        }
        Ok(())
    }

    /// How often each of the integers from 0 to `values` − 1 occurs in each element.
    ///
    /// Each element gives a vector of `values` counts, whatever its rank; other values are not counted. Counts are
    /// exact. NumPy and PyTorch call it `bincount`. Does not respect equivalence: a trailing zero counts. Cost: that of
    /// [`histogram`](Tensor::histogram).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2, 0, 2, 3, -1], vec![]])?)?;
    /// assert_eq!(x.bincount(3)?.download_blocking()?.to_vecs()?, [vec![1, 0, 2], vec![0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for 0 values, and for more than 2³¹; otherwise those of
    /// [`histogram`](Tensor::histogram).
    pub fn bincount(&self, values: usize) -> Result<Tensor<u32>> {
        self.counts(Bins::integers(values).named("bincount")?)
    }

    /// [`bincount`](Self::bincount) of values that all must be counted.
    ///
    /// This call reads back from the device: it runs the recorded work, and reads the smallest and the largest value of
    /// each element. Cost: values read twice more.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2, 0, 2], vec![-1]])?)?;
    /// # pollster::block_on(async {
    /// let error = x.bincount_strict(3).await.unwrap_err();
    /// assert_eq!((error.kind(), error.element()), ("argument", Some(1)));
    /// let counts = x.elements(0..1)?.bincount_strict(3).await?;
    /// assert_eq!(counts.download().await?.row(0), [1, 0, 2]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) with the first element that has a value below 0, or of `values` or more;
    /// those of [`bincount`](Self::bincount).
    pub async fn bincount_strict(&self, values: usize) -> Result<Tensor<u32>> {
        let counts = self.bincount_checked(values)?;
        let ends = self.ends("bincount_strict")?;
        let ends = (ends.0.download().await, ends.1.download().await);
        self.check_ends(ends, |_| values).named("bincount_strict")?;
        Ok(counts)
    }

    /// [`bincount_strict`](Self::bincount_strict), blocking the thread.
    ///
    /// # Errors
    /// Those of [`bincount_strict`](Self::bincount_strict).
    pub fn bincount_strict_blocking(&self, values: usize) -> Result<Tensor<u32>> {
        let counts = self.bincount_checked(values)?;
        let ends = self.ends("bincount_strict")?;
        let ends = (ends.0.download_blocking(), ends.1.download_blocking());
        self.check_ends(ends, |_| values).named("bincount_strict")?;
        Ok(counts)
    }

    fn bincount_checked(&self, values: usize) -> Result<Tensor<u32>> {
        self.check_readable().named("bincount_strict")?;
        let counts = self.bincount(values);
        counts.named("bincount_strict")
    }

    /// The value that occurs most often in each element, as a batch of rank 1 and length 1.
    ///
    /// If several values do, it is the lowest of them. An element without values gives 0. Any rank. Does not respect
    /// equivalence: a trailing zero counts. Cost: that of [`sort`](Tensor::sort) for whole elements; then values read
    /// twice and a word for each written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![5, 3, 5, -1, 3], vec![]])?)?;
    /// assert_eq!(x.most_common()?.download_blocking()?.to_vecs()?, [[3], [0]]);
    /// assert_eq!(x.least_common()?.download_blocking()?.to_vecs()?, [[-1], [0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Tensor::sort), except for the axis.
    pub fn most_common(&self) -> Result<Tensor<T>> {
        self.common(Runs::Longest).named("most_common")
    }

    /// The value that occurs least often in each element, of those that occur, as [`most_common`](Self::most_common)
    /// gives the most frequent one.
    ///
    /// # Errors
    /// Those of [`most_common`](Self::most_common).
    pub fn least_common(&self) -> Result<Tensor<T>> {
        self.common(Runs::Shortest).named("least_common")
    }

    fn common(&self, runs: Runs) -> Result<Tensor<T>> {
        let sorted = self.sorted_values()?;
        let lengths: Tensor<u32> = sorted.unary(runs, &[])?;
        // Values are in order, so the first of several places has the lowest value.
        let places = match runs {
            Runs::Shortest => lengths.argmin()?,
            _ => lengths.argmax()?,
        };
        sorted.take(&places, None)
    }

    /// The different values of each element, in ascending order, as vectors.
    ///
    /// Any rank. The shapes depend on the values, so this call reads back from the device: it runs the recorded work
    /// and reads one word for each element. Does not respect equivalence: a trailing zero may be another value. NumPy
    /// calls it `unique`. Cost: that of [`sort`](Tensor::sort) for whole elements; then values read about six times and
    /// written about four times.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![5, 3, 5, -1, 3], vec![]])?)?;
    /// # pollster::block_on(async {
    /// assert_eq!(x.palette().await?.download().await?.to_vecs()?, [vec![-1, 3, 5], vec![]]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Tensor::sort), except for the axis.
    pub async fn palette(&self) -> Result<Tensor<T>> {
        self.check_readable().named("palette")?;
        let parts = self.firsts()?;
        let counts = parts.counts.download().await;
        parts.put_together(counts)
    }

    /// [`palette`](Self::palette), blocking the thread.
    ///
    /// # Errors
    /// Those of [`palette`](Self::palette).
    pub fn palette_blocking(&self) -> Result<Tensor<T>> {
        self.check_readable().named("palette")?;
        let parts = self.firsts()?;
        let counts = parts.counts.download_blocking();
        parts.put_together(counts)
    }

    fn firsts(&self) -> Result<Firsts<T>> {
        let made = || {
            let sorted = self.sorted_values()?;
            let firsts: Tensor<u32> = sorted.unary(Runs::Firsts, &[])?;
            let counts = firsts.sum()?;
            Ok(Firsts {
                sorted,
                firsts,
                counts,
            })
        };
        made().named("palette")
    }

    /// The values of each element in ascending order, as vectors.
    fn sorted_values(&self) -> Result<Tensor<T>> {
        let vectors = Layout::from_offsets(self.layout.offsets().clone());
        self.view_as(&vectors)?.sort(0)
    }
}

/// The entries of an element's table: one table for all elements, or one for each.
fn entries<U: Scalar>(table: &Tensor<U>, element: usize) -> usize {
    table
        .layout
        .length(element.min(table.len().saturating_sub(1)))
}

fn number<T: Pixel>(value: T) -> i64 {
    match T::DTYPE {
        DType::I32 => bytemuck::cast::<T, i32>(value).into(),
        _ => words_of(value)[0].into(),
    }
}

/// Sorted values, masks of the first of equal ones, and how many there are in each element.
struct Firsts<T: Scalar> {
    sorted: Tensor<T>,
    firsts: Tensor<u32>,
    counts: Tensor<u32>,
}

impl<T: Pixel> Firsts<T> {
    fn put_together(&self, counts: Result<Ragged<u32>>) -> Result<Tensor<T>> {
        let made = || {
            let counts = counts?;
            let layout = Layout::from_lengths(counts.values().iter().map(|&n| n as usize))?;
            // Places from 0 on; those of other values wrap to the last number, which no element has.
            let places = self.firsts.cumsum(0)?.hadamard(&self.firsts)?;
            let places = places.add_scalar(u32::MAX)?;
            self.sorted.put(&places, None, &layout)
        };
        made().named("palette")
    }
}
