//! Runs and recordings on several threads, and in the jobs of a pool.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use rayon::prelude::*;
use vsla::program::{Plan, Program};
use vsla::scalar::Map1;
use vsla::{Device, Layout, Ragged, Tensor};

use super::edges::one;
use super::{bits, layers, network, upload, values};
use crate::support::bench::{Bench, is_software};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("company", company),
        ("runs_in_a_pool", runs_in_a_pool),
        ("a_kernel_panics", a_kernel_panics),
        ("threads_of_a_recording", threads_of_a_recording),
        ("a_job_in_a_recording", a_job_in_a_recording),
    ]);
    trials.push(bench.host("cpu::a_run_in_a_run", a_run_in_a_run));
    trials.push(bench.host("cpu::work_in_a_recording", work_in_a_recording));
    trials
}

/// Plans and runs of several threads, with other work and reads in between, and plans that are dropped at once.
fn company(device: &Device) {
    let turns = if is_software(device) { 15 } else { 100 };
    let programs: Vec<Program> = (1..3).map(|n| network(device, n)).collect();
    thread::scope(|scope| {
        for worker in 0..4usize {
            let programs = &programs;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(worker as u64);
                let mut kept: Vec<(Tensor<f32>, Vec<u8>)> = Vec::new();
                let mut plans: Vec<(usize, Plan)> = Vec::new();
                for turn in 0..turns {
                    let which = rng.usize(0..2);
                    let lengths: Vec<usize> =
                        (0..rng.usize(1..20)).map(|_| rng.usize(0..300)).collect();
                    let layout = Layout::from_lengths(lengths).unwrap();
                    plans.push((which, programs[which].plan(&[&layout]).unwrap()));
                    let (which, plan) = &plans[rng.usize(0..plans.len())];
                    let layout = plan.inputs().next().unwrap().clone();
                    let x = device
                        .upload(&Ragged::random(&layout, turn).unwrap())
                        .unwrap();
                    let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
                    let expected = layers(&x, which + 1).unwrap();
                    if rng.bool() {
                        kept.push((y, bits(&expected).1));
                    } else {
                        assert!(bits(&y) == bits(&expected));
                    }
                    if plans.len() > 4 {
                        plans.remove(rng.usize(0..plans.len()));
                    }
                    if kept.len() > 5 {
                        let (y, expected) = kept.remove(rng.usize(0..kept.len()));
                        assert!(bits(&y).1 == expected);
                    }
                    if turn % 7 == 0 {
                        device.trim();
                    }
                }
                for (y, expected) in kept {
                    assert!(bits(&y).1 == expected);
                }
            });
        }
    });
}

/// Fails instead of hanging.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, waiting) = channel();
    let worker = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let outcome = waiting.recv_timeout(Duration::from_secs(100));
    assert!(outcome != Err(RecvTimeoutError::Timeout), "it hangs");
    if let Err(payload) = worker.join() {
        panic::resume_unwind(payload);
    }
}

/// Runs of one program in the jobs of a pool. A job that waits for its kernel may meanwhile run another job.
fn runs_in_a_pool(device: &Device) {
    let device = device.clone();
    in_time(move || {
        let layout = Layout::from_lengths([200_000, 3, 100_000]).unwrap();
        let program = network(&device, 2);
        let plan = program.plan(&[&layout]).unwrap();
        let x = device.upload(&Ragged::random(&layout, 1).unwrap()).unwrap();
        let expected = bits(&layers(&x, 2).unwrap());
        let runs = if is_software(&device) { 8 } else { 100 };
        (0..runs).into_par_iter().for_each(|i| {
            let plan = match i % 4 {
                0 => program.plan(&[&layout]).unwrap(),
                _ => plan.clone(),
            };
            let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
            assert!(bits(&y) == expected);
        });
    });
}

