//! A function that is being recorded.

use std::fmt;
use std::sync::Arc;

use crate::error::Count;
use crate::error::Named;
use crate::ragged::{Float, Layout, Scalar};
use crate::tensor::{Cache, Device, Tensor, Trace};
use crate::{Error, Result};

/// A program while it is recorded: its inputs, outputs and gradients.
pub struct Recording {
    pub(super) trace: Arc<Trace>,
    pub(super) layouts: Vec<Layout>,
    pub(super) taken: usize,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Recording({} of {} inputs)",
            self.taken,
            self.layouts.len()
        )
    }
}

impl Recording {
    /// The device that the program will run on.
    pub fn device(&self) -> &Device {
        self.trace.device()
    }

    /// The next input, which has no values yet.
    ///
    /// # Errors
    /// [`Recording`](Error::Recording) when the plan was given fewer layouts.
    pub fn input<T: Scalar>(&mut self) -> Result<Tensor<T>> {
        let layout = self.next("input")?;
        self.trace.input(&layout)
    }

    /// The next input, a cache of keys and values. A run changes the caller's cache in place, as each
    /// [`append`](Cache::append) to this one does in the recording. A cache takes three of the plan's layouts, those of
    /// [`Cache::layouts`], and is passed to [`Plan::run_with`](super::Plan::run_with) separately from the other inputs.
    ///
    /// The numbers of rows that a run appends follow from the layouts of the recording, while the lengths of the cache
    /// are on the device. So one plan serves all steps that append the same numbers of rows.
    ///
    /// ```
    /// use vsla::attention::Cache;
    /// use vsla::program::Program;
    /// use vsla::{Device, Layout, Ragged, Shape, Tensor};
    ///
    /// let device = Device::cpu();
    /// // A step of decoding: one row of each of two elements.
    /// let step = Program::new(&device, |r| {
    ///     let x: Tensor<f32> = r.input()?;
    ///     let mut cache: Cache<f32> = r.cache()?;
    ///     cache.append(&x, &x)?;
    ///     r.output(&x.attention_over(&cache).run()?)
    /// });
    /// let rows = |n: usize| Layout::uniform(2, Shape::new(&[n, 4])?);
    /// let mut cache = Cache::<f32>::new(&device, &rows(8)?, &rows(8)?)?;
    /// let mut x = device.upload(&Ragged::from_parts(rows(1)?, vec![1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0, 1.0])?)?;
    /// let [keys, values, lengths] = cache.layouts();
    /// let plan = step.plan(&[x.layout(), keys, values, lengths])?;
    /// for _ in 0..8 {
    ///     x = plan.run_with(&[&x], &mut [&mut cache])?.get(0)?;
    /// }
    /// assert_eq!(cache.counts(), [8, 8]);
    /// let full = plan.run_with(&[&x], &mut [&mut cache]).unwrap_err();
    /// assert_eq!(full.element(), Some(0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Recording`](Error::Recording) when the plan was given fewer layouts;
    /// [`Argument`](Error::Argument) for a layout that is not that of lengths; those of [`Cache::new`] for layouts.
    pub fn cache<T: Float>(&mut self) -> Result<Cache<T>> {
        let layouts = [
            self.next("cache")?,
            self.next("cache")?,
            self.next("cache")?,
        ];
        Cache::recorded(&self.trace, layouts.each_ref())
    }

    /// The next layout.
    fn next(&mut self, op: &'static str) -> Result<Layout> {
        let Some(layout) = self.layouts.get(self.taken) else {
            return Err(Error::recording(format!(
                    "the program takes more inputs than the {} it got; pass a layout for each input and three for \
                     each cache",
                    Count(self.taken, "layout")
                ),
            ).named(op));
        };
        self.taken += 1;
        Ok(layout.clone())
    }

    /// Makes a tensor the next output.
    ///
    /// # Errors
    /// [`Recording`](Error::Recording) for a value of another recording;
    /// [`DeviceMismatch`](Error::DeviceMismatch) for a tensor of another device.
    pub fn output<T: Scalar>(&mut self, value: &Tensor<T>) -> Result<()> {
        self.trace.output(value).named("output")
    }

    /// Records `part` so that gradients compute its values again instead of keeping them in memory.
    ///
    /// This saves the memory of the values within the part, and computes the part once more. The bits of gradients do
    /// not change, nor those of second ones. Nested parts belong to the outermost part. Second derivatives keep the
    /// values that first derivatives recomputed, so they gain nothing from this. See
    /// [the guide](crate::pages::long_programs) for a network that is divided into parts.
    ///
    /// # Errors
    /// Those of the part.
    pub fn recompute<R>(&mut self, part: impl FnOnce(&mut Recording) -> Result<R>) -> Result<R> {
        let trace = self.trace.clone();
        let _scope = trace.recompute();
        part(self)
    }
}
