//! Values that are used several times, other types, NaN, and what has no gradient.

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::attention::Cache;
use vsla::program::Program;
use vsla::{Device, Error, Layout, Ragged, Result, Shape, Tensor, f16};

use super::{Run, cotangents, ran, v};
use crate::support::bench::Bench;
use crate::support::operation::{rows, upload};

pub(super) fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("shared", shared),
        ("types", types),
        ("contained", contained),
        ("refusals", refusals),
        ("recomputed", recomputed),
        ("parts_of_a_batch", parts_of_a_batch),
        ("lines_of_any_rank", lines_of_any_rank),
    ])
}

/// A value used twice, gradients of values in between, and several seeds.
fn shared(device: &Device) {
    let run: Run = Arc::new(|x: &[Tensor<f32>]| {
        let y = x[0].scale(2.0)?;
        y.hadamard(&y)?.add(&x[0])
    });
    // 4 x² + x.
    let got = cotangents(device, &run, &[rows([&[1.0, -2.0]])], &rows([&[1.0, 10.0]]));
    assert_eq!(got[0].row(0), [9.0, -150.0]);
    let constant = upload(device, &rows([&[5.0f32, 6.0], &[7.0]]));
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        let y = x.square()?;
        let z = y.sum()?;
        let [of_y, of_x, of_z] = r.gradients(&z, [&y, &x, &z])?;
        for g in [of_y, of_x, of_z] {
            r.output(&g)?;
        }
        let (one, two) = (
            r.device().full(y.layout(), 10.0f32)?,
            r.device().full(z.layout(), 1.0f32)?,
        );
        let both = r.gradients_from(&[(&y, &one), (&z, &two)], &[&x])?;
        r.output(&both[0])?;
        // Seeds that exist already, and so do some cotangents.
        let negative = x.neg()?;
        let all = r.gradients_from(&[(&negative, &constant)], &[&negative, &x])?;
        r.output(&all[0])?;
        r.output(&all[1])
    });
    let x = upload(device, &rows([&[1.0f32, 3.0], &[-2.0]]));
    let got = ran(&program, &[x]);
    assert_eq!(got[4].values(), [5.0, 6.0, 7.0]);
    assert_eq!(got[5].values(), [-5.0, -6.0, -7.0]);
    assert_eq!(got[0].values(), [1.0, 1.0, 1.0]);
    assert_eq!(got[1].values(), [2.0, 6.0, -4.0]);
    assert_eq!(got[2].values(), [1.0, 1.0]);
    assert_eq!(got[3].values(), [22.0, 66.0, -44.0]);
}

/// A function of lines along an axis.
type OfLines = fn(&Tensor<f32>, usize) -> Result<Tensor<f32>>;

const OF_LINES: &[(&str, OfLines)] = &[
    ("sum", |x, axis| x.sum_axis(axis)),
    ("prod", |x, axis| x.prod_axis(axis)),
    ("mean", |x, axis| x.mean_axis(axis)),
    ("var", |x, axis| x.var_axis(axis)),
    ("std", |x, axis| x.std_axis(axis)),
    ("norm1", |x, axis| x.norm1_axis(axis)),
    ("norm2", |x, axis| x.norm2_axis(axis)),
    ("norm_max", |x, axis| x.norm_max_axis(axis)),
    ("max", |x, axis| x.max_axis(axis)),
    ("min", |x, axis| x.min_axis(axis)),
    ("median", |x, axis| x.median_axis(axis)),
    ("quantile", |x, axis| x.quantile_axis(0.3, axis)),
    ("log_sum_exp", |x, axis| x.log_sum_exp_axis(axis)),
    ("softmax", |x, axis| x.softmax(axis)),
    ("log_softmax", |x, axis| x.log_softmax(axis)),
    ("layer_norm", |x, axis| x.layer_norm(axis, 0.1)),
    ("rms_norm", |x, axis| x.rms_norm(axis, 0.1)),
    ("l2_normalize", |x, axis| x.l2_normalize(axis, 0.1)),
    ("sort", |x, axis| x.sort(axis)),
    ("cumsum", |x, axis| x.cumsum(axis)),
    ("cumprod", |x, axis| x.cumprod(axis)),
    ("cummax", |x, axis| x.cummax(axis)),
    // The line has a lower value after its first one, but no higher one.
    ("cummin", |x, axis| x.cummin(axis)),
];

