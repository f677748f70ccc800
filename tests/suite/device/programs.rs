//! Recorded programs on a GPU that fails, is full, or shares buffers with the application.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use libtest_mimic::Trial;
use vsla::device::wgpu;
use vsla::program::{Passes, Plan, Program};
use vsla::{Device, Error, Ragged, Result, Tensor};

use super::embedding::{Application, FIT};
use super::pressure::{MIB, limited};
use super::shared::{Recorded, blamed};
use super::{lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("programs::destroyed_input", destroyed_input),
        ("programs::destroyed_under_threads", destroyed_under_threads),
        ("programs::exported_outputs", exported_outputs),
        ("programs::imports_are_let_go", imports_are_let_go),
        ("programs::lost", lost),
        ("programs::dropped_at_once", dropped_at_once),
        ("programs::without_room_to_grow", without_room_to_grow),
        ("programs::idle_plans", idle_plans),
        ("programs::profile", profile),
        ("programs::trimmed", trimmed),
        ("programs::split_dispatches", split_dispatches),
        ("programs::too_large", too_large),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect()
}

/// -2 (2 x + y), and 3 x.
fn body(x: &Tensor<f32>, y: &Tensor<f32>) -> Result<[Tensor<f32>; 2]> {
    Ok([x.scale(2.0)?.add(y)?.scale(2.0)?.neg()?, x.scale(3.0)?])
}

/// Steps are not fused, so that values lie in the arena on every device.
fn program(device: &Device) -> Program {
    let passes = Passes {
        fuse: false,
        ..Passes::default()
    };
    Program::with_passes(device, passes, |r| {
        let (x, y) = (r.input()?, r.input()?);
        for output in body(&x, &y)? {
            r.output(&output)?;
        }
        Ok(())
    })
}

fn run(plan: &Plan, x: &Tensor<f32>, y: &Tensor<f32>) -> Result<[Tensor<f32>; 2]> {
    let out = plan.run(&[x, y])?;
    Ok([out.get(0)?, out.get(1)?])
}

#[track_caller]
fn assert_right(plan: &Plan, x: &Tensor<f32>, y: &Tensor<f32>) {
    let got = run(plan, x, y).unwrap();
    for (got, expected) in got.iter().zip(body(x, y).unwrap()) {
        assert_exact("a run", &download(got), &download(&expected));
    }
}

/// A destroyed input fails the runs that need it, and nothing else.
fn destroyed_input() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([3, 2]);
    let program = program(&device);
    let plan = program.plan(&[&layout, &layout]).unwrap();
    let y = upload(&device, &numbers(&layout, 0));
    let good = upload(&device, &numbers(&layout, 3));
    for cached in [true, false] {
        let buffer = application.buffer(&[1.0; 20], FIT);
        let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
        if cached {
            assert_right(&plan, &x, &y);
        }
        let before = Recorded::on(&device);
        let early = run(&plan, &x, &good).unwrap();
        let expected = body(&device.full(&layout, 1.0).unwrap(), &good).unwrap();
        buffer.destroy();
        for _ in 0..5 {
            blamed(
                plan.run(&[&x, &y]),
                "run",
                "imported buffer of 80 bytes",
                "destroyed",
            );
            blamed(
                plan.run(&[&y, &x]),
                "run",
                "imported buffer of 80 bytes",
                "destroyed",
            );
            assert_right(&plan, &good, &y);
        }
        for (early, expected) in early.iter().zip(&expected) {
            assert_exact("early", &download(early), &download(expected));
        }
        let after = Recorded::on(&device);
        assert!(plan.run(&[&x, &y]).is_err());
        before.assert_right();
        after.assert_right();
    }
    // As a constant.
    let buffer = application.buffer(&[1.0; 20], FIT);
    let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
    let program = Program::new(&device, move |r| {
        let y: Tensor<f32> = r.input()?;
        r.output(&y.add(&x)?)
    });
    let plan = program.plan(&[&layout]).unwrap();
    plan.run(&[&y]).unwrap();
    buffer.destroy();
    blamed(
        plan.run(&[&y]),
        "run",
        "imported buffer of 80 bytes",
        "destroyed",
    );
    Recorded::on(&device).assert_right();
    application.assert_quiet();
}

