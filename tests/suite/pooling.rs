//! Pooling: against windows collected one by one, in f64.

mod large;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, Real},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{Comparable, TINY, assert_exact, assert_within, gamma};
use crate::support::corpus::{self, rng};
use crate::support::number::Number;
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::small(), corpus::boxes()].concat();
    let max = Operation::new()
        .with(maximum::<f32>())
        .with(maximum::<i32>())
        .with(maximum::<u32>());
    let mean = Operation::new().with(Binary::<f32, f32> {
        name: "mean_pool",
        run: |x, _| {
            let (window, strides) = corpus_window(x.layout());
            x.pooling(window).stride(strides).mean()
        },
        paired: None,
        expected: Some(|x, _, _| {
            let (window, strides) = corpus_window(x.layout());
            let (values, bounds) = means(x, window, strides);
            Expected::inexact(values, bounds)
        }),
        spreads: false,
        series_only: false,
    });
    let mut trials = max.trials(bench, "max", cases());
    trials.extend(mean.trials(bench, "mean", cases()));
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("windows_and_strides", windows_and_strides),
        ("ends_of_windows", ends_of_windows),
        ("halves", halves),
        ("large_windows", large::windows),
        ("slopes_of_large_windows", large::slopes),
        ("views_begin_anywhere", views_begin_anywhere),
        ("far_strides", far_strides),
        ("many_elements", many_elements),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// A window and strides for elements of this rank, with overlaps along one axis.
fn corpus_window(x: &Layout) -> (&'static [usize], &'static [usize]) {
    match x.rank() {
        1 => (&[3], &[2]),
        _ => (&[2, 3], &[1, 4]),
    }
}

fn maximum<T: Number + Real>() -> Binary<T, T> {
    Binary {
        name: "max_pool",
        run: |x, _| {
            let (window, strides) = corpus_window(x.layout());
            x.pooling(window).stride(strides).max()
        },
        paired: None,
        expected: Some(|x, _, _| {
            let (window, strides) = corpus_window(x.layout());
            let values = maxima(x, window, strides);
            let bounds = vec![0.0; values.values().len()];
            Expected::inexact(values, bounds)
        }),
        spreads: false,
        series_only: false,
    }
}

/// `of(values)` of every window, given all of its values.
fn windows<T: Copy, R>(
    x: &Ragged<T>,
    window: &[usize],
    strides: &[usize],
    of: impl Fn(&[T]) -> R,
) -> (Layout, Vec<R>) {
    let rank = x.layout().rank();
    // Axes before the window have windows of one value.
    let all = |of_window: &[usize]| [vec![1; rank - of_window.len()], of_window.to_vec()].concat();
    let (window, strides) = (all(window), all(strides));
    let (mut shapes, mut results) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let shape = x.shape(element);
        let extents: Vec<usize> = shape.extents().iter().map(|&n| n as usize).collect();
        let places: Vec<usize> = (0..rank)
            .map(|axis| (0..extents[axis]).step_by(strides[axis]))
            .zip(extents.iter().zip(&window))
            .map(|(starts, (n, w))| starts.filter(|start| start + w <= *n).count())
            .collect();
        for place in indices(&places) {
            let values: Vec<T> = indices(&window)
                .map(|within| {
                    let axes = 0..rank;
                    let at = |axis: usize| place[axis] * strides[axis] + within[axis];
                    let index = axes.fold(0, |index, axis| index * extents[axis] + at(axis));
                    x.row(element)[index]
                })
                .collect();
            results.push(of(&values));
        }
        shapes.push(Shape::new(&places).unwrap());
    }
    (Layout::from_shapes(rank, shapes).unwrap(), results)
}

/// All index vectors of a box, the last axis fastest.
fn indices(extents: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    (0..extents.iter().product()).map(|mut rest: usize| {
        let mut index = vec![0; extents.len()];
        for (axis, &extent) in extents.iter().enumerate().rev() {
            (index[axis], rest) = (rest % extent, rest / extent);
        }
        index
    })
}

/// The larger of two values; NaN is larger than any number.
fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

fn maxima<T: Comparable>(x: &Ragged<T>, window: &[usize], strides: &[usize]) -> Ragged<f64> {
    let (layout, values) = windows(x, window, strides, |values| {
        let values = values.iter().map(|value| value.as_f64());
        values.fold(f64::NEG_INFINITY, larger)
    });
    Ragged::from_parts(layout, values).unwrap()
}

