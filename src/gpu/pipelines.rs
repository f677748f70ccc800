//! The closed set of pipelines: compiled on first use, outside every lock, and cached.
//!
//! Drivers compile some kernels for seconds, because they have the code of many cases or long unrolled loops. Such a
//! kernel has parts ([`Listed::parts`]): one for each case, or one that is not unrolled, which together give the same
//! bits. On a GPU, the kernel and its parts are compiled at the same time. The first call waits for whichever is there
//! first; dispatches run the parts until the kernel is there, and then the kernel. A software GPU compiles and runs the
//! parts only.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, mpsc};
use std::thread::{JoinHandle, ScopedJoinHandle};

use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;

use super::errors::Health;
use super::kept::Kept;
use super::rewriting::Rewriting;
use crate::plan::assembler::assemble;
use crate::plan::{Access, Chosen, Dispatch, Kernel, Listed};
use crate::{Error, Result};

/// Bytes of a kernel's parameter block.
pub(crate) const PARAM_BYTES: u64 = 128;
/// Parameters of the kernel itself, in words; two more come before them.
pub(crate) const PARAM_WORDS: usize = PARAM_BYTES as usize / 4 - 2;

/// The limits for kernels: those of the device, or lower ones set by the options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Workgroups in one dimension of a dispatch.
    pub workgroups_per_dimension: u32,
    /// Bytes of workgroup memory per workgroup.
    pub workgroup_memory: u32,
    /// Invocations per workgroup.
    pub invocations: u32,
    /// Bytes of one storage buffer.
    pub binding_bytes: u64,
    /// Storage buffers per kernel.
    pub storage_buffers: u32,
}

/// A compiled kernel, or one whose parts are compiled.
pub(crate) struct Pipeline {
    whole: OnceLock<wgpu::ComputePipeline>,
    parts: OnceLock<Vec<wgpu::ComputePipeline>>,
    pub layout: wgpu::BindGroupLayout,
    /// Equal for pipelines that can share bind groups.
    pub access: &'static [Access],
    pub name: String,
    kernel: &'static Kernel,
}

impl Pipeline {
    /// What a dispatch runs now, one after the other, and its name in profiles.
    pub(crate) fn now(&self) -> (&[wgpu::ComputePipeline], Cow<'_, str>) {
        match (self.whole.get(), self.parts.get()) {
            (None, Some(parts)) => (parts, format!("{}.parts", self.name).into()),
            (whole, _) => (whole.map_or(&[], std::slice::from_ref), (&self.name).into()),
        }
    }
}

/// What a pipeline is compiled from.
struct Text {
    kernel: &'static Kernel,
    name: String,
    source: String,
    /// Whether it has all of wgpu's runtime checks.
    checked: bool,
}

/// Compiles a kernel or its parts.
type Compile = dyn FnOnce(&Health, &Pipeline) -> Result<()> + Send;

/// The threads of the process that compile.
static COMPILERS: Mutex<usize> = Mutex::new(0);
static COMPILED: Condvar = Condvar::new();

/// One of them, from before it starts until it ends.
///
/// A process must not end meanwhile, even if nothing drops its device, as in a `static`: the system would unload the
/// driver while it works.
struct Compiler;

impl Compiler {
    fn start() -> Compiler {
        #[cfg(not(target_family = "wasm"))]
        wait_at_exit();
        *count() += 1;
        Compiler
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        *count() -= 1;
        COMPILED.notify_all();
    }
}

fn count() -> MutexGuard<'static, usize> {
    COMPILERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the process wait at its end, but not forever, until no thread compiles.
#[cfg(not(target_family = "wasm"))]
fn wait_at_exit() {
    const LONGEST: std::time::Duration = std::time::Duration::from_secs(60);
    static ONCE: std::sync::Once = std::sync::Once::new();

    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    extern "C" fn wait() {
        let _done = COMPILED.wait_timeout_while(count(), LONGEST, |count| *count > 0);
    }
    ONCE.call_once(|| {
        // SAFETY: the function is in C's standard library, with this signature, and what it registers never unwinds.
        // Handlers run in reverse order, so this one runs before those of the driver, which has been loaded.
        unsafe { atexit(wait) };
    });
}

