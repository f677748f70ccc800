//! Matrix products: large ones, ragged rows times the same weights, groups with their own weights, and ten thousand
//! small ones. On the CPU compared with direct calls of the gemm crate. In f32, and in f16 summed in f32.

use gemm_common::Parallelism;
use rayon::prelude::*;
use vsla::{
    Layout, Pairing, Ragged, Result, Shape, Tensor,
    batch::PairList,
    f16,
    product::{Activation, Product, Tier},
    scalar::Float,
};

use super::cpu::{Job, compare, cut};
use crate::harness::{Bench, Check, Outcome, Spec};
use crate::harness::{lengths, rates};

type Extents = [usize; 3];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let quick = bench.size.quick;
    if !bench.device.is_gpu() {
        let side = if quick { 96 } else { 2048 };
        beside_gemm(bench, "cpu/matmul-large", &[[side; 3]])?;
        let count = if quick { 50 } else { 4000 };
        return beside_gemm(bench, "cpu/matmul-batch", &drawn(count, 8..=128));
    }
    let size = |extents: Extents| match quick {
        true => extents.map(|extent| extent.div_ceil(32)),
        false => extents,
    };
    // The target is a minimum in TFLOP/s.
    for (name, extents, target) in [
        ("matmul/4096", [4096; 3], Some(50.0)),
        ("matmul/4001x3999x4003", [4001, 3999, 4003], None),
        ("matmul/8191x1000x777", [8191, 1000, 777], None),
        ("matmul/512", [512; 3], None),
    ] {
        let target = target.map(Target::Rate);
        let extents = &[size(extents)];
        product(
            bench,
            Case {
                target,
                ..case(name, extents)
            },
        )?;
    }
    // Few rows and columns and long sums; then the same with the kernels that any device runs.
    for (names, extents) in [
        (
            [
                "matmul/skinny-32x4096x32",
                "matmul/skinny-32x4096x32-baseline",
            ],
            [32, 4096, 32],
        ),
        (
            [
                "matmul/skinny-16x768x768",
                "matmul/skinny-16x768x768-baseline",
            ],
            [16, 768, 768],
        ),
        (
            [
                "matmul/skinny-64x8192x64",
                "matmul/skinny-64x8192x64-baseline",
            ],
            [64, 8192, 64],
        ),
        (
            [
                "matmul/skinny-256x1024x256",
                "matmul/skinny-256x1024x256-baseline",
            ],
            [256, 1024, 256],
        ),
        (
            [
                "matmul/skinny-1x4096x4096",
                "matmul/skinny-1x4096x4096-baseline",
            ],
            [1, 4096, 4096],
        ),
        (
            [
                "matmul/skinny-4096x4096x1",
                "matmul/skinny-4096x4096x1-baseline",
            ],
            [4096, 4096, 1],
        ),
    ] {
        let extents = &[size(extents)];
        for (name, tier) in names.into_iter().zip([Tier::Auto, Tier::Baseline]) {
            product(
                bench,
                Case {
                    tier,
                    ..case(name, extents)
                },
            )?;
        }
    }
    let whole = [size([4096; 3])];
    let layer = |name| Case {
        layer: true,
        ..case(name, &whole)
    };
    product(bench, layer("matmul/4096-bias-relu"))?;
    let rows = [32, 64, 128, 256, 512].map(|rows| size([rows, 768, 768]));
    let shared = |name| Case {
        right: Some(&[0; 5]),
        ..case(name, &rows)
    };
    product(bench, shared("matmul/ragged-rows"))?;
    let mut rng = fastrand::Rng::with_seed(71);
    let groups: Vec<Extents> = (0..if quick { 8 } else { 256 })
        .map(|_| size([rng.usize(16..=511), 128, 128]))
        .collect();
    // Each group's weights, which are stored in a different order.
    let weights: Vec<usize> = (0..groups.len()).rev().collect();
    let grouped = |name| Case {
        right: Some(&weights),
        ..case(name, &groups)
    };
    product(bench, grouped("matmul/groups"))?;
    // The scalar products of every two of a cell's particles.
    let cells: Vec<Extents> = lengths::cells().iter().map(|&n| [n, 3, n]).collect();
    let cells = cells.repeat(if quick { 1 } else { 50 });
    product(bench, case("matmul/cells", &cells))?;
    let small = drawn(if quick { 100 } else { 10_000 }, 8..=64);
    let small = |name| Case {
        target: Some(Target::Roofline),
        ..case(name, &small)
    };
    product(bench, small("matmul/small"))?;
    for (name, side, target) in [
        ("matmul/f16-8192", 8192, Some(Target::Rate(350.0))),
        ("matmul/f16-4096", 4096, Some(Target::Rate(320.0))),
        ("matmul/f16-2048", 2048, None),
        ("matmul/f16-1024", 1024, None),
        ("matmul/f16-512", 512, Some(Target::Micros(5.0))),
    ] {
        let extents = &[size([side; 3])];
        half_product(
            bench,
            Case {
                target,
                ..case(name, extents)
            },
        )?;
    }
    half_product(bench, layer("matmul/f16-4096-bias-relu"))?;
    let odd = [size([4001, 3999, 4003])];
    half_product(bench, case("matmul/f16-4001x3999x4003", &odd))?;
    let target = Some(Target::Micros(13.0));
    half_product(
        bench,
        Case {
            target,
            ..shared("matmul/f16-ragged-rows")
        },
    )?;
    let target = Some(Target::Micros(25.0));
    half_product(
        bench,
        Case {
            target,
            ..grouped("matmul/f16-groups")
        },
    )?;
    half_product(bench, small("matmul/f16-small"))
}

