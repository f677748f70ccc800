//! Convolution and correlation of vectors, directly.
//!
//! `(a * b)_q = Σ_j a_{q-j} b_j`, m + n − 1 values, and the correlation `a * reverse(b)`. Cost: m·n multiply-adds a pair.

mod direct;
#[allow(dead_code, reason = "the plan that assigns pairs to it comes next")]
mod fused;
mod twin;

use std::sync::Arc;

pub(crate) use direct::KERNEL;
pub(crate) use fused::KERNEL as FUSED;
#[cfg(feature = "gpu")]
pub(crate) use fused::generate as generate_fused;
pub(crate) use twin::{Taps, longer_and_taps};

use super::{Arithmetic, launch_key, par_tiles, twin_of};
use crate::plan::{Launch, Offset, Output, OutputLayout, TileList, Twin, TwinArgs};
use crate::ragged::{DType, Layout, Offsets, Pairs};
use crate::{Error, Result};

/// Results of one workgroup: `TILE` of shaders/lib/taps.wgsl.
pub(crate) const TILE: usize = 448;

/// How many workgroups it takes to convolve every pair, and on what.
#[derive(Debug)]
pub(crate) struct ConvPlan {
    /// Where each pair's result begins.
    pub offsets: Offsets,
    /// Tiles, when some result needs more than one; otherwise workgroup g does all of pair g.
    pub tiles: Option<TileList>,
    pub groups: u32,
    /// Multiply-adds, those on staged zeros included.
    pub cost: u64,
}

impl ConvPlan {
    pub(crate) fn new(op: &'static str, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<ConvPlan> {
        for layout in [a, b] {
            if layout.rank() != 1 {
                return Err(Error::Rank {
                    op,
                    element: None,
                    expected: "1".to_owned(),
                    got: layout.rank(),
                });
            }
        }
        let mut offsets = Offset::new(op, pairs.len())?;
        let mut longest = 0;
        let mut cost = 0u64;
        for (i, j) in pairs.iter() {
            let (m, n) = (a.length(i), b.length(j));
            let results = result_length(m, n);
            offsets.push(results as u64)?;
            longest = longest.max(results);
            cost += (results.div_ceil(TILE) * TILE) as u64 * m.min(n) as u64;
        }
        let offsets = offsets.finish();
        let tiles = (longest > TILE).then(|| {
            let lengths: Vec<u32> = offsets.lengths().map(|l| l as u32).collect();
            TileList::new(&lengths, TILE, |p| {
                let (i, j) = pairs.get(p);
                a.length(i).min(b.length(j)) as u64
            })
        });
        let groups = tiles.as_ref().map_or(pairs.len() as u32, |t| t.tiles);
        Ok(ConvPlan {
            offsets,
            tiles,
            groups,
            cost,
        })
    }
}

/// Values of the full convolution of m and n values; none when a side is empty.
pub(crate) fn result_length(m: usize, n: usize) -> usize {
    if m == 0 || n == 0 { 0 } else { m + n - 1 }
}

/// The launch of `a * b`, or of the correlation of a with b, for every pair.
pub(crate) fn launch(
    dtype: DType,
    a: &Layout,
    b: &Layout,
    pairs: &Pairs,
    correlate: bool,
) -> Result<Arc<Launch>> {
    let op = if correlate { "correlate" } else { "conv" };
    a.cached(launch_key(op, dtype, b.id(), pairs), || {
        let plan = ConvPlan::new(op, a, b, pairs)?;
        let result = Layout::from_offsets(plan.offsets);
        let twin = if correlate {
            twin_of!(dtype, twin, true)
        } else {
            twin_of!(dtype, twin, false)
        };
        Ok(Arc::new(Launch {
            op,
            temps: Vec::new(),
            stages: direct::stages(dtype, (a, b), pairs, 0..pairs.len(), &result, correlate),
            outputs: vec![Output::new(dtype, OutputLayout::of(result, &[a, b]))],
            pairs: Some(pairs.clone()),
            twin: Twin::new(twin),
        }))
    })
}

fn twin<T: Arithmetic, const REVERSED: bool>(args: &mut TwinArgs<'_>) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let output = &mut args.outputs[0];
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    par_tiles(output.layout.offsets(), c, |pair, within, out| {
        let (i, j) = pairs.get(pair);
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        let mut taps = Taps::new(longer_and_taps(a, b, REVERSED), within);
        taps.convolve(out);
    });
}
