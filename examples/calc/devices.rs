//! Devices by name: opened once, cached, and reopened after a loss.

use catalogue::Result;
use vsla::{Device, device::DeviceKind};

use crate::device::Choice;

#[derive(Default)]
pub struct Devices {
    opened: [Option<Device>; 3],
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
        let device = choice.open()?;
        let most = self.max_work.unwrap_or(minute(device.info().kind));
        Ok(slot.insert(device.with_work_limit(most)).clone())
    }

    /// Makes the next [`get`](Self::get) open the device anew.
    pub fn forget(&mut self, choice: Choice) {
        self.opened[choice as usize] = None;
    }
}
