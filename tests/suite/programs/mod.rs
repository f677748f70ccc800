//! Random programs: bytes decode to a sequence of operations of the catalogue, on batches that are drawn or that other
//! operations computed.
//!
//! [`Program::new`] draws and runs a program on one device, and [`Program::replay`] runs it again, such as while it is
//! recorded. [`check_alone`] repeats each operation with single elements of its operands, which must give the same
//! bits. [`check_against`] repeats each operation on another device with the same operands. Any bytes are a valid
//! program, so a fuzzer can generate them and the suite can replay what it finds.
//!
//! This code does not depend on the rest of the suite: `fuzz/` includes this folder by path.

mod check;
mod judge;

use std::ops::Range;
use std::sync::LazyLock;

use catalogue::{Answer, Batch, Failure, Held, Operand, Operation};
use serde_json::{Map, Value};
use vsla::{Device, Layout, Ragged, scalar::DType};

pub use check::{check_against, check_alone};
pub use judge::same;

/// The most operations of a program.
pub const STEPS: usize = 12;
/// How many bytes an operation takes.
const BYTES: usize = 4;
/// How often operands and options of an operation are drawn, before an example's are taken.
const ATTEMPTS: u64 = 6;
/// The most values of an answer.
const MOST: u64 = 1 << 16;

/// The operations, each with the requests that its examples answer.
static ROWS: LazyLock<Vec<(&Operation, Vec<Value>)>> = LazyLock::new(|| {
    let rows = catalogue::operations().filter(|row| row.is_function && row.name != "gradient");
    rows.map(|row| (row, row.answered())).collect()
});

/// The operations that programs contain.
pub fn rows() -> impl Iterator<Item = &'static Operation> {
    ROWS.iter().map(|(row, _)| *row)
}

/// A program that has run on a device.
pub struct Program {
    pub steps: Vec<Step>,
    /// Every batch of the program, in the order in which they were drawn or computed.
    pub batches: Vec<Batch>,
    /// The numbers of those that were drawn.
    pub given: Vec<usize>,
}

#[derive(Clone)]
pub struct Step {
    pub row: &'static Operation,
    pub options: Map<String, Value>,
    /// The numbers of its operands.
    pub operands: Vec<usize>,
    pub outcome: Result<Results, Failure>,
}

/// What an operation answered: the numbers of its batches, and anything else.
#[derive(Clone, PartialEq)]
pub struct Results {
    pub batches: Range<usize>,
    pub other: Value,
}

impl Step {
    /// Its operation on these tensors, with their values where these are known.
    fn run(
        &self,
        device: &Device,
        operands: &[(&Held, Option<&Batch>)],
    ) -> Result<(Vec<Held>, Value), Failure> {
        Ok(
            match self.row.apply(operands, &self.options, device, MOST)? {
                Answer::Truths(truths) => {
                    let rows = truths.into_iter().map(|truth| [u32::from(truth)]);
                    let batch = Ragged::from_rows(rows)?;
                    (vec![device.upload(&batch)?.into()], Value::Null)
                }
                Answer::Json(value) | Answer::About(value) => (Vec::new(), value),
                answer => (answer.batches(), Value::Null),
            },
        )
    }
}

/// The number of an operation, and a seed of everything else.
fn decoded(bytes: &[u8]) -> (&'static (&'static Operation, Vec<Value>), u64) {
    let mut word = [0; BYTES];
    word[..bytes.len()].copy_from_slice(bytes);
    let [row, seed] = [[word[0], word[1]], [word[2], word[3]]].map(u16::from_le_bytes);
    (&ROWS[usize::from(row) % ROWS.len()], seed.into())
}

