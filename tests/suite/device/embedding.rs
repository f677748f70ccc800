//! Working on the application's own wgpu device, and with its buffers.

use std::sync::{Arc, Mutex};

use libtest_mimic::Trial;
use vsla::device::wgpu::{self, BufferUsages};
use vsla::{Device, Error, Ragged};

use super::{agrees_with_the_cpu, drawn, lengths, numbers};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("embedding::baseline_limits", baseline_limits),
        ("embedding::odd_limits", odd_limits),
        (
            "embedding::limits_below_the_baseline",
            limits_below_the_baseline,
        ),
        ("embedding::two_on_one_device", two_on_one_device),
        ("embedding::import_and_export", import_and_export),
        ("embedding::import_of_nothing", import_of_nothing),
        (
            "embedding::import_of_unsuitable_buffers",
            import_of_unsuitable_buffers,
        ),
        (
            "embedding::import_from_another_device",
            import_from_another_device,
        ),
    ];
    let mut trials: Vec<Trial> = tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect();
    trials.push(bench.host("cpu::embedding::has_no_wgpu", || {
        let cpu = Device::cpu();
        assert!(cpu.wgpu().is_none());
        assert!(upload(&cpu, &numbers(&lengths([3]), 0)).export().is_none());
    }));
    trials
}

/// An application with a wgpu device of its own, and the errors that its error handler received.
pub struct Application {
    pub adapter: wgpu::Adapter,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    errors: Arc<Mutex<Vec<String>>>,
}

impl Application {
    pub fn new(limits: wgpu::Limits) -> Application {
        let application = Application::open(limits, wgpu::Features::empty());
        let sink = application.errors.clone();
        application
            .device
            .on_uncaptured_error(Arc::new(move |error| {
                sink.lock().unwrap().push(error.to_string())
            }));
        application
    }

    /// An application without an error handler, so that wgpu panics.
    pub fn unguarded() -> Application {
        Application::open(wgpu::Limits::default(), wgpu::Features::empty())
    }

    /// A device whose storage buffers can be mapped, if the adapter supports it.
    pub fn with_mappable_buffers() -> Option<Application> {
        let mappable = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
        let application = Application::unguarded();
        let offered = application.adapter.features().contains(mappable);
        offered.then(|| Application::open(wgpu::Limits::default(), mappable))
    }

    fn open(limits: wgpu::Limits, features: wgpu::Features) -> Application {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let wanted = gpu().unwrap().info().name;
        let adapter = adapters
            .into_iter()
            .find(|adapter| adapter.get_info().name == wanted)
            .unwrap();
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: limits,
            required_features: features,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
        Application {
            adapter,
            device,
            queue,
            errors: Arc::default(),
        }
    }

    pub fn vsla(&self) -> Device {
        Device::from_wgpu(&self.adapter, self.device.clone(), self.queue.clone()).unwrap()
    }

    /// No error of the library's work may reach the application's handler.
    #[track_caller]
    pub fn assert_quiet(&self) {
        let errors = self.errors.lock().unwrap();
        assert!(errors.is_empty(), "{errors:?}");
    }

    /// Checks that the application's error handler received this error.
    #[track_caller]
    pub fn assert_heard(&self, what: &str) {
        let errors = self.errors.lock().unwrap();
        assert!(
            errors.iter().any(|error| error.contains(what)),
            "{errors:?}"
        );
    }

    /// Maps a buffer, and waits for it.
    pub fn map(&self, buffer: &wgpu::Buffer) {
        let (done, is_done) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |outcome| {
            done.send(outcome).unwrap()
        });
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        is_done.recv().unwrap().unwrap();
    }

    pub fn copy(&self, from: &wgpu::Buffer, place: u64, to: &wgpu::Buffer, bytes: u64) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, place, to, 0, bytes);
        self.queue.submit([encoder.finish()]);
    }

    pub fn buffer(&self, values: &[f32], usage: BufferUsages) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("the application's"),
            size: values.len() as u64 * 4,
            usage,
            mapped_at_creation: false,
        });
        if usage.contains(BufferUsages::COPY_DST) {
            self.queue
                .write_buffer(&buffer, 0, bytemuck::cast_slice(values));
        }
        buffer
    }
}

pub const FIT: BufferUsages = BufferUsages::STORAGE
    .union(BufferUsages::COPY_SRC)
    .union(BufferUsages::COPY_DST);

