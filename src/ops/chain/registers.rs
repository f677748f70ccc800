//! Assigns values to registers, and encodes a chain as the bytes that `shaders/chain/mod.wgsl` interprets: its steps.
//!
//! An invocation holds its last result and a few registers, the first of which initially hold the operands. A function
//! takes the last result as an operand and replaces it; a second byte of a function of two locates its other operand. A
//! value that is read again later is kept in a register whose value is no longer needed. Loading and keeping are
//! separate steps, because compilers execute short conditional moves unconditionally.

use super::code::{EXCHANGED, FUNCTIONS};
use super::{Instruction, WORDS};
use crate::plan::{Constants, constants};

/// Words for steps: the number of operands, the steps, and a zero.
pub(super) const STEPS: usize = 12;

/// The largest number of registers of an invocation.
pub(super) const REGISTERS: usize = 6;

/// Steps with larger numbers than functions: LOAD + k copies register k to the last result, KEEP + k the last result to
/// register k.
const LOAD: u32 = 64;
const KEEP: u32 = 72;
const _: () = assert!(FUNCTIONS <= LOAD && LOAD + REGISTERS as u32 <= KEEP);

pub(super) const FORM: Constants = constants![STEPS, LOAD, KEEP];

/// The steps of a chain with `inputs` operands, in words; `None` if it needs more registers or words. If a chain has
/// two results, the last register holds one of them at the end. Allocates nothing, because planning tries many chains.
pub(super) fn steps(
    inputs: usize,
    instructions: &[Instruction],
    outputs: &[usize],
    registers: usize,
) -> Option<[u32; STEPS]> {
    let scalars = instructions.iter().map(|it| it.code.scalars());
    if inputs > registers.max(1) || inputs + scalars.sum::<usize>() > WORDS {
        return None;
    }
    let mut places = Places {
        inputs,
        instructions,
        outputs,
        steps: [0; 4 * STEPS],
        used: 0,
        registers: std::array::from_fn(|k| (k < inputs).then_some(k)),
        count: registers,
        result: 0,
    };
    places.push(inputs as u32)?;
    for (i, instruction) in instructions.iter().enumerate() {
        places.compute(i, instruction)?;
    }
    let word = |word: usize| [0, 1, 2, 3].map(|byte| places.steps[4 * word + byte]);
    Some(std::array::from_fn(|i| u32::from_le_bytes(word(i))))
}

/// The steps so far, and where values are after them.
struct Places<'a> {
    inputs: usize,
    instructions: &'a [Instruction],
    outputs: &'a [usize],
    steps: [u8; 4 * STEPS],
    /// The number of steps so far.
    used: usize,
    registers: [Option<usize>; REGISTERS],
    /// The number of registers.
    count: usize,
    result: usize,
}

