//! The functions of lines, their calls, and their results in f64 with error bounds.

use vsla::{Ragged, Result, Shape, Tensor, scalar::Float};

use crate::support::compare::{TINY, U, gamma};
use crate::support::operation::Expected;
use crate::support::reference::log_of_exponentials;

pub const EPSILON: f32 = 0.5;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Function {
    Sum,
    Mean,
    Var,
    Std,
    Max,
    Min,
    LogSumExp,
    Softmax,
    LogSoftmax,
    LayerNorm,
    RmsNorm,
    L2Normalize,
}

pub const ALL: [Function; 12] = [
    Function::Sum,
    Function::Mean,
    Function::Var,
    Function::Std,
    Function::Max,
    Function::Min,
    Function::LogSumExp,
    Function::Softmax,
    Function::LogSoftmax,
    Function::LayerNorm,
    Function::RmsNorm,
    Function::L2Normalize,
];

impl Function {
    pub fn along<T: Float>(self, x: &Tensor<T>, axis: usize) -> Result<Tensor<T>> {
        self.along_with(x, axis, EPSILON)
    }

    pub fn along_with<T: Float>(
        self,
        x: &Tensor<T>,
        axis: usize,
        epsilon: f32,
    ) -> Result<Tensor<T>> {
        match self {
            Function::Sum => x.sum_axis(axis),
            Function::Mean => x.mean_axis(axis),
            Function::Var => x.var_axis(axis),
            Function::Std => x.std_axis(axis),
            Function::Max => x.max_axis(axis),
            Function::Min => x.min_axis(axis),
            Function::LogSumExp => x.log_sum_exp_axis(axis),
            Function::Softmax => x.softmax(axis),
            Function::LogSoftmax => x.log_softmax(axis),
            Function::LayerNorm => x.layer_norm(axis, epsilon),
            Function::RmsNorm => x.rms_norm(axis, epsilon),
            Function::L2Normalize => x.l2_normalize(axis, epsilon),
        }
    }

    pub fn reduces(self) -> bool {
        use Function::{LogSumExp, Max, Mean, Min, Std, Sum, Var};
        matches!(self, Sum | Mean | Var | Std | Max | Min | LogSumExp)
    }

    /// The expected values of a line, and their error bounds.
    fn of(self, line: &[f64], epsilon: f64) -> Vec<(f64, f64)> {
        let n = line.len() as f64;
        let few = n * TINY;
        let depth = 72.0 + n.max(1.0).log2().ceil();
        let sum: f64 = line.iter().sum();
        let size: f64 = line.iter().map(|x| x.abs()).sum();
        let mean = sum / n;
        let var = line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let largest = line.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let nan = line.iter().any(|x| x.is_nan());
        let top = match nan {
            true => f64::NAN,
            false => line.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x)),
        };
        let exponentials: f64 = line.iter().map(|x| (x - top).exp()).sum();
        let log = log_of_exponentials(line, top);
        let var_bound =
            gamma(72.0 + 4.0 * n.max(1.0).log2().ceil()) * var + (2.0 * U * largest).powi(2);
        match self {
            Function::Sum => vec![(sum, gamma(depth - 6.0) * size + n * TINY)],
            Function::Mean => vec![(mean, gamma(depth - 6.0) * size / n + TINY)],
            Function::Var if var > f64::from(f32::MAX) => vec![(f64::INFINITY, 0.0)],
            Function::Var => vec![(var, var_bound + TINY)],
            Function::Std => {
                let bound = (var_bound / var.sqrt()).min(var_bound.sqrt());
                vec![(var.sqrt(), bound + 4.0 * U * var.sqrt() + TINY)]
            }
            Function::Max => vec![(top, 0.0)],
            Function::Min if nan => vec![(top, 0.0)],
            Function::Min => vec![(line.iter().fold(f64::INFINITY, |m, &x| m.min(x)), 0.0)],
            Function::LogSumExp if !top.is_finite() => vec![(top, 0.0)],
            Function::LogSumExp => {
                let value = top + log;
                let bound = gamma(depth + 98.0) * log + U * value.abs();
                vec![(value, bound + few)]
            }
            Function::Softmax | Function::LogSoftmax if !top.is_finite() => {
                vec![(f64::NAN, 0.0); line.len()]
            }
            Function::Softmax => {
                let value = |x: &f64| {
                    let y = (x - top).exp() / exponentials;
                    let apart = if x.is_finite() { top - x } else { 0.0 };
                    (y, (gamma(depth + 4.0) + 4.0 * U * (1.0 + apart)) * y + TINY)
                };
                line.iter().map(value).collect()
            }
            Function::LogSoftmax => {
                let value = |x: &f64| {
                    let y = (x - top) - log;
                    let size = if y.is_finite() { y.abs() } else { 0.0 };
                    (y, gamma(depth + 98.0) * size + few)
                };
                line.iter().map(value).collect()
            }
            Function::LayerNorm => {
                let root = (var + epsilon).sqrt();
                let value = |x: &f64| {
                    let y = (x - mean) / root;
                    let relative = gamma(72.0 + 4.0 * n.max(1.0).log2().ceil());
                    let bound = relative * (1.0 + y.abs()) + 2.0 * U * mean.abs() / root;
                    (y, bound)
                };
                line.iter().map(value).collect()
            }
            Function::L2Normalize => {
                let root = line.iter().map(|x| x * x).sum::<f64>().sqrt();
                let root = if root < epsilon { epsilon } else { root };
                let value = |x: &f64| (x / root, gamma(depth) * (x / root).abs() + TINY);
                line.iter().map(value).collect()
            }
            Function::RmsNorm => {
                let squares: f64 = line.iter().map(|x| x * x).sum();
                let root = (squares / n + epsilon).sqrt();
                let value = |x: &f64| (x / root, gamma(depth) * (x / root).abs() + TINY);
                line.iter().map(value).collect()
            }
        }
    }
}

