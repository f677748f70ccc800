//! Runs a launch: checks everything, finds buffers and pipelines, then records.

use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytemuck::cast_slice;

use super::Gpu;
use super::account::Room;
use super::copies::Copied;
use super::errors::is_lost;
use super::grid::fold;
use super::pipelines::PARAM_WORDS;
use super::pipelines::Pipeline;
use super::pool::GpuBuffer;
use crate::error::Named;
use crate::plan::{
    Chosen, Dispatch, Kernel, Launch, Listed, Output, Param, PlanBuffer, Prepared, Slot, Table,
    check_size,
};
use crate::ragged::{DType, Identity, Layout};
use crate::{Error, Result, host};

/// Maximum multiply-adds per dispatch on a discrete GPU.
///
/// The budget keeps a dispatch below 100 ms on a GPU with a thirtieth of an H100's throughput or more. A desktop's
/// driver may reset the device after a few seconds. A split costs more than it seems, because cores idle before and
/// after it.
const DISPATCH_COST: u64 = 100_000_000_000;
/// The same for GPUs that share a processor's memory and power, and for devices of unknown kind.
const DISPATCH_COST_SHARED: u64 = 20_000_000_000;
/// The same for software rasterizers, which have no reset but should stay responsive.
const DISPATCH_COST_SOFTWARE: u64 = 1_000_000_000;

/// The number of workgroups per dispatch that keeps its cost within the budget; at least 1.
pub(super) fn share(groups: u32, cost: u64, budget: u64) -> u32 {
    if cost <= budget {
        return groups;
    }
    (u128::from(groups) * u128::from(budget) / u128::from(cost)).max(1) as u32
}

/// An operand: values in a buffer from `base` on, which is counted in words, in halves for f16, or in bytes for
/// u8.
pub(crate) struct GpuInput<'a> {
    pub buffer: &'a Arc<GpuBuffer>,
    pub base: u32,
    pub layout: &'a Layout,
}

/// The device resources of a dispatch that do not depend on its operands.
pub(super) struct Ready {
    pub pipeline: Arc<Pipeline>,
    pub slots: Vec<Bound>,
}