/// Other threads' work is not part of the submissions that fail.
fn destroyed_under_threads() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let batch = numbers(&lengths([400, 2]), 0);
    // Long enough for other threads to come in between.
    let long = Program::new(&device, |r| {
        let x: Tensor<f32> = r.input()?;
        let y = (0..200).try_fold(x, |x, _| x.neg())?;
        r.output(&y)
    });
    let plan = long.plan(&[batch.layout()]).unwrap();
    for _ in 0..3 {
        let buffer = application.buffer(&[1.0; 500], FIT);
        let x = device.import::<f32>(&buffer, 0, batch.layout()).unwrap();
        let gone = AtomicBool::new(false);
        thread::scope(|scope| {
            let (device, x, batch, gone, plan) = (&device, &x, &batch, &gone, &plan);
            scope.spawn(move || {
                let (mut rounds, mut failed) = (0, 0);
                while failed < 30 {
                    rounds += 1;
                    match plan.run(&[x]).and_then(|out| out.get::<f32>(0)) {
                        Ok(y) => match y.download_blocking() {
                            Ok(y) => assert!(y.values().iter().all(|v| *v == 1.0)),
                            Err(error) => panic!("round {rounds}: {error}"),
                        },
                        Err(error) => {
                            assert_eq!(error.kind(), "buffer", "{error}");
                            failed += 1;
                        }
                    }
                }
                gone.store(true, Ordering::Relaxed);
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    while !gone.load(Ordering::Relaxed) {
                        let y = upload(device, batch);
                        kept.push(y.add(&y).unwrap());
                        if kept.len() == 20 {
                            for sum in kept.drain(..) {
                                let expected = batch.cast(|v| 2.0 * v).unwrap();
                                assert_exact("2 y", &download(&sum), &expected);
                            }
                        }
                    }
                });
            }
            thread::sleep(std::time::Duration::from_millis(50));
            buffer.destroy();
        });
        Recorded::on(&device).assert_right();
    }
    application.assert_quiet();
}

/// The application keeps outputs and writes to them.
fn exported_outputs() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let layout = lengths([300, 7]);
    let (x, y) = (
        upload(&device, &numbers(&layout, 1)),
        upload(&device, &numbers(&layout, 2)),
    );
    let program = program(&device);
    let plan = program.plan(&[&layout, &layout]).unwrap();
    let mut kept = Vec::new();
    for turn in 0..10 {
        let [a, b] = run(&plan, &x, &y).unwrap();
        if turn % 2 == 0 {
            kept.push(a.export().unwrap().0.clone());
        }
        for buffer in &kept {
            application
                .queue
                .write_buffer(buffer, 0, &vec![0xFF; buffer.size() as usize]);
        }
        application.queue.submit([]);
        drop((a, b));
        assert_right(&plan, &x, &y);
    }
    // An output that the application destroys while it is an input.
    let [a, _] = run(&plan, &x, &y).unwrap();
    a.export().unwrap().0.destroy();
    assert_eq!(plan.run(&[&a, &y]).unwrap_err().kind(), "buffer");
    drop(a);
    for _ in 0..5 {
        assert_right(&plan, &x, &y);
    }
    application.assert_quiet();
}

/// A plan does not keep an application's buffer beyond the next run.
fn imports_are_let_go() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    if application.device.generate_allocator_report().is_none() {
        return;
    }
    let (layout, small) = (lengths([4 << 20]), lengths([1]));
    let program = Program::new(&device, |r| {
        let (x, one): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        r.output(&x.sum()?.add(&one)?)
    });
    let plan = program.plan(&[&layout, &small]).unwrap();
    let one = device.full(&small, 1.0f32).unwrap();
    let own = device.full(&layout, 1.0f32).unwrap();
    let held = || {
        application
            .device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        application
            .device
            .generate_allocator_report()
            .unwrap()
            .total_allocated_bytes
    };
    let sum = |x: &Tensor<f32>| download(&plan.run(&[x, &one]).unwrap().get::<f32>(0).unwrap());
    sum(&own);
    let settled = held();
    for _ in 0..3 {
        let buffer = application.buffer(&vec![1.0; 4 << 20], FIT);
        let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
        assert_eq!(sum(&x).values(), [(4 << 20) as f32 + 1.0]);
    }
    sum(&own);
    assert!(held() < settled + 16 * MIB, "{} and {settled}", held());
}

