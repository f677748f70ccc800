//! Arguments and results of operations as tensors on a device, of any type.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use vsla::program::{Outputs, Recording};
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor, f16, scalar::DType, scalar::Scalar};

use crate::batch::{Batch, Number, read};
use crate::failure::{Failure, Result};

/// An argument of an operation. While a program is recorded, its tensor is an input or a value of the program.
#[derive(Clone, Debug)]
pub struct Arg<T: Scalar> {
    layout: Layout,
    /// Read from the tensor when it is first needed, unless it is known.
    batch: OnceLock<Arc<Ragged<T>>>,
    tensor: Option<Tensor<T>>,
}

impl<T: Scalar> Arg<T> {
    fn new(batch: Ragged<T>) -> Arg<T> {
        Arg {
            layout: batch.layout().clone(),
            batch: OnceLock::from(Arc::new(batch)),
            tensor: None,
        }
    }

    pub fn on(&self, device: &Device) -> vsla::Result<Tensor<T>> {
        match &self.tensor {
            Some(tensor) => Ok(tensor.clone()),
            None => device.upload(self),
        }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn len(&self) -> usize {
        self.layout.len()
    }
}

impl<T: Scalar> Deref for Arg<T> {
    type Target = Ragged<T>;

    fn deref(&self) -> &Ragged<T> {
        self.batch.get_or_init(|| {
            let tensor = self.tensor.as_ref().expect("either is known");
            Arc::new(tensor.download_blocking().expect("the values of a tensor"))
        })
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
            let inputs = args.iter().filter_map(|arg| arg.tensor.as_ref());
            inputs
                .map(|input| input as &dyn vsla::program::Value)
                .collect()
        }
        of_args!(self, args => all(args))
    }

    /// Some elements of each argument, which must be on the host.
    pub fn part(&self, elements: Range<usize>) -> vsla::Result<Args> {
        fn all<T: Scalar>(args: &[Arg<T>], elements: &Range<usize>) -> vsla::Result<Vec<Arg<T>>> {
            let one = |arg: &Arg<T>| {
                let layout = arg.layout.range(elements.clone())?;
                let offsets = arg.layout.offsets().as_slice();
                let values = offsets[elements.start] as usize..offsets[elements.end] as usize;
                Ok(Arg::new(Ragged::from_parts(
                    layout,
                    arg.values()[values].to_vec(),
                )?))
            };
            args.iter().map(one).collect()
        }
        Ok(map_args!(self, args => all(args, &elements)?))
    }

