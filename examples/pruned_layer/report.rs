//! The result in two forms: text for a reader, a JSON object for a program.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use vsla::device::DeviceInfo;

use crate::layer::Layer;
use crate::measure::{Cost, Measured, Pruned};

/// Everything to report.
pub struct Report<'a> {
    pub layer: &'a Layer,
    pub batch: usize,
    pub block: [usize; 2],
    /// The type of weights, rows and results.
    pub dtype: &'static str,
    pub device: &'a DeviceInfo,
    pub measured: &'a Measured,
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn rate(cost: &Cost) -> f64 {
    cost.operations / cost.time.as_secs_f64().max(1e-9) / 1e9
}

impl Report<'_> {
    /// A description of the layer.
    pub fn source(&self) -> String {
        let ([m, n], [high, wide]) = (self.layer.shape, self.block);
        format!(
            "{m} x {n}, {} rows, blocks of {high} x {wide}, {}",
            self.batch, self.dtype
        )
    }

    /// The density up to which blocks are faster, in words.
    pub fn verdict(&self) -> String {
        let dense = self.measured.dense.time;
        let faster = |p: &Pruned| p.cost.time < dense;
        let pruned = &self.measured.pruned;
        let of_none = match self.measured.break_even() {
            Some(density) => return format!("at a density of {density:.2}"),
            None if pruned.iter().all(faster) => "blocks are faster at every density",
            None if pruned.iter().any(faster) => "blocks are slower only at the lowest density",
            None => "the dense layer is faster at every density",
        };
        format!("at none of these densities: {of_none}")
    }

    pub fn json(&self) -> String {
        let cost = |cost: &Cost| {
            json!({
                "time_us": micros(cost.time),
                "gflops": rate(cost),
                "bytes": cost.bytes,
            })
        };
        let densities = self.measured.pruned.iter().map(|pruned| {
            let mut value = cost(&pruned.cost);
            value["density"] = json!(pruned.density);
            value["blocks"] = json!(pruned.blocks);
            value["error"] = json!(pruned.error);
            value
        });
        let object = json!({
            "shape": self.layer.shape,
            "rows": self.batch,
            "block": self.block,
            "dtype": self.dtype,
            "device": self.device.name,
            "backend": self.device.backend,
            "dense": cost(&self.measured.dense),
            "densities": densities.collect::<Vec<Value>>(),
            "break_even": self.measured.break_even(),
            "checked": self.measured.checked,
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
        let Measured { dense, pruned, .. } = self.measured;
        writeln!(
            out,
            "layer       {}\ndevice      {}\n",
            self.source(),
            self.device
        )?;
        // The unit follows the dense layer's time, for the whole column.
        let (time_unit, seconds) = match dense.time.as_micros() {
            ..1000 => ("µs", 1e-6),
            _ => ("ms", 1e-3),
        };
        let (size_unit, bytes) = match dense.bytes {
            ..1_000_000 => ("kB", 1e3),
            _ => ("MB", 1e6),
        };
        writeln!(
            out,
            "  density   blocks   time, {time_unit}  of dense    GFLOP/s  memory, {size_unit}  of dense  output error"
        )?;
        let columns = |cost: &Cost| {
            let time = cost.time.as_secs_f64();
            format!(
                "{:>10.3} {:>9.2} {:>10.1} {:>11.2} {:>9.2}",
                time / seconds,
                time / dense.time.as_secs_f64().max(1e-9),
                rate(cost),
                cost.bytes as f64 / bytes,
                cost.bytes as f64 / dense.bytes.max(1) as f64
            )
        };
        writeln!(out, "    dense        - {} {:>13}", columns(dense), "-")?;
        for Pruned {
            cost,
            blocks,
            density,
            error,
        } in pruned
        {
            writeln!(
                out,
                "    {density:.3} {blocks:>8} {} {error:>13.4}",
                columns(cost)
            )?;
        }
        writeln!(out, "\nbreak-even  {}", self.verdict())?;
        let checked = self.measured.checked;
        writeln!(
            out,
            "checked     every result against the dense layer; {checked} results against sums in f64"
        )
    }
}
