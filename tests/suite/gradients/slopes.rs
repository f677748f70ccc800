//! Operations that are not linear: derivatives against differences.

use std::sync::Arc;
use vsla::product::Activation;
use vsla::program::Program;

use vsla::{Device, Layout, Pairing, Ragged, Result, Tensor, batch::PairList};

use super::{
    Case, Kind, Run, cotangents, floats, ids, inner, inputs, m, moved, ran, random_for, size, v,
    value,
};
use crate::support::operation::upload;

/// The step of differences.
const STEP: f32 = 1.0 / 128.0;

fn range(case: &Case) -> (f32, f32) {
    match case.kind {
        Kind::Smooth(low, high) => (low, high),
        _ => (-2.0, 2.0),
    }
}

/// First derivatives in random directions.
pub(super) fn first(device: &Device, case: &Case) {
    let mut random = random_for(case);
    let operands: Vec<Ragged<f32>> = case
        .operands
        .iter()
        .map(|layout| floats(layout, range(case), &mut random))
        .collect();
    let y = value(device, &case.run, &operands);
    let seed = floats(y.layout(), (-1.0, 1.0), &mut random);
    let all = cotangents(device, &case.run, &operands, &seed);
    for (i, cotangent) in all.iter().enumerate() {
        for _ in 0..3 {
            let direction = floats(operands[i].layout(), (-1.0, 1.0), &mut random);
            let at = |t: f32| {
                let mut operands = operands.clone();
                operands[i] = moved(&operands[i], &direction, t);
                inner(&seed, &value(device, &case.run, &operands))
            };
            let expected = (at(STEP) - at(-STEP)) / f64::from(2.0 * STEP);
            let got = inner(cotangent, &direction);
            let scale = size(cotangent, &direction) + 1e-2 * size(&seed, &y);
            assert!(
                (got - expected).abs() <= 2e-3 * scale + 1e-5,
                "{}: operand {i}: {got} but the difference is {expected}",
                case.name
            );
        }
    }
}

