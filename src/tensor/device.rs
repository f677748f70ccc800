//! Devices as values.

mod info;

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "gpu")]
use info::adapter_info;
pub use info::{Counters, DeviceInfo, DeviceKind, DeviceLimits};

use crate::cpu::Cpu;
#[cfg(feature = "gpu")]
use crate::gpu::{self, Gpu, GpuOptions};
use crate::machine::Memory;
use crate::ops::conv::choice::CostTable;
use crate::ops::fft::FftLimits;
use crate::ops::matmul::tiles::{NATIVE_INVOCATIONS, NATIVE_MEMORY};
use crate::ops::{Op, Traits};
use crate::plan::{Matrices, PlanCache};
use crate::ragged::{Layout, Ragged, Scalar};
use crate::{Result, Tensor};

/// A machine that holds tensors and computes with them: the CPU, or a GPU through wgpu. Cheap to clone.
///
/// ```
/// use vsla::Device;
///
/// let device = Device::auto();
/// println!("{}", device.info()); // for instance: NVIDIA H100 80GB HBM3 (vulkan), the first adapter of the fastest kind
/// # assert!(!device.info().name.is_empty());
/// ```
#[derive(Clone)]
pub struct Device {
    backend: Backend,
    costs: Arc<CostTable>,
    /// What was planned for the backend, whatever the costs.
    plans: Arc<PlanCache<Op>>,
    /// Multiply-adds of one operation at most.
    allowed: u64,
}

#[derive(Clone)]
pub(super) enum Backend {
    Cpu(Arc<Cpu>),
    #[cfg(feature = "gpu")]
    Gpu(Arc<Gpu>),
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// A real GPU when there is one, and the CPU otherwise; [`info`](Self::info) says which and why.
    ///
    /// Software rasterisers are passed over: this library's CPU device is faster. To use one all the same, name it in
    /// the environment (`WGPU_ADAPTER_NAME=llvmpipe`) or open it with [`Device::gpu`].
    pub fn auto() -> Device {
        #[cfg(feature = "gpu")]
        {
            let options = GpuOptions::default();
            let named = std::env::var_os("WGPU_ADAPTER_NAME").is_some();
            let opened = pollster::block_on(async {
                let (adapter, _) = gpu::choose(&options).await?;
                if adapter.get_info().device_type == wgpu::DeviceType::Cpu && !named {
                    return Ok(None);
                }
                gpu::open(&options).await.map(Some)
            });
            match opened {
                Ok(Some(gpu)) => Device::on_gpu(gpu),
                Ok(None) => Device::on_cpu("the only GPU adapter here is a software one"),
                Err(error) => Device::on_cpu(&format!("there is no GPU to use: {error}")),
            }
        }
        #[cfg(not(feature = "gpu"))]
        Device::on_cpu("this build has no GPU support (feature `gpu`)")
    }

    /// The CPU, with all its cores.
    pub fn cpu() -> Device {
        Device::on_cpu("asked for")
    }

    fn on_cpu(why: &str) -> Device {
        Device {
            backend: Backend::Cpu(Arc::new(Cpu::new(why.to_owned()))),
            costs: Arc::new(CostTable::cpu().with_workers(rayon::current_num_threads())),
            plans: Arc::default(),
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
            allowed: u64::MAX,
        }
    }

    /// Opens a GPU, a software one when there is no other.
    ///
    /// # Errors
    /// [`NoDevice`](crate::Error::NoDevice) when there is no adapter, or none of the name asked for; [`Argument`](crate::Error::Argument) for
    /// 0 workgroups in a dimension.
    #[cfg(feature = "gpu")]
    pub fn gpu(options: GpuOptions) -> Result<Device> {
        pollster::block_on(Device::gpu_async(options))
    }

    /// [`Device::gpu`] for an executor.
    ///
    /// # Errors
    /// Those of [`Device::gpu`].
    #[cfg(feature = "gpu")]
    pub async fn gpu_async(options: GpuOptions) -> Result<Device> {
        Ok(Device::on_gpu(gpu::open(&options).await?))
    }

    /// Every device of this machine: GPU adapters, the preferred one first, then the CPU.
    pub fn list() -> Vec<DeviceInfo> {
        let cpu = DeviceInfo {
            reason: String::new(),
            ..Device::cpu().info()
        };
        #[cfg(feature = "gpu")]
        {
            let adapters = pollster::block_on(gpu::adapters());
            let infos = adapters
                .iter()
                .map(|adapter| adapter_info(&adapter.get_info()));
            infos.chain([cpu]).collect()
        }
        #[cfg(not(feature = "gpu"))]
        vec![cpu]
    }

