//! Rows by index (`gather`, `scatter_add`), values by indices on the device (`take`), and whole elements (`select`,
//! `join`); on the CPU compared with plain loops.

use rayon::prelude::*;
use vsla::batch::Permutation;
use vsla::{Indices, Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::cpu::{Job, compare, cut};
use crate::harness::data::check_equal;
use crate::harness::lengths::{Zipf, until};
use crate::harness::{Bench, Outcome, Spec};

/// Values per row, the names of its benchmark rows, and the kernels' targets in percent of a copy.
const WIDTHS: [(usize, [&str; 4], [f64; 2]); 3] = [
    (
        1,
        ["gather/1", "scatter/1", "cpu/gather-1", "cpu/scatter-1"],
        [0.0, 0.0],
    ),
    (
        16,
        ["gather/16", "scatter/16", "cpu/gather-16", "cpu/scatter-16"],
        [60.0, 0.0],
    ),
    (
        64,
        ["gather/64", "scatter/64", "cpu/gather-64", "cpu/scatter-64"],
        [60.0, 0.0],
    ),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let mut zipf = Zipf::new(1, 1.2, 65536);
    let lengths = until(bench.size.values, || zipf.draw());
    select(
        bench,
        ["select/zipf", "cpu/select-zipf"],
        lengths,
        ZIPF,
        80.0,
    )?;
    let mut rng = fastrand::Rng::with_seed(1);
    let lengths = (0..bench.size.elements)
        .map(|_| rng.usize(8..=24))
        .collect();
    let names = ["select/small", "cpu/select-small"];
    select(bench, names, lengths, "uniform 8..=24", 0.0)?;
    join(bench)?;
    for (width, names, targets) in WIDTHS {
        by_width(bench, width, names, targets)?;
    }
    take(bench)?;
    if bench.device.is_gpu() && bench.wants("gather/embedding") {
        embedding(bench)?;
    }
    if bench.device.is_gpu() && bench.wants("scatter/embedding") {
        gradient(bench)?;
    }
    Ok(())
}

/// Selects all elements in a random order, planned once.
fn select(
    bench: &mut Bench,
    names: [&'static str; 2],
    lengths: Vec<usize>,
    data: &str,
    target: f64,
) -> Outcome<()> {
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let layout = Layout::from_lengths(lengths)?;
    let mut elements: Vec<u32> = (0..layout.len() as u32).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut elements);
    let order = Permutation::new(elements)?;
    let x = Ragged::random(&layout, 8)?;
    let tensor = bench.device.upload(&x)?;
    let mut out = vec![0.0f32; layout.total()];
    let mut by_hand = |out: &mut Vec<f32>| {
        let elements = order.as_slice();
        let lengths = elements.iter().map(|&i| layout.length(i as usize));
        let mut slices = cut(out, lengths);
        let both = slices.par_iter_mut().zip(elements);
        both.for_each(|(c, &i)| c.copy_from_slice(&x[i as usize]));
    };
    by_hand(&mut out);
    let spec = Spec {
        name: names[0],
        data: format!(
            "{} elements, {data}, shuffled; seeds 1, 7 and 8",
            layout.len()
        ),
        bytes: 4 * (2 * layout.total() + 3 * layout.len()) as u64,
        multiply_adds: 0,
        first: Default::default(),
        check: Ok(String::new()),
    };
    let ours = || tensor.reorder(&order);
    row(bench, names, spec, target, &ours, &mut out, &mut by_hand)
}

/// Joins two halves of a batch.
fn join(bench: &mut Bench) -> Outcome<()> {
    let names = ["join/zipf", "cpu/join-zipf"];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let mut zipf = Zipf::new(1, 1.2, 65536);
    let layout = Layout::from_lengths(until(bench.size.values, || zipf.draw()))?;
    let x = Ragged::random(&layout, 8)?;
    let tensor = bench.device.upload(&x)?;
    let (half, total) = (layout.len() / 2, layout.total());
    let halves = [
        tensor.elements(0..half)?,
        tensor.elements(half..layout.len())?,
    ];
    let mut out = x.values().to_vec();
    let spec = Spec {
        name: names[0],
        data: format!(
            "{} elements, {ZIPF}, as two batches; seeds 1 and 8",
            layout.len()
        ),
        bytes: 8 * total as u64,
        multiply_adds: 0,
        first: Default::default(),
        check: Ok(String::new()),
    };
    let ours = || halves[0].join(&[&halves[1]]);
    let mut by_hand = |out: &mut Vec<f32>| {
        let pieces = out
            .par_chunks_mut(1 << 14)
            .zip(x.values().par_chunks(1 << 14));
        pieces.for_each(|(y, x)| y.copy_from_slice(x));
    };
    row(bench, names, spec, 80.0, &ours, &mut out, &mut by_hand)
}

const ZIPF: &str = "Zipf s = 1.2 on 1..=65536";

/// Elements whose numbers of rows follow Zipf s = 1.2 on 1..=4096, with as many random row indices for each element.
fn by_width(
    bench: &mut Bench,
    width: usize,
    names: [&'static str; 4],
    targets: [f64; 2],
) -> Outcome<()> {
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let mut zipf = Zipf::new(1, 1.2, 4096);
    let extents = until(bench.size.values / width, || zipf.draw());
    let shapes = extents.iter().map(|&rows| Shape::new(&[rows, width]));
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let mut rng = fastrand::Rng::with_seed(2);
    let lists = Layout::from_lengths(extents.iter().copied())?;
    let lists = Ragged::from_fn(&lists, |element, _| rng.u32(..extents[element] as u32))?;
    let indices = Indices::new(lists.clone())?;
    // Integers, whose sums are exact in any order, and no −0.
    let x = Ragged::random(&layout, 3)?.cast(|value: f32| (value * 16.0).round() + 0.0)?;
    let tensor = bench.device.upload(&x)?;
    let words = 2 * x.values().len() + lists.values().len();
    let data = format!(
        "{} elements of rows of {width}, Zipf s = 1.2 on 1..=4096, {} in all; as many indices at random; seeds 1 to 3",
        layout.len(),
        lists.values().len()
    );
    let mut out = vec![0.0f32; layout.total()];

    let mut by_hand = |out: &mut Vec<f32>| {
        let mut slices = cut(out, layout.lengths());
        slices.par_iter_mut().enumerate().for_each(|(i, c)| {
            for (c, &row) in c.chunks_exact_mut(width).zip(&lists[i]) {
                c.copy_from_slice(&x[i][row as usize * width..][..width]);
            }
        });
    };
    by_hand(&mut out);
    let gather = || tensor.gather(&indices);
    // Offsets of three batches, extents of two.
    let places = 3 * (layout.len() + 1) + 4 * layout.len();
    let spec = |name, words: usize| Spec {
        name,
        data: data.clone(),
        bytes: 4 * words as u64,
        multiply_adds: 0,
        first: Default::default(),
        check: Ok(String::new()),
    };
    row(
        bench,
        [names[0], names[2]],
        spec(names[0], words + places),
        targets[0],
        &gather,
        &mut out,
        &mut by_hand,
    )?;

    let mut by_hand = |out: &mut Vec<f32>| {
        let mut slices = cut(out, layout.lengths());
        slices.par_iter_mut().enumerate().for_each(|(i, c)| {
            c.fill(0.0);
            for (y, &row) in x[i].chunks_exact(width).zip(&lists[i]) {
                for (sum, y) in c[row as usize * width..][..width].iter_mut().zip(y) {
                    *sum += y;
                }
            }
        });
    };
    by_hand(&mut out);
    let scatter = || tensor.scatter_add(&indices, &layout);
    // The start of each row's list, instead of the batch's offsets.
    let places = layout.len() * 4 + lists.values().len();
    row(
        bench,
        [names[1], names[3]],
        spec(names[1], words + places),
        targets[1],
        &scatter,
        &mut out,
        &mut by_hand,
    )
}

/// Values of vectors by as many random indices on the device: the lengths and indices of `gather/1`.
fn take(bench: &mut Bench) -> Outcome<()> {
    let names = ["take/zipf", "cpu/take-zipf"];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let mut zipf = Zipf::new(1, 1.2, 4096);
    let layout = Layout::from_lengths(until(bench.size.values, || zipf.draw()))?;
    let mut rng = fastrand::Rng::with_seed(2);
    let index = Ragged::from_fn(&layout, |e, _| rng.u32(..layout.length(e) as u32))?;
    let x = Ragged::random(&layout, 3)?;
    let (tensor, on_device) = (bench.device.upload(&x)?, bench.device.upload(&index)?);
    let mut out = vec![0.0f32; layout.total()];
    let mut by_hand = |out: &mut Vec<f32>| {
        let mut slices = cut(out, layout.lengths());
        slices.par_iter_mut().enumerate().for_each(|(e, c)| {
            for (c, &i) in c.iter_mut().zip(&index[e]) {
                *c = x[e][i as usize];
            }
        });
    };
    by_hand(&mut out);
    let spec = Spec {
        name: names[0],
        data: format!(
            "{} elements, Zipf s = 1.2 on 1..=4096, {} values; as many indices at random; seeds 1 to 3",
            layout.len(),
            layout.total()
        ),
        // Offsets of the indices, and of the values.
        bytes: 4 * (3 * layout.total() + 2 * layout.len()) as u64,
        multiply_adds: 0,
        first: Default::default(),
        check: Ok(String::new()),
    };
    let ours = || tensor.take_along_axis(&on_device, 0);
    row(bench, names, spec, 60.0, &ours, &mut out, &mut by_hand)
}

/// Compared with a copy on a GPU, and with the loop on the CPU. `right` is the correct result.
fn row(
    bench: &mut Bench,
    names: [&'static str; 2],
    mut spec: Spec,
    target: f64,
    ours: &dyn Fn() -> Result<Tensor<f32>>,
    right: &mut Vec<f32>,
    by_hand: &mut dyn FnMut(&mut Vec<f32>),
) -> Outcome<()> {
    let gpu = bench.device.is_gpu();
    if !bench.wants(names[usize::from(!gpu)]) {
        return Ok(());
    }
    let (result, first) = bench.first(ours)?;
    spec.check = check_equal(result.download_blocking()?.values(), right);
    spec.first = first;
    drop(result);
    if gpu {
        let row = bench.measure(spec, ours)?;
        bench.push(row.of_copy(target));
        return Ok(());
    }
    compare(
        bench,
        Job {
            name: names[1],
            data: spec.data,
            bytes: spec.bytes as usize,
            multiply_adds: 0,
            check: spec.check,
            ours: &mut || ours().map(drop),
            plain: &mut || by_hand(right),
            target: ("x a plain loop", 1.5),
        },
    )
}

/// A table of vectors, and sentences of words with uneven frequencies.
fn words(bench: &Bench) -> Outcome<(Layout, Ragged<u32>)> {
    let table = match bench.size.quick {
        true => [500, 128],
        false => [50_000, 128],
    };
    let mut rng = fastrand::Rng::with_seed(4);
    let lengths = until(bench.size.values / table[1], || rng.usize(1..=512));
    let mut zipf = Zipf::new(5, 1.0, table[0]);
    let words = Ragged::from_fn(&Layout::from_lengths(lengths)?, |_, _| {
        zipf.draw() as u32 - 1
    })?;
    Ok((Layout::uniform(1, Shape::new(&table)?)?, words))
}

fn sentences(words: &Ragged<u32>) -> String {
    format!(
        "{} sentences of 1..=512 words, {} in all, Zipf s = 1 on a table of vectors of 128; seeds 4 to 6",
        words.len(),
        words.values().len()
    )
}

fn embedding(bench: &mut Bench) -> Outcome<()> {
    let (layout, words) = words(bench)?;
    let indices = Indices::new(words.clone())?;
    let table = Ragged::random(&layout, 6)?;
    let tensor = bench.device.upload(&table)?;
    let ours = || tensor.gather_paired(&indices, Pairing::OneToAll);
    let (result, first) = bench.first(ours)?;
    let vectors = words.values().iter();
    let right: Vec<f32> = vectors
        .flat_map(|&word| table[0][word as usize * 128..][..128].iter().copied())
        .collect();
    let spec = Spec {
        name: "gather/embedding",
        data: sentences(&words),
        // The table counts once, for the rows that are read.
        bytes: 4
            * (table.values().len() + right.len() + words.values().len() + 4 * words.len()) as u64,
        multiply_adds: 0,
        first,
        check: check_equal(result.download_blocking()?.values(), &right),
    };
    drop((result, right));
    let row = bench.measure(spec, ours)?;
    bench.push(row.of_copy(60.0));
    Ok(())
}

fn gradient(bench: &mut Bench) -> Outcome<()> {
    let (layout, words) = words(bench)?;
    let indices = Indices::new(words.clone())?;
    let shapes = words
        .layout()
        .lengths()
        .map(|length| Shape::new(&[length, 128]));
    let y = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let y = Ragged::random(&y, 6)?.cast(|value: f32| (value * 16.0).round() + 0.0)?;
    let tensor = bench.device.upload(&y)?;
    let ours = || tensor.scatter_add_paired(&indices, &layout, Pairing::OneToAll);
    let (result, first) = bench.first(ours)?;
    let mut right = vec![0.0f32; layout.total()];
    for (y, &word) in y.values().chunks_exact(128).zip(words.values()) {
        for (sum, y) in right[word as usize * 128..][..128].iter_mut().zip(y) {
            *sum += y;
        }
    }
    let spec = Spec {
        name: "scatter/embedding",
        data: sentences(&words),
        bytes: 4
            * (y.values().len()
                + right.len()
                + words.values().len()
                + layout.shape(0).extents()[0] as usize) as u64,
        multiply_adds: 0,
        first,
        check: check_equal(result.download_blocking()?.values(), &right),
    };
    drop((result, right));
    let row = bench.measure(spec, ours)?;
    bench.push(row);
    Ok(())
}
