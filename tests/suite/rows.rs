//! Checks what the catalogue says about each operation, on each device.
//!
//! | trials | requirement |
//! | --- | --- |
//! | `examples::<operation>` | requests are answered, or refused with the right error |
//! | `equivalence::<operation>` | the row's law: which operands may differ in trailing zeros, and which may not |
//! | `alone::<operation>` | an element's values do not depend on others, which may be NaN or infinite |
//! | `recorded::<operation>` | a program computes the same values |
//! | `requests` | errors of requests that name no operation, or one that is no function |
//! | `every_method` | each public method of tensors and devices has a row, or is an exception with its reason |
//! | `gradient::<operation>` | each operand has a gradient of its form, or the operation is refused |
//!
//! Most trials also replace the arguments of the examples by random ones, of the same shapes or of others.

mod offered;

use catalogue::{Answer, Batch, Failure, Law, OF_ELEMENTS, Operation, Outcome, Request};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use vsla::Device;
use vsla::batch::MAX_RANK;

use crate::support::bench::Bench;
use crate::support::corpus::rng;

/// The most values of an answer.
const MOST: u64 = 1 << 20;

type Check = fn(&Device, &Operation);

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for operation in catalogue::operations().filter(|operation| operation.is_function()) {
        let has_operands = operation.args > 0;
        let checks: [(&str, Check, bool); 5] = [
            ("examples", examples, true),
            (
                "equivalence",
                equivalence,
                has_operands && operation.law != Law::Open,
            ),
            ("alone", alone, has_operands && operation.is_local),
            ("recorded", recorded, has_operands),
            ("gradient", gradient, has_operands),
        ];
        for (kind, check, _) in checks.into_iter().filter(|(_, _, applies)| *applies) {
            let name = format!("{kind}::{}", operation.name);
            trials.extend(bench.on_each_device(&name, move |device| check(device, operation)));
        }
    }
    trials.push(bench.host("requests", requests_as_such));
    trials.push(bench.host(
        "every_method",
        offered::every_method_is_offered_or_an_exception,
    ));
    trials
}

fn ask(device: &Device, request: &Value) -> Result<Answer<Batch>, Failure> {
    catalogue::answer(
        Request::new(request.clone())?,
        &mut || Ok(device.clone()),
        MOST,
    )
}

/// An answer as JSON.
fn shown(answer: &Answer<Batch>) -> Value {
    let mut text = Vec::new();
    answer.write(&mut text).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["ok"].take()
}

/// The requests of the examples that are answered.
fn answered(operation: &Operation) -> Vec<Value> {
    let requests: Vec<Value> = { operation.examples() }
        .filter(|example| matches!(example.outcome, Outcome::Answer(_)))
        .map(|example| example.request)
        .collect();
    assert!(
        !requests.is_empty(),
        "{} has no example with an answer",
        operation.name
    );
    requests
}

fn examples(device: &Device, operation: &Operation) {
    answered(operation);
    operation
        .examples()
        .for_each(|example| check_example(device, &example));
}

/// Examples that name no function of the catalogue.
fn requests_as_such() {
    let is_function = |request: &Value| {
        let named = request["op"].as_str().and_then(catalogue::find);
        named.is_some_and(Operation::is_function)
    };
    let mut others = 0;
    for example in catalogue::examples().filter(|example| !is_function(&example.request)) {
        check_example(&Device::cpu(), &example);
        others += 1;
    }
    assert!(others > 3, "{others}");
}

/// The answer; `None` if the request is refused.
#[track_caller]
fn accepted(device: &Device, request: &Value) -> Option<Answer<Batch>> {
    match ask(device, request) {
        Ok(answer) => Some(answer),
        Err(failure) => {
            let is_fault =
                ["gpu", "internal", "device_lost", "out_of_memory"].contains(&failure.kind);
            assert!(!is_fault, "{request}: {}", failure.message);
            None
        }
    }
}

