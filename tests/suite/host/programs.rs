//! Programs that run out of memory: what is no row of the catalogue, or has long lists as options. Each takes a number
//! of elements, allocates everything itself, and returns a hash of all results.

mod files;
mod products;
mod recorded;
mod transforms;
pub mod values;

use std::hash::Hash;

use vsla::batch::{Permutation, Side};
use vsla::{
    Bsr, Device, Error, Indices, Layout, Pairing, Ragged, Result, Shape, Topology,
    batch::{Offsets, PairList, Remainder},
    conv::{ConvMethod, ConvMode, CostTable, HeterogeneityProfile},
};

use crate::support::bench::is_hurried;

use values::*;

pub struct Program {
    pub name: &'static str,
    pub run: fn(&Device, usize) -> Result<u64>,
}

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "constructors",
        run: constructors,
    },
    Program {
        name: "topologies",
        run: topologies,
    },
    Program {
        name: "written",
        run: written,
    },
    Program {
        name: "files",
        run: files::files,
    },
    Program {
        name: "convolutions",
        run: convolutions,
    },
    Program {
        name: "long_convolutions",
        run: long_convolutions,
    },
    Program {
        name: "boxes",
        run: boxes,
    },
    Program {
        name: "conv_plans",
        run: conv_plans,
    },
    Program {
        name: "best_lags",
        run: best_lags,
    },
    Program {
        name: "frames",
        run: transforms::frames,
    },
    Program {
        name: "shapes",
        run: shapes,
    },
    Program {
        name: "stacks",
        run: stacks,
    },
    Program {
        name: "indices",
        run: indices,
    },
    Program {
        name: "elements",
        run: elements,
    },
    Program {
        name: "shape_matrices",
        run: products::shape_matrices,
    },
    Program {
        name: "bsr",
        run: products::bsr,
    },
    Program {
        name: "attention",
        run: products::attention,
    },
    Program {
        name: "cache",
        run: products::cache,
    },
    Program {
        name: "recorded",
        run: recorded::recorded,
    },
];

const ROOM: u64 = u64::MAX;

fn constructors(_: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let shape = Shape::new(&[1, 2, 3])?;
    sum.layout(&Layout::uniform(n, shape)?);
    sum.layout(&Layout::from_shapes(
        3,
        (0..n).map(|_| shape).filter(|_| true),
    )?);
    let offsets = Offsets::from_lengths((0..n).map(|i| i % 3).filter(|_| true))?;
    sum.layout(&Layout::from_offsets(offsets).range(1..n - 1)?);
    sum.layout(&Layout::uniform(n, shape)?.range(1..n - 1)?);
    let row = [1.0f32, 2.0, 3.0];
    let batch = Ragged::from_rows((0..n).map(|i| &row[..i % 4]))?;
    sum.host(&batch);
    let profile = HeterogeneityProfile::new(batch.layout(), &CostTable::cpu())?;
    profile.powers_of_two.hash(&mut sum.0);
    sum.host(&batch.cast(|x| 2.0 * x)?);
    sum.host(&Ragged::from_rows(batch.to_vecs()?)?);
    let padded = batch.to_padded(7.0)?;
    let lengths = listed(n, |i| i % 4)?;
    sum.host(&Ragged::from_padded(&padded, 3, &lengths)?);
    let order = Permutation::by_length(batch.layout())?;
    order.as_slice().hash(&mut sum.0);
    let order = Permutation::new(listed(n, |i| (n - 1 - i) as u32)?)?;
    order.inverse().as_slice().hash(&mut sum.0);
    sum.value()
}

fn topologies(_: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let side = 8 * n.isqrt() + 3;
    let mut add = |topology: Result<Topology>| {
        let topology = topology?;
        topology.blocks().for_each(|place| place.hash(&mut sum.0));
        Ok::<_, Error>(topology)
    };
    let block = [8, 8];
    add(Topology::causal([side, side], block))?;
    add(Topology::strided([side, side], block, 3))?;
    add(Topology::random([side, side], block, 5, 1))?;
    let grid = side.div_ceil(8);
    let places = listed(n, |i| ((i * 7 % grid) as u32, (i * 5 % grid) as u32))?;
    let unsorted = places.iter().copied().filter(|_| true);
    let topology = add(Topology::from_unsorted([side, side], block, unsorted))?;
    let mask = listed(side * side, |i| i % 97 == 0)?;
    add(Topology::from_mask([side, side], block, &mask))?;
    let dense = listed(side * side, |i| if i % 89 == 0 { number(i) } else { 0.0 })?;
    let bsr = Bsr::from_dense([side, side], block, &dense, 0.5)?;
    sum.host(bsr.values());
    sum.host(&Bsr::sample(&topology, &dense)?.to_dense()?);
    let values = listed(64 * places.len(), number)?;
    sum.host(Bsr::from_blocks([side, side], block, &places, &values)?.values());
    sum.value()
}

