//! Prints what the page shows of its sample signals, as JSON, computed without a browser: `test.py` compares the two.
//!
//! `cargo run -p web_native`; the library's book shows how to open the page.

#[allow(dead_code, reason = "only the page shows the time")]
#[path = "src/analysis.rs"]
mod analysis;
#[allow(dead_code, reason = "only the page reads files")]
#[path = "src/signals.rs"]
mod signals;

use serde_json::{Map, Value, json};
use vsla::{Device, Ragged};

const KERNELS: [&str; 4] = ["smoothing", "echo", "differences", "nothing"];

/// As f64, because the shortest text of an f32 is another f64.
fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let signals = signals::samples();
    let batch = Ragged::from_rows(signals.iter().map(|signal| &signal.values[..]))?;
    let mut kernels = Map::new();
    for name in KERNELS {
        let kernel = signals::kernel(name).ok_or("the page has no such kernel")?;
        let found = pollster::block_on(analysis::analyse(&Device::cpu(), &batch, kernel))?;
        let n = batch.len();
        kernels.insert(
            name.to_owned(),
            json!({
                "convolved": found.convolved.iter().map(exact).collect::<Vec<_>>(),
                "spectra": found.spectra.iter().map(exact).collect::<Vec<_>>(),
                "distances": found.distances.values().chunks(n).map(exact).collect::<Vec<_>>(),
                "lags": found.lags.values().chunks(n).collect::<Vec<_>>(),
            }),
        );
    }
    let signals: Vec<Value> = signals
        .iter()
        .map(|signal| json!(exact(&signal.values)))
        .collect();
    println!("{}", json!({ "signals": signals, "kernels": kernels }));
    Ok(())
}
