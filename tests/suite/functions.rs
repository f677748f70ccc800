//! All table functions of two and three operands against independent references: with ambient shapes, pairings, and
//! operands spread over elements.

mod bounds;
mod spread;
mod three;

use libtest_mimic::Trial;
use vsla::scalar::Factor;
use vsla::{Device, Layout, Paired, Pairing, Ragged, Result, Shape, Tensor, batch::Spread, f16};

use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::{download, one, pair_list, pick, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![bench.host("every_row_is_tested", every_row_is_tested)];
    trials.extend(bench.all_on_each_device(&[
        ("missing_entries", missing_entries),
        ("in_every_shape", in_every_shape),
        ("of_one_layout", of_one_layout),
        ("pairings", pairings),
        ("alone", alone),
        ("nan_stays_within_its_element", contained),
        ("integers_by_zero", by_zero),
        ("of_empty_batches", of_empty_batches),
    ]));
    trials.extend(bounds::tests(bench));
    trials.extend(spread::tests(bench));
    trials.extend(three::tests(bench));
    trials
}

/// An element type, with reference functions that compute in f64.
pub trait Value: Factor {
    /// One of a few small integers.
    fn small(i: i32) -> Self;
    fn wide(self) -> f64;
    /// The result for two values and, for floats, the allowed error.
    fn reference(name: &str, x: Self, y: Self) -> f64;
    fn is_float() -> bool {
        false
    }
    /// Functions of floats only.
    fn floats(_: &str, _: &Tensor<Self>, _: Spread<'_, Self>) -> Option<Result<Tensor<Self>>> {
        None
    }
    fn paired_floats(_: &str, _: &Paired<'_, Self>) -> Option<Result<Tensor<Self>>> {
        None
    }
    fn spread_floats(
        _: &str,
        _: Spread<'_, Self>,
        _: &Tensor<Self>,
    ) -> Option<Result<Tensor<Self>>> {
        None
    }
}

fn compared<T: PartialOrd>(name: &str, x: T, y: T) -> Option<f64> {
    let mask = match name {
        "equal" => x == y,
        "not_equal" => x != y,
        "less" => x < y,
        "less_equal" => x <= y,
        "greater" => x > y,
        "greater_equal" => x >= y,
        _ => return None,
    };
    Some(f64::from(u8::from(mask)))
}

/// Reference functions of floats, in f64.
pub fn of_floats(name: &str, x: f64, y: f64) -> f64 {
    if let Some(mask) = compared(name, x, y) {
        return mask;
    }
    let nan = x.is_nan() || y.is_nan();
    match name {
        "add" => x + y,
        "sub" => x - y,
        "hadamard" => x * y,
        "div" => x / y,
        "remainder" => x % y,
        "pow" => libm::pow(x, y),
        "atan2" => libm::atan2(x, y),
        "maximum" | "minimum" if nan => f64::NAN,
        // Of −0 and +0, +0 is the larger one.
        "maximum" if x == y => {
            if x.is_sign_negative() {
                y
            } else {
                x
            }
        }
        "minimum" if x == y => {
            if x.is_sign_negative() {
                x
            } else {
                y
            }
        }
        "maximum" => x.max(y),
        "minimum" => x.min(y),
        _ => panic!("{name}"),
    }
}

/// One function for each treatment of missing entries, and for masks. The others differ only in an expression, and a
/// software GPU takes a second to compile each kernel.
fn telling<T: Value>() -> impl Iterator<Item = &'static str> {
    let some = |name: &&str| T::is_float() || ["sub", "div", "maximum", "equal"].contains(name);
    ["sub", "div", "maximum", "equal", "pow"]
        .into_iter()
        .filter(some)
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Value for $t {
            fn small(i: i32) -> $t {
                i as $t
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn reference(name: &str, x: $t, y: $t) -> f64 {
                if let Some(mask) = compared(name, x, y) {
                    return mask;
                }
                f64::from(match name {
                    "add" => x.wrapping_add(y),
                    "sub" => x.wrapping_sub(y),
                    "hadamard" => x.wrapping_mul(y),
                    "div" | "remainder" if y == 0 => 0,
                    "div" => x.wrapping_div(y),
                    "remainder" => x.wrapping_rem(y),
                    "maximum" => x.max(y),
                    "minimum" => x.min(y),
                    _ => panic!("{name}"),
                })
            }
        }
    )*};
}
integers!(i32 u32);

