//! The kernels of short transforms, and the WGSL that Rust writes for them.

use std::borrow::Cow;

use super::items::{
    BluesteinParams, BluesteinSlots, FILTERED, FilterParams, FilterSlots, Params, RealSlots, Slots,
    TinyParams, TinySlots,
};
use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::ops::multipass::MODES;
use crate::plan::{Interface, Kernel, Listed, Table, constants, place_of, shader, variants};
use crate::ragged::DType;

/// log2 of the shortest and of the longest power of two with a kernel.
pub(super) const LOG_SHORTEST: u32 = 5;
pub(super) const LOG_LONGEST: u32 = 13;
/// The longest transform that is computed by the definition.
pub(super) const TINY: usize = 64;

pub(super) const LOG_GROUP: u32 = 8;
const WG: u32 = 1 << LOG_GROUP;

/// Transforms of 2^log values: a build of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Length(u32);

const fn lengths<const N: usize>(shortest: u32) -> [Length; N] {
    let mut all = [Length(shortest); N];
    let mut i = 0;
    while i < N {
        all[i].0 += i as u32;
        i += 1;
    }
    all
}

static LENGTHS: [Length; 9] = lengths(LOG_SHORTEST);
/// The lengths of Bluestein's convolutions.
static CONVOLUTIONS: [Length; 6] = lengths(8);

/// The variant of [`KERNEL`] and of [`REAL`] for transforms of 2^log values.
pub(super) fn variant(log: u32) -> usize {
    place_of(&LENGTHS, &Length(log))
}

/// The variant of [`BLUESTEIN`] and of [`FILTER`] for convolutions of 2^log values.
pub(super) fn convolution(log: u32) -> usize {
    place_of(&CONVOLUTIONS, &Length(log))
}

impl Listed for Length {
    fn dtype(&self) -> DType {
        DType::C32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        const FLAGS: [&str; 9] = [
            "N32", "N64", "N128", "N256", "N512", "N1024", "N2048", "N4096", "N8192",
        ];
        vec![FLAGS[(self.0 - LOG_SHORTEST) as usize]].into()
    }

    /// `THREADS` invocations share a transform. Invocation j holds `HELD` values: value s is at j + s `THREADS`.
    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let held = 1 << held(self.0);
        let length = 1 << self.0;
        vec![
            ("WG", WG),
            ("LENGTH", length),
            ("HELD", held),
            ("LAST", held - 1),
            ("THREADS", length / held),
        ]
    }

    fn generate(&self, part: &str) -> Option<String> {
        match part {
            "fft" | "fft_real" | "fft_filter" => Some(generate(self.0, false)),
            "fft_bluestein" => Some(generate(self.0, true)),
            _ => None,
        }
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("fft/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[MODES],
    variants: &LENGTHS,
};

pub(super) static TINY_KERNEL: Kernel = Kernel {
    shader: shader!("fft/tiny"),
    interface: Interface::of::<TinySlots, TinyParams>(),
    constants: &[MODES, constants![WG]],
    variants: variants![C32],
};

pub(super) static FILTER: Kernel = Kernel {
    shader: shader!("fft/filter"),
    interface: Interface::of::<FilterSlots, FilterParams>(),
    constants: &[FILTERED],
    variants: &CONVOLUTIONS,
};

pub(super) static BLUESTEIN: Kernel = Kernel {
    shader: shader!("fft/bluestein"),
    interface: Interface::of::<BluesteinSlots, BluesteinParams>(),
    constants: &[MODES, FILTERED],
    variants: &CONVOLUTIONS,
};

pub(super) static REAL: Kernel = Kernel {
    shader: shader!("fft/real"),
    interface: Interface::of::<RealSlots, Params>(),
    constants: &[MODES],
    variants: &LENGTHS,
};

/// log2 of the values that an invocation holds.
const fn held(log: u32) -> u32 {
    match log {
        ..10 => 3,
        10..13 => 4,
        _ => 5,
    }
}

/// log2 of the radix of each stage.
fn radices(log: u32) -> &'static [u32] {
    match log {
        5 => &[2, 3],
        6 => &[3, 3],
        7 => &[1, 3, 3],
        8 => &[2, 3, 3],
        9 => &[3, 3, 3],
        10 => &[2, 4, 4],
        11 => &[3, 4, 4],
        12 => &[4, 4, 4],
        _ => &[4, 4, 5],
    }
}

/// Bytes of workgroup memory that transforms of 2^log values take.
pub(super) const fn memory(log: u32) -> u32 {
    4 << (LOG_GROUP + held(log))
}

/// Transforms of 2^log values per workgroup.
pub(super) fn per_group(log: u32) -> usize {
    1 << (LOG_GROUP + held(log) - log)
}

fn transform(name: &'static str, log: u32, kind: Kind) -> Transform<'static> {
    Transform {
        name,
        kind,
        radices: radices(log),
        held: held(log),
        whole: false,
        columns: 0,
        regrouped: false,
        twiddled: false,
        product: kind == Kind::Inverse,
    }
}

/// The twiddles of all transforms, shortest first.
pub(super) static TWIDDLES: Table = Table {
    name: "fft",
    make: || {
        let mut generator = Generator::new();
        for log in LOG_SHORTEST..=LOG_LONGEST {
            functions(&mut generator, log);
        }
        generator.into_table()
    },
};

/// Writes the functions of the forward and of the inverse transform.
fn functions(generator: &mut Generator, log: u32) -> [String; 2] {
    [("forward", Kind::Forward), ("backward", Kind::Inverse)]
        .map(|(name, kind)| generator.function(&transform(name, log, kind)))
}

/// The 1024th roots of unity, clockwise. Quarter turns are exact.
pub(super) static ROOTS: Table = Table {
    name: "roots_1024",
    make: || {
        let point = |i: u32| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(i % 256) / 1024.0).sin_cos();
            let [re, im] = match i / 256 {
                0 => [cos, -sin],
                1 => [-sin, -cos],
                2 => [-cos, sin],
                _ => [sin, cos],
            };
            // Adding 0.0 turns -0.0 into 0.0, for comparisons of results bit by bit.
            [re as f32 + 0.0, im as f32 + 0.0].map(f32::to_bits)
        };
        (0..1024).flat_map(point).collect()
    },
};

/// e^(-πi k / N) at N + k for k < N, for each length N of `fft/real.wgsl`.
pub(super) static HALVES: Table = Table {
    name: "halves",
    make: || {
        let point = |i: u32| {
            let n = 1 << i.max(1).ilog2();
            let angle = std::f64::consts::PI * f64::from(i - n.min(i)) / f64::from(n);
            [angle.cos() as f32, -angle.sin() as f32].map(f32::to_bits)
        };
        (0..2 << LOG_LONGEST).flat_map(point).collect()
    },
};

/// Writes `forward`, and with `both` also `backward`, the transforms of 2^log values.
///
/// Uses: what [`Generator::function`] says. Defines: `forward(v, j, at)`, `backward(v, h, j, at)`.
fn generate(log: u32, both: bool) -> String {
    // Generate the shorter transforms too, so that all kernels share one table.
    let mut generator = Generator::new();
    for shorter in LOG_SHORTEST..log {
        functions(&mut generator, shorter);
    }
    let [forward, backward] = functions(&mut generator, log);
    forward + if both { &backward } else { "" }
}
