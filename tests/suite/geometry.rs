//! Operations on images of different sizes, against loops over cells.

mod boxes;
mod cells;
mod figures;
mod large;
mod neighbours;
mod parts;
mod values;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, scalar::Scalar};

use crate::support::bench::{Bench, is_long};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("rot90", cells::rot90),
        ("anti_transpose", cells::anti_transpose),
        ("turns_of_volumes", cells::turns_of_volumes),
        ("upscale", cells::upscale),
        ("downscale", cells::downscale),
        ("tile", cells::tile),
        ("translate", cells::translate),
        ("far_away", cells::far_away),
        ("cells_refused", cells::refused),
        ("dilate", neighbours::dilate),
        ("erode", neighbours::erode),
        ("neighbours_of_goldens", neighbours::goldens),
        ("lookup", values::lookup),
        ("lookup_in_empty_tables", values::lookup_in_empty_tables),
        ("lookup_refused", values::lookup_refused),
        ("bincount", values::bincount),
        ("strict_values", values::strict),
        ("common_values", values::common),
        ("palette", values::palette),
        ("bounding_box", boxes::bounding_box),
        ("crop", boxes::crop),
        ("crop_refused", boxes::crop_refused),
        ("trim", boxes::trim),
        ("equal_elements", parts::equal_elements),
        ("match_template", parts::match_template),
        ("period", parts::period),
        ("compact", parts::compact),
        ("parts_refused", parts::refused),
        ("draw_boxes", figures::boxes),
        ("draw_lines", figures::lines),
        ("figures_refused", figures::refused),
    ]);
    trials.push(bench.where_it_has(
        "one_large_image",
        |_| is_long(),
        "only small images without VSLA_LONG=1",
        large::one_image,
    ));
    trials
}

/// Matrices of these extents.
fn shapes(extents: &[[usize; 2]]) -> Layout {
    let shapes = extents.iter().map(|extents| Shape::new(extents).unwrap());
    Layout::from_shapes(2, shapes).unwrap()
}

/// Sizes of all kinds: single cells, rows and columns, empty ones, many small ones, a large one.
fn sizes() -> Vec<Layout> {
    let mixed = [
        [1, 1],
        [1, 30],
        [30, 1],
        [0, 5],
        [3, 4],
        [5, 0],
        [17, 9],
        [2, 70],
        [9, 8],
        [64, 33],
        [0, 0],
        [7, 1],
        [25, 25],
    ];
    let mut random = rng("small images");
    let small: Vec<_> = (0..4308)
        .map(|_| [random.usize(..7), random.usize(..7)])
        .collect();
    vec![shapes(&mixed), shapes(&small), shapes(&[[301, 517]])]
}

/// Numbers that differ from each other, so that a misplaced one shows.
fn numbered(layout: &Layout) -> Ragged<u32> {
    let offsets = layout.offsets().clone();
    Ragged::from_fn(layout, |e, i| (offsets.range(e).start + i) as u32 + 1).unwrap()
}

/// Few different numbers, as images of colours have.
fn colours(layout: &Layout, seed: &str, count: i32) -> Ragged<i32> {
    let mut random = rng(seed);
    Ragged::from_fn(layout, |_, _| random.i32(0..count) - count / 3).unwrap()
}

/// The extents of an element.
fn extents(layout: &Layout, element: usize) -> [usize; 2] {
    let shape = layout.shape(element);
    [shape.extents()[0] as usize, shape.extents()[1] as usize]
}

/// A batch of these elements, given as rows of cells: `(extents, values)`.
fn batch<T: Copy>(elements: Vec<([usize; 2], Vec<T>)>) -> Ragged<T> {
    let layout = shapes(&elements.iter().map(|of| of.0).collect::<Vec<_>>());
    let values = elements.into_iter().flat_map(|of| of.1).collect();
    Ragged::from_parts(layout, values).unwrap()
}

/// For each element, the values `of(element, [i, j])` of a matrix of `sides(element)`.
fn made<T: Copy>(
    elements: usize,
    sides: impl Fn(usize) -> [usize; 2],
    of: impl Fn(usize, [usize; 2]) -> T,
) -> Ragged<T> {
    let element = |element: usize| {
        let [rows, columns] = sides(element);
        let places = (0..rows).flat_map(|i| (0..columns).map(move |j| [i, j]));
        (
            [rows, columns],
            places.map(|place| of(element, place)).collect(),
        )
    };
    batch((0..elements).map(element).collect())
}

/// The value of an element at a place inside of it.
fn at<T: Copy>(x: &Ragged<T>, element: usize, [i, j]: [usize; 2]) -> T {
    let [rows, columns] = extents(x.layout(), element);
    assert!(i < rows && j < columns);
    x.row(element)[i * columns + j]
}

/// The same, of a place that may be outside.
fn within<T: Copy>(x: &Ragged<T>, element: usize, place: [i64; 2]) -> Option<T> {
    let [rows, columns] = extents(x.layout(), element);
    let [i, j] = [0, 1].map(|axis| usize::try_from(place[axis]).unwrap_or(usize::MAX));
    (i < rows && j < columns).then(|| at(x, element, [i, j]))
}

/// Runs an operation on views of a batch that begin at different elements. `expected` gets the elements of a view.
#[track_caller]
fn on_views<T: Scalar, R: Scalar>(
    device: &Device,
    what: &str,
    x: &Ragged<T>,
    run: impl Fn(&Tensor<T>, usize) -> Result<Tensor<R>>,
    expected: impl Fn(&Ragged<T>, usize) -> Ragged<R>,
) {
    let whole = upload(device, x);
    for first in [0, 1, 3] {
        if first >= x.len() {
            break;
        }
        let view = whole.elements(first..x.len()).unwrap();
        let got = download(&run(&view, first).unwrap());
        let expected = expected(&download(&view), first);
        assert_same(
            &format!("{what}, {}, from {first}", T::DTYPE),
            &got,
            &expected,
        );
    }
}

#[track_caller]
fn assert_same<T: Scalar>(what: &str, got: &Ragged<T>, expected: &Ragged<T>) {
    assert_eq!(got.layout(), expected.layout(), "{what}");
    for element in 0..got.len() {
        let shape = got.shape(element);
        assert_eq!(
            got.row(element),
            expected.row(element),
            "{what}: element {element} of {shape}"
        );
    }
}

/// The error's kind, element and text.
#[track_caller]
fn refused<T: Scalar>(result: Result<Tensor<T>>, kind: &str, element: Option<usize>, text: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), text);
    assert_eq!((error.kind(), error.element()), (kind, element), "{text}");
}
