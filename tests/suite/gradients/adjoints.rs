//! Operations that are linear in an operand: their gradients are adjoints, exactly where the operation is exact.

mod moves;

use std::sync::Arc;

use vsla::batch::Side;
use vsla::conv::{ConvMethod, ConvMode};
use vsla::program::Program;
use vsla::{
    BsrTensor, Device, Pairing, Ragged, Result, ShapeMatrix, Tensor, Topology, batch::PairList,
};

use super::{
    Case, Kind, Run, cotangents, ids, inner, inputs, integers, m, ran, random_for, size, v, value,
};
use crate::support::operation::upload;

/// ⟨g, f(x)⟩ = ⟨g_x, x⟩ for several x: a gradient does not depend on the operand that f is linear in.
pub(super) fn check(device: &Device, case: &Case) {
    let mut random = random_for(case);
    let operands: Vec<Ragged<f32>> = case
        .operands
        .iter()
        .map(|layout| integers(layout, &mut random))
        .collect();
    let y = value(device, &case.run, &operands);
    let seed = integers(y.layout(), &mut random);
    let all = cotangents(device, &case.run, &operands, &seed);
    let agree = |got: f64, expected: f64, size: f64, what: &str| {
        let bound = match case.kind {
            Kind::Linear | Kind::Each => 0.0,
            _ => 2e-6 * size + 1e-6,
        };
        assert!(
            (got - expected).abs() <= bound,
            "{}: {what}: {got}, not {expected}",
            case.name
        );
    };
    agree_on_seeds(device, case, &operands, &seed, &agree, &mut random);
    for _ in 0..3 {
        match case.kind {
            Kind::Linear | Kind::NearlyLinear => {
                let others: Vec<Ragged<f32>> = case
                    .operands
                    .iter()
                    .map(|layout| integers(layout, &mut random))
                    .collect();
                let y = value(device, &case.run, &others);
                let got = all.iter().zip(&others).map(|(g, x)| inner(g, x)).sum();
                agree(got, inner(&seed, &y), size(&seed, &y), "all operands");
            }
            _ => {
                for (i, layout) in case.operands.iter().enumerate() {
                    let mut others = operands.clone();
                    others[i] = integers(layout, &mut random);
                    let y = value(device, &case.run, &others);
                    let what = format!("operand {i}");
                    agree(
                        inner(&all[i], &others[i]),
                        inner(&seed, &y),
                        size(&seed, &y),
                        &what,
                    );
                }
            }
        }
    }
}

/// A gradient is linear in the cotangent of the result: Σ ⟨w, g_x⟩ is ⟨g, Σ f(w)⟩, so its own gradient is Σ f(w), where
/// each weight takes the place of its operand. This tests the adjoints of the operations that gradients consist of.
fn agree_on_seeds(
    device: &Device,
    case: &Case,
    operands: &[Ragged<f32>],
    seed: &Ragged<f32>,
    agree: &dyn Fn(f64, f64, f64, &str),
    random: &mut fastrand::Rng,
) {
    let weights: Vec<Ragged<f32>> = operands
        .iter()
        .map(|x| integers(x.layout(), random))
        .collect();
    let (run, count) = (case.run.clone(), operands.len());
    let program = Program::new(device, move |r| {
        let operands = inputs(r, count)?;
        let y = run(&operands)?;
        let seed = r.input()?;
        let weights = inputs(r, count)?;
        let to: Vec<&Tensor<f32>> = operands.iter().collect();
        let all = r.gradients_from(&[(&y, &seed)], &to)?;
        let seeds: Vec<(&Tensor<f32>, &Tensor<f32>)> = all.iter().zip(&weights).collect();
        let back = r.gradients_from(&seeds, &[&seed])?;
        r.output(&back[0])
    });
    let all = operands.iter().chain([seed]).chain(&weights);
    let all: Vec<Tensor<f32>> = all.map(|x| upload(device, x)).collect();
    let got = &ran(&program, &all)[0];
    let replaced: Vec<Vec<Ragged<f32>>> = match case.kind {
        Kind::Linear | Kind::NearlyLinear => vec![weights],
        _ => (0..count)
            .map(|i| {
                let mut operands = operands.to_vec();
                operands[i] = weights[i].clone();
                operands
            })
            .collect(),
    };
    let mut expected = vec![0.0; got.values().len()];
    let mut sizes = expected.clone();
    for operands in &replaced {
        let part = value(device, &case.run, operands);
        assert_eq!(part.layout(), got.layout());
        for ((expected, size), x) in expected.iter_mut().zip(&mut sizes).zip(part.values()) {
            *expected += f64::from(*x);
            *size += f64::from(x.abs());
        }
    }
    let most = sizes.iter().copied().fold(0.0, f64::max);
    for (got, expected) in got.values().iter().zip(expected) {
        agree(
            f64::from(*got),
            expected,
            10.0 * most,
            "the cotangent's own gradient",
        );
    }
}

