//! Finding an adapter and opening it.

use std::sync::Arc;

use super::Gpu;
use super::account::{Account, LARGEST_PIECE, Sizes};
use super::bounds::Watch;
use super::errors::Health;
use super::pipelines::{Limits, PARAM_BYTES, Pipelines};
use super::poll::Poller;
use super::pool::{Pool, QUAD, SMALLEST};
use super::recorder::{Recorder, param_stride};
use super::staging::Staging;
use crate::plan::Matrices;
use crate::{Error, Result};

/// How to open a GPU. The defaults take the best adapter with all that it offers.
///
/// The `max_*` fields lower the device's own limits and never raise them: an application can leave room for others,
/// and a test can meet a small device's limits on a large one.
///
/// ```
/// use vsla::device::GpuOptions;
/// let options = GpuOptions { memory_limit: Some(1 << 30), ..GpuOptions::default() };
/// assert!(options.adapter.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Take the adapter whose name contains this, in any case of letters. `None`: what the environment variable
    /// `WGPU_ADAPTER_NAME` says, or else the fastest kind there is; software rasterisers come last.
    pub adapter: Option<String>,
    /// Most workgroups in one dimension of a dispatch, 1 at least.
    pub max_workgroups_per_dimension: Option<u32>,
    /// Most bytes of workgroup memory; kernels that need more are refused.
    pub max_workgroup_memory: Option<u32>,
    /// Most invocations of a workgroup; kernels that need more are refused.
    pub max_invocations: Option<u32>,
    /// Most bytes of one tensor.
    pub max_binding_bytes: Option<u64>,
    /// Most bytes of device memory to hold, all that [`Memory`](crate::device::Memory) counts together, at any moment.
    ///
    /// Where an allocation would pass it, first everything gives way that is not in use: buffers kept for reuse, idle
    /// staging buffers, copies of layouts and plans. Transfers go in pieces of a 64th of the limit, of which a few are
    /// kept free for them (a twentieth of the limit together, of small limits), so that what is on the device can
    /// always be read back. A limit that leaves no room for tensors is refused with
    /// [`OutOfMemory`](crate::Error::OutOfMemory) when the device is opened.
    ///
    /// Imported buffers are not counted, nor is what wgpu and the driver need for themselves: wgpu takes memory from
    /// the driver in blocks, of which the buffers counted here are parts.
    pub memory_limit: Option<u64>,
    /// Most bytes of freed buffers to keep for reuse. `None`: 4 GiB.
    pub cache_limit: Option<u64>,
    /// Fill every result with NaN before it is computed, so that a value that no kernel wrote shows.
    pub poison: bool,
    /// Compile kernels with wgpu's checks at run time: an access outside a buffer or workgroup memory is moved inside
    /// or left out, and no loop is endless. Kernels keep to their buffers without, which is tested and not proven;
    /// results are the same bits. What it costs is measured by `cargo bench -- --checked`.
    pub checked: bool,
    /// For the tests of this crate: kernels count their accesses outside buffers.
    #[doc(hidden)]
    pub instrumented: bool,
}

const CACHE_LIMIT: u64 = 4 << 30;

/// Adapters in the order of preference: real GPUs before software.
pub(crate) async fn adapters() -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    descriptor.backends &= wgpu::Backends::PRIMARY;
    if !cfg!(debug_assertions) && std::env::var_os("WGPU_VALIDATION_INDIRECT_CALL").is_none() {
        descriptor.flags -= wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL;
    }
    let instance = wgpu::Instance::new(descriptor);
    let mut found = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
    // Stable: drivers list the system's preferred device first.
    found.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    found
}

fn rank(kind: wgpu::DeviceType) -> u32 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// The adapter that the options or the environment name, or the first.
pub(crate) async fn choose(options: &GpuOptions) -> Result<(wgpu::Adapter, String)> {
    let wanted = options
        .adapter
        .clone()
        .map(|name| (name, "the options name it"))
        .or_else(|| {
            std::env::var("WGPU_ADAPTER_NAME")
                .ok()
                .map(|name| (name, "WGPU_ADAPTER_NAME names it"))
        });
    let found = adapters().await;
    let names: Vec<String> = found.iter().map(|a| a.get_info().name).collect();
    match wanted {
        Some((wanted, why)) => {
            let lower = wanted.to_lowercase();
            let at = names
                .iter()
                .position(|name| name.to_lowercase().contains(&lower));
            match at.and_then(|at| found.into_iter().nth(at)) {
                Some(adapter) => Ok((adapter, why.to_owned())),
                None => Err(Error::NoDevice {
                    reason: format!("no adapter is named like {wanted:?}, there are: {names:?}"),
                }),
            }
        }
        None => match found.into_iter().next() {
            Some(adapter) => {
                let why = match adapter.get_info().device_type {
                    wgpu::DeviceType::Cpu => "there is no other adapter than this software one",
                    _ => "the first adapter of the fastest kind",
                };
                Ok((adapter, why.to_owned()))
            }
            None => Err(Error::NoDevice {
                reason: "no Vulkan, Metal or DX12 adapter was found".to_owned(),
            }),
        },
    }
}

