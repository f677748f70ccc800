//! Products of matrices whose entries are vectors: c_ik = Σ_j a_ij ∘ b_jk, ∘ a convolution or a Kronecker product.
//!
//! Kronecker products, and convolutions of short entries or of integers, are computed by the definition, in one
//! dispatch. Other convolutions use transforms ([`spectral`]): an entry is transformed once for each length that a
//! result needs, spectra are summed, and each result is transformed back once. The method of a result depends only on
//! the lengths in its row and column.
//!
//! Grids are operands without values, and the grid of a product is attached to its plan. An empty entry has no
//! spectrum: it is left out instead of being treated as zero, because it may be paired with a NaN.

mod launch;
mod spectral;
mod twin;

use super::select;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Attachment, Interface, Kernel, OutputLayout, Plan, constants, for_each_type, params, shader,
    slots,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result, host};

slots! {
    struct Slots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, c: Write, c_meta: Read, entries: Read,
    }
}

params! {
    struct Params { total, a_base, b_base, elements }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("shape_matmul/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![TILE]],
    variants: for_each_type![&[], &["KRON"]],
};

/// Values per workgroup of the kernel.
const TILE: usize = 512;

/// The product of two entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Model {
    Convolution,
    Kronecker,
}

impl Model {
    pub(crate) fn op(self) -> &'static str {
        match self {
            Model::Convolution => "conv_matmul",
            Model::Kronecker => "kron_matmul",
        }
    }

    /// The length of the product of two entries; 0 when one is empty.
    fn length(self, m: usize, n: usize) -> u64 {
        match (m, n, self) {
            (0, _, _) | (_, 0, _) => 0,
            (_, _, Model::Convolution) => m as u64 + n as u64 - 1,
            (_, _, Model::Kronecker) => m as u64 * n as u64,
        }
    }
}

/// The product of two matrices.
#[derive(Clone, Copy, Debug)]
struct Product {
    /// The number of each matrix's first entry in its batch.
    a: usize,
    b: usize,
    c: usize,
    rows: usize,
    inner: usize,
    columns: usize,
}

impl Product {
    /// The pairs of entries whose products sum to c_ik.
    fn terms(&self, i: usize, k: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Product {
            a,
            b,
            inner,
            columns,
            ..
        } = *self;
        (0..inner).map(move |j| (a + i * inner + j, b + j * columns + k))
    }

    fn result(&self, i: usize, k: usize) -> usize {
        self.c + i * self.columns + k
    }

    /// Every result, in order.
    fn results(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let columns = self.columns;
        (0..self.rows * columns).map(move |at| (at / columns, at % columns))
    }
}

/// The products, and how each of their results is computed.
struct Products {
    products: Vec<Product>,
    /// For each result, the length of its transforms; 0 if it is computed by the definition.
    lengths: Vec<u32>,
    entries: Layout,
    grid: Layout,
    /// Multiply-adds of the results that are computed by the definition, and the number of all terms.
    work: u64,
}

/// The shortest transform.
const SHORTEST: u64 = 64;
/// The largest number of multiply-adds of the definition per value of the transform that would replace them; above it,
/// spectra are faster. If every term has at most this many values on one side, none is transformed, so products with
/// `[1]` stay exact.
const DIRECT: u64 = 8;

/// Products of matrices whose entries have one type. The operands are the entries of both sides, and their grids. The
/// plan attaches the grid of the results, with their extents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ShapeMatmul {
    pub model: Model,
    pub dtype: DType,
}

/// Transposes every matrix, with entries of one type. The operands are the entries and their grid. The plan attaches
/// the grid of the results, with their extents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Transpose {
    pub dtype: DType,
}

impl Operation for Transpose {
    const NAME: &str = "transpose";

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let (entries, grid) = (inputs[0], inputs[1]);
        let mut order = host::room(grid.total())?;
        let mut shapes = host::room(grid.extents().len())?;
        let begins = grid.offsets().as_slice();
        for (&begin, [rows, columns]) in begins.iter().zip(extents(grid)) {
            let (rows, columns) = (rows as u32, columns as u32);
            let column = |k| (0..rows).map(move |i| begin + i * columns + k);
            // Without rows, do not loop over the columns, however many there are.
            let columns_there = if rows == 0 { 0 } else { columns };
            order.extend((0..columns_there).flat_map(column));
            shapes.extend([columns, rows]);
        }
        let transposed = Layout::unchecked(grid.offsets().clone(), 2, shapes);
        let launch = select::plan(self.dtype, entries, &order)?;
        Ok(Plan::from(launch).with(Attachment::Layout(OutputLayout::New(transposed))))
    }
}

/// The rows and columns of each matrix of a grid.
fn extents(grid: &Layout) -> impl ExactSizeIterator<Item = [usize; 2]> + '_ {
    let pairs = grid.extents().chunks_exact(2);
    pairs.map(|extents| [extents[0] as usize, extents[1] as usize])
}

/// The error with the number of the matrix instead of that of the entry.
fn named(error: Error, matrix: usize) -> Error {
    match error {
        error @ Error::SizeOverflow { .. } => error.at(matrix),
        other => other,
    }
}
