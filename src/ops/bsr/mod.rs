//! Products of block-sparse matrices with dense ones, and selected blocks of products of dense matrices.
//!
//! A product is `f b`, where f is the block-sparse matrix or its transpose; `b f` is computed as the transpose of
//! `fᵀ bᵀ`. Nothing is transposed in memory: blocks are traversed in row or column order, and dense matrices are read
//! and written with strides. How a row of blocks is cut into pieces depends only on its own number of blocks.
//!
//! **Order of work.** Tiles are numbered in panels, each with all rows of blocks, so that their values of b are still
//! in a cache. In a panel, the longest rows come first. On cooperative matrices, pieces more than twice as long as the
//! mean come first for all panels, since a long piece that begins among the last delays the end.
//!
//! **Cuts.** A row of blocks is summed in chunks of 480 to 512 inner products, and cut into pieces of four chunks, or
//! sixteen on cooperative matrices. The first piece writes to the result, the others to slots of a scratch buffer,
//! which `bsr_finish` adds in order. A row without blocks is a piece without steps: it writes zeros.
//!
//! **Stages.** In the baseline, a stage of 16 inner products consists of two halves of eight, which divide every block
//! side; each half has its own address in a and in b. On cooperative matrices, positions after a row's last block are
//! zeroed in the stage's registers, in both factors, because zero times infinity is not zero, and `order` is read one
//! stage ahead, so that no load waits for its address. Results go through workgroup memory, so that neighbouring
//! invocations write whole sectors of memory; a matrix stored to a buffer directly does not.

mod align;
mod baseline;
mod epilogue;
mod finish;
mod launch;
mod matrix;
mod plan;
mod sampled;
pub(crate) mod tiles;
mod twin;

use super::convert;
use super::matmul::{Epilogue, Target, meet};
use crate::plan::{Dispatch, Param, Slot};
use crate::ragged::{DType, Layout, Shape, Topology};
use crate::{Error, Result};

pub(crate) use sampled::Sampled;

/// The slot for sums, and the dispatch that follows: f16 results are summed in f32 and rounded once.
fn rounded(result: DType, values: usize, scratch: &mut Vec<u64>) -> (Slot, Option<Dispatch>) {
    if result != DType::F16 {
        return (Slot::Output(0), None);
    }
    let sums = Slot::Scratch(scratch.len());
    scratch.push(values as u64);
    let round = convert::dispatch(result, values, sums.clone(), Param::U32(0), Slot::Output(0));
    (sums, Some(round))
}

/// The operation's name, whichever side the block-sparse matrix is on.
pub(crate) const OP: &str = "matmul";

/// The options of a block-sparse product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Form {
    /// Whether the factors are the transposes of the stored matrices.
    pub transposed: bool,
    /// Whether the dense factor is on the left.
    pub dense_left: bool,
    pub epilogue: Epilogue,
}

impl Form {
    /// Whether rows of f are columns of the stored matrix.
    fn by_columns(self) -> bool {
        self.transposed != self.dense_left
    }

    /// Row and column strides of a matrix that is stored with this many columns.
    fn strides(self, columns: u32) -> [u32; 2] {
        match self.dense_left {
            false => [columns, 1],
            true => [1, columns],
        }
    }
}

/// The extents of a product: rows of f, the inner extent, and columns of b; and the columns of b and c as stored.
#[derive(Clone, Copy, Debug)]
struct Extents {
    m: u32,
    k: u32,
    n: u32,
    stored: [u32; 2],
}

/// The products to plan.
struct Request<'a> {
    form: Form,
    types: (DType, DType),
    topology: &'a Topology,
    sets: usize,
    dense: &'a Layout,
    products: &'a [Extents],
    result: &'a Layout,
    bias: Option<&'a Layout>,
}

/// (a, b) if `first`, otherwise (b, a).
fn ordered<T>(first: bool, [a, b]: [T; 2]) -> [T; 2] {
    if first { [a, b] } else { [b, a] }
}

fn extents(form: Form, topology: &Topology, pair: usize, dense: Shape) -> Result<Extents> {
    let [m, k] = ordered(!form.by_columns(), topology.shape()).map(|side| side as u32);
    let dense = [dense.extents()[0], dense.extents()[1]];
    let [inner, n] = ordered(!form.dense_left, dense);
    if !meet([m, k], [inner, n]) {
        let [left, right] = ordered(!form.dense_left, [k, inner]).map(|side| side as usize);
        let fits = match (inner == m, n == k) {
            (true, _) => Some("transpose() of the block-sparse matrix"),
            (_, true) => Some("transpose(&[1, 0]) of the dense matrix"),
            _ => None,
        };
        return Err(Error::inner_extents(pair, left, right, fits));
    }
    let columns = if form.dense_left { m } else { n };
    Ok(Extents {
        m,
        k,
        n,
        stored: [dense[1], columns],
    })
}

/// Products of block-sparse matrices of one topology with dense ones. Results have the type of the operands, or are f32
/// for f16 operands. The operands are the sets of block values, one in all or one for each matrix; the matrices; and
/// then the bias and the residual, if there are any.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BsrMatmul {
    pub form: Form,
    pub topology: Topology,
    pub dtype: DType,
    pub result: DType,
    pub target: Target,
}

/// The number of workgroups, if it fits 32 bits.
fn groups(tiles: usize, pieces: u32, strips: u32) -> Result<u32> {
    let all = tiles as u128 * u128::from(pieces) * u128::from(strips);
    u32::try_from(all).map_err(|_| Error::size_overflow(format!("{all} tiles")))
}

/// A product of dense matrices, some blocks of which are computed.
pub(super) struct Sample {
    /// Where a, b and c begin.
    pub begins: [u32; 3],
    pub inner: u32,
    /// Row and column strides of a and b.
    pub strides: [[u32; 2]; 2],
    /// Rows and columns of a and b as stored.
    pub stored: [[u32; 2]; 2],
}
