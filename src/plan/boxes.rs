//! Operations on pairs of boxes with a common origin: the ambient result, and merging of axes.

use rayon::prelude::*;

use crate::ragged::{Layout, Offsets, Pairs, Shape};
use crate::{Error, Result, host};

/// How the elements of two batches nest in their ambient result.
#[derive(Debug)]
pub(crate) enum Boxes {
    /// All three layouts are equal: values pair up one by one.
    Same,
    Nested(Nested),
}

/// Layouts of two batches whose elements nest in those of a result.
#[derive(Debug)]
pub(crate) struct Nested {
    /// The result's layout, as the caller sees it.
    pub result: Layout,
    /// The layouts that a kernel uses, after merging axes whose extents always agree. `None` means the operand's own
    /// layout.
    pub a: Option<Layout>,
    pub b: Option<Layout>,
    pub c: Layout,
    /// A bit mask over the kernel's axes: set where the right box starts at the end of the left one.
    pub concat_axes: u32,
}

impl Boxes {
    /// Plans the ambient boxes of the pairs: the larger extent on every axis.
    pub(crate) fn ambient(a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Boxes> {
        if pairs.is_elementwise() && a == b {
            return Ok(Boxes::Same);
        }
        Nested::new(0, a, b, pairs).map(Boxes::Nested)
    }
}

impl Nested {
    /// Plans the boxes of the results: the sum of the extents along the axes in `concat_axes`, the larger extent along
    /// others.
    ///
    /// Axis j merges into axis j − 1 when it is not concatenated and all pairs have equal extents on it. For example,
    /// rows of constant width become vectors. Takes one pass over the pairs for rank 1, and two passes above.
    pub(crate) fn new(concat_axes: u32, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Nested> {
        b.check_rank_of(a, "the left batch")?;
        if a.rank() == 1 {
            let result = Layout::from_offsets(vectors(concat_axes != 0, a, b, pairs)?);
            return Ok(Nested {
                c: result.clone(),
                result,
                a: None,
                b: None,
                concat_axes,
            });
        }
        let rank = a.rank();
        let mut offsets = Offset::new(pairs.len())?;
        let mut extents = host::room(pairs.len() * rank)?;
        // Bit j is set if axis j is concatenated or its extents differ in some pair.
        let mut differs = concat_axes;
        for (pair, (x, y)) in pairs.iter().enumerate() {
            let mut size = 1u64;
            for axis in 0..rank {
                let (m, n) = (a.extents()[x * rank + axis], b.extents()[y * rank + axis]);
                differs |= u32::from(m != n) << axis;
                let extent = match concat_axes >> axis & 1 {
                    0 => m.max(n),
                    _ => m.checked_add(n).ok_or_else(|| {
                        Error::size_overflow(format!(
                            "an extent of {}",
                            u64::from(m) + u64::from(n)
                        ))
                        .at(pair)
                    })?,
                };
                extents.push(extent);
                size = size.saturating_mul(u64::from(extent));
            }
            offsets.push(size)?;
        }
        let offsets = offsets.finish();
        let result = Layout::unchecked(offsets, rank, extents);
        let begins = differs | 1;
        let group = |axis: usize| (begins & ((1 << axis) - 1)).count_ones();
        let concat_axes = (0..rank)
            .filter(|axis| concat_axes >> axis & 1 == 1)
            .fold(0, |seen, axis| seen | 1 << group(axis));
        let merged = |layout: &Layout| merge(layout, differs);
        Ok(match (merged(a)?, merged(b)?, merged(&result)?) {
            (Some(a), Some(b), Some(c)) => Nested {
                result,
                a: Some(a),
                b: Some(b),
                c,
                concat_axes,
            },
            _ => Nested {
                c: result.clone(),
                result,
                a: None,
                b: None,
                concat_axes,
            },
        })
    }
}

/// The layouts of two batches with those axes merged whose extents agree in every pair. For example, rows of constant
/// width become vectors.
#[derive(Debug)]
pub(crate) struct MergedPair {
    /// The layouts that a kernel uses. `None` means the operand's own layout.
    pub a: Option<Layout>,
    pub b: Option<Layout>,
    /// The rank of these layouts.
    pub rank: usize,
}

impl MergedPair {
    /// Compares the extents of every pair, unless the rank is 1 or the layouts are equal. Both ranks must be equal.
    pub(crate) fn new(a: &Layout, b: &Layout, pairs: &Pairs) -> Result<MergedPair> {
        let rank = a.rank();
        let mut differs = 0u32;
        if rank > 1 && !(pairs.is_elementwise() && a == b) {
            let all = (1u32 << rank) - 1;
            for (x, y) in pairs.iter() {
                for axis in 0..rank {
                    let (m, n) = (a.extents()[x * rank + axis], b.extents()[y * rank + axis]);
                    differs |= u32::from(m != n) << axis;
                }
                // Stop once nothing can merge. Axis 0 starts a group whether it differs or not.
                if differs | 1 == all {
                    break;
                }
            }
        }
        Ok(match (merge(a, differs)?, merge(b, differs)?) {
            (Some(a), Some(b)) => MergedPair {
                rank: a.rank(),
                a: Some(a),
                b: Some(b),
            },
            _ => MergedPair {
                rank,
                a: None,
                b: None,
            },
        })
    }
}

/// The layout with every axis outside the mask `differs` merged into the preceding axis; `None` if no axis merges.
pub(crate) fn merge(layout: &Layout, differs: u32) -> Result<Option<Layout>> {
    let rank = layout.rank();
    // Axis 0 always starts a group.
    let begins = differs | 1;
    let merged = (begins & ((1 << rank) - 1)).count_ones() as usize;
    if merged == rank {
        return Ok(None);
    }
    if merged == 1 {
        return Ok(Some(Layout::from_offsets(layout.offsets().clone())));
    }
    let mut extents = host::room(layout.len() * merged)?;
    for shape in layout.extents().chunks_exact(rank) {
        let mut extent = 1u32;
        for axis in (0..rank).rev() {
            // The product can wrap only for an element without values, and kernels never read one.
            extent = extent.wrapping_mul(shape[axis]);
            if begins >> axis & 1 == 1 {
                extents.push(extent);
                extent = 1;
            }
        }
        let from = extents.len() - merged;
        extents[from..].reverse();
    }
    Ok(Some(Layout::unchecked(
        layout.offsets().clone(),
        merged,
        extents,
    )))
}

/// The offsets of vectors as long as the longer of each pair, or as both together when concatenated.
fn vectors(concat_axes: bool, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Offsets> {
    let length = |m: u32, n: u32| match concat_axes {
        true => u64::from(m) + u64::from(n),
        false => u64::from(m.max(n)),
    };
    if pairs.is_elementwise() {
        let (a, b) = (a.offsets().as_slice(), b.offsets().as_slice());
        if let Some(offsets) = elementwise_offsets(a, b, length)? {
            return Ok(offsets);
        }
    }
    let mut offsets = Offset::new(pairs.len())?;
    for (x, y) in pairs.iter() {
        offsets.push(length(a.length(x) as u32, b.length(y) as u32))?;
    }
    Ok(offsets.finish())
}

/// The offsets of the results of element-wise pairs, computed in parallel; `None` when the total exceeds 32 bits.
///
/// Most of the time goes into page faults on the first write to the result.
fn elementwise_offsets(
    a: &[u32],
    b: &[u32],
    length: impl Fn(u32, u32) -> u64 + Sync,
) -> Result<Option<Offsets>> {
    const PIECE: usize = 1 << 16;
    let mut offsets = host::zeroed::<u32>(a.len())?;
    let mut totals = host::room::<u64>(a.len().div_ceil(PIECE))?;
    offsets[1..]
        .par_chunks_mut(PIECE)
        .enumerate()
        .map(|(piece, ends)| {
            let mut total = 0u64;
            for (i, end) in ends.iter_mut().enumerate() {
                let i = piece * PIECE + i;
                total += length(a[i + 1] - a[i], b[i + 1] - b[i]);
                // Wraps if the total does not fit, in which case the result is discarded below.
                *end = total as u32;
            }
            total
        })
        .collect_into_vec(&mut totals);
    if totals.iter().sum::<u64>() > u64::from(u32::MAX) {
        return Ok(None);
    }
    let mut start = 0u32;
    for total in &mut totals {
        start += std::mem::replace(total, start.into()) as u32;
    }
    offsets[1..]
        .par_chunks_mut(PIECE)
        .zip(totals)
        .for_each(|(ends, start)| ends.iter_mut().for_each(|end| *end += start as u32));
    Ok(Some(Offsets::from_vec_unchecked(offsets)))
}

/// A builder of offsets.
pub(crate) struct Offset {
    offsets: Vec<u32>,
    total: u64,
}

impl Offset {
    pub(crate) fn new(elements: usize) -> Result<Offset> {
        let mut offsets = host::room(elements.saturating_add(1))?;
        offsets.push(0);
        Ok(Offset { offsets, total: 0 })
    }

    /// Appends an element of `size` values.
    #[inline]
    pub(crate) fn push(&mut self, size: u64) -> Result<()> {
        self.total = self.total.saturating_add(size);
        if self.total > u64::from(u32::MAX) {
            return Err(self.overflow());
        }
        host::push(&mut self.offsets, self.total as u32)
    }

    #[cold]
    fn overflow(&self) -> Error {
        Error::size_overflow(format!("a result of at least {} values", self.total))
            .at(self.offsets.len() - 1)
    }

    pub(crate) fn finish(self) -> Offsets {
        Offsets::from_vec_unchecked(self.offsets)
    }
}

/// The number of values in the intersection of two boxes.
pub(crate) fn overlap(a: &Shape, b: &Shape) -> usize {
    // If an extent is 0, the product of the others may be arbitrarily large.
    let shared = a.extents().iter().zip(b.extents());
    match a.is_empty() || b.is_empty() {
        true => 0,
        false => shared.map(|(m, n)| *m.min(n) as usize).product(),
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn boxes(a: &[&[usize]], b: &[&[usize]]) -> Boxes {
        let layout = |shapes: &[&[usize]]| {
            let shapes = shapes.iter().map(|s| Shape::new(s).unwrap());
            Layout::from_shapes(a[0].len(), shapes).unwrap()
        };
        let (a, b) = (layout(a), layout(b));
        let pairs = Pairs::elementwise(&a, &b).unwrap();
        Boxes::ambient(&a, &b, &pairs).unwrap()
    }

    #[apply(unit_test)]
    fn equal_layouts_are_the_same() {
        assert!(matches!(
            boxes(&[&[2, 3], &[4, 5]], &[&[2, 3], &[4, 5]]),
            Boxes::Same
        ));
    }

    #[apply(unit_test)]
    fn rows_of_one_width_become_vectors() {
        let Boxes::Nested(Nested {
            result, a, b, c, ..
        }) = boxes(&[&[2, 3], &[4, 5]], &[&[7, 3], &[1, 5]])
        else {
            panic!("the layouts differ");
        };
        assert_eq!(result.shape(0), Shape::new(&[7, 3]).unwrap());
        assert_eq!(a.unwrap().offsets().as_slice(), [0, 6, 26]);
        assert_eq!((b.unwrap().rank(), c.rank()), (1, 1));
        assert_eq!(c.offsets().as_slice(), [0, 21, 41]);
    }

    #[apply(unit_test)]
    fn only_equal_axes_merge() {
        let Boxes::Nested(Nested { result, a, c, .. }) = boxes(
            &[&[2, 3, 4, 5], &[1, 1, 1, 1]],
            &[&[2, 6, 4, 5], &[3, 1, 1, 1]],
        ) else {
            panic!("the layouts differ");
        };
        assert_eq!(result.shape(0), Shape::new(&[2, 6, 4, 5]).unwrap());
        assert_eq!(a.unwrap().extents(), [2, 60, 1, 1]);
        assert_eq!(c.extents(), [2, 120, 3, 1]);
        let Boxes::Nested(Nested { a, .. }) = boxes(&[&[2, 3]], &[&[3, 2]]) else {
            panic!("the layouts differ");
        };
        assert!(a.is_none());
    }

    #[apply(unit_test)]
    fn axes_side_by_side_stay_apart() {
        let layout = |shapes: &[[usize; 4]]| {
            let shapes = shapes.iter().map(|s| Shape::new(s).unwrap());
            Layout::from_shapes(4, shapes).unwrap()
        };
        let a = layout(&[[2, 3, 4, 5], [1, 1, 1, 1]]);
        let b = layout(&[[2, 3, 1, 5], [1, 1, 7, 1]]);
        let pairs = Pairs::elementwise(&a, &b).unwrap();
        let plan = |axes| Nested::new(axes, &a, &b, &pairs).unwrap();
        let last_but_one = plan(0b0100);
        assert_eq!(last_but_one.result.extents(), [2, 3, 5, 5, 1, 1, 8, 1]);
        assert_eq!(last_but_one.c.extents(), [6, 25, 1, 8]);
        assert_eq!(last_but_one.concat_axes, 0b10);
        let both = plan(0b1001);
        assert_eq!(both.result.extents(), [4, 3, 4, 10, 2, 1, 7, 2]);
        assert_eq!(both.a.unwrap().extents(), [6, 4, 5, 1, 1, 1]);
        assert_eq!(both.concat_axes, 0b101);
        let first = Nested::new(1, &a, &a, &pairs).unwrap();
        assert_eq!((first.c.rank(), first.concat_axes), (1, 1));
        assert_eq!(first.c.offsets().as_slice(), [0, 240, 242]);
        let tall = layout(&[[3 << 30, 0, 1, 1]]);
        let pairs = Pairs::elementwise(&tall, &tall).unwrap();
        let refused = Nested::new(1, &tall, &tall, &pairs).unwrap_err();
        assert_eq!(
            (refused.kind(), refused.element()),
            ("size_overflow", Some(0))
        );
    }
}
