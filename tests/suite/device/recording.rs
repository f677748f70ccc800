//! The order of recorded work: reused memory, several threads, long chains.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use vsla::{Device, Pairing, Ragged, conv::ConvMethod};

use super::{Tests, agrees_with_the_cpu, directly, drawn, lengths, numbers};
use crate::support::bench::{Bench, is_hurried};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::operation::{download, pair_list, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: Tests<'_> = &[
        (
            "recording::memory_is_reused_in_order",
            memory_is_reused_in_order,
        ),
        (
            "recording::layouts_are_reused_in_order",
            layouts_are_reused_in_order,
        ),
        ("recording::two_threads", two_threads),
        (
            "recording::one_layout_from_many_threads",
            one_layout_from_many_threads,
        ),
        ("recording::long_chains", long_chains),
        (
            "recording::batches_worth_large_tiles",
            batches_worth_large_tiles,
        ),
        (
            "recording::more_than_65535_workgroups",
            more_than_65535_workgroups,
        ),
        ("recording::flush", flush),
        ("recording::uploads_in_a_pool", uploads_in_a_pool),
    ];
    let trials = tests
        .iter()
        .flat_map(|&(name, test)| bench.on_each_device(name, test));
    #[cfg(feature = "gpu")]
    let trials = trials.chain([bench.on_gpu(
        "recording::a_dropped_buffer_comes_back",
        crate::support::bench::gpu,
        |_| a_dropped_buffer_comes_back(),
    )]);
    trials.collect()
}

/// Recorded work on a tensor uses its values, even if other data is later uploaded into its memory.
fn memory_is_reused_in_order(device: &Device) {
    for length in [1, 100, 300_000, 5_000_000] {
        let layout = lengths([length]);
        let mut results = Vec::new();
        for i in 0..4 {
            let x = upload(device, &Ragged::full(&layout, i as f32 + 1.0).unwrap());
            results.push((x.scale(2.0).unwrap(), x.add(&x).unwrap()));
        }
        let last = upload(device, &Ragged::full(&layout, -1.0f32).unwrap());
        for (i, (scaled, added)) in results.iter().enumerate() {
            let expected = Ragged::full(&layout, 2.0 * (i as f32 + 1.0)).unwrap();
            assert_exact(format!("{length}: 2 x"), &download(scaled), &expected);
            assert_exact(format!("{length}: x + x"), &download(added), &expected);
        }
        assert_exact(
            length,
            &download(&last),
            &Ragged::full(&layout, -1.0).unwrap(),
        );
    }
}

/// On a separate device, so that the memory is reused while the work that reads it is only recorded.
#[cfg(feature = "gpu")]
fn a_dropped_buffer_comes_back() {
    let device = super::own_gpu(|_| ());
    let layout = lengths([100_000]);
    let first = upload(&device, &Ragged::full(&layout, 1.0f32).unwrap());
    let doubled = first.scale(2.0).unwrap();
    drop(first);
    let kept = device.memory().cached;
    let reused = |memory: vsla::device::Memory| memory.cached == 0 && kept > 0;
    let second = upload(&device, &Ragged::full(&layout, 5.0f32).unwrap());
    assert!(
        reused(device.memory()),
        "the test is wrong: the buffer was not reused"
    );
    let tripled = second.scale(3.0).unwrap();
    drop(second);
    let third = device.full(&layout, 7.0f32).unwrap();
    assert!(
        reused(device.memory()),
        "the test is wrong: the buffer was not reused"
    );
    assert_exact(
        "2",
        &download(&doubled),
        &Ragged::full(&layout, 2.0).unwrap(),
    );
    assert_exact(
        "15",
        &download(&tripled),
        &Ragged::full(&layout, 15.0).unwrap(),
    );
    assert_exact("7", &download(&third), &Ragged::full(&layout, 7.0).unwrap());
}

