//! The rates of multiply-adds that a row is compared with.

/// The rate that cooperative matrix instructions reach on an H100, in multiply-adds per second.
pub const INSTRUCTIONS: f64 = 320e12;

/// How much of a rate these multiply-adds reach, in percent.
pub fn percent(multiply_adds: u64, seconds: f64, rate: f64) -> f64 {
    100.0 * multiply_adds as f64 / seconds / rate
}

/// Whether no device computes as fast as a row that reaches this much of its rate.
pub fn is_impossible(percent: f64) -> bool {
    percent > 105.0
}
