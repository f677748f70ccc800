//! Histograms: against a search in edges of f64, value by value.

use std::ops::RangeInclusive;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, f16_from_f64},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::corpus::{self, rng};
use crate::support::number::Number;
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = [corpus::small(), corpus::boxes()].concat();
    let operation = Operation::new()
        .with(binary::<f32>())
        .with(binary::<i32>())
        .with(binary::<u32>());
    let mut trials = operation.trials(bench, "corpus", cases);
    let tests: &[DeviceTest] = &[
        ("as_numpy", as_numpy),
        ("values_at_edges", values_at_edges),
        ("integers_at_edges", integers_at_edges),
        ("explicit_edges", explicit_edges),
        ("outside", outside),
        ("any_number_of_bins", any_number_of_bins),
        ("narrow_bins", narrow_bins),
        ("one_bin_takes_all", one_bin_takes_all),
        ("long_and_tiny_elements", long_and_tiny_elements),
        ("views_begin_anywhere", views_begin_anywhere),
        ("nothing", nothing),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// A type of values, in f64.
trait Wide: Factor {
    fn wide(self) -> f64;
    /// An edge of equal bins.
    fn edge(x: f64) -> f64;
    /// A range with values of the corpus inside and outside of it.
    const ENDS: [Self; 2];
}

impl Wide for f32 {
    const ENDS: [f32; 2] = [-8.0, 8.0];
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f64 {
        (x as f32).into()
    }
}

impl Wide for f16 {
    const ENDS: [f16; 2] = [f16::NEG_ONE, f16::ONE];
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f64 {
        f16_from_f64(x).into()
    }
}

impl Wide for i32 {
    const ENDS: [i32; 2] = [i32::MIN / 2, 1 << 30];
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f64 {
        x
    }
}

impl Wide for u32 {
    const ENDS: [u32; 2] = [5, u32::MAX / 3];
    fn wide(self) -> f64 {
        self.into()
    }
    fn edge(x: f64) -> f64 {
        x
    }
}

/// The edges of equal bins.
fn linspace<T: Wide>(bins: usize, range: &RangeInclusive<T>) -> Vec<f64> {
    let [lo, hi] = [range.start().wide(), range.end().wide()];
    let step = (hi - lo) / bins as f64;
    let inner = (0..bins).map(|i| T::edge(i as f64 * step + lo));
    inner.chain([hi]).collect()
}

fn counted<T: Wide>(x: &Ragged<T>, edges: &[f64]) -> Ragged<u32> {
    let bins = edges.len() - 1;
    let counts = (0..x.len()).map(|element| {
        let mut counts = vec![0u32; bins];
        for x in x.row(element).iter().map(|x| x.wide()) {
            if edges[0] <= x && x <= edges[bins] {
                counts[edges[..bins].partition_point(|&edge| edge <= x) - 1] += 1;
            }
        }
        counts
    });
    Ragged::from_rows(counts.collect::<Vec<_>>()).unwrap()
}

fn check<T: Wide>(device: &Device, x: &Ragged<T>, bins: usize, range: RangeInclusive<T>) {
    let expected = counted(x, &linspace(bins, &range));
    let what = format!("{bins} bins of {range:?}, {}", T::DTYPE);
    let got = upload(device, x).histogram(bins, range).unwrap();
    assert_exact(what, &download(&got), &expected);
}

fn check_edges<T: Wide>(device: &Device, x: &Ragged<T>, edges: &[T]) {
    let wide: Vec<f64> = edges.iter().map(|edge| edge.wide()).collect();
    let got = upload(device, x).histogram_edges(edges).unwrap();
    let what = format!("{} edges, {}", edges.len(), T::DTYPE);
    assert_exact(what, &download(&got), &counted(x, &wide));
}

fn binary<T: Number + Wide>() -> Binary<T, u32> {
    Binary {
        name: "histogram",
        run: |x, _| x.histogram(7, T::ENDS[0]..=T::ENDS[1]),
        paired: None,
        expected: Some(|x, _, _| {
            let edges = linspace(7, &(T::ENDS[0]..=T::ENDS[1]));
            Expected::indices(counted(x, &edges))
        }),
        spreads: true,
        series_only: false,
    }
}

/// Values around these, and what is never counted.
fn around<T: Wide>(all: &[T], up: fn(T) -> T, down: fn(T) -> T, others: &[T]) -> Ragged<T> {
    let near = all
        .iter()
        .flat_map(|&x| [down(down(x)), down(x), x, up(x), up(up(x))]);
    let values: Vec<T> = near.chain(others.iter().copied()).collect();
    Ragged::from_rows([values]).unwrap()
}

/// What `numpy.histogram` of NumPy 2.4 counts.
fn as_numpy(device: &Device) {
    let of = |x: &Tensor<f32>, bins, lo, hi| download(&x.histogram(bins, lo..=hi).unwrap());
    let tenths = [
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
        0.0,
        -0.1,
        1.1,
        f32::INFINITY,
    ];
    let x = upload(device, &rows([&tenths[..]]));
    let ones_and_two = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2];
    assert_eq!(of(&x, 10, 0.0, 1.0).row(0), ones_and_two);
    let half = x.to::<f16>().unwrap().histogram(10, f16::ZERO..=f16::ONE);
    assert_eq!(download(&half.unwrap()).row(0), ones_and_two);
    let many: Vec<f32> = (0..1000)
        .map(|i| ((i * 7919 % 1009) as f64 / 1009.0) as f32)
        .collect();
    let x = upload(device, &rows([&many[..]]));
    let counts = [69, 69, 69, 68, 69, 69, 70, 70, 69, 69, 69, 70, 69];
    assert_eq!(of(&x, 13, 0.05, 0.95).row(0), counts);
    let counts = x.histogram_edges(&[0.0, 0.1, 0.25, 0.5, 1.0]).unwrap();
    assert_eq!(download(&counts).row(0), [100, 150, 249, 501]);

    let x = upload(device, &rows([&(-6..14).collect::<Vec<i32>>()[..]]));
    let of = |bins, lo, hi| download(&x.histogram(bins, lo..=hi).unwrap());
    assert_eq!(of(7, -5, 10).row(0), [3, 2, 2, 2, 2, 2, 3]);
    assert_eq!(of(3, -1, 1).row(0), [1, 1, 1]);
    assert_eq!(of(4, 0, 2).row(0), [1, 0, 1, 1]);
    let counts = x.histogram_edges(&[-3, 0, 1, 9]).unwrap();
    assert_eq!(download(&counts).row(0), [3, 1, 9]);
    let x = upload(
        device,
        &rows([&[0u32, 1, 1 << 31, u32::MAX, u32::MAX - 1, 3 << 30][..]]),
    );
    let of = |bins| download(&x.histogram(bins, 0..=u32::MAX).unwrap());
    assert_eq!(of(3).row(0), [2, 1, 3]);
    assert_eq!(of(4).row(0), [2, 0, 1, 3]);
}

