//! Converts nested JSON arrays to ragged batches, and back.
//!
//! A batch is an array of elements; an element of rank r is a rectangular array of depth r. Empty arrays have shapes:
//! at rank 2, `[[], []]` is (2, 0) and `[]` is (0, 0). Output has the same form, which loses the extents after a 0. A
//! complex number is an array of two, `[re, im]`, inside the others.

use std::io::{self, Write};

use serde_json::Value;
use vsla::{
    Complex32, Layout, Ragged, Shape,
    batch::MAX_RANK,
    f16,
    scalar::{Scalar, f16_from_f64},
};

use crate::failure::{Failure, Result};

/// A value type that can be written as JSON.
pub trait Written: Copy {
    /// Writes JSON that reads back as the same bits, except those of a NaN.
    fn write(self, out: &mut dyn Write) -> io::Result<()>;
}

/// A value type that can also be read from JSON.
pub trait Number: Scalar + Written {
    /// Array depth of a number itself.
    const DEPTH: usize = 0;

    /// The number, or a description of the error.
    fn read(value: &Value) -> core::result::Result<Self, String>;
}

impl Number for f32 {
    fn read(value: &Value) -> core::result::Result<f32, String> {
        let wide = match value {
            Value::String(name) => match name.as_str() {
                "nan" => return Ok(f32::NAN),
                "inf" => return Ok(f32::INFINITY),
                "-inf" => return Ok(f32::NEG_INFINITY),
                _ => None,
            },
            _ => value.as_f64(),
        };
        let wide = wide.ok_or_else(|| {
            format!(
                "expected a number, \"nan\", \"inf\" or \"-inf\", got {}",
                shown(value)
            )
        })?;
        // Integers above 2^53 would otherwise be rounded twice.
        let narrow = match (value.as_i64(), value.as_u64()) {
            (Some(whole), _) => whole as f32,
            (_, Some(whole)) => whole as f32,
            _ => wide as f32,
        };
        if narrow.is_finite() {
            Ok(narrow)
        } else {
            Err(format!("{} is outside the range of f32", shown(value)))
        }
    }
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Written for $t {
            fn write(self, out: &mut dyn Write) -> io::Result<()> {
                if self.is_nan() {
                    out.write_all(b"\"nan\"")
                } else if self.is_infinite() {
                    out.write_all(if self > 0.0 { b"\"inf\"" } else { b"\"-inf\"" })
                } else {
                    // The fewest digits that read back as the same value, with an exponent if it is large.
                    write!(out, "{self:?}")
                }
            }
        }
    )*};
}
floats!(f32, f64);

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn read(value: &Value) -> core::result::Result<$t, String> {
                let whole = match (value.as_i64(), value.as_f64()) {
                    (Some(whole), _) => whole,
                    // JSON may write 3 as 3.0. Anything that the cast saturates is out of range anyway.
                    (None, Some(wide)) if wide.fract() == 0.0 => wide as i64,
                    (None, Some(_)) => return Err(format!("{} is not an integer", shown(value))),
                    (None, None) => {
                        return Err(format!("expected an integer, got {}", shown(value)));
                    }
                };
                <$t>::try_from(whole)
                    .map_err(|_| format!("{} is outside the range of {}", shown(value), <$t>::DTYPE))
            }
        }

        impl Written for $t {
            fn write(self, out: &mut dyn Write) -> io::Result<()> {
                write!(out, "{self}")
            }
        }
    )*};
}
integers!(i32, u32, u8);

impl Number for f16 {
    fn read(value: &Value) -> core::result::Result<f16, String> {
        // Not through f32, which is already rounded.
        let Some(wide) = value.as_f64() else {
            return f32::read(value).map(f16::from_f32);
        };
        let narrow = f16_from_f64(wide);
        if narrow.is_infinite() {
            return Err(format!("{} is outside the range of f16", shown(value)));
        }
        Ok(narrow)
    }
}

impl Written for f16 {
    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        self.to_f32().write(out)
    }
}

impl Number for Complex32 {
    const DEPTH: usize = 1;

    fn read(value: &Value) -> core::result::Result<Complex32, String> {
        match value.as_array().map(Vec::as_slice) {
            Some([re, im]) => Ok(Complex32::new(f32::read(re)?, f32::read(im)?)),
            _ => Err(format!("expected [re, im], got {}", shown(value))),
        }
    }
}

