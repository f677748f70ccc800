//! Devices by the word that asks for them: opened once, kept, and opened again after a loss.

use vsla::Device;

use crate::device::Choice;
use crate::failure::Result;

#[derive(Default)]
pub struct Devices([Option<Device>; 3]);

impl Devices {
    pub fn get(&mut self, choice: Choice) -> Result<Device> {
        let slot = &mut self.0[choice as usize];
        if let Some(device) = slot {
            return Ok(device.clone());
        }
        Ok(slot.insert(choice.open()?).clone())
    }

    /// The next [`get`](Self::get) opens the device anew.
    pub fn forget(&mut self, choice: Choice) {
        self.0[choice as usize] = None;
    }
}