/// Every edge, and the floats next to it.
fn values_at_edges(device: &Device) {
    for (bins, lo, hi) in [
        (1, 0.0, 1.0),
        (10, 0.0, 1.0),
        (10, -1.0, 0.0),
        (256, -0.3, 0.7),
        (1000, 0.1, 1e3),
        (7, 1e6, 1e6 + 3.0),
        (100, 1e-45, 1e-43),
        (9, -1e-38, 1e-38),
        (11, f32::MIN, f32::MAX),
        (4096, 0.0, 255.0),
        (5000, -2.0, 2.0),
    ] {
        let edges: Vec<f32> = linspace(bins, &(lo..=hi))
            .iter()
            .map(|&e| e as f32)
            .collect();
        let others = [
            f32::NAN,
            -f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -0.0,
        ];
        let x = around(&edges, f32::next_up, f32::next_down, &others);
        check(device, &x, bins, lo..=hi);
    }
    for (bins, lo, hi) in [
        (10, 0.0, 1.0),
        (64, -2.0, 0.0),
        (1000, -0.1, 0.3),
        (3, 1e-7, 1e-6),
    ] {
        let [lo, hi] = [lo, hi].map(f16::from_f32);
        let edges: Vec<f16> = linspace(bins, &(lo..=hi))
            .iter()
            .map(|&e| f16_from_f64(e))
            .collect();
        // Of positive and of negative numbers.
        let up = |x: f16| f16::from_bits(x.to_bits() + 1);
        let down = |x: f16| f16::from_bits(x.to_bits().saturating_sub(1));
        let others = [
            f16::NAN,
            f16::INFINITY,
            f16::NEG_INFINITY,
            f16::NEG_ZERO,
            f16::MAX,
        ];
        check(device, &around(&edges, up, down, &others), bins, lo..=hi);
    }
}

fn integers_at_edges(device: &Device) {
    for (bins, lo, hi) in [
        (10, 0, 9),
        (256, 0, 256),
        (255, -128, 127),
        (7, -100, 100),
        (3, i32::MIN, i32::MAX),
        (1000, 5, 6),
        (5, i32::MAX - 3, i32::MAX),
    ] {
        let edges = linspace(bins, &(lo..=hi));
        let edges: Vec<i32> = edges.iter().map(|&e| e.floor() as i32).collect();
        let (up, down) = (|x: i32| x.saturating_add(1), |x: i32| x.saturating_sub(1));
        let x = around(&edges, up, down, &[0, i32::MIN, i32::MAX]);
        check(device, &x, bins, lo..=hi);
    }
    for (bins, lo, hi) in [(4, 0, 4), (100, 0, u32::MAX), (6, u32::MAX - 7, u32::MAX)] {
        let edges = linspace(bins, &(lo..=hi));
        let edges: Vec<u32> = edges.iter().map(|&e| e.floor() as u32).collect();
        let (up, down) = (|x: u32| x.saturating_add(1), |x: u32| x.saturating_sub(1));
        check(
            device,
            &around(&edges, up, down, &[0, 1 << 31, u32::MAX]),
            bins,
            lo..=hi,
        );
    }
}

