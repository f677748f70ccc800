//! Block-sparse products, where each pair has its own blocks.

use vsla::{Bsr, Device, Pairing, Ragged, Shape, Tensor, Topology, scalar::Float};

use crate::batch::{Args, Number};
use crate::epilogue::{Epilogue, finished};
use crate::failure::{Failure, Result};
use crate::operations::{Answer, Call, batch, floats, formed};
use crate::request::{Options, pair, unexpected, whole_numbers};

impl Options {
    /// Whether the left factor is the one that is stored in blocks.
    fn sparse_left(&self) -> Result<bool> {
        match self.0.get("sparse") {
            None => Ok(false),
            Some(value) if value == "left" || value == "right" => Ok(value == "left"),
            Some(value) => Err(unexpected("sparse", "left or right", value)),
        }
    }

    /// Rows and columns of a block.
    fn block(&self) -> Result<[usize; 2]> {
        match self.0.get("block") {
            None => Ok([8, 8]),
            Some(value) => match whole_numbers(value).as_deref() {
                Some(&[rows, columns]) => Ok([rows, columns]),
                _ => Err(unexpected("block", "[rows, columns]", value)),
            },
        }
    }

    /// Grid positions of the blocks.
    fn blocks(&self) -> Result<Option<Vec<(u32, u32)>>> {
        let Some(value) = self.0.get("blocks") else {
            return Ok(None);
        };
        let places = value
            .as_array()
            .and_then(|items| items.iter().map(pair).collect());
        match places {
            Some(places) => Ok(Some(places)),
            None => Err(unexpected("blocks", "an array of [row, column]", value)),
        }
    }
}

/// A product of floating-point numbers, one factor of which is stored in blocks.
pub fn matmul(call: &mut Call<'_>) -> Result<Answer> {
    let options = call.options.clone();
    let device = call.device()?;
    match &call.args {
        Args::F32(args) => batch(layer(&device, args, &options)?),
        Args::F16(args) => batch(layer(&device, args, &options)?),
        _ => Err(Failure::request(
            "dtype: this operation takes only f32 or f16",
        )),
    }
}

fn layer<T: Float + Number + Into<f64>>(
    device: &Device,
    args: &[Ragged<T>],
    options: &Options,
) -> Result<Ragged<T>> {
    let block = options.block()?;
    let tolerance = options.optional::<f32>("tolerance")?.unwrap_or(0.0);
    let left = options.sparse_left()?;
    let transposed = options.transposed()?;
    if transposed[usize::from(left)] {
        let message = "transpose: expected the block-sparse side";
        return Err(Failure::request(message));
    }
    let epilogue = Epilogue::read(device, options)?;
    each(device, args, |i, [a, b]| {
        let (dense, sparse) = if left { (b, &args[0]) } else { (a, &args[1]) };
        let s = Bsr::from_dense(sides(sparse, i), block, sparse.row(i), tolerance.into())?;
        let s = device.upload_bsr(&s)?;
        let product = match left {
            true => s.product(dense),
            false => dense.product(&s),
        };
        let product = formed(product, transposed);
        let epilogue = epilogue.of(i, args[0].len())?;
        let product = finished!(product, &epilogue);
        Ok(product.run()?.download_blocking()?)
    })
}

/// Selected blocks of `a b`, with zeros elsewhere.
pub fn sampled(call: &mut Call<'_>) -> Result<Answer> {
    let options = call.options.clone();
    let (block, blocks) = (options.block()?, options.blocks()?);
    let [left, right] = options.transposed()?;
    let (device, args) = floats(call)?;
    batch(each(&device, args, |i, [a, b]| {
        let shape = [
            sides(&args[0], i)[usize::from(left)],
            sides(&args[1], i)[usize::from(!right)],
        ];
        let topology = match &blocks {
            Some(blocks) => Topology::from_unsorted(shape, block, blocks.iter().copied())?,
            None => Topology::strided(shape, block, 1)?,
        };
        Ok(formed(a.product(b), [left, right])
            .sampled(&topology)?
            .download_blocking()?
            .to_dense()?)
    })?)
}

/// Rows and columns of a matrix of a batch.
fn sides<T: Copy>(batch: &Ragged<T>, element: usize) -> [usize; 2] {
    let shape = batch.shape(element);
    [0, 1].map(|axis| shape.extents()[axis] as usize)
}

/// Handles every pair of matrices separately: `one` gets the pair's index, and its factors as batches of one.
fn each<T: Float>(
    device: &Device,
    args: &[Ragged<T>],
    one: impl Fn(usize, [&Tensor<T>; 2]) -> Result<Ragged<T>>,
) -> Result<Ragged<T>> {
    let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
    a.pair(&b, Pairing::Elementwise)?;
    for element in 0..a.len() {
        for arg in args {
            if arg.shape(element).rank() != 2 {
                let message = "expected matrices, of rank 2";
                return Err(Failure::input(Some(element), message));
            }
        }
    }
    let (mut values, mut shapes) = (Vec::new(), Vec::<Shape>::new());
    for element in 0..a.len() {
        let here = |t: &Tensor<T>| t.elements(element..element + 1);
        let made = one(element, [&here(&a)?, &here(&b)?]).map_err(|failure| Failure {
            element: Some(element),
            ..failure
        })?;
        shapes.push(made.shape(0));
        values.extend_from_slice(made.values());
    }
    Ok(Ragged::from_shapes(values, 2, shapes)?)
}
