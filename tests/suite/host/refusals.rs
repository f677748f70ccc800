//! Requests for gigabytes with a budget of 16 MiB.

use std::iter::{repeat_n, repeat_with};
use std::time::{Duration, Instant};

use vsla::{
    Bsr, Complex32, Error, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor, Topology,
    batch::{Offsets, Remainder},
    product::ShapeMatrix,
    scalar::Scalar,
};

use crate::support::allocation;
use crate::support::bench::cpu;

const LIMIT: u64 = 16 << 20;
/// The number of empty elements whose all-to-all pairs are just below 2³².
const MANY: usize = 65_535;
/// A number too large to count one by one within the time limit.
const BILLIONS: usize = 4_000_000_000;

fn empties<T: Scalar>(rank: usize, elements: usize) -> Tensor<T> {
    let layout = Layout::uniform(elements, Shape::new(&vec![0; rank]).unwrap()).unwrap();
    cpu().full(&layout, T::default()).unwrap()
}

/// One element without values, of these extents.
fn nothing<T: Scalar>(extents: &[usize]) -> Tensor<T> {
    let layout = Layout::uniform(1, Shape::new(extents).unwrap()).unwrap();
    cpu().full(&layout, T::default()).unwrap()
}

/// An iterator without a size hint that never ends.
fn endless<T>(value: impl FnMut() -> T) -> impl Iterator<Item = T> {
    repeat_with(value).filter(|_| true)
}

/// An iterator with a false size hint.
struct Liar;

impl Iterator for Liar {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (BILLIONS, None)
    }
}

fn refused<T>(name: &str, make: impl FnOnce() -> Result<T>) {
    let begun = Instant::now();
    let outcome = make();
    let took = begun.elapsed();
    match outcome {
        Err(Error::OutOfMemory {
            op,
            bytes,
            available,
        }) => {
            assert!(!op.is_empty() && bytes > 1 << 20, "{name}: {op} {bytes}");
            assert!(
                available.is_some_and(|left| left <= LIMIT),
                "{name}: {available:?}"
            );
        }
        Err(other) => panic!("{name}: {other}"),
        Ok(_) => panic!("{name}: not refused"),
    }
    assert!(took < Duration::from_secs(30), "{name} took {took:?}");
}

/// A refusal in the operation's own name.
fn named<T>(op: &str, make: impl FnOnce() -> Result<T>) {
    refused(op, || {
        make().inspect_err(|error| assert_eq!(error.op(), op))
    });
}

fn quick<T>(name: &str, make: impl FnOnce() -> Result<T>) -> T {
    let begun = Instant::now();
    let made = make().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{name} took {:?}",
        begun.elapsed()
    );
    made
}

pub fn all() {
    vsla::device::set_host_memory_limit(LIMIT);
    // The allocator refuses everything that the budget should have refused.
    allocation::refuse(u64::MAX, LIMIT as usize + 1);
    pairs();
    planes();
    constructors();
    conversions();
    products();
    lists();
    #[cfg(feature = "safetensors")]
    headers();
}

fn pairs() {
    let (a, b) = (empties::<f32>(1, MANY), empties::<f32>(1, MANY));
    let pair = a.pair(&b, Pairing::AllToAll).unwrap();
    named("conv", || pair.conv());
    named("correlate", || pair.correlate());
    named("conv", || pair.convolution().stride(&[2]).conv());
    named("correlate_max", || pair.correlate_max());
    named("sbd", || pair.sbd());
    named("dot", || pair.dot());
    named("equivalent", || pair.equivalent_blocking());
    named("add", || pair.add());
    named("sub", || pair.sub());
    named("hadamard", || pair.hadamard());
    named("concat", || pair.concat(0));
    named("block_diag", || pair.block_diag());
    named("kron", || pair.kron());
    named("outer", || pair.outer());
    named("eval", || pair.eval());
    refused("conv_choice", || pair.conv_choice());
    let (a, b) = (empties::<f32>(2, MANY), empties::<f32>(2, MANY));
    let pair = a.pair(&b, Pairing::AllToAll).unwrap();
    named("matmul", || pair.matmul());
    named("conv", || pair.conv());
    named("add", || pair.add());
    let lists = Indices::new(Ragged::from_lengths(vec![], repeat_n(0, MANY)).unwrap()).unwrap();
    named("gather_paired", || {
        a.gather_paired(&lists, Pairing::AllToAll)
    });
}