macro_rules! rows {
    ($($name:literal $kind:expr, [$($layout:expr),*] => $run:expr;)*) => {
        vec![$(Case {
            name: $name,
            kind: $kind,
            operands: vec![$($layout),*],
            run: Arc::new($run) as Run,
        }),*]
    };
}
use rows;

type X<'a> = &'a [Tensor<f32>];
use Kind::{Each, Linear, NearlyEach, NearlyLinear};

pub(super) fn all() -> Vec<Case> {
    let mut all = sums();
    all.extend(moves::all());
    all.extend(products());
    all.extend(convolutions());
    all.extend(transforms());
    all
}

fn list(pairs: &[(u32, u32)]) -> Result<PairList> {
    PairList::new(pairs.iter().copied())
}

/// Sums, differences, functions of values, reductions.
fn sums() -> Vec<Case> {
    let some = || v([3, 0, 1, 7]);
    let other = || v([2, 4, 0, 9]);
    let boxes = || m([[2, 3], [0, 4], [5, 1], [3, 4]]);
    let others = || m([[3, 2], [1, 1], [2, 2], [3, 4]]);
    rows! {
        "add" Linear, [some(), other()] => |x: X| x[0].add(&x[1]);
        "sub" Linear, [boxes(), others()] => |x: X| x[0].sub(&x[1]);
        "add all to all" Linear, [v([3, 0, 1]), v([2, 5])] => |x: X| x[0].pair(&x[1], Pairing::AllToAll)?.add();
        "sub one to all" Linear, [v([3]), v([2, 5, 0, 3])] => |x: X| x[0].pair(&x[1], Pairing::OneToAll)?.sub();
        "sub all to one" Linear, [v([2, 5, 0, 3]), v([3])] => |x: X| x[0].pair(&x[1], Pairing::AllToOne)?.sub();
        "add a list" Linear, [v([3, 0, 1]), v([2, 5])] => |x: X| {
            x[0].pair(&x[1], Pairing::List(&list(&[(2, 1), (0, 0), (2, 1), (0, 1)])?))?.add()
        };
        "add itself" Linear, [some()] => |x: X| x[0].add(&x[0]);
        "add spread values" Linear, [boxes(), v([1, 1, 1, 1])] => |x: X| x[0].add(x[1].each());
        "sub from spread values" Linear, [boxes(), v([1, 1, 1, 1])] => |x: X| x[1].each().sub(&x[0]);
        "add one spread value" Linear, [boxes(), v([1])] => |x: X| x[1].each().add(&x[0]);
        "add a scalar" NearlyLinear, [boxes()] => |x: X| x[0].add(0.0)?.hadamard(-3.0)?.div(0.5);
        "if_else of a scalar" Linear, [v([3, 2])] => |x: X| {
            let mask = Ragged::from_rows([vec![1u32, 0, 1], vec![0, 1]])?;
            x[0].device().upload(&mask)?.if_else(&x[0], 0.0)
        };
        "add rows" Linear, [boxes(), v([3, 4, 1, 4])] => |x: X| x[0].add(x[1].along(1));
        "add columns" Linear, [boxes(), v([2, 0, 5, 3])] => |x: X| x[0].add(x[1].along(0));
        "add a shared row" Linear, [m([[2, 3], [0, 3], [4, 3]]), v([3])] => |x: X| x[0].add(x[1].along(1));
        "add a shared column" Linear, [m([[3, 2], [3, 0], [3, 4]]), v([3])] => |x: X| x[0].add(x[1].along(0));
        "add along the middle" Linear, [m([[2, 3, 2], [1, 3, 4]]), v([3])] => |x: X| x[0].sub(x[1].along(1));
        "hadamard" Each, [some(), other()] => |x: X| x[0].hadamard(&x[1]);
        "hadamard of boxes" Each, [boxes(), others()] => |x: X| x[0].hadamard(&x[1]);
        "hadamard of a list" Each, [v([3, 0, 1]), v([2, 5])] => |x: X| {
            x[0].pair(&x[1], Pairing::List(&list(&[(2, 1), (0, 0), (2, 1), (0, 1)])?))?.hadamard()
        };
        "hadamard with rows" Each, [boxes(), v([3, 4, 1, 4])] => |x: X| x[1].along(1).hadamard(&x[0]);
        "scale_by" Each, [boxes(), v([1, 1, 1, 1])] => |x: X| x[0].scale_by(&x[1]);
        "scale_by one factor" Each, [boxes(), v([1])] => |x: X| x[0].scale_by(&x[1]);
        "mul_add" Each, [some(), some()] => |x: X| x[0].mul_add(&x[1], &x[0].scale(0.0)?);
        "mul_add of a spread sum" Linear, [boxes(), v([1, 1, 1, 1])] => |x: X| {
            let two = x[0].device().full(x[0].layout(), 2.0f32)?;
            x[0].mul_add(&two, x[1].each())
        };
        "if_else" Linear, [some(), other()] => |x: X| {
            let mask = Ragged::from_rows([vec![1u32, 0, 5, 1], vec![0, 1], vec![1], vec![0, 1, 1, 0, 1, 0, 0]])?;
            x[0].device().upload(&mask)?.if_else(&x[0], &x[1])
        };
        "if_else of spread values" Linear, [v([3, 2]), v([1, 1])] => |x: X| {
            let mask = Ragged::from_rows([vec![1u32, 0, 1], vec![0, 1]])?;
            x[0].device().upload(&mask)?.if_else(x[1].each(), &x[0])
        };
        "scale" Linear, [some()] => |x: X| x[0].scale(-3.0);
        "neg" Linear, [boxes()] => |x: X| x[0].neg();
        "copy" Linear, [boxes()] => |x: X| x[0].copy();
        "sub_from" Linear, [some()] => |x: X| x[0].sub_from(0.0);
        "add_scalar" Linear, [some()] => |x: X| x[0].add_scalar(0.0);
        "div_scalar" Linear, [some()] => |x: X| x[0].div_scalar(0.5);
        "dropout" Linear, [some()] => |x: X| x[0].dropout(0.5, 7);
        "sum" Linear, [some()] => |x: X| x[0].sum();
        "sum of boxes" Linear, [boxes()] => |x: X| x[0].sum();
        "sum_axis 0" Linear, [boxes()] => |x: X| x[0].sum_axis(0);
        "sum_axis 1" Linear, [m([[2, 3, 2], [0, 2, 1], [3, 0, 2]])] => |x: X| x[0].sum_axis(1);
        "sum_batch" Linear, [some()] => |x: X| x[0].sum_batch();
        "sum_groups" Linear, [some()] => |x: X| x[0].sum_groups(&[1, 0, 1, 3], 4);
        "mean" Linear, [v([4, 1, 8])] => |x: X| x[0].mean();
        "mean_axis of an inner axis" NearlyLinear, [m([[2, 3, 2], [0, 2, 3], [4, 1, 1]])] => |x: X| x[0].mean_axis(1);
        "mean_axis of rows" NearlyLinear, [m([[2, 3], [4, 1], [0, 5], [3, 2]])] => |x: X| x[0].mean_axis(1);
        "mean_axis" Linear, [m([[2, 3], [4, 1]])] => |x: X| x[0].mean_axis(0);
        "dot" Each, [some(), other()] => |x: X| x[0].dot(&x[1]);
        "dot of boxes" Each, [boxes(), others()] => |x: X| x[0].dot(&x[1]);
        "dot all to one" Each, [v([3, 0, 5]), v([4])] => |x: X| x[0].pair(&x[1], Pairing::AllToOne)?.dot();
        "dot all to all" Each, [v([3, 0, 1]), v([2, 5])] => |x: X| x[0].pair(&x[1], Pairing::AllToAll)?.dot();
        "cumsum" Linear, [some()] => |x: X| x[0].cumsum(0);
        "cumsum of rows" Linear, [boxes()] => |x: X| x[0].cumsum(0);
        "diff" Linear, [some()] => |x: X| x[0].diff(0);
        "diff of rows" Linear, [boxes()] => |x: X| x[0].diff(0);
        "diff along the first of three axes" Linear, [m([[2, 3, 2], [1, 2, 1], [3, 1, 2]])] => |x: X| x[0].diff(0);
        "mean_pool" Linear, [v([5, 1, 8])] => |x: X| x[0].mean_pool(&[2]);
        "mean_pool of planes" Linear, [m([[2, 4, 3], [1, 5, 4]])] => |x: X| x[0].mean_pool(&[2, 2]);
        "mean_pool of overlapping windows" NearlyLinear, [m([[4, 5], [6, 3], [1, 2]])] => |x: X| {
            x[0].pooling(&[4, 2]).stride(&[1, 1]).mean()
        };
        "mean_pool of windows apart" NearlyLinear, [v([9, 4, 0])] => |x: X| x[0].pooling(&[2]).stride(&[3]).mean();
    }
}

