//! Compares the browser's GPU with the CPU device, kernel by kernel.
//!
//! Inputs are whole numbers so small that every result is exact, in whatever order a device sums. Both devices must
//! then give the same bits. Functions that round, and transforms, may differ within a bound.

use std::fmt::Debug;

use vsla::attention::Cache;
use vsla::batch::{PairList, Side};
use vsla::conv::{ConvMethod, ConvMode};
use vsla::image::{Components, ImageProgram, LabelBy, Machine, Neighbours, Place};
use vsla::product::Activation;
use vsla::scalar::Scalar;
use vsla::{
    Bsr, Complex32, Device, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor, Topology,
    device::wgpu, f16, product::ShapeMatrix,
};

/// Values that a check compares, as `f64`.
trait Comparable: Scalar + Debug {
    fn parts(self) -> [f64; 2];
}

macro_rules! comparable {
    ($($T:ty: $x:ident => $parts:expr;)*) => {
        $(impl Comparable for $T {
            fn parts(self) -> [f64; 2] {
                let $x = self;
                $parts
            }
        })*
    };
}

comparable! {
    f32: x => [x.into(), 0.0];
    f16: x => [x.into(), 0.0];
    i32: x => [x.into(), 0.0];
    u32: x => [x.into(), 0.0];
    Complex32: x => [x.re.into(), x.im.into()];
}

/// How far results may be apart: by this much of the largest value of the result, and by nothing where it is 0.
type Bound = f64;
const EXACT: Bound = 0.0;
/// For functions of single values and short sums.
const ROUNDED: Bound = 1e-5;
/// For transforms.
const TRANSFORMED: Bound = 1e-5;

/// The devices to compare, and where to report what has come out.
pub struct Checks {
    gpu: Device,
    cpu: Device,
    report: fn(&str, &str),
}

impl Checks {
    /// `report` gets the name of each check, and what is wrong, or nothing.
    pub fn new(gpu: Device, report: fn(&str, &str)) -> Checks {
        Checks {
            gpu,
            cpu: Device::cpu(),
            report,
        }
    }

    fn done(&self, name: &str, outcome: std::result::Result<(), String>) {
        (self.report)(name, &outcome.err().unwrap_or_default());
    }

    async fn check<T: Comparable>(
        &self,
        name: &str,
        bound: Bound,
        compute: impl Fn(&Device) -> Result<Tensor<T>>,
    ) {
        self.check_awaited(name, bound, async |device: &Device| compute(device))
            .await;
    }

    /// The same for calls that read back from the device.
    async fn check_awaited<T: Comparable>(
        &self,
        name: &str,
        bound: Bound,
        compute: impl AsyncFn(&Device) -> Result<Tensor<T>>,
    ) {
        let compared = async {
            let there = compute(&self.gpu)
                .await
                .map_err(|error| error.to_string())?;
            let there = there.download().await.map_err(|error| error.to_string())?;
            let here = compute(&self.cpu).await;
            let here = here.map_err(|error| format!("on the CPU: {error}"))?;
            let here = here.download().await.map_err(|error| error.to_string())?;
            compare(&there, &here, bound)
        };
        let outcome = compared.await;
        self.done(name, outcome);
    }
}

fn compare<T: Comparable>(
    there: &Ragged<T>,
    here: &Ragged<T>,
    bound: Bound,
) -> std::result::Result<(), String> {
    if there.layout() != here.layout() {
        return Err(format!("{} instead of {}", there.layout(), here.layout()));
    }
    let parts = |values: &[T]| values.iter().flat_map(|x| x.parts()).collect::<Vec<f64>>();
    let (a, b) = (parts(there.values()), parts(here.values()));
    let largest = b.iter().filter(|x| x.is_finite()).map(|x| x.abs());
    let most = bound * largest.fold(0.0, f64::max);
    let is_near =
        |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= most || a.is_nan() && b.is_nan();
    match a.iter().zip(&b).position(|pair| !is_near(pair)) {
        None => Ok(()),
        Some(i) => Err(format!(
            "value {} of {} is {:?} instead of {:?}",
            i / 2,
            here.values().len(),
            there.values()[i / 2],
            here.values()[i / 2]
        )),
    }
}

/// Whole numbers from −span to span, the same for a seed.
fn numbers(count: usize, seed: u32, span: i32) -> Vec<i32> {
    let mut state = seed.wrapping_mul(2_654_435_769).wrapping_add(12345);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) % (2 * span as u32 + 1)) as i32 - span
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn batch<T: Scalar>(
    device: &Device,
    layout: &Layout,
    seed: u32,
    to: fn(i32) -> T,
) -> Result<Tensor<T>> {
    let values = numbers(layout.total(), seed, 9).into_iter().map(to);
    device.upload(&Ragged::from_parts(layout.clone(), values.collect())?)
}

fn float(x: i32) -> f32 {
    x as f32
}

fn rows(lengths: &[usize]) -> Result<Layout> {
    Layout::from_lengths(lengths.iter().copied())
}