/// The means, with the documented bounds.
fn means(x: &Ragged<f32>, window: &[usize], strides: &[usize]) -> (Ragged<f64>, Vec<f64>) {
    let [values, starts] = [window, strides].map(|all| all.iter().product::<usize>());
    let depth = match values / starts >= 128 {
        true => 3.0 * (values as f64).log2() + 11.0,
        false => window.iter().sum::<usize>() as f64 + 5.0,
    };
    let (layout, both) = windows(x, window, strides, |values| {
        let count = values.len() as f64;
        let wide = || values.iter().map(|&value| f64::from(value));
        let size = wide().map(f64::abs).sum::<f64>() / count;
        (wide().sum::<f64>() / count, gamma(depth) * size + TINY)
    });
    let (values, bounds) = both.into_iter().unzip();
    (Ragged::from_parts(layout, values).unwrap(), bounds)
}

fn run<T: Factor>(x: &Tensor<T>, window: &[usize], strides: &[usize]) -> Result<Tensor<T>> {
    x.pooling(window).stride(strides).max()
}

/// Checks the maxima and the means.
fn check(device: &Device, x: &Ragged<f32>, window: &[usize], strides: &[usize]) {
    let what = format!("{window:?} by {strides:?} of {}", x.layout());
    let on = upload(device, x);
    let got = download(&run(&on, window, strides).unwrap());
    let expected = maxima(x, window, strides);
    let none = vec![0.0; expected.values().len()];
    assert_within(format!("maxima, {what}"), &got, &expected, &none);
    let got = download(&on.pooling(window).stride(strides).mean().unwrap());
    let (expected, bounds) = means(x, window, strides);
    assert_within(format!("means, {what}"), &got, &expected, &bounds);
}

fn batch(seed: &str, shapes: &[&[usize]]) -> Ragged<f32> {
    let mut random = rng(seed);
    let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
    let layout = Layout::from_shapes(shapes[0].rank(), shapes).unwrap();
    Ragged::from_fn(&layout, |_, _| random.f32() * 8.0 - 4.0).unwrap()
}

fn goldens(device: &Device) {
    let series = rows([&[1.0f32, 5.0, 2.0, 4.0, 9.0], &[3.0], &[], &[7.0, 8.0]]);
    let x = upload(device, &series);
    let expected = rows([&[5.0f32, 4.0], &[], &[], &[8.0]]);
    assert_exact("max", &download(&x.max_pool(&[2]).unwrap()), &expected);
    let expected = rows([&[3.0f32, 3.0], &[], &[], &[7.5]]);
    assert_exact("mean", &download(&x.mean_pool(&[2]).unwrap()), &expected);
    let expected = rows([&[5.0f32, 5.0, 4.0, 9.0], &[], &[], &[8.0]]);
    assert_exact(
        "overlap",
        &download(&run(&x, &[2], &[1]).unwrap()),
        &expected,
    );
    assert_exact("itself", &download(&x.max_pool(&[1]).unwrap()), &series);
    assert_exact("itself", &download(&x.mean_pool(&[1]).unwrap()), &series);
    let image = one(&[3, 4], &(1..=12).collect::<Vec<i32>>());
    let x = upload(device, &image);
    let got = download(&x.max_pool(&[2, 2]).unwrap());
    assert_exact("image", &got, &one(&[1, 2], &[6, 8]));
    let got = download(&run(&x, &[2, 2], &[1, 1]).unwrap());
    assert_exact("image", &got, &one(&[2, 3], &[6, 7, 8, 10, 11, 12]));
    // A window of one axis pools each row by itself.
    let got = download(&x.max_pool(&[3]).unwrap());
    assert_exact("rows", &got, &one(&[3, 1], &[3, 7, 11]));
    let lowest = upload(device, &rows([&[i32::MIN, i32::MIN], &[-1, -2]]));
    let got = download(&lowest.max_pool(&[2]).unwrap());
    assert_exact("lowest", &got, &rows([&[i32::MIN], &[-1]]));
    let large = upload(device, &rows([&[0u32, u32::MAX, 1 << 31, 0]]));
    let got = download(&large.max_pool(&[2]).unwrap());
    assert_exact("large", &got, &rows([&[u32::MAX, 1 << 31]]));
}

