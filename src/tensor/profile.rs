//! Profiling: the device time of the work that a closure records.

use std::time::Duration;

use super::Device;
use super::device::Backend;
use crate::Result;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, Profiler};
use crate::machine::Wait;

/// One dispatch and the device time that it took.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct KernelTime {
    /// The operation that it belongs to.
    pub op: &'static str,
    /// The kernel: its stem, element type and flags. `.parts` follows if its parts ran, one after the other: while the
    /// driver still compiles the whole kernel, and always on a software GPU.
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
    /// The sum of the kernels' times. `None` if the device has no timestamps; the CPU never has them. Browsers round
    /// them, by default to 100 µs.
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
    /// unprofiled run takes on the device. The times are read back when the device is done. Work that other threads
    /// record while `body` runs is counted too; a profile inside `body` measures nothing.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::auto();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32; 100]])?)?;
    /// # pollster::block_on(async {
    /// let (sum, profile) = device.profile(|| x.sum()).await?;
    /// assert_eq!(sum?.download().await?.values(), [100.0]);
    /// assert!(profile.peak >= 404);
    /// if let Some(time) = profile.device_time {
    ///     println!("{time:?} in {} kernels", profile.kernels.len());
    /// }
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn profile<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Profile)> {
        let (result, measured) = self.measured(body)?;
        Ok((result, self.read_times(measured, Wait::Elsewhere).await?))
    }

    /// [`profile`](Self::profile), blocking the thread.
    ///
    /// # Errors
    /// Those of [`profile`](Self::profile); in a browser, [`Unsupported`](crate::Error::Unsupported) if there are times
    /// to wait for.
    pub fn profile_blocking<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Profile)> {
        let (result, measured) = self.measured(body)?;
        let profile = pollster::block_on(self.read_times(measured, Wait::Here))?;
        Ok((result, profile))
    }

    /// Runs `body`, and ends the measurement even if it panics: the next profile must not include this one's work.
    fn measured<R>(&self, body: impl FnOnce() -> R) -> Result<(R, Measured)> {
        let watching = Watching::new(self);
        #[cfg(feature = "gpu")]
        let timing = match self.backend() {
            Backend::Cpu(_) => Timing(None),
            Backend::Gpu(gpu) => Timing(gpu.profile_begin()?.then_some(gpu)),
        };
        let result = body();
        Ok((
            result,
            Measured {
                #[cfg(feature = "gpu")]
                timestamps: timing.end(),
                peak: watching.end(),
            },
        ))
    }

    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "only a GPU is waited for")
    )]
    async fn read_times(&self, measured: Measured, wait: Wait) -> Result<Profile> {
        #[cfg(feature = "gpu")]
        if let (Backend::Gpu(gpu), Some(timestamps)) = (self.backend(), measured.timestamps) {
            let times = gpu.profile_times(timestamps, wait).await?;
            let kernels = times
                .into_iter()
                .map(|(op, kernel, start, stop)| KernelTime {
                    op,
                    kernel,
                    start,
                    time: stop.saturating_sub(start),
                });
            let kernels: Vec<KernelTime> = kernels.collect();
            return Ok(Profile {
                device_time: Some(kernels.iter().map(|k| k.time).sum()),
                kernels,
                peak: measured.peak,
            });
        }
        Ok(Profile {
            peak: measured.peak,
            ..Profile::default()
        })
    }
}

/// What a profile measured.
struct Measured {
    /// The timestamps of the dispatches, on the device. `None` if the device does not support them, and inside another
    /// profile.
    #[cfg(feature = "gpu")]
    timestamps: Option<Profiler>,
    peak: u64,
}

/// Takes timestamps until it is dropped.
#[cfg(feature = "gpu")]
struct Timing<'a>(Option<&'a Gpu>);

#[cfg(feature = "gpu")]
impl Timing<'_> {
    fn end(mut self) -> Option<Profiler> {
        self.0.take().and_then(Gpu::profile_end)
    }
}

#[cfg(feature = "gpu")]
impl Drop for Timing<'_> {
    fn drop(&mut self) {
        if let Some(gpu) = self.0.take() {
            gpu.profile_end();
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
