//! Host memory runs out: a failed allocation is an error, and everything else continues.
//!
//! Memory budgets and failing allocators affect a whole process, so each trial here is a separate process: this binary,
//! with the task in [`TASK`].
//!
//! | trials | requirement |
//! | --- | --- |
//! | `refuses` | requests for gigabytes are refused immediately, in the operation's name, without allocating anything |
//! | `injected` | after any failed allocation of this library: an error, no leak, and correct results later |
//! | `large` | the same from 16 KiB on, outside the matrix product and FFT crates, wgpu and constant tables |
//! | `budget` | tensors of CPU devices take their size from the budget, and all threads together never exceed it |
//! | `workspaces` | workspaces of CPU convolutions and FFT plans are counted, and `trim` frees them |
//!
//! `injected` and `large` make the first, second, third … allocation fail in turn. After the first 16, they test every
//! third one, or on a GPU every eleventh, and all of them with `VSLA_LONG=1`. On a GPU, `large` runs only then.

pub mod programs;
mod refusals;

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hasher};
use std::panic::{self, AssertUnwindSafe};
use std::process::Command;

use catalogue::{Failure, Prepared, Request, Size};
use libtest_mimic::Trial;
use vsla::{
    Device, Error, Layout, Pairing, Result, conv::ConvMethod, testing::fail_host_allocation,
};

use crate::support::allocation;
use crate::support::bench::{self, Bench};
use crate::support::corpus::rng;
use programs::PROGRAMS;

/// The environment variable that names a task, for this binary to run it instead of trials.
pub const TASK: &str = "VSLA_SUITE_TASK";

/// How many processes share the rows of the catalogue.
const PARTS: usize = 4;
/// Smaller allocations do not fail.
const LARGE: usize = 16 << 10;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![
        bench.host("refuses", || in_a_process("refuses")),
        bench.host("budget", || in_a_process("budget")),
        bench.host("workspaces", || in_a_process("workspaces")),
    ];
    trials.push(bench.on_gpu("poison_takes_no_memory", bench::gpu, poison_takes_no_memory));
    let rows = (0..PARTS).map(|part| format!("rows_{part}"));
    let programs = PROGRAMS.iter().map(|program| program.name.to_owned());
    for name in rows.chain(programs) {
        let task = |kind: &str, device: &str| format!("{kind} {device} {name}");
        let (small, large) = (task("injected", "cpu"), task("large", "cpu"));
        let on_gpu = task("injected", "gpu");
        let large_on_gpu = task("large", "gpu");
        trials.extend([
            bench.host(&format!("cpu::injected::{name}"), move || {
                in_a_process(&small);
            }),
            bench.host(&format!("cpu::large::{name}"), move || {
                in_a_process(&large);
            }),
            bench.on_gpu(&format!("injected::{name}"), bench::gpu, move |_| {
                in_a_process(&on_gpu)
            }),
            bench.where_it_has(
                &format!("large::{name}"),
                |device| bench::is_software(device) && bench::is_long(),
                "a driver whose own allocations fail, too, or VSLA_LONG is not set",
                move |_| in_a_process(&large_on_gpu),
            ),
        ]);
    }
    trials
}

/// Runs a task in a separate process, whose abort is a failure of this trial.
pub fn in_a_process(task: &str) {
    let this = std::env::current_exe().unwrap();
    let outcome = Command::new(this).env(TASK, task).output().unwrap();
    let [said, complained] =
        [outcome.stdout, outcome.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        outcome.status.success(),
        "{task}: {}\n{said}{complained}",
        outcome.status
    );
}

/// Runs the task that the environment variable names.
pub fn run(task: &str) {
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        ["refuses"] => refusals::all(),
        ["budget"] => budget(),
        ["workspaces"] => workspaces(),
        #[cfg(feature = "gpu")]
        [crate::device::TWO_ADAPTERS] => crate::device::two_adapters(),
        #[cfg(feature = "gpu")]
        [crate::device::SECOND_ADAPTER] => crate::device::second_adapter(),
        #[cfg(feature = "gpu")]
        [crate::device::ENDS] => crate::device::ends_while_a_kernel_is_compiled(),
        #[cfg(feature = "gpu")]
        [crate::fleet::TWO] => crate::fleet::two(),
        #[cfg(feature = "gpu")]
        [crate::compilers::COMPILE] => crate::compilers::compile(),
        #[cfg(feature = "gpu")]
        [crate::compilers::dxc::COMPILE] => crate::compilers::dxc::compile(),
        [kind, device, name] => {
            let device = match device {
                "cpu" => &Device::cpu(),
                _ => bench::gpu().unwrap(),
            };
            let program = PROGRAMS.iter().find(|program| program.name == name);
            match (program, kind) {
                (None, _) => rows(
                    device,
                    kind,
                    name.trim_start_matches("rows_").parse().unwrap(),
                ),
                (Some(program), "injected") => one_by_one(
                    device,
                    |device| (program.run)(device, 40),
                    fail_host_allocation,
                ),
                (Some(program), _) => one_by_one(
                    device,
                    |device| (program.run)(device, 5_000),
                    |n| allocation::refuse(n, LARGE),
                ),
            }
        }
        _ => panic!("no such task: {task}"),
    }
}

