//! Runs any input as a program. Compares elements alone with elements in the batch and, with the feature `gpu`, each
//! operation on the GPU with the CPU. See `run.sh` for how to run it.

#![no_main]

#[allow(dead_code, unused_imports, reason = "the suite needs more of it")]
#[path = "../../tests/suite/programs/mod.rs"]
mod programs;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use vsla::Device;

fuzz_target!(|bytes: &[u8]| {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        #[cfg(feature = "gpu")]
        return vec![
            Device::cpu(),
            Device::gpu_blocking(Default::default()).expect("a GPU"),
        ];
        #[cfg(not(feature = "gpu"))]
        vec![Device::cpu()]
    });
    for device in devices {
        let run = programs::Program::new(bytes, programs::STEPS, device, |_, _| true);
        let checked = programs::check_alone(&run, device);
        let checked = checked.and_then(|()| match device.is_gpu() {
            true => programs::check_against(&run, &devices[0]),
            false => Ok(()),
        });
        checked.unwrap_or_else(|why| panic!("{why}"));
    }
});
