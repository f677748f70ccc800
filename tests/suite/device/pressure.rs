//! Memory pressure: the limit holds at all times, and unused memory is released under pressure.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use libtest_mimic::Trial;
use vsla::{Device, Error, Pairing, Ragged, Tensor, device::Memory};

use super::{drawn, lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("pressure::eight_threads", eight_threads),
        ("pressure::everything_in_32_mib", everything_in_32_mib),
        ("pressure::plans_give_way", plans_give_way),
        ("pressure::plans_give_way_to_trim", plans_give_way_to_trim),
        ("pressure::staging_is_counted", staging_is_counted),
        ("pressure::a_full_device_is_read", a_full_device_is_read),
        ("pressure::reads_that_are_dropped", reads_that_are_dropped),
        (
            "pressure::a_read_that_nobody_polls",
            a_read_that_nobody_polls,
        ),
        ("pressure::small_limits", small_limits),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect()
}

pub const MIB: u64 = 1 << 20;

pub fn limited(limit: u64) -> Device {
    own_gpu(|options| options.memory_limit = Some(limit))
}

/// All bytes that the account reports.
fn held(memory: Memory) -> u64 {
    memory.live + memory.cached + memory.leaving + memory.staging
}

/// The bytes that wgpu reports as allocated, if its backend supports that.
fn allocated(device: &Device) -> Option<u64> {
    let report = device.wgpu()?.0.generate_allocator_report()?;
    Some(report.total_allocated_bytes)
}

/// Runs `work` while another thread observes the device continuously: neither the account nor wgpu's own figure may
/// exceed the limit.
fn watched(device: &Device, limit: u64, work: impl FnOnce()) {
    // The memory that wgpu allocates for itself: its figure when only the account's own buffers exist.
    let own = allocated(device).map(|bytes| bytes - held(device.memory()));
    let (done, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (most, most_allocated) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(held(device.memory()), Ordering::Relaxed);
                if let (Some(bytes), Some(own)) = (allocated(device), own) {
                    most_allocated.fetch_max(bytes - own, Ordering::Relaxed);
                }
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&done);
        work();
    });
    let [looks, most, most_allocated] = [
        looks.into_inner() as u64,
        most.into_inner(),
        most_allocated.into_inner(),
    ];
    assert!(looks > 10, "{looks} looks");
    assert!(most <= limit && most > limit / 2, "{most} of {limit} held");
    assert!(
        most_allocated <= limit,
        "{most_allocated} of {limit} allocated"
    );
    if own.is_some() {
        assert!(most_allocated > limit / 2, "{most_allocated} allocated");
    }
}

fn is_out_of_memory(error: &Error) -> bool {
    matches!(
        error,
        Error::OutOfMemory {
            available: Some(_),
            ..
        }
    )
}

/// Threads that allocate as much as they can at the same time.
fn eight_threads() {
    let limit = 64 * MIB;
    let device = limited(limit);
    let refused = AtomicUsize::new(0);
    watched(&device, limit, || {
        thread::scope(|scope| {
            for seed in 0..8 {
                let (device, refused) = (&device, &refused);
                scope.spawn(move || {
                    let mut rng = rng(&format!("thread {seed}"));
                    let mut kept: Vec<(usize, Tensor<f32>)> = Vec::new();
                    for round in 0..40 {
                        let size = rng.usize(1..700_000);
                        let batch = Ragged::full(&lengths([size]), round as f32).unwrap();
                        let made = device.upload(&batch).and_then(|x| x.scale(2.0));
                        match made {
                            Ok(tensor) => kept.push((round, tensor)),
                            Err(error) => {
                                assert!(is_out_of_memory(&error), "{error}");
                                refused.fetch_add(1, Ordering::Relaxed);
                                kept.pop();
                            }
                        }
                        if kept.len() > rng.usize(2..9) {
                            let (round, tensor) = kept.swap_remove(rng.usize(0..kept.len()));
                            let expected =
                                Ragged::full(tensor.layout(), 2.0 * round as f32).unwrap();
                            assert_exact("2 x", &download(&tensor), &expected);
                        }
                    }
                });
            }
        });
    });
    assert!(refused.into_inner() > 0, "no thread reached the limit");
    device.trim();
    let memory = device.memory();
    assert_eq!((memory.live, memory.cached), (0, 0), "{memory:?}");
}

