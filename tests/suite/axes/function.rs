//! The functions of lines, their calls, and their results in f64.

use std::fmt::Debug;

use vsla::{
    Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, Scalar, f16_from_f64},
};

use crate::lines::places;
use crate::support::operation::download;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Function {
    Sum,
    Product,
    Norm1,
    NormMax,
    Max,
    Min,
    ArgMax,
    ArgMin,
}

pub use Function::{ArgMax, ArgMin, Max, Min, Norm1, NormMax, Product, Sum};

pub const ALL: [Function; 8] = [Sum, Product, Norm1, NormMax, Max, Min, ArgMax, ArgMin];

/// A type of values, which here are small integers.
pub trait Sample: Factor + Debug {
    const LOWEST: f64;
    const HIGHEST: f64;
    /// Nearest to a number.
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
}

macro_rules! sample {
    ($type:ty, $lowest:expr, $highest:expr, $of:expr, $wide:expr) => {
        impl Sample for $type {
            const LOWEST: f64 = $lowest;
            const HIGHEST: f64 = $highest;
            fn of(x: f64) -> Self {
                $of(x)
            }
            fn wide(self) -> f64 {
                $wide(self)
            }
        }
    };
}

sample!(
    f32,
    f64::NEG_INFINITY,
    f64::INFINITY,
    |x| x as f32,
    f64::from
);
sample!(
    f16,
    f64::NEG_INFINITY,
    f64::INFINITY,
    f16_from_f64,
    f16::to_f64
);
sample!(
    i32,
    i32::MIN as f64,
    i32::MAX as f64,
    |x| x as i32,
    f64::from
);
sample!(u32, 0.0, u32::MAX as f64, |x| x as u32, f64::from);

pub fn values<T: Scalar>(result: Result<Tensor<T>>, wide: impl Fn(T) -> f64) -> (Layout, Vec<f64>) {
    let result = download(&result.unwrap());
    let values = result.values().iter().map(|&x| wide(x)).collect();
    (result.layout().clone(), values)
}

impl Function {
    pub fn along<T: Sample>(self, x: &Tensor<T>, axis: Option<usize>) -> (Layout, Vec<f64>) {
        let place = |result| values(result, |i: u32| i.into());
        let value = |result| values(result, T::wide);
        match (self, axis) {
            (Sum, Some(axis)) => value(x.sum_axis(axis)),
            (Sum, None) => value(x.sum()),
            (Product, Some(axis)) => value(x.prod_axis(axis)),
            (Product, None) => value(x.prod()),
            (Norm1, Some(axis)) => value(x.norm1_axis(axis)),
            (Norm1, None) => value(x.norm1()),
            (NormMax, Some(axis)) => value(x.norm_max_axis(axis)),
            (NormMax, None) => value(x.norm_max()),
            (Max, Some(axis)) => value(x.max_axis(axis)),
            (Max, None) => value(x.max()),
            (Min, Some(axis)) => value(x.min_axis(axis)),
            (Min, None) => value(x.min()),
            (ArgMax, Some(axis)) => place(x.argmax_axis(axis)),
            (ArgMax, None) => place(x.argmax()),
            (ArgMin, Some(axis)) => place(x.argmin_axis(axis)),
            (ArgMin, None) => place(x.argmin()),
        }
    }

    /// The result for a line. NaN is larger and smaller than all numbers, and +0 is larger than −0.
    pub fn of<T: Sample>(self, line: &[f64]) -> f64 {
        let extreme = |better: fn(f64, f64) -> bool| {
            let nan = line.iter().position(|x| x.is_nan());
            nan.or_else(|| {
                let mut best = None;
                for (i, &x) in line.iter().enumerate() {
                    if best.is_none_or(|best: usize| better(x, line[best])) {
                        best = Some(i);
                    }
                }
                best
            })
        };
        let place = |place: Option<usize>| place.map_or(u32::MAX.into(), |place| place as f64);
        match self {
            Sum => line.iter().sum(),
            Product => line.iter().product(),
            Norm1 => line.iter().map(|x| x.abs()).sum(),
            NormMax => {
                let sizes: Vec<f64> = line.iter().map(|x| x.abs()).collect();
                if line.is_empty() {
                    0.0
                } else {
                    Max.of::<T>(&sizes)
                }
            }
            Max => extreme(|x, best| x > best).map_or(T::LOWEST, |place| line[place]),
            Min => extreme(|x, best| x < best).map_or(T::HIGHEST, |place| line[place]),
            ArgMax => place(extreme(|x, best| x > best)),
            ArgMin => place(extreme(|x, best| x < best)),
        }
    }

    pub fn is_place(self) -> bool {
        matches!(self, ArgMax | ArgMin)
    }
}

/// The layout of the results, and the values of each line.
pub fn lines<T: Sample>(x: &Ragged<T>, axis: Option<usize>) -> (Layout, Vec<Vec<f64>>) {
    let rank = x.layout().rank();
    let (mut shapes, mut lines) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let (shape, row) = (x.layout().shape(element), x.row(element));
        let mut extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
        match axis.filter(|_| rank > 1) {
            Some(axis) => drop(extents.remove(axis)),
            None => extents = vec![1],
        }
        shapes.push(Shape::new(&extents).unwrap());
        let of_line = |line: Vec<usize>| line.into_iter().map(|at| row[at].wide()).collect();
        lines.extend(places(shape.extents(), axis).into_iter().map(of_line));
    }
    let rank = if axis.is_none() { 1 } else { (rank - 1).max(1) };
    (Layout::from_shapes(rank, shapes).unwrap(), lines)
}
