//! Concatenation of elements, along one axis and along all axes.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Error, Layout, Pairing, Ragged, Result, Shape, Tensor, f16, scalar::Scalar,
};

use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, PairedFn, download, golden, one, pair_list, rows, run, upload,
};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(first::<f32>())
        .with(first::<u32>())
        .trials(bench, "", [corpus::all(), corpus::boxes()].concat());
    trials.extend(
        Operation::new()
            .with(last::<f32>())
            .trials(bench, "last_axis", corpus::boxes()),
    );
    trials.extend(Operation::new().with(diagonal::<i32>()).trials(
        bench,
        "block_diag",
        corpus::boxes(),
    ));
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("every_axis_and_type", every_axis_and_type),
        ("every_end", every_end),
        ("as_many_elements_as_a_table_holds", full_tables),
        (
            "empty_elements_count_with_their_extents",
            extents_of_empties,
        ),
        ("trailing_zeros_shift_the_right_element", trailing_zeros),
        ("pairs_of_every_type", pairs_of_every_type),
        ("is_associative", is_associative),
        ("all", all),
        ("refusals", refusals),
    ]));
    trials
}

fn operation<T: Number>(
    name: &'static str,
    run: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
    paired: Option<PairedFn<T, T>>,
    expected: crate::support::operation::Reference<T>,
) -> Binary<T, T> {
    Binary {
        name,
        run,
        paired,
        expected: Some(expected),
        spreads: false,
        series_only: false,
    }
}

fn first<T: Number>() -> Binary<T, T> {
    operation(
        "concat",
        |x, y| x.concat(y, 0),
        Some(|pair| pair.concat(0)),
        |a, b, pairs| Expected::exact::<T>(reference::beside(&widened(a), &widened(b), pairs, 1)),
    )
}

fn last<T: Number>() -> Binary<T, T> {
    operation(
        "concat",
        |x, y| x.concat(y, x.layout().rank() - 1),
        None,
        |a, b, pairs| {
            let last = 1 << (a.layout().rank() - 1);
            Expected::exact::<T>(reference::beside(&widened(a), &widened(b), pairs, last))
        },
    )
}

fn diagonal<T: Number>() -> Binary<T, T> {
    operation(
        "block_diag",
        |x, y| x.block_diag(y),
        Some(|pair| pair.block_diag()),
        |a, b, pairs| {
            Expected::exact::<T>(reference::beside(&widened(a), &widened(b), pairs, u32::MAX))
        },
    )
}

fn goldens(device: &Device) {
    golden::<f32, f32, 4>(
        device,
        |x, y| x.concat(y, 0),
        [
            (&[1., 2.], &[3.], &[1., 2., 3.]),
            (&[], &[3.], &[3.]),
            (&[1.], &[], &[1.]),
            (&[], &[], &[]),
        ],
    );
    let (square, column) = (one(&[2, 2], &[1, 2, 3, 4]), one(&[3, 1], &[5, 6, 7]));
    let got = |op: fn(&Tensor<i32>, &Tensor<i32>) -> Result<Tensor<i32>>| {
        run(device, &square, &column, op)
    };
    assert_exact(
        "below each other",
        &got(|x, y| x.concat(y, 0)),
        &one(&[5, 2], &[1, 2, 3, 4, 5, 0, 6, 0, 7, 0]),
    );
    assert_exact(
        "next to each other",
        &got(|x, y| x.concat(y, 1)),
        &one(&[3, 3], &[1, 2, 5, 3, 4, 6, 0, 0, 7]),
    );
    let blocks = [[1, 2, 0], [3, 4, 0], [0, 0, 5], [0, 0, 6], [0, 0, 7]].concat();
    assert_exact(
        "along the diagonal",
        &got(|x, y| x.block_diag(y)),
        &one(&[5, 3], &blocks),
    );
    let series = run(device, &rows([&[1, 2]]), &rows([&[3]]), |x, y| {
        x.block_diag(y)
    });
    assert_exact("of series", &series, &rows([&[1, 2, 3]]));
}