    /// The same arguments on the device.
    pub fn on_device(&self, device: &Device) -> vsla::Result<Args> {
        fn all<T: Scalar>(args: &[Arg<T>], device: &Device) -> vsla::Result<Vec<Arg<T>>> {
            let on = |arg: &Arg<T>| {
                Ok(Arg {
                    tensor: Some(arg.on(device)?),
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
                    tensor: Some(r.input()?),
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
            Ok(Arg {
                tensor: Some(view(arg, device, before)?),
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

/// The batch on the device, as a view of a larger one, in which so many values are before it.
fn view<T: Scalar>(batch: &Ragged<T>, device: &Device, before: usize) -> vsla::Result<Tensor<T>> {
    let layout = batch.layout();
    let mut extents = vec![1; layout.rank()];
    extents[layout.rank() - 1] = before;
    let shapes = [Shape::new(&extents)?].into_iter().chain(layout.shapes());
    let whole = Layout::from_shapes(layout.rank(), shapes)?;
    let values = [&vec![T::default(); before], batch.values()].concat();
    let whole = device.upload(&Ragged::from_parts(whole, values)?)?;
    whole.elements(1..1 + layout.len())
}

fn read_all<T: Number>(args: &[Value], rank: Option<usize>) -> Result<Vec<Arg<T>>> {
    let many = args.len() > 1;
    args.iter()
        .enumerate()
        .map(|(i, arg)| match read(arg, rank) {
            Ok(batch) => Ok(Arg::new(batch)),
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

macro_rules! held {
    ($($kind:ident $t:ty),*) => {
        $(
            impl From<Tensor<$t>> for Held {
                fn from(tensor: Tensor<$t>) -> Held {
                    Held::$kind(tensor)
                }
            }
        )*

        impl Args {
            /// Tensors of this type, with their values where these are known; `None` if they are of another type.
            pub fn of(dtype: DType, operands: &[(&Held, Option<&Batch>)]) -> Option<Args> {
                match dtype {
                    $(DType::$kind => {
                        let one = |&(held, batch): &(&Held, Option<&Batch>)| {
                            let Held::$kind(tensor) = held else { return None };
                            let batch = match batch {
                                Some(Batch::$kind(batch)) => OnceLock::from(Arc::new(batch.clone())),
                                _ => OnceLock::new(),
                            };
                            let (layout, tensor) = (tensor.layout().clone(), Some(tensor.clone()));
                            Some(Arg { layout, batch, tensor })
                        };
                        Some(Args::$kind(operands.iter().map(one).collect::<Option<_>>()?))
                    })*
                    _ => None,
                }
            }
        }

        impl Held {
            pub fn dtype(&self) -> DType {
                match self {
                    $(Held::$kind(_) => DType::$kind,)*
                    Held::Read(batch) => batch.dtype(),
                }
            }

            pub fn layout(&self) -> &Layout {
                match self {
                    $(Held::$kind(tensor) => tensor.layout(),)*
                    Held::Read(batch) => batch.layout(),
                }
            }

            pub async fn download(self) -> vsla::Result<Batch> {
                Ok(match self {
                    $(Held::$kind(tensor) => tensor.download().await?.into(),)*
                    Held::Read(batch) => batch,
                })
            }

            /// The same; blocks the thread.
            pub fn download_blocking(self) -> vsla::Result<Batch> {
                Ok(match self {
                    $(Held::$kind(tensor) => tensor.download_blocking()?.into(),)*
                    Held::Read(batch) => batch,
                })
            }

            /// The tensor, as an input of a run.
            pub fn value(&self) -> Option<&dyn vsla::program::Value> {
                match self {
                    $(Held::$kind(tensor) => Some(tensor),)*
                    Held::Read(_) => None,
                }
            }

            /// The next input of a program, of this type.
            pub fn input(dtype: DType, r: &mut Recording) -> vsla::Result<Held> {
                Ok(match dtype {
                    $(DType::$kind => Held::$kind(r.input()?),)*
                    other => unreachable!("tensors of {other}"),
                })
            }

            /// Output `i` of a run, which is of this type.
            pub fn output(dtype: DType, outputs: &Outputs, i: usize) -> vsla::Result<Held> {
                Ok(match dtype {
                    $(DType::$kind => Held::$kind(outputs.get(i)?),)*
                    other => unreachable!("tensors of {other}"),
                })
            }
        }

        impl Batch {
            /// The type of its values, unless that is f64, of which there are no tensors.
            pub fn dtype(&self) -> DType {
                match self {
                    $(Batch::$kind(_) => DType::$kind,)*
                    other => unreachable!("tensors like {other:?}"),
                }
            }

            /// On the device, as a view of a larger batch, in which so many values are before it.
            pub fn on_view(&self, device: &Device, before: usize) -> vsla::Result<Held> {
                Ok(match self {
                    $(Batch::$kind(batch) => Held::$kind(view(batch, device, before)?),)*
                    other => Held::Read(other.clone()),
                })
            }

            pub fn upload(&self, device: &Device) -> vsla::Result<Held> {
                Ok(match self {
                    $(Batch::$kind(batch) => Held::$kind(device.upload(batch)?),)*
                    other => Held::Read(other.clone()),
                })
            }
        }
    };
}
held!(F32 f32, I32 i32, U32 u32, C32 Complex32, F16 f16, U8 u8);
