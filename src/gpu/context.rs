//! Finds an adapter and opens it.

use std::path::PathBuf;
use std::sync::Arc;

use super::Gpu;
use super::account::{Account, LARGEST_PIECE, Sizes};
use super::errors::Health;
use super::kept::Kept;
use super::pipelines::{Limits, PARAM_BYTES, Parts, Pipelines};
use super::poll::Poller;
use super::pool::{Pool, QUAD, SMALLEST};
use super::recorder::{Recorder, param_stride};
use super::rewriting::{Rewrites, Rewriting};
use super::staging::Staging;
use crate::plan::Matrices;
use crate::{Error, Result};

/// How to open a GPU. By default, opens the best adapter with everything that it offers.
///
/// The `max_*` fields lower the device's limits and never raise them: an application can leave resources to others, and
/// a test can emulate a small device on a large one.
///
/// The work limit of an operation is not an option of the GPU, because each handle of a device, and of the CPU, can
/// have its own; see [`Device::with_work_limit`](crate::Device::with_work_limit).
///
/// ```
/// use vsla::device::GpuOptions;
/// let options = GpuOptions { memory_limit: Some(1 << 30), ..GpuOptions::default() };
/// assert!(options.adapter.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Use the first adapter whose name contains this string, ignoring case, in the order of
    /// [`Device::list`](crate::Device::list).
    ///
    /// A number after `#` counts from 0: `h200#1` is the second adapter whose name contains `h200`, and `#1` the second
    /// of all, whose [`DeviceInfo::ordinal`](crate::device::DeviceInfo::ordinal) is 1. A PCI address, such as
    /// `0000:81:00.0`, chooses the adapter with this address.
    ///
    /// `None`: use the one that the environment variable `WGPU_ADAPTER_NAME` names in the same way, or else the fastest
    /// kind available. Software rasterizers come last.
    pub adapter: Option<String>,
    /// Maximum workgroups in one dimension of a dispatch; at least 1.
    pub max_workgroups_per_dimension: Option<u32>,
    /// Maximum bytes of workgroup memory; kernels that need more are refused.
    pub max_workgroup_memory: Option<u32>,
    /// Maximum invocations per workgroup; kernels that need more are refused.
    pub max_invocations: Option<u32>,
    /// Maximum bytes of one tensor.
    pub max_binding_bytes: Option<u64>,
    /// Maximum bytes of device memory held at any moment, for everything that [`Memory`](crate::device::Memory) counts.
    ///
    /// An allocation that would exceed the limit first releases everything that is not in use: cached buffers, idle
    /// staging buffers, and copies of layouts and plans. Transfers are split into pieces of a 64th of the limit. Memory
    /// for a few pieces is reserved (a twentieth of the limit in total for small limits), so that device data can
    /// always be read back. A limit that leaves no room for tensors is refused with
    /// [`OutOfMemory`](crate::Error::OutOfMemory) when the device is opened.
    ///
    /// In a browser, which frees a destroyed buffer when the work that uses it is done but does not say when that is, a
    /// call that needs room counts the buffers of submitted work as freed.
    ///
    /// Imported buffers are not counted, nor is memory that wgpu and the driver need for themselves: wgpu allocates
    /// memory from the driver in blocks and places the buffers counted here inside them.
    pub memory_limit: Option<u64>,
    /// Maximum bytes of freed buffers to cache for reuse. `None`: 4 GiB.
    pub cache_limit: Option<u64>,
    /// Fill every result with NaN before computing it, so that values that no kernel wrote are visible, and bind
    /// buffers only as far as their data.
    pub poison: bool,
    /// Compile kernels with wgpu's runtime checks.
    ///
    /// An access outside a buffer or workgroup memory is then clamped or skipped, and no loop is endless. Without the
    /// checks, kernels stay within their buffers, which is tested but not proven; results are bit-identical. The cost
    /// is measured by `cargo bench -- --checked`.
    pub checked: bool,
    /// A file of compiled kernels. It is read when the device is opened, so that its kernels need not be compiled
    /// again; [`Device::save_pipelines`](crate::Device::save_pipelines) writes it.
    ///
    /// For drivers without a cache of their own on disk (those of NVIDIA, AMD and Intel have one). A file that does not
    /// exist yet, that is damaged, or that another adapter or version of the driver wrote, counts as empty. A device
    /// that cannot keep compiled kernels (Metal, DX12) only checks that the path can be read. The driver trusts the
    /// contents: use a folder to which only the application's user can write.
    pub pipeline_cache: Option<PathBuf>,
    /// For this crate's tests: kernels count their out-of-bounds accesses.
    #[cfg(feature = "testing")]
    pub instrumented: bool,
    /// For this crate's tests: emulate cooperative matrices of this side, 8 or 16.
    #[cfg(feature = "testing")]
    pub emulated_matrices: Option<u32>,
    /// For this crate's tests: whether kernels run in parts, which otherwise depends on the device.
    #[cfg(feature = "testing")]
    pub parts: Option<Parts>,
}

