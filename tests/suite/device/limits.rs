//! Limits set below the GPU's own: dispatches are folded or split where possible, and refused otherwise.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Error, Pairing, Ragged, Tensor};

use super::{agrees_with_the_cpu, directly, drawn, lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials: Vec<Trial> = [1, 3, 8]
        .map(|limit| {
            bench.on_gpu(&format!("limits::workgroups_{limit}"), gpu, move |_| {
                workgroups(limit)
            })
        })
        .into();
    let tests: &[(&str, fn())] = &[
        ("limits::long_work_is_split", long_work_is_split),
        ("limits::workgroup_memory", workgroup_memory),
        ("limits::transforms_in_passes", transforms_in_passes),
        ("limits::invocations", invocations),
        ("limits::binding_bytes", binding_bytes),
        ("limits::are_shown", are_shown),
    ];
    trials.extend(
        tests
            .iter()
            .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test())),
    );
    trials
}

/// So few workgroups per dimension that even two dimensions are not enough: a dispatch is split into several.
fn workgroups(limit: u32) {
    let device = own_gpu(|options| {
        options.max_workgroups_per_dimension = Some(limit);
        options.poison = true;
    });
    assert_eq!(
        device.info().limits.unwrap().workgroups_per_dimension,
        limit
    );
    // A few dispatches per stage, the last of which is partial; with one workgroup per dispatch, several dozen.
    let elements = match limit {
        1 => 40,
        3 => 100,
        _ => 400,
    };
    let (a, b) = (
        numbers(&drawn("few left", elements, 40), 0),
        numbers(&drawn("few right", elements, 40), 1),
    );
    agrees_with_the_cpu(&device, &a, &b);
    // 8² workgroups of 2,048 values and more.
    let (a, b) = (
        numbers(&lengths([150_000, 1, 20_001]), 0),
        numbers(&lengths([150_000, 7, 19_999]), 1),
    );
    let got = run(&device, &a, &b, |x, y| x.add(y));
    assert_exact("add", &got, &run(&Device::cpu(), &a, &b, |x, y| x.add(y)));
    let got = run(&device, &a, &b, |x, _| x.sum());
    assert_exact("sum", &got, &run(&Device::cpu(), &a, &b, |x, _| x.sum()));
    let (_, profile) = device
        .profile_blocking(|| upload(&device, &a).scale(2.0).unwrap())
        .unwrap();
    if profile.device_time.is_some() {
        let scales = profile
            .kernels
            .iter()
            .filter(|kernel| kernel.kernel == "linear.f32.scale")
            .count();
        // Several dozen workgroups of a few thousand values.
        assert!(
            scales >= if limit < 6 { 2 } else { 1 },
            "{scales} dispatches"
        );
    }
}

/// One stage with more multiply-adds than a dispatch may have.
fn long_work_is_split() {
    let device = own_gpu(|options| options.poison = true);
    let (a, b) = (
        numbers(&lengths([40_000]), 0),
        numbers(&lengths([30_000]), 1),
    );
    let (x, y) = (upload(&device, &a), upload(&device, &b));
    let conv = |x: &Tensor<f32>, y: &Tensor<f32>| directly(x, y)?.conv();
    let (got, profile) = device.profile_blocking(|| conv(&x, &y).unwrap()).unwrap();
    if profile.device_time.is_some() && device.info().kind == vsla::device::DeviceKind::Software {
        let convs = profile
            .kernels
            .iter()
            .filter(|kernel| kernel.kernel == "conv_direct.f32");
        assert!(convs.count() > 1, "{profile:?}");
    }
    assert_exact("conv", &download(&got), &run(&Device::cpu(), &a, &b, conv));
}

#[track_caller]
fn unsupported<R>(outcome: vsla::Result<R>, op: &str, kernel: &str) {
    let Err(error) = outcome else {
        panic!("{op} ran")
    };
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("unsupported", op, None),
        "{error}"
    );
    assert!(error.to_string().contains(kernel), "{error}");
}