/// A function whose two pieces are computed by different threads. One finishes, and has to wait for the other, which
/// waits for `job`: a job of the pool that the first thread runs meanwhile.
struct Gate {
    armed: AtomicBool,
    entered: AtomicUsize,
    done: AtomicBool,
    job: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Gate {
    fn new() -> Arc<Gate> {
        Arc::new(Gate {
            armed: AtomicBool::new(false),
            entered: AtomicUsize::new(0),
            done: AtomicBool::new(false),
            job: Mutex::new(None),
        })
    }

    fn map(self: &Arc<Self>, device: &Device) -> Map1<f32> {
        let gate = self.clone();
        let map = move |x: f32| {
            if x > 0.0 && gate.armed.load(Ordering::SeqCst) {
                gate.pass(x == 1.0);
            }
            2.0 * x
        };
        device.map1("2.0 * x", map).unwrap()
    }

    /// Two pieces of the function.
    fn operand(device: &Device) -> Tensor<f32> {
        let mut values = vec![0.0; 2 << 14];
        (values[0], values[1 << 14]) = (1.0, 2.0);
        device
            .upload(&Ragged::from_rows([values]).unwrap())
            .unwrap()
    }

    fn pass(self: &Arc<Self>, first: bool) {
        let wait = |so: &dyn Fn() -> bool| {
            for _ in 0..10_000 {
                if so() {
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
        };
        self.entered.fetch_add(1, Ordering::SeqCst);
        wait(&|| self.entered.load(Ordering::SeqCst) == 2);
        if !first {
            return wait(&|| self.done.load(Ordering::SeqCst));
        }
        self.armed.store(false, Ordering::SeqCst);
        if let Some(job) = self.job.lock().unwrap().take() {
            let gate = self.clone();
            rayon::spawn(move || {
                let outcome = panic::catch_unwind(AssertUnwindSafe(job));
                gate.done.store(outcome.is_ok(), Ordering::SeqCst);
            });
        }
    }

    /// Runs `work` on two threads, with `job` in between.
    fn run(
        self: Arc<Self>,
        work: impl FnOnce() + Send + 'static,
        job: impl FnOnce() + Send + 'static,
    ) {
        in_time(move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
            let pool = pool.build().unwrap();
            *self.job.lock().unwrap() = Some(Box::new(job));
            self.armed.store(true, Ordering::SeqCst);
            pool.install(work);
            assert!(
                self.done.load(Ordering::SeqCst),
                "the job did not run meanwhile"
            );
        });
    }
}

/// A thread whose run waits for another thread starts another run of the same program.
fn a_run_in_a_run() {
    let device = Device::cpu();
    let (gate, x) = (Gate::new(), Gate::operand(&device));
    let map = gate.map(&device);
    let program = Program::new(&device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&map.apply(&x)?.neg()?)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let works = move || {
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        let y = values(&y);
        assert_eq!([y[0], y[1 << 14]], [-2.0, -4.0]);
    };
    gate.run(works.clone(), works);
}

/// A thread that records computes a constant, by a call or by another program, and runs other jobs while it waits.
fn work_in_a_recording() {
    for by_a_program in [false, true] {
        work_while_recording(by_a_program);
    }
}

fn work_while_recording(by_a_program: bool) {
    let device = Device::cpu();
    let (gate, x) = (Gate::new(), Gate::operand(&device));
    let map = gate.map(&device);
    let apply = map.clone();
    let other = Program::new(&device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&apply.apply(&x)?)
    });
    let (constant, other) = (x.clone(), other.plan(&[x.layout()]).unwrap());
    let program = Program::new(&device, move |r| {
        let x: Tensor<f32> = r.input()?;
        let ones = r.device().full(x.layout(), 1.0f32)?;
        let constant = match by_a_program {
            true => other.run(&[&constant])?.get(0)?,
            false => map.apply(&constant)?,
        };
        r.output(&x.add(&constant)?.add(&ones)?)
    });
    let recording = {
        let (program, x) = (program.clone(), x.clone());
        move || {
            let plan = program.plan(&[x.layout()]).unwrap();
            let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
            let y = values(&y);
            assert_eq!([y[0], y[1], y[1 << 14]], [4.0, 1.0, 7.0]);
        }
    };
    let other = {
        let recording = recording.clone();
        move || {
            assert_eq!(values(&device.full(&one(), 3.0f32).unwrap()), [3.0]);
            recording();
        }
    };
    gate.run(recording, other);
}

