//! The positions of the stored blocks of a block-sparse matrix.

use core::fmt::{self, Display, Formatter};
use core::hash::{Hash, Hasher};
use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::derived::Derived;
use super::identity::hash_of;
use super::{Layout, Shape};
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::host;

pub(super) const OP: &str = "topology";

/// The numbers of rows and of columns that a block may have.
pub(crate) const SIDES: [usize; 7] = [8, 16, 32, 48, 64, 96, 128];

/// The blocks that a block-sparse matrix stores: the matrix's shape, the shape of a block, and the blocks' positions.
///
/// A block has 8, 16, 32, 48, 64, 96 or 128 rows, and any of these numbers of columns; the grid of blocks starts at (0,
/// 0). The matrix may have any shape: blocks in the last row and column of the grid may extend beyond it, and values
/// stored there are ignored. Blocks are stored in row order, by row and then by column. The column order is stored as
/// well, for products with the transpose. A topology is immutable, and cloning shares it along with its plans: any
/// number of [`Bsr`](super::Bsr) and [`BsrTensor`](crate::BsrTensor) with different values can share a topology. It
/// takes 16 bytes per block, and 4 per row and column of the grid. A matrix without rows, columns or blocks is valid.
///
/// Printing draws it with one character per block:
///
/// ```
/// use vsla::Topology;
///
/// let topology = Topology::new([64, 100], [16, 32], &[(0, 0), (1, 0), (1, 1), (3, 3)])?;
/// assert_eq!(
///     topology.to_string(),
///     "\
/// 64 x 100 in blocks of 16 x 32: 4 of 16 blocks
/// ■···
/// ■■··
/// ····
/// ···■"
/// );
/// assert_eq!(topology.blocks().nth(2), Some((1, 1)));
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct Topology(Arc<Inner>);

struct Inner {
    shape: [usize; 2],
    block: [usize; 2],
    rows: Order,
    columns: Order,
    /// The layout of one set of values: (blocks, block rows, block columns).
    values: Layout,
    hash: OnceLock<u64>,
    derived: Derived,
}

/// The blocks grouped by rows of the grid, or by columns.
pub(crate) struct Order {
    /// For each row, the position of its first entry; then the number of all blocks.
    pub offsets: Vec<u32>,
    /// For each block, its index in storage order and its column. (By columns, its row.)
    pub entries: Vec<[u32; 2]>,
}

impl Topology {
    /// The blocks at these positions in the grid, (row, column), which must be distinct and in row order.
    ///
    /// ```
    /// # use vsla::Topology;
    /// let topology = Topology::new([20, 40], [8, 16], &[(0, 2), (2, 0)])?;
    /// assert_eq!((topology.grid(), topology.len()), ([3, 3], 2));
    /// let error = Topology::new([20, 40], [8, 16], &[(2, 0), (0, 2)]).unwrap_err();
    /// assert_eq!(error.kind(), "block_order");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BlockSide`] for an unsupported block side; [`Error::BlockOrder`] with the first block that is outside
    /// the grid or does not follow its predecessor; [`Error::SizeOverflow`] when the blocks have more than 2³² − 1
    /// values in total, or the matrix too many rows or columns for 32 bits.
    pub fn new(shape: [usize; 2], block: [usize; 2], blocks: &[(u32, u32)]) -> Result<Topology> {
        let grid = grid(shape, block)?;
        for (at, &(row, column)) in blocks.iter().enumerate() {
            check_inside(grid, at, (row, column))?;
            if let Some(before) = at.checked_sub(1).map(|before| blocks[before])
                && before >= (row, column)
            {
                return Err(Error::BlockOrder {
                    op: OP,
                    block: at,
                    expected: format!("a block after ({}, {})", before.0, before.1),
                    got: format!("({row}, {column})"),
                });
            }
        }
        Topology::of_sorted(shape, block, blocks)
    }

    /// The blocks at these positions in the grid, (row, column), in any order. Duplicates count once.
    ///
    /// ```
    /// # use vsla::Topology;
    /// let topology = Topology::from_unsorted([16, 16], [8, 8], [(1, 0), (0, 1), (1, 0)])?;
    /// assert_eq!(topology.blocks().collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new), except for the order.
    pub fn from_unsorted(
        shape: [usize; 2],
        block: [usize; 2],
        blocks: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Topology> {
        let grid = grid(shape, block)?;
        let mut blocks = host::collect(blocks).named(OP)?;
        for (at, &place) in blocks.iter().enumerate() {
            check_inside(grid, at, place)?;
        }
        blocks.sort_unstable();
        blocks.dedup();
        Topology::of_sorted(shape, block, &blocks)
    }

    /// The blocks that cover every `true` of a mask, which has one value per entry of the matrix, row by row.
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the mask has a different number of values; those of [`new`](Self::new).
    ///
    /// ```
    /// # use vsla::Topology;
    /// let mut mask = vec![false; 20 * 20];
    /// mask[9 * 20 + 19] = true;
    /// let topology = Topology::from_mask([20, 20], [8, 8], &mask)?;
    /// assert_eq!(topology.blocks().collect::<Vec<_>>(), [(1, 2)]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn from_mask(shape: [usize; 2], block: [usize; 2], mask: &[bool]) -> Result<Topology> {
        grid(shape, block)?;
        check_dense(shape, mask.len()).named(OP)?;
        let places = covering(OP, shape, block, |at| mask[at])?;
        Topology::of_sorted(shape, block, &places)
    }

