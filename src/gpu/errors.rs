//! What wgpu reports, as errors of ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Error, Result};

pub(crate) fn from_wgpu(device: &wgpu::Device, op: &'static str, error: wgpu::Error) -> Error {
    match error {
        // wgpu gives a device up when a submission or a pipeline finds no memory, and not when a buffer does.
        wgpu::Error::OutOfMemory { .. } if is_lost(device) => Error::DeviceLost {
            op,
            reason: "out of memory".to_owned(),
        },
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory {
            op,
            bytes: 0,
            available: None,
        },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            if is_lost(device) {
                Error::DeviceLost {
                    op,
                    reason: description,
                }
            } else {
                Error::Gpu {
                    op,
                    message: description,
                }
            }
        }
    }
}

/// Whether the device is gone.
///
/// wgpu tells the device's callback, which may be the application's, and nobody else: what is made on a lost device is
/// invalid, and only the use of it is an error. So this makes something and uses it. What cannot be made for another
/// reason, such as memory that ran out, says so.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scopes = [
        wgpu::ErrorFilter::OutOfMemory,
        wgpu::ErrorFilter::Internal,
        wgpu::ErrorFilter::Validation,
    ]
    .map(|filter| device.push_error_scope(filter));
    let probe = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("vsla probe"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    let unusable = probe.get_mapped_range_mut(..).is_err();
    let errors = scopes
        .into_iter()
        .rev()
        .map(|scope| pollster::block_on(scope.pop()));
    // All scopes are popped, in their order.
    let explained = errors.flatten().count() > 0;
    unusable && !explained
}

/// Runs `body` with wgpu's errors caught instead of sent to whoever owns the device's error callback.
pub(crate) fn caught<R>(
    device: &wgpu::Device,
    op: &'static str,
    body: impl FnOnce() -> R,
) -> Result<R> {
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let result = body();
    let errors = [validation.pop(), internal.pop(), memory.pop()].map(pollster::block_on);
    match errors.into_iter().flatten().next() {
        None => Ok(result),
        Some(error) => Err(from_wgpu(device, op, error)),
    }
}

/// The innermost cause in a description of wgpu's, which tells it from the outside in.
pub(crate) fn cause(description: &str) -> String {
    let mut lines = description.lines().map(str::trim);
    let innermost = lines.rfind(|line| !line.is_empty());
    innermost.unwrap_or(description).to_owned()
}

/// Whether the device can still work, and what it did not do. Once it cannot, every later call says so.
#[derive(Default)]
pub(crate) struct Health {
    lost: OnceLock<String>,
    /// Submissions that failed although the device works, and why.
    failed: Mutex<Vec<(u64, String)>>,
    any_failed: AtomicBool,
}

impl Health {
    pub(crate) fn mark_lost(&self, reason: String) {
        log::error!("GPU device lost: {reason}");
        // A second report of the same loss changes nothing.
        let _ = self.lost.set(reason);
    }

    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::DeviceLost {
                op,
                reason: reason.clone(),
            }),
        }
    }

    /// Notes that what was recorded for this submission will never be computed.
    pub(crate) fn fail(&self, submission: u64, reason: String) {
        log::error!("recorded work could not be submitted: {reason}");
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push((submission, reason));
        self.any_failed.store(true, Ordering::Release);
    }

    /// Why what this submission writes was never computed, if so.
    pub(crate) fn failure(&self, submission: u64) -> Option<String> {
        if !self.any_failed.load(Ordering::Acquire) {
            return None;
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed.iter().find(|(number, _)| *number == submission);
        found.map(|(_, reason)| reason.clone())
    }

    /// Notes the loss of the device, if that is what the error tells, and passes it on.
    pub(crate) fn note(&self, error: Error) -> Error {
        if let Error::DeviceLost { reason, .. } = &error {
            self.mark_lost(reason.clone());
        }
        error
    }
}