/// Transfers of most of the limit, and work between them.
fn everything_in_32_mib() {
    let limit = 32 * MIB;
    let device = limited(limit);
    watched(&device, limit, || {
        let large = numbers(&lengths([5_000_000, 0, 2_000_000]), 3);
        for _ in 0..3 {
            assert_exact("uploaded", &download(&upload(&device, &large)), &large);
        }
        let (a, b) = (
            numbers(&drawn("pressed left", 2_000, 1_000), 0),
            numbers(&drawn("pressed right", 2_000, 1_000), 1),
        );
        let cpu = Device::cpu();
        let (x, y) = (upload(&device, &a), upload(&device, &b));
        let (p, q) = (upload(&cpu, &a), upload(&cpu, &b));
        for _ in 0..3 {
            assert_exact(
                "sum",
                &download(&x.add(&y).unwrap()),
                &download(&p.add(&q).unwrap()),
            );
            assert_exact(
                "dot",
                &download(&x.dot(&y).unwrap()),
                &download(&p.dot(&q).unwrap()),
            );
        }
        // Many small dispatches, submitted repeatedly without a read.
        let mut small = upload(&device, &numbers(&lengths([100]), 0));
        for _ in 0..5_000 {
            small = small.scale(-1.0).unwrap();
        }
        assert_exact(
            "5000 signs",
            &download(&small),
            &numbers(&lengths([100]), 0),
        );
    });
}

/// 54 MiB of plans for one tensor of 16 KiB.
fn plans_give_way() {
    let limit = 64 * MIB;
    let device = limited(limit);
    let x = upload(
        &device,
        &Ragged::full(&lengths(vec![1; 4096]), 1.0f32).unwrap(),
    );
    let lists: Vec<Vec<(u32, u32)>> = (0..8)
        .map(|seed| {
            (0..850_000)
                .map(|i| (i * 7 % 4096, (i + seed) % 4096))
                .collect()
        })
        .collect();
    watched(&device, limit, || {
        let pairs = lists
            .iter()
            .map(|list| x.pair(&x, Pairing::List(&pair_list(list))).unwrap());
        let pairs: Vec<_> = pairs.collect();
        for _ in 0..3 {
            for pair in &pairs {
                let dots = pair.dot().unwrap();
                assert!(download(&dots).values().iter().all(|dot| *dot == 1.0));
            }
        }
        assert!(
            device.memory().live > 16 * MIB,
            "nothing is cached: {:?}",
            device.memory()
        );
    });
}

fn plans_give_way_to_trim() {
    let device = own_gpu(|_| ());
    let x = upload(&device, &numbers(&drawn("trimmed", 3_000, 40), 0));
    let y = upload(&device, &numbers(&drawn("trimmed, too", 3_000, 40), 1));
    let tensors = device.memory().live;
    let results = || {
        let best = x.correlate_max(&y).unwrap();
        let sum = x.add(&y).unwrap().sum().unwrap();
        (
            download(&x.conv(&y).unwrap()),
            download(&best.value),
            download(&sum),
        )
    };
    let first = results();
    assert!(device.memory().live > tensors, "no plans");
    for _ in 0..3 {
        device.trim();
        let memory = device.memory();
        assert_eq!(
            (memory.live, memory.cached, memory.leaving),
            (tensors, 0, 0),
            "{memory:?}"
        );
        assert_eq!(results(), first);
    }
}

fn staging_is_counted() {
    let device = own_gpu(|_| ());
    let own = device.memory();
    assert!(own.staging > 0 && held(own) == own.staging, "{own:?}");
    assert!(own.staging <= 256 << 10, "{own:?}");
    let wgpus_own = allocated(&device).map(|bytes| bytes - own.staging);
    let large = numbers(&lengths([11_000_000]), 0);
    let x = upload(&device, &large);
    assert!(
        device.memory().staging >= own.staging + 16 * MIB,
        "{:?}",
        device.memory()
    );
    assert_exact("a copy", &download(&x), &large);
    let memory = device.memory();
    assert!(memory.staging >= own.staging + 48 * MIB, "{memory:?}");
    if let (Some(bytes), Some(wgpus_own)) = (allocated(&device), wgpus_own) {
        let (account, truth) = (held(memory), bytes - wgpus_own);
        assert!(
            truth <= account && account - truth < MIB,
            "{account} is {truth}"
        );
    }
    // Also if a transfer is in progress.
    let y = upload(&device, &large);
    device.trim();
    drop(y);
    assert_exact("a copy", &download(&x), &large);
    device.trim();
    let memory = device.memory();
    assert_eq!(memory.staging, own.staging, "{memory:?}");
    assert_eq!((memory.cached, memory.leaving), (0, 0), "{memory:?}");
    if let (Some(bytes), Some(wgpus_own)) = (allocated(&device), wgpus_own) {
        assert!(bytes - wgpus_own <= held(memory), "{bytes} of {memory:?}");
    }
}