/// The target of a row.
#[derive(Clone, Copy)]
enum Target {
    /// At least this many TFLOP/s.
    Rate(f64),
    /// At most this many microseconds.
    Micros(f64),
    /// Three fifths of what multiply-adds and a copy of the same footprint allow, in back-to-back calls.
    Roofline,
}

fn drawn(count: usize, sides: std::ops::RangeInclusive<usize>) -> Vec<Extents> {
    let mut rng = fastrand::Rng::with_seed(72);
    (0..count)
        .map(|_| [0; 3].map(|_| rng.usize(sides.clone())))
        .collect()
}

fn matrices(shapes: impl Iterator<Item = [usize; 2]>) -> Result<Layout> {
    let shapes = shapes
        .map(|shape| Shape::new(&shape))
        .collect::<Result<Vec<_>>>()?;
    Layout::from_shapes(2, shapes)
}

/// Factors of these extents. Product i takes the right factor `right[i]`.
fn factors(extents: &[Extents], right: &[usize]) -> Result<(Ragged<f32>, Ragged<f32>)> {
    let count = right.iter().max().map_or(0, |last| last + 1);
    let mut shapes = vec![[0; 2]; count];
    for (&[_, k, n], &right) in extents.iter().zip(right) {
        shapes[right] = [k, n];
    }
    let a = Ragged::random(&matrices(extents.iter().map(|&[m, k, _]| [m, k]))?, 73)?;
    let b = Ragged::random(&matrices(shapes.into_iter())?, 74)?;
    Ok((a, b))
}

fn multiply_adds(extents: &[Extents]) -> u64 {
    let each = extents.iter().map(|[m, k, n]| (m * k * n) as u64);
    each.sum()
}

/// The products of a row.
#[derive(Default)]
struct Case<'a> {
    name: &'static str,
    extents: &'a [Extents],
    /// The right factor of each product, if product i does not take factor i.
    right: Option<&'a [usize]>,
    /// Whether it is a layer, with a bias and relu as the products' epilogue.
    layer: bool,
    tier: Tier,
    target: Option<Target>,
}

fn case<'a>(name: &'static str, extents: &'a [Extents]) -> Case<'a> {
    Case {
        name,
        extents,
        ..Case::default()
    }
}

fn product(bench: &mut Bench, case: Case<'_>) -> Outcome<()> {
    let peak = bench.multiply_adds;
    products(bench, case, |x| x, depth, |product| product.run(), peak)
}

fn half_product(bench: &mut Bench, case: Case<'_>) -> Outcome<()> {
    let depth = |k: usize| 4.0 * (16 + k.div_ceil(16)) as f64;
    let peak = Some(rates::INSTRUCTIONS);
    products(
        bench,
        case,
        f16::from_f32,
        depth,
        |product| product.clone().to::<f32>().run(),
        peak,
    )
}

