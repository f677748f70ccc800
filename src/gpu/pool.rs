//! Storage buffers: rounded sizes, reuse, and what memory the device holds.
//!
//! A dropped buffer goes back at once: later work recorded on it runs after everything recorded before, because all
//! work of a device goes through one queue in order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::machine::Memory;
use crate::{Error, Result};

/// Buffers smaller than this are rounded to quarter powers of two, larger ones by at most 1/16.
const FINE_ROUNDING_FROM: u64 = 1 << 20;
const SMALLEST: u64 = 256;

/// Rounds a size up to its class.
pub(crate) fn class_of(bytes: u64) -> u64 {
    let bytes = bytes.max(SMALLEST);
    let octave = u64::BITS - 1 - bytes.leading_zeros();
    let steps = if bytes < FINE_ROUNDING_FROM { 2 } else { 4 };
    bytes.next_multiple_of(1 << (octave - steps))
}

/// A buffer kept for reuse.
struct Free {
    id: u64,
    raw: wgpu::Buffer,
    /// When it was given back, among all that were.
    since: u64,
}

struct State {
    /// By class, the latest last.
    free: HashMap<u64, Vec<Free>>,
    returns: u64,
    memory: Memory,
    /// Ids of buffers given up since the recorder last asked, whose bind groups must go.
    retired: Vec<u64>,
}

/// The pool's shared part: buffers return to it when they are dropped.
pub(crate) struct Pool {
    device: wgpu::Device,
    state: Mutex<State>,
    next_id: AtomicU64,
    /// Bytes of the largest buffer that can be made and bound whole.
    largest: u64,
    /// Most bytes kept for reuse.
    cache_limit: u64,
    /// Most bytes live and cached together.
    memory_limit: Option<u64>,
}

/// A storage buffer of the pool, or one that the application lent.
pub(crate) struct GpuBuffer {
    pub raw: wgpu::Buffer,
    /// Never reused, so that a cache keyed by it cannot confuse two buffers.
    pub id: u64,
    bytes: u64,
    lent: bool,
    pool: Arc<Pool>,
}

