//! Gradients: their form, and their values by differences.

use catalogue::{Answer, Batch, Gradient, Operation};
use serde_json::{Value, json};
use vsla::Device;

use super::{accepted, ask, small};
use crate::support::corpus::rng;

/// Requests in floating point, and the operands with respect to which they are differentiated.
fn requests(operation: &Operation, all: Vec<Value>) -> Vec<(Value, Vec<usize>)> {
    let of = |mut of: Value| {
        of.as_object_mut().unwrap().remove("device");
        // Integers have no gradients, but most of these operations also take floats.
        if let Some(dtype) = of.pointer_mut("/options/dtype")
            && ["i32", "u32", "u8"].iter().any(|whole| *dtype == *whole)
        {
            *dtype = json!("f32");
        }
        // A mask has no gradient.
        let first = usize::from(operation.name == "where");
        (of, (first..operation.args).collect())
    };
    all.into_iter().map(of).collect()
}

/// Each operand has a gradient of its form, or the operation is refused.
pub fn form(device: &Device, operation: &Operation) {
    let has_gradient = operation.has_gradient();
    for (of, operands) in requests(operation, operation.answered()) {
        let request = json!({"op": "gradient", "of": of, "operands": operands});
        // A cache has no gradient.
        let is_cached = of.pointer("/options/cached").is_some();
        match ask(device, &request) {
            Ok(answer) => {
                assert!(has_gradient && !is_cached, "{request}: {}", answer.json());
                let slopes = answer.json();
                let slopes = slopes.as_array().unwrap();
                assert_eq!(slopes.len(), operands.len(), "{request}");
                for (slope, i) in slopes.iter().zip(operands) {
                    assert!(has_form(slope, &of["args"][i]), "{request}\n{slope}");
                }
            }
            Err(failure) => {
                let message = failure.message;
                let is_expected = matches!(failure.kind, "recording" | "bad_request");
                assert!(is_expected, "{request}: {message}");
                assert!(!has_gradient || is_cached, "{request}: {message}");
            }
        }
    }
}

/// Whether two values are arrays of the same form.
fn has_form(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| has_form(a, b))
        }
        _ => !a.is_array() && !b.is_array(),
    }
}

/// The numbers in arrays, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::String(_) => vec![f64::NAN],
        number => vec![number.as_f64().unwrap()],
    }
}

/// The same arrays with other numbers.
fn with(value: &Value, numbers: &mut dyn Iterator<Item = f64>) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| with(item, numbers)).collect(),
        _ => json!(numbers.next().unwrap()),
    }
}

/// The floating-point batches of an answer.
fn floats(answer: &Answer<Batch>) -> Vec<Value> {
    let batches = match answer {
        Answer::Batch(batch) => vec![batch],
        Answer::Batches(all) => all.iter().collect(),
        Answer::Fields([(_, a), (_, b)]) => vec![a, b],
        _ => Vec::new(),
    };
    let floats = batches.into_iter().filter(|batch| batch.is_float());
    floats
        .map(|batch| Answer::Batch(batch.clone()).json())
        .collect()
}

