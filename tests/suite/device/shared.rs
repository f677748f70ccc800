//! Buffers shared with the application: destroyed, mapped or written to at a bad time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use libtest_mimic::Trial;
use vsla::device::wgpu::{self, BufferUsages};
use vsla::{Device, Error, Layout, Pairing, Ragged, Tensor};

use super::embedding::{Application, FIT};
use super::{directly, drawn, lengths, mapping_trial, numbers};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        (
            "shared::destroyed_before_it_is_used",
            destroyed_before_it_is_used,
        ),
        (
            "shared::destroyed_after_it_is_used",
            destroyed_after_it_is_used,
        ),
        ("shared::destroyed_under_threads", destroyed_under_threads),
        (
            "shared::destroyed_before_it_is_imported",
            destroyed_before_it_is_imported,
        ),
        (
            "shared::an_exported_one_destroyed",
            an_exported_one_destroyed,
        ),
        ("shared::exports_are_submitted", exports_are_submitted),
        ("shared::exports_are_never_reused", exports_are_never_reused),
        ("shared::exports_are_freed", exports_are_freed),
        ("shared::imports_are_never_reused", imports_are_never_reused),
        (
            "shared::written_again_after_a_flush",
            written_again_after_a_flush,
        ),
    ];
    let mapping = mapping_trial(bench, "shared::mapped", mapped);
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .chain([mapping])
        .collect()
}

/// The error of one call: it names the operation, the buffer, and the reason with the application's label.
#[track_caller]
pub fn blamed<R>(outcome: Result<R, Error>, op: &str, buffer: &str, reason: &str) {
    let Err(error) = outcome else {
        panic!("{op} went on")
    };
    assert_eq!((error.kind(), error.op()), ("buffer", op), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(buffer) && text.contains(reason) && text.contains("the application's"),
        "{text}"
    );
    assert!(!text.contains("bug"), "{text}");
}

const SEVERAL: usize = 20;

/// Results of work that is recorded but not submitted.
pub struct Recorded {
    results: Vec<(f32, Tensor<f32>)>,
    batch: Ragged<f32>,
}

impl Recorded {
    pub fn on(device: &Device) -> Recorded {
        let batch = numbers(&lengths([700, 0, 31]), 2);
        let x = upload(device, &batch);
        let results = (1..SEVERAL)
            .map(|i| (i as f32, x.scale(i as f32).unwrap()))
            .collect();
        Recorded { results, batch }
    }

    #[track_caller]
    pub fn assert_right(&self) {
        for (factor, result) in &self.results {
            assert_exact(
                factor,
                &download(result),
                &self.batch.cast(|value| factor * value).unwrap(),
            );
            assert_exact(
                factor,
                &download(&result.add(result).unwrap()),
                &self.batch.cast(|value| 2.0 * factor * value).unwrap(),
            );
        }
    }
}

/// Every use of it fails each time, and other work is unaffected.
fn destroyed_before_it_is_used() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([3, 2]);
    let buffer = application.buffer(&[1.0; 20], FIT);
    let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
    let y = upload(&device, &numbers(&layout, 0));
    // First with a cached bind group, then with a new one.
    download(&x.scale(2.0).unwrap());
    let other = application.buffer(&[2.0; 40], FIT);
    let good = device.import::<f32>(&other, 0, &layout).unwrap();
    let before = Recorded::on(&device);
    buffer.destroy();
    let (name, why) = ("imported buffer of 80 bytes", "destroyed");
    for _ in 0..3 {
        blamed(x.scale(2.0), "scale", name, why);
        blamed(x.add(&y), "add", name, why);
        blamed(y.add(&x), "add", name, why);
        blamed(good.add(&x), "add", name, why);
        blamed(x.add(&good), "add", name, why);
        blamed(directly(&x, &y).unwrap().conv(), "conv", name, why);
        blamed(x.sbd(&y), "sbd", name, why);
        blamed(x.sum(), "sum", name, why);
        blamed(x.rfft(), "rfft", name, why);
        blamed(x.join(&[&y]), "join", name, why);
        blamed(
            x.pair(&y, Pairing::AllToAll).unwrap().dot(),
            "dot",
            name,
            why,
        );
        blamed(x.download_blocking(), "download", name, why);
        blamed(pollster::block_on(x.download()), "download", name, why);
        blamed(x.elements(1..2).unwrap().copy(), "copy", name, why);
        let sum = good.add(&y).unwrap();
        assert_exact(
            "2 + y",
            &download(&sum),
            &numbers(&layout, 0).cast(|value| 2.0 + value).unwrap(),
        );
    }
    let after = Recorded::on(&device);
    device.flush().unwrap();
    let (_, profile) = device.profile_blocking(|| x.scale(2.0).is_err()).unwrap();
    assert_eq!(profile.device_time, None);
    drop((x, buffer));
    before.assert_right();
    after.assert_right();
    application.assert_quiet();
}