fn workgroup_memory() {
    let device = own_gpu(|options| options.max_workgroup_memory = Some(1024));
    let (a, b) = (numbers(&lengths([5, 6]), 0), numbers(&lengths([6, 5]), 1));
    let (x, y) = (upload(&device, &a), upload(&device, &b));
    unsupported(x.conv(&y), "conv", "conv_fused.f32");
    unsupported(x.correlate(&y), "correlate", "conv_fused.f32");
    let (i, j) = (
        a.cast(|value| value as i32).unwrap(),
        b.cast(|value| value as i32).unwrap(),
    );
    let (i, j) = (upload(&device, &i), upload(&device, &j));
    unsupported(i.conv(&j), "conv", "conv_direct.i32");
    unsupported(x.correlate_max(&y), "correlate_max", "correlate_max.f32");
    unsupported(x.sbd(&y), "sbd", "normalize.f32");
    unsupported(x.add(&y), "add", "ambient.f32.add");
    // Kernels without workgroup memory still run.
    assert_exact(
        "scale",
        &download(&x.scale(2.0).unwrap()),
        &a.cast(|value| 2.0 * value).unwrap(),
    );
    assert_exact(
        "add",
        &download(&x.add(&x).unwrap()),
        &a.cast(|value| 2.0 * value).unwrap(),
    );
}

/// Transforms that would fit in 32 KiB are computed in passes.
fn transforms_in_passes() {
    let device = own_gpu(|options| {
        options.max_workgroup_memory = Some(1 << 14);
        options.poison = true;
    });
    let layout = lengths([8192, 3001, 40, 4096]);
    let x = Ragged::from_fn(&layout, |_, i| {
        let at = i as f32;
        Complex32::new((at * 0.7).sin(), (at * at * 0.01).cos())
    })
    .unwrap();
    let spectra = |device: &Device| download(&upload(device, &x).fft().unwrap());
    let (got, expected) = (spectra(&device), spectra(&Device::cpu()));
    let close = |got: Ragged<Complex32>, expected: Ragged<Complex32>| {
        for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let size: f32 = expected.iter().map(|x| x.norm_sqr()).sum();
            let off = got.iter().zip(expected).map(|(x, y)| (x - y).norm_sqr());
            assert!(off.sum::<f32>() <= 1e-12 * size, "element {i}");
        }
    };
    close(got, expected);
    // Twice as many real values.
    let layout = lengths([16_384, 6002, 40, 8192]);
    let x = Ragged::from_fn(&layout, |_, i| (i as f32 * i as f32 * 0.01).cos()).unwrap();
    let tensor = upload(&device, &x);
    let spectra = tensor.rfft().unwrap();
    let back = download(&spectra.irfft(tensor.layout()).unwrap());
    let on_cpu = upload(&Device::cpu(), &x).rfft().unwrap();
    close(download(&spectra), download(&on_cpu));
    close(
        back.cast(Complex32::from).unwrap(),
        x.cast(Complex32::from).unwrap(),
    );
}

fn invocations() {
    let device = own_gpu(|options| options.max_invocations = Some(128));
    let (a, b) = (numbers(&lengths([5, 6]), 0), numbers(&lengths([6, 5]), 1));
    let (x, y) = (upload(&device, &a), upload(&device, &b));
    unsupported(x.scale(2.0), "scale", "linear.f32.scale");
    unsupported(x.add(&y), "add", "ambient.f32.add");
    unsupported(
        x.correlate_max(&y),
        "correlate_max",
        "correlate_max_finish.f32",
    );
    let expected = run(&Device::cpu(), &a, &b, |x, y| x.conv(y));
    assert_exact("conv", &download(&x.conv(&y).unwrap()), &expected);
}

