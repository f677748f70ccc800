//! Makes trials: names them, runs them on each device, and turns a panic into a failure that says where it was.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
#[cfg(feature = "gpu")]
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Completion, Failed, Trial};
use vsla::{Device, device::DeviceKind, product::Tier};

/// A test to run on each device, and its name.
pub type DeviceTest = (&'static str, fn(&Device));

/// Makes the trials of one module.
pub struct Bench {
    module: &'static str,
}

impl Bench {
    pub fn new(module: &'static str) -> Bench {
        Bench { module }
    }

    /// A test that needs no device: `module::name`.
    pub fn host(&self, name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
        Trial::test(format!("{}::{name}", self.module), move || guarded(test))
    }

    /// One trial a device: `module::cpu::name` and `module::gpu::name`.
    pub fn on_each_device(
        &self,
        name: &str,
        test: impl Fn(&Device) + Clone + Send + 'static,
    ) -> Vec<Trial> {
        let on_gpu = self.on_gpu(name, gpu, test.clone());
        vec![
            self.host(&format!("cpu::{name}"), move || test(cpu())),
            on_gpu,
        ]
    }

    /// [`on_each_device`](Self::on_each_device) for a table of tests.
    pub fn all_on_each_device(&self, tests: &[DeviceTest]) -> Vec<Trial> {
        let of_one = |&(name, test): &DeviceTest| self.on_each_device(name, test);
        tests.iter().flat_map(of_one).collect()
    }

    /// The trial `module::name`, ignored unless an environment variable is set, whose value it gets.
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

    /// The trial `module::name`, ignored where `missing` names what it needs and is not there.
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

    /// The trial `module::gpu::name` on the GPU that `open` gives, [`gpu`] or [`folding_gpu`].
    pub fn on_gpu(
        &self,
        name: &str,
        open: fn() -> Result<&'static Device, &'static str>,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        Trial::ignorable_test(
            format!("{}::gpu::{name}", self.module),
            move || match open() {
                Ok(device) => within(device, test).map(|()| Completion::Completed),
                Err(reason) if gpu_is_required() => Err(reason.into()),
                Err(reason) => Ok(Completion::ignored_with(reason)),
            },
        )
    }
}

impl Bench {
    /// The trial `module::gpu::name` on the GPU, ignored where that has no cooperative matrices.
    pub fn on_matrices(&self, name: &str, test: impl FnOnce(&Device) + Send + 'static) -> Trial {
        let has = |device: &Device| device.info().matrices.is_some();
        self.where_it_has(name, has, "no cooperative matrices", test)
    }

    /// The same, ignored where the GPU is none for the native tier.
    pub fn on_native(&self, name: &str, test: impl FnOnce(&Device) + Send + 'static) -> Trial {
        let has = |device: &Device| device.info().native;
        self.where_it_has(name, has, "no native tier", test)
    }

    fn where_it_has(
        &self,
        name: &str,
        has: fn(&Device) -> bool,
        lacks: &'static str,
        test: impl FnOnce(&Device) + Send + 'static,
    ) -> Trial {
        let name = format!("{}::gpu::{name}", self.module);
        Trial::ignorable_test(name, move || match gpu() {
            Ok(device) if has(device) => within(device, test).map(|()| Completion::Completed),
            Ok(_) => Ok(Completion::ignored_with(format!("the GPU has {lacks}"))),
            Err(reason) if gpu_is_required() => Err(reason.into()),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        })
    }
}

/// The depth that the documentation promises of sums of so many products by a device's matrices, which may cut and not
/// round.
pub fn depth_by_matrices(device: &Device) -> impl Fn(usize) -> f64 + use<> {
    let side = device.info().matrices.unwrap_or(16);
    move |terms| 4.0 * (side as f64 + terms.div_ceil(side) as f64)
}

/// The tiers that a device has for every type.
pub fn tiers(device: &Device) -> impl Iterator<Item = Tier> + use<> {
    let native = device.info().native.then_some(Tier::Native);
    [Tier::Baseline].into_iter().chain(native)
}

/// Whether a device computes on the CPU: there a tenth of the cases has to do where matrices are imitated value by
/// value.
pub fn is_software(device: &Device) -> bool {
    device.info().kind == DeviceKind::Software
}

/// How often a kernel is repeated that must give the same bits: where invocations run in order, seldom.
pub fn repeats(device: &Device) -> usize {
    if is_software(device) { 2 } else { 1000 }
}

/// The CPU device of all trials.
pub fn cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(Device::cpu)
}

