//! Transposes, for all permutations and many sizes.

use vsla::{Complex32, Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use super::forms::{padded, permuted, slice_of, sliced};
use crate::support::compare::assert_exact;
use crate::support::operation::{download, one, run, upload};

pub(super) fn matrices(device: &Device) {
    let x = one(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let by = |op: &dyn Fn(&Tensor<i32>) -> Result<Tensor<i32>>| {
        download(&op(&upload(device, &x)).unwrap())
    };
    assert_exact(
        "a slice",
        &by(&|x| x.slice(&[1, -1], &[3, 2])),
        &one(&[2, 3], &[0, 4, 5, 0, 0, 0]),
    );
    assert_exact(
        "rows before and columns behind",
        &by(&|x| x.pad(&[1, 0], &[0, 1])),
        &one(&[3, 4], &[0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0]),
    );
    for (axes, expected) in [
        (&[][..], [1, 2, 3, 4, 5, 6]),
        (&[0], [4, 5, 6, 1, 2, 3]),
        (&[1], [3, 2, 1, 6, 5, 4]),
        (&[0, 1], [6, 5, 4, 3, 2, 1]),
    ] {
        let got = by(&|x| x.flip(axes));
        assert_exact(format!("{axes:?}"), &got, &one(&[2, 3], &expected));
    }
    for (extents, expected) in [
        ([1, 2], &[1, 2][..]),
        ([3, 1], &[1, 4, 0]),
        ([1, 4], &[1, 2, 3, 0]),
        ([0, 3], &[]),
    ] {
        let expected = one(&extents, expected);
        let got = by(&|x| x.resize(expected.layout()));
        assert_exact(format!("{extents:?}"), &got, &expected);
    }
    // Whole rows are copied in runs, however many rows precede them.
    let shapes = [[2, 3], [0, 3], [5, 1], [1, 40], [3, 0], [7, 7]];
    let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let x = Ragged::from_fn(&layout, |e, i| (100 * e + i) as i32 + 1).unwrap();
    let got = run(device, &x, &x, |x, _| x.pad(&[2, 0], &[1, 0]));
    assert_exact("rows of zeros", &got, &padded(&x, &[(2, 1), (0, 0)]));
    let got = run(device, &x, &x, |x, _| x.slice(&[1, 0], &[4, 7]));
    assert_exact("some rows", &got, &sliced(&x, &[[1, 4], [0, 7]]));
    let all = Ragged::from_fn(
        &Layout::uniform(9, Shape::new(&[6, 5]).unwrap()).unwrap(),
        |e, i| (e * 31 + i) as i32,
    )
    .unwrap();
    for range in [[-3, 2], [2, 9], [5, 6], [-7, 1], [6, 8]] {
        let got = run(device, &all, &all, |x, _| slice_of(x, &[range, [0, 5]]));
        assert_exact("rows of one width", &got, &sliced(&all, &[range, [0, 5]]));
    }
}

/// Every permutation of up to four axes, and one of more axes.
pub(super) fn transposed(device: &Device) {
    let x = one(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let got = run(device, &x, &x, |x, _| x.transpose(&[1, 0]));
    assert_exact("transposed", &got, &one(&[3, 2], &[1, 4, 2, 5, 3, 6]));
    let mut permutations: Vec<Vec<usize>> = vec![vec![]];
    for rank in 1..=4 {
        permutations = permutations
            .iter()
            .flat_map(|some| {
                (0..rank).map(|at| {
                    let mut more = some.clone();
                    more.insert(at, rank - 1);
                    more
                })
            })
            .collect();
        let shapes = (0..30).map(|i| {
            let extents: Vec<usize> = (0..rank).map(|axis| (i * (axis + 3) + axis) % 7).collect();
            Shape::new(&extents).unwrap()
        });
        let layout = Layout::from_shapes(rank, shapes).unwrap();
        let x = Ragged::from_fn(&layout, |e, i| (1000 * e + i) as i32).unwrap();
        for permutation in &permutations {
            let expected = permuted(&x, permutation);
            let y = upload(device, &x).transpose(permutation).unwrap();
            assert_exact(format!("{permutation:?}"), &download(&y), &expected);
            let mut inverse = vec![0; rank];
            for (a, &axis) in permutation.iter().enumerate() {
                inverse[axis] = a;
            }
            let back = download(&y.transpose(&inverse).unwrap());
            assert_exact(format!("{permutation:?} and back"), &back, &x);
        }
    }
    let x = one(&[2, 1, 3, 2, 1, 2, 3, 2], &(0..144).collect::<Vec<i32>>());
    let permutation = [7, 2, 0, 4, 3, 6, 1, 5];
    let got = run(device, &x, &x, |x, _| x.transpose(&permutation));
    assert_exact("eight axes", &got, &permuted(&x, &permutation));
}

/// Matrices of one tile and of several, alternating, alone and several per element, of every type.
pub(super) fn many_matrices(device: &Device) {
    let sides = [
        [60, 60],
        [1, 1],
        [3, 7],
        [8, 8],
        [64, 64],
        [64, 56],
        [1, 4000],
        [4000, 1],
        [33, 31],
        [0, 9],
        [32, 32],
        [2, 2],
        [100, 3],
        [9, 0],
        [65, 130],
        [5, 700],
        [16, 64],
        [31, 97],
        [128, 31],
        [190, 200],
    ];
    let shapes = sides.map(|sides| Shape::new(&sides).unwrap());
    // Batches in which most values are in matrices that are transposed by tiles.
    let small = (0..300).map(|i| Shape::new(&[1 + i % 3, 1 + i % 2]).unwrap());
    let matrices = Layout::from_shapes(2, shapes.into_iter().chain(small)).unwrap();
    let several = sides
        .iter()
        .enumerate()
        .map(|(i, [rows, columns])| Shape::new(&[i % 4, *rows, *columns]).unwrap());
    let several = Layout::from_shapes(3, several).unwrap();
    for (layout, order) in [(&matrices, &[1, 0][..]), (&several, &[0, 2, 1])] {
        turn_type(device, layout, order, |i| i as u32 + 1);
        turn_type(device, layout, order, |i| {
            Complex32::new(i as f32 + 0.5, -(i as f32))
        });
        turn_type(device, layout, order, |i| {
            f16::from_bits((i * 40_503 % 0x7BFF) as u16 + 1)
        });
    }
}

fn turn_type<T: Scalar>(
    device: &Device,
    layout: &Layout,
    order: &[usize],
    value: impl Fn(usize) -> T,
) {
    let offsets = layout.offsets().clone();
    let x = Ragged::from_fn(layout, |e, i| value(offsets.range(e).start + i)).unwrap();
    let tensor = upload(device, &x);
    for first in [0, 2] {
        let some = tensor.elements(first..x.len()).unwrap();
        let expected = permuted(&download(&some), order);
        let got = download(&some.transpose(order).unwrap());
        assert!(got == expected, "{order:?} of {} from {first}", T::DTYPE);
    }
}
