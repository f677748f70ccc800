//! Runs the instructions of an image program.

use super::{BLOCK, Done, Out, Slots, Stop, Value, View, cells, invalid, parts, regions, shapes};
use crate::Result;
use crate::ops::figures::Figures;
use crate::ops::imaging::code::{Opcode, STATE_VALID, Step};
use crate::ops::imaging::compile::Compiled;
use crate::ragged::DType;

/// Runs the program for at most [`BLOCK`] samples with these inputs, those of the first sample first. Passes every
/// result to `output`, with its sample, its number and its state.
pub(crate) fn walk(
    compiled: &Compiled,
    slots: &mut Slots,
    inputs: &[View<'_>],
    mut output: impl FnMut(usize, u32, u32, View<'_>),
) -> Result<()> {
    let Slots { values, bands } = slots;
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
                bands,
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
                    (value.state, value.rows, value.columns) = (STATE_VALID, rows, columns);
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
            let is_valid = operands[0].state == STATE_VALID;
            return out.number(is_valid.into());
        }
        Opcode::OrElse => {
            let chosen = if operands[0].state == STATE_VALID {
                operands[0]
            } else {
                operands[1]
            };
            return match chosen.state {
                STATE_VALID => out.copy(chosen.view()),
                state => Err(Stop::State(state)),
            };
        }
        _ => {}
    }
    if let Some(value) = operands.iter().find(|value| value.state != STATE_VALID) {
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
        Opcode::Extreme => cells::extreme(m, n != 0, view(0), out),
        Opcode::Paste => shapes::paste(view(0), view(1), view(2), out),
        Opcode::Label => regions::label(m != 0, n != 0, view(0), view(1), out),
        Opcode::Regions => regions::regions(m as usize, view(0), view(1), out),
        Opcode::FillHoles => regions::fill_holes(view(0), view(1), view(2), out),
        Opcode::Histogram => parts::histogram(m as usize, view(0), out),
        Opcode::Palette => parts::palette(m as usize, view(0), out),
        Opcode::Lookup => parts::lookup(view(0), view(1), out),
        Opcode::Reduce => cells::reduce(m, n, view(0), out),
        Opcode::Place => parts::place(m, view(0), out),
        Opcode::Box => parts::bounding_box(view(0), out),
        Opcode::Compact => shapes::compact(m, view(0), view(1), out),
        Opcode::Sort => parts::sort(m != 0, view(0), view(1), out),
        Opcode::Pick => shapes::pick(m, view(0), view(1), out),
        Opcode::Outline | Opcode::Line => {
            let dtype = DType::I32;
            let figures = match step.opcode {
                Opcode::Outline => Figures::Boxes { dtype },
                _ => Figures::Lines { dtype },
            };
            shapes::draw(figures, view(0), view(1), view(2), out)
        }
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