    /// Works on the application's own wgpu device, in its queue.
    ///
    /// The device's error and loss callbacks are single, and stay the application's: errors of this library's work are
    /// caught in error scopes, and a loss shows in the next call that waits.
    ///
    /// No features are needed, and no more than WebGPU's default limits, `wgpu::Limits::default()`: 8 storage
    /// buffers and a uniform one of 128 bytes with a dynamic offset, in one bind group of 9 bindings; workgroups of
    /// 256 invocations in x and of 16 KiB; buffers of 16 MiB, for transfers. The size of storage bindings limits
    /// that of tensors. With higher limits, and with `SHADER_F16`, `SUBGROUP` and
    /// `EXPERIMENTAL_COOPERATIVE_MATRIX`, there are faster kernels; with `TIMESTAMP_QUERY`, times of
    /// [`profile`](Self::profile).
    ///
    /// Waits until the device has done what was submitted to it, which is how the queue is recognised. wgpu calls
    /// the application's callbacks (of `map_async` and the like) from within submissions, also from those of this
    /// library: they must not call it back.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) names every limit that is too low, or says that the queue is another
    /// device's, or the adapter not the device's own. [`DeviceLost`](crate::Error::DeviceLost);
    /// [`OutOfMemory`](crate::Error::OutOfMemory) or [`Gpu`](crate::Error::Gpu) when the device cannot make a buffer.
    #[cfg(feature = "gpu")]
    pub fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Result<Device> {
        let gpu = Gpu::from_wgpu(adapter, device, queue, &GpuOptions::default())?;
        Ok(Device::on_gpu(gpu))
    }

