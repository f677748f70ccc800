//! Matrices whose entries are vectors of any length.

use super::run::Call;
use super::{Device, Tensor};
use crate::error::Named;
use crate::ops::shape_matmul::{Model, ShapeMatmul, Transpose};
use crate::ragged::{Layout, Offsets, Ragged, Real, Shape, element_count};
use crate::{Error, Result, host};

/// A batch of shape-matrices on a device: matrices whose entries are vectors, each with its own length.
///
/// Entries are packed end to end, row by row and matrix by matrix, as the elements of one [`Tensor`] of rank 1. An
/// entry counts as its values followed by zeros; an empty entry is zero. Examples are matrices of polynomials, and
/// matrices of filters: the transfer function of a system with several inputs and outputs.
///
/// With the convolution of entries as product ([`conv_matmul`](Self::conv_matmul)), such matrices form a ring with the
/// unit [`identity`](Self::identity). With the Kronecker product of entries ([`kron_matmul`](Self::kron_matmul)) they
/// do not, because that product is not associative.
///
/// ```
/// use vsla::{Device, product::ShapeMatrix};
///
/// let device = Device::cpu();
/// let a = ShapeMatrix::from_nested(&device, &[[[vec![1.0f32, 2.0], vec![3.0]], [vec![], vec![0.0, 1.0]]]])?;
/// let b = ShapeMatrix::from_nested(&device, &[[[vec![1.0f32], vec![1.0, 1.0]], [vec![2.0, 0.0, 1.0], vec![4.0]]]])?;
/// let ab = a.conv_matmul(&b)?.to_nested_blocking()?;
/// assert_eq!(ab[0][0], [vec![7.0, 2.0, 3.0], vec![13.0, 3.0, 2.0]]);
/// assert_eq!(ab[0][1], [vec![0.0, 2.0, 0.0, 1.0], vec![0.0, 4.0]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct ShapeMatrix<T: Real> {
    entries: Tensor<T>,
    /// The rows and columns of each matrix; its values stand for the entries. Plans for these matrices are cached under
    /// this layout and that of the entries.
    grid: Layout,
}

impl<T: Real> std::fmt::Debug for ShapeMatrix<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShapeMatrix")
            .field("grid", &self.grid)
            .field("entries", &self.entries)
            .finish()
    }
}

impl<T: Real> ShapeMatrix<T> {
    /// Creates matrices with these entries and these shapes, rows × columns, without copying.
    ///
    /// `grid` is a layout of rank 2 with an element for each matrix; its values stand for the entries, matrix by matrix
    /// and row by row.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape, product::ShapeMatrix};
    /// let entries = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let grid = Layout::from_shapes(2, [Shape::new(&[1, 2])?, Shape::new(&[1, 1])?])?;
    /// let matrices = ShapeMatrix::new(&entries, &grid)?;
    /// assert_eq!(matrices.to_nested_blocking()?, [[vec![vec![1, 2], vec![]]], [vec![vec![3]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless the entries have rank 1 and the grid has rank 2; [`ValueCount`](Error::ValueCount)
    /// unless the grid has one value per entry.
    pub fn new(entries: &Tensor<T>, grid: &Layout) -> Result<ShapeMatrix<T>> {
        let op = "shape_matrix";
        entries.layout().check_rank(1).named(op)?;
        grid.check_rank(2).named(op)?;
        grid.check_values(entries.len()).named(op)?;
        Ok(ShapeMatrix {
            entries: entries.clone(),
            grid: grid.clone(),
        })
    }

