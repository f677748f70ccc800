//! The open encoder, which collects dispatches and staged copies to be submitted together.
//!
//! Data for recorded work is transferred by copies in the same encoder, in order: `Queue::write_buffer` would run
//! before the whole encoder and overwrite data that earlier recorded work still reads. Parameter blocks are the
//! exception: each has its own place in the parameter buffer, which is filled once, just before the submission that
//! reads it.
//!
//! wgpu rejects a submission as a whole. Work on a buffer that the application holds, and may destroy or map at any
//! time, is therefore submitted separately, so that only that work fails.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::DefaultHashBuilder;

use super::account::{Leaving, Use};
use super::errors::{Health, cause, is_lost};
use super::groups::Range;
use super::pipelines::{PARAM_BYTES, Pipeline};
use super::pool::{GpuBuffer, Pool};
use super::profiler::Profiler;
use super::staging::{Held, Staging, Uploads};
use crate::machine::Traffic;
use crate::plan::Access;
use crate::{Error, Result};

/// Maximum number of cached bind groups. A batch of new sizes uses new buffers, so the cache must not grow with them.
const BIND_GROUPS: usize = 1024;

/// The parts of the device that recording needs.
pub(crate) struct Machine<'a> {
    pub device: &'a wgpu::Device,
    pub queue: &'a wgpu::Queue,
    pub health: &'a Health,
    pub pool: &'a Arc<Pool>,
    pub staging: &'a Arc<Staging>,
    /// The buffer that every kernel has beside its own, on an instrumented device.
    pub records: Option<&'a Arc<GpuBuffer>>,
}

impl Machine<'_> {
    /// A bind group of a buffer of parameter blocks and these ranges. The caller catches errors.
    pub(crate) fn bind_group<'a>(
        &'a self,
        pipeline: &Pipeline,
        params: &'a wgpu::Buffer,
        ranges: impl Iterator<Item = Range<'a>>,
    ) -> wgpu::BindGroup {
        let params = (params, 0, PARAM_BYTES);
        let counts = self.records.map(|records| Range::whole(records));
        let ranges = ranges.chain(counts);
        let ranges = ranges.map(|range| (&range.buffer.raw, range.offset, range.bytes));
        let entries: Vec<wgpu::BindGroupEntry<'_>> = std::iter::once(params)
            .chain(ranges)
            .zip(0..)
            .map(|((buffer, offset, bytes), binding)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset,
                    size: std::num::NonZero::new(bytes),
                }),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        })
    }
}

/// Bytes from one parameter block to the next.
pub(crate) fn param_stride(device: &wgpu::Device) -> u64 {
    PARAM_BYTES.max(u64::from(
        device.limits().min_uniform_buffer_offset_alignment,
    ))
}

#[derive(PartialEq, Eq, Hash)]
struct BindKey {
    access: &'static [Access],
    buffers: [u64; 8],
    /// Bytes bound of each buffer: the pool may reuse a buffer with another size.
    bound: [u64; 8],
}

pub(crate) struct Recorder {
    encoder: Option<wgpu::CommandEncoder>,
    /// The number of the open submission, or of the last one.
    number: u64,
    last: Option<wgpu::SubmissionIndex>,
    pass: Option<wgpu::ComputePass<'static>>,
    params: Held,
    param_stride: u64,
    param_data: Vec<u8>,
    bind_groups: HashMap<BindKey, wgpu::BindGroup, DefaultHashBuilder>,
    uploads: Uploads,
    pub traffic: Traffic,
    pub profiler: Option<Profiler>,
}

/// Fails if a submission that writes one of these buffers failed.
pub(super) fn check_computed(
    m: &Machine<'_>,
    op: &'static str,
    buffers: &[&GpuBuffer],
) -> Result<()> {
    match buffers
        .iter()
        .find_map(|buffer| m.health.failure(buffer.written()))
    {
        None => Ok(()),
        Some(reason) => m
            .health
            .check(op)
            .and(Err(Error::NotComputed { op, reason })),
    }
}

impl Recorder {
    pub(crate) fn new(
        device: &wgpu::Device,
        pool: &Arc<Pool>,
        dispatches: u64,
    ) -> Result<Recorder> {
        let param_stride = param_stride(device);
        let params = Held::new(
            pool,
            "device",
            Use::Own,
            &wgpu::BufferDescriptor {
                label: Some("vsla parameters"),
                size: param_stride * dispatches,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            },
        )?;
        Ok(Recorder {
            encoder: None,
            number: 0,
            last: None,
            pass: None,
            params,
            param_stride,
            param_data: Vec::new(),
            bind_groups: HashMap::default(),
            uploads: Uploads::default(),
            traffic: Traffic::default(),
            profiler: None,
        })
    }

