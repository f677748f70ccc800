//! Batches that the host holds as bytes: against the bytes themselves, and against conversions on the host.

use libtest_mimic::Trial;
use vsla::program::Program;
use vsla::scalar::Integer;
use vsla::{Device, Layout, Ragged, Shape, Tensor};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("there_and_back", there_and_back),
        ("values_outside", values_outside),
        ("views_begin_anywhere", views_begin_anywhere),
        ("in_programs", in_programs),
    ];
    bench.all_on_each_device(tests)
}

fn bytes(layout: &Layout) -> Ragged<u8> {
    let mut random = rng("bytes");
    Ragged::from_fn(layout, |_, _| random.u8(..)).unwrap()
}

fn by_hand(device: &Device) {
    let layout = Layout::from_shapes(2, [[1, 3], [0, 4], [2, 1]].map(|s| Shape::new(&s).unwrap()));
    let x = Ragged::from_parts(layout.unwrap(), vec![0u8, 128, 255, 7, 1]).unwrap();
    let there = device.upload_u8(&x).unwrap();
    let words = Ragged::from_parts(x.layout().clone(), vec![0u32, 128, 255, 7, 1]).unwrap();
    assert_exact("uploaded", &download(&there), &words);
    let turned = there.rot90(1).unwrap().download_u8_blocking().unwrap();
    assert_eq!(
        turned.to_vecs().unwrap(),
        [vec![255, 128, 0], vec![], vec![7, 1]]
    );
    assert_eq!(turned.shape(1), Shape::new(&[4, 0]).unwrap());
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
        let x = bytes(&layout);
        let there = device.upload_u8(&x).unwrap();
        assert_exact("there", &download(&there), &x.cast(u32::from).unwrap());
        let back = there.download_u8_blocking().unwrap();
        assert_eq!(back.layout(), x.layout());
        assert_eq!(back.values(), x.values());
        let later = pollster::block_on(there.to::<i32>().unwrap().download_u8()).unwrap();
        assert_eq!(later.values(), x.values());
    }
}

fn values_outside(device: &Device) {
    fn check<T: Integer>(device: &Device, values: Vec<T>, to: fn(T) -> u8) {
        let x = Ragged::from_rows([values]).unwrap();
        let expected = x.cast(to).unwrap();
        let got = upload(device, &x).download_u8_blocking().unwrap();
        assert_eq!(got.values(), expected.values());
    }
    let unsigned = vec![0, 1, 254, 255, 256, 511, 65_536, 1 << 31, u32::MAX];
    check(device, unsigned, |v| u8::try_from(v).unwrap_or(255));
    let signed = vec![0, -1, 255, 256, i32::MIN, i32::MAX, -256, 7, 65_535, 3];
    check(device, signed, |v: i32| v.clamp(0, 255) as u8);
}

fn views_begin_anywhere(device: &Device) {
    let layout = Layout::from_lengths([1, 2, 0, 3, 700, 5, 9]).unwrap();
    let x = bytes(&layout);
    let there = device.upload_u8(&x).unwrap();
    for first in 0..layout.len() {
        let view = there.elements(first..layout.len()).unwrap();
        let got = view.download_u8_blocking().unwrap();
        assert_eq!(got.len(), layout.len() - first);
        for element in 0..got.len() {
            assert_eq!(got.row(element), x.row(first + element));
        }
    }
}

/// A recording keeps uploaded bytes as constants. Its values cannot be read.
fn in_programs(device: &Device) {
    let layout = Layout::from_lengths([5, 0, 9]).unwrap();
    let x = bytes(&layout);
    let constant = device.upload_u8(&x).unwrap();
    let (there, bytes) = (device.clone(), x.clone());
    let program = Program::new(device, move |r| {
        let input: Tensor<u32> = r.input()?;
        let refused = input.download_u8_blocking().unwrap_err();
        assert_eq!((refused.kind(), refused.op()), ("recording", "download_u8"));
        r.output(&input.add(&there.upload_u8(&bytes)?)?.add(&constant)?)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let outputs = plan.run(&[&device.upload_u8(&x).unwrap()]).unwrap();
    let sum = x.cast(|v| 3 * u32::from(v)).unwrap();
    assert_exact("sum", &download(&outputs.get::<u32>(0).unwrap()), &sum);
}