macro_rules! floats {
    ($($t:ty: $small:expr, $wide:expr;)*) => {$(
        impl Value for $t {
            fn small(i: i32) -> $t {
                $small(i)
            }
            fn wide(self) -> f64 {
                $wide(self)
            }
            fn reference(name: &str, x: $t, y: $t) -> f64 {
                of_floats(name, $wide(x), $wide(y))
            }
            fn is_float() -> bool {
                true
            }
            fn floats(name: &str, x: &Tensor<$t>, y: Spread<'_, $t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(x.pow(y)),
                    "atan2" => Some(x.atan2(y)),
                    _ => None,
                }
            }
            fn paired_floats(name: &str, pair: &Paired<'_, $t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(pair.pow()),
                    "atan2" => Some(pair.atan2()),
                    _ => None,
                }
            }
            fn spread_floats(name: &str, x: Spread<'_, $t>, y: &Tensor<$t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(x.pow(y)),
                    "atan2" => Some(x.atan2(y)),
                    _ => None,
                }
            }
        }
    )*};
}
floats! {
    f32: |i| i as f32, f64::from;
    f16: |i| f16::from_f32(i as f32), f64::from;
}

pub const NAMES: [&str; 15] = [
    "add",
    "sub",
    "hadamard",
    "div",
    "remainder",
    "pow",
    "atan2",
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
];

/// The functions that a type has.
fn names<T: Value>() -> impl Iterator<Item = &'static str> {
    let has = |name: &&str| T::is_float() || !["pow", "atan2"].contains(name);
    NAMES.into_iter().filter(has)
}

/// Calls the method of that name with these arguments.
macro_rules! all_names {
    ($name:expr, $x:ident $args:tt, $floats:expr) => {
        all_names!(@ $name, $x $args, $floats;
            add sub hadamard div remainder maximum minimum;
            equal not_equal less less_equal greater greater_equal)
    };
    (@ $name:expr, $x:ident $args:tt, $floats:expr; $($of:ident)*; $($mask:ident)*) => {
        match $name {
            $(stringify!($of) => wide(&download(&all_names!(@@ $x $of $args)?)),)*
            $(stringify!($mask) => download(&all_names!(@@ $x $mask $args)?).cast(f64::from).unwrap(),)*
            _ => wide(&download(&$floats.unwrap()?)),
        }
    };
    (@@ $x:ident $of:ident ($($y:ident)?)) => { $x.$of($($y)?) };
}

fn wide<T: Value>(batch: &Ragged<T>) -> Ragged<f64> {
    batch.cast(T::wide).unwrap()
}

/// Applies the function of that name to a tensor and an operand.
pub fn called<T: Value>(name: &str, x: &Tensor<T>, y: Spread<'_, T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, x(y), T::floats(name, x, y)))
}

/// The same, with the spread operand on the left.
pub fn called_spread<T: Value>(name: &str, x: Spread<'_, T>, y: &Tensor<T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, x(y), T::spread_floats(name, x, y)))
}

fn called_paired<T: Value>(name: &str, pair: &Paired<'_, T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, pair(), T::paired_floats(name, pair)))
}

/// Every index of a box, in order, and its position in another box.
pub fn places(shape: Shape, other: Shape) -> impl Iterator<Item = Option<usize>> {
    let extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
    let others: Vec<usize> = other.extents().iter().map(|&e| e as usize).collect();
    (0..extents.iter().product()).map(move |i| {
        let (mut rest, mut at, mut stride, mut inside) = (i, 0, 1, true);
        for axis in (0..extents.len()).rev() {
            let index = rest % extents[axis];
            rest /= extents[axis];
            inside &= index < others[axis];
            at += index * stride;
            stride *= others[axis];
        }
        inside.then_some(at)
    })
}

/// The result of a function of two values, either of which may be missing.
fn reference<T: Value>(name: &str, x: Option<T>, y: Option<T>) -> f64 {
    let zero = T::small(0);
    match name {
        "add" | "sub" | "equal" | "not_equal" | "less" | "less_equal" | "greater"
        | "greater_equal" => T::reference(name, x.unwrap_or(zero), y.unwrap_or(zero)),
        "maximum" | "minimum" => match (x, y) {
            (Some(x), Some(y)) => T::reference(name, x, y),
            (x, y) => x.or(y).unwrap_or(zero).wide(),
        },
        _ => match (x, y) {
            (Some(x), Some(y)) => T::reference(name, x, y),
            _ => 0.0,
        },
    }
}

