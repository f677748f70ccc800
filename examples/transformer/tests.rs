//! The whole example in few steps, and a small model on each device.

use serde_json::Value;
use vsla::Layout;

use super::*;

/// Devices on which the example is tested: the CPU, and a GPU if there is one.
fn devices() -> Vec<Device> {
    let mut all = vec![Device::cpu()];
    match Choice::Gpu.open() {
        Ok(gpu) => all.push(gpu),
        Err(error) if std::env::var_os("VSLA_REQUIRE_GPU").is_some() => panic!("{error}"),
        Err(_) => {}
    }
    all
}

fn of(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let all = ["transformer", "--device", "cpu"].iter().chain(arguments);
    run(&Args::try_parse_from(all)?)
}

/// The short sentences, of which steps are quick.
fn short() -> Pieces {
    let lines = alice::lines().into_iter().filter(|line| line.len() < 60);
    Pieces::of(&lines.collect::<Vec<String>>())
}

fn small(pieces: &Pieces) -> Model {
    Model {
        tokens: pieces.vocabulary.len(),
        width: 32,
        heads: 2,
        layers: 2,
    }
}

fn learned(device: &Device, pieces: &Pieces, steps: usize, seed: u64) -> Trained {
    let bar = indicatif::ProgressBar::hidden();
    train::train(device, (small(pieces), pieces), (steps, seed), &bar).unwrap()
}

