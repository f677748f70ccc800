//! Setting and adding rows at indices.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Error, Indices, Layout, Pairing, Ragged, Shape, f16, scalar::Scalar,
};

use crate::gather::some_rows;
use crate::support::bench::Bench;
use crate::support::compare::{assert_exact, assert_identical, assert_within};
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, download, one, pair_list, pick, rows, upload,
};
use crate::support::reference::{self, elementwise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = [corpus::all(), corpus::boxes()].concat();
    let mut trials = Operation::new()
        .with(scatter_add::<f32>())
        .with(scatter_add::<u32>())
        .trials(bench, "add", cases);
    trials.extend(bench.all_on_each_device(&[
        ("add::goldens", add_goldens),
        ("add::frequent_indices", frequent_indices),
        ("add::cut_rows", cut_rows),
        ("add::pairings", add_pairings),
        ("add::halves", add_halves),
        ("add::refusals", add_refusals),
        ("is_the_transpose_of_gather", is_the_transpose_of_gather),
        ("set::goldens", set_goldens),
        ("set::undoes_gather", set_undoes_gather),
        ("set::refusals", set_refusals),
    ]));
    trials
}

/// Target indices for the rows of elements of these shapes: some out of range, a third of them equal. An element's list
/// depends only on its own shape.
fn places(layout: &Layout) -> (Ragged<u32>, Layout) {
    let target = |shape: &Shape| {
        let mut extents: Vec<usize> = shape.extents().iter().map(|&n| n as usize).collect();
        extents[0] = extents[0] / 2 + 1;
        Shape::new(&extents).unwrap()
    };
    let lists = layout.shapes().map(|shape| {
        let (k, n) = (shape.extents()[0], target(&shape).extents()[0]);
        let index = |r: u32| match r % 3 {
            0 => n / 2,
            _ => (r.wrapping_mul(0x9E37_79B1) >> 7) % (n + 1),
        };
        (0..k).map(index).collect::<Vec<u32>>()
    });
    let lists = Ragged::from_rows(lists).unwrap();
    let targets = layout.shapes().map(|shape| target(&shape));
    (lists, Layout::from_shapes(layout.rank(), targets).unwrap())
}

/// The number of roundings of a term of a sum.
fn depth(terms: usize) -> f64 {
    let (mut depth, mut left) = (16, terms);
    while left > 64 {
        (depth, left) = (depth + 16, left.div_ceil(64));
    }
    depth.min(terms) as f64
}

fn scatter_add<T: Number>() -> Binary<T, T> {
    Binary {
        name: "scatter_add",
        run: |y, _| {
            let (lists, layout) = places(y.layout());
            y.scatter_add(&Indices::new(lists)?, &layout)
        },
        paired: None,
        expected: Some(|y, _, _| {
            let (lists, layout) = places(y.layout());
            let pairs = elementwise(y.len());
            let sums = reference::scatter_add(&widened(y), &lists, &layout, &pairs);
            Expected::sums::<T>(sums, depth)
        }),
        spreads: false,
        series_only: false,
    }
}

fn indices<const N: usize>(lists: [&[u32]; N]) -> Indices {
    Indices::new(rows(lists)).unwrap()
}

fn lengths<const N: usize>(lengths: [usize; N]) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

/// Halves are summed in f32, in the same order as f32, and rounded once.
fn add_halves(device: &Device) {
    let shape = |extents: &[usize]| Shape::new(extents).unwrap();
    for layout in [
        lengths([0, 1, 7, 1000, 3, 40_000]),
        Layout::from_shapes(2, (0..200).map(|i| shape(&[i % 9, 1 + i % 4]))).unwrap(),
        Layout::from_shapes(2, [shape(&[700, 9]), shape(&[3, 301]), shape(&[0, 5])]).unwrap(),
        Layout::from_shapes(3, [shape(&[70, 3, 5]), shape(&[9, 1, 1])]).unwrap(),
    ] {
        let values = Ragged::random(&layout, corpus::SEED).unwrap();
        let all = upload(device, &values.cast(f16::from_f32).unwrap());
        for begin in 0..2 {
            let y = all.elements(begin..all.len()).unwrap();
            let (lists, target) = places(y.layout());
            let lists = Indices::new(lists).unwrap();
            let got = download(&y.scatter_add(&lists, &target).unwrap());
            let wide = y.to::<f32>().unwrap().scatter_add(&lists, &target);
            let exact = download(&wide.unwrap().to::<f16>().unwrap());
            assert!(got == exact, "{}: {got} instead of {exact}", y.layout());
        }
    }
    // Each of these is lost beside the first, but not all of them together.
    let terms = [vec![2048.0], vec![1.0; 6]].concat();
    let y = Ragged::from_rows([terms.iter().map(|x| f16::from_f64(*x)).collect::<Vec<_>>()]);
    let got = upload(device, &y.unwrap()).scatter_add(&indices([&[0; 7]]), &lengths([1]));
    assert_eq!(download(&got.unwrap()).values(), [f16::from_f64(2054.0)]);
}

