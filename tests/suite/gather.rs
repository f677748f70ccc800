//! Gathering rows by index.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Error, Indices, Layout, Pairing, Ragged, Shape, f16, scalar::Scalar,
};

use crate::support::bench::Bench;
use crate::support::compare::assert_identical;
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, download, one, pair_list, rows, upload,
};
use crate::support::reference::{self, elementwise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = [corpus::all(), corpus::boxes()].concat();
    let mut trials = Operation::new()
        .with(gather::<f32>())
        .trials(bench, "", cases);
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("keeps_bits", keeps_bits),
        ("every_type_width_and_base", every_type_width_and_base),
        ("pairings_of_lists", pairings_of_lists),
        ("plans_once", plans_once),
        ("refusals", refusals),
    ]));
    trials
}

/// Row indices for elements of these shapes: repeated, unordered, and some out of range. An element's list depends only
/// on its own number of rows.
pub fn some_rows(layout: &Layout) -> Ragged<u32> {
    let lists = layout.shapes().map(|shape| {
        let n = shape.extents()[0];
        let count = if n < 5000 { n + n / 2 + 1 } else { n };
        let index = move |r: u32| (r.wrapping_mul(0x9E37_79B1) >> 7) % (n + n / 8 + 1);
        (0..count).map(index).collect::<Vec<u32>>()
    });
    Ragged::from_rows(lists).unwrap()
}

fn gather<T: Number>() -> Binary<T, T> {
    Binary {
        name: "gather",
        run: |x, _| x.gather(&Indices::new(some_rows(x.layout()))?),
        paired: None,
        expected: Some(|a, _, _| {
            let lists = some_rows(a.layout());
            let pairs = elementwise(a.len());
            Expected::exact::<T>(reference::gather(&widened(a), &lists, &pairs))
        }),
        spreads: false,
        series_only: false,
    }
}

fn indices<const N: usize>(lists: [&[u32]; N]) -> Indices {
    Indices::new(rows(lists)).unwrap()
}

fn goldens(device: &Device) {
    let x = upload(device, &rows([&[10, 20, 30][..], &[], &[7], &[8, 9]]));
    let lists = indices([&[2, 2, 0], &[0], &[], &[1, u32::MAX, 2, 0, 0]]);
    let got = download(&x.gather(&lists).unwrap()).to_vecs().unwrap();
    assert_eq!(
        got,
        [vec![30, 30, 10], vec![0], vec![], vec![9, 0, 0, 8, 8]]
    );

    let x = upload(device, &one(&[2, 0, 3], &[0i32; 0]));
    let got = download(&x.gather(&indices([&[1, 0, 5]])).unwrap());
    assert_eq!(got.shape(0), Shape::new(&[3, 0, 3]).unwrap());
    // Elements without rows, whose rows would have two values each.
    let x = upload(device, &one(&[0, 2], &[0i32; 0]));
    let got = download(&x.gather(&indices([&[0]])).unwrap());
    assert_eq!(got, one(&[1, 2], &[0, 0]));
    // Extents that are possible only for an empty element.
    let x = upload(device, &one(&[0, 70_000, 70_000], &[0i32; 0]));
    let got = download(&x.gather(&indices([&[]])).unwrap());
    assert_eq!(got.shape(0), x.layout().shape(0));
    let wrong = x.gather(&indices([&[0]])).unwrap_err();
    assert_eq!((wrong.kind(), wrong.element()), ("size_overflow", Some(0)));
}

fn keeps_bits(device: &Device) {
    let bits = [
        0x7FC0_0001,
        0x7FA0_0000,
        0xFFFF_FFFF,
        0x8000_0000,
        1,
        0x807F_FFFF,
    ];
    let x = rows([&bits.map(f32::from_bits)]);
    let got = download(
        &upload(device, &x)
            .gather(&indices([&[5, 4, 3, 2, 1, 0, 6]]))
            .unwrap(),
    );
    let got: Vec<u32> = got.values().iter().map(|value| value.to_bits()).collect();
    assert_eq!(
        got,
        [
            0x807F_FFFF,
            1,
            0x8000_0000,
            0xFFFF_FFFF,
            0x7FA0_0000,
            0x7FC0_0001,
            0
        ]
    );
}