    fn encoder(&mut self, m: &Machine<'_>) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        let number = &mut self.number;
        self.encoder.get_or_insert_with(|| {
            *number = m.health.begin_submission();
            m.device.create_command_encoder(&Default::default())
        })
    }

    /// Bytes from one parameter block to the next.
    pub(crate) fn param_stride(&self) -> u64 {
        self.param_stride
    }

    /// The number of the open submission, or of the last one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Records one dispatch of `grid` workgroups. If it uses buffers that the application holds, also submits it.
    pub(crate) fn dispatch(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        pipeline: &Pipeline,
        buffers: &[&GpuBuffer],
        params: &[u32],
        grid: (u32, u32),
    ) -> Result<()> {
        check_computed(m, op, buffers)?;
        if !buffers.iter().any(|buffer| buffer.is_shared()) {
            return self.record(m, op, pipeline, buffers, params, grid);
        }
        self.alone(m, op, buffers, |recorder| {
            recorder.record(m, op, pipeline, buffers, params, grid)
        })
        .map(|_| ())
    }

    /// Submits all recorded work, and then, separately, the work that `record` records.
    ///
    /// If the second submission fails, the cause is a buffer that the application holds, and no other work is lost.
    fn alone(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        buffers: &[&GpuBuffer],
        record: impl FnOnce(&mut Recorder) -> Result<()>,
    ) -> Result<Option<wgpu::SubmissionIndex>> {
        self.submit(m, op)?;
        let submitted = record(self).and_then(|()| self.hand_over(m, op));
        submitted.map_err(|error| self.blamed(m, op, buffers, error))
    }

    /// Submits recorded work that uses buffers which the application holds, and no other work.
    pub(crate) fn submit_alone(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        buffers: &[&GpuBuffer],
    ) -> Result<()> {
        let submitted = self.hand_over(m, op);
        submitted.map_err(|error| self.blamed(m, op, buffers, error))?;
        Ok(())
    }

    /// The error of work that failed because the application destroyed or mapped one of these buffers.
    pub(crate) fn blamed(
        &self,
        m: &Machine<'_>,
        op: &'static str,
        buffers: &[&GpuBuffer],
        error: Error,
    ) -> Error {
        let Error::Gpu { message, .. } = &error else {
            return m.health.note(error);
        };
        let shared = || buffers.iter().filter(|buffer| buffer.is_shared());
        let unusable = shared().find(|buffer| !self.is_usable(m, op, buffer));
        let Some(buffer) = unusable.or(shared().next()) else {
            return error;
        };
        Error::Buffer {
            op,
            buffer: buffer.to_string(),
            reason: cause(message),
        }
    }

    /// Whether a submission that reads this buffer succeeds. It overwrites parameters, which are rewritten before each
    /// use.
    fn is_usable(&self, m: &Machine<'_>, op: &'static str, buffer: &GpuBuffer) -> bool {
        m.health
            .caught(op, || {
                let mut encoder = m.device.create_command_encoder(&Default::default());
                encoder.copy_buffer_to_buffer(&buffer.raw, 0, &self.params.raw, 0, 4);
                m.queue.submit([encoder.finish()]);
            })
            .is_ok()
    }

