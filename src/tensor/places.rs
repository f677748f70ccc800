//! The adjoints of slices and of selections from lines: values placed at a stride, boxes of given shapes, and values by
//! indices on the device.

use super::Tensor;
use super::run::Call;
use crate::ops::strided::{Begin, Cut, How};
use crate::ops::take::{How as Taking, Take};
use crate::ragged::{DType, Float, Layout, Ordered, Scalar, Shape};
use crate::{Complex32, Result};

impl<T: Scalar> Tensor<T> {
    /// Zeros of these shapes, with this batch at the first positions of these cuts: the adjoint of a
    /// [`strided_slice`](Self::strided_slice).
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) with the first element that has more values along an axis than its cut.
    pub(crate) fn place(&self, cuts: &[Cut], layout: &Layout) -> Result<Tensor<T>> {
        self.strided_with_layout(How::Place(cuts.to_vec()), layout)
    }

    /// Boxes of these shapes that begin at `begin` along each axis; zeros outside the element.
    pub(crate) fn boxes(&self, begin: &[Begin], layout: &Layout) -> Result<Tensor<T>> {
        self.strided_with_layout(How::Boxes(begin.to_vec()), layout)
    }
}

impl<T: Scalar> Tensor<T> {
    /// The values at these indices of each line along an axis, or of each element; zero for an index beyond the end.
    /// All other indices of a line must be distinct.
    pub(crate) fn take(&self, indices: &Tensor<u32>, axis: Option<usize>) -> Result<Tensor<T>> {
        self.taken(indices, Taking::Values { distinct: true }, axis)
    }

    /// Runs [`Take`] on this batch and these indices.
    pub(super) fn taken(
        &self,
        indices: &Tensor<u32>,
        how: Taking,
        axis: Option<usize>,
    ) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        let op = Take { how, dtype, axis };
        Call::new(&self.device, op, &[self.operand(), indices.operand()]).one()
    }
}

impl<T: Ordered> Tensor<T> {
    /// Zeros of this layout, with the values at these indices of each line; values whose index is beyond the end are
    /// dropped. The indices of a line must be distinct. The adjoint of [`take`](Self::take).
    pub(crate) fn put(
        &self,
        indices: &Tensor<u32>,
        axis: Option<usize>,
        layout: &Layout,
    ) -> Result<Tensor<T>> {
        let (how, dtype) = (Taking::Put, T::DTYPE);
        let op = Take { how, dtype, axis };
        let operands = [self.operand(), indices.operand(), self.shapes(layout)];
        Call::new(&self.device, op, &operands).one()
    }
}

impl<T: Float> Tensor<T> {
    /// For each value of a batch of this layout, the sum of the values of this batch whose index refers to it: the
    /// adjoint of [`take_along_axis`](Self::take_along_axis).
    pub(crate) fn take_slopes(
        &self,
        indices: &Tensor<u32>,
        axis: Option<usize>,
        layout: &Layout,
    ) -> Result<Tensor<T>> {
        let rows = self.view_as(&matrix(self.layout.total(), 1)?)?;
        rows.rows_by_place(indices, axis, layout)?.view_as(layout)
    }

    /// The same for rows of a matrix, one for each index: the sums are the rows of another matrix.
    fn rows_by_place(
        &self,
        indices: &Tensor<u32>,
        axis: Option<usize>,
        layout: &Layout,
    ) -> Result<Tensor<T>> {
        let (how, dtype) = (Taking::Places, DType::U32);
        let op = Take { how, dtype, axis };
        let operands = [self.shapes(layout), indices.operand()];
        let places: Tensor<u32> = Call::new(&self.device, op, &operands).one()?;
        let places = places.view_as(&Layout::from_lengths([indices.layout.total()])?)?;
        let width = self.layout.extents()[1] as usize;
        self.embedding_slopes(&places, &matrix(layout.total(), width)?)
    }
}