/// Compares an operation with the reference, on batches of distinct odd values at odd offsets.
fn check_type<T: Scalar>(
    device: &Device,
    (a, b): (&Layout, &Layout),
    beside: u32,
    value: fn(u32) -> T,
    op: impl Fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
) {
    let numbered = |layout: &Layout, from: u32| {
        let offsets = layout.offsets().clone();
        Ragged::from_fn(layout, |element, i| {
            from + (offsets.range(element).start + i) as u32
        })
        .unwrap()
    };
    let (x, y) = (numbered(a, 1), numbered(b, 1 + a.total() as u32));
    let expected = reference::beside(&x, &y, &reference::elementwise(a.len()), beside);
    // Views after another element of one value, and of three.
    let behind = |batch: &Ragged<u32>, strange: usize| {
        let rank = batch.layout().rank();
        let mut extents = vec![1; rank];
        extents[rank - 1] = strange;
        let stranger = Shape::new(&extents).unwrap();
        let shapes = std::iter::once(stranger).chain(batch.layout().shapes());
        let layout = Layout::from_shapes(rank, shapes).unwrap();
        let values = [&vec![u32::MAX; strange], batch.values()].concat();
        let whole = Ragged::from_parts(layout, values).unwrap();
        let tensor = upload(device, &whole.cast(value).unwrap());
        tensor.elements(1..1 + batch.len()).unwrap()
    };
    let got = download(&op(&behind(&x, 1), &behind(&y, 3)).unwrap());
    assert_eq!(got.layout(), expected.layout());
    let bits = |batch: &Ragged<T>| bytemuck::cast_slice::<T, u16>(batch.values()).to_vec();
    let expected = expected
        .cast(|number| match number {
            0 => T::default(),
            number => value(number),
        })
        .unwrap();
    assert_eq!(
        bits(&got),
        bits(&expected),
        "{} {beside:b} of {a:?}",
        T::DTYPE
    );
}

fn check_types(device: &Device, layouts: (&Layout, &Layout), beside: u32, axis: Option<usize>) {
    fn op<T: Scalar>(axis: Option<usize>) -> impl Fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>> {
        move |x, y| match axis {
            Some(axis) => x.concat(y, axis),
            None => x.block_diag(y),
        }
    }
    // Including signalling and quiet NaNs, negative zeros and subnormal numbers.
    fn float(number: u32) -> f32 {
        match number % 5 {
            0 => f32::from_bits(0x7F80_0001 | number << 3),
            1 => -0.0,
            2 => f32::from_bits(number),
            _ => number as f32,
        }
    }
    let half = |number: u32| f16::from_bits(number.wrapping_mul(40_503) as u16 | 1);
    check_type(device, layouts, beside, float, op(axis));
    check_type(device, layouts, beside, |number| number, op(axis));
    check_type(
        device,
        layouts,
        beside,
        |number| (number as i32).wrapping_neg(),
        op(axis),
    );
    check_type(device, layouts, beside, half, op(axis));
    let complex = |number| Complex32::new(float(number), -float(number ^ 3));
    check_type(device, layouts, beside, complex, op(axis));
}

fn every_axis_and_type(device: &Device) {
    let mut cases = corpus::boxes();
    cases.retain(|case| ["rank_1", "rank_2", "rank_3", "rank_5"].contains(&case.name.as_str()));
    assert_eq!(cases.len(), 4);
    for case in cases {
        let (a, b) = case.layouts();
        for axis in 0..a.rank() {
            check_types(device, (&a, &b), 1 << axis, Some(axis));
        }
        check_types(device, (&a, &b), u32::MAX, None);
        // Equal layouts, whose axes are merged.
        for axis in 0..a.rank() {
            check_types(device, (&a, &a), 1 << axis, Some(axis));
        }
    }
}

/// Elements that end at every offset within a quad: short elements, and long ones that fill tiles.
fn every_end(device: &Device) {
    let short = (0..12 * 12).map(|i| (i / 12, i % 12));
    let long = (0..16).map(|i| (6000 + i / 4, 5000 + i % 4));
    let lopsided = [(9000, 0), (0, 9001), (9002, 1), (1, 9003)];
    let (a, b): (Vec<_>, Vec<_>) = short.chain(long).chain(lopsided).unzip();
    let layout = |lengths: Vec<usize>| Layout::from_lengths(lengths).unwrap();
    check_types(device, (&layout(a), &layout(b)), 1, Some(0));
}