#[track_caller]
fn too_large<R>(
    outcome: vsla::Result<R>,
    wanted_op: &str,
    wanted_element: Option<usize>,
    wanted_bytes: u64,
) {
    match outcome {
        Err(Error::TooLarge {
            op,
            element,
            bytes,
            limit,
            ..
        }) => {
            assert_eq!(
                (op, element, bytes, limit),
                (wanted_op, wanted_element, wanted_bytes, 4096)
            );
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{wanted_op} ran"),
    }
}

fn binding_bytes() {
    let device = own_gpu(|options| options.max_binding_bytes = Some(4096));
    let ones = |layout: &vsla::Layout| Ragged::full(layout, 1.0f32).unwrap();
    // A tensor of exactly the limit fits.
    let full = upload(&device, &ones(&lengths([1000, 24])));
    assert_exact(
        "the largest",
        &download(&full.scale(2.0).unwrap()),
        &Ragged::full(full.layout(), 2.0).unwrap(),
    );
    too_large(
        device.upload(&ones(&lengths([1000, 25]))),
        "upload",
        Some(1),
        4100,
    );
    too_large(
        device.upload(&ones(&lengths([500, 0, 500, 500, 3]))),
        "upload",
        Some(3),
        6012,
    );
    too_large(
        device.upload(&ones(&lengths([1025]))),
        "upload",
        Some(0),
        4100,
    );
    // Bytes fit, but not the words that they become.
    let bytes = Ragged::full(&lengths([1000, 25]), 1u8).unwrap();
    let bytes = device.upload(&bytes).unwrap();
    too_large(bytes.to::<u32>(), "to", Some(1), 4100);
    too_large(device.full(&lengths([4096, 1]), 1u8), "full", Some(1), 4100);
    too_large(
        device.full(&lengths([1, 0, 2000]), 1.0f32),
        "full",
        Some(2),
        8004,
    );
    // Too many elements, so that the error names none of them.
    too_large(
        device.upload(&ones(&lengths(vec![0; 1024]))),
        "upload",
        None,
        4100,
    );

    let (x, y) = (
        upload(&device, &ones(&lengths([600, 0]))),
        upload(&device, &ones(&lengths([0, 600]))),
    );
    too_large(x.add(&y), "add", Some(1), 4800);
    too_large(y.sub(&x), "sub", Some(1), 4800);
    too_large(x.conv(&x), "conv", Some(0), 4796);
    too_large(x.correlate(&x), "correlate", Some(0), 4796);
    assert!(x.correlate_max(&x).is_ok(), "no lag is stored");
    let many = upload(&device, &ones(&lengths([1; 40])));
    too_large(many.pair(&many, Pairing::AllToAll), "pair", None, 6404);
    // The results would fit, but their scratch buffers do not.
    let few = upload(&device, &ones(&lengths([1; 24])));
    let pair = few.pair(&few, Pairing::AllToAll).unwrap();
    too_large(pair.correlate_max(), "correlate_max", None, 4608);
    assert_exact(
        "after all that",
        &download(&x.add(&x).unwrap()),
        &Ragged::full(x.layout(), 2.0).unwrap(),
    );
}

fn are_shown() {
    let device = own_gpu(|options| {
        options.max_workgroups_per_dimension = Some(7);
        options.max_workgroup_memory = Some(20_000);
        options.max_invocations = Some(99);
        options.max_binding_bytes = Some(12_345);
    });
    let own = own_gpu(|options| options.max_binding_bytes = Some(u64::MAX))
        .info()
        .limits
        .unwrap();
    let limits = device.info().limits.unwrap();
    assert_eq!(limits.workgroups_per_dimension, 7);
    assert_eq!(limits.workgroup_memory, own.workgroup_memory.min(20_000));
    assert_eq!((limits.invocations, limits.binding_bytes), (99, 12_345));
    assert!(own.binding_bytes < u64::MAX, "limits are never raised");
    let refused = vsla::Device::gpu_blocking(vsla::device::GpuOptions {
        max_workgroups_per_dimension: Some(0),
        ..vsla::device::GpuOptions::default()
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "device: expected at least 1 workgroup per dimension, got 0"
    );
    let options = vsla::device::GpuOptions {
        emulated_matrices: Some(4),
        ..vsla::device::GpuOptions::default()
    };
    let refused = vsla::Device::gpu_blocking(options).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "device: expected emulated matrices of side 8 or 16, got 4"
    );
}
