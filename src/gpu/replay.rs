//! Records a program's schedule: its dispatches with bind groups and parameters made once.
//!
//! Ragged batches hardly ever repeat, so what a run needs is divided in two. A `Replay` belongs to one plan: which
//! kernels run, over how many workgroups, and their parameters and lists. A `GpuFrame` belongs to all plans of a
//! program: the memory that kernels bind, and the bind groups. Before a plan runs, its parameters and lists are copied
//! to a buffer of the frame, the *block*, unless they are there already. Every value of the arena and every list has a
//! place there with room for the largest one so far, and the whole room is bound. So the bind groups of a plan whose
//! values and lists fit are those of the plans before.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use hashbrown::DefaultHashBuilder;

use super::Gpu;
use super::frame::GpuFrame;
use super::grid::fold;
use super::groups::{Key, Range};
use super::pipelines::Pipeline;
use super::pool::{GpuBuffer, bound_of};
use super::recorder::check_computed;
use super::run::{Bound, share};
use crate::error::Named;
use crate::plan::{Access, Dispatch, Memory, Param, Schedule, Step};
use crate::ragged::Identity;
use crate::{Error, Result, host};

/// A plan keeps its bind groups for the last few sets of external buffers, so that runs that alternate between batches
/// and outputs look none up.
const SETS: usize = 4;

/// The most bind groups of a generation, or four times those of a plan. Those of many sequences of steps are kept.
const GROUPS: usize = 4096;

/// Longer lists are bound where they lie, so that plans can share them. A bind group costs nothing beside the work that
/// such a list is for.
const LONG: u64 = 256 << 10;

/// A buffer outside the arena, and where a tensor begins in it, counted in units of its type.
pub(crate) struct GpuExternal {
    pub buffer: Arc<GpuBuffer>,
    pub base: u32,
}

/// What a device keeps of a schedule: everything that does not change from run to run.
pub(crate) struct Replay {
    identity: Identity,
    dispatches: Vec<Planned>,
    /// The parameter blocks of all dispatches, and then the lists that are copied to the block.
    data: Arc<GpuBuffer>,
    /// The bytes of the parameter blocks.
    params: u64,
    /// Metadata, work lists and tables.
    lists: Vec<List>,
    /// Parameters that follow from where an input begins in its buffer.
    patches: Vec<Patch>,
    /// The first values of the inputs that `data` was last written for.
    bases: Vec<u32>,
    /// Bind groups of all dispatches, most recently used last.
    sets: Vec<Set>,
}

/// Data that kernels read besides values.
enum List {
    /// Bytes of `data`.
    Part { from: u64, bytes: u64 },
    /// A long list, or a table, which is the same for every plan.
    Own(Arc<GpuBuffer>),
}

/// The bind groups of all dispatches.
struct Set {
    /// Identities, and moves or bound sizes, of the block, the slabs and the external buffers.
    key: Vec<(u64, u64)>,
    groups: Vec<wgpu::BindGroup>,
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

#[derive(Clone, Copy)]
enum Binding {
    Slab {
        slab: usize,
        offset: u64,
        bytes: u64,
    },
    External(usize),
    List(usize),
}

/// A word of the parameters: the base of external buffer `external` plus `base`, halved for pairs.
struct Patch {
    at: u64,
    external: usize,
    base: u32,
    pairs: bool,
}

/// The lists of a schedule while it is prepared.
#[derive(Default)]
struct Lists {
    all: Vec<List>,
    /// The data of those that are parts.
    words: Vec<u32>,
    /// Their numbers, by the identity of their data; of tables, by that of their buffer.
    numbers: HashMap<(bool, u64), usize, DefaultHashBuilder>,
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

