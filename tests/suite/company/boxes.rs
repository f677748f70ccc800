//! Boxes: two-axis transforms and convolutions, and stacks.

use vsla::{Complex32, Device, Pairing, Tensor, conv::ConvMethod};

use super::{Rows, Subject, beside, boxes_of, bytes, value};

/// Their transforms have many lengths, each with a kernel of its own.
pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "planes",
        count: EXTENTS.len(),
        run: planes,
    },
    Subject {
        name: "conv_boxes",
        count: EXTENTS.len() - 2,
        run: conv,
    },
    Subject {
        name: "stacks",
        count: EXTENTS.len(),
        run: stacks,
    },
];

/// Rows and columns whose transforms would share parts if one planner made them; the longest come last.
const EXTENTS: &[[usize; 2]] = &[
    [108, 3],
    [109, 27],
    [1, 1],
    [0, 5],
    [27, 108],
    [36, 109],
    [60, 66],
    [3, 337],
    [64, 64],
    [97, 101],
    [2, 2700],
    [2700, 2],
    [3, 4111],
    [8232, 2],
];

fn batch(device: &Device, picked: &[usize], seed: usize) -> Tensor<f32> {
    boxes_of(device, picked, |i| EXTENTS[i], |i, at| value(seed, i, at))
}

fn planes(device: &Device, picked: &[usize]) -> Rows {
    let x = batch(device, picked, 1);
    let z = boxes_of(
        device,
        picked,
        |i| EXTENTS[i],
        |i, at| Complex32::new(value(2, i, 2 * at), value(2, i, 2 * at + 1)),
    );
    let spectrum = x.rfft2().unwrap();
    beside([
        bytes(&spectrum),
        bytes(&spectrum.irfft2(x.layout()).unwrap()),
        bytes(&z.fft2().unwrap()),
        bytes(&z.ifft2().unwrap()),
    ])
}

fn conv(device: &Device, picked: &[usize]) -> Rows {
    let x = batch(device, picked, 1);
    let other = |i: usize| EXTENTS[(i * 5 + 2) % (EXTENTS.len() - 4)];
    let y = boxes_of(device, picked, other, |i, at| value(2, i, at));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    beside(
        [ConvMethod::Auto, ConvMethod::Fft]
            .into_iter()
            .flat_map(|method| {
                let pair = pair.convolution().method(method);
                [pair.conv(), pair.correlate()].map(|result| bytes(&result.unwrap()))
            }),
    )
}

/// Each element is a stack of its own slices, which are transformed after stacking and then unstacked.
fn stacks(device: &Device, picked: &[usize]) -> Rows {
    // Three vectors for each element.
    let vectors: Vec<usize> = picked.iter().flat_map(|&i| 3 * i..3 * i + 3).collect();
    let length = |v: usize| [EXTENTS[v / 3][(v % 3) % 2] + v % 3];
    let x = boxes_of(device, &vectors, length, |v, at| value(3, v, at));
    let stacks = x.stack_groups(&vec![3; picked.len()], 1 << 30).unwrap();
    let apart = stacks.unstack(x.layout()).unwrap().rfft().unwrap();
    let apart = bytes(&apart);
    beside([
        bytes(&stacks.rfft2().unwrap()),
        bytes(&stacks.norm2().unwrap()),
        apart.chunks(3).map(|rows| rows.concat()).collect(),
    ])
}
