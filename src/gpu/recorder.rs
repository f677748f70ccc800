//! The open encoder: dispatches and staged copies pile up here and are submitted together.
//!
//! Data for recorded work travels by copies in the same encoder, in order: `Queue::write_buffer` would run before the
//! whole encoder and overwrite what earlier recorded work still reads. Parameter blocks are the exception: each has
//! its own place in the parameter buffer, filled once, just before the submission that reads it.

use std::collections::HashMap;

use super::errors::{Health, caught};
use super::pipelines::Pipeline;
use super::pool::{GpuBuffer, Pool};
use super::profiler::Profiler;
use super::staging::Uploads;
use crate::Result;
use crate::plan::Access;

/// Bytes of a kernel's parameter block.
pub(crate) const PARAM_BYTES: u64 = 128;
/// Words of it that are the kernel's own; two more come before them.
pub(crate) const PARAM_WORDS: usize = PARAM_BYTES as usize / 4 - 2;
/// Dispatches recorded before they are submitted: enough to hide a submission's cost, few enough that the GPU starts
/// early.
const DISPATCHES_PER_SUBMISSION: u64 = 256;
/// Bind groups kept. A batch of fresh sizes uses fresh buffers, so the cache must not grow with them.
const BIND_GROUPS: usize = 1024;

/// Everything of the device that recording needs.
pub(crate) struct Machine<'a> {
    pub device: &'a wgpu::Device,
    pub queue: &'a wgpu::Queue,
    pub health: &'a Health,
    pub pool: &'a Pool,
}

#[derive(PartialEq, Eq, Hash)]
struct BindKey {
    access: &'static [Access],
    buffers: [u64; 8],
}

pub(crate) struct Recorder {
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    params: wgpu::Buffer,
    param_stride: u64,
    param_data: Vec<u8>,
    bind_groups: HashMap<BindKey, wgpu::BindGroup>,
    uploads: Uploads,
    pub profiler: Option<Profiler>,
}