/// The positions of each line's values in an element of this shape, in the order of the results.
pub fn places(shape: &[u32], axis: Option<usize>) -> Vec<Vec<usize>> {
    let size = |extents: &[u32]| extents.iter().map(|&e| e as usize).product::<usize>();
    let Some(axis) = axis else {
        return vec![(0..size(shape)).collect()];
    };
    let (count, step) = (shape[axis] as usize, size(&shape[axis + 1..]));
    let line = |line: usize| {
        (0..count)
            .map(|k| (line / step * count + k) * step + line % step)
            .collect()
    };
    (0..size(&shape[..axis]) * step).map(line).collect()
}

/// The values and bounds of all elements.
pub fn reference(
    function: Function,
    x: &Ragged<f32>,
    axis: Option<usize>,
) -> (Ragged<f64>, Vec<f64>) {
    reference_with(function, x, axis, EPSILON)
}

pub fn reference_with(
    function: Function,
    x: &Ragged<f32>,
    axis: Option<usize>,
    epsilon: f32,
) -> (Ragged<f64>, Vec<f64>) {
    let rank = x.layout().rank();
    let (mut values, mut bounds, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for element in 0..x.len() {
        let shape = x.layout().shape(element);
        let row = x.row(element);
        let first = values.len();
        values.resize(
            first + if function.reduces() { 0 } else { row.len() },
            (0.0, 0.0),
        );
        for line in places(shape.extents(), axis) {
            let wide: Vec<f64> = line.iter().map(|&place| row[place].into()).collect();
            let results = function.of(&wide, epsilon.into());
            match function.reduces() {
                true => values.extend(results),
                false => line
                    .iter()
                    .zip(results)
                    .for_each(|(place, y)| values[first + place] = y),
            }
        }
        let mut extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
        if function.reduces() {
            match axis.filter(|_| rank > 1) {
                Some(axis) => drop(extents.remove(axis)),
                None => extents = vec![1],
            }
        }
        shapes.push(Shape::new(&extents).unwrap());
    }
    let rank = match function.reduces() {
        true if axis.is_none() => 1,
        true => (rank - 1).max(1),
        false => rank,
    };
    bounds.extend(values.iter().map(|(_, bound)| bound));
    let values = values.into_iter().map(|(value, _)| value).collect();
    (Ragged::from_shapes(values, rank, shapes).unwrap(), bounds)
}

pub fn expected(function: Function, x: &Ragged<f32>, axis: Option<usize>) -> Expected {
    let (values, bounds) = reference(function, x, axis);
    Expected::inexact(values, bounds)
}
