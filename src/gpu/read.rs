//! Bringing values back, and device times.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::poll::{Delivery, wait_for};
use super::pool::GpuBuffer;
use super::profiler::Profiler;
use super::staging::{READ_CHUNK, copy_out};
use super::{Gpu, errors};
use crate::{Error, Result};

/// Pieces of a large read in flight: the transfer of one overlaps the copy of another.
const IN_FLIGHT: usize = 3;

/// Who polls while a read waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The calling thread, blocked.
    Here,
    /// The polling thread; the future yields.
    Elsewhere,
}

struct Piece {
    buffer: wgpu::Buffer,
    /// Of the read-back buffer: whole words, of which the first may begin before what is wanted.
    wanted: Range<usize>,
    mapped: Delivery<Result<(), wgpu::BufferAsyncError>>,
    submission: wgpu::SubmissionIndex,
}

impl Gpu {
    /// Copies `to.len()` bytes of `from`, beginning at byte `offset`, into `to`, after all that is recorded.
    pub(crate) async fn read_into(
        &self,
        op: &'static str,
        from: &GpuBuffer,
        mut offset: u64,
        to: &mut [u8],
        wait: Wait,
    ) -> Result<()> {
        self.health.check(op)?;
        let end = offset + to.len() as u64;
        let mut pieces: VecDeque<Piece> = VecDeque::new();
        let mut to = to;
        loop {
            while pieces.len() < IN_FLIGHT {
                if offset == end {
                    break;
                }
                let first = offset & !3;
                let stop = end.min(first + READ_CHUNK);
                pieces.push_back(self.begin_read(op, from, offset..stop)?);
                offset = stop;
            }
            let Some(piece) = pieces.pop_front() else {
                return Ok(());
            };
            let (head, tail) = to.split_at_mut(piece.wanted.len());
            self.finish_read(op, piece, head, wait).await?;
            to = tail;
        }
    }

    fn begin_read(&self, op: &'static str, from: &GpuBuffer, wanted: Range<u64>) -> Result<Piece> {
        // Copies are of whole words, and so are buffers.
        let first = wanted.start & !3;
        let bytes = (wanted.end - first).next_multiple_of(4);
        let buffer = self
            .readbacks
            .take(&self.device, op, bytes)
            .map_err(|e| self.health.note(e))?;
        let machine = self.machine();
        let mut recorder = self.recorder();
        recorder.read(&machine, from, first, &buffer, bytes);
        let submission = recorder.submit(&machine, op)?.ok_or_else(|| Error::Gpu {
            op,
            message: "a read was not recorded".to_owned(),
        })?;
        drop(recorder);
        let (mapped, deliver) = Delivery::new();
        errors::caught(&self.device, op, || {
            buffer.map_async(wgpu::MapMode::Read, ..bytes, deliver);
        })
        .map_err(|e| self.health.note(e))?;
        Ok(Piece {
            buffer,
            wanted: (wanted.start - first) as usize..(wanted.end - first) as usize,
            mapped,
            submission,
        })
    }

    async fn finish_read(
        &self,
        op: &'static str,
        piece: Piece,
        to: &mut [u8],
        wait: Wait,
    ) -> Result<()> {
        let lost = |reason: String| self.health.note(Error::DeviceLost { op, reason });
        let elsewhere =
            wait == Wait::Elsewhere && self.poller.watch(&self.device, piece.submission.clone());
        if !elsewhere {
            self.device
                .poll(wait_for(piece.submission))
                .map_err(|e| lost(format!("the GPU does not answer: {e}")))?;
            self.health.check(op)?;
        }
        piece
            .mapped
            .await
            .map_err(|e| lost(format!("a result cannot be read back: {e}")))?;
        let view = piece
            .buffer
            .get_mapped_range(..(piece.wanted.end as u64).next_multiple_of(4))
            .map_err(|e| lost(format!("a result cannot be read back: {e}")))?;
        copy_out(&view[piece.wanted], to);
        drop(view);
        piece.buffer.unmap();
        self.readbacks.give_back(piece.buffer);
        Ok(())
    }

    /// Starts taking timestamps around every dispatch. False where the device has none, or takes some already.
    pub(crate) fn profile_begin(&self) -> Result<bool> {
        self.health.check("profile")?;
        let mut recorder = self.recorder();
        if !self.timestamps || recorder.profiler.is_some() {
            return Ok(false);
        }
        recorder.submit(&self.machine(), "profile")?;
        recorder.profiler = Some(Profiler::default());
        Ok(true)
    }

    /// Stops, and returns operation, kernel, begin and end of each dispatch, times since the first began.
    pub(crate) fn profile_end(&self) -> Result<Vec<(&'static str, String, Duration, Duration)>> {
        let machine = self.machine();
        let Some(profiler) = self.recorder().profiler.take() else {
            return Ok(Vec::new());
        };
        let mut ticks: Vec<u64> = Vec::with_capacity(profiler.entries.len() * 2);
        for (i, set) in profiler.sets.iter().enumerate() {
            let count = profiler.used(i);
            let bytes = u64::from(count) * 8;
            let resolved = errors::caught(&self.device, "profile", || {
                self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("vsla timestamps"),
                    size: bytes,
                    usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                })
            })?;
            self.recorder().with_encoder(&machine, |e| {
                e.resolve_query_set(set, 0..count, &resolved, 0)
            });
            let mut data = vec![0u64; count as usize];
            let buffer = self.pool.lend(resolved);
            pollster::block_on(self.read_into(
                "profile",
                &buffer,
                0,
                bytemuck::cast_slice_mut(&mut data),
                Wait::Here,
            ))?;
            ticks.extend(data);
        }
        let period = f64::from(self.queue.get_timestamp_period());
        let zero = ticks.first().copied().unwrap_or(0);
        let at =
            |tick: u64| Duration::from_nanos((tick.saturating_sub(zero) as f64 * period) as u64);
        Ok(profiler
            .entries
            .into_iter()
            .zip(ticks.chunks_exact(2))
            .map(|((op, kernel), t)| (op, kernel, at(t[0]), at(t[1])))
            .collect())
    }
}
