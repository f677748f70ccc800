//! Block-sparse matrices with their values, on the host.

use core::fmt::{self, Debug, Display, Formatter};

use super::topology::{check_dense, covering, grid};
use super::{Layout, Ragged, Shape, Topology};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;

const OP: &str = "bsr";

/// Block-sparse matrices with the same [`Topology`], with their values, in block compressed sparse row (BSR) format.
///
/// A batch of one or more matrices, each with its own *set* of values. A set holds the blocks in row order, each block
/// row-major. Block values beyond the edge of the matrix are ignored.
///
/// ```
/// use vsla::Bsr;
///
/// let mut dense = vec![0.0f32; 16 * 20];
/// dense[9 * 20 + 18] = 3.0;
/// let bsr = Bsr::from_dense([16, 20], [8, 8], &dense, 0.0)?;
/// assert_eq!(bsr.topology().blocks().collect::<Vec<_>>(), [(1, 2)]);
/// assert_eq!(bsr.set(0)[8 + 2], 3.0, "row 1 and column 2 of the block");
/// assert_eq!(bsr.to_dense()?.row(0), dense);
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// As that of [`Ragged`], `clone` copies the values, and aborts the process if the system has no memory for them.
#[derive(Clone, PartialEq)]
pub struct Bsr<T> {
    topology: Topology,
    values: Ragged<T>,
}

impl<T: Copy> Bsr<T> {
    /// One matrix with these block values. Copies nothing.
    ///
    /// ```
    /// use vsla::{Bsr, Topology};
    ///
    /// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
    /// let bsr = Bsr::new(&topology, (0..64).collect())?;
    /// assert_eq!(bsr.to_dense()?.row(0)[16 + 8..][..8], [8, 9, 10, 11, 12, 13, 14, 15]);
    /// assert_eq!(Bsr::new(&topology, vec![0; 65]).unwrap_err().kind(), "value_count");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the number of values is not the topology's blocks times the block size.
    pub fn new(topology: &Topology, values: Vec<T>) -> Result<Bsr<T>> {
        Bsr::from_sets(topology, 1, values)
    }

    /// Several matrices, whose sets of values follow each other. Copies nothing.
    ///
    /// ```
    /// use vsla::{Bsr, Topology};
    ///
    /// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
    /// let bsr = Bsr::from_sets(&topology, 3, (0..3 * 64).collect())?;
    /// assert_eq!((bsr.len(), bsr.set(2)[0]), (3, 128));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the number of values does not match the blocks of `sets` matrices;
    /// [`Error::SizeOverflow`] when that number exceeds 2³² − 1.
    pub fn from_sets(topology: &Topology, sets: usize, values: Vec<T>) -> Result<Bsr<T>> {
        let layout = topology.values_layout(sets).named(OP)?;
        layout.check_values(values.len()).named(OP)?;
        Ok(Bsr {
            topology: topology.clone(),
            values: Ragged::from_parts(layout, values)?,
        })
    }

    /// The blocks of a dense row-major matrix that the topology lists.
    ///
    /// Block values beyond the matrix's edge are `T::default()`.
    ///
    /// ```
    /// use vsla::{Bsr, Topology};
    ///
    /// let topology = Topology::new([9, 9], [8, 8], &[(1, 1)])?;
    /// let bsr = Bsr::sample(&topology, &[1.0f32; 81])?;
    /// assert_eq!(bsr.set(0).iter().sum::<f32>(), 1.0);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the number of values does not match the topology's shape.
    pub fn sample(topology: &Topology, dense: &[T]) -> Result<Bsr<T>>
    where
        T: Default,
    {
        let [m, n] = topology.shape();
        check_dense([m, n], dense.len()).named(OP)?;
        let [high, wide] = topology.block();
        let mut values = host::filled(T::default(), topology.set()).named(OP)?;
        let blocks = values.chunks_exact_mut(high * wide);
        for (block, (row, column)) in blocks.zip(topology.blocks()) {
            let (row, column) = (row as usize * high, column as usize * wide);
            let inside = wide.min(n - column);
            for (to, row) in block.chunks_exact_mut(wide).zip(row..m) {
                to[..inside].copy_from_slice(&dense[row * n + column..][..inside]);
            }
        }
        Bsr::new(topology, values)
    }

    /// The blocks of a dense row-major matrix that hold a value above `tolerance` in absolute value.
    ///
    /// A NaN value exceeds every tolerance. Blocks are stored whole, including their values below the tolerance. A
    /// negative or NaN tolerance stores every block.
    ///
    /// ```
    /// use vsla::Bsr;
    ///
    /// let mut dense = [0.01f32; 8 * 16];
    /// dense[3] = -2.0;
    /// let bsr = Bsr::from_dense([8, 16], [8, 8], &dense, 0.1)?;
    /// assert_eq!(bsr.to_string(), "8 x 16 in blocks of 8 x 8: 1 of 2 blocks\n■·");
    /// assert_eq!(bsr.set(0)[2..4], [0.01, -2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the number of values in `dense` does not match the shape; the errors of
    /// [`Topology::new`].
    pub fn from_dense(
        shape: [usize; 2],
        block: [usize; 2],
        dense: &[T],
        tolerance: f64,
    ) -> Result<Bsr<T>>
    where
        T: Default + Into<f64>,
    {
        grid(shape, block)?;
        check_dense(shape, dense.len()).named(OP)?;
        let below = |value: f64| value.abs() <= tolerance;
        let places = covering(OP, shape, block, |at| !below(dense[at].into()))?;
        Bsr::sample(&Topology::of_sorted(shape, block, &places)?, dense)
    }

