//! The CPU's interpreter: runs all instructions of a program for one sample.

mod cells;
mod parts;
mod regions;
pub(super) mod run;
mod shapes;

use super::code::{STATE_INVALID, STATE_OVERFLOW, STATE_VALID};
use super::compile::{Compiled, NOTHING};
use crate::ops::label::Bands;
use crate::{Error, Result, host};

/// A value of a sample: its state, extents and cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    pub state: u32,
    pub rows: usize,
    pub columns: usize,
    cells: Vec<i32>,
}

/// A valid operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub rows: usize,
    pub columns: usize,
    pub cells: &'a [i32],
}

impl View<'_> {
    /// The only cell of a 1 × 1 image.
    fn number(&self) -> Done<i32> {
        match *self.cells {
            [cell] => Ok(cell),
            _ => Err(Stop::State(STATE_INVALID)),
        }
    }

    fn numbers<const N: usize>(&self) -> Done<[i32; N]> {
        match self.rows {
            1 => self
                .cells
                .try_into()
                .map_err(|_| Stop::State(STATE_INVALID)),
            _ => Err(Stop::State(STATE_INVALID)),
        }
    }

    /// A row of two numbers, or one number that stands for both.
    fn pair(&self) -> Done<[i32; 2]> {
        match *self.cells {
            [both] => Ok([both; 2]),
            _ => self.numbers(),
        }
    }
}

/// Why an instruction has no result.
pub(super) enum Stop {
    /// The result has this state.
    State(u32),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

pub(super) type Done<T> = std::result::Result<T, Stop>;

fn invalid<T>() -> Done<T> {
    Err(Stop::State(STATE_INVALID))
}

/// The cells of a result, before they are written.
pub(super) struct Out<'a> {
    capacity: u64,
    rows: usize,
    columns: usize,
    cells: &'a mut Vec<i32>,
    /// What labels components.
    bands: &'a mut Bands,
}

impl Out<'_> {
    /// Room for `rows` × `columns` cells, none of them written.
    fn room(&mut self, rows: usize, columns: usize) -> Done<&mut Vec<i32>> {
        let cells = rows as u64 * columns as u64;
        // Extents are numbers in programs, too.
        if cells > self.capacity || rows.max(columns) > i32::MAX as usize {
            return Err(Stop::State(STATE_OVERFLOW));
        }
        self.cells.clear();
        if self.cells.capacity() < cells as usize {
            host::reserve(self.cells, cells as usize)?;
        }
        (self.rows, self.columns) = (rows, columns);
        Ok(self.cells)
    }

    /// A result of equal cells.
    fn filled(&mut self, rows: usize, columns: usize, cell: i32) -> Done<&mut [i32]> {
        let cells = self.room(rows, columns)?;
        cells.resize(rows * columns, cell);
        Ok(cells)
    }

    fn number(&mut self, number: i32) -> Done<()> {
        self.room(1, 1)?.push(number);
        Ok(())
    }

    fn copy(&mut self, view: View<'_>) -> Done<()> {
        self.room(view.rows, view.columns)?
            .extend_from_slice(view.cells);
        Ok(())
    }
}

/// Samples that run together, so that the code of an instruction is read and its branches are predicted once for
/// several.
pub(crate) const BLOCK: usize = 4;

/// What each block of samples on one thread overwrites.
pub(crate) struct Slots {
    /// For each slot one of each sample.
    values: Vec<Value>,
    bands: Bands,
}

impl Slots {
    pub(crate) fn new(compiled: &Compiled) -> Result<Slots> {
        let mut values = host::filled(Value::default(), compiled.slots * BLOCK)?;
        values[NOTHING as usize * BLOCK..][..BLOCK]
            .iter_mut()
            .for_each(|value| value.state = STATE_VALID);
        let bands = Bands::default();
        Ok(Slots { values, bands })
    }
}

impl Value {
    fn view(&self) -> View<'_> {
        View {
            rows: self.rows,
            columns: self.columns,
            cells: &self.cells,
        }
    }
}