/// Measures products of factors that are stored as T.
fn products<T: Float + Into<f32>>(
    bench: &mut Bench,
    case: Case<'_>,
    narrow: fn(f32) -> T,
    depth: fn(usize) -> f64,
    run: fn(&Product<'_, T>) -> Result<Tensor<f32>>,
    peak: Option<f64>,
) -> Outcome<()> {
    if !bench.wants(case.name) {
        return Ok(());
    }
    let own: Vec<usize> = (0..case.extents.len()).collect();
    let (a, b) = factors(case.extents, case.right.unwrap_or(&own))?;
    let columns = case.extents.first().map_or(0, |[_, _, n]| *n);
    let bias = Ragged::random(&Layout::from_lengths([columns])?, 75)?;
    // The operands on the device, and the same values in f32.
    let stored = |batch: Ragged<f32>| -> Result<_> {
        let stored = batch.cast(narrow)?;
        Ok((bench.device.upload(&stored)?, stored.cast(T::into)?))
    };
    let ((x, a), (y, b), (z, bias)) = (stored(a)?, stored(b)?, stored(bias)?);
    let pairing = Whose::new(case.right)?;
    let mut product = x.pair(&y, pairing.pairing())?.product().tier(case.tier);
    if case.layer {
        product = product.bias(&z).activation(Activation::Relu);
    }
    let row = Measured {
        name: case.name,
        extents: case.extents,
        right: case.right.unwrap_or(&own),
        factors: [&a, &b],
        bias: case.layer.then(|| bias.row(0)),
        bytes: size_of::<T>() as u64,
        depth,
    };
    row.measure(bench, || run(&product), peak, case.target)
}

/// The guaranteed summation depth of f32 products.
fn depth(k: usize) -> f64 {
    (k.min(512) + k.div_ceil(512)) as f64
}

/// Which right factor each product takes.
struct Whose(Option<PairList>);

impl Whose {
    fn new(right: Option<&[usize]>) -> Result<Whose> {
        let listed = |right: &[usize]| {
            let pairs = right.iter().enumerate();
            PairList::new(pairs.map(|(i, &j)| (i as u32, j as u32)))
        };
        Ok(Whose(right.map(listed).transpose()?))
    }

    fn pairing(&self) -> Pairing<'_> {
        match &self.0 {
            None => Pairing::Elementwise,
            Some(list) => Pairing::List(list),
        }
    }
}

/// Products to be measured, and their operands.
struct Measured<'a> {
    name: &'static str,
    extents: &'a [Extents],
    right: &'a [usize],
    factors: [&'a Ragged<f32>; 2],
    /// The bias added to the rows of a layer.
    bias: Option<&'a [f32]>,
    /// Bytes per value of a factor.
    bytes: u64,
    /// The guaranteed summation depth.
    depth: fn(usize) -> f64,
}

impl Measured<'_> {
    /// `peak` is the bound on the work, in multiply-adds per second.
    fn measure(
        self,
        bench: &mut Bench,
        run: impl Fn() -> Result<Tensor<f32>>,
        peak: Option<f64>,
        target: Option<Target>,
    ) -> Outcome<()> {
        let (c, first) = bench.first(&run)?;
        let got = c.download_blocking()?;
        let [a, b] = self.factors;
        let values = |layout: &Layout| (layout.total() + 3 * layout.len() + 1) as u64;
        let spec = Spec {
            name: self.name,
            data: match self.bias {
                None => format!("{}, seeds 71 to 74", shown(self.extents)),
                Some(_) => format!("{}, a bias and relu, seeds 71 to 75", shown(self.extents)),
            },
            bytes: self.bytes * (values(a.layout()) + values(b.layout()))
                + 4 * values(got.layout()),
            multiply_adds: multiply_adds(self.extents),
            first,
            check: check([a, b], self.bias, self.right, &got, self.depth),
        };
        let result = c.layout().clone();
        drop((got, c));
        let mut row = bench.measure(spec, run)?;
        row = match self.bytes {
            2 => row.reads::<f16>(a.layout()).reads::<f16>(b.layout()),
            _ => row.reads::<f32>(a.layout()).reads::<f32>(b.layout()),
        };
        row = row.writes::<f32>(&result);
        let seconds = row.times.best_known().as_secs_f64();
        let work = row.multiply_adds as f64;
        if self.bytes == 2 {
            row = row.of_halves();
        }
        let copy = row.copy.map_or(0.0, |copy| copy.as_secs_f64());
        row = match target {
            None => row,
            Some(Target::Rate(least)) => row.at_least("TFLOP/s", least, 2e-12 * work / seconds),
            Some(Target::Micros(most)) => row.at_most("µs", most, 1e6 * seconds),
            Some(Target::Roofline) => {
                let floor = peak.map_or(copy, |peak| copy.max(work / peak));
                let call = row.times.in_row.unwrap_or(row.times.wall).as_secs_f64();
                row.at_least("% of the roofline", 60.0, 100.0 * floor / call)
            }
        };
        bench.push(row);
        Ok(())
    }
}

