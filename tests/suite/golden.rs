//! Results worked out by hand, for every operation that has any: the algebra in numbers.

use libtest_mimic::Trial;
use vsla::{Device, Ragged, Result, Tensor, product::ShapeMatrix};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::operation::{golden, one, rows, run};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    const TESTS: &[DeviceTest] = &[
        ("add", add),
        ("sub", sub),
        ("hadamard", hadamard),
        ("conv", conv),
        ("binomials", binomials),
        ("kron", kron),
        ("shape_matrices", shape_matrices),
        ("stack", stack),
        ("window", window),
        ("shrink", shrink),
        ("conv_of_matrices", conv_of_matrices),
    ];
    bench.all_on_each_device(TESTS)
}

type Values = (&'static [usize], &'static [f32]);

/// The result for a pair of elements.
#[track_caller]
fn check(
    device: &Device,
    op: fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>,
    cases: &[[Values; 3]],
) {
    for (i, case) in cases.iter().enumerate() {
        let [a, b, expected] = case.map(|(shape, values)| one(shape, values));
        assert_exact(format!("number {i}"), &run(device, &a, &b, op), &expected);
    }
}

fn add(device: &Device) {
    golden::<f32, f32, 3>(
        device,
        |x, y| x.add(y),
        [
            (&[1., 2., 3.], &[4., 5.], &[5., 7., 3.]),
            (&[1.], &[0., 1.], &[1., 1.]),
            (&[1., 2., 3.], &[5.], &[6., 2., 3.]),
        ],
    );
    let (large, small): (Values, Values) = ((&[2, 2], &[1., 2., 3., 4.]), (&[1, 2], &[10., 20.]));
    let sum: Values = (&[2, 2], &[11., 22., 3., 4.]);
    check(
        device,
        |x, y| x.add(y),
        &[[large, small, sum], [small, large, sum]],
    );
    let (a, b) = (one(&[3, 5], &[1.; 15]), one(&[7, 2], &[1.; 14]));
    let sum = run(device, &a, &b, |x, y| x.add(y));
    assert_eq!(sum.shape(0).extents(), [7, 5]);
}

fn sub(device: &Device) {
    golden::<f32, f32, 1>(
        device,
        |x, y| x.sub(y),
        [(&[5., 3., 2.], &[2., 1., 2.], &[3., 2., 0.])],
    );
}

fn hadamard(device: &Device) {
    golden::<f32, f32, 1>(
        device,
        |x, y| x.hadamard(y),
        [(&[2., 3.], &[4., 5., 6.], &[8., 15., 0.])],
    );
}

fn conv(device: &Device) {
    golden::<f32, f32, 4>(
        device,
        |x, y| x.conv(y),
        [
            (&[1., 2.], &[3., 4.], &[3., 10., 8.]),
            (&[1., 2., 3.], &[0.5, 1.5], &[0.5, 2.5, 4.5, 4.5]),
            (
                &[1., -1., 2., 0.5],
                &[2., 1., -1.],
                &[2., -1., 2., 4., -1.5, -0.5],
            ),
            (&[1.; 8], &[1., -1.], &[1., 0., 0., 0., 0., 0., 0., 0., -1.]),
        ],
    );
}

/// (1 + x)^10.
fn binomials(device: &Device) {
    let factor = device
        .upload(&Ragged::from_rows([[1u32, 1]]).unwrap())
        .unwrap();
    let mut power = factor.clone();
    for _ in 1..10 {
        power = power.conv(&factor).unwrap();
    }
    let power = power.download_blocking().unwrap();
    assert_eq!(
        power.row(0),
        [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1]
    );
}

fn kron(device: &Device) {
    golden::<f32, f32, 2>(
        device,
        |x, y| x.kron(y),
        [
            (&[1., 2.], &[3., 4.], &[3., 4., 6., 8.]),
            (&[3., 4.], &[1., 2.], &[3., 6., 4., 8.]),
        ],
    );
    let (a, unit): (Values, Values) = ((&[2, 2], &[1., 2., 3., 4.]), (&[2, 2], &[1., 0., 0., 1.]));
    let product: &[f32] = &[
        1., 0., 2., 0., 0., 1., 0., 2., 3., 0., 4., 0., 0., 3., 0., 4.,
    ];
    check(device, |x, y| x.kron(y), &[[a, unit, (&[4, 4], product)]]);
}

