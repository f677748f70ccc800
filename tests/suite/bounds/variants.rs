//! Every variant of every kernel: the random programs, and programs for variants that they draw too rarely.

use std::collections::BTreeSet;
use std::fs;

use catalogue::{Held, Operation, TYPES};
use libtest_mimic::Arguments;
use serde_json::{Value as Json, json};
use vsla::{
    BsrTensor, Complex32, Device, Layout, Shape, Tensor, Topology,
    product::Tier,
    scalar::{DType, Factor, Float},
};

use super::{Draw, ON_MATRICES};
use crate::rows::MOST;
use crate::support::bench::{all_are_instrumented, assert_within, compared, gpu};
use crate::support::corpus::rng;

/// Variants that no program here reaches, each with the reason: on lines `name reason`, `stem.* reason` or
/// `*.flag reason`.
const UNREACHED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/suite/bounds/unreached.txt"
);

/// Whether a line of the list names a variant.
fn names(line: &str, variant: &str) -> bool {
    let listed = line.split(' ').next().unwrap_or_default();
    match (listed.strip_suffix(".*"), listed.strip_prefix("*.")) {
        (Some(stem), _) => variant.split('.').next() == Some(stem),
        (_, Some(flag)) => variant.split('.').next_back() == Some(flag),
        _ => listed == variant,
    }
}

fn variants() -> BTreeSet<String> {
    let all = vsla::device::kernels().into_iter();
    all.map(|(name, _)| name).collect()
}

fn unreached() -> Vec<String> {
    let list = fs::read_to_string(UNREACHED).unwrap();
    list.lines().map(str::to_owned).collect()
}

/// Each line of the list matches a variant, and gives a reason.
pub fn list_is_true() {
    let all = variants();
    for line in unreached() {
        assert!(
            line.split_once(' ').is_some_and(|(_, why)| why.len() > 10),
            "{line}"
        );
        assert!(
            all.iter().any(|variant| names(&line, variant)),
            "no variant: {line}"
        );
    }
}

/// Whether instrumented builds of all variants have run by the end of the suite, except those that the list names and
/// those that the GPU does not support. True if not all trials of GPUs have run, or not on instrumented devices.
pub fn every_variant_ran(arguments: &Arguments) -> bool {
    let all = arguments
        .filter
        .as_deref()
        .is_none_or(|filter| filter == "gpu");
    let Ok(device) = gpu() else { return true };
    if arguments.list || !all || !all_are_instrumented() {
        return true;
    }
    let matrices = device.info().matrices;
    let supported = |variant: &str| {
        let stem = variant.split('.').next().unwrap_or_default();
        let side = if variant.contains(".eight.") { 8 } else { 16 };
        !ON_MATRICES.contains(&stem) || matrices == Some(side)
    };
    let (ran, list) = (compared(), unreached());
    let missing: Vec<String> = variants()
        .into_iter()
        .filter(|variant| !ran.contains(variant) && supported(variant))
        .filter(|variant| !list.iter().any(|line| names(line, variant)))
        .collect();
    println!(
        "{} variants compared their accesses with the bounds, {} never ran: {missing:#?}",
        ran.len(),
        missing.len()
    );
    missing.is_empty()
}

/// Products in every tier, of factors that take every tile.
pub fn dense_products<T: super::Value + Factor>(device: &Device) {
    let d = &mut Draw::new(device, rng("bounds of products"));
    for side in [20, 32, 64, 128, 256, 512, 1024] {
        dense::<T>(d, side);
        assert_within(device);
    }
}

/// The same, of blocks.
pub fn sparse_products<T: super::Value + Float>(device: &Device) {
    let d = &mut Draw::new(device, rng("bounds of products of blocks"));
    for rows in [8, 16, 32, 48, 64, 96, 128] {
        for columns in [8, 16, 32, 64] {
            sparse::<T>(d, [rows, columns]);
        }
        assert_within(device);
    }
}

