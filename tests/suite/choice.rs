//! The choice of a convolution method for a pair: determined by lengths alone, forced, refused, and by measured costs.

use std::time::Duration;

use libtest_mimic::Trial;
use vsla::{
    Device, Error, Layout, Pairing, Ragged,
    conv::{ConvChoice, ConvMethod, CostTable, HeterogeneityProfile},
};

use crate::support::bench::{Bench, DeviceTest, is_hurried};
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let each: &[DeviceTest] = &[
        ("is_what_the_device_does", is_what_the_device_does),
        (
            "a_method_that_cannot_serve_a_pair",
            a_method_that_cannot_serve_a_pair,
        ),
        ("measured_costs", measured_costs),
    ];
    let mut trials = bench.all_on_each_device(each);
    trials.extend(bench.on_each_device_if_fast(true, "long_by_long", long_by_long));
    trials.push(bench.host("needs_no_device", needs_no_device));
    trials.push(bench.host("profile", profile));
    trials
}

fn plan(lengths: [&[usize]; 2], method: ConvMethod, costs: &CostTable) -> ConvChoice {
    let [a, b] = lengths.map(|l| Layout::from_lengths(l.iter().copied()).unwrap());
    ConvChoice::new((&a, &b), Pairing::Elementwise, method, costs).unwrap()
}

fn needs_no_device() {
    let gpu = CostTable::gpu();
    let lengths: [&[usize]; 2] = [&[3, 0, 200, 1_000_000, 200], &[4, 9, 300, 500, 300]];
    let auto = plan(lengths, ConvMethod::Auto, &gpu);
    let found = auto.groups.iter().map(|g| (g.method, g.length, g.pairs));
    let expected = [
        (ConvMethod::Direct, None, 1),
        (ConvMethod::Fft, Some(512), 2),
        (ConvMethod::OverlapSave, Some(4096), 1),
    ];
    assert!(found.eq(expected), "{auto}");
    // Cost tables are values: they can be compared, and a table that was saved and read back is equal.
    assert_eq!(
        auto,
        plan(lengths, ConvMethod::Auto, &gpu.to_string().parse().unwrap())
    );
    let direct = plan(lengths, ConvMethod::Direct, &gpu);
    assert_ne!(auto, direct);
    assert_eq!(direct.groups.len(), 1);
    assert!(auto.predicted < direct.predicted);
    assert!(auto.to_string().contains("overlap_save of 4096"), "{auto}");
    let nothing = plan([&[], &[]], ConvMethod::Auto, &gpu);
    assert!(nothing.groups.is_empty() && nothing.predicted == Duration::ZERO);
    // A list of pairs, and a batch that does not consist of series.
    let a = Layout::from_lengths([5, 700]).unwrap();
    let list = Pairing::List(&pair_list([(1, 1), (0, 1), (1, 1)]));
    let listed = ConvChoice::new((&a, &a), list, ConvMethod::Auto, &gpu).unwrap();
    assert_eq!(
        listed.groups.iter().map(|group| group.pairs).sum::<usize>(),
        3
    );
    let squares = Layout::uniform(2, vsla::Shape::new(&[2, 2]).unwrap()).unwrap();
    let refused = ConvChoice::new((&squares, &a), Pairing::Elementwise, ConvMethod::Auto, &gpu);
    assert_eq!(refused.unwrap_err().kind(), "rank");
}

/// The choice is the same from lengths alone, from tensors, and with the device's table.
fn is_what_the_device_does(device: &Device) {
    let layout = Layout::from_lengths([1, 8, 15, 142, 0, 456, 5000]).unwrap();
    let x = upload(device, &Ragged::<f32>::random(&layout, 1).unwrap());
    for method in [
        ConvMethod::Auto,
        ConvMethod::Direct,
        ConvMethod::OverlapSave,
    ] {
        let pair = x
            .pair(&x, Pairing::Elementwise)
            .unwrap()
            .convolution()
            .method(method);
        let alone = ConvChoice::new(
            (&layout, &layout),
            Pairing::Elementwise,
            method,
            device.costs(),
        );
        assert_eq!(pair.choice(), alone);
    }
}

