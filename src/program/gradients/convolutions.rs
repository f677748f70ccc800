//! Rules of convolutions: the cotangent of an operand is a correlation with the other one.

use super::parts::{at_pairs, layout, one, over_pairs, with};
use super::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::Result;
use crate::error::Side;
use crate::ops::choice::{ConvMethod, ConvMode, Window};
use crate::ops::conv::Conv;
use crate::ops::conv::cached_spectra::{Mode, Spectra};
use crate::ops::correlate_max::{CorrelateMax, Seek};
use crate::ops::strided::{Begin, Cut};
use crate::ragged::{Layout, Pairs};
use crate::tensor::Tensor;

/// Only convolutions use spectra. Their rule returns the kernel's cotangent as that of the spectrum, and this rule
/// passes it on.
impl Rule for Spectra {
    fn of_result(&self, _: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        one(g.clone())
    }
}

impl Rule for Conv {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let rule = Products {
            correlate: self.correlate,
            window: self.window,
            // A requested method may not support correlations of these lengths, unless it is the direct one.
            method: match self.method {
                ConvMethod::Direct => ConvMethod::Direct,
                _ => ConvMethod::Auto,
            },
            pairs: applied.pairs().ok_or_else(|| applied.refused())?,
        };
        let operands = [applied.operand(0)?, applied.operand(1)?];
        rule.cotangents(applied, &applied.floats(g)?, &operands)
    }
}

impl Rule for Mode {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let Some(kernels) = applied.operand_of_maker::<f32>(1)? else {
            let why = "; make the ConvPlan in the recording, from its kernels";
            return Err(applied.refused_because(why));
        };
        let rule = Products {
            correlate: false,
            window: Window::new(match self {
                Mode::Full => ConvMode::Full,
                Mode::Causal => ConvMode::Causal,
            }),
            method: ConvMethod::Auto,
            pairs: applied.pairs().ok_or_else(|| applied.refused())?,
        };
        let operands = [applied.operand(0)?, kernels];
        rule.cotangents(applied, &applied.floats(g)?, &operands)
    }
}

impl Rule for CorrelateMax {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        at_best_lag(applied, *self, &applied.floats(g)?, pairs)
    }
}

/// Correlations and convolutions of cotangents with the operands of a convolution.
struct Products<'a> {
    correlate: bool,
    window: Window,
    method: ConvMethod,
    pairs: &'a Pairs,
}

impl Products<'_> {
    fn cotangents(
        &self,
        applied: &Applied<'_>,
        g: &Tensor<f32>,
        operands: &[Tensor<f32>; 2],
    ) -> Result<Cotangents> {
        let [a, b] = [operands[0].layout(), operands[1].layout()];
        let g = self.whole(g, a, b)?;
        let rank = a.rank();
        let axes: Vec<usize> = (0..rank).collect();
        let made = |side: usize| {
            let paired = with(&g, &operands[1 - side], self.pairs, 1 - side)?;
            let all = paired
                .convolution()
                .method(self.method)
                .mode(ConvMode::Valid)
                .side(Side::Left);
            let each = match (self.correlate, side) {
                (true, 0) => all.conv()?,
                (true, _) => all.correlate()?.flip(&axes)?,
                (false, _) => all.correlate()?,
            };
            over_pairs(&each, self.pairs, side, operands[side].layout())
        };
        (0..2)
            .map(|side| applied.wanted(side, || made(side)))
            .collect()
    }

    /// The cotangents of all results, which are 0 for those that were not kept.
    fn whole(&self, g: &Tensor<f32>, a: &Layout, b: &Layout) -> Result<Tensor<f32>> {
        let rank = a.rank();
        let strides: Vec<u32> = (0..rank).map(|axis| self.window.stride(axis)).collect();
        if self.window.mode == ConvMode::Full && strides.iter().all(|&stride| stride == 1) {
            return Ok(g.clone());
        }
        // (m, n) of a pair along an axis; both 0 if an operand has no values.
        let extents = |pair: usize, axis: usize| {
            let (i, j) = self.pairs.get(pair);
            let (x, y) = (a.shape(i), b.shape(j));
            match x.is_empty() || y.is_empty() {
                true => (0, 0),
                false => (x.extents()[axis] as usize, y.extents()[axis] as usize),
            }
        };
        let all = layout(self.pairs.len(), rank, |pair, axis| {
            let (m, n) = extents(pair, axis);
            (m + n).saturating_sub(1)
        })?;
        let mut g = g.clone();
        if strides.iter().any(|&stride| stride != 1) {
            let kept = layout(self.pairs.len(), rank, |pair, axis| {
                let (m, n) = extents(pair, axis);
                match self.window.mode {
                    ConvMode::Full => (m + n).saturating_sub(1),
                    ConvMode::Same | ConvMode::Causal => m,
                    ConvMode::Valid if m == 0 => 0,
                    ConvMode::Valid => (m + 1).saturating_sub(n),
                }
            })?;
            let cut = |&stride: &u32| Cut::new((None, None, i64::from(stride)));
            let cuts: Vec<Cut> = strides.iter().map(cut).collect();
            g = g.place(&cuts, &kept)?;
        }
        let begin = match self.window.mode {
            ConvMode::Full | ConvMode::Causal => Begin::At(0),
            // The kept results are centred: as many are left out before them as after, or one more after.
            ConvMode::Same | ConvMode::Valid => Begin::Centred,
        };
        g.boxes(&vec![begin; rank], &all)
    }
}

/// The lag is constant.
fn at_best_lag(
    applied: &Applied<'_>,
    search: CorrelateMax,
    g: &Tensor<f32>,
    pairs: &Pairs,
) -> Result<Cotangents> {
    let (value, lag) = (applied.result::<f32>(0)?, applied.result::<i32>(1)?);
    let operands = [applied.operand::<f32>(0)?, applied.operand::<f32>(1)?];
    let own = [
        at_pairs(&operands[0], pairs, 0)?,
        at_pairs(&operands[1], pairs, 1)?,
    ];
    let norms = match search.seek {
        Seek::Distance => Some([own[0].norm2()?, own[1].norm2()?]),
        Seek::Largest => None,
    };
    let made = |side: usize| {
        let (x, other) = (&own[side], &own[1 - side]);
        // The value of the other operand that each value is multiplied with: x_i meets y_(i − lag), and y_i meets
        // x_(i + lag). Negative integers become 0 where they lose their sign, so places count from 1, and 0 becomes the
        // largest integer.
        let places = applied.device().arange(x.layout(), 1i32, 1)?;
        let places = match side {
            0 => places.sub(lag.each())?,
            _ => places.add(lag.each())?,
        };
        let partner = other.take(&places.to::<u32>()?.add_scalar(u32::MAX)?, None)?;
        let each = match &norms {
            None => partner.hadamard(g.each())?,
            Some(norms) => {
                // 1 − c with c = ⟨x, y⟩ / (‖x‖ ‖y‖): (c x / ‖x‖ − y / ‖y‖) / ‖x‖, and 0 where ‖x‖ is.
                let unit = |x: &Tensor<f32>, norm| x.div(applied.divisor(norm)?.each());
                let along = unit(x, &norms[side])?.hadamard(value.sub_from(1.0)?.each())?;
                let apart = along.sub(&unit(&partner, &norms[1 - side])?)?;
                apart.hadamard(applied.divided(g, &norms[side])?.each())?
            }
        };
        over_pairs(&each, pairs, side, operands[side].layout())
    };
    (0..2)
        .map(|side| applied.wanted(side, || made(side)))
        .collect()
}