const TIERS: [Tier; 3] = [Tier::Baseline, Tier::Native, Tier::Matrix];
const BOTH: [bool; 2] = [false, true];

/// A batch of one matrix, stored transposed or not.
fn matrix<T: super::Value>(d: &mut Draw<'_>, [m, n]: [usize; 2], transposed: bool) -> Tensor<T> {
    let extents = if transposed { [n, m] } else { [m, n] };
    d.tensor(&Layout::uniform(1, Shape::new(&extents).unwrap()).unwrap())
}

/// Square and long results, of whole quads and of others.
fn dense<T: super::Value + Factor>(d: &mut Draw<'_>, side: usize) {
    for [left, right] in BOTH.map(|left| BOTH.map(|right| [left, right])).concat() {
        for [m, n] in [
            [side, side],
            [side + 1, side + 1],
            [2 * side, side],
            [3, side],
        ] {
            let (a, b) = (
                matrix::<T>(d, [m, 64], left),
                matrix::<T>(d, [64, n], right),
            );
            let mut product = a.product(&b);
            if left {
                product = product.transpose_left();
            }
            if right {
                product = product.transpose_right();
            }
            for tier in TIERS {
                d.ran("product", product.clone().tier(tier).run());
            }
        }
    }
}

/// Products with blocks of these extents on either side, and sampled ones.
fn sparse<T: super::Value + Float>(d: &mut Draw<'_>, block: [usize; 2]) {
    let shape = block.map(|extent| 4 * extent);
    let topology = Topology::strided(shape, block, 2).unwrap();
    let values = d.tensor::<T>(&topology.values_layout(1).unwrap());
    let s = BsrTensor::new(&topology, values).unwrap();
    for s in [s.clone(), s.transpose()] {
        let [m, k] = if s.is_transposed() {
            [shape[1], shape[0]]
        } else {
            shape
        };
        for columns in [8, 64, 700] {
            let (right, left) = (
                matrix::<T>(d, [k, columns], false),
                matrix::<T>(d, [columns, m], false),
            );
            for tier in TIERS {
                d.ran("S B", s.product(&right).tier(tier).run());
                d.ran("A S", left.product(&s).tier(tier).run());
            }
        }
    }
    for [left, right] in BOTH.map(|left| BOTH.map(|right| [left, right])).concat() {
        let a = matrix::<T>(d, [shape[0], 64], left);
        let b = matrix::<T>(d, [64, shape[1]], right);
        let mut product = a.product(&b);
        if left {
            product = product.transpose_left();
        }
        if right {
            product = product.transpose_right();
        }
        for tier in TIERS {
            let product = product.clone().tier(tier);
            d.ran("sampled", product.sampled(&topology));
            d.ran("sampled sums", product.to::<T::Sum>().sampled(&topology));
        }
    }
}

/// Every operation that takes any shapes: on equal layouts, on different ones, on matrices, along each axis, and with
/// operands that are spread over others.
pub fn functions(device: &Device) {
    let d = &mut Draw::new(device, rng("bounds of functions"));
    let series = Layout::from_lengths([0, 3, 300, 9000, 1]).unwrap();
    let others = Layout::from_lengths([5, 2, 301, 8000, 1]).unwrap();
    let shape = |extents: &[usize]| Shape::new(extents).unwrap();
    let matrices = [
        Layout::from_shapes(2, [shape(&[3, 5]), shape(&[40, 33])]).unwrap(),
        Layout::from_shapes(2, [shape(&[4, 2]), shape(&[33, 40])]).unwrap(),
    ];
    let boxes = [
        Layout::from_shapes(3, [shape(&[3, 5, 2]), shape(&[4, 9, 7])]).unwrap(),
        Layout::from_shapes(3, [shape(&[4, 2, 1]), shape(&[9, 4, 3])]).unwrap(),
    ];
    let pairs = [
        [&series, &series],
        [&series, &others],
        [&matrices[0], &matrices[1]],
        [&boxes[0], &boxes[1]],
    ];
    let takes_any = |row: &&Operation| row.default_rank().is_none() && row.takes("rank");
    let rows: Vec<_> = crate::programs::rows().filter(takes_any).collect();
    for layouts in pairs {
        for dtype in TYPES.map(DType::name) {
            for row in rows.iter().filter(|row| row.args > 0) {
                for example in row.answered() {
                    on_layouts(d, row, &example, dtype, layouts);
                }
            }
            assert_within(device);
        }
    }
}