#[track_caller]
fn assert_lost<R>(outcome: Result<R>, op: &str) {
    let Err(error) = outcome else {
        panic!("{op} went on")
    };
    assert_eq!((error.kind(), error.op()), ("device_lost", op), "{error}");
}

fn lost() {
    let device = own_gpu(|_| ());
    let layout = lengths([3, 2]);
    let x = upload(&device, &numbers(&layout, 1));
    let program = program(&device);
    let plan = program.plan(&[&layout, &layout]).unwrap();
    let early = run(&plan, &x, &x).unwrap();
    device.wgpu().unwrap().0.destroy();
    // Recording may or may not notice; reading must.
    if let Ok([later, _]) = run(&plan, &x, &x) {
        assert_lost(later.download_blocking(), "download");
    }
    assert_lost(early[0].download_blocking(), "download");
    assert_lost(plan.run(&[&x, &x]), "run");
    assert_lost(
        plan.call_blocking(&[&numbers(&layout, 1), &numbers(&layout, 1)]),
        "upload",
    );
    let error = program.plan(&[&layout, &layout]).unwrap_err();
    assert_eq!(error.kind(), "device_lost");
    drop((early, plan, program, x));
    device.trim();
    assert_eq!(device.memory().live, 0);
}

/// Plans that are dropped before their work is submitted, or before they ever ran.
fn dropped_at_once() {
    let device = own_gpu(|options| options.poison = true);
    let mut results = Vec::new();
    for i in 0..40usize {
        let layout = lengths([30 + i, 2]);
        let x = upload(&device, &numbers(&layout, i));
        let program = program(&device);
        let never = program.plan(&[&layout, &layout]).unwrap();
        let plan = program.plan(&[&layout, &layout]).unwrap();
        if i % 3 == 0 {
            drop(never);
        }
        let early = run(&plan, &x, &x).unwrap();
        drop((program, plan));
        results.push((early, body(&x, &x).unwrap()));
        if i % 5 == 0 {
            device.trim();
        }
    }
    for (early, expected) in results {
        for (early, expected) in early.iter().zip(&expected) {
            assert_exact("early", &download(early), &download(expected));
        }
    }
}

/// A frame that cannot grow leaves plans, and planning, as they were.
fn without_room_to_grow() {
    let device = limited(32 * MIB);
    let program = program(&device);
    let (small, middle, large) = (lengths([1000]), lengths([1 << 19]), lengths([4 << 20]));
    let x = device.full(&small, 2.0f32).unwrap();
    let plan = program.plan(&[&small, &small]).unwrap();
    assert_right(&plan, &x, &x);
    for _ in 0..2 {
        let error = program.plan(&[&large, &large]).unwrap_err();
        assert_eq!(
            (error.kind(), error.op()),
            ("out_of_memory", "plan"),
            "{error}"
        );
        assert_right(&plan, &x, &x);
        assert_right(&program.plan(&[&small, &small]).unwrap(), &x, &x);
    }
    let y = device.full(&middle, 2.0f32).unwrap();
    let plan = program.plan(&[&middle, &middle]).unwrap();
    assert_right(&plan, &y, &y);
    // A plan that fits only without spare room is made without it.
    drop((plan, y));
    device.trim();
    let available = |device: &Device| match device.full(&lengths([1 << 24]), 0.0f32) {
        Err(Error::OutOfMemory { available, .. }) => available.unwrap(),
        _ => panic!("no limit"),
    };
    let program = Program::new(&device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.scale(2.0)?.sum()?)
    });
    program.plan(&[&small]).unwrap();
    let fits = lengths([(available(&device) / 4) as usize / 16 * 15]);
    program.plan(&[&fits]).unwrap();
}

/// A plan that does not run keeps no memory of a frame that has grown.
fn idle_plans() {
    let device = own_gpu(|_| ());
    let program = program(&device);
    let mut plans = Vec::new();
    for i in 1..8usize {
        let layout = lengths([i << 18]);
        let x = device.full(&layout, 1.0f32).unwrap();
        let plan = program.plan(&[&layout, &layout]).unwrap();
        run(&plan, &x, &x).unwrap();
        plans.push((plan, layout));
    }
    device.flush().unwrap();
    let outputs: u64 = (1..8).map(|i| 2 * (i << 20)).sum();
    let live = device.memory().live;
    let arena = plans.last().unwrap().0.report().memory.arena;
    assert!(
        live <= outputs * 17 / 16 + arena * 5 / 4 + MIB,
        "{live} live: {outputs} and {arena}"
    );
    for (plan, layout) in &plans {
        let x = device.full(layout, 1.0f32).unwrap();
        assert_right(plan, &x, &x);
    }
}

