//! The edges of bins, and the search for the bin in which a value lies.

use std::sync::Arc;

use half::f16;

use crate::ops::kit::ordered::Keyed;
use crate::plan::PlanBuffer;
use crate::ragged::{DType, Factor, f16_from_f64};
use crate::{Error, Result, host};

/// Bins, given by their edges, as the bits of values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Bins {
    /// `number` bins of equal width between two ends.
    Equal {
        number: usize,
        ends: [u32; 2],
    },
    /// A bin for each of the integers from 0 to before `number`.
    Integers {
        number: usize,
    },
    Between(Arc<Vec<u32>>),
}

impl Bins {
    /// Bins of equal width.
    pub(crate) fn equal<T: Factor>(number: usize, lo: T, hi: T) -> Result<Bins> {
        if number == 0 {
            return Err(Error::argument("1 bin or more", 0));
        }
        if !(is_finite(lo) && is_finite(hi) && lo < hi) {
            let expected = "finite ends, the first below the second";
            return Err(Error::argument(expected, format!("{lo}..={hi}")));
        }
        let ends = [word(lo), word(hi)];
        Ok(Bins::Equal { number, ends })
    }

    /// A bin for each of the first integers.
    pub(crate) fn integers(number: usize) -> Result<Bins> {
        match number {
            0 => Err(Error::argument("1 value or more", 0)),
            // So that every one is an i32.
            _ if number > 1 << 31 => {
                let expected = format!("at most {} values", 1u32 << 31);
                Err(Error::argument(expected, number))
            }
            _ => Ok(Bins::Integers { number }),
        }
    }

    /// Bins between these edges.
    pub(crate) fn between<T: Factor>(edges: &[T]) -> Result<Bins> {
        if edges.len() < 2 {
            return Err(Error::argument("2 edges or more", edges.len()));
        }
        if let Some(i) = edges.iter().position(|&edge| !is_finite(edge)) {
            let got = format!("{} as edge {i}", edges[i]);
            return Err(Error::argument("finite edges", got));
        }
        if let Some(i) = edges.windows(2).position(|two| two[0] >= two[1]) {
            let got = format!("{} before {} as edge {}", edges[i], edges[i + 1], i + 1);
            return Err(Error::argument("increasing edges", got));
        }
        let mut words = host::room(edges.len())?;
        words.extend(edges.iter().map(|&edge| word(edge)));
        Ok(Bins::Between(Arc::new(words)))
    }

    /// The name of the public method.
    pub(super) fn op(&self) -> &'static str {
        match self {
            Bins::Equal { .. } => "histogram",
            Bins::Integers { .. } => "bincount",
            Bins::Between(_) => "histogram_edges",
        }
    }

    /// Bytes besides the enumeration itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Bins::Equal { .. } | Bins::Integers { .. } => 0,
            Bins::Between(edges) => size_of_val(&edges[..]),
        }
    }

    pub(super) fn number(&self) -> usize {
        match self {
            Bins::Equal { number, .. } | Bins::Integers { number } => *number,
            Bins::Between(edges) => edges.len() - 1,
        }
    }
}

fn is_finite<T: Factor>(x: T) -> bool {
    match T::DTYPE {
        DType::F32 => bytemuck::cast::<T, f32>(x).is_finite(),
        DType::F16 => bytemuck::cast::<T, f16>(x).is_finite(),
        _ => true,
    }
}

/// The bits of a value.
fn word<T: Factor>(x: T) -> u32 {
    match T::DTYPE {
        DType::F16 => u32::from(bytemuck::cast::<T, u16>(x)),
        _ => bytemuck::cast(x),
    }
}

/// The numbers from which a kernel finds the bins of values.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    /// The key of the smallest value of each bin, in increasing order.
    pub keys: Arc<PlanBuffer>,
    /// The first key, and the distance from it to the key of the last edge. Values outside are not counted.
    pub lowest: u32,
    pub span: u32,
    /// The place of a value among bins of equal width is its distance from the first edge times the bins per unit, with
    /// an error below `margin`; for other bins, and if the error may be large, the margin is 1.
    pub first: f32,
    pub per_unit: f32,
    pub margin: f32,
}

/// The range of bins per unit in which neither places nor distances leave the range of f32.
const PER_UNIT: std::ops::Range<f64> = 1e-30..1e30;

/// A type of values, with the constants and functions that places depend on.
pub(super) trait Binned: Keyed {
    /// The zero with the lower key.
    const LEAST_ZERO: Self;
    /// Relative error of an edge that was rounded, and of a distance if a compiler multiplies before it subtracts.
    const ROUNDED: f64;
    /// Absolute error of a distance from the first edge if a GPU flushes subnormal numbers to zero.
    const FLUSHED: f64;

