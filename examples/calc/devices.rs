//! Devices by the word that asks for them: opened once, kept, and opened again after a loss.

use vsla::{Device, device::DeviceKind};

use crate::device::Choice;
use crate::failure::Result;

#[derive(Default)]
pub struct Devices {
    opened: [Option<Device>; 3],
    /// Multiply-adds of one operation at most; `None` for what suits the device.
    pub max_work: Option<u64>,
}

/// What takes a minute at most on a device of this kind.
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

    /// The next [`get`](Self::get) opens the device anew.
    pub fn forget(&mut self, choice: Choice) {
        self.opened[choice as usize] = None;
    }
}
