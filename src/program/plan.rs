//! Plans: programs for certain layouts, ready to run.

use std::fmt;

#[cfg(feature = "gpu")]
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::given::{Changed, Input, Inputs, Lending, Place};
use super::graph::Lowered;
use super::inputs::{HostOutput, HostOutputs, HostValue, Output, Outputs, State, Value, uploaded};
use super::names::{PLAN, RUN};
use super::report::Report;
use super::shared::Shared;
use crate::cpu::{Cpu, CpuBuffer, CpuBuffers, CpuExternal};
use crate::error::Named;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, GpuBuffer, GpuExternal, Replay};
use crate::machine::Wait;
use crate::plan::{Arena, Schedule};
use crate::ragged::Layout;
use crate::tensor::{Backend, Graph, Origin, Storage, Tensor, Trace};
use crate::{Error, Result, host};

/// Sets of output buffers that a plan keeps. A loop that feeds results into the next run holds one set while it writes
/// another.
const SETS: usize = 3;

/// A program planned for inputs of certain layouts. Cheap to clone.
///
/// Runs on several threads take turns on a GPU. On the CPU they run at the same time, each in an arena of its own.
///
/// See the [module](super) for an example.
#[derive(Clone)]
pub struct Plan {
    inner: Arc<Inner>,
}

struct Inner {
    program: Arc<Shared>,
    schedule: Schedule,
    taken: Inputs,
    /// The buffers of constants, and where the roots begin in them: always 0, since bases are relative to the buffer.
    constants: Vec<Storage>,
    /// The words of each result that the program allocates.
    results: Vec<u64>,
    outputs: Vec<Place>,
    /// The data of the report, which is written on request.
    planned: (Lowered, Arena),
    report: OnceLock<Report>,
    state: Mutex<Held>,
}

/// The state that a plan keeps from run to run.
enum Held {
    Cpu {
        results: Vec<Vec<Arc<CpuBuffer>>>,
    },
    #[cfg(feature = "gpu")]
    Gpu {
        replay: Replay,
        results: Vec<Vec<Arc<GpuBuffer>>>,
    },
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({} steps)", self.inner.schedule.steps.len())
    }
}