/// What kernels on cooperative matrices need.
const MATRICES: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// The matrices of f16 that an adapter multiplies into f32: of 16 × 16, where its subgroups are of 32, or of 8 × 8.
/// Kernels on them are of 256 invocations, and of 48 or 16 KiB of workgroup memory.
fn matrices(adapter: &wgpu::Adapter, invocations: u32, memory: u32) -> Option<Matrices> {
    use wgpu::CooperativeScalarType::{F16, F32};
    if !adapter.features().contains(MATRICES) || invocations < 256 {
        return None;
    }
    let info = adapter.get_info();
    let listed = adapter.cooperative_matrix_properties();
    let has = |side| {
        listed.iter().any(|m| {
            [m.m_size, m.n_size, m.k_size] == [side; 3] && m.ab_type == F16 && m.cr_type == F32
        })
    };
    let lanes = (info.subgroup_min_size, info.subgroup_max_size);
    if has(16) && lanes == (32, 32) && memory >= 49_152 {
        return Some(Matrices::Sixteen);
    }
    // Apple's GPUs have 32 lanes, and are said to have up to 64.
    let lanes_fit = lanes.1 <= 32 || info.backend == wgpu::Backend::Metal;
    (has(8) && lanes_fit && memory >= 16_384).then_some(Matrices::Eight)
}

fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: wgpu does not check the sizes of cooperative matrices against the adapter, nor that workgroups are of
    // whole subgroups. `matrices` does the former, and the kernels of the closed list are of whole subgroups of 32, or
    // of what divides that. Matrices are loaded from and stored to workgroup memory alone, and `bounds.rs` compares the
    // first and the last value of each.
    #[allow(unsafe_code, reason = "experimental features must be asked for so")]
    unsafe {
        wgpu::ExperimentalFeatures::enabled()
    }
}

/// Opens an adapter of our own choice.
pub(crate) async fn open(options: &GpuOptions) -> Result<Gpu> {
    let (adapter, why) = choose(options).await?;
    let limits = adapter.limits();
    if let Some(what) = lacking(&limits) {
        return Err(Error::NoDevice {
            reason: format!("{} does not suffice: {what}", adapter.get_info().name),
        });
    }
    let (invocations, memory) = (
        limits.max_compute_invocations_per_workgroup,
        limits.max_compute_workgroup_storage_size,
    );
    let wanted = wgpu::Features::TIMESTAMP_QUERY
        | match matrices(&adapter, invocations, memory) {
            Some(_) => MATRICES,
            None => wgpu::Features::empty(),
        };
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("vsla"),
            required_features: adapter.features() & wanted,
            experimental_features: experimental(),
            required_limits: limits,
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        })
        .await
        .map_err(|e| Error::NoDevice {
            reason: format!("{} cannot be opened: {e}", adapter.get_info().name),
        })?;
    let health = Arc::new(Health::default());
    let on_loss = health.clone();
    device.set_device_lost_callback(move |reason, message| {
        on_loss.mark_lost(format!("{reason:?}: {message}"));
    });
    // Everything is recorded inside error scopes; what still comes here has lost its caller, and must not panic.
    device.on_uncaptured_error(Arc::new(|error| log::error!("wgpu: {error}")));
    Gpu::new(&adapter, device, queue, health, why, options)
}

/// Bytes of the largest buffer that kernels are given where the device allows so many. They read and write quads of
/// words, so a buffer is made of whole ones; and below 4 GiB the place of a half, or a difference of two, is an i32.
fn largest(allowed: u64) -> u64 {
    allowed.min(u64::from(u32::MAX)) & !(QUAD - 1)
}

