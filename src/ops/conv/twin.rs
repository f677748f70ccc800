//! The CPU's direct convolution: a block of taps at a time over a tile that stays in the first-level cache.

use std::ops::Range;

use crate::ops::Arithmetic;

/// Results worked on together.
const TILE: usize = 512;
/// Taps applied in one pass over the tile.
const BLOCK: usize = 4;
/// Blocks between two stores of the partial sums: a depth of 3 + 32 + ⌈n / 128⌉ for n taps.
const BLOCKS: usize = 32;

/// The operands of a convolution with the roles fixed: a longer one and the taps, both in the order they are used.
pub(crate) struct Operands<'a, T> {
    x: &'a [T],
    /// The longer operand is to be read backwards.
    x_reversed: bool,
    /// The taps, last to first.
    y: Vec<T>,
}

/// Chooses the roles, as the kernel does: a is the longer operand when the lengths are equal.
pub(crate) fn longer_and_taps<'a, T: Arithmetic>(
    a: &'a [T],
    b: &'a [T],
    b_reversed: bool,
) -> Operands<'a, T> {
    let (x, y, x_reversed, y_reversed) = if b.len() > a.len() {
        (b, a, b_reversed, false)
    } else {
        (a, b, false, b_reversed)
    };
    let mut y = y.to_vec();
    if !y_reversed {
        y.reverse();
    }
    Operands { x, x_reversed, y }
}

/// A stretch of one convolution's results.
pub(crate) struct Taps<T> {
    /// What of x the stretch meets, zeros where it has no values: results q ..  meet `x[q - begin ..][..n]`.
    x: Vec<T>,
    /// Taps, last to first, zeros added in front to whole blocks.
    y: Vec<T>,
}

impl<T: Arithmetic> Taps<T> {
    /// Results `within` of the convolution.
    pub(crate) fn new(operands: Operands<'_, T>, within: Range<usize>) -> Taps<T> {
        let Operands { x, x_reversed, y } = operands;
        let padded = y.len().next_multiple_of(BLOCK);
        let mut taps = vec![T::default(); padded - y.len()];
        taps.extend_from_slice(&y);
        // Result q is Σ_s taps[s] · x[q - (padded - 1) + s].
        let mut stretch = vec![T::default(); within.len() + padded - 1];
        let first = within.start as isize - (padded as isize - 1);
        let from = first.max(0) as usize;
        let to = within.end.min(x.len());
        if from < to {
            let into = &mut stretch[(from as isize - first) as usize..][..to - from];
            if x_reversed {
                let backwards = x[x.len() - to..x.len() - from].iter().rev();
                into.iter_mut().zip(backwards).for_each(|(o, &v)| *o = v);
            } else {
                into.copy_from_slice(&x[from..to]);
            }
        }
        Taps {
            x: stretch,
            y: taps,
        }
    }

    /// Computes the stretch.
    pub(crate) fn convolve(&mut self, out: &mut [T]) {
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