fn convolutions(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let long = [300, 700, 40];
    let (a, b) = (
        series(device, n, 0, &long)?,
        series(device, n, 3, &[200, 700, 31])?,
    );
    sum.add(a.conv(&b)?)?;
    sum.add(a.correlate(&b)?)?;
    let pairs = PairList::new(listed(n + long.len(), |i| {
        (i as u32, (n + long.len() - 1 - i) as u32)
    })?)?;
    let pair = a.pair(&b, Pairing::List(&pairs))?;
    for method in [
        ConvMethod::Auto,
        ConvMethod::Direct,
        ConvMethod::Fft,
        ConvMethod::OverlapSave,
    ] {
        sum.add(pair.convolution().method(method).conv()?)?;
    }
    for mode in [ConvMode::Same, ConvMode::Valid, ConvMode::Causal] {
        sum.add(pair.convolution().mode(mode).side(Side::Left).conv()?)?;
    }
    sum.add(pair.convolution().stride(&[3]).correlate()?)?;
    let ints = filled(device, &series_layout(n, 0, &long)?, |i| i as i32)?;
    sum.add(ints.conv(&ints)?)?;
    sum.value()
}

fn long_convolutions(device: &Device, _: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let a = filled(
        device,
        &Layout::from_lengths([9_000, 12_000, 3, 20_000])?,
        number,
    )?;
    let b = filled(
        device,
        &Layout::from_lengths([9_000, 900, 10_000, 70])?,
        number,
    )?;
    sum.add(a.conv(&b)?)?;
    let pair = a.pair(&b, Pairing::Elementwise)?;
    sum.add(pair.convolution().method(ConvMethod::OverlapSave).conv()?)?;
    sum.value()
}

fn boxes(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let n = n / 4;
    let a = matrices(device, n + 2, |i| {
        if i < 2 { [20, 25] } else { [1 + i % 3, i % 4] }
    })?;
    let b = matrices(device, n + 2, |i| {
        if i < 2 { [12, 10] } else { [1 + i % 2, i % 3] }
    })?;
    sum.add(a.conv(&b)?)?;
    let pair = a.pair(&b, Pairing::Elementwise)?;
    sum.add(pair.convolution().method(ConvMethod::Direct).conv()?)?;
    sum.add(pair.convolution().method(ConvMethod::Fft).correlate()?)?;
    sum.add(
        pair.convolution()
            .mode(ConvMode::Valid)
            .side(Side::Left)
            .stride(&[2, 1])
            .conv()?,
    )?;
    sum.value()
}

fn conv_plans(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let n = n.min(100);
    let (a, b) = (
        series(device, n, 0, &[3000, 40])?,
        series(device, n, 3, &[700, 5000])?,
    );
    let plan = a.pair(&b, Pairing::Elementwise)?.conv_plan()?;
    sum.add(plan.conv(&a)?)?;
    sum.add(plan.causal(&a)?)?;
    sum.value()
}

fn best_lags(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    // A software driver compiles the kernels of transforms of 5,000 values for half a minute.
    let [x, y, z] = match is_hurried(device) {
        true => [200, 90, 100],
        false => [3000, 900, 2000],
    };
    let (a, b) = (
        series(device, n, 1, &[x, 40])?,
        series(device, n, 3, &[y, z])?,
    );
    let best = a.correlate_max(&b)?;
    sum.add(best.value)?;
    sum.add(best.lag)?;
    sum.add(a.sbd(&b)?.distance)?;
    let pairs = PairList::new(listed(n, |i| (i as u32, (n + 1 - i) as u32))?)?;
    sum.add(a.pair(&b, Pairing::List(&pairs))?.correlate_max()?.lag)?;
    sum.value()
}

