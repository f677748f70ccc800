//! Fallibly allocated input for the programs, and the hash of their results.

use std::hash::{DefaultHasher, Hasher};

use vsla::{Device, Error, Layout, Ragged, Result, Shape, Tensor, scalar::Scalar};

/// Allocates memory for the test itself, which may also fail.
pub fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => Ok(values),
        Err(_) => Err(Error::OutOfMemory {
            op: "test",
            bytes: (count * size_of::<T>()) as u64,
            available: None,
        }),
    }
}

pub fn listed<T>(count: usize, value: impl FnMut(usize) -> T) -> Result<Vec<T>> {
    let mut values = room(count)?;
    values.extend((0..count).map(value));
    Ok(values)
}

/// Small numbers that are not all equal.
pub fn number(i: usize) -> f32 {
    (i * 37 % 101) as f32 - 50.0
}

pub fn filled<T: Scalar>(
    device: &Device,
    layout: &Layout,
    value: fn(usize) -> T,
) -> Result<Tensor<T>> {
    let values = listed(layout.total(), value)?;
    device.upload(&Ragged::from_parts(layout.clone(), values)?)
}

/// Vectors of 0 to 4 values, with some longer vectors.
pub fn series_layout(n: usize, seed: usize, long: &[usize]) -> Result<Layout> {
    let short = move |i: usize| (i * 7 + seed) % 5;
    Layout::from_lengths((0..n).map(short).chain(long.iter().copied()))
}

pub fn series(device: &Device, n: usize, seed: usize, long: &[usize]) -> Result<Tensor<f32>> {
    filled(device, &series_layout(n, seed, long)?, number)
}

pub fn matrix_layout(n: usize, shape: fn(usize) -> [usize; 2]) -> Result<Layout> {
    // Checked first, because an iterator that can fail is collected.
    let shapes = (0..n).map(|i| Shape::new(&shape(i)).unwrap());
    Layout::from_shapes(2, shapes)
}

pub fn matrices(device: &Device, n: usize, shape: fn(usize) -> [usize; 2]) -> Result<Tensor<f32>> {
    filled(device, &matrix_layout(n, shape)?, number)
}

/// A hash of results.
#[derive(Default)]
pub struct Sum(pub DefaultHasher);

impl Sum {
    pub fn host<T: bytemuck::Pod>(&mut self, batch: &Ragged<T>) {
        self.0.write(bytemuck::cast_slice(batch.values()));
        self.layout(batch.layout());
    }

    pub fn layout(&mut self, layout: &Layout) {
        self.0
            .write(bytemuck::cast_slice(layout.offsets().as_slice()));
        self.0.write(bytemuck::cast_slice(layout.extents()));
    }

    pub fn add<T: Scalar>(&mut self, tensor: Tensor<T>) -> Result<()> {
        self.host(&tensor.download_blocking()?);
        Ok(())
    }

    pub fn value(self) -> Result<u64> {
        Ok(self.0.finish())
    }
}
