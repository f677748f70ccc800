//! Stacks, windows and pyramids of elements.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::strided::{Groups, How, Strided, View};
use crate::ragged::{Layout, Scalar, check_rank};
use crate::{Error, Result, host};

/// What a level of a [`pyramid`](Tensor::pyramid) does with its last group if that group is not full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remainder {
    /// Drops it, on every level.
    Discard,
    /// Fills it up with zero slices, so that it counts on the level above.
    Pad,
}

impl<T: Scalar> Tensor<T> {
    /// Stacks all elements into one of shape (k, ambient…), whose slice i is element i, zero-padded to the box that
    /// holds every element.
    ///
    /// A ragged batch holds the same values without the zeros, and no operation of this library needs the zeros: a
    /// dense stack is for other code that needs them. It takes the memory of `layout().padded_total()` values, of which
    /// the fraction [`padding_waste`](Layout::padding_waste) is padding; a stack of more than `most_bytes`, if that is
    /// not `None`, is refused.
    /// An empty element becomes a slice of zeros, and a batch without elements becomes one element of shape (0, …, 0).
    /// Any element type; bit patterns are preserved. Respects equivalence up to the stored box: trailing zeros of
    /// elements become trailing zeros of slices. Cost: values read once, the stack written once; nothing if all shapes
    /// are equal, because the result is then a view.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![10, 20], vec![30, 40, 50], vec![60]])?)?;
    /// let stack = x.stack(1 << 20)?.download_blocking()?;
    /// assert_eq!(stack.shape(0), Shape::new(&[3, 3])?);
    /// assert_eq!(stack.values(), [10, 20, 0, 30, 40, 50, 60, 0, 0]);
    /// assert_eq!(x.stack(None)?.download_blocking()?, stack);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Budget`](Error::Budget) above `most_bytes`; [`Rank`](Error::Rank) for elements of rank 8;
    /// [`SizeOverflow`](Error::SizeOverflow), [`TooLarge`](Error::TooLarge), [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn stack(&self, most_bytes: impl Into<Option<u64>>) -> Result<Tensor<T>> {
        self.stacked("stack", Groups::Counts(vec![self.len()]), most_bytes.into())
    }

    /// Stacks groups of elements: the first `counts[0]` elements become the first stack, the next `counts[1]` the
    /// second, and so on.
    ///
    /// Each stack has the box of its own elements. Otherwise it behaves like [`stack`](Self::stack).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1], vec![2, 3], vec![4]])?)?;
    /// let stacks = x.stack_groups(&[2, 1], 1 << 20)?.download_blocking()?;
    /// assert_eq!((stacks.shape(0), stacks.row(0)), (Shape::new(&[2, 2])?, [1, 0, 2, 3].as_slice()));
    /// assert_eq!((stacks.shape(1), stacks.row(1)), (Shape::new(&[1, 1])?, [4].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) if the counts do not add up to the number of elements; those of
    /// [`stack`](Self::stack).
    pub fn stack_groups(
        &self,
        counts: &[usize],
        most_bytes: impl Into<Option<u64>>,
    ) -> Result<Tensor<T>> {
        let op = "stack_groups";
        let sum = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
        if sum != self.len() {
            return Err(
                Error::argument(format!("counts that add up to {}", self.len()), sum).named(op),
            );
        }
        self.stacked(
            op,
            Groups::Counts(host::copied(counts).named(op)?),
            most_bytes.into(),
        )
    }

    /// Takes stacks apart into their slices, with the shapes of `shapes`: the inverse of [`stack`](Self::stack) and
    /// [`stack_groups`](Self::stack_groups).
    ///
    /// Slices run along the first axis, element after element. `shapes` is the layout of the elements before they were
    /// stacked; a shape may also be larger or smaller than its slice, as for [`resize`](Self::resize). Any element
    /// type; bit patterns are preserved. Cost: the values that stay read once, the result written once; nothing if no
    /// slice changes its shape.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let rows = [vec![10, 20], vec![], vec![60]];
    /// let x = Device::cpu().upload(&Ragged::from_rows(&rows)?)?;
    /// let back = x.stack(None)?.unstack(x.layout())?;
    /// assert_eq!(back.download_blocking()?.to_vecs()?, rows);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) for stacks of rank 1, or shapes that do not have one axis fewer;
    /// [`BatchSize`](Error::BatchSize) unless there is one shape per slice; [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn unstack(&self, shapes: &Layout) -> Result<Tensor<T>> {
        let op = "unstack";
        let slices: Tensor<T> = self.unary(View::Slices(op), &[])?;
        if slices.layout == *shapes {
            return slices.view_as(shapes);
        }
        slices.strided_with_layout(How::Resize(op), shapes)
    }

    /// Sliding windows over the elements as a stream of N tensors: ⌊(N − size) / stride⌋ + 1 windows, none for fewer
    /// than `size` elements.
    ///
    /// Window w is the dense stack of elements `w · stride` to `w · stride + size − 1`, in the box of its own elements.
    ///
    /// Overlapping windows repeat the elements that they share: the memory is about size / stride times that of the
    /// batch, plus the zeros up to each window's box; more than `most_bytes` is refused. Any element type; bit patterns
    /// are preserved. Respects equivalence as [`stack`](Self::stack) does. Cost: values read once for each window that
    /// contains them, the windows written once; nothing if the windows do not overlap and all shapes are equal.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([[1], [2], [3], [4]])?)?;
    /// let windows = x.window(3, 1, 1 << 20)?.download_blocking()?;
    /// assert_eq!(windows.to_vecs()?, [vec![1, 2, 3], vec![2, 3, 4]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a size or a stride of 0; those of [`stack`](Self::stack).
    pub fn window(
        &self,
        size: usize,
        stride: usize,
        most_bytes: impl Into<Option<u64>>,
    ) -> Result<Tensor<T>> {
        let op = "window";
        check_positive("a size", size).named(op)?;
        check_positive("a stride", stride).named(op)?;
        let count = match self.len().checked_sub(size) {
            Some(beyond) => beyond / stride + 1,
            None => 0,
        };
        self.windows(op, (count, size, stride), most_bytes.into())
    }

    /// A hierarchy of non-overlapping windows: level l groups every `sizes[l]` entries of the level below, and level 0
    /// groups the elements.
    ///
    /// Returns all levels, the lowest first; level l has rank r + l + 1.
    ///
    /// The entries left over at the end of a level do not fill a window: [`Remainder::Discard`] drops them, and
    /// [`Remainder::Pad`] fills the window up with zero slices, so that it counts on the level above like any other.
    /// Each level takes about the memory of the one below, plus the zeros up to its windows' boxes; each may take
    /// `most_bytes`. Cost: that of a [`window`](Self::window) for each level, and nothing for a level whose shapes are
    /// all equal.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape, batch::Remainder};
    /// let x = Device::cpu().upload(&Ragged::from_rows((1..=5).map(|i| [i]))?)?;
    /// let levels = x.pyramid(&[2, 2], Remainder::Discard, 1 << 20)?;
    /// assert_eq!(levels[0].download_blocking()?.to_vecs()?, [[1, 2], [3, 4]]);
    /// assert_eq!(levels[1].download_blocking()?.to_vecs()?, [[1, 2, 3, 4]]);
    /// let levels = x.pyramid(&[2, 2], Remainder::Pad, 1 << 20)?;
    /// assert_eq!(levels[0].download_blocking()?.to_vecs()?, [[1, 2], [3, 4], [5, 0]]);
    /// assert_eq!(levels[1].download_blocking()?.to_vecs()?, [[1, 2, 3, 4], [5, 0, 0, 0]]);
    /// assert_eq!(levels[1].layout().shape(1), Shape::new(&[2, 2, 1])?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a size of 0; [`Rank`](Error::Rank) for so many levels that the rank exceeds 8;
    /// those of [`stack`](Self::stack).
    pub fn pyramid(
        &self,
        sizes: &[usize],
        flush: Remainder,
        most_bytes: impl Into<Option<u64>>,
    ) -> Result<Vec<Tensor<T>>> {
        let (op, most_bytes) = ("pyramid", most_bytes.into());
        check_rank(self.layout.rank().saturating_add(sizes.len())).named(op)?;
        for &size in sizes {
            check_positive("a size", size).named(op)?;
        }
        let mut levels: Vec<Tensor<T>> = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let below = levels.last().unwrap_or(self);
            let count = match flush {
                Remainder::Discard => below.len() / size,
                Remainder::Pad => below.len().div_ceil(size),
            };
            let level = below.windows(op, (count, size, size), most_bytes)?;
            levels.push(level);
        }
        Ok(levels)
    }

    fn windows(
        &self,
        op: &'static str,
        (count, size, stride): (usize, usize, usize),
        most_bytes: Option<u64>,
    ) -> Result<Tensor<T>> {
        let groups = Groups::Windows {
            count,
            size,
            stride,
        };
        self.stacked(op, groups, most_bytes)
    }

    fn stacked(&self, op: &'static str, groups: Groups, most: Option<u64>) -> Result<Tensor<T>> {
        let most = most.unwrap_or(u64::MAX);
        let (how, dtype) = (How::Stack { op, groups, most }, T::DTYPE);
        let op = Strided { how, dtype };
        let operands = [self.operand()];
        let (slices, stacked) = Call::new(&self.device, op, &operands).with_layout::<T>()?;
        slices.view_as(&stacked)
    }
}

fn check_positive(what: &str, got: usize) -> Result<()> {
    match got {
        0 => Err(Error::argument(format!("{what} of at least 1"), got)),
        _ => Ok(()),
    }
}