#[track_caller]
fn check_example(device: &Device, catalogue::Example { request, outcome }: &catalogue::Example) {
    match (ask(device, request), outcome) {
        (Ok(answer), Outcome::Answer(expected)) => {
            let answer = shown(&answer);
            assert!(
                catalogue::is_same(&answer, expected),
                "{request}\n{answer}\n{expected}"
            );
        }
        (Err(failure), Outcome::Error { kind, element }) => {
            let got = (failure.kind, failure.element.map(|element| element as u64));
            assert_eq!(
                got,
                (kind.as_str(), *element),
                "{request}\n{}",
                failure.message
            );
            assert!(!failure.message.is_empty(), "{request}");
        }
        (Ok(answer), _) => panic!("{request}\nwas answered: {}", shown(&answer)),
        (Err(failure), _) => panic!("{request}\n{}", failure.message),
    }
}

/// The requests of the examples, and copies of them with random arguments, of the same shapes or of random ones.
fn draws(operation: &Operation) -> Vec<Value> {
    let mut random = rng(operation.name);
    let examples = answered(operation);
    let mut all = Vec::new();
    for request in examples {
        let dtype = dtype(operation, &request);
        let depth = rank(operation, &request);
        all.push(request.clone());
        // If no option lists one item per element, the batch may grow.
        let mut options = request
            .get("options")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let lists_nothing = operation.is_local
            && options.all(|(name, _)| name != "pairing" && !OF_ELEMENTS.contains(&name.as_str()));
        for i in 0..6 {
            let mut drawn = request.clone();
            let mut depth = depth;
            if i % 2 == 1 && operation.rank.is_none() && operation.options.contains(&"rank") {
                depth = i / 2 + 1;
                drawn["options"]["rank"] = json!(depth);
            }
            let args = drawn["args"].as_array_mut();
            let are_single = |args: &Vec<Value>| {
                args.iter()
                    .all(|arg| arg.as_array().is_some_and(|arg| arg.len() == 1))
            };
            if let Some(args) = args.filter(|args| lists_nothing && are_single(args)) {
                let more = |arg: &mut Value| *arg = json!([arg[0], arg[0], arg[0]]);
                args.iter_mut().for_each(more);
            }
            for arg in drawn["args"].as_array_mut().into_iter().flatten() {
                let Value::Array(elements) = arg else {
                    continue;
                };
                for element in elements {
                    match i % 2 {
                        0 => replace(element, &dtype, &mut random),
                        _ => *element = element_of(depth, &dtype, &mut random),
                    }
                }
            }
            all.push(drawn);
        }
    }
    all
}

fn dtype(operation: &Operation, request: &Value) -> String {
    let named = request.pointer("/options/dtype").and_then(Value::as_str);
    named.map_or_else(|| operation.dtype.name().to_owned(), str::to_owned)
}

/// The rank of the first argument.
fn rank(operation: &Operation, request: &Value) -> usize {
    let named = request.pointer("/options/rank").and_then(Value::as_u64);
    let pairs = usize::from(dtype(operation, request) == "c32");
    let depth = depth(&request["args"][0]).saturating_sub(1 + pairs);
    named
        .map(|rank| rank as usize)
        .or(operation.rank)
        .unwrap_or(depth)
        .clamp(1, MAX_RANK)
}

/// How deep arrays are nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A small whole number, so that sums are exact.
fn number(dtype: &str, random: &mut fastrand::Rng) -> Value {
    match dtype {
        "u32" | "u8" => json!(random.u32(0..4)),
        "c32" => json!([random.i32(-3..4), random.i32(-3..4)]),
        _ => json!(random.i32(-3..4)),
    }
}

/// Replaces the values of an element.
fn replace(value: &mut Value, dtype: &str, random: &mut fastrand::Rng) {
    match value {
        Value::Array(items) if dtype == "c32" && !items.is_empty() && !items[0].is_array() => {
            *value = number(dtype, random);
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace(item, dtype, random)),
        _ => *value = number(dtype, random),
    }
}

