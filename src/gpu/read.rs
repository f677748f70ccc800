//! Reads values and timestamps back from the device.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::account::Use;
use super::poll::{Delivery, wait_for};
use super::pool::GpuBuffer;
use super::profiler::{Profiler, TIMESTAMP};
use super::recorder::check_computed;
use super::staging::{Held, copy_out};
use super::{Gpu, errors};
use crate::error::Named;
use crate::machine::Wait;
use crate::{Error, Result, host};

/// Pieces of a large read in flight: the transfer of one overlaps the copy of another.
const IN_FLIGHT: usize = 3;
/// How long a blocking read waits for one of the few readback buffers that a limit allows. Other readers return theirs
/// in milliseconds; only a future that is neither polled nor dropped holds one longer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Wait {
    /// Fails if the thread would block in a browser, whose callbacks run only when the thread is idle.
    fn check(self, op: &'static str) -> Result<()> {
        match cfg!(target_family = "wasm") && self == Wait::Here {
            true => Err(Error::unsupported(
                "a call that blocks until a GPU has finished, in a browser; await the async form",
            )
            .named(op)),
            false => Ok(()),
        }
    }
}

struct Piece {
    buffer: Held,
    /// Byte range in the readback buffer. Copies consist of whole words, so the first word may begin before the range.
    request: Range<usize>,
    mapped: Delivery<Result<(), wgpu::BufferAsyncError>>,
    submission: wgpu::SubmissionIndex,
}

impl Gpu {
    /// Copies `to.len()` bytes of `from`, starting at byte `offset`, into `to`, after all recorded work.
    pub(crate) async fn read_into(
        &self,
        op: &'static str,
        from: &GpuBuffer,
        mut offset: u64,
        to: &mut [u8],
        wait: Wait,
    ) -> Result<()> {
        wait.check(op)?;
        self.health.check(op)?;
        self.recorder().traffic.downloads += 1;
        let end = offset + to.len() as u64;
        let mut pieces: VecDeque<Piece> = VecDeque::new();
        let mut to = to;
        loop {
            while pieces.len() < IN_FLIGHT {
                if offset == end {
                    break;
                }
                let first = offset & !3;
                let stop = end.min(first + self.staging.sizes.read);
                let bytes = (stop - first).next_multiple_of(4);
                let count = self.pool.freed.count();
                let buffer = match self.staging.read_buffer(&self.pool, op, bytes) {
                    Ok(Some(buffer)) => buffer,
                    // Does not wait for other readers' buffers while holding any.
                    Ok(None) | Err(Error::OutOfMemory { .. }) if !pieces.is_empty() => break,
                    Ok(None) => {
                        self.wait_for_read_buffer(op, count, bytes, wait).await?;
                        continue;
                    }
                    Err(error @ Error::OutOfMemory { .. }) => {
                        if self.make_room(op, None)? {
                            continue;
                        }
                        return Err(error);
                    }
                    Err(error) => return Err(self.health.note(error)),
                };
                pieces.push_back(self.begin_read(op, from, offset..stop, buffer)?);
                offset = stop;
            }
            let Some(piece) = pieces.pop_front() else {
                return self.check_arrived(op, &[from]).await;
            };
            let (head, tail) = to.split_at_mut(piece.request.len());
            self.finish_read(op, piece, wait, |bytes| copy_out(bytes, head))
                .await?;
            to = tail;
        }
    }

    /// Copies ranges of several buffers to the host, after all recorded work: with one submission, if they fit in one
    /// readback buffer and there is memory for it.
    pub(crate) async fn read_all(
        &self,
        op: &'static str,
        reads: Vec<(&GpuBuffer, u64, &mut [u8])>,
        wait: Wait,
    ) -> Result<()> {
        wait.check(op)?;
        self.health.check(op)?;
        let words = |begin: u64, len: usize| {
            let first = begin & !3;
            (first, (begin + len as u64).next_multiple_of(4) - first)
        };
        let all: u64 = reads
            .iter()
            .map(|(_, begin, to)| words(*begin, to.len()).1)
            .sum();
        let alone = reads.len() == 1 || all > self.staging.sizes.read;
        let shared = reads.iter().any(|(from, ..)| from.is_shared());
        let buffer = match alone || shared || all == 0 {
            true => None,
            false => match self.staging.read_buffer(&self.pool, op, all) {
                Ok(buffer) => buffer,
                // Read one by one, ranges need less memory, for which room is made.
                Err(Error::OutOfMemory { .. }) => None,
                Err(error) => return Err(self.health.note(error)),
            },
        };
        let Some(buffer) = buffer else {
            for (from, begin, to) in reads {
                self.read_into(op, from, begin, to, wait).await?;
            }
            return Ok(());
        };
        let mut places = Vec::with_capacity(reads.len());
        let submission = {
            let machine = self.machine();
            let mut recorder = self.recorder();
            let mut at = 0;
            for (from, begin, to) in &reads {
                let (first, bytes) = words(*begin, to.len());
                if bytes > 0 {
                    recorder.copy(&machine, op, from, first, (&buffer.raw, at), bytes)?;
                }
                places.push(at + begin - first);
                at += bytes;
            }
            recorder.traffic.downloads += reads.len();
            recorder.submit(&machine, op)?
        };
        let submission = submission.ok_or_else(|| Error::gpu(op, "a read was not recorded"))?;
        let piece = self.mapped(op, buffer, 0..all as usize, submission)?;
        let from: Vec<&GpuBuffer> = reads.iter().map(|(from, ..)| *from).collect();
        self.finish_read(op, piece, wait, |bytes| {
            for ((_, _, to), place) in reads.into_iter().zip(places) {
                copy_out(&bytes[place as usize..][..to.len()], to);
            }
        })
        .await?;
        self.check_arrived(op, &from).await
    }

