//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;
use vsla::device::DeviceInfo;

use crate::classify::Classified;
use crate::distances::Distances;
use crate::reference::Checked;
use crate::ts::Dataset;

/// Everything to report.
pub struct Report<'a> {
    pub device: &'a DeviceInfo,
    pub test: &'a Dataset,
    pub train: &'a Dataset,
    pub distances: &'a Distances,
    pub classified: &'a Classified,
    pub checked: Checked,
}

/// Column headers longer than this are replaced by the class's number.
const LONGEST_HEAD: usize = 4;
/// With more classes than this, the table does not fit a terminal, and the most frequent confusions are listed instead.
const MOST_COLUMNS: usize = 40;
const MOST_LISTED: usize = 40;

impl Report<'_> {
    fn pairs(&self) -> usize {
        self.distances.values.len()
    }

    pub fn json(&self) -> String {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let d = self.distances;
        let object = json!({
            "device": self.device.name,
            "backend": self.device.backend,
            "accuracy": self.classified.accuracy(),
            "n_train": self.train.series.len(),
            "n_test": self.test.series.len(),
            "pairs": self.pairs(),
            // As f64, which represents each f32 exactly and prints it so that it reads back the same.
            "distances": d.values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>(),
            "checked_pairs": self.checked.pairs,
            "max_abs_error_vs_f64": (self.checked.pairs > 0).then_some(self.checked.worst),
            "device_us": d.device_time.map(micros),
            "wall_us": micros(d.wall),
            "first_call_us": micros(d.first_call),
            "device_bytes": d.device_bytes,
            "padded_bytes": d.padded_bytes,
        });
        format!("{object}\n")
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out)
            .expect("writing to a string cannot fail");
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let (c, d) = (self.classified, self.distances);
        let lengths = || {
            let both = self.train.series.iter().chain(&self.test.series);
            both.map(Vec::len)
        };
        let n_test = self.test.series.len();
        writeln!(
            out,
            "{}: {} training and {} test series of {} to {} samples, {} classes",
            self.train.name,
            thousands(self.train.series.len()),
            thousands(n_test),
            thousands(lengths().min().unwrap_or_default()),
            thousands(lengths().max().unwrap_or_default()),
            c.labels.len(),
        )?;
        writeln!(out, "device       {}", self.device)?;
        writeln!(
            out,
            "accuracy     {:.2} ({} of {})\n",
            c.accuracy(),
            thousands(c.correct()),
            thousands(n_test)
        )?;
        self.write_confusion(out)?;

        writeln!(
            out,
            "\ndistances    {} pairs, {}",
            thousands(self.pairs()),
            self.checked_text()
        )?;
        if let Some(time) = d.device_time {
            writeln!(out, "device time  {}{}", duration(time), self.runs_text())?;
        }
        writeln!(
            out,
            "wall time    {} with readback{}; first call {}",
            duration(d.wall),
            self.runs_text(),
            duration(d.first_call)
        )?;
        writeln!(
            out,
            "memory       {} live on the device (series, offsets, plans, results); {} if each file were padded to its \
             longest series ({:.1} times)",
            bytes(d.device_bytes),
            bytes(d.padded_bytes),
            d.padded_bytes as f64 / d.device_bytes.max(1) as f64
        )
    }

    fn runs_text(&self) -> String {
        let Distances { runs, calls, .. } = self.distances;
        match (*calls, *runs) {
            (1, 1) => " (warm)".to_owned(),
            (1, _) => format!(" (warm, median of {runs} runs)"),
            _ => format!(" (warm, in {calls} calls)"),
        }
    }

    fn checked_text(&self) -> String {
        let Checked { pairs, worst, .. } = self.checked;
        match pairs {
            0 => "not checked against f64".to_owned(),
            _ if self.checked.within_bounds() => format!(
                "at most {worst:.1e} from f64 ({} checked)",
                thousands(pairs)
            ),
            _ => format!(
                "UP TO {worst:.1e} FROM f64 ({} checked): above the library's error bound",
                thousands(pairs)
            ),
        }
    }

    fn write_confusion(&self, out: &mut String) -> std::fmt::Result {
        let labels = &self.classified.labels;
        let table = self.classified.confusion();
        if labels.len() > MOST_COLUMNS {
            return self.write_confusions(out, &table);
        }
        let (rows, columns) = heads(labels);
        let width = |texts: &[String]| texts.iter().map(|t| t.chars().count()).max();
        let head = width(&rows).unwrap_or_default();
        let counts = table.iter().flatten().map(|n| n.to_string().len());
        let cell = counts.chain(width(&columns)).max().unwrap_or_default();

        writeln!(
            out,
            "confusion    rows: actual class, columns: predicted class"
        )?;
        write!(out, "  {:head$}  ", "")?;
        for column in columns {
            write!(out, " {column:>cell$}")?;
        }
        writeln!(out, "   found")?;
        for (i, row) in table.iter().enumerate() {
            write!(out, "  {:>head$} |", rows[i])?;
            for &n in row {
                match n {
                    0 => write!(out, " {:>cell$}", "·")?,
                    _ => write!(out, " {n:>cell$}")?,
                }
            }
            writeln!(out, "   {} of {}", row[i], row.iter().sum::<usize>())?;
        }
        Ok(())
    }

    fn write_confusions(&self, out: &mut String, table: &[Vec<usize>]) -> std::fmt::Result {
        let labels = &self.classified.labels;
        let mut confusions: Vec<(usize, usize, usize)> = (0..labels.len())
            .flat_map(|i| (0..labels.len()).map(move |j| (i, j)))
            .filter(|&(i, j)| i != j && table[i][j] > 0)
            .map(|(i, j)| (table[i][j], i, j))
            .collect();
        confusions.sort_by_key(|&(count, i, j)| (usize::MAX - count, i, j));
        writeln!(
            out,
            "confusion    actual class → predicted class, most frequent first"
        )?;
        for (count, i, j) in confusions.iter().take(MOST_LISTED) {
            writeln!(out, "  {count:>6} × {} → {}", labels[*i], labels[*j])?;
        }
        match confusions.len() {
            0 => writeln!(out, "  none"),
            n if n > MOST_LISTED => writeln!(out, "  and {} more", thousands(n - MOST_LISTED)),
            _ => Ok(()),
        }
    }
}

/// Row and column headers of a table: the labels, or numbered labels if they are too long for a column.
fn heads(labels: &[String]) -> (Vec<String>, Vec<String>) {
    if labels
        .iter()
        .all(|label| label.chars().count() <= LONGEST_HEAD)
    {
        return (labels.to_vec(), labels.to_vec());
    }
    let number = |i: usize| format!("({i})");
    let row = |(i, label)| format!("{label} {:>4}", number(i));
    (
        labels.iter().enumerate().map(row).collect(),
        (0..labels.len()).map(number).collect(),
    )
}

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

fn duration(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        _ if us < 999.5 => format!("{us:.1} µs"),
        _ if us < 999.5e3 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

fn bytes(n: u64) -> String {
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
