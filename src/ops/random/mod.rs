//! Random values from counters: uniform and normal values, and the values that dropout keeps.
//!
//! Value i of element e uses word i mod 4 of Philox with the counter (i / 4, number of the element, 0, stream) and the
//! seed as its key. A value depends only on its place, not on the device or the workgroup that computes it. The
//! conversion of words to values is all integer arithmetic, because devices may round floats differently.
//!
//! Cost: the values written once (dropout: also read once), the offsets read once, in one dispatch; ten rounds of two
//! wide products for every four values, which on a fast GPU take longer than moving them.

mod fixed_point;
mod philox;
mod quantiles;

use std::ops::Range;

use half::f16;

pub(crate) use self::fixed_point::Affine;
use self::fixed_point::Format;
use self::philox::philox;
use crate::Result;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, Variant,
    params, shader, slots,
};
use crate::ragged::{DType, Layout};

slots! {
    struct UniformSlots { c: Write, c_meta: Read }
}

slots! {
    struct NormalSlots { c: Write, c_meta: Read, quantiles: Read }
}

slots! {
    struct DropoutSlots { c: Write, c_meta: Read, x: Read }
}

params! {
    struct Places { tiles: Tiles, seed_low, seed_high, element }
}

params! {
    struct NormalParams { places: Places, scale, offset_low, offset_high, exponent }
}

params! {
    struct UniformParams { normal: NormalParams, least, most }
}

params! {
    struct DropoutParams { places: Places, x_base, scale, least }
}

macro_rules! variants {
    ($flag:literal, $($dtype:ident),*) => {
        &[$(Variant::of(DType::$dtype, &[$flag])),*]
    };
}

static UNIFORM: Kernel = Kernel {
    shader: shader!("random/mod", "uniform"),
    interface: Interface::of::<UniformSlots, UniformParams>(),
    constants: &[],
    variants: variants!["UNIFORM", F32, U32, F16],
};

static NORMAL: Kernel = Kernel {
    shader: shader!("random/mod", "normal"),
    interface: Interface::of::<NormalSlots, NormalParams>(),
    constants: &[],
    variants: variants!["NORMAL", F32, F16],
};

static DROPOUT: Kernel = Kernel {
    shader: shader!("random/mod", "dropout"),
    interface: Interface::of::<DropoutSlots, DropoutParams>(),
    constants: &[],
    variants: variants!["DROPOUT", F32, F16],
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Uniform,
    Normal,
}

/// The seed of a call, and the number of its first element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub seed: u64,
    pub element: u32,
}

impl Stream {
    fn words(self) -> [u32; 3] {
        [self.seed as u32, (self.seed >> 32) as u32, self.element]
    }

    fn of(scalars: &[u32]) -> Stream {
        Stream {
            seed: u64::from(scalars[0]) | u64::from(scalars[1]) << 32,
            element: scalars[2],
        }
    }
}

/// A batch of random values, of this layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Random {
    pub kind: Kind,
    pub dtype: DType,
    pub layout: Layout,
}

/// The number of different words.
const WORDS: f64 = (1u64 << 32) as f64;

/// How words become values, as the scalars of a call describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    pub affine: Affine,
    /// The smallest and the largest value of uniform floats, as bits.
    pub ends: [u32; 2],
}

impl Values {
    /// Uniform floats from `low` up to, but not including, `high`. `bits` are the bits of both.
    pub(crate) fn uniform(dtype: DType, [low, high]: [f64; 2], bits: [u32; 2]) -> Values {
        let format = Format::of(dtype);
        let zero = format.of_key(format.key(0) - 1);
        // If `high` is 0, the largest value is below both zeros.
        let before = format.key(if high == 0.0 { zero } else { bits[1] }) - 1;
        Values {
            affine: Affine::new((high - low) / WORDS, low, low.abs().max(high.abs())),
            ends: [bits[0], format.of_key(before)],
        }
    }

