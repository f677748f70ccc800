//! A page that convolves, transforms and compares signals of different lengths in a browser, without padding.
//!
//! The page's script is `page.js`; this is what it calls.

mod analysis;
mod checks;
mod signals;

use vsla::{Device, Ragged, device::GpuOptions};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
    /// Of `test.js`.
    fn checked(name: &str, wrong: &str);
}

/// A panic is a bug. It is reported on the console, because the page only sees that the program stopped.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| error(&info.to_string())));
}

/// Signals of any lengths: their names, and their values one after the other.
#[wasm_bindgen(getter_with_clone)]
pub struct Signals {
    pub names: Vec<String>,
    pub values: Vec<f32>,
    pub lengths: Vec<u32>,
}

/// The built-in signals.
#[wasm_bindgen]
pub fn samples() -> Signals {
    let all = signals::samples();
    Signals {
        names: all.iter().map(|signal| signal.name.to_owned()).collect(),
        lengths: all
            .iter()
            .map(|signal| signal.values.len() as u32)
            .collect(),
        values: all.into_iter().flat_map(|signal| signal.values).collect(),
    }
}

/// The values in a WAV or CSV file.
#[wasm_bindgen]
pub fn parse(name: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    signals::parse(name, bytes)
}

/// What the page shows of each signal, one after the other.
#[wasm_bindgen(getter_with_clone)]
pub struct Analysis {
    pub convolved: Vec<f32>,
    pub convolved_lengths: Vec<u32>,
    /// The magnitudes of the spectra, up to half the sampling rate.
    pub spectra: Vec<f32>,
    pub spectra_lengths: Vec<u32>,
    /// The shape-based distances of all pairs, row by row, and how far the second signal is shifted.
    pub distances: Vec<f32>,
    pub lags: Vec<i32>,
    /// What the kernels took, in milliseconds, on a device that measures it.
    pub device_time: Option<f64>,
}

/// A device, and what the page asks of it.
#[wasm_bindgen]
pub struct Lab {
    device: Device,
    why: String,
}

#[wasm_bindgen]
impl Lab {
    /// Opens the browser's GPU, or the CPU device if there is none or none is wanted.
    pub async fn open(gpu: bool) -> Lab {
        let opened = match gpu {
            true => Device::gpu(GpuOptions::default())
                .await
                .map_err(|error| error.to_string()),
            false => Err("chosen on this page".to_owned()),
        };
        match opened {
            Ok(device) => Lab {
                device,
                why: String::new(),
            },
            Err(why) => Lab {
                device: Device::cpu(),
                why,
            },
        }
    }

    /// The name of the device.
    #[wasm_bindgen(getter)]
    pub fn device(&self) -> String {
        let info = self.device.info();
        format!("{} ({})", info.name, info.backend)
    }

    /// Why it is the CPU; empty for a GPU.
    #[wasm_bindgen(getter)]
    pub fn why(&self) -> String {
        self.why.clone()
    }

    /// Convolves all signals with a kernel, transforms them, and compares each with each.
    pub async fn analyse(
        &self,
        values: Vec<f32>,
        lengths: Vec<u32>,
        kernel: &str,
    ) -> Result<Analysis, String> {
        let kernel =
            signals::kernel(kernel).ok_or_else(|| format!("there is no kernel {kernel:?}"))?;
        self.analysed(values, &lengths, kernel)
            .await
            .map_err(|error| error.to_string())
    }

    async fn analysed(
        &self,
        values: Vec<f32>,
        lengths: &[u32],
        kernel: Vec<f32>,
    ) -> vsla::Result<Analysis> {
        let lengths = lengths.iter().map(|&length| length as usize);
        let signals = Ragged::from_lengths(values, lengths)?;
        let found = analysis::analyse(&self.device, &signals, kernel).await?;
        let lengths = |batch: &Ragged<f32>| batch.iter().map(|row| row.len() as u32).collect();
        Ok(Analysis {
            convolved_lengths: lengths(&found.convolved),
            spectra_lengths: lengths(&found.spectra),
            convolved: found.convolved.into_parts().1,
            spectra: found.spectra.into_parts().1,
            distances: found.distances.into_parts().1,
            lags: found.lags.into_parts().1,
            device_time: found.device_time.map(|time| 1e3 * time.as_secs_f64()),
        })
    }

    /// Compares this device with the CPU device, and reports to `checked`.
    pub async fn check(&self) {
        checks::all(&checks::Checks::new(self.device.clone(), checked)).await;
    }
}
