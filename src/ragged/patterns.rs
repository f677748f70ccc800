//! Named block-sparse patterns.

use super::Topology;
use super::batch::splitmix64;
use super::topology::{OP, grid, one_set};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;

impl Topology {
    /// The blocks that contain an entry on or below the diagonal, as under a causal mask.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), as for all patterns.
    ///
    /// ```
    /// # use vsla::Topology;
    /// let drawn = "32 x 32 in blocks of 8 x 16: 6 of 8 blocks\n■·\n■·\n■■\n■■";
    /// assert_eq!(Topology::causal([32, 32], [8, 16])?.to_string(), drawn);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn causal(shape: [usize; 2], block: [usize; 2]) -> Result<Topology> {
        let [high, wide] = block;
        Topology::spans(shape, block, |row, columns| {
            let last = shape[0].min((row + 1) * high) - 1;
            0..columns.min(last / wide + 1)
        })
    }

    /// The blocks that contain an entry (i, j) with |i − j| ≤ `reach`: a band around the diagonal.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    ///
    /// ```
    /// # use vsla::Topology;
    /// let drawn = "32 x 32 in blocks of 8 x 8: 10 of 16 blocks\n■■··\n■■■·\n·■■■\n··■■";
    /// assert_eq!(Topology::sliding_window([32, 32], [8, 8], 3)?.to_string(), drawn);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn sliding_window(shape: [usize; 2], block: [usize; 2], reach: usize) -> Result<Topology> {
        let [high, wide] = block;
        Topology::spans(shape, block, |row, columns| {
            let last = (shape[0].min((row + 1) * high) - 1).saturating_add(reach);
            let first = (row * high).saturating_sub(reach);
            match first < shape[1] {
                true => first / wide..columns.min(last / wide + 1),
                false => 0..0,
            }
        })
    }

    /// The blocks on the diagonal of the grid: block (i, i) for every i within the grid.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    ///
    /// ```
    /// # use vsla::Topology;
    /// let drawn = "24 x 64 in blocks of 8 x 16: 3 of 12 blocks\n■···\n·■··\n··■·";
    /// assert_eq!(Topology::block_diagonal([24, 64], [8, 16])?.to_string(), drawn);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn block_diagonal(shape: [usize; 2], block: [usize; 2]) -> Result<Topology> {
        Topology::spans(shape, block, |row, columns| {
            row.min(columns)..columns.min(row + 1)
        })
    }

    /// The blocks whose row and column in the grid differ by a multiple of `stride`. A stride of 1 selects all blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] for a stride of 0; those of [`new`](Self::new).
    ///
    /// ```
    /// # use vsla::Topology;
    /// let drawn = "32 x 40 in blocks of 8 x 8: 7 of 20 blocks\n■··■·\n·■··■\n··■··\n■··■·";
    /// assert_eq!(Topology::strided([32, 40], [8, 8], 3)?.to_string(), drawn);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn strided(shape: [usize; 2], block: [usize; 2], stride: usize) -> Result<Topology> {
        let [rows, columns] = grid(shape, block)?;
        if stride == 0 {
            return Err(refused("a stride of 1 or more", 0));
        }
        let row = |row: usize| (row % stride..columns).step_by(stride);
        Topology::rows(shape, block, (0..rows).map(row))
    }

    /// `each` distinct blocks in every row of the grid, drawn uniformly.
    ///
    /// Equal seeds give the same blocks on every machine.
    ///
    /// # Errors
    /// [`Error::Argument`] for more blocks than the grid has columns; those of [`new`](Self::new).
    ///
    /// ```
    /// # use vsla::Topology;
    /// let topology = Topology::random([64, 1000], [8, 16], 5, 7)?;
    /// assert_eq!(topology.len(), 8 * 5);
    /// assert_eq!(topology, Topology::random([64, 1000], [8, 16], 5, 7)?);
    /// assert_ne!(topology, Topology::random([64, 1000], [8, 16], 5, 8)?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn random(
        shape: [usize; 2],
        block: [usize; 2],
        each: usize,
        seed: u64,
    ) -> Result<Topology> {
        let [rows, columns] = grid(shape, block)?;
        if each > columns {
            let most = format!("at most {columns} blocks per row, one per grid column");
            return Err(refused(&most, each));
        }
        one_set(block, rows.saturating_mul(each))?;
        let mut draws = 0;
        let mut below = |bound: usize| {
            draws += 1;
            // The high half of the product is uniform to within 2⁻³² for bounds as small as a grid's sides.
            ((u128::from(splitmix64(seed, draws)) * bound as u128) >> 64) as usize
        };
        let mut places = host::room(rows * each).named(OP)?;
        let mut left: Vec<u32> = host::room(columns).named(OP)?;
        left.extend(0..columns as u32);
        for row in 0..rows {
            for i in 0..each {
                left.swap(i, i + below(columns - i));
            }
            let begin = places.len();
            places.extend(left[..each].iter().map(|&column| (row as u32, column)));
            places[begin..].sort_unstable();
        }
        Topology::of_sorted(shape, block, &places)
    }

    /// The topology with one range of columns in each row of the grid. `span` gets the row and the number of columns.
    fn spans(
        shape: [usize; 2],
        block: [usize; 2],
        span: impl Fn(usize, usize) -> core::ops::Range<usize>,
    ) -> Result<Topology> {
        let [rows, columns] = grid(shape, block)?;
        Topology::rows(shape, block, (0..rows).map(|row| span(row, columns)))
    }

    /// The topology with these columns in each row of the grid. Counts the blocks before listing them.
    fn rows<C: ExactSizeIterator<Item = usize>>(
        shape: [usize; 2],
        block: [usize; 2],
        rows: impl Iterator<Item = C> + Clone,
    ) -> Result<Topology> {
        // The orders take memory per row and column even without blocks, and there may be billions of them.
        let sides = grid(shape, block)?;
        host::check(sides[0].max(sides[1]), 3 * 4).named(OP)?;
        let add = |sum: usize, row: C| sum.saturating_add(row.len());
        let count = rows.clone().fold(0, add);
        one_set(block, count)?;
        let places = rows
            .enumerate()
            .flat_map(|(row, columns)| columns.map(move |column| (row as u32, column as u32)));
        let mut all = host::room(count).named(OP)?;
        all.extend(places);
        Topology::of_sorted(shape, block, &all)
    }
}

fn refused(expected: &str, got: usize) -> Error {
    Error::argument(expected, got).named("topology")
}
