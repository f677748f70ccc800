use vsla::{Pairing::AllToAll, Result, Tensor, product::Activation};

/// The weights of one block. The three projections hold one matrix per head.
pub struct Block {
    pub queries: Tensor<f32>,
    pub keys: Tensor<f32>,
    pub values: Tensor<f32>,
    pub output: Tensor<f32>,
    pub up: Tensor<f32>,
    pub up_bias: Tensor<f32>,
    pub down: Tensor<f32>,
    pub down_bias: Tensor<f32>,
    /// The scale and the shift of both normalizations.
    pub norms: [[Tensor<f32>; 2]; 2],
}

/// One block of a transformer encoder on sentences of `tokens × width` values.
pub fn encode(sentences: &Tensor<f32>, block: &Block) -> Result<Tensor<f32>> {
    let norm = |x: &Tensor<f32>, [scale, shift]: &[Tensor<f32>; 2]| {
        x.layer_norm(1, 1e-5)?
            .mul_add(scale.along(1), shift.along(1))
    };
    let x = norm(sentences, &block.norms[0])?;
    // Every sentence with the matrix of every head: the result has one element per sentence and head.
    let project = |weights: &Tensor<f32>| x.pair(weights, AllToAll)?.matmul();
    let queries = project(&block.queries)?;
    let (keys, values) = (project(&block.keys)?, project(&block.values)?);
    let heads = block.queries.len();
    let width = sentences
        .layout()
        .shapes()
        .next()
        .map_or(0, |shape| shape.extents()[1] as usize);
    let scale = (heads as f32 / width as f32).sqrt();
    let scores = queries
        .product(&keys)
        .transpose_right()
        .scale(scale)
        .run()?;
    let mixed = scores.softmax(1)?.matmul(&values)?;
    // The heads of each sentence side by side: heads × tokens × d becomes tokens × (heads d).
    let stacked = mixed.stack_groups(&vec![heads; sentences.len()], None)?;
    let joined = stacked.transpose(&[1, 0, 2])?.reshape(sentences.layout())?;
    let x = joined
        .pair(&block.output, AllToAll)?
        .product()
        .residual(sentences)
        .run()?;
    let normed = norm(&x, &block.norms[1])?;
    let up = normed.pair(&block.up, AllToAll)?.product();
    let hidden = up.bias(&block.up_bias).activation(Activation::Gelu).run()?;
    let down = hidden.pair(&block.down, AllToAll)?.product();
    down.bias(&block.down_bias).residual(&x).run()
}