    /// Fails if the values that were read had not been computed, which a browser may report only now.
    async fn check_arrived(&self, op: &'static str, from: &[&GpuBuffer]) -> Result<()> {
        self.health.settled().await;
        check_computed(&self.machine(), op, from)
    }

    /// Waits until another reader returns a buffer.
    async fn wait_for_read_buffer(
        &self,
        op: &'static str,
        count: u64,
        bytes: u64,
        wait: Wait,
    ) -> Result<()> {
        // The buffers of reads that were dropped midway are freed only when the GPU is done with them.
        let last = {
            let mut recorder = self.recorder();
            recorder.submit(&self.machine(), op)?;
            recorder.last()
        };
        let watched = |last| self.poller.watch(&self.device, last);
        if wait == Wait::Elsewhere && last.is_none_or(watched) {
            self.pool.freed.after(count).await;
            return self.health.check(op);
        }
        self.catch_up(op)?;
        if self.pool.freed.wait(count, PATIENCE) {
            return Ok(());
        }
        Err(Error::out_of_memory(bytes, Some(0)).named(op))
    }

    fn begin_read(
        &self,
        op: &'static str,
        from: &GpuBuffer,
        request: Range<u64>,
        buffer: Held,
    ) -> Result<Piece> {
        // Copies consist of whole words, and so do buffers.
        let first = request.start & !3;
        let bytes = (request.end - first).next_multiple_of(4);
        let machine = self.machine();
        let submission = self
            .recorder()
            .read(&machine, op, from, first, &buffer.raw, bytes)?;
        let request = (request.start - first) as usize..(request.end - first) as usize;
        self.mapped(op, buffer, request, submission)
    }

    /// Starts to map a readback buffer that a submission fills.
    fn mapped(
        &self,
        op: &'static str,
        buffer: Held,
        request: Range<usize>,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Piece> {
        let bytes = (request.end as u64).next_multiple_of(4);
        let (mapped, deliver) = Delivery::new();
        self.health
            .caught(op, || {
                buffer.raw.map_async(wgpu::MapMode::Read, ..bytes, deliver);
            })
            .map_err(|e| self.health.note(e))?;
        Ok(Piece {
            buffer,
            request,
            mapped,
            submission,
        })
    }

    /// Waits for a piece, and hands its bytes to `take`.
    async fn finish_read(
        &self,
        op: &'static str,
        piece: Piece,
        wait: Wait,
        take: impl FnOnce(&[u8]),
    ) -> Result<()> {
        let failed = |reason: String| match errors::is_lost(&self.device) {
            true => self.health.note(Error::device_lost(op, reason)),
            false => Error::gpu(op, reason),
        };
        let elsewhere =
            wait == Wait::Elsewhere && self.poller.watch(&self.device, piece.submission.clone());
        if !elsewhere {
            self.device
                .poll(wait_for(piece.submission))
                .map_err(|e| failed(format!("the GPU does not respond: {e}")))?;
            self.health.check(op)?;
        }
        if let Err(e) = piece.mapped.await {
            // A browser may have an earlier error that explains it.
            self.health.settled().await;
            self.health.check(op)?;
            return Err(failed(format!("a result cannot be read back: {e}")));
        }
        let view = piece
            .buffer
            .raw
            .get_mapped_range(..(piece.request.end as u64).next_multiple_of(4))
            .map_err(|e| failed(format!("a result cannot be read back: {e}")))?;
        take(&view[piece.request]);
        drop(view);
        piece.buffer.raw.unmap();
        self.staging.read_done(&self.pool, piece.buffer);
        Ok(())
    }

    /// Starts taking timestamps around every dispatch. False if the device does not support them, and if profiling is
    /// active.
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

    /// Stops profiling.
    pub(crate) fn profile_end(&self) -> Option<Profiler> {
        self.recorder().profiler.take()
    }

    /// The operation, kernel, begin and end of each dispatch, with times relative to the first begin.
    pub(crate) async fn profile_times(
        &self,
        profiler: Profiler,
        wait: Wait,
    ) -> Result<Vec<(&'static str, String, Duration, Duration)>> {
        let machine = self.machine();
        let mut ticks: Vec<u64> = host::room(profiler.entries.len() * 2).named("profile")?;
        for (i, set) in profiler.sets.iter().enumerate() {
            let count = profiler.used(i);
            let mut resolved = self.with_room("profile", || {
                Held::new(
                    &self.pool,
                    "profile",
                    Use::Own,
                    &wgpu::BufferDescriptor {
                        label: Some("vsla timestamps"),
                        size: u64::from(count) * TIMESTAMP,
                        usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                        mapped_at_creation: false,
                    },
                )
            })?;
            self.recorder().with_encoder(&machine, |e| {
                e.resolve_query_set(&set.raw, 0..count, &resolved.raw, 0)
            });
            let mut data = host::zeroed(count as usize).named("profile")?;
            let buffer = self.pool.lend(resolved.raw.clone());
            let to = bytemuck::cast_slice_mut(&mut data);
            self.read_into("profile", &buffer, 0, to, wait).await?;
            resolved.idle = true;
            host::extend(&mut ticks, data).named("profile")?;
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