impl Written for Complex32 {
    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        separated(out, [self.re, self.im].into_iter(), |out, part| {
            part.write(out)
        })
    }
}

/// A JSON value shortened for a message.
pub fn shown(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Array(items) => match items.len() {
            0..LONGEST if value.to_string().len() <= LONGEST => value.to_string(),
            many => format!("an array of {many}"),
        },
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().nth(LONGEST).is_some() => {
            let start: String = text.chars().take(LONGEST).collect();
            format!("{:?} with further fields", start)
        }
        other => other.to_string(),
    }
}

/// The batch that these arrays describe. Its rank is `rank`, or the array depth of its numbers, but at least 1.
pub fn read<T: Number>(batch: &Value, rank: Option<usize>) -> Result<Ragged<T>> {
    let Value::Array(elements) = batch else {
        let message = format!("expected an array of elements, got {}", shown(batch));
        return Err(Failure::input(None, message));
    };
    let rank = rank
        .or_else(|| Some(depth_of_numbers(elements)?.saturating_sub(T::DEPTH)))
        .unwrap_or_else(|| depth_of_arrays(elements))
        .max(1);
    if rank > MAX_RANK {
        let message = format!("expected a rank of 1 to {MAX_RANK}, got {rank}");
        return Err(Failure::input(None, message));
    }
    let mut values = Vec::new();
    let mut shapes = Vec::with_capacity(elements.len());
    for (i, element) in elements.iter().enumerate() {
        let mut extents = [None; MAX_RANK];
        gather(element, 0, &mut extents[..rank], &mut values)
            .map_err(|wrong| Failure::input(Some(i), format!("element {i}: {wrong}")))?;
        // An axis that is missing comes after an extent of 0.
        let extents = extents.map(|extent| extent.unwrap_or(0));
        shapes.push(Shape::new(&extents[..rank])?);
    }
    Ok(Ragged::from_shapes(values, rank, shapes)?)
}

/// The array depth of the first number.
fn depth_of_numbers(items: &[Value]) -> Option<usize> {
    items.iter().find_map(|item| match item {
        Value::Array(items) => depth_of_numbers(items).map(|depth| depth + 1),
        _ => Some(0),
    })
}

/// The depth of the deepest array.
fn depth_of_arrays(items: &[Value]) -> usize {
    let depths = items.iter().map(|item| match item {
        Value::Array(items) => depth_of_arrays(items) + 1,
        _ => 0,
    });
    depths.max().unwrap_or(0)
}

/// Appends the values below `item`, which is `depth` arrays deep in its element, and finds or checks the extents.
fn gather<T: Number>(
    item: &Value,
    depth: usize,
    extents: &mut [Option<usize>],
    values: &mut Vec<T>,
) -> core::result::Result<(), String> {
    let rank = extents.len();
    match item {
        Value::Array(_) if depth == rank && T::DEPTH == 0 => {
            Err(format!("expected rank {rank}, got a deeper array"))
        }
        Value::Array(items) if depth < rank => {
            let extent = *extents[depth].get_or_insert(items.len());
            if extent != items.len() {
                return Err(format!(
                    "not rectangular: lengths {} and {extent} on axis {depth}",
                    items.len()
                ));
            }
            items
                .iter()
                .try_for_each(|item| gather(item, depth + 1, extents, values))
        }
        number if depth == rank => {
            values.push(T::read(number)?);
            Ok(())
        }
        other if depth == 0 => Err(format!("expected an array, got {}", shown(other))),
        other => Err(format!(
            "expected rank {rank}, got {} in place of an array of rank {}",
            shown(other),
            rank - depth
        )),
    }
}

/// Writes the batch as nested arrays.
pub fn write<T: Written>(batch: &Ragged<T>, out: &mut dyn Write) -> io::Result<()> {
    separated(out, batch.iter().enumerate(), |out, (i, values)| {
        write_box(batch.shape(i).extents(), values, out)
    })
}

fn write_box<T: Written>(extents: &[u32], values: &[T], out: &mut dyn Write) -> io::Result<()> {
    let Some((&extent, inner)) = extents.split_first() else {
        return values[0].write(out);
    };
    if extent == 0 {
        // The extents after it may have any size.
        return out.write_all(b"[]");
    }
    let size = inner.iter().map(|&extent| extent as usize).product();
    separated(out, 0..extent as usize, |out, i| {
        write_box(inner, &values[i * size..][..size], out)
    })
}

