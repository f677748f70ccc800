//! Every invalid input, with the resulting error, and the text of every error.

use libtest_mimic::Trial;
use vsla::{
    Error, Layout, Ragged, Shape,
    batch::{Offsets, Side},
};

use super::{lengths, shape};
use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let refusals = REFUSALS.iter().map(|case| {
        bench.host(&format!("refuses::{}", case.name), || {
            let error = (case.make)();
            assert_eq!(error.to_string(), case.text);
            assert_eq!((error.kind(), error.element()), (case.kind, case.element));
            assert!(case.text.starts_with(error.op()), "{}", case.text);
        })
    });
    let texts = bench.host("every_error_has_its_text", every_error_has_its_text);
    refusals.chain([texts]).collect()
}

/// An invalid call, and the error that it must return.
struct Refusal {
    name: &'static str,
    make: fn() -> Error,
    kind: &'static str,
    element: Option<usize>,
    text: &'static str,
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        name: "no_offsets",
        make: || Offsets::new([]).unwrap_err(),
        kind: "invalid_offsets",
        element: Some(0),
        text: "offsets: element 0 does not start at 0: expected a first offset of 0, got no offsets",
    },
    Refusal {
        name: "first_offset",
        make: || Offsets::new([2, 3]).unwrap_err(),
        kind: "invalid_offsets",
        element: Some(0),
        text: "offsets: element 0 does not start at 0: expected a first offset of 0, got 2",
    },
    Refusal {
        name: "decreasing_offsets",
        make: || Offsets::new([0, 2, 2, 7, 5, 4]).unwrap_err(),
        kind: "invalid_offsets",
        element: Some(3),
        text: "offsets: element 3 ends before it starts: expected an offset of at least 7, got 5",
    },
    Refusal {
        name: "total_of_lengths",
        make: || Layout::from_lengths([1, u32::MAX as usize - 1, 0, 1, 5]).unwrap_err(),
        kind: "size_overflow",
        element: Some(3),
        text: "offsets: element 3: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "total_of_lengths_of_unknown_number",
        make: || Offsets::from_lengths((0..9).filter(|i| i % 2 == 0).map(|_| 1 << 30)).unwrap_err(),
        kind: "size_overflow",
        element: Some(3),
        text: "offsets: element 3: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "one_length",
        make: || Offsets::from_lengths([0, usize::MAX, usize::MAX]).unwrap_err(),
        kind: "size_overflow",
        element: Some(1),
        text: "offsets: element 1: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "total_of_uniform_lengths",
        make: || Offsets::uniform(1 << 16, 1 << 16).unwrap_err(),
        kind: "size_overflow",
        element: Some(65535),
        text: "offsets: element 65535: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "number_of_elements",
        make: || Offsets::uniform(1 << 32, 0).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "offsets: a batch of 4294967296 elements exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "number_of_lengths",
        make: || Offsets::from_lengths(std::iter::repeat(0)).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "offsets: a batch of 18446744073709551615 elements exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "number_of_rows",
        make: || Ragged::from_rows(std::iter::repeat([0.0])).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "ragged: a batch of 18446744073709551615 elements exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "number_of_shapes",
        make: || Layout::from_shapes(2, std::iter::repeat(shape(&[0, 1]))).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "layout: a batch of 18446744073709551615 elements exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "total_of_shapes",
        make: || {
            Layout::from_shapes(2, [shape(&[1 << 16, (1 << 16) - 1]), shape(&[1 << 16, 1])])
                .unwrap_err()
        },
        kind: "size_overflow",
        element: Some(1),
        text: "offsets: element 1: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "total_of_rows",
        // Values without a size, so that 2³² of them take no memory.
        make: || Ragged::from_rows([&[(); 1 << 31], &[(); 1 << 31]]).unwrap_err(),
        kind: "size_overflow",
        element: Some(1),
        text: "ragged: element 1: the total number of values exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "product_of_extents",
        make: || Shape::new(&[1 << 16, 1 << 16]).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "shape: the product of the extents (65536, 65536) exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "product_that_wraps_to_zero",
        make: || Shape::new(&[1 << 31; 8]).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "shape: the product of the extents (2147483648, 2147483648, 2147483648, 2147483648, 2147483648, \
               2147483648, 2147483648, 2147483648) exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "one_extent",
        make: || Shape::new(&[0, 1 << 32]).unwrap_err(),
        kind: "size_overflow",
        element: None,
        text: "shape: the product of the extents (0, 4294967296) exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "product_of_ambient_extents",
        make: || {
            shape(&[1 << 20, 1])
                .ambient(&shape(&[1, 1 << 20]))
                .unwrap_err()
        },
        kind: "size_overflow",
        element: None,
        text: "ambient: the product of the extents (1048576, 1048576) exceeds the 32-bit index limit of 4294967295",
    },
    Refusal {
        name: "rank_0",
        make: || Shape::new(&[]).unwrap_err(),
        kind: "rank",
        element: None,
        text: "shape: expected a rank of 1 to 8, got 0",
    },
    Refusal {
        name: "rank_9",
        make: || Shape::new(&[1; 9]).unwrap_err(),
        kind: "rank",
        element: None,
        text: "shape: expected a rank of 1 to 8, got 9",
    },
    Refusal {
        name: "layout_of_rank_0",
        make: || Layout::from_shapes(0, []).unwrap_err(),
        kind: "rank",
        element: None,
        text: "layout: expected a rank of 1 to 8, got 0",
    },
    Refusal {
        name: "layout_of_rank_9",
        make: || Layout::from_shapes(9, []).unwrap_err(),
        kind: "rank",
        element: None,
        text: "layout: expected a rank of 1 to 8, got 9",
    },
    Refusal {
        name: "shape_of_another_rank",
        make: || {
            Layout::from_shapes(2, [shape(&[1, 1]), shape(&[3]), shape(&[1, 1, 1])]).unwrap_err()
        },
        kind: "rank",
        element: Some(1),
        text: "layout: element 1: expected a rank of 2, got 1",
    },
    Refusal {
        name: "ambient_of_another_rank",
        make: || shape(&[1, 2]).ambient(&shape(&[1])).unwrap_err(),
        kind: "rank",
        element: None,
        text: "ambient: expected a rank of 2, got 1",
    },
    Refusal {
        name: "too_few_values_for_lengths",
        make: || Ragged::from_lengths(vec![1.0], [1, 1]).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "ragged: expected 2 values, got 1",
    },
    Refusal {
        name: "too_many_values_for_offsets",
        make: || Ragged::from_offsets(vec![1, 2, 3], [0, 1]).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "ragged: expected 1 value, got 3",
    },
    Refusal {
        name: "too_few_values_for_shapes",
        make: || Ragged::from_shapes(vec![1, 2], 2, [shape(&[2, 2])]).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "ragged: expected 4 values, got 2",
    },
    Refusal {
        name: "too_few_values_for_a_layout",
        make: || Ragged::from_parts(lengths(&[3]), Vec::<f64>::new()).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "ragged: expected 3 values, got 0",
    },
    Refusal {
        name: "padded_array",
        make: || Ragged::from_padded(&[1, 2, 3, 4, 5], 3, &[1, 2]).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "from_padded: expected 6 values, got 5",
    },
    Refusal {
        name: "padded_array_of_impossible_size",
        make: || Ragged::from_padded(&[1], usize::MAX, &[1, 1]).unwrap_err(),
        kind: "value_count",
        element: None,
        text: "from_padded: expected 18446744073709551615 values, got 1",
    },
    Refusal {
        name: "row_longer_than_the_padding",
        make: || Ragged::from_padded(&[1, 2, 3, 4], 2, &[1, 3]).unwrap_err(),
        kind: "value_count",
        element: Some(1),
        text: "from_padded: element 1: expected at most 2 values, got 3",
    },
    Refusal {
        name: "range_beyond_the_batch",
        make: || lengths(&[1, 2, 3]).range(2..4).unwrap_err(),
        kind: "element_range",
        element: None,
        text: "range: the range 2..4 is not inside a batch of 3 elements",
    },
    Refusal {
        name: "range_that_ends_before_it_starts",
        #[allow(clippy::reversed_empty_ranges, reason = "this must be refused")]
        make: || lengths(&[1]).range(1..0).unwrap_err(),
        kind: "element_range",
        element: None,
        text: "range: the range 1..0 is not inside a batch of 1 element",
    },
];