fn boxes(shapes: &[&[usize]]) -> Result<Layout> {
    let shapes: Result<Vec<Shape>> = shapes.iter().map(|extents| Shape::new(extents)).collect();
    Layout::from_shapes(shapes.as_ref().map_or(1, |all| all[0].rank()), shapes?)
}

/// Lengths around the sizes at which kernels change: none, one value, below and above a workgroup and a tile.
const LENGTHS: [usize; 9] = [5, 0, 1, 300, 64, 1025, 4, 2500, 17];
const OTHERS: [usize; 9] = [7, 3, 1, 200, 0, 1025, 9, 1200, 2];

fn vectors(device: &Device, seed: u32) -> Result<Tensor<f32>> {
    batch(device, &rows(&LENGTHS)?, seed, float)
}

fn others(device: &Device, seed: u32) -> Result<Tensor<f32>> {
    batch(device, &rows(&OTHERS)?, seed, float)
}

fn matrices(device: &Device, seed: u32) -> Result<Tensor<f32>> {
    batch(
        device,
        &boxes(&[&[3, 4], &[40, 70], &[1, 9], &[0, 5], &[65, 33]])?,
        seed,
        float,
    )
}

fn complex(device: &Device, seed: u32) -> Result<Tensor<Complex32>> {
    batch(device, &rows(&LENGTHS)?, seed, |x| {
        Complex32::new(x as f32, (x * 3 % 5) as f32)
    })
}

macro_rules! checks {
    ($all:ident: $($name:literal, $bound:expr, $compute:expr;)*) => {
        $($all.check($name, $bound, $compute).await;)*
    };
}

macro_rules! awaited_checks {
    ($all:ident: $($name:literal, $bound:expr, $compute:expr;)*) => {
        $($all.check_awaited($name, $bound, $compute).await;)*
    };
}

/// Runs every check. Kernels that a GPU in software compiles for minutes are left out: powers, remainders and angles.
pub async fn all(checks: &Checks) {
    kernels(checks).await;
    elementwise(checks).await;
    reductions(checks).await;
    convolutions(checks).await;
    products(checks).await;
    shapes(checks).await;
    order(checks).await;
    images(checks).await;
    networks(checks).await;
    types(checks).await;
    transfers(checks).await;
}

async fn elementwise(all: &Checks) {
    checks! { all:
        "add", EXACT, |d| vectors(d, 1)?.add(&others(d, 2)?);
        "sub", EXACT, |d| vectors(d, 1)?.sub(&others(d, 2)?);
        "hadamard", EXACT, |d| vectors(d, 1)?.hadamard(&others(d, 2)?);
        "maximum", EXACT, |d| vectors(d, 1)?.maximum(&others(d, 2)?);
        "minimum", EXACT, |d| vectors(d, 1)?.minimum(&others(d, 2)?);
        "less", EXACT, |d| vectors(d, 1)?.less(&others(d, 2)?);
        "equal", EXACT, |d| vectors(d, 1)?.equal(&others(d, 2)?);
        "div", ROUNDED, |d| vectors(d, 1)?.div(&vectors(d, 2)?.abs()?.add_scalar(1.0)?);
        "mul_add", EXACT, |d| vectors(d, 1)?.mul_add(&vectors(d, 2)?, &vectors(d, 3)?);
        "if_else", EXACT, |d| vectors(d, 1)?.less(&vectors(d, 2)?)?.if_else(&vectors(d, 3)?, &vectors(d, 4)?);
        "add of matrices", EXACT, |d| matrices(d, 1)?.add(&matrices(d, 2)?.transpose(&[1, 0])?);
        "hadamard of matrices", EXACT, |d| matrices(d, 1)?.hadamard(&matrices(d, 2)?.transpose(&[1, 0])?);
        "one value for each element", EXACT, |d| vectors(d, 1)?.add(vectors(d, 2)?.sum()?.each());
        "a vector along an axis", EXACT, |d| matrices(d, 1)?.hadamard(matrices(d, 2)?.sum_axis(0)?.along(1));
        "add with one to all", EXACT, |d| vectors(d, 1)?.elements(0..1)?.pair(&vectors(d, 2)?, Pairing::OneToAll)?.add();
        "add of all to all", EXACT, |d| vectors(d, 1)?.pair(&others(d, 2)?, Pairing::AllToAll)?.add();
        "add of a list of pairs", EXACT, |d| {
            let list = PairList::new(vec![(3, 0), (0, 3), (7, 7), (1, 1)])?;
            vectors(d, 1)?.pair(&others(d, 2)?, Pairing::List(&list))?.add()
        };
        "scale", EXACT, |d| vectors(d, 1)?.scale(-0.5);
        "neg", EXACT, |d| vectors(d, 1)?.neg();
        "add_scalar", EXACT, |d| vectors(d, 1)?.add_scalar(3.0);
        "square", EXACT, |d| vectors(d, 1)?.square();
        "abs", EXACT, |d| vectors(d, 1)?.abs();
        "sign", EXACT, |d| vectors(d, 1)?.sign();
        "clamp", EXACT, |d| vectors(d, 1)?.clamp(-2.0, 5.0);
        "floor", EXACT, |d| vectors(d, 1)?.scale(0.25)?.floor();
        "round", EXACT, |d| vectors(d, 1)?.scale(0.25)?.round();
        "relu", EXACT, |d| vectors(d, 1)?.relu();
        "exp", ROUNDED, |d| vectors(d, 1)?.exp();
        "log", ROUNDED, |d| vectors(d, 1)?.abs()?.add_scalar(1.0)?.log();
        "sqrt", ROUNDED, |d| vectors(d, 1)?.abs()?.sqrt();
        "sin", ROUNDED, |d| vectors(d, 1)?.scale(100.0)?.sin();
        "tanh", ROUNDED, |d| vectors(d, 1)?.tanh();
        "erf", ROUNDED, |d| vectors(d, 1)?.scale(0.125)?.erf();
        "gelu", ROUNDED, |d| vectors(d, 1)?.gelu();
        "sigmoid", ROUNDED, |d| vectors(d, 1)?.sigmoid();
        "softplus", ROUNDED, |d| vectors(d, 1)?.softplus();
        "powi", EXACT, |d| vectors(d, 1)?.powi(3);
        "map1, written by the application", EXACT, |d| {
            d.map1("3.0 * x + 1.0", |x: f32| 3.0 * x + 1.0)?.apply(&vectors(d, 1)?)
        };
    }
}

