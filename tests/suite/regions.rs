//! Tables of the components of labelled images: against sums over all cells, in wide integers.

use libtest_mimic::Trial;
use vsla::image::{Components, Neighbours, Regions};
use vsla::program::Program;
use vsla::scalar::Integer;
use vsla::{Device, Layout, Ragged, Shape, Tensor};

use crate::label::{images, noise};
use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("components", components),
        ("any_labels", any_labels),
        ("many_images", many_images),
        ("large_components", large_components),
        ("means_are_rounded_once", means_are_rounded_once),
        ("views_begin_anywhere", views_begin_anywhere),
        ("nothing", nothing),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

/// The table of one image: areas, boxes, sums of rows and of columns, and values.
#[derive(Default)]
struct Table<T> {
    areas: Vec<u32>,
    boxes: Vec<[u32; 4]>,
    sums: Vec<[u64; 2]>,
    values: Vec<T>,
}

fn summed<T: Integer>(x: &[T], labels: &[u32], columns: usize, count: usize) -> Table<T> {
    let mut table = Table {
        areas: vec![0; count],
        boxes: vec![[0; 4]; count],
        sums: vec![[0; 2]; count],
        values: vec![T::default(); count],
    };
    for (cell, &label) in labels.iter().enumerate() {
        if label == 0 || label as usize > count {
            continue;
        }
        let k = label as usize - 1;
        let at = [cell / columns, cell % columns];
        let [row, column] = at.map(|at| at as u32);
        if table.areas[k] == 0 {
            table.values[k] = x[cell];
            table.boxes[k] = [row, column, row + 1, column + 1];
        }
        let [top, left, bottom, right] = table.boxes[k];
        table.boxes[k] = [
            top.min(row),
            left.min(column),
            bottom.max(row + 1),
            right.max(column + 1),
        ];
        table.areas[k] += 1;
        table.sums[k][0] += at[0] as u64;
        table.sums[k][1] += at[1] as u64;
    }
    table
}

/// The float that is nearest to a quotient, ties to even.
fn nearest(sum: u64, n: u32) -> f32 {
    if n == 0 {
        return 0.0;
    }
    let (sum, n) = (u128::from(sum), u128::from(n));
    let near = (sum as f64 / n as f64) as f32;
    // Compares the distances |candidate n − sum| exactly, in units of 2⁻⁶⁰.
    let distance = |candidate: f32| {
        let scaled = (f64::from(candidate) * 2f64.powi(60)) as u128;
        (scaled * n).abs_diff(sum << 60)
    };
    let candidates = [near.next_down().max(0.0), near, near.next_up()];
    let even = |candidate: &f32| candidate.to_bits() & 1;
    let by = |candidate: &&f32| (distance(**candidate), even(candidate));
    *candidates.iter().min_by_key(by).unwrap()
}

fn check<T: Integer>(what: &str, x: &Tensor<T>, labels: &Tensor<u32>, numbers: &Tensor<u32>) {
    let Regions {
        areas,
        boxes,
        centroids,
        values,
        ..
    } = x.regions_blocking(labels, numbers).unwrap();
    let (x, labels, numbers) = (download(x), download(labels), download(numbers));
    let tables: Vec<_> = (0..x.len())
        .map(|element| {
            let columns = x.shape(element).extents()[1] as usize;
            let count = numbers.row(element)[0] as usize;
            summed(x.row(element), labels.row(element), columns, count)
        })
        .collect();
    let lengths = || tables.iter().map(|table| table.areas.len());
    let vectors = Layout::from_lengths(lengths()).unwrap();
    let rows = |width| {
        let shapes = lengths().map(|n| Shape::new(&[n, width]).unwrap());
        Layout::from_shapes(2, shapes).unwrap()
    };
    let of = |table: fn(&Table<T>) -> &[u32]| {
        let all = tables.iter().flat_map(table).copied().collect();
        Ragged::from_parts(vectors.clone(), all).unwrap()
    };
    assert_exact(what, &download(&areas), &of(|table| &table.areas));
    let all = tables.iter().flat_map(|table| table.boxes.as_flattened());
    let expected = Ragged::from_parts(rows(4), all.copied().collect()).unwrap();
    assert_exact(what, &download(&boxes), &expected);
    let all = tables.iter().flat_map(|table| table.values.iter().copied());
    let expected = Ragged::from_parts(vectors.clone(), all.collect()).unwrap();
    let got = download(&values);
    assert_eq!(got, expected, "{what}");
    let means = tables.iter().flat_map(|table| {
        let sums = table.sums.iter().zip(&table.areas);
        sums.flat_map(|(sums, &n)| sums.map(|sum| nearest(sum, n)))
    });
    let expected = Ragged::from_parts(rows(2), means.collect()).unwrap();
    assert_identical(what, &download(&centroids), &expected);
}

