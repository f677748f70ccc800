//! What wgpu reports, as errors of ours.

use std::sync::OnceLock;

use crate::{Error, Result};

pub(crate) fn from_wgpu(device: &wgpu::Device, op: &'static str, error: wgpu::Error) -> Error {
    match error {
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
/// invalid, and only the use of it is an error. So this makes something and uses it.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation]
        .map(|filter| device.push_error_scope(filter));
    let probe = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("vsla probe"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    let lost = probe.get_mapped_range_mut(..).is_err();
    for scope in scopes.into_iter().rev() {
        // Only the mapping counts.
        drop(pollster::block_on(scope.pop()));
    }
    lost
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

/// Whether the device can still work. Once it cannot, every later call says so.
#[derive(Default)]
pub(crate) struct Health {
    lost: OnceLock<String>,
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

    /// Notes a failure after which recorded work is gone, and passes it on.
    pub(crate) fn note(&self, error: Error) -> Error {
        match &error {
            Error::DeviceLost { reason, .. } => self.mark_lost(reason.clone()),
            Error::Gpu { message, .. } => self.mark_lost(message.clone()),
            _ => {}
        }
        error
    }
}
