//! Limits of scratch memory and bindings.

use vsla::{Error, Layout, product::ShapeMatrix};

use super::{Case, grid, run};
use crate::support::compare::assert_identical;
use crate::support::operation::pick;

/// With little scratch memory, blocks run one after another, or are cut along the inner extent and further; the bits
/// are the same.
pub(super) fn little_scratch() {
    use crate::device::own_gpu;
    let plenty = own_gpu(|options| options.poison = true);
    let case = Case {
        name: "little scratch",
        extents: vec![[5, 6, 7], [2, 3, 2], [1, 1, 1], [1, 9, 1]],
        length: |rng| rng.usize(40..=130),
    };
    let both = case.floats();
    let expected = run(&plenty, &both, |x, y| x.conv_matmul(y));
    for kib in [64, 16, 8] {
        let device = own_gpu(|options| options.max_binding_bytes = Some(1024 * kib));
        let [a, b] = &both;
        let mut first = 0;
        // The whole batch does not fit a binding, but each matrix does.
        for (matrix, extents) in case.extents.iter().enumerate() {
            let entries: Vec<usize> = (first..first + extents[0] * extents[2]).collect();
            first += entries.len();
            let (x, y) = (a.one(matrix), b.one(matrix));
            let largest = x.entries.values().len().max(y.entries.values().len());
            let result = pick(&expected, &entries);
            if largest.max(result.values().len()) as u64 * 4 > 1024 * kib {
                continue;
            }
            let got = run(&device, &[x, y], |x, y| x.conv_matmul(y));
            assert_identical(format!("{kib} KiB, matrix {matrix}"), &got, &result);
        }
    }
}

/// Transforms that are too long for a GPU, and results that exceed every binding.
pub(super) fn limits() {
    use crate::device::own_gpu;
    let device = own_gpu(|options| options.max_binding_bytes = Some(4096));
    let long = |length| {
        let entries = device
            .full(&Layout::from_lengths([length]).unwrap(), 1u32)
            .unwrap();
        ShapeMatrix::new(&entries, &grid(&[[1, 1]])).unwrap()
    };
    for outcome in [
        long(600).conv_matmul(&long(600)),
        long(60).kron_matmul(&long(60)),
    ] {
        assert!(matches!(
            outcome,
            Err(Error::TooLarge {
                element: Some(0),
                ..
            })
        ));
    }
}
