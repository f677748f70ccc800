//! Downloads: under any executor, many at once, and cancelled halfway.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use vsla::{Device, Ragged};

use super::{Tests, drawn, lengths, numbers};
use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: Tests<'_> = &[
        ("reading::under_another_executor", under_another_executor),
        ("reading::many_at_once", many_at_once),
        ("reading::from_many_threads", from_many_threads),
        ("reading::given_up", given_up),
        ("reading::more_than_the_ring", more_than_the_ring),
        ("reading::into_a_slice", into_a_slice),
    ];
    tests
        .iter()
        .flat_map(|&(name, test)| bench.on_each_device(name, test))
        .collect()
}

/// The simplest possible executor, which sleeps until it is woken.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread, AtomicUsize);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.unpark();
        }
    }
    let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(unpark.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let begin = Instant::now();
    loop {
        let woken = unpark.1.load(Ordering::SeqCst);
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => {
                while unpark.1.load(Ordering::SeqCst) == woken {
                    assert!(
                        begin.elapsed() < Duration::from_secs(60),
                        "nothing wakes the future"
                    );
                    thread::park_timeout(Duration::from_secs(1));
                }
            }
        }
    }
}

/// Waits for all futures, and is woken by whichever is ready.
fn all<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(Some).collect();
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    block_on(std::future::poll_fn(|context| {
        // Polls the last future first, because none may depend on the order of the calls.
        for (future, done) in waiting.iter_mut().zip(&mut done).rev() {
            if let Some(running) = future
                && let Poll::Ready(value) = running.as_mut().poll(context)
            {
                *done = Some(value);
                *future = None;
            }
        }
        if waiting.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    done.into_iter().flatten().collect()
}

fn under_another_executor(device: &Device) {
    let x = numbers(&drawn("executor", 100, 50), 1);
    let tensor = upload(device, &x);
    let scaled = x.cast(|value| 2.0 * value).unwrap();
    assert_exact(
        "ours",
        &block_on(tensor.scale(2.0).unwrap().download()).unwrap(),
        &scaled,
    );
    assert_exact(
        "pollster",
        &pollster::block_on(tensor.scale(2.0).unwrap().download()).unwrap(),
        &scaled,
    );
    assert_exact(
        "no executor",
        &download(&tensor.scale(2.0).unwrap()),
        &scaled,
    );
}

fn many_at_once(device: &Device) {
    let x = numbers(&lengths([300_000, 0, 5]), 1);
    let tensor = upload(device, &x);
    let scaled: Vec<_> = (0..24).map(|i| tensor.scale(i as f32).unwrap()).collect();
    let futures = scaled
        .iter()
        .map(|tensor| Box::pin(tensor.download()) as _)
        .collect();
    for (i, got) in all::<vsla::Result<Ragged<f32>>>(futures)
        .into_iter()
        .enumerate()
    {
        assert_exact(i, &got.unwrap(), &x.cast(|value| i as f32 * value).unwrap());
    }
}

fn from_many_threads(device: &Device) {
    let x = numbers(&drawn("threads", 1000, 20), 1);
    let tensor = upload(device, &x);
    thread::scope(|scope| {
        for worker in 0..6 {
            let (x, tensor) = (&x, &tensor);
            scope.spawn(move || {
                for i in 0..20 {
                    let factor = (worker * 20 + i) as f32;
                    let scaled = tensor.scale(factor).unwrap();
                    let got = match worker % 2 {
                        0 => block_on(scaled.download()),
                        _ => scaled.download_blocking(),
                    };
                    assert_exact(
                        factor,
                        &got.unwrap(),
                        &x.cast(|value| factor * value).unwrap(),
                    );
                }
            });
        }
    });
}

/// A future that is dropped, before or after its first poll, affects nothing else.
fn given_up(device: &Device) {
    // Large enough to be read in pieces.
    let x = Ragged::full(&lengths([12_000_000]), 1.5f32).unwrap();
    let tensor = upload(device, &x);
    let mut context = Context::from_waker(Waker::noop());
    for polls in [0, 1, 2] {
        for _ in 0..5 {
            let mut future = Box::pin(tensor.download());
            for _ in 0..polls {
                if future.as_mut().poll(&mut context).is_ready() {
                    break;
                }
            }
        }
        let small = numbers(&lengths([7, 3]), polls);
        assert_exact(
            "another",
            &download(&upload(device, &small).copy().unwrap()),
            &small,
        );
    }
    assert_exact("the same", &download(&tensor), &x);
    assert_exact("the same, async", &block_on(tensor.download()).unwrap(), &x);
}

/// More bytes than all upload buffers together, in one tensor and in several.
fn more_than_the_ring(device: &Device) {
    let layout = lengths([1, 0, 26_999_999]);
    let batches = [0, 1].map(|seed| {
        let values: Vec<u32> = (0..layout.total() as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) ^ seed)
            .collect();
        Ragged::from_parts(layout.clone(), values).unwrap()
    });
    let tensors = batches.each_ref().map(|batch| upload(device, batch));
    for (tensor, batch) in tensors.iter().zip(&batches) {
        assert!(download(tensor) == *batch, "216 MB uploaded differ");
    }
}

fn into_a_slice(device: &Device) {
    let x = numbers(&lengths([300, 0, 5]), 1);
    let tensor = upload(device, &x);
    let mut values = vec![f32::NAN; 305];
    tensor.download_into_blocking(&mut values).unwrap();
    assert_eq!(values, x.values());
    let view = tensor.elements(2..3).unwrap();
    let mut values = [f32::NAN; 5];
    block_on(view.download_into(&mut values)).unwrap();
    assert_eq!(values, x.row(2));
}
