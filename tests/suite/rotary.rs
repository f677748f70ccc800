//! Rotary position embeddings, against angles in f64.

use libtest_mimic::Trial;
use vsla::program::Program;
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Shape, Tensor, f16};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("angles", angles),
        ("far_positions", far_positions),
        ("positions_on_the_device", positions_on_the_device),
        ("distances", distances),
        ("adjoint", adjoint),
        ("many_elements", many_elements),
        ("views_begin_anywhere", views_begin_anywhere),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn layout(rows: &[usize], heads: usize, d: usize, axis: bool) -> Layout {
    let shapes = rows.iter().map(|&n| match axis {
        true => Shape::new(&[n, heads, d]).unwrap(),
        false => Shape::new(&[n, heads * d]).unwrap(),
    });
    Layout::from_shapes(if axis { 3 } else { 2 }, shapes).unwrap()
}

struct Case {
    heads: usize,
    d: usize,
    base: f64,
    start: usize,
    /// Positions on the device: of these rows, the first one is left out, so that views are tested, too.
    starts: Option<[Vec<u32>; 2]>,
    neighbours: bool,
}

fn check<T: Float + Into<f32>>(
    device: &Device,
    x: &Ragged<T>,
    case: &Case,
    half_ulp: fn(f64) -> f64,
) {
    let of = upload(device, x);
    let mut turned = of.rotary().base(case.base).start(case.start);
    if x.layout().rank() == 2 {
        turned = turned.heads(case.heads);
    }
    if case.neighbours {
        turned = turned.neighbours();
    }
    let uploaded = case.starts.as_ref().map(|rows| {
        let both = Ragged::from_rows(rows).unwrap();
        upload(device, &both).elements(1..2).unwrap()
    });
    if let Some(starts) = &uploaded {
        turned = turned.starts(starts);
    }
    let got = download(&turned.run().unwrap());
    assert_eq!(got.layout(), x.layout());
    let roundings = if case.starts.is_some() { 12.0 } else { 3.0 };
    let (width, d) = (case.heads * case.d, case.d);
    for element in 0..x.len() {
        let start = case.starts.as_ref().map_or(0, |[_, of]| of[element]) as usize + case.start;
        for (i, y) in got.row(element).iter().enumerate() {
            let (row, column) = (i / width, i % d);
            let (pair, second, apart) = match case.neighbours {
                true => (column / 2, column % 2 == 1, 1),
                false => (column % (d / 2), column >= d / 2, d / 2),
            };
            let angle = (start + row) as f64 * case.base.powf(-2.0 * pair as f64 / d as f64);
            let value = |i: usize| f64::from(x.row(element)[i].into());
            let expected = match second {
                true => value(i) * angle.cos() + value(i - apart) * angle.sin(),
                false => value(i) * angle.cos() - value(i + apart) * angle.sin(),
            };
            let other = if second { i - apart } else { i + apart };
            let bound = roundings * 2f64.powi(-24) * (value(i).abs() + value(other).abs());
            let off = (f64::from((*y).into()) - expected).abs();
            assert!(
                off <= bound + half_ulp(expected),
                "value {i} of element {element}: {y}"
            );
        }
    }
}

fn random(layout: &Layout) -> Ragged<f32> {
    let mut rng = rng("rotary");
    Ragged::from_fn(layout, |_, _| rng.f32() * 2.0 - 1.0).unwrap()
}

fn angles(device: &Device) {
    for (heads, d) in [(1, 2), (3, 4), (2, 6), (4, 64)] {
        for (axis, neighbours) in [(false, false), (true, false), (false, true), (true, true)] {
            let x = random(&layout(&[3, 0, 1, 40, 7], heads, d, axis));
            let case = Case {
                heads,
                d,
                base: 10_000.0,
                start: 5 * usize::from(axis),
                starts: None,
                neighbours,
            };
            check(device, &x, &case, |_| 0.0);
            let halves = x.cast(f16::from_f32).unwrap();
            check(device, &halves, &case, |y| {
                y.abs() * 2f64.powi(-11) + 2f64.powi(-25)
            });
        }
    }
}

/// Cosines and sines are equally accurate at all positions.
fn far_positions(device: &Device) {
    let x = random(&layout(&[3], 1, 8, false));
    for start in [1 << 20, 100_000_007] {
        let case = Case {
            heads: 1,
            d: 8,
            base: 500_000.0,
            start,
            starts: None,
            neighbours: false,
        };
        check(device, &x, &case, |_| 0.0);
    }
}

/// Positions of one byte, of all numbers of bytes, and across the ends of bytes within an element.
fn positions_on_the_device(device: &Device) {
    let starts = vec![0, 9, 255, 250, 70_000, (1 << 24) - 20, 1 << 26];
    for (start, neighbours, axis) in [(0, false, true), (7, true, false)] {
        let (heads, d) = (2, 6);
        let x = random(&layout(&[3, 0, 1, 40, 7, 50, 2], heads, d, axis));
        let case = Case {
            heads,
            d,
            base: 10_000.0,
            start,
            starts: Some([vec![77; 3], starts.clone()]),
            neighbours,
        };
        check(device, &x, &case, |_| 0.0);
        let halves = x.cast(f16::from_f32).unwrap();
        check(device, &halves, &case, |y| {
            y.abs() * 2f64.powi(-11) + 2f64.powi(-25)
        });
    }
}