/// A slot, with the place for its device copy if it has one.
pub(super) enum Bound {
    Input(usize),
    Output(usize),
    Scratch(usize),
    InputMeta(Arc<Copied>, usize),
    Meta(Arc<Copied>, Layout),
    PlanBuffer(Arc<Copied>, Arc<PlanBuffer>),
    Table(Arc<Copied>, &'static Table),
}

impl Gpu {
    /// Allocates the results of `launch` and records its dispatches. Returns the results that are not operands changed
    /// in place.
    pub(crate) fn run(
        &self,
        launch: &Launch,
        prepared: &Prepared,
        inputs: &[GpuInput<'_>],
        scalars: &[u32],
    ) -> Result<Vec<(Arc<GpuBuffer>, Layout)>> {
        let op = launch.op;
        self.health.check(op)?;
        launch.check_sizes(|i| inputs[i].layout, Some(self.limits.binding_bytes))?;
        let ready = self.ready(launch, prepared, |i| inputs[i].layout)?;
        let mut layouts = Vec::with_capacity(launch.outputs.len());
        let mut outputs = Vec::with_capacity(launch.outputs.len());
        for output in &launch.outputs {
            let (layout, words) = output.sized(|i| inputs[i].layout);
            layouts.push(layout.clone());
            outputs.push(match output.over {
                Some(i) => inputs[i].buffer.clone(),
                None => self.allocate(op, words)?,
            });
        }
        let is_new = |output: &Output| output.over.is_none();
        let mut scratch = host::room(launch.scratch.len()).named(op)?;
        for &words in &launch.scratch {
            scratch.push(self.allocate(op, words)?);
        }
        if self.poison {
            let all = outputs.iter().zip(&launch.outputs);
            let new = all.filter(|(_, output)| is_new(output));
            for buffer in new.map(|(buffer, _)| buffer).chain(&scratch) {
                self.poison_buffer(op, buffer)?;
            }
        }
        for (dispatch, ready) in launch.dispatches.iter().zip(ready) {
            if dispatch.groups == 0 {
                continue;
            }
            let buffers = ready
                .slots
                .iter()
                .map(|slot| match slot {
                    Bound::Input(i) => Ok(inputs[*i].buffer.clone()),
                    Bound::Output(i) => Ok(outputs[*i].clone()),
                    Bound::Scratch(i) => Ok(scratch[*i].clone()),
                    Bound::InputMeta(place, i) => self.meta(op, place, inputs[*i].layout),
                    Bound::Meta(place, layout) => self.meta(op, place, layout),
                    Bound::PlanBuffer(place, words) => self.words(op, place, words),
                    Bound::Table(place, table) => self.table(op, place, table),
                })
                .collect::<Result<Vec<_>>>()?;
            self.record(op, dispatch, &ready.pipeline, &buffers, |word| match word {
                Param::U32(value) => value,
                Param::InputBase(i) => inputs[i].base,
                Param::InputPairBase(i) => inputs[i].base / 2,
                Param::Scalar(i) => scalars[i],
            })?;
        }
        let all = outputs.into_iter().zip(layouts).zip(&launch.outputs);
        let new = all.filter(|(_, output)| is_new(output));
        Ok(new.map(|(result, _)| result).collect())
    }

    /// The device resources of a launch's dispatches: found once, and cached with the plan.
    pub(super) fn ready<'a, 'b>(
        &self,
        launch: &Launch,
        prepared: &'a Prepared,
        input: impl Fn(usize) -> &'b Layout,
    ) -> Result<&'a [Ready]> {
        let is_ready = |any: &'a Box<dyn Any + Send + Sync>| any.downcast_ref::<Vec<Ready>>();
        if let Some(ready) = prepared.0.get().and_then(is_ready) {
            return Ok(ready);
        }
        let ready = |dispatch: &Dispatch| {
            let pipeline = self.pipeline(launch.op, dispatch)?;
            let slots = dispatch.slots.iter().map(|slot| self.bound(slot, &input));
            Ok(Ready {
                pipeline,
                slots: slots.collect(),
            })
        };
        let mut all = host::room(launch.dispatches.len()).named(launch.op)?;
        let dispatches = launch.dispatches.iter();
        self.compile(launch.op, dispatches.map(|dispatch| (launch.op, dispatch)))?;
        for dispatch in &launch.dispatches {
            all.push(ready(dispatch)?);
        }
        let ready: Vec<Ready> = all;
        let cached = prepared.0.get_or_init(|| Box::new(ready));
        // Only this function stores a value there, so the downcast succeeds.
        Ok(is_ready(cached).map_or(&[], |ready| ready))
    }

    fn bound<'a>(&self, slot: &Slot, input: impl Fn(usize) -> &'a Layout) -> Bound {
        let place_of = |identity: &Identity| self.copies.of(identity);
        match slot {
            Slot::Input(i) => Bound::Input(*i),
            Slot::Output(i) => Bound::Output(*i),
            Slot::Scratch(i) => Bound::Scratch(*i),
            Slot::InputMeta(i) => Bound::InputMeta(place_of(input(*i).identity()), *i),
            Slot::Meta(layout) => Bound::Meta(place_of(layout.identity()), layout.clone()),
            Slot::PlanBuffer(words) => Bound::PlanBuffer(place_of(words.identity()), words.clone()),
            Slot::Table(table) => Bound::Table(self.place_of(table), table),
        }
    }

