//! Version 1 of the file format: a single dense tensor with spare capacity.

use std::io::Read;

use super::source::Source;
use super::{OP, Stored, check_type, wrong};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Layout, MAX_RANK, Ragged, Shape, check_rank};

pub(super) struct Head {
    pub code: u8,
    rank: usize,
}

impl Head {
    /// Reads the header after the magic bytes and the version.
    pub fn read(source: &mut Source<impl Read>) -> Result<Head> {
        let [order, rank, model, code] = source.bytes("the header")?;
        for (at, what, got) in [(8, "a byte order", order), (10, "a model", model)] {
            if got > 1 {
                return Err(wrong(at, format!("{what} of 0 or 1"), got.to_string()));
            }
        }
        source.big = order == 1;
        check_rank(rank.into()).named(OP)?;
        let code = check_type(11, code, 2)?;
        match source.u32("the header")? {
            0 => Ok(Head {
                code,
                rank: rank.into(),
            }),
            other => Err(wrong(12, "0", other.to_string())),
        }
    }

    /// Reads the tensor, as a batch of one element.
    pub fn ragged<T: Stored>(self, mut source: Source<impl Read>) -> Result<Ragged<T>> {
        let mut axes = [[0u64; MAX_RANK]; 3];
        for (axis, name) in axes.iter_mut().zip(["extents", "capacities", "strides"]) {
            for value in &mut axis[..self.rank] {
                *value = source.u64(name)?;
            }
        }
        let [extents, capacities, strides] = axes.each_ref().map(|axis| &axis[..self.rank]);
        let at = |part: usize, axis: usize| (16 + 8 * (part * self.rank + axis)) as u64;
        let mut size = size_of::<T>() as u64;
        for axis in (0..self.rank).rev() {
            if capacities[axis] < extents[axis] {
                let expected = format!("a capacity of at least {}", extents[axis]);
                return Err(wrong(at(1, axis), expected, capacities[axis].to_string()));
            }
            if strides[axis] != size {
                let expected = format!("a stride of {size} bytes");
                return Err(wrong(at(2, axis), expected, strides[axis].to_string()));
            }
            size = size.checked_mul(capacities[axis]).ok_or_else(too_large)?;
        }
        let narrow = |&extent: &u64| usize::try_from(extent).map_err(|_| too_large());
        let extents = extents.iter().map(narrow).collect::<Result<Vec<_>>>()?;
        let layout = Layout::uniform(1, Shape::new(&extents)?)?;

        let all = size / size_of::<T>() as u64;
        let mut values = source.values::<T>(all, T::NUMBER, "the values")?;
        source.end()?;
        if layout.total() > 0 {
            // The whole array is in memory, so all capacities fit in `usize`.
            pack(&mut values, &extents, capacities);
        }
        if values.len() > layout.total() {
            values = host::copied(&values[..layout.total()]).named(OP)?;
        }
        Ragged::from_parts(layout, values)
    }
}

/// Compacts the rows of a partly filled array at its start.
fn pack<T: Copy>(values: &mut [T], extents: &[usize], capacities: &[u64]) {
    let last = extents.len() - 1;
    let length = extents[last];
    let rows = extents[..last].iter().product();
    for row in 0..rows {
        let (mut rest, mut from, mut stride) = (row, 0, capacities[last] as usize);
        for axis in (0..last).rev() {
            from += rest % extents[axis] * stride;
            rest /= extents[axis];
            stride *= capacities[axis] as usize;
        }
        values.copy_within(from..from + length, row * length);
    }
}

fn too_large() -> Error {
    Error::size_overflow("the array").named(OP).at(0)
}
