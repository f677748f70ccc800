//! Elements without extents.

use vsla::f16;

use super::*;

/// An element (0, 0) fits every other factor: its rows and columns are none, whatever the inner extents are.
pub fn without_extents(device: &Device) {
    let matrix = |shapes: &[[usize; 2]]| {
        let layout = matrices(shapes.iter().copied());
        upload(device, &Ragged::full(&layout, 2.0f32).unwrap())
    };
    let (a, b) = (
        matrix(&[[2, 6], [0, 0], [6, 3], [0, 0], [1, 6]]),
        matrix(&[[6, 3], [6, 3], [0, 0], [0, 0], [6, 1]]),
    );
    let shapes = |got: &Layout| -> Vec<Vec<u32>> {
        got.shapes().map(|shape| shape.extents().to_vec()).collect()
    };
    let expected = [vec![2, 3], vec![0, 3], vec![6, 0], vec![0, 0], vec![1, 1]];
    let c = download(&a.matmul(&b).unwrap());
    assert_eq!(shapes(c.layout()), expected);
    assert_eq!((c.row(0), c.row(4)), (&[24.0; 6][..], &[24.0][..]));
    let words = |x: &Tensor<f32>| x.to::<i32>().unwrap();
    let integers = words(&a).matmul(&words(&b)).unwrap();
    assert_eq!(shapes(integers.layout()), expected);
    let halves = |x: &Tensor<f32>| x.to::<f16>().unwrap();
    let products = halves(&a).matmul(&halves(&b)).unwrap();
    assert_eq!(shapes(products.layout()), expected);
    let complex = |x: &Tensor<f32>| x.complex(x).unwrap();
    let products = complex(&a).matmul(&complex(&b)).unwrap();
    assert_eq!(shapes(products.layout()), expected);
    for [left, right] in TRANSPOSES {
        let turned = |x: &Tensor<f32>, turned: bool| match turned {
            true => x.transpose(&[1, 0]).unwrap(),
            false => x.clone(),
        };
        let (x, y) = (turned(&a, left), turned(&b, right));
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let got = form(pair.product(), [left, right]).run().unwrap();
        assert_identical("transposed", &download(&got), &c);
    }
    // A layer whose weights all elements share.
    let weights = matrix(&[[6, 3]]);
    let bias = upload(device, &Ragged::from_rows([[1.0f32, 2.0, 3.0]]).unwrap());
    let rows = matrix(&[[0, 0], [1, 6]]);
    let pair = rows.pair(&weights, Pairing::AllToAll).unwrap();
    let got = download(&pair.product().bias(&bias).run().unwrap());
    assert_eq!(shapes(got.layout()), [vec![0, 3], vec![1, 3]]);
    assert_eq!(got.row(1), [25.0, 26.0, 27.0]);
    // Other elements without values have extents that count.
    for wrong in [[2, 0], [0, 2]] {
        let error = matrix(&[wrong]).matmul(&weights).unwrap_err();
        assert_eq!(error.kind(), "inner_extents");
    }
}
