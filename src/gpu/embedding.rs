//! Objects that an application passes in: its device, its queue and its buffers.
//!
//! wgpu looks up an object by its id, in the tables of the instance of the handle that is *called*. The id of a handle
//! from another instance refers to an unrelated object here, or to none, in which case wgpu panics. Comparing handles
//! only compares ids. So the owner of a handle must be known before it is passed to any of our objects. wgpu cannot
//! tell the owner, but the effects and errors of calls on a handle occur on its own device, and these can be observed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::context::lacking;
use super::errors::{Health, cause, is_lost};
use super::pool::GpuBuffer;
use super::{Gpu, GpuOptions};
use crate::{Error, Result};

const BROWSER: bool = cfg!(target_family = "wasm");

/// Whether this queue belongs to this device.
///
/// Nothing may be submitted or written to the queue, because it may belong to a device of another instance, whose
/// tables it would search for our ids. A queue runs its callbacks when its *own* device is polled, on the polling
/// thread. This identifies the device and leaves no trace on another one.
///
/// Another thread that polls the same device may run the callback first. So the test is repeated, and such a thread
/// waits inside the callback until the test ends: each can win only once, however fast it polls. wgpu holds no lock
/// while it runs callbacks. A thread that is testing a queue itself waits only for tests that began before its own.
///
/// In a browser, ids are no numbers but objects, which nothing can confuse, and callbacks do not run meanwhile. A queue
/// of another device is reported when work is submitted to it.
fn is_queue_of(device: &wgpu::Device, queue: &wgpu::Queue) -> bool {
    if BROWSER {
        return true;
    }
    /// More than the threads that poll a device at the same time.
    const ATTEMPTS: usize = 64;
    /// How long a thread that has received the callback may take to run it: it runs other callbacks before.
    const DELAY: Duration = Duration::from_millis(5);
    /// A thread waits no longer than this, because the callback of another one may need a lock that it holds.
    const PATIENCE: Duration = Duration::from_secs(1);
    static TESTS: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        /// The number of this thread's test.
        static TEST: Cell<u64> = const { Cell::new(u64::MAX) };
    }
    // Runs pending callbacks of the application first: they may do anything, so none may run between request and reply.
    let wait = || device.poll(wgpu::PollType::wait_indefinitely());
    let _ = wait();
    let this = thread::current().id();
    let number = TESTS.fetch_add(1, Ordering::Relaxed);
    // This may be a callback that the application runs during another test.
    let outer = TEST.get();
    TEST.set(number.min(outer));
    // Dropped at the end, which releases all other threads.
    let mut waiting = Vec::with_capacity(ATTEMPTS);
    let is_own = (0..ATTEMPTS).any(|_| {
        let (answer, answered) = channel();
        let (release, released) = channel::<()>();
        waiting.push(release);
        queue.on_submitted_work_done(move || {
            let thread = thread::current().id();
            let _ = answer.send(thread);
            if thread != this && TEST.get() > number {
                let _ = released.recv_timeout(PATIENCE);
            }
        });
        // A lost device shows in the next call.
        let _ = wait();
        answered.recv_timeout(DELAY) == Ok(this)
    });
    TEST.set(outer);
    is_own
}

