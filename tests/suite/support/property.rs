//! Properties: laws that hold for any batches that proptest generates.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vsla::{Device, Layout, Ragged, Shape};

use super::corpus::SEED;

/// Tests a law on inputs that are the same in every run, with fewer inputs on a GPU, which may be a software one.
#[track_caller]
pub fn on<S: Strategy>(device: &Device, inputs: S, law: impl Fn(S::Value)) {
    let config = Config {
        cases: if device.is_gpu() { 24 } else { 128 },
        failure_persistence: None,
        max_shrink_iters: 256,
        ..Config::default()
    };
    let seed = SEED.to_le_bytes().repeat(4);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let outcome = TestRunner::new_with_rng(config, rng).run(&inputs, |input| {
        law(input);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// A value; sums and products of such values sometimes wrap.
fn integer() -> impl Strategy<Value = i32> {
    prop_oneof![4 => -9..=9i32, 1 => any::<i32>()]
}

/// A series.
fn row() -> impl Strategy<Value = Vec<i32>> {
    prop_oneof![8 => vec(integer(), 0..9), 1 => vec(integer(), 0..200)]
}

/// A batch of up to 12 series.
pub fn batch() -> impl Strategy<Value = Ragged<i32>> {
    vec(row(), 0..12).prop_map(ragged)
}

/// Two batches with the same number of series.
pub fn two_batches() -> impl Strategy<Value = (Ragged<i32>, Ragged<i32>)> {
    vec((row(), row()), 0..12).prop_map(|rows| {
        let (a, b): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        (ragged(a), ragged(b))
    })
}

/// Three batches with the same number of series.
pub fn three_batches() -> impl Strategy<Value = [Ragged<i32>; 3]> {
    vec([row(), row(), row()], 0..6).prop_map(|rows| {
        [0, 1, 2].map(|side| ragged(rows.iter().map(|row| row[side].clone()).collect()))
    })
}

/// `N` batches of equal rank and size, each as it is and with its elements zero-padded.
pub fn classes<const N: usize>(
    ranks: RangeInclusive<usize>,
) -> impl Strategy<Value = [[Ragged<i32>; 2]; N]> {
    // Enough values for the largest possible element, whose extents are up to 3.
    let element = || (vec((0..4usize, 0..3usize), 3), vec(integer(), 27));
    let elements = vec(vec(element(), N), 0..5);
    (ranks, elements).prop_map(|(rank, elements)| {
        std::array::from_fn(|side| {
            let shapes = |longer: usize| {
                elements.iter().map(move |element: &Vec<Scalar>| {
                    let extents = element[side].0.iter().take(rank);
                    let extents: Vec<_> = extents.map(|(own, more)| own + longer * more).collect();
                    Shape::new(&extents).expect("a small shape")
                })
            };
            let layout = Layout::from_shapes(rank, shapes(0)).expect("a small layout");
            let own = Ragged::from_fn(&layout, |element, i| elements[element][side].1[i]).unwrap();
            let layout = Layout::from_shapes(rank, shapes(1)).expect("a small layout");
            let longer = resized(&own, &layout);
            [own, longer]
        })
    })
}

/// (Extent, padding) for each axis, and values.
type Scalar = (Vec<(usize, usize)>, Vec<i32>);

/// The minimal representative of each element: without trailing zeros.
pub fn shrunk<T: Copy + Default + PartialEq>(batch: &Ragged<T>) -> Ragged<T> {
    let rank = batch.layout().rank();
    let least = batch.layout().shapes().enumerate().map(|(element, shape)| {
        let mut least = vec![0; rank];
        for (i, _) in batch
            .row(element)
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != T::default())
        {
            for (axis, place) in place(i, &shape).enumerate() {
                least[axis] = least[axis].max(place + 1);
            }
        }
        Shape::new(&least).expect("no larger than it was")
    });
    let layout = Layout::from_shapes(rank, least).expect("no larger than it was");
    resized(batch, &layout)
}

/// Every element cut or zero-padded to another shape.
fn resized<T: Copy + Default>(batch: &Ragged<T>, layout: &Layout) -> Ragged<T> {
    Ragged::from_fn(layout, |element, i| {
        let shape = batch.shape(element);
        let strides = shape.strides();
        let mut at = 0;
        for (axis, place) in place(i, &layout.shape(element)).enumerate() {
            if place >= shape.extents()[axis] as usize {
                return T::default();
            }
            at += place * strides[axis] as usize;
        }
        batch.row(element)[at]
    })
    .unwrap()
}

/// The position of the i-th value of an element: an index along each axis.
fn place(i: usize, shape: &Shape) -> impl Iterator<Item = usize> + use<> {
    let (shape, strides) = (*shape, shape.strides());
    (0..shape.rank()).map(move |axis| i / strides[axis] as usize % shape.extents()[axis] as usize)
}

fn ragged(rows: Vec<Vec<i32>>) -> Ragged<i32> {
    Ragged::from_rows(rows).expect("a small batch")
}
