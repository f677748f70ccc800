//! The whole example: on the model with random weights, against plain loops in f64; and on the published weights,
//! against their known answers, if `VSLA_MINILM` names their folder or a cache has them.

mod reference;

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::Value;
use vsla::{Device, Ragged};

use super::*;
use crate::device::Choice;

fn of(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    run(&Args::try_parse_from(
        ["sentences"].iter().chain(arguments),
    )?)
}

fn json(arguments: &[&str]) -> Value {
    let text = of(&[arguments, &["--json"]].concat()).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn error(arguments: &[&str]) -> String {
    of(arguments).unwrap_err().to_string()
}

/// The devices to test on.
fn devices() -> Vec<&'static str> {
    match Choice::Gpu.open() {
        Ok(_) => vec!["cpu", "gpu"],
        Err(error) if std::env::var_os("VSLA_REQUIRE_GPU").is_some() => panic!("{error}"),
        Err(_) => vec!["cpu"],
    }
}

/// A folder in the system's folder for such files, which is removed when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let name = format!("vsla-sentences-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Temporary(folder)
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes the model with random weights as models are published.
    fn model(&self) -> &str {
        let files = random::files().unwrap();
        self.file("config.json", files.config);
        self.file("tokenizer.json", files.tokenizer);
        self.file("model.safetensors", files.weights);
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The vectors that a run writes.
fn vectors(folder: &Temporary, arguments: &[&str]) -> Vec<Vec<f32>> {
    let out = folder.path("out.vsla");
    of(&[arguments, &["--out", &out]].concat()).unwrap();
    rows(&Ragged::read(out).unwrap())
}

fn rows(matrix: &Ragged<f32>) -> Vec<Vec<f32>> {
    let width = matrix.shape(0).extents()[1] as usize;
    let rows = matrix.values().chunks_exact(width);
    rows.map(<[f32]>::to_vec).collect()
}

#[test]
fn bundled_text_needs_no_model() {
    let result = json(&["--random", "--device", "cpu", "--query", "a cat"]);
    assert_eq!(
        (&result["random"], &result["width"]),
        (&true.into(), &64.into())
    );
    let lines = alice::lines();
    assert!(lines.len() >= 200 && result["lines"] == lines.len());
    let count = |key: &str| result[key].as_u64().unwrap();
    let counts: Vec<u64> = serde_json::from_value(result["token_counts"].clone()).unwrap();
    // The query is embedded like a line: its letters and both markers.
    assert_eq!(counts.iter().sum::<u64>() + 6, count("tokens"));
    assert!(count("padded_tokens") > count("tokens"));
    assert!(count("padded_bytes") > count("peak_bytes"));
    assert_eq!(result["queries"][0]["nearest"].as_array().unwrap().len(), 5);
    let text = of(&["--random", "--device", "cpu"]).unwrap();
    assert!(text.contains("weights are random"), "{text}");
}

/// Checks that a run of these lines, which make at least so many batches, holds at most so many times the bytes that it
/// needs at one time, in f32 and in f16.
fn check_memory(model: &[&str], lines: &str, batches: u64, most: impl Fn(&str, bool) -> f64) {
    for device in devices() {
        for half in [false, true] {
            let kind: &[&str] = if half { &["--f16"] } else { &[] };
            let result = json(&[model, &["--device", device, lines], kind].concat());
            let count = |key: &str| result[key].as_u64().unwrap();
            let (held, live) = (count("device_bytes"), count("live_bytes"));
            assert!(count("batches") >= batches, "{result}");
            assert!(
                held >= live && held as f64 <= most(device, half) * live as f64,
                "{device} {kind:?}: {held} bytes, {live} needed"
            );
        }
    }
}

#[test]
fn a_run_holds_little_more_than_it_needs() {
    let folder = Temporary::new("memory");
    // Enough for three batches, of which the last is the smallest.
    let text = alice::lines();
    let lines = folder.file("lines", text.join("\n"));
    // Without cooperative matrices, a product of f16 has sums in f32 beside its operands and its result. Each lies in
    // a buffer of its own, and so does the result of the next product, which is not needed at the same time as all
    // others.
    let most = |device: &str, half| if device == "gpu" && half { 1.25 } else { 1.15 };
    check_memory(&["--random"], &lines, 3, most);
}

#[test]
fn plain_loops_give_the_same() {
    let folder = Temporary::new("loops");
    let lines = "Down, down, down.\n\nThe cat's paw, the hatter's 7 cups & 1 mouse\nx\n";
    let file = folder.file("lines", lines);
    let files = random::files().unwrap();
    let config = Config::of(&files).unwrap();
    let tokens = Tokens::new(&files, &config).unwrap();
    let tokens = tokens
        .of(&tokens::read(&[file.clone().into()]).unwrap())
        .unwrap();
    assert_eq!(tokens[1], [2, 3], "an empty line has only its markers");
    let expected = reference::vectors(&files, &config, &tokens);
    for device in devices() {
        for (kind, bound) in [("", 2e-6), ("--f16", 4e-3)] {
            let mut arguments = vec!["--random", "--device", device, &file];
            arguments.extend(Some(kind).filter(|kind| !kind.is_empty()));
            let vectors = vectors(&folder, &arguments);
            assert_eq!(vectors.len(), 4);
            for (got, expected) in vectors.iter().flatten().zip(expected.iter().flatten()) {
                let error = (f64::from(*got) - expected).abs();
                assert!(error <= bound, "{device} {kind}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn a_line_does_not_see_others() {
    let folder = Temporary::new("alone");
    let lines = alice::lines();
    let some: Vec<&str> = lines[..40].iter().map(String::as_str).collect();
    let together = folder.file("together", some.join("\n"));
    for device in devices() {
        let all = vectors(&folder, &["--random", "--device", device, &together]);
        for i in [0, 7, 39] {
            let alone = folder.file("alone", some[i]);
            let alone = vectors(&folder, &["--random", "--device", device, &alone]);
            assert_eq!(alone, [all[i].clone()], "line {i} on {device}");
        }
    }
}

/// On the CPU, and on a GPU that is opened twice, which is two devices.
#[test]
fn devices_do_not_change_a_bit() {
    let files = random::files().unwrap();
    let config = Config::of(&files).unwrap();
    let tokens = Tokens::new(&files, &config).unwrap();
    let tokens = tokens.of(&alice::lines()).unwrap();
    let embedded = |devices: &[Device]| {
        let fleet = Fleet::of(devices.iter().cloned()).unwrap();
        let load = |device| published::load::<f32>(device, &files, &config).unwrap();
        let encoders: Vec<_> = devices.iter().map(load).collect();
        let bar = indicatif::ProgressBar::hidden();
        let divided = embed::divided(&fleet, &encoders, &tokens, &bar).unwrap();
        let whole = embed::embed(&devices[0], &encoders[0], &tokens, &bar).unwrap();
        assert!(divided.vectors == whole.vectors);
        let counts = |all: &Embedded| (all.tokens, all.vectors.len());
        assert_eq!(counts(&divided), counts(&whole));
    };
    embedded(&[Device::cpu()]);
    if devices().contains(&"gpu") {
        embedded(&[(); 2].map(|()| Choice::Gpu.open().unwrap()));
    }
    let results = ["1", "all"].map(|count| {
        let mut result = json(&[
            "--random",
            "--device",
            "cpu",
            "--devices",
            count,
            "--query",
            "a cat",
        ]);
        result["queries"].take()
    });
    let mut whole = json(&["--random", "--device", "cpu", "--query", "a cat"]);
    assert_eq!(results, [whole["queries"].clone(), whole["queries"].take()]);
    let refused = error(&["--random", "--device", "cpu", "--devices", "2"]);
    assert!(refused.contains("--devices asks for 2"), "{refused}");
}

#[test]
fn files_hold_the_same() {
    let folder = Temporary::new("files");
    let text = folder.file("text", "one\n\nthree words here");
    // As published, and as generated.
    let model = folder.model();
    let expected = vectors(&folder, &["--random", "--device", "cpu", &text]);
    assert_eq!(
        vectors(&folder, &["--model", model, "--device", "cpu", &text]),
        expected
    );
    let write = |name: &str| {
        let path = folder.path(name);
        of(&["--random", "--device", "cpu", "--out", &path, &text]).unwrap();
        std::fs::read(path).unwrap()
    };
    let values: Vec<u8> = expected
        .concat()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let file = write("v.safetensors");
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let tensor = tensors.tensor("embeddings").unwrap();
    assert_eq!((tensor.shape(), tensor.data()), (&[3, 64][..], &values[..]));
    let file = write("v.npy");
    assert_eq!(&file[128..], values);
    assert!(
        String::from_utf8_lossy(&file[..128])
            .contains("'<f4', 'fortran_order': False, 'shape': (3, 64)")
    );
}

#[test]
fn wrong_input_is_named() {
    let folder = Temporary::new("wrong");
    let text = folder.file("text", "one");
    let device = ["--device", "cpu"];
    let of_text = |name: &str, bytes: &[u8]| {
        let path = folder.file(name, bytes);
        let text = error(&[&device[..], &["--random", &path]].concat());
        text.strip_prefix(&path).unwrap_or(&text).to_owned()
    };
    assert_eq!(of_text("empty", b""), ": the file is empty");
    assert_eq!(
        of_text("latin", b"a\nb\nna\xefve\n"),
        ": line 3 is not UTF-8"
    );
    let missing = error(&["--random", &folder.path("none")]);
    assert!(missing.contains("none: No such file"), "{missing}");
    let end = error(&["--random", "--out", "vectors.csv", &text]);
    assert_eq!(
        end,
        "vectors.csv: expected a name that ends in .vsla, .safetensors or .npy"
    );

    let with = |file: &str, bytes: Vec<u8>| {
        let folder = Temporary::new(file);
        let model = folder.model().to_owned();
        folder.file(file, bytes);
        let text = error(&["--device", "cpu", "--model", &model, &text]);
        text.strip_prefix(&model).unwrap_or(&text).to_owned()
    };
    let files = random::files().unwrap();
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    config["intermediate_size"] = 100.into();
    assert_eq!(
        with("config.json", config.to_string().into_bytes()),
        "/model.safetensors: encoder.layer.0.intermediate.dense.weight: expected F32 [100, 64], found F32 [128, 64]"
    );
    config["intermediate_size"] = 128.into();
    config["num_hidden_layers"] = 3.into();
    assert_eq!(
        with("config.json", config.to_string().into_bytes()),
        "/model.safetensors: encoder.layer.2.attention.output.LayerNorm.weight: expected F32 [64], found no such tensor"
    );
    config["hidden_act"] = "relu".into();
    assert_eq!(
        with("config.json", config.to_string().into_bytes()),
        "/config.json: hidden_act: expected \"gelu\", found \"relu\""
    );
    assert!(with("model.safetensors", vec![0; 9]).starts_with("/model.safetensors: "));
    assert!(with("tokenizer.json", b"{}".to_vec()).starts_with("/tokenizer.json: "));
    let none = Files::read(Path::new(&folder.path("nowhere")))
        .err()
        .unwrap()
        .to_string();
    assert!(none.contains("config.json: No such file"), "{none}");
}

const SENTENCES: [&str; 4] = [
    "A cat sits on the mat.",
    "A feline rests upon a rug.",
    "The stock market fell sharply on Monday after inflation data surprised investors, and bond yields rose to their \
     highest level in a decade.",
    "Shares dropped on Monday following unexpectedly high inflation figures.",
];

/// The folder of the published weights.
fn published_weights() -> Option<PathBuf> {
    let named = std::env::var_os("VSLA_MINILM").map(PathBuf::from);
    named.or_else(published::cached)
}

#[test]
fn published_weights_give_known_answers() {
    let Some(model) = published_weights() else {
        eprintln!("not tested: VSLA_MINILM does not name the folder of all-MiniLM-L6-v2");
        return;
    };
    let (model, folder) = (model.to_str().unwrap(), Temporary::new("known"));
    let lines = alice::lines()[..4].join("\n");
    let lines = folder.file("lines", lines);
    check_memory(&["--model", model], &lines, 1, |_, _| 1.15);
    let file = folder.file("text", SENTENCES.join("\n"));
    for device in devices() {
        let arguments = ["--model", model, "--device", device, &file];
        let counts = &json(&arguments)["token_counts"];
        assert_eq!(*counts, serde_json::json!([9, 10, 27, 12]));
        let all = vectors(&folder, &arguments);
        let known = [
            0.12653522,
            -0.03285073,
            -0.02905963,
            0.04440699,
            -0.04344531,
        ];
        for (got, known) in all[0].iter().zip(known) {
            assert!(
                (f64::from(*got) - known).abs() <= 2e-6,
                "{device}: {got}, not {known}"
            );
        }
        let halves = vectors(&folder, &[&arguments[..], &["--f16"]].concat());
        for (a, b, known) in [(0, 1, 0.560), (2, 3, 0.564)] {
            let cosine = embed::cosine(&all[a], &all[b]);
            assert!(
                (cosine - known).abs() <= 5e-4,
                "{device}: {cosine}, not {known}"
            );
            let of_halves = embed::cosine(&halves[a], &halves[b]);
            assert!(
                (of_halves - cosine).abs() <= 1e-3,
                "{device}: {of_halves}, not {cosine}"
            );
        }
    }
}