fn check_labelled<T: Integer>(device: &Device, what: &str, x: &Ragged<T>) {
    let x = upload(device, x);
    for components in [
        Components::of_equal_values(),
        Components::of_foreground().neighbours(Neighbours::Eight),
    ] {
        let (labels, numbers) = x.label(components).unwrap();
        check(what, &x, &labels, &numbers);
    }
}

fn by_hand(device: &Device) {
    let x = images([[2, 3], [0, 4], [1, 1]], |_, row, column| {
        [[-7, -7, 2], [0, -7, 2]][row][column]
    });
    let x = upload(device, &x);
    let (labels, numbers) = x.label(Components::of_equal_values()).unwrap();
    let regions = x.regions_blocking(&labels, &numbers).unwrap();
    let waited = pollster::block_on(x.regions(&labels, &numbers)).unwrap();
    for regions in [regions, waited] {
        let areas = download(&regions.areas).to_vecs().unwrap();
        assert_eq!(areas, [vec![3, 2], vec![], vec![1]]);
        let boxes = download(&regions.boxes);
        assert_eq!(boxes.row(0), [0, 0, 2, 2, 0, 2, 2, 3]);
        assert_eq!(boxes.shape(1), Shape::new(&[0, 4]).unwrap());
        let centroids = download(&regions.centroids);
        assert_eq!(centroids.row(0), [1.0 / 3.0, 2.0 / 3.0, 0.5, 2.0]);
        let values = download(&regions.values).to_vecs().unwrap();
        assert_eq!(values, [vec![-7, 2], vec![], vec![-7]]);
    }
}

fn components(device: &Device) {
    let shapes = [
        [1, 1],
        [40, 50],
        [0, 7],
        [1, 900],
        [900, 1],
        [70, 130],
        [3, 0],
        [200, 9],
    ];
    for (density, kinds) in [(0.1, 3), (0.5, 1), (0.6, 1), (0.9, 2), (1.0, 1), (1.0, 40)] {
        check_labelled(device, "noise", &noise("regions", &shapes, density, kinds));
    }
    let signed = noise("signed regions", &shapes, 0.8, 5);
    check_labelled(device, "signed", &signed.cast(|x| x as i32 - 3).unwrap());
}

/// Labels that occur in any order, that do not occur, and that are too large.
fn any_labels(device: &Device) {
    let shapes = [[30, 41], [5, 5], [100, 33]];
    let x = upload(device, &noise("values", &shapes, 1.0, 1000));
    for most in [1, 9, 300, 70_000] {
        let labels = upload(device, &noise("labels", &shapes, 0.9, most));
        for number in [0, 1, most / 2, most, most + 3] {
            let numbers = Ragged::from_rows([[number], [number / 2], [number]]).unwrap();
            check("any labels", &x, &labels, &upload(device, &numbers));
        }
    }
    let all = images(shapes, |_, _, _| u32::MAX);
    let numbers = Ragged::from_rows([[1u32], [2], [0]]).unwrap();
    check(
        "no label",
        &x,
        &upload(device, &all),
        &upload(device, &numbers),
    );
}

fn many_images(device: &Device) {
    let mut random = rng("regions of many images");
    let shapes: Vec<_> = (0..4308)
        .map(|_| [random.usize(0..9), random.usize(0..9)])
        .collect();
    check_labelled(device, "many", &noise("many regions", &shapes, 0.5, 2));
}