fn add_goldens(device: &Device) {
    let y = upload(device, &rows([&[1, 2, 3, 4][..], &[], &[i32::MAX, 1]]));
    let lists = indices([&[2, 0, 2, 9], &[], &[0, 0]]);
    let got = y.scatter_add(&lists, &lengths([3, 2, 1])).unwrap();
    let got = download(&got).to_vecs().unwrap();
    assert_eq!(got, [vec![2, 0, 4], vec![0, 0], vec![i32::MIN]]);

    // The first term is not rounded.
    let y = upload(device, &rows([&[-0.0f32, f32::NAN, 1.0, f32::INFINITY]]));
    let got = y.scatter_add(&indices([&[1, 0, 0, 3]]), &lengths([4]));
    let got = download(&got.unwrap());
    assert!(got.values()[0].is_nan());
    let bits = |i: usize| got.values()[i].to_bits();
    assert_eq!([bits(1), bits(2), bits(3)], [1 << 31, 0, 0x7F80_0000]);

    // More rows without values than memory could hold.
    let y = upload(device, &one(&[3, 0], &[0u32; 0]));
    let vast = Shape::new(&[u32::MAX as usize, 0]).unwrap();
    let layout = Layout::from_shapes(2, [vast]).unwrap();
    let got = y.scatter_add(&indices([&[1, 1, 7]]), &layout).unwrap();
    assert_eq!(download(&got).layout(), &layout);
}

/// Numbers of sources around those at which sums are cut, for rows of several widths; the other lists are short.
fn frequent_indices(device: &Device) {
    for (count, width) in [
        (64, 3),
        (65, 1),
        (4096, 4),
        (4097, 2),
        (300_001, 1),
        (20_000, 17),
    ] {
        let shapes = [[5, width], [count, width], [9, width], [count / 2, width]];
        let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
        let layout = Layout::from_shapes(2, shapes).unwrap();
        // One row that receives nearly all sources, between rows that receive few; and one that receives half of them.
        let list = |k: usize| (0..k).map(|r| if r % 100 == 7 { r as u32 % 5 } else { 2 });
        let lists = shapes.map(|shape| list(shape.extents()[0] as usize).collect::<Vec<u32>>());
        let lists = Ragged::from_rows(lists).unwrap();
        let target = Layout::uniform(4, Shape::new(&[4, width]).unwrap()).unwrap();
        let listed = Indices::new(lists.clone()).unwrap();
        let y = Ragged::random(&layout, corpus::SEED).unwrap();
        let of = |y: &Ragged<f64>| reference::scatter_add(y, &lists, &target, &elementwise(4));

        let small = y.cast(|value: f32| (value * 16.0).round()).unwrap();
        let got = upload(device, &small).scatter_add(&listed, &target);
        let sums = of(&small.cast(f64::from).unwrap())
            .values
            .cast(|value| value as f32)
            .unwrap();
        assert_exact(format!("{count} times"), &download(&got.unwrap()), &sums);

        let tensor = upload(device, &y);
        let got = download(&tensor.scatter_add(&listed, &target).unwrap());
        let sums = of(&y.cast(f64::from).unwrap());
        assert_within(
            format!("{count} times"),
            &got,
            &sums.values,
            &sums.bounds(depth),
        );
        // An element alone has no longer list beside it that would be cut more often.
        for i in 0..4 {
            let alone = pick(&lists, &[i]);
            let place = Layout::from_shapes(2, [target.shape(i)]).unwrap();
            let view = tensor.elements(i..i + 1).unwrap();
            let alone = view
                .scatter_add(&Indices::new(alone).unwrap(), &place)
                .unwrap();
            assert_identical(
                format!("{count}, {i} alone"),
                &download(&alone),
                &pick(&got, &[i]),
            );
        }
    }
}

/// Elements of tens of thousands of values, in rows whose lengths divide no power of two, so that tiles cut rows.
fn cut_rows(device: &Device) {
    let shapes = [[5, 3], [5000, 7], [3000, 11], [700, 50], [9000, 13]];
    let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let y = integers(&layout, 3);
    let list = |shape: &Shape| {
        let rows = shape.extents()[0];
        (0..rows)
            .map(|r| r.wrapping_mul(2_654_435_761) % rows)
            .collect()
    };
    let lists: Vec<Vec<u32>> = shapes.iter().map(list).collect();
    let lists = Ragged::from_rows(lists).unwrap();
    let listed = Indices::new(lists.clone()).unwrap();
    let got = upload(device, &y).scatter_add(&listed, &layout).unwrap();
    let expected = reference::scatter_add(&y, &lists, &layout, &elementwise(5)).values;
    assert_exact("rows of odd widths", &download(&got), &expected);
}

