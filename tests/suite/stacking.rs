//! Stacks, windows and pyramids.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Layout, Ragged, Result, Shape, Tensor, batch::Remainder, f16, scalar::Scalar,
};

use crate::support::bench::{Bench, without_allocating};
use crate::support::compare::{Comparable, assert_exact};
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, download, one, pick, rows, run, upload,
};
use crate::support::places::{Place, read};
use crate::support::property;

/// A limit that no test reaches.
const ENOUGH: u64 = 1 << 30;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases: Vec<_> = [corpus::all(), corpus::boxes()]
        .concat()
        .into_iter()
        .filter(|case| {
            let few = [
                "edges_",
                "set_",
                "short_",
                "one_",
                "rank_",
                "nonfinite",
                "tiny_5000",
                "all_",
            ];
            case.name != "rank_8" && few.iter().any(|prefix| case.name.starts_with(prefix))
        })
        .collect();
    let mut trials = Operation::new()
        .with(towers::<f32>())
        .with(towers::<u32>())
        .trials(bench, "stack_groups", cases);
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("stacks", stacks),
        ("windows", windows),
        ("pyramids", pyramids),
        ("every_type", every_type),
        ("nested", nested),
        ("apart_again", apart_again),
        ("no_copies", no_copies),
        ("equivalent_elements", equivalent_elements),
        ("refused", refused),
    ]));
    trials
}

/// Makes every element a separate stack, so that its position in the batch is arbitrary, and unstacks it to the box of
/// the other batch.
fn towers<T: Number>() -> Binary<T, T> {
    Binary {
        name: "stack_groups",
        run: |x, y| {
            let stacks = x.stack_groups(&vec![1; x.len()], ENOUGH)?;
            stacks.unstack(y.layout())
        },
        paired: None,
        expected: Some(|a, b, _| {
            Expected::exact::<T>(widened(&read(a, b.layout(), |e, k| (e, k))))
        }),
        spreads: false,
        series_only: false,
    }
}

/// The stacks of these elements, with zeros for elements beyond the batch.
fn stacked<T: Copy + Default>(x: &Ragged<T>, groups: &[Vec<usize>]) -> Ragged<T> {
    let rank = x.layout().rank();
    let shapes = groups.iter().map(|group| {
        let mut extents = vec![0; rank];
        for &i in group.iter().filter(|i| **i < x.len()) {
            for (most, &extent) in extents.iter_mut().zip(x.layout().shape(i).extents()) {
                *most = extent.max(*most as u32) as usize;
            }
        }
        extents.insert(0, group.len());
        Shape::new(&extents).unwrap()
    });
    let y = Layout::from_shapes(rank + 1, shapes).unwrap();
    read(x, &y, |e, k| {
        let mut place = Place::default();
        place[..7].copy_from_slice(&k[1..]);
        (groups[e][k[0] as usize], place)
    })
}

fn window_groups(count: usize, size: usize, stride: usize) -> Vec<Vec<usize>> {
    (0..count)
        .map(|w| (w * stride..w * stride + size).collect())
        .collect()
}

