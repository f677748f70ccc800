//! Ownership of wgpu handles: buffers, queues and adapters that do not belong to the application's device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use libtest_mimic::Trial;
use vsla::device::wgpu::{self, BufferUsages};
use vsla::{Device, Error, Ragged};

use super::embedding::{Application, FIT};
use super::{lengths, mapping_trial, numbers};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        (
            "handles::buffers_of_another_instance",
            buffers_of_another_instance,
        ),
        (
            "handles::buffers_that_nobody_guards",
            buffers_that_nobody_guards,
        ),
        (
            "handles::one_buffer_from_many_threads",
            one_buffer_from_many_threads,
        ),
        ("handles::a_mapped_buffer", a_mapped_buffer),
        ("handles::foreign_queues", foreign_queues),
        ("handles::a_busy_queue", a_busy_queue),
        (
            "handles::one_queue_from_many_threads",
            one_queue_from_many_threads,
        ),
        (
            "handles::the_adapter_of_another_device",
            the_adapter_of_another_device,
        ),
        ("handles::a_device_that_is_lost", a_device_that_is_lost),
    ];
    let name = "handles::a_mappable_buffer";
    let mapping = mapping_trial(bench, name, a_mappable_buffer);
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .chain([mapping])
        .collect()
}

/// `count` buffers in runs of `run`, alternately of 80 and of 1600 bytes, filled with this value.
fn buffers(application: &Application, count: usize, run: usize, value: f32) -> Vec<wgpu::Buffer> {
    let length = |i: usize| if (i / run).is_multiple_of(2) { 20 } else { 400 };
    (0..count)
        .map(|i| application.buffer(&vec![value; length(i)], FIT))
        .collect()
}

#[track_caller]
fn foreign(device: &Device, buffer: &wgpu::Buffer) {
    let error = device
        .import::<f32>(buffer, 0, &lengths([3, 2]))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("unsupported", "import", None),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains("another wgpu device or instance"), "{text}");
}

/// Foreign buffers whose ids equal those of buffers here, of equal or different size, or of no buffer here, are never
/// confused with them.
fn buffers_of_another_instance() {
    let (here, there) = (
        Application::new(wgpu::Limits::default()),
        Application::new(wgpu::Limits::default()),
    );
    let device = here.vsla();
    let own = buffers(&here, 40, 1, 1.0);
    let x = upload(&device, &numbers(&lengths([5]), 0));
    let recorded = x.scale(2.0).unwrap();
    let elsewhere = buffers(&there, 300, 2, 2.0);
    // Handles compare by their numbers.
    let twins = |same_size: bool| {
        let is_twin = |buffer: &&wgpu::Buffer| {
            own.iter()
                .any(|own| own == *buffer && (own.size() == buffer.size()) == same_size)
        };
        elsewhere.iter().filter(is_twin).count()
    };
    let unknown = elsewhere
        .iter()
        .filter(|buffer| !own.contains(buffer))
        .count();
    assert!(
        twins(true) > 0 && twins(false) > 0 && unknown > 0,
        "the test is wrong: no ids coincide"
    );
    for buffer in &elsewhere {
        foreign(&device, buffer);
    }
    here.assert_quiet();
    // The errors reached the error handler of their own device, and both devices work.
    there.assert_heard("map");
    // The reverse.
    let other = there.vsla();
    for buffer in &own {
        foreign(&other, buffer);
    }
    for buffer in own.iter().take(3) {
        let imported = device.import::<f32>(buffer, 0, &lengths([3, 2])).unwrap();
        assert_eq!(download(&imported).values(), [1.0; 5]);
    }
    assert_exact(
        "recorded before",
        &download(&recorded),
        &numbers(&lengths([5]), 0).cast(|value| 2.0 * value).unwrap(),
    );
    let again = there.vsla();
    let imported = again
        .import::<f32>(&elsewhere[0], 0, &lengths([3, 2]))
        .unwrap();
    assert_eq!(download(&imported).values(), [2.0; 5]);
}

/// That device has no error handler, so wgpu panics; the call catches the panic, and the device keeps working.
fn buffers_that_nobody_guards() {
    let here = Application::new(wgpu::Limits::default());
    let device = here.vsla();
    let elsewhere = Application::unguarded();
    let buffers = buffers(&elsewhere, 100, 1, 3.0);
    for buffer in [&buffers[0], &buffers[1], &buffers[99]] {
        foreign(&device, buffer);
    }
    let x = numbers(&lengths([5]), 0);
    assert_exact("here", &download(&upload(&device, &x).copy().unwrap()), &x);
    let there = elsewhere.vsla();
    let imported = there
        .import::<f32>(&buffers[99], 0, &lengths([3, 2]))
        .unwrap();
    assert_eq!(download(&imported).values(), [3.0; 5]);
    here.assert_quiet();
}

fn one_buffer_from_many_threads() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let buffer = application.buffer(&[4.0; 20], FIT);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let x = device.import::<f32>(&buffer, 0, &lengths([5])).unwrap();
                    assert_eq!(
                        x.sum().unwrap().download_blocking().unwrap().values(),
                        [20.0]
                    );
                }
            });
        }
    });
    application.assert_quiet();
}

/// A mapped buffer is refused and stays mapped; afterwards it can be imported and mapped.
fn a_mapped_buffer() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let buffer = application.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 80,
        usage: FIT,
        mapped_at_creation: true,
    });
    let mut view = buffer.get_mapped_range_mut(..).unwrap();
    for _ in 0..2 {
        let error = device.import::<f32>(&buffer, 0, &lengths([5])).unwrap_err();
        assert_eq!(error.kind(), "unsupported");
        assert!(error.to_string().contains("is mapped"), "{error}");
    }
    view.copy_from_slice(bytemuck::cast_slice(&[6.0f32; 20]));
    drop(view);
    buffer.unmap();
    let x = device.import::<f32>(&buffer, 0, &lengths([5])).unwrap();
    assert_eq!(download(&x).values(), [6.0; 5]);
}

