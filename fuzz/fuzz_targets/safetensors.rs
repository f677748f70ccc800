//! Reads any input as a `.safetensors` file. See `run.sh` for how to run it.

#![no_main]

#[allow(dead_code, reason = "the suite needs more of it")]
#[path = "../../tests/suite/support"]
mod support {
    pub mod allocation;
    pub mod tensors;
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let _ = support::tensors::read_all(file);
    // Sets the header's length to end at the last brace, so that inputs get past the check of the length.
    if let Some(header) = file.iter().rposition(|&byte| byte == b'}')
        && let Some(text) = file.get(8..=header)
    {
        let length = (text.len() as u64).to_le_bytes();
        let whole = [&length[..], text, &file[header + 1..]].concat();
        let _ = support::tensors::read_all(&whole);
    }
});
