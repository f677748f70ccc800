//! A lost device: every call reports it, nothing hangs, and a second device can be opened.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use vsla::image::{self, Components, Neighbours, Place};
use vsla::{Complex32, Device, Error, Indices, Layout, Ragged, Shape, Tensor, device::wgpu, f16};

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
    lost(device.arange(&lengths([4]), 0, 1), "arange");
    lost(device.uniform(&lengths([4]), 0, 9, 1), "uniform");
    lost(device.normal(&lengths([4]), 0.0f32, 1.0, 1), "normal");
    lost(x.dropout(0.5, 1), "dropout");
    lost(x.add(y), "add");
    lost(x.sub(y), "sub");
    lost(x.scale(2.0), "scale");
    lost(x.copy(), "copy");
    lost(x.conv(y), "conv");
    lost(x.correlate(y), "correlate");
    lost(x.correlate_max(y), "correlate_max");
    lost(x.sbd(y), "sbd");
    lost(x.sum(), "sum");
    lost(x.dot(y), "dot");
    lost(x.norm2(), "norm2");
    lost(x.softmax(0), "softmax");
    lost(x.max_pool(&[2]), "max_pool");
    lost(x.cumsum(0), "cumsum");
    lost(x.sort(0), "sort");
    lost(x.max(), "max");
    lost(x.argmax(), "argmax");
    lost(x.download_blocking(), "download");
    lost(pollster::block_on(x.download()), "download");
    lost(device.flush(), "flush");
    lost(device.profile_blocking(|| ()), "profile");
    // These need no GPU.
    device.trim();
    assert!(!device.info().name.is_empty());
    assert_eq!(x.elements(0..1).unwrap().len(), 1);
}

/// The families of operations that `all_lost` leaves out, on a lost device: vectors of equal layouts, masks, matrices,
/// spectra and f16.
fn others_lost(x: &Tensor<f32>, others: &Others) {
    let Others {
        mask,
        matrices,
        spectra,
        halves,
    } = others;
    lost(x.div(x), "div");
    lost(x.less(x), "less");
    lost(x.add(x.along(0)), "add");
    lost(x.along(0).pow(x), "pow");
    lost(x.mul_add(x, x.along(0)), "mul_add");
    lost(mask.if_else(x, x), "if_else");
    lost(x.exp(), "exp");
    lost(x.clamp(0.0, 1.0), "clamp");
    lost(mask.bit_not(), "bit_not");
    lost(mask.one_hot::<f32>(3), "one_hot");
    lost(mask.lookup(x), "lookup");
    lost(mask.bincount(3), "bincount");
    lost(mask.most_common(), "most_common");
    lost(mask.palette_blocking(), "palette");
    lost(x.equal_elements(x), "equal_elements");
    lost(
        matrices.elements(0..1).unwrap().embedding(mask),
        "embedding",
    );
    lost(x.histogram(3, 0.0..=1.0), "histogram");
    lost(x.strided_slice(&[(None, None, 2)]), "strided_slice");
    lost(x.to::<i32>(), "to");
    lost(x.to::<f16>(), "to");
    lost(halves.to::<f32>(), "to");
    lost(x.mean(), "mean");
    lost(x.std(), "std");
    lost(x.log_sum_exp(), "log_sum_exp");
    lost(x.sum_axis(0), "sum_axis");
    lost(mask.any(), "any");
    lost(halves.max_axis(0), "max_axis");
    lost(x.layer_norm(0, 1e-5), "layer_norm");
    let places = Ragged::from_fn(x.layout(), |_, i| i as u32).unwrap();
    let places = Indices::new(places).unwrap();
    lost(x.gather(&places), "gather");
    lost(x.scatter_add(&places, x.layout()), "scatter_add");
    lost(x.scatter_set(&places, x.layout()), "scatter_set");
    lost(x.select(&[0]), "select");
    lost(x.join(&[x]), "join");
    lost(x.concat(x, 0), "concat");
    lost(x.kron(x), "kron");
    lost(x.eval(x), "eval");
    lost(x.flip(&[0]), "flip");
    lost(x.stack(1 << 20), "stack");
    lost(x.window(2, 1, 1 << 20), "window");
    lost(x.rfft(), "rfft");
    lost(spectra.ifft(), "ifft");
    lost(matrices.matmul(matrices), "matmul");
    lost(matrices.rfft2(), "rfft2");
    lost(matrices.transpose(&[1, 0]), "transpose");
    lost(matrices.rot90(1), "rot90");
    lost(matrices.upscale(&[[2, 2]]), "upscale");
    lost(matrices.translate(&[[1, 1]], 0.0), "translate");
}