fn some_boxes(seed: u64) -> Ragged<i32> {
    let shapes = [[5, 3], [0, 2], [9, 1], [2, 16]].map(|extents| Shape::new(&extents).unwrap());
    integers(&Layout::from_shapes(2, shapes).unwrap(), seed)
}

fn integers(layout: &Layout, seed: u64) -> Ragged<i32> {
    Ragged::random(layout, seed)
        .unwrap()
        .cast(|value: f32| (value * 1e9) as i32)
        .unwrap()
}

fn add_pairings(device: &Device) {
    let x = some_boxes(1);
    let lists = rows::<u32, 3>([&[4, 0, 8, 1], &[], &[1, 1, 2]]);
    let shared = rows::<u32, 1>([&[1, 0, 1, 9]]);
    let table = pick(&x, &[3]);
    for (x, lists, pairing) in [
        (&table, &lists, Pairing::OneToAll),
        (&x, &shared, Pairing::AllToOne),
        (&x, &lists, Pairing::AllToAll),
        (
            &x,
            &lists,
            Pairing::List(&pair_list([(3, 2), (0, 0), (0, 0), (2, 1), (1, 2), (0, 2)])),
        ),
        (&x, &lists, Pairing::List(&pair_list([]))),
    ] {
        let listed = Indices::new(lists.clone()).unwrap();
        let pairs = reference::pairs(pairing, x.len(), lists.len());
        let like = reference::gather(x, lists, &pairs);
        let y = integers(like.layout(), 2);
        let got = upload(device, &y).scatter_add_paired(&listed, x.layout(), pairing);
        let expected = reference::scatter_add(&y, lists, x.layout(), &pairs).values;
        assert_exact(format!("{pairing:?}"), &download(&got.unwrap()), &expected);
    }
}

/// ⟨gather(x), y⟩ = ⟨x, scatter_add(y)⟩, exactly.
fn is_the_transpose_of_gather(device: &Device) {
    let mut layouts: Vec<Layout> = corpus::boxes()
        .iter()
        .map(|case| case.layouts().0)
        .collect();
    layouts.retain(|layout| layout.len() < 1000);
    layouts.push(lengths([3, 0, 1000, 1, 4097]));
    for layout in layouts {
        let x = upload(device, &integers(&layout, 3));
        let listed = Indices::new(some_rows(&layout)).unwrap();
        let taken = x.gather(&listed).unwrap();
        let y = upload(device, &integers(taken.layout(), 4));
        let put = y.scatter_add(&listed, &layout).unwrap();
        assert_eq!(put.layout(), &layout);
        let (left, right) = (taken.dot(&y).unwrap(), x.dot(&put).unwrap());
        assert_exact("the products", &download(&left), &download(&right));
    }
    // The same with a table that all lists share.
    let x = upload(device, &integers(&lengths([100]), 5));
    let listed = Indices::new(some_rows(&lengths([60, 0, 90, 7]))).unwrap();
    let taken = x.gather_paired(&listed, Pairing::OneToAll).unwrap();
    let y = upload(device, &integers(taken.layout(), 6));
    let put = y.scatter_add_paired(&listed, x.layout(), Pairing::OneToAll);
    let all = |products: &Ragged<i32>| {
        let values = products.values().iter();
        values.fold(0, |sum: i32, &value| sum.wrapping_add(value))
    };
    let (left, right) = (taken.dot(&y).unwrap(), x.dot(&put.unwrap()).unwrap());
    assert_eq!(all(&download(&left)), all(&download(&right)));
}

fn add_refusals(device: &Device) {
    let y = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let two = indices([&[0, 1, 2], &[0, 1]]);
    let layout = lengths([3, 3]);
    let refused = |indices: &Indices, layout: &Layout| {
        let wrong = y.scatter_add(indices, layout).unwrap_err();
        assert_eq!(wrong.op(), "scatter_add");
        (wrong.kind(), wrong.element())
    };
    let long = indices([&[0, 1, 2], &[0, 1, 2]]);
    assert_eq!(refused(&long, &layout), ("shape", Some(1)));
    assert_eq!(
        y.scatter_add(&long, &layout).unwrap_err().to_string(),
        "scatter_add: element 1: expected the shape (3), got (2)"
    );
    assert_eq!(refused(&indices([&[0]]), &layout), ("batch_size", None));
    assert_eq!(refused(&two, &lengths([3])), ("batch_size", None));
    let boxes = Layout::uniform(2, Shape::new(&[3, 1]).unwrap()).unwrap();
    assert_eq!(refused(&two, &boxes), ("rank", None));
    // A batch whose size differs from the number of pairs.
    let wrong = y
        .scatter_add_paired(&two, &layout, Pairing::AllToAll)
        .unwrap_err();
    assert_eq!(wrong.kind(), "batch_size");
    assert!(y.scatter_add(&two, &layout).is_ok());
}