    fn of_word(word: u32) -> Self;
    fn wide(self) -> f64;
    /// The smallest value that is not below x; for floats, the value nearest to x.
    fn edge(x: f64) -> Self;
    /// The distance from the first edge, whose key is `lowest`.
    fn above(self, first: f32, lowest: u32) -> f32;

    fn unsigned_key(self) -> u32 {
        self.key() as u32 ^ 1 << 31
    }
}

impl Binned for f32 {
    const LEAST_ZERO: f32 = -0.0;
    const ROUNDED: f64 = 1.0 / (1 << 22) as f64;
    // Of the value, the first edge and their difference.
    const FLUSHED: f64 = 4.0 * f32::MIN_POSITIVE as f64;

    fn of_word(word: u32) -> f32 {
        f32::from_bits(word)
    }
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f32 {
        x as f32
    }
    fn above(self, first: f32, _: u32) -> f32 {
        self - first
    }
}

impl Binned for f16 {
    const LEAST_ZERO: f16 = f16::NEG_ZERO;
    const ROUNDED: f64 = 1.001 / (1 << 11) as f64;
    const FLUSHED: f64 = 1.001 / (1 << 14) as f64;

    fn of_word(word: u32) -> f16 {
        f16::from_bits(word as u16)
    }
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f16 {
        f16_from_f64(x)
    }
    fn above(self, first: f32, _: u32) -> f32 {
        self.to_f32() - first
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Binned for $t {
            const LEAST_ZERO: $t = 0;
            // Edges are not rounded, except to f64.
            const ROUNDED: f64 = 1.0 / (1u64 << 50) as f64;
            const FLUSHED: f64 = 0.0;

            fn of_word(word: u32) -> $t {
                word as $t
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn edge(x: f64) -> $t {
                x.ceil() as $t
            }
            fn above(self, _: f32, lowest: u32) -> f32 {
                self.unsigned_key().wrapping_sub(lowest) as f32
            }
        }
    )*};
}
integers!(i32, u32);

impl Edges {
    /// The edges for a batch without values.
    pub(super) fn none() -> Edges {
        Edges {
            keys: PlanBuffer::new(vec![0]),
            lowest: 0,
            span: 0,
            first: 0.0,
            per_unit: 0.0,
            margin: 1.0,
        }
    }

    pub(super) fn new(dtype: DType, bins: &Bins) -> Result<Edges> {
        match dtype {
            DType::F32 => Edges::of::<f32>(bins),
            DType::F16 => Edges::of::<f16>(bins),
            DType::I32 => Edges::of::<i32>(bins),
            DType::U32 => Edges::of::<u32>(bins),
            DType::C32 | DType::U8 => unreachable!("no such operation"),
        }
    }

    fn of<T: Binned>(bins: &Bins) -> Result<Edges> {
        let number = bins.number();
        let mut keys = host::room(number)?;
        let (last, first, [per_unit, margin]) = match bins {
            Bins::Between(edges) => {
                let (last, others) = edges.split_last().expect("two edges or more");
                keys.extend(others.iter().map(|&edge| lower_key(T::of_word(edge))));
                (T::of_word(*last), 0.0, [0.0, 1.0])
            }
            Bins::Integers { .. } => {
                keys.extend((0..number).map(|i| T::edge(i as f64).unsigned_key()));
                // A place is the value itself: the bin of that number, or no bin.
                let margin = if number < 1 << 20 { 0.25 } else { 1.0 };
                (T::edge((number - 1) as f64), 0.0, [1.0, margin])
            }
            Bins::Equal { ends, .. } => {
                let [lo, hi] = ends.map(T::of_word);
                let (first, last) = (lo.wide(), hi.wide());
                // The same operations as NumPy's linspace.
                let step = (last - first) / number as f64;
                let edge = |i| (i as f64 * step + first).min(last);
                keys.extend((0..number).map(|i| lower_key(T::edge(edge(i)))));
                let per_unit = number as f64 / (last - first);
                // Three roundings of the place, and the rounding of edges.
                let bins = number as f64;
                let size = first.abs().max(last.abs());
                let most = bins / (1 << 22) as f64 + (size * T::ROUNDED + T::FLUSHED) * per_unit;
                let margin = match PER_UNIT.contains(&per_unit) && most < 0.25 {
                    true => most as f32,
                    false => 1.0,
                };
                (hi, first as f32, [per_unit as f32, margin])
            }
        };
        let lowest = keys[0];
        // If the last edge is 0, the last bin includes −0 and 0, so the span ends at the larger key.
        let span = last.canonical().unsigned_key() - lowest;
        Ok(Edges {
            keys: PlanBuffer::new(keys),
            lowest,
            span,
            first,
            per_unit,
            margin,
        })
    }

