//! Labels: one-hot rows, and the cross-entropy of scores.

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, Float, Scalar},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{
    Comparable, TINY, assert_exact, assert_identical, assert_within, gamma,
};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, rows, upload};
use crate::support::reference::log_of_exponentials;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("one_hot_rows", one_hot_rows),
        ("one_hot_of_views", one_hot_of_views),
        ("one_hot_refused", one_hot_refused),
        ("losses", losses),
        ("large_scores", large_scores),
        ("equal_scores", equal_scores),
        ("special_scores", special_scores),
        ("losses_of_views", losses_of_views),
        ("losses_alone", losses_alone),
        ("losses_refused", losses_refused),
    ];
    bench.all_on_each_device(tests)
}

fn shapes(rank: usize, shapes: &[&[usize]]) -> Layout {
    Layout::from_shapes(rank, shapes.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

/// Indices of which a few are beyond the depth.
fn indices(layout: &Layout, depth: usize) -> Ragged<u32> {
    Ragged::from_fn(layout, |e, i| match (e + i) % 11 {
        3 => u32::MAX,
        7 => depth as u32,
        _ => ((7 * e + 3 * i) % depth.max(1)) as u32,
    })
    .unwrap()
}

fn check_rows<T: Factor>(device: &Device, indices: &Ragged<u32>, depth: usize, one: T) {
    let layout = indices.layout();
    let wider = layout.shapes().map(|shape| {
        let extents = shape.extents().iter().map(|&n| n as usize);
        Shape::new(&extents.chain([depth]).collect::<Vec<_>>()).unwrap()
    });
    let wider = Layout::from_shapes(layout.rank() + 1, wider).unwrap();
    let expected = Ragged::from_fn(&wider, |e, i| {
        let here = indices.row(e)[i / depth] as usize == i % depth;
        if here { one } else { T::default() }
    });
    let got = upload(device, indices).one_hot::<T>(depth).unwrap();
    assert!(
        download(&got) == expected.unwrap(),
        "depth {depth} of {layout}, {}",
        T::DTYPE
    );
}

fn one_hot_rows(device: &Device) {
    for layout in [
        Layout::from_lengths([]).unwrap(),
        Layout::from_lengths([0, 3, 0, 1, 2, 700, 5]).unwrap(),
        Layout::from_lengths((0..3000).map(|i| i % 4)).unwrap(),
        shapes(2, &[&[2, 3], &[0, 5], &[1, 1], &[7, 30]]),
        shapes(3, &[&[2, 3, 2], &[1, 1, 1]]),
    ] {
        for depth in [0, 1, 2, 3, 5, 64, 1001] {
            let indices = indices(&layout, depth);
            check_rows(device, &indices, depth, 1.0f32);
            check_rows(device, &indices, depth, f16::ONE);
            check_rows(device, &indices, depth, 1i32);
            check_rows(device, &indices, depth, 1u32);
        }
    }
    // One row over several tiles.
    check_rows(device, &rows([&[4999u32][..], &[17, 70_000]]), 5000, 1.0f32);
}

fn one_hot_of_views(device: &Device) {
    let all = indices(&Layout::from_lengths([1, 2, 700, 0, 3]).unwrap(), 9);
    let x = upload(device, &all);
    for begin in 0..5 {
        let view = x.elements(begin..5).unwrap();
        let alone = upload(device, &download(&view));
        let [got, exact] = [view, alone].map(|x| download(&x.one_hot::<f32>(9).unwrap()));
        assert_identical(format!("from {begin}"), &got, &exact);
    }
}

fn one_hot_refused(device: &Device) {
    let x = upload(device, &rows([&[1u32, 2][..], &[3]]));
    let error = x.one_hot::<f32>(1 << 31).unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("size_overflow", "one_hot", Some(0))
    );
    let error = x.one_hot::<f32>(usize::MAX).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("size_overflow", "one_hot"));
    let deep = upload(device, &one(&[1; 8], &[0u32]));
    let error = deep.one_hot::<f32>(2).unwrap_err();
    let text = "one_hot: expected a rank of at most 7, got 8";
    assert_eq!((error.kind(), error.to_string().as_str()), ("rank", text));
    let limited = upload(&device.with_work_limit(100), &rows([&[1u32][..]]));
    assert_eq!(
        limited.one_hot::<f32>(101).unwrap_err().kind(),
        "work_limit"
    );
}

