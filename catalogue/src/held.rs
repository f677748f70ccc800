//! Arguments and results of operations as tensors on a device, of any type.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;
use vsla::program::Recording;
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor, f16, scalar::DType, scalar::Scalar};

use crate::batch::{Batch, Number, read};
use crate::failure::{Failure, Result};

/// An argument of a line. While a program is recorded, its tensor is an input of the program.
#[derive(Clone, Debug)]
pub struct Arg<T: Scalar> {
    batch: Arc<Ragged<T>>,
    input: Option<Tensor<T>>,
}

impl<T: Scalar> Arg<T> {
    pub fn on(&self, device: &Device) -> vsla::Result<Tensor<T>> {
        match &self.input {
            Some(input) => Ok(input.clone()),
            None => device.upload(&self.batch),
        }
    }
}

impl<T: Scalar> Deref for Arg<T> {
    type Target = Ragged<T>;

    fn deref(&self) -> &Ragged<T> {
        &self.batch
    }
}

/// The arguments of an operation, all of one type.
#[derive(Clone, Debug)]
pub enum Args {
    F32(Vec<Arg<f32>>),
    I32(Vec<Arg<i32>>),
    U32(Vec<Arg<u32>>),
    C32(Vec<Arg<Complex32>>),
    F16(Vec<Arg<f16>>),
    U8(Vec<Arg<u8>>),
}

/// The body for the arguments, whatever their type is.
macro_rules! of_args {
    ($all:expr, $args:ident => $body:expr) => {
        match $all {
            $crate::held::Args::F32($args) => $body,
            $crate::held::Args::I32($args) => $body,
            $crate::held::Args::U32($args) => $body,
            $crate::held::Args::C32($args) => $body,
            $crate::held::Args::F16($args) => $body,
            $crate::held::Args::U8($args) => $body,
        }
    };
}

pub(crate) use of_args;

/// Arguments made of these, whatever their type is.
macro_rules! map_args {
    ($all:expr, $args:ident => $body:expr) => {
        match $all {
            Args::F32($args) => Args::F32($body),
            Args::I32($args) => Args::I32($body),
            Args::U32($args) => Args::U32($body),
            Args::C32($args) => Args::C32($body),
            Args::F16($args) => Args::F16($body),
            Args::U8($args) => Args::U8($body),
        }
    };
}

impl Args {
    pub fn read(args: &[Value], dtype: DType, rank: Option<usize>) -> Result<Args> {
        Ok(match dtype {
            DType::F32 => Args::F32(read_all(args, rank)?),
            DType::I32 => Args::I32(read_all(args, rank)?),
            DType::U32 => Args::U32(read_all(args, rank)?),
            DType::C32 => Args::C32(read_all(args, rank)?),
            DType::F16 => Args::F16(read_all(args, rank)?),
            DType::U8 => Args::U8(read_all(args, rank)?),
            other => {
                return Err(Failure::request(format!(
                    "values of type {other} are not supported"
                )));
            }
        })
    }

    pub fn len(&self) -> usize {
        of_args!(self, args => args.len())
    }

    pub fn layout(&self, i: usize) -> &Layout {
        of_args!(self, args => args[i].layout())
    }

    /// The tensors of arguments that are on a device, as inputs of a plan.
    pub fn values(&self) -> Vec<&dyn vsla::program::Value> {
        fn all<T: Scalar>(args: &[Arg<T>]) -> Vec<&dyn vsla::program::Value> {
            let inputs = args.iter().filter_map(|arg| arg.input.as_ref());
            inputs
                .map(|input| input as &dyn vsla::program::Value)
                .collect()
        }
        of_args!(self, args => all(args))
    }

