//! Arguments that are rejected.

use vsla::{Device, Error, Layout, Result, product::ShapeMatrix};

use super::grid;
use crate::support::operation::download;

pub(super) fn refusals(device: &Device) {
    let matrices = |extents: &[[usize; 2]], length| {
        let grid = grid(extents);
        let layout = Layout::from_lengths(vec![length; grid.total()]).unwrap();
        ShapeMatrix::new(&device.full(&layout, 1u32).unwrap(), &grid).unwrap()
    };
    let a = matrices(&[[2, 3], [2, 2]], 1);
    let b = matrices(&[[3, 1], [3, 2]], 1);
    let text = |outcome: Result<ShapeMatrix<u32>>| outcome.unwrap_err().to_string();
    assert_eq!(
        text(a.conv_matmul(&b)),
        "conv_matmul: pair 1: expected equal inner extents, got 2 and 3; to make the pair fit, use transpose() of the right \
         matrix"
    );
    assert_eq!(
        text(a.kron_matmul(&b)),
        "kron_matmul: pair 1: expected equal inner extents, got 2 and 3; to make the pair fit, use transpose() of the right \
         matrix"
    );
    // A matrix (0, 0) fits every other one, and takes nothing from the entries of the next.
    let none = matrices(&[[0, 0], [2, 3], [4, 5], [1, 2]], 1);
    let other = matrices(&[[5, 2], [3, 1], [0, 0], [2, 1]], 1);
    for product in [none.conv_matmul(&other), none.kron_matmul(&other)] {
        let product = product.unwrap();
        let shapes = product
            .grid()
            .shapes()
            .map(|shape| shape.extents().to_vec());
        assert!(shapes.eq([vec![0, 2], vec![2, 1], vec![4, 0], vec![1, 1]]));
        assert_eq!(download(product.entries()).values(), [3, 3, 2]);
    }
    assert_eq!(
        text(a.add(&b)),
        "add: element 0: expected the shape (2, 3), got (3, 1)"
    );
    let three = matrices(&[[1, 1]; 3], 1);
    for outcome in [a.add(&three), a.conv_matmul(&three), a.kron_matmul(&three)] {
        assert!(matches!(
            outcome,
            Err(Error::BatchSize {
                left: 2,
                right: 3,
                ..
            })
        ));
    }
    let entries = a.entries();
    assert!(matches!(
        ShapeMatrix::new(entries, &grid(&[[3, 3]])),
        Err(Error::ValueCount {
            expected: 9,
            got: 10,
            ..
        })
    ));
    let flat = Layout::from_lengths([10]).unwrap();
    assert!(matches!(
        ShapeMatrix::new(entries, &flat),
        Err(Error::Rank {
            op: "shape_matrix",
            got: 1,
            ..
        })
    ));
    // The third result of the second matrix exceeds 2³² − 1 values.
    let long = matrices(&[[1, 1], [1, 1]], 1 << 16);
    match long.kron_matmul(&long) {
        Err(Error::SizeOverflow {
            op: "kron_matmul",
            element: Some(0),
            ..
        }) => (),
        other => panic!("{other:?}"),
    }
    match ShapeMatrix::<f32>::identity(device, [3, 60_000, 60_000]) {
        Err(Error::SizeOverflow {
            element: Some(2), ..
        }) => (),
        other => panic!("{other:?}"),
    }
    if device.is_gpu() {
        let elsewhere = ShapeMatrix::<u32>::identity(&Device::cpu(), [2, 2]).unwrap();
        for outcome in [a.add(&elsewhere), a.kron_matmul(&elsewhere)] {
            assert!(matches!(
                outcome,
                Err(Error::DeviceMismatch { .. } | Error::Shape { .. })
            ));
        }
    }
}
