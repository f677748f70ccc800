//! A lost device: every call reports it, nothing hangs, and a second device can be opened.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use catalogue::{Operation, Prepared, Request};
use libtest_mimic::Trial;
use vsla::image::{self, Neighbours, Place};
use vsla::{Device, Error, Layout, Ragged, Shape, Tensor, device::wgpu};

use super::embedding::Application;
use super::{lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("lost::every_call_says_so", every_call_says_so),
        ("lost::with_work_recorded", with_work_recorded),
        ("lost::while_reading", while_reading),
        ("lost::while_threads_work", while_threads_work),
        ("lost::the_applications_own", the_applications_own),
        ("lost::with_full_upload_buffers", with_full_upload_buffers),
        (
            "lost::the_applications_own_with_full_upload_buffers",
            the_applications_own_with_full_upload_buffers,
        ),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| in_time(test)))
        .collect()
}

/// If the library hangs, this test must still end.
fn in_time(test: fn()) {
    let (done, waiting) = channel();
    let worker = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let outcome = waiting.recv_timeout(Duration::from_secs(60));
    assert!(
        outcome != Err(std::sync::mpsc::RecvTimeoutError::Timeout),
        "it hangs"
    );
    if let Err(payload) = worker.join() {
        std::panic::resume_unwind(payload);
    }
}

fn destroy(device: &Device) {
    device.wgpu().unwrap().0.destroy();
}

fn works(device: &Device) {
    let x = numbers(&lengths([5, 0, 2000]), 0);
    assert_exact(
        "2 x",
        &download(&upload(device, &x).scale(2.0).unwrap()),
        &x.cast(|value| 2.0 * value).unwrap(),
    );
}

#[track_caller]
fn lost<R>(outcome: Result<R, Error>, op: &str) {
    let Err(error) = outcome else {
        panic!("{op} went on")
    };
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("device_lost", op, None),
        "{error}"
    );
}

/// Calls of every kind on a lost device.
fn all_lost(device: &Device, x: &Tensor<f32>, y: &Tensor<f32>) {
    lost(device.upload(&numbers(&lengths([4]), 0)), "upload");
    lost(device.full(&lengths([4]), 1.0f32), "full");
    lost(x.add(y), "add");
    lost(x.scale(2.0), "scale");
    lost(x.download_blocking(), "download");
    lost(pollster::block_on(x.download()), "download");
    lost(device.flush(), "flush");
    lost(device.profile_blocking(|| ()), "profile");
    // These need no GPU.
    device.trim();
    assert!(!device.info().name.is_empty());
    assert_eq!(x.elements(0..1).unwrap().len(), 1);
}

/// Each operation of the catalogue, with arguments that are on the device.
fn prepared(device: &Device) -> Vec<(&'static Operation, Prepared)> {
    let of = |row: &'static Operation| {
        let read = Request::new(row.answered().remove(0)).unwrap();
        let prepared = Prepared::new(read).and_then(|task| task.on_views(device, 1));
        (row, prepared.unwrap())
    };
    let rows = catalogue::operations().filter(|row| row.is_function && row.name != "layout");
    rows.map(of).collect()
}

fn every_call_says_so() {
    let other = own_gpu(|_| ());
    let device = own_gpu(|_| ());
    let (x, y) = (
        upload(&device, &numbers(&lengths([4, 2]), 0)),
        upload(&device, &numbers(&lengths([4, 3]), 1)),
    );
    let rows = prepared(&device);
    let program = image::ImageProgram::new(|recorder| {
        let x = recorder.input();
        recorder.output(&x.dilate(Neighbours::Four));
    });
    let (program, place) = (program.unwrap(), Place::from(&device));
    download(&x.add(&y).unwrap());
    destroy(&device);
    lost(x.download_blocking(), "download");
    all_lost(&device, &x, &y);
    for (row, prepared) in rows {
        match prepared.run_blocking(&device, 1 << 20) {
            Ok(_) => panic!("{} went on", row.name),
            Err(failure) => assert_eq!(failure.kind, "device_lost", "{}", failure.message),
        }
    }
    let host = Ragged::full(
        &Layout::uniform(1, Shape::new(&[3, 3]).unwrap()).unwrap(),
        1i32,
    );
    lost(
        program.run_blocking(&place, &[&host.unwrap()]),
        "image program",
    );
    lost(program.prepare(&place), "image program");
    lost(device.calibrate(), "calibrate");
    works(&other);
    works(&own_gpu(|_| ()));
    drop((x, y, device));
    works(&other);
}

