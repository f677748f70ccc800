use vsla::{BsrTensor, Result, Tensor};

/// One step of gradient descent on the layer relu(x Wᵀ + b), whose W is block-sparse: the new weights, the new bias and
/// the mean squared error of each element before the step.
pub fn step(
    (weights, bias): (&BsrTensor<f32>, &Tensor<f32>),
    (x, target): (&Tensor<f32>, &Tensor<f32>),
    rate: f32,
) -> Result<(BsrTensor<f32>, Tensor<f32>, Tensor<f32>)> {
    let sums = x.product(weights).transpose_right().bias(bias).run()?;
    let error = (sums.relu()? - target)?;
    let loss = error.square()?.mean()?;
    // d loss / d sums = 2 error / n where a sum is positive, for n values.
    let per_value = 2.0 / error.layout().total() as f32;
    let gradient = error.hadamard(&sums.sign()?.relu()?)?.scale(per_value)?;
    // Only the values of W's blocks are computed.
    let slope = gradient
        .product(x)
        .transpose_left()
        .sampled(weights.topology())?;
    let values = (weights.values() - slope.values().scale(rate)?)?;
    let bias = (bias - gradient.sum_axis(0)?.scale(rate)?)?;
    Ok((BsrTensor::new(weights.topology(), values)?, bias, loss))
}
