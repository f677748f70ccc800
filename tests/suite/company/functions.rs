//! Functions of values, functions along axes, and operations that move values.

use vsla::image::{Components, Neighbours};
use vsla::{Complex32, Device, Indices, Layout, Ragged, Shape, Tensor, f16};

use super::{Rows, Subject, beside, boxes_of, bytes, value};
use crate::programs::{
    Batch, Kind, Meeting, Value, Values, Vectors, functions_of, lines_of, maps_of, pools_of,
};
use crate::support::bench::is_software;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "maps",
        count: EXTENTS.len(),
        run: maps,
    },
    Subject {
        name: "casts",
        count: EXTENTS.len(),
        run: casts,
    },
    Subject {
        name: "functions",
        count: EXTENTS.len(),
        run: functions,
    },
    Subject {
        name: "spread",
        count: EXTENTS.len(),
        run: spread,
    },
    Subject {
        name: "three",
        count: EXTENTS.len(),
        run: three,
    },
    Subject {
        name: "lines",
        count: EXTENTS.len(),
        run: lines,
    },
    Subject {
        name: "cumulations",
        count: EXTENTS.len(),
        run: cumulations,
    },
    Subject {
        name: "histograms",
        count: EXTENTS.len(),
        run: histograms,
    },
    Subject {
        name: "labels",
        count: EXTENTS.len(),
        run: labels,
    },
    Subject {
        name: "pooling",
        count: EXTENTS.len(),
        run: pooling,
    },
    Subject {
        name: "moved",
        count: EXTENTS.len(),
        run: moved,
    },
    Subject {
        name: "gather_and_scatter",
        count: EXTENTS.len(),
        run: gather_and_scatter,
    },
];

/// Lines of every class of the functions along axes, and lengths at the limits of quads and tiles.
pub(super) const EXTENTS: &[[usize; 2]] = &[
    [1, 1],
    [5, 3],
    [0, 7],
    [7, 0],
    [1, 64],
    [65, 1],
    [33, 31],
    [4, 257],
    [300, 5],
    [128, 129],
    [2, 2700],
    [2049, 3],
    [1, 9000],
    [8193, 1],
];

pub(super) fn batch(device: &Device, picked: &[usize], seed: usize) -> Tensor<f32> {
    boxes_of(
        device,
        picked,
        |i| EXTENTS[i],
        |i, at| 4.0 * value(seed, i, at),
    )
}

pub(super) fn halves(device: &Device, picked: &[usize], seed: usize) -> Tensor<f16> {
    batch(device, picked, seed).to::<f16>().unwrap()
}

fn integers(device: &Device, picked: &[usize], seed: usize) -> Tensor<i32> {
    let of = |i, at| (value(seed, i, at) * 1e9) as i32;
    boxes_of(device, picked, |i| EXTENTS[i], of)
}

fn complex(device: &Device, picked: &[usize], seed: usize) -> Tensor<Complex32> {
    let [re, im] = [seed, seed + 7].map(|seed| batch(device, picked, seed));
    re.complex(&im).unwrap()
}

/// Batches of five types.
fn of_all(device: &Device, picked: &[usize], seed: usize) -> [Value; 5] {
    let integers = integers(device, picked, seed);
    [
        batch(device, picked, seed).into(),
        halves(device, picked, seed).into(),
        integers.to::<u32>().unwrap().into(),
        integers.into(),
        complex(device, picked, seed).into(),
    ]
}

/// All functions; on a software GPU, which compiles each kernel for a second, only some.
fn some<'n>(device: &Device, names: &'n [&'static str]) -> impl Iterator<Item = &'n &'static str> {
    names
        .iter()
        .step_by(if is_software(device) { 6 } else { 1 })
}

fn rows(device: &Device, function: &Values, operands: &[&Value]) -> Rows {
    match function.apply(device, operands).unwrap() {
        Value::F32(x) => bytes(&x),
        Value::F16(x) => bytes(&x),
        Value::I32(x) => bytes(&x),
        Value::U32(x) => bytes(&x),
        Value::C32(x) => bytes(&x),
    }
}

fn maps(device: &Device, picked: &[usize]) -> Rows {
    let operands = of_all(device, picked, 1);
    beside(operands.iter().flat_map(|x| {
        let names = some(device, maps_of(x.kind_and_layout().0));
        names
            .map(|name| rows(device, &Values::Map(name, 3), &[x]))
            .collect::<Vec<_>>()
    }))
}