/// Rows of every width modulo a quad, in every type, from every base, for one element and for many.
fn every_type_width_and_base(device: &Device) {
    fn of<T: Scalar>(device: &Device, value: impl Fn(u32) -> T) {
        for width in [1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 64] {
            for base in [0, 1 + width % 7] {
                let shapes = [
                    [base, 1],
                    [6, width],
                    [1, width],
                    [0, width],
                    [5, 3],
                    [40, width],
                ];
                let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
                let layout = Layout::from_shapes(2, shapes).unwrap();
                let mut at = 0;
                let x = Ragged::from_fn(&layout, |_, _| {
                    at += 1;
                    value(at)
                })
                .unwrap();
                let view = upload(device, &x).elements(1..6).unwrap();
                let lists = some_rows(view.layout());
                let got = view.gather(&Indices::new(lists.clone()).unwrap()).unwrap();
                let x = download(&view);
                let expected = reference::gather(&x, &lists, &elementwise(5));
                assert!(download(&got) == expected, "{} wide from {base}", width);
            }
        }
    }
    of(device, |at| at);
    of(device, |at| Complex32::new(at as f32, -0.5));
    of(device, |at| f16::from_bits((at % 0x7C00) as u16));
}

fn pairings_of_lists(device: &Device) {
    let layout = Layout::from_shapes(
        2,
        [[5, 3], [0, 2], [9, 1], [2, 16]].map(|extents| Shape::new(&extents).unwrap()),
    );
    let x = Ragged::random(&layout.unwrap(), corpus::SEED).unwrap();
    let lists = rows::<u32, 3>([&[4, 0, 8, 1], &[], &[1, 1, 2]]);
    let listed = Indices::new(lists.clone()).unwrap();
    let table = upload(device, &x).elements(3..4).unwrap();
    let of = |x: &Ragged<f32>, lists: &Ragged<u32>, pairing| {
        let pairs = reference::pairs(pairing, x.len(), lists.len());
        reference::gather(x, lists, &pairs)
    };
    let got = table.gather_paired(&listed, Pairing::OneToAll).unwrap();
    let one = download(&table);
    assert_identical(
        "one to all",
        &download(&got),
        &of(&one, &lists, Pairing::OneToAll),
    );
    let all = upload(device, &x);
    let list = rows::<u32, 1>([&[1, 0, 1]]);
    let (first, shared) = (
        all.elements(0..1).unwrap(),
        Indices::new(list.clone()).unwrap(),
    );
    for x in [
        &first.join(&[&all.elements(3..4).unwrap()]).unwrap(),
        &first,
        &all.elements(0..0).unwrap(),
    ] {
        let got = x.gather_paired(&shared, Pairing::AllToOne).unwrap();
        let expected = of(&download(x), &list, Pairing::AllToOne);
        assert_identical("all to one", &download(&got), &expected);
    }
    for pairing in [
        Pairing::AllToAll,
        Pairing::List(&pair_list([(3, 2), (0, 0), (0, 0), (2, 1), (1, 2)])),
        Pairing::List(&pair_list([])),
    ] {
        let got = all.gather_paired(&listed, pairing).unwrap();
        assert_identical(
            format!("{pairing:?}"),
            &download(&got),
            &of(&x, &lists, pairing),
        );
    }
}

/// Equal indices give results with one layout, so the operations after them are planned only once.
fn plans_once(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let lists = indices([&[0, 0], &[1]]);
    let (first, again) = (x.gather(&lists).unwrap(), x.gather(&lists.clone()).unwrap());
    assert!(std::ptr::eq(
        first.layout().offsets().as_slice(),
        again.layout().offsets().as_slice()
    ));
}

fn refusals(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let three = indices([&[0], &[1], &[2]]);
    let wrong = x.gather(&three).unwrap_err();
    assert_eq!(
        wrong,
        Error::BatchSize {
            op: "gather",
            left: 2,
            right: 3,
            pairing: false,
            spread: vec![],
        }
    );
    let refused = |pairing| {
        let wrong = x.gather_paired(&three, pairing).unwrap_err();
        assert_eq!(wrong.op(), "gather_paired");
        wrong.kind()
    };
    assert_eq!(refused(Pairing::OneToAll), "pairing");
    assert_eq!(refused(Pairing::AllToOne), "pairing");
    assert_eq!(refused(Pairing::List(&pair_list([(0, 3)]))), "pair_index");
    let matrix = Indices::new(one(&[1, 2], &[0, 1])).unwrap_err();
    assert_eq!((matrix.op(), matrix.kind()), ("indices", "rank"));
}
