//! Records a program's schedule: its dispatches with bind groups and parameters made once.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::Gpu;
use super::errors::caught;
use super::grid::fold;
use super::pipelines::Pipeline;
use super::pool::{GpuBuffer, bound_of};
use super::recorder::{Bind, check_computed};
use super::run::{Bound, share};
use crate::plan::{Access, Dispatch, Memory, Param, Schedule, Step};
use crate::{Error, Result, host};

/// The bind groups of the last few sets of external buffers are kept, so that runs that alternate between batches and
/// outputs make no new ones.
const SETS: usize = 4;

/// A buffer outside the arena, and where a tensor begins in it, counted in units of its type.
pub(crate) struct GpuExternal {
    pub buffer: Arc<GpuBuffer>,
    pub base: u32,
}

/// What a device keeps of a schedule: everything that does not change from run to run.
pub(crate) struct Replay {
    dispatches: Vec<Planned>,
    /// The parameter blocks of all dispatches.
    params: Arc<GpuBuffer>,
    /// Parameters that follow from where an input begins in its buffer.
    patches: Vec<Patch>,
    /// The first values of the inputs that `params` was last written for.
    bases: Vec<u32>,
    /// Bind groups over the arena and metadata only, by dispatch.
    fixed: Vec<Option<wgpu::BindGroup>>,
    /// Bind groups over external buffers, most recently used last.
    sets: Vec<Set>,
    /// The identities of the slabs that `fixed` and `sets` bind. A plan that does not run keeps no slab that the frame
    /// has replaced.
    slabs: Vec<u64>,
    /// The bind groups made so far.
    pub bind_groups: u64,
}

/// Identities and bound sizes of all external buffers, and the bind groups of the dispatches that use any.
struct Set {
    key: Vec<(u64, u64)>,
    groups: Vec<Option<wgpu::BindGroup>>,
    /// The outputs, without which the set is useless, and the buffers that the application holds, which the set must
    /// not keep alive.
    held: Vec<Weak<GpuBuffer>>,
}

struct Planned {
    step: usize,
    op: &'static str,
    pipeline: Arc<Pipeline>,
    slots: Vec<Binding>,
    /// The parameter block and the grid of each part: a long dispatch is split.
    parts: Vec<(u32, (u32, u32))>,
}

impl Planned {
    fn is_external(&self) -> bool {
        let external = |slot: &Binding| matches!(slot, Binding::External(_));
        self.slots.iter().any(external)
    }

    /// Metadata, work lists and tables.
    fn own(&self) -> impl Iterator<Item = &GpuBuffer> {
        self.slots.iter().filter_map(|slot| match slot {
            Binding::Own(buffer) => Some(buffer.as_ref()),
            _ => None,
        })
    }
}

enum Binding {
    Slab {
        slab: usize,
        offset: u64,
        bytes: u64,
    },
    External(usize),
    /// Metadata, work lists and tables.
    Own(Arc<GpuBuffer>),
}

/// A word of `params`: the base of external buffer `external` plus `base`, halved for pairs.
struct Patch {
    at: u64,
    external: usize,
    base: u32,
    pairs: bool,
}

impl Gpu {
    /// The most bytes of a slab.
    pub(crate) fn largest_slab(&self) -> u64 {
        self.pool.largest() & !255
    }

    /// Allocates a slab of the arena.
    pub(crate) fn slab(&self, op: &'static str, bytes: u64) -> Result<Arc<GpuBuffer>> {
        self.allocate(op, bytes / 4)
    }

