//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;

use serde_json::json;
use vsla::device::DeviceInfo;

use crate::decode::Written;
use crate::numbers::{bytes, duration, thousands};
use crate::text::{Baselines, Pieces};
use crate::train::{Point, Trained};

/// Everything to report.
pub struct Report<'a> {
    pub device: &'a DeviceInfo,
    pub pieces: &'a Pieces,
    pub parameters: usize,
    pub steps: usize,
    pub trained: &'a Trained,
    pub baselines: Baselines,
    /// With a cache.
    pub written: &'a Written,
    /// Without, and not more than the first characters.
    pub anew: &'a Written,
    /// Prompts, with what follows them.
    pub texts: &'a [String],
}

impl Report<'_> {
    fn last(&self) -> Point {
        self.trained.points[self.trained.points.len() - 1]
    }

    fn characters_a_second(&self) -> f64 {
        self.trained.characters as f64 / self.trained.time.as_secs_f64()
    }

    pub fn json(&self) -> String {
        let (trained, last) = (self.trained, self.last());
        let object = json!({
            "device": self.device.name,
            "parameters": self.parameters,
            "steps": self.steps,
            "train_loss": last.train,
            "validation_loss": last.validation,
            "unigram_loss": self.baselines.unigram,
            "bigram_loss": self.baselines.bigram,
            "train_seconds": trained.time.as_secs_f64(),
            "planning_seconds": trained.planning.as_secs_f64(),
            "characters_per_second": self.characters_a_second(),
            "peak_bytes": trained.arena_bytes,
            "padded_bytes": trained.padded_bytes,
            "written_per_second": self.written.a_second(),
            "written_per_second_without_cache": self.anew.a_second(),
            "texts": self.texts,
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
        let (pieces, trained, last) = (self.pieces, self.trained, self.last());
        let lengths = || {
            let both = pieces.train.iter().chain(&pieces.validation);
            both.map(|piece| piece.len() - 2)
        };
        writeln!(
            out,
            "text         {} training and {} validation pieces of {} to {} characters, with {} different characters",
            thousands(pieces.train.len()),
            thousands(pieces.validation.len()),
            thousands(lengths().min().unwrap_or_default()),
            thousands(lengths().max().unwrap_or_default()),
            thousands(pieces.vocabulary.len() - 1),
        )?;
        writeln!(out, "device       {}", self.device)?;
        writeln!(out, "parameters   {}", thousands(self.parameters))?;
        writeln!(
            out,
            "training     {} steps in {}, of which {} for planning; {} characters per second",
            thousands(self.steps),
            duration(trained.time),
            duration(trained.planning),
            thousands(self.characters_a_second() as usize),
        )?;
        writeln!(
            out,
            "memory       {} for the values of a step; {} if each batch were padded to its longest piece",
            bytes(trained.arena_bytes),
            bytes(trained.padded_bytes)
        )?;
        writeln!(
            out,
            "loss         {:.3} nats per character in training, {:.3} on the validation pieces",
            last.train, last.validation
        )?;
        writeln!(
            out,
            "counting     {:.3} nats from the frequencies of characters, {:.3} from those of pairs",
            self.baselines.unigram, self.baselines.bigram
        )?;
        writeln!(
            out,
            "writing      {} characters per second with caches of keys and values, {} without",
            thousands(self.written.a_second() as usize),
            thousands(self.anew.a_second() as usize)
        )?;
        self.texts
            .iter()
            .try_for_each(|text| writeln!(out, "\n{text}"))
    }
}
