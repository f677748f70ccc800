//! Reductions of all types along axes and of whole elements: small integers exactly, then against f64, line by line.

mod floats;
mod function;

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Shape, f16, scalar::Float};

use floats::random;
use function::{ALL, Function, Function::*, Sample, lines};

use crate::lines::places;
use crate::support::bench::{Bench, DeviceTest};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("integers_of_every_class", integers_of_every_class),
        ("whole_elements", whole_elements),
        ("integers_wrap", integers_wrap),
        ("bounds", floats::bounds),
        ("norms_of_all_magnitudes", floats::norms_of_all_magnitudes),
        ("ends", floats::ends),
        ("any_and_all", any_and_all),
        ("complex_sums", complex_sums),
        ("views_begin_anywhere", views_begin_anywhere),
        ("lines_are_independent", lines_are_independent),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

/// Compares exactly, up to the rounding of the result to its type.
fn check<T: Sample>(device: &Device, function: Function, x: &Ragged<T>, axis: Option<usize>) {
    let what = format!("{function:?} of {}, {axis:?}, {}", T::DTYPE, x.layout());
    let (layout, values) = function.along(&upload(device, x), axis);
    let (expected, lines) = lines(x, axis);
    assert_eq!(layout, expected, "{what}");
    for (i, (got, line)) in values.into_iter().zip(lines).enumerate() {
        let mut exact = function.of::<T>(&line);
        if !function.is_place() {
            exact = T::of(exact).wide();
        }
        let same = got == exact || (got.is_nan() && exact.is_nan());
        assert!(
            same,
            "{what}: {got} instead of {exact} in line {i}, {line:?}"
        );
    }
}

/// Calls a generic function with every type of values.
macro_rules! of_every_type {
    ($function:ident($($argument:expr),*)) => {
        $function::<f32>($($argument),*);
        $function::<f16>($($argument),*);
        $function::<i32>($($argument),*);
        $function::<u32>($($argument),*);
    };
}

/// Small integers whose products stay small, too.
fn integers<T: Sample>(seed: &str, shapes: &[&[usize]], product: bool) -> Ragged<T> {
    let mut random = rng(seed);
    let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
    let layout = Layout::from_shapes(shapes[0].rank(), shapes).unwrap();
    let signed = T::LOWEST < 0.0;
    Ragged::from_fn(&layout, |_, i| {
        T::of(match (product, signed) {
            (true, _) if i % 5000 == 7 => 2.0,
            (true, true) => f64::from(random.u8(0..2)) * 2.0 - 1.0,
            (true, false) => 1.0,
            (false, true) => f64::from(random.i8(-3..=3)),
            (false, false) => f64::from(random.u8(..4)),
        })
    })
    .unwrap()
}

const COUNTS: [usize; 16] = [
    0, 1, 2, 7, 9, 63, 64, 65, 257, 512, 513, 1025, 4096, 4097, 8192, 20_000,
];

/// Lines of every class and at the limits of classes, consecutive and strided, with and without values.
fn integers_of_every_class(device: &Device) {
    of_every_type!(every_class(device));
}

fn every_class<T: Sample>(device: &Device) {
    let vectors: Vec<[usize; 1]> = COUNTS.map(|n| [n]).into();
    let beside: Vec<[usize; 2]> = COUNTS.map(|n| [3, n]).into();
    let apart: Vec<[usize; 3]> = COUNTS.map(|n| [1 + usize::from(n < 300), n, 3]).into();
    fn slices<const N: usize>(shapes: &[[usize; N]]) -> Vec<&[usize]> {
        shapes.iter().map(|shape| &shape[..]).collect()
    }
    let odd: [&[usize]; 6] = [
        &[0, 3, 2],
        &[3, 0, 2],
        &[2, 3, 0],
        &[1, 1, 1],
        &[2, 40, 50],
        &[300, 2, 1],
    ];
    type Case<'a> = (&'a str, Vec<&'a [usize]>, std::ops::Range<usize>);
    let batches: [Case<'_>; 4] = [
        ("vectors", slices(&vectors), 0..1),
        ("beside", slices(&beside), 0..2),
        ("apart", slices(&apart), 1..2),
        ("odd", odd.into(), 0..3),
    ];
    for (seed, shapes, axes) in batches {
        for function in ALL {
            let x = integers::<T>(seed, &shapes, function == Product);
            for axis in axes.clone() {
                check(device, function, &x, Some(axis));
            }
        }
    }
}

fn whole_elements(device: &Device) {
    of_every_type!(elements(device));
}