/// Work that was recorded before the buffer was destroyed has its values.
fn destroyed_after_it_is_used() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    for flushed in [false, true] {
        let buffer = application.buffer(&[3.0; 2000], FIT);
        let x = device
            .import::<f32>(&buffer, 0, &lengths([1000, 900]))
            .unwrap();
        let others = Recorded::on(&device);
        let doubled = x.scale(2.0).unwrap();
        let sum = doubled.add(&x).unwrap();
        let convolved = directly(&x, &x).unwrap().conv().unwrap();
        if flushed {
            device.flush().unwrap();
        }
        buffer.destroy();
        let later = sum.add(&doubled).unwrap();
        blamed(
            x.scale(2.0),
            "scale",
            "imported buffer of 8000 bytes",
            "destroyed",
        );
        assert_eq!(download(&later).values(), [15.0; 1900]);
        assert_eq!(download(&sum).values(), [9.0; 1900]);
        assert_eq!(download(&convolved).values()[..3], [9.0, 18.0, 27.0]);
        others.assert_right();
    }
    application.assert_quiet();
}

/// Threads that do not use the buffer are unaffected; threads that do get right values until they get the error.
fn destroyed_under_threads() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let batch = numbers(&lengths([400, 2]), 0);
    for _ in 0..3 {
        let buffer = application.buffer(&[1.0; 500], FIT);
        let x = device.import::<f32>(&buffer, 0, batch.layout()).unwrap();
        let gone = AtomicBool::new(false);
        thread::scope(|scope| {
            for user in [false, false, true, true] {
                let (device, x, batch, gone) = (&device, &x, &batch, &gone);
                scope.spawn(move || {
                    let mut rounds = 0;
                    while !gone.load(Ordering::Relaxed) || rounds < 30 {
                        rounds += 1;
                        let y = upload(device, batch);
                        let outcome = match user {
                            true => y.add(x).and_then(|sum| sum.download_blocking()),
                            false => y.add(&y).and_then(|sum| sum.download_blocking()),
                        };
                        match outcome {
                            Ok(sum) if user => {
                                assert_exact(
                                    "y + 1",
                                    &sum,
                                    &batch.cast(|value| value + 1.0).unwrap(),
                                );
                            }
                            Ok(sum) => {
                                assert_exact("2 y", &sum, &batch.cast(|v| 2.0 * v).unwrap());
                            }
                            Err(error) => {
                                assert!(user && error.kind() == "buffer", "{error}");
                            }
                        }
                    }
                });
            }
            thread::sleep(std::time::Duration::from_millis(30));
            buffer.destroy();
            gone.store(true, Ordering::Relaxed);
        });
        Recorded::on(&device).assert_right();
    }
    application.assert_quiet();
}

fn destroyed_before_it_is_imported() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let others = Recorded::on(&device);
    let buffer = application.buffer(&[1.0; 20], FIT);
    buffer.destroy();
    let imported = device.import::<f32>(&buffer, 0, &lengths([5]));
    blamed(
        imported,
        "import",
        "imported buffer of 80 bytes",
        "destroyed",
    );
    others.assert_right();
    application.assert_quiet();
}

