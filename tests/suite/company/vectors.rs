//! Series: transforms and convolutions.

use vsla::{
    Complex32, Device, Layout, Pairing, Shape, Tensor,
    batch::Side,
    conv::{ConvMethod, ConvMode},
    product::ShapeMatrix,
};

use crate::support::bench::is_long;

use super::{Rows, Subject, assert_same, beside, boxes_of, bytes, value};

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "transforms",
        count: LENGTHS.len(),
        run: |device, picked| transforms(device, picked, &|i| LENGTHS[i]),
    },
    Subject {
        name: "conv::auto",
        count: LENGTHS.len(),
        run: |device, picked| conv(device, picked, ConvMethod::Auto),
    },
    Subject {
        name: "conv::fft",
        count: LENGTHS.len(),
        run: |device, picked| conv(device, picked, ConvMethod::Fft),
    },
    Subject {
        name: "conv::overlap_save",
        count: LENGTHS.len(),
        run: |device, picked| conv(device, picked, ConvMethod::OverlapSave),
    },
    Subject {
        name: "conv::direct",
        count: 30,
        run: |device, picked| conv(device, picked, ConvMethod::Direct),
    },
    Subject {
        name: "conv::modes",
        count: LENGTHS.len(),
        run: modes,
    },
    Subject {
        name: "conv_plan",
        count: LENGTHS.len(),
        run: conv_plan,
    },
    Subject {
        name: "shape_matrices",
        count: 12,
        run: shape_matrices,
    },
];

/// First, lengths that were once found to influence each other; then primes, powers, products of small primes, and
/// lengths on both sides of 4,096 and 8,192.
const LENGTHS: &[usize] = &[
    108, 2700, 109, 4111, 0, 1, 3, 4, 64, 66, 96, 121, 1000, 1024, 1111, 1536, 1537, 1999, 2048,
    2401, 2600, 2701, 3000, 3125, 3600, 4000, 4001, 4095, 4096, 4097, 4099, 4200, 4374, 4620, 4913,
    5000, 8191, 8192, 8193, 8232, 8748, 9000, 9973, 10_000, 12_167,
];

/// Lengths of the other operands.
fn other(i: usize) -> usize {
    LENGTHS[(i * 7 + 3) % LENGTHS.len()]
}

fn side(
    device: &Device,
    picked: &[usize],
    length: &dyn Fn(usize) -> usize,
    seed: usize,
) -> Tensor<f32> {
    boxes_of(device, picked, |i| [length(i)], |i, at| value(seed, i, at))
}

/// All four transforms, of these lengths.
fn transforms(device: &Device, picked: &[usize], length: &dyn Fn(usize) -> usize) -> Rows {
    let real = side(device, picked, length, 1);
    let complex = boxes_of(
        device,
        picked,
        |i| [length(i)],
        |i, at| Complex32::new(value(1, i, 2 * at), value(1, i, 2 * at + 1)),
    );
    let spectrum = boxes_of(
        device,
        picked,
        |i| [if length(i) == 0 { 0 } else { length(i) / 2 + 1 }],
        |i, at| Complex32::new(value(2, i, 2 * at), value(2, i, 2 * at + 1)),
    );
    beside([
        bytes(&complex.fft().unwrap()),
        bytes(&complex.ifft().unwrap()),
        bytes(&real.rfft().unwrap()),
        bytes(&spectrum.irfft(real.layout()).unwrap()),
    ])
}

/// Two batches that once had different results.
pub(super) fn named(device: &Device) {
    for lengths in [[108, 2700], [109, 4111], [2700, 108], [4111, 109]] {
        let length = |i: usize| lengths[i];
        let whole = transforms(device, &[0, 1], &length);
        for (i, expected) in whole.iter().enumerate() {
            let alone = transforms(device, &[i], &length);
            assert_same(&format!("{lengths:?}"), device, i, &alone[0], expected);
        }
    }
}

/// Batches of 50 random lengths: up to 5,000, where differences once occurred, and longer ones.
pub(super) fn many_batches(device: &Device) {
    let batches = if device.is_gpu() || !is_long() { 1 } else { 4 };
    for seed in 0..batches {
        let mut rng = fastrand::Rng::with_seed(seed);
        let lengths: Vec<usize> = (0..50)
            .map(|i| rng.usize(1..=if i < 44 { 5000 } else { 9000 }))
            .collect();
        let length = |i: usize| lengths[i];
        let all: Vec<usize> = (0..lengths.len()).collect();
        let whole = transforms(device, &all, &length);
        for i in all {
            let alone = transforms(device, &[i], &length);
            let what = format!("batch {seed}, length {}", lengths[i]);
            assert_same(&what, device, i, &alone[0], &whole[i]);
        }
    }
}

fn conv(device: &Device, picked: &[usize], method: ConvMethod) -> Rows {
    let x = side(device, picked, &|i| LENGTHS[i], 1);
    let y = side(device, picked, &other, 2);
    let pair = x
        .pair(&y, Pairing::Elementwise)
        .unwrap()
        .convolution()
        .method(method);
    beside([
        bytes(&pair.conv().unwrap()),
        bytes(&pair.correlate().unwrap()),
    ])
}

fn modes(device: &Device, picked: &[usize]) -> Rows {
    let x = side(device, picked, &|i| LENGTHS[i], 1);
    let y = side(device, picked, &other, 2);
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    let modes = [ConvMode::Same, ConvMode::Valid, ConvMode::Causal];
    beside(modes.into_iter().flat_map(|mode| {
        let pair = pair.convolution().mode(mode).side(Side::Left);
        [pair.conv(), pair.stride(&[3]).correlate()].map(|result| bytes(&result.unwrap()))
    }))
}

fn conv_plan(device: &Device, picked: &[usize]) -> Rows {
    let x = side(device, picked, &|i| LENGTHS[i], 1);
    let y = side(device, picked, &other, 2);
    let plan = x
        .pair(&y, Pairing::Elementwise)
        .unwrap()
        .conv_plan()
        .unwrap();
    beside([plan.conv(&x), plan.causal(&x)].map(|result| bytes(&result.unwrap())))
}

/// Products of 2 x 2 matrices of vectors, some of which use transforms.
fn shape_matrices(device: &Device, picked: &[usize]) -> Rows {
    let entries = |seed: usize| {
        let length = |entry: usize| LENGTHS[(entry * (seed + 4) + seed * 5) % LENGTHS.len()] / 2;
        let entries = picked.iter().flat_map(|&i| 4 * i..4 * i + 4);
        let entries: Vec<usize> = entries.collect();
        side(device, &entries, &length, seed)
    };
    let grid = Layout::from_shapes(2, picked.iter().map(|_| Shape::new(&[2, 2]).unwrap()));
    let grid = grid.unwrap();
    let [x, y] = [1, 2].map(|seed| ShapeMatrix::new(&entries(seed), &grid).unwrap());
    let rows = bytes(x.conv_matmul(&y).unwrap().entries());
    rows.chunks(4).map(|entries| entries.concat()).collect()
}