fn planes() {
    let tall = [u32::MAX as usize, 0];
    named("rfft2", || nothing::<f32>(&tall).rfft2());
    named("fft2", || nothing::<Complex32>(&tall).fft2());
    let stack = nothing::<f32>(&tall);
    named("unstack", || {
        stack.unstack(&Layout::from_lengths([]).unwrap())
    });
    let x = nothing::<f32>(&[0, 1, 1, 1]);
    named("pyramid", || {
        x.pyramid(&[BILLIONS], Remainder::Pad, u64::MAX)
    });
    // A window that is larger than the batch gives no stacks, whatever its size.
    let none = quick("window", || x.window(BILLIONS, 1, 0));
    assert_eq!(none.len(), 0);
    let grid = Layout::uniform(1, Shape::new(&[0, BILLIONS]).unwrap()).unwrap();
    let matrix = ShapeMatrix::new(&empties::<f32>(1, 0), &grid).unwrap();
    let transposed = quick("transpose", || matrix.transpose());
    assert_eq!(transposed.grid().shape(0).extents(), [BILLIONS as u32, 0]);
    refused("to_nested", || transposed.to_nested_blocking());
    let device = cpu();
    refused("identity", || {
        ShapeMatrix::<f32>::identity(device, repeat_n(0, BILLIONS))
    });
    refused("identity", || {
        ShapeMatrix::<f32>::identity(device, endless(|| 0))
    });
    let large = Layout::from_lengths([BILLIONS]).unwrap();
    named("full", || device.full(&large, 0.0f32));
    named("arange", || device.arange(&large, 0, 1));
    named("normal", || device.normal(&large, 0.0f32, 1.0, 1));
    let one = device
        .full(&Layout::from_lengths([1]).unwrap(), 0.0f32)
        .unwrap();
    named("broadcast", || one.broadcast(&large));
    named("resize", || one.resize(&large));
    named("pad", || one.pad(&[0], &[BILLIONS]));
    named("slice", || one.slice(&[0], &[BILLIONS as i64]));
}

fn constructors() {
    let empty = Shape::new(&[0, 0]).unwrap();
    named("offsets", || Offsets::uniform(BILLIONS, 0));
    named("offsets", || Offsets::from_lengths(repeat_n(0, BILLIONS)));
    named("offsets", || Offsets::from_lengths(Liar));
    named("offsets", || Offsets::from_lengths(endless(|| 0)));
    named("offsets", || Layout::uniform(BILLIONS, empty));
    named("layout", || {
        Layout::from_shapes(2, repeat_n(empty, BILLIONS))
    });
    named("layout", || Layout::from_shapes(2, endless(|| empty)));
    named("ragged", || Ragged::from_rows(repeat_n([0u8; 0], BILLIONS)));
    named("ragged", || Ragged::from_rows(endless(|| [0u8; 0])));
    named("ragged", || Ragged::from_rows(endless(|| [0u8; 4096])));
    let large = Layout::from_lengths([1_000_000_000]).unwrap();
    named("ragged", || Ragged::full(&large, 1u8));
    named("ragged", || Ragged::<f32>::zeros(&large));
    named("ragged", || {
        Ragged::from_fn(&large, |_, _| -> f32 {
            panic!("called for values without memory")
        })
    });
    named("random", || Ragged::random(&large, 1));
    let side = u32::MAX as usize - 200;
    named("topology", || Topology::new([side, 0], [8, 8], &[]));
    named("topology", || {
        Topology::from_unsorted([side, side], [8, 8], repeat_n((0, 0), BILLIONS))
    });
    named("topology", || {
        Topology::from_unsorted([8, 8], [8, 8], endless(|| (0, 0)))
    });
    named("topology", || Topology::causal([0, side], [8, 8]));
    named("topology", || {
        Topology::block_diagonal([side, side], [8, 8])
    });
    named("topology", || Topology::strided([0, side], [8, 8], 1));
    named("topology", || {
        Topology::random([80_000, 80_000], [8, 8], 5_000, 1)
    });
    named("topology", || Topology::from_mask([0, side], [8, 8], &[]));
    named("topology", || {
        Bsr::from_dense([0, side], [8, 8], &[0.0f32; 0], 0.0)
    });
    let begun = Instant::now();
    named("topology", || Topology::from_mask([side, 0], [8, 8], &[]));
    named("topology", || {
        Bsr::from_dense([side, 0], [8, 8], &[0.0f32; 0], 0.0)
    });
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    let shapes = Layout::uniform(1, Shape::new(&[20_000, 20_000]).unwrap());
    assert!(shapes.is_ok(), "one element takes no more for its values");
}