/// A buffer cannot be used while it is mapped or its mapping is pending; afterwards it can.
fn mapped(application: Application) {
    let device = application.vsla();
    let layout = lengths([3, 2]);
    let buffer = application.buffer(&[1.0; 20], FIT | BufferUsages::MAP_READ);
    let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
    let y = upload(&device, &numbers(&layout, 0));
    let expected = numbers(&layout, 0).cast(|value| value + 1.0).unwrap();
    for _ in 0..3 {
        let others = Recorded::on(&device);
        let before = x.add(&y).unwrap();
        application.map(&buffer);
        let name = "imported buffer of 80 bytes";
        blamed(x.add(&y), "add", name, "mapped");
        blamed(x.scale(3.0), "scale", name, "mapped");
        blamed(x.download_blocking(), "download", name, "mapped");
        assert_exact("before", &download(&before), &expected);
        device.flush().unwrap();
        buffer.unmap();
        assert_exact("after", &download(&x.add(&y).unwrap()), &expected);
        // The mapping is requested, and pending.
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        blamed(x.add(&y), "add", name, "mapped");
        buffer.unmap();
        assert_exact("after", &download(&x.add(&y).unwrap()), &expected);
        others.assert_right();
    }
    application.assert_quiet();
}

/// A buffer of the library, destroyed by the application to which it was exported.
fn an_exported_one_destroyed() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let batch = numbers(&lengths([50, 7]), 0);
    let others = Recorded::on(&device);
    let x = upload(&device, &batch);
    // The work is only recorded when the application destroys the buffer.
    let y = x.scale(2.0).unwrap();
    let z = y.scale(2.0).unwrap();
    y.export().unwrap().0.destroy();
    let op = |outcome: Result<Tensor<f32>, Error>, op| {
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.op()), ("buffer", op), "{error}");
        assert!(
            error.to_string().contains("exported buffer of ")
                && error.to_string().contains("destroyed"),
            "{error}"
        );
    };
    op(y.scale(2.0), "scale");
    op(x.add(&y), "add");
    assert_eq!(y.download_blocking().unwrap_err().kind(), "buffer");
    assert_exact(
        "4 x",
        &download(&z),
        &batch.cast(|value| 4.0 * value).unwrap(),
    );
    others.assert_right();
    drop(y);
    // The buffer's memory is not reused.
    for _ in 0..5 {
        assert_exact(
            "3 x",
            &download(&x.scale(3.0).unwrap()),
            &batch.cast(|value| 3.0 * value).unwrap(),
        );
    }
    application.assert_quiet();
}

/// Work that the application submits after an export finds the values, without a flush.
fn exports_are_submitted() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([3, 0, 2]);
    let sum = upload(&device, &numbers(&layout, 3)).scale(2.0).unwrap();
    let (exported, place) = sum.export().unwrap();
    let buffer = application.buffer(&[0.0; 20], FIT);
    application.copy(exported, place, &buffer, 20);
    let back = device.import::<f32>(&buffer, 0, &layout).unwrap();
    assert_exact(
        "through the application",
        &download(&back),
        &numbers(&layout, 3).cast(|value| 2.0 * value).unwrap(),
    );
    application.assert_quiet();
}

/// The application keeps the buffers of dropped tensors and writes to them all the time. This changes no value, plan or
/// layout of the library.
fn exports_are_never_reused() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let cpu = Device::cpu();
    let layouts: Vec<Layout> = (0..12)
        .map(|i| drawn(&format!("kept {i}"), 40, 60))
        .collect();
    let mut kept = Vec::new();
    for (i, layout) in layouts.iter().enumerate() {
        // Sizes of layouts, plans and results.
        for words in [1, 41, 82, 200, layout.total(), 2 * layout.total()] {
            let x = upload(&device, &Ragged::full(&lengths([words]), 1.0f32).unwrap());
            kept.push(x.scale(2.0).unwrap().export().unwrap().0.clone());
            kept.push(x.elements(0..1).unwrap().export().unwrap().0.clone());
        }
        let scribble = || {
            for buffer in &kept {
                let garbage = vec![0xFF; buffer.size() as usize];
                application.queue.write_buffer(buffer, 0, &garbage);
            }
            application.queue.submit([]);
        };
        scribble();
        let (a, b) = (numbers(layout, i), numbers(&layouts[(i + 1) % 12], i));
        let (x, y) = (upload(&device, &a), upload(&device, &b));
        let sum = x.add(&y).unwrap();
        let convolved = directly(&x, &y).unwrap().conv().unwrap();
        let norms = x.sum().unwrap();
        device.flush().unwrap();
        scribble();
        assert_exact(i, &download(&sum), &run(&cpu, &a, &b, |x, y| x.add(y)));
        assert_exact(
            i,
            &download(&convolved),
            &run(&cpu, &a, &b, |x, y| directly(x, y)?.conv()),
        );
        assert_exact(i, &download(&norms), &run(&cpu, &a, &b, |x, _| x.sum()));
        scribble();
    }
    assert!(kept.len() > 100);
    application.assert_quiet();
}

