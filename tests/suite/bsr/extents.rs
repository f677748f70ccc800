//! Elements without extents.

use super::*;

/// An element (0, 0) fits every other factor, and gives results without values, or blocks of zeros.
pub fn without_extents(device: &Device) {
    let topology = Topology::new([20, 30], [8, 16], &[(0, 0), (1, 1)]).unwrap();
    let s = device
        .upload_bsr(&matrix(&topology, 1, Values::Integers))
        .unwrap();
    for form in FORMS {
        let [transposed, left] = form;
        let inner = topology.shape()[usize::from(transposed == left)];
        let some = if left { [2, inner] } else { [inner, 2] };
        let x = batch(&matrices([[0, 0], some]), Values::Integers, "x");
        let x = upload(device, &x);
        let run = |x: &Tensor<f32>| download(&product(&s, x, form).run().unwrap());
        let (got, alone) = (run(&x), run(&x.elements(1..2).unwrap()));
        let outer = topology.shape()[usize::from(transposed != left)] as u32;
        let none = if left { [0, outer] } else { [outer, 0] };
        assert_eq!(got.shape(0).extents(), none, "{form:?}");
        assert_eq!(bits(got.row(1)), bits(alone.row(0)), "{form:?}");
    }
    for [left, right] in FORMS {
        let turned = |[m, n]: [usize; 2], turned: bool| if turned { [n, m] } else { [m, n] };
        let (a, b) = (turned([20, 3], left), turned([3, 30], right));
        let a = batch(&matrices([[0, 0], a, a]), Values::Integers, "a");
        let b = batch(&matrices([b, [0, 0], b]), Values::Integers, "b");
        let (x, y) = (upload(device, &a), upload(device, &b));
        let blocks = |x: &Tensor<f32>, y: &Tensor<f32>| {
            let mut product = x.product(y);
            if left {
                product = product.transpose_left();
            }
            if right {
                product = product.transpose_right();
            }
            product
                .sampled(&topology)
                .unwrap()
                .download_blocking()
                .unwrap()
        };
        let got = blocks(&x, &y);
        let last = blocks(&x.elements(2..3).unwrap(), &y.elements(2..3).unwrap());
        let zeros = vec![0.0; topology.len() * 8 * 16];
        assert_eq!([got.set(0), got.set(1)], [&zeros[..]; 2]);
        assert_eq!(bits(got.set(2)), bits(last.set(0)));
    }
}
