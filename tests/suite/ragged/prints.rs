//! The exact text that batches print.

use libtest_mimic::Trial;
use vsla::{Layout, Ragged};

use super::{counted, lengths, rows, shape};
use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let trial = |case: &'static Print| {
        let test = || assert_eq!((case.print)(), case.text);
        bench.host(&format!("prints::{}", case.name), test)
    };
    PRINTS.iter().map(trial).collect()
}

/// A batch and what it prints.
struct Print {
    name: &'static str,
    print: fn() -> String,
    text: &'static str,
}

const PRINTS: &[Print] = &[
    Print {
        name: "rows",
        print: || format!("{}", rows(&[&[0.5_f32, 1.0, 1e30], &[], &[-0.25]])),
        text: "\
Ragged<f32>: 3 rows, 4 values, lengths 0..=3
[[0.5, 1.0, 1e30],
 [],
 [-0.25]]",
    },
    Print {
        name: "with_a_precision",
        print: || format!("{:.3}", rows(&[&[1.0_f64 / 3.0, 2.0], &[1e-9]])),
        text: "\
Ragged<f64>: 2 rows, 3 values, lengths 1..=2
[[0.333, 2.000],
 [0.000]]",
    },
    Print {
        name: "with_a_width",
        print: || format!("{:4}", rows(&[&[1, -20], &[300]])),
        text: "\
Ragged<i32>: 2 rows, 3 values, lengths 1..=2
[[   1,  -20],
 [ 300]]",
    },
    Print {
        name: "debug_is_the_same",
        print: || format!("{:?}", rows(&[&[1_u32]])),
        text: "\
Ragged<u32>: 1 row, 1 value, lengths 1..=1
[[1]]",
    },
    Print {
        name: "eight_of_everything",
        print: || {
            format!(
                "{}",
                Ragged::from_fn(&lengths(&[0, 0, 0, 0, 0, 0, 0, 8]), |_, i| i).unwrap()
            )
        },
        text: "\
Ragged<usize>: 8 rows, 8 values, lengths 0..=8
[[],
 [],
 [],
 [],
 [],
 [],
 [],
 [0, 1, 2, 3, 4, 5, 6, 7]]",
    },
    Print {
        name: "shortened",
        print: || {
            let layout = lengths(&[1, 9, 456, 1, 1, 1, 2, 0, 1]);
            format!(
                "{}",
                Ragged::from_fn(&layout, |element, i| 1000 * element + i).unwrap()
            )
        },
        text: "\
Ragged<usize>: 9 rows, 472 values, lengths 0..=456
[[0],
 [1000, 1001, 1002, ..., 1006, 1007, 1008],
 [2000, 2001, 2002, ..., 2453, 2454, 2455],
 ...,
 [6000, 6001],
 [],
 [8000]]",
    },
    Print {
        name: "in_full",
        print: || {
            let layout = lengths(&[0, 9, 0, 0, 0, 0, 0, 0, 1]);
            format!("{:#}", Ragged::from_fn(&layout, |_, i| i as u8).unwrap())
        },
        text: "\
Ragged<u8>: 9 rows, 10 values, lengths 0..=9
[[],
 [0, 1, 2, 3, 4, 5, 6, 7, 8],
 [],
 [],
 [],
 [],
 [],
 [],
 [0]]",
    },
    Print {
        name: "matrices",
        print: || {
            format!(
                "{}",
                counted(2, &[&[2, 2], &[0, 4], &[3, 0], &[9, 1], &[1, 3]])
            )
        },
        text: "\
Ragged<i32>: 5 elements of rank 2, 16 values, extents (0..=9, 0..=4)
[[[0, 1],
  [2, 3]],

 [],

 [[],
  [],
  []],

 [[0],
  [1],
  [2],
  ...,
  [6],
  [7],
  [8]],

 [[0, 1, 2]]]",
    },
    Print {
        name: "rank_3",
        print: || format!("{}", counted(3, &[&[2, 1, 2], &[1, 2, 1]])),
        text: "\
Ragged<i32>: 2 elements of rank 3, 6 values, extents (1..=2, 1..=2, 1..=2)
[[[[0, 1]],

  [[2, 3]]],

 [[[0],
   [1]]]]",
    },
    Print {
        name: "an_empty_batch",
        print: || format!("{}", rows::<f32>(&[])),
        text: "\
Ragged<f32>: 0 rows, 0 values
[]",
    },
    Print {
        name: "an_empty_batch_of_matrices",
        print: || format!("{}", counted(2, &[])),
        text: "\
Ragged<i32>: 0 elements of rank 2, 0 values
[]",
    },
    Print {
        name: "one_element",
        print: || format!("{}", counted(2, &[&[1, 1]])),
        text: "\
Ragged<i32>: 1 element of rank 2, 1 value, extents (1..=1, 1..=1)
[[[0]]]",
    },
    Print {
        name: "a_layout",
        print: || {
            let layout = lengths(&[8, 15, 142, 7, 456]);
            format!("{layout}\n{layout:?}")
        },
        text: "\
5 rows, 628 values, lengths 7..=456
Layout(5 rows, 628 values, lengths 7..=456: [8, 15, 142, 7, 456])",
    },
    Print {
        name: "a_layout_of_matrices",
        print: || format!("{:?}", Layout::uniform(9, shape(&[3, 0])).unwrap()),
        text: "Layout(9 elements of rank 2, 0 values, extents (3..=3, 0..=0): \
               [(3, 0), (3, 0), (3, 0), ..., (3, 0), (3, 0), (3, 0)])",
    },
];
