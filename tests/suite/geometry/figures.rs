//! Boxes and lines drawn on images, against figures that are drawn cell by cell.

use std::ops::Range;

use vsla::{Device, Layout, Ragged, scalar::Integer};

use super::{
    batch, colours, extents, made, numbered, on_views, refused as is_refused, shapes, sizes,
};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows, upload};

/// Batches, and numbers of figures of their images: few, which each cell looks through, and many.
fn cases() -> impl Iterator<Item = (Layout, Range<usize>)> {
    let many = sizes().into_iter().filter(|layout| layout.len() < 100);
    let many = many.map(|layout| (layout, 20..60));
    sizes().into_iter().map(|layout| (layout, 0..5)).chain(many)
}

/// A batch of tables of four numbers, and one of a value for each, so many in an image, or none in every seventh.
fn tables<N: Copy>(
    layout: &Layout,
    counts: Range<usize>,
    mut one: impl FnMut(usize) -> [N; 4],
) -> (Ragged<N>, Ragged<i32>) {
    let mut random = rng("figures");
    let counts: Vec<usize> = (0..layout.len())
        .map(|e| match e % 7 {
            6 => 0,
            _ => random.usize(counts.clone()),
        })
        .collect();
    let figures = counts.iter().enumerate().map(|(e, &count)| {
        let all = (0..count).flat_map(|_| one(e)).collect();
        ([count, 4], all)
    });
    let figures = batch(figures.collect());
    let values = counts
        .iter()
        .map(|&count| (0..count).map(|_| random.i32(100..200)).collect::<Vec<_>>());
    (
        figures,
        Ragged::from_rows(values.collect::<Vec<_>>()).unwrap(),
    )
}

/// The image with the cells of figures set one after another; `cells(figure)` are those of one.
fn drawn<T: Copy, N: Copy>(
    x: &Ragged<T>,
    (figures, values): (&Ragged<N>, &Ragged<T>),
    first: usize,
    cells: impl Fn([N; 4], [usize; 2]) -> Vec<[i64; 2]>,
) -> Ragged<T> {
    let element = |e: usize| {
        let [height, width] = extents(x.layout(), e);
        let mut image = x.row(e).to_vec();
        let figures = figures.row(first + e).chunks_exact(4);
        for (figure, value) in figures.zip(values.row(first + e)) {
            for [row, column] in cells([0, 1, 2, 3].map(|k| figure[k]), [height, width]) {
                let inside =
                    (0..height as i64).contains(&row) && (0..width as i64).contains(&column);
                if inside {
                    image[row as usize * width + column as usize] = *value;
                }
            }
        }
        ([height, width], image)
    };
    batch((0..x.len()).map(element).collect())
}

/// The cells of a box's border that an image of these extents can have.
fn border([top, left, bottom, right]: [u32; 4], [height, width]: [usize; 2]) -> Vec<[i64; 2]> {
    let mut cells = Vec::new();
    for row in top..bottom.min(height as u32) {
        for column in left..right.min(width as u32) {
            if row == top || column == left || row + 1 == bottom || column + 1 == right {
                cells.push([row.into(), column.into()]);
            }
        }
    }
    cells
}

/// The cells of a line, from its first one on.
fn line([row, column, last_row, last_column]: [i32; 4], _: [usize; 2]) -> Vec<[i64; 2]> {
    let (down, right) = ((last_row - row).signum(), (last_column - column).signum());
    let steps = (last_row - row).abs().max((last_column - column).abs());
    let cell = |k: i32| [i64::from(row + k * down), i64::from(column + k * right)];
    (0..=steps).map(cell).collect()
}

fn boxes_of<T: Integer>(
    device: &Device,
    counts: &Range<usize>,
    x: &Ragged<T>,
    value: fn(i32) -> T,
) {
    let (layout, mut random) = (x.layout(), rng("boxes"));
    let (boxes, values) = tables(layout, counts.clone(), |e| {
        let [height, width] = extents(layout, e).map(|extent| extent as u32);
        // Beyond the image, as far as possible, and empty ones, too.
        let far = |random: &mut fastrand::Rng| random.u32(..8) == 0;
        let mut along = |extent: u32| match far(&mut random) {
            true => [random.u32(..3), u32::MAX - random.u32(..2)],
            false => [random.u32(..extent + 2), random.u32(..extent + 2)],
        };
        let ([top, bottom], [left, right]) = (along(height), along(width));
        [top, left, bottom, right]
    });
    let values = values.cast(value).unwrap();
    let (on, of) = (upload(device, &boxes), upload(device, &values));
    on_views(
        device,
        "boxes",
        x,
        |x, first| {
            x.draw_boxes(
                &on.elements(first..on.len())?,
                &of.elements(first..of.len())?,
            )
        },
        |x, first| drawn(x, (&boxes, &values), first, border),
    );
}

