//! Matrices whose entries are vectors of any length.

use super::run::Call;
use super::{Device, Tensor};
use crate::ops::Op;
use crate::ops::shape_matmul::{Model, ShapeMatmul, Transpose};
use crate::ragged::{Layout, Offsets, Ragged, Real, Shape, element_count};
use crate::{Error, Result, host};

/// A batch of shape-matrices on a device: matrices whose entries are vectors, each of its own length.
///
/// Entries are packed end to end, row by row and matrix by matrix, as the elements of one [`Tensor`] of rank 1. An
/// entry stands for itself followed by zeros; an empty one is a zero. A matrix of polynomials is one, or of filters:
/// the transfer function of a system with several inputs and outputs.
///
/// Under the convolution of entries ([`conv_matmul`](Self::conv_matmul)) such matrices are a ring, with
/// [`identity`](Self::identity). Under their Kronecker product ([`kron_matmul`](Self::kron_matmul)) they are not: that
/// product is not associative.
///
/// ```
/// use vsla::{Device, ShapeMatrix};
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
    /// Rows and columns of each matrix; its values are the entries. What is planned for these entries in these matrices
    /// is kept in its cache, so no other entries have it.
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
    /// The matrices of these shapes, rows × columns, that have these entries. No value is copied.
    ///
    /// `grid` is a layout of rank 2, an element for each matrix, whose values stand for the entries: those of a matrix
    /// follow those of the one before, row by row.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape, ShapeMatrix};
    /// let entries = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let grid = Layout::from_shapes(2, [Shape::new(&[1, 2])?, Shape::new(&[1, 1])?])?;
    /// let matrices = ShapeMatrix::new(&entries, &grid)?;
    /// assert_eq!(matrices.to_nested_blocking()?, [[vec![vec![1, 2], vec![]]], [vec![vec![3]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless the entries are of rank 1 and the grid of rank 2; [`ValueCount`](Error::ValueCount) unless the
    /// grid has a value for each entry.
    pub fn new(entries: &Tensor<T>, grid: &Layout) -> Result<ShapeMatrix<T>> {
        let op = "shape_matrix";
        for (layout, expected) in [(entries.layout(), 1), (grid, 2)] {
            if layout.rank() != expected {
                return Err(Error::Rank {
                    op,
                    element: None,
                    expected: expected.to_string(),
                    got: layout.rank(),
                });
            }
        }
        if grid.total() != entries.len() {
            return Err(Error::ValueCount {
                op,
                element: None,
                expected: grid.total(),
                got: entries.len(),
            });
        }
        Ok(ShapeMatrix {
            entries: entries.clone(),
            grid: grid.clone(),
        })
    }

    /// Matrices from vectors of rows, which are vectors of entries, copied to the device. A matrix without rows is 0 ×
    /// 0.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) with the first matrix that has a row of another number of entries than its first one;
    /// [`SizeOverflow`](Error::SizeOverflow); those of [`Device::upload`].
    pub fn from_nested<M, R, E>(device: &Device, matrices: &[M]) -> Result<ShapeMatrix<T>>
    where
        M: AsRef<[R]>,
        R: AsRef<[E]>,
        E: AsRef<[T]>,
    {
        let mut shapes = host::room("shape_matrix", matrices.len())?;
        for (element, matrix) in matrices.iter().enumerate() {
            let rows = matrix.as_ref();
            let columns = rows.first().map_or(0, |row| row.as_ref().len());
            let other = rows.iter().map(|row| row.as_ref().len()).enumerate();
            if let Some((row, got)) = other.into_iter().find(|(_, len)| *len != columns) {
                return Err(Error::Shape {
                    op: "shape_matrix",
                    element,
                    expected: format!("({}, {columns})", rows.len()),
                    got: format!("{got} entries in row {row}"),
                });
            }
            shapes.push(Shape::new(&[rows.len(), columns])?);
        }
        let rows = matrices.iter().flat_map(|matrix| matrix.as_ref());
        let entries = Ragged::from_rows(rows.flat_map(|row| row.as_ref()))?;
        ShapeMatrix::new(&device.upload(&entries)?, &Layout::from_shapes(2, shapes)?)
    }

    /// The identities of these sizes: `[1]` on the diagonal, empty entries elsewhere. What both products have as a
    /// unit.
    ///
    /// ```
    /// # use vsla::{Device, ShapeMatrix};
    /// let one = ShapeMatrix::<f32>::identity(&Device::cpu(), [2])?.to_nested_blocking()?;
    /// assert_eq!(one, [[[vec![1.0], vec![]], [vec![], vec![1.0]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](Error::SizeOverflow), before any work; [`OutOfMemory`](Error::OutOfMemory); those of [`Device::upload`].
    pub fn identity(
        device: &Device,
        sizes: impl IntoIterator<Item = usize>,
    ) -> Result<ShapeMatrix<T>> {
        let sizes = sizes.into_iter();
        element_count("shape_matrix", sizes.size_hint().0)?;
        host::check("shape_matrix", sizes.size_hint().0, size_of::<Shape>())?;
        let shapes = sizes.map(|n| Shape::new(&[n, n]));
        let grid = Layout::from_shapes(2, host::try_collect("shape_matrix", shapes)?)?;
        let mut offsets = host::room("shape_matrix", grid.total() + 1)?;
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
        let values = host::filled("shape_matrix", one, entries.total())?;
        let entries = device.upload(&Ragged::from_parts(entries, values)?)?;
        ShapeMatrix::new(&entries, &grid)
    }

    /// The device that holds them.
    pub fn device(&self) -> &Device {
        self.entries.device()
    }

    /// The entries of all matrices, row by row, as the elements of a batch.
    pub fn entries(&self) -> &Tensor<T> {
        &self.entries
    }

    /// Rows and columns of each matrix, as a layout of rank 2.
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

    /// All matrices, as vectors of rows of entries, copied to the host.
    ///
    /// # Errors
    /// Those of [`Tensor::download`].
    pub async fn to_nested(&self) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        self.nested(&self.entries.download().await?)
    }

    /// [`to_nested`](Self::to_nested), blocking the thread.
    ///
    /// # Errors
    /// Those of [`Tensor::download`].
    pub fn to_nested_blocking(&self) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        self.nested(&self.entries.download_blocking()?)
    }

    fn nested(&self, entries: &Ragged<T>) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        let op = "to_nested";
        let mut entries = entries.iter().map(|entry| host::copied(op, entry));
        let mut matrices = host::room(op, self.grid.len())?;
        for extents in self.grid.extents().chunks_exact(2) {
            // A matrix without columns has no entries, and perhaps billions of rows.
            let mut rows = host::room(op, extents[0] as usize)?;
            for _ in 0..extents[0] {
                let mut row = host::room(op, extents[1] as usize)?;
                for entry in entries.by_ref().take(extents[1] as usize) {
                    row.push(entry?);
                }
                rows.push(row);
            }
            matrices.push(rows);
        }
        Ok(matrices)
    }

    /// The transposes, `c_ki = a_ik`: entries in another order, each as it is.
    ///
    /// Under convolution, which commutes, (ab)ᵀ = bᵀaᵀ. Cost: as [`Tensor::reorder`] of the entries.
    ///
    /// ```
    /// # use vsla::{Device, ShapeMatrix};
    /// let a = ShapeMatrix::from_nested(&Device::cpu(), &[[[vec![1, 2], vec![]], [vec![3], vec![4]]]])?;
    /// assert_eq!(a.transpose()?.to_nested_blocking()?, [[[vec![1, 2], vec![3]], [vec![], vec![4]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn transpose(&self) -> Result<ShapeMatrix<T>> {
        let op = Op::ShapeTranspose(Transpose { dtype: T::DTYPE });
        let operands = [self.entries.operand(), self.entries.shapes(&self.grid)];
        let (entries, grid) = Call::new(self.device(), op, &operands).with_layout()?;
        ShapeMatrix::new(&entries, &grid)
    }

    /// `a + b`, matrix by matrix and entry by entry: [`Tensor::add`] of the entries.
    ///
    /// ```
    /// # use vsla::{Device, ShapeMatrix};
    /// # let device = Device::cpu();
    /// let a = ShapeMatrix::from_nested(&device, &[[[vec![1, 2], vec![]]]])?;
    /// let b = ShapeMatrix::from_nested(&device, &[[[vec![3], vec![4]]]])?;
    /// assert_eq!(a.add(&b)?.to_nested_blocking()?, [[[vec![4, 2], vec![4]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) unless there are as many matrices on both sides; [`Shape`](Error::Shape) with the first
    /// one whose other has not its rows and columns; those of [`Tensor::add`].
    pub fn add(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        let op = "add";
        if self.len() != other.len() {
            return Err(Error::BatchSize {
                op,
                left: self.len(),
                right: other.len(),
                pairing: false,
            });
        }
        let mut both = self.grid.shapes().zip(other.grid.shapes());
        if let Some(element) = both.position(|(left, right)| left != right) {
            return Err(Error::Shape {
                op,
                element,
                expected: self.grid.shape(element).to_string(),
                got: other.grid.shape(element).to_string(),
            });
        }
        ShapeMatrix::new(&self.entries.add(&other.entries)?, &self.grid)
    }

    /// The product under convolution, `(ab)_ik = Σ_j a_ij * b_jk`, matrix by matrix: each sum of the longest term's
    /// length.
    ///
    /// Associative, with [`identity`](Self::identity) as unit, and well defined up to trailing zeros of entries. An
    /// empty entry adds nothing; where all terms are empty, or there are none, the result's entry is empty. Integers
    /// wrap. A NaN or an infinity spreads over the entries of the result that it has a part in, and over no others.
    ///
    /// Integers go by the definition, and so do entries of f32 whose terms are short, up to some 20 values each, or
    /// have few values on one side. Others go by transforms of the next power of two from m + n − 1 on, the largest of
    /// their terms: an entry is transformed once for each length that a result of its row or column has, sums are taken
    /// of spectra, and every result is transformed back once. That is n³ products of spectra for 3 n² transforms, in
    /// place of 3 n³. How an entry of the result is made depends on the lengths in its own row and column alone.
    ///
    /// Error bound: by the definition, |error| ≤ γ_h Σ|a_i b_j|, h the inner extent and the values of the shorter side
    /// of the longest term together, exact while integers stay below 2²⁴; by transforms of length L,
    /// |error| ≤ (1.5 log₂ L + h) u Σ_j ‖a_ij‖₂ ‖b_jk‖₂ with h the inner extent and u = 2⁻²⁴. On a GPU
    /// transforms take up to 384 MiB of scratch, and entries that do not fit are transformed more than once.
    ///
    /// ```
    /// # use vsla::{Device, ShapeMatrix};
    /// # let device = Device::cpu();
    /// // (1 + x, x²) times its transpose.
    /// let a = ShapeMatrix::from_nested(&device, &[[[vec![1, 1], vec![0, 0, 1]]]])?;
    /// let b = ShapeMatrix::from_nested(&device, &[[[vec![1, 1]], [vec![0, 0, 1]]]])?;
    /// assert_eq!(a.conv_matmul(&b)?.to_nested_blocking()?, [[[vec![1, 2, 1, 0, 1]]]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) unless there are as many matrices on both sides; [`InnerExtents`](Error::InnerExtents) with the first
    /// pair whose inner extents differ; [`DeviceMismatch`](Error::DeviceMismatch);
    /// [`SizeOverflow`](Error::SizeOverflow) with the matrix whose result does not fit; [`TooLarge`](Error::TooLarge)
    /// with the entry of the result that a binding does not hold, or with the first matrix that needs a transform of
    /// more than 2²⁴ values on a GPU; [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn conv_matmul(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        self.product(Model::Convolution, other)
    }

    /// The product under Kronecker products, `(ab)_ik = Σ_j a_ij ⊗ b_jk`, matrix by matrix: each sum of the longest
    /// term's length.
    ///
    /// **It is not associative**, since ⊗ does not distribute over sums of unequal lengths on its right
    /// ([`Tensor::kron`]); nor is it well defined up to trailing zeros of b's entries. [`identity`](Self::identity) is
    /// a unit on both sides. Sums on the left it distributes over: (a + b)c = ac + bc.
    ///
    /// ```
    /// # use vsla::{Device, ShapeMatrix};
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
    /// An empty entry adds nothing. Integers wrap; a NaN or an infinity reaches the values that it is a factor of.
    /// Error bound:
    /// |error| ≤ γ_h Σ|a b| with h the inner extent, exact while integers stay below 2²⁴. Cost: a multiply-add for each value of each
    /// term.
    ///
    /// # Errors
    /// Those of [`conv_matmul`](Self::conv_matmul).
    pub fn kron_matmul(&self, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        self.product(Model::Kronecker, other)
    }

    fn product(&self, model: Model, other: &ShapeMatrix<T>) -> Result<ShapeMatrix<T>> {
        let (a, b) = (&self.entries, &other.entries);
        a.check_device(model.op(), b)?;
        let dtype = T::DTYPE;
        let op = Op::ShapeMatmul(ShapeMatmul { model, dtype });
        let grids = [a.shapes(&self.grid), b.shapes(&other.grid)];
        let [left, right] = grids;
        let operands = [a.operand(), b.operand(), left, right];
        let (entries, grid) = Call::new(self.device(), op, &operands).with_layout()?;
        ShapeMatrix::new(&entries, &grid)
    }
}