async fn reductions(all: &Checks) {
    checks! { all:
        "sum", EXACT, |d| vectors(d, 1)?.sum();
        "dot", EXACT, |d| vectors(d, 1)?.dot(&vectors(d, 2)?);
        "norm1", EXACT, |d| vectors(d, 1)?.norm1();
        "norm2", ROUNDED, |d| vectors(d, 1)?.norm2();
        "max", EXACT, |d| vectors(d, 1)?.max();
        "argmax", EXACT, |d| vectors(d, 1)?.argmax();
        "min", EXACT, |d| vectors(d, 1)?.min();
        "argmin", EXACT, |d| vectors(d, 1)?.argmin();
        "prod", EXACT, |d| vectors(d, 1)?.sign()?.prod();
        "sum of a long element", EXACT, |d| batch(d, &rows(&[200_000, 3])?, 5, float)?.sum();
        "sum_axis 0", EXACT, |d| matrices(d, 1)?.sum_axis(0);
        "sum_axis 1", EXACT, |d| matrices(d, 1)?.sum_axis(1);
        "max_axis", EXACT, |d| matrices(d, 1)?.max_axis(1);
        "argmin_axis", EXACT, |d| matrices(d, 1)?.argmin_axis(1);
        "sum_batch", EXACT, |d| vectors(d, 1)?.sum_batch();
        "sum_groups", EXACT, |d| vectors(d, 1)?.sum_groups(&[0, 1, 0, 2, 1, 0, 2, 1, 0], 3);
        "mean", ROUNDED, |d| vectors(d, 1)?.mean();
        "var", ROUNDED, |d| vectors(d, 1)?.var();
        "log_sum_exp", ROUNDED, |d| vectors(d, 1)?.log_sum_exp();
        "softmax", ROUNDED, |d| matrices(d, 1)?.softmax(1);
        "log_softmax", ROUNDED, |d| matrices(d, 1)?.log_softmax(1);
        "layer_norm", ROUNDED, |d| matrices(d, 1)?.layer_norm(1, 1e-5);
        "rms_norm", ROUNDED, |d| matrices(d, 1)?.rms_norm(1, 1e-5);
        "standardize", ROUNDED, |d| vectors(d, 1)?.standardize(0.0);
        "cumsum", EXACT, |d| vectors(d, 1)?.cumsum(0);
        "cumsum of matrices", EXACT, |d| matrices(d, 1)?.cumsum(0);
        "cummax", EXACT, |d| vectors(d, 1)?.cummax(0);
        "diff", EXACT, |d| vectors(d, 1)?.diff(0);
        "histogram", EXACT, |d| vectors(d, 1)?.histogram(7, -9.0..=9.0);
        "label", EXACT, |d| {
            let (labels, _) = matrices(d, 1)?.to::<i32>()?.label(Components::of_equal_values())?;
            Ok(labels)
        };
        "fill_holes", EXACT, |d| {
            matrices(d, 1)?.to::<i32>()?.fill_holes(Neighbours::Eight, 1, 9)
        };
        "histogram_edges", EXACT, |d| vectors(d, 1)?.histogram_edges(&[-9.0, -1.0, 0.5, 9.0]);
    }
}