    /// Creates matrices from vectors of rows, which are vectors of entries, and copies them to the device.
    ///
    /// A matrix without rows is 0 × 0.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) with the first matrix in which the number of entries differs between rows;
    /// [`SizeOverflow`](Error::SizeOverflow); those of [`Device::upload`].
    pub fn from_nested<M, R, E>(device: &Device, matrices: &[M]) -> Result<ShapeMatrix<T>>
    where
        M: AsRef<[R]>,
        R: AsRef<[E]>,
        E: AsRef<[T]>,
    {
        let mut shapes = host::room(matrices.len()).named("shape_matrix")?;
        for (element, matrix) in matrices.iter().enumerate() {
            let rows = matrix.as_ref();
            let columns = rows.first().map_or(0, |row| row.as_ref().len());
            let other = rows.iter().map(|row| row.as_ref().len()).enumerate();
            if let Some((row, got)) = other.into_iter().find(|(_, len)| *len != columns) {
                return Err(Error::shape(
                    element,
                    format!("({}, {columns})", rows.len()),
                    format!("{got} entries in row {row}"),
                )
                .named("shape_matrix"));
            }
            shapes.push(Shape::new(&[rows.len(), columns])?);
        }
        let rows = matrices.iter().flat_map(|matrix| matrix.as_ref());
        let entries = Ragged::from_rows(rows.flat_map(|row| row.as_ref()))?;
        ShapeMatrix::new(&device.upload(&entries)?, &Layout::from_shapes(2, shapes)?)
    }

    /// Creates the identity matrices of these sizes: `[1]` on the diagonal, empty entries elsewhere.
    ///
    /// They are the units of both products.
    ///
    /// ```
    /// # use vsla::{Device, product::ShapeMatrix};
    /// let one = ShapeMatrix::<f32>::identity(&Device::cpu(), [2])?.to_nested_blocking()?;
    /// assert_eq!(one, [[[vec![1.0], vec![]], [vec![], vec![1.0]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](Error::SizeOverflow), before any work; [`OutOfMemory`](Error::OutOfMemory); those of
    /// [`Device::upload`].
    pub fn identity(
        device: &Device,
        sizes: impl IntoIterator<Item = usize>,
    ) -> Result<ShapeMatrix<T>> {
        let sizes = sizes.into_iter();
        element_count(sizes.size_hint().0).named("shape_matrix")?;
        host::check(sizes.size_hint().0, size_of::<Shape>()).named("shape_matrix")?;
        let shapes = sizes.map(|n| Shape::new(&[n, n]));
        let grid = Layout::from_shapes(2, host::try_collect(shapes).named("shape_matrix")?)?;
        let mut offsets = host::room(grid.total() + 1).named("shape_matrix")?;
        let mut ones = 0;
        offsets.push(0);
        for shape in grid.shapes() {
            let apart = shape.extents()[0] + 1;
            for entry in 0..shape.size() as u32 {
                ones += u32::from(entry % apart == 0);
                offsets.push(ones);
            }
        }
        let entries = Layout::from_offsets(Offsets::new(offsets)?);
        let one = bytemuck::cast(match T::DTYPE {
            crate::ragged::DType::F32 => 1f32.to_bits(),
            _ => 1,
        });
        let values = host::filled(one, entries.total()).named("shape_matrix")?;
        let entries = device.upload(&Ragged::from_parts(entries, values)?)?;
        ShapeMatrix::new(&entries, &grid)
    }

    /// The device that holds the matrices.
    pub fn device(&self) -> &Device {
        self.entries.device()
    }

    /// The entries of all matrices, row by row, as the elements of a batch.
    pub fn entries(&self) -> &Tensor<T> {
        &self.entries
    }

    /// The rows and columns of each matrix, as a layout of rank 2.
    pub fn grid(&self) -> &Layout {
        &self.grid
    }

    /// The number of matrices.
    pub fn len(&self) -> usize {
        self.grid.len()
    }

