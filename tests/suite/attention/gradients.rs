//! Gradients of attention, against those in f64.

use vsla::program::Program;
use vsla::scalar::DType;
use vsla::{Device, Ragged, Shape, Tensor, f16};

use super::case::{Case, Operands, Value};
use super::{OPTIONS, is_thorough};
use crate::support::corpus::rng;

/// For each operand, q, k, v and bias, and each element: gradients, and the sums of the sizes of their parts.
type Slopes = [Vec<Vec<(f64, f64)>>; 4];

/// The gradients of Σ g o + Σ g' lse, and a factor of 2⁻²³ times the sums of sizes that bounds the errors.
fn expected<T: Value>(
    case: &Case,
    of: &Operands<T>,
    g: &Ragged<f32>,
    of_lse: &Ragged<f32>,
) -> (Slopes, f64) {
    let zeros = |x: &Ragged<T>| x.layout().lengths().map(|n| vec![(0.0, 0.0); n]).collect();
    let no_bias = Vec::new();
    let mut all: Slopes = [
        zeros(&of.q),
        zeros(&of.k),
        zeros(&of.v),
        of.bias.as_ref().map_or(no_bias, zeros),
    ];
    let results = case.expected(of);
    let (mut largest, mut longest) = (0.0f64, 0);
    let scale = f64::from(case.scale.unwrap_or(1.0 / (case.d as f32).sqrt()));
    let wide = |x: T| f64::from(x.into());
    let add = |at: &mut (f64, f64), (value, size): (f64, f64)| {
        at.0 += value;
        at.1 += size;
    };
    for (element, &(n, m)) in case.sizes.iter().enumerate() {
        longest = longest.max(m).max(n);
        for (query, head) in (0..n).flat_map(|i| (0..case.heads).map(move |h| (i, h))) {
            let place = query * case.heads + head;
            let key_head = head * case.key_heads / case.heads;
            let g: Vec<f64> = g.row(element)[place * case.dv..][..case.dv]
                .iter()
                .map(|g| f64::from(*g))
                .collect();
            let o = &results.o[element][place * case.dv..][..case.dv];
            let lse = results.lse[element][place].0;
            let of_lse = f64::from(of_lse.row(element)[place]);
            let parts = || g.iter().zip(o).map(|(g, o)| g * o.0);
            let delta = parts().sum::<f64>() - of_lse;
            // Results are rounded before they enter delta; the factor below is at least 64.
            let rounding = g.iter().zip(o).map(|(g, o)| g.abs() * T::half_ulp(o.0));
            let rounding = rounding.sum::<f64>() * 2f64.powi(23) / 64.0;
            let delta_size = parts().map(f64::abs).sum::<f64>() + of_lse.abs() + rounding;
            for key in (0..m).filter(|key| case.sees((n, m), query, *key)) {
                let (s, size) = case.score(of, element, head, (query, key));
                largest = largest.max(size);
                let p = (s - lse).exp();
                let k_place = key * case.key_heads + key_head;
                let v = &of.v.row(element)[k_place * case.dv..][..case.dv];
                let products = || g.iter().zip(v).map(|(g, v)| g * wide(*v));
                let slope = p * (products().sum::<f64>() - delta);
                let slope_size = p * (products().map(f64::abs).sum::<f64>() + delta_size);
                let q_at = place * case.d;
                let k_at = k_place * case.d;
                let derivative = scale * case.capped_by(of, element, head, (query, key));
                for c in 0..case.d {
                    let k = wide(of.k.row(element)[k_at + c]) * derivative;
                    let q = wide(of.q.row(element)[q_at + c]) * derivative;
                    add(
                        &mut all[0][element][q_at + c],
                        (slope * k, slope_size * k.abs()),
                    );
                    add(
                        &mut all[1][element][k_at + c],
                        (slope * q, slope_size * q.abs()),
                    );
                }
                for (c, g) in g.iter().enumerate() {
                    let at = &mut all[2][element][k_place * case.dv + c];
                    add(at, (p * g, p * g.abs()));
                }
                if of.bias.is_some() {
                    let matrix = if case.bias == Some(true) { head * n } else { 0 };
                    let at = &mut all[3][element][(matrix + query) * m + key];
                    add(at, (slope, slope_size));
                }
            }
        }
    }
    let terms = (longest * case.heads + case.dv) as f64;
    (all, 2.0 * (case.d as f64 + 8.0) * largest + terms + 64.0)
}