fn products() -> Vec<Case> {
    let topology = || Topology::new([16, 24], [8, 8], &[(0, 1), (1, 0), (1, 2)]).unwrap();
    let (of_sparse, transposed, shared) = (topology(), topology(), topology());
    let (on_left, on_left_transposed, with_bias) = (topology(), topology(), topology());
    let (sampled, sampled_transposed) = (topology(), topology());
    rows! {
        "kron" Each, [v([3, 0, 1]), v([2, 2, 4])] => |x: X| x[0].kron(&x[1]);
        "kron of boxes" Each, [m([[2, 3], [1, 2]]), m([[3, 2], [2, 2]])] => |x: X| x[0].kron(&x[1]);
        "kron all to all" Each, [m([[2, 1, 2]]), m([[1, 2, 1], [2, 1, 3]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.kron()
        };
        "outer" Each, [v([3, 0, 1]), m([[2, 2], [1, 3], [2, 0]])] => |x: X| {
            x[0].outer(&x[1].reshape(&v([4, 3, 0]))?)
        };
        "outer of a list" Each, [m([[2, 2], [1, 3]]), m([[2, 1], [3, 2]])] => |x: X| {
            x[0].pair(&x[1], Pairing::List(&list(&[(1, 0), (1, 1), (0, 1)])?))?.outer()
        };
        "matmul" Each, [m([[2, 3], [0, 4], [5, 1]]), m([[3, 2], [4, 2], [1, 3]])] => |x: X| x[0].matmul(&x[1]);
        "matmul of elements without extents" Each, [m([[2, 3], [0, 0], [2, 4]]), m([[3, 2], [4, 2], [0, 0]])] => |x: X| {
            x[0].matmul(&x[1])
        };
        "matmul of elements without extents and a shared matrix" Each, [m([[0, 0], [2, 3]]), m([[3, 2]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.matmul()
        };
        "matmul transposed left" Each, [m([[3, 2], [4, 0]]), m([[3, 2], [4, 2]])] => |x: X| {
            x[0].product(&x[1]).transpose_left().run()
        };
        "matmul transposed right" Each, [m([[2, 3], [1, 4]]), m([[2, 3], [5, 4]])] => |x: X| {
            x[0].product(&x[1]).transpose_right().run()
        };
        "matmul transposed both" Each, [m([[3, 2], [4, 1]]), m([[2, 3], [5, 4]])] => |x: X| {
            x[0].product(&x[1]).transpose_left().transpose_right().run()
        };
        "matmul_ambient" Each, [m([[2, 3], [1, 4]]), m([[2, 2], [5, 3]])] => |x: X| x[0].matmul_ambient(&x[1]);
        "matmul with a shared matrix" Each, [m([[2, 3], [0, 3], [4, 3]]), m([[3, 2]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.matmul()
        };
        "matmul with a shared transposed matrix" Each, [m([[2, 3], [4, 3]]), m([[2, 3]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.product().transpose_right().run()
        };
        "matmul of a shared matrix" Each, [m([[2, 3]]), m([[3, 4], [3, 1]])] => |x: X| {
            x[0].pair(&x[1], Pairing::OneToAll)?.matmul()
        };
        "matmul of a list" Each, [m([[2, 3], [1, 3]]), m([[3, 4], [3, 1]])] => |x: X| {
            x[0].pair(&x[1], Pairing::List(&list(&[(1, 1), (0, 1), (1, 1), (0, 0)])?))?.matmul()
        };
        "matmul_ambient of a list" Each, [m([[2, 3], [1, 2]]), m([[4, 4], [2, 1]])] => |x: X| {
            x[0].pair(&x[1], Pairing::List(&list(&[(1, 1), (0, 1), (1, 0)])?))?.matmul_ambient()
        };
        "product with bias and residual" Linear, [m([[2, 3], [4, 3]]), v([2]), m([[2, 2], [4, 2]])] => |x: X| {
            let b = x[0].device().upload(&Ragged::from_parts(m([[3, 2]]), vec![1.0f32, 2.0, -1.0, 0.0, 3.0, 1.0])?)?;
            let pair = x[0].pair(&b, Pairing::AllToOne)?;
            pair.product().scale(2.0).bias(&x[1]).residual(&x[2]).run()
        };
        "product with a bias of each right matrix" Linear, [m([[2, 3], [1, 3]]), v([2, 4])] => |x: X| {
            let values = (0..18).map(|i| (i % 5) as f32 - 2.0).collect();
            let b = x[0].device().upload(&Ragged::from_parts(m([[3, 2], [3, 4]]), values)?)?;
            x[0].pair(&b, Pairing::AllToAll)?.product().bias(&x[1]).run()
        };
        "product of halves" Each, [m([[2, 3], [4, 3]]), m([[3, 2]])] => |x: X| {
            let (a, b) = (x[0].to::<vsla::f16>()?, x[1].to::<vsla::f16>()?);
            a.pair(&b, Pairing::AllToOne)?.matmul()?.to()
        };
        "product of halves as floats" Each, [m([[2, 3], [4, 3]]), m([[3, 2], [3, 1]])] => |x: X| {
            x[0].to::<vsla::f16>()?.product(&x[1].to::<vsla::f16>()?).to::<f32>().run()
        };
        "matmul of complex numbers" Each, [m([[2, 3, 2], [1, 2, 2]]), m([[3, 2, 2], [2, 2, 2]])] => |x: X| {
            x[0].view_as_complex()?.matmul(&x[1].view_as_complex()?)?.view_as_real()
        };
        "bsr_matmul" Each, [v([192, 192]), m([[24, 3], [24, 9]])] => move |x: X| {
            BsrTensor::new(&of_sparse, x[0].clone())?.matmul(&x[1])
        };
        "bsr_matmul transposed" Each, [v([192, 192]), m([[16, 3], [16, 2]])] => move |x: X| {
            BsrTensor::new(&transposed, x[0].clone())?.transpose().matmul(&x[1])
        };
        "bsr_matmul of one set" Each, [v([192]), m([[24, 3], [24, 0], [0, 0], [24, 9]])] => move |x: X| {
            BsrTensor::new(&shared, x[0].clone())?.matmul(&x[1])
        };
        "matmul with a sparse matrix" Each, [v([192]), m([[3, 16], [0, 16], [0, 0], [5, 16]])] => move |x: X| {
            x[1].matmul(&BsrTensor::new(&on_left, x[0].clone())?)
        };
        "matmul with a transposed sparse matrix" Each, [v([192, 192]), m([[3, 24], [5, 24]])] => move |x: X| {
            x[1].matmul(&BsrTensor::new(&on_left_transposed, x[0].clone())?.transpose())
        };
        "sparse layer" Linear, [v([192]), v([24])] => move |x: X| {
            let a = x[0].device().full(&m([[3, 16], [2, 16]]), 1.0f32)?;
            a.product(&BsrTensor::new(&with_bias, x[0].clone())?).scale(2.0).bias(&x[1]).run()
        };
        "sampled" Each, [m([[16, 3], [16, 2], [0, 0], [16, 1]]), m([[3, 24], [2, 24], [3, 24], [0, 0]])] => move |x: X| {
            Ok(x[0].product(&x[1]).sampled(&sampled)?.values().clone())
        };
        "sampled of transposes" Each, [m([[3, 16], [3, 16]]), m([[24, 3]])] => move |x: X| {
            let pair = x[0].pair(&x[1], Pairing::AllToAll)?;
            let blocks = pair.product().transpose_left().transpose_right().sampled(&sampled_transposed)?;
            Ok(blocks.values().clone())
        };
        "eval of coefficients" Linear, [v([3, 1, 0, 4])] => |x: X| {
            let points = Ragged::from_rows([vec![1.0f32, -2.0], vec![3.0], vec![1.0], vec![]])?;
            x[0].eval(&x[0].device().upload(&points)?)
        };
        "eval of coefficients at all points" Linear, [v([3, 1, 4])] => |x: X| {
            let points = x[0].device().upload(&Ragged::from_rows([vec![1.0f32, -2.0], vec![3.0]])?)?;
            x[0].pair(&points, Pairing::AllToAll)?.eval()
        };
        "conv_matmul" Each, [v([2, 1, 0, 3, 2, 2]), v([1, 2, 3, 0, 2, 1])] => |x: X| {
            let a = ShapeMatrix::new(&x[0], &m([[0, 0], [2, 2], [1, 2]]))?;
            let b = ShapeMatrix::new(&x[1], &m([[2, 0], [2, 2], [2, 1]]))?;
            Ok(a.conv_matmul(&b)?.entries().clone())
        };
        "kron_matmul" Each, [v([2, 1, 0, 3, 2, 2]), v([1, 2, 3, 0, 2, 1])] => |x: X| {
            let a = ShapeMatrix::new(&x[0], &m([[2, 2], [1, 2]]))?;
            let b = ShapeMatrix::new(&x[1], &m([[2, 2], [2, 1]]))?;
            Ok(a.kron_matmul(&b)?.entries().clone())
        };
        "transpose and add matrices of vectors" Linear, [v([2, 1, 0, 3, 2, 2]), v([1, 2, 3, 0, 2, 1])] => |x: X| {
            let a = ShapeMatrix::new(&x[0], &m([[2, 3]]))?;
            let b = ShapeMatrix::new(&x[1], &m([[3, 2]]))?;
            Ok(a.transpose()?.add(&b)?.entries().clone())
        };
    }
}

fn convolutions() -> Vec<Case> {
    const MODES: [ConvMode; 4] = [
        ConvMode::Full,
        ConvMode::Same,
        ConvMode::Valid,
        ConvMode::Causal,
    ];
    let mut all = rows! {
        "conv" Each, [v([5, 0, 1, 9]), v([3, 2, 4, 0])] => |x: X| {
            direct(x, Pairing::Elementwise, ConvMode::Full, &[], false)
        };
        "conv all to all" Each, [v([5, 0, 1]), v([3, 2])] => |x: X| {
            direct(x, Pairing::AllToAll, ConvMode::Full, &[], false)
        };
        "conv of one filter" Each, [v([3]), v([5, 0, 1, 9])] => |x: X| {
            direct(x, Pairing::OneToAll, ConvMode::Full, &[], false)
        };
        "conv with one filter" Each, [v([5, 0, 1, 9]), v([3])] => |x: X| {
            direct(x, Pairing::AllToOne, ConvMode::Same, &[2], false)
        };
        "conv of a list" Each, [v([5, 0, 1]), v([3, 2])] => |x: X| {
            direct(x, Pairing::List(&list(&[(2, 1), (0, 0), (0, 1), (2, 1)])?), ConvMode::Full, &[], false)
        };
        "correlate" Each, [v([5, 0, 1, 9]), v([3, 2, 4, 0])] => |x: X| {
            direct(x, Pairing::Elementwise, ConvMode::Full, &[], true)
        };
        "correlate of a list" Each, [v([5, 0, 1]), v([3, 2])] => |x: X| {
            direct(x, Pairing::List(&list(&[(2, 1), (0, 0), (0, 1)])?), ConvMode::Valid, &[], true)
        };
        "conv of boxes" Each, [m([[3, 4], [1, 2]]), m([[2, 2], [3, 1]])] => |x: X| {
            direct(x, Pairing::Elementwise, ConvMode::Full, &[], false)
        };
        "correlate of boxes" Each, [m([[3, 4], [4, 2]]), m([[2, 3], [3, 1]])] => |x: X| {
            direct(x, Pairing::Elementwise, ConvMode::Same, &[2, 1], true)
        };
        "conv of volumes" Each, [m([[3, 4, 2], [2, 2, 3]]), m([[2, 2, 2], [1, 2, 3]])] => |x: X| {
            direct(x, Pairing::Elementwise, ConvMode::Valid, &[], false)
        };
        "conv by the right side" Each, [v([3]), v([5, 0, 1, 9])] => |x: X| {
            let pair = x[0].pair(&x[1], Pairing::OneToAll)?;
            let pair = pair.convolution().method(ConvMethod::Direct).mode(ConvMode::Same);
            pair.side(Side::Right).conv()
        };
        "correlate by the right side" Each, [v([3, 2]), v([5, 0, 1])] => |x: X| {
            let pair = x[0].pair(&x[1], Pairing::AllToAll)?;
            let pair = pair.convolution().method(ConvMethod::Direct).mode(ConvMode::Valid);
            pair.side(Side::Right).correlate()
        };
        "conv by any method" NearlyEach, [v([500, 70, 3]), v([130, 200, 5])] => |x: X| x[0].conv(&x[1]);
        "correlate by any method" NearlyEach, [v([500, 70, 3]), v([130, 200, 5])] => |x: X| x[0].correlate(&x[1]);
        "planned convolution" NearlyEach, [v([50, 7, 3]), v([13, 20])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.conv_plan()?.conv(&x[0])
        };
        "planned causal convolution" NearlyEach, [v([50, 7, 3]), v([13])] => |x: X| {
            let plan = x[0].pair(&x[1], Pairing::AllToOne)?.conv_plan()?;
            plan.causal(&x[0].scale(0.5)?)
        };
    };
    let names = ["full", "same", "valid", "causal"];
    for (mode, name) in MODES.into_iter().zip(names) {
        for stride in [1, 2, 3] {
            for correlate in [false, true] {
                let kind = if correlate { "correlate" } else { "conv" };
                all.push(Case {
                    name: format!("{kind} in mode {name} with stride {stride}").leak(),
                    kind: Each,
                    operands: vec![v([5, 0, 1, 9, 4, 2]), v([3, 2, 4, 2, 4, 3])],
                    run: Arc::new(move |x: X| {
                        direct(x, Pairing::Elementwise, mode, &[stride], correlate)
                    }),
                });
            }
        }
    }
    all
}

/// A convolution by the definition, which is exact.
fn direct(
    x: X,
    pairing: Pairing<'_>,
    mode: ConvMode,
    strides: &[usize],
    correlate: bool,
) -> Result<Tensor<f32>> {
    let pair = x[0].pair(&x[1], pairing)?;
    let mut convolution = pair.convolution().method(ConvMethod::Direct).mode(mode);
    convolution = convolution.side(Side::Left);
    if !strides.is_empty() {
        convolution = convolution.stride(strides);
    }
    match correlate {
        true => convolution.correlate(),
        false => convolution.conv(),
    }
}

fn transforms() -> Vec<Case> {
    let some = || v([4, 1, 7, 8, 0]);
    rows! {
        "rfft" NearlyLinear, [some()] => |x: X| x[0].rfft()?.view_as_real();
        "irfft" NearlyLinear, [m([[3, 2], [1, 2], [4, 2], [5, 2]])] => |x: X| {
            x[0].view_as_complex()?.irfft(&v([4, 1, 7, 8]))
        };
        "fft" NearlyLinear, [some(), some()] => |x: X| x[0].complex(&x[1])?.fft()?.view_as_real();
        "ifft" NearlyLinear, [some(), some()] => |x: X| x[0].complex(&x[1])?.ifft()?.view_as_real();
        "rfft2" NearlyLinear, [m([[4, 3], [2, 8], [0, 3]])] => |x: X| x[0].rfft2()?.view_as_real();
        "fft2" NearlyLinear, [m([[4, 3], [2, 8]])] => |x: X| x[0].complex(&x[0].scale(-2.0)?)?.fft2()?.view_as_real();
        "ifft2" NearlyLinear, [m([[4, 3], [2, 8]])] => |x: X| x[0].complex(&x[0].scale(-2.0)?)?.ifft2()?.view_as_real();
        "irfft2" NearlyLinear, [m([[4, 2, 2], [2, 5, 2]])] => |x: X| {
            x[0].view_as_complex()?.irfft2(&m([[4, 3], [2, 8]]))
        };
        "embedding" Linear, [m([[4, 3]])] => |x: X| x[0].embedding(&ids(x)?);
        "embedding of halves" Linear, [m([[4, 3]])] => |x: X| {
            x[0].to::<vsla::f16>()?.embedding(&ids(x)?)?.to()
        };
        "rotary" NearlyLinear, [m([[3, 4], [0, 4], [5, 4]])] => |x: X| x[0].rotary().start(3).run();
        "rotary from positions on the device" NearlyLinear, [m([[3, 4], [0, 4], [5, 4]])] => |x: X| {
            let starts = x[0].device().upload(&Ragged::from_rows([[3u32, 0, 700]])?)?;
            x[0].rotary().starts(&starts).run()
        };
        "stft" NearlyEach, [v([11, 3, 4]), v([4])] => |x: X| x[0].stft(&x[1], 2)?.view_as_real();
        "stft of frames apart" NearlyEach, [v([11, 3, 4]), v([3])] => |x: X| x[0].stft(&x[1], 4)?.view_as_real();
        "istft" NearlyLinear, [m([[4, 3, 2], [0, 3, 2], [1, 3, 2]])] => |x: X| {
            let window = x[0].device().upload(&Ragged::from_rows([[1.0f32, 2.0, 1.0, 3.0]])?)?;
            x[0].view_as_complex()?.istft(&window, 2, &v([11, 3, 4]))
        };
    }
}
