//! Error messages for wrong operands: which operation, which element, what was expected, what was given, and what to
//! do.

use libtest_mimic::Trial;
use vsla::batch::Permutation;
use vsla::{
    Bsr, BsrTensor, Complex32, Device, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor,
    Topology, batch::Remainder, product::ShapeMatrix,
};

#[cfg(feature = "gpu")]
use crate::support::bench;
use crate::support::bench::Bench;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[("texts", texts)]);
    trials.push(bench.host("two_cpus", two_cpus));
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("two_gpus", bench::gpu, two_gpus));
    trials
}

/// Operands that do not match, on one device; `other` is on the CPU.
struct Operands {
    two: Tensor<f32>,
    three: Tensor<f32>,
    one: Tensor<f32>,
    value: Tensor<f32>,
    row: Tensor<f32>,
    matrices: Tensor<f32>,
    wide: Tensor<f32>,
    boxes: Tensor<f32>,
    spectra: Tensor<Complex32>,
    other: Tensor<f32>,
    sparse: BsrTensor<f32>,
    grid: ShapeMatrix<f32>,
    grid_of_three: ShapeMatrix<f32>,
    topology: Topology,
}

fn vectors(lengths: &[usize]) -> Layout {
    Layout::from_lengths(lengths.iter().copied()).unwrap()
}

fn shapes<const R: usize>(extents: &[[usize; R]]) -> Layout {
    let shapes = extents.iter().map(|extents| Shape::new(extents).unwrap());
    Layout::from_shapes(R, shapes).unwrap()
}

fn grid(device: &Device, extents: &[[usize; 2]]) -> ShapeMatrix<f32> {
    let grid = shapes(extents);
    let entries = vectors(&vec![1; grid.total()]);
    ShapeMatrix::new(&device.full(&entries, 1.0).unwrap(), &grid).unwrap()
}

impl Operands {
    fn new(device: &Device) -> Operands {
        let full = |layout: &Layout| upload(device, &Ragged::full(layout, 1.0f32).unwrap());
        let topology = Topology::new([16, 24], [8, 8], &[(0, 0)]).unwrap();
        let sparse = Bsr::new(&topology, vec![1.0f32; 64]).unwrap();
        Operands {
            two: full(&vectors(&[4, 2])),
            three: full(&vectors(&[1, 2, 3])),
            one: full(&vectors(&[3])),
            value: full(&vectors(&[1])),
            row: full(&vectors(&[4])),
            matrices: full(&shapes(&[[2, 4], [3, 4]])),
            wide: full(&shapes(&[[4, 4], [8, 4]])),
            boxes: full(&shapes(&[[1, 2, 3], [1, 1, 1]])),
            spectra: upload(
                device,
                &Ragged::full(&vectors(&[3, 2]), Complex32::ONE).unwrap(),
            ),
            other: upload(
                &Device::cpu(),
                &Ragged::full(&vectors(&[4, 2]), 1.0f32).unwrap(),
            ),
            sparse: device.upload_bsr(&sparse).unwrap(),
            grid: grid(device, &[[2, 3], [2, 2]]),
            grid_of_three: grid(device, &[[1, 1]; 3]),
            topology,
        }
    }
}

type Call = fn(&Operands) -> Result<()>;

macro_rules! calls {
    ($($call:expr => $text:expr,)*) => {
        &[$(((|x: &Operands| ($call)(x).map(drop)) as Call, $text)),*]
    };
}