/// The operations of the catalogue, a part of them in each process.
fn rows(device: &Device, kind: &str, part: usize) {
    // A software GPU is slow.
    let step = if bench::is_hurried(device) { 4 } else { 1 };
    let rows = catalogue::operations().filter(|row| row.is_function && row.args > 0);
    for (_, row) in rows
        .enumerate()
        .filter(|(i, _)| i % PARTS == part)
        .step_by(step)
    {
        let count = if kind == "injected" { 40 } else { 3_000 };
        for request in row
            .draws(Size::Many(count), &mut rng(row.name))
            .into_iter()
            .take(2)
        {
            // Options are read by infallible code.
            let options = request["options"].to_string().len();
            let task = Prepared::new(Request::new(request).unwrap()).unwrap();
            let run = |device: &Device| {
                let answer = task.run_blocking(device, 1 << 24)?;
                let mut hash = DefaultHasher::new();
                for batch in answer.batches() {
                    (0..batch.layout().len()).for_each(|i| hash.write(batch.bytes(i)));
                }
                Ok::<u64, Failure>(hash.finish())
            };
            println!("{}", row.name);
            match kind {
                "injected" => one_by_one(device, run, fail_host_allocation),
                _ if options > 1000 || row.reads_values => {}
                _ => one_by_one(device, run, |n| allocation::refuse(n, LARGE)),
            }
        }
    }
}

/// Makes the first allocation fail, then the second, and so on, until the program makes no more allocations.
fn one_by_one<E: Into<Failure> + PartialEq + Debug>(
    device: &Device,
    program: impl Fn(&Device) -> Result<u64, E>,
    fail: impl Fn(u64) -> u64,
) {
    let expected = program(device).unwrap();
    // Runs the program once, so that everything that is created on first use exists.
    assert_eq!(program(device), Ok(expected), "repeated program");
    device.trim();
    let live = device.memory().live;
    // Software devices are slow, and neighbouring allocations are alike, so only some fail.
    let step = match (bench::is_long(), device.is_gpu()) {
        (true, _) => 1,
        (false, false) => 3,
        (false, true) => 11,
    };
    for n in (1..=16).chain((17..).step_by(step)) {
        println!("failing {n}");
        fail(n);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| program(device)));
        let left = fail(0);
        let outcome = outcome.unwrap_or_else(|_| panic!("allocation {n}: a panic"));
        match outcome {
            // Memory that was cached for reuse was used instead.
            Ok(result) => assert_eq!(result, expected, "allocation {n}"),
            Err(error) => {
                let failure: Failure = error.into();
                // Options that are batches are read by the catalogue.
                let is_memory = failure.message.contains("out of memory");
                assert!(is_memory && left == 0, "{n}: {}", failure.message);
            }
        }
        // A GPU keeps copies of plans until the memory is needed, and recorded work holds its buffers until it has run.
        device.trim();
        if device.is_gpu() && device.memory().live != live {
            assert_eq!(program(device), Ok(expected), "after allocation {n}");
            device.trim();
        }
        assert_eq!(device.memory().live, live, "after allocation {n}");
        if left > 0 {
            println!("{} allocations", n - left);
            return;
        }
        if n <= 4 || n % 16 == 0 || bench::is_long() {
            assert_eq!(program(device), Ok(expected), "after allocation {n}");
        }
    }
}

