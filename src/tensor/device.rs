//! Handles to the CPU and to GPUs.

mod info;
#[cfg(all(feature = "gpu", feature = "testing"))]
mod testing;

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "gpu")]
use info::adapter_info;
pub use info::{Counters, DeviceInfo, DeviceKind, DeviceLimits};

use super::Storage;
use super::constants::Constants;
use crate::cpu::Cpu;
#[cfg(feature = "gpu")]
use crate::gpu::{self, Gpu, GpuOptions};
use crate::machine::{Memory, Traffic};
use crate::ops::FftLimits;
use crate::ops::choice::CostTable;
#[cfg(feature = "gpu")]
use crate::ops::matmul::tiles::{NATIVE_INVOCATIONS, NATIVE_MEMORY};
use crate::ops::{Op, Traits};
use crate::plan::{Dispatch, Matrices, PlanCache};
use crate::ragged::{Layout, Ragged, Scalar};
use crate::{Error, Result, Tensor};

/// A handle to the CPU or to a GPU (through wgpu), which holds tensors and computes with them. Cheap to clone.
///
/// ```
/// use vsla::Device;
///
/// let device = Device::auto();
/// println!("{}", device.info()); // e.g. NVIDIA H100 80GB HBM3 (vulkan), the first adapter of the fastest kind
/// # assert!(!device.info().name.is_empty());
/// ```
#[derive(Clone)]
pub struct Device {
    backend: Backend,
    costs: Arc<CostTable>,
    /// Plans cached for this backend, shared by handles with different cost tables.
    plans: Arc<PlanCache<Op>>,
    /// Scalars that were operands.
    constants: Arc<Constants>,
    /// The most multiply-adds that a single operation may take.
    allowed: u64,
}

#[derive(Clone)]
pub(crate) enum Backend {
    Cpu(Arc<Cpu>),
    #[cfg(feature = "gpu")]
    Gpu(Arc<Gpu>),
}