/// Matrices that begin after a vector of any length, and thus at either half of a word.
fn views_begin_anywhere(device: &Device) {
    fn of_type<T: Float + Into<f32>>(device: &Device, of: fn(f32) -> T) {
        let matrices = layout(&[2, 1], 2, 4, false);
        for before in [1, 2, 5] {
            let lengths = Layout::from_lengths([before, 16, 8]).unwrap();
            let x = upload(device, &random(&lengths).cast(of).unwrap());
            let view = x.elements(1..3).unwrap().reshape(&matrices).unwrap();
            let copy = view.copy().unwrap();
            let [view, copy] = [view, copy].map(|x| download(&x.rotary().heads(2).run().unwrap()));
            assert!(view == copy, "behind {before}: {view} and {copy}");
        }
    }
    of_type(device, |x| x);
    of_type(device, f16::from_f32);
}

/// The product of a query and a key depends on their distance alone.
fn distances(device: &Device) {
    let one = random(&layout(&[1], 1, 32, false));
    let rows = layout(&[20], 1, 32, false);
    let x = Ragged::from_fn(&rows, |_, i| one.row(0)[i % 32]).unwrap();
    let turned = download(&upload(device, &x).rotary().run().unwrap());
    let row = |i: usize| &turned.row(0)[32 * i..][..32];
    let product =
        |i: usize, j: usize| -> f32 { row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum() };
    for distance in 0..10 {
        let first = product(0, distance);
        for i in 1..10 {
            assert!((product(i, i + distance) - first).abs() < 1e-5);
        }
    }
}

/// The gradient is the inverse rotation: applied to the rotated values, it gives the values.
fn adjoint(device: &Device) {
    let x = random(&layout(&[3, 0, 9], 2, 6, true));
    let starts = Ragged::from_rows([[3u32, 900, 70_000]]).unwrap();
    for on_device in [false, true] {
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let starts: Tensor<u32> = r.input()?;
            let mut turned = x.rotary().neighbours();
            if on_device {
                turned = turned.starts(&starts);
            }
            let y = turned.run()?;
            let slopes = r.gradients_from(&[(&y, &y)], &[&x])?;
            r.output(&slopes[0])
        });
        let plan = program.plan(&[x.layout(), starts.layout()]).unwrap();
        let got = plan.call_blocking(&[&x, &starts]).unwrap();
        let got: Ragged<f32> = got.get(0).unwrap();
        for (got, x) in got.values().iter().zip(x.values()) {
            assert!((got - x).abs() < 2e-6);
        }
    }
}

fn many_elements(device: &Device) {
    let rows: Vec<usize> = (0..3000).map(|i| i % 4).collect();
    let x = random(&layout(&rows, 1, 2, false));
    let case = Case {
        heads: 1,
        d: 2,
        base: 100.0,
        start: 0,
        starts: None,
        neighbours: false,
    };
    check(device, &x, &case, |_| 0.0);
}

fn refusals(device: &Device) {
    let of = |layout: &Layout| upload(device, &Ragged::<f32>::zeros(layout).unwrap());
    let x = of(&layout(&[2], 3, 4, false));
    let refused = |result: vsla::Result<Tensor<f32>>, text: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    refused(x.rotary().heads(5).run(), "divides 12");
    refused(x.rotary().heads(0).run(), "divides 12");
    refused(x.rotary().heads(4).run(), "even number");
    refused(x.rotary().base(-1.0).run(), "positive, finite base");
    refused(x.rotary().base(f64::NAN).run(), "positive, finite base");
    let starts = |rows: &[&[u32]]| upload(device, &Ragged::from_rows(rows).unwrap());
    let refused_starts = |rows: &[&[u32]]| {
        refused(
            x.rotary().starts(&starts(rows)).run(),
            "one vector of 1 first positions",
        );
    };
    refused_starts(&[&[1, 2]]);
    refused_starts(&[&[1], &[2]]);
    if device.is_gpu() {
        let elsewhere = Device::cpu().upload(&Ragged::from_rows([[1u32]]).unwrap());
        let error = x.rotary().starts(&elsewhere.unwrap()).run().unwrap_err();
        assert!(
            matches!(error, vsla::Error::DeviceMismatch { .. }),
            "{error}"
        );
    }
    let vectors = of(&Layout::from_lengths([4]).unwrap());
    refused(vectors.rotary().run(), "rank");
    let two = Layout::from_shapes(2, [[2, 4], [2, 6]].map(|s| Shape::new(&s).unwrap())).unwrap();
    refused(of(&two).rotary().run(), "element 1");
    let none = of(&Layout::from_shapes(2, []).unwrap());
    assert_eq!(none.rotary().run().unwrap().len(), 0);
}