/// The memory of offsets and plans of dropped layouts is reused for others of the same size.
fn layouts_are_reused_in_order(device: &Device) {
    let mut results = Vec::new();
    for i in 0..60 {
        let layouts = [
            drawn(&format!("left {i}"), 200, 30),
            drawn(&format!("right {i}"), 200, 30),
        ];
        let [a, b] = layouts.each_ref().map(|layout| numbers(layout, i));
        let (x, y) = (upload(device, &a), upload(device, &b));
        let list = [(i as u32, 3), (7, i as u32)];
        let listed = x.pair(&y, Pairing::List(&pair_list(list))).unwrap();
        let listed = listed
            .convolution()
            .method(ConvMethod::Direct)
            .conv()
            .unwrap();
        results.push((
            i,
            x.add(&y).unwrap(),
            directly(&x, &y).unwrap().conv().unwrap(),
            listed,
        ));
    }
    let cpu = Device::cpu();
    for (i, added, convolved, listed) in results {
        let layouts = [
            drawn(&format!("left {i}"), 200, 30),
            drawn(&format!("right {i}"), 200, 30),
        ];
        let [a, b] = layouts.each_ref().map(|layout| numbers(layout, i));
        assert_exact(i, &download(&added), &run(&cpu, &a, &b, |x, y| x.add(y)));
        assert_exact(
            i,
            &download(&convolved),
            &run(&cpu, &a, &b, |x, y| directly(x, y)?.conv()),
        );
        let list = [(i as u32, 3), (7, i as u32)];
        let expected = run(&cpu, &a, &b, |x, y| {
            let pair = x.pair(y, Pairing::List(&pair_list(list)))?;
            pair.convolution().method(ConvMethod::Direct).conv()
        });
        assert_exact(i, &download(&listed), &expected);
    }
}

/// Two threads record at once while a third one causes only errors.
fn two_threads(device: &Device) {
    let start = Barrier::new(3);
    thread::scope(|scope| {
        for worker in 0..2 {
            let start = &start;
            scope.spawn(move || {
                let cpu = Device::cpu();
                let layouts = [
                    drawn(&format!("one {worker}"), 300, 40),
                    drawn(&format!("two {worker}"), 300, 40),
                ];
                start.wait();
                for round in 0..15 {
                    let [a, b] = layouts
                        .each_ref()
                        .map(|layout| numbers(layout, round + 100 * worker));
                    let got = [
                        run(device, &a, &b, |x, y| x.add(y)?.scale(2.0)?.sub(x)),
                        run(device, &a, &b, |x, y| directly(x, y)?.conv()),
                    ];
                    let expected = [
                        run(&cpu, &a, &b, |x, y| x.add(y)?.scale(2.0)?.sub(x)),
                        run(&cpu, &a, &b, |x, y| directly(x, y)?.conv()),
                    ];
                    for (got, expected) in got.iter().zip(&expected) {
                        assert_exact(format!("thread {worker}, round {round}"), got, expected);
                    }
                }
            });
        }
        let start = &start;
        scope.spawn(move || {
            let (x, y) = (
                upload(device, &numbers(&lengths([3]), 0)),
                upload(device, &numbers(&lengths([3, 1]), 0)),
            );
            start.wait();
            for _ in 0..500 {
                assert!(x.add(&y).is_err() && x.conv(&y).is_err());
                assert!(x.pair(&y, Pairing::List(&pair_list([(0, 2)]))).is_err());
                assert!(x.download_into_blocking(&mut []).is_err());
            }
        });
    });
}

/// Plans and metadata of one layout, created by whichever thread is first.
fn one_layout_from_many_threads(device: &Device) {
    for round in 0..10 {
        let layouts = [
            drawn(&format!("shared left {round}"), 500, 30),
            drawn(&format!("shared right {round}"), 500, 30),
        ];
        let [a, b] = layouts.each_ref().map(|layout| numbers(layout, round));
        let expected = run(&Device::cpu(), &a, &b, |x, y| directly(x, y)?.conv());
        let (x, y) = (upload(device, &a), upload(device, &b));
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    assert_exact(
                        round,
                        &download(&directly(&x, &y).unwrap().conv().unwrap()),
                        &expected,
                    );
                });
            }
        });
    }
}

