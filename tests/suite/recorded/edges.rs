//! Recordings and runs in unusual circumstances: panics, values that escape, views and nothing as outputs.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;

use rayon::prelude::*;
use vsla::conv::ConvMethod;
use vsla::program::{HostOutputs, HostValue, Passes, Program};
use vsla::{Complex32, Device, Layout, Pairing, Ragged, Shape, Tensor, f16, scalar::Scalar};

use super::{bits, recording, upload, values};
use crate::support::bench::DeviceTest;

pub const TESTS: &[DeviceTest] = &[
    ("merged_views", merged_views),
    ("reports", reports),
    ("outputs_at_odd_places", outputs_at_odd_places),
    ("nothing", nothing),
    ("panics", panics),
    ("used_while_it_ends", used_while_it_ends),
    ("recorded_in_parallel", recorded_in_parallel),
    ("results_outlive_everything", results_outlive_everything),
    ("work_limits", work_limits),
    ("futures", futures),
    ("inputs_at_odd_places", inputs_at_odd_places),
];

/// A report counts the work of each step, on the CPU as on a GPU.
fn reports(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0, 3.0], &[4.0]]);
    let program = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        let pair = x.pair(&x, Pairing::Elementwise)?;
        let y = pair.convolution().method(ConvMethod::Direct).conv()?;
        r.output(&y.softmax(0)?.cumsum(0)?)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let report = plan.report();
    let steps: Vec<(&str, u64)> = report.steps.iter().map(|s| (&s.op[..], s.cost)).collect();
    assert_eq!(steps[1..], [("softmax", 6), ("cumsum", 6)]);
    // 3 · 3 + 1 · 1 products. A GPU's tiles also multiply zeros.
    assert!(
        steps[0].1 == 10 || device.is_gpu() && steps[0].1 > 10,
        "{report}"
    );
    let text = report.to_string();
    assert!(
        text.starts_with("3 steps, ") && text.contains("1 input, 1 output\n"),
        "{text}"
    );
}

/// A view of a result that is replaced by an equal one.
fn merged_views(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0, 3.0], &[4.0]]);
    let merge = Passes {
        merge_equal: true,
        ..Passes::none()
    };
    for passes in [Passes::default(), merge, Passes::none()] {
        let program = Program::with_passes(device, passes, |r| {
            let x: Tensor<f32> = r.input()?;
            let (first, second) = (x.scale(2.0)?, x.scale(2.0)?);
            let last = second.elements(1..2)?;
            r.output(&first.elements(1..2)?.add(&last)?)?;
            r.output(&last.neg()?)?;
            r.output(&last)?;
            r.output(&second)
        });
        let plan = program.plan(&[x.layout()]).unwrap();
        for _ in 0..2 {
            let out = plan.run(&[&x]).unwrap();
            let of = |i: usize| values(&out.get(i).unwrap());
            assert_eq!(of(0), [16.0]);
            assert_eq!(of(1), [-8.0]);
            assert_eq!(of(2), [8.0]);
            assert_eq!(of(3), [2.0, 4.0, 6.0, 8.0]);
        }
        let steps = plan.report().steps.len();
        assert_eq!(steps, if passes.drop_unused { 3 } else { 4 }, "{passes:?}");
    }
}

