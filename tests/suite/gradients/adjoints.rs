//! Operations that are linear in an operand: their gradients are adjoints, exactly where the operation is exact.

use std::sync::Arc;

use vsla::batch::Side;
use vsla::conv::{ConvMethod, ConvMode};
use vsla::program::Program;
use vsla::{
    BsrTensor, Device, Indices, Pairing, Ragged, Result, Tensor, Topology, f16,
    product::ShapeMatrix,
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

type X<'a> = &'a [Tensor<f32>];
use Kind::{Each, Linear, NearlyEach, NearlyLinear};

/// Operands that are options of the catalogue's rows, combinations, and types in between. Other operations are
/// differentiated by the rows (`rows::slopes`).
pub(super) fn all() -> Vec<Case> {
    let some = || v([3, 0, 1, 7]);
    let boxes = || m([[2, 3], [0, 4], [5, 1], [3, 4]]);
    let three = || m([[2, 3, 2], [0, 2, 1], [3, 1, 2]]);
    let topology = || Topology::new([16, 24], [8, 8], &[(0, 1), (1, 0), (1, 2)]).unwrap();
    let (shared, with_bias, sampled_transposed) = (topology(), topology(), topology());
    let mut all = rows! {
        "add a scalar" NearlyLinear, [boxes()] => |x: X| x[0].add(0.0)?.hadamard(-3.0)?.div(0.5);
        "if_else of a scalar" Linear, [v([3, 2])] => |x: X| {
            let mask = Ragged::from_rows([vec![1u32, 0, 1], vec![0, 1]])?;
            x[0].device().upload(&mask)?.if_else(&x[0], 0.0)
        };
        "add along the middle" Linear, [m([[2, 3, 2], [1, 3, 4]]), v([3])] => |x: X| x[0].sub(x[1].along(1));
        "matmul of elements without extents and a shared matrix" Each, [m([[0, 0], [2, 3]]), m([[3, 2]])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.matmul()
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
            let (a, b) = (x[0].to::<f16>()?, x[1].to::<f16>()?);
            a.pair(&b, Pairing::AllToOne)?.matmul()?.to()
        };
        "product of halves as floats" Each, [m([[2, 3], [4, 3]]), m([[3, 2], [3, 1]])] => |x: X| {
            x[0].to::<f16>()?.product(&x[1].to::<f16>()?).to::<f32>().run()
        };
        "bsr_matmul of one set" Each, [v([192]), m([[24, 3], [24, 0], [0, 0], [24, 9]])] => move |x: X| {
            BsrTensor::new(&shared, x[0].clone())?.matmul(&x[1])
        };
        "sparse layer" Linear, [v([192]), v([24])] => move |x: X| {
            let a = x[0].device().full(&m([[3, 16], [2, 16]]), 1.0f32)?;
            a.product(&BsrTensor::new(&with_bias, x[0].clone())?).scale(2.0).bias(&x[1]).run()
        };
        "sampled of transposes" Each, [m([[3, 16], [3, 16]]), m([[24, 3]])] => move |x: X| {
            let pair = x[0].pair(&x[1], Pairing::AllToAll)?;
            let blocks = pair.product().transpose_left().transpose_right().sampled(&sampled_transposed)?;
            Ok(blocks.values().clone())
        };
        "transpose and add matrices of vectors" Linear, [v([2, 1, 0, 3, 2, 2]), v([1, 2, 3, 0, 2, 1])] => |x: X| {
            let a = ShapeMatrix::new(&x[0], &m([[2, 3]]))?;
            let b = ShapeMatrix::new(&x[1], &m([[3, 2]]))?;
            Ok(a.transpose()?.add(&b)?.entries().clone())
        };
        "upscale of complex numbers" Linear, [m([[3, 4], [2, 2]])] => |x: X| {
            let z = x[0].reshape(&m([[3, 2, 2], [1, 2, 2]]))?.view_as_complex()?;
            z.upscale(&[[2, 1]])?.downscale(&[[1, 2]])?.tile(&[[1, 2]])?.view_as_real()
        };
        "upscale of halves" Linear, [boxes()] => |x: X| {
            x[0].to::<f16>()?.upscale(&[[2, 1]])?.downscale(&[[3, 1]])?.translate(&[[1, 1]], f16::ZERO)?.to::<f32>()
        };
        "elements apart" Linear, [boxes()] => |x: X| x[0].elements(3..4)?.join(&[&x[0].elements(1..2)?]);
        "elements of some and of all" Linear, [some()] => |x: X| {
            let (first, none, last) = (x[0].elements(0..3)?, x[0].elements(2..2)?, x[0].elements(1..4)?);
            first.join(&[&none, &last, &x[0], &last])
        };
        "elements of halves" Linear, [some()] => |x: X| {
            let x = x[0].to::<f16>()?;
            x.elements(2..4)?.join(&[&x.elements(0..1)?])?.to::<f32>()
        };
        "elements of complex numbers" Linear, [m([[2, 2], [0, 2], [3, 2]])] => |x: X| {
            let z = x[0].view_as_complex()?;
            z.elements(1..3)?.join(&[&z.elements(0..2)?])?.view_as_real()
        };
        "split and join" Linear, [some()] => |x: X| {
            let parts = x[0].split(&[1, 3])?;
            parts[1].join(&[&parts[0], &parts[1]])
        };
        "join of many" Linear, [v([3, 0]), v([2]), v([])] => |x: X| {
            let [a, b, c] = [&x[0], &x[1], &x[2]];
            a.join(&[b, c, b, a, a, c, b, a, b])
        };
        "gather_paired of one list" Linear, [m([[3, 2], [1, 2]])] => |x: X| {
            x[0].gather_paired(&indices(&[&[2, 0, 2]])?, Pairing::AllToOne)
        };
        "scatter_add" Linear, [m([[3, 2], [0, 2], [2, 2]])] => |x: X| {
            x[0].scatter_add(&indices(&[&[1, 0, 1], &[], &[1, 2]])?, &m([[2, 2], [1, 2], [4, 2]]))
        };
        "to and from complex numbers" Linear, [v([3, 0, 2]), v([2, 1, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?.conj()?.scale(3.0)?;
            z.neg()?.scale_complex(vsla::Complex32::new(1.0, -2.0))?.view_as_real()
        };
        "parts of complex numbers" Linear, [v([3, 0, 2]), v([2, 1, 2])] => |x: X| {
            let z = x[0].complex(&x[1])?;
            z.real()?.concat(&z.imag()?.scale(2.0)?, 0)
        };
        "views as complex numbers" Linear, [m([[3, 2], [1, 2]])] => |x: X| {
            x[0].view_as_complex()?.conj()?.view_as_real()
        };
        "copies of complex numbers" Linear, [m([[3, 4, 2], [1, 2, 2]])] => |x: X| {
            let z = x[0].view_as_complex()?.transpose(&[1, 0])?.strided_slice(&[(None, None, 2), (None, None, -1)])?;
            z.gather(&indices(&[&[1, 0, 1], &[0]])?)?.view_as_real()
        };
        "halves" Linear, [some()] => |x: X| x[0].to::<f16>()?.scale(f16::from_f32(2.0))?.flip(&[0])?.to();
        "concat of complex numbers" Linear, [m([[3, 2], [0, 2]]), m([[1, 2], [4, 2]])] => |x: X| {
            x[0].view_as_complex()?.concat(&x[1].view_as_complex()?, 0)?.view_as_real()
        };
        "copies of vectors of complex numbers" Linear, [m([[3, 2], [0, 2], [5, 2]])] => |x: X| {
            x[0].view_as_complex()?.strided_slice(&[(Some(-1), None, -2)])?.view_as_real()
        };
        "copies of volumes of complex numbers" Linear, [m([[3, 2, 4, 2], [1, 3, 2, 2]])] => |x: X| {
            let ranges = [(None, None, 2), (None, None, 1), (Some(1), None, 2)];
            x[0].view_as_complex()?.strided_slice(&ranges)?.view_as_real()
        };
        "copies of vectors of halves" Linear, [some()] => |x: X| {
            x[0].to::<f16>()?.strided_slice(&[(Some(-1), None, -2)])?.to()
        };
        "copies of volumes of halves" Linear, [three()] => |x: X| {
            let ranges = [(None, None, 2), (None, None, 1), (Some(1), None, 2)];
            x[0].to::<f16>()?.strided_slice(&ranges)?.to()
        };
        "copies of halves" Linear, [boxes()] => |x: X| {
            let y = x[0].to::<f16>()?.strided_slice(&[(None, None, 2), (Some(1), None, 2)])?;
            y.concat(&y, 1)?.sum_axis(0)?.to()
        };
        "embedding of halves" Linear, [m([[4, 3]])] => |x: X| {
            x[0].to::<f16>()?.embedding(&ids(x)?)?.to()
        };
        "stft" NearlyEach, [v([11, 3, 4]), v([4])] => |x: X| x[0].stft(&x[1], 2)?.view_as_real();
        "stft of frames apart" NearlyEach, [v([11, 3, 4]), v([3])] => |x: X| x[0].stft(&x[1], 4)?.view_as_real();
    };
    all.extend(convolutions());
    all
}

fn indices(rows: &[&[u32]]) -> Result<Indices> {
    Indices::new(Ragged::from_rows(rows)?)
}

fn convolutions() -> Vec<Case> {
    const MODES: [ConvMode; 4] = [
        ConvMode::Full,
        ConvMode::Same,
        ConvMode::Valid,
        ConvMode::Causal,
    ];
    let mut all = rows! {
        "conv by any method" NearlyEach, [v([500, 70, 3]), v([130, 200, 5])] => |x: X| x[0].conv(&x[1]);
        "correlate by any method" NearlyEach, [v([500, 70, 3]), v([130, 200, 5])] => |x: X| x[0].correlate(&x[1]);
        "planned convolution" NearlyEach, [v([50, 7, 3]), v([13, 20])] => |x: X| {
            x[0].pair(&x[1], Pairing::AllToAll)?.conv_plan()?.conv(&x[0])
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