/// The GPU of all trials. It fills its results with NaN before it computes them.
#[cfg(feature = "gpu")]
pub fn gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |_| ())
}

/// The same GPU, so narrow that dispatches are folded over several dimensions that never are on the other.
#[cfg(feature = "gpu")]
pub fn folding_gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |options| {
        options.max_workgroups_per_dimension = Some(20)
    })
}

/// The same GPU, whose kernels count their accesses outside buffers.
#[cfg(feature = "gpu")]
pub fn instrumented_gpu() -> Result<&'static Device, &'static str> {
    static GPUS: Opened = [const { OnceLock::new() }; DEVICES];
    opened(&GPUS, |options| options.instrumented = true)
}

/// The GPU is opened this often, for as many trials at once: a software one runs what comes through one device on one
/// core.
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
    let opened = slots[SLOT.with(|slot| *slot)].get_or_init(|| {
        let mut options = vsla::device::GpuOptions {
            poison: true,
            instrumented: all_are_instrumented(),
            ..Default::default()
        };
        adjust(&mut options);
        Device::gpu(options).map_err(|error| error.to_string())
    });
    opened.as_ref().map_err(String::as_str)
}

#[cfg(not(feature = "gpu"))]
pub fn gpu() -> Result<&'static Device, &'static str> {
    Err("this build has no GPU support")
}

#[cfg(not(feature = "gpu"))]
pub fn folding_gpu() -> Result<&'static Device, &'static str> {
    gpu()
}

fn gpu_is_required() -> bool {
    std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1")
}

/// Whether trials take all cases, and not only those that stand for the others.
pub fn is_long() -> bool {
    std::env::var("VSLA_LONG").is_ok_and(|value| value == "1")
}

/// Says on stderr which GPU the trials use, or why there is none.
pub fn announce_gpu() {
    match gpu() {
        Ok(device) => eprintln!("GPU: {}", device.info()),
        Err(reason) if gpu_is_required() => eprintln!("no GPU, but one is required: {reason}"),
        Err(reason) => eprintln!("no GPU, its tests are ignored: {reason}"),
    }
}

thread_local! {
    /// Where and with which words the trial on this thread panicked last; `None` outside a trial.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message of a panic inside a trial for that trial's report, instead of printing it between the
/// names of the others. A property that is being shrunk panics often; only its last word matters.
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

/// The message of the panic that `f` must end in, with its place.
#[track_caller]
pub fn panic_of(f: impl FnOnce()) -> String {
    let outcome = panic::catch_unwind(AssertUnwindSafe(f));
    assert!(outcome.is_err(), "no panic came");
    PANIC.with_borrow(|kept| kept.clone().unwrap_or_default())
}

/// Whether the trials' GPUs count accesses outside buffers.
#[cfg(feature = "gpu")]
pub fn all_are_instrumented() -> bool {
    std::env::var("VSLA_INSTRUMENTED").is_ok_and(|value| value == "1")
}

/// Runs `test`, after which no kernel may have reached outside its buffers, where the device is one that counts it.
fn within(device: &Device, test: impl FnOnce(&Device)) -> Result<(), Failed> {
    guarded(|| {
        test(device);
        assert_within(device);
    })
}

/// No kernel reached outside its buffers since this was asked last, where the device is one that counts it.
#[track_caller]
#[cfg(feature = "gpu")]
pub fn assert_within(device: &Device) {
    let outside = device.accesses_outside().unwrap();
    assert!(outside.is_empty(), "outside of buffers: {outside:#?}");
}

#[cfg(not(feature = "gpu"))]
pub fn assert_within(_: &Device) {}

/// Runs `test`; a panic becomes the failure's message.
fn guarded(test: impl FnOnce()) -> Result<(), Failed> {
    PANIC.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(test));
    let message = PANIC.take().unwrap_or_default();
    outcome.map_err(|payload| {
        if !message.is_empty() {
            return message.into();
        }
        // The panic came from another thread, whose hook has printed it already.
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without a message").into()
    })
}
