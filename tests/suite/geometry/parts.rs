//! Equal elements, occurrences of small images, and slices that are kept.

use vsla::{Device, Layout, Ragged, Shape, scalar::Integer};

use super::{
    assert_same, at, colours, extents, made, numbered, on_views, refused as is_refused, shapes,
    sizes,
};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows, upload};

pub fn equal_elements(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "equal", 3);
        let mut random = rng("other");
        // A third of the elements differs in one value, and a third has other shapes, with zeros.
        let other = (0..x.len()).map(|e| {
            let ([m, n], mut values) = (extents(&layout, e), x.row(e).to_vec());
            match (e % 3, values.len()) {
                (0, 1..) => {
                    let at = random.usize(..values.len());
                    values[at] += 1;
                    ([m, n], values)
                }
                (1, _) => {
                    values.extend(vec![0; n]);
                    ([m + 1, n], values)
                }
                _ => ([m, n], values),
            }
        });
        let other = super::batch(other.collect());
        let on = upload(device, &other);
        for (what, against) in [("others", &on), ("itself", &upload(device, &x))] {
            let y = download(against);
            on_views(
                device,
                what,
                &x,
                |x, first| x.equal_elements(&against.elements(first..y.len())?),
                |x, first| {
                    let is_equal =
                        |e: usize| x.shape(e) == y.shape(first + e) && x.row(e) == y.row(first + e);
                    Ragged::from_rows(
                        (0..x.len())
                            .map(|e| [u32::from(is_equal(e))])
                            .collect::<Vec<_>>(),
                    )
                    .unwrap()
                },
            );
        }
    }
    let x = upload(device, &rows([&[f32::NAN][..], &[-0.0], &[1.0, 2.0], &[]]));
    let y = upload(
        device,
        &rows([&[f32::NAN][..], &[0.0], &[1.0, 2.0, 0.0], &[]]),
    );
    assert_eq!(
        download(&x.equal_elements(&y).unwrap()).values(),
        [0, 1, 0, 1]
    );
}

fn found<T: Integer>(x: &Ragged<T>, small: &Ragged<T>) -> Ragged<u32> {
    let of = |e: usize| if small.len() == 1 { 0 } else { e };
    let side = |e: usize| {
        let (whole, part) = (extents(x.layout(), e), extents(small.layout(), of(e)));
        [0, 1].map(|axis| (whole[axis] + 1).saturating_sub(part[axis]))
    };
    made(x.len(), side, |e, [i, j]| {
        let [a, b] = extents(small.layout(), of(e));
        let equal = |k: usize, l: usize| at(x, e, [i + k, j + l]) == at(small, of(e), [k, l]);
        u32::from((0..a).all(|k| (0..b).all(|l| equal(k, l))))
    })
}

pub fn match_template(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "pictures", 2);
        for small in [[1, 1], [2, 2], [1, 3], [3, 1], [8, 8]] {
            let small = colours(&shapes(&[small]), "small", 2);
            let on = upload(device, &small);
            on_views(
                device,
                "one for all",
                &x,
                |x, _| x.match_template(&on),
                |x, _| found(x, &small),
            );
        }
        // Large templates, which occur at every other place, except around one cell.
        let repeated = |[i, j]: [usize; 2]| (i % 2 + j % 2 * 2) as u32;
        let broken = made(
            layout.len(),
            |e| extents(&layout, e),
            |e, place| repeated(place) + 9 * u32::from(place == [e % 11 + 3, e % 13 + 2]),
        );
        for small in [[8, 8], [1, 64], [70, 1], [13, 7]] {
            let small = made(1, |_| small, |_, place| repeated(place));
            let on = upload(device, &small);
            on_views(
                device,
                "large",
                &broken,
                |x, _| x.match_template(&on),
                |x, _| found(x, &small),
            );
        }
        let each: Vec<_> = (0..x.len()).map(|e| [1 + e % 3, 1 + e * 3 % 2]).collect();
        let each = colours(&shapes(&each), "one for each", 2);
        let on = upload(device, &each);
        on_views(
            device,
            "one for each",
            &x,
            |x, first| x.match_template(&on.elements(first..on.len())?),
            |x, first| {
                let rest = super::batch(
                    (first..each.len())
                        .map(|e| (extents(each.layout(), e), each.row(e).to_vec()))
                        .collect(),
                );
                found(x, &rest)
            },
        );
    }
}