async fn convolutions(all: &Checks) {
    let by = |method: ConvMethod| {
        move |d: &Device| {
            let (x, h) = (vectors(d, 1)?, others(d, 2)?);
            x.pair(&h, Pairing::Elementwise)?
                .convolution()
                .method(method)
                .conv()
        }
    };
    let images =
        |d: &Device, seed| batch(d, &boxes(&[&[30, 41], &[5, 5], &[64, 64]])?, seed, float);
    let kernels = |d: &Device, seed| batch(d, &boxes(&[&[3, 3], &[5, 1], &[2, 7]])?, seed, float);
    let lags = |d: &Device| vectors(d, 1)?.correlate_max(&vectors(d, 1)?);
    checks! { all:
        "conv", TRANSFORMED, |d| vectors(d, 1)?.conv(&others(d, 2)?);
        "conv, directly", EXACT, by(ConvMethod::Direct);
        "conv, by transforms", TRANSFORMED, by(ConvMethod::Fft);
        "conv of integers", EXACT, |d| batch::<i32>(d, &rows(&LENGTHS)?, 1, |x| x)?.conv(&batch(d, &rows(&OTHERS)?, 2, |x| x)?);
        "conv of all with all", TRANSFORMED, |d| vectors(d, 1)?.pair(&others(d, 2)?, Pairing::AllToAll)?.conv();
        "conv of long signals", TRANSFORMED, |d| batch(d, &rows(&[40_000, 9000])?, 1, float)?.conv(&batch(d, &rows(&[30_000, 9000])?, 2, float)?);
        "conv, same", EXACT, |d| vectors(d, 1)?.pair(&others(d, 2)?, Pairing::Elementwise)?.convolution().method(ConvMethod::Direct).mode(ConvMode::Same).side(Side::Left).conv();
        "conv with strides", EXACT, |d| vectors(d, 1)?.pair(&others(d, 2)?, Pairing::Elementwise)?.convolution().method(ConvMethod::Direct).stride(&[3]).conv();
        "correlate", TRANSFORMED, |d| vectors(d, 1)?.correlate(&others(d, 2)?);
        "conv of images", EXACT, |d| images(d, 1)?.conv(&kernels(d, 2)?);
        "conv of images, valid", EXACT, |d| images(d, 1)?.pair(&kernels(d, 2)?, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid).side(Side::Left).conv();
        "conv_plan, causal", TRANSFORMED, |d| { let x = vectors(d, 1)?; x.pair(&vectors(d, 2)?, Pairing::Elementwise)?.conv_plan()?.causal(&x) };
        "correlate_max, values", TRANSFORMED, |d| Ok(lags(d)?.value);
        "correlate_max, lags", EXACT, |d| Ok(lags(d)?.lag);
        "sbd", TRANSFORMED, |d| Ok(vectors(d, 1)?.pair(&vectors(d, 3)?, Pairing::AllToAll)?.sbd()?.distance);
        "rfft", TRANSFORMED, |d| vectors(d, 1)?.rfft();
        "fft", TRANSFORMED, |d| complex(d, 1)?.fft();
        "ifft", TRANSFORMED, |d| complex(d, 1)?.ifft();
        "irfft", TRANSFORMED, |d| { let x = vectors(d, 1)?; x.rfft()?.irfft(x.layout()) };
        "rfft2", TRANSFORMED, |d| images(d, 1)?.rfft2();
        "stft", TRANSFORMED, |d| vectors(d, 1)?.stft(&d.hann(16)?, 8);
        "eval", EXACT, |d| others(d, 1)?.resize(&rows(&[4; 9])?)?.eval(&vectors(d, 2)?);
        "kron", EXACT, |d| matrices(d, 1)?.kron(&batch(d, &boxes(&[&[2, 3], &[1, 1], &[3, 3], &[2, 2], &[2, 1]])?, 3, float)?);
        "kron of vectors", EXACT, |d| batch(d, &rows(&[5, 0, 40])?, 1, float)?.kron(&batch(d, &rows(&[3, 2, 30])?, 2, float)?);
        "outer", EXACT, |d| batch(d, &rows(&[5, 0, 40])?, 1, float)?.outer(&batch(d, &rows(&[3, 2, 30])?, 2, float)?);
        "conv_matmul", EXACT, |d| {
            let entries = batch(d, &rows(&[1, 5, 0, 3])?, 1, float)?;
            let a = ShapeMatrix::new(&entries, &boxes(&[&[2, 2]])?)?;
            Ok(a.conv_matmul(&a)?.entries().clone())
        };
        "kron_matmul", EXACT, |d| {
            let entries = batch(d, &rows(&[2, 2, 2, 2])?, 1, float)?;
            let a = ShapeMatrix::new(&entries, &boxes(&[&[2, 2]])?)?;
            Ok(a.kron_matmul(&a)?.entries().clone())
        };
    }
}

