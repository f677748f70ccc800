//! Programs of operations that move values, element-wise functions and reductions.

use vsla::batch::Permutation;
use vsla::image::{self, Components, Neighbours};
use vsla::program::{Outputs, Program};
use vsla::{
    Complex32, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor,
    batch::Remainder,
    f16,
    scalar::{DType, Factor, Float, Integer, Pixel, Real},
};

use super::{Draw, Value, recorded};
use crate::support::bench::{all_are_instrumented, is_long};
use crate::support::operation::pair_list;

pub const KERNELS: &[&str] = &[
    "ambient",
    "ambient_boxes",
    "ambient_flat",
    "broadcast",
    "broadcast_three",
    "cast",
    "cells",
    "chain",
    "chain_two",
    "complex",
    "convert",
    "cross_entropy",
    "cross_entropy_slopes",
    "cumulate",
    "dropout",
    "embedding",
    "embedding_slopes",
    "embedding_starts",
    "figures",
    "figures_marks",
    "fill",
    "gather",
    "histogram",
    "join",
    "imaging",
    "label",
    "label_borders",
    "label_finish",
    "label_ranks",
    "label_tiles",
    "linear",
    "lines",
    "lines_finish",
    "lines_parts",
    "lookup",
    "map_table",
    "morphology",
    "morphology_bytes",
    "normal",
    "occurrences",
    "one_hot",
    "period",
    "pooling",
    "pooling_passes",
    "quantile",
    "reduce",
    "reduce_finish",
    "reduce_lines",
    "reduce_lines_parts",
    "reduce_pair",
    "reduce_pair_tiles",
    "reduce_tiles",
    "runs",
    "regions",
    "regions_finish",
    "scatter_add",
    "select",
    "sequence",
    "sort",
    "sort_merge",
    "strided",
    "strided_boxes",
    "take",
    "transpose",
    "transpose_bytes",
    "uniform",
];

const MOST: u64 = 1 << 24;

pub fn program(d: &mut Draw<'_>) {
    match d.turn % 8 {
        0 => {
            moved::<Complex32>(d);
            complex(d);
        }
        1 => {
            moved::<u32>(d);
            moved::<u8>(d);
            bytes(d);
        }
        2 | 3 => moved::<f16>(d),
        4 => {
            computed::<i32>(d);
            let shapes = image_shapes(d);
            labelled::<i32>(d, &shapes);
            coloured::<i32>(d);
            scattered::<i32>(d);
        }
        5 => {
            computed::<u32>(d);
            let shapes = image_shapes(d);
            labelled::<u32>(d, &shapes);
            coloured::<u32>(d);
            scattered::<u32>(d);
        }
        6 => {
            computed::<f32>(d);
            scattered::<f32>(d);
            recorded::programs(d);
        }
        _ => {
            floats(d);
            scattered::<f16>(d);
        }
    }
}

