//! Fleets, and the choice of their devices.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Named;
#[cfg(feature = "gpu")]
use crate::gpu::GpuOptions;
use crate::tensor::Device;
#[cfg(feature = "gpu")]
use crate::tensor::{DeviceInfo, DeviceKind};
use crate::{Error, Result};

const OP: &str = "fleet";

/// How to open and use a [`Fleet`].
///
/// ```
/// use vsla::fleet::FleetOptions;
/// let options = FleetOptions { retry: true, ..FleetOptions::default() };
/// assert!(!options.mixed && options.devices.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct FleetOptions {
    /// Take devices of different models. Their roundings may differ, so results may depend on how a batch is divided.
    /// Otherwise, [`Fleet::open`] takes the GPUs of the model that [`Device::list`] has first.
    pub mixed: bool,
    /// When a device is lost, its unfinished ranges are computed by the others, instead of failing. On devices of one
    /// model, results have the same bits. The function of [`Fleet::map`] may run twice for an element.
    pub retry: bool,
    /// The most devices to open; at least 1. `None`: all.
    pub devices: Option<usize>,
    /// The most bytes of operands that a device takes at once, unless a single element has more; at least 1. `None`: 32
    /// MiB.
    pub range_bytes: Option<u64>,
    /// How to open each GPU. [`GpuOptions::adapter`], or else the environment variable `WGPU_ADAPTER_NAME`, chooses all
    /// adapters whose names contain it, including software adapters, or the only one that it stands for.
    #[cfg(feature = "gpu")]
    pub gpu: GpuOptions,
}

/// Devices that share the elements of a batch. Cheap to clone.
///
/// ```
/// use vsla::fleet::{Fleet, FleetOptions};
/// let fleet = Fleet::open(FleetOptions::default())?;
/// for device in fleet.devices() {
///     println!("{}", device.info());
/// }
/// # assert!(!fleet.devices().is_empty());
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fleet {
    devices: Arc<[Device]>,
    pub(super) retry: bool,
    pub(super) range_bytes: Option<u64>,
}

impl Fleet {
    /// Opens every hardware GPU of one model, or, if there is none, the device of [`Device::auto`]: the software
    /// adapter that `WGPU_ADAPTER_NAME` names, or the CPU. Blocks the thread.
    ///
    /// An adapter that a second graphics API offers again, under the same name, is left out.
    ///
    /// In a browser, this is the CPU; await [`Device::gpu`] and pass it to [`of`](Self::of) to use a GPU there.
    ///
    /// # Errors
    /// Those of [`Device::gpu`], and those of [`with_options`](Self::with_options).
    pub fn open(options: FleetOptions) -> Result<Fleet> {
        options.check()?;
        #[cfg(feature = "gpu")]
        let mut devices = gpus(&options)?;
        #[cfg(not(feature = "gpu"))]
        let mut devices = Vec::new();
        if devices.is_empty() {
            devices.push(Device::auto());
        }
        Fleet::with_options(devices, &options)
    }

    /// A fleet of these devices, with default options.
    ///
    /// ```
    /// use vsla::{Device, fleet::Fleet};
    /// let fleet = Fleet::of([Device::cpu()])?;
    /// assert_eq!(fleet.devices().len(), 1);
    /// let error = Fleet::of([Device::cpu(), Device::cpu()]).unwrap_err();
    /// assert!(error.to_string().starts_with("fleet: expected each device once, got"));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`with_options`](Self::with_options).
    pub fn of(devices: impl IntoIterator<Item = Device>) -> Result<Fleet> {
        Fleet::with_options(devices, &FleetOptions::default())
    }