fn shown(extents: &[Extents]) -> String {
    match extents {
        [[m, k, n]] => format!("{m} x {k} times {k} x {n}"),
        _ => format!(
            "{} products, rows {} to {}",
            extents.len(),
            extents.iter().map(|e| e[0]).min().unwrap_or(0),
            extents.iter().map(|e| e[0]).max().unwrap_or(0)
        ),
    }
}

/// Checks a thousand values, or one of each product, in f64; the last value of each product is among them.
fn check(
    [a, b]: [&Ragged<f32>; 2],
    bias: Option<&[f32]>,
    right: &[usize],
    c: &Ragged<f32>,
    depth: fn(usize) -> f64,
) -> Check {
    let each = (1000 / right.len()).max(1);
    let wrong = (0..right.len()).into_par_iter().find_any(|&i| {
        let shape = |of: &Ragged<f32>, i| match *of.shape(i).extents() {
            [rows, columns] => (rows as usize, columns as usize),
            _ => (0, 0),
        };
        let ((m, n), (_, k)) = (shape(c, i), shape(a, i));
        let (a, b, c) = (&a[i], &b[right[i]], c.row(i));
        // An empty product has no value to check.
        (0..each.min(c.len())).any(|s| {
            let (row, column) = match s {
                0 => (m - 1, n - 1),
                _ => (s * 7919 % m, s * 104_729 % n),
            };
            let terms = (0..k).map(|l| f64::from(a[row * k + l]) * f64::from(b[l * n + column]));
            let terms = terms.chain(bias.map(|bias| f64::from(bias[column])));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            let value = if bias.is_some() { sum.max(0.0) } else { sum };
            let rounded = depth(k) + f64::from(u8::from(bias.is_some()));
            let bound = rounded * f64::from(f32::EPSILON) / 2.0 * size;
            let off = (f64::from(c[row * n + column]) - value).abs();
            off.is_nan() || off > bound
        })
    });
    match wrong {
        None => {
            let checked: usize = (0..c.len()).map(|i| each.min(c[i].len())).sum();
            Ok(format!("{checked} values, in f64"))
        }
        Some(i) => Err(format!("product {i} is off")),
    }
}

fn beside_gemm(bench: &mut Bench, name: &'static str, extents: &[Extents]) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let own: Vec<usize> = (0..extents.len()).collect();
    let (a, b) = factors(extents, &own)?;
    let (x, y) = (bench.device.upload(&a)?, bench.device.upload(&b)?);
    let got = x.matmul(&y)?.download_blocking()?;
    let mut out = vec![1.0f32; got.values().len()];
    let mut slices = cut(&mut out, extents.iter().map(|[m, _, n]| m * n));
    // One product uses all workers; several products use one worker each.
    let parallelism = match extents.len() {
        1 => Parallelism::Rayon(0),
        _ => Parallelism::None,
    };
    let mut plain = || {
        let products = slices.par_iter_mut().enumerate();
        products.for_each(|(i, c)| by_hand(extents[i], &a[i], &b[i], c, parallelism));
    };
    let job = Job {
        name,
        data: format!("{}, seeds 72 to 74", shown(extents)),
        bytes: 4 * (a.values().len() + b.values().len() + got.values().len()),
        multiply_adds: multiply_adds(extents),
        check: check([&a, &b], None, &own, &got, depth),
        ours: &mut || x.matmul(&y).map(drop),
        plain: &mut plain,
        target: ("x the gemm crate", 1.0 / 0.9),
    };
    compare(bench, job)
}

fn by_hand([m, k, n]: Extents, a: &[f32], b: &[f32], c: &mut [f32], parallelism: Parallelism) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (k_stride, n_stride) = (k as isize, n as isize);
    // SAFETY: row-major factors and result of these extents, as was just checked. The crate gets their transposes.
    #[allow(unsafe_code, reason = "the crate takes pointers")]
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            n,
            m,
            k,
            c.as_mut_ptr(),
            n_stride,
            1,
            false,
            b.as_ptr(),
            n_stride,
            1,
            a.as_ptr(),
            k_stride,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}