impl Gpu {
    pub(crate) fn new(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        health: Arc<Health>,
        why: String,
        options: &GpuOptions,
    ) -> Result<Gpu> {
        if options.max_workgroups_per_dimension == Some(0) {
            return Err(Error::Argument {
                op: "device",
                expected: "1 or more workgroups in a dimension".to_owned(),
                got: "0".to_owned(),
            });
        }
        let info = adapter.get_info();
        let own = device.limits();
        let largest = largest(own.max_storage_buffer_binding_size.min(own.max_buffer_size));
        let limits = Limits {
            workgroups_per_dimension: own
                .max_compute_workgroups_per_dimension
                .min(options.max_workgroups_per_dimension.unwrap_or(u32::MAX)),
            workgroup_memory: own
                .max_compute_workgroup_storage_size
                .min(options.max_workgroup_memory.unwrap_or(u32::MAX)),
            invocations: own
                .max_compute_invocations_per_workgroup
                .min(options.max_invocations.unwrap_or(u32::MAX)),
            binding_bytes: largest.min(options.max_binding_bytes.unwrap_or(u64::MAX)),
            storage_buffers: own.max_storage_buffers_per_shader_stage,
        };
        let stride = param_stride(&device);
        let sizes = Sizes::within(options.memory_limit, stride);
        let pool = Pool::new(
            device.clone(),
            largest,
            options.cache_limit.unwrap_or(CACHE_LIMIT),
            Account::new(options.memory_limit, sizes, stride)?,
        );
        let recorder = Recorder::new(&device, &pool, sizes.dispatches)?;
        let watch = options.instrumented.then(|| Watch::new(&device, &pool));
        let pipelines = Pipelines::new(options.checked, watch.transpose()?);
        let timestamps = device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        log::info!(
            "GPU: {} ({}, {} {})",
            info.name,
            info.backend,
            info.driver,
            info.driver_info
        );
        Ok(Gpu {
            id: crate::machine::next_device_id(),
            matrices: matrices(adapter, limits.invocations, limits.workgroup_memory)
                .filter(|_| device.features().contains(MATRICES)),
            info,
            why,
            limits,
            timestamps,
            poison: options.poison,
            pool,
            pipelines,
            tables: Default::default(),
            copies: Default::default(),
            uploads: Default::default(),
            making_room: Default::default(),
            recorder: std::sync::Mutex::new(recorder),
            staging: Staging::new(sizes),
            poller: Poller::default(),
            health,
            device,
            queue,
        })
    }
}

/// What the limits lack of what kernels and transfers need. Kernels keep to what every WebGPU device has.
pub(super) fn lacking(limits: &wgpu::Limits) -> Option<String> {
    let needs: [(&str, u64, u64); 11] = [
        (
            "max_storage_buffers_per_shader_stage",
            limits.max_storage_buffers_per_shader_stage.into(),
            8,
        ),
        (
            "max_uniform_buffers_per_shader_stage",
            limits.max_uniform_buffers_per_shader_stage.into(),
            1,
        ),
        (
            "max_dynamic_uniform_buffers_per_pipeline_layout",
            limits
                .max_dynamic_uniform_buffers_per_pipeline_layout
                .into(),
            1,
        ),
        ("max_bind_groups", limits.max_bind_groups.into(), 1),
        (
            "max_bindings_per_bind_group",
            limits.max_bindings_per_bind_group.into(),
            9,
        ),
        (
            "max_uniform_buffer_binding_size",
            limits.max_uniform_buffer_binding_size,
            PARAM_BYTES,
        ),
        (
            "max_storage_buffer_binding_size",
            limits.max_storage_buffer_binding_size,
            SMALLEST,
        ),
        ("max_buffer_size", limits.max_buffer_size, LARGEST_PIECE),
        (
            "max_compute_workgroup_storage_size",
            limits.max_compute_workgroup_storage_size.into(),
            16_384,
        ),
        (
            "max_compute_invocations_per_workgroup",
            limits.max_compute_invocations_per_workgroup.into(),
            256,
        ),
        (
            "max_compute_workgroup_size_x",
            limits.max_compute_workgroup_size_x.into(),
            256,
        ),
    ];
    let short: Vec<String> = needs
        .iter()
        .filter(|(_, has, needs)| has < needs)
        .map(|(name, has, needs)| format!("{name} is {has}, at least {needs} is needed"))
        .collect();
    (!short.is_empty()).then(|| short.join("; "))
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn buffers_end_below_four_gibibytes() {
        assert_eq!(largest(128 << 20), 128 << 20);
        assert_eq!(largest((1 << 31) - 1), (1 << 31) - 16);
        for allowed in [1 << 32, 1 << 36, u64::MAX] {
            let bytes = largest(allowed);
            assert_eq!(bytes, (1 << 32) - 16);
            assert!(i32::try_from(bytes / 2).is_ok(), "halves");
        }
    }
}
