//! Host memory that the GPU can read and write: rings of mapped buffers, filled and drained by all cores.
//!
//! Fresh mapped memory costs a page fault every 4 KiB, several times the copy itself, so buffers are kept and mapped
//! again once the GPU is done with them.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::errors::caught;
use crate::{Error, Result};

/// Bytes of an upload buffer. Large transfers are cut into pieces of this, so that the copy of one overlaps the
/// transfer of the one before.
const UPLOAD_CHUNK: u64 = 16 << 20;
/// Upload buffers at most: past that a call waits for the GPU to catch up.
const UPLOAD_CHUNKS: usize = 6;
/// Copies above this are shared among cores.
const PARALLEL_COPY: usize = 1 << 20;

/// Copies with all cores. One core moves about 5 GB/s out of or into memory it has not touched; PCIe does 25 and more.
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
    if from.len() < 2 * PARALLEL_COPY {
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

/// An upload buffer being filled: mapped from the start.
struct Filling {
    buffer: wgpu::Buffer,
    view: wgpu::BufferViewMut,
    used: u64,
}

/// The upload ring. Belongs to the recorder, whose encoder its copies go into.
#[derive(Default)]
pub(crate) struct Uploads {
    filling: Option<Filling>,
    /// Full buffers, unmapped, waiting for the submission that reads them.
    closed: Vec<wgpu::Buffer>,
    returned: Arc<Mutex<Returned>>,
    made: usize,
}

/// What the GPU is done with.
#[derive(Default)]
struct Returned {
    /// Mapped again.
    ready: Vec<wgpu::Buffer>,
    /// How many could not be mapped, and are gone.
    failed: usize,
}

/// A piece staged: `bytes` of `buffer` from `offset`, to be copied in the open encoder.
pub(crate) struct Staged {
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    pub bytes: u64,
}

impl Uploads {
    /// Stages as much of `data` as the current buffer takes. `None` when every buffer waits for the GPU.
    pub(crate) fn stage(
        &mut self,
        device: &wgpu::Device,
        op: &'static str,
        data: &[u8],
    ) -> Result<Option<Staged>> {
        if self.filling.is_none() {
            let reused = {
                let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
                self.made -= std::mem::take(&mut returned.failed);
                returned.ready.pop()
            };
            let buffer = match reused {
                Some(buffer) => buffer,
                None if self.made < UPLOAD_CHUNKS => {
                    let buffer = caught(device, op, || {
                        device.create_buffer(&wgpu::BufferDescriptor {
                            label: Some("vsla upload"),
                            size: UPLOAD_CHUNK,
                            usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                            mapped_at_creation: true,
                        })
                    })?;
                    self.made += 1;
                    buffer
                }
                None => return Ok(None),
            };
            let view = buffer
                .get_mapped_range_mut(..)
                .map_err(|e| Error::DeviceLost {
                    op,
                    reason: format!("an upload buffer cannot be mapped: {e}"),
                })?;
            self.filling = Some(Filling {
                buffer,
                view,
                used: 0,
            });
        }
        let Some(filling) = &mut self.filling else {
            return Ok(None);
        };
        let bytes = (data.len() as u64).min(UPLOAD_CHUNK - filling.used);
        let (from, to) = (filling.used as usize, (filling.used + bytes) as usize);
        copy_in(&data[..bytes as usize], filling.view.slice(from..to));
        let staged = Staged {
            buffer: filling.buffer.clone(),
            offset: filling.used,
            bytes,
        };
        filling.used += bytes;
        if filling.used == UPLOAD_CHUNK {
            self.close();
        }
        Ok(Some(staged))
    }

    fn close(&mut self) {
        if let Some(filling) = self.filling.take() {
            drop(filling.view);
            filling.buffer.unmap();
            self.closed.push(filling.buffer);
        }
    }

    /// Whether a full buffer waits: submitting now lets its transfer overlap the next copy.
    pub(crate) fn has_full(&self) -> bool {
        !self.closed.is_empty()
    }

    /// To be called before a submission: a mapped buffer must not be read by it.
    pub(crate) fn before_submit(&mut self) {
        if self.filling.as_ref().is_some_and(|f| f.used > 0) {
            self.close();
        }
    }

    /// To be called after a submission: asks for its buffers back.
    pub(crate) fn after_submit(&mut self) {
        for buffer in self.closed.drain(..) {
            let returned = self.returned.clone();
            let back = buffer.clone();
            buffer.map_async(wgpu::MapMode::Write, .., move |result| {
                let mut returned = returned.lock().unwrap_or_else(PoisonError::into_inner);
                match result {
                    Ok(()) => returned.ready.push(back),
                    Err(_) => returned.failed += 1,
                }
            });
        }
    }
}

/// Sizes of the buffers that results are read back through.
const READ_SMALL: u64 = 1 << 20;
pub(crate) const READ_CHUNK: u64 = 16 << 20;

/// Read-back buffers that are free, small ones and large ones.
#[derive(Default)]
pub(crate) struct Readbacks {
    free: Mutex<[Vec<wgpu::Buffer>; 2]>,
}

impl Readbacks {
    pub(crate) fn take(
        &self,
        device: &wgpu::Device,
        op: &'static str,
        bytes: u64,
    ) -> Result<wgpu::Buffer> {
        let class = usize::from(bytes > READ_SMALL);
        let reused = self.free.lock().unwrap_or_else(PoisonError::into_inner)[class].pop();
        if let Some(buffer) = reused {
            return Ok(buffer);
        }
        caught(device, op, || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("vsla readback"),
                size: if class == 0 { READ_SMALL } else { READ_CHUNK },
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }

    pub(crate) fn give_back(&self, buffer: wgpu::Buffer) {
        let class = usize::from(buffer.size() > READ_SMALL);
        self.free.lock().unwrap_or_else(PoisonError::into_inner)[class].push(buffer);
    }

    pub(crate) fn trim(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
    }
}