/// The results for two batches, pair by pair in ambient boxes.
fn ambient<T: Value>(
    name: &str,
    a: &Ragged<T>,
    b: &Ragged<T>,
    pairs: &[(usize, usize)],
) -> Ragged<f64> {
    let mut shapes = Vec::new();
    let mut values = Vec::new();
    for &(i, j) in pairs {
        let shape = a.shape(i).ambient(&b.shape(j)).unwrap();
        let both = places(shape, a.shape(i)).zip(places(shape, b.shape(j)));
        values.extend(
            both.map(|(x, y)| reference(name, x.map(|x| a.row(i)[x]), y.map(|y| b.row(j)[y]))),
        );
        shapes.push(shape);
    }
    Ragged::from_shapes(values, a.layout().rank(), shapes).unwrap()
}

fn elementwise(n: usize) -> Vec<(usize, usize)> {
    (0..n).map(|i| (i, i)).collect()
}

/// Asserts equal layouts and values: exactly, except for float functions that round.
#[track_caller]
pub fn assert_near<T: Value>(name: &str, got: &Ragged<f64>, expected: &Ragged<f64>) {
    assert_eq!(got.layout(), expected.layout(), "{name} of {}", T::DTYPE);
    let slack = match name {
        "div" | "pow" | "atan2" if T::is_float() => {
            2f64.powi(if T::DTYPE.size() == 2 { -9 } else { -20 })
        }
        _ => 0.0,
    };
    for (i, (&got, &expected)) in got.values().iter().zip(expected.values()).enumerate() {
        let same = got == expected
            || got.is_nan() && expected.is_nan()
            || (got - expected).abs() <= slack * expected.abs();
        assert!(
            same,
            "{name} of {}, value {i}: {got}, expected {expected}",
            T::DTYPE
        );
    }
}

/// Small integers for a layout.
pub fn drawn<T: Value>(layout: &Layout, seed: &str) -> Ragged<T> {
    let mut rng = rng(seed);
    Ragged::from_fn(layout, |_, _| T::small(rng.i32(-5..=5))).unwrap()
}

/// The batch as a view behind an element of this many values, so that it begins at that offset in its buffer.
pub fn displaced<T: Value>(device: &Device, batch: &Ragged<T>, by: usize) -> Tensor<T> {
    let rank = batch.layout().rank();
    let mut extents = vec![1; rank];
    extents[rank - 1] = by;
    let first = Shape::new(&extents).unwrap();
    let shapes: Vec<Shape> = std::iter::once(first)
        .chain(batch.layout().shapes())
        .collect();
    let values: Vec<T> = (0..by)
        .map(|_| T::small(3))
        .chain(batch.values().iter().copied())
        .collect();
    let whole = upload(device, &Ragged::from_shapes(values, rank, shapes).unwrap());
    whole.elements(1..1 + batch.len()).unwrap()
}

