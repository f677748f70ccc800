//! Converts wgpu's errors to this crate's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Error, Result};

pub(crate) fn from_wgpu(device: &wgpu::Device, op: &'static str, error: wgpu::Error) -> Error {
    match error {
        // wgpu invalidates the device when a submission or a pipeline runs out of memory, but not when a buffer does.
        wgpu::Error::OutOfMemory { .. } if is_lost(device) => {
            Error::device_lost(op, "out of memory")
        }
        wgpu::Error::OutOfMemory { .. } => Error::out_of_memory(op, 0, None),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            if is_lost(device) {
                Error::device_lost(op, description)
            } else {
                Error::gpu(op, description)
            }
        }
    }
}

/// Whether the device is lost.
///
/// wgpu reports a loss only to the device's callback, which may be the application's. Objects created on a lost device
/// are invalid, but only using them is an error. So this function creates a buffer and uses it. If creation fails for
/// another reason, such as lack of memory, an error scope catches that error.
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
    // Pops all scopes, innermost first.
    let explained = errors.flatten().count() > 0;
    unusable && !explained
}

/// Runs `body` and captures wgpu's errors instead of sending them to the device's error callback.
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

/// The innermost cause of a wgpu error description, which lists causes from the outermost in.
pub(crate) fn cause(description: &str) -> String {
    let mut lines = description.lines().map(str::trim);
    let innermost = lines.rfind(|line| !line.is_empty());
    innermost.unwrap_or(description).to_owned()
}

/// Whether the device still works, and which submissions failed. After a loss every later call fails.
#[derive(Default)]
pub(crate) struct Health {
    lost: OnceLock<String>,
    /// Submissions that failed although the device works, and the reasons.
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
            Some(reason) => Err(Error::device_lost(op, reason)),
        }
    }

    /// Records that the work of this submission will never be computed.
    pub(crate) fn fail(&self, submission: u64, reason: String) {
        log::error!("recorded work could not be submitted: {reason}");
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push((submission, reason));
        self.any_failed.store(true, Ordering::Release);
    }

    /// Why the outputs of this submission were never computed, if it failed.
    pub(crate) fn failure(&self, submission: u64) -> Option<String> {
        if !self.any_failed.load(Ordering::Acquire) {
            return None;
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed.iter().find(|(number, _)| *number == submission);
        found.map(|(_, reason)| reason.clone())
    }

    /// Marks the device as lost if the error says so, and passes the error on.
    pub(crate) fn note(&self, error: Error) -> Error {
        if let Error::DeviceLost { reason, .. } = &error {
            self.mark_lost(reason.clone());
        }
        error
    }
}
