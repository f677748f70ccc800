//! Properties that any serde document must satisfy. Shared by the suite and `fuzz/`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use vsla::{Bsr, Complex32, Layout, Ragged, Shape, Topology, batch::Offsets, f16};

use super::allocation::peak_in;

/// Reads a document and checks its memory against the documented bound. Also returns the memory per byte of the
/// document.
#[track_caller]
fn read<T: Serialize + DeserializeOwned>(document: &[u8], json: bool) -> (Option<T>, f64) {
    // Query the machine's memory now: the first query allocates.
    vsla::device::host_memory_limit();
    let (outcome, peak) = peak_in(|| match json {
        true => serde_json::from_slice::<T>(document).ok(),
        false => postcard::from_bytes::<T>(document).ok(),
    });
    let room = 40 * document.len() + 4096;
    let what = std::any::type_name::<T>();
    assert!(
        peak <= room,
        "{peak} bytes for {what}, a document of {}: {:?}",
        document.len(),
        String::from_utf8_lossy(&document[..document.len().min(200)])
    );
    (outcome, peak as f64 / document.len().max(64) as f64)
}

/// Reads a document as every type with serde support: it must be rejected, or be written as it was read. Returns the
/// largest memory use in bytes per byte of the document.
#[track_caller]
pub fn read_as_each(document: &[u8], json: bool) -> f64 {
    #[track_caller]
    fn one<T: Serialize + DeserializeOwned>(document: &[u8], json: bool) -> f64 {
        let (outcome, share) = read::<T>(document, json);
        if let Some(value) = outcome {
            let written = |value: &T| match json {
                true => serde_json::to_vec(value).unwrap(),
                false => postcard::to_allocvec(value).unwrap(),
            };
            let first = written(&value);
            let (again, _) = read::<T>(&first, json);
            assert!(written(&again.expect("written files can be read")) == first);
        }
        share
    }
    let shares = [
        one::<Offsets>(document, json),
        one::<Shape>(document, json),
        one::<Layout>(document, json),
        one::<Ragged<f64>>(document, json),
        one::<Ragged<f32>>(document, json),
        one::<Ragged<f16>>(document, json),
        one::<Ragged<u32>>(document, json),
        one::<Ragged<i32>>(document, json),
        one::<Ragged<Complex32>>(document, json),
        one::<Topology>(document, json),
        one::<Bsr<f32>>(document, json),
        one::<Bsr<f16>>(document, json),
        one::<Bsr<u32>>(document, json),
        one::<Bsr<Complex32>>(document, json),
    ];
    shares.into_iter().fold(0.0, f64::max)
}