/// A line has the gradient that it has alone, whatever axes of extent 1 or more there are beside its own.
fn lines_of_any_rank(device: &Device) {
    let line = [3.0f32, -1.0, 2.0, 0.5];
    let gradient = |shape: &[usize], axis: usize, of: OfLines| -> Vec<(usize, f32)> {
        let layout = Layout::uniform(1, Shape::new(shape).unwrap()).unwrap();
        let below: usize = shape[axis + 1..].iter().product();
        let values = (0..layout.total()).map(|i| line[i / below % 4]).collect();
        let x = upload(device, &Ragged::from_parts(layout, values).unwrap());
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let y = of(&x, axis)?;
            // Lines of results have cotangents that differ, too.
            let [g] = r.gradients(&y.square()?, [&x])?;
            r.output(&g)
        });
        let all = ran(&program, &[x]).remove(0);
        // Every line, because all are equal.
        let places = (0..all.values().len()).map(|i| i / below % 4);
        places.zip(all.values().iter().copied()).collect()
    };
    for (name, of) in OF_LINES {
        let expected = gradient(&[4], 0, *of);
        for rank in 2..=4 {
            for (axis, others) in (0..rank).flat_map(|axis| [1, 2].map(|others| (axis, others))) {
                for ones in 0..1 << rank {
                    let extent = |a: usize| match (a == axis, ones >> a & 1) {
                        (true, _) => 4,
                        (false, 0) => others,
                        (false, _) => 1,
                    };
                    let shape: Vec<usize> = (0..rank).map(extent).collect();
                    let got = gradient(&shape, axis, *of);
                    let near = |(place, slope): &(usize, f32)| {
                        let expected = expected[*place].1;
                        (slope - expected).abs() <= 1e-5 * (1.0 + expected.abs())
                    };
                    assert!(
                        got.iter().all(near),
                        "{name} along axis {axis} of {shape:?}: {got:?}, not {expected:?}"
                    );
                }
            }
        }
    }
}

/// Gradients with respect to halves and complex numbers.
fn types(device: &Device) {
    let program = Program::new(device, |r| {
        let x: Tensor<f16> = r.input()?;
        let loss = x.tanh()?.hadamard(&x)?.to::<f32>()?.sum()?;
        let [g] = r.gradients(&loss, [&x])?;
        r.output(&g.to::<f32>()?)
    });
    let x = upload(device, &rows([&[0.5f32, -1.0], &[2.0]]))
        .to::<f16>()
        .unwrap();
    let got = program.plan(&[x.layout()]).unwrap().run(&[&x]).unwrap();
    let got: Tensor<f32> = got.get(0).unwrap();
    let got = got.download_blocking().unwrap();
    for (got, x) in got.values().iter().zip([0.5f64, -1.0, 2.0]) {
        let expected = x.tanh() + x * (1.0 - x.tanh().powi(2));
        assert!(
            (f64::from(*got) - expected).abs() < 2e-3,
            "{got}, not {expected}"
        );
    }
    let program = Program::new(device, |r| {
        let x: Tensor<f16> = r.input()?;
        let loss = x.max_pool(&[2])?.to::<f32>()?.sum()?;
        let [g] = r.gradients(&loss, [&x])?;
        r.output(&g.to::<f32>()?)
    });
    let x = upload(device, &rows([&[0.5f32, -1.0, 3.0, 3.0], &[2.0]]));
    let x = x.to::<f16>().unwrap();
    let got = program.plan(&[x.layout()]).unwrap().run(&[&x]).unwrap();
    let got: Tensor<f32> = got.get(0).unwrap();
    let got = got.download_blocking().unwrap();
    assert_eq!(got.values(), [1.0, 0.0, 1.0, 0.0, 0.0]);
    let program = Program::new(device, |r| {
        let z: Tensor<vsla::Complex32> = r.input()?;
        let loss = z.abs_squared()?.sum()?;
        let [g] = r.gradients(&loss, [&z])?;
        r.output(&g.view_as_real()?)
    });
    let z = upload(device, &rows([&[vsla::Complex32::new(1.0, -2.0)]]));
    let got = program.plan(&[z.layout()]).unwrap().run(&[&z]).unwrap();
    let got: Tensor<f32> = got.get(0).unwrap();
    assert_eq!(got.download_blocking().unwrap().values(), [2.0, -4.0]);
}

