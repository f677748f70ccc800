//! The application's wgpu device, which the library uses, too.

use vsla::Device;
use vsla::device::wgpu;

use crate::Failure;

pub struct Shared {
    #[cfg_attr(
        not(feature = "window"),
        expect(dead_code, reason = "only a surface needs it")
    )]
    pub adapter: wgpu::Adapter,
    pub gpu: wgpu::Device,
    pub queue: wgpu::Queue,
    /// The library, on the same device and queue.
    pub device: Device,
}

impl Shared {
    /// Opens the adapter whose name contains `name`, or else the fastest one. It can draw to the surface, if there is
    /// one.
    pub async fn open(
        instance: &wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
        name: Option<&str>,
    ) -> Result<Shared, Failure> {
        let adapter = match name {
            None => {
                let options = wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    compatible_surface: surface,
                    ..wgpu::RequestAdapterOptions::default()
                };
                let adapter = instance.request_adapter(&options).await;
                adapter.map_err(|error| Failure::Gpu(error.to_string()))?
            }
            Some(name) => named(instance, surface, name).await?,
        };
        // The library needs no features, and no more than the default limits.
        let request = adapter.request_device(&wgpu::DeviceDescriptor::default());
        let (gpu, queue) = request
            .await
            .map_err(|error| Failure::Gpu(error.to_string()))?;
        let device = Device::from_wgpu(&adapter, gpu.clone(), queue.clone())?;
        Ok(Shared {
            adapter,
            gpu,
            queue,
            device,
        })
    }

    /// Waits until all submitted work is done.
    pub fn wait(&self) -> Result<(), Failure> {
        let done = self.gpu.poll(wgpu::PollType::wait_indefinitely());
        done.map(|_| ())
            .map_err(|error| Failure::Gpu(error.to_string()))
    }
}

async fn named(
    instance: &wgpu::Instance,
    surface: Option<&wgpu::Surface<'_>>,
    name: &str,
) -> Result<wgpu::Adapter, Failure> {
    let mut adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
    adapters.retain(|adapter| surface.is_none_or(|surface| adapter.is_surface_supported(surface)));
    let name_of = |adapter: &wgpu::Adapter| adapter.get_info().name;
    let has = |adapter: &wgpu::Adapter| {
        name_of(adapter)
            .to_lowercase()
            .contains(&name.to_lowercase())
    };
    match adapters.iter().position(has) {
        Some(at) => Ok(adapters.swap_remove(at)),
        None => {
            let names: Vec<String> = adapters.iter().map(name_of).collect();
            let there = match names.is_empty() {
                true => "there is none".to_owned(),
                false => format!("choose one of: {}", names.join(", ")),
            };
            Err(Failure::Gpu(format!(
                "no adapter with a name like {name:?}; {there}"
            )))
        }
    }
}