impl Tensor<Complex32> {
    /// The same for complex values.
    pub(crate) fn complex_take_slopes(
        &self,
        indices: &Tensor<u32>,
        axis: Option<usize>,
        layout: &Layout,
    ) -> Result<Tensor<Complex32>> {
        let line = Layout::from_lengths([self.layout.total()])?;
        let rows = self.view_as(&line)?.view_as_real()?;
        let sums = rows.rows_by_place(indices, axis, layout)?;
        sums.view_as_complex()?.view_as(layout)
    }
}

/// The layout of one matrix.
fn matrix(rows: usize, width: usize) -> Result<Layout> {
    Layout::from_shapes(2, [Shape::new(&[rows, width])?])
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::f16;
    use crate::ragged::{Ragged, Shape};
    use crate::tensor::run::tests::devices;
    use crate::{Device, Error};

    /// Extents from 0 on, of one value and of many.
    fn layout(rank: usize, random: &mut fastrand::Rng) -> Layout {
        let most = [0, 30, 9, 5, 4][rank];
        let shape = |_| {
            let extents: Vec<usize> = (0..rank).map(|_| random.usize(..most)).collect();
            Shape::new(&extents).unwrap()
        };
        Layout::from_shapes(rank, (0..50).map(shape)).unwrap()
    }

    fn counted<T: Scalar>(layout: &Layout, value: impl Fn(usize) -> T) -> Ragged<T> {
        let offsets = layout.offsets().clone();
        Ragged::from_fn(layout, |e, i| value(offsets.range(e).start + i)).unwrap()
    }

    /// The row-major index of a place.
    fn index(place: &[i64], extents: &[u32]) -> Option<usize> {
        let mut at = 0;
        for (&k, &extent) in place.iter().zip(extents) {
            let k = usize::try_from(k).ok().filter(|&k| k < extent as usize)?;
            at = at * extent as usize + k;
        }
        Some(at)
    }

    /// The places of a box, row-major.
    fn places(extents: &[u32]) -> Vec<Vec<i64>> {
        let mut places = vec![vec![]];
        for &extent in extents {
            let longer =
                |place: Vec<i64>| (0..i64::from(extent)).map(move |k| [&place[..], &[k]].concat());
            places = places.into_iter().flat_map(longer).collect();
        }
        places
    }

    /// Zeros of these shapes. Where `from(element, axis, index)` gives a source index for every axis, the value is that
    /// of the source.
    fn read<T: Scalar>(
        x: &Ragged<T>,
        y: &Layout,
        from: impl Fn(usize, usize, i64) -> Option<i64>,
    ) -> Ragged<T> {
        let mut values = Vec::new();
        for e in 0..y.len() {
            for place in places(y.shape(e).extents()) {
                let along = place.iter().enumerate();
                let source: Option<Vec<i64>> = along.map(|(axis, &k)| from(e, axis, k)).collect();
                let at = source.and_then(|place| index(&place, x.shape(e).extents()));
                values.push(at.map_or(T::default(), |at| x.row(e)[at]));
            }
        }
        Ragged::from_parts(y.clone(), values).unwrap()
    }

    fn check<T: Scalar>(got: Result<Tensor<T>>, expected: &Ragged<T>, what: &str) {
        let got = got.unwrap().download_blocking().unwrap();
        assert!(&got == expected, "{what}, {}:\n{got}\n{expected}", T::DTYPE);
    }

    fn random_boxes<T: Scalar>(device: &Device, value: impl Fn(usize) -> T) {
        let mut random = fastrand::Rng::with_seed(1);
        for rank in 1..=4 {
            let (x, y) = (layout(rank, &mut random), layout(rank, &mut random));
            let whole = device.upload(&counted(&x, &value)).unwrap();
            for turn in 0..9 {
                let first = turn % 4;
                let (some, y) = (
                    whole.elements(first..50).unwrap(),
                    y.range(first..50).unwrap(),
                );
                let x = some.download_blocking().unwrap();
                let mut begin = || match random.usize(..4) {
                    0 => Begin::At(0),
                    1 => Begin::At(random.i64(-6..6)),
                    2 => Begin::Centred,
                    _ => Begin::ToEnd,
                };
                let begin: Vec<Begin> = (0..rank).map(|_| begin()).collect();
                let expected = read(&x, &y, |e, axis, k| {
                    let extent = |l: &Layout| i64::from(l.shape(e).extents()[axis]);
                    Some(match begin[axis] {
                        Begin::At(start) => k + start,
                        Begin::ToEnd => k + extent(x.layout()) - extent(&y),
                        Begin::Centred => k + (extent(x.layout()) - extent(&y)) / 2,
                    })
                });
                check(some.boxes(&begin, &y), &expected, &format!("{begin:?}"));
            }
        }
    }

    #[apply(unit_test)]
    fn boxes_begin_anywhere() {
        devices().iter().for_each(|device| {
            random_boxes(device, |i| i as i32 + 1);
            random_boxes(device, |i| Complex32::new(i as f32 + 0.5, -(i as f32)));
            random_boxes(device, |i| f16::from_bits(i as u16 % 0x7c00 + 1));
        });
    }

    /// Elements of several tiles, and of a few words.
    #[apply(unit_test)]
    fn long_vectors_are_aligned() {
        devices().iter().for_each(|device| {
            let x = Layout::from_lengths([70_001, 0, 5, 20_000, 3]).unwrap();
            let y = Layout::from_lengths([9_999, 4, 4, 33_333, 0]).unwrap();
            let x = counted(&x, |i| i as u32 + 1);
            for (begin, share) in [(Begin::ToEnd, 1), (Begin::Centred, 2)] {
                let expected = read(&x, &y, |e, _, k| {
                    Some(k + (x.layout().length(e) as i64 - y.length(e) as i64) / share)
                });
                let got = device.upload(&x).unwrap().boxes(&[begin], &y);
                check(got, &expected, &format!("{begin:?}"));
            }
        });
    }

    type Range = (Option<i64>, Option<i64>, i64);

    fn random_places<T: Scalar>(device: &Device, value: impl Fn(usize) -> T) {
        let mut random = fastrand::Rng::with_seed(2);
        for rank in 1..=4 {
            let whole = layout(rank, &mut random);
            let whole = device.upload(&counted(&whole, &value)).unwrap();
            for turn in 0..16 {
                let some = whole.elements(turn % 4..50).unwrap();
                let mut place = || random.bool().then(|| random.i64(-9..9));
                let mut ranges: Vec<Range> = (0..rank).map(|_| (place(), place(), 1)).collect();
                for range in &mut ranges {
                    range.2 = [1, 2, 3, -1, -2, -3][random.usize(..6)];
                    if random.usize(..4) == 0 {
                        *range = (None, None, 1);
                    }
                }
                let cuts: Vec<Cut> = ranges.iter().copied().map(Cut::new).collect();
                // Placing a slice's values back restores those that it took, and leaves zeros elsewhere.
                let indices = Ragged::from_fn(some.layout(), |_, i| i as u32 + 1).unwrap();
                let taken = device
                    .upload(&indices)
                    .unwrap()
                    .strided_slice(&ranges)
                    .unwrap();
                let taken = taken.download_blocking().unwrap();
                let x = some.download_blocking().unwrap();
                let kept = |e: usize| {
                    let mut kept = vec![T::default(); x.row(e).len()];
                    for &i in taken.row(e) {
                        kept[i as usize - 1] = x.row(e)[i as usize - 1];
                    }
                    kept
                };
                let values = (0..x.len()).flat_map(kept).collect();
                let expected = Ragged::from_parts(x.layout().clone(), values).unwrap();
                let sliced = some.strided_slice(&ranges).unwrap();
                let got = sliced.place(&cuts, some.layout());
                check(got, &expected, &format!("{ranges:?}"));
            }
        }
    }

    #[apply(unit_test)]
    fn places_are_those_of_a_slice() {
        devices().iter().for_each(|device| {
            random_places(device, |i| i as i32 + 1);
            random_places(device, |i| Complex32::new(i as f32 + 0.5, -(i as f32)));
            random_places(device, |i| f16::from_bits(i as u16 % 0x7c00 + 1));
        });
    }

    #[apply(unit_test)]
    fn goldens() {
        devices().iter().for_each(|device| {
            let x = Ragged::from_rows([vec![1, 2, 3], vec![4], vec![]]).unwrap();
            let x = device.upload(&x).unwrap();
            let layout = Layout::from_lengths([8, 3, 2]).unwrap();
            let placed = |range: Range| {
                let placed = x.place(&[Cut::new(range)], &layout).unwrap();
                placed.download_blocking().unwrap().to_vecs().unwrap()
            };
            let none = vec![0, 0];
            let expected = [vec![0, 1, 0, 0, 2, 0, 0, 3], vec![0, 4, 0], none.clone()];
            assert_eq!(placed((Some(1), None, 3)), expected);
            let expected = [vec![0, 0, 3, 0, 2, 0, 1, 0], vec![0, 4, 0], none.clone()];
            assert_eq!(placed((Some(-2), None, -2)), expected);
            let expected = [vec![0, 0, 0, 0, 0, 1, 2, 3], vec![4, 0, 0], none];
            assert_eq!(placed((Some(-3), None, 1)), expected);
            // A step that is longer than any element has one value.
            let one = x.elements(1..2).unwrap();
            let layout = Layout::from_lengths([4]).unwrap();
            for (step, expected) in [(i64::MAX, [4, 0, 0, 0]), (i64::MIN, [0, 0, 0, 4])] {
                let placed = one.place(&[Cut::new((None, None, step))], &layout).unwrap();
                assert_eq!(placed.download_blocking().unwrap().row(0), expected);
            }
        });
    }

    #[apply(unit_test)]
    fn what_does_not_fit_is_refused() {
        let x = Ragged::from_rows([vec![1, 2], vec![3, 4]]).unwrap();
        let x = Device::cpu().upload(&x).unwrap();
        let layout = Layout::from_lengths([3, 2]).unwrap();
        let refused =
            |range: Range, layout: &Layout| x.place(&[Cut::new(range)], layout).unwrap_err();
        let error = refused((None, None, 2), &layout);
        assert_eq!(
            error.to_string(),
            "place: element 1: expected the shape (1), or smaller extents, got (2)"
        );
        let error = refused((None, None, 0), &layout);
        assert!(matches!(error, Error::Argument { op: "place", .. }));
        let error = refused((None, None, 1), &Layout::from_lengths([3]).unwrap());
        assert!(matches!(error, Error::BatchSize { op: "place", .. }));
        assert!(x.place(&[], &layout).is_err());
        assert!(x.boxes(&[], &layout).is_err());
    }

    /// Distinct indices of each line, at most `most` of them and some beyond its end; and for each, the position of its
    /// value in the element.
    fn random_indices(
        x: &Layout,
        (axis, most): (Option<usize>, u32),
        random: &mut fastrand::Rng,
    ) -> (Ragged<u32>, Vec<Vec<Option<usize>>>) {
        let (mut shapes, mut all, mut places_of) = (Vec::new(), Vec::new(), Vec::new());
        for e in 0..x.len() {
            let extents_there = match axis {
                Some(_) => x.shape(e).extents().to_vec(),
                None => vec![x.length(e) as u32],
            };
            let a = axis.unwrap_or(0);
            let mut extents = extents_there.clone();
            extents[a] = random.u32(..extents_there[a] + 3).min(most);
            // The line's indices, shifted from line to line.
            let n = extents_there[a] + 4;
            let step = [1, n - 1][random.usize(..2)];
            let index = |place: &[i64]| {
                let line: i64 = place.iter().sum::<i64>() - place[a];
                (line as u32 + step * place[a] as u32) % n
            };
            let mut from = Vec::new();
            for place in places(&extents) {
                all.push(index(&place));
                let mut source = place.clone();
                source[a] = i64::from(index(&place));
                from.push(super::tests::index(&source, &extents_there));
            }
            places_of.push(from);
            shapes.push(
                Shape::new(&extents.iter().map(|&e| e as usize).collect::<Vec<_>>()).unwrap(),
            );
        }
        let layout =
            Layout::from_shapes(if axis.is_some() { x.rank() } else { 1 }, shapes).unwrap();
        (Ragged::from_parts(layout, all).unwrap(), places_of)
    }

    #[apply(unit_test)]
    fn values_by_index() {
        devices().iter().for_each(|device| {
            let mut random = fastrand::Rng::with_seed(3);
            let long = Layout::from_lengths([5000, 0, 3, 70_000]).unwrap();
            let mut layouts = vec![long];
            layouts.extend((1..=4).map(|rank| layout(rank, &mut random)));
            for whole in &layouts {
                let axes = (0..whole.rank()).map(Some).chain([None]);
                for (axis, most) in axes.flat_map(|axis| [(axis, u32::MAX), (axis, 1)]) {
                    let first = random.usize(..3);
                    let x = device.upload(&counted(whole, |i| i as f32 + 1.0)).unwrap();
                    let x = x.elements(first..whole.len()).unwrap();
                    let whole_values = x.download_blocking().unwrap();
                    let (indices, from) = random_indices(x.layout(), (axis, most), &mut random);
                    let on_device = device.upload(&indices).unwrap();
                    let value =
                        |e: usize, at: Option<usize>| at.map_or(0.0, |at| whole_values.row(e)[at]);
                    let rows = from.iter().enumerate();
                    let values: Vec<f32> = rows
                        .flat_map(|(e, from)| from.iter().map(move |&at| value(e, at)))
                        .collect();
                    let expected = Ragged::from_parts(indices.layout().clone(), values).unwrap();
                    let what = format!("{whole} along {axis:?}");
                    let taken = x.take(&on_device, axis).unwrap();
                    check(Ok(taken.clone()), &expected, &what);
                    // Back where they came from.
                    let mut back = Vec::new();
                    for (e, from) in from.iter().enumerate() {
                        let mut row = vec![0.0; whole_values.row(e).len()];
                        from.iter()
                            .flatten()
                            .for_each(|&at| row[at] = whole_values.row(e)[at]);
                        back.extend(row);
                    }
                    let expected = Ragged::from_parts(x.layout().clone(), back).unwrap();
                    check(taken.put(&on_device, axis, x.layout()), &expected, &what);
                }
            }
        });
    }

    #[apply(unit_test)]
    fn indices_of_other_shapes_are_refused() {
        let device = Device::cpu();
        let layout = Layout::from_shapes(2, [Shape::new(&[2, 3]).unwrap()]).unwrap();
        let other = Layout::from_shapes(2, [Shape::new(&[3, 3]).unwrap()]).unwrap();
        let x = device.full(&layout, 1.0f32).unwrap();
        let indices = device.full(&other, 0u32).unwrap();
        assert!(x.take(&indices, Some(0)).is_ok());
        assert!(matches!(
            x.take(&indices, Some(1)),
            Err(Error::Shape { op: "take", .. })
        ));
        assert!(matches!(
            x.put(&indices, Some(0), &layout),
            Err(Error::Shape { op: "put", .. })
        ));
        let vectors = device
            .full(&Layout::from_lengths([2]).unwrap(), 0u32)
            .unwrap();
        assert!(matches!(x.take(&vectors, Some(0)), Err(Error::Rank { .. })));
        assert!(x.take(&vectors, None).is_ok());
    }
}
