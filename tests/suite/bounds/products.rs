//! Programs of products: dense, block-sparse, Kronecker, of matrices of vectors, and of attention.

use vsla::{
    Bsr, BsrTensor, Layout, Pairing, Shape, ShapeMatrix, Topology, f16,
    product::{Activation, Tier},
    scalar::{Factor, Float, Real},
};

use super::{Draw, Value, attention};

pub const KERNELS: &[&str] = &[
    "append",
    "attention",
    "attention_few",
    "attention_merge",
    "attention_slopes",
    "attention_stats",
    "bsr_epilogue",
    "bsr_finish",
    "bsr_matmul",
    "bsr_sampled",
    "zero_pad",
    "kron",
    "matmul",
    "rotary",
    "shape_matmul",
    "spectral_matmul",
];

pub fn program(d: &mut Draw<'_>) {
    match d.turn % 10 {
        0 => dense::<i32>(d),
        1 => dense::<u32>(d),
        2 => epilogues::<f32>(d),
        3 => epilogues::<f16>(d),
        4 => sparse::<f32>(d),
        5 => sparse::<f16>(d),
        6 => nested::<f32>(d),
        7 => nested::<i32>(d),
        8 => attention::program::<f32>(d),
        _ => attention::program::<f16>(d),
    }
}

/// Block-sparse products, products with epilogues, and attention.
pub fn sparse_ones(d: &mut Draw<'_>) {
    match d.turn % 4 {
        0 => sparse::<f32>(d),
        1 => sparse::<f16>(d),
        2 => nested::<f32>(d),
        _ => attention::program::<f32>(d),
    }
}

const TIERS: &[Tier] = &[Tier::Auto, Tier::Baseline, Tier::Native];
/// Inner extents of whole stages, of partial stages, and of many stages.
const INNER: &[usize] = &[0, 1, 3, 4, 8, 15, 16, 17, 40, 64, 130, 300];

/// Layouts of matching factors, stored transposed or not, and of their products.
fn factors(d: &mut Draw<'_>, elements: usize, [left, right]: [bool; 2]) -> [Layout; 3] {
    let mut shapes = [const { Vec::new() }; 3];
    let large: &[usize] = &[1, 2, 5, 8, 16, 31, 33, 64, 70, 129];
    for _ in 0..elements {
        let (m, k, n) = (d.of(large), d.of(INNER), d.of(large));
        let shape =
            |transposed, a, b| Shape::new(&if transposed { [b, a] } else { [a, b] }).unwrap();
        shapes[0].push(shape(left, m, k));
        shapes[1].push(shape(right, k, n));
        shapes[2].push(shape(false, m, n));
    }
    shapes.map(|shapes| Layout::from_shapes(2, shapes).unwrap())
}

fn dense<T: Value + Factor>(d: &mut Draw<'_>) {
    let transposed = [d.rng.bool(), d.rng.bool()];
    let count = d.of(&[1, 4]);
    let [left, right, _] = factors(d, count, transposed);
    let (a, b) = (d.tensor::<T>(&left), d.tensor::<T>(&right));
    let mut product = a.product(&b);
    if transposed[0] {
        product = product.transpose_left();
    }
    if transposed[1] {
        product = product.transpose_right();
    }
    for tier in TIERS {
        d.ran("product", product.clone().tier(*tier).run());
    }
    let (a, b) = (d.drawn::<T>(2, 3), d.drawn::<T>(2, 3));
    d.ran("matmul_ambient", a.matmul_ambient(&b));
}

fn epilogues<T: Value + Float>(d: &mut Draw<'_>) {
    dense::<T>(d);
    let count = d.of(&[1, 3]);
    let [left, right, whole] = factors(d, count, [false; 2]);
    let (a, b) = (d.tensor::<T>(&left), d.tensor::<T>(&right));
    let residual = d.tensor::<T>(&whole);
    let columns: Vec<usize> = whole
        .shapes()
        .map(|shape| shape.extents()[1] as usize)
        .collect();
    let bias = d.tensor::<T>(&Layout::from_lengths(columns).unwrap());
    for tier in TIERS {
        let product = a
            .pair(&b, Pairing::Elementwise)
            .unwrap()
            .product()
            .tier(*tier);
        let gelu = product
            .clone()
            .scale(0.5)
            .bias(&bias)
            .activation(Activation::Gelu);
        d.ran("bias and gelu", gelu.run());
        let relu = product.activation(Activation::Relu).residual(&residual);
        d.ran("relu and residual", relu.run());
    }
}