/// Scores with these shapes, and targets for their rows.
fn scores(layout: &Layout, size: f32) -> (Ragged<f32>, Ragged<u32>) {
    let mut random = rng("scores");
    let x = Ragged::from_fn(layout, |_, _| size * (random.f32() - 0.5)).unwrap();
    let rank = layout.rank();
    let of_rows = layout.shapes().map(|shape| match shape.extents() {
        [_] => Shape::new(&[1]).unwrap(),
        extents => {
            let extents = extents[..rank - 1].iter().map(|&n| n as usize);
            Shape::new(&extents.collect::<Vec<_>>()).unwrap()
        }
    });
    let of_rows = Layout::from_shapes((rank - 1).max(1), of_rows).unwrap();
    let widths: Vec<u32> = layout
        .shapes()
        .map(|shape| shape.extents()[rank - 1])
        .collect();
    let targets = Ragged::from_fn(&of_rows, |e, i| (5 * e + 3 * i) as u32 % widths[e].max(1));
    (x, targets.unwrap())
}

/// The losses in f64, with their bounds; NaN for a target out of range.
fn exact(x: &Ragged<f32>, targets: &Ragged<u32>) -> (Ragged<f64>, Vec<f64>) {
    let mut bounds = Vec::new();
    let rank = x.layout().rank();
    let losses = Ragged::from_fn(targets.layout(), |e, row| {
        let width = x.shape(e).extents()[rank - 1] as usize;
        let scores: Vec<f64> = x.row(e)[row * width..][..width]
            .iter()
            .map(|x| f64::from(*x))
            .collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum = match scores.is_empty() {
            true => f64::NAN,
            false => log_of_exponentials(&scores, top),
        };
        let score = scores.get(targets.row(e)[row] as usize);
        let loss = score.map_or(f64::NAN, |score| top - score + sum);
        let n = width.max(1) as f64;
        bounds.push(gamma(170.0 + n.log2().ceil()) * loss + n * TINY);
        loss
    });
    (losses.unwrap(), bounds)
}

fn check_losses(device: &Device, x: &Ragged<f32>, targets: &Ragged<u32>) {
    let (expected, bounds) = exact(x, targets);
    let got = losses_on(device, x, targets);
    assert_eq!(got.layout(), targets.layout());
    assert_within(x.layout(), &got, &expected, &bounds);
}

/// Of halves, computed in f32 and rounded once.
fn check_half_losses(device: &Device, x: &Ragged<f16>, targets: &Ragged<u32>) {
    let (expected, bounds) = exact(&x.cast(f16::to_f32).unwrap(), targets);
    let both = expected.values().iter().zip(bounds);
    let rounded =
        |(loss, bound): (&f64, f64)| bound + (loss.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25);
    let bounds: Vec<f64> = both.map(rounded).collect();
    let got = losses_on(device, x, targets);
    assert_eq!(got.layout(), targets.layout());
    assert_within(format!("halves, {}", x.layout()), &got, &expected, &bounds);
}

fn losses_on<T: Float>(device: &Device, x: &Ragged<T>, targets: &Ragged<u32>) -> Ragged<T> {
    let (x, targets) = (upload(device, x), upload(device, targets));
    download(&x.cross_entropy(&targets).unwrap())
}