/// Operations on any type.
fn moved<T: Value>(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 1, 2, 2, 3, 4]), d.of(&[1, 2, 3, 7, 40]));
    let x = d.drawn::<T>(rank, n);
    let y = d.drawn::<T>(rank, n);
    let other = d.layout(rank, n);
    d.ran("copy", x.copy());
    let full = d.device.full(&other, T::of(5));
    d.ran("full", full);
    let axis = d.rng.usize(..rank);
    d.ran("concat", x.concat(&y, axis));
    d.ran("concat_all", x.concat_all(&[&y, &x], axis));
    d.ran("block_diag", x.block_diag(&y));
    for pairing in [Pairing::AllToAll, Pairing::List(&pair_list([(0, 0)]))] {
        if let Ok(pair) = x.pair(&y, pairing) {
            d.ran("paired concat", pair.concat(axis));
        }
    }
    let start: Vec<i64> = (0..rank).map(|_| d.rng.i64(-9..9)).collect();
    let end: Vec<i64> = start.iter().map(|s| s + d.rng.i64(0..40)).collect();
    d.ran("slice", x.slice(&start, &end));
    let cuts: Vec<_> = (0..rank)
        .map(|_| {
            let step = d.of(&[-5, -2, -1, 1, 2, 4]);
            (Some(d.rng.i64(-40..40)), Some(d.rng.i64(-40..40)), step)
        })
        .collect();
    d.ran("strided_slice", x.strided_slice(&cuts));
    let (before, after): (Vec<usize>, Vec<usize>) = (0..rank)
        .map(|_| (d.rng.usize(..9), d.rng.usize(..9)))
        .unzip();
    d.ran("pad", x.pad(&before, &after));
    let mut axes: Vec<usize> = (0..rank).collect();
    d.rng.shuffle(&mut axes);
    d.ran("transpose", x.transpose(&axes));
    axes.truncate(d.rng.usize(..=rank));
    d.ran("flip", x.flip(&axes));
    d.ran("resize", x.resize(&other));
    let ones = Layout::uniform(n, vsla::Shape::new(&vec![1; rank]).unwrap()).unwrap();
    let one = d.tensor::<T>(&ones);
    d.ran("broadcast", one.broadcast(&other));
    d.ran("stack", x.stack(MOST));
    let stack = d.ran("stack_groups", x.stack_groups(&[n / 2, n - n / 2], MOST));
    if let Some(stack) = stack {
        d.ran("unstack", stack.unstack(x.layout()));
    }
    let (size, stride) = (d.rng.usize(1..4), d.rng.usize(1..3));
    d.ran("window", x.window(size, stride, MOST));
    d.ran("pyramid", x.pyramid(&[2, 3], Remainder::Pad, MOST));
    let chosen: Vec<u32> = (0..d.rng.usize(..2 * n))
        .map(|_| d.rng.u32(..n as u32))
        .collect();
    d.ran("select", x.select(&chosen));
    let mut order: Vec<u32> = (0..n as u32).collect();
    d.rng.shuffle(&mut order);
    d.ran("reorder", x.reorder(&Permutation::new(order).unwrap()));
    d.ran("join", x.join(&[&y, &x]));
    let lists = indices(d, n);
    d.ran("gather", x.gather(&lists));
    d.ran("gather_paired", x.gather_paired(&lists, Pairing::AllToAll));
    let (places, target) = places(d, x.layout());
    d.ran("scatter_set", x.scatter_set(&places, &target));
    let image = d.drawn::<T>(2, n);
    images(d, &image);
}

/// Images in other positions, and tables of values.
fn images<T: Value>(d: &mut Draw<'_>, x: &Tensor<T>) {
    let turns = d.rng.i64(-3..4);
    d.ran("rot90", x.rot90(turns));
    let count = d.of(&[1, x.len()]);
    let pairs = |d: &mut Draw<'_>, from: usize| -> Vec<[usize; 2]> {
        let pair = |_| [d.rng.usize(from..4), d.rng.usize(from..4)];
        (0..count).map(pair).collect()
    };
    let factors = pairs(d, 1);
    d.ran("upscale", x.upscale(&factors));
    d.ran("downscale", x.downscale(&factors));
    let copies = pairs(d, 0);
    d.ran("tile", x.tile(&copies));
    let shifts: Vec<[i64; 2]> = (0..count)
        .map(|_| [d.rng.i64(-9..9), d.rng.i64(-9..9)])
        .collect();
    d.ran("translate", x.translate(&shifts, T::of(4)));
    let boxes = Layout::from_lengths(vec![4; x.len()]).unwrap();
    let boxes = d.tensor::<u32>(&boxes);
    d.ran("crop", x.crop_blocking(&boxes));
    let lengths = (0..count).map(|_| d.of(&[1, 2, 5, 300]));
    let tables = Layout::from_lengths(lengths.collect::<Vec<_>>()).unwrap();
    let tables = d.tensor::<T>(&tables);
    let labels = d.tensor::<u32>(x.layout());
    d.ran("lookup", labels.lookup(&tables));
}

