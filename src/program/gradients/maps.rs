//! Rules of functions of one value, which are computed in f32, and of conversions.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LOG2_E};

use half::f16;
use num_complex::Complex32;

use super::parts::one;
use super::rule::{Applied, Cotangent, Cotangents, Rule, each};
use crate::Result;
use crate::ops::convert::Convert;
use crate::ops::convert::cast::Cast;
use crate::ops::linear::{Kind, Linear};
use crate::ops::maps::{Apply, Complex};
use crate::ops::random::Dropout;
use crate::ops::rotary::Rotary;
use crate::ragged::DType;
use crate::tensor::Tensor;

impl Rule for Linear {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        match self.kind {
            Kind::Copy => one(g.clone()),
            // Linear, as dropout: the same function of the cotangent, with the same scalars.
            Kind::Scale | Kind::Neg => one(each!(g, g => g.unary(*self, applied.scalars())?)),
        }
    }
}

impl Rule for Dropout {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        one(each!(g, g => g.unary(*self, applied.scalars())?))
    }
}

impl Rule for Rotary {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        // The inverse is the adjoint.
        let back = Rotary {
            back: !self.back,
            ..*self
        };
        if !self.starts {
            return one(each!(g, g => g.unary(back, &[])?));
        }
        let starts = applied.operand::<u32>(1)?;
        let slopes = each!(g, g => g.turned_from(&starts, back)?);
        Ok(vec![Some(slopes), None])
    }
}

impl Rule for Convert {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = applied.floats(g)?;
        match self {
            Convert::ToF16 => one(g),
            Convert::ToF32 => one(g.to::<f16>()?),
        }
    }
}

/// From integers, which have no cotangents.
impl Rule for Cast {
    fn of_result(&self, _: &Applied<'_>, _: &Cotangent) -> Result<Cotangents> {
        Ok(vec![None])
    }
}

impl Rule for Complex {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        complex(applied, self.name, g)
    }
}

impl Rule for Apply {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = applied.floats(g)?;
        Ok(match real(applied, self.name, &g)? {
            Some(g) => vec![Some(applied.narrow(0, g)?)],
            None => vec![None],
        })
    }
}

/// The cotangent of the operand of a function of that name; `None` where its derivative is 0.
fn real(applied: &Applied<'_>, name: &str, g: &Tensor<f32>) -> Result<Option<Tensor<f32>>> {
    let x = || applied.float(0);
    let y = || applied.float_result();
    let s = applied.scalar::<f32>(0);
    let slope = |x: Tensor<f32>, name| slope(&x, name, applied.scalars());
    Ok(Some(match name {
        "sign" | "floor" | "ceil" | "round" => return Ok(None),
        "relu_slope" | "leaky_relu_slope" | "clamp_slope" => return Ok(None),
        "powf" | "powi" if s == 0.0 => return Ok(None),
        "add_scalar" | "rem" => g.clone(),
        "sub_from" => g.neg()?,
        "div_scalar" => g.div_scalar(s)?,
        "div_from" => g.hadamard(&y()?)?.div(&x()?)?.neg()?,
        "reciprocal" => g.hadamard(&y()?)?.hadamard(&y()?)?.neg()?,
        "abs" => g.hadamard(&x()?.sign()?)?,
        "square" => g.hadamard(&x()?.scale(2.0)?)?,
        "relu" => g.hadamard(&slope(y()?, "relu_slope")?)?,
        "leaky_relu" => g.hadamard(&slope(x()?, "leaky_relu_slope")?)?,
        "clamp" => g.hadamard(&slope(x()?, "clamp_slope")?)?,
        "sqrt" => g.div(&y()?.scale(2.0)?)?,
        "rsqrt" => {
            let y = y()?;
            let half = g.scale(-0.5)?.hadamard(&y)?;
            half.hadamard(&y)?.hadamard(&y)?
        }
        "exp" => g.hadamard(&y()?)?,
        "exp2" => g.hadamard(&y()?.scale(LN_2)?)?,
        "expm1" => g.hadamard(&y()?.add_scalar(1.0)?)?,
        "log" => g.div(&x()?)?,
        "log2" => g.div(&x()?)?.scale(LOG2_E)?,
        "log1p" => g.div(&x()?.add_scalar(1.0)?)?,
        "powf" => g.hadamard(&x()?.powf(s - 1.0)?.scale(s)?)?,
        "powi" => g.hadamard(&x()?.powi(s as i32 - 1)?.scale(s)?)?,
        "sin" => g.hadamard(&x()?.cos()?)?,
        "cos" => g.hadamard(&x()?.sin()?)?.neg()?,
        "tanh" => g.hadamard(&slope(y()?, "tanh_slope_by_result")?)?,
        "sigmoid" => g.hadamard(&slope(y()?, "sigmoid_slope_by_result")?)?,
        "softplus" => g.hadamard(&x()?.sigmoid()?)?,
        "silu" => g.hadamard(&slope(x()?, "silu_slope")?)?,
        "erf" => g.hadamard(&slope(x()?, "erf_slope")?)?,
        "gelu" => g.hadamard(&slope(x()?, "gelu_slope")?)?,
        "gelu_tanh" => g.hadamard(&slope(x()?, "gelu_tanh_slope")?)?,
        _ => match curvature(name, &x()?)? {
            Some(curvature) => g.hadamard(&curvature)?,
            None => return Err(applied.refused()),
        },
    }))
}

