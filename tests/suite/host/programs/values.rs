//! Fallibly allocated input for the programs, and the hash of their results.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};

use vsla::{Complex32, Device, Error, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

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
    uploaded(device, &Ragged::from_parts(layout.clone(), values)?)
}

/// What happens to the operands and results of a program.
#[derive(Default)]
pub enum Mode {
    /// Operands are uploaded, results are hashed.
    #[default]
    Plain,
    /// The same, and both are kept.
    Kept {
        operands: Vec<Any>,
        results: Vec<Any>,
    },
    /// Operands are these, in turn. Results are collected.
    Given {
        operands: VecDeque<Any>,
        results: Vec<Any>,
    },
}

/// A tensor of any type.
#[derive(Clone)]
pub enum Any {
    F32(Tensor<f32>),
    I32(Tensor<i32>),
    U32(Tensor<u32>),
    C32(Tensor<Complex32>),
    F16(Tensor<f16>),
}

/// Calls `$f` with the tensor in an [`Any`].
#[macro_export]
macro_rules! with_any {
    ($any:expr, $tensor:ident => $f:expr) => {
        match $any {
            Any::F32($tensor) => $f,
            Any::I32($tensor) => $f,
            Any::U32($tensor) => $f,
            Any::C32($tensor) => $f,
            Any::F16($tensor) => $f,
        }
    };
}

impl Any {
    fn of<T: Scalar>(tensor: &Tensor<T>) -> Any {
        let any: &dyn std::any::Any = tensor;
        let other = || any.downcast_ref().cloned().map(Any::I32);
        let other = || any.downcast_ref().cloned().map(Any::U32).or_else(other);
        let other = || any.downcast_ref().cloned().map(Any::C32).or_else(other);
        let other = || any.downcast_ref().cloned().map(Any::F16).or_else(other);
        any.downcast_ref()
            .cloned()
            .map(Any::F32)
            .or_else(other)
            .unwrap()
    }

    fn typed<T: Scalar>(&self) -> Tensor<T> {
        with_any!(self, tensor => {
            let any: &dyn std::any::Any = tensor;
            any.downcast_ref::<Tensor<T>>().cloned().unwrap()
        })
    }
}

thread_local! {
    pub static MODE: RefCell<Mode> = const { RefCell::new(Mode::Plain) };
}

/// Whether values can be read: not while a program is recorded.
pub fn reads() -> bool {
    MODE.with_borrow(|mode| !matches!(mode, Mode::Given { .. }))
}

pub fn uploaded<T: Scalar>(device: &Device, batch: &Ragged<T>) -> Result<Tensor<T>> {
    let given = MODE.with_borrow_mut(|mode| match mode {
        Mode::Given { operands, .. } => operands.pop_front(),
        _ => None,
    });
    if let Some(given) = given {
        return Ok(given.typed());
    }
    let tensor = device.upload(batch)?;
    MODE.with_borrow_mut(|mode| {
        if let Mode::Kept { operands, .. } = mode {
            operands.push(Any::of(&tensor));
        }
    });
    Ok(tensor)
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
        let reads = MODE.with_borrow_mut(|mode| match mode {
            Mode::Plain => true,
            Mode::Kept { results, .. } => {
                results.push(Any::of(&tensor));
                true
            }
            Mode::Given { results, .. } => {
                results.push(Any::of(&tensor));
                false
            }
        });
        if reads {
            self.host(&tensor.download_blocking()?);
        }
        Ok(())
    }

    pub fn value(self) -> Result<u64> {
        Ok(self.0.finish())
    }
}