/// Images of bytes, one of them larger than what a workgroup transposes.
pub fn bytes(d: &mut Draw<'_>) {
    coloured::<u8>(d);
    let side = d.of(&[65, 80, 129]);
    let shapes = [[1, 3], [side, 64], [70, side]].map(|extents| Shape::new(&extents).unwrap());
    let x = d.tensor::<u8>(&Layout::from_shapes(2, shapes).unwrap());
    d.ran("rot90", x.rot90(1));
    d.ran("anti_transpose", x.anti_transpose());
    let (one, same) = (
        Layout::from_lengths([1]).unwrap(),
        d.tensor::<u8>(x.layout()),
    );
    let one = d.tensor::<u8>(&one);
    for (name, mask) in [
        ("less each", x.less(one.each())),
        ("equal", x.equal(&same)),
        ("greater", x.greater(&same)),
    ] {
        if let Some(mask) = d.ran(name, mask) {
            d.ran("if_else", mask.if_else(&x, one.each()));
        }
    }
    d.ran("maximum", x.maximum(&same));
    d.ran("minimum", x.minimum(&x.pad(&[0, 0], &[1, 2]).unwrap()));
    d.ran("max", x.max());
    d.ran("argmin", x.argmin());
    let table = d.tensor::<u8>(&Layout::from_lengths([200]).unwrap());
    d.ran("lookup", x.lookup(&table));
    d.ran("lookup", x.lookup(&table.to::<u32>().unwrap()));
}

/// Integers as colours of images.
fn coloured<T: Value + Pixel>(d: &mut Draw<'_>) {
    let n = d.of(&[1, 2, 5, 40]);
    let x = d.drawn::<T>(2, n);
    d.ran("dilate", x.dilate(Neighbours::Eight));
    d.ran("erode", x.erode(Neighbours::Four));
    d.ran("bincount", x.bincount(5));
    d.ran("most_common", x.most_common());
    d.ran("palette", x.palette_blocking());
    d.ran("bounding_box", x.bounding_box(T::of(3)));
    d.ran("equal_elements", x.equal_elements(&x));
    let shapes = Layout::uniform(d.of(&[1, n]), Shape::new(&[2, 1]).unwrap()).unwrap();
    let small = d.tensor::<T>(&shapes);
    d.ran("match_template", x.match_template(&small));
    let most = d.of(&[4, 60]);
    let rows = (0..n).map(|_| Shape::new(&[d.rng.usize(..most), 4]).unwrap());
    let figures = Layout::from_shapes(2, rows.collect::<Vec<_>>()).unwrap();
    let values = Layout::from_lengths((0..n).map(|i| figures.length(i) / 4)).unwrap();
    let (figures, values) = (d.tensor::<u32>(&figures), d.tensor::<T>(&values));
    d.ran("draw_boxes", x.draw_boxes(&figures, &values));
    let bytes = x.to::<u8>().unwrap();
    d.ran("to", bytes.to::<T>());
    d.ran("to", bytes.to::<f32>());
    d.ran("to", bytes.to::<f16>());
    d.ran("rot90", bytes.rot90(1));
    d.ran("period", x.period(0));
    d.ran("period", x.period(1));
}

/// Lists of row indices, some of them out of range.
fn indices(d: &mut Draw<'_>, lists: usize) -> Indices {
    let rows = (0..lists).map(|_| {
        let count = d.of(&[0, 1, 3, 4, 9, 70]);
        (0..count).map(|_| d.rng.u32(..9)).collect::<Vec<_>>()
    });
    Indices::new(Ragged::from_rows(rows.collect::<Vec<_>>()).unwrap()).unwrap()
}

