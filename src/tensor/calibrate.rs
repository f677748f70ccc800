//! Measurement of a device's convolution costs.

use std::time::{Duration, Instant};

use super::{Device, Tensor};
use crate::ops::choice::{ConvMethod, CostTable, Costs};
use crate::ragged::{Layout, Pairing, Shape};
use crate::{Error, Result};

/// The work of one measured call, in nanoseconds as predicted by the current table.
const WORK: f64 = 3e6;
/// The most values in an operand, on a CPU and on a GPU: more than their caches hold.
const VALUES: [usize; 2] = [1 << 22, 1 << 24];
/// Each call is repeated for at least `TIME` and at least `RUNS` times; the fastest run counts.
const TIME: Duration = Duration::from_millis(8);
const RUNS: usize = 3;

impl Device {
    /// Measures the current cost of convolutions on this device, in less than a second once the kernels are compiled.
    ///
    /// [`calibrate`](Self::calibrate) measures the costs of image programs. The result is a plain value that you can
    /// print, save, and pass to [`with_costs`](Self::with_costs). It depends on what else the machine is doing. With a
    /// calibrated table, Auto may choose other methods than with the built-in table, so results may differ within their
    /// error bounds.
    ///
    /// ```no_run
    /// # use vsla::Device;
    /// let device = Device::auto();
    /// let costs = device.calibrate_conv()?;
    /// println!("{costs}");
    /// let device = device.with_costs(costs)?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) in a browser. [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn calibrate_conv(&self) -> Result<CostTable> {
        if cfg!(target_family = "wasm") {
            return Err(Error::unsupported(
                "measuring costs in a browser, where a call cannot wait; use the built-in costs",
            )
            .named("calibrate_conv"));
        }
        let engine = self.costs().engine();
        let mut costs = self.costs().numbers().clone();
        costs.launch = self.nanoseconds(1, (1, 1), ConvMethod::Direct)?;
        costs.item = 0.0;
        costs.item = self.pair(&costs, (1, 1), ConvMethod::Direct)?;

        // One shape is dominated by multiply-adds, the other has as few as possible: two equations in two unknowns.
        let shapes = [(2048, 448), (1 << 14, 1)];
        let [(s, x, y), (t, z, w)] = shapes.map(|(m, n)| {
            let (results, multiply_adds) = self.costs().direct_work(m as u64, n as u64);
            let time = self.pair(&costs, (m, n), ConvMethod::Direct);
            (time.map(|time| time - costs.item), results, multiply_adds)
        });
        let (s, t) = (s?, t?);
        let determinant = x * w - y * z;
        costs.result = ((s * w - y * t) / determinant).max(0.0);
        costs.multiply_add = ((x * t - s * z) / determinant).max(0.0);

        for at in 0..costs.fft.len() {
            let length = 1usize << costs.fft[at].0;
            let shape = (length / 2, length / 2);
            let time = self.pair(&costs, shape, ConvMethod::Fft)?;
            costs.fft[at].1 = time / length as f64;
        }
        Ok(CostTable::of(engine, costs))
    }

    /// The time per pair that one worker takes, measured over very many pairs.
    fn pair(&self, costs: &Costs, (m, n): (usize, usize), method: ConvMethod) -> Result<f64> {
        let workers = costs.workers;
        let known = self.costs().choose(m as u64, n as u64, method);
        let predicted = known.map_or(1.0, |(_, cost)| cost) / workers as f64;
        let most = VALUES[usize::from(self.is_gpu())] / m.max(n);
        let pairs = ((WORK / predicted) as usize).min(most).max(1);
        let pairs = pairs.next_multiple_of(workers);
        let time = self.nanoseconds(pairs, (m, n), method)? - costs.launch;
        Ok(time.max(0.0) * workers as f64 / pairs as f64)
    }

    /// The time of a call that convolves this many pairs.
    fn nanoseconds(&self, pairs: usize, (m, n): (usize, usize), method: ConvMethod) -> Result<f64> {
        let ones = |length| -> Result<Tensor<f32>> {
            self.full(&Layout::uniform(pairs, Shape::new(&[length])?)?, 1.0)
        };
        let (x, y) = (ones(m)?, ones(n)?);
        let pair = x
            .pair(&y, Pairing::Elementwise)?
            .convolution()
            .method(method);
        let call = || -> Result<Tensor<f32>> {
            let result = pair.conv()?;
            // The download waits for the result.
            result.elements(0..1)?.download_blocking()?;
            Ok(result)
        };
        drop(call()?);
        let mut least = Duration::MAX;
        let mut runs = 0;
        let began = Instant::now();
        while runs < RUNS || began.elapsed() < TIME {
            let begun = Instant::now();
            let (result, profile) = self.profile_blocking(call)?;
            let wall = begun.elapsed();
            drop(result?);
            least = least.min(profile.device_time.unwrap_or(wall));
            runs += 1;
        }
        Ok(least.as_secs_f64() * 1e9)
    }
}
