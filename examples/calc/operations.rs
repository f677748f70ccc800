//! The table of operations. A new one is a new row.

use std::io::{self, Write};

use serde_json::{Value, json};
use vsla::{
    Complex32, ConvMethod, DType, Device, DeviceInfo, Factor, Float, Layout, Pairing, Product,
    Ragged, Shape, f16,
};

use crate::batch::{Args, Batch, Number, separated, shown, written_size};
use crate::device::Choice;
use crate::devices::Devices;
use crate::failure::{Failure, KINDS, Result};
use crate::files;
use crate::request::{OPTIONS, Options, Pairs, Request};
use crate::sparse;

pub struct Operation {
    pub name: &'static str,
    /// Batches that it takes.
    pub args: usize,
    pub options: &'static [&'static str],
    pub grows: Grows,
    pub about: &'static str,
    pub run: fn(&mut Call<'_>) -> Result<Answer>,
}

/// How the size of the answer follows from the arguments: what could exceed the limit is refused before any work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grows {
    /// No larger than the line, or checked by the operation itself.
    No,
    /// A number or two for each pair.
    Pair,
    /// The ambient shape of each pair.
    Ambient,
    /// The sum of the lengths of each pair.
    Lengths,
    /// A matrix for each pair.
    Product,
}

/// The body for whichever type the arguments are of.
macro_rules! typed {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            Args::F32($args) => $body,
            Args::I32($args) => $body,
            Args::U32($args) => $body,
            Args::C32($args) => $body,
            Args::F16($args) => $body,
        }
    }};
}

/// The body for whichever type of real numbers the arguments are of.
macro_rules! real {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            Args::F32($args) => $body,
            Args::I32($args) => $body,
            Args::U32($args) => $body,
            Args::C32(_) | Args::F16(_) => Err(Failure::request(
                "dtype: this operation takes f32, i32 or u32",
            )),
        }
    }};
}

/// A method of one tensor that every type of real numbers has.
macro_rules! unary {
    ($method:ident) => {
        |call| {
            real!(call, |device, args| {
                batch(device.upload(&args[0])?.$method()?.download_blocking()?)
            })
        }
    };
}