    pub(super) fn of_sorted(
        shape: [usize; 2],
        block: [usize; 2],
        blocks: &[(u32, u32)],
    ) -> Result<Topology> {
        let [rows, columns] = grid(shape, block)?;
        let values = one_set(block, blocks.len())?;
        // Room for both orders and for the temporary copy of offsets that fills them.
        host::check(rows.max(columns), 3 * 4).named(OP)?;
        let by_row = Order::new(rows, blocks.iter().copied())?;
        let by_column = Order::new(columns, blocks.iter().map(|&(row, column)| (column, row)))?;
        Ok(Topology(Arc::new(Inner {
            shape,
            block,
            rows: by_row,
            columns: by_column,
            values,
            hash: OnceLock::new(),
            derived: Derived::default(),
        })))
    }

    /// The rows and columns of the matrix.
    pub fn shape(&self) -> [usize; 2] {
        self.0.shape
    }

    /// The rows and columns of a block.
    pub fn block(&self) -> [usize; 2] {
        self.0.block
    }

    /// The rows and columns of the grid of blocks.
    pub fn grid(&self) -> [usize; 2] {
        [&self.0.rows, &self.0.columns].map(|order| order.offsets.len() - 1)
    }

    /// The number of stored blocks.
    pub fn len(&self) -> usize {
        self.0.rows.entries.len()
    }

    /// Whether no block is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fraction of the grid's blocks that are stored; 0 for an empty grid.
    pub fn density(&self) -> f64 {
        let [rows, columns] = self.grid().map(|side| side as f64);
        match self.len() {
            0 => 0.0,
            stored => stored as f64 / (rows * columns),
        }
    }

    /// The position of every stored block in the grid, (row, column), in row order.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let order = &self.0.rows;
        order
            .offsets
            .windows(2)
            .enumerate()
            .flat_map(|(row, ends)| {
                let entries = &order.entries[ends[0] as usize..ends[1] as usize];
                entries.iter().map(move |&[_, column]| (row as u32, column))
            })
    }

    /// The layout of `sets` sets of values: one element of shape (blocks, block rows, block columns) per set.
    ///
    /// ```
    /// # use vsla::Topology;
    /// let topology = Topology::block_diagonal([24, 48], [8, 16])?;
    /// let layout = topology.values_layout(2)?;
    /// assert_eq!((layout.len(), layout.shape(1).extents()), (2, &[3, 8, 16][..]));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] when there are more than 2³² − 1 values.
    pub fn values_layout(&self, sets: usize) -> Result<Layout> {
        let one = &self.0.values;
        if sets == 1 {
            return Ok(one.clone());
        }
        Layout::uniform(sets, one.shape(0))
    }

    /// The number of values of one set.
    pub(crate) fn set(&self) -> usize {
        self.0.values.total()
    }

    /// The blocks by rows, or by columns.
    pub(crate) fn order(&self, by_columns: bool) -> &Order {
        match by_columns {
            false => &self.0.rows,
            true => &self.0.columns,
        }
    }

    /// The cached data derived from this topology for `numbers`, made now if it is missing.
    pub(crate) fn derived<V: Any + Send + Sync>(
        &self,
        numbers: [u32; 2],
        make: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Arc<V>> {
        self.0.derived.get_or_make(numbers, make)
    }
}