    /// Compiles kernels, copies metadata to the device and writes parameters. Records nothing but the copies.
    pub(crate) fn prepare(&self, op: &'static str, schedule: &Schedule) -> Result<Replay> {
        self.health.check(op)?;
        let stride = self.recorder().param_stride() as usize / 4;
        let mut dispatches = host::room(op, schedule.steps.len())?;
        let mut patches = Vec::new();
        let mut params: Vec<u32> = Vec::new();
        for (at, step) in schedule.steps.iter().enumerate() {
            let Some(launch) = step.launch() else {
                continue;
            };
            let input = |i: usize| &step.operands[i].layout;
            let all = self.ready(launch, &step.plan.prepared, input)?;
            let all = launch.dispatches.iter().zip(all);
            for (dispatch, ready) in all.filter(|(dispatch, _)| dispatch.groups > 0) {
                let mut planned = Planned {
                    step: at,
                    op: launch.op,
                    pipeline: ready.pipeline.clone(),
                    slots: self.bindings(launch.op, step, &ready.slots)?,
                    parts: Vec::new(),
                };
                let share = share(dispatch.groups, dispatch.cost, self.budget());
                let mut first = 0;
                while first < dispatch.groups {
                    let limit = self.limits.workgroups_per_dimension;
                    let (x, y) = fold(share.min(dispatch.groups - first), limit);
                    let offset = params.len();
                    host::reserve(op, &mut params, stride)?;
                    params.extend([first, dispatch.groups]);
                    block(step, dispatch, &mut params, &mut patches);
                    params.resize(offset + stride, 0);
                    planned.parts.push((4 * offset as u32, (x, y)));
                    first = first.saturating_add(x.saturating_mul(y));
                }
                dispatches.push(planned);
            }
        }
        let fixed = dispatches.iter().map(|_| None).collect();
        Ok(Replay {
            dispatches,
            params: self.upload_parts(op, &[bytemuck::cast_slice(&params)])?,
            patches,
            bases: vec![0; schedule.externals],
            fixed,
            sets: Vec::new(),
            slabs: Vec::new(),
            bind_groups: 0,
        })
    }

    fn bindings(&self, op: &'static str, step: &Step, slots: &[Bound]) -> Result<Vec<Binding>> {
        let place = |memory: Memory| match memory {
            Memory::Slab {
                slab,
                offset,
                words,
            } => Binding::Slab {
                slab,
                offset,
                bytes: bound_of(words),
            },
            Memory::External(i) => Binding::External(i),
        };
        let mut all = host::room(op, slots.len())?;
        for slot in slots {
            all.push(match slot {
                Bound::Input(i) => match step.operands[*i].memory {
                    Some(memory) => place(memory),
                    None => return Err(Error::gpu(op, "a kernel reads an operand without values")),
                },
                Bound::Output(i) => place(step.results[*i]),
                Bound::Scratch(i) => place(step.scratch[*i]),
                Bound::InputMeta(copied, i) => {
                    Binding::Own(self.meta(op, copied, &step.operands[*i].layout)?)
                }
                Bound::Meta(copied, layout) => Binding::Own(self.meta(op, copied, layout)?),
                Bound::PlanBuffer(copied, words) => Binding::Own(self.words(op, copied, words)?),
                Bound::Table(copied, table) => Binding::Own(self.table(op, copied, table)?),
            });
        }
        Ok(all)
    }

