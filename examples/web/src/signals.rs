//! Signals: built-in ones, and those of WAV and CSV files.

use std::f64::consts::TAU;
use std::io::Cursor;

/// A signal and its name.
pub struct Signal {
    pub name: &'static str,
    pub values: Vec<f32>,
}

/// Six signals of different lengths: three pairs of similar shapes. All values are whole numbers.
pub fn samples() -> Vec<Signal> {
    let chirp = |t: usize| 900.0 * (TAU * (0.002 * t as f64 + 4e-6 * (t * t) as f64)).sin();
    let square = |t: usize| if t % 120 < 60 { 500.0 } else { -500.0 };
    let pluck = |t: usize, period: usize| {
        let (t, period) = (t as f64, period as f64);
        800.0 * (-t / 900.0).exp() * (TAU * t / period).sin()
    };
    let mut noise = 1u32;
    let mut noisy = |t| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        square(t) + f64::from(noise >> 24) - 128.0
    };
    let made = |name, length, value: &mut dyn FnMut(usize) -> f64| Signal {
        name,
        values: (0..length).map(|t| value(t).round() as f32).collect(),
    };
    vec![
        made("chirp", 3000, &mut |t| chirp(t)),
        made("chirp, later and cut", 2600, &mut |t| {
            if t < 350 { 0.0 } else { chirp(t - 350) }
        }),
        made("square wave", 1800, &mut |t| square(t)),
        made("square wave with noise", 1500, &mut noisy),
        made("plucked string", 4000, &mut |t| pluck(t, 40)),
        made("plucked string, shorter", 2200, &mut |t| pluck(t, 41)),
    ]
}

/// A kernel by its name on the page. All values are exact, so that whole numbers convolved with them stay exact.
pub fn kernel(name: &str) -> Option<Vec<f32>> {
    let binomial = |n: i32| {
        let mut row = vec![1.0f32];
        for _ in 0..n {
            let shifted = std::iter::once(0.0).chain(row.clone());
            row.push(0.0);
            row = row.iter().zip(shifted).map(|(a, b)| a + b).collect();
        }
        row.iter().map(|x| x / 2f32.powi(n)).collect()
    };
    Some(match name {
        "smoothing" => binomial(12),
        "echo" => {
            let mut echo = vec![0.0; 1201];
            for (i, strength) in [(0, 1.0), (400, 0.5), (800, 0.25), (1200, 0.125)] {
                echo[i] = strength;
            }
            echo
        }
        "differences" => vec![1.0, -1.0],
        "nothing" => vec![1.0],
        _ => return None,
    })
}

/// The first channel of a WAV file, or the numbers in a text.
///
/// # Errors
/// Says what is wrong with the file.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    let values = match bytes.starts_with(b"RIFF") {
        true => wav(bytes).map_err(|error| format!("{name}: {error}"))?,
        false => text(bytes).map_err(|why| format!("{name}: {why}"))?,
    };
    match values.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(format!(
            "{name}: value {i} is {}, expected a number",
            values[i]
        )),
        None if values.is_empty() => Err(format!("{name}: there are no values")),
        None => Ok(values),
    }
}

fn wav(bytes: &[u8]) -> Result<Vec<f32>, hound::Error> {
    let mut reader = hound::WavReader::new(Cursor::new(bytes))?;
    let spec = reader.spec();
    let channels = usize::from(spec.channels);
    match spec.sample_format {
        hound::SampleFormat::Float => reader.samples::<f32>().step_by(channels).collect(),
        hound::SampleFormat::Int => {
            let scale = 2f32.powi(1 - i32::from(spec.bits_per_sample));
            let samples = reader.samples::<i32>().step_by(channels);
            samples.map(|x| x.map(|x| x as f32 * scale)).collect()
        }
    }
}

/// Numbers separated by commas, semicolons or white space. The first line may be a heading.
fn text(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "neither a WAV file nor a text")?;
    let mut values = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let fields = line.split([',', ';', ' ', '\t']).map(str::trim);
        for field in fields.filter(|field| !field.is_empty()) {
            match field.parse() {
                Ok(value) => values.push(value),
                Err(_) if i == 0 => break,
                Err(_) => return Err(format!("line {}: {field:?} is no number", i + 1)),
            }
        }
    }
    Ok(values)
}
