//! WAV files of any sample format as channels of f32.

use std::fmt;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

/// A sound, or the impulse response of a room.
#[derive(Clone, PartialEq, Debug)]
pub struct Sound {
    /// The file name without its extension.
    pub name: String,
    pub rate: u32,
    pub format: Format,
    /// One or two channels of equal length, within ±1 if the file holds integers.
    pub channels: Vec<Vec<f32>>,
}

/// How samples are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Integers of 8, 16, 24 or 32 bits.
    Integer(u16),
    Float,
}

/// An error in a file.
#[derive(Debug)]
pub struct BadWav {
    path: PathBuf,
    problem: String,
}

impl fmt::Display for BadWav {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for BadWav {}

fn bad(path: &Path, problem: impl fmt::Display) -> BadWav {
    BadWav {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

/// The largest magnitude of an integer of this many bits, plus one.
fn full_scale(bits: u16) -> f64 {
    2f64.powi(i32::from(bits) - 1)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Sound, BadWav> {
    let mut reader = WavReader::open(path).map_err(|error| match error {
        hound::Error::IoError(error) => bad(path, error),
        hound::Error::FormatError(what) => bad(path, format!("not a WAV file: {what}")),
        other => bad(path, other),
    })?;
    let spec = reader.spec();
    if !(1..=2).contains(&spec.channels) {
        let problem = format!("expected one or two channels, got {}", spec.channels);
        return Err(bad(path, problem));
    }
    let (format, samples): (_, Result<Vec<f32>, _>) =
        match (spec.sample_format, spec.bits_per_sample) {
            (SampleFormat::Float, 32) => (Format::Float, reader.samples::<f32>().collect()),
            (SampleFormat::Int, bits @ (8 | 16 | 24 | 32)) => {
                let scale = full_scale(bits);
                let samples = reader.samples::<i32>();
                let scaled =
                    samples.map(|sample| sample.map(|sample| (f64::from(sample) / scale) as f32));
                (Format::Integer(bits), scaled.collect())
            }
            (format, bits) => {
                let problem = format!("samples of {bits} bits ({format:?}) are not supported");
                return Err(bad(path, problem));
            }
        };
    let samples = samples.map_err(|error| bad(path, format!("cut off or damaged: {error}")))?;
    if let Some(at) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(bad(path, format!("sample {at} is {}", samples[at])));
    }
    if samples.is_empty() {
        return Err(bad(path, "holds no samples"));
    }
    let count = usize::from(spec.channels);
    let channel = |c| samples.iter().skip(c).step_by(count).copied().collect();
    let name = path.file_stem().unwrap_or_default();
    Ok(Sound {
        name: name.to_string_lossy().into_owned(),
        rate: spec.sample_rate,
        format,
        channels: (0..count).map(channel).collect(),
    })
}

/// Writes a file and returns the number of clipped samples: those beyond ±1, which integers cannot hold.
pub fn write(path: &Path, sound: &Sound) -> Result<usize, BadWav> {
    let (sample_format, bits_per_sample) = match sound.format {
        Format::Integer(bits) => (SampleFormat::Int, bits),
        Format::Float => (SampleFormat::Float, 32),
    };
    let spec = WavSpec {
        channels: sound.channels.len() as u16,
        sample_rate: sound.rate,
        bits_per_sample,
        sample_format,
    };
    let failed = |error: hound::Error| bad(path, error);
    let mut writer = WavWriter::create(path, spec).map_err(failed)?;
    let mut clipped = 0;
    let length = sound.channels.first().map_or(0, Vec::len);
    for i in 0..length {
        for channel in &sound.channels {
            match sound.format {
                Format::Float => writer.write_sample(channel[i]).map_err(failed)?,
                Format::Integer(bits) => {
                    let scale = full_scale(bits);
                    let rounded = (f64::from(channel[i]) * scale).round();
                    let held = rounded.clamp(-scale, scale - 1.0);
                    // +1 itself is clipped by less than one step, which does not count.
                    clipped += usize::from((rounded - held).abs() > 1.0);
                    writer.write_sample(held as i32).map_err(failed)?;
                }
            }
        }
    }
    writer.finalize().map_err(failed)?;
    Ok(clipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    fn sound(format: Format, channels: Vec<Vec<f32>>) -> Sound {
        Sound {
            name: "x".to_owned(),
            rate: 8000,
            format,
            channels,
        }
    }

    #[test]
    fn every_format_is_read_back() {
        let folder = Folder::new("formats");
        let path = folder.0.join("x.wav");
        let values = vec![0.0, 0.5, -0.25, -1.0, 0.75];
        for channels in [vec![values.clone()], vec![values.clone(), vec![0.25; 5]]] {
            for format in [8, 16, 24, 32]
                .map(Format::Integer)
                .into_iter()
                .chain([Format::Float])
            {
                let sound = sound(format, channels.clone());
                assert_eq!(write(&path, &sound).unwrap(), 0);
                assert_eq!(read(&path).unwrap(), sound, "{format:?}");
            }
        }
    }

    #[test]
    fn what_integers_cannot_hold_is_counted() {
        let folder = Folder::new("clipped");
        let path = folder.0.join("x.wav");
        let values = vec![vec![1.0, 1.2, -1.0, -1.5, 0.0]];
        let loud = sound(Format::Integer(16), values.clone());
        assert_eq!(write(&path, &loud).unwrap(), 2);
        assert_eq!(read(&path).unwrap().channels[0][3], -1.0);
        let float = sound(Format::Float, values.clone());
        assert_eq!(write(&path, &float).unwrap(), 0);
        assert_eq!(read(&path).unwrap().channels, values);
    }

    #[test]
    fn bad_files_are_told_apart() {
        let folder = Folder::new("bad");
        let path = folder.0.join("x.wav");
        let text = |path: &Path| read(path).unwrap_err().to_string();
        assert!(text(&folder.0.join("none.wav")).contains("none.wav: No such file"));
        std::fs::write(&path, "no sound at all").unwrap();
        assert!(text(&path).contains("not a WAV file"));
        write(&path, &sound(Format::Float, vec![vec![]])).unwrap();
        assert!(text(&path).ends_with("holds no samples"));
        write(&path, &sound(Format::Float, vec![vec![0.0, f32::NAN]])).unwrap();
        assert!(text(&path).ends_with("sample 1 is NaN"));
        write(&path, &sound(Format::Float, vec![vec![0.0]; 3])).unwrap();
        assert!(text(&path).ends_with("expected one or two channels, got 3"));
        write(&path, &sound(Format::Integer(16), vec![vec![0.0; 100]])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 50]).unwrap();
        assert!(
            text(&path).contains("cut off or damaged"),
            "{}",
            text(&path)
        );
    }
}
