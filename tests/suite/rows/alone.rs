//! An element's bits do not depend on its company: others, their order, or the number of threads.

use catalogue::{Answer, Batch, Operation, replace};
use serde_json::{Value, json};
use vsla::Device;

use super::{accepted, ask, is_spread, large, of_each_type, short, small};
use crate::support::bench::{cpu, is_hurried};

/// The bytes of each element of each batch of an answer.
fn elements(answer: &Answer<Batch>) -> Vec<Vec<Vec<u8>>> {
    let of_batch = |batch: &Batch| {
        let shapes = batch.layout().shapes().enumerate();
        let element = |(i, shape): (usize, vsla::Shape)| {
            // The JSON of an element without values does not show its shape.
            let extents: &[u32] = if shape.size() == 0 {
                &[]
            } else {
                shape.extents()
            };
            [bytemuck::cast_slice(extents), batch.bytes(i)].concat()
        };
        shapes.map(element).collect()
    };
    match answer {
        Answer::Batch(batch) => vec![of_batch(batch)],
        Answer::Batches(all) => all.iter().map(of_batch).collect(),
        Answer::Fields([(_, a), (_, b)]) => vec![of_batch(a), of_batch(b)],
        other => {
            let shown = other.json();
            let items = shown.as_array().into_iter().flatten();
            vec![items.map(|item| item.to_string().into_bytes()).collect()]
        }
    }
}

/// The request for these elements of each argument, with what the options list for them.
fn picked(operation: &Operation, request: &Value, order: &[usize], count: usize) -> Value {
    let pick = |items: &Value| -> Value { order.iter().map(|&i| items[i].clone()).collect() };
    let mut some = json!({"op": request["op"]});
    some["args"] = { request["args"].as_array().into_iter().flatten() }
        .map(pick)
        .collect();
    if let Some(options) = request.get("options").and_then(Value::as_object) {
        some["options"] = operation.picked(options, order, count).into();
    }
    some
}

pub fn check(device: &Device, operation: &Operation) {
    let mut requests = small(operation);
    match is_hurried(device) {
        false => {
            let long = [large(operation), of_each_type(operation)].concat();
            // A processor is slow.
            let step = if device.is_gpu() { 1 } else { 4 };
            requests.extend(long.into_iter().step_by(step));
        }
        true => requests.extend(large(operation).into_iter().take(1)),
    }
    let requests = requests.iter();
    let compared = requests.map(|request| check_request(device, operation, request));
    let name = operation.name;
    assert!(
        compared.sum::<usize>() > 0,
        "{name} has no example of several elements"
    );
}

/// Returns how many elements were compared.
fn check_request(device: &Device, operation: &Operation, request: &Value) -> usize {
    let args = request["args"].as_array().unwrap();
    let count = args[0].as_array().map_or(0, Vec::len);
    let is_uneven = args
        .iter()
        .any(|arg| arg.as_array().map(Vec::len) != Some(count));
    if count < 2 || is_uneven || request.pointer("/options/pairing").is_some() {
        return 0;
    }
    let Some(whole) = accepted(device, request) else {
        return 0;
    };
    let whole = elements(&whole);
    let fits = |answer: &Vec<Vec<Vec<u8>>>| answer.iter().all(|batch| batch.len() == count);
    assert!(fits(&whole), "{}", short(request));
    // An element without values does not show its rank.
    let shows = operation.dtype_of(request) == "c32"
        || is_spread(operation, request)
        || !operation.takes("rank");
    let is_one_rank =
        (1..args.len()).all(|arg| operation.rank_of(request, arg) == operation.rank_of(request, 0));
    let same = |order: &[usize]| {
        let mut some = picked(operation, request, order, count);
        if !shows && is_one_rank {
            some["options"]["rank"] = json!(operation.rank_of(request, 0));
        }
        let answer = match ask(device, &some) {
            Ok(answer) => elements(&answer),
            // The JSON of an empty matrix does not show its columns.
            Err(_) if some["args"].to_string().contains("[]") => return false,
            Err(failure) => panic!("{}: {}", short(&some), failure.message),
        };
        for (some, whole) in answer.iter().zip(&whole) {
            for (got, &i) in some.iter().zip(order) {
                assert!(*got == whole[i], "element {i} of {}", short(request));
            }
        }
        true
    };
    let step = match (is_hurried(device), device.is_gpu()) {
        (true, _) => 5,
        (false, true) => 1,
        (false, false) => 5,
    };
    let alone = (0..count).step_by(step).filter(|&i| same(&[i])).count();
    same(&(0..count).rev().collect::<Vec<_>>());
    // If the values of one element are not finite, the others must not change.
    let dtype = operation.dtype_of(request);
    if ["i32", "u32", "u8"].contains(&dtype.as_str()) {
        return alone;
    }
    let mut spoilt = request.clone();
    let mut numbers = ["nan", "inf", "-inf"]
        .iter()
        .cycle()
        .map(|name| json!(name));
    let mut number = || match dtype.as_str() {
        "c32" => json!([numbers.next(), numbers.next()]),
        _ => json!(numbers.next()),
    };
    for arg in spoilt["args"].as_array_mut().into_iter().flatten() {
        replace(&mut arg[0], &dtype, &mut number);
    }
    if let Some(answer) = accepted(device, &spoilt) {
        for (spoilt, whole) in elements(&answer).iter().zip(&whole) {
            assert!(
                spoilt[1..] == whole[1..],
                "next to values that are not finite: {}",
                short(request)
            );
        }
    }
    alone
}

pub fn threads(operation: &Operation) {
    let requests = [large(operation), of_each_type(operation)].concat();
    for request in requests.into_iter().step_by(3) {
        let answer = || accepted(cpu(), &request).map(|answer| elements(&answer));
        let whole = answer();
        for threads in [1, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let got = pool.build().unwrap().install(answer);
            assert!(got == whole, "{threads} threads: {}", short(&request));
        }
    }
}
