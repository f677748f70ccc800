//! Operations that fail because memory or the device is missing leave nothing behind.

use catalogue::Failure;
use libtest_mimic::Trial;
use serde_json::Value;
use vsla::program::Program;
use vsla::{Device, Tensor};

use super::pressure::{MIB, fill, limited};
use super::{EVERY_OP, drawn, numbers, own_gpu};
use crate::rows::{accepted, ask, large};
use crate::support::bench::{Bench, cpu, gpu, is_hurried};
use crate::support::operation::upload;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("failures::at_each_allocation", at_each_allocation),
        ("failures::of_a_lost_device", of_a_lost_device),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect()
}

type Op = fn(&Device) -> Result<(), Failure>;

/// What no row does.
const OTHERS: &[(&str, Op)] = &[
    ("a program", |device| {
        let [x, y] = operands(device)?;
        let program = Program::new(device, |r| {
            let (x, y): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
            r.output(&x.add(&y)?.sbd(&y)?.distance)?;
            r.output(&x.scale(2.0)?.neg()?)
        });
        let plan = program.plan(&[x.layout(), y.layout()])?;
        plan.run(&[&x, &y])?;
        let out = plan.run(&[&x, &y])?;
        out.get::<f32>(0)?.download_blocking()?;
        out.get::<f32>(1)?.download_blocking()?;
        Ok(())
    }),
    ("profile", |device| {
        let [x, _] = operands(device)?;
        let (scaled, _) = device.profile_blocking(|| x.scale(2.0))?;
        scaled?;
        Ok(())
    }),
];

/// Batches of new layouts, of which nothing is cached.
fn operands(device: &Device) -> vsla::Result<[Tensor<f32>; 2]> {
    let left = device.upload(&numbers(&drawn("short left", 40, 60), 0))?;
    let right = device.upload(&numbers(&drawn("short right", 40, 60), 1))?;
    Ok([left, right])
}

/// The bytes that a failed allocation needed, and those that were left.
fn out_of_memory(failure: &Failure) -> [u64; 2] {
    assert_eq!(failure.kind, "out_of_memory", "{}", failure.message);
    let (_, said) = failure.message.split_once("needed ").unwrap();
    let (needed, rest) = said.split_once(" bytes, ").unwrap();
    let (left, _) = rest.split_once(" available").unwrap();
    [needed, left].map(|number| number.parse().unwrap())
}

/// Operations of every family, with a memory limit that makes each allocation fail in turn.
fn at_each_allocation() {
    let device = limited(8 * MIB);
    let others = OTHERS
        .iter()
        .map(|&(name, op)| (name, Box::new(op) as Box<_>));
    // Compiling all kernels once more takes a software GPU long.
    let step = if is_hurried(&device) { 4 } else { 1 };
    let rows = catalogue::operations().filter(|row| row.is_function);
    let rows = rows.step_by(step).map(|row| {
        let accepted = |request: &Value| accepted(cpu(), request).is_some();
        let long = large(row).into_iter().find(accepted);
        let request = long.unwrap_or_else(|| row.answered().remove(0));
        let run = move |device: &Device| ask(device, &request).map(drop);
        (
            row.name,
            Box::new(run) as Box<dyn Fn(&Device) -> Result<(), Failure>>,
        )
    });
    let mut all = 0;
    for (name, op) in rows.chain(others) {
        let (mut room, mut failures) = (0, 0);
        loop {
            let ballast = fill(&device, room);
            device.trim();
            let before = device.memory();
            let outcome = op(&device);
            device.trim();
            // Work that was recorded before the failure still runs.
            let done = vsla::device::wgpu::PollType::wait_indefinitely();
            device.wgpu().unwrap().0.poll(done).unwrap();
            let after = device.memory();
            assert_eq!(
                (after.live, after.cached, after.leaving),
                (before.live, 0, 0),
                "{name} with {room}: {outcome:?}, {before:?}"
            );
            drop(ballast);
            assert_eq!(device.memory().live, 0, "{name} with {room}");
            match outcome {
                Ok(()) => break,
                Err(failure) => {
                    let [bytes, available] = out_of_memory(&failure);
                    assert!(bytes > available, "{name}: {bytes} of {available}");
                    // Raises the limit so that exactly one more allocation succeeds.
                    room += (bytes - available).next_multiple_of(256);
                    failures += 1;
                }
            }
        }
        assert!(failures < 100, "{name}: {failures} failures");
        all += failures;
    }
    // Allocations of results, metadata, work lists, scratch buffers and tables.
    assert!(all > 60, "{all} failures");
}

fn of_a_lost_device() {
    let device = own_gpu(|_| ());
    let (x, y) = (
        upload(&device, &numbers(&drawn("lost left", 40, 60), 0)),
        upload(&device, &numbers(&drawn("lost right", 40, 60), 1)),
    );
    let live = device.memory().live;
    let sum = x.add(&y).unwrap();
    device.wgpu().unwrap().0.destroy();
    for (_, op) in EVERY_OP {
        assert_eq!(op(&x, &y).unwrap_err().kind(), "device_lost");
    }
    drop(sum);
    device.trim();
    let memory = device.memory();
    assert_eq!(
        (memory.live, memory.cached, memory.leaving),
        (live, 0, 0),
        "{memory:?}"
    );
    drop((x, y));
    assert_eq!(device.memory().live, 0);
}