fn images_lost(images: &Images) {
    let Images {
        cells,
        labels,
        counts,
        boxes,
        flags,
        program,
    } = images;
    lost(cells.label(Components::of_equal_values()), "label");
    lost(cells.regions_blocking(labels, counts), "regions");
    lost(cells.fill_holes(Neighbours::Four, 0, 1), "fill_holes");
    lost(cells.dilate(Neighbours::Eight), "dilate");
    lost(cells.bounding_box(0), "bounding_box");
    lost(cells.trim_blocking(0), "trim");
    lost(cells.crop_blocking(boxes), "crop");
    lost(cells.draw_boxes(boxes, counts), "draw_boxes");
    let lines = Ragged::from_rows([[0, 0, 2, 2]]).unwrap();
    lost(cells.draw_lines(&lines, counts), "draw_lines");
    lost(cells.match_template(cells), "match_template");
    lost(cells.period(0), "period");
    lost(cells.compact_blocking(flags, 0), "compact");
    let place = Place::from(cells.device());
    let host = Ragged::full(cells.layout(), 1i32).unwrap();
    lost(program.run_blocking(&place, &[&host]), "image program");
    lost(program.prepare(&place), "image program");
    lost(cells.device().calibrate(), "calibrate");
}

struct Images {
    cells: Tensor<u32>,
    labels: Tensor<u32>,
    counts: Tensor<u32>,
    boxes: Tensor<u32>,
    flags: Tensor<u32>,
    program: image::ImageProgram,
}

impl Images {
    fn new(device: &Device) -> Images {
        let layout = Layout::uniform(1, Shape::new(&[3, 3]).unwrap()).unwrap();
        let cells = device.arange(&layout, 0, 1).unwrap();
        let (labels, counts) = cells.label(Components::of_equal_values()).unwrap();
        Images {
            boxes: cells.bounding_box(0).unwrap(),
            flags: cells.any_axis(1).unwrap(),
            program: image::ImageProgram::new(|recorder| {
                let x = recorder.input();
                recorder.output(&x.dilate(Neighbours::Four));
            })
            .unwrap(),
            cells,
            labels,
            counts,
        }
    }
}

struct Others {
    mask: Tensor<u32>,
    matrices: Tensor<f32>,
    spectra: Tensor<Complex32>,
    halves: Tensor<f16>,
}

fn every_call_says_so() {
    let other = own_gpu(|_| ());
    let device = own_gpu(|_| ());
    let (x, y) = (
        upload(&device, &numbers(&lengths([4, 2]), 0)),
        upload(&device, &numbers(&lengths([4, 3]), 1)),
    );
    let square = Layout::uniform(2, Shape::new(&[3, 3]).unwrap()).unwrap();
    let others = Others {
        mask: x.less(&x).unwrap(),
        matrices: upload(&device, &numbers(&square, 0)),
        spectra: x.rfft().unwrap(),
        halves: x.to::<f16>().unwrap(),
    };
    let images = Images::new(&device);
    download(&x.add(&y).unwrap());
    destroy(&device);
    lost(x.download_blocking(), "download");
    all_lost(&device, &x, &y);
    others_lost(&x, &others);
    images_lost(&images);
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
