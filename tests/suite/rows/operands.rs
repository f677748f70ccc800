//! The types and the ranks of operands that the row says, and no others.

use std::ops::RangeInclusive;

use catalogue::{Operation, TYPES, filled, replace};
use serde_json::{Map, Value, json};
use vsla::batch::MAX_RANK;
use vsla::scalar::DType;

use super::ask;
use super::shapes::foretold;
use crate::support::bench::cpu;

pub fn check(operation: &Operation) {
    let groups = groups(operation);
    let least = groups
        .iter()
        .map(|(ranks, _)| *ranks.start())
        .collect::<Vec<_>>();
    if operation.takes("dtype") {
        for dtype in TYPES
            .into_iter()
            .filter(|dtype| !operation.types().contains(dtype))
        {
            let request = request(operation, dtype, &groups, &least);
            let failure = ask(cpu(), &request).map(drop).expect_err("refused");
            assert_eq!(failure.kind, "bad_request", "{request}");
            for taken in operation.types() {
                assert!(
                    failure.message.contains(taken.name()),
                    "{}",
                    failure.message
                );
            }
        }
    }
    // One vector, whatever its size is.
    if operation.name == "hann_window" {
        return;
    }
    for &dtype in operation.types() {
        for (i, (ranks, _)) in groups.iter().enumerate() {
            for rank in 1..=MAX_RANK {
                let mut of_groups = least.clone();
                of_groups[i] = rank;
                let request = request(operation, dtype, &groups, &of_groups);
                check_rank(operation, &request, ranks, rank);
            }
        }
    }
}

fn check_rank(operation: &Operation, request: &Value, ranks: &RangeInclusive<usize>, rank: usize) {
    let answer = ask(cpu(), request);
    let fits = |all: Vec<Vec<Vec<usize>>>| all.iter().flatten().all(|s| s.len() <= MAX_RANK);
    let is_taken = ranks.contains(&rank)
        && (operation.results.depend_on_values() || foretold(request).is_some_and(fits));
    match answer {
        Ok(_) => assert!(is_taken, "rank {rank} is accepted: {request}"),
        Err(failure) => {
            let message = &failure.message;
            assert!(!is_taken, "rank {rank} is refused: {message}: {request}");
            assert_eq!(failure.kind, "rank", "{message}: {request}");
            let named = message
                .split("rank of ")
                .nth(1)
                .and_then(|said| said.split(", got").next());
            let named = named.unwrap_or_else(|| panic!("{message}"));
            // Or that of the result.
            let ends = [ranks.start(), ranks.end(), &MAX_RANK].map(usize::to_string);
            assert!(
                ends.iter().any(|end| named.contains(end)),
                "{message}: {request}"
            );
        }
    }
}

/// Ranks that operands have together, and these operands.
fn groups(operation: &Operation) -> Vec<(RangeInclusive<usize>, Vec<usize>)> {
    let mut groups: Vec<(RangeInclusive<usize>, Vec<usize>)> = Vec::new();
    for arg in 0..operation.args.max(1) {
        let ranks = operation.ranks_of(arg);
        match groups.iter_mut().find(|(others, _)| *others == ranks) {
            Some((_, args)) => args.push(arg),
            None => groups.push((ranks, vec![arg])),
        }
    }
    groups
}

/// The first example with operands of other ranks, whose extents are all two, and of ones.
fn request(
    operation: &Operation,
    dtype: DType,
    groups: &[(RangeInclusive<usize>, Vec<usize>)],
    ranks: &[usize],
) -> Value {
    let mut request = operation.answered().remove(0);
    let rank_of = |arg: usize| {
        let group = groups.iter().position(|(_, args)| args.contains(&arg));
        ranks[group.unwrap()]
    };
    let one = if dtype == DType::C32 {
        json!([1, 0])
    } else {
        json!(1)
    };
    let count = request.pointer("/args/0").and_then(Value::as_array);
    let count = count.map_or(1, Vec::len);
    let args = request.get_mut("args").and_then(Value::as_array_mut);
    for (arg, batch) in args.into_iter().flatten().enumerate() {
        let element = filled(&vec![2; rank_of(arg)], &mut || one.clone());
        *batch = vec![element; count].into();
    }
    let options = request.as_object_mut().unwrap().remove("options");
    let options = match options {
        Some(Value::Object(options)) => options,
        _ => Map::new(),
    };
    let is_kept =
        |(name, _): &(String, Value)| !["each", "pairing", "method"].contains(&name.as_str());
    for (name, value) in options.into_iter().filter(is_kept) {
        let rank = rank_of(0);
        let repeated = |item: Value| Value::from(vec![item; rank]);
        let of_each = |item: Value| Value::from(vec![item; count]);
        request["options"][&name] = match name.as_str() {
            "start" => repeated(json!(0)),
            "end" => repeated(json!(1)),
            "widths" => repeated(json!([1, 1])),
            "ranges" => repeated(json!([null, null, -1])),
            "axes" => (0..rank).collect(),
            "axis" => json!(0),
            "window" if operation.name.ends_with("pool") => json!([1]),
            "shapes" if operation.name == "unstack" => {
                json!([vec![2; rank - 1], vec![2; rank - 1]])
            }
            "shapes" if operation.name == "unpacked" => json!([vec![2; rank]]),
            "shapes" => of_each(json!(vec![2; rank])),
            "targets" if rank == 1 => of_each(json!([1])),
            "targets" => of_each(filled(&vec![2; rank - 1], &mut || json!(1))),
            "indices" => of_each(json!([0, 1])),
            "index" => of_each(filled(&vec![2; rank], &mut || json!(1))),
            "flags" => of_each(json!([0, 1])),
            // Two frames, or two values of a transform.
            "lengths" if operation.name == "istft" => json!(vec![4; count]),
            "lengths" => json!(vec![2; count]),
            "values" => {
                let mut values = value;
                replace(&mut values, dtype.name(), &mut || one.clone());
                values
            }
            "factor" | "value" | "to" | "high" | "max" | "step" => one.clone(),
            "from" | "low" | "min" if dtype == DType::C32 => json!([0, 0]),
            "from" | "low" | "min" => json!(0),
            _ => value,
        };
    }
    if operation.takes("dtype") {
        request["options"]["dtype"] = json!(dtype.name());
    }
    if operation.takes("rank") && groups.len() == 1 {
        request["options"]["rank"] = json!(ranks[0]);
    }
    request
}
