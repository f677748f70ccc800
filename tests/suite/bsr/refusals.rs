//! Bad input.

use vsla::{
    Bsr, BsrTensor, Device, Error, Pairing, Ragged, Tensor, Topology,
    product::{Activation, Product},
};

use super::matrices;
use crate::support::bench::unchanged;
use crate::support::operation::{download, upload};

pub fn on_host() {
    let new = |places: &[(u32, u32)]| Topology::new([20, 30], [8, 8], places).unwrap_err();
    assert_eq!(
        new(&[(0, 1), (1, 2), (1, 0)]).to_string(),
        "topology: block 2: expected a block after (1, 2), got (1, 0)"
    );
    assert!(matches!(
        new(&[(1, 1), (1, 1)]),
        Error::BlockOrder { block: 1, .. }
    ));
    assert_eq!(
        new(&[(0, 1), (0, 4)]).to_string(),
        "topology: block 1: expected a block inside the grid of 3 x 4, got (0, 4)"
    );
    let error = Topology::from_unsorted([20, 30], [8, 8], [(2, 3), (3, 0)]).unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("block_order", "topology", None)
    );

    for block in [[8, 24], [0, 8], [256, 8], [usize::MAX, 8]] {
        let error = Topology::causal([20, 30], block).unwrap_err();
        assert_eq!(
            (error.kind(), error.op(), error.element()),
            ("block_side", "topology", None)
        );
        let error = Topology::from_mask([1, 1], block, &[true]).unwrap_err();
        assert_eq!(error.kind(), "block_side");
        let error = Bsr::from_dense([1, 1], block, &[1.0f32], 0.0).unwrap_err();
        assert_eq!(error.kind(), "block_side");
    }
    let error = Topology::causal([20, 30], [8, 24]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "topology: expected block sides of 8, 16, 32, 48, 64, 96 or 128, got 24"
    );
    let error = Topology::new([usize::MAX, 1], [8, 8], &[]).unwrap_err();
    assert_eq!(error.kind(), "size_overflow");
    // A pattern that does not fit the grid is an error.
    let error = Topology::random([20, 30], [8, 16], 3, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "topology: expected at most 2 blocks per row, one per grid column, got 3"
    );
    assert_eq!(Topology::random([20, 30], [8, 16], 0, 1).unwrap().len(), 0);
    assert!(Topology::random([20, 0], [8, 16], 1, 1).is_err());
    assert!(Topology::random([20, 30], [0, 16], 1, 1).is_err());
    let error = Topology::strided([20, 30], [8, 16], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "topology: expected a stride of 1 or more, got 0"
    );
    assert_eq!((error.kind(), error.op()), ("argument", "topology"));
    // The blocks are counted before they are listed, which would take 69 GB or more.
    let (shape, block) = ([1 << 20; 2], [8, 8]);
    for many in [
        Topology::causal(shape, block),
        Topology::sliding_window(shape, block, 1 << 19),
        Topology::strided(shape, block, 2),
        Topology::random(shape, block, 1 << 16, 1),
    ] {
        assert_eq!(many.unwrap_err().kind(), "size_overflow");
    }

    let topology = Topology::block_diagonal([16, 16], [8, 8]).unwrap();
    let counts = |error: Error| match error {
        Error::ValueCount { expected, got, .. } => (expected, got),
        other => panic!("{other}"),
    };
    assert_eq!(
        counts(Bsr::new(&topology, vec![0.0f32; 127]).unwrap_err()),
        (128, 127)
    );
    assert_eq!(
        counts(Bsr::from_sets(&topology, 3, vec![0.0f32; 128]).unwrap_err()),
        (384, 128)
    );
    assert_eq!(
        counts(Bsr::sample(&topology, &[0.0f32; 255]).unwrap_err()),
        (256, 255)
    );
    let error = Bsr::from_blocks([16, 16], [8, 8], &[(0, 0)], &[0.0f32; 65]).unwrap_err();
    assert_eq!(counts(error), (64, 65));
    let error = Topology::from_mask([16, 16], [8, 8], &[true; 3]).unwrap_err();
    assert_eq!(counts(error), (256, 3));
    let error = Bsr::from_dense([usize::MAX / 64, 3], [8, 8], &[1.0f32], 0.0).unwrap_err();
    assert_eq!(error.kind(), "size_overflow");
    let error = Bsr::from_sets(&topology, 1 << 26, vec![0.0f32; 1]).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("size_overflow", "bsr"));
    let wide = Topology::new([1 << 16; 2], [8, 8], &[]).unwrap();
    let error = Bsr::new(&wide, vec![0.0f32; 0]).unwrap().to_dense();
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.op()), ("size_overflow", "bsr"));
}