pub fn layout(rank: usize, shapes: &[&[usize]]) -> Layout {
    Layout::from_shapes(rank, shapes.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

macro_rules! of_every_type {
    ($f:ident($($x:expr),*)) => {{
        $f::<f32>($($x),*);
        $f::<f16>($($x),*);
        $f::<i32>($($x),*);
        $f::<u32>($($x),*);
    }};
}
use of_every_type;

fn every_row_is_tested() {
    let table: std::collections::BTreeSet<&str> =
        vsla::scalar::functions().map(|row| row.name).collect();
    let here = NAMES.into_iter().chain(["mul_add", "if_else"]);
    // `complex` tests these.
    let here = here.chain(["complex", "polar"]);
    assert_eq!(table, here.collect());
}

fn missing_entries(device: &Device) {
    let a = upload(device, &one(&[3, 2], &[1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0]));
    let b = upload(device, &one(&[1, 3], &[2.0f32, 4.0, -3.0]));
    for (name, expected) in [
        ("div", [0.5, -0.5, 0., 0., 0., 0., 0., 0., 0.]),
        ("maximum", [2., 4., -3., 3., -4., 0., 5., -6., 0.]),
        ("minimum", [1., -2., -3., 3., -4., 0., 5., -6., 0.]),
        ("equal", [0., 0., 0., 0., 0., 1., 0., 0., 1.]),
        ("less", [1., 1., 0., 0., 1., 0., 0., 1., 0.]),
    ] {
        let got = called(name, &a, (&b).into()).unwrap();
        assert_eq!(got.values(), expected, "{name}");
        assert_eq!(got.shape(0), Shape::new(&[3, 3]).unwrap());
    }
    // Values without a partner are not read.
    let nan = upload(device, &one(&[2], &[1.0f32, f32::NAN]));
    let b = upload(device, &one(&[1], &[2.0f32]));
    assert_eq!(
        called("div", &nan, (&b).into()).unwrap().values(),
        [0.5, 0.0]
    );
    assert_eq!(
        called("div", &b, (&nan).into()).unwrap().values(),
        [2.0, 0.0]
    );
    assert!(called("maximum", &nan, (&b).into()).unwrap().values()[1].is_nan());
}

/// Different layouts: vectors with and without tables, matrices, boxes, and merged axes.
pub fn crossing() -> Vec<[Layout; 2]> {
    let vectors = |lengths: &[usize]| Layout::from_lengths(lengths.to_vec()).unwrap();
    let many: Vec<usize> = (0..900).map(|i| i * 7 % 5).collect();
    let others: Vec<usize> = (0..900).map(|i| i * 5 % 6).collect();
    let mut deep = [[1; vsla::batch::MAX_RANK]; 2];
    (deep[0][0], deep[0][7], deep[1][3], deep[1][7]) = (3, 2, 2, 5);
    vec![
        [
            vectors(&[3, 0, 2500, 5, 1, 70, 9]),
            vectors(&[5, 4, 2497, 0, 1, 33, 9]),
        ],
        [vectors(&many), vectors(&others)],
        [
            layout(2, &[&[3, 5], &[0, 4], &[40, 33], &[1, 1]]),
            layout(2, &[&[7, 2], &[2, 0], &[33, 40], &[1, 1]]),
        ],
        [
            layout(3, &[&[2, 3, 4], &[1, 5, 2], &[0, 0, 0]]),
            layout(3, &[&[3, 1, 4], &[4, 2, 3], &[2, 1, 1]]),
        ],
        [
            layout(3, &[&[2, 3, 4], &[5, 3, 2]]),
            layout(3, &[&[3, 3, 4], &[1, 3, 2]]),
        ],
        [layout(8, &[&deep[0]]), layout(8, &[&deep[1]])],
    ]
}

fn in_every_shape(device: &Device) {
    of_every_type!(shapes_of(device));
}

fn shapes_of<T: Value>(device: &Device) {
    for (k, [left, right]) in crossing().iter().enumerate() {
        let (a, b) = (drawn::<T>(left, "left"), drawn::<T>(right, "right"));
        let (x, y) = (
            displaced(device, &a, k % 4),
            displaced(device, &b, 3 * k % 5),
        );
        for name in telling::<T>() {
            let expected = ambient(name, &a, &b, &elementwise(a.len()));
            assert_near::<T>(name, &called(name, &x, (&y).into()).unwrap(), &expected);
        }
    }
}

fn of_one_layout(device: &Device) {
    of_every_type!(flat_of(device));
}

fn flat_of<T: Value>(device: &Device) {
    for length in [1, 2, 3, 4, 5, 7, 8, 9, 2047, 2049, 5003] {
        let layout = Layout::from_lengths([length / 2, 0, length - length / 2]).unwrap();
        let (a, b) = (drawn::<T>(&layout, "left"), drawn::<T>(&layout, "right"));
        for by in 0..5 {
            let (x, y) = (displaced(device, &a, by), displaced(device, &b, 3 * by % 7));
            for name in names::<T>() {
                let expected = ambient(name, &a, &b, &elementwise(3));
                assert_near::<T>(name, &called(name, &x, (&y).into()).unwrap(), &expected);
            }
            if length > 9 && by > 1 {
                break;
            }
        }
    }
}

fn pairings(device: &Device) {
    of_every_type!(pairings_of(device));
}

fn pairings_of<T: Value>(device: &Device) {
    let a = drawn::<T>(&layout(2, &[&[3, 2]]), "one");
    let b = drawn::<T>(&layout(2, &[&[2, 4], &[3, 2], &[0, 1]]), "three");
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(2, 0), (1, 0), (2, 0)];
    let listed = list.map(|(i, j)| (i as usize, j as usize));
    for name in telling::<T>() {
        let pairs = [(0, 0), (0, 1), (0, 2)];
        for pairing in [Pairing::OneToAll, Pairing::AllToAll] {
            let got = called_paired(name, &x.pair(&y, pairing).unwrap()).unwrap();
            assert_near::<T>(name, &got, &ambient(name, &a, &b, &pairs));
        }
        let got =
            called_paired(name, &y.pair(&x, Pairing::List(&pair_list(list))).unwrap()).unwrap();
        assert_near::<T>(name, &got, &ambient(name, &b, &a, &listed));
        let same = y.pair(&y, Pairing::Elementwise).unwrap();
        let got = called_paired(name, &same).unwrap();
        assert_near::<T>(name, &got, &ambient(name, &b, &b, &elementwise(3)));
    }
}

/// Bits of f64 that distinguish results; all NaNs are equal.
pub fn bits(batch: &Ragged<f64>, element: usize) -> Vec<u64> {
    let bit = |&x: &f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    batch.row(element).iter().map(bit).collect()
}

/// Whether two elements have equal bits.
#[track_caller]
pub fn assert_same(what: &str, x: &Ragged<f64>, y: &Ragged<f64>, i: usize, j: usize) {
    let (left, right) = (bits(x, i), bits(y, j));
    let differs = left.iter().zip(&right).position(|(x, y)| x != y);
    if let Some(at) = differs {
        panic!("{what}: value {at}: {} and {}", x.row(i)[at], y.row(j)[at]);
    }
    assert_eq!(left.len(), right.len(), "{what}");
}

/// An element has the same bits in a batch as alone, whichever kernel computes it.
fn alone(device: &Device) {
    let lengths = [[30, 1030, 5], [30, 1000, 9]];
    let [left, right] = lengths.map(|lengths| Layout::from_lengths(lengths).unwrap());
    let mut rng = rng("alone");
    let mut value = || (rng.f32() - 0.5) * 8.0;
    let a = Ragged::from_fn(&left, |_, _| value()).unwrap();
    let b = Ragged::from_fn(&right, |_, _| value()).unwrap();
    let (x, y) = (upload(device, &a), upload(device, &b));
    for name in telling::<f32>() {
        let all = called(name, &x, (&y).into()).unwrap();
        for element in 0..3 {
            let x = upload(device, &pick(&a, &[element]));
            let y = upload(device, &pick(&b, &[element]));
            let single = called(name, &x, (&y).into()).unwrap();
            assert_eq!(
                bits(&all, element),
                bits(&single, 0),
                "{name}, element {element}"
            );
        }
    }
}

fn contained(device: &Device) {
    let batch = |poison: f32| {
        Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![poison; 5], vec![4.0, 5.0]]).unwrap()
    };
    let other = upload(
        device,
        &Ragged::from_rows([vec![2.0f32, 3.0], vec![1.0; 5], vec![7.0; 3]]).unwrap(),
    );
    for poison in [f32::NAN, f32::INFINITY] {
        let (clean, bad) = (upload(device, &batch(1.0)), upload(device, &batch(poison)));
        for name in telling::<f32>() {
            let [clean, bad] = [&clean, &bad].map(|x| called(name, x, (&other).into()).unwrap());
            for element in [0, 2] {
                assert_eq!(bits(&clean, element), bits(&bad, element), "{name}");
            }
        }
    }
}

