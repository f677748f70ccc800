//! The launch of a copy.

use super::{BOXES, BoxParams, Merged, RUNS, Read, Reading, RunParams, Slots, on_gpu, twin};
use crate::Result;
use crate::ops::transpose;
use crate::plan::{Dispatch, Launch, Param, Slot, Twin, stream_tile};
use crate::ragged::{DType, Layout, MAX_RANK};

/// The copy of `x` that `reading` describes.
pub(super) fn launch(dtype: DType, x: &Layout, reading: &Reading, y: &Layout) -> Result<Launch> {
    let merged = Merged::new(reading, x, y)?;
    let dispatch = match dtype {
        // Two workgroups may write the halves of one word.
        DType::F16 => None,
        _ => match transposed_matrices(&merged, x) {
            Some((backwards, matrices)) => transpose::dispatch(dtype, backwards, matrices)?,
            None => None,
        },
    };
    if let Some(dispatch) = dispatch {
        let twin = twin(dtype, merged);
        return Ok(Launch::new(dtype, y.clone(), dispatch, twin));
    }
    let meta = |merged: &Option<Layout>, own| merged.clone().map_or(own, Slot::Meta);
    let slots = Slots {
        x: Slot::Input(0),
        x_meta: meta(&merged.x, Slot::InputMeta(0)),
        c: Slot::Output(0),
        c_meta: meta(&merged.y, Slot::Meta(y.clone())),
    };
    let axes = &merged.reading.axes;
    let rank = axes.len();
    let total = y.total();
    let tile = stream_tile(total, y.len());
    let [total_param, elements, tile_param] = [total, y.len(), tile].map(|n| Param::U32(n as u32));
    let [x_elements, rank_param] = [x.len(), rank].map(|n| Param::U32(n as u32));
    let (size, stride) = merged.reading.windows;
    let [size, stride] = [size, stride].map(Param::U32);
    let (groups, cost) = (total.div_ceil(tile) as u32, dtype.words(total) as u64);
    let dispatch = if merged.runs {
        let read = axes[0].read;
        let words = dtype.words(1) as u32;
        let kind = match dtype {
            DType::F16 | DType::U8 => dtype,
            _ => DType::U32,
        };
        let params = RunParams {
            total: total_param,
            elements,
            tile: tile_param,
            x_base: Param::InputBase(0),
            x_elements,
            rank: rank_param,
            size,
            stride,
            shift: Param::U32(match read {
                Read::From(shift) => on_gpu(shift, words),
                _ => 0,
            }),
            backwards: Param::U32(u32::from(read.is_backwards())),
            align: Param::U32(match read {
                Read::ToEnd => 1,
                Read::Centred => 2,
                _ => 0,
            }),
            words: Param::U32(words),
        };
        Dispatch::new(RUNS.variant(kind, &[]), slots, params, groups, cost)
    } else {
        let (mut along, mut flags) = (0, u32::from(merged.reading.repeat) << 8);
        let mut shift = [Param::U32(0); MAX_RANK];
        let mut step = shift;
        let mut placed = false;
        for (j, axis) in axes.iter().enumerate() {
            along |= (axis.along as u32) << (4 * j);
            match axis.read {
                Read::From(from) => shift[j] = Param::U32(on_gpu(from, 1)),
                Read::ToEnd => flags |= 1 << (16 + j),
                Read::Centred => flags |= 1 << (24 + j),
                Read::Backwards => flags |= 1 << j,
                Read::Cut(cut) | Read::Place(cut) => {
                    shift[j] = Param::U32(cut.start_on_gpu());
                    step[j] = Param::U32(cut.step_on_gpu());
                }
            }
            placed |= matches!(axis.read, Read::Place(_));
        }
        let kind = match dtype {
            DType::F16 | DType::C32 | DType::U8 => dtype,
            _ => DType::U32,
        };
        let params = BoxParams {
            total: total_param,
            elements,
            tile: tile_param,
            x_base: Param::InputBase(0),
            x_elements,
            rank: rank_param,
            size,
            stride,
            along: Param::U32(along),
            flags: Param::U32(flags),
            shift,
            step,
        };
        let variant: &[&str] = match (placed, rank == 2) {
            (false, false) => &[],
            (false, true) => &["RANK2"],
            (true, false) => &["PLACED"],
            (true, true) => &["PLACED", "RANK2"],
        };
        Dispatch::new(BOXES.variant(kind, variant), slots, params, groups, cost)
    };
    let twin = twin(dtype, merged);
    Ok(Launch::new(dtype, y.clone(), dispatch, twin))
}

/// The copy in which element e of the result is element `e / size · stride + e % size` in another box, or zeros if
/// there is none.
pub(super) fn windows(
    dtype: DType,
    x: &Layout,
    (size, stride): (u32, u32),
    y: &Layout,
) -> Result<Launch> {
    let reading = Reading {
        windows: (size, stride),
        ..Reading::plain(x.rank())
    };
    launch(dtype, x, &reading, y)
}

/// The twin.
fn twin(dtype: DType, merged: Merged) -> Twin {
    let bytes = |layout: &Option<Layout>| layout.as_ref().map_or(0, Layout::bytes);
    let bytes = bytes(&merged.x) + bytes(&merged.y);
    Twin::new(twin::of(dtype, merged)).holding(bytes)
}

/// If the copy only transposes matrices: whether their rows and columns are read backwards, and (begin, rows, columns)
/// of each. An element may hold several of one shape.
fn transposed_matrices<'a>(
    merged: &'a Merged,
    x: &'a Layout,
) -> Option<([bool; 2], impl Iterator<Item = [u32; 3]> + 'a)> {
    let axes: Vec<usize> = merged.reading.axes.iter().map(|axis| axis.along).collect();
    let rank = axes.len();
    let dense = merged.reading.axes.iter().all(|axis| axis.read.is_dense());
    if !dense || !matches!(axes[..], [1, 0] | [0, 2, 1]) {
        return None;
    }
    let back = |from_end: usize| merged.reading.axes[rank - from_end].read.is_backwards();
    if rank == 3 && back(3) {
        return None;
    }
    let x = merged.x.as_ref().unwrap_or(x);
    let offsets = x.offsets().as_slice().iter();
    Some((
        [back(2), back(1)],
        offsets
            .zip(x.extents().chunks_exact(rank))
            .flat_map(move |(&begin, extents)| {
                let (count, rows, columns) = match *extents {
                    [count, rows, columns] => (count, rows, columns),
                    _ => (1, extents[0], extents[1]),
                };
                // A matrix without values is skipped: its product may not fit.
                let count = if rows == 0 || columns == 0 { 0 } else { count };
                (0..count).map(move |i| [begin + i * rows * columns, rows, columns])
            }),
    ))
}