    /// One matrix from blocks in any order.
    ///
    /// `blocks` are positions in the grid, (row, column), and `values` are the blocks' values, one block after the
    /// other. Blocks at the same position are added up, in the given order.
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the number of values does not match the blocks; the errors of
    /// [`Topology::from_unsorted`].
    ///
    /// ```
    /// use vsla::Bsr;
    ///
    /// let values: Vec<f32> = [1.0, 2.0, 4.0].iter().flat_map(|&x| [x; 64]).collect();
    /// let bsr = Bsr::from_blocks([16, 16], [8, 8], &[(1, 1), (0, 1), (1, 1)], &values)?;
    /// assert_eq!(bsr.topology().blocks().collect::<Vec<_>>(), [(0, 1), (1, 1)]);
    /// assert_eq!((bsr.set(0)[0], bsr.set(0)[64]), (2.0, 5.0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn from_blocks(
        shape: [usize; 2],
        block: [usize; 2],
        blocks: &[(u32, u32)],
        values: &[T],
    ) -> Result<Bsr<T>>
    where
        T: Default + core::ops::Add<Output = T>,
    {
        let topology = Topology::from_unsorted(shape, block, blocks.iter().copied())?;
        let size = block[0] * block[1];
        let expected = blocks.len().saturating_mul(size);
        if values.len() != expected {
            return Err(Error::value_count(expected, values.len()).named(OP));
        }
        let mut stored = host::room(topology.len()).named(OP)?;
        stored.extend(topology.blocks());
        let mut sums = host::filled(T::default(), topology.set()).named(OP)?;
        let mut written = host::filled(false, stored.len()).named(OP)?;
        for (place, values) in blocks.iter().zip(values.chunks_exact(size)) {
            // Cannot fail: the topology was built from these positions.
            let Ok(at) = stored.binary_search(place) else {
                continue;
            };
            let sum = &mut sums[at * size..][..size];
            if std::mem::replace(&mut written[at], true) {
                for (sum, &value) in sum.iter_mut().zip(values) {
                    *sum = *sum + value;
                }
            } else {
                sum.copy_from_slice(values);
            }
        }
        Bsr::new(&topology, sums)
    }

    /// The positions of the blocks.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The number of matrices.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values of matrix `i`: block after block, each row-major.
    ///
    /// # Panics
    /// When there is no matrix `i`.
    pub fn set(&self, i: usize) -> &[T] {
        self.values.row(i)
    }

    /// The values of all matrices: one element of shape (blocks, block rows, block columns) per matrix.
    pub fn values(&self) -> &Ragged<T> {
        &self.values
    }

    /// Every matrix as a dense array, with `T::default()` outside the blocks.
    ///
    /// ```
    /// use vsla::{Bsr, Topology};
    ///
    /// let topology = Topology::new([8, 10], [8, 8], &[(0, 0)])?;
    /// let dense = Bsr::new(&topology, vec![1; 64])?.to_dense()?;
    /// assert_eq!(dense.row(0)[..10], [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] when the dense matrices have more than 2³² − 1 values; [`Error::OutOfMemory`] when they
    /// do not fit in [the host's memory](crate::device::set_host_memory_limit).
    pub fn to_dense(&self) -> Result<Ragged<T>>
    where
        T: Default,
    {
        let [m, n] = self.topology.shape();
        let [high, wide] = self.topology.block();
        let layout = Shape::new(&[m, n])
            .and_then(|shape| Layout::uniform(self.len(), shape))
            .named(OP)?;
        let values = host::filled(T::default(), layout.total()).named(OP)?;
        let mut dense = Ragged::from_parts(layout.clone(), values)?;
        if layout.total() == 0 {
            return Ok(dense);
        }
        let matrices = dense.values_mut().chunks_exact_mut(m * n);
        for (matrix, set) in matrices.zip(&self.values) {
            let blocks = set.chunks_exact(high * wide);
            for (block, (row, column)) in blocks.zip(self.topology.blocks()) {
                let (row, column) = (row as usize * high, column as usize * wide);
                let inside = wide.min(n - column);
                for (from, row) in block.chunks_exact(wide).zip(row..m) {
                    matrix[row * n + column..][..inside].copy_from_slice(&from[..inside]);
                }
            }
        }
        Ok(dense)
    }
}

/// Writes the topology's drawing, preceded by the number of matrices if it is not 1.
impl<T: Copy> Display for Bsr<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.len() {
            1 => Display::fmt(&self.topology, f),
            sets => write!(f, "{sets} of {}", self.topology),
        }
    }
}

impl<T: Copy> Debug for Bsr<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
