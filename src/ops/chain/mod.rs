//! Chains: several maps and functions of two operands, value by value over batches of one layout, in one kernel.
//!
//! A chain is a short list of instructions that the kernel interprets, so that values are read once and written once.
//! Each instruction rounds its result as the separate operation does. No expression spans two instructions, so no
//! compiler contracts the product of one and the sum of another. A chain's results therefore have the bits of the
//! separate operations' results, except that a GPU does not preserve the bits of a NaN.
//!
//! Cost: the operands read once and the results written once, in one dispatch.
//!
//! One kernel has all functions and runs every chain. WGSL generated for each chain would not promise these bits, would
//! take time to compile, and would end the closed list of kernels. No step depends on values, so all invocations take
//! the same branch.
//!
//! - Between two instructions is a branch whose outcome compilers cannot know, so that they never contract across it.
//! - Registers are variables, because compilers put an array that is indexed at run time into memory. Moves are cases
//!   of the same `switch` as functions: as separate conditions, every step would test them.
//! - Short expressions are written out for each value. Longer ones are loops over the words of an invocation, which are
//!   rotated in each round, with a bound that compilers do not know: unrolled, the kernel would be several times as
//!   large.
//! - Builds have 0, 2 or 6 registers, because registers cost occupancy, even those that a chain does not use.
//! - The limits are those of the parameter block (47 bytes of steps; 16 words for the places of operands and for
//!   scalars) and of bindings (5 operands, 2 results).

mod code;
mod launch;
mod registers;
mod twin;

pub(crate) use launch::fits;

use std::borrow::Cow;

pub(crate) use self::code::Code;
use self::code::{COPY, EXCHANGED, FIRST_OF_TWO, NEG};
use crate::plan::{Constants, Listed, constants, slots};
use crate::ragged::DType;

/// The largest numbers of operands and of instructions of a chain, and of its operands and scalars together.
pub(crate) const INPUTS: usize = 5;
pub(crate) const INSTRUCTIONS: usize = 16;
pub(crate) const WORDS: usize = 16;

slots! {
    struct Slots { x0: Read, x1: Read, x2: Read, x3: Read, x4: Read, y: Write }
}

slots! {
    struct TwoSlots { x0: Read, x1: Read, x2: Read, x3: Read, x4: Read, y: Write, z: Write }
}

const WG: u32 = 256;
const CODES: Constants = constants![WG, NEG, FIRST_OF_TWO, EXCHANGED];

/// A build of one of the kernels.
#[derive(Debug)]
struct Build {
    dtype: DType,
    flag: &'static str,
    registers: usize,
    /// Quads of words in a register.
    quads: u32,
}

impl Build {
    const fn of(dtype: DType, flag: &'static str, registers: usize, quads: u32) -> Build {
        Build {
            dtype,
            flag,
            registers,
            quads,
        }
    }

    /// Workgroups that compute this many words of a result.
    fn groups(&self, words: usize) -> u32 {
        words.div_ceil((4 * self.quads * WG) as usize) as u32
    }
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        vec![self.flag].into()
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        vec![("REGISTERS", self.registers as u32), ("QUADS", self.quads)]
    }

    fn texts(&self) -> Vec<(String, String)> {
        let mut files: Vec<&str> = Vec::new();
        let mut texts: [(_, Vec<String>); 6] = [
            ("MAPS", Vec::new()),
            ("FUNCTIONS", Vec::new()),
            ("SHORT_MAPS", Vec::new()),
            ("LONG_MAPS", Vec::new()),
            ("SHORT_FUNCTIONS", Vec::new()),
            ("LONG_FUNCTIONS", Vec::new()),
        ];
        for code in Code::all().filter(|code| ![COPY, NEG].contains(&code.number())) {
            let more = code.uses().iter().filter(|file| !files.contains(file));
            let more: Vec<&str> = more.copied().collect();
            files.extend(more);
            let (number, two) = (code.number(), code.operands() - 1);
            let long = usize::from(code.uses().iter().any(|file| *file != "compare"));
            texts[two].1.push(format!("{number} {}", code.wgsl()));
            let cases = &mut texts[2 + 2 * two + long].1;
            if two == 0 {
                cases.push(format!("{number} {}", code.scalars()));
            } else {
                cases.push(format!("{number} {number} x other"));
                cases.push(format!("{} {number} other x", number + EXCHANGED));
            }
        }
        let texts = texts.map(|(name, texts)| (name.to_owned(), texts.join(", ")));
        let files = ("FILES".to_owned(), files.join(", "));
        texts.into_iter().chain([files]).collect()
    }
}

/// A function of values, which are operands or results of earlier instructions, and of scalars of the call. A value is
/// the index of an operand, or the index of an instruction plus the number of operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Instruction {
    code: Code,
    values: [u8; 2],
    scalars: [u8; 2],
}

