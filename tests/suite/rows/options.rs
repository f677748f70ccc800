//! Options are of the kinds that the row says, and hold without them as it says.

use catalogue::{Absent, Kind, Operation, Opt};
use serde_json::{Value, json};

use super::ask;
use crate::support::bench::cpu;

pub fn check(operation: &Operation) {
    for option in operation.options {
        let mut requests = operation.answered();
        let has = |request: &Value| given(request, option).is_some();
        if requests.iter().any(has) {
            requests.retain(has);
        }
        let request = &requests[0];
        refuse_another_kind(request, option);
        refuse_outside(request, option);
        match option.absent {
            Absent::Refused => {
                assert!(has(request), "{} is in no example", option.name);
                let failure = ask(cpu(), &without(request, option)).expect_err(option.name);
                let missing = format!("the option {} is missing", option.name);
                assert!(failure.message.ends_with(&missing), "{}", failure.message);
            }
            Absent::Is(json) => {
                let default: Value = serde_json::from_str(json).unwrap();
                assert!(option.kind.fits(&default), "{}: {json}", option.name);
                let request = without(request, option);
                let [a, b] = [request.clone(), with(&request, option, default)]
                    .map(|request| ask(cpu(), &request).map(|answer| answer.json()));
                assert_eq!(a, b, "{request}");
            }
            Absent::Means(_) => {}
        }
    }
}

/// An object is of no kind but that of a request, which needs an operation.
fn refuse_another_kind(request: &Value, option: &Opt) {
    let other = with(request, option, json!({"a": 1}));
    let failure = ask(cpu(), &other).map(drop).expect_err("refused");
    let is_refused = ["bad_request", "bad_input"].contains(&failure.kind);
    assert!(is_refused, "{other}: {}", failure.message);
    let form = format!("{}: expected {}", option.name, option.kind.form());
    let is_plain = !matches!(option.kind, Kind::Read(_) | Kind::Number(..) | Kind::Value);
    assert!(
        !is_plain || failure.message.contains(&form),
        "{other}: {}",
        failure.message
    );
}

/// Numbers just outside of a range.
fn refuse_outside(request: &Value, option: &Opt) {
    let outside = match option.kind {
        Kind::Whole(least, most) => {
            [least.checked_sub(1), most.checked_add(1)].map(|end| end.map(|n| json!(n)))
        }
        Kind::Number(least, most) => [least - 1.0, most + 1.0].map(|end| {
            let is_bounded = end.is_finite();
            is_bounded.then(|| json!(end))
        }),
        _ => return,
    };
    for value in outside.into_iter().flatten() {
        let other = with(request, option, value);
        assert!(ask(cpu(), &other).is_err(), "{other} was answered");
    }
}

/// Options of a gradient stand beside its name.
fn place(request: &Value, option: &Opt) -> String {
    match request["op"] == "gradient" {
        true => format!("/{}", option.name),
        false => format!("/options/{}", option.name),
    }
}

fn given<'a>(request: &'a Value, option: &Opt) -> Option<&'a Value> {
    request.pointer(&place(request, option))
}

fn with(request: &Value, option: &Opt, value: Value) -> Value {
    let mut other = request.clone();
    match request["op"] == "gradient" {
        true => other[option.name] = value,
        false => other["options"][option.name] = value,
    }
    other
}

fn without(request: &Value, option: &Opt) -> Value {
    let mut other = with(request, option, Value::Null);
    let options = match request["op"] == "gradient" {
        true => &mut other,
        false => &mut other["options"],
    };
    options.as_object_mut().unwrap().remove(option.name);
    other
}