/// Outputs that begin at any half-word, read together.
fn outputs_at_odd_places(device: &Device) {
    let rows: Vec<Vec<f16>> = (0..5)
        .map(|i| (0..i).map(|j| f16::from_f32((3 * i + j) as f32)).collect())
        .collect();
    let batch = Ragged::from_rows(&rows).unwrap();
    let x = device.upload(&batch).unwrap();
    let program = Program::new(device, |r| {
        let x: Tensor<f16> = r.input()?;
        let y = x.neg()?;
        for i in 0..6 {
            r.output(&x.elements(i.min(5)..5)?)?;
            r.output(&y.elements(i.min(5)..5)?)?;
        }
        Ok(())
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let outputs = plan.call_blocking(&[&batch]).unwrap();
    let run = plan.run(&[&x]).unwrap();
    for i in 0..6 {
        let part = x.elements(i.min(5)..5).unwrap();
        for (at, expected) in [(2 * i, part.clone()), (2 * i + 1, part.neg().unwrap())] {
            let expected = expected.download_blocking().unwrap();
            assert_eq!(outputs.get::<f16>(at).unwrap(), expected, "output {at}");
            let got = run.get::<f16>(at).unwrap().download_blocking().unwrap();
            assert_eq!(got, expected, "output {at}");
        }
    }
}

/// Nothing, in many forms.
fn nothing(device: &Device) {
    let none = Layout::from_lengths([0usize; 0]).unwrap();
    let empty = Layout::from_lengths([0, 0]).unwrap();
    for layout in [none, empty] {
        let x = device.full(&layout, 1.0f32).unwrap();
        let program = Program::new(device, |r| {
            let x: Tensor<f32> = r.input()?;
            r.output(&x)?;
            r.output(&x.neg()?)?;
            r.output(&x.neg()?.rfft()?)?;
            r.output(&x.sum()?)?;
            r.output(&x.elements(0..0)?.scale(2.0)?)
        });
        let plan = program.plan(&[&layout]).unwrap();
        let kernels = plan.report().steps.iter().flat_map(|step| &step.kernels);
        assert!(kernels.map(|(_, groups)| groups).all(|groups| *groups > 0));
        let out = plan.run(&[&x]).unwrap();
        assert_eq!(values(&out.get(1).unwrap()), [0.0f32; 0]);
        assert_eq!(out.get::<Complex32>(2).unwrap().len(), layout.len());
        assert_eq!(values(&out.get(3).unwrap()), vec![0.0; layout.len()]);
        let host = x.download_blocking().unwrap();
        assert_eq!(plan.call_blocking(&[&host]).unwrap().len(), 5);
    }
    // Neither inputs nor steps.
    let one = upload(device, &[&[7.0]]);
    let program = Program::new(device, move |r| r.output(&one));
    let plan = program.plan(&[]).unwrap();
    assert!(plan.report().steps.is_empty());
    for _ in 0..5 {
        assert_eq!(values(&plan.run(&[]).unwrap().get(0).unwrap()), [7.0]);
    }
}

/// A function that panics leaves no recording behind, nor anything that it recorded.
fn panics(device: &Device) {
    let device = &fresh(device);
    let x = upload(device, &[&[1.0; 50_000]]);
    let escaped = Arc::new(Mutex::new(None::<Tensor<f32>>));
    let live = device.memory().live;
    for fails in [false, true] {
        let (keep, constant) = (
            escaped.clone(),
            Arc::new(Mutex::new(Some(x.copy().unwrap()))),
        );
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let sum = x.add(&constant.lock().unwrap().take().unwrap())?;
            *keep.lock().unwrap() = Some(sum.clone());
            assert!(fails, "a panic");
            sum.sum_axis(5).map(|_| ())
        });
        let plan = || program.plan(&[x.layout()]);
        let outcome = panic::catch_unwind(AssertUnwindSafe(plan));
        match outcome {
            Err(_) => assert!(!fails),
            Ok(plan) => assert_eq!(plan.unwrap_err().op(), "sum_axis"),
        }
        // This thread computes again, and a value that escaped keeps no memory.
        assert_eq!(values(&device.full(&one(), 3.0f32).unwrap()), [3.0]);
        let old = escaped.lock().unwrap().take().unwrap();
        assert!(recording(old.neg().unwrap_err()).contains("after the recording ended"));
        drop(program);
        assert_eq!(device.memory().live, live);
        drop(old);
    }
    let works = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.neg()?)
    });
    let plan = works.plan(&[x.layout()]).unwrap();
    let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
    assert_eq!(values(&y)[0], -1.0);
}

pub fn one() -> Layout {
    Layout::from_lengths([1]).unwrap()
}

