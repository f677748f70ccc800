//! Strided slices, sums across elements, labels, frames and dropout.

use vsla::{Complex32, Device, Tensor, batch::Seed};

use super::functions::{EXTENTS, batch, halves};
use super::vectors::{LENGTHS, side};
use super::{Rows, Subject, beside, boxes_of, bytes, value};

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "strided",
        count: EXTENTS.len(),
        run: strided,
    },
    Subject {
        name: "sum_groups",
        count: LENGTHS.len(),
        run: sum_groups,
    },
    Subject {
        name: "labels",
        count: EXTENTS.len(),
        run: labels,
    },
    Subject {
        name: "frames",
        count: LENGTHS.len(),
        run: frames,
    },
    Subject {
        name: "dropout",
        count: EXTENTS.len(),
        run: dropout,
    },
];

fn strided(device: &Device, picked: &[usize]) -> Rows {
    let (x, half) = (batch(device, picked, 1), halves(device, picked, 2));
    let ranges = [
        [(None, None, -1), (None, None, 1)],
        [(Some(-3), None, -2), (Some(1), Some(-1), 3)],
        [(Some(40), Some(-40), 2), (Some(-1), Some(5), -7)],
    ];
    beside(ranges.iter().flat_map(|ranges| {
        let of_halves = half.strided_slice(ranges).unwrap();
        [bytes(&x.strided_slice(ranges).unwrap()), bytes(&of_halves)]
    }))
}

/// Each element is a sum of one to five vectors, which do not lie beside each other.
fn sum_groups(device: &Device, picked: &[usize]) -> Rows {
    let members = |group: usize| 1 + picked[group] % 5;
    let all = (0..5).flat_map(|member| {
        let groups = (0..picked.len()).filter(move |&group| member < members(group));
        groups.map(move |group| (group, member))
    });
    let all: Vec<(usize, usize)> = all.collect();
    let groups: Vec<u32> = all.iter().map(|&(group, _)| group as u32).collect();
    // The same vector, wherever it lies.
    let vectors: Vec<usize> = all
        .iter()
        .map(|&(group, member)| 5 * picked[group] + member)
        .collect();
    let length = |v: usize| [LENGTHS[(v / 5 + 11 * (v % 5)) % LENGTHS.len()]];
    let x: Tensor<f32> = boxes_of(device, &vectors, length, |v, at| value(1, v, at));
    let half = x.to::<vsla::f16>().unwrap();
    beside([
        bytes(&x.sum_groups(&groups, picked.len()).unwrap()),
        bytes(&half.sum_groups(&groups, picked.len()).unwrap()),
    ])
}

fn labels(device: &Device, picked: &[usize]) -> Rows {
    let scores = batch(device, picked, 1);
    let targets: Tensor<u32> = boxes_of(
        device,
        picked,
        |i| [EXTENTS[i][0]],
        |i, at| (i + 7 * at) as u32 % (EXTENTS[i][1] as u32 + 1),
    );
    beside([
        bytes(&scores.cross_entropy(&targets).unwrap()),
        bytes(&targets.one_hot::<f32>(5).unwrap()),
        bytes(&table(device).embedding(&targets).unwrap()),
        bytes(&targets.one_hot::<vsla::f16>(3).unwrap()),
    ])
}

/// Rows for some of the targets.
fn table(device: &Device) -> Tensor<f32> {
    use vsla::{Ragged, Shape};
    let shape = Shape::new(&[3, 5]).unwrap();
    let table = Ragged::from_shapes((0..15).map(|i| i as f32).collect(), 2, [shape]);
    device.upload(&table.unwrap()).unwrap()
}

fn frames(device: &Device, picked: &[usize]) -> Rows {
    let x = side(device, picked, &|i| LENGTHS[i], 1);
    beside([(64, 24), (101, 200)].into_iter().flat_map(|(size, hop)| {
        let window = device.hann(size).unwrap();
        let spectra: Tensor<Complex32> = x.stft(&window, hop).unwrap();
        let back = spectra.istft(&window, hop, x.layout()).unwrap();
        [bytes(&spectra), bytes(&back)]
    }))
}

/// Which values are kept depends on the number of an element, so elements that follow each other are one batch.
fn dropout(device: &Device, picked: &[usize]) -> Rows {
    let runs = picked.chunk_by(|i, next| i + 1 == *next);
    let rows = runs.flat_map(|run| {
        let seed = Seed::from(9).from_element(run[0] as u32);
        beside([
            bytes(&batch(device, run, 1).dropout(0.3, seed).unwrap()),
            bytes(&halves(device, run, 2).dropout(0.7, seed).unwrap()),
        ])
    });
    rows.collect()
}
