//! The result in two forms: text for a reader, and with the feature `json` an object for a program.

use std::fmt::Write;
#[cfg(feature = "json")]
use std::time::Duration;

#[cfg(feature = "json")]
use vsla::device::DeviceInfo;

use crate::classify::Classified;
use crate::distances::Distances;
use crate::numbers::{bytes, duration, thousands};
use crate::reference::Checked;
use crate::ts::Dataset;

/// Everything to report.
pub struct Report<'a> {
    #[cfg(feature = "json")]
    pub device: &'a DeviceInfo,
    /// All devices.
    pub devices: &'a str,
    pub test: &'a Dataset,
    pub train: &'a Dataset,
    pub distances: &'a Distances,
    pub classified: &'a Classified,
    pub checked: Checked,
}

impl Report<'_> {
    fn pairs(&self) -> usize {
        self.distances.values.len()
    }

    #[cfg(feature = "json")]
    pub fn json(&self) -> String {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let d = self.distances;
        let object = serde_json::json!({
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
        writeln!(out, "device       {}", self.devices)?;
        writeln!(
            out,
            "accuracy     {:.2} ({} of {})\n",
            c.accuracy(),
            thousands(c.correct()),
            thousands(n_test)
        )?;
        c.write_confusion(out)?;

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
            "memory       {} held on the device (series, offsets, plans, results); {} if each file were padded to its \
             longest series ({:.1} times as much)",
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
                "error at most {worst:.1e} against f64 ({} checked)",
                thousands(pairs)
            ),
            _ => format!(
                "ERROR UP TO {worst:.1e} AGAINST f64 ({} checked): above the library's error bound",
                thousands(pairs)
            ),
        }
    }
}
