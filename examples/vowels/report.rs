//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;

use serde_json::json;
use vsla::device::DeviceInfo;

use crate::classify::Classified;
use crate::numbers::{bytes, duration, thousands};
use crate::train::Trained;
use crate::ts::Dataset;

/// Everything to report.
pub struct Report<'a> {
    pub device: &'a DeviceInfo,
    /// All devices.
    pub devices: &'a str,
    pub train: &'a Dataset,
    pub test: &'a Dataset,
    pub classified: &'a Classified,
    pub parameters: usize,
    /// None if the weights come from a file.
    pub trained: Option<&'a Trained>,
}

impl Report<'_> {
    pub fn json(&self) -> String {
        let trained = self.trained;
        let planned = trained.and_then(|trained| trained.planned.as_ref());
        let object = json!({
            "device": self.device.name,
            "accuracy": self.classified.accuracy(),
            "n_train": self.train.series.len(),
            "n_test": self.test.series.len(),
            "epochs": trained.map_or(0, |t| t.losses.len()),
            "parameters": self.parameters,
            "train_seconds": trained.map(|t| t.time.as_secs_f64()),
            "step_us": trained.map(|t| t.step.as_secs_f64() * 1e6),
            "peak_bytes": planned.map(|planned| planned.arena_bytes),
            "padded_bytes": planned.map(|planned| planned.padded_bytes),
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
        let (train, test) = (self.train, self.test);
        let samples = || {
            let both = train.series.iter().chain(&test.series);
            both.map(|series| series.len() / train.channels)
        };
        writeln!(
            out,
            "{}: {} training and {} test recordings of {} to {} samples, channels: {}, classes: {}",
            train.name,
            thousands(train.series.len()),
            thousands(test.series.len()),
            thousands(samples().min().unwrap_or_default()),
            thousands(samples().max().unwrap_or_default()),
            train.channels,
            self.classified.labels.len(),
        )?;
        writeln!(out, "device       {}", self.devices)?;
        writeln!(out, "parameters   {}", thousands(self.parameters))?;
        if let Some(trained) = self.trained {
            let planning = match &trained.planned {
                Some(planned) => [
                    format!(", of which {} for planning", duration(planned.time)),
                    " without planning".to_owned(),
                ],
                None => Default::default(),
            };
            writeln!(
                out,
                "training     epochs: {}, {} steps in {}{}; {} per step{}",
                thousands(trained.losses.len()),
                thousands(trained.steps),
                duration(trained.time),
                planning[0],
                duration(trained.step),
                planning[1]
            )?;
            let loss = |place: Option<&f32>| place.copied().unwrap_or_default();
            writeln!(
                out,
                "loss         {:.3} in the first epoch, {:.4} in the last",
                loss(trained.losses.first()),
                loss(trained.losses.last())
            )?;
            if let Some(planned) = &trained.planned {
                writeln!(
                    out,
                    "memory       {} for the values of a step; {} if each batch were padded to its longest recording",
                    bytes(planned.arena_bytes),
                    bytes(planned.padded_bytes)
                )?;
            }
        }
        writeln!(
            out,
            "accuracy     {:.3} ({} of {})\n",
            self.classified.accuracy(),
            thousands(self.classified.correct()),
            thousands(test.series.len())
        )?;
        self.classified.write_confusion(out)
    }
}