/// Maps each row of each element to a different row of a larger element.
fn places(d: &mut Draw<'_>, x: &Layout) -> (Indices, Layout) {
    let more = d.rng.usize(..5);
    let mut lists = Vec::new();
    let mut shapes = Vec::new();
    for shape in x.shapes() {
        let mut extents: Vec<usize> = shape.extents().iter().map(|e| *e as usize).collect();
        let mut rows: Vec<u32> = (0..(extents[0] + more) as u32).collect();
        d.rng.shuffle(&mut rows);
        lists.push(rows[..extents[0]].to_vec());
        extents[0] += more;
        shapes.push(vsla::Shape::new(&extents).unwrap());
    }
    let target = Layout::from_shapes(x.rank(), shapes).unwrap();
    (
        Indices::new(Ragged::from_rows(lists).unwrap()).unwrap(),
        target,
    )
}

/// Operations that compute.
fn computed<T: Value + Real>(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 1, 2, 3, 5]), d.of(&[1, 2, 5, 40, 300]));
    let n = if rank > 2 { n.min(40) } else { n };
    let x = d.drawn::<T>(rank, n);
    let y = d.drawn::<T>(rank, n);
    let layout = x.layout().clone();
    let z = d.tensor::<T>(&layout);
    for other in [&y, &z] {
        d.ran("add", x.add(other));
        d.ran("sub", x.sub(other));
        d.ran("hadamard", x.hadamard(other));
        d.ran("div", x.div(other));
        d.ran("maximum", x.maximum(other));
        d.ran("less", x.less(other));
        d.ran("mul_add", x.mul_add(other, &z));
        d.ran("dot", x.dot(other));
        d.ran("equivalent", x.equivalent_blocking(other));
    }
    let (p, q) = (n.min(6), n.min(4));
    let (few, fewer) = (x.elements(n - p..n).unwrap(), y.elements(0..q).unwrap());
    let list: Vec<(u32, u32)> = (0..7)
        .map(|_| (d.rng.u32(..p as u32), d.rng.u32(..q as u32)))
        .collect();
    for pairing in [Pairing::AllToAll, Pairing::List(&pair_list(&list))] {
        let pair = few.pair(&fewer, pairing).unwrap();
        d.ran("paired add", pair.add());
        d.ran("paired hadamard", pair.hadamard());
        d.ran("paired dot", pair.dot());
        d.ran("paired equivalent", pair.equivalent_blocking());
    }
    spread(d, &x);
    d.ran("neg", x.neg());
    d.ran("scale", x.scale(T::of(3)));
    d.ran("sum", x.sum());
    d.ran("norm1", x.norm1());
    d.ran("max", x.max());
    d.ran("min", x.min());
    d.ran("argmax", x.argmax());
    d.ran("argmin", x.argmin());
    pooled(d, &x);
    counted(d, &x);
    if is_thorough::<T>() {
        reduced(d, &x);
        created::<T>(d, x.layout());
    }
    d.ran("minimal_shape", x.minimal_shape_blocking());
    d.ran("shrink", x.shrink_blocking());
}