pub fn boxes(device: &Device) {
    for (layout, counts) in cases() {
        boxes_of(device, &counts, &colours(&layout, "boxes", 5), |value| {
            value
        });
        boxes_of(device, &counts, &numbered(&layout), |value| value as u32);
    }
    // A box of each image, as `bounding_box` gives it.
    let x = made(2, |e| [3 + e, 4], |_, [i, j]| u32::from(i > 0 && j > 1));
    let on = upload(device, &x);
    let values = upload(device, &rows([&[7], &[8]]));
    let got = on
        .draw_boxes(&on.bounding_box(0).unwrap(), &values)
        .unwrap();
    let got = download(&got);
    assert_eq!(got.row(0), [0, 0, 0, 0, 0, 0, 7, 7, 0, 0, 7, 7]);
    assert_eq!(got.row(1), [0, 0, 0, 0, 0, 0, 8, 8, 0, 0, 8, 8, 0, 0, 8, 8]);
}

fn lines_of<T: Integer>(
    device: &Device,
    counts: &Range<usize>,
    x: &Ragged<T>,
    value: fn(i32) -> T,
) {
    let (layout, mut random) = (x.layout(), rng("lines"));
    let (lines, values) = tables(layout, counts.clone(), |e| {
        let [height, width] = extents(layout, e).map(|extent| extent as i32);
        let from = [random.i32(-2..height + 3), random.i32(-2..width + 3)];
        let steps = random.i32(0..height.max(width) + 3);
        let [down, right] = [random.i32(-1..=1), random.i32(-1..=1)];
        [
            from[0],
            from[1],
            from[0] + down * steps,
            from[1] + right * steps,
        ]
    });
    let values = values.cast(value).unwrap();
    let of = upload(device, &values);
    on_views(
        device,
        "lines",
        x,
        |x, first| {
            let rest =
                (first..lines.len()).map(|e| ([lines.row(e).len() / 4, 4], lines.row(e).to_vec()));
            x.draw_lines(&batch(rest.collect()), &of.elements(first..of.len())?)
        },
        |x, first| drawn(x, (&lines, &values), first, line),
    );
}

pub fn lines(device: &Device) {
    for (layout, counts) in cases() {
        lines_of(device, &counts, &colours(&layout, "lines", 5), |value| {
            value
        });
        lines_of(device, &counts, &numbered(&layout), |value| value as u32);
    }
    // Ends as far apart as possible, in all directions.
    let x = upload(device, &made(1, |_| [3, 4], |_, _| 0u32));
    let (least, most) = (i32::MIN, i32::MAX);
    let far = [
        [least, least, most, most],
        [1, least, 1, most],
        [most, 2, least, 2],
        [most, -most, 0, 0],
        [3 - most, most, 3, 0],
    ];
    for (k, line) in far.into_iter().enumerate() {
        let drawn = |copies: usize| {
            let lines = batch(vec![([copies, 4], line.repeat(copies))]);
            let values = upload(device, &rows([&vec![1; copies][..]]));
            download(&x.draw_lines(&lines, &values).unwrap())
        };
        let expected = match k {
            0 => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
            1 => [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0],
            2 => [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
            3 => [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            _ => [0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0],
        };
        for copies in [1, 20] {
            assert_eq!(drawn(copies).values(), expected, "{line:?}");
        }
    }
}

pub fn refused(device: &Device) {
    let x = upload(device, &numbered(&shapes(&[[2, 3], [1, 1]])));
    let table = |all: Vec<([usize; 2], Vec<u32>)>| upload(device, &batch(all));
    let values = |all: [&[u32]; 2]| upload(device, &rows(all));
    let [none, one] = [([0, 4], vec![]), ([1, 4], vec![0; 4])];
    is_refused(
        x.draw_boxes(
            &table(vec![one.clone(), ([1, 3], vec![0; 3])]),
            &values([&[1], &[1]]),
        ),
        "argument",
        Some(1),
        "draw_boxes: element 1: expected four numbers for each figure, got (1, 3)",
    );
    is_refused(
        x.draw_boxes(
            &table(vec![none.clone(), one.clone()]),
            &values([&[], &[1, 2]]),
        ),
        "length",
        Some(1),
        "draw_boxes: element 1: expected 1 value, got 2",
    );
    is_refused(
        x.draw_boxes(&table(vec![one.clone()]), &values([&[1], &[1]])),
        "batch_size",
        None,
        "draw_boxes: expected batches of equal size, got 2 elements and 1",
    );
    let vectors = values([&[1], &[2]]);
    is_refused(
        vectors.draw_boxes(&table(vec![none.clone(), none.clone()]), &vectors),
        "rank",
        None,
        "draw_boxes: expected a rank of 2, got 1",
    );
    is_refused(
        x.draw_boxes(&table(vec![one.clone(), one.clone()]), &x),
        "rank",
        None,
        "draw_boxes: expected a rank of 1 for the values, got 2",
    );
    is_refused(
        x.draw_lines(
            &batch(vec![
                ([0, 4], vec![]),
                ([2, 4], vec![0, 0, 3, 3, 0, 0, -2, 1]),
            ]),
            &values([&[], &[1, 2]]),
        ),
        "argument",
        Some(1),
        "draw_lines: element 1: expected lines along a row, a column or a diagonal, got [0, 0, -2, 1]",
    );
    is_refused(
        x.draw_lines(
            &batch(vec![([0, 4], vec![]), ([0, 4], vec![])]),
            &values([&[], &[1]]),
        ),
        "length",
        Some(1),
        "draw_lines: element 1: expected 0 values, got 1",
    );
}