fn a_method_that_cannot_serve_a_pair(device: &Device) {
    let layout = Layout::from_lengths([0, 3, 4]).unwrap();
    let whole = upload(device, &Ragged::full(&layout, 7i32).unwrap());
    for method in [ConvMethod::Fft, ConvMethod::OverlapSave] {
        let pair = whole
            .pair(&whole, Pairing::Elementwise)
            .unwrap()
            .convolution()
            .method(method);
        for (op, error) in [("conv", pair.conv()), ("correlate", pair.correlate())] {
            let error = error.unwrap_err();
            assert_eq!(
                (error.kind(), error.op(), error.element()),
                ("method", op, Some(1))
            );
            let text = format!(
                "{op}: pair 1: the method {method} does not support this pair: values of i32 support only the direct \
                 method; use auto or direct"
            );
            assert_eq!(error.to_string(), text);
        }
    }
    // A table without costs of transforms.
    let costs = device.costs().to_string();
    let (rest, _) = costs.split_once("fft=").unwrap();
    let device = device
        .with_costs(format!("{rest}fft=").parse().unwrap())
        .unwrap();
    let x = upload(&device, &Ragged::<f32>::random(&layout, 1).unwrap());
    let pair = x.pair(&x, Pairing::Elementwise).unwrap();
    assert_eq!(pair.conv_choice().unwrap().groups.len(), 1);
    let error = pair
        .convolution()
        .method(ConvMethod::Fft)
        .conv()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("this device supports no transforms"),
        "{error}"
    );
}

/// A measured table can be saved, read back and passed in; results stay within their bounds.
fn measured_costs(device: &Device) {
    // The benchmark measures how long this takes; here, kernels are compiled and other tests run meanwhile. A software
    // device takes seconds for each length of its table, so its table has two.
    let device = &if is_hurried(device) {
        let costs = device.costs().to_string();
        let (rest, lengths) = costs.split_once("fft=").unwrap();
        let few: Vec<&str> = lengths.split(',').take(2).collect();
        let costs = format!("{rest}fft={}", few.join(","));
        device.with_costs(costs.parse().unwrap()).unwrap()
    } else {
        device.clone()
    };
    let costs = device.calibrate_conv().unwrap();
    let costs: CostTable = costs.to_string().parse().unwrap();
    let other = device.with_costs(costs.clone()).unwrap();
    assert_eq!(other.costs(), &costs);
    let layout = Layout::from_lengths([1, 30, 300, 3000]).unwrap();
    let values = Ragged::<f32>::random(&layout, 1).unwrap();
    let conv = |device: &Device| {
        let x = upload(device, &values);
        download(&x.conv(&x).unwrap())
    };
    let (got, expected) = (conv(&other), conv(device));
    for i in 0..values.len() {
        let size: f32 = values.row(i).iter().map(|x| x * x).sum();
        let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 4e-6 * size;
        assert!(
            got.row(i).iter().zip(expected.row(i)).all(near),
            "element {i}"
        );
    }
    // A table for another class of device is refused.
    let engines = [
        CostTable::cpu(),
        CostTable::gpu(),
        CostTable::software_gpu(),
    ];
    let refused = engines.into_iter().filter(|table| {
        matches!(
            device.with_costs(table.clone()),
            Err(Error::CostTable { .. })
        )
    });
    assert_eq!(refused.count(), 2);
}

/// The results are complete; a few are compared with sums in f64.
fn long_by_long(device: &Device) {
    let (m, n) = match device.is_gpu() {
        true => (120_000, 90_000),
        false => (1_000_000, 1_000_000),
    };
    let [a, b] = [(m, 1), (n, 2)].map(|(length, seed)| {
        Ragged::<f32>::random(&Layout::from_lengths([length]).unwrap(), seed).unwrap()
    });
    let got = download(&upload(device, &a).conv(&upload(device, &b)).unwrap());
    let (a, b, got) = (a.row(0), b.row(0), got.row(0));
    assert_eq!(got.len(), m + n - 1);
    let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let bound = 1.5 * 21.0 * norm(a) * norm(b) / f64::from(1u32 << 24);
    for q in [
        0,
        1,
        4095,
        4096,
        n - 1,
        n,
        m - 1,
        m,
        m + n / 2,
        m + n - 3,
        m + n - 2,
    ] {
        let terms = (q + 1).saturating_sub(n)..m.min(q + 1);
        let sum: f64 = terms.map(|i| f64::from(a[i]) * f64::from(b[q - i])).sum();
        assert!(
            (sum - f64::from(got[q])).abs() <= bound,
            "{q}: {sum} {}",
            got[q]
        );
    }
}

fn profile() {
    let layout = Layout::from_lengths([8, 15, 142, 7, 456]).unwrap();
    for costs in [CostTable::cpu(), CostTable::gpu()] {
        let profile = HeterogeneityProfile::new(&layout, &costs).unwrap();
        let (text, json) = (profile.to_string(), profile.to_json());
        assert!(json.starts_with('{') && json.ends_with('}'));
        for (name, time) in profile.predicted.named() {
            assert!(time.is_some_and(|time| time > Duration::ZERO), "{name}");
            assert!(
                text.contains(name) && json.contains(&format!("\"{name}\":")),
                "{name}"
            );
        }
        let chosen = profile.predicted.chosen;
        let others = profile.predicted.named();
        assert!(others.iter().all(|(_, time)| chosen <= *time), "{profile}");
    }
}