fn full_tables(device: &Device) {
    for (left, right, elements) in [(2, 2, 255), (2, 2, 256), (3, 1, 257), (1, 1, 2500)] {
        let layout = |length| Layout::uniform(elements, Shape::new(&[length]).unwrap()).unwrap();
        check_types(device, (&layout(left), &layout(right)), 1, Some(0));
    }
    for elements in [63, 64, 65, 700] {
        let layout =
            |rows, width| Layout::uniform(elements, Shape::new(&[rows, width]).unwrap()).unwrap();
        check_types(device, (&layout(4, 3), &layout(4, 1)), 2, Some(1));
        check_types(device, (&layout(2, 3), &layout(2, 1)), u32::MAX, None);
    }
}

fn extents_of_empties(device: &Device) {
    let (a, b) = (one::<f32>(&[0, 3], &[]), one(&[2, 1], &[1., 2.]));
    let got = |axis| run(device, &a, &b, |x, y| x.concat(y, axis));
    assert_exact(
        "below 0×3",
        &got(0),
        &one(&[2, 3], &[1., 0., 0., 2., 0., 0.]),
    );
    assert_exact(
        "next to 0×3",
        &got(1),
        &one(&[2, 4], &[0., 0., 0., 1., 0., 0., 0., 2.]),
    );
    assert_exact(
        "after 0×3",
        &run(device, &a, &b, |x, y| x.block_diag(y)),
        &one(&[2, 4], &[0., 0., 0., 1., 0., 0., 0., 2.]),
    );
    let none = one::<f32>(&[4, 0], &[]);
    let got = run(device, &none, &none, |x, y| x.concat(y, 0));
    assert_exact("none", &got, &one(&[8, 0], &[]));
}

/// Operands that are equal up to trailing zeros, but whose results are not.
fn trailing_zeros(device: &Device) {
    let (a, padded, b) = (rows([&[1]]), rows([&[1, 0]]), rows([&[2]]));
    let (x, y) = (upload(device, &a), upload(device, &padded));
    assert_eq!(x.equivalent_blocking(&y), Ok(vec![true]));
    let z = upload(device, &b);
    for (short, long) in [
        (x.concat(&z, 0), y.concat(&z, 0)),
        (x.block_diag(&z), y.block_diag(&z)),
    ] {
        let same = short.unwrap().equivalent_blocking(&long.unwrap());
        assert_eq!(same, Ok(vec![false]));
    }
}

fn pairs_of_every_type(device: &Device) {
    fn check<T: Scalar>(device: &Device, value: fn(u32) -> T) {
        let batch = |rows: &[&[u32]]| {
            let rows = rows.iter().map(|row| row.iter().map(|&x| value(x)));
            upload(
                device,
                &Ragged::from_rows(rows.map(Vec::from_iter)).unwrap(),
            )
        };
        let (a, b) = (batch(&[&[1, 2, 3], &[]]), batch(&[&[4], &[5, 6]]));
        let all = a.pair(&b, Pairing::AllToAll).unwrap();
        let expected = batch(&[&[1, 2, 3, 4], &[1, 2, 3, 5, 6], &[4], &[5, 6]]);
        assert_eq!(download(&all.concat(0).unwrap()), download(&expected));
        assert_eq!(download(&all.block_diag().unwrap()), download(&expected));
        let list = a
            .pair(&b, Pairing::List(&pair_list([(1, 1), (0, 0)])))
            .unwrap();
        let expected = batch(&[&[5, 6], &[1, 2, 3, 4]]);
        assert_eq!(download(&list.concat(0).unwrap()), download(&expected));
    }
    check(device, |x| x as f32);
    check(device, |x| f16::from_f32(x as f32));
    check(device, |x| Complex32::new(x as f32, -1.0));
}