    /// The wgpu device and queue behind a GPU device; `None` for the CPU.
    #[cfg(feature = "gpu")]
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        match &self.backend {
            Backend::Cpu(_) => None,
            Backend::Gpu(gpu) => Some((&gpu.device, &gpu.queue)),
        }
    }

    /// What the device is, why it was taken, and how many kernels it has compiled.
    pub fn info(&self) -> DeviceInfo {
        match &self.backend {
            Backend::Cpu(cpu) => DeviceInfo {
                name: format!("CPU, {} threads", rayon::current_num_threads()),
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

    /// Whether this is a GPU, software ones included.
    pub fn is_gpu(&self) -> bool {
        match &self.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(_) => true,
        }
    }

    /// What it multiplies f16 by.
    pub(super) fn matrices(&self) -> Option<Matrices> {
        match &self.backend {
            Backend::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.matrices,
        }
    }

    /// Whether it runs kernels of the native tier.
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

    /// What a GPU has for transforms.
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

    /// The most bytes of one tensor, where that is not all the memory there is.
    fn binding(&self) -> Option<u64> {
        match &self.backend {
            Backend::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => Some(gpu.limits.binding_bytes),
        }
    }

    /// Bytes that the device holds: of tensors, kept for reuse, on their way out, and for transfers.
    pub fn memory(&self) -> Memory {
        match &self.backend {
            Backend::Cpu(cpu) => cpu.memory(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.memory(),
        }
    }

    /// Gives back memory that is not in use: what is kept for reuse, idle buffers for transfers, what was planned, at
    /// most 256 MiB on the host, and on a GPU copies of layouts and plans. The next operation makes these again.
    ///
    /// Submits recorded work without waiting for it. What that work still uses counts as [`Memory::leaving`] until it
    /// is done.
    ///
    /// On the CPU also what [`memory`](Self::memory) does not count and all CPU devices share: the plans of transforms,
    /// at most about 64 MiB of each kind (`fft`, `ifft`, `rfft`, `irfft`) or the one longest, and the workspaces of
    /// convolutions, at most 256 MiB.
    pub fn trim(&self) {
        self.plans.clear();
        match &self.backend {
            Backend::Cpu(cpu) => cpu.trim(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.trim(),
        }
    }

    /// For the tests of this crate: what kernels of an instrumented device reached for outside their buffers since the
    /// last call.
    #[cfg(feature = "gpu")]
    #[doc(hidden)]
    pub fn accesses_outside(&self) -> Result<Vec<String>> {
        match &self.backend {
            Backend::Cpu(_) => Ok(Vec::new()),
            Backend::Gpu(gpu) => gpu.accesses_outside(),
        }
    }

    /// For the tests of this crate: the kernels that an instrumented device has compiled.
    #[cfg(feature = "gpu")]
    #[doc(hidden)]
    pub fn instrumented_kernels(&self) -> Vec<String> {
        match &self.backend {
            Backend::Cpu(_) => Vec::new(),
            Backend::Gpu(gpu) => gpu.instrumented_kernels(),
        }
    }

    /// Submits recorded work without waiting for it. The CPU has none.
    ///
    /// An application that shares buffers with the library calls it before it writes to one: see
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

    /// What convolutions cost here: what [`ConvMethod::Auto`](crate::conv::ConvMethod::Auto) decides by.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// The same device with another cost table, such as one that [`calibrate`](Self::calibrate) measured. Tensors of
    /// both are on one device; a pair goes by the table of its left operand.
    ///
    /// ```
    /// # use vsla::{Device, conv::CostTable};
    /// let saved: CostTable = "cpu workers=8 launch=5000 item=50 multiply_add=0.04 result=0.5 fft=4:8,12:5.6,20:9.2".parse()?;
    /// let device = Device::cpu().with_costs(saved)?;
    /// assert!(device.costs().to_string().starts_with("cpu workers=8 "));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`CostTable`](crate::Error::CostTable) for the table of another class of device.
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

    /// The same device, on which an operation that asks for more multiply-adds than this is refused before any of it
    /// runs. Tensors of both are on one device; an operation goes by the limit of its left operand.
    ///
    /// A program that computes what others ask for limits memory and time by it: a direct convolution of a million
    /// values with a million is 10¹² multiply-adds, seconds on a large GPU and minutes on a CPU. What is counted
    /// depends on lengths and methods alone, never on values or timing:
    ///
    /// | operation | counted |
    /// | --- | --- |
    /// | convolutions by the definition, `correlate_max`, `sbd` | m n a pair, with modes and strides those of the kept results |
    /// | convolutions by transforms of length L | 7½ L log₂ L each |
    /// | `matmul` | m k n a pair, whatever multiplies |
    /// | block-sparse products | the values of the stored blocks for each column |
    /// | `fft` and the like | 5 n log₂ n, half of it for real values; n² up to 64 values, and as much as the convolution of other lengths takes |
    /// | `conv_matmul`, `kron_matmul` | those of all entries' products, by the definition or by transforms |
    /// | `eval` | the coefficients for each point |
    /// | others | the values that are read or written |
    ///
    /// A GPU multiplies by zeros where that is faster, and is charged for them. More pairs than this are refused as
    /// well. Operations of several parts, such as `fft2`, are counted part by part.
    ///
    /// ```
    /// # use vsla::{Device, Error, Ragged};
    /// let device = Device::cpu().with_work_limit(1_000_000);
    /// let x = device.upload(&Ragged::from_rows([vec![1; 2000], vec![1; 10]])?)?;
    /// assert!(x.add(&x).is_ok());
    /// let error = x.conv(&x).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "conv: element 0: asks for 4000100 multiply-adds, above the 1000000 that the device's work limit allows: \
    ///      ask for less at once, or raise the limit"
    /// );
    /// assert!(matches!(error, Error::WorkLimit { asked: 4_000_100, allowed: 1_000_000, .. }));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn with_work_limit(&self, multiply_adds: u64) -> Device {
        Device {
            allowed: multiply_adds,
            ..self.clone()
        }
    }

    /// What [`with_work_limit`](Self::with_work_limit) set; `None` without a limit.
    pub fn work_limit(&self) -> Option<u64> {
        (self.allowed < u64::MAX).then_some(self.allowed)
    }

    /// Multiply-adds of one operation at most.
    pub(super) fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Copies a batch to the device. On a GPU the copy is recorded: the call does not wait for it, and the host data is
    /// free when it returns.
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit, naming the first element that does not
    /// fit; [`OutOfMemory`](crate::Error::OutOfMemory); [`DeviceLost`](crate::Error::DeviceLost).
    pub fn upload<T: Scalar>(&self, batch: &Ragged<T>) -> Result<Tensor<T>> {
        self.upload_parts(batch.layout(), batch.values())
    }

    /// What planning needs to know of it.
    pub(super) fn traits(&self) -> Traits<'_> {
        Traits {
            costs: &self.costs,
            allowed: self.allowed,
            room: self.room(),
            binding: self.binding(),
        }
    }

    /// What was planned for it.
    pub(super) fn plans(&self) -> &Arc<PlanCache<Op>> {
        &self.plans
    }

    /// What was made for operations so far: for tests and benchmarks.
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

    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(super) fn id(&self) -> u64 {
        match &self.backend {
            Backend::Cpu(cpu) => cpu.id,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.id,
        }
    }

    pub(super) fn name(&self) -> String {
        let info = self.info();
        format!("{} ({})", info.name, info.backend)
    }
}