fn elements<T: Sample>(device: &Device) {
    let vectors: Vec<[usize; 1]> = COUNTS.map(|n| [n]).into();
    let vectors: Vec<&[usize]> = vectors.iter().map(|shape| &shape[..]).collect();
    let boxes: [&[usize]; 4] = [&[3, 5, 7], &[0, 2, 2], &[1, 1, 1], &[20, 30, 40]];
    for (seed, shapes) in [("vectors", &vectors[..]), ("boxes", &boxes)] {
        for function in ALL {
            let x = integers::<T>(seed, shapes, function == Product);
            check(device, function, &x, None);
        }
    }
}

/// Sums and products modulo 2³², and the least integer.
fn integers_wrap(device: &Device) {
    let mut random = rng("wrap");
    for count in [3, 300, 9000] {
        let words: Vec<u32> = (0..2 * count).map(|_| random.u32(..) | 1).collect();
        let signed: Vec<i32> = words.iter().map(|&word| word as i32).collect();
        let matrix = |words: &[u32]| one(&[2, count], words);
        let (x, y) = (
            upload(device, &matrix(&words)),
            upload(device, &one(&[2, count], &signed)),
        );
        let of = |fold: fn(u32, u32) -> u32, first: u32| -> Vec<u32> {
            let rows = words.chunks(count);
            rows.map(|row| row.iter().copied().fold(first, fold))
                .collect()
        };
        let bits = |values: &Ragged<i32>| -> Vec<u32> {
            values.values().iter().map(|&value| value as u32).collect()
        };
        let sums = of(u32::wrapping_add, 0);
        assert_eq!(download(&x.sum_axis(1).unwrap()).values(), sums);
        assert_eq!(bits(&download(&y.sum_axis(1).unwrap())), sums);
        let products = of(u32::wrapping_mul, 1);
        assert_eq!(download(&x.prod_axis(1).unwrap()).values(), products);
        assert_eq!(bits(&download(&y.prod_axis(1).unwrap())), products);
        let sizes = of(|sum, x| sum.wrapping_add((x as i32).unsigned_abs()), 0);
        assert_eq!(bits(&download(&y.norm1_axis(1).unwrap())), sizes);
        assert_eq!(download(&x.norm1_axis(1).unwrap()).values(), sums);
    }
    let x = upload(
        device,
        &rows([&[5, i32::MIN, -7], &[i32::MIN, i32::MAX, 0]]),
    );
    let least = [i32::MIN; 2];
    assert_eq!(download(&x.norm_max_axis(0).unwrap()).values(), least);
    assert_eq!(download(&x.norm_max().unwrap()).values(), least);
    assert_eq!(download(&x.min_axis(0).unwrap()).values(), least);
    assert_eq!(download(&x.argmin_axis(0).unwrap()).values(), [1, 0]);
    let x = upload(
        device,
        &rows([&[5u32, u32::MAX, 7], &[1 << 31, 3, 1 << 31]]),
    );
    assert_eq!(
        download(&x.max_axis(0).unwrap()).values(),
        [u32::MAX, 1 << 31]
    );
    assert_eq!(download(&x.argmax_axis(0).unwrap()).values(), [1, 0]);
}

fn any_and_all(device: &Device) {
    for count in [1, 5, 100, 600, 9000] {
        let with = |fill: u32, place: usize, value: u32| {
            let mut line = vec![fill; count];
            line[place] = value;
            line
        };
        let lines = [
            vec![0; count],
            vec![7; count],
            with(0, count - 1, 1 << 31),
            with(u32::MAX, count / 2, 0),
            with(0, 0, 1),
            vec![],
        ];
        let many = u32::from(count > 1);
        let any = [0, 1, 1, many, 1, 0];
        let all = [0, 1, 1 - many, 0, 1 - many, 1];
        let x = Ragged::from_rows(&lines).unwrap();
        let on = upload(device, &x);
        assert_eq!(download(&on.any().unwrap()).values(), any);
        assert_eq!(download(&on.any_axis(0).unwrap()).values(), any);
        assert_eq!(download(&on.all().unwrap()).values(), all);
        assert_eq!(download(&on.all_axis(0).unwrap()).values(), all);
        let columns: Vec<u32> = (0..count)
            .flat_map(|k| (0..5).map(move |line| (k, line)))
            .map(|(k, line)| x.row(line)[k])
            .collect();
        let on = upload(device, &one(&[count, 5], &columns));
        assert_eq!(download(&on.any_axis(0).unwrap()).values(), &any[..5]);
        assert_eq!(download(&on.all_axis(0).unwrap()).values(), &all[..5]);
    }
    // Along an axis of extent 0, there are lines without values.
    let none = upload(
        device,
        &Ragged::<u32>::full(
            &Layout::uniform(1, Shape::new(&[2, 0]).unwrap()).unwrap(),
            1,
        )
        .unwrap(),
    );
    assert_eq!(download(&none.any_axis(1).unwrap()).values(), [0, 0]);
    assert_eq!(download(&none.all_axis(1).unwrap()).values(), [1, 1]);
}

