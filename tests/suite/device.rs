//! The devices: selection, recording, waiting, caching and failures.

#[cfg(feature = "gpu")]
mod adapters;
mod bad_input;
#[cfg(feature = "gpu")]
mod embedding;
mod empty;
#[cfg(feature = "gpu")]
mod failures;
#[cfg(feature = "gpu")]
mod handles;
#[cfg(feature = "gpu")]
mod kept;
#[cfg(feature = "gpu")]
mod limits;
#[cfg(feature = "gpu")]
mod lost;
#[cfg(feature = "gpu")]
mod memory;
mod moving;
#[cfg(feature = "gpu")]
mod parts;
mod plans;
#[cfg(feature = "gpu")]
mod pressure;
#[cfg(feature = "gpu")]
mod profile;
#[cfg(feature = "gpu")]
mod programs;
mod reading;
mod recording;
#[cfg(feature = "gpu")]
mod shared;
mod views;

#[cfg(feature = "gpu")]
pub use adapters::{
    SECOND as SECOND_ADAPTER, TWO as TWO_ADAPTERS, second as second_adapter, two as two_adapters,
    with_a_second_driver,
};
#[cfg(feature = "gpu")]
pub use parts::{ENDS, ends_while_a_kernel_is_compiled};

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Pairing, Ragged, Tensor,
    conv::{ConvMethod, Convolution},
    device::DeviceKind,
};

use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![
        bench.host("auto", auto),
        bench.host("list", list),
        bench.host("a_name_that_nothing_has", a_name_that_nothing_has),
    ];
    trials.extend(bench.on_each_device("info", info));
    trials.extend(bad_input::tests(bench));
    trials.extend(empty::tests(bench));
    trials.extend(moving::tests(bench));
    trials.extend(plans::tests(bench));
    trials.extend(reading::tests(bench));
    trials.extend(recording::tests(bench));
    trials.extend(views::tests(bench));
    #[cfg(feature = "gpu")]
    for tests in [
        adapters::tests,
        embedding::tests,
        failures::tests,
        handles::tests,
        kept::tests,
        limits::tests,
        lost::tests,
        memory::tests,
        pressure::tests,
        parts::tests,
        profile::tests,
        programs::tests,
        shared::tests,
    ] {
        trials.extend(tests(bench));
    }
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("checked", crate::support::bench::gpu, |_| checked()));
    trials
}

/// Opens another device on the GPU of the trials, which nothing else uses.
#[cfg(feature = "gpu")]
pub use crate::support::bench::opened_for_one as own_gpu;

/// A trial with buffers that the application can map; ignored if there are none.
#[cfg(feature = "gpu")]
fn mapping_trial(bench: &Bench, name: &str, test: fn(embedding::Application)) -> Trial {
    use embedding::Application;
    let has = |_: &Device| Application::with_mappable_buffers().is_some();
    let test = move |_: &Device| test(Application::with_mappable_buffers().unwrap());
    bench.where_it_has(name, has, "no mappable storage buffers", test)
}

fn lengths(lengths: impl IntoIterator<Item = usize>) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

/// Small integers that identify their positions.
fn numbers(layout: &Layout, seed: usize) -> Ragged<f32> {
    Ragged::from_fn(layout, |element, i| {
        ((element * 31 + i * 7 + seed * 5) % 13) as f32 - 6.0
    })
    .unwrap()
}

/// Elements of 0 to `longest` values.
fn drawn(purpose: &str, elements: usize, longest: usize) -> Layout {
    let mut rng = rng(purpose);
    lengths(
        (0..elements)
            .map(|_| rng.usize(0..=longest))
            .collect::<Vec<_>>(),
    )
}