/// A method of two tensors, and of a pairing of them, that every type of real numbers has.
macro_rules! binary {
    ($method:ident) => {
        |call| {
            real!(call, |device, args| {
                let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
                let result = match call.options.pairs()? {
                    None => a.$method(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.$method()?,
                };
                batch(result.download_blocking()?)
            })
        }
    };
}

/// A convolution: a method of two tensors and of a pairing of them, by a method of choice.
macro_rules! convolved {
    ($args:expr, $device:expr, $options:expr, $method:ident) => {{
        let (a, b) = ($device.upload(&$args[0])?, $device.upload(&$args[1])?);
        match ($options.pairs()?, $options.method()?) {
            (None, ConvMethod::Auto) => a.$method(&b)?,
            (pairs, method) => {
                let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
                a.pair(&b, pairing)?.method(method).$method()?
            }
        }
    }};
}

const UNARY: &[&str] = &["dtype", "rank"];
const BINARY: &[&str] = &["dtype", "rank", "pairing"];
const CONVOLVED: &[&str] = &["dtype", "rank", "pairing", "method"];
const MATMUL: &[&str] = &[
    "dtype",
    "rank",
    "pairing",
    "transpose",
    "scale",
    "activation",
];

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "add",
        args: 2,
        options: BINARY,
        grows: Grows::Ambient,
        about: "a + b; missing entries are zero",
        run: binary!(add),
    },
    Operation {
        name: "sub",
        args: 2,
        options: BINARY,
        grows: Grows::Ambient,
        about: "a - b; missing entries are zero",
        run: binary!(sub),
    },
    Operation {
        name: "scale",
        args: 1,
        options: &["dtype", "rank", "factor"],
        grows: Grows::No,
        about: "factor * x",
        run: |call| {
            real!(call, |device, args| {
                let factor = call.options.number("factor")?;
                let x = device.upload(&args[0])?;
                batch(x.scale(factor)?.download_blocking()?)
            })
        },
    },
    Operation {
        name: "copy",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "x, copied on the device",
        run: |call| {
            typed!(call, |device, args| {
                batch(device.upload(&args[0])?.copy()?.download_blocking()?)
            })
        },
    },
    Operation {
        name: "full",
        args: 0,
        options: &["dtype", "rank", "shapes", "value"],
        grows: Grows::No,
        about: "a batch of these shapes with one value everywhere",
        run: full,
    },
    Operation {
        name: "elements",
        args: 1,
        options: &["dtype", "rank", "range"],
        grows: Grows::No,
        about: "a range of elements, as a view",
        run: |call| {
            typed!(call, |device, args| {
                let range = call.options.range()?;
                let x = device.upload(&args[0])?;
                batch(x.elements(range)?.download_blocking()?)
            })
        },
    },
    Operation {
        name: "sum",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the sum of each element; 0 of an empty one",
        run: unary!(sum),
    },
    Operation {
        name: "to_f16",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the nearest f16 of each value, ties to even (f32)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.to_f16()?.download_blocking()?)
        },
    },
    Operation {
        name: "to_f32",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "each value as f32 (f16)",
        run: |call| {
            let (device, args) = halves(call)?;
            batch(device.upload(&args[0])?.to_f32()?.download_blocking()?)
        },
    },
    Operation {
        name: "norm2",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the Euclidean norm of each element (f32)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.norm2()?.download_blocking()?)
        },
    },
    Operation {
        name: "max",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the largest value of each element; -inf (or the least integer) of an empty one",
        run: unary!(max),
    },
    Operation {
        name: "argmax",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the index of the largest value of each element; 4294967295 for an empty one",
        run: unary!(argmax),
    },
    Operation {
        name: "min",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the smallest value of each element; inf (or the greatest integer) of an empty one",
        run: unary!(min),
    },
    Operation {
        name: "argmin",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the index of the smallest value of each element; 4294967295 for an empty one",
        run: unary!(argmin),
    },
    Operation {
        name: "dot",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "the inner product of each pair; missing entries are zero",
        run: binary!(dot),
    },
    Operation {
        name: "conv",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Lengths,
        about: "the convolution of each pair (rank 1)",
        run: |call| {
            real!(call, |device, args| {
                let product = convolved!(args, device, call.options, conv);
                batch(product.download_blocking()?)
            })
        },
    },
    Operation {
        name: "correlate",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Lengths,
        about: "the cross-correlation of each pair; value q is lag q - (n - 1) (rank 1)",
        run: |call| {
            real!(call, |device, args| {
                let product = convolved!(args, device, call.options, correlate);
                batch(product.download_blocking()?)
            })
        },
    },
    Operation {
        name: "causal",
        args: 2,
        options: BINARY,
        grows: Grows::Lengths,
        about: "the convolution of each pair, as many values as its left side has, by a ConvPlan (f32, rank 1)",
        run: |call| {
            let pairs = call.options.pairs()?;
            let (device, args) = floats(call)?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
            let product = a.pair(&b, pairing)?.conv_plan()?.causal(&a)?;
            batch(product.download_blocking()?)
        },
    },
    Operation {
        name: "correlate_max",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Pair,
        about: "{value, lag} of the largest cross-correlation of each pair (f32, rank 1)",
        run: |call| {
            let options = call.options.clone();
            let (device, args) = floats(call)?;
            let best = convolved!(args, device, options, correlate_max);
            let value = best.value.download_blocking()?.into();
            let lag = best.lag.download_blocking()?.into();
            Ok(Answer::Fields([("value", value), ("lag", lag)]))
        },
    },
    Operation {
        name: "sbd",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Pair,
        about: "{distance, lag}: the shape-based distance of each pair (f32, rank 1)",
        run: |call| {
            let options = call.options.clone();
            let (device, args) = floats(call)?;
            let best = convolved!(args, device, options, sbd);
            let distance = best.distance.download_blocking()?.into();
            let lag = best.lag.download_blocking()?.into();
            Ok(Answer::Fields([("distance", distance), ("lag", lag)]))
        },
    },
    Operation {
        name: "matmul",
        args: 2,
        options: MATMUL,
        grows: Grows::Product,
        about: "activation(scale * a b) of each pair of matrices (rank 2)",
        run: |call| matmul(call, false),
    },
    Operation {
        name: "matmul_ambient",
        args: 2,
        options: MATMUL,
        grows: Grows::Product,
        about: "the same, where inner extents may differ: missing entries are zero (rank 2)",
        run: |call| matmul(call, true),
    },
    Operation {
        name: "matmul_bsr",
        args: 2,
        options: &["dtype", "rank", "transpose", "block", "tolerance"],
        grows: Grows::Product,
        about: "a s of each pair of matrices, where s is kept in the blocks that hold a value above the tolerance (rank 2, f32; transpose: \"right\")",
        run: sparse::matmul,
    },
    Operation {
        name: "sampled",
        args: 2,
        options: &["dtype", "rank", "transpose", "block", "blocks"],
        grows: Grows::Product,
        about: "some blocks of a b of each pair of matrices, and zeros elsewhere (rank 2, f32)",
        run: sparse::sampled,
    },
    Operation {
        name: "equivalent",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "whether each pair is equal up to trailing zeros",
        run: |call| {
            real!(call, |device, args| {
                let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
                Ok(Answer::Truths(match call.options.pairs()? {
                    None => a.equivalent_blocking(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.equivalent_blocking()?,
                }))
            })
        },
    },
    Operation {
        name: "fft",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the discrete Fourier transform of each element (c32, rank 1)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(device.upload(&args[0])?.fft()?.download_blocking()?)
        },
    },
    Operation {
        name: "ifft",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the inverse of fft, scaled by 1/n (c32, rank 1)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(device.upload(&args[0])?.ifft()?.download_blocking()?)
        },
    },
    Operation {
        name: "rfft",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the first n/2 + 1 values of fft, of n real values; answers complex ones (f32, rank 1)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.rfft()?.download_blocking()?)
        },
    },
    Operation {
        name: "irfft",
        args: 1,
        options: &["dtype", "rank", "lengths"],
        grows: Grows::No,
        about: "the inverse of rfft: real values, as many as lengths says (c32, rank 1)",
        run: |call| {
            let layout = Layout::from_lengths(call.options.lengths()?)?;
            let (device, args) = complex(call)?;
            let x = device.upload(&args[0])?;
            batch(x.irfft(&layout)?.download_blocking()?)
        },
    },
    Operation {
        name: "fft2",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the discrete Fourier transform of both axes of each element (c32, rank 2)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(device.upload(&args[0])?.fft2()?.download_blocking()?)
        },
    },
    Operation {
        name: "ifft2",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the inverse of fft2, scaled by 1/(r c) (c32, rank 2)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(device.upload(&args[0])?.ifft2()?.download_blocking()?)
        },
    },
    Operation {
        name: "rfft2",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the first c/2 + 1 columns of fft2, of r x c real values; answers complex ones (f32, rank 2)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.rfft2()?.download_blocking()?)
        },
    },
    Operation {
        name: "irfft2",
        args: 1,
        options: &["dtype", "rank", "lengths"],
        grows: Grows::No,
        about: "the inverse of rfft2: real elements, with as many columns as lengths says (c32, rank 2)",
        run: |call| {
            let columns = call.options.lengths()?;
            let (device, args) = complex(call)?;
            let shapes = columns.into_iter().enumerate().map(|(i, columns)| {
                let rows = match i < args[0].len() {
                    true => args[0].layout().shape(i).extents()[0] as usize,
                    false => 0,
                };
                Shape::new(&[rows, columns])
            });
            let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
            let x = device.upload(&args[0])?;
            batch(x.irfft2(&layout)?.download_blocking()?)
        },
    },
    Operation {
        name: "read",
        args: 0,
        options: &["file"],
        grows: Grows::No,
        about: "what a .vsla file holds; block-sparse matrices with the zeros that no block holds",
        run: files::read,
    },
    Operation {
        name: "write",
        args: 1,
        options: &["dtype", "rank", "file"],
        grows: Grows::No,
        about: "writes x to a .vsla file, in place of what is there; answers its size in bytes",
        run: files::write,
    },
    Operation {
        name: "layout",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "how the batch lies in memory: shapes, offsets, and the share that padding would waste",
        run: layout,
    },
    Operation {
        name: "info",
        args: 0,
        options: &[],
        grows: Grows::No,
        about: "the device, why it was taken, and its memory in bytes",
        run: |call| {
            let device = call.device()?;
            let (mut info, memory) = (described(&device.info()), device.memory());
            info["memory"] =
                json!({"live": memory.live, "peak": memory.peak, "cached": memory.cached});
            Ok(Answer::Json(info))
        },
    },
    Operation {
        name: "devices",
        args: 0,
        options: &[],
        grows: Grows::No,
        about: "every device of this machine",
        run: |_| Ok(Answer::Json(Device::list().iter().map(described).collect())),
    },
    Operation {
        name: "help",
        args: 0,
        options: &[],
        grows: Grows::No,
        about: "this list",
        run: |_| Ok(Answer::Json(help())),
    },
];