async fn products(all: &Checks) {
    let left = |d: &Device| {
        batch(
            d,
            &boxes(&[&[3, 4], &[70, 65], &[1, 300], &[130, 17]])?,
            1,
            float,
        )
    };
    let right = |d: &Device| {
        batch(
            d,
            &boxes(&[&[4, 5], &[65, 33], &[300, 1], &[17, 129]])?,
            2,
            float,
        )
    };
    let topology = || {
        Topology::new(
            [64, 48],
            [16, 16],
            &[(0, 0), (0, 2), (2, 1), (3, 0), (3, 2)],
        )
    };
    let sparse = |d: &Device| {
        let topology = topology()?;
        let values = numbers(topology.len() * 256, 4, 9).into_iter().map(float);
        d.upload_bsr(&Bsr::new(&topology, values.collect())?)
    };
    checks! { all:
        "matmul", EXACT, |d| left(d)?.matmul(&right(d)?);
        "matmul of integers", EXACT, |d| batch::<i32>(d, &boxes(&[&[40, 30]])?, 1, |x| x)?.matmul(&batch(d, &boxes(&[&[30, 20]])?, 2, |x| x)?);
        "matmul_ambient", EXACT, |d| left(d)?.matmul_ambient(&left(d)?);
        "product of transposes", EXACT, |d| left(d)?.product(&left(d)?).transpose_left().run();
        "product with bias and activation", EXACT, |d| {
            let bias = batch(d, &rows(&[5, 33, 1, 129])?, 3, float)?;
            left(d)?.product(&right(d)?).bias(&bias).activation(Activation::Relu).run()
        };
        "matmul of complex matrices", EXACT, |d| {
            let both = |x: i32| Complex32::new(x as f32, (x % 4) as f32);
            batch(d, &boxes(&[&[20, 30], &[3, 3]])?, 1, both)?.matmul(&batch(d, &boxes(&[&[30, 9], &[3, 4]])?, 2, both)?)
        };
        "block-sparse matmul", EXACT, |d| sparse(d)?.matmul(&batch(d, &boxes(&[&[48, 20]])?, 5, float)?);
        "block-sparse matmul, transposed", EXACT, |d| sparse(d)?.transpose().matmul(&batch(d, &boxes(&[&[64, 7]])?, 5, float)?);
        "block-sparse matmul, from the right", EXACT, |d| batch(d, &boxes(&[&[9, 64], &[1, 64]])?, 5, float)?.matmul(&sparse(d)?);
        "sampled product", EXACT, |d| {
            let (a, b) = (batch(d, &boxes(&[&[64, 40]])?, 1, float)?, batch(d, &boxes(&[&[40, 48]])?, 2, float)?);
            Ok(a.product(&b).sampled(&topology()?)?.values().clone())
        };
    }
}

async fn shapes(all: &Checks) {
    let ids = || {
        Indices::new(Ragged::from_rows([
            vec![2, 0, 2],
            vec![39, 5],
            vec![],
            vec![],
            vec![64],
        ])?)
    };
    checks! { all:
        "copy", EXACT, |d| vectors(d, 1)?.copy();
        "slice", EXACT, |d| matrices(d, 1)?.slice(&[1, 2], &[30, 40]);
        "strided_slice", EXACT, |d| matrices(d, 1)?.strided_slice(&[(None, None, -2), (Some(1), None, 3)]);
        "pad", EXACT, |d| matrices(d, 1)?.pad(&[1, 0], &[2, 3]);
        "flip", EXACT, |d| matrices(d, 1)?.flip(&[0, 1]);
        "transpose", EXACT, |d| matrices(d, 1)?.transpose(&[1, 0]);
        "resize", EXACT, |d| vectors(d, 1)?.resize(&rows(&OTHERS)?);
        "concat", EXACT, |d| vectors(d, 1)?.concat(&others(d, 2)?, 0);
        "block_diag", EXACT, |d| matrices(d, 1)?.block_diag(&matrices(d, 2)?);
        "select", EXACT, |d| vectors(d, 1)?.select(&[7, 0, 0, 3]);
        "join", EXACT, |d| vectors(d, 1)?.join(&[&others(d, 2)?]);
        "gather", EXACT, |d| matrices(d, 1)?.gather(&ids()?);
        "scatter_add", EXACT, |d| {
            let updates = matrices(d, 1)?.gather(&ids()?)?;
            updates.scatter_add(&ids()?, matrices(d, 1)?.layout())
        };
        "scatter_set", EXACT, |d| {
            let ids = Indices::new(Ragged::from_rows([vec![2, 0], vec![39, 5], vec![], vec![], vec![64]])?)?;
            let updates = matrices(d, 1)?.gather(&ids)?;
            updates.scatter_set(&ids, matrices(d, 1)?.layout())
        };
        "full", EXACT, |d| d.full(&rows(&LENGTHS)?, 2.5f32);
        "arange", EXACT, |d| d.arange(&rows(&LENGTHS)?, 3.0f32, 0.5);
        "eye", EXACT, |d| d.eye::<f32>(&boxes(&[&[4, 6], &[20, 20]])?);
        "uniform", EXACT, |d| d.uniform(&rows(&LENGTHS)?, 0.0f32, 1.0, 7);
        "normal", ROUNDED, |d| d.normal(&rows(&LENGTHS)?, 0.0f32, 1.0, 7);
        "dropout", EXACT, |d| vectors(d, 1)?.dropout(0.5, 3);
    }
}