    /// Uniform integers, as bits.
    pub(crate) fn integers([low, high]: [u32; 2]) -> Values {
        Values {
            affine: Affine {
                scale: high.wrapping_sub(low),
                offset: i64::from(low),
                exponent: 0,
            },
            ends: [0; 2],
        }
    }

    pub(crate) fn normal(mean: f64, deviation: f64) -> Values {
        let most = mean.abs().max(8.0 * deviation);
        Values {
            affine: Affine::new(deviation / quantiles::UNITS, mean, most),
            ends: [0; 2],
        }
    }

    /// The scalars of a call.
    pub(crate) fn scalars(self, dtype: DType, stream: Stream) -> [u32; 9] {
        let Affine {
            scale,
            offset,
            exponent,
        } = self.affine;
        let [seed_low, seed_high, element] = stream.words();
        let format = Format::of(dtype);
        let [least, most] = self.ends.map(|bits| format.key(bits));
        let offsets = [offset as u32, (offset >> 32) as u32];
        let exponent = exponent as u32;
        [
            seed_low, seed_high, element, scale, offsets[0], offsets[1], exponent, least, most,
        ]
    }

    fn of(scalars: &[u32], format: Format) -> Values {
        Values {
            affine: Affine {
                scale: scalars[3],
                offset: (u64::from(scalars[4]) | u64::from(scalars[5]) << 32) as i64,
                exponent: scalars[6] as i32,
            },
            ends: [7, 8].map(|i| format.of_key(scalars[i])),
        }
    }
}

impl Operation for Random {
    const KERNELS: &[&Kernel] = &[&UNIFORM, &NORMAL];

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Uniform => "uniform",
            Kind::Normal => "normal",
        }
    }

    fn is_cached(&self) -> bool {
        false
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        let Random {
            kind,
            dtype,
            ref layout,
        } = *self;
        let (places, groups) = places(layout);
        let (c, c_meta) = (Slot::Output(0), Slot::Meta(layout.clone()));
        let normal = NormalParams {
            places,
            scale: Param::Scalar(3),
            offset_low: Param::Scalar(4),
            offset_high: Param::Scalar(5),
            exponent: Param::Scalar(6),
        };
        let cost = layout.total() as u64;
        let dispatch = match kind {
            Kind::Uniform => {
                let kernel_type = match dtype {
                    DType::I32 => DType::U32,
                    _ => dtype,
                };
                let params = UniformParams {
                    normal,
                    least: Param::Scalar(7),
                    most: Param::Scalar(8),
                };
                let variant = UNIFORM.variant(kernel_type, &["UNIFORM"]);
                let slots = UniformSlots { c, c_meta };
                Dispatch::new(variant, slots, params, groups, cost)
            }
            Kind::Normal => {
                let variant = NORMAL.variant(dtype, &["NORMAL"]);
                let slots = NormalSlots {
                    c,
                    c_meta,
                    quantiles: Slot::Table(&quantiles::TABLE),
                };
                Dispatch::new(variant, slots, normal, groups, cost)
            }
        };
        Ok(Launch::new(
            dtype,
            layout.clone(),
            dispatch,
            Twin::new(move |args| match (kind, dtype) {
                (Kind::Uniform, DType::F32) => uniform(args, Format::of(dtype), |bits| bits),
                (Kind::Uniform, DType::F16) => uniform(args, Format::of(dtype), |bits| bits as u16),
                (Kind::Uniform, _) => integers(args),
                (Kind::Normal, DType::F16) => deviates(args, Format::of(dtype), |bits| bits as u16),
                (Kind::Normal, _) => deviates(args, Format::of(dtype), |bits| bits),
            }),
        )
        .into())
    }
}

/// The parameters that say where values lie, and the number of workgroups.
fn places(layout: &Layout) -> (Places, u32) {
    let (tiles, groups) = Tiles::of(layout);
    let places = Places {
        tiles,
        seed_low: Param::Scalar(0),
        seed_high: Param::Scalar(1),
        element: Param::Scalar(2),
    };
    (places, groups)
}

