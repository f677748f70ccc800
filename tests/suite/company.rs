//! An element's bits do not depend on its neighbours, its position or the number of threads. Lengths are mixed and
//! random, up to more than 8,192, so that an influence of one length's plan on another would be noticed.

mod boxes;
mod functions;
mod others;
mod products;
mod vectors;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Shape, Tensor, scalar::Scalar};

use crate::support::bench::{Bench, cpu, is_long, is_software};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("named_lengths", vectors::named),
        ("many_batches", vectors::many_batches),
    ]);
    let tables = [
        vectors::SUBJECTS,
        boxes::SUBJECTS,
        products::SUBJECTS,
        functions::SUBJECTS,
        others::SUBJECTS,
    ];
    for subject in tables.concat() {
        let name = subject.name;
        trials.extend(bench.on_each_device(name, move |device| subject.check(device)));
        let threads = format!("threads::{name}");
        trials.push(bench.host(&threads, move || subject.check_threads()));
    }
    trials
}

/// The bytes of every element of a result.
type Rows = Vec<Vec<u8>>;

/// An operation on the elements with these numbers. Returns the bytes of each element's result.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    /// The number of elements.
    count: usize,
    run: fn(&Device, &[usize]) -> Rows,
}

impl Subject {
    fn check(&self, device: &Device) {
        let all: Vec<usize> = (0..self.count).collect();
        let whole = (self.run)(device, &all);
        assert_eq!(whole.len(), self.count);
        assert!(whole.iter().any(|row| !row.is_empty()));
        // Processors are slow, and the last elements are the longest.
        let slow = !device.is_gpu() || is_software(device);
        let step = if slow && !is_long() { 15 } else { 1 };
        for &i in all.iter().rev().step_by(step) {
            let alone = (self.run)(device, &[i]);
            assert_same(self.name, device, i, &alone[0], &whole[i]);
        }
        let reversed: Vec<usize> = all.iter().rev().copied().collect();
        for (row, &i) in (self.run)(device, &reversed).iter().zip(&reversed) {
            assert_same(self.name, device, i, row, &whole[i]);
        }
    }

    fn check_threads(&self) {
        let all: Vec<usize> = (0..self.count).collect();
        let whole = (self.run)(cpu(), &all);
        for threads in [1, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let got = pool.build().unwrap().install(|| (self.run)(cpu(), &all));
            for (i, (row, expected)) in got.iter().zip(&whole).enumerate() {
                assert_same(
                    &format!("{}, {threads} threads", self.name),
                    cpu(),
                    i,
                    row,
                    expected,
                );
            }
        }
    }
}

#[track_caller]
fn assert_same(what: &str, device: &Device, element: usize, got: &[u8], expected: &[u8]) {
    if got != expected {
        let differ = got.iter().zip(expected).filter(|(x, y)| x != y).count();
        panic!(
            "{what}, {device:?}: element {element}: {differ} of {} bytes differ, {} expected",
            got.len(),
            expected.len(),
        );
    }
}

fn bytes<T: Scalar>(tensor: &Tensor<T>) -> Rows {
    let batch = download(tensor);
    let rows = batch.iter();
    rows.map(|row| bytemuck::cast_slice(row).to_vec()).collect()
}

/// The results of several operations on the same elements.
fn beside(parts: impl IntoIterator<Item = Rows>) -> Rows {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap();
    for part in parts {
        assert_eq!(part.len(), all.len());
        for (row, more) in all.iter_mut().zip(part) {
            row.extend(more);
        }
    }
    all
}

/// A value between −1 and 1 for element `i`, which does not depend on the other elements.
fn value(seed: usize, i: usize, at: usize) -> f32 {
    let mixed = (seed * 31 + i * 1009 + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 40) as f32) / (1u64 << 23) as f32 - 1.0
}

/// These elements of a batch of boxes, on the device.
fn boxes_of<T: Scalar, const R: usize>(
    device: &Device,
    picked: &[usize],
    extents: impl Fn(usize) -> [usize; R],
    value: impl Fn(usize, usize) -> T,
) -> Tensor<T> {
    let shapes = picked.iter().map(|&i| Shape::new(&extents(i)).unwrap());
    let layout = Layout::from_shapes(R, shapes).unwrap();
    upload(
        device,
        &Ragged::from_fn(&layout, |e, at| value(picked[e], at)).unwrap(),
    )
}
