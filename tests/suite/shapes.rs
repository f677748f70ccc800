//! Slices, padding, reversal and other boxes: the values copied, and the zeros.

mod cuts;
mod forms;
mod transposes;

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Error, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::support::bench::{Bench, without_allocating};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::corpus;
use crate::support::operation::{Operation, download, golden, one, rows, run, upload};
use crate::support::places::read;
use crate::support::property;
use forms::{
    flip, flipped, flipped_axes, pad, pad_by, padded, permutation, permuted, ranges, resize, slice,
    slice_of, sliced, transpose, widths,
};
use transposes::{many_matrices, matrices, transposed};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    // All types of one word use the same kernel, so only two of them test the whole corpus.
    let all = [corpus::all(), corpus::boxes()].concat();
    let resizes = Operation::new().with(resize::<f32>()).with(resize::<i32>());
    let mut trials = resizes.trials(bench, "resize", all);
    let telling = |case: &corpus::Case| {
        let prefixes = [
            "edges_4",
            "rank_",
            "one_",
            "short_",
            "tiny_5",
            "set_mixed",
            "all_empty",
        ];
        prefixes.iter().any(|prefix| case.name.starts_with(prefix))
    };
    let cases = [corpus::all(), corpus::boxes()].concat();
    let cases: Vec<_> = cases.into_iter().filter(telling).collect();
    let of = |operation: Operation, name| operation.trials(bench, name, cases.clone());
    trials.extend(of(Operation::new().with(slice::<f32>()), "slice"));
    let cut = Operation::new().with(cuts::strided_slice::<f32>());
    trials.extend(of(cut, "strided_slice"));
    trials.extend(of(Operation::new().with(pad::<f32>()), "pad"));
    trials.extend(of(Operation::new().with(flip::<f32>()), "flip"));
    trials.extend(of(Operation::new().with(transpose::<f32>()), "transpose"));
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("matrices", matrices),
        ("transposed", transposed),
        ("many_matrices", many_matrices),
        ("reshaped", reshaped),
        ("packed", packed),
        ("broadcasts", broadcasts),
        ("rows_of_any_width", rows_of_any_width),
        ("every_type", every_type),
        ("far_away", far_away),
        ("keeps_bits", keeps_bits),
        ("refused", refused),
        ("cuts", cuts::goldens),
        ("random_cuts", cuts::random_cuts),
        ("long_cuts", cuts::long_cuts),
        ("cuts_refused", cuts::refused),
        ("a_resize_to_the_same_shapes_is_no_copy", same_shapes),
        ("restriction_undoes_promotion", restriction),
        ("equivalent_elements", equivalent_elements),
    ]));
    trials
}

fn goldens(device: &Device) {
    golden::<i32, i32, 4>(
        device,
        |x, _| x.slice(&[1], &[4]),
        [
            (&[1, 2, 3, 4, 5], &[], &[2, 3, 4]),
            (&[1, 2, 3], &[], &[2, 3, 0]),
            (&[1], &[], &[0, 0, 0]),
            (&[], &[], &[0, 0, 0]),
        ],
    );
    golden::<i32, i32, 2>(
        device,
        |x, _| x.slice(&[2], &[2]),
        [(&[1, 2, 3], &[], &[]), (&[], &[], &[])],
    );
    golden::<i32, i32, 2>(
        device,
        |x, _| x.pad(&[2], &[1]),
        [(&[7, 8], &[], &[0, 0, 7, 8, 0]), (&[], &[], &[0, 0, 0])],
    );
    golden::<i32, i32, 3>(
        device,
        |x, _| x.flip(&[0]),
        [
            (&[1, 2, 3], &[], &[3, 2, 1]),
            (&[4], &[], &[4]),
            (&[], &[], &[]),
        ],
    );
    golden::<i32, i32, 3>(
        device,
        |x, y| x.resize(y.layout()),
        [
            (&[1, 2, 3], &[0, 0], &[1, 2]),
            (&[4], &[0, 0, 0], &[4, 0, 0]),
            (&[], &[0], &[0]),
        ],
    );
}