/// The same for a buffer that the application maps after importing it.
fn a_mappable_buffer(application: Application) {
    let device = application.vsla();
    let buffer = application.buffer(&[7.0; 20], FIT | BufferUsages::MAP_READ);
    let x = device.import::<f32>(&buffer, 0, &lengths([5])).unwrap();
    assert_eq!(download(&x).values(), [7.0; 5]);
    application.map(&buffer);
    assert!(device.import::<f32>(&buffer, 0, &lengths([5])).is_err());
    let view = buffer.get_mapped_range(..).unwrap();
    assert_eq!(view[..4], 7.0f32.to_ne_bytes());
    drop(view);
    buffer.unmap();
    assert!(device.import::<f32>(&buffer, 0, &lengths([5])).is_ok());
    application.assert_quiet();
}

fn foreign_queues() {
    let (here, there) = (
        Application::new(wgpu::Limits::default()),
        Application::new(wgpu::Limits::default()),
    );
    let (other, sibling) =
        pollster::block_on(here.adapter.request_device(&Default::default())).unwrap();
    let busy = there.vsla();
    for queue in [&there.queue, &sibling] {
        // The buffer's device is busy, polled by other threads, or idle.
        let x = upload(&busy, &Ragged::full(&lengths([200_000]), 1.0f32).unwrap());
        let recorded = x.scale(3.0).unwrap();
        busy.flush().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = there.device.poll(wgpu::PollType::Poll);
                    let _ = other.poll(wgpu::PollType::Poll);
                    thread::yield_now();
                }
            });
            let opened = [(); 3]
                .map(|()| Device::from_wgpu(&here.adapter, here.device.clone(), queue.clone()));
            done.store(true, Ordering::Relaxed);
            for error in opened.map(Result::unwrap_err) {
                assert_eq!(
                    (error.kind(), error.op()),
                    ("unsupported", "from_wgpu"),
                    "{error}"
                );
                assert!(error.to_string().contains("queue"), "{error}");
            }
        });
        let idle = Device::from_wgpu(&here.adapter, here.device.clone(), queue.clone());
        assert_eq!(idle.unwrap_err().kind(), "unsupported");
        assert!(download(&recorded).values().iter().all(|v| *v == 3.0));
    }
    here.vsla();
    here.assert_quiet();
    there.assert_quiet();
}

/// The right queue is recognized while it is busy, and while many threads of the application poll it.
fn a_busy_queue() {
    const POLLERS: usize = 8;
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    /// Ends the other threads, even if an assertion fails.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let end = Done(&done);
        for _ in 0..POLLERS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = application.device.poll(wgpu::PollType::Poll);
                }
            });
        }
        let called = Arc::new(AtomicBool::new(false));
        for _ in 0..5 {
            let x = upload(&device, &Ragged::full(&lengths([300_000]), 1.0f32).unwrap());
            let sum = x.scale(3.0).unwrap().add(&x).unwrap();
            device.flush().unwrap();
            let heard = called.clone();
            application
                .queue
                .on_submitted_work_done(move || heard.store(true, Ordering::Relaxed));
            let another = application.vsla();
            assert_eq!(
                download(&upload(&another, &numbers(&lengths([1]), 0))).len(),
                1
            );
            assert!(download(&sum).values().iter().all(|v| *v == 4.0));
        }
        drop(end);
        assert!(called.load(Ordering::Relaxed), "its callbacks run");
    });
    application.assert_quiet();
}

/// Threads that open one device at the same time recognize its queue.
fn one_queue_from_many_threads() {
    let application = Application::new(wgpu::Limits::default());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let x = upload(&application.vsla(), &numbers(&lengths([3]), 0));
                    assert_eq!(download(&x).values(), numbers(&lengths([3]), 0).values());
                }
            });
        }
    });
    application.assert_quiet();
}

fn the_adapter_of_another_device() {
    let application = Application::new(wgpu::Limits::default());
    let own = application.adapter.get_info();
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    let instance = wgpu::Instance::new(descriptor);
    for adapter in pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all())) {
        let opened = Device::from_wgpu(
            &adapter,
            application.device.clone(),
            application.queue.clone(),
        );
        // The same adapter, found by another instance, is recognized.
        if adapter.get_info() == own {
            let x = upload(&opened.unwrap(), &numbers(&lengths([5]), 0));
            assert_identical("x", &download(&x), &numbers(&lengths([5]), 0));
        } else {
            let error = opened.unwrap_err();
            assert_eq!((error.kind(), error.op()), ("unsupported", "from_wgpu"));
            assert!(error.to_string().contains("adapter"), "{error}");
        }
    }
    application.assert_quiet();
}

fn a_device_that_is_lost() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let buffer = application.buffer(&[1.0; 20], FIT);
    application.device.destroy();
    let opened = Device::from_wgpu(
        &application.adapter,
        application.device.clone(),
        application.queue.clone(),
    );
    assert!(
        matches!(
            opened,
            Err(Error::DeviceLost {
                op: "from_wgpu",
                ..
            })
        ),
        "{opened:?}"
    );
    let imported = device.import::<f32>(&buffer, 0, &lengths([5]));
    assert!(
        matches!(&imported, Err(Error::DeviceLost { op: "import", .. })),
        "{imported:?}"
    );
    application.assert_quiet();
}