/// The errors that no host container returns.
fn every_error_has_its_text() {
    let op = "conv";
    let errors = [
        (
            Error::BatchSize {
                op,
                left: 3,
                right: 5,
                pairing: true,
                spread: vec![],
            },
            "batch_size",
            None,
            "conv: expected batches of equal size, got 3 elements and 5; pair unequal batches by AllToAll or a \
             List",
        ),
        (
            Error::BatchSize {
                op,
                left: 1,
                right: 5,
                pairing: true,
                spread: vec![],
            },
            "batch_size",
            None,
            "conv: expected batches of equal size, got 1 element and 5; pair unequal batches by OneToAll, AllToAll \
             or a List",
        ),
        (
            Error::Shorter {
                op,
                pair: 2,
                axis: 1,
                left: 3,
                right: 5,
            },
            "shorter",
            Some(2),
            "conv: pair 2: the left operand has 3 values along axis 1 and the right one 5, and this mode keeps results by \
             the extents of the left one; swap the operands, or choose the one that counts with side()",
        ),
        (
            Error::BatchSize {
                op,
                left: 3,
                right: 5,
                pairing: false,
                spread: vec![],
            },
            "batch_size",
            None,
            "conv: expected batches of equal size, got 3 elements and 5",
        ),
        (
            Error::PairIndex {
                op,
                pair: 7,
                side: Side::Right,
                index: 5,
                len: 5,
            },
            "pair_index",
            Some(7),
            "conv: pair 7: the right index 5 is outside a batch of 5 elements",
        ),
        (
            Error::Pairing {
                op,
                expected: "a left batch of 1 element".into(),
                got: 2,
            },
            "pairing",
            None,
            "conv: expected a left batch of 1 element for this pairing, got 2; use AllToAll or a List",
        ),
        (
            Error::DeviceMismatch {
                op,
                left: "cpu".into(),
                right: "llvmpipe".into(),
            },
            "device_mismatch",
            None,
            "conv: expected both operands on one device, got cpu and llvmpipe; upload both through one Device or its \
             clones, or copy one with to_device",
        ),
        (
            Error::TooLarge {
                op,
                element: Some(2),
                what: "the result".into(),
                bytes: 20,
                limit: 10,
            },
            "too_large",
            Some(2),
            "conv: element 2: the result takes 20 bytes, above the device's limit of 10; split the batch or use the CPU",
        ),
        (
            Error::Unsupported {
                op,
                what: "512 invocations a workgroup".into(),
            },
            "unsupported",
            None,
            "conv: not supported: 512 invocations a workgroup",
        ),
        (
            Error::File {
                op: "read",
                at: 9,
                expected: "values of type f32".into(),
                got: "f64".into(),
            },
            "file",
            None,
            "read: at byte 9: expected values of type f32, got f64",
        ),
        (
            Error::Name {
                op: "read",
                expected: "the name of a batch in the file".into(),
                got: "x\n".into(),
            },
            "name",
            None,
            "read: expected the name of a batch in the file, got \"x\\n\"",
        ),
        (
            Error::Io {
                op: "write",
                what: "a/b.vsla".into(),
                kind: std::io::ErrorKind::StorageFull,
                message: "no space left".into(),
            },
            "io",
            None,
            "write: a/b.vsla: no space left",
        ),
        (
            Error::NoDevice {
                reason: "no adapter".into(),
            },
            "no_device",
            None,
            "device: no device available: no adapter",
        ),
        (
            Error::OutOfMemory {
                op,
                bytes: 20,
                available: Some(10),
            },
            "out_of_memory",
            None,
            "conv: out of memory: needed 20 bytes, 10 available; drop tensors or split the batch",
        ),
        (
            Error::OutOfMemory {
                op,
                bytes: 20,
                available: None,
            },
            "out_of_memory",
            None,
            "conv: out of memory: needed 20 bytes; drop tensors or split the batch",
        ),
        (
            Error::DeviceLost {
                op,
                reason: "reset".into(),
            },
            "device_lost",
            None,
            "conv: device lost: reset; open a new device",
        ),
        (
            Error::Gpu {
                op,
                message: "binding 3".into(),
            },
            "gpu",
            None,
            "conv: the GPU reported an error, which is a bug in vsla; please report it: binding 3",
        ),
    ];
    for (error, kind, element, text) in errors {
        assert_eq!(error.to_string(), text);
        assert_eq!((error.kind(), error.element()), (kind, element), "{text}");
        assert!(text.starts_with(error.op()), "{text}");
        assert_eq!(error.clone(), error);
    }
    fn shareable<T: std::error::Error + Send + Sync + 'static>() {}
    shareable::<Error>();
}
