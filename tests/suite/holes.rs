//! Holes of images: against a flood fill from the border.

use libtest_mimic::Trial;
use vsla::image::Neighbours;
use vsla::scalar::Integer;
use vsla::{Device, Ragged, Shape};

use crate::label::{images, noise};
use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{Comparable, assert_exact};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("random_images", random_images),
        ("rings", rings),
        ("values", values),
        ("many_images", many_images),
        ("only_background", only_background),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn filled<T: Integer>(
    cells: &[T],
    [rows, columns]: [i64; 2],
    eight: bool,
    background: T,
    value: T,
) -> Vec<T> {
    let mut outside = vec![false; cells.len()];
    let borders = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mut todo: Vec<_> = borders
        .filter(|&(row, column)| {
            row == 0 || column == 0 || row + 1 == rows || column + 1 == columns
        })
        .collect();
    while let Some((row, column)) = todo.pop() {
        if !(0..rows).contains(&row) || !(0..columns).contains(&column) {
            continue;
        }
        let cell = (row * columns + column) as usize;
        if outside[cell] || cells[cell] != background {
            continue;
        }
        outside[cell] = true;
        for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right))) {
            if eight || down == 0 || right == 0 {
                todo.push((row + down, column + right));
            }
        }
    }
    let both = cells.iter().zip(&outside);
    both.map(|(&cell, &outside)| match cell == background && !outside {
        true => value,
        false => cell,
    })
    .collect()
}

fn check<T: Integer + Comparable>(
    device: &Device,
    what: &str,
    x: &Ragged<T>,
    background: T,
    value: T,
) {
    let on = upload(device, x);
    for neighbours in [Neighbours::Four, Neighbours::Eight] {
        let eight = neighbours == Neighbours::Eight;
        let all = (0..x.len()).flat_map(|element| {
            let shape = x.shape(element);
            let extents = [0, 1].map(|axis| i64::from(shape.extents()[axis]));
            filled(x.row(element), extents, eight, background, value)
        });
        let expected = Ragged::from_parts(x.layout().clone(), all.collect()).unwrap();
        let got = on.fill_holes(neighbours, background, value).unwrap();
        assert_exact(
            format!("{what}, {neighbours:?}"),
            &download(&got),
            &expected,
        );
    }
}

const SHAPES: [[usize; 2]; 9] = [
    [1, 1],
    [9, 9],
    [0, 4],
    [70, 45],
    [1, 30],
    [30, 1],
    [4, 0],
    [64, 30],
    [40, 100],
];

fn random_images(device: &Device) {
    for percent in [0, 30, 50, 60, 80, 100] {
        let density = f64::from(percent) / 100.0;
        let x = noise("holes", &SHAPES, density, 2);
        check(device, &format!("{percent} %"), &x, 0, 9);
    }
}

/// Rings inside of rings, some of them open at a corner.
fn rings(device: &Device) {
    let ring = |[rows, columns]: [usize; 2], row: usize, column: usize| {
        row.min(column)
            .min(rows - 1 - row)
            .min(columns - 1 - column)
    };
    let closed = images(SHAPES, |shape, row, column| {
        (ring(shape, row, column) % 2) as u32
    });
    check(device, "closed", &closed, 0, 5);
    let open = images(SHAPES, |shape, row, column| {
        let is_corner = row == column && row == 3;
        u32::from(ring(shape, row, column) % 2 == 1 && !is_corner)
    });
    check(device, "open", &open, 0, 5);
}

fn values(device: &Device) {
    let x = noise("other background", &SHAPES, 0.7, 3);
    for background in [1, 3, 7] {
        check(device, "background", &x, background, 0);
    }
    let signed = x.cast(|x| x as i32 - 2).unwrap();
    for background in [-2, 0, 1] {
        check(device, "signed", &signed, background, i32::MIN);
    }
}

fn many_images(device: &Device) {
    let mut random = rng("many images with holes");
    let shapes: Vec<_> = (0..4308)
        .map(|_| [random.usize(0..12), random.usize(0..12)])
        .collect();
    let x = noise("many images with holes", &shapes, 0.6, 2);
    check(device, "many images", &x, 0, 9);
}

/// All of it is connected to the border, so nothing is a hole.
fn only_background(device: &Device) {
    for background in [0, 7] {
        let x = images(SHAPES, |_, _, _| background);
        check(device, "only background", &x, background, 5);
        let filled = upload(device, &x).fill_holes(Neighbours::Eight, background, 5);
        assert_exact("unchanged", &download(&filled.unwrap()), &x);
    }
}

fn refusals(device: &Device) {
    let shape = Shape::new(&[1, 2, 3]).unwrap();
    let x = upload(
        device,
        &Ragged::from_shapes(vec![1u32; 6], 3, [shape]).unwrap(),
    );
    let error = x.fill_holes(Neighbours::Four, 0, 1).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("rank", "fill_holes"));
    let limited = upload(
        &device.with_work_limit(100),
        &images([[20, 20]], |_, _, _| 1u32),
    );
    let error = limited.fill_holes(Neighbours::Four, 0, 1).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("work_limit", "fill_holes"));
}
