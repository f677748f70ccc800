//! Executing operations on one batch.

use vsla::{
    Complex32, Ragged, Result, Tensor,
    batch::Seed,
    f16,
    scalar::{Factor, Float},
};

use super::super::batch::{Kind, Value, each};
use super::super::op::{Created, Unary};
use super::real;

/// The same expression for a batch of each type but complex numbers.
macro_rules! factor {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Value::F32($x) => $body,
            Value::I32($x) => $body,
            Value::U32($x) => $body,
            Value::F16($x) => $body,
            other => unreachable!("{other:?}"),
        }
    };
}

pub fn unary(op: &Unary, x: &Value) -> Result<Value> {
    Ok(match op {
        // Elements whose rows are alike are first seen as one, and as elements again.
        Unary::Copy => each!(Value, x, x => match x.packed() {
            Ok(packed) => packed.unpacked(x.layout())?.copy()?.into(),
            Err(_) => x.copy()?.into(),
        }),
        Unary::Slice(start, end) => each!(Value, x, x => x.slice(start, end)?.into()),
        Unary::Pad(widths) => {
            let (before, after): (Vec<_>, Vec<_>) = widths.iter().copied().unzip();
            each!(Value, x, x => x.pad(&before, &after)?.into())
        }
        Unary::Flip(axes) => each!(Value, x, x => x.flip(axes)?.into()),
        Unary::Resize(layout) => each!(Value, x, x => x.resize(layout)?.into()),
        Unary::Transpose(order) => each!(Value, x, x => x.transpose(order)?.into()),
        Unary::Reshape(layout) => each!(Value, x, x => x.reshape(layout)?.into()),
        Unary::Broadcast(layout) => each!(Value, x, x => x.broadcast(layout)?.into()),
        Unary::ScatterSet(indices, layout) => {
            each!(Value, x, x => x.scatter_set(indices, layout)?.into())
        }
        Unary::ScatterAdd(indices, layout) => real!(x, x => x.scatter_add(indices, layout)?.into()),
        Unary::Neg => real!(x, x => x.neg()?.into()),
        Unary::Scale(factor) => match x {
            Value::F32(x) => x.scale(*factor as f32)?.into(),
            Value::I32(x) => x.scale(*factor)?.into(),
            Value::U32(x) => x.scale(*factor as u32)?.into(),
            other => unreachable!("{other:?}"),
        },
        Unary::Sum => real!(x, x => x.sum()?.into()),
        Unary::Norm1 => real!(x, x => x.norm1()?.into()),
        Unary::Max => real!(x, x => x.max()?.into()),
        Unary::Argmax => real!(x, x => x.argmax()?.into()),
        Unary::Min => real!(x, x => x.min()?.into()),
        Unary::Argmin => real!(x, x => x.argmin()?.into()),
        Unary::Shrink => real!(x, x => x.shrink_blocking()?.into()),
        Unary::Degree => {
            let (degrees, device) = real!(x, x => (x.degree_blocking()?, x.device()));
            let row = |degree: Option<usize>| [degree.map_or(u32::MAX, |degree| degree as u32)];
            device
                .upload(&Ragged::from_rows(degrees.into_iter().map(row))?)?
                .into()
        }
        Unary::Norm2 => float(x).norm2()?.into(),
        Unary::ToF16 => float(x).to::<vsla::f16>()?.into(),
        Unary::Rfft => float(x).rfft()?.into(),
        Unary::Rfft2 => float(x).rfft2()?.into(),
        Unary::ToF32 => match x {
            Value::F16(x) => x.to::<f32>()?.into(),
            other => unreachable!("{other:?}"),
        },
        Unary::Fft => complex(x).fft()?.into(),
        Unary::Ifft => complex(x).ifft()?.into(),
        Unary::Irfft(layout) => complex(x).irfft(layout)?.into(),
        Unary::Fft2 => complex(x).fft2()?.into(),
        Unary::Ifft2 => complex(x).ifft2()?.into(),
        Unary::Irfft2(layout) => complex(x).irfft2(layout)?.into(),
        Unary::Strided(ranges) => each!(Value, x, x => x.strided_slice(ranges)?.into()),
        Unary::Histogram(bins, [from, to]) => {
            factor!(x, x => x.histogram(*bins, small(*from)..=small(*to))?.into())
        }
        Unary::HistogramEdges(edges) => factor!(x, x => {
            let edges: Vec<_> = edges.iter().map(|&edge| small(edge)).collect();
            x.histogram_edges(&edges)?.into()
        }),
        Unary::OneHot(depth, kind) => {
            let x = match x {
                Value::U32(x) => x,
                other => unreachable!("{other:?}"),
            };
            match kind {
                Kind::F32 => x.one_hot::<f32>(*depth)?.into(),
                Kind::I32 => x.one_hot::<i32>(*depth)?.into(),
                Kind::U32 => x.one_hot::<u32>(*depth)?.into(),
                Kind::F16 => x.one_hot::<f16>(*depth)?.into(),
                Kind::C32 => unreachable!("{kind:?}"),
            }
        }
        Unary::Embedding(table) => match x {
            Value::U32(x) => x.device().upload(table)?.embedding(x)?.into(),
            other => unreachable!("{other:?}"),
        },
        Unary::CrossEntropy(targets) => {
            let x = float(x);
            x.cross_entropy(&x.device().upload(targets)?)?.into()
        }
        Unary::Created(made) => match x {
            Value::F32(x) => floats(made, x)?,
            Value::F16(x) => floats(made, x)?,
            Value::I32(x) => factors(made, x)?,
            Value::U32(x) => factors(made, x)?,
            Value::C32(x) => {
                let [re, im] = made.numbers.map(small);
                x.device().full(x.layout(), Complex32::new(re, im))?.into()
            }
        },
        Unary::Dropout { p, seed, first } => {
            let seed = Seed::from(*seed).from_element(*first);
            match x {
                Value::F32(x) => x.dropout(*p, seed)?.into(),
                Value::F16(x) => x.dropout(*p, seed)?.into(),
                other => unreachable!("{other:?}"),
            }
        }
        Unary::Stft(window, hop) => {
            let x = float(x);
            x.stft(&x.device().upload(window)?, *hop)?.into()
        }
        Unary::Istft(window, hop, layout) => {
            let x = complex(x);
            x.istft(&x.device().upload(window)?, *hop, layout)?.into()
        }
    })
}