/// Arithmetic of complex values, in every kernel.
fn complex(d: &mut Draw<'_>) {
    for rank in [1, 2, 3] {
        let n = d.of(&[1, 2, 5, 40, 300 / rank]);
        let x = d.drawn::<Complex32>(rank, n);
        let y = d.drawn::<Complex32>(rank, n);
        let (re, im) = (d.drawn::<f32>(rank, n), d.drawn::<f32>(rank, n));
        let layout = x.layout().clone();
        let (z, part) = (d.tensor::<Complex32>(&layout), d.tensor::<f32>(re.layout()));
        for other in [&y, &z] {
            d.ran("add", x.add(other));
            d.ran("sub", x.sub(other));
            d.ran("hadamard", x.hadamard(other));
            d.ran("div", x.div(other));
        }
        for other in [&im, &part] {
            d.ran("complex", re.complex(other));
            d.ran("polar", re.polar(other));
        }
        let (few, fewer) = (
            x.elements(n - n.min(6)..n).unwrap(),
            y.elements(0..n.min(4)).unwrap(),
        );
        let pair = few.pair(&fewer, Pairing::AllToAll).unwrap();
        d.ran("paired hadamard", pair.hadamard());
        let ones = d.tensor::<Complex32>(&Layout::from_lengths(vec![1; n]).unwrap());
        let axis = d.rng.usize(..rank);
        let extents = layout.shapes().map(|shape| shape.extents()[axis] as usize);
        let vectors = d.tensor::<Complex32>(&Layout::from_lengths(extents).unwrap());
        d.ran("add each", x.add(ones.each()));
        d.ran("sub along", vectors.along(axis).sub(&x));
        d.ran("hadamard along", x.hadamard(vectors.along(axis)));
        d.ran("div each", ones.each().div(&x));
        let parts = d.tensor::<f32>(&Layout::from_lengths(vec![1; n]).unwrap());
        d.ran("complex each", re.complex(parts.each()));
        d.ran("polar each", parts.each().polar(&re));
        d.ran("sum", x.sum());
        d.ran("sum_axis", x.sum_axis(axis));
        d.ran("abs", x.abs());
        d.ran("abs_squared", x.abs_squared());
        d.ran("arg", x.arg());
        d.ran("real", x.real());
        d.ran("imag", x.imag());
        d.ran("conj", x.conj());
        d.ran("neg", x.neg());
        d.ran("scale", x.scale(3.0));
        let factor = Complex32::new(2.0, -1.0);
        d.ran("scale_complex", x.scale_complex(factor));
        let pairs = x.view_as_real().unwrap();
        d.ran("view_as_complex", pairs.view_as_complex());
    }
}

/// Whether kernels whose variants differ only in the type of values take part: of f32 always, of all types on request,
/// because a software GPU compiles for minutes otherwise.
fn is_thorough<T: Value>() -> bool {
    T::DTYPE == vsla::scalar::DType::F32 || is_long() || all_are_instrumented()
}

/// Reductions along an axis and of whole elements.
fn reduced<T: Value + Factor>(d: &mut Draw<'_>, x: &Tensor<T>) {
    let axis = d.rng.usize(..x.layout().rank());
    d.ran("prod", x.prod());
    d.ran("norm_max", x.norm_max());
    d.ran("sum_axis", x.sum_axis(axis));
    d.ran("prod_axis", x.prod_axis(axis));
    d.ran("norm1_axis", x.norm1_axis(axis));
    d.ran("norm_max_axis", x.norm_max_axis(axis));
    d.ran("max_axis", x.max_axis(axis));
    d.ran("argmax_axis", x.argmax_axis(axis));
    d.ran("min_axis", x.min_axis(axis));
    d.ran("argmin_axis", x.argmin_axis(axis));
    let mask = d.tensor::<u32>(x.layout());
    d.ran("any", mask.any());
    d.ran("all_axis", mask.all_axis(axis));
}

/// Statistics of lines, and functions that map their values.
fn lines<T: Value + Float>(d: &mut Draw<'_>, x: &Tensor<T>) {
    let axis = d.rng.usize(..x.layout().rank());
    d.ran("mean_axis", x.mean_axis(axis));
    d.ran("std_axis", x.std_axis(axis));
    d.ran("log_sum_exp", x.log_sum_exp());
    d.ran("softmax", x.softmax(axis));
    d.ran("log_softmax", x.log_softmax(axis));
    d.ran("layer_norm", x.layer_norm(axis, 1e-5));
    d.ran("rms_norm", x.rms_norm(axis, 1e-5));
    d.ran("l2_normalize", x.l2_normalize(axis, 1e-5));
}

/// Bins that fit in workgroup memory, and that do not.
fn counted<T: Value + Factor>(d: &mut Draw<'_>, x: &Tensor<T>) {
    let bins = d.of(&[1, 7, 64, 4096, 4097]);
    d.ran("histogram", x.histogram(bins, T::of(1)..=T::of(9)));
    // They increase for every type: `T::of` repeats after 7.
    let edges = [1, 2, 5, 6].map(T::of);
    d.ran("histogram_edges", x.histogram_edges(&edges));
}