/// A kernel that its checks have passed.
struct Ready {
    name: String,
    source: String,
    /// Whether it has all of wgpu's runtime checks.
    checked: bool,
    layout: wgpu::PipelineLayout,
}

impl Ready {
    fn compiled(
        &self,
        health: &Health,
        op: &'static str,
        cache: Option<&wgpu::PipelineCache>,
    ) -> Result<wgpu::ComputePipeline> {
        // A browser's clock is not that of the standard library.
        let start = (!cfg!(target_family = "wasm")).then(std::time::Instant::now);
        let (name, device) = (&self.name, &health.device);
        let compiled = health.caught(op, || {
            let descriptor = wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(self.source.as_str().into()),
            };
            let module = match self.checked {
                true => device.create_shader_module(descriptor),
                false => trusted(device, descriptor),
            };
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&self.layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &[],
                    zero_initialize_workgroup_memory: false,
                },
                cache,
            })
        })?;
        match start {
            Some(start) => {
                let time = start.elapsed().as_secs_f64() * 1e3;
                log::debug!("compiled {name} in {time:.1} ms");
            }
            None => log::debug!("compiled {name}"),
        }
        Ok(compiled)
    }
}

/// Compiles parts at the same time. Not on rayon's threads: all of them may be waiting for kernels.
fn each_compiled(
    parts: &[Ready],
    health: &Health,
    op: &'static str,
) -> Result<Vec<wgpu::ComputePipeline>> {
    std::thread::scope(|scope| {
        let start = |part| {
            let thread = std::thread::Builder::new().name("vsla compiler".to_owned());
            // Not kept in the file of compiled kernels, which has the whole ones.
            let thread =
                thread.spawn_scoped(scope, move || Ready::compiled(part, health, op, None));
            thread.map_err(|error| Error::io(op, "a thread of the compiler", &error))
        };
        let threads = parts.iter().map(start).collect::<Result<Vec<_>>>()?;
        let compiled = threads.into_iter().map(ScopedJoinHandle::join);
        compiled
            .map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Bytes of the smallest buffer bound to a kernel: one quad of words.
const SMALLEST_BINDING: u64 = 16;

/// The most cached kernels with expressions of applications; one more evicts all of them. Plans keep those that they
/// use alive.
const WRITTEN: usize = 1024;

type Key = (&'static str, usize);
type Layouts = (wgpu::BindGroupLayout, wgpu::PipelineLayout);

pub(crate) struct Pipelines {
    /// Whether shaders are compiled with wgpu's bounds and loop checks.
    checked: bool,
    pub rewriting: Rewriting,
    kept: Option<Kept>,
    made: RwLock<HashMap<Key, Arc<Pipeline>, DefaultHashBuilder>>,
    /// Kernels that contain an expression of the application, by their source.
    written: Mutex<HashMap<String, Arc<Pipeline>>>,
    layouts: Mutex<HashMap<&'static [Access], Layouts>>,
    parts: Parts,
    /// Threads that compile kernels.
    compiling: Mutex<Vec<JoinHandle<()>>>,
}

/// Whether kernels that have parts run in parts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Parts {
    /// Never, where there are no threads that compile.
    #[default]
    Never,
    /// Until the whole kernel is compiled.
    First,
    /// Always: on software GPUs, whose compiler takes a time that grows with the square of a kernel's length.
    Always,
}

impl Drop for Pipelines {
    /// Waits for the driver's compiler: a program that ends meanwhile would unload the driver while it works.
    fn drop(&mut self) {
        self.wait();
    }
}

impl Pipelines {
    pub(crate) fn new(
        checked: bool,
        rewriting: Rewriting,
        kept: Option<Kept>,
        parts: Parts,
    ) -> Pipelines {
        Pipelines {
            checked,
            rewriting,
            kept,
            made: RwLock::default(),
            written: Mutex::default(),
            layouts: Mutex::default(),
            parts,
            compiling: Mutex::default(),
        }
    }

    /// Waits until all kernels are compiled.
    fn wait(&self) {
        let lock = || {
            self.compiling
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let threads = std::mem::take(&mut *lock());
        for thread in threads {
            // A panic of the thread has been reported; dispatches go on to run what is there.
            let _ = thread.join();
        }
    }

    pub(crate) fn len(&self) -> usize {
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        made.len() + written.len()
    }

    /// The path of the file of compiled kernels, and what belongs in it now.
    pub(super) fn kept(
        &self,
        health: &Arc<Health>,
        limits: &Limits,
    ) -> Result<Option<(&Path, Vec<u8>)>> {
        let Some(kept) = &self.kept else {
            return Ok(None);
        };
        self.wait();
        kept.file(health, |cache| {
            let op = "save_pipelines";
            let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
            let mut all = Vec::new();
            for (&(_, variant), pipeline) in &*made {
                let source = assembled(op, pipeline.kernel, pipeline.kernel.variants.get(variant))?;
                all.push((pipeline.clone(), source, self.checked));
            }
            drop(made);
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(
                written
                    .iter()
                    .map(|(source, pipeline)| (pipeline.clone(), source.clone(), true)),
            );
            drop(written);
            all.into_par_iter()
                .try_for_each(|(pipeline, source, checked)| {
                    let text = Text {
                        kernel: pipeline.kernel,
                        name: pipeline.name.clone(),
                        source,
                        checked,
                    };
                    self.compile(health, limits, op, text, Some(cache))
                        .map(drop)
                })
        })
    }

    pub(crate) fn get(
        &self,
        health: &Arc<Health>,
        limits: &Limits,
        op: &'static str,
        kernel: &'static Kernel,
        variant: usize,
    ) -> Result<Arc<Pipeline>> {
        let key = (kernel.shader.stem, variant);
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(hit) = made.get(&key) {
            return Ok(hit.clone());
        }
        drop(made);
        let listed = kernel.variants.get(variant);
        let text = Text {
            kernel,
            name: kernel.name(listed),
            source: assembled(op, kernel, listed)?,
            checked: self.checked,
        };
        let parts = match self.parts {
            Parts::Never => Vec::new(),
            _ => listed.parts(),
        };
        let pipeline = match parts.is_empty() {
            true => Arc::new(self.compile(health, limits, op, text, self.cache())?),
            false => self.in_parts(health, limits, op, text, &parts)?,
        };
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have compiled the same kernel meanwhile; the first one stays.
        Ok(made.entry(key).or_insert(pipeline).clone())
    }

    /// Compiles those of these kernels that have not been compiled yet: on all cores, because a driver's compiler uses
    /// one core and may take a second.
    pub(crate) fn prepare<'a>(
        &self,
        health: &Arc<Health>,
        limits: &Limits,
        wanted: impl Iterator<Item = (&'static str, &'a Dispatch)>,
    ) -> Result<()> {
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<(&str, &'static Kernel, usize)> = Vec::new();
        for (op, dispatch) in wanted {
            let Chosen::Listed(variant) = dispatch.variant else {
                continue;
            };
            let key = (dispatch.kernel.shader.stem, variant);
            let is_known =
                |(_, kernel, variant): &(_, &Kernel, _)| (kernel.shader.stem, *variant) == key;
            if !made.contains_key(&key) && !missing.iter().any(is_known) {
                missing.push((op, dispatch.kernel, variant));
            }
        }
        drop(made);
        missing
            .into_par_iter()
            .try_for_each(|(op, kernel, variant)| {
                self.get(health, limits, op, kernel, variant)?;
                Ok(())
            })
    }

    /// A kernel with an expression of the application: compiled once for each text, with all of wgpu's runtime checks.
    pub(crate) fn written(
        &self,
        health: &Health,
        limits: &Limits,
        op: &'static str,
        kernel: &'static Kernel,
        variant: &dyn Listed,
    ) -> Result<Arc<Pipeline>> {
        let source = assembled(op, kernel, variant)?;
        let lock = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hit) = lock().get(&source) {
            return Ok(hit.clone());
        }
        let key = source.clone();
        let text = Text {
            kernel,
            name: kernel.name(variant),
            source,
            checked: true,
        };
        let pipeline = Arc::new(self.compile(health, limits, op, text, self.cache())?);
        let mut written = lock();
        if written.len() >= WRITTEN {
            written.clear();
        }
        Ok(written.entry(key).or_insert(pipeline).clone())
    }

    fn cache(&self) -> Option<&wgpu::PipelineCache> {
        self.kept.as_ref().map(|kept| &kept.cache)
    }

    fn compile(
        &self,
        health: &Health,
        limits: &Limits,
        op: &'static str,
        text: Text,
        cache: Option<&wgpu::PipelineCache>,
    ) -> Result<Pipeline> {
        let (ready, pipeline) = self.ready(health, limits, op, text)?;
        let whole = ready.compiled(health, op, cache)?;
        Ok(Pipeline {
            whole: whole.into(),
            ..pipeline
        })
    }

    /// Compiles a kernel and its parts at the same time, and waits until one or the other is there. A software GPU gets
    /// the parts only.
    fn in_parts(
        &self,
        health: &Arc<Health>,
        limits: &Limits,
        op: &'static str,
        text: Text,
        parts: &[Box<dyn Listed + Send>],
    ) -> Result<Arc<Pipeline>> {
        let kernel = text.kernel;
        let parts = parts.iter().map(|part| {
            let text = Text {
                kernel,
                name: kernel.name(&**part),
                source: assembled(op, kernel, &**part)?,
                checked: text.checked,
            };
            Ok(self.ready(health, limits, op, text)?.0)
        });
        let parts: Vec<Ready> = parts.collect::<Result<_>>()?;
        let (whole, pipeline) = self.ready(health, limits, op, text)?;
        let pipeline = Arc::new(pipeline);
        if self.parts == Parts::Always {
            let _ = pipeline.parts.set(each_compiled(&parts, health, op)?);
            return Ok(pipeline);
        }
        let (sender, arrived) = mpsc::channel();
        let whole = Arc::new(whole);
        let spawn = |compile: Box<Compile>| {
            let (health, pipeline, sender) = (health.clone(), pipeline.clone(), sender.clone());
            let thread = std::thread::Builder::new().name("vsla compiler".to_owned());
            let compiler = Compiler::start();
            let spawned = thread.spawn(move || {
                let _compiler = compiler;
                // Nobody listens for what arrives second.
                let _ = sender.send(compile(&health, &pipeline));
            });
            // Without a thread, nothing is sent.
            if let Ok(thread) = spawned {
                let compiling = self.compiling.lock();
                let mut compiling = compiling.unwrap_or_else(PoisonError::into_inner);
                compiling.retain(|thread| !thread.is_finished());
                compiling.push(thread);
            }
        };
        let (in_thread, cache) = (whole.clone(), self.cache().cloned());
        spawn(Box::new(move |health, pipeline| {
            let compiled = in_thread.compiled(health, op, cache.as_ref());
            // Nobody sees it if the parts are there already.
            let compiled = compiled.inspect_err(|error| {
                log::warn!("{} goes on in parts: {error}", in_thread.name);
            })?;
            let _ = pipeline.whole.set(compiled);
            Ok(())
        }));
        spawn(Box::new(move |health, pipeline| {
            let _ = pipeline.parts.set(each_compiled(&parts, health, op)?);
            Ok(())
        }));
        drop(sender);
        // If one fails, the other may not.
        let mut outcome = None;
        for arrival in arrived {
            let is_there = arrival.is_ok();
            outcome = Some(arrival);
            if is_there {
                break;
            }
        }
        // No thread could be started.
        let here = || {
            let compiled = whole.compiled(health, op, self.cache())?;
            let _ = pipeline.whole.set(compiled);
            Ok(())
        };
        outcome.unwrap_or_else(here)?;
        Ok(pipeline)
    }

    /// Checks a kernel and what it needs, and returns what the driver compiles, and the pipeline that will have it.
    fn ready(
        &self,
        health: &Health,
        limits: &Limits,
        op: &'static str,
        text: Text,
    ) -> Result<(Ready, Pipeline)> {
        let Text {
            kernel,
            name,
            source,
            checked,
        } = text;
        #[cfg(feature = "testing")]
        crate::plan::assembler::mutant::report(&source);
        check_needs(op, &name, &source, limits)?;
        let own = kernel.interface.access.len();
        let source = self.rewriting.rewritten(op, &name, source, own)?;
        let buffers = own + usize::from(self.rewriting.records().is_some());
        if buffers as u32 > limits.storage_buffers {
            return Err(Error::unsupported(format!(
                    "kernel {name} needs {buffers} storage buffers, but the device allows {}; use another device",
                    limits.storage_buffers
                ),
            ).named(op));
        }
        let (layout, pipeline_layout) = self.layouts(health, op, kernel.interface.access)?;
        let pipeline = Pipeline {
            whole: OnceLock::new(),
            parts: OnceLock::new(),
            layout,
            access: kernel.interface.access,
            name: name.clone(),
            kernel,
        };
        let ready = Ready {
            name,
            source,
            checked,
            layout: pipeline_layout,
        };
        Ok((ready, pipeline))
    }

    fn layouts(
        &self,
        health: &Health,
        op: &'static str,
        access: &'static [Access],
    ) -> Result<Layouts> {
        let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hit) = layouts.get(access) {
            return Ok(hit.clone());
        }
        let entry = |binding, ty, dynamic, size| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: dynamic,
                min_binding_size: std::num::NonZero::new(size),
            },
            count: None,
        };
        let mut entries = vec![entry(
            0,
            wgpu::BufferBindingType::Uniform,
            true,
            PARAM_BYTES,
        )];
        let counts = self.rewriting.records().map(|_| Access::Write);
        for (i, access) in access.iter().copied().chain(counts).enumerate() {
            let read_only = access == Access::Read;
            entries.push(entry(
                i as u32 + 1,
                wgpu::BufferBindingType::Storage { read_only },
                false,
                SMALLEST_BINDING,
            ));
        }
        let made = health.caught(op, || {
            let layout = health
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: Some("vsla"),
                    entries: &entries,
                });
            let pipeline_layout =
                health
                    .device
                    .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                        label: Some("vsla"),
                        bind_group_layouts: &[Some(&layout)],
                        immediate_size: 0,
                    });
            (layout, pipeline_layout)
        })?;
        layouts.insert(access, made.clone());
        Ok(made)
    }
}