/// A NaN or an infinity in an element changes no bit of the gradients of other elements.
fn contained(device: &Device) {
    let layer: Run = Arc::new(|x: &[Tensor<f32>]| {
        let y = x[0].conv(&x[1])?.layer_norm(0, 1e-5)?.gelu()?;
        let y = y.softmax(0)?.add(&x[0].sort(0)?)?;
        y.sub(y.mean()?.each())?.norm2()
    });
    let lengths = [5, 3, 0, 8];
    let clean = [
        Ragged::from_fn(&v(lengths), |e, i| ((e + 3 * i) % 7) as f32 - 2.5).unwrap(),
        Ragged::from_fn(&v([2, 4, 3, 2]), |e, i| ((2 * e + i) % 5) as f32 - 1.5).unwrap(),
    ];
    let seed = rows([&[1.0], &[2.0], &[3.0], &[4.0]]);
    let expected = cotangents(device, &layer, &clean, &seed);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut spoilt = clean.clone();
        let mut values = spoilt[0].values().to_vec();
        values[6] = bad;
        spoilt[0] = Ragged::from_parts(v(lengths), values).unwrap();
        let got = cotangents(device, &layer, &spoilt, &seed);
        for (got, expected) in got.iter().zip(&expected) {
            for element in [0, 2, 3] {
                let bits = |x: &Ragged<f32>| {
                    x.row(element)
                        .iter()
                        .map(|x| x.to_bits())
                        .collect::<Vec<_>>()
                };
                assert_eq!(bits(got), bits(expected), "element {element} beside {bad}");
            }
        }
    }
}

/// An operation on one tensor.
type Unary = fn(&Tensor<f32>) -> Result<Tensor<f32>>;

/// Operations on floats whose results do not change with small changes of their operands: their gradient is 0.
pub(super) const CONSTANT: &[(&str, Unary)] = &[
    ("floor", |x| x.floor()),
    ("ceil", |x| x.ceil()),
    ("round", |x| x.round()),
    ("sign", |x| x.sign()),
];

/// The only vector, of two values, as a matrix.
fn column(x: &Tensor<f32>) -> Result<Tensor<f32>> {
    x.reshape(&Layout::uniform(1, Shape::new(&[2, 1])?)?)
}

/// Operations without a row that programs cannot record, or that have no known derivative.
pub(super) const REFUSED: &[(&str, Unary)] = &[
    ("map1", |x| {
        x.device().map1("x * 2.0", |x: f32| 2.0 * x)?.apply(x)
    }),
    ("attention_over", |x| {
        let of = column(x)?;
        let cache = Cache::with_lengths(of.clone(), of.clone(), &[2])?;
        of.attention_over(&cache).run()?.reshape(x.layout())
    }),
    ("map2", |x| {
        x.device()
            .map2("a * b", |a: f32, b: f32| a * b)?
            .apply(x, x)
    }),
];

