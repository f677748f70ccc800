//! The encoder in plain loops, in f64, one sentence after the other.

use safetensors::SafeTensors;

use crate::published::{Config, Files};

type Rows = Vec<Vec<f64>>;

struct Plain<'a> {
    tensors: SafeTensors<'a>,
    config: &'a Config,
}

/// The vectors of sentences of these tokens.
pub fn vectors(files: &Files, config: &Config, tokens: &[Vec<u32>]) -> Rows {
    let tensors = SafeTensors::deserialize(&files.weights).unwrap();
    let plain = Plain { tensors, config };
    tokens.iter().map(|tokens| plain.vector(tokens)).collect()
}

impl Plain<'_> {
    fn values(&self, name: &str) -> Vec<f64> {
        let tensor = self.tensors.tensor(name).unwrap();
        let values = tensor.data().chunks_exact(4);
        values
            .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
            .collect()
    }

    fn row(&self, of: &str, i: usize) -> Vec<f64> {
        let width = self.config.hidden;
        self.values(&format!("embeddings.{of}_embeddings.weight"))[i * width..][..width].to_vec()
    }

    fn linear(&self, name: &str, x: &Rows) -> Rows {
        let (weights, biases) = (
            self.values(&format!("{name}.weight")),
            self.values(&format!("{name}.bias")),
        );
        let of = |row: &Vec<f64>| {
            let columns = weights.chunks_exact(row.len()).zip(&biases);
            columns
                .map(|(column, bias)| dot(row, column) + bias)
                .collect()
        };
        x.iter().map(of).collect()
    }

    fn norm(&self, name: &str, x: &Rows) -> Rows {
        let scale = self.values(&format!("{name}.LayerNorm.weight"));
        let shift = self.values(&format!("{name}.LayerNorm.bias"));
        let of = |row: &Vec<f64>| {
            let n = row.len() as f64;
            let mean = row.iter().sum::<f64>() / n;
            let squares = row.iter().map(|x| (x - mean).powi(2));
            let deviation = (squares.sum::<f64>() / n + f64::from(self.config.epsilon)).sqrt();
            let values = row.iter().zip(scale.iter().zip(&shift));
            values
                .map(|(x, (scale, shift))| (x - mean) / deviation * scale + shift)
                .collect()
        };
        x.iter().map(of).collect()
    }

    fn attention(&self, of: &str, x: &Rows) -> Rows {
        let part = |name: &str| self.linear(&format!("{of}.attention.self.{name}"), x);
        let (q, k, v) = (part("query"), part("key"), part("value"));
        let width = self.config.hidden / self.config.heads;
        let head = |row: &Vec<f64>, h: usize| row[h * width..][..width].to_vec();
        let of = |q: &Vec<f64>| {
            let mut all = Vec::new();
            for h in 0..self.config.heads {
                let scores = k.iter().map(|k| dot(&head(q, h), &head(k, h)));
                let weights = scores.map(|score| (score / (width as f64).sqrt()).exp());
                let weights: Vec<f64> = weights.collect();
                let sum: f64 = weights.iter().sum();
                all.extend((h * width..(h + 1) * width).map(|i| {
                    let values = weights.iter().zip(&v);
                    values.map(|(weight, v)| weight * v[i]).sum::<f64>() / sum
                }));
            }
            all
        };
        q.iter().map(of).collect()
    }

    fn vector(&self, tokens: &[u32]) -> Vec<f64> {
        let types = self.row("token_type", 0);
        let token = |(i, &token): (usize, &u32)| {
            let (word, position) = (self.row("word", token as usize), self.row("position", i));
            added(&added(&word, &position), &types)
        };
        let mut x = self.norm(
            "embeddings",
            &tokens.iter().enumerate().map(token).collect(),
        );
        for i in 0..self.config.layers {
            let of = format!("encoder.layer.{i}");
            let attended = self.attention(&of, &x);
            let attended = self.linear(&format!("{of}.attention.output.dense"), &attended);
            x = self.norm(&format!("{of}.attention.output"), &both(&x, &attended));
            let mut wide = self.linear(&format!("{of}.intermediate.dense"), &x);
            wide.iter_mut().flatten().for_each(|x| *x = gelu(*x));
            let narrow = self.linear(&format!("{of}.output.dense"), &wide);
            x = self.norm(&format!("{of}.output"), &both(&x, &narrow));
        }
        let sums = x
            .iter()
            .skip(1)
            .fold(x[0].clone(), |sums, row| added(&sums, row));
        // The mean has the same direction.
        let length = dot(&sums, &sums).sqrt();
        sums.iter().map(|sum| sum / length).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn added(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn both(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| added(a, b)).collect()
}

/// x Φ(x), with the series of the error function, which converges for every x that occurs here.
fn gelu(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -x * x / 2.0 / n;
        sum += term / (2.0 * n + 1.0);
    }
    x * (0.5 + sum / (2.0 * std::f64::consts::PI).sqrt())
}
