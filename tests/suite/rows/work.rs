//! The multiply-adds that an operation counts against the work limit.

use catalogue::{Answer, Batch, Operation, Work};
use serde_json::Value;
use vsla::Device;

use super::{accepted, ask, large, short, small};
use crate::support::bench::is_hurried;

/// A request fails below its work, and runs with exactly that limit.
pub fn check(device: &Device, operation: &Operation) {
    let mut counted = 0;
    let mut requests = small(operation);
    match is_hurried(device) {
        false => requests.extend(large(operation).into_iter().take(4)),
        true => requests.truncate(2),
    }
    for request in requests {
        let Some(answer) = accepted(device, &request) else {
            continue;
        };
        let needed = needed(device, operation, &request) as f64;
        let [given, found] = values(&request, &answer).map(|values| values as f64);
        let most = given.max(found);
        // Of pairs, not all arguments need be part.
        let is_paired = request.pointer("/options/pairing").is_some();
        let least = if is_paired { found } else { most };
        // Elements and pairs count, too.
        let slack = 100.0;
        let is_right = match operation.work {
            Work::Values => needed <= 4.0 * most + slack && least <= 4.0 * needed + slack,
            Work::Answer => needed <= 4.0 * found + slack && found <= 4.0 * needed + slack,
            Work::More => found <= 4.0 * needed + slack,
            Work::Nothing => needed == 0.0,
        };
        assert!(
            is_right,
            "counted {needed}, of {given} values to {found}: {}",
            short(&request)
        );
        counted += 1;
    }
    assert!(counted > 0, "{} ran never", operation.name);
}

/// The most values of an argument, and those of the answer.
fn values(request: &Value, answer: &Answer<Batch>) -> [usize; 2] {
    fn numbers(value: &Value) -> usize {
        match value {
            Value::Array(items) => items.iter().map(numbers).sum(),
            _ => 1,
        }
    }
    let of = |batch: &Batch| batch.layout().total();
    let answered = match answer {
        Answer::Batch(batch) => of(batch),
        Answer::Batches(all) => all.iter().map(of).sum(),
        Answer::Fields([(_, a), (_, b)]) => of(a) + of(b),
        _ => 0,
    };
    let args = request["args"].as_array().into_iter().flatten();
    [args.map(numbers).max().unwrap_or(0), answered]
}

/// The least limit that suffices. Each part of an operation is refused below its own work, in the operation's name.
fn needed(device: &Device, operation: &Operation, request: &Value) -> u64 {
    let mut allowed = 0;
    for _ in 0..20 {
        let failure = match ask(&device.with_work_limit(allowed), request) {
            Ok(_) => return allowed,
            Err(failure) => failure,
        };
        let said = failure.message.strip_prefix(operation.name);
        let said = said.and_then(|said| said.split_once("needs ")?.1.split(' ').next());
        let needed = said.and_then(|said| said.parse().ok());
        assert_eq!(failure.kind, "work_limit", "{}", failure.message);
        let needed: u64 = needed.unwrap_or_else(|| panic!("{}", failure.message));
        assert!(needed > allowed, "{needed} above {allowed}");
        let less = ask(&device.with_work_limit(needed - 1), request).err();
        assert_eq!(less.map(|less| less.kind), Some("work_limit"));
        allowed = needed;
    }
    panic!("{allowed}: {}", short(request));
}
