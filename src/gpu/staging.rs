//! Host memory that the GPU can read and write: rings of mapped buffers, filled and drained by all cores.
//!
//! Newly mapped memory costs a page fault every 4 KiB, several times the cost of the copy itself. So buffers are kept
//! and mapped again once the GPU is done with them. The pool accounts for all of them. The first buffer of each kind is
//! always available; more are created while there is room, up to the fastest number.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rayon::prelude::*;

use super::account::{Leaving, Sizes, Use};
use super::pool::Pool;
use crate::{Error, Result};

/// Maximum number of upload buffers; beyond it a call waits for the GPU to catch up.
const UPLOAD_CHUNKS: usize = 6;
/// Copies above this many bytes are split among cores.
const PARALLEL_COPY: usize = 1 << 20;

/// Copies with all cores. One core moves about 5 GB/s from or to untouched memory; PCIe moves 25 GB/s or more.
pub(crate) fn copy_out(from: &[u8], to: &mut [u8]) {
    if from.len() < 2 * PARALLEL_COPY {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(PARALLEL_COPY)
            .zip(from.par_chunks(PARALLEL_COPY))
            .for_each(|(to, from)| to.copy_from_slice(from));
    }
}

fn copy_in(from: &[u8], mut to: wgpu::WriteOnly<'_, [u8]>) {
    // The recorder is locked. A thread of a rayon pool that waits for others may run a job that needs the recorder, and
    // would deadlock.
    if from.len() < 2 * PARALLEL_COPY || rayon::current_thread_index().is_some() {
        to.copy_from_slice(from);
    } else {
        let (pieces, mut rest) = to.into_chunks::<PARALLEL_COPY>();
        let (whole, tail) = from.split_at(from.len() - from.len() % PARALLEL_COPY);
        let pieces: Vec<wgpu::WriteOnly<'_, [u8; PARALLEL_COPY]>> = pieces.into_iter().collect();
        pieces
            .into_par_iter()
            .zip(whole.par_chunks(PARALLEL_COPY))
            .for_each(|(to, from)| wgpu::WriteOnly::<[u8]>::from(to).copy_from_slice(from));
        rest.copy_from_slice(tail);
    }
}

/// A buffer that does not belong to a tensor, accounted for until it is destroyed.
pub(crate) struct Held {
    pub raw: wgpu::Buffer,
    what: Use,
    bytes: u64,
    /// Whether no recorded or running work uses it.
    pub idle: bool,
    /// Weak, because wgpu holds on to buffers that wait to be mapped.
    pool: Weak<Pool>,
}

impl Held {
    pub(crate) fn new(
        pool: &Arc<Pool>,
        op: &'static str,
        what: Use,
        descriptor: &wgpu::BufferDescriptor<'_>,
    ) -> Result<Held> {
        let bytes = descriptor.size;
        pool.reserve(op, what, bytes)?;
        match pool.create(op, descriptor) {
            Ok(raw) => Ok(Held {
                raw,
                what,
                bytes,
                idle: false,
                pool: Arc::downgrade(pool),
            }),
            Err(error) => {
                pool.release(what, bytes);
                Err(error)
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.leave(Leaving {
                what: self.what,
                bytes: self.bytes,
                after: if self.idle { 0 } else { pool.recorded() },
                raw: Some(self.raw.clone()),
            });
        }
    }
}

/// The rings, shared with the code that trims them and with wgpu's callbacks.
pub(crate) struct Staging {
    pub sizes: Sizes,
    uploads: Mutex<Ring>,
    /// Free readback buffers: small ones and large ones.
    reads: Mutex<[Vec<Held>; 2]>,
}

#[derive(Default)]
struct Ring {
    /// Mapped, and no longer used by the GPU.
    ready: Vec<Held>,
    made: usize,
    /// Number of trims so far. A buffer that was in flight during one is not kept.
    trims: u64,
}

impl Staging {
    pub(crate) fn new(sizes: Sizes) -> Arc<Staging> {
        Arc::new(Staging {
            sizes,
            uploads: Mutex::default(),
            reads: Mutex::default(),
        })
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reads(&self) -> MutexGuard<'_, [Vec<Held>; 2]> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases idle buffers, and upload buffers in flight once they are idle. True if any was idle.
    pub(crate) fn trim(&self) -> bool {
        let uploads = {
            let mut ring = self.ring();
            ring.trims += 1;
            std::mem::take(&mut ring.ready)
        };
        let reads = std::mem::take(&mut *self.reads());
        let any = !uploads.is_empty() || reads.iter().any(|free| !free.is_empty());
        self.forget(uploads);
        any
    }

    /// Destroys upload buffers.
    fn forget(&self, uploads: Vec<Held>) {
        let gone = uploads.len();
        // Drops the buffers first: a caller that sees a count of 0 relies on the bytes of one buffer being free.
        drop(uploads);
        self.ring().made -= gone;
    }

    /// A mapped upload buffer. `None` if all that may exist are waiting for the GPU.
    fn upload_buffer(&self, pool: &Arc<Pool>, op: &'static str) -> Result<Option<Held>> {
        let others = {
            let mut ring = self.ring();
            if let Some(mut ready) = ring.ready.pop() {
                ready.idle = false;
                return Ok(Some(ready));
            }
            if ring.made >= UPLOAD_CHUNKS {
                return Ok(None);
            }
            ring.made += 1;
            ring.made - 1
        };
        let made = Held::new(
            pool,
            op,
            Use::Upload,
            &wgpu::BufferDescriptor {
                label: Some("vsla upload"),
                size: self.sizes.upload,
                usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            },
        );
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) => {
                self.ring().made -= 1;
                match error {
                    Error::OutOfMemory { .. } if others > 0 => Ok(None),
                    error => Err(error),
                }
            }
        }
    }

