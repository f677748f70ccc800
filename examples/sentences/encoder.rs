//! The encoder: BERT's layers on ragged batches, from tokens to one vector for each sentence.
//!
//! Layers that treat each token alone see the tokens of all sentences as the rows of one matrix. Attention and the mean
//! see the sentences. Both are views of the same values, and every row is a token.

use vsla::product::Activation;
use vsla::program::Program;
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Result, Tensor};

/// The smallest length of a vector that is divided by its length, as published.
const SHORTEST: f32 = 1e-12;

/// A linear layer: a matrix of outputs × inputs, and a vector of biases.
#[derive(Clone)]
pub struct Linear<T: Float> {
    pub weight: Tensor<T>,
    pub bias: Tensor<T>,
}

/// The scale and the shift of a normalization of rows.
#[derive(Clone)]
pub struct Norm<T: Float> {
    pub scale: Tensor<T>,
    pub shift: Tensor<T>,
    pub epsilon: f32,
}

/// One of the encoder's layers.
#[derive(Clone)]
pub struct Layer<T: Float> {
    pub query: Linear<T>,
    pub key: Linear<T>,
    pub value: Linear<T>,
    pub attended: Linear<T>,
    pub attended_norm: Norm<T>,
    pub wide: Linear<T>,
    pub narrow: Linear<T>,
    pub norm: Norm<T>,
}

/// All weights, on a device.
#[derive(Clone)]
pub struct Encoder<T: Float> {
    /// A row for each token of the vocabulary.
    pub words: Tensor<T>,
    /// A row for each position, with that of the only token type added.
    pub positions: Tensor<T>,
    pub norm: Norm<T>,
    pub layers: Vec<Layer<T>>,
    pub heads: usize,
}

impl<T: Float> Linear<T> {
    /// The layer of each row, and this function of each result.
    fn of(&self, x: &Tensor<T>, activation: Activation) -> Result<Tensor<T>> {
        let product = x.product(&self.weight).transpose_right();
        product.bias(&self.bias).activation(activation).run()
    }

    /// The layer of each row, added to these rows.
    fn added_to(&self, rows: &Tensor<T>, x: &Tensor<T>) -> Result<Tensor<T>> {
        let product = x.product(&self.weight).transpose_right();
        product.bias(&self.bias).residual(rows).run()
    }
}

impl<T: Float> Norm<T> {
    fn of(&self, x: &Tensor<T>) -> Result<Tensor<T>> {
        let rows = x.layer_norm(1, self.epsilon)?;
        rows.mul_add(self.scale.along(1), self.shift.along(1))
    }
}

impl<T: Float> Layer<T> {
    /// `x` has the tokens of all sentences as rows; `sentences` is the batch's layout.
    fn of(&self, x: &Tensor<T>, sentences: &Layout, heads: usize) -> Result<Tensor<T>> {
        let per_sentence =
            |layer: &Linear<T>| layer.of(x, Activation::Identity)?.unpacked(sentences);
        let [q, k, v] = [
            per_sentence(&self.query)?,
            per_sentence(&self.key)?,
            per_sentence(&self.value)?,
        ];
        let attended = q.attention(&k, &v).heads(heads).run()?.packed()?;
        let x = self
            .attended_norm
            .of(&self.attended.added_to(x, &attended)?)?;
        let wide = self.wide.of(&x, Activation::Gelu)?;
        self.norm.of(&self.narrow.added_to(&x, &wide)?)
    }
}

impl<T: Float> Encoder<T> {
    /// From the tokens of each sentence to a vector of length 1 for each.
    ///
    /// It is recorded once for each batch, since every batch has other lengths. Inputs: the tokens, and their
    /// [`places`].
    pub fn program(&self, device: &Device) -> Program {
        let encoder = self.clone();
        Program::new(device, move |r| {
            let tokens = r.input::<u32>()?;
            let places = r.input::<u32>()?;
            let rows = encoder.words.embedding(&tokens)?;
            let sentences = rows.layout().clone();
            let places = encoder.positions.embedding(&places)?;
            let mut x = encoder.norm.of(&rows.add(&places)?.packed()?)?;
            for layer in &encoder.layers {
                x = layer.of(&x, &sentences, encoder.heads)?;
            }
            let means = x.unpacked(&sentences)?.mean_axis(0)?.to::<f32>()?;
            r.output(&means.l2_normalize(0, SHORTEST)?)
        })
    }
}

/// 0, 1, 2, … for the tokens of each sentence.
pub fn places(sentences: &Layout) -> Result<Ragged<u32>> {
    Ragged::from_fn(sentences, |_, place| place as u32)
}