    /// Whether places determine the bins of some values.
    pub(super) fn have_places(&self) -> bool {
        self.margin < 1.0
    }

    /// The edge nearest to a value, and the value's distance from it, in bins. If the distance exceeds the margin, the
    /// two determine which bin the value is in, if any.
    pub(super) fn near<T: Binned>(&self, x: T) -> (u32, f32) {
        // Leaves the nearest integer in the low bits.
        const SHIFT: f32 = 1.5 * (1 << 23) as f32;
        let place = x.above(self.first, self.lowest) * self.per_unit;
        let shifted = place + SHIFT;
        let near = shifted.to_bits().wrapping_sub(SHIFT.to_bits());
        (near, place - (shifted - SHIFT))
    }

    /// The bin of any value, by comparisons. If there are places, it is that of the edge `near`, or the one before.
    pub(super) fn compared<T: Binned>(&self, x: T, near: u32) -> Option<usize> {
        let (keys, key) = (self.keys.data(), x.unsigned_key());
        if key.wrapping_sub(self.lowest) > self.span {
            return None;
        }
        if !self.have_places() {
            return Some(keys.partition_point(|&least| least <= key) - 1);
        }
        let near = (near as usize).min(keys.len() - 1);
        Some(near - usize::from(key < keys[near]))
    }
}

/// The key of the smallest value of a bin that begins at `edge`. If the edge is 0, this is the key of −0.
fn lower_key<T: Binned>(edge: T) -> u32 {
    match edge == T::LEAST_ZERO {
        true => T::LEAST_ZERO.unsigned_key(),
        false => edge.unsigned_key(),
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Places are used only where they are right. Checks values around each edge and around the ends of the range.
    fn check<T: Binned + Factor>(number: usize, lo: T, hi: T) -> Edges {
        let bins = Bins::equal(number, lo, hi).unwrap();
        let edges = Edges::of::<T>(&bins).unwrap();
        let keys = edges.keys.data();
        assert_eq!(keys.len(), number);
        assert!(keys.is_sorted());
        let around = |key: u32| key.saturating_sub(2)..=key.saturating_add(2);
        let last = edges.lowest + edges.span;
        let ends = [0, 1 << 31, u32::MAX, last];
        for key in keys.iter().copied().chain(ends).flat_map(around) {
            let x = T::of_key((key ^ 1 << 31) as i32);
            if x.unsigned_key() != key {
                // Not a value of 16 bits, or NaN.
                continue;
            }
            let inside = key >= edges.lowest && key <= last;
            let bin = inside.then(|| keys.partition_point(|&least| least <= key) - 1);
            let (near, rest) = edges.near(x);
            let what = format!("{x} in {number} bins of {lo}..={hi}");
            if rest.abs() > edges.margin {
                let certain = near.wrapping_sub((rest < 0.0).into()) as usize;
                assert_eq!((certain < number).then_some(certain), bin, "{what}");
            }
            assert_eq!(edges.compared(x, near), bin, "{what}");
        }
        edges
    }

    #[apply(unit_test)]
    fn places_are_right_or_compared() {
        for number in [1, 2, 3, 7, 10, 64, 100, 255, 256, 1000, 4096, 20_000] {
            let margin = |edges: Edges| edges.margin;
            assert!(margin(check(number, 0.0f32, 1.0)) < 0.1);
            assert!(margin(check(number, -3.0f32, 5.5)) < 0.2);
            check(number, 0.1f32, 0.7);
            check(number, -1.0f32, 0.0);
            check(number, 1e6f32, 1e6 + 1.0);
            check(number, 1.0f32, 1.0 + 4.0 * f32::EPSILON);
            check(number, f32::MIN, f32::MAX);
            check(number, 0.0f32, f32::from_bits(9));
            check(number, -1e-36f32, 1e-37);
            check(number, 1e-20f32, 1e20);
            check(number, f16::ZERO, f16::ONE);
            check(number, f16::MIN, f16::MAX);
            check(number, f16::from_f32(-0.3), f16::from_f32(2.0));
            assert!(margin(check(number, 0, 255)) < 0.1);
            check(number, i32::MIN, i32::MAX);
            check(number, -3, 1000);
            check(number, i32::MAX - 9, i32::MAX);
            check(number, 0, u32::MAX);
            check(number, u32::MAX - 1, u32::MAX);
        }
    }
}