impl Plan {
    pub(super) fn new(program: &Arc<Shared>, mut graph: Graph) -> Result<Plan> {
        let device = &program.device;
        // The final values of caches are needed, too.
        let visible = graph.outputs.len();
        let latest = graph.caches.iter().flat_map(|cache| cache.latest);
        graph.outputs.extend(latest);
        let lowered = Lowered::new(device, graph, program.passes)?;
        let (arena, grew) = program.frame().fit(device, &lowered.values)?;
        if grew {
            program.count(|counters| counters.growths += 1);
        }
        let schedule = lowered.schedule(&arena);
        let state = match device.backend() {
            Backend::Cpu(_) => Held::Cpu {
                results: Vec::new(),
            },
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                let replay = gpu.prepare(PLAN, &schedule)?;
                if gpu.fit(PLAN, &mut program.frame().gpu, replay.sizes())? && !grew {
                    program.count(|counters| counters.growths += 1);
                }
                Held::Gpu {
                    replay,
                    results: Vec::new(),
                }
            }
        };
        let Lowered { graph, .. } = &lowered;
        let value = |id: &u32| &graph.values[*id as usize];
        let outputs = graph.outputs.iter().map(|id| {
            let recorded = value(id);
            Some(Place {
                dtype: recorded.dtype,
                external: lowered.external(*id)?,
                base: recorded.base,
                layout: recorded.layout.clone(),
            })
        });
        let outputs: Option<Vec<Place>> = outputs.collect();
        let none = || Error::recording("an output has no place").named(PLAN);
        let mut outputs = outputs.ok_or_else(none)?;
        let mut hidden = outputs.drain(visible..);
        let caches = graph.caches.iter().map(|cache| {
            Ok(Changed {
                input: cache.input,
                appended: host::copied(&cache.appended).named(PLAN)?,
                lengths: hidden.nth(2).ok_or_else(none)?,
            })
        });
        let caches = caches.collect::<Result<_>>()?;
        drop(hidden);
        let constant = |id: &u32| match &value(id).origin {
            Origin::Constant(storage) => Some(storage.clone()),
            _ => None,
        };
        let words = |id: &u32| value(id).dtype.words(value(id).layout.total()) as u64;
        let input = |id: &u32| Input {
            dtype: value(id).dtype,
            layout: value(id).layout.clone(),
            align: value(id).align,
        };
        let inputs = graph.inputs.iter().map(input).collect();
        let constants = lowered.constants.iter().filter_map(constant).collect();
        let results = lowered.results.iter().map(words).collect();
        Ok(Plan {
            inner: Arc::new(Inner {
                program: program.clone(),
                taken: Inputs { inputs, caches },
                constants,
                results,
                outputs,
                schedule,
                planned: (lowered, arena),
                report: OnceLock::new(),
                state: Mutex::new(state),
            }),
        })
    }

    /// Describes the plan's steps and its use of memory.
    pub fn report(&self) -> &Report {
        let (lowered, arena) = &self.inner.planned;
        self.inner
            .report
            .get_or_init(|| Report::new(lowered, arena))
    }

    /// The layouts of the inputs that the plan was made for.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &Layout> {
        self.inner.taken.inputs.iter().map(|input| &input.layout)
    }

    /// Runs the program on tensors, in the order of [`Recording::input`](super::Recording::input).
    ///
    /// On a GPU, records the run after all work recorded before, and does not wait. Outputs get new memory as long as
    /// tensors refer to the results of earlier runs; otherwise that memory is reused. An input may be an output of an
    /// earlier run. An input that is a view is copied first if kernels need it aligned to a pair or quad of words.
    ///
    /// # Errors
    /// Returned before any work: [`Argument`](Error::Argument) for a wrong number of inputs, [`Layout`](Error::Layout)
    /// for an input of another layout or type, [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`Recording`](Error::Recording) for a value of a recording, [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn run(&self, inputs: &[&dyn Value]) -> Result<Outputs> {
        self.run_with(inputs, &mut [])
    }

    /// Runs the program on tensors and caches: the tensors in the order of
    /// [`Recording::input`](super::Recording::input), and the caches in that of
    /// [`Recording::cache`](super::Recording::cache).
    ///
    /// Each cache is changed as the appends of the recording say: in place, unless another handle refers to its memory,
    /// which is then copied first. The lengths are new tensors, as outputs are.
    ///
    /// # Errors
    /// Returned before any work, so all caches stay as they were: those of [`run`](Self::run), where a cache counts as
    /// three inputs, and [`Shape`](Error::Shape) with the first element of a cache that has no room for the rows that
    /// the program appends to it.
    pub fn run_with(
        &self,
        inputs: &[&dyn Value],
        caches: &mut [&mut dyn State],
    ) -> Result<Outputs> {
        let inner = &*self.inner;
        let mut copies: Vec<(usize, Box<dyn Value>)> = Vec::new();
        let mut operands = host::room(inputs.len()).named(RUN)?;
        operands.extend(inputs.iter().map(|input| input.operand()));
        let device = &inner.program.device;
        inner.taken.check(device, &operands)?;
        let counts = inner.taken.check_caches(device, caches)?;
        let _paused = Trace::pause();
        for (i, (operand, (_, input))) in operands.iter().zip(inner.taken.lent()).enumerate() {
            if device.is_gpu() && !operand.base.is_multiple_of(input.align) {
                let copy = inputs[i].copied().named(RUN)?;
                copies.push((i, copy));
            }
        }
        for (i, copy) in &copies {
            operands[*i] = copy.operand();
        }
        for cache in caches.iter_mut() {
            cache.detach().named(RUN)?;
        }
        let mut kept = host::room(caches.len()).named(RUN)?;
        kept.extend(caches.iter_mut().map(|cache| cache.kept()));
        let buffers = {
            let mut given = inner.taken.given(operands, &mut kept)?;
            match device.backend() {
                Backend::Cpu(cpu) => inner.on_cpu(cpu, &mut given)?,
                #[cfg(feature = "gpu")]
                Backend::Gpu(gpu) => inner.on_gpu(gpu, &given)?,
            }
        };
        inner.program.count(|counters| counters.runs += 1);
        let output = |place: &Place| {
            let (storage, base) = &buffers[place.external];
            Output {
                dtype: place.dtype,
                storage: storage.clone(),
                base: base + place.base,
                layout: place.layout.clone(),
            }
        };
        for ((kept, cache), counts) in kept.into_iter().zip(&inner.taken.caches).zip(counts) {
            let Output {
                storage,
                base,
                layout,
                ..
            } = output(&cache.lengths);
            *kept.lengths = Tensor::new(device, storage, base, layout);
            *kept.counts = Arc::new(counts);
        }
        Ok(Outputs {
            device: device.clone(),
            values: inner.outputs.iter().map(output).collect(),
        })
    }

    /// Runs the program from host to host: uploads the inputs, runs, and reads all outputs.
    ///
    /// On a GPU, this is one submission, if the outputs fit in one readback buffer (16 MiB).
    ///
    /// # Errors
    /// Those of [`run`](Self::run) and of [`download`](crate::Tensor::download).
    pub async fn call(&self, inputs: &[&dyn HostValue]) -> Result<HostOutputs> {
        let outputs = self.started(inputs)?;
        let mut values = outputs.on_host()?;
        outputs.read(&mut values, Wait::Elsewhere).await?;
        Ok(HostOutputs { values })
    }

    /// The blocking form of [`call`](Self::call).
    ///
    /// # Errors
    /// Those of [`call`](Self::call).
    pub fn call_blocking(&self, inputs: &[&dyn HostValue]) -> Result<HostOutputs> {
        let outputs = self.started(inputs)?;
        let mut values = outputs.on_host()?;
        pollster::block_on(outputs.read(&mut values, Wait::Here))?;
        Ok(HostOutputs { values })
    }

    fn started(&self, inputs: &[&dyn HostValue]) -> Result<Outputs> {
        let uploaded = uploaded(&self.inner.program.device, inputs)?;
        let inputs: Vec<&dyn Value> = uploaded.iter().map(|(_, value)| &**value).collect();
        self.run(&inputs)
    }
}