/// An element of a random shape.
fn element_of(rank: usize, dtype: &str, random: &mut fastrand::Rng) -> Value {
    let extents: Vec<usize> = (0..rank).map(|_| random.usize(0..4)).collect();
    filled(&extents, &mut || number(dtype, random))
}

fn filled(extents: &[usize], value: &mut impl FnMut() -> Value) -> Value {
    match extents {
        [] => value(),
        [first, rest @ ..] => (0..*first).map(|_| filled(rest, value)).collect(),
    }
}

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
    let mut extents = Vec::new();
    let mut inner = element;
    for _ in 0..rank {
        let items = inner.as_array()?;
        extents.push(items.len());
        match items.first() {
            Some(first) => inner = first,
            None if extents.len() == rank => break,
            None => return None,
        }
    }
    if extents.len() < rank {
        return None;
    }
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
        let value = shown(answer);
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

fn equivalence(device: &Device, operation: &Operation) {
    let respects = |arg: usize| match operation.law {
        Law::All => true,
        Law::Left => arg == 0,
        Law::Right => arg == 1,
        Law::None | Law::Open => false,
    };
    let (mut kept, mut broken) = (vec![0; operation.args], 0);
    for request in draws(operation) {
        // The law is about finite values, and about operands that are paired and not spread.
        let has_nan = request["args"].to_string().contains('"');
        if is_spread(operation, &request) || request.pointer("/options/mode").is_some() || has_nan {
            continue;
        }
        let Some(expected) = accepted(device, &request) else {
            continue;
        };
        let rank = rank(operation, &request);
        let is_whole = ["i32", "u32", "u8"].contains(&dtype(operation, &request).as_str());
        let rounding = if is_whole { 0.0 } else { 1e-4 };
        let zero = match dtype(operation, &request).as_str() {
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
                    shown(&expected),
                    shown(&got)
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

/// The request for one element of each argument, with what the options list for it.
fn picked(request: &Value, element: usize, count: usize) -> Value {
    let mut one = request.clone();
    for arg in one["args"].as_array_mut().into_iter().flatten() {
        *arg = json!([arg[element]]);
    }
    for (name, value) in one
        .get_mut("options")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        let lists = OF_ELEMENTS.contains(&name.as_str());
        if lists && value.as_array().is_some_and(|items| items.len() == count) {
            *value = json!([value[element]]);
        }
    }
    one
}

/// Whether the last argument is spread over the values of the others.
fn is_spread(operation: &Operation, request: &Value) -> bool {
    let has = |option: &str| request.pointer(&format!("/options/{option}")).is_some();
    operation.options.contains(&"each") && (has("each") || has("axis"))
}

/// The elements of each batch of an answer; `None` if there is not one for each element of the arguments.
fn elements(answer: &Answer<Batch>, count: usize) -> Option<Vec<Vec<Value>>> {
    let value = shown(answer);
    let batches = match (answer, value) {
        (Answer::Batches(_), Value::Array(all)) => all,
        (Answer::Fields(_), Value::Object(fields)) => {
            fields.into_iter().map(|(_, batch)| batch).collect()
        }
        (_, value) => vec![value],
    };
    let elements = batches.into_iter().map(|batch| match batch {
        Value::Array(items) if items.len() == count => Some(items),
        _ => None,
    });
    elements.collect()
}

fn alone(device: &Device, operation: &Operation) {
    let mut compared = 0;
    for request in draws(operation) {
        let args = request["args"].as_array().unwrap();
        let count = args[0].as_array().map_or(0, Vec::len);
        let is_uneven = args
            .iter()
            .any(|arg| arg.as_array().map(Vec::len) != Some(count));
        if count < 2 || is_uneven || request.pointer("/options/pairing").is_some() {
            continue;
        }
        let Some(whole) = accepted(device, &request) else {
            continue;
        };
        let whole =
            elements(&whole, count).unwrap_or_else(|| panic!("{request}: {}", shown(&whole)));
        for i in 0..count {
            let mut one = picked(&request, i, count);
            // An element without values does not show it.
            let is_complex = dtype(operation, &request) == "c32";
            if operation.options.contains(&"rank") && !is_complex && !is_spread(operation, &request)
            {
                one["options"]["rank"] = json!(rank(operation, &request));
            }
            let answer = match ask(device, &one) {
                Ok(answer) => answer,
                // The JSON of an empty matrix does not show its columns.
                Err(_) if one["args"].to_string().contains("[]") => continue,
                Err(failure) => panic!("{one}: {}", failure.message),
            };
            let answer = elements(&answer, 1).unwrap();
            for (one, whole) in answer.iter().zip(&whole) {
                assert_eq!(one[0], whole[i], "element {i} of {request}");
            }
            compared += 1;
        }
        // If the values of one element are not finite, the others must not change.
        if ["i32", "u32", "u8"].contains(&dtype(operation, &request).as_str()) {
            continue;
        }
        let mut spoilt = request.clone();
        for arg in spoilt["args"].as_array_mut().into_iter().flatten() {
            spoil(&mut arg[0], &mut 0);
        }
        let Some(answer) = accepted(device, &spoilt) else {
            continue;
        };
        let answer = elements(&answer, count).unwrap();
        for (spoilt, whole) in answer.iter().zip(&whole) {
            assert_eq!(
                spoilt[1..],
                whole[1..],
                "next to values that are not finite: {request}"
            );
        }
    }
    assert!(
        compared > 0,
        "{} has no example of several elements",
        operation.name
    );
}

/// Replaces values by NaN and infinities in turn. `before` counts them.
fn spoil(value: &mut Value, before: &mut usize) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, before)),
        _ => {
            *value = json!(["nan", "inf", "-inf"][*before % 3]);
            *before += 1;
        }
    }
}

