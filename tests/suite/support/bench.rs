//! Creates trials: names them, runs them on each device, and turns a panic into a failure that reports its location.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
#[cfg(feature = "gpu")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use libtest_mimic::{Completion, Failed, Trial};
use vsla::{Device, device::DeviceKind, product::Tier};

use super::lanes;

/// A name, and a test to run on each device.
pub type DeviceTest = (&'static str, fn(&Device));

/// Creates the trials of one module.
pub struct Bench {
    module: &'static str,
}

impl Bench {
    pub fn new(module: &'static str) -> Bench {
        Bench { module }
    }

    /// A test that needs no device: `module::name`.
    pub fn host(&self, name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
        let name = format!("{}::{name}", self.module);
        Trial::test(name.clone(), move || {
            let _turn = lanes::of_cpu();
            timed(&name, || guarded(test))
        })
    }

    /// One trial per device: `module::cpu::name` and `module::gpu::name`.
    pub fn on_each_device(
        &self,
        name: &str,
        test: impl Fn(&Device) + Clone + Send + 'static,
    ) -> Vec<Trial> {
        self.on_each_device_if_fast(false, name, test)
    }

    /// The same; if the test takes `long`, a GPU that [`is_hurried`] ignores it.
    pub fn on_each_device_if_fast(
        &self,
        long: bool,
        name: &str,
        test: impl Fn(&Device) + Clone + Send + 'static,
    ) -> Vec<Trial> {
        let of_gpu = test.clone();
        let on_gpu = match long {
            true => self.on_fast_gpu(name, gpu, of_gpu),
            false => self.on_gpu(name, gpu, of_gpu),
        };
        vec![
            self.host(&format!("cpu::{name}"), move || test(cpu())),
            on_gpu,
        ]
    }

    /// [`on_each_device`](Self::on_each_device) for a list of tests.
    pub fn all_on_each_device(&self, tests: &[DeviceTest]) -> Vec<Trial> {
        let of_one = |&(name, test): &DeviceTest| self.on_each_device(name, test);
        tests.iter().flat_map(of_one).collect()
    }

    /// The trial `module::name`, ignored unless an environment variable is set. The test gets the variable's value.
    #[cfg(feature = "gpu")]
    pub fn on_request(
        &self,
        name: &str,
        variable: &'static str,
        test: impl FnOnce(&str) + Send + 'static,
    ) -> Trial {
        let name = format!("{}::{name}", self.module);
        Trial::ignorable_test(name, move || match std::env::var(variable) {
            Ok(value) => guarded(|| test(&value)).map(|()| Completion::Completed),
            Err(_) => Ok(Completion::ignored_with(format!("{variable} is not set"))),
        })
    }

    /// The trial `module::name`, ignored if `missing` reports that something it needs is missing.
    #[cfg(feature = "safetensors")]
    pub fn unless(
        &self,
        name: &str,
        missing: fn() -> Option<String>,
        test: impl FnOnce() + Send + 'static,
    ) -> Trial {
        let name = format!("{}::{name}", self.module);
        Trial::ignorable_test(name, move || match missing() {
            None => guarded(test).map(|()| Completion::Completed),
            Some(what) => Ok(Completion::ignored_with(what)),
        })
    }

    /// The trial `module::gpu::name` on the GPU that `open` returns, [`gpu`] or [`folding_gpu`].
    pub fn on_gpu(
        &self,
        name: &str,
        open: fn() -> Result<&'static Device, &'static str>,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        self.on_gpu_that(name, open, |_| true, "", test)
    }
}

impl Bench {
    /// The trial `module::gpu::name` on the GPU, ignored if the GPU has no cooperative matrices.
    pub fn on_matrices(&self, name: &str, test: impl FnOnce(&Device) + Send + 'static) -> Trial {
        let has = |device: &Device| device.info().matrices.is_some();
        self.where_it_has(name, has, "no cooperative matrices", test)
    }

    /// The trial `module::gpu::emulated_SIDE::name` on a GPU that emulates cooperative matrices of this side, 8 or 16.
    ///
    /// A software driver takes about six seconds to compile such a kernel.
    pub fn on_emulated_matrices(
        &self,
        side: u32,
        name: &str,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        let name = format!("emulated_{side}::{name}");
        match side {
            8 => self.on_gpu(&name, || emulating_gpu(8), test),
            _ => self.on_gpu(&name, || emulating_gpu(16), test),
        }
    }

    /// The same, ignored if the GPU does not support the native tier.
    pub fn on_native(&self, name: &str, test: impl FnOnce(&Device) + Send + 'static) -> Trial {
        let has = |device: &Device| device.info().native;
        self.where_it_has(name, has, "no native tier", test)
    }

    /// The same, ignored if the GPU does not have what `lacks` names.
    pub fn where_it_has(
        &self,
        name: &str,
        has: fn(&Device) -> bool,
        lacks: &'static str,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        self.on_gpu_that(name, gpu, has, lacks, test)
    }

    /// The trial `module::gpu::name` on the GPU that `open` returns, ignored if it [`is_hurried`].
    pub fn on_fast_gpu(
        &self,
        name: &str,
        open: fn() -> Result<&'static Device, &'static str>,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        let lacks = "only a software driver, which takes long here (VSLA_LONG=1 runs this)";
        only_on_fast_gpus().insert(format!("{}::gpu::{name}", self.module));
        self.on_gpu_that(name, open, |device| !is_hurried(device), lacks, test)
    }

    fn on_gpu_that(
        &self,
        name: &str,
        open: fn() -> Result<&'static Device, &'static str>,
        has: fn(&Device) -> bool,
        lacks: &'static str,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        let name = format!("{}::gpu::{name}", self.module);
        let module = self.module;
        Trial::ignorable_test(name.clone(), move || {
            let _turn = lanes::of_gpu(module);
            match open() {
                Ok(device) if has(device) => {
                    timed(&name, || within(device, test)).map(|()| Completion::Completed)
                }
                Ok(_) => Ok(Completion::ignored_with(format!("the GPU has {lacks}"))),
                Err(reason) if gpu_is_required() => Err(reason.into()),
                Err(reason) => Ok(Completion::ignored_with(reason)),
            }
        })
    }
}

/// The names of the trials that a software GPU ignores without `VSLA_LONG=1`.
pub fn only_on_fast_gpus() -> MutexGuard<'static, BTreeSet<String>> {
    static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The documented depth of sums of `terms` products on a device's cooperative matrices, which may truncate instead of
/// rounding.
pub fn depth_by_matrices(device: &Device) -> impl Fn(usize) -> f64 + use<> {
    let side = device.info().matrices.unwrap_or(16);
    move |terms| 4.0 * (side as f64 + terms.div_ceil(side) as f64)
}

/// The tiers that a device supports for all types.
pub fn tiers(device: &Device) -> impl Iterator<Item = Tier> + use<> {
    let native = device.info().native.then_some(Tier::Native);
    [Tier::Baseline].into_iter().chain(native)
}

/// Whether a device runs on the CPU. Cooperative matrices are then emulated value by value, so tests run only a tenth
/// of the cases.
pub fn is_software(device: &Device) -> bool {
    device.info().kind == DeviceKind::Software
}

/// Whether trials run a selection of their cases on this device: on a software GPU, whose driver compiles a kernel for
/// up to ten seconds. Not with `VSLA_LONG=1`, or if every variant of every kernel must run.
pub fn is_hurried(device: &Device) -> bool {
    is_software(device) && is_selective()
}

/// Whether neither `VSLA_LONG=1` nor `VSLA_INSTRUMENTED=1` asks for everything.
pub fn is_selective() -> bool {
    !is_long() && !all_are_instrumented()
}

/// How often to repeat a kernel that must give the same bits each time: only twice if invocations run in order.
pub fn repeats(device: &Device) -> usize {
    if is_software(device) { 2 } else { 1000 }
}

/// The CPU device shared by all trials.
pub fn cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(Device::cpu)
}