fn by_zero(device: &Device) {
    let x = upload(device, &one(&[5], &[7, -7, i32::MIN, i32::MIN, 0]));
    let y = upload(device, &one(&[5], &[0, 2, -1, 0, 0]));
    assert_eq!(
        download(&x.div(&y).unwrap()).row(0),
        [0, -3, i32::MIN, 0, 0]
    );
    assert_eq!(download(&x.remainder(&y).unwrap()).row(0), [0, -1, 0, 0, 0]);
    let x = upload(device, &one(&[3], &[u32::MAX, 5, 9]));
    let y = upload(device, &one(&[3], &[2u32, 0, 10]));
    assert_eq!(download(&x.div(&y).unwrap()).row(0), [u32::MAX / 2, 0, 0]);
    assert_eq!(download(&x.remainder(&y).unwrap()).row(0), [1, 0, 9]);
}

fn of_empty_batches(device: &Device) {
    let none = upload(device, &Ragged::from_rows(Vec::<Vec<f32>>::new()).unwrap());
    let empty = upload(
        device,
        &Ragged::from_rows(vec![Vec::<f32>::new(); 3]).unwrap(),
    );
    let ones = upload(
        device,
        &Ragged::from_rows([[1.0f32], [2.0], [3.0]]).unwrap(),
    );
    let vector = upload(device, &Ragged::from_rows([Vec::<f32>::new()]).unwrap());
    for name in telling::<f32>() {
        assert!(called(name, &none, (&none).into()).unwrap().is_empty());
        assert!(called(name, &none, none.each()).unwrap().is_empty());
        for operand in [(&empty).into(), ones.each(), vector.along(0)] {
            assert_eq!(
                called(name, &empty, operand).unwrap().to_vecs().unwrap(),
                vec![Vec::<f64>::new(); 3]
            );
        }
    }
}