impl Order {
    /// Groups blocks by row, given as (row, column) in storage order. To group by column, pass (column, row).
    fn new(rows: usize, blocks: impl Iterator<Item = (u32, u32)> + Clone) -> Result<Order> {
        let mut offsets = host::zeroed::<u32>(rows + 1).named(OP)?;
        for (row, _) in blocks.clone() {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        let mut next = host::copied(&offsets).named(OP)?;
        let mut entries = host::zeroed(offsets[rows] as usize).named(OP)?;
        for (stored, (row, place)) in blocks.enumerate() {
            entries[next[row as usize] as usize] = [stored as u32, place];
            next[row as usize] += 1;
        }
        Ok(Order { offsets, entries })
    }

    /// The number of blocks in each row.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// The entries of one row.
    pub(crate) fn row(&self, row: usize) -> &[[u32; 2]] {
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// The grid of blocks, or an error for an unsupported block side or a matrix that is too large.
pub(crate) fn grid(shape: [usize; 2], block: [usize; 2]) -> Result<[usize; 2]> {
    if let Some(&side) = block.iter().find(|side| !SIDES.contains(side)) {
        return Err(Error::BlockSide { op: OP, got: side });
    }
    if let Some(extent) = shape
        .iter()
        .find(|&&extent| extent > u32::MAX as usize - 128)
    {
        return Err(Error::size_overflow(format!(
            "a side of {extent}, rounded up to whole blocks,"
        ))
        .named(OP));
    }
    Ok([0, 1].map(|axis| shape[axis].div_ceil(block[axis])))
}

/// The layout of the values of `blocks` blocks, or an error if there are too many.
pub(super) fn one_set(block: [usize; 2], blocks: usize) -> Result<Layout> {
    let [high, wide] = block;
    let set = Shape::new(&[blocks, high, wide]).and_then(|set| Layout::uniform(1, set));
    set.map_err(|error| match error {
        Error::SizeOverflow { .. } => Error::size_overflow(format!(
            "the size of {} of {high} x {wide}",
            Count(blocks, "block")
        ))
        .named(OP),
        other => other.named(OP),
    })
}

fn check_inside(grid: [usize; 2], at: usize, (row, column): (u32, u32)) -> Result<()> {
    if (row as usize) < grid[0] && (column as usize) < grid[1] {
        return Ok(());
    }
    Err(Error::BlockOrder {
        op: OP,
        block: at,
        expected: format!("a block inside the grid of {} x {}", grid[0], grid[1]),
        got: format!("({row}, {column})"),
    })
}

/// Checks the number of values of a dense matrix against its shape.
pub(super) fn check_dense(shape: [usize; 2], got: usize) -> Result<()> {
    match shape[0].checked_mul(shape[1]) {
        Some(expected) if expected == got => Ok(()),
        expected => Err(Error::value_count(expected.unwrap_or(usize::MAX), got)),
    }
}

/// The blocks that contain an entry accepted by `request`, in row order.
pub(super) fn covering(
    op: &'static str,
    shape: [usize; 2],
    block: [usize; 2],
    request: impl Fn(usize) -> bool,
) -> Result<Vec<(u32, u32)>> {
    let mut places = Vec::new();
    // A matrix without rows may still have billions of columns, and one without columns as many rows.
    if shape.contains(&0) {
        return Ok(places);
    }
    let mut found = host::filled(false, shape[1].div_ceil(block[1])).named(op)?;
    for first in (0..shape[0]).step_by(block[0]) {
        found.fill(false);
        for row in first..shape[0].min(first + block[0]) {
            for (at, found) in found.iter_mut().enumerate() {
                let within = at * block[1]..shape[1].min((at + 1) * block[1]);
                *found = *found
                    || within
                        .into_iter()
                        .any(|column| request(row * shape[1] + column));
            }
        }
        let row = (first / block[0]) as u32;
        let there = found.iter().enumerate().filter(|(_, found)| **found);
        for (column, _) in there {
            host::push(&mut places, (row, column as u32)).named(op)?;
        }
    }
    Ok(places)
}

impl PartialEq for Topology {
    fn eq(&self, other: &Topology) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        Arc::ptr_eq(&self.0, &other.0)
            || (a.shape == b.shape
                && a.block == b.block
                && a.rows.offsets == b.rows.offsets
                && a.rows.entries == b.rows.entries)
    }
}

impl Eq for Topology {}

/// Hashes the shapes and all positions. The hash is computed once and cached.
impl Hash for Topology {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let inner = &*self.0;
        let make = || {
            (
                inner.shape,
                inner.block,
                &inner.rows.offsets,
                &inner.rows.entries,
            )
        };
        state.write_u64(*inner.hash.get_or_init(|| hash_of(make())));
    }
}

/// The most rows and columns of a drawing.
const DRAWN: usize = 48;

/// Writes a summary line and a drawing: `■` for a stored block, `·` for one that is not. Large grids are scaled down:
/// each character then stands for several blocks, with `□` when only some of them are stored.
impl Display for Topology {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ([m, n], [rows, columns]) = (self.shape(), self.grid());
        let [high, wide] = self.block();
        let all = rows * columns;
        write!(
            f,
            "{m} x {n} in blocks of {high} x {wide}: {} of {}",
            self.len(),
            Count(all, "block")
        )?;
        let [by, across] = [rows, columns].map(|side| side.div_ceil(DRAWN).max(1));
        let mut cells = vec![0usize; columns.div_ceil(across)];
        for first in (0..rows).step_by(by) {
            cells.fill(0);
            let last = rows.min(first + by);
            for row in first..last {
                for &[_, column] in self.0.rows.row(row) {
                    cells[column as usize / across] += 1;
                }
            }
            f.write_str("\n")?;
            for (at, &stored) in cells.iter().enumerate() {
                let blocks = (last - first) * (columns.min((at + 1) * across) - at * across);
                f.write_str(match stored {
                    0 => "·",
                    _ if stored == blocks => "■",
                    _ => "□",
                })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