impl Program {
    /// Draws and runs the program that these bytes encode, without operations that `allowed` rejects. An operation that
    /// is refused is drawn again, and some of these stay in the program.
    pub fn new(
        bytes: &[u8],
        most: usize,
        device: &Device,
        allowed: impl Fn(&Operation, &Map<String, Value>) -> bool,
    ) -> Program {
        let (mut steps, mut values, mut given): (Vec<Step>, Vec<Held>, _) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut drawn: Vec<Option<Batch>> = Vec::new();
        for ((row, examples), seed) in bytes.chunks(BYTES).map(decoded) {
            let done = steps.iter().filter(|step| step.outcome.is_ok()).count();
            if done >= most {
                break;
            }
            for attempt in 0..=ATTEMPTS {
                let seed = seed << 8 | attempt;
                let example = &examples[(seed >> 8) as usize % examples.len()];
                let existing: Vec<(DType, Layout)> = values
                    .iter()
                    .map(|held| (held.dtype(), held.layout().clone()))
                    .collect();
                let fitted = row.fitted(example, attempt == ATTEMPTS, &existing, seed);
                if !allowed(row, &fitted.options) {
                    continue;
                }
                let (before, mut operands) = (values.len(), Vec::new());
                for operand in fitted.operands {
                    operands.push(match operand {
                        Operand::Existing(at) => at,
                        Operand::New(batch) => {
                            values.push(batch.upload(device).expect("a small batch"));
                            drawn.push(Some(batch));
                            values.len() - 1
                        }
                    });
                }
                let mut step = Step {
                    row,
                    options: fitted.options,
                    operands,
                    outcome: Ok(Results {
                        batches: 0..0,
                        other: Value::Null,
                    }),
                };
                let from = values.len();
                let operands: Vec<_> = step
                    .operands
                    .iter()
                    .map(|&at| (&values[at], drawn[at].as_ref()))
                    .collect();
                step.outcome = step.run(device, &operands).map(|(made, other)| {
                    values.extend(made);
                    drawn.resize(values.len(), None);
                    Results {
                        batches: from..values.len(),
                        other,
                    }
                });
                let is_refused = step.outcome.is_err();
                if is_refused && (seed >> 8) % 8 != attempt {
                    values.truncate(before);
                    drawn.truncate(before);
                    continue;
                }
                given.extend(before..from);
                steps.push(step);
                if !is_refused {
                    break;
                }
            }
        }
        let read = |held: Held| {
            held.download_blocking()
                .expect("what was computed can be read")
        };
        let batches = values.into_iter().map(read).collect();
        Program {
            steps,
            batches,
            given,
        }
    }

    /// Runs the same operations on other tensors in place of the drawn batches, and returns all values. Each operation
    /// must have the same outcome.
    pub fn replay(
        &self,
        device: &Device,
        mut given: impl FnMut(usize, &Batch) -> vsla::Result<Held>,
    ) -> vsla::Result<Vec<Held>> {
        let mut values: Vec<Held> = Vec::new();
        let mut drawn = self.given.iter().copied().peekable();
        for step in &self.steps {
            let last = step.operands.iter().max();
            while let Some(at) = drawn.next_if(|at| *at == values.len() && Some(at) <= last) {
                values.push(given(at, &self.batches[at])?);
            }
            let operands = step
                .operands
                .iter()
                .map(|&at| (&values[at], Some(&self.batches[at])));
            let operands: Vec<_> = operands.collect();
            let from = values.len();
            let outcome = step.run(device, &operands).map(|(made, other)| {
                values.extend(made);
                Results {
                    batches: from..values.len(),
                    other,
                }
            });
            let (kind, expected) = (kind(&outcome), kind(&step.outcome));
            assert!(
                outcome == step.outcome || kind.is_some() && kind == expected,
                "{step:?} gives {kind:?}"
            );
        }
        Ok(values)
    }

    /// The batches that a step reads.
    fn operands(&self, step: &Step) -> Vec<&Batch> {
        step.operands.iter().map(|&at| &self.batches[at]).collect()
    }
}

/// The kind of an error.
fn kind<T>(outcome: &Result<T, Failure>) -> Option<&'static str> {
    outcome.as_ref().err().map(|failure| failure.kind)
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let outcome = match &self.outcome {
            Ok(_) => "a result",
            Err(failure) => &failure.message,
        };
        let options: String = Value::Object(self.options.clone()).to_string();
        let options: String = options.chars().take(400).collect();
        write!(
            f,
            "{} of {:?} by {options}: {outcome}",
            self.row.name, self.operands
        )
    }
}
