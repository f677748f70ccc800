//! Cells at other places: turns, blocks, copies and shifts.

use vsla::{Complex32, Device, Layout, Ragged, Shape, f16, scalar::Scalar};

use super::{
    assert_same, at, extents, made, numbered, on_views, refused as is_refused, shapes, sizes,
    within,
};
use crate::support::operation::{download, upload};

/// Runs a test with values of every size.
fn every_type(layout: &Layout, mut test: impl FnMut(&Values)) {
    let numbers = numbered(layout);
    test(&Values::U32(numbers.clone()));
    if layout.len() > 1000 {
        return;
    }
    let half = |i: u32| f16::from_bits((i.wrapping_mul(40_503) % 0x7bff) as u16 + 1);
    test(&Values::F16(numbers.cast(half).unwrap()));
    let complex = |i: u32| Complex32::new(i as f32, -0.5 - i as f32);
    test(&Values::C32(numbers.cast(complex).unwrap()));
    // A prime number of different bytes, which no width is a multiple of.
    test(&Values::U8(numbers.cast(|i: u32| (i % 251) as u8).unwrap()));
}

enum Values {
    U32(Ragged<u32>),
    F16(Ragged<f16>),
    C32(Ragged<Complex32>),
    U8(Ragged<u8>),
}

/// The body for whichever type the values have.
macro_rules! each {
    ($values:expr, $x:ident => $body:expr) => {
        match $values {
            Values::U32($x) => $body,
            Values::F16($x) => $body,
            Values::C32($x) => $body,
            Values::U8($x) => $body,
        }
    };
}

/// One quarter turn anticlockwise.
fn turned<T: Scalar>(x: &Ragged<T>) -> Ragged<T> {
    let sides = |e: usize| {
        let [rows, columns] = extents(x.layout(), e);
        [columns, rows]
    };
    made(x.len(), sides, |e, [i, j]| {
        at(x, e, [j, extents(x.layout(), e)[1] - 1 - i])
    })
}

pub fn rot90(device: &Device) {
    for layout in sizes() {
        every_type(&layout, |values| {
            each!(values, x => {
                for turns in [-5, -1, 0, 1, 2, 3, 4] {
                    on_views(device, &format!("{turns} turns"), x, |x, _| x.rot90(turns), |x, _| {
                        let quarters = (turns + 8) % 4;
                        (0..quarters).fold(x.clone(), |x, _| turned(&x))
                    });
                }
            });
        });
    }
}

pub fn anti_transpose(device: &Device) {
    for layout in sizes() {
        every_type(&layout, |values| {
            each!(values, x => {
                on_views(device, "reflected", x, |x, _| x.anti_transpose(), |x, _| {
                    let side = |e: usize| extents(x.layout(), e);
                    made(x.len(), |e| [side(e)[1], side(e)[0]], |e, [i, j]| {
                        let [rows, columns] = side(e);
                        at(x, e, [rows - 1 - j, columns - 1 - i])
                    })
                });
            });
        });
    }
}

/// Elements of three axes turn in the plane of the first two.
pub fn turns_of_volumes(device: &Device) {
    let volumes = [[2, 3, 4], [1, 5, 1], [3, 0, 2], [70, 41, 3]].map(|s| Shape::new(&s).unwrap());
    let layout = Layout::from_shapes(3, volumes).unwrap();
    let x = numbered(&layout);
    let values = x.layout().shapes().enumerate().flat_map(|(e, shape)| {
        let [m, n, d] = [0, 1, 2].map(|axis| shape.extents()[axis] as usize);
        let x = x.row(e);
        let place = move |i: usize, j: usize, k: usize| x[(j * n + (n - 1 - i)) * d + k];
        let columns = (0..n).flat_map(move |i| (0..m).map(move |j| (i, j)));
        columns.flat_map(move |(i, j)| (0..d).map(move |k| place(i, j, k)))
    });
    let values: Vec<u32> = values.collect();
    let turned = volumes.map(|shape| {
        let [m, n, d] = [0, 1, 2].map(|axis| shape.extents()[axis] as usize);
        Shape::new(&[n, m, d]).unwrap()
    });
    let expected = Ragged::from_parts(Layout::from_shapes(3, turned).unwrap(), values).unwrap();
    let on = upload(device, &x);
    assert_same("turned", &download(&on.rot90(1).unwrap()), &expected);
    let back = on.rot90(1).unwrap().rot90(3).unwrap();
    assert_same("and back", &download(&back), &x);
}

/// Pairs of numbers, one for each element.
fn pairs(elements: usize, from: usize) -> Vec<[usize; 2]> {
    let pair = |e: usize| [from + e * 5 % 3, from + e * 7 % 4];
    (0..elements).map(pair).collect()
}

/// Runs an operation with one pair for all images, and with one for each.
macro_rules! by_pairs {
    ($device:ident, $method:ident, $from:literal, $expected:expr) => {
        for layout in sizes() {
            every_type(&layout, |values| {
                each!(values, x => {
                    for pair in [[$from, $from], [1, 2], [3, 1], [2, 5]] {
                        let what = format!("{} by {pair:?}", stringify!($method));
                        on_views($device, &what, x, |x, _| x.$method(&[pair]), |x, _| {
                            $expected(x, &vec![pair; x.len()])
                        });
                    }
                    let each = pairs(x.len(), $from);
                    let what = format!("{} by pairs", stringify!($method));
                    on_views($device, &what, x, |x, first| x.$method(&each[first..]), |x, first| {
                        $expected(x, &each[first..])
                    });
                });
            });
        }
    };
}

