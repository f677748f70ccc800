//! Saves a device's compiled kernels.

use std::sync::{Mutex, PoisonError};

use super::sink;
use crate::error::Named;
use crate::{Device, Result};

/// Held while a file is read, completed and replaced, so that another device does not replace it meanwhile.
static SAVING: Mutex<()> = Mutex::new(());

impl Device {
    /// Writes the kernels that have been compiled so far to the file of [`GpuOptions::pipeline_cache`], which a device
    /// of a later process reads when it is opened. Returns whether there was something to write: `false` for devices
    /// that were opened without that option, for the CPU, and where wgpu keeps no compiled kernels.
    ///
    /// Call it after warm-up, when [`info().pipelines`](crate::device::DeviceInfo::pipelines) no longer grows. The file
    /// is replaced as a whole, once the new one is complete.
    ///
    /// Several devices may use one file. It keeps the kernels of every model of adapter. If another device of the same
    /// model has saved to it meanwhile, this call compiles this device's own kernels once more, into what the other one
    /// has saved. Of two processes that save at the same moment, the last one decides.
    ///
    /// [`GpuOptions::pipeline_cache`]: crate::device::GpuOptions::pipeline_cache
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) if the file cannot be read or written; [`DeviceLost`](crate::Error::DeviceLost).
    ///
    /// ```
    /// use vsla::device::GpuOptions;
    /// use vsla::{Device, Ragged};
    ///
    /// let path = std::env::temp_dir().join("doc-save-pipelines.bin");
    /// let options = GpuOptions { pipeline_cache: Some(path.clone()), ..GpuOptions::default() };
    /// # let Ok(_) = Device::gpu_blocking(options.clone()) else { return Ok(()) };
    /// let device = Device::gpu_blocking(options)?;
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, -2.0], vec![3.0]])?)?;
    /// assert_eq!(x.relu()?.download_blocking()?.row(0), [1.0, 0.0]);
    /// let saved = device.save_pipelines()?;
    /// assert_eq!(saved, path.exists());
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn save_pipelines(&self) -> Result<bool> {
        let _alone = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((path, file)) = self.kept_pipelines().named("save_pipelines")? else {
            return Ok(false);
        };
        sink::replace(path, |sink| sink.bytes(&file))?;
        Ok(true)
    }
}