fn layouts() -> Vec<Layout> {
    vec![
        Layout::from_lengths([]).unwrap(),
        Layout::from_lengths([1, 7, 300, 2, 9000]).unwrap(),
        shapes(
            2,
            &[
                &[3, 5],
                &[0, 4],
                &[1, 1],
                &[700, 3],
                &[2, 1000],
                &[5, 10_000],
            ],
        ),
        shapes(3, &[&[2, 3, 5], &[1, 0, 4], &[4, 4, 33]]),
        Layout::from_shapes(
            2,
            (0..2000).map(|i| Shape::new(&[i % 4, 1 + i % 5]).unwrap()),
        )
        .unwrap(),
    ]
}

fn losses(device: &Device) {
    // Equal scores give exactly the logarithm of their number, and a target of probability 1 has a loss of 0.
    let x = one(&[2, 4], &[0.0f32, 0.0, 0.0, 0.0, 500.0, 0.0, 0.0, 0.0]);
    let targets = rows([&[2u32, 0][..]]);
    let expected = rows([&[4f32.ln(), 0.0][..]]);
    let got = losses_on(device, &x, &targets);
    assert_exact("four classes", &got, &expected);
    let got = losses_on(device, &x.cast(f16::from_f32).unwrap(), &targets);
    assert_exact("halves", &got, &expected.cast(f16::from_f32).unwrap());
    // The logarithm is not rounded to f16 before the score is subtracted.
    let x = one(&[1, 3], &[500.0, 499.0, 499.0].map(f16::from_f32));
    let got = losses_on(device, &x, &rows([&[0u32][..]]));
    let loss = (1.0 + 2.0 * (-1f64).exp()).ln();
    assert!((got.values()[0].as_f64() - loss).abs() < 4e-4, "{got}");
    for layout in layouts() {
        for size in [1.0, 30.0] {
            let (x, targets) = scores(&layout, size);
            check_losses(device, &x, &targets);
            check_half_losses(device, &x.cast(f16::from_f32).unwrap(), &targets);
        }
    }
}

fn large_scores(device: &Device) {
    for size in [1e3, 1e30] {
        let (x, targets) = scores(&shapes(2, &[&[5, 7], &[3, 300]]), size);
        check_losses(device, &x, &targets);
    }
    let (x, targets) = scores(&shapes(2, &[&[5, 7], &[3, 300]]), 5e4);
    check_half_losses(device, &x.cast(f16::from_f32).unwrap(), &targets);
}

/// The logarithm of a sum is not lost beside large scores, nor beside 1.
fn equal_scores(device: &Device) {
    for size in [1e5f32, 1e8, -1e8, 1e30] {
        for n in [2, 300, 9000] {
            let x = one(&[2, n], &vec![size; 2 * n]);
            check_losses(device, &x, &rows([&[0u32, n as u32 - 1][..]]));
        }
    }
    let x = one(
        &[4, 2],
        &[8.0f32, 0.0, 100_008.0, 100_000.0, 20.0, 0.0, 0.0, 80.0],
    );
    check_losses(device, &x, &rows([&[0u32, 0, 0, 1][..]]));
    let half = x.cast(f16::from_f32).unwrap();
    let few = one(
        &[2, 2],
        &[
            half.values()[0],
            half.values()[1],
            half.values()[4],
            half.values()[5],
        ],
    );
    check_half_losses(device, &few, &rows([&[0u32, 0][..]]));
}

/// Targets out of range, rows without scores, NaN and infinity: only their rows are affected.
fn special_scores(device: &Device) {
    special(device, |x| x);
    special(device, f16::from_f32);
}