fn enlarged<T: Scalar>(x: &Ragged<T>, by: &[[usize; 2]]) -> Ragged<T> {
    let sides = |e: usize| [0, 1].map(|axis| extents(x.layout(), e)[axis] * by[e][axis]);
    made(x.len(), sides, |e, [i, j]| {
        at(x, e, [i / by[e][0], j / by[e][1]])
    })
}

fn reduced<T: Scalar>(x: &Ragged<T>, by: &[[usize; 2]]) -> Ragged<T> {
    let sides = |e: usize| [0, 1].map(|axis| extents(x.layout(), e)[axis].div_ceil(by[e][axis]));
    made(x.len(), sides, |e, [i, j]| {
        at(x, e, [i * by[e][0], j * by[e][1]])
    })
}

fn repeated<T: Scalar>(x: &Ragged<T>, by: &[[usize; 2]]) -> Ragged<T> {
    let side = |e: usize| extents(x.layout(), e);
    let sides = |e: usize| [0, 1].map(|axis| side(e)[axis] * by[e][axis]);
    made(x.len(), sides, |e, [i, j]| {
        at(x, e, [i % side(e)[0], j % side(e)[1]])
    })
}

pub fn upscale(device: &Device) {
    by_pairs!(device, upscale, 1, enlarged);
}

pub fn downscale(device: &Device) {
    by_pairs!(device, downscale, 1, reduced);
}

pub fn tile(device: &Device) {
    by_pairs!(device, tile, 0, repeated);
}

fn shifted<T: Scalar>(x: &Ragged<T>, by: &[[i64; 2]], fill: T) -> Ragged<T> {
    let back = |k: usize, by: i64| (k as i64).saturating_sub(by);
    made(
        x.len(),
        |e| extents(x.layout(), e),
        |e, [i, j]| within(x, e, [back(i, by[e][0]), back(j, by[e][1])]).unwrap_or(fill),
    )
}

pub fn translate(device: &Device) {
    for layout in sizes() {
        every_type(&layout, |values| {
            each!(values, x => {
                // Any value of this type that is not zero.
                let fill = x.values()[x.values().len() / 2];
                for shift in [[0, 0], [1, 0], [0, -1], [-2, 3], [40, 0], [0, -600]] {
                    on_views(device, &format!("by {shift:?}"), x, |x, _| x.translate(&[shift], fill), |x, _| {
                        shifted(x, &vec![shift; x.len()], fill)
                    });
                }
                let each: Vec<_> = (0..x.len() as i64).map(|e| [e * 3 % 5 - 2, e * 5 % 7 - 3]).collect();
                on_views(device, "by pairs", x, |x, first| x.translate(&each[first..], fill), |x, first| {
                    shifted(x, &each[first..], fill)
                });
            });
        });
    }
}

/// Numbers beyond 32 bits.
pub fn far_away(device: &Device) {
    let x = numbered(&shapes(&[[2, 3], [0, 4]]));
    let on = upload(device, &x);
    for far in [1i64 << 31, 1 << 32, (1 << 32) + 1, i64::MAX] {
        for shift in [[far, 0], [0, far], [-far, 0], [0, -far], [i64::MIN, far]] {
            let got = download(&on.translate(&[shift], 9).unwrap());
            assert_same(&format!("by {shift:?}"), &got, &shifted(&x, &[shift; 2], 9));
        }
        let far = far as usize;
        let got = download(&on.downscale(&[[far, 1]]).unwrap());
        assert_same("reduced", &got, &reduced(&x, &[[far, 1]; 2]));
        let none = on.elements(1..2).unwrap();
        let error = on.upscale(&[[far, 1]]).unwrap_err();
        assert_eq!((error.kind(), error.element()), ("size_overflow", Some(0)));
        // No rows stay no rows.
        assert_eq!(none.upscale(&[[far, 1]]).unwrap().layout(), none.layout());
        assert_eq!(none.tile(&[[far, 1]]).unwrap().layout(), none.layout());
    }
}

pub fn refused(device: &Device) {
    let x = upload(device, &numbered(&shapes(&[[2, 3], [1, 1], [2, 2]])));
    is_refused(
        x.upscale(&[[1, 1], [2, 0], [0, 1]]),
        "argument",
        Some(1),
        "upscale: element 1: expected factors of 1 or more, got [2, 0]",
    );
    is_refused(
        x.downscale(&[[0, 1]]),
        "argument",
        None,
        "downscale: expected factors of 1 or more, got [0, 1]",
    );
    is_refused(
        x.tile(&[[1, 1]; 2]),
        "element_count",
        None,
        "tile: expected 3 elements, got 2",
    );
    is_refused(
        x.translate(&[], 0),
        "element_count",
        None,
        "translate: expected 3 elements, got 0",
    );
    let vectors = upload(device, &Ragged::from_rows([[1u32, 2]]).unwrap());
    is_refused(
        vectors.upscale(&[[1, 1]]),
        "rank",
        None,
        "upscale: expected a rank of 2, got 1",
    );
    is_refused(
        vectors.rot90(0),
        "rank",
        None,
        "rot90: expected a rank of at least 2, got 1",
    );
    let none = x.elements(0..0).unwrap();
    assert!(none.upscale(&[]).unwrap().is_empty());
    assert!(none.translate(&[[1, 1]], 5).unwrap().is_empty());
    assert!(none.rot90(1).unwrap().is_empty());
}
