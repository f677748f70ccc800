//! The cotangents of values that are used several times: sums, and batches of the cotangents of their elements.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use half::f16;
use num_complex::Complex32;

use super::rule::{Cotangent, GRADIENTS, each};
use crate::ragged::{Layout, Scalar};
use crate::tensor::{Device, Tensor, Trace, ValueId};
use crate::{Error, Result};

/// The cotangents of values so far.
pub(super) struct Sums<'a> {
    trace: &'a Arc<Trace>,
    all: HashMap<ValueId, Sum>,
}

#[derive(Default)]
struct Sum {
    whole: Option<Cotangent>,
    /// The cotangents of views of some elements. They are joined at the end, all at once if no two of them overlap.
    parts: Vec<(Range<usize>, Cotangent)>,
}

impl Sums<'_> {
    pub(super) fn new(trace: &Arc<Trace>) -> Sums<'_> {
        let all = HashMap::new();
        Sums { trace, all }
    }

    pub(super) fn add(&mut self, value: ValueId, more: Cotangent) -> Result<()> {
        let sum = self.all.entry(value).or_default();
        sum.whole = Some(match &sum.whole {
            Some(before) => before.add(&more)?,
            None => more,
        });
        Ok(())
    }

    /// Adds the cotangent of a view of these elements.
    pub(super) fn add_part(&mut self, value: ValueId, elements: Range<usize>, more: Cotangent) {
        let sum = self.all.entry(value).or_default();
        sum.parts.push((elements, more));
    }

    /// The cotangent of a value, if it has one. Nothing more may be added to it.
    pub(super) fn take(&mut self, value: ValueId) -> Result<Option<Cotangent>> {
        let Some(Sum { whole, mut parts }) = self.all.remove(&value) else {
            return Ok(None);
        };
        let layout = self
            .trace
            .graph(|graph| graph.values[value as usize].layout.clone());
        let mut sum = whole;
        parts.sort_by_key(|(elements, _)| elements.start);
        while !parts.is_empty() {
            let mut end = 0;
            let (apart, others) = parts.into_iter().partition(|(elements, _)| {
                let is_apart = elements.start >= end;
                end = if is_apart { elements.end } else { end };
                is_apart
            });
            parts = others;
            let joined = joined(self.trace.device(), apart, &layout)?;
            sum = Some(match sum {
                Some(sum) => sum.add(&joined)?,
                None => joined,
            });
        }
        Ok(sum)
    }
}

/// A batch of these elements, in order, and of zeros elsewhere.
fn joined(
    device: &Device,
    parts: Vec<(Range<usize>, Cotangent)>,
    layout: &Layout,
) -> Result<Cotangent> {
    fn batch<T: Smooth>(
        device: &Device,
        parts: &[(Range<usize>, Cotangent)],
        layout: &Layout,
        _: &Tensor<T>,
    ) -> Result<Tensor<T>> {
        let zeros = |others: Range<usize>| device.full(&layout.range(others)?, T::default());
        let mut all: Vec<Tensor<T>> = Vec::with_capacity(2 * parts.len() + 1);
        let mut at = 0;
        for (elements, g) in parts {
            if at < elements.start {
                all.push(zeros(at..elements.start)?);
            }
            let of_type = T::of(g);
            all.extend(of_type.cloned());
            at = elements.end;
        }
        if at < layout.len() {
            all.push(zeros(at..layout.len())?);
        }
        let [first, others @ ..] = &all[..] else {
            return zeros(0..layout.len());
        };
        first
            .join(&others.iter().collect::<Vec<_>>())?
            .view_as(layout)
    }
    let Some((_, first)) = parts.first() else {
        return Err(Error::recording("a batch of no parts").named(GRADIENTS));
    };
    Ok(each!(first, g => batch(device, &parts, layout, g)?))
}

/// A type that has gradients.
trait Smooth: Scalar {
    fn of(cotangent: &Cotangent) -> Option<&Tensor<Self>>;
}

macro_rules! smooth {
    ($($t:ty: $variant:ident),*) => {$(
        impl Smooth for $t {
            fn of(cotangent: &Cotangent) -> Option<&Tensor<$t>> {
                match cotangent {
                    Cotangent::$variant(tensor) => Some(tensor),
                    _ => None,
                }
            }
        }
    )*};
}
smooth!(f32: F32, f16: F16, Complex32: C32);