/// Images of one workgroup, and of several tiles.
fn image_shapes(d: &mut Draw<'_>) -> Vec<[usize; 2]> {
    let n = d.of(&[1, 3]);
    let shape = |_| {
        let most = d.of(&[[9, 9], [70, 90], [1, 5000], [300, 2]]);
        most.map(|extent| d.rng.usize(1..=extent))
    };
    (0..n).map(shape).collect()
}

/// Components of images, their table, and holes; for i32 a program of operations on images.
pub fn labelled<T: Value + Integer>(d: &mut Draw<'_>, shapes: &[[usize; 2]]) {
    if T::DTYPE == DType::I32 {
        let images = crate::imaging::images(shapes, || 2);
        let program =
            image::ImageProgram::new(crate::imaging::recorded("bounds", d.turn % 4, 20)).unwrap();
        let ran = program.run_blocking(&image::Place::from(d.device), &[&images]);
        d.ran("image program", ran);
    }
    let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
    let x = d.tensor::<T>(&Layout::from_shapes(2, shapes).unwrap());
    for neighbours in [Neighbours::Four, Neighbours::Eight] {
        let components = Components::of_equal_values().background(T::of(1));
        d.ran("label", x.label(components.neighbours(neighbours)));
    }
    let labelled = d.ran("label", x.label(Components::of_foreground()));
    if let Some((labels, numbers)) = labelled {
        d.ran("regions", x.regions_blocking(&labels, &numbers));
    }
    d.ran(
        "fill_holes",
        x.fill_holes(Neighbours::Four, T::of(1), T::of(2)),
    );
}

/// Windows of one axis and of two.
fn pooled<T: Value + Factor>(d: &mut Draw<'_>, x: &Tensor<T>) {
    for axes in 1..=x.layout().rank().min(2) {
        let mut extents = |from: &[usize]| (0..axes).map(|_| d.of(from)).collect::<Vec<_>>();
        let window = extents(&[1, 2, 3, 8]);
        let strides = extents(&[1, 2, 5]);
        d.ran("max_pool", x.pooling(&window).stride(&strides).max());
    }
    let large = d.of(&[130, 200]);
    d.ran(
        "max_pool of large windows",
        x.pooling(&[large]).stride(&[1]).max(),
    );
}

/// Batches of these shapes.
fn created<T: Value + Factor>(d: &mut Draw<'_>, layout: &Layout) {
    d.ran("arange", d.device.arange(layout, T::of(3), T::of(2)));
    d.ran("uniform", d.device.uniform(layout, T::of(1), T::of(9), 7));
    if layout.rank() == 2 {
        d.ran("eye", d.device.eye::<T>(layout));
    }
}

/// One-hot rows, and scores with targets, some of which are out of range.
fn labels(d: &mut Draw<'_>, x: &Tensor<f32>) {
    let indices = d.tensor::<u32>(x.layout());
    let depth = d.of(&[1, 2, 5, 300]);
    d.ran("one_hot", indices.one_hot::<f32>(depth));
    d.ran("one_hot of halves", indices.one_hot::<f16>(depth));
    let (rows, width) = (d.of(&[0, 1, 7, 300]), d.of(&[0, 1, 3, 4, 33]));
    let table = Layout::uniform(1, Shape::new(&[rows, width]).unwrap()).unwrap();
    let ran = embedded::<f32>(d, &table, &indices);
    d.ran("gradients of embeddings", ran);
    let ran = embedded::<f16>(d, &table, &indices);
    d.ran("gradients of embeddings of halves", ran);
    let sums = d.ran("sum_axis", x.sum_axis(x.layout().rank() - 1));
    if let Some(sums) = sums {
        let targets = d.tensor::<u32>(sums.layout());
        d.ran("cross_entropy", x.cross_entropy(&targets));
        if let Some(half) = d.ran("to", x.to::<f16>()) {
            d.ran("cross_entropy of halves", half.cross_entropy(&targets));
        }
    }
}