    fn record(
        &self,
        op: &'static str,
        dispatch: &Dispatch,
        pipeline: &Pipeline,
        buffers: &[Arc<GpuBuffer>],
        value: impl Fn(Param) -> u32,
    ) -> Result<()> {
        debug_assert!(
            dispatch.params.len() <= PARAM_WORDS,
            "{}: too many parameters",
            pipeline.name
        );
        let mut params = vec![0, dispatch.groups];
        params.extend(dispatch.params.iter().map(|word| value(*word)));
        let buffers: Vec<&GpuBuffer> = buffers.iter().map(Arc::as_ref).collect();

        let share = share(dispatch.groups, dispatch.cost, self.budget());
        let long = share < dispatch.groups;
        let machine = self.machine();
        let mut first = 0;
        while first < dispatch.groups {
            let limit = self.limits.workgroups_per_dimension;
            let (x, y) = fold(share.min(dispatch.groups - first), limit);
            params[0] = first;
            self.with_room(op, || {
                let mut recorder = self.recorder();
                recorder.dispatch(&machine, op, pipeline, &buffers, &params, (x, y))
            })?;
            if long {
                self.recorder().submit(&machine, op)?;
            }
            first = first.saturating_add(x.saturating_mul(y));
        }
        Ok(())
    }

    /// The most multiply-adds of one dispatch.
    pub(super) fn budget(&self) -> u64 {
        match self.info.device_type {
            wgpu::DeviceType::Cpu => DISPATCH_COST_SOFTWARE,
            wgpu::DeviceType::DiscreteGpu => DISPATCH_COST,
            _ => DISPATCH_COST_SHARED,
        }
    }

