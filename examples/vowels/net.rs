//! The network: two convolutions over time, pooling over each recording's own samples, and a dense layer.
//!
//! The weights of all layers are one ragged batch, a matrix for each: so the optimizer is written once, and a file of
//! weights is a file of one batch.

use vsla::product::Activation;
use vsla::{Device, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor};

/// The filters of each convolution.
const FILTERS: [usize; 2] = [128, 64];
/// The samples that a filter covers: one, and as many before it as after it.
const TAPS: usize = 3;

/// The sizes of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Net {
    pub channels: usize,
    pub classes: usize,
}

impl Net {
    /// The inputs and the outputs of each layer.
    fn layers(self) -> [[usize; 2]; 3] {
        let [first, second] = FILTERS;
        [
            [TAPS * self.channels, first],
            [TAPS * first, second],
            [2 * second, self.classes],
        ]
    }

    /// The shapes of the weights: for each layer, a matrix and a row of biases.
    pub fn layout(self) -> Result<Layout> {
        let shapes = self.layers().into_iter().flat_map(|[inputs, outputs]| {
            [Shape::new(&[inputs, outputs]), Shape::new(&[1, outputs])]
        });
        Layout::from_shapes(2, shapes.collect::<Result<Vec<Shape>>>()?)
    }

    /// The number of weights and biases.
    pub fn parameters(self) -> usize {
        let layers = self.layers().into_iter();
        layers.map(|[inputs, outputs]| (inputs + 1) * outputs).sum()
    }

    /// Random weights and biases of 0.
    ///
    /// The deviation keeps the size of values from layer to layer: √(2 / inputs) before a `relu`, √(1 / inputs) for the
    /// last layer.
    pub fn weights(self, device: &Device, seed: u64) -> Result<Tensor<f32>> {
        let deviations = self.layers().into_iter().zip([2.0, 2.0, 1.0]);
        let deviations =
            deviations.flat_map(|([inputs, _], gain)| [(gain / inputs as f32).sqrt(), 0.0]);
        let deviations = Ragged::from_rows(deviations.map(|deviation| [deviation]))?;
        let normal = device.normal(&self.layout()?, 0.0f32, 1.0, seed)?;
        normal.hadamard(device.upload(&deviations)?.each())
    }
}

/// The matrix and the row of biases of each layer: views of the weights.
pub fn parts(weights: &Tensor<f32>) -> Result<[Tensor<f32>; 6]> {
    let part = |i: usize| weights.elements(i..i + 1);
    Ok([part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?])
}

/// The scores of all classes for each recording: one matrix, recordings × classes.
///
/// `x` has a matrix for each recording, samples × channels. No operation sees samples that do not exist.
pub fn scores(x: &Tensor<f32>, parts: &[Tensor<f32>; 6]) -> Result<Tensor<f32>> {
    let [first, first_bias, second, second_bias, dense, dense_bias] = parts;
    let around = around(x.layout())?;
    let maps = convolve(x, &around, first, first_bias)?;
    let maps = convolve(&maps, &around, second, second_bias)?;
    // Two values for each filter and recording, whatever the recording's length.
    let pooled = maps.mean_axis(0)?.concat(&maps.max_axis(0)?, 0)?;
    let features = pooled.stack(None)?; // vectors of one length, seen as the rows of one matrix
    features.product(dense).bias(&vector(dense_bias)?).run()
}

/// A row seen as a vector.
fn vector(row: &Tensor<f32>) -> Result<Tensor<f32>> {
    row.reshape(&Layout::from_lengths([row.layout().total()])?)
}

/// The convolution of every recording with all filters, and `relu`: samples × filters.
///
/// A sample and its neighbours become one row, and the filters are the columns of a matrix that all rows share.
fn convolve(
    x: &Tensor<f32>,
    around: &Indices,
    filters: &Tensor<f32>,
    bias: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let rows = x.layout().shapes().map(|shape| {
        let extents = shape.extents();
        Shape::new(&[extents[0] as usize, TAPS * extents[1] as usize])
    });
    let rows = Layout::from_shapes(2, rows.collect::<Result<Vec<Shape>>>()?)?;
    let windows = x.gather(around)?.reshape(&rows)?;
    let sums = windows.pair(filters, Pairing::AllToAll)?.product();
    sums.bias(&vector(bias)?).activation(Activation::Relu).run()
}

/// For each sample of each recording, the indices of the samples around it. Those before the first and after the last
/// do not exist, and `gather` gives zeros for them.
fn around(recordings: &Layout) -> Result<Indices> {
    let lists = recordings.shapes().map(|shape| -> Vec<u32> {
        let windows = (0..shape.extents()[0]).map(|i| (0..TAPS as u32).map(move |tap| i + tap));
        let before = TAPS as u32 / 2;
        windows.flatten().map(|i| i.wrapping_sub(before)).collect()
    });
    Indices::new(Ragged::from_rows(lists)?)
}
