//! Classifies recordings of different lengths by their nearest neighbour, without padding them.
//!
//! The measure is the shape-based distance, 1 − max_k (x ⋆ y)_k / (‖x‖‖y‖) over every lag k of the cross-correlation
//! (Paparrizos and Gravano, "k-Shape", SIGMOD 2015). The device compares each test series with each training series;
//! only one distance and one lag per pair are read back. The bundled recordings were made with a hand-held
//! accelerometer; any univariate `.ts` file of the UCR archive works.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use classify::Classified;
use fleet::Where;
use reference::Check;
use report::Report;
use ts::Dataset;

#[path = "../common/classify.rs"]
mod classify;
#[path = "../common/device.rs"]
mod device;
mod distances;
#[path = "../common/fleet.rs"]
mod fleet;
#[path = "../common/ink.rs"]
mod ink;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/output.rs"]
mod output;
mod plot;
#[path = "../common/progress.rs"]
mod progress;
mod reference;
mod report;
mod scale;
#[path = "../common/ts.rs"]
mod ts;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p gestures
  cargo run --release -p gestures -- --device cpu --plot errors.svg
  cargo run --release -p gestures -- --devices all
  cargo run --release -p gestures -- --train GunPoint_TRAIN.ts --test GunPoint_TEST.ts
  cargo run --release -p gestures --features json -- --check none --json > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Classify time series of different lengths by their nearest neighbour under the shape-based distance
///
/// Without --train and --test it uses the included recordings: 50 training and 50 test series of 29 to 361 samples, of
/// a gesture that ten people made with a hand-held accelerometer. The class is the person.
#[derive(Parser)]
#[command(name = "gestures", version, after_help = EXAMPLES)]
struct Args {
    /// The series with known classes: a univariate .ts file of the UCR archive
    #[arg(long, value_name = "FILE", requires = "test")]
    train: Option<PathBuf>,
    /// The series to classify
    #[arg(long, value_name = "FILE", requires = "train")]
    test: Option<PathBuf>,
    #[command(flatten)]
    on: Where,
    /// How many distances to check against f64; by default all if they take at most 10^9 multiply-adds, else a sample
    #[arg(long, value_enum)]
    check: Option<Check>,
    /// Draw each misclassified series over its nearest neighbour
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// Print only one JSON object
    #[cfg(feature = "json")]
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if let Some(path) = &args.plot {
        output::check_writable(path)?;
    }
    let (train, test) = data(args)?;
    let fleet = args.on.open()?;

    #[cfg(feature = "json")]
    let is_json = args.json;
    #[cfg(not(feature = "json"))]
    let is_json = false;
    let what = format!("distances on {}", fleet::names(&fleet));
    let bar = progress::bar(is_json, what, test.series.len());
    let distances = distances::compute(&fleet, &test.series, &train.series, &bar)?;
    bar.finish_and_clear();
    let nearest = distances.nearest(train.series.len());
    let predicted = nearest.iter().map(|&i| train.classes[i]).collect();
    let classified = Classified::new(&test, &train, predicted);

    let pairs = reference::select(args.check, &test.series, &train.series);
    let bar = progress::bar(is_json, "check against f64".to_owned(), pairs.len());
    let checked = reference::check(&pairs, &test.series, &train.series, &distances.values, &bar);
    bar.finish_and_clear();

    if let Some(path) = &args.plot {
        let svg = plot::svg(&test, &train, &classified, &distances, &nearest)?;
        output::write(path, &svg)?;
    }
    let report = Report {
        #[cfg(feature = "json")]
        device: &fleet.devices()[0].info(),
        devices: &fleet::names(&fleet),
        test: &test,
        train: &train,
        distances: &distances,
        classified: &classified,
        checked,
    };
    #[cfg(feature = "json")]
    if is_json {
        return Ok(report.json());
    }
    let mut text = report.text();
    if let Some(path) = &args.plot {
        text += &format!("plot         {}\n", path.display());
    }
    Ok(text)
}

