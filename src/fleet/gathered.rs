//! The results of ranges, which become one batch.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Named;
use crate::ragged::{Layout, Ragged, Scalar};
use crate::tensor::Tensor;
use crate::{Result, host};

/// The results of the ranges that one thread has copied to the host.
///
/// The values of a chunk lie end to end. There is only one chunk if its size was guessed well, and then it becomes the
/// batch without being copied.
pub(super) struct Gathered<U> {
    chunks: Vec<Vec<U>>,
    /// The values in use of the last chunk.
    used: usize,
    pieces: Vec<Piece>,
}

/// The results of a range.
struct Piece {
    elements: Range<usize>,
    layout: Layout,
    chunk: usize,
    /// Where the values begin in the chunk.
    at: usize,
}

/// How much of the operands a range has, and how much of them follows it on the same device.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    pub elements: [usize; 2],
    pub bytes: [u64; 2],
}

impl Ahead {
    /// A guess of how many values the results have that follow one of this layout. A larger chunk than necessary takes
    /// no memory, because the rest of its pages is never written.
    fn values(self, result: &Layout) -> usize {
        let is_uniform = result.max_length() * result.len() == result.total();
        let [now, later] = match is_uniform {
            true => self.elements.map(|elements| elements as f64),
            false => self.bytes.map(|bytes| bytes as f64),
        };
        let guess = result.total() as f64 * later / now.max(1.0);
        (guess * 17.0 / 16.0) as usize
    }
}

impl<U: Scalar> Gathered<U> {
    pub(super) fn new() -> Gathered<U> {
        Gathered {
            chunks: Vec::new(),
            used: 0,
            pieces: Vec::new(),
        }
    }

    /// Copies the result of a range to the host.
    pub(super) fn take(
        &mut self,
        elements: Range<usize>,
        result: &Tensor<U>,
        ahead: Ahead,
    ) -> Result<()> {
        let layout = result.layout();
        let total = layout.total();
        let left = self
            .chunks
            .last()
            .map_or(0, |chunk| chunk.len() - self.used);
        if self.chunks.is_empty() || left < total {
            let guess = total.saturating_add(ahead.values(layout));
            let chunk = host::zeroed(guess).or_else(|_| host::zeroed(total));
            self.chunks.push(chunk.named("download")?);
            self.used = 0;
        }
        let chunk = self.chunks.len() - 1;
        let to = &mut self.chunks[chunk][self.used..][..total];
        result.download_into_blocking(to)?;
        let piece = Piece {
            elements,
            layout: layout.clone(),
            chunk,
            at: self.used,
        };
        host::push(&mut self.pieces, piece).named("download")?;
        self.used += total;
        Ok(())
    }

    /// One batch of the results of all ranges. Its layout is `like`, shared, if that is equal.
    pub(super) fn joined(all: Vec<Gathered<U>>, like: &Layout) -> Result<Ragged<U>> {
        let mut chunks = Vec::new();
        let mut pieces = Vec::new();
        for mut gathered in all {
            for piece in &mut gathered.pieces {
                piece.chunk += chunks.len();
            }
            chunks.append(&mut gathered.chunks);
            host::extend(&mut pieces, gathered.pieces)?;
        }
        pieces.sort_unstable_by_key(|piece| piece.elements.start);
        let layouts = host::exact(pieces.iter().map(|piece| &piece.layout))?;
        let layout = Layout::joined(&layouts)?;
        let layout = match layout == *like {
            true => like.clone(),
            false => layout,
        };
        let is_packed = chunks.len() == 1 && pieces.is_sorted_by_key(|piece| piece.at);
        let values = match is_packed {
            true => {
                let mut values = chunks.remove(0);
                values.truncate(layout.total());
                values
            }
            false => copied(&chunks, &pieces, layout.total())?,
        };
        Ragged::from_parts(layout, values)
    }
}

/// The values of pieces, end to end.
fn copied<U: Scalar>(chunks: &[Vec<U>], pieces: &[Piece], total: usize) -> Result<Vec<U>> {
    let mut values = host::zeroed(total)?;
    let mut rest = &mut values[..];
    let mut copies = host::room(pieces.len())?;
    for piece in pieces {
        let (to, after) = rest.split_at_mut(piece.layout.total());
        copies.push((to, &chunks[piece.chunk][piece.at..][..piece.layout.total()]));
        rest = after;
    }
    copies
        .into_par_iter()
        .for_each(|(to, from)| to.copy_from_slice(from));
    Ok(values)
}
