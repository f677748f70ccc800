//! Extremes of neighbourhoods, against all neighbours that are inside.

use vsla::image::Neighbours;
use vsla::{Device, Ragged, Result, Tensor, scalar::Pixel};

use super::{at, colours, extents, made, on_views, sizes, within};
use crate::support::operation::{download, one, upload};

const SQUARE: &[[i64; 2]] = &[
    [-1, -1],
    [-1, 0],
    [-1, 1],
    [0, -1],
    [0, 1],
    [1, -1],
    [1, 0],
    [1, 1],
];
const CROSS: &[[i64; 2]] = &[[-1, 0], [0, -1], [0, 1], [1, 0]];

type Method<T> = fn(&Tensor<T>, Neighbours) -> Result<Tensor<T>>;

fn check<T: Pixel + Ord>(device: &Device, x: &Ragged<T>, run: Method<T>, better: fn(T, T) -> T) {
    for (neighbours, places) in [(Neighbours::Eight, SQUARE), (Neighbours::Four, CROSS)] {
        let what = format!("{neighbours:?}");
        on_views(
            device,
            &what,
            x,
            |x, _| run(x, neighbours),
            |x, _| {
                made(
                    x.len(),
                    |e| extents(x.layout(), e),
                    |e, [i, j]| {
                        let beside = places.iter().filter_map(|[down, right]| {
                            within(x, e, [i as i64 + down, j as i64 + right])
                        });
                        beside.fold(at(x, e, [i, j]), better)
                    },
                )
            },
        );
    }
}

pub fn dilate(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "dilate", 1000);
        check(device, &x, |x, of| x.dilate(of), i32::max);
        // Bits of both halves of u32.
        let x = x
            .cast(|value| (value as u32).wrapping_mul(0x9e37_79b9))
            .unwrap();
        check(device, &x, |x, of| x.dilate(of), u32::max);
        let x = x.cast(|value| (value >> 24) as u8).unwrap();
        check(device, &x, |x, of| x.dilate(of), u8::max);
    }
}

pub fn erode(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "erode", 1000);
        check(device, &x, |x, of| x.erode(of), i32::min);
        let x = x
            .cast(|value| (value as u32).wrapping_mul(0x9e37_79b9))
            .unwrap();
        check(device, &x, |x, of| x.erode(of), u32::min);
        let x = x.cast(|value| (value >> 24) as u8).unwrap();
        check(device, &x, |x, of| x.erode(of), u8::min);
    }
}

pub fn goldens(device: &Device) {
    let x = upload(
        device,
        &one(&[3, 3], &[i32::MIN, -1, 5, 0, i32::MAX, -7, 2, 2, -9]),
    );
    let got = download(&x.dilate(Neighbours::Four).unwrap());
    assert_eq!(
        got.row(0),
        [0, i32::MAX, 5, i32::MAX, i32::MAX, i32::MAX, 2, i32::MAX, 2]
    );
    let got = download(&x.erode(Neighbours::Four).unwrap());
    assert_eq!(
        got.row(0),
        [i32::MIN, i32::MIN, -7, i32::MIN, -7, -9, 0, -9, -9]
    );
    let vectors = upload(device, &Ragged::from_rows([[1u32]]).unwrap());
    let error = vectors.dilate(Neighbours::Four).unwrap_err();
    assert_eq!(error.to_string(), "dilate: expected a rank of 2, got 1");
    let error = vectors.erode(Neighbours::Four).unwrap_err();
    assert_eq!(error.op(), "erode");
}
