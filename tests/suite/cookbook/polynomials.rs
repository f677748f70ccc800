use vsla::{Result, Tensor};

/// Roots of the products p q, found by Newton's method from each guess, and the values of the products at these roots.
pub fn roots(
    (p, q): (&Tensor<f32>, &Tensor<f32>),
    guesses: &Tensor<f32>,
) -> Result<(Tensor<f32>, Tensor<f32>)> {
    let product = p.conv(q)?;
    // The coefficients of t times the derivative are k c_k.
    let powers = p.device().arange(product.layout(), 0.0, 1.0)?;
    let derivative = product.hadamard(&powers)?;
    let mut t = guesses.copy()?;
    for _ in 0..8 {
        let step = product.eval(&t)?.div(&derivative.eval(&t)?)?;
        t = (&t - (&t * step)?)?;
    }
    let values = product.eval(&t)?;
    Ok((t, values))
}
