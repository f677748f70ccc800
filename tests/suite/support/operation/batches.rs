//! Batches for tests, and their upload and download.

use vsla::{
    Device, Layout, Ragged, Shape, Tensor,
    batch::PairList,
    scalar::{DType, Scalar},
};

use crate::support::corpus::Case;
use crate::support::number::Number;

/// Floats if `T` is f32, `None` otherwise.
pub(super) fn floats_as<T: Number>(case: &Case) -> Option<(Ragged<T>, Ragged<T>)> {
    (T::DTYPE == DType::F32).then(|| {
        let (a, b) = case.floats();
        (
            a.cast(|value| bytemuck::cast(value)).unwrap(),
            b.cast(|value| bytemuck::cast(value)).unwrap(),
        )
    })
}

/// Floats if `T` is f32, integers otherwise.
pub(super) fn any<T: Number>(case: &Case) -> (Ragged<T>, Ragged<T>) {
    floats_as(case).unwrap_or_else(|| case.integers())
}

/// The indices of at most a dozen elements, including the longest of either side.
pub(super) fn some_elements<T: Copy>(a: &Ragged<T>, b: &Ragged<T>) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..a.len()).step_by(a.len().div_ceil(10).max(1)).collect();
    for side in [a, b] {
        chosen.extend((0..side.len()).max_by_key(|&i| side.row(i).len()));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The given elements, in the given order.
pub fn pick<T: Copy>(batch: &Ragged<T>, elements: &[usize]) -> Ragged<T> {
    let shapes = elements.iter().map(|&i| batch.layout().shape(i));
    let layout = Layout::from_shapes(batch.layout().rank(), shapes).unwrap();
    let values = elements
        .iter()
        .flat_map(|&i| batch.row(i).iter().copied())
        .collect();
    Ragged::from_parts(layout, values).unwrap()
}

/// The batch between elements of other lengths that are filled with poison values.
pub(super) fn embedded<T: Number>(
    batch: &Ragged<T>,
    before: &[usize],
    after: &[usize],
) -> Ragged<T> {
    let rank = batch.layout().rank();
    let stranger = |&length: &usize| {
        let mut extents = vec![1; rank];
        extents[rank - 1] = length;
        Shape::new(&extents).unwrap()
    };
    let shapes = before.iter().map(stranger).chain(batch.layout().shapes());
    let layout = Layout::from_shapes(rank, shapes.chain(after.iter().map(stranger))).unwrap();
    let poison = |lengths: &[usize]| vec![T::POISON; lengths.iter().sum()];
    let values = [poison(before), batch.values().to_vec(), poison(after)].concat();
    Ragged::from_parts(layout, values).unwrap()
}

/// These pairs.
pub fn pair_list(pairs: impl AsRef<[(u32, u32)]>) -> PairList {
    PairList::new(pairs.as_ref().iter().copied()).unwrap()
}

#[track_caller]
pub fn upload<T: Scalar>(device: &Device, batch: &Ragged<T>) -> Tensor<T> {
    device.upload(batch).unwrap()
}

#[track_caller]
pub fn download<T: Scalar>(tensor: &Tensor<T>) -> Ragged<T> {
    tensor.download_blocking().unwrap()
}

/// A rank-1 batch.
pub fn rows<T: Copy, const N: usize>(rows: [&[T]; N]) -> Ragged<T> {
    Ragged::from_rows(rows).unwrap()
}

/// A batch with a single element of this shape.
pub fn one<T: Copy>(extents: &[usize], values: &[T]) -> Ragged<T> {
    let shape = Shape::new(extents).unwrap();
    Ragged::from_shapes(values.to_vec(), extents.len(), [shape]).unwrap()
}