/// Runs a program that must not allocate tensor memory, and returns its result.
pub fn without_allocating<T>(device: &Device, program: impl Fn() -> T) -> T {
    unchanged(|| device.memory().live, program)
}

/// Runs a program that must leave a device's memory or counters as they are, and returns its result.
///
/// Other trials share the device and may change them at the same time, so the program runs until they are the same
/// before and after. A program that changes them itself never leaves them unchanged.
pub fn unchanged<T, S: PartialEq>(state: impl Fn() -> S, program: impl Fn() -> T) -> T {
    for _ in 0..200 {
        let before = state();
        let result = program();
        if state() == before {
            return result;
        }
        std::thread::sleep(core::time::Duration::from_millis(5));
    }
    panic!("this program changes what it must leave as it is");
}

/// The GPU shared by all trials. It fills results with NaN before computing them.
#[cfg(feature = "gpu")]
pub fn gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |_| ())
}

/// The same GPU with limits so low that dispatches must be folded into several dimensions, which never happens on the
/// other one.
#[cfg(feature = "gpu")]
pub fn folding_gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |options| {
        options.max_workgroups_per_dimension = Some(20)
    })
}

/// The same GPU with instrumented kernels that count their out-of-bounds buffer accesses.
#[cfg(feature = "gpu")]
pub fn instrumented_gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |options| options.instrumented = true)
}

