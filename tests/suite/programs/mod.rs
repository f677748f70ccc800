//! Random programs: bytes decode to batches and a sequence of operations on them.
//!
//! [`run`] runs the program that bytes decode to on one device. [`check_alone`] repeats each operation with single
//! elements of its operands, which must give the same bits. [`check_against`] repeats each operation on another device
//! with the same operands. Any bytes are a valid program, and the same bytes are the same program on every device, so a
//! fuzzer can generate them and the suite can replay what it finds.
//!
//! This code does not depend on the rest of the suite: `fuzz/` includes this folder by path.

mod apply;
mod batch;
mod bytes;
mod check;
mod decode;
mod judge;
mod lines;
mod op;
mod values;

use std::ops::Range;

use vsla::{Device, Error};

pub use batch::{Batch, Kind, Value};
pub use check::{check_against, check_alone};
#[cfg(feature = "gpu")]
pub use lines::OF_FLOATS;
pub use lines::{lines_of, log_of_exponentials};
pub use op::Meeting;
use op::{Op, Unary};
pub use values::{
    FUNCTIONS, MAPS_OF_COMPLEX, MAPS_OF_FLOATS, MAPS_OF_INTEGERS, Values, Vectors, functions_of,
    maps_of, pools_of,
};

/// The maximum number of operations of a program.
const STEPS: usize = 12;

/// The results of a program on one device.
pub struct Run {
    /// Each operation, the numbers of its operands, and its result: the numbers of its batches, or its error.
    pub steps: Vec<Step>,
    /// Every batch of the program, downloaded at the end.
    pub batches: Vec<Batch>,
}

pub struct Step {
    op: Op,
    operands: Vec<usize>,
    results: Result<Range<usize>, Error>,
}

impl Step {
    /// The operation's name.
    pub fn name(&self) -> String {
        let text = match &self.op {
            Op::Unary(Unary::Created(made)) => return made.name.to_owned(),
            Op::Unary(op) => format!("{op:?}"),
            Op::Binary(op, _) => format!("{op:?}"),
            Op::Whole(op) => format!("{op:?}"),
            Op::Entries(op, _) => format!("Entries{op:?}"),
            Op::Gather(..) => "Gather".to_owned(),
            Op::Sparse(..) => "Sparse".to_owned(),
            Op::Sampled(..) => "Sampled".to_owned(),
            Op::Values(values) => return values.name(),
            Op::Image(op) => format!("{op:?}"),
        };
        let end = text.find(|c: char| !c.is_alphanumeric());
        text[..end.unwrap_or(text.len())].to_owned()
    }

    /// The numbers of its operands.
    pub fn operands(&self) -> impl Iterator<Item = usize> {
        self.operands.iter().copied()
    }

    /// Its error, if any.
    pub fn error(&self) -> Option<Error> {
        self.results.clone().err()
    }

    /// The numbers of its results; `None` for an error.
    pub fn results(&self) -> Option<Range<usize>> {
        self.results.clone().ok()
    }
}

/// Runs the program that these bytes encode. An operation that returns an error counts as a step, too.
pub fn run(bytes: &[u8], device: &Device) -> Run {
    let uploaded = |batch: Batch| batch.upload(device);
    let all = |_: &str| true;
    let (steps, values) = execute(bytes, STEPS, device, uploaded, all).expect("a small batch");
    let batches = values
        .iter()
        .map(|value| value.download().expect("what was computed can be read"))
        .collect();
    Run { steps, batches }
}

/// The same with at most `most` operations, with operands that `given` makes of the program's batches, and without
/// operations that `allowed` rejects by name. Returns all values.
pub fn execute(
    bytes: &[u8],
    most: usize,
    device: &Device,
    given: impl FnMut(Batch) -> Result<Value, Error>,
    allowed: impl Fn(&str) -> bool,
) -> Result<(Vec<Step>, Vec<Value>), Error> {
    let mut bytes = bytes::Bytes::new(bytes);
    let batches: Vec<Batch> = (0..2 + bytes.below(3))
        .map(|_| decode::batch(&mut bytes))
        .collect();
    let mut values: Vec<Value> = batches.into_iter().map(given).collect::<Result<_, _>>()?;
    let mut steps = Vec::new();
    while steps.len() < most && !bytes.is_empty() {
        let layouts: Vec<_> = values.iter().map(Value::kind_and_layout).collect();
        let Some((op, operands)) = decode::step(&mut bytes, &layouts) else {
            continue;
        };
        let mut step = Step {
            op,
            operands,
            results: Ok(0..0),
        };
        if !allowed(&step.name()) {
            continue;
        }
        let outcome = {
            let operands: Vec<&Value> = step.operands.iter().map(|&at| &values[at]).collect();
            step.op.apply(device, &operands)
        };
        step.results = outcome.map(|results| {
            let from = values.len();
            values.extend(results);
            from..values.len()
        });
        steps.push(step);
    }
    Ok((steps, values))
}
