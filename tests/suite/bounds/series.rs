//! Programs of convolutions, correlations and transforms.

use vsla::{
    Complex32, Layout, Paired, Pairing, Result, Tensor,
    batch::Side,
    conv::{ConvMethod, ConvMode},
    scalar::Real,
};

use super::{Draw, Value};
use crate::support::operation::pair_list;

pub const KERNELS: &[&str] = &[
    "conv_boxes",
    "conv_direct",
    "conv_fused",
    "conv_cached",
    "conv_place",
    "correlate_max",
    "correlate_max_finish",
    "eval",
    "fft",
    "fft_bluestein",
    "fft_filter",
    "fft_pass",
    "fft_real",
    "fft_smooth",
    "fft_tiny",
    "frames",
    "normalize",
];

pub fn program(d: &mut Draw<'_>) {
    match d.turn % 6 {
        0 => convolved::<i32>(d),
        1 => convolved::<u32>(d),
        2 => convolved::<f32>(d),
        3 => compared(d),
        4 => transformed(d),
        _ => long(d),
    }
}

fn convolved<T: Value + Real>(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 1, 2, 3]), d.of(&[1, 3, 12]));
    let (x, y) = (d.drawn::<T>(rank, n), d.drawn::<T>(rank, n));
    let mode = d.of(&[
        ConvMode::Full,
        ConvMode::Same,
        ConvMode::Valid,
        ConvMode::Causal,
    ]);
    let strides: Vec<usize> = (0..rank).map(|_| d.rng.usize(1..4)).collect();
    let list = [(0, 0), (n as u32 - 1, 0)];
    for pairing in [Pairing::Elementwise, Pairing::List(&pair_list(list))] {
        let pair = x.pair(&y, pairing).unwrap();
        let methods = [
            ConvMethod::Auto,
            ConvMethod::Direct,
            ConvMethod::Fft,
            ConvMethod::OverlapSave,
        ];
        let pair = pair.convolution().method(d.of(&methods)).side(Side::Left);
        d.ran("conv", pair.conv());
        d.ran("correlate", pair.correlate());
        d.ran("conv of a mode", pair.mode(mode).conv());
        d.ran("conv of a stride", pair.mode(mode).stride(&strides).conv());
        d.ran("correlate of a mode", pair.mode(mode).correlate());
    }
    let (x, y) = (d.drawn::<T>(1, n), d.drawn::<T>(1, n));
    d.ran("eval", x.eval(&y));
}

fn compared(d: &mut Draw<'_>) {
    let n = d.of(&[1, 3, 9]);
    let (x, y) = (d.drawn::<f32>(1, n), d.drawn::<f32>(1, n));
    let few = y.elements(n - n.min(3)..n).unwrap();
    for method in [ConvMethod::Auto, ConvMethod::Direct, ConvMethod::Fft] {
        let pair = x
            .pair(&few, Pairing::AllToAll)
            .unwrap()
            .convolution()
            .method(method);
        d.ran("correlate_max", pair.correlate_max());
        d.ran("conv", pair.conv());
    }
    d.ran("sbd", x.sbd(&y));
    d.ran("sbd of the same", x.sbd(&x));
    let signals = d.drawn::<f32>(1, n);
    let plan = x
        .pair(&signals, Pairing::Elementwise)
        .and_then(|pair| pair.conv_plan());
    if let Some(plan) = d.ran("conv_plan", plan) {
        d.ran("plan.conv", plan.conv(&signals));
        d.ran("plan.causal", plan.causal(&signals));
    }
}

fn transformed(d: &mut Draw<'_>) {
    let n = d.of(&[1, 3, 8]);
    let layout = d.layout(1, n);
    transforms(d, &layout);
    let layout = d.layout(2, 3);
    let (x, z) = (d.tensor::<f32>(&layout), d.tensor::<Complex32>(&layout));
    d.ran("fft2", z.fft2());
    d.ran("ifft2", z.ifft2());
    if let Some(z) = d.ran("rfft2", x.rfft2()) {
        d.ran("irfft2", z.irfft2(&layout));
    }
    framed(d, n);
}

/// Frames of vectors, some of which are shorter than a frame, and vectors from frames.
fn framed(d: &mut Draw<'_>, n: usize) {
    let x = d.drawn::<f32>(1, n);
    let size = Layout::from_lengths([d.of(&[1, 2, 7, 16, 33])]).unwrap();
    let (window, hop) = (d.tensor::<f32>(&size), d.rng.usize(1..20));
    if let Some(spectra) = d.ran("stft", x.stft(&window, hop)) {
        d.ran("istft", spectra.istft(&window, hop, x.layout()));
    }
}

pub fn transforms(d: &mut Draw<'_>, layout: &Layout) {
    let (x, z) = (d.tensor::<f32>(layout), d.tensor::<Complex32>(layout));
    d.ran("fft", z.fft());
    d.ran("ifft", z.ifft());
    if let Some(z) = d.ran("rfft", x.rfft()) {
        d.ran("irfft", z.irfft(layout));
    }
}

/// Transforms in passes, and convolutions of a few lengths that need them.
pub fn long(d: &mut Draw<'_>) {
    let lengths = [
        d.of(&[8192, 16_384, 32_768]),
        d.of(&[9000, 10_001, 20_000]),
        1,
    ];
    let layout = Layout::from_lengths(lengths).unwrap();
    transforms(d, &layout);
    let x = d.tensor::<f32>(&layout);
    let y = d.drawn::<f32>(1, 3);
    let by = |pair: Result<Paired<'_, f32>>, method| -> Result<Tensor<f32>> {
        pair?.convolution().method(method).conv()
    };
    d.ran(
        "long fft",
        by(x.pair(&x, Pairing::Elementwise), ConvMethod::Fft),
    );
    d.ran(
        "long blocks",
        by(x.pair(&y, Pairing::Elementwise), ConvMethod::OverlapSave),
    );
    let plan = y
        .pair(&x, Pairing::Elementwise)
        .and_then(|pair| pair.conv_plan());
    if let Some(plan) = d.ran("long plan", plan) {
        d.ran("plan.conv", plan.conv(&x));
    }
}