/// Windows and strides of all relations, and larger than some or all elements.
fn windows_and_strides(device: &Device) {
    let series = batch(
        "series",
        &[
            &[0],
            &[1],
            &[2],
            &[7],
            &[64],
            &[65],
            &[1000],
            &[0],
            &[3],
            &[5000],
        ],
    );
    for (window, stride) in [
        (1, 1),
        (1, 3),
        (2, 1),
        (2, 2),
        (3, 2),
        (2, 5),
        (7, 7),
        (64, 1),
        (65, 64),
        (700, 11),
        (4000, 1),
        (5000, 5000),
        (5001, 1),
    ] {
        check(device, &series, &[window], &[stride]);
    }
    let images = batch(
        "images",
        &[
            &[0, 5],
            &[5, 0],
            &[1, 1],
            &[2, 2],
            &[3, 40],
            &[40, 3],
            &[70, 33],
            &[1, 9],
            &[9, 1],
        ],
    );
    for (window, strides) in [
        ([1, 1], [1, 1]),
        ([2, 2], [2, 2]),
        ([3, 3], [1, 1]),
        ([3, 3], [2, 2]),
        ([1, 3], [2, 1]),
        ([3, 1], [1, 2]),
        ([2, 5], [7, 3]),
        ([40, 3], [1, 1]),
        ([8, 8], [4, 8]),
        ([70, 33], [1, 1]),
        ([71, 1], [1, 1]),
    ] {
        check(device, &images, &window, &strides);
    }
    for window in [1, 2, 33] {
        check(device, &images, &[window], &[2]);
    }
    let boxes = batch(
        "boxes",
        &[
            &[3, 5, 7, 4],
            &[0, 5, 5, 5],
            &[2, 3, 1, 9],
            &[1, 1, 1, 1],
            &[4, 0, 6, 6],
            &[5, 2, 4, 4],
        ],
    );
    for (window, strides) in [([2, 2], [2, 2]), ([3, 3], [1, 2]), ([1, 4], [3, 1])] {
        check(device, &boxes, &window, &strides);
    }
    check(device, &boxes, &[3], &[1]);
}

/// NaN and infinity reach only the windows that contain them.
fn ends_of_windows(device: &Device) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = rows([
        &[nan, 1.0, 2.0, 3.0, 4.0, 5.0],
        &[1.0, inf, 2.0, -inf, 3.0, nan],
        &[-inf, -inf, -inf, inf, -nan, 1.0],
        &[inf, nan, 1.0, 1.0],
        &[-0.0, 0.0, -0.0, -0.0],
    ]);
    for (window, stride) in [(1, 1), (2, 2), (2, 1), (3, 1)] {
        check(device, &x, &[window], &[stride]);
    }
    let zeros = download(&upload(device, &x).max_pool(&[2]).unwrap());
    let bits: Vec<u32> = zeros.row(4).iter().map(|zero| zero.to_bits()).collect();
    assert_eq!(bits, [0, (-0.0f32).to_bits()]);
    let mut values = vec![1.0f32; 36];
    (values[7], values[28]) = (nan, -inf);
    for (window, stride) in [([2, 2], [2, 2]), ([3, 2], [1, 1])] {
        check(device, &one(&[6, 6], &values), &window, &stride);
    }
}

/// f16: maxima bit for bit, means rounded once.
fn halves(device: &Device) {
    let mut random = rng("halves");
    for lengths in [vec![1, 0, 5, 300, 2, 7, 9], vec![3; 400], vec![5000]] {
        let layout = Layout::from_lengths(lengths).unwrap();
        let x = Ragged::from_fn(&layout, |_, _| f16::from_bits(random.u16(..))).unwrap();
        let wide: Ragged<f32> = x.cast(f16::to_f32).unwrap();
        for base in [0, 1] {
            let view = upload(device, &x).elements(base..x.len()).unwrap();
            let wide = download(&upload(device, &wide).elements(base..x.len()).unwrap());
            for (window, stride) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
                let what = format!("{window} by {stride} of {}", wide.layout());
                let pooling = view.pooling(&[window]).stride(&[stride]);
                let got = pooling.max().unwrap().download_blocking().unwrap();
                let got = got.cast(f16::to_f32).unwrap();
                let expected = maxima(&wide, &[window], &[stride]);
                let none = vec![0.0; expected.values().len()];
                assert_within(format!("maxima, {what}"), &got, &expected, &none);
                let got = pooling.mean().unwrap().download_blocking().unwrap();
                let got = got.cast(f16::to_f32).unwrap();
                let (expected, bounds) = means(&wide, &[window], &[stride]);
                // Half a unit in the last place, which is 2⁻²⁴ for subnormal results.
                let rounded = |(value, bound): (&f64, f64)| {
                    bound + (value.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25)
                };
                let bounds: Vec<f64> = expected.values().iter().zip(bounds).map(rounded).collect();
                assert_within(format!("means, {what}"), &got, &expected, &bounds);
            }
        }
    }
    let zeros = [0x8000u16, 0x8000, 0x8000, 0, 0, 0x8000].map(f16::from_bits);
    let zeros = upload(device, &Ragged::from_rows([zeros]).unwrap());
    let got = zeros.max_pool(&[2]).unwrap().download_blocking().unwrap();
    let bits: Vec<u16> = got.values().iter().map(|zero| zero.to_bits()).collect();
    assert_eq!(bits, [0x8000, 0, 0]);
    let shape = |extents: &[usize]| Shape::new(extents).unwrap();
    let layout =
        Layout::from_shapes(2, [shape(&[5, 7]), shape(&[3, 3]), shape(&[40, 31])]).unwrap();
    let x = Ragged::from_fn(&layout, |_, i| f16::from_f32((i * 7 % 31) as f32)).unwrap();
    let got = upload(device, &x).max_pool(&[2, 3]).unwrap();
    let got = got.download_blocking().unwrap().cast(f16::to_f32).unwrap();
    let expected = maxima(&x.cast(f16::to_f32).unwrap(), &[2, 3], &[2, 3]);
    let none = vec![0.0; expected.values().len()];
    assert_within("matrices of halves", &got, &expected, &none);
}

