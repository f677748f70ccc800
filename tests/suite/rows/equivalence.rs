//! The laws: which operands may differ in trailing zeros, and which may not.

use catalogue::{Answer, Batch, Law, Operation, extents, filled};
use serde_json::{Value, json};
use vsla::Device;

use super::{accepted, is_spread, small};

/// Every way to pad: for each argument an axis, or none, and for all of them one or two slices of zeros.
fn paddings(args: usize, rank: usize) -> Vec<(Vec<Option<usize>>, usize)> {
    let choices: Vec<Option<usize>> = std::iter::once(None).chain((0..rank).map(Some)).collect();
    let mut all = vec![Vec::new()];
    for _ in 0..args {
        let longer = |part: &Vec<Option<usize>>| {
            let part = part.clone();
            choices
                .iter()
                .map(move |&choice| [part.clone(), vec![choice]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.retain(|axes| axes.iter().any(Option::is_some));
    { all.into_iter() }
        .flat_map(|axes| [(axes.clone(), 1), (axes, 2)])
        .collect()
}

/// An element padded with slices of zeros along an axis; `None` if its JSON does not show all extents, because it is
/// empty.
fn padded(element: &Value, axis: usize, rank: usize, slices: usize, zero: &Value) -> Option<Value> {
    let extents = extents(element, rank)?;
    let slice = filled(&extents[axis + 1..], &mut || zero.clone());
    let mut longer = element.clone();
    (0..slices).for_each(|_| push(&mut longer, axis, &slice));
    Some(longer)
}

fn push(value: &mut Value, axis: usize, slice: &Value) {
    let Value::Array(items) = value else { return };
    match axis {
        0 => items.push(slice.clone()),
        _ => items
            .iter_mut()
            .for_each(|item| push(item, axis - 1, slice)),
    }
}

/// Whether two answers differ at most in trailing zeros of their elements, and in rounding.
fn is_equivalent(a: &Answer<Batch>, b: &Answer<Batch>, rounding: f64) -> bool {
    let batches = |answer: &Answer<Batch>| -> Vec<Value> {
        let value = answer.json();
        match (answer, value) {
            (Answer::Batch(_), batch) => vec![batch],
            (Answer::Batches(_), Value::Array(all)) => all,
            (Answer::Fields(_), Value::Object(fields)) => {
                fields.into_iter().map(|(_, batch)| batch).collect()
            }
            // Not batches: compared as they are.
            (_, value) => vec![json!([[value.to_string()]])],
        }
    };
    let (a, b) = (batches(a), batches(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| match (a, b) {
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|(a, b)| is_alike(Some(a), Some(b), rounding))
            }
            _ => a == b,
        })
}

/// Whether two parts of elements differ at most in zeros that one of them lacks.
fn is_alike(a: Option<&Value>, b: Option<&Value>, rounding: f64) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).all(|i| is_alike(a.get(i), b.get(i), rounding))
        }
        (Some(Value::Array(one)), None) | (None, Some(Value::Array(one))) => {
            one.iter().all(|item| is_alike(Some(item), None, rounding))
        }
        (Some(a), Some(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= rounding * a.abs().max(b.abs()).max(1.0),
            _ => a == b,
        },
        (Some(one), None) | (None, Some(one)) => {
            one.as_f64().is_some_and(|one| one.abs() <= rounding)
        }
    }
}

pub fn check(device: &Device, operation: &Operation) {
    let respects = |arg: usize| match operation.law {
        Law::All => true,
        Law::Left => arg == 0,
        Law::Right => arg == 1,
        Law::None | Law::Open => false,
    };
    let (mut kept, mut broken) = (vec![0; operation.args], 0);
    for request in small(operation) {
        // The law is about finite values, and about operands that are paired and not spread.
        let has_nan = request["args"].to_string().contains('"');
        if is_spread(operation, &request) || request.pointer("/options/mode").is_some() || has_nan {
            continue;
        }
        let Some(expected) = accepted(device, &request) else {
            continue;
        };
        let rank = operation.rank_of(&request, 0);
        let is_whole = ["i32", "u32", "u8"].contains(&operation.dtype_of(&request).as_str());
        let rounding = if is_whole { 0.0 } else { 1e-4 };
        let zero = match operation.dtype_of(&request).as_str() {
            "c32" => json!([0, 0]),
            _ => json!(0),
        };
        for (axes, slices) in paddings(operation.args, rank) {
            let mut longer = request.clone();
            let mut changed = false;
            for (arg, axis) in axes.iter().enumerate() {
                let (Some(axis), Some(elements)) = (axis, longer["args"][arg].as_array_mut())
                else {
                    continue;
                };
                for element in elements {
                    if let Some(value) = padded(element, *axis, rank, slices, &zero) {
                        *element = value;
                        changed = true;
                    }
                }
            }
            let Some(got) = accepted(device, &longer) else {
                continue;
            };
            if !changed {
                continue;
            }
            let is_kept = is_equivalent(&got, &expected, rounding);
            if axes
                .iter()
                .enumerate()
                .all(|(arg, axis)| axis.is_none() || respects(arg))
            {
                assert!(
                    is_kept,
                    "{request}: {}\n{longer}: {}",
                    expected.json(),
                    got.json()
                );
                for (kept, _) in kept
                    .iter_mut()
                    .zip(&axes)
                    .filter(|(_, axis)| axis.is_some())
                {
                    *kept += 1;
                }
            } else {
                broken += usize::from(!is_kept);
            }
        }
    }
    let name = operation.name;
    for (arg, kept) in kept.into_iter().enumerate() {
        assert!(
            kept > 0 || !respects(arg),
            "{name}: no longer argument {arg} was accepted"
        );
    }
    assert!(
        broken > 0 || operation.law == Law::All,
        "{name} respects equivalence"
    );
}
