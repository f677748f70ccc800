//! Which of several adapters is opened.

use std::fs;
use std::process::Command;

use libtest_mimic::Trial;
use vsla::device::GpuOptions;
use vsla::fleet::{Fleet, FleetOptions};
use vsla::{Device, Error};

use super::{lengths, numbers};
use crate::host::TASK;
use crate::support::bench::{Bench, gpu, is_software};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

/// The task of a process that sees two equal adapters.
pub const TWO: &str = "two_adapters";

/// The task of a process whose environment names the second of them.
pub const SECOND: &str = "second_adapter";

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_gpu("list_can_be_opened", gpu, |_| every_entry_opens()),
        bench.where_it_has(
            "two_equal_adapters",
            |device| is_software(device) && cfg!(target_os = "linux"),
            "a software driver on Linux, of which a copy is a second one",
            |_| with_a_second_driver(TWO),
        ),
    ]
}

fn every_entry_opens() {
    let all = Device::list();
    for (i, entry) in all.iter().enumerate() {
        assert_eq!(entry.ordinal, Some(i).filter(|&i| i + 1 < all.len()));
        let device = Device::open(entry).unwrap();
        let info = device.info();
        assert_eq!((&info.name, info.ordinal), (&entry.name, entry.ordinal));
        assert_eq!(
            (&info.pci, device.is_gpu()),
            (&entry.pci, i + 1 < all.len())
        );
    }
    let refused = opened("no such GPU").unwrap_err().to_string();
    assert!(
        refused.contains(&format!(
            "\"no such GPU\" names no adapter; use one of #0 ({}",
            all[0].name
        )),
        "{refused}"
    );
}

fn opened(adapter: &str) -> vsla::Result<Device> {
    Device::gpu_blocking(GpuOptions {
        adapter: Some(adapter.to_owned()),
        ..GpuOptions::default()
    })
}

/// Runs a task in a process whose loader finds the software driver and a copy of it, which are two equal adapters.
pub fn with_a_second_driver(task: &str) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut words = maps.split_whitespace();
    let driver = words.find(|word| word.contains("libvulkan_lvp"));
    let Some(driver) = driver else { return };
    let folder = std::env::temp_dir().join(format!("vsla-suite-{task}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("libvulkan_copy.so");
    fs::copy(driver, &copy).unwrap();
    let copy = copy.display().to_string();
    let files = [("first", driver), ("second", &copy)].map(|(name, library)| {
        let icd = serde_json::json!({"api_version": "1.3.0", "library_path": library});
        let file = serde_json::json!({"file_format_version": "1.0.0", "ICD": icd});
        let path = folder.join(name).with_extension("json");
        fs::write(&path, file.to_string()).unwrap();
        path.display().to_string()
    });
    let ran = Command::new(std::env::current_exe().unwrap())
        .env(TASK, task)
        .env("VK_DRIVER_FILES", files.join(":"))
        .env("VK_ICD_FILENAMES", files.join(":"))
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Both adapters can be opened, and devices have nothing in common.
pub fn two() {
    let all = Device::list();
    let names: Vec<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(names[0], names[1]);
    let part = &names[0][..4];
    let devices = [
        Device::open(&all[0]).unwrap(),
        Device::open(&all[1]).unwrap(),
        opened(&format!("{part}#1")).unwrap(),
    ];
    let ordinals = [0, 1, 2].map(|i: usize| devices[i].info().ordinal);
    assert_eq!(ordinals, [Some(0), Some(1), Some(1)]);
    let x = numbers(&lengths([3, 0, 700]), 0);
    let conv = |device: &Device| {
        let x = upload(device, &x);
        download(&x.conv(&x).unwrap())
    };
    let results = [0, 1, 2].map(|i: usize| conv(&devices[i]));
    assert_exact("the second", &results[1], &results[0]);
    assert_exact("the second by name", &results[2], &results[0]);
    let before = devices[0].memory().live;
    let held = upload(&devices[1], &x);
    assert_eq!(devices[0].memory().live, before);
    let mixed = upload(&devices[0], &x).add(&held).unwrap_err();
    assert!(matches!(mixed, Error::DeviceMismatch { .. }), "{mixed}");
    let named = Command::new(std::env::current_exe().unwrap())
        .env(TASK, SECOND)
        .env("WGPU_ADAPTER_NAME", format!("{part}#1"))
        .output()
        .unwrap();
    let complained = String::from_utf8_lossy(&named.stderr);
    assert!(named.status.success(), "{complained}");
    let refused = opened(&format!("{part}#2")).unwrap_err().to_string();
    assert!(refused.contains("#1 ("), "{refused}");
}

/// The environment names the adapter of devices and fleets whose options name none.
pub fn second() {
    let second = Some(1);
    let device = Device::gpu_blocking(GpuOptions::default()).unwrap();
    assert_eq!(device.info().ordinal, second);
    assert_eq!(Device::auto().info().ordinal, second);
    let fleet = Fleet::open(FleetOptions::default()).unwrap();
    let ordinals = fleet.devices().iter().map(|device| device.info().ordinal);
    assert_eq!(ordinals.collect::<Vec<_>>(), [second]);
}
