//! A GPU computes what the CPU computes.

use catalogue::Operation;
use serde_json::Value;
use vsla::Device;

use super::{accepted, large, short, shown, small};
use crate::support::bench::{cpu, is_hurried};

/// Whole numbers are equal, and others as near as the row says.
pub fn check(device: &Device, operation: &Operation) {
    let mut requests = small(operation);
    if !is_hurried(device) {
        requests.extend(large(operation));
    }
    for request in requests {
        let [here, there] = [cpu(), device].map(|device| accepted(device, &request));
        let [here, there] = [here, there].map(|answer| answer.map(|answer| shown(&answer)));
        let (Some(here), Some(there)) = (&here, &there) else {
            assert_eq!(here, there, "{}", short(&request));
            continue;
        };
        let is_half = operation.dtype_of(&request) == "f16";
        let bound = operation.bound[usize::from(is_half)] * largest(here);
        assert!(is_near(here, there, bound), "{}", short(&request));
    }
}

/// The largest finite magnitude.
fn largest(value: &Value) -> f64 {
    match value {
        Value::Array(items) => items.iter().map(largest).fold(0.0, f64::max),
        Value::Object(fields) => fields.values().map(largest).fold(0.0, f64::max),
        number => number.as_f64().unwrap_or(0.0).abs(),
    }
}

fn is_near(a: &Value, b: &Value, bound: f64) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_near(a, b, bound))
        }
        // Each with its own largest value.
        (Value::Object(a), Value::Object(b)) => {
            let mut both = a.values().zip(b.values());
            both.all(|(a, b)| is_near(a, b, bound.min(largest(a))))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let [x, y] = [x, y].map(|number| number.as_f64().unwrap());
            (x - y).abs() <= bound
        }
        _ => a == b,
    }
}
