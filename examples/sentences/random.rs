//! A tiny model with random weights, in the published layout, for runs without a published model.

use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Map, Value, json};

use crate::published::{Config, Files};

const SEED: u64 = 16;

/// The model's sizes, except that of its vocabulary.
const CONFIG: Config = Config {
    vocabulary: 0,
    hidden: 64,
    layers: 2,
    heads: 4,
    wide: 128,
    positions: 256,
    epsilon: 1e-12,
    most_tokens: 256,
};

/// The files of the model.
pub fn files() -> Result<Files, safetensors::SafeTensorError> {
    let vocabulary = vocabulary();
    let config = Config {
        vocabulary: vocabulary.len(),
        ..CONFIG
    };
    Ok(Files {
        from: "the random model".to_owned(),
        config: json!({
            "model_type": "bert",
            "hidden_act": "gelu",
            "vocab_size": config.vocabulary,
            "hidden_size": config.hidden,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "intermediate_size": config.wide,
            "max_position_embeddings": config.positions,
            "layer_norm_eps": config.epsilon,
        })
        .to_string()
        .into_bytes(),
        tokenizer: tokenizer(&vocabulary).to_string().into_bytes(),
        weights: weights(&config)?,
        limits: None,
    })
}

/// Markers, letters, digits and signs, at the beginning of a word and inside of one.
fn vocabulary() -> Vec<String> {
    let markers = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned);
    let signs = ('!'..='~').filter(|sign| !sign.is_ascii_uppercase());
    let letters = ('a'..='z').chain('0'..='9');
    let ends = ["##s", "##ed", "##ing", "##er", "the", "and", "to", "of"].map(str::to_owned);
    let all = markers.into_iter().chain(signs.map(String::from));
    let all = all.chain(letters.map(|letter| format!("##{letter}")));
    let mut all: Vec<String> = all.collect();
    for end in ends {
        if !all.contains(&end) {
            all.push(end);
        }
    }
    all
}

fn tokenizer(vocabulary: &[String]) -> Value {
    let ids = vocabulary.iter().zip(0..);
    let ids: Map<String, Value> = ids.map(|(token, id)| (token.clone(), json!(id))).collect();
    let marker = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let sentence = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let special = |name: &str| json!({"id": name, "ids": [ids[name]], "tokens": [name]});
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [marker("[CLS]"), sentence("A"), marker("[SEP]")],
            "pair": [marker("[CLS]"), sentence("A"), marker("[SEP]"), sentence("B"), marker("[SEP]")],
            "special_tokens": {"[CLS]": special("[CLS]"), "[SEP]": special("[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": ids,
        },
    })
}

/// Normalizations that change nothing, no biases, and matrices that keep the size of values.
fn weights(config: &Config) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut tensors = Vec::new();
    for (name, shape) in config.tensors() {
        let count = shape.iter().product();
        let deviation = match (shape.as_slice(), name.ends_with("LayerNorm.weight")) {
            ([_, inputs], _) => (3.0 / *inputs as f32).sqrt(),
            _ => 0.0,
        };
        let shift = f32::from(u8::from(name.ends_with("LayerNorm.weight")));
        let value = |_| shift + deviation * (2.0 * random.f32() - 1.0);
        let bytes: Vec<u8> = (0..count).map(value).flat_map(f32::to_le_bytes).collect();
        tensors.push((name, shape, bytes));
    }
    let views = tensors.iter().map(|(name, shape, bytes)| {
        Ok((
            name.as_str(),
            TensorView::new(Dtype::F32, shape.clone(), bytes)?,
        ))
    });
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    safetensors::serialize(views, None)
}
