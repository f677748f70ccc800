//! Properties: laws that hold for whatever batches proptest comes up with.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vsla::{Device, Ragged};

use super::corpus::SEED;

/// Runs a law on inputs that are the same every time, fewer of them on a GPU, which may be a software one.
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

/// A value that sums and products of wrap at times.
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

/// Two batches of as many series.
pub fn two_batches() -> impl Strategy<Value = (Ragged<i32>, Ragged<i32>)> {
    vec((row(), row()), 0..12).prop_map(|rows| {
        let (a, b): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        (ragged(a), ragged(b))
    })
}

/// Three batches of as many series.
pub fn three_batches() -> impl Strategy<Value = [Ragged<i32>; 3]> {
    vec([row(), row(), row()], 0..6).prop_map(|rows| {
        [0, 1, 2].map(|side| ragged(rows.iter().map(|row| row[side].clone()).collect()))
    })
}

fn ragged(rows: Vec<Vec<i32>>) -> Ragged<i32> {
    Ragged::from_rows(rows).expect("a small batch")
}
