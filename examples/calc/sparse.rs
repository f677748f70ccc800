//! Block-sparse products: each pair on blocks of its own.

use vsla::{Bsr, Device, Pairing, Ragged, Shape, Tensor, Topology};

use crate::failure::{Failure, Result};
use crate::operations::{Answer, Call, batch, floats};

/// `a s`, with s kept in blocks.
pub fn matmul(call: &mut Call<'_>) -> Result<Answer> {
    let options = call.options.clone();
    let block = options.block()?;
    let tolerance = options.optional::<f32>("tolerance")?.unwrap_or(0.0);
    let [left, right] = options.transposed()?;
    if left {
        return Err(Failure::request("transpose: expected right"));
    }
    each(call, |device, a, _, s, shape| {
        let s = Bsr::from_dense(shape, block, s, tolerance.into())?;
        let s = device.upload_bsr(&s)?;
        let s = if right { s.transposed() } else { s };
        Ok(a.matmul_bsr(&s)?.download_blocking()?)
    })
}

/// Some blocks of `a b`, and zeros.
pub fn sampled(call: &mut Call<'_>) -> Result<Answer> {
    let options = call.options.clone();
    let (block, blocks) = (options.block()?, options.blocks()?);
    let [left, right] = options.transposed()?;
    each(call, |_, a, b, _, columns| {
        let side = |extents: &[u32], at: bool| extents[usize::from(at)] as usize;
        let shape = [
            side(a.layout().shape(0).extents(), left),
            side(&columns.map(|extent| extent as u32), !right),
        ];
        let topology = match &blocks {
            Some(blocks) => Topology::from_unsorted(shape, block, blocks.iter().copied())?,
            None => Topology::strided(shape, block, 1)?,
        };
        let pair = a.pair(b, Pairing::Elementwise)?;
        let mut product = pair.product();
        if left {
            product = product.transpose_left();
        }
        if right {
            product = product.transpose_right();
        }
        Ok(product
            .sampled(&topology)?
            .download_blocking()?
            .to_dense()?)
    })
}

/// Every pair: `one` is given its factors as batches of one, and the values and the shape of the right one.
fn each(
    call: &mut Call<'_>,
    one: impl Fn(&Device, &Tensor<f32>, &Tensor<f32>, &[f32], [usize; 2]) -> Result<Ragged<f32>>,
) -> Result<Answer> {
    let (device, args) = floats(call)?;
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
        let here = |t: &Tensor<f32>| t.elements(element..element + 1);
        let shape = args[1].shape(element);
        let shape = [0, 1].map(|axis| shape.extents()[axis] as usize);
        let made = one(&device, &here(&a)?, &here(&b)?, args[1].row(element), shape);
        let made = made.map_err(|failure| Failure {
            element: Some(element),
            ..failure
        })?;
        shapes.push(made.shape(0));
        values.extend_from_slice(made.values());
    }
    batch(Ragged::from_shapes(values, 2, shapes)?)
}