    /// Whether there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.grid.is_empty()
    }

    /// Copies all matrices to the host, as vectors of rows of entries.
    ///
    /// # Errors
    /// Those of [`Tensor::download`].
    pub async fn to_nested(&self) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        self.nested(&self.entries.download().await?)
    }

    /// The blocking form of [`to_nested`](Self::to_nested).
    ///
    /// # Errors
    /// Those of [`Tensor::download`].
    pub fn to_nested_blocking(&self) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        self.nested(&self.entries.download_blocking()?)
    }

    fn nested(&self, entries: &Ragged<T>) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        let op = "to_nested";
        let mut entries = entries.iter().map(|entry| host::copied(entry).named(op));
        let mut matrices = host::room(self.grid.len()).named(op)?;
        for extents in self.grid.extents().chunks_exact(2) {
            // A matrix without columns has no entries, but may have billions of rows.
            let mut rows = host::room(extents[0] as usize).named(op)?;
            for _ in 0..extents[0] {
                let mut row = host::room(extents[1] as usize).named(op)?;
                for entry in entries.by_ref().take(extents[1] as usize) {
                    row.push(entry?);
                }
                rows.push(row);
            }
            matrices.push(rows);
        }
        Ok(matrices)
    }

    /// Transposes the matrices, `c_ki = a_ik`: moves the entries without changing them.
    ///
    /// Because convolution is commutative, (ab)ᵀ = bᵀaᵀ holds for [`conv_matmul`](Self::conv_matmul). Cost: that of
    /// [`Tensor::reorder`] of the entries.
    ///
    /// ```
    /// # use vsla::{Device, product::ShapeMatrix};
    /// let a = ShapeMatrix::from_nested(&Device::cpu(), &[[[vec![1, 2], vec![]], [vec![3], vec![4]]]])?;
    /// assert_eq!(a.transpose()?.to_nested_blocking()?, [[[vec![1, 2], vec![3]], [vec![], vec![4]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn transpose(&self) -> Result<ShapeMatrix<T>> {
        let op = Transpose { dtype: T::DTYPE };
        let operands = [self.entries.operand(), self.entries.shapes(&self.grid)];
        let (entries, grid) = Call::new(self.device(), op, &operands).with_layout()?;
        ShapeMatrix::new(&entries, &grid)
    }

    /// Adds two batches, `a + b`, matrix by matrix and entry by entry, with [`Tensor::add`].
    ///
    /// ```
    /// # use vsla::{Device, product::ShapeMatrix};
    /// # let device = Device::cpu();
    /// let a = ShapeMatrix::from_nested(&device, &[[[vec![1, 2], vec![]]]])?;
    /// let b = ShapeMatrix::from_nested(&device, &[[[vec![3], vec![4]]]])?;
    /// assert_eq!(a.add(&b)?.to_nested_blocking()?, [[[vec![4, 2], vec![4]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) unless there are as many matrices on both sides; [`Shape`](Error::Shape) with
    /// the first matrix whose rows or columns differ between the sides; those of [`Tensor::add`].
    pub fn add(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        let op = "add";
        self.grid.check_len(other.len()).named(op)?;
        other.grid.check_shapes(&self.grid).named(op)?;
        ShapeMatrix::new(&self.entries.add(&other.entries)?, &self.grid)
    }

    /// The matrix product with convolution of entries, `(ab)_ik = Σ_j a_ij * b_jk`, matrix by matrix.
    ///
    /// Each sum has the length of its longest term.
    ///
    /// The product is associative, with [`identity`](Self::identity) as unit, and well defined up to trailing zeros of
    /// entries. An empty entry adds nothing; if all terms are empty, or there are none, the result's entry is empty.
    /// Integers wrap. A NaN or an infinity spreads only over the entries of the result that it contributes to.
    ///
    /// Integers are convolved directly, and so are f32 entries whose terms are short, up to about 20 values each, or
    /// have few values on one side. Other entries use transforms whose length is the smallest power of two from m + n −
    /// 1 on, for the largest of their terms. Each entry is transformed once for each length that occurs in the results
    /// of its row or column, spectra are multiplied and summed, and each result is transformed back once. For n × n
    /// matrices that takes n³ products of spectra but only 3 n² transforms, instead of 3 n³. How an entry of the result
    /// is computed depends only on the lengths in its own row and column.
    ///
    /// Error bound: directly, |error| ≤ γ_h Σ|a_i b_j|, where h is the inner extent plus the number of values on the
    /// shorter side of the longest term, exact for integers below 2²⁴; by transforms of length L, |error| ≤ (1.5 log₂
    /// L + h) u Σ_j ‖a_ij‖₂ ‖b_jk‖₂ with h the inner extent and u = 2⁻²⁴. On a GPU, transforms take up to 384 MiB of
    /// scratch, and entries that do not fit are transformed more than once.
    ///
    /// ```
    /// # use vsla::{Device, product::ShapeMatrix};
    /// # let device = Device::cpu();
    /// // (1 + x, x²) times its transpose.
    /// let a = ShapeMatrix::from_nested(&device, &[[[vec![1, 1], vec![0, 0, 1]]]])?;
    /// let b = ShapeMatrix::from_nested(&device, &[[[vec![1, 1]], [vec![0, 0, 1]]]])?;
    /// assert_eq!(a.conv_matmul(&b)?.to_nested_blocking()?, [[[vec![1, 2, 1, 0, 1]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) unless there are as many matrices on both sides;
    /// [`InnerExtents`](Error::InnerExtents) with the first pair whose inner extents differ;
    /// [`DeviceMismatch`](Error::DeviceMismatch); [`SizeOverflow`](Error::SizeOverflow) with the matrix whose result
    /// does not fit; [`TooLarge`](Error::TooLarge) with the entry of the result that does not fit a binding, or with
    /// the first matrix that needs a transform of more than 2²⁴ values on a GPU; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn conv_matmul(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        self.product(Model::Convolution, other)
    }

    /// The matrix product with Kronecker products of entries, `(ab)_ik = Σ_j a_ij ⊗ b_jk`, matrix by matrix.
    ///
    /// Each sum has the length of its longest term.
    ///
    /// **It is not associative**, because ⊗ does not distribute over sums of unequal lengths on its right
    /// ([`Tensor::kron`]); nor is it well defined up to trailing zeros of b's entries. [`identity`](Self::identity) is
    /// a unit on both sides. It does distribute over sums on the left: (a + b)c = ac + bc.
    ///
    /// ```
    /// # use vsla::{Device, product::ShapeMatrix};
    /// # let device = Device::cpu();
    /// let a = ShapeMatrix::from_nested(&device, &[[[vec![1, 2]]]])?;
    /// let b = ShapeMatrix::from_nested(&device, &[[[vec![1], vec![1, 1]]]])?;
    /// let c = ShapeMatrix::from_nested(&device, &[[[vec![1]], [vec![1]]]])?;
    /// let left = a.kron_matmul(&b)?.kron_matmul(&c)?;
    /// let right = a.kron_matmul(&b.kron_matmul(&c)?)?;
    /// assert_eq!(left.to_nested_blocking()?, [[[vec![2, 3, 2, 2]]]]);
    /// assert_eq!(right.to_nested_blocking()?, [[[vec![2, 1, 4, 2]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// An empty entry adds nothing. Integers wrap; a NaN or an infinity reaches only the values that it is a factor of.
    /// Error bound: |error| ≤ γ_h Σ|a b| with h the inner extent, exact for integers below 2²⁴. Cost: one multiply-add
    /// for each value of each term.
    ///
    /// # Errors
    /// Those of [`conv_matmul`](Self::conv_matmul).
    pub fn kron_matmul(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        self.product(Model::Kronecker, other)
    }

    fn product(&self, model: Model, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        let (a, b) = (&self.entries, &other.entries);
        a.check_device(b).named(model.op())?;
        let dtype = T::DTYPE;
        let op = ShapeMatmul { model, dtype };
        let grids = [a.shapes(&self.grid), b.shapes(&other.grid)];
        let [left, right] = grids;
        let operands = [a.operand(), b.operand(), left, right];
        let (entries, grid) = Call::new(self.device(), op, &operands).with_layout()?;
        ShapeMatrix::new(&entries, &grid)
    }
}