fn special<T: Comparable + Float>(device: &Device, of_type: fn(f32) -> T) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let values = vec![
        0.0, 0.0, // A target out of range.
        0.0, 0.0, // A good one.
        nan, 0.0, // NaN beside the target.
        -inf, 0.0, // A target that is impossible.
        0.0, -inf, // An impossible class beside the target.
        inf, 0.0, // ∞ beside the target.
    ];
    let x = Ragged::from_shapes(values, 2, [[6, 2], [3, 0]].map(|s| Shape::new(&s).unwrap()));
    let targets = rows([&[2u32, 1, 1, 0, 0, 1][..], &[0, 1, u32::MAX]]);
    let x = x.unwrap().cast(of_type).unwrap();
    let log = 2f32.ln();
    let expected = rows([&[nan, log, nan, inf, 0.0, inf][..], &[nan, nan, nan]]);
    let expected = expected.cast(of_type).unwrap();
    assert_exact("special", &losses_on(device, &x, &targets), &expected);
}

fn losses_of_views(device: &Device) {
    for layout in layouts() {
        let (x, targets) = scores(&layout, 3.0);
        views(device, &x, &targets);
        views(device, &x.cast(f16::from_f32).unwrap(), &targets);
    }
}

fn views<T: Comparable + Float>(device: &Device, x: &Ragged<T>, targets: &Ragged<u32>) {
    let (x, targets) = (upload(device, x), upload(device, targets));
    for begin in (1..x.len()).take(3) {
        let some = begin..x.len();
        let (x, targets) = (
            x.elements(some.clone()).unwrap(),
            targets.elements(some).unwrap(),
        );
        let alone = losses_on(device, &download(&x), &download(&targets));
        let got = download(&x.cross_entropy(&targets).unwrap());
        assert_identical(format!("from {begin}"), &got, &alone);
    }
}

/// Every element has the same bits alone.
fn losses_alone(device: &Device) {
    for layout in &layouts()[..4] {
        let (x, targets) = scores(layout, 3.0);
        alone(device, &x, &targets);
        alone(device, &x.cast(f16::from_f32).unwrap(), &targets);
    }
}

fn alone<T: Float>(device: &Device, x: &Ragged<T>, targets: &Ragged<u32>) {
    let (x, targets) = (upload(device, x), upload(device, targets));
    let all = download(&x.cross_entropy(&targets).unwrap());
    for e in 0..x.len() {
        let x = x.elements(e..e + 1).unwrap();
        let targets = targets.elements(e..e + 1).unwrap();
        let alone = download(&x.cross_entropy(&targets).unwrap());
        assert_eq!(alone.row(0), all.row(e));
    }
}

fn losses_refused(device: &Device) {
    fn refused<T: Scalar>(result: Result<Tensor<T>>, kind: &str, text: &str) {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
    let (x, _) = scores(&shapes(2, &[&[3, 5], &[2, 2]]), 1.0);
    let x = upload(device, &x);
    let targets = |layout: Layout| upload(device, &Ragged::full(&layout, 0u32).unwrap());
    let vectors =
        |lengths: &[usize]| targets(Layout::from_lengths(lengths.iter().copied()).unwrap());
    refused(
        x.cross_entropy(&vectors(&[3])),
        "batch_size",
        "cross_entropy: expected batches of equal size, got 2 elements and 1",
    );
    refused(
        x.cross_entropy(&vectors(&[3, 3])),
        "shape",
        "cross_entropy: element 1: expected the shape [2], a target for each row, got (3)",
    );
    refused(
        x.cross_entropy(&targets(shapes(2, &[&[3, 1], &[2, 1]]))),
        "rank",
        "cross_entropy: expected a rank of 1 for the targets of rows, got 2",
    );
    let vector = upload(device, &rows([&[1.0f32, 2.0][..]]));
    refused(
        vector.cross_entropy(&vectors(&[2])),
        "shape",
        "cross_entropy: element 0: expected the shape [1], a target for each row, got (2)",
    );
    // All handles of the CPU are one device.
    if device.is_gpu() {
        let other = Device::cpu().upload(&rows([&[0u32][..]])).unwrap();
        assert_eq!(
            vector.cross_entropy(&other).unwrap_err().kind(),
            "device_mismatch"
        );
    }
}
