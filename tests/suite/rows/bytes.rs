//! Operations on bytes compute what they compute on words.

use catalogue::{Operation, Prepared, Request, Size};
use serde_json::{Value, json};
use vsla::{Device, scalar::DType};

use super::{MOST, short};
use crate::support::corpus::rng;

/// Each request of bytes, which begin at every byte of a word, and the same of words.
pub fn alike(device: &Device) {
    let mut of_bytes = 0;
    for row in catalogue::operations().filter(|row| row.is_function && row.args > 0) {
        of_bytes += usize::from(is_alike(device, row));
    }
    assert!(of_bytes > 60, "only {of_bytes} operations take bytes");
}

/// Whether the operation takes bytes.
fn is_alike(device: &Device, row: &Operation) -> bool {
    if !row.types().contains(&DType::U8) {
        return false;
    }
    let mut takes_bytes = false;
    let requests = row.draws(Size::OfBytes, &mut rng(row.name));
    for (i, request) in requests.into_iter().enumerate() {
        let mut words = request.clone();
        words["options"]["dtype"] = json!("u32");
        let [bytes, words] = [(&request, i % 4), (&words, 0)].map(|(request, before)| {
            let read = Request::new(request.clone())?;
            let prepared = Prepared::new(read)?.on_views(device, before)?;
            Ok::<_, catalogue::Failure>(prepared.run_blocking(device, MOST)?.json())
        });
        let Ok(bytes) = bytes else { continue };
        let words = words.unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(is_same(&bytes, &words), "{}", short(&request));
        takes_bytes = true;
    }
    takes_bytes
}

/// The least value of nothing is the largest of the type.
fn is_same(bytes: &Value, words: &Value) -> bool {
    match (bytes, words) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.values().zip(b.values()).all(|(a, b)| is_same(a, b))
        }
        (a, b) => a.as_f64() == b.as_f64() || *a == json!(255) && *b == json!(u32::MAX),
    }
}
