//! What the example prints.

use std::time::Duration;

use serde_json::{Value, json};

use crate::numbers::{duration, thousands};
use crate::run::{Outcome, Ran};

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}

pub fn json(device: &str, outcome: &Outcome) -> Value {
    let report = of_device(outcome);
    json!({
        "device": device,
        "solved": outcome.solved,
        "operations": report.operations,
        "levels": report.levels,
        "dispatches": report.dispatches,
        "uploads": report.uploads,
        "downloads": report.downloads,
        "submissions": report.submissions,
        "samples": report.samples,
        "invalid": report.invalid,
        "one_core_us": micros(outcome.one_core.fastest),
        "all_cores_us": micros(outcome.all_cores.fastest),
        "gpu_us": outcome.gpu.as_ref().map(|ran| micros(ran.fastest)),
        "auto_us": micros(outcome.auto.fastest),
        "predicted_us": outcome.auto.report.predicted.map(micros),
    })
}

fn of_device(outcome: &Outcome) -> &vsla::image::ImageReport {
    let ran = outcome.gpu.as_ref().unwrap_or(&outcome.all_cores);
    &ran.report
}

pub fn text(device: &str, outcome: &Outcome) -> String {
    let report = of_device(outcome);
    let mut text = format!(
        "device       {device}\n\
         solved       {} puzzles, each right for all of its pairs\n\
         program      {} operations in {} levels; the longest chain has {}\n\
         samples      {}\n\
         invalid      {} of {} results\n\
         GPU          {} dispatches, {} upload, {} download, {} submission\n\n",
        outcome.solved.len(),
        thousands(report.operations),
        report.levels,
        outcome.program.depth(),
        thousands(report.samples),
        thousands(report.invalid),
        thousands(report.samples * outcome.solved.len()),
        report.dispatches,
        report.uploads,
        report.downloads,
        report.submissions,
    );
    let mut line = |name: &str, ran: &Ran, more: &str| {
        let rate = report.samples as f64 / ran.fastest.as_secs_f64();
        let rate = thousands(rate as usize);
        text += &format!(
            "{name:<12} {:>10}  {rate:>10} samples a second{more}\n",
            duration(ran.fastest)
        );
    };
    line("one core", &outcome.one_core, "");
    line("all cores", &outcome.all_cores, "");
    if let Some(gpu) = &outcome.gpu {
        line("GPU", gpu, "");
    }
    let predicted = outcome
        .auto
        .report
        .predicted
        .map_or_else(String::new, duration);
    let more = format!(" ({:?}, predicted {predicted})", outcome.auto.report.place);
    line("auto", &outcome.auto, &more);
    text
}