    /// Compiles kernels, and copies parameters and lists to the device. Records nothing but the copies.
    pub(crate) fn prepare(&self, op: &'static str, schedule: &Schedule) -> Result<Replay> {
        let stride = self.recorder().param_stride() as usize / 4;
        let mut dispatches = host::room(schedule.steps.len()).named(op)?;
        let mut patches = Vec::new();
        let mut params: Vec<u32> = Vec::new();
        let mut lists = Lists::default();
        let launches = schedule.steps.iter().filter_map(Step::launch);
        let kernels = launches.flat_map(|launch| {
            let dispatches = launch.dispatches.iter();
            dispatches.map(|dispatch| (launch.op, dispatch))
        });
        self.compile(op, kernels)?;
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
                    slots: self.bindings(launch.op, step, &ready.slots, &mut lists)?,
                    parts: Vec::new(),
                };
                let share = share(dispatch.groups, dispatch.cost, self.budget());
                let mut first = 0;
                while first < dispatch.groups {
                    let limit = self.limits.workgroups_per_dimension;
                    let (x, y) = fold(share.min(dispatch.groups - first), limit);
                    let offset = params.len();
                    host::reserve(&mut params, stride).named(op)?;
                    params.extend([first, dispatch.groups]);
                    block(step, dispatch, &mut params, &mut patches);
                    params.resize(offset + stride, 0);
                    planned.parts.push((4 * offset as u32, (x, y)));
                    first = first.saturating_add(x.saturating_mul(y));
                }
                dispatches.push(planned);
            }
        }
        let bytes = 4 * params.len() as u64;
        host::extend(&mut params, lists.words.iter().copied()).named(op)?;
        for list in &mut lists.all {
            if let List::Part { from, .. } = list {
                *from += bytes;
                self.uploads.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(Replay {
            identity: Identity::new(),
            dispatches,
            data: self.upload_parts(op, &[bytemuck::cast_slice(&params)])?,
            params: bytes,
            lists: lists.all,
            patches,
            bases: vec![0; schedule.externals],
            sets: Vec::new(),
        })
    }

    fn bindings(
        &self,
        op: &'static str,
        step: &Step,
        slots: &[Bound],
        lists: &mut Lists,
    ) -> Result<Vec<Binding>> {
        let place = |memory: Memory| match memory {
            Memory::Slab {
                slab,
                offset,
                words,
                room,
            } => Binding::Slab {
                slab,
                offset,
                bytes: match self.pool.is_exact() {
                    true => bound_of(words),
                    false => room,
                },
            },
            Memory::External(i) => Binding::External(i),
        };
        let mut all = host::room(slots.len()).named(op)?;
        for slot in slots {
            all.push(match slot {
                Bound::Input(i) => match step.operands[*i].memory {
                    Some(memory) => place(memory),
                    None => return Err(Error::gpu(op, "a kernel reads an operand without values")),
                },
                Bound::Output(i) => place(step.results[*i]),
                Bound::Scratch(i) => place(step.scratch[*i]),
                Bound::InputMeta(copied, i) => {
                    let layout = &step.operands[*i].layout;
                    let parts = [layout.offsets().as_slice(), layout.extents()];
                    let own = || self.meta(op, copied, layout);
                    Binding::List(lists.number(op, layout.identity(), parts, own)?)
                }
                Bound::Meta(copied, layout) => {
                    let parts = [layout.offsets().as_slice(), layout.extents()];
                    let own = || self.meta(op, copied, layout);
                    Binding::List(lists.number(op, layout.identity(), parts, own)?)
                }
                Bound::PlanBuffer(copied, words) => {
                    let own = || self.words(op, copied, words);
                    Binding::List(lists.number(op, words.identity(), [words.data(), &[]], own)?)
                }
                Bound::Table(copied, table) => {
                    Binding::List(lists.table(self.table(op, copied, table)?))
                }
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
        frame: &mut GpuFrame,
        externals: &[GpuExternal],
    ) -> Result<()> {
        self.health.check(op)?;
        let machine = self.machine();
        let lost = |buffer: &GpuBuffer| self.health.failure(buffer.written()).is_some();
        if replay.buffers().any(lost) {
            *replay = self.prepare(op, schedule)?;
        }
        // The application may destroy its buffers at any time, and then only this work may fail.
        let lent: Vec<&GpuBuffer> = externals
            .iter()
            .map(|external| external.buffer.as_ref())
            .filter(|buffer| buffer.is_shared())
            .collect();
        let moved = self.rebase(op, replay, externals);
        // Until the block is filled, it does not hold them.
        let holds = frame.holds == replay.identity.id();
        if !matches!(moved, Ok(false)) {
            frame.holds = 0;
        }
        let moved = moved?;
        let set = self.bind(op, replay, frame, (schedule, externals));
        let set = set.map_err(|e| self.recorder().blamed(&machine, op, &lent, e))?;
        let block = frame.block()?.clone();
        let holds = holds && !lost(&block);
        if self.poison && !holds {
            self.poison_buffer(op, &block)?;
        }
        // Locked throughout the run, so that no other thread records work between its dispatches: a submission that the
        // application can make fail contains this run alone.
        let mut recorder = self.recorder();
        for external in externals {
            check_computed(&machine, op, &[&external.buffer])?;
        }
        for buffer in replay.buffers() {
            check_computed(&machine, op, &[buffer])?;
        }
        if moved || !holds {
            let parts = replay.parts().take(if holds { 1 } else { usize::MAX });
            let data = (&*replay.data, replay.identity.id());
            frame.fill((&mut recorder, &machine, op), data, parts)?;
        }
        if !lent.is_empty() {
            recorder.submit(&machine, op)?;
        }
        let mut at = usize::MAX;
        for (planned, group) in replay.dispatches.iter().zip(&replay.sets[set].groups) {
            if self.poison && planned.step != at {
                at = planned.step;
                drop(recorder);
                self.poison_results(op, &schedule.steps[at], &frame.slabs, externals)?;
                recorder = self.recorder();
            }
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

    /// Writes the parameters that depend on where inputs begin, if they begin elsewhere than before. Returns whether
    /// they do.
    fn rebase(
        &self,
        op: &'static str,
        replay: &mut Replay,
        externals: &[GpuExternal],
    ) -> Result<bool> {
        let moved = |i: usize| replay.bases[i] != externals[i].base;
        if !replay.patches.iter().any(|patch| moved(patch.external)) {
            return Ok(false);
        }
        // Copied in order with everything else, so recorded runs of this plan still read the old parameters.
        for patch in replay.patches.iter().filter(|patch| moved(patch.external)) {
            let base = externals[patch.external].base + patch.base;
            let word = if patch.pairs { base / 2 } else { base };
            let written = self.write(op, &replay.data, patch.at, bytemuck::bytes_of(&word));
            if let Err(error) = written {
                // Some may have been written. No tensor begins here, so the next run writes them all.
                replay.bases.fill(u32::MAX);
                return Err(error);
            }
        }
        for (base, external) in replay.bases.iter_mut().zip(externals) {
            *base = external.base;
        }
        Ok(true)
    }

    /// Finds or makes the bind groups of a run. Returns the index of their set.
    fn bind(
        &self,
        op: &'static str,
        replay: &mut Replay,
        frame: &mut GpuFrame,
        (schedule, externals): (&Schedule, &[GpuExternal]),
    ) -> Result<usize> {
        frame.groups.forget(&self.pool);
        let block = frame.block()?.clone();
        let GpuFrame {
            slabs,
            rooms,
            moved,
            groups,
            made,
            ..
        } = frame;
        // A set over a slab or block that was replaced would keep it alive.
        let own = std::iter::once((block.id, *moved));
        let own = own.chain(slabs.iter().map(|slab| (slab.id, slab.bound)));
        let is_current = |set: &Set| {
            own.clone()
                .eq(set.key.iter().copied().take(1 + slabs.len()))
        };
        replay.sets.retain(|set| set.is_alive() && is_current(set));
        let outside = externals.iter().map(|e| (e.buffer.id, e.buffer.bound));
        let key = own.chain(outside);
        let is_it = |set: &Set| key.clone().eq(set.key.iter().copied());
        if let Some(at) = replay.sets.iter().position(is_it) {
            let set = replay.sets.remove(at);
            replay.sets.push(set);
            return Ok(replay.sets.len() - 1);
        }
        let range = |slot: &Binding| match *slot {
            Binding::Slab {
                slab,
                offset,
                bytes,
            } => Range {
                buffer: &slabs[slab],
                offset,
                bytes,
            },
            Binding::External(i) => Range::whole(&externals[i].buffer),
            Binding::List(i) => match &replay.lists[i] {
                List::Own(buffer) => Range::whole(buffer),
                List::Part { bytes, .. } => Range {
                    buffer: &block,
                    offset: rooms[1 + i].offset,
                    bytes: match self.pool.is_exact() {
                        true => bound_of(bytes / 4),
                        false => rooms[1 + i].bytes,
                    },
                },
            },
        };
        let params = Range {
            buffer: &block,
            offset: 0,
            bytes: rooms[0].bytes,
        };
        let is_outside = |slot: &Binding| match slot {
            Binding::External(i) => *i < schedule.inputs || *i >= schedule.given,
            _ => false,
        };
        let machine = self.machine();
        let most = GROUPS.max(4 * replay.dispatches.len());
        let mut all = host::room(replay.dispatches.len()).named(op)?;
        let found = self.health.caught(op, || {
            for planned in &replay.dispatches {
                let ranges = || planned.slots.iter().map(range);
                let key = Key::new(
                    planned.pipeline.access,
                    std::iter::once(params).chain(ranges()),
                );
                let make = || machine.bind_group(&planned.pipeline, &block.raw, ranges());
                let (group, is_new) = groups.get(key, most, make);
                if is_new {
                    made[0] += 1;
                    made[1] += u64::from(!planned.slots.iter().any(is_outside));
                }
                all.push(group);
            }
        });
        if let Err(error) = found {
            // The new ones are invalid.
            groups.clear();
            return Err(error);
        }
        if replay.sets.len() == SETS {
            replay.sets.remove(0);
        }
        let key = host::collect(key).named(op)?;
        replay.sets.push(Set {
            key,
            groups: all,
            held: externals
                .iter()
                .enumerate()
                .filter(|(i, external)| *i >= schedule.given || external.buffer.is_shared())
                .map(|(_, external)| Arc::downgrade(&external.buffer))
                .collect(),
        });
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
                    ..
                } => self.poison_range(op, &slabs[slab], offset, bound_of(words))?,
                Memory::External(i) => self.poison_buffer(op, &externals[i].buffer)?,
            }
        }
        Ok(())
    }
}

impl Lists {
    /// The number of the list with this identity.
    fn number(
        &mut self,
        op: &'static str,
        identity: &Identity,
        parts: [&[u32]; 2],
        own: impl FnOnce() -> Result<Arc<GpuBuffer>>,
    ) -> Result<usize> {
        let place = match self.numbers.entry((false, identity.id())) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(place) => place,
        };
        let bytes: u64 = parts.iter().map(|part| size_of_val(*part) as u64).sum();
        let list = match bytes > LONG {
            true => List::Own(own()?),
            false => List::Part {
                from: 4 * self.words.len() as u64,
                bytes,
            },
        };
        if let List::Part { .. } = list {
            for part in parts {
                host::extend(&mut self.words, part.iter().copied()).named(op)?;
            }
        }
        let number = *place.insert(self.all.len());
        self.all.push(list);
        Ok(number)
    }

    /// The number of a table.
    fn table(&mut self, buffer: Arc<GpuBuffer>) -> usize {
        let all = &mut self.all;
        *self.numbers.entry((true, buffer.id)).or_insert_with(|| {
            all.push(List::Own(buffer));
            all.len() - 1
        })
    }
}

impl Replay {
    /// The sizes of the rooms that it needs in the block: for parameters, then for each list. Bindings are never empty,
    /// and a plan without dispatches has a block, too.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u64> {
        let lists = self.lists.iter().map(|list| match list {
            List::Part { bytes, .. } => (*bytes).max(1),
            List::Own(_) => 0,
        });
        std::iter::once(self.params.max(1)).chain(lists)
    }

    /// The parts of `data` for these rooms, as (begin, bytes).
    fn parts(&self) -> impl Iterator<Item = (u64, u64)> {
        let lists = self.lists.iter().map(|list| match list {
            List::Part { from, bytes } => (*from, *bytes),
            List::Own(_) => (0, 0),
        });
        std::iter::once((0, self.params)).chain(lists)
    }

    /// The buffers that only this library writes.
    fn buffers(&self) -> impl Iterator<Item = &GpuBuffer> {
        let own = self.lists.iter().filter_map(|list| match list {
            List::Own(buffer) => Some(buffer.as_ref()),
            List::Part { .. } => None,
        });
        own.chain([&*self.data])
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
