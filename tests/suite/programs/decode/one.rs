//! Operations on one batch.

use vsla::batch::Permutation;
use vsla::{Indices, Layout, Ragged, Shape};

use super::super::op::{Unary, Whole};
use super::two::{meeting, partner};
use super::{Bytes, Kind, MOST, Op, PAIRS, Random};

/// Operations that move values unchanged.
pub fn placed(bytes: &mut Bytes<'_>, x: &Layout) -> Option<Unary> {
    let rank = x.rank();
    // Sometimes with one axis too few.
    let axes = if bytes.one_in(32) { rank - 1 } else { rank };
    let resized = |bytes: &mut Bytes<'_>, change: fn(&mut Bytes<'_>, usize) -> usize| {
        let shapes = x.shapes().map(|shape| {
            let extents = shape.extents().iter();
            let extents: Vec<usize> = extents.map(|&n| change(bytes, n as usize)).collect();
            Shape::new(&extents).ok()
        });
        let shapes: Option<Vec<Shape>> = shapes.collect();
        Layout::from_shapes(rank, shapes?)
            .ok()
            .filter(|layout| layout.total() <= 2 * MOST)
    };
    Some(match bytes.below(10) {
        0 => Unary::Copy,
        1 | 2 => {
            let start: Vec<i64> = (0..axes).map(|_| bytes.below(12) as i64 - 4).collect();
            let size = |&start: &i64| start + bytes.below(if rank > 2 { 6 } else { 40 }) as i64;
            let end: Vec<i64> = start.iter().map(size).collect();
            let one: i64 = start.iter().zip(&end).map(|(from, to)| to - from).product();
            (one as usize * x.len() <= 2 * MOST).then_some(Unary::Slice(start, end))?
        }
        3 => {
            let widths: Vec<_> = (0..axes)
                .map(|_| (bytes.below(4), bytes.below(4)))
                .collect();
            let padded = x.shapes().map(|shape| {
                let wide = shape.extents().iter().map(|&n| n as usize + 6);
                wide.product::<usize>()
            });
            (padded.sum::<usize>() <= 4 * MOST).then_some(Unary::Pad(widths))?
        }
        4 => Unary::Flip((0..rank).filter(|_| bytes.one_in(2)).collect()),
        5 => Unary::Resize(resized(bytes, |bytes, n| {
            (n + bytes.below(4)).saturating_sub(bytes.below(3))
        })?),
        6 => {
            let mut order: Vec<usize> = (0..axes).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, bytes.below(i + 1));
            }
            Unary::Transpose(order)
        }
        7 => {
            let reversed = x.shapes().map(|shape| {
                let extents: Vec<usize> =
                    shape.extents().iter().rev().map(|&n| n as usize).collect();
                Shape::new(&extents).expect("as large")
            });
            match bytes.below(3) {
                0 => Unary::Reshape(Layout::from_lengths(x.lengths()).expect("as large")),
                1 => Unary::Reshape(Layout::from_shapes(rank, reversed).expect("as large")),
                _ => {
                    let rows = x.lengths().map(|n| Shape::new(&[1, n]).expect("as large"));
                    Unary::Reshape(Layout::from_shapes(2, rows).expect("as large"))
                }
            }
        }
        8 => Unary::Broadcast(resized(
            bytes,
            |bytes, n| if n == 1 { bytes.below(9) } else { n },
        )?),
        _ => Unary::Resize(resized(
            bytes,
            |bytes, n| if bytes.one_in(3) { n + 1 } else { n },
        )?),
    })
}

pub fn reduced(bytes: &mut Bytes<'_>, kind: Kind) -> Unary {
    match bytes.below(12) {
        0 => Unary::Neg,
        1 => Unary::Scale(bytes.u8().into()),
        2 | 3 => Unary::Sum,
        4 => Unary::Norm1,
        5 => Unary::Max,
        6 => Unary::Argmax,
        7 => Unary::Min,
        8 => Unary::Argmin,
        9 => Unary::Shrink,
        10 => Unary::Degree,
        _ if kind == Kind::F32 => Unary::Norm2,
        _ => Unary::Sum,
    }
}

/// Operations on one type only.
pub fn of_type(bytes: &mut Bytes<'_>, kind: Kind, x: &Layout) -> Option<Unary> {
    // An inverse transform specifies the lengths of its results.
    let real = |bytes: &mut Bytes<'_>| {
        let shapes = x.shapes().map(|shape| {
            let mut extents: Vec<usize> = shape.extents().iter().map(|&n| n as usize).collect();
            let last = extents.last_mut()?;
            *last = match *last {
                0 => 0,
                n => (2 * n - 2 + bytes.below(2)).max(1),
            };
            Shape::new(&extents).ok()
        });
        let shapes: Option<Vec<Shape>> = shapes.collect();
        Layout::from_shapes(x.rank(), shapes?).ok()
    };
    let planes = x.rank() == 2;
    Some(match (kind, bytes.below(3)) {
        (Kind::F32, 0) => Unary::ToF16,
        (Kind::F32, _) if planes => Unary::Rfft2,
        (Kind::F32, _) => Unary::Rfft,
        (Kind::F16, _) => Unary::ToF32,
        (Kind::C32, 0) if planes => Unary::Fft2,
        (Kind::C32, 1) if planes => Unary::Ifft2,
        (Kind::C32, _) if planes => Unary::Irfft2(real(bytes)?),
        (Kind::C32, 0) => Unary::Fft,
        (Kind::C32, 1) => Unary::Ifft,
        (Kind::C32, _) => Unary::Irfft(real(bytes)?),
        _ => return None,
    })
}

