//! Embeds the lines of text files with a published sentence encoder, without padding, and finds the nearest lines.
//!
//! Lines have different lengths, and no step pads them: linear layers treat the tokens of all lines as the rows of one
//! matrix, and attention and the mean treat each line separately. The encoder is one program, recorded for each batch
//! of lines. The example reads the published files of all-MiniLM-L6-v2, and of other models with BERT's layout
//! whose vectors are means of tokens.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vsla::f16;
use vsla::fleet::Fleet;
use vsla::scalar::Float;

use embed::Embedded;
use fleet::Where;
use published::{Config, Files};
use report::{Found, Report};
use tokens::Tokens;
use write::Form;

#[path = "../common/alice.rs"]
mod alice;
#[path = "../common/device.rs"]
mod device;
mod embed;
mod encoder;
#[path = "../common/fleet.rs"]
mod fleet;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/output.rs"]
mod output;
#[path = "../common/progress.rs"]
mod progress;
mod published;
mod random;
mod report;
#[cfg(test)]
mod tests;
mod tokens;
mod write;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p sentences
  cargo run --release -p sentences -- --query \"Alice talks to her cat\" notes.txt letters.txt
  cargo run --release -p sentences -- --f16 --out vectors.npy notes.txt
  cargo run --release -p sentences -- --devices all notes.txt
  cargo run --release -p sentences -- --model all-MiniLM-L6-v2 --json notes.txt > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Embed the lines of text files, and find those nearest to a text
///
/// Uses the published files of all-MiniLM-L6-v2, from --model or from the usual cache folders. Without files it embeds
/// the included text, a part of Alice's Adventures in Wonderland; if there is no model either, it uses random weights.
#[derive(Parser)]
#[command(name = "sentences", version, after_help = EXAMPLES)]
struct Args {
    /// Text files with one sentence per line
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the lines nearest to this text; may be given several times
    #[arg(long, value_name = "TEXT")]
    query: Vec<String>,
    /// How many lines to print for each query
    #[arg(long, value_name = "N", default_value_t = 5)]
    nearest: usize,
    /// The folder of the model: config.json, tokenizer.json and model.safetensors
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Use a tiny model with random weights
    #[arg(long, conflicts_with = "model")]
    random: bool,
    /// Store weights and values as f16, and sum in f32
    #[arg(long)]
    f16: bool,
    #[command(flatten)]
    on: Where,
    /// Write the vectors, one row per line, to a .vsla, .safetensors or .npy file
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Print only one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if let Some(path) = &args.out {
        Form::of(path)?;
        output::check_writable(path)?;
    }
    let (files, random) = model(args)?;
    let lines = match args.files.as_slice() {
        [] => alice::lines(),
        files => tokens::read(files)?,
    };
    let config = Config::of(&files)?;
    let tokens = Tokens::new(&files, &config)?;
    // Queries are lines like all others, after them.
    let texts = [lines.as_slice(), &args.query].concat();
    let tokens = tokens.of(&texts)?;
    let fleet = args.on.open()?;
    let mut embedded = match args.f16 {
        true => embed::<f16>(args, &fleet, (&files, &config), &tokens)?,
        false => embed::<f32>(args, &fleet, (&files, &config), &tokens)?,
    };
    let queries = embedded.vectors.split_off(lines.len());
    let found = args
        .query
        .iter()
        .zip(&queries)
        .map(|(query, vector)| Found {
            query: query.clone(),
            nearest: embed::nearest(vector, &embedded.vectors, args.nearest),
        });
    let found: Vec<Found> = found.collect();
    if let Some(path) = &args.out {
        write::write(path, &embedded.vectors)?;
    }

    let info = fleet.devices()[0].info();
    let lengths: Vec<usize> = tokens[..lines.len()].iter().map(Vec::len).collect();
    let weights = config.tensors().into_iter();
    let weights: usize = weights
        .map(|(_, shape)| shape.iter().product::<usize>())
        .sum();
    let report = Report {
        device: &info,
        devices: &fleet::names(&fleet),
        model: &files.from,
        random,
        half: args.f16,
        lines: &lines,
        lengths: &lengths,
        embedded: &embedded,
        weight_bytes: (weights * if args.f16 { 2 } else { 4 }) as u64,
        found: &found,
    };
    if args.json {
        return Ok(report.json());
    }
    let mut text = report.text();
    if let Some(path) = &args.out {
        text += &format!("\nvectors      {}\n", path.display());
    }
    Ok(text)
}

/// The model's files, and whether they are random.
fn model(args: &Args) -> Result<(Files, bool), Box<dyn Error>> {
    let folder = match (args.random, &args.model) {
        (true, _) => None,
        (false, Some(folder)) => Some(folder.clone()),
        (false, None) => published::cached(),
    };
    match folder {
        Some(folder) => Ok((Files::read(&folder)?, false)),
        None if args.random || args.files.is_empty() => Ok((random::files()?, true)),
        None => Err(published::missing()),
    }
}

fn embed<T: Float>(
    args: &Args,
    fleet: &Fleet,
    (files, config): (&Files, &Config),
    tokens: &[Vec<u32>],
) -> Result<Embedded, Box<dyn Error>> {
    let devices = fleet.devices();
    let encoders = devices
        .iter()
        .map(|device| published::load::<T>(device, files, config));
    let encoders = encoders.collect::<Result<Vec<_>, _>>()?;
    let what = format!("lines on {}", fleet::names(fleet));
    let bar = progress::bar(args.json, what, tokens.len());
    let embedded = match args.on.devices {
        None => embed::embed(&devices[0], &encoders[0], tokens, &bar),
        Some(_) => embed::divided(fleet, &encoders, tokens, &bar),
    };
    bar.finish_and_clear();
    embedded
}
