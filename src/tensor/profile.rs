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
    /// The sum of the kernels' times. `None` if the device has no timestamps; the CPU never has them.
    pub device_time: Option<Duration>,
    /// Every dispatch, in order.
    pub kernels: Vec<KernelTime>,
}

impl Device {
    /// Runs `body` and returns its result together with the device time of everything it recorded.
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
    /// if let Some(time) = profile.device_time {
    ///     println!("{time:?} in {} kernels", profile.kernels.len());
    /// }
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn profile<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Profile)> {
        match self.backend() {
            Backend::Cpu(_) => Ok((body(), Profile::default())),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                if !gpu.profile_begin()? {
                    return Ok((body(), Profile::default()));
                }
                // Ends the profile even if `body` panics: the next profile must not include this one's work.
                struct End<'a>(Option<&'a crate::gpu::Gpu>);
                impl Drop for End<'_> {
                    fn drop(&mut self) {
                        if let Some(gpu) = self.0.take() {
                            let _ = gpu.profile_end();
                        }
                    }
                }
                let mut end = End(Some(gpu));
                let result = body();
                end.0 = None;
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
                    },
                ))
            }
        }
    }
}