fn recorded(device: &Device, operation: &Operation) {
    for request in draws(operation) {
        let Some(expected) = accepted(device, &request) else {
            continue;
        };
        match catalogue::recorded(Request::new(request.clone()).unwrap(), device, MOST) {
            Ok(got) => {
                assert!(!operation.reads_values, "{request} was recorded");
                assert_eq!(shown(&got), shown(&expected), "{request}");
            }
            Err(failure) => {
                assert_eq!(failure.kind, "recording", "{request}: {}", failure.message);
                assert!(operation.reads_values, "{request}: {}", failure.message);
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

fn gradient(device: &Device, operation: &Operation) {
    for mut of in answered(operation) {
        of.as_object_mut().unwrap().remove("device");
        // Integers have no gradients, but most of these operations also take floats.
        if let Some(dtype) = of.pointer_mut("/options/dtype")
            && ["i32", "u32", "u8"].iter().any(|whole| *dtype == *whole)
        {
            *dtype = json!("f32");
        }
        let mut request = json!({"op": "gradient", "of": of});
        // A mask has no gradient.
        if operation.name == "where" {
            request["operands"] = json!([1, 2]);
        }
        // A cache has no gradient, either.
        let is_cached = of.pointer("/options/cached").is_some();
        match ask(device, &request) {
            Ok(answer) => {
                assert!(
                    operation.has_gradient && !is_cached,
                    "{request}: {}",
                    shown(&answer)
                );
                let slopes = elements_of(&shown(&answer));
                let args = elements_of(&of["args"]);
                let first = usize::from(operation.name == "where");
                let args = &args[first..];
                assert_eq!(slopes.len(), args.len(), "{request}");
                for (slope, arg) in slopes.iter().zip(args) {
                    assert!(has_form(slope, arg), "{request}\n{slope}");
                }
            }
            Err(failure) => {
                assert!(
                    matches!(failure.kind, "recording" | "bad_request"),
                    "{request}: {}",
                    failure.message
                );
                assert!(
                    !operation.has_gradient || is_cached,
                    "{request}: {}",
                    failure.message
                );
            }
        }
    }
}

fn elements_of(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