/// The limits of any WebGPU device, and no features.
fn baseline_limits() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let limits = device.info().limits.unwrap();
    assert_eq!(
        (
            limits.workgroup_memory,
            limits.invocations,
            limits.binding_bytes
        ),
        (16_384, 256, 128 << 20)
    );
    assert!(device.is_gpu() && device.info().reason.contains("application"));
    let (a, b) = (
        numbers(&drawn("own left", 300, 900), 0),
        numbers(&drawn("own right", 300, 90), 1),
    );
    agrees_with_the_cpu(&device, &a, &b);
    let x = upload(&device, &a);
    let (_, profile) = device.profile_blocking(|| x.scale(2.0).unwrap()).unwrap();
    assert_eq!(profile.device_time, None, "timestamps were not asked for");
    // Errors of refused calls stay inside the library.
    assert!(x.add(&upload(&device, &numbers(&lengths([1]), 0))).is_err());
    assert_eq!(
        device
            .full(&lengths([40_000_000]), 1.0f32)
            .unwrap_err()
            .kind(),
        "too_large"
    );
    application.assert_quiet();
    drop((x, device));
    // The application's device remains usable.
    let buffer = application.buffer(&[1.0, 2.0], FIT);
    application.queue.submit([]);
    drop(buffer);
    application.assert_quiet();
}

/// Limits that differ from every size class of the pool: tensors that use the last byte work.
fn odd_limits() {
    let bytes = 3_000_004;
    let application = Application::new(wgpu::Limits {
        max_storage_buffer_binding_size: bytes,
        ..wgpu::Limits::default()
    });
    let device = application.vsla();
    let largest = device.info().limits.unwrap().binding_bytes as usize / 4;
    assert!(
        (bytes as usize / 4 - 3..=bytes as usize / 4).contains(&largest),
        "{largest}"
    );
    for length in [largest, largest - 1, largest - 1000] {
        let x = numbers(&lengths([length]), 1);
        let got = upload(&device, &x).scale(2.0).unwrap();
        assert_exact(
            length,
            &download(&got),
            &x.cast(|value| 2.0 * value).unwrap(),
        );
    }
    let error = device.full(&lengths([largest + 1]), 1.0f32).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("too_large", Some(0)));
    application.assert_quiet();
}

/// A device with insufficient limits is refused with an error that names all of them; a device that just suffices
/// works.
fn limits_below_the_baseline() {
    let least = wgpu::Limits {
        max_storage_buffers_per_shader_stage: 8,
        max_uniform_buffers_per_shader_stage: 1,
        max_dynamic_uniform_buffers_per_pipeline_layout: 1,
        max_bind_groups: 1,
        max_bindings_per_bind_group: 9,
        max_buffer_size: 16 << 20,
        max_storage_buffer_binding_size: 16 << 20,
        max_uniform_buffer_binding_size: 128,
        max_compute_workgroup_storage_size: 16_384,
        max_compute_invocations_per_workgroup: 256,
        max_compute_workgroup_size_x: 256,
        max_compute_workgroup_size_y: 1,
        max_compute_workgroup_size_z: 1,
        max_compute_workgroups_per_dimension: 64,
        ..wgpu::Limits::default()
    };
    let refused = |limits: wgpu::Limits, lacking: &[&str]| {
        let application = Application::new(limits);
        let (device, queue) = (application.device.clone(), application.queue.clone());
        let error = Device::from_wgpu(&application.adapter, device, queue).unwrap_err();
        assert_eq!(
            (error.kind(), error.op()),
            ("unsupported", "from_wgpu"),
            "{error}"
        );
        let text = error.to_string();
        assert!(lacking.iter().all(|name| text.contains(name)), "{text}");
        assert_eq!(
            text.matches(" is required").count(),
            lacking.len(),
            "{text}"
        );
        application.assert_quiet();
    };
    refused(
        wgpu::Limits {
            max_storage_buffers_per_shader_stage: 7,
            ..least.clone()
        },
        &["max_storage_buffers_per_shader_stage is 7, but at least 8 is required"],
    );
    refused(
        wgpu::Limits {
            max_storage_buffers_per_shader_stage: 4,
            max_dynamic_uniform_buffers_per_pipeline_layout: 0,
            max_compute_workgroup_storage_size: 16_000,
            max_compute_invocations_per_workgroup: 128,
            max_compute_workgroup_size_x: 128,
            max_bindings_per_bind_group: 8,
            max_buffer_size: 1 << 20,
            max_storage_buffer_binding_size: 128,
            ..least.clone()
        },
        &[
            "max_storage_buffers_per_shader_stage is 4",
            "max_dynamic_uniform_buffers_per_pipeline_layout is 0",
            "max_compute_workgroup_storage_size is 16000",
            "max_compute_invocations_per_workgroup is 128",
            "max_compute_workgroup_size_x is 128",
            "max_bindings_per_bind_group is 8",
            "max_buffer_size is 1048576",
            "max_storage_buffer_binding_size is 128",
        ],
    );
    let application = Application::new(least);
    let device = application.vsla();
    let (a, b) = (
        numbers(&drawn("least left", 200, 900), 0),
        numbers(&drawn("least right", 200, 90), 1),
    );
    agrees_with_the_cpu(&device, &a, &b);
    application.assert_quiet();
}