/// Allocates all but `left` of the bytes available for tensors.
pub fn fill(device: &Device, left: u64) -> Vec<Tensor<f32>> {
    let too_much = Ragged::full(&lengths([1 << 22]), 0.0f32).unwrap();
    let mut all = match device.upload(&too_much) {
        Err(Error::OutOfMemory {
            available: Some(available),
            ..
        }) => available,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no limit"),
    };
    let mut ballast = Vec::new();
    // Buffers whose sizes are powers of two.
    while all >= left + 256 {
        let piece = 1u64 << (all - left).ilog2();
        ballast.push(upload(
            device,
            &Ragged::full(&lengths([piece as usize / 4]), 7.0f32).unwrap(),
        ));
        all -= piece;
    }
    ballast
}

/// Eight threads read tensors while no byte is free for tensors.
fn a_full_device_is_read() {
    let device = limited(8 * MIB);
    let tensors = fill(&device, 0);
    assert!(
        tensors.len() > 1 && device.memory().live > 7 * MIB,
        "{:?}",
        device.memory()
    );
    assert!(is_out_of_memory(&tensors[0].copy().unwrap_err()));
    thread::scope(|scope| {
        for i in 0..8 {
            let tensors = &tensors;
            scope.spawn(move || {
                for tensor in tensors {
                    let got = match i % 2 {
                        0 => tensor.download_blocking(),
                        _ => pollster::block_on(tensor.download()),
                    };
                    assert_exact(
                        "7",
                        &got.unwrap(),
                        &Ragged::full(tensor.layout(), 7.0).unwrap(),
                    );
                }
            });
        }
    });
    assert!(held(device.memory()) <= 8 * MIB, "{:?}", device.memory());
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn reads_that_are_dropped() {
    let device = own_gpu(|_| ());
    let own = device.memory().staging;
    let x = upload(&device, &numbers(&lengths([12_000_000]), 0));
    for _ in 0..20 {
        let mut read = pin!(x.download());
        // Three pieces are in flight.
        let _ = poll_once(read.as_mut());
    }
    assert_exact("x", &download(&x), &numbers(&lengths([12_000_000]), 0));
    device.trim();
    let memory = device.memory();
    assert_eq!((memory.staging, memory.leaving), (own, 0), "{memory:?}");
}

/// One call holds the only buffer, and other calls get an error.
fn a_read_that_nobody_polls() {
    let device = limited(4 * MIB);
    let tensors = fill(&device, 0);
    let mut held = pin!(tensors[0].download());
    assert!(poll_once(held.as_mut()).is_pending());
    assert!(is_out_of_memory(
        &tensors[1].download_blocking().unwrap_err()
    ));
    let got = pollster::block_on(held).unwrap();
    assert_exact("7", &got, &Ragged::full(tensors[0].layout(), 7.0).unwrap());
    assert_exact(
        "7",
        &download(&tensors[1]),
        &Ragged::full(tensors[1].layout(), 7.0).unwrap(),
    );
}

/// Limits from 0 up: a limit is either refused when the device is opened, or the device works with it.
fn small_limits() {
    let least = (4..).map(|shift| 1u64 << shift).find(|&limit| {
        let options = vsla::device::GpuOptions {
            memory_limit: Some(limit),
            ..Default::default()
        };
        match Device::gpu_blocking(options) {
            Ok(_) => true,
            Err(error) => {
                let Error::OutOfMemory {
                    op: "device",
                    bytes,
                    available,
                } = error
                else {
                    panic!("{error}");
                };
                assert!(
                    bytes >= limit && available == Some(limit),
                    "{bytes} {available:?}"
                );
                false
            }
        }
    });
    let least = least.unwrap();
    assert!(least <= 64 << 10, "{least}");
    for limit in [2 * least, 100_000, MIB] {
        let device = limited(limit);
        let x = numbers(&lengths([1_000, 0, 24]), 1);
        let mut tensor = upload(&device, &x);
        for _ in 0..1_000 {
            tensor = tensor.scale(-1.0).unwrap();
        }
        assert_exact("x", &download(&tensor), &x);
        assert!(held(device.memory()) <= limit, "{:?}", device.memory());
        // Profiling needs timestamps.
        match device.profile_blocking(|| tensor.scale(2.0)) {
            Ok((Ok(scaled), _)) => {
                let expected = x.cast(|value| 2.0 * value).unwrap();
                assert_exact("2 x", &download(&scaled), &expected);
            }
            Ok((Err(error), _)) | Err(error) => assert!(is_out_of_memory(&error), "{error}"),
        }
        assert!(held(device.memory()) <= limit, "{:?}", device.memory());
    }
}
