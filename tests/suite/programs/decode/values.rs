//! Functions of values.

use vsla::Layout;

use super::super::batch::Kind;
use super::super::lines::lines_of;
use super::super::values::{POOLS, Values, Vectors, functions_of, maps_of};
use super::two::{meeting, partner};
use super::{Bytes, MOST, Op, PAIRS, Random, filled};

/// A function of a batch, whose other operands are also existing batches.
pub fn step(
    bytes: &mut Bytes<'_>,
    values: &[(Kind, Layout)],
    at: usize,
) -> Option<(Op, Vec<usize>)> {
    let (kind, x) = &values[at];
    let functions = functions_of(*kind);
    let mut operands = vec![at];
    let op = match bytes.below(10) {
        0..=2 => {
            let number = i32::from(bytes.u8()) - 128;
            Values::Map(
                bytes.pick(maps_of(*kind)),
                if bytes.one_in(8) { number } else { number / 16 },
            )
        }
        3 if *kind != Kind::C32 => {
            let to: &[Kind] = match kind {
                Kind::I32 => &[Kind::F32, Kind::F16, Kind::U32],
                Kind::U32 => &[Kind::F32, Kind::F16, Kind::I32],
                _ => &[Kind::I32, Kind::U32],
            };
            Values::Cast(bytes.pick(to))
        }
        4 | 5 => line(bytes, *kind, x),
        6 | 7 => {
            let vectors = vectors(bytes, *kind, x)?;
            Values::Spread(bytes.pick(functions), vectors, bytes.one_in(2))
        }
        8 => {
            let choice = *kind == Kind::U32 && bytes.one_in(2);
            // The batch that determines the type of the other operands.
            let like = if choice {
                bytes.below(values.len())
            } else {
                at
            };
            let kind = values[like].0;
            if kind == Kind::C32 {
                return None;
            }
            let mut other = |bytes: &mut Bytes<'_>| match bytes.one_in(2) {
                true => vectors(bytes, kind, x).map(Some),
                false => {
                    operands.push(partner(bytes, values, like));
                    Some(None)
                }
            };
            let vectors = [other(bytes)?, other(bytes)?];
            Values::Three(if choice { "if_else" } else { "mul_add" }, vectors)
        }
        _ => {
            let other = partner(bytes, values, at);
            operands.push(other);
            let meeting = meeting(bytes, x.len(), values[other].1.len());
            if meeting.pairs(x.len(), values[other].1.len()).len() > PAIRS {
                return None;
            }
            Values::Function(bytes.pick(functions), meeting)
        }
    };
    // An upper bound, as if every pair consisted of the elements with the largest extents.
    let mut largest = vec![0; operands.iter().map(|&at| values[at].1.rank()).max()?];
    for shape in operands.iter().flat_map(|&at| values[at].1.shapes()) {
        for (most, &extent) in largest.iter_mut().zip(shape.extents()) {
            *most = extent.max(*most);
        }
    }
    let one: usize = largest.iter().map(|&extent| extent as usize).product();
    let small = operands.len() == 1 || one * x.len().max(PAIRS) <= 64 * MOST;
    small.then_some((Op::Values(op), operands))
}

/// A function along an axis or of whole elements.
pub fn line(bytes: &mut Bytes<'_>, kind: Kind, x: &Layout) -> Values {
    let name = bytes.pick(&lines_of(kind));
    let beyond = usize::from(bytes.one_in(32));
    Values::Line(name, bytes.below(x.rank() + beyond), bytes.u8())
}

/// Pooling with a window and strides that usually fit a batch.
pub fn pooled(bytes: &mut Bytes<'_>, kind: Kind, x: &Layout) -> Values {
    let float = matches!(kind, Kind::F32 | Kind::F16);
    let name = bytes.pick(&POOLS[..if float { 2 } else { 1 }]);
    let beyond = usize::from(bytes.one_in(32));
    let axes = 1 + bytes.below(x.rank().min(2) + beyond);
    let mut extents = |from: &[usize]| (0..axes).map(|_| bytes.pick(from)).collect::<Vec<_>>();
    let window = extents(&[1, 2, 2, 2, 3, 3, 4, 5, 7, 16]);
    let strides = extents(&[1, 1, 2, 2, 2, 3, 3, 4, 7, 40]);
    Values::Pool(name, [window, strides])
}

/// Vectors that usually fit a batch.
fn vectors(bytes: &mut Bytes<'_>, kind: Kind, x: &Layout) -> Option<Vectors> {
    let axis = match bytes.below(4) {
        0 => None,
        _ => Some(bytes.below(x.rank())),
    };
    let lengths = x.shapes().map(|shape| match axis {
        Some(axis) => shape.extents()[axis] as usize,
        None => 1,
    });
    let mut lengths: Vec<usize> = lengths.collect();
    let alike = lengths.windows(2).all(|pair| pair[0] == pair[1]);
    if axis.is_some() && alike && bytes.one_in(2) {
        lengths.truncate(1);
    }
    if bytes.one_in(16) {
        lengths.push(2);
    }
    let layout = Layout::from_lengths(lengths).ok()?;
    let of = filled(kind, &layout, Random::new(bytes), 0);
    Some(Vectors { axis, of })
}