/// What an operation is given.
pub struct Call<'a> {
    pub args: Args,
    pub options: Options,
    pub max_values: u64,
    devices: &'a mut Devices,
    choice: Choice,
}

impl Call<'_> {
    fn device(&mut self) -> Result<Device> {
        self.devices.get(self.choice)
    }
}

/// What an operation answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Batch(Batch),
    Fields([(&'static str, Batch); 2]),
    Truths(Vec<bool>),
    Json(Value),
}

impl Answer {
    /// Writes `{"ok": ..}`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"ok\":")?;
        match self {
            Answer::Batch(batch) => batch.write(out)?,
            Answer::Fields([(a_name, a), (b_name, b)]) => {
                write!(out, "{{\"{a_name}\":")?;
                a.write(out)?;
                write!(out, ",\"{b_name}\":")?;
                b.write(out)?;
                out.write_all(b"}")?;
            }
            Answer::Truths(truths) => separated(out, truths.iter(), |out, t| write!(out, "{t}"))?,
            Answer::Json(value) => write!(out, "{value}")?,
        }
        out.write_all(b"}")
    }
}

/// Answers one request.
pub fn answer(
    request: Request,
    devices: &mut Devices,
    choice: Choice,
    max_values: u64,
) -> Result<Answer> {
    let Some(operation) = OPERATIONS.iter().find(|o| o.name == request.op) else {
        return Err(Failure::request(format!(
            "unknown operation {}: try {{\"op\": \"help\"}}",
            shown(&Value::String(request.op))
        )));
    };
    let Operation { name, args, .. } = *operation;
    if request.args.len() != args {
        return Err(Failure::request(format!(
            "{name}: expected {args} arguments, got {}",
            request.args.len()
        )));
    }
    request.options.check(name, operation.options)?;
    let default = match name {
        "fft" | "ifft" | "irfft" | "fft2" | "ifft2" | "irfft2" => DType::C32,
        "to_f32" => DType::F16,
        _ => DType::F32,
    };
    // An empty batch does not show its rank.
    let planes =
        (name.ends_with("fft2") || name.starts_with("matmul") || name == "sampled").then_some(2);
    let dtype = request.options.dtype(default)?;
    let rank = request.options.rank()?.or(planes);
    let mut call = Call {
        args: Args::read(&request.args, dtype, rank)?,
        options: request.options,
        max_values,
        devices,
        choice,
    };
    drop(request.args);
    check_size(operation.grows, &call)?;
    (operation.run)(&mut call)
}

/// Refuses an answer above the limit. What the library will refuse anyway passes.
fn check_size(grows: Grows, call: &Call<'_>) -> Result<()> {
    let (a, b) = match &call.args {
        Args::F32(args) => layouts(args),
        Args::I32(args) => layouts(args),
        Args::U32(args) => layouts(args),
        Args::C32(args) => layouts(args),
        Args::F16(args) => layouts(args),
    };
    let (Some(a), Some(b)) = (a, b) else {
        return Ok(());
    };
    if grows == Grows::No {
        return Ok(());
    }
    let transposed = call.options.transposed()?;
    let size = |i: usize, j: usize| match grows {
        Grows::No | Grows::Pair => 2,
        Grows::Ambient => a
            .shape(i)
            .ambient(&b.shape(j))
            .map_or(1, |shape| written_size(&shape)),
        Grows::Lengths => 1 + a.length(i) as u64 + b.length(j) as u64,
        Grows::Product => product_size(a.shape(i), b.shape(j), transposed),
    };
    let limit = |sizes: &mut dyn Iterator<Item = u64>| within(call.max_values, sizes);
    match call.options.pairs()? {
        None => limit(&mut (0..a.len().min(b.len())).map(|i| size(i, i))),
        Some(Pairs::OneToAll) if a.is_empty() => Ok(()),
        Some(Pairs::OneToAll) => limit(&mut (0..b.len()).map(|j| size(0, j))),
        Some(Pairs::AllToAll) => {
            let row = |i| (0..b.len()).map(move |j| (i, j));
            limit(&mut (0..a.len()).flat_map(row).map(|(i, j)| size(i, j)))
        }
        Some(Pairs::List(pairs)) => {
            let pairs = pairs.iter().map(|&(i, j)| (i as usize, j as usize));
            let valid = pairs.filter(|&(i, j)| i < a.len() && j < b.len());
            limit(&mut valid.map(|(i, j)| size(i, j)))
        }
    }
}

/// What a product of these shapes takes when it is written.
fn product_size(a: Shape, b: Shape, transposed: [bool; 2]) -> u64 {
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (a.extents(), b.extents()) else {
        return 1;
    };
    let rows = if transposed[0] { a_columns } else { a_rows };
    let columns = if transposed[1] { b_rows } else { b_columns };
    Shape::new(&[rows as usize, columns as usize]).map_or(u64::MAX, |shape| written_size(&shape))
}

fn layouts<T: Copy>(args: &[Ragged<T>]) -> (Option<&Layout>, Option<&Layout>) {
    let layout = |i| args.get(i).map(Ragged::layout);
    (layout(0), layout(1))
}

/// Refuses sizes that add up to more than the limit.
pub fn within(limit: u64, sizes: &mut dyn Iterator<Item = u64>) -> Result<()> {
    let mut left = limit;
    for size in sizes {
        left = left.checked_sub(size).ok_or_else(|| {
            let message = format!("the answer has more than {limit} values: see --max-values");
            Failure::new("limit", message)
        })?;
    }
    Ok(())
}

pub fn batch(batch: impl Into<Batch>) -> Result<Answer> {
    Ok(Answer::Batch(batch.into()))
}

fn matmul(call: &mut Call<'_>, ambient: bool) -> Result<Answer> {
    let pairs = call.options.pairs()?;
    let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
    let options = call.options.clone();
    let device = call.device()?;
    match &call.args {
        Args::F32(args) => return batch(layer(&device, args, pairing, &options, ambient)?),
        Args::F16(args) => return batch(layer(&device, args, pairing, &options, ambient)?),
        _ => {}
    }
    if let Some(name) = ["scale", "activation"]
        .into_iter()
        .find(|name| options.0.contains_key(*name))
    {
        return Err(Failure::request(format!("{name}: only for f32 and f16")));
    }
    real!(call, |device, args| {
        let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
        let pair = a.pair(&b, pairing)?;
        let product = formed(pair.product(), &options, ambient)?;
        batch(product.run()?.download_blocking()?)
    })
}

/// A product of floating-point numbers, with what may be done to its sums.
fn layer<T: Float>(
    device: &Device,
    args: &[Ragged<T>],
    pairing: Pairing<'_>,
    options: &Options,
    ambient: bool,
) -> Result<Ragged<T>> {
    let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
    let pair = a.pair(&b, pairing)?;
    let mut product = formed(pair.product(), options, ambient)?;
    if let Some(factor) = options.optional::<f32>("scale")? {
        product = product.scale(factor);
    }
    product = product.activation(options.activation()?);
    Ok(product.run()?.download_blocking()?)
}

fn formed<'a, T: Factor>(
    mut product: Product<'a, T>,
    options: &Options,
    ambient: bool,
) -> Result<Product<'a, T>> {
    let [left, right] = options.transposed()?;
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    if ambient {
        product = product.ambient();
    }
    Ok(product)
}