pub fn on_device(device: &Device) {
    let topology = Topology::block_diagonal([16, 24], [8, 8]).unwrap();
    let sets = |sets: usize| {
        let bsr = Bsr::from_sets(&topology, sets, vec![1.0f32; sets * 128]).unwrap();
        device.upload_bsr(&bsr).unwrap()
    };
    let dense = |shapes: &[[usize; 2]]| {
        let layout = matrices(shapes.iter().copied());
        upload(device, &Ragged::full(&layout, 1.0f32).unwrap())
    };
    let (s, x) = (sets(1), dense(&[[24, 2], [16, 2]]));
    let error = s.matmul(&x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: pair 1: expected equal inner extents, got 24 and 16; \
         to make the pair fit, use transpose() of the block-sparse matrix"
    );
    let error = s.transpose().matmul(&x).unwrap_err();
    assert_eq!(error.element(), Some(0));
    let error = dense(&[[2, 16], [2, 24]]).matmul(&s).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: pair 1: expected equal inner extents, got 24 and 16; \
         to make the pair fit, use transpose() of the block-sparse matrix"
    );
    let error = sets(3).matmul(&dense(&[[24, 2], [24, 2]])).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("batch_size", "matmul"));
    let series = upload(device, &Ragged::from_rows([vec![1.0f32; 24]]).unwrap());
    assert_eq!(s.matmul(&series).unwrap_err().kind(), "rank");
    let wide = dense(&[[1 << 28, 0]]);
    let none = Topology::new([1 << 5, 0], [8, 8], &[]).unwrap();
    let none = device
        .upload_bsr(&Bsr::new(&none, vec![0.0f32; 0]).unwrap())
        .unwrap();
    let error = wide.matmul(&none.transpose()).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("size_overflow", Some(0)));
    let error = BsrTensor::new(&topology, dense(&[[2, 64], [2, 63]])).unwrap_err();
    assert!(matches!(
        error,
        Error::Length {
            element: 1,
            expected: 128,
            got: 126,
            ..
        }
    ));
    // All handles of the CPU are one device.
    if device.is_gpu() {
        let elsewhere = Device::cpu().upload(&Ragged::full(&matrices([[24, 2]]), 1.0f32).unwrap());
        assert_eq!(
            s.matmul(&elsewhere.unwrap()).unwrap_err().kind(),
            "device_mismatch"
        );
    }

    options_of_dense_factors(&s, &dense(&[[24, 2]]), &dense(&[[2, 16]]));
    let (a, b) = (dense(&[[16, 2], [16, 3]]), dense(&[[2, 24], [3, 24]]));
    let product = |a: &Tensor<f32>, b: &Tensor<f32>| {
        let pair = a.pair(b, Pairing::Elementwise).unwrap();
        pair.product().sampled(&topology).map(|_| ())
    };
    assert_eq!(product(&a, &b), Ok(()));
    let error = product(&a, &dense(&[[2, 24], [4, 24]])).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("inner_extents", Some(1)));
    let error = product(&a, &dense(&[[2, 24], [3, 25]])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sampled: element 1: expected the shape (3, 24), got (3, 25)"
    );
    let error = product(&dense(&[[15, 2], [16, 3]]), &b).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sampled: element 0: expected the shape (16, 2), got (15, 2)"
    );
    assert_eq!(product(&series, &series).unwrap_err().kind(), "rank");
    let pair = a.pair(&b, Pairing::Elementwise).unwrap();
    let fails = |product: Product<'_, f32>| product.sampled(&topology).unwrap_err().kind();
    let error = pair.product().scale(2.0).sampled(&topology).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sampled: expected a plain product of dense matrices, got a product with a scale, bias, activation or \
         residual, or an ambient product"
    );
    assert_eq!(
        fails(pair.product().activation(Activation::Relu)),
        "argument"
    );
    assert_eq!(fails(pair.product().ambient()), "argument");
    assert_eq!(fails(pair.product().bias(&series)), "argument");
    assert_eq!(fails(pair.product().residual(&a)), "argument");
}

/// Options that a block-sparse factor does not allow, with it on either side.
fn options_of_dense_factors(s: &BsrTensor<f32>, right: &Tensor<f32>, left: &Tensor<f32>) {
    // None of these calls makes a plan.
    unchanged(
        || s.values().device().counters().plans,
        || refused_options(s, right, left),
    );
    let transpose = s.transpose();
    assert!(transpose.is_transposed() && !s.is_transposed());
    let [plain, twice] = [s.product(right), transpose.product(right).transpose_left()];
    let [plain, twice] = [plain, twice].map(|product| download(&product.run().unwrap()));
    assert_eq!(plain, twice);
}

fn refused_options(s: &BsrTensor<f32>, right: &Tensor<f32>, left: &Tensor<f32>) {
    let fails = |product: Product<'_, f32>| {
        let error = product.run().unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "matmul"));
        error.to_string()
    };
    let ambient = "matmul: expected two dense factors, got ambient() with a block-sparse one";
    assert_eq!(fails(s.product(right).ambient()), ambient);
    assert_eq!(fails(left.product(s).ambient()), ambient);
    let dense = "matmul: expected transpose(&[1, 0]) of the dense factor, got";
    let error = fails(s.product(right).transpose_right());
    assert_eq!(error, format!("{dense} transpose_right()"));
    let error = fails(left.product(s).transpose_left());
    assert_eq!(error, format!("{dense} transpose_left()"));
    for product in [s.product(right), left.product(s)] {
        let error = product.sampled(s.topology()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sampled: expected a plain product of dense matrices, got a product with a block-sparse factor"
        );
    }
}
