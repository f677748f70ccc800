//! Profiling: the device time of the work that a closure records.

use std::time::Duration;

use super::Device;
use super::device::Backend;
use crate::Result;

/// One dispatch and the device time that it took.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct KernelTime {
    /// The operation that it belongs to.
    pub op: &'static str,
    /// The kernel: its stem, element type and flags.
    pub kernel: String,
    /// When it began, relative to the start of the first dispatch.
    pub start: Duration,
    /// How long it took.
    pub time: Duration,
}

/// The measurements of [`Device::profile`].
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// The sum of the kernels' times. `None` if the device has no timestamps; the CPU never has them, and a GPU in a
    /// browser neither, because a call cannot wait for them there.
    pub device_time: Option<Duration>,
    /// Every dispatch, in order.
    pub kernels: Vec<KernelTime>,
    /// The most bytes that live tensors held at one time, as [`Memory::live`](crate::device::Memory::live) counts them:
    /// operands, results and scratch memory, and whatever else was live.
    pub peak: u64,
}

impl Device {
    /// Runs `body` and returns its result together with the device time of everything it recorded, and the memory that
    /// this took.
    ///
    /// Each dispatch is timed separately and waits for the one before it, so the sum of the times is at least what an
    /// unprofiled run takes on the device. The call waits for the device. Work that other threads record in the
    /// meantime is counted too; a profile inside a profile measures nothing.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::auto();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32; 100]])?)?;
    /// let (sum, profile) = device.profile(|| x.sum())?;
    /// assert_eq!(sum?.download_blocking()?.values(), [100.0]);
    /// assert!(profile.peak >= 404);
    /// if let Some(time) = profile.device_time {
    ///     println!("{time:?} in {} kernels", profile.kernels.len());
    /// }
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn profile<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Profile)> {
        let watching = Watching::new(self);
        match self.backend() {
            Backend::Cpu(_) => {
                let result = body();
                let profile = Profile {
                    peak: watching.end(),
                    ..Profile::default()
                };
                Ok((result, profile))
            }
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                let timed = gpu.profile_begin()?;
                // Ends the profile even if `body` panics: the next profile must not include this one's work.
                struct End<'a>(Option<&'a crate::gpu::Gpu>);
                impl Drop for End<'_> {
                    fn drop(&mut self) {
                        if let Some(gpu) = self.0.take() {
                            let _ = gpu.profile_end();
                        }
                    }
                }
                let mut end = End(timed.then_some(&**gpu));
                let result = body();
                end.0 = None;
                let peak = watching.end();
                if !timed {
                    let profile = Profile {
                        peak,
                        ..Profile::default()
                    };
                    return Ok((result, profile));
                }
                let kernels: Vec<KernelTime> = gpu
                    .profile_end()?
                    .into_iter()
                    .map(|(op, kernel, start, stop)| KernelTime {
                        op,
                        kernel,
                        start,
                        time: stop.saturating_sub(start),
                    })
                    .collect();
                let device_time = Some(kernels.iter().map(|k| k.time).sum());
                Ok((
                    result,
                    Profile {
                        device_time,
                        kernels,
                        peak,
                    },
                ))
            }
        }
    }
}

/// Watches the bytes of live tensors until it is dropped, if nobody else does.
struct Watching<'a>(Option<&'a Device>);

impl Watching<'_> {
    fn new(device: &Device) -> Watching<'_> {
        let first = match device.backend() {
            Backend::Cpu(cpu) => cpu.watch(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.watch(),
        };
        Watching(first.then_some(device))
    }

    /// The most bytes; 0 if another profile is being taken.
    fn end(mut self) -> u64 {
        self.0.take().map_or(0, Watching::stop)
    }

    fn stop(device: &Device) -> u64 {
        match device.backend() {
            Backend::Cpu(cpu) => cpu.watched(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.watched(),
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Some(device) = self.0.take() {
            Watching::stop(device);
        }
    }
}