    /// Records a run.
    pub(crate) fn replay(
        &self,
        op: &'static str,
        schedule: &Schedule,
        replay: &mut Replay,
        slabs: &[Arc<GpuBuffer>],
        externals: &[GpuExternal],
    ) -> Result<()> {
        self.health.check(op)?;
        let machine = self.machine();
        let lost = |buffer: &GpuBuffer| self.health.failure(buffer.written()).is_some();
        let own = replay.dispatches.iter().flat_map(Planned::own);
        if own.chain([&*replay.params]).any(lost) {
            *replay = self.prepare(op, schedule)?;
        }
        // The application may destroy its buffers at any time, and then only this work may fail.
        let lent: Vec<&GpuBuffer> = externals
            .iter()
            .map(|external| external.buffer.as_ref())
            .filter(|buffer| buffer.is_shared())
            .collect();
        replay.rebind(slabs);
        self.rebase(op, replay, externals)?;
        let set = self.bind(op, replay, slabs, (schedule.given, externals));
        let set = set.map_err(|e| self.recorder().blamed(&machine, op, &lent, e))?;
        // Locked throughout the run, so that no other thread records work between its dispatches: a submission that the
        // application can make fail contains this run alone.
        let mut recorder = self.recorder();
        for external in externals {
            check_computed(&machine, op, &[&external.buffer])?;
        }
        for buffer in replay.dispatches.iter().flat_map(Planned::own) {
            check_computed(&machine, op, &[buffer])?;
        }
        if !lent.is_empty() {
            recorder.submit(&machine, op)?;
        }
        let mut at = usize::MAX;
        for (i, planned) in replay.dispatches.iter().enumerate() {
            if self.poison && planned.step != at {
                at = planned.step;
                drop(recorder);
                self.poison_results(op, &schedule.steps[at], slabs, externals)?;
                recorder = self.recorder();
            }
            let group = match &replay.fixed[i] {
                Some(group) => Some(group),
                None => replay.sets.get(set).and_then(|set| set.groups[i].as_ref()),
            };
            let Some(group) = group else {
                return Err(Error::gpu(op, "a dispatch has no bind group"));
            };
            for &(offset, grid) in &planned.parts {
                let what = (planned.op, planned.pipeline.as_ref(), group);
                recorder.encode(&machine, what, offset, grid)?;
                if planned.parts.len() > 1 && lent.is_empty() {
                    recorder.submit(&machine, op)?;
                } else if planned.parts.len() > 1 {
                    recorder.submit_alone(&machine, op, &lent)?;
                }
            }
            let number = recorder.number();
            for (access, slot) in planned.pipeline.access.iter().zip(&planned.slots) {
                if let (Access::Write, Binding::External(i)) = (access, slot) {
                    externals[*i]
                        .buffer
                        .written
                        .store(number, Ordering::Relaxed);
                }
            }
        }
        if !lent.is_empty() {
            recorder.submit_alone(&machine, op, &lent)?;
        }
        Ok(())
    }

    /// Writes the parameters that depend on where inputs begin, if they begin elsewhere than before.
    fn rebase(
        &self,
        op: &'static str,
        replay: &mut Replay,
        externals: &[GpuExternal],
    ) -> Result<()> {
        let moved = |i: usize| replay.bases[i] != externals[i].base;
        if !replay.patches.iter().any(|patch| moved(patch.external)) {
            return Ok(());
        }
        // Copied in order with everything else, so recorded runs of this plan still read the old parameters.
        for patch in replay.patches.iter().filter(|patch| moved(patch.external)) {
            let base = externals[patch.external].base + patch.base;
            let word = if patch.pairs { base / 2 } else { base };
            let written = self.write(op, &replay.params, patch.at, bytemuck::bytes_of(&word));
            if let Err(error) = written {
                // Some may have been written. No tensor begins here, so the next run writes them all.
                replay.bases.fill(u32::MAX);
                return Err(error);
            }
        }
        for (base, external) in replay.bases.iter_mut().zip(externals) {
            *base = external.base;
        }
        Ok(())
    }