/// A profile names the operations of a run.
fn profile() {
    let device = own_gpu(|_| ());
    let features = device.wgpu().unwrap().0.features();
    let layout = lengths([300, 2]);
    let x = upload(&device, &numbers(&layout, 1));
    let plan = program(&device).plan(&[&layout, &layout]).unwrap();
    let before = run(&plan, &x, &x).unwrap();
    let (out, profile) = device
        .profile_blocking(|| run(&plan, &x, &x).unwrap())
        .unwrap();
    if features.contains(wgpu::Features::TIMESTAMP_QUERY) {
        let names: Vec<&str> = profile.kernels.iter().map(|kernel| kernel.op).collect();
        assert_eq!(
            names,
            ["scale", "add", "scale", "neg", "scale"],
            "{profile:?}"
        );
    }
    for (a, b) in before.iter().zip(&out) {
        assert_exact("profiled", &download(a), &download(b));
    }
    assert_right(&plan, &x, &x);
}

/// Memory that is given back between runs.
fn trimmed() {
    let device = own_gpu(|options| options.poison = true);
    let program = program(&device);
    for i in 0..10 {
        let layout = lengths([3000 + i, 2]);
        let x = upload(&device, &numbers(&layout, 1));
        let plan = program.plan(&[&layout, &layout]).unwrap();
        for _ in 0..3 {
            device.trim();
            let kept = run(&plan, &x, &x).unwrap();
            device.trim();
            assert_right(&plan, &x, &x);
            drop(kept);
        }
    }
    drop(program);
    device.trim();
    device
        .wgpu()
        .unwrap()
        .0
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
    assert_eq!(device.memory().live, 0);
}

/// Long dispatches are submitted in parts, also with buffers of the application.
fn split_dispatches() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    // The software budget is 10⁹ multiply-adds; others need more.
    let n = 36_000;
    let layout = lengths([n, 3]);
    let program = Program::new(&device, |r| {
        let x: Tensor<f32> = r.input()?;
        let wide = x.pair(&x, vsla::Pairing::Elementwise)?;
        let wide = wide
            .convolution()
            .method(vsla::conv::ConvMethod::Direct)
            .conv()?;
        r.output(&wide.scale(2.0)?)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let values = vec![1.0; (n + 3).next_multiple_of(4)];
    let buffer = application.buffer(&values, FIT);
    let x = device.import::<f32>(&buffer, 0, &layout).unwrap();
    let others = Recorded::on(&device);
    let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
    let y = download(&y);
    assert!((0..n).all(|i| y.row(0)[i] == 2.0 * (i + 1) as f32));
    assert_eq!(y.row(1), [2.0, 4.0, 6.0, 4.0, 2.0]);
    buffer.destroy();
    blamed(plan.run(&[&x]), "run", "imported buffer", "destroyed");
    others.assert_right();
    let x = upload(&device, &Ragged::full(&layout, 1.0f32).unwrap());
    for _ in 0..2 {
        let out: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        drop(out);
    }
    let out: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
    assert_exact("parts", &download(&out), &y);
    application.assert_quiet();
}

/// What no buffer can hold is the error of the call, in a recording, too.
fn too_large() {
    let application = Application::new(wgpu::Limits::default());
    let device = application.vsla();
    let most = device.info().limits.unwrap().binding_bytes as usize;
    let x = device.full(&lengths([3, most / 16]), 1.0f32).unwrap();
    type Call = fn(&Tensor<f32>) -> Result<Tensor<f32>>;
    let calls: [Call; 2] = [
        |x| x.pad(&[0], &[1 << 27]),
        |x| x.concat_all(&[x, x, x, x, x], 0),
    ];
    for call in calls {
        let expected = call(&x).unwrap_err();
        assert_eq!(expected.kind(), "too_large", "{expected}");
        let program = Program::new(&device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let error = call(&x).unwrap_err();
            // It can be handled as usual.
            assert_eq!(error.kind(), "too_large");
            r.output(&call(&x)?)
        });
        assert_eq!(program.plan(&[x.layout()]).unwrap_err(), expected);
    }
    application.assert_quiet();
}
