//! A scope that shows the scrolling spectrogram of a sound: an application whose own wgpu device the library uses, too.
//! A fragment shader draws the spectrogram from the buffer in which the library computed it, so nothing is read back to
//! the host.
//!
//! This build writes pictures. The package in the folder `window` builds the same program with a window.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use vsla::device::wgpu;

use analysis::Analysis;
use offscreen::Offscreen;
use shared::Shared;
use source::Source;
use view::{Frame, HEIGHT, View, WIDTH};

mod analysis;
mod colour;
#[cfg(test)]
#[path = "../common/folder.rs"]
mod folder;
mod offscreen;
#[path = "../common/output.rs"]
mod output;
#[path = "../common/progress.rs"]
mod progress;
mod shared;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod view;
#[path = "../common/wav.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "this program writes no files"))]
mod wav;
#[cfg(feature = "window")]
mod window;

const EXAMPLES: &str = "\
Examples:
  cargo run --release --manifest-path examples/scope/window/Cargo.toml
  cargo run --release --manifest-path examples/scope/window/Cargo.toml -- voice.wav
  cargo run --release -p scope -- --png scope.png

The picture shows the last five seconds, from 40 Hz to 16 kHz, and beside it the spectrum of the newest column. The number
above it is the time of a frame: from new samples to a finished picture. A sine of amplitude 1 has 0 dB.

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Show the scrolling spectrogram of a sound
///
/// The window for each frequency is about 60 periods long, so the windows of all frequencies form a ragged batch. The
/// spectrogram is computed and drawn on one wgpu device. Without a file, the sound is a synthetic band.
#[derive(Parser)]
#[command(name = "scope", version, after_help = EXAMPLES)]
struct Args {
    /// A sound file, which is played in a loop; its channels are mixed
    #[arg(value_name = "SOUND.wav")]
    sound: Option<PathBuf>,
    /// Write the last frame as a picture instead of opening a window
    #[arg(long, value_name = "FILE", required = !cfg!(feature = "window"))]
    png: Option<PathBuf>,
    /// Number of frames to render before the picture; a frame is a 60th of a second
    #[arg(long, value_name = "N", default_value_t = 360, requires = "png")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,
    /// Seed of the synthetic sound
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "sound")]
    seed: u64,
    /// Use the adapter whose name contains this text, instead of the one in WGPU_ADAPTER_NAME or the fastest one
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

/// Why the program ends.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Wav(#[from] wav::BadWav),
    #[error("{}: expected 8,000 to 192,000 samples per second, got {rate}", path.display())]
    Rate { path: PathBuf, rate: u32 },
    /// A picture that cannot be written. The text names the file.
    #[error("{0}")]
    Png(String),
    #[error("the GPU: {0}")]
    Gpu(String),
    #[cfg(feature = "window")]
    #[error("the window: {0}")]
    Window(String),
    #[error(transparent)]
    Library(#[from] vsla::Error),
}

fn main() -> ExitCode {
    output::main(|| Ok(run(&Args::parse())?))
}

/// Runs everything and returns the report.
fn run(args: &Args) -> Result<String, Failure> {
    let (source, rate) = match &args.sound {
        None => (Source::synth(args.seed), source::RATE),
        Some(path) => open(path)?,
    };
    let env = || std::env::var("WGPU_ADAPTER_NAME").ok();
    let adapter = args.adapter.clone().or_else(env);
    match &args.png {
        Some(path) => picture(path, args.frames, source, rate, adapter.as_deref()),
        #[cfg(feature = "window")]
        None => window::run(source, rate, adapter),
        #[cfg(not(feature = "window"))]
        None => Ok(String::new()), // The parser has refused this.
    }
}

fn open(path: &Path) -> Result<(Source, u32), Failure> {
    let sound = wav::read(path)?;
    match sound.rate {
        8_000..=192_000 => Ok((Source::file(&sound.channels), sound.rate)),
        rate => Err(Failure::Rate {
            path: path.to_owned(),
            rate,
        }),
    }
}

/// Renders frames, and writes the last one to a file.
fn picture(
    path: &Path,
    frames: u32,
    source: Source,
    rate: u32,
    adapter: Option<&str>,
) -> Result<String, Failure> {
    output::check_writable(path).map_err(|error| Failure::Png(error.to_string()))?;
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    let instance = wgpu::Instance::new(descriptor);
    let shared = pollster::block_on(Shared::open(&instance, None, adapter))?;
    let frame = Frame {
        size: [WIDTH, HEIGHT],
        scale: 1.0,
    };
    let target = Offscreen::new(&shared, frame.size);
    let mut scope = Scope::new(&shared, source, rate, Offscreen::FORMAT)?;
    let bar = progress::bar(false, "frames".to_owned(), frames as usize);
    for i in 1..=frames {
        scope.frame(&shared, &target.view(), frame, f64::from(i) / 60.0)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let png = offscreen::png(frame.size, &target.pixels(&shared)?)?;
    output::write(path, &png).map_err(|error| Failure::Png(error.to_string()))?;
    let mut report = format!("device  {}\n", shared.device.info());
    let typical = scope.typical();
    let _ = writeln!(report, "frames  {frames}, {typical:.1?} each (median)");
    let _ = writeln!(report, "wrote   {}", path.display());
    Ok(report)
}

/// A sound, its picture, and its frames.
struct Scope {
    source: Source,
    rate: u32,
    /// Samples that were read.
    read: u64,
    analysis: Analysis,
    view: View,
    /// The times of frames.
    times: Vec<Duration>,
    /// What the picture says about them, and the number of frames that it was said at.
    note: String,
}

impl Scope {
    fn new(
        shared: &Shared,
        source: Source,
        rate: u32,
        format: wgpu::TextureFormat,
    ) -> Result<Scope, Failure> {
        Ok(Scope {
            source,
            rate,
            read: 0,
            analysis: Analysis::new(&shared.device, rate)?,
            view: View::new(shared, format),
            times: Vec::new(),
            note: String::new(),
        })
    }

    /// Draws what was heard up to this time in seconds, and waits until it is drawn.
    fn frame(
        &mut self,
        shared: &Shared,
        target: &wgpu::TextureView,
        frame: Frame,
        time: f64,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        let heard = (time * f64::from(self.rate)) as u64;
        let samples = self.source.next(heard.saturating_sub(self.read) as usize);
        self.read = self.read.max(heard);
        self.analysis.push(&samples)?;
        if self.times.len() % 30 == 29 {
            let ms = self.typical().as_secs_f64() * 1e3;
            self.note = format!("{ms:.1} ms a frame");
        }
        let (rows, picture) = (&self.analysis.rows, self.analysis.picture());
        self.view
            .draw(shared, target, frame, rows, picture, &self.note);
        shared.wait()?;
        self.times.push(began.elapsed());
        Ok(())
    }

    /// The median time of the last 60 frames.
    fn typical(&self) -> Duration {
        let mut last = self.times[self.times.len().saturating_sub(60)..].to_vec();
        last.sort();
        last.get(last.len() / 2).copied().unwrap_or_default()
    }
}
