//! Decodes bytes into batches, and into operations on existing batches.

mod images;
mod one;
mod others;
mod two;
mod values;

use vsla::{Complex32, Layout, Ragged, Shape, f16};

use super::batch::{Batch, Kind};
use super::bytes::Bytes;
use super::op::Op;

/// The maximum values of a batch.
const MOST: usize = 1 << 13;
/// The maximum multiply-adds of an operation.
const WORK: usize = 1 << 21;
/// The maximum number of pairs.
const PAIRS: usize = 64;

/// Bytes from this one on encode functions of values.
const FUNCTIONS_FROM: u8 = 160;
/// Bytes from this one on encode functions along axes.
const LINES_FROM: u8 = 200;
/// Bytes from this one on encode operations with arguments of their own.
const OTHERS_FROM: u8 = 218;
/// Bytes from this one on encode pooling.
const POOLING_FROM: u8 = 248;

const LONG: [usize; 35] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 108, 109, 127, 128, 129,
    255, 256, 257, 448, 511, 513, 1000, 1025, 2049, 2700, 4111,
];
const MIDDLE: [usize; 20] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65,
];
const SHORT: [usize; 8] = [0, 1, 2, 3, 4, 5, 8, 9];

/// The step that the bytes encode, if it fits the existing batches.
pub fn step(bytes: &mut Bytes<'_>, values: &[(Kind, Layout)]) -> Option<(Op, Vec<usize>)> {
    let at = bytes.below(values.len());
    let (kind, x) = &values[at];
    let real = matches!(kind, Kind::F32 | Kind::I32 | Kind::U32);
    let unary = |op| Some((Op::Unary(op), vec![at]));
    let what = bytes.u8();
    if what >= POOLING_FROM && *kind != Kind::C32 {
        return Some((Op::Values(values::pooled(bytes, *kind, x)), vec![at]));
    }
    if (OTHERS_FROM..POOLING_FROM).contains(&what) {
        return others::step(bytes, values, at);
    }
    if (LINES_FROM..OTHERS_FROM).contains(&what) {
        return Some((Op::Values(values::line(bytes, *kind, x)), vec![at]));
    }
    if what >= FUNCTIONS_FROM {
        return values::step(bytes, values, at);
    }
    match what % 16 {
        0..=3 => unary(one::placed(bytes, x)?),
        4 | 5 => one::whole(bytes, values, at),
        6..=9 => two::binary(bytes, values, at),
        10 | 11 if real => unary(one::reduced(bytes, *kind)),
        12 => one::indexed(bytes, x, real).map(|op| (op, vec![at])),
        13 if real => two::entries(bytes, values, at),
        14 | 15 if matches!(kind, Kind::I32 | Kind::U32) && x.rank() == 2 => {
            Some((Op::Image(images::image(bytes, x)?), vec![at]))
        }
        14 => Some((two::sparse(bytes)?, vec![])),
        _ => unary(one::of_type(bytes, *kind, x)?),
    }
}

pub fn batch(bytes: &mut Bytes<'_>) -> Batch {
    use Kind::{C32, F16, F32, I32, U32};
    let kind = bytes.pick(&[F32, F32, F32, F32, I32, I32, U32, F16, F16, C32, C32]);
    let layout = layout(bytes);
    let random = Random::new(bytes);
    let style = bytes.below(12);
    filled(kind, &layout, random, style)
}

fn filled(kind: Kind, layout: &Layout, random: Random, style: usize) -> Batch {
    match kind {
        Kind::F32 => floats(layout, random, style).into(),
        Kind::F16 => floats(layout, random, style)
            .cast(f16::from_f32)
            .unwrap()
            .into(),
        Kind::I32 => integers(layout, random, style).into(),
        Kind::U32 => integers(layout, random, style)
            .cast(|v| v as u32)
            .unwrap()
            .into(),
        Kind::C32 => {
            let [re, im] = [random, Random(random.0 ^ 1)].map(|r| floats(layout, r, style));
            let both = re.values().iter().zip(im.values());
            let values = both.map(|(&re, &im)| Complex32::new(re, im)).collect();
            Ragged::from_parts(layout.clone(), values)
                .expect("as many")
                .into()
        }
    }
}

fn layout(bytes: &mut Bytes<'_>) -> Layout {
    let rank = bytes.pick(&[1, 1, 1, 1, 2, 2, 2, 2, 3, 4]);
    let elements = if bytes.one_in(16) { 40 } else { bytes.below(7) };
    let extents: &[usize] = match rank {
        1 => &LONG,
        2 => &MIDDLE,
        _ => &SHORT,
    };
    let alike = bytes.one_in(4);
    let mut shapes: Vec<Shape> = Vec::new();
    let mut total = 0;
    for _ in 0..elements {
        let shape = match shapes.first() {
            Some(&first) if alike => first,
            _ => {
                let extents: Vec<usize> = (0..rank).map(|_| bytes.pick(extents)).collect();
                Shape::new(&extents).expect("a small shape")
            }
        };
        let room = total + shape.size() <= MOST;
        shapes.push(if room {
            shape
        } else {
            Shape::new(&vec![1; rank]).expect("one value")
        });
        total += shapes.last().map_or(0, Shape::size);
    }
    Layout::from_shapes(rank, shapes).expect("a small layout")
}

/// SplitMix64: values from a seed, so that a batch takes few bytes.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn new(bytes: &mut Bytes<'_>) -> Random {
        Random(u64::from(bytes.u8()) << 8 | u64::from(bytes.u8()))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// An integer in ±limit.
    fn integer(&mut self, limit: usize) -> i32 {
        self.below(2 * limit + 1) as i32 - limit as i32
    }
}

/// Small integers mostly, so that sums are exact.
fn floats(layout: &Layout, mut random: Random, style: usize) -> Ragged<f32> {
    Ragged::from_fn(layout, |_, _| match style {
        // With trailing zeros, and zeros in between.
        8 => [0.0, 0.0, 0.0, 1.0, -0.0][random.below(5)],
        9 => random.integer(1 << 20) as f32 / (1 << 20) as f32,
        10 => random.integer(1000) as f32 * [1e-20, 1e-5, 1.0, 1e10][random.below(4)],
        11 => match random.below(40) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            _ => random.integer(8) as f32,
        },
        _ => random.integer(4) as f32,
    })
    .unwrap()
}

fn integers(layout: &Layout, mut random: Random, style: usize) -> Ragged<i32> {
    Ragged::from_fn(layout, |_, _| match style {
        8 => random.below(5) as i32 / 4,
        9.. => random.next() as i32,
        _ => random.integer(9),
    })
    .unwrap()
}
