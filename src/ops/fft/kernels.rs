//! The kernels of short transforms, and what Rust writes of them.

use std::fmt::Write;

use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::plan::{Access, Kernel, Table, Variant};
use crate::ragged::DType;

/// log2 of the shortest and the longest power of two with a kernel.
pub(super) const LOG_SHORTEST: u32 = 5;
pub(super) const LOG_LONGEST: u32 = 13;
/// Values of the longest transform that is made by its definition.
pub(super) const TINY: usize = 64;

pub(super) const LOG_GROUP: u32 = 8;

/// The flag of each length, from log2 = 5 on.
const FLAGS: [&[&str]; 9] = [
    &["N32"],
    &["N64"],
    &["N128"],
    &["N256"],
    &["N512"],
    &["N1024"],
    &["N2048"],
    &["N4096"],
    &["N8192"],
];

const fn variant(log: u32) -> Variant {
    Variant {
        dtype: DType::C32,
        flags: flags(log),
    }
}

/// The variant of a transform of 2^log values.
pub(super) const fn flags(log: u32) -> &'static [&'static str] {
    FLAGS[(log - LOG_SHORTEST) as usize]
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "fft",
    source: include_str!("../../../shaders/fft.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read, Access::Read],
    variants: &[
        variant(5),
        variant(6),
        variant(7),
        variant(8),
        variant(9),
        variant(10),
        variant(11),
        variant(12),
        variant(13),
    ],
};

pub(crate) static TINY_KERNEL: Kernel = Kernel {
    stem: "fft_tiny",
    source: include_str!("../../../shaders/fft_tiny.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read, Access::Read],
    variants: &[Variant {
        dtype: DType::C32,
        flags: &[],
    }],
};

pub(crate) static BLUESTEIN: Kernel = Kernel {
    stem: "fft_bluestein",
    source: include_str!("../../../shaders/fft_bluestein.wgsl"),
    access: &[
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: &[
        variant(8),
        variant(9),
        variant(10),
        variant(11),
        variant(12),
        variant(13),
    ],
};

/// log2 of the values that an invocation holds.
fn held(log: u32) -> u32 {
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

/// Transforms of 2^log values that one workgroup makes.
pub(super) fn per_group(log: u32) -> usize {
    1 << (LOG_GROUP + held(log) - log)
}

fn transform(name: &'static str, log: u32, kind: Kind) -> Transform {
    Transform {
        name,
        kind,
        radices: radices(log),
        held: held(log),
        whole: false,
        columns: 0,
        product: kind == Kind::Inverse,
    }
}

/// Twiddles of all transforms, in one order.
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

/// The function of the forward transform, and that of the inverse one.
fn functions(generator: &mut Generator, log: u32) -> [String; 2] {
    [("forward", Kind::Forward), ("backward", Kind::Inverse)]
        .map(|(name, kind)| generator.function(&transform(name, log, kind)))
}

/// 1024 points of the circle, clockwise. Quarter turns are exact.
pub(super) static TURNS: Table = Table {
    name: "turns",
    make: || {
        let point = |i: u32| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(i % 256) / 1024.0).sin_cos();
            let [re, im] = match i / 256 {
                0 => [cos, -sin],
                1 => [-sin, -cos],
                2 => [-cos, sin],
                _ => [sin, cos],
            };
            // 0 has no sign here, for those who compare results bit by bit.
            [re as f32 + 0.0, im as f32 + 0.0].map(f32::to_bits)
        };
        (0..1024).flat_map(point).collect()
    },
};

/// The constants of a kernel, its workgroup memory, and the transforms of its length.
#[cfg(feature = "gpu")]
fn written(flags: &[&str]) -> (u32, String, [String; 2]) {
    let named = |log: &u32| flags.contains(&self::flags(*log)[0]);
    let log = (LOG_SHORTEST..=LOG_LONGEST)
        .find(named)
        .unwrap_or(LOG_LONGEST);
    let constants = format!(
        "const WG = {}u;\nconst LENGTH = {}u;\nconst HELD = {}u;\nconst THREADS = LENGTH / HELD;\n\
         var<workgroup> sh_exchange: array<f32, WG * HELD>;\n",
        1 << LOG_GROUP,
        1 << log,
        1 << held(log),
    );
    // All transforms are counted through, so that one table serves them.
    let mut generator = Generator::new();
    for shorter in LOG_SHORTEST..log {
        functions(&mut generator, shorter);
    }
    (log, constants, functions(&mut generator, log))
}

/// A function that does something for each value that an invocation holds.
#[cfg(feature = "gpu")]
fn for_each_held(out: &mut String, log: u32, name: &str, line: impl Fn(u32, &str) -> String) {
    let held = 1u32 << held(log);
    let threads = (1u32 << log) / held;
    let _ = writeln!(
        out,
        "fn {name}(v: ptr<function, array<vec2<f32>, {held}>>, item: vec4<u32>, j: u32) {{"
    );
    for s in 0..held {
        let _ = writeln!(out, "    {}", line(s, &format!("j + {}u", s * threads)));
    }
    out.push_str("}\n");
}

/// The part of `fft.wgsl` that depends on the length.
#[cfg(feature = "gpu")]
pub(crate) fn generate(flags: &[&str]) -> String {
    let (log, mut out, [forward, _]) = written(flags);
    out.push_str(&forward);
    for_each_held(&mut out, log, "load_values", |s, i| {
        format!("(*v)[{s}] = value_in(item, {i});")
    });
    for_each_held(&mut out, log, "store_values", |s, i| {
        format!("value_out(item, {i}, (*v)[{s}]);")
    });
    out
}

/// The part of `fft_bluestein.wgsl` that depends on the length.
#[cfg(feature = "gpu")]
pub(crate) fn generate_bluestein(flags: &[&str]) -> String {
    let (log, mut out, functions) = written(flags);
    functions.iter().for_each(|function| out.push_str(function));
    for_each_held(&mut out, log, "load_filter", |s, i| {
        format!("(*v)[{s}] = filter_value(item.z, {i});")
    });
    for_each_held(&mut out, log, "load_signal", |s, i| {
        format!("(*v)[{s}] = signal_value(item, {i});")
    });
    for_each_held(&mut out, log, "store_results", |s, i| {
        format!("result_out(item, {i}, (*v)[{s}]);")
    });
    out
}