pub fn whole(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let x = &values[at].1;
    let n = x.len();
    let counts = |bytes: &mut Bytes<'_>| {
        let (mut left, mut counts) = (n, Vec::new());
        while left > 0 {
            counts.push(bytes.below(left + 1).max(usize::from(counts.len() > 8)));
            left -= counts.last().copied().unwrap_or_default();
        }
        counts
    };
    let mut operands = vec![at];
    let op = match bytes.below(12) {
        0..=2 => {
            let from = bytes.below(n + 1);
            Whole::Elements(from, from + bytes.below(n + 1 - from))
        }
        3 => {
            let beyond = usize::from(bytes.one_in(32));
            let elements = bytes.below(12).min(PAIRS);
            if n + beyond == 0 || x.max_length() * elements > 2 * MOST {
                return None;
            }
            Whole::Select(
                (0..elements)
                    .map(|_| bytes.below(n + beyond) as u32)
                    .collect(),
            )
        }
        4 => {
            let mut elements: Vec<u32> = (0..n as u32).collect();
            for i in (1..n).rev() {
                elements.swap(i, bytes.below(i + 1));
            }
            Whole::Reorder(Permutation::new(elements).expect("an order"))
        }
        5 => Whole::Sort,
        6 => Whole::Split(counts(bytes)),
        7 => match bytes.below(3) {
            0 => Whole::Stack,
            1 => Whole::StackGroups(counts(bytes)),
            _ => Whole::StackAndBack,
        },
        8 => Whole::Window(bytes.below(5), bytes.below(4)),
        9 => {
            let sizes = (0..bytes.below(3)).map(|_| bytes.below(4)).collect();
            Whole::Pyramid(sizes, bytes.one_in(2))
        }
        10 => {
            operands.push(partner(bytes, values, at));
            Whole::Join
        }
        _ => {
            operands.push(partner(bytes, values, at));
            Whole::ConcatAll(bytes.below(x.rank() + 1))
        }
    };
    let all: usize = operands.iter().map(|&at| values[at].1.total()).sum();
    (all <= 2 * MOST).then_some((Op::Whole(op), operands))
}

fn lists(bytes: &mut Bytes<'_>, lengths: &[usize], limits: &[usize], distinct: bool) -> Indices {
    let mut random = Random::new(bytes);
    let mut list = |(&length, &limit): (&usize, &usize)| -> Vec<u32> {
        if !distinct {
            return (0..length).map(|_| random.below(limit) as u32).collect();
        }
        let mut places: Vec<u32> = (0..limit as u32).collect();
        for i in 0..length.min(limit) {
            let other = i + random.below(limit - i);
            places.swap(i, other);
        }
        places.truncate(length);
        places
    };
    let rows: Vec<Vec<u32>> = lengths.iter().zip(limits).map(&mut list).collect();
    Indices::new(Ragged::from_rows(rows).expect("small lists")).expect("of rank 1")
}

pub fn indexed(bytes: &mut Bytes<'_>, x: &Layout, real: bool) -> Option<Op> {
    let rows: Vec<usize> = x
        .shapes()
        .map(|shape| shape.extents()[0] as usize)
        .collect();
    let what = bytes.below(3);
    if what == 0 || what == 2 && !real {
        let alike = bytes.one_in(2);
        let count = if alike { rows.len() } else { bytes.below(7) };
        let lengths: Vec<usize> = (0..count).map(|_| bytes.below(20)).collect();
        // Up to two indices are out of range.
        let limit = |i: usize| rows.get(i).copied().unwrap_or(5) + 2;
        let limits: Vec<usize> = (0..count).map(limit).collect();
        let meeting = meeting(bytes, rows.len(), count);
        let widest = x
            .shapes()
            .map(|shape| shape.size() / (shape.extents()[0].max(1) as usize));
        let pairs = meeting.pairs(rows.len(), count).len();
        if widest.max().unwrap_or(0) * 20 * pairs > 4 * MOST || pairs > PAIRS {
            return None;
        }
        return Some(Op::Gather(lists(bytes, &lengths, &limits, false), meeting));
    }
    let more = bytes.below(5);
    let shapes = x.shapes().map(|shape| {
        let mut extents: Vec<usize> = shape.extents().iter().map(|&n| n as usize).collect();
        extents[0] += more;
        Shape::new(&extents).expect("small")
    });
    let places = Layout::from_shapes(x.rank(), shapes)
        .ok()
        .filter(|layout| layout.total() <= 4 * MOST)?;
    let beyond = if what == 1 { 0 } else { 2 };
    let limits: Vec<usize> = rows.iter().map(|n| n + more + beyond).collect();
    let indices = lists(bytes, &rows, &limits, what == 1);
    Some(Op::Unary(match what {
        1 => Unary::ScatterSet(indices, places),
        _ => Unary::ScatterAdd(indices, places),
    }))
}