impl Places<'_> {
    fn push(&mut self, step: u32) -> Option<()> {
        // The last byte stays 0, which ends the steps.
        let place = self.steps[..4 * STEPS - 1].get_mut(self.used)?;
        *place = step as u8;
        self.used += 1;
        Some(())
    }

    /// Adds the steps of instruction `i`.
    fn compute(&mut self, i: usize, instruction: &Instruction) -> Option<()> {
        let (left, function) = (instruction.left(), instruction.code.number());
        match instruction.right() {
            None => {
                self.load(left)?;
                if function != 0 {
                    self.push(function)?;
                }
            }
            // The last result is the right operand, so the left one is in a register.
            Some(right) if right == self.result && left != right => {
                let other = self.register(left)?;
                self.push(function + EXCHANGED)?;
                self.push(other + 1)?;
            }
            Some(right) => {
                self.load(left)?;
                let other = match right == left {
                    true => 0,
                    false => self.register(right)? + 1,
                };
                self.push(function)?;
                self.push(other)?;
            }
        }
        self.result = self.inputs + i;
        self.keep(i)
    }

    /// Makes a value the last result.
    fn load(&mut self, value: usize) -> Option<()> {
        if value != self.result {
            let register = self.register(value)?;
            self.push(LOAD + register)?;
        }
        Some(())
    }

    fn register(&self, value: usize) -> Option<u32> {
        let mut registers = (0..).zip(&self.registers[..self.count]);
        registers.find_map(|(k, &kept)| (kept == Some(value)).then_some(k))
    }

    /// Keeps the result of instruction `i` if it is read later, or is a result of the chain.
    fn keep(&mut self, i: usize) -> Option<()> {
        let Places {
            instructions,
            outputs,
            result,
            count,
            ..
        } = *self;
        let last = instructions.len() - 1;
        let read_after = |value: usize, i: usize| {
            let mut later = instructions[i + 1..].iter();
            later.any(|it| it.left() == value || it.right() == Some(value))
        };
        let register = if i < last && outputs.contains(&result) {
            count.checked_sub(1)?
        } else if i < last && read_after(result, i + 1) {
            // The last register is reserved for the chain's second result.
            let usable = count.checked_sub(outputs.len() - 1)?;
            let free = |value: &Option<usize>| value.is_none_or(|value| !read_after(value, i));
            self.registers[..usable].iter().position(free)?
        } else {
            return Some(());
        };
        self.registers[register] = Some(result);
        self.push(KEEP + register as u32)
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ops::chain::{Chain, Code, INPUTS, INSTRUCTIONS};
    use crate::ragged::DType;

    /// The results of a chain as texts, in which operands are numbers.
    fn expected(chain: &Chain) -> Vec<String> {
        let mut values: Vec<String> = (0..chain.inputs).map(|i| i.to_string()).collect();
        for it in &chain.instructions {
            let right = it.right().map(|right| values[right].clone());
            values.push(text(it.code.number(), &values[it.left()], right.as_deref()));
        }
        let (last, outputs) = (values.len() - 1, chain.outputs.iter());
        let kept = outputs
            .filter(|&&value| value != last)
            .map(|&value| values[value].clone());
        [values[last].clone()].into_iter().chain(kept).collect()
    }

    fn text(function: u32, left: &str, right: Option<&str>) -> String {
        match right {
            None if function == 0 => left.to_owned(),
            None => format!("{function}({left})"),
            Some(right) => format!("{function}({left}, {right})"),
        }
    }

    /// What the steps leave in the last result and the last register.
    fn run(words: &[u32], registers: usize, results: usize) -> Vec<String> {
        let mut bytes = words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .map(u32::from);
        let inputs = bytes.next().unwrap() as usize;
        let mut x = "0".to_owned();
        let mut kept: Vec<String> = (0..registers).map(|k| k.min(inputs).to_string()).collect();
        while let Some(step) = bytes.next().filter(|step| *step != 0) {
            if let Some(k) = step.checked_sub(KEEP) {
                kept[k as usize] = x.clone();
            } else if let Some(k) = step.checked_sub(LOAD) {
                x = kept[k as usize].clone();
            } else if step < FUNCTIONS - 2 * EXCHANGED {
                x = text(step, &x, None);
            } else {
                let other = match bytes.next().unwrap() {
                    0 => x.clone(),
                    k => kept[k as usize - 1].clone(),
                };
                x = match step < FUNCTIONS - EXCHANGED {
                    true => text(step, &x, Some(&other)),
                    false => text(step - EXCHANGED, &other, Some(&x)),
                };
            }
        }
        let results = [Some(x), kept.pop()].into_iter().flatten().take(results);
        results.collect()
    }

    #[apply(unit_test)]
    fn steps_leave_the_results_of_instructions() {
        let codes: Vec<Code> = Code::all().filter(|code| code.scalars() == 0).collect();
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut short, mut refused) = ([0; REGISTERS + 1], 0);
        for _ in 0..20_000 {
            let (inputs, n) = (rng.usize(1..=INPUTS), rng.usize(1..=INSTRUCTIONS));
            let instructions = (0..n).map(|i| {
                let values = inputs + i;
                let mut value = || rng.usize(values.saturating_sub(4)..values);
                let values = [value(), value()];
                let code = *rng.choice(&codes).unwrap();
                Instruction::new(code, &values[..code.operands()], &[])
            });
            let instructions: Vec<_> = instructions.collect();
            let last = inputs + n - 1;
            let outputs = match rng.bool() && n > 1 {
                true => vec![last, rng.usize(inputs..last)],
                false => vec![last],
            };
            let Some(chain) = Chain::new(DType::F32, inputs, instructions, outputs) else {
                refused += 1;
                continue;
            };
            let results = chain.outputs.len();
            let mut fits = false;
            for (registers, count) in short.iter_mut().enumerate() {
                if results == 2 && registers < REGISTERS {
                    continue;
                }
                match steps(inputs, &chain.instructions, &chain.outputs, registers) {
                    Some(words) => {
                        *count += 1;
                        let got = run(&words, registers, results);
                        assert_eq!(got, expected(&chain), "{chain:?}");
                        fits = true;
                    }
                    None => assert!(!fits, "{chain:?} needs fewer than {registers} registers"),
                }
            }
            assert!(fits, "{chain:?}");
        }
        // Chains of every kind were made, and most of them fit.
        assert!(short.iter().all(|&count| count > 100), "{short:?}");
        assert!(refused < 4_000, "{refused}");
    }
}