impl GpuOptions {
    #[cfg(feature = "testing")]
    fn rewrites(&self) -> Result<Rewrites> {
        let emulated = match self.emulated_matrices {
            None => None,
            Some(8) => Some(Matrices::Eight),
            Some(16) => Some(Matrices::Sixteen),
            Some(side) => {
                let expected = "emulated matrices of side 8 or 16";
                return Err(Error::argument(expected, side.to_string()).named("device"));
            }
        };
        Ok(Rewrites {
            instrumented: self.instrumented,
            emulated,
        })
    }

    #[cfg(not(feature = "testing"))]
    fn rewrites(&self) -> Result<Rewrites> {
        Ok(Rewrites::default())
    }
}

const CACHE_LIMIT: u64 = 4 << 30;

/// Adapters in order of preference: real GPUs before software.
pub(crate) async fn adapters() -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    descriptor.backends &= wgpu::Backends::PRIMARY;
    if !cfg!(debug_assertions) && std::env::var_os("WGPU_VALIDATION_INDIRECT_CALL").is_none() {
        descriptor.flags -= wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL;
    }
    let instance = wgpu::Instance::new(descriptor);
    let mut found = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
    // The sort is stable because drivers list the system's preferred device first.
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

/// An adapter, its place in the list of all, and why it was chosen.
pub(crate) struct Choice {
    pub adapter: wgpu::Adapter,
    pub ordinal: usize,
    pub why: String,
}

/// The place of the adapter that a text names: its PCI address; a part of its name; or that, if any, `#`, and a number
/// from 0 on that counts the adapters whose names contain it.
fn named(adapters: &[wgpu::AdapterInfo], text: &str) -> Option<usize> {
    let text = text.trim().to_lowercase();
    let nth_with = |part: &str, n: usize| {
        let has_part = |&i: &usize| adapters[i].name.to_lowercase().contains(part);
        (0..adapters.len()).filter(has_part).nth(n)
    };
    let is_at = |info: &wgpu::AdapterInfo| info.device_pci_bus_id.to_lowercase() == text;
    let at = adapters.iter().position(is_at).filter(|_| !text.is_empty());
    at.or_else(|| nth_with(&text, 0)).or_else(|| {
        let (part, number) = text.rsplit_once('#')?;
        nth_with(part.trim_end(), number.parse().ok()?)
    })
}

/// The adapters of a list as the texts that choose them, and their names.
fn shown(adapters: &[wgpu::AdapterInfo]) -> String {
    let one = |(i, info): (usize, &wgpu::AdapterInfo)| match info.device_pci_bus_id.as_str() {
        "" => format!("#{i} ({})", info.name),
        at => format!("#{i} ({} at {at})", info.name),
    };
    let all: Vec<String> = adapters.iter().enumerate().map(one).collect();
    all.join(", ")
}

