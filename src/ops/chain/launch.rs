//! The launch of chains.

use super::registers::{REGISTERS, STEPS, steps};
use super::{
    Build, CODES, Chain, INPUTS, INSTRUCTIONS, Instruction, Slots, TwoSlots, WORDS, registers, twin,
};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Plan, Slot, params, shader,
};
use crate::ragged::DType;
use crate::{Error, Result};

params! {
    struct Params { total, ones, words: [STEPS + WORDS] }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("chain/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[CODES, registers::FORM],
    variants: &ONE_RESULT,
};

/// For chains with two results.
static TWO: Kernel = Kernel {
    shader: shader!("chain/mod", "chain_two"),
    interface: Interface::of::<TwoSlots, Params>(),
    constants: KERNEL.constants,
    variants: &TWO_RESULTS,
};

/// A chain uses the first build of its type that has enough registers.
static ONE_RESULT: [Build; 6] = [
    Build::of(DType::F32, "UNARY", 0, 2),
    Build::of(DType::F32, "FEW", 2, 2),
    Build::of(DType::F32, "MANY", REGISTERS, 1),
    Build::of(DType::F16, "UNARY", 0, 2),
    Build::of(DType::F16, "FEW", 2, 2),
    Build::of(DType::F16, "MANY", REGISTERS, 1),
];

static TWO_RESULTS: [Build; 2] = [
    Build::of(DType::F32, "TWO", REGISTERS, 1),
    Build::of(DType::F16, "TWO", REGISTERS, 1),
];

impl Chain {
    /// `None` if the kernels cannot run it ([`fits`]).
    pub(crate) fn new(
        dtype: DType,
        inputs: usize,
        instructions: Vec<Instruction>,
        outputs: Vec<usize>,
    ) -> Option<Chain> {
        fits(dtype, inputs, &instructions, &outputs).then_some(Chain {
            dtype,
            inputs,
            instructions,
            outputs,
        })
    }

    /// The number of values: operands and results of instructions.
    fn values(&self) -> usize {
        self.inputs + self.instructions.len()
    }

    /// The number of scalars of a call.
    #[cfg(feature = "testing")]
    pub(crate) fn scalars(&self) -> usize {
        let read = self.instructions.iter().flat_map(Instruction::scalars);
        read.max().map_or(0, |last| last + 1)
    }

    /// The build of its kernel and its index, and the words of the chain's steps.
    fn planned(&self) -> Option<(usize, &'static Build, [u32; STEPS])> {
        let builds: &[Build] = match self.outputs.len() {
            1 => &ONE_RESULT,
            _ => &TWO_RESULTS,
        };
        let mut builds = builds.iter().enumerate();
        builds.find_map(|(place, build)| {
            let steps = || {
                steps(
                    self.inputs,
                    &self.instructions,
                    &self.outputs,
                    build.registers,
                )
            };
            let steps = (build.dtype == self.dtype).then(steps)?;
            steps.map(|steps| (place, build, steps))
        })
    }
}

impl Operation for Chain {
    const NAME: &str = "chain";
    const KERNELS: &[&Kernel] = &[&KERNEL, &TWO];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let planned = self.planned().filter(|_| inputs.len() == self.inputs);
        let (place, build, steps) =
            planned.ok_or_else(|| Error::unsupported(format!("{self:?}")))?;
        let x = inputs[0];
        for other in inputs.iter().filter(|other| **other != x) {
            other.check_rank_of(x, "the first operand")?;
            x.check_len(other.len())?;
            other.check_shapes(x)?;
        }
        let mut words = [Param::U32(0); STEPS + WORDS];
        let bases = (0..self.inputs).map(Param::InputBase);
        let scalars = self.instructions.iter().flat_map(Instruction::scalars);
        let others = bases.chain(scalars.map(Param::Scalar));
        let all = steps.into_iter().map(Param::U32).chain(others);
        for (word, param) in words.iter_mut().zip(all) {
            *word = param;
        }
        let params = Params {
            total: Param::U32(x.total() as u32),
            // Bits that no compiler can know: see `ends.wgsl`.
            ones: Param::U32(u32::MAX),
            words,
        };
        // Operands that the chain does not have are not read.
        let input = |i: usize| Slot::Input(if i < self.inputs { i } else { 0 });
        let [x0, x1, x2, x3, x4] = [0, 1, 2, 3, 4].map(input);
        // The last instruction's result is y, and the one that is kept in a register is z.
        let kept = self
            .outputs
            .iter()
            .position(|value| *value + 1 != self.values());
        let y = Slot::Output(if kept == Some(0) { 1 } else { 0 });
        let words = self.dtype.words(x.total());
        let groups = build.groups(words);
        let cost = (words * self.instructions.len()) as u64;
        let dispatch = match kept.map(Slot::Output) {
            None => {
                let slots = Slots {
                    x0,
                    x1,
                    x2,
                    x3,
                    x4,
                    y,
                };
                Dispatch::new((&KERNEL, place), slots, params, groups, cost)
            }
            Some(z) => {
                let slots = TwoSlots {
                    x0,
                    x1,
                    x2,
                    x3,
                    x4,
                    y,
                    z,
                };
                Dispatch::new((&TWO, place), slots, params, groups, cost)
            }
        };
        let launch = Launch::new(self.dtype, OutputLayout::Input(0), dispatch, twin::of(self));
        let output = |_| Output::new(self.dtype, OutputLayout::Input(0));
        Ok(Launch {
            outputs: self.outputs.iter().map(output).collect(),
            ..launch
        }
        .into())
    }
}

/// Whether a kernel can run a chain of these instructions. One can if
///
/// - it has from 1 to [`INPUTS`] operands and from 1 to [`INSTRUCTIONS`] instructions;
/// - the operands and the scalars of all instructions are at most [`WORDS`], where a scalar counts as often as it is
///   used;
/// - it has one result, the last instruction's, or also another instruction's, in any order;
/// - it never keeps more values at a time than there are registers.
///
/// Allocates no memory.
pub(crate) fn fits(
    dtype: DType,
    inputs: usize,
    instructions: &[Instruction],
    outputs: &[usize],
) -> bool {
    let values = inputs + instructions.len();
    let is_result = |&value: &usize| (inputs..values).contains(&value);
    let has_results = match *outputs {
        [one] => one + 1 == values,
        [one, two] => one != two && one.max(two) + 1 == values,
        _ => false,
    };
    matches!(dtype, DType::F32 | DType::F16)
        && (1..=INPUTS).contains(&inputs)
        && (1..=INSTRUCTIONS).contains(&instructions.len())
        && has_results
        && outputs.iter().all(is_result)
        && (inputs..)
            .zip(instructions)
            .all(|(own, it)| it.left() < own && it.right().is_none_or(|right| right < own))
        // What fits in fewer registers fits in all.
        && steps(inputs, instructions, outputs, REGISTERS).is_some()
}
