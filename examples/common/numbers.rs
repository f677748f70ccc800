//! Numbers for readers.

use std::time::Duration;

/// Formats 2500 as "2,500".
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn duration(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        _ if us < 999.5 => format!("{us:.1} µs"),
        _ if us < 999.5e3 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

pub fn bytes(n: u64) -> String {
    match n as f64 {
        n if n < 1024.0 => format!("{n} bytes"),
        n if n < 1024.0 * 1024.0 => format!("{:.1} KiB", n / 1024.0),
        n if n < 1024.0 * 1024.0 * 1024.0 => format!("{:.1} MiB", n / 1024.0 / 1024.0),
        n => format!("{:.1} GiB", n / 1024.0 / 1024.0 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_readers() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(duration(Duration::from_micros(45)), "45.0 µs");
        assert_eq!(duration(Duration::from_micros(1_500)), "1.50 ms");
        assert_eq!(duration(Duration::from_millis(2_500)), "2.50 s");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(3 << 19), "1.5 MiB");
    }
}