    /// A fleet of these devices. Of the options, those about opening have no effect.
    ///
    /// All handles of the CPU are one device. A GPU that was opened twice is two devices.
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) without devices, for a device that is given twice, for different models without
    /// [`FleetOptions::mixed`], and for an option that is 0.
    pub fn with_options(
        devices: impl IntoIterator<Item = Device>,
        options: &FleetOptions,
    ) -> Result<Fleet> {
        options.check()?;
        let devices: Vec<Device> = devices.into_iter().collect();
        let refused = |expected: &str, got: String| Err(Error::argument(expected, got).named(OP));
        let Some(first) = devices.first() else {
            return refused("at least one device", "none".to_owned());
        };
        for (i, device) in devices.iter().enumerate() {
            if let Some(before) = devices[..i].iter().position(|other| other.is_same(device)) {
                let got = format!("{} as devices {before} and {i}", device.name());
                return refused("each device once", got);
            }
            if !options.mixed && model(device) != model(first) {
                let got = format!("{} and {}", first.name(), device.name());
                return refused("devices of one model, or the option mixed", got);
            }
        }
        Ok(Fleet {
            devices: devices.into(),
            retry: options.retry,
            range_bytes: options.range_bytes,
        })
    }

    /// The devices, in the order of their shares.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The place of a device among [`devices`](Self::devices), such as to find the program that was made for it.
    ///
    /// ```
    /// use vsla::program::Program;
    /// use vsla::{Ragged, Tensor, fleet::{Cost, Fleet, FleetOptions}};
    ///
    /// let fleet = Fleet::open(FleetOptions::default())?;
    /// let norms = |device| Program::new(device, |r| {
    ///     let x: Tensor<f32> = r.input()?;
    ///     r.output(&x.square()?.sum()?.sqrt()?)
    /// });
    /// let programs: Vec<Program> = fleet.devices().iter().map(norms).collect();
    /// let x = Ragged::from_rows([vec![3.0f32, 4.0], vec![], vec![-2.0]])?;
    /// let norms = fleet.map(&x, Cost::values(), |device, part| {
    ///     let plan = programs[fleet.place(device)?].plan(&[part.layout()])?;
    ///     plan.run(&[part])?.get::<f32>(0)
    /// })?;
    /// assert_eq!(norms.values(), [5.0, 0.0, 2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch) for a device outside the fleet.
    pub fn place(&self, device: &Device) -> Result<usize> {
        let mut devices = self.devices.iter();
        let found = devices.position(|own| own.is_same(device));
        let outside = || Error::device_mismatch("the devices of the fleet", device.name());
        found.ok_or_else(outside).named("place")
    }

    /// A device of another model than the first one's.
    pub(super) fn other_model(&self) -> Option<&Device> {
        let mut devices = self.devices.iter();
        devices.find(|device| model(device) != model(&self.devices[0]))
    }

    /// The error of a part of a batch.
    pub(super) fn failed(
        &self,
        op: &'static str,
        device: usize,
        elements: Range<usize>,
        error: Error,
    ) -> Error {
        Error::Part {
            op,
            device,
            name: self.devices[device].name(),
            elements,
            error: Box::new(error),
        }
    }
}

impl FleetOptions {
    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("devices", self.devices.map(|count| count as u64)),
            ("range_bytes", self.range_bytes),
        ] {
            if value == Some(0) {
                let expected = format!("{name} of at least 1");
                return Err(Error::argument(expected, 0).named(OP));
            }
        }
        Ok(())
    }
}

/// What devices whose results have the same bits have in common.
fn model(device: &Device) -> [String; 3] {
    let info = device.info();
    match device.is_gpu() {
        true => [info.name, info.backend, info.driver],
        false => Default::default(),
    }
}

/// The GPUs that the options ask for; none if there are only software adapters, and none was named.
#[cfg(feature = "gpu")]
fn gpus(options: &FleetOptions) -> Result<Vec<Device>> {
    let mut found = Device::list();
    found.retain(|entry| entry.ordinal.is_some());
    let asked = options.gpu.adapter.clone();
    let asked = asked.or_else(|| std::env::var("WGPU_ADAPTER_NAME").ok());
    match asked.map(|text| text.trim().to_lowercase()) {
        None => found.retain(|entry| entry.kind != DeviceKind::Software),
        Some(text) => {
            found.retain(|entry| entry.name.to_lowercase().contains(&text));
            if found.is_empty() {
                return Ok(vec![Device::gpu_blocking(options.gpu.clone())?]);
            }
        }
    }
    let of_entry = |entry: &DeviceInfo| GpuOptions {
        adapter: entry.ordinal.map(|ordinal| format!("#{ordinal}")),
        ..options.gpu.clone()
    };
    let chosen = one_model(found, options.mixed);
    let chosen = chosen.iter().take(options.devices.unwrap_or(usize::MAX));
    chosen
        .map(|entry| Device::gpu_blocking(of_entry(entry)))
        .collect()
}

/// The entries of the first one's model, or of all models; without those that another graphics API offers, too.
#[cfg(feature = "gpu")]
fn one_model(mut found: Vec<DeviceInfo>, mixed: bool) -> Vec<DeviceInfo> {
    let all = found.clone();
    found.retain(|entry| {
        let first_of_name = all.iter().find(|other| other.name == entry.name);
        let is_repeated = first_of_name.is_some_and(|first| first.backend != entry.backend);
        let is_first_model = (&entry.name, &entry.driver) == (&all[0].name, &all[0].driver);
        !is_repeated && (mixed || is_first_model)
    });
    found
}

#[cfg(all(feature = "gpu", feature = "testing"))]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn one_model_is_chosen_once() {
        let entry = |name: &str, backend: &str| DeviceInfo {
            name: name.to_owned(),
            backend: backend.to_owned(),
            kind: DeviceKind::Discrete,
            ..Device::cpu().info()
        };
        let all = [
            entry("A", "vulkan"),
            entry("B", "vulkan"),
            entry("A", "vulkan"),
            entry("A", "dx12"),
            entry("C", "dx12"),
        ];
        let chosen = |mixed| {
            let chosen = one_model(all.to_vec(), mixed);
            let names = chosen
                .iter()
                .map(|entry| format!("{} {}", entry.name, entry.backend));
            names.collect::<Vec<_>>()
        };
        assert_eq!(chosen(false), ["A vulkan", "A vulkan"]);
        assert_eq!(chosen(true), ["A vulkan", "B vulkan", "A vulkan", "C dx12"]);
    }
}
