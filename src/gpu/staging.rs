//! Host memory that the GPU can read and write: rings of mapped buffers, filled and drained by all cores.
//!
//! Newly mapped memory costs a page fault every 4 KiB, several times the cost of the copy itself. So buffers are kept
//! and mapped again once the GPU is done with them. The pool accounts for all of them. The first buffer of each kind is
//! always available; more are created while there is room, up to the fastest number.
//!
//! A browser copies mapped memory instead, and maps a buffer again only when the thread is idle. There, the host's
//! bytes are written through the queue before the submission that copies them. The queue's order makes the buffer
//! available again at once, so that a single one suffices and no call waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rayon::prelude::*;

use super::account::{Leaving, Sizes, Use};
use super::pool::Pool;
use crate::error::Named;
use crate::{Error, Result, host};

/// Maximum number of upload buffers; beyond it a call waits for the GPU to catch up.
const UPLOAD_CHUNKS: usize = 6;
/// Whether upload buffers are mapped.
const MAPPED: bool = !cfg!(target_family = "wasm");
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

    /// An upload buffer, mapped if they are. `None` if all that may exist are waiting for the GPU.
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
                usage: wgpu::BufferUsages::COPY_SRC
                    | match MAPPED {
                        true => wgpu::BufferUsages::MAP_WRITE,
                        false => wgpu::BufferUsages::COPY_DST,
                    },
                mapped_at_creation: MAPPED,
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

/// An upload buffer being filled.
struct Filling {
    buffer: Held,
    bytes: Bytes,
    used: u64,
}

/// Where the bytes of an upload buffer lie until it is submitted.
enum Bytes {
    Mapped(wgpu::BufferViewMut),
    Host(Vec<u8>),
}

/// The upload buffers of the open submission. The recorder owns this and records the copies.
#[derive(Default)]
pub(crate) struct Uploads {
    filling: Option<Filling>,
    /// A buffer that is no longer mapped, waiting for the submission that reads it.
    closed: Option<Held>,
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
            let bytes = match MAPPED.then(|| buffer.raw.get_mapped_range_mut(..)) {
                Some(Ok(view)) => Bytes::Mapped(view),
                None => Bytes::Host(Vec::new()),
                Some(Err(e)) => {
                    staging.upload_came_back(buffer, false, 0);
                    return Err(Error::device_lost(
                        op,
                        format!("an upload buffer cannot be mapped: {e}"),
                    ));
                }
            };
            self.filling = Some(Filling {
                buffer,
                bytes,
                used: 0,
            });
        }
        let Some(filling) = &mut self.filling else {
            return Ok(None);
        };
        let size = filling.buffer.bytes;
        let bytes = (data.len() as u64).min(size - filling.used);
        let (from, to) = (filling.used as usize, (filling.used + bytes) as usize);
        let piece = &data[..bytes as usize];
        match &mut filling.bytes {
            Bytes::Mapped(view) => copy_in(piece, view.slice(from..to)),
            Bytes::Host(all) => {
                host::reserve(all, piece.len()).named(op)?;
                all.extend_from_slice(piece);
            }
        }
        let staged = Staged {
            buffer: filling.buffer.raw.clone(),
            offset: filling.used,
            bytes,
        };
        filling.used += bytes;
        Ok(Some(staged))
    }

    /// Whether a buffer is full: submitting now lets its transfer overlap the next copy.
    pub(crate) fn has_full(&self) -> bool {
        let filling = self.filling.as_ref();
        filling.is_some_and(|filling| filling.used == filling.buffer.bytes)
    }

    /// Must be called before a submission, which must not read a mapped buffer.
    pub(crate) fn before_submit(&mut self, queue: &wgpu::Queue) {
        let Some(filling) = self.filling.take_if(|filling| filling.used > 0) else {
            return;
        };
        match filling.bytes {
            Bytes::Mapped(view) => {
                drop(view);
                filling.buffer.raw.unmap();
            }
            Bytes::Host(bytes) => queue.write_buffer(&filling.buffer.raw, 0, &bytes),
        }
        self.closed = Some(filling.buffer);
    }

    /// Must be called after a submission: maps its upload buffer again.
    pub(crate) fn after_submit(&mut self, staging: &Arc<Staging>) {
        let trims = staging.ring().trims;
        let Some(buffer) = self.closed.take() else {
            return;
        };
        if !MAPPED {
            return staging.upload_came_back(buffer, true, trims);
        }
        let staging = Arc::downgrade(staging);
        let raw = buffer.raw.clone();
        raw.map_async(wgpu::MapMode::Write, .., move |result| {
            if let Some(staging) = staging.upgrade() {
                staging.upload_came_back(buffer, result.is_ok(), trims);
            }
        });
    }
}