/// An operation with the options of an example, and with each axis if it has one; a last operand is also spread.
fn on_layouts(
    d: &mut Draw<'_>,
    row: &'static Operation,
    example: &Json,
    dtype: &str,
    [left, right]: [&Layout; 2],
) {
    let given = example.get("options").and_then(Json::as_object);
    let mut options = given.cloned().unwrap_or_default();
    options
        .retain(|name, _| !["dtype", "rank", "axis", "each", "pairing"].contains(&name.as_str()));
    let spreads = row.takes("each");
    let axes = if row.takes("axis") { left.rank() } else { 0 };
    for axis in (0..axes).map(Some).chain([None]) {
        options.remove("axis");
        options.extend(axis.map(|axis| ("axis".to_owned(), json!(axis))));
        let lengths = |axis: usize| {
            left.shapes()
                .map(move |shape| shape.extents()[axis] as usize)
        };
        let vectors = axis.map(|axis| Layout::from_lengths(lengths(axis)).unwrap());
        let last = vectors.as_ref().filter(|_| spreads).unwrap_or(right);
        let layouts = (0..row.args).map(|arg| match arg {
            0 => left,
            arg if arg + 1 == row.args => last,
            _ => right,
        });
        let operands: Vec<Held> = layouts.map(|layout| held(d, dtype, layout)).collect();
        let operands: Vec<_> = operands.iter().map(|held| (held, None)).collect();
        let kind = row
            .apply(&operands, &options, d.device, MOST)
            .err()
            .map(|failure| failure.kind);
        assert_ne!(kind, Some("gpu"), "{}", row.name);
    }
}

fn held(d: &mut Draw<'_>, dtype: &str, layout: &Layout) -> Held {
    match dtype {
        "f16" => d.tensor::<vsla::f16>(layout).into(),
        "i32" => d.tensor::<i32>(layout).into(),
        "u32" => d.tensor::<u32>(layout).into(),
        "u8" => d.tensor::<u8>(layout).into(),
        "c32" => d.tensor::<Complex32>(layout).into(),
        _ => d.tensor::<f32>(layout).into(),
    }
}

/// Transforms of every power of two and of lengths in between, and convolutions of such lengths.
pub fn transforms(device: &Device) {
    let d = &mut Draw::new(device, rng("bounds of transforms"));
    for power in 5..=18 {
        let n = 1usize << power;
        let lengths = [n, 2 * n, n + 1, n - 3];
        let layout = Layout::from_lengths(lengths).unwrap();
        let (x, z) = (d.tensor::<f32>(&layout), d.tensor::<Complex32>(&layout));
        d.ran("fft", z.fft());
        d.ran("ifft", z.ifft());
        if let Some(z) = d.ran("rfft", x.rfft()) {
            d.ran("irfft", z.irfft(&layout));
        }
        let half = Layout::from_lengths([n / 2, n / 2 - 3]).unwrap();
        let (x, y) = (d.tensor::<f32>(&half), d.tensor::<f32>(&half));
        if power <= 14 {
            d.ran("conv", x.conv(&y));
            d.ran("correlate_max", x.correlate_max(&y));
            d.ran("sbd", x.sbd(&y));
        }
        let z = d.tensor::<Complex32>(&half);
        d.ran("fft", z.fft());
        assert_within(device);
    }
}
