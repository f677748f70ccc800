//! The CPU's interpreter: runs all instructions of a program for one sample.

mod cells;
mod parts;
mod regions;
mod shapes;

use super::OP;
use super::code::{INVALID, OVERFLOW, Opcode, Step, VALID_STATE};
use super::compile::{Compiled, NOTHING};
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
            _ => Err(Stop::State(INVALID)),
        }
    }

    fn numbers<const N: usize>(&self) -> Done<[i32; N]> {
        match self.rows {
            1 => self.cells.try_into().map_err(|_| Stop::State(INVALID)),
            _ => Err(Stop::State(INVALID)),
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
    Err(Stop::State(INVALID))
}

/// The cells of a result, before they are written.
pub(super) struct Out<'a> {
    capacity: u64,
    rows: usize,
    columns: usize,
    cells: &'a mut Vec<i32>,
}

impl Out<'_> {
    /// Room for `rows` × `columns` cells, none of them written.
    fn room(&mut self, rows: usize, columns: usize) -> Done<&mut Vec<i32>> {
        let cells = rows as u64 * columns as u64;
        // Extents are numbers in programs, too.
        if cells > self.capacity || rows.max(columns) > i32::MAX as usize {
            return Err(Stop::State(OVERFLOW));
        }
        self.cells.clear();
        if self.cells.capacity() < cells as usize {
            host::reserve(OP, self.cells, cells as usize)?;
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

/// The values of one thread, which every block of samples overwrites: for each slot one of each sample.
#[derive(Default)]
pub(crate) struct Slots(Vec<Value>);

impl Slots {
    pub(crate) fn new(compiled: &Compiled) -> Result<Slots> {
        let mut values = host::filled(OP, Value::default(), compiled.slots * BLOCK)?;
        values[NOTHING as usize * BLOCK..][..BLOCK]
            .iter_mut()
            .for_each(|value| value.state = VALID_STATE);
        Ok(Slots(values))
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

/// Runs the program for at most [`BLOCK`] samples with these inputs, those of the first sample first. Passes every
/// result to `output`, with its sample, its number and its state.
pub(crate) fn walk(
    compiled: &Compiled,
    slots: &mut Slots,
    inputs: &[View<'_>],
    mut output: impl FnMut(usize, u32, u32, View<'_>),
) -> Result<()> {
    let values = &mut slots.0;
    let each = compiled.inputs as usize;
    let count = inputs.len() / each;
    let mut units = [1; BLOCK];
    for (unit, inputs) in units.iter_mut().zip(inputs.chunks_exact(each)) {
        let largest = inputs.iter().map(|input| input.cells.len()).max();
        *unit = largest.unwrap_or(0).max(1) as u32;
    }
    for (step, slots) in compiled.steps.iter().zip(&compiled.serial) {
        let [a, b, c] = slots.operands;
        let at = |place: u32| place as usize * BLOCK;
        for (sample, &unit) in units[..count].iter().enumerate() {
            if step.opcode == Opcode::Output {
                let value = &values[at(a) + sample];
                output(sample, step.numbers[0], value.state, value.view());
                continue;
            }
            let place = at(slots.result) + sample;
            let mut cells = std::mem::take(&mut values[place].cells);
            let mut out = Out {
                capacity: step.capacity.cells(unit),
                rows: 0,
                columns: 0,
                cells: &mut cells,
            };
            let operands = [
                &values[at(a) + sample],
                &values[at(b) + sample],
                &values[at(c) + sample],
            ];
            let inputs = &inputs[sample * each..];
            let done = run(step, operands, (inputs, &compiled.constants), &mut out);
            let (rows, columns) = (out.rows, out.columns);
            let value = &mut values[place];
            match done {
                Ok(()) => {
                    (value.state, value.rows, value.columns) = (VALID_STATE, rows, columns);
                }
                Err(Stop::State(state)) => {
                    cells.clear();
                    (value.state, value.rows, value.columns) = (state, 0, 0);
                }
                Err(Stop::Failed(error)) => return Err(error),
            }
            value.cells = cells;
        }
    }
    Ok(())
}

fn run(
    step: &Step,
    operands: [&Value; 3],
    (inputs, constants): (&[View<'_>], &[i32]),
    out: &mut Out<'_>,
) -> Done<()> {
    let [m, n] = step.numbers;
    match step.opcode {
        Opcode::Valid => {
            let is_valid = operands[0].state == VALID_STATE;
            return out.number(is_valid.into());
        }
        Opcode::OrElse => {
            let chosen = if operands[0].state == VALID_STATE {
                operands[0]
            } else {
                operands[1]
            };
            return match chosen.state {
                VALID_STATE => out.copy(chosen.view()),
                state => Err(Stop::State(state)),
            };
        }
        _ => {}
    }
    if let Some(value) = operands.iter().find(|value| value.state != VALID_STATE) {
        return Err(Stop::State(value.state));
    }
    let view = |i: usize| operands[i].view();
    match step.opcode {
        Opcode::Input => out.copy(inputs[m as usize]),
        Opcode::Constant => {
            let cells = &constants[m as usize..][..n as usize];
            out.copy(View {
                rows: 1,
                columns: cells.len(),
                cells,
            })
        }
        Opcode::Combine => cells::combine(m, view(0), view(1), out),
        Opcode::Choose => cells::choose(view(0), view(1), view(2), out),
        Opcode::Orient => shapes::orient(m, view(0), out),
        Opcode::Crop => shapes::crop(view(0), view(1), m != 0, out),
        Opcode::Upscale => shapes::upscale(view(0), view(1), out),
        Opcode::Downscale => shapes::downscale(view(0), view(1), out),
        Opcode::Tile => shapes::tile(view(0), view(1), out),
        Opcode::Join => shapes::join(m, view(0), view(1), out),
        Opcode::Translate => shapes::translate(view(0), view(1), view(2), out),
        Opcode::Extreme => cells::extreme(m != 0, n != 0, view(0), out),
        Opcode::Paste => shapes::paste(view(0), view(1), view(2), out),
        Opcode::Label => regions::label(m != 0, n != 0, view(0), view(1), out),
        Opcode::Regions => regions::regions(m as usize, view(0), view(1), out),
        Opcode::FillHoles => regions::fill_holes(view(0), view(1), view(2), out),
        Opcode::Histogram => parts::histogram(m as usize, view(0), out),
        Opcode::Palette => parts::palette(m as usize, view(0), out),
        Opcode::Lookup => parts::lookup(view(0), view(1), out),
        Opcode::Reduce => cells::reduce(m, n, view(0), out),
        Opcode::Place => parts::place(m != 0, view(0), out),
        Opcode::Box => parts::bounding_box(view(0), out),
        Opcode::Compact => shapes::compact(m, view(0), view(1), out),
        Opcode::Sort => parts::sort(m != 0, view(0), view(1), out),
        Opcode::Pick => shapes::pick(m, view(0), view(1), out),
        Opcode::Outline => shapes::outline(view(0), view(1), view(2), out),
        Opcode::Line => shapes::line(view(0), view(1), view(2), out),
        Opcode::Match => parts::matches(view(0), view(1), out),
        Opcode::Period => parts::period(m, view(0), out),
        Opcode::Same => {
            let [a, b] = [view(0), view(1)];
            let same = (a.rows, a.columns) == (b.rows, b.columns) && a.cells == b.cells;
            out.number(same.into())
        }
        Opcode::Extent => out.number([view(0).rows, view(0).columns][m as usize] as i32),
        Opcode::Numbers => shapes::numbers(m, view(0), out),
        Opcode::Scan => cells::scan(m, n, view(0), out),
        Opcode::When => match view(1).number()? {
            0 => invalid(),
            _ => out.copy(view(0)),
        },
        Opcode::Fill => {
            let [rows, columns, cell] = [view(0).number()?, view(1).number()?, view(2).number()?];
            let (Ok(rows), Ok(columns)) = (rows.try_into(), columns.try_into()) else {
                return invalid();
            };
            out.filled(rows, columns, cell).map(|_| ())
        }
        Opcode::Valid | Opcode::OrElse | Opcode::Output => Ok(()),
    }
}