/// The adapter named by the options or the environment, or else the first one.
pub(crate) async fn choose(options: &GpuOptions) -> Result<Choice> {
    let requested = options
        .adapter
        .clone()
        .map(|name| (name, "named in the options"))
        .or_else(|| {
            std::env::var("WGPU_ADAPTER_NAME")
                .ok()
                .map(|name| (name, "named in WGPU_ADAPTER_NAME"))
        });
    let mut found = adapters().await;
    let infos: Vec<_> = found.iter().map(wgpu::Adapter::get_info).collect();
    let (ordinal, why) = match &requested {
        _ if infos.is_empty() && cfg!(target_family = "wasm") => {
            return Err(Error::no_device(
                "the browser offers no WebGPU adapter, or this build lacks the feature `web`; use Device::cpu()",
            ));
        }
        _ if infos.is_empty() => {
            return Err(Error::no_device(
                "no Vulkan, Metal or DX12 adapter was found; use Device::cpu()",
            ));
        }
        Some((text, why)) => {
            let missing = || {
                let all = shown(&infos);
                Error::no_device(format!("{text:?} names no adapter; use one of {all}"))
            };
            (named(&infos, text).ok_or_else(missing)?, *why)
        }
        None if infos[0].device_type == wgpu::DeviceType::Cpu => {
            (0, "the only adapter is a software adapter")
        }
        None => (0, "the first adapter of the fastest kind"),
    };
    let adapter = found.swap_remove(ordinal);
    let why = why.to_owned();
    Ok(Choice {
        adapter,
        ordinal,
        why,
    })
}

/// Features required by cooperative-matrix kernels.
const MATRICES: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// The cooperative f16 matrices with f32 accumulation that the adapter supports.
///
/// 16 × 16 where subgroups have exactly 32 lanes, else 8 × 8. The kernels use 256 invocations, and 48 KiB or 16 KiB of
/// workgroup memory respectively.
fn matrices(adapter: &wgpu::Adapter, invocations: u32, memory: u32) -> Option<Matrices> {
    use wgpu::CooperativeScalarType::{F16, F32};
    if !adapter.features().contains(MATRICES) || invocations < 256 {
        return None;
    }
    let info = adapter.get_info();
    // A software driver has no matrix units, and compiles such a kernel for minutes.
    if info.device_type == wgpu::DeviceType::Cpu {
        return None;
    }
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
    // Apple's GPUs have 32 lanes but report up to 64.
    let lanes_fit = lanes.1 <= 32 || info.backend == wgpu::Backend::Metal;
    (has(8) && lanes_fit && memory >= 16_384).then_some(Matrices::Eight)
}

fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: wgpu does not check the sizes of cooperative matrices against the adapter, nor that workgroups consist of
    // whole subgroups. `matrices` does the former, and the kernels of the closed list consist of whole subgroups of 32
    // lanes or of a divisor of 32. Matrices are only loaded from and stored to workgroup memory, and `bounds.rs` checks
    // the first and the last value of each.
    #[allow(
        unsafe_code,
        reason = "wgpu requires `unsafe` to enable experimental features"
    )]
    unsafe {
        wgpu::ExperimentalFeatures::enabled()
    }
}

/// Opens an adapter that this crate chooses.
pub(crate) async fn open(options: &GpuOptions) -> Result<Gpu> {
    let Choice {
        adapter,
        ordinal,
        why,
    } = choose(options).await?;
    let limits = adapter.limits();
    if let Some(what) = lacking(&limits) {
        return Err(Error::no_device(format!(
            "{} is insufficient: {what}",
            adapter.get_info().name
        )));
    }
    let (invocations, memory) = (
        limits.max_compute_invocations_per_workgroup,
        limits.max_compute_workgroup_storage_size,
    );
    let features = wgpu::Features::TIMESTAMP_QUERY
        | match (
            options.rewrites()?.emulated,
            matrices(&adapter, invocations, memory),
        ) {
            (Some(_), _) => wgpu::Features::SHADER_F16,
            (None, Some(_)) => MATRICES,
            (None, None) => wgpu::Features::empty(),
        }
        | match options.pipeline_cache {
            Some(_) => wgpu::Features::PIPELINE_CACHE,
            None => wgpu::Features::empty(),
        };
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("vsla"),
            required_features: adapter.features() & features,
            experimental_features: experimental(),
            required_limits: limits,
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        })
        .await
        .map_err(|e| {
            Error::no_device(format!("{} cannot be opened: {e}", adapter.get_info().name))
        })?;
    let health = Health::new(device);
    let device = &health.device;
    // Weak, because the device holds its callback.
    let on_loss = Arc::downgrade(&health);
    device.set_device_lost_callback(move |reason, message| {
        if let Some(health) = on_loss.upgrade() {
            health.mark_lost(format!("{reason:?}: {message}"));
        }
    });
    // All calls run inside error scopes. An error that arrives here has no caller to report to, and must not panic.
    device.on_uncaptured_error(Arc::new(|error| log::error!("wgpu: {error}")));
    Gpu::new((&adapter, queue), health, (Some(ordinal), why), options)
}

