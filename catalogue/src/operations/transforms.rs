//! Fourier transforms.

use vsla::{Layout, Ragged, Shape, scalar::DType};

use super::results::{Results, all, all_extents, each, one};
use super::{Law, MATRICES, Operation, ROW, UNARY, VECTORS, Work, batch};
use crate::options as opt;

/// Of vectors.
const TRANSFORM: Operation = Operation {
    options: UNARY,
    ranks: VECTORS,
    law: Law::None,
    work: Work::More,
    ..ROW
};
/// Of complex values.
const COMPLEX: Operation = TRANSFORM.of(DType::C32);

pub const ROWS: &[Operation] = &[
    Operation {
        name: "fft",
        about: "the discrete Fourier transform of each element",
        run: complex!(|call, device, args| batch(args[0].on(&device)?.fft()?)),
        ..COMPLEX
    },
    Operation {
        name: "ifft",
        about: "the inverse of fft, scaled by 1/n",
        run: complex!(|call, device, args| batch(args[0].on(&device)?.ifft()?)),
        ..COMPLEX
    },
    Operation {
        name: "rfft",
        results: each("n", "⌊n/2⌋ + 1; 0 for 0", |_, s| {
            one(vec![half(s[0][0])])
        }),
        about: "the first n/2 + 1 values of the fft of n real values; the answer is complex",
        run: single!(|call, device, args| batch(args[0].on(&device)?.rfft()?)),
        ..TRANSFORM
    },
    Operation {
        name: "irfft",
        options: &[opt::DTYPE, opt::RANK, opt::LENGTHS],
        results: Results {
            operands: "⌊n/2⌋ + 1, and n",
            ..LENGTHS
        },
        about: "the inverse of rfft: real values, with lengths giving their number",
        run: complex!(|call, device, args| {
            let layout = Layout::from_lengths(call.options.lengths()?)?;
            batch(args[0].on(&device)?.irfft(&layout)?)
        }),
        law: Law::Open,
        ..COMPLEX
    },
    Operation {
        name: "stft",
        options: &[opt::DTYPE, opt::RANK, opt::WINDOW_OF_VALUES, opt::HOP],
        results: each(
            "n, and a window of w values",
            "⌊(n − w) / hop⌋ + 1 frames, or 0 × ⌊w/2⌋ + 1",
            |options, s| {
                let (size, hop) = (options.weights().ok()?.len(), options.size("hop").ok()?);
                let frames = match s[0][0].checked_sub(size) {
                    Some(rest) => rest.checked_div(hop)? + 1,
                    None => 0,
                };
                one(vec![frames, half(size)])
            },
        ),
        about: "rffts of frames of each element, one every hop values, times the window: frames as rows",
        run: single!(|call, device, args| {
            let (weights, hop) = (call.options.weights()?, call.options.size("hop")?);
            let window = device.upload(&Ragged::from_rows([weights])?)?;
            batch(args[0].on(&device)?.stft(&window, hop)?)
        }),
        law: Law::Open,
        ..TRANSFORM
    },
    Operation {
        name: "istft",
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::WINDOW_OF_VALUES,
            opt::HOP,
            opt::LENGTHS,
        ],
        ranks: MATRICES,
        results: Results {
            operands: "frames × ⌊w/2⌋ + 1, a window of w values, and n",
            ..LENGTHS
        },
        about: "the inverse of stft: real values, with lengths giving their number",
        run: complex!(|call, device, args| {
            let (weights, hop) = (call.options.weights()?, call.options.size("hop")?);
            let size = weights.len();
            let layout = Layout::from_lengths(call.options.lengths()?)?;
            let window = device.upload(&Ragged::from_rows([weights])?)?;
            // The JSON of an element without frames shows no columns.
            let shapes = args[0]
                .layout()
                .shapes()
                .map(|shape| match shape.extents() {
                    [0, _] => Shape::new(&[0, size / 2 + 1]),
                    _ => Ok(shape),
                });
            let shapes = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
            let x = args[0].on(&device)?.reshape(&shapes)?;
            batch(x.istft(&window, hop, &layout)?)
        }),
        law: Law::Open,
        ..COMPLEX
    },
    Operation {
        name: "fft2",
        ranks: MATRICES,
        about: "the discrete Fourier transform along both axes of each element",
        run: complex!(|call, device, args| batch(args[0].on(&device)?.fft2()?)),
        ..COMPLEX
    },
    Operation {
        name: "ifft2",
        ranks: MATRICES,
        about: "the inverse of fft2, scaled by 1/(r c)",
        run: complex!(|call, device, args| batch(args[0].on(&device)?.ifft2()?)),
        ..COMPLEX
    },
    Operation {
        name: "rfft2",
        ranks: MATRICES,
        results: each("r × c", "r × ⌊c/2⌋ + 1; 0 for 0", |_, s| {
            match s[0].as_slice() {
                &[rows, columns] => one(vec![rows, half(columns)]),
                _ => None,
            }
        }),
        about: "the first c/2 + 1 columns of the fft2 of r x c real values; the answer is complex",
        run: single!(|call, device, args| batch(args[0].on(&device)?.rfft2()?)),
        ..TRANSFORM
    },
    Operation {
        name: "irfft2",
        options: &[opt::DTYPE, opt::RANK, opt::LENGTHS],
        ranks: MATRICES,
        results: all("r × ⌊c/2⌋ + 1, and c", "r × c", |options, x| {
            let rows = all_extents(x[0]).into_iter().map(|s| s[0]);
            let both = rows.zip(options.lengths().ok()?);
            Some(vec![Box::new(
                both.map(|(rows, columns)| Some(vec![rows, columns])),
            )])
        }),
        about: "the inverse of rfft2: real elements, with lengths giving their numbers of columns",
        run: complex!(|call, device, args| {
            let columns = call.options.lengths()?;
            let shapes = columns.into_iter().enumerate().map(|(i, columns)| {
                let rows = match i < args[0].len() {
                    true => args[0].layout().shape(i).extents()[0] as usize,
                    false => 0,
                };
                Shape::new(&[rows, columns])
            });
            let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
            batch(args[0].on(&device)?.irfft2(&layout)?)
        }),
        ..COMPLEX
    },
];

const LENGTHS: Results = all("", "n", |options, _| {
    let lengths = options.lengths().ok()?.into_iter();
    Some(vec![Box::new(lengths.map(|n| Some(vec![n])))])
});

/// How many values the transform of so many real values has.
fn half(values: usize) -> usize {
    if values == 0 { 0 } else { values / 2 + 1 }
}