/// The gradients of Σ g o + Σ g' lse with respect to queries, keys, values and the bias, if there is one.
pub fn slopes<T: Value>(
    device: &Device,
    case: &Case,
    of: &Operands<T>,
    (g, of_lse): (&Ragged<f32>, &Ragged<f32>),
) -> Vec<Ragged<T>> {
    let recorded = case.clone();
    let has_bias = of.bias.is_some();
    let slopes = device.upload(&of.slopes).unwrap();
    let sinks = device.upload(&of.sinks).unwrap();
    let program = Program::new(device, move |r| {
        let q: Tensor<T> = r.input()?;
        let k: Tensor<T> = r.input()?;
        let v: Tensor<T> = r.input()?;
        let bias: Option<Tensor<T>> = if has_bias { Some(r.input()?) } else { None };
        let g: Tensor<f32> = r.input()?;
        let of_lse: Tensor<f32> = r.input()?;
        let attention = recorded.configured(&q, &k, &v, bias.as_ref(), [&slopes, &sinks]);
        let (o, lse) = attention.run_with_lse()?;
        let o = o.to::<f32>()?;
        let mut to = vec![&q, &k, &v];
        to.extend(&bias);
        for slopes in r.gradients_from(&[(&o, &g), (&lse, &of_lse)], &to)? {
            r.output(&slopes)?;
        }
        Ok(())
    });
    let mut inputs: Vec<&dyn vsla::program::HostValue> = vec![&of.q, &of.k, &of.v];
    let mut layouts = vec![of.q.layout(), of.k.layout(), of.v.layout()];
    if let Some(bias) = &of.bias {
        inputs.push(bias);
        layouts.push(bias.layout());
    }
    inputs.extend([g as &dyn vsla::program::HostValue, of_lse]);
    layouts.extend([g.layout(), of_lse.layout()]);
    let outputs = program
        .plan(&layouts)
        .and_then(|plan| plan.call_blocking(&inputs))
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    (0..3 + usize::from(has_bias))
        .map(|i| outputs.get(i).unwrap())
        .collect()
}

pub fn check<T: Value>(device: &Device, case: &Case, seed: u64) {
    let of = case.operands::<T>(seed);
    let mut rng = rng(&format!("cotangents {seed}"));
    let (o, lse) = case.run(device, &of).unwrap();
    let mut random = |layout| {
        Ragged::<f32>::from_fn(layout, |_, _| T::rounded(rng.f32() * 2.0 - 1.0).into()).unwrap()
    };
    let (g, of_lse) = (random(o.layout()), random(lse.layout()));
    let slopes = slopes(device, case, &of, (&g, &of_lse));
    let (expected, factor) = expected(case, &of, &g, &of_lse);
    // On cooperative matrices, weights are rounded to f16, and so is what caps multiply them by.
    let rounded = match T::DTYPE == DType::F16 && device.info().matrices.is_some() {
        true if case.softcap.is_some() => 2f64.powi(-10),
        true => 2f64.powi(-11),
        false => 0.0,
    };
    for (i, name) in ["q", "k", "v", "bias"].into_iter().enumerate() {
        let Some(got) = slopes.get(i) else { continue };
        for (element, expected) in expected[i].iter().enumerate() {
            assert_eq!(got.row(element).len(), expected.len());
            for (at, (got, (value, size))) in got.row(element).iter().zip(expected).enumerate() {
                let got = f64::from((*got).into());
                let bound =
                    (factor * 2f64.powi(-23) + rounded) * size + 2.0 * T::half_ulp(*value) + 1e-30;
                assert!(
                    (got - value).abs() <= bound,
                    "{name} {at} of element {element} of {} {case:?}: {got}, expected {value} within {bound}",
                    T::DTYPE
                );
            }
        }
    }
}

/// Each option, on short and on longer elements.
pub fn with_options(device: &Device) {
    let none: fn(&mut Case) = |_| ();
    for (i, option) in std::iter::once(none)
        .chain(OPTIONS.map(|(_, option)| option))
        .enumerate()
    {
        let mut case = Case {
            sizes: vec![(3, 4), (8, 8), (10, 40), (33, 30), (0, 3), (4, 0), (35, 70)],
            heads: 4,
            key_heads: 2,
            dv: 20,
            ..Case::default()
        };
        option(&mut case);
        check::<f32>(device, &case, i as u64);
        if i % 4 == 0 {
            check::<f16>(device, &case, i as u64);
        }
    }
}

/// Halves in heads of whole units, which cooperative matrices compute: tiles of 32 and of 64 rows and their ends, each
/// width, and each option.
pub fn of_halves(device: &Device) {
    let sizes = vec![
        (5, 6),
        (33, 70),
        (64, 64),
        (1, 40),
        (40, 0),
        (0, 3),
        (130, 100),
    ];
    for (i, (d, dv)) in [(8, 32), (32, 16), (64, 40), (64, 64), (96, 128)]
        .into_iter()
        .enumerate()
    {
        if i > 0 && !is_thorough(device) {
            continue;
        }
        let case = Case {
            sizes: sizes.clone(),
            heads: 4,
            key_heads: 2,
            d,
            dv,
            causal: i % 2 == 1,
            ..Case::default()
        };
        check::<f16>(device, &case, d as u64);
    }
    if is_thorough(device) {
        for (i, (_, option)) in OPTIONS.iter().enumerate() {
            let mut case = Case {
                sizes: sizes.clone(),
                heads: 4,
                key_heads: 2,
                d: 64,
                dv: 32,
                amplitude: 4.0,
                ..Case::default()
            };
            option(&mut case);
            check::<f16>(device, &case, 20 + i as u64);
        }
    }
}

