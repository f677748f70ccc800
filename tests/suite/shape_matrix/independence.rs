//! A product does not depend on neighbours, views, or the number of previous runs.

use vsla::{Device, Layout, Ragged, product::ShapeMatrix};

use super::{Matrices, Multiply, cases, grid, run};
use crate::support::compare::assert_identical;
use crate::support::operation::{download, pick, upload};

/// A NaN in an entry affects only its row of the result, and only where its partner is not empty.
pub(super) fn contained(device: &Device) {
    for length in [5, 100] {
        let lengths = |empty: &[usize]| {
            let lengths = (0..24).map(|i| {
                if empty.contains(&i) {
                    0
                } else {
                    length + i % 3
                }
            });
            Layout::from_lengths(lengths.collect::<Vec<_>>()).unwrap()
        };
        let grid = grid(&[[3, 4], [4, 3]]);
        let values =
            |layout: &Layout| Ragged::from_fn(layout, |e, i| ((e * 7 + i) % 11) as f32).unwrap();
        let healthy = [
            Matrices {
                entries: values(&lengths(&[])),
                grid: grid.clone(),
            },
            // In the second row of the first matrix, and of the second matrix, one entry is empty.
            Matrices {
                entries: values(&lengths(&[4, 15])),
                grid: self::grid(&[[4, 3], [3, 4]]),
            },
        ];
        for (what, multiply) in [
            ("conv", (|x, y| x.conv_matmul(y)) as Multiply<f32>),
            ("kron", |x, y| x.kron_matmul(y)),
        ] {
            let expected = run(device, &healthy, multiply);
            let mut sick = healthy.clone();
            // Entry (1, 1) of the first matrix, whose partners are entries 3, 4 (empty) and 5.
            let begin = sick[0].entries.layout().offsets().range(5).start;
            sick[0].entries.values_mut()[begin + 2] = f32::NAN;
            let got = run(device, &sick, multiply);
            for entry in 0..got.len() {
                let (x, y) = (got.row(entry), expected.row(entry));
                match entry {
                    3 | 5 => assert!(x.iter().any(|v| v.is_nan()), "{what} {length}: {entry}"),
                    _ => assert_eq!(x, y, "{what} {length}: entry {entry}"),
                }
            }
        }
    }
}

/// A matrix gives the same bits alone and at any position in a batch.
pub(super) fn alone(device: &Device) {
    for case in cases() {
        let [a, b] = case.floats();
        let whole = run(device, &[a.clone(), b.clone()], |x, y| x.conv_matmul(y));
        let mut first = 0;
        for (matrix, extents) in case.extents.iter().enumerate() {
            let got = run(device, &[a.one(matrix), b.one(matrix)], |x, y| {
                x.conv_matmul(y)
            });
            let entries: Vec<usize> = (first..first + extents[0] * extents[2]).collect();
            first += entries.len();
            let what = format!("{}, matrix {matrix}", case.name);
            assert_identical(what, &got, &pick(&whole, &entries));
        }
    }
}

/// Entries inside a larger batch, at a base offset.
pub(super) fn views(device: &Device) {
    for case in cases() {
        let both = case.floats();
        let expected = run(device, &both, |x, y| x.conv_matmul(y));
        let [x, y] = both.map(|matrices| {
            let rows = [vec![f32::NAN; 3], vec![], vec![f32::NAN; 2]];
            let rows = rows.into_iter().chain(matrices.entries.to_vecs().unwrap());
            let rows: Vec<Vec<f32>> = rows.chain([vec![f32::NAN; 9]]).collect();
            let all = upload(device, &Ragged::from_rows(rows).unwrap());
            let entries = all.elements(3..3 + matrices.entries.len()).unwrap();
            ShapeMatrix::new(&entries, &matrices.grid).unwrap()
        });
        let got = x.conv_matmul(&y).unwrap();
        assert_identical(case.name, &download(got.entries()), &expected);
    }
}

pub(super) fn deterministic(device: &Device) {
    for case in cases() {
        let both = case.floats();
        let first = run(device, &both, |x, y| x.conv_matmul(y));
        assert_identical(
            case.name,
            &run(device, &both, |x, y| x.conv_matmul(y)),
            &first,
        );
    }
}

/// A matrix that keeps its shapes through a loop keeps its layouts.
pub(super) fn planned_once(device: &Device) {
    let one = ShapeMatrix::<f32>::identity(device, [2, 3]).unwrap();
    let first = one.conv_matmul(&one).unwrap();
    let mut x = one.add(&first).unwrap();
    for _ in 0..3 {
        x = x.conv_matmul(&one).unwrap().add(&one).unwrap();
        assert!(std::ptr::eq(x.grid().extents(), one.grid().extents()));
    }
    assert_eq!(download(x.entries()).row(0), [5.0]);
}