fn shapes(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = matrices(device, n, |i| {
        if i == 0 {
            [90, 100]
        } else {
            [1 + i % 4, 1 + i % 3]
        }
    })?;
    sum.add(x.slice(&[-1, 1], &[3, 2])?)?;
    sum.add(x.pad(&[1, 0], &[0, 2])?)?;
    sum.add(x.flip(&[0])?)?;
    sum.add(x.transpose(&[1, 0])?)?;
    let other = matrix_layout(n, |i| {
        if i == 0 {
            [100, 90]
        } else {
            [1 + i % 3, 1 + i % 4]
        }
    })?;
    sum.add(x.resize(&other)?)?;
    sum.add(x.reshape(&other)?)?;
    let ones = matrices(device, n, |i| [1, 1 + i % 3])?;
    sum.add(ones.broadcast(&matrix_layout(n, |i| [4, 1 + i % 3])?)?)?;
    let cubes = Layout::uniform(n, Shape::new(&[2, 3, 2])?)?;
    sum.add(filled(device, &cubes, number)?.transpose(&[2, 0, 1])?)?;
    sum.value()
}

fn stacks(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[])?;
    let counts = listed(n / 4, |_| 4)?;
    let stacked = x.elements(0..n / 4 * 4)?.stack_groups(&counts, ROOM)?;
    let shapes = x.layout().range(0..n / 4 * 4)?;
    sum.add(stacked.unstack(&shapes)?)?;
    sum.add(stacked)?;
    sum.add(x.window(3, 1, ROOM)?)?;
    for level in x.pyramid(&[3, 5], Remainder::Pad, ROOM)? {
        sum.add(level)?;
    }
    sum.add(x.stack(ROOM)?)?;
    let x = matrices(device, n, |i| [1 + i % 2, 2])?;
    sum.add(x.window(2, 2, ROOM)?)?;
    sum.value()
}

fn indices(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = matrices(device, n, |i| [2 + i % 3, 2])?;
    let lists = |each: usize| {
        let lists = Layout::from_lengths((0..n).map(|_| each))?;
        let values = listed(lists.total(), |i| (i % 2) as u32)?;
        Indices::new(Ragged::from_parts(lists, values)?)
    };
    let gathered = x.gather(&lists(2)?)?;
    sum.add(gathered.scatter_set(&lists(2)?, x.layout())?)?;
    sum.add(gathered.scatter_add(&lists(2)?, x.layout())?)?;
    let pairs = PairList::new(listed(n, |i| (i as u32, (n - 1 - i) as u32))?)?;
    sum.add(x.gather_paired(&lists(2)?, Pairing::List(&pairs))?)?;
    // More rows than are added in one step.
    let many = Layout::from_lengths([5000])?;
    let all = Indices::new(Ragged::from_parts(
        many.clone(),
        listed(5000, |i| (i % 3) as u32)?,
    )?)?;
    let target = Layout::from_lengths([3])?;
    sum.add(filled(device, &many, number)?.scatter_add(&all, &target)?)?;
    sum.value()
}

fn elements(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = matrices(device, n, |i| [i % 3, i % 4])?;
    let (sorted, order) = x.sort_by_length()?;
    sum.add(sorted.reorder(&order.inverse())?)?;
    sum.add(sorted)?;
    let chosen = listed(2 * n, |i| (i * 7 % n) as u32)?;
    sum.add(x.select(&chosen)?)?;
    let joined = x.join(&[&x, &x])?;
    for part in joined.split(&[n, 2 * n])? {
        sum.add(part)?;
    }
    sum.add(joined.elements(1..n)?.copy()?)?;
    // As many operands as elements.
    let two = x.elements(0..2)?;
    let mut copies = room(n)?;
    copies.extend((0..n).map(|_| &two));
    sum.add(two.join(&copies)?)?;
    sum.value()
}

/// Functions that an application writes, made anew each time.
fn written(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let (a, b) = (series(device, n, 0, &[300])?, series(device, n, 0, &[300])?);
    let cubed = device.map1("x * x * x", |x: f32| x * x * x)?;
    sum.add(cubed.apply(&a)?)?;
    sum.add(cubed.apply(&a.to::<vsla::f16>()?)?)?;
    let larger = device.map2("max(a, -b)", |a: f32, b: f32| a.max(-b))?;
    sum.add(larger.apply(&a, &b)?)?;
    sum.value()
}
