//! Buffers of the CPU device. Large buffers are reused: fresh pages cost more than most operations on them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::{self, Held};
use crate::machine::{Memory, Watch};
use crate::{Error, Result};

/// Buffers below this many words come from the allocator, which handles small sizes well.
const POOLED: usize = 1 << 16;
/// The most bytes cached.
const CACHE_LIMIT: u64 = 1 << 30;

#[derive(Default)]
struct State {
    /// The cached buffers, in the order in which they were released.
    free: Vec<(Vec<u32>, Held)>,
    memory: Memory,
    watch: Watch,
}

#[derive(Default)]
pub(crate) struct CpuPool(Mutex<State>);

/// The words of a tensor, possibly shared by several views, and their share of the host's budget.
pub(crate) struct CpuBuffer {
    words: Vec<u32>,
    held: Option<Held>,
    pool: Arc<CpuPool>,
}

impl CpuBuffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words)
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }
}

impl CpuPool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.lock().memory
    }

    /// Begins to watch the bytes of live tensors. False if they are being watched already.
    pub(crate) fn watch(&self) -> bool {
        let mut state = self.lock();
        let live = state.memory.live;
        state.watch.begin(live)
    }

    /// Ends it, and returns the most bytes.
    pub(crate) fn watched(&self) -> u64 {
        self.lock().watch.end()
    }

    pub(crate) fn trim(&self) {
        let mut state = self.lock();
        state.memory.cached = 0;
        state.free = Vec::new();
    }

    /// Releases all cached buffers and workspaces. Returns whether there were any.
    fn give_up(&self) -> bool {
        let cached = self.memory().cached;
        self.trim();
        super::workspace::FREE.forget() || cached > 0
    }

    /// Allocates `len` words with arbitrary contents.
    pub(crate) fn allocate(self: &Arc<Self>, len: usize) -> Result<CpuBuffer> {
        let cached = if len >= POOLED { self.reuse(len) } else { None };
        let (words, held) = match cached {
            Some(cached) => cached,
            None => match fresh(len) {
                // Cached buffers count against the budget, so release them and try again.
                Err(Error::OutOfMemory { .. }) if self.give_up() => fresh(len)?,
                made => made?,
            },
        };
        let mut state = self.lock();
        state.memory.live += held.bytes();
        let live = state.memory.live;
        state.memory.peak = state.memory.peak.max(live);
        state.watch.note(live);
        drop(state);
        Ok(CpuBuffer {
            words,
            held: Some(held),
            pool: self.clone(),
        })
    }

    /// Takes the smallest cached buffer that is large enough and at most an eighth larger than needed.
    fn reuse(&self, len: usize) -> Option<(Vec<u32>, Held)> {
        let mut state = self.lock();
        let best = state
            .free
            .iter()
            .enumerate()
            .filter(|(_, (v, _))| v.capacity() >= len && v.capacity() <= len + len / 8)
            .min_by_key(|(_, (v, _))| v.capacity())
            .map(|(i, _)| i);
        let (mut words, held) = state.free.remove(best?);
        state.memory.cached -= held.bytes();
        drop(state);
        // A cached buffer still has its previous length, so only additional words are written.
        if words.len() < len {
            words.resize(len, 0);
        }
        words.truncate(len);
        Some((words, held))
    }
}

/// Zeroed pages straight from the system, not written here.
fn fresh(len: usize) -> Result<(Vec<u32>, Held)> {
    let held = host::hold(len as u64 * 4)?;
    let words = host::zeroed_held(len)?;
    Ok((words, held))
}

impl Drop for CpuBuffer {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        let Some(held) = self.held.take() else { return };
        let bytes = held.bytes();
        let mut state = self.pool.lock();
        state.memory.live -= bytes;
        if words.capacity() < POOLED || bytes > CACHE_LIMIT || state.free.try_reserve(1).is_err() {
            return;
        }
        state.memory.cached += bytes;
        state.free.push((words, held));
        // Buffers of sizes that are no longer used make room.
        let (mut gone, mut freed) = (0, 0);
        while state.memory.cached - freed > CACHE_LIMIT {
            freed += state.free[gone].1.bytes();
            gone += 1;
        }
        state.memory.cached -= freed;
        state.free.drain(..gone);
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn a_released_buffer_displaces_older_ones() {
        let pool = Arc::new(CpuPool::default());
        let allocate = |len| pool.allocate(len).unwrap();
        // One more than fit in the cache. The pages are never written.
        let large: Vec<_> = (0..5).map(|_| allocate(1 << 26)).collect();
        drop(large);
        assert_eq!(pool.memory().cached, CACHE_LIMIT);
        drop(allocate(1 << 20));
        assert_eq!(pool.memory().cached, CACHE_LIMIT - (1 << 28) + (1 << 22));
        assert!(pool.reuse(1 << 20).is_some());
    }
}