    /// Compiles the kernels of these dispatches in parallel, but for those that contain an expression of the
    /// application, which were compiled with it.
    pub(crate) fn compile<'a>(
        &self,
        op: &'static str,
        dispatches: impl Iterator<Item = (&'static str, &'a Dispatch)>,
    ) -> Result<()> {
        self.health.check(op)?;
        self.pipelines
            .prepare(&self.health, &self.limits, dispatches)
            .map_err(|e| self.noted(e))
    }

    fn pipeline(&self, op: &'static str, dispatch: &Dispatch) -> Result<Arc<Pipeline>> {
        let (health, limits, kernel) = (&self.health, &self.limits, dispatch.kernel);
        match &dispatch.variant {
            Chosen::Listed(variant) => self
                .pipelines
                .get(health, limits, op, kernel, *variant)
                .map_err(|e| self.noted(e)),
            Chosen::Written(variant) => self.written(op, kernel, &**variant),
        }
    }

    /// The pipeline of a kernel with an expression of the application, compiled now if it is new.
    pub(crate) fn written(
        &self,
        op: &'static str,
        kernel: &'static Kernel,
        variant: &dyn Listed,
    ) -> Result<Arc<Pipeline>> {
        self.health.check(op)?;
        self.pipelines
            .written(&self.health, &self.limits, op, kernel, variant)
            .map_err(|e| self.noted(e))
    }

    fn noted(&self, error: Error) -> Error {
        match error {
            Error::Gpu { .. } | Error::DeviceLost { .. } => self.health.note(error),
            other => other,
        }
    }

    /// Checks that a tensor of this layout fits in one binding; the error names the element that makes it too large.
    pub(crate) fn check_size(&self, op: &'static str, layout: &Layout, dtype: DType) -> Result<()> {
        check_size(layout, dtype, Some(self.limits.binding_bytes)).named(op)
    }

    /// Checks that the offsets of this many elements fit in one binding.
    pub(crate) fn check_elements(&self, elements: usize) -> Result<()> {
        self.check_words("", None, "the layout", elements as u64 + 1)
    }

    fn check_words(
        &self,
        op: &'static str,
        element: Option<usize>,
        what: &str,
        words: u64,
    ) -> Result<()> {
        if words * 4 <= self.limits.binding_bytes {
            return Ok(());
        }
        Err(Error::too_large(what, words * 4, self.limits.binding_bytes)
            .named(op)
            .at(element))
    }

    /// The layout's offsets and extents on this device.
    pub(super) fn meta(
        &self,
        op: &'static str,
        place: &Copied,
        layout: &Layout,
    ) -> Result<Arc<GpuBuffer>> {
        self.copy(place, || {
            let parts = [layout.offsets().as_slice(), layout.extents()];
            self.check_words(op, None, "the layout", layout.bytes() as u64 / 4)?;
            self.upload_parts(op, &parts.map(cast_slice))
        })
    }

    pub(super) fn words(
        &self,
        op: &'static str,
        place: &Copied,
        words: &PlanBuffer,
    ) -> Result<Arc<GpuBuffer>> {
        self.copy(place, || {
            let data = words.data();
            self.check_words(op, None, "the plan", data.len() as u64)?;
            self.upload_parts(op, &[cast_slice(data)])
        })
    }

    /// The device's copy of a table. Never inlined: tests of failing allocations know by this frame that the size of
    /// what is allocated is constant.
    #[inline(never)]
    pub(super) fn table(
        &self,
        op: &'static str,
        place: &Copied,
        table: &Table,
    ) -> Result<Arc<GpuBuffer>> {
        self.copy(place, || {
            self.upload_parts(op, &[cast_slice(&(table.make)())])
        })
    }

    fn place_of(&self, table: &Table) -> Arc<Copied> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let place = || self.copies.place();
        tables.entry(table.name).or_insert_with(place).clone()
    }

    /// The copy in a slot, created if it is missing or the submission that should have written it failed.
    fn copy(
        &self,
        copied: &Copied,
        make: impl FnOnce() -> Result<Arc<GpuBuffer>>,
    ) -> Result<Arc<GpuBuffer>> {
        copied.get(
            self.pool.recorded(),
            |buffer| self.is_computed(buffer),
            || {
                self.uploads.fetch_add(1, Ordering::Relaxed);
                make()
            },
        )
    }

    /// A buffer with these parts, each of whole words, one after the other.
    pub(super) fn upload_parts(&self, op: &'static str, parts: &[&[u8]]) -> Result<Arc<GpuBuffer>> {
        let bytes: usize = parts.iter().map(|p| p.len()).sum();
        let buffer = self.receiving(op, bytes as u64 / 4)?;
        let mut offset = 0;
        for part in parts {
            self.write(op, &buffer, offset, part)?;
            offset += part.len() as u64;
        }
        Ok(buffer)
    }

    /// A buffer for words that are uploaded.
    fn receiving(&self, op: &'static str, words: u64) -> Result<Arc<GpuBuffer>> {
        self.recorder().traffic.uploads += 1;
        let buffer = self.allocate(op, words)?;
        if self.poison {
            self.poison_buffer(op, &buffer)?;
        }
        Ok(buffer)
    }

    /// Records the copy of `data` into `to` at byte `offset`, waiting for upload buffers if necessary.
    pub(crate) fn write(
        &self,
        op: &'static str,
        to: &GpuBuffer,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        let mut done = 0;
        loop {
            let left = self.with_room(op, || {
                let at = offset + done as u64;
                self.recorder()
                    .write(&self.machine(), op, to, at, &data[done..])
            })?;
            if left == 0 {
                return Ok(());
            }
            done = data.len() - left;
            self.catch_up(op)?;
        }
    }

    /// Waits until all submitted work is done. Holds no locks, because polling may run the application's callbacks.
    pub(super) fn catch_up(&self, op: &'static str) -> Result<()> {
        let submitted = self.pool.submitted();
        let lost = |reason: String| Err(self.health.note(Error::device_lost(op, reason)));
        loop {
            let waited = self.device.poll(wgpu::PollType::Wait {
                submission_index: None,
                timeout: Some(Duration::from_secs(5)),
            });
            self.health.check(op)?;
            // Work on a lost device never completes, and only the application may have been notified.
            if is_lost(&self.device) {
                return lost("its work never completes".to_owned());
            }
            match waited {
                Ok(_) => {
                    // Another polling thread may not have reported this yet.
                    self.pool.settle(submitted);
                    return Ok(());
                }
                Err(wgpu::PollError::Timeout) => log::warn!("{op}: still waiting for the GPU"),
                Err(e) => return lost(e.to_string()),
            }
        }
    }

    /// Allocates a buffer from the pool.
    pub(super) fn allocate(&self, op: &'static str, words: u64) -> Result<Arc<GpuBuffer>> {
        self.with_room(op, || self.pool.allocate(op, words))
    }

    /// Retries as long as memory can be freed.
    pub(super) fn with_room<R>(
        &self,
        op: &'static str,
        mut attempt: impl FnMut() -> Result<R>,
    ) -> Result<R> {
        loop {
            let bytes = match attempt() {
                // Without a number, wgpu itself ran out of memory; everything unused is then freed.
                Err(Error::OutOfMemory {
                    bytes, available, ..
                }) => available.map(|_| bytes),
                done => return done,
            };
            if !self.make_room(op, bytes)? {
                // Tries once more, at least to report what is available now.
                return attempt();
            }
        }
    }

    /// Frees unused memory until this many bytes fit, or all of it if `None`, cheapest to recreate first.
    ///
    /// Waits for recorded work if it holds the missing memory. False if there is nothing to free.
    pub(super) fn make_room(&self, op: &'static str, bytes: Option<u64>) -> Result<bool> {
        self.health.check(op)?;
        let enough = || bytes.is_some_and(|bytes| self.pool.room(bytes) != Room::None);
        let mut any = false;
        {
            // One thread at a time, so that memory another thread is about to free is not overlooked.
            let _one = self
                .making_room
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            any |= self.pool.evict(bytes);
            if bytes.is_none_or(|bytes| self.pool.room(bytes) != Room::Now) {
                any |= self.staging.trim();
            }
            any |= self.copies.give_up(|| {
                self.pool.evict(bytes);
                enough()
            });
            self.pool.evict(bytes);
        }
        let room = bytes.map(|bytes| self.pool.room(bytes));
        if room == Some(Room::Now) {
            return Ok(true);
        }
        if room == Some(Room::Soon) || self.pool.is_anything_leaving() {
            self.recorder().submit(&self.machine(), op)?;
            self.catch_up(op)?;
            any = true;
        }
        Ok(any && room != Some(Room::None))
    }

    /// Uploads values into a new buffer. The copy is recorded, and the slice can be reused at once.
    pub(crate) fn upload(
        &self,
        op: &'static str,
        layout: &Layout,
        dtype: DType,
        values: &[u8],
    ) -> Result<Arc<GpuBuffer>> {
        self.check_upload(op, layout, dtype)?;
        // Copies consist of whole words.
        let (words, rest) = values.split_at(values.len() & !3);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        match rest {
            [] => self.upload_parts(op, &[words]),
            _ => self.upload_parts(op, &[words, &last]),
        }
    }

    /// A buffer for the values of a batch, which the caller writes.
    pub(crate) fn receive(
        &self,
        op: &'static str,
        layout: &Layout,
        dtype: DType,
    ) -> Result<Arc<GpuBuffer>> {
        self.check_upload(op, layout, dtype)?;
        self.receiving(op, dtype.words(layout.total()) as u64)
    }

    fn check_upload(&self, op: &'static str, layout: &Layout, dtype: DType) -> Result<()> {
        self.health.check(op)?;
        self.check_size(op, layout, dtype)
    }

    /// Fills a buffer with NaN, including the slack that is not bound to kernels.
    pub(super) fn poison_buffer(&self, op: &'static str, buffer: &GpuBuffer) -> Result<()> {
        self.poison_range(op, buffer, 0, buffer.raw.size())
    }

    /// Fills a range of bytes with NaN.
    pub(super) fn poison_range(
        &self,
        op: &'static str,
        buffer: &GpuBuffer,
        offset: u64,
        bytes: u64,
    ) -> Result<()> {
        static PIECE: [f32; 1 << 14] = [f32::NAN; 1 << 14];
        let piece: &[u8] = cast_slice(&PIECE);
        for from in (0..bytes).step_by(piece.len()) {
            let count = (bytes - from).min(piece.len() as u64);
            self.write(op, buffer, offset + from, &piece[..count as usize])?;
        }
        Ok(())
    }
}

#[cfg(feature = "testing")]
mod tests;