fn refusals(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, 2.0]]));
    let refused = |run: fn(&Tensor<f32>) -> Result<Tensor<f32>>| -> String {
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let [g] = r.gradients(&run(&x)?, [&x])?;
            r.output(&g)
        });
        match program.plan(&[x.layout()]) {
            Err(error @ Error::Recording { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let none = "gradients: what is differentiated does not depend on operand 0, or only through integers or masks; \
        leave this operand out";
    assert_eq!(refused(|x| x.equal(x)?.to()), none);
    // Nothing of x but its shapes.
    assert_eq!(refused(|x| x.device().full(x.layout(), 1.0f32)), none);
    for (name, run) in REFUSED {
        let message = refused(*run);
        assert!(message.contains(name), "{name}: {message}");
    }
    let program = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        let (loss, other) = (x.square()?.sum()?, x.to::<i32>()?);
        let [g] = r.gradients(&loss, [&other])?;
        r.output(&g)
    });
    let error = program.plan(&[x.layout()]).unwrap_err().to_string();
    assert_eq!(
        error,
        "gradients: values of i32 have no gradients; use floats"
    );
    // Spectra that were made before the recording do not refer to their kernels.
    let plan = x
        .pair(&x, vsla::Pairing::Elementwise)
        .unwrap()
        .conv_plan()
        .unwrap();
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        let [g] = r.gradients(&plan.conv(&x)?, [&x])?;
        r.output(&g)
    });
    let error = program.plan(&[x.layout()]).unwrap_err().to_string();
    assert!(
        error.contains("make the ConvPlan in the recording"),
        "{error}"
    );
}

/// The gradients of shared weights for two halves of a batch add up to those for the whole batch.
fn parts_of_a_batch(device: &Device) {
    let layer: Run = Arc::new(|x: &[Tensor<f32>]| {
        let pair = x[0].pair(&x[1], vsla::Pairing::AllToAll)?;
        let y = pair
            .convolution()
            .method(vsla::conv::ConvMethod::Direct)
            .conv()?;
        y.relu()?.sum()
    });
    let x = Ragged::from_fn(&v([5, 3, 0, 8]), |e, i| ((e + 3 * i) % 7) as f32 - 3.0).unwrap();
    let w = rows([&[2.0, -1.0, 3.0]]);
    let of = |x: &Ragged<f32>| {
        let seed =
            Ragged::from_fn(&Layout::from_lengths(vec![1; x.len()]).unwrap(), |_, _| 1.0).unwrap();
        cotangents(device, &layer, &[x.clone(), w.clone()], &seed)[1]
            .row(0)
            .to_vec()
    };
    let half = |elements: std::ops::Range<usize>| {
        let layout = x.layout().range(elements.clone()).unwrap();
        let values = elements.flat_map(|e| x.row(e).to_vec()).collect();
        Ragged::from_parts(layout, values).unwrap()
    };
    let (first, second) = (of(&half(0..2)), of(&half(2..4)));
    let both: Vec<f32> = first.iter().zip(&second).map(|(a, b)| a + b).collect();
    assert_eq!(of(&x), both);
}

/// Values that are computed again give the same gradients.
fn recomputed(device: &Device) {
    let program = |again: bool| {
        Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let part = |x: &Tensor<f32>| x.tanh()?.exp()?.softmax(0)?.square();
            let y = match again {
                true => r.recompute(|_| part(&x))?,
                false => part(&x)?,
            };
            let loss = y.sum()?;
            let [g] = r.gradients(&loss, [&x])?;
            r.output(&g)
        })
    };
    let x = upload(device, &rows([&[1.0f32, 2.0, -1.0], &[0.5]]));
    let [kept, made] = [false, true].map(|again| ran(&program(again), std::slice::from_ref(&x)));
    assert_eq!(kept[0].values(), made[0].values());
    // Each part keeps what enters it, and not the values in between.
    let deep = |twice: bool, again: bool| {
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let layer = |x: &Tensor<f32>| x.sin()?.square()?.tanh()?.exp()?.cos();
            let mut y = x.clone();
            for _ in 0..8 {
                y = match again {
                    true => r.recompute(|_| layer(&y))?,
                    false => layer(&y)?,
                };
            }
            let [g] = r.gradients(&y, [&x])?;
            if twice {
                let [h] = r.gradients(&g, [&x])?;
                r.output(&h)?;
            }
            r.output(&g)
        });
        let x = upload(device, &rows([&[0.3f32; 5000], &[0.7]]));
        let memory = program.plan(&[x.layout()]).unwrap().report().memory;
        (memory.arena, ran(&program, &[x]))
    };
    for twice in [false, true] {
        let [(kept, a), (made, b)] = [false, true].map(|again| deep(twice, again));
        assert!(twice || 2 * made < kept, "{made} and {kept} bytes");
        for (a, b) in a.iter().zip(&b) {
            assert_eq!(a.values(), b.values());
        }
    }
}
