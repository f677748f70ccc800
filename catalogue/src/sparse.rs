//! Block-sparse products, where each pair has its own blocks.

use vsla::{
    Bsr, BsrTensor, Device, Indices, Layout, Pairing, Ragged, Shape, Tensor, Topology,
    scalar::{Float, Scalar},
};

use crate::batch::Number;
use crate::epilogue::{Epilogue, finished};
use crate::failure::{Failure, Result};
use crate::held::Arg;
use crate::operations::formed;
use crate::request::{Options, pair, whole_numbers};

impl Options {
    /// Whether the left factor is the one that is stored in blocks.
    fn sparse_left(&self) -> Result<bool> {
        Ok(self.text("sparse")? == "left")
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> Result<[usize; 2]> {
        self.needed("block", |value| whole_numbers(value)?.try_into().ok())
    }

    /// Grid positions of the blocks.
    pub fn blocks(&self) -> Result<Option<Vec<(u32, u32)>>> {
        self.read("blocks", |value| {
            value.as_array()?.iter().map(pair).collect()
        })
    }
}

/// A product of floating-point numbers, one factor of which is stored in blocks.
pub fn matmul<T: Float + Number + Into<f64>>(
    device: &Device,
    args: &[Arg<T>],
    options: &Options,
) -> Result<Tensor<T>> {
    let block = options.block()?;
    let tolerance = options.number::<f32>("tolerance")?;
    let left = options.sparse_left()?;
    let transposed = options.transposed()?;
    if transposed[usize::from(left)] {
        let message = "transpose: expected the block-sparse side";
        return Err(Failure::request(message));
    }
    let epilogue = Epilogue::read(device, options)?;
    each(device, args, |i, [a, b]| {
        let (dense, sparse, host) = match left {
            true => (b, a, &args[0]),
            false => (a, b, &args[1]),
        };
        let s = Bsr::from_dense(sides(host, i), block, host.row(i), tolerance.into())?;
        let s = Blocks::new(s.topology())?.of(sparse)?;
        let product = match left {
            true => s.product(dense),
            false => dense.product(&s),
        };
        let product = formed(product, transposed);
        let epilogue = epilogue.of(i, args[0].len())?;
        let product = finished!(product, &epilogue);
        Ok(product.run()?)
    })
}

/// Selected blocks of `a b`, with zeros elsewhere.
pub fn sampled<T: Float>(device: &Device, args: &[Arg<T>], options: &Options) -> Result<Tensor<T>> {
    let (block, blocks) = (options.block()?, options.blocks()?);
    let [left, right] = options.transposed()?;
    each(device, args, |i, [a, b]| {
        let shape = [
            sides(&args[0], i)[usize::from(left)],
            sides(&args[1], i)[usize::from(!right)],
        ];
        let topology = match &blocks {
            Some(blocks) => Topology::from_unsorted(shape, block, blocks.iter().copied())?,
            None => Topology::strided(shape, block, 1)?,
        };
        let product = formed(a.product(b), [left, right]).sampled(&topology)?;
        Ok(Blocks::new(&topology)?.dense(&product)?)
    })
}

/// The blocks of a dense matrix, viewed as rows of another one, so that the values of a block-sparse matrix are
/// gathered on the device.
struct Blocks<'a> {
    topology: &'a Topology,
    /// The rows of the blocks that are stored, in their order.
    order: Indices,
    /// The dense matrix; the same with whole blocks, along two and along four axes; and a row for each block.
    dense: Layout,
    whole: Layout,
    tiled: Layout,
    rows: Layout,
}

impl Blocks<'_> {
    fn new(topology: &Topology) -> vsla::Result<Blocks<'_>> {
        let ([m, n], [rows, columns]) = (topology.grid(), topology.block());
        let order = topology.blocks().map(|(i, j)| i * n as u32 + j);
        Ok(Blocks {
            topology,
            order: Indices::new(Ragged::from_rows([order.collect::<Vec<_>>()])?)?,
            dense: layout(&topology.shape())?,
            whole: layout(&[m * rows, n * columns])?,
            tiled: layout(&[m, rows, n, columns])?,
            rows: layout(&[m * n, rows * columns])?,
        })
    }

    /// The stored blocks of a dense matrix.
    fn of<T: Scalar>(&self, dense: &Tensor<T>) -> vsla::Result<BsrTensor<T>> {
        let tiled = dense.resize(&self.whole)?.reshape(&self.tiled)?;
        let rows = tiled.transpose(&[0, 2, 1, 3])?.reshape(&self.rows)?;
        let values = rows.gather(&self.order)?;
        BsrTensor::new(
            self.topology,
            values.reshape(&self.topology.values_layout(1)?)?,
        )
    }

    /// The dense matrix of stored blocks.
    fn dense<T: Scalar>(&self, blocks: &BsrTensor<T>) -> vsla::Result<Tensor<T>> {
        let ([m, n], [rows, columns]) = (self.topology.grid(), self.topology.block());
        let stored = layout(&[self.topology.len(), rows * columns])?;
        let values = blocks.values().reshape(&stored)?;
        let all = values.scatter_set(&self.order, &self.rows)?;
        let tiled = all.reshape(&layout(&[m, n, rows, columns])?)?;
        let whole = tiled.transpose(&[0, 2, 1, 3])?.reshape(&self.whole)?;
        whole.resize(&self.dense)
    }
}

/// The layout of one element.
fn layout(extents: &[usize]) -> vsla::Result<Layout> {
    Layout::uniform(1, Shape::new(extents)?)
}

/// Rows and columns of a matrix of a batch.
fn sides<T: Copy>(batch: &Ragged<T>, element: usize) -> [usize; 2] {
    let shape = batch.shape(element);
    [0, 1].map(|axis| shape.extents()[axis] as usize)
}

/// Handles every pair of matrices separately: `one` gets the pair's index, and its factors as batches of one.
fn each<T: Float>(
    device: &Device,
    args: &[Arg<T>],
    one: impl Fn(usize, [&Tensor<T>; 2]) -> Result<Tensor<T>>,
) -> Result<Tensor<T>> {
    let (a, b) = (args[0].on(device)?, args[1].on(device)?);
    a.pair(&b, Pairing::Elementwise)?;
    let mut ranks = args.iter().map(|arg| arg.layout().rank());
    if let Some(rank) = ranks.find(|rank| *rank != 2) {
        let message = format!("expected a rank of 2, got {rank}");
        return Err(Failure::new("rank", message));
    }
    let mut made = Vec::new();
    for element in 0..a.len() {
        let here = |t: &Tensor<T>| t.elements(element..element + 1);
        made.push(
            one(element, [&here(&a)?, &here(&b)?]).map_err(|failure| Failure {
                element: Some(element),
                ..failure
            })?,
        );
    }
    match made.split_first() {
        Some((first, others)) => Ok(first.join(&others.iter().collect::<Vec<_>>())?),
        // No products.
        None => Ok(a.matmul(&b)?),
    }
}
