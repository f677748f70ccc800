//! Adds the reverberation of rooms to sounds: WAV files of any length, convolved with impulse responses of any length.
//!
//! All channels of all sounds form one ragged batch, those of all responses another, and a list gives the pairs: one
//! call convolves each pair at its own length.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use device::Choice;
use wav::{Format, Sound};

mod convolve;
#[path = "../common/device.rs"]
mod device;
#[cfg(test)]
#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/progress.rs"]
mod progress;
mod synth;
#[path = "../common/wav.rs"]
mod wav;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p reverb
  cargo run --release -p reverb -- voice.wav guitar.wav --response church.wav plate.wav --out wet
  cargo run --release -p reverb -- voice.wav --response church.wav --gain -12

Each result is as long as the sound and the response together, and is written as SOUND-RESPONSE.wav in the format of the
sound. It is scaled to a peak of -1 dB, or by --gain. Samples that are then too large for an integer format are clipped
and reported.

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Convolve WAV files with impulse responses
///
/// Convolves every sound with every response. Both may be mono or stereo, of 8, 16, 24 or 32 bits or of 32-bit floats;
/// their sample rates must match. Without files it synthesizes some: plucked strings, and rooms of decaying noise.
#[derive(Parser)]
#[command(name = "reverb", version, after_help = EXAMPLES)]
struct Args {
    /// Sounds to convolve; if there are none, the example synthesizes some
    #[arg(value_name = "SOUND.wav", requires = "response")]
    sounds: Vec<PathBuf>,
    /// Impulse responses
    #[arg(long, value_name = "RESPONSE.wav", num_args = 1.., requires = "sounds")]
    response: Vec<PathBuf>,
    /// Folder for the results; created if missing
    #[arg(long, value_name = "FOLDER", default_value = "reverb-out")]
    out: PathBuf,
    /// Scale results by this gain in decibels instead of to a peak of -1 dB
    #[arg(long, value_name = "DB", allow_negative_numbers = true)]
    gain: Option<f32>,
    /// Write 32-bit floats, whatever the format of the sounds
    #[arg(long)]
    float: bool,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
}

