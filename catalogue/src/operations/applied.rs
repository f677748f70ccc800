//! Operations on tensors that are on a device already.

use serde_json::{Map, Value};
use vsla::Device;

use super::{Answer, Operation, Task};
use crate::failure::{Failure, Result};
use crate::held::{Args, Held};
use crate::request::{Options, Pairs};

impl Operation {
    /// Runs it on tensors of the device, or of a program while it is recorded; with their values, where these are
    /// known, for the few operations that need them on the host.
    pub fn apply(
        &'static self,
        operands: &[(&Held, Option<&crate::Batch>)],
        options: &Map<String, Value>,
        device: &Device,
        max_values: u64,
    ) -> Result<Answer> {
        let options = Options::unchecked(options.clone()).of(self.options)?;
        let dtype = match operands.first() {
            Some((held, _)) => held.dtype(),
            None => options.dtype("dtype", self.dtype)?,
        };
        if !self.types().contains(&dtype) {
            return Err(Failure::dtype(self.types(), dtype));
        }
        let Some(args) = Args::of(dtype, operands) else {
            return Err(Failure::request("the arguments are of several types"));
        };
        let task = Task {
            operation: self,
            args,
            options,
        };
        task.run(max_values, &mut || Ok(device.clone()))
    }
}

/// The pairs that the option pairing makes of batches of these sizes; `None` without it.
pub fn pairs(
    options: &Map<String, Value>,
    left: usize,
    right: usize,
) -> Option<Vec<(usize, usize)>> {
    let pairs: Option<Pairs> = Options::unchecked(options.clone()).pairs().ok()?;
    Some(pairs?.of(left, right))
}
