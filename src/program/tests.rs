//! Submissions that fail for an internal reason, which no caller can cause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use super::*;
use crate::device::GpuOptions;
use crate::gpu::Gpu;
use crate::ragged::Ragged;
use crate::tensor::Backend;
use crate::tensor::Tensor;

/// Opens a GPU, or returns `None` if there is none and tests may be skipped.
fn device() -> Option<Device> {
    match Device::gpu_blocking(GpuOptions::default()) {
        Ok(device) => Some(device),
        Err(error) => {
            let required = std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "{error}");
            None
        }
    }
}

fn gpu(device: &Device) -> &Gpu {
    match device.backend() {
        Backend::Gpu(gpu) => gpu,
        Backend::Cpu(_) => unreachable!("a GPU was opened"),
    }
}

/// 2 x + x, backwards, and a result that is never written because it has no values.
fn program(device: &Device) -> Program {
    Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.scale(2.0)?.add(&x)?.flip(&[0])?)?;
        r.output(&x.elements(0..0)?.neg()?)
    })
}

fn values(tensor: Result<Tensor<f32>>) -> Result<Vec<f32>> {
    Ok(tensor?.download_blocking()?.values().to_vec())
}

/// Results of a run that was not submitted are lost; later runs of the plan are right.
#[apply(unit_test)]
fn later_runs_are_right() {
    let Some(device) = device() else { return };
    let program = program(&device);
    for round in 0..3 {
        // New layouts, without copies on the device.
        let layout = Layout::from_lengths([3, 1 + round]).unwrap();
        let x = device.full(&layout, 1.0f32).unwrap();
        let plan = program.plan(&[&layout]).unwrap();
        if round > 0 {
            // In some rounds all copies are on the device; in others, metadata and parameters are still being copied.
            device.flush().unwrap();
        }
        let lost = plan.run(&[&x]).unwrap();
        gpu(&device).spoil();
        assert_eq!(device.flush().unwrap_err().kind(), "gpu");
        let error = values(lost.get(0)).unwrap_err();
        assert_eq!(error.kind(), "not_computed", "{error}");
        drop(lost);
        // Other work in the same submission is lost, too.
        let x = device.full(&layout, 1.0f32).unwrap();
        for _ in 0..4 {
            let out = plan.run(&[&x]).unwrap();
            assert_eq!(values(out.get(0)).unwrap(), vec![3.0; 4 + round]);
            assert_eq!(values(out.get(1)).unwrap(), [0.0; 0]);
        }
        // The same with inputs that begin elsewhere.
        let both = x.join(&[&x]).unwrap();
        let second = both.elements(2..4).unwrap();
        plan.run(&[&second]).unwrap();
        gpu(&device).spoil();
        device.flush().unwrap_err();
        let both = x.join(&[&x]).unwrap();
        let second = both.elements(2..4).unwrap();
        let out = plan.run(&[&second]).unwrap();
        assert_eq!(values(out.get(0)).unwrap(), vec![3.0; 4 + round]);
        let out = plan.run(&[&x]).unwrap();
        assert_eq!(values(out.get(0)).unwrap(), vec![3.0; 4 + round]);
    }
}

/// A call from host to host is one submission, with its uploads, its copies of metadata and its reads.
#[apply(unit_test)]
fn a_call_is_one_submission() {
    let Some(device) = device() else { return };
    let submissions = || gpu(&device).submissions();
    let program = Program::new(&device, |r| {
        let (x, y): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        let sum = x.add(&y)?.softmax(0)?;
        r.output(&sum)?;
        r.output(&sum.cumsum(0)?)?;
        r.output(&sum.mean()?)
    });
    for round in 0..3 {
        let [x, y] = [3 + round, 200].map(|n| Layout::from_lengths([n, 1]).unwrap());
        let plan = program.plan(&[&x, &y]).unwrap();
        let [x, y] = [x, y].map(|layout| Ragged::full(&layout, 1.0f32).unwrap());
        device.flush().unwrap();
        for _ in 0..3 {
            let before = submissions();
            let out = plan.call_blocking(&[&x, &y]).unwrap();
            assert_eq!(submissions(), before + 1);
            assert_eq!(out.get::<f32>(2).unwrap().values()[1], 1.0);
        }
    }
}

/// An input that was not computed fails the run, and nothing else.
#[apply(unit_test)]
fn a_lost_input_fails_the_run() {
    let Some(device) = device() else { return };
    let layout = Layout::from_lengths([3, 1]).unwrap();
    let good = device
        .upload(&Ragged::full(&layout, 1.0f32).unwrap())
        .unwrap();
    device.flush().unwrap();
    let plan = program(&device).plan(&[&layout]).unwrap();
    let bad = good.neg().unwrap();
    gpu(&device).spoil();
    device.flush().unwrap_err();
    let error = plan.run(&[&bad]).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("not_computed", "run"));
    let out = plan.run(&[&good]).unwrap();
    assert_eq!(values(out.get(0)).unwrap(), [3.0; 4]);
}

/// The first part of a run is lost, and the rest of it is not.
#[apply(unit_test)]
fn a_part_is_lost() {
    let Some(device) = device() else { return };
    let layout = Layout::from_lengths([3000, 1]).unwrap();
    let x = device.full(&layout, 1.0f32).unwrap();
    let program = Program::new(&device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&(0..200).try_fold(x, |x, _| x.neg())?)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let right = || values(plan.run(&[&x])?.get(0));
    assert_eq!(right().unwrap(), [1.0; 3001]);
    let stop = AtomicBool::new(false);
    let mut failed = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                gpu(&device).spoil();
                let _ = device.flush();
                thread::yield_now();
            }
        });
        let from = Instant::now();
        while failed < 5 && from.elapsed().as_secs() < 20 {
            match right() {
                Ok(values) => assert_eq!(values, [1.0; 3001]),
                Err(error) => {
                    assert!(["not_computed", "gpu"].contains(&error.kind()), "{error}");
                    failed += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(failed > 0);
    assert_eq!(right().unwrap(), [1.0; 3001]);
}

/// A scalar is uploaded once, and again only if a submission that should have written it failed.
#[apply(unit_test)]
fn scalars_are_uploaded_once() {
    let Some(device) = device() else { return };
    let layout = Layout::from_lengths([3]).unwrap();
    let x = device.full(&layout, 1.0f32).unwrap();
    device.flush().unwrap();
    let uploads = || device.traffic().uploads;
    assert_eq!(values(x.add(2.0)), Ok(vec![3.0; 3]));
    let before = uploads();
    assert_eq!(values(x.add(2.0)), Ok(vec![3.0; 3]));
    assert_eq!(uploads(), before);
    let program = Program::new(&device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.maximum(2.0)?)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let planned = uploads();
    assert_eq!(values(plan.run(&[&x]).unwrap().get(0)), Ok(vec![2.0; 3]));
    assert_eq!(uploads(), planned);
    let lost = x.add(5.0).unwrap();
    gpu(&device).spoil();
    assert_eq!(device.flush().unwrap_err().kind(), "gpu");
    assert_eq!(values(Ok(lost)).unwrap_err().kind(), "not_computed");
    assert_eq!(values(x.add(5.0)), Ok(vec![6.0; 3]));
}