fn explicit_edges(device: &Device) {
    let mut random = rng("edges");
    for number in [2, 3, 10, 100, 4097, 6000] {
        let mut edges: Vec<f32> = (0..number).map(|_| random.f32() * 9.0 - 4.0).collect();
        edges.sort_by(f32::total_cmp);
        edges.dedup();
        if number == 10 {
            (edges[0], edges[5], edges[9]) = (-1e30, 0.0, 1e-40);
            edges.sort_by(f32::total_cmp);
        }
        let x = around(&edges, f32::next_up, f32::next_down, &[f32::NAN, -0.0, 0.0]);
        check_edges(device, &x, &edges);
    }
    // A first and a last edge of 0, with either sign.
    let x = rows([&[-0.0, 0.0, -1.0, 1.0, f32::from_bits(1), -f32::from_bits(1)][..]]);
    for zero in [0.0, -0.0] {
        check_edges(device, &x, &[zero, 0.5, 2.0]);
        check_edges(device, &x, &[-2.0, -0.5, zero]);
        check_edges(device, &x, &[-1.0, zero, 1.0]);
    }
    let halves = [-1.0, 0.0, 6e-8, 2.0].map(f16::from_f32);
    let x = [-1.0, -0.5, -0.0, 0.0, 6e-8, 1.0, 2.0, 3.0].map(f16::from_f32);
    check_edges(device, &rows([&x[..]]), &halves);
    let x = rows([&[i32::MIN, -7, -6, 0, 3, 4, i32::MAX][..], &[]]);
    check_edges(device, &x, &[i32::MIN, -6, 4, i32::MAX]);
    check_edges(device, &x, &[-7, 3]);
    let x = rows([&[0, 1, 5, u32::MAX - 1, u32::MAX][..]]);
    check_edges(device, &x, &[1, 5, 6, u32::MAX - 1]);
}

/// What lies outside, NaN and infinities are in no bin.
fn outside(device: &Device) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let quiet = f32::from_bits(0xffc0_0001);
    let x = rows([
        &[nan, quiet, inf, -inf, 2.5, -1.5, f32::MAX, f32::MIN][..],
        &[nan, 0.0, 1.0, 1.0f32.next_up(), (-0.0f32).next_down(), -0.0],
    ]);
    let got = upload(device, &x).histogram(2, 0.0..=1.0).unwrap();
    assert_exact("outside", &download(&got), &rows([&[0u32, 0][..], &[2, 1]]));
}

fn values(layout: &Layout) -> Ragged<f32> {
    let mut random = rng("histogram");
    Ragged::from_fn(layout, |_, _| random.f32() * 2.2 - 1.1).unwrap()
}

fn any_number_of_bins(device: &Device) {
    let x = values(&Layout::from_lengths([300, 0, 5000, 1, 77]).unwrap());
    let halves = x.cast(f16::from_f32).unwrap();
    let integers = x.cast(|x| (x * 1e4) as i32).unwrap();
    for bins in [1, 2, 3, 10, 64, 257, 1365, 2048, 2049, 4096, 4097, 70_000] {
        check(device, &x, bins, -1.0..=1.0);
        check(device, &halves, bins, f16::NEG_ONE..=f16::ONE);
        check(device, &integers, bins, -9999..=10_000);
    }
}

/// Bins narrower than the spacing of floats are empty, except one for each float.
fn narrow_bins(device: &Device) {
    let (lo, hi) = (1.0f32, 1.0 + 4.0 * f32::EPSILON);
    let x = rows([&[1.0, 1.0f32.next_up(), hi, hi.next_down(), hi.next_up()][..]]);
    for bins in [4, 5, 64] {
        check(device, &x, bins, lo..=hi);
    }
}

/// All values in one bin, and long runs of equal ones.
fn one_bin_takes_all(device: &Device) {
    for bins in [1, 100, 5000] {
        let layout = Layout::from_lengths([100_000, 3]).unwrap();
        let same = Ragged::full(&layout, 0.25f32).unwrap();
        check(device, &same, bins, 0.0..=1.0);
        let runs = Ragged::from_fn(&layout, |_, i| (i / 1000) as u32).unwrap();
        check(device, &runs, bins, 0..=99);
    }
}