/// The same GPU with emulated cooperative matrices.
#[cfg(feature = "gpu")]
pub fn emulating_gpu(side: u32) -> Result<&'static Device, &'static str> {
    static OF_8: Opened = [const { OnceLock::new() }; DEVICES];
    static OF_16: Opened = [const { OnceLock::new() }; DEVICES];
    let (slots, adjust): (_, fn(&mut vsla::device::GpuOptions)) = match side {
        8 => (&OF_8, |options| options.emulated_matrices = Some(8)),
        _ => (&OF_16, |options| {
            options.emulated_matrices = Some(16);
            // Software GPUs run parts, but whole kernels are what hardware runs in the end.
            options.parts = Some(vsla::testing::Parts::Never);
        }),
    };
    opened(slots, adjust)
}

/// How many times the GPU is opened, to run as many trials at once. A software GPU runs all work from one device on a
/// single core.
#[cfg(feature = "gpu")]
const DEVICES: usize = 4;

#[cfg(feature = "gpu")]
type Opened = [OnceLock<Result<Device, String>>; DEVICES];

#[cfg(feature = "gpu")]
fn opened(
    slots: &'static Opened,
    adjust: fn(&mut vsla::device::GpuOptions),
) -> Result<&'static Device, &'static str> {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SLOT: usize = THREADS.fetch_add(1, Ordering::Relaxed) % DEVICES;
    }
    let slot = lanes::device().unwrap_or_else(|| SLOT.with(|slot| *slot));
    let opened = slots[slot].get_or_init(|| {
        let mut options = vsla::device::GpuOptions {
            poison: true,
            instrumented: all_are_instrumented(),
            parts: in_parts(),
            ..Default::default()
        };
        adjust(&mut options);
        Device::gpu_blocking(options).map_err(|error| error.to_string())
    });
    opened.as_ref().map_err(String::as_str)
}

/// Whether the trials' GPU runs on the CPU.
pub fn gpu_is_software() -> bool {
    // No other thread opens a device to find out.
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| gpu().is_ok_and(is_software))
}

#[cfg(not(feature = "gpu"))]
pub fn gpu() -> Result<&'static Device, &'static str> {
    Err("this build has no GPU support")
}

#[cfg(not(feature = "gpu"))]
pub fn emulating_gpu(_: u32) -> Result<&'static Device, &'static str> {
    gpu()
}

#[cfg(not(feature = "gpu"))]
pub fn folding_gpu() -> Result<&'static Device, &'static str> {
    gpu()
}

fn gpu_is_required() -> bool {
    std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1")
}

/// Whether trials run all cases instead of a representative selection.
pub fn is_long() -> bool {
    std::env::var("VSLA_LONG").is_ok_and(|value| value == "1")
}

/// Prints to stderr which GPU the trials use, or why there is none.
pub fn announce_gpu() {
    match gpu() {
        Ok(device) => eprintln!("GPU: {}", device.info()),
        Err(reason) if gpu_is_required() => eprintln!("no GPU, but one is required: {reason}"),
        Err(reason) => eprintln!("no GPU, its tests are ignored: {reason}"),
    }
}

thread_local! {
    /// The location and message of the last panic in the trial on this thread; `None` outside a trial.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stores the message of a panic inside a trial for that trial's report, instead of printing it between the names of
/// other trials. A property panics many times while it is being shrunk; only the last message matters.
pub fn catch_panics_quietly() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let kept = PANIC.with_borrow_mut(|slot| match slot {
            Some(slot) => {
                *slot = info.to_string();
                true
            }
            None => false,
        });
        if !kept {
            default(info);
        }
    }));
}

/// Runs `f`, which must panic, and returns the panic's message and location.
#[track_caller]
pub fn panic_of(f: impl FnOnce()) -> String {
    let outcome = panic::catch_unwind(AssertUnwindSafe(f));
    assert!(outcome.is_err(), "no panic occurred");
    PANIC.with_borrow(|kept| kept.clone().unwrap_or_default())
}