/// The device and the arguments, for operations on f32 alone.
pub fn floats<'a>(call: &'a mut Call<'_>) -> Result<(Device, &'a [Ragged<f32>])> {
    let device = call.device()?;
    match &call.args {
        Args::F32(args) => Ok((device, args)),
        _ => Err(Failure::request("dtype: this operation takes f32 alone")),
    }
}

/// The device and the arguments, for operations on complex values alone.
fn complex<'a>(call: &'a mut Call<'_>) -> Result<(Device, &'a [Ragged<Complex32>])> {
    let device = call.device()?;
    match &call.args {
        Args::C32(args) => Ok((device, args)),
        _ => Err(Failure::request("dtype: this operation takes c32 alone")),
    }
}

/// The device and the arguments, for operations on f16 alone.
fn halves<'a>(call: &'a mut Call<'_>) -> Result<(Device, &'a [Ragged<f16>])> {
    let device = call.device()?;
    match &call.args {
        Args::F16(args) => Ok((device, args)),
        _ => Err(Failure::request("dtype: this operation takes f16 alone")),
    }
}

fn full(call: &mut Call<'_>) -> Result<Answer> {
    let (rank, shapes) = call.options.shapes()?;
    within(call.max_values, &mut shapes.iter().map(written_size))?;
    let layout = Layout::from_shapes(rank, shapes)?;
    let device = call.device()?;
    let options = &call.options;
    match call.args {
        Args::F32(_) => batch(filled::<f32>(&device, &layout, options)?),
        Args::I32(_) => batch(filled::<i32>(&device, &layout, options)?),
        Args::U32(_) => batch(filled::<u32>(&device, &layout, options)?),
        Args::C32(_) => batch(filled::<Complex32>(&device, &layout, options)?),
        Args::F16(_) => batch(filled::<f16>(&device, &layout, options)?),
    }
}

