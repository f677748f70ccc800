//! A fleet of two equal GPUs: a software driver and a copy of it.

use libtest_mimic::Trial;
use vsla::Device;
use vsla::device::GpuOptions;
use vsla::fleet::{Fleet, FleetOptions};

use super::{corpus_divides, training};
use crate::device::with_a_second_driver;
use crate::support::bench::{Bench, is_software};

/// The task of a process that sees two equal adapters.
pub const TWO: &str = "fleet_of_two";

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![bench.where_it_has(
        "two_equal_adapters",
        |device| is_software(device) && cfg!(target_os = "linux"),
        "a software driver on Linux, of which a copy is a second one",
        |_| with_a_second_driver(TWO),
    )]
}

fn opened(adapter: Option<&str>, devices: Option<usize>) -> vsla::Result<Fleet> {
    Fleet::open(FleetOptions {
        devices,
        gpu: GpuOptions {
            adapter: adapter.map(str::to_owned),
            ..GpuOptions::default()
        },
        ..FleetOptions::default()
    })
}

pub fn two() {
    let name = Device::list()[0].name.clone();
    let part = &name[..4];
    let two = opened(Some(part), None).unwrap();
    let ordinals = |fleet: &Fleet| {
        let devices = fleet.devices().iter();
        devices
            .map(|device| device.info().ordinal)
            .collect::<Vec<_>>()
    };
    assert_eq!(ordinals(&two), [Some(0), Some(1)]);
    let second = opened(Some("#1"), None).unwrap();
    assert_eq!(ordinals(&second), [Some(1)]);
    assert_eq!(ordinals(&opened(Some(part), Some(1)).unwrap()), [Some(0)]);
    // Nobody asked for software.
    if std::env::var_os("WGPU_ADAPTER_NAME").is_none() {
        assert_eq!(ordinals(&opened(None, None).unwrap()), [None]);
    }
    let refused = opened(Some("no such GPU"), None).unwrap_err().to_string();
    assert!(refused.contains("#1 ("), "{refused}");
    let fleets = [second, two];
    corpus_divides(&fleets);
    training::agrees(&fleets);
}
