//! A device of a fleet is lost in the middle of a call.

use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use vsla::fleet::{Cost, Fleet, FleetOptions};
use vsla::{Device, Error, Ragged, Result};

use super::{is_same, lengths, numbers};
use crate::device::own_gpu;
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("lost::is_named", is_named),
        ("lost::others_take_over", others_take_over),
        ("lost::while_copying", while_copying),
        ("lost::all", all),
        ("lost::before_gathering", before_gathering),
    ];
    let on_gpu = |&(name, test): &(&str, fn())| bench.on_gpu(name, gpu, move |_| test());
    tests.iter().map(on_gpu).collect()
}

/// Two devices that nothing else uses.
pub fn own_fleet(retry: bool) -> Fleet {
    let options = FleetOptions {
        retry,
        range_bytes: Some(4 * 40),
        ..FleetOptions::default()
    };
    Fleet::with_options([own_gpu(|_| ()), own_gpu(|_| ())], &options).unwrap()
}

/// Ranges of 40 values, 20 for each of two devices.
fn batch() -> Ragged<f32> {
    numbers(&lengths([40; 40]))
}

/// Doubles a batch; the devices of these numbers are destroyed in their third range.
fn with_losses(fleet: &Fleet, x: &Ragged<f32>, losses: &[usize]) -> Result<Ragged<f32>> {
    let ranges = [AtomicUsize::new(0), AtomicUsize::new(0)];
    fleet.map(x, Cost::values(), |device, part| {
        let mut devices = fleet.devices().iter();
        let on = devices.position(|other| is_same(other, device)).unwrap();
        let result = part.scale(2.0)?;
        if ranges[on].fetch_add(1, Ordering::SeqCst) == 2 && losses.contains(&on) {
            device.wgpu().unwrap().0.destroy();
        }
        Ok(result)
    })
}

#[track_caller]
fn assert_names(error: &Error, lost: usize) {
    let Error::Part { device, error, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((*device, error.kind()), (lost, "device_lost"), "{error}");
}

#[track_caller]
fn assert_works(device: &Device) {
    let x = batch();
    let fleet = Fleet::of([device.clone()]).unwrap();
    let got = fleet.map(&x, Cost::values(), |_, part| part.scale(2.0));
    assert_exact("2 x", &got.unwrap(), &x.cast(|x| 2.0 * x).unwrap());
}

fn is_named() {
    let fleet = own_fleet(false);
    let error = with_losses(&fleet, &batch(), &[1]).unwrap_err();
    assert_names(&error, 1);
    assert_works(&fleet.devices()[0]);
}

/// Also for batches that come later, which the lost device takes no part in.
fn others_take_over() {
    let x = batch();
    let expected = x.cast(|x| 2.0 * x).unwrap();
    for lost in [0, 1] {
        let fleet = own_fleet(true);
        for _ in 0..2 {
            let got = with_losses(&fleet, &x, &[lost]).unwrap();
            assert_exact(format!("without {lost}"), &got, &expected);
        }
        let error = fleet.devices()[lost].upload(&x).map(drop).unwrap_err();
        assert_eq!(error.kind(), "device_lost");
        assert_works(&fleet.devices()[1 - lost]);
    }
}

/// The device is lost after its last range was recorded, so that the results cannot be copied.
fn while_copying() {
    let x = numbers(&lengths([40, 40]));
    for retry in [false, true] {
        let fleet = own_fleet(retry);
        let first = &fleet.devices()[0];
        let got = fleet.map(&x, Cost::values(), |device, part| {
            let result = part.scale(2.0)?;
            if is_same(device, first) {
                device.flush()?;
                device.wgpu().unwrap().0.destroy();
            }
            Ok(result)
        });
        match retry {
            false => assert_names(&got.unwrap_err(), 0),
            true => drop(assert_exact(
                "2 x",
                &got.unwrap(),
                &x.cast(|x| 2.0 * x).unwrap(),
            )),
        }
    }
}

fn all() {
    let fleet = own_fleet(true);
    let error = with_losses(&fleet, &batch(), &[0, 1]).unwrap_err();
    let Error::Part { error, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(error.kind(), "device_lost");
}

fn before_gathering() {
    let fleet = own_fleet(false);
    let x = fleet.scatter(&batch(), Cost::values()).unwrap();
    fleet.devices()[1].wgpu().unwrap().0.destroy();
    let errors = [
        x.gather_blocking().unwrap_err(),
        pollster::block_on(x.gather()).unwrap_err(),
        x.each(|_, part| part.scale(2.0))
            .and_then(|y| y.gather_blocking())
            .unwrap_err(),
    ];
    for error in &errors {
        assert_names(error, 1);
    }
    assert_works(&fleet.devices()[0]);
}