impl Recorder {
    pub(crate) fn new(device: &wgpu::Device) -> Result<Recorder> {
        let stride = PARAM_BYTES.max(u64::from(
            device.limits().min_uniform_buffer_offset_alignment,
        ));
        let params = caught(device, "device", || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("vsla parameters"),
                size: stride * DISPATCHES_PER_SUBMISSION,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })?;
        Ok(Recorder {
            encoder: None,
            pass: None,
            params,
            param_stride: stride,
            param_data: Vec::new(),
            bind_groups: HashMap::new(),
            uploads: Uploads::default(),
            profiler: None,
        })
    }

    fn encoder(&mut self, m: &Machine<'_>) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder
            .get_or_insert_with(|| m.device.create_command_encoder(&Default::default()))
    }

    /// Records one dispatch of `grid` workgroups.
    pub(crate) fn dispatch(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        pipeline: &Pipeline,
        buffers: &[&GpuBuffer],
        params: &[u32],
        grid: (u32, u32),
    ) -> Result<()> {
        if self.param_data.len() as u64 >= self.param_stride * DISPATCHES_PER_SUBMISSION {
            self.submit(m, op)?;
        }
        let group = self.bind_group(m, op, pipeline, buffers)?;
        let offset = self.param_data.len();
        self.param_data
            .extend_from_slice(bytemuck::cast_slice(params));
        self.param_data
            .resize(offset + self.param_stride as usize, 0);

        if self.profiler.is_some() {
            // A pass of its own, because timestamps are taken at the ends of passes.
            self.pass = None;
        }
        if self.pass.is_none() {
            let encoder = self
                .encoder
                .get_or_insert_with(|| m.device.create_command_encoder(&Default::default()));
            let writes = match &mut self.profiler {
                Some(profiler) => Some(profiler.next(m.device, op, &pipeline.name)?),
                None => None,
            };
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
            pass.set_pipeline(&pipeline.raw);
            pass.set_bind_group(0, &group, &[offset as u32]);
            pass.dispatch_workgroups(grid.0, grid.1, 1);
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
        let mut ids = [0; 8];
        for (id, buffer) in ids.iter_mut().zip(buffers) {
            *id = buffer.id;
        }
        let key = BindKey {
            access: pipeline.access,
            buffers: ids,
        };
        if let Some(hit) = self.bind_groups.get(&key) {
            return Ok(hit.clone());
        }
        self.forget_retired(m.pool);
        if self.bind_groups.len() >= BIND_GROUPS {
            self.bind_groups.clear();
        }
        let mut entries = vec![wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &self.params,
                offset: 0,
                size: std::num::NonZero::new(PARAM_BYTES),
            }),
        }];
        for (i, buffer) in buffers.iter().enumerate() {
            entries.push(wgpu::BindGroupEntry {
                binding: i as u32 + 1,
                resource: buffer.raw.as_entire_binding(),
            });
        }
        let group = caught(m.device, op, || {
            m.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.layout,
                entries: &entries,
            })
        })
        .map_err(|e| m.health.note(e))?;
        self.bind_groups.insert(key, group.clone());
        Ok(group)
    }

    /// Drops bind groups of buffers that are gone, which would keep their memory.
    pub(crate) fn forget_retired(&mut self, pool: &Pool) {
        let retired = pool.take_retired();
        if !retired.is_empty() {
            let retired: std::collections::HashSet<u64> = retired.into_iter().collect();
            self.bind_groups
                .retain(|key, _| !key.buffers.iter().any(|id| retired.contains(id)));
        }
    }

    /// Records the copy of `data` into `to` from byte `offset`, as far as there are upload buffers, and submits when
    /// there are no more. Returns how many bytes are left: for them the GPU has to give buffers back first.
    pub(crate) fn write(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
        to: &GpuBuffer,
        mut offset: u64,
        mut data: &[u8],
    ) -> Result<usize> {
        while !data.is_empty() {
            let Some(staged) = self.uploads.stage(m.device, op, data)? else {
                self.submit(m, op)?;
                break;
            };
            self.encoder(m).copy_buffer_to_buffer(
                &staged.buffer,
                staged.offset,
                &to.raw,
                offset,
                staged.bytes,
            );
            offset += staged.bytes;
            data = &data[staged.bytes as usize..];
            if self.uploads.has_full() {
                self.submit(m, op)?;
            }
        }
        Ok(data.len())
    }

    /// Records a copy to a buffer that the host can map.
    pub(crate) fn read(
        &mut self,
        m: &Machine<'_>,
        from: &GpuBuffer,
        offset: u64,
        to: &wgpu::Buffer,
        bytes: u64,
    ) {
        self.encoder(m)
            .copy_buffer_to_buffer(&from.raw, offset, to, 0, bytes);
    }

    /// Records whatever `record` does on the open encoder, outside a pass.
    pub(crate) fn with_encoder(
        &mut self,
        m: &Machine<'_>,
        record: impl FnOnce(&mut wgpu::CommandEncoder),
    ) {
        record(self.encoder(m));
    }

    /// Hands everything recorded to the GPU. `None` when there was nothing.
    pub(crate) fn submit(
        &mut self,
        m: &Machine<'_>,
        op: &'static str,
    ) -> Result<Option<wgpu::SubmissionIndex>> {
        self.pass = None;
        let Some(encoder) = self.encoder.take() else {
            return Ok(None);
        };
        self.uploads.before_submit();
        let submitted = caught(m.device, op, || {
            if !self.param_data.is_empty() {
                m.queue.write_buffer(&self.params, 0, &self.param_data);
            }
            m.queue.submit([encoder.finish()])
        });
        self.param_data.clear();
        // Whatever the reason, results that were handed out will never be computed.
        let index = submitted.inspect_err(|e| m.health.mark_lost(e.to_string()))?;
        self.uploads.after_submit();
        Ok(Some(index))
    }

    /// Bind groups kept.
    pub(crate) fn bind_groups(&self) -> usize {
        self.bind_groups.len()
    }
}

/// How many workgroups in x and y: `groups`, at least 1, folded into rows of at most `limit`, never more than `limit²`. Rows are as
/// short as they can be: a workgroup with nothing to do costs as much as starting one with work.
pub(crate) fn fold(groups: u32, limit: u32) -> (u32, u32) {
    let rows = groups.div_ceil(limit).min(limit);
    (groups.div_ceil(rows).min(limit), rows)
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn rows_of_workgroups_are_nearly_full() {
        for limit in [1, 4, 100, 65_535] {
            for groups in [1, 3, 4, 5, 99, 100, 101, 65_535, 65_536, 131_071, 1 << 20] {
                let (x, y) = fold(groups, limit);
                assert!(x <= limit && y <= limit, "{groups} {limit}: {x} x {y}");
                let most = u64::from(limit) * u64::from(limit);
                let expected = u64::from(groups).min(most);
                let all = u64::from(x) * u64::from(y);
                assert!(
                    all >= expected && all - expected < u64::from(y),
                    "{groups} {limit}: {x} x {y}"
                );
            }
        }
    }
}
