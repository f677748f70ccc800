//! The CPU's direct convolution: applies a block of taps at a time to a tile that stays in the L1 cache.

use std::ops::Range;

use crate::ops::kit::Arithmetic;
use crate::{Result, host};

/// Results per tile.
const TILE: usize = 512;
/// Taps applied in one pass over the tile.
const BLOCK: usize = 4;
/// Blocks whose sum is added to the results at once: a summation depth of 3 + 32 + ⌈n / 128⌉ for n taps.
const BLOCKS: usize = 32;

/// Up to this many taps, results stay in registers for all taps, and nothing is allocated.
const FEW: usize = 32;
/// With few taps: results computed together, and results for which a stretch of the longer operand is copied at once.
const LANES: usize = 16;
const FEW_TILE: usize = 128;

/// Results `within` of `a * b`, or of `a * reverse(b)`.
///
/// The bits of a result do not depend on the range that it is computed with.
pub(crate) fn directly<T: Arithmetic>(
    (a, b): (&[T], &[T]),
    reversed: bool,
    within: Range<usize>,
    out: &mut [T],
) -> Result<()> {
    let operands = Operands::new(a, b, reversed);
    if operands.y.len() <= FEW {
        for (tile, out) in out.chunks_mut(FEW_TILE).enumerate() {
            few_taps(&operands, within.start + tile * FEW_TILE, out);
        }
    } else {
        Taps::new(operands, within)?.convolve(out);
    }
    Ok(())
}

/// Results `start ..`, at most `FEW_TILE` of them, one tap after the other: a summation depth of n for n taps.
fn few_taps<T: Arithmetic>(operands: &Operands<'_, T>, start: usize, out: &mut [T]) {
    let mut taps = [T::default(); FEW];
    let taps = &mut taps[..operands.y.len()];
    operands.taps_last_to_first(taps);
    let mut stretch = [T::default(); FEW_TILE + FEW];
    let before = taps.len() - 1;
    let stretch = &mut stretch[..out.len().next_multiple_of(LANES) + before];
    operands.stretch(start as isize - before as isize, stretch);
    for (at, out) in (0..).step_by(LANES).zip(out.chunks_mut(LANES)) {
        let mut sums = [T::default(); LANES];
        for (&tap, x) in taps.iter().zip(stretch[at..].windows(LANES)) {
            for (sum, &x) in sums.iter_mut().zip(x) {
                *sum = sum.plus(tap.times(x));
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// The operands of a convolution by role: x is the longer operand, y the taps.
struct Operands<'a, T> {
    x: &'a [T],
    y: &'a [T],
    /// Whether the longer operand is read backwards.
    x_reversed: bool,
    /// Whether the taps are read backwards.
    y_reversed: bool,
}

impl<'a, T: Arithmetic> Operands<'a, T> {
    /// Assigns the roles, as the GPU kernel does: a is the longer operand when the lengths are equal.
    fn new(a: &'a [T], b: &'a [T], b_reversed: bool) -> Operands<'a, T> {
        let swapped = b.len() > a.len();
        let (x, y) = if swapped { (b, a) } else { (a, b) };
        Operands {
            x,
            y,
            x_reversed: swapped && b_reversed,
            y_reversed: !swapped && b_reversed,
        }
    }

    fn taps_last_to_first(&self, taps: &mut [T]) {
        taps.copy_from_slice(self.y);
        if !self.y_reversed {
            taps.reverse();
        }
    }

    /// Copies values `first ..` of the longer operand into `zeros`, which stays 0 outside the operand.
    fn stretch(&self, first: isize, zeros: &mut [T]) {
        let length = self.x.len();
        let from = first.max(0) as usize;
        let to = usize::try_from(first + zeros.len() as isize).map_or(0, |end| end.min(length));
        if from >= to {
            return;
        }
        let into = &mut zeros[(from as isize - first) as usize..][..to - from];
        if self.x_reversed {
            let backwards = self.x[length - to..length - from].iter().rev();
            into.iter_mut().zip(backwards).for_each(|(o, &v)| *o = v);
        } else {
            into.copy_from_slice(&self.x[from..to]);
        }
    }
}

/// The inputs of a range of one convolution's results.
struct Taps<T> {
    /// The values of x that the range needs, 0 outside x: result q needs `x[q - begin ..][..n]`.
    x: Vec<T>,
    /// The taps, last to first, padded with zeros in front to whole blocks.
    y: Vec<T>,
}

impl<T: Arithmetic> Taps<T> {
    /// The inputs of the results `within`.
    fn new(operands: Operands<'_, T>, within: Range<usize>) -> Result<Taps<T>> {
        let padded = operands.y.len().next_multiple_of(BLOCK);
        let mut taps = host::zeroed(padded)?;
        operands.taps_last_to_first(&mut taps[padded - operands.y.len()..]);
        // Result q is Σ_s taps[s] · x[q - (padded - 1) + s].
        let mut stretch = host::zeroed(within.len() + padded - 1)?;
        operands.stretch(within.start as isize - (padded as isize - 1), &mut stretch);
        Ok(Taps {
            x: stretch,
            y: taps,
        })
    }

    /// Computes the results of the range.
    fn convolve(&mut self, out: &mut [T]) {
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            self.convolve_tile(tile * TILE, out);
        }
    }

    fn convolve_tile(&self, at: usize, out: &mut [T]) {
        out.fill(T::default());
        let mut partial = [T::default(); TILE];
        let partial = &mut partial[..out.len()];
        for (chunk, taps) in self.y.chunks(BLOCK * BLOCKS).enumerate() {
            partial.fill(T::default());
            for (block, taps) in taps.chunks_exact(BLOCK).enumerate() {
                let x =
                    &self.x[at + (chunk * BLOCKS + block) * BLOCK..][..partial.len() + BLOCK - 1];
                let (t0, t1, t2, t3) = (taps[0], taps[1], taps[2], taps[3]);
                let (x0, x1, x2, x3) = (x, &x[1..], &x[2..], &x[3..]);
                for ((((sum, &x0), &x1), &x2), &x3) in
                    partial.iter_mut().zip(x0).zip(x1).zip(x2).zip(x3)
                {
                    let low = t0.times(x0).plus(t1.times(x1));
                    let high = t2.times(x2).plus(t3.times(x3));
                    *sum = sum.plus(low.plus(high));
                }
            }
            for (out, &sum) in out.iter_mut().zip(&*partial) {
                *out = out.plus(sum);
            }
        }
    }
}