pub fn float(x: &Value) -> &Tensor<f32> {
    match x {
        Value::F32(x) => x,
        other => unreachable!("{other:?}"),
    }
}

pub fn complex(x: &Value) -> &Tensor<vsla::Complex32> {
    match x {
        Value::C32(x) => x,
        other => unreachable!("{other:?}"),
    }
}

/// Types that have small numbers, from integers: quarters of floats, and magnitudes of unsigned integers.
pub trait Small: Factor {
    fn small(n: i32) -> Self;
}

impl Small for f32 {
    fn small(n: i32) -> f32 {
        n as f32 / 4.0
    }
}

impl Small for f16 {
    fn small(n: i32) -> f16 {
        f16::from_f32(n as f32 / 4.0)
    }
}

impl Small for i32 {
    fn small(n: i32) -> i32 {
        n
    }
}

impl Small for u32 {
    fn small(n: i32) -> u32 {
        n.unsigned_abs()
    }
}

fn small<T: Small>(n: i32) -> T {
    T::small(n)
}

fn factors<T: Small>(made: &Created, like: &Tensor<T>) -> Result<Value>
where
    Value: From<Tensor<T>>,
{
    let (device, layout) = (like.device(), like.layout());
    let [a, b] = made.numbers.map(small);
    let seed = Seed::from(made.seed).from_element(made.first);
    let tensor: Tensor<T> = match made.name {
        "full" => device.full(layout, a),
        "arange" => device.arange(layout, a, b),
        "eye" => device.eye(layout),
        "uniform" => device.uniform(layout, a, b, seed),
        other => unreachable!("{other}"),
    }?;
    Ok(tensor.into())
}

fn floats<T: Small + Float>(made: &Created, like: &Tensor<T>) -> Result<Value>
where
    Value: From<Tensor<T>>,
{
    let (device, layout) = (like.device(), like.layout());
    let [a, b] = made.numbers.map(small);
    let seed = Seed::from(made.seed).from_element(made.first);
    let tensor: Tensor<T> = match made.name {
        "linspace" => device.linspace(layout, a, b),
        "normal" => device.normal(layout, a, b, seed),
        _ => return factors(made, like),
    }?;
    Ok(tensor.into())
}
