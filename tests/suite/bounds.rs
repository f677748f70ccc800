//! No kernel reads or writes outside its buffers: random programs of all operations, and every kind of kernel over the
//! corpus, on an instrumented device.
//!
//! Operands start anywhere in buffers, most of which end where their data ends, and lengths and extents are at the
//! boundaries of what kernels process at once. A software device runs the corpus only, and the programs with
//! `VSLA_LONG=1`. With `VSLA_INSTRUMENTED=1`, variants that no program runs are listed,
//! and the GPUs of all other trials are instrumented as well.

mod attention;
mod corpus;
mod large;
mod products;
mod recorded;
mod series;
mod values;
mod variants;

pub use variants::every_variant_ran;

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::support::bench::{Bench, DeviceTest, assert_within, instrumented_gpu};
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![
        bench.on_gpu("copies_of_halves", instrumented_gpu, copies_of_halves),
        bench.on_fast_gpu("programs_of_values", instrumented_gpu, |device| {
            programs(device, "values", 60, values::program, values::KERNELS)
        }),
        bench.on_fast_gpu("programs_of_series", instrumented_gpu, |device| {
            programs(device, "series", 40, series::program, series::KERNELS)
        }),
        bench.on_fast_gpu("programs_of_products", instrumented_gpu, |device| {
            programs(device, "products", 40, products::program, products::KERNELS)
        }),
        bench.on_fast_gpu("random_programs", instrumented_gpu, random_programs),
        bench.host("every_kernel_is_in_a_program", every_kernel_is_in_a_program),
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
    trials.extend(corpus::tests(bench));
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

/// Runs `count` random programs. Then each operation must have succeeded, and each of these kernels must have run.
fn programs(
    device: &Device,
    purpose: &str,
    count: usize,
    program: fn(&mut Draw<'_>),
    kernels: &[&str],
) {
    let mut draw = Draw::new(device, rng(&format!("bounds of {purpose}")));
    let mut outside = BTreeSet::new();
    for turn in 0..count {
        draw.turn = turn;
        program(&mut draw);
        outside.extend(device.accesses_outside().unwrap());
    }
    assert!(outside.is_empty(), "outside of buffers: {outside:#?}");
    let never: Vec<_> = draw.tried.iter().filter(|(_, worked)| !**worked).collect();
    assert!(never.is_empty(), "never worked: {never:?}");
    KernelsRan::on(device).assert_stems(kernels);
}

/// The programs of the differential tests: any operations in sequence, on the results of earlier ones.
fn random_programs(device: &Device) {
    let mut rng = rng("bounds of random programs");
    for number in 0..600 {
        let bytes: Vec<u8> = (0..rng.usize(20..300)).map(|_| rng.u8(..)).collect();
        crate::programs::run(&bytes, device);
        let outside = device.accesses_outside().unwrap();
        assert!(
            outside.is_empty(),
            "program {number}: outside of buffers: {outside:#?}"
        );
    }
    let ran = KernelsRan::on(device).0;
    assert!(!ran.is_empty());
}

/// The kernels whose accesses an instrumented device has compared with the bounds; none if the device is not
/// instrumented.
struct KernelsRan(BTreeSet<String>);

impl KernelsRan {
    fn on(device: &Device) -> KernelsRan {
        KernelsRan(device.instrumented_kernels().into_iter().collect())
    }

    fn missing<'s>(&self, stems: &[&'s str]) -> Vec<&'s str> {
        let ran = |stem: &str| {
            self.0
                .iter()
                .any(|name| name.split('.').next() == Some(stem))
        };
        stems.iter().copied().filter(|stem| !ran(stem)).collect()
    }

    #[track_caller]
    fn assert_stems(&self, stems: &[&str]) {
        let missing = self.missing(stems);
        assert!(missing.is_empty(), "never ran: {missing:?} of {:?}", self.0);
    }
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

fn every_kernel_is_in_a_program() {
    let all: BTreeSet<String> = vsla::device::kernels()
        .into_iter()
        .filter_map(|(name, _)| Some(name.split('.').next()?.to_string()))
        .collect();
    let here = [
        values::KERNELS,
        series::KERNELS,
        products::KERNELS,
        ON_MATRICES,
    ]
    .concat();
    assert_eq!(all, here.into_iter().map(str::to_string).collect());
}

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
    /// The number of the program, which selects its kind in turn.
    turn: usize,
    /// For each operation, whether it has returned a result yet; many drawn operands are invalid.
    tried: BTreeMap<&'static str, bool>,
}

/// Lengths at the edges of tiles, quads, tables and transforms.
const LENGTHS: &[usize] = &[
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 77, 100, 127, 128, 129, 210, 255,
    257, 448, 449, 500, 1023, 1025, 2049, 4097,
];
const EXTENTS: &[usize] = &[0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33];

impl<'d> Draw<'d> {
    fn new(device: &'d Device, rng: fastrand::Rng) -> Draw<'d> {
        Draw {
            device,
            rng,
            turn: 0,
            tried: BTreeMap::new(),
        }
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(..all.len())]
    }

    fn shape(&mut self, rank: usize) -> Shape {
        let extents: Vec<usize> = match rank {
            1 => vec![self.of(LENGTHS)],
            2 => (0..2).map(|_| self.of(EXTENTS)).collect(),
            _ => (0..rank).map(|_| self.of(&EXTENTS[..8])).collect(),
        };
        Shape::new(&extents).unwrap()
    }

    fn layout(&mut self, rank: usize, elements: usize) -> Layout {
        let shapes: Vec<Shape> = (0..elements).map(|_| self.shape(rank)).collect();
        Layout::from_shapes(rank, shapes).unwrap()
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

    fn drawn<T: Value>(&mut self, rank: usize, elements: usize) -> Tensor<T> {
        let layout = self.layout(rank, elements);
        self.tensor(&layout)
    }

    /// Records the result of an operation; errors are ignored.
    fn ran<R>(&mut self, op: &'static str, result: Result<R>) -> Option<R> {
        *self.tried.entry(op).or_default() |= result.is_ok();
        result.ok()
    }
}