/// The gradient of a table, of the rows that these ids name.
pub fn embedded<T: Value + Float>(
    d: &mut Draw<'_>,
    table: &Layout,
    ids: &Tensor<u32>,
) -> Result<Outputs> {
    let table = d.tensor::<T>(table);
    let program = Program::new(d.device, |r| {
        let (table, ids): (Tensor<T>, Tensor<u32>) = (r.input()?, r.input()?);
        let rows = table.embedding(&ids)?;
        r.output(&rows)?;
        let [slopes] = r.gradients(&rows.to::<f32>()?, [&table])?;
        r.output(&slopes)
    });
    program
        .plan(&[table.layout(), ids.layout()])?
        .run(&[&table, ids])
}

fn random<T: Value + Float>(d: &mut Draw<'_>, x: &Tensor<T>) {
    d.ran(
        "linspace",
        d.device.linspace(x.layout(), T::of(3), T::of(1)),
    );
    // `T::of(5)` is 2, a valid deviation.
    d.ran("normal", d.device.normal(x.layout(), T::of(3), T::of(5), 7));
    d.ran("dropout", x.dropout(0.4, 7));
}

/// Vectors over the elements of another batch.
fn spread<T: Value + Factor>(d: &mut Draw<'_>, x: &Tensor<T>) {
    let ones = d.tensor::<T>(&Layout::from_lengths(vec![1; x.len()]).unwrap());
    let axis = d.rng.usize(..x.layout().rank());
    let extents = x
        .layout()
        .shapes()
        .map(|shape| shape.extents()[axis] as usize);
    let vectors = d.tensor::<T>(&Layout::from_lengths(extents).unwrap());
    d.ran("add each", x.add(ones.each()));
    d.ran("sub along", vectors.along(axis).sub(x));
    d.ran("less along", x.less(vectors.along(axis)));
    let mask = d.tensor::<u32>(x.layout());
    d.ran("mul_add along", x.mul_add(vectors.along(axis), ones.each()));
    d.ran("if_else along", mask.if_else(vectors.along(axis), x));
}

fn scattered<T: Value + Factor>(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 2, 3]), d.of(&[1, 3, 20]));
    let x = d.drawn::<T>(rank, n);
    // Many rows added to few targets, whose long sums are cut into parts.
    let (mut lists, mut shapes) = (Vec::new(), Vec::new());
    for shape in x.layout().shapes() {
        let mut extents: Vec<usize> = shape.extents().iter().map(|e| *e as usize).collect();
        let rows = d.rng.usize(1..9);
        lists.push(
            (0..extents[0])
                .map(|_| d.rng.u32(..rows as u32))
                .collect::<Vec<_>>(),
        );
        extents[0] = rows;
        shapes.push(vsla::Shape::new(&extents).unwrap());
    }
    let target = Layout::from_shapes(rank, shapes).unwrap();
    let lists = Indices::new(Ragged::from_rows(lists).unwrap()).unwrap();
    d.ran("scatter_add", x.scatter_add(&lists, &target));
}