/// More dispatches than fit in one submission, each depending on the previous one.
fn long_chains(device: &Device) {
    let x = numbers(&lengths([5, 0, 60]), 3);
    let mut tensor = upload(device, &x);
    for step in 0..1_500 {
        tensor = tensor.scale(if step % 2 == 0 { 2.0 } else { 0.5 }).unwrap();
    }
    assert_identical("x", &download(&tensor), &x);
}

fn more_than_65535_workgroups(device: &Device) {
    let ones = lengths(vec![1; 70_000]);
    let (a, b) = (numbers(&ones, 0), numbers(&ones, 1));
    let expected =
        Ragged::from_fn(&ones, |element, i| a.row(element)[i] * b.row(element)[i]).unwrap();
    assert_exact(
        "conv",
        &run(device, &a, &b, |x, y| directly(x, y)?.conv()),
        &expected,
    );
    if !is_hurried(device) {
        agrees_with_the_cpu(device, &a, &b);
    }
}

/// Enough values that a workgroup processes several thousand of them.
fn batches_worth_large_tiles(device: &Device) {
    let cpu = Device::cpu();
    let few = (
        lengths([5_000_000, 3_400_000, 7]),
        lengths([4_999_999, 3_400_001, 9]),
    );
    let many = (
        drawn("large tiles left", 42_000, 400),
        drawn("large tiles right", 42_000, 400),
    );
    for (left, right) in [few, many] {
        let (a, b) = (numbers(&left, 0), numbers(&right, 1));
        let got = run(device, &a, &b, |x, y| x.add(y));
        assert_exact("add", &got, &run(&cpu, &a, &b, |x, y| x.add(y)));
        assert_exact(
            "a + a",
            &run(device, &a, &a, |x, y| x.add(y)),
            &a.cast(|value| 2.0 * value).unwrap(),
        );
        assert_exact(
            "scale",
            &run(device, &a, &a, |x, _| x.scale(3.0)),
            &a.cast(|value| 3.0 * value).unwrap(),
        );
    }
    let shape = |height, width| vsla::Shape::new(&[height, width]).unwrap();
    let tall = vsla::Layout::uniform(50, shape(601, 280)).unwrap();
    let wide = vsla::Layout::uniform(50, shape(300, 281)).unwrap();
    let (a, b) = (numbers(&tall, 0), numbers(&wide, 1));
    let got = run(device, &a, &b, |x, y| x.add(y));
    assert_exact("boxes", &got, &run(&cpu, &a, &b, |x, y| x.add(y)));
}

fn flush(device: &Device) {
    let x = numbers(&lengths([5]), 3);
    for _ in 0..3 {
        device.flush().unwrap();
    }
    let tensor = upload(device, &x);
    device.flush().unwrap();
    let scaled = tensor.scale(2.0).unwrap();
    device.flush().unwrap();
    device.flush().unwrap();
    drop(tensor);
    assert_exact(
        "2 x",
        &download(&scaled),
        &x.cast(|value| 2.0 * value).unwrap(),
    );
}

/// A thread of a pool uploads, while the pool gets jobs that need the device, too. A thread that waits for others must
/// not hold what these jobs need.
fn uploads_in_a_pool(device: &Device) {
    let (device, (done, waiting)) = (device.clone(), channel());
    thread::spawn(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let pool = pool.build().unwrap();
        let x = Ragged::full(&lengths([2 << 20]), 1.0f32).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let device = device.clone();
                    pool.spawn(move || drop(device.full(&lengths([1]), 1.0f32).unwrap()));
                    thread::sleep(Duration::from_micros(200));
                }
            });
            pool.install(|| (0..300).for_each(|_| drop(upload(&device, &x))));
            stop.store(true, Ordering::Relaxed);
        });
        done.send(()).unwrap();
    });
    let outcome = waiting.recv_timeout(Duration::from_secs(100));
    outcome.expect("it ends, and does not hang");
}