fn goldens(device: &Device) {
    let x = rows([&[10, 20][..], &[30, 40, 50], &[60]]);
    let got = run(device, &x, &x, |x, _| x.stack(ENOUGH));
    let expected = one(&[3, 3], &[10, 20, 0, 30, 40, 50, 60, 0, 0]);
    assert_exact("three", &got, &expected);
    let x = rows([&[][..], &[42, 84]]);
    let got = run(device, &x, &x, |x, _| x.stack(ENOUGH));
    assert_exact("an empty one", &got, &one(&[2, 2], &[0, 0, 42, 84]));
    let x = rows([&[1], &[2], &[3], &[4]]);
    let got = run(device, &x, &x, |x, _| x.window(3, 1, ENOUGH));
    let layout = Layout::uniform(2, Shape::new(&[3, 1]).unwrap()).unwrap();
    let expected = Ragged::from_parts(layout, vec![1, 2, 3, 2, 3, 4]).unwrap();
    assert_exact("windows", &got, &expected);
    for (elements, size, stride, count) in [(10, 4, 2, 4), (3, 4, 1, 0), (4, 4, 9, 1), (0, 1, 1, 0)]
    {
        let x = Ragged::from_rows((0..elements).map(|i| [i])).unwrap();
        let got = run(device, &x, &x, |x, _| x.window(size, stride, ENOUGH));
        assert_eq!(got.len(), count, "{size} every {stride} of {elements}");
        assert_exact(
            "windows",
            &got,
            &stacked(&x, &window_groups(count, size, stride)),
        );
    }
    let nothing = Ragged::<i32>::from_rows([[0; 0]; 0]).unwrap();
    let got = run(device, &nothing, &nothing, |x, _| x.stack(ENOUGH));
    assert_exact("nothing", &got, &one(&[0, 0], &[]));
}

/// Batches of every kind; no element is too large for a window of a few.
fn batches() -> Vec<Ragged<i32>> {
    let mut cases = [corpus::all(), corpus::boxes()].concat();
    cases.retain(|case| {
        let names = [
            "edges_64",
            "set_mixed",
            "short_random",
            "one_empty_side",
            "rank_2",
            "rank_3",
            "rank_5",
            "edges_1024",
            "rank_3_all_empty",
            "rank_2_larger",
        ];
        names.contains(&case.name.as_str())
    });
    cases.iter().map(|case| case.integers().0).collect()
}

fn stacks(device: &Device) {
    for x in batches() {
        let all: Vec<usize> = (0..x.len()).collect();
        let got = run(device, &x, &x, |x, _| x.stack(ENOUGH));
        assert_exact(x.layout(), &got, &stacked(&x, std::slice::from_ref(&all)));
        let counts = [2, 0, x.len().saturating_sub(4), 1, 1];
        if counts.iter().sum::<usize>() == x.len() {
            let mut rest = all.into_iter();
            let groups = counts.map(|count| rest.by_ref().take(count).collect());
            let got = run(device, &x, &x, |x, _| x.stack_groups(&counts, ENOUGH));
            assert_exact(x.layout(), &got, &stacked(&x, &groups));
        }
    }
}

fn windows(device: &Device) {
    for x in batches() {
        // Also as a view at a base offset.
        let tensor = upload(device, &x);
        for first in [0, 2] {
            let tensor = tensor.elements(first..x.len()).unwrap();
            let x = pick(&x, &(first..x.len()).collect::<Vec<_>>());
            for (size, stride) in [
                (1, 1),
                (3, 1),
                (2, 2),
                (3, 5),
                (5, 3),
                (x.len().max(1), 1),
                (1, usize::MAX),
            ] {
                let count = (x.len() + 1).saturating_sub(size).div_ceil(stride);
                let got = download(&tensor.window(size, stride, ENOUGH).unwrap());
                let expected = stacked(&x, &window_groups(count, size, stride));
                assert_exact(
                    format!("{size} every {stride} of {}", x.layout()),
                    &got,
                    &expected,
                );
            }
        }
    }
}

fn pyramids(device: &Device) {
    for x in batches().into_iter().filter(|x| x.layout().rank() < 6) {
        for flush in [Remainder::Discard, Remainder::Pad] {
            let sizes = [3, 2, 2];
            let levels = upload(device, &x).pyramid(&sizes, flush, ENOUGH).unwrap();
            assert_eq!(levels.len(), sizes.len());
            let mut below = x.clone();
            for (level, &size) in levels.iter().zip(&sizes) {
                let count = match flush {
                    Remainder::Discard => below.len() / size,
                    Remainder::Pad => below.len().div_ceil(size),
                };
                below = stacked(&below, &window_groups(count, size, size));
                assert_exact(
                    format!("{flush:?} {}", x.layout()),
                    &download(level),
                    &below,
                );
            }
        }
    }
    let none = upload(device, &rows([&[1][..], &[2]])).pyramid(&[], Remainder::Pad, ENOUGH);
    assert!(none.unwrap().is_empty());
    let nothing = upload(device, &Ragged::<i32>::from_rows([[0; 0]; 0]).unwrap());
    for level in nothing.pyramid(&[2, 2], Remainder::Pad, ENOUGH).unwrap() {
        assert_eq!(level.len(), 0);
    }
}

