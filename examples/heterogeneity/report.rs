//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use vsla::{
    conv::{ConvChoice, HeterogeneityProfile},
    device::DeviceInfo,
};

use crate::measure::Measured;

/// Everything to report.
pub struct Report<'a> {
    pub source: &'a str,
    pub device: &'a DeviceInfo,
    pub profile: &'a HeterogeneityProfile,
    pub choice: &'a ConvChoice,
    pub measured: &'a [Measured],
}

impl Report<'_> {
    /// The predicted time of a measured way.
    fn predicted(&self, name: &str) -> Option<Duration> {
        let all = self.profile.predicted.named();
        all.into_iter().find(|(way, _)| *way == name)?.1
    }

    fn chosen(&self) -> Option<Duration> {
        self.measured.first()?.time.as_ref().ok().copied()
    }

    pub fn json(&self) -> Result<String, serde_json::Error> {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let profile: Value = serde_json::from_str(&self.profile.to_json())?;
        let measured = self.measured.iter().map(|measured| {
            let time = measured.time.as_ref().ok().copied().map(micros);
            (measured.way.name.to_owned(), json!(time))
        });
        let groups = self.choice.groups.iter().map(|group| {
            json!({
                "method": group.method.name(),
                "length": group.length,
                "pairs": group.pairs,
                "predicted_us": micros(group.predicted),
            })
        });
        let object = json!({
            "source": self.source,
            "device": self.device.name,
            "backend": self.device.backend,
            "profile": profile,
            "choice": groups.collect::<Vec<_>>(),
            "measured_us": measured.collect::<serde_json::Map<_, _>>(),
        });
        Ok(format!("{object}\n"))
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out)
            .expect("writing to a string cannot fail");
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}\ndevice          {}\n", self.source, self.device)?;
        writeln!(out, "{}\n", self.profile)?;
        writeln!(out, "chosen methods\n{}\n", self.choice)?;
        writeln!(out, "each element convolved with itself")?;
        writeln!(
            out,
            "  {:12} {:>10} {:>10} {:>10}",
            "method", "measured", "predicted", "x chosen"
        )?;
        for Measured { way, time } in self.measured {
            let predicted = self.predicted(way.name);
            let predicted = predicted.map_or("-".to_owned(), |time| format!("{time:.1?}"));
            match time {
                Ok(time) => {
                    let chosen = self.chosen().unwrap_or_default().as_secs_f64();
                    let times = time.as_secs_f64() / chosen.max(1e-9);
                    let time = format!("{time:.1?}");
                    writeln!(
                        out,
                        "  {:12} {time:>10} {predicted:>10} {times:>10.2}",
                        way.name
                    )?;
                }
                Err(reason) => {
                    writeln!(
                        out,
                        "  {:12} {:>10} {predicted:>10}  {reason}",
                        way.name, "-"
                    )?;
                }
            }
        }
        Ok(())
    }
}