/// The one batch, or all of them.
fn one_or_all(mut batches: Vec<Value>) -> Value {
    match batches.len() {
        1 => batches.remove(0),
        _ => Value::Array(batches),
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of the magnitudes of the products.
fn size(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

/// First and second derivatives, in random directions.
pub fn slopes(device: &Device, operation: &Operation) {
    let (low, high, apart) = match operation.gradient {
        Gradient::Of(low, high) | Gradient::Beside(low, high) => (low, high, 0.0),
        _ => (-0.1, 0.1, 1.0),
    };
    let is_beside = matches!(operation.gradient, Gradient::Beside(..));
    let mut random = rng(operation.name);
    let mut checked = 0;
    // Each example, and one of its copies with other shapes.
    let some = small(operation).into_iter().enumerate();
    let some = some.filter(|(i, _)| [0, 3].contains(&(i % 7)));
    let some = some.map(|(_, request)| request).collect();
    for (mut of, operands) in requests(operation, some) {
        if of.pointer("/options/cached").is_some() {
            continue;
        }
        if operation.dtype_of(&of) == "f16" {
            of["options"]["dtype"] = json!("f32");
        }
        // Exact differences of functions that are linear in an operand, and others.
        for step in [1.0, 1.0 / 128.0] {
            for &i in &operands {
                let mut places: Vec<f64> = (0..numbers(&of["args"][i]).len())
                    .map(|at| apart * (at as f64 + 0.4 * i as f64))
                    .collect();
                random.shuffle(&mut places);
                let mut places = places.into_iter();
                let drawn = || {
                    let part = f64::from(low + (high - low) * random.f32());
                    let part = if is_beside && random.bool() {
                        -part
                    } else {
                        part
                    };
                    let part = if step == 1.0 {
                        (2.0 * part).round()
                    } else {
                        part
                    };
                    Some(f64::from((places.next().unwrap() + part) as f32))
                };
                of["args"][i] = with(&of["args"][i].clone(), &mut std::iter::from_fn(drawn));
            }
            let of = Of {
                device,
                of: &of,
                operands: &operands,
                step,
            };
            checked += usize::from(of.check(&mut random, apart == 0.0));
        }
    }
    assert!(checked > 0, "{} was never checked", operation.name);
}

/// A request that is differentiated.
struct Of<'a> {
    device: &'a Device,
    of: &'a Value,
    operands: &'a [usize],
    step: f64,
}

impl Of<'_> {
    fn batches(&self, request: &Value) -> Option<Vec<Value>> {
        accepted(self.device, request).map(|answer| floats(&answer))
    }

    /// The numbers of a function of the operation's arguments for argument `i` moved by `t` in a direction.
    fn at(
        &self,
        i: usize,
        direction: &[f64],
        t: f64,
        function: &dyn Fn(&Value) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut of = self.of.clone();
        let moved = numbers(&of["args"][i]);
        let mut moved = { moved.iter().zip(direction) }
            .map(|(x, d)| f64::from(*x as f32 + (t * d) as f32))
            .collect::<Vec<_>>()
            .into_iter();
        of["args"][i] = with(&self.of["args"][i], &mut moved);
        function(&of)
    }

    fn check(&self, random: &mut fastrand::Rng, is_linear_somewhere: bool) -> bool {
        let is_exact = self.step == 1.0;
        if is_exact && !is_linear_somewhere {
            return false;
        }
        let mut draw = |like: &Value| {
            let count = numbers(like).len();
            let part = |random: &mut fastrand::Rng| match is_exact {
                true => f64::from(random.i32(-3..=3)),
                false => f64::from(2.0 * random.f32() - 1.0),
            };
            (0..count).map(|_| part(random)).collect::<Vec<f64>>()
        };
        let Some(answer) = accepted(self.device, self.of) else {
            return false;
        };
        let is_half = matches!(&answer, Answer::Batch(Batch::F16(_)));
        let results = floats(&answer);
        let y: Vec<f64> = results.iter().flat_map(numbers).collect();
        if y.iter().any(|y| !y.is_finite()) {
            return false;
        }
        // Differences of halves are those of their rounding.
        if !is_exact && is_half {
            return false;
        }
        let seeds: Vec<Vec<f64>> = results.iter().map(&mut draw).collect();
        let seed = one_or_all(
            { results.iter().zip(&seeds) }
                .map(|(like, seed)| with(like, &mut seed.iter().copied()))
                .collect(),
        );
        let seeds = seeds.concat();
        let gradient = |of: &Value| json!({"op": "gradient", "of": of, "cotangent": seed, "operands": self.operands});
        let first = self.batches(&gradient(self.of));
        let first = first.unwrap_or_else(|| panic!("{} is refused", gradient(self.of)));
        let value = |of: &Value| {
            let batches = self.batches(of).unwrap_or_default();
            batches.iter().flat_map(numbers).collect::<Vec<_>>()
        };
        let mut checked = false;
        for (&i, slope) in self.operands.iter().zip(&first) {
            let direction = draw(&self.of["args"][i]);
            let [above, below] =
                [1.0, -1.0].map(|sign| self.at(i, &direction, sign * self.step, &value));
            let bend = above.iter().zip(&below).zip(&y);
            let mut bend =
                bend.map(|((a, b), y)| ((a + b - 2.0 * y).abs(), a.abs() + b.abs() + y.abs()));
            if is_exact && !bend.all(|(bend, size)| bend <= 1e-6 * size) {
                continue;
            }
            let expected = (inner(&seeds, &above) - inner(&seeds, &below)) / (2.0 * self.step);
            let slope = numbers(slope);
            let got = inner(&slope, &direction);
            let (scale, result) = (size(&slope, &direction), size(&seeds, &y));
            let bound = match is_exact {
                true => 4e-6 * (scale + result + size(&seeds, &above)),
                false => 2e-3 * (scale + 1e-2 * result) + 1e-5,
            };
            assert!(
                (got - expected).abs() <= bound,
                "{}: operand {i}: {got} but the difference is {expected}",
                self.of
            );
            checked = true;
        }
        if !is_exact && checked {
            self.second(&mut draw, &gradient, &first);
        }
        checked
    }

    /// The gradient of the inner product of all gradients with random batches.
    fn second(
        &self,
        draw: &mut dyn FnMut(&Value) -> Vec<f64>,
        gradient: &dyn Fn(&Value) -> Value,
        first: &[Value],
    ) {
        let weights: Vec<Vec<f64>> = first.iter().map(&mut *draw).collect();
        let seed = { first.iter().zip(&weights) }
            .map(|(like, weights)| with(like, &mut weights.iter().copied()))
            .collect();
        let weights = weights.concat();
        let seed = one_or_all(seed);
        for &i in self.operands {
            let again = json!({"op": "gradient", "of": gradient(self.of), "cotangent": seed, "operands": [i]});
            let slope = match ask(self.device, &again) {
                Ok(answer) => floats(&answer).iter().flat_map(numbers).collect::<Vec<_>>(),
                Err(failure) => {
                    let message = failure.message;
                    // The first derivatives do not depend on it, or are differentiated in steps only.
                    let texts = ["does not depend on operand", "no gradient of its gradient"];
                    let is_expected = texts.iter().any(|text| message.contains(text));
                    assert!(is_expected, "{again}: {message}");
                    continue;
                }
            };
            let direction = draw(&self.of["args"][i]);
            let value = |of: &Value| {
                let batches = self.batches(&gradient(of)).unwrap_or_default();
                batches.iter().flat_map(numbers).collect()
            };
            let [above, below] = [1.0, -1.0]
                .map(|sign| inner(&weights, &self.at(i, &direction, sign * self.step, &value)));
            let expected = (above - below) / (2.0 * self.step);
            let (got, scale) = (inner(&slope, &direction), size(&slope, &direction));
            assert!(
                (got - expected).abs() <= 5e-3 * scale + 2e-3,
                "{again}: {got} but the difference is {expected}"
            );
        }
    }
}
