//! Devices by the word that asks for them: opened once, kept, and opened again after a loss.

use std::fmt;

use vsla::Device;

use crate::failure::{Failure, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Choice {
    /// A GPU if there is one, else the CPU
    Auto,
    /// The CPU
    Cpu,
    /// A GPU, which may be a software rasteriser; an error if there is none
    Gpu,
}

impl Choice {
    const ALL: [Choice; 3] = [Choice::Auto, Choice::Cpu, Choice::Gpu];

    pub fn named(name: &str) -> Result<Choice> {
        Choice::ALL
            .into_iter()
            .find(|choice| choice.to_string() == name)
            .ok_or_else(|| {
                Failure::request(format!(
                    "device: expected \"auto\", \"cpu\" or \"gpu\", got {name:?}"
                ))
            })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Choice::Auto => "auto",
            Choice::Cpu => "cpu",
            Choice::Gpu => "gpu",
        })
    }
}

#[derive(Default)]
pub struct Devices([Option<Device>; 3]);

impl Devices {
    pub fn get(&mut self, choice: Choice) -> Result<Device> {
        let slot = &mut self.0[choice as usize];
        if let Some(device) = slot {
            return Ok(device.clone());
        }
        let opened = match choice {
            Choice::Auto => Device::auto(),
            Choice::Cpu => Device::cpu(),
            Choice::Gpu => gpu()?,
        };
        Ok(slot.insert(opened).clone())
    }

    /// The next [`get`](Self::get) opens the device anew.
    pub fn forget(&mut self, choice: Choice) {
        self.0[choice as usize] = None;
    }
}

#[cfg(feature = "gpu")]
fn gpu() -> vsla::Result<Device> {
    Device::gpu(vsla::GpuOptions::default())
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> vsla::Result<Device> {
    Err(vsla::Error::NoDevice {
        reason: "this build has no GPU support (feature `gpu`)".to_owned(),
    })
}
