//! Boxes: two-axis transforms and convolutions, stacks and windows.

use vsla::image::Neighbours;
use vsla::{Complex32, Device, Pairing, Tensor, batch::Remainder, conv::ConvMethod};

use super::{Rows, Subject, beside, boxes_of, bytes, value};

/// Their transforms have many lengths, each with a kernel of its own.
pub(super) const TRANSFORMS: &[Subject] = &[
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

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "box_reductions",
        count: EXTENTS.len(),
        run: reductions,
    },
    Subject {
        name: "images",
        count: EXTENTS.len(),
        run: images,
    },
    Subject {
        name: "windows",
        count: EXTENTS.len(),
        run: windows,
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

/// Images of four colours.
fn images(device: &Device, picked: &[usize]) -> Rows {
    let colour = |i: usize, at: usize| (value(3, i, at) * 4.0) as i32;
    let x: Tensor<i32> = boxes_of(device, picked, |i| EXTENTS[i], colour);
    let factors: Vec<[usize; 2]> = picked.iter().map(|i| [1 + i % 2, 1 + i % 3]).collect();
    let small: Tensor<i32> = boxes_of(device, picked, |_| [1, 2], colour);
    let values: Tensor<i32> = boxes_of(device, picked, |_| [1], colour);
    let table: Tensor<f32> = boxes_of(device, picked, |i| [1 + i % 4], |i, at| value(4, i, at));
    beside([
        bytes(&x.rot90(1).unwrap()),
        bytes(&x.upscale(&factors).unwrap()),
        bytes(&x.translate(&[[3, -1]], 9).unwrap()),
        bytes(&x.dilate(Neighbours::Eight).unwrap()),
        bytes(&x.lookup(&table).unwrap()),
        bytes(&x.most_common().unwrap()),
        bytes(&x.least_common().unwrap()),
        bytes(&x.palette_blocking().unwrap()),
        bytes(&x.trim_blocking(1).unwrap()),
        bytes(&x.match_template(&small).unwrap()),
        bytes(&x.period(1).unwrap()),
        bytes(&x.draw_boxes(&x.bounding_box(0).unwrap(), &values).unwrap()),
    ])
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

fn reductions(device: &Device, picked: &[usize]) -> Rows {
    let x = batch(device, picked, 1);
    let other = |i: usize| EXTENTS[(i * 5 + 2) % EXTENTS.len()];
    let y = boxes_of(device, picked, other, |i, at| value(2, i, at));
    beside([x.sum(), x.norm2(), x.dot(&y), x.add(&y)].map(|result| bytes(&result.unwrap())))
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

/// For each element, the window that ends at its own stream: windows of two over the pairs (element, element).
fn windows(device: &Device, picked: &[usize]) -> Rows {
    let vectors: Vec<usize> = picked.iter().flat_map(|&i| 2 * i..2 * i + 2).collect();
    let length = |v: usize| [EXTENTS[v / 2][v % 2]];
    let x = boxes_of(device, &vectors, length, |v, at| value(4, v, at));
    let windows = x.window(2, 2, 1 << 30).unwrap();
    let levels = x.pyramid(&[2], Remainder::Pad, 1 << 30).unwrap();
    beside([
        bytes(&windows.rfft2().unwrap()),
        bytes(&levels[0].sum().unwrap()),
    ])
}