/// Threads of a function record operations on its values; what they make without operands is a constant.
fn threads_of_a_recording(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0], &[3.0]]);
    let program = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        let (device, layout) = (r.device().clone(), x.layout().clone());
        let here = device.full(&layout, 10.0f32)?;
        let (double, there) = thread::scope(|scope| {
            let double = scope.spawn(|| x.scale(2.0));
            let there = scope.spawn(|| device.full(&layout, 100.0f32));
            (double.join().unwrap(), there.join().unwrap())
        });
        r.output(&double?.add(&here)?.add(&there?)?)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    assert_eq!(plan.report().constants.len(), 1, "{}", plan.report());
    for _ in 0..2 {
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        assert_eq!(values(&y), [112.0, 114.0, 116.0]);
    }
}

/// A thread of a pool whose function waits for another thread runs a job that is no part of the recording.
fn a_job_in_a_recording(device: &Device) {
    let device = device.clone();
    in_time(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
        let pool = pool.build().unwrap();
        let x = upload(&device, &[&[1.0, 2.0]]);
        let layout = x.layout().clone();
        let job = {
            let (device, layout, x) = (device.clone(), layout.clone(), x.clone());
            move || {
                let ones = device.full(&layout, 1.0f32).unwrap();
                assert_eq!(values(&ones.add(&x).unwrap()), [2.0, 3.0]);
                let other = Program::new(&device, |r| {
                    let x: Tensor<f32> = r.input()?;
                    r.output(&r.device().full(x.layout(), 5.0f32)?.add(&x)?)
                });
                let plan = other.plan(&[&layout]).unwrap();
                assert_eq!(
                    values(&plan.run(&[&x]).unwrap().get(0).unwrap()),
                    [6.0, 7.0]
                );
            }
        };
        let (done, passed) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let outcome = passed.clone();
        let program = Program::new(&device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let wait = |flag: &AtomicBool| {
                while !flag.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            };
            let (begun, double) = (AtomicBool::new(false), Mutex::new(None));
            rayon::join(
                || {
                    wait(&begun);
                    let (job, done, passed) = (job.clone(), done.clone(), passed.clone());
                    rayon::spawn(move || {
                        let outcome = panic::catch_unwind(AssertUnwindSafe(job));
                        passed.store(outcome.is_ok(), Ordering::SeqCst);
                        done.store(true, Ordering::SeqCst);
                    });
                },
                || {
                    begun.store(true, Ordering::SeqCst);
                    *double.lock().unwrap() = Some(x.scale(2.0));
                    wait(&done);
                },
            );
            let double = double.into_inner().unwrap().expect("the second job ran")?;
            r.output(&double.add(&r.device().full(x.layout(), 1.0f32)?)?)
        });
        let plan = pool.install(|| program.plan(&[&layout])).unwrap();
        assert!(outcome.load(Ordering::SeqCst), "the job failed");
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        assert_eq!(values(&y), [3.0, 5.0]);
    });
}

/// A kernel of the application that panics in a run.
fn a_kernel_panics(device: &Device) {
    let bad = Arc::new(AtomicBool::new(false));
    let is_bad = bad.clone();
    let map = device
        .map1("2.0 * x", move |x: f32| {
            assert!(!is_bad.load(Ordering::Relaxed), "the application's");
            2.0 * x
        })
        .unwrap();
    let x = upload(device, &[&[1.0, 2.0], &[3.0]]);
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&map.apply(&x.neg()?)?.neg()?)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let run = || values(&plan.run(&[&x]).unwrap().get(0).unwrap());
    assert_eq!(run(), [2.0, 4.0, 6.0]);
    bad.store(true, Ordering::Relaxed);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| plan.run(&[&x])));
    assert_eq!(outcome.is_err(), !device.is_gpu());
    bad.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(run(), [2.0, 4.0, 6.0]);
    }
    program.plan(&[x.layout()]).unwrap();
}
