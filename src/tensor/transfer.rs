//! Transfers between host and device: upload, download, and the application's own buffers.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use super::device::Backend;
use super::{Device, Storage, Tensor};
use crate::error::Named;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, GpuBuffer};
use crate::machine::Wait;
#[cfg(feature = "gpu")]
use crate::plan::largest;
use crate::ragged::{Layout, Ragged, Scalar};
use crate::{Error, Result, host};

impl Device {
    /// Copies a layout to the device as data, for the kernels of an application: a batch of two elements, the offsets
    /// (one more than there are elements, beginning with 0), and the extents (`rank` of each element; for rank 1 its
    /// length).
    ///
    /// With [`export`](Tensor::export), an application's own WGSL reads it as a storage buffer, next to the values of a
    /// tensor of that layout. The batch is a copy: writing to it changes nothing for the library. Keep it for as
    /// long as the layout is used, instead of uploading it for each dispatch.
    ///
    /// # Your own kernels
    /// For an element-wise function, use [`map1`](Self::map1) or [`map2`](Self::map2). Everything else takes these
    /// steps, which the [example `custom_kernel`](https://docs.rs/crate/vsla/latest/source/examples/custom_kernel.rs)
    /// shows:
    ///
    /// 1. Build a pipeline with [`wgpu`](Self::wgpu), once, inside an error scope: a device that this library opened
    ///    does not panic on uncaught errors. `export` the operands and a batch made by this method, and bind the
    ///    buffers as read-only storage. An exported tensor begins at an offset in its buffer, which may violate the
    ///    alignment that bindings require: bind the whole buffer, and pass the offset to the kernel.
    /// 2. Write to a buffer of your own, which [`import`](Self::import) makes a tensor.
    /// 3. Submit to the queue of [`wgpu`](Self::wgpu). Submissions run in order: `export` has submitted all work that
    ///    writes the operands, and work on the imported tensor is submitted later than yours. Before you write to that
    ///    buffer again, call [`flush`](Self::flush).
    ///
    /// ```
    /// # use vsla::{Device, Layout, Shape};
    /// let layout = Layout::from_shapes(2, [Shape::new(&[2, 3])?, Shape::new(&[1, 1])?])?;
    /// let meta = Device::cpu().upload_layout(&layout)?.download_blocking()?;
    /// assert_eq!(meta.to_vecs()?, [vec![0, 6, 7], vec![2, 3, 1, 1]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    pub fn upload_layout(&self, layout: &Layout) -> Result<Tensor<u32>> {
        const OP: &str = "upload_layout";
        let (n, rank) = (layout.len(), layout.rank());
        let mut words = host::room(n + 1 + n * rank).named(OP)?;
        words.extend_from_slice(layout.offsets().as_slice());
        match rank {
            1 => words.extend((0..n).map(|element| layout.length(element) as u32)),
            _ => words.extend_from_slice(layout.extents()),
        }
        let parts = Layout::from_lengths([n + 1, n * rank])?;
        let there = self.upload_parts(&parts, &words);
        there.named(OP)
    }

    pub(crate) fn upload_parts<T: Scalar>(
        &self,
        layout: &Layout,
        values: &[T],
    ) -> Result<Tensor<T>> {
        self.upload_bytes(layout, bytemuck::cast_slice(values))
    }

    /// Uploads the bytes of a batch's values. The last word may be incomplete.
    pub(super) fn upload_bytes<T: Scalar>(
        &self,
        layout: &Layout,
        bytes: &[u8],
    ) -> Result<Tensor<T>> {
        let storage = match self.backend() {
            Backend::Cpu(cpu) => Storage::Cpu(cpu.upload(bytes).named("upload")?),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => Storage::Gpu(gpu.upload("upload", layout, T::DTYPE, bytes)?),
        };
        Ok(Tensor::new(self, storage, 0, layout.clone()))
    }

    /// Creates a tensor over a buffer of the application, without copying.
    ///
    /// `offset` is in bytes; a complex value is two consecutive `f32`. The buffer must belong to this device, be usable
    /// as storage and for copies, and not be mapped. It remains the application's: the library only reads it, and never
    /// reuses it for another tensor.
    ///
    /// Work on the tensor is recorded, and reads the buffer when it runs. Before the application writes to the buffer
    /// again, by any means, it must call [`flush`](Self::flush): work recorded before the flush reads the old values,
    /// and work recorded afterwards reads the new values.
    ///
    /// ```
    /// # use vsla::{Device, Layout, device::{GpuOptions, wgpu}};
    /// # let Ok(device) = Device::gpu_blocking(GpuOptions::default()) else { return Ok(()) };
    /// # let (gpu, queue) = device.wgpu().expect("a GPU");
    /// // Here the application uses the device and queue behind `device`.
    /// let buffer = gpu.create_buffer(&wgpu::BufferDescriptor {
    ///     label: Some("a frame"),
    ///     size: 16,
    ///     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
    ///     mapped_at_creation: false,
    /// });
    /// let frame = device.import::<u32>(&buffer, 0, &Layout::from_lengths([3, 1])?)?;
    /// let mut sums = Vec::new();
    /// for i in 1..3 {
    ///     // Without the flush, the sum of one frame might read the values of the next.
    ///     device.flush()?;
    ///     queue.write_buffer(&buffer, 0, [i, 10, 100, 1000].map(u32::to_ne_bytes).as_flattened());
    ///     sums.push(frame.sum()?);
    /// }
    /// assert_eq!(sums[0].download_blocking()?.values(), [111, 1000]);
    /// assert_eq!(sums[1].download_blocking()?.values(), [112, 1000]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// If the application destroys or maps the buffer, only the calls that need it in the meantime fail, with
    /// [`Error::Buffer`]. To make this possible, each kernel that reads the buffer is submitted separately, which costs
    /// the host about ten microseconds; [`copy`](Tensor::copy) makes a tensor without that cost.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) on the CPU, for an offset that is not a multiple of the size of a value, for
    /// a buffer whose size is 0 or not a multiple of 16 (kernels read four values at a time), for a buffer without the
    /// usages `STORAGE | COPY_SRC`, and for a buffer that is mapped or belongs to another wgpu device or instance;
    /// [`Buffer`](Error::Buffer) for a buffer that was destroyed; [`ValueCount`](Error::ValueCount) if it is shorter
    /// than the layout; [`TooLarge`](Error::TooLarge) above the binding limit.
    ///
    /// A buffer of another wgpu device is also reported to that device's error handler. If it has none, wgpu panics
    /// inside this call, which catches the panic: its message appears, and a program built to abort on panics is
    /// aborted.
    #[cfg(feature = "gpu")]
    pub fn import<T: Scalar>(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        layout: &Layout,
    ) -> Result<Tensor<T>> {
        const OP: &str = "import";
        let unsupported = |what: String| Err(Error::unsupported(what).named(OP));
        let Backend::Gpu(gpu) = self.backend() else {
            return unsupported(
                "a wgpu buffer on the CPU device; upload its values instead".to_owned(),
            );
        };
        let needed = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        if !buffer.usage().contains(needed) {
            return unsupported(format!(
                "a buffer with the usages {:?}; create it with {needed:?}",
                buffer.usage()
            ));
        }
        let size = T::DTYPE.size() as u64;
        if !buffer.size().is_multiple_of(16) || buffer.size() == 0 {
            return unsupported(format!(
                "a buffer of {} bytes, whose size must be a multiple of 16 and not 0",
                buffer.size()
            ));
        }
        if !offset.is_multiple_of(size) {
            return unsupported(format!(
                "an offset of {offset} bytes, which is not a multiple of the value size, {size}"
            ));
        }
        let there = buffer.size().saturating_sub(offset) / size;
        if there < layout.total() as u64 {
            return Err(Error::value_count(layout.total(), there as usize).named(OP));
        }
        if buffer.size() > gpu.limits.binding_bytes {
            return Err(
                Error::too_large("the buffer", buffer.size(), gpu.limits.binding_bytes).named(OP),
            );
        }
        let end = offset + layout.total() as u64 * size;
        if end > largest(T::DTYPE) {
            let limit = largest(T::DTYPE);
            return Err(Error::too_large("the part of the buffer", end, limit).named(OP));
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

/// The bytes of a copy between GPUs that are on the host at a time.
#[cfg(feature = "gpu")]
const PIECE: usize = 32 << 20;

/// Gives an error of a step the name `to_device`.
fn moved(error: Error) -> Error {
    error.named("to_device")
}

impl<T: Scalar> Tensor<T> {
    /// The buffer that holds the values, and the byte offset at which they begin; `None` on the CPU.
    ///
    /// The work that writes the values is submitted before this returns, so work that the application later submits to
    /// the same queue sees them. The application may keep the handle: the library never puts anything else into this
    /// buffer, and its memory is freed when the last tensor over it and the last handle are dropped. Before the
    /// application writes to the buffer while tensors use it, it must call [`Device::flush`]. See [`Device::import`]
    /// for an example, and for what happens to calls that need a buffer which the application destroyed.
    #[cfg(feature = "gpu")]
    pub fn export(&self) -> Option<(&wgpu::Buffer, u64)> {
        match (&self.storage, self.device.backend()) {
            (Storage::Gpu(buffer), Backend::Gpu(gpu)) => {
                if let Err(error) = gpu.share(buffer) {
                    // The device or the values are lost: every use of the tensor reports it.
                    log::error!("export: {error}");
                }
                Some((&buffer.raw, self.begin() as u64))
            }
            _ => None,
        }
    }

    /// Copies the batch to the host, after all work recorded on it.
    ///
    /// A browser reports errors only after the calls that caused them, so this also waits until it has reported on all
    /// earlier calls. Values that such an error may concern are [`NotComputed`](Error::NotComputed).
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost), [`OutOfMemory`](Error::OutOfMemory), [`NotComputed`](Error::NotComputed).
    pub async fn download(&self) -> Result<Ragged<T>> {
        let mut values = self.host_values()?;
        self.download_into(&mut values).await?;
        Ragged::from_parts(self.layout.clone(), values)
    }

    /// The blocking form of [`download`](Self::download).
    ///
    /// # Errors
    /// Those of [`download`](Self::download); on a GPU in a browser, where no thread may block,
    /// [`Unsupported`](Error::Unsupported). This holds for all other methods whose names end in `_blocking`, too.
    pub fn download_blocking(&self) -> Result<Ragged<T>> {
        let mut values = self.host_values()?;
        self.download_into_blocking(&mut values)?;
        Ragged::from_parts(self.layout.clone(), values)
    }

    /// Copies the batch to another device, after all work recorded on it. On the same device, returns a handle to the
    /// same values: there is nothing to copy between handles of the CPU, or of one open GPU.
    ///
    /// Values pass through the host's memory, even between two GPUs, in pieces of 32 MiB. The layout is shared. Bit
    /// patterns are preserved. Cost: each GPU involved moves the values over its bus once; nothing waits if they come
    /// from the CPU.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # async fn example() -> vsla::Result<()> {
    /// let (cpu, best) = (Device::cpu(), Device::auto());
    /// let x = cpu.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
    /// let y = x.to_device(&best).await?.scale(2.0)?;
    /// let sum = x.add(&y.to_device(&cpu).await?)?;
    /// assert_eq!(sum.download().await?.to_vecs()?, [vec![3.0, 6.0], vec![]]);
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example())?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](Error::TooLarge) above the binding limit of the other device; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub async fn to_device(&self, device: &Device) -> Result<Tensor<T>> {
        self.moved_to(device, Wait::Elsewhere).await
    }

    /// The blocking form of [`to_device`](Self::to_device).
    ///
    /// # Errors
    /// Those of [`to_device`](Self::to_device).
    pub fn to_device_blocking(&self, device: &Device) -> Result<Tensor<T>> {
        pollster::block_on(self.moved_to(device, Wait::Here))
    }

    async fn moved_to(&self, device: &Device, wait: Wait) -> Result<Tensor<T>> {
        if let Some(there) = self.there_already(device) {
            return there;
        }
        #[cfg(feature = "gpu")]
        if let (Storage::Gpu(from), Backend::Gpu(gpu), Backend::Gpu(other)) =
            (&self.storage, self.device.backend(), device.backend())
        {
            let to = self.piped((gpu, from), other, wait).await.map_err(moved)?;
            let storage = Storage::Gpu(to);
            return Ok(Tensor::new(device, storage, 0, self.layout.clone()));
        }
        let mut values = self.host_values()?;
        let bytes = bytemuck::cast_slice_mut(&mut values);
        let read = self.read_bytes("to_device", bytes, wait).await;
        read.and_then(|()| device.upload_parts(&self.layout, &values))
            .map_err(moved)
    }

    /// Copies the values to another GPU, in pieces: one crosses the bus of that GPU while the next one is read.
    #[cfg(feature = "gpu")]
    async fn piped(
        &self,
        (gpu, from): (&Gpu, &GpuBuffer),
        other: &Gpu,
        wait: Wait,
    ) -> Result<Arc<GpuBuffer>> {
        const OP: &str = "to_device";
        let bytes = self.layout.total() * T::DTYPE.size();
        let to = other.receive(OP, &self.layout, T::DTYPE)?;
        let mut words: Vec<u32> = host::zeroed(bytes.min(PIECE).div_ceil(4))?;
        let piece: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for at in (0..bytes).step_by(PIECE) {
            let len = PIECE.min(bytes - at);
            let begin = (self.begin() + at) as u64;
            gpu.read_into(OP, from, begin, &mut piece[..len], wait)
                .await?;
            // Copies consist of whole words.
            let whole = len.next_multiple_of(4);
            piece[len..whole].fill(0);
            other.write(OP, &to, at as u64, &piece[..whole])?;
        }
        Ok(to)
    }

    /// The batch on another device, if no download is needed.
    fn there_already(&self, device: &Device) -> Option<Result<Tensor<T>>> {
        if self.device.is_same(device) {
            return Some(Ok(Tensor {
                device: device.clone(),
                ..self.clone()
            }));
        }
        #[cfg_attr(
            not(feature = "gpu"),
            allow(
                irrefutable_let_patterns,
                reason = "the CPU is the only storage in this build"
            )
        )]
        let Storage::Cpu(buffer) = &self.storage else {
            return None;
        };
        let values = &buffer.bytes()[self.begin()..][..self.layout.total() * T::DTYPE.size()];
        let there = device.upload_parts(&self.layout, bytemuck::cast_slice(values));
        Some(there.map_err(moved))
    }

    fn host_values(&self) -> Result<Vec<T>> {
        host::zeroed(self.layout.total()).named("download")
    }

    /// Copies the values into a slice, packed as in the batch.
    ///
    /// # Errors
    /// [`ValueCount`](Error::ValueCount) if the slice has another length; those of [`download`](Self::download).
    pub async fn download_into(&self, values: &mut [T]) -> Result<()> {
        self.layout.check_values(values.len()).named("download")?;
        let bytes = bytemuck::cast_slice_mut(values);
        self.read_bytes("download", bytes, Wait::Elsewhere).await
    }

    /// The blocking form of [`download_into`](Self::download_into).
    ///
    /// # Errors
    /// Those of [`download_into`](Self::download_into).
    pub fn download_into_blocking(&self, values: &mut [T]) -> Result<()> {
        self.layout.check_values(values.len()).named("download")?;
        let bytes = bytemuck::cast_slice_mut(values);
        pollster::block_on(self.read_bytes("download", bytes, Wait::Here))
    }

    /// Copies as many bytes of the values as there are in `to`.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "only a GPU is waited for")
    )]
    pub(super) async fn read_bytes(
        &self,
        op: &'static str,
        to: &mut [u8],
        wait: Wait,
    ) -> Result<()> {
        match (&self.storage, self.device.backend()) {
            #[cfg(feature = "gpu")]
            (Storage::Gpu(buffer), Backend::Gpu(gpu)) => {
                let begin = self.begin() as u64;
                gpu.read_into(op, buffer, begin, to, wait).await
            }
            (Storage::Cpu(buffer), _) => {
                to.copy_from_slice(&buffer.bytes()[self.begin()..][..to.len()]);
                Ok(())
            }
            _ => self.check_readable().named(op),
        }
    }
}