fn with_work_recorded() {
    let device = own_gpu(|_| ());
    let x = upload(&device, &numbers(&lengths([4, 2]), 0));
    let scaled = x.scale(2.0).unwrap();
    destroy(&device);
    // Recording may or may not notice; reading must.
    let later = scaled.add(&x);
    lost(scaled.download_blocking(), "download");
    if let Ok(later) = later {
        lost(pollster::block_on(later.download()), "download");
    }
    all_lost(&device, &x, &scaled);
    works(&own_gpu(|_| ()));
}

/// A future that is waiting when the device is lost is woken.
fn while_reading() {
    let device = own_gpu(|_| ());
    let large = Ragged::full(&lengths([10_000_000]), 1.0f32).unwrap();
    let x = upload(&device, &large);
    for _ in 0..3 {
        let y = x.scale(2.0).unwrap();
        let reader = thread::spawn(move || pollster::block_on(y.download()));
        thread::sleep(Duration::from_millis(3));
        destroy(&device);
        match reader.join().unwrap() {
            Ok(values) => assert!(values.values().iter().all(|value| *value == 2.0)),
            Err(error) => {
                assert_eq!((error.kind(), error.op()), ("device_lost", "download"));
                break;
            }
        }
        if x.scale(2.0).is_err() {
            break;
        }
    }
    all_lost(&device, &x, &x);
}

fn while_threads_work() {
    let device = own_gpu(|_| ());
    let batch = numbers(&lengths([4000, 2]), 0);
    let x = upload(&device, &batch);
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let (device, x, batch) = (device.clone(), x.clone(), batch.clone());
            thread::spawn(move || {
                loop {
                    let outcome = device
                        .upload(&batch)
                        .and_then(|y| y.add(&x))
                        .and_then(|sum| match worker % 2 {
                            0 => sum.download_blocking(),
                            _ => pollster::block_on(sum.download()),
                        });
                    match outcome {
                        Ok(sum) => {
                            assert_exact("2 x", &sum, &batch.cast(|value| 2.0 * value).unwrap());
                        }
                        Err(error) => return error,
                    }
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(50));
    destroy(&device);
    for worker in workers {
        assert_eq!(worker.join().unwrap().kind(), "device_lost");
    }
    all_lost(&device, &x, &x);
    works(gpu().unwrap());
}

/// On such a device, the loss is reported to the application alone. The library notices it at the first read, and then
/// reports it everywhere.
fn the_applications_own() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let (x, y) = (
        upload(&device, &numbers(&lengths([4, 2]), 0)),
        upload(&device, &numbers(&lengths([4, 3]), 1)),
    );
    works(&device);
    application.device.destroy();
    if let Ok(sum) = x.add(&y) {
        lost(sum.download_blocking(), "download");
    }
    lost(x.download_blocking(), "download");
    all_lost(&device, &x, &y);
    application.assert_quiet();
    works(&own_gpu(|_| ()));
    works(&Application::new(wgpu::Limits::default()).vsla());
}

/// The ring of upload buffers is in use when the device is lost. No call waits for buffers that will never be returned.
fn full_ring(device: &Device) {
    let large = Ragged::full(&lengths([26_000_000]), 1.0f32).unwrap();
    drop(device.upload(&large));
    destroy(device);
    let mut errors = 0;
    for _ in 0..4 {
        errors += usize::from(device.upload(&large).is_err());
    }
    let x = device
        .upload(&numbers(&lengths([4]), 0))
        .and_then(|x| x.download_blocking());
    assert_eq!(x.unwrap_err().kind(), "device_lost");
    assert!(errors > 0, "400 MB were sent to a lost device");
}

fn with_full_upload_buffers() {
    full_ring(&own_gpu(|_| ()));
}

fn the_applications_own_with_full_upload_buffers() {
    let application = Application::new(wgpu::Limits::default());
    full_ring(&application.vsla());
    application.assert_quiet();
}
