//! The model: causal attention with rotary position embeddings, and layers that treat each character alone.
//!
//! Linear layers see the characters of all pieces as the rows of one matrix; attention sees the pieces. Both are views
//! of the same values. The weights are one ragged batch, a matrix for each layer: so the optimizer is written once.

use vsla::attention::Cache;
use vsla::product::Activation;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor};

/// Added to the mean square of a row before it is divided by its root.
const EPSILON: f32 = 1e-5;
/// Matrices of a layer.
const OF_LAYER: usize = 8;

/// The sizes of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// Tokens of the vocabulary.
    pub tokens: usize,
    /// Values of each character between layers.
    pub width: usize,
    pub heads: usize,
    pub layers: usize,
}

/// A matrix of weights: its extents, and the mean and deviation of its first values.
type Init = ([usize; 2], f32, f32);

impl Model {
    /// The matrices of weights: the table of characters, those of each layer, and the scale of the last normalization.
    fn weights(self) -> Vec<Init> {
        let d = self.width;
        let scale = ([1, d], 1.0, 0.0);
        let linear =
            |inputs: usize, outputs: usize| ([inputs, outputs], 0.0, (1.0 / inputs as f32).sqrt());
        // Matrices whose results are added to rows begin with small weights.
        let added = |inputs: usize| ([inputs, d], 0.0, 0.3 * (1.0 / inputs as f32).sqrt());
        let layer = [
            scale,
            linear(d, d),
            linear(d, d),
            linear(d, d),
            added(d),
            scale,
            linear(d, 4 * d),
            added(4 * d),
        ];
        let layer: [Init; OF_LAYER] = layer;
        let mut all = vec![([self.tokens, d], 0.0, 0.5 * (1.0 / d as f32).sqrt())];
        (0..self.layers).for_each(|_| all.extend(layer));
        all.push(scale);
        all
    }

    /// The number of weights.
    pub fn parameters(self) -> usize {
        let all = self.weights().into_iter();
        all.map(|([rows, columns], ..)| rows * columns).sum()
    }

    /// Random weights, and scales of 1.
    pub fn initial(self, device: &Device, seed: u64) -> Result<Tensor<f32>> {
        let all = self.weights();
        let shapes = all.iter().map(|(extents, ..)| Shape::new(extents));
        let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<Shape>>>()?)?;
        let column = |value: fn(&Init) -> f32| {
            device.upload(&Ragged::from_rows(all.iter().map(|of| [value(of)]))?)
        };
        let (means, deviations) = (column(|of| of.1)?, column(|of| of.2)?);
        let normal = device.normal(&layout, 0.0f32, 1.0, seed)?;
        normal.mul_add(deviations.each(), means.each())
    }

    /// The results of the layers for the tokens of each piece, as the rows of one matrix.
    ///
    /// With caches, one for each layer, the tokens follow those whose keys and values the caches hold, and theirs are
    /// appended.
    fn rows(
        self,
        tokens: &Tensor<u32>,
        weights: &Weights,
        mut caches: Option<&mut [Cache<f32>]>,
    ) -> Result<Tensor<f32>> {
        let x = weights.table()?.embedding(tokens)?;
        let pieces = x.layout().clone();
        let mut x = x.packed()?;
        for layer in 0..self.layers {
            let part = |i: usize| weights.part(1 + layer * OF_LAYER + i);
            let cache = caches.as_deref_mut().map(|caches| &mut caches[layer]);
            let attended = self.attended(&norm(&x, &part(0)?)?, &pieces, &part, cache)?;
            x = attended.packed()?.product(&part(4)?).residual(&x).run()?;
            let wide = norm(&x, &part(5)?)?;
            let wide = wide.product(&part(6)?).activation(Activation::Gelu).run()?;
            x = wide.product(&part(7)?).residual(&x).run()?;
        }
        norm(&x, &weights.part(1 + self.layers * OF_LAYER)?)
    }

    /// Attention of each row to those before it in its piece. Queries and keys are rotated by the positions of their
    /// rows, which follow those of the cache.
    fn attended(
        self,
        rows: &Tensor<f32>,
        pieces: &Layout,
        part: &impl Fn(usize) -> Result<Tensor<f32>>,
        cache: Option<&mut Cache<f32>>,
    ) -> Result<Tensor<f32>> {
        let linear = |i: usize| rows.product(&part(i)?).run()?.unpacked(pieces);
        let [q, k, v] = [linear(1)?, linear(2)?, linear(3)?];
        let [q, k] = [q.rotary().heads(self.heads), k.rotary().heads(self.heads)];
        let Some(cache) = cache else {
            let (q, k) = (q.run()?, k.run()?);
            return q.attention(&k, &v).heads(self.heads).causal().run();
        };
        let starts = cache.lengths().clone();
        let (q, k) = (q.starts(&starts).run()?, k.starts(&starts).run()?);
        cache.append(&k, &v)?;
        q.attention_over(cache).heads(self.heads).causal().run()
    }

    /// The loss of each token after the first of its piece, as one vector.
    ///
    /// `targets` are the tokens that follow `tokens`.
    pub fn losses(
        self,
        (tokens, targets): (&Tensor<u32>, &Tensor<u32>),
        weights: &Weights,
    ) -> Result<Tensor<f32>> {
        let scores = weights.scores(&self.rows(tokens, weights, None)?)?;
        scores.cross_entropy(&targets.packed()?)
    }

    /// The scores of all tokens as the next of each piece: one matrix, pieces × tokens.
    ///
    /// Without caches, all rows of a piece are computed anew for each character. With them, only those of the tokens
    /// that are not in the caches yet are.
    pub fn next(
        self,
        tokens: &Tensor<u32>,
        weights: &Weights,
        caches: Option<&mut [Cache<f32>]>,
    ) -> Result<Tensor<f32>> {
        let rows = self.rows(tokens, weights, caches)?;
        let ends = tokens.layout().lengths().scan(0, |end, n| {
            *end += n;
            Some(*end as u32 - 1)
        });
        let ends: Vec<u32> = ends.collect();
        let last = rows.gather(&vsla::Indices::new(Ragged::from_rows([ends])?)?)?;
        weights.scores(&last)
    }
}

/// The weights, by their matrices.
pub struct Weights<'a>(pub &'a Tensor<f32>);

impl Weights<'_> {
    fn part(&self, i: usize) -> Result<Tensor<f32>> {
        self.0.elements(i..i + 1)
    }

    /// A row for each token, by which rows are also scored.
    fn table(&self) -> Result<Tensor<f32>> {
        self.part(0)
    }

    fn scores(&self, rows: &Tensor<f32>) -> Result<Tensor<f32>> {
        rows.product(&self.table()?).transpose_right().run()
    }
}

/// Rows divided by the roots of their mean squares, times a scale for each column.
fn norm(rows: &Tensor<f32>, scale: &Tensor<f32>) -> Result<Tensor<f32>> {
    let scale = scale.reshape(&Layout::from_lengths([scale.layout().total()])?)?;
    rows.rms_norm(1, EPSILON)?.hadamard(scale.along(1))
}
