//! Conversions between batches and arrays of the `ndarray` crate.

use ndarray::{ArrayD, ArrayView, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, Slice};

use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Layout, Ragged, Shape};

/// Available with the feature `ndarray`.
impl<T: Copy> Ragged<T> {
    /// Element `i` as an array view that borrows its values. Copies nothing.
    ///
    /// ```
    /// use ndarray::array;
    /// use vsla::{Ragged, Shape};
    ///
    /// let shapes = [Shape::new(&[2, 2])?, Shape::new(&[1, 3])?];
    /// let batch = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6, 7], 2, shapes)?;
    /// assert_eq!(batch.array(0)?, array![[1, 2], [3, 4]].into_dyn());
    /// assert_eq!(batch.array(1)?.t(), array![[5], [6], [7]].into_dyn());
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] for an element without values whose other extents overflow when `ndarray` multiplies
    /// them.
    ///
    /// # Panics
    /// When there is no element `i`.
    pub fn array(&self, i: usize) -> Result<ArrayViewD<'_, T>> {
        let extents = extents(&self.shape(i));
        let view = ArrayViewD::from_shape(extents, self.row(i));
        view.map_err(|_| too_large("array", Some(i), self.shape(i).to_string()))
    }

    /// Like [`array`](Self::array), but mutable.
    ///
    /// # Errors
    /// Those of [`array`](Self::array).
    ///
    /// # Panics
    /// When there is no element `i`.
    pub fn array_mut(&mut self, i: usize) -> Result<ArrayViewMutD<'_, T>> {
        let shape = self.shape(i);
        let view = ArrayViewMutD::from_shape(extents(&shape), &mut self[i]);
        view.map_err(|_| too_large("array_mut", Some(i), shape.to_string()))
    }

    /// A batch of arrays of rank `rank`, copied end to end in one pass. Arrays may have any memory order.
    ///
    /// ```
    /// use ndarray::array;
    /// use vsla::Ragged;
    ///
    /// let (a, b) = (array![[1, 2], [3, 4]], array![[5, 6, 7]]);
    /// let batch = Ragged::from_arrays(2, [a.t(), b.view()])?;
    /// assert_eq!(batch.values(), [1, 3, 2, 4, 5, 6, 7]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank outside 1 to 8, and for the first array of a different rank; [`Error::SizeOverflow`]
    /// names the array that is too large, or at which the total exceeds 2³² − 1.
    pub fn from_arrays<'a, D: Dimension>(
        rank: usize,
        arrays: impl IntoIterator<Item = ArrayView<'a, T, D>>,
    ) -> Result<Self>
    where
        T: 'a,
    {
        const OP: &str = "from_arrays";

        let arrays = arrays.into_iter();
        let mut shapes = host::promised(arrays.size_hint().0).named(OP)?;
        let mut values = Vec::new();
        for (element, array) in arrays.enumerate() {
            if array.ndim() != rank {
                return Err(Error::rank(rank, array.ndim()).named(OP).at(element));
            }
            let shape = Shape::new(array.shape()).map_err(|error| match error {
                Error::SizeOverflow { what, .. } => too_large(OP, Some(element), what),
                other => other,
            })?;
            host::push(&mut shapes, shape).named(OP)?;
            host::reserve(&mut values, array.len()).named(OP)?;
            append(&mut values, array.into_dyn());
        }
        Ragged::from_shapes(values, rank, shapes)
    }

    /// The batch as one dense array, with one axis more than an element.
    ///
    /// Every element is at the origin of a box that fits all elements, with `fill` in the rest of the box. Equals
    /// [`to_padded`](Self::to_padded) as an array, at the same cost.
    ///
    /// ```
    /// use ndarray::array;
    /// use vsla::Ragged;
    ///
    /// let batch = Ragged::from_rows([vec![1, 2, 3], vec![], vec![4]])?;
    /// let padded = batch.to_padded_array(0)?;
    /// assert_eq!(padded, array![[1, 2, 3], [0, 0, 0], [4, 0, 0]].into_dyn());
    /// assert_eq!(Ragged::from_padded_array(padded.view(), batch.layout())?, batch);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] when the padded array exceeds the address space.
    pub fn to_padded_array(&self, fill: T) -> Result<ArrayD<T>> {
        const OP: &str = "to_padded_array";

        let layout = self.layout();
        let large = || too_large(OP, None, format!("a padded array of {layout}"));
        let bytes = layout
            .padded_total()
            .checked_mul(size_of::<T>().max(1) as u64);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(large());
        }
        let mut extents = vec![self.len()];
        extents.extend(layout.ambient_extents().iter().map(|&n| n as usize));
        ArrayD::from_shape_vec(extents, self.to_padded(fill)?).map_err(|_| large())
    }

    /// The elements of a padded array: for element i, the box at the origin of `array[i]` with the layout's extents.
    ///
    /// For rows, pass a matrix and `Layout::from_lengths(lengths)`. Copies only the values of the elements; the batch
    /// shares `layout`.
    ///
    /// # Errors
    /// [`Error::Rank`] unless the array has one axis more than the elements; [`Error::ValueCount`] unless it has one
    /// box per element; [`Error::Shape`] with the first element that does not fit in its box.
    pub fn from_padded_array<D: Dimension>(
        array: ArrayView<'_, T, D>,
        layout: &Layout,
    ) -> Result<Self> {
        const OP: &str = "from_padded_array";

        if array.ndim() != layout.rank() + 1 {
            return Err(Error::rank(layout.rank() + 1, array.ndim()).named(OP));
        }
        let array = array.into_dyn();
        let space = &array.shape()[1..];
        if array.shape()[0] != layout.len() {
            return Err(Error::value_count(
                space.iter().product::<usize>().saturating_mul(layout.len()),
                array.len(),
            )
            .named(OP));
        }
        let fits = |shape: &Shape| {
            let mut extents = shape.extents().iter().zip(space);
            extents.all(|(&extent, &most)| extent as usize <= most)
        };
        if let Some(element) = layout.shapes().position(|shape| !fits(&shape)) {
            let most = space.iter().map(usize::to_string).collect::<Vec<_>>();
            return Err(Error::shape(
                element,
                format!("({}) at most", most.join(", ")),
                layout.shape(element),
            )
            .named(OP));
        }
        let mut values = host::room(layout.total()).named(OP)?;
        for (element, shape) in array.axis_iter(Axis(0)).zip(layout.shapes()) {
            let own = element
                .slice_each_axis(|axis| Slice::from(..shape.extents()[axis.axis.index()] as usize));
            append(&mut values, own);
        }
        Ragged::from_parts(layout.clone(), values)
    }
}

fn extents(shape: &Shape) -> IxDyn {
    let extents: Vec<_> = shape.extents().iter().map(|&n| n as usize).collect();
    IxDyn(&extents)
}

/// Appends the array's values in row-major order, whatever its memory order. There is room for them.
fn append<T: Copy>(values: &mut Vec<T>, array: ArrayViewD<'_, T>) {
    match array.as_slice() {
        Some(all) => values.extend_from_slice(all),
        None => {
            for row in array.rows() {
                match row.as_slice() {
                    Some(row) => values.extend_from_slice(row),
                    None => values.extend(row),
                }
            }
        }
    }
}

fn too_large(op: &'static str, element: Option<usize>, what: String) -> Error {
    Error::size_overflow(what).named(op).at(element)
}
