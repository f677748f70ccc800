//! One image that is as large as the device allows, with `VSLA_LONG=1`: as the CPU, bit for bit.

use vsla::image::{Components, Neighbours};
use vsla::{Device, Ragged, Tensor, scalar::Scalar};

use super::shapes;
use crate::support::bench::cpu;
use crate::support::compare::assert_identical;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

/// The largest side; the benchmarks end there, too.
const SIDE: usize = 16_384;

/// Empty rows above and columns to the left, and below and to the right.
const MARGINS: [usize; 4] = [70, 33, 5, 90];

/// A grid of lines inside of a margin, whose fields `fill_holes` fills. The fields are noise, in bands of columns: some
/// have components that span the image, and some are almost empty.
fn picture(side: usize) -> Ragged<u32> {
    let mut random = rng("one large image");
    let [top, left, below, right] = MARGINS;
    let inside = [top..side - below, left..side - right];
    Ragged::from_fn(&shapes(&[[side, side]]), |_, k| {
        let [i, j] = [k / side, k % side];
        if !inside[0].contains(&i) || !inside[1].contains(&j) {
            return 0;
        }
        if i % 1000 == 100 || j % 1000 == 100 {
            return 3;
        }
        let per_cent = if j / 300 % 2 == 0 { 60 } else { 3 };
        match random.u32(..100) < per_cent {
            true => random.u32(1..3),
            false => 0,
        }
    })
    .unwrap()
}

/// Compares results on the device and on the CPU, which are too large to print.
fn same<T: Scalar>(what: &str, [there, here]: [&Tensor<T>; 2]) {
    let (there, here) = (download(there), download(here));
    assert_eq!(there.layout(), here.layout(), "{what}");
    if there.values() != here.values() {
        let mut both = there.values().iter().zip(here.values());
        let place = both.position(|(a, b)| a != b).unwrap();
        let (got, expected) = (there.values()[place], here.values()[place]);
        panic!("{what}: value {place} is {got:?} instead of {expected:?}");
    }
}

pub fn one_image(device: &Device) {
    let bytes = device
        .info()
        .limits
        .map_or(u64::MAX, |limits| limits.binding_bytes);
    // `fill_holes` labels the image with a frame of one cell.
    let side = SIDE.min((bytes / 4).isqrt() as usize - 2);
    let x = picture(side);
    let devices = [device, cpu()];
    let [there, here] = devices.map(|device| upload(device, &x));
    let on_both = |what: &str, run: &dyn Fn(&Tensor<u32>) -> Tensor<u32>| {
        same(what, [&run(&there), &run(&here)]);
    };
    let eight = Neighbours::Eight;
    on_both("rot90", &|x| x.rot90(1).unwrap());
    on_both("dilate", &|x| x.dilate(eight).unwrap());
    on_both("translate", &|x| x.translate(&[[1234, -777]], 9).unwrap());
    on_both("fill_holes", &|x| x.fill_holes(eight, 0, 4).unwrap());
    let flags = Ragged::from_rows([(0..side).map(|i| (i % 3) as u32).collect::<Vec<_>>()]);
    let flags = flags.unwrap();
    for axis in [0, 1] {
        on_both("compact", &|x| {
            let flags = upload(x.device(), &flags);
            x.compact_blocking(&flags, axis).unwrap()
        });
    }
    let boxes = download(&there.bounding_box(0).unwrap());
    let [top, left, below, right] = MARGINS.map(|margin| margin as u32);
    let end = side as u32;
    assert_eq!(boxes.values(), [top, left, end - below, end - right]);
    on_both("bounding_box", &|x| x.bounding_box(0).unwrap());

    let components = Components::of_foreground().neighbours(eight);
    let labelled = [&there, &here].map(|x| x.label(components).unwrap());
    let [labels, numbers] = [0, 1].map(|i| labelled.each_ref().map(|both| [&both.0, &both.1][i]));
    same("labels", labels);
    same("numbers of components", numbers);
    let tables = [0, 1].map(|i| {
        let x = [&there, &here][i];
        x.regions_blocking(labels[i], numbers[i]).unwrap()
    });
    let [a, b] = &tables;
    assert!(a.areas.layout().total() > side, "{}", a.areas.layout());
    same("areas", [&a.areas, &b.areas]);
    same("boxes", [&a.boxes, &b.boxes]);
    same("values", [&a.values, &b.values]);
    assert_identical(
        "centroids",
        &download(&a.centroids),
        &download(&b.centroids),
    );
}