async fn order(all: &Checks) {
    let long = |d: &Device| batch(d, &rows(&[20_000, 7, 0, 3000])?, 1, float);
    checks! { all:
        "sort", EXACT, |d| vectors(d, 1)?.sort(0);
        "sort_descending", EXACT, |d| matrices(d, 1)?.sort_descending(1);
        "sort of long elements", EXACT, |d| long(d)?.sort(0);
        "argsort", EXACT, |d| long(d)?.argsort(0);
        "top_k_at_most", EXACT, |d| Ok(vectors(d, 1)?.top_k_at_most(5, 0)?.0);
        "top_k_at_most, indices", EXACT, |d| Ok(vectors(d, 1)?.top_k_at_most(5, 0)?.1);
        "median", EXACT, |d| batch(d, &rows(&[5, 1, 301, 65])?, 1, float)?.median();
    }
}

/// Images of three colours: a small one, one without cells, and one that several workgroups share.
fn pictures(device: &Device) -> Result<Tensor<i32>> {
    let layout = boxes(&[&[7, 9], &[0, 4], &[70, 33]])?;
    batch(device, &layout, 1, |x| x.abs() % 3)
}

async fn images(all: &Checks) {
    let table = |d: &Device| d.arange(&rows(&[3])?, 9i32, -4);
    let flags = |d: &Device, lengths| batch(d, &rows(lengths)?, 3, |x| u32::from(x > 0));
    checks! { all:
        "rot90", EXACT, |d| pictures(d)?.rot90(1);
        "anti_transpose", EXACT, |d| pictures(d)?.anti_transpose();
        "upscale", EXACT, |d| pictures(d)?.upscale(&[[2, 3]]);
        "downscale", EXACT, |d| pictures(d)?.downscale(&[[2, 3]]);
        "tile", EXACT, |d| pictures(d)?.tile(&[[1, 2], [3, 3], [2, 1]]);
        "translate", EXACT, |d| pictures(d)?.translate(&[[1, -2]], 7);
        "dilate", EXACT, |d| pictures(d)?.dilate(Neighbours::Eight);
        "erode", EXACT, |d| pictures(d)?.erode(Neighbours::Four);
        "bytes", EXACT, |d| d.upload(&Ragged::from_rows([vec![255u8, 0, 7], vec![9; 6]])?)?.to::<u32>();
        "lookup", EXACT, |d| pictures(d)?.lookup(&table(d)?);
        "bincount", EXACT, |d| pictures(d)?.bincount(5);
        "most_common", EXACT, |d| pictures(d)?.most_common();
        "least_common", EXACT, |d| pictures(d)?.least_common();
        "bounding_box", EXACT, |d| pictures(d)?.pad(&[2, 0], &[1, 3])?.bounding_box(0);
        "match_template", EXACT, |d| {
            let shape = Shape::new(&[2, 2])?;
            pictures(d)?.match_template(&d.upload(&Ragged::from_shapes(vec![1, 0, 2, 1], 2, [shape])?)?)
        };
        "draw_boxes", EXACT, |d| {
            let x = pictures(d)?;
            x.draw_boxes(&x.bounding_box(0)?, &d.upload(&Ragged::from_rows([[5], [6], [7]])?)?)
        };
        "draw_lines", EXACT, |d| {
            let lines = Ragged::from_rows([[-2, 3, 4, 9], [0, 0, 0, 3], [69, 2, 40, 31]])?;
            pictures(d)?.draw_lines(&lines, &d.upload(&Ragged::from_rows([[5], [6], [7]])?)?)
        };
        "period", EXACT, |d| pictures(d)?.tile(&[[1, 3]])?.period(1);
        "equal_elements", EXACT, |d| {
            // The third image has the same values in another shape.
            let layout = boxes(&[&[7, 9], &[0, 4], &[33, 70]])?;
            pictures(d)?.equal_elements(&batch(d, &layout, 1, |x| x.abs() % 3)?)
        };
    }
    awaited_checks! { all:
        "palette", EXACT, async |d| pictures(d)?.palette().await;
        "trim", EXACT, async |d| pictures(d)?.pad(&[2, 0], &[1, 3])?.trim(0).await;
        "crop", EXACT, async |d| {
            let boxes = Ragged::from_rows([[1u32, 2, 5, 99], [0, 0, 1, 1], [30, 4, 69, 30]])?;
            pictures(d)?.crop(&d.upload(&boxes)?).await
        };
        "compact of rows", EXACT, async |d| pictures(d)?.compact(&flags(d, &[7, 0, 70])?, 0).await;
        "compact of columns", EXACT, async |d| pictures(d)?.compact(&flags(d, &[9, 4, 33])?, 1).await;
        "regions, boxes", EXACT, async |d| {
            let (labels, numbers) = pictures(d)?.label(Components::of_equal_values())?;
            Ok(pictures(d)?.regions(&labels, &numbers).await?.boxes)
        };
        "regions, centroids", EXACT, async |d| {
            let (labels, numbers) = pictures(d)?.label(Components::of_foreground())?;
            Ok(pictures(d)?.regions(&labels, &numbers).await?.centroids)
        };
    }
    let outcome = image_program(&all.gpu).await;
    let outcome = outcome.unwrap_or_else(|error| Err(error.to_string()));
    all.done("image program", outcome);
    let blocking = objects().and_then(|(program, images)| {
        let results = program.run_blocking(&Place::from(&all.gpu), &[&images])?;
        Ok(results.report().clone())
    });
    let outcome = match blocking {
        Err(error) if error.kind() == "unsupported" => Ok(()),
        other => Err(format!("{other:?}")),
    };
    all.done("an image program that would block is refused", outcome);
}