/// Heads of different widths.
pub fn of_widths(device: &Device) {
    for (d, dv) in [(1, 3), (40, 16), (16, 100), (130, 200)] {
        if d + dv > 60 && !is_thorough(device) {
            continue;
        }
        let case = Case {
            sizes: vec![(5, 6), (20, 37)],
            d,
            dv,
            causal: true,
            ..Case::default()
        };
        check::<f32>(device, &case, d as u64);
    }
}

/// Values of the batch do not depend on its other elements, and repeated runs give the same bits.
pub fn of_sinks(device: &Device) {
    let case = Case {
        sizes: vec![(3, 5), (20, 30)],
        heads: 2,
        key_heads: 2,
        sinks: true,
        ..Case::default()
    };
    let of = case.operands::<f32>(3);
    let recorded = case.clone();
    let program = Program::new(device, move |r| {
        let q: Tensor<f32> = r.input()?;
        let k: Tensor<f32> = r.input()?;
        let v: Tensor<f32> = r.input()?;
        let sinks: Tensor<f32> = r.input()?;
        let o = recorded
            .configured(&q, &k, &v, None, [&sinks, &sinks])
            .run()?;
        let [slopes] = r.gradients(&o, [&sinks])?;
        r.output(&slopes)
    });
    let layouts = [&of.q, &of.k, &of.v, &of.sinks].map(|x| x.layout());
    let plan = program.plan(&layouts).unwrap();
    let got = plan
        .call_blocking(&[&of.q, &of.k, &of.v, &of.sinks])
        .unwrap();
    let got: Ragged<f32> = got.get(0).unwrap();
    // ∂ Σ o / ∂ sink = −Σ w Σ o, where w is the sink's weight.
    let results = case.expected(&of);
    for head in 0..case.heads {
        let (mut value, mut size) = (0.0, 0.0);
        for (o, lse) in results.o.iter().zip(&results.lse) {
            let rows = o.chunks(case.dv).zip(lse).enumerate();
            for (_, (o, lse)) in rows.filter(|(place, _)| place % case.heads == head) {
                let weight = (f64::from(of.sinks.row(0)[head]) - lse.0).exp();
                value -= weight * o.iter().map(|o| o.0).sum::<f64>();
                size += weight * o.iter().map(|o| o.0.abs()).sum::<f64>();
            }
        }
        let off = (f64::from(got.row(0)[head]) - value).abs();
        assert!(
            off <= 200.0 * 2f64.powi(-23) * size,
            "head {head}: off by {off}"
        );
    }
}

/// Attention has no gradient of its gradient, and says what has one: the same in steps.
pub fn of_gradients(device: &Device) {
    let q = Ragged::from_shapes(vec![1.0f32, 0.5], 2, [Shape::new(&[1, 2]).unwrap()]).unwrap();
    let k = Ragged::from_shapes(
        vec![1.0f32, 2.0, 3.0, -1.0],
        2,
        [Shape::new(&[2, 2]).unwrap()],
    );
    let k = k.unwrap();
    let twice = |in_steps: bool| {
        let program = Program::new(device, move |r| {
            let [q, k]: [Tensor<f32>; 2] = [r.input()?, r.input()?];
            let o = match in_steps {
                false => q.attention(&k, &k).scale(1.0).run()?,
                true => {
                    let scores = q.matmul(&k.transpose(&[1, 0])?)?;
                    scores.softmax(1)?.matmul(&k)?
                }
            };
            let [first] = r.gradients(&o.square()?, [&q])?;
            let [second] = r.gradients(&first.square()?, [&q])?;
            r.output(&first)?;
            r.output(&second)
        });
        let plan = program.plan(&[q.layout(), k.layout()])?;
        let results = plan.call_blocking(&[&q, &k])?;
        Ok::<_, vsla::Error>([results.get::<f32>(0)?, results.get::<f32>(1)?])
    };
    let error = twice(false).unwrap_err().to_string();
    let expected =
        "attention has no gradient of its gradient; compute softmax(scale · q kᵀ) v in steps";
    assert!(error.contains(expected), "{error}");
    let [first, second] = twice(true).unwrap();
    // f(q) = |Σ w k|² for two keys, with w = sigmoid of the difference of scores along d = k₀ − k₁.
    let (d, x) = ([-2.0f64, 3.0], -0.5f64);
    let w = |x: f64| 1.0 / (1.0 + (-x).exp());
    let f = |x: f64| {
        let w = w(x);
        (3.0 - 2.0 * w).powi(2) + (3.0 * w - 1.0).powi(2)
    };
    let h = 1e-4;
    let slope = (f(x + h) - f(x - h)) / (2.0 * h);
    let curve = (f(x + h) - 2.0 * f(x) + f(x - h)) / (h * h);
    for i in 0..2 {
        let (got, expected) = (f64::from(first.row(0)[i]), slope * d[i]);
        assert!((got - expected).abs() < 1e-4, "{got}, expected {expected}");
        // The gradient of |slope d|².
        let expected = 2.0 * slope * curve * (d[0] * d[0] + d[1] * d[1]) * d[i];
        let got = f64::from(second.row(0)[i]);
        assert!(
            (got - expected).abs() < 1e-3 * expected.abs(),
            "{got}, expected {expected}"
        );
    }
}
