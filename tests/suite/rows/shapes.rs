//! The shapes of results are those that the row says.

use catalogue::{Answer, Batch, Operation, Request};
use serde_json::Value;

use super::{accepted, large, of_each_type, short, small};
use crate::support::bench::cpu;

/// The extents of the elements of each result. The JSON of what is no batch counts as single values.
fn found(answer: &Answer<Batch>) -> Vec<Vec<Vec<usize>>> {
    let of_batch = |batch: &Batch| {
        let shapes = batch.layout().shapes();
        let extents = |shape: vsla::Shape| shape.extents().iter().map(|&n| n as usize).collect();
        shapes.map(extents).collect()
    };
    match answer {
        Answer::Batch(batch) => vec![of_batch(batch)],
        Answer::Batches(all) => all.iter().map(of_batch).collect(),
        Answer::Fields([(_, a), (_, b)]) => vec![of_batch(a), of_batch(b)],
        Answer::Truths(truths) => vec![vec![vec![1]; truths.len()]],
        Answer::Json(_) | Answer::About(_) => panic!("no batch"),
    }
}

/// The shapes that the row foretells; `None` if values decide.
pub fn foretold(request: &Value) -> Option<Vec<Vec<Vec<usize>>>> {
    let request = Request::new(request.clone()).unwrap();
    catalogue::shapes(request).unwrap()
}

pub fn check(operation: &Operation) {
    let mut requests = [small(operation), of_each_type(operation)].concat();
    requests.extend(large(operation).into_iter().step_by(2));
    let mut compared = 0;
    for request in requests {
        let foretold = foretold(&request);
        if operation.results.depend_on_values() {
            assert_eq!(foretold, None, "{}", short(&request));
            continue;
        }
        let Some(answer) = accepted(cpu(), &request) else {
            continue;
        };
        let found = found(&answer);
        let foretold = foretold.unwrap_or_else(|| panic!("no shapes of {}", short(&request)));
        // Without elements, not even the number of results is known.
        let is_empty = |all: &[Vec<Vec<usize>>]| all.iter().all(Vec::is_empty);
        let is_right = foretold == found || is_empty(&foretold) && is_empty(&found);
        let text = short(&request);
        assert!(is_right, "{text}: {foretold:?} instead of {found:?}");
        compared += usize::from(!is_empty(&found));
    }
    assert!(
        compared > 0 || operation.results.depend_on_values(),
        "no results"
    );
}