/// The slopes of a function at these values, as the function of this name.
pub(super) fn slope(x: &Tensor<f32>, name: &'static str, scalars: &[u32]) -> Result<Tensor<f32>> {
    let dtype = DType::F32;
    x.unary(Apply { name, dtype }, scalars)
}

/// The slopes of slopes, for second derivatives.
fn curvature(name: &str, x: &Tensor<f32>) -> Result<Option<Tensor<f32>>> {
    Ok(Some(match name {
        "tanh_slope_by_result" => x.scale(-2.0)?,
        "sigmoid_slope_by_result" => x.scale(-2.0)?.add_scalar(1.0)?,
        // −2 x 2/√π exp(−x²).
        "erf_slope" => bell(x, 1.0)?.hadamard(&x.scale(-2.0 * FRAC_2_SQRT_PI)?)?,
        "silu_slope" => {
            // σ (1 − σ) (2 + x (1 − 2 σ)).
            let part = x.sigmoid()?;
            let tilted = x
                .hadamard(&part.scale(-2.0)?.add_scalar(1.0)?)?
                .add_scalar(2.0)?;
            part.hadamard(&part.sub_from(1.0)?)?.hadamard(&tilted)?
        }
        // φ(x) (2 − x²).
        "gelu_slope" => {
            let density = bell(x, 0.5)?.scale(FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0)?;
            density.hadamard(&x.square()?.sub_from(2.0)?)?
        }
        "gelu_tanh_slope" => {
            // With t = tanh u, u = A x + B x³ and s = 1 − t²: s (u' + ½ x (u'' − 2 t u'²)).
            const A: f32 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
            const B: f32 = 0.044_715 * A;
            let square = x.square()?;
            let t = x.hadamard(&square.scale(B)?.add_scalar(A)?)?.tanh()?;
            let rise = square.scale(3.0 * B)?.add_scalar(A)?;
            let bend = x
                .scale(6.0 * B)?
                .sub(&t.hadamard(&rise.square()?)?.scale(2.0)?)?;
            let all = rise.add(&x.hadamard(&bend)?.scale(0.5)?)?;
            t.square()?.sub_from(1.0)?.hadamard(&all)?
        }
        _ => return Ok(None),
    }))
}

/// exp(−s x²).
fn bell(x: &Tensor<f32>, s: f32) -> Result<Tensor<f32>> {
    x.square()?.scale(-s)?.exp()
}

/// Functions of complex values. The cotangent of z = x + yi is that of x, plus i times that of y.
fn complex(applied: &Applied<'_>, name: &str, g: &Cotangent) -> Result<Cotangents> {
    let z = || applied.operand::<Complex32>(0);
    let zero = |g: &Tensor<f32>| applied.filled(g.len(), 0.0f32);
    match (name, g) {
        ("conj", Cotangent::C32(g)) => one(g.conj()?),
        ("scale_complex", Cotangent::C32(g)) => {
            let s = Complex32::new(applied.scalar(0), applied.scalar(1));
            one(g.scale_complex(s.conj())?)
        }
        ("real", Cotangent::F32(g)) => one(g.complex(zero(g)?.each())?),
        ("imag", Cotangent::F32(g)) => one(zero(g)?.each().complex(g)?),
        ("abs_squared", Cotangent::F32(g)) => {
            let g = g.scale(2.0)?;
            one(g.complex(zero(&g)?.each())?.hadamard(&z()?)?)
        }
        ("abs", Cotangent::F32(g)) => {
            let (size, zero) = (applied.divisor(&applied.result(0)?)?, zero(g)?);
            let unit = z()?.div(&size.complex(zero.each())?)?;
            one(g.complex(zero.each())?.hadamard(&unit)?)
        }
        // i g / z̄.
        ("arg", Cotangent::F32(g)) => {
            let slopes = applied.over_point(g, &z()?)?;
            one(slopes.imag()?.complex(&slopes.real()?)?)
        }
        _ => Err(applied.refused()),
    }
}