fn floats(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 2, 3]), d.of(&[1, 4, 60]));
    let x = d.drawn::<f32>(rank, n);
    d.ran("norm2", x.norm2());
    d.ran("softmax", x.softmax(rank - 1));
    d.ran("var_axis", x.var_axis(0));
    d.ran("cumsum", x.cumsum(0));
    d.ran("diff", x.diff(0));
    d.ran("sort", x.sort(rank - 1));
    d.ran("top_k", x.top_k_at_most(2, 0));
    d.ran("median", x.median_axis(0));
    d.ran("argsort", x.argsort(0));
    d.ran("cummax", x.cummax(rank - 1));
    d.ran("to", x.to::<f16>());
    d.ran("exp", x.exp());
    d.ran("to", x.to::<i32>());
    let half = d.drawn::<f16>(rank, n);
    d.ran("to", half.to::<f32>());
    d.ran("exp of halves", half.exp());
    let other = d.drawn::<f16>(rank, n);
    d.ran("add halves", half.add(&other));
    d.ran("less halves", half.less(&other));
    d.ran("maximum of halves", half.maximum(&half));
    spread(d, &half);
    pooled(d, &half);
    counted(d, &half);
    lines(d, &x);
    labels(d, &x);
    random(d, &x);
    if is_thorough::<f16>() {
        reduced(d, &half);
        d.ran("norm2_axis of halves", half.norm2_axis(0));
        lines(d, &half);
        created::<f16>(d, half.layout());
        random(d, &half);
    }
    d.ran("scale halves", half.scale(f16::from_f32(3.0)));
    d.ran("neg halves", half.neg());
    d.ran("mean_pool", x.mean_pool(&[3]));
    d.ran("mean_pool of halves", half.mean_pool(&[2]));
    d.ran(
        "mean_pool of large windows",
        x.pooling(&[130]).stride(&[1]).mean(),
    );
    d.ran(
        "mean_pool of large windows of halves",
        half.pooling(&[130]).stride(&[1]).mean(),
    );
    d.ran("cumsum of halves", half.cumsum(rank - 1));
    d.ran("cummax of halves", half.cummax(0));
    d.ran("sort of halves", half.sort(0));
    d.ran("argsort of halves", half.argsort(rank - 1));
    d.ran("median of halves", half.median_axis(0));
    d.ran("minimal_shape of halves", half.minimal_shape_blocking());
    let integers = d.drawn::<i32>(rank, n);
    d.ran("abs", integers.abs());
    d.ran("to", integers.to::<f32>());
    // One element of many tiles.
    let layout = Layout::from_lengths([3, d.of(&[8192, 8193, 20_001])]).unwrap();
    let (x, y) = (d.tensor::<f32>(&layout), d.tensor::<f32>(&layout));
    d.ran("norm2", x.norm2());
    d.ran("norm2_axis", x.norm2_axis(0));
    reduced(d, &x);
    let (half, complex) = (d.tensor::<f16>(&layout), d.tensor::<Complex32>(&layout));
    d.ran("softmax of halves", half.softmax(0));
    d.ran("norm2 of halves", half.norm2());
    d.ran("cumsum of halves", half.cumsum(0));
    d.ran("sort of halves", half.sort(0));
    d.ran("argsort of halves", half.argsort(0));
    d.ran("minimal_shape of halves", half.minimal_shape_blocking());
    d.ran("sum of complex ones", complex.sum());
    let (signed, words) = (d.tensor::<i32>(&layout), d.tensor::<u32>(&layout));
    if is_thorough::<f16>() {
        reduced(d, &half);
        lines(d, &half);
        reduced(d, &signed);
        reduced(d, &words);
    }
    d.ran("layer_norm", x.layer_norm(0, 1e-5));
    d.ran("log_sum_exp", x.log_sum_exp());
    d.ran("cumprod", x.cumprod(0));
    d.ran("sort", x.sort(0));
    d.ran("argsort", x.argsort_descending(0));
    counted(d, &x);
    d.ran("sum", x.sum());
    d.ran("max", x.max());
    d.ran("argmin", x.argmin());
    d.ran("dot", x.dot(&y));
    d.ran("degree", x.degree_blocking());
    d.ran("equivalent", x.equivalent_blocking(&y));
    d.ran("add", x.add(&y));
    let wide = d.drawn::<f32>(2, 3);
    let matrices =
        Layout::uniform(2, vsla::Shape::new(&[70, d.of(&[61, 64, 99])]).unwrap()).unwrap();
    let (x, z) = (d.tensor::<f32>(&matrices), d.tensor::<Complex32>(&matrices));
    d.ran("transpose", x.transpose(&[1, 0]));
    d.ran("transpose", z.transpose(&[1, 0]));
    d.ran("minimal_shape", wide.minimal_shape_blocking());
}
