//! Operands at any offset in their buffers, including for kernels that read four values at a time.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Shape, Tensor};

use super::{EVERY_OP, drawn, lengths, numbers};
use crate::support::bench::Bench;
use crate::support::compare::assert_identical;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.on_each_device("views::at_every_base", at_every_base);
    trials.extend(bench.on_each_device("views::of_boxes_at_every_base", of_boxes_at_every_base));
    trials
}

/// The batch as a view that begins `before` values into a buffer, with `after` values after it.
fn embedded(device: &Device, batch: &Ragged<f32>, before: usize, after: usize) -> Tensor<f32> {
    let rank = batch.layout().rank();
    let stranger = |length: usize| {
        let mut extents = vec![1; rank];
        extents[rank - 1] = length;
        Shape::new(&extents).unwrap()
    };
    let shapes = [stranger(before)]
        .into_iter()
        .chain(batch.layout().shapes())
        .chain([stranger(after)]);
    let layout = Layout::from_shapes(rank, shapes).unwrap();
    let values = [
        &vec![f32::NAN; before][..],
        batch.values(),
        &vec![f32::NAN; after],
    ]
    .concat();
    let whole = upload(device, &Ragged::from_parts(layout, values).unwrap());
    let view = whole.elements(1..1 + batch.len()).unwrap();
    assert_identical("the view", &download(&view), batch);
    view
}

/// Every base modulo four of either operand, with and without values after it.
fn at_every_base(device: &Device) {
    let same = lengths([5, 0, 1, 70, 2, 9]);
    for (left, right) in [
        (same.clone(), same),
        (drawn("base left", 30, 9), drawn("base right", 30, 9)),
    ] {
        let (a, b) = (numbers(&left, 0), numbers(&right, 1));
        let (x, y) = (upload(device, &a), upload(device, &b));
        for (name, op) in EVERY_OP {
            let expected = op(&x, &y).unwrap();
            for base in 0..16 {
                let (p, q) = (base % 4, base / 4);
                let (x, y) = (
                    embedded(device, &a, p, base % 3),
                    embedded(device, &b, q, base % 2),
                );
                for (got, expected) in op(&x, &y).unwrap().iter().zip(&expected) {
                    assert_identical(format!("{name} from {p} and {q}"), got, expected);
                }
            }
        }
    }
}

fn of_boxes_at_every_base(device: &Device) {
    let layout = |shapes: &[[usize; 2]]| {
        Layout::from_shapes(2, shapes.iter().map(|extents| Shape::new(extents).unwrap())).unwrap()
    };
    let left = layout(&[[3, 5], [1, 1], [0, 4], [7, 2]]);
    let rights = [
        left.clone(),
        layout(&[[2, 7], [1, 3], [2, 2], [7, 2]]),
        layout(&[[9, 5], [4, 1], [1, 4], [1, 2]]),
    ];
    for right in rights {
        let (a, b) = (numbers(&left, 0), numbers(&right, 1));
        let (x, y) = (upload(device, &a), upload(device, &b));
        let (sum, difference, dot) = (x.add(&y).unwrap(), x.sub(&y).unwrap(), x.dot(&y).unwrap());
        for base in 0..16 {
            let (x, y) = (
                embedded(device, &a, base % 4, 1),
                embedded(device, &b, base / 4, 0),
            );
            assert_identical(base, &download(&x.add(&y).unwrap()), &download(&sum));
            assert_identical(base, &download(&x.sub(&y).unwrap()), &download(&difference));
            assert_identical(base, &download(&x.dot(&y).unwrap()), &download(&dot));
        }
    }
}