fn bits(trained: &Trained) -> Vec<u32> {
    let weights = trained.weights.download_blocking().unwrap();
    weights
        .values()
        .iter()
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn the_loss_falls_below_that_of_frequencies() {
    let pieces = short();
    let baselines = Baselines::of(&pieces);
    for device in devices() {
        let trained = learned(&device, &pieces, 80, 1);
        let last = trained.points.last().unwrap();
        assert!(trained.points[0].train > baselines.unigram);
        assert!(
            last.validation < baselines.unigram - 0.2,
            "{last:?} of {baselines:?} on {}",
            device.info().name
        );
        assert!(trained.padded_bytes > trained.arena_bytes);
    }
}

#[test]
fn a_seed_gives_the_same_bits() {
    let pieces = short();
    for device in devices() {
        let [first, again, other] = [7, 7, 8].map(|seed| learned(&device, &pieces, 3, seed));
        assert_eq!(bits(&first), bits(&again));
        assert_eq!(first.points, again.points);
        assert_ne!(bits(&first), bits(&other));
        let model = small(&pieces);
        let prompts = [vec![3, 4, 5], vec![], vec![9]];
        let text = |trained: &Trained| {
            let of = (model, &trained.weights);
            let bar = indicatif::ProgressBar::hidden();
            let written = decode::write(&device, of, &prompts, (5, 1), &bar).unwrap();
            written.tokens
        };
        assert_eq!(text(&first), text(&again));
        assert!(text(&first).iter().all(|text| text.len() == 5));
    }
}

/// The text is the same with caches and without, in which pieces end and begin anew at different steps.
#[test]
fn caches_do_not_change_the_text() {
    let pieces = short();
    let model = small(&pieces);
    for device in devices() {
        let trained = learned(&device, &pieces, 30, 5);
        let of = (model, &trained.weights);
        let prompts = [vec![3, 4, 5, 6, 7, 8, 9], vec![], vec![9]];
        let bar = indicatif::ProgressBar::hidden();
        let written = decode::write(&device, of, &prompts, (90, 2), &bar).unwrap();
        let anew = decode::write_anew(&device, of, &prompts, (90, 2)).unwrap();
        assert_eq!(written.tokens, anew.tokens, "on {}", device.info().name);
        assert!(
            written
                .tokens
                .iter()
                .any(|tokens| tokens.contains(&text::END))
        );
        assert!(written.tokens.iter().all(|tokens| tokens.len() == 90));
    }
}

/// The scores after a character do not depend on later characters, or on other pieces of the batch.
#[test]
fn characters_see_only_those_before_them() {
    let pieces = short();
    let model = small(&pieces);
    for device in devices() {
        let weights = model.initial(&device, 3).unwrap();
        let scores = |batch: &[&[u32]]| -> Vec<Vec<f32>> {
            let tokens = vsla::Ragged::from_rows(batch).unwrap();
            let tokens = device.upload(&tokens).unwrap();
            let scores = model
                .next(&tokens, &model::Weights(&weights), None)
                .unwrap();
            let scores = scores.download_blocking().unwrap();
            let rows = scores.values().chunks_exact(model.tokens);
            rows.map(<[f32]>::to_vec).collect()
        };
        let text = [0, 5, 9, 2, 7, 7, 1];
        let alone = scores(&[&text[..4]]);
        let beside = scores(&[&text[..2], &text[..4], &text]);
        assert_eq!(alone[0], beside[1]);

        // The losses of a piece are those of its beginnings.
        let layout = Layout::from_lengths([7]).unwrap();
        let upload = |tokens: &[u32]| {
            let line = vsla::Ragged::from_parts(layout.clone(), tokens.to_vec()).unwrap();
            device.upload(&line).unwrap()
        };
        let targets = [5, 9, 2, 7, 7, 1, 0];
        let both = (&upload(&text), &upload(&targets));
        let losses = model.losses(both, &model::Weights(&weights)).unwrap();
        let losses = losses.download_blocking().unwrap();
        for (n, loss) in losses.values().iter().enumerate() {
            let scores = &scores(&[&text[..=n]])[0];
            let sum: f64 = scores.iter().map(|&score| f64::from(score).exp()).sum();
            let expected = sum.ln() - f64::from(scores[targets[n] as usize]);
            assert!(
                (f64::from(*loss) - expected).abs() < 1e-4,
                "{loss}, not {expected}"
            );
        }
    }
}

#[test]
fn results_are_complete() {
    let plot = std::env::temp_dir().join(format!("vsla-transformer-{}.svg", std::process::id()));
    let path = plot.to_str().unwrap();
    let arguments = [
        "--steps", "2", "--length", "3", "--prompt", "Alice ", "--prompt", "The",
    ];
    let text = of(&[&arguments[..], &["--plot", path]].concat()).unwrap();
    let svg = std::fs::read_to_string(path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(
        text.contains("counting     ") && text.contains("writing      ") && text.contains(path),
        "{text}"
    );
    assert!(svg.starts_with("<svg") && svg.contains("frequencies of pairs"));
    let text = of(&[&arguments[..], &["--json"]].concat()).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let number = |key: &str| result[key].as_f64().unwrap();
    assert!(number("bigram_loss") < number("unigram_loss"));
    assert!(number("padded_bytes") > number("peak_bytes"));
    assert!(number("written_per_second") > 0.0);
    assert!(number("written_per_second_without_cache") > 0.0);
    assert!(number("train_loss") > 0.0 && number("validation_loss") > 0.0);
    let texts = result["texts"].as_array().unwrap();
    let begins = |i: usize, prompt: &str| {
        let text = texts[i].as_str().unwrap();
        text.starts_with(prompt) && text.chars().count() == prompt.len() + 3
    };
    assert!(
        texts.len() == 2 && begins(0, "Alice ") && begins(1, "The"),
        "{texts:?}"
    );
}

#[test]
fn wrong_arguments_are_refused_in_words() {
    let refused = |arguments: &[&str]| of(arguments).unwrap_err().to_string();
    assert_eq!(
        refused(&["--prompt", "caf\u{e9}"]),
        "--prompt \"caf\u{e9}\": the text has no '\u{e9}'"
    );
    assert!(refused(&["--steps", "0"]).contains("invalid value '0' for '--steps <N>'"));
    assert!(refused(&["--length", "20000"]).contains("20000 is not in 0..=10000"));
    let device = Args::try_parse_from(["transformer", "--device", "tpu"]);
    let device = device.err().unwrap().to_string();
    assert!(
        device.contains("possible values: auto, cpu, gpu"),
        "{device}"
    );
    let folder = refused(&["--plot", "no/such/folder/loss.svg"]);
    assert_eq!(
        folder,
        "no/such/folder/loss.svg: its directory does not exist"
    );
}
