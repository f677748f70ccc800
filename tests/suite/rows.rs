//! Checks what the catalogue says about each operation, on each device.
//!
//! | trials | requirement |
//! | --- | --- |
//! | `examples::<operation>` | requests are answered, or refused with the right error |
//! | `equivalence::<operation>` | the row's law: which operands may differ in trailing zeros, and which may not |
//! | `agree::<operation>` | a GPU computes what the CPU computes |
//! | `alone::<operation>` | an element's bits do not depend on others, their order, or whether they are NaN |
//! | `threads::<operation>` | nor on the number of threads |
//! | `work::<operation>` | it counts about as many multiply-adds as its row says, and is refused below |
//! | `recorded::<operation>` | a program computes the same values |
//! | `gradient::<operation>` | each operand has a gradient of its form, or the operation is refused |
//! | `slopes::<operation>` | gradients, and gradients of gradients, are those of differences |
//! | `bytes` | operations on bytes, which begin anywhere in a word, compute what they compute on words |
//! | `operands::<operation>` | it takes the types and the ranks that its row says, and refuses the others |
//! | `shapes::<operation>` | the shapes of results are those that its row says |
//! | `options::<operation>` | its options are of their kinds and ranges, and have their defaults |
//! | `refusals::<operation>` | arguments that are not alike, and unknown options |
//! | `requests` | errors of requests that name no operation, or one that is no function |
//! | `every_method` | each public method of tensors and devices has a row, or is an exception with its reason |
//!
//! Most trials also replace the arguments of the examples by random ones: of the same shapes, of others, and long ones.

mod agree;
mod alone;
mod bytes;
mod equivalence;
mod gradients;
pub mod offered;
mod operands;
mod options;
mod refusals;
mod shapes;
mod work;

use catalogue::{Answer, Batch, Failure, Gradient, Law, Operation, Outcome, Request, Size};
use libtest_mimic::Trial;
use serde_json::Value;
use vsla::{Device, program::Passes};

use crate::support::bench::{Bench, gpu};
use crate::support::corpus::rng;

/// The most values of an answer.
pub const MOST: u64 = 1 << 20;

type Check = fn(&Device, &Operation);

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for operation in catalogue::operations().filter(|operation| operation.is_function) {
        let has_operands = operation.args > 0;
        let is_smooth = operation.has_gradient() && operation.gradient != Gradient::Zero;
        let checks: [(&str, Check, bool); 7] = [
            ("examples", examples, true),
            (
                "equivalence",
                equivalence::check,
                has_operands && operation.law != Law::Open,
            ),
            ("alone", alone::check, has_operands && operation.is_local),
            ("recorded", recorded, has_operands),
            ("work", work::check, operation.name != "gradient"),
            ("gradient", gradients::form, has_operands),
            ("slopes", gradients::slopes, has_operands && is_smooth),
        ];
        for (kind, check, _) in checks.into_iter().filter(|(_, _, applies)| *applies) {
            let name = format!("{kind}::{}", operation.name);
            trials.extend(bench.on_each_device(&name, move |device| check(device, operation)));
        }
        let name = format!("agree::{}", operation.name);
        trials.push(bench.on_gpu(&name, gpu, move |device| agree::check(device, operation)));
        let name = format!("refusals::{}", operation.name);
        trials.push(bench.host(&name, move || refusals::check(operation)));
        let name = format!("options::{}", operation.name);
        trials.push(bench.host(&name, move || options::check(operation)));
        // A gradient is that of a whole request.
        if operation.name != "gradient" {
            let name = format!("operands::{}", operation.name);
            trials.push(bench.host(&name, move || operands::check(operation)));
            let name = format!("shapes::{}", operation.name);
            trials.push(bench.host(&name, move || shapes::check(operation)));
        }
        let name = format!("threads::{}", operation.name);
        trials.push(bench.host(&name, move || alone::threads(operation)));
    }
    trials.extend(bench.on_each_device("bytes", bytes::alike));
    trials.push(bench.host("requests", requests_as_such));
    trials.push(bench.host(
        "every_method",
        offered::every_method_is_offered_or_an_exception,
    ));
    trials
}

/// Requests of a few values, the same in every run.
fn small(operation: &Operation) -> Vec<Value> {
    operation.draws(Size::Small, &mut rng(operation.name))
}

/// Requests of many values, the same in every run.
pub fn large(operation: &Operation) -> Vec<Value> {
    operation.draws(Size::Large, &mut rng(operation.name))
}

/// Requests of many values of each type that an operation may have.
pub fn of_each_type(operation: &Operation) -> Vec<Value> {
    operation.draws(Size::OfEachType, &mut rng(operation.name))
}

/// The beginning of a request, for a message.
pub fn short(request: &Value) -> String {
    request.to_string().chars().take(2000).collect()
}

pub fn ask(device: &Device, request: &Value) -> Result<Answer<Batch>, Failure> {
    catalogue::answer(
        Request::new(request.clone())?,
        &mut || Ok(device.clone()),
        MOST,
    )
}

fn examples(device: &Device, operation: &Operation) {
    operation
        .examples()
        .for_each(|example| check_example(device, &example));
}

/// Examples that name no function of the catalogue.
fn requests_as_such() {
    let is_function = |request: &Value| {
        let named = request["op"].as_str().and_then(catalogue::find);
        named.is_some_and(|row| row.is_function)
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
pub fn accepted(device: &Device, request: &Value) -> Option<Answer<Batch>> {
    match ask(device, request) {
        Ok(answer) => Some(answer),
        Err(failure) => {
            let is_fault =
                ["gpu", "internal", "device_lost", "out_of_memory"].contains(&failure.kind);
            assert!(!is_fault, "{}: {}", short(request), failure.message);
            None
        }
    }
}

#[track_caller]
fn check_example(device: &Device, example: &catalogue::Example) {
    let catalogue::Example {
        request,
        outcome,
        within,
    } = example;
    match (ask(device, request), outcome) {
        (Ok(answer), Outcome::Answer(expected)) => {
            let answer = answer.json();
            assert!(
                catalogue::is_same(&answer, expected, *within),
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
        (Ok(answer), _) => panic!("{request}\nwas answered: {}", answer.json()),
        (Err(failure), _) => panic!("{request}\n{}", failure.message),
    }
}

fn recorded(device: &Device, operation: &Operation) {
    for request in small(operation) {
        let Some(expected) = accepted(device, &request) else {
            continue;
        };
        // Kernels read inputs that begin anywhere, and, without optimizations, values of the arena.
        let passes = [
            (Passes::default(), 0),
            (Passes::none(), 1),
            (Passes::default(), 5),
        ];
        for ran in passes {
            let read = Request::new(request.clone()).unwrap();
            match catalogue::recorded(read, device, ran, MOST) {
                Ok(got) => {
                    assert!(!operation.reads_values, "{request} was recorded");
                    assert_eq!(got.json(), expected.json(), "{request}");
                }
                Err(failure) => {
                    assert_eq!(failure.kind, "recording", "{request}: {}", failure.message);
                    assert!(operation.reads_values, "{request}: {}", failure.message);
                }
            }
        }
    }
}

/// Whether the last argument is spread over the values of the others.
fn is_spread(operation: &Operation, request: &Value) -> bool {
    let has = |option: &str| request.pointer(&format!("/options/{option}")).is_some();
    operation.takes("each") && (has("each") || has("axis"))
}