fn casts(device: &Device, picked: &[usize]) -> Rows {
    let [single, half, unsigned, signed, _] = of_all(device, picked, 1);
    let casts = [
        (&single, Kind::I32),
        (&single, Kind::U32),
        (&half, Kind::I32),
        (&signed, Kind::F32),
        (&signed, Kind::F16),
        (&unsigned, Kind::F32),
        (&unsigned, Kind::F16),
        (&unsigned, Kind::I32),
    ];
    beside(casts.map(|(x, to)| rows(device, &Values::Cast(to), &[x])))
}

/// Functions of two operands, of equal and of different shapes.
fn functions(device: &Device, picked: &[usize]) -> Rows {
    let [x, y] = [1, 2].map(|seed| of_all(device, picked, seed));
    let other = |i: usize| [EXTENTS[i][0] + 2, EXTENTS[i][1] / 2];
    let other: Tensor<f32> = boxes_of(device, picked, other, |i, at| value(3, i, at));
    let turned = other.polar(&other).unwrap();
    let others: [Value; 2] = [other.clone().into(), other.to::<f16>().unwrap().into()];
    let alike = x.iter().zip(&y);
    let different = x.iter().zip(&others);
    let turned = turned.into();
    let all = alike.chain(different).chain([(&x[4], &turned)]);
    beside(all.flat_map(|(x, y)| {
        let names = some(device, functions_of(x.kind_and_layout().0));
        let function = |name: &&'static str| Values::Function(name, Meeting::Elementwise);
        names
            .map(|name| rows(device, &function(name), &[x, y]))
            .collect::<Vec<_>>()
    }))
}

/// One value for each element, or a vector along an axis.
fn vectors(device: &Device, picked: &[usize], axis: Option<usize>) -> Vectors {
    let length = |i: usize| [axis.map_or(1, |axis| EXTENTS[i][axis])];
    let of: Tensor<f32> = boxes_of(device, picked, length, |i, at| value(4, i, at));
    let of: Batch = of.download_blocking().unwrap().into();
    Vectors { axis, of }
}

fn spread(device: &Device, picked: &[usize]) -> Rows {
    let x: Value = batch(device, picked, 1).into();
    beside([None, Some(0), Some(1)].into_iter().flat_map(|axis| {
        let vectors = vectors(device, picked, axis);
        let of = |name: &&'static str, left| Values::Spread(name, vectors.clone(), left);
        let names = some(device, functions_of(Kind::F32));
        let both = names.flat_map(|name| [of(name, false), of(name, true)]);
        both.map(|function| rows(device, &function, &[&x]))
            .collect::<Vec<_>>()
    }))
}

fn three(device: &Device, picked: &[usize]) -> Rows {
    let [x, y, z] = [1, 2, 3].map(|seed| Value::from(batch(device, picked, seed)));
    let mask: Value = integers(device, picked, 5).to::<u32>().unwrap().into();
    let along = |axis| Some(vectors(device, picked, axis));
    let of = |name, spread| Values::Three(name, spread);
    beside([
        rows(device, &of("mul_add", [None, None]), &[&x, &y, &z]),
        rows(device, &of("mul_add", [along(Some(1)), along(None)]), &[&x]),
        rows(device, &of("if_else", [None, None]), &[&mask, &y, &z]),
        rows(device, &of("if_else", [along(Some(0)), None]), &[&mask, &z]),
    ])
}

/// Functions along axes and of whole elements, of every type that has them.
fn lines(device: &Device, picked: &[usize]) -> Rows {
    let operands = of_all(device, picked, 1);
    beside(operands.iter().flat_map(|x| {
        let names = lines_of(x.kind_and_layout().0);
        // Some lines are too short for the former, and its results are the first of the latter's.
        let names: Vec<_> = names.into_iter().filter(|name| *name != "top_k").collect();
        let lines = some(device, &names).flat_map(|name| [0, 1].map(|axis| (*name, axis)));
        lines
            .map(|(name, axis)| rows(device, &Values::Line(name, axis, 63), &[x]))
            .collect::<Vec<_>>()
    }))
}

fn cumulations(device: &Device, picked: &[usize]) -> Rows {
    let (x, whole) = (batch(device, picked, 1), integers(device, picked, 2));
    let half = halves(device, picked, 3);
    beside([0, 1].into_iter().flat_map(|axis| {
        [
            bytes(&half.cumsum(axis).unwrap()),
            bytes(&half.sort(axis).unwrap()),
            bytes(&half.argsort(axis).unwrap()),
            bytes(&half.quantile_axis(0.3, axis).unwrap()),
            bytes(&x.cumsum(axis).unwrap()),
            bytes(&x.cumprod(axis).unwrap()),
            bytes(&x.cummax(axis).unwrap()),
            bytes(&whole.cumsum(axis).unwrap()),
            bytes(&x.diff(axis).unwrap()),
            bytes(&x.sort(axis).unwrap()),
            bytes(&whole.argsort(axis).unwrap()),
            bytes(&x.quantile_axis(0.3, axis).unwrap()),
            bytes(&x.top_k_at_most(3, axis).unwrap().1),
        ]
    }))
}

