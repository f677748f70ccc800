//! What a device is.

use std::fmt;

/// What kind of machine a device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The CPU device of this library.
    Cpu,
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the CPU's memory.
    Integrated,
    /// A GPU lent by a hypervisor.
    Virtual,
    /// A GPU interface that computes on the CPU.
    Software,
    /// What the driver does not tell.
    Other,
}

/// What a device is, and why it was taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name its driver gives.
    pub name: String,
    /// `cpu`, `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// What kind of machine.
    pub kind: DeviceKind,
    /// The driver and its version; empty for the CPU.
    pub driver: String,
    /// Why this device was taken; empty in a list.
    pub reason: String,
    /// What kernels may use. `None` for the CPU.
    pub limits: Option<DeviceLimits>,
    /// Rows and columns of the cooperative matrices that products of `f16` are made by, 8 or 16, where there are any.
    /// `None` in a list.
    pub matrices: Option<usize>,
    /// Whether it runs the native tier's kernels of matrix products: see [`Tier::Native`](crate::product::Tier::Native). `false`
    /// in a list.
    pub native: bool,
    /// Kernels compiled so far, of a closed list.
    pub pipelines: usize,
    /// Bind groups kept for reuse, of a bounded number.
    pub bind_groups: usize,
}

/// What kernels may use on a GPU: its own limits, lowered where the options say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// Workgroups in one dimension of a dispatch.
    pub workgroups_per_dimension: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Invocations of a workgroup.
    pub invocations: u32,
    /// Bytes of one tensor.
    pub binding_bytes: u64,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.backend)?;
        if !self.reason.is_empty() {
            write!(f, ", {}", self.reason)?;
        }
        Ok(())
    }
}

#[cfg(feature = "gpu")]
pub(super) fn adapter_info(info: &wgpu::AdapterInfo) -> DeviceInfo {
    DeviceInfo {
        name: info.name.clone(),
        backend: info.backend.to_string().to_lowercase(),
        kind: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => DeviceKind::Discrete,
            wgpu::DeviceType::IntegratedGpu => DeviceKind::Integrated,
            wgpu::DeviceType::VirtualGpu => DeviceKind::Virtual,
            wgpu::DeviceType::Cpu => DeviceKind::Software,
            wgpu::DeviceType::Other => DeviceKind::Other,
        },
        driver: format!("{} {}", info.driver, info.driver_info)
            .trim()
            .to_owned(),
        reason: String::new(),
        limits: None,
        matrices: None,
        native: false,
        pipelines: 0,
        bind_groups: 0,
    }
}

/// What was made for operations so far.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Plans that the device made.
    pub plans: u64,
    /// Copies of metadata, work lists and tables to the device.
    pub uploads: u64,
    /// Layouts that this thread made.
    pub layouts: u64,
}
