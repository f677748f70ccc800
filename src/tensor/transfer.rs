//! Between host and device: upload, download, and the application's own buffers.

use super::device::Backend;
use super::{Device, Storage, Tensor};
#[cfg(feature = "gpu")]
use crate::gpu::Wait;
use crate::ragged::{Element, Layout, Ragged};
use crate::{Error, Result};

impl Device {
    pub(super) fn upload_parts<T: Element>(
        &self,
        layout: &Layout,
        values: &[T],
    ) -> Result<Tensor<T>> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let storage = match self.backend() {
            Backend::Cpu(cpu) => Storage::Cpu(cpu.upload("upload", bytes)?),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => Storage::Gpu(gpu.upload("upload", layout, T::DTYPE, bytes)?),
        };
        Ok(Tensor::new(self, storage, 0, layout.clone()))
    }

    /// A tensor over a buffer of the application: nothing is copied.
    ///
    /// `offset` is in bytes; complex values lie as two `f32` each. The buffer must belong to this device and be usable as storage and for copies, and the
    /// application must not write to it while tensors over it are in use.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) on the CPU, for an offset that is not a multiple of the size of a value, for a
    /// buffer whose size is 0 or not a multiple of 16 (kernels read four values at a time), for one without the usages
    /// `STORAGE | COPY_SRC`, or for one of another device of the same instance; [`ValueCount`](Error::ValueCount) when the buffer is shorter than the
    /// layout; [`TooLarge`](Error::TooLarge) above the binding limit.
    #[cfg(feature = "gpu")]
    pub fn import<T: Element>(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        layout: &Layout,
    ) -> Result<Tensor<T>> {
        const OP: &str = "import";
        let unsupported = |what: String| Err(Error::Unsupported { op: OP, what });
        let Backend::Gpu(gpu) = self.backend() else {
            return unsupported("a wgpu buffer on the CPU device".to_owned());
        };
        let needed = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        if !buffer.usage().contains(needed) {
            return unsupported(format!(
                "a buffer of usages {:?}, which lacks some of {needed:?}",
                buffer.usage()
            ));
        }
        let size = T::DTYPE.size() as u64;
        if !offset.is_multiple_of(size) || !buffer.size().is_multiple_of(16) || buffer.size() == 0 {
            return unsupported(format!(
                "an offset of {offset} in a buffer of {} bytes: they must be multiples of {size} and of 16",
                buffer.size()
            ));
        }
        let there = buffer.size().saturating_sub(offset) / size;
        if there < layout.total() as u64 {
            return Err(Error::ValueCount {
                op: OP,
                element: None,
                expected: layout.total(),
                got: there as usize,
            });
        }
        if buffer.size() > gpu.limits.binding_bytes {
            return Err(Error::TooLarge {
                op: OP,
                element: None,
                what: "buffer".to_owned(),
                bytes: buffer.size(),
                limit: gpu.limits.binding_bytes,
            });
        }
        let storage = Storage::Gpu(gpu.lend(OP, buffer.clone())?);
        Ok(Tensor::new(
            self,
            storage,
            offset as usize / T::DTYPE.unit(),
            layout.clone(),
        ))
    }
}

impl<T: Element> Tensor<T> {
    /// The buffer that holds the values, and the byte at which they begin; `None` on the CPU.
    ///
    /// Call [`Device::flush`] before using it: the work that writes it may still be waiting. The buffer goes back to
    /// the device's pool with the last tensor over it.
    #[cfg(feature = "gpu")]
    pub fn export(&self) -> Option<(&wgpu::Buffer, u64)> {
        match &self.storage {
            Storage::Cpu(_) => None,
            Storage::Gpu(buffer) => Some((&buffer.raw, self.begin() as u64)),
        }
    }

    /// Brings the batch back to the host, after everything recorded on it.
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost), [`OutOfMemory`](Error::OutOfMemory).
    pub async fn download(&self) -> Result<Ragged<T>> {
        let mut values = self.host_values()?;
        self.download_into(&mut values).await?;
        Ragged::from_parts(self.layout.clone(), values)
    }

    /// [`download`](Self::download), blocking the thread.
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    pub fn download_blocking(&self) -> Result<Ragged<T>> {
        let mut values = self.host_values()?;
        self.download_into_blocking(&mut values)?;
        Ragged::from_parts(self.layout.clone(), values)
    }

    fn host_values(&self) -> Result<Vec<T>> {
        bytemuck::allocation::try_zeroed_vec(self.layout.total()).map_err(|()| Error::OutOfMemory {
            op: "download",
            bytes: (self.layout.total() * T::DTYPE.size()) as u64,
            available: None,
        })
    }

    /// Brings the values back into a slice of the caller, packed as in the batch.
    ///
    /// # Errors
    /// [`ValueCount`](Error::ValueCount) when the slice has another length; those of [`download`](Self::download).
    pub async fn download_into(&self, values: &mut [T]) -> Result<()> {
        self.check_count(values)?;
        match (&self.storage, self.device.backend()) {
            #[cfg(feature = "gpu")]
            (Storage::Gpu(buffer), Backend::Gpu(gpu)) => {
                let bytes = bytemuck::cast_slice_mut(values);
                gpu.read_into(
                    "download",
                    buffer,
                    self.begin() as u64,
                    bytes,
                    Wait::Elsewhere,
                )
                .await
            }
            _ => self.copy_from_cpu(values),
        }
    }

    /// [`download_into`](Self::download_into), blocking the thread.
    ///
    /// # Errors
    /// Those of [`download_into`](Self::download_into).
    pub fn download_into_blocking(&self, values: &mut [T]) -> Result<()> {
        self.check_count(values)?;
        match (&self.storage, self.device.backend()) {
            #[cfg(feature = "gpu")]
            (Storage::Gpu(buffer), Backend::Gpu(gpu)) => {
                let bytes = bytemuck::cast_slice_mut(values);
                pollster::block_on(gpu.read_into(
                    "download",
                    buffer,
                    self.begin() as u64,
                    bytes,
                    Wait::Here,
                ))
            }
            _ => self.copy_from_cpu(values),
        }
    }

    fn check_count(&self, values: &[T]) -> Result<()> {
        if values.len() == self.layout.total() {
            return Ok(());
        }
        Err(Error::ValueCount {
            op: "download",
            element: None,
            expected: self.layout.total(),
            got: values.len(),
        })
    }

    fn copy_from_cpu(&self, values: &mut [T]) -> Result<()> {
        #[cfg_attr(
            not(feature = "gpu"),
            allow(irrefutable_let_patterns, reason = "the CPU is then the only storage")
        )]
        if let Storage::Cpu(buffer) = &self.storage {
            let to: &mut [u8] = bytemuck::cast_slice_mut(values);
            to.copy_from_slice(&buffer.bytes()[self.begin()..][..to.len()]);
        }
        Ok(())
    }
}
