//! Batches of bytes: conversions against the host's, and what they do not share with words. `rows::bytes` compares the
//! operations on both.

use libtest_mimic::Trial;
use vsla::image::{Components, Neighbours};
use vsla::program::Program;
use vsla::scalar::Ordered;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, pick};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("there_and_back", there_and_back),
        ("conversions", conversions),
        ("views_begin_anywhere", views_begin_anywhere),
        ("empty", empty),
        ("in_programs", in_programs),
        ("refused", refused),
    ];
    bench.all_on_each_device(tests)
}

fn bytes(layout: &Layout, below: u8) -> Ragged<u8> {
    let mut random = rng("bytes");
    Ragged::from_fn(layout, |_, _| random.u8(..below)).unwrap()
}

fn matrices(shapes: &[[usize; 2]]) -> Layout {
    Layout::from_shapes(2, shapes.iter().map(|s| Shape::new(s).unwrap())).unwrap()
}

fn by_hand(device: &Device) {
    let layout = matrices(&[[1, 3], [0, 4], [2, 1]]);
    let x = Ragged::from_parts(layout, vec![0u8, 128, 255, 7, 1]).unwrap();
    let there = device.upload(&x).unwrap();
    let turned = there.rot90(1).unwrap().download_blocking().unwrap();
    assert_eq!(
        turned.to_vecs().unwrap(),
        [vec![255, 128, 0], vec![], vec![7, 1]]
    );
    assert_eq!(turned.shape(1), Shape::new(&[4, 0]).unwrap());
    let words = there.to::<u32>().unwrap();
    let expected = Ragged::from_parts(x.layout().clone(), vec![0u32, 128, 255, 7, 1]).unwrap();
    assert_exact("widened", &download(&words), &expected);
    let above = there.dilate(Neighbours::Four).unwrap();
    let above = above.download_blocking().unwrap();
    assert_eq!(above.values(), [128, 255, 255, 7, 7]);
}

/// Numbers of values around those of a word, an invocation and a workgroup, in one element and in many.
fn there_and_back(device: &Device) {
    let mut layouts: Vec<Layout> = (0..10)
        .chain([255, 1023, 1024, 1025, 4095, 4096, 4097, 70_001])
        .map(|length| Layout::from_lengths([length]).unwrap())
        .collect();
    let mut random = rng("lengths");
    let lengths: Vec<usize> = (0..3000).map(|_| random.usize(0..12)).collect();
    layouts.push(Layout::from_lengths(lengths).unwrap());
    layouts.push(Layout::from_lengths([0, 0]).unwrap());
    layouts.push(Layout::from_lengths([0; 0]).unwrap());
    let cube = [[2, 3, 5], [0, 1, 9], [1, 1, 7]].map(|s| Shape::new(&s).unwrap());
    layouts.push(Layout::from_shapes(3, cube).unwrap());
    for layout in layouts {
        let x = bytes(&layout, 255);
        let there = device.upload(&x).unwrap();
        assert_eq!(there.download_blocking().unwrap(), x);
        assert_eq!(there.copy().unwrap().download_blocking().unwrap(), x);
        let words = there.to::<u32>().unwrap();
        assert_exact("words", &download(&words), &x.cast(u32::from).unwrap());
        let back = words.to::<u8>().unwrap();
        assert_eq!(pollster::block_on(back.download()).unwrap(), x);
        let full = device.full(&layout, 77u8).unwrap();
        let expected = Ragged::from_fn(&layout, |_, _| 77u8).unwrap();
        assert_eq!(full.download_blocking().unwrap(), expected);
    }
}

fn conversions(device: &Device) {
    fn from<T: Ordered>(device: &Device, values: &[T], to: fn(T) -> u8) {
        // Every length, so that the last word is of every size.
        for length in 1..=values.len() {
            let x = Ragged::from_rows([&values[..length]]).unwrap();
            let expected = x.cast(to).unwrap();
            let there = device.upload(&x).unwrap();
            let got = there.to::<u8>().unwrap().download_blocking().unwrap();
            assert_eq!(got, expected);
        }
    }
    let unsigned = [0u32, 1, 254, 255, 256, 511, 65_536, 1 << 31, u32::MAX];
    from(device, &unsigned, |v| u8::try_from(v).unwrap_or(255));
    let signed = [0, -1, 255, 256, i32::MIN, i32::MAX, -256, 7, 65_535, 3];
    from(device, &signed, |v| v.clamp(0, 255) as u8);
    let floats = [
        0.0f32,
        -0.0,
        0.999,
        1.0,
        254.9,
        255.0,
        255.9,
        256.0,
        1e9,
        -1.0,
        -1e-9,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        1e-40,
    ];
    from(device, &floats, |v| v as u8);
    from(device, &floats.map(f16::from_f32), |v| v.to_f32() as u8);
    let all: Vec<u8> = (0..=255).collect();
    let x = Ragged::from_rows([&all[..3], &all[..0], &all[..], &all[9..20]]).unwrap();
    let there = device.upload(&x).unwrap();
    for first in 0..4 {
        let (x, there) = (
            pick(&x, &(first..4).collect::<Vec<_>>()),
            there.elements(first..4).unwrap(),
        );
        let floats = there.to::<f32>().unwrap().download_blocking().unwrap();
        assert_eq!(floats, x.cast(f32::from).unwrap());
        let halves = there.to::<f16>().unwrap().download_blocking().unwrap();
        assert_eq!(halves, x.cast(f16::from).unwrap());
        let signed = there.to::<i32>().unwrap().download_blocking().unwrap();
        assert_eq!(signed, x.cast(i32::from).unwrap());
        let same = there.to::<u8>().unwrap().download_blocking().unwrap();
        assert_eq!(same, x);
    }
}

