//! Fourier transforms.

use vsla::{Layout, Ragged, Shape, scalar::DType};

use super::{Law, Operation, ROW, UNARY, Work, batch, complex, floats, within};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "fft",
        options: UNARY,
        about: "the discrete Fourier transform of each element (c32, rank 1)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(args[0].on(&device)?.fft()?)
        },
        dtype: DType::C32,
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "ifft",
        options: UNARY,
        about: "the inverse of fft, scaled by 1/n (c32, rank 1)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(args[0].on(&device)?.ifft()?)
        },
        dtype: DType::C32,
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "rfft",
        options: UNARY,
        about: "the first n/2 + 1 values of the fft of n real values; the answer is complex (f32, rank 1)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(args[0].on(&device)?.rfft()?)
        },
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "irfft",
        options: &["dtype", "rank", "lengths"],
        about: "the inverse of rfft: real values, with lengths giving their number (c32, rank 1)",
        run: |call| {
            let layout = Layout::from_lengths(call.options.lengths()?)?;
            let (device, args) = complex(call)?;
            let x = args[0].on(&device)?;
            batch(x.irfft(&layout)?)
        },
        dtype: DType::C32,
        law: Law::Open,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "stft",
        options: &["dtype", "rank", "window", "hop"],
        about: "rffts of frames of each element, one every hop values, times the window: frames as rows (f32, rank 1)",
        run: |call| {
            let (weights, hop) = (call.options.weights()?, call.options.size("hop")?);
            let (layout, size) = (call.layout(0), weights.len());
            if layout.rank() == 1 && hop > 0 {
                let frames =
                    |length: usize| length.checked_sub(size).map_or(0, |rest| rest / hop + 1);
                let frames = layout.lengths().map(|length| frames(length) as u64);
                within(
                    call.max_values,
                    &mut frames.map(|frames| frames * (size as u64 + 2)),
                )?;
            }
            let (device, args) = floats(call)?;
            let window = device.upload(&Ragged::from_rows([weights])?)?;
            batch(args[0].on(&device)?.stft(&window, hop)?)
        },
        law: Law::Open,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "istft",
        options: &["dtype", "rank", "window", "hop", "lengths"],
        about: "the inverse of stft: real values, with lengths giving their number (c32, rank 2)",
        run: |call| {
            let (weights, hop) = (call.options.weights()?, call.options.size("hop")?);
            let size = weights.len();
            let layout = Layout::from_lengths(call.options.lengths()?)?;
            within(call.max_values, &mut [layout.total() as u64].into_iter())?;
            let (device, args) = complex(call)?;
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
        },
        dtype: DType::C32,
        rank: Some(2),
        law: Law::Open,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "fft2",
        options: UNARY,
        about: "the discrete Fourier transform along both axes of each element (c32, rank 2)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(args[0].on(&device)?.fft2()?)
        },
        dtype: DType::C32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "ifft2",
        options: UNARY,
        about: "the inverse of fft2, scaled by 1/(r c) (c32, rank 2)",
        run: |call| {
            let (device, args) = complex(call)?;
            batch(args[0].on(&device)?.ifft2()?)
        },
        dtype: DType::C32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "rfft2",
        options: UNARY,
        about: "the first c/2 + 1 columns of the fft2 of r x c real values; the answer is complex (f32, rank 2)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(args[0].on(&device)?.rfft2()?)
        },
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "irfft2",
        options: &["dtype", "rank", "lengths"],
        about: "the inverse of rfft2: real elements, with lengths giving their numbers of columns (c32, rank 2)",
        run: |call| {
            let columns = call.options.lengths()?;
            let (device, args) = complex(call)?;
            let shapes = columns.into_iter().enumerate().map(|(i, columns)| {
                let rows = match i < args[0].len() {
                    true => args[0].layout().shape(i).extents()[0] as usize,
                    false => 0,
                };
                Shape::new(&[rows, columns])
            });
            let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
            let x = args[0].on(&device)?;
            batch(x.irfft2(&layout)?)
        },
        dtype: DType::C32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
];
