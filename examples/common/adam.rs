//! The optimizer: Adam (Kingma and Ba, 2015), as operations on one batch that holds all weights.

use vsla::{Result, Tensor};

const MEAN_DECAY: f32 = 0.9;
const SQUARE_DECAY: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The weights, and what the optimizer knows about their gradients.
#[derive(Clone, Debug)]
pub struct Adam {
    pub weights: Tensor<f32>,
    /// The mean gradient, recent ones weighted more.
    pub mean: Tensor<f32>,
    /// The mean square of the gradient.
    pub square: Tensor<f32>,
}

impl Adam {
    pub fn new(weights: Tensor<f32>) -> Result<Adam> {
        let zeros = weights.device().full(weights.layout(), 0.0f32)?;
        Ok(Adam {
            weights,
            mean: zeros.clone(),
            square: zeros,
        })
    }

    /// The state after one step along this gradient, with a rate of [`rate`] for each element.
    pub fn step(&self, gradient: &Tensor<f32>, rate: &Tensor<f32>) -> Result<Adam> {
        let mean = (self.mean.scale(MEAN_DECAY)? + gradient.scale(1.0 - MEAN_DECAY)?)?;
        let square = gradient.square()?.scale(1.0 - SQUARE_DECAY)?;
        let square = (self.square.scale(SQUARE_DECAY)? + square)?;
        let step = mean.div(&square.sqrt()?.add_scalar(EPSILON)?)?;
        Ok(Adam {
            weights: step.mul_add(rate.each(), &self.weights)?,
            mean,
            square,
        })
    }
}

/// The rate of step t, counted from 1: −`rate` √(1 − β₂ᵗ) / (1 − β₁ᵗ), negative because steps go down.
///
/// The two means begin at 0, so they are too small at first; the quotient corrects both.
pub fn rate(rate: f64, step: usize) -> f32 {
    let so_far = |decay: f32| 1.0 - f64::from(decay).powf(step as f64);
    -(rate * so_far(SQUARE_DECAY).sqrt() / so_far(MEAN_DECAY)) as f32
}

#[cfg(test)]
mod tests {
    use vsla::{Device, Ragged};

    use super::*;

    /// Compared with the formulas of the paper in f64, whose ε is added after the correction.
    #[test]
    fn steps_follow_the_paper() {
        let device = Device::cpu();
        let start = Ragged::from_rows([vec![1.0f32, -2.0], vec![0.5]]).unwrap();
        let mut adam = Adam::new(device.upload(&start).unwrap()).unwrap();
        let mut expected: Vec<[f64; 3]> = start
            .values()
            .iter()
            .map(|&w| [f64::from(w), 0.0, 0.0])
            .collect();
        for t in 1..=20 {
            // The gradient of the sum of w⁴ / 4.
            let gradient = adam.weights.powi(3).unwrap();
            let rates = Ragged::from_rows([[rate(0.1, t)], [rate(0.01, t)]]).unwrap();
            adam = adam
                .step(&gradient, &device.upload(&rates).unwrap())
                .unwrap();
            for (i, [w, m, v]) in expected.iter_mut().enumerate() {
                let (g, rate) = (w.powi(3), [0.1, 0.1, 0.01][i]);
                *m = 0.9 * *m + 0.1 * g;
                *v = 0.999 * *v + 0.001 * g * g;
                let corrected = (
                    *m / (1.0 - 0.9f64.powi(t as i32)),
                    *v / (1.0 - 0.999f64.powi(t as i32)),
                );
                *w -= rate * corrected.0 / (corrected.1.sqrt() + 1e-8);
            }
        }
        let weights = adam.weights.download_blocking().unwrap();
        for (got, [expected, ..]) in weights.values().iter().zip(&expected) {
            assert!(
                (f64::from(*got) - expected).abs() < 2e-5,
                "{got} {expected}"
            );
        }
    }
}
