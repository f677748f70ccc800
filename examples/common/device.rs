//! The choice of a device on the examples' command lines.

use vsla::Device;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Choice {
    /// A GPU if there is one, else the CPU
    Auto,
    /// The CPU
    Cpu,
    /// A GPU, which may be a software rasteriser; fails if there is none
    Gpu,
}

impl Choice {
    pub fn open(self) -> vsla::Result<Device> {
        match self {
            Choice::Auto => Ok(Device::auto()),
            Choice::Cpu => Ok(Device::cpu()),
            Choice::Gpu => gpu(),
        }
    }
}

#[cfg(feature = "gpu")]
fn gpu() -> vsla::Result<Device> {
    Device::gpu_blocking(vsla::device::GpuOptions::default())
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> vsla::Result<Device> {
    Err(vsla::Error::NoDevice {
        reason: "this build has no GPU support (feature `gpu`)".to_owned(),
    })
}