fn reshaped(device: &Device) {
    let x = upload(device, &rows([&[9, 9][..], &[1, 2, 3, 4, 5, 6], &[], &[7]]));
    let x = x.elements(1..4).unwrap();
    let shapes = [[3, 2, 1], [0, 5, 1], [1, 1, 1]].map(|s| Shape::new(&s).unwrap());
    let layout = Layout::from_shapes(3, shapes).unwrap();
    let y = without_allocating(device, || x.reshape(&layout).unwrap());
    let expected = Ragged::from_parts(layout, vec![1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_exact("boxes", &download(&y), &expected);
    let permuted_again = download(&y.transpose(&[1, 0, 2]).unwrap());
    assert_exact(
        "then transposed",
        &permuted_again,
        &permuted(&expected, &[1, 0, 2]),
    );
    let wrong = Layout::from_lengths([6, 0, 2]).unwrap();
    let error = x.reshape(&wrong).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reshape: element 2: expected 1 value, got 2"
    );
    let fewer = Layout::from_lengths([6]).unwrap();
    assert_eq!(x.reshape(&fewer).unwrap_err().kind(), "batch_size");
}

fn packed(device: &Device) {
    let alike = [[2, 2], [0, 2], [1, 2], [3, 2]].map(|s| Shape::new(&s).unwrap());
    let layout = Layout::from_shapes(2, alike).unwrap();
    let x = Ragged::from_parts(layout, (1..=12).collect()).unwrap();
    // From element 1 on, so that the view begins inside of the buffer.
    let x = upload::<u32>(device, &x).elements(1..4).unwrap();
    let y = without_allocating(device, || x.packed().unwrap());
    let whole = Layout::from_shapes(2, [Shape::new(&[4, 2]).unwrap()]).unwrap();
    let expected = Ragged::from_parts(whole, (5..=12).collect()).unwrap();
    assert_exact("packed", &download(&y), &expected);
    let back = without_allocating(device, || y.unpacked(x.layout()).unwrap());
    assert_exact("unpacked", &download(&back), &download(&x));
    let back = back.transpose(&[1, 0]).unwrap();
    let again = download(&x.transpose(&[1, 0]).unwrap());
    assert_exact("then transposed", &download(&back), &again);

    let vectors = upload(device, &rows([&[1, 2][..], &[], &[3]]));
    assert_eq!(download(&vectors.packed().unwrap()).values(), [1, 2, 3]);
    let none = x.elements(1..1).unwrap();
    let packed = none.packed().unwrap();
    assert_eq!(packed.layout().shape(0), Shape::new(&[0, 0]).unwrap());
    assert_eq!(packed.unpacked(none.layout()).unwrap().len(), 0);
    packing_refused(device);
}

fn packing_refused(device: &Device) {
    let of = |shapes: &[[usize; 2]]| {
        let shapes = shapes.iter().map(|s| Shape::new(s).unwrap());
        Layout::from_shapes(2, shapes).unwrap()
    };
    let x = |shapes: &[[usize; 2]]| device.full(&of(shapes), 0u32).unwrap();
    let says = |result: Result<Tensor<u32>>, text: &str| {
        assert_eq!(result.unwrap_err().to_string(), text);
    };
    says(
        x(&[[1, 2], [0, 3]]).packed(),
        "packed: element 1: expected the shape (1, 2), with any number of rows, got (0, 3)",
    );
    let many = u32::MAX as usize;
    let error = x(&[[many, 0], [1, 0]]).packed().unwrap_err();
    assert_eq!((error.kind(), error.element()), ("size_overflow", Some(1)));
    says(
        x(&[[1, 2], [1, 2]]).unpacked(&of(&[[2, 2]])),
        "unpacked: expected one element, got 2",
    );
    says(
        x(&[[2, 2]]).unpacked(&of(&[[2, 2], [1, 2]])),
        "unpacked: expected shapes of 2 rows in all, got 3",
    );
    says(
        x(&[[2, 2]]).unpacked(&of(&[[1, 2], [1, 1]])),
        "unpacked: element 1: expected the shape (2, 2), with any number of rows, got (1, 1)",
    );
    let vector = Layout::from_lengths([4]).unwrap();
    assert_eq!(x(&[[2, 2]]).unpacked(&vector).unwrap_err().kind(), "rank");
}

fn broadcasts(device: &Device) {
    let repeated = |x: &Ragged<i32>, y: &Layout| {
        read(x, y, |e, mut k| {
            let shape = x.layout().shape(e);
            for (k, &extent) in k.iter_mut().zip(shape.extents()) {
                *k = (*k).min(i64::from(extent) - 1);
            }
            (e, k)
        })
    };
    let check = |rank: usize, pairs: &[(&[usize], &[usize])]| {
        let layout = |sides: Vec<&[usize]>| {
            let shapes = sides.into_iter().map(|side| Shape::new(side).unwrap());
            Layout::from_shapes(rank, shapes).unwrap()
        };
        let (from, to) = pairs.iter().copied().unzip();
        let (from, to) = (layout(from), layout(to));
        let x = Ragged::from_fn(&from, |e, i| (100 * e + i) as i32 + 1).unwrap();
        let got = run(device, &x, &x, |x, _| x.broadcast(&to));
        assert_exact(format!("{from} to {to}"), &got, &repeated(&x, &to));
    };
    check(
        1,
        &[
            (&[1], &[5]),
            (&[3], &[3]),
            (&[1], &[0]),
            (&[0], &[0]),
            (&[1], &[700]),
        ],
    );
    check(1, &[(&[1], &[1]), (&[3], &[3])]);
    check(
        2,
        &[
            (&[1, 4], &[3, 4]),
            (&[3, 1], &[3, 5]),
            (&[1, 1], &[2, 7]),
            (&[2, 2], &[2, 2]),
        ],
    );
    check(2, &[(&[1, 4], &[3, 4]), (&[1, 5], &[70, 5])]);
    check(2, &[(&[4, 1], &[4, 9]), (&[5, 1], &[5, 1])]);
    check(
        3,
        &[
            (&[1, 4, 2], &[3, 4, 2]),
            (&[2, 1, 3], &[2, 6, 3]),
            (&[1, 1, 1], &[2, 3, 4]),
        ],
    );
    check(3, &[(&[1, 1, 2], &[3, 4, 2]), (&[1, 1, 3], &[2, 6, 3])]);
    let x = upload(device, &rows([&[1][..], &[1, 2]]));
    let error = x
        .broadcast(&Layout::from_lengths([4, 4]).unwrap())
        .unwrap_err();
    let message = "broadcast: element 1: expected the shape (2), with any extent in place of an extent of 1, got (4)";
    assert_eq!(error.to_string(), message);
    let fewer = Layout::from_lengths([1]).unwrap();
    assert_eq!(x.broadcast(&fewer).unwrap_err().kind(), "batch_size");
    let boxes = Layout::uniform(2, Shape::new(&[1, 1]).unwrap()).unwrap();
    assert_eq!(x.broadcast(&boxes).unwrap_err().kind(), "rank");
}

/// The kernel divides by the width in f32 and must find the right row.
fn rows_of_any_width(device: &Device) {
    let shape = |height: usize, width: usize| Shape::new(&[height, width]).unwrap();
    let widths = Layout::from_shapes(2, (1..300).map(|width| shape(7, width))).unwrap();
    let other = Layout::from_shapes(2, (1..300).map(|width| shape(6, 1 + 3 * width / 2))).unwrap();
    let x = Ragged::from_fn(&widths, |e, i| (e * 31 + i * 7) as i32).unwrap();
    let got = run(device, &x, &x, |x, _| x.resize(&other));
    assert_exact("every width", &got, &read(&x, &other, |e, k| (e, k)));
    let got = run(device, &x, &x, |x, _| x.flip(&[1]));
    assert_exact("mirrored", &got, &flipped(&x, &[1]));
    // More than 2²² values, from where on f32 does not distinguish neighbouring indices.
    let tall = Layout::uniform(1, shape(1_500_000, 3)).unwrap();
    let x = Ragged::from_fn(&tall, |_, i| i as i32).unwrap();
    let got = run(device, &x, &x, |x, _| x.flip(&[1]));
    assert_exact("tall", &got, &flipped(&x, &[1]));
}

/// Lengths around multiples of a quad, at every base; values of half a word and of two words.
fn every_type(device: &Device) {
    let shapes: Vec<Layout> = vec![
        Layout::from_lengths([1, 2, 4, 8, 0, 1, 3, 7, 9, 17, 70, 5000, 3, 2]).unwrap(),
        Layout::from_lengths((0..700).map(|i| i % 5)).unwrap(),
        Layout::from_shapes(
            2,
            (0..60).map(|i| Shape::new(&[i % 7, (5 * i) % 11]).unwrap()),
        )
        .unwrap(),
        Layout::from_shapes(
            3,
            (0..40).map(|i| Shape::new(&[i % 3, i % 5, i % 4]).unwrap()),
        )
        .unwrap(),
    ];
    for layout in &shapes {
        of_type(device, layout, |i| i as u32 + 1);
        of_type(device, layout, |i| {
            Complex32::new(i as f32 + 0.5, -(i as f32))
        });
        of_type(device, layout, |i| {
            f16::from_bits((i as u32 * 40_503 % 0x7BFF) as u16 + 1)
        });
    }
}

fn of_type<T: Scalar>(device: &Device, layout: &Layout, value: impl Fn(usize) -> T) {
    let offsets = layout.offsets().clone();
    let x = Ragged::from_fn(layout, |e, i| value(offsets.range(e).start + i)).unwrap();
    let rank = layout.rank();
    let other = {
        let backwards: Vec<Shape> = layout.shapes().rev().collect();
        Layout::from_shapes(rank, backwards).unwrap()
    };
    let whole = upload(device, &x);
    for first in [0, 1, 3, 10] {
        let some = whole.elements(first..x.len()).unwrap();
        let other = other.range(first..x.len()).unwrap();
        let x = download(&some);
        let what = format!("{} of {layout} from {first}", T::DTYPE);
        let check = |name: &str, got: Result<Tensor<T>>, expected: &Ragged<T>| {
            let got = download(&got.unwrap());
            assert!(&got == expected, "{name}, {what}:\n{got}\n{expected}");
        };
        check(
            "resize",
            some.resize(&other),
            &read(&x, &other, |e, k| (e, k)),
        );
        let box_ = ranges(rank);
        check("slice", slice_of(&some, &box_), &sliced(&x, &box_));
        let wider = widths(rank);
        check("pad", pad_by(&some, &wider), &padded(&x, &wider));
        check(
            "flip",
            some.flip(&flipped_axes(rank)),
            &flipped(&x, &flipped_axes(rank)),
        );
        check("flip one", some.flip(&[0]), &flipped(&x, &[0]));
        let order = permutation(rank);
        check("transpose", some.transpose(&order), &permuted(&x, &order));
    }
}

/// Positions beyond 32 bits are outside the element, like all others outside.
fn far_away(device: &Device) {
    let x = rows([&[1, 2, 3], &[4]]);
    let far = i64::from(u32::MAX) + 1;
    for start in [
        i64::MIN,
        -far,
        -far / 2,
        -far / 4 - 1,
        -3,
        3,
        far / 4,
        far / 2,
        far,
        i64::MAX - 2,
    ] {
        let got = run(device, &x, &x, |x, _| x.slice(&[start], &[start + 2]));
        assert_exact(format!("from {start}"), &got, &rows([&[0, 0], &[0, 0]]));
        let x = one(&[2, 2], &[1, 2, 3, 4]);
        for ranges in [[[start, start + 2], [0, 2]], [[0, 2], [start, start + 2]]] {
            let got = run(device, &x, &x, |x, _| slice_of(x, &ranges));
            assert_exact(format!("from {ranges:?}"), &got, &one(&[2, 2], &[0; 4]));
        }
    }
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
    let x = Ragged::from_rows([bits.map(f32::from_bits)]).unwrap();
    let mut back = bits;
    back.reverse();
    let expected = Ragged::from_rows([back.map(f32::from_bits)]).unwrap();
    let got = download(&upload(device, &x).flip(&[0]).unwrap());
    assert_identical("special bits", &got, &expected);
}

fn refused(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3], &[4]]));
    let expect = |outcome: Result<Tensor<i32>>, message: &str| {
        assert_eq!(outcome.unwrap_err().to_string(), message);
    };
    expect(
        x.slice(&[3], &[2]),
        "slice: expected an end along axis 0 of at least the start, 3, got 2",
    );
    expect(
        x.slice(&[0], &[1, 1]),
        "slice: expected a rank of 1, as in the batch, got 2",
    );
    expect(
        x.pad(&[], &[]),
        "pad: expected a rank of 1, as in the batch, got 0",
    );
    expect(
        x.flip(&[0, 0]),
        "flip: expected distinct axes below 1, got [0, 0]",
    );
    expect(
        x.flip(&[1]),
        "flip: expected distinct axes below 1, got [1]",
    );
    let wrong = "transpose: expected a permutation of the axes 0 to 0, got ";
    expect(x.transpose(&[1]), &format!("{wrong}[1]"));
    expect(x.transpose(&[]), &format!("{wrong}[]"));
    expect(x.transpose(&[0, 0]), &format!("{wrong}[0, 0]"));
    let overflow = |outcome: Result<Tensor<i32>>, op| match outcome.unwrap_err() {
        Error::SizeOverflow {
            op: got, element, ..
        } => assert_eq!((got, element), (op, Some(1))),
        other => panic!("{other}"),
    };
    overflow(x.slice(&[0], &[1 << 31 | 1]), "slice");
    overflow(x.pad(&[1 << 31], &[0]), "pad");
    let first = x.slice(&[i64::MIN], &[i64::MAX]).unwrap_err();
    assert_eq!((first.kind(), first.element()), ("size_overflow", Some(0)));
    let first = x.pad(&[usize::MAX], &[usize::MAX]).unwrap_err();
    assert_eq!((first.kind(), first.element()), ("size_overflow", Some(0)));
    let fewer = Layout::from_lengths([1]).unwrap();
    assert_eq!(x.resize(&fewer).unwrap_err().kind(), "batch_size");
    let boxes = Layout::uniform(2, Shape::new(&[1, 1]).unwrap()).unwrap();
    assert_eq!(x.resize(&boxes).unwrap_err().kind(), "rank");
    assert_eq!(x.resize(&boxes).unwrap_err().op(), "resize");
    assert!(x.flip(&[0]).is_ok());
}