fn sparse<T: Value + Float>(d: &mut Draw<'_>) {
    let block = [d.of(&[8, 16, 32, 64]), d.of(&[8, 16, 32])];
    let shape = [
        block[0] * d.rng.usize(1..6) - d.rng.usize(..8),
        block[1] * d.rng.usize(1..60) - d.rng.usize(..8),
    ];
    let heavy = d.rng.bool();
    // A row that is long enough to be cut.
    let shape = match heavy {
        true => [block[0], 2600],
        false => shape,
    };
    let topology = match d.rng.usize(..3) {
        _ if heavy => Topology::strided(shape, block, 1),
        0 => Topology::causal(shape, block),
        1 => Topology::sliding_window(shape, block, 1),
        _ => Topology::strided(shape, block, 2),
    };
    let Some(topology) = d.ran("topology", topology) else {
        return;
    };
    let sets = d.of(&[1, 2]);
    let values = topology.values_layout(sets).unwrap();
    let values = d.tensor::<T>(&values);
    let Some(f) = d.ran("bsr", BsrTensor::new(&topology, values)) else {
        return;
    };
    for f in [f.clone(), f.transpose()] {
        let [m, k] = if f.is_transposed() {
            [shape[1], shape[0]]
        } else {
            shape
        };
        let columns = d.of(&[1, 4, 20, 33, 140]);
        let of = |a, b| Layout::uniform(sets, Shape::new(&[a, b]).unwrap()).unwrap();
        let (right, left, whole) = (
            d.tensor::<T>(&of(k, columns)),
            d.tensor::<T>(&of(columns, m)),
            of(m, columns),
        );
        let residual = d.tensor::<T>(&whole);
        for tier in TIERS {
            d.ran("S B", f.product(&right).tier(*tier).run());
            d.ran("A S", left.product(&f).tier(*tier).run());
            let product = f
                .product(&right)
                .tier(*tier)
                .scale(2.0)
                .activation(Activation::Gelu)
                .residual(&residual);
            d.ran("S B with an epilogue", product.run());
        }
    }
    let inner = d.of(INNER);
    let of = |a, b| Layout::uniform(sets, Shape::new(&[a, b]).unwrap()).unwrap();
    let (a, b) = (
        d.tensor::<T>(&of(shape[0], inner)),
        d.tensor::<T>(&of(inner, shape[1])),
    );
    for tier in TIERS {
        let product = a
            .pair(&b, Pairing::Elementwise)
            .unwrap()
            .product()
            .tier(*tier);
        d.ran("sampled", product.sampled(&topology));
    }
    let host = Bsr::from_sets(
        &topology,
        1,
        vec![T::of(1); topology.values_layout(1).unwrap().total()],
    );
    let host = host.and_then(|host| d.device.upload_bsr(&host));
    d.ran("upload_bsr", host);
}

fn nested<T: Value + Real>(d: &mut Draw<'_>) {
    let (rank, n) = (d.of(&[1, 2, 3]), d.of(&[1, 3]));
    let small = |d: &mut Draw<'_>| {
        let extents: &[usize] = &[0, 1, 2, 3, 5, 8];
        let shapes: Vec<Shape> = (0..n)
            .map(|_| Shape::new(&(0..rank).map(|_| d.of(extents)).collect::<Vec<_>>()).unwrap())
            .collect();
        Layout::from_shapes(rank, shapes).unwrap()
    };
    let (left, right) = (small(d), small(d));
    let (a, b) = (d.tensor::<T>(&left), d.tensor::<T>(&right));
    d.ran("kron", a.kron(&b));
    d.ran("outer", a.outer(&b));
    let sides = [d.rng.usize(1..4), d.rng.usize(1..4), d.rng.usize(1..4)];
    let longest = d.of(&[3, 30, 300]);
    let matrix = |d: &mut Draw<'_>, rows: usize, columns: usize| {
        let lengths: Vec<usize> = (0..2 * rows * columns)
            .map(|_| d.rng.usize(..=longest))
            .collect();
        let entries = d.tensor::<T>(&Layout::from_lengths(lengths).unwrap());
        let grid = Layout::uniform(2, Shape::new(&[rows, columns]).unwrap()).unwrap();
        ShapeMatrix::new(&entries, &grid).unwrap()
    };
    let (x, y) = (matrix(d, sides[0], sides[1]), matrix(d, sides[1], sides[2]));
    let other = matrix(d, sides[0], sides[1]);
    d.ran("conv_matmul", x.conv_matmul(&y));
    if longest < 300 {
        d.ran("kron_matmul", x.kron_matmul(&y));
    }
    d.ran("shape_matrix.add", x.add(&other));
    d.ran("shape_matrix.transpose", x.transpose());
}
