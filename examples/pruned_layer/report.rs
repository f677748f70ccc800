//! The two forms of the result: text for a reader, one JSON object for a program.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use vsla::DeviceInfo;

use crate::layer::Layer;
use crate::measure::{Measured, Product, Pruned};

/// Everything that is known at the end.
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

fn rate(product: &Product) -> f64 {
    product.operations / product.time.as_secs_f64().max(1e-9) / 1e9
}

impl Report<'_> {
    /// The layer in words.
    pub fn source(&self) -> String {
        let ([m, n], [high, wide]) = (self.layer.shape, self.block);
        format!(
            "{m} x {n}, {} rows, blocks of {high} x {wide}, {}",
            self.batch, self.dtype
        )
    }

    /// Where blocks begin to pay.
    pub fn verdict(&self) -> String {
        let dense = self.measured.dense.time;
        let faster = |p: &Pruned| p.product.time < dense;
        match self.measured.break_even() {
            Some(density) => format!("at a density of {density:.2}"),
            None if self.measured.pruned.iter().all(faster) => {
                "at none of these densities: blocks are always faster".to_owned()
            }
            None => "at none of these densities: blocks are never faster for good".to_owned(),
        }
    }

    pub fn json(&self) -> String {
        let product = |product: &Product| {
            json!({
                "time_us": micros(product.time),
                "gflops": rate(product),
                "bytes": product.bytes,
            })
        };
        let densities = self.measured.pruned.iter().map(|pruned| {
            let mut value = product(&pruned.product);
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
            "dense": product(&self.measured.dense),
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
        writeln!(
            out,
            "  density   blocks       time  of dense    GFLOP/s     memory  of dense  output error"
        )?;
        let megabytes = |bytes: u64| format!("{:.2} MB", bytes as f64 / 1e6);
        let columns = |product: &Product| {
            let time = product.time.as_secs_f64() / dense.time.as_secs_f64().max(1e-9);
            let bytes = product.bytes as f64 / dense.bytes.max(1) as f64;
            format!(
                "{:>10} {time:>9.2} {:>10.1} {:>10} {bytes:>9.2}",
                format!("{:.1?}", product.time),
                rate(product),
                megabytes(product.bytes)
            )
        };
        writeln!(out, "    dense        - {} {:>13}", columns(dense), "-")?;
        for Pruned {
            product,
            blocks,
            density,
            error,
        } in pruned
        {
            writeln!(
                out,
                "    {density:.3} {blocks:>8} {} {error:>13.4}",
                columns(product)
            )?;
        }
        writeln!(out, "\nbreak-even  {}", self.verdict())?;
        let checked = self.measured.checked;
        writeln!(
            out,
            "checked     every result against the dense product; {checked} results checked against sums in f64"
        )
    }
}
