//! Matrix products, real, complex and block-sparse, and attention.

use vsla::{Bsr, Complex32, Device, Tensor, Topology, attention::Cache, f16, product::Activation};

use super::{Rows, Subject, beside, boxes_of, bytes, value};

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "matmul",
        count: EXTENTS.len(),
        run: floats,
    },
    Subject {
        name: "matmul::f16",
        count: EXTENTS.len(),
        run: halves,
    },
    Subject {
        name: "matmul::complex",
        count: EXTENTS.len(),
        run: complex,
    },
    Subject {
        name: "bsr",
        count: COLUMNS.len(),
        run: bsr,
    },
    Subject {
        name: "attention",
        count: SIZES.len(),
        run: attention,
    },
];

/// m, k and n: vectors on either side, sizes for which the CPU's crate has separate kernels, and sizes that are cut.
const EXTENTS: &[[usize; 3]] = &[
    [1, 1, 1],
    [1, 700, 5],
    [5, 700, 1],
    [3, 2, 40],
    [2, 1, 33],
    [16, 300, 16],
    [15, 513, 17],
    [0, 4, 4],
    [4, 0, 4],
    [33, 65, 129],
    [64, 512, 64],
    [65, 1030, 63],
    [130, 40, 130],
    [7, 9000, 3],
    [513, 520, 30],
    [1, 3, 600],
    [600, 3, 1],
];

fn value16(seed: usize, i: usize, at: usize) -> f16 {
    f16::from_f32(value(seed, i, at))
}

fn floats(device: &Device, picked: &[usize]) -> Rows {
    let matrix = |seed, of: fn([usize; 3]) -> [usize; 2]| {
        boxes_of(
            device,
            picked,
            move |i| of(EXTENTS[i]),
            move |i, at| value(seed, i, at),
        )
    };
    let a = matrix(1, |[m, k, _]| [m, k]);
    let b = matrix(2, |[_, k, n]| [k, n]);
    let at = matrix(3, |[m, k, _]| [k, m]);
    let bt = matrix(4, |[_, k, n]| [n, k]);
    let residual = matrix(5, |[m, _, n]| [m, n]);
    let bias = boxes_of(device, picked, |i| [EXTENTS[i][2]], |i, at| value(6, i, at));
    let product = |x: &Tensor<f32>, y: &Tensor<f32>, [left, right]: [bool; 2]| {
        let mut product = x.product(y);
        if left {
            product = product.transpose_left();
        }
        if right {
            product = product.transpose_right();
        }
        let product = product.scale(0.5).bias(&bias).activation(Activation::Gelu);
        bytes(&product.residual(&residual).run().unwrap())
    };
    beside([
        bytes(&a.matmul(&b).unwrap()),
        bytes(&a.matmul_ambient(&at).unwrap()),
        bytes(&a.kron(&rows_of_few(device, picked)).unwrap()),
        product(&a, &b, [false, false]),
        product(&at, &b, [true, false]),
        product(&a, &bt, [false, true]),
        product(&at, &bt, [true, true]),
    ])
}

fn rows_of_few(device: &Device, picked: &[usize]) -> Tensor<f32> {
    boxes_of(device, picked, |i| [1, 1 + i % 3], |i, at| value(7, i, at))
}

fn halves(device: &Device, picked: &[usize]) -> Rows {
    let a = boxes_of(
        device,
        picked,
        |i| [EXTENTS[i][0], EXTENTS[i][1]],
        |i, at| value16(1, i, at),
    );
    let b = boxes_of(
        device,
        picked,
        |i| [EXTENTS[i][1], EXTENTS[i][2]],
        |i, at| value16(2, i, at),
    );
    let product = a.product(&b);
    beside([
        bytes(&product.run().unwrap()),
        bytes(&product.clone().to::<f32>().run().unwrap()),
    ])
}

fn complex(device: &Device, picked: &[usize]) -> Rows {
    let value = |seed| {
        move |i: usize, at: usize| Complex32::new(value(seed, i, at), value(seed + 1, i, at))
    };
    let sides = |i: usize| [EXTENTS[i][0], EXTENTS[i][1]];
    let a = boxes_of(device, picked, sides, value(1));
    let sides = |i: usize| [EXTENTS[i][1], EXTENTS[i][2]];
    let b = boxes_of(device, picked, sides, value(3));
    bytes(&a.matmul(&b).unwrap())
}