fn conversions() {
    // One row of 40,000 values, and as many empty ones.
    let rows = (0..40_000).map(|row| vec![1.0f32; if row == 0 { 40_000 } else { 0 }]);
    named("to_padded", || Ragged::from_rows(rows)?.to_padded(0.0));
    // A size that exceeds the address space.
    let wide = |axis: usize| {
        let mut extents = [0; 3];
        extents[axis] = u32::MAX as usize;
        Shape::new(&extents).unwrap()
    };
    let shapes = [wide(0), wide(1), wide(2)];
    named("to_padded", || {
        Ragged::from_shapes(vec![0.0f64; 0], 3, shapes)?.to_padded(0.0)
    });
    let topology = Topology::new([60_000, 60_000], [128, 128], &[(0, 0)]).unwrap();
    named("bsr", || {
        Bsr::new(&topology, vec![0.0f32; 128 * 128])?.to_dense()
    });
}

/// One long term among many short ones, all of which are transformed at its length: 200 MB of spectra, computed within
/// the budget.
fn products() {
    const TERMS: usize = 400;
    const LONG: usize = 20_000;
    let lengths = (0..TERMS).map(|j| if j == 7 { LONG } else { 1 });
    let layout = Layout::from_lengths(lengths).unwrap();
    let [row, column] = [[1, TERMS], [TERMS, 1]].map(|extents| {
        let grid = Layout::uniform(1, Shape::new(&extents).unwrap()).unwrap();
        ShapeMatrix::new(&cpu().full(&layout, 1.0f32).unwrap(), &grid).unwrap()
    });
    // All of the work on one thread, whose memory is counted.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1);
    let (product, peak) = one
        .build()
        .unwrap()
        .install(|| allocation::peak_in(|| row.conv_matmul(&column)));
    assert!(peak <= LIMIT as usize, "{peak} bytes");
    let sums = product.unwrap().entries().download_blocking().unwrap();
    for (at, &sum) in sums.row(0).iter().enumerate() {
        let terms = (at + 1).min(2 * LONG - 1 - at) + if at == 0 { TERMS - 1 } else { 0 };
        assert!((sum - terms as f32).abs() < 0.1, "{sum} of {terms} at {at}");
    }
}

/// A list with an item for each axis is not copied, and not printed, if it has a million.
fn lists() {
    const MANY: usize = 1 << 20;
    let x = empties::<f32>(2, 3);
    let (positions, widths, axes) = (vec![0; MANY], vec![0; MANY], vec![0; MANY]);
    let small = |kind: &str, op: &str, make: &dyn Fn() -> Result<Tensor<f32>>| {
        let (outcome, largest) = allocation::largest_in(make);
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.op()), (kind, op));
        assert!(largest < 4096, "{op}: {largest} bytes for {error}");
        assert!(error.to_string().len() < 200, "{error}");
    };
    small("rank", "slice", &|| x.slice(&positions, &positions));
    small("rank", "slice", &|| x.slice(&[0, 0], &positions));
    small("rank", "pad", &|| x.pad(&widths, &widths));
    small("argument", "flip", &|| x.flip(&axes));
    small("argument", "transpose", &|| x.transpose(&axes));
}

/// A header of 2 MB may take 16 times as much memory.
#[cfg(feature = "safetensors")]
fn headers() {
    let text = format!("{{{}}}", " ".repeat(2 << 20));
    let file = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    named("read", || {
        vsla::io::safetensors::Reader::new(std::io::Cursor::new(&file[..])).map(drop)
    });
}
