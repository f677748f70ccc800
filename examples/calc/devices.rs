//! Devices by name: opened once, cached, and reopened after a loss.

use catalogue::Result;
use vsla::{Device, device::DeviceKind};

use crate::device::Choice;
use crate::fleet::Where;

#[derive(Default)]
pub struct Devices {
    opened: [Option<Device>; 3],
    /// Those that share requests.
    fleet: Option<Vec<Device>>,
    /// Most multiply-adds of one operation; `None` for the device's default.
    pub max_work: Option<u64>,
}

/// Multiply-adds that take at most a minute on a device of this kind.
fn minute(kind: DeviceKind) -> u64 {
    match kind {
        DeviceKind::Cpu => 100_000_000_000,
        DeviceKind::Software => 10_000_000_000,
        _ => 10_000_000_000_000,
    }
}

/// The device with a limit of this much work, or of a minute.
fn limited(max_work: Option<u64>, device: &Device) -> Device {
    device.with_work_limit(max_work.unwrap_or(minute(device.info().kind)))
}

impl Devices {
    pub fn new(max_work: Option<u64>) -> Devices {
        Devices {
            max_work,
            ..Devices::default()
        }
    }

    pub fn get(&mut self, choice: Choice) -> Result<Device> {
        let slot = &mut self.opened[choice as usize];
        if let Some(device) = slot {
            return Ok(device.clone());
        }
        let device = limited(self.max_work, &choice.open()?);
        Ok(slot.insert(device).clone())
    }

    /// The devices that share requests.
    pub fn fleet(&mut self, on: Where) -> Result<Vec<Device>> {
        if let Some(devices) = &self.fleet {
            return Ok(devices.clone());
        }
        let fleet = on.open()?;
        let devices = fleet
            .devices()
            .iter()
            .map(|device| limited(self.max_work, device));
        Ok(self.fleet.insert(devices.collect()).clone())
    }

    /// Makes the next [`get`](Self::get) open the device anew, and the next [`fleet`](Self::fleet) all of its own.
    pub fn forget(&mut self, choice: Choice) {
        self.opened[choice as usize] = None;
        self.fleet = None;
    }
}