    fn record(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        pipeline: &Pipeline,
        buffers: &[&GpuBuffer],
        params: &[u32],
        grid: (u32, u32),
    ) -> Result<()> {
        if self.param_data.len() as u64 >= self.params.raw.size() {
            self.submit(m, op)?;
        }
        let group = self.bind_group(m, op, pipeline, buffers)?;
        if self.param_data.is_empty() {
            // wgpu copies the parameters before the submission, and keeps the copy until the submission is done.
            m.pool.reserve(op, Use::Own, self.params.raw.size())?;
        }
        let offset = self.param_data.len();
        self.param_data
            .extend_from_slice(bytemuck::cast_slice(params));
        self.param_data
            .resize(offset + self.param_stride as usize, 0);
        self.encode(m, (op, pipeline, &group), offset as u32, grid)?;
        for (access, buffer) in pipeline.access.iter().zip(buffers) {
            if *access == Access::Write {
                buffer.written.store(self.number, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Appends a dispatch to the open pass, with the parameter block at this offset of its bind group's buffer.
    pub(crate) fn encode(
        &mut self,
        m: &Machine<'_>,
        (op, pipeline, group): (&'static str, &Pipeline, &wgpu::BindGroup),
        offset: u32,
        grid: (u32, u32),
    ) -> Result<()> {
        let (kernels, name) = pipeline.now();
        let writes = match &mut self.profiler {
            Some(profiler) => Some(profiler.next((m.health, m.pool), op, &name)?),
            None => None,
        };
        if self.profiler.is_some() {
            // Uses a separate pass, because timestamps are taken at the boundaries of passes.
            self.pass = None;
        }
        if self.pass.is_none() {
            let encoder = self.encoder(m);
            let pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: writes.as_ref().map(|(set, begin)| {
                    wgpu::ComputePassTimestampWrites {
                        query_set: set,
                        beginning_of_pass_write_index: Some(*begin),
                        end_of_pass_write_index: Some(*begin + 1),
                    }
                }),
            });
            self.pass = Some(pass.forget_lifetime());
        }
        if let Some(pass) = &mut self.pass {
            for kernel in kernels {
                pass.set_pipeline(kernel);
                pass.set_bind_group(0, group, &[offset]);
                pass.dispatch_workgroups(grid.0, grid.1, 1);
            }
            self.traffic.dispatches += 1;
        }
        Ok(())
    }

    fn bind_group(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        pipeline: &Pipeline,
        buffers: &[&GpuBuffer],
    ) -> Result<wgpu::BindGroup> {
        let mut key = BindKey {
            access: pipeline.access,
            buffers: [0; 8],
            bound: [0; 8],
        };
        for (i, buffer) in buffers.iter().enumerate() {
            key.buffers[i] = buffer.id;
            key.bound[i] = buffer.bound;
        }
        if let Some(hit) = self.bind_groups.get(&key) {
            return Ok(hit.clone());
        }
        self.forget_retired(m.pool);
        if self.bind_groups.len() >= BIND_GROUPS {
            self.bind_groups.clear();
        }
        let group = m
            .health
            .caught(op, || {
                let whole = buffers.iter().map(|buffer| Range::whole(buffer));
                m.bind_group(pipeline, &self.params.raw, whole)
            })
            .map_err(|e| m.health.note(e))?;
        self.bind_groups.insert(key, group.clone());
        Ok(group)
    }

    /// Drops the bind groups of released buffers, which would keep their memory alive.
    pub(crate) fn forget_retired(&mut self, pool: &Pool) {
        let retired = pool.take_retired();
        if !retired.is_empty() {
            let retired: std::collections::HashSet<u64> = retired.into_iter().collect();
            self.bind_groups
                .retain(|key, _| !key.buffers.iter().any(|id| retired.contains(id)));
        }
    }

    /// Records the copy of `data` into `to` at byte `offset`, as far as upload buffers are available.
    ///
    /// Submits when they run out. Returns the number of bytes left, which must wait until the GPU frees upload buffers.
    /// After an error nothing of `data` was recorded.
    pub(crate) fn write(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        to: &GpuBuffer,
        mut offset: u64,
        mut data: &[u8],
    ) -> Result<usize> {
        let all = data.len();
        while !data.is_empty() {
            let staged = match self.uploads.stage(m.staging, m.pool, op, data) {
                Ok(Some(staged)) => staged,
                Err(error) if data.len() == all => return Err(error),
                Ok(None) | Err(_) => {
                    self.submit(m, op)?;
                    break;
                }
            };
            self.encoder(m).copy_buffer_to_buffer(
                &staged.buffer,
                staged.offset,
                &to.raw,
                offset,
                staged.bytes,
            );
            to.written.store(self.number, Ordering::Relaxed);
            offset += staged.bytes;
            data = &data[staged.bytes as usize..];
            if self.uploads.has_full() {
                self.submit(m, op)?;
            }
        }
        Ok(data.len())
    }

    /// Records a copy to a mappable buffer and submits it.
    pub(crate) fn read(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        from: &GpuBuffer,
        offset: u64,
        to: &wgpu::Buffer,
        bytes: u64,
    ) -> Result<wgpu::SubmissionIndex> {
        check_computed(m, op, &[from])?;
        let copy = |recorder: &mut Recorder| {
            let encoder = recorder.encoder(m);
            encoder.copy_buffer_to_buffer(&from.raw, offset, to, 0, bytes);
            Ok(())
        };
        let submitted = if from.is_shared() {
            self.alone(m, op, &[from], copy)
        } else {
            copy(self).and_then(|()| self.submit(m, op))
        };
        submitted?.ok_or_else(|| Error::gpu(op, "a read was not recorded"))
    }

    /// Records a copy to a mappable buffer, at a byte offset of it.
    pub(crate) fn copy(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        from: &GpuBuffer,
        offset: u64,
        (to, at): (&wgpu::Buffer, u64),
        bytes: u64,
    ) -> Result<()> {
        check_computed(m, op, &[from])?;
        self.encoder(m)
            .copy_buffer_to_buffer(&from.raw, offset, to, at, bytes);
        Ok(())
    }

    /// Runs `record` on the open encoder, outside any pass.
    pub(crate) fn with_encoder(
        &mut self,
        m: &Machine<'_>,
        record: impl FnOnce(&mut wgpu::CommandEncoder),
    ) {
        record(self.encoder(m));
    }

    /// Submits all recorded work to the GPU. `None` if there was none.
    ///
    /// If the submission fails, results that were already returned will never be computed, and every later use of them
    /// is an error.
    pub(crate) fn submit(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
    ) -> Result<Option<wgpu::SubmissionIndex>> {
        self.hand_over(m, op).map_err(|error| {
            // Records the loss first, so that other threads report it instead of results that were not computed.
            let error = m.health.note(error);
            m.health.fail(self.number..=self.number, error.to_string());
            // Its timestamps will never be written.
            self.profiler = None;
            error
        })
    }

    fn hand_over(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
    ) -> Result<Option<wgpu::SubmissionIndex>> {
        self.pass = None;
        let Some(encoder) = self.encoder.take() else {
            return Ok(None);
        };
        self.traffic.submissions += 1;
        let submitted = m.health.caught(op, || {
            self.uploads.before_submit(m.queue);
            // Submits only if the parameters were written: kernels must not run with stale ones.
            self.write_params(m)
                .then(|| m.queue.submit([encoder.finish()]))
        });
        let submitted = submitted.and_then(|index| {
            let reason = "parameters could not be written".to_owned();
            // On a lost device wgpu skips work without reporting it.
            index.ok_or_else(|| match is_lost(m.device) {
                true => Error::device_lost(op, reason),
                false => Error::gpu(op, reason),
            })
        });
        self.leave_params(m);
        m.pool.note_submitted(self.number);
        let (pool, number) = (Arc::downgrade(m.pool), self.number);
        m.queue.on_submitted_work_done(move || {
            if let Some(pool) = pool.upgrade() {
                pool.settle(number);
            }
        });
        // The upload buffers of a failed submission are free as well.
        self.uploads.after_submit(m.staging);
        let index = submitted?;
        self.last = Some(index.clone());
        Ok(Some(index))
    }

    /// Writes the recorded parameters through the queue. False if there is no memory for them.
    fn write_params(&self, m: &Machine<'_>) -> bool {
        let Some(bytes) = std::num::NonZero::new(self.param_data.len() as u64) else {
            return true;
        };
        let staged = m.queue.write_buffer_with(&self.params.raw, 0, bytes);
        let copied = staged.map(|mut staged| staged.copy_from_slice(&self.param_data));
        copied.is_some()
    }

    /// Prepares a buffer for export.
    ///
    /// Submits all recorded work, so that the application sees its results and no unsubmitted work needs the buffer.
    pub(crate) fn share(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        buffer: &GpuBuffer,
    ) -> Result<()> {
        match buffer.share() {
            true => self.submit(m, op).map(|_| ()),
            false => Ok(()),
        }
    }

    /// Accounts for wgpu's copy of the parameters until the submission is done, and releases the unused part of the
    /// reservation.
    fn leave_params(&mut self, m: &Machine<'_>) {
        if self.param_data.is_empty() {
            return;
        }
        let bytes = self.param_data.len() as u64;
        self.param_data.clear();
        m.pool.release(Use::Own, self.params.raw.size() - bytes);
        m.pool.leave(Leaving {
            what: Use::Own,
            bytes,
            after: self.number,
            raw: None,
        });
    }

    /// The latest submission.
    pub(crate) fn last(&self) -> Option<wgpu::SubmissionIndex> {
        self.last.clone()
    }

    /// Number of cached bind groups.
    pub(crate) fn bind_groups(&self) -> usize {
        self.bind_groups.len()
    }
}