fn filled<T: Number>(device: &Device, layout: &Layout, options: &Options) -> Result<Ragged<T>> {
    let value = options.number::<T>("value")?;
    Ok(device.full(layout, value)?.download_blocking()?)
}

fn layout(call: &mut Call<'_>) -> Result<Answer> {
    let layout = match &call.args {
        Args::F32(args) => args[0].layout(),
        Args::I32(args) => args[0].layout(),
        Args::U32(args) => args[0].layout(),
        Args::C32(args) => args[0].layout(),
        Args::F16(args) => args[0].layout(),
    };
    let shapes: Vec<_> = layout
        .shapes()
        .map(|shape| shape.extents().to_vec())
        .collect();
    Ok(Answer::Json(json!({
        "rank": layout.rank(),
        "shapes": shapes,
        "offsets": layout.offsets().as_slice(),
        "padding_waste": layout.padding_waste(),
    })))
}

fn described(info: &DeviceInfo) -> Value {
    json!({
        "name": info.name,
        "backend": info.backend,
        "kind": format!("{:?}", info.kind).to_lowercase(),
        "driver": info.driver,
        "reason": info.reason,
    })
}

fn help() -> Value {
    let operations = OPERATIONS.iter().map(|operation| {
        json!({
            "op": operation.name,
            "args": operation.args,
            "options": operation.options,
            "about": operation.about,
        })
    });
    let table = |rows: &[(&str, &str)]| -> Value {
        let rows = rows
            .iter()
            .map(|&(name, about)| (name.to_owned(), json!(about)));
        Value::Object(rows.collect())
    };
    json!({
        "operations": operations.collect::<Vec<_>>(),
        "options": table(OPTIONS),
        "device": "auto, cpu or gpu; default: the flag --device",
        "args": "batches: arrays of elements; an element of rank r is an array r deep; \"nan\", \"inf\" and \"-inf\" are numbers",
        "errors": table(KINDS),
    })
}
