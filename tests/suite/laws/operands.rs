//! Operands and layouts that operations need besides the two batches of a law.

use vsla::{
    Bsr, BsrTensor, Complex32, Device, Indices, Layout, Ragged, Result, Shape, Tensor, Topology,
    scalar::Scalar,
};

use crate::support::operation::run;

/// A list for each element, whose length is the element's extent.
pub fn lists(x: &Ragged<i32>, length: fn(usize) -> usize, index: fn(usize) -> u32) -> Indices {
    let rows = x.layout().shapes().map(|shape| {
        let rows = shape.extents()[0] as usize;
        (0..length(rows)).map(index).collect::<Vec<_>>()
    });
    Indices::new(Ragged::from_rows(rows).unwrap()).unwrap()
}

/// One vector of five values per element of `x`; no element is longer.
pub fn five(x: &Ragged<i32>) -> Layout {
    Layout::from_lengths(vec![5; x.len()]).unwrap()
}

/// The odd one of the two numbers of real values whose spectrum has this length.
pub fn odd(spectrum: &Layout) -> Result<Layout> {
    Layout::from_lengths([2 * spectrum.length(0) - 1])
}

/// The shapes derived from those of a batch of matrices.
pub fn of_shapes<T: Scalar>(x: &Tensor<T>, of: impl Fn([u32; 2]) -> [u32; 2]) -> Result<Layout> {
    let shapes = x.layout().shapes().map(|shape| {
        let extents = of([shape.extents()[0], shape.extents()[1]]);
        Shape::new(&extents.map(|n| n as usize))
    });
    Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
}

/// A block-sparse matrix of 11 x 5.
pub fn blocks(device: &Device) -> Result<BsrTensor<f32>> {
    let topology = Topology::new([11, 5], [8, 8], &[(0, 0), (1, 0)])?;
    let values = (0..128).map(|i| (i * 5 % 7) as f32).collect();
    device.upload_bsr(&Bsr::new(&topology, values)?)
}

/// Real values from half spectra, rounded.
pub fn halves_of_spectra(
    device: &Device,
    a: &Ragged<i32>,
    b: &Ragged<i32>,
    inverse: impl Fn(&Tensor<Complex32>) -> Result<Tensor<f32>>,
) -> Ragged<f64> {
    let complex = |batch: &Ragged<i32>| {
        batch
            .cast(|value| Complex32::new(value as f32, 0.0))
            .unwrap()
    };
    run(device, &complex(a), &complex(b), |x, _| inverse(x))
        .cast(|x| f64::from(x.round()))
        .unwrap()
}