fn texts(device: &Device) {
    let operands = Operands::new(device);
    let mut wrong = String::new();
    let of_devices = if device.is_gpu() { OF_TWO_DEVICES } else { &[] };
    for (call, expected) in TEXTS.iter().chain(of_devices) {
        let got = match call(&operands) {
            Ok(()) => "no error".to_owned(),
            Err(error) => {
                let text = error.to_string();
                // Each text begins with its operation, and is ASCII, which every terminal can show.
                assert!(
                    text.starts_with(&format!("{}: ", error.op())) && text.is_ascii(),
                    "{text}"
                );
                // `main` shows the error that it returns by `Debug`.
                assert_eq!(format!("{error:?}"), text);
                text
            }
        };
        // Device handles are numbered, and devices have different names.
        let place = got
            .find(" on one device, got ")
            .map(|at| at + " on one device, got ".len());
        let got = match (place, got.rfind("; upload both")) {
            (Some(from), Some(to)) => format!("{}A and B{}", &got[..from], &got[to..]),
            _ => got,
        };
        if got != *expected {
            wrong += &format!("\n  expected {expected}\n  got      {got}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const TEXTS: &[(Call, &str)] = calls! {
    // Batches of unequal size, for operations with and without pairings.
    |x: &Operands| x.two.add(&x.three) =>
        "add: expected batches of equal size, got 2 elements and 3; pair unequal batches by AllToAll or a List",
    |x: &Operands| x.one.sub(&x.three) =>
        "sub: expected batches of equal size, got 1 element and 3; pair unequal batches by OneToAll, AllToAll or \
         a List",
    |x: &Operands| x.three.hadamard(&x.one) =>
        "hadamard: expected batches of equal size, got 3 elements and 1; pair unequal batches by AllToOne, AllToAll \
         or a List",
    // One value, or one vector, for all elements: the calls that would spread it.
    |x: &Operands| x.two.greater(&x.value) =>
        "greater: expected batches of equal size, got 2 elements and 1; spread the only element of a batch by \
         `each()` (pass a constant as a scalar), since a pairing such as AllToAll combines values of equal index only and takes all others as missing",
    |x: &Operands| x.value.div(&x.two) =>
        "div: expected batches of equal size, got 1 element and 2; spread the only element of a batch by `each()` \
         (pass a constant as a scalar), since a pairing such as AllToAll combines values of equal index only and takes all others as missing",
    |x: &Operands| &x.matrices - &x.row =>
        "sub: expected batches of equal size, got 2 elements and 1; spread the only element of a batch by \
         `along(1)`, since a pairing such as AllToAll combines values of equal index only and takes all others as missing",
    |x: &Operands| x.two.mul_add(&x.value, &x.two) =>
        "mul_add: expected batches of equal size, got 2 elements and 1; spread the only element of a batch by `each()` \
         (pass a constant as a scalar)",
    |x: &Operands| x.two.concat_all(&[&x.two, &x.three], 0) =>
        "concat_all: expected batches of equal size, got 2 elements and 3",
    |x: &Operands| x.two.pair(&x.three, Pairing::Elementwise).map(drop) =>
        "pair: expected batches of equal size, got 2 elements and 3; pair unequal batches by AllToAll or a \
         List",
    |x: &Operands| x.two.pair(&x.three, Pairing::OneToAll).map(drop) =>
        "pair: expected a left batch of 1 element for this pairing, got 2; use AllToAll or a List",
    |x: &Operands| x.two.pair(&x.three, Pairing::AllToOne).map(drop) =>
        "pair: expected a right batch of 1 element for this pairing, got 3; use AllToAll or a List",
    |x: &Operands| x.two.pair(&x.three, Pairing::List(&pair_list([(0, 0), (2, 0)]))).map(drop) =>
        "pair: pair 1: the left index 2 is outside a batch of 2 elements",
    |x: &Operands| x.matrices.matmul(&x.boxes) => "matmul: expected a rank of 2, got 3",
    |x: &Operands| x.spectra.irfft(&vectors(&[4])) => "irfft: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.resize(&vectors(&[4])) => "resize: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.reshape(&vectors(&[4])) => "reshape: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.broadcast(&vectors(&[4])) => "broadcast: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.gather(&lists(&[&[0]])) => "gather: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.gather_paired(&lists(&[&[0]]), Pairing::Elementwise) =>
        "gather_paired: expected batches of equal size, got 2 elements and 1; pair unequal batches by AllToOne, \
         AllToAll or a List",
    |x: &Operands| x.two.scatter_add(&lists(&[&[0]]), &vectors(&[4])) =>
        "scatter_add: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.scatter_set(&lists(&[&[0]]), &vectors(&[4])) =>
        "scatter_set: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.scatter_add(&lists(&[&[0]]), &vectors(&[4, 4])) =>
        "scatter_add: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.scatter_set(&lists(&[&[0]]), &vectors(&[4, 4])) =>
        "scatter_set: expected batches of equal size, got 2 elements and 1",
    |x: &Operands| x.two.scatter_add_paired(&lists(&[&[0]]), &vectors(&[4, 4]), Pairing::OneToAll) =>
        "scatter_add_paired: expected a left batch of 1 element for this pairing, got 2; use AllToAll or a List",
    |x: &Operands| x.two.pair(&x.two, Pairing::Elementwise)?.conv_plan()?.conv(&x.three) =>
        "ConvPlan::conv: expected batches of equal size, got 3 elements and 2",
    |x: &Operands| x.two.pair(&x.two, Pairing::Elementwise)?.conv_plan()?.causal(&x.three) =>
        "ConvPlan::causal: expected batches of equal size, got 3 elements and 2",
    |x: &Operands| x.grid.add(&x.grid_of_three) => "add: expected batches of equal size, got 2 elements and 3",
    |x: &Operands| x.grid.conv_matmul(&x.grid_of_three) =>
        "conv_matmul: expected batches of equal size, got 2 elements and 3",
    |x: &Operands| BsrTensor::new(&x.topology, x.two.clone()) => "bsr: element 0: expected 64 values, got 4",
    |x: &Operands| x.two.reorder(&Permutation::new(vec![0, 1, 2])?) => "reorder: expected 2 elements, got 3",
    |x: &Operands| x.two.select(&[0, 2]) => "select: position 1: the index 2 is not below 2",
    |x: &Operands| x.two.split(&[1, 2]) => "split: expected 2 elements, got 3",
    |x: &Operands| x.two.elements(1..3) => "elements: the range 1..3 is not inside a batch of 2 elements",
    |x: &Operands| x.two.stack_groups(&[1, 2], 1 << 20) => "stack_groups: expected counts that add up to 2, got 3",
    |x: &Operands| x.matrices.unstack(&vectors(&[4, 4])) =>
        "unstack: expected batches of equal size, got 5 elements and 2",
    // Ranks.
    |x: &Operands| x.two.add(&x.matrices) => "add: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.concat(&x.matrices, 0) => "concat: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.concat_all(&[&x.matrices], 0) =>
        "concat_all: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.block_diag(&x.matrices) => "block_diag: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.conv(&x.matrices) => "conv: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.correlate(&x.matrices) => "correlate: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.matrices.correlate_max(&x.matrices) => "correlate_max: expected a rank of 1, got 2",
    |x: &Operands| x.matrices.sbd(&x.matrices) => "sbd: expected a rank of 1, got 2",
    |x: &Operands| x.two.dot(&x.matrices) => "dot: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.equivalent_blocking(&x.matrices) =>
        "equivalent: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.two.kron(&x.matrices) => "kron: expected a rank of 1, as in the left batch, got 2",
    |x: &Operands| x.matrices.matmul(&x.two) => "matmul: expected a rank of 2, got 1",
    |x: &Operands| x.two.matmul_ambient(&x.two) => "matmul_ambient: expected a rank of 2, got 1",
    |x: &Operands| x.matrices.rfft() => "rfft: expected a rank of 1, got 2",
    |x: &Operands| x.two.rfft2() => "rfft2: expected a rank of 2, got 1",
    |x: &Operands| x.spectra.fft2() => "fft2: expected a rank of 2, got 1",
    |x: &Operands| x.spectra.irfft2(&shapes(&[[2, 2], [2, 2]])) => "irfft2: expected a rank of 2, got 1",
    |x: &Operands| x.spectra.irfft(&shapes(&[[2, 2], [2, 2]])) => "irfft: expected a rank of 1, got 2",
    |x: &Operands| x.matrices.pair(&x.matrices, Pairing::Elementwise)?.conv_plan() =>
        "conv_plan: expected a rank of 1, got 2",
    |x: &Operands| x.two.pair(&x.two, Pairing::Elementwise)?.conv_plan()?.causal(&x.matrices) =>
        "ConvPlan::causal: expected a rank of 1, got 2",
    |x: &Operands| x.two.resize(&shapes(&[[1, 1], [1, 1]])) => "resize: expected a rank of 1, as in the batch, got 2",
    |x: &Operands| x.two.transpose(&[1, 0]) => "transpose: expected a permutation of the axes 0 to 0, got [1, 0]",
    |x: &Operands| x.two.slice(&[0, 0], &[1, 1]) => "slice: expected a rank of 1, as in the batch, got 2",
    |x: &Operands| x.two.pad(&[], &[]) => "pad: expected a rank of 1, as in the batch, got 0",
    |x: &Operands| x.two.pad(&[1], &[0, 1]) => "pad: expected a rank of 1, as in the batch, got 2",
    |x: &Operands| x.two.flip(&[1]) => "flip: expected distinct axes below 1, got [1]",
    |x: &Operands| x.two.unstack(&vectors(&[1])) => "unstack: expected a rank of 2 to 8, got 1",
    |x: &Operands| x.sparse.matmul(&x.two) => "matmul: expected a rank of 2, got 1",
    |x: &Operands| ShapeMatrix::new(&x.matrices, &shapes(&[[1, 2]])) => "shape_matrix: expected a rank of 1, got 2",
    |x: &Operands| x.matrices.degree_blocking() => "degree: expected a rank of 1, got 2",
    // Inner extents, and the transpose that would make them fit.
    |x: &Operands| x.matrices.matmul(&x.wide) =>
        "matmul: pair 1: expected equal inner extents, got 4 and 8; to make the pair fit, use product().transpose_right()",
    |x: &Operands| x.wide.matmul(&x.matrices) =>
        "matmul: pair 0: expected equal inner extents, got 4 and 2; to make the pair fit, use product().transpose_right()",
    |x: &Operands| x.matrices.matmul(&x.matrices) =>
        "matmul: pair 0: expected equal inner extents, got 4 and 2; to make the pair fit, use product().transpose_right()",
    |x: &Operands| square(x).transpose_left().run() =>
        "matmul: pair 1: expected equal inner extents, got 8 and 4; to make the pair fit, use the left factor as it is, \
         without transpose_left()",
    |x: &Operands| x.sparse.matmul(&x.wide.elements(0..1)?) =>
        "matmul: pair 0: expected equal inner extents, got 24 and 4",
    |x: &Operands| x.sparse.matmul(&x.wide.device().full(&shapes(&[[16, 2]]), 1.0)?) =>
        "matmul: pair 0: expected equal inner extents, got 24 and 16; to make the pair fit, use transpose() of the \
         block-sparse matrix",
    |x: &Operands| x.sparse.matmul(&x.wide.device().full(&shapes(&[[2, 24]]), 1.0)?) =>
        "matmul: pair 0: expected equal inner extents, got 24 and 2; to make the pair fit, use transpose(&[1, 0]) of the \
         dense matrix",
    |x: &Operands| x.wide.matmul(&x.sparse) => "matmul: pair 0: expected equal inner extents, got 4 and 16",
    |x: &Operands| x.grid.conv_matmul(&x.grid) =>
        "conv_matmul: pair 0: expected equal inner extents, got 3 and 2; to make the pair fit, use transpose() of the right \
         matrix",
    |x: &Operands| x.wide.product(&x.wide).sampled(&x.topology) =>
        "sampled: element 0: expected the shape (16, 4), got (4, 4)",
    |x: &Operands| square(x).sampled(&x.topology) => "sampled: element 0: expected the shape (16, 4), got (4, 4)",
    // Operands of the epilogue.
    |x: &Operands| square(x).bias(&x.three).run() =>
        "bias: expected 1 vector for all products, or 2, one for each right operand, got 3",
    |x: &Operands| square(x).bias(&x.matrices).run() => "bias: expected a rank of 1, got 2",
    |x: &Operands| square(x).residual(&x.wide.elements(0..1)?).run() => "residual: expected 2 elements, got 1",
    |x: &Operands| x.sparse.product(&tall(x)).bias(&x.two).run() => "bias: expected 1 vector, got 2",
    |x: &Operands| x.sparse.product(&tall(x)).bias(&x.three).run() => "bias: expected 1 vector, got 3",
    |x: &Operands| x.sparse.product(&tall(x)).residual(&x.one).run() =>
        "residual: element 0: expected the shape (16, 3), got (3)",
    // Arguments.
    |x: &Operands| x.two.concat(&x.two, 1) => "concat: expected an axis below the rank of 1, got 1",
    |x: &Operands| x.two.concat_all(&[&x.two], 1) => "concat_all: expected an axis below the rank of 1, got 1",
    |x: &Operands| x.boxes.pair(&x.boxes, Pairing::Elementwise)?.convolution().stride(&[1, 0, 1]).conv() =>
        "conv: expected strides of 1 or more, got 0",
    |x: &Operands| x.boxes.pair(&x.boxes, Pairing::Elementwise)?.convolution().stride(&[2]).correlate() =>
        "correlate: expected a stride for each axis, 3 in all, got 1",
    |x: &Operands| x.two.window(0, 1, 1 << 20) => "window: expected a size of at least 1, got 0",
    |x: &Operands| x.two.pyramid(&[0], Remainder::Pad, 1 << 20) => "pyramid: expected a size of at least 1, got 0",
    |x: &Operands| x.two.stack(4) => "stack: the result takes 32 bytes, above the call's limit of 4; raise the limit or pass fewer elements",
    |x: &Operands| x.spectra.irfft(&vectors(&[4, 9])) => "irfft: element 1: expected 5 values, got 2",
    |x: &Operands| x.two.scatter_add(&lists(&[&[0], &[2]]), &vectors(&[4, 2])) =>
        "scatter_add: element 0: expected the shape (1), got (4)",
    |x: &Operands| x.two.scatter_set(&lists(&[&[0, 1, 2, 3], &[1, 1]]), &vectors(&[4, 2])) =>
        "scatter_set: element 1: positions 0 and 1 both have the index 1; list each index once",
    |x: &Operands| x.two.reshape(&vectors(&[4, 3])) => "reshape: element 1: expected 2 values, got 3",
    |x: &Operands| x.two.broadcast(&vectors(&[4, 3])) =>
        "broadcast: element 1: expected the shape (2), with any extent in place of an extent of 1, got (3)",
    |x: &Operands| x.two.download_into_blocking(&mut [0.0; 3]) => "download: expected 6 values, got 3",
};

/// The other operands are on the CPU.
const OF_TWO_DEVICES: &[(Call, &str)] = calls! {
    |x: &Operands| x.two.add(&x.other) =>
        "add: expected both operands on one device, got A and B; upload both through one Device or its clones, or copy \
         one with to_device",
    |x: &Operands| x.two.conv(&x.other) =>
        "conv: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
    |x: &Operands| x.two.concat_all(&[&x.other], 0) =>
        "concat_all: expected both operands on one device, got A and B; upload both through one Device or its clones, \
         or copy one with to_device",
    |x: &Operands| x.two.join(&[&x.other]) =>
        "join: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
    |x: &Operands| x.two.pair(&x.other, Pairing::AllToAll).map(drop) =>
        "pair: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
    |x: &Operands| x.two.pair(&x.two, Pairing::Elementwise)?.conv_plan()?.causal(&x.other) =>
        "ConvPlan::causal: expected both operands on one device, got A and B; upload both through one Device or its \
         clones, or copy one with to_device",
    |x: &Operands| x.sparse.matmul(&x.other) =>
        "matmul: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
    |x: &Operands| square(x).bias(&x.other).run() =>
        "bias: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
    |x: &Operands| square(x).residual(&x.other).run() =>
        "residual: expected both operands on one device, got A and B; upload both through one Device or its clones, or \
         copy one with to_device",
};

fn lists(rows: &[&[u32]]) -> Indices {
    Indices::new(Ragged::from_rows(rows).unwrap()).unwrap()
}

/// Products of (4, 4) and (8, 4) by (4, 4) and (4, 4).
fn square(x: &Operands) -> vsla::product::Product<'_, f32> {
    x.wide
        .pair(&x.wide, Pairing::List(&pair_list([(0, 0), (1, 0)])))
        .unwrap()
        .product()
}

/// Matrices by which the block-sparse matrix can be multiplied.
fn tall(x: &Operands) -> Tensor<f32> {
    x.wide.device().full(&shapes(&[[24, 3]]), 1.0).unwrap()
}

/// All handles of the CPU are one device.
fn two_cpus() {
    let batch = Ragged::from_rows([vec![1.0f32, 2.0]]).unwrap();
    let [a, b] = [Device::cpu(), Device::cpu()];
    let (x, y) = (upload(&a, &batch), upload(&b, &batch));
    let total = |sum: Result<Tensor<f32>>| download(&sum.unwrap()).values().to_vec();
    assert_eq!(total(x.add(&y)), [2.0, 4.0]);
    let two = upload(&b, &Ragged::from_rows([[2.0f32]]).unwrap());
    assert_eq!(total(x.div(two.each())), [0.5, 1.0]);
    assert_eq!(total(x.mul_add(&y, &x)), [2.0, 6.0]);
    assert_eq!(x.join(&[&y, &x]).unwrap().len(), 3);
    assert_eq!(total(x.concat_all(&[&y], 0)), [1.0, 2.0, 1.0, 2.0]);
    assert_eq!(total(x.conv(&y)), [1.0, 4.0, 4.0]);
    // The values outlive the handle that holds their memory.
    let sum = x.add(&y).unwrap();
    drop((a, x));
    assert_eq!(total(y.add(&sum)), [3.0, 6.0]);
    drop((b, y));
    assert_eq!(download(&sum).values(), [2.0, 4.0]);
}

/// Separately opened GPUs are different devices, and clones are the same device.
#[cfg(feature = "gpu")]
fn two_gpus(device: &Device) {
    let batch = Ragged::from_rows([vec![1.0f32]]).unwrap();
    let other = bench::opened_for_one(|_| ());
    let (x, y) = (upload(device, &batch), upload(&other, &batch));
    for (op, refused) in [
        ("add", x.add(&y)),
        ("add", x.add(y.each())),
        ("div", x.each().div(&y)),
        ("maximum", x.maximum(y.along(0))),
        ("mul_add", x.mul_add(&y, &x)),
        ("mul_add", x.mul_add(x.each(), y.each())),
        ("join", x.join(&[&x, &y])),
        ("concat_all", x.concat_all(&[&x, &y], 0)),
    ] {
        let text = refused.unwrap_err().to_string();
        let (op_and_more, devices) = text.split_once("got ").unwrap();
        assert!(op_and_more.starts_with(&format!("{op}: ")), "{text}");
        let (left, right) = devices.split_once(" and ").unwrap();
        let help = "; upload both through one Device or its clones, or copy one with to_device";
        let right = right.strip_suffix(help);
        assert!(right.is_some_and(|right| right != left), "{text}");
    }
    assert!(x.add(&upload(&device.clone(), &batch)).is_ok());
    let there = y.to_device_blocking(device).unwrap();
    assert_eq!(download(&x.add(&there).unwrap()).values(), [2.0]);
}
