//! Learns to tell speakers apart from recordings of different lengths, without padding them.
//!
//! A network of two convolutions over time, pooling over each recording's own samples, and a dense layer is trained by
//! Adam. One step (forward, backward, optimizer) is one recorded program. The bundled recordings are vowels spoken by
//! nine people, as 12 coefficients for each of 7 to 29 frames. Any classification problem of the UCR and UEA archives
//! works, with one or more channels, and with equal or different lengths.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vsla::fleet::Fleet;

use classify::Classified;
use data::Scale;
use fleet::Where;
use net::Net;
use report::Report;
use train::{On, Trained};
use ts::Dataset;

#[path = "../common/adam.rs"]
mod adam;
#[path = "../common/classify.rs"]
mod classify;
mod data;
#[path = "../common/device.rs"]
mod device;
#[path = "../common/fleet.rs"]
mod fleet;
#[path = "../common/ink.rs"]
mod ink;
mod net;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/output.rs"]
mod output;
mod plot;
#[path = "../common/progress.rs"]
mod progress;
mod report;
#[cfg(test)]
mod tests;
mod train;
#[path = "../common/ts.rs"]
mod ts;
mod weights;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p vowels
  cargo run --release -p vowels -- --device cpu --plot loss.svg --save vowels.vsla
  cargo run --release -p vowels -- --devices all
  cargo run --release -p vowels -- --load vowels.vsla
  cargo run --release -p vowels -- --train BasicMotions_TRAIN.ts --test BasicMotions_TEST.ts
  cargo run --release -p vowels -- --json > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Train a network on recordings of different lengths, and classify others with it
///
/// Without --train and --test it uses the included recordings of vowels spoken by nine people: 270 for training and 370
/// for testing. The class is the speaker. The same seed gives the same weights, bit for bit, on the same device, and
/// with --devices for any number of devices of one model.
#[derive(Parser)]
#[command(name = "vowels", version, after_help = EXAMPLES)]
struct Args {
    /// The recordings to learn from: a .ts file of the UCR and UEA archives
    #[arg(long, value_name = "FILE", requires = "test")]
    train: Option<PathBuf>,
    /// The recordings to classify
    #[arg(long, value_name = "FILE", requires = "train")]
    test: Option<PathBuf>,
    /// How many times to go through all training recordings
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    epochs: u32,
    /// The seed of the initial weights and of the order of the recordings
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    on: Where,
    /// Plot the loss of each epoch
    #[arg(long, value_name = "OUT.svg", conflicts_with = "load")]
    plot: Option<PathBuf>,
    /// Write the trained weights
    #[arg(long, value_name = "OUT.vsla", conflicts_with = "load")]
    save: Option<PathBuf>,
    /// Classify with weights that --save wrote, instead of training
    #[arg(long, value_name = "FILE.vsla", conflicts_with_all = ["epochs", "seed"])]
    load: Option<PathBuf>,
    /// Print only one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let written = [("plot         ", &args.plot), ("weights      ", &args.save)];
    let written = written.map(|(what, path)| path.as_ref().map(|path| (what, path)));
    for (_, path) in written.iter().flatten() {
        output::check_writable(path)?;
    }
    if args.plot.is_some() && args.plot == args.save {
        return Err("--plot and --save name the same file: use two names".into());
    }
    let (train, test) = data(args)?;
    let fleet = args.on.open()?;
    let device = &fleet.devices()[0];
    let info = device.info();
    let net = Net {
        channels: train.channels,
        classes: train.labels.len(),
    };

    let (scale, weights, trained) = match &args.load {
        Some(path) => {
            let (scale, weights) = weights::load(path, net)?;
            (scale, device.upload(&weights)?, None)
        }
        None => {
            let scale = Scale::of(&train)?;
            let trained = learn(args, &fleet, &train, &scale)?;
            (scale, trained.weights.clone(), Some(trained))
        }
    };
    let predicted = train::predict(device, (&test, &scale), &weights)?;
    let classified = Classified::new(&test, &train, predicted);

    if let (Some(path), Some(trained)) = (&args.plot, &trained) {
        let title = format!("{}: test accuracy {:.3}", train.name, classified.accuracy());
        let about = format!("{} steps on {}", trained.steps, info.name);
        output::write(
            path,
            &plot::svg(&title, &about, &trained.losses, net.classes)?,
        )?;
    }
    if let Some(path) = &args.save {
        weights::save(path, &scale, &weights.download_blocking()?)?;
    }
    let report = Report {
        device: &info,
        devices: &fleet::names(&fleet),
        train: &train,
        test: &test,
        classified: &classified,
        parameters: net.parameters(),
        trained: trained.as_ref(),
    };
    if args.json {
        return Ok(report.json());
    }
    let mut text = report.text();
    for (what, path) in written.into_iter().flatten() {
        text += &format!("{what}{}\n", path.display());
    }
    Ok(text)
}

fn learn(
    args: &Args,
    fleet: &Fleet,
    train: &Dataset,
    scale: &Scale,
) -> Result<Trained, Box<dyn Error>> {
    let epochs = args.epochs as usize;
    let bar = progress::bar(
        args.json,
        format!("epochs on {}", fleet::names(fleet)),
        epochs,
    );
    // A gradient that is divided is rounded otherwise, but in the same way on any number of devices.
    let divided = args.on.devices.map(|_| fleet);
    let on = divided.map_or(On::One(&fleet.devices()[0]), On::Fleet);
    let trained = train::train(on, (train, scale), (epochs, args.seed), &bar);
    bar.finish_and_clear();
    trained
}

/// The training and the test recordings.
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
            bundled!("JapaneseVowels_TRAIN.ts")?,
            bundled!("JapaneseVowels_TEST.ts")?,
        ),
    };
    if train.channels != test.channels {
        let (train, test) = (train.channels, test.channels);
        let text = format!(
            "expected as many channels in the test recordings as in the training recordings, {train}, got {test}"
        );
        return Err(text.into());
    }
    Ok((train, test))
}
