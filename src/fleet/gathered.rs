//! The results of ranges, which become one batch.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::error::Named;
use crate::ragged::{Layout, Ragged, Scalar};
use crate::tensor::Tensor;
use crate::{Result, host};

/// The values of a batch, into which all threads copy results, each to its place.
///
/// Where a share begins is guessed from the first result. If the guess is wrong, results are copied once more in the
/// end.
pub(super) struct Gathered<'v, U>(Mutex<State<'v, U>>);

struct State<'v, U> {
    /// The values, until the first result says about how many there are.
    values: Option<&'v mut Vec<U>>,
    guess: Guess,
    /// The parts of the values that no result has, by where they begin.
    free: BTreeMap<usize, &'v mut [U]>,
    /// Where the values begin of elements at which a range begins or ends.
    begins: BTreeMap<usize, usize>,
    pieces: Vec<Piece<U>>,
}

/// The result of a range.
pub(super) struct Piece<U> {
    elements: Range<usize>,
    layout: Layout,
    values: Values<U>,
}

enum Values<U> {
    /// In their place, which begins here.
    At(usize),
    /// For which there was no place.
    Apart(Vec<U>),
}

impl<'v, U: Scalar> Gathered<'v, U> {
    /// Room for results, which will be in this vector.
    pub(super) fn new(values: &'v mut Vec<U>) -> Gathered<'v, U> {
        Gathered(Mutex::new(State {
            values: Some(values),
            guess: Guess::default(),
            free: BTreeMap::new(),
            begins: BTreeMap::from([(0, 0)]),
            pieces: Vec::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State<'v, U>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the result of a range, one of so many elements in all, to the host. `bytes` are those of the operands.
    pub(super) fn take(
        &self,
        elements: Range<usize>,
        all: usize,
        bytes: impl Fn(Range<usize>) -> u64,
        result: &Tensor<U>,
    ) -> Result<()> {
        let layout = result.layout();
        let place = self.state().place(&elements, all, bytes, layout);
        let values = match place {
            Some((at, to)) => {
                if let Err(error) = result.download_into_blocking(to) {
                    self.state().give_back(at, to);
                    return Err(error);
                }
                Values::At(at)
            }
            None => {
                let mut apart = host::zeroed(layout.total()).named("download")?;
                result.download_into_blocking(&mut apart)?;
                Values::Apart(apart)
            }
        };
        let layout = layout.clone();
        let piece = Piece {
            elements,
            layout,
            values,
        };
        host::push(&mut self.state().pieces, piece).named("download")
    }

    pub(super) fn into_pieces(self) -> Vec<Piece<U>> {
        let state = self.0.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).pieces
    }
}

impl<'v, U: Scalar> State<'v, U> {
    /// The place of a result: where it begins, and its part of the values. `None` if the guess was wrong.
    fn place(
        &mut self,
        elements: &Range<usize>,
        all: usize,
        bytes: impl Fn(Range<usize>) -> u64,
        layout: &Layout,
    ) -> Option<(usize, &'v mut [U])> {
        if let Some(values) = self.values.take() {
            self.guess = Guess::from(elements, &bytes, layout);
            let total = match *elements == (0..all) {
                true => layout.total(),
                // More than necessary takes no memory, because the rest of its pages is never written.
                false => {
                    let guess = self.guess.values(0..all, &bytes);
                    guess.saturating_add(guess / 16 + 16)
                }
            };
            if let Ok(zeros) = host::zeroed(total) {
                *values = zeros;
                self.free.insert(0, values);
            }
        }
        let begin = match self.begins.get(&elements.start) {
            Some(&begin) => begin,
            None => self.guess.values(0..elements.start, bytes),
        };
        let end = begin.checked_add(layout.total())?;
        if begin == end {
            self.begins.insert(elements.start, begin);
            self.begins.insert(elements.end, end);
            return Some((begin, &mut []));
        }
        let (&at, free) = self.free.range(..=begin).next_back()?;
        let known = self.begins.get(&elements.end);
        if known.is_some_and(|known| *known != end) || at + free.len() < end {
            return None;
        }
        let free = self.free.remove(&at)?;
        let (before, rest) = free.split_at_mut(begin - at);
        let (place, after) = rest.split_at_mut(end - begin);
        self.give_back(at, before);
        self.give_back(end, after);
        self.begins.insert(elements.start, begin);
        self.begins.insert(elements.end, end);
        Some((begin, place))
    }

    fn give_back(&mut self, at: usize, part: &'v mut [U]) {
        if !part.is_empty() {
            self.free.insert(at, part);
        }
    }
}

/// How many values results have, if that is a linear function of the operands' bytes: (a bytes + b elements) / c.
///
/// It is one for results with the shapes of operands, with a number of values that is the same for each element, and
/// for convolutions.
#[derive(Clone, Copy, Default)]
struct Guess {
    a: i128,
    b: i128,
    c: i128,
}

impl Guess {
    /// From the results of a range: the smallest and the largest elements determine the function. If that is not right
    /// for all of them together, results are taken to be proportional to the operands.
    fn from(
        elements: &Range<usize>,
        bytes: impl Fn(Range<usize>) -> u64,
        layout: &Layout,
    ) -> Guess {
        let of = |i: usize| i128::from(bytes(elements.start + i..elements.start + i + 1));
        let length = |i: usize| layout.length(i) as i128;
        let all = 0..layout.len();
        let (Some(least), Some(most)) = (
            all.clone().min_by_key(|&i| of(i)),
            all.clone().max_by_key(|&i| of(i)),
        ) else {
            return Guess::default();
        };
        let (a, c) = (length(most) - length(least), of(most) - of(least));
        let (a, c) = if c == 0 { (0, 1) } else { (a, c) };
        let b = length(least) * c - a * of(least);
        let linear = Guess { a, b, c };
        let total = layout.total();
        if linear.values(elements.clone(), &bytes) == total {
            return linear;
        }
        let (a, b, c) = match bytes(elements.clone()) {
            0 => (0, total as i128, layout.len() as i128),
            bytes => (total as i128, 0, i128::from(bytes)),
        };
        Guess { a, b, c }
    }

    fn values(self, elements: Range<usize>, bytes: impl Fn(Range<usize>) -> u64) -> usize {
        let count = elements.len() as i128;
        let values = self.a * i128::from(bytes(elements)) + self.b * count;
        usize::try_from(values / self.c.max(1)).unwrap_or(0)
    }
}

/// One batch of the results of all ranges, whose values are in their places or apart. Its layout is `like`, shared, if
/// that is equal.
pub(super) fn joined<U: Scalar>(
    mut pieces: Vec<Piece<U>>,
    mut values: Vec<U>,
    like: &Layout,
) -> Result<Ragged<U>> {
    pieces.sort_unstable_by_key(|piece| piece.elements.start);
    let layouts = host::exact(pieces.iter().map(|piece| &piece.layout))?;
    let layout = Layout::joined(&layouts)?;
    let layout = match layout == *like {
        true => like.clone(),
        false => layout,
    };
    let mut end = 0;
    let follows = |piece: &Piece<U>| {
        let begin = end;
        end += piece.layout.total();
        matches!(piece.values, Values::At(at) if at == begin)
    };
    match pieces.iter().all(follows) {
        true => values.truncate(layout.total()),
        false => values = copied(&pieces, &values, layout.total())?,
    }
    Ragged::from_parts(layout, values)
}

/// The values of pieces, end to end.
fn copied<U: Scalar>(pieces: &[Piece<U>], placed: &[U], total: usize) -> Result<Vec<U>> {
    let mut values = host::zeroed(total)?;
    let mut rest = &mut values[..];
    let mut copies = host::room(pieces.len())?;
    for piece in pieces {
        let total = piece.layout.total();
        let from = match &piece.values {
            Values::At(at) => &placed[*at..][..total],
            Values::Apart(values) => values,
        };
        let (to, after) = rest.split_at_mut(total);
        copies.push((to, from));
        rest = after;
    }
    copies
        .into_par_iter()
        .for_each(|(to, from)| to.copy_from_slice(from));
    Ok(values)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::tensor::Device;

    /// Copies results of these lengths, for operands of those, in ranges that end at these elements and arrive in this
    /// order. Returns whether all went to their places, and checks the batch.
    fn is_copied_once(of: fn(usize) -> usize, ends: &[usize], order: &[usize]) -> bool {
        let operands = [3usize, 8, 1, 0, 40, 7, 9, 2, 30, 5];
        let device = Device::cpu();
        let bytes = |range: Range<usize>| 4 * operands[range].iter().sum::<usize>() as u64;
        let value = |element: usize, i: usize| (100 * element + i) as f32;
        let (mut values, mut begin) = (Vec::new(), 0);
        let ranges = ends
            .iter()
            .map(|&end| std::mem::replace(&mut begin, end)..end);
        let ranges: Vec<_> = ranges.collect();
        let gathered = Gathered::new(&mut values);
        for &range in order {
            let range = ranges[range].clone();
            let rows = range.clone().map(|element| -> Vec<f32> {
                let length = of(operands[element]);
                (0..length).map(|i| value(element, i)).collect()
            });
            let result = device.upload(&Ragged::from_rows(rows).unwrap()).unwrap();
            gathered.take(range, 10, bytes, &result).unwrap();
        }
        let pieces = gathered.into_pieces();
        let placed = values.as_ptr();
        let whole = Layout::from_lengths(operands).unwrap();
        let got = joined(pieces, values, &whole).unwrap();
        for (element, row) in got.iter().enumerate() {
            assert_eq!(row.len(), of(operands[element]));
            assert!(
                row.iter()
                    .enumerate()
                    .all(|(i, got)| *got == value(element, i))
            );
        }
        std::ptr::eq(got.values().as_ptr(), placed)
    }

    #[apply(unit_test)]
    fn results_go_to_their_places() {
        let ends = [2, 5, 7, 10];
        let linear: [fn(usize) -> usize; 5] = [|n| n, |_| 3, |n| n + 4, |n| 2 * n, |_| 0];
        for of in linear {
            for order in [[0, 1, 2, 3], [2, 3, 0, 1], [3, 1, 0, 2]] {
                assert!(is_copied_once(of, &ends, &order), "{order:?}");
            }
            assert!(is_copied_once(of, &[10], &[0]));
        }
        // One device takes ranges in order, so the guess only has to be large enough.
        assert!(is_copied_once(|n| n / 2 + 1, &ends, &[0, 1, 2, 3]));
    }

    #[apply(unit_test)]
    fn a_wrong_guess_costs_a_copy() {
        let squares = |n: usize| n * n;
        for (ends, order) in [
            (&[2, 5, 7, 10], [2, 3, 0, 1]),
            (&[1, 5, 9, 10], [0, 2, 1, 3]),
            (&[4, 5, 6, 10], [3, 2, 1, 0]),
        ] {
            assert!(!is_copied_once(squares, ends, &order), "{order:?}");
        }
    }
}
