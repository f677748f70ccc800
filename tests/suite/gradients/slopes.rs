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
        "clamp outside" ABOVE, [some()] => |x: X| x[0].clamp(-1.0, 0.3);
        "maximum of a scalar" ABOVE, [boxes()] => |x: X| x[0].maximum(0.01)?.pow(2.5);
        "pow of a scalar" ABOVE, [some()] => |x: X| vsla::batch::Spread::from(2.0).pow(&x[0]);
        "l2_normalize of small values" Kind::Smooth(-0.1, 0.1), [boxes()] => |x: X| x[0].l2_normalize(1, 2.0);
        "embedding, squared" ANY, [m([[4, 3]])] => |x: X| x[0].embedding(&ids(x)?)?.square();
        "cross_entropy of vectors, squared" ANY, [v([3, 1, 4])] => |x: X| {
            let targets = Ragged::from_rows([[2u32], [0], [1]])?;
            x[0].cross_entropy(&x[0].device().upload(&targets)?)?.square()
        };
        "cross_entropy of three axes" ANY, [m([[2, 1, 4], [1, 3, 2]])] => |x: X| {
            let targets = Ragged::from_parts(m([[2, 1], [1, 3]]), vec![1u32, 3, 0, 1, 1])?;
            x[0].cross_entropy(&x[0].device().upload(&targets)?)
        };
        "eval at all points" ANY, [v([3, 1, 4]), v([2, 3])] => |x: X| x[0].pair(&x[1], Pairing::AllToAll)?.eval();
        "relu layer" ANY, [m([[2, 3], [4, 3]]), m([[3, 5]]), v([5])] => |x: X| {
            let bias = x[2].add_scalar(20.0)?;
            x[0].pair(&x[1], Pairing::AllToAll)?.product().bias(&bias).activation(Activation::Relu).run()
        };
        "gelu layer" ANY, [m([[2, 3], [4, 3]]), m([[3, 5]]), v([5]), m([[2, 5], [4, 5]])] => |x: X| {
            let pair = x[0].pair(&x[1], Pairing::AllToAll)?;
            pair.product().scale(0.5).bias(&x[2]).activation(Activation::Gelu).residual(&x[3]).run()
        };
        "absolute values of spectra" ABOVE, [v([5, 8, 1])] => |x: X| x[0].rfft()?.add(&x[0].rfft()?)?.abs();
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
    rows! {
        "sort beside others" SMALL, [v([5, 0, 3]), v([9, 4])] => |x: X| {
            // The cotangent of the second part is a view.
            x[0].join(&[&apart(&x[1])?.square()?.sort(0)?])
        };
        "max_pool of overlapping windows" SMALL, [m([[4, 5], [6, 3]])] => |x: X| {
            apart(&x[0])?.square()?.pooling(&[3, 2]).stride(&[1, 1]).max()
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
