//! Compiled kernels in a file.

use std::fs;
use std::io::ErrorKind;

use libtest_mimic::Trial;
use vsla::device::GpuOptions;
use vsla::{Device, Error};

use super::{lengths, numbers, own_gpu};
use crate::support::bench::{Bench, cpu, gpu};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_gpu("kernels_are_kept_in_a_file", gpu, |_| are_kept()),
        bench.on_gpu("kernels_of_two_devices_are_kept", gpu, |_| both_are_kept()),
        bench.host("kernels_are_kept_on_request", || {
            assert_eq!(cpu().save_pipelines(), Ok(false));
        }),
    ]
}

fn are_kept() {
    assert_eq!(own_gpu(|_| ()).save_pipelines(), Ok(false));
    let folder = std::env::temp_dir().join(format!("vsla-suite-kept-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("kernels");
    let open = || own_gpu(|options| options.pipeline_cache = Some(path.clone()));

    // Devices without the feature save nothing.
    let saves = computes(&open()).save_pipelines().unwrap();
    assert_eq!(path.exists(), saves);
    if saves {
        let saved = fs::read(&path).unwrap();
        assert_eq!(computes(&open()).save_pipelines(), Ok(true));
        let damaged = |at: usize| {
            let mut file = saved.clone();
            file[at] ^= 1;
            file
        };
        let middle = saved.len() / 2;
        for file in [
            vec![],
            saved[..middle].to_vec(),
            damaged(0),
            damaged(middle),
            damaged(saved.len() - 1),
            b"something else".to_vec(),
        ] {
            fs::write(&path, file).unwrap();
            assert_eq!(computes(&open()).save_pipelines(), Ok(true));
            computes(&open());
        }
        let names: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    let options = GpuOptions {
        pipeline_cache: Some(folder.clone()),
        ..GpuOptions::default()
    };
    let refused = Device::gpu_blocking(options).unwrap_err();
    let is_folder = matches!(
        refused,
        Error::Io {
            op: "device",
            kind: ErrorKind::IsADirectory | ErrorKind::PermissionDenied,
            ..
        }
    );
    assert!(is_folder, "{refused:?}");
    let device = open();
    fs::remove_dir_all(&folder).unwrap();
    if saves {
        let refused = device.save_pipelines().unwrap_err();
        assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
        assert!(!folder.exists());
    }
}

/// The file has the kernels of both devices, whichever saves last.
fn both_are_kept() {
    let folder = std::env::temp_dir().join(format!("vsla-suite-both-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let open = |name: &str| own_gpu(|options| options.pipeline_cache = Some(folder.join(name)));
    let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    let sines = |device: &Device| {
        let x = upload(device, &numbers(&lengths([3, 5]), 0));
        download(&x.sin().unwrap());
    };
    let [adds, other, also] = ["adds", "sines", "both"].map(open);
    sines(&other);
    let saves = other.save_pipelines().unwrap();
    assert_eq!(computes(&adds).save_pipelines(), Ok(saves));
    sines(&also);
    assert_eq!(computes(&also).save_pipelines(), Ok(saves));
    // Sizes differ only if the driver keeps more than the head of its data.
    let [first, second] = [0, 1].map(|_| open("shared"));
    computes(&first).save_pipelines().unwrap();
    assert_eq!(size("shared"), size("adds"));
    sines(&second);
    for device in [&second, &first, &second] {
        assert_eq!(device.save_pipelines(), Ok(saves));
        assert_eq!(size("shared"), size("both"));
    }
    // A kernel of the file is not compiled again, so nothing is added.
    let third = open("shared");
    computes(&third).save_pipelines().unwrap();
    assert_eq!(size("shared"), size("both"));
    fs::remove_dir_all(&folder).unwrap();
}

/// Compiles and runs a kernel.
fn computes(device: &Device) -> &Device {
    let x = numbers(&lengths([3, 0, 5]), 0);
    let sum = upload(device, &x).add(&upload(device, &x)).unwrap();
    let expected = vsla::Ragged::from_fn(x.layout(), |element, i| 2.0 * x.row(element)[i]);
    assert_exact("x + x", &download(&sum), &expected.unwrap());
    assert!(device.info().pipelines > 0);
    device
}
