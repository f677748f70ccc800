//! The single path of every operation: checks the operands, finds or makes a plan, and runs it.

use std::sync::Arc;

use super::device::Backend;
use super::operand::Operand;
use super::trace::Trace;
use super::{Device, Storage, Tensor};
use crate::cpu;
use crate::error::Named;
#[cfg(feature = "gpu")]
use crate::gpu::GpuInput;
use crate::ops::{Op, PlanRequest};
use crate::plan::{Ask, Attachment, Launch, OutputLayout, Plan, PlanKind, Prepared, check_work};
use crate::ragged::{DType, Layout, Pairs, Scalar};
use crate::{Error, Result, host};

/// The operation's name in errors about operands in general.
const OP: &str = "operands";

/// A result without its element type.
pub(super) struct Value {
    storage: Storage,
    base: usize,
    layout: Layout,
}

impl Value {
    pub(super) fn typed<T: Scalar>(self, device: &Device) -> Tensor<T> {
        Tensor::new(device, self.storage, self.base, self.layout)
    }
}

/// An operation on operands.
pub(super) struct Call<'a> {
    pub device: &'a Device,
    pub op: Op,
    pub operands: &'a [Operand<'a>],
    /// The pairs of an operation that has two paired operands.
    pub pairs: Option<&'a Pairs>,
    /// The scalar parameters of the call.
    pub scalars: &'a [u32],
    /// The memory of the operands that the call changes in place, in their order; `None` while recording. It must have
    /// no other owner, so these operands themselves carry only layouts.
    pub changed: Option<[&'a mut Storage; 2]>,
}

impl<'a> Call<'a> {
    pub(super) fn new(
        device: &'a Device,
        op: impl Into<Op>,
        operands: &'a [Operand<'a>],
    ) -> Call<'a> {
        Call {
            device,
            op: op.into(),
            operands,
            pairs: None,
            scalars: &[],
            changed: None,
        }
    }

    /// Runs the call and returns its only result.
    pub(super) fn one<T: Scalar>(self) -> Result<Tensor<T>> {
        Ok(self.run()?.0)
    }

    /// Runs the call and returns its only result, with the attached layout.
    pub(super) fn with_layout<T: Scalar>(self) -> Result<(Tensor<T>, Layout)> {
        let operands = self.operands;
        let (result, plan) = self.run()?;
        let layout = match &plan.attached {
            Attachment::Layout(layout) => layout.get(|i| operands[i].layout).clone(),
            _ => result.layout().clone(),
        };
        Ok((result, layout))
    }

    /// Runs the call and returns its only result, with the plan that produced it.
    pub(super) fn run<T: Scalar>(self) -> Result<(Tensor<T>, Arc<Plan>)> {
        let device = self.device;
        let (values, plan) = self.values(&[T::DTYPE])?;
        match <[_; 1]>::try_from(values) {
            Ok([value]) => Ok((value.typed(device), plan)),
            Err(other) => Err(wrong(&plan, "one", other.len())),
        }
    }

    /// Runs the call and returns both results.
    pub(super) fn two<T: Scalar, U: Scalar>(self) -> Result<(Tensor<T>, Tensor<U>)> {
        let device = self.device;
        let (values, plan) = self.values(&[T::DTYPE, U::DTYPE])?;
        match <[_; 2]>::try_from(values) {
            Ok([first, second]) => Ok((first.typed(device), second.typed(device))),
            Err(other) => Err(wrong(&plan, "two", other.len())),
        }
    }

    /// Runs the call and returns its results, without those written over operands in place. A recorded call returns
    /// all.
    pub(super) fn values(mut self, dtypes: &[DType]) -> Result<(Vec<Value>, Arc<Plan>)> {
        let changed = self.changed.take();
        let of_operands = self.operands.iter().map(|x| match x.shapes_only {
            // Nothing is read.
            true => DType::U32,
            false => x.dtype,
        });
        if of_operands
            .clone()
            .chain(dtypes.iter().copied())
            .any(|dtype| dtype == DType::U8)
        {
            self.op = self.op.on_bytes(of_operands, dtypes);
        }
        let Call {
            device,
            operands,
            scalars,
            pairs,
            ..
        } = self;
        let recorded = Trace::concerns(device, operands).then(|| self.op.clone());
        let plan = self.plan()?;
        if let Some(op) = recorded {
            let trace = Trace::of(operands).named(plan.name())?;
            if let PlanKind::Launch(launch) = &plan.kind {
                for operand in operands {
                    device.check_same(operand.device).named(launch.op)?;
                }
                check_work(None, launch.work, device.allowed()).named(launch.op)?;
                launch.check_sizes(|i| operands[i].layout, device.binding())?;
            }
            let results = trace.record(op, &plan, operands, pairs, scalars, dtypes)?;
            let value = |(storage, base, layout)| Value {
                storage,
                base,
                layout,
            };
            return Ok((results.into_iter().map(value).collect(), plan));
        }
        let values = match &plan.kind {
            PlanKind::View { layout, skipped } => view(operands, layout, *skipped),
            PlanKind::Launch(launch) => {
                for operand in operands {
                    device.check_same(operand.device).named(launch.op)?;
                }
                let _paused = Trace::pause();
                launched(device, launch, &plan.prepared, operands, changed, scalars)?
            }
        };
        Ok((values, plan))
    }

    /// The device's cached plan, or a new one.
    fn plan(self) -> Result<Arc<Plan>> {
        // Most operations have one or two operands: no allocation for these.
        match self.operands {
            [x] => self.plan_for(&[x.layout]),
            [x, y] => self.plan_for(&[x.layout, y.layout]),
            all => {
                let mut inputs = host::room(all.len()).named(OP)?;
                inputs.extend(all.iter().map(|operand| operand.layout));
                self.plan_for(&inputs)
            }
        }
    }

    fn plan_for(self, inputs: &[&Layout]) -> Result<Arc<Plan>> {
        planned(self.device, self.op, inputs, self.pairs)
    }
}