fn every_type(device: &Device) {
    of_type(device, |i| i as u32 + 1);
    of_type(device, |i| Complex32::new(i as f32 + 0.5, -(i as f32)));
    of_type(device, |i| f16::from_bits(i as u16 % 0x7BFF + 1));
}

fn of_type<T: Scalar>(device: &Device, value: impl Fn(usize) -> T) {
    let layouts = [
        Layout::from_lengths([1, 2, 7, 0, 33, 4, 5, 2000, 3, 3, 3]).unwrap(),
        Layout::from_shapes(2, (0..20).map(|i| Shape::new(&[i % 4, i % 5]).unwrap())).unwrap(),
    ];
    for layout in layouts {
        let offsets = layout.offsets().clone();
        let x = Ragged::from_fn(&layout, |e, i| value(offsets.range(e).start + i)).unwrap();
        let tensor = upload(device, &x);
        let check = |what: &str, got: Result<Tensor<T>>, expected: &Ragged<T>| {
            let got = download(&got.unwrap());
            assert!(
                &got == expected,
                "{what} of {}:\n{got}\n{expected}",
                T::DTYPE
            );
        };
        let all = (0..x.len()).collect::<Vec<_>>();
        check("the stack", tensor.stack(ENOUGH), &stacked(&x, &[all]));
        let count = (x.len() - 3) / 2 + 1;
        let expected = stacked(&x, &window_groups(count, 3, 2));
        check("windows", tensor.window(3, 2, ENOUGH), &expected);
        let back = tensor.stack(ENOUGH).unwrap().unstack(&layout);
        check("apart", back, &x);
    }
}