fn set_goldens(device: &Device) {
    let y = upload(device, &rows([&[1, 2][..], &[3], &[]]));
    let lists = indices([&[3, 0], &[1], &[]]);
    let got = y.scatter_set(&lists, &lengths([4, 2, 2])).unwrap();
    let got = download(&got).to_vecs().unwrap();
    assert_eq!(got, [vec![2, 0, 0, 1], vec![0, 3], vec![0, 0]]);
    let y = upload(device, &one(&[2, 3], &[1, 2, 3, 4, 5, 6]));
    let layout = Layout::from_shapes(2, [Shape::new(&[3, 3]).unwrap()]).unwrap();
    let got = download(&y.scatter_set(&indices([&[2, 0]]), &layout).unwrap());
    assert_eq!(got.values(), [4, 5, 6, 0, 0, 0, 1, 2, 3]);
}

/// Scattering undoes a gather by a permutation, for every type; a gather finds the rows that were set.
fn set_undoes_gather(device: &Device) {
    fn of<T: Scalar>(device: &Device, value: impl Fn(u32) -> T) {
        let shapes = [[3, 5], [0, 2], [700, 1], [64, 3], [1, 1]];
        let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
        let layout = Layout::from_shapes(2, shapes).unwrap();
        let mut at = 0;
        let x = Ragged::from_fn(&layout, |_, _| {
            at += 1;
            value(at)
        })
        .unwrap();
        let mut rng = corpus::rng("set undoes gather");
        let lists = layout.shapes().map(|shape| {
            let mut list: Vec<u32> = (0..shape.extents()[0]).collect();
            rng.shuffle(&mut list);
            list
        });
        let lists = Indices::new(Ragged::from_rows(lists).unwrap()).unwrap();
        let taken = upload(device, &x).gather(&lists).unwrap();
        assert!(download(&taken) != x);
        let back = taken.scatter_set(&lists, &layout).unwrap();
        assert!(download(&back) == x);
        // The result has the operand's layout, so the plan must not hold the layout that it is cached with.
        let own = taken.scatter_set(&lists, taken.layout()).unwrap();
        assert!(download(&own) == x);
    }
    of(device, |at| at);
    of(device, |at| f32::from_bits(at | 0x8000_0000));
    of(device, |at| Complex32::new(at as f32, -0.5));
    of(device, |at| f16::from_bits((at % 0x7C00) as u16));
}

fn set_refusals(device: &Device) {
    let y = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let layout = lengths([3, 3]);
    let refused = |indices: &Indices| y.scatter_set(indices, &layout).unwrap_err();
    let wrong = refused(&indices([&[0, 1, 2], &[1, 3]]));
    assert_eq!(
        wrong,
        Error::Index {
            op: "scatter_set",
            element: Some(1),
            position: 1,
            index: 3,
            len: 3
        }
    );
    assert_eq!(
        wrong.to_string(),
        "scatter_set: element 1: position 1: the index 3 is not below 3"
    );
    let wrong = refused(&indices([&[2, 0, 2], &[0, 1]]));
    assert_eq!(
        wrong,
        Error::DuplicateIndex {
            op: "scatter_set",
            element: Some(0),
            first: 0,
            second: 2,
            index: 2
        }
    );
    assert_eq!(
        wrong.to_string(),
        "scatter_set: element 0: positions 0 and 2 both have the index 2; list each index once"
    );
    assert_eq!(
        (wrong.kind(), wrong.element()),
        ("duplicate_index", Some(0))
    );
    assert_eq!(refused(&indices([&[0], &[1]])).kind(), "shape");
    assert_eq!(refused(&indices([&[0]])).kind(), "batch_size");
    // Duplicate indices of rows without values are errors, too.
    let y = upload(device, &one(&[2, 0], &[0u32; 0]));
    let layout = Layout::from_shapes(2, [Shape::new(&[1 << 31, 0]).unwrap()]).unwrap();
    let set = |list: &[u32]| y.scatter_set(&indices([list]), &layout);
    assert_eq!(set(&[7, 7]).unwrap_err().kind(), "duplicate_index");
    assert_eq!(set(&[7, 1 << 31]).unwrap_err().kind(), "index");
    assert_eq!(download(&set(&[7, 8]).unwrap()).layout(), &layout);
}