/// A program that cuts the largest object out of each image and turns it, and counts the colours of the image after its
/// holes were filled; and two images, the second of which has no object.
fn objects() -> Result<(ImageProgram, Ragged<i32>)> {
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let labels = x.label(LabelBy::Foreground, Neighbours::Four, 0);
        let objects = labels.regions(&x, 9);
        let largest = objects.sort_rows(&objects.column(0), true).row(0);
        r.output(&x.crop(&largest.columns_from(1, 5)).rotate(1));
        r.output(&x.fill_holes(0, 8).histogram(9));
    })?;
    let cells = vec![0, 5, 5, 5, 0, 5, 0, 5, 7, 0, 5, 5, 0, 0];
    let shapes = [Shape::new(&[3, 4])?, Shape::new(&[2, 1])?];
    Ok((program, Ragged::from_shapes(cells, 2, shapes)?))
}

async fn image_program(gpu: &Device) -> Result<std::result::Result<(), String>> {
    let (program, images) = objects()?;
    let results = program.run(&Place::from(gpu), &[&images]).await?;
    let (objects, counts) = (results.images(0), results.images(1));
    let object = Shape::new(&[3, 3])?;
    let expected = objects.to_vecs()? == [vec![5, 5, 5, 5, 0, 5, 5, 5, 0], vec![]]
        && objects.shape(0) == object
        && counts.to_vecs()? == [[3, 0, 0, 0, 0, 7, 0, 1, 1], [2, 0, 0, 0, 0, 0, 0, 0, 0]]
        && results.is_valid(0, 0)
        && !results.is_valid(0, 1)
        && results.report().place == Machine::Gpu;
    Ok(match expected {
        true => Ok(()),
        false => Err(format!("{results:?}")),
    })
}

async fn networks(all: &Checks) {
    let tokens = |d: &Device, seed| {
        let layout = boxes(&[&[5, 32], &[70, 32], &[1, 32], &[33, 32]])?;
        batch(d, &layout, seed, |x| x as f32 / 8.0)
    };
    checks! { all:
        "attention", ROUNDED, |d| tokens(d, 1)?.attention(&tokens(d, 2)?, &tokens(d, 3)?).heads(2).run();
        "attention, causal", ROUNDED, |d| tokens(d, 1)?.attention(&tokens(d, 2)?, &tokens(d, 3)?).heads(2).causal().run();
        "attention, windowed", ROUNDED, |d| tokens(d, 1)?.attention(&tokens(d, 2)?, &tokens(d, 3)?).window(8, 0).run();
        "attention over a cache", ROUNDED, |d| {
            let layout = boxes(&[&[80, 32][..]; 4])?;
            let mut cache = Cache::new(d, &layout, &layout)?;
            cache.append(&tokens(d, 2)?, &tokens(d, 3)?)?;
            tokens(d, 1)?.attention_over(&cache).heads(2).causal().run()
        };
        "rotary", ROUNDED, |d| tokens(d, 1)?.rotary().heads(2).run();
        "embedding", EXACT, |d| {
            let ids = d.upload(&Ragged::from_rows([vec![3u32, 0, 69], vec![], vec![7]])?)?;
            batch(d, &boxes(&[&[70, 12]])?, 1, float)?.embedding(&ids)
        };
        "one_hot", EXACT, |d| d.upload(&Ragged::from_rows([vec![3u32, 0], vec![5]])?)?.one_hot::<f32>(6);
        "cross_entropy", ROUNDED, |d| {
            let targets = d.upload(&Ragged::from_rows([vec![3u32; 5], vec![0; 70], vec![31], vec![9; 33]])?)?;
            tokens(d, 1)?.cross_entropy(&targets)
        };
        "max_pool", EXACT, |d| matrices(d, 1)?.max_pool(&[1, 4]);
        "mean_pool", EXACT, |d| matrices(d, 1)?.mean_pool(&[1, 4]);
    }
}