fn assembled(op: &'static str, kernel: &Kernel, variant: &dyn Listed) -> Result<String> {
    assemble(kernel, variant).map_err(|message| Error::gpu(op, message))
}

/// Creates a shader of the closed list without runtime checks.
fn trusted(
    device: &wgpu::Device,
    descriptor: wgpu::ShaderModuleDescriptor<'_>,
) -> wgpu::ShaderModule {
    // SAFETY: an unchecked shader must keep its accesses inside the bound ranges, and its loops finite.
    //
    // Kernels access a buffer's data, rounded up to a quad of words (16 bytes); the words after the data in the last
    // quad have no meaning. Kernels that load the next quad early clamp its index to `arrayLength`, so they may also
    // read one quad after the data, inside the binding. `Recorder::bind_group` binds the whole of a buffer, which the
    // pool made no smaller than its data and which one tensor has at a time, and an imported buffer with its own size.
    // `Gpu::bind` binds these in the same way, and in a program's frame the room of a value or list, which is no
    // smaller than its data and which nothing else has meanwhile. Devices with `GpuOptions::poison` or instrumented
    // kernels, on which the suite runs, bind buffers and rooms only as far as their data, so that `arrayLength` is the
    // end of the data and its last quad.
    //
    // Kernels take indices from three sources: the parameter block and the lists that a plan made on the host; offsets
    // and extents of layouts, which were checked when the layouts were made; and the caller's indices, which kernels
    // compare with an element's rows before using them, targets of `cross_entropy`, which are compared with a row's
    // length, and places of figures, which are compared with the image's extents. All of these are in buffers that only
    // this crate writes, and a plan is made from the layouts that are bound with it. A float never becomes an index;
    // `correlate_max` reads at the lag that it has found, which counted up to the number of lags, `figures_marks` at
    // the number of a figure that it has written there, `pooling_passes` at an index below the number of values that
    // the pass before has written there, and `normal` a table with a row for each number of leading zeros of a word
    // above 0 and each value of the five bits that follow the first one. A buffer has fewer than 2³² bytes, so indices
    // of halves are below 2³¹, and so are those of bytes, because `largest` limits their tensors; no sum of two wraps
    // around. Loads beyond an element's end use a clamped index. Loops run over lengths from the same sources, each
    // with a nonzero step.
    //
    // That kernels obey this is tested, not proven: `bounds.rs` rewrites each kernel so that every index into a storage
    // buffer or an array in workgroup memory is compared with the length of the array. The suite's `bounds` trials, and
    // with `VSLA_INSTRUMENTED=1` all others that share the suite's devices, count no out-of-bounds access.
    //
    // Indices into other arrays, of constant length, are not compared. They are in bounds by construction:
    // - Arrays local to a function (values of a transform, of a map, of a tile): literals, or counters of loops that
    //   end at the array's length.
    // - Arrays of the parameter block and of structures: `shift`, `step` and `axes` of `strided_boxes` have a place for
    //   each of 8 axes (or 2, where the rank is 2), and the index is an axis below the rank; `ends` of `conv_fused` is
    //   indexed by literals.
    // - `DIGITS` of lib/trig.wgsl, 8 words: (e − 120) / 32 + 3 for the exponent bits e of a value above 4096, which are
    //   139 to 255; so at most 7.
    //
    // `GpuOptions::checked` bypasses this function, and so do kernels with an expression of the application.
    unsafe {
        device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
    }
}