fn same_shapes(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3], &[4]]));
    let equal = Layout::from_lengths([3, 1]).unwrap();
    let y = without_allocating(device, || x.resize(&equal).unwrap());
    assert_exact("the same", &download(&y), &download(&x));
}

fn restriction(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let x = upload(device, &a);
        let ambient = x.add(&upload(device, &b)).unwrap();
        let larger = x.resize(ambient.layout()).unwrap();
        assert_exact(
            "and back",
            &download(&larger.resize(a.layout()).unwrap()),
            &a,
        );
        let twice = x.flip(&[0]).unwrap().flip(&[0]).unwrap();
        assert_exact("flipped twice", &download(&twice), &a);
    });
}

/// Trailing zeros do not change slices, leading padding and resizing; they do change reversal.
fn equivalent_elements(device: &Device) {
    let longer = |batch: &Ragged<i32>| padded(batch, &[(0, 3)]);
    property::on(device, property::batch(), |a| {
        let (x, y) = (upload(device, &a), upload(device, &longer(&a)));
        let [s, t] = [&x, &y].map(|x| download(&x.slice(&[-2], &[5]).unwrap()));
        assert_exact("slices", &s, &t);
        let layout = Layout::from_lengths(a.layout().lengths().map(|n| n / 2 + 3)).unwrap();
        let [s, t] = [&x, &y].map(|x| download(&x.resize(&layout).unwrap()));
        assert_exact("boxes", &s, &t);
        let [s, t] = [&x, &y].map(|x| download(&x.pad(&[2], &[0]).unwrap()));
        assert_exact("paddings", &longer(&s), &t);
    });
    let x = rows([&[1][..], &[1, 0]]);
    let got = run(device, &x, &x, |x, _| x.flip(&[0]));
    assert_exact("reverses", &got, &rows([&[1][..], &[0, 1]]));
}