fn main() -> ExitCode {
    // This program reports errors once; RUST_LOG=info shows other messages of the library and wgpu.
    env_logger::init_from_env(env_logger::Env::default().default_filter_or("off"));
    match run(&Args::parse()) {
        Ok(text) => {
            // A closed pipe is no failure: the files are written.
            let _ = io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs everything and returns the report.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if args.gain.is_some_and(|gain| !gain.is_finite()) {
        return Err("--gain: expected a number of decibels".into());
    }
    let made = args.sounds.is_empty();
    let read = |paths: &[PathBuf]| paths.iter().map(|path| wav::read(path)).collect();
    let (sounds, rooms): (Vec<Sound>, Vec<Sound>) = match made {
        true => (synth::strings(), synth::rooms()),
        false => {
            let (sounds, rooms): (Result<_, _>, Result<_, _>) =
                (read(&args.sounds), read(&args.response));
            (sounds?, rooms?)
        }
    };
    check_rates(&sounds, &rooms)?;
    let jobs = convolve::jobs(&sounds, &rooms);
    let paths = places(&args.out, &jobs)?;
    std::fs::create_dir_all(&args.out).map_err(|error| named(&args.out, &error))?;
    let device = args.device.open()?;
    let mut report = format!("device  {}\n", device.info());
    if made {
        for sound in sounds.iter().chain(&rooms) {
            let path = args.out.join(format!("{}.wav", sound.name));
            wav::write(&path, sound)?;
            report += &format!("created {}, {}\n", path.display(), described(sound));
        }
    }

    let what = format!("convolving on {}", device.info().name);
    let bar = progress::bar(false, what, jobs.len());
    let began = Instant::now();
    let mut next = paths.iter();
    convolve::all::<Box<dyn Error>>(&device, &jobs, &bar, |job, channels| {
        let path = next.next().ok_or("more results than jobs")?;
        let mut wet = Sound {
            name: String::new(),
            rate: job.sound.rate,
            format: if args.float {
                Format::Float
            } else {
                job.sound.format
            },
            channels,
        };
        let gain = scale(&mut wet, args.gain);
        let clipped = wav::write(path, &wet)?;
        report += &format!(
            "wrote   {}, {}, {gain:+.1} dB",
            path.display(),
            described(&wet)
        );
        if clipped > 0 {
            report += &format!(", SAMPLES CLIPPED: {clipped}");
        }
        report += "\n";
        Ok(())
    })?;
    bar.finish_and_clear();
    report += &format!("time    {:.1?}, files included\n", began.elapsed());
    Ok(report)
}

/// Scales to a peak of −1 dB or by a gain, and returns the decibels. Silence stays as it is.
fn scale(sound: &mut Sound, gain: Option<f32>) -> f32 {
    let values = || sound.channels.iter().flatten();
    let peak = values().fold(0.0, |peak: f32, v| peak.max(v.abs()));
    let decibels = match gain {
        Some(gain) => gain,
        None if peak > 0.0 => -1.0 - 20.0 * peak.log10(),
        None => 0.0,
    };
    let factor = 10f32.powf(decibels / 20.0);
    sound
        .channels
        .iter_mut()
        .flatten()
        .for_each(|v| *v *= factor);
    decibels
}

fn check_rates(sounds: &[Sound], rooms: &[Sound]) -> Result<(), Box<dyn Error>> {
    let rate = sounds.first().map_or(0, |sound| sound.rate);
    match sounds.iter().chain(rooms).find(|sound| sound.rate != rate) {
        None => Ok(()),
        Some(other) => Err(format!(
            "{}: {} Hz, but {} has {rate} Hz: resample one of them",
            other.name, other.rate, sounds[0].name
        )
        .into()),
    }
}

/// A path for each result; equal names would overwrite each other.
fn places(folder: &Path, jobs: &[convolve::Job<'_>]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for job in jobs {
        let path = folder.join(format!("{}-{}.wav", job.sound.name, job.room.name));
        if paths.contains(&path) {
            return Err(named(
                &path,
                &"two results would have this name: rename a file",
            ));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn described(sound: &Sound) -> String {
    let seconds = sound.channels[0].len() as f64 / f64::from(sound.rate.max(1));
    let channels = if sound.channels.len() == 1 {
        "mono"
    } else {
        "stereo"
    };
    let format = match sound.format {
        Format::Integer(bits) => format!("{bits} bits"),
        Format::Float => "floats".to_owned(),
    };
    format!("{seconds:.2} s {channels}, {format}")
}

fn named(path: &Path, problem: &dyn std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {problem}", path.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    fn of(folder: &Folder, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let out = folder.0.join("out");
        let first = ["reverb", "--device", "cpu", "--out", out.to_str().unwrap()];
        run(&Args::parse_from(first.iter().chain(arguments)))
    }

    fn file(folder: &Folder, name: &str, format: Format, rate: u32, channel: &[f32]) -> String {
        let path = folder.0.join(format!("{name}.wav"));
        let sound = Sound {
            name: name.to_owned(),
            rate,
            format,
            channels: vec![channel.to_vec()],
        };
        wav::write(&path, &sound).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn it_makes_sounds_and_rooms_of_its_own() {
        let folder = Folder::new("made");
        let report = of(&folder, &[]).unwrap();
        assert_eq!(
            (
                report.matches("created ").count(),
                report.matches("wrote ").count()
            ),
            (6, 9)
        );
        let wet = wav::read(&folder.0.join("out/string-hall.wav")).unwrap();
        assert_eq!(
            (wet.channels.len(), wet.channels[0].len()),
            (2, 88_200 + 101_429 - 1)
        );
        let peak = wet
            .channels
            .iter()
            .flatten()
            .fold(0.0, |p: f32, v| p.max(v.abs()));
        assert!((peak - 10f32.powf(-1.0 / 20.0)).abs() < 1e-3, "{peak}");
    }

    #[test]
    fn files_are_convolved_and_keep_their_format() {
        let folder = Folder::new("files");
        let sound = file(
            &folder,
            "sound",
            Format::Integer(24),
            8000,
            &[0.5, 0.25, -0.5],
        );
        let room = file(&folder, "room", Format::Float, 8000, &[1.0, 0.0, 0.5]);
        let report = of(&folder, &[&sound, "--response", &room, "--gain", "0"]).unwrap();
        assert!(!report.contains("CLIPPED"), "{report}");
        let wet = wav::read(&folder.0.join("out/sound-room.wav")).unwrap();
        assert_eq!(wet.format, Format::Integer(24));
        assert_eq!(wet.channels, [[0.5, 0.25, -0.25, 0.125, -0.25]]);
        let report = of(&folder, &[&sound, "--response", &room, "--gain", "12"]).unwrap();
        assert!(report.contains("SAMPLES CLIPPED: 1"), "{report}");
        let float = ["--gain", "12", "--float"];
        let report = of(
            &folder,
            &[&[&sound[..], "--response", &room], &float[..]].concat(),
        )
        .unwrap();
        assert!(!report.contains("CLIPPED"), "{report}");
    }

    #[test]
    fn bad_input_is_refused_before_any_work() {
        let folder = Folder::new("refused");
        let sound = file(&folder, "sound", Format::Float, 8000, &[0.5]);
        let other = file(&folder, "other", Format::Float, 44_100, &[0.5]);
        let text = |arguments: &[&str]| of(&folder, arguments).unwrap_err().to_string();
        assert!(text(&[&sound, "--response", &other]).contains("resample one of them"));
        assert!(text(&[&sound, &sound, "--response", &sound]).contains("two results"));
        assert!(text(&[&sound, "--response", "/nowhere.wav"]).contains("/nowhere.wav"));
        assert!(!folder.0.join("out").exists());
        assert!(Args::try_parse_from(["reverb", &sound]).is_err());
        assert!(Args::try_parse_from(["reverb", "--response", &sound]).is_err());
    }

    #[test]
    fn silence_stays_silence() {
        let mut silence = Sound {
            name: String::new(),
            rate: 1,
            format: Format::Float,
            channels: vec![vec![0.0; 4]],
        };
        assert_eq!(scale(&mut silence, None), 0.0);
        assert_eq!(silence.channels, [[0.0; 4]]);
    }
}
