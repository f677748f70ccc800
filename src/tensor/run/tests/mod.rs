//! Tests of operations that no public method calls, on each device.

mod chains;
mod slopes;

use std::sync::LazyLock;

use crate::Device;

/// The CPU, and a GPU if there is one. Tests share them, and the kernels that they have compiled.
pub(in crate::tensor) fn devices() -> &'static [Device] {
    static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
        #[cfg_attr(
            not(feature = "gpu"),
            expect(unused_mut, reason = "only a GPU is added")
        )]
        let mut devices = vec![Device::cpu()];
        #[cfg(feature = "gpu")]
        match Device::gpu_blocking(crate::device::GpuOptions::default()) {
            Ok(gpu) => devices.push(gpu),
            Err(error) => {
                let required = std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1");
                assert!(!required, "{error}");
            }
        }
        devices
    });
    &DEVICES
}