/// The workgroup memory and invocations that a shader declares.
///
/// wgpu does not check workgroup memory against the device's limit, and a kernel above it hangs NVIDIA's driver.
pub(crate) fn needs(source: &str) -> Result<(u32, u32), String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|e| e.emit_to_string(source))?;
    let mut layouter = naga::proc::Layouter::default();
    layouter
        .update(module.to_ctx())
        .map_err(|e| e.to_string())?;
    let memory = module
        .global_variables
        .iter()
        .filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup)
        .map(|(_, v)| layouter[v.ty].size.next_multiple_of(16))
        .sum();
    let invocations = module
        .entry_points
        .iter()
        .map(|e| e.workgroup_size.iter().product())
        .max()
        .unwrap_or(0);
    Ok((memory, invocations))
}

fn check_needs(op: &'static str, name: &str, source: &str, limits: &Limits) -> Result<()> {
    let (memory, invocations) = needs(source).map_err(|message| Error::gpu(op, message))?;
    if memory > limits.workgroup_memory {
        return Err(Error::unsupported(format!(
                "kernel {name} needs {memory} bytes of workgroup memory, but the device allows {}; use another device",
                limits.workgroup_memory
            ),
        ).named(op));
    }
    if invocations > limits.invocations {
        return Err(Error::unsupported(format!(
                "kernel {name} needs {invocations} invocations per workgroup, but the device allows {}; use another device",
                limits.invocations
            ),
        ).named(op));
    }
    Ok(())
}
