//! Conversions from and to padded arrays.

use proptest::collection::vec;
use proptest::prelude::*;
use vsla::{Layout, Ragged, Shape};

use super::{layout, lengths, property, rows, shape};

pub(super) fn padding_waste() {
    let waste = |sizes: &[usize]| format!("{:.2} %", 100.0 * lengths(sizes).padding_waste());
    assert_eq!(waste(&[8, 15, 142, 7, 456]), "72.46 %");
    assert_eq!(waste(&[7, 7, 7]), "0.00 %");
    assert_eq!(lengths(&[8, 15, 142, 7, 456]).padded_total(), 5 * 456);
    assert_eq!(rows(&[&[1, 2, 3, 4], &[5, 6], &[]]).padding_waste(), 0.5);
    assert_eq!(layout(2, &[&[4, 1], &[1, 4]]).padding_waste(), 0.75);
    assert_eq!(layout(2, &[&[3, 0], &[0, 3]]).padding_waste(), 1.0);

    // Each element has one long axis: padded, this would be 8 · (2²⁸)⁸ values.
    let spikes: Vec<[usize; 8]> = (0..8)
        .map(|axis| std::array::from_fn(|i| if i == axis { 1 << 28 } else { 1 }))
        .collect();
    let spikes: Vec<&[usize]> = spikes.iter().map(|extents| extents.as_slice()).collect();
    let spikes = layout(8, &spikes);
    assert_eq!(spikes.padded_total(), u64::MAX);
    assert!((0.999..=1.0).contains(&spikes.padding_waste()));
}

pub(super) fn padded_round_trip() {
    property(vec(vec(any::<i32>(), 0..9), 0..40), |rows| {
        let batch = Ragged::try_from(rows.clone()).unwrap();
        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
        let width = batch.layout().max_length();
        let padded = batch.to_padded(-7).unwrap();
        assert_eq!(padded.len(), width * rows.len());
        assert_eq!(padded.len() as u64, batch.layout().padded_total());
        for (i, row) in rows.iter().enumerate() {
            let (own, padding) = padded[i * width..][..width].split_at(row.len());
            assert_eq!(own, row);
            assert!(padding.iter().all(|&value| value == -7));
        }
        assert_eq!(
            Ragged::from_padded(&padded, width, &lengths),
            Ok(batch.clone())
        );
        assert_eq!(batch.to_vecs().unwrap(), rows);
    });
}

pub(super) fn padded_boxes() {
    let extents = || prop::array::uniform3(0_usize..4);
    property(vec(extents(), 0..8), |shapes| {
        let shapes: Vec<Shape> = shapes.iter().map(|extents| shape(extents)).collect();
        let layout = Layout::from_shapes(3, shapes.iter().copied()).unwrap();
        let batch =
            Ragged::from_fn(&layout, |element, index| (1000 * element + index) as i64).unwrap();
        let padded = batch.to_padded(-1).unwrap();

        let axis = |axis: usize| {
            shapes
                .iter()
                .map(|s| s.extents()[axis] as usize)
                .max()
                .unwrap_or(0)
        };
        let [depth, height, width] = [axis(0), axis(1), axis(2)];
        assert_eq!(padded.len(), shapes.len() * depth * height * width);
        for (at, &value) in padded.iter().enumerate() {
            let (x, y) = (at % width, at / width % height);
            let (z, element) = (at / width / height % depth, at / width / height / depth);
            let extents = shapes[element].extents();
            let [d, h, w] = [0, 1, 2].map(|axis| extents[axis] as usize);
            let inside = z < d && y < h && x < w;
            let expected = if inside {
                (1000 * element + (z * h + y) * w + x) as i64
            } else {
                -1
            };
            assert_eq!(value, expected, "({z}, {y}, {x}) of element {element}");
        }
    });
}