pub fn period(device: &Device) {
    for layout in sizes() {
        // Images that repeat along both axes, of which every third has one other cell.
        let image = |e: usize, [i, j]: [usize; 2]| {
            let (a, b) = (1 + e % 4, 1 + e / 4 % 3);
            let broken = e % 3 == 2 && [i, j] == [e % 5, e % 2];
            (i % a * (b + 1) + j % b * (1 + e % 2)) as u32 + 9 * u32::from(broken)
        };
        let x = made(layout.len(), |e| extents(&layout, e), image);
        for axis in [0, 1] {
            on_views(
                device,
                &format!("axis {axis}"),
                &x,
                |x, _| x.period(axis),
                |x, _| {
                    let of = |e: usize| {
                        let ends = extents(x.layout(), e);
                        let place = |i: usize, j: usize| if axis == 0 { [i, j] } else { [j, i] };
                        let (number, size) = (ends[axis], ends[1 - axis]);
                        let equal = |i: usize, k: usize| {
                            (0..size).all(|j| at(x, e, place(i, j)) == at(x, e, place(k, j)))
                        };
                        let repeats = |p: &usize| (0..number - p).all(|i| equal(i, i + p));
                        [(1..=number).find(repeats).unwrap_or(0) as u32]
                    };
                    Ragged::from_rows((0..x.len()).map(of).collect::<Vec<_>>()).unwrap()
                },
            );
        }
    }
    // Borders of borders.
    let words = ["aabaaab", "abcabcab", "aaaaab", "abaababaab", "aa", "a", ""];
    let letters = words.map(|word| word.bytes().map(u32::from).collect::<Vec<_>>());
    let x = upload(device, &Ragged::from_rows(letters).unwrap());
    assert_eq!(
        download(&x.period(0).unwrap()).values(),
        [4, 3, 6, 5, 1, 1, 0]
    );
    let volume = Layout::uniform(1, Shape::new(&[2, 4, 3]).unwrap()).unwrap();
    let volume = Ragged::from_fn(&volume, |_, i| (i / 3 % 2) as u32).unwrap();
    let volume = upload(device, &volume);
    let periods = [0, 1, 2].map(|axis| download(&volume.period(axis).unwrap()).values()[0]);
    assert_eq!(periods, [1, 2, 1]);
    let error = volume.period(3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "period: expected an axis below the rank of 3, got 3"
    );
}

pub fn compact(device: &Device) {
    for layout in sizes() {
        let x = numbered(&layout);
        for axis in [0, 1] {
            let mut random = rng("flags");
            let flags = (0..x.len()).map(|e| {
                let side = extents(&layout, e)[axis];
                (0..side).map(|_| random.u32(..3)).collect::<Vec<u32>>()
            });
            let flags = Ragged::from_rows(flags.collect::<Vec<_>>()).unwrap();
            let on = upload(device, &flags);
            let run = |x: &vsla::Tensor<u32>, first: usize| {
                x.compact_blocking(&on.elements(first..flags.len())?, axis)
            };
            on_views(device, &format!("axis {axis}"), &x, run, |x, first| {
                let kept = |e: usize| {
                    let all = flags.row(first + e).iter().enumerate();
                    all.filter(|(_, flag)| **flag > 0)
                        .map(|(k, _)| k)
                        .collect::<Vec<_>>()
                };
                let side = |e: usize| {
                    let mut side = extents(x.layout(), e);
                    side[axis] = kept(e).len();
                    side
                };
                made(x.len(), side, |e, mut place| {
                    place[axis] = kept(e)[place[axis]];
                    at(x, e, place)
                })
            });
        }
    }
    let vectors = upload(device, &rows([&[5, 6, 7][..], &[8]]));
    let flags = upload(device, &rows([&[1u32, 0, 2][..], &[0]]));
    let got = pollster::block_on(vectors.compact(&flags, 0)).unwrap();
    assert_same("vectors", &download(&got), &rows([&[5, 7][..], &[]]));
    let volume = Layout::uniform(1, Shape::new(&[2, 1, 3]).unwrap()).unwrap();
    let volume = upload(device, &numbered(&volume));
    let flags = upload(device, &rows([&[0u32, 1, 1]]));
    let got = download(&volume.compact_blocking(&flags, 2).unwrap());
    assert_eq!(got.values(), [2, 3, 5, 6]);
}

pub fn refused(device: &Device) {
    let x = upload(device, &numbered(&shapes(&[[2, 3], [1, 1]])));
    let flags = |all: [&[u32]; 2]| upload(device, &rows(all));
    is_refused(
        x.compact_blocking(&flags([&[1, 1], &[1, 1]]), 0),
        "length",
        Some(1),
        "compact: element 1: expected 1 value, got 2",
    );
    is_refused(
        x.compact_blocking(&flags([&[1, 1], &[1]]), 2),
        "argument",
        None,
        "compact: expected an axis below the rank of 2, got 2",
    );
    is_refused(
        x.compact_blocking(&x, 0),
        "rank",
        None,
        "compact: expected a rank of 1 for the flags, got 2",
    );
    is_refused(
        x.match_template(&upload(device, &numbered(&shapes(&[[1, 1], [0, 2]])))),
        "argument",
        Some(1),
        "match_template: element 1: expected templates with values, got (0, 2)",
    );
    is_refused(
        x.match_template(&upload(device, &numbered(&shapes(&[[1, 1]; 3])))),
        "element_count",
        None,
        "match_template: expected 2 elements, got 3",
    );
    let vectors = upload(device, &rows([&[1u32], &[2]]));
    is_refused(
        x.equal_elements(&vectors),
        "rank",
        None,
        "equal_elements: expected a rank of 2, as in the left batch, got 1",
    );
    is_refused(
        vectors.match_template(&x),
        "rank",
        None,
        "match_template: expected a rank of 2, got 1",
    );
}