impl Pool {
    pub(crate) fn new(
        device: wgpu::Device,
        largest: u64,
        cache_limit: u64,
        memory_limit: Option<u64>,
    ) -> Arc<Pool> {
        Arc::new(Pool {
            device,
            largest,
            state: Mutex::new(State {
                free: HashMap::new(),
                returns: 0,
                memory: Memory::default(),
                retired: Vec::new(),
            }),
            next_id: AtomicU64::new(1),
            cache_limit,
            memory_limit,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.lock().memory
    }

    /// A buffer of at least `words` 32-bit words. Its contents are whatever was there.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        op: &'static str,
        words: u64,
    ) -> Result<Arc<GpuBuffer>> {
        let bytes = class_of(words * 4).min(self.largest);
        let reused = {
            let mut state = self.lock();
            let hit = state.free.get_mut(&bytes).and_then(Vec::pop);
            if hit.is_some() {
                state.memory.cached -= bytes;
            }
            hit
        };
        let (id, raw) = match reused {
            Some(Free { id, raw, .. }) => (id, raw),
            None => {
                self.check_limit(op, bytes)?;
                let raw = match self.create(bytes) {
                    Ok(raw) => raw,
                    // What is kept for reuse may be what is missing.
                    Err(_) if self.trim() > 0 => {
                        self.create(bytes).map_err(|e| self.out_of(op, bytes, e))?
                    }
                    Err(e) => return Err(self.out_of(op, bytes, e)),
                };
                (self.next_id.fetch_add(1, Ordering::Relaxed), raw)
            }
        };
        let mut state = self.lock();
        state.memory.live += bytes;
        state.memory.peak = state.memory.peak.max(state.memory.live);
        drop(state);
        Ok(Arc::new(GpuBuffer {
            raw,
            id,
            bytes,
            lent: false,
            pool: self.clone(),
        }))
    }

    /// Wraps a buffer of the application: never pooled, not counted as ours.
    pub(crate) fn lend(self: &Arc<Self>, raw: wgpu::Buffer) -> Arc<GpuBuffer> {
        Arc::new(GpuBuffer {
            raw,
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            bytes: 0,
            lent: true,
            pool: self.clone(),
        })
    }

    fn check_limit(&self, op: &'static str, bytes: u64) -> Result<()> {
        let Some(limit) = self.memory_limit else {
            return Ok(());
        };
        let memory = self.memory();
        if memory.live + memory.cached + bytes <= limit {
            return Ok(());
        }
        self.trim();
        let live = self.memory().live;
        if live + bytes <= limit {
            return Ok(());
        }
        Err(Error::OutOfMemory {
            op,
            bytes,
            available: Some(limit.saturating_sub(live)),
        })
    }

    fn create(&self, bytes: u64) -> Result<wgpu::Buffer, wgpu::Error> {
        use wgpu::BufferUsages as Use;
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let raw = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("vsla"),
            size: bytes,
            usage: Use::STORAGE | Use::COPY_SRC | Use::COPY_DST,
            mapped_at_creation: false,
        });
        let errors = [validation.pop(), internal.pop(), memory.pop()].map(pollster::block_on);
        match errors.into_iter().flatten().next() {
            None => Ok(raw),
            Some(error) => Err(error),
        }
    }

    fn out_of(&self, op: &'static str, bytes: u64, error: wgpu::Error) -> Error {
        match error {
            wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory {
                op,
                bytes,
                available: None,
            },
            other => super::errors::from_wgpu(&self.device, op, other),
        }
    }

    /// Gives up every cached buffer; returns the bytes freed.
    pub(crate) fn trim(&self) -> u64 {
        let mut state = self.lock();
        let freed = state.memory.cached;
        state.memory.cached = 0;
        let free = std::mem::take(&mut state.free);
        state
            .retired
            .extend(free.values().flatten().map(|free| free.id));
        drop(state);
        drop(free);
        freed
    }

    /// Ids whose bind groups must be dropped, handed over once.
    pub(crate) fn take_retired(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().retired)
    }

    /// Keeps a buffer for reuse. Those that nobody wanted for longest make room for it.
    fn give_back(&self, id: u64, bytes: u64, raw: wgpu::Buffer) {
        let mut state = self.lock();
        state.memory.live -= bytes;
        if bytes > self.cache_limit {
            state.retired.push(id);
            return;
        }
        let mut dropped = Vec::new();
        while state.memory.cached + bytes > self.cache_limit {
            let oldest = state
                .free
                .iter()
                .filter_map(|(bytes, free)| Some((free.first()?.since, *bytes)))
                .min();
            let Some((_, class)) = oldest else { break };
            let Some(free) = state.free.get_mut(&class) else {
                break;
            };
            dropped.push(free.remove(0));
            state.memory.cached -= class;
        }
        state.retired.extend(dropped.iter().map(|free| free.id));
        let since = state.returns;
        state.returns += 1;
        state.memory.cached += bytes;
        let free = Free { id, raw, since };
        state.free.entry(bytes).or_default().push(free);
        drop(state);
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        if self.lent {
            self.pool.lock().retired.push(self.id);
        } else {
            self.pool.give_back(self.id, self.bytes, self.raw.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn classes_round_up_by_little() {
        for bytes in (1..5000)
            .chain((1 << 20..(1 << 20) + 100_000).step_by(977))
            .chain([1 << 31])
        {
            let class = class_of(bytes);
            assert!(class >= bytes, "{bytes} -> {class}");
            assert_eq!(class_of(class), class, "a class is its own class");
            if bytes >= 1 << 20 {
                assert!(class - bytes <= bytes / 16, "{bytes} -> {class}");
            }
        }
    }
}
