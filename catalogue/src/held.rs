//! Arguments and results of operations as tensors on a device, of any type.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;
use vsla::program::{HostValue, Recording};
use vsla::{Complex32, Device, Layout, Ragged, Tensor, f16, scalar::DType, scalar::Scalar};

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

    pub fn dtype(&self) -> DType {
        fn of<T: Scalar>(_: &[Arg<T>]) -> DType {
            T::DTYPE
        }
        of_args!(self, args => of(args))
    }

    pub fn len(&self) -> usize {
        of_args!(self, args => args.len())
    }

    pub fn layout(&self, i: usize) -> &Layout {
        of_args!(self, args => args[i].layout())
    }

    /// The batches as inputs of a plan.
    pub fn values(&self) -> Vec<&dyn HostValue> {
        of_args!(self, args => args.iter().map(|arg| &*arg.batch as &dyn HostValue).collect())
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
        Ok(match self {
            Args::F32(args) => Args::F32(all(args, r)?),
            Args::I32(args) => Args::I32(all(args, r)?),
            Args::U32(args) => Args::U32(all(args, r)?),
            Args::C32(args) => Args::C32(all(args, r)?),
            Args::F16(args) => Args::F16(all(args, r)?),
            Args::U8(args) => Args::U8(all(args, r)?),
        })
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