/// The device's cached plan of an operation, or a new one.
pub(crate) fn planned(
    device: &Device,
    op: impl Into<Op>,
    inputs: &[&Layout],
    pairs: Option<&Pairs>,
) -> Result<Arc<Plan>> {
    let op = op.into();
    let request = PlanRequest {
        inputs,
        pairs,
        device: device.traits(),
    };
    if !op.is_cached() {
        let mut plan = op.plan(&request)?;
        plan.settle(inputs);
        return Ok(Arc::new(plan));
    }
    let ask = Ask {
        op,
        inputs,
        pairs,
        costs: request.device.costs.key(),
    };
    device.plans().get_or_make(ask, |op| op.plan(&request))
}

/// Plans an operation and checks its work and sizes, as its run does: for those that copy operands before they run.
pub(super) fn check_planned(device: &Device, op: impl Into<Op>, inputs: &[&Layout]) -> Result<()> {
    let plan = planned(device, op, inputs, None)?;
    let PlanKind::Launch(launch) = &plan.kind else {
        return Ok(());
    };
    check_work(None, launch.work, device.allowed()).named(launch.op)?;
    launch.check_sizes(|i| inputs[i], device.binding())
}

fn wrong(plan: &Plan, expected: &str, got: usize) -> Error {
    Error::gpu(
        plan.name(),
        format!("{got} results, but expected {expected}"),
    )
}

fn view(operands: &[Operand<'_>], layout: &OutputLayout, skipped: usize) -> Vec<Value> {
    let viewed = |x: &Operand<'_>| Value {
        storage: x.storage.clone(),
        base: x.base + skipped * x.unit,
        layout: layout.get(|i| operands[i].layout).clone(),
    };
    operands.first().map(viewed).into_iter().collect()
}

/// Runs a launch on the device.
#[cfg_attr(
    not(feature = "gpu"),
    expect(unused_variables, reason = "only a GPU prepares launches")
)]
fn launched(
    device: &Device,
    launch: &Launch,
    prepared: &Prepared,
    operands: &[Operand<'_>],
    changed: Option<[&mut Storage; 2]>,
    scalars: &[u32],
) -> Result<Vec<Value>> {
    check_work(None, launch.work, device.allowed()).named(launch.op)?;
    let elsewhere = || Error::device_mismatch(device.name(), "another device").named(launch.op);
    match device.backend() {
        Backend::Cpu(cpu) => {
            let mut inputs = host::room(operands.len()).named(launch.op)?;
            for operand in operands {
                let Storage::Cpu(buffer) = operand.storage else {
                    return Err(elsewhere());
                };
                inputs.push(cpu::Operand {
                    buffer,
                    bytes: operand.bytes.clone(),
                    layout: operand.layout,
                });
            }
            let mut changed_words = Vec::new();
            for storage in changed.into_iter().flatten() {
                let Storage::Cpu(buffer) = storage else {
                    return Err(elsewhere());
                };
                changed_words.extend(Arc::get_mut(buffer));
            }
            let results = cpu
                .run(launch, &inputs, &mut changed_words, scalars)
                .map_err(|error| error.or_named(launch.op))?;
            let value = |(buffer, layout)| Value {
                storage: Storage::Cpu(buffer),
                base: 0,
                layout,
            };
            Ok(results.into_iter().map(value).collect())
        }
        #[cfg(feature = "gpu")]
        Backend::Gpu(gpu) => {
            let mut inputs = host::room(operands.len()).named(launch.op)?;
            for operand in operands {
                let Storage::Gpu(buffer) = operand.storage else {
                    return Err(elsewhere());
                };
                inputs.push(GpuInput {
                    buffer,
                    // The base counts at least bytes, and a buffer has fewer than 2³² of them, because its size is
                    // within the binding limit.
                    base: operand.base as u32,
                    layout: operand.layout,
                });
            }
            let over = launch.outputs.iter().filter_map(|output| output.over);
            for (i, storage) in over.zip(changed.iter().flatten()) {
                let Storage::Gpu(buffer) = &**storage else {
                    return Err(elsewhere());
                };
                inputs[i].buffer = buffer;
            }
            let results = gpu.run(launch, prepared, &inputs, scalars)?;
            let value = |(buffer, layout)| Value {
                storage: Storage::Gpu(buffer),
                base: 0,
                layout,
            };
            Ok(results.into_iter().map(value).collect())
        }
    }
}

impl<T: Scalar> Tensor<T> {
    /// Runs an operation on this tensor alone.
    pub(crate) fn unary<U: Scalar>(&self, op: impl Into<Op>, scalars: &[u32]) -> Result<Tensor<U>> {
        Call {
            scalars,
            ..Call::new(&self.device, op, &[self.operand()])
        }
        .one()
    }

    /// Runs an operation on this tensor and a layout.
    pub(crate) fn run_with_layout<U: Scalar>(
        &self,
        op: impl Into<Op>,
        layout: &Layout,
    ) -> Result<Tensor<U>> {
        Call::new(&self.device, op, &[self.operand(), self.shapes(layout)]).one()
    }
}

#[cfg(feature = "testing")]
pub(super) mod tests;