fn data(args: &Args) -> Result<(Dataset, Dataset), Box<dyn Error>> {
    macro_rules! bundled {
        ($name:literal) => {
            ts::parse($name, include_bytes!(concat!("../data/", $name)))
        };
    }
    let (train, test) = match (&args.train, &args.test) {
        (Some(train), Some(test)) => (ts::read(train)?, ts::read(test)?),
        // The argument parser ensures that both or neither are given.
        _ => (
            bundled!("PickupGestureWiimoteZ_TRAIN.ts")?,
            bundled!("PickupGestureWiimoteZ_TEST.ts")?,
        ),
    };
    for data in [&train, &test] {
        if data.channels > 1 {
            let (name, channels) = (&data.name, data.channels);
            return Err(format!("{name}: expected one channel, got {channels}").into());
        }
    }
    Ok((train, test))
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressBar;
    use vsla::Device;
    use vsla::fleet::Fleet;

    use super::*;

    /// Compared with an independent implementation, aeon 1.6: `sbd_distance`, `standardize=False`.
    #[test]
    fn the_bundled_recordings_give_the_known_answer() {
        let args = Args::parse_from(["gestures"]);
        let (train, test) = data(&args).unwrap();
        let bar = ProgressBar::hidden();
        let cpu = Fleet::of([Device::cpu()]).unwrap();
        let distances = distances::compute(&cpu, &test.series, &train.series, &bar).unwrap();
        let known = [0.10873282, 0.14531718, 0.05910188];
        for (distance, known) in distances.values.iter().zip(known) {
            assert!(
                (f64::from(*distance) - known).abs() < 1e-6,
                "{distance} {known}"
            );
        }
        let nearest = distances.nearest(train.series.len());
        let predicted = nearest.iter().map(|&i| train.classes[i]).collect();
        let classified = Classified::new(&test, &train, predicted);
        assert_eq!((classified.correct(), classified.actual.len()), (35, 50));

        let pairs = reference::select(args.check, &test.series, &train.series);
        let checked =
            reference::check(&pairs, &test.series, &train.series, &distances.values, &bar);
        assert_eq!(checked.pairs, 2_500);
        assert!(checked.within_bounds(), "{checked:?}");

        let svg = plot::svg(&test, &train, &classified, &distances, &nearest).unwrap();
        assert_eq!(
            svg.matches("classified").count() - 1,
            15,
            "one title per panel and one for the plot"
        );
    }

    /// On a GPU that is opened twice, which is two devices.
    #[cfg(feature = "gpu")]
    #[test]
    fn two_devices_give_the_bits_of_one() {
        let (train, test) = data(&Args::parse_from(["gestures"])).unwrap();
        let open = || Device::gpu_blocking(vsla::device::GpuOptions::default());
        let (Ok(first), Ok(second)) = (open(), open()) else {
            assert!(std::env::var_os("VSLA_REQUIRE_GPU").is_none());
            return;
        };
        let compute = |devices: &[Device]| {
            let fleet = Fleet::of(devices.iter().cloned()).unwrap();
            let bar = ProgressBar::hidden();
            distances::compute(&fleet, &test.series[..7], &train.series, &bar).unwrap()
        };
        let one = compute(std::slice::from_ref(&first));
        let two = compute(&[first, second]);
        assert_eq!((one.values, one.lags), (two.values, two.lags));
    }

    #[test]
    fn several_channels_are_refused() {
        let vowels = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../data/JapaneseVowels_TEST.ts"
        );
        let args = Args::parse_from(["gestures", "--train", vowels, "--test", vowels]);
        let error = data(&args).unwrap_err().to_string();
        assert_eq!(error, "JapaneseVowels: expected one channel, got 12");
    }

    #[test]
    fn both_files_or_neither() {
        assert!(Args::try_parse_from(["gestures", "--train", "a"]).is_err());
        assert!(Args::try_parse_from(["gestures", "--test", "a"]).is_err());
        assert!(Args::try_parse_from(["gestures", "--test", "a", "--train", "b"]).is_ok());
    }
}
