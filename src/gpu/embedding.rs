//! What an application hands over: its device and queue, and buffers of its own.
//!
//! wgpu finds an object by its number, in the tables of the instance that the *called* handle belongs to. The
//! number of a handle from another instance is the number of something else here, or of nothing, on which wgpu
//! panics; comparing handles compares numbers. So whose a handle is must be known before it is passed to anything
//! of ours. wgpu does not tell; but what a handle itself does or reports happens on its own device, and that shows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::context::lacking;
use super::errors::{Health, caught, cause, is_lost};
use super::pool::GpuBuffer;
use super::{Gpu, GpuOptions};
use crate::{Error, Result};

/// Whether work of this queue is done by this device.
///
/// The queue of another device may belong to another instance, so nothing may be submitted to it. A queue calls
/// back when its *own* device is polled, on the thread that polls: that tells them apart, and leaves no trace on
/// another device. Where other threads poll the same device, one of them may come first, so it is tried again.
fn is_queue_of(device: &wgpu::Device, queue: &wgpu::Queue) -> bool {
    const ATTEMPTS: usize = 32;
    // Callbacks of the application that are due may do anything: not between the question and the answer.
    let wait = || device.poll(wgpu::PollType::wait_indefinitely());
    let _ = wait();
    (0..ATTEMPTS).any(|_| {
        let (answer, answered) = channel();
        queue.on_submitted_work_done(move || {
            let _ = answer.send(thread::current().id());
        });
        // A loss shows in the next call.
        let _ = wait();
        answered.try_recv() == Ok(thread::current().id())
    })
}

/// Whether this very device made the buffer.
///
/// A buffer reports what is wrong with a request to the error scopes of its own device. So it is asked for what it
/// cannot do, inside a scope of this device: what arrives there came from a buffer of this device. A buffer of
/// another device reports to the scopes and the error handler of that one. If that is wgpu's own handler, which
/// panics, the panic ends here; a program whose panics abort ends with it, as with any wrong use of wgpu. wgpu 30
/// has no question that is answered without the handler: what a handle tells quietly (its number, size, usage and
/// whether it is mapped) is the same for buffers of two instances. One door stays open: a handler that misuses
/// *this* device while it is told of a buffer of another one leaves an error in the scope, which counts as the
/// buffer's.
///
/// False for a buffer that is mapped, too: it cannot be asked without a trace.
fn made(device: &wgpu::Device, buffer: &wgpu::Buffer) -> bool {
    // The handle of a mappable one notes that it is being mapped, so two questions at once would be in each other's
    // way.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mappable = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE;
    let mappable = buffer.usage().intersects(mappable);
    // Any buffer can be mapped since it was made, and then all of it is.
    if !mappable && buffer.get_mapped_range(..0).is_ok() {
        return false;
    }
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let asked = catch_unwind(AssertUnwindSafe(|| match mappable {
        // It is not mapped.
        false => buffer.unmap(),
        // One byte is too few. A buffer that is mapped, or is about to be, does not even ask its device.
        true => buffer.map_async(wgpu::MapMode::Read, ..1, |_| ()),
    }));
    let made = pollster::block_on(scope.pop()).is_some() && asked.is_ok();
    if made && mappable {
        // Takes the note back, so that the application can map it. On another device's it stays until that one is
        // unmapped.
        let _ = caught(device, "import", || buffer.unmap());
    }
    made
}

impl Gpu {
    /// Wraps the application's own device. Its error and loss callbacks stay the application's.
    pub(crate) fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: &GpuOptions,
    ) -> Result<Gpu> {
        const OP: &str = "from_wgpu";
        let unfit = |what: String| Err(Error::Unsupported { op: OP, what });
        if is_lost(&device) {
            return Err(Error::DeviceLost {
                op: OP,
                reason: "it was lost before".to_owned(),
            });
        }
        let (info, own) = (adapter.get_info(), device.adapter_info());
        if info != own {
            return unfit(format!(
                "the adapter is {} ({}), and the device is one of {} ({})",
                info.name, info.backend, own.name, own.backend
            ));
        }
        if let Some(what) = lacking(&device.limits()) {
            return unfit(what);
        }
        if !is_queue_of(&device, &queue) {
            return unfit("the queue is that of another wgpu device".to_owned());
        }
        let why = "the application's own device".to_owned();
        let health = Arc::new(Health::default());
        Gpu::new(adapter, device, queue, health, why, options)
    }

    /// Wraps a buffer of the application. It is bound once, which shows whether it can be used.
    pub(crate) fn lend(&self, op: &'static str, buffer: wgpu::Buffer) -> Result<Arc<GpuBuffer>> {
        self.health.check(op)?;
        if !made(&self.device, &buffer) {
            // What is wrong on a lost device is not reported.
            if is_lost(&self.device) {
                let reason = "no buffer of it can be used".to_owned();
                return Err(self.health.note(Error::DeviceLost { op, reason }));
            }
            return Err(Error::Unsupported {
                op,
                what: format!(
                    "the buffer of {} bytes belongs to another wgpu device or instance, or is mapped",
                    buffer.size()
                ),
            });
        }
        let lent = self.pool.lend(buffer);
        caught(&self.device, op, || {
            let layout = self
                .device
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

    /// Readies a buffer for the application, which will keep the handle for as long as it likes.
    pub(crate) fn share(&self, buffer: &GpuBuffer) -> Result<()> {
        if buffer.is_shared() {
            return Ok(());
        }
        self.recorder().share(&self.machine(), "export", buffer)
    }
}