/// Shared buffers leave the live memory, and are not cached for reuse.
fn exports_are_freed() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([10_000]);
    let kept = {
        let x = upload(&device, &Ragged::full(&layout, 1.0f32).unwrap());
        let live = device.memory().live;
        let (buffer, _) = x.export().unwrap();
        assert_eq!(device.memory().live, live);
        buffer.clone()
    };
    assert_eq!((device.memory().live, device.memory().cached), (0, 0));
    let y = upload(&device, &Ragged::full(&layout, 2.0f32).unwrap());
    application.queue.write_buffer(&kept, 0, &[0; 64]);
    assert_eq!(download(&y).values()[..20], [2.0; 20]);
    drop(y);
    assert!(device.memory().cached > 0, "other buffers are cached");
    application.assert_quiet();
}

/// An imported buffer stays the application's and keeps its values after the last tensor on it is dropped.
fn imports_are_never_reused() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([20]);
    let buffer = application.buffer(&[1.0; 20], FIT);
    let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
    assert_eq!(download(&x.scale(2.0).unwrap()).values(), [2.0; 20]);
    let cached = device.memory().cached;
    drop(x);
    assert_eq!(device.memory().cached, cached);
    // Results of the same size are in other buffers.
    let results: Vec<_> = (0..50)
        .map(|i| device.full(&layout, i as f32).unwrap())
        .collect();
    device.flush().unwrap();
    let bytes = [7.0f32; 20];
    application
        .queue
        .write_buffer(&buffer, 0, bytemuck::cast_slice(&bytes));
    application.queue.submit([]);
    for (i, result) in results.iter().enumerate() {
        assert_eq!(download(result).values(), [i as f32; 20]);
    }
    drop(results);
    device.trim();
    let again = device.import::<f32>(&buffer, 0, &layout).unwrap();
    assert_eq!(download(&again).values(), [7.0; 20]);
    application.assert_quiet();
}

/// Work recorded before a flush uses the old values, and later work the new ones.
fn written_again_after_a_flush() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([30, 10]);
    let buffer = application.buffer(&[0.0; 40], FIT);
    let source = application.buffer(&[0.0; 40], FIT);
    let imported = device.import::<f32>(&buffer, 0, &layout).unwrap();
    let own = device.full(&layout, 0.0f32).unwrap();
    let exported = own.export().unwrap().0.clone();
    let mut results = Vec::new();
    for i in 1..20 {
        device.flush().unwrap();
        let values = vec![i as f32; 40];
        let bytes = bytemuck::cast_slice(&values);
        if i % 2 == 0 {
            application.queue.write_buffer(&buffer, 0, bytes);
        } else {
            application.queue.write_buffer(&source, 0, bytes);
            application.copy(&source, 0, &buffer, 160);
        }
        application.queue.write_buffer(&exported, 0, bytes);
        results.push((
            i as f32,
            [
                imported.scale(2.0).unwrap(),
                own.scale(2.0).unwrap(),
                imported.add(&own).unwrap(),
            ],
        ));
    }
    for (i, results) in &results {
        for result in results {
            assert_eq!(download(result).values(), [2.0 * i; 40]);
        }
    }
    application.assert_quiet();
}