/// Whether all trials' GPUs count out-of-bounds buffer accesses.
pub fn all_are_instrumented() -> bool {
    std::env::var("VSLA_INSTRUMENTED").is_ok_and(|value| value == "1")
}

/// Whether kernels run in parts, if a device does not decide: whole ones run if every variant must.
#[cfg(feature = "gpu")]
fn in_parts() -> Option<vsla::testing::Parts> {
    all_are_instrumented().then_some(vsla::testing::Parts::Never)
}

/// Runs `test`, then checks that no kernel accessed memory out of bounds, if the device counts such accesses.
fn within(device: &Device, test: impl FnOnce(&Device)) -> Result<(), Failed> {
    guarded(|| {
        test(device);
        assert_within(device);
    })
}

/// Asserts that no kernel accessed memory out of bounds since the last check, if the device counts such accesses.
#[track_caller]
#[cfg(feature = "gpu")]
pub fn assert_within(device: &Device) {
    let outside = device.accesses_outside().unwrap();
    assert!(outside.is_empty(), "outside of buffers: {outside:#?}");
    note_compared(device);
}

/// The kernels whose accesses any instrumented device has compared with their bounds, at the ends of trials.
#[cfg(feature = "gpu")]
static COMPARED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

#[cfg(feature = "gpu")]
fn note_compared(device: &Device) {
    let kernels = device.instrumented_kernels();
    if !kernels.is_empty() {
        compared().extend(kernels);
    }
}

#[cfg(feature = "gpu")]
pub fn compared() -> MutexGuard<'static, BTreeSet<String>> {
    COMPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(feature = "gpu"))]
pub fn assert_within(_: &Device) {}

thread_local! {
    /// The instrumented devices that the trial on this thread opened for itself. `None` on other threads, because wgpu
    /// cannot drop a device while a thread ends.
    #[cfg(feature = "gpu")]
    static OWN: RefCell<Option<Vec<Device>>> = const { RefCell::new(None) };
}

/// Opens a device for the trial on this thread alone, and checks at the trial's end that no kernel accessed memory out
/// of bounds, if all trials' GPUs count such accesses.
#[cfg(feature = "gpu")]
pub fn opened_for_one(adjust: impl FnOnce(&mut vsla::device::GpuOptions)) -> Device {
    let mut options = vsla::device::GpuOptions {
        instrumented: all_are_instrumented(),
        parts: in_parts(),
        ..Default::default()
    };
    adjust(&mut options);
    let instrumented = options.instrumented;
    let device = Device::gpu_blocking(options).unwrap();
    if instrumented {
        OWN.with_borrow_mut(|own| own.iter_mut().for_each(|own| own.push(device.clone())));
    }
    device
}

/// Checks the devices that the trial on this thread opened for itself, unless they are lost.
fn assert_own_within() {
    #[cfg(feature = "gpu")]
    for device in OWN.take().into_iter().flatten() {
        match device.accesses_outside() {
            Ok(outside) => {
                assert!(outside.is_empty(), "outside of buffers: {outside:#?}");
                note_compared(&device);
            }
            Err(error) => assert_eq!(error.kind(), "device_lost", "{error}"),
        }
    }
}

/// Runs a trial, and appends its name and the seconds that it took to the file that `VSLA_TIMES` names, if it does.
fn timed<T>(name: &str, trial: impl FnOnce() -> T) -> T {
    static TIMES: OnceLock<Option<File>> = OnceLock::new();
    let open = || File::create(std::env::var_os("VSLA_TIMES")?).ok();
    let began = Instant::now();
    let result = trial();
    if let Some(mut times) = TIMES.get_or_init(open).as_ref() {
        // One write, because trials run side by side.
        let line = format!("{:.3} {name}\n", began.elapsed().as_secs_f64());
        times
            .write_all(line.as_bytes())
            .expect("VSLA_TIMES can be written");
    }
    result
}

/// Runs `test`, converting a panic into a failure with its message.
fn guarded(test: impl FnOnce()) -> Result<(), Failed> {
    PANIC.set(Some(String::new()));
    #[cfg(feature = "gpu")]
    OWN.set(Some(Vec::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        test();
        assert_own_within();
    }));
    #[cfg(feature = "gpu")]
    OWN.take();
    let message = PANIC.take().unwrap_or_default();
    outcome.map_err(|payload| {
        if !message.is_empty() {
            return message.into();
        }
        // The panic came from another thread, whose hook has already printed it.
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without a message").into()
    })
}