/// Sums that exceed a word.
fn large_components(device: &Device) {
    let shapes = [[1, 200_000], [200_000, 1], [3, 70_000], [400, 500]];
    check_labelled(device, "large", &images(shapes, |_, _, _| 1u32));
}

fn means_are_rounded_once(device: &Device) {
    // One cell far from 2²⁴ + 1 others would take long; many areas and sums come close to ties.
    let mut random = rng("means");
    let shapes: Vec<_> = (0..60)
        .map(|_| [random.usize(1..40), random.usize(1..90)])
        .collect();
    let x = upload(device, &images(shapes.iter().copied(), |_, _, _| 1u32));
    let labels = images(shapes.iter().copied(), |_, _, _| random.u32(0..30));
    let numbers = Ragged::from_rows(vec![[29u32]; 60]).unwrap();
    check(
        "means",
        &x,
        &upload(device, &labels),
        &upload(device, &numbers),
    );
    // (0 + … + 0 + k) / n, below 1.
    let sparse = images([[1, 5000]], |_, _, column| {
        u32::from(column == 1 || column.is_multiple_of(7))
    });
    let numbers = upload(device, &Ragged::from_rows([[1u32]]).unwrap());
    let sparse = upload(device, &sparse);
    check("small", &sparse, &sparse, &numbers);
}

fn views_begin_anywhere(device: &Device) {
    let shapes = [[1, 1], [3, 7], [70, 40], [0, 3], [65, 33], [5, 5]];
    let x = upload(device, &noise("views of regions", &shapes, 0.7, 2));
    let (labels, numbers) = x.label(Components::of_equal_values()).unwrap();
    for first in 0..shapes.len() {
        let part = first..shapes.len();
        let labels = labels.elements(part.clone()).unwrap();
        let numbers = numbers.elements(part.clone()).unwrap();
        check("view", &x.elements(part).unwrap(), &labels, &numbers);
    }
}

fn nothing(device: &Device) {
    check_labelled(device, "none", &images(Vec::new(), |_, _, _| 0u32));
    check_labelled(device, "empty", &images([[0, 3], [2, 0]], |_, _, _| 0u32));
    check_labelled(
        device,
        "background",
        &images([[9, 9], [70, 70]], |_, _, _| 0u32),
    );
}

fn refusals(device: &Device) {
    let of = |shapes: &[[usize; 2]]| upload(device, &images(shapes.to_vec(), |_, _, _| 1u32));
    let numbers = |rows: &[&[u32]]| {
        let rows = rows.iter().map(|row| row.to_vec());
        upload(
            device,
            &Ragged::from_rows(rows.collect::<Vec<_>>()).unwrap(),
        )
    };
    let x = of(&[[2, 3], [4, 5]]);
    let two = numbers(&[&[1], &[1]]);
    let refused = |x: &Tensor<u32>, labels: &Tensor<u32>, numbers: &Tensor<u32>, kind: &str| {
        let error = x.regions_blocking(labels, numbers).unwrap_err();
        assert_eq!((error.kind(), error.op()), (kind, "regions"), "{error}");
    };
    refused(&x, &of(&[[2, 3], [5, 4]]), &two, "shape");
    refused(&x, &of(&[[2, 3]]), &two, "batch_size");
    refused(&x, &x, &numbers(&[&[1]]), "batch_size");
    refused(&x, &x, &numbers(&[&[1], &[1, 2]]), "length");
    refused(&x, &x, &numbers(&[&[1], &[]]), "length");
    refused(&x, &x, &x, "rank");
    refused(&two, &x, &two, "rank");
    refused(&x, &two, &two, "rank");
    let most = numbers(&[&[u32::MAX], &[u32::MAX]]);
    refused(&x, &x, &most, "size_overflow");
    let program = Program::new(device, |r| {
        let x: Tensor<u32> = r.input()?;
        let (labels, numbers) = x.label(Components::of_foreground())?;
        x.regions_blocking(&labels, &numbers).map(drop)
    });
    let error = program.plan(&[x.layout()]).unwrap_err();
    assert_eq!(error.kind(), "recording");
}
