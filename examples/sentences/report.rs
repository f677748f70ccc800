//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;

use serde_json::{Value, json};
use vsla::device::DeviceInfo;

use crate::embed::Embedded;
use crate::numbers::{bytes, duration, thousands};

/// A query and the nearest lines, with their cosines.
pub struct Found {
    pub query: String,
    pub nearest: Vec<(usize, f64)>,
}

/// Everything to report.
pub struct Report<'a> {
    pub device: &'a DeviceInfo,
    /// All devices.
    pub devices: &'a str,
    /// Where the model comes from.
    pub model: &'a str,
    /// Whether the weights are random.
    pub random: bool,
    pub half: bool,
    pub lines: &'a [String],
    pub lengths: &'a [usize],
    pub embedded: &'a Embedded,
    pub weight_bytes: u64,
    pub found: &'a [Found],
}

impl Report<'_> {
    fn tokens_per_second(&self) -> f64 {
        self.embedded.tokens as f64 / self.embedded.time.as_secs_f64()
    }

    /// What weights and the values of a batch need at one time.
    fn live_bytes(&self) -> u64 {
        self.weight_bytes + self.embedded.live_bytes
    }

    pub fn json(&self) -> String {
        let found = self.found.iter().map(|found| {
            let nearest = found.nearest.iter().map(
                |&(line, cosine)| json!({"line": line, "cosine": cosine, "text": self.lines[line]}),
            );
            json!({"query": found.query, "nearest": nearest.collect::<Vec<Value>>()})
        });
        let object = json!({
            "device": self.device.name,
            "model": self.model,
            "random": self.random,
            "type": if self.half { "f16" } else { "f32" },
            "lines": self.lines.len(),
            "token_counts": self.lengths,
            "tokens": self.embedded.tokens,
            "padded_tokens": self.embedded.padded_tokens,
            "batches": self.embedded.batches,
            "width": self.embedded.vectors.first().map(Vec::len),
            "seconds": self.embedded.time.as_secs_f64(),
            "planning_seconds": self.embedded.planning.as_secs_f64(),
            "tokens_per_second": self.tokens_per_second(),
            "weight_bytes": self.weight_bytes,
            "peak_bytes": self.embedded.arena_bytes,
            "padded_bytes": self.embedded.padded_bytes,
            "live_bytes": self.live_bytes(),
            "device_bytes": self.embedded.device_bytes,
            "queries": found.collect::<Vec<Value>>(),
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
        let embedded = self.embedded;
        let kind = if self.half { "f16" } else { "f32" };
        writeln!(out, "device       {}", self.devices)?;
        writeln!(out, "model        {}, {kind}", self.model)?;
        if self.random {
            writeln!(
                out,
                "             The weights are random, so the cosines say nothing about meaning."
            )?;
        }
        writeln!(
            out,
            "lines        {} of {} to {} tokens, {} tokens in all",
            thousands(self.lines.len()),
            self.lengths.iter().min().copied().unwrap_or_default(),
            self.lengths.iter().max().copied().unwrap_or_default(),
            thousands(embedded.tokens)
        )?;
        writeln!(
            out,
            "time         {} for {} {}, of which {} for planning; {} tokens per second",
            duration(embedded.time),
            thousands(embedded.batches),
            if embedded.batches == 1 {
                "batch"
            } else {
                "batches"
            },
            duration(embedded.planning),
            thousands(self.tokens_per_second() as usize)
        )?;
        writeln!(
            out,
            "memory       {} for weights, {} for the values of a batch; {} if the batch were padded to its longest line",
            bytes(self.weight_bytes),
            bytes(embedded.arena_bytes),
            bytes(embedded.padded_bytes)
        )?;
        writeln!(
            out,
            "             {} held on the device, of which {} are needed at one time",
            bytes(embedded.device_bytes),
            bytes(self.live_bytes())
        )?;
        for found in self.found {
            writeln!(out, "\n{}", found.query)?;
            for &(line, cosine) in &found.nearest {
                writeln!(
                    out,
                    "{cosine:8.3}  {}: {}",
                    thousands(line + 1),
                    self.lines[line]
                )?;
            }
        }
        Ok(())
    }
}