/// Whether no thread may wait for a GPU, because callbacks run only when the thread is idle.
#[cfg(feature = "gpu")]
const BROWSER: bool = cfg!(target_family = "wasm");

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// Opens a hardware GPU if there is one, and the CPU otherwise; [`info`](Self::info) says which device, and why.
    ///
    /// Software rasterisers are skipped, because this library's CPU device is faster. To use one anyway, name it in the
    /// environment (`WGPU_ADAPTER_NAME=llvmpipe`) or open it with [`Device::gpu`]. Blocks the thread.
    ///
    /// In a browser, where no thread may block, this opens the CPU; to use a GPU there, await [`Device::gpu`].
    pub fn auto() -> Device {
        #[cfg(feature = "gpu")]
        {
            if BROWSER {
                return Device::on_cpu(
                    "a browser opens a GPU only asynchronously: see `Device::gpu`",
                );
            }
            let options = GpuOptions::default();
            let named = std::env::var_os("WGPU_ADAPTER_NAME").is_some();
            let opened = pollster::block_on(async {
                let choice = gpu::choose(&options).await?;
                if choice.adapter.get_info().device_type == wgpu::DeviceType::Cpu && !named {
                    return Ok(None);
                }
                gpu::open(&options).await.map(Some)
            });
            match opened {
                Ok(Some(gpu)) => Device::on_gpu(gpu),
                Ok(None) => Device::on_cpu("the only GPU adapter is a software adapter"),
                Err(error) => Device::on_cpu(&format!("no usable GPU: {error}")),
            }
        }
        #[cfg(not(feature = "gpu"))]
        Device::on_cpu("this build has no GPU support (feature `gpu`)")
    }

    /// The CPU, with all its cores.
    ///
    /// Tensors of several handles can be used together. Each handle has its own plans and memory figures; results
    /// belong to the handle of the left operand.
    pub fn cpu() -> Device {
        Device::on_cpu("requested")
    }

    fn on_cpu(why: &str) -> Device {
        Device {
            backend: Backend::Cpu(Arc::new(Cpu::new(why.to_owned()))),
            costs: Arc::new(CostTable::cpu().with_workers(rayon::current_num_threads())),
            plans: Arc::default(),
            constants: Arc::default(),
            allowed: u64::MAX,
        }
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Gpu) -> Device {
        let costs = match gpu.info.device_type {
            wgpu::DeviceType::Cpu => CostTable::software_gpu(),
            _ => CostTable::gpu(),
        };
        Device {
            backend: Backend::Gpu(Arc::new(gpu)),
            costs: Arc::new(costs),
            plans: Arc::default(),
            constants: Arc::default(),
            allowed: u64::MAX,
        }
    }

    /// Opens a GPU, or a software adapter if there is no other.
    ///
    /// In a browser, with the feature `web`, this is the GPU that the browser offers to pages.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, device::GpuOptions};
    /// # async fn page() -> vsla::Result<()> {
    /// let device = match Device::gpu(GpuOptions::default()).await {
    ///     Ok(device) => device,
    ///     Err(_) => Device::cpu(),
    /// };
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
    /// assert_eq!(x.scale(2.0)?.download().await?.values(), [2.0, 4.0]);
    /// # Ok(())
    /// # }
    /// # pollster::block_on(page())?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NoDevice`](crate::Error::NoDevice) when there is no adapter, or none with the requested name;
    /// [`Argument`](crate::Error::Argument) for 0 workgroups in a dimension; [`Io`](crate::Error::Io) when
    /// [`GpuOptions::pipeline_cache`] names a file that exists but cannot be read.
    #[cfg(feature = "gpu")]
    pub async fn gpu(options: GpuOptions) -> Result<Device> {
        Ok(Device::on_gpu(gpu::open(&options).await?))
    }

    /// Opens a GPU as [`gpu`](Self::gpu) does, and blocks the thread until it is open.
    ///
    /// # Errors
    /// Those of [`gpu`](Self::gpu); in a browser, always [`NoDevice`](crate::Error::NoDevice).
    #[cfg(feature = "gpu")]
    pub fn gpu_blocking(options: GpuOptions) -> Result<Device> {
        if BROWSER {
            let why = "a browser opens a GPU only asynchronously: await `Device::gpu`";
            return Err(Error::no_device(why));
        }
        pollster::block_on(Device::gpu(options))
    }

    /// Lists every device of this machine: GPU adapters, the preferred one first, then the CPU. Blocks the thread. In a
    /// browser, lists only the CPU.
    pub fn list() -> Vec<DeviceInfo> {
        let cpu = DeviceInfo {
            reason: String::new(),
            ..Device::cpu().info()
        };
        #[cfg(feature = "gpu")]
        {
            let adapters = match BROWSER {
                true => Vec::new(),
                false => pollster::block_on(gpu::adapters()),
            };
            let infos = adapters.iter().enumerate().map(|(i, adapter)| DeviceInfo {
                ordinal: Some(i),
                ..adapter_info(&adapter.get_info())
            });
            infos.chain([cpu]).collect()
        }
        #[cfg(not(feature = "gpu"))]
        vec![cpu]
    }

    /// Opens an entry of [`list`](Self::list), with default options. Blocks the thread.
    ///
    /// ```
    /// use vsla::Device;
    /// let all = Device::list();
    /// let device = Device::open(all.last().unwrap())?;
    /// assert!(!device.is_gpu());
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`gpu_blocking`](Self::gpu_blocking).
    pub fn open(entry: &DeviceInfo) -> Result<Device> {
        match entry.ordinal {
            #[cfg(feature = "gpu")]
            Some(ordinal) => Device::gpu_blocking(GpuOptions {
                adapter: Some(format!("#{ordinal}")),
                ..GpuOptions::default()
            }),
            _ => Ok(Device::cpu()),
        }
    }

    /// Uses the application's own wgpu device and queue.
    ///
    /// A wgpu device has only one error callback and one loss callback, and both remain the application's. Error scopes
    /// catch the errors of this library's work, and the next call that waits reports a lost device.
    ///
    /// This needs no features, and no more than WebGPU's default limits, `wgpu::Limits::default()`: 8 storage buffers
    /// and one uniform buffer of 128 bytes with a dynamic offset, in one bind group of 9 bindings; workgroups of 256
    /// invocations in x, with 16 KiB of memory; buffers of 16 MiB, for transfers. The maximum size of a storage binding
    /// limits the size of a tensor. Higher limits, and the features `SHADER_F16`, `SUBGROUP` and
    /// `EXPERIMENTAL_COOPERATIVE_MATRIX`, enable faster kernels; `TIMESTAMP_QUERY` enables the times of
    /// [`profile`](Self::profile).
    ///
    /// The call waits until the device has finished all work submitted to it, which is how it verifies that the queue
    /// belongs to the device. In a browser, it neither waits nor verifies that. wgpu runs the application's callbacks
    /// (from `map_async`, for example) inside submissions, including those of this library: a callback must not call
    /// this library.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) lists every limit that is too low, or says that the queue belongs to
    /// another device or that the adapter is not the device's own. [`DeviceLost`](crate::Error::DeviceLost);
    /// [`OutOfMemory`](crate::Error::OutOfMemory) or [`Gpu`](crate::Error::Gpu) when the device cannot create a buffer.
    #[cfg(feature = "gpu")]
    pub fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Result<Device> {
        let gpu = Gpu::from_wgpu(adapter, device, queue, &GpuOptions::default())?;
        Ok(Device::on_gpu(gpu))
    }

    /// The underlying wgpu device and queue; `None` for the CPU.
    #[cfg(feature = "gpu")]
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        match &self.backend {
            Backend::Cpu(_) => None,
            Backend::Gpu(gpu) => Some((&gpu.device, &gpu.queue)),
        }
    }

    /// Describes the device: its properties, why it was chosen, and how many kernels it has compiled.
    pub fn info(&self) -> DeviceInfo {
        match &self.backend {
            Backend::Cpu(cpu) => DeviceInfo {
                name: format!("CPU, {} threads", rayon::current_num_threads()),
                ordinal: None,
                pci: None,
                backend: "cpu".to_owned(),
                kind: DeviceKind::Cpu,
                driver: String::new(),
                reason: cpu.why.clone(),
                limits: None,
                matrices: None,
                native: false,
                pipelines: 0,
                bind_groups: 0,
            },
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => DeviceInfo {
                ordinal: gpu.ordinal,
                reason: gpu.why.clone(),
                limits: Some(DeviceLimits {
                    workgroups_per_dimension: gpu.limits.workgroups_per_dimension,
                    workgroup_memory: gpu.limits.workgroup_memory,
                    invocations: gpu.limits.invocations,
                    binding_bytes: gpu.limits.binding_bytes,
                }),
                matrices: gpu.matrices.map(|matrices| matrices.side() as usize),
                native: self.is_native(),
                pipelines: gpu.pipelines(),
                bind_groups: gpu.bind_groups(),
                ..adapter_info(&gpu.info)
            },
        }
    }

    /// The path of the file of compiled kernels, and what belongs in it now; `None` without such a file.
    #[cfg(feature = "gpu")]
    pub(crate) fn kept_pipelines(&self) -> Result<Option<(&std::path::Path, Vec<u8>)>> {
        match &self.backend {
            Backend::Cpu(_) => Ok(None),
            Backend::Gpu(gpu) => gpu.kept_pipelines(),
        }
    }

    /// Whether this is a GPU, including a software adapter.
    pub fn is_gpu(&self) -> bool {
        match &self.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(_) => true,
        }
    }

    /// Whether this is a GPU in software.
    pub(crate) fn is_software(&self) -> bool {
        match &self.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.info.device_type == wgpu::DeviceType::Cpu,
        }
    }

    /// The cooperative matrices that the device multiplies f16 with.
    pub(super) fn matrices(&self) -> Option<Matrices> {
        match &self.backend {
            Backend::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.matrices,
        }
    }

    /// The scalars that were operands.
    pub(super) fn constants(&self) -> &Constants {
        &self.constants
    }

    /// Whether no submission that should have written these values failed.
    pub(super) fn is_computed(&self, storage: &Storage) -> bool {
        match (&self.backend, storage) {
            #[cfg(feature = "gpu")]
            (Backend::Gpu(gpu), Storage::Gpu(buffer)) => gpu.is_computed(buffer),
            _ => true,
        }
    }

    /// Whether the device runs kernels of the native tier.
    pub(super) fn is_native(&self) -> bool {
        match &self.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                gpu.limits.invocations >= NATIVE_INVOCATIONS
                    && gpu.limits.workgroup_memory >= NATIVE_MEMORY
            }
        }
    }

    /// The limits of a GPU that matter to FFTs; `None` on the CPU.
    fn room(&self) -> Option<FftLimits> {
        match &self.backend {
            Backend::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => Some(FftLimits::new(
                gpu.limits.workgroup_memory,
                gpu.limits.binding_bytes,
            )),
        }
    }

    /// The largest size of a tensor in bytes; `None` where only memory limits it.
    pub(super) fn binding(&self) -> Option<u64> {
        match &self.backend {
            Backend::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => Some(gpu.limits.binding_bytes),
        }
    }

    /// What the device was asked to do so far.
    pub(crate) fn traffic(&self) -> Traffic {
        match &self.backend {
            Backend::Cpu(_) => Traffic::default(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.traffic(),
        }
    }

    /// Compiles the kernels of these dispatches, in parallel; nothing on the CPU.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "only a GPU compiles kernels")
    )]
    pub(super) fn prepare(&self, op: &'static str, dispatches: &[Dispatch]) -> Result<()> {
        match &self.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.compile(op, dispatches.iter().map(|dispatch| (op, dispatch))),
        }
    }

    /// The bytes that the device holds: in live tensors, cached for reuse, about to be freed, in staging buffers, and
    /// shared with other devices.
    pub fn memory(&self) -> Memory {
        match &self.backend {
            Backend::Cpu(cpu) => cpu.memory(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.memory(),
        }
    }

    /// Releases memory that is not in use: buffers cached for reuse, idle staging buffers, cached plans (at most 256
    /// MiB on the host), scalars that were operands and, on a GPU, copies of layouts and plans. The next operation
    /// recreates what it needs.
    ///
    /// Submits recorded work without waiting for it. Memory that this work still uses counts as [`Memory::leaving`]
    /// until the work is done.
    ///
    /// On the CPU, this also releases [`Memory::shared`], which all CPU devices share.
    pub fn trim(&self) {
        self.plans.clear();
        self.constants.clear();
        match &self.backend {
            Backend::Cpu(cpu) => cpu.trim(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.trim(),
        }
    }

    /// Submits recorded work without waiting for it. Does nothing on the CPU.
    ///
    /// An application that shares buffers with the library calls this before it writes to such a buffer: see
    /// [`import`](Self::import).
    ///
    /// # Errors
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn flush(&self) -> Result<()> {
        match &self.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.flush(),
        }
    }

    /// The cost table by which [`ConvMethod::Auto`](crate::conv::ConvMethod::Auto) chooses how to convolve.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// Returns the same device with another cost table, such as one measured by
    /// [`calibrate_conv`](Self::calibrate_conv).
    ///
    /// Tensors of both handles are on the same device. An operation on a pair uses the table of its left operand.
    ///
    /// ```
    /// # use vsla::{Device, conv::CostTable};
    /// let saved = "cpu workers=8 launch=5000 item=50 multiply_add=0.04 result=0.5 fft=4:8,12:5.6,20:9.2";
    /// let device = Device::cpu().with_costs(saved.parse::<CostTable>()?)?;
    /// assert!(device.costs().to_string().starts_with("cpu workers=8 "));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`CostTable`](crate::Error::CostTable) for a table that belongs to another class of device.
    pub fn with_costs(&self, costs: CostTable) -> Result<Device> {
        let (own, other) = (self.costs.engine(), costs.engine());
        if own != other {
            return Err(crate::Error::CostTable {
                expected: format!("the costs of a {own} device"),
                got: other.to_string(),
            });
        }
        Ok(Device {
            costs: Arc::new(costs),
            ..self.clone()
        })
    }

    /// Returns the same device, limited to this many multiply-adds per operation: an operation that needs more is
    /// refused before any part of it runs.
    ///
    /// Tensors of both handles are on the same device. An operation uses the limit of its left operand.
    ///
    /// The limit bounds the memory and the time of a program that computes what others request: a direct convolution of
    /// a million values with a million takes 10¹² multiply-adds, seconds on a large GPU and minutes on a CPU. The count
    /// depends only on lengths and methods, never on values or timing:
    ///
    /// | operation | count |
    /// | --- | --- |
    /// | direct convolutions, `correlate_max`, `sbd` | m n per pair; with a mode or strides, of the kept results |
    /// | convolutions by transforms of length L | 7½ L log₂ L for each convolution of that length |
    /// | `matmul` | m k n per pair, whichever kernel runs |
    /// | block-sparse products | the number of stored values, once for each column |
    /// | `fft` and its relatives | 5 n log₂ n, half for real values; n² for n ≤ 64; otherwise as convolutions |
    /// | `conv_matmul`, `kron_matmul` | the sum over all products of entries, direct or by transforms |
    /// | `eval` | the number of coefficients, once for each point |
    /// | `max_pool`, `mean_pool` | the values of each window; for large windows that overlap, those that passes read |
    /// | `match_template` | the values of the template, once for each place |
    /// | `draw_boxes`, `draw_lines` | for few, each once for each cell; otherwise the longest in the image for each |
    /// | others | the number of values read or written |
    ///
    /// Where a GPU multiplies by zeros because that is faster, those multiplications count too. A pairing with more
    /// pairs than the limit is refused as well. The parts of a composite operation, such as `fft2`, are counted
    /// separately.
    ///
    /// ```
    /// # use vsla::{Device, Error, Ragged};
    /// let device = Device::cpu().with_work_limit(1_000_000);
    /// let x = device.upload(&Ragged::from_rows([vec![1; 2000], vec![1; 10]])?)?;
    /// assert!(x.add(&x).is_ok());
    /// let error = x.conv(&x).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "conv: element 0: needs 4000100 multiply-adds, above the device's work limit of 1000000; \
    ///      split the work or raise the limit"
    /// );
    /// assert!(matches!(error, Error::WorkLimit { needed: 4_000_100, allowed: 1_000_000, .. }));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn with_work_limit(&self, multiply_adds: u64) -> Device {
        Device {
            allowed: multiply_adds,
            ..self.clone()
        }
    }

    /// The limit set by [`with_work_limit`](Self::with_work_limit); `None` without a limit.
    pub fn work_limit(&self) -> Option<u64> {
        (self.allowed < u64::MAX).then_some(self.allowed)
    }

    /// The most multiply-adds that a single operation may take.
    pub(super) fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Copies a batch to the device.
    ///
    /// A GPU records the copy: the call does not wait for it, and the host data may be changed or dropped as soon as
    /// the call returns.
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit, with the first element that does not fit;
    /// [`OutOfMemory`](crate::Error::OutOfMemory); [`DeviceLost`](crate::Error::DeviceLost).
    pub fn upload<T: Scalar>(&self, batch: &Ragged<T>) -> Result<Tensor<T>> {
        self.upload_parts(batch.layout(), batch.values())
    }

    /// The properties of the device that planning needs.
    pub(super) fn traits(&self) -> Traits<'_> {
        Traits {
            costs: &self.costs,
            allowed: self.allowed,
            room: self.room(),
            binding: self.binding(),
        }
    }

    /// The device's plan cache.
    pub(super) fn plans(&self) -> &Arc<PlanCache<Op>> {
        &self.plans
    }

    /// Counts of plans, uploads and layouts made so far, for tests and benchmarks.
    #[doc(hidden)]
    pub fn counters(&self) -> Counters {
        Counters {
            plans: self.plans.made(),
            uploads: match &self.backend {
                Backend::Cpu(_) => 0,
                #[cfg(feature = "gpu")]
                Backend::Gpu(gpu) => gpu.uploads(),
            },
            layouts: Layout::made(),
        }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(super) fn id(&self) -> u64 {
        match &self.backend {
            Backend::Cpu(cpu) => cpu.id,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.id,
        }
    }

    pub(crate) fn name(&self) -> String {
        let info = self.info();
        format!("{} ({})", info.name, info.backend)
    }

    /// Whether tensors of both handles can be used together: both handles are of one opened GPU, or of the CPU.
    pub(crate) fn is_same(&self, other: &Device) -> bool {
        let on_cpu = !self.is_gpu() && !other.is_gpu();
        on_cpu || self.id() == other.id()
    }

    /// Checks that the operands of an operation, on these devices, can be used together.
    pub(crate) fn check_same(&self, other: &Device) -> Result<()> {
        if self.is_same(other) {
            return Ok(());
        }
        let [left, right] = [self, other].map(Device::name);
        // Devices with the same name are told apart by the order in which they were opened.
        let [left, right] = match left == right {
            false => [left, right],
            true => [(left, self.id()), (right, other.id())]
                .map(|(name, id)| format!("{name} opened as device {id}")),
        };
        Err(Error::device_mismatch(left, right))
    }
}
