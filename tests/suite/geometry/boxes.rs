//! Boxes of cells, and crops to boxes.

use vsla::{Complex32, Device, Layout, Ragged, f16, scalar::Scalar};

use super::{assert_same, at, extents, made, numbered, on_views, refused, shapes, sizes};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows, upload};

/// Images that are mostly background, 7, with a few other cells.
fn sparse(layout: &Layout) -> Ragged<i32> {
    let mut random = rng("sparse");
    let mut dense = 0;
    Ragged::from_fn(layout, |_, i| {
        if i == 0 {
            dense = random.u32(..4);
        }
        match random.u32(..30) < [0, 1, 3, 29][dense as usize] {
            true => random.i32(-9..7),
            false => 7,
        }
    })
    .unwrap()
}

/// The box of each element: the ends of the rows and columns that have a cell other than the background.
fn boxes(x: &Ragged<i32>, background: i32) -> Ragged<u32> {
    let of = |e: usize| {
        let [rows, columns] = extents(x.layout(), e);
        let is_other = |i: usize, j: usize| at(x, e, [i, j]) != background;
        let row = |i: &usize| (0..columns).any(|j| is_other(*i, j));
        let column = |j: &usize| (0..rows).any(|i| is_other(i, *j));
        let ends = |first: Option<usize>, last: Option<usize>| {
            [
                first.unwrap_or(0) as u32,
                last.map_or(0, |last| last as u32 + 1),
            ]
        };
        let [top, bottom] = ends((0..rows).find(row), (0..rows).rfind(row));
        let [left, right] = ends((0..columns).find(column), (0..columns).rfind(column));
        [top, left, bottom, right]
    };
    Ragged::from_rows((0..x.len()).map(of).collect::<Vec<_>>()).unwrap()
}

pub fn bounding_box(device: &Device) {
    for layout in sizes() {
        let x = sparse(&layout);
        for background in [7, 0] {
            on_views(
                device,
                "boxes",
                &x,
                |x, _| x.bounding_box(background),
                |x, _| boxes(x, background),
            );
        }
        let unsigned = x.cast(|value| value as u32).unwrap();
        on_views(
            device,
            "boxes of u32",
            &unsigned,
            |x, _| x.bounding_box(7),
            |x, _| boxes(&x.cast(|value| value as i32).unwrap(), 7),
        );
    }
    // Elements of every kind of the reduction, in every combination of a lone cell's row and column.
    for extents in [[5, 7], [40, 30], [90, 101]] {
        let [m, n] = extents;
        let places: Vec<[usize; 2]> = [0, m / 2, m - 1]
            .into_iter()
            .flat_map(|i| [0, n / 2, n - 1].map(|j| [i, j]))
            .collect();
        let x = made(
            places.len(),
            |_| extents,
            |e, place| i32::from(place == places[e]),
        );
        let got = download(&upload(device, &x).bounding_box(0).unwrap());
        assert_same("lone cells", &got, &boxes(&x, 0));
    }
    let vectors = upload(device, &rows([&[1, 2]]));
    let error = vectors.bounding_box(0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bounding_box: expected a rank of 2, got 1"
    );
}

/// The part of each image that its box contains.
fn cropped<T: Scalar>(x: &Ragged<T>, boxes: &Ragged<u32>) -> Ragged<T> {
    let side = |e: usize| {
        let (of, whole) = (boxes.row(e), extents(x.layout(), e));
        [0, 1].map(|axis| {
            let range = of[axis] as usize..of[axis + 2] as usize;
            (0..whole[axis]).filter(|k| range.contains(k)).count()
        })
    };
    made(x.len(), side, |e, [i, j]| {
        let of = boxes.row(e);
        at(x, e, [of[0] as usize + i, of[1] as usize + j])
    })
}

fn check<T: Scalar>(device: &Device, x: &Ragged<T>) {
    let mut random = rng("crops");
    let mut number = || match random.u32(..40) {
        0 => u32::MAX,
        _ => random.u32(..12),
    };
    let all: Vec<[u32; 4]> = (0..x.len()).map(|_| [(); 4].map(|()| number())).collect();
    let all = Ragged::from_rows(all).unwrap();
    let on = upload(device, &all);
    on_views(
        device,
        "crops",
        x,
        |x, first| x.crop_blocking(&on.elements(first..on.len())?),
        |x, first| {
            cropped(
                x,
                &Ragged::from_rows(
                    (first..all.len())
                        .map(|e| all.row(e).to_vec())
                        .collect::<Vec<_>>(),
                )
                .unwrap(),
            )
        },
    );
}

pub fn crop(device: &Device) {
    for layout in sizes() {
        let x = numbered(&layout);
        check(device, &x);
        check(
            device,
            &x.cast(|i| f16::from_bits(i as u16 % 0x7bff)).unwrap(),
        );
        check(device, &x.cast(|i| Complex32::new(i as f32, 1.0)).unwrap());
        // Whole images are no copies.
        let whole = (0..x.len()).map(|e| {
            let [m, n] = extents(&layout, e);
            [0, 0, m as u32, n as u32]
        });
        let whole = upload(
            device,
            &Ragged::from_rows(whole.collect::<Vec<_>>()).unwrap(),
        );
        let on = upload(device, &x);
        let same = on.crop_strict_blocking(&whole).unwrap();
        assert_same("whole images", &download(&same), &x);
        let again = pollster::block_on(on.crop(&whole)).unwrap();
        assert_same("whole images", &download(&again), &x);
    }
}

pub fn crop_refused(device: &Device) {
    let x = upload(device, &numbered(&shapes(&[[2, 3], [4, 4]])));
    let boxes = |all: [&[u32]; 2]| upload(device, &rows(all));
    refused(
        x.crop_strict_blocking(&boxes([&[0, 0, 2, 3], &[1, 1, 4, 5]])),
        "argument",
        Some(1),
        "crop_strict: element 1: expected a box inside of the shape (4, 4), got [1, 1, 4, 5]",
    );
    refused(
        pollster::block_on(x.crop_strict(&boxes([&[2, 0, 1, 3], &[1, 1, 4, 4]]))),
        "argument",
        Some(0),
        "crop_strict: element 0: expected a box inside of the shape (2, 3), got [2, 0, 1, 3]",
    );
    refused(
        x.crop_blocking(&boxes([&[0, 0, 2, 3], &[1, 1, 4]])),
        "length",
        Some(1),
        "crop: element 1: expected 4 values, got 3",
    );
    refused(
        x.crop_blocking(&upload(device, &rows([&[0u32, 0, 1, 1]]))),
        "batch_size",
        None,
        "crop: expected batches of equal size, got 2 elements and 1",
    );
    let vectors = upload(device, &rows([&[1u32], &[2]]));
    refused(
        vectors.crop_blocking(&boxes([&[0, 0, 1, 1]; 2])),
        "rank",
        None,
        "crop: expected a rank of 2, got 1",
    );
    refused(
        x.crop_blocking(&x),
        "rank",
        None,
        "crop: expected a rank of 1 for the boxes, got 2",
    );
}

pub fn trim(device: &Device) {
    for layout in sizes() {
        let x = sparse(&layout);
        on_views(
            device,
            "trimmed",
            &x,
            |x, _| x.trim_blocking(7),
            |x, _| cropped(x, &boxes(x, 7)),
        );
    }
    let x = upload(device, &made(1, |_| [2, 2], |_, _| 3u32));
    let got = pollster::block_on(x.trim(3)).unwrap();
    assert_eq!(got.layout(), &shapes(&[[0, 0]]));
}
