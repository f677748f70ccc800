//! Trains a small transformer to write text, character by character, on pieces of different lengths without padding.
//!
//! Two layers of causal attention with rotary position embeddings. One training step (forward, backward, optimizer) is
//! one recorded program, and so is one step of generating text, which keeps keys and values in caches. The text is a
//! part of Alice's Adventures in Wonderland, and each piece is a sentence.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vsla::Device;

use device::Choice;
use model::Model;
use report::Report;
use text::{Baselines, Pieces};
use train::Trained;

#[path = "../common/adam.rs"]
mod adam;
#[path = "../common/alice.rs"]
mod alice;
mod decode;
#[path = "../common/device.rs"]
mod device;
#[path = "../common/ink.rs"]
mod ink;
mod model;
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
mod text;
mod train;

/// Characters that are also written without a cache, to compare speeds.
const COMPARED: usize = 200;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p transformer
  cargo run --release -p transformer -- --steps 300 --plot loss.svg
  cargo run --release -p transformer -- --prompt \"Alice \" --prompt \"The Queen \" --length 400
  cargo run --release -p transformer -- --device cpu --json > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Train a small transformer on a part of Alice's Adventures in Wonderland, and generate text with it
///
/// Prints the mean loss on sentences that were not used for training, the losses of models that count characters and
/// pairs of characters, and the generated text. The same seed gives the same weights and text, bit for bit, on the
/// same device.
#[derive(Parser)]
#[command(name = "transformer", version, after_help = EXAMPLES)]
struct Args {
    /// How many steps to train, each on 12 sentences
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,
    /// The seed of the initial weights, of the order of the sentences and of the generated text
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Begin the generated text with this; may be given several times
    #[arg(long, value_name = "TEXT")]
    prompt: Vec<String>,
    /// How many characters to generate after each prompt
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    length: u32,
    /// Plot the losses
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// Print only one JSON object
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
    let pieces = Pieces::of(&alice::lines());
    let prompts = prompts(args, &pieces)?;
    let baselines = Baselines::of(&pieces);
    let device = args.device.open()?;
    let info = device.info();
    let model = Model {
        tokens: pieces.vocabulary.len(),
        width: 64,
        heads: 4,
        layers: 2,
    };
    let trained = learn(args, &device, model, &pieces)?;
    let (length, of) = (args.length as usize, (model, &trained.weights));
    let bar = progress::bar(args.json, "characters of the text".to_owned(), length);
    let written = decode::write(&device, of, &prompts, (length, args.seed), &bar);
    bar.finish_and_clear();
    let written = written?;
    let anew = (length.min(COMPARED), args.seed);
    let anew = decode::write_anew(&device, of, &prompts, anew)?;
    let texts = prompts
        .iter()
        .zip(&written.tokens)
        .map(|(prompt, written)| {
            let tokens = prompt.iter().chain(written);
            tokens
                .map(|&token| pieces.vocabulary.character(token))
                .collect()
        });
    let texts: Vec<String> = texts.collect();

    if let Some(path) = &args.plot {
        let last = trained
            .points
            .last()
            .map_or(f64::NAN, |point| point.validation);
        let title =
            format!("A transformer of two layers: {last:.3} nats for each character held out");
        let about = format!(
            "{} parameters on {}",
            numbers::thousands(model.parameters()),
            info.name
        );
        output::write(path, plot::svg(&title, &about, &trained.points, baselines)?)?;
    }
    let report = Report {
        device: &info,
        pieces: &pieces,
        parameters: model.parameters(),
        steps: args.steps as usize,
        trained: &trained,
        baselines,
        written: &written,
        anew: &anew,
        texts: &texts,
    };
    if args.json {
        return Ok(report.json());
    }
    let mut text = report.text();
    if let Some(path) = &args.plot {
        text += &format!("\nplot         {}\n", path.display());
    }
    Ok(text)
}

/// The tokens of all prompts; an empty one if there is none.
fn prompts(args: &Args, pieces: &Pieces) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let tokens = |prompt: &String| {
        let tokens = pieces.vocabulary.tokens(prompt);
        tokens.map_err(|c| format!("--prompt {prompt:?}: the text has no {c:?}").into())
    };
    match args.prompt.as_slice() {
        [] => Ok(vec![Vec::new()]),
        prompts => prompts.iter().map(tokens).collect(),
    }
}

fn learn(
    args: &Args,
    device: &Device,
    model: Model,
    pieces: &Pieces,
) -> Result<Trained, Box<dyn Error>> {
    let steps = args.steps as usize;
    let bar = progress::bar(args.json, format!("steps on {}", device.info().name), steps);
    let trained = train::train(device, (model, pieces), (steps, args.seed), &bar);
    bar.finish_and_clear();
    trained
}