fn long_and_tiny_elements(device: &Device) {
    for lengths in [
        vec![70_000, 0, 3, 4096, 4097, 1],
        (0..3000).map(|i| i % 5).collect(),
        vec![0; 5000],
        vec![1; 9000],
    ] {
        let layout = Layout::from_lengths(lengths).unwrap();
        let x = values(&layout);
        for bins in [1, 10, 300] {
            check(device, &x, bins, -1.0..=0.5);
        }
        check_edges(device, &x, &[-1.0, -0.9, 0.0, 0.3]);
        check(
            device,
            &x.cast(f16::from_f32).unwrap(),
            9,
            f16::ZERO..=f16::ONE,
        );
        check(device, &x.cast(|x| (50.0 * x) as u32).unwrap(), 9, 1..=50);
    }
    let shapes = [[2, 3, 50], [0, 4, 5], [1, 1, 1]].map(|s| Shape::new(&s).unwrap());
    check(
        device,
        &values(&Layout::from_shapes(3, shapes).unwrap()),
        10,
        -1.0..=1.0,
    );
}

fn views_begin_anywhere(device: &Device) {
    let x = values(&Layout::from_lengths([1, 2, 700, 0, 5001, 3, 9]).unwrap());
    fn check<T: Wide>(device: &Device, x: &Ragged<T>) {
        let on = upload(device, x);
        for first in 0..7 {
            let view = on.elements(first..7).unwrap();
            let expected = counted(&download(&view), &linspace(16, &(T::ENDS[0]..=T::ENDS[1])));
            let got = view.histogram(16, T::ENDS[0]..=T::ENDS[1]).unwrap();
            assert_exact(format!("from {first}"), &download(&got), &expected);
        }
    }
    check(device, &x);
    check(device, &x.cast(f16::from_f32).unwrap());
    check(device, &x.cast(|x| (x * 1e9) as i32).unwrap());
}

/// Batches without values, and results that reuse memory.
fn nothing(device: &Device) {
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    for bins in [1, 5000, 1 << 40] {
        assert!(nothing.histogram(bins, 0.0..=1.0).unwrap().is_empty());
    }
    let empty = upload(device, &rows([&[][..], &[]]) as &Ragged<f32>);
    for bins in [3, 5000] {
        drop(
            device
                .full(&Layout::from_lengths([2 * bins]).unwrap(), u32::MAX)
                .unwrap(),
        );
        let counts = download(&empty.histogram(bins, 0.0..=1.0).unwrap());
        assert_eq!((counts.len(), counts.values()), (2, &vec![0; 2 * bins][..]));
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &one(&[2, 3], &[1.0f32; 6]));
    let refused = |result: Result<Tensor<u32>>, kind: &str, text: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    };
    let argument = |result, text: &str| refused(result, "argument", text);
    argument(
        x.histogram(0, 0.0..=1.0),
        "histogram: expected 1 bin or more, got 0",
    );
    for (range, got) in [
        (1.0..=1.0, "1..=1"),
        (1.0..=0.0, "1..=0"),
        (0.0..=-0.0, "0..=-0"),
        (0.0..=f32::INFINITY, "0..=inf"),
        (f32::NEG_INFINITY..=0.0, "-inf..=0"),
        (f32::NAN..=1.0, "NaN..=1"),
    ] {
        let text =
            format!("histogram: expected finite ends, the first below the second, got {got}");
        argument(x.histogram(3, range), &text);
    }
    argument(
        x.histogram_edges(&[1.0]),
        "histogram_edges: expected 2 edges or more, got 1",
    );
    argument(
        x.histogram_edges(&[0.0, 1.0, f32::INFINITY]),
        "histogram_edges: expected finite edges, got inf as edge 2",
    );
    argument(
        x.histogram_edges(&[f32::NAN, 1.0]),
        "histogram_edges: expected finite edges, got NaN as edge 0",
    );
    argument(
        x.histogram_edges(&[0.0, 1.0, 1.0]),
        "histogram_edges: expected increasing edges, got 1 before 1 as edge 2",
    );
    argument(
        x.histogram_edges(&[-0.0, 0.0]),
        "histogram_edges: expected increasing edges, got -0 before 0 as edge 1",
    );
    let overflow = |result: Result<Tensor<u32>>, element| {
        let error = result.unwrap_err();
        let expected = ("size_overflow", "histogram", Some(element));
        assert_eq!((error.kind(), error.op(), error.element()), expected);
    };
    overflow(x.histogram(1 << 32, 0.0..=1.0), 0);
    overflow(x.histogram(usize::MAX, 0.0..=1.0), 0);
    let two = upload(device, &rows([&[1.0f32][..], &[2.0]]));
    overflow(two.histogram(1 << 31, 0.0..=1.0), 1);
    let limited = upload(&device.with_work_limit(100), &rows([&[1u32][..]]));
    let error = limited.histogram(100, 0..=1).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("work_limit", "histogram"));
}
