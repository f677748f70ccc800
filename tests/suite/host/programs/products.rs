//! Matrix products and attention.

use std::hash::Hash;

use vsla::{
    Bsr, Device, Layout, Pairing, Ragged, Result, Shape, Topology, attention::Cache, f16,
    product::Activation, product::ShapeMatrix,
};

use super::values::*;

pub fn shape_matrices(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let mut add = |matrix: ShapeMatrix<f32>| {
        sum.layout(matrix.grid());
        sum.add(matrix.entries().clone())
    };
    let side = (n / 4).isqrt();
    let grid = Layout::uniform(4, Shape::new(&[side, side])?)?;
    let entries = Layout::from_lengths((0..grid.total()).map(|i| i % 4))?;
    let a = ShapeMatrix::new(&filled(device, &entries, number)?, &grid)?;
    add(a.kron_matmul(&a)?)?;
    add(a.conv_matmul(&a)?)?;
    add(a.add(&a)?)?;
    add(a.transpose()?)?;
    add(ShapeMatrix::identity(device, [side, 2, 0])?)?;
    // Long enough to be computed by transforms.
    let grid = Layout::uniform(1, Shape::new(&[3, 3])?)?;
    let entries = Layout::from_lengths((0..9).map(|i| 400 + i))?;
    let b = ShapeMatrix::new(&filled(device, &entries, number)?, &grid)?;
    add(b.conv_matmul(&b)?)?;
    if reads() {
        for matrix in a.to_nested_blocking()? {
            for row in matrix {
                for entry in row {
                    bytemuck::cast_slice::<f32, u8>(&entry).hash(&mut sum.0);
                }
            }
        }
    }
    sum.value()
}

pub fn bsr(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let n = n.min(900);
    let side = 8 * n.isqrt();
    let topology = Topology::random([side, side], [8, 8], n.isqrt().min(40), 3)?;
    let values = listed(64 * topology.len(), number)?;
    let a = device.upload_bsr(&Bsr::new(&topology, values)?)?;
    sum.host(a.download_blocking()?.values());
    let dense = Layout::uniform(1, Shape::new(&[side, 12])?)?;
    let b = filled(device, &dense, number)?;
    sum.add(a.matmul(&b)?)?;
    sum.add(a.transpose().matmul(&b)?)?;
    let bias = filled(device, &Layout::from_lengths([12])?, number)?;
    sum.add(
        a.product(&b)
            .scale(2.0)
            .bias(&bias)
            .activation(Activation::Relu)
            .run()?,
    )?;
    let halves = listed(64 * topology.len(), |i| f16::from_f32(number(i)))?;
    let halves = device.upload_bsr(&Bsr::new(&topology, halves)?)?;
    sum.add(halves.matmul(&b.to::<f16>()?)?)?;
    let pair = b.pair(&b, Pairing::Elementwise)?;
    let sampled = pair.product().transpose_right().sampled(&topology)?;
    sum.add(sampled.values().clone())?;
    sum.value()
}

/// Short elements, one whose keys are cut into pieces, and one of many rows.
pub fn attention(device: &Device, n: usize) -> Result<u64> {
    fn queries(i: usize) -> usize {
        match i {
            0 => 2,
            1 => 70,
            _ => i % 4,
        }
    }
    fn keys(i: usize) -> usize {
        match i {
            0 => 1100,
            1 => 40,
            _ => 1 + i % 5,
        }
    }
    let mut sum = Sum::default();
    let n = n.min(1000);
    let small = |i: usize| number(i) / 50.0;
    let of = |shape: fn(usize) -> [usize; 2]| filled(device, &matrix_layout(n, shape)?, small);
    let q = of(|i| [queries(i), 16])?;
    let k = of(|i| [keys(i), 8])?;
    let v = of(|i| [keys(i), 24])?;
    let bias = of(|i| [queries(i), keys(i)])?;
    let heads = Layout::from_lengths([4])?;
    let (slopes, sinks) = (
        filled(device, &heads, small)?,
        filled(device, &heads, small)?,
    );
    let attention = q.attention(&k, &v).heads(4).key_heads(2);
    let (o, lse) = attention.clone().causal().sinks(&sinks).run_with_lse()?;
    sum.add(o)?;
    sum.add(lse)?;
    let blocks = Topology::strided([80, 1104], [16, 8], 3)?;
    let attention = attention.window(30, 4).softcap(3.0).bias(&bias);
    sum.add(
        attention
            .alibi(&slopes)
            .sinks(&sinks)
            .blocks(&blocks)
            .run()?,
    )?;
    let (q, k, v) = (q.to::<f16>()?, k.to::<f16>()?, v.to::<f16>()?);
    let attention = q.attention(&k, &v).heads(4).key_heads(2);
    sum.add(attention.alibi(&slopes).run()?)?;
    sum.value()
}

/// Caches that are appended to alone and after they were cloned, and attention over both. Made of tensors that exist,
/// because only operands of recordings are appended to there.
pub fn cache(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let n = n.min(1000);
    let of = |shape: fn(usize) -> [usize; 2]| {
        let values = |_, i| number(i) / 50.0;
        device.upload(&Ragged::from_fn(&matrix_layout(n, shape)?, values)?)
    };
    let (keys, values) = (of(|i| [i % 5 + 2, 8])?, of(|i| [i % 5 + 2, 24])?);
    let lengths: Vec<usize> = (0..n).map(|i| i % 5 / 2).collect();
    let mut cache = Cache::with_lengths(keys, values, &lengths)?;
    cache.append(&of(|i| [i % 2, 8])?, &of(|i| [i % 2, 24])?)?;
    let before = cache.clone();
    cache.append(&of(|_| [1, 8])?, &of(|_| [1, 24])?)?;
    let q = of(|i| [i % 3, 16])?;
    for cache in [before, cache] {
        sum.add(q.attention_over(&cache).heads(4).key_heads(2).run()?)?;
    }
    sum.value()
}