/// Two library devices on one queue are distinct, and do not disturb each other.
fn two_on_one_device() {
    let application = Application::new(wgpu::Limits::default());
    let (one, other) = (application.vsla(), application.vsla());
    let batch = numbers(&lengths([50, 7]), 0);
    let (x, y) = (upload(&one, &batch), upload(&other, &batch));
    assert_eq!(x.add(&y).unwrap_err().kind(), "device_mismatch");
    let (p, q) = (x.scale(2.0).unwrap(), y.scale(3.0).unwrap());
    drop((x, y));
    assert_exact(
        "3 x",
        &download(&q),
        &batch.cast(|value| 3.0 * value).unwrap(),
    );
    assert_exact(
        "2 x",
        &download(&p),
        &batch.cast(|value| 2.0 * value).unwrap(),
    );
    application.assert_quiet();
}

fn import_and_export() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([3, 0, 2]);
    let values: Vec<f32> = (0..20).map(|i| i as f32).collect();
    let buffer = application.buffer(&values, FIT);
    let live = device.memory().live;
    for offset in [0, 4, 12, 60] {
        let x = device.import::<f32>(&buffer, offset, &layout).unwrap();
        let at = offset as usize / 4;
        let expected = Ragged::from_parts(layout.clone(), values[at..at + 5].to_vec()).unwrap();
        assert_identical(offset, &download(&x), &expected);
        assert_exact(
            offset,
            &download(&x.scale(2.0).unwrap()),
            &expected.cast(|value| 2.0 * value).unwrap(),
        );
        let y = upload(&device, &numbers(&lengths([1, 4, 2]), 0));
        let there = upload(&device, &expected);
        type Both = fn(&vsla::Tensor<f32>, &vsla::Tensor<f32>) -> vsla::Result<vsla::Tensor<f32>>;
        let all: [Both; 4] = [
            |x, y| x.add(y),
            |x, y| x.conv(y),
            |x, y| x.correlate(y),
            |x, y| x.dot(y),
        ];
        for op in all {
            assert_exact(
                offset,
                &download(&op(&x, &y).unwrap()),
                &download(&op(&there, &y).unwrap()),
            );
        }
        let (exported, place) = x.export().unwrap();
        assert!(*exported == buffer && place == offset);
        let view = x.elements(2..3).unwrap();
        assert_eq!(view.export().unwrap().1, offset + 12);
        assert_eq!(download(&view).values(), &values[at + 3..at + 5]);
    }
    // The same buffer as two operands, as integers, and imported twice.
    let (x, y) = (
        device.import::<f32>(&buffer, 4, &layout).unwrap(),
        device.import(&buffer, 8, &layout).unwrap(),
    );
    assert_eq!(
        download(&x.add(&y).unwrap()).values(),
        [3.0, 5.0, 7.0, 9.0, 11.0]
    );
    assert_eq!(
        download(&device.import::<u32>(&buffer, 4, &layout).unwrap()).values()[0],
        1.0f32.to_bits()
    );
    drop((x, y));
    assert!(device.memory().live >= live);

    // A result, read by the application itself.
    let sum = upload(&device, &numbers(&layout, 3)).scale(2.0).unwrap();
    device.flush().unwrap();
    let (exported, place) = sum.export().unwrap();
    let mut encoder = application
        .device
        .create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(exported, place, &buffer, 40, 20);
    application.queue.submit([encoder.finish()]);
    let back = device.import::<f32>(&buffer, 40, &layout).unwrap();
    assert_exact(
        "through the application",
        &download(&back),
        &numbers(&layout, 3).cast(|value| 2.0 * value).unwrap(),
    );
    application.assert_quiet();
}