/// Stacks of stacks equal one flat stack if and only if all inner counts are equal.
fn nested(device: &Device) {
    let x = upload(device, &rows([&[1][..], &[2, 3], &[4, 5, 6], &[7]]));
    let flat = x.stack(ENOUGH).unwrap();
    let twice = |counts: &[usize]| {
        x.stack_groups(counts, ENOUGH)
            .unwrap()
            .stack(ENOUGH)
            .unwrap()
    };
    let even = twice(&[2, 2]);
    assert_eq!(even.layout().shape(0), Shape::new(&[2, 2, 3]).unwrap());
    let got = download(&even.reshape(flat.layout()).unwrap());
    assert_exact("two and two", &got, &download(&flat));
    let odd = twice(&[3, 1]);
    assert_eq!(odd.layout().shape(0), Shape::new(&[2, 3, 3]).unwrap());
    assert_eq!(odd.reshape(flat.layout()).unwrap_err().kind(), "length");
    // Zeros between other values stay where they are.
    let expected = [1, 0, 0, 2, 3, 0, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_exact(
        "three and one",
        &download(&odd),
        &one(&[2, 3, 3], &expected),
    );
}

fn apart_again(device: &Device) {
    property::on(device, property::batch(), |a| {
        let x = upload(device, &a);
        let back = x.stack(ENOUGH).unwrap().unstack(a.layout()).unwrap();
        assert_exact("stacked and apart", &download(&back), &a);
        let half = a.len() / 2;
        let groups = x.stack_groups(&[half, 0, a.len() - half], ENOUGH).unwrap();
        let back = groups.unstack(a.layout()).unwrap();
        assert_exact("groups apart", &download(&back), &a);
    });
}

fn no_copies(device: &Device) {
    let layout = Layout::uniform(6, Shape::new(&[2, 2]).unwrap()).unwrap();
    let x = upload(
        device,
        &Ragged::from_fn(&layout, |e, i| (4 * e + i) as i32).unwrap(),
    );
    let (stack, apart, levels) = without_allocating(device, || {
        let stack = x.stack(ENOUGH).unwrap();
        let apart = stack.unstack(&layout).unwrap();
        let levels = x.pyramid(&[2, 2], Remainder::Discard, ENOUGH).unwrap();
        (stack, apart, levels)
    });
    assert_eq!(download(&stack).values(), download(&x).values());
    assert_exact("apart", &download(&apart), &download(&x));
    assert_eq!(download(&levels[1]).values(), &download(&x).values()[..16]);
}

/// Trailing zeros of elements become trailing zeros of slices.
fn equivalent_elements(device: &Device) {
    property::on(device, property::batch(), |a| {
        let x = upload(device, &a);
        let longer = x.pad(&[0], &[2]).unwrap();
        let [s, t] = [&x, &longer].map(|x| x.stack(ENOUGH).unwrap());
        assert_exact(
            "stacks",
            &download(&t.resize(s.layout()).unwrap()),
            &download(&s),
        );
    });
}

fn refused(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3], &[4]]));
    fn expect<R: Comparable>(outcome: Result<Tensor<R>>, message: &str) {
        assert_eq!(outcome.unwrap_err().to_string(), message);
    }
    expect(
        x.stack(23),
        "stack: the result takes 24 bytes, above the call's limit of 23; raise the limit or pass fewer elements",
    );
    assert!(x.stack(24).is_ok());
    // A second call, which finds the plan, is refused as well.
    assert_eq!(x.stack(23).unwrap_err().kind(), "budget");
    assert_eq!(x.window(2, 1, 23).unwrap_err().kind(), "budget");
    assert_eq!(x.stack_groups(&[1, 1], 15).unwrap_err().kind(), "budget");
    let pyramid = x.pyramid(&[2], Remainder::Pad, 23);
    assert_eq!(pyramid.unwrap_err().op(), "pyramid");
    expect(
        x.window(0, 1, 24),
        "window: expected a size of at least 1, got 0",
    );
    expect(
        x.window(1, 0, 24),
        "window: expected a stride of at least 1, got 0",
    );
    let pyramid = x.pyramid(&[2, 0], Remainder::Pad, ENOUGH);
    let message = "pyramid: expected a size of at least 1, got 0";
    assert_eq!(pyramid.unwrap_err().to_string(), message);
    let pyramid = x.pyramid(&[1; 8], Remainder::Pad, ENOUGH).unwrap_err();
    assert_eq!(
        pyramid.to_string(),
        "pyramid: expected a rank of 1 to 8, got 9"
    );
    expect(
        x.stack_groups(&[1], ENOUGH),
        "stack_groups: expected counts that add up to 2, got 1",
    );
    expect(
        x.unstack(x.layout()),
        "unstack: expected a rank of 2 to 8, got 1",
    );
    let stack = x.stack(ENOUGH).unwrap();
    let fewer = Layout::from_lengths([1]).unwrap();
    assert_eq!(stack.unstack(&fewer).unwrap_err().kind(), "batch_size");
    assert_eq!(stack.unstack(stack.layout()).unwrap_err().kind(), "rank");
    let deep = Layout::uniform(1, Shape::new(&[1; 8]).unwrap()).unwrap();
    let deep = upload(device, &Ragged::full(&deep, 1).unwrap());
    assert_eq!(
        deep.stack(ENOUGH).unwrap_err().to_string(),
        "stack: expected a rank of 1 to 7, got 8"
    );
    // More slices, and more values, than 32 bits can count.
    let one = upload(device, &rows([&[1]]));
    let levels = one.pyramid(&[usize::MAX], Remainder::Pad, u64::MAX);
    assert_eq!(levels.unwrap_err().kind(), "size_overflow");
}