/// Sums of complex integers are exact, also of views.
fn complex_sums(device: &Device) {
    let mut random = rng("complex");
    let shapes = [[3, 1], [2, 5], [3, 700], [700, 3], [2, 9000]].map(|s| Shape::new(&s).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let mut part = || f32::from(random.i8(..));
    let x = Ragged::from_fn(&layout, |_, _| Complex32::new(part(), part())).unwrap();
    let all = upload(device, &x);
    for first in [0, 1] {
        let view = all.elements(first..x.len()).unwrap();
        for axis in [Some(0), Some(1), None] {
            let got = match axis {
                Some(axis) => download(&view.sum_axis(axis).unwrap()),
                None => download(&view.sum().unwrap()),
            };
            let mut expected = Vec::new();
            for element in first..x.len() {
                let row = x.row(element);
                for line in places(x.shape(element).extents(), axis) {
                    expected.push(line.iter().map(|&at| row[at]).sum::<Complex32>());
                }
            }
            assert_eq!(got.values(), expected, "{axis:?} from {first}");
        }
    }
    let infinite = upload(
        device,
        &rows([&[Complex32::new(f32::INFINITY, 1.0), Complex32::new(1.0, 2.0)]]),
    );
    let got = download(&infinite.sum_axis(0).unwrap());
    assert_eq!(got.values(), [Complex32::new(f32::INFINITY, 3.0)]);
}

/// Elements at odd offsets of a larger buffer.
fn views_begin_anywhere(device: &Device) {
    of_every_type!(views(device));
}

fn views<T: Sample>(device: &Device) {
    let shapes: [&[usize]; 4] = [&[3, 1], &[5, 7], &[1, 9001], &[3, 333]];
    for function in ALL {
        let x = integers::<T>("views", &shapes, function == Product);
        let all = upload(device, &x);
        for first in [1, 2] {
            let view = all.elements(first..4).unwrap();
            let host = download(&view);
            for axis in [Some(0), Some(1), None] {
                let (layout, values) = function.along(&view, axis);
                let (expected, lines) = lines(&host, axis);
                assert_eq!(layout, expected);
                for (got, line) in values.into_iter().zip(lines) {
                    let exact = function.of::<T>(&line);
                    let exact = match function.is_place() {
                        true => exact,
                        false => T::of(exact).wide(),
                    };
                    assert_eq!(got, exact, "{function:?} of {}, {axis:?}", T::DTYPE);
                }
            }
        }
    }
}

/// A line has the same bits as in a batch of its own.
fn lines_are_independent(device: &Device) {
    independent::<f32>(device);
    independent::<f16>(device);
}

fn independent<T: Sample + Float>(device: &Device) {
    let shapes: [&[usize]; 3] = [&[5, 60], &[3, 700], &[2, 9000]];
    let x = random::<T>("lines", &shapes, |x| 2.0 * x - 1.0);
    for function in [Sum, Product, Norm1] {
        let all = function.along(&upload(device, &x), Some(1)).1;
        let mut all = all.into_iter();
        for element in 0..x.len() {
            let width = x.shape(element).extents()[1] as usize;
            for line in x.row(element).chunks(width) {
                let alone = function
                    .along(&upload(device, &one(&[width], line)), Some(0))
                    .1;
                let bits = |x: f64| x.to_bits();
                assert_eq!(bits(alone[0]), bits(all.next().unwrap()), "{function:?}");
            }
        }
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &one(&[2, 3], &[1u32, 2, 3, 4, 5, 6]));
    let errors = [
        ("sum_axis", x.sum_axis(2).unwrap_err()),
        ("prod_axis", x.prod_axis(2).unwrap_err()),
        ("norm1_axis", x.norm1_axis(2).unwrap_err()),
        ("norm_max_axis", x.norm_max_axis(2).unwrap_err()),
        ("max_axis", x.max_axis(2).unwrap_err()),
        ("argmax_axis", x.argmax_axis(2).unwrap_err()),
        ("min_axis", x.min_axis(2).unwrap_err()),
        ("argmin_axis", x.argmin_axis(2).unwrap_err()),
        ("any_axis", x.any_axis(2).unwrap_err()),
        ("all_axis", x.all_axis(2).unwrap_err()),
        (
            "norm2_axis",
            x.to::<f32>().unwrap().norm2_axis(2).unwrap_err(),
        ),
    ];
    for (op, error) in errors {
        assert_eq!((error.kind(), error.op()), ("argument", op));
        let text = error.to_string();
        assert!(
            text.contains("an axis below the rank of 2, got 2"),
            "{text}"
        );
    }
}