    /// Keeps an upload buffer that is mapped again. Destroys it if mapping failed or a trim came in between.
    fn upload_came_back(&self, mut buffer: Held, mapped: bool, trims: u64) {
        buffer.idle = mapped;
        let mut ring = self.ring();
        if mapped && ring.trims == trims {
            ring.ready.push(buffer);
        } else {
            drop(ring);
            self.forget(vec![buffer]);
        }
    }

    /// A readback buffer for this many bytes. `None` if the limit allows no more than other readers hold.
    pub(crate) fn read_buffer(
        &self,
        pool: &Arc<Pool>,
        op: &'static str,
        bytes: u64,
    ) -> Result<Option<Held>> {
        let class = usize::from(bytes > self.sizes.read_small);
        if let Some(mut free) = self.reads()[class].pop() {
            free.idle = false;
            return Ok(Some(free));
        }
        let make = || {
            Held::new(
                pool,
                op,
                Use::Read,
                &wgpu::BufferDescriptor {
                    label: Some("vsla readback"),
                    size: [self.sizes.read_small, self.sizes.read][class],
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                },
            )
        };
        let mut made = make();
        if matches!(made, Err(Error::OutOfMemory { .. })) {
            // Frees the idle buffers of both kinds, which may provide the missing memory.
            let idle = std::mem::take(&mut *self.reads());
            drop(idle);
            made = make();
        }
        match made {
            Ok(made) => Ok(Some(made)),
            Err(Error::OutOfMemory {
                available: Some(_), ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn read_done(&self, pool: &Pool, mut buffer: Held) {
        buffer.idle = true;
        let class = usize::from(buffer.bytes > self.sizes.read_small);
        self.reads()[class].push(buffer);
        pool.freed.notify();
    }
}

/// An upload buffer being filled, which is mapped.
struct Filling {
    buffer: Held,
    view: wgpu::BufferViewMut,
    used: u64,
}

/// The upload buffers of the open submission. The recorder owns this and records the copies.
#[derive(Default)]
pub(crate) struct Uploads {
    filling: Option<Filling>,
    /// Full buffers, unmapped, waiting for the submission that reads them.
    closed: Vec<Held>,
}

/// A staged piece: `bytes` of `buffer` at `offset`, to be copied in the open encoder.
pub(crate) struct Staged {
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    pub bytes: u64,
}

impl Uploads {
    /// Stages as much of `data` as fits in the current buffer. `None` if every buffer is waiting for the GPU.
    pub(crate) fn stage(
        &mut self,
        staging: &Staging,
        pool: &Arc<Pool>,
        op: &'static str,
        data: &[u8],
    ) -> Result<Option<Staged>> {
        if self.filling.is_none() {
            let Some(buffer) = staging.upload_buffer(pool, op)? else {
                return Ok(None);
            };
            let view = match buffer.raw.get_mapped_range_mut(..) {
                Ok(view) => view,
                Err(e) => {
                    staging.upload_came_back(buffer, false, 0);
                    return Err(Error::device_lost(
                        op,
                        format!("an upload buffer cannot be mapped: {e}"),
                    ));
                }
            };
            self.filling = Some(Filling {
                buffer,
                view,
                used: 0,
            });
        }
        let Some(filling) = &mut self.filling else {
            return Ok(None);
        };
        let size = filling.buffer.bytes;
        let bytes = (data.len() as u64).min(size - filling.used);
        let (from, to) = (filling.used as usize, (filling.used + bytes) as usize);
        copy_in(&data[..bytes as usize], filling.view.slice(from..to));
        let staged = Staged {
            buffer: filling.buffer.raw.clone(),
            offset: filling.used,
            bytes,
        };
        filling.used += bytes;
        if filling.used == size {
            self.close();
        }
        Ok(Some(staged))
    }

    fn close(&mut self) {
        if let Some(filling) = self.filling.take() {
            drop(filling.view);
            filling.buffer.raw.unmap();
            self.closed.push(filling.buffer);
        }
    }

    /// Whether a full buffer is waiting: submitting now lets its transfer overlap the next copy.
    pub(crate) fn has_full(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Must be called before a submission, which must not read a mapped buffer.
    pub(crate) fn before_submit(&mut self) {
        if self.filling.as_ref().is_some_and(|f| f.used > 0) {
            self.close();
        }
    }

    /// Must be called after a submission: maps its upload buffers again.
    pub(crate) fn after_submit(&mut self, staging: &Arc<Staging>) {
        let trims = staging.ring().trims;
        for buffer in self.closed.drain(..) {
            let staging = Arc::downgrade(staging);
            let raw = buffer.raw.clone();
            raw.map_async(wgpu::MapMode::Write, .., move |result| {
                if let Some(staging) = staging.upgrade() {
                    staging.upload_came_back(buffer, result.is_ok(), trims);
                }
            });
        }
    }
}