fn histograms(device: &Device, picked: &[usize]) -> Rows {
    let (x, half) = (batch(device, picked, 1), halves(device, picked, 2));
    beside([
        bytes(&x.histogram(10, -3.0..=3.0).unwrap()),
        bytes(&x.histogram(5000, -3.0..=3.0).unwrap()),
        bytes(&half.histogram(7, f16::NEG_ONE..=f16::ONE).unwrap()),
        bytes(
            &integers(device, picked, 3)
                .histogram_edges(&[-9, 0, 1 << 30])
                .unwrap(),
        ),
    ])
}

/// Components of images of one workgroup, and of several tiles.
fn labels(device: &Device, picked: &[usize]) -> Rows {
    let x = integers(device, picked, 4).rem(2).unwrap();
    let components = Components::of_equal_values().background(1);
    let (four, numbers) = x.label(components).unwrap();
    let (eight, _) = x.label(components.neighbours(Neighbours::Eight)).unwrap();
    beside([bytes(&four), bytes(&numbers), bytes(&eight)])
}

/// Windows that overlap, that do not, and that are longer than some elements.
fn pooling(device: &Device, picked: &[usize]) -> Rows {
    let operands = of_all(device, picked, 1);
    beside(operands.iter().flat_map(|x| {
        let names = pools_of(x.kind_and_layout().0).iter();
        let windows = [
            (vec![2, 3], vec![1, 2]),
            (vec![7], vec![7]),
            (vec![5, 9], vec![2, 1]),
        ];
        names
            .flat_map(|name| windows.clone().map(|(w, s)| Values::Pool(name, [w, s])))
            .map(|pool| rows(device, &pool, &[x]))
            .collect::<Vec<_>>()
    }))
}

fn moved(device: &Device, picked: &[usize]) -> Rows {
    let (x, half) = (batch(device, picked, 1), halves(device, picked, 2));
    let shapes = picked
        .iter()
        .map(|&i| Shape::new(&[EXTENTS[i][1], EXTENTS[i][0] + 3]).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    beside([
        bytes(&x.slice(&[-1, 1], &[5, 40]).unwrap()),
        bytes(&half.slice(&[-1, 1], &[5, 40]).unwrap()),
        bytes(&x.pad(&[1, 3], &[2, 0]).unwrap()),
        bytes(&half.pad(&[1, 3], &[2, 0]).unwrap()),
        bytes(&x.flip(&[0, 1]).unwrap()),
        bytes(&half.transpose(&[1, 0]).unwrap()),
        bytes(&x.transpose(&[1, 0]).unwrap()),
        bytes(&x.resize(&layout).unwrap()),
        bytes(&x.concat(&x, 1).unwrap()),
        bytes(&half.block_diag(&half).unwrap()),
        bytes(&x.scale(0.3).unwrap()),
        bytes(&x.neg().unwrap()),
        bytes(&complex(device, picked, 3).scale(0.3).unwrap()),
    ])
}

fn gather_and_scatter(device: &Device, picked: &[usize]) -> Rows {
    let (x, half) = (batch(device, picked, 1), halves(device, picked, 2));
    let few = |i: usize| {
        (0..1 + i % 5)
            .map(move |k| (k * 3 + i) as u32 % 4)
            .collect::<Vec<_>>()
    };
    let lists = Ragged::from_rows(picked.iter().map(|&i| few(i))).unwrap();
    let lists = Indices::new(lists).unwrap();
    // Each row to a separate target, in reverse order.
    let backwards = |i: usize| (0..EXTENTS[i][0] as u32).rev().collect::<Vec<_>>();
    let places = Ragged::from_rows(picked.iter().map(|&i| backwards(i))).unwrap();
    let places = Indices::new(places).unwrap();
    // Many rows to few targets.
    let target = picked
        .iter()
        .map(|&i| Shape::new(&[3, EXTENTS[i][1]]).unwrap());
    let target = Layout::from_shapes(2, target).unwrap();
    let shared = Ragged::from_rows(picked.iter().map(|&i| {
        (0..EXTENTS[i][0] as u32)
            .map(|row| row % 3)
            .collect::<Vec<_>>()
    }));
    let shared = Indices::new(shared.unwrap()).unwrap();
    beside([
        bytes(&x.gather(&lists).unwrap()),
        bytes(&half.gather(&lists).unwrap()),
        bytes(&x.scatter_set(&places, x.layout()).unwrap()),
        bytes(&half.scatter_set(&places, x.layout()).unwrap()),
        bytes(&x.scatter_add(&shared, &target).unwrap()),
    ])
}