fn views_begin_anywhere(device: &Device) {
    let layout = Layout::from_lengths([1, 2, 0, 3, 700, 5, 9]).unwrap();
    let x = bytes(&layout, 255);
    let there = device.upload(&x).unwrap();
    for first in 0..layout.len() {
        let view = there.elements(first..layout.len()).unwrap();
        for got in [&view, &view.copy().unwrap()] {
            let got = got.download_blocking().unwrap();
            assert_eq!(got.len(), layout.len() - first);
            for element in 0..got.len() {
                assert_eq!(got.row(element), x.row(first + element));
            }
        }
        let mut into = vec![1u8; view.layout().total()];
        view.download_into_blocking(&mut into).unwrap();
        assert_eq!(into, x.values()[layout.offsets().range(first).start..]);
    }
    // A shift by every number of bytes, at the first and the last word.
    let long = there.elements(4..5).unwrap();
    for before in 0..6 {
        let padded = long
            .pad(&[before], &[1])
            .unwrap()
            .download_blocking()
            .unwrap();
        assert_eq!(
            padded.values(),
            [&vec![0; before][..], x.row(4), &[0]].concat()
        );
    }
    let cpu = there.to_device_blocking(&Device::cpu()).unwrap();
    assert_eq!(cpu.download_blocking().unwrap(), x);
}

/// The extremes of an empty element are the ends of the range of bytes, not of u32.
fn empty(device: &Device) {
    let layout = Layout::from_lengths([0, 2, 0]).unwrap();
    let x = Ragged::from_parts(layout, vec![7u8, 9]).unwrap();
    let x = device.upload(&x).unwrap();
    let values = |x: Tensor<u8>| x.download_blocking().unwrap().values().to_vec();
    assert_eq!(values(x.max().unwrap()), [0, 9, 0]);
    assert_eq!(values(x.min().unwrap()), [255, 7, 255]);
    let flat = Ragged::from_parts(matrices(&[[0, 2], [1, 2]]), vec![7u8, 9]).unwrap();
    let flat = device.upload(&flat).unwrap();
    assert_eq!(values(flat.min_axis(0).unwrap()), [255, 255, 7, 9]);
    assert_eq!(values(flat.max_axis(0).unwrap()), [0, 0, 7, 9]);
    let places = x.argmin().unwrap().download_blocking().unwrap();
    assert_eq!(places.values(), [u32::MAX, 0, u32::MAX]);
}

/// A recording takes bytes as inputs and keeps them as constants, and gives what the operations give alone.
fn in_programs(device: &Device) {
    let layout = matrices(&[[5, 3], [0, 4], [9, 1], [7, 7]]);
    let x = bytes(&layout, 5);
    let constant = device.upload(&bytes(&layout, 9)).unwrap();
    fn made(
        x: &Tensor<u8>,
        constant: &Tensor<u8>,
    ) -> Result<(Tensor<u8>, Tensor<f32>, Tensor<u32>)> {
        let turned = x.maximum(constant)?.rot90(1)?.pad(&[0, 1], &[1, 0])?;
        let floats = turned.dilate(Neighbours::Eight)?.to::<f32>()?.scale(0.5)?;
        let labels = turned.label(Components::of_equal_values())?.0;
        Ok((turned, floats, labels))
    }
    let held = constant.clone();
    let program = Program::new(device, move |r| {
        let (turned, floats, labels) = made(&r.input::<u8>()?, &held)?;
        r.output(&turned)?;
        r.output(&floats)?;
        r.output(&labels)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let x = device.upload(&x).unwrap();
    let outputs = plan.run(&[&x]).unwrap();
    let (turned, floats, labels) = made(&x, &constant).unwrap();
    let got = outputs.get::<u8>(0).unwrap().download_blocking().unwrap();
    assert_eq!(got, turned.download_blocking().unwrap());
    assert_exact(
        "floats",
        &download(&outputs.get::<f32>(1).unwrap()),
        &download(&floats),
    );
    assert_exact(
        "labels",
        &download(&outputs.get::<u32>(2).unwrap()),
        &download(&labels),
    );
}

/// Errors name the operation as for other types.
fn refused(device: &Device) {
    let x = device
        .upload(&bytes(&matrices(&[[2, 2], [3, 3]]), 9))
        .unwrap();
    let y = device.upload(&bytes(&matrices(&[[2, 2]]), 9)).unwrap();
    let refused = |error: vsla::Error, op: &str, kind: &str| {
        assert_eq!((error.op(), error.kind()), (op, kind), "{error}");
    };
    refused(
        x.upscale(&[[1, 1], [0, 1]]).unwrap_err(),
        "upscale",
        "argument",
    );
    refused(x.concat(&y, 0).unwrap_err(), "concat", "batch_size");
    let table = device
        .upload(&Ragged::from_rows([[1u8; 3]]).unwrap())
        .unwrap();
    refused(
        x.lookup_strict_blocking(&table).unwrap_err(),
        "lookup_strict",
        "argument",
    );
}