/// Trials by name, each run on a device.
type Tests<'a> = &'a [(&'a str, fn(&Device))];

/// An operation on two batches, and its results, lags as floats.
type Op = fn(&Tensor<f32>, &Tensor<f32>) -> vsla::Result<Vec<Ragged<f32>>>;

/// Every operation on f32. Results for integer values are exact, except those of `sbd` and `norm2`.
const EVERY_OP: &[(&str, Op)] = &[
    ("add", |x, y| Ok(vec![x.add(y)?.download_blocking()?])),
    ("sub", |x, y| Ok(vec![x.sub(y)?.download_blocking()?])),
    ("scale", |x, _| Ok(vec![x.scale(3.0)?.download_blocking()?])),
    ("copy", |x, _| Ok(vec![x.copy()?.download_blocking()?])),
    ("full", |x, _| {
        Ok(vec![x.device().full(x.layout(), 2.5)?.download_blocking()?])
    }),
    ("conv", |x, y| {
        Ok(vec![directly(x, y)?.conv()?.download_blocking()?])
    }),
    ("correlate", |x, y| {
        Ok(vec![directly(x, y)?.correlate()?.download_blocking()?])
    }),
    ("correlate_max", |x, y| {
        let best = directly(x, y)?.correlate_max()?;
        Ok(vec![
            best.value.download_blocking()?,
            best.lag
                .download_blocking()?
                .cast(|lag| lag as f32)
                .unwrap(),
        ])
    }),
    ("sbd", |x, y| {
        let sbd = x.sbd(y)?;
        Ok(vec![
            sbd.distance.download_blocking()?,
            sbd.lag.download_blocking()?.cast(|lag| lag as f32).unwrap(),
        ])
    }),
    ("sum", |x, _| Ok(vec![x.sum()?.download_blocking()?])),
    ("dot", |x, y| Ok(vec![x.dot(y)?.download_blocking()?])),
    ("norm2", |x, _| Ok(vec![x.norm2()?.download_blocking()?])),
    ("max", |x, _| Ok(vec![x.max()?.download_blocking()?])),
    ("argmax", |x, _| {
        Ok(vec![
            x.argmax()?
                .download_blocking()?
                .cast(|index| index as f32)
                .unwrap(),
        ])
    }),
];

/// Element by element, and by the method that is exact.
fn directly<'a>(x: &'a Tensor<f32>, y: &'a Tensor<f32>) -> vsla::Result<Convolution<'a, f32>> {
    Ok(x.pair(y, Pairing::Elementwise)?
        .convolution()
        .method(ConvMethod::Direct))
}

/// Runs every operation on both devices: results must agree, exactly where the values are integers.
fn agrees_with_the_cpu(device: &Device, a: &Ragged<f32>, b: &Ragged<f32>) {
    let cpu = Device::cpu();
    let (x, y) = (upload(device, a), upload(device, b));
    let (p, q) = (upload(&cpu, a), upload(&cpu, b));
    for (name, op) in EVERY_OP {
        let got = op(&x, &y).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = op(&p, &q).unwrap();
        for (got, expected) in got.iter().zip(&expected) {
            if !["sbd", "norm2"].contains(name) {
                assert_exact(name, got, expected);
                continue;
            }
            assert_eq!(got.layout(), expected.layout(), "{name}");
            for (i, (got, expected)) in got.values().iter().zip(expected.values()).enumerate() {
                let near = (got - expected).abs() <= 1e-5 * expected.abs().max(1.0);
                // If several lags are equally good, rounding decides between them.
                let lag = *name == "sbd" && expected.fract() == 0.0;
                assert!(
                    near || lag,
                    "{name}, element {i}: {got} instead of {expected}"
                );
            }
        }
    }
}

/// Shaders with runtime checks give the same bits as those without.
#[cfg(feature = "gpu")]
fn checked() {
    let devices = [own_gpu(|options| options.checked = true), own_gpu(|_| ())];
    let (a, b) = (
        drawn("checked left", 40, 300),
        drawn("checked right", 40, 300),
    );
    for (name, op) in EVERY_OP {
        let [got, expected] = devices.each_ref().map(|device| {
            let x = upload(device, &numbers(&a, 0)).add_scalar(0.1).unwrap();
            let y = upload(device, &numbers(&b, 1)).add_scalar(0.7).unwrap();
            op(&x, &y).unwrap()
        });
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got.layout(), expected.layout(), "{name}");
            let bits = |batch: &Ragged<f32>| batch.cast(f32::to_bits).unwrap();
            assert_eq!(bits(got), bits(expected), "{name}");
        }
    }
}

fn auto() {
    let device = Device::auto();
    let info = device.info();
    assert!(!info.name.is_empty() && !info.reason.is_empty(), "{info:?}");
    let named = std::env::var_os("WGPU_ADAPTER_NAME").is_some();
    assert!(named || info.kind != DeviceKind::Software, "{info}");
    assert_eq!(device.is_gpu(), info.kind != DeviceKind::Cpu);
    let x = Ragged::from_rows([vec![1.0f32, 2.0], vec![]]).unwrap();
    assert_exact(
        "a copy",
        &download(&upload(&device, &x).copy().unwrap()),
        &x,
    );
}

fn list() {
    let list = Device::list();
    let cpu = list.last().unwrap();
    assert_eq!((cpu.kind, cpu.backend.as_str()), (DeviceKind::Cpu, "cpu"));
    assert_eq!(
        list.iter()
            .filter(|info| info.kind == DeviceKind::Cpu)
            .count(),
        1
    );
    for info in &list {
        assert!(info.reason.is_empty(), "{info:?}");
        assert_eq!(
            info.to_string(),
            format!("{} ({})", info.name, info.backend)
        );
    }
    let software = list
        .iter()
        .position(|info| info.kind == DeviceKind::Software);
    let real = list
        .iter()
        .rposition(|info| info.kind == DeviceKind::Discrete);
    assert!(software.is_none() || real < software, "{list:?}");
}

fn info(device: &Device) {
    let info = device.info();
    assert_eq!(device.is_gpu(), info.limits.is_some());
    assert_eq!(
        format!("{device:?}"),
        format!("Device({} ({}))", info.name, info.backend)
    );
    let text = info.to_string();
    assert!(
        text.starts_with(&info.name) && text.ends_with(&info.reason),
        "{text}"
    );
    if let Some(limits) = info.limits {
        assert!(limits.workgroups_per_dimension >= 65_535, "{limits:?}");
        assert!(
            limits.workgroup_memory >= 16_384 && limits.invocations >= 256,
            "{limits:?}"
        );
        assert!(limits.binding_bytes >= 128 << 20, "{limits:?}");
        assert!(["vulkan", "metal", "dx12"].contains(&info.backend.as_str()));
    }
    let x = upload(device, &numbers(&lengths([3, 2]), 1));
    let text = format!("{x:?}");
    assert!(text.contains(&info.name) && !text.contains("-6"), "{text}");
    assert_eq!(x.device().info().name, info.name);
}

fn a_name_that_nothing_has() {
    #[cfg(feature = "gpu")]
    {
        let options = vsla::device::GpuOptions {
            adapter: Some("no such adapter".to_string()),
            ..Default::default()
        };
        let error = Device::gpu_blocking(options).unwrap_err();
        assert_eq!(
            (error.kind(), error.op(), error.element()),
            ("no_device", "device", None)
        );
    }
}