/// Size of the largest buffer given to kernels.
///
/// Kernels read and write 16-byte quads of words, so a buffer consists of whole quads. Below 4 GiB, the index of a half
/// or the difference of two fits in an i32.
fn largest(allowed: u64) -> u64 {
    allowed.min(u64::from(u32::MAX)) & !(QUAD - 1)
}

impl Gpu {
    pub(crate) fn new(
        (adapter, queue): (&wgpu::Adapter, wgpu::Queue),
        health: Arc<Health>,
        (ordinal, why): (Option<usize>, String),
        options: &GpuOptions,
    ) -> Result<Gpu> {
        if options.max_workgroups_per_dimension == Some(0) {
            return Err(Error::argument("at least 1 workgroup per dimension", "0").named("device"));
        }
        let device = health.device.clone();
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
        let rewrites = options.rewrites()?;
        let stride = param_stride(&device);
        let sizes = Sizes::within(options.memory_limit, stride);
        let pool = Pool::new(
            health.clone(),
            largest,
            options.cache_limit.unwrap_or(CACHE_LIMIT),
            options.poison || rewrites.instrumented,
            Account::new(options.memory_limit, sizes, stride)?,
        );
        let recorder = Recorder::new(&device, &pool, sizes.dispatches)?;
        let rewriting = Rewriting::new(rewrites, &health, &pool)?;
        let kept = options.pipeline_cache.as_deref();
        let kept = kept
            .map(|path| Kept::open(&health, &info, path))
            .transpose()?;
        let parts = match info.device_type {
            _ if cfg!(target_family = "wasm") => Parts::Never,
            wgpu::DeviceType::Cpu => Parts::Always,
            _ if rayon::current_num_threads() == 1 => Parts::Never,
            _ => Parts::First,
        };
        #[cfg(feature = "testing")]
        let parts = options.parts.unwrap_or(parts);
        let pipelines = Pipelines::new(options.checked, rewriting, kept.flatten(), parts);
        let own_matrices = matrices(adapter, limits.invocations, limits.workgroup_memory)
            .filter(|_| device.features().contains(MATRICES));
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
            matrices: rewrites.emulated.or(own_matrices),
            info,
            ordinal,
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

/// The device limits that are below what kernels and transfers need. Kernels need no more than every WebGPU device has.
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
        .map(|(name, has, needs)| format!("{name} is {has}, but at least {needs} is required"))
        .collect();
    (!short.is_empty()).then(|| short.join("; "))
}

#[cfg(feature = "testing")]
mod tests {
    use super::{largest, named, shown};

    #[apply(unit_test)]
    fn adapters_are_named() {
        let of = |name: &str, pci: &str| wgpu::AdapterInfo {
            name: name.to_owned(),
            device_pci_bus_id: pci.to_owned(),
            ..wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, wgpu::Backend::Vulkan)
        };
        let all = [
            of("NVIDIA H200", "0000:18:00.0"),
            of("NVIDIA H200", "0000:2A:00.0"),
            of("Model #3 of AMD", ""),
        ];
        for (text, place) in [
            ("h200", Some(0)),
            (" H200#0", Some(0)),
            ("h200#1", Some(1)),
            ("h200 #1", Some(1)),
            ("h200#2", None),
            ("#0", Some(0)),
            ("#2", Some(2)),
            ("#3", Some(2)),
            ("model#0", Some(2)),
            ("0000:2a:00.0", Some(1)),
            ("0000:2b:00.0", None),
            ("", Some(0)),
            ("#", Some(2)),
            ("amd#", None),
            ("amd#-1", None),
            ("amd#one", None),
            ("arc", None),
        ] {
            assert_eq!(named(&all, text), place, "{text:?}");
        }
        assert_eq!(
            shown(&all[1..]),
            "#0 (NVIDIA H200 at 0000:2A:00.0), #1 (Model #3 of AMD)"
        );
    }

    #[apply(unit_test)]
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