/// Empty tensors at the beginning and at the end of a buffer.
fn import_of_nothing() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    for size in [4, 20] {
        let buffer = application.buffer(&vec![1.0; size], FIT);
        for offset in [0, buffer.size()] {
            for layout in [lengths([]), lengths([0, 0])] {
                let x = device.import::<f32>(&buffer, offset, &layout).unwrap();
                assert_eq!(download(&x).len(), layout.len());
                let y = upload(&device, &numbers(&layout, 0));
                assert_eq!(download(&x.conv(&y).unwrap()).len(), layout.len());
                assert_eq!(download(&x.sum().unwrap()).len(), layout.len());
                assert_eq!(download(&y.sbd(&x).unwrap().distance).len(), layout.len());
            }
        }
    }
    let x = numbers(&lengths([5]), 0);
    assert_exact(
        "afterwards",
        &download(&upload(&device, &x).copy().unwrap()),
        &x,
    );
    application.assert_quiet();
}

fn import_of_unsuitable_buffers() {
    let application = Application::new(wgpu::Limits {
        max_storage_buffer_binding_size: 4096,
        ..wgpu::Limits::default()
    });
    let device = application.vsla();
    let layout = lengths([3, 2]);
    let buffer = application.buffer(&[1.0; 20], FIT);
    let refused = |buffer: &wgpu::Buffer, offset: u64, kind: &str| {
        let error = device.import::<f32>(buffer, offset, &layout).unwrap_err();
        assert_eq!(
            (error.kind(), error.op(), error.element()),
            (kind, "import", None),
            "{error}"
        );
        error
    };
    for offset in [1, 2, 3, 5, 79, u64::MAX] {
        let error = refused(&buffer, offset, "unsupported").to_string();
        let wrong =
            format!("an offset of {offset} bytes, which is not a multiple of the value size, 4");
        assert!(error.ends_with(&wrong), "{error}");
    }
    for (offset, there) in [(64, 4), (76, 1), (80, 0), (84, 0), (u64::MAX - 3, 0)] {
        let error = refused(&buffer, offset, "value_count");
        assert!(
            matches!(error, Error::ValueCount { expected: 5, got, .. } if got == there),
            "{error}"
        );
    }
    let usages = [
        BufferUsages::STORAGE | BufferUsages::COPY_DST,
        BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        BufferUsages::VERTEX,
    ];
    for usage in usages {
        let error = refused(&application.buffer(&[1.0; 20], usage), 0, "unsupported");
        assert!(error.to_string().contains("STORAGE"), "{error}");
    }
    refused(&application.buffer(&[1.0; 1028], FIT), 0, "too_large");
    for size in [0, 4, 27, 28] {
        let odd = application.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: FIT,
            mapped_at_creation: false,
        });
        let error = refused(&odd, 0, "unsupported").to_string();
        let wrong =
            format!("a buffer of {size} bytes, whose size must be a multiple of 16 and not 0");
        assert!(error.ends_with(&wrong), "{error}");
    }
    let error = Device::cpu()
        .import::<f32>(&buffer, 0, &layout)
        .unwrap_err();
    assert_eq!((error.kind(), error.op()), ("unsupported", "import"));
    assert_eq!(
        download(&device.import::<f32>(&buffer, 60, &layout).unwrap()).values(),
        [1.0; 5]
    );
    application.assert_quiet();
}

/// A buffer of the application's other device is refused, and other work is unaffected.
fn import_from_another_device() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let (other, _) =
        pollster::block_on(application.adapter.request_device(&Default::default())).unwrap();
    let elsewhere = other.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 80,
        usage: FIT,
        mapped_at_creation: false,
    });
    let layout = lengths([3, 2]);
    let x = upload(&device, &numbers(&layout, 0));
    let error = device.import::<f32>(&elsewhere, 0, &layout).unwrap_err();
    assert_eq!(
        (error.kind(), error.op()),
        ("unsupported", "import"),
        "{error}"
    );
    assert_exact(
        "afterwards",
        &download(&x.copy().unwrap()),
        &numbers(&layout, 0),
    );
    application.assert_quiet();
}
