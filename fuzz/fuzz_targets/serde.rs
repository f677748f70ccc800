//! Reads any input as a document of every type, in JSON and in postcard. See `run.sh` for how to run it.

#![no_main]

#[allow(dead_code, reason = "the suite needs more of it")]
#[path = "../../tests/suite/support"]
mod support {
    pub mod allocation;
    pub mod documents;
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    support::documents::read_as_each(document, true);
    support::documents::read_as_each(document, false);
});
