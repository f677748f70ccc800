//! Descriptions of devices.

use std::fmt;

/// The kind of hardware behind a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The CPU device of this library.
    Cpu,
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the CPU's memory.
    Integrated,
    /// A GPU that a hypervisor provides.
    Virtual,
    /// A software adapter: a GPU interface that computes on the CPU.
    Software,
    /// The driver does not say.
    Other,
}

/// A description of a device, and why it was chosen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name reported by the driver.
    pub name: String,
    /// The place in [`Device::list`](crate::Device::list), from 0 on, by which the options choose a GPU. `None` for the
    /// CPU, and for a device that the application opened.
    pub ordinal: Option<usize>,
    /// The address on the PCI bus, such as `0000:81:00.0`, if the driver tells it.
    pub pci: Option<String>,
    /// `cpu`, `vulkan`, `metal`, `dx12` or `webgpu`.
    pub backend: String,
    /// The kind of hardware.
    pub kind: DeviceKind,
    /// The driver and its version; empty for the CPU.
    pub driver: String,
    /// Why this device was chosen; empty in a list.
    pub reason: String,
    /// The limits on kernels. `None` for the CPU.
    pub limits: Option<DeviceLimits>,
    /// The side (8 or 16) of the cooperative matrices that multiply `f16`, if the device has them. `None` in a list.
    pub matrices: Option<usize>,
    /// Whether the device runs the native tier's matrix product kernels: see
    /// [`Tier::Native`](crate::product::Tier::Native). `false` in a list.
    pub native: bool,
    /// The number of kernels compiled so far, from a fixed set.
    pub pipelines: usize,
    /// The number of bind groups cached for reuse, which is bounded.
    pub bind_groups: usize,
}

/// The limits that a GPU's kernels observe: the device's own, lowered where the options say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// The most workgroups in one dimension of a dispatch.
    pub workgroups_per_dimension: u32,
    /// The most bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// The most invocations in a workgroup.
    pub invocations: u32,
    /// The most bytes in one tensor.
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
        name: match info.name.is_empty() {
            // Browsers may keep the name to themselves.
            true => "unnamed GPU".to_owned(),
            false => info.name.clone(),
        },
        ordinal: None,
        pci: Some(info.device_pci_bus_id.clone()).filter(|at| !at.is_empty()),
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

/// Counts of objects made for operations so far.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Plans made by the device.
    pub plans: u64,
    /// Copies of metadata, work lists and tables to the device.
    pub uploads: u64,
    /// Layouts made by this thread.
    pub layouts: u64,
}
