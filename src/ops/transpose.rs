//! Matrices turned over their diagonal, each where it was: the part of [`strided`](super::strided) that neither reads nor writes in runs.
//!
//! Small matrices go several to a workgroup, which reads and writes all of them as they lie; larger ones in tiles. Which way one goes
//! depends on its own size.

use crate::plan::{Access, Kernel, Slot, Stage, Variant, Word, Words};
use crate::ragged::DType;

const BITS: &[Variant] = &[
    Variant {
        dtype: DType::U32,
        flags: &[],
    },
    Variant {
        dtype: DType::C32,
        flags: &[],
    },
];

pub(crate) static TILES: Kernel = Kernel {
    stem: "transpose",
    source: include_str!("../../shaders/transpose.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read],
    variants: BITS,
};

pub(crate) static SMALL: Kernel = Kernel {
    stem: "transpose_small",
    source: include_str!("../../shaders/transpose_small.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read, Access::Read],
    variants: BITS,
};

/// Rows and columns of the tile of a workgroup.
const SIDE: u32 = 32;
/// Words that a workgroup of the other kernel holds.
const CAPACITY: u32 = 3584;
/// Matrices that it holds at most.
const SPAN: u32 = 128;

/// The stages that turn these matrices, (where it begins, rows, columns) each and one behind the other, of values of one or two words.
pub(super) fn stages(dtype: DType, matrices: impl Iterator<Item = [u32; 3]>) -> Vec<Stage> {
    let capacity = CAPACITY / dtype.words(1) as u32;
    let (mut tiles, mut runs, mut small) = (Vec::new(), Vec::<[u32; 2]>::new(), Vec::new());
    let (mut in_tiles, mut in_runs) = (0u64, 0u64);
    // Where the last run ends, and the values that it has.
    let (mut end, mut held) = (0, 0);
    for [begin, rows, columns] in matrices.filter(|of| of[1] > 0 && of[2] > 0) {
        let size = rows * columns;
        if size > capacity {
            let count = rows.div_ceil(SIDE) * columns.div_ceil(SIDE);
            tiles.extend((0..count).flat_map(|tile| [begin, rows, columns, tile]));
            in_tiles += u64::from(size);
            continue;
        }
        match runs.last_mut() {
            Some(run) if begin == end && held + size <= capacity && run[1] < SPAN => {
                run[1] += 1;
                held += size;
            }
            _ => {
                runs.push([small.len() as u32 / 2, 1]);
                held = size;
            }
        }
        end = begin + size;
        small.extend([begin, rows << 16 | columns]);
        in_runs += u64::from(size);
    }
    let seen = match dtype {
        DType::C32 => DType::C32,
        _ => DType::U32,
    };
    let stage = |kernel: &'static Kernel, groups: usize, lists: Vec<Vec<u32>>, values: u64| {
        let lists = lists.into_iter().map(|list| Slot::Words(Words::new(list)));
        Stage {
            kernel,
            variant: kernel.variant(seen, &[]),
            groups: groups as u32,
            slots: [Slot::Input(0), Slot::Output(0)]
                .into_iter()
                .chain(lists)
                .collect(),
            params: vec![Word::InputBase(0)],
            cost: values,
        }
    };
    let groups = runs.len();
    let runs = runs.concat();
    [
        stage(&TILES, tiles.len() / 4, vec![tiles], in_tiles),
        stage(&SMALL, groups, vec![runs, small], in_runs),
    ]
    .into_iter()
    .filter(|stage| stage.groups > 0)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(stage: &Stage, list: usize) -> &[u32] {
        match &stage.slots[2 + list] {
            Slot::Words(words) => words.data(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn small_matrices_share_workgroups_and_large_ones_are_cut() {
        // 60 × 60 is more than a workgroup holds, and what comes behind it begins another run.
        let sizes = [[2, 3], [0, 5], [40, 50], [40, 50], [60, 60], [1, 1], [4, 4]];
        let mut begin = 0;
        let matrices: Vec<[u32; 3]> = sizes
            .iter()
            .map(|[rows, columns]| {
                begin += rows * columns;
                [begin - rows * columns, *rows, *columns]
            })
            .collect();
        let stages = stages(DType::F32, matrices.iter().copied());
        assert_eq!(stages.len(), 2);
        assert_eq!(stages[0].groups, 4);
        assert_eq!(words(&stages[0], 0)[12..], [4006, 60, 60, 3]);
        assert_eq!(stages[1].groups, 3);
        assert_eq!(words(&stages[1], 0), [0, 2, 2, 1, 3, 2]);
        assert_eq!(
            words(&stages[1], 1)[6..],
            [7606, 1 << 16 | 1, 7607, 4 << 16 | 4]
        );
        let ones = (0..300).map(|i| [i, 1, 1]);
        let runs = super::stages(DType::C32, ones);
        assert_eq!(words(&runs[0], 0), [0, 128, 128, 128, 256, 44]);
    }
}
