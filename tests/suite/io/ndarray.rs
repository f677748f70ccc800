//! Conversions from and to arrays of the ndarray crate.

use libtest_mimic::Trial;
use ndarray::{ArrayD, Axis, Slice, array};
use vsla::{Layout, Ragged, Shape};

use crate::support::bench::Bench;
use crate::support::corpus;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("ndarray::views", views),
        bench.host("ndarray::any_order", any_order),
        bench.host("ndarray::corpus", every_case),
        bench.host("ndarray::refused", refused),
    ]
}

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).unwrap()
}

fn views() {
    let shapes = [shape(&[2, 3]), shape(&[0, 4]), shape(&[1, 2])];
    let mut batch = Ragged::from_shapes((0..8).collect(), 2, shapes).unwrap();
    let first = batch.array(0).unwrap();
    assert_eq!(first, array![[0, 1, 2], [3, 4, 5]].into_dyn());
    assert_eq!(first.as_ptr(), batch.values().as_ptr(), "no copy");
    assert_eq!(batch.array(1).unwrap().shape(), [0, 4]);
    batch.array_mut(2).unwrap()[[0, 1]] = 70;
    batch.array_mut(0).unwrap().fill(1);
    assert_eq!(batch.values(), [1, 1, 1, 1, 1, 1, 6, 70]);
    let rows = Ragged::from_rows([vec![1.0, 2.0], vec![]]).unwrap();
    assert_eq!(rows.array(0).unwrap(), array![1.0, 2.0].into_dyn());
    assert_eq!(rows.array(1).unwrap().shape(), [0]);
}

/// Transposed, reversed, strided and partial arrays: only the order of indices matters.
fn any_order() {
    let whole = ArrayD::from_shape_fn(vec![4, 5, 6], |at| {
        (at[0] * 100 + at[1] * 10 + at[2]) as i32
    });
    let transposed = whole.view().reversed_axes();
    let mut strided = whole.view();
    strided.slice_each_axis_inplace(|axis| Slice::new(1, None, axis.axis.index() as isize + 1));
    let mut backwards = whole.view();
    backwards.invert_axis(Axis(2));
    let arrays = [whole.view(), transposed, strided, backwards];
    let batch = Ragged::from_arrays(3, arrays.clone()).unwrap();
    for (i, array) in arrays.iter().enumerate() {
        assert_eq!(batch.array(i).unwrap(), array, "{i}");
    }

    // Also for a padded array in column-major order.
    let layout = Layout::from_shapes(
        2,
        [
            shape(&[2, 3]),
            shape(&[5, 6]),
            shape(&[0, 2]),
            shape(&[5, 0]),
        ],
    );
    let layout = layout.unwrap();
    let expected = Ragged::from_fn(&layout, |element, i| {
        let wide = layout.shape(element).extents()[1] as usize;
        (element * 100 + i / wide * 10 + i % wide) as i32
    })
    .unwrap();
    assert_eq!(
        Ragged::from_padded_array(whole.view(), &layout).unwrap(),
        expected
    );
    let mut columns = ArrayD::zeros(vec![6, 5, 4]).reversed_axes();
    columns.assign(&whole);
    assert_eq!(columns.strides(), [1, 4, 20]);
    assert_eq!(
        Ragged::from_padded_array(columns.view(), &layout).unwrap(),
        expected
    );
}

fn every_case() {
    for case in [corpus::all(), corpus::boxes()].concat() {
        let (batch, _) = case.floats();
        if batch.layout().padded_total() > 1 << 22 {
            continue;
        }
        let arrays = (0..batch.len()).map(|i| batch.array(i).unwrap());
        let again = Ragged::from_arrays(batch.layout().rank(), arrays).unwrap();
        assert_eq!(again.layout(), batch.layout());
        assert!(again.cast(f32::to_bits).unwrap() == batch.cast(f32::to_bits).unwrap());
        let padded = batch.to_padded_array(-7.0).unwrap();
        assert_eq!(padded.shape()[0], batch.len());
        let again = Ragged::from_padded_array(padded.view(), batch.layout()).unwrap();
        assert!(again.cast(f32::to_bits).unwrap() == batch.cast(f32::to_bits).unwrap());
    }
}

fn refused() {
    let rows = Layout::from_lengths([2, 3]).unwrap();
    let of = |extents: &[usize], layout: &Layout| {
        let array = ArrayD::<u8>::zeros(extents);
        Ragged::from_padded_array(array.view(), layout).unwrap_err()
    };
    let (vector, matrix) = (array![1u8, 2].into_dyn(), array![[1u8]].into_dyn());
    let huge = u32::MAX as usize;
    let empty =
        Layout::from_shapes(4, [shape(&[1, 1, 1, 1]), shape(&[huge, huge, huge, 0])]).unwrap();
    let empty = Ragged::<u8>::zeros(&empty).unwrap();
    let wide = Layout::from_shapes(
        8,
        (0..8).map(|axis| {
            let mut extents = [1; 8];
            extents[axis] = 1000;
            shape(&extents)
        }),
    );
    let wide = Ragged::<u8>::zeros(&wide.unwrap()).unwrap();
    let cases = [
        (
            of(&[2, 2], &rows),
            "from_padded_array: element 1: expected the shape (2) at most, got (3)",
        ),
        (
            of(&[3, 3], &rows),
            "from_padded_array: expected 6 values, got 9",
        ),
        (
            of(&[2, 3, 1], &rows),
            "from_padded_array: expected a rank of 2, got 3",
        ),
        (
            Ragged::from_arrays(1, [vector.view(), matrix.view()]).unwrap_err(),
            "from_arrays: element 1: expected a rank of 1, got 2",
        ),
        (
            Ragged::from_arrays(0, [ArrayD::<u8>::zeros(vec![]).view()]).unwrap_err(),
            "shape: expected a rank of 1 to 8, got 0",
        ),
        (
            Ragged::<u8>::from_arrays::<ndarray::IxDyn>(9, []).unwrap_err(),
            "layout: expected a rank of 1 to 8, got 9",
        ),
        (
            Ragged::from_arrays(
                2,
                [ArrayD::<()>::from_elem(vec![1 << 20, 1 << 20], ()).view()],
            )
            .unwrap_err(),
            "from_arrays: element 0: the product of the extents (1048576, 1048576) exceeds the 32-bit index limit of \
             4294967295",
        ),
        (
            empty.array(1).unwrap_err(),
            "array: element 1: (4294967295, 4294967295, 4294967295, 0) exceeds the 32-bit index limit of 4294967295",
        ),
        (
            wide.to_padded_array(0).unwrap_err(),
            "to_padded_array: a padded array of 8 elements of rank 8, 8000 values, extents (1..=1000, 1..=1000, \
             1..=1000, 1..=1000, 1..=1000, 1..=1000, 1..=1000, 1..=1000) exceeds the 32-bit index limit of 4294967295",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(empty.array(0).unwrap().shape(), [1; 4]);
}
