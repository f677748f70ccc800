//! Matrices of complex values turned over their diagonal, for transforms of two axes.
//!
//! Cost: the values read once and written once, in one dispatch.

use std::sync::Arc;

use num_complex::Complex32;

use super::par_tiles;
use crate::Result;
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Twin, TwinArgs, Variant, Word, Words,
};
use crate::ragged::{CacheKey, DType, Layout};

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "transpose",
    source: include_str!("../../shaders/transpose.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read],
    variants: &[Variant {
        dtype: DType::C32,
        flags: &[],
    }],
};

/// Rows and columns of the tile of a workgroup.
const SIDE: u32 = 32;

/// The launch for matrices of the shapes of `x`, of rank 2. Its result has the layout of `x`, whose elements begin where the turned
/// ones do; those have their extents exchanged.
pub(crate) fn launch(x: &Layout) -> Result<Arc<Launch>> {
    let key = CacheKey {
        what: "transpose",
        other: 0,
        device: 0,
        extra: 0,
    };
    x.cached(key, || {
        let mut tiles = Vec::new();
        for (&begin, extents) in x.offsets().as_slice().iter().zip(x.extents().chunks(2)) {
            let count = extents[0].div_ceil(SIDE) * extents[1].div_ceil(SIDE);
            tiles.extend((0..count).flat_map(|tile| [begin, extents[0], extents[1], tile]));
        }
        let stage = Stage {
            kernel: &KERNEL,
            variant: 0,
            groups: (tiles.len() / 4) as u32,
            slots: vec![
                Slot::Input(0),
                Slot::Output(0),
                Slot::Words(Words::new(tiles)),
            ],
            params: vec![Word::InputBase(0)],
            cost: x.total() as u64,
        };
        Ok(Arc::new(Launch {
            op: "transpose",
            outputs: vec![Output::new(DType::C32, OutputLayout::Input(0))],
            temps: Vec::new(),
            stages: Some(stage)
                .filter(|stage| stage.groups > 0)
                .into_iter()
                .collect(),
            pairs: None,
            twin: Twin::new(twin),
        }))
    })
}

fn twin(args: &mut TwinArgs<'_>) {
    let (x, layout) = args.input::<Complex32>(0);
    let y: &mut [Complex32] = bytemuck::cast_slice_mut(args.outputs[0].words);
    par_tiles(layout.offsets(), y, |element, within, y| {
        let x = &x[layout.offsets().range(element)];
        let extents = &layout.extents()[2 * element..];
        let (rows, columns) = (extents[0] as usize, extents[1] as usize);
        let (mut i, mut j) = (within.start % rows, within.start / rows);
        for value in y {
            *value = x[i * columns + j];
            i += 1;
            if i == rows {
                (i, j) = (0, j + 1);
            }
        }
    });
}
