//! Buffers of the CPU device. Large ones are kept for reuse: fresh pages cost more than most operations on them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::machine::Memory;
use crate::{Error, Result};

/// Buffers below this many words come from the allocator, which is good at them.
const POOLED: usize = 1 << 16;
/// Most bytes kept.
const CACHE_LIMIT: u64 = 1 << 30;

#[derive(Default)]
struct State {
    free: Vec<Vec<u32>>,
    memory: Memory,
}

#[derive(Default)]
pub(crate) struct CpuPool(Mutex<State>);

/// Words of one tensor or several views of it.
pub(crate) struct CpuBuffer {
    words: Vec<u32>,
    pool: Arc<CpuPool>,
}

impl CpuBuffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }
}

impl CpuPool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.lock().memory
    }

    pub(crate) fn trim(&self) {
        let mut state = self.lock();
        state.memory.cached = 0;
        state.free = Vec::new();
    }

    /// `len` words with any contents.
    pub(crate) fn allocate(&self, op: &'static str, len: usize) -> Result<Vec<u32>> {
        if len >= POOLED {
            let mut state = self.lock();
            // The smallest that is large enough and not more than an eighth larger.
            let best = state
                .free
                .iter()
                .enumerate()
                .filter(|(_, v)| v.capacity() >= len && v.capacity() <= len + len / 8)
                .min_by_key(|(_, v)| v.capacity())
                .map(|(i, _)| i);
            if let Some(i) = best {
                let mut words = state.free.swap_remove(i);
                state.memory.cached -= words.capacity() as u64 * 4;
                drop(state);
                // Buffers keep the length they had; only growth writes.
                if words.len() < len {
                    words.resize(len, 0);
                }
                words.truncate(len);
                return Ok(words);
            }
        }
        // Zeroed pages straight from the system: no pass over them here.
        bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::OutOfMemory {
            op,
            bytes: len as u64 * 4,
            available: None,
        })
    }

    pub(crate) fn wrap(self: &Arc<Self>, words: Vec<u32>) -> Arc<CpuBuffer> {
        let mut state = self.lock();
        state.memory.live += words.capacity() as u64 * 4;
        state.memory.peak = state.memory.peak.max(state.memory.live);
        drop(state);
        Arc::new(CpuBuffer {
            words,
            pool: self.clone(),
        })
    }
}

impl Drop for CpuBuffer {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        let bytes = words.capacity() as u64 * 4;
        let mut state = self.pool.lock();
        state.memory.live -= bytes;
        if words.capacity() >= POOLED && state.memory.cached + bytes <= CACHE_LIMIT {
            state.memory.cached += bytes;
            state.free.push(words);
        }
    }
}