impl Instruction {
    /// Takes as many values and scalars as the function has ([`Code::operands`], [`Code::scalars`]).
    pub(crate) fn new(code: Code, values: &[usize], scalars: &[usize]) -> Instruction {
        let two = |all: &[usize]| [0, 1].map(|i| all.get(i).map_or(0, |&at| at as u8));
        debug_assert!(values.len() == code.operands() && scalars.len() == code.scalars());
        Instruction {
            code,
            values: two(values),
            scalars: two(scalars),
        }
    }

    fn left(&self) -> usize {
        self.values[0].into()
    }

    /// The right operand of a function of two.
    fn right(&self) -> Option<usize> {
        (self.code.operands() == 2).then_some(self.values[1].into())
    }

    fn scalars(&self) -> impl Iterator<Item = usize> {
        let scalars = self.scalars.into_iter().take(self.code.scalars());
        scalars.map(usize::from)
    }
}

/// Instructions over operands of one layout and type, f32 or f16. The outputs are values of instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Chain {
    dtype: DType,
    inputs: usize,
    instructions: Vec<Instruction>,
    outputs: Vec<usize>,
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Error;
    use crate::ops::chain::registers::REGISTERS;
    use crate::ops::limits::launched;
    use crate::ragged::Layout;

    fn of(name: &str, values: &[usize], scalars: &[usize]) -> Instruction {
        Instruction::new(Code::of(name).unwrap(), values, scalars)
    }

    fn chain(inputs: usize, instructions: &[Instruction], outputs: &[usize]) -> Option<Chain> {
        Chain::new(DType::F32, inputs, instructions.to_vec(), outputs.to_vec())
    }

    #[apply(unit_test)]
    fn what_no_kernel_can_run_is_refused() {
        let (exp, add) = (of("exp", &[0], &[]), of("add", &[0, 1], &[]));
        assert!(chain(1, &[exp], &[1]).is_some());
        assert!(chain(2, &[add, exp], &[3, 2]).is_some());
        assert_eq!(Chain::new(DType::U32, 1, vec![exp], vec![1]), None);
        // Operands, instructions and results.
        assert_eq!(chain(0, &[exp], &[0]), None);
        assert!(chain(INPUTS, &[exp], &[INPUTS]).is_some());
        assert_eq!(chain(INPUTS + 1, &[exp], &[INPUTS + 1]), None);
        assert_eq!(chain(1, &[], &[0]), None);
        assert!(chain(1, &[exp; INSTRUCTIONS], &[INSTRUCTIONS]).is_some());
        assert_eq!(
            chain(1, &[exp; INSTRUCTIONS + 1], &[INSTRUCTIONS + 1]),
            None
        );
        for outputs in [&[][..], &[0], &[1], &[2, 2], &[0, 2], &[1, 3], &[1, 2, 3]] {
            assert_eq!(chain(1, &[exp, exp], outputs), None, "{outputs:?}");
        }
        // Values that do not exist yet.
        assert_eq!(chain(1, &[add], &[1]), None);
        // Scalars count as often as they are used.
        let scaled = [of("scale", &[0], &[0]); INSTRUCTIONS];
        assert!(chain(1, &scaled[1..], &[INSTRUCTIONS - 1]).is_some());
        assert_eq!(chain(1, &scaled, &[INSTRUCTIONS]), None);
    }

    #[apply(unit_test)]
    fn too_many_values_at_a_time_are_refused() {
        // 3 operands and n results, which are all added at the end.
        let values_at_once = |n: usize| {
            let first = (0..n).map(|k| of("exp", &[k % 3], &[]));
            let sums = (1..3 + n).map(|k| {
                let sum = if k == 1 { 0 } else { 1 + n + k };
                of("add", &[sum, k], &[])
            });
            let instructions: Vec<Instruction> = first.chain(sums).collect();
            chain(3, &instructions, &[2 + instructions.len()])
        };
        assert!(values_at_once(REGISTERS - 3).is_some());
        assert_eq!(values_at_once(REGISTERS - 1), None);
    }

    #[apply(unit_test)]
    fn operands_have_one_layout() {
        let layouts =
            [vec![2, 3], vec![3, 2], vec![5]].map(|lengths| Layout::from_lengths(lengths).unwrap());
        let sum = chain(2, &[of("add", &[0, 1], &[])], &[2]).unwrap();
        let launch = |i: usize| launched(sum.clone(), &[&layouts[0], &layouts[i]]);
        assert_eq!(launch(0).unwrap().outputs.len(), 1);
        assert!(matches!(
            launch(1),
            Err(Error::Shape { op: "chain", .. } | Error::Length { .. })
        ));
        assert!(matches!(
            launch(2),
            Err(Error::BatchSize { op: "chain", .. })
        ));
        assert!(matches!(
            launched(sum.clone(), &[&layouts[0]]),
            Err(Error::Unsupported { .. })
        ));
    }
}