/// Elements at odd offsets of a larger buffer.
fn views_begin_anywhere(device: &Device) {
    let x = batch("views", &[&[3, 1], &[5, 7], &[1, 901], &[3, 333], &[9, 9]]);
    let all = upload(device, &x);
    for first in 1..4 {
        let view = all.elements(first..5).unwrap();
        let got = download(&run(&view, &[2, 2], &[1, 2]).unwrap());
        let expected = maxima(&download(&view), &[2, 2], &[1, 2]);
        let none = vec![0.0; expected.values().len()];
        assert_within(format!("from {first}"), &got, &expected, &none);
    }
}

/// Windows and strides beyond 32 bits.
fn far_strides(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, 2.0, 3.0], &[], &[4.0]]));
    let got = download(&run(&x, &[1], &[usize::MAX]).unwrap());
    assert_exact("stride", &got, &rows([&[1.0f32], &[], &[4.0]]));
    for far in [1 << 20, u32::MAX as usize, usize::MAX] {
        let got = download(&x.max_pool(&[far]).unwrap());
        assert_exact("window", &got, &rows::<f32, 3>([&[], &[], &[]]));
        assert_eq!(download(&x.mean_pool(&[far]).unwrap()).values().len(), 0);
    }
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    assert!(nothing.max_pool(&[2]).unwrap().is_empty());
}

/// More elements in a tile than its tables hold.
fn many_elements(device: &Device) {
    let lengths: Vec<[usize; 1]> = (0..9000).map(|i| [i * 7 % 5]).collect();
    let lengths: Vec<&[usize]> = lengths.iter().map(|length| &length[..]).collect();
    check(device, &batch("many", &lengths), &[2], &[1]);
    let shapes: Vec<[usize; 2]> = (0..3000).map(|i| [i * 3 % 4, i * 5 % 7]).collect();
    let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
    check(device, &batch("many", &shapes), &[2, 2], &[1, 2]);
}

fn refusals(device: &Device) {
    let x = upload(device, &batch("refusals", &[&[2, 3]]));
    let vectors = upload(device, &rows([&[1.0f32]]));
    let refused = |result: Result<Tensor<f32>>, kind: &str, text: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    };
    refused(
        x.max_pool(&[]),
        "argument",
        "max_pool: expected a window of 1 or 2 extents, got 0",
    );
    refused(
        x.mean_pool(&[1, 1, 1]),
        "argument",
        "mean_pool: expected a window of 1 or 2 extents, got 3",
    );
    refused(
        x.max_pool(&[2, 0]),
        "argument",
        "max_pool: expected window extents of 1 or more, got 0",
    );
    refused(
        vectors.mean_pool(&[1, 1]),
        "rank",
        "mean_pool: expected a rank of at least 2, as in the window, got 1",
    );
    refused(
        x.pooling(&[1, 1]).stride(&[1]).max(),
        "stride",
        "max_pool: expected a stride for each axis of the window, 2 in all, got 1",
    );
    refused(
        x.pooling(&[1]).stride(&[0]).mean(),
        "stride",
        "mean_pool: expected strides of 1 or more, got 0",
    );
    // Every value of a window counts as work, and every value that a pass reads.
    let wide = Layout::from_lengths([4096]).unwrap();
    let limited = device.with_work_limit(100_000).full(&wide, 1.0f32).unwrap();
    for (window, within) in [(16, true), (127, false), (1024, true), (3071, false)] {
        let got = run(&limited, &[window], &[1]);
        let kind = got.map_err(|error| error.kind()).err();
        assert_eq!(kind, (!within).then_some("work_limit"), "{window}");
    }
}
