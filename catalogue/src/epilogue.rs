//! The epilogue of a product: options that dense and block-sparse products share.

use vsla::{Device, Tensor, product::Activation, scalar::Float};

use crate::batch::Number;
use crate::failure::{Failure, Result};
use crate::request::Options;

pub const OPTIONS: [&str; 4] = ["scale", "bias", "activation", "residual"];

pub struct Epilogue<T: Float> {
    pub scale: Option<f32>,
    /// One vector for all products, or one for each right operand.
    pub bias: Option<Tensor<T>>,
    pub activation: Activation,
    pub residual: Option<Tensor<T>>,
}

/// The product with all requested options.
macro_rules! finished {
    ($product:expr, $epilogue:expr) => {{
        let (mut product, epilogue) = ($product, $epilogue);
        if let Some(factor) = epilogue.scale {
            product = product.scale(factor);
        }
        if let Some(bias) = &epilogue.bias {
            product = product.bias(bias);
        }
        if let Some(residual) = &epilogue.residual {
            product = product.residual(residual);
        }
        product.activation(epilogue.activation)
    }};
}
pub(crate) use finished;

impl<T: Float + Number> Epilogue<T> {
    pub fn read(device: &Device, options: &Options) -> Result<Epilogue<T>> {
        let upload = |name, rank| -> Result<_> {
            let batch = options.batch(name, rank)?;
            Ok(batch.map(|batch| device.upload(&batch)).transpose()?)
        };
        Ok(Epilogue {
            scale: options.optional("scale")?,
            bias: upload("bias", 1)?,
            activation: options.activation()?,
            residual: upload("residual", 2)?,
        })
    }

    /// The part for product `i`, where `products` products are computed one by one.
    pub fn of(&self, i: usize, products: usize) -> Result<Epilogue<T>> {
        let part = |name: &str, whole: &Option<Tensor<T>>, shared: bool| match whole {
            None => Ok(None),
            Some(whole) if whole.len() == products => Ok(Some(whole.elements(i..i + 1)?)),
            Some(whole) if shared && whole.len() == 1 => Ok(Some(whole.clone())),
            Some(whole) => {
                let got = whole.len();
                let message = format!("{name}: got a batch of {got} for {products} products");
                Err(Failure::request(message))
            }
        };
        Ok(Epilogue {
            scale: self.scale,
            bias: part("bias", &self.bias, true)?,
            activation: self.activation,
            residual: part("residual", &self.residual, false)?,
        })
    }
}
