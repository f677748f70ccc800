//! How near the answers of two devices are.

use serde_json::Value;

use crate::operations::Operation;

impl Operation {
    /// Whether two devices agree on the answer to a request: whole numbers are equal, and others as near as the row
    /// says.
    pub fn is_near(&self, request: &Value, expected: &Value, got: &Value) -> bool {
        let is_half = self.dtype_of(request) == "f16";
        let bound = self.bound[usize::from(is_half)] * largest(expected);
        is_near(expected, got, bound)
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