    /// The same arguments on the device.
    pub fn on_device(&self, device: &Device) -> vsla::Result<Args> {
        fn all<T: Scalar>(args: &[Arg<T>], device: &Device) -> vsla::Result<Vec<Arg<T>>> {
            let on = |arg: &Arg<T>| {
                Ok(Arg {
                    input: Some(arg.on(device)?),
                    ..arg.clone()
                })
            };
            args.iter().map(on).collect()
        }
        Ok(map_args!(self, args => all(args, device)?))
    }

    /// The same arguments as inputs of a program.
    pub fn recorded(&self, r: &mut Recording) -> vsla::Result<Args> {
        fn all<T: Scalar>(args: &[Arg<T>], r: &mut Recording) -> vsla::Result<Vec<Arg<T>>> {
            let one = |arg: &Arg<T>| {
                Ok(Arg {
                    input: Some(r.input()?),
                    ..arg.clone()
                })
            };
            args.iter().map(one).collect()
        }
        Ok(map_args!(self, args => all(args, r)?))
    }

    /// The same arguments as views of larger batches, in which so many values are before them.
    pub fn on_views(&self, device: &Device, before: usize) -> vsla::Result<Args> {
        fn on_view<T: Scalar>(
            arg: &Arg<T>,
            device: &Device,
            before: usize,
        ) -> vsla::Result<Arg<T>> {
            let layout = arg.batch.layout();
            let mut extents = vec![1; layout.rank()];
            extents[layout.rank() - 1] = before;
            let shapes = [Shape::new(&extents)?].into_iter().chain(layout.shapes());
            let whole = Layout::from_shapes(layout.rank(), shapes)?;
            let values = [&vec![T::default(); before], arg.batch.values()].concat();
            let whole = device.upload(&Ragged::from_parts(whole, values)?)?;
            Ok(Arg {
                input: Some(whole.elements(1..1 + layout.len())?),
                ..arg.clone()
            })
        }
        fn all<T: Scalar>(
            args: &[Arg<T>],
            device: &Device,
            before: usize,
        ) -> vsla::Result<Vec<Arg<T>>> {
            let args = args.iter();
            args.map(|arg| on_view(arg, device, before)).collect()
        }
        Ok(map_args!(self, args => all(args, device, before)?))
    }
}

fn read_all<T: Number>(args: &[Value], rank: Option<usize>) -> Result<Vec<Arg<T>>> {
    let many = args.len() > 1;
    args.iter()
        .enumerate()
        .map(|(i, arg)| match read(arg, rank) {
            Ok(batch) => Ok(Arg {
                batch: Arc::new(batch),
                input: None,
            }),
            Err(failure) if many => Err(Failure {
                message: format!("argument {i}: {}", failure.message),
                ..failure
            }),
            Err(failure) => Err(failure),
        })
        .collect()
}

/// A result of an operation.
#[derive(Clone, Debug)]
pub enum Held {
    F32(Tensor<f32>),
    I32(Tensor<i32>),
    U32(Tensor<u32>),
    C32(Tensor<Complex32>),
    F16(Tensor<f16>),
    U8(Tensor<u8>),
    /// On the host already.
    Read(Batch),
}

impl Held {
    pub fn download(self) -> vsla::Result<Batch> {
        Ok(match self {
            Held::F32(tensor) => tensor.download_blocking()?.into(),
            Held::I32(tensor) => tensor.download_blocking()?.into(),
            Held::U32(tensor) => tensor.download_blocking()?.into(),
            Held::C32(tensor) => tensor.download_blocking()?.into(),
            Held::F16(tensor) => tensor.download_blocking()?.into(),
            Held::U8(tensor) => tensor.download_blocking()?.into(),
            Held::Read(batch) => batch,
        })
    }
}

macro_rules! held {
    ($($kind:ident $t:ty),*) => {$(
        impl From<Tensor<$t>> for Held {
            fn from(tensor: Tensor<$t>) -> Held {
                Held::$kind(tensor)
            }
        }
    )*};
}
held!(F32 f32, I32 i32, U32 u32, C32 Complex32, F16 f16, U8 u8);
