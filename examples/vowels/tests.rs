//! The whole example on the bundled recordings, and the network against plain loops.

use std::path::PathBuf;

use serde_json::Value;
use vsla::{Device, Layout, Ragged, Shape};

use super::*;

fn of(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let all = ["vowels", "--device", "cpu"].iter().chain(arguments);
    run(&Args::try_parse_from(all)?)
}

fn json(arguments: &[&str]) -> Value {
    let text = of(&[arguments, &["--json"]].concat()).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A file in the system's folder for such files, which is removed when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let name = format!("vsla-vowels-{}-{name}", std::process::id());
        Temporary(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn speakers_are_told_apart() {
    let result = json(&[]);
    assert!(result["accuracy"].as_f64().unwrap() >= 0.97, "{result}");
    assert_eq!(
        (&result["n_train"], &result["n_test"], &result["epochs"]),
        (&270.into(), &370.into(), &40.into())
    );
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    let mut expected = [
        "device",
        "accuracy",
        "n_train",
        "n_test",
        "epochs",
        "parameters",
        "train_seconds",
        "step_us",
        "peak_bytes",
        "padded_bytes",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    // (36 + 1) 128 + (384 + 1) 64 + (128 + 1) 9
    assert_eq!(result["parameters"], 30_537);
    let bytes = |key: &str| result[key].as_u64().unwrap();
    assert!(
        bytes("padded_bytes") > bytes("peak_bytes") * 5 / 4,
        "{result}"
    );
}

fn bits(trained: &Trained) -> Vec<u32> {
    let weights = trained.weights.download_blocking().unwrap();
    let values = weights.values().iter();
    values.map(|value| value.to_bits()).collect()
}

#[test]
fn a_seed_gives_the_same_bits_and_the_loss_falls() {
    let (train, _) = data(&Args::parse_from(["vowels"])).unwrap();
    let scale = Scale::of(&train).unwrap();
    let device = Device::cpu();
    let learn = |seed| {
        let bar = indicatif::ProgressBar::hidden();
        train::train(On::One(&device), (&train, &scale), (3, seed), &bar).unwrap()
    };
    let [first, again, other] = [7, 7, 8].map(learn);
    assert_eq!(bits(&first), bits(&again));
    assert_eq!(first.losses, again.losses);
    assert_ne!(bits(&first), bits(&other));
    assert_eq!(first.steps, 3 * 9);
    // ln 9 = 2.2 for a network that knows nothing.
    assert!(
        first.losses[0] < 2.5 && first.losses[2] < 0.5 * first.losses[0],
        "{:?}",
        first.losses
    );
}

/// In 108 steps, on a GPU that is opened twice, which is two devices.
#[cfg(feature = "gpu")]
#[test]
fn devices_do_not_change_a_bit() {
    let open = || Device::gpu_blocking(vsla::device::GpuOptions::default());
    let (Ok(one), Ok(two)) = (open(), open()) else {
        assert!(std::env::var_os("VSLA_REQUIRE_GPU").is_none());
        return;
    };
    let (train, _) = data(&Args::parse_from(["vowels"])).unwrap();
    let scale = Scale::of(&train).unwrap();
    let learn = |devices: &[Device]| {
        let fleet = Fleet::of(devices.iter().cloned()).unwrap();
        let bar = indicatif::ProgressBar::hidden();
        train::train(On::Fleet(&fleet), (&train, &scale), (12, 7), &bar).unwrap()
    };
    let alone = learn(std::slice::from_ref(&one));
    let both = learn(&[one, two]);
    assert_eq!(bits(&alone), bits(&both));
    assert_eq!(alone.losses, both.losses);
}

/// A divided gradient is rounded otherwise.
#[test]
fn a_fleet_of_one_learns_as_much() {
    let arguments = ["--epochs", "12", "--devices", "all"];
    let (whole, divided) = (json(&arguments[..2]), json(&arguments));
    let accuracy = |result: &Value| result["accuracy"].as_f64().unwrap();
    assert!(
        (accuracy(&whole) - accuracy(&divided)).abs() < 0.03,
        "{whole} {divided}"
    );
    assert_eq!(divided["peak_bytes"], Value::Null);
    let text = of(&arguments).unwrap();
    assert!(
        !text.contains("memory") && text.contains("per step\n"),
        "{text}"
    );
    let error = of(&["--devices", "2"]).unwrap_err().to_string();
    assert!(
        error.contains("--devices asks for 2 equal devices"),
        "{error}"
    );
}

#[test]
fn weights_are_saved_and_read_back() {
    let [file, plot] = ["weights.vsla", "loss.svg"].map(Temporary::new);
    let arguments = [
        "--epochs",
        "4",
        "--save",
        file.path(),
        "--plot",
        plot.path(),
    ];
    let trained = of(&arguments).unwrap();
    let loaded = of(&["--load", file.path()]).unwrap();
    let table = |text: &str| {
        text[text.find("accuracy").unwrap()..]
            .lines()
            .take(12)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(table(&trained), table(&loaded));
    assert!(trained.contains(plot.path()) && trained.contains(file.path()));
    let svg = std::fs::read_to_string(&plot.0).unwrap();
    assert!(
        svg.contains("mean cross-entropy") && svg.contains("<polyline"),
        "{svg}"
    );
    let result = json(&["--load", file.path()]);
    assert_eq!(
        (&result["epochs"], &result["train_seconds"]),
        (&0.into(), &Value::Null)
    );

    let gestures = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../data/PickupGestureWiimoteZ_TEST.ts"
    );
    let error = of(&[
        "--load",
        file.path(),
        "--train",
        gestures,
        "--test",
        gestures,
    ])
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("not the weights of this network (channels: 1, classes: 10)"),
        "{error}"
    );
    let mut bytes = std::fs::read(&file.0).unwrap();
    bytes.truncate(1000);
    std::fs::write(&file.0, bytes).unwrap();
    let error = of(&["--load", file.path()]).unwrap_err().to_string();
    assert!(error.starts_with(file.path()), "{error}");
}

#[test]
fn recordings_of_one_channel_work_too() {
    let file = |name: &str| {
        format!(
            "{}/../data/PickupGestureWiimoteZ_{name}.ts",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let (train, test) = (file("TRAIN"), file("TEST"));
    let text = of(&["--epochs", "1", "--train", &train, "--test", &test]).unwrap();
    assert!(
        text.contains(
            "50 training and 50 test recordings of 29 to 361 samples, channels: 1, classes: 10"
        ),
        "{text}"
    );
    let vowels = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../data/JapaneseVowels_TEST.ts"
    );
    let error = of(&["--train", &train, "--test", vowels])
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "expected as many channels in the test recordings as in the training recordings, 1, got 12"
    );
}

#[test]
fn recordings_of_one_length_have_no_padding() {
    let file = Temporary::new("equal.ts");
    let text = "@univariate true\n@classLabel true a b\n@data\n1,2,3:a\n-1,-2,0:b\n0.5,1,1:a\n";
    std::fs::write(&file.0, text).unwrap();
    let result = json(&[
        "--epochs",
        "1",
        "--train",
        file.path(),
        "--test",
        file.path(),
    ]);
    assert_eq!(result["peak_bytes"], result["padded_bytes"], "{result}");
}

#[test]
fn wrong_arguments_are_refused() {
    for bad in [
        &["--train", "a.ts"][..],
        &["--epochs", "0"],
        &["--load", "w.vsla", "--epochs", "3"],
        &["--load", "w.vsla", "--save", "v.vsla"],
    ] {
        assert!(
            Args::try_parse_from(["vowels"].iter().chain(bad)).is_err(),
            "{bad:?}"
        );
    }
    for bad in [
        &["--load", "/nowhere/at/all.vsla"][..],
        &["--plot", "/nowhere/at/all.svg"],
    ] {
        assert!(
            of(bad)
                .unwrap_err()
                .to_string()
                .starts_with("/nowhere/at/all"),
            "{bad:?}"
        );
    }
    let error = of(&["--plot", "one", "--save", "one"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--plot and --save name the same file: use two names"
    );
}

/// A row of values times a matrix, plus biases, in f64.
fn dense(row: &[f64], matrix: &[f32], biases: &[f32]) -> Vec<f64> {
    let column = |j: usize| {
        let products = row
            .iter()
            .enumerate()
            .map(|(i, x)| x * f64::from(matrix[i * biases.len() + j]));
        products.sum::<f64>() + f64::from(biases[j])
    };
    (0..biases.len()).map(column).collect()
}

/// A convolution over time by its definition, in f64: three samples, zeros outside the recording, then `relu`.
fn convolution(x: &[Vec<f64>], matrix: &[f32], biases: &[f32]) -> Vec<Vec<f64>> {
    let zeros = vec![0.0; x[0].len()];
    let sample = |i: usize| {
        let before = i.checked_sub(1).map_or(&zeros, |i| &x[i]);
        let row = [before, &x[i], x.get(i + 1).unwrap_or(&zeros)]
            .map(Vec::as_slice)
            .concat();
        dense(&row, matrix, biases)
            .iter()
            .map(|value| value.max(0.0))
            .collect()
    };
    (0..x.len()).map(sample).collect()
}

#[test]
fn scores_are_those_of_plain_loops() {
    let device = Device::cpu();
    let net = Net {
        channels: 2,
        classes: 3,
    };
    let first = net
        .weights(&device, 5)
        .unwrap()
        .download_blocking()
        .unwrap();
    // Biases of 0 would hide a mistake.
    let weights = Ragged::from_fn(first.layout(), |i, k| match i % 2 {
        0 => first.row(i)[k],
        _ => 0.25 - 0.125 * (k % 5) as f32,
    })
    .unwrap();
    let shapes = [5, 1, 2].map(|samples| Shape::new(&[samples, 2]).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let x = Ragged::from_fn(&layout, |i, k| ((7 * i + 3 * k) % 11) as f32 / 4.0 - 1.0).unwrap();
    let [on_x, on_weights] = [&x, &weights].map(|batch| device.upload(batch).unwrap());
    let scores = net::parts(&on_weights)
        .and_then(|parts| net::scores(&on_x, &parts))
        .unwrap()
        .download_blocking()
        .unwrap();
    assert_eq!(scores.shape(0), Shape::new(&[3, 3]).unwrap());

    let mut expected = Vec::new();
    for recording in x.iter() {
        let samples = recording
            .chunks(2)
            .map(|sample| sample.iter().map(|&x| f64::from(x)).collect());
        let samples: Vec<Vec<f64>> = samples.collect();
        let maps = convolution(&samples, weights.row(0), weights.row(1));
        let maps = convolution(&maps, weights.row(2), weights.row(3));
        let over = |f: &dyn Fn(&mut dyn Iterator<Item = f64>) -> f64| -> Vec<f64> {
            (0..maps[0].len())
                .map(|k| f(&mut maps.iter().map(|map| map[k])))
                .collect()
        };
        let count = maps.len() as f64;
        let mean = over(&|values| values.sum::<f64>() / count);
        let max = over(&|values| values.fold(0.0, f64::max));
        expected.extend(dense(&[mean, max].concat(), weights.row(4), weights.row(5)));
    }
    for (got, expected) in scores.values().iter().zip(&expected) {
        assert!(
            (f64::from(*got) - expected).abs() < 1e-5,
            "{got} {expected}"
        );
    }
    assert_eq!(expected.len(), 9);
}
