//! An element's bits do not depend on its neighbours, its position or the number of threads. Lengths are mixed and
//! random, up to more than 8,192, so that an influence of one length's plan on another would be noticed. These are
//! transforms and what uses them; `rows::alone` and `rows::threads` have the other operations.

mod boxes;
mod vectors;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Shape, Tensor, scalar::Scalar};

use crate::support::bench::{Bench, DeviceTest, cpu, is_hurried, is_long};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    // Of series of thousands of values, whose kernels a software GPU takes ten seconds to compile.
    let long: [DeviceTest; 2] = [
        ("named_lengths", vectors::named),
        ("many_batches", vectors::many_batches),
    ];
    let mut trials = Vec::new();
    for (name, test) in long {
        trials.extend(bench.on_each_device_if_fast(true, name, test));
    }
    for subject in [vectors::SUBJECTS, boxes::SUBJECTS].concat() {
        let name = subject.name;
        let test = move |device: &Device| subject.check(device);
        trials.extend(bench.on_each_device_if_fast(true, name, test));
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
        let slow = is_hurried(device) || !device.is_gpu() && !is_long();
        let step = if slow { 15 } else { 1 };
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
