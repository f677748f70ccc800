//! No kernel reads or writes outside its buffers: requests of all operations, and random programs, on an instrumented
//! device.
//!
//! Operands start anywhere in buffers, most of which end where their data ends, and lengths and extents are at the
//! boundaries of what kernels process at once. A software device runs fewer requests, and the programs with
//! `VSLA_LONG=1`. With `VSLA_INSTRUMENTED=1`, every variant runs that is not listed, and the GPUs of all other trials
//! are instrumented as well.

mod attention;
mod large;
mod rows;
mod variants;

pub use variants::every_variant_ran;

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::programs::{Program, STEPS};
use crate::support::bench::{Bench, DeviceTest, assert_within, instrumented_gpu};
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![
        bench.on_gpu("copies_of_halves", instrumented_gpu, copies_of_halves),
        bench.on_fast_gpu("random_programs", instrumented_gpu, random_programs),
        bench.host("unreached_variants", variants::list_is_true),
    ];
    let rare: [DeviceTest; 9] = [
        ("attention::f32", attention::every_variant::<f32>),
        ("attention::f16", attention::every_variant::<f16>),
        ("functions", variants::functions),
        ("transforms", variants::transforms),
        ("dense_products::f32", variants::dense_products::<f32>),
        ("dense_products::f16", variants::dense_products::<f16>),
        ("dense_products::integers", |device| {
            variants::dense_products::<i32>(device);
            variants::dense_products::<u32>(device);
        }),
        ("sparse_products::f32", variants::sparse_products::<f32>),
        ("sparse_products::f16", variants::sparse_products::<f16>),
    ];
    trials.extend(rare.into_iter().map(|(name, run)| {
        let name = format!("gpu::every_variant::{name}");
        bench.on_request(&name, "VSLA_INSTRUMENTED", move |_| {
            run(instrumented_gpu().unwrap());
        })
    }));
    trials.extend(rows::tests(bench));
    trials.extend(large::tests(bench));
    trials
}

/// A quad of f16 values at an odd offset spans two quads, the second of which may be past the end.
fn copies_of_halves(device: &Device) {
    for length in [1, 7, 8, 9, 15, 16, 119, 127] {
        let layout = Layout::from_lengths([length, 1]).unwrap();
        let x = device.full(&layout, f16::ONE).unwrap();
        x.elements(1..2).unwrap().copy().unwrap();
        assert_within(device);
    }
}

/// The programs of the differential tests: any operations in sequence, on the results of earlier ones.
fn random_programs(device: &Device) {
    let mut rng = rng("bounds of random programs");
    for number in 0..600 {
        let bytes: Vec<u8> = (0..rng.usize(20..300)).map(|_| rng.u8(..)).collect();
        Program::new(&bytes, STEPS, device, |_, _| true);
        let outside = device.accesses_outside().unwrap();
        assert!(
            outside.is_empty(),
            "program {number}: outside of buffers: {outside:#?}"
        );
    }
    assert!(!device.instrumented_kernels().is_empty());
}

/// Kernels for devices with cooperative matrices. The tests of products and attention run them instrumented there.
const ON_MATRICES: &[&str] = &[
    "attention_matrix",
    "attention_matrix_slopes",
    "attention_short",
    "matmul_matrix",
    "bsr_matrix",
    "bsr_matrix_sampled",
    "bsr_align",
];

/// A type of values that are made from integers.
trait Value: Scalar {
    fn of(i: u32) -> Self;
}

macro_rules! values {
    ($($t:ty: $of:expr;)+) => {$(
        impl Value for $t {
            fn of(i: u32) -> Self {
                $of(i)
            }
        }
    )+};
}

values! {
    u8: |i| i as u8;
    f32: |i| (i % 7) as f32 - 3.0;
    i32: |i| i as i32 % 7 - 3;
    u32: |i| i % 7;
    f16: |i| f16::from_f32((i % 7) as f32 - 3.0);
    Complex32: |i| Complex32::new((i % 7) as f32, (i % 3) as f32);
}

/// The state from which programs are drawn.
struct Draw<'d> {
    device: &'d Device,
    rng: fastrand::Rng,
}

impl<'d> Draw<'d> {
    fn new(device: &'d Device, rng: fastrand::Rng) -> Draw<'d> {
        Draw { device, rng }
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(..all.len())]
    }

    /// A batch of this layout at a random offset of a buffer, which usually ends with the batch.
    fn tensor<T: Value>(&mut self, layout: &Layout) -> Tensor<T> {
        let rank = layout.rank();
        let stranger = |length: usize| {
            let mut extents = vec![1; rank];
            extents[rank - 1] = length;
            Shape::new(&extents).unwrap()
        };
        let (before, after) = (self.rng.usize(..10), self.of(&[0, 0, 0, 1, 5]));
        let shapes = [stranger(before)]
            .into_iter()
            .chain(layout.shapes())
            .chain([stranger(after)]);
        let whole = Layout::from_shapes(rank, shapes).unwrap();
        let seed = self.rng.u32(..1000);
        let values = Ragged::from_fn(&whole, |element, i| {
            T::of(seed + (31 * element + 5 * i) as u32)
        })
        .unwrap();
        let whole = self.device.upload(&values).unwrap();
        whole.elements(1..1 + layout.len()).unwrap()
    }

    /// The result of an operation. Operands may be refused.
    fn ran<R>(&self, op: &'static str, result: Result<R>) -> Option<R> {
        let kind = result.as_ref().err().map(vsla::Error::kind);
        assert_ne!(kind, Some("gpu"), "{op}");
        result.ok()
    }
}