async fn types(all: &Checks) {
    let half = |d: &Device, seed| batch(d, &rows(&LENGTHS)?, seed, |x| f16::from_f32(x as f32));
    let halves = |d: &Device, shape: &[usize]| {
        batch(d, &boxes(&[shape, &[3, 3]])?, 1, |x| {
            f16::from_f32(x as f32)
        })
    };
    let whole = |d: &Device, seed| batch(d, &rows(&LENGTHS)?, seed, |x| x);
    let natural = |d: &Device, seed| batch(d, &rows(&LENGTHS)?, seed, |x| x as u32);
    checks! { all:
        "add of f16", EXACT, |d| half(d, 1)?.add(&half(d, 2)?);
        "sum of f16", EXACT, |d| half(d, 1)?.elements(0..5)?.sum();
        "matmul of f16", EXACT, |d| halves(d, &[20, 12])?.matmul(&halves(d, &[12, 9])?);
        "f32 to f16 and back", EXACT, |d| vectors(d, 1)?.scale(0.1)?.to::<f16>()?.to::<f32>();
        "f32 to i32", EXACT, |d| vectors(d, 1)?.scale(0.3)?.to::<i32>();
        "add of i32", EXACT, |d| whole(d, 1)?.add(&whole(d, 2)?);
        "div of i32", EXACT, |d| whole(d, 1)?.div(&whole(d, 2)?);
        "sort of u32", EXACT, |d| natural(d, 1)?.sort(0);
        "bit_xor", EXACT, |d| natural(d, 1)?.bit_xor(0x0f0f);
        "product of complex numbers", EXACT, |d| complex(d, 1)?.hadamard(&complex(d, 2)?);
        "absolute value of complex numbers", ROUNDED, |d| complex(d, 1)?.abs();
        "conj", EXACT, |d| complex(d, 1)?.conj();
    }
}

/// Everything that takes time in a browser but no kernel: transfers, views, programs, memory and errors.
async fn transfers(all: &Checks) {
    let gpu = all.gpu.clone();
    checks! { all:
        "a view", EXACT, |d| vectors(d, 1)?.elements(2..6)?.add(&vectors(d, 1)?.elements(2..6)?);
        // More than one buffer for uploads holds, and more than one for downloads.
        "20 MiB there and back", EXACT, |d| batch(d, &rows(&[5 << 20, 3])?, 9, float);
    }
    let outcome = async {
        let x = vectors(&gpu, 1).map_err(|e| e.to_string())?;
        let refused = x
            .download_blocking()
            .map(|_| ())
            .map_err(|error| error.kind());
        match refused {
            Err("unsupported") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    };
    let outcome = outcome.await;
    all.done("a call that would block is refused", outcome);

    let many = async {
        // Read at the same time, in the opposite order.
        let parts: Result<Vec<_>> = (0..8).map(|seed| vectors(&gpu, seed)?.scale(2.0)).collect();
        let parts = parts?;
        let mut reads: Vec<_> = parts.iter().map(|x| Box::pin(x.download())).collect();
        let mut last = Vec::new();
        while let Some(read) = reads.pop() {
            last.push(read.await?);
        }
        for (seed, read) in (0..8).rev().zip(last) {
            let expected = vectors(&Device::cpu(), seed)?
                .scale(2.0)?
                .download()
                .await?;
            if read != expected {
                return Ok(Err(format!("batch {seed} differs")));
            }
        }
        Ok::<_, vsla::Error>(Ok(()))
    };
    let outcome = many.await.map_err(|e| e.to_string()).and_then(|done| done);
    all.done("several downloads at once", outcome);

    let late = async {
        let x = vectors(&gpu, 1).map_err(|error| error.to_string())?;
        let (buffer, _) = x.export().ok_or("there is no buffer")?;
        buffer.destroy();
        let y = x.scale(2.0).and_then(|y| y.add_scalar(1.0));
        match y.map_err(|error| error.to_string())?.download().await {
            Err(vsla::Error::NotComputed { .. }) => Ok(()),
            other => Err(format!("{:?}", other.map(|_| ()))),
        }
    };
    let outcome = late.await;
    all.done("an error that the browser reports late", outcome);
    all.check("values after that error", EXACT, |d| {
        vectors(d, 1)?.scale(3.0)
    })
    .await;
}

/// Has the browser compile every kernel that needs nothing beyond WebGPU's core.
async fn kernels(all: &Checks) {
    let gpu = all.gpu.clone();
    let Some((device, _)) = gpu.wgpu() else {
        return;
    };
    let mut reports = Vec::new();
    for (name, source) in vsla::device::kernels() {
        if source.contains("enable ") {
            continue;
        }
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let _module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&name),
            source: wgpu::ShaderSource::Wgsl(source.as_str().into()),
        });
        reports.push((name, scope.pop()));
    }
    for (name, report) in reports {
        let outcome = match report.await {
            None => Ok(()),
            Some(error) => Err(error.to_string()),
        };
        all.done(&format!("compiles {name}"), outcome);
    }
}