/// Writes items as `[a,b,c]`.
pub fn separated<I>(
    out: &mut dyn Write,
    items: impl Iterator<Item = I>,
    mut write: impl FnMut(&mut dyn Write, I) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write(out, item)?;
    }
    out.write_all(b"]")
}

/// The numbers and arrays needed to write an element of this shape: a shape without values can have many arrays.
pub fn written_size(shape: &Shape) -> u64 {
    let mut arrays = 1u64;
    let mut all = 1u64;
    for &extent in shape.extents() {
        arrays = arrays.saturating_mul(u64::from(extent));
        all = all.saturating_add(arrays);
    }
    all
}

/// A batch of any value type.
#[derive(Clone, PartialEq, Debug)]
pub enum Batch {
    F32(Ragged<f32>),
    I32(Ragged<i32>),
    U32(Ragged<u32>),
    C32(Ragged<Complex32>),
    F16(Ragged<f16>),
    F64(Ragged<f64>),
    U8(Ragged<u8>),
}

/// The body for the batch, whatever its type is.
macro_rules! of_batch {
    ($any:expr, $batch:ident => $body:expr) => {
        match $any {
            Batch::F32($batch) => $body,
            Batch::I32($batch) => $body,
            Batch::U32($batch) => $body,
            Batch::C32($batch) => $body,
            Batch::F16($batch) => $body,
            Batch::F64($batch) => $body,
            Batch::U8($batch) => $body,
        }
    };
}

impl Batch {
    pub fn layout(&self) -> &Layout {
        of_batch!(self, batch => batch.layout())
    }

    /// The numbers and arrays needed to write it.
    pub fn size(&self) -> u64 {
        let sizes = self.layout().shapes().map(|shape| written_size(&shape));
        // A complex number is an array of two.
        let parts = match self {
            Batch::C32(batch) => 2 * batch.values().len() as u64,
            _ => 0,
        };
        sizes.fold(parts, u64::saturating_add)
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        of_batch!(self, batch => write(batch, out))
    }

    /// One element on its own.
    pub fn element(&self, i: usize) -> Batch {
        fn of<T: Copy>(batch: &Ragged<T>, i: usize) -> Ragged<T> {
            let layout = batch.layout().range(i..i + 1).expect("an element");
            Ragged::from_parts(layout, batch.row(i).to_vec()).expect("its own values")
        }
        of_batch!(self, batch => of(batch, i).into())
    }

    /// The elements of this batch and of another one of the same type and rank.
    pub fn joined(self, other: Batch) -> Option<Batch> {
        fn of<T: Copy>(a: &Ragged<T>, b: &Ragged<T>) -> Option<Ragged<T>> {
            let shapes = a.layout().shapes().chain(b.layout().shapes());
            let values = [a.values(), b.values()].concat();
            Ragged::from_shapes(values, a.layout().rank(), shapes).ok()
        }
        Some(match (&self, &other) {
            (Batch::F32(a), Batch::F32(b)) => of(a, b)?.into(),
            (Batch::I32(a), Batch::I32(b)) => of(a, b)?.into(),
            (Batch::U32(a), Batch::U32(b)) => of(a, b)?.into(),
            (Batch::C32(a), Batch::C32(b)) => of(a, b)?.into(),
            (Batch::F16(a), Batch::F16(b)) => of(a, b)?.into(),
            (Batch::F64(a), Batch::F64(b)) => of(a, b)?.into(),
            (Batch::U8(a), Batch::U8(b)) => of(a, b)?.into(),
            _ => return None,
        })
    }

    /// The bytes of the values of an element.
    pub fn bytes(&self, i: usize) -> &[u8] {
        of_batch!(self, batch => bytemuck::cast_slice(batch.row(i)))
    }

    /// Whether it has numbers that may have fractions.
    pub fn is_float(&self) -> bool {
        matches!(self, Batch::F32(_) | Batch::C32(_) | Batch::F16(_))
    }
}

macro_rules! batches {
    ($($kind:ident $t:ty),*) => {$(
        impl From<Ragged<$t>> for Batch {
            fn from(batch: Ragged<$t>) -> Batch {
                Batch::$kind(batch)
            }
        }
    )*};
}
batches!(F32 f32, I32 i32, U32 u32, C32 Complex32, F16 f16, F64 f64, U8 u8);
