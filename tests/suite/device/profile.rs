//! Profiling of device time.

use std::time::Duration;

use libtest_mimic::Trial;
use vsla::{Device, device::Profile};

use super::{Tests, lengths, numbers, own_gpu};
use crate::support::bench::{Bench, cpu, gpu, panic_of};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: Tests<'_> = &[
        ("profile::has_an_entry_a_kernel", has_an_entry_a_kernel),
        (
            "profile::more_dispatches_than_a_set_of_queries",
            more_dispatches_than_a_set_of_queries,
        ),
        ("profile::inside_another", inside_another),
        ("profile::of_a_panic", of_a_panic),
        ("profile::of_nothing", of_nothing),
    ];
    let mut trials: Vec<Trial> = tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test(&own_gpu(|_| ()))))
        .collect();
    trials.push(bench.host("cpu::profile::has_no_times", || {
        let (seven, profile) = cpu().profile_blocking(|| 7).unwrap();
        assert_eq!((seven, profile.device_time), (7, None));
        assert!(profile.kernels.is_empty());
    }));
    trials.push(bench.on_gpu("profile::has_the_peak", gpu, |_| {
        has_the_peak(&own_gpu(|_| ()))
    }));
    trials.push(bench.host(
        "cpu::profile::has_the_peak",
        || has_the_peak(&Device::cpu()),
    ));
    trials
}

/// The peak is of this profile's time: higher ones before do not count, memory that is released before its end does.
fn has_the_peak(device: &Device) {
    const BYTES: u64 = 4 << 20;
    let x = upload(device, &numbers(&lengths([1 << 20]), 1));
    drop([(); 4].map(|()| x.scale(2.0).unwrap()));
    let live = device.memory().live;
    let peak = |results: usize| {
        let run = || {
            (0..results)
                .map(|_| x.scale(2.0).unwrap())
                .collect::<Vec<_>>()
        };
        device.profile_blocking(|| drop(run())).unwrap().1.peak
    };
    assert_eq!(peak(0), live);
    assert_eq!(peak(2), live + 2 * BYTES);
    assert_eq!(peak(1), live + BYTES);
    let ((inner, again), outer) = device
        .profile_blocking(|| (peak(1), x.scale(3.0).unwrap().scale(3.0).unwrap()))
        .unwrap();
    assert_eq!((inner, outer.peak), (0, live + 2 * BYTES));
    drop(again);
    panic_of(|| {
        let _ = device.profile_blocking(|| panic!("on purpose"));
    });
    assert_eq!(peak(0), live);
}

/// Whether the device supports timestamps.
fn timed(device: &Device) -> bool {
    device
        .wgpu()
        .unwrap()
        .0
        .features()
        .contains(vsla::device::wgpu::Features::TIMESTAMP_QUERY)
}

fn has_an_entry_a_kernel(device: &Device) {
    let x = upload(device, &numbers(&lengths([2000, 3, 0]), 1));
    let y = upload(device, &numbers(&lengths([5, 30, 10]), 2));
    let before = x.scale(2.0).unwrap();
    let (sum, profile) = device
        .profile_blocking(|| {
            x.sbd(&y).unwrap();
            before.add(&y).unwrap()
        })
        .unwrap();
    let after = x.scale(3.0).unwrap();
    if !timed(device) {
        assert_eq!(profile.device_time, None);
        return;
    }
    let seen: Vec<(&str, &str)> = profile
        .kernels
        .iter()
        .map(|k| (k.op, k.kernel.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("sbd", "normalize.f32"),
            ("sbd", "normalize.f32"),
            ("sbd", "correlate_max.f32.sbd"),
            ("sbd", "correlate_max_finish.f32.sbd"),
            ("add", "ambient.f32.add"),
        ],
        "work recorded before and after is not included"
    );
    for pair in profile.kernels.windows(2) {
        assert!(pair[0].start <= pair[1].start, "{profile:?}");
    }
    assert_eq!(profile.kernels[0].start, Duration::ZERO);
    assert_eq!(
        profile.device_time,
        Some(profile.kernels.iter().map(|kernel| kernel.time).sum())
    );
    assert!(
        profile.device_time > Some(Duration::ZERO)
            && profile.device_time < Some(Duration::from_secs(60))
    );
    drop(after);
    assert_eq!(download(&sum).len(), 3);
}

fn more_dispatches_than_a_set_of_queries(device: &Device) {
    let x = numbers(&lengths([40]), 1);
    let tensor = upload(device, &x);
    let (last, profile) = device
        .profile_blocking(|| {
            let mut y = tensor.clone();
            for step in 0..2_100 {
                y = y.scale(if step % 2 == 0 { 2.0 } else { 0.5 }).unwrap();
            }
            y
        })
        .unwrap();
    assert_exact("x", &download(&last), &x);
    if timed(device) {
        assert_eq!(profile.kernels.len(), 2_100);
        assert!(
            profile
                .kernels
                .iter()
                .all(|k| k.op == "scale" && k.time < Duration::from_secs(10))
        );
        assert!(
            profile
                .kernels
                .windows(2)
                .all(|pair| pair[0].start <= pair[1].start)
        );
    }
}

fn inside_another(device: &Device) {
    let x = upload(device, &numbers(&lengths([40]), 1));
    let ((_, inner), outer) = device
        .profile_blocking(|| {
            x.scale(2.0).unwrap();
            let inner = device.profile_blocking(|| x.scale(3.0).unwrap()).unwrap();
            x.scale(4.0).unwrap();
            inner
        })
        .unwrap();
    assert_eq!(inner, Profile::default());
    assert_eq!(outer.kernels.len(), if timed(device) { 3 } else { 0 });
}

fn of_a_panic(device: &Device) {
    let x = upload(device, &numbers(&lengths([40]), 1));
    panic_of(|| {
        let _ = device.profile_blocking(|| {
            x.scale(2.0).unwrap();
            panic!("on purpose");
        });
    });
    let (_, profile) = device.profile_blocking(|| x.scale(3.0).unwrap()).unwrap();
    assert_eq!(profile.kernels.len(), usize::from(timed(device)));
    assert_eq!(download(&x.scale(2.0).unwrap()).len(), 1);
}

fn of_nothing(device: &Device) {
    let (seven, profile) = device.profile_blocking(|| 7).unwrap();
    assert_eq!(seven, 7);
    assert!(profile.kernels.is_empty());
    assert_eq!(profile.device_time, timed(device).then_some(Duration::ZERO));
}
