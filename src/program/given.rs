//! What a run takes: tensors, and caches that it changes.

use super::inputs::State;
use super::names::RUN;
use crate::error::Count;
use crate::error::Named;
use crate::ragged::{DType, Layout};
use crate::tensor::{Device, Kept, Operand, Storage, grown_by};
use crate::{Error, Result, host};

/// The inputs of a plan.
pub(super) struct Inputs {
    pub inputs: Vec<Input>,
    /// The caches, each of three inputs.
    pub caches: Vec<Changed>,
}

/// What an input has to be.
pub(super) struct Input {
    pub dtype: DType,
    pub layout: Layout,
    /// Kernels were chosen for values that begin at a multiple of this many units.
    pub align: usize,
}

/// A cache that a run changes.
pub(super) struct Changed {
    /// The first of its inputs.
    pub input: usize,
    /// The rows appended to each element.
    pub appended: Vec<u32>,
    pub lengths: Place,
}

/// What a run gets for an input.
pub(super) enum Lending<'a> {
    Lent(Operand<'a>),
    /// Keys or values of a cache, to which there is no other reference.
    Kept(&'a mut Storage),
}

/// Where an output is.
pub(super) struct Place {
    pub dtype: DType,
    /// The number of its external buffer.
    pub external: usize,
    pub base: usize,
    pub layout: Layout,
}

/// Checks that a tensor is on the device of the program.
fn check_device(of_program: &Device, (storage, device): (&Storage, &Device)) -> Result<()> {
    if let Storage::Traced(value) = storage {
        return Err(value.without_values().named(RUN));
    }
    of_program.check_same(device).named(RUN)
}

impl Input {
    /// Checks the type and layout of input `number`.
    fn check(&self, number: usize, of_type: DType, got: &Layout) -> Result<()> {
        let Input { dtype, layout, .. } = self;
        let differs = |element, expected: String, got: String| Error::Layout {
            op: RUN,
            input: number,
            element,
            expected,
            got,
        };
        if of_type != *dtype {
            return Err(differs(None, dtype.to_string(), of_type.to_string()));
        }
        if got.id() == layout.id() {
            return Ok(());
        }
        let summary = |of: &Layout| format!("{} of rank {}", Count(of.len(), "element"), of.rank());
        if (got.len(), got.rank()) != (layout.len(), layout.rank()) {
            return Err(differs(None, summary(layout), summary(got)));
        }
        let mut shapes = layout.shapes().zip(got.shapes()).enumerate();
        match shapes.find(|(_, (a, b))| a != b) {
            None => Ok(()),
            Some((element, (a, b))) => Err(differs(Some(element), a.to_string(), b.to_string())),
        }
    }
}

impl Inputs {
    /// The inputs that do not belong to caches, with their numbers.
    pub(super) fn lent(&self) -> impl Iterator<Item = (usize, &Input)> {
        let is_kept = |i: usize| {
            let mut caches = self.caches.iter();
            caches.any(|cache| (cache.input..cache.input + 3).contains(&i))
        };
        let all = self.inputs.iter().enumerate();
        all.filter(move |(i, _)| !is_kept(*i))
    }

    pub(super) fn check(&self, device: &Device, operands: &[Operand<'_>]) -> Result<()> {
        let expected = self.inputs.len() - 3 * self.caches.len();
        if operands.len() != expected {
            let expected = Count(expected, "input");
            return Err(Error::argument(expected, operands.len()).named(RUN));
        }
        for ((number, input), operand) in self.lent().zip(operands) {
            check_device(device, (operand.storage, operand.device))?;
            input.check(number, operand.dtype, operand.layout)?;
        }
        Ok(())
    }

    /// The numbers of rows of each cache after the run.
    pub(super) fn check_caches(
        &self,
        device: &Device,
        caches: &mut [&mut dyn State],
    ) -> Result<Vec<Vec<u32>>> {
        if caches.len() != self.caches.len() {
            let expected = Count(self.caches.len(), "cache");
            return Err(Error::argument(expected, caches.len()).named(RUN));
        }
        let mut all = host::room(caches.len()).named(RUN)?;
        for (i, (cache, planned)) in caches.iter_mut().zip(&self.caches).enumerate() {
            let kept = cache.kept();
            let [(storage, keys), (_, values)] = &kept.rows;
            check_device(device, (storage, &kept.device))?;
            let lengths = (DType::U32, kept.lengths.layout());
            let parts = [(kept.dtype, *keys), (kept.dtype, *values), lengths];
            for (number, (dtype, layout)) in (planned.input..).zip(parts) {
                self.inputs[number].check(number, dtype, layout)?;
            }
            let new = planned.appended.iter().map(|rows| u64::from(*rows));
            let whose = format!(" in cache {i}");
            all.push(grown_by(RUN, kept.counts, new, (keys, &whose))?);
        }
        Ok(all)
    }

    /// What a run gets for each input.
    pub(super) fn given<'a>(
        &self,
        operands: Vec<Operand<'a>>,
        kept: &'a mut [Kept<'_>],
    ) -> Result<Vec<Lending<'a>>> {
        let mut given = host::room(self.inputs.len()).named(RUN)?;
        let mut operands = operands.into_iter();
        let mut lend = |given: &mut Vec<Lending<'a>>, until: usize| {
            given.extend(
                operands
                    .by_ref()
                    .take(until - given.len())
                    .map(Lending::Lent),
            );
        };
        for (kept, cache) in kept.iter_mut().zip(&self.caches) {
            lend(&mut given, cache.input);
            let [(keys, _), (values, _)] = &mut kept.rows;
            given.extend([Lending::Kept(keys), Lending::Kept(values)]);
            given.push(Lending::Lent(kept.lengths.operand()));
        }
        lend(&mut given, self.inputs.len());
        Ok(given)
    }
}