    /// Makes the missing bind groups. Returns the index of the set for these external buffers.
    fn bind(
        &self,
        op: &'static str,
        replay: &mut Replay,
        slabs: &[Arc<GpuBuffer>],
        (given, externals): (usize, &[GpuExternal]),
    ) -> Result<usize> {
        replay.sets.retain(Set::is_alive);
        let key = || externals.iter().map(|e| (e.buffer.id, e.buffer.bound));
        let known = replay
            .sets
            .iter()
            .position(|set| set.key.iter().copied().eq(key()));
        let machine = self.machine();
        if known.is_none() || replay.fixed.iter().any(Option::is_none) {
            let mut of_set = Vec::with_capacity(replay.dispatches.len());
            let mut of_fixed = replay.fixed.clone();
            let mut made = 0;
            caught(&self.device, op, || {
                for (planned, fixed) in replay.dispatches.iter().zip(&mut of_fixed) {
                    let external = planned.is_external();
                    if (external && known.is_some()) || (!external && fixed.is_some()) {
                        of_set.push(None);
                        continue;
                    }
                    let slots = planned.slots.iter().map(|slot| match slot {
                        Binding::Slab {
                            slab,
                            offset,
                            bytes,
                        } => Bind {
                            buffer: &slabs[*slab].raw,
                            offset: *offset,
                            bytes: *bytes,
                        },
                        Binding::External(i) => Bind::whole(&externals[*i].buffer),
                        Binding::Own(buffer) => Bind::whole(buffer),
                    });
                    let group = machine.bind_group(&planned.pipeline, &replay.params.raw, slots);
                    made += 1;
                    match external {
                        true => of_set.push(Some(group)),
                        false => {
                            *fixed = Some(group);
                            of_set.push(None);
                        }
                    }
                }
            })?;
            // After an error the new ones are invalid.
            replay.fixed = of_fixed;
            replay.bind_groups += made;
            if known.is_none() {
                if replay.sets.len() == SETS {
                    replay.sets.remove(0);
                }
                replay.sets.push(Set {
                    key: key().collect(),
                    groups: of_set,
                    held: externals
                        .iter()
                        .enumerate()
                        .filter(|(i, external)| *i >= given || external.buffer.is_shared())
                        .map(|(_, external)| Arc::downgrade(&external.buffer))
                        .collect(),
                });
            }
        }
        if let Some(at) = known {
            let set = replay.sets.remove(at);
            replay.sets.push(set);
        }
        Ok(replay.sets.len() - 1)
    }

    /// Fills what a step writes with NaN, so that a value that should be dead is not read.
    fn poison_results(
        &self,
        op: &'static str,
        step: &Step,
        slabs: &[Arc<GpuBuffer>],
        externals: &[GpuExternal],
    ) -> Result<()> {
        // What a step changes in place is not its own.
        let outputs = step.launch().map_or(&[][..], |launch| &launch.outputs);
        let all = step.results.iter().zip(outputs);
        let results = all.filter(|(_, output)| output.over.is_none());
        for memory in results.map(|(memory, _)| memory).chain(&step.scratch) {
            match *memory {
                Memory::Slab {
                    slab,
                    offset,
                    words,
                } => self.poison_range(op, &slabs[slab], offset, bound_of(words))?,
                Memory::External(i) => self.poison_buffer(op, &externals[i].buffer)?,
            }
        }
        Ok(())
    }
}

impl Replay {
    /// Forgets the bind groups of slabs that were replaced by larger ones.
    fn rebind(&mut self, slabs: &[Arc<GpuBuffer>]) {
        let all = slabs.iter().map(|slab| slab.id);
        if all.clone().eq(self.slabs.iter().copied()) {
            return;
        }
        self.slabs = all.collect();
        self.sets.clear();
        self.fixed.fill_with(|| None);
    }
}

impl Set {
    fn is_alive(&self) -> bool {
        self.held.iter().all(|buffer| buffer.strong_count() > 0)
    }
}

/// Appends the parameters of a dispatch. Words that depend on the base of an external buffer are written for the base
/// 0, and noted.
fn block(step: &Step, dispatch: &Dispatch, params: &mut Vec<u32>, patches: &mut Vec<Patch>) {
    for param in &dispatch.params {
        let at = 4 * params.len() as u64;
        let mut base = |i: usize, pairs: bool| {
            let operand = &step.operands[i];
            let base = operand.base as u32;
            if let Some(Memory::External(external)) = operand.memory {
                patches.push(Patch {
                    at,
                    external,
                    base,
                    pairs,
                });
            }
            if pairs { base / 2 } else { base }
        };
        let word = match *param {
            Param::U32(value) => value,
            Param::InputBase(i) => base(i, false),
            Param::InputPairBase(i) => base(i, true),
            Param::Scalar(i) => step.scalars[i],
        };
        params.push(word);
    }
}