/// A device whose memory nothing else uses.
fn fresh(device: &Device) -> Device {
    match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => crate::support::bench::opened_for_one(|_| ()),
        _ => Device::cpu(),
    }
}

/// A value used on another thread while its recording ends.
fn used_while_it_ends(device: &Device) {
    let layout = Layout::from_lengths([3, 2]).unwrap();
    for turn in 0..200 {
        let workers = Arc::new(Mutex::new(Vec::new()));
        let ended = workers.clone();
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let own = x.clone();
            let started = Arc::new(AtomicBool::new(false));
            let sign = started.clone();
            ended.lock().unwrap().push(thread::spawn(move || {
                loop {
                    let all = own
                        .neg()
                        .and_then(|y| y.elements(0..1)?.add(&own.elements(1..2)?.flip(&[0])?));
                    sign.store(true, Ordering::Relaxed);
                    if let Err(error) = all {
                        return error;
                    }
                }
            }));
            while !started.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            r.output(&x.neg()?)
        });
        let plan = program.plan(&[&layout]).unwrap();
        for worker in workers.lock().unwrap().drain(..) {
            recording(
                worker
                    .join()
                    .unwrap_or_else(|_| panic!("a panic in turn {turn}")),
            );
        }
        let x = device.full(&layout, 1.0f32).unwrap();
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        assert_eq!(values(&y), [-1.0; 5]);
    }
}

/// Values recorded from all threads of a pool.
fn recorded_in_parallel(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0], &[3.0]]);
    let program = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        let parts: vsla::Result<Vec<Tensor<f32>>> =
            (0..50).into_par_iter().map(|i| x.scale(i as f32)).collect();
        for part in parts? {
            r.output(&part)?;
        }
        Ok(())
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let out = plan.run(&[&x]).unwrap();
    for i in 0..50 {
        let n = i as f32;
        assert_eq!(values(&out.get(i).unwrap()), [n, 2.0 * n, 3.0 * n]);
    }
}

/// Results outlive the plan, the program and the device's handle.
fn results_outlive_everything(device: &Device) {
    let device = fresh(device);
    let live = device.memory().live;
    let mut results = Vec::new();
    for i in 0..5 {
        let x = upload(&device, &[&[i as f32; 3000], &[1.0]]);
        let program = super::network(&device, 3);
        let plan = program.plan(&[x.layout()]).unwrap();
        let expected = bits(&super::layers(&x, 3).unwrap());
        drop(program);
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        drop((plan, x));
        // Other work takes the memory that became free.
        for _ in 0..10 {
            results.push((device.full(&one(), 5.0f32).unwrap(), None));
        }
        results.push((y, Some(expected)));
    }
    for (result, expected) in &results {
        match expected {
            Some(expected) => assert!(bits(result) == *expected),
            None => assert_eq!(values(result), [5.0]),
        }
    }
    drop(results);
    // Copies of layouts.
    device.trim();
    assert_eq!(device.memory().live, live);
}

/// A limit on the work of a handle holds for a program of this handle, however it is used.
fn work_limits(device: &Device) {
    let layout = Layout::from_lengths([100, 100]).unwrap();
    let x = device.full(&layout, 1.0f32).unwrap();
    let body = |r: &mut vsla::program::Recording| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.conv(&x)?)
    };
    let limited = Program::new(&device.with_work_limit(1000), body);
    let error = limited.plan(&[&layout]).unwrap_err();
    assert_eq!(
        (error.kind(), error.op()),
        ("work_limit", "conv"),
        "{error}"
    );
    let plan = Program::new(device, body).plan(&[&layout]).unwrap();
    let other = device.with_work_limit(1000);
    let y = x.to_device_blocking(&other).unwrap();
    let y: Tensor<f32> = plan.run(&[&y]).unwrap().get(0).unwrap();
    assert!((values(&y)[99] - 100.0).abs() < 1e-3);
}