/// Second derivatives: those of the products of all cotangents with random batches.
pub(super) fn second(device: &Device, case: &Case) {
    let mut random = random_for(case);
    let operands: Vec<Ragged<f32>> = case
        .operands
        .iter()
        .map(|layout| floats(layout, range(case), &mut random))
        .collect();
    let y = value(device, &case.run, &operands);
    let seed = floats(y.layout(), (-1.0, 1.0), &mut random);
    let weights: Vec<Ragged<f32>> = operands
        .iter()
        .map(|x| floats(x.layout(), (-1.0, 1.0), &mut random))
        .collect();
    let weighted = |operands: &[Ragged<f32>]| -> f64 {
        let all = cotangents(device, &case.run, operands, &seed);
        all.iter().zip(&weights).map(|(g, w)| inner(g, w)).sum()
    };
    for i in 0..operands.len() {
        let (run, count) = (case.run.clone(), operands.len());
        // Inputs: the operands, the seed, and the weights.
        let program = Program::new(device, move |r| {
            let operands = inputs(r, count)?;
            let y = run(&operands)?;
            let seed = r.input()?;
            let weights = inputs(r, count)?;
            let to: Vec<&Tensor<f32>> = operands.iter().collect();
            let all = r.gradients_from(&[(&y, &seed)], &to)?;
            let seeds: Vec<(&Tensor<f32>, &Tensor<f32>)> = all.iter().zip(&weights).collect();
            let [again] = &r.gradients_from(&seeds, &[&operands[i]])?[..] else {
                panic!("one gradient");
            };
            r.output(again)
        });
        let all: Vec<Tensor<f32>> = operands
            .iter()
            .chain([&seed])
            .chain(&weights)
            .map(|x| upload(device, x))
            .collect();
        let layouts: Vec<&Layout> = all.iter().map(Tensor::layout).collect();
        if let Err(error) = program.plan(&layouts) {
            // The first derivatives do not depend on it.
            assert!(
                error.to_string().contains("does not depend on operand"),
                "{}: {error}",
                case.name
            );
            continue;
        }
        let got = &ran(&program, &all)[0];
        let direction = floats(operands[i].layout(), (-1.0, 1.0), &mut random);
        let at = |t: f32| {
            let mut operands = operands.clone();
            operands[i] = moved(&operands[i], &direction, t);
            weighted(&operands)
        };
        let expected = (at(STEP) - at(-STEP)) / f64::from(2.0 * STEP);
        let (got, scale) = (inner(got, &direction), size(got, &direction));
        assert!(
            (got - expected).abs() <= 5e-3 * scale + 2e-3,
            "{}: operand {i}: {got} but the difference is {expected}",
            case.name
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

const ANY: Kind = Kind::Smooth(-2.0, 2.0);
const ABOVE: Kind = Kind::Smooth(0.5, 2.0);

type X<'a> = &'a [Tensor<f32>];

pub(super) fn all() -> Vec<Case> {
    let some = || v([3, 0, 1, 7]);
    let boxes = || m([[2, 3], [0, 4], [5, 1], [3, 4]]);
    let mut all = rows! {
        "exp" ANY, [some()] => |x: X| x[0].exp();
        "exp2" ANY, [some()] => |x: X| x[0].exp2();
        "expm1" ANY, [some()] => |x: X| x[0].expm1();
        "log" ABOVE, [some()] => |x: X| x[0].log();
        "log2" ABOVE, [some()] => |x: X| x[0].log2();
        "log1p" ABOVE, [some()] => |x: X| x[0].log1p();
        "sqrt" ABOVE, [some()] => |x: X| x[0].sqrt();
        "rsqrt" ABOVE, [some()] => |x: X| x[0].rsqrt();
        "reciprocal" ABOVE, [some()] => |x: X| x[0].reciprocal();
        "div_from" ABOVE, [some()] => |x: X| x[0].div_from(3.0);
        "square" ANY, [some()] => |x: X| x[0].square();
        "abs" ABOVE, [some()] => |x: X| x[0].abs();
        "abs of negative values" Kind::Smooth(-2.0, -0.5), [some()] => |x: X| x[0].abs();
        "relu" ABOVE, [some()] => |x: X| x[0].relu();
        "relu of negative values" Kind::Smooth(-2.0, -0.5), [some()] => |x: X| x[0].relu();
        "leaky_relu" ABOVE, [some()] => |x: X| x[0].leaky_relu(0.1);
        "leaky_relu of negative values" Kind::Smooth(-2.0, -0.5), [some()] => |x: X| x[0].leaky_relu(0.1);
        "clamp" Kind::Smooth(-0.9, 0.9), [some()] => |x: X| x[0].clamp(-1.0, 1.0);
        "clamp outside" ABOVE, [some()] => |x: X| x[0].clamp(-1.0, 0.3);
        "powf" ABOVE, [some()] => |x: X| x[0].powf(1.7);
        "powi" ANY, [some()] => |x: X| x[0].powi(3);
        "powi of a negative exponent" ABOVE, [some()] => |x: X| x[0].powi(-2);
        "sin" ANY, [some()] => |x: X| x[0].sin();
        "cos" ANY, [some()] => |x: X| x[0].cos();
        "tanh" ANY, [some()] => |x: X| x[0].tanh();
        "sigmoid" ANY, [some()] => |x: X| x[0].sigmoid();
        "silu" ANY, [some()] => |x: X| x[0].silu();
        "softplus" ANY, [some()] => |x: X| x[0].softplus();
        "erf" ANY, [some()] => |x: X| x[0].erf();
        "gelu" ANY, [some()] => |x: X| x[0].gelu();
        "gelu_tanh" ANY, [some()] => |x: X| x[0].gelu_tanh();
        "rem" Kind::Smooth(0.1, 0.9), [some()] => |x: X| x[0].rem(1.0);
        "div" ABOVE, [some(), some()] => |x: X| x[0].div(&x[1]);
        "div of other shapes" ABOVE, [v([3, 2, 5]), v([4, 0, 2])] => |x: X| x[0].div(&x[1]);
        "div by spread values" ABOVE, [boxes(), v([1, 1, 1, 1])] => |x: X| x[0].div(x[1].each());
        "div of spread values" ABOVE, [boxes(), v([1, 1, 1, 1])] => |x: X| x[1].each().div(&x[0]);
        "div by vectors" ABOVE, [boxes(), v([3, 4, 1, 4])] => |x: X| x[0].div(x[1].along(1));
        "div by a shared vector" ABOVE, [m([[2, 3], [0, 3], [4, 3]]), v([3])] => |x: X| x[0].div(x[1].along(1));
        "pow" ABOVE, [some(), some()] => |x: X| x[0].pow(&x[1]);
        "pow of other shapes" ABOVE, [v([3, 2, 5]), v([4, 0, 2])] => |x: X| x[0].pow(&x[1]);
        "pow of vectors" ABOVE, [boxes(), v([2, 0, 5, 3])] => |x: X| x[1].along(0).pow(&x[0]);
        "atan2" ABOVE, [some(), some()] => |x: X| x[0].atan2(&x[1]);
        "atan2 of other shapes" ABOVE, [boxes(), m([[3, 2], [1, 1], [2, 2], [3, 4]])] => |x: X| x[0].atan2(&x[1]);
        "remainder" Kind::Smooth(1.1, 1.9), [some(), some()] => |x: X| x[0].scale(3.0)?.remainder(&x[1].scale(2.0)?);
        "maximum" ABOVE, [some(), some()] => |x: X| x[0].maximum(&x[1].scale(0.1)?);
        "maximum of a scalar" ABOVE, [boxes()] => |x: X| x[0].maximum(0.01)?.pow(2.5);
        "pow of a scalar" ABOVE, [some()] => |x: X| vsla::batch::Spread::from(2.0).pow(&x[0]);
        "maximum of other shapes" ABOVE, [boxes(), m([[3, 2], [1, 1], [2, 2], [3, 4]])] => |x: X| {
            x[0].scale(0.1)?.maximum(&x[1])
        };
        "minimum of spread values" ABOVE, [boxes(), v([1, 1, 1, 1])] => |x: X| x[0].minimum(x[1].scale(0.1)?.each());
        "prod" ABOVE, [some()] => |x: X| x[0].prod();
        "prod_axis" ANY, [boxes()] => |x: X| x[0].prod_axis(0);
        "norm1" ABOVE, [some()] => |x: X| x[0].norm1();
        "norm1_axis" ABOVE, [boxes()] => |x: X| x[0].norm1_axis(0);
        "norm_max_axis" ABOVE, [m([[1, 3], [1, 0]])] => |x: X| x[0].norm_max_axis(0);
        "norm2" ANY, [some()] => |x: X| x[0].norm2();
        "norm2_axis" ANY, [boxes()] => |x: X| x[0].norm2_axis(1);
        "norm_max" Kind::Smooth(-2.0, -0.5), [v([1, 0, 1])] => |x: X| x[0].norm_max();
        "max" ANY, [v([1, 1])] => |x: X| x[0].max();
        "max_axis" ANY, [m([[1, 3], [1, 0], [1, 4]])] => |x: X| x[0].max_axis(0);
        "min_axis" ANY, [m([[3, 1], [0, 1], [4, 1]])] => |x: X| x[0].min_axis(1);
        "var" ANY, [some()] => |x: X| x[0].resize(&v([3, 1, 1, 7]))?.var();
        "var_axis" ANY, [boxes()] => |x: X| x[0].var_axis(1);
        "std" ANY, [v([3, 4, 7])] => |x: X| x[0].std();
        "std_axis" ANY, [m([[4, 3], [5, 2]])] => |x: X| x[0].std_axis(0);
        "log_sum_exp" ANY, [v([3, 1, 7])] => |x: X| x[0].log_sum_exp();
        "log_sum_exp_axis" ANY, [boxes()] => |x: X| x[0].log_sum_exp_axis(1);
        "softmax" ANY, [some()] => |x: X| x[0].softmax(0);
        "softmax of boxes" ANY, [boxes()] => |x: X| x[0].softmax(0);
        "softmax of the last of three axes" ANY, [m([[2, 3, 2], [1, 2, 4]])] => |x: X| x[0].softmax(2);
        "var_axis of the first of three axes" ANY, [m([[2, 3, 2], [4, 2, 1]])] => |x: X| x[0].var_axis(0);
        "max_axis of the middle of three axes" ANY, [m([[2, 1, 2], [4, 1, 1]])] => |x: X| x[0].max_axis(1);
        "log_softmax" ANY, [boxes()] => |x: X| x[0].log_softmax(1);
        "layer_norm" ANY, [boxes()] => |x: X| x[0].layer_norm(1, 0.5);
        "layer_norm of columns" ANY, [m([[2, 3, 2], [4, 1, 3]])] => |x: X| x[0].layer_norm(1, 0.5);
        "rms_norm" ANY, [boxes()] => |x: X| x[0].rms_norm(1, 0.5);
        "l2_normalize" ABOVE, [boxes()] => |x: X| x[0].l2_normalize(1, 1e-5);
        "l2_normalize of small values" Kind::Smooth(-0.1, 0.1), [boxes()] => |x: X| x[0].l2_normalize(1, 2.0);
        "standardize" ANY, [m([[2, 3], [4, 4]])] => |x: X| x[0].standardize(0.0);
        "group_norm" ANY, [m([[4, 3], [2, 5]])] => |x: X| x[0].group_norm(2, 0.5);
        "cumprod" ABOVE, [boxes()] => |x: X| x[0].cumprod(1);
        "embedding, squared" ANY, [m([[4, 3]])] => |x: X| x[0].embedding(&ids(x)?)?.square();
        "cross_entropy" ANY, [m([[3, 4], [1, 2], [0, 3]])] => |x: X| {
            let targets = Ragged::from_rows([vec![1u32, 0, 3], vec![1], vec![]])?;
            x[0].cross_entropy(&x[0].device().upload(&targets)?)
        };
        "cross_entropy of vectors, squared" ANY, [v([3, 1, 4])] => |x: X| {
            let targets = Ragged::from_rows([[2u32], [0], [1]])?;
            x[0].cross_entropy(&x[0].device().upload(&targets)?)?.square()
        };
        "cross_entropy of three axes" ANY, [m([[2, 1, 4], [1, 3, 2]])] => |x: X| {
            let targets = Ragged::from_parts(m([[2, 1], [1, 3]]), vec![1u32, 3, 0, 1, 1])?;
            x[0].cross_entropy(&x[0].device().upload(&targets)?)
        };
        "eval" ANY, [v([3, 1, 0, 4]), v([2, 5, 3, 0])] => |x: X| x[0].eval(&x[1]);
        "eval at all points" ANY, [v([3, 1, 4]), v([2, 3])] => |x: X| x[0].pair(&x[1], Pairing::AllToAll)?.eval();
        "sbd" ABOVE, [v([4, 3]), v([4, 2])] => |x: X| Ok(x[0].sbd(&x[1])?.distance);
        "relu layer" ANY, [m([[2, 3], [4, 3]]), m([[3, 5]]), v([5])] => |x: X| {
            let bias = x[2].add_scalar(20.0)?;
            x[0].pair(&x[1], Pairing::AllToAll)?.product().bias(&bias).activation(Activation::Relu).run()
        };
        "gelu layer" ANY, [m([[2, 3], [4, 3]]), m([[3, 5]]), v([5]), m([[2, 5], [4, 5]])] => |x: X| {
            let pair = x[0].pair(&x[1], Pairing::AllToAll)?;
            pair.product().scale(0.5).bias(&x[2]).activation(Activation::Gelu).residual(&x[3]).run()
        };
        "attention" ANY, [m([[4, 3], [2, 3]]), m([[4, 3], [2, 3]]), m([[4, 3], [2, 3]])] => |x: X| {
            x[0].product(&x[1]).transpose_right().run()?.softmax(1)?.matmul(&x[2])
        };
        "absolute values of spectra" ABOVE, [v([5, 8, 1])] => |x: X| x[0].rfft()?.add(&x[0].rfft()?)?.abs();
        "powers of spectra" ANY, [v([5, 8, 1])] => |x: X| x[0].rfft()?.abs_squared();
        "angles" ABOVE, [v([3, 2]), v([3, 2])] => |x: X| x[0].complex(&x[1])?.arg();
        "polar numbers" ABOVE, [v([3, 2]), v([3, 1])] => |x: X| x[0].polar(&x[1])?.view_as_real();
        "complex quotients" ABOVE, [v([3, 2]), v([3, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?;
            z.div(&x[1].complex(&x[0].square()?)?)?.view_as_real()
        };
        "complex products" ANY, [v([3, 2]), v([3, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?;
            z.hadamard(&z.conj()?.hadamard(&z)?)?.view_as_real()
        };
    };
    all.extend(in_order());
    all
}

/// Cases whose operands are far enough from each other that small steps change no order.
fn in_order() -> Vec<Case> {
    /// Adds to each value an amount of its own, in an order that is not sorted.
    fn apart(x: &Tensor<f32>) -> Result<Tensor<f32>> {
        let layout = x.layout();
        let amounts = Ragged::from_fn(layout, |_, i| ((i * 7 + 3) % 11) as f32)?;
        x.add(&x.device().upload(&amounts)?)
    }
    const SMALL: Kind = Kind::Smooth(-0.4, 0.4);
    let boxes = || m([[2, 3], [0, 4], [5, 1], [2, 5]]);
    rows! {
        "max of several" SMALL, [v([5, 1, 9])] => |x: X| apart(&x[0])?.square()?.max();
        "min of boxes" SMALL, [boxes()] => |x: X| {
            apart(&x[0])?.square()?.resize(&m([[2, 3], [1, 1], [5, 1], [2, 5]]))?.min()
        };
        "max of columns" SMALL, [boxes()] => |x: X| apart(&x[0])?.square()?.max_axis(1);
        "sort" SMALL, [v([5, 0, 9])] => |x: X| apart(&x[0])?.square()?.sort(0);
        "sort_descending" SMALL, [boxes()] => |x: X| apart(&x[0])?.square()?.sort_descending(1);
        "top_k" SMALL, [m([[3, 4], [2, 5]])] => |x: X| Ok(apart(&x[0])?.square()?.top_k(2, 1)?.0);
        "sort along the first of three axes" SMALL, [m([[3, 2, 2], [2, 1, 3]])] => |x: X| {
            apart(&x[0])?.square()?.sort(0)
        };
        "sort beside others" SMALL, [v([5, 0, 3]), v([9, 4])] => |x: X| {
            // The cotangent of the second part is a view.
            x[0].join(&[&apart(&x[1])?.square()?.sort(0)?])
        };
        "quantile" SMALL, [v([5, 1, 8])] => |x: X| apart(&x[0])?.square()?.quantile(0.3);
        "quantile_axis" SMALL, [boxes()] => |x: X| {
            let filled = apart(&x[0])?.square()?.resize(&m([[2, 3], [1, 4], [5, 1], [2, 5]]))?;
            filled.quantile_axis(0.8, 1)
        };
        "median" SMALL, [v([5, 1, 8])] => |x: X| apart(&x[0])?.square()?.median();
        "top_k_at_most" SMALL, [m([[3, 4], [2, 5]])] => |x: X| Ok(apart(&x[0])?.square()?.top_k_at_most(3, 0)?.0);
        "median_axis" SMALL, [m([[4, 3], [5, 2]])] => |x: X| apart(&x[0])?.square()?.median_axis(0);
        "cummax" SMALL, [boxes()] => |x: X| apart(&x[0])?.square()?.cummax(1);
        "cummin" SMALL, [v([5, 0, 9])] => |x: X| apart(&x[0])?.square()?.cummin(0);
        "max_pool" SMALL, [v([5, 1, 8])] => |x: X| apart(&x[0])?.square()?.max_pool(&[2]);
        "max_pool of planes" SMALL, [m([[2, 4, 3], [1, 5, 4]])] => |x: X| apart(&x[0])?.square()?.max_pool(&[2, 2]);
        "max_pool of overlapping windows" SMALL, [m([[4, 5], [6, 3]])] => |x: X| {
            apart(&x[0])?.square()?.pooling(&[3, 2]).stride(&[1, 1]).max()
        };
        "max_pool of windows apart" SMALL, [v([9, 4])] => |x: X| {
            apart(&x[0])?.square()?.pooling(&[2]).stride(&[3]).max()
        };
        "correlate_max" SMALL, [v([5, 3]), v([4, 2])] => |x: X| {
            Ok(apart(&x[0])?.square()?.correlate_max(&apart(&x[1])?)?.value)
        };
        "correlate_max of views" SMALL, [v([2, 5, 3]), v([6, 4, 2])] => |x: X| {
            let (a, b) = (apart(&x[0])?.square()?, apart(&x[1])?);
            Ok(a.elements(1..3)?.correlate_max(&b.elements(1..3)?)?.value)
        };
        "correlate_max of pairs" SMALL, [v([5, 3]), v([4, 2])] => |x: X| {
            let pairs = PairList::new([(0, 1), (1, 0), (0, 0)])?;
            let (a, b) = (apart(&x[0])?, apart(&x[1])?);
            Ok(a.pair(&b, Pairing::List(&pairs))?.correlate_max()?.value)
        };
    }
}