fn shape_matrices(device: &Device) {
    let matrix = |entries: [&[f32]; 4]| {
        let [a, b, c, d] = entries.map(<[f32]>::to_vec);
        ShapeMatrix::from_nested(device, &[[[a, b], [c, d]]]).unwrap()
    };
    let a = matrix([&[1., 2.], &[3.], &[], &[0., 1.]]);
    let b = matrix([&[1.], &[1., 1.], &[2., 0., 1.], &[4.]]);
    let entries = |product: ShapeMatrix<f32>| product.entries().download_blocking().unwrap();
    let conv = rows([&[7., 2., 3.], &[13., 3., 2.], &[0., 2., 0., 1.], &[0., 4.]]);
    assert_exact("conv", &entries(a.conv_matmul(&b).unwrap()), &conv);
    let kron = rows([
        &[7., 2., 3.],
        &[13., 1., 2., 2.],
        &[0., 0., 0., 2., 0., 1.],
        &[0., 4.],
    ]);
    assert_exact("kron", &entries(a.kron_matmul(&b).unwrap()), &kron);
}

fn stack(device: &Device) {
    let stack = |batch: Ragged<f32>| device.upload(&batch).unwrap().stack(1 << 10).unwrap();
    let batch = Ragged::from_rows([vec![10., 20.], vec![30., 40., 50.], vec![60.]]).unwrap();
    let expected = one(&[3, 3], &[10., 20., 0., 30., 40., 50., 60., 0., 0.]);
    assert_exact(
        "three",
        &stack(batch).download_blocking().unwrap(),
        &expected,
    );
    let batch = Ragged::from_rows([vec![], vec![42., 84.]]).unwrap();
    let expected = one(&[2, 2], &[0., 0., 42., 84.]);
    assert_exact(
        "an empty one",
        &stack(batch).download_blocking().unwrap(),
        &expected,
    );
}

fn window(device: &Device) {
    let windows = |elements: usize, size, stride| {
        let batch = Ragged::from_rows((1..=elements).map(|i| [i as f32])).unwrap();
        device
            .upload(&batch)
            .unwrap()
            .window(size, stride, 1 << 10)
            .unwrap()
    };
    let first = windows(4, 3, 1).download_blocking().unwrap();
    assert_eq!(first.to_vecs().unwrap(), [[1., 2., 3.], [2., 3., 4.]]);
    assert_eq!([windows(10, 4, 2).len(), windows(3, 4, 1).len()], [4, 0]);
}

fn shrink(device: &Device) {
    let shrunk = |a: &Ragged<f32>| run(device, a, a, |x, _| x.shrink_blocking());
    let difference = run(
        device,
        &rows([&[5., 3., 2.]]),
        &rows([&[2., 1., 2.]]),
        |x, y| x.sub(y),
    );
    assert_exact("a difference", &shrunk(&difference), &rows([&[3., 2.]]));
    let cases: [[Values; 2]; 3] = [
        [
            (&[3, 3], &[1., 0., 0., 0., 2., 0., 0., 0., 0.]),
            (&[2, 2], &[1., 0., 0., 2.]),
        ],
        [
            (&[2, 3], &[0., 0., 5., 0., 0., 0.]),
            (&[1, 3], &[0., 0., 5.]),
        ],
        [(&[3, 4], &[0.; 12]), (&[0, 0], &[])],
    ];
    for (i, case) in cases.iter().enumerate() {
        let [a, expected] = case.map(|(shape, values)| one(shape, values));
        assert_exact(format!("number {i}"), &shrunk(&a), &expected);
    }
}

fn conv_of_matrices(device: &Device) {
    let a: Values = (&[2, 2], &[1., 2., 3., 4.]);
    let b: Values = (&[2, 2], &[1., 0., 0., 1.]);
    let product: Values = (&[3, 3], &[1., 2., 0., 3., 5., 2., 0., 3., 4.]);
    check(
        device,
        |x, y| x.conv(y),
        &[[a, b, product], [b, a, product]],
    );
}