impl Outputs {
    /// Memory on the host for all outputs.
    fn on_host(&self) -> Result<Vec<HostOutput>> {
        let one = |output: &Output| {
            Ok(HostOutput {
                dtype: output.dtype,
                layout: output.layout.clone(),
                bytes: host::zeroed(output.layout.total() * output.dtype.size()).named("call")?,
            })
        };
        self.values.iter().map(one).collect()
    }

    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "only a GPU is waited for")
    )]
    async fn read(&self, to: &mut [HostOutput], wait: Wait) -> Result<()> {
        #[cfg(feature = "gpu")]
        if let Backend::Gpu(gpu) = self.device.backend() {
            let mut reads = Vec::new();
            for (output, to) in self.values.iter().zip(to) {
                if let Storage::Gpu(buffer) = &output.storage {
                    let begin = (output.base * output.dtype.unit()) as u64;
                    reads.push((&**buffer, begin, &mut to.bytes[..]));
                }
            }
            return gpu.read_all("call", reads, wait).await;
        }
        for (output, to) in self.values.iter().zip(to) {
            if let Storage::Cpu(buffer) = &output.storage {
                let begin = output.base * output.dtype.unit();
                let end = begin + to.bytes.len();
                to.bytes.copy_from_slice(&buffer.bytes()[begin..end]);
            }
        }
        Ok(())
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs on the CPU. Returns the storage of every external buffer, and where it begins.
    fn on_cpu(&self, cpu: &Cpu, given: &mut [Lending<'_>]) -> Result<Vec<(Storage, usize)>> {
        let is_free = |set: &Vec<Arc<CpuBuffer>>| set.iter().all(|b| Arc::strong_count(b) == 1);
        let free = match &mut *self.state() {
            Held::Cpu { results } => {
                let free = results.iter().position(is_free);
                free.map(|free| results.remove(free))
            }
            #[cfg(feature = "gpu")]
            Held::Gpu { .. } => None,
        };
        let results = match free {
            Some(free) => free,
            None => self.fresh(|words| cpu.slab(words * 4).named(RUN).map(Arc::new))?,
        };
        let mut externals = host::room(self.schedule.externals).named(RUN)?;
        let mut bases = host::room(self.schedule.externals).named(RUN)?;
        // A placeholder for memory that the run changes, to which there must be no other reference meanwhile.
        let nothing = match self.taken.caches.is_empty() {
            true => None,
            false => Some(Arc::new(cpu.slab(0).named(RUN)?)),
        };
        let mut slabs = self.program.frame().take(cpu)?;
        for given in given.iter_mut() {
            let (buffer, base, unit) = match given {
                Lending::Lent(operand) => match operand.storage {
                    Storage::Cpu(buffer) => (buffer.clone(), operand.base, operand.dtype.unit()),
                    _ => continue,
                },
                Lending::Kept(Storage::Cpu(buffer)) => match &nothing {
                    Some(nothing) => (std::mem::replace(buffer, nothing.clone()), 0, 1),
                    None => continue,
                },
                Lending::Kept(_) => continue,
            };
            let begin = base * unit;
            externals.push(Some(CpuExternal { buffer, begin }));
            bases.push(base);
        }
        let constants = self.constants.iter().filter_map(|storage| match storage {
            Storage::Cpu(buffer) => Some(buffer.clone()),
            _ => None,
        });
        let others = constants.chain(results);
        externals.extend(others.map(|buffer| Some(CpuExternal { buffer, begin: 0 })));
        let buffers = CpuBuffers {
            slabs: &mut slabs,
            externals: &mut externals,
        };
        let done = cpu.replay(&self.schedule, buffers);
        self.program.frame().give_back(slabs);
        for (given, external) in given.iter_mut().zip(&externals) {
            if let (Lending::Kept(Storage::Cpu(buffer)), Some(external)) = (given, external) {
                *buffer = external.buffer.clone();
            }
        }
        let own = externals.iter().skip(self.schedule.given).flatten();
        let own = own.map(|external| external.buffer.clone());
        match &mut *self.state() {
            Held::Cpu { results } => keep(results, own.collect()),
            #[cfg(feature = "gpu")]
            Held::Gpu { .. } => (),
        }
        done?;
        let bases = bases.into_iter().chain(std::iter::repeat(0));
        let storage =
            |(external, base): (CpuExternal, usize)| (Storage::Cpu(external.buffer), base);
        Ok(externals
            .into_iter()
            .flatten()
            .zip(bases)
            .map(storage)
            .collect())
    }

    /// Records the run on a GPU.
    #[cfg(feature = "gpu")]
    fn on_gpu(&self, gpu: &Gpu, given: &[Lending<'_>]) -> Result<Vec<(Storage, usize)>> {
        // Runs of all plans share the arena, so they take turns.
        let mut frame = self.program.frame();
        let mut state = self.state();
        let Held::Gpu {
            replay,
            results: sets,
        } = &mut *state
        else {
            let elsewhere = "the plan belongs to another kind of device";
            return Err(Error::recording(elsewhere).named(RUN));
        };
        // The application may keep what it exported.
        sets.retain(|set| !set.iter().any(|buffer| buffer.is_shared()));
        let is_free = |set: &Vec<Arc<GpuBuffer>>| set.iter().all(|b| Arc::strong_count(b) == 1);
        let results = match sets.iter().position(is_free) {
            Some(free) => sets.remove(free),
            None => self.fresh(|words| gpu.slab(RUN, words * 4))?,
        };
        for buffer in &results {
            // Clears the mark of an earlier run that failed.
            buffer.written.store(0, Ordering::Relaxed);
        }
        let mut externals = host::room(self.schedule.externals).named(RUN)?;
        for given in given {
            let (storage, base) = match given {
                Lending::Lent(operand) => (operand.storage, operand.base as u32),
                Lending::Kept(storage) => (&**storage, 0),
            };
            if let Storage::Gpu(buffer) = storage {
                let buffer = buffer.clone();
                externals.push(GpuExternal { buffer, base });
            }
        }
        let constants = self.constants.iter().filter_map(|storage| match storage {
            Storage::Gpu(buffer) => Some(buffer.clone()),
            _ => None,
        });
        let others = constants.chain(results.iter().cloned());
        externals.extend(others.map(|buffer| GpuExternal { buffer, base: 0 }));
        let before = frame.gpu.made;
        let done = gpu.replay(RUN, &self.schedule, replay, &mut frame.gpu, &externals);
        let [all, own] = frame.gpu.made;
        self.program.count(|counters| {
            counters.bind_groups += all - before[0];
            counters.frame_bind_groups += own - before[1];
        });
        keep(sets, results);
        done?;
        let storage =
            |external: GpuExternal| (Storage::Gpu(external.buffer), external.base as usize);
        Ok(externals.into_iter().map(storage).collect())
    }

    /// New output buffers.
    fn fresh<B>(&self, make: impl Fn(u64) -> Result<B>) -> Result<Vec<B>> {
        self.program.count(|counters| counters.outputs += 1);
        self.results.iter().map(|words| make(*words)).collect()
    }
}

/// Keeps a set of output buffers for later runs, and forgets the oldest one of too many.
fn keep<B>(sets: &mut Vec<Vec<B>>, set: Vec<B>) {
    if sets.len() == SETS {
        sets.remove(0);
    }
    sets.push(set);
}