/// Keeps values of one type, or sets them to zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Dropout {
    pub dtype: DType,
}

impl Dropout {
    /// The scalars of a call: values whose word is at least `least` are kept, multiplied by `scale`.
    pub(crate) fn scalars(stream: Stream, scale: f32, least: u32) -> [u32; 5] {
        let [seed_low, seed_high, element] = stream.words();
        [seed_low, seed_high, element, scale.to_bits(), least]
    }
}

impl Operation for Dropout {
    const NAME: &str = "dropout";
    const KERNELS: &[&Kernel] = &[&DROPOUT];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let dtype = self.dtype;
        let (places, groups) = places(x);
        Ok(Launch::new(
            dtype,
            OutputLayout::Input(0),
            Dispatch::new(
                DROPOUT.variant(dtype, &["DROPOUT"]),
                DropoutSlots {
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(0),
                    x: Slot::Input(0),
                },
                DropoutParams {
                    places,
                    x_base: Param::InputBase(0),
                    scale: Param::Scalar(3),
                    least: Param::Scalar(4),
                },
                groups,
                x.total() as u64,
            ),
            Twin::new(move |args| match dtype {
                DType::F16 => kept(args, |x: f16, scale| f16::from_f32(x.to_f32() * scale)),
                _ => kept(args, |x: f32, scale| x * scale),
            }),
        )
        .into())
    }
}

fn uniform<T: bytemuck::Pod + Send>(
    args: &mut CpuArgs<'_>,
    format: Format,
    value_of: fn(u32) -> T,
) {
    let Values { affine, ends } = Values::of(args.scalars, format);
    let [least, most] = ends.map(|bits| format.key(bits));
    each(args, 0, |_, word| {
        let key = format.key(affine.at(word, false, format, true));
        value_of(format.of_key(key.clamp(least, most)))
    });
}

fn integers(args: &mut CpuArgs<'_>) {
    let (span, least) = (u64::from(args.scalars[3]), args.scalars[4]);
    each(args, 0, |_, word| {
        least.wrapping_add(((u64::from(word) * span) >> 32) as u32)
    });
}

fn deviates<T: bytemuck::Pod + Send>(
    args: &mut CpuArgs<'_>,
    format: Format,
    value_of: fn(u32) -> T,
) {
    let Values { affine, .. } = Values::of(args.scalars, format);
    let table = quantiles::table();
    each(args, 1, |_, word| {
        let size = quantiles::deviate(table, word);
        value_of(affine.at(size, word % 2 == 1, format, false))
    });
}

fn kept<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, scaled: fn(T, f32) -> T) {
    let (x, _) = args.input::<T>(0);
    let (scale, least) = (f32::from_bits(args.scalars[3]), args.scalars[4]);
    each(args, 2, |at, word| match word >= least {
        true => scaled(x[at], scale),
        false => T::zeroed(),
    });
}

/// Writes `value(place in the batch, word)` for every value.
fn each<T: bytemuck::Pod + Send>(
    args: &mut CpuArgs<'_>,
    stream: u32,
    value: impl Fn(usize, u32) -> T + Sync,
) {
    let Stream { seed, element } = Stream::of(args.scalars);
    let seed = [seed as u32, (seed >> 32) as u32];
    let output = &mut args.outputs[0];
    let offsets = output.layout.offsets();
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    // The last word may hold one extra half.
    let c = &mut c[..output.layout.total()];
    par_tiles(offsets, c, |e, within: Range<usize>, mut out: &mut [T]| {
        let start = offsets.range(e).start;
        let mut i = within.start;
        while !out.is_empty() {
            let counter = [(i / 4) as u32, element.wrapping_add(e as u32), 0, stream];
            let words = philox(counter, seed);
            let (head, tail) = out.split_at_mut((4 - i % 4).min(out.len()));
            for out in head {
                *out = value(start + i, words[i % 4]);
                i += 1;
            }
            out = tail;
        }
    });
}
