//! Batches of any type, on the host and on a device.

use vsla::{Complex32, Device, Layout, Ragged, Result, Tensor, f16, scalar::Scalar};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F32,
    I32,
    U32,
    F16,
    C32,
}

macro_rules! of_any_type {
    ($(#[$about:meta])* $name:ident, $of:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub enum $name {
            F32($of<f32>),
            I32($of<i32>),
            U32($of<u32>),
            F16($of<f16>),
            C32($of<Complex32>),
        }

        of_any_type!(from $name, $of: F32 f32, I32 i32, U32 u32, F16 f16, C32 Complex32);
    };
    (from $name:ident, $of:ident: $($kind:ident $t:ty),*) => {$(
        impl From<$of<$t>> for $name {
            fn from(of: $of<$t>) -> $name {
                $name::$kind(of)
            }
        }
    )*};
}
of_any_type! {
    /// On the host.
    Batch, Ragged
}
of_any_type! {
    /// On a device.
    Value, Tensor
}

/// The same expression for a batch of each type.
macro_rules! each {
    ($enum:ident, $value:expr, $x:ident => $body:expr) => {
        match $value {
            $enum::F32($x) => $body,
            $enum::I32($x) => $body,
            $enum::U32($x) => $body,
            $enum::F16($x) => $body,
            $enum::C32($x) => $body,
        }
    };
}
pub(super) use each;

impl Value {
    pub fn kind_and_layout(&self) -> (Kind, Layout) {
        let kind = match self {
            Value::F32(_) => Kind::F32,
            Value::I32(_) => Kind::I32,
            Value::U32(_) => Kind::U32,
            Value::F16(_) => Kind::F16,
            Value::C32(_) => Kind::C32,
        };
        (kind, each!(Value, self, x => x.layout().clone()))
    }

    pub fn download(&self) -> Result<Batch> {
        Ok(each!(Value, self, x => x.download_blocking()?.into()))
    }
}

impl Batch {
    pub fn upload(&self, device: &Device) -> Result<Value> {
        Ok(each!(Batch, self, x => device.upload(x)?.into()))
    }

    pub fn kind(&self) -> Kind {
        match self {
            Batch::F32(_) => Kind::F32,
            Batch::I32(_) => Kind::I32,
            Batch::U32(_) => Kind::U32,
            Batch::F16(_) => Kind::F16,
            Batch::C32(_) => Kind::C32,
        }
    }

    pub fn layout(&self) -> &Layout {
        each!(Batch, self, x => x.layout())
    }

    /// One element on its own.
    pub fn element(&self, i: usize) -> Batch {
        each!(Batch, self, x => element(x, i).into())
    }

    /// The same bits; all NaNs are equal.
    pub fn same(&self, other: &Batch) -> bool {
        fn bits<T: Scalar>(x: &Ragged<T>, y: &Ragged<T>, is_nan: fn(T) -> bool) -> bool {
            let mut both = x.values().iter().zip(y.values());
            x.layout() == y.layout()
                && both.all(|(x, y)| bytes_of(x) == bytes_of(y) || is_nan(*x) && is_nan(*y))
        }
        match (self, other) {
            (Batch::F32(x), Batch::F32(y)) => bits(x, y, f32::is_nan),
            (Batch::I32(x), Batch::I32(y)) => bits(x, y, |_| false),
            (Batch::U32(x), Batch::U32(y)) => bits(x, y, |_| false),
            (Batch::F16(x), Batch::F16(y)) => bits(x, y, f16::is_nan),
            (Batch::C32(x), Batch::C32(y)) => bits(x, y, |z| z.re.is_nan() || z.im.is_nan()),
            _ => false,
        }
    }

    /// The values in f64, with real and imaginary parts alternating.
    pub fn wide(&self) -> Vec<f64> {
        match self {
            Batch::F32(x) => x.values().iter().map(|&v| v.into()).collect(),
            Batch::I32(x) => x.values().iter().map(|&v| v.into()).collect(),
            Batch::U32(x) => x.values().iter().map(|&v| v.into()).collect(),
            Batch::F16(x) => x.values().iter().map(|&v| v.into()).collect(),
            Batch::C32(x) => {
                let parts = x.values().iter().flat_map(|v| [v.re.into(), v.im.into()]);
                parts.collect()
            }
        }
    }

    /// The absolute values of floats and complex numbers.
    pub fn abs(&self) -> Batch {
        match self {
            Batch::F32(x) => x.cast(f32::abs).unwrap().into(),
            Batch::F16(x) => x.cast(|v| f16::from_f32(v.to_f32().abs())).unwrap().into(),
            Batch::C32(x) => x.cast(|z| Complex32::new(z.norm(), 0.0)).unwrap().into(),
            other => other.clone(),
        }
    }
}

fn bytes_of<T: Scalar>(value: &T) -> &[u8] {
    bytemuck::bytes_of(value)
}

pub fn element<T: Scalar>(x: &Ragged<T>, i: usize) -> Ragged<T> {
    let layout = x.layout().range(i..i + 1).expect("an element");
    Ragged::from_parts(layout, x.row(i).to_vec()).expect("its own values")
}