/// Columns of right operands, or rows of left operands.
const COLUMNS: &[usize] = &[1, 3, 16, 32, 33, 129, 0, 300, 40];

/// A block-sparse matrix with rows of many blocks and of none, times dense matrices of several widths, on either side.
fn bsr(device: &Device, picked: &[usize]) -> Rows {
    let many = (0..170).map(|column| (1, column));
    let topology =
        Topology::from_unsorted([41, 1360], [8, 8], many.chain([(0, 3), (4, 100)])).unwrap();
    let values = (0..topology.len() * 64).map(|at| value(1, 0, at));
    let s = Bsr::new(&topology, values.collect()).unwrap();
    let s = device.upload_bsr(&s).unwrap();
    let right = |rows: usize| {
        boxes_of(
            device,
            picked,
            move |i| [rows, COLUMNS[i]],
            |i, at| value(2, i, at),
        )
    };
    let left = |columns: usize| {
        boxes_of(
            device,
            picked,
            move |i| [COLUMNS[i], columns],
            |i, at| value(3, i, at),
        )
    };
    let wide = boxes_of(
        device,
        picked,
        |i| [41, COLUMNS[i]],
        |i, at| value(4, i, at),
    );
    let tall = boxes_of(
        device,
        picked,
        |i| [COLUMNS[i], 1360],
        |i, at| value(5, i, at),
    );
    let sampled = wide.product(&tall);
    let sampled = sampled.sampled(&topology).unwrap();
    beside([
        bytes(&s.matmul(&right(1360)).unwrap()),
        bytes(&s.transpose().matmul(&right(41)).unwrap()),
        bytes(&left(41).matmul(&s).unwrap()),
        bytes(&left(1360).matmul(&s.transpose()).unwrap()),
        bytes(sampled.values()),
    ])
}

/// Queries and keys that take every kind of tile, with and without whole ones.
const SIZES: &[[usize; 2]] = &[
    [1, 1],
    [3, 3],
    [0, 5],
    [5, 0],
    [16, 16],
    [40, 9],
    [2, 33],
    [3, 1100],
    [1, 1536],
    [11, 20],
    [33, 70],
    [64, 64],
    [130, 65],
    [1, 300],
    [7, 7],
    [5, 1024],
];

/// Four heads of 16 values that share two key heads: causal; with every option; of f16.
fn attention(device: &Device, picked: &[usize]) -> Rows {
    let of = |seed, side: usize, width| {
        boxes_of(
            device,
            picked,
            move |i| [SIZES[i][side], width],
            move |i, at| value(seed, i, at),
        )
    };
    let (q, k, v) = (of(1, 0, 64), of(2, 1, 32), of(3, 1, 32));
    let bias = boxes_of(device, picked, |i| SIZES[i], |i, at| value(4, i, at));
    let heads = boxes_of(device, &[0], |_| [4], |_, at| value(5, 0, at));
    let blocks = Topology::strided([144, 1600], [16, 8], 3).unwrap();
    let attention = q.attention(&k, &v).heads(4).key_heads(2);
    let causal = attention.clone().causal().run_with_lse().unwrap();
    let all = attention
        .window(200, 20)
        .softcap(2.0)
        .bias(&bias)
        .alibi(&heads)
        .sinks(&heads)
        .blocks(&blocks);
    let all = all.run_with_lse().unwrap();
    let room = |width| {
        boxes_of(
            device,
            picked,
            move |i| [SIZES[i][1] + i, width],
            |_, _| 0f32,
        )
    };
    let mut cache = Cache::with_lengths(room(32), room(32), &vec![0; picked.len()]).unwrap();
    cache.append(&k, &v).unwrap();
    let over = q.attention_over(&cache).heads(4).key_heads(2).causal();
    let over = over.run_with_lse().unwrap();
    let [q, k, v] = [q, k, v].map(|x: Tensor<f32>| x.to::<f16>().unwrap());
    let halves = q.attention(&k, &v).heads(4).key_heads(2).run().unwrap();
    beside([
        bytes(&causal.0),
        bytes(&causal.1),
        bytes(&all.0),
        bytes(&all.1),
        bytes(&halves),
        bytes(&over.0),
        bytes(&over.1),
    ])
}
