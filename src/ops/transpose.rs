//! Transposes matrices, each at its old offset, in tiles that pass through workgroup memory: the part of
//! [`strided`](super::strided) that neither reads nor writes contiguous runs.

use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, constants, params, shader, slots,
    variants,
};
use crate::ragged::DType;
use crate::{Result, host};

slots! {
    struct Slots { x: Read, y: Write, tiles: Read }
}

params! {
    struct Params { x_base, down, across }
}

/// The values are opaque bits of one or two words.
pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("transpose"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![SIDE]],
    variants: variants![U32, C32],
};

/// Bytes, of which tiles may share words.
pub(super) static BYTES: Kernel = Kernel {
    shader: shader!("transpose_bytes"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![BYTE_SIDE]],
    variants: variants![U8],
};

/// Rows and columns of a workgroup's tile.
const SIDE: u32 = 32;
const BYTE_SIDE: u32 = 64;
/// The number of values of a matrix above which the values of a column are too far apart for the caches.
const FAR: u32 = 4096;

/// The dispatch that transposes matrices, each given as (begin, rows, columns), of bytes, or of values of one or two
/// words. Their rows and their columns may be read backwards. `None` if most values are in small matrices, whose
/// columns a cache holds: reading those column by column is faster.
pub(super) fn dispatch(
    dtype: DType,
    [rows_back, columns_back]: [bool; 2],
    matrices: impl Iterator<Item = [u32; 3]>,
) -> Result<Option<Dispatch>> {
    let (variant, side) = match dtype {
        DType::U8 => (BYTES.variant(dtype, &[]), BYTE_SIDE),
        DType::C32 => (KERNEL.variant(dtype, &[]), SIDE),
        _ => (KERNEL.variant(DType::U32, &[]), SIDE),
    };
    let mut tiles = Vec::new();
    let (mut all, mut far) = (0, 0);
    for [begin, rows, columns] in matrices.filter(|of| of[1] > 0 && of[2] > 0) {
        let size = rows * columns;
        let count = rows.div_ceil(side) * columns.div_ceil(side);
        host::reserve(&mut tiles, 4 * count as usize)?;
        tiles.extend((0..count).flat_map(|tile| [begin, rows, columns, tile]));
        all += u64::from(size);
        if size > FAR {
            far += u64::from(size);
        }
    }
    Ok((2 * far > all).then(|| {
        let groups = (tiles.len() / 4) as u32;
        Dispatch::new(
            variant,
            Slots {
                x: Slot::Input(0),
                y: Slot::Output(0),
                tiles: Slot::PlanBuffer(PlanBuffer::new(tiles)),
            },
            Params {
                x_base: Param::InputBase(0),
                down: Param::U32(u32::from(columns_back)),
                across: Param::U32(u32::from(rows_back)),
            },
            groups,
            all,
        )
    }))
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn large_matrices_are_cut_and_small_ones_left_to_others() {
        let matrices = [[0, 60, 70], [4200, 0, 5], [4200, 2, 3]];
        let dispatch = dispatch(DType::F32, [false; 2], matrices.into_iter());
        let dispatch = dispatch.unwrap().unwrap();
        let Slot::PlanBuffer(words) = &dispatch.slots[2] else {
            panic!("{:?}", dispatch.slots[2]);
        };
        assert_eq!(dispatch.groups, 7);
        assert_eq!(words.data()[20..], [0, 60, 70, 5, 4200, 2, 3, 0]);
        let small = (0..3).map(|i| [4096 * i, 64, 64]);
        assert!(
            super::dispatch(DType::C32, [false; 2], small)
                .unwrap()
                .is_none()
        );
    }
}