fn is_associative(device: &Device) {
    property::on(device, property::three_batches(), |[a, b, c]| {
        let [x, y, z] = [&a, &b, &c].map(|batch| upload(device, batch));
        let left = x.concat(&y, 0).unwrap().concat(&z, 0).unwrap();
        let right = x.concat(&y.concat(&z, 0).unwrap(), 0).unwrap();
        assert_exact("(ab)c", &download(&left), &download(&right));
        let lengths = a.layout().lengths().zip(b.layout().lengths());
        let lengths = lengths
            .zip(c.layout().lengths())
            .map(|((l, m), n)| l + m + n);
        assert!(left.layout().lengths().eq(lengths));
    });
}

fn all(device: &Device) {
    for count in 1..8 {
        let batches: Vec<Ragged<i32>> = (0..count)
            .map(|k| {
                Ragged::from_fn(&Layout::from_lengths([k, 2, 5 - k % 5]).unwrap(), |_, i| {
                    10 * k as i32 + i as i32
                })
                .unwrap()
            })
            .collect();
        let tensors: Vec<Tensor<i32>> = batches.iter().map(|batch| upload(device, batch)).collect();
        let others: Vec<&Tensor<i32>> = tensors[1..].iter().collect();
        let got = download(&tensors[0].concat_all(&others, 0).unwrap());
        let expected = (0..3).map(|e| batches.iter().flat_map(move |batch| batch.row(e)).copied());
        let expected = Ragged::from_rows(expected.map(Vec::from_iter)).unwrap();
        assert_exact(format!("{count}"), &got, &expected);
    }
    let matrices = [[1, 2], [2, 1], [3, 3]].map(|extents| {
        let shape = Shape::new(&extents).unwrap();
        upload(
            device,
            &Ragged::full(&Layout::uniform(1, shape).unwrap(), extents[0] as i32).unwrap(),
        )
    });
    let got = matrices[0]
        .concat_all(&[&matrices[1], &matrices[2]], 1)
        .unwrap();
    let expected = [[1, 1, 2, 3, 3, 3], [0, 0, 2, 3, 3, 3], [0, 0, 0, 3, 3, 3]].concat();
    assert_exact("matrices", &download(&got), &one(&[3, 6], &expected));
}

fn refusals(device: &Device) {
    let series = upload(device, &rows([&[1.0f32, 2.0]]));
    let two = upload(device, &rows([&[1.0f32][..], &[]]));
    let matrix = upload(device, &one(&[1, 2], &[1.0f32, 2.0]));
    let refused = |outcome: Result<Tensor<f32>>, op: &str, kind: &str, text: &str| {
        let error = outcome.unwrap_err();
        assert_eq!((error.op(), error.kind()), (op, kind), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let axis = "expected an axis below the rank of 1, got 1";
    refused(series.concat(&series, 1), "concat", "argument", axis);
    refused(matrix.concat(&matrix, 2), "concat", "argument", "2, got 2");
    refused(
        matrix.concat(&matrix, usize::MAX),
        "concat",
        "argument",
        "got 18446744073709551615",
    );
    refused(series.concat(&matrix, 0), "concat", "rank", "1");
    refused(series.block_diag(&matrix), "block_diag", "rank", "1");
    refused(series.concat(&two, 0), "concat", "batch_size", "unequal");
    // An invalid operand at the end of a list is refused before anything is concatenated.
    refused(
        series.concat_all(&[&series, &matrix], 0),
        "concat_all",
        "rank",
        "1",
    );
    refused(
        series.concat_all(&[&series, &two], 0),
        "concat_all",
        "batch_size",
        "got 1 element and 2",
    );
    refused(
        series.concat_all(&[&series], 1),
        "concat_all",
        "argument",
        axis,
    );
    // Extents that do not fit, although the element is empty.
    let tall = Layout::uniform(1, Shape::new(&[3 << 30, 0]).unwrap()).unwrap();
    let tall = device.full(&tall, 0.0f32).unwrap();
    let error = tall.concat(&tall, 0).unwrap_err();
    assert!(
        matches!(
            error,
            Error::SizeOverflow {
                op: "concat",
                element: Some(0),
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("an extent of 6442450944"),
        "{error}"
    );
    assert_eq!(tall.concat(&tall, 1).unwrap().layout(), tall.layout());
    refused(
        tall.block_diag(&tall),
        "block_diag",
        "size_overflow",
        "element 0",
    );
}
