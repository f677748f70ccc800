//! The parts of the benchmark that need no measurement.

#![allow(dead_code, reason = "the benchmark uses all of it")]

#[path = "../../../benches/harness/lengths.rs"]
pub mod lengths;
#[path = "../../../benches/harness/rates.rs"]
pub mod rates;
#[path = "../../../benches/harness/stats.rs"]
pub mod stats;
#[path = "../../../benches/harness/table.rs"]
pub mod table;
#[path = "../../../benches/harness/text.rs"]
pub mod text;