/// Sixteen threads request more memory on two devices than the limit allows.
fn budget() {
    const LIMIT: u64 = 64 << 20;
    assert!(vsla::device::host_memory_limit() > LIMIT);
    vsla::device::set_host_memory_limit(LIMIT);
    let devices = [Device::cpu(), Device::cpu()];
    let mebibyte = Layout::from_lengths([1 << 18]).unwrap();
    let held = || {
        devices
            .iter()
            .map(|device| device.memory().live)
            .sum::<u64>()
    };
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (devices, mebibyte) = (&devices, &mebibyte);
            scope.spawn(move || {
                let mut kept = Vec::new();
                for turn in 0..50 {
                    let device = &devices[(thread + turn) % 2];
                    match device.full(mebibyte, turn as f32) {
                        Ok(tensor) => kept.push(tensor),
                        Err(Error::OutOfMemory {
                            bytes, available, ..
                        }) => {
                            assert_eq!(bytes, 1 << 20);
                            assert!(available.is_some_and(|left| left < 1 << 20));
                            kept.clear();
                        }
                        Err(other) => panic!("{other}"),
                    }
                    assert!(held() <= LIMIT, "{} held", held());
                }
            });
        }
    });
    assert_eq!(held(), 0);
    // Cached buffers are released under pressure, both those of this device and those of the other.
    devices.iter().for_each(Device::trim);
    let most = Layout::from_lengths([LIMIT as usize / 4]).unwrap();
    let all = devices[0].full(&most, 0.0f32).unwrap();
    let error = devices[1].full(&mebibyte, 0.0f32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "full: out of memory: needed 1048576 bytes, 0 available; drop tensors or split the batch"
    );
    drop(all);
    assert!(
        devices[1].full(&mebibyte, 0.0f32).is_err(),
        "the other device keeps the memory"
    );
    devices[0].trim();
    devices[1].full(&mebibyte, 0.0f32).unwrap();
}

/// The memory that `trim` frees after transforms of one length, and after a convolution by these transforms. The latter
/// is larger by the convolution's workspace.
fn workspaces() {
    const N: usize = 1 << 20;
    // Created in each iteration, because plans live as long as a layout.
    let layout = |lengths: &[usize]| Layout::from_lengths(lengths.iter().copied()).unwrap();
    let freed_after = |work: &dyn Fn(&Device)| {
        work(&Device::cpu());
        // A device without tensors.
        let other = Device::cpu();
        let counted = other.memory().shared;
        let freed = allocation::freed_in(|| other.trim());
        assert_eq!(other.memory().shared, 0);
        (freed, counted)
    };
    freed_after(&|_| ());
    assert_eq!(Device::cpu().memory().shared, 0);
    let (plans, counted_plans) = freed_after(&|device| {
        let whole = layout(&[N]);
        let x = device.full(&whole, 1.0f32).unwrap();
        x.rfft().unwrap().irfft(&whole).unwrap();
    });
    let (all, counted) = freed_after(&|device| {
        let [a, b] = [N / 2, N / 2 + 1].map(|n| device.full(&layout(&[n]), 1.0f32).unwrap());
        let pair = a.pair(&b, Pairing::Elementwise).unwrap();
        pair.convolution().method(ConvMethod::Fft).conv().unwrap();
    });
    let workspace = 3 * 4 * N as i64;
    assert!(plans > 0 && all - plans >= workspace, "{plans} and {all}");
    assert!(counted_plans > 0 && counted - counted_plans >= workspace as u64);
    plans_of_many_lengths();
}

/// Plans are not kept beside the cache that `memory` counts and `trim` empties, and those of one call take their size
/// from the budget.
fn plans_of_many_lengths() {
    let (device, other) = (Device::cpu(), Device::cpu());
    let many = Layout::from_lengths(1000..1500).unwrap();
    let x = device.full(&many, 1.0f32).unwrap();
    let spectra = x.rfft().unwrap();
    let counted = other.memory().shared;
    let freed = allocation::freed_in(|| other.trim());
    assert!(freed >= 8 << 20, "{freed} bytes freed");
    assert!(freed as u64 <= counted, "{freed} bytes of {counted}");
    assert_eq!(other.memory().shared, 0);
    assert_eq!(x.rfft().unwrap().len(), spectra.len());
    vsla::device::set_host_memory_limit(16 << 20);
    let error = x.rfft().unwrap_err();
    assert_eq!((error.kind(), error.op()), ("out_of_memory", "rfft"));
}

/// The buffers of this device are filled before they are used.
fn poison_takes_no_memory(device: &Device) {
    let layout = Layout::from_lengths([1 << 22]).unwrap();
    let (made, largest) = allocation::largest_in(|| device.full(&layout, 1.0f32));
    assert!(made.is_ok() && largest < 1 << 20, "{largest} bytes");
}