/// The future of a call can move to another thread, and be dropped at any time.
fn futures(device: &Device) {
    let batch = Ragged::from_rows([vec![1.0f32; 3000], vec![2.0]]).unwrap();
    let program = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.neg()?)?;
        r.output(&x.sum()?)
    });
    let plan = program.plan(&[batch.layout()]).unwrap();
    let inputs: [&dyn HostValue; 1] = [&batch];
    type Call<'a> = Pin<Box<dyn Future<Output = vsla::Result<HostOutputs>> + Send + 'a>>;
    let call = || -> Call<'_> { Box::pin(plan.call(&inputs)) };
    for turn in 0..20 {
        let mut dropped = call();
        let mut context = Context::from_waker(Waker::noop());
        if turn % 2 == 0 {
            let _ = dropped.as_mut().poll(&mut context);
        }
        drop(dropped);
        let call = call();
        let moved = thread::scope(|scope| scope.spawn(|| pollster::block_on(call)).join());
        let out = moved.unwrap().unwrap();
        assert_eq!(out.get::<f32>(0).unwrap().row(1), [-2.0]);
        assert_eq!(out.get::<f32>(1).unwrap().values(), [3000.0, 2.0]);
    }
}

/// The batch as a view that begins after this many values.
pub fn after<T: Scalar>(device: &Device, batch: &Ragged<T>, values: usize) -> Tensor<T> {
    let layout = batch.layout();
    let mut extents = vec![1; layout.rank()];
    extents[0] = values;
    let first = Shape::new(&extents).unwrap();
    let shapes = std::iter::once(first).chain(layout.shapes());
    let all = Layout::from_shapes(layout.rank(), shapes).unwrap();
    let values = [&vec![T::zeroed(); values], batch.values()].concat();
    let all = device.upload(&Ragged::from_parts(all, values).unwrap());
    all.unwrap().elements(1..layout.len() + 1).unwrap()
}

/// Kernels that need values at whole pairs or quads of words, on inputs that begin anywhere.
fn inputs_at_odd_places(device: &Device) {
    let layout = |shapes: &[[usize; 2]]| {
        let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        Layout::from_shapes(2, shapes).unwrap()
    };
    let parts = |x: &Tensor<f32>| x.elements(1..4)?.view_as_complex();
    let product = |x: &Tensor<f16>| x.elements(1..2)?.matmul(&x.elements(1..2)?);
    let program = Program::new(device, move |r| {
        let (x, y): (Tensor<f32>, Tensor<f16>) = (r.input()?, r.input()?);
        r.output(&parts(&x)?)?;
        r.output(&parts(&x)?.abs()?)?;
        r.output(&product(&y)?)
    });
    let x = Ragged::random(&layout(&[[1, 2], [16, 2], [3, 2], [0, 2]]), 1).unwrap();
    let y = Ragged::random(&layout(&[[1, 8], [32, 32]]), 2).unwrap();
    let y = y.cast(f16::from_f32).unwrap();
    let plan = program.plan(&[x.layout(), y.layout()]).unwrap();
    let (first, second) = (after(device, &x, 0), after(device, &y, 0));
    let spectra = parts(&first).unwrap();
    let expected = (
        bits(&spectra),
        bits(&spectra.abs().unwrap()),
        bits(&product(&second).unwrap()),
    );
    let run = |by: usize| {
        let inputs = (after(device, &x, by), after(device, &y, by));
        plan.run(&[&inputs.0, &inputs.1]).unwrap()
    };
    let all = [0, 1, 2, 3, 8, 5, 0].map(|by| (by, run(by)));
    for (by, out) in all {
        let spectra: Tensor<Complex32> = out.get(0).unwrap();
        assert!(bits(&spectra) == expected.0, "{by} values before");
        assert!(bits(&spectra.abs().unwrap()) == expected.1);
        assert!(bits(&out.get::<f32>(1).unwrap()) == expected.1);
        assert!(bits(&out.get::<f16>(2).unwrap()) == expected.2);
    }
}