/// Whether this very device created the buffer.
///
/// A buffer reports an invalid request to the error scopes of its own device. So this function makes an invalid request
/// inside an error scope of this device: if the error arrives there, the buffer belongs to this device. A buffer of
/// another device reports to the scopes and the error handler of that device. wgpu's default handler panics; that panic
/// is caught here, but a program compiled to abort on panic aborts, as with any misuse of wgpu. wgpu 30 has no query
/// that bypasses the handler: all silent properties of a handle (id, size, usage, whether it is mapped) can be equal
/// for buffers of two instances. One false positive remains: an error handler that misuses *this* device while it
/// handles the error of another one leaves an error in the scope, which is then attributed to the buffer.
///
/// Also false for a mapped buffer, which cannot be tested without side effects.
///
/// A browser reports errors later, and those of the wrong device when work on the buffer is submitted.
fn made(health: &Health, buffer: &wgpu::Buffer) -> bool {
    if BROWSER {
        return true;
    }
    // The handle of a mappable buffer records that it is being mapped, so two concurrent tests would interfere.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mappable = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE;
    let mappable = buffer.usage().intersects(mappable);
    // Any buffer can be mapped at creation, and then all of it is mapped.
    if !mappable && buffer.get_mapped_range(..0).is_ok() {
        return false;
    }
    let scope = health
        .device
        .push_error_scope(wgpu::ErrorFilter::Validation);
    let probe = catch_unwind(AssertUnwindSafe(|| match mappable {
        // It is not mapped, so `unmap` is an error.
        false => buffer.unmap(),
        // Mapping a single byte is an error. A buffer that is mapped or about to be mapped fails without asking its
        // device.
        true => buffer.map_async(wgpu::MapMode::Read, ..1, |_| ()),
    }));
    let made = pollster::block_on(scope.pop()).is_some() && probe.is_ok();
    if made && mappable {
        // Clears the mapping state, so that the application can map the buffer. On a buffer of another device the state
        // persists until that buffer is unmapped.
        let _ = health.caught("import", || buffer.unmap());
    }
    made
}

impl Gpu {
    /// Wraps the application's own device. Its error and device-lost callbacks remain the application's.
    pub(crate) fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: &GpuOptions,
    ) -> Result<Gpu> {
        const OP: &str = "from_wgpu";
        let unfit = |what: String| Err(Error::unsupported(what).named(OP));
        if is_lost(&device) {
            return Err(Error::device_lost(OP, "the device was already lost"));
        }
        let (info, own) = (adapter.get_info(), device.adapter_info());
        if info != own {
            return unfit(format!(
                "the adapter is {} ({}), but the device belongs to {} ({}); pass the adapter of the device",
                info.name, info.backend, own.name, own.backend
            ));
        }
        if let Some(what) = lacking(&device.limits()) {
            return unfit(what);
        }
        if !is_queue_of(&device, &queue) {
            return unfit(
                "the queue belongs to another wgpu device; pass the queue of the device".to_owned(),
            );
        }
        let why = "the application's own device".to_owned();
        Gpu::new((adapter, queue), Health::new(device), (None, why), options)
    }

    /// Wraps an application's buffer. It is bound once, to check that it is usable.
    pub(crate) fn lend(&self, op: &'static str, buffer: wgpu::Buffer) -> Result<Arc<GpuBuffer>> {
        self.health.check(op)?;
        if !made(&self.health, &buffer) {
            // A lost device does not report errors.
            if is_lost(&self.device) {
                let reason = "it reports no errors for its buffers".to_owned();
                return Err(self.health.note(Error::device_lost(op, reason)));
            }
            return Err(Error::unsupported(format!(
                    "the buffer of {} bytes belongs to another wgpu device or instance, or is mapped; create it on \
                     this device, and unmap it",
                    buffer.size()
                ),
            ).named(op));
        }
        let lent = self.pool.lend(buffer);
        self.health
            .caught(op, || {
                let layout =
                    self.device
                        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                            label: Some("vsla import"),
                            entries: &[wgpu::BindGroupLayoutEntry {
                                binding: 0,
                                visibility: wgpu::ShaderStages::COMPUTE,
                                ty: wgpu::BindingType::Buffer {
                                    ty: wgpu::BufferBindingType::Storage { read_only: true },
                                    has_dynamic_offset: false,
                                    min_binding_size: None,
                                },
                                count: None,
                            }],
                        });
                self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some("vsla import"),
                    layout: &layout,
                    entries: &[wgpu::BindGroupEntry {
                        binding: 0,
                        resource: lent.raw.as_entire_binding(),
                    }],
                })
            })
            .map_err(|error| match error {
                Error::Gpu { op, message } => Error::Buffer {
                    op,
                    buffer: lent.to_string(),
                    reason: cause(&message),
                },
                other => self.health.note(other),
            })?;
        Ok(lent)
    }

    /// Prepares a buffer for export. The application may keep the handle indefinitely.
    pub(crate) fn share(&self, buffer: &GpuBuffer) -> Result<()> {
        if buffer.is_shared() {
            return Ok(());
        }
        self.recorder().share(&self.machine(), "export", buffer)
    }
}
