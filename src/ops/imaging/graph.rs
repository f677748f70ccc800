//! Programs as they are recorded, with the capacity of each value.

use super::code::{Capacity, NONE, Opcode, Step};

/// A recorded program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub inputs: u32,
    pub outputs: u32,
    pub steps: Vec<Step>,
    pub constants: Vec<i32>,
    /// What was wrong when it was recorded: what was expected, and what was given.
    pub wrong: Option<(&'static str, String)>,
}

/// How many times as many cells as its operand a result has at most, if the factors are not constants.
const UNKNOWN: u32 = 16;

impl Graph {
    pub(crate) fn constant(&mut self, cells: &[i32]) -> u32 {
        let at = (0..self.constants.len()).find(|&at| self.constants[at..].starts_with(cells));
        let at = at.unwrap_or_else(|| {
            self.constants.extend_from_slice(cells);
            self.constants.len() - cells.len()
        });
        self.push(Opcode::Constant, &[], [at as u32, cells.len() as u32])
    }

    pub(crate) fn input(&mut self) -> u32 {
        self.inputs += 1;
        self.push(Opcode::Input, &[], [self.inputs - 1, 0])
    }

    pub(crate) fn output(&mut self, value: u32) {
        self.outputs += 1;
        self.push(Opcode::Output, &[value], [self.outputs - 1, 0]);
    }

    /// Records an instruction, and returns its number.
    pub(crate) fn push(&mut self, opcode: Opcode, operands: &[u32], numbers: [u32; 2]) -> u32 {
        let mut all = [NONE; 3];
        all[..operands.len()].copy_from_slice(operands);
        self.steps.push(Step {
            opcode,
            operands: all,
            numbers,
            capacity: self.capacity(opcode, operands, numbers),
        });
        self.steps.len() as u32 - 1
    }

    /// Records an image of equal cells: of rows, columns and a value.
    pub(crate) fn fill(&mut self, operands: [u32; 3], capacity: u32) -> u32 {
        let step = Step {
            opcode: Opcode::Fill,
            operands,
            numbers: [0; 2],
            capacity: Capacity::fixed(capacity),
        };
        self.steps.push(step);
        self.steps.len() as u32 - 1
    }

    /// The same instruction with a capacity of so many cells.
    pub(crate) fn within(&mut self, step: u32, cells: u32) -> u32 {
        let step = self.steps[step as usize];
        self.steps.push(Step {
            capacity: Capacity::fixed(cells),
            ..step
        });
        self.steps.len() as u32 - 1
    }

    /// The cells that a result has at most.
    fn capacity(&self, opcode: Opcode, operands: &[u32], [m, n]: [u32; 2]) -> Capacity {
        let capacity_of = |i: usize| self.steps[operands[i] as usize].capacity;
        let largest =
            || (1..operands.len()).fold(capacity_of(0), |largest, i| largest.max(capacity_of(i)));
        match opcode {
            Opcode::Input => Capacity {
                per_unit: 1,
                fixed: 0,
            },
            Opcode::Constant => Capacity::fixed(n),
            Opcode::Upscale | Opcode::Tile => self.scaled(operands),
            // Given by `fill`.
            Opcode::Fill => Capacity::default(),
            Opcode::Combine | Opcode::Choose | Opcode::OrElse => largest(),
            Opcode::Join => capacity_of(0).plus(capacity_of(1)),
            Opcode::Regions => Capacity::fixed(8).times(m),
            Opcode::Histogram | Opcode::Palette => Capacity::fixed(m),
            Opcode::Box => Capacity::fixed(4),
            Opcode::Reduce if n == 2 => Capacity::fixed(1),
            Opcode::Place | Opcode::Period | Opcode::Same | Opcode::Extent | Opcode::Valid => {
                Capacity::fixed(1)
            }
            Opcode::Orient
            | Opcode::Crop
            | Opcode::Downscale
            | Opcode::Translate
            | Opcode::Extreme
            | Opcode::Paste
            | Opcode::Label
            | Opcode::FillHoles
            | Opcode::Lookup
            | Opcode::Reduce
            | Opcode::Compact
            | Opcode::Sort
            | Opcode::Pick
            | Opcode::Outline
            | Opcode::Line
            | Opcode::Match
            | Opcode::Numbers
            | Opcode::Scan
            | Opcode::When
            | Opcode::Output => capacity_of(0),
        }
    }

    /// The capacity of an image scaled by factors, which may be constants.
    fn scaled(&self, operands: &[u32]) -> Capacity {
        let factors = &self.steps[operands[1] as usize];
        let times = match (factors.opcode, factors.numbers) {
            (Opcode::Constant, [at, count]) => {
                let factors = &self.constants[at as usize..][..count as usize];
                let both = match *factors {
                    [both] => [both; 2],
                    [rows, columns] => [rows, columns],
                    _ => [1; 2],
                };
                let [rows, columns] = both.map(|factor| factor.max(1).unsigned_abs());
                rows.saturating_mul(columns)
            }
            _ => UNKNOWN,
        };
        self.steps[operands[0] as usize].capacity.times(times)
    }
}
